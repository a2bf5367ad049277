"""Every state that a kill, a power cut or a failing disk can leave: nothing acknowledged is lost, the store opens."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.adapters.sqlite3 import files

from .told import FULL, exchanges_in, show
from .writer import SESSION, exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytest.importorskip("apsw", reason="its SQLite passes its calls to the system through Python")

from .recorder import Note, after_cut, after_kill, laid_out, noting  # needs apsw

EXCHANGES = 60 if FULL else 4
# Pages after which the log is written back: so few that this, and starting the log anew, happen between exchanges.
CHECKPOINT_PAGES = 12


def recorded(path: Path, synchronous: str = "FULL") -> list[Note]:
    """Record exchanges through the engine; return the notes of it."""
    changes = {"wal_autocheckpoint": str(CHECKPOINT_PAGES), "synchronous": synchronous}
    names = [setting.split()[1] for setting in files.SETTINGS]
    settings = [
        f"PRAGMA {name} = {changes[name]}" if name in changes else setting
        for name, setting in zip(names, files.SETTINGS, strict=True)
    ]
    with noting(settings) as notes, squidbot.load({"store": {"path": str(path)}}) as engine:
        session = engine.session(SESSION, window_tokens=4096)
        for number in range(EXCHANGES):
            made = session.assemble(f"w {number} " + "why? " * 20)
            session.record(made.incoming, exchange("w", number))
            notes.append(Note("told", str(number)))
    return notes


def states(
    notes: list[Note], make: Callable[[list[Note], int], dict[str, bytes]], chances: int = 1
) -> Iterator[tuple[int, dict[str, bytes]]]:
    """Return each state of the files that differs from the one before, and what was acknowledged by then."""
    seen: set[tuple[int, int]] = set()
    for place in range(1, len(notes) + 1):
        told = sum(note.call == "told" for note in notes[:place])
        for number in range(chances):
            found = make(notes[:place], number)
            mark = told, hash(tuple(sorted(found.items())))
            if mark not in seen:
                seen.add(mark)
                yield told, found


def survivals(folder: Path, found: Iterator[tuple[int, dict[str, bytes]]]) -> int:
    """Open each state: all that was told is there, and at most one exchange more. Return how many there were."""
    count = 0
    for count, (told, state) in enumerate(found, 1):  # noqa: B007  # how many there are is the answer
        laid_out(folder / "state", state)
        kept = exchanges_in(folder / "state" / "s.db")
        assert kept == [("w", number) for number in range(len(kept))]
        assert told <= len(kept) <= told + 1
        shutil.rmtree(folder / "state")
    show(f"{count} states of the files")
    return count


def test_nothing_is_lost_when_the_writer_is_killed_after_any_of_its_writes(tmp_path: Path) -> None:
    """Each prefix of what was written, from the creation of the file on: whole exchanges, all that were told."""
    notes = recorded(tmp_path / "s.db")
    assert survivals(tmp_path, states(notes, lambda some, _: after_kill(some))) > 10 * EXCHANGES


def test_nothing_is_lost_when_the_power_is_cut_after_any_write(tmp_path: Path) -> None:
    """Each prefix without what was not synced: whole exchanges, all that were told."""
    notes = recorded(tmp_path / "s.db")
    assert survivals(tmp_path, states(notes, lambda some, _: after_cut(some))) > 2 * EXCHANGES


def test_nothing_is_lost_when_the_power_is_cut_and_any_part_of_the_rest_was_written(tmp_path: Path) -> None:
    """The disk writes what was not synced in any order, torn between sectors: still all that were told."""
    notes = recorded(tmp_path / "s.db")
    chances = 30 if FULL else 2

    def cut(some: list[Note], number: int) -> dict[str, bytes]:
        return after_cut(some, random.Random(len(some) * 97 + number))  # noqa: S311  # repeatable

    assert survivals(tmp_path, states(notes, cut, chances)) > 2 * EXCHANGES


def test_the_test_finds_a_loss_when_nothing_is_synced(tmp_path: Path) -> None:
    """With synchronous = OFF the same power cut loses what was told: the notes tell the difference."""
    notes = recorded(tmp_path / "s.db", "OFF")
    last_told = max(place for place, note in enumerate(notes) if note.call == "told")
    laid_out(tmp_path / "state", after_cut(notes[: last_told + 1]))
    assert len(exchanges_in(tmp_path / "state" / "s.db")) < EXCHANGES
