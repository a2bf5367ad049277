"""Long lists of which little is looked at: a host's, and what is recorded; each member is made when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Generic, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Made", "Recorded"]

Value_co = TypeVar("Value_co", covariant=True)

# How many recorded messages are read at once.
READ_MESSAGES: Final = 256


class Made(Sequence[Value_co], Generic[Value_co]):
    """A sequence whose members are made from their places, each once, when they are first asked for."""

    def __init__(self, length: int, make: Callable[[int], Value_co]) -> None:
        """Take how many there are, and what makes the one at a place, 0 to `length` - 1."""
        self._length = length
        self._make = make
        self._made: dict[int, Value_co] = {}

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> Value_co: ...
    @overload
    def __getitem__(self, place: slice) -> list[Value_co]: ...
    def __getitem__(self, place: int | slice) -> Value_co | list[Value_co]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(self._length))]
        number = place + self._length if place < 0 else place
        if not 0 <= number < self._length:
            raise IndexError(place)
        if number not in self._made:
            self._made[number] = self._make(number)
        return self._made[number]


class Recorded(Sequence[str]):
    """What each recorded message of a conversation is known by, in order; read from the end on, as far as needed."""

    def __init__(self, read: Callable[[int, int], Iterable[str]]) -> None:
        """Take what reads the names of messages, from one to another, both included; there are none so far."""
        self._read = read
        self._names: list[str | None] = []

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        found = self._names[place]
        if found is None:
            last = place + len(self) if place < 0 else place
            first = max(0, last + 1 - READ_MESSAGES)
            for number, name in enumerate(self._read(first, last), first):
                self._names[number] = name
            found = self._names[place]
        if found is None:
            raise IndexError(place)
        return found

    def grow(self, length: int) -> None:
        """Take in that so many are recorded, whoever did."""
        self._names += [None] * (length - len(self))

    def add(self, names: Iterable[str]) -> None:
        """Take in what was recorded last."""
        self._names += names
