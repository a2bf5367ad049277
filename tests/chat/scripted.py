"""A model that answers by rule what it is asked, as an extension offers one: `adapter = "scripted"`."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import squidbot
from squidbot.core.errors import ContextOverflowError, LLMError
from squidbot.core.messages import Completion, Reply
from squidbot.core.sizing.header import RuntimeReport
from squidbot.core.tokens.counters import builtin_counter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from squidbot.core.ports import Embedder, LoadedModel, TokenCounter
    from squidbot.core.sizing.header import Definition
    from squidbot.hookspecs import Register

# Between two words of what is said slowly.
PAUSE_SECONDS = 0.05


class Scripted:
    """A `ports.LoadedModel`. What it does is the first word of the newest message of the user."""

    name, form = "scripted-1", "openai.chat"

    def __init__(self, window_tokens: int = 8192) -> None:
        self.window_tokens: int | None = window_tokens
        self.counter: TokenCounter = builtin_counter("classes")
        self.served = RuntimeReport(window_tokens)
        self.requests: list[list[dict[str, Any]]] = []
        self.overflows = self.read_tokens = 0
        self.calls = 0

    def complete(self, _system: str, _prompt: str, _max_output_tokens: int) -> Completion:
        """Answer."""
        return Completion("yes", 1, 1)

    def reply(
        self,
        messages: Sequence[Mapping[str, object]],
        max_output_tokens: int,
        tools: Sequence[Mapping[str, object]] = (),
        told: Callable[[str], None] | None = None,
        stable: Sequence[int] = (),
    ) -> Reply:
        """Answer by the newest message."""
        self.requests.append([dict(message) for message in messages])
        self.read_tokens = self.counter.count(json.dumps([self.requests[-1], list(tools)]))
        assert max_output_tokens > 0
        assert all(0 < count <= len(messages) for count in stable)
        newest, asked = messages[-1], _asked(messages)
        if newest["role"] == "tool" and not asked.startswith("loop"):
            results = [str(message["content"]) for message in messages if message["role"] == "tool"]
            return self._say(f"The tools said {len(results)} things, at last: {results[-1].splitlines()[-2]}", told)
        acts = {"look": self._look, "loop": self._look, "slowly": self._slowly, "break": self._break}
        acts |= {"long": self._long, "wrong": self._wrong, "first": self._first}
        act = acts.get(asked.partition(" ")[0])
        if act is None or (act == self._look and not tools):
            return self._say(f"You said: {asked}", told)
        return act(asked, told)

    def embedder(self) -> Embedder:
        """Make nothing."""
        raise LLMError("refused", "it makes no vectors")

    def close(self) -> None:
        """Hold nothing."""

    def _say(self, text: str, told: Callable[[str], None] | None, pause_seconds: float = 0.0) -> Reply:
        for word in text.split(" "):
            time.sleep(pause_seconds)
            if told is not None:
                told(f"{word} ")
        read = self.read_tokens
        return Reply({"role": "assistant", "content": text}, "stop", read, len(text) // 3 + 1, read // 2)

    def _first(self, _asked: str, told: Callable[[str], None] | None) -> Reply:
        said = [str(one["content"]) for one in self.requests[-1] if one["role"] == "user"]
        return self._say(f"The first thing you said was: {said[0]}", told)

    def _look(self, asked: str, _told: Callable[[str], None] | None) -> Reply:
        words = asked.partition(" ")[2].replace('"', "")
        self.calls += 1
        calls = [
            _call(f"call{self.calls}a", "history", f'{{"action": "search", "query": "{words}"}}'),
            _call(f"call{self.calls}b", "memory", f'{{"action": "search", "query": "{words}"}}'),
            _call(f"call{self.calls}c", "weather", "{}"),
        ]
        return Reply({"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls", self.read_tokens, 20)

    def _slowly(self, asked: str, told: Callable[[str], None] | None) -> Reply:
        return self._say(" ".join(f"{asked.partition(' ')[2]}-{number}" for number in range(400)), told, PAUSE_SECONDS)

    def _break(self, _asked: str, told: Callable[[str], None] | None) -> Reply:
        self._say("The answer begins", told)
        raise LLMError("unreachable", "the server closed the connection before the answer ended")

    def _wrong(self, _asked: str, told: Callable[[str], None] | None) -> Reply:
        self._say("It begins well", told)
        raise ZeroDivisionError("a fault of the adapter")

    def _long(self, _asked: str, told: Callable[[str], None] | None) -> Reply:
        tokens = sum(len(str(message)) for message in self.requests[-1])
        if self.overflows and tokens > self.overflows:
            raise ContextOverflowError(f"{tokens} characters are more than {self.overflows}")
        return self._say("It fits now.", told)


def _asked(messages: Sequence[Mapping[str, object]]) -> str:
    users = [str(message["content"]) for message in messages if message["role"] == "user"]
    # What squidbot made stands between marks.
    said = [text for text in users if not text.startswith(("<", "["))]
    return said[-1].partition("\n\n<notice>")[0]


def _call(call_id: str, name: str, arguments: str) -> dict[str, object]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


class Offer:
    """The extension."""

    def __init__(self, model: Scripted | None = None) -> None:
        self.model = model or Scripted()

    @squidbot.hookimpl
    def register_adapters(self, register: Register) -> None:
        """Offer it."""
        register.runtime("scripted", self._open)

    def _open(self, _definition: Definition, _counter: TokenCounter) -> LoadedModel:
        return self.model


extension = Offer()
