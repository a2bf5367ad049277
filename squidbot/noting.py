"""Facts and the journal as files of notes in YAML, and such files taken over (P-12)."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.adapting.disk import make_folder, open_own
from squidbot.builtin import read_yaml, write_yaml
from squidbot.core.errors import SquidbotError, StoreError
from squidbot.core.journal.entry import Entry
from squidbot.core.memories import CATEGORIES
from squidbot.core.memory.asking import Added
from squidbot.core.memory.notefiles import DECLARATIVE, SUMMARY, Note, as_values, notes_in
from squidbot.journals import timed_rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from squidbot.adapters.yaml import Plain
    from squidbot.config import Loaded
    from squidbot.core.journal.ports import Journal
    from squidbot.core.memories import Category, Memory
    from squidbot.core.memory.asking import Memories

__all__ = ["Noted", "read_notes", "write_notes"]

_LOG: Final = logging.getLogger("squidbot")
PAGE: Final = 500
# So many entries of a journal become notes, the newest.
MOST_ENTRIES: Final = 1_000
# A larger file is none of notes.
MOST_BYTES: Final = 8 << 20


class Noted(NamedTuple):
    """What became of notes: facts, and entries of the journal; and how many were known already."""

    facts: int
    entries: int
    known: int = 0


def write_notes(memories: Memories, journal: Journal, folder: str | Path) -> Noted:
    """Write the facts that hold and the newest 1,000 entries of a journal into two files of a folder, oldest first.

    Raises:
        ConfigError: the extra `yaml` is not installed.
        SquidbotError: one of the files is there already; nothing was written.
        StoreError: the store or the disk failed.
    """
    facts = [Note(one.text, one.category, one.time) for one in _facts(memories)][::-1]
    entries = [Note(one.summary, " ".join(one.tags), one.time) for one in journal.latest(MOST_ENTRIES).entries][::-1]
    texts = {name: _written(notes, name) for name, notes in ((DECLARATIVE, facts), (SUMMARY, entries))}
    places = {name: Path(folder) / name for name in texts}
    for place in places.values():
        if os.path.lexists(place):
            raise SquidbotError(f"{place}: exists; nothing is overwritten, name another folder")
    try:
        make_folder(folder)
        for name, place in places.items():
            with open_own(place, "x") as file:
                file.write(texts[name].encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise StoreError(f"{folder}: {error.strerror}; check the disk and the path") from error
    return Noted(len(facts), len(entries))


def read_notes(memories: Memories, journal: Journal, folder: str | Path, loaded: Loaded) -> Noted:
    """Add what the two files of a folder say: declarative notes as facts, summary notes as entries of a journal.

    What is known already stays as it is. Both files are read before anything is added; one that is missing is empty.

    Raises:
        ConfigError: a file is no list of notes, or the extra `yaml` is not installed.
        SquidbotError: neither file is there, or a fact is too long; those before it were added.
        StoreError: the store or the disk failed, or a day has as many entries as it may; those before were added.
    """
    places = Path(folder) / DECLARATIVE, Path(folder) / SUMMARY
    if not any(map(os.path.lexists, places)):
        raise SquidbotError(f"{folder}: there is neither {DECLARATIVE} nor {SUMMARY}")
    facts, summaries = (_notes(place) for place in places)
    now = time.time()
    added = sum(_is_new(memories, note, now) for note in facts)
    told = list(_entries(journal, summaries, loaded, now))
    for entry in told:
        journal.append(entry)
    return Noted(added, len(told), len(facts) - added + len(summaries) - len(told))


def _written(notes: Iterable[Note], name: str) -> str:
    values: list[Plain] = [{**one} for one in as_values(notes)]
    return write_yaml(values, name)


def _notes(place: Path) -> list[Note]:
    try:
        if not os.path.lexists(place):
            return []
        if place.stat().st_size > MOST_BYTES:
            raise StoreError(f"{place}: more than {MOST_BYTES:,} bytes; that is no file of notes")
        text = place.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise StoreError(f"{place}: {error.strerror}; check the disk and the path") from error
    except UnicodeDecodeError as error:
        raise StoreError(f"{place}: byte {error.start:,} is not UTF-8; save it as UTF-8") from error
    return notes_in(read_yaml(text, str(place)), str(place))


def _is_new(memories: Memories, note: Note, now: float) -> bool:
    """Add a note as a fact, and return whether it was not known."""
    category: Category = next((one for one in CATEGORIES if one == note.category), "background")
    tags = (note.category,) if note.category and category != note.category else ()
    added = Added(note.text, category, "", tags, "import", reason="a declarative note was taken over")
    return any(one.time == now for one in memories.add(added, now).memories)


def _entries(journal: Journal, notes: Iterable[Note], loaded: Loaded, now: float) -> Iterator[Entry]:
    """Yield notes as entries, but those whose words are in the journal already, as it keeps them."""
    rules = timed_rules(loaded, _LOG.warning)
    known = {one.summary for one in journal.latest(MOST_ENTRIES).entries}
    for note in notes:
        tags = tuple(note.category.split()) or ("note",)
        entry = rules.taken(Entry(now if note.time is None else note.time, note.text, tags=tags)).entry
        if entry.summary not in known:
            known.add(entry.summary)
            yield entry


def _facts(memories: Memories) -> Iterator[Memory]:
    """Yield the facts of a view that hold, newest first."""
    after = ""
    while page := memories.store.listed(memories.view, limit=PAGE, after=after):
        yield from page
        after = page[-1].memory_id
