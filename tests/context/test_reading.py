"""Names and files of documents: below the folder, of a size, and text (P-13)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.errors import ConfigError, NotFoundError
from squidbot.services.documents import (
    FILES,
    MOST_BYTES,
    PROJECT,
    below,
    core_files,
    files_of,
    named,
    project_document,
    text_of,
)


@pytest.mark.parametrize(
    ("path", "name"), [("a.md", "a.md"), ("./docs//b.md", "docs/b.md"), ("docs\\c.md", "docs/c.md")]
)
def test_path_below_the_folder_has_one_name(path: str, name: str) -> None:
    """However it is written."""
    assert named(path) == name


@pytest.mark.parametrize(
    "path", ["", ".", "..", "../a", "a/../../b", "/etc/passwd", "~/x", "C:\\x", "a\x00b", "a\n.md", "<a>"]
)
def test_path_that_leads_elsewhere_is_no_name(path: str) -> None:
    """Nor is one that would end the line that names it."""
    with pytest.raises(ConfigError, match=r"is not a path|document name"):
        named(path)


@given(st.text(max_size=30))
def test_no_name_leaves_the_folder(path: str) -> None:
    """Whatever is asked for."""
    try:
        name = named(path)
    except ConfigError:
        return
    assert Path(os.path.normpath(Path("/folder") / name)).is_relative_to("/folder")
    assert named(name) == name


def test_link_out_of_the_folder_is_refused_and_one_inside_is_followed(tmp_path: Path) -> None:
    """Of files and of folders (P-13)."""
    (tmp_path / "secret.md").write_text("walrus")
    folder = tmp_path / "context"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "api.md").write_text("api")
    (folder / "out.md").symlink_to(tmp_path / "secret.md")
    (folder / "up").symlink_to(tmp_path)
    (folder / "in.md").symlink_to(folder / "docs" / "api.md")
    (folder / "loop").symlink_to(folder / "loop")
    assert text_of(below(folder, "in.md"), "in.md") == "api"
    for name in ("out.md", "up/secret.md"):
        with pytest.raises(ConfigError, match="is outside of"):
            below(folder, name)
    with pytest.raises(NotFoundError, match="no such file: 'loop'"):
        below(folder, "loop")
    assert [name for name, _ in files_of(folder)] == ["docs/api.md", "in.md"]


def test_what_is_no_text_is_refused_with_its_reason(tmp_path: Path) -> None:
    """A folder, a pipe, bytes, too much of it; a mark in front and ends of lines are taken off."""
    (tmp_path / "bytes").write_bytes(b"ab\xff")
    (tmp_path / "nul").write_bytes(b"a\x00b")
    (tmp_path / "large").write_bytes(b"x" * (MOST_BYTES + 1))
    (tmp_path / "ok").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    os.mkfifo(tmp_path / "pipe")
    for name, said in (("bytes", "UTF-8 text: byte 2"), ("nul", "NUL"), ("large", "larger than 1,048,576 bytes")):
        with pytest.raises(ConfigError, match=said):
            text_of(tmp_path / name, name)
    for name, said in (
        ("pipe", "is not a file"),
        ("gone", "no such file: 'gone'"),
        (".", "is a folder|is not a file"),
    ):
        with pytest.raises(NotFoundError, match=said):
            text_of(tmp_path / name, name)
    assert text_of(tmp_path / "ok", "ok") == "one\ntwo"


def test_first_document_of_a_project_is_taken_up_to_its_cap(tmp_path: Path) -> None:
    """PENGUIN.md before AGENTS.md before README.md; 2,400, 2,000 and 1,200 characters (P-02)."""
    assert project_document(tmp_path) is None
    for name, most_chars in FILES[::-1]:
        (tmp_path / name).write_text(f"{name} " + "x" * 5_000)
        found = project_document(tmp_path)
        assert found is not None
        assert found.name == PROJECT
        heading, text = found.text.split("\n", 1)
        assert heading == f"{name}:"
        assert len(text) <= most_chars
        assert text.endswith(f"[the first {most_chars:,} of {len(name) + 5_001:,} characters]")
    (tmp_path / "PENGUIN.md").write_text("\n \n")
    found = project_document(tmp_path)
    assert found is not None
    assert found.text.startswith("AGENTS.md:")


@pytest.mark.parametrize(
    "text",
    ["core_files: [a.md, docs/b.md]", "core_files:\n  - path: a.md\n  - docs/b.md\n", "- a.md\n- docs/b.md\n- a.md"],
)
def test_configuration_names_files(tmp_path: Path, text: str) -> None:
    """As texts or with a path, each once (P-02)."""
    pytest.importorskip("yaml")
    (tmp_path / "context_config.yml").write_text(text)
    assert core_files(tmp_path) == ("a.md", "docs/b.md")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("core_file: [a]", "unknown key 'core_file'"),
        ("core_files: a.md", "must be a list of paths"),
        ("core_files: [1]", "core_files has 1"),
        ("core_files: [../a]", "is not a path below"),
        ("core_files: [", "no YAML"),
    ],
)
def test_configuration_that_is_wrong_is_named_with_its_file(tmp_path: Path, text: str, said: str) -> None:
    """And what it may be."""
    pytest.importorskip("yaml")
    (tmp_path / "context_config.yml").write_text(text)
    with pytest.raises(ConfigError, match=said) as raised:
        core_files(tmp_path)
    assert "context_config.yml" in str(raised.value)


def test_folder_without_configuration_names_none(tmp_path: Path) -> None:
    """Nor does an empty one."""
    assert core_files(tmp_path) == ()
    pytest.importorskip("yaml")
    (tmp_path / "context_config.yaml").write_text("core_files:\n")
    assert core_files(tmp_path) == ()
