"""Points C6 and C7: runs, awaited runs and streams leave the same; a stream that ends early leaves what came."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from squidbot.testing.hosts.models import FACT, FILLER, SAID
from squidbot.testing.hosts.opened import CHAT, home, opened, timeless
from squidbot.testing.hosts.stores import rows
from squidbot.testing.hosts.values import Call, Step

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from squidbot.testing.hosts.opened import Opened
    from squidbot.testing.hosts.programs import Host

__all__ = ["alike", "streamed"]

TURNS: Final = (FACT, FILLER, "Look!", "RECALL what the walrus is called.", "And now?")
# What an answer that is no whole one says of itself, whatever the host's form.
INCOMPLETE: Final = "incomplete"


def alike(host: Host, folder: Path) -> None:
    """C7: the host's own entry that waits and the one that is awaited leave the same, in store and requests."""
    _compares(host, folder, "awaited", lambda run, text: asyncio.run(run.program.arun(text, CHAT)))


def streamed(host: Host, folder: Path) -> None:
    """C6: a stream leaves what a run leaves; abandoned, failed and cancelled ones leave the prompt and what came."""
    _compares(host, folder, "streamed", lambda run, text: run.program.stream(text, CHAT))
    for way, ends in (("abandoned", _abandon), ("failed", _fail), ("cancelled", _cancel)):
        with opened(host, home(folder, way)) as run:
            run.say(FACT)
            ends(run)
            run.unscripted()
            _checks_left(run, way)
        with opened(host, home(folder, way)) as run:
            answer = run.say("And the cat?")
            assert answer == SAID, f"the run behind a stream that was {way} goes on: it said {answer!r}"
            assert b"And the seal?" in run.whole(), f"the prompt of a stream that was {way} is sent again"


def _compares(host: Host, folder: Path, way: str, act: Callable[[Opened, str], object]) -> None:
    found = {}
    for name, say in (("run", lambda run, text: run.say(text)), (way, act)):
        with opened(host, home(folder, f"{way}-{name}")) as run:
            run.model.script = lambda heard: (
                Step(calls=(Call("look", {"at": 1}, "c1"), Call("look", {"at": 2}, "c2")))
                if heard.text == "Look!"
                else None
            )
            for text in TURNS:
                say(run, text)
            found[name] = run.said(), [run.wires(number) for number in range(len(run.model.requests))]
    ours, theirs = found[way], found["run"]
    said = [[(role, timeless(text.encode())) for role, text in each[0]] for each in (ours, theirs)]
    same = said[0] == said[1]
    assert same, f"{way} turns are recorded as others: expected {theirs[0]}, recorded {ours[0]}"
    differ = [number for number, pair in enumerate(zip(ours[1], theirs[1], strict=False), 1) if pair[0] != pair[1]]
    assert not differ, f"{way} turns send what others send: requests {differ} are other"
    assert len(ours[1]) == len(theirs[1]), f"{way} turns ask as often: {len(ours[1])} and {len(theirs[1])} times"


def _abandon(run: Opened) -> None:
    run.program.stream("And the seal?", CHAT, pieces=1)


def _fail(run: Opened) -> None:
    run.scripted(lambda _heard: Step(SAID, error="failed", pieces=2))
    with suppress(Exception):  # each host has its own
        run.program.stream("And the seal?", CHAT)


def _cancel(run: Opened) -> None:
    run.scripted(lambda _heard: Step(SAID, is_held=True, pieces=2))
    run.program.cancel("And the seal?", CHAT, streams=True)


def _checks_left(run: Opened, way: str) -> None:
    said = run.said()
    due = [("user", FACT), ("assistant", SAID), ("user", "And the seal?")]
    assert said[:3] == due, f"a stream that was {way} leaves its prompt: expected {due}, recorded {said}"
    for role, text in said[3:]:
        assert role == "assistant", f"a stream that was {way} leaves nothing but what came: recorded {said}"
        assert SAID.startswith(text), f"what came of a stream that was {way} is what was said: recorded {text!r}"
        row = rows(run.path, CHAT)[-1][0]
        is_told = text == SAID or INCOMPLETE in row.payload
        assert is_told, f"what came of a stream that was {way} is marked {INCOMPLETE!r}: recorded {row.payload}"
    assert len(said) <= 4, f"a stream that was {way} leaves one answer at most: recorded {said}"
