"""What a MemoryStore promises, as a check."""

from __future__ import annotations

import threading
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from squidbot.core.errors import NotFoundError, StoreError
from squidbot.core.memories import CATEGORIES, Memory, Scope, Source, View, memory_id_of
from squidbot.testing.exchanges import EXCHANGE_CHECKS
from squidbot.testing.facts import ANN, NOW, SEEN, made_memory
from squidbot.testing.places import PLACE_CHECKS, checks_places_reopened
from squidbot.testing.searches import HOSTILE
from squidbot.testing.values import ODD_IDS, ODD_TEXTS, closed_after, refuses

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.core.memories import Category, Isolation
    from squidbot.core.ports import MemoryStore

__all__ = ["ANN", "ISOLATIONS", "SEEN", "check_memory_store", "made_memory"]

ISOLATIONS: tuple[Isolation, ...] = ("bot", "model", "global", "agent")
HUGE = "walrus " * 40_000
# A text, and queries that must find it before any other.
FINDABLE = (
    ("We chose PostgreSQL; port 6380.", ("postgresql", "6380", "PORT", "chose port")),
    ("The cache lives in src/cache_store.py", ("src/cache_store.py", "cache_store")),
    ("She adopted a beagle named Rufus.", ("beagles", "who adopted the beagle?", "Rufus")),
    ("缓存价格为十分钟", ("缓存", "缓存价格")),
    ("キャッシュは十分間", ("キャッシュ",)),
    ("캐시를 십분 동안", ("캐시를",)),
    ("A naïve Ünïcödé STRASSE", ("unicode", "naive", "straße")),
    ("a\0b\ud800c \U0001f600 tail", ("tail",)),
)


def check_memory_store(
    factory: Callable[[], MemoryStore], reopened: Callable[[MemoryStore], MemoryStore] | None = None
) -> None:
    """Check the promises of `ports.MemoryStore`.

    Promised: a memory comes back equal in every field, whatever its texts hold; storing it again does nothing, and a
    different one under its id is refused with all that came with it; what is superseded is history, what is forgotten
    is nowhere; pages of a listing are the whole, each memory once, newest first; a search finds the words of a memory
    from the moment that it is stored, scores are 0 to 1 and fall, ties are newest first; tenants and users never see
    each other's memories, nor do what an isolation policy or a shelf parts; of an exchange all is done or nothing; a
    piece of a file is found beside others; threads lose nothing; of two that have read the same messages one stores
    what it found; what took another's place can be taken back.

    `reopened` closes a store and returns it as it is opened again from the same files; None for one that has none.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    for check in CHECKS:
        with closed_after(factory()) as store:
            check(store)
    if reopened is not None:
        _checks_reopened(factory(), reopened)
        checks_places_reopened(factory(), reopened)


def _hits(store: MemoryStore, query: str, view: View = SEEN, *, past: bool = False) -> list[str]:
    return [hit.key for hit in store.search(query, view, limit=1000, now=NOW, past=past)]


def _texts(store: MemoryStore, view: View = SEEN, *, past: bool = False) -> list[str]:
    return [memory.text for memory in store.listed(view, limit=1000, past=past)]


def _checks_add(store: MemoryStore) -> None:
    full = Memory(
        "f-full", "Ann keeps bees.", "core", Scope("t", "ann", "squid", "helper", "gpt", "mail", "th"), 1.5, "tool",
        "Ann", ("bees", "garden"), (Source("s", 3, 5), Source(path="notes/a.md", digest="d")), 0.25, "rule: keeps",
    )  # fmt: skip
    plain = made_memory("Ann likes tea.")
    store.add([full, plain])
    got = store.get([plain.memory_id, "nobody", full.memory_id])
    assert got == [plain, full], f"every field is as it was, in the order asked for, unknown ones left out: got {got}"
    store.add([replace(full), plain, plain, replace(full, sources=())])
    assert store.listed(View(full.scope)) == [full], "storing an equal one again does nothing"
    for other in (replace(full, text="x"), replace(full, tags=()), replace(full, time=2.0)):
        refuses("another memory under a stored id", store.add, [made_memory("Ann has a boat."), other])
    assert store.get(["f-full"]) == [full], "the first memory under an id stays"
    assert _texts(store) == ["Ann likes tea."], "with one that is refused, nothing is stored"
    assert made_memory("Ann has a boat.").memory_id not in _hits(store, "boat"), "nor found"
    store.add([])
    assert store.get([]) == [], "nothing is nothing"


def _checks_refusals(store: MemoryStore) -> None:
    good = made_memory("good")
    for promise, wrong in (
        ("an empty id", replace(good, memory_id="")),
        ("a huge id", replace(good, memory_id="x" * 1025)),
        ("no category", replace(good, category="other")),  # type: ignore[arg-type]  # a caller without types
        ("no time", replace(good, time=float("nan"))),
        ("an importance above 1", replace(good, importance=1.5)),
        ("itself to supersede", replace(good, supersedes=good.memory_id)),
    ):
        refuses(f"a memory with {promise}", store.add, [made_memory("Ann likes tea."), wrong])
    assert _texts(store, past=True) == [], "what is refused leaves nothing behind"


def _checks_texts(store: MemoryStore) -> None:
    texts = (*ODD_TEXTS, HUGE, "缓存价格为十分钟", *(text for text, _ in FINDABLE))
    due = []
    for number, text in enumerate(texts):
        scope = Scope(*[text[:50]] * 7)
        source = Source(text, number, number, text, text)
        due.append(
            Memory(f"{number} {text[:50]}", text, "core", scope, 1.0, "user", text, (text,), (source,), 0.5, text)
        )
    store.add(due)
    for memory in due:
        got = store.get([memory.memory_id])
        assert got == [memory], f"a memory comes back character by character: sent {memory!a:.200}, got {got!a:.200}"
        found = [each for each in due if each.scope == memory.scope]
        listed = sorted(each.memory_id for each in store.listed(View(memory.scope)))
        assert listed == sorted(each.memory_id for each in found), f"its own scope lists it: {memory.scope!a:.200}"


def _checks_findable(store: MemoryStore) -> None:
    found = [made_memory(text, time=float(number)) for number, (text, _) in enumerate(FINDABLE)]
    store.add(found)
    for memory, (text, queries) in zip(found, FINDABLE, strict=True):
        for query in queries:
            first = _hits(store, query)[:1]
            assert first == [memory.memory_id], f"a memory is found by its words: {query!a} in {text!a}, got {first}"


def _checks_scores(store: MemoryStore) -> None:
    texts = ("red green blue", "red green", "red", "red green blue", "grey sky", "white snow")
    memories = [made_memory(text, time=float(number), memory_id=f"m{number}") for number, text in enumerate(texts)]
    store.add(memories[::-1])
    hits = store.search("red green blue", SEEN, limit=100, now=NOW)
    keys, scores = [hit.key for hit in hits], [hit.score for hit in hits]
    assert keys[:3] == ["m3", "m0", "m1"], f"all words go before some, ties newest first: got {keys}"
    assert len(keys) == len(set(keys)), f"each memory once: got {keys}"
    assert {"m0", "m1", "m2", "m3"} <= set(keys), f"any of the words is enough: got {keys}"
    assert scores == sorted(scores, reverse=True), f"scores fall: got {scores}"
    assert all(0 <= score <= 1 for score in scores), f"scores are 0 to 1: got {scores}"
    assert scores[0] > scores[2] > 0, f"higher is closer: got {scores}"
    assert hits[:2] == store.search("red green blue", SEEN, limit=2, now=NOW), "the first ones, and the same each time"
    assert store.search("red", SEEN, limit=0, now=NOW) == [], "a search for none finds none"
    for query in ("", " ", "?!", "\0", "\ud800"):
        try:
            store.search(query, SEEN, now=NOW)
        except ValueError:
            continue
        raise AssertionError(f"{query!a} has nothing to look for: a ValueError was due")


def _checks_hostile(store: MemoryStore) -> None:
    memory = made_memory("a b terms near and or not x z 5 drop")
    store.add([memory])
    for query in HOSTILE:
        try:
            found = _hits(store, query)
        except ValueError:
            assert not any(map(str.isalnum, query)), f"{query[:40]!a} has something to look for"
            continue
        assert {*found} <= {memory.memory_id}, f"{query[:40]!a} finds what is there"


def _checks_scopes(store: MemoryStore) -> None:
    scopes = [
        *(Scope(*parts) for parts in product(("", "t"), ("", "u"), ("", "b"), ("", "u"), ("", "b"))),
        *(Scope(user=user, bot="b") for user in ODD_IDS),
        *(Scope("t", "u", bot) for bot in ODD_IDS),
        Scope("t", "u", "b", "", "", "mail", "th"),
        Scope(user="u", bot="b", shelf="files"),
        Scope(user="u", bot="b", shelf="bot"),
        Scope(user="u", shelf="files"),
    ]
    memories = [made_memory(f"shared own{number}", scope) for number, scope in enumerate(scopes)]
    store.add(memories)
    for isolation in ISOLATIONS:
        views = [View(scope, isolation) for scope in scopes]
        together: dict[object, list[str]] = {}
        for view, memory in zip(views, memories, strict=True):
            together.setdefault(view.key, []).append(memory.memory_id)
        for view in {view.key: view for view in views}.values():
            due, found = sorted(together[view.key]), sorted(_hits(store, "shared", view))
            assert found == due, f"{view!a:.200} finds its own memories, and no others: {len(found)} of {len(due)}"
        for view in views:
            due = sorted(together[view.key])
            listed = sorted(each.memory_id for each in store.listed(view, limit=1000))
            assert listed == due, f"{view!a:.200} lists its own memories, and no others"
            assert all(store.listed(view, category, limit=1) == [] for category in CATEGORIES[:3]), "nor in a category"
    view = View(Scope("t", "nobody"), "global")
    assert not [*_hits(store, "shared", view), *store.listed(view)], "an unknown user has no memories"


def _checks_supersession(store: MemoryStore) -> None:
    old = made_memory("Ann drinks tea with milk.", time=1.0)
    new = made_memory("Ann drinks tea black.", ANN._replace(thread="th"), time=2.0, supersedes=old.memory_id)
    other = made_memory("Ann drinks tea cold.", time=3.0)
    store.add([old, other])
    refused = replace(new, supersedes="nobody")
    refuses("superseding what is not there", store.add, [made_memory("boat"), refused])
    for scope in (Scope(user="bob", bot="squid"), Scope("t", "ann", "squid")):
        refuses("superseding another user's", store.add, [made_memory("boat"), replace(new, scope=scope)])
    assert _texts(store) == [other.text, old.text], "with one that is refused, nothing is stored or superseded"
    store.add([new])
    assert _hits(store, "milk") == [] or old.memory_id not in _hits(store, "milk"), "what is superseded is not found"
    assert sorted(_hits(store, "drinks")) == sorted([new.memory_id, other.memory_id]), "what took its place is"
    assert _texts(store) == [other.text, new.text], "nor is it listed"
    assert old.memory_id == _hits(store, "milk", past=True)[0], "but it is found as history"
    assert _texts(store, past=True) == [other.text, new.text, old.text], "and listed as history"
    marked = replace(old, superseded_by=new.memory_id)
    assert store.get([old.memory_id, new.memory_id]) == [marked, new], "both say so"
    store.add([old, marked, new])
    assert store.get([old.memory_id]) == [marked], "storing it again does not bring it back"
    later = made_memory("Ann drinks coffee.", time=4.0, supersedes=new.memory_id)
    last = made_memory("Ann drinks water.", time=5.0, supersedes=later.memory_id)
    store.add([later, last, made_memory("Ann drinks wine.", time=6.0, supersedes=old.memory_id)])
    assert _texts(store) == ["Ann drinks wine.", last.text, other.text], "a chain in one call is a chain"
    assert store.get([old.memory_id]) == [marked], "whose place was taken first stays so"
    assert store.forget([last.memory_id]) == 1, "what supersedes can be forgotten"
    assert later.memory_id not in _hits(store, "coffee"), "that brings nothing back"
    store.add([made_memory("history", memory_id="h"), replace(made_memory("dust", memory_id="d"), superseded_by="h")])
    assert "d" not in _hits(store, "dust"), "what comes as history is history"
    assert "d" in _hits(store, "dust", past=True), "and found as such"


def _checks_forget(store: MemoryStore) -> None:
    memories = [made_memory(f"tea own{number} {'walrus' if number % 3 else 'seal'}") for number in range(30)]
    store.add(memories)
    assert memories[3].memory_id in _hits(store, "own3"), "memories are found before they are forgotten"
    gone = [memories[3].memory_id, memories[7].memory_id]
    assert store.forgotten(gone) == {}, "nothing is forgotten before"
    count = store.forget([*gone, gone[0], "nobody"], "Ann asked for it")
    assert count == 2, f"forget says how many were there: got {count}"
    assert store.get(gone) == [], "what is forgotten is gone"
    for past in (False, True):
        for query in ("own3", "own7", "tea", "seal walrus"):
            assert not {*gone} & {*_hits(store, query, past=past)}, f"what is forgotten is found by no word: {query} is"
        assert len(_hits(store, "tea", past=past)) == 28, "all others are found"
        assert len(_texts(store, past=past)) == 28, "and listed"
    assert store.forget(gone) == 0, "it is gone once"
    due = dict.fromkeys(gone, "Ann asked for it")
    assert store.forgotten([*gone, "nobody", memories[1].memory_id]) == due, "that it was forgotten, and why, is kept"
    store.add([memories[3]])
    assert _hits(store, "own3")[0] == gone[0], "who adds it again means it"
    assert store.forgotten(gone) == {gone[1]: "Ann asked for it"}, "it is not forgotten any more"


def _checks_listing(store: MemoryStore, category: Category | None, due: list[Memory]) -> None:
    """Check that a listing and its pages are these memories, each once, newest first."""
    whole = store.listed(SEEN, category, limit=1000)
    ids = sorted(each.memory_id for each in due)
    assert sorted(each.memory_id for each in whole) == ids, f"{category}: all are listed, each once"
    times = [each.time for each in whole]
    assert times == sorted(times, reverse=True), f"{category}: newest first"
    pages: list[Memory] = []
    while len(pages) <= len(whole) and (
        page := store.listed(SEEN, category, limit=17, after=pages[-1].memory_id if pages else "")
    ):
        assert len(page) <= 17, "limit is the most that comes"
        pages += page
    assert pages == whole, f"{category}: pages of 17 are the whole, cut: {len(pages)} of {len(whole)}"


def _checks_pages(store: MemoryStore) -> None:
    memories = [
        made_memory(f"number{number}", time=float(number * 7 % 60), category=CATEGORIES[number % 4])
        for number in range(250)
    ]
    store.add(memories[:100])
    store.add([*memories[100:], made_memory("bob's", Scope(user="bob"))])
    for category in (None, *CATEGORIES):
        _checks_listing(store, category, [each for each in memories if category in {None, each.category}])
    assert store.listed(SEEN, limit=0) == [], "a page of none is empty"
    whole = store.listed(SEEN, limit=1000)
    store.forget([whole[9].memory_id])
    assert store.listed(SEEN, limit=5, after=whole[9].memory_id) == whole[10:15], "pages go on behind what is forgotten"
    for after in ("nobody", memory_id_of(Scope(user="bob"), "bob's")):
        try:
            store.listed(SEEN, after=after)
        except NotFoundError:
            continue
        raise AssertionError(f"{after!a} is not in the view: a NotFoundError was due")


def _checks_at_once(store: MemoryStore) -> None:
    for number in range(140):
        memory = made_memory(f"number{number} tea", time=float(number))
        store.add([memory])
        assert _hits(store, f"number{number}")[:1] == [memory.memory_id], f"memory {number} is found right behind add"
    assert len(_hits(store, "tea")) == 140, "nothing that was found is lost"


def _checks_threads(store: MemoryStore) -> None:
    failures: list[BaseException] = []

    def adds(name: int) -> None:
        try:
            for number in range(20):
                memory = made_memory(f"thread{name} number{number}")
                store.add([memory, made_memory(f"same{number}")])
                assert memory.memory_id in _hits(store, f"thread{name}")
                if number % 5 == 0:
                    assert store.forget([memory.memory_id]) == 1
        except (AssertionError, StoreError) as error:
            failures.append(error)

    threads = [threading.Thread(target=adds, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, f"threads share a store: {failures[:1]}"
    assert len(_texts(store)) == 4 * 16 + 20, "nothing is lost, nothing there twice"


def _checks_reopened(store: MemoryStore, reopened: Callable[[MemoryStore], MemoryStore]) -> None:
    old, gone = made_memory("Ann drinks tea.", time=1.0), made_memory("Ann has a walrus.", time=2.0)
    odd = [made_memory(text, memory_id=f"{number}") for number, text in enumerate((*ODD_TEXTS, HUGE))]
    new = made_memory("Ann drinks coffee.", time=3.0, supersedes=old.memory_id)
    store.add([old, gone, *odd])
    store = reopened(store)
    assert store.get([each.memory_id for each in odd]) == odd, "opened again, all is as it was"
    assert _hits(store, "tea")[:1] == [old.memory_id], "and found"
    store.add([new])
    store.forget([gone.memory_id], "asked for")
    store = reopened(store)
    assert _hits(store, "coffee")[:1] == [new.memory_id], "opened again, what is new is found"
    assert old.memory_id not in _hits(store, "tea"), "what was superseded is not"
    assert _hits(store, "tea", past=True)[:1] == [old.memory_id], "but as history"
    assert gone.memory_id not in _hits(store, "walrus", past=True), "what was forgotten is gone"
    assert store.forgotten([gone.memory_id]) == {gone.memory_id: "asked for"}, "and known as forgotten"
    with closed_after(reopened(store)) as again:
        assert [text for text in _texts(again) if text.startswith("Ann")] == [new.text], "the listing says the same"


# What takes longest comes last: a store that breaks another promise is told so before.
CHECKS = (
    _checks_add, _checks_refusals, _checks_findable, _checks_scores, _checks_supersession, _checks_forget,
    *EXCHANGE_CHECKS, *PLACE_CHECKS, _checks_pages, _checks_texts, _checks_hostile, _checks_scopes, _checks_at_once,
    _checks_threads,
)  # fmt: skip
