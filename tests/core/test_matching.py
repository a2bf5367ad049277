"""How well a short text answers a query by its words alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.finding.matching import telling, weighed
from squidbot.core.finding.words import read_query, terms


def scores(query: str, *texts: str) -> list[float]:
    """Return the scores of texts that are all there is."""
    words, found = telling(query), [terms(text) for text in texts]
    having = [sum(any({*each} <= has for each in word) for has in found) for word in words]
    return weighed(words, having, found, len(texts))


def test_query_loses_its_stop_words_when_it_has_others() -> None:
    """What is left of a question is what it asks about; a query of nothing else keeps them."""
    assert telling("What does Ann drink with her tea?") == read_query("ann drink tea").words
    assert telling("What is it?") == read_query("what is it").words
    with pytest.raises(ValueError, match="nothing to look for"):
        telling("?!")


def test_score_is_higher_when_a_text_has_more_of_the_query_or_rarer_words() -> None:
    """1 for hardly a word and all of the query; nothing of it is 0; long texts have words by chance."""
    both, rare, common, none = scores("walrus tea", "walrus tea", "walrus", "tea", "milk")
    assert both > rare == common > none == 0
    rare, common, *_ = scores("walrus tea", "walrus milk", "tea milk", "tea", "tea")
    assert rare > common > 0
    short, long = scores("tea", "tea", "tea " + " ".join(f"word{number}" for number in range(300)))
    assert short > 0.9
    assert 0.5 < long < short


@given(st.text(), st.lists(st.text()))
def test_scores_are_fractions_when_texts_are_anything(query: str, texts: list[str]) -> None:
    """0 to 1, one for each text, in their order."""
    try:
        found = scores(query, *texts)
    except ValueError:
        return
    assert len(found) == len(texts)
    assert all(0 <= score <= 1 for score in found)
    assert found == [scores(query, *texts)[number] for number in range(len(texts))]
