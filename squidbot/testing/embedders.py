"""What an Embedder promises, as a check."""

from __future__ import annotations

import math
import threading
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

from squidbot.core.errors import ContextOverflowError, LLMError
from squidbot.core.memory.search.texts import terms_of
from squidbot.core.vectors.values import unit
from squidbot.testing.values import ODD_TEXTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.core.ports import Embedder

__all__ = ["HashedWords", "check_embedder"]

# What batches and threads of a runtime may round differently, in one number of a vector of length 1.
ROUNDING = 1e-6
TEXTS = ("The sea is deep.", "squid", "int main(void) { return 0; }")


class HashedWords:
    """An embedder for tests that needs no model: near are texts that share words, and nothing else.

    Each word has a direction by chance, always the same; a text's vector is their sum.
    """

    def __init__(self, dimensions: int = 64, name: str = "hashed-words") -> None:
        """Take how many numbers a vector has, and under which name it is kept."""
        self.name = name
        self.dimensions = dimensions

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return a vector of length 1 for each text, in order."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> tuple[float, ...]:
        # What has no word is its own only word.
        words = [*terms_of(text)] or [f"no word: {text}"]
        # So that no sum of signs is zero in every number.
        return unit(
            [0.01 + sum(signs) for signs in zip(*(_signs(word, self.dimensions) for word in words), strict=True)]
        )


@lru_cache(4096)
def _signs(word: str, count: int) -> tuple[float, ...]:
    digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=32).digest()
    bits = int.from_bytes(digest * (count // 256 + 1), "big")
    return tuple(1.0 if bits >> place & 1 else -1.0 for place in range(count))


def check_embedder(factory: Callable[[], Embedder], *, too_long: str | None = None) -> None:
    """Check the promises of `ports.Embedder`.

    `factory` returns the adapter, a new one or the same; `too_long` is a text that does not fit it.

    Promised: a name that does not change; vectors of `dimensions` numbers and of length 1, in the order of the texts,
    and the same ones again whatever stands beside a text; whatever characters a text has, a vector or an error of ours;
    threads may share it.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    embedder = factory()
    assert embedder.name, "an embedder's name is not empty: vectors are kept under it"
    assert embedder.name == factory().name, "a name does not change"
    assert embedder.embed([]) == [], "no texts have no vectors"
    together = embedder.embed(TEXTS)
    assert len(together) == len(TEXTS), f"each text has its vector: got {len(together)} for {len(TEXTS)}"
    for text, vector in zip(TEXTS, together, strict=True):
        _checks_vector(vector, embedder.dimensions, text)
        (alone,) = factory().embed([text])
        _checks_same(vector, alone, f"{text!r} beside others and alone")
    assert _distance(together[0], together[1]) > ROUNDING, "two texts have two vectors"
    _checks_odd(embedder)
    _checks_threads(embedder, together[0])
    if too_long is not None:
        _checks_too_long(embedder, too_long)


def _checks_vector(vector: Sequence[float], dimensions: int, text: str) -> None:
    assert isinstance(vector, tuple), f"a vector is a tuple: got {type(vector).__name__}"
    assert len(vector) == dimensions, f"a vector has {dimensions} numbers: got {len(vector)} for {text!a}"
    assert all(isinstance(value, float) for value in vector), f"its numbers are floats: {text!a}"
    length = math.hypot(*vector)
    assert abs(length - 1) <= ROUNDING, f"a vector has the length 1: got {length} for {text!a}"


def _checks_same(vector: Sequence[float], other: Sequence[float], what: str) -> None:
    distance = _distance(vector, other)
    assert distance <= ROUNDING, f"{what}: the same vector, but for rounding; a number differs by {distance}"


def _distance(vector: Sequence[float], other: Sequence[float]) -> float:
    return max(abs(one - two) for one, two in zip(vector, other, strict=True))


def _checks_odd(embedder: Embedder) -> None:
    for text in ODD_TEXTS:
        try:
            (vector,) = embedder.embed([text])
        except (LLMError, ContextOverflowError):
            continue  # what it refuses is its own affair, so long as it is told in our words
        _checks_vector(vector, embedder.dimensions, text)


def _checks_threads(embedder: Embedder, expected: Sequence[float]) -> None:
    got: list[tuple[float, ...]] = []
    threads = [threading.Thread(target=lambda: got.extend(embedder.embed(TEXTS[:1]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 4, "threads that ask at once get their vectors"
    for vector in got:
        _checks_same(vector, expected, "asked by several threads at once")


def _checks_too_long(embedder: Embedder, text: str) -> None:
    try:
        embedder.embed([text])
    except ContextOverflowError:
        return
    except Exception as error:
        raise AssertionError(f"a text that does not fit is a ContextOverflowError: got {error!r:.200}") from error
    raise AssertionError("a text that does not fit is a ContextOverflowError, and never cut in silence")
