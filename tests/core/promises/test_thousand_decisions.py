"""A thousand decisions, marked and pinned, through a hundred events: each stands word for word in every request."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.engine import ContextEngine
from squidbot.core.messages import Kind
from squidbot.core.settings import strategy
from squidbot.core.tokens.counters import Meter, builtin_counter

from ..jobs.models import writer
from .driver import CODEC, Setup, assistant, result, user
from .rules import rendered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.engine import CoreSession
    from squidbot.core.messages import Message
    from squidbot.core.summaries import SummaryQueue
    from squidbot.core.view.assembly import CoreAssembly

TIMES = int(os.environ.get("PROMISE_EFFORT", "1"))
A_TURN = 10
# Every byte a token: counting costs nothing then. Each event leaves hardly more raw than the newest step.
BYTES = Meter(builtin_counter("bytes"))
WINDOW = 800_000 * TIMES
CHAIN = replace(strategy("speed", WINDOW), low_fraction=0.0, keep_fraction=0.005 / TIMES)


@dataclass
class Decided:
    """A host that decides in every turn, and checks each request for all that was decided before it."""

    setup: Setup
    store: InMemoryStore = field(default_factory=InMemoryStore)
    decided: set[str] = field(default_factory=set)
    causes: list[str] = field(default_factory=list)
    session: CoreSession = field(init=False)

    def __post_init__(self) -> None:
        """Open the session."""
        self.session = self.opened()

    @property
    def engine(self) -> ContextEngine:
        """A fresh engine over the store, as a restarted process makes it."""
        return ContextEngine(self.store, self.store, {CODEC.tag: CODEC})

    def turn(self, number: int) -> CoreAssembly:
        """Ask, decide five things in one way or another, and return the last request."""
        if number % 7 == 0:
            self.session = self.opened()
        said = [f"[DECISION] number {number}.{place}: part_{number}.py stays" for place in range(A_TURN * TIMES)]
        call, content = f"t{number}", f"content of part_{number}:\n" + f"value {number}\n" * 200 * TIMES
        self.asked(user(f"Question {number}? " + "Please look. " * 20))
        self.replied(assistant("", (call, "read", f'{{"path": "src/part_{number}.py"}}')))
        self.asked(result(call, content))
        if number % 2:
            self.replied(assistant("\n".join((f"Answer {number}.", *said, "So it is. " * 30))))
        else:
            said = [line.replace("[DECISION]", "Decided:") for line in said]
            self.pinned(number, said[::2], said[1::2])
        self.decided.update(said)
        return self.asked(user("Go on."))

    def pinned(self, number: int, messages: Sequence[str], texts: Sequence[str]) -> None:
        """Pin what is said in messages of their own, and texts by name."""
        for line in messages:
            self.session.pin(self.replied(assistant(line)))
            self.session.record(user("And?"))
        for place, line in enumerate(texts):
            self.session.pin_text(f"decision {number}.{place}", line)
        self.replied(assistant("Kept."))

    def opened(self) -> CoreSession:
        """Return the session of a process that has just started."""
        return self.engine.session("s", self.setup.window, self.setup.meter, self.setup.settings)

    @property
    def desk(self) -> SummaryQueue:
        """The desk of the session."""
        return self.engine.summary_queue("s", self.setup.window, self.setup.meter, self.setup.settings)

    def asked(self, message: Message) -> CoreAssembly:
        """Return the request that answers a message, which is stored with what comes next."""
        made = self.session.assemble([message])
        self.session.record(*made.incoming)
        self.causes += [made.event.cause] if made.event else []
        read = frozenset().union(*map(lines_of, made.payloads))
        assert self.decided <= read, sorted(self.decided - read)[:3]
        return made

    def event(self) -> None:
        """Shorten what is sent."""
        plan = self.session.compact()
        self.causes += [plan.cause] if plan else []

    def replied(self, message: Message) -> int:
        """Record a reply, and return its seq."""
        return self.session.record(message)[-1].seq


@lru_cache(maxsize=4096)
def lines_of(payload: str) -> frozenset[str]:
    """Return the lines that a model reads of a message."""
    return frozenset(rendered(json.loads(payload)).split("\n"))


@pytest.mark.parametrize(
    ("kind", "turns"),
    [("chain", 35), *(pytest.param(kind, 100, marks=pytest.mark.slow) for kind in ("chain", "fold", "model"))],
)
def test_thousand_decisions_stand_in_every_request_through_a_hundred_events(kind: str, turns: int) -> None:
    """Half of them marked, a quarter in pinned messages, a quarter in pinned texts; a new process every seven turns."""
    host = Decided(Setup(WINDOW, 0, replace(CHAIN, chain=kind != "fold"), BYTES))
    for number in range(turns):
        last = host.turn(number)
        if kind == "model":
            host.desk.run(writer(), limit=1)
        host.event()
    assert len(host.decided) == turns * A_TURN * TIMES
    assert len(host.causes) >= turns
    assert {Kind.MARKED, Kind.PIN, Kind.SUMMARY} <= {part.kind for part in last.parts}
    notes = host.store.by_id("s", [part.summary_id for part in last.parts if part.summary_id])
    assert any(note.told_from for note in notes) is (kind == "model")


@pytest.mark.slow
def test_marked_decisions_stand_in_a_small_room_through_a_hundred_events() -> None:
    """Sixty decisions of users and of the assistant in a window of 8,000 tokens, at events that come by themselves."""
    setup = Setup(8_000, settings=strategy("balanced", 6_000))
    host = Decided(setup)
    number = 0
    while len(host.causes) < 100:
        host.session = host.opened() if number % 7 == 0 else host.session
        host.asked(user(f"- [DECISION] part {number} stays" if number < 30 else f"Question {number}?"))
        host.decided.update([f"- [DECISION] part {number} stays"] if number < 30 else [])
        host.replied(assistant("", (f"t{number}", "read", f'{{"path": "src/part_{number}.py"}}')))
        host.asked(result(f"t{number}", f"value {number}\n" * 120))
        host.replied(assistant(f"[DECISION] answer {number} holds" if number < 30 else "Fine. " * 100))
        host.decided.update([f"[DECISION] answer {number} holds"] if number < 30 else [])
        number += 1
    assert len(host.decided) == 60
    assert set(host.causes) <= {"high-water", "overflow"}
