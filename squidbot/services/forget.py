"""Forgetting on request, wherever squidbot keeps texts: messages, sessions, all data of a user.

Messages leave the session first (`core.forgetting`), then everything made from them: facts, journal entries with the
page for people, turns in the log, and the memory index of these. The store, or a file beside it, records the task,
without texts: if a process dies before the end, the next one that opens the store finishes it.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.adapters.common.files import append, lock, lock_at_once, open_own
from squidbot.core import events
from squidbot.core.errors import DamagedStoreError, NotFoundError, SquidbotError, StoreError
from squidbot.core.events import Event
from squidbot.core.forgetting import remove_document, remove_goals
from squidbot.core.memories import CARDS, NOBODY, Scope, View
from squidbot.core.messages import Category, Record
from squidbot.core.ports import SupportsDrop, SupportsTasks
from squidbot.core.transcript.lines import LineStore, on_all_lines
from squidbot.core.transcript.recordings import left_of
from squidbot.core.transcript.records import as_fields, fields
from squidbot.core.transcript.removals import FORGOTTEN
from squidbot.core.transcript.scopes import SCOPE, scope_at
from squidbot.core.transcript.windows import WINDOW
from squidbot.core.view.current import SessionContext
from squidbot.core.view.renderer import Renderer
from squidbot.memory import sessions_of
from squidbot.services.background import forget_with, remade, stretch_of
from squidbot.wiring import streams
from squidbot.wiring.claims import wait

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import BinaryIO

    from squidbot.bootstrap import Wired
    from squidbot.core.engine import CoreSession, Inputs
    from squidbot.core.forgetting import ForgetResult
    from squidbot.core.journal import JournalEntry
    from squidbot.core.messages import StoredMessage


_WORD: Final = re.compile(r"\w+")
# From this code point on, most scripts have no spaces: their words are pairs of characters.
_UNSPACED: Final = "\u2e80"
# squidbot's own texts in requests, between its marks, plain or in JSON.
_FENCED: Final = re.compile(
    r"<squidbot (?:remembered|memories|journal|recalled|found)\b(?:[^<]++|<(?!/?squidbot )|(?!))*+</squidbot "
)
# Most shorter lower-case words are common: "is", "with", "code".
LEAST_CHARS: Final = 5
PAGE_ROWS: Final = 1_000
# Facts per page.
PAGE_FACTS: Final = 500


class ForgetReport(NamedTuple):
    """The data that `forget` removed.

    Attributes:
        sessions: whole sessions, by id.
        facts: ids of durable facts.
        messages: the number of messages, in sessions with other users.
        files: rewritten journals and logs.
    """

    sessions: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    messages: int = 0
    files: tuple[str, ...] = ()

    def plus(self, other: ForgetReport) -> ForgetReport:
        """Return both reports as one."""
        files = tuple(dict.fromkeys((*self.files, *other.files)))
        facts, messages = (*self.facts, *other.facts), self.messages + other.messages
        return ForgetReport((*self.sessions, *other.sessions), facts, messages, files)


class WrittenFile(NamedTuple):
    """A file that squidbot wrote from a store: an export, a copy of the store, facts, a log of turns.

    Attributes:
        path: absolute.
        form: "backup", "workspaceai", "facts", "turns", or the form of an export.
        sessions: ids of the sessions in it; empty for all.
        digest: of the bytes of an export; a file changed since then belongs to its owner.
    """

    path: str
    form: str
    sessions: tuple[str, ...] = ()
    digest: str = ""

    @property
    def is_unchanged(self) -> bool:
        """Whether the file is as squidbot wrote it; False if unknown."""
        try:
            return bool(self.digest) and digest_of(Path(self.path).read_bytes()) == self.digest
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class _PendingForget:
    """One forget task, as the file beside the store records it, without texts.

    Attributes:
        session_id: the session.
        seqs: the messages; empty for the whole session.
        turns: the first messages of their turns.
        salt, digests: of the words that only these messages have.
        reason: the caller's reason.
        is_whole: whether to forget the whole session.
        ids: all facts and entries of the session; some may be forgotten.
        marks: for a whole session, the names of its facts and entries in the log of other sessions.
        left: for a whole session, what stays of it, as `left_of` tells: kind and body of each record.
    """

    session_id: str
    seqs: tuple[int, ...] = ()
    turns: tuple[int, ...] = ()
    salt: str = ""
    digests: frozenset[str] = frozenset()
    reason: str = ""
    is_whole: bool = False
    ids: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    left: tuple[tuple[str, str], ...] = ()

    def tells(self, text: str, *, clearly: bool = False) -> bool:
        """Return whether a text has a word that only these messages have; `clearly`: a word that is not common."""
        words = (word for word in _words(text) if not clearly or _is_clear(word)) if self.digests else ()
        return any(_digest(self.salt, word.casefold()) in self.digests for word in words)


_read_task = fields(_PendingForget)


def forget_messages(
    wired: Wired, core: CoreSession, seqs: Sequence[int], *, reason: str = "", inputs: Inputs | None = None
) -> ForgetResult:
    """Forget messages of a session, and everything that squidbot made from them (`Session.forget`).

    Raises:
        NotFoundError, BudgetError: nothing was forgotten.
        StoreError: nothing was forgotten; or only the messages, and the next process that opens the store continues.
    """
    with _pending(wired) as pending:
        _finish_all(wired, pending)
        task = _task(wired, core.session_id, seqs, reason)
        pending.note(task)
        try:
            forgotten = core.forget(*seqs, reason=reason, inputs=inputs, now=time.time())
        except SquidbotError:
            pending.end(task)
            raise
        facts, files = _elsewhere(wired, task)
        pending.end(task)
    return replace(forgotten, facts=facts, files=files)


def forget_session(wired: Wired, session_id: str, *, reason: str = "") -> ForgetReport:
    """Forget a whole session and everything that squidbot made from it, as if its id was never used.

    A host that still has its messages may record them again: nothing is left to recognize them. Of a session that was
    imported from an agent's recording, digests of that agent's ids are left: its messages are not imported again.

    Raises:
        NotFoundError: there is no such session.
        StoreError: nothing was forgotten, because the store can't remove sessions; or the next process that opens the
            store forgets the rest.
    """
    if wired.store.head(session_id) == (0, 0):
        raise NotFoundError(f"no session {session_id!a:.80}; nothing was forgotten")
    _droppable(wired)
    with _pending(wired) as pending:
        _finish_all(wired, pending)
        facts, entries = _facts_and_entries(wired, session_id)
        ids = (*facts, *(entry.entry_id for entry in entries))
        marks = (*facts, *(f"journal, {entry.timestamp}" for entry in entries))  # as `journal.digest` tells them
        left = tuple((one.kind, one.body) for one in left_of(wired.store, session_id))
        task = _PendingForget(session_id, reason=reason, is_whole=True, ids=ids, marks=marks, left=left)
        pending.note(task)
        gone, files = _elsewhere(wired, task)
        pending.end(task)
    report = ForgetReport((session_id,), gone, 0, files)
    for below in _sub_agents(wired, session_id) if left else ():
        report = report.plus(forget_session(wired, below, reason=reason))
    return report


def _sub_agents(wired: Wired, session_id: str) -> list[str]:
    """Return the sub-agents of a recorded session, one level below it, whose words are there."""
    names = [name for name, messages in sessions_of(wired.store) if messages and name.startswith(f"{session_id}/")]
    return [name for name in names if "/" not in name.removeprefix(f"{session_id}/")]


def forget_user(wired: Wired, user: str, sessions: Iterable[str], *, reason: str = "") -> ForgetReport:
    """Forget all messages of a user in these sessions, and all their durable facts, documents and journals.

    A session with other users stays, without this user's turns.

    Raises:
        NotFoundError: no data of such a user is stored.
        StoreError: the next process that opens the store finishes the begun task; forget the user again for the rest.
    """
    if not user:  # "" would mean all sessions without a scope
        raise NotFoundError("pass a user; nothing was forgotten")
    _droppable(wired)
    report, own, alone = ForgetReport(), {Scope(user=user)}, list[str]()
    for session_id in sessions:
        scopes = {one.scope for one in SCOPE.state(wired.store, session_id)}
        theirs = {scope for scope in scopes if scope.user == user}
        own |= theirs
        if theirs == scopes != set():
            alone.append(session_id)
        elif theirs:
            report = report.plus(_forget_turns(wired, user, session_id, reason))
    for session_id in alone:
        report = report.plus(forget_session(wired, session_id, reason=reason))
    facts = [fact for scope in sorted(own) for fact in _facts_of(wired, scope, reason)]
    files = [file for scope in sorted(own) for file in _journal_of(wired, scope)]
    report = report.plus(ForgetReport(facts=tuple(facts), files=tuple(files)))
    if report == ForgetReport():
        raise NotFoundError(f"no data of user {user!a:.80}; nothing was forgotten")
    return report


def _forget_turns(wired: Wired, user: str, session_id: str, reason: str) -> ForgetReport:
    """Forget a user's turns in a session with other users."""
    since = SCOPE.state(wired.store, session_id)
    rows = (row for row in _rows(wired, session_id) if row.category is not Category.FORGOTTEN)
    seqs = [row.seq for row in rows if (scope := scope_at(since, row.seq)) and scope.user == user]
    if not seqs:
        return ForgetReport()
    forgotten = forget_messages(wired, core_of(wired, session_id), seqs, reason=reason)
    return ForgetReport(facts=forgotten.facts, messages=len(seqs), files=forgotten.files)


def finish(wired: Wired) -> None:
    """Finish the forget task of a dead process, unless another process works on it.

    A failure becomes an event `degraded`; the next process that opens the store tries again.
    """
    try:
        if not _has_pending(wired):
            return
        with _pending(wired, waits=False) as pending:
            _finish_all(wired, pending)
    except (SquidbotError, OSError) as error:
        cause = f"an interrupted forget is not finished yet: {error}"
        wired.relay.notify(Event(events.DEGRADED, "", cause))


def unfinished(wired: Wired) -> list[_PendingForget]:
    """Return the forget tasks that a dead process has left, for a copy of the store (`take_over`)."""
    if not _has_pending(wired):
        return []
    with _pending(wired, waits=False) as pending:
        return [*pending.tasks]


def take_over(wired: Wired, tasks: Sequence[_PendingForget]) -> None:
    """Record the tasks of another store: the next process that opens this one finishes them.

    Raises:
        StoreError: one can't be written.
    """
    if not tasks:
        return
    with _pending(wired) as pending:
        for task in tasks:
            if task not in pending.tasks:
                pending.note(task)


def _has_pending(wired: Wired) -> bool:
    if isinstance(wired.store, SupportsTasks):
        return bool(wired.store.tasks())
    return bool(wired.pending) and os.path.exists(wired.pending)  # noqa: PTH110  # each start asks


def _finish_all(wired: Wired, pending: _PendingFile | _PendingTasks) -> None:
    for task in list(pending.tasks):
        if not task.is_whole and not _forgotten_by(wired, task):
            core_of(wired, task.session_id).forget(*task.seqs, reason=task.reason, now=time.time())
        _elsewhere(wired, task)
        # It is unknown where facts and entries that were gone before had been shown.
        wired.retract(task.ids, reason="an interrupted forget removed their source")
        pending.end(task)


def _elsewhere(wired: Wired, task: _PendingForget) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Remove everything made from messages; return the ids of forgotten facts, and the rewritten files.

    You may call it again for the same task.
    """
    session_id, store = task.session_id, wired.store
    gone = frozenset(range(store.head(session_id)[0])) if task.is_whole else _forgotten_by(wired, task)
    facts = forget_with(wired, session_id, sorted(gone))
    streams.drop(wired.place, session_id)
    files = [*_journals_without(wired, task, gone), *_log_without(wired, task)]
    if task.is_whole:
        _droppable(wired).drop(session_id)
        if task.left:
            store.append(session_id, 0, (), _numbered(task.left))
        wired.relay.notify(Event(events.FORGOTTEN, session_id, task.reason))
    return facts, tuple(files)


def _numbered(left: Sequence[Sequence[str]]) -> list[Record]:
    """Return the records of a session that has no others."""
    numbers: Counter[str] = Counter()
    records = []
    for kind, body in left:
        records.append(Record(kind, numbers[kind], body))
        numbers[kind] += 1
    return records


def _droppable(wired: Wired) -> SupportsDrop:
    """Return the store if it can remove whole sessions.

    Raises:
        StoreError: it can't.
    """
    if not isinstance(wired.store, SupportsDrop):
        raise StoreError("this store cannot remove whole sessions (it has no method `drop`); forget their messages")
    return wired.store


def core_of(wired: Wired, session_id: str) -> CoreSession:
    """Return a session under its newest window."""
    window = wired.engine.window(session_id) or wired.window()
    return wired.engine.session(session_id, window, wired.meter(window.model), wired.history(window))


def _forgotten_by(wired: Wired, task: _PendingForget) -> frozenset[int]:
    """Return the messages of a task that are already forgotten, with their copies."""
    found: set[int] = set()
    for one in on_all_lines(wired.store, task.session_id, FORGOTTEN):
        if set(task.seqs).intersection(one.asked):
            found.update((*one.asked, *one.copies))
    return frozenset(found) if found.issuperset(task.seqs) else frozenset()


def digest_of(data: bytes) -> str:
    """Return the digest of a file's bytes."""
    return blake2b(data, digest_size=16).hexdigest()


def note_written(place: str, *written: WrittenFile) -> None:
    """Record beside a store (`Wired.written`) which files were written from it, so that `forget` can name them.

    The record has no texts. A failure to write it is ignored: the caller knows the file.
    """
    if place and written:
        with suppress(OSError):
            append(place, b"".join(json.dumps(one).encode() + b"\n" for one in dict.fromkeys(written)))


def written_of(wired: Wired, sessions: Sequence[str]) -> list[WrittenFile]:
    """Return the recorded files of these sessions that still exist."""
    try:
        lines = Path(wired.written).read_bytes().splitlines() if wired.written else []
    except OSError:
        return []
    found: dict[str, WrittenFile] = {}
    for line in lines:
        with suppress(ValueError, TypeError):  # cut off, or not our line
            path, form, named, digest = json.loads(line)
            found[path] = WrittenFile(path, form, tuple(named), digest)  # the newest line of a file wins
    told = (one for one in found.values() if not one.sessions or set(one.sessions).intersection(sessions))
    return [one for one in told if os.path.lexists(one.path)]


# -- words that only these messages have ------------------------------------------------------------------------------


def _task(wired: Wired, session_id: str, seqs: Sequence[int], reason: str) -> _PendingForget:
    """Return the task, with the words that no other message of the session has."""
    wanted, salt = frozenset(seqs), secrets.token_hex(8)
    if wired.turn_log is None and not any(Path(place).exists() for place in _scopes(wired, session_id)):
        return _PendingForget(
            session_id, tuple(sorted(wanted)), reason=reason, ids=_facts_and_entries(wired, session_id)[0]
        )
    theirs: set[str] = set()
    others: set[str] = set()
    turns = []
    for row in _rows(wired, session_id):
        words = map(str.casefold, _words(_said_by(wired, row)))
        if row.seq in wanted:
            theirs.update(words)
            turns.append(row.turn)
        elif row.category is not Category.RECALLED:  # copies: each word is in the original message, too
            others.update(words)
    only = frozenset(_digest(salt, one) for one in theirs - others)
    facts, entries = _facts_and_entries(wired, session_id)
    ids = (*facts, *(entry.entry_id for entry in entries))
    return _PendingForget(session_id, tuple(sorted(wanted)), tuple(sorted({*turns})), salt, only, reason, ids=ids)


def _facts_and_entries(wired: Wired, session_id: str) -> tuple[tuple[str, ...], list[JournalEntry]]:
    """Return the ids of the facts from a session, and the journal entries about it."""
    store = wired.remembering.kept()
    facts = tuple(one.memory_id for one in store.from_session(session_id)) if store else ()
    books = map(wired.journals.of, _scopes(wired, session_id).values())
    entries = (entry for book in books for day in book.days() for entry in book.of_day(day).entries)
    return facts, [entry for entry in entries if entry.source_session == session_id]


def _scopes(wired: Wired, session_id: str) -> dict[str, Scope]:
    """Return the scopes whose journals may mention a session, by journal."""
    scopes = (*(one.scope for one in SCOPE.state(wired.store, session_id)), NOBODY)
    return {wired.journals.place(scope): scope for scope in scopes}


def _rows(wired: Wired, session_id: str) -> Iterator[StoredMessage]:
    messages = wired.store.head(session_id)[0]
    for first in range(0, messages, PAGE_ROWS):
        with suppress(DamagedStoreError):  # what they say nobody knows; forgetting mends rows
            yield from wired.store.read(session_id, first, min(messages, first + PAGE_ROWS) - 1)


def _said_by(wired: Wired, row: StoredMessage) -> str:
    """Return all text of a message: its own, and its calls' arguments."""
    try:
        message = wired.codecs[row.codec].decode(row.payload)
    except (KeyError, ValueError):  # of an extension that is not loaded, or not of its form
        return row.payload
    return "\n".join((message.text, *(call.arguments for call in message.calls)))


def _words(text: str) -> Iterator[str]:
    for found in _WORD.finditer(text):
        word = found[0]
        if max(word) < _UNSPACED:
            yield word
        else:
            yield from (word[at : at + 2] for at in range(max(1, len(word) - 1)))


def _is_clear(word: str) -> bool:
    """Return whether a word identifies a text: it is long, a number, an abbreviation, or not English."""
    return len(word) >= LEAST_CHARS or not (word.isascii() and word.isalpha()) or (word.isupper() and len(word) > 1)


def _digest(salt: str, word: str) -> str:
    return blake2b(word.encode("utf-8", "surrogatepass"), key=salt.encode(), digest_size=8).hexdigest()


# -- journals, the log, facts ---------------------------------------------------------------------------------------


def _journals_without(wired: Wired, task: _PendingForget, gone: frozenset[int]) -> Iterator[str]:
    """Rewrite journals whose entries mention forgotten messages of the session; yield the files."""
    session_id, journals = task.session_id, wired.journals
    scopes = _scopes(wired, session_id)
    changed: set[str] = set()

    def without(entry: JournalEntry, place: str) -> JournalEntry | None:
        if entry.source_session != session_id:
            return entry
        first, behind = stretch_of(wired, entry)
        if (
            not task.is_whole
            and not task.tells(_told_by(entry), clearly=True)
            and not any(first <= seq < behind for seq in gone)
        ):
            return entry
        made = None if task.is_whole else remade(wired, entry, place)
        made = None if made and task.tells(_told_by(made), clearly=True) else made
        if made != entry:
            changed.add(entry.entry_id)
        return made

    for place, scope in scopes.items():
        files = journals.rewrite(scope, lambda entry, place=place: without(entry, place), task.tells)  # type: ignore[misc]  # mypy knows no default of a lambda
        _reindex(wired, scope)
        yield from files
    if changed:
        wired.retract(changed, reason="removed journal entries about forgotten messages")


def _told_by(entry: JournalEntry) -> str:
    lists = (entry.decisions, entry.progress, entry.open_questions, entry.files_touched, entry.errors)
    return "\n".join((entry.summary, *(one for each in lists for one in each)))


def _log_without(wired: Wired, task: _PendingForget) -> list[str]:
    """Rewrite the turn log without turns that have forgotten texts; return its path if it changed."""
    log = wired.turn_log
    if log is None:
        return []
    named = log.redactor.redacted(task.session_id)

    def goes(session: str, turn: int, text: str) -> bool:
        if turn < 0:
            return task.tells(text) or (task.is_whole and named in text)
        if session == named:
            return task.is_whole or turn in task.turns or task.tells(text)
        return _is_told(task, text)

    return [str(log.path)] if log.forget(goes) else []


def _is_told(task: _PendingForget, text: str) -> bool:
    """Return whether squidbot's own texts in a session, or its tools' answers, have forgotten texts of another one."""
    return any(task.tells(found[0]) or any(mark in found[0] for mark in task.marks) for found in _FENCED.finditer(text))


def _reindex(wired: Wired, scope: Scope) -> None:
    """Index a journal again, if memory has indexed it."""
    if wired.remembering.kept() is None or not Path(wired.journals.place(scope)).exists():
        return
    if not wired.loaded.settings.memory.enabled:
        cause = "memory is off, so indexed journal entries remain until you turn it on and reindex"
        wired.relay.notify(Event(events.DEGRADED, "", cause))
        return
    from squidbot.services.indexing import IndexPaths, reindex  # noqa: PLC0415  # few forgotten texts are indexed

    memories = wired.memories(wired.meter(), scope)
    paths = IndexPaths.of(wired.loaded, [wired.journals.place(scope)], scope=scope)
    looked = reindex(memories, paths, dry_run=True)
    if looked.count("changed") or looked.count("removed"):
        reindex(memories, paths)


def _facts_of(wired: Wired, scope: Scope, reason: str) -> list[str]:
    """Forget the durable facts of a scope, with replaced and indexed ones, and return their ids."""
    store = wired.remembering.kept()
    if store is None:
        return []
    isolation = wired.loaded.settings.memory.isolation
    gone: list[str] = []
    for shelf in ("", CARDS):
        view = View(scope._replace(collection=shelf), isolation)
        while page := store.listed(view, limit=PAGE_FACTS, past=True):
            theirs = [one.memory_id for one in page if one.scope.user == scope.user]
            if not store.forget(theirs, reason):
                break
            gone += theirs
    if gone:
        _log_without(wired, _PendingForget("", marks=tuple(gone)))
        wired.retract(gone, reason=reason)
        wired.relay.notify(Event(events.FACTS_FORGOTTEN, "", ", ".join(gone)))
    return gone


def _journal_of(wired: Wired, scope: Scope) -> list[str]:
    """Empty a scope's own journal, if it has one, and return the removed files."""
    journals = wired.journals
    if journals.place(scope) in {journals.place(NOBODY), journals.place(scope._replace(user=""))}:
        return []
    told: set[str] = set()

    def gone(entry: JournalEntry) -> None:
        told.add(entry.entry_id)

    files = journals.rewrite(scope, gone, lambda _: True)
    _reindex(wired, scope)
    if told:
        wired.retract(told, reason="removed the user's journal")
    return files


# -- forget tasks -----------------------------------------------------------------------------------------------------


class _PendingFile:
    """The file beside a store that records forget tasks; it is locked meanwhile."""

    def __init__(self, file: BinaryIO | None) -> None:
        """Read the file; `None` for a store in memory, which ends with its process."""
        self._file = file
        self.tasks: list[_PendingForget] = []
        for line in file.read().splitlines() if file else ():
            with suppress(ValueError):  # cut: its process died before it had begun
                self.tasks.append(_read_task(line.decode()))

    def note(self, task: _PendingForget) -> None:
        """Record a task that begins now, durably."""
        self._write([*self.tasks, task])

    def end(self, task: _PendingForget) -> None:
        """Remove a finished task."""
        self._write([one for one in self.tasks if one != task])

    def _write(self, tasks: list[_PendingForget]) -> None:
        self.tasks = tasks
        if self._file is not None:
            data = b"".join(_task_text(task).encode() + b"\n" for task in tasks)
            self._file.seek(0)
            self._file.write(data)
            self._file.truncate(len(data))
            self._file.flush()
            os.fsync(self._file.fileno())


class _PendingTasks:
    """The forget tasks in a store, for who holds its lock of tasks."""

    def __init__(self, store: SupportsTasks, tasks: Iterable[str]) -> None:
        """Take the tasks that others left."""
        self._store = store
        self.tasks = [*map(_read_task, tasks)]

    def note(self, task: _PendingForget) -> None:
        """Record a task that begins now, durably."""
        self._store.add_task(_task_text(task))
        self.tasks.append(task)

    def end(self, task: _PendingForget) -> None:
        """Remove a finished task."""
        self._store.end_task(_task_text(task))
        self.tasks.remove(task)


def _task_text(task: _PendingForget) -> str:
    return json.dumps(as_fields(task), default=sorted)


@contextmanager
def _pending(wired: Wired, *, waits: bool = True) -> Iterator[_PendingFile | _PendingTasks]:
    """Yield the forget tasks of a store; only one process and thread at a time forgets.

    If another process forgets and `waits` is False, yield none.

    Raises:
        StoreError: a task can't be written; nothing was begun.
    """
    if isinstance(wired.store, SupportsTasks):
        with wired.store.task_lock(waits=waits) as is_held:
            yield _PendingTasks(wired.store, wired.store.tasks() if is_held else ())
        return
    path = Path(wired.pending)
    file = None
    if wired.pending and Path(wired.place).exists():
        try:
            file = _locked(path, waits=waits)
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror}; nothing was forgotten: check the disk and the path") from error
    pending = _PendingFile(file)
    try:
        yield pending
    finally:
        if file is not None:
            if not pending.tasks:
                path.unlink(missing_ok=True)
            file.close()


def _locked(path: Path, *, waits: bool) -> BinaryIO | None:
    while True:
        file = open_own(path, "r+" if path.exists() else "w+")
        if waits:
            lock(file)
        elif not lock_at_once(file):
            file.close()
            return None
        try:
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        except FileNotFoundError:
            pass  # its owner has finished and removed it
        file.close()


# -- goals, documents -----------------------------------------------------------------------------------------------


def forget_named(wired: Wired, session_id: str, text: str, *, reason: str = "") -> int:
    """Do the work of `Session.forget_goal`, in the session of an id.

    Raises:
        NotFoundError: no call has set this goal; nothing was removed.
        StoreError: nothing was removed.
    """
    gone = remove_goals(_shelf(wired, session_id), [text], reason, time.time()) if text.strip() else 0
    if not gone:
        raise NotFoundError(f"no goal {text!a:.80} was set by call; to remove a marked line, forget its message")
    return gone


def forget_document(wired: Wired, session_id: str, name: str) -> int:
    """Remove a document from a session for good, also from earlier requests; return how many texts it had.

    Its file stays as it is.

    Raises:
        NotFoundError: there was never a document of that name; nothing was removed.
        StoreError: nothing was removed.
    """
    gone = remove_document(_shelf(wired, session_id), name, "", time.time())
    if not gone:
        raise NotFoundError(f"{session_id!a:.80} never had a document {name!a:.80}; nothing was removed")
    return gone


def _shelf(wired: Wired, session_id: str) -> SessionContext:
    """Return a session's data, counted as in its newest window."""
    window = WINDOW.newest(wired.store, session_id)
    meter = wired.meter(window.model if window else "")
    return SessionContext(
        session_id, LineStore(wired.store, session_id), wired.store, Renderer(meter, wired.codecs), wait=wait
    )
