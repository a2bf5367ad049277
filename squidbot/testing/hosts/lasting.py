"""The point of length: three hundred steps of tools in a small window, in a process that is killed half-way."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from squidbot.testing.hosts.children import KILLED, SCENES, die, killed
from squidbot.testing.hosts.models import FACT, SAID
from squidbot.testing.hosts.opened import home, opened, watched
from squidbot.testing.hosts.rules import broken_prefixes
from squidbot.testing.hosts.values import Call, Step

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.testing.hosts.opened import Opened
    from squidbot.testing.hosts.programs import Host

__all__ = ["lasting"]

BUDGET: Final = 8_192
TURNS, STEPS = 15, 20
# In which turn, and at which of its steps, the process is killed: in a tool.
KILLED_AT: Final = (7, 11)
# What a result is made of; every so many of them is longer.
LINE: Final = "entry {at}: shelf {at}, three jars of squid ink, checked at noon; "
SCENE: Final = "killed half-way"


def lasting(host: Host, folder: Path) -> None:
    """300 steps at an 8K window: no request over budget or invalid, append-only between plans, all is recorded."""
    path = home(folder, "mem")
    ended = killed(host, {SCENE: path}, BUDGET)[SCENE]
    assert ended == KILLED, f"the first half goes well, up to where its process is killed: it ended with {ended}"
    with opened(host, path, budget=BUDGET) as run:
        with watched(run):
            for turn in range(KILLED_AT[0] + 1, TURNS):
                _look_about(run, turn)
            answer = run.say("RECALL the walrus at the harbour.")
            _checks_prefixes(run)
        assert "Brunhilde" in answer, f"the fact of the first turn is found behind all that: {answer[:200]!r}"
        _checks_recorded(run)


def _look_about(run: Opened, turn: int) -> None:
    """Run a turn of many steps, each with one call or two."""
    first = turn * STEPS

    def step(number: int) -> Step:
        if number > STEPS:
            return Step(SAID)
        places = [first + number, *([-(first + number)] if number % 4 == 0 else [])]
        return Step(calls=tuple(Call("look", {"at": abs(at)}, f"c{at}") for at in places))

    run.model.looks = lambda at: LINE.format(at=at) * (40 if at % 25 == 0 else 4)
    run.scripted(lambda heard: step(heard.number))
    answer = run.say(f"Turn {turn}: look about.")
    run.unscripted()
    assert answer == SAID, f"a turn of {STEPS} steps has its answer: {answer[:200]!r}"


def _checks_prefixes(run: Opened) -> None:
    broken = broken_prefixes(run.model.requests, run.model.planned)
    assert not broken, f"requests extend each other: {'; '.join(broken[:2])}"
    plans = len(set(run.model.planned))
    assert plans > 1, "the talk is long enough for a plan to change, else this would show nothing"


def _checks_recorded(run: Opened) -> None:
    said, text = run.said(), run.text()
    turns = [words for role, words in said if role == "user"]
    due = [FACT, *(f"Turn {turn}: look about." for turn in range(TURNS)), "RECALL the walrus at the harbour."]
    assert turns == due, f"every turn is recorded once, in order: {turns}"
    lost = [at for at in _steps() if f"entry {at}: " not in text]
    assert not lost, f"every result is recorded: not those of the steps {lost}"
    calls = [name for role, name in said if role == "call"]
    results = [name for role, name in said if role == "result"]
    assert len(calls) == len({*calls}), "every call is recorded once"
    assert sorted(calls) == sorted(results), f"every call has one result: {sorted({*calls} ^ {*results})}"


def _steps() -> list[int]:
    """Return the steps whose tools came to an end."""
    every = [turn * STEPS + number for turn in range(TURNS) for number in range(1, STEPS + 1)]
    turn, last = KILLED_AT
    return [at for at in every if not turn * STEPS + last <= at <= (turn + 1) * STEPS]


def _first_half(run: Opened) -> None:
    """Be killed half-way; 3 where a rule was broken until then, which is printed."""
    with watched(run):
        run.say(FACT)
        for turn in range(KILLED_AT[0]):
            _look_about(run, turn)
        at = KILLED_AT[0] * STEPS + KILLED_AT[1]
        looks = run.model.looks
        run.model.looks = lambda place: _end(run) if place == at else looks(place)
        run.scripted(lambda heard: _one(KILLED_AT[0] * STEPS + heard.number))
        run.say(f"Turn {KILLED_AT[0]}: look about.")


def _one(at: int) -> Step:
    return Step(calls=(Call("look", {"at": at}, f"c{at}"),))


def _end(run: Opened) -> str:
    faults = [*run.model.faults, *broken_prefixes(run.model.requests, run.model.planned)]
    if faults:
        sys.stderr.write("\n".join(faults[:5]))
        sys.stderr.flush()
    return die(3 if faults else KILLED)


SCENES[SCENE] = _first_half
