"""Drops the lines of a summary that the memory document says already."""

from __future__ import annotations

__all__ = ["SUMMARY_HEADING", "dedupe"]

# The heading that an emptied summary loses.
SUMMARY_HEADING = "## Conversation Summary"

_BULLETS = ("- ", "* ", "\u2022 ")


def dedupe(summary: str, memory: str) -> tuple[str, tuple[str, ...]]:
    """Return the summary without the lines that equal a line of the memory document, and those lines as they stood.

    Compared are lines that are trimmed, in lower case, without one leading bullet `-`, `*` or U+2022 followed by a
    space, and with single spaces inside (Q-04). Blank lines are never removed, and what stays is unchanged. A summary
    of which only blank lines and its heading are left is returned as "".
    """
    said = {_normalised(line) for line in memory.split("\n")} - {""}
    kept: list[str] = []
    removed: list[str] = []
    for line in summary.split("\n"):
        (removed if _normalised(line) in said else kept).append(line)
    if removed and all(line.strip() in ("", SUMMARY_HEADING) for line in kept):
        kept = []
    return "\n".join(kept), tuple(removed)


def _normalised(line: str) -> str:
    text = line.strip().lower()
    # Without the space it is a sign, an option or a star of bold text: "-5 degrees", "--flag", "**Bold**".
    if text.startswith(_BULLETS):
        text = text[2:]
    return " ".join(text.split())
