"""A program of llm's with squidbot in it, once `llm squidbot on` was said; run it by `python examples/in_llm.py`.

Offline, with a model that says how much it sees. For a real one ask `llm.get_model("gpt-5.6-luna")`, or the like.
"""

import sys
from collections.abc import Callable, Iterator

import llm

from squidbot.plugins.llm import Squidbot


class Offline(llm.Model):
    """A model that says how many messages it sees."""

    model_id, supports_tools = "offline", True

    def execute(self, prompt: llm.Prompt, *_: object, **__: object) -> Iterator[str]:  # noqa: D102
        yield f"I see {len(prompt.messages)} messages."


@llm.hookimpl
def register_models(register: Callable[[llm.Model], None]) -> None:  # noqa: D103  # as plugins offer theirs
    register(Offline())


llm.plugins.pm.register(sys.modules[__name__])
talk = llm.get_model("offline").conversation(tools=[Squidbot()])
print([talk.chain(text).text() for text in ("My boat is called Heron.", "What is it called?")])
