"""What coding agents run at their hooks: it stores what was said, and gives back what a compaction lost.

    python -I -m squidbot hook claude-code --store FILE.db

The event comes as JSON on standard input, or as the last argument. Whatever happens, the hook ends with 0 and without a
word: an agent takes what a hook prints for its own. Reasons of failures stand in a file beside the store.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.adapters.common.files import make_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.adapters.sqlite3 import SqliteStore
    from squidbot.codecs.recordings.readers import RecordingReader
    from squidbot.core.memories import Scope
    from squidbot.core.ports import Codec
    from squidbot.services.recordings import RecordingImporter

__all__ = ["main"]

# The most that the text after a compaction costs, unless `--tokens` says otherwise.
CARRY_TOKENS: Final = 1_500
# An event is a few kilobytes; what a tool returned may stand in it.
_MOST_EVENT_BYTES: Final = 32 * 1024 * 1024
# More than this is stored by a process of its own: half a megabyte takes a tenth of a second.
_MOST_BYTES: Final = 512 * 1024
# While a process of its own reads a transcript, hooks within a step begin no other one for so long.
_CATCH_UP_SECONDS: Final = 60.0
# How long to wait for other writers where the next hook catches up, and where none may follow.
_BUSY_SECONDS: Final = 0.25
_LAST_BUSY_SECONDS: Final = 2.0
_MOST_LOG_BYTES: Final = 64 * 1024
# After these events the agent is not in the middle of a step.
_OVER: Final = frozenset({"Stop", "SessionEnd", "PreCompact", "SessionStart", "PreCompress", "AfterAgent"})
# After these, sub-agents may have said something, too.
_LOOKS_BELOW: Final = frozenset({"SubagentStop", "SessionEnd", "PreCompact"})


class _Options(NamedTuple):
    """The arguments of a hook."""

    agent: str
    store: Path
    tokens: int = CARRY_TOKENS
    redacts: bool = False
    is_catching_up: bool = False


class _Event(NamedTuple):
    """What an agent tells its hooks.

    Attributes:
        name: "SessionStart", "Stop", ...; "" if unknown.
        session: the agent's id of the session.
        path: the session's transcript; `None` if it is not named.
        source: why a session starts: "startup", "resume", "clear" or "compact".
        summary: the agent's own summary, after a compaction.
        project: the folder that the agent works in.
        below: the transcript of the sub-agent that ended; `None` for none.
        size: the bytes of the transcript at the event, where that was a while ago; -1 if it is now.
    """

    name: str
    session: str
    path: Path | None
    source: str = ""
    summary: str = ""
    project: str = ""
    below: Path | None = None
    size: int = -1


def main(arguments: Sequence[str] | None = None) -> int:
    """Handle one event, and return 0, whatever happens."""
    given = [*(sys.argv[1:] if arguments is None else arguments)]
    options: _Options | None = None
    try:
        options, rest = _options(given)
        text = _handled(options, _event(rest[-1] if rest else _stdin()))
        if text:
            sys.stdout.write(text)
            sys.stdout.flush()
    except Exception as error:  # noqa: BLE001  # an agent goes on without us
        if options is not None:
            _note(options.store, f"{type(error).__name__}: {error}")
        if isinstance(error, OSError):
            sys.stdout = None  # what nobody reads is not written again at the end
    return 0


def _options(given: list[str]) -> tuple[_Options, list[str]]:
    """Return the options, and the other arguments."""
    named: dict[str, str] = {}
    rest: list[str] = []
    items = iter(given[1:])
    for item in items:
        if item in {"--store", "--tokens"}:
            named[item] = next(items, "")
        else:
            rest.append(item)
    flags = {one for one in rest if one in {"--redact", "--catch-up"}}
    store = Path(named["--store"]) if named.get("--store") else _default_store()
    tokens = int(named.get("--tokens") or CARRY_TOKENS)
    options = _Options(given[0], store, tokens, "--redact" in flags, "--catch-up" in flags)
    return options, [one for one in rest if one not in flags]


def _default_store() -> Path:
    from squidbot.services.recordings import default_store  # noqa: PLC0415  # an error in it must not show

    return default_store()


def _stdin() -> str:
    data = sys.stdin.buffer.read(_MOST_EVENT_BYTES)
    return data.decode("utf-8", "replace")


def _event(text: str) -> _Event:
    """Return the event in a JSON text; what is of another type than documented is as good as not there."""
    value = json.loads(text)
    given = value if isinstance(value, dict) else {}

    def said(*names: str) -> str:
        return next((given[name] for name in names if isinstance(given.get(name), str)), "")

    path, below, size = said("transcript_path"), said("agent_transcript_path"), given.get("size")
    return _Event(
        said("hook_event_name", "type"),
        said("session_id", "thread-id", "thread_id"),
        Path(path).expanduser() if path else None,
        said("source"),
        said("compact_summary"),
        said("cwd"),
        Path(below).expanduser() if below else None,
        size if isinstance(size, int) else -1,
    )


def _handled(options: _Options, event: _Event) -> str:
    """Store what is new, and return what the agent is to be told; "" for nothing."""
    from squidbot.adapters.sqlite3 import SqliteStore  # noqa: PLC0415  # an error in it must not show
    from squidbot.codecs.recordings.readers import reader as of_agent  # noqa: PLC0415  # as above

    reader = of_agent(options.agent)
    path = event.path or _path_of(reader, event.session)
    if path is None or not _is_plain(path):
        return ""
    make_folder(options.store.parent)
    busy_seconds = _LAST_BUSY_SECONDS if event.name in _OVER else _BUSY_SECONDS
    with SqliteStore(options.store, busy_seconds=busy_seconds) as store:
        name = _import(options, store, reader, event._replace(path=path))
        return _given_back(options, store, name, event)


def _import(options: _Options, store: SqliteStore, reader: RecordingReader, event: _Event) -> str:
    """Store what is new in a transcript and, where they may have said something, of its sub-agents.

    Return the id of the session in the store.
    """
    from squidbot.core.transcript.recordings import RECORDED, session_name  # noqa: PLC0415  # as above

    name, path = session_name(options.agent, event.session), event.path or Path()
    newest = RECORDED.newest(store, name)
    is_own = newest is not None and newest.file == str(path)
    size = path.stat().st_size
    left = size - (newest.offset if newest and is_own else 0)
    if left > _MOST_BYTES and not options.is_catching_up:
        if event.name in _OVER or event.summary or _is_first(store, name):
            _catch_up(options, event)
        return name
    importer = _importer(options, store, is_new=newest is None)
    known = {name: newest} if newest and is_own else None
    # A process of its own comes later: the agent may be in the next step by then.
    is_over = event.name in _OVER and event.size in {-1, size}
    done = importer.import_file(reader, path, is_over=is_over, known=known)
    name = next((one.session for one in done if one.recording.source == event.session), name)
    if newest is None and not done:  # the copy of another session
        name = importer.stored_name(options.agent, event.session)
    if event.summary and store.head(name)[0]:
        _note_summary(store, name, importer.redacted(event.summary) if importer.redacted else event.summary)
    if event.name in _LOOKS_BELOW:
        # One that ended is named; of many, the others had ends of their own.
        for below in [event.below] if event.below else path.with_suffix("").glob("subagents/*.jsonl"):
            if _is_plain(below):
                own = session_name(options.agent, below.stem.removeprefix("agent-"), name)
                last = RECORDED.newest(store, own)
                known = {own: last} if last and last.file == str(below) else None
                done += importer.import_file(reader, below, known=known)
    for reason in {one.reason for one in done if one.reason}:
        _note(options.store, reason)
    return name


def _importer(options: _Options, store: SqliteStore, *, is_new: bool) -> RecordingImporter:
    """Return what imports into a store, with the codec of the agent's messages alone: each import takes time."""
    from squidbot.codecs.anthropic_messages import AnthropicMessages  # noqa: PLC0415  # as above
    from squidbot.core.tokens.counters import Meter, builtin_counter  # noqa: PLC0415  # as above
    from squidbot.services.recordings import RecordingImporter  # noqa: PLC0415  # as above

    scope: Scope | None = None
    if is_new:
        from squidbot.wiring.person import machine_user  # noqa: PLC0415  # the session says it from then on

        scope = machine_user()
    codecs: list[Codec] = [AnthropicMessages()]
    if options.agent != "claude-code":
        from squidbot.codecs.openai_chat import OpenAIChat  # noqa: PLC0415  # one agent has one form
        from squidbot.codecs.openai_responses import OpenAIResponses  # noqa: PLC0415  # as above

        codecs += [OpenAIChat(), OpenAIResponses()]
    meter = Meter(builtin_counter("classes"))
    importer = RecordingImporter(store, meter, {one.tag: one for one in codecs}, scope=scope, wait=_wait)
    if options.redacts:
        from squidbot.core.redaction import Redactor  # noqa: PLC0415  # as above

        importer.redacted = Redactor().redacted
    return importer


def _wait(most_seconds: float) -> float:
    """Sleep for some part of some seconds, another one in each process, and return the monotonic time in seconds."""
    now = time.perf_counter_ns()
    time.sleep(most_seconds * ((now // 100 + os.getpid()) % 1_000) / 1_000)
    return time.monotonic()


def _note_summary(store: SqliteStore, name: str, text: str) -> None:
    """Keep the agent's own summary: what it says is not said again."""
    from squidbot.core.transcript.recordings import AGENT_SUMMARY, AgentSummary  # noqa: PLC0415  # as above
    from squidbot.core.transcript.records import append  # noqa: PLC0415  # as above

    append(store, name, AGENT_SUMMARY, lambda: AgentSummary(store.head(name)[0], text), "nothing was noted")


def _is_first(store: SqliteStore, name: str) -> bool:
    """Return whether no hook has begun a process for a session lately: one of them is enough while it reads."""
    holder = f"{os.getpid()}-{time.time_ns()}"
    return store.claim(name, "catch_up", holder, time.time(), _CATCH_UP_SECONDS)


def _catch_up(options: _Options, event: _Event) -> None:
    """Have a process of its own store what is new: the agent does not wait for it."""
    import subprocess  # noqa: PLC0415  # most hooks need none

    size = (event.path or Path()).stat().st_size
    told: dict[str, object] = {"session_id": event.session, "transcript_path": str(event.path), "size": size}
    told |= {"hook_event_name": event.name}
    told |= {"compact_summary": event.summary} if event.summary else {}
    command = [sys.executable, "-I", "-m", "squidbot", "hook", options.agent, "--store", str(options.store)]
    command += ["--redact"] if options.redacts else []
    null, pipe = subprocess.DEVNULL, subprocess.PIPE
    apart = {"creationflags": 0x00000208} if sys.platform == "win32" else {"start_new_session": True}
    # Arguments can be seen by all users of a machine, and can't be as long as a summary.
    process = subprocess.Popen(  # noqa: S603  # this program
        [*command, "--catch-up"], stdin=pipe, stdout=null, stderr=null, encoding="utf-8", **apart
    )
    if process.stdin:
        with process.stdin as given:
            given.write(json.dumps(told))


def _given_back(options: _Options, store: SqliteStore, name: str, event: _Event) -> str:
    """Return the answer of a hook with what the agent lost when it compacted; "" for none."""
    if event.name != "SessionStart" or event.source not in {"compact", "resume"} or not options.tokens:
        return ""
    from squidbot.services.carried import text_after_compaction  # noqa: PLC0415  # a rare event

    text = text_after_compaction(store, name, options.tokens, is_new=event.source == "compact", project=event.project)
    if not text:
        return ""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}})


def _note(store: Path, reason: str) -> None:
    """Note a failure beside the store; the file is begun anew when it gets long."""
    with suppress(Exception):
        from squidbot.adapters.common.files import open_own  # noqa: PLC0415  # as above

        log = store.with_name(f"{store.name}-hooks.log")
        mode = "a" if not log.exists() or log.stat().st_size < _MOST_LOG_BYTES else "w"
        with open_own(log, mode) as file:
            line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {reason}"
            file.write(line.replace("\n", " ")[:1_000].encode("utf-8", "replace") + b"\n")


def _path_of(reader: RecordingReader, session: str) -> Path | None:
    """Return the newest recording with a session's id in its name."""
    if not session:
        return None
    named = [path for path in reader.places(Path.home(), os.environ) if session in path.name]
    return max(named, key=lambda path: path.name, default=None)


def _is_plain(path: Path) -> bool:
    """Return whether a path is a file itself: a link could lead to what is not the agent's."""
    return path.is_absolute() and path.is_file() and not path.is_symlink()


if __name__ == "__main__":
    sys.exit(main())
