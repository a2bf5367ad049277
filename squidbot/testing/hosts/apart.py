"""Points C10 and C12: conversations stay apart, and the host's own list stays as it is."""

from __future__ import annotations

import asyncio
from itertools import takewhile
from typing import TYPE_CHECKING

from squidbot.testing.hosts.models import FILLER, LONG
from squidbot.testing.hosts.opened import CHAT, home, opened
from squidbot.testing.hosts.values import Call, Step

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.testing.hosts.opened import Opened
    from squidbot.testing.hosts.programs import Host
    from squidbot.testing.hosts.values import Sent

__all__ = ["isolated", "untouched"]

CONVERSATIONS = 8
ROUNDS = 2
OTHER = "chat-9"
# Long after the first view plan has changed.
TURNS = 8


def isolated(host: Host, folder: Path) -> None:
    """C10: eight conversations at once: no word of another is in a request or found, and each has all of its own."""
    with opened(host, home(folder, "mem")) as run:
        answers = asyncio.run(_interleaved(run))
        for number, answer in enumerate(answers):
            found = [other for other in range(CONVERSATIONS) if f"walrus{other}." in answer]
            assert found == [number], (
                f"conversation {number} finds its own words alone: found those of {found} in {answer[:400]!r}"
            )
            users = _users(run, f"chat-{number}")
            due = [f"walrus{number}. {round_} {FILLER}" for round_ in range(ROUNDS)]
            assert users[:-1] == due, f"conversation {number} has its own turns, in order: recorded {users}"
        for number in range(len(run.model.requests)):
            whole = run.whole(number)
            inside = [other for other in range(CONVERSATIONS) if f"walrus{other}.".encode() in whole]
            assert len(inside) == 1, f"a request has words of one conversation: request {number} of {inside}"


async def _interleaved(run: Opened) -> list[str]:
    async def turn(number: int, text: str) -> str:
        return await run.program.arun(text, f"chat-{number}")

    for round_ in range(ROUNDS):
        await asyncio.gather(*(turn(number, f"walrus{number}. {round_} {FILLER}") for number in range(CONVERSATIONS)))
    return await asyncio.gather(*(turn(number, f"RECALL walrus{number}") for number in range(CONVERSATIONS)))


def untouched(host: Host, folder: Path) -> None:
    """C12: the host's own list is that of a run without squidbot; history that a caller hands over comes in once."""
    ours, users, _ = _led(host, home(folder, "with"), has_squidbot=True)
    theirs, _, history = _led(host, home(folder, "without"), has_squidbot=False)
    assert theirs, "the host has a list of its own"
    assert len(users) == TURNS, f"no turn is recorded twice: {len(users)} of {TURNS} turns"
    wires = [[each.wire for each in listed] for listed in (ours, theirs)]
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*wires, strict=False)))
    assert wires[0] == wires[1], (
        f"the host's list of {len(theirs)} messages is as without squidbot: {len(ours)}, alike up to {alike}"
    )
    with opened(host, home(folder, "handed")) as run:
        due = [each.text for each in theirs if each.role == "user"]
        for text in ("And now?", "And then?"):
            run.program.run(text, OTHER, history)
            due.append(text)
            users = _users(run, OTHER)
            assert users == due, f"history that is handed over is recorded once: expected {due}, recorded {users}"
            history = run.program.history(OTHER)


def _led(host: Host, path: Path, *, has_squidbot: bool) -> tuple[list[Sent], list[str], object]:
    """Lead a conversation and return the host's list, what is recorded of the user's words, and the host's history."""
    with opened(host, path, has_squidbot=has_squidbot) as run:
        run.model.script = lambda heard: (
            Step(calls=(Call("look", {"at": 1}, f"c{heard.number}"),)) if "Look!" in heard.text else None
        )
        for number in range(TURNS):
            run.say(f"{number}: {'Look!' if number % 3 == 0 else LONG}")
        return [*run.program.listed(CHAT)], _users(run, CHAT) if has_squidbot else [], run.program.history(CHAT)


def _users(run: Opened, conversation_id: str) -> list[str]:
    return [text for role, text in run.said(conversation_id) if role == "user"]
