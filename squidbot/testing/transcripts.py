"""What a TranscriptStore promises, as a check."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from squidbot.core.messages import Category, Cost, Record
from squidbot.testing.erasures import ERASURE_CHECKS
from squidbot.testing.searches import SEARCH_CHECKS
from squidbot.testing.values import ODD_IDS, ODD_TEXTS, closed_after, made_message, refuses

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.core.ports import TranscriptStore

__all__ = ["check_transcript_store"]


def check_transcript_store(factory: Callable[[], TranscriptStore]) -> None:
    """Check the promises of `ports.TranscriptStore`.

    Promised: messages come back in order and equal in every field, whatever stands in their texts; an append is all
    or nothing, its records included, and refused unless it is the next one; reads take any range; `newest` stops
    with the first message that passes the budget; records are numbered by kind; an unknown session is empty; every
    id of 1 to 1,024 characters is a session of its own, and any other is refused; search finds what was appended, at
    once, by its words in any script, ranked, in pages that are the whole, in its own session alone, and no query means
    anything but words; what is forgotten is all replaced or not at all, and found by no word.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    for check in (
        _checks_order, _checks_round_trip, _checks_texts, _checks_conflicts, _checks_seqs, _checks_ranges, _checks_pick,
        _checks_newest, _checks_records, _checks_atomicity, _checks_unknown, _checks_ids, _checks_refused_ids,
        *SEARCH_CHECKS, *ERASURE_CHECKS,
    ):  # fmt: skip
        with closed_after(factory()) as store:
            check(store)


def _checks_order(store: TranscriptStore) -> None:
    said = [made_message(seq, f"text {seq}") for seq in range(12)]
    store.append("s", 0, said[:1])
    store.append("s", 1, said[1:5])
    store.append("s", 5, said[5:])
    assert store.head("s") == (12, 0), f"head counts the messages: got {store.head('s')} for 12"
    assert store.read("s", 0, 11) == said, "messages come back in the order of their appends"


def _checks_round_trip(store: TranscriptStore) -> None:
    plain = made_message(0)
    variants = [
        replace(plain, turn=0),
        *(replace(plain, role=role) for role in ("system", "user", "assistant", "tool")),
        *(replace(plain, category=category) for category in Category),
        replace(plain, codec="anthropic.messages", counter="o200k"),
        replace(plain, call_ids=("call_1", "call_2"), sent_arguments=("{}", "[1, 2]")),
        replace(plain, call_ids=("",), sent_arguments=()),
        replace(plain, result_ids=("call_1", "call_1", "")),
        replace(plain, cost=Cost(0, 0), sent_cost=Cost(0, 0)),
        replace(plain, cost=Cost(70_000_000, 2**40), sent_cost=Cost(3, 9), sent_text="digest", notice="12:00"),
        replace(plain, sent_text="", notice=""),
        replace(plain, time=0.0),
        replace(plain, time=1_700_000_000.123457),
        replace(plain, time=-1.5),
    ]
    said = [replace(message, seq=seq) for seq, message in enumerate(variants)]
    store.append("s", 0, said)
    for sent, got in zip(said, store.read("s", 0, len(said)), strict=True):
        assert got == sent, f"every field comes back as it was: sent {sent}, got {got}"
        assert isinstance(got.category, Category), f"a category comes back as one, not as {got.category!r}"


def _checks_texts(store: TranscriptStore) -> None:
    said = [
        replace(
            made_message(seq), payload=text, codec=text, counter=text, sent_text=text, notice=text,
            call_ids=(text, text), result_ids=(text,), sent_arguments=(text, "x"),
        )
        for seq, text in enumerate((*ODD_TEXTS, "x" * 300_000))
    ]  # fmt: skip
    store.append("s", 0, said, [Record("plan", number, text) for number, text in enumerate(ODD_TEXTS)])
    for sent, got in zip(said, store.read("s", 0, len(said)), strict=True):
        assert got == sent, f"texts come back character by character: sent {ascii(sent)[:300]}, got {ascii(got)[:300]}"
    bodies = [record.body for record in store.records("s", "plan")]
    assert bodies == list(ODD_TEXTS), f"bodies of records come back character by character: got {bodies!a}"


def _checks_conflicts(store: TranscriptStore) -> None:
    store.append("s", 0, [made_message(0), made_message(1)])
    for expected in (0, 1, 3, -1):
        late = [made_message(expected, "late")]
        refuses(f"append at {expected} behind 2 messages", store.append, "s", expected, late)
    refuses("append of nothing in the wrong place", store.append, "s", 1, [])
    assert store.head("s") == (2, 0), f"a refused append writes nothing: head is {store.head('s')}"
    assert store.read("s", 0, 9) == [made_message(0), made_message(1)], "a refused append changes nothing"
    store.append("s", 2, [made_message(2)])
    assert store.head("s") == (3, 0), "after a refused append the right one is taken"


def _checks_seqs(store: TranscriptStore) -> None:
    for wrong in ([1], [0, 2], [0, 0], [1, 0]):
        said = [made_message(seq) for seq in wrong]
        refuses(f"append of seqs {wrong} at 0", store.append, "s", 0, said)
    assert store.head("s") == (0, 0), "messages whose seq is not their place are refused as a whole"


def _checks_ranges(store: TranscriptStore) -> None:
    store.append("s", 0, [made_message(seq) for seq in range(5)])
    for first, last in ((0, 4), (1, 3), (2, 2), (3, 99), (-7, 1), (4, 3), (5, 9), (-3, -1), (0, 2**40)):
        seqs = [message.seq for message in store.read("s", first, last)]
        due = [seq for seq in range(5) if first <= seq <= last]
        assert seqs == due, f"read({first}, {last}) of 5 messages returns {due}, both ends included: got {seqs}"


def _checks_pick(store: TranscriptStore) -> None:
    store.append("s", 0, [made_message(seq) for seq in range(8)])
    for wanted in ((), (3,), (6, 1, 2, 1, 6), (99, 0, -1, 7), (8,), range(-2, 20)):
        seqs = [message.seq for message in store.pick("s", iter(wanted))]
        due = sorted(set(wanted) & set(range(8)))
        assert seqs == due, f"pick({list(wanted)}) of 8 messages returns {due}, in order, each once: got {seqs}"


def _checks_newest(store: TranscriptStore) -> None:
    bounds = (50, 0, 10, 3, 0, 7)
    store.append("s", 0, [made_message(seq, "", bound=bound) for seq, bound in enumerate(bounds)])
    for budget, first in (
        (-1, 5),
        (0, 5),
        (6, 5),
        (7, 3),
        (9, 3),
        (10, 2),
        (19, 2),
        (20, 0),
        (69, 0),
        (70, 0),
        (10**9, 0),
    ):
        seqs = [message.seq for message in store.newest("s", budget)]
        due = list(range(first, 6))
        assert seqs == due, (
            f"newest({budget}) of bounds {bounds} ends with the first past the budget, {due}: got {seqs}"
        )
    store.append("t", 0, [replace(made_message(0, "", bound=9), sent_cost=Cost(0, 0)), made_message(1, "", bound=5)])
    assert [message.seq for message in store.newest("t", 4)] == [1], (
        "newest counts cost.bound, not sent_cost or estimates"
    )


def _checks_records(store: TranscriptStore) -> None:
    store.append("s", 0, [], [Record("plan", 0, "a"), Record("lease", 0, "b"), Record("plan", 1, "c")])
    store.append("s", 0, [], [Record("plan", 2, "d")])
    plans = [Record("plan", 0, "a"), Record("plan", 1, "c"), Record("plan", 2, "d")]
    assert store.records("s", "plan") == plans, f"records are kept by kind, in order: got {store.records('s', 'plan')}"
    assert store.records("s", "plan", 1) == plans[1:], "records(kind, first_number) starts there"
    assert store.records("s", "plan", 3) == [], "records(kind, first_number) behind the last one is empty"
    assert store.last_record("s", "plan") == plans[-1], "last_record is the newest of its kind"
    assert store.last_record("s", "lease") == Record("lease", 0, "b"), "last_record does not mix kinds"
    assert store.last_record("s", "pin") is None, "last_record of a kind that was never stored is None"
    newest = {"plan": plans[-1], "lease": Record("lease", 0, "b")}
    opening = store.opening("s", ["plan", "pin", "lease"])
    assert opening == (0, 4, newest), f"an opening has head and the newest record of each kind there is: got {opening}"
    assert store.opening("s", ["plan"]).newest == {"plan": plans[-1]}, "an opening has the kinds asked for and no other"
    assert store.records("s", "pin") == [], "a kind that was never stored has no records"
    assert store.head("s") == (0, 4), f"head counts records of all kinds: got {store.head('s')} for 4"
    for number in (0, 2, 4, -1):
        wrong = [Record("plan", number, "x")]
        refuses(f"record {number} behind 3", store.append, "s", 0, [], wrong)


def _checks_atomicity(store: TranscriptStore) -> None:
    store.append("s", 0, [made_message(0)], [Record("plan", 0, "a")])
    bad = [Record("request", 0, "x"), Record("plan", 5, "y")]
    refuses("messages with a record out of place", store.append, "s", 1, [made_message(1)], bad)
    torn = [made_message(1), made_message(3)]
    refuses("records with a message out of place", store.append, "s", 1, torn, [Record("plan", 1, "z")])
    assert store.head("s") == (1, 1), f"messages and records are stored together or not at all: head {store.head('s')}"
    assert store.records("s", "request") == [], "of a refused append no record stays"
    store.append("s", 1, [made_message(1)], [Record("request", 0, "x"), Record("plan", 1, "y")])
    assert store.head("s") == (2, 3), "an append takes messages and records of several kinds at once"


def _checks_unknown(store: TranscriptStore) -> None:
    answers = (
        store.head("s"),
        store.read("s", 0, 9),
        store.pick("s", [0]),
        store.newest("s", 9),
        store.records("s", "plan"),
        tuple(store.opening("s", ["plan"])),
    )
    assert answers == ((0, 0), [], [], [], [], (0, 0, {})), f"an unknown session is empty, and no error: got {answers}"
    assert store.last_record("s", "plan") is None, "an unknown session has no last record"
    store.append("s", 0, [])
    assert store.head("s") == (0, 0), "an append of nothing stores nothing"


def _checks_ids(store: TranscriptStore) -> None:
    for number, session_id in enumerate(ODD_IDS):
        assert store.head(session_id) == (0, 0), f"{session_id[:40]!a} is not taken for an id that was there before"
        store.append(session_id, 0, [made_message(0, str(number))], [Record("plan", 0, str(number))])
    for number, session_id in enumerate(ODD_IDS):
        assert store.head(session_id) == (1, 1), (
            f"{session_id[:40]!a} is a session of its own: {store.head(session_id)}"
        )
        assert store.read(session_id, 0, 9) == [made_message(0, str(number))], (
            f"{session_id[:40]!a} has its own messages"
        )
        assert store.last_record(session_id, "plan") == Record("plan", 0, str(number)), "sessions don't share records"


def _checks_refused_ids(store: TranscriptStore) -> None:
    for wrong in ("", "x" * 1025):
        promise = f"a session id of {len(wrong)} characters"
        refuses(promise, store.append, wrong, 0, [made_message(0)])
        refuses(promise, store.head, wrong)
        refuses(promise, store.read, wrong, 0, 1)
        refuses(promise, store.last_record, wrong, "plan")
        refuses(promise, store.opening, wrong, ["plan"])
