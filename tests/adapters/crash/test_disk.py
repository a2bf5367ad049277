"""Disks that are full or read-only, locks that others hold, clocks that run backwards: clear errors, nothing lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.core.errors import DamagedStoreError, StoreError

from .told import FULL, ROOT, exchanges_in
from .writer import SESSION, exchange

if TYPE_CHECKING:
    from collections.abc import Iterator

NOBODY = 65534


def filled(path: Path, limit_bytes: int) -> tuple[int, int]:
    """Run `on_a_small_disk`, and return how many exchanges it recorded and how often it was refused."""
    script = Path(__file__).with_name("on_a_small_disk.py")
    command = [sys.executable, str(script), str(path), str(limit_bytes)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    exchanges, refusals = map(int, done.stdout.split())
    return exchanges, refusals


@pytest.mark.slow
@pytest.mark.parametrize("limit_kib", [70, 200, 4500] if FULL else [70, 200])
def test_nothing_is_lost_when_no_file_may_grow(limit_kib: int, tmp_path: Path) -> None:
    """The log, or the file that it is written back to, meets a limit: a typed error, all is readable, it goes on."""
    exchanges, refusals = filled(tmp_path / "s.db", limit_kib * 1024)
    assert refusals == 3
    assert exchanges_in(tmp_path / "s.db") == [("w", number) for number in range(exchanges)]


def test_nothing_is_lost_when_the_disk_is_full(tmp_path: Path) -> None:
    """A disk of 2 MB: the same."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    done = mount and subprocess.run([mount, "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], check=False)
    if not done or done.returncode:
        pytest.skip("no small disk can be mounted here")
    try:
        (disk / "ballast").write_bytes(bytes(2**20))
        exchanges, refusals = filled(disk / "s.db", 0)
        assert refusals == 3
        assert exchanges_in(disk / "s.db") == [("w", number) for number in range(exchanges)]
    finally:
        subprocess.run([str(shutil.which("umount")), disk], check=True)


@contextmanager
def as_nobody() -> Iterator[Path]:
    """Give a folder, in the role of a user to whom permissions apply."""
    folder = Path(tempfile.mkdtemp())
    root = os.geteuid() == 0
    if root:
        os.chown(folder, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    try:
        yield folder
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o700)
        shutil.rmtree(folder)


def told_once(path: Path) -> None:
    """Record one exchange, and read it."""
    with squidbot.load({"store": {"path": str(path)}}) as engine:
        session = engine.session(SESSION)
        made = session.assemble("w 0 why?")
        session.record(made.incoming, exchange("w", 0))
    assert exchanges_in(path) == [("w", 0)]


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="this system has no such permissions")
@pytest.mark.parametrize("kind", ["file", "folder", "unreadable"])
def test_opening_says_what_to_check_when_nothing_may_be_written(kind: str) -> None:
    """A StoreError about permissions, not about damage; with them back all is there."""
    with tempfile.TemporaryDirectory() as folder:  # all that is imported on first use: it may lie out of reach then
        told_once(Path(folder) / "s.db")
    with as_nobody() as place:
        path = place / "s.db"
        told_once(path)
        changed = place if kind == "folder" else path
        before = changed.stat().st_mode
        changed.chmod({"file": 0o444, "folder": 0o555, "unreadable": 0o000}[kind])
        with pytest.raises(StoreError, match="may be written") as caught:
            squidbot.load({"store": {"path": str(path)}}).session(SESSION).record("lost?")
        assert not isinstance(caught.value, DamagedStoreError)
        changed.chmod(before)
        assert exchanges_in(path) == [("w", 0)]


def test_record_says_that_nothing_was_written_when_another_program_holds_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the wait (30 seconds unless told otherwise) the session is as it was, and the same call works later."""
    defaults = SqliteStore.__init__.__kwdefaults__
    assert defaults is not None
    assert defaults["busy_seconds"] == 30
    monkeypatch.setitem(defaults, "busy_seconds", 0.2)
    path = tmp_path / "s.db"
    with squidbot.load({"store": {"path": str(path)}}) as engine, closing(sqlite3.connect(path)) as rival:
        session = engine.session(SESSION)
        made = session.assemble("w 0 why?")
        rival.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        with pytest.raises(StoreError, match=r"lock.*nothing was written"):
            session.record(made.incoming, exchange("w", 0))
        assert 0.1 < time.monotonic() - began < 20
        rival.execute("ROLLBACK")
        session.record(made.incoming, exchange("w", 0))
    assert exchanges_in(path) == [("w", 0)]


def test_order_is_kept_when_the_clock_runs_backwards(tmp_path: Path) -> None:
    """Hours back, a day ahead, in 1970 and in 2001: what was said first stays first, and requests are made."""
    path = tmp_path / "s.db"
    clock = [1_700_000_000.0, 1_699_996_400.0, 1_700_086_400.0, 0.0, 1e9, 1_699_999_999.0] * 3
    for number, now in enumerate(clock):  # opened each time, as by a process of its own
        with squidbot.load({"store": {"path": str(path)}}) as engine:
            session = engine.session(SESSION, window_tokens=4096)
            made = session.assemble(f"w {number} why? " + "why? " * 30, now=now)
            session.record(made.incoming, exchange("w", number), now=now)
    assert exchanges_in(path) == [("w", number) for number in range(len(clock))]
