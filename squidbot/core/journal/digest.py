"""The newest entry and what is open, in a small room of its own (J-04, C18), for a session that goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from squidbot.core.journal.entry import Entry

__all__ = ["DIGEST_TOKENS", "Digest", "digest"]

# C18 and J-03.
DIGEST_TOKENS: Final = 1_200
_LISTS: Final = {
    "open": "open_questions",
    "decided": "decisions",
    "failed": "errors",
    "done": "progress",
    "file": "files_touched",
}


class Digest(NamedTuple):
    """What is told of a journal.

    Attributes:
        text: one line for each thing that is told, the first one with the time; "" where there is no room at all.
        left_out: how many lines had no room.
        is_cut: whether the summary was cut.
    """

    text: str
    left_out: int
    is_cut: bool


def digest(
    entry: Entry, measure: Callable[[str], int], *, goals: Sequence[str] = (), most_tokens: int = DIGEST_TOKENS
) -> Digest:
    """Return the digest of an entry, at most `most_tokens` by `measure`, which never costs less for more text.

    Its summary first, then goals, what is open, decided, failed, done, and files: a line that has no room is left out,
    and so is all behind it.
    """
    head = f"journal, {entry.timestamp}: "
    summary = " ".join(entry.summary.split())
    text = head + summary
    lines = list(_lines(entry, goals))
    if measure(text) > most_tokens:
        text = _cut(head, summary, measure, most_tokens)
        return Digest(text, len(lines), is_cut=True)
    for number, line in enumerate(lines):
        longer = f"{text}\n{line}"
        if measure(longer) > most_tokens:
            return Digest(text, len(lines) - number, is_cut=False)
        text = longer
    return Digest(text, 0, is_cut=False)


def _lines(entry: Entry, goals: Sequence[str]) -> Iterator[str]:
    yield from (f"goal: {' '.join(one.split())}" for one in goals)
    for name, key in _LISTS.items():
        items: tuple[str, ...] = getattr(entry, key)
        yield from (f"{name}: {' '.join(one.split())}" for one in items)


def _cut(head: str, summary: str, measure: Callable[[str], int], most_tokens: int) -> str:
    """Return as much of the summary as has room, found by halving; "" where not even the head has."""
    least, most = 0, len(summary)
    if measure(f"{head}…") > most_tokens:
        return ""
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if measure(f"{head}{summary[:middle]}…") <= most_tokens else (least, middle - 1)
    return f"{head}{summary[:least].rstrip()}…"
