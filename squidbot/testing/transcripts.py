"""The checks of stores of transcripts and summaries, and of their optional parts."""

from __future__ import annotations

import math
from dataclasses import replace
from time import time
from typing import TYPE_CHECKING, Protocol

from squidbot.core.messages import Category, Cost, Erasure, Record, StoredMessage, Summary
from squidbot.core.ports import (
    SupportsAges,
    SupportsDrop,
    SupportsKinds,
    SupportsRecordSearch,
    SupportsSearchAcross,
    SupportsSessions,
    TranscriptStore,
)
from squidbot.testing.values import ODD_IDS, ODD_TEXTS, at_once, closed_after, made_message, made_summary, refuses

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.core.messages import Role, SearchMatch, SessionMatch
    from squidbot.core.ports import SummaryStore, SupportsClaims


# What a TranscriptStore promises about messages that are forgotten; a part of
# `check_transcript_store`.

LONG = "walrus " * 3000  # longer than any page of a file


def made_tombstone(message: StoredMessage, text: str = "(forgotten)") -> StoredMessage:
    """Return the placeholder of a forgotten message, for tests."""
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
    if not isinstance(store, SupportsDrop):
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


HOUR_SECONDS = 3600.0


def _checks_ages(store: TranscriptStore) -> None:
    if not isinstance(store, SupportsAges):
        return
    now = time()
    # By its own clock, or by its messages' times.
    date_back = getattr(store, "date_back", lambda _name, _time: None)
    for name, hours in (("old", 3.5), ("older", 5.0), ("young", 0.0)):
        at = now - hours * HOUR_SECONDS
        store.append(name, 0, [replace(made_message(0, "walrus"), time=at)], [Record("x", 0, "body")])
        store.append(name, 1, [made_message(1, "walrus")])  # nobody knows when it was said
        date_back(name, at)
    store.append("unsaid", 0, [], [Record("x", 0, "body")])
    found = store.older_than(now - HOUR_SECONDS)
    assert [name for name, _ in found] == ["older", "old"], f"those at rest, the longest first: got {found!a:.200}"
    assert store.older_than(now - 4 * HOUR_SECONDS) == found[:1], "and none that is younger"
    assert abs(found[0][1] - (now - 5 * HOUR_SECONDS)) < 1, f"and since when: got {found[0][1]} for 5 hours ago"
    assert {name for name, _ in store.older_than(math.inf)} >= {"old", "older", "young"}, "before the end of time: all"
    for name in ("young", "unsaid", "unknown"):
        assert not store.drop_if_older(name, now - HOUR_SECONDS), f"{name}: is not older, so it is not removed"
    assert store.head("young") == (2, 1), "and stays whole"
    assert not store.drop_if_older("old", now - 4 * HOUR_SECONDS), "nor is one that is younger than asked"
    assert store.drop_if_older("older", now - 4 * HOUR_SECONDS), "one that is older is removed"
    assert (store.head("older"), _found(store, "walrus", "older")) == ((0, 0), []), "as if it was never there"
    store.append("old", 2, [replace(made_message(2, "tea"), time=now)])
    assert not store.drop_if_older("old", now - HOUR_SECONDS), "one that was written to since stays"
    assert store.older_than(now - HOUR_SECONDS) == [], "and is at rest no more"


def _checks_kinds(store: TranscriptStore) -> None:
    if not isinstance(store, SupportsKinds):
        return
    assert store.kinds("s") == {}, "an unknown session has no records of any kind"
    kinds = ["plan", "plan\0", "\ud800", "k" * 1024, ""]
    records = [Record(kind, number, "") for place, kind in enumerate(kinds) for number in range(place + 1)]
    store.append("s", 0, [made_message(0)], records)
    store.append("t", 0, [], [Record("pin", 0, "")])
    due = {kind: place for place, kind in enumerate(kinds, 1)}
    assert store.kinds("s") == due, f"each kind is there with its number of records: got {store.kinds('s')!a:.200}"


def _checks_sessions(store: TranscriptStore) -> None:
    if not isinstance(store, SupportsSessions):
        return
    assert store.sessions() == [], "a new store lists no session"
    store.append("second", 0, [made_message(0)])
    store.append("a", 0, [made_message(0), made_message(1)])
    store.append("second", 1, [made_message(1), made_message(2)])
    found = store.sessions()
    assert found == [("second", 3), ("a", 2)], f"each is listed once, oldest first, with its messages: got {found}"


ERASURE_CHECKS = (_checks_places, _checks_search, _checks_notices, _checks_refusals, _checks_drop, _checks_ages)


# What a TranscriptStore promises about `search`, as checks that `check_transcript_store` runs.

# A text, and queries that must find it.
FINDABLE = (
    ("We chose PostgreSQL; port 6380.", ("postgresql", "6380", "PORT", "chose port", '"port 6380"', '"we CHOSE"')),
    ("see src/cache_store.py", ("src/cache_store.py", "cache_store", "store.py", "CACHE_STORE.PY", "src", "py")),
    ("calls parseHTTPHeader(x)", ("parseHTTPHeader", "parsehttpheader", "header", "HTTP header", '"parse http"')),
    ("failed: ERR_4711", ("ERR_4711", "err_4711", "4711", "err")),
    ("缓存价格为十分钟", ("缓存", "价格", "缓", "缓存价格", '"存价"')),
    ("キャッシュは十分間", ("キャッシュ", "ッシ", "間")),
    ("캐시를 십분 동안", ("캐시", "캐시를", "동안")),
    ("ราคาแคชสิบนาที", ("แคช", "ราคา")),
    ("Ünïcödé naïve ﬁne \uff37\uff49\uff44\uff45 STRASSE", ("unicode", "naive", "fine", "wide", "straße", "ÜNÏCÖDÉ")),
    ("e\u0301clair \u212bngstrom", ("éclair", "eclair", "ångstrom")),
    ("a\0b\ud800c \U0001f600 tail", ("tail", "b", "c")),
    ("don't panic, O\u2019Neil", ("don't", "don\u2019t", "o'neil", "panic")),
    ("हिन्दी में", ("हिन्दी",)),
)
# Whatever another search would take for syntax is only words here.
HOSTILE = (
    '"', '""', '"unclosed', "NEAR(a b, 2)", "a AND", "OR", "NOT x", "terms:a", "a*", "^a", "-a", "(a", "a))",
    "{a b}: c", "'; DROP TABLE messages; --", "%", "_", "\\", "a\0b", "\ud800", '"\0"', "[a-z]+(", "a" * 200,
    "a " * 5000, "\u200b",
)  # fmt: skip


def _search(store: TranscriptStore, session_id: str, query: str) -> list[int]:
    return [found.seq for found in store.search(session_id, query, 1000)]


def _checks_findable(store: TranscriptStore) -> None:
    store.append("s", 0, [made_message(seq, text) for seq, (text, _) in enumerate(FINDABLE)])
    for seq, (text, queries) in enumerate(FINDABLE):
        for query in queries:
            first = _search(store, "s", query)[:1]
            assert first == [seq], f"a message is found by its parts: {query!a} in {text!a}, got {first}, not [{seq}]"
    for query in ("zebra", '"chose we"', '"6380 port"', "缓格"):
        assert _search(store, "s", query) == [], f"{query!a} is in no message: got {_search(store, 's', query)}"


def _checks_roles(store: TranscriptStore) -> None:
    roles: tuple[Role, ...] = ("system", "user", "assistant", "tool")
    said = [made_message(seq, "tea", role=role) for seq, role in enumerate(roles)]
    store.append("s", 0, [*said, replace(made_message(4, "tea"), category=Category.RECALLED)])
    assert sorted(_search(store, "s", "tea")) == [0, 1, 2, 3], "every role is searched, recalled copies are not"
    call = '{"role": "assistant", "tool_calls": [{"function": {"name": "run", "arguments": "{\\"port\\": 8080}"}}]}'
    store.append("s", 5, [replace(made_message(5, role="assistant"), payload=call)])
    for query in ("8080", "run", "port"):
        assert _search(store, "s", query) == [5], f"names and arguments of tool calls are searched: {query} is"
    assert _search(store, "s", "assistant") == [], "the structure of a payload is not searched"


def _checks_search_order(store: TranscriptStore) -> None:
    texts = ("red green blue", "red green", "red", "red green blue", "blue", "grey", "red " * 2000)
    store.append("s", 0, [made_message(seq, text, bound=400) for seq, text in enumerate(texts)])
    found = store.search("s", "red green blue", 9)
    assert [each.seq for each in found[:2]] == [3, 0], f"all words go before some, ties newest first: got {found}"
    assert sorted(each.seq for each in found) == [0, 1, 2, 3, 4, 6], f"any of the words is enough: got {found}"
    scores = [each.score for each in found]
    assert scores == sorted(scores, reverse=True), f"scores fall: got {scores}"
    assert all(0 <= score <= 1 for score in scores), f"scores are 0 to 1: got {scores}"
    assert [each.seq for each in store.search("s", '"red green" blue', 9)] == [3, 0, 1], "a phrase must occur"
    store.append("s", 7, [made_message(7, "purple"), *(made_message(seq, "grey") for seq in range(8, 30))])
    assert _search(store, "s", "purple grey")[0] == 7, "a rare word counts more than a common one"


def _checks_pages(store: TranscriptStore) -> None:
    said = [made_message(seq, f"tea {'milk' if seq % 3 else ''} {'x ' * (seq % 7)}") for seq in range(700)]
    store.append("s", 0, said)
    for query in ("tea", "tea milk", '"tea milk"', "x milk"):
        whole = store.search("s", query, 1000)
        seqs = [found.seq for found in whole]
        assert len(seqs) == len(set(seqs)), f"{query}: each message once"
        pages: list[SearchMatch] = []
        after: SearchMatch | None = None
        while len(pages) <= len(whole) and (page := store.search("s", query, 97, after)):
            pages += page
            after = page[-1]
        assert pages == whole, f"{query}: pages of 97 are the whole, cut: {len(pages)} of {len(whole)}"
    assert len(store.search("s", "tea", 1000)) == 700, "a word in every message finds every message"
    assert store.search("s", "tea", 0) == [], "a page of none is empty"
    assert len(store.search("s", "tea", 5)) == 5, "limit is the most that comes"


def _checks_scopes(store: TranscriptStore) -> None:
    for number, session_id in enumerate(ODD_IDS):
        store.append(session_id, 0, [made_message(0, f"shared own{number}"), made_message(1, "shared")])
    for number, session_id in enumerate(ODD_IDS):
        assert sorted(_search(store, session_id, "shared")) == [0, 1], f"{session_id[:40]!a} finds its own messages"
        assert _search(store, session_id, f"own{number}") == [0], f"{session_id[:40]!a} finds what it alone says"
        assert _search(store, session_id, f"own{number + 1}") == [], f"{session_id[:40]!a} finds nothing of others"
    assert _search(store, "unknown", "shared") == [], "an unknown session has no messages"


def _checks_at_once(store: TranscriptStore) -> None:
    for seq in range(140):
        store.append("s", seq, [made_message(seq, f"number{seq} tea")])
        assert _search(store, "s", f"number{seq}") == [seq], f"message {seq} is found right behind its append"
    assert len(_search(store, "s", "tea")) == 140, "nothing that was found is lost"


def _checks_hostile(store: TranscriptStore) -> None:
    store.append("s", 0, [made_message(0, "a b terms near and or not x z 5 drop")])
    for query in HOSTILE:
        try:
            found = store.search("s", query, 5)
        except ValueError:
            assert not any(map(str.isalnum, query)), f"{query[:40]!a} has something to look for"
            continue
        assert {each.seq for each in found} <= {0}, f"{query[:40]!a} finds what is there"
    assert _search(store, "s", "q AND b") == [0], "AND is a word like another"
    for query in ("", " ", "?!", '""', "\0", "\ud800"):
        try:
            store.search("s", query, 5)
        except ValueError:
            continue
        raise AssertionError(f"{query!a} has nothing to look for: a ValueError was due")


SEARCH_CHECKS = (
    _checks_findable, _checks_roles, _checks_search_order, _checks_pages, _checks_scopes, _checks_at_once,
    _checks_hostile,
)  # fmt: skip


def check_transcript_store(factory: Callable[[], TranscriptStore]) -> None:
    """Check the promises of `ports.TranscriptStore`.

    Promised: messages come back in order and equal in every field, with any text; an append is all or nothing, its
    records included, and refused unless it is the next one; reads take any range; `newest` stops with the first message
    that exceeds the budget; records are numbered by kind; an unknown session is empty; every id of 1 to 1,024
    characters is a separate session, and others are refused; search finds messages as soon as they are appended, by
    words in any script, ranked, in complete pages, only in their own session, and queries have no syntax; forgotten
    messages are replaced all or not at all, and no word finds them.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    for check in (
        _checks_order, _checks_round_trip, _checks_texts, _checks_conflicts, _checks_seqs, _checks_ranges, _checks_pick,
        _checks_newest, _checks_records, _checks_atomicity, _checks_unknown, _checks_ids, _checks_refused_ids,
        _checks_kinds, _checks_sessions, *SEARCH_CHECKS, *ERASURE_CHECKS,
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


# The check of a store that finds sessions by their records.


class RecordSearchStore(TranscriptStore, SupportsRecordSearch, Protocol):
    """A store of transcripts that finds sessions by records."""


def check_finds(factory: Callable[[], RecordSearchStore]) -> None:
    """Check the promises of `SupportsRecordSearch`.

    Promised: any record of the kind, and any of its words, finds its session, once; nothing else does.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    with closed_after(factory()) as store:
        assert store.sessions_with("told", ["walrus"]) == [], "in no session nothing is found"
        for number, name in enumerate(ODD_IDS):
            bodies = [f'["own{number}"]', f'["walrus \\u00e9{number}", "\ud800"]'] if number else ["tea"]
            records = [Record("told", place, body) for place, body in enumerate(bodies)]
            store.append(name, 0, [made_message(0, "own9 walrus")], [*records, Record("plan", 0, "kept walrus")])
        others = [*ODD_IDS[1:]]
        assert store.sessions_with("told", ["walrus", "nowhere", "own1"]) == others, "each once, oldest first"
        assert store.sessions_with("told", ['"own1"']) == [ODD_IDS[1]], "by a word of its own"
        assert store.sessions_with("told", ["\ud800"]) == others, "whatever it is"
        assert store.sessions_with("told", ["kept"]) == [], "another kind is not looked at"
        assert store.sessions_with("nothing", ["walrus"]) == [], "nor is one that nobody has"
        assert store.sessions_with("told", []) == [], "no word finds nothing"
        store.append("long", 0, [], [Record("told", 0, f'["own77"{", 0" * 9_000}, "own78"]')])
        assert store.sessions_with("told", ['"own77"', "own0"]) == ["long"], "however long the record is"
        assert store.sessions_with("told", ['"own78"']) == ["long"], "to its end"
        many = [f"none{number}" for number in range(1_500)]
        assert store.sessions_with("told", [*many, '"own1"']) == [ODD_IDS[1]], "many words are as good as one"


# The check of a store that searches many sessions at once.


class SearchAcrossStore(TranscriptStore, SupportsSearchAcross, Protocol):
    """A store of transcripts that searches many sessions at once."""


def check_search_across(factory: Callable[[], SearchAcrossStore]) -> None:
    """Check the promises of `SupportsSearchAcross`.

    Promised: what is found, its order and its scores are those of one session that has all the messages; pages share
    nothing and skip nothing; other sessions are not looked at.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    with closed_after(factory()) as store:
        assert store.search_across(["none"], "walrus", 9) == [], "where nothing is stored nothing is found"
        names = ["old", "other", "long", "odd \u00e9/\ud800", "new"]
        sizes = dict(zip(names, (70, 90, 200, 5, 3), strict=True))
        said = {name: [made_message(seq, _words(name, seq)) for seq in range(size)] for name, size in sizes.items()}
        for name in names:
            store.append(name, 0, said[name])
        asked = [name for name in names if name != "other"]
        places = [(name, seq) for name in asked for seq in range(sizes[name])]
        texts = [said[name][seq] for name, seq in places]
        store.append("together", 0, [replace(row, seq=seq, turn=seq) for seq, row in enumerate(texts)])
        for query in ("walrus", "tea walrus", 'rare "tea walrus"', "common", "long42", "nowhere"):
            due = [(*places[seq], score) for seq, score in store.search("together", query, 10_000)]
            found = store.search_across([*reversed(asked), "none"], query, 10_000)
            assert found == due, f"{query}: as in one session with all messages, got {found[:3]!a:.300}"
            assert _pages(store, asked, query) == due, f"{query}: pages share nothing and skip nothing"
        store.append("new", 3, [made_message(3, "walrus narwhal")])
        assert store.search_across(asked, "narwhal", 9)[0][:2] == ("new", 3), "what is appended is found at once"
        assert store.search_across(["old"], "narwhal", 9) == [], "in its own session only"
        store.forget("new", Erasure((4, 0), (made_tombstone(said["new"][0]),)))
        assert ("new", 0) not in [match[:2] for match in store.search_across(asked, "rare", 99)], "forgotten is gone"
        try:
            store.search_across(asked, "?!", 9)
        except ValueError:
            return
        raise AssertionError("a query without a letter or digit is refused")


def _words(name: str, seq: int) -> str:
    """Return the text of a message: some words are in each, some in many, some in few, one in one."""
    rare = " rare tea walrus" if seq % 67 == 0 else ""
    return f"common {'walrus ' * (seq % 2)}{'tea ' * (seq % 7 == 0)}{name.split(maxsplit=1)[0]}{seq}{rare}"


def _pages(store: SupportsSearchAcross, names: Sequence[str], query: str) -> list[SessionMatch]:
    found: list[SessionMatch] = []
    while page := store.search_across(names, query, 37, found[-1] if found else None):
        found += page
    return found


# The check of a store with claims.

# Seconds since 1970; the checks count from there.
NOW = 1_800_000_000.0


def check_claims(factory: Callable[[], SupportsClaims]) -> None:
    """Check the promises of `ports.SupportsClaims`.

    Promised: a claim has one holder at a time; it ends when it expires or when its holder releases it, and renewing
    extends it; sessions and kinds have separate claims; of many callers at once, one gets it.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    for check in (_checks_one_holder, _checks_end, _checks_release, _checks_claimed_places, _checks_many_at_once):
        with closed_after(factory()) as store:
            check(store)


def _checks_one_holder(store: SupportsClaims) -> None:
    assert store.claim("s", "work", "a", NOW, 60.0) is True, "a claim that nobody has is to be had"
    assert store.claim("s", "work", "b", NOW + 59.0, 60.0) is False, "nobody else gets it while it lasts"
    assert store.claim("s", "work", "a", NOW + 59.0, 60.0) is True, "its holder may renew it"
    assert store.claim("s", "work", "b", NOW + 61.0, 60.0) is False, "renewed, it lasts longer"


def _checks_end(store: SupportsClaims) -> None:
    store.claim("s", "work", "a", NOW, 60.0)
    assert store.claim("s", "work", "b", NOW + 60.0, 10.0) is True, "a holder that has died holds it no longer"
    assert store.claim("s", "work", "a", NOW + 61.0, 60.0) is False, "who was too late to renew it has lost it"
    assert store.claim("s", "work", "a", NOW + 70.0, 60.0) is True, "each claim lasts as long as its own holder said"


def _checks_release(store: SupportsClaims) -> None:
    store.release("s", "work", "nobody")
    store.claim("s", "work", "a", NOW, 60.0)
    store.release("s", "work", "b")
    assert store.claim("s", "work", "b", NOW, 60.0) is False, "only its holder can end a claim"
    store.release("s", "work", "a")
    store.release("s", "work", "a")
    assert store.claim("s", "work", "b", NOW, 60.0) is True, "what was released is to be had"


def _checks_claimed_places(store: SupportsClaims) -> None:
    for number, session_id in enumerate(ODD_IDS):
        assert store.claim(session_id, "work", str(number), NOW, 60.0), f"{session_id[:40]!a} has its own claims"
    for text in ODD_TEXTS:
        assert store.claim("s", text, text, NOW, 60.0), f"each kind has its own claims, {text!a} too"
        assert store.claim("s", text, text, NOW, 60.0), f"a holder is known again, {text!a} too"
        assert store.claim("s", text, f"{text}x", NOW, 60.0) is False, f"holders are told apart, {text!a} too"
    refuses("an empty session id", store.claim, "", "work", "a", NOW, 60.0)
    refuses("an empty session id", store.release, "", "work", "a")


def _checks_many_at_once(store: SupportsClaims) -> None:
    promise = "of many who ask at once one gets it"
    got = at_once(8, lambda number: bool(store.claim("s", "work", str(number), NOW, 60.0)), promise)
    assert got.count(True) == 1, f"{promise}: got {got}"


# The check of a SummaryStore.


def check_summary_store(factory: Callable[[], SummaryStore]) -> None:
    """Check the promises of `ports.SummaryStore`.

    Promised: a summary comes back equal in every field; storing it again does nothing, and another one under its id is
    refused; `by_id` keeps the requested order, `for_range` returns summaries entirely inside it, by first seq and then
    id; sessions don't see each other's; removed summaries are gone.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    for check in (
        _checks_put, _checks_by_id, _checks_for_range, _checks_summary_texts, _checks_summary_sessions, _checks_remove,
    ):  # fmt: skip
        with closed_after(factory()) as store:
            check(store)


def _checks_put(store: SummaryStore) -> None:
    summary = made_summary("a", 0, 9, text="They chose SQLite.")
    store.put(summary)
    store.put(replace(summary))
    for other in (
        replace(summary, text="They chose files."),
        replace(summary, last_seq=8),
        replace(summary, level="merged"),
    ):
        refuses("another summary under a stored id", store.put, other)
    several = [made_summary(name, 0, 1, text=name) for name in ("c", "b")]
    store.put(*several, summary)
    assert store.by_id("s", ["c", "b"]) == several, "several are stored at once"
    refuses("another summary among several", store.put, made_summary("d", 0, 1), replace(summary, text="They didn't."))
    store.put()
    got = store.by_id("s", ["a"])
    assert got == [summary], f"the first summary under an id stays, every field as it was: got {got}"


def _checks_by_id(store: SummaryStore) -> None:
    for name in ("a", "b", "c"):
        store.put(made_summary(name, 0, 1, text=name))
    names = [summary.summary_id for summary in store.by_id("s", ["c", "nobody", "a"])]
    assert names == ["c", "a"], f"by_id answers in the order asked for, unknown ones left out: got {names}"
    assert store.by_id("s", []) == [], "by_id of nothing is nothing"
    assert store.by_id("unknown", ["a"]) == [], "an unknown session has no summaries"


def _checks_for_range(store: SummaryStore) -> None:
    for name, first, last in (("d", 5, 9), ("b", 0, 4), ("a", 5, 9), ("c", 0, 9), ("\ud800", 5, 5), ("\uffff", 5, 5)):
        store.put(made_summary(name, first, last))
    for first, last, due in (
        (0, 9, ["b", "c", "a", "d", "\ud800", "\uffff"]),
        (5, 9, ["a", "d", "\ud800", "\uffff"]),
        (0, 8, ["b", "\ud800", "\uffff"]),
        (1, 4, []),
        (9, 0, []),
        (-5, 10**9, ["b", "c", "a", "d", "\ud800", "\uffff"]),
    ):
        names = [summary.summary_id for summary in store.for_range("s", first, last)]
        assert names == due, (
            f"for_range({first}, {last}) is what lies inside, by first seq, then id: {due!a}, got {names!a}"
        )
    assert store.for_range("unknown", 0, 9) == [], "an unknown session has no summaries"


def _checks_summary_texts(store: SummaryStore) -> None:
    for text in ODD_TEXTS:
        summary = Summary(f"id {text}", "s", 0, 1, text, text, Cost(1, 2), text, text, text)
        store.put(summary)
        got = store.by_id("s", [summary.summary_id])
        assert got == [summary], f"a summary comes back character by character: sent {summary!a}, got {got!a}"


def _checks_summary_sessions(store: SummaryStore) -> None:
    for number, session_id in enumerate(ODD_IDS):
        store.put(made_summary("same id", 0, 1, session_id=session_id, text=str(number)))
    for number, session_id in enumerate(ODD_IDS):
        texts = [summary.text for summary in store.for_range(session_id, 0, 9)]
        assert texts == [str(number)], f"{session_id[:40]!a} has its own summaries: got {texts}"
    refuses("an empty session id", store.put, made_summary("a", 0, 1, session_id=""))


def _checks_remove(store: SummaryStore) -> None:
    for session_id in ("s", "t"):
        for name in ("a", "b", "\ud800"):
            store.put(made_summary(name, 0, 1, session_id=session_id, text=name))
    store.remove("s", ["\ud800", "nobody", "a", "a"])
    left = [summary.summary_id for summary in store.for_range("s", 0, 9)]
    assert left == ["b"], f"what is removed is gone, the others stay: got {left!a}"
    assert store.by_id("s", ["a", "\ud800"]) == [], "by_id leaves out what was removed"
    assert len(store.for_range("t", 0, 9)) == 3, "other sessions keep their summaries of the same ids"
    store.remove("s", [])
    store.remove("unknown", ["b"])
    assert [summary.text for summary in store.by_id("s", ["b"])] == ["b"], "removing nothing changes nothing"
    store.put(made_summary("a", 0, 1, text="another"))
    assert [summary.text for summary in store.by_id("s", ["a"])] == ["another"], "an id that was removed is free again"
