"""Sessions recorded by Codex, its "rollouts": JSON lines around items of OpenAI Responses, and events.

A line is `{"timestamp", "type", "payload"}`; older versions wrote bare items behind a line about the session. The names
are those of `RolloutItem` and `EventMsg` in codex-rs/protocol/src/protocol.rs.

Since 2026 one session may have several files, each of which goes on where another one ends, or ended once; and the file
of a sub-agent, or of a fork, may begin with a copy of what the session said that it comes from.
"""

from __future__ import annotations

import re
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
from squidbot.codecs.recordings.values import (
    add_unread,
    count,
    entry_id,
    get,
    items,
    mapping,
    seconds,
    stamp_of,
    text_of,
)
from squidbot.core.errors import TranscriptError
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
# How texts in the user's role begin that the program wrote: codex-rs/core/src/context/contextual_user_message.rs.
_CONTEXTS: Final = (
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
    "<agent_message_board_notification>",
    "<codex_internal_context ",
    "<collaboration_mode>",
    "<environment_context>",
    "<external_",
    "<goal_context>",
    "<hook_prompt ",
    "<permissions instructions>",
    "<recommended_plugins>",
    "<skill>",
    "<skills_instructions>",
    "<subagent_notification>",
    "<turn_aborted>",
    "<user_instructions>",
    "<user_shell_command>",
    "Warning: The maximum number of unified exec processes ",
    "Warning: Your account was flagged for potentially ",
    "Warning: apply_patch was requested via ",
)
_FIRST_ENTRIES: Final = 20
# An id of a file; one that begins with the time at which it was made, as those of sessions and turns do (version 7).
_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIMED_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
# A session with more pieces is read without what is in front of the last ones.
_MOST_PIECES: Final = 100


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


def _tip_before(path: Path, meta: Mapping[str, object]) -> str | None:
    """Return the message behind which a piece of a session goes on; `None`: behind all that was read of the session."""
    session, seen = text_of(meta, "id"), [path]
    try:
        while base := _piece_before(path, meta):
            end = count(get(meta, "history_base", "end_byte_offset"))
            if base in seen or len(seen) > _MOST_PIECES or (path == seen[0] and base.stat().st_size <= end):
                return None
            rollout = _Rollout(base, Position(), is_alone=True)
            for entry in entries(base, Position(), Counter()):
                if entry.end > end or rollout.session.id != session:
                    break
                rollout.take(entry)
            if rollout.tip or rollout.session.id != session:
                return rollout.tip or None
            path, meta = base, rollout.meta
            seen.append(path)
    except (OSError, TranscriptError):
        return None
    return None if len(seen) == 1 or meta.get("history_base") else START


def _piece_before(path: Path, meta: Mapping[str, object]) -> Path | None:
    """Return the file that a piece of a session goes on from; `None` if it is not here."""
    name = text_of(get(meta, "history_base"), "thread_id")
    if not _ID.fullmatch(name):
        return None
    form = f"rollout-*{name}.jsonl"
    found = [*path.parent.glob(form)]
    if len(path.parents) > 4 and path.parents[3].name == "sessions":  # behind it: the year, the month, the day
        found = [*path.parents[3].glob(f"*/*/*/{form}"), *(path.parents[4] / "archived_sessions").glob(form)]
    return next((one for one in sorted(found) if one != path and one.is_file() and not one.is_symlink()), None)


def _copied_lines(path: Path, meta: Mapping[str, object]) -> int:
    """Return how many lines of a sub-agent's file, or a fork's, are copies of what another session said."""
    copied, is_old_turn = 0, False
    for entry in entries(path, Position(), Counter()):
        line = _line(entry.value)
        if line.kind == "session_meta":
            continue
        is_copied = _is_copied(line, entry.value.get("ordinal"), meta)
        if is_copied is False:
            break
        # Copies may have the time at which they were made: then only their turns tell what they are.
        is_old_turn = is_old_turn or (is_copied is True and not _is_before(line, meta))
        copied = entry.line if is_copied or is_old_turn else copied
    return copied


def _is_copied(line: _RolloutLine, ordinal: object, meta: Mapping[str, object]) -> bool | None:
    """Return whether a line is a copy; `None` if it does not tell."""
    first = count(meta.get("subagent_history_start_ordinal"))
    if first and isinstance(ordinal, int):
        return ordinal < first
    turn, own = text_of(line.payload, "turn_id"), text_of(meta, "id")
    if _TIMED_ID.fullmatch(turn) and _TIMED_ID.fullmatch(own):
        return turn < own
    return _is_before(line, meta) or None


def _is_before(line: _RolloutLine, meta: Mapping[str, object]) -> bool:
    """Return whether a line was written before its session was begun."""
    time, begun = seconds(line.stamp), seconds(meta.get("timestamp"))
    return time is not None and begun is not None and time < begun


class _RolloutLine(NamedTuple):
    """A line without its envelope."""

    kind: str
    payload: dict[str, object]
    stamp: object


def _line(value: dict[str, object]) -> _RolloutLine:
    payload, kind = value.get("payload"), text_of(value, "type")
    if isinstance(payload, dict) and kind == "inter_agent_communication":
        return _RolloutLine("response_item", {**payload, "type": "agent_message"}, value.get("timestamp"))
    if isinstance(payload, dict):
        return _RolloutLine(kind, payload, value.get("timestamp"))
    if _is_old_meta(value):
        return _RolloutLine("session_meta", value, value.get("timestamp"))
    if kind in _ENVELOPES or not kind:
        return _RolloutLine(kind or text_of(value, "record_type"), {}, None)
    return _RolloutLine("response_item", value, value.get("timestamp"))


class _Rollout:
    """The session of one file, line by line."""

    def __init__(self, path: Path, start: Position, *, is_alone: bool = False) -> None:
        self.is_lost = False
        self._start = start
        self._at = start
        self.session = RecordedSession(NAME, path.stem, _CODEC.tag)
        # Events repeat what items say, unless there are no items.
        self.meta: Mapping[str, object] = {}
        self._has_items = self._read_head(path)
        self._has_meta = start.offset > 0
        # It goes on from another file, or may begin with copies of one.
        origins = _parent_of(self.meta), self.meta.get("forked_from_id"), self.meta.get("history_base")
        self._comes_from_another = not start.offset and any(origins)
        self._copied = _copied_lines(path, self.meta) if self._comes_from_another else 0
        self._is_copy = False
        self._model = _model_before(path, start)
        # The newest step and its items, until something stands behind it.
        self._step: dict[str, object] | None = None
        self._made: list[object] | None = None
        self._open: ReadPoint | None = None
        self._total: object = None
        # The message in front of each turn of the branch that is talked on; `None` if it was read before.
        self._turns: list[str | None] = []
        self.tip: str | None = None if start.offset else START
        self._back: ReadPoint | None = None
        # The message behind which the first one stands, if that is not the newest one of the session.
        self._before = None if start.offset or is_alone else _tip_before(path, self.meta)
        self.tip = self._before or self.tip

    def _read_head(self, path: Path) -> bool:
        """Read what the first lines say of the session; return whether items are among them."""
        session, has_items = self.session, False
        for entry in islice(entries(path, Position(), Counter()), _FIRST_ENTRIES):
            line = _line(entry.value)
            has_items = has_items or line.kind == "response_item"
            session.project = session.project or text_of(line.payload, "cwd")
            if line.kind == "session_meta" and not self.meta:
                self.meta = line.payload
                session.id = text_of(self.meta, "id") or session.id
                session.parent = _parent_of(self.meta)
        return has_items

    def take(self, entry: Entry) -> None:
        """Read the next line."""
        line = _line(entry.value)
        kind = text_of(line.payload, "type")
        self._is_copy = entry.line <= self._copied
        if self._is_copy and self.session.parent and line.kind != "session_meta":
            # What a sub-agent's parent said stands in the parent's session.
            self.session.unread["copied entries"] += 1
        else:
            self._take(line, kind, entry.line)
        self._at = Position(entry.end, "", entry.line)

    def _take(self, line: _RolloutLine, kind: str, number: int) -> None:
        payload = line.payload
        match line.kind:
            case "turn_context":
                self._model = text_of(payload, "model") or self._model
            case "response_item" if kind == "agent_message":
                self._heard(line, number)
            case "response_item" if kind not in _STATES:
                self._item(line, number)
            case "realtime_item" if text_of(payload, "text"):
                self._said(line, text_of(payload, "role"), text_of(payload, "text"), number)
            case "event_msg":
                self._event(line, kind, number)
            case "token_usage_record" if self._step is not None and "usage" not in self._step:
                self._used(payload.get("usage"))
            case "compacted":
                self._compacted(line, number)
            case "session_meta" if not self._has_meta:
                self._has_meta = True
            case "session_meta":
                # A fork begins with what the session that it comes from says.
                add_unread(self.session.unread, "repeated session_meta")
            case _:
                add_unread(self.session.unread, kind or line.kind)

    def end(self, *, is_over: bool) -> None:
        """Set the position, in front of what is not complete."""
        cut = self._back if is_over or self._open is None else self._open
        if cut is not None:
            self._at, self.session.unread = cut
            self.session.messages = [one for one in self.session.messages if one.line <= self._at.line]
        if self._comes_from_another and not any(one.line > self._copied for one in self.session.messages):
            # What comes next may be a copy, too, and its first message tells where the session goes on.
            self._at = self._start
            if not is_over:
                self.session.messages, self.session.unread = [], Counter()
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
        parent, self._before = self._before, None
        if self._back is not None:
            self._back, parent = None, self.tip
            self.is_lost = self.is_lost or parent is None
        if value.get("role") == "user" and category is None:
            self._turns.append(self.tip)
        # Copies may be redacted, so what is said tells messages apart only where nothing else does.
        named = [line.kind, *(text_of(line.payload, key) for key in ("type", "role", "call_id"))]
        self.tip = entry_id([line.stamp, line.payload if line.stamp is None else named], number)
        stamp, model = stamp_of(value.get("timestamp"))[0], text_of(value, "model")
        message = RecordedMessage(self.tip, value, parent, stamp, model, category, number, is_summary)
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
            self._said(line, "user" if kind == "user_message" else "assistant", said, number)
        elif kind in {"agent_message", "user_message"}:
            add_unread(unread, f"repeated {kind}", "events")
        else:
            add_unread(unread, kind, "events")
            if kind in _TURN_ENDS:
                self._made = self._open = None

    def _said(self, line: _RolloutLine, role: str, said: str, number: int) -> None:
        """Read words that stand in no item."""
        part = {"type": "input_text" if role == "user" else "output_text", "text": said}
        role = "user" if role == "user" else "assistant"
        message: dict[str, object] = {"type": "message", "role": role, "content": [part]}
        self._item(line._replace(payload=message), number)

    def _heard(self, line: _RolloutLine, number: int) -> None:
        """Read what another agent said to this one."""
        said = line.payload.get("content")
        parts = [{"type": "input_text", "text": said}] if isinstance(said, str) and said else items(said)
        if not any(text_of(part, "text") for part in parts):
            add_unread(self.session.unread, "sealed agent_message")
            return
        # Who spoke to whom is kept beside the words.
        between = {key: text_of(line.payload, key) for key in ("author", "recipient")}
        message: dict[str, object] = {"type": "message", "role": "user", "content": parts, **between}
        self._item(line._replace(payload=message), number)

    def _usage(self, info: object) -> None:
        """Give the newest step the usage of its call; later events repeat it, and copies were paid for before."""
        total, last = get(info, "total_token_usage"), get(info, "last_token_usage")
        if self._step is None or not isinstance(last, dict) or total == self._total or self._is_copy:
            add_unread(self.session.unread, "repeated token_count", "events")
            return
        self._total = total
        self._used(last)

    def _used(self, used: object) -> None:
        """Give the newest step its usage. A call ends with that: what the model makes next is another step."""
        told = mapping(used)
        if self._step is not None and told and not self._is_copy:
            self._step["usage"] = {
                "input_tokens": told.get("input_tokens"),
                "input_tokens_details": {"cached_tokens": told.get("cached_input_tokens")},
                "output_tokens": told.get("output_tokens"),
                "output_tokens_details": {"reasoning_tokens": told.get("reasoning_output_tokens")},
            }
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
        self.tip = self._turns[-number] if number <= len(self._turns) else first
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
    if "recipient" in item:  # "/root" asks "/root/tests", and hears from it
        return None if text_of(item, "recipient").startswith(f"{text_of(item, 'author')}/") else Category.CONTEXT
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
