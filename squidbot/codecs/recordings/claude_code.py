"""Sessions recorded by Claude Code: a JSON object on each line, most of them around one Anthropic message.

An entry has an id (`uuid`) and names the one it stands behind (`parentUuid`). An answer is recorded in several entries,
one for each block, all with the id of its message. The threads of sub-agents stand in files of their own
(`agent-*.jsonl`), among the others (`isSidechain`), or inside of entries about their progress.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, deque
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.codecs import jsontext
from squidbot.codecs.anthropic_messages import AnthropicMessages
from squidbot.codecs.recordings import START, Position, RecordedMessage, RecordedSession
from squidbot.codecs.recordings.lines import (
    MOST_BYTES,
    ReadPoint,
    entries,
    position_in,
)
from squidbot.codecs.recordings.values import add_unread, entry_id, mapping, stamp_of, text_of
from squidbot.core.messages import Category

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from squidbot.codecs.recordings.lines import Entry

__all__ = ["NAME", "is_form", "places", "read"]

NAME: Final = "claude-code"

_CODEC: Final = AnthropicMessages()
_SPEAKERS: Final = ("user", "assistant")
# Who may have written what stands in the user's role: it is not told, or a person, here or through a channel.
_PEOPLE: Final = frozenset({"", "human", "channel"})
# The tools that start a sub-agent, today's name and the former one.
_AGENT_TOOLS: Final = ("Agent", "Task")
# Entries without `parentUuid` that only this program writes.
_OWN_TYPES: Final = ("ai-title", "custom-title", "file-history-snapshot", "last-prompt", "permission-mode")
# Keys of titles, the strongest last: a summary, the model's own, the user's.
_TITLES: Final = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}
# Entries that are written once an answer is over.
_ENDS: Final = ("stop_hook_summary", "turn_duration")
# Names that become part of a path; files choose them.
_PLAIN: Final = re.compile(r"[\w-]{1,100}", re.ASCII)
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# More threads in one file are counted, not read.
_MOST_AGENTS: Final = 1_000
_MOST_BLOCKS: Final = 10_000
_FIRST_ENTRIES: Final = 20
# Titles of other sessions, and states of files, may stand in front of all that names the session.
_MOST_FIRST_ENTRIES: Final = 1_000
# Places in a thread that are no index of a message: in front of what is read, and somewhere before that.
_FRONT, _BEFORE = -1, -2


def is_form(values: Sequence[object]) -> bool:
    """Whether the first values of a file are entries of Claude Code: some wrap a message or have a parent."""
    found = [value for value in values if isinstance(value, dict)]
    return any(map(_is_entry, found)) and not any("role" in value for value in found)


def _is_entry(value: dict[str, object]) -> bool:
    kind = value.get("type")
    wrapped = kind in _SPEAKERS and isinstance(value.get("message"), dict)
    return wrapped or "parentUuid" in value or kind in _OWN_TYPES or (kind == "summary" and "leafUuid" in value)


def places(home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the recordings where Claude Code keeps them; those of a project together, sub-agents behind the others."""
    own = environ.get("CLAUDE_CONFIG_DIR")
    root = (Path(own) if own else home / ".claude") / "projects"
    found = [path for pattern in ("*/*.jsonl", "*/*/subagents/**/agent-*.jsonl") for path in root.glob(pattern)]
    found.sort(key=lambda path: (path.relative_to(root).parts[0], path.name.startswith("agent-"), str(path)))
    # A link could lead to another project.
    yield from (path for path in found if path.is_file() and not path.is_symlink())


def read(path: Path, start: Position | None = None, *, is_over: bool = True) -> list[RecordedSession]:
    """Return the session in a file, and behind it those of its sub-agents that stand in the same file.

    With `is_over=False` the newest answer is left for the next time until something shows that no block of it will
    follow, and each of its calls has its result: tools run while their answer still streams.

    Raises:
        TranscriptError: the file can't be read.
    """
    begin = position_in(path, start)
    recording = _read(path, begin, is_over=is_over)
    if recording.is_lost and begin.offset <= MOST_BYTES:
        # Somebody went back to a message that was read before: the links say which one it is.
        known = _read(path, Position(), is_over=is_over)
        parents = {message.id: message.parent for message in known.main.session.messages}
        own = recording.main.session
        own.messages = [one._replace(parent=parents.get(one.id, one.parent)) for one in own.messages]
    return recording.sessions()


def _read(path: Path, start: Position, *, is_over: bool) -> _Recording:
    recording = _Recording(path, start)
    for entry in entries(path, start, recording.unread):
        recording.take(entry)
    if not is_over:
        recording.cut()
    return recording


class _Head(NamedTuple):
    """What the first entries say of a file's session; `parent` is "" unless it is a sub-agent's, or unknown."""

    id: str
    parent: str
    project: str
    is_agent: bool
    has_attachments: bool


def _head(path: Path) -> _Head:
    first = [*_first_entries(path)]
    session = next(filter(None, (text_of(one, "sessionId") for one in first)), "")
    project = next(filter(None, (text_of(one, "cwd") for one in first)), "")
    agent = next((text_of(one, "agentId") for one in first if one.get("isSidechain") is True), "")
    attached = any(one.get("type") == "attachment" for one in first)
    own = path.stem.removeprefix("agent-")
    is_agent = bool(agent or own != path.stem) and not any(one.get("isSidechain") is False for one in first)
    if is_agent:
        folder = _session_folder(path)
        session, parent = agent or own, folder.name if folder else session
    else:
        # A session that goes on from another one may begin with its entries; the file has its own id.
        session, parent = path.stem if _UUID.fullmatch(path.stem) else session or path.stem, ""
    return _Head(session, parent, project, is_agent=is_agent, has_attachments=attached)


def _first_entries(path: Path) -> Iterator[dict[str, object]]:
    """Yield what the first entries say of their session: some, and on to one that names it if none of these does."""
    is_named = False
    for number, entry in enumerate(islice(entries(path, Position(), Counter()), _MOST_FIRST_ENTRIES)):
        if is_named and number >= _FIRST_ENTRIES:
            return
        yield {key: entry.value.get(key) for key in ("type", "sessionId", "cwd", "agentId", "isSidechain")}
        is_named = is_named or bool(text_of(entry.value, "sessionId"))


def _session_folder(path: Path) -> Path | None:
    """Return the folder beside a session's file in which its sub-agents are; `None` outside of one."""
    return next((parent.parent for parent in path.parents if parent.name == "subagents"), None)


@dataclass(slots=True)
class _Thread:
    """One conversation of a file.

    Attributes:
        session: what was found of it.
        answers: the index of each message whose blocks may go on, by the provider's id.
        steps: the index of the first message of each step.
        waiting: the calls of the newest answers that have no result yet.
        is_ended: no block of the newest answer will follow.
    """

    session: RecordedSession
    answers: dict[str, int] = field(default_factory=dict)
    steps: list[int] = field(default_factory=list)
    waiting: set[str] = field(default_factory=set)
    is_ended: bool = True

    @property
    def newest(self) -> int:
        return len(self.session.messages) - 1

    def step_end(self, index: int) -> int | None:
        """Return the index of the last message of the step that a message is in; `None` for the newest step."""
        behind = bisect_right(self.steps, index)
        return self.steps[behind] - 1 if behind < len(self.steps) else None


class _Place(NamedTuple):
    """The message that an entry is, or stands behind."""

    thread: _Thread
    at: int


class _Recording:
    """The sessions of one file, entry by entry."""

    def __init__(self, path: Path, start: Position) -> None:
        self.unread: Counter[str] = Counter()
        self.is_lost = False
        self._path = path
        self._start = start
        self._head = _head(path)
        self.main = _Thread(RecordedSession(NAME, self._head.id, _CODEC.tag, self._head.project))
        self.main.session.parent = self._head.parent
        self._agents: dict[str, _Thread] = {}
        self._where: dict[str, _Place] = {}
        if start.tip:
            self._where[start.tip] = _Place(self.main, _FRONT)
        self._titles: dict[str, tuple[str, str]] = {}
        # The calls of sub-agents: by what they were asked, and by who answered.
        self._asked: dict[str, list[str]] = {}
        self._answered: dict[str, str] = {}
        self._is_compacted = False
        self._at = start
        self._cut: ReadPoint | None = None
        self._files: set[str] | None = None
        self._queue: deque[str] | None = None

    def take(self, entry: Entry) -> None:
        """Read the next entry."""
        event, own = entry.value, text_of(entry.value, "uuid")
        if own and own in self._where:
            add_unread(self.unread, "repeated")
        elif place := self._place(event, own or f"line-{entry.line}"):
            is_read = self._took_progress(event, entry.line) or self._took_queue(event, entry.line)
            value = None if is_read else self._value(event)
            if value is not None:
                place = self._add(place, event, value, entry.line)
            if own:
                self._where[own] = place
            self._note(event)
        else:
            add_unread(self.unread, "sub-agents'")
        self._at = Position(entry.end, own or self._at.tip, entry.line)

    def cut(self) -> None:
        """Leave the newest answer, and all behind it, unless it is complete."""
        if self._cut is None or (self.main.is_ended and not self.main.waiting):
            return
        self._at, self.unread = self._cut
        for thread in (self.main, *self._agents.values()):
            kept = thread.session.messages
            thread.session.messages = [one for one in kept if one.line <= self._at.line]

    def sessions(self) -> list[RecordedSession]:
        """Return what was read."""
        main = self.main.session
        main.title = self._title()
        main.unread = self.unread
        if main.parent and main.messages and not self._start.offset:
            main.call_id = _call_of(self._path, main)
        found = [thread.session for thread in self._agents.values() if thread.session.messages]
        taken = {*self._answered.values()}
        for session in found:
            calls = [call for call in self._asked.get(_first_text(session), ()) if call not in taken]
            session.call_id = self._answered.get(session.id, "") or next(iter(calls), "")
            taken.add(session.call_id)
        for session in (main, *found):
            session.position = self._at
        return [main, *found]

    # Which thread an entry belongs to, and behind which message it stands.

    def _place(self, event: dict[str, object], own: str) -> _Place | None:
        """Return where an entry stands; `None` in a thread too many."""
        parent = event.get("parentUuid")
        known = self._where.get(parent) if isinstance(parent, str) else None
        if event.get("isSidechain") is True and not self._head.is_agent:
            if known is not None and known.thread is not self.main:
                return _Place(known.thread, known.thread.newest)
            thread = self._agent(text_of(event, "agentId") or own)
            return None if thread is None else _Place(thread, thread.newest)
        if known is not None and known.thread is self.main:
            return known
        is_before = self._start.offset > 0 and isinstance(parent, str)
        return _Place(self.main, _BEFORE if is_before else self.main.newest)

    def _agent(self, name: str) -> _Thread | None:
        if name not in self._agents:
            if len(self._agents) >= _MOST_AGENTS:
                return None
            main = self.main.session
            self._agents[name] = _Thread(RecordedSession(NAME, name, _CODEC.tag, main.project, parent=main.id))
        return self._agents[name]

    def _parent(self, event: Mapping[str, object], place: _Place) -> str | None:
        """Return what `RecordedMessage.parent` is of a user's message in the main thread."""
        messages, parent = self.main.session.messages, event.get("parentUuid", START)
        if event.get("isCompactSummary") is True or not (messages or self._start.offset):
            return None
        if parent is None:
            return None if self._is_compacted else START
        if place.at == _BEFORE or (place.at == _FRONT and messages and self._start.offset):
            self.is_lost = True
            return str(parent)
        if place.at == _FRONT:
            return START if messages else None
        end = self.main.step_end(place.at)
        return None if end is None else messages[end].id

    # What an entry says.

    def _value(self, event: Mapping[str, object]) -> dict[str, object] | None:
        """Return the message in an entry; `None` for none, which is counted."""
        message, kind = event.get("message"), text_of(event, "type")
        attached = event.get("attachment")
        if kind == "attachment" and isinstance(attached, dict) and attached.get("type") == "queued_command":
            # What the user said while the agent worked.
            kind, message = "user", {"content": attached.get("prompt")}
        if kind not in _SPEAKERS or not isinstance(message, dict) or not message.get("content"):
            add_unread(self.unread, kind)
            return None
        if event.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>":
            self.unread["API errors"] += 1
            return None
        if event.get("isVisibleInTranscriptOnly") is True and event.get("isCompactSummary") is not True:
            self.unread["messages that the model did not read"] += 1
            return None
        value = {**message, "role": kind}
        value.pop("timestamp", None)
        stamp = stamp_of(event.get("timestamp"))[1]
        if stamp is not None:
            value["timestamp"] = stamp
        if not _is_message(value):
            self.unread["broken messages"] += 1
            return None
        return value

    def _add(self, place: _Place, event: Mapping[str, object], value: dict[str, object], line: int) -> _Place:
        """Add a message to its thread, or its blocks to the message that they belong to."""
        thread, messages = place.thread, place.thread.session.messages
        if value["role"] == "assistant":
            parent, answer = None, text_of(value, "id")
            if answer in thread.answers:
                index = thread.answers[answer]
                _join(messages[index].value, value)
                self._expect(thread, value)
                return _Place(thread, index)
            if answer:
                thread.answers[answer] = len(messages)
            if thread is self.main:
                self._cut = ReadPoint(self._at, Counter(self.unread))
            thread.waiting.clear()
            thread.steps.append(len(messages))
            self._expect(thread, value)
        else:
            parent = self._heard(place, event, value)
        self._append(thread, event, value, parent, line)
        return _Place(thread, thread.newest)

    def _append(
        self, thread: _Thread, event: Mapping[str, object], value: dict[str, object], parent: str | None, line: int
    ) -> None:
        is_summary = event.get("isCompactSummary") is True
        thread.session.messages.append(
            RecordedMessage(
                text_of(event, "uuid") or entry_id(event, line),
                value,
                parent,
                stamp_of(value.get("timestamp"))[0],
                text_of(value, "model") if value["role"] == "assistant" else "",
                Category.CONTEXT if is_summary or _is_by_a_program(event) else None,
                line,
                is_summary,
            )
        )

    def _heard(self, place: _Place, event: Mapping[str, object], value: Mapping[str, object]) -> str | None:
        """Note that a user's message comes next in its thread, or results; return the message that it stands behind."""
        thread, blocks = place.thread, _blocks(value["content"])
        results = [text_of(block, "tool_use_id") for block in blocks if block.get("type") == "tool_result"]
        thread.waiting.difference_update(results)
        if len(results) < len(blocks):
            # Some proxies give every answer the same id: a user's message ends the step.
            thread.answers.clear()
        if results:
            return None
        parent = self._parent(event, place) if thread is self.main else None
        thread.waiting.clear()
        thread.is_ended = True
        thread.steps.append(len(thread.session.messages))
        self._is_compacted = self._is_compacted and event.get("isCompactSummary") is True
        return parent

    def _expect(self, thread: _Thread, value: Mapping[str, object]) -> None:
        """Note the calls of an answer, and whether its blocks are complete: the last one alone has a reason to stop."""
        thread.is_ended = value.get("stop_reason") is not None
        for block in _blocks(value["content"]):
            if block.get("type") == "tool_use":
                thread.waiting.add(text_of(block, "id"))
                prompt = text_of(block.get("input"), "prompt")
                if prompt and block.get("name") in _AGENT_TOOLS:
                    self._asked.setdefault(prompt, []).append(text_of(block, "id"))

    def _note(self, event: dict[str, object]) -> None:
        """Note what an entry says of the session, beside its message."""
        kind, subtype = text_of(event, "type"), event.get("subtype")
        if kind in _TITLES and (title := text_of(event, _TITLES[kind])):
            self._titles[kind] = title, text_of(event, "leafUuid")
        elif kind == "system" and event.get("isSidechain") is not True:
            self._is_compacted = self._is_compacted or subtype == "compact_boundary"
            self.main.is_ended = self.main.is_ended or subtype in _ENDS
        elif agent := text_of(event.get("toolUseResult"), "agentId"):
            self._answered[agent] = _result_id(event)

    def _title(self) -> str:
        summary, leaf = self._titles.get("summary", ("", ""))
        if self._where and leaf not in self._where:
            # Claude Code writes the summary of another session, too, which this one is not about.
            summary = ""
        own = [self._titles.get(kind, ("", ""))[0] for kind in ("custom-title", "ai-title")]
        return next(filter(None, (*own, summary)), "")

    def _took_progress(self, event: Mapping[str, object], line: int) -> bool:
        """Read the message of a sub-agent inside of an entry about its progress, unless it has a file of its own."""
        data = event.get("data")
        if event.get("type") != "progress" or not isinstance(data, dict) or data.get("type") != "agent_progress":
            return False
        agent, inner = text_of(data, "agentId"), data.get("message")
        if not agent or not isinstance(inner, dict) or self._has_file(agent):
            return False
        thread = self._agent(agent)
        own = text_of(inner, "uuid")
        if thread is None or (own and own in self._where):
            return False
        self._answered.setdefault(agent, text_of(event, "parentToolUseID"))
        value = self._value(inner)
        place = _Place(thread, thread.newest)
        if value is not None:
            place = self._add(place, inner, value, line)
        if own:
            self._where[own] = place
        return True

    def _took_queue(self, event: Mapping[str, object], line: int) -> bool:
        """Read what the user said while the agent worked: where no attachment repeats it, it stands here alone."""
        if event.get("type") != "queue-operation":
            return False
        if self._queue is None:
            self._queue = _queue_before(self._path, self._start)
        said = _queue_step(self._queue, event)
        if event.get("operation") != "remove" or not said or self._head.has_attachments:
            return False
        value = self._value({"type": "user", "message": {"content": said}, "timestamp": event.get("timestamp")})
        if value is not None:
            # It has no place among the links, so it belongs to the step in front of it.
            self._append(self.main, event, value, None, line)
        return True

    def _has_file(self, agent: str) -> bool:
        if self._files is None:
            beside = self._path.parent.glob("agent-*.jsonl")
            below = (self._path.parent / self._path.stem / "subagents").rglob("agent-*.jsonl")
            self._files = {path.stem.removeprefix("agent-") for path in (*beside, *below)}
        return agent in self._files


def _is_by_a_program(event: Mapping[str, object]) -> bool:
    """Return whether a program wrote what stands in the user's role, as an entry or its attachment says."""
    attached = mapping(event.get("attachment"))
    origins = {text_of(one.get("origin"), "kind") for one in (event, attached)}
    is_meta = any(one.get("isMeta") is True for one in (event, attached))
    return is_meta or not origins <= _PEOPLE or attached.get("commandMode") == "task-notification"


def _queue_before(path: Path, start: Position) -> deque[str]:
    """Return what waited to be said at a position."""
    queue: deque[str] = deque()
    if start.offset:
        for entry in entries(path, Position(), Counter(), [b'"queue-operation"']):
            if entry.line > start.line:
                break
            if entry.value.get("type") == "queue-operation":
                _queue_step(queue, entry.value)
    return queue


def _queue_step(queue: deque[str], event: Mapping[str, object]) -> str:
    """Change what waits to be said by an entry, and return what it took from it."""
    match event.get("operation"):
        case "enqueue":
            queue.append(text_of(event, "content"))
        case "popAll":
            queue.clear()
        case "dequeue" | "remove" if queue:
            return queue.popleft()
    return ""


def _is_message(value: dict[str, object]) -> bool:
    content = value["content"]
    if isinstance(content, list) and len(content) > _MOST_BLOCKS:
        return False
    try:
        return isinstance(content, str) or bool(_CODEC.to_message(value))
    except ValueError:
        return False


def _blocks(content: object) -> list[dict[str, object]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _join(first: Mapping[str, object], later: Mapping[str, object]) -> None:
    """Append the blocks of a later entry of one answer to the earlier ones; its usage is the newer one."""
    if not isinstance(first, dict):
        return
    content = first["content"]
    if not isinstance(content, list):
        content = first["content"] = [*_blocks(content)]
    content.extend(_blocks(later["content"]))
    for key in ("usage", "stop_reason", "stop_sequence"):
        if later.get(key) is not None:
            first[key] = later[key]


def _first_text(session: RecordedSession) -> str:
    blocks = _blocks(session.messages[0].value["content"])
    return text_of(blocks[0], "text") if blocks else ""


def _result_id(event: Mapping[str, object]) -> str:
    message = event.get("message")
    blocks = _blocks(message.get("content")) if isinstance(message, dict) else []
    return next(filter(None, (text_of(block, "tool_use_id") for block in blocks)), "")


def _call_of(path: Path, session: RecordedSession) -> str:
    """Return the call that a sub-agent with a file of its own works for, by its session's file; "" if unknown."""
    folder = _session_folder(path)
    if folder is None and not _PLAIN.fullmatch(session.parent):
        return ""
    main = path.with_name(f"{session.parent}.jsonl") if folder is None else folder.with_name(f"{folder.name}.jsonl")
    if not main.is_file():
        return ""
    prompt, asked = _first_text(session), ""
    marks = [jsontext.write(name).encode() for name in (*_AGENT_TOOLS, session.id)]
    for entry in entries(main, Position(), Counter(), marks):
        event = entry.value
        data, message = event.get("data"), event.get("message")
        if text_of(event.get("toolUseResult"), "agentId") == session.id:
            return _result_id(event)
        if text_of(data, "agentId") == session.id and (call := text_of(event, "parentToolUseID")):
            return call
        for block in _blocks(message.get("content")) if isinstance(message, dict) else []:
            if prompt and block.get("name") in _AGENT_TOOLS and text_of(block.get("input"), "prompt") == prompt:
                asked = asked or text_of(block, "id")
    return asked
