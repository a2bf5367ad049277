"""The embedder for tests."""

from __future__ import annotations

from squidbot.core.vectors import dot
from squidbot.testing import HashedWords, check_embedder


def test_hashed_words_pass_the_check_of_embedders() -> None:
    """Whatever is tested with it, is tested with an embedder."""
    check_embedder(HashedWords)


def test_texts_are_near_when_they_share_words() -> None:
    """In any form of these; others are far."""
    one, same, other = HashedWords(256).embed(["Two beagles bark.", "who owns the beagle?", "The sea is deep."])
    assert dot(one, same) > 0.3
    assert abs(dot(one, other)) < 0.25
