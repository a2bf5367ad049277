"""`squidbot import` and `squidbot store migrate`, as somebody would use them who comes from WorkspaceAI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

import squidbot
from squidbot.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

OLD = {"current_conversation": [{"user": "hello", "assistant": "hi"}, "only this"], "notes": 1}


@pytest.fixture
def called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run the command line in an empty folder but for an old file."""
    monkeypatch.chdir(tmp_path)
    Path("memory.json").write_text(json.dumps(OLD), encoding="utf-8")
    return lambda *arguments: CliRunner().invoke(main, [*arguments, "--store", "s.db"])


def test_old_file_is_brought_once_into_a_store_that_is_made(called: Callable[..., Result]) -> None:
    """V20, W-17: three runs, one copy; what is not taken is said."""
    looked = called("store", "import-older", "memory.json", "--dry-run")
    assert looked.output.splitlines()[-2:] == [
        "2 exchanges; nothing was written",
        "squidbot: not taken from the files: 1 key notes",
    ]
    assert not Path("s.db").exists()
    outputs = [called("store", "import-older", "memory.json").output for _ in range(3)]
    assert "workspaceai@model:qwen2.5:7b: 2 new of 2 exchanges" in outputs[0]
    assert "a copy is kept: memory.json.backup" in outputs[0]
    assert [output.count("0 exchanges imported") for output in outputs] == [0, 1, 1]
    listed = json.loads(called("session", "list", "--json").output)
    assert [(one["session"], one["messages"]) for one in listed["sessions"]] == [("workspaceai@model:qwen2.5:7b", 3)]


def test_migration_is_taken_back_when_that_is_confirmed(called: Callable[..., Result]) -> None:
    """W-17: it asks first, and says so where nothing was brought."""
    assert called("store", "import-older", "memory.json", "--rollback").exit_code != 0
    called("store", "import-older", "memory.json")
    asked = CliRunner().invoke(
        main, ["store", "import-older", "memory.json", "--rollback", "--store", "s.db"], input="n\n"
    )
    assert "Remove 3 messages of 1 session for good?" in asked.output
    assert asked.exit_code == 1
    looked = called("store", "import-older", "memory.json", "--rollback", "--dry-run")
    assert looked.output.endswith("removed\nnothing was written\n")
    taken = called("store", "import-older", "memory.json", "--rollback", "--yes", "--json")
    assert [one["messages"] for one in json.loads(taken.output)["rolled_back"]] == [3]
    again = called("store", "import-older", "memory.json", "--rollback", "--yes")
    assert (again.exit_code, "nothing was imported from this path" in again.output) == (4, True)
    assert "2 new" in called("store", "import-older", "memory.json").output


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("{", 4, "bad.json: line 1: broken JSON"),
        ("", 4, "bad.json: line 1: broken JSON"),
        ("7", 4, "current_conversation is a number"),
        ('{"metadata": {"version": "8"}}', 4, "metadata.version is '8'; known: 1.0, 2.0, 3.0"),
        ('[{"user": 3}]', 4, "current_conversation.0.user is a number"),
    ],
)
def test_damaged_file_ends_in_a_line_and_the_others_are_brought(
    called: Callable[..., Result], text: str, code: int, says: str
) -> None:
    """W-05, W-17: with its place; nothing of it is taken, and it stays as it is."""
    Path("bad.json").write_text(text, encoding="utf-8")
    for command in (["store", "import-older"], ["import"]):
        done = called(*command, "bad.json", "memory.json")
        assert done.exit_code == code
        assert says in done.output
        assert "of 2 exchanges" in done.output
    assert Path("bad.json").read_text("utf-8") == text


def test_files_that_are_all_damaged_make_no_store(called: Callable[..., Result]) -> None:
    """W-05: nor does one in another encoding, which is named."""
    for data, says in ((b"\xff\xfe{\x00", "is UTF-16; save the file as UTF-8"), (b"\xa8", "byte 0 is not UTF-8")):
        Path("bad.json").write_bytes(data)
        done = called("import", "bad.json")
        assert (done.exit_code, says in done.output) == (4, True)
    assert not Path("s.db").exists()


@pytest.mark.parametrize("command", [["store", "import-older"], ["import"]], ids=" ".join)
def test_path_that_is_none_makes_no_store(called: Callable[..., Result], command: list[str]) -> None:
    """C26: nor does an empty folder."""
    Path("empty").mkdir()
    for path, says in (("none.json", "no such file or folder"), ("empty", "no *.json files in this folder")):
        done = called(*command, path)
        assert (done.exit_code, says in done.output) == (4, True)
    assert not Path("s.db").exists()


def test_version_is_forced_by_the_environment(called: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    """W-17: files are read, and written, as of version 1.0, whatever they say."""
    Path("memory.json").write_text(json.dumps({"metadata": {"version": "3.0"}, **OLD}), encoding="utf-8")
    assert called("store", "import-older", "memory.json").exit_code == 4
    monkeypatch.setenv("SQUIDBOT_WORKSPACEAI_VERSION", "1.0")
    assert called("store", "import-older", "memory.json").exit_code == 0
    assert called("store", "export", "out").exit_code == 0
    back = json.loads(Path("out/memory.json").read_text("utf-8"))["current_conversation"]
    assert [(one["user"], one["assistant"]) for one in back] == [("hello", "hi"), ("only this", "")]
    assert called("store", "export", "out").exit_code == 1
    monkeypatch.setenv("SQUIDBOT_WORKSPACEAI_VERSION", "7")
    assert called("store", "import-older", "memory.json").exit_code == 2


def test_what_exported_files_have_no_place_for_is_not_lost(called: Callable[..., Result]) -> None:
    """A warning that says what the files lack says, too, where it still is."""
    with squidbot.load({"store": {"path": "s.db"}}) as engine:
        engine.session("s").record({"role": "system", "content": "Be brief."}, "Hello", "Hi")
    warned = called("store", "export", "out").stderr
    assert "1 system messages; nothing is lost: the store keeps them" in warned
    assert "squidbot store copy" in warned


def test_session_of_exchanges_that_name_none_can_be_named(called: Callable[..., Result]) -> None:
    """W-07: `engine.session("work", model=...)` goes on in it."""
    assert "work@model:qwen2.5:7b: 2 new" in called("store", "import-older", "memory.json", "--session", "work").output
