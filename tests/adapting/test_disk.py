"""Files that one process writes at a time, names that last, and rights."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import squidbot
from squidbot.adapters.common.files import make_folder, sync
from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.cli import main
from squidbot.testing import HashedWords, made_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from squidbot.hookspecs import Register

LOCKED = """
import sys
from pathlib import Path
from squidbot.adapters.common.files import lock
with Path(sys.argv[1]).open("ab") as file:
    lock(file)
    print("locked", flush=True)
    sys.stdin.readline()
"""


def test_lock_is_had_by_one_process_until_it_dies(tmp_path: Path) -> None:
    """Who comes second waits: it says nothing before the first one is gone."""
    command = [sys.executable, "-c", LOCKED, str(tmp_path / "lock")]
    both = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)]
    assert both[0].stdout is not None
    assert both[0].stdout.readline() == "locked\n"
    both.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    with pytest.raises(subprocess.TimeoutExpired):
        both[1].wait(0.5)
    both[0].kill()
    assert both[1].communicate("\n")[0] == "locked\n"
    both[0].communicate()


def test_names_are_synced_where_folders_can_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they can't, as on Windows, a rename lasts by itself; a file that can't be opened is told."""
    file = tmp_path / "file"
    file.write_bytes(b"x")
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    sync(file)
    sync(tmp_path)
    assert len(synced) == 2
    monkeypatch.setattr(os, "open", _refused(os.open, tmp_path))
    sync(tmp_path)
    assert len(synced) == 2
    with pytest.raises(FileNotFoundError):
        sync(tmp_path / "nowhere")


def _refused(opened: Callable[..., int], folder: Path) -> Callable[..., int]:
    def refusing(path: object, *given: object) -> int:
        if path == folder:
            raise PermissionError(13, "Permission denied")
        return opened(path, *given)

    return refusing


@pytest.fixture
def open_to_all() -> Iterator[None]:
    """A umask under which whatever is made may be read by everybody, unless its maker says otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


def others_may(folder: Path) -> list[str]:
    """Return what stands below a folder, and may be read, listed or written by others than its owner."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.stat().st_mode & 0o077)


class Offering:
    """An extension that offers an embedder without a model."""

    @squidbot.hookimpl
    def register_adapters(self, register: Register) -> None:
        """Offer it."""
        register.embedder("mine", lambda _: HashedWords())


@pytest.mark.skipif(sys.platform == "win32", reason="there rights are kept in lists, which Python does not make")
@pytest.mark.usefixtures("open_to_all")
@pytest.mark.parametrize("index", ["stdlib", "faiss", "lancedb"])
def test_what_is_kept_on_disk_is_its_owner_s_alone(tmp_path: Path, index: str) -> None:
    """Stores with what SQLite puts beside them, journals, logs, indexes, copies: whatever the umask, while in use."""
    if index != "stdlib":
        pytest.importorskip(index)
    settings: dict[str, object] = {
        "store": {"path": str(tmp_path / "kept.db")},
        "journal": {"enabled": True, "folder": str(tmp_path / "a/b")},
        "memory": {"path": str(tmp_path / "facts.db"), "embedder": "mine", "index": index},
        "summary": {"scheduler": "none"},
        "debug": {"turn_log": str(tmp_path / "turns.txt")},
    }
    with squidbot.load(settings, extensions=[Offering()]) as engine:
        session = engine.session("s", window_tokens=4_096)
        asked = session.assemble("I live in Lisbon.")
        session.record(asked.incoming, "Noted.")
        session.snapshot("now")
        engine.run_jobs()
        meaning = engine.wired.remembering.meaning
        assert meaning is not None
        meaning.add([made_memory("Ann has a beagle.")])
        meaning.embed()
        meaning.opened().nearest.save()
        assert isinstance(engine.wired.store, SqliteStore)
        engine.wired.store.backup(tmp_path / "copy.db")
        assert others_may(tmp_path) == []
        made = {path.name for path in tmp_path.iterdir()}
    assert {"a", "copy.db", "facts.db", "kept.db", "kept.db-known", "kept.db-shm", "kept.db-wal", "turns.txt"} <= made
    assert any(name.endswith(".vectors") for name in made) == (index != "stdlib")
    assert others_may(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="there rights are kept in lists, which Python does not make")
@pytest.mark.usefixtures("open_to_all")
def test_what_commands_write_is_its_owner_s_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exports, notes, requests of a replay, copies, a log of turns."""
    example = Path(__file__).parents[2] / "examples" / "session.jsonl"
    made = tmp_path / "made"
    made.mkdir(0o700)
    session = tmp_path / "session.jsonl"
    session.touch(0o600)
    session.write_bytes(b"".join(example.read_bytes().splitlines(keepends=True)[:30]))
    monkeypatch.chdir(made)
    (made / "squidbot.toml").touch(0o600)
    commands = [
        ["memory", "add", "I have a beagle.", "--store", "kept.db"],
        ["memory", "export", "facts.jsonl", "--store", "kept.db"],
        ["memory", "notes", "notes", "--store", "kept.db"],
        ["replay", str(session), "--window", "4096", "--dump", "requests.jsonl"],
        ["replay", str(session), "--window", "4096", "--dump", "requests/"],
    ]
    for command in commands:
        assert CliRunner().invoke(main, command).exit_code == 0, command
    assert {path.name for path in made.iterdir()} >= {"facts.jsonl", "notes", "requests", "requests.jsonl"}
    assert others_may(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="there rights are kept in lists, which Python does not make")
@pytest.mark.usefixtures("open_to_all")
def test_what_a_user_has_made_keeps_its_rights(tmp_path: Path) -> None:
    """A store that a group shares stays shared, with what SQLite puts beside it."""
    with squidbot.load({"store": {"path": str(tmp_path / "kept.db")}}) as engine:
        engine.session("s").record("Hello", "Hi.")
    (tmp_path / "kept.db").chmod(0o660)
    with squidbot.load({"store": {"path": str(tmp_path / "kept.db")}}) as engine:
        engine.session("s").record("Again", "Hi.")
        assert {(tmp_path / f"kept.db{end}").stat().st_mode & 0o777 for end in ("", "-wal", "-shm")} == {0o660}


def test_folder_is_not_made_where_a_file_has_its_name(tmp_path: Path) -> None:
    """Nor is it taken for one; a folder that is there is left as it is."""
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        make_folder(tmp_path / "file")
    make_folder(tmp_path)
