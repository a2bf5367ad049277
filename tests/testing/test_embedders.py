"""The embedder for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from squidbot.core.vectors import dot
from squidbot.testing import HashedWords, check_embedder

if TYPE_CHECKING:
    from collections.abc import Sequence


def test_hashed_words_pass_the_check_of_embedders() -> None:
    """Whatever is tested with it, is tested with an embedder."""
    check_embedder(HashedWords)


def test_texts_are_near_when_they_share_words() -> None:
    """In any form of these; others are far."""
    one, same, other = HashedWords(256).embed(["Two beagles bark.", "who owns the beagle?", "The sea is deep."])
    assert dot(one, same) > 0.3
    assert abs(dot(one, other)) < 0.25


class Blanks(HashedWords):
    """One that does not expect a blank text."""

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return vectors, but not of blank texts."""
        if not all(text.strip() for text in texts):
            raise ValueError("a blank text")
        return super().embed(texts)


def test_the_check_says_what_is_wrong_as_an_assertion() -> None:
    """An instance in place of the class; an error that is not squidbot's."""
    with pytest.raises(AssertionError, match="pass the class or a factory: got an instance of HashedWords"):
        check_embedder(HashedWords())  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="got ValueError: a blank text"):
        check_embedder(Blanks)
