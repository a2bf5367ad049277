"""The check of a MemoryStore."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from squidbot.core.errors import NotFoundError, StoreError
from squidbot.core.memories import CATEGORIES, MOST_SOURCES, Mark, Memory, Scope, Source, View, memory_id_of
from squidbot.testing.transcripts import HOSTILE
from squidbot.testing.values import ODD_IDS, ODD_TEXTS, at_once, closed_after, refuses

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.core.memories import FactCategory, Isolation
    from squidbot.core.ports import MemoryStore


# The promises about exchanges and pieces of files; a part of `check_memory_store`.

ANN = Scope(user="ann", bot="squid")
OUTDATED = "its file changed"


def _made(text: str, place: int = -1) -> Memory:
    """Return a memory; from `place` 0 on it is a piece of a file."""
    source = (Source(path="notes/a.md", first_seq=place, last_seq=place, digest="d"),) if place >= 0 else ()
    return Memory(memory_id_of(ANN, text), text, "background", ANN, float(place), sources=source)


def _exchange_hits(store: MemoryStore, query: str) -> list[str]:
    return [hit.key for hit in store.search(query, View(ANN), limit=1000, now=2e9)]


def _checks_exchange(store: MemoryStore) -> None:
    walrus = _made("walrus")
    old = [_made(f"tea own{number}", number) for number in range(6)]
    store.add([*old, walrus])
    gone = [each.memory_id for each in old]
    moved = replace(_made("tea own4", 1), time=2e9, importance=0.75)
    other = replace(old[5], text="tea other5")
    new = [old[0], moved, other, _made("tea own7", 3)]
    refuses("an exchange with a misfit", store.exchange, gone, [replace(new[3], importance=2.0)])
    refuses("an exchange with another under a stored id", store.exchange, gone, [new[3], replace(walrus, time=3.0)])
    refuses("superseding what goes", store.exchange, gone[:1], [replace(new[3], supersedes=gone[0])])
    try:
        store.exchange([*gone, "nobody"], new)
    except NotFoundError:
        assert store.get([*gone, new[3].memory_id]) == old, "what is refused changes nothing"
    else:
        raise AssertionError("one of those to forget is not there: a NotFoundError was due")
    store.exchange([*gone, gone[2]], new, OUTDATED)
    assert store.get([gone[0], gone[4], gone[5], new[3].memory_id]) == new, "the new ones are as they came"
    found = {*_exchange_hits(store, "tea")} - {walrus.memory_id}
    assert found == {each.memory_id for each in new}, "they are found, and none that is gone"
    assert _exchange_hits(store, "walrus")[:1] == [walrus.memory_id], "what is not named stays"
    scores = [dict(store.search(query, View(ANN), now=2e9)).get(other.memory_id, 0.0) for query in ("own5", "other5")]
    assert scores[0] < scores[1], "nor is one found by words that it had"
    assert store.forgotten(gone) == dict.fromkeys(gone[1:4], OUTDATED), "what is gone is known as such"
    store.exchange([], [old[1]])
    assert _exchange_hits(store, "own1")[:1] == [gone[1]], "without any to forget it adds"
    store.exchange([gone[1]], [])
    assert gone[1] not in _exchange_hits(store, "own1"), "without any to add it forgets"


def _checks_rows(store: MemoryStore) -> None:
    """Check that a piece of a file is found by its neighbours, wherever these are in the store."""
    said = ["Which colour has the boat?", "It is teal.", "The cat sleeps.", "No, she is awake."]
    row = [_made(text, place) for place, text in enumerate(said)]
    others = [_made(f"number{number} boat colour") for number in range(3)]
    store.add([row[1], *others, row[3], row[0]])
    assert row[1].memory_id in _exchange_hits(store, "Which colour has the boat?"), (
        "what stands beside an answer's question"
    )
    store.exchange([row[1].memory_id, row[3].memory_id], [row[2], replace(row[3], sources=row[1].sources)])
    found = _exchange_hits(store, "Which colour has the boat?")
    assert row[3].memory_id in found, "what has moved there"
    assert row[1].memory_id not in found, "and not what stood there before"


EXCHANGE_CHECKS = (_checks_exchange, _checks_rows)


# Memories for tests, and their scopes.

NOW = 2e9
SEEN = View(ANN)


def made_memory(  # noqa: PLR0913  # a memory has many fields, and a test names those it needs
    text: str,
    scope: Scope = ANN,
    *,
    time: float = 1e9,
    category: FactCategory = "background",
    supersedes: str = "",
    memory_id: str = "",
    sources: tuple[Source, ...] = (),
) -> Memory:
    """Return a memory for tests; its default id follows from scope, text and sources.

    `time`: in seconds since 1970.
    """
    memory_id = memory_id or memory_id_of(scope, text, sources)
    return Memory(memory_id, text, category, scope, time, sources=sources, supersedes=supersedes)


# What a MemoryStore promises of memories that take the places of others, of their sources, and of how
# far was read.


def _held(store: MemoryStore) -> list[str]:
    return [memory.memory_id for memory in store.listed(SEEN, limit=100)]


def _found(store: MemoryStore, query: str, *, past: bool = False) -> list[str]:
    return sorted(hit.key for hit in store.search(query, SEEN, limit=100, now=NOW, past=past))


def _checks_supersede(store: MemoryStore) -> None:
    memories = [made_memory(f"tea number{number}", time=float(number), memory_id=f"m{number}") for number in range(6)]
    bobs = made_memory("tea of bob", ANN._replace(user="bob"), memory_id="bob")
    store.add([*memories, bobs])
    store.supersede({"m0": "m3", "m1": "m3", "m2": "m4"})
    assert _held(store) == ["m5", "m4", "m3"], f"what others took the places of is history: got {_held(store)}"
    assert _found(store, "tea") == ["m3", "m4", "m5"], "nor is it found"
    assert "m1" in _found(store, "number1", past=True), "but as history it is"
    got = [memory.superseded_by for memory in store.get(["m0", "m1", "m2", "m3"])]
    assert got == ["m3", "m3", "m4", ""], f"each says what took its place: got {got}"
    store.supersede({"m0": "m3"})
    for promise, places in (
        ("an unknown memory", {"m5": "m4", "nobody": "m3"}),
        ("an unknown one in its place", {"m5": "nobody"}),
        ("another user's in its place", {"m5": "bob"}),
        ("itself in its place", {"m5": "m5"}),
        ("history in its place", {"m5": "m0"}),
        ("another one in a place that is taken", {"m0": "m4"}),
        ("each other's places", {"m5": "m4", "m4": "m5"}),
        ("a chain within one call", {"m5": "m4", "m4": "m3"}),
    ):
        refuses(f"superseding with {promise}", store.supersede, places)
    assert _held(store) == ["m5", "m4", "m3"], "what is refused changes nothing"
    store.supersede({"m0": "", "m2": "", "m5": ""})
    assert _held(store) == ["m5", "m4", "m3", "m2", "m0"], f"what is taken back holds again: got {_held(store)}"
    assert "m0" in _found(store, "number0"), "and is found"
    assert store.get(["m0"]) == [memories[0]], "as it was"
    store.supersede({})
    last = made_memory("tea at last", time=9.0, memory_id="m9", supersedes="m5")
    refuses("adding with an unknown memory's place", store.add, [last], None, None, None, {"nobody": "m9"})
    assert store.get(["m9"]) == [], "what is refused stores nothing"
    store.add([last], None, None, None, {"m4": "m9", "m0": "m9"})
    assert _held(store) == ["m9", "m3", "m2"], f"one that comes may take several places: got {_held(store)}"
    assert _found(store, "tea") == ["m2", "m3", "m9"], "nor are these found"


def _checks_sources(store: MemoryStore) -> None:
    said = [
        made_memory(f"fact{number}", memory_id=f"f{number}", sources=(Source(name, number, number),))
        for number, name in enumerate(ODD_IDS)
    ]
    both = made_memory("both", memory_id="both", sources=(Source(ODD_IDS[0], 90, 90), Source(ODD_IDS[1], 91, 91)))
    bobs = made_memory("bob's", ANN._replace(user="bob"), memory_id="bob", sources=(Source(ODD_IDS[0], 92, 92),))
    files = [made_memory(name, memory_id=name, sources=(Source(ODD_IDS[0], path=name),)) for name in ("a.md", "b.md")]
    store.add([*said, both, bobs, *files])
    store.supersede({"f0": "both"})
    for number, name in enumerate(ODD_IDS):
        due = {f"f{number}"} | ({"both", "bob"} if number == 0 else {"both"} if number == 1 else set())
        got = {memory.memory_id for memory in store.from_session(name)}
        assert got == due, f"what was said in a session is known, whosever, history too: {name!a:.60}, got {got}"
    assert store.from_session("nowhere") == [], "in an unknown one nothing was"
    store.forget(["both"])
    assert [memory.memory_id for memory in store.from_session(ODD_IDS[1])] == ["f1"], (
        "what is forgotten was said nowhere"
    )


def _checks_said_again(store: MemoryStore) -> None:
    tea, coffee = (made_memory(name, memory_id=name, sources=(Source("s", 0, 2),)) for name in ("tea", "coffee"))
    bare, mark = made_memory("bare", memory_id="bare"), Mark("s", "rules", 9)
    store.add([tea, coffee, bare])
    more = [Source("s", 7, 7), Source("t", 0, 0), Source("s", 7, 7), Source("s", 0, 2)]
    store.add([made_memory("new", memory_id="new")], mark, None, {"tea": more, "new": [Source("t", 0, 0)]})
    due = (Source("s", 0, 2), Source("s", 7, 7), Source("t", 0, 0))
    assert store.get(["tea"]) == [replace(tea, sources=due)], f"sources come behind its own, once: {store.get(['tea'])}"
    assert [each.sources for each in store.get(["new"])] == [(Source("t", 0, 0),)], "a new one gets some, too"
    for promise, wrong in (("unknown", {"tea": [Source("x", 1, 1)], "nobody": more}), ("unknown alone", {"no": more})):
        try:
            store.add([made_memory("late", memory_id="late")], mark._replace(next_seq=10), mark, wrong)
        except NotFoundError:
            pass
        else:
            raise AssertionError(f"sources of a memory that is {promise}: a NotFoundError was due")
    assert store.mark("s", "rules") == mark, "what is refused leaves the mark"
    assert store.get(["late"]) == [], "stores nothing"
    assert store.get(["tea"]) == [replace(tea, sources=due)], "and gives nothing a source"
    store.add([], None, None, {"bare": [Source("u", number, number) for number in range(40)]})
    assert len(store.get(["bare"])[0].sources) == MOST_SOURCES, "no row grows for ever"
    store.add([tea])
    assert store.get(["tea"]) == [replace(tea, sources=due)], "adding an equal one takes no source away"


def _checks_unsay(store: MemoryStore) -> None:
    said = Source("s", 0, 2), Source("s", 7, 7), Source("t", 0, 0)
    tea, coffee = (made_memory(each, memory_id=each, sources=(said[0],)) for each in ("tea", "coffee"))
    mate = made_memory("mate", memory_id="mate", sources=said)
    bobs = made_memory("bob's", ANN._replace(user="bob"), memory_id="bob", sources=(said[0],))
    noted = made_memory("noted", memory_id="noted", sources=(Source("s", 1, 1, "a.md"),))
    hand = made_memory("hand", memory_id="hand")
    store.add([tea, replace(coffee, supersedes="tea"), mate, bobs, noted, hand])
    assert store.forget_messages("s", [], "why") == store.forget_messages("nowhere", [1], "why") == [], (
        "nothing takes nothing"
    )
    gone = store.forget_messages("s", [1], "why")
    assert sorted(gone) == ["bob", "coffee", "tea"], f"what nothing else says goes, whosever, history too: got {gone}"
    assert store.forgotten(gone) == dict.fromkeys(gone, "why"), "and why is kept"
    assert store.get([*gone, "mate", "noted", "hand"]) == [replace(mate, sources=said[1:]), noted, hand], "others stay"
    assert not {"tea", "coffee"}.intersection(_found(store, "tea coffee", past=True)), "what went is not found"
    assert "mate" in _found(store, "mate"), "what stays is"
    assert store.forget_messages("s", [1, 7, 8], "why") == [], "another session says it"
    assert store.from_session("s") == [], "nothing is said in the first one any more"
    assert store.forget_messages("t", [0], "why") == ["mate"], "the last source takes it along"


def _checks_marks(store: MemoryStore) -> None:
    old, tea = made_memory("Ann drinks tea.", memory_id="old"), made_memory("Ann drinks coffee.", memory_id="tea")
    first, second = Mark("s", "rules", 3, "1", "stamp"), Mark("s", "rules", 5, "1", "stamp")
    assert store.mark("s", "rules") is None, "nobody has begun"
    store.add([old], first)
    assert store.mark("s", "rules") == first, "a mark is there with what was read up to it"
    assert store.mark("s", "model") is store.mark("t", "rules") is None, "each reader and session has its own"
    refuses("a mark in the place of none, where one is", store.add, [tea], second)
    refuses("a mark in the place of another", store.add, [tea], second, first._replace(next_seq=4))
    refuses("a mark with a memory that is refused", store.add, [replace(old, text="x")], second, first)
    assert store.mark("s", "rules") == first, "what is refused leaves the mark"
    assert _held(store) == ["old"], "and stores nothing"
    store.add([], second, first)
    store.add([tea], Mark("s", "model", 1), None)
    assert (store.mark("s", "rules"), store.mark("s", "model")) == (second, Mark("s", "model", 1)), (
        "a mark may go alone"
    )
    for number, name in enumerate(ODD_IDS):
        store.add([], Mark(name, name, number, name, name))
    for number, name in enumerate(ODD_IDS):
        assert store.mark(name, name) == Mark(name, name, number, name, name), f"whatever its names: {name!a:.60}"
    store.forget(["tea"])
    assert store.mark("s", "rules") == second, "forgetting a memory leaves the marks"


def _checks_one_reads(store: MemoryStore) -> None:
    done: list[int] = []

    def reads(name: int) -> None:
        for seq in range(10):
            was = store.mark("s", "rules")
            fact = made_memory(f"by{name} at{seq}", memory_id=f"{seq}")
            if (was.next_seq if was else 0) != seq:
                continue
            try:
                store.add([fact], Mark("s", "rules", seq + 1), was)
            except StoreError:
                continue
            done.append(seq)

    at_once(4, reads, "threads read at once")
    mark = store.mark("s", "rules")
    assert mark is not None, "somebody has read"
    assert sorted(done) == list(range(mark.next_seq)), f"of all who read the same one stores it: got {sorted(done)}"


def checks_places_reopened(store: MemoryStore, reopened: Callable[[MemoryStore], MemoryStore]) -> None:
    """Check that marks and replacements survive when a store is opened again."""
    mark = Mark("s", "rules", 3, "1", "stamp")
    store.add([made_memory(name, memory_id=name) for name in ("one", "two", "three")], mark)
    store.supersede({"one": "three", "two": "three"})
    store = reopened(store)
    assert store.mark("s", "rules") == mark, "opened again, a mark is there"
    assert _held(store) == ["three"], "and what took the places of others has them"
    store.supersede({"two": ""})
    store.forget(["three"])
    with closed_after(reopened(store)) as again:
        assert again.mark("s", "rules") == mark, "and still after something was forgotten"
        assert _held(again) == ["two"], "what was taken back holds, and nothing else"


PLACE_CHECKS = (
    _checks_supersede, _checks_sources, _checks_said_again, _checks_unsay, _checks_marks, _checks_one_reads,
)  # fmt: skip


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

    Promised: a memory comes back equal in every field, with any text; storing it again does nothing, and another one
    under its id is refused with the whole call; replaced memories are history, forgotten ones are nowhere; pages of a
    listing have each memory once, newest first; a search finds a memory's words as soon as it is stored, scores are 0
    to 1 and fall, ties are newest first; tenants and users never see each other's memories, nor do scopes separated by
    an isolation policy or a collection; an exchange is done completely or not at all; a piece of a file is found by
    its neighbours; threads lose nothing; of two readers of the same messages, one stores its facts; a replacement can
    be undone.

    `reopened` closes a store and opens it again from the same files; None for a store without files.

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
        *(Scope(thread=thread, bot="b") for thread in ("th", "u", "b")),
        Scope("t", thread="th", collection="files"),
        Scope(user="u", bot="b", collection="files"),
        Scope(user="u", bot="b", collection="bot"),
        Scope(user="u", collection="files"),
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


def _checks_listing(store: MemoryStore, category: FactCategory | None, due: list[Memory]) -> None:
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
    _checks_newest(store, View(Scope(user="bob"), SEEN.isolation))
    whole = store.listed(SEEN, limit=1000)
    store.forget([whole[9].memory_id])
    assert store.listed(SEEN, limit=5, after=whole[9].memory_id) == whole[10:15], "pages go on behind what is forgotten"
    for after in ("nobody", memory_id_of(Scope(user="bob"), "bob's")):
        try:
            store.listed(SEEN, after=after)
        except NotFoundError:
            continue
        raise AssertionError(f"{after!a} is not in the view: a NotFoundError was due")


def _checks_newest(store: MemoryStore, other: View) -> None:
    """Check that one read of several views has the first page of each category of each."""
    history = made_memory("number 0, as it was", time=90.0, category=CATEGORIES[0])
    store.add(
        [history, made_memory("number 0, as it is", time=91.0, category=CATEGORIES[0], supersedes=history.memory_id)]
    )
    due = [{kind: store.listed(view, kind, limit=9) for kind in CATEGORIES} for view in (other, SEEN)]
    found = store.newest([other, SEEN], limit=9)
    assert found == due, "the newest of each category are those that `listed` has"
    assert [[*of_view] for of_view in found] == [[*CATEGORIES]] * 2, "each view has all categories, in their order"
    assert store.newest([]) == [], "no view, no memories"


def _checks_at_once(store: MemoryStore) -> None:
    for number in range(140):
        memory = made_memory(f"number{number} tea", time=float(number))
        store.add([memory])
        assert _hits(store, f"number{number}")[:1] == [memory.memory_id], f"memory {number} is found right behind add"
    assert len(_hits(store, "tea")) == 140, "nothing that was found is lost"


def _checks_threads(store: MemoryStore) -> None:
    def adds(name: int) -> None:
        for number in range(20):
            memory = made_memory(f"thread{name} number{number}")
            store.add([memory, made_memory(f"same{number}")])
            assert memory.memory_id in _hits(store, f"thread{name}")
            if number % 5 == 0:
                assert store.forget([memory.memory_id]) == 1

    at_once(4, adds, "threads share a store")
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


# The slowest check comes last, so that other broken promises show first.
CHECKS = (
    _checks_add, _checks_refusals, _checks_findable, _checks_scores, _checks_supersession, _checks_forget,
    *EXCHANGE_CHECKS, *PLACE_CHECKS, _checks_pages, _checks_texts, _checks_hostile, _checks_scopes, _checks_at_once,
    _checks_threads,
)  # fmt: skip
