"""Conversations of OpenHands: a folder with a file for each event, or a trajectory, a list of events.

Former events are an action or an observation (openhands/events/serialization/event.py of All-Hands-AI/OpenHands), which
`cause` joins. Events of the agent SDK have a `kind`, and newer ones a `parent_id` (openhands-sdk/openhands/sdk/event of
OpenHands/software-agent-sdk). Calls of one answer share the id of the model's response. Between the action that
delegates and its observation, the events are those of a sub-agent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.codecs.recordings import START, chat
from squidbot.codecs.recordings.builder import MessageSource, SessionBuilder, dump_name, finished
from squidbot.codecs.recordings.lines import whole
from squidbot.codecs.recordings.values import get, items, label, mapping, spelled, text
from squidbot.core.errors import TranscriptError
from squidbot.core.messages import Category

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from squidbot.codecs.recordings import Position, RecordedSession

__all__ = ["NAME", "is_folder", "is_form", "places", "read"]

NAME: Final = "openhands"

_SOURCES: Final = ("agent", "environment", "hook", "user")
# Actions of the program that say nothing to the model, or whose observations say it.
_SILENT: Final = ("change_agent_state", "condensation_request", "loop_recovery", "null", "pause", "recall", "resume")


def is_form(values: Sequence[object]) -> bool:
    """Return whether the first value is an event, a list of some, or a run of an evaluation with its `history`."""
    first = values[0] if values else None
    listed = items(first) or items(get(first, "trajectory")) or items(get(first, "history"))
    given = [event for each in listed[:5] for event in (each if isinstance(each, list) else [each])] or [first]
    return all(map(_is_event, given))


def is_folder(path: Path) -> bool:
    """Return whether a folder holds the events of a conversation, or is that of one."""
    events = path if path.name == "events" else path / "events"
    return any(events.glob("*.json")) if events.is_dir() else False


def places(home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the folders of events below `~/.openhands` and `~/.openhands-state`, or `FILE_STORE_PATH`, sorted."""
    named = environ.get("FILE_STORE_PATH", "")
    folders = [home / ".openhands", home / ".openhands-state", *([home / named] if named else [])]
    forms = ("sessions/*/events", "users/*/conversations/*/events", "conversations/*/events")
    found = {path for folder in folders for form in forms for path in folder.glob(form)}
    yield from sorted(path for path in found if is_folder(path))


def read(path: Path, start: Position | None = None, *, is_over: bool = True) -> list[RecordedSession]:  # noqa: ARG001
    """Return the session of a folder of events, or of one of them, or those of a trajectory; there are no positions.

    Raises:
        TranscriptError: nothing can be read, or is an event.
    """
    folder = next((each for each in (path, path / "events") if each.name == "events" and each.is_dir()), None)
    if folder is None and path.parent.name == "events" and _is_event(whole(path)):
        folder = path.parent
    if folder is not None:
        listed = [whole(file) for file in sorted(folder.glob("*.json"), key=_number)]
        name = folder.parent.name
    else:
        value = whole(path)
        given = items(value) or items(get(value, "trajectory")) or items(get(value, "history"))
        listed = [event for each in given for event in (each if isinstance(each, list) else [each])]
        name = dump_name(path, get(value, "instance_id"))
    if not any(map(_is_event, listed)):
        raise TranscriptError(str(path), None, "is no recording of OpenHands: it has none of its events")
    events = _EventReader(name)
    for at, event in enumerate(listed):
        events.take(at, event)
    return finished(events.builders, is_over=is_over)


def _number(path: Path) -> tuple[int, str]:
    """Return what events are sorted by: `12.json`, or `event-00012-<id>.json`."""
    number = path.stem.removeprefix("event-").partition("-")[0]
    return (int(number) if number.isdecimal() and len(number) < 20 else 0, path.name)


def _is_event(value: object) -> bool:
    """Return whether a value is an event: it has a source, and is an action, an observation, or of a kind."""
    if get(value, "source") not in _SOURCES or isinstance(get(value, "role"), str):
        return False
    if isinstance(get(value, "action"), str) or isinstance(get(value, "observation"), str):
        return (
            isinstance(get(value, "timestamp"), str)
            or isinstance(get(value, "args"), dict)
            or "extras" in mapping(value)
        )
    return isinstance(get(value, "kind"), str) and isinstance(get(value, "id"), str)


class _EventReader:
    """The events of a conversation, and the sessions that they make: the agent's, and that of each delegate."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._made = SessionBuilder(NAME, chat.CODEC, name, has_branches=True)
        self._outer: list[SessionBuilder] = []
        self.builders = [self._made]
        # By the id of a response: its message; by that of an action: its call, "" for what a user did.
        self._responses: dict[str, str] = {}
        self._calls: dict[str, str] = {}
        # By the id of an event of the agent SDK: the newest message there.
        self._tips: dict[str, str] = {}

    def take(self, at: int, event: object) -> None:
        """Read an event."""
        if not isinstance(event, dict) or not _is_event(event):
            self._made.count("unknown entries")
            return
        own = str(event["id"]) if isinstance(event.get("id"), str | int) else f"event {at}"
        source = MessageSource(stamp=event.get("timestamp"))
        if isinstance(event.get("action"), str):
            self._act(own, event, source)
        elif isinstance(event.get("observation"), str):
            self._observe(own, event, source)
        else:
            if isinstance(before := event.get("parent_id"), str) and (before in self._tips or before == "__root__"):
                source = source._replace(parent=self._tips.get(before, START))
            tip = self._say(own, text(event["kind"]), event, source)
            self._tips[own] = tip or self._made.tip if source.parent is None else tip or text(source.parent)

    # -- actions and observations -------------------------------------------------------------------------------------

    def _act(self, own: str, event: dict[str, object], source: MessageSource) -> None:
        kind, args, by_user = text(event["action"]), mapping(event.get("args")), event["source"] == "user"
        metadata = mapping(event.get("tool_call_metadata"))
        if kind == "condensation" and text(args.get("summary")):
            value: dict[str, object] = {"role": "user", "content": args["summary"]}
            self._made.add(own, value, source._replace(category=Category.CONTEXT))
        elif kind in _SILENT or kind == "condensation":
            self._made.count(f"{label(kind)} actions")
        elif kind in ("message", "system") or (kind == "finish" and not by_user):
            role = "system" if kind == "system" else "user" if by_user else "assistant"
            source = _answered(source, metadata) if role == "assistant" else source
            self._made.add(own, _spoken(role, args, metadata), source)
        elif by_user:
            said = text(args.get("command")) or text(args.get("code")) or spelled(args)
            self._made.add(own, {"role": "user", "content": said}, source)
            self._calls[own] = ""
        else:
            self._call(own, kind, args, metadata, source)
            if kind == "delegate":
                self._delegate(own, text(args.get("agent")))

    def _call(
        self, own: str, kind: str, args: dict[str, object], metadata: dict[str, object], source: MessageSource
    ) -> None:
        """Add an action of the agent: a call of an answer that is there already, a new answer, or a call of its own."""
        response = metadata.get("model_response")
        message = mapping(get(next(iter(items(get(response, "choices"))), None), "message"))
        identifier = text(metadata.get("tool_call_id")) or f"event {own}"
        self._calls[own] = identifier
        calls = [
            chat.call(text(get(each, "id")), text(get(each, "function", "name")), get(each, "function", "arguments"))
            for each in items(message.get("tool_calls"))
        ]
        name = text(get(response, "id")) if any(each["id"] == identifier for each in calls) else ""
        if name and name in self._responses:
            return
        if name:
            value = chat.assistant(text(message.get("content")), calls, text(message.get("reasoning_content")))
        else:
            given = {key: each for key, each in args.items() if key != "thought"}
            called = chat.call(identifier, text(metadata.get("function_name")) or kind, given)
            value = chat.assistant(_thought(args), [called])
        added = self._made.add(own, value, _answered(source, metadata))
        if name and added:
            self._responses[name] = added

    def _delegate(self, own: str, agent: str) -> None:
        inner = SessionBuilder(NAME, chat.CODEC, f"{self._name}-delegate-{own}", has_branches=True)
        inner.session.parent, inner.session.call_id = self._made.session.id, self._calls[own]
        inner.session.title = agent
        self._outer.append(self._made)
        self.builders.append(inner)
        self._made = inner

    def _observe(self, own: str, event: dict[str, object], source: MessageSource) -> None:
        kind = text(event["observation"])
        if kind == "delegate" and self._outer:
            self._made = self._outer.pop()
        cause = event.get("cause")
        by_cause = self._calls.get(str(cause)) if isinstance(cause, str | int) else None
        call = text(get(event, "tool_call_metadata", "tool_call_id")) or by_cause
        failed = kind == "error" or event.get("success") is False
        content = event.get("content")
        pictures = [chat.picture("image/*", text(each)) for each in items(get(event, "extras", "image_urls"))]
        said = content if isinstance(content, str) else spelled(content)
        parts = [*([chat.words(said)] if said or not pictures else []), *pictures]
        if call:
            category = Category.ERROR if failed else None
            self._made.add(own, chat.answer(call, chat.content(parts)), source._replace(category=category))
        elif call == "" or (kind == "error" and said):
            value = {"role": "user", "content": chat.content(parts)}
            self._made.add(own, value, source._replace(category=Category.AUTOMATED))
        else:
            self._made.count(f"{label(kind)} observations")

    # -- events of the agent SDK --------------------------------------------------------------------------------------

    def _say(self, own: str, kind: str, event: dict[str, object], source: MessageSource) -> str:
        """Return the id of the message that an event of the agent SDK became; "" without one."""
        match kind:
            case "MessageEvent":
                message = mapping(event.get("llm_message"))
                parts = [*_contents(message.get("content")), *_contents(event.get("extended_content"))]
                if message.get("role") == "assistant" or event["source"] == "agent":
                    value = chat.assistant(chat.content(parts), (), text(message.get("reasoning_content")))
                else:
                    value = {"role": "user", "content": chat.content(parts)}
                return self._made.add(own, value, source)
            case "SystemPromptEvent":
                value = {"role": "system", "content": text(get(event, "system_prompt", "text"))}
                return self._made.add(own, value, source)
            case "ActionEvent":
                return self._add_call(own, event, source)
            case "ObservationEvent" | "AgentErrorEvent" | "UserRejectObservation":
                return self._add_result(own, event, source)
            case "Condensation" | "CondensationSummaryEvent" if summary := text(event.get("summary")):
                value = {"role": "user", "content": summary}
                return self._made.add(own, value, source._replace(category=Category.CONTEXT))
            case _:
                self._made.count(f"{label(kind)} events")
                return ""

    def _add_call(self, own: str, event: dict[str, object], source: MessageSource) -> str:
        """Add a call: to the message of its answer while that is the newest one, else as one."""
        given = get(event, "tool_call", "arguments")
        arguments = given if given is not None else event.get("action")
        call = chat.call(text(event.get("tool_call_id")) or own, text(event.get("tool_name")), arguments)
        response = text(event.get("llm_response_id"))
        if response and self._made.give_call(self._responses.get(response, ""), call):
            return self._responses[response]
        value = chat.assistant(
            chat.content(_contents(event.get("thought"))), [call], text(event.get("reasoning_content"))
        )
        if added := self._made.add(own, value, source):
            self._responses[response] = added
        return added

    def _add_result(self, own: str, event: dict[str, object], source: MessageSource) -> str:
        seen = event.get("observation")
        error = text(event.get("error")) or text(event.get("rejection_reason"))
        parts = [chat.words(error)] if error else _contents(get(seen, "content"))
        if not parts:
            # Former observations have a field of their own for what was put out.
            parts = [chat.words(text(get(seen, "output")) or (spelled(seen) if seen else ""))]
        failed = error or get(seen, "is_error") is True
        value = chat.answer(text(event.get("tool_call_id")) or text(event.get("action_id")), chat.content(parts))
        return self._made.add(own, value, source._replace(category=Category.ERROR if failed else None))


def _spoken(role: str, args: dict[str, object], metadata: dict[str, object]) -> dict[str, object]:
    """Return what an action says: a message, or the words with which an agent finishes."""
    said = text(args.get("content")) or text(args.get("final_thought")) or _thought(args)
    pictures = [chat.picture("image/*", text(each)) for each in items(args.get("image_urls"))]
    parts = [*([chat.words(said)] if said or not pictures else []), *pictures]
    if role != "assistant":
        return {"role": role, "content": chat.content(parts)}
    choice = next(iter(items(get(metadata, "model_response", "choices"))), None)
    return chat.assistant(chat.content(parts), (), text(get(choice, "message", "reasoning_content")))


def _thought(args: dict[str, object]) -> str:
    thought = args.get("thought")
    return text(thought) or text(get(thought, "text"))


def _answered(source: MessageSource, metadata: dict[str, object]) -> MessageSource:
    """Return a source with the model and the usage of the response that an action comes from."""
    response = metadata.get("model_response")
    return source._replace(model=text(get(response, "model")), usage=mapping(get(response, "usage")))


def _contents(value: object) -> list[dict[str, object]]:
    """Return texts and pictures in the agent SDK's form as parts."""
    parts: list[dict[str, object]] = []
    for each in items(value):
        if isinstance(said := get(each, "text"), str):
            parts.append(chat.words(said))
        parts.extend(chat.picture("image/*", text(url)) for url in items(get(each, "image_urls")))
    return parts
