"""The index by FAISS: the public check, its file after any accident, and that a view is searched alone."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("faiss", reason="the extra faiss", exc_type=ImportError)

from squidbot.adapters.faiss import FaissIndex
from squidbot.core.errors import StoreError
from squidbot.core.memories import View
from squidbot.core.vectors import VectorSearch
from squidbot.testing import check_vector_index

from .kept import ANN, DIMENSIONS, EXACT, check_made_anew, first_of, memory_of, truth_of, vector_of

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.core.vectors import VectorIndex


def _opened(path: Path, model: str = "m") -> FaissIndex:
    return FaissIndex(path, model, DIMENSIONS, exact_vectors=EXACT)


@pytest.mark.parametrize("exact_vectors", [50_000, 500], ids=["exact", "lists"])
def test_faiss_index_keeps_the_promises_of_vector_indexes(tmp_path: Path, exact_vectors: int) -> None:
    """The public check of the port passes, with every vector compared and with lists of coarse ones."""
    made: list[tuple[FaissIndex, Path]] = []
    exact = set()

    def opened(path: Path) -> FaissIndex:
        made.append((FaissIndex(path, "check", 24, exact_vectors=exact_vectors), path))
        return made[-1][0]

    def reopened(index: VectorIndex) -> FaissIndex:
        (path,) = (path for each, path in made if each is index)
        exact.add(made[-1][0].is_exact)
        index.close()
        return opened(path)

    check_vector_index(lambda _model, _dimensions: opened(tmp_path / str(len(made))), reopened)
    assert exact == {exact_vectors > 500}


def _damages() -> dict[str, bytes | None]:
    return {
        "missing": None,
        "empty": b"",
        "foreign": b"PK\x03\x04 something else",
        "a line": b"squidbot vectors 1 {}\n",
    }


@pytest.mark.parametrize("damage", _damages())
@pytest.mark.parametrize("count", [50, 900], ids=["exact", "lists"])
def test_index_is_made_anew_when_its_file_is_no_index(tmp_path: Path, damage: str, count: int) -> None:
    """One clear line says why, where there was a file; all is found, and the next file is whole."""
    truth, path = truth_of(count), tmp_path / "vectors"
    data = _damages()[damage]
    if data is not None:
        path.write_bytes(data)
    check_made_anew(_opened, path, truth, faulty=data is not None)


@pytest.mark.parametrize("count", [50, 900], ids=["exact", "lists"])
def test_any_cut_or_changed_byte_of_the_file_is_found_at_load(tmp_path: Path, count: int) -> None:
    """Cut anywhere, or with one bit turned anywhere, the file is refused in one line, and never half believed."""
    truth, path = truth_of(count), tmp_path / "vectors"
    VectorSearch(_opened(path), truth).save()
    whole = path.read_bytes()
    chance = random.Random(count)  # noqa: S311  # no secret
    for place in [0, 5, 30, 100, len(whole) - 1, *(chance.randrange(len(whole)) for _ in range(60))]:
        for data in (whole[:place], whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :], whole + b"\0"):
            path.write_bytes(data)
            index = _opened(path)
            assert index.fault, f"byte {place}"
            assert str(path) in index.fault
            assert (index.stamp().vectors, index.search(vector_of(7), 5, truth.view(View(ANN)))) == (0, [])


@pytest.mark.parametrize("count", [50, 900], ids=["exact", "lists"])
def test_what_was_forgotten_is_not_in_the_file(tmp_path: Path, count: int) -> None:
    """After a forget by whatever process, the next refresh leaves its vector in no file."""
    truth, path = truth_of(count), tmp_path / "vectors"
    (vector,) = (entry.vector for entry in truth.behind(6, 1))
    nearest = VectorSearch(_opened(path), truth)
    nearest.save()
    assert (vector in path.read_bytes()) == (count < EXACT)
    size = path.stat().st_size
    truth.remove([memory_of(6).memory_id])
    assert first_of(nearest, 6) != memory_of(6).memory_id
    nearest.refresh()
    assert vector not in path.read_bytes()
    assert path.stat().st_size < size
    assert _opened(path).stamp() == truth.stamp()
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


KILLED = """
import os, signal, sys
from pathlib import Path
from squidbot.adapters import faiss as files
with files.write(Path(sys.argv[1]), {"model": "m"}) as out:
    out.write(b"forgotten" * 100_000)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_process_killed_while_it_saves_leaves_the_file_and_nothing_for_long(tmp_path: Path) -> None:
    """The old file is whole; what was being written is gone with the next save."""
    truth, path = truth_of(30), tmp_path / "vectors"
    nearest = VectorSearch(_opened(path), truth)
    nearest.save()
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert sorted(each.name for each in tmp_path.iterdir()) == ["vectors", "vectors.part"]
    assert _opened(path).stamp() == truth.stamp()
    truth.put(memory_of(70), vector_of(70))
    nearest.save()
    assert [each.name for each in tmp_path.iterdir()] == ["vectors"]
    assert _opened(path).stamp() == truth.stamp()


def test_saves_at_once_leave_one_of_them_whole(tmp_path: Path) -> None:
    """Many indexes save to one file: whatever is read meanwhile is whole, and so is what remains."""
    truth, path = truth_of(200), tmp_path / "vectors"
    indexes = [_opened(path) for _ in range(4)]
    for number, index in enumerate(indexes):
        index.add(truth.behind(0, 50 * (number + 1)))

    def saves(index: FaissIndex) -> None:
        for _ in range(5):
            index.remove([index.places()[0]])
            index.save()

    threads = [threading.Thread(target=saves, args=(index,)) for index in indexes]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert _opened(path).fault == ""
    for thread in threads:
        thread.join()
    assert _opened(path).stamp() in [index.stamp() for index in indexes]
    assert [each.name for each in tmp_path.iterdir()] == ["vectors"]


def test_index_of_another_kind_is_replaced(tmp_path: Path) -> None:
    """The setting was changed: what lies there, a folder, is a view of the same truth."""
    path = tmp_path / "vectors"
    (path / "1").mkdir(parents=True)
    (path / "index.json").write_text("{}")
    nearest = VectorSearch(index := _opened(path), truth_of(30))
    assert str(path) in index.fault
    nearest.save()
    assert (_opened(path).stamp(), _opened(path).fault) == (index.stamp(), "")


def test_failed_save_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """The disk refuses: a StoreError, the old file, and nothing beside it."""
    truth, path = truth_of(30), tmp_path / "vectors"
    nearest = VectorSearch(_opened(path), truth)
    nearest.save()
    whole = path.read_bytes()
    truth.put(memory_of(70), vector_of(70))
    bad = VectorSearch(_opened(tmp_path / "nowhere" / "vectors"), truth)
    with pytest.raises(StoreError, match="the file is unchanged"):
        bad.save()
    assert (path.read_bytes(), sorted(each.name for each in tmp_path.iterdir())) == (whole, ["vectors"])


def test_lists_are_made_for_as_many_as_there_will_be(tmp_path: Path) -> None:
    """An index that is made from a large store is laid out for all of it at once, not for what came first."""
    truth = truth_of(3_000)
    index = _opened(tmp_path / "vectors")
    VectorSearch(index, truth).refresh()
    assert (index.lists, index.stamp()) == (64, truth.stamp())
