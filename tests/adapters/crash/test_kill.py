"""A writer is killed at any moment: what it acknowledged is there, and the store goes on."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from .told import FULL, acknowledged, check_kills, exchanges_in, show, start

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

KILLS = 200 if FULL else 8
STRACE = shutil.which("strace")
# The calls by which files are changed; the memory that processes share is not one, it is made anew after a crash.
WRITES = ("pwrite64", "write", "ftruncate", "fdatasync", "fsync", "unlink")


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_when_the_writer_is_killed_at_any_moment(tmp_path: Path) -> None:
    """SIGKILL at random moments, from the creation of the file on; the same file each ten times, then a new one."""
    check_kills(KILLS, lambda number: tmp_path / f"{number}.db")


full_with_strace = pytest.mark.skipif(not (FULL and STRACE), reason="hundreds of processes, under strace")


@full_with_strace
@pytest.mark.parametrize("call", WRITES)
def test_nothing_acknowledged_is_lost_when_the_writer_is_killed_at_each_of_its_writes(
    call: str, tmp_path: Path
) -> None:
    """The real process, the real SQLite: killed as it enters its first, second, ... system call that writes."""
    exchanges = 12
    for number in range(1, 10_000):
        path = tmp_path / f"{number}.db"
        process, acked, _ = injected(path, exchanges, f"inject={call}:signal=KILL:when={number}")
        if process.returncode == 0:
            assert acked == list(range(exchanges))
            show(f"killed at each of {number - 1} calls of {call}")
            break
        if path.exists() and path.stat().st_size:
            kept = exchanges_in(path)
            assert kept == [("w", each) for each in range(len(kept))]
            assert len(acked) <= len(kept) <= len(acked) + 1
        else:
            assert acked == []
        cleared(path)


@full_with_strace
@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
@pytest.mark.parametrize("call", WRITES)
def test_nothing_is_lost_when_the_disk_refuses_any_one_write(call: str, error: str, tmp_path: Path) -> None:
    """Each system call that writes fails once: no error or one that says so, and the same call again stores it once."""
    exchanges, refusals = 12, 0
    for number in range(1, 10_000):
        path = tmp_path / f"{number}.db"
        process, acked, complaint = injected(path, exchanges, f"inject={call}:error={error}:when={number}", tries=2)
        assert process.returncode == 0, complaint[-2000:]
        assert acked == list(range(exchanges))
        assert exchanges_in(path) == [("w", each) for each in range(exchanges)]
        assert all("nothing was" in line for line in complaint.splitlines()), complaint
        refusals += bool(complaint)
        if "INJECTED" not in strace_log(path).read_text():
            show(f"{error} at each of {number - 1} calls of {call}, {refusals} of them told")
            break
        cleared(path)


def injected(path: Path, exchanges: int, what: str, tries: int = 1) -> tuple[subprocess.Popen[str], list[int], str]:
    """Run a writer with a fault; return its process, what it acknowledged, and its complaints."""
    files = [option for ending in ("", "-wal", "-journal", "-known") for option in ("-P", f"{path}{ending}")]
    calls = f"trace={','.join(WRITES)}"
    before = [str(STRACE), "-f", "-qq", "-o", str(strace_log(path)), *files, "-e", calls, "-e", what]
    with start(path, "w", exchanges, before, tries) as process:
        output, complaint = process.communicate()
    return process, acknowledged(output), complaint


def strace_log(path: Path) -> Path:
    """Return where the calls of a run are written."""
    return path.with_name("strace")


def cleared(path: Path) -> None:
    """Remove a store."""
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()
