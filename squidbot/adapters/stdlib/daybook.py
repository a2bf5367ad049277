"""A journal in a folder: a file of JSON lines for each day in UTC, which anybody can read and copy.

Beside them is the newest day as Markdown for people, rewritten with each entry. A file only grows, except that
forgotten entries are removed. A dead process's partial line stays: the next line begins on a new one, and readers
report the partial one as a fault.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import threading
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from squidbot.adapters.common.files import lock, make_file, make_folder, open_own, remove, replace, sync
from squidbot.core.errors import DamagedStoreError, JournalFullError, StoreError
from squidbot.core.journal import (
    AppendedEntry,
    JournalPage,
    JournalRules,
    day_as_markdown,
    from_line,
    to_line,
    valid_day,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from squidbot.core.journal import JournalEntry

__all__ = ["PAGE", "Daybook", "State"]

_NAME: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})\.jsonl", re.ASCII)
# The newest day's entries for people.
PAGE: Final = "daily_summary.md"
# Hidden, so indexers of the folder skip it.
_LOCK: Final = ".journal.lock"


State: TypeAlias = "tuple[str, int, int] | None"


class Daybook:
    """Journal in a folder; any number of processes and threads may use it, also readers without write access."""

    def __init__(self, folder: str | os.PathLike[str], rules: JournalRules | None = None) -> None:
        """Name a folder, created with the first entry; `rules` limit its content (`None`: the defaults)."""
        self.folder = Path(folder)
        self.rules = rules or JournalRules()
        self._turn = threading.Lock()

    def append(self, entry: JournalEntry) -> AppendedEntry:
        """Store an entry under the day of its own time, durable on return, and return its stored form.

        Raises:
            JournalFullError: nothing was written: its day has the maximum number of entries.
            StoreError: nothing was written: it is empty, or the disk failed.
        """
        kept, cuts = self.rules.applied(entry)
        path = self.folder / f"{kept.day}.jsonl"
        line = to_line(kept).encode() + b"\n"
        try:
            with self._turn, self._writing():
                data = _bytes_of(path)
                entries, faults = _entries(path, data)
                if len(entries) >= self.rules.most_entries_per_day:
                    raise JournalFullError(kept.day, self.rules.most_entries_per_day)
                _append(path, line if data.endswith(b"\n") or not data else b"\n" + line)
                self._write_page(kept.day, (*entries, kept), faults)
        except OSError as error:
            raise _failed(path, error, "nothing was written") from error
        return AppendedEntry(kept, len(entries) + 1, cuts, tuple(faults))

    def rewrite(self, change: Callable[[JournalEntry], JournalEntry | None], tells: Callable[[str], bool]) -> list[str]:
        """Replace entries with changed ones, `None` to remove; return the days with changed files.

        Write each file whole or not at all, durably, overwrite its old bytes, and rebuild the page for people. Remove
        invalid lines for which `tells` is true.

        Raises:
            StoreError: the disk failed; each file is either old or new.
        """
        if not self.folder.is_dir():
            return []
        changed = []
        try:
            with self._turn, self._writing():
                for day in self.days():
                    path = self.folder / f"{day}.jsonl"
                    if replace(path, lambda data: b"".join(_rewritten(data, change, tells))):
                        changed.append(day)
                        if not path.stat().st_size:
                            path.unlink()
                self._rewrite_page()
        except OSError as error:
            raise _failed(self.folder, error, "it may still tell what was forgotten") from error
        return changed

    def _rewrite_page(self) -> None:
        """Write the newest day's page from its file.

        Raises:
            OSError: it can't be made.
        """
        place, days = self.folder / PAGE, self.days()
        remove(self.folder / f".{PAGE}.new")
        if not days:
            remove(place)
        elif place.exists():
            path = self.folder / f"{days[-1]}.jsonl"
            page = day_as_markdown(days[-1], _entries(path, _bytes_of(path))[0])
            replace(place, lambda _: page.encode("utf-8", "backslashreplace"))

    def latest(self, limit: int = 1, *, tag: str = "", agent_id: str = "") -> JournalPage:
        """Return the newest entries of all days, newest first, at most `limit`.

        Raises:
            StoreError: the disk failed.
        """
        entries: list[JournalEntry] = []
        faults: list[str] = []
        for day in reversed(self.days()):
            if len(entries) >= limit:
                break
            page = self.of_day(day)
            faults += page.faults
            entries += (
                entry
                for entry in reversed(page.entries)
                if (not tag or tag in entry.tags) and (not agent_id or agent_id == entry.agent_id)
            )
        return JournalPage(tuple(entries[: max(0, limit)]), tuple(faults))

    def of_day(self, day: str) -> JournalPage:
        """Return the entries of a day ("2026-01-27"), in order of appending; none if it has none.

        Raises:
            NotFoundError: it is no day.
            StoreError: the disk failed.
        """
        path = self.folder / f"{valid_day(day)}.jsonl"
        try:
            entries, faults = _entries(path, self._settled(path))
        except OSError as error:
            raise _failed(path, error, "nothing was read") from error
        return JournalPage(tuple(entries), tuple(faults))

    def days(self) -> list[str]:
        """Return the days that have a file, oldest first.

        Raises:
            StoreError: the disk failed.
        """
        try:
            names = [path.name for path in self.folder.iterdir()]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _failed(self.folder, error, "nothing was read") from error
        return sorted(found[1] for name in names if (found := _NAME.fullmatch(name)) and _is_day(found[1]))

    def state(self) -> State:
        """Return a stamp that changes with each append: the newest day, its file's size and time; `None` for none.

        Raises:
            StoreError: the disk failed.
        """
        days = self.days()
        if not days:
            return None
        path = self.folder / f"{days[-1]}.jsonl"
        try:
            found = path.stat()
        except OSError as error:
            raise _failed(path, error, "nothing was read") from error
        return days[-1], found.st_size, found.st_mtime_ns

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Keep all others from writing, in any process."""
        make_folder(self.folder)
        with open_own(self.folder / _LOCK, "a") as file:
            lock(file)  # released when the file is closed, and when the process dies
            yield

    def _write_page(self, day: str, entries: Sequence[JournalEntry], faults: list[str]) -> None:
        """Rewrite the newest day's page, whole or not at all; a failure does not affect the entry."""
        place, new = self.folder / PAGE, self.folder / f".{PAGE}.new"
        try:
            if max(self.days()) == day:
                with open_own(new, "w") as file:
                    file.write(day_as_markdown(day, entries).encode("utf-8", "backslashreplace"))
                new.replace(place)
        except OSError as error:
            faults.append(f"{place}: {error.strerror}; the entry is kept, and this page is not up to date")

    def _settled(self, path: Path) -> bytes:
        """Return a file's content; wait for a line in progress, if that can be known."""
        data = _bytes_of(path)
        # Reading creates no file: without a lock file, none of ours has written.
        if data.endswith(b"\n") or not data or not os.access(self.folder / _LOCK, os.W_OK):
            return data
        with self._turn, self._writing():
            return _bytes_of(path)


def _failed(path: Path, error: OSError, what: str) -> StoreError:
    return StoreError(f"{path}: {error.strerror}; {what}: check the disk and the path")


def _entries(path: Path, data: bytes) -> tuple[list[JournalEntry], list[str]]:
    """Return the entries of a file, in order of appending, and its faults: lines that are no entries."""
    entries: list[JournalEntry] = []
    faults: list[str] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            entries.append(from_line(line.decode()))
        except (DamagedStoreError, UnicodeDecodeError) as error:
            why = "no UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
            faults.append(f"{path}:{number}: {why}; {len(line):,} bytes, left as they are")
    return entries, faults


def _rewritten(
    data: bytes, change: Callable[[JournalEntry], JournalEntry | None], tells: Callable[[str], bool]
) -> Iterator[bytes]:
    """Yield the new lines of a file; unchanged lines stay byte for byte."""
    for line in data.splitlines(keepends=True):
        try:
            entry = from_line(line.decode())
        except (DamagedStoreError, UnicodeDecodeError):
            if not tells(line.decode("utf-8", "replace")):
                yield line
            continue
        changed = change(entry)
        if changed == entry:
            yield line
        elif changed is not None:
            yield to_line(changed).encode() + b"\n"


def _append(path: Path, line: bytes) -> None:
    """Append a line in one write, durable on return; remove a partial write.

    Raises:
        OSError: the disk failed, or is full.
    """
    is_new = not path.exists()
    make_file(path)
    with path.open("ab", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        try:
            if file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # noqa: TRY301  # it is taken back as any other
            os.fsync(file.fileno())
        except OSError:
            file.truncate(size)
            raise
    if is_new:
        sync(path.parent)


def _bytes_of(path: Path) -> bytes:
    """Return a file's content; nothing if it is missing.

    Raises:
        OSError: it can't be read, or is no file: a device might not end.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError(errno.EINVAL, "no regular file")
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
