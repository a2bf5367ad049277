"""What a TranscriptStore promises about messages that are forgotten; a part of `check_transcript_store`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from squidbot.core.messages import Category, Erasure, Record, StoredMessage
from squidbot.core.ports import Drops
from squidbot.testing.values import made_message, refuses

if TYPE_CHECKING:
    from squidbot.core.ports import TranscriptStore

__all__ = ["ERASURE_CHECKS", "made_tombstone"]

LONG = "walrus " * 3000  # longer than any page of a file


def made_tombstone(message: StoredMessage, text: str = "(forgotten)") -> StoredMessage:
    """Return what takes the place of a message that is forgotten, for tests."""
    left = made_message(message.seq, text, role=message.role, turn=message.turn)
    calls, results = message.call_ids, message.result_ids
    return replace(left, category=Category.FORGOTTEN, call_ids=calls, result_ids=results, time=message.time)


def _found(store: TranscriptStore, query: str, session_id: str = "s") -> list[int]:
    return sorted(found.seq for found in store.search(session_id, query, 10_000))


def _checks_places(store: TranscriptStore) -> None:
    said = [made_message(seq, f"tea {LONG if seq == 2 else 'walrus'} own{seq}") for seq in range(6)]
    said[2] = replace(said[2], sent_text="walrus", notice="walrus", call_ids=("c1",), time=1.5)
    plans = [Record("plan", number, f'"walrus {number} {LONG}"') for number in range(3)]
    store.append("s", 0, said, [*plans, Record("lease", 0, "1")])
    store.append("t", 0, said[:3], plans)
    left = [made_tombstone(said[seq]) for seq in (2, 4)]
    store.forget(
        "s",
        Erasure((6, 4), (left[1], left[0]), (Record("plan", 1, "2"),), (Record("plan", 3, "4"), Record("x", 0, ""))),
    )
    due = [said[0], said[1], left[0], said[3], left[1], said[5]]
    assert store.read("s", 0, 9) == due, "tombstones stand in the places of what is forgotten, the others as they were"
    assert store.pick("s", [2]) == [left[0]], "pick sees them"
    assert store.newest("s", 10**9) == due, "newest sees them"
    assert store.head("s") == (6, 6), f"messages stay as many, records grow by those appended: got {store.head('s')}"
    bodies = [record.body for record in store.records("s", "plan")]
    assert bodies == [plans[0].body, "2", plans[2].body, "4"], f"records are replaced and appended: got {bodies!a:.200}"
    assert store.last_record("s", "x") == Record("x", 0, ""), "records of new kinds are appended"
    assert store.records("s", "lease") == [Record("lease", 0, "1")], "records that are not named stay"
    assert store.read("t", 0, 9) == said[:3], "other sessions keep the same messages"
    assert store.records("t", "plan") == plans, "other sessions keep the same records"
    store.append("s", 6, [made_message(6, "tea")], [Record("plan", 4, "5")])
    assert store.head("s") == (7, 7), "later appends go on behind"


def _checks_search(store: TranscriptStore) -> None:
    # Some are indexed by now, some are not: whenever a store does that.
    for searches in (True, False):
        name = f"s{searches:d}"
        said = [made_message(seq, f"tea own{seq} {'walrus' if seq in (3, 90) else 'seal'}") for seq in range(100)]
        store.append(name, 0, said[:70])
        store.append(name, 70, said[70:])
        store.append("t", store.head("t")[0], [made_message(store.head("t")[0], "walrus")])
        if searches:
            assert _found(store, "walrus", name) == [3, 90], "messages are found before they are forgotten"
        store.forget(name, Erasure((100, 0), tuple(made_tombstone(said[seq], "tea with walrus") for seq in (3, 90))))
        for query in ("walrus", "own3", "own90"):
            assert _found(store, query, name) == [], f"what is forgotten is found by no word: {query} is"
        others = [seq for seq in range(100) if seq not in (3, 90)]
        assert _found(store, "tea", name) == others, "all others are found, no tombstone is"
        store.append(name, 100, [made_message(seq, "tea walrus") for seq in range(100, 300)])
        assert _found(store, "walrus", name) == list(range(100, 300)), "what is said later is found"
        assert _found(store, "own3 own90 own4", name) == [4], "what is forgotten stays forgotten"
    assert _found(store, "walrus", "t") == [0, 1], "other sessions are searched as before"


def _checks_refusals(store: TranscriptStore) -> None:
    said = [made_message(seq) for seq in range(3)]
    store.append("s", 0, said, [Record("plan", 0, "a"), Record("plan", 1, "b")])
    grave = made_tombstone(said[1])
    good = Erasure((3, 2), (grave,), (Record("plan", 0, "x"),), (Record("plan", 2, "c"),))
    for promise, wrong in (
        ("another number of messages", replace(good, expected=(2, 2))),
        ("another number of records", replace(good, expected=(3, 3))),
        ("a message that is not there", replace(good, tombstones=(grave, made_tombstone(made_message(3))))),
        ("a message before the first", replace(good, tombstones=(grave, made_tombstone(made_message(-1))))),
        ("a message in a tombstone's place", replace(good, tombstones=(grave, said[2]))),
        ("a record that is not there", replace(good, replaced=(Record("plan", 2, "x"),))),
        ("a record of a kind that is not there", replace(good, replaced=(Record("pin", 0, "x"),))),
        ("an appended record out of place", replace(good, appended=(Record("plan", 3, "x"),))),
    ):
        refuses(f"forgetting with {promise}", store.forget, "s", wrong)
        assert store.read("s", 0, 9) == said, f"refused for {promise}, nothing is changed"
        assert [record.body for record in store.records("s", "plan")] == ["a", "b"], f"{promise}: no record is changed"
        assert store.head("s") == (3, 2), f"refused for {promise}, nothing is appended"
    refuses("forgetting in an unknown session", store.forget, "unknown", good)
    refuses("forgetting in a session with an empty id", store.forget, "", good)
    assert store.head("unknown") == (0, 0), "a refusal makes no session"
    store.forget("s", good)
    assert store.read("s", 0, 9) == [said[0], grave, said[2]], "after refusals the right one is taken"
    store.forget("s", Erasure((3, 3), (made_tombstone(said[1], "again"),)))
    assert store.read("s", 1, 1) == [made_tombstone(said[1], "again")], "a tombstone can be replaced by another"
    store.forget("s", Erasure((3, 3), ()))
    assert store.head("s") == (3, 3), "forgetting nothing changes nothing"


def _checks_notices(store: TranscriptStore) -> None:
    said = [replace(made_message(seq, f"tea own{seq}"), notice=f"walrus {LONG}") for seq in range(3)]
    store.append("s", 0, said, [Record("plan", 0, "a")])
    bare = replace(said[1], notice=None, sent_cost=said[1].cost, counter="x")
    grave = made_tombstone(said[0])
    for promise, wrong in (
        ("another text", (replace(bare, payload="x"),)),
        ("a message that is not there", (replace(bare, seq=3),)),
        ("a message before the first", (replace(bare, seq=-1),)),
        ("a tombstone", (grave,)),
    ):
        refuses(f"a notice taken from {promise}", store.forget, "s", Erasure((3, 1), (), unnoticed=wrong))
        assert store.read("s", 0, 9) == said, f"refused for {promise}, nothing is changed"
    less = replace(said[2], notice="rest")
    store.forget("s", Erasure((3, 1), (grave,), (), (Record("x", 0, ""),), unnoticed=(bare, less)))
    assert store.read("s", 0, 9) == [grave, bare, less], "notices go, what they stood behind stays"
    assert _found(store, "tea") == [1, 2], "it is found as before"
    assert store.head("s") == (3, 2), "records are appended with it"


def _checks_drop(store: TranscriptStore) -> None:
    if not isinstance(store, Drops):
        return
    said = [made_message(seq, f"walrus own{seq}") for seq in range(3)]
    for name in ("gone", "other"):
        store.append(name, 0, said, (Record("x", 0, "body"),))
        assert _found(store, "walrus", name) == [0, 1, 2], "messages are found before their session is removed"
    store.drop("gone")
    store.drop("unknown")
    assert store.head("gone") == (0, 0), "what is removed is as if it was never there"
    assert (store.records("gone", "x"), _found(store, "walrus", "gone")) == ([], []), "nothing is left of it"
    assert (store.read("other", 0, 9), _found(store, "walrus", "other")) == (said, [0, 1, 2]), "others are whole"
    store.append("gone", 0, [made_message(0, "tea")])
    assert (_found(store, "tea", "gone"), _found(store, "walrus", "gone")) == ([0], []), "its id can be used again"


ERASURE_CHECKS = (_checks_places, _checks_search, _checks_notices, _checks_refusals, _checks_drop)
