"""Processes that add memories at once, and one that is killed: nothing acknowledged is lost, halved or doubled."""

from __future__ import annotations

import random
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.adapters.sqlite3.doctor import check
from squidbot.adapters.sqlite3.memory import SqliteMemoryStore, rows
from squidbot.core.memories import View
from squidbot.testing import made_message

from .memory_writer import ANN
from .told import FULL, acknowledged, ended, killed, show, start

if TYPE_CHECKING:
    from pathlib import Path

WRITERS = 4
PAIRS = 1000 if FULL else 40
KILLS = 200 if FULL else 6
WRITER = "memory_writer.py"


def pairs_in(path: Path) -> dict[str, int]:
    """Return how many pairs of each writer are in a store, having checked that they are whole, and found."""
    with SqliteMemoryStore(path) as store:
        kept = {
            memory.memory_id: memory for memory in rows.readable(store._connection, 0, 1_000_000).values() if memory
        }
        listed = {memory.memory_id for memory in store.listed(View(ANN), limit=1_000_000, past=True)}
        holding = {memory.memory_id for memory in store.listed(View(ANN), limit=1_000_000)}
        counts: dict[str, int] = {}
        for memory in kept.values():
            kind, name, _ = memory.text.split()
            counts[name] = counts.get(name, 0) + (kind == "stays")
        for name, count in counts.items():
            for number in range(count):
                assert kept[f"{name}-{number}"].text == f"stays {name} {number}"
                newest = kept[f"{name}-newest-{number}"]
                assert newest.superseded_by == (f"{name}-newest-{number + 1}" if number + 1 < count else "")
            first = store.search(f"stays {name} {count - 1}", View(ANN), now=0.0)[0]
            assert first.key == f"{name}-{count - 1}"
    assert listed == set(kept)
    assert holding == {each.memory_id for each in kept.values() if not each.superseded_by}
    assert len(kept) == 2 * sum(counts.values()), "half a pair"
    health = check(path, proves_words=True)
    assert health.whole, health
    return counts


@pytest.mark.slow
def test_four_processes_lose_nothing_when_they_add_to_a_file_without_memories_at_once(tmp_path: Path) -> None:
    """A file of before, which holds a session: each of them finds it without tables, one makes these, all go on."""
    path = tmp_path / "s.db"
    with closing(SqliteStore(path)) as sessions:
        sessions.append("s", 0, [made_message(0, "tea")])
        began = time.monotonic()
        writers = [start(path, f"w{number}", PAIRS, script=WRITER) for number in range(WRITERS)]
        outputs = ended(writers, PAIRS)
        assert pairs_in(path) == {f"w{number}": PAIRS for number in range(WRITERS)}
        assert sessions.read("s", 0, 9) == [made_message(0, "tea")]
    told = sorted(float(line.split()[1]) for output in outputs for line in output.splitlines())
    show(f"{WRITERS * PAIRS} pairs in {time.monotonic() - began:.1f} s; add ms: p50 {told[len(told) // 2]}")


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_when_the_one_who_adds_is_killed_at_any_moment(tmp_path: Path) -> None:
    """SIGKILL at random moments, from the creation of the file on; the same file each ten times, then a new one."""
    chance = random.Random(5)  # noqa: S311  # repeatable
    acked: dict[str, int] = {}
    for kill in range(KILLS):
        path = tmp_path / f"{kill // 10}.db"
        if kill % 10 == 0:
            acked = {}
        name = f"w{kill}"
        told = len(acknowledged(killed(path, name, kill, chance, WRITER)))
        kept = pairs_in(path)
        # Stored, and killed before it could be told: at most the last pair of this writer.
        assert kept.pop(name, 0) in {told, told + 1}
        assert kept == acked
        acked = pairs_in(path)
