"""What a session sends right now, whoever loads it."""

from __future__ import annotations

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.messages import Cost, Kind
from squidbot.core.transcript.pins import Pins
from squidbot.core.view.current import CurrentView, Pieces, SessionContext, Tail, load, standing

from ..promises.driver import Host, Setup, assistant, message, opened, user
from ..promises.histories import tame
from ..rows import RENDERER, row

EMPTY = standing(None, Pieces((), (), (), Tail()))
SMALL = Setup(4096)


def loaded(store: InMemoryStore, setup: Setup = SMALL) -> CurrentView:
    """Return what a new process loads."""
    return load(SessionContext("s", store, store, RENDERER), setup.window_tokens, setup.window.window_id)


def test_unknown_session_stands_for_nothing() -> None:
    """No plan, no part, no turn."""
    made = loaded(InMemoryStore())
    assert made == EMPTY
    assert (made.sent, made.at_turn, made.in_flight, made.pins) == ((), False, Cost(0, 0), Pins())


def test_system_text_that_opens_the_transcript_is_its_lead() -> None:
    """In front of everything, fixed; later system text is history."""
    made = EMPTY.extended([row(0, "system"), row(1, "system"), row(2), row(3, "system")], RENDERER)
    assert made.lead_count == 2
    assert (made.fixed, made.history) == (Cost(20, 20), Cost(20, 20))
    assert [part.kind for part in made.sent] == [Kind.SYSTEM, Kind.SYSTEM, Kind.MESSAGE, Kind.SYSTEM]


def test_more_system_text_is_lead_while_nobody_has_spoken() -> None:
    """It came with the next call."""
    made = EMPTY.extended([row(0, "system")], RENDERER).extended([row(1, "system"), row(2)], RENDERER)
    assert made.lead_count == 2
    assert made.messages == 3


def test_standing_grows_with_its_counts() -> None:
    """Turn, time, number and cost are those of the newest message."""
    made = EMPTY.extended([row(0, time=1.0), row(1, "assistant", time=2.0, turn=0)], RENDERER)
    assert (made.messages, made.turn, made.newest_time, made.history) == (2, 0, 2.0, Cost(20, 20))
    assert made.extended([], RENDERER) is made
    assert not made.at_turn
    assert made.extended([row(2, turn=2)], RENDERER).at_turn


def test_message_in_flight_is_the_one_that_opened_the_turn() -> None:
    """Wherever it stands."""
    made = EMPTY.extended([row(0, tokens=33), row(1, "assistant"), row(2, "assistant")], RENDERER)
    assert made.in_flight == Cost(33, 33)
    assert EMPTY.extended([row(0, "assistant")], RENDERER).in_flight == Cost(10, 10)


@pytest.mark.parametrize(
    ("roles", "needed"),
    [
        ([], (True, False)),
        (["user"], (False, False)),
        (["assistant"], (True, True)),
        (["user", "assistant"], (False, True)),
        (["system"], (True, False)),
        (["system", "user"], (False, False)),
    ],
)
def test_notices_are_needed_where_nobody_could_speak(roles: list[str], needed: tuple[bool, bool]) -> None:
    """And a request has exactly these."""
    made = EMPTY.extended([row(seq, role) for seq, role in enumerate(roles)], RENDERER)  # type: ignore[arg-type]
    assert made.needs_notices == needed
    notices = [part for part in made.parts((), RENDERER) if part.kind is Kind.NOTICE]
    assert len(notices) == sum(needed)


@pytest.mark.parametrize("turns", [2, 20])
def test_new_process_loads_what_the_old_one_held(turns: int) -> None:
    """With and without a plan."""
    host = Host(InMemoryStore(), SMALL, watch=False)
    host.run([message("system", "Be brief."), *tame(turns, 120), user("?")])
    assert host.session is not None
    host.session.record(*host.calls[-1].request.incoming)
    made, request = loaded(host.store), opened(host.store, SMALL).assemble()
    assert made.parts((), RENDERER) == host.calls[-1].request.parts == request.parts
    assert (made.plan is None) is (turns == 2)
    assert made.messages == 4 * turns + 2


def test_plan_of_another_lease_is_not_in_force() -> None:
    """Its segments are gone, its number goes on."""
    host = Host(InMemoryStore(), SMALL, watch=False)
    host.run(tame(20, 120))
    made = loaded(host.store, Setup(131_072))
    assert (made.blocks, made.opened) == ((), True)
    assert made.plan is not None
    assert loaded(host.store).blocks


def test_messages_too_old_to_be_read_are_absent_with_a_pointer() -> None:
    """Four windows back; the question in flight and the pinned step are read all the same (B-45)."""
    store = InMemoryStore()
    session = opened(store, Setup(131_072))
    session.record(user("THE TASK"), *(assistant("step " * 200) for _ in range(150)))
    session.pin(3)
    made = loaded(store, Setup(2048))
    (block,) = made.blocks
    assert (block.segment.first_seq, block.segment.verbatim) == (0, (0, 3))
    assert block.segment.last_seq + 1 == made.tail.steps[0].first_seq
    assert made.opened
    assert 4 * 2048 <= made.tail.cost.bound < 5 * 2048


def test_steps_are_found_around_any_of_their_messages() -> None:
    """Each message once, in order; unknown ones are left out."""
    store = InMemoryStore()
    opened(store, SMALL).record(*tame(3, 8))
    shelf = SessionContext("s", store, store, RENDERER)
    assert [one.seq for one in shelf.steps_with([6, 1, 2, 999])] == [1, 2, 5, 6]


def test_counts_are_those_of_another_standing() -> None:
    """Turn, time, records and pins are taken over."""
    counts = EMPTY._replace(messages=7, records=3, turn=5, newest_time=2.5, opened=True, pins=Pins(frozenset({1})))
    made = standing(None, Pieces((), (), (), Tail()), counts)
    assert made == counts
