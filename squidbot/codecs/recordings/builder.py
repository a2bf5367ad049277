"""Builds the sessions of a file: messages that their codec accepts, ids of their own, results behind their calls."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.codecs.recordings import START, Position, RecordedMessage, RecordedSession
from squidbot.codecs.recordings.lines import Entry, entries, whole
from squidbot.codecs.recordings.values import digest, seconds, text
from squidbot.core.errors import TranscriptError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from squidbot.codecs.form import MessageForm
    from squidbot.core.messages import Category, Message

__all__ = ["GrowingFile", "MessageSource", "SessionBuilder", "dump_name", "finished", "place_name"]

# Hostile files name kinds of entries without end.
_MOST_KINDS: Final = 100
# A message is read again for each call that it is given.
_MOST_CALLS: Final = 100


class MessageSource(NamedTuple):
    """What a recording says beside a message.

    Attributes:
        parent: the id of the message that it stands behind, `START` for none; `None`: the newest one.
        stamp: its time, in any form that `jsontext.seconds` reads; others are none.
        model: the model that wrote it; "" if unknown.
        usage: the tokens of the call, in a form that `read_usage` knows; `None` if unknown.
        category: what it is, where its role does not say it.
        line: its line in its file, from 1; 0 if the file has no lines.
    """

    parent: str | None = None
    stamp: object = None
    model: str = ""
    usage: object = None
    category: Category | None = None
    line: int = 0


_UNKNOWN: Final = MessageSource()


class SessionBuilder:
    """One session in the making.

    A tool's result stands behind its call: one without a call, or that answers it again, is counted instead.

    Attributes:
        session: what is known of it; its messages come with `finished`.
        tip: the id of the newest message, whatever line of the conversation it is on; `START` without one.
    """

    def __init__(self, agent: str, codec: MessageForm, identifier: str, *, has_branches: bool = False) -> None:
        """`has_branches`: a call may be answered on several of them."""
        self.session = RecordedSession(agent, identifier, codec.tag)
        self.tip = START
        self._codec = codec
        self._has_branches = has_branches
        self._messages: list[RecordedMessage] = []
        self._read: list[Message] = []
        self._ids: set[str] = set()
        self._repeats: Counter[str] = Counter()
        # The place of the model's newest message.
        self._answer = -1
        self._waiting: Counter[str] = Counter()
        self._counted: list[tuple[int, str]] = []

    def add(self, identifier: str, value: Mapping[str, object], source: MessageSource = _UNKNOWN) -> str:
        """Add a message, and return its id; "" if it is none, which is counted.

        A second message with an id gets another one.
        """
        time = seconds(source.stamp)
        stamp = None if time is None else source.stamp
        beside = {"timestamp": stamp, "model": source.model, "usage": source.usage}
        made = {key: each for key, each in value.items() if key != "timestamp"}
        made.update({key: each for key, each in beside.items() if each not in (None, "", {})})
        try:
            read = self._codec.to_message(made)
        except ValueError:
            return self._refused("messages that cannot be read", source.line)
        if wrong := self._wrong_results(read):
            return self._refused(wrong, source.line)
        own = identifier
        while not own or own in self._ids:
            self._repeats[identifier] += 1
            own = f"{identifier}~{self._repeats[identifier] + 1}"
        self._ids.add(own)
        self._waiting.subtract(read.results)
        self._waiting.update(call.id for call in read.calls)
        behind = None if source.parent == self.tip else source.parent
        self._messages.append(RecordedMessage(own, made, behind, time, source.model, source.category, source.line))
        self._read.append(read)
        self._answer = len(self._read) - 1 if read.role == "assistant" else self._answer
        self.tip = own
        return own

    def give_usage(self, usage: Mapping[str, object]) -> bool:
        """Give the newest message of the model its usage, which was recorded behind it; `False` without such a one."""
        if self._answer < 0:
            return False
        message = self._messages[self._answer]
        self._messages[self._answer] = message._replace(value={**message.value, "usage": usage})
        return True

    def give_call(self, identifier: str, call: dict[str, object]) -> bool:
        """Give the model's newest message one call more, which was recorded behind it; `False` if it is another one."""
        if self._answer < 0:
            return False
        message, read = self._messages[self._answer], self._read[self._answer]
        given = message.value.get("tool_calls") if message.id == identifier else None
        if not isinstance(given, list) or len(given) >= _MOST_CALLS:
            return False
        value = {**message.value, "tool_calls": [*given, call]}
        try:
            self._read[self._answer] = made = self._codec.to_message(value)
        except ValueError:
            return False
        self._waiting.update(each.id for each in made.calls[len(read.calls) :])
        self._messages[self._answer] = message._replace(value=value)
        return True

    def count(self, what: str, line: int = 0) -> None:
        """Count an entry that becomes no message."""
        self._counted.append((line, what))

    def open_at(self, *, grows: bool) -> int | None:
        """Return the place of the last step if it is not complete: calls wait for results, or it still grows."""
        answered: set[str] = set()
        for at in reversed(range(len(self._read))):
            read = self._read[at]
            if read.results:
                answered.update(read.results)
                continue
            waits = any(call.id not in answered for call in read.calls)
            return at if read.role == "assistant" and (waits or grows) else None
        return None

    @property
    def newest_line(self) -> int:
        """The line of the newest message; 0 without one."""
        return self._messages[-1].line if self._messages else 0

    def line_at(self, at: int) -> int:
        """Return the line of a message."""
        return self._messages[at].line

    def built(self, after: int, before: int | None, until: int | None) -> RecordedSession:
        """Return the session with what stands behind line `after`, in front of line `before` and of message `until`."""
        known = self._messages if until is None else self._messages[:until]
        self.session.messages = [
            each for each in known if not each.line or (each.line > after and (before is None or each.line < before))
        ]
        for line, what in self._counted:
            if not line or (line > after and (before is None or line < before)):
                unread = self.session.unread
                unread[what if what in unread or len(unread) < _MOST_KINDS else "other entries"] += 1
        return self.session

    def _refused(self, why: str, line: int) -> str:
        self.count(why, line)
        return ""

    def _wrong_results(self, read: Message) -> str:
        """Return why a tool's results can't stand here; "" if they can, or if the message says something else, too."""
        if read.role != "tool" or not read.results:
            return ""
        if any(result not in self._waiting for result in read.results):
            return "results without a call"
        if not self._has_branches and any(self._waiting[result] < 1 for result in read.results):
            return "results of a call that has one"
        return ""


class GrowingFile:
    """The entries of a file of JSON lines, from its first: what stands before a position says where new ones belong.

    A file that is one value has no lines and no position: it is written anew each time. An object is one entry.

    Attributes:
        unread: what is no entry, behind the position.
        after: the number of lines in front of the position.
        value: the one value of a file; `None` if it has lines.
        has_lines: whether it has lines, and not one value.
        is_read: whether nothing stands behind the position.
    """

    def __init__(self, path: Path, start: Position | None) -> None:
        """Take the file, and the position from which its entries are new; one behind its end is none.

        Raises:
            TranscriptError: the file can't be read.
        """
        try:
            size = path.stat().st_size
        except (OSError, ValueError) as error:
            raise TranscriptError(str(path), None, f"can't be read: {error}") from error
        start = start or Position()
        self._path, self._size = path, size
        self._start = Position() if start.offset > size else start
        self.is_read = self._start.offset == size > 0
        self.value = None if self.is_read else whole(path)
        self._ends = [Position()]
        self.has_lines = self.value is None
        self.after = self._start.line if self.has_lines else 0
        self.unread: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Entry]:
        """Yield its entries in order."""
        if isinstance(self.value, dict):
            yield Entry(self.value, 0, self._size)
        for entry in self._entries() if self.has_lines else ():
            tip = text(entry.value.get("id")) or self._ends[-1].tip
            self._ends.append(Position(entry.end, tip, entry.line))
            yield entry

    def values(self) -> Iterator[tuple[object, int]]:
        """Yield the items of a list, or the values of its entries, each with its line; 0 without lines."""
        if isinstance(self.value, list):
            yield from ((each, 0) for each in self.value)
        yield from ((entry.value, entry.line) for entry in self)

    def position(self, before: int | None) -> Position:
        """Return the position in front of a line, or behind all that was read; a file of one value has none."""
        while before is not None and self._ends[-1].line >= before > 0:
            self._ends.pop()
        return self._ends[-1]

    def _entries(self) -> Iterator[Entry]:
        known: Counter[str] = Counter()
        for entry in entries(self._path, Position(), known) if self._start.offset else ():
            if entry.end > self._start.offset:
                break
            yield entry
        yield from entries(self._path, self._start, self.unread)


def finished(
    builders: Sequence[SessionBuilder], file: GrowingFile | None = None, *, is_over: bool, grows: bool = False
) -> list[RecordedSession]:
    """Return the sessions of a file; while its agent is at work without the last step, if that is not complete.

    `grows`: the model's last message may still get more.
    """
    opened = [None if is_over else each.open_at(grows=grows) for each in builders]
    if file is None or not file.has_lines:
        found = [each.built(0, None, until) for each, until in zip(builders, opened, strict=True)]
    else:
        lines = [each.line_at(at) for each, at in zip(builders, opened, strict=True) if at is not None]
        before = min(lines, default=None)
        found = [each.built(file.after, before, None) for each in builders]
        position = file.position(before)
        for session in found:
            session.position = position
    if found and file is not None:
        found[0].unread.update(file.unread)
    return _named_apart(found)


def _named_apart(found: list[RecordedSession]) -> list[RecordedSession]:
    """Return sessions with ids of their own, none of which is its own parent."""
    seen: Counter[str] = Counter()
    for session in found:
        seen[session.id] += 1
        if seen[session.id] > 1:
            session.id = f"{session.id}~{seen[session.id]}"
        if session.parent == session.id:
            session.parent = ""
    return found


def place_name(number: int, value: object) -> str:
    """Return the id of a message that has none: its place, and a digest, as a file may be written again with others."""
    return f"{number}-{digest(value)}"


def dump_name(path: Path, own: object = None, number: int | None = None) -> str:
    """Return the id of a session in a dump: its own, or its file's name with a digest of where that is."""
    if isinstance(own, str) and own:
        return own
    which = "" if number is None else f"-{number + 1}"
    return f"{path.stem}-{digest(str(path.absolute()))}{which}"
