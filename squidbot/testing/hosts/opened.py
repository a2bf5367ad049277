"""A program while it is checked: its fake model, its file, what it says; and that no rule was broken on the way."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from squidbot.testing.hosts.models import FACT, LONG, Model
from squidbot.testing.hosts.programs import Setting
from squidbot.testing.hosts.stores import plan_count, reading, said, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from squidbot.testing.hosts.models import Script
    from squidbot.testing.hosts.programs import Host

__all__ = ["BUDGET", "CHAT", "Opened", "home", "opened", "timeless", "watched"]

BUDGET: Final = 4_000
CHAT: Final = "chat-1"
# More turns than fit the budget several times.
MOST_TURNS: Final = 30
# What two runs can't have alike in what a search finds: when something was said, and digests of that.
_CLOCK: Final = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|sha256 [0-9a-f]{8}")


class Opened:
    """A program that is open."""

    def __init__(self, host: Host, setting: Setting) -> None:
        """Make it."""
        self.host, self.path, self.model = host, setting.path, setting.model
        self.program = host.make(setting)

    def say(self, text: str, conversation_id: str = CHAT) -> str:
        """Run a turn and return the answer."""
        return self.program.run(text, conversation_id)

    def fails(self, text: str, conversation_id: str = CHAT) -> str:
        """Run a turn that the host may end by an error, and return what it was; "" where it raised none."""
        try:
            self.program.run(text, conversation_id)
        except Exception as error:  # noqa: BLE001  # each host has its own
            return f"{type(error).__name__}: {error}"
        return ""

    def talk(self) -> int:
        """Tell the fact, and then of other things until it is out of view; return how many turns that took."""
        self.say(FACT)
        for number in range(1, MOST_TURNS):
            self.say(f"{number}: {LONG}")
            if FACT.encode() not in self.whole():
                return number + 1
        raise AssertionError(f"what was said first falls out of view in time: it was sent for {MOST_TURNS} turns")

    def scripted(self, script: Script) -> None:
        """Have the model say what a script says from now on, which counts its requests from 1."""
        before = len(self.model.requests)
        self.model.script = lambda heard: script(
            type(heard)(heard.text, heard.results, heard.number - before, heard.request)
        )

    def unscripted(self) -> None:
        """Have the model say the usual from now on."""
        self.model.script = lambda _heard: None

    def said(self, conversation_id: str = CHAT) -> list[tuple[str, str]]:
        """Return what is recorded; see `stores.said`."""
        return said(self.path, conversation_id)

    def text(self, conversation_id: str = CHAT) -> str:
        """Return all words that are recorded."""
        return text_of(self.path, conversation_id)

    def wires(self, number: int = -1) -> list[bytes]:
        """Return one request as it was compared, without times."""
        return [timeless(each) for each in self.model.requests[number].wires]

    def whole(self, number: int = -1) -> bytes:
        """Return one request as one text."""
        return b"\n".join(self.model.requests[number].wires)


def home(folder: Path, name: str) -> Path:
    """Return the file of a program in a folder of its own: hosts may keep files beside it."""
    made = folder / name
    made.mkdir(parents=True, exist_ok=True)
    return made / "mem.db"


def timeless(wire: bytes) -> bytes:
    """Return bytes without the times in what a search finds."""
    return _CLOCK.sub(b"then", wire)


@contextmanager
def opened(
    host: Host,
    path: Path,
    *,
    budget: int | None = BUDGET,
    has_squidbot: bool = True,
    settings: Mapping[str, object] | None = None,
) -> Iterator[Opened]:
    """Open a program, close it behind, and check that every request was valid and within budget; None: bounded by none.

    Raises:
        AssertionError: one was not.
    """
    model = Model(budget if has_squidbot else None, host.search)
    made = Opened(host, Setting(path, model, budget or BUDGET, has_squidbot, settings))
    try:
        yield made
    finally:
        made.program.close()
    assert not model.faults, f"every request is valid and within budget: {'; '.join(model.faults[:3])}"


@contextmanager
def watched(run: Opened, conversation_id: str = CHAT) -> Iterator[None]:
    """Count view plans of a conversation as requests are heard."""
    with reading(run.path) as engine:
        store = engine.wired.store
        run.model.plans = lambda: plan_count(store, conversation_id)
        try:
            yield
        finally:
            run.model.plans = lambda: 0
