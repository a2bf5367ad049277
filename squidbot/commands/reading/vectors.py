"""What there is of durable facts and their vectors: who keeps them, who makes them, what finds them, how many wait."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from squidbot.commands.texts import count
from squidbot.core.errors import SquidbotError
from squidbot.memory import provider_of, vectors_path
from squidbot.wiring.registry import INDEXES

if TYPE_CHECKING:
    from squidbot.adapters.sqlite3.memory.store import Holding
    from squidbot.bootstrap import Wired
    from squidbot.config import Loaded
    from squidbot.core.vectors import VectorIndex

__all__ = ["FactsFound", "facts_found"]

# Embedders that may have to ask somebody how many dimensions their vectors have.
BEHIND_A_SERVER = frozenset({"openai"})


class FactsFound(NamedTuple):
    """What is found of durable facts.

    Attributes:
        kept: who keeps them, where, and how many they are, in a phrase.
        vectors: who makes vectors, of how many dimensions, and how many facts wait for one; "" where none are made.
        nearest: what finds the nearest of them, why that, and how many it holds; "" where none are made.
        remarks: what is not as it should be, and mends itself, in a sentence each.
        problem: what does not; "" where nothing is.
    """

    kept: str
    vectors: str = ""
    nearest: str = ""
    remarks: tuple[str, ...] = ()
    problem: str = ""


def facts_found(wired: Wired, loaded: Loaded) -> FactsFound:
    """Return what there is as settings have it; nothing is written, and no model is asked. `wired` has its adapters."""
    memory = loaded.settings.memory
    if not memory.enabled:
        return FactsFound("switched off")
    name, path = provider_of(loaded)
    held = None
    try:
        held = _held(name, path)
        kept = _kept(name, path, held)
        if memory.embedder == "none":
            return FactsFound(kept, "none: facts are found by their words (memory.embedder)")
        if wired.loaded.settings.model(memory.embedder).adapter:
            said = f"{memory.embedder}: a model of the settings; it is not loaded for this"
            return FactsFound(kept, said, _chosen(wired, wired.vector_index("", "", 1)))
        if memory.embedder.partition(":")[0] in BEHIND_A_SERVER:
            said = f"{memory.embedder}: behind a server; it is not asked for this"
            return FactsFound(kept, said, _chosen(wired, wired.vector_index("", "", 1)))
        return _with_vectors(wired, kept, held, path if name == "sqlite3" else "")
    except SquidbotError as error:
        return FactsFound(_kept(name, path, held), problem=str(error))


def _held(name: str, path: str) -> Holding | None:
    """Return what is in a file of SQLite; None elsewhere.

    Raises:
        StoreError: it can't be read.
    """
    if name != "sqlite3" or not Path(path).exists():
        return None
    from squidbot.adapters.sqlite3.memory.store import holding  # noqa: PLC0415  # few stores are looked into

    return holding(path)


def _kept(name: str, path: str, held: Holding | None) -> str:
    said = f"{name}: {path}" if path else f"{name}, gone with the process"
    return f"{said}: {held.memories:,} kept" if held else said


def _with_vectors(wired: Wired, kept: str, held: Holding | None, path: str) -> FactsFound:
    """Return what there is where an embedder is named.

    Raises:
        SquidbotError: the embedder or the index can't be opened.
    """
    embedder = wired.embedder()
    if embedder is None:
        return FactsFound(kept)
    model, dimensions = embedder.name, embedder.dimensions
    said, remarks = f"{wired.loaded.settings.memory.embedder}: {model}, {dimensions:,} dimensions", list[str]()
    if held:
        said += f"; {_waiting(held, model, dimensions):,} of {held.memories:,} wait for a vector"
        remarks += _unused(held, model, dimensions)
    place = vectors_path(path, model)
    is_there = bool(place) and Path(place).exists()
    index = wired.vector_index(place if is_there else "", model, dimensions)
    try:
        holds = f"{count(index.stamp().vectors, 'vector')} in {place}" if is_there else "made when it is needed"
        remarks += [index.fault] if index.fault else []
        return FactsFound(kept, said, f"{_chosen(wired, index)}: {holds}", tuple(remarks))
    finally:
        index.close()


def _waiting(held: Holding, model: str, dimensions: int) -> int:
    return held.waiting[model] if held.models.get(model) == dimensions else held.memories


def _unused(held: Holding, model: str, dimensions: int) -> list[str]:
    """Say of which models there are vectors that nobody compares with anything."""
    others = [
        f"{name}, {size:,} dimensions" for name, size in held.models.items() if (name, size) != (model, dimensions)
    ]
    said = f"vectors of {', '.join(others)} are not used, and dropped when all are made anew: squidbot memory reindex"
    return [said] if others else []


def _chosen(wired: Wired, index: VectorIndex) -> str:
    """Return what kind of index it is, and why."""
    adapter = type(index).__module__.removeprefix("squidbot.adapters.").partition(".")[0]
    said = wired.loaded.settings.memory.index
    why = f"auto: the first that is installed of {', '.join(INDEXES)}" if said == "auto" else "memory.index"
    return f"{adapter} ({why})"
