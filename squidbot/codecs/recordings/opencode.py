"""Sessions of OpenCode: a database, in former versions a folder of JSON files, and what `opencode export` prints.

A session is `storage/session/<project>/<id>.json`, its messages `storage/message/<id>/*.json`, and the parts of each
`storage/part/<message>/*.json`; the tables `session`, `message` and `part` of `opencode.db` hold the same. Version 2
has `session_v2` and `session_message`, a row for each step, and leaves the former tables as they were. The forms:
packages/opencode/src/session/message-v2.ts, session.sql.ts and src/storage/storage.ts of anomalyco/opencode; of version
2, packages/schema/src/session-message.ts and packages/core/src/session/sql.ts. Snapshots and patches of files, and what
only a screen shows (titles and metadata of tools), are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.codecs import jsontext
from squidbot.codecs.recordings import chat
from squidbot.codecs.recordings.builder import MessageSource, SessionBuilder, finished
from squidbot.codecs.recordings.databases import opened, tables
from squidbot.codecs.recordings.lines import MOST_BYTES, whole
from squidbot.codecs.recordings.values import count, get, items, label, mapping, spelled, text
from squidbot.core.errors import TranscriptError
from squidbot.core.messages import Category

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from squidbot.codecs.recordings import Position, RecordedSession

__all__ = ["NAME", "is_database", "is_form", "places", "read"]

NAME: Final = "opencode"

# Those of each version.
_TABLES: Final = (frozenset({"session", "message", "part"}), frozenset({"session_v2", "session_message"}))
_COLUMNS: Final = frozenset({"id", "session_id", "type", "seq", "data"})
_WAITING: Final = ("pending", "running", "streaming")
# Parts that say nothing of their own: where steps begin and end.
_JOINED: Final = ("step-start", "step-finish")
# What a row holds, unless it is longer than a message may be.
_DATA: Final = f"CASE WHEN typeof(data) = 'text' AND length(data) <= {MOST_BYTES} THEN data END"


def is_form(values: Sequence[object]) -> bool:
    """Return whether the first value is a session, or an export of one."""
    first = values[0] if values else None
    info = get(first, "info") if isinstance(get(first, "messages"), list) else first
    named = isinstance(get(info, "id"), str) and isinstance(get(info, "time"), dict)
    return named and isinstance(get(info, "title"), str) and isinstance(get(info, "version"), str)


def is_database(path: Path) -> bool:
    """Return whether a file is a database of OpenCode's."""
    found = tables(path)
    return any(found >= each for each in _TABLES)


def places(home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the databases, and the sessions in files, below `~/.local/share/opencode`, sorted.

    `XDG_DATA_HOME` replaces `~/.local/share`.
    """
    named = environ.get("XDG_DATA_HOME", "")
    folder = (home / named if named else home / ".local" / "share") / "opencode"
    found = {path for form in ("opencode*.db", "storage/session/*/*.json") for path in folder.glob(form)}
    yield from sorted(path for path in found if path.is_file())


def read(path: Path, start: Position | None = None, *, is_over: bool = True) -> list[RecordedSession]:  # noqa: ARG001  # as every reader
    """Return the sessions in a database, in an export, or the one of a session's file; there are no positions.

    What a user took back is in them until the next prompt, and then in none of OpenCode's files.

    Raises:
        TranscriptError: the file can't be read, or is none of them.
    """
    value = whole(path)
    if isinstance(value, dict) and is_form([value]):
        if isinstance(value.get("messages"), list):
            found = [_session(mapping(value["info"]), _exported(value["messages"]), is_over=is_over)]
        else:
            found = [_session(value, sorted(_stored(path, text(value["id"])), key=_order), is_over=is_over)]
    elif is_database(path):
        found = _from_database(path, is_over=is_over)
    else:
        raise TranscriptError(str(path), None, "is no recording of OpenCode: neither a session nor its database")
    _link(found)
    return [made.session for made, _ in found]


# -- sources ----------------------------------------------------------------------------------------------------------


def _exported(messages: list[object]) -> list[object]:
    """Return the messages of an export in order; those of version 2 are in it."""
    if any(isinstance(get(one, "type"), str) for one in messages):
        return [_as_former(text(get(one, "type")), text(get(one, "id")), mapping(one)) for one in messages]
    return sorted(messages, key=_order)


def _stored(path: Path, session_id: str) -> Iterator[object]:
    """Yield the messages of a session's file with their parts, as an export has them."""
    storage = path.parent.parent.parent
    for file in _files(storage / "message", session_id):
        info = whole(file)
        parts = [whole(part) for part in _files(storage / "part", text(get(info, "id")))]
        yield {"info": info, "parts": parts}


def _files(folder: Path, name: str) -> list[Path]:
    """Return the files of a message or a session; a name that is no plain one has none."""
    if not name or not name.replace("_", "").replace("-", "").isalnum():
        return []
    return sorted(path for path in (folder / name).glob("*.json") if path.is_file())


def _from_database(path: Path, *, is_over: bool) -> list[tuple[SessionBuilder, dict[str, str]]]:
    known = tables(path)
    with opened(path) as database:
        sessions: dict[object, dict[str, object]] = {}
        for table in sorted(known & {"session", "session_v2"}):
            columns = "id, parent_id, directory, title, time_created"
            wanted = f"SELECT {columns} FROM {table} ORDER BY time_created, id"  # noqa: S608  # ours
            for own, parent, folder, title, time in database.execute(wanted).fetchall():
                info = {"id": own, "parentID": parent, "directory": folder, "title": title, "time": {"created": time}}
                sessions[own] = info
        given = {name for _, name, *_ in database.execute("PRAGMA table_info(session_message)")}
        found = []
        for own, info in sessions.items():
            former = sorted(_rows(database, own), key=_order) if known >= _TABLES[0] else []
            newer = [*_newer_rows(database, own)] if given >= _COLUMNS else []
            found.append(_session(info, _together(former, newer), is_over=is_over))
        return found


def _together(former: list[object], newer: list[object]) -> list[object]:
    """Return the messages of both versions: version 2 may have brought those of version 1, from one on to one."""
    times = [_order(one)[0] for one in newer if get(one, "info", "role") is not None]
    if not times:
        return [*former, *newer]
    first, last = min(times), max(times)
    before = [one for one in former if _order(one)[0] < first]
    return [*before, *newer, *(one for one in former if _order(one)[0] > last)]


def _rows(database: sqlite3.Connection, session_id: object) -> Iterator[object]:
    """Yield the messages of a session with their parts, as an export has them."""
    parts: dict[object, list[object]] = {}
    wanted = f"SELECT id, message_id, {_DATA} FROM part WHERE session_id = ? ORDER BY id"  # noqa: S608  # ours
    for own, message, data in database.execute(wanted, (session_id,)):
        parts.setdefault(message, []).append(_parsed(data, own))
    wanted = f"SELECT id, {_DATA} FROM message WHERE session_id = ? ORDER BY time_created, id"  # noqa: S608  # ours
    for own, data in database.execute(wanted, (session_id,)).fetchall():
        yield {"info": _parsed(data, own), "parts": parts.pop(own, [])}
    for rest in parts.values():
        yield {"info": None, "parts": rest}


def _newer_rows(database: sqlite3.Connection, session_id: object) -> Iterator[object]:
    """Yield the messages of a session in version 2, as an export of version 1 has them."""
    wanted = f"SELECT id, type, {_DATA} FROM session_message WHERE session_id = ? ORDER BY seq, id"  # noqa: S608  # ours
    for own, kind, data in database.execute(wanted, (session_id,)).fetchall():
        yield _as_former(text(kind), text(own), mapping(_parsed(data, own)))


def _as_former(kind: str, own: str, data: dict[str, object]) -> dict[str, object]:
    """Return a message of version 2 as version 1 has it."""
    said = text(data.get("text"))
    info: dict[str, object] = {"id": own, "role": "user", "time": data.get("time"), "error": data.get("error")}
    parts: list[object] = []
    match kind:
        case "user":
            parts = [{"type": "text", "text": said}] if said else []
            parts += [{**mapping(one), "type": "file", "url": _url(one)} for one in items(data.get("files"))]
            parts += [{"type": "agent", "name": get(one, "name")} for one in items(data.get("agents"))]
            skills = (get(one, "text") for one in items(data.get("skills")))
            parts += [{"type": "text", "text": one, "synthetic": True} for one in skills if isinstance(one, str)]
        case "synthetic" | "system" | "skill":
            parts = [{"type": "text", "text": said, "synthetic": True}] if said else []
        case "shell":
            command = text(data.get("command")) or text(get(data, "shell", "command"))
            put = text(data.get("output")) or text(get(data, "output", "output"))
            parts = [{"type": "text", "text": f"$ {command}\n{put}", "synthetic": True}]
        case "assistant" | "compaction":
            info |= {"role": "assistant", "modelID": get(data, "model", "id"), "tokens": data.get("tokens")}
            info["summary"] = kind == "compaction"
            parts = [_as_former_part(mapping(each)) for each in items(data.get("content"))]
            parts += [{"type": "text", "text": each} for each in (text(data.get("summary")),) if each]
        case _:
            info |= {"role": None, "type": kind}
    return {"info": info, "parts": parts}


def _as_former_part(part: dict[str, object]) -> dict[str, object]:
    """Return a part of an answer as version 1 has it: text and thoughts are the same."""
    if part.get("type") != "tool":
        return part
    state = mapping(part.get("state"))
    shown = [text(get(each, "text")) for each in items(state.get("content")) if get(each, "type") == "text"]
    error = text(get(state, "error", "message")) or spelled(state.get("error"))
    structured = state.get("result", state.get("structured"))
    return {
        "type": "tool",
        "callID": part.get("id"),
        "tool": part.get("name"),
        "state": {
            "status": state.get("status"),
            "input": state.get("input"),
            "output": "\n".join(shown) or spelled(structured),
            "error": "\n".join([error, *shown]),
            "attachments": [
                {**mapping(each), "url": _url(each), "filename": get(each, "name")}
                for each in items(state.get("content"))
                if get(each, "type") == "file"
            ],
            "metadata": state.get("metadata", structured),
            "time": {"end": get(part, "time", "completed")},
        },
    }


def _url(file: object) -> str:
    """Return where a file of version 2 is, or what is in it."""
    data = text(get(file, "data"))
    inside = f"data:{text(get(file, 'mime'))};base64,{data}" if data else ""
    return inside or text(get(file, "uri")) or text(get(file, "source", "uri"))


def _parsed(data: object, own: object) -> object:
    try:
        value = jsontext.parse(text(data))
    except ValueError:
        return None
    return {**value, "id": own} if isinstance(value, dict) else value


# -- sessions ---------------------------------------------------------------------------------------------------------


def _session(
    info: dict[str, object], messages: list[object], *, is_over: bool
) -> tuple[SessionBuilder, dict[str, str]]:
    """Return a session, and by the ids of its sub-agents' sessions the calls that they work for."""
    made = SessionBuilder(NAME, chat.CODEC, text(info.get("id")) or "unknown")
    made.session.project, made.session.title = text(info.get("directory")), text(info.get("title"))
    made.session.parent = text(info.get("parentID"))
    helpers: dict[str, str] = {}
    begun = _order({"info": info})[0]
    for at, each in enumerate(messages):
        message, parts = get(each, "info"), items(get(each, "parts"))
        if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
            made.count(f"{label(get(message, 'type'))} entries")
            for _ in parts:
                made.count("parts of unknown messages")
        elif message["role"] == "user":
            _add_user(made, message, parts)
        elif is_over or at < len(messages) - 1 or not _is_open(message, parts):
            # What is older than its session was copied by a fork: the former session paid for it.
            _add_answer(made, message, parts, helpers, is_paid=_order(each)[0] < begun)
    finished([made], is_over=is_over)
    return made, helpers


def _link(found: Sequence[tuple[SessionBuilder, dict[str, str]]]) -> None:
    """Tell each session of a sub-agent for which call it works."""
    calls = {(made.session.id, helper): call for made, helpers in found for helper, call in helpers.items()}
    for made, _ in found:
        made.session.call_id = calls.get((made.session.parent, made.session.id), "")


def _order(message: object) -> tuple[float, str]:
    created = get(message, "info", "time", "created")
    is_time = isinstance(created, int | float) and not isinstance(created, bool)
    return (float(created) if is_time else 0.0, text(get(message, "info", "id")))  # type: ignore[arg-type]


def _is_open(message: dict[str, object], parts: Sequence[object]) -> bool:
    """Return whether the model still writes an answer, or its tools run."""
    waits = any(get(part, "state", "status") in _WAITING for part in parts)
    return waits or (get(message, "time", "completed") is None and message.get("error") is None)


def _add_user(made: SessionBuilder, message: dict[str, object], parts: Sequence[object]) -> None:
    shown: list[dict[str, object]] = []
    spoken = False
    for part in parts:
        match get(part, "type"):
            case "text" if isinstance(said := get(part, "text"), str):
                shown.append(chat.words(said))
                spoken |= get(part, "synthetic") is not True
            case "file":
                shown.append(_file(part))
                spoken = True
            case "subtask":
                shown.append(chat.words(text(get(part, "prompt")) or text(get(part, "description"))))
            case "agent":
                shown.append(chat.words(f"@{text(get(part, 'name'))}"))
            case kind:
                made.count(f"{label(kind)} parts")
    if not shown:
        made.count("messages without content")
        return
    category = None if spoken else Category.AUTOMATED
    source = MessageSource(stamp=get(message, "time", "created"), category=category)
    made.add(text(message.get("id")), {"role": "user", "content": chat.content(shown)}, source)


def _add_answer(
    made: SessionBuilder,
    message: dict[str, object],
    parts: Sequence[object],
    helpers: dict[str, str],
    *,
    is_paid: bool,
) -> None:
    """Add the steps of an answer: each begins with a part that says so. What `is_paid` gets no usage."""
    steps: list[list[object]] = [[]]
    for part in parts:
        if get(part, "type") == "step-start" and steps[-1]:
            steps.append([])
        steps[-1].append(part)
    for at, each in enumerate(steps):
        name = text(message.get("id")) + (f"/{at + 1}" if at else "")
        step = _step(made, name, each)
        if step.tokens is None and len(steps) == 1:
            step = step._replace(tokens=message.get("tokens"))
        _add_step(made, name, message, step._replace(tokens=None) if is_paid else step, helpers)


class _Step(NamedTuple):
    """What the parts of a step say: content, thoughts, tools by the ids of their calls, and its tokens."""

    said: list[dict[str, object]]
    thoughts: list[str]
    tools: dict[str, dict[str, object]]
    tokens: object


def _step(made: SessionBuilder, name: str, parts: Sequence[object]) -> _Step:
    step = _Step([], [], {}, None)
    for at, part in enumerate(parts):
        match get(part, "type"):
            case "text" if isinstance(words := get(part, "text"), str):
                step.said.append(chat.words(words))
            case "reasoning" if isinstance(thought := get(part, "text"), str):
                step.thoughts.append(thought)
            case "file":
                step.said.append(_file(part))
            case "tool":
                own = text(get(part, "callID"))
                step.tools[own if own and own not in step.tools else f"{name}/{at}"] = mapping(part)
            case "step-finish":
                step = step._replace(tokens=get(part, "tokens"))
            case kind if kind not in _JOINED:
                made.count(f"{label(kind)} parts")
    return step


def _add_step(
    made: SessionBuilder, name: str, message: dict[str, object], step: _Step, helpers: dict[str, str]
) -> None:
    if not (step.said or step.thoughts or step.tools):
        made.count("messages without content")
        return
    calls = [chat.call(own, text(part.get("tool")), get(part, "state", "input")) for own, part in step.tools.items()]
    source = MessageSource(
        stamp=get(message, "time", "created"),
        model=text(message.get("modelID")),
        usage=_usage(step.tokens),
        category=Category.CONTEXT if message.get("summary") is True else None,
    )
    if not made.add(name, chat.assistant(chat.content(step.said), calls, "\n".join(step.thoughts)), source):
        return
    for own, part in step.tools.items():
        _add_result(made, f"{name}/{own}", own, mapping(part.get("state")))
        helper = get(part, "state", "metadata", "sessionId") or get(part, "state", "metadata", "sessionID")
        if isinstance(helper, str):
            helpers[helper] = own


def _add_result(made: SessionBuilder, name: str, own: str, state: dict[str, object]) -> None:
    """Add the result of a call; one that waits, or was broken off, has none."""
    key = {"completed": "output", "error": "error"}.get(text(state.get("status")))
    if key is None:
        return
    shown = [chat.words(text(state.get(key))), *map(_file, items(state.get("attachments")))]
    category = Category.ERROR if key == "error" else None
    source = MessageSource(stamp=get(state, "time", "end"), category=category)
    made.add(name, chat.answer(own, chat.content(shown)), source)


def _file(part: object) -> dict[str, object]:
    return chat.picture(text(get(part, "mime")), text(get(part, "url")), text(get(part, "filename")))


def _usage(tokens: object) -> dict[str, object] | None:
    """Return the tokens of a step; OpenCode's input excludes cached ones, its output excludes reasoning."""
    if not isinstance(tokens, dict):
        return None
    read, written = (count(get(tokens, "cache", key)) for key in ("read", "write"))
    answered = count(tokens.get("output")) + count(tokens.get("reasoning"))
    return chat.usage(count(tokens.get("input")) + read + written, answered, read)
