"""Files of notes, journals and recorded conversations, found as memories are: read where they changed, by digest."""

from __future__ import annotations

import json
import os
import stat
import time
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from squidbot.codecs.transcripts import read_transcripts
from squidbot.core.errors import DamagedStoreError, NotFoundError, StoreError, TranscriptError
from squidbot.core.memories import CARDS, View
from squidbot.core.memory.pieces import (
    MOST_FORMER,
    OUTDATED,
    RULES,
    Card,
    Change,
    change,
    entries,
    filed,
    ids_of,
    pieces_of,
    prose,
    removal,
    talk,
)
from squidbot.memory import NOBODY, provider_of
from squidbot.wiring.journal import indexed_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from squidbot.config import Loaded
    from squidbot.core.memories import Memory, Scope
    from squidbot.core.memory.asking import Memories
    from squidbot.core.memory.pieces import Piece


# The files that a path, a folder or a pattern means, and those that are passed over, with the reason.

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


# What is indexed: what the settings name, the journal of a scope, and what is asked for by hand.


class Paths(NamedTuple):
    """What is indexed.

    Attributes:
        folder: what relative paths are relative to.
        configured: paths, folders and patterns of the settings.
        asked: what is asked for by hand; all that is configured, or was asked for before, where there is nothing.
        most_bytes: larger files are passed over.
        without: files whose path begins with one of these are passed over in silence: the store's own, the page that
            is made of a journal, and the journals of others.
        drops: whether what is asked for is taken out.
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
    ) -> Paths:
        """Return what the settings name, the journal of a scope where it is kept, and what is asked for by hand.

        That is relative to the current folder.
        """
        memory = loaded.settings.memory
        here = [named(loaded.folder, Path.cwd() / Path(each).expanduser()) for each in asked]
        own, apart = indexed_of(loaded, scope)
        without = tuple(filter(None, (provider_of(loaded)[1], *apart)))
        return cls(loaded.folder, (*memory.index_paths, *own), here, memory.index_most_bytes, without, drops)


# A file as pieces: a recorded conversation, a journal, or text; whole, or not at all.


class UnreadableError(Exception):
    """What is in a file is nothing that can be found by words; the text says why."""


class _Lines(NamedTuple):
    """The entries of a file of JSON lines, or why it is none."""

    values: list[dict[str, object]]
    wrong: str = ""


def read(path: Path, data: bytes, redacted: Callable[[str], str]) -> list[Piece]:
    """Return the pieces of a file's bytes; `redacted` takes secrets out of a text.

    Raises:
        UnreadableError: it is binary, not UTF-8, or neither a conversation nor a journal though its name says so.
    """
    text = _text(data)
    suffix = path.suffix.lower()
    if suffix in {".jsonl", ".json"} and text.strip():
        return _recorded(path, text, redacted, is_lines=suffix == ".jsonl")
    return prose(redacted(text), path.name)


def _text(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UnreadableError("UTF-16; save it as UTF-8")
    if b"\0" in data:
        raise UnreadableError("binary")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError(f"byte {error.start:,} is not UTF-8; save it as UTF-8, if it is text") from error


def _recorded(path: Path, text: str, redacted: Callable[[str], str], *, is_lines: bool) -> list[Piece]:
    try:
        found = read_transcripts(path, strict=False)
    except TranscriptError as error:
        lines = _entries(text)
        if not is_lines:
            return prose(redacted(text), path.name)
        if lines.wrong:
            raise UnreadableError(f"neither a conversation nor a journal: {lines.wrong}") from error
        return list(entries(lines.values, redacted))
    alone = len(found) == 1
    return [piece for each in found for piece in talk("" if alone else each.id, each.messages, redacted)]


def _entries(text: str) -> _Lines:
    values = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                return _Lines([], f"line {number} is no JSON")
            if not isinstance(value, dict):
                return _Lines([], f"line {number} is no JSON object")
            values.append(value)
    return _Lines(values)


# `reindex`: files that are new or have changed are read, their old pieces exchanged for the new; what
# is gone goes.

Became = Literal["new", "changed", "renamed", "removed", "skipped"]
# So many pieces are exchanged at once; each file whole.
BATCH_PIECES = 1_000
# Cards that are read at once.
PAGE = 500
# A file that was changed so shortly before it was read may change again without showing it: two seconds is the
# coarsest clock of a file system (FAT).
SETTLED_SECONDS = 2.0
# Where another program indexes the same at the same time it is begun again, a little later each time: one of the two
# gets on with each try, and the one that waits finds more and more as it wants it. So long it waits in all.
FIRST_WAIT_SECONDS, MOST_WAIT_SECONDS, PATIENCE_SECONDS = 0.05, 2.0, 60.0


class Outcome(NamedTuple):
    """What became of a file.

    Attributes:
        path: what it is called in the index.
        became: new, changed, renamed, removed, or skipped, which is said each time; files that are as they were are
            told by their number alone.
        new_pieces: how many pieces came.
        old_pieces: how many went.
        reason: why it is skipped, or what it was called before.
    """

    path: str
    became: Became
    new_pieces: int = 0
    old_pieces: int = 0
    reason: str = ""


@dataclass
class Indexed:
    """What became of all files.

    Attributes:
        outcomes: of each file that is not as it was, in order of path.
        unchanged: how many are as they were.
        read: how many were read; the others showed that they are as they were.
    """

    outcomes: list[Outcome] = field(default_factory=list)
    unchanged: int = 0
    read: int = 0

    def count(self, became: Became) -> int:
        """Return how many files became so."""
        return sum(each.became == became for each in self.outcomes)

    def with_earlier(self, written: Iterable[Outcome]) -> Indexed:
        """Return it with what had been written before all was looked at once more; by then such files had not changed.

        Of a file that has changed since the last counts.
        """
        told = {one.path for one in self.outcomes}
        earlier = {one.path: one for one in written if one.path not in told}
        there = sum(one.became != "removed" for one in earlier.values())
        return Indexed(sorted((*self.outcomes, *earlier.values())), self.unchanged - there, self.read)


def reindex(
    memories: Memories,
    paths: Paths,
    *,
    dry_run: bool = False,
    tick: Callable[[int, int], None] = lambda _done, _all: None,
    wait: Callable[[float], None] = time.sleep,
) -> Indexed:
    """Bring what is found of files to their state, and return what became of each.

    The exchange of a file is one transaction: whoever dies or fails leaves each file as it was or as it is. `tick` is
    told how many files are done, and of how many. With `dry_run` nothing is written. Where another program indexes the
    same files, `wait` is called with the seconds to let pass before all is looked at again: a minute in all.

    Raises:
        NotFoundError: what is asked for by hand is not there, and nothing was found of it before.
        StoreError: the store failed, or others have indexed the same for longer than that.
    """
    seconds, left = FIRST_WAIT_SECONDS, PATIENCE_SECONDS
    written: list[Outcome] = []
    while True:
        run = _Run(memories, paths, dry_run=dry_run)
        try:
            return run.done(tick).with_earlier(written)
        except _OvertakenError as error:
            written += run.written
            if left <= 0:
                raise StoreError(
                    f"other programs have indexed the same files for {PATIENCE_SECONDS:g} seconds, and still do; what "
                    "is found of each file is as one of them left it: run it again when they are done"
                ) from error
        wait(min(seconds, left))
        left -= seconds
        seconds = min(2 * seconds, MOST_WAIT_SECONDS)


class _OvertakenError(Exception):
    """Another program has changed what is found of a file since it was looked at; nothing was written."""


class _Run:
    """One look at all files."""

    def __init__(self, memories: Memories, paths: Paths, *, dry_run: bool) -> None:
        self._store = memories.store
        self._scope = memories.view.scope
        self._view = View(self._scope._replace(shelf=CARDS), memories.view.isolation)
        self._redacted = memories.redactor.redacted
        redactor = memories.redactor
        rules = (RULES, tuple(redactor.names), tuple(redactor.patterns), redactor.mark)
        self._rules = blake2b(repr(rules).encode("utf-8", "surrogatepass"), digest_size=16)
        self._paths = paths
        self._dry_run = dry_run
        self._indexed = Indexed()
        self._pending: list[Change] = []
        self.written: list[Outcome] = []
        self._began = time.time()
        self._gone: dict[str, list[Memory]] = {}
        self._passed: dict[str, str] = {}

    def done(self, tick: Callable[[int, int], None]) -> Indexed:
        """Look at all, and return what became of each."""
        cards = self._cards()
        walked = self._walked(self._asked(cards))
        self._refuse_nothing(walked, cards)
        files = {} if self._paths.drops else walked.files
        self._passed = {} if self._paths.drops else walked.skipped
        wanted = {name for name in cards if self._is_meant(name, walked)}
        self._gone = {name: found for name, found in cards.items() if name in wanted and name not in files}
        configured = self._walked(self._paths.configured).files if self._paths.asked else {}
        for done, file in enumerate(files.values()):
            tick(done, len(files))
            by_hand = "" if file.asked in self._paths.configured or file.name in configured else file.asked
            self._look(file, by_hand, cards.get(file.name, []))
        tick(len(files), len(files))
        self._end()
        self._refuse_twice()
        return self._indexed

    def _walked(self, asked: Iterable[str]) -> Walk:
        return walk(self._paths.folder, asked, self._paths.most_bytes, self._paths.without)

    def _cards(self) -> dict[str, list[Memory]]:
        """Return the cards of each file, newest first; several where two programs indexed it at once."""
        found: dict[str, list[Memory]] = {}
        after = ""
        while page := self._store.listed(self._view, limit=PAGE, after=after):
            for one in page:
                found.setdefault(one.text, []).append(one)
            after = page[-1].memory_id
        return found

    def _asked(self, cards: dict[str, list[Memory]]) -> list[str]:
        if self._paths.asked:
            return list(self._paths.asked)
        before = (Card.of(one).asked for found in cards.values() for one in found)
        return list(dict.fromkeys((*self._paths.configured, *filter(None, before))))

    def _refuse_nothing(self, walked: Walk, cards: Iterable[str]) -> None:
        """Pass what is asked for by hand, if it is there, or was.

        Raises:
            NotFoundError: something of it is not, and was not.
        """
        for asked in walked.missing if self._paths.asked else ():
            if not any(self._is_below(self._paths.folder / name, asked) for name in cards):
                raise NotFoundError(f"{asked}: there is no such file or folder, and none was found before")

    def _is_below(self, path: Path, asked: str) -> bool:
        whole = self._paths.folder / asked
        return path.is_relative_to(whole) or fnmatchcase(str(path), str(whole))

    def _is_meant(self, name: str, walked: Walk) -> bool:
        """Say whether a file is among what is asked for, or was, if it is not there any more."""
        if not self._paths.asked or name in walked.files or name in walked.skipped:
            return True
        path = self._paths.folder / name
        return not os.path.lexists(path) and any(self._is_below(path, each) for each in self._paths.asked)

    def _look(self, file: Found, by_hand: str, old: list[Memory]) -> None:
        """Bring the index to the state of a file, or note why it is passed over."""
        stamp = self._stamp(file.state)
        known = Card.of(old[0]) if len(old) == 1 else None
        if known and stamp and (known.stamp, known.asked) == (stamp, by_hand):
            self._indexed.unchanged += 1
            return
        try:
            self._take(file, Card(file.name, "", stamp, file.state.st_mtime, by_hand), old)
        except UnreadableError as error:
            self._passed[file.name] = str(error)
            if old:
                self._gone[file.name] = old
        except OSError as error:
            self._passed[file.name] = f"can't be read: {error.strerror or error}"

    def _take(self, file: Found, card: Card, old: list[Memory]) -> None:
        """Read a file.

        Raises:
            UnreadableError: nothing in it can be found by words.
            OSError: it can't be read now.
        """
        data = file.path.read_bytes()
        digest = self._rules.copy()
        digest.update(data)
        card = replace(card, digest=digest.hexdigest())
        known = Card.of(old[0]) if len(old) == 1 else None
        if known and (known.digest, known.asked) == (card.digest, card.asked):
            self._settle(known, card.stamp, old)
            return
        pieces = read(file.path, data, self._redacted)
        if _state_of(file.path.stat()) != _state_of(file.state):
            self._passed[file.name] = "it was written while it was read; run it again"
            return
        self._indexed.read += 1
        self._file(card, pieces, old)

    def _settle(self, known: Card, stamp: str, old: list[Memory]) -> None:
        """Note that a file says what it said, and by what that is seen next time without reading it."""
        self._indexed.read += 1
        self._indexed.unchanged += 1
        if stamp != known.stamp:
            card = replace(known, stamp=stamp).memory(self._scope)
            self._add(Change(tuple(one.memory_id for one in old), (card,)))

    def _stamp(self, state: os.stat_result) -> str:
        """Return what tells that a file has not changed; "" where it may change without showing it."""
        if max(state.st_mtime, state.st_ctime) > self._began - SETTLED_SECONDS:
            return ""
        return " ".join((self._rules.hexdigest()[:8], *map(str, _state_of(state))))

    def _file(self, card: Card, pieces: Sequence[Piece], old: list[Memory]) -> None:
        """Exchange the pieces of a file for those that it has now."""
        before = self._renamed(card) if not old else ""
        cards = self._gone.pop(before, old)
        known = Card.of(cards[0]) if cards else card
        former = tuple(filter(None, (before, *known.former)))[:MOST_FORMER]
        ids = ids_of(pieces, card.path, self._scope)
        card = replace(card, pieces=tuple(ids), former=former)
        if card == known and len(cards) == 1:
            self._indexed.unchanged += 1
            return
        wanted = self._remembered(pieces, card)
        there = self._store.get(list(dict.fromkeys((*ids, *pieces_of(cards)))))
        done = change(card, self._scope, wanted, cards, there)
        if before:
            self._tell(Outcome(card.path, "renamed", done.new_pieces, done.old_pieces, before))
        elif not cards:
            self._tell(Outcome(card.path, "new", done.new_pieces))
        elif card.digest == known.digest and not (done.new_pieces or done.old_pieces):
            self._indexed.unchanged += 1
        else:
            self._tell(Outcome(card.path, "changed", done.new_pieces, done.old_pieces))
        self._add(done)

    def _renamed(self, card: Card) -> str:
        """Return the name that a new file had before: that of one that is gone, and was the same; "" for none."""
        same = (name for name, found in self._gone.items() if Card.of(found[0]).digest == card.digest)
        return next((name for name in same if name not in self._passed), "")

    def _remembered(self, pieces: Sequence[Piece], card: Card) -> list[Memory]:
        """Return the pieces of a file without those that somebody wanted forgotten, under any name that it had."""
        memories = filed(pieces, card, self._scope)
        names = [ids_of(pieces, path, self._scope) for path in (card.path, *card.former)]
        reasons = self._store.forgotten([one for ids in names for one in ids])
        unwanted = {memory_id for memory_id, reason in reasons.items() if reason != OUTDATED}
        return [memory for memory, *ids in zip(memories, *names, strict=True) if unwanted.isdisjoint(ids)]

    def _end(self) -> None:
        """Take out what is gone, and tell what was passed over."""
        for name, cards in self._gone.items():
            done = removal(cards, self._store.get(pieces_of(cards)))
            passed = self._passed.pop(name, "")
            reason = passed if os.path.lexists(self._paths.folder / name) else ""
            self._tell(Outcome(name, "skipped" if reason else "removed", 0, done.old_pieces, reason))
            self._add(done)
        for name, reason in self._passed.items():
            self._tell(Outcome(name, "skipped", reason=reason))
        self._exchange()
        self._indexed.outcomes.sort()

    def _refuse_twice(self) -> None:
        """Pass where what is new here is new here alone.

        Raises:
            _OvertakenError: another program found the same file new, in another state: both states are there.
        """
        new = {one.path for one in self.written if one.became == "new"}
        if new and any(name in new and len(found) > 1 for name, found in self._cards().items()):
            raise _OvertakenError

    def _tell(self, outcome: Outcome) -> None:
        self._indexed.outcomes.append(outcome)

    def _add(self, change: Change) -> None:
        self._pending.append(change)
        if sum(len(each.gone) + len(each.memories) for each in self._pending) >= BATCH_PIECES:
            self._exchange()

    def _exchange(self) -> None:
        gone = [memory_id for each in self._pending for memory_id in each.gone]
        memories = [memory for each in self._pending for memory in each.memories]
        self._pending = []
        if (gone or memories) and not self._dry_run:
            self._write(gone, memories)
            self.written = [one for one in self._indexed.outcomes if one.became != "skipped"]

    def _write(self, gone: list[str], memories: list[Memory]) -> None:
        """Exchange them.

        Raises:
            _OvertakenError: what goes is not there any more, or what comes is there in another state.
        """
        try:
            self._store.exchange(gone, memories, OUTDATED)
        except NotFoundError as error:
            raise _OvertakenError from error
        except DamagedStoreError:
            raise
        except StoreError as error:
            if self._store.get(list({one.memory_id for one in memories}.difference(gone))):
                raise _OvertakenError from error
            raise


def _state_of(state: os.stat_result) -> tuple[int, ...]:
    return (state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino)
