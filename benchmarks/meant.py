"""What finds passages by vectors of MiniLM, alone and beside words; none where its package is not installed."""

from __future__ import annotations

import time
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

from benchmarks.conversations import shown
from benchmarks.finders import FINDERS, PLAIN, fused
from benchmarks.minilm import is_installed, write_minilm
from benchmarks.stored import Stored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.conversations import Question
    from benchmarks.finders import Make
    from squidbot.core.memories import Passage

__all__ = ["PLAIN_VECTORS", "WITH_VECTORS", "cpu_seconds", "finders"]

WITH_VECTORS = "squidbot, MiniLM + FAISS"
PLAIN_VECTORS = ("MiniLM vectors", "FTS5 porter + MiniLM, fused")


def finders() -> dict[str, Make]:
    """Return what makes finders by vectors, by their names."""
    if not is_installed():
        return {}
    return {
        **dict(zip(PLAIN_VECTORS, (Nearest, fused([FINDERS[PLAIN], Nearest])), strict=True)),
        **({WITH_VECTORS: lambda passages: Stored(passages, Once)} if find_spec("faiss") else {}),
    }


def cpu_seconds() -> float:
    """Return the CPU time of this process, with that of embedding texts anew that were known."""
    return time.process_time() + Once.saved_seconds


class Nearest:
    """Finds by the cosine of vectors, exactly."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._keys = [each.key for each in passages]
        self._rows = _vectors([shown(each) for each in passages])

    def rank(self, question: Question) -> Sequence[str]:
        """Return all, nearest first."""
        cosines = (self._rows @ _vectors([question.text])[0]).tolist()
        similar = dict(zip(self._keys, cosines, strict=True))
        return sorted(similar, key=lambda key: -similar[key])


class Once:
    """The embedder, which is asked for each text once, however many find by it."""

    known: ClassVar[dict[str, tuple[float, ...]]] = {}
    # CPU time that each text took, and what was not spent as texts were known.
    took_seconds: ClassVar[dict[str, float]] = {}
    saved_seconds: ClassVar[float] = 0.0

    def __init__(self) -> None:
        self.name, self.dimensions, self.even = (getattr(_embedder(), each) for each in ("name", "dimensions", "even"))

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return a vector for each text."""
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        Once.saved_seconds += sum(self.took_seconds[text] for text in texts if text in self.known)
        began = time.process_time()
        self.known.update(zip(new, _embedder().embed(new), strict=True))
        took, letters = time.process_time() - began, sum(map(len, new))
        self.took_seconds.update((text, took * len(text) / max(1, letters)) for text in new)
        return [self.known[text] for text in texts]


def _vectors(texts: Sequence[str]) -> Any:  # noqa: ANN401  # an array, where NumPy is installed
    import numpy as np  # noqa: PLC0415  # an extra

    return np.array(Once().embed(texts), np.float32)


@lru_cache(1)
def _embedder() -> Any:  # noqa: ANN401  # what embeds, where onnxruntime is installed
    from squidbot.adapters.onnxruntime import OnnxEmbedder  # noqa: PLC0415  # an extra

    with TemporaryDirectory() as folder:
        return OnnxEmbedder(write_minilm(Path(folder) / "minilm"))
