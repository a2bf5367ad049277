"""Promise 13, case by case: what an undo brings back, how long it is held, and when there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core import events
from squidbot.core.engine import Inputs
from squidbot.core.errors import BudgetError, NotFoundError
from squidbot.core.plan import PlanRecord, Section

from .driver import BY_MARKS, Host, Meddled, Setup, assistant, changed, held, message, opened, requests, result, user
from .histories import tame
from .rules import breaks_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.messages import Record, StoredMessage

SETUP = Setup(8192, settings=BY_MARKS)


def evented(setup: Setup = SETUP, turns: int = 40, **fields: object) -> Host:
    """Return a host at the end of the turn that began with its first event: a call with its result, and an answer."""
    host = Host(InMemoryStore(), setup, **fields)  # type: ignore[arg-type]  # a test names them
    for turn in range(turns):
        host.run(tame(1, 140, start=turn))
        if any(request.event for request in requests(host.calls)):
            return host
    pytest.fail("no event came")


def formers(host: Host) -> list[int]:
    """Return the places of the requests that were made under no plan."""
    return [place for place, one in enumerate(requests(host.calls)) if one.plan is None]


def test_undo_brings_the_former_request_back_with_what_came_since_behind_it() -> None:
    """V29, and its plan says why, where the prefix broke, and what it costs."""
    host = evented()
    former = requests(host.calls)[formers(host)[-1]]
    event = host.calls[-2].request.event
    assert event is not None
    plan = host.session.undo(now=7.0)
    host.pending.append(user("and now?"))
    again = host.call().request
    assert again.event is None
    assert breaks_at(former, again) is None
    assert {span.how for span in again.report.spans} == {"verbatim"}
    assert (plan.cause, plan.plan_id, plan.parent_plan_id, plan.repeats) == (
        "undo",
        event.plan_id + 1,
        event.plan_id,
        -1,
    )
    assert plan.created_at == 7.0
    assert plan.held
    assert plan.first_changed is not None
    assert plan.first_changed.index == (event.first_changed.index if event.first_changed else None)
    assert plan.tokens_after > plan.tokens_before
    assert plan.price is not None
    assert plan.price.written_tokens > 0
    told = [name for name in host.observer.names() if name != events.CONTEXT_PRESSURE]
    assert told[-4:] == [
        events.VIEW_PLAN_CHANGED,
        events.PREFIX_BROKEN,
        events.PLAN_UNDONE,
        events.CONTEXT_ASSEMBLED,
    ]


def test_undo_in_another_process_is_the_same() -> None:
    """The first one goes on with what the second has done."""
    one, two = evented(), evented()
    one.session.undo()
    opened(two.store, SETUP).undo()
    for host in (one, two):
        host.pending.append(user("and now?"))
    assert one.call().request.payloads == two.call().request.payloads
    assert held(one.store).records["plan"] == held(two.store).records["plan"]


def test_undoing_again_goes_further_back_until_nothing_has_been_shortened() -> None:
    """Two events by hand, two undos, and no third."""
    host = evented(Setup(16_384))
    first = host.calls[-2].request.event
    assert first is not None
    host.run(tame(3, 60, start=60))
    second = host.session.compact()
    assert second is not None
    one = host.session.undo()
    assert (one.segments, one.repeats) == (first.segments, first.plan_id)
    two = host.session.undo()
    assert (two.segments, two.repeats) == ((), -1)
    with pytest.raises(NotFoundError, match=r"^there is nothing to undo in 's'"):
        host.session.undo()
    third = host.session.compact()
    assert third is not None
    assert host.session.undo().repeats == two.plan_id


def test_nothing_can_be_undone_where_nothing_was_done() -> None:
    """An unknown session, one without a plan, one whose head was frozen before anything was said."""
    with pytest.raises(NotFoundError):
        opened(InMemoryStore(), SETUP).undo()
    host = Host(InMemoryStore(), SETUP, inputs=lambda _step: Inputs(sections=(Section("memory", "x"),)))
    host.run(tame(1, 4))
    assert held(host.store).records["plan"]
    before = host.store.head("s")
    with pytest.raises(NotFoundError):
        opened(host.store, SETUP).undo()
    assert host.store.head("s") == before


def test_undo_that_does_not_fit_changes_nothing() -> None:
    """The error says what is too large; the next request is what it would have been."""
    host = evented(Setup(4096))
    host.run(tame(6, 140, start=30))
    before = host.store.head("s")
    with pytest.raises(BudgetError) as raised:
        host.session.undo()
    assert (raised.value.culprit, raised.value.cost > raised.value.budget) == ("what would stand again", True)
    assert host.store.head("s") == before
    assert host.session.preview().event is None


def test_transcript_of_many_windows_is_not_read_to_see_that_it_does_not_fit() -> None:
    """An undo of an opened session: the newest messages alone are too much."""

    class Counting(InMemoryStore):
        rows = 0

        def read(self, session_id: str, first_seq: int, last_seq: int) -> list[StoredMessage]:
            found = super().read(session_id, first_seq, last_seq)
            self.rows += len(found)
            return found

    store = Counting()
    opened(store, Setup(1_000_000)).record(*tame(200, 60))
    session = opened(store, SETUP)
    session.assemble([user("?")])
    store.rows = 0
    with pytest.raises(BudgetError):
        session.undo()
    assert store.rows < 200


def test_what_was_brought_back_is_held_at_new_turns_and_on_a_cold_cache() -> None:
    """Above the high-water mark, and idle for an hour: no event."""
    host = evented()
    host.session.undo()
    host.inputs = lambda step: Inputs(now=1_000_000.0 * step)
    host.pending.append(user("and now?"))
    made = host.call().request
    assert made.report.pressure_fraction > SETUP.settings.high_fraction
    assert made.event is None
    host.reply(assistant("this"))
    host.pending.append(user("and then?"))
    assert host.call().request.event is None


def test_what_was_brought_back_gives_way_when_it_does_not_fit() -> None:
    """An overflow is an overflow; what comes of it is not held any more."""
    host = evented()
    host.session.undo()
    causes = []
    for number in range(12):
        host.run([user(f"{number} " + "word " * 200), assistant("because " * 100)])
        made = host.calls[-1].request
        if made.event is not None:
            causes.append((made.event.cause, made.event.held))
    assert causes[0] == ("overflow", False)


def test_what_was_brought_back_gives_way_by_hand_and_under_another_lease() -> None:
    """`compact`, and a smaller window."""
    host = evented()
    host.session.undo()
    by_hand = opened(host.store, SETUP).compact()
    assert by_hand is not None
    assert (by_hand.cause, by_hand.held) == ("manual", False)
    host.session.undo()
    made = opened(host.store, Setup(4096)).assemble([user("?")])
    assert made.event is not None
    assert (made.event.cause, made.event.held) in {("opened", False), ("overflow", False)}


def test_tools_that_change_leave_it_held() -> None:
    """The prefix breaks, so reasoning goes; what is shown of the past stays."""
    host = evented()
    host.session.undo()
    host.inputs = lambda _step: Inputs(tools='[{"name": "read"}]')
    host.run([user("and now?"), assistant("this"), user("and then?")])
    first, second = host.calls[-2].request, host.calls[-1].request
    assert first.event is not None
    assert (first.event.cause, first.event.held, first.event.outside_changed) == ("tools-changed", True, True)
    assert {span.how for span in second.report.spans} == {"verbatim"}
    assert second.event is None


def test_scope_none_does_not_roll_over_what_was_brought_back() -> None:
    """The earlier turn stays until somebody asks."""
    setup = changed(SETUP, scope="none")
    host = Host(InMemoryStore(), setup)
    host.run([*tame(2, 8), user("third")])
    assert host.calls[-1].request.event is not None
    former = next(
        request for request in reversed(requests(host.calls)) if request.plan is not host.calls[-1].request.plan
    )
    host.reply(assistant("yes"))
    host.session.undo()
    host.pending.append(user("fourth"))
    made = host.call().request
    assert made.event is None
    assert breaks_at(former, made) is None


def reasoning(host: Host, seqs: range) -> list[bool]:
    """Return, for the steps among these messages, whether the next request has their reasoning."""
    made = host.session.preview()
    return [not part.drop_thinking for part in made.parts if part.role == "assistant" and part.first_seq in seqs]


def test_steps_said_under_the_plan_that_is_undone_lose_their_reasoning() -> None:
    """Those before keep it, those behind have it; the undone event's own loss is made good."""
    host = evented()
    event = host.calls[-2].request.event
    assert event is not None
    under = event.made_at_seq
    host.run([user("a"), assistant("b")])
    assert reasoning(host, range(under))[-3:] == [False] * 3
    host.session.undo()
    undone = host.store.head("s")[0]
    assert reasoning(host, range(under)) == [True] * (under // 2)
    assert reasoning(host, range(under, undone)) == [False] * 3
    host.run([user("e"), assistant("f"), user("g"), assistant("h")])
    assert reasoning(host, range(undone, 1000)) == [True, True]
    assert reasoning(host, range(under, undone)) == [False] * 3


def test_step_whose_loop_is_open_keeps_its_reasoning() -> None:
    """Providers want it unchanged until its results are answered (R3)."""
    host = evented()
    host.run([user("go"), assistant("", ("z", "f", "{}"))])
    host.pending.append(result("z", "found"))
    plan = host.session.undo()
    assert plan.thinking_dropped[-1][1] == host.store.head("s")[0] - 1
    loop = host.call().request
    assert [part.drop_thinking for part in loop.parts if part.role == "assistant"][-1] is False


def test_all_reasoning_goes_where_system_text_or_tools_have_changed_since() -> None:
    """The former request can't come back whole: what stood in front of it is not what it was."""
    host = evented()
    host.inputs = lambda _step: Inputs(system="Be brief.")
    host.run([user("a"), assistant("b")])
    assert [PlanRecord.from_json(one.body).outside_changed for one in held(host.store).records["plan"]] == [False, True]
    host.session.undo()
    plan = host.session.undo()
    assert plan.thinking_dropped == ()
    assert plan.thinking_dropped_before_seq == host.store.head("s")[0]


def test_head_that_comes_back_is_told_to_be_old() -> None:
    """The event took the new text into the head; the undo puts the old one there, so the new one is announced."""
    old = Inputs(sections=(Section("memory", "likes tea"),))
    new = Inputs(sections=(Section("memory", "likes coffee"),), tools="[]")
    host = Host(InMemoryStore(), SETUP, inputs=lambda step: new if step > 3 else old)
    host.run([*tame(2, 8), user("a"), assistant("b")])
    assert host.calls[-1].request.event is not None
    plan = host.session.undo()
    assert plan.sections == old.sections
    host.pending.append(user("and now?"))
    first, second = host.call().request, host.call().request
    assert "likes tea" in first.payloads[0]
    assert "[memory is now:]\\nlikes coffee" in first.payloads[-1]
    assert first.payloads == second.payloads
    host.reply(assistant("yes"))
    host.pending.append(user("and then?"))
    assert "memory" not in host.call().request.payloads[-1]


def test_notes_after_an_undo_tell_each_block_once() -> None:
    """Undone and made again: the same notes as if nothing had been undone."""
    plain, undone = evented(), evented()
    undone.session.undo()
    for host in (plain, undone):
        host.session.compact()
        host.run([*tame(8, 140, start=40), user("and now?")])
    told = [
        "\n".join(part.text or "" for part in host.calls[-1].request.parts if part.summary_id)
        for host in (plain, undone)
    ]
    assert all(one.count(f"part_{number}.py") <= 2 for one in told for number in range(12))
    assert all(one for one in told)


def test_undo_makes_way_for_another_writer() -> None:
    """Somebody records in between: it is undone behind what they said."""

    class Raced(Meddled):
        def before(self, session_id: str, records: Sequence[Record]) -> None:  # noqa: ARG002  # whatever they are
            if self.others:
                self.others -= 1
                opened(self, SETUP).record(message("user", "me too"))

    source = evented()
    store = Raced()
    rows, records = held(source.store).messages, source.store
    for summary in records.for_range("s", 0, len(rows)):
        store.put(summary)
    kinds = ("window", "plan", "request", "fragment", "ledger")
    store.append("s", 0, list(rows), [record for kind in kinds for record in records.records("s", kind)])
    store.others = 1
    plan = opened(store, SETUP).undo()
    assert plan.repeats == -1
    assert store.head("s")[0] == len(rows) + 1
