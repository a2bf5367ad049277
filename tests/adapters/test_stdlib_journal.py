"""Durable facts in a file of JSON lines: the public check, accidents of the file, several processes."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.stdlib import FileMemoryStore
from squidbot.core.errors import DamagedStoreError, StoreError
from squidbot.core.memories import Scope, View
from squidbot.testing import check_memory_store, made_memory

if TYPE_CHECKING:
    from pathlib import Path

ANN = Scope(user="ann", bot="squid")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the file is."""
    return tmp_path / "memories.jsonl"


def _texts(store: FileMemoryStore) -> list[str]:
    return sorted(memory.text for memory in store.listed(View(ANN), limit=1000))


def test_file_memory_store_keeps_the_promises_of_memories(tmp_path: Path) -> None:
    """The public check of the port passes, with files that are opened again."""
    paths: dict[FileMemoryStore, Path] = {}

    def made() -> FileMemoryStore:
        path = tmp_path / f"{len(paths)}.jsonl"
        paths[store := FileMemoryStore(path)] = path
        return store

    def reopened(store: FileMemoryStore) -> FileMemoryStore:
        path = paths[store]
        paths[again := FileMemoryStore(path)] = path
        return again

    check_memory_store(made, reopened)  # type: ignore[arg-type]  # it reopens what the factory made


def test_file_is_one_of_json_lines_that_a_person_can_read(path: Path) -> None:
    """Every line is JSON; the text stands in it as it is; nothing is written before the first memory."""
    store = FileMemoryStore(path)
    assert not path.exists()
    store.add([made_memory("Ann liebt Äpfel.")])
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [list(json.loads(line)[1]) for line in lines] == [["squidbot memories", "file"], ["put"]]
    assert "Ann liebt Äpfel." in lines[1]


def test_line_that_was_not_ended_is_passed_over_and_cut_off(path: Path) -> None:
    """A process died while it added: what it had returned from is there, the rest never was; others go on."""
    store = FileMemoryStore(path)
    store.add([made_memory("one")])
    whole = path.read_bytes()
    store.add([made_memory("two")])
    both = path.read_bytes()
    for cut in (len(whole), len(whole) + 1, len(whole) + 40, len(both) - 1):
        path.write_bytes(both[:cut])
        again = FileMemoryStore(path)
        assert _texts(again) == ["one"]
        again.add([made_memory("three")])
        assert _texts(again) == _texts(FileMemoryStore(path)) == ["one", "three"]


def test_changed_byte_is_refused_in_one_line(path: Path) -> None:
    """Wherever it is: the file and the line are named, and nothing is served as if it were whole."""
    FileMemoryStore(path).add([made_memory("one")])
    FileMemoryStore(path).add([made_memory("two")])
    whole = path.read_bytes()
    second = whole.index(b"\n") + 1
    for place in range(second, len(whole) - 1, 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(DamagedStoreError, match=r"memories\.jsonl:[23]: the line does not match") as caught:
            FileMemoryStore(path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("data", [b'{"a": 1}\n', b"hello\n", b"[]\n", b'[2745614147,"x"]\n', b"[0,{}]\n", b"\n"])
def test_foreign_file_is_refused_and_left_as_it_is(path: Path, data: bytes) -> None:
    """It is somebody's."""
    path.write_bytes(data)
    with pytest.raises(DamagedStoreError, match=str(path)):
        FileMemoryStore(path)
    assert path.read_bytes() == data


def test_other_store_on_the_same_file_sees_all_at_once(path: Path) -> None:
    """Two open stores: what one adds, supersedes or forgets counts for the other at its next call."""
    one, other = FileMemoryStore(path), FileMemoryStore(path)
    old = made_memory("Ann drinks tea.")
    one.add([old])
    assert _texts(other) == ["Ann drinks tea."]
    other.add([made_memory("Ann drinks coffee.", supersedes=old.memory_id)])
    assert _texts(one) == ["Ann drinks coffee."]
    with pytest.raises(StoreError, match="another one"):
        one.add([made_memory("else", memory_id=old.memory_id)])
    assert other.forget([old.memory_id], "asked for") == 1
    assert one.forgotten([old.memory_id]) == {old.memory_id: "asked for"}
    assert one.get([old.memory_id]) == []
    one.add([made_memory("Ann has a boat.")])
    assert _texts(other) == ["Ann drinks coffee.", "Ann has a boat."]


def test_what_was_forgotten_is_in_no_file(path: Path) -> None:
    """Not in the new file, nor in the old one that some program may hold open, nor in one left over."""
    store = FileMemoryStore(path)
    gone = made_memory("Ann keeps walruses.")
    store.add([gone, made_memory("Ann has a boat.")])
    with path.open("rb") as held:
        assert store.forget([gone.memory_id]) == 1
        assert b"walrus" not in held.read()
    assert not any(b"walrus" in each.read_bytes() for each in path.parent.iterdir())
    assert sorted(each.name for each in path.parent.iterdir()) == [path.name, f"{path.name}.lock"]


def test_failed_write_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk refuses to sync: a StoreError; what was there is there, in memory and in the file."""
    store = FileMemoryStore(path)
    memory = made_memory("one")
    store.add([memory])

    def fails(_number: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", fails)
        with pytest.raises(StoreError, match="nothing was written"):
            store.add([made_memory("two")])
        with pytest.raises(StoreError, match="nothing was written"):
            store.forget([memory.memory_id])
    for each in (store, FileMemoryStore(path)):
        assert _texts(each) == ["one"]
        assert each.forgotten([memory.memory_id]) == {}
    store.add([made_memory("three")])
    assert _texts(FileMemoryStore(path)) == ["one", "three"]


def test_value_that_is_none_for_json_is_refused(path: Path) -> None:
    """Nothing is written of what came with it."""
    store = FileMemoryStore(path)
    with pytest.raises(StoreError, match="nothing was written"):
        store.add([made_memory("one"), made_memory(b"two", memory_id="x")])  # type: ignore[arg-type]
    assert _texts(store) == []


WRITER = """
import sys
from squidbot.adapters.stdlib import FileMemoryStore
from squidbot.testing import made_memory
store = FileMemoryStore(sys.argv[1])
for number in range(40):
    store.add([made_memory(f"{sys.argv[2]} {number}"), made_memory(f"both {number}")])
    if number % 4 == 0:
        store.forget([made_memory(f"{sys.argv[2]} {number}").memory_id])
"""


def test_two_processes_that_write_at_once_lose_nothing(path: Path) -> None:
    """Whatever each added is there once; what it forgot is not."""
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in "ab"]
    store = FileMemoryStore(path)
    while any(writer.poll() is None for writer in writers):
        _texts(store)
    assert [writer.wait() for writer in writers] == [0, 0]
    due = [f"{name} {number}" for name in "ab" for number in range(40) if number % 4]
    assert _texts(store) == _texts(FileMemoryStore(path)) == sorted([*due, *(f"both {number}" for number in range(40))])
