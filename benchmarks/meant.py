"""What finds passages by vectors of MiniLM, alone and beside words; none where its package is not installed."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

from benchmarks.exact import Index
from benchmarks.finders import Form, FullText, fused
from benchmarks.minilm import is_installed, write_minilm
from benchmarks.stored import Stored
from squidbot.core.memory.search import Similarity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.conversations import Question
    from benchmarks.finders import Make
    from squidbot.core.memories import Passage

__all__ = ["finders"]


def finders() -> dict[str, Make]:
    """Return what makes finders by vectors, by their names."""
    if not is_installed():
        return {}
    return {
        "MiniLM, bare": lambda passages: Nearest(passages, has_speaker=False),
        "MiniLM, speaker": Nearest,
        "FTS5 porter + MiniLM, fused": fused([lambda passages: FullText(passages, Form(has_head=False)), Nearest]),
        "squidbot, MiniLM, all compared": Both,
        **({"squidbot, MiniLM + FAISS": lambda passages: Stored(passages, Once)} if find_spec("faiss") else {}),
    }


class Nearest:
    """Finds by the cosine of vectors, exactly."""

    def __init__(self, passages: Sequence[Passage], *, has_speaker: bool = True) -> None:
        self._keys = [each.key for each in passages]
        self._rows = _vectors(tuple(_spoken(each) if has_speaker else each.text for each in passages))

    def rank(self, question: Question) -> Sequence[str]:
        """Return all, nearest first."""
        similar = self.similar(question.text)
        return sorted(similar, key=lambda key: -similar[key])

    def similar(self, text: str) -> dict[str, float]:
        """Return the cosine of each passage."""
        return dict(zip(self._keys, (self._rows @ _vectors((text,))[0]).tolist(), strict=True))


class Both:
    """Finds by squidbot's own search, with vectors."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._index, self._nearest = Index(passages), Nearest(passages)

    def rank(self, question: Question) -> Sequence[str]:
        """Return its candidates."""
        meaning = Similarity(self._nearest.similar(question.text), _embedder().even)
        return [hit.key for hit in self._index.search(question.text, len(self._index), question.now, meaning=meaning)]


def _spoken(passage: Passage) -> str:
    return f"{passage.speaker}: {passage.text}" if passage.speaker else passage.text


class Once:
    """The embedder, which is asked for each text once, however many find by it."""

    known: ClassVar[dict[str, tuple[float, ...]]] = {}

    def __init__(self) -> None:
        self.name, self.dimensions, self.even = (getattr(_embedder(), each) for each in ("name", "dimensions", "even"))

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return a vector for each text."""
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        self.known.update(zip(new, _embedder().embed(new), strict=True))
        return [self.known[text] for text in texts]


@lru_cache(4096)
def _vectors(texts: tuple[str, ...]) -> Any:  # noqa: ANN401  # an array, where NumPy is installed
    import numpy as np  # noqa: PLC0415  # an extra

    return np.array(Once().embed(texts), np.float32)


@lru_cache(1)
def _embedder() -> Any:  # noqa: ANN401  # what embeds, where onnxruntime is installed
    from squidbot.adapters.onnxruntime import OnnxEmbedder  # noqa: PLC0415  # an extra

    with TemporaryDirectory() as folder:
        return OnnxEmbedder(write_minilm(Path(folder) / "minilm"))
