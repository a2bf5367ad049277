"""The stores in one SQLite file."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.testing import check_summary_store, check_transcript_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def stores_in(folder: Path) -> Callable[[], SqliteStore]:
    """Return a factory of fresh stores."""
    numbers = count()
    return lambda: SqliteStore(folder / f"{next(numbers)}.db")


def test_sqlite_store_keeps_the_promises_of_transcripts(tmp_path: Path) -> None:
    """The public check of the port passes."""
    check_transcript_store(stores_in(tmp_path))


def test_sqlite_store_keeps_the_promises_of_summaries(tmp_path: Path) -> None:
    """The public check of the port passes."""
    check_summary_store(stores_in(tmp_path))
