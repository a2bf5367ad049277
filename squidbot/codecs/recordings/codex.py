"""Sessions recorded by Codex, its "rollouts": JSON lines around items of OpenAI Responses, and events.

A line is `{"timestamp", "type", "payload"}`; older versions wrote bare items behind a line about the session. The names
are those of `RolloutItem` and `EventMsg` in codex-rs/protocol/src/protocol.rs.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.codecs.openai_responses import OpenAIResponses
from squidbot.codecs.recordings import START, Position, RecordedMessage, RecordedSession
from squidbot.codecs.recordings.lines import (
    MOST_BYTES,
    ReadPoint,
    entries,
    position_in,
)
from squidbot.codecs.recordings.values import add_unread, entry_id, stamp_of, text_of
from squidbot.core.messages import Category

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from squidbot.codecs.recordings.lines import Entry

__all__ = ["NAME", "compressed", "is_form", "places", "read"]

NAME: Final = "codex"

_CODEC: Final = OpenAIResponses()
_ENVELOPES: Final = ("compacted", "event_msg", "response_item", "session_meta", "turn_context")
# Items of no content: states of the files, for undoing.
_STATES: Final = ("ghost_snapshot",)
_TURN_ENDS: Final = ("task_complete", "turn_aborted", "turn_complete")
# How texts in the user's role begin that the program wrote.
_CONTEXTS: Final = (
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
    "<collaboration_mode>",
    "<environment_context>",
    "<permissions instructions>",
    "<skill>",
    "<subagent_notification>",
    "<turn_aborted>",
    "<user_instructions>",
)
_FIRST_ENTRIES: Final = 20


def is_form(values: Sequence[object]) -> bool:
    """Whether the first values of a file are lines of a rollout, of today's form or the older one."""
    found = [value for value in values if isinstance(value, dict)]
    if any(text_of(value, "type") in _ENVELOPES and isinstance(value.get("payload"), dict) for value in found):
        return True
    return bool(found) and _is_old_meta(found[0])


def _is_old_meta(value: Mapping[str, object]) -> bool:
    known = all(text_of(value, key) for key in ("id", "timestamp"))
    return known and "instructions" in value and not {"type", "role", "messages", "input"} & value.keys()


def places(home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the recordings where Codex keeps them, the oldest first, those in its archive last."""
    return _places(home, environ, "rollout-*.jsonl")


def compressed(home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the recordings that Codex has compressed: those that nobody has written to for a week."""
    return _places(home, environ, "rollout-*.jsonl.zst")


def _places(home: Path, environ: Mapping[str, str], pattern: str) -> Iterator[Path]:
    own = environ.get("CODEX_HOME")
    root = Path(own) if own else home / ".codex"
    for folder in ("sessions", "archived_sessions"):
        found = sorted((root / folder).rglob(pattern))
        # A link could lead elsewhere.
        yield from (path for path in found if path.is_file() and not path.is_symlink())


def read(path: Path, start: Position | None = None, *, is_over: bool = True) -> list[RecordedSession]:
    """Return the session in a file; its sub-agents have files of their own.

    With `is_over=False` the newest step of the model is left for the next time until a message of another's, the next
    step or the end of the turn stands behind it: its usage is reported late.

    Raises:
        TranscriptError: the file can't be read.
    """
    begin = position_in(path, start)
    rollout = _read(path, begin, is_over=is_over)
    if rollout.is_lost and begin.offset <= MOST_BYTES:
        # Turns were rolled back that were read before: the whole file says behind which message it goes on.
        parents = {one.id: one.parent for one in _read(path, Position(), is_over=is_over).session.messages}
        rollout.session.messages = [
            one._replace(parent=parents.get(one.id, one.parent)) for one in rollout.session.messages
        ]
    return [rollout.session]


def _read(path: Path, start: Position, *, is_over: bool) -> _Rollout:
    rollout = _Rollout(path, start)
    for entry in entries(path, start, rollout.session.unread):
        rollout.take(entry)
    rollout.end(is_over=is_over)
    return rollout


class _RolloutLine(NamedTuple):
    """A line without its envelope."""

    kind: str
    payload: dict[str, object]
    stamp: object


def _line(value: dict[str, object]) -> _RolloutLine:
    payload, kind = value.get("payload"), text_of(value, "type")
    if isinstance(payload, dict):
        return _RolloutLine(kind, payload, value.get("timestamp"))
    if _is_old_meta(value):
        return _RolloutLine("session_meta", value, value.get("timestamp"))
    if kind in _ENVELOPES or not kind:
        return _RolloutLine(kind or text_of(value, "record_type"), {}, None)
    return _RolloutLine("response_item", value, value.get("timestamp"))


class _Rollout:
    """The session of one file, line by line."""

    def __init__(self, path: Path, start: Position) -> None:
        self.is_lost = False
        self._start = start
        self._at = start
        self.session = RecordedSession(NAME, path.stem, _CODEC.tag)
        # Events repeat what items say, unless there are no items.
        self._has_items = self._read_head(path)
        self._has_meta = start.offset > 0
        self._model = _model_before(path, start)
        # The newest step and its items, until something stands behind it.
        self._step: dict[str, object] | None = None
        self._made: list[object] | None = None
        self._open: ReadPoint | None = None
        self._total: object = None
        # The message in front of each turn of the branch that is talked on; `None` if it was read before.
        self._turns: list[str | None] = []
        self._tip: str | None = None if start.offset else START
        self._back: ReadPoint | None = None

    def _read_head(self, path: Path) -> bool:
        """Read what the first lines say of the session; return whether items are among them."""
        session, has_meta, has_items = self.session, False, False
        for entry in islice(entries(path, Position(), Counter()), _FIRST_ENTRIES):
            line = _line(entry.value)
            has_items = has_items or line.kind == "response_item"
            session.project = session.project or text_of(line.payload, "cwd")
            if line.kind == "session_meta" and not has_meta:
                has_meta = True
                session.id = text_of(line.payload, "id") or session.id
                session.parent = _parent_of(line.payload)
        return has_items

    def take(self, entry: Entry) -> None:
        """Read the next line."""
        line = _line(entry.value)
        payload, kind = line.payload, text_of(line.payload, "type")
        match line.kind:
            case "response_item" if kind not in _STATES:
                self._item(line, entry.line)
            case "event_msg":
                self._event(line, kind, entry.line)
            case "turn_context":
                self._model = text_of(payload, "model") or self._model
            case "compacted":
                self._compacted(line, entry.line)
            case "session_meta" if not self._has_meta:
                self._has_meta = True
            case "session_meta":
                # A fork begins with what the session that it comes from says.
                add_unread(self.session.unread, "repeated session_meta")
            case _:
                add_unread(self.session.unread, kind or line.kind)
        self._at = Position(entry.end, "", entry.line)

    def end(self, *, is_over: bool) -> None:
        """Set the position, in front of what is not complete."""
        cut = self._back if is_over or self._open is None else self._open
        if cut is not None:
            self._at, self.session.unread = cut
            self.session.messages = [one for one in self.session.messages if one.line <= self._at.line]
        self.session.position = self._at

    def _item(self, line: _RolloutLine, number: int) -> None:
        item = dict(line.payload)
        own = item.pop("timestamp", None)
        try:
            is_made = _CODEC.is_made(item)
            _CODEC.to_message({"output": [item]} if is_made else item)
        except (TypeError, ValueError):
            self.session.unread["broken items"] += 1
            return
        timed = _timed(own if line.stamp is None else line.stamp)
        if not is_made:
            self._made = None
            if not text_of(item, "type").endswith("_output"):
                self._open = None
            self._append(line, {**item, **timed}, number, _category(item))
        elif self._made is not None:
            self._made.append(item)
        else:
            self._made = [item]
            self._open = ReadPoint(self._at, Counter(self.session.unread))
            self._step = {"output": self._made, **({"model": self._model} if self._model else {}), **timed}
            self._append(line, self._step, number, None)

    def _append(
        self,
        line: _RolloutLine,
        value: Mapping[str, object],
        number: int,
        category: Category | None,
        *,
        is_summary: bool = False,
    ) -> None:
        parent = None
        if self._back is not None:
            self._back, parent = None, self._tip
            self.is_lost = self.is_lost or parent is None
        if value.get("role") == "user" and category is None:
            self._turns.append(self._tip)
        # Copies may be redacted, so what is said tells messages apart only where nothing else does.
        named = [line.kind, *(text_of(line.payload, key) for key in ("type", "role", "call_id"))]
        self._tip = entry_id([line.stamp, line.payload if line.stamp is None else named], number)
        stamp, model = stamp_of(value.get("timestamp"))[0], text_of(value, "model")
        message = RecordedMessage(self._tip, value, parent, stamp, model, category, number, is_summary)
        self.session.messages.append(message)

    def _event(self, line: _RolloutLine, kind: str, number: int) -> None:
        unread, said = self.session.unread, text_of(line.payload, "message")
        if kind == "token_count":
            self._usage(line.payload.get("info"))
        elif kind == "thread_rolled_back":
            self._roll_back(line.payload.get("num_turns"))
        elif kind == "thread_name_updated":
            self.session.title = text_of(line.payload, "thread_name")
        elif kind in {"agent_message", "user_message"} and said and not self._has_items:
            is_user = kind == "user_message"
            part = {"type": "input_text" if is_user else "output_text", "text": said}
            message: dict[str, object] = {
                "type": "message",
                "role": "user" if is_user else "assistant",
                "content": [part],
            }
            self._item(line._replace(payload=message), number)
        elif kind in {"agent_message", "user_message"}:
            add_unread(unread, f"repeated {kind}", "events")
        else:
            add_unread(unread, kind, "events")
            if kind in _TURN_ENDS:
                self._made = self._open = None

    def _usage(self, info: object) -> None:
        """Give the newest step the usage of its call; later events repeat it."""
        told = info if isinstance(info, dict) else {}
        total, last = told.get("total_token_usage"), told.get("last_token_usage")
        if self._step is None or not isinstance(last, dict) or total == self._total:
            add_unread(self.session.unread, "repeated token_count", "events")
            return
        self._total = total
        self._step["usage"] = {
            "input_tokens": last.get("input_tokens"),
            "input_tokens_details": {"cached_tokens": last.get("cached_input_tokens")},
            "output_tokens": last.get("output_tokens"),
            "output_tokens_details": {"reasoning_tokens": last.get("reasoning_output_tokens")},
        }
        # A call ends with its usage: what the model makes next is another step.
        self._made = None

    def _compacted(self, line: _RolloutLine, number: int) -> None:
        history, said = line.payload.get("replacement_history"), text_of(line.payload, "message")
        if isinstance(history, list):
            self.session.unread["items repeated by a compaction"] += len(history)
        self._made = self._open = None
        if said:
            value = {"role": "user", "content": said, **_timed(line.stamp)}
            self._append(line, value, number, Category.CONTEXT, is_summary=True)
        else:
            self.session.unread["compactions without a summary"] += 1

    def _roll_back(self, turns: object) -> None:
        """Go back by a number of turns: the next message stands behind what was in front of them."""
        number = turns if isinstance(turns, int) and turns > 0 else 0
        if not number:
            add_unread(self.session.unread, "thread_rolled_back", "events")
            return
        first = None if self._start.offset else START
        self._tip = self._turns[-number] if number <= len(self._turns) else first
        del self._turns[-number:]
        self._made = self._open = None
        # Without a message behind it, it is read again: the position can't tell it.
        self._back = self._back or ReadPoint(self._at, Counter(self.session.unread))


def _timed(stamp: object) -> dict[str, object]:
    """Return what a message says of its time; nothing if that is none."""
    known = stamp_of(stamp)[1]
    return {} if known is None else {"timestamp": known}


def _category(item: Mapping[str, object]) -> Category | None:
    """Return what an item is that its role does not say."""
    role, content = item.get("role"), item.get("content")
    if role in ("developer", "system"):  # of any type
        return Category.CONTEXT
    parts = content if isinstance(content, list) else [{"text": content}]
    is_context = role == "user" and bool(parts) and all(text_of(part, "text").startswith(_CONTEXTS) for part in parts)
    return Category.CONTEXT if is_context else None


def _parent_of(meta: Mapping[str, object]) -> str:
    """Return the id of the session whose sub-agent it is; "" for none."""
    source: object = meta.get("source")
    for key in ("subagent", "thread_spawn"):
        source = source.get(key) if isinstance(source, dict) else None
    return text_of(meta, "parent_thread_id") or text_of(source, "parent_thread_id")


def _model_before(path: Path, start: Position) -> str:
    """Return the model that was talked with in front of a position; "" if unknown."""
    model = ""
    if start.offset:
        for entry in entries(path, Position(), Counter(), [b'"turn_context"']):
            if entry.line > start.line:
                break
            line = _line(entry.value)
            model = (text_of(line.payload, "model") if line.kind == "turn_context" else "") or model
    return model
