"""Index files of notes, journals and recorded conversations for memory search; read only files that changed."""

from __future__ import annotations

import json
import os
import stat
import time
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from hashlib import blake2b
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from squidbot.codecs.transcripts import read_transcripts
from squidbot.core.errors import DamagedStoreError, NotFoundError, StoreError, TranscriptError
from squidbot.core.memories import CARDS, NOBODY
from squidbot.core.memory.chunks import (
    MOST_FORMER,
    OUTDATED,
    RULES,
    DocumentCard,
    IndexChange,
    chunks_of,
    entries,
    exchange,
    ids_of,
    memories_of,
    prose,
    removal,
    talk,
)
from squidbot.core.memory.view import every
from squidbot.memory import provider_of
from squidbot.wiring.journal import indexed_of, journal_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from squidbot.config import Loaded
    from squidbot.core.memories import Memory, Scope
    from squidbot.core.memory.chunks import Chunk
    from squidbot.core.memory.view import Memories


# Finds the files of a path, a folder or a pattern, and the reasons to skip others.

_MAGIC = frozenset("*?[")


class SourceFile(NamedTuple):
    """A file to index.

    Attributes:
        name: its name in the index: relative to the folder, with slashes; absolute if it is not below the folder.
        path: its path.
        state: the file's state when it was found.
        asked: the path, folder or pattern that found it.
    """

    name: str
    path: Path
    state: os.stat_result
    asked: str


@dataclass
class FileList:
    """Files that were found.

    Attributes:
        files: each file once, by name.
        skipped: why other files are skipped, by name.
        missing: paths that do not exist; an empty folder exists.
    """

    files: dict[str, SourceFile] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


def walk(folder: Path, asked: Iterable[str], most_bytes: int, without: tuple[str, ...] = ()) -> FileList:
    """Return the files of paths, folders and patterns; relative ones are relative to `folder`.

    Hidden files are skipped unless they are named; links that lead out and files over `most_bytes` are reported as
    skipped. Files whose path begins with one of `without` are skipped silently.
    """
    found = FileList()
    real: dict[str, str] = {}
    for each in asked:
        root, paths = _meant(folder, each)
        whole = folder / Path(each).expanduser()
        if not paths and not os.path.lexists(whole):
            found.missing.append(each)
            if _MAGIC.isdisjoint(each):
                found.skipped[named(folder, whole)] = "no such file or folder"
        for path in sorted(paths):
            name = named(folder, path)
            if str(path).startswith(without) or name in found.files:
                continue
            reason, state = _refused(path, os.path.realpath(root), most_bytes)
            target = os.path.realpath(path)
            if not reason and real.setdefault(target, name) != name:
                reason = f"the same file as {real[target]}"
            if state is None or reason:
                found.skipped[name] = reason
            else:
                found.skipped.pop(name, None)
                found.files[name] = SourceFile(name, path, state, each)
    return found


def named(folder: Path, path: Path) -> str:
    """Return the name of a file in the index."""
    whole = Path(os.path.normpath(folder / path))
    base = Path(os.path.normpath(folder))
    return whole.relative_to(base).as_posix() if whole.is_relative_to(base) else whole.as_posix()


def _meant(folder: Path, asked: str) -> tuple[Path, list[Path]]:
    """Return the folder that must contain all files, and the files; an existing path is not a pattern."""
    whole = folder / Path(asked).expanduser()
    if os.path.lexists(whole):
        return (whole, list(_below(whole))) if whole.is_dir() else (whole.parent, [whole])
    parts = Path(asked).expanduser().parts
    fixed = list(takewhile(_MAGIC.isdisjoint, parts))
    root = folder.joinpath(*fixed)
    if len(fixed) == len(parts):
        return root, []
    hits = [
        hit
        for hit in root.glob(str(Path(*parts[len(fixed) :])))
        if not any(part.startswith(".") and part not in {".", ".."} for part in hit.relative_to(root).parts)
    ]
    return root, [file for hit in hits for file in (_below(hit) if hit.is_dir() else [hit])]


def _below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, with links to folders as unreadable files: they are not followed."""
    for place, folders, files in os.walk(folder):
        links = [name for name in folders if Path(place, name).is_symlink()]
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in links)
        yield from (Path(place, name) for name in (*files, *links) if not name.startswith("."))


def _refused(path: Path, inside: str, most_bytes: int) -> tuple[str, os.stat_result | None]:
    """Return the reason to skip a file, "" for none; and its state."""
    try:
        state = path.stat()
    except FileNotFoundError:
        return ("a link to nothing" if path.is_symlink() else "no such file or folder"), None
    except OSError as error:
        return f"cannot read it: {error.strerror or error}", None
    reason = ""
    if path.is_symlink() and os.path.commonpath([os.path.realpath(path), inside]) != inside:
        reason = "a link that points outside the indexed folders"
    elif stat.S_ISDIR(state.st_mode):
        reason = "a link to a folder"
    elif not stat.S_ISREG(state.st_mode):
        reason = "not a regular file"
    elif state.st_size > most_bytes:
        reason = f"{state.st_size:,} bytes, more than memory.index_most_bytes = {most_bytes:,}"
    return reason, state


class IndexPaths(NamedTuple):
    """The files to index.

    Attributes:
        folder: the base of relative paths.
        configured: paths, folders and patterns of the settings.
        asked: paths named by hand; if there are none, all paths configured or named before.
        most_bytes: larger files are skipped.
        without: files whose path begins with one of these are skipped silently: the store's own, the journal's page,
            and the journals of others.
        drops: whether to remove the named paths from the index.
    """

    folder: Path
    configured: Sequence[str] = ()
    asked: Sequence[str] = ()
    most_bytes: int = 1 << 23
    without: tuple[str, ...] = ()
    drops: bool = False

    @classmethod
    def of(
        cls, loaded: Loaded, asked: Iterable[str | Path] = (), *, drops: bool = False, scope: Scope = NOBODY
    ) -> IndexPaths:
        """Return the paths of the settings, the journal of a scope if it has one, and paths named by hand.

        Those are relative to the current folder.
        """
        memory = loaded.settings.memory
        here = [named(loaded.folder, Path.cwd() / Path(each).expanduser()) for each in asked]
        own, apart = indexed_of(loaded, scope)
        without = tuple(filter(None, (provider_of(loaded)[1], *apart)))
        return cls(loaded.folder, (*memory.index_paths, *own), here, memory.index_most_bytes, without, drops)

    @classmethod
    def in_background(cls, loaded: Loaded, memories: Memories) -> IndexPaths:
        """Return the paths that background work indexes for a scope.

        A user or tenant gets files of the settings only if some of them were indexed for that scope before: nobody
        else's notes may turn up in a search. A thread without a user finds the shared ones. The scope's own journal
        always belongs to it.
        """
        scope = memories.view.scope
        paths = cls.of(loaded, scope=scope)
        if not (scope.user or scope.tenant or scope.thread):
            return paths
        journal = f"{named(loaded.folder, journal_of(loaded, None, scope).folder)}/"
        cards = map(DocumentCard.of, every(memories.store, memories.view.of(CARDS)))
        if any(not card.asked and not card.path.startswith(journal) for card in cards):
            return paths
        return paths._replace(configured=indexed_of(loaded, scope)[0])


# A file as chunks: a recorded conversation, a journal, or text; whole, or not at all.


class UnreadableError(Exception):
    """A file has no searchable words; the text says why."""


def read(path: Path, data: bytes, redacted: Callable[[str], str]) -> list[Chunk]:
    """Return the chunks of a file's bytes; `redacted` removes secrets from a text.

    Raises:
        UnreadableError: it is binary, not UTF-8, or neither a conversation nor a journal though its name says so.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UnreadableError("UTF-16; save it as UTF-8")
    if b"\0" in data:
        raise UnreadableError("binary")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError(f"byte {error.start:,} is not UTF-8; save it as UTF-8, if it is text") from error
    if path.suffix.lower() not in {".jsonl", ".json"} or not text.strip():
        return prose(redacted(text), path.name)
    try:
        found = read_transcripts(path, strict=False)
    except TranscriptError as error:
        if path.suffix.lower() == ".json":
            return prose(redacted(text), path.name)
        return list(entries(_json_lines(text, error), redacted))
    alone = len(found) == 1
    return [chunk for each in found for chunk in talk("" if alone else each.id, each.messages, redacted)]


def _json_lines(text: str, cause: TranscriptError) -> list[dict[str, object]]:
    values = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                raise UnreadableError(f"neither a conversation nor a journal: line {number} is not JSON") from cause
            if not isinstance(value, dict):
                raise UnreadableError(
                    f"neither a conversation nor a journal: line {number} is not a JSON object"
                ) from cause
            values.append(value)
    return values


# `reindex` reads new and changed files, and replaces their chunks; it removes missing files.

#: The outcome of a file.
Became = Literal["new", "changed", "renamed", "removed", "skipped"]
# Chunks per transaction; a file is never split.
BATCH_CHUNKS = 1_000
# A file changed just before it was read may change again with the same time stamp: two seconds is the coarsest clock of
# a file system (FAT).
SETTLED_SECONDS = 2.0
# If another program indexes the same files, we check all files again, after a longer wait each time: one program makes
# progress, and the other finds more files done. The last constant is the total wait.
FIRST_WAIT_SECONDS, MOST_WAIT_SECONDS, PATIENCE_SECONDS = 0.05, 2.0, 60.0


class FileChange(NamedTuple):
    """The outcome of a file.

    Attributes:
        path: its name in the index.
        became: new, changed, renamed, removed or skipped; skipped files are reported each time, unchanged ones never.
        new_chunks: the number of added chunks.
        old_chunks: the number of removed chunks.
        reason: why it was skipped, or its former name.
    """

    path: str
    became: Became
    new_chunks: int = 0
    old_chunks: int = 0
    reason: str = ""


@dataclass
class IndexReport:
    """The outcomes of all files.

    Attributes:
        outcomes: the changed and skipped files, in order of path.
        unchanged: the number of unchanged files.
        read: the number of files read; the others had their old time stamp.
    """

    outcomes: list[FileChange] = field(default_factory=list)
    unchanged: int = 0
    read: int = 0

    def count(self, became: Became) -> int:
        """Return the number of files with an outcome."""
        return sum(change.became == became for change in self.outcomes)


def reindex(
    memories: Memories,
    paths: IndexPaths,
    *,
    dry_run: bool = False,
    tick: Callable[[int, int], None] = lambda _done, _all: None,
    wait: Callable[[float], None] = time.sleep,
) -> IndexReport:
    """Bring the index up to date with the files, and report each outcome.

    Each file is replaced in one transaction: a crash leaves its old or its new chunks. `tick` gets the number of files
    done, and of all. `dry_run` writes nothing. If another program indexes the same files, `wait` gets the seconds to
    wait before checking all files again: a minute in total.

    Raises:
        NotFoundError: a path named by hand does not exist and never did.
        StoreError: the store failed, or other programs kept indexing the same files for over a minute.
    """
    seconds, left = FIRST_WAIT_SECONDS, PATIENCE_SECONDS
    written: list[FileChange] = []
    while True:
        run = _Indexer(memories, paths, dry_run=dry_run)
        try:
            report = run.done(tick)
        except _OvertakenError as error:
            written += run.written
            if left <= 0:
                raise StoreError(
                    f"another program has been indexing these files for {PATIENCE_SECONDS:g} s; try again later"
                ) from error
        else:
            # Files written in an earlier pass are unchanged now; of several changes, the last one counts.
            reported = {change.path for change in report.outcomes}
            earlier = {change.path: change for change in written if change.path not in reported}
            report.unchanged -= sum(change.became != "removed" for change in earlier.values())
            report.outcomes = sorted((*report.outcomes, *earlier.values()))
            return report
        wait(min(seconds, left))
        left -= seconds
        seconds = min(2 * seconds, MOST_WAIT_SECONDS)


class _OvertakenError(Exception):
    """Another program has indexed a file since we checked it; nothing was written."""


class _Indexer:
    """One pass over all files."""

    def __init__(self, memories: Memories, paths: IndexPaths, *, dry_run: bool) -> None:
        self._store = memories.store
        self._scope = memories.view.scope
        self._view = memories.view.of(CARDS)
        redactor = memories.redactor
        self._redacted = redactor.redacted
        rules = (RULES, tuple(redactor.names), tuple(redactor.patterns), redactor.mark)
        self._rules = blake2b(repr(rules).encode("utf-8", "surrogatepass"), digest_size=16)
        self._paths = paths
        self._dry_run = dry_run
        self._report = IndexReport()
        self._pending: list[IndexChange] = []
        self.written: list[FileChange] = []
        self._began = time.time()
        self._gone: dict[str, list[Memory]] = {}
        self._skipped: dict[str, str] = {}

    def done(self, tick: Callable[[int, int], None]) -> IndexReport:
        """Check all files, and report."""
        paths, cards = self._paths, self._cards()
        before = (DocumentCard.of(card).asked for found in cards.values() for card in found)
        asked = paths.asked or dict.fromkeys((*paths.configured, *filter(None, before)))
        walked = self._walked(asked)
        for missing in walked.missing if paths.asked else ():
            if not any(self._is_below(paths.folder / name, missing) for name in cards):
                raise NotFoundError(f"no such file or folder: {missing}")
        files = {} if paths.drops else walked.files
        self._skipped = {} if paths.drops else walked.skipped
        self._gone = {
            name: found for name, found in cards.items() if name not in files and self._is_meant(name, walked)
        }
        configured = self._walked(paths.configured).files if paths.asked else {}
        for done, file in enumerate(files.values()):
            tick(done, len(files))
            by_hand = "" if file.asked in paths.configured or file.name in configured else file.asked
            self._look(file, by_hand, cards.get(file.name, []))
        tick(len(files), len(files))
        self._end()
        return self._report

    def _walked(self, asked: Iterable[str]) -> FileList:
        return walk(self._paths.folder, asked, self._paths.most_bytes, self._paths.without)

    def _cards(self) -> dict[str, list[Memory]]:
        """Return the cards of each file, newest first; several if two programs indexed it at once."""
        found: dict[str, list[Memory]] = {}
        for card in every(self._store, self._view):
            found.setdefault(card.text, []).append(card)
        return found

    def _is_below(self, path: Path, asked: str) -> bool:
        whole = self._paths.folder / asked
        return path.is_relative_to(whole) or fnmatchcase(str(path), str(whole))

    def _is_meant(self, name: str, walked: FileList) -> bool:
        """Return whether a file is, or was before its removal, among the requested ones."""
        if not self._paths.asked or name in walked.files or name in walked.skipped:
            return True
        path = self._paths.folder / name
        return not os.path.lexists(path) and any(self._is_below(path, each) for each in self._paths.asked)

    def _look(self, file: SourceFile, by_hand: str, old: list[Memory]) -> None:
        """Update the index for a file, or note why it is skipped."""
        stamp = self._stamp(file.state)
        known = DocumentCard.of(old[0]) if len(old) == 1 else None
        if known and stamp and (known.stamp, known.asked) == (stamp, by_hand):
            self._report.unchanged += 1
            return
        try:
            data = file.path.read_bytes()
            digest = self._rules.copy()
            digest.update(data)
            card = DocumentCard(file.name, digest.hexdigest(), stamp, file.state.st_mtime, by_hand)
            if known and (known.digest, known.asked) == (card.digest, card.asked):
                self._settle(known, stamp, old)
                return
            chunks = read(file.path, data, self._redacted)
            if _state_of(file.path.stat()) != _state_of(file.state):
                self._skipped[file.name] = "it changed while it was read; run it again"
                return
        except UnreadableError as error:
            self._skipped[file.name] = str(error)
            if old:
                self._gone[file.name] = old
        except OSError as error:
            self._skipped[file.name] = f"cannot read it: {error.strerror or error}"
        else:
            self._report.read += 1
            self._file(card, chunks, old)

    def _settle(self, known: DocumentCard, stamp: str, old: list[Memory]) -> None:
        """Note that a file's text is unchanged, and its stamp, so that the next pass need not read it."""
        self._report.read += 1
        self._report.unchanged += 1
        if stamp != known.stamp:
            card = replace(known, stamp=stamp).memory(self._scope)
            self._add(IndexChange(tuple(one.memory_id for one in old), (card,)))

    def _stamp(self, state: os.stat_result) -> str:
        """Return the stamp that changes with a file; "" if the file may still change without a new stamp."""
        if max(state.st_mtime, state.st_ctime) > self._began - SETTLED_SECONDS:
            return ""
        return " ".join((self._rules.hexdigest()[:8], *map(str, _state_of(state))))

    def _file(self, card: DocumentCard, chunks: Sequence[Chunk], old: list[Memory]) -> None:
        """Replace the chunks of a file."""
        before = self._renamed(card) if not old else ""
        cards = self._gone.pop(before, old)
        known = DocumentCard.of(cards[0]) if cards else card
        former = tuple(filter(None, (before, *known.former)))[:MOST_FORMER]
        ids = ids_of(chunks, card.path, self._scope)
        card = replace(card, chunks=tuple(ids), former=former)
        if card == known and len(cards) == 1:
            self._report.unchanged += 1
            return
        there = self._store.get(list(dict.fromkeys((*ids, *chunks_of(cards)))))
        done = exchange(card, self._scope, self._wanted(chunks, card), cards, there)
        if not before and cards and card.digest == known.digest and not (done.new_chunks or done.old_chunks):
            self._report.unchanged += 1
        else:
            became: Became = "renamed" if before else "changed" if cards else "new"
            self._report.outcomes.append(FileChange(card.path, became, done.new_chunks, done.old_chunks, before))
        self._add(done)

    def _renamed(self, card: DocumentCard) -> str:
        """Return the former name of a new file: the name of a missing file with the same content; "" for none."""
        same = (name for name, found in self._gone.items() if DocumentCard.of(found[0]).digest == card.digest)
        return next((name for name in same if name not in self._skipped), "")

    def _wanted(self, chunks: Sequence[Chunk], card: DocumentCard) -> list[Memory]:
        """Return the chunks of a file without forgotten ones, under any name of the file."""
        names = [ids_of(chunks, path, self._scope) for path in (card.path, *card.former)]
        reasons = self._store.forgotten([one for ids in names for one in ids])
        unwanted = {memory_id for memory_id, reason in reasons.items() if reason != OUTDATED}
        memories = memories_of(chunks, card, self._scope)
        return [memory for memory, *ids in zip(memories, *names, strict=True) if unwanted.isdisjoint(ids)]

    def _end(self) -> None:
        """Remove missing files, and report skipped ones.

        Raises:
            _OvertakenError: another program indexed the same new file in another state: both are in the index.
        """
        for name, cards in self._gone.items():
            done = removal(cards, self._store.get(chunks_of(cards)))
            skipped = self._skipped.pop(name, "")
            reason = skipped if os.path.lexists(self._paths.folder / name) else ""
            became: Became = "skipped" if reason else "removed"
            self._report.outcomes.append(FileChange(name, became, 0, done.old_chunks, reason))
            self._add(done)
        self._report.outcomes += [FileChange(name, "skipped", reason=why) for name, why in self._skipped.items()]
        self._exchange()
        self._report.outcomes.sort()
        new = {change.path for change in self.written if change.became == "new"}
        if new and any(name in new and len(found) > 1 for name, found in self._cards().items()):
            raise _OvertakenError

    def _add(self, exchanged: IndexChange) -> None:
        self._pending.append(exchanged)
        if sum(len(each.gone) + len(each.memories) for each in self._pending) >= BATCH_CHUNKS:
            self._exchange()

    def _exchange(self) -> None:
        """Write the pending changes.

        Raises:
            _OvertakenError: an old chunk is already gone, or a new one is there in another state.
        """
        gone = [memory_id for each in self._pending for memory_id in each.gone]
        memories = [memory for each in self._pending for memory in each.memories]
        self._pending = []
        if self._dry_run or not (gone or memories):
            return
        try:
            self._store.exchange(gone, memories, OUTDATED)
        except NotFoundError as error:
            raise _OvertakenError from error
        except DamagedStoreError:
            raise
        except StoreError as error:
            if self._store.get(list({memory.memory_id for memory in memories}.difference(gone))):
                raise _OvertakenError from error
            raise
        self.written = [change for change in self._report.outcomes if change.became != "skipped"]


def _state_of(state: os.stat_result) -> tuple[int, ...]:
    return (state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino)
