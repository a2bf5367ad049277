"""Shared by embedders and vector indexes: measured cosines of known models, and indexes kept on disk."""

from __future__ import annotations

from math import hypot
from typing import TYPE_CHECKING, Final

from squidbot.core.vectors import dot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.ports import Embedder


# An embedder is known by its vector of this.
SENTENCE: Final = "The squid is deep in the sea."
# Required likeness of the first numbers. With MiniLM's weights in 16 bits it is .9999, in 8 .9997 or, with one scale
# for a matrix, .979, in 4 .972; all of these injected and left out the same facts. Two models never come this near by
# chance: the cosine of 24 unrelated numbers is mostly under .4.
SAME_COSINE: Final = 0.96


# The one model with measured cosines, all-MiniLM-L6-v2: `SupportsCalibration.even` is this. Fitted with the numbers of
# `core.memory.search.ranking` on matching and other questions: .26 to .28 with one of four kinds of texts left out.
# This is a little above these: a wrongly injected fact costs more.
EVEN: Final = 0.29
# Its vectors' dimensions, and the first numbers of the sentence's vector, in thousandths.
DIMENSIONS: Final = 384
FIRST: Final = (
    -52, 36, 40, -11, -71, -70, -7, -41, 12, -22, -3, -140, -29, 71, 59, -29, 30, -50, -18, -61, 44, 85, -30, -45,
)  # fmt: skip


def known_even(embedder: Embedder) -> float | None:
    """Return by how much the nearest text stands out at even odds of answering; `None` if not measured.

    Embed one text, unless the number of dimensions already rules the model out.

    Raises:
        LLMError: no vector is available.
    """
    if embedder.dimensions != DIMENSIONS:
        return None
    first = [vector[: len(FIRST)] for vector in embedder.embed([SENTENCE])]
    same = [_cosine(vector, FIRST) >= SAME_COSINE for vector in first]
    return EVEN if same == [True] else None


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return dot(one, other) / (hypot(*one) * hypot(*other) or 1.0)
