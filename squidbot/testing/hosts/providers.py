"""Points C11 and C13 to C15: what is between squidbot and the provider of the host's model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from squidbot.core.messages import Usage
from squidbot.testing.hosts.models import FACT, FILLER, LONG, SAID
from squidbot.testing.hosts.opened import BUDGET, CHAT, home, opened, watched
from squidbot.testing.hosts.values import Step

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.testing.hosts.opened import Opened
    from squidbot.testing.hosts.programs import Host
    from squidbot.testing.hosts.values import Heard

__all__ = ["calibrated", "overflowed", "reasoned", "server_held"]


def server_held(host: Host, folder: Path) -> None:
    """C11: each switch that has the provider hold the conversation is refused by its name, and nothing is sent."""
    assert host.server_held, "Host.server_held names the switches, or Host.otherwise says why there is none"
    for number, (name, act) in enumerate(host.server_held.items()):
        with opened(host, home(folder, f"{number}")) as run:
            try:
                act(run.program)
            except Exception as error:  # noqa: BLE001  # the plugin's or the host's own
                told = f"{error}"
            else:
                raise AssertionError(f"{name} is refused: nothing was raised")
            assert name in told, f"the refusal of {name} names it: {told!r}"
            sent = len(run.model.requests)
            assert not sent, f"nothing is sent with {name}: {sent} requests were"


def overflowed(host: Host, folder: Path) -> None:
    """C13: a request that the provider refuses as too long is sent once more, smaller, and recorded once."""
    for way in ("run", "stream"):
        with opened(host, home(folder, way)) as run:
            run.say(FACT)
            for number in range(4):
                run.say(f"{number}: {FILLER}")
            before = len(run.said())
            run.scripted(lambda heard: Step(error="too_long") if heard.number == 1 else None)
            answer = run.say("Once more.") if way == "run" else run.program.stream("Once more.", CHAT)
            assert answer == SAID, f"a {way} goes on behind a refusal: it said {answer!r}"
            refused, taken = run.model.requests[-2:]
            assert taken.tokens < refused.tokens, (
                f"what is sent again is smaller: {taken.tokens} tokens behind {refused.tokens}"
            )
            assert taken.messages[-1].wire == refused.messages[-1].wire, "it is the same step: its last message stays"
            due = [("user", "Once more."), ("assistant", SAID)]
            assert run.said()[before:] == due, f"it is recorded once: expected {due}, recorded {run.said()[before:]}"


def reasoned(host: Host, folder: Path) -> None:
    """C14: what only its provider can read is sent again byte for byte, restarted, too, and whole or not at all."""
    assert host.signed is not None, "Host.signed is a reply with reasoning, or Host.otherwise says why there is none"
    due = host.signed.opaque
    assert due, "Host.signed says what only its provider can read"
    native = host.signed.native
    with opened(host, home(folder, "mem")) as run:
        run.scripted(lambda heard: Step("Yes.", native=native) if heard.number == 1 else None)
        run.say(FACT)
        run.say("And?")
        _checks_opaque(run, due)
    with opened(host, home(folder, "mem")) as run, watched(run):
        run.say("And then?")
        _checks_opaque(run, due)
        run.scripted(lambda _heard: Step("Yes.", native=native))
        for number in range(20):
            run.say(f"{number}: {LONG}")
            kept = {each.opaque for each in run.model.requests[-1].messages} - {"", due, host.signed.left}
            assert not kept, f"what only its provider can read is sent whole or not at all: {kept}"
            if run.model.planned[-1] != run.model.planned[0]:
                break
        else:
            raise AssertionError("the talk is long enough for a plan to change, else this would show nothing")
        whole = [each.opaque for each in run.model.requests[-1].messages].count(due)
        assert not whole, f"behind a change of plan, what was signed before it is left out: {whole} are in"


def _checks_opaque(run: Opened, due: str) -> None:
    opaque = [each.opaque for each in run.model.requests[-1].messages if each.opaque]
    assert opaque == [due], f"what only its provider can read is sent as it was: expected {due}, sent {opaque}"


def calibrated(host: Host, folder: Path) -> None:
    """C15: what the provider reports, cached tokens included, moves what is believed to fit."""
    known = {}
    for share in (1, 2):
        with opened(host, home(folder, f"{share}")) as run:
            # This provider counts twice what the first one does, half of it read from its cache.
            run.model.budget = BUDGET // share

            def step(heard: Heard, share: int = share) -> Step:
                tokens = share * heard.request.tokens
                return replace(Step(SAID), usage=Usage(tokens, share * len(SAID) // 4, tokens // 2))

            run.scripted(step)
            for number in range(10):
                run.say(f"{number}: {LONG}")
            known[share] = max(request.tokens for request in run.model.requests)
    assert known[2] < 0.75 * known[1], (
        f"where a provider counts twice as much, less is sent: at most {known[2]} tokens and {known[1]} as we count"
    )
