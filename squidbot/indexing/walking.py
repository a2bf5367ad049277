"""The files that a path, a folder or a pattern means, and those that are passed over, with the reason."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Found", "Walk", "named", "walk"]

_MAGIC = frozenset("*?[")


class Found(NamedTuple):
    """A file that is there.

    Attributes:
        name: what it is called in the index: from the folder on, with slashes; absolute where it is not below that.
        path: where it is.
        state: of the file when it was found.
        asked: which path, folder or pattern it was found by.
    """

    name: str
    path: Path
    state: os.stat_result
    asked: str


@dataclass
class Walk:
    """What was found.

    Attributes:
        files: each file once, in order of name.
        skipped: what was passed over, with the reason, by name.
        missing: what was asked for, and names nothing that is there; a folder without files is there.
    """

    files: dict[str, Found] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


def walk(folder: Path, asked: Iterable[str], most_bytes: int, without: tuple[str, ...] = ()) -> Walk:
    """Return the files that are meant, without hidden ones, links that lead out, and those over `most_bytes`.

    A name that begins with a dot hides a file or folder, but for what is asked for itself. `folder` is what relative
    paths are relative to; a file whose path begins with one of `without` is passed over in silence.
    """
    found = Walk()
    real: dict[str, str] = {}
    for each in asked:
        root, paths = _meant(folder, each)
        if not paths:
            _note_missing(found, folder, each)
        for path in sorted(paths):
            name = named(folder, path)
            if not _is_ours(path, without) and name not in found.files:
                reason, state = _refused(path, os.path.realpath(root), most_bytes)
                target = os.path.realpath(path)
                if not reason and real.setdefault(target, name) != name:
                    reason = f"the same file as {real[target]}"
                _note(found, Found(name, path, state, each) if state and not reason else None, name, reason)
    return found


def _is_ours(path: Path, without: tuple[str, ...]) -> bool:
    return str(path).startswith(without)


def _note(found: Walk, file: Found | None, name: str, reason: str) -> None:
    if file is None:
        found.skipped[name] = reason
    else:
        found.skipped.pop(name, None)
        found.files[name] = file


def _note_missing(found: Walk, folder: Path, asked: str) -> None:
    """Note what is not there; a pattern may match nothing yet, and a folder may be empty."""
    whole = _whole(folder, asked)
    if not os.path.lexists(whole):
        found.missing.append(asked)
        if _MAGIC.isdisjoint(asked):
            found.skipped[named(folder, whole)] = "there is no such file or folder"


def named(folder: Path, path: Path) -> str:
    """Return what a file is called in the index."""
    whole = Path(os.path.normpath(folder / path))
    base = Path(os.path.normpath(folder))
    return whole.relative_to(base).as_posix() if whole.is_relative_to(base) else whole.as_posix()


def _whole(folder: Path, asked: str) -> Path:
    return folder / Path(asked).expanduser()


def _meant(folder: Path, asked: str) -> tuple[Path, list[Path]]:
    """Return below which folder all that is meant has to be, and the files; what is there is no pattern."""
    whole = _whole(folder, asked)
    if os.path.lexists(whole):
        return (whole, list(_below(whole))) if whole.is_dir() else (whole.parent, [whole])
    parts = Path(asked).expanduser().parts
    fixed = list(_before_magic(parts))
    root = folder.joinpath(*fixed)
    if len(fixed) == len(parts):
        return root, []
    hits = [each for each in root.glob(str(Path(*parts[len(fixed) :]))) if not _is_hidden(each.relative_to(root))]
    return root, [file for each in hits for file in (_below(each) if each.is_dir() else [each])]


def _before_magic(parts: Iterable[str]) -> Iterator[str]:
    for part in parts:
        if _MAGIC & set(part):
            return
        yield part


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") and part not in {".", ".."} for part in path.parts)


def _below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder; links to folders are not gone into, they are files that can't be read."""
    for place, folders, files in os.walk(folder):
        links = [name for name in folders if Path(place, name).is_symlink()]
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in links)
        yield from (Path(place, name) for name in (*files, *links) if not name.startswith("."))


def _refused(path: Path, inside: str, most_bytes: int) -> tuple[str, os.stat_result | None]:
    """Return why a file is passed over, "" for nothing; and its state."""
    try:
        state = path.stat()
    except FileNotFoundError:
        return ("a link to nothing" if path.is_symlink() else "there is no such file or folder"), None
    except OSError as error:
        return f"can't be read: {error.strerror or error}", None
    reason = ""
    if path.is_symlink() and os.path.commonpath([os.path.realpath(path), inside]) != inside:
        reason = "a link that leads out of what is indexed"
    elif stat.S_ISDIR(state.st_mode):
        reason = "a link to a folder"
    elif not stat.S_ISREG(state.st_mode):
        reason = "no file, but a device or a pipe"
    elif state.st_size > most_bytes:
        reason = f"{state.st_size:,} bytes, more than memory.index_most_bytes = {most_bytes:,}"
    return reason, state
