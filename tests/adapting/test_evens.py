"""Embedders whose cosines were measured are known by what they make of a sentence, whoever runs them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.common.embeddings import DIMENSIONS, EVEN, FIRST, SENTENCE, known_even
from squidbot.config import load_settings
from squidbot.core.errors import LLMError
from squidbot.core.vectors import unit
from squidbot.memory import CheckedEmbedder
from squidbot.testing import HashedWords

if TYPE_CHECKING:
    from collections.abc import Sequence


class Running:
    """Something that runs a model; its vectors are a little off."""

    name = "any"

    def __init__(self, first: Sequence[float], noise: float = 0.0, dimensions: int = DIMENSIONS) -> None:
        chance = random.Random(3)  # noqa: S311  # repeatable
        near = [number + noise * chance.gauss(0, 50) for number in first]
        self.dimensions, self.asked = dimensions, list[str]()
        self.vector = unit([*near, *(chance.gauss(0, 50) for _ in range(dimensions - len(near)))])
        self.fails = False

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return its one vector for each."""
        self.asked += texts
        if self.fails:
            raise LLMError("unreachable", "nobody answers")
        return [self.vector for _ in texts]


@pytest.mark.parametrize("noise", [0.0, 0.03, 0.2])
def test_minilm_is_known_whoever_runs_it(noise: float) -> None:
    """With weights of 32, 8 or 4 bits."""
    assert known_even(Running(FIRST, noise)) == EVEN


def test_other_models_are_not_known() -> None:
    """Of as many dimensions, or of others, which are not even asked; nor one that gives nothing."""
    assert known_even(Running([*FIRST[1:], 5.0])) is None
    assert known_even(Running(FIRST, 0.6)) is None
    other = Running(FIRST, dimensions=768)
    assert (known_even(other), other.asked) == (None, [])
    assert known_even(HashedWords()) is None
    nothing = Running(FIRST)
    nothing.vector = (0.0,) * DIMENSIONS
    assert known_even(nothing) is None


def test_embedder_of_the_settings_is_asked_once_who_it_is() -> None:
    """When it is first needed; a failure is no answer."""
    inner = Running(FIRST)
    guarded = CheckedEmbedder(inner, load_settings({}))
    inner.fails = True
    with pytest.raises(LLMError, match="nobody answers"):
        _ = guarded.even
    inner.fails = False
    assert (guarded.even, guarded.even) == (EVEN, EVEN)
    assert inner.asked == [SENTENCE] * 2


class Measured(Running):
    """One whose maker has measured it."""

    even = 0.5


def test_what_an_embedder_says_of_itself_goes_first() -> None:
    """Its maker knows better."""
    inner = Measured(FIRST)
    assert (CheckedEmbedder(inner, load_settings({})).even, inner.asked) == (0.5, [])
