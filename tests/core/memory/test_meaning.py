"""A store that is searched by what memories mean, too: whatever becomes of its vectors, no hit is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.sqlite3.memory import InMemoryMemoryStore
from squidbot.adapters.stdlib import ExactIndex
from squidbot.core.errors import ConfigError, ContextOverflowError, LLMError, StoreError
from squidbot.core.memories import Scope, View
from squidbot.core.memory.semantic import BATCH_MEMORIES, SEARCH_MEMORIES, SemanticStore
from squidbot.core.memory.view import Memories, MemoryQuery, NewMemory
from squidbot.core.tokens.counters import Meter, builtin_counter
from squidbot.core.vectors import VectorStore, unit
from squidbot.testing import HashedWords, check_memory_store, made_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.core.memories import Memory

NOW = 2e9
ANN = View(Scope(user="ann", bot="squid"))
DIMENSIONS = 16
# What a model would know: these words mean the same.
MEANS = {"puppy": 0, "dog": 0, "beagle": 0, "boat": 1, "ship": 1, "sail": 1, "tea": 2}


class Subjects:
    """An embedder that knows a few words, and says how often it was asked."""

    def __init__(self, name: str = "subjects", even: float | None = None, dimensions: int = DIMENSIONS) -> None:
        self.name, self.even, self.dimensions = name, even, dimensions
        self.asked: list[list[str]] = []
        self.fails: Callable[[str], Exception | None] = lambda _: None

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return vectors."""
        self.asked.append([*texts])
        for error in map(self.fails, texts):
            if error:
                raise error
        return [self._vector(text.lower()) for text in texts]

    def _vector(self, text: str) -> tuple[float, ...]:
        values = [0.01] * self.dimensions
        for word, place in MEANS.items():
            values[place] += word in text
        return unit(values)


class Kept:
    """What is told, and a store with its embedder."""

    def __init__(self, store: VectorStore | None = None, embedder: Subjects | None = None) -> None:
        self.inner = store or InMemoryMemoryStore()
        self.embedder = embedder or Subjects()
        self.told: list[str] = []
        self.store = SemanticStore(self.inner, lambda: self.embedder, ExactIndex, self.told.append)

    def found(self, query: str) -> list[str]:
        """Return the texts of what is found."""
        return [each.text for each in self.store.get([hit.key for hit in self.store.search(query, ANN, now=NOW)])]


def made(count: int, word: str = "tea") -> list[Memory]:
    """Return so many."""
    return [made_memory(f"Ann drinks {word} number{number}.", time=float(number)) for number in range(count)]


DOG = made_memory("Ann owns a beagle.")


def test_store_by_meaning_passes_the_check_of_memory_stores() -> None:
    """It promises what the one promises that it stands before."""
    check_memory_store(lambda: SemanticStore(InMemoryMemoryStore(), lambda: HashedWords(256), ExactIndex))
    assert isinstance(InMemoryMemoryStore(), VectorStore)


def test_memory_is_found_by_its_meaning_right_after_it_was_stored() -> None:
    """It has none of the query's words; its vector is made before the search, as few wait."""
    kept = Kept()
    kept.store.add([DOG, *made(3)])
    assert kept.embedder.asked == []
    assert kept.found("puppy")[0] == DOG.text
    assert kept.inner.waiting("subjects") == 0
    assert kept.found("puppy")[0] == DOG.text
    assert [len(texts) for texts in kept.embedder.asked] == [4, 1]  # the same query is embedded once


def test_search_makes_no_vectors_when_many_wait() -> None:
    """They are for `embed`; words are searched at once."""
    kept = Kept()
    kept.store.add([*made(SEARCH_MEMORIES), DOG])
    assert kept.found("beagle") == [DOG.text]
    assert kept.inner.waiting("subjects") == SEARCH_MEMORIES + 1


def test_speaker_is_a_part_of_what_is_meant() -> None:
    """As who says it is asked for, too."""
    kept = Kept()
    kept.store.add([replace(made_memory("Hello."), speaker="Ann"), made_memory("Bye.")])
    kept.found("hello")
    assert kept.embedder.asked[0] == ["Ann: Hello.", "Bye."]


# -- making what waits ------------------------------------------------------------------------------------------------


def test_embed_makes_all_that_wait_in_batches_and_tells_how_many() -> None:
    """For a progress bar."""
    kept, told = Kept(), list[tuple[int, int]]()
    kept.store.add([DOG, *made(2 * BATCH_MEMORIES)])
    assert kept.store.embed(lambda done, total: told.append((done, total)))
    total = 2 * BATCH_MEMORIES + 1
    assert told == [(BATCH_MEMORIES, total), (2 * BATCH_MEMORIES, total), (total, total)]
    assert kept.inner.waiting("subjects") == 0
    assert kept.found("puppy")[0] == DOG.text


def test_embed_does_not_look_through_all_when_only_the_newest_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind each fact that is added to a million, that would take seconds; nothing is looked for when none waits."""
    memories = made(BATCH_MEMORIES + 3)
    kept = Kept()
    kept.store.add(memories[:-2])
    assert kept.store.embed()

    def refused(*_: object) -> list[Memory]:
        raise AssertionError("all are looked through")

    monkeypatch.setattr(kept.inner, "without_vectors", refused)
    assert kept.store.embed()
    kept.store.add(memories[-2:])
    told: list[tuple[int, int]] = []
    assert kept.store.embed(lambda *done: told.append(done))
    assert told == [(2, 2)]
    assert kept.inner.waiting(kept.embedder.name) == 0


def test_embed_goes_on_where_it_was_stopped() -> None:
    """What was made before stays."""
    kept = Kept()
    kept.store.add(made(2 * BATCH_MEMORIES))
    assert not kept.store.embed(stopping=lambda: bool(kept.embedder.asked))
    assert kept.inner.waiting("subjects") == BATCH_MEMORIES
    assert kept.store.embed()
    assert [len(texts) for texts in kept.embedder.asked] == [BATCH_MEMORIES] * 2


def test_text_that_is_too_long_is_left_to_its_words() -> None:
    """The others of its batch get their vectors, and it is told once."""
    kept = Kept()
    kept.embedder.fails = lambda text: ContextOverflowError("too long") if "number1" in text else None
    kept.store.add([DOG, *made(3)])
    assert kept.store.embed()
    assert kept.store.embed()
    assert kept.inner.waiting("subjects") == 1
    assert [line for line in kept.told if "has no vector" in line] == kept.told
    assert len(kept.told) == 1
    assert kept.found("number1")[0] == "Ann drinks tea number1."


def test_failure_of_the_embedder_leaves_what_was_made() -> None:
    """A server that goes down between two batches; embedding is tried again by who asks."""
    kept = Kept()
    kept.store.add([*made(BATCH_MEMORIES), DOG])
    kept.embedder.fails = lambda text: LLMError("unreachable", "down") if "beagle" in text else None
    with pytest.raises(LLMError):
        kept.store.embed()
    assert kept.inner.waiting("subjects") == 1
    assert kept.found("beagle")[0] == DOG.text


# -- another embedder -------------------------------------------------------------------------------------------------


def test_vectors_of_another_model_are_not_used_and_dropped_when_the_new_are_complete() -> None:
    """Spaces are never mixed."""
    old = Kept()
    old.store.add([*made(2 * BATCH_MEMORIES), DOG])
    old.store.embed()
    new = Kept(old.inner, Subjects("newer"))
    assert new.found("puppy") == []
    assert not new.store.embed(stopping=lambda: len(new.embedder.asked) > 1)
    assert set(new.inner.models()) == {"subjects", "newer"}
    assert DOG.text not in new.found("puppy")  # its new vector waits, and its old one says nothing
    assert new.store.embed()
    assert new.inner.models() == {"newer": DIMENSIONS}
    assert new.found("puppy")[0] == DOG.text
    assert "dropped those of 'subjects'" in new.told[-1]


def test_vectors_of_other_dimensions_under_the_same_name_are_dropped() -> None:
    """A model that was exchanged for another one of the same name: none can be compared."""
    old = Kept()
    old.store.add([DOG])
    old.store.embed()
    new = Kept(old.inner, Subjects(dimensions=8))
    assert new.found("puppy")[0] == DOG.text
    assert new.inner.models() == {"subjects": 8}


def test_two_embedders_on_one_store_are_told_of_when_one_drops_the_others_vectors() -> None:
    """They would make all of them anew for ever."""
    one = Kept()
    one.store.add([DOG])
    one.store.embed()
    other = Kept(one.inner, Subjects("other"))
    other.store.embed()
    one.store.add(made(1))
    with pytest.raises(ConfigError, match=r"another process stores vectors of 'other'"):
        one.store.embed()
    assert one.inner.models() == {"other": DIMENSIONS}
    assert one.store.reembed()


def test_reembed_makes_every_vector_anew() -> None:
    """For who does not trust those that are there."""
    kept = Kept()
    kept.store.add([DOG])
    kept.store.embed()
    assert kept.store.reembed()
    assert kept.embedder.asked == [[DOG.text], [DOG.text]]
    assert kept.found("puppy")[0] == DOG.text


# -- forgotten, superseded, refused -----------------------------------------------------------------------------------


def test_forgotten_and_superseded_memories_are_near_to_nothing() -> None:
    """From the moment that the call returned."""
    kept = Kept()
    later = made_memory("Ann has a ship.", supersedes=DOG.memory_id)
    kept.store.add([DOG, *made(2)])
    assert DOG.text in kept.found("puppy")
    kept.store.add([later])
    assert DOG.text not in kept.found("puppy")
    past = kept.store.search("puppy", ANN, now=NOW, past=True)
    assert past[0].key == DOG.memory_id
    kept.store.forget([DOG.memory_id])
    assert DOG.memory_id not in {hit.key for hit in kept.store.search("puppy", ANN, now=NOW, past=True)}


def test_words_alone_are_searched_when_there_is_no_embedder() -> None:
    """It is told once, in one line, and gone as soon as there is one."""
    kept = Kept()
    kept.store.add([DOG])
    kept.embedder.fails = lambda _: LLMError("unreachable", "no server")
    assert kept.found("beagle") == [DOG.text]
    assert kept.found("beagle") == [DOG.text]
    assert kept.told == ["searching words only: unreachable: no server"]
    assert kept.store.fault == "unreachable: no server"
    kept.embedder.fails = lambda _: None
    assert kept.found("puppy") == [DOG.text]
    assert kept.store.fault == ""


@pytest.mark.parametrize("wrong", [(float("nan"),) * 16, (0.0,) * 16, (1.0,), (float("inf"),) * 16])
def test_wrong_vector_is_kept_nowhere(wrong: tuple[float, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by the loop, nor by the store itself: nothing of the call is."""
    kept, tea = Kept(), made_memory("tea")
    kept.store.add([DOG, tea])
    with pytest.raises(StoreError):
        kept.inner.put_vectors("m", 16, {tea.memory_id: (1.0,) * 16, DOG.memory_id: wrong})
    assert kept.inner.models() == {}
    monkeypatch.setattr(kept.embedder, "_vector", lambda _: wrong)
    kept.store.embed()
    assert kept.inner.models() == {}
    assert kept.found("beagle") == [DOG.text]


def test_query_with_nothing_to_look_for_is_refused_without_an_embedder() -> None:
    """As a store without vectors does it."""
    kept = Kept()
    with pytest.raises(ValueError, match="nothing to look for"):
        kept.found("?!")
    assert kept.embedder.asked == []


def test_best_score_follows_the_embedder_that_was_measured() -> None:
    """Its cosines say how likely the nearest is an answer."""
    scores = []
    for even in (0.2, 0.99999):
        kept = Kept(embedder=Subjects(even=even))
        kept.store.add([DOG, *made(3)])
        scores.append(kept.store.search("puppy", ANN, now=NOW)[0].score)
    assert scores[0] > 0.9 > scores[1]


def test_closing_closes_embedder_index_and_store() -> None:
    """Twice does nothing."""
    closed = []
    kept = Kept()
    kept.inner.close = lambda: closed.append("store")  # type: ignore[attr-defined]
    kept.embedder.close = lambda: closed.append("embedder")  # type: ignore[attr-defined]
    kept.store.add([DOG])
    kept.found("puppy")
    kept.store.close()
    assert closed == ["embedder", "store"]


def test_no_embedder_is_asked_on_a_requests_way_or_when_a_fact_is_added() -> None:
    """Facts behind the first words, and whether a fact is known already, are found by words."""
    kept = Kept()
    memories = Memories(kept.store, ANN, Meter(builtin_counter("classes")))
    memories.add(NewMemory("Ann owns a beagle."), NOW)
    assert "known already" in memories.add(NewMemory("Ann owns a beagle!"), NOW).text
    assert [each.text for each in memories.relevant("Which beagle does Ann own?", 3, NOW)] == ["Ann owns a beagle."]
    assert kept.embedder.asked == []
    assert "beagle" in memories.search(MemoryQuery("beagle"), NOW).text
    assert kept.embedder.asked
