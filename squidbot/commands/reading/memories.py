"""Durable facts as JSON lines, and back: one fact a line, whole."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from squidbot.core.errors import TranscriptError
from squidbot.core.memories import Memory, Scope, Source, refuse_misfit

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["as_json", "as_lines", "from_lines"]


def as_lines(memories: Iterable[Memory]) -> str:
    """Return facts as JSON lines."""
    return "".join(f"{json.dumps(as_json(one))}\n" for one in memories)


def as_json(memory: Memory) -> dict[str, object]:
    """Return a fact as values for JSON; scope and sources are objects with their fields."""
    row = asdict(memory)
    row["scope"] = memory.scope._asdict()
    row["sources"] = [source._asdict() for source in memory.sources]
    return row


def from_lines(lines: Iterable[str], name: str) -> list[Memory]:
    """Return the facts of JSON lines, those that others take the place of first.

    Raises:
        TranscriptError: a line is no fact; it names file and line.
    """
    found = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                found.append(_memory(json.loads(line)))
            except KeyError as error:
                raise TranscriptError(
                    name, number, f"this is no fact of an export, it lacks {error}; nothing was added"
                ) from error
            except json.JSONDecodeError as error:
                raise TranscriptError(
                    name, number, "this is no line of an export, no JSON; nothing was added"
                ) from error
            except (ValueError, TypeError, AttributeError) as error:
                raise TranscriptError(
                    name, number, f"this is no fact of an export: {error}; nothing was added"
                ) from error
    return _in_order(found)


def _memory(row: dict[str, object]) -> Memory:
    made = Memory(**{**row, "scope": Scope(**row["scope"]), "sources": _sources(row), "tags": tuple(row["tags"])})  # type: ignore[arg-type]  # what does not fit is refused below
    refuse_misfit(made)
    return made


def _sources(row: dict[str, object]) -> tuple[Source, ...]:
    sources = row["sources"]
    return tuple(Source(**one) for one in sources) if isinstance(sources, list) else ()


def _in_order(memories: list[Memory]) -> list[Memory]:
    """Return facts so that each stands behind the one whose place it takes, and names nothing that takes its own.

    A store sets `superseded_by` itself, when the one that supersedes is added.
    """
    by_id = {one.memory_id: one for one in memories}
    placed: dict[str, Memory] = {}
    for one in memories:
        chain = []
        at: Memory | None = one
        while at is not None and at.memory_id not in placed and at not in chain:
            chain.append(at)
            at = by_id.get(at.supersedes)
        for each in reversed(chain):
            placed[each.memory_id] = each
    return list(placed.values())
