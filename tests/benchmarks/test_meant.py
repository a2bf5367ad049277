"""Vectors of MiniLM as finders, where its package is installed."""

from __future__ import annotations

import pytest

from benchmarks.conversations import Question
from benchmarks.meant import finders
from benchmarks.minilm import PACKAGE, is_installed
from squidbot.core.memories import Passage

TEXTS = ("The ferry was late again.", "Two cats and a dog sleep in our kitchen.", "I sold the piano.")


def test_there_are_none_where_the_package_is_not() -> None:
    """The benchmark runs without it."""
    assert bool(finders()) == is_installed()


@pytest.mark.minilm
@pytest.mark.skipif(not is_installed(), reason=f"{PACKAGE} or onnxruntime is not installed")
def test_what_is_meant_is_found_without_its_words() -> None:
    """By vectors alone, and by both; words alone find nothing."""
    passages = [Passage(str(place), text, "Ada", None, "", place) for place, text in enumerate(TEXTS)]
    asked = Question("Which animals live at her home?", frozenset({"1"}), "open", 0.0)
    for name, make in finders().items():
        assert next(iter(make(passages).rank(asked))) == "1", name
