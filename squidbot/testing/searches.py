"""What a TranscriptStore promises about `search`, as checks that `check_transcript_store` runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from squidbot.core.messages import Category
from squidbot.testing.values import ODD_IDS, made_message

if TYPE_CHECKING:
    from squidbot.core.messages import Found, Role
    from squidbot.core.ports import TranscriptStore

__all__ = ["SEARCH_CHECKS"]

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


def _found(store: TranscriptStore, session_id: str, query: str) -> list[int]:
    return [found.seq for found in store.search(session_id, query, 1000)]


def _checks_findable(store: TranscriptStore) -> None:
    store.append("s", 0, [made_message(seq, text) for seq, (text, _) in enumerate(FINDABLE)])
    for seq, (text, queries) in enumerate(FINDABLE):
        for query in queries:
            first = _found(store, "s", query)[:1]
            assert first == [seq], f"a message is found by its parts: {query!a} in {text!a}, got {first}, not [{seq}]"
    for query in ("zebra", '"chose we"', '"6380 port"', "缓格"):
        assert _found(store, "s", query) == [], f"{query!a} is in no message: got {_found(store, 's', query)}"


def _checks_roles(store: TranscriptStore) -> None:
    roles: tuple[Role, ...] = ("system", "user", "assistant", "tool")
    said = [made_message(seq, "tea", role=role) for seq, role in enumerate(roles)]
    store.append("s", 0, [*said, replace(made_message(4, "tea"), category=Category.RECALLED)])
    assert sorted(_found(store, "s", "tea")) == [0, 1, 2, 3], "every role is searched, recalled copies are not"
    call = '{"role": "assistant", "tool_calls": [{"function": {"name": "run", "arguments": "{\\"port\\": 8080}"}}]}'
    store.append("s", 5, [replace(made_message(5, role="assistant"), payload=call)])
    for query in ("8080", "run", "port"):
        assert _found(store, "s", query) == [5], f"names and arguments of tool calls are searched: {query} is"
    assert _found(store, "s", "assistant") == [], "the structure of a payload is not searched"


def _checks_order(store: TranscriptStore) -> None:
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
    assert _found(store, "s", "purple grey")[0] == 7, "a rare word counts more than a common one"


def _checks_pages(store: TranscriptStore) -> None:
    said = [made_message(seq, f"tea {'milk' if seq % 3 else ''} {'x ' * (seq % 7)}") for seq in range(700)]
    store.append("s", 0, said)
    for query in ("tea", "tea milk", '"tea milk"', "x milk"):
        whole = store.search("s", query, 1000)
        seqs = [found.seq for found in whole]
        assert len(seqs) == len(set(seqs)), f"{query}: each message once"
        pages: list[Found] = []
        after: Found | None = None
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
        assert sorted(_found(store, session_id, "shared")) == [0, 1], f"{session_id[:40]!a} finds its own messages"
        assert _found(store, session_id, f"own{number}") == [0], f"{session_id[:40]!a} finds what it alone says"
        assert _found(store, session_id, f"own{number + 1}") == [], f"{session_id[:40]!a} finds nothing of others"
    assert _found(store, "unknown", "shared") == [], "an unknown session has no messages"


def _checks_at_once(store: TranscriptStore) -> None:
    for seq in range(140):
        store.append("s", seq, [made_message(seq, f"number{seq} tea")])
        assert _found(store, "s", f"number{seq}") == [seq], f"message {seq} is found right behind its append"
    assert len(_found(store, "s", "tea")) == 140, "nothing that was found is lost"


def _checks_hostile(store: TranscriptStore) -> None:
    store.append("s", 0, [made_message(0, "a b terms near and or not x z 5 drop")])
    for query in HOSTILE:
        try:
            found = store.search("s", query, 5)
        except ValueError:
            assert not any(map(str.isalnum, query)), f"{query[:40]!a} has something to look for"
            continue
        assert {each.seq for each in found} <= {0}, f"{query[:40]!a} finds what is there"
    assert _found(store, "s", "q AND b") == [0], "AND is a word like another"
    for query in ("", " ", "?!", '""', "\0", "\ud800"):
        try:
            store.search("s", query, 5)
        except ValueError:
            continue
        raise AssertionError(f"{query!a} has nothing to look for: a ValueError was due")


SEARCH_CHECKS = (
    _checks_findable, _checks_roles, _checks_order, _checks_pages, _checks_scopes, _checks_at_once, _checks_hostile,
)  # fmt: skip
