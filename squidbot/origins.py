"""Where the values of squidbot.toml stand: the line of each key, and the tier that its table belongs to."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Origin", "lines_of"]

# Decisions, section 11: what holds for the work of an engine as a whole, for a model, for how a conversation is kept.
_TIERS: Final = {
    "job": (
        "summary",
        "snapshots",
        "memory",
        "journal",
        "goals",
        "context",
        "store",
        "observers",
        "extensions",
        "compat",
        "debug",
        "ui",
    ),
    "physical": ("window", "gpu", "models", "prices", "price_table"),
    "policy": ("profile", "budget", "allocation", "prompt", "pressure", "history", "images", "session"),
}
TIERS: Final = {table: tier for tier, tables in _TIERS.items() for table in tables}

Place = tuple[str, ...]


class Origin(NamedTuple):
    """One setting: its key with dots, its value, and where it is from.

    `source` is "FILE:LINE", "env NAME", "profile NAME", "argument", "default", or the entry of the price table that the
    value is from.
    """

    key: str
    value: object
    source: str

    @property
    def tier(self) -> str:
        """Whom it is for: "job" the engine as a whole, "physical" a model, "policy" how a conversation is kept."""
        return TIERS[self.key.partition(".")[0]]


def lines_of(text: str) -> dict[Place, int]:
    """Return by the path of each key of a TOML text the line, from 1, on which it is set, or its table begins.

    The text is one that has been read already: what is no TOML has no lines.
    """
    found: dict[Place, int] = {}
    table: Place = ()
    for number, statement in _statements(text):
        said = tomllib.loads(statement)
        if statement.lstrip().startswith("["):
            table = next(iter(_paths((), said)))
            found.setdefault(table, number)
        else:
            found.update((path, number) for path in _paths(table, said))
    return found


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield tables' headings, and keys with their values whole, each with the line that it begins on."""
    begun, pending = 0, ""
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if not pending and (not line.strip() or line.lstrip().startswith("#")):
            continue
        begun, pending = (begun, pending + line) if pending else (number, line)
        try:
            tomllib.loads(pending)
        except tomllib.TOMLDecodeError:
            continue  # a value of several lines: it ends where it can be read
        yield begun, pending
        pending = ""


def _paths(above: Place, said: Mapping[str, object]) -> Iterator[Place]:
    """Yield the paths of what is said, the innermost first."""
    for name, value in said.items():
        if isinstance(value, Mapping):
            yield from _paths((*above, name), value)
        yield (*above, name)
