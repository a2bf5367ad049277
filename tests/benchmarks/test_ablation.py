"""Search goes without a signal for the time, whatever the signals are called."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from benchmarks.ablation import SYNONYMS, names, without
from benchmarks.exact import Index
from squidbot.core.memories import Passage
from squidbot.core.memory import search


class Other(NamedTuple):
    """Weights of another search."""

    rain: float = 2.0
    shine: float = -1.0


def test_one_signal_is_put_to_nothing_and_comes_back() -> None:
    """The others stay as they are."""
    before, name = search.WEIGHTS, names()[0]
    with without(name):
        assert search.WEIGHTS._asdict() == {**before._asdict(), name: 0.0}
    assert search.WEIGHTS is before


def test_signal_comes_back_after_an_error() -> None:
    """What is measured next has all of them."""
    before = search.WEIGHTS
    with pytest.raises(KeyError), without(names()[0]):
        raise KeyError(before)
    assert search.WEIGHTS is before


def test_signals_are_those_that_search_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of other names, they are switched off as well."""
    monkeypatch.setattr(search, "WEIGHTS", Other())
    assert names() == ("rain", "shine", SYNONYMS)
    with without("shine"):
        assert tuple(search.WEIGHTS) == (2.0, 0.0)


def test_without_synonyms_only_the_words_themselves_are_found() -> None:
    """Everywhere that they are looked up."""
    index = Index([Passage("0", "We met at the baby's birth.", "Ada")])
    assert index.search("Who is pregnant?")
    with without(SYNONYMS):
        assert not index.search("Who is pregnant?")
    assert index.search("Who is pregnant?")
