"""The index by LanceDB: the public check, its folder after any accident, and that what was forgotten is gone."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("lancedb", reason="the extra lancedb", exc_type=ImportError)

import squidbot
from squidbot.adapters.lancedb import LanceIndex
from squidbot.core.errors import StoreError
from squidbot.core.memories import View
from squidbot.core.vectors import VectorSearch, packed
from squidbot.testing import HashedWords, check_vector_index, made_memory
from squidbot.testing.values import at_once

from .kept import ANN, DIMENSIONS, EXACT, check_made_anew, first_of, memory_of, truth_of, vector_of

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.core.vectors import VectorIndex
    from squidbot.hookspecs import Register

pytestmark = pytest.mark.lancedb

# So many come before they are written unasked.
HELD = 150


def _opened(path: Path, model: str = "m") -> LanceIndex:
    return LanceIndex(path, model, DIMENSIONS, exact_vectors=EXACT, held_vectors=HELD)


def _files(path: Path) -> list[Path]:
    return sorted(each for each in path.rglob("*") if each.is_file())


def _held_by(path: Path, data: bytes) -> list[str]:
    return [each.name for each in _files(path) if data in each.read_bytes()]


@pytest.mark.parametrize("held", [100_000, 100], ids=["in memory", "written"])
@pytest.mark.parametrize("exact", [100_000, 200], ids=["exact", "lists"])
def test_lance_index_keeps_the_promises_of_vector_indexes(tmp_path: Path, exact: int, held: int) -> None:
    """The public check of the port passes, with what came held or written, every vector compared or in lists."""
    made: list[tuple[LanceIndex, Path]] = []
    lists = set()

    def opened(path: Path) -> LanceIndex:
        made.append((LanceIndex(path, "check", 24, exact_vectors=exact, held_vectors=held), path))
        return made[-1][0]

    def reopened(index: VectorIndex) -> LanceIndex:
        (path,) = (path for each, path in made if each is index)
        lists.add(bool(made[-1][0].lists))
        index.close()
        return opened(path)

    check_vector_index(lambda _model, _dimensions: opened(tmp_path / str(len(made))), reopened)
    assert lists == {exact == 200}


def test_index_without_a_folder_is_one_in_memory() -> None:
    """Nothing is written anywhere; every vector is compared."""
    check_vector_index(lambda model, dimensions: LanceIndex(None, model, dimensions, held_vectors=100))


def _foreign(path: Path) -> None:
    path.mkdir()
    (path / "notes.txt").write_text("mine")


def _cut(path: Path) -> None:
    path.mkdir()
    (path / "index.json").write_bytes(b'{"format": "squidbot')


def _other_version(path: Path) -> None:
    path.mkdir()
    (path / "index.json").write_bytes(b'{"format": "squidbot vectors by LanceDB 99"}\n1\n')


DAMAGES = {
    "missing": lambda _: None,
    "empty": lambda path: path.mkdir(),
    "a file": lambda path: path.write_bytes(b"squidbot vectors 1 {}\n"),
    "foreign": _foreign,
    "cut": _cut,
    "of another version": _other_version,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_index_is_made_anew_when_its_folder_is_no_index(tmp_path: Path, damage: str) -> None:
    """One clear line says why, where there was something; all is found, and the next folder is whole."""
    truth, path = truth_of(50), tmp_path / "vectors"
    DAMAGES[damage](path)
    check_made_anew(_opened, path, truth, faulty=damage not in ("missing", "empty"))


@pytest.mark.parametrize("count", [50, 900], ids=["exact", "lists"])
def test_any_cut_changed_missing_or_foreign_file_is_found_at_load(tmp_path: Path, count: int) -> None:
    """Whatever was done to whichever of its files, the folder is refused in one line, and never half believed."""
    truth, whole, path = truth_of(count), tmp_path / "whole", tmp_path / "vectors"
    VectorSearch(_opened(whole), truth).save()
    chance = random.Random(count)  # noqa: S311  # no secret
    done = 0
    for name in [each.relative_to(whole) for each in _files(whole) if each.name != "lock"]:
        data = (whole / name).read_bytes()
        place = chance.randrange(len(data))
        for changed in (data[:place], data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :], data + b"\0", None):
            shutil.rmtree(path, ignore_errors=True)
            shutil.copytree(whole, path)
            (path / name).unlink()
            if changed is not None:
                (path / name).write_bytes(changed)
            index = _opened(path)
            assert index.fault, f"{name}, byte {place}"
            assert str(path) in index.fault
            assert (index.stamp().vectors, index.search(vector_of(7), 5, truth.view(View(ANN)))) == (0, [])
            done += 1
    assert done >= 20
    (whole / "1" / "vectors.lance" / "data" / "more.lance").write_bytes(b"x")
    assert "not a file of the index" in _opened(whole).fault


def test_folder_of_faiss_is_replaced(tmp_path: Path) -> None:
    """The setting was changed: what lay there is a view of the truth, and no more."""
    path = tmp_path / "vectors"
    path.write_bytes(b"squidbot vectors 1 {}\n" + b"\0" * 100)
    nearest = VectorSearch(_opened(path), truth_of(20))
    nearest.save()
    assert _opened(path).fault == ""


@pytest.mark.parametrize("count", [50, 900], ids=["exact", "lists"])
def test_what_was_forgotten_is_in_no_file(tmp_path: Path, count: int) -> None:
    """LanceDB keeps old versions, and deleted rows among few others: after the next refresh none has the vector."""
    truth, path = truth_of(count), tmp_path / "vectors"
    (vector,) = (entry.vector for entry in truth.behind(6, 1))
    nearest = VectorSearch(_opened(path), truth)
    nearest.save()
    assert _held_by(path, vector)
    truth.remove([memory_of(6).memory_id])
    assert first_of(nearest, 6) != memory_of(6).memory_id
    nearest.refresh()
    assert _held_by(path, vector) == []
    assert _opened(path).stamp() == truth.stamp()
    assert sorted(each.name for each in path.iterdir()) == ["2", "index.json", "lock"]


def test_what_was_forgotten_before_it_was_saved_is_in_no_file(tmp_path: Path) -> None:
    """It was held in memory alone; many that go are written unasked."""
    truth, path = truth_of(1_300), tmp_path / "vectors"
    nearest = VectorSearch(_opened(path), truth)
    nearest.refresh()
    vectors = [entry.vector for entry in truth.behind(0, 1_200)]
    truth.remove([memory_of(number).memory_id for number in range(1_200)])
    assert first_of(nearest, 6) != memory_of(6).memory_id
    assert not any(_held_by(path, vector) for vector in vectors[::100])
    assert _opened(path).stamp() == truth.stamp()


def test_table_that_another_process_replaced_is_searched_no_more(tmp_path: Path) -> None:
    """Its files are gone: what lies there now is opened, with what came and went here."""
    truth, path = truth_of(30), tmp_path / "vectors"
    VectorSearch(_opened(path), truth).save()
    one, other = _opened(path), _opened(path)
    entries = truth.behind(0, 30)
    one.remove([entries[3].place])
    other.remove([entries[5].place])
    other.save()
    places = [near.place for near in one.search(vector_of(3), 30, truth.view(View(ANN)))]
    assert sorted(places) == [place for place in range(1, 31) if place not in (4, 6)]
    shutil.rmtree(path)
    assert one.search(vector_of(3), 30, truth.view(View(ANN))) == []
    assert one.stamp().vectors == 0
    nearest = VectorSearch(one, truth)
    assert first_of(nearest, 3) == memory_of(3).memory_id
    nearest.save()
    assert _opened(path).stamp() == truth.stamp()


class Offering:
    """An extension that offers an embedder without a model."""

    @squidbot.hookimpl
    def register_adapters(self, register: Register) -> None:
        """Offer it."""
        register.embedder("mine", lambda _: HashedWords())


def test_engine_finds_by_lancedb_and_forgets_in_all_its_files(tmp_path: Path) -> None:
    """As settings name it: what was added is found, now and by the next process; what was forgotten is in no file."""
    settings = {"memory": {"path": str(tmp_path / "facts.db"), "embedder": "mine", "index": "lancedb"}}
    facts = [made_memory(f"Ann has beagle number{number}.", ANN) for number in range(300)]
    (gone,) = HashedWords().embed([facts[7].text])
    with squidbot.load(settings, extensions=[Offering()]) as engine:
        meaning = engine.wired.remembering.meaning
        assert meaning is not None
        meaning.add(facts)
        assert meaning.embed()
        meaning.opened().nearest.save()
    (folder,) = tmp_path.glob("facts.db.*.vectors")
    assert _held_by(folder, packed(gone))
    with squidbot.load(settings, extensions=[Offering()]) as engine:
        store = engine.wired.remembering.store
        assert store.search("beagle number7", View(ANN), now=2e9)[0].key == facts[7].memory_id
        assert store.forget([facts[7].memory_id]) == 1
        assert not any(_held_by(each, packed(gone)) for each in tmp_path.glob("*.vectors"))
        assert facts[7].memory_id not in [hit.key for hit in store.search("beagle number7", View(ANN), now=2e9)]
        assert store.search("beagle number8", View(ANN), now=2e9)[0].key == facts[8].memory_id
    (folder,) = tmp_path.glob("facts.db.*.vectors")
    assert _held_by(folder, packed(HashedWords().embed([facts[8].text])[0]))
    assert _held_by(folder, packed(gone)) == []
    assert LanceIndex(folder, "hashed-words", 64).stamp().vectors == 299


KILLED = """
import os, signal, sys
from pathlib import Path
from squidbot.adapters import lancedb as folder
from squidbot.adapters.lancedb import LanceIndex
from squidbot.testing import made_entry
index = LanceIndex(Path(sys.argv[1]), "m", 8)
index.add([made_entry(1000, [1.0] * 8)])
def dies(table):
    os.kill(os.getpid(), signal.SIGKILL)
folder._files = dies
index.save()
"""


def test_process_killed_while_it_saves_leaves_the_old_table_and_nothing_for_long(tmp_path: Path) -> None:
    """The old table counts and is whole; what was being written is gone with the next save."""
    truth, path = truth_of(30), tmp_path / "vectors"
    nearest = VectorSearch(_opened(path), truth)
    nearest.save()
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert sorted(each.name for each in path.iterdir()) == ["1", "2", "index.json", "lock"]
    assert (_opened(path).stamp(), _opened(path).fault) == (truth.stamp(), "")
    truth.put(memory_of(70), vector_of(70))
    nearest.save()
    assert sorted(each.name for each in path.iterdir()) == ["2", "index.json", "lock"]
    assert _opened(path).stamp() == truth.stamp()


def test_saves_at_once_leave_one_of_them_whole(tmp_path: Path) -> None:
    """Many indexes save to one folder: what remains is whole, and the truth's after one more refresh."""
    truth, path = truth_of(200), tmp_path / "vectors"
    indexes = [_opened(path) for _ in range(3)]
    for number, index in enumerate(indexes):
        index.add(truth.behind(0, 50 * (number + 1)))

    def saves(number: int) -> None:
        for _ in range(3):
            indexes[number].remove([indexes[number].places()[0]])
            indexes[number].save()

    at_once(3, saves, "all can save at once")
    assert _opened(path).fault == ""
    nearest = VectorSearch(indexes[0], truth)
    nearest.refresh()
    nearest.save()
    assert _opened(path).stamp() == truth.stamp()
    assert len(list(path.iterdir())) == 3


def test_failed_save_leaves_the_folder_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk refuses: a StoreError, the old table, and all is found; the next save makes up for it."""
    truth, path = truth_of(30), tmp_path / "vectors"
    nearest = VectorSearch(index := _opened(path), truth)
    nearest.save()
    said = json.loads((path / "index.json").read_bytes().partition(b"\n")[0])
    truth.put(memory_of(70), vector_of(70))

    def refuses(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("squidbot.adapters.lancedb.sync", refuses)
        with pytest.raises(StoreError, match=r"No space left on device .* the folder is unchanged"):
            nearest.save()
    assert json.loads((path / "index.json").read_bytes().partition(b"\n")[0]) == said
    assert first_of(nearest, 70) == memory_of(70).memory_id
    nearest.save()
    assert _opened(path).stamp() == truth.stamp() == index.stamp()
