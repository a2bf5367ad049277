"""Promise 13: nothing is lost, and everything can be taken back: undo, snapshots, past requests, in any process."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.compaction.undo import RAW
from squidbot.core.engine import Inputs
from squidbot.core.messages import Kind
from squidbot.core.settings import HistorySettings
from squidbot.core.view.renderer import CONTINUE

from .acting import Act, Acting, acts
from .driver import Setup, assistant, message, opened, result
from .histories import VARIANTS, effort, histories, tame
from .rules import breaks_at, transcript_of
from .test_promise_6_same_bytes import outcome
from .test_promise_requests import check

if TYPE_CHECKING:
    from squidbot.core.messages import Message
    from squidbot.core.view.assembly import CoreAssembly


def talks() -> st.SearchStrategy[list[Message]]:
    """Return histories that need events: a plain beginning of many turns, then anything."""
    plain = st.builds(tame, st.integers(8, 22), st.sampled_from([60, 100, 140]))
    return st.builds(lambda first, rest: [*first, *rest], plain, histories(2000, 6))


def acting(
    history: list[Message], given: dict[int, list[Act]], variant: int | HistorySettings, *, restless: bool = False
) -> Acting:
    """Return the host that has been through it all."""
    setup = Setup(4096, settings=VARIANTS[variant] if isinstance(variant, int) else variant)
    host = Acting(InMemoryStore(), setup, acts=given, restless=restless)
    host.run(history)
    return host


VARIANT = st.integers(0, len(VARIANTS) - 1)


@effort(20)
@given(history=talks(), given=acts(), variant=VARIANT)
def test_every_message_stays_what_was_said(history: list[Message], given: dict[int, list[Act]], variant: int) -> None:
    """Whatever is done to the view: payloads byte for byte, in order; each request accounts for each of them once."""
    host = acting(history, given, variant)
    rows = host.store.read("s", 0, 10_000)
    assert [row.payload for row in rows] == [one.payload for one in host.said]
    for call in host.calls:
        if call.assembly is not None:
            spans = call.request.report.spans
            covered = [seq for span in spans for seq in range(span.first_seq, span.last_seq + 1)]
            assert covered == list(range(len(transcript_of(call))))
            for span in spans:
                for seq in range(span.first_seq, span.last_seq + 1):
                    check(call, span, seq)
            assert call.assembly.cost.bound <= call.assembly.limit.bound
            assert call.assembly.cost.estimate <= call.assembly.limit.estimate


@effort(20)
@given(history=talks(), given=acts(), variant=VARIANT)
def test_any_process_goes_on_with_the_same_bytes(
    history: list[Message], given: dict[int, list[Act]], variant: int
) -> None:
    """One process for all of it, and a new one behind every call and every act."""
    one, other = (acting(history, given, variant, restless=restless) for restless in (False, True))
    assert list(map(outcome, one.calls)) == list(map(outcome, other.calls))
    assert one.tried == other.tried
    for kind in ("plan", "fragment", "ledger", "snapshot", "window", "request", "pin"):
        assert one.store.records("s", kind) == other.store.records("s", kind)


def test_cut_messages_stand_behind_a_pinned_answer_as_another_process_sends_them() -> None:
    """With the notice between two messages of the assistant, where only the second is sent anew."""
    given = {6: [Act("pin", 3)], 7: [Act("compact", 0)]}
    one, other = (acting(tame(8, 100), given, 6, restless=restless) for restless in (False, True))
    assert list(map(outcome, one.calls)) == list(map(outcome, other.calls))
    assert any(CONTINUE in payload for payload in one.calls[7].request.payloads)


def test_scope_holds_in_a_lease_that_is_opened_and_a_second_try_makes_no_event() -> None:
    """Notes alone, and the current turn, from its first request on."""
    given = {6: [Act("lease", 1), Act("crash", 0)]}
    host = acting(tame(8, 60), given, VARIANTS.index(HistorySettings(scope="summaries")))
    opened_by = next(one for one in host.sent if one.event and one.event.cause == "opened")
    assert sum(part.kind is Kind.MESSAGE for part in opened_by.parts) == 1


@pytest.mark.parametrize("scope", ["summaries", "none"])
def test_second_try_behind_a_recall_is_the_first_one_whatever_the_scope(scope: str) -> None:
    """The answer of a recall stays, and no second event takes it out."""
    given = {6: [Act("recall", 0), Act("crash", 0)], 7: [Act("undo", 0)]}
    host = acting(tame(8, 60), given, VARIANTS.index(HistorySettings(scope=scope)))
    assert any(one.event and one.event.cause == "rollover" for one in host.sent)


def test_compaction_by_hand_under_another_lease_notes_all_anew() -> None:
    """What was noted under the window before is not told beside it, in whichever process."""
    given = {25: [Act("lease", 0), Act("compact", 0)], 6: [Act("lease", 1)]}
    one, other = (acting(tame(17, 150), given, 3, restless=restless) for restless in (False, True))
    assert list(map(outcome, one.calls)) == list(map(outcome, other.calls))
    assert one.store.records("s", "ledger") == other.store.records("s", "ledger") != []


@effort(20)
@given(history=talks(), given=acts(), variant=VARIANT)
def test_request_extends_the_former_one_behind_an_undo(
    history: list[Message], given: dict[int, list[Act]], variant: int
) -> None:
    """The next request under a plan that was brought back: the last one that was made under it, and what came since."""
    host = acting(history, given, variant)
    for done in host.done:
        former = host.former(done.target)
        again = next((one for one in host.sent if one.plan and one.plan.plan_id == done.plan.plan_id), None)
        if former is not None and again is not None and settled(former):
            assert breaks_at(former, again) is None


def settled(former: CoreAssembly) -> bool:
    """Return whether nothing that comes later is shown inside a request: an open step, a notice at its end."""
    steps = former.view.tail.steps
    return former.parts[-1].kind is not Kind.NOTICE and (not steps or steps[-1].whole)


@example(history=tame(14, 140), given={6: [Act("undo")], 27: [Act("undo")]}, variant=1)
@effort(20)
@given(history=talks(), given=acts(), variant=VARIANT)
def test_notes_behind_an_undo_are_those_of_then(
    history: list[Message], given: dict[int, list[Act]], variant: int
) -> None:
    """Nothing is counted twice, nothing is lost; and no block is told twice in any request."""
    host = acting(history, given, variant)
    for done in host.done:
        assert done.notes == (host.notes[done.target] if done.target != RAW else host.no_notes)
    for call in host.calls:
        runs = [
            (one.first_seq, one.last_seq) for one in (call.assembly.parts if call.assembly else ()) if one.summary_id
        ]
        assert all(before[1] < after[0] for before, after in pairwise(runs))


@effort(20)
@given(history=talks(), given=acts(), variant=VARIANT, system=st.sampled_from(["", "You are helpful."]))
def test_any_recorded_request_can_be_made_again(
    history: list[Message], given: dict[int, list[Act]], variant: int, system: str
) -> None:
    """In any process: the bytes that were sent, under whatever window."""
    setup = Setup(4096, settings=VARIANTS[variant])
    host = Acting(InMemoryStore(), setup, acts=given, inputs=lambda _step: Inputs(system=system))
    host.run(history)
    check_again(host, system)


def check_again(host: Acting, system: str) -> None:
    """Check that each request that was recorded can be made again by a new process."""
    session = opened(host.store, host.setup)
    assert len(host.sent) == len(host.store.records("s", "request"))
    for number, made in enumerate(host.sent):
        again = session.request(number, Inputs(system=system))
        assert again.payloads == made.payloads
        assert again.parts == made.parts
        assert (again.cost, again.limit, again.window) == (made.cost, made.limit, made.window)
        assert again.report == made.report
    if host.sent:
        assert session.request().payloads == host.sent[-1].payloads[bool(system) :]


UNDONE = {number: [Act("undo")] for number in range(6, 12)}
# In each, results without a call stand behind a step that an event takes away, and a process ends behind that event.
LOST_CALLS = (
    [*tame(9, 60), assistant("3f2504e0-4f89-11d3"), result("a", "\ud800" * 199), result("a", "\0" * 585)],
    [
        *tame(9, 140),
        message("user", ""),
        assistant("\ud800" * 199),
        result("a", "3f2504e0-4f89-11d3"),
        result("a", "\0" * 608),
        message("user", "m0 recall s0-3.beef" * 90),
    ],
)


@pytest.mark.parametrize(
    ("history", "variant"),
    [
        pytest.param(history, variant, marks=[pytest.mark.slow] * ((place + variant) % 2))
        for place, history in enumerate(LOST_CALLS)
        for variant in range(len(VARIANTS))
    ],
)
def test_second_try_cuts_results_without_a_call_as_the_first_did(history: list[Message], variant: int) -> None:
    """Whatever its event took from in front of them; and the request can be made again."""
    setup = Setup(4096, settings=VARIANTS[variant])
    host = Acting(InMemoryStore(), setup, acts=UNDONE | {18: [Act("crash")], 19: [Act("crash")]})
    host.run(history)
    check_again(host, "")
