"""Summary and declarative notes, as document 003 keeps them in YAML: each has a category and a text (P-12)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["DECLARATIVE", "SUMMARY", "Note", "as_values", "notes_in"]

DECLARATIVE, SUMMARY = "declarative_notes.yml", "summary_notes.yml"
# What a note's words are called, by us first.
_WORDS: Final = ("content", "summary", "note", "text")
_TIMES: Final = ("timestamp", "time", "date")


class Note(NamedTuple):
    """A note: its words, its category ("" for none), and when it was made, in seconds since 1970; None: nobody says."""

    text: str
    category: str = ""
    time: float | None = None


def notes_in(value: object, place: str) -> list[Note]:
    """Return the notes that a file of YAML says; an error calls the file `place`.

    A list of notes, each a text or a mapping with `content`, `category` and `timestamp`; or a mapping of categories,
    each with its texts. Of a list under `notes` the notes are taken.

    Raises:
        ConfigError: it is none of these; which note, from 1, is named.
    """
    if value is None:
        return []
    if isinstance(value, dict) and isinstance(value.get("notes"), list):
        value = value["notes"]
    if isinstance(value, dict):
        return [note for category, texts in value.items() for note in _under(str(category), texts, place)]
    if not isinstance(value, list):
        raise ConfigError(f"{place}: a list of notes is wanted, each a text, or content, category and timestamp")
    return [_note(one, f"{place}: note {number}") for number, one in enumerate(value, 1)]


def as_values(notes: Iterable[Note]) -> list[dict[str, str]]:
    """Return notes as a file says them."""
    return [dict(_fields(one)) for one in notes]


def _fields(note: Note) -> Iterator[tuple[str, str]]:
    if note.time is not None:
        yield "timestamp", f"{datetime.fromtimestamp(int(note.time), UTC).replace(tzinfo=None).isoformat()}Z"
    if note.category:
        yield "category", note.category
    yield "content", note.text


def _under(category: str, texts: object, place: str) -> Iterator[Note]:
    for number, one in enumerate(texts if isinstance(texts, list) else [texts], 1):
        note = _note(one, f"{place}: note {number} of {category}")
        yield note if note.category else note._replace(category=category)


def _note(value: object, place: str) -> Note:
    if isinstance(value, str) and value.strip():
        return Note(value.strip())
    if isinstance(value, dict):
        text = next((value[name] for name in _WORDS if value.get(name) is not None), None)
        category = value.get("category")
        if isinstance(text, str) and text.strip() and (category is None or isinstance(category, str)):
            return Note(text.strip(), category or "", _time(value, place))
    raise ConfigError(f"{place}: a text is wanted, or content, category and timestamp as texts")


def _time(value: Mapping[str, object], place: str) -> float | None:
    said = next((value[name] for name in _TIMES if value.get(name) is not None), None)
    if said is None:
        return None
    try:
        made = datetime.fromisoformat(str(said))
        time = (made if made.tzinfo else made.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError) as error:
        raise ConfigError(f"{place}: {said!a:.40} is no time; write it as 2026-01-27T12:34:56Z") from error
    if time < 0:
        raise ConfigError(f"{place}: {said!a:.40} is before 1970")
    return time
