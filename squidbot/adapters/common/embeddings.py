"""What embedders and vector indexes share: measured cosines of known models, and indexes kept on disk."""

from __future__ import annotations

from math import hypot
from typing import TYPE_CHECKING, Final

from squidbot.core.vectors import dot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.ports import Embedder


# An embedder is known by what it makes of this.
SENTENCE: Final = "The squid is deep in the sea."
# How alike the first numbers have to be. Those of MiniLM's weights in 16 bits are so to .9999, in 8 to .9997 or, with
# one scale for a matrix, .979, in 4 to .972; what is told and what is not was the same with all of these. Two models
# come so near by no chance: of 24 numbers that have nothing to do with each other the cosine is most often under .4.
SAME_COSINE: Final = 0.96


# The one model whose cosines were measured, all-MiniLM-L6-v2: `core.ports.Calibrated` has this of it. Fitted with the
# numbers of `core.memory.search.ranking` on questions that belong and others, .26 to .28 where one of four kinds of
# texts was left out; a little above these: a guess that is told costs more.
EVEN: Final = 0.29
# The dimensions of its vectors, and the first numbers of that of the sentence, in thousandths.
DIMENSIONS: Final = 384
FIRST: Final = (
    -52, 36, 40, -11, -71, -70, -7, -41, 12, -22, -3, -140, -29, 71, 59, -29, 30, -50, -18, -61, 44, 85, -30, -45,
)  # fmt: skip


def known_even(embedder: Embedder) -> float | None:
    """Return how much the nearest text stands out where it answers with even odds; `None` if not measured.

    Embeds one text, unless the number of dimensions already rules the model out.

    Raises:
        LLMError: no vector can be had now.
    """
    if embedder.dimensions != DIMENSIONS:
        return None
    first = [vector[: len(FIRST)] for vector in embedder.embed([SENTENCE])]
    same = [_cosine(vector, FIRST) >= SAME_COSINE for vector in first]
    return EVEN if same == [True] else None


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return dot(one, other) / (hypot(*one) * hypot(*other) or 1.0)
