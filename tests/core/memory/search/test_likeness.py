"""What vectors add to a search, by cosines made up for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.exact import Index
from squidbot.core.memories import Passage
from squidbot.core.memory.search import (
    MIN_RELEVANCE,
    PreparedPassage,
    Similarity,
    features_of,
    likenesses,
    prominence,
)

from .talk import NOW, passages

EVEN = 0.3
QUESTION = "What colour has Ada's kettle?"
HALF_SAID = "Who painted the kettle?"
UNSAID = "Quels oiseaux?"  # nobody says these words
KEYS = [each.key for each in passages()]
HERONS = "2031-08-11/0"
COSINES = st.lists(st.floats(-1, 1), min_size=len(KEYS), max_size=len(KEYS))


@pytest.fixture(scope="module")
def index() -> Index:
    """Index the conversation."""
    return Index(passages())


def nearest(key: str, cosine: float, others: float = 0.1) -> dict[str, float]:
    """Return cosines of which one stands out."""
    return dict.fromkeys(KEYS, others) | {key: cosine}


def candidates(*texts: str, group: str = "a") -> list[PreparedPassage]:
    """Return texts as passages in a row."""
    found = [Passage(str(place), text, group=group, position=place) for place, text in enumerate(texts)]
    return [PreparedPassage(each, features_of(each)) for each in found]


# -- searches ---------------------------------------------------------------------------------------------------------


def test_passage_is_found_by_its_meaning_when_it_has_none_of_the_words(index: Index) -> None:
    """Words find nothing at all."""
    assert index.search(UNSAID, now=NOW) == []
    best = index.search(UNSAID, now=NOW, meaning=Similarity(nearest(HERONS, 0.7), EVEN))[0]
    assert best.key == HERONS
    assert best.score >= MIN_RELEVANCE


def test_words_are_not_forgotten_over_vectors(index: Index) -> None:
    """What says it stays first where vectors see little difference."""
    flat = {key: 0.3 + 0.01 * (place % 3) for place, key in enumerate(KEYS)}
    assert index.search(QUESTION, 1, NOW, meaning=Similarity(flat, EVEN))[0].key == "2031-03-04/4"


def test_no_vectors_change_nothing(index: Index) -> None:
    """Neither their absence nor those of passages that are not there."""
    plain = index.search(QUESTION, now=NOW)
    for similar in ({}, {"of another store": 0.99}):
        assert index.search(QUESTION, now=NOW, meaning=Similarity(similar, EVEN)) == plain


def test_nothing_is_relevant_when_the_nearest_is_far(index: Index) -> None:
    """An honest nothing, where words alone would find a little."""
    assert index.search(HALF_SAID, 1, NOW)[0].score >= MIN_RELEVANCE
    assert index.search(HALF_SAID, 1, NOW, meaning=Similarity(nearest(HERONS, 0.15), EVEN))[0].score < MIN_RELEVANCE


def test_what_words_tell_is_told_when_all_that_is_there_is_far(index: Index) -> None:
    """Of prose even what answers has a low cosine; that of the others is lower still."""
    prose = nearest("2031-03-04/4", 0.23, 0.03)
    assert index.search(QUESTION, 1, NOW, meaning=Similarity(prose, EVEN))[0].score >= MIN_RELEVANCE
    near = nearest("2031-03-04/4", 0.63, 0.43)  # who asks about somebody who speaks is near to all he says
    assert index.search(QUESTION, 1, NOW, meaning=Similarity(near, EVEN))[0].score == pytest.approx(
        index.search(QUESTION, 1, NOW, meaning=Similarity(prose, EVEN))[0].score, abs=1e-5
    )


def test_the_nearest_of_many_says_less_than_that_of_few() -> None:
    """Among more, something is near by chance; one alone is compared with nothing."""
    said = [Passage(str(place), f"word{place} herons") for place in range(400)]
    scores = []
    for count in (1, 2, 10, 50, 400):
        similar = {each.key: 0.1 * (each.key != "0") + 0.4 * (each.key == "0") for each in said[:count]}
        hits = Index(said[:count]).search(UNSAID, 1, NOW, meaning=Similarity(similar, EVEN))
        scores.append(hits[0].score)
    assert scores[0] > scores[1] == pytest.approx(scores[2])
    assert scores[2] > scores[3] > scores[4]


def test_a_passage_stands_out_above_the_mean_of_the_others() -> None:
    """Those without a vector are left out; one alone stands above 0."""
    found = candidates("a", "b", "c", "d")
    assert prominence(found, {"0": 0.1, "1": 0.7, "2": 0.3}) == pytest.approx(0.5)
    assert prominence(found, {"1": 0.7}) == pytest.approx(0.7)
    assert prominence(found, {}) == 0


def test_best_score_is_that_of_words_when_the_embedder_is_not_measured(index: Index) -> None:
    """Its cosines order passages, and say nothing of how likely the first one is."""
    (plain,), (meant,) = (
        index.search(QUESTION, 1, NOW, meaning=each) for each in (None, Similarity(nearest(HERONS, 0.2)))
    )
    assert meant.score == pytest.approx(plain.score, abs=1e-5)


@given(COSINES, st.floats(0.05, 1), st.floats(-1, 1))
def test_order_follows_no_scale_of_cosines(cosines: list[float], factor: float, shift: float) -> None:
    """Embedders whose cosines all lie close together tell the same: compared by what follows from them."""
    found = candidates(*("said " * (1 + place) for place in range(len(KEYS))))
    one, other = (
        likenesses(found, {each.passage.key: value for each, value in zip(found, values, strict=True)})
        for values in (cosines, [factor * each + shift for each in cosines])
    )
    if max(cosines) - min(cosines) > 0.01:
        assert one == pytest.approx(other, abs=1e-3)


@given(COSINES, st.sampled_from([None, EVEN]))
def test_every_score_is_a_chance_whatever_the_cosines(cosines: list[float], even: float | None) -> None:
    """0 to 1, each passage once, best first."""
    hits = Index(passages()).search(QUESTION, 99, NOW, meaning=Similarity(dict(zip(KEYS, cosines, strict=True)), even))
    assert all(0 <= hit.score <= 1 for hit in hits)
    assert len({hit.key for hit in hits}) == len(hits) == len(KEYS)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


# -- single passages --------------------------------------------------------------------------------------------------


def test_passage_without_a_vector_is_taken_for_the_mean() -> None:
    """It was just stored: that nothing is known of it speaks neither for it nor against it."""
    found = likenesses(candidates("one", "two", "three"), {"0": 0.8, "2": 0.2})
    assert found == pytest.approx([1, 0, -1])


def test_nothing_is_said_where_nothing_is_known() -> None:
    """No vectors, and vectors that are all as near."""
    assert likenesses([], {}) == []
    assert likenesses(candidates("one", "two"), {}) == [0, 0]
    assert likenesses(candidates("one", "two"), {"0": 0.4, "1": 0.4}) == [0, 0]
