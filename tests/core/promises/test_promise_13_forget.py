"""What was forgotten is nowhere any more, and everything else is as it was."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.engine import ContextEngine, CoreSession
from squidbot.core.errors import BudgetError, NotFoundError
from squidbot.core.messages import Category, Kind, Message
from squidbot.core.plan import PlanRecord
from squidbot.core.recall.history import History

from .driver import CODEC, Heard, Setup, assistant, held, opened, result, user
from .histories import effort
from .rules import pairs_broken, sent

ROOMY, TIGHT = Setup(16_384), Setup(2_048)
MARK = re.compile(r"zq[0-9]+x")


def talk(turns: int, start: int = 0, words: int = 30) -> list[Message]:
    """Return turns of a question, a call, its result and an answer, with a word in each that stands nowhere else."""
    said: list[Message] = []
    for number in range(turns):
        seq = start + 4 * number
        filler = " ".join(f"word{(seq * 7 + place) % 500}" for place in range(words))
        said += [
            user(f"Question zq{seq}x: what does src/part_{seq}.py do? {filler}"),
            assistant(
                f"I look at zq{seq + 1}x.", (f"c{seq}", "read_file", json.dumps({"path": f"src/zq{seq + 1}x.py"}))
            ),
            result(f"c{seq}", f"def zq{seq + 2}x(): return {seq}\n{filler}"),
            assistant(f"It is for zq{seq + 3}x, I decided. {filler}\n[DECISION] zq{seq + 3}x stays"),
        ]
    return said


def going(store: InMemoryStore, setup: Setup, said: list[Message], observer: Heard | None = None) -> CoreSession:
    """Return a session that has assembled and recorded every turn."""
    session = opened(store, setup, observer=observer)
    for message in said:
        if message.role == "assistant":
            session.record(message)
        else:
            made = session.assemble([message])
            session.record(*made.incoming)
    return session


def marks(store: InMemoryStore, session: CoreSession) -> set[str]:
    """Return every marking word that is still anywhere: stored, searched, or sent next."""
    stored = held(store)
    kinds = ("fragment", "ledger", "marked", "forgotten")
    texts = [record.body for kind in kinds for record in store.records("s", kind)]
    texts += [record.body for records in stored.records.values() for record in records]
    texts += [one.text for one in store.for_range("s", 0, len(stored.messages))]
    texts += [f"{row.payload}{row.sent_text}{row.sent_arguments}{row.notice}{row.call_ids}" for row in stored.messages]
    texts += session.assemble([user("and now?")]).payloads
    return {found for text in texts for found in MARK.findall(text)}


def test_forgotten_message_is_nowhere_while_it_stands_raw() -> None:
    """The next request has a mark in its place, under a plan that says why; all others are as they were."""
    store, heard = InMemoryStore(), Heard()
    session = going(store, ROOMY, talk(4), heard)
    before = held(store).messages
    done = session.forget(4, 6, reason="a secret", now=99.0)
    assert (done.asked, done.copies, done.summaries) == ((4, 6), (), ())
    assert done.plan is not None
    assert done.plan.cause == "forget"
    assert marks(store, session) == {f"zq{seq}x" for seq in range(16)} - {"zq4x", "zq6x"}
    after = held(store).messages
    assert [row for row in after if row.seq not in {4, 6}] == [row for row in before if row.seq not in {4, 6}]
    assert {after[seq].category for seq in (4, 6)} == {Category.FORGOTTEN}
    assert after[6].result_ids == before[6].result_ids
    request = session.assemble([user("and now?")])
    shown = [part for part in request.parts if part.kind is Kind.FORGOTTEN]
    assert [part.first_seq for part in shown] == [4, 6]
    assert "m4 was forgotten" in request.payloads[[part.first_seq for part in request.parts].index(4)]
    assert not pairs_broken(sent(request))
    assert [span.how for span in request.report.spans if span.first_seq in {4, 6}] == ["forgotten", "forgotten"]
    assert "forgotten" in heard.names()


def test_request_to_forget_is_kept_without_a_word_of_it(store: InMemoryStore) -> None:
    """Who reads the records sees which messages went, when and why."""
    session = going(store, ROOMY, talk(2))
    session.forget(0, reason="asked by the customer", now=99.0)
    (record,) = store.records("s", "forgotten")
    body = json.loads(record.body)
    assert (body["asked"], body["reason"], body["at"], body["copies"]) == ([0], "asked by the customer", 99.0, [])


def test_forgotten_message_is_nowhere_once_it_was_summarized(store: InMemoryStore) -> None:
    """Notes that told of it go, and are made anew from the other messages."""
    session = going(store, TIGHT, talk(14))
    plan = PlanRecord.from_json(store.records("s", "plan")[-1].body)
    assert plan.segments
    gone = set(range(0, 40, 3))
    done = session.forget(*gone)
    assert done.summaries
    assert done.plan is not None
    assert not any(segment.summary_id in done.summaries for segment in done.plan.segments)
    left = marks(store, session)
    assert not left & {f"zq{seq}x" for seq in gone}
    assert f"zq{52}x" in left


def test_notes_go_on_telling_of_what_was_not_forgotten(store: InMemoryStore) -> None:
    """A file that another message of the same block names."""
    session = going(store, Setup(6_000), talk(14, words=60))
    plan = PlanRecord.from_json(store.records("s", "plan")[-1].body)
    first, last = plan.segments[0].first_seq, plan.segments[0].last_seq
    done = session.forget(first + 4)
    assert done.plan is not None
    texts = " ".join(session.assemble([user("and now?")]).payloads)
    assert f"zq{first + 4}x" not in texts
    told = [seq for seq in range(first, last) if f"zq{seq}x" in texts]
    assert told


def test_copies_that_history_brought_back_go_with_it(store: InMemoryStore) -> None:
    """The record of a recall, and a copy of that copy."""
    session = going(store, ROOMY, talk(4))
    shelf = session._state.context
    history = History(session, shelf, None, lambda *_: iter(()))
    first = history.recall("m4-m6")
    session.assemble()
    session.record(assistant("I see zq900x."))
    second = history.recall(f"m{first.recorded}")
    other = history.recall("m12")
    done = session.forget(5)
    assert done.copies == (first.recorded, second.recorded)
    left = marks(store, session)
    assert "zq5x" not in left
    assert {"zq4x", "zq12x", "zq900x"} <= left
    assert held(store).messages[other.recorded or 0].category is Category.RECALLED


def test_past_request_that_showed_it_can_not_be_made_again(store: InMemoryStore) -> None:
    """A typed error and no other bytes; requests made since can."""
    session = going(store, ROOMY, talk(4))
    session.forget(4)
    with pytest.raises(NotFoundError, match="m4 was forgotten since"):
        session.request(3)
    made = session.assemble([user("and now?")])
    session.record(*made.incoming, assistant("This."))
    assert session.request().payloads == made.payloads


def test_undo_does_not_bring_it_back(store: InMemoryStore) -> None:
    """A plan whose summaries told of it can't stand again."""
    session = going(store, TIGHT, talk(14))
    session.forget(0)
    with pytest.raises((NotFoundError, BudgetError)):
        session.undo()
    assert "zq0x" not in marks(store, session)


@pytest.mark.parametrize("seqs", [(), (99,), (-1,), (0, 99)])
def test_unknown_message_is_refused_and_nothing_is_forgotten(seqs: tuple[int, ...]) -> None:
    """Or none named at all."""
    store = InMemoryStore()
    session = going(store, ROOMY, talk(1))
    before = held(store)
    with pytest.raises(NotFoundError, match="nothing was forgotten"):
        session.forget(*seqs)
    assert held(store) == before


def test_session_without_a_request_forgets_without_a_plan(store: InMemoryStore) -> None:
    """An import that was never assembled."""
    session = opened(store, ROOMY)
    session.record(*talk(2))
    assert session.forget(2).plan is None
    assert "zq2x" not in marks(store, session)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.integers(1, 4)),
        st.tuples(st.just("forget"), st.lists(st.integers(0, 60), min_size=1, max_size=3)),
        st.tuples(st.sampled_from(["compact", "undo", "restart"]), st.just(0)),
        st.tuples(st.just("recall"), st.integers(0, 60)),
    ),
    min_size=3,
    max_size=9,
)


@effort(40)
@given(steps=STEPS, window_tokens=st.sampled_from([2_048, 4_096, 16_384]))
@example(steps=[*(("say", turns) for turns in (1, 3, 1, 1, 1, 1, 4, 1)), ("forget", [3])], window_tokens=2_048)
def test_whatever_happens_forgotten_words_stay_away_and_others_stay(
    steps: list[tuple[str, object]], window_tokens: int
) -> None:
    """Say, forget, recall, compact, undo, restart in any order: no forgotten word is left, no other payload changes."""
    store, setup = InMemoryStore(), Setup(window_tokens)
    session = going(store, setup, talk(3))
    gone: set[int] = set()
    kept = {row.seq: row.payload for row in held(store).messages}
    for what, how in steps:
        count = len(held(store).messages)
        if what == "say" and isinstance(how, int):
            session = going(store, setup, talk(how, start=1_000 + count))
        elif what == "forget" and isinstance(how, list):
            wanted = [seq % count for seq in how]
            done = session.forget(*wanted)
            gone |= {*done.asked, *done.copies}
        elif what == "recall" and isinstance(how, int):
            try_recall(session, how % count)
        elif what == "compact":
            session.compact()
        elif what == "undo":
            try_undo(session)
        else:
            session = opened(store, setup)
        rows = held(store).messages
        kept.update({row.seq: row.payload for row in rows if row.seq not in kept})
        assert all(row.payload == kept[row.seq] for row in rows if row.seq not in gone)
        words = {word for seq in gone for word in MARK.findall(kept[seq])}
        copied = {word for row in rows if row.seq not in gone for word in MARK.findall(row.payload)}
        assert not marks(store, session) & (words - copied)
        assert not pairs_broken(sent(session.assemble([user("and now?")])))


def try_recall(session: CoreSession, seq: int) -> None:
    """Recall a message where there is room for it."""
    try:
        History(session, session._state.context, None, lambda *_: iter(())).recall(f"m{seq}")
    except BudgetError:
        return


def try_undo(session: CoreSession) -> None:
    """Undo where there is something to undo that still fits."""
    try:
        session.undo()
    except (NotFoundError, BudgetError):
        return


def test_engine_of_another_process_sees_the_same(store: InMemoryStore) -> None:
    """What is forgotten in one is not sent by another that held the session."""
    session = going(store, ROOMY, talk(3))
    other = ContextEngine(store, store, {CODEC.tag: CODEC}).session("s", ROOMY.window, ROOMY.meter, ROOMY.settings)
    other.assemble([user("hello?")])
    session.forget(4)
    assert "zq4x" not in " ".join(other.assemble([user("and now?")]).payloads)
