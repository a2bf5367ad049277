"""What a store's file holds of memories and their vectors, looked at without writing anything."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.sqlite3.access import FOREIGN, store_error
from squidbot.adapters.sqlite3.files import open_only_reading
from squidbot.adapters.sqlite3.memory import queries, tables, vectors
from squidbot.core.errors import DamagedStoreError, StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Holding", "holding"]

BUSY_SECONDS = 5.0


class Holding(NamedTuple):
    """How many facts and pieces there are; of each model how many dimensions its vectors have, and how many wait."""

    memories: int
    models: Mapping[str, int]
    waiting: Mapping[str, int]


def holding(path: str) -> Holding:
    """Return what a file holds; nothing where it has no tables of memories.

    Raises:
        StoreError: it can't be read, or is damaged.
    """
    with closing(open_only_reading(path, BUSY_SECONDS)) as connection:
        try:
            if not tables.is_laid_out(path, connection):
                return Holding(0, {}, {})
            models = vectors.models(connection)
            waiting = {name: vectors.waiting(connection, name) for name in models}
            return Holding(queries.count(connection) - tables.count_cards(connection), models, waiting)
        except (StoreError, DamagedStoreError):
            raise
        except FOREIGN as error:
            raise store_error(path, error) from error
