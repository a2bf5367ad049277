"""A folder with a file for each model: names, writing whole or not at all, damage set aside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib.model_files import ModelFiles, name_of
from squidbot.codecs.workspaceai import ModelFile, write
from squidbot.core.errors import StoreError
from squidbot.services.exchange import fresh_file, owner_of

if TYPE_CHECKING:
    from pathlib import Path


def kept(folder: Path) -> ModelFiles:
    """Return a folder of files of form 3.0."""
    return ModelFiles(folder, owner_of, fresh_file)


def of(model: str) -> str:
    """Return the text of a model's file in which nothing was said."""
    return write(ModelFile(model))


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("qwen2.5:7b", "qwen2-5-7b"),
        ("llama3.1:8b", "llama3-1-8b"),
        ("claude-3-haiku", "claude-3-haiku"),
        ("gpt-4o-mini", "gpt-4o-mini"),
        ("My Model", "my-model"),
        ("../../etc/passwd", "etc-passwd-3754d6cb"),
        ("模型", "unknown-c98e118e"),
        ("CON", "con-a3dbc4b6"),
        ("", "unknown"),
    ],
)
def test_names_are_those_of_the_document(model: str, name: str) -> None:
    """W-03: `:`, `.` and spaces become `-`, letters are small; no name leads out of the folder."""
    assert name_of(model) == name


@given(st.lists(st.text(max_size=200), max_size=6, unique=True))
def test_no_two_models_have_one_file(tmp_path_factory: pytest.TempPathFactory, models: list[str]) -> None:
    """C27: the first has the document's name, others a digest behind it; the index says whose each is."""
    folder = tmp_path_factory.mktemp("models")
    files = kept(folder)
    for model in models:
        assert files.save(model, of(model)), files.failure
    paths = {model: files.path_of(model) for model in models}
    assert len({str(path).lower() for path in paths.values()}) == len(models)
    assert all(path.parent == folder and len(path.name.encode()) < 200 for path in paths.values())
    (folder / ".index.json").unlink(missing_ok=True)
    assert all(owner_of(kept(folder).load(model)) == model for model in models)


def test_first_owner_keeps_the_name_and_others_get_a_digest(tmp_path: Path) -> None:
    """C27: `a:b` and `a.b` collide."""
    files = kept(tmp_path)
    assert files.save("a:b", of("a:b"))
    assert files.save("a.b", of("a.b"))
    assert sorted(path.name for path in tmp_path.glob("a*")) == ["a-b-2e7336dc.json", "a-b.json"]
    index = json.loads((tmp_path / ".index.json").read_text())
    assert index["files"]["a-b"] == "a:b"
    assert sorted(index["files"].values()) == ["a.b", "a:b"]


@pytest.mark.parametrize(
    "index",
    ["{", "[1]", '{"files": {"../evil": "m"}}', '{"files": {"/tmp/evil": "m"}}', '{"files": {".hidden": "m"}}'],
)
def test_index_leads_nobody_out_of_the_folder(tmp_path: Path, index: str) -> None:
    """C27: one that is damaged, or that somebody else wrote; the files say whose they are, too."""
    folder = tmp_path / "models"
    assert kept(folder).save("m", of("m"))
    (folder / ".index.json").write_text(index)
    assert kept(folder).path_of("m") == folder / "m.json"
    assert kept(folder).save("m", of("m"))
    assert [path.name for path in tmp_path.iterdir()] == ["models"]


def test_file_is_what_it_was_where_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W-06: at any step; nothing is left of the attempt, and `save` says False."""
    files = kept(tmp_path)
    assert files.save("m", of("m"))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for step in range(1, 12):
        calls = iter(range(1, 100))

        def fails(number: int, at: int = step, calls: object = calls) -> None:
            if next(calls) == at:  # type: ignore[call-overload]  # an iterator
                raise OSError(28, "No space left on device")
            del number

        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", fails)
            changed = files.save("m", of("m").replace('"created": ""', f'"created": "{step}"'))
        if changed:
            break
        assert "No space left" in files.failure
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
        assert kept(tmp_path).load("m") == of("m")
    assert changed
    assert not list(tmp_path.glob("*.backup"))


def test_text_that_is_no_file_of_the_model_is_never_written(tmp_path: Path) -> None:
    """W-06: what was written is read and checked before it takes the file's name."""
    files = kept(tmp_path)
    assert files.save("m", of("m"))
    assert not files.save("m", "{")
    assert "broken JSON" in files.failure
    assert not files.save("m", of("other"))
    assert files.load("m") == of("m")


def test_damaged_file_is_set_aside_and_a_fresh_one_begun(tmp_path: Path) -> None:
    """W-05: "invalid json content {": "Should return fresh memory, not crash"; by reading it, and by writing over it.

    The damaged file is never lost: it stands beside a fresh one. A missing file is fresh, too, and reading writes none.
    """
    document = kept(tmp_path)
    document.path_of("test-model").write_text("invalid json content {")
    memory = json.loads(document.load("test-model"))
    assert memory["metadata"]["version"] == "3.0"
    assert memory["metadata"]["model"] == "test-model"
    assert memory["current_conversation"] == []
    assert json.loads((tmp_path / "test-model.json").read_text()) == memory
    assert document.aside is not None
    assert document.aside.read_text() == "invalid json content {"
    assert json.loads(document.load("none"))["metadata"]["model"] == "none"
    assert not (tmp_path / "none.json").exists()
    files = kept(tmp_path)
    for damage in (b"invalid json {", b"", b"\xff\xfe", b'{"metadata": {}}'):
        (tmp_path / "m.json").write_bytes(damage)
        assert owner_of(files.load("m")) == "m"
        assert (tmp_path / "m.json").read_text() == files.load("m")
        (tmp_path / "m.json").write_bytes(damage + b" ")
        assert files.save("m", of("m"))
    aside = [path.read_bytes() for path in tmp_path.glob("m.json.damaged-*")]
    assert b"invalid json {" in aside
    assert b"invalid json { " in aside
    assert files.load("m") == of("m")


def test_missing_file_is_put_back_from_its_backup(tmp_path: Path) -> None:
    """W-06: a writer died between two names; W-05: or left half a file."""
    files = kept(tmp_path)
    (tmp_path / "m.backup").write_text(of("m"))
    assert files.load("m") == of("m")
    (tmp_path / "m.backup").write_text(of("m"))
    (tmp_path / "m.json").write_text(of("m")[:40])
    assert files.load("m") == of("m")
    assert owner_of(files.load("other")) == "other"


def test_folder_that_is_none_is_named(tmp_path: Path) -> None:
    """W-06: a file in its place, or nobody may write there."""
    (tmp_path / "file").write_text("")
    files = kept(tmp_path / "file")
    assert not files.save("m", of("m"))
    assert "file" in files.failure


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_without_a_right_to_write_is_named(tmp_path: Path) -> None:
    """W-06: and left as it is."""
    tmp_path.chmod(0o500)
    assert not kept(tmp_path).save("m", of("m"))


# What a process does, which has to import less than this file does.
WRITER = """
import sys
from pathlib import Path
from squidbot.adapters.stdlib.model_files import ModelFiles
from squidbot.codecs.workspaceai import ModelFile, write
from squidbot.services.exchange import fresh_file, owner_of

files, model = ModelFiles(Path(sys.argv[1]), owner_of, fresh_file), sys.argv[2]
for number in range(20):
    text = write(ModelFile(model)).replace('"created": ""', f'"created": "{number}"')
    assert files.save(model, text), files.failure
"""


def test_processes_that_write_at_once_leave_whole_files(tmp_path: Path) -> None:
    """W-06, V24: of one model and of two that are spelled alike."""
    models = ["a:b", "a.b", "a:b"]
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), model]) for model in models]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    for model in set(models):
        assert owner_of(kept(tmp_path).load(model)) == model
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 4, names


def test_file_that_can_t_be_read_is_an_error_and_no_damage(tmp_path: Path) -> None:
    """W-05: what nobody may read is not set aside."""
    (tmp_path / "m.json").mkdir()
    with pytest.raises(StoreError, match="can't be read"):
        kept(tmp_path).load("m")
    assert (tmp_path / "m.json").is_dir()
