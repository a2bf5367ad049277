"""Older files into the store, once, with a copy kept; and out of it again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from squidbot.services.exchange import ImportOptions, backed_up, migrated, session_named

from .talking import LLAMA, QWEN, engine_at, said_in, say

if TYPE_CHECKING:
    from pathlib import Path

FIRST = {
    "current_conversation": [
        {"user": "hello", "assistant": "hi", "timestamp": "2025-09-04T10:00:00Z"},
        {"user": {"content": "boats?"}, "assistant": {"content": "red"}, "metadata": {"model": LLAMA}},
        "only this",
    ]
}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A file of version 1.0."""
    path = tmp_path / "memory.json"
    path.write_text(json.dumps(FIRST), encoding="utf-8")
    return path


def test_file_that_is_brought_three_times_is_there_once(tmp_path: Path, old: Path) -> None:
    """V20, W-17: plain strings and objects, by model; the file stays, and a copy stands beside it."""
    counts = []
    before = old.read_bytes()
    for _ in range(3):
        with engine_at(tmp_path / "s.db") as engine:
            done = engine.import_models(old, keeps_copies=True)
            counts.append([engine.wired.store.head(session_named(model))[0] for model in (QWEN, LLAMA)])
    assert counts == [[3, 2]] * 3
    assert [file.became for file in done.files] == ["known", "known"]
    assert old.read_bytes() == before == (tmp_path / "memory.json.backup").read_bytes()
    with engine_at(tmp_path / "s.db") as engine:
        engine.export_models(tmp_path / "out")
        assert "boats?" in str(engine.session("workspaceai", model=LLAMA).assemble("Which?").messages)
        assert "boats?" not in str(engine.session("workspaceai", model=QWEN).assemble("Which?").messages)
    assert said_in(tmp_path / "out" / "qwen2-5-7b.json") == ["hello", "only this"]


def test_migration_is_taken_back_and_can_be_done_again(tmp_path: Path, old: Path) -> None:
    """W-17: what was said since stays, a file that is gone is put back, and its words are nowhere in the store."""
    path = tmp_path / "s.db"
    with engine_at(path) as engine:
        engine.import_models(old, keeps_copies=True)
        say(engine, LLAMA, "said since")
        old.unlink()
        taken = {one.session: one.messages for one in engine.roll_back(old)}
        assert taken == {session_named(QWEN): 3, session_named(LLAMA): 2}
        assert old.is_file()
        request = str(engine.session("workspaceai", model=LLAMA).assemble("Which?").messages)
        assert "said since" in request
        assert "boats?" not in request
        assert engine.roll_back(old) == []
        engine.import_models(old, keeps_copies=True)
        assert "hello" in str(engine.session("workspaceai", model=QWEN).assemble("Which?").messages)


def test_folder_is_taken_back_with_its_files(tmp_path: Path, old: Path) -> None:
    """W-17: and no other's."""
    other = tmp_path / "other" / "memory.json"
    other.parent.mkdir()
    other.write_text(json.dumps({"current_conversation": ["stays"]}), encoding="utf-8")
    with engine_at(tmp_path / "s.db") as engine:
        engine.import_models(old, other, keeps_copies=True)
        assert [one.messages for one in engine.roll_back(other.parent)] == [1]
        engine.export_models(tmp_path / "out")
    assert said_in(tmp_path / "out" / "qwen2-5-7b.json") == ["hello", "only this"]


def test_file_that_fails_leaves_the_rest(tmp_path: Path, old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W-17: a damaged one, one without a word, one that can't be copied; none is touched."""
    bad, gone = tmp_path / "bad.json", tmp_path / "gone.json"
    bad.write_text("{", encoding="utf-8")
    gone.write_text(json.dumps({"current_conversation": ["x"]}), encoding="utf-8")

    def refuses(path: Path) -> Path:
        if path == gone:
            raise PermissionError(13, "Permission denied", str(path))
        return backed_up(path)

    monkeypatch.setattr("squidbot.services.exchange.backed_up", refuses)
    with engine_at(tmp_path / "s.db") as engine:
        done = migrated(engine.wired, [bad, gone, old])
        stored = sum(messages for _, messages in engine.wired.store.sessions())  # type: ignore[attr-defined]
    assert [file.became for file in done.files] == ["failed", "failed", "imported", "imported"]
    assert "cannot copy it: Permission denied; nothing was imported" in done.files[1].reason
    assert stored == 5
    assert bad.read_text("utf-8") == "{"
    assert not (tmp_path / "bad.json.backup").exists()


def test_copy_of_another_state_is_kept_beside_it(old: Path) -> None:
    """W-17: a backup is never written over."""
    first = backed_up(old)
    assert backed_up(old) == first
    kept = first.read_bytes()
    old.write_text("[]", encoding="utf-8")
    second = backed_up(old)
    assert (first.read_bytes(), second.read_bytes()) == (kept, b"[]")
    assert second.name.startswith("memory.json.backup-")


def test_dry_run_copies_and_stores_nothing(tmp_path: Path, old: Path) -> None:
    """W-17: and says what would come."""
    with engine_at(tmp_path / "s.db") as engine:
        done = migrated(engine.wired, [old], ImportOptions(dry_run=True))
        assert [(file.session, file.new) for file in done.files] == [
            (session_named(QWEN), 2),
            (session_named(LLAMA), 1),
        ]
        assert not (tmp_path / "memory.json.backup").exists()
        assert engine.wired.store.head(session_named(QWEN)) == (0, 0)


def test_version_can_be_forced(tmp_path: Path) -> None:
    """W-17: a file that says a version that it is not of."""
    path = tmp_path / "memory.json"
    path.write_text(json.dumps({"metadata": {"version": "3.0"}, **FIRST}), encoding="utf-8")
    with engine_at(tmp_path / "s.db") as engine:
        assert migrated(engine.wired, [path]).files[0].became == "failed"
        forced = migrated(engine.wired, [path], ImportOptions(version="1.0"))
    assert [file.new for file in forced.files] == [2, 1]
