"""Private files and folders, locks between processes, and atomic, durable replacement."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO, BinaryIO


# These files hold conversations, as text or as vectors: only their owner may read and write them.
OWN_FILE: Final = 0o600
OWN_FOLDER: Final = 0o700

if sys.platform == "win32":
    import msvcrt

    def lock(file: BinaryIO) -> None:
        """Lock a file until it is closed or the process dies; wait for other processes."""
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)

    def lock_at_once(file: BinaryIO) -> bool:
        """Lock a file without waiting, and return whether it worked."""
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def lock(file: BinaryIO) -> None:
        """Lock a file until it is closed or the process dies; wait for other processes."""
        fcntl.flock(file, fcntl.LOCK_EX)

    def lock_at_once(file: BinaryIO) -> bool:
        """Lock a file without waiting, and return whether it worked."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


def open_own(path: str | os.PathLike[str], mode: str) -> BinaryIO:
    """Open a binary file as `open` does; a new file is private to its owner.

    Raises:
        OSError: it can't be opened.
    """
    file: BinaryIO = open(path, f"{mode}b", opener=_made_own)  # type: ignore[assignment]  # noqa: SIM115  # the caller's
    return file


@contextmanager
def open_whole(path: Path) -> Iterator[IO[str]]:
    """Open a private ASCII file that appears when it is complete; write to a device or a pipe directly.

    After an error, nothing of it remains.

    Raises:
        OSError: it can't be written.
    """
    if path.exists() and not path.is_file():
        with path.open("w", encoding="ascii") as device:
            yield device
        return
    path = Path(os.path.realpath(path))
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        # An interrupt may come right behind the opening, too.
        with TextIOWrapper(open_own(unfinished, "x"), encoding="ascii", newline="\n") as file:
            yield file
        unfinished.replace(path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise


def make_file(path: str | os.PathLike[str]) -> None:
    """Create an empty private file; leave an existing one alone, even unopened.

    Raises:
        OSError: it can't be made.
    """
    with suppress(FileExistsError):
        os.close(_made_own(os.fspath(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL))


def write(path: str | os.PathLike[str], data: bytes, mode: int | None = None) -> None:
    """Write a private file, or one with these permissions, durable except its name.

    Raises:
        OSError: it can't be written.
    """
    with open_own(path, "w") as file:
        if mode is not None:
            Path(path).chmod(mode)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def append(path: str | os.PathLike[str], data: bytes) -> None:
    """Append to a file, created if missing; wait for a `replace` in progress.

    Raises:
        OSError: it can't be written.
    """
    while True:
        with open_own(path, "a") as file:
            lock(file)
            if has_name(file, path):  # else another one has replaced it
                file.write(data)
                return


def replace(path: str | os.PathLike[str], change: Callable[[bytes], bytes]) -> bool:
    """Replace the content of an existing file atomically and durably, and return whether it changed.

    Keep its permissions. Overwrite the old bytes, unless the file has another name, which is its owner's copy. `append`
    waits meanwhile.

    Raises:
        OSError: it can't be read or written; then it is unchanged.
    """
    place, part = Path(path), Path(f"{os.fspath(path)}.part-{os.getpid()}")
    while True:
        with place.open("r+b") as old:
            lock(old)
            if not has_name(old, place):
                continue
            data = old.read()
            changed = change(data)
            if changed == data:
                return False
            try:
                write(part, changed, os.fstat(old.fileno()).st_mode & 0o777)
                part.replace(place)
            finally:
                part.unlink(missing_ok=True)
            sync(place.parent)
            _overwrite(old)
            return True


def remove(path: str | os.PathLike[str]) -> None:
    """Remove a file if it exists, and overwrite its old bytes as `replace` does.

    Raises:
        OSError: it can't be removed.
    """
    with suppress(FileNotFoundError), Path(path).open("r+b") as old:
        Path(path).unlink(missing_ok=True)
        sync(Path(path).parent)
        _overwrite(old)


def _overwrite(old: BinaryIO) -> None:
    """Overwrite the bytes of a file without any name left."""
    status = os.fstat(old.fileno())
    if not status.st_nlink:
        old.seek(0)
        old.write(b"\0" * status.st_size)
        old.flush()
        os.fsync(old.fileno())


def has_name(file: BinaryIO, path: str | os.PathLike[str]) -> bool:
    """Return whether an open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), Path(path).stat())
    except FileNotFoundError:
        return False


def state_folder() -> Path | None:
    """Return the folder of what programs of this user keep, made if it is missing; `None` if it can't be made.

    It is `squidbot` in $XDG_STATE_HOME, or in ~/.local/state (XDG Base Directory 0.8).
    """
    try:
        folder = Path(os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()) / "squidbot"
        make_folder(folder)
    except (OSError, RuntimeError):  # the home is missing or read-only
        return None
    return folder


def make_folder(path: str | os.PathLike[str]) -> None:
    """Create a folder and its parents if missing; new ones are private to their owner.

    Raises:
        OSError: it can't be made, or a file has its name.
    """
    folder = Path(path)
    for above in reversed(folder.parents):
        if not above.exists():
            above.mkdir(OWN_FOLDER, exist_ok=True)
    folder.mkdir(OWN_FOLDER, exist_ok=True)


def _made_own(path: str, flags: int) -> int:
    return os.open(path, flags, OWN_FILE)


def sync(path: str | os.PathLike[str]) -> None:
    """Make a file's content, or the names in a folder, durable.

    Raises:
        OSError: the disk failed, or the file can't be opened.
    """
    try:
        number = os.open(path, os.O_RDONLY)
    except OSError:
        if Path(path).is_dir():  # Windows opens none; there a rename is durable anyway
            return
        raise
    try:
        os.fsync(number)
    finally:
        os.close(number)
