"""`cached_property` as Python has it from 3.12 on: without a lock.

Until 3.11, threads wait for each other while one computes a property of any object of a class, even for a store.
"""

from __future__ import annotations

import functools
from functools import cached_property
from typing import TYPE_CHECKING

__all__ = ["cached_property"]

if not TYPE_CHECKING:

    class cached_property(functools.cached_property):  # noqa: N801  # as it is called there
        """Computes a property once for each object; two threads at once may both compute it."""

        def __get__(self, instance: object, owner: type | None = None) -> object:
            """Return the value, and keep it."""
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value
