"""What a MemoryStore promises of memories that take the places of others, of their sources, and of how far was read."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from squidbot.core.errors import NotFoundError, StoreError
from squidbot.core.memories import MOST_SOURCES, Mark, Source
from squidbot.testing.facts import ANN, NOW, SEEN, made_memory
from squidbot.testing.values import ODD_IDS, closed_after, refuses

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.core.ports import MemoryStore

__all__ = ["PLACE_CHECKS", "checks_places_reopened"]


def _held(store: MemoryStore, *, past: bool = False) -> list[str]:
    return [memory.memory_id for memory in store.listed(SEEN, limit=100, past=past)]


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
        got = {memory.memory_id for memory in store.said_in(name)}
        assert got == due, f"what was said in a session is known, whosever, history too: {name!a:.60}, got {got}"
    assert store.said_in("nowhere") == [], "in an unknown one nothing was"
    store.forget(["both"])
    assert [memory.memory_id for memory in store.said_in(ODD_IDS[1])] == ["f1"], "what is forgotten was said nowhere"


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
    assert store.unsay("s", [], "why") == store.unsay("nowhere", [1], "why") == [], "nothing takes nothing"
    gone = store.unsay("s", [1], "why")
    assert sorted(gone) == ["bob", "coffee", "tea"], f"what nothing else says goes, whosever, history too: got {gone}"
    assert store.forgotten(gone) == dict.fromkeys(gone, "why"), "and why is kept"
    assert store.get([*gone, "mate", "noted", "hand"]) == [replace(mate, sources=said[1:]), noted, hand], "others stay"
    assert not {"tea", "coffee"}.intersection(_found(store, "tea coffee", past=True)), "what went is not found"
    assert "mate" in _found(store, "mate"), "what stays is"
    assert store.unsay("s", [1, 7, 8], "why") == [], "another session says it"
    assert store.said_in("s") == [], "nothing is said in the first one any more"
    assert store.unsay("t", [0], "why") == ["mate"], "the last source takes it along"


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

    threads = [threading.Thread(target=reads, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    mark = store.mark("s", "rules")
    assert mark is not None, "somebody has read"
    assert sorted(done) == list(range(mark.next_seq)), f"of all who read the same one stores it: got {sorted(done)}"


def checks_places_reopened(store: MemoryStore, reopened: Callable[[MemoryStore], MemoryStore]) -> None:
    """Check that marks and places are as they were once a store is opened again."""
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
