"""A model's header, from the one file or the several that it is in; remembered while they stay as they are."""

from __future__ import annotations

import os
import re
import stat
from collections import OrderedDict
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.adapters.gguf.cursor import Cursor
from squidbot.adapters.gguf.parsing import parse
from squidbot.core.errors import ModelFileError
from squidbot.core.sizing.header import Header

if TYPE_CHECKING:
    from os import PathLike

    from squidbot.adapters.gguf.parsing import Part
    from squidbot.core.sizing.header import Tensor

__all__ = ["read_header"]

# As llama.cpp names the parts of a model (llama_split_path).
_PART: Final = re.compile(r"(?P<name>.+)-[0-9]{5}-of-(?P<count>[0-9]{5})(?P<end>\.[^.]*)?", re.DOTALL)
_SIBLINGS: Final = "download all parts into one folder, with the names that they have"
_MOST_REMEMBERED: Final = 8


class _Stamp(NamedTuple):
    """A file as it was read, to tell whether it still is that."""

    path: Path
    size: int
    changed_nanoseconds: int
    inode: int


def _stamped(path: Path, found: os.stat_result) -> _Stamp:
    return _Stamp(path, found.st_size, found.st_mtime_ns, found.st_ino)


_remembered: OrderedDict[Path, tuple[list[_Stamp], Header]] = OrderedDict()
_lock = Lock()


def read_header(path: str | PathLike[str]) -> Header:
    """Return what a model file says of itself, of all its parts; any part may be given.

    Only metadata and the table of tensors are read, tens of milliseconds for the largest vocabularies; once more for
    files that have not changed since, nothing is. An array of over 4,096 items, and a string of over 1 MiB, is checked
    but not kept: see `LongArray`.

    Raises:
        ModelFileError: a file can't be read, is no GGUF, is damaged, incomplete, or one of several that is missing.
    """
    path = Path(path)
    with _lock:
        known = _remembered.get(path)
        if known is not None and all(_stamp(stamp.path) == stamp for stamp in known[0]):
            _remembered.move_to_end(path)
            return known[1]
    stamps, header = _read_all(path)
    with _lock:
        _remembered[path] = (stamps, header)
        while len(_remembered) > _MOST_REMEMBERED:
            _remembered.popitem(last=False)
    return header


def _stamp(path: Path) -> _Stamp | None:
    try:
        return _stamped(path, path.stat())
    except (OSError, ValueError):
        return None


def _read_all(path: Path) -> tuple[list[_Stamp], Header]:
    given, stamp = _read_part(path)
    count = given.metadata.get("split.count", 1)
    if not isinstance(count, int):
        raise ModelFileError(f"{path}: split.count is {count!r:.40}, no number; the file is damaged: download it again")
    if count <= 1:
        return [stamp], Header(given.metadata, tuple(given.tensors), stamp.size)
    paths = _paths(path, count)
    found = [
        (given, stamp) if part == path else _read_part(part, f"part {number} of {count}: ") for number, part in paths
    ]
    for (number, part), (read, _) in zip(paths, found, strict=True):
        said = read.metadata.get("split.no"), read.metadata.get("split.count")
        if said != (number - 1, count):
            raise ModelFileError(
                f"{part}: by its name part {number} of {count}, but split.no and split.count are {said}; {_SIBLINGS}"
            )
    stamps = [stamp for _, stamp in found]
    tensors = _joined(path, [read for read, _ in found])
    return stamps, Header(found[0][0].metadata, tensors, sum(stamp.size for stamp in stamps), count)


def _paths(path: Path, count: int) -> list[tuple[int, Path]]:
    """Return the parts by number, from 1, given any of them."""
    match = _PART.fullmatch(path.name)
    if match is None or int(match["count"]) != count:
        raise ModelFileError(f"{path}: one of {count} parts, not named as such; {_SIBLINGS}")
    name, end = match["name"], match["end"] or ""
    return [(number, path.with_name(f"{name}-{number:05d}-of-{count:05d}{end}")) for number in range(1, count + 1)]


def _joined(path: Path, parts: list[Part]) -> tuple[Tensor, ...]:
    tensors = tuple(tensor for part in parts for tensor in part.tensors)
    if len({tensor.name for tensor in tensors}) < len(tensors):
        raise ModelFileError(f"{path}: a tensor is in two parts; {_SIBLINGS}")
    due = parts[0].metadata.get("split.tensors.count", len(tensors))
    if due != len(tensors):
        raise ModelFileError(
            f"{path}: the parts have {len(tensors)} tensors together, {due!r:.40} were due; {_SIBLINGS}"
        )
    return tensors


def _read_part(path: Path, which: str = "") -> tuple[Part, _Stamp]:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would block
            raise ModelFileError(f"{which}{path} is a folder or a device; name the .gguf file itself")
        with path.open("rb", buffering=0) as file:
            found = os.fstat(file.fileno())
            part = parse(Cursor(file, str(path), found.st_size))
    except FileNotFoundError as error:
        todo = _SIBLINGS if which else "check the path"
        raise ModelFileError(f"{which}{path} is not there; {todo}") from error
    except (OSError, ValueError) as error:
        raise ModelFileError(
            f"{which}{path!s:.400} can't be read: {error}; check the path and who may read it"
        ) from error
    if part.end > found.st_size:
        raise ModelFileError(
            f"{path}: byte {found.st_size}: the file ends here, but its last tensor at byte {part.end}; "
            "it is an incomplete download: finish it, or download it again"
        )
    return part, _stamped(path, found)
