"""The index and the vectors that need no package, and that the public check notices an index that breaks a promise."""

# ruff: noqa: ANN401  # the arguments of any method
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from squidbot.adapters.stdlib import ExactIndex
from squidbot.core.vectors import IndexHit
from squidbot.testing import check_vector_index

from .mutants import mutant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.core.vectors import VectorEntry


def test_exact_index_keeps_the_promises_of_vector_indexes() -> None:
    """The public check of the port passes."""
    check_vector_index(ExactIndex)


def _starving(index: ExactIndex, true: Callable[..., list[IndexHit]], *asked: Any) -> list[IndexHit]:
    """Look among the nearest of everybody, whatever a view has of them."""
    vector, limit, view = asked
    everybody = [(place, numbers) for place, (_, numbers) in index._entries.items()]
    scored = sorted(everybody, key=lambda each: sum((a - b) ** 2 for a, b in zip(vector, each[1], strict=True)))
    among = {place for place, _ in scored[: limit * 3]}
    return [near for near in true(vector, 5000, view) if near.place in among][:limit]


def _twice(index: ExactIndex, true: Callable[..., None], entries: Sequence[VectorEntry]) -> None:
    """Count a place as often as it comes."""
    true(entries)
    again = {each.place for each in entries}
    index._stamp = index._stamp._replace(vectors=index._stamp.vectors + len(entries) - len(again))


def _coarse(_: ExactIndex, true: Callable[..., list[IndexHit]], *asked: Any) -> list[IndexHit]:
    """Pass over every other place while there are others."""
    found = true(asked[0], 5000, asked[2])
    return sorted([*found[::2], *found[1::2]][: asked[1]], key=lambda near: (-near.cosine, -near.place))


# A method, what stands in its place, and how the check words the promise that it breaks.
FAULTS: dict[str, tuple[str, Callable[..., object], str]] = {
    "cosines look like shares": (
        "search",
        lambda _, true, *asked: [IndexHit(place, (1 + cosine) / 2) for place, cosine in true(*asked)],
        "a cosine is right",
    ),
    "everybody sees everything": (
        "add",
        lambda _, true, entries: true([each._replace(views=(11, 22, 91, 71, 80, 2**62)) for each in entries]),
        "who sees nothing|a view sees its own alone",
    ),
    "the nearest of all": ("search", _starving, "a small view of a large store"),
    "what is gone is found": (
        "remove",
        lambda index, _, places: len({*places} & {*index._entries}),
        "gone once",
    ),
    "a place counts twice": ("add", _twice, "in the stamp, too"),
    "taken in up to the fault": (
        "add",
        lambda _, true, entries: [true([each]) for each in entries],
        "nothing is taken in",
    ),
    "ties are oldest first": (
        "search",
        lambda _, true, *asked: sorted(true(asked[0], 5000, asked[2]), key=lambda near: (-near.cosine, near.place))[
            : asked[1]
        ],
        "newest place first",
    ),
    "half are missed": ("search", _coarse, "the nearest are found|as many as are wanted"),
    "the order is stamped": (
        "stamp",
        lambda index, true: true()._replace(digest=sum(at * number for number, at in enumerate(index._entries))),
        "in any order|of nothing",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_check_of_vector_indexes_fails_when_a_promise_is_broken(fault: str) -> None:
    """The text names the promise."""
    name, act, promise = FAULTS[fault]
    with pytest.raises(AssertionError, match=promise):
        check_vector_index(mutant(ExactIndex, name, act))
