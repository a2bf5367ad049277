"""A store that is only read: it follows what others write, is searched, and changes no byte of the file."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.adapters.sqlite3.memory.store import SqliteMemoryStore
from squidbot.core.errors import NotFoundError, StoreError
from squidbot.core.memories import SHARED, View

if TYPE_CHECKING:
    from pathlib import Path

# `open` in this process would drop SQLite's locks on the file: another one reads it.
DIGEST = "import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], 'rb').read()).hexdigest())"
SAY = """
import sys, squidbot
with squidbot.load({"store": {"path": sys.argv[1]}, "memory": {"extract": "off"}}) as engine:
    engine.session("s").record(*({"role": "user", "content": f"{sys.argv[2]} {n}"} for n in range(int(sys.argv[3]))))
"""


def run(code: str, *arguments: object) -> str:
    """Run a program in a process of its own, and return what it prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store at rest: one session of 70 messages, of which search knows the first 64."""
    path = tmp_path / "s.db"
    run(SAY, path, "walrus", 70)
    return path


def test_it_follows_another_process_and_changes_no_byte(path: Path) -> None:
    """Also from a file that nobody has open at first, and in other threads than its own."""
    before, counts = run(DIGEST, path), list[int]()
    with SqliteStore(path, read_only=True, follows=True) as store:

        def count() -> None:
            counts.append(store.head("s")[0])

        count()
        run(SAY, path, "otter", 3)
        other = threading.Thread(target=count)
        other.start()
        other.join()
        assert counts == [70, 73]
        assert run(DIGEST, path) == before  # what the others wrote is in the log
        with pytest.raises(StoreError):
            store.append("s", 73, store.read("s", 0, 0))
    assert run(DIGEST, path) == before


def test_it_finds_what_no_index_has_yet(path: Path) -> None:
    """As a store that may write finds it, in the same order, page by page; with and without an index."""
    run(SAY, path, "a walrus and an otter", 3)
    queries = ("walrus", "otter", "walrus otter", '"an otter" 2', "walrus 69", "nothing of this")
    with SqliteStore(path, read_only=True, follows=True) as store:
        read = {query: store.search("s", query, 9) for query in queries}
        after = store.search("s", "walrus", 9, read["walrus"][-1])
        assert store.search("none", "walrus", 9) == []
    with SqliteStore(path) as store:
        assert read == {query: store.search("s", query, 9) for query in queries}
        assert after == store.search("s", "walrus", 9, read["walrus"][-1])
    assert [match.seq for match in read["otter"]] == [72, 71, 70]


def test_facts_are_read_as_they_come(path: Path) -> None:
    """Before there are any, that is said; none can be added."""
    with pytest.raises(NotFoundError, match="no durable facts are stored there yet"):
        SqliteMemoryStore(path, read_only=True)
    with squidbot.load({"store": {"path": str(path)}}) as engine:
        memories = engine.session("s", scope=SHARED)
        memories.memory({"action": "add", "text": "Ann keeps bees"})
    before = run(DIGEST, path)
    with SqliteMemoryStore(path, read_only=True) as store:
        (fact,) = store.listed(View(SHARED))
        assert fact.text == "Ann keeps bees"
        with pytest.raises(StoreError):
            store.forget([fact.memory_id])
    assert run(DIGEST, path) == before
