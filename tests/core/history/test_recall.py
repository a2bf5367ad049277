"""Recall: what a host's call brings back, where it stands then, and what it leaves as it was (D4, V19)."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest

import squidbot
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core import events
from squidbot.core.engine import Inputs
from squidbot.core.errors import BudgetError, InvalidRequestError, RecallError
from squidbot.core.messages import Category, Kind
from squidbot.core.notes.notebook import FRAGMENT

from ..promises.driver import BY_MARKS, CODEC, Heard, Host, Setup, assistant, held, requests, result, user
from ..promises.histories import tame
from ..promises.rules import breaks_at, sent
from .readers import Opened, joined, opened, shown, walked

LARGE = Setup(8192)


@cache
def _talked(turns: int, setup: Setup) -> InMemoryStore:
    store = InMemoryStore()
    Host(store, setup, watch=False).run([*tame(turns, 30), user("and now?"), assistant("that is all")])
    assert store.last_record("s", "plan")
    return store


def talked(turns: int = 40, setup: Setup = LARGE) -> tuple[InMemoryStore, Opened]:
    """Return a session that was compacted, and its store."""
    store = InMemoryStore()
    store._sessions = deepcopy(_talked(turns, setup)._sessions)
    return store, opened(store, setup)


def summary_shown(one: Opened) -> str:
    """Return the id of the newest summary that the next request shows."""
    return [part.summary_id for part in one.session.assemble([user("?")]).parts if part.summary_id][-1]


def test_recall_of_a_shown_summary_gives_exactly_its_messages_raw_at_the_tail() -> None:
    """B-18, V19: source ids, raw, flagged; the old bytes a prefix; the originals unflagged; the summary stays."""
    store, one = talked(44)
    before = one.session.assemble([user("?")])
    summary = next(part for part in before.parts if part.summary_id)
    rows = held(store).messages
    page = one.history.recall(summary.summary_id or "", now=5.0)
    assert [row.payload for row in page.messages] == [
        row.payload for row in rows[summary.first_seq :][: len(page.messages)]
    ]
    after = one.session.assemble([user("?")])
    record = after.parts[-2]
    assert (record.kind, record.role, record.first_seq) == (Kind.RECALLED, "user", len(rows))
    assert breaks_at(replace(before, parts=before.parts[:-1]), after) is None
    assert after.event is None
    assert held(store).messages[: len(rows)] == rows
    assert {row.category for row in rows} == {Category.DIALOG, Category.SYSTEM_OUTPUT}
    new = store.read("s", len(rows), len(rows))[0]
    assert (new.category, new.time, new.turn) == (Category.RECALLED, 5.0, rows[-1].turn)
    assert summary.summary_id in {part.summary_id for part in after.parts}


def test_all_pages_of_a_summary_are_its_messages() -> None:
    """Whole, each once, none beside."""
    store, one = talked()
    summary = store.by_id("s", [summary_shown(one)])[0]
    pages = walked(one.history, summary.summary_id)
    assert list(joined(pages)) == list(range(summary.first_seq, summary.last_seq + 1))


def test_recalled_record_stands_in_requests_until_an_event_and_opens_no_turn() -> None:
    """Later requests extend the one that showed it first; the report counts it on its own (promise 2)."""
    _, one = talked()
    seq = one.history.recall("m4").recorded
    first = one.session.assemble([user("so?")])
    one.session.record(*first.incoming, assistant("so."))
    second = one.session.assemble([user("more?")])
    assert breaks_at(first, second) is None
    for request in (first, second):
        (span,) = [span for span in request.report.spans if span.how == "recalled"]
        assert (span.first_seq, span.last_seq) == (seq, seq)
        assert span.reason
    assert second.incoming[0].turn == second.incoming[0].seq


def test_recall_between_turns_answers_no_request() -> None:
    """What was asked for and not answered yet is not taken for answered."""
    store, one = talked()
    one.session.assemble([user("left unanswered")])
    one.history.recall("m4")
    made = one.session.assemble([user("asked anew")])
    assert made.event is None
    assert len(store.records("s", "request")) == len(held(store).records["request"])


def test_recall_is_refused_while_results_are_awaited() -> None:
    """A record between a call and its result would break the pair (R1); as the tool's result it comes in order."""
    store, one = talked()
    one.session.record(user("look"), assistant("", ("z", "read", "{}")))
    stood = store.head("s")
    with pytest.raises(InvalidRequestError, match=r"^m163 awaits results"):
        one.history.recall("m4")
    assert store.head("s") == stood
    assert one.history.expand("m4").pieces[0].seq == 4


@pytest.mark.parametrize("name", ["history", "mcp__squidbot__history"])
def test_tools_result_is_known_as_recalled(name: str) -> None:
    """The host records it like any result; it is flagged, sent whole, and stands with its call."""
    _, one = talked()
    asked = one.session.assemble([user("what was it?")])
    one.session.record(*asked.incoming, assistant("", ("h", name, '{"action": "recall", "id": "m4"}')))
    page = one.history.expand("m4", now=9.0)
    made = one.session.assemble([result("h", page.text)])
    assert made.incoming[0].category is Category.RECALLED
    assert (made.parts[-1].kind, made.parts[-1].text) == (Kind.RECALLED, None)
    assert breaks_at(asked, made) is None
    assert sent(made)[-1]["content"] == page.text
    (row,) = one.session.record(*made.incoming)
    assert row.category is Category.RECALLED


def test_tools_result_is_known_when_step_and_result_come_together() -> None:
    """A host that records a whole loop at its end."""
    _, one = talked()
    rows = one.session.record(
        user("?"),
        assistant("", ("h", "history", "{}")),
        result("h", one.history.expand("m4").text),
        assistant("it was"),
    )
    assert [row.category is Category.RECALLED for row in rows] == [False, False, True, False]


@pytest.mark.parametrize(
    "step",
    [
        [assistant("", ("r", "read", "{}"))],
        [assistant("", ("r", "prehistory", "{}"))],
        [],
        [assistant("", ("other", "history", "{}")), result("other", "x")],
    ],
)
def test_text_that_only_looks_recalled_is_not_flagged(step: list[object]) -> None:
    """A page on the web, or a file, can hold the marks; only the tool's own answers are passed over."""
    _, one = talked()
    text = one.history.expand("m4").text
    rows = one.session.record(user("?"), *step, result("r", text))  # type: ignore[arg-type]  # messages of the driver
    assert rows[-1].category is Category.SYSTEM_OUTPUT


def test_users_words_that_look_recalled_stay_the_users() -> None:
    """They open a turn, and are verbatim."""
    _, one = talked()
    made = one.session.assemble([user(one.history.expand("m4").text)])
    assert made.incoming[0].category is Category.DIALOG
    assert made.parts[-1].kind is Kind.MESSAGE


def test_answers_of_one_step_share_the_room() -> None:
    """Three calls at once: their results together leave a request that fits, none of them cut."""
    store, one = talked()
    one.session.record(user("what was it?"), assistant("", *((f"h{n}", "history", "{}") for n in range(3))))
    texts = []
    for handle in ("m0-m20", "m20-m60", "m60-m150"):
        page = one.history.expand(handle)
        one.history.hand_out(page.cost)
        texts.append(page.text)
    assert len(texts[0]) > len(texts[1]) > len(texts[2])
    made = one.session.assemble([result(f"h{n}", text) for n, text in enumerate(texts)])
    assert [row.sent_text for row in made.incoming] == [None, None, None]
    assert store.last_record("s", "plan") is not None


def test_recalled_is_in_the_next_request_when_that_passes_the_mark() -> None:
    """What has not been sent yet is not summarized: an event takes what is older."""
    chosen = replace(BY_MARKS, high_fraction=0.5, low_fraction=0.1, min_saving_fraction=0.05)
    store, one = talked(setup=replace(LARGE, settings=chosen))
    page = one.history.recall("m0-m60")
    made = one.session.assemble([user("and this " * 350)])
    assert made.event
    assert made.event.cause == "high-water"
    assert page.recorded in {part.first_seq for part in made.parts if part.kind is Kind.RECALLED}
    assert store.read("s", page.recorded or 0, page.recorded or 0)[0].category is Category.RECALLED


def test_recalled_gives_way_when_nothing_else_would_make_the_request_fit() -> None:
    """The user's message wins; the record is summarized, and can be recalled like its originals."""
    _, one = talked()
    page = one.history.recall("m0-m60")
    made = one.session.assemble([user("word " * 5700)])
    assert made.event
    assert page.recorded not in {part.first_seq for part in made.parts if part.kind is Kind.RECALLED}
    assert made.cost.bound <= made.limit.bound


def test_notes_take_nothing_from_what_was_recalled() -> None:
    """B-44: neither from a record nor from a tool's result; a line says that it came back."""
    store, one = talked()
    one.session.record(
        user("remember zanzibar_code?"), assistant("I will note zanzibar_code = 4711 in src/secret_plan.py")
    )
    seq = held(store).messages[-1].seq
    one.history.recall(f"m{seq}")
    call = assistant("", ("h", "history", f'{{"action": "recall", "id": "m{seq}"}}'))
    one.session.record(user("again"), call, result("h", one.history.expand(f"m{seq}").text), assistant("done"))
    first = store.head("s")[0] - 5
    one.session.record(*tame(30, 30, start=100))
    one.session.assemble([user("?")])
    noted = FRAGMENT.all(store, "s")
    (there,) = [one for one in noted if one.first_seq <= first <= one.last_seq and one.last_seq >= first + 3]
    assert any(head == f"m{seq} recalled" for head in (line.head for line in there.reading.lines.values()))
    assert not any("history" in line.head for line in there.reading.lines.values())
    # Said once by the user and once by the assistant, however often it came back.
    assert there.reading.written.get("src/secret_plan.py", 0) <= 1
    assert not there.reading.shown.get("src/secret_plan.py")


def test_no_room_is_said_before_anything_is_written(store: InMemoryStore) -> None:
    """With what to do: compact first."""
    one = opened(store, Setup(2048, 256))
    one.session.record(user("first " * 3000), assistant("yes"))
    stood = store.head("s")
    for ask in (one.history.recall, one.history.expand, one.history.search):
        with pytest.raises(BudgetError, match=r"no room .* of \d+ tokens; compact first"):
            ask("m0")
    assert store.head("s") == stood


def test_page_leaves_room_for_what_has_been_asked_but_not_recorded() -> None:
    """A host that records a turn at its end: the question in flight counts."""
    one = opened(InMemoryStore(), LARGE)
    one.session.record(*tame(12, 60))
    alone = one.history.expand("m0-m40").cost.bound
    made = one.session.assemble([user("a long question " * 400)])
    assert made.event is None
    assert one.history.expand("m0-m40").cost.bound < alone


def test_tools_page_is_never_cut_at_birth() -> None:
    """At any window: a page is sized as its result will be measured."""
    for window_tokens in (1300, 2048, 4096, 16_384, 65_536):
        store = InMemoryStore()
        one = opened(store, Setup(window_tokens, 256))
        one.session.record(*tame(6, 20), user("more " * 20), assistant("a reply of words " * 60))
        one.session.record(user("go"), assistant("", ("h", "history", "{}")))
        try:
            page = one.history.expand("m0-m60")
        except BudgetError:
            assert window_tokens < 2048
            continue
        made = one.session.assemble([result("h", page.text)])
        assert made.incoming[0].sent_text is None


def test_recall_is_told_to_who_listens() -> None:
    """Asked for, then done, with what it costs; refused ones only asked for."""
    _, one = talked()
    one.heard.events.clear()
    page = one.history.recall("m4")
    with pytest.raises(RecallError):
        one.history.recall("m4000")
    names = [event.name for event in one.heard.events if event.name.startswith(("recall", "block"))]
    assert names == [events.RECALL_REQUESTED, events.BLOCK_RECALLED, events.RECALL_REQUESTED]
    done = one.heard.events[-2]
    assert (done.cause, done.tokens_after - done.tokens_before) == ("m4", page.cost.bound)
    assert done.session_id == "s"


def test_recall_survives_a_restart() -> None:
    """The flag is stored; the next process sends the same bytes."""
    store, one = talked()
    one.history.recall("m0-m9")
    here = one.session.assemble([user("?")], Inputs(now=1.0))
    there = opened(store, LARGE).session.assemble([user("?")], Inputs(now=1.0))
    assert here.payloads == there.payloads
    assert here.report == there.report


def test_recorded_page_is_the_text_that_is_sent() -> None:
    """In the form in which the host's newest message came."""
    _, one = talked()
    page = one.history.recall("m4-m6", now=3.0)
    made = one.session.assemble([user("?")])
    said = CODEC.decode(made.payloads[-2])
    assert (said.role, said.text) == ("user", page.text)
    assert [piece.seq for piece, _ in shown(said.text)] == [4, 5, 6]


def test_history_without_listener_or_plan_works(store: InMemoryStore) -> None:
    """A session of two messages."""
    one = opened(store, LARGE)
    one.session.record(user("one"), assistant("two"))
    assert [piece.seq for piece in one.history.expand("m0-m1").pieces] == [0, 1]
    with pytest.raises(RecallError, match="offset -1 is out of range"):
        one.history.expand("m0", -1)
    assert isinstance(one.heard, Heard)
    assert requests([]) == []


def test_recalled_history_that_accumulates_is_cleared_by_compaction() -> None:
    """B-46, B-44: "If recalled history accumulates and becomes noise, a maintenance job can clean it up".

    Compaction is that job: an event leaves at most what the newest verbatim turns have, the next one nothing of that,
    and a compaction by hand nothing at all. The store keeps every copy, flagged.
    """
    with squidbot.load({"window": {"default": 16_384}}) as engine:
        session, copies, found = engine.session("s"), list[int](), list[list[int]]()
        for number in range(400):
            made = session.assemble(f"{number}: " + "some more words about herons and walruses " * 6)
            spans = {span.first_seq: span.how for span in made.report.spans}
            if made.event:
                verbatim = [seq for seq, how in spans.items() if how == "verbatim"]
                found.append([seq for seq in copies if spans.get(seq) == "recalled"])
                assert all(seq > verbatim[0] for seq in found[-1])
                assert len(found[-1]) <= 3
            session.record(made.incoming, f"Answer {number} " + "words of an answer " * 12)
            if number > 20 and number % 5 == 0 and (page := session.lookups.recall("m4-m6", 0, 1.0)):
                copies.append(page.recorded or 0)
            if len(found) == 3:
                break
        assert len(found) == 3
        assert len(copies) > 5
        assert any(found)
        for earlier, later in pairwise(found):
            assert not set(earlier) & set(later)
        page = session.lookups.recall("m4-m6", 0, 1.0)
        for number in range(12):
            made = session.assemble(f"{number}: " + "and more words about herons and walruses " * 6)
            session.record(made.incoming, "Yes, " + "words of an answer " * 12)
        assert session.compact()
        told = session.assemble("and now?").report.spans
        assert not [span for span in told if span.how == "recalled"]
        stored = engine.wired.store.read("s", 0, 100_000)
        flagged = [row.seq for row in stored if row.category is Category.RECALLED]
        assert flagged == [*copies, page.recorded]
