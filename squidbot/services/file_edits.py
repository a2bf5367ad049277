"""Changes several settings files of other programs: all of them or none, each at once, each behind a backup."""

from __future__ import annotations

import difflib
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.adapters.common.files import OWN_FILE, make_folder, sync
from squidbot.core.errors import ConfigError, SquidbotError

if TYPE_CHECKING:
    from collections.abc import Sequence

# Settings have kilobytes; ~/.claude.json, which keeps what was typed lately, may have megabytes.
LARGEST_BYTES: Final = 8 * 2**20
BACKUP: Final = ".squidbot-backup"


class FoundFile(NamedTuple):
    """A settings file as it is.

    Attributes:
        path: its name.
        target: the file behind symbolic links.
        text: what it says; `None` if it is missing.
    """

    path: Path
    target: Path
    text: str | None


class FileEdit(NamedTuple):
    """A change of a file, which nobody has made yet.

    Attributes:
        found: the file as it is.
        after: its new text; `None`: it goes.
        entries: what of ours is put in or taken out, in words for people.
        keeps_backup: whether no backup is made, because the file has entries of ours already.
        remark: what is not done, as a sentence; "" for nothing.
    """

    found: FoundFile
    after: str | None
    entries: Sequence[str] = ()
    keeps_backup: bool = False
    remark: str = ""

    @property
    def became(self) -> str:
        """What it becomes: "unchanged", "new", "changed" or "removed"."""
        before = self.found.text
        if before == self.after:
            return "unchanged"
        return "new" if before is None else "removed" if self.after is None else "changed"

    @property
    def backup(self) -> Path:
        """Where the file is copied to before it changes."""
        return self.found.path.with_name(self.found.path.name + BACKUP)

    def diff(self) -> str:
        """Return the change as a unified diff; "" for none."""
        old, new = ((text or "").splitlines() for text in (self.found.text, self.after))
        lines = difflib.unified_diff(old, new, str(self.found.path), str(self.found.path), lineterm="")
        return "".join(f"{line}\n" for line in lines)


class _FileWrite(NamedTuple):
    """A file that gets other bytes, or goes; a private one replaces whatever has its name, and is its owner's alone."""

    path: Path
    before: bytes | None
    after: bytes | None
    is_private: bool = False


def find(path: Path, within: Path | None = None) -> FoundFile:
    """Return a settings file as it is; `within` is the folder that it must not lead out of, `None` for any.

    Raises:
        ConfigError: it is no file, too large, not UTF-8, or leads out of `within` by a symbolic link.
        OSError: it can't be read.
    """
    target = Path(os.path.realpath(path))
    if within is not None and (path.is_symlink() or not target.is_relative_to(os.path.realpath(within))):
        raise ConfigError(f"{path} is a symbolic link, or behind one, and may lead out of the project; nothing is done")
    try:
        is_file = stat.S_ISREG(target.stat().st_mode)
    except FileNotFoundError:
        return FoundFile(path, target, None)
    if not is_file:
        raise ConfigError(f"{path} is no file; move it away")
    with target.open("rb") as file:
        content = file.read(LARGEST_BYTES + 1)
    if len(content) > LARGEST_BYTES:
        raise ConfigError(f"{path} has more than {LARGEST_BYTES:,} bytes, too many for settings; see what is in it")
    try:
        return FoundFile(path, target, content.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: it is not UTF-8; save it as UTF-8, or move it away") from error


def apply(edits: Sequence[FileEdit]) -> None:
    """Write the edits, each behind a backup beside its file. After an error all files are as they were.

    The backup is the file without our entries; the edit that makes the file so again removes it.

    Raises:
        ConfigError: a text can't be written as UTF-8.
        SquidbotError: a file changed since it was read.
        OSError: one can't be written.
    """
    steps = [step for edit in edits if edit.became != "unchanged" for step in _steps(edit)]
    done: list[_FileWrite] = []
    try:
        for step in steps:
            _write(step)
            done.append(step)
    except BaseException:
        for step in reversed(done):
            # What somebody else wrote meanwhile stays.
            with suppress(OSError, SquidbotError):
                _write(step._replace(before=step.after, after=step.before))
        raise


def _steps(edit: FileEdit) -> list[_FileWrite]:
    before, after = (_bytes(text, edit.found.path) for text in (edit.found.text, edit.after))
    change, kept = _FileWrite(edit.found.target, before, after), _kept(edit.backup)
    if before is None or after is None or edit.keeps_backup:
        return [change]
    if kept == after:
        return [change, _FileWrite(edit.backup, kept, None, is_private=True)]
    return [_FileWrite(edit.backup, kept, before, is_private=True), change]


def _bytes(text: str | None, path: Path) -> bytes | None:
    try:
        return None if text is None else text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ConfigError(f"{path}: one of the paths that have to stand in it is not UTF-8") from error


def _kept(path: Path) -> bytes | None:
    """Return the bytes of a file; `None` if there is none, or if something else has its name."""
    try:
        return path.read_bytes() if stat.S_ISREG(path.lstat().st_mode) else None
    except FileNotFoundError:
        return None


def _write(step: _FileWrite) -> None:
    """Replace a file at once and durably, with the permissions that it has; a new one is its owner's alone.

    Raises:
        SquidbotError: it is not as it was read.
        OSError: it can't be written.
    """
    path = step.path
    make_folder(path.parent)
    number, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    part = Path(name)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(step.after or b"")
            file.flush()
            os.fsync(number)
        has_mode = step.before is not None and not step.is_private
        part.chmod(stat.S_IMODE(path.stat().st_mode) if has_mode else OWN_FILE)
        if _kept(path) != step.before:
            raise SquidbotError(f"{path} changed meanwhile, so nothing was changed; try again")
        if step.after is None:
            path.unlink()
        else:
            part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    sync(path.parent)
