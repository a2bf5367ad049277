"""Adapters that break one promise each: a class with one method changed, which is given the true one to call."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def mutant(base: type[T], name: str, act: Callable[..., object]) -> type[T]:
    """Return a class like `base` whose method of that name is `act(self, true, *arguments)`."""
    true = getattr(base, name)

    def method(self: T, *arguments: object, **named: object) -> object:
        return act(self, partial(true, self), *arguments, **named)

    return type(base.__name__, (base,), {name: method})
