"""Which files a path, a folder or a pattern means: real folders, with whatever lies in them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from squidbot.services.indexing import FileList, named, walk

if TYPE_CHECKING:
    from pathlib import Path

MOST_BYTES = 100


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with notes, hidden files, links, a pipe and a file that is too large."""
    notes = tmp_path / "home" / "notes"
    (notes / "deep").mkdir(parents=True)
    (notes / ".git").mkdir()
    for name in ("a.md", "deep/b.md", ".hidden.md", ".git/config", "c.txt"):
        (notes / name).write_text("words", encoding="utf-8")
    (notes / "large.md").write_bytes(b"x" * (MOST_BYTES + 1))
    os.mkfifo(notes / "pipe")
    (tmp_path / "secret.md").write_text("outside", encoding="utf-8")
    (notes / "out.md").symlink_to(tmp_path / "secret.md")
    (notes / "again.md").symlink_to(notes / "a.md")
    (notes / "nothing.md").symlink_to(notes / "gone.md")
    (notes / "deep" / "up").symlink_to(notes)
    return tmp_path / "home"


def found(folder: Path, *asked: str) -> FileList:
    """Return what is found below a folder."""
    return walk(folder, asked, MOST_BYTES)


def test_folder_means_its_files_and_says_what_it_passes_over(folder: Path) -> None:
    """Hidden ones in silence; what is a link out, to a folder, to nothing, twice there, a pipe or too large by name."""
    walked = found(folder, "notes/")
    assert list(walked.files) == ["notes/a.md", "notes/c.txt", "notes/deep/b.md"]
    assert walked.skipped == {
        "notes/again.md": "the same file as notes/a.md",
        "notes/deep/up": "a link to a folder",
        "notes/large.md": "101 bytes, more than memory.index_most_bytes = 100",
        "notes/nothing.md": "a link to nothing",
        "notes/out.md": "a link that points outside the indexed folders",
        "notes/pipe": "not a regular file",
    }


@pytest.mark.parametrize(
    ("asked", "due"),
    [
        (["notes/*.md"], ["notes/a.md"]),
        (["notes/**/*.md"], ["notes/a.md", "notes/deep/b.md"]),
        (["notes/d*"], ["notes/deep/b.md"]),
        (["notes/deep", "notes/a.md", "notes"], ["notes/a.md", "notes/c.txt", "notes/deep/b.md"]),
        (["notes/.hidden.md"], ["notes/.hidden.md"]),
        (["notes/[a]*"], ["notes/a.md"]),
        ([], []),
    ],
)
def test_pattern_means_what_it_matches(folder: Path, asked: list[str], due: list[str]) -> None:
    """Each file once, however often it is meant; a hidden one where it is named itself."""
    assert sorted(found(folder, *asked).files) == due


def test_what_is_not_there_is_named(folder: Path) -> None:
    """A pattern that matches nothing is none of that."""
    assert found(folder, "gone.md", "gone/", "gone/*.md").skipped == {"gone.md": "no such file or folder"} | {
        "gone": "no such file or folder"
    }
    (folder / "empty").mkdir()
    assert found(folder, "gone.md", "gone/*.md", "empty", "notes", "nothing.md").missing == [
        "gone.md",
        "gone/*.md",
        "nothing.md",
    ]


def test_what_is_there_is_no_pattern(folder: Path) -> None:
    """Neither a name with brackets, nor the folder that all lie in."""
    (folder / "notes [old]").mkdir()
    (folder / "notes [old]" / "d.md").write_text("words", encoding="utf-8")
    assert list(found(folder, "notes [old]/").files) == ["notes [old]/d.md"]
    inside = folder / "notes [old]"
    assert (
        list(found(inside, "d.md").files)
        == list(found(inside, "*.md").files)
        == list(found(inside, ".").files)
        == ["d.md"]
    )


def test_path_outside_of_the_folder_is_called_by_its_whole_name(folder: Path) -> None:
    """And so it is the same from anywhere."""
    outside = folder.parent / "secret.md"
    assert list(found(folder, "../secret.md").files) == [outside.as_posix()]
    assert named(folder, outside) == outside.as_posix()
    assert named(folder, folder / "notes" / ".." / "a.md") == "a.md"


def test_files_of_the_store_are_passed_over_in_silence(folder: Path) -> None:
    """With its log, and what else stands beside it."""
    for name in ("facts.db", "facts.db-wal"):
        (folder / name).write_bytes(b"SQLite")
    walked = walk(folder, ["facts.db", "*"], MOST_BYTES, (str(folder / "facts.db"),))
    assert not [name for name in (*walked.files, *walked.skipped) if "facts" in name]
