"""Forgetting is cut off at any moment: all of it or nothing was done, and opening the store ends what was left."""

from __future__ import annotations

import random
import shutil
from functools import partial
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.sqlite3 import SqliteStore, doctor, files
from squidbot.core.messages import Erasure, Record
from squidbot.testing import made_message, made_summary
from squidbot.testing.transcripts import made_tombstone

from .told import FULL, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytest.importorskip("apsw", reason="its SQLite passes its calls to the system through Python")

from .recorder import Note, after_cut, after_kill, laid_out, noting  # needs apsw

MESSAGES, GONE = 40, (3, 20, 21, 37)
SETTINGS = (*files.SETTINGS, "PRAGMA secure_delete = OFF")
# Each stands in something else that goes: a short message, one over many pages, a record, a summary.
WORDS = ("zebrafinch", "quokkawalk", "ocelotpaws", "jackalcall")
NOISE = " ".join(str(random.Random(7).random()) for _ in range(400))  # noqa: S311  # repeatable
SAID = {3: WORDS[0], 20: f"{NOISE} {WORDS[1]}", 37: WORDS[0]}
ROWS = [made_message(seq, f"tea {SAID.get(seq, seq)}") for seq in range(MESSAGES)]
GRAVES = tuple(made_tombstone(ROWS[seq]) for seq in GONE)
ERASURE = Erasure(
    expected=(MESSAGES, 1),
    tombstones=GRAVES,
    replaced=(Record("ledger", 0, "{}"),),
    appended=(Record("forgotten", 0, "{}"),),
    summaries=("told",),
)


def forgotten(path: Path) -> tuple[list[Note], int]:
    """Store a session and forget some of it; return the notes of it, and how many were made before forgetting."""
    with noting(SETTINGS) as notes, SqliteStore(path) as store:
        store.append("s", 0, ROWS[:35])
        store.append("s", 35, ROWS[35:], [Record("ledger", 0, WORDS[2])])
        store.put(made_summary("told", 0, 9, text=WORDS[3]))
        before = len(notes)
        store.forget("s", ERASURE)
        assert store.is_scrubbed()
        notes.append(Note("told", ""))
        store.append("s", MESSAGES, [made_message(MESSAGES, "tea")])
    return notes, before


def is_forgotten(store: SqliteStore) -> bool:
    """Check that all of it was done, or nothing; say which."""
    rows = store.read("s", 0, MESSAGES - 1)
    done = rows != ROWS
    due = ROWS[:]
    for grave in GRAVES if done else ():
        due[grave.seq] = grave
    assert rows == due
    assert [record.body for record in store.records("s", "ledger")] == ["{}" if done else WORDS[2]]
    assert len(store.records("s", "forgotten")) == done
    assert len(store.by_id("s", ["told"])) == 1 - done
    assert [found.seq for found in store.search("s", WORDS[0], 9)] == ([] if done else [37, 3])
    assert {*range(MESSAGES)} - {*(found.seq for found in store.search("s", "tea", 999))} == (
        {*GONE} if done else set()
    )
    return done


def states(
    notes: list[Note], before: int, make: Callable[[list[Note], int], dict[str, bytes]]
) -> Iterator[tuple[bool, dict[str, bytes]]]:
    """Return each state of the files from forgetting on that differs from the one before; was it told by then."""
    seen = 0
    for place in range(before, len(notes) + 1):
        found = make(notes[:place], place)
        told = any(note.call == "told" for note in notes[:place])
        mark = hash((told, tuple(sorted(found.items()))))
        if mark != seen:
            seen = mark
            yield told, found


def survivals(folder: Path, found: Iterator[tuple[bool, dict[str, bytes]]]) -> tuple[int, int]:
    """Open each state: it is whole; where it is the new one, no byte of the old stays. Return how many of each."""
    counts = [0, 0]
    for told, state in found:
        laid_out(folder / "state", state)
        path = folder / "state" / "s.db"
        with SqliteStore(path) as store:
            done = is_forgotten(store)
            assert done or not told
            assert store.is_scrubbed()
            held = b"".join(each.read_bytes() for each in path.parent.glob("s.db*"))
            assert [word for word in WORDS if word.encode()[3:] in held and done] == []
        if counts[done] < 3 or told:
            assert doctor.check(path, proves_words=True).whole
        counts[done] += 1
        shutil.rmtree(path.parent)
    show(f"{counts} states of the files, old and new")
    return counts[0], counts[1]


def test_forgetting_is_whole_when_the_process_is_killed_after_any_of_its_writes(tmp_path: Path) -> None:
    """Each prefix of what was written; opening the store ends what was begun."""
    notes, before = forgotten(tmp_path / "s.db")
    old, new = survivals(tmp_path, states(notes, before, lambda some, _: after_kill(some)))
    assert old > 5
    assert new > 50


def test_forgetting_is_whole_when_the_power_is_cut_after_any_write(tmp_path: Path) -> None:
    """Without what was not synced, and with any part of it: the old state or the new one, and no word of the old."""
    notes, before = forgotten(tmp_path / "s.db")

    def torn(some: list[Note], number: int, more: int = 0) -> dict[str, bytes]:
        return after_cut(some, random.Random(number * 97 + more))  # noqa: S311  # repeatable

    cuts: list[Callable[[list[Note], int], dict[str, bytes]]] = [lambda some, _: after_cut(some), torn]
    if FULL:
        cuts += [partial(torn, more=more) for more in range(1, 30)]
    for cut in cuts:
        old, new = survivals(tmp_path, states(notes, before, cut))
        assert old > 0
        assert new > 1
