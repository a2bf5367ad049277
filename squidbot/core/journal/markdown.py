"""An entry, and a day, as Markdown for people: what an entry says never reads as the frame around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from squidbot.core.journal.entry import Entry

__all__ = ["as_markdown", "day_as_markdown"]

_HEADINGS: Final = {
    "decisions": "Decisions",
    "progress": "Progress",
    "open_questions": "Open questions",
    "files_touched": "Files",
    "errors": "Errors",
}


def as_markdown(entry: Entry) -> str:
    """Return an entry as a heading of the second rank with all that it has, each line ended."""
    return "".join(f"{one.rstrip()}\n" for one in _lines(entry))


def day_as_markdown(day: str, entries: Sequence[Entry]) -> str:
    """Return a day's entries in their order under one heading; a day without any says so."""
    if not entries:
        return f"# {day}\n\nNo entries.\n"
    return "\n".join([f"# {day}\n", *map(as_markdown, entries)])


def _lines(entry: Entry) -> Iterator[str]:
    """Yield lines of which no foreign one begins at the margin: those are quoted, or stand within an item."""
    yield f"## {entry.timestamp[11:]}"
    yield ""
    yield from _about(entry)
    yield from (f"> {line}" for line in _split(entry.summary))
    for key, heading in _HEADINGS.items():
        items: tuple[str, ...] = getattr(entry, key)
        if items:
            yield ""
            yield f"**{heading}**"
            yield ""
            yield from (f"{'- ' if first else '  '}{line}" for one in items for first, line in _marked(one))


def _about(entry: Entry) -> Iterator[str]:
    """Yield the line that says whose it is, of what, and how it is found; none where there is nothing to say."""
    about = [_flat(one) for one in (entry.agent_id, entry.run_id, entry.source_session) if one]
    if entry.total_tokens is not None:
        about.append(f"{entry.total_tokens:,} tokens")
    about += [f"#{_flat(tag)}" for tag in entry.tags]
    if about:
        yield f"- {' · '.join(about)}"
        yield ""


def _marked(text: str) -> Iterator[tuple[bool, str]]:
    return ((number == 0, line) for number, line in enumerate(_split(text)))


def _split(text: str) -> list[str]:
    return text.splitlines() or [""]


def _flat(text: str) -> str:
    return " ".join(text.split())
