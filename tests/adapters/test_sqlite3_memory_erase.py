"""What is forgotten of memories: out of the rows, the index, the vectors, and the bytes of every file of the store."""

from __future__ import annotations

import sqlite3
import string
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from squidbot.adapters.sqlite3 import SqliteStore, files
from squidbot.adapters.sqlite3.memory import SqliteMemoryStore
from squidbot.core.memories import Memory, Source
from squidbot.testing import made_memory
from squidbot.testing.memories import ANN, SEEN


@pytest.fixture(autouse=True)
def sqlite_as_delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turn off what some systems build SQLite with: it fills with zeros whatever it deletes, as far as it knows."""
    monkeypatch.setattr(files, "SETTINGS", (*files.SETTINGS, "PRAGMA secure_delete = OFF"))


SECRET = st.text(string.ascii_lowercase, min_size=12, max_size=20)


def secret_memory(word: str, number: int) -> Memory:
    """Return a memory with a word wherever a memory can hold text, too long for a page each third time."""
    text = f"{word} " * (2000 if number % 3 == 0 else 1)
    source = Source(f"session {word}", 0, 1, f"notes/{word}.md", f"digest {word}")
    return Memory(
        f"f-{number}", text, "core", ANN._replace(thread=f"thread {word}"), float(number), "user", f"speaker {word}",
        (f"tag {word}",), (source,), 0.5, f"reason {word}",
    )  # fmt: skip


def bytes_of(path: Path) -> bytes:
    """Return all that stands in the files of a store."""
    return b"\n".join(each.read_bytes() for each in sorted(path.parent.glob(f"{path.name}*")))


@settings(max_examples=15)
@given(st.lists(SECRET, min_size=1, max_size=12, unique=True), st.data())
def test_no_byte_of_a_forgotten_memory_is_left_in_the_files(words: list[str], data: st.DataObject) -> None:
    """Not of its text, tags, speaker, sources, scope or reason, nor of what is found by; the others are as they were.

    Looked for while the store is open: its log is one of the files.
    """
    memories = [secret_memory(word, number) for number, word in enumerate(words)]
    gone = data.draw(st.lists(st.sampled_from(memories), min_size=1, unique_by=lambda memory: memory.memory_id))
    left = [memory for memory in memories if memory not in gone]
    with TemporaryDirectory() as folder, SqliteMemoryStore(path := Path(folder) / "s.db") as store:
        for memory in memories:
            store.add([memory, made_memory(f"filler {memory.memory_id} " * 30)])
        store.add([replace(made_memory("new"), memory_id=f"s-{gone[0].memory_id}", supersedes=gone[0].memory_id)])
        store.put_vectors("mini", 2, {memory.memory_id: (1 / 3, 2 / 3) for memory in gone})
        for word in words:
            store.search(word, SEEN, now=0.0, past=True)
        assert gone[0].text[4:12].encode() in bytes_of(path)
        ids = [memory.memory_id for memory in gone]
        if data.draw(st.booleans()):
            store.exchange(ids, [made_memory("other")], "asked for")
        else:
            assert store.forget(ids, "asked for") == len(gone)
        assert store.is_scrubbed()
        held = bytes_of(path)
        others = " ".join((*(memory.text for memory in left), "filler session speaker thread reason digest notes"))
        for memory in gone:
            word = memory.text.split()[0]
            # FTS5 keeps of a word only where it differs from the one before: it is looked for without its beginning.
            assert word[6:] in others or word[6:].encode() not in held
        assert store.get([memory.memory_id for memory in left]) == [
            replace(memory, superseded_by="") for memory in left
        ]
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("SELECT count(*) FROM memory_vectors").fetchone() == (0,)


def test_forgetting_is_ended_by_the_next_one_to_open_when_a_reader_was_in_the_way(tmp_path: Path) -> None:
    """It is out of reach at once; the bytes follow, whichever store opens the file."""
    path, memory = tmp_path / "s.db", made_memory("Ann keeps a walrus.")
    with SqliteMemoryStore(path, busy_seconds=0.1) as store, closing(sqlite3.connect(path)) as reader:
        store.add([memory])
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM memories").fetchone() == (1,)
        assert store.forget([memory.memory_id]) == 1
        assert store.get([memory.memory_id]) == []
        assert not store.is_scrubbed()
    assert b"walrus" in bytes_of(path)
    SqliteStore(path).close()
    assert b"walrus" not in bytes_of(path)
    with SqliteMemoryStore(path) as store:
        assert store.is_scrubbed()
        assert store.forgotten([memory.memory_id]) == {memory.memory_id: ""}
