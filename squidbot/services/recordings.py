"""Imports the sessions that other agents recorded: what is new of each, once, with its branches and sub-agents."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from squidbot.codecs.anthropic_messages import AnthropicMessages
from squidbot.codecs.recordings import START, Position
from squidbot.core.errors import NotFoundError, SquidbotError, StoreError, TranscriptError
from squidbot.core.memories import NOBODY
from squidbot.core.messages import Category, StoredMessage
from squidbot.core.ports import SupportsRecordSearch
from squidbot.core.transcript.lines import LineStore
from squidbot.core.transcript.recordings import (
    KEY_CHARS,
    RECORDED,
    RECORDING,
    RecordedRun,
    SourceSession,
    keys_of,
    message_key,
    session_name,
)
from squidbot.core.transcript.records import check_unchanged, retry
from squidbot.core.transcript.removals import FORGOTTEN
from squidbot.core.transcript.scopes import MODEL, SCOPE, ModelChange, due_scope, spelled
from squidbot.core.view.steps import categorized, speaks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from squidbot.codecs.recordings import RecordedMessage, RecordedSession
    from squidbot.codecs.recordings.readers import RecordingReader
    from squidbot.core.memories import Scope
    from squidbot.core.messages import Message, Record
    from squidbot.core.ports import Codec, TranscriptStore
    from squidbot.core.tokens.counters import Meter
    from squidbot.core.transcript.records import Wait

__all__ = ["ImportedRecording", "RecordingImporter", "default_store"]

# What one transaction holds at most.
_MOST_ROWS: Final = 256
_MOST_CHARS: Final = 4_000_000
# A position is stored with messages; without new ones only where reading again would take a while.
_MOST_UNREAD_BYTES: Final = 65_536
# The store searches more runs than these faster than they are read.
_MOST_RUNS: Final = 200
# An answer grows under these keys; so many messages may stand between its first one and its last result.
_PIECES: Final = ("content", "output", "tool_calls")
_MOST_STEP: Final = 64
# Sessions of different files may have the same name, unless their agent gives each an id that no other one has.
_MOST_NAMES: Final = 1_000
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
# Agents whose messages have ids that begin anew in each session: "0", "log-0", a place and a digest. They tell nothing
# about whether a session is the copy of another one.
_IDS_BEGIN_ANEW: Final = frozenset({"gemini-cli", "langgraph", "openai-dump", "openhands", "pydantic-ai", "swe-agent"})
# Keys of a message under which stand bytes, ids and seals: nothing to redact. Under that of a call's arguments, a model
# chooses the keys.
_DATA: Final = frozenset({"call_id", "data", "encrypted_content", "id", "signature", "tool_call_id", "tool_use_id"})
_ARGUMENTS: Final = frozenset({"input", "arguments", "args"})


def default_store() -> Path:
    """Return the store for the sessions of coding agents, where no other is named: one file for each user."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "squidbot" / "agents.db"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "squidbot" / "agents.db"


@dataclass(slots=True)
class ImportedRecording:
    """The outcome of importing one recorded session.

    Attributes:
        file: where it is recorded.
        session: its id in the store.
        recording: the agent, the agent's id, the project and the title.
        new: how many messages were stored now.
        known: how many of those that were read had been stored before.
        lines: how many branches were begun.
        unread: how many entries became no message, by what they are.
        reason: why it failed; "" if it did not.
    """

    file: str
    session: str
    recording: SourceSession
    new: int = 0
    known: int = 0
    lines: int = 0
    unread: Counter[str] = field(default_factory=Counter)
    reason: str = ""


class RecordingImporter:
    """Imports recordings into one store. Several processes may import the same recording at once."""

    def __init__(  # noqa: PLR0913  # where to, how to count and read, whose
        self,
        store: TranscriptStore,
        meter: Meter,
        codecs: Mapping[str, Codec],
        *,
        scope: Scope | None = NOBODY,
        redacted: Callable[[str], str] | None = None,
        project: str = "",
        wait: Wait | None = None,
    ) -> None:
        """Import nothing yet.

        `scope` says whose the messages are; `None`: whose the session's others are. `redacted` removes secrets from a
        text before it is stored; `None` stores all as it was said. `project`: a folder; only sessions of it, or of one
        below, are imported. `wait`: how to wait for other writers.
        """
        self.store = store
        self.meter, self.codecs = meter, codecs
        self.scope = scope
        self.redacted = redacted
        self.project = project
        self.wait = wait

    def import_file(
        self,
        reader: RecordingReader,
        path: Path,
        *,
        is_over: bool = True,
        known: Mapping[str, RecordedRun] | None = None,
    ) -> list[ImportedRecording]:
        """Import what is new in a file, and return an outcome for each session in it; none if it has not changed.

        `is_over` as for `read` of the reader. `known` are the file's newest runs by session, `None`: look them up.

        Raises:
            TranscriptError: the file can't be read.
            StoreError: the store can't be read.
        """
        stamp, size = _stamp(path)
        runs = self._runs_of(path) if known is None else known
        if any(run.stamp == stamp for run in runs.values()):
            return []
        start = max((Position(run.offset, run.tip, run.line) for run in runs.values()), default=Position())
        # A file of the same length that has changed since it was read to its end was written anew.
        is_anew = is_over and any(run.stamp and run.offset == size for run in runs.values())
        if is_anew or not _is_line_end(path, start.offset, size):
            start = Position()
        for begin in (start, Position()):
            sessions = reader.read(path, begin, is_over=is_over)
            if is_over and _stamp(path)[0] != stamp:  # somebody wrote meanwhile: its last step is not complete
                is_over = False
                sessions = reader.read(path, begin, is_over=False)
            try:
                return [*self._imported(sessions, path, begin, stamp if is_over else "", runs)]
            except _UnknownParentError:  # somebody went back to what was read before
                continue
        return []

    def runs(self, sessions: Iterable[str]) -> dict[str, dict[str, RecordedRun]]:
        """Return the newest runs of all files, by file and session.

        Raises:
            StoreError: the store failed.
        """
        found: dict[str, dict[str, RecordedRun]] = {}
        for name in sessions:
            for run in RECORDED.all(self.store, name):
                found.setdefault(run.file, {})[name] = run
        return found

    def sessions_with(self, text: str) -> list[str]:
        """Return the sessions in whose runs a text stands, oldest first."""
        is_able = isinstance(self.store, SupportsRecordSearch)
        return self.store.sessions_with(RECORDED.name, [text]) if is_able else []  # type: ignore[attr-defined]

    def _runs_of(self, path: Path) -> dict[str, RecordedRun]:
        sessions = self.sessions_with(f'"file":{json.dumps(str(path), ensure_ascii=False)}')
        return self.runs(sessions).get(str(path), {})

    def _imported(
        self,
        sessions: Sequence[RecordedSession],
        path: Path,
        start: Position,
        stamp: str,
        runs: Mapping[str, RecordedRun],
    ) -> Iterator[ImportedRecording]:
        """Import the sessions of a file. The last one says how far it was read: who dies before reads all again.

        The first one says it, too: a hook knows the session of its agent alone.
        """
        names: dict[str, str] = {}
        ends = [replace(one, messages=[], unread=Counter()) for one in sessions[:1] if len(sessions) > 1]
        for number, session in enumerate([*sessions, *ends], 1):
            run = RecordedRun(str(path), session.id, 0, -1, "", start.offset, start.line, start.tip)
            end = run
            if number >= len(sessions):
                end = run._replace(**session.position._asdict(), stamp=stamp)
            name = names.get(session.id) or self._name(session, run, names, runs)
            done = ImportedRecording(str(path), name, self._recording_of(session))
            done.unread.update(session.unread)
            names[session.id] = done.session
            if not self.is_wanted(done):
                continue
            try:
                self._write(session, (run, end), done, is_whole=not start.offset)
            except SquidbotError as error:
                done.reason = str(error)
            if number <= len(sessions) or done.reason:
                yield done
            if done.reason:
                return

    def _recording_of(self, session: RecordedSession) -> SourceSession:
        """Return what the store says of a session; its title quotes what was said."""
        recording = recording_of(session)
        return recording._replace(title=self.redacted(recording.title)) if self.redacted else recording

    def is_wanted(self, done: ImportedRecording) -> bool:
        """Return whether a session is of the project that is imported: as it began, wherever the agent went since.

        Raises:
            StoreError: the store can't be read.
        """
        if not self.project:
            return True
        stored = RECORDING.newest(self.store, done.session)
        return is_within((stored or done.recording).project, self.project)

    def _write(
        self,
        session: RecordedSession,
        runs: tuple[RecordedRun, RecordedRun],
        done: ImportedRecording,
        *,
        is_whole: bool,
    ) -> None:
        def act(_: tuple[int, int]) -> None:
            done.known = 0
            try:
                _SessionWriter(self, session, runs, done, is_whole=is_whole).write()
            except NotFoundError as error:  # another process was beginning a line while the lines were read
                raise StoreError(str(error)) from error

        retry(self.store, done.session, act, "nothing was imported", wait=self.wait)

    def _name(
        self,
        session: RecordedSession,
        run: RecordedRun,
        names: Mapping[str, str],
        runs: Mapping[str, RecordedRun],
    ) -> str:
        """Return the id of a session in the store: its own, or that of the session whose copy it is."""
        for name, other in runs.items():
            if other.source == session.id:
                return name
        above = names.get(session.parent) or self.stored_name(session.agent, session.parent) if session.parent else ""
        own = session_name(session.agent, session.id, above)
        keys = [message_key(one.id) for one in session.messages if _is_id_everywhere(session, one)]
        # Whoever archives sessions may cut them in pieces; ids of sub-agents are their session's own.
        is_alone = bool(above) or _UUID.fullmatch(session.id) is not None
        for number in range(1, _MOST_NAMES):
            name = own if number == 1 else f"{own}~{number}"
            there = RECORDED.all(self.store, name)
            if not there:
                break
            is_file = not session.messages or any(one.file == run.file for one in there)
            if is_file or not keys_of(there).keys().isdisjoint(keys):
                return name
            if is_alone:
                break
        beginning = self.sessions_with(keys[0]) if keys else []
        # A sub-agent may begin with what its session said, and be stored first: that session is no copy of it.
        copied = (other for other in beginning if other.count("/") <= name.count("/"))
        return next((other for other in copied if other.startswith(f"{spelled(session.agent)}/")), name)

    def stored_name(self, agent: str, source: str) -> str:
        """Return the id of an agent's session in the store, by that agent's id."""
        own = session_name(agent, source)
        if self.store.head(own) != (0, 0):
            return own
        copies = self.sessions_with(f'"source":{json.dumps(source, ensure_ascii=False)}')
        return next((other for other in copies if other.startswith(f"{spelled(agent)}/")), own)


def is_within(path: str, folder: str, *, below: bool = True) -> bool:
    """Return whether a project's path is a folder, or `below` it; both are absolute, and no file is looked at."""
    own, above = (os.path.normcase(os.path.normpath(one)) for one in (path, folder))
    return bool(path) and (own == above or (below and own.startswith(above.rstrip(os.sep) + os.sep)))


def recording_of(session: RecordedSession) -> SourceSession:
    """Return what a store says of a recorded session."""
    return SourceSession(session.agent, session.id, session.project, session.title)


def _is_id_everywhere(session: RecordedSession, message: RecordedMessage) -> bool:
    """Return whether no message of another session has the same id, unless that session is a copy."""
    # Codex's ids are made of lines: without times, those of two sessions may be the same.
    return session.agent not in _IDS_BEGIN_ANEW and (session.agent != "codex" or message.time is not None)


class _UnknownParentError(Exception):
    """A message stands behind one that was read before this time, and is not known."""


class _SessionWriter:
    """Stores what is new of one recorded session, from what the store holds now."""

    def __init__(
        self,
        importer: RecordingImporter,
        session: RecordedSession,
        runs: tuple[RecordedRun, RecordedRun],
        done: ImportedRecording,
        *,
        is_whole: bool,
    ) -> None:
        self._importer, self._session, self._done, self._is_whole = importer, session, done, is_whole
        # What is stored of the file with some of the messages, and with the last ones.
        self._run, self._last_run = runs
        self._store, self._name = importer.store, done.session
        self._rows: list[StoredMessage] = []
        self._keys: list[str] = []
        self._models: list[ModelChange] = []
        self._chars = 0
        # The newest message of each file.
        self._ends: set[int] = set()
        self._line = LineStore(self._store, self._name)
        self._open()
        self._known = self._read_known()
        keys = (message_key(one.id) for one in session.messages)
        # Where the messages that were read begin in the store.
        self._own = {self._known[key] for key in keys if key in self._known} if self._known else set[int]()
        self._tip = self._first_tip = self._file_tip()
        # Whether all that was stored now are results: the next answer may have been begun before.
        self._may_go_on = not is_whole and self._tip >= 0

    def _open(self) -> None:
        """Read the line that is talked on, and the newest records."""
        kinds = RECORDED.name, RECORDING.name, MODEL.name, SCOPE.name
        self._opening = self._line.opening(self._name, kinds)
        if self._line.follow():
            self._opening = self._line.opening(self._name, kinds)
        self._end = self._line.last_seq
        self._turn: int | None = None

    @property
    def _runs(self) -> int:
        """How many runs are stored."""
        newest = self._newest(RECORDED.name)
        return newest.number + 1 if newest else 0

    def _reopen(self, messages: int, runs: int) -> None:
        """Read the newest records again: there have to be so many messages and runs.

        Raises:
            StoreError: others have imported meanwhile; what is known, and where it stands, is to be read again.
        """
        self._open()
        check_unchanged(self._name, (self._opening.messages, self._runs), (messages, runs))

    def _newest(self, kind: str) -> Record | None:
        return self._opening.newest.get(kind)

    def _read_known(self) -> dict[str, int]:
        """Return the messages that are stored, by key; none if it is clear that the store has none of these."""
        messages, newest = self._session.messages, self._newest(RECORDED.name)
        if newest is None or not messages:
            return {}
        store, is_long = self._store, newest.number > _MOST_RUNS
        if is_long and not self._is_whole and all(one.parent is None for one in messages):
            keys = [message_key(one.id) for one in messages]
            if isinstance(store, SupportsRecordSearch) and self._name not in store.sessions_with(RECORDED.name, keys):
                return {}
        runs = RECORDED.all(store, self._name)
        self._ends = {*{run.file: run.first_seq + run.messages - 1 for run in runs if run.messages}.values()}
        return keys_of(runs)

    def _file_tip(self) -> int:
        """Return the message behind which the file goes on."""
        newest = self._newest(RECORDED.name)
        if newest is None:
            return self._end
        run = RECORDED.read(newest)
        if run.file != self._run.file:
            every = RECORDED.all(self._store, self._name)
            run = next((one for one in reversed(every) if one.file == self._run.file), run)
        return run.last_seq if run.file == self._run.file and run.first_seq >= 0 else self._end

    def write(self) -> None:
        """Store the messages that are new, in transactions of some hundred, and how far the file was read."""
        grown: list[RecordedMessage] = []
        for place, message in enumerate(self._session.messages):
            if message_key(message.id) in self._known:
                self._done.known += 1
                self._flush()
                last = self._parts_of(message.id)[-1]
                self._tip = last if last >= 0 else self._tip
                grown += self._grown(message, self._parts_of(message.id))
                continue
            if place == 0 and not self._is_whole and self._is_brought(message):
                self._done.known += 1
                continue
            for one in (*grown, self._rest(message)):
                self._put(one)
            grown = []
            if len(self._rows) >= _MOST_ROWS or self._chars >= _MOST_CHARS:
                self._flush()
        for one in grown:
            self._put(one)
        self._flush(is_last=True)

    def _put(self, message: RecordedMessage) -> None:
        """Add a message where it stands, or what one got since it was stored."""
        self._move(message)
        known = len(self._parts_of(message.id))
        for number, part in enumerate(self._parts(message), known):
            self._add(part, message_key(message.id, number), message.model)

    def _parts_of(self, message_id: str) -> list[int]:
        """Return the messages that a known message is stored as."""
        parts = (self._known.get(message_key(message_id, number)) for number in count())
        return [seq for seq in takewhile(lambda seq: seq is not None, parts) if seq is not None]

    # An answer that was read while it was being written is stored as far as it was. What it got later is another
    # message: either its file is read on from there, or a whole file says more than is stored.

    def _grown(self, message: RecordedMessage, parts: list[int]) -> list[RecordedMessage]:
        """Return what a known answer says behind what is stored of it, as a message, if a file ended about there."""
        value, first = message.value, parts[0]
        is_answer = value.get("role", "assistant") == "assistant" and bool(_pieces(value))
        if not is_answer or first < 0 or not any(first <= end < first + _MOST_STEP for end in self._ends):
            return []
        rows = self._store.read(self._name, first, first + _MOST_STEP - 1)
        rest: Iterable[StoredMessage] = (row for row in rows if _is_of(row, value))
        if "id" not in value:  # what stands behind it, and is no message of its own, is the rest of it
            behind = (row for row in rows if row.seq > parts[-1])
            rest = takewhile(lambda row: row.role == "assistant" and row.seq not in self._own, behind)
        seqs = {*parts, *(row.seq for row in rest)}
        rows = [row for row in rows if row.seq in seqs]
        if any(row.role != "assistant" or row.category is Category.FORGOTTEN for row in rows):
            return []
        stored = Counter[str]()
        for row in rows:
            stored.update(_pieces(json.loads(row.payload)))
        more = {key: value[key] for key, number in _pieces(value).items() if number > stored[key]}
        more = {key: one[stored[key] :] if isinstance(one, list) else one for key, one in more.items()}
        left = {"content": None} if "content" in value else {}
        kept = {key: one for key, one in value.items() if key not in {*_PIECES, "usage"}}
        return [message._replace(value={**kept, **left, **more}, parent=None)] if more else []

    def _is_brought(self, message: RecordedMessage) -> bool:
        """Return whether a copy of the file has brought the rest of an answer, which its own file goes on with now."""
        rows = self._store.read(self._name, self._tip, self._tip + _MOST_STEP - 1) if self._tip >= 0 else []
        found = [row for row in rows if row.seq > self._tip and _is_of(row, message.value)]
        self._tip = found[-1].seq if found else self._tip
        return bool(found)

    def _rest(self, message: RecordedMessage) -> RecordedMessage:
        """Return the rest of an answer whose beginning was stored before with what it reports beyond that."""
        value = message.value
        usage, stored = value.get("usage"), Counter[str]()
        if not self._may_go_on or not isinstance(usage, Mapping) or "id" not in value:
            return message
        for seq in range(self._first_tip, -1, -1):
            row = next(iter(self._store.read(self._name, seq, seq)), None)
            if row and row.role == "tool":  # its call ran while the answer was still written
                continue
            if row is None or not _is_of(row, value):
                break
            told = json.loads(row.payload).get("usage") or {}
            stored.update({key: number for key, number in told.items() if isinstance(number, int)})
        left = {key: max(0, one - stored[key]) if isinstance(one, int) else one for key, one in usage.items()}
        return message._replace(value={**value, "usage": left})

    def _move(self, message: RecordedMessage) -> None:
        """Go where a message stands: behind the newest, on another line, or on a new one."""
        behind = self._tip
        if message.parent == START:
            behind = -1
        elif message.parent is not None and message_key(message.parent) in self._known:
            last = self._parts_of(message.parent)[-1]
            behind = last if last >= 0 else self._tip
        elif message.parent is not None and not self._is_whole:
            raise _UnknownParentError
        if behind != self._end:
            self._flush()
            self._go(behind, message.time)

    def _go(self, behind: int, at: float | None) -> None:
        """Go to the line that ends with a message, or begin one behind it; stay if no line has it."""
        from squidbot.core.kinds import branch, switch  # noqa: PLC0415  # most sessions have one line

        seen, wait = self._opening[:2], self._importer.wait
        known = self._line.lines
        # The newest line may be one that another process has just begun. That on which the message was recorded has it,
        # unless it was left out there: no other one has to be looked at.
        lines = [self._line.on(one) for one in dict.fromkeys((len(known.made), known.line_of(max(behind, 0))))]
        if behind < 0 or not lines[-1].has(behind):
            lines = [*self._line.all()]
        ending = next((line for line in lines if line.last_seq == behind), None)
        holding = next((line for line in lines if behind < 0 or line.has(behind)), None)
        if ending is not None:
            switch(self._line, ending.line, seen=seen, wait=wait)
        elif holding is not None:
            following = next(seq for first, last in holding.runs for seq in (max(first, behind + 1),) if seq <= last)
            branch(holding, following, at=at, seen=seen, wait=wait)
            self._done.lines += 1
        self._reopen(seen[0], self._runs)

    def _parts(self, message: RecordedMessage) -> list[Message]:
        """Return a message as its codec reads it: what answers calls and what a person says apart."""
        codec = self._importer.codecs[self._session.codec]
        value = _mapped(message.value, self._importer.redacted) if self._importer.redacted else message.value
        values = codec.split(value) if isinstance(codec, AnthropicMessages) else [value]
        try:
            parts = [codec.to_message(one, message.time) for one in values]
        except ValueError:
            self._done.unread["messages that can't be read"] += 1
            return []
        return [_categorized(part, message.category) for part in parts]

    def _add(self, part: Message, key: str, model: str) -> None:
        codec, seq = self._importer.codecs[part.codec], self._opening.messages + len(self._rows)
        self._may_go_on = self._may_go_on and part.role == "tool"
        message = categorized(part, codec, opens=seq == 0)
        if self._turn is None:
            newest = self._store.read(self._name, self._end, self._end) if self._end >= 0 else []
            self._turn = newest[0].turn if newest else seq
        self._turn = seq if speaks(message) else self._turn
        row = _stored(message, codec, self._importer.meter, seq, self._turn)
        if model and model != self._model:
            self._models.append(ModelChange(seq, model))
        self._rows.append(row)
        self._keys.append(key)
        self._known[key] = self._tip = self._end = seq
        self._chars += len(row.payload)

    @property
    def _model(self) -> str:
        """The model of the newest message."""
        newest = self._newest(MODEL.name)
        return self._models[-1].model if self._models else MODEL.read(newest).model if newest else ""

    def _flush(self, *, is_last: bool = False) -> None:
        """Store the messages at hand; with the last ones, how far the file was read."""
        first, keys = self._opening.messages, "".join(self._keys)
        run = self._last_run if is_last else self._run
        run = run._replace(first_seq=first, last_seq=self._tip, keys=keys)
        if not self._rows and not (is_last and self._is_due(run)):
            return
        self._line.append(self._name, first, self._rows, self._records(run, first))
        self._done.new += len(self._rows)
        self._rows, self._keys, self._models, self._chars = [], [], [], 0
        end, turn = self._end, self._turn
        self._reopen(run.first_seq + len(keys) // KEY_CHARS, self._runs + 1)
        self._end, self._turn = end, turn

    def _is_due(self, run: RecordedRun) -> bool:
        """Return whether how far a file was read is worth a record, without messages."""
        newest = self._newest(RECORDED.name)
        if newest is None:
            return False
        before = RECORDED.read(newest)
        if before.file != run.file:
            return True
        return before.stamp != run.stamp if run.stamp else run.offset - before.offset > _MOST_UNREAD_BYTES

    def _records(self, run: RecordedRun, first: int) -> list[Record]:
        """Return the records to store with messages."""
        models, newest = self._newest(MODEL.name), self._newest(RECORDING.name)
        due = [RECORDED.behind(self._newest(RECORDED.name), run)]
        due += MODEL.records(self._models, models.number + 1 if models else 0)
        due += due_scope(self._newest(SCOPE.name), self._importer.scope, first)
        known = RECORDING.read(newest) if newest else None
        recording = self._done.recording
        if known is None:
            return [*due, RECORDING.record(0, recording)]
        is_new = recording.source == known.source and recording.title not in {"", known.title}
        if is_new and not self._is_forgotten(known):
            due.append(RECORDING.behind(newest, known._replace(title=recording.title)))
        return due

    def _is_forgotten(self, known: SourceSession) -> bool:
        """Return whether the title went with what was forgotten: the agent's file still has it."""
        is_gone = self._store.last_record(self._name, FORGOTTEN.name) is not None or -1 in self._known.values()
        return not known.title and is_gone


def _stored(message: Message, codec: Codec, meter: Meter, seq: int, turn: int) -> StoredMessage:
    """Return a message as it is stored, whole: squidbot sent nothing of it, so that nothing is cut on arrival."""
    extra = message.extra_tokens
    cost = meter.said(message, codec.extra_tokens(message.payload) if extra is None else extra)
    return StoredMessage(
        seq=seq,
        turn=turn,
        role=message.role,
        category=message.category,
        codec=message.codec,
        payload=message.payload,
        call_ids=tuple([call.id for call in message.calls]),
        result_ids=message.results,
        cost=cost,
        sent_cost=cost,
        counter=meter.name,
        time=message.time,
        sender=message.sender,
    )


def _categorized(message: Message, category: Category | None) -> Message:
    """Return a message as what its reader says it is: a program's text in the user's role is no person's."""
    if category is None or (message.results and category is not Category.ERROR):
        return message
    return replace(message, category=Category.AUTOMATED if message.role == "user" else category)


def _pieces(value: Mapping[str, Any]) -> dict[str, int]:
    """Return how many pieces a message has under each key at which an answer grows: a text is one."""
    found = {key: value.get(key) for key in _PIECES}
    return {key: len(one) if isinstance(one, list) else 1 for key, one in found.items() if one}


def _is_of(row: StoredMessage, value: Mapping[str, object]) -> bool:
    """Return whether a message is of one answer, by the provider's id of it."""
    own = value.get("id")
    return row.role == "assistant" and isinstance(own, str) and json.loads(row.payload).get("id") == own


def _mapped(value: Any, change: Callable[[str], str]) -> Any:  # noqa: ANN401  # JSON
    """Return a JSON value of a message with other texts; what is known as data stays."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {
            key: _argument(key, one, change)[1]
            if key in _ARGUMENTS
            else one
            if key in _DATA and isinstance(one, str)
            else _mapped(one, change)
            for key, one in value.items()
        }
    return [_mapped(one, change) for one in value] if isinstance(value, list | tuple) else value


def _argument(key: str, value: Any, change: Callable[[str], str]) -> tuple[str, Any]:  # noqa: ANN401  # as above
    """Return an argument of a call with other texts, and its key; a key may say that the text behind it is a secret."""
    name = change(key)
    if isinstance(value, str):
        named, alone = change(f'{key}: "{value}"'), change(value)
        head = f"{key}: "
        is_secret = alone == value and named != f'{head}"{value}"' and named.startswith(head)
        return name, named.removeprefix(head).strip('"') if is_secret else alone
    if isinstance(value, Mapping):
        return name, dict(_argument(each, one, change) for each, one in value.items())
    return name, [_argument("", one, change)[1] for one in value] if isinstance(value, list | tuple) else value


def log_of(path: Path) -> list[Path]:
    """Return the file in which changes of a database stand that is open, if there are any.

    Raises:
        OSError: it can't be looked at.
    """
    log = path.with_name(f"{path.name}-wal")
    # Whoever reads a database may leave an empty one.
    return [log] if log.exists() and log.stat().st_size else []


def _stamp(path: Path) -> tuple[str, int]:
    """Return what tells whether a file, a folder or a database has changed, and its size in bytes.

    Raises:
        TranscriptError: there is none.
    """
    try:
        files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
        found = [one.stat() for one in (*files, *log_of(path))]
    except OSError as error:
        raise TranscriptError(str(path), None, f"can't be read: {error.strerror or error}") from error
    size, newest = sum(one.st_size for one in found), max((one.st_mtime_ns for one in found), default=0)
    return f"{len(found)}:{size}:{newest}", size


def _is_line_end(path: Path, offset: int, size: int) -> bool:
    """Return whether a file goes on behind an offset: it has grown, and was not written anew."""
    if not 0 < offset <= size or path.is_dir():
        return False
    with suppress(OSError), path.open("rb") as file:
        file.seek(offset - 1)
        return file.read(1) == b"\n"
    return False
