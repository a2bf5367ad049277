"""Older files of WorkspaceAI, brought into the store once, with a copy kept, and taken back on request (W-17)."""

from __future__ import annotations

import os
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapting.disk import open_own, sync
from squidbot.core.errors import SquidbotError
from squidbot.core.messages import Category
from squidbot.core.trying import Writing
from squidbot.exchanges.brought import BROUGHT, Batch, batches_of
from squidbot.exchanges.importing import Imported, Reading, imported
from squidbot.forgetting import forget_messages
from squidbot.waiting import wait

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from squidbot.bootstrap import Wired
    from squidbot.codecs.workspaceai import Left
    from squidbot.exchanges.importing import Brought

__all__ = ["RolledBack", "backed_up", "migrated", "rolled_back"]


class RolledBack(NamedTuple):
    """What was taken out of a session again: how many messages; `reason` says why it failed, "" where it did not."""

    path: str
    session: str
    messages: int
    reason: str = ""


def migrated(wired: Wired, paths: Iterable[Path], reading: Reading | None = None) -> Imported:
    """Bring files of any version into the store; each is first copied to `FILE.backup`, and stays as it is.

    However often that is done, each exchange is there once. A file that can't be copied, or read, fails, and leaves
    the others.
    """
    reading = reading or Reading()
    made: list[Brought] = []
    left: Left = Counter()
    for path in paths:
        done = imported(wired, [path], reading) if reading.dry_run else _migrated(wired, path, reading)
        made += done.files
        left.update(done.left)
    return Imported(tuple(made), left)


def _migrated(wired: Wired, path: Path, reading: Reading) -> Imported:
    # A file that is none is not worth a copy: it is looked at first.
    looked = imported(wired, [path], Reading(reading.session, reading.version, dry_run=True))
    if all(one.became != "imported" for one in looked.files):
        return looked
    try:
        backup = str(backed_up(path))
    except OSError as error:
        reason = f"{error.filename or path}: can't be copied: {error.strerror or error}; nothing of it was taken"
        return Imported((looked.files[0]._replace(became="failed", new=0, reason=reason),), Counter())
    done = imported(wired, [path], reading)
    return done._replace(files=tuple(one._replace(backup=backup) for one in done.files))


def backed_up(path: Path) -> Path:
    """Copy a file to `FILE.backup`, durably, and return that; where another copy is, with a digest behind the name.

    Raises:
        OSError: it can't be copied.
    """
    data = path.read_bytes()
    backup = path.with_name(f"{path.name}.backup")
    if backup.exists() and backup.read_bytes() != data:
        backup = backup.with_name(f"{backup.name}-{sha256(data).hexdigest()[:8]}")
    if not backup.exists():
        part = backup.with_name(f".{backup.name}.part-{os.getpid()}")
        try:
            with open_own(part, "w") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.replace(backup)
        finally:
            part.unlink(missing_ok=True)
        sync(backup.parent)
    return backup


def rolled_back(
    wired: Wired, sessions: Iterable[str], paths: Iterable[Path], *, dry_run: bool = False
) -> list[RolledBack]:
    """Take out of sessions, for good, what was brought from files, and return what became of each session.

    What was said in them since stays. A file that is gone meanwhile is put back from its backup. It can be brought in
    again. One session that fails leaves the others.
    """
    made: list[RolledBack] = []
    wanted = [path.absolute() for path in paths]
    for session in sessions:
        try:
            made += _out_of(wired, session, wanted, dry_run=dry_run)
        except SquidbotError as error:
            made.append(RolledBack("", session, 0, str(error)))
    for file in () if dry_run else {one.path for one in made if one.path}:
        _put_back(Path(file))
    return made


def _out_of(wired: Wired, session: str, wanted: list[Path], *, dry_run: bool) -> Iterator[RolledBack]:
    """Take out of a session what was brought from files, one by one."""
    batches = [one for one in batches_of(wired.store, session) if _is_of(one.file, wanted)]
    for file in dict.fromkeys(one.file for one in batches):
        mine = [one for one in batches if one.file == file]
        yield RolledBack(file, session, _taken_out(wired, session, mine, dry_run=dry_run))


def _is_of(file: str, wanted: Iterable[Path]) -> bool:
    """Return whether a file is one of those that are wanted, or in a folder that is."""
    return bool(file) and any(path == Path(file) or path in Path(file).parents for path in wanted)


def _standing(wired: Wired, session: str, batches: list[Batch]) -> tuple[int, ...]:
    """Return the messages that batches brought, but for those that were forgotten since."""
    rows = (
        row for one in batches for row in wired.store.read(session, one.first_seq, one.first_seq + one.messages - 1)
    )
    return tuple(row.seq for row in rows if row.category is not Category.FORGOTTEN)


def _taken_out(wired: Wired, session: str, batches: list[Batch], *, dry_run: bool) -> int:
    """Take out what batches brought, and return how many messages that is."""
    store, seqs = wired.store, _standing(wired, session, batches)
    if dry_run:
        return len(seqs)
    if seqs:
        _forget(wired, session, seqs)

    def act(head: tuple[int, int]) -> None:
        last = store.last_record(session, BROUGHT)
        record = Batch(last.number + 1 if last else 0, "", 0, 0, (), tuple(one.number for one in batches)).record
        store.append(session, head[0], (), (record,))

    Writing(store, session, "it does not say that they were taken out", wait).tried(act)
    return len(seqs)


def _forget(wired: Wired, session: str, seqs: tuple[int, ...]) -> None:
    lease = wired.engine.lease(session) or wired.lease()
    core = wired.engine.session(session, lease, wired.meter(lease.model), wired.history(lease))
    forget_messages(wired, core, seqs, reason="a migration was rolled back")


def _put_back(path: Path) -> None:
    """Put a file that is gone back from its backup, where there is one."""
    backup = path.with_name(f"{path.name}.backup")
    if not path.exists() and backup.exists():
        backup.replace(path)
