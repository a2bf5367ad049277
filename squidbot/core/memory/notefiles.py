"""Summary and declarative notes as files of YAML: each note has a text, and may have a category and a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.errors import ConfigError
from squidbot.core.text import iso_time, read_iso_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

DECLARATIVE, SUMMARY = "declarative_notes.yml", "summary_notes.yml"
# Names of the text of a note; squidbot writes the first.
_WORDS: Final = ("content", "summary", "note", "text")
_TIMES: Final = ("timestamp", "time", "date")


class Note(NamedTuple):
    """A note: its text, its category ("" for none), and its time in seconds since 1970, `None` if unknown."""

    text: str
    category: str = ""
    time: float | None = None


def notes_in(value: object, place: str) -> list[Note]:
    """Return the notes of a YAML file; errors name `place` and the number of the note, from 1.

    The file is a list of notes, each a text or a mapping with `content`, `category` and `timestamp`; or a mapping of
    categories, each with its texts. A list under `notes` is accepted, too.

    Raises:
        ConfigError: it is none of these.
    """
    if value is None:
        return []
    if isinstance(value, dict) and isinstance(value.get("notes"), list):
        value = value["notes"]
    if isinstance(value, dict):
        return [note for category, texts in value.items() for note in _under(str(category), texts, place)]
    if not isinstance(value, list):
        raise ConfigError(f"{place}: expected a list of notes, each a string, or content, category and timestamp")
    return [_note(note, f"{place}: note {number}") for number, note in enumerate(value, 1)]


def as_values(notes: Iterable[Note]) -> list[dict[str, str]]:
    """Return notes as a file says them."""
    return [dict(_fields(note)) for note in notes]


def _fields(note: Note) -> Iterator[tuple[str, str]]:
    if note.time is not None:
        yield "timestamp", iso_time(note.time)
    if note.category:
        yield "category", note.category
    yield "content", note.text


def _under(category: str, texts: object, place: str) -> Iterator[Note]:
    for number, text in enumerate(texts if isinstance(texts, list) else [texts], 1):
        note = _note(text, f"{place}: note {number} of {category}")
        yield note if note.category else note._replace(category=category)


def _note(value: object, place: str) -> Note:
    if isinstance(value, str) and value.strip():
        return Note(value.strip())
    if isinstance(value, dict):
        text = next((value[name] for name in _WORDS if value.get(name) is not None), None)
        category = value.get("category")
        if isinstance(text, str) and text.strip() and (category is None or isinstance(category, str)):
            return Note(text.strip(), category or "", _time(value, place))
    raise ConfigError(f"{place}: expected a string, or content, category and timestamp as strings")


def _time(value: Mapping[str, object], place: str) -> float | None:
    written = next((value[name] for name in _TIMES if value.get(name) is not None), None)
    if written is None:
        return None
    try:
        time = read_iso_time(str(written))
    except (ValueError, OverflowError) as error:
        raise ConfigError(f"{place}: {written!a:.40} is not a time; write it as 2026-01-27T12:34:56Z") from error
    if time < 0:
        raise ConfigError(f"{place}: {written!a:.40} is before 1970")
    return time
