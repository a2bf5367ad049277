"""`squidbot memory reindex`: what it says of each file, and that what files say is found, forgotten and carried."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import squidbot
from squidbot.adapters.sqlite3.memory import SqliteMemoryStore
from squidbot.cli import main
from squidbot.core.errors import NotFoundError

if TYPE_CHECKING:
    from click.testing import Result

STORE = "facts.db"
BOAT = "# Boat\n\n## Colour\n\nThe boat is teal.\n\n```sh\nsail   --away\n```\n"


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No squidbot.toml but the test's own, and a folder of notes."""
    monkeypatch.chdir(tmp_path)
    Path("notes").mkdir()
    Path("notes/boat.md").write_text(BOAT, encoding="utf-8")
    Path("notes/photo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")


def run(*arguments: str, code: int = 0) -> Result:
    """Run the command, and return what it printed."""
    done = CliRunner().invoke(main, ["memory", *arguments], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done


def configured() -> None:
    """Write the settings of the notes."""
    text = f'[memory]\npath = "{STORE}"\nindex_paths = ["notes/"]\n'
    Path("squidbot.toml").write_text(text, encoding="utf-8")


def test_who_waits_for_another_program_is_told_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """On standard error; what it prints is what it did."""
    configured()
    exchange, refused = SqliteMemoryStore.exchange, [NotFoundError("gone"), NotFoundError("gone")]

    def coming_late(store: SqliteMemoryStore, *given: Any) -> None:  # noqa: ANN401  # as the store has them
        if refused:
            raise refused.pop()
        exchange(store, *given)

    monkeypatch.setattr(SqliteMemoryStore, "exchange", coming_late)
    done = run("reindex")
    assert done.stderr == "another program is indexing these files; waiting up to a minute\n"
    assert done.stdout.splitlines()[-1] == "files: 1 new, 1 skipped; 1 piece came, 0 went"


def test_each_file_is_told_and_a_second_run_says_that_nothing_has_changed() -> None:
    """What is passed over is named with its reason each time."""
    configured()
    assert run("reindex").stdout.splitlines() == [
        "new      notes/boat.md    1 piece",
        "skipped  notes/photo.png  binary",
        "files: 1 new, 1 skipped; 1 piece came, 0 went",
    ]
    assert run("reindex").stdout.splitlines()[-1] == "nothing has changed: 1 skipped, 1 as before"
    Path("notes/boat.md").write_text(BOAT.replace("teal", "grey"), encoding="utf-8")
    Path("notes/new.md").write_text("New.", encoding="utf-8")
    said = run("reindex", "--dry-run").stdout.splitlines()
    assert said == [
        "changed  notes/boat.md    1 new, 1 gone",
        "new      notes/new.md     1 piece",
        "skipped  notes/photo.png  binary",
        "files: 1 new, 1 changed, 1 skipped; 2 pieces came, 1 went; nothing was written",
    ]
    run("search", "grey", code=1)
    run("reindex")
    assert "The boat is grey." in run("search", "grey").stdout


def test_what_a_file_says_is_told_with_its_path_its_headings_and_its_lines() -> None:
    """Beside the facts, and in no list of them."""
    configured()
    run("reindex")
    run("add", "The boat of Ben has the colour red.", "--category", "core")
    told = run("search", "Which colour has the boat?").stdout
    facts, _, files = told.partition("files:\n")
    assert "The boat of Ben has the colour red." in facts
    where, *lines = files.splitlines()
    assert ": notes/boat.md, Boat > Colour (just now, " in where
    assert lines[:4] == ["  The boat is teal.", "  ```sh", "  sail   --away", "  ```"]
    assert "teal." not in run("list").stdout
    assert "notes" not in run("search", "boat", "--category", "core").stdout
    assert "notes" in run("search", "boat", "--category", "background").stdout


def test_files_are_named_where_there_are_no_facts() -> None:
    """Nobody is told that nothing is there."""
    configured()
    run("reindex")
    assert "Search also finds text in 1 file." in run("list").stdout
    assert "background 0, 1 file, without" in run("search", "submarines", code=1).stdout


def test_forgotten_piece_stays_forgotten_and_a_file_can_not_be_replaced_by_a_fact() -> None:
    """The answer says which file it is."""
    configured()
    run("reindex")
    (piece,) = json.loads(run("search", "teal", "--json").stdout)["memories"]
    assert "change it there" in run("add", "It is grey.", "--replaces", piece["memory_id"], code=1).stderr
    told = run("forget", piece["memory_id"], "--yes").stdout
    assert "not read from notes/boat.md again while that says the same" in told
    run("reindex")
    run("search", "teal", code=1)


@pytest.mark.parametrize("path", ["nowhere.md", "nowhere/", "notes/*.org"])
def test_path_that_is_not_there_is_an_error(path: str) -> None:
    """One line, and nothing is read; what was found before it went is another matter."""
    for more in ([], ["--drop"], ["notes"]):
        done = run("reindex", path, *more, "--store", STORE, code=1)
        assert done.stderr == f"squidbot: no such file or folder: {path.rstrip('/')}\n"
        assert done.stdout == ""
    Path("gone.md").write_text("It is gone.", encoding="utf-8")
    run("reindex", "gone.md", "--store", STORE)
    Path("gone.md").unlink()
    assert run("reindex", "gone.md", "--store", STORE).stdout.splitlines()[0].split()[:2] == ["removed", "gone.md"]
    run("reindex", "gone.md", "--store", STORE, code=1)


def test_paths_by_hand_are_remembered_and_dropped() -> None:
    """Without any settings, too."""
    assert "1 piece" in run("reindex", "notes/boat.md", "--store", STORE).stdout
    assert "there is nothing" not in run("reindex", "--store", STORE).stdout
    assert run("reindex", "--drop", "--store", STORE).stdout.splitlines()[0].split() == [
        "removed", "notes/boat.md", "1", "gone",
    ]  # fmt: skip
    assert "set memory.index_paths" in run("reindex", "--store", STORE).stdout


def test_report_is_there_as_json() -> None:
    """Each file with what became of it."""
    configured()
    done: dict[str, Any] = json.loads(run("reindex", "--json").stdout)
    boat = {"path": "notes/boat.md", "became": "new", "new_chunks": 1, "old_chunks": 0, "reason": ""}
    photo = {"path": "notes/photo.png", "became": "skipped", "new_chunks": 0, "old_chunks": 0, "reason": "binary"}
    none = {"words": 0, "model": "", "vectors": 0, "waiting": 0}
    assert done == {"dry_run": False, "files": [boat, photo], "unchanged": 0, "read": 1, "made": none}


def test_export_leaves_files_out_unless_they_are_asked_for_and_import_takes_them_back() -> None:
    """They are made from files; with them another store finds the same, and reads no file for it."""
    configured()
    run("reindex")
    run("add", "Ann keeps bees.")
    assert len(run("export").stdout.splitlines()) == 1
    run("export", "all.jsonl", "--files")
    run("import", "all.jsonl", "--store", "other.db")
    assert "The boat is teal." in run("search", "teal", "--store", "other.db").stdout
    assert "nothing has changed" in run("reindex", "--store", "other.db").stdout
    run("import", "all.jsonl", "--store", "other.db")


def test_engine_does_the_same_in_two_lines() -> None:
    """And a session of the same scope finds it."""
    with squidbot.load({"memory": {"path": STORE, "index_paths": ["notes"]}}) as engine:
        scope = squidbot.Scope(user="ann")
        done = engine.reindex(scope=scope)
        assert [one.became for one in done.outcomes] == ["new", "skipped"]
        assert "teal" in engine.session("s", scope=scope).memory({"action": "search", "query": "boat"}).text
        assert "teal" not in engine.session("t").memory({"action": "search", "query": "boat"}).text
        assert engine.reindex(["notes"], scope=scope, drops=True).outcomes[0].became == "removed"
