"""squidbot's search without one of its signals: what each is worth, on each set of conversations."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from squidbot.core.memory import search, words

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SYNONYMS", "names", "without"]

SYNONYMS = "synonyms"


def names() -> tuple[str, ...]:
    """Return what search can be without: each signal that is weighed, and synonyms."""
    return (*search.WEIGHTS._fields, SYNONYMS)


@contextmanager
def without(name: str) -> Iterator[None]:
    """Have search go without one of these for the time."""
    if name == SYNONYMS:
        replaced = _replaced(SYNONYMS, words.synonyms, lambda _stem: ())
    else:
        replaced = _replaced("WEIGHTS", search.WEIGHTS, search.WEIGHTS._replace(**{name: 0.0}))
    with replaced:
        yield


@contextmanager
def _replaced(name: str, value: object, other: object) -> Iterator[None]:
    """Put another value in the place of this one, in all modules that have it under that name."""
    modules = [module for module in list(sys.modules.values()) if getattr(module, "__dict__", {}).get(name) is value]
    for module in modules:
        setattr(module, name, other)
    try:
        yield
    finally:
        for module in modules:
            setattr(module, name, value)
