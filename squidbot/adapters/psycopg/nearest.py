"""The nearest vectors of a view as the server finds them, by the extension pgvector."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from squidbot.adapters.common.memories import VIEW_COLUMNS, view_digest
from squidbot.adapters.psycopg.server import SNAPSHOT
from squidbot.adapters.psycopg.vectors import INDEX, PostgresqlVectors, VectorTables, as_text, space_of
from squidbot.core.errors import StoreError
from squidbot.core.vectors import dots, unit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from psycopg import Connection

    from squidbot.adapters.psycopg.server import Server
    from squidbot.core.memories import View

T = TypeVar("T")

# A view that sees no more memories has all compared, a microsecond each. Of many, an index finds nearly all of the
# nearest; a vector that it looks at costs as much as so many that are compared, and all owners' are in its way.
EXACT_MEMORIES, COMPARED_FOR_ONE = 10_000, 35
# How many candidates the index follows, at least, and how many vectors it looks at where others' are in between.
CANDIDATES, MOST_LOOKED = 200, 200_000
INDEXED = "SELECT 1 FROM pg_catalog.pg_indexes WHERE schemaname = {schema_text} AND indexname = %s"
SEEN = (
    "SELECT live, past, coalesce((SELECT reltuples FROM pg_catalog.pg_class "
    "WHERE relnamespace = {schema_text}::regnamespace AND relname = %s), 0) "
    "FROM {schema}.memory_views WHERE tenant = {schema}.tenant() AND view = %s"
)
EXACTLY = (
    "SELECT place, vector OPERATOR({{vector}}.<=>) %s::{{vector}}.halfvec FROM {{schema}}.memory_nearest "
    "WHERE tenant = {{schema}}.tenant() AND space = {space} AND {column} = %s{holding} "
    "ORDER BY 2, place DESC LIMIT %s"
)
BY_INDEX = (
    "SELECT place, vector::{{vector}}.halfvec({size}) OPERATOR({{vector}}.<=>) %s::{{vector}}.halfvec({size}) "
    "FROM {{schema}}.memory_nearest WHERE tenant = {{schema}}.tenant() AND space = {space} AND {column} = %s{holding} "
    "ORDER BY 2 LIMIT %s"
)
SETTINGS = (
    "SELECT set_config('hnsw.ef_search', %s, true), set_config('hnsw.iterative_scan', 'relaxed_order', true), "
    "set_config('hnsw.max_scan_tuples', %s, true), set_config('enable_sort', 'off', true)"
)


class PgvectorSearch:
    """Searches the vectors of one model on the server: `core.vectors.NearestVectors`."""

    dots = staticmethod(dots)

    def __init__(self, server: Server, home: str, model: str, dimension: int) -> None:
        """Take the server, and the schema of pgvector."""
        self._server, self._home, self._model, self._dimension = server, home, model, dimension
        self._space = space_of(model, dimension)
        self._name = f"memory_nearest_{self._space:x}"
        self._truth = PostgresqlVectors(self._run, model, dimension)
        self._is_indexed = False

    @property
    def fault(self) -> str:
        """Why it is slower than it should be, in one line; "" if it is not."""
        if self.vectors <= EXACT_MEMORIES or self._has_index():
            return ""
        return (
            f"vectors of {self._model!a:.80} have no index on the server, so all are compared; make it: SELECT "
            f"{self._server.schema}.index_vectors({self._space}, {self._dimension})"
        )

    @property
    def vectors(self) -> int:
        """The number of vectors."""
        return self._truth.stamp().vectors

    def index(self) -> None:
        """Make the model's index on the server, unless it is there; where that fails, all vectors are compared."""
        if self._is_indexed:
            return
        if not self._has_index():
            with suppress(StoreError):
                self._server.rows(INDEX, (self._space, self._dimension))
        self._is_indexed = True

    def _has_index(self) -> bool:
        return bool(self._server.rows(INDEXED, (self._name,)))

    def behind(self) -> int:
        """Return that it finds all stored vectors."""
        return 0

    def refresh(self) -> bool:
        """Return that it is up to date: the server keeps it so."""
        return True

    def save(self) -> None:
        """Do nothing: the server has stored everything."""

    def close(self) -> None:
        """Do nothing: the connections are the store's."""

    def places(self, vector: Sequence[float], view: View, *, limit: int, past: bool = False) -> list[int]:
        """Return the places of the nearest vectors that a view sees, best first; with `past` of history, too.

        Raises:
            ValueError: the vector has another number of dimensions, or no direction.
        """
        if len(vector) != self._dimension:
            raise ValueError(f"a vector of {len(vector)} numbers, where {self._model!a:.80} has {self._dimension}")
        asked, most = as_text(unit(vector)), max(limit, 0)
        sees = view_digest(view)

        def near(rows: VectorTables) -> list[tuple[float, int]]:
            (live, gone, indexed), *_ = rows.read(SEEN, (self._name, sees)) or [(0, 0, 0)]
            seen = live + (gone if past else 0)
            is_exact = seen <= EXACT_MEMORIES or seen * seen <= COMPARED_FOR_ONE * most * indexed
            if not is_exact:
                rows.read(SETTINGS, (str(min(1000, max(CANDIDATES, 2 * most))), str(MOST_LOOKED)))
            column, holding = VIEW_COLUMNS[view.isolation], "" if past else " AND holds"
            text = (EXACTLY if is_exact else BY_INDEX).format(
                space=self._space, size=self._dimension, column=column, holding=holding
            )
            return [(distance, -place) for place, distance in rows.read(text, (asked, sees, most))]

        return [-place for _, place in sorted(self._run(near))]

    def search(self, vector: Sequence[float], view: View, *, limit: int = 20, past: bool = False) -> dict[str, float]:
        """Return the cosines of the memories of a view whose vectors are nearest, by id, best first, ties newest first.

        With `past` those of history, too.

        Raises:
            ValueError: the vector has another number of dimensions, or no direction.
            DamagedStoreError: a vector does not match its checksum.
        """
        entries = self._truth.picked(self.places(vector, view, limit=limit, past=past))
        cosines = self.dots(unit(vector), [entry.vector for entry in entries])
        ranked = sorted(zip(cosines, entries, strict=True), key=lambda scored: (-scored[0], -scored[1].place))
        return {entry.memory_id: max(-1.0, min(1.0, cosine)) for cosine, entry in ranked}

    def _run(self, read: Callable[[VectorTables], T]) -> T:
        def act(connection: Connection[Any]) -> T:
            with self._server.transaction(connection, SNAPSHOT):
                return read(VectorTables(self._server, self._home, connection))

        return self._server.run(act)
