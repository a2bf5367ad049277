"""The documents of a project, cut to their caps (P-02)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.context.reading import text_of
from squidbot.core.contexts import Document
from squidbot.core.errors import ConfigError, NotFoundError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["PROJECT", "project_document"]

PROJECT: Final = "[project]"
# The first that is there is taken, and so much of it, in characters: as document 003's system shipped them.
FILES: Final = (("PENGUIN.md", 2400), ("AGENTS.md", 2000), ("README.md", 1200))


def project_document(folder: Path) -> Document | None:
    """Return the first of PENGUIN.md, AGENTS.md and README.md in a folder, cut to its cap; None where there is none.

    Raises:
        ConfigError: it can't be read.
    """
    for name, most_chars in FILES:
        try:
            text = text_of(folder / name, name)
        except NotFoundError:
            continue
        if text.strip():
            return Document(PROJECT, f"{name}:\n{_cut(text, most_chars)}")
    return None


def _cut(text: str, most_chars: int) -> str:
    if len(text) <= most_chars:
        return text
    mark = f"\n[the first {most_chars:,} of {len(text):,} characters]"
    if most_chars <= len(mark):
        raise ConfigError(f"a cap of {most_chars} characters has no room for a document")
    return text[: most_chars - len(mark)].rstrip() + mark
