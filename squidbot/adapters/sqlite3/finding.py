"""Sessions found by what their records say: a seek for each in SQLite, in which none of them is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.adapters.sqlite3.rows import plain, stored

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

__all__ = ["sessions_with"]

# Words are looked for so many at once: SQLite takes no deeper expressions than 1,000.
WORDS = 200
FOUND = (
    "SELECT no, id FROM sessions WHERE EXISTS (SELECT 1 FROM records WHERE session = sessions.no AND kind = ? AND ({}))"
)
STANDS = "instr(CAST(body AS BLOB), ?)"


def sessions_with(connection: sqlite3.Connection, kind: str, words: Sequence[str]) -> list[str]:
    """Return the sessions that have a record of a kind in whose body one of these words stands, oldest first."""
    found: dict[int, str] = {}
    for start in range(0, len(words), WORDS):
        some = [word.encode("utf-8", "surrogatepass") for word in words[start : start + WORDS]]
        asked = FOUND.format(" OR ".join([STANDS] * len(some)))
        cells = (stored(kind)[0], *some)
        found.update((no, plain(name)) for no, name in connection.execute(asked, cells))
    return [found[no] for no in sorted(found)]
