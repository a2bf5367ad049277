"""The index and the vectors that need no package, and that the public check notices an index that breaks a promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.stdlib import ExactIndex
from squidbot.core.vectors import IndexHit, VectorStamp
from squidbot.testing import check_vector_index

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.vectors import VectorEntry


def test_exact_index_keeps_the_promises_of_vector_indexes() -> None:
    """The public check of the port passes."""
    check_vector_index(ExactIndex)


class Halved(ExactIndex):
    """Cosines are made to look like shares."""

    def search(self, vector: Sequence[float], limit: int, view: int) -> list[IndexHit]:
        """Return 0 to 1."""
        return [IndexHit(place, (1 + cosine) / 2) for place, cosine in super().search(vector, limit, view)]


class Leaky(ExactIndex):
    """Views are no matter."""

    def add(self, entries: Sequence[VectorEntry]) -> None:
        """Let everybody see everything."""
        super().add([each._replace(views=(11, 22, 91, 71, 80, 2**62)) for each in entries])


class Starving(ExactIndex):
    """The nearest of all are sorted out by view, whatever is left."""

    def search(self, vector: Sequence[float], limit: int, view: int) -> list[IndexHit]:
        """Look among the nearest of everybody."""
        everybody = [(place, numbers) for place, (_, numbers) in self._entries.items()]
        scored = sorted(everybody, key=lambda each: sum((a - b) ** 2 for a, b in zip(vector, each[1], strict=True)))
        among = {place for place, _ in scored[: limit * 3]}
        return [near for near in super().search(vector, 5000, view) if near.place in among][:limit]


class Clinging(ExactIndex):
    """What is taken out is still found."""

    def remove(self, places: Sequence[int]) -> int:
        """Count them, and no more."""
        return len({*places} & {*self._entries})


class Twice(ExactIndex):
    """A place counts as often as it comes."""

    def add(self, entries: Sequence[VectorEntry]) -> None:
        """Count it again."""
        super().add(entries)
        again = {each.place for each in entries}
        self._stamp = self._stamp._replace(vectors=self._stamp.vectors + len(entries) - len(again))


class Partial(ExactIndex):
    """What comes before what is refused is taken in."""

    def add(self, entries: Sequence[VectorEntry]) -> None:
        """Take them in one by one."""
        for each in entries:
            super().add([each])


class Oldest(ExactIndex):
    """Ties are oldest first."""

    def search(self, vector: Sequence[float], limit: int, view: int) -> list[IndexHit]:
        """Turn ties around."""
        found = super().search(vector, 5000, view)
        return sorted(found, key=lambda near: (-near.cosine, near.place))[:limit]


class Coarse(ExactIndex):
    """Half of the nearest are missed."""

    def search(self, vector: Sequence[float], limit: int, view: int) -> list[IndexHit]:
        """Pass over every other place while there are others."""
        found = super().search(vector, 5000, view)
        return sorted([*found[::2], *found[1::2]][:limit], key=lambda near: (-near.cosine, -near.place))


class Ordered(ExactIndex):
    """The stamp says in which order entries came."""

    def stamp(self) -> VectorStamp:
        """Mix the order in."""
        return super().stamp()._replace(digest=sum(place * number for number, place in enumerate(self._entries)))


@pytest.mark.parametrize(
    ("index", "promise"),
    [
        (Halved, "a cosine is right"),
        (Leaky, "who sees nothing|a view sees its own alone"),
        (Starving, "a small view of a large store"),
        (Clinging, "gone once"),
        (Twice, "in the stamp, too"),
        (Partial, "nothing is taken in"),
        (Oldest, "newest place first"),
        (Coarse, "the nearest are found|as many as are wanted"),
        (Ordered, "in any order|of nothing"),
    ],
)
def test_check_of_vector_indexes_fails_when_a_promise_is_broken(index: type[ExactIndex], promise: str) -> None:
    """The text names the promise."""
    with pytest.raises(AssertionError, match=promise):
        check_vector_index(index)
