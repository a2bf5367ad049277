"""Sessions of Copilot CLI: an event on each line of `~/.copilot/session-state/<id>/events.jsonl`.

The events: docs/features/streaming-events.md and the generated session-events of github/copilot-sdk. Each names the
event in front of it, `parentId`, so that what follows a rewind is a branch. Those of sub-agents stand among the others,
with an `agentId` or, formerly, a `parentToolCallId`. What the program made of a user's words (`transformedContent`) and
sealed reasoning are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.codecs.recordings import START, chat
from squidbot.codecs.recordings.builder import GrowingFile, MessageSource, SessionBuilder, finished
from squidbot.codecs.recordings.values import count, get, items, label, mapping, spelled, text
from squidbot.core.errors import TranscriptError
from squidbot.core.messages import Category

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from squidbot.codecs.recordings import Position, RecordedSession
    from squidbot.codecs.recordings.lines import Entry

__all__ = ["NAME", "is_form", "places", "read"]

NAME: Final = "copilot-cli"

_KINDS: Final = ("session.", "user.", "assistant.", "tool.", "system.", "hook.", "subagent.", "permission.")
# Events that say the same as others, or only where something begins and ends.
_JOINED: Final = ("assistant.turn_start", "assistant.turn_end")


def is_form(values: Sequence[object]) -> bool:
    """Return whether these are events of Copilot CLI: each has a type of two words, and data."""
    events = [value for value in values if isinstance(value, dict)]
    known = [text(event.get("type")).startswith(_KINDS) and isinstance(event.get("data"), dict) for event in events]
    return bool(known) and all(known)


def places(home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the events of the sessions below `~/.copilot`, which `COPILOT_HOME` replaces, sorted."""
    named = environ.get("COPILOT_HOME", "")
    folder = (home / named if named else home / ".copilot") / "session-state"
    found = {path for form in ("*/events.jsonl", "*.jsonl") for path in folder.glob(form)}
    yield from sorted(path for path in found if path.is_file())


def read(path: Path, start: Position | None = None, *, is_over: bool = True) -> list[RecordedSession]:
    """Return what is behind a position, of the session and of its sub-agents; nothing if nothing is.

    Raises:
        TranscriptError: the file can't be read, or holds no events of Copilot CLI.
    """
    file = GrowingFile(path, start)
    if file.is_read:
        return []
    events = _Events(path)
    for entry in file:
        events.take(entry)
    # The usage of an answer is recorded behind it.
    return finished(events.built(is_over=is_over), file, is_over=is_over, grows=True)


class _Events:
    """What the events of a file say, so far."""

    def __init__(self, path: Path) -> None:
        own = path.parent.name if path.name == "events.jsonl" else path.stem
        self._path = path
        self._main = SessionBuilder(NAME, chat.CODEC, own)
        self._agents = {"": self._main}
        # The main agent's newest message: behind each event, in front of it, and now. Sub-agents have no branches.
        self._behind: dict[str, str] = {}
        self._before: dict[str, str] = {}
        self._tip = START
        self._model = ""
        self._is_form = False
        # By agent: reasoning that came before its message, as (text, line); by agent: the calls that were announced.
        self._thoughts: dict[str, list[tuple[str, int]]] = {}
        self._called: dict[str, set[str]] = {}
        self._started: dict[str, tuple[str, str]] = {}

    def built(self, *, is_over: bool) -> list[SessionBuilder]:
        """Return the sessions: the main one first.

        Raises:
            TranscriptError: no event was one of Copilot CLI's.
        """
        if not self._is_form:
            raise TranscriptError(str(self._path), None, "is no recording of Copilot CLI: it has none of its events")
        for agent, waiting in self._thoughts.items() if is_over else ():
            for _, line in waiting:
                self._agent(agent).count("assistant.reasoning events", line)
        for agent, made in self._agents.items():
            if agent:
                made.session.parent, made.session.project = self._main.session.id, self._main.session.project
                known = agent if agent in self._called.get("", ()) else ""
                made.session.call_id, made.session.title = self._started.get(agent, (known, ""))
        return [*self._agents.values()]

    def take(self, entry: Entry) -> None:
        """Read an event."""
        event, data, line = entry.value, mapping(entry.value.get("data")), entry.line
        kind, own = text(event.get("type")), text(event.get("id"))
        self._is_form |= kind.startswith(_KINDS)
        self._tip = before = self._behind.get(text(event.get("parentId")), self._tip)
        agent = text(event.get("agentId")) or text(data.get("parentToolCallId"))
        if kind == "session.snapshot_rewind" and text(data.get("upToEventId")) in self._before:
            self._tip = self._before[text(data["upToEventId"])]
        else:
            source = MessageSource(None if agent else before, event.get("timestamp"), line=line)
            tip = self._say(kind, own or f"line {line}", agent, data, source)
            self._tip = tip if tip and not agent else before
        if own:
            self._before[own], self._behind[own] = before, self._tip

    def _agent(self, agent: str) -> SessionBuilder:
        if agent not in self._agents:
            self._agents[agent] = SessionBuilder(NAME, chat.CODEC, agent)
        return self._agents[agent]

    def _say(self, kind: str, own: str, agent: str, data: dict[str, object], source: MessageSource) -> str:
        """Return the id of the message that an event became; "" without one."""
        made = self._agent(agent)
        match kind:
            case "user.message" | "system.message":
                return self._add_words(made, kind, own, data, source)
            case "assistant.message":
                return self._add_answer(made, agent, own, data, source)
            case "tool.execution_start" | "tool.user_requested":
                return self._add_call(made, agent, own, data, source)
            case "tool.execution_complete":
                return self._add_result(made, own, data, source)
            case "session.compaction_complete" if summary := text(data.get("summaryContent")):
                value = {"role": "user", "content": summary}
                return made.add(own, value, source._replace(category=Category.CONTEXT))
            case _:
                self._learn(made, kind, agent, data, source.line)
                return ""

    def _learn(self, made: SessionBuilder, kind: str, agent: str, data: dict[str, object], line: int) -> None:
        session = self._main.session
        match kind:
            case "session.start" | "session.resume" | "session.context_changed":
                session.id = text(data.get("sessionId")) or session.id
                session.project = text(get(data, "context", "cwd")) or text(data.get("cwd")) or session.project
                self._model = text(data.get("selectedModel")) or self._model
            case "session.model_change":
                self._model = text(data.get("newModel")) or self._model
            case "session.title_changed":
                session.title = text(data.get("title")) or session.title
            case "assistant.reasoning" if text(data.get("content")):
                self._thoughts.setdefault(agent, []).append((text(data["content"]), line))
            case "assistant.usage" if made.tip and made.give_usage(_usage(data)):
                return
            case "subagent.started":
                started = (text(data.get("toolCallId")), text(data.get("agentDisplayName")))
                self._started[agent or started[0]] = started
            case _ if kind not in _JOINED:
                made.count(f"{label(kind)} events", line)

    def _add_words(
        self, made: SessionBuilder, kind: str, own: str, data: dict[str, object], source: MessageSource
    ) -> str:
        attached = [part for each in items(data.get("attachments")) if (part := _attached(each))]
        said = data.get("content")
        parts = [chat.words(said), *attached] if isinstance(said, str) and (said or not attached) else attached
        is_told = text(data.get("source")) not in ("", "user")
        category = Category.AUTOMATED if kind == "user.message" and is_told else None
        value = {"role": kind.partition(".")[0], "content": chat.content(parts)}
        return made.add(own, value, source._replace(category=category))

    def _add_answer(
        self, made: SessionBuilder, agent: str, own: str, data: dict[str, object], source: MessageSource
    ) -> str:
        waiting = self._thoughts.pop(agent, [])
        thought = text(data.get("reasoningText"))
        thoughts = [*(said for said, _ in waiting if said != thought), *filter(None, [thought])]
        calls = []
        for at, each in enumerate(items(data.get("toolRequests"))):
            identifier = text(get(each, "toolCallId")) or f"{own}/{at}"
            calls.append(chat.call(identifier, text(get(each, "name")), get(each, "arguments")))
            self._called.setdefault(agent, set()).add(identifier)
        output = count(data.get("outputTokens"))
        model = text(data.get("model")) or self._model
        usage = {"output_tokens": output} if output else None
        value = chat.assistant(text(data.get("content")), calls, "\n".join(thoughts))
        return made.add(own, value, source._replace(model=model, usage=usage))

    def _add_call(
        self, made: SessionBuilder, agent: str, own: str, data: dict[str, object], source: MessageSource
    ) -> str:
        """Add a call that no message announced: the user's own, or one of an older version."""
        identifier = text(data.get("toolCallId")) or own
        called = self._called.setdefault(agent, set())
        if identifier in called:
            return ""
        called.add(identifier)
        call = chat.call(identifier, text(data.get("toolName")), data.get("arguments"))
        return made.add(own, chat.assistant("", [call]), source)

    def _add_result(self, made: SessionBuilder, own: str, data: dict[str, object], source: MessageSource) -> str:
        result, error = data.get("result"), data.get("error")
        shown = [part for each in items(get(result, "contents")) if (part := _shown(each))]
        if error is not None:
            said = text(get(error, "message")) or spelled(error)
        else:
            said = text(get(result, "content")) or text(get(result, "detailedContent"))
            said = said or ("" if isinstance(result, dict) else spelled(result))
        category = Category.ERROR if data.get("success") is False or error is not None else None
        value = chat.answer(text(data.get("toolCallId")), chat.content([chat.words(said), *shown]))
        return made.add(own, value, source._replace(category=category))


def _usage(data: dict[str, object]) -> dict[str, object]:
    given, answered, cached = (count(data.get(key)) for key in ("inputTokens", "outputTokens", "cacheReadTokens"))
    return chat.usage(given, answered, cached)


def _attached(value: object) -> dict[str, object] | None:
    """Return an attachment as a part: its data as a picture, else what names it."""
    if not isinstance(value, dict):
        return None
    if isinstance(data := value.get("data"), str):
        mime = text(value.get("mimeType")) or "application/octet-stream"
        return chat.picture(mime, f"data:{mime};base64,{data}", text(value.get("displayName")))
    named = text(value.get("path")) or text(value.get("filePath")) or text(value.get("url"))
    said = text(value.get("text"))
    return chat.words(f"[{label(value.get('type'), 'file')} {named}]\n{said}".strip())


def _shown(value: object) -> dict[str, object] | None:
    """Return a picture in a result; texts stand in its content, too."""
    if not isinstance(data := get(value, "data"), str) or get(value, "type") not in ("image", "audio"):
        return None
    mime = text(get(value, "mimeType")) or "image/png"
    return chat.picture(mime, f"data:{mime};base64,{data}")
