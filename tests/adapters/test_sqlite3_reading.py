"""A store that is only read: it follows what others write, is searched, and changes no byte of the file."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.adapters.sqlite3 import SqliteStore, files, rows
from squidbot.adapters.sqlite3.memory.store import SqliteMemoryStore
from squidbot.core.errors import NotFoundError, StoreError
from squidbot.core.memories import SHARED, View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


# A reader that may not write to the folder: root drops its rights. It answers each line of its input.
READER = """
import os, sys, urllib.parse
from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.core.errors import StoreError
SqliteStore(":memory:").close()
if not os.getuid():
    os.setgid(65534)
    os.setuid(65534)
store = None
for line in sys.stdin:
    try:
        store = store or SqliteStore(sys.argv[1], read_only=True, follows=True)
        print(store.head("s")[0], len(store.read("s", 0, 999)), flush=True)
    except StoreError as error:
        print(error, flush=True)
"""
CRASH = """
import os, sys, squidbot
engine = squidbot.load({"store": {"path": sys.argv[1]}, "memory": {"extract": "off"}})
engine.session("s").record({"role": "user", "content": "late"})
os._exit(0)
"""


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Path]:
    """The store of `path` in a folder that others may read and not write to."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        run(SAY, folder / "s.db", "walrus", 70)
        for each in folder.iterdir():
            each.chmod(0o644)
        yield folder / "s.db"
        folder.chmod(0o755)
    assert tmp_path.is_dir()


@contextmanager
def reader(path: Path) -> Iterator[Callable[[], str]]:
    """Yield a function that lets the reader read, and returns what it says."""
    path.parent.chmod(0o555)
    command = [sys.executable, "-c", READER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        given, said = process.stdin, process.stdout

        def ask() -> str:
            given.write("\n")
            given.flush()
            return said.readline().strip()

        try:
            yield ask
        finally:
            path.parent.chmod(0o755)
            process.kill()


def test_a_log_that_a_reader_cannot_read_is_not_left_out(shared: Path) -> None:
    """A crash has left a log without its index, and the reader may make none: it says so, and what to do."""
    run(CRASH, shared)
    shared.with_name("s.db-shm").unlink()
    shared.with_name("s.db-wal").chmod(0o644)
    with reader(shared) as ask:
        said = ask()
        assert f"{shared}-wal may hold messages that the file lacks" in said
        assert "squidbot store backup" in said
        assert ask() == said
        shared.parent.chmod(0o755)
        run(SAY, shared, "otter", 1)  # the owner's next host empties the log into the file
        shared.parent.chmod(0o555)
        assert ask() == "72 72"


def test_a_reader_without_rights_sees_what_the_owner_writes(shared: Path) -> None:
    """The store is at rest when it is opened, and each time that it is read; then the owner has it open."""
    with reader(shared) as ask:
        assert ask() == "70 70"
        for messages in (370, 371):
            shared.parent.chmod(0o755)
            run(SAY, shared, "otter " * 400, messages - 70 if messages == 370 else 1)
            shared.parent.chmod(0o555)
            assert ask() == f"{messages} {messages}"
        shared.parent.chmod(0o755)
        with SqliteStore(shared) as owner:
            owner.append("s", 371, [replace(owner.read("s", 370, 370)[0], seq=371)])
            shared.parent.chmod(0o555)
            assert ask() == "372 372"
            shared.parent.chmod(0o755)
            owner.append("s", 372, [replace(owner.read("s", 370, 370)[0], seq=372)])
            assert ask() == "373 373"
        assert ask() == "373 373"


def refuse_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let SQLite open files without its locks only, as in a folder that it can't write to."""
    whole = files._open_reading

    def refused(path: str, busy_seconds: float, flags: str = "") -> sqlite3.Connection:
        if not flags:
            error = sqlite3.OperationalError("unable to open database file")
            error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
            raise error
        return whole(path, busy_seconds, flags)

    monkeypatch.setattr(files, "_open_reading", refused)


@pytest.fixture
def unlocked(path: Path, monkeypatch: pytest.MonkeyPatch) -> SqliteStore:
    """A store opened where SQLite can't make its files."""
    refuse_locks(monkeypatch)
    return SqliteStore(path, read_only=True, follows=True)


def test_what_is_read_while_another_program_writes_is_refused(
    unlocked: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be torn; after the next opening it is whole."""
    find, left = rows.find, [1]

    def found(connection: sqlite3.Connection, session_id: str) -> rows.SessionRow:
        session = find(connection, session_id)
        if left and left.pop():
            run(SAY, path, "otter", 300)
        return session

    with unlocked as store:
        monkeypatch.setattr(rows, "find", found)
        with pytest.raises(StoreError, match="another program wrote to the file during the reading; try again"):
            store.read("s", 0, 999)
        assert len(store.read("s", 0, 999)) == 370
        with pytest.raises(StoreError, match="readonly"):
            store.append("s", 370, [replace(store.read("s", 0, 0)[0], seq=370)])
    with pytest.raises(StoreError, match="closed"):
        store.head("s")
    run(SAY, path, "otter", 1)
    with pytest.raises(StoreError, match="closed"):
        store.head("s")


def test_an_open_log_is_never_left_out(unlocked: SqliteStore, path: Path) -> None:
    """As long as there is one that can't be read, nothing is; the lock is free after each refusal."""
    with unlocked as store:
        with SqliteStore(path) as owner:
            for _ in range(2):
                with pytest.raises(StoreError, match=r"s\.db-wal may hold messages that the file lacks"):
                    store.head("s")
            owner.append("s", 70, [replace(owner.read("s", 0, 0)[0], seq=70)])
        assert store.head("s")[0] == 71


def test_readers_leave_no_file_beside_a_store_at_rest(path: Path) -> None:
    """Two have it open; neither sees facts, and one that asks for them leaves nothing, either."""
    before, names = run(DIGEST, path), sorted(path.parent.iterdir())
    with SqliteStore(path, read_only=True, follows=True) as one, SqliteStore(path, read_only=True, follows=True) as two:
        assert one.head("s") == two.head("s")
        assert path.with_name("s.db-wal").exists()
    assert sorted(path.parent.iterdir()) == names
    with pytest.raises(NotFoundError):
        SqliteMemoryStore(path, read_only=True)
    assert sorted(path.parent.iterdir()) == names
    assert run(DIGEST, path) == before


def test_the_log_of_a_link_is_that_of_its_file(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads by a link misses nothing, and leaves nothing."""
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "s.db"
    link.symlink_to(path)
    with SqliteStore(link, read_only=True, follows=True) as store:
        assert store.head("s")[0] == 70
    assert not path.with_name("s.db-wal").exists()
    with SqliteStore(path) as owner:
        owner.append("s", 70, [replace(owner.read("s", 0, 0)[0], seq=70)])
        for follows in (False, True):
            with SqliteStore(link, read_only=True, follows=follows) as store:
                assert store.head("s")[0] == 71
        refuse_locks(monkeypatch)
        with pytest.raises(StoreError, match=r"s\.db-wal may hold messages that the file lacks"):
            SqliteStore(link, read_only=True, follows=True)


def test_a_reader_leaves_the_files_of_a_store_in_use(path: Path) -> None:
    """Of a host that has written nothing yet, as of one that has: both go on."""
    with SqliteStore(path) as host:
        for seq in (70, 71):
            with SqliteStore(path, read_only=True, follows=True) as store:
                assert store.head("s")[0] == seq
            assert path.with_name("s.db-wal").exists()
            host.append("s", seq, [replace(host.read("s", 0, 0)[0], seq=seq)])
    assert not path.with_name("s.db-wal").exists()
