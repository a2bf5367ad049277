"""What a program has recorded, read from its file by a reader of our own."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from squidbot.engines import load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from squidbot.core.messages import StoredMessage
    from squidbot.core.ports import TranscriptStore
    from squidbot.engines import Engine

__all__ = ["plan_count", "reading", "rows", "said", "text_of"]

PLAN = "plan"
MOST = 1_000_000


@contextmanager
def reading(path: Path) -> Iterator[Engine]:
    """Open a program's file beside it."""
    with load({"store": {"path": str(path)}}) as engine:
        yield engine


def rows(path: Path, conversation_id: str) -> list[tuple[StoredMessage, str]]:
    """Return all that is recorded of a conversation, with the words of each."""
    if not path.exists():
        return []
    with reading(path) as engine:
        codecs = engine.wired.codecs
        stored = engine.wired.store.read(conversation_id, 0, MOST)
        return [(row, codecs[row.codec].text(row.payload)) for row in stored]


def said(path: Path, conversation_id: str) -> list[tuple[str, str]]:
    """Return what is recorded as one line for each word, call and result, the same for every host.

    Lines are ("user", words), ("assistant", words), ("call", its id), ("result", the id of its call).
    """
    lines: list[tuple[str, str]] = []
    for row, text in rows(path, conversation_id):
        lines += [("result", each) for each in row.result_ids]
        if row.role in ("user", "assistant") and text and not row.result_ids:
            lines.append((row.role, text))
        lines += [("call", each) for each in row.call_ids]
    return lines


def text_of(path: Path, conversation_id: str) -> str:
    """Return all words that are recorded of a conversation."""
    return "\n".join(text for _, text in rows(path, conversation_id))


def plan_count(store: TranscriptStore, conversation_id: str) -> int:
    """Return how many view plans are on record."""
    last = store.last_record(conversation_id, PLAN)
    return 0 if last is None else last.number + 1
