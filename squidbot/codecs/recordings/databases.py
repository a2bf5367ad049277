"""Databases of recordings, opened to be read only: what is in them is not to be trusted."""

from __future__ import annotations

import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final

from squidbot.core.errors import TranscriptError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["opened", "tables"]

_BEGINNING: Final = b"SQLite format 3\x00"
# What a damaged page or a hostile schema can make a query take.
_MOST_SECONDS: Final = 120.0
_STEPS: Final = 100_000


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database that writes nothing, runs nothing that its schema names, and gives up after two minutes.

    Raises:
        TranscriptError: it is none, or can't be read, now or while it is open.
    """
    import sqlite3  # noqa: PLC0415  # most recordings are none, and a hook has no time for it

    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5.0)) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            database.execute("PRAGMA query_only = ON")
            database.text_factory = lambda raw: raw.decode("utf-8", "replace")
            end = time.monotonic() + _MOST_SECONDS
            database.set_progress_handler(lambda: int(time.monotonic() > end), _STEPS)
            yield database
    except (sqlite3.Error, ValueError) as error:
        raise TranscriptError(str(path), None, f"can't be read as a database: {error}") from error


def tables(path: Path) -> set[str]:
    """Return the names of a database's tables, not of its views; none if the file is no database."""
    try:
        if not path.is_file():
            return set()
        with path.open("rb") as file:
            if file.read(len(_BEGINNING)) != _BEGINNING:
                return set()
        with opened(path) as database:
            found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchmany(1000)
    except (OSError, ValueError, TranscriptError):
        return set()
    return {name for (name,) in found if isinstance(name, str)}
