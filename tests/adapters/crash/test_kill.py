"""A writer is killed at any moment: what it acknowledged is there, and the store goes on."""

from __future__ import annotations

import random
import shutil
import signal
import time
from typing import TYPE_CHECKING

import pytest

from .told import FULL, acknowledged, exchanges_in, show, start

if TYPE_CHECKING:
    from pathlib import Path

KILLS = 200 if FULL else 8
STRACE = shutil.which("strace")
# The calls by which SQLite changes files; the memory that processes share is not one, it is made anew after a crash.
WRITES = "pwrite64,write,ftruncate,fdatasync,fsync,unlink"


def test_nothing_acknowledged_is_lost_when_the_writer_is_killed_at_any_moment(tmp_path: Path) -> None:
    """SIGKILL at random moments, from the creation of the file on; the same file each ten times, then a new one."""
    chance = random.Random(5)  # noqa: S311  # repeatable
    acked: list[tuple[str, int]] = []
    for kill in range(KILLS):
        path = tmp_path / f"{kill // 10}.db"
        if kill % 10 == 0:
            acked = []
        name = f"w{kill}"
        with start(path, name, 10**9) as process:
            assert process.stdout is not None
            # One in five dies while it starts or makes the file; the others between any two bytes of their work.
            output = "" if kill % 5 == 0 else "".join(process.stdout.readline() for _ in range(chance.randint(1, 8)))
            time.sleep(chance.random() * (0.4 if kill % 5 == 0 else 0.02))
            process.send_signal(signal.SIGKILL)
            output += process.stdout.read()
        acked += [(name, number) for number in acknowledged(output)]
        kept = exchanges_in(path)
        assert len(set(kept)) == len(kept), "an exchange is there twice"
        unheard = [each for each in kept if each not in set(acked)]
        assert [each for each in kept if each not in set(unheard)] == acked
        # Stored, and killed before it could be told: at most the last one of this writer.
        assert unheard in ([], [(name, len(acknowledged(output)))])
        acked = kept


@pytest.mark.skipif(STRACE is None, reason="strace is not installed: it kills at a given system call")
@pytest.mark.skipif(not FULL, reason="hundreds of processes; test_power replays the same moments in this process")
def test_nothing_acknowledged_is_lost_when_the_writer_is_killed_at_each_of_its_writes(tmp_path: Path) -> None:
    """The real process, the real SQLite: killed as it enters its first, second, ... system call that writes."""
    exchanges = 12
    for number in range(1, 10_000):
        path = tmp_path / f"{number}.db"
        inject = f"inject={WRITES}:signal=KILL:when={number}"
        before = [str(STRACE), "-f", "-o", "/dev/null", "-P", str(path), *watched(path), "-e", inject]
        with start(path, "w", exchanges, before) as process:
            output, _ = process.communicate()
        acked = acknowledged(output)
        if path.exists() and path.stat().st_size:
            kept = [each for _, each in exchanges_in(path)]
            assert kept == list(range(len(kept)))
            assert len(acked) <= len(kept) <= len(acked) + 1
        else:
            assert acked == []
        if process.returncode == 0:
            assert len(acked) == exchanges
            assert number > 10 * exchanges
            show(f"killed at each of {number - 1} calls")
            break
        for each in tmp_path.glob(f"{number}.db*"):
            each.unlink()


def watched(path: Path) -> list[str]:
    """Return the options that confine strace to the store's files."""
    return [option for ending in ("-wal", "-journal", "-known") for option in ("-P", f"{path}{ending}")]
