"""Claims in a store's file: seen by all processes, by older squidbots passed over, in no copy of a damaged file."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.adapters.sqlite3.doctor import check, repair
from squidbot.core.errors import StoreError
from squidbot.core.messages import Category, Erasure
from squidbot.testing import made_message

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1_800_000_000.0


ASKER = """
import sys
from squidbot.adapters.sqlite3 import SqliteStore
with SqliteStore(sys.argv[1]) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    print(store.claim("s", "work", sys.argv[2], float(sys.argv[3]), 60.0))
"""


def test_one_of_several_processes_gets_a_claim_when_they_ask_at_once(tmp_path: Path) -> None:
    """The table is not there yet: whoever is first makes it."""
    path = tmp_path / "s.db"
    SqliteStore(path).close()
    askers = [
        subprocess.Popen(
            [sys.executable, "-c", ASKER, str(path), str(number), str(NOW)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    for asker in askers:
        assert asker.stdout is not None
        assert asker.stdout.readline() == "ready\n"
    for asker in askers:
        assert asker.stdin is not None
        asker.stdin.write("\n")
        asker.stdin.flush()
    said = [asker.communicate(timeout=30)[0] for asker in askers]
    assert sorted(said) == ["False\n", "False\n", "True\n"]
    with SqliteStore(path) as store:
        assert not store.claim("s", "work", "late", NOW + 59.0, 60.0)
        assert store.claim("s", "work", "late", NOW + 60.0, 60.0)


def test_doctor_finds_nothing_wrong_with_claims_and_copies_none(tmp_path: Path) -> None:
    """Nobody works on a copy; what was said is all there, and so it is when messages were forgotten."""
    path, target = tmp_path / "s.db", tmp_path / "copy.db"
    with SqliteStore(path) as store:
        store.append("s", 0, [made_message(0), made_message(1)])
        for number in range(50):
            assert store.claim("s", f"kind {number}", "holder", NOW, 60.0)
        store.forget("s", Erasure((2, 0), (replace(made_message(0, "gone"), category=Category.FORGOTTEN),)))
    assert check(path).whole
    repaired = repair(path, target)
    assert (repaired.messages, repaired.damaged) == (2, 0)
    with SqliteStore(target) as store:
        assert [one.seq for one in store.read("s", 0, 9)] == [0, 1]
        assert store.claim("s", "kind 1", "another", NOW, 60.0)


def test_store_that_only_reads_refuses_to_claim(tmp_path: Path) -> None:
    """It writes nothing, whatever is asked."""
    path = tmp_path / "s.db"
    SqliteStore(path).close()
    with SqliteStore(path, read_only=True) as store, pytest.raises(StoreError):
        store.claim("s", "work", "a", NOW, 60.0)
