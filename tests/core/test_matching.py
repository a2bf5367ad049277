"""What of a query is looked for."""

from __future__ import annotations

import pytest

from squidbot.core.recall.search import content_words, read_query


def test_query_loses_its_stop_words_when_it_has_others() -> None:
    """What is left of a question is what it asks about; a query of nothing else keeps them."""
    assert content_words("What does Ann drink with her tea?") == read_query("ann drink tea").words
    assert content_words("What is it?") == read_query("what is it").words
    with pytest.raises(ValueError, match="nothing to look for"):
        content_words("?!")
