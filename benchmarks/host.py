"""A session as a host holds it, and turns as a host has them."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, NamedTuple

from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.core.budget import WindowSettings, open_window
from squidbot.core.engine import ContextEngine, Inputs
from squidbot.core.events import COMPRESSION_SKIPPED, VIEW_PLAN_CHANGED
from squidbot.core.settings import strategy
from squidbot.core.tokens.counters import Meter, builtin_counter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from squidbot.core.engine import CoreSession
    from squidbot.core.events import Event
    from squidbot.core.messages import Message
    from squidbot.core.ports import SummaryStore, TokenCounter, TranscriptStore

__all__ = ["CODEC", "SESSION", "Call", "Host", "Seen", "Stores", "open_session"]

CODEC = OpenAIChat()
# The session that a seeded store holds.
SESSION = "benchmark"
# An exchange of 1.5 KB, as in the table of spec C1 that the bars come from: a question, and an answer of four times it.
ASKED_CHARS, ANSWERED_CHARS, RESULT_CHARS = 300, 1200, 4000
SYSTEM_CHARS, TOOLS = 1000, 4
WORDS = (
    "cache price index page token window budget store append plan lease session turn summary recall journal server "
    "request answer error timeout retry queue worker thread lock commit branch merge review test build deploy log "
    "src/app/main.py config.toml https://example.org/docs 404 1024 0x7f3a None True def return import class the a of "
    "to in is that we should with for and not on it as was at by this be have"
)
NOW = 1_900_000_000.0


class Seen:
    """Notes whether the newest call made, or thought about, an event."""

    def __init__(self) -> None:
        """Nothing has been seen yet."""
        self.busy = False

    def notify(self, event: Event) -> None:
        """Take one event of the engine."""
        self.busy = self.busy or event.name in {VIEW_PLAN_CHANGED, COMPRESSION_SKIPPED}

    def was_busy(self) -> bool:
        """Return it, and forget it."""
        busy, self.busy = self.busy, False
        return busy


class Stores(NamedTuple):
    """Where transcripts and summaries stand, and who is told of events."""

    transcripts: TranscriptStore
    summaries: SummaryStore
    seen: Seen | None = None


def open_session(
    stores: Stores, window_tokens: int, session_id: str = SESSION, counter: TokenCounter | None = None
) -> CoreSession:
    """Return a new session object with the default reserve and strategy; `counter` None: the default one."""
    meter = Meter(counter or builtin_counter("classes"))
    window = open_window(WindowSettings(window_tokens), meter.name, meter.certificate)
    settings = strategy("balanced", window.window_tokens - window.reserved_output_tokens)
    engine = ContextEngine(stores.transcripts, stores.summaries, {CODEC.tag: CODEC}, stores.seen)
    return engine.session(session_id, window, meter, settings)


class Call(NamedTuple):
    """One model call: what the host adds, and what the model says to it."""

    incoming: tuple[Message, ...]
    reply: Message
    time: float


class Host:
    """Says something new each turn, the same things in each run; a turn in four calls a tool."""

    def __init__(self, seed: int = 1) -> None:
        """Hosts of one seed say the same."""
        self.seed = seed
        self.turns = 0
        self._chance = random.Random(seed)  # noqa: S311  # text to measure with, no secret
        self._pool = " ".join(self._chance.choices(WORDS.split(), k=40_000))
        self._system = self._pool[:SYSTEM_CHARS]
        tool = {"name": "read_file", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}
        described = [{**tool, "description": self.text(300)} for _ in range(TOOLS)]
        self._tools = json.dumps(described)

    def turn(self) -> Iterator[Call]:
        """Yield the calls of the next turn."""
        self.turns += 1
        now = NOW + 45.0 * self.turns
        asked = self.said("user", self.text(ASKED_CHARS))
        answered = self.said("assistant", self.text(ANSWERED_CHARS))
        if self.turns % 4:
            yield Call((asked,), answered, now)
            return
        call_id = f"call_{self.seed}_{self.turns}"
        function = {"name": "read_file", "arguments": json.dumps({"path": f"src/part{self.turns % 97}.py"})}
        calls = [{"id": call_id, "type": "function", "function": function}]
        yield Call((asked,), self.said("assistant", "", tool_calls=calls), now)
        result = self.said("tool", self.text(RESULT_CHARS), tool_call_id=call_id)
        yield Call((result,), answered, now + 5.0)

    @property
    def inputs(self) -> Inputs:
        """What the host sends with every request: 1 KB of system text, 2 KB of tool definitions."""
        return Inputs(system=self._system, tools=self._tools, now=NOW + 45.0 * self.turns)

    def question(self) -> Message:
        """Return something the user says."""
        return self.said("user", self.text(ASKED_CHARS))

    def said(self, role: str, content: str, **more: object) -> Message:
        """Return a message of the host's form."""
        native: Mapping[str, object] = {"role": role, "content": content, **more}
        return CODEC.to_message(native)

    def text(self, chars: int) -> str:
        """Return a text of so many characters."""
        start = self._chance.randrange(len(self._pool) - chars)
        return self._pool[start : start + chars]
