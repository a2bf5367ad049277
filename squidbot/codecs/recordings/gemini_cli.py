"""Sessions of Gemini CLI: its chats, the prompts in its logs, and its checkpoints.

A chat is one object, `chats/session-*.json`, or in newer versions JSON lines, `chats/session-*.jsonl`: a message again
with the same id replaces it, `$set` changes what is known of the session, `$rewindTo` takes back a message and all
behind it. A sub-agent's chat lies in a folder with the id of its session. The forms: packages/core/src/services/
chatRecordingTypes.ts, chatRecordingService.ts and src/core/logger.ts of google-gemini/gemini-cli. What only its
screen shows (`displayContent`, `resultDisplay` beside a result, descriptions of tools) is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.codecs import jsontext
from squidbot.codecs.recordings import START, chat
from squidbot.codecs.recordings.builder import (
    GrowingFile,
    MessageSource,
    SessionBuilder,
    dump_name,
    finished,
    place_name,
)
from squidbot.codecs.recordings.values import count, get, items, label, mapping, spelled, text
from squidbot.core.errors import TranscriptError
from squidbot.core.messages import Category

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from squidbot.codecs.recordings import Position, RecordedSession

__all__ = ["NAME", "is_form", "places", "read"]

NAME: Final = "gemini-cli"

_FAILED: Final = ("error", "cancelled")
_HISTORIES: Final = ("history", "clientHistory")


class _Said(NamedTuple):
    """What a content of Gemini's says: parts, thoughts, calls as (id, name, arguments), results as (id, response)."""

    parts: list[dict[str, object]]
    thoughts: str
    calls: list[tuple[str, str, object]]
    results: list[tuple[str, object]]


def is_form(values: Sequence[object]) -> bool:
    """Return whether these are the first values of a chat, of logs, or of a checkpoint."""
    first = values[0] if values else None
    if isinstance(first, list):
        return bool(first) and all(_is_content(each) or _is_prompt(each) for each in first[:20])
    if any(_holds_contents(get(first, key)) for key in _HISTORIES):
        return True
    return bool(text(get(first, "sessionId")) and text(get(first, "projectHash")))


def places(home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the chats, logs and checkpoints below `~/.gemini/tmp`, sorted; `GEMINI_CLI_HOME` replaces the home."""
    folder = _joined(home, environ.get("GEMINI_CLI_HOME", "")) / ".gemini" / "tmp"
    forms = ("chats/session-*.json", "chats/session-*.jsonl", "chats/*/*.jsonl", "logs.json", "checkpoint*/*.json")
    found = {path for form in (*forms, "checkpoint-*.json") for path in folder.glob(f"*/{form}")}
    yield from sorted(path for path in found if path.is_file())


def read(path: Path, start: Position | None = None, *, is_over: bool = True) -> list[RecordedSession]:
    """Return the sessions in a chat, in logs or in a checkpoint; only a chat in lines has a position.

    A chat's last message by the model still gets calls: it is left out while the agent is at work.

    Raises:
        TranscriptError: the file can't be read, or is none of them.
    """
    file = GrowingFile(path, start)
    alone = file.value
    if isinstance(alone, list) and any(map(_is_prompt, alone)):
        return _logs(path, alone)
    for contents in [alone] if isinstance(alone, list) else [get(alone, key) for key in _HISTORIES]:
        if _holds_contents(contents):
            return finished([_checkpoint(path, items(contents))], is_over=is_over)
    return [] if file.is_read else finished([_Chat(path, file).built()], file, is_over=is_over, grows=True)


def _joined(home: Path, named: str) -> Path:
    return home / named if named else home


def _is_content(value: object) -> bool:
    return get(value, "role") in ("user", "model") and isinstance(get(value, "parts"), list)


def _is_prompt(value: object) -> bool:
    return isinstance(get(value, "sessionId"), str) and isinstance(get(value, "messageId"), int)


def _holds_contents(value: object) -> bool:
    return isinstance(value, list) and any(map(_is_content, value))


# -- chats ------------------------------------------------------------------------------------------------------------


class _Chat:
    """A chat: its messages in their last version, each behind what was current when it came."""

    def __init__(self, path: Path, file: GrowingFile) -> None:
        self._path, self._file = path, file
        self._known: dict[str, object] = {}
        # By id: the newest version, its first line, the id in front of it, and whether the program made it.
        self._messages: dict[str, tuple[dict[str, object], int, str, bool]] = {}
        # The ids of the current messages, and the places that ids have or had among them.
        self._current: list[str] = []
        self._places: dict[str, int] = {}
        self._odd: list[tuple[int, str]] = []

    def built(self) -> SessionBuilder:
        """Return its session.

        Raises:
            TranscriptError: it is no chat.
        """
        for entry in self._file:
            self._take(entry.value, entry.line)
        if not (identifier := text(self._known.get("sessionId"))):
            raise TranscriptError(str(self._path), None, "is no recording of Gemini CLI: it has no sessionId")
        made = SessionBuilder(NAME, chat.CODEC, identifier)
        made.session.title = text(self._known.get("summary"))
        made.session.project = self._project()
        if self._known.get("kind") == "subagent" and self._path.parent.parent.name == "chats":
            made.session.parent = self._path.parent.name
        for line, what in self._odd:
            made.count(what, line)
        tails = {START: START}
        for name, (value, line, parent, is_made) in self._messages.items():
            category = Category.CONTEXT if is_made and value["type"] == "user" else None
            source = MessageSource(tails[parent], value.get("timestamp"), category=category, line=line)
            tails[name] = _say(made, name, value, source)
        return made

    def _take(self, value: dict[str, object], line: int) -> None:
        if isinstance(back := value.get("$rewindTo"), str):
            at = self._places.get(back, 0)
            del self._current[at if self._current[at : at + 1] == [back] else 0 :]
        elif isinstance(changed := value.get("$set"), dict):
            self._learn(changed, line, is_made=True)
        elif "sessionId" in value:
            self._learn(value, line, is_made=False)
        else:
            self._put(value, line)

    def _learn(self, known: dict[str, object], line: int, *, is_made: bool) -> None:
        self._known.update({key: value for key, value in known.items() if key != "messages"})
        for value in items(known.get("messages")):
            # A list in `$set` repeats the history, which the program has shortened: what is new in it is the program's.
            if not (is_made and get(value, "id") in self._messages):
                self._put(value, line, is_made=is_made)

    def _put(self, value: object, line: int, *, is_made: bool = False) -> None:
        if not isinstance(value, dict) or not isinstance(value.get("type"), str):
            self._odd.append((line, "unknown entries"))
            return
        name = text(value.get("id")) or place_name(len(self._messages), value)
        if name in self._messages:
            self._messages[name] = (value, *self._messages[name][1:])
            return
        parent = self._current[-1] if self._current else START
        self._messages[name] = (value, line, parent, is_made)
        self._places[name] = len(self._current)
        self._current.append(name)

    def _project(self) -> str:
        """Return the folder that the agent worked in, which a file beside its chats names."""
        folders = [text(each) for each in items(self._known.get("directories"))[:1]]
        for folder in list(self._path.parents)[1:3]:
            try:
                with (folder / ".project_root").open(encoding="utf-8") as file:
                    folders.insert(0, file.read(4096).strip())
            except (OSError, ValueError):
                continue
        return next((each for each in folders if each), "")


def _say(made: SessionBuilder, name: str, value: dict[str, object], source: MessageSource) -> str:
    """Add a message of a chat and the results of its calls; return the id of the last one, or its parent without."""
    what, said, before = text(value["type"]), _said(value.get("content"), name), text(source.parent)
    if what not in ("user", "gemini"):
        made.count(f"{label(what)} messages", source.line)
        return before
    if what == "user":
        return _add_user(made, name, said, source)
    asked: dict[str, dict[str, object]] = {}
    for at, each in enumerate(items(value.get("toolCalls"))):
        own = text(get(each, "id"))
        asked[own if own and own not in asked else f"{name}/{at}"] = mapping(each)
    inside = [chat.call(*each) for each in said.calls if each[0] not in asked]
    called = [chat.call(own, text(each.get("name")), each.get("args")) for own, each in asked.items()]
    told = [f"{text(get(each, 'subject'))}\n{text(get(each, 'description'))}" for each in items(value.get("thoughts"))]
    thoughts = "\n".join(filter(None, [*(each.strip() for each in told), said.thoughts]))
    spoken = chat.assistant(chat.content(said.parts), [*called, *inside], thoughts)
    source = source._replace(model=text(value.get("model")), usage=_usage(value.get("tokens")), category=None)
    if not (tip := made.add(name, spoken, source)):
        return before
    for own, each in asked.items():
        tip = _add_result(made, name, own, each) or tip
    return tip


def _add_user(made: SessionBuilder, name: str, said: _Said, source: MessageSource) -> str:
    """Add what a user, or a tool in the user's role, said; return the id of the last message, or its parent."""
    tip = text(source.parent)
    for at, (own, response) in enumerate(said.results):
        value = chat.answer(own, _response(response)[0])
        tip = made.add(f"{name}/{at}", value, source._replace(parent=tip, category=None)) or tip
    if said.parts or not said.results:
        value = {"role": "user", "content": chat.content(said.parts)}
        tip = made.add(name, value, source._replace(parent=tip)) or tip
    return tip


def _add_result(made: SessionBuilder, name: str, own: str, called: dict[str, object]) -> str:
    """Add the result of a call behind its message, as its record has it; a call that got none has none."""
    given, shown = called.get("result"), called.get("resultDisplay")
    if given is None and not isinstance(shown, str):
        return ""
    said = _said(given, name)
    answers = [_response(response) for _, response in said.results]
    parts = [*(chat.words(answered) for answered, _ in answers), *said.parts]
    failed = called.get("status") in _FAILED or any(wrong for _, wrong in answers)
    value = chat.answer(own, text(shown) if given is None else chat.content(parts))
    category = Category.ERROR if failed else None
    source = MessageSource(stamp=called.get("timestamp"), category=category, line=made.newest_line)
    return made.add(f"{name}/{own}", value, source)


def _response(response: object) -> tuple[str, bool]:
    """Return the text of a tool's response, and whether it is an error."""
    for key, failed in (("output", False), ("error", True)):
        if isinstance(response, dict) and set(response) == {key}:
            return spelled(response[key]), failed
    return spelled(response), False


def _usage(tokens: object) -> dict[str, object] | None:
    if not isinstance(tokens, dict):
        return None
    answered = count(tokens.get("output")) + count(tokens.get("thoughts"))
    return chat.usage(count(tokens.get("input")), answered, count(tokens.get("cached")))


def _said(content: object, place: str) -> _Said:
    """Return what a content says: a text, a part, or a list of both; calls without an id get one of their place."""
    said = _Said([], "", [], [])
    thoughts: list[str] = []
    for at, part in enumerate(content if isinstance(content, list) else [content]):
        if isinstance(part, str):
            said.parts.extend([chat.words(part)] if part else ())
        elif isinstance(part, dict):
            if part.get("thought") is True and isinstance(part.get("text"), str):
                thoughts.append(text(part["text"]))
            elif isinstance(asked := part.get("functionCall"), dict):
                own = text(asked.get("id")) or f"{place}/{at}"
                said.calls.append((own, text(asked.get("name")), asked.get("args")))
            elif isinstance(answered := part.get("functionResponse"), dict):
                said.results.append((text(answered.get("id")), answered.get("response")))
            else:
                said.parts.append(_part(part))
    return said._replace(thoughts="\n".join(thoughts))


def _part(part: dict[str, object]) -> dict[str, object]:
    """Return a part as one of a message; a part of an unknown kind as its JSON."""
    if isinstance(part.get("text"), str):
        return chat.words(text(part["text"]))
    if isinstance(inline := part.get("inlineData"), dict):
        mime = text(inline.get("mimeType"))
        return chat.picture(mime, f"data:{mime};base64,{text(inline.get('data'))}")
    if isinstance(file := part.get("fileData"), dict):
        return chat.picture(text(file.get("mimeType")), text(file.get("fileUri")))
    return chat.words(jsontext.write(part))


# -- logs and checkpoints ---------------------------------------------------------------------------------------------


def _logs(path: Path, prompts: Sequence[object]) -> list[RecordedSession]:
    """Return the sessions whose prompts stand in logs; those whose chat is recorded, too, are only counted."""
    made: dict[str, SessionBuilder] = {}
    recorded: dict[str, bool] = {}
    for prompt in prompts:
        name = text(get(prompt, "sessionId"))
        builder = made.setdefault(name, SessionBuilder(NAME, chat.CODEC, name or "unknown"))
        if name not in recorded:
            recorded[name] = _has_chat(path, name)
        if not _is_prompt(prompt) or not isinstance(said := get(prompt, "message"), str):
            builder.count("unknown entries")
        elif recorded[name]:
            builder.count("prompts of sessions whose chat is recorded")
        else:
            source = MessageSource(stamp=get(prompt, "timestamp"))
            builder.add(f"log-{get(prompt, 'messageId')}", {"role": "user", "content": said}, source)
    return finished([*made.values()], is_over=True)


def _has_chat(path: Path, name: str) -> bool:
    """Return whether there is a chat of a session beside the logs; its name ends with the first part of its id."""
    short = name[:8]
    if not short.isalnum():
        return False
    return any((path.parent / "chats").glob(f"session-*-{short}.json*"))


def _checkpoint(path: Path, contents: Sequence[object]) -> SessionBuilder:
    """Return the session in a checkpoint: contents as Gemini's API has them, results by id or by their order."""
    made = SessionBuilder(NAME, chat.CODEC, dump_name(path))
    made.session.title = path.stem.removeprefix("checkpoint-")
    waiting: list[str] = []
    for at, content in enumerate(contents):
        name = place_name(at, content)
        if not isinstance(content, dict) or not _is_content(content):
            made.count("unknown entries")
            continue
        said = _said(content["parts"], str(at))
        if content["role"] == "model":
            calls = [chat.call(*each) for each in said.calls]
            made.add(name, chat.assistant(chat.content(said.parts), calls, said.thoughts))
            waiting = [own for own, _, _ in said.calls]
        else:
            said = said._replace(results=_by_order(said, waiting))
            _add_user(made, name, said, MessageSource(made.tip))
    return made


def _by_order(said: _Said, waiting: Sequence[str]) -> list[tuple[str, object]]:
    """Return results with the ids of their calls: those without one answer the calls in front of them in order."""
    free = [own for own in waiting if own not in {own for own, _ in said.results}]
    return [(own or (free.pop(0) if free else ""), response) for own, response in said.results]
