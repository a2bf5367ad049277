"""Use squidbot in a program of llm. Turn it on with `llm squidbot on`, and run `python examples/in_llm.py`.

It works offline, with a model that reports what it sees. A real one is `llm.get_model("gpt-5.6-luna")`.
"""

import sys
from collections.abc import Callable, Iterator

import llm

from squidbot.plugins.llm import Squidbot


class Offline(llm.Model):
    """A model that reports how many messages it sees."""

    model_id, supports_tools = "offline", True

    def execute(self, prompt: llm.Prompt, *_: object, **__: object) -> Iterator[str]:  # noqa: D102
        yield f"Messages that I see: {len(prompt.messages)}."


@llm.hookimpl
def register_models(register: Callable[[llm.Model], None]) -> None:  # noqa: D103  # as plugins offer theirs
    register(Offline())


llm.plugins.pm.register(sys.modules[__name__])
talk = llm.get_model("offline").conversation(tools=[Squidbot()])
print([talk.chain(text).text() for text in ("My boat is called Heron.", "What is it called?")])
