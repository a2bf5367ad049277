"""A score means the same in every store: what answers a query, how well, and in which order."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.exact import Index
from squidbot.adapters.sqlite3.memory import SqliteMemoryStore
from squidbot.core.memories import passage_of
from squidbot.testing import made_memory
from squidbot.testing.memories import ANN, SEEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from squidbot.core.memories import Memory
    from squidbot.core.ports import MemoryStore

    Opened = Callable[[], AbstractContextManager[MemoryStore]]

NOW = 1.7e9
WORDS = (
    "tea", "coffee", "beagle", "puppy", "dog", "walks", "Oslo", "Paris", "lives", "lived", "adopted", "adoption",
    "book", "novel", "2023", "June", "red", "blue",
)  # fmt: skip
SAID = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8), min_size=1, max_size=25)
ASKED = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5)


def made(said: list[list[str]]) -> list[Memory]:
    """Return memories with these words, a day apart."""
    texts = (f"{' '.join(words)} own{number}." for number, words in enumerate(said))
    return [made_memory(text, ANN, time=NOW - 86_400.0 * number) for number, text in enumerate(texts)]


@contextmanager
def in_sqlite() -> Iterator[MemoryStore]:
    """Open a store in a file."""
    with TemporaryDirectory() as folder, SqliteMemoryStore(Path(folder) / "s.db") as store:
        yield store


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def opened(request: pytest.FixtureRequest) -> Opened:
    """Return what opens a store of each kind."""
    if request.param == "postgresql":
        return request.getfixturevalue("tenants").opened  # type: ignore[no-any-return]
    return in_sqlite


@pytest.mark.parametrize("past", [False, True])
@settings(max_examples=20)
@given(said=SAID, asked=ASKED)
def test_store_gives_the_hits_and_scores_of_a_search_that_reads_all(
    opened: Opened,
    past: bool,  # noqa: FBT001  # a parameter of the test
    said: list[list[str]],
    asked: list[str],
) -> None:
    """All words, families, subjects, dates: the same keys in the same order, with the same scores."""
    memories, query = made(said), " ".join(asked)
    with opened() as store:
        store.add(memories)
        kept = store.listed(SEEN, limit=1000, past=past)
        due = Index(map(passage_of, kept)).search(query, 50, NOW)
        assert store.search(query, SEEN, limit=50, now=NOW, past=past) == due
