"""What importing the sessions of agents costs, and their hooks beside 100,000 stored messages.

Times of hooks are wall times of whole processes, as an agent waits for them, beside a Python that does nothing.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.clocks import Times, quantile
from benchmarks.report import Bar, Result, Table
from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.codecs.anthropic_messages import AnthropicMessages
from squidbot.codecs.recordings import claude_code
from squidbot.core.tokens.counters import Meter, builtin_counter
from squidbot.core.transcript.recordings import RECORDED, message_key, session_name
from squidbot.services.recordings import RecordingImporter
from squidbot.testing.claude_code import ClaudeTranscript

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["measure"]

# How many sessions hold the messages that are stored before, and how long a step of an agent is.
SESSIONS: Final = 50
WORDS: Final = [
    "parser",
    "cache",
    "window",
    "token",
    "request",
    "module",
    "handler",
    "session",
    "engine",
    "config",
    "branch",
    "commit",
    "error",
    "stack",
    "value",
    "index",
    "folder",
    "setting",
    "adapter",
    "reader",
    "writer",
    "budget",
    "summary",
    "anchor",
    "the",
    "of",
    "and",
    "is",
    "to",
    "in",
    "with",
    "for",
    "not",
    "was",
    "from",
]
# Every event of a session of Claude Code that has a hook.
EVENTS: Final = (
    "SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "PostCompact", "Stop", "SubagentStop", "SessionEnd"
)  # fmt: skip
# The times that a hook may take, in milliseconds, and an import of 100,000 messages, in seconds.
MOST_HOOK_MS, MOST_IMPORT_S, MOST_AGAIN_S = 150.0, 60.0, 5.0
AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the transcripts and the store are."""

    folder: Path

    @property
    def store(self) -> Path:
        return self.folder / "agents.db"

    def talk(self, number: int) -> ClaudeTranscript:
        """Return an empty session of Claude Code."""
        return ClaudeTranscript(self.folder / "projects", f"{number:08}-0000-4000-8000-000000000000")


def measure(folder: Path, messages: int, hooks: int, progress: Callable[[str], None]) -> Result:
    """Import so many messages, again, and run each hook so often; then so many hooks by eight sessions at once."""
    result, place = Result("recordings"), _Place(folder / "recordings")
    _imports(result, place, messages, progress)
    _hooks(result, place, messages, hooks, progress)
    _parallel(result, place, hooks * AT_ONCE, progress)
    return result


def _text(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(WORDS, k=words))


def _steps(talk: ClaudeTranscript, chance: random.Random, steps: int) -> None:
    """Add a prompt and so many steps: an answer with a call, and its result."""
    talk.say(_text(chance, 40))
    for number in range(steps):
        path = f"src/{_text(chance, 1)}/{number}.py"
        talk.call("Read", {"file_path": path}, _text(chance, chance.randrange(20, 400)), text=_text(chance, 20))


def _imports(result: Result, place: _Place, messages: int, progress: Callable[[str], None]) -> None:
    chance, paths, each = random.Random(1), list[Path](), messages // SESSIONS  # noqa: S311  # repeatable
    for number in range(SESSIONS):
        progress(f"recordings: writing session {number + 1} of {SESSIONS}")
        talk = place.talk(number)
        _steps(talk, chance, each // 2)
        paths.append(talk.path)
    first, again = Times(), Times()
    codec = AnthropicMessages()
    with SqliteStore(_made(place.store)) as store:
        for times in (first, again):
            progress(f"recordings: importing {messages:,} messages")
            importer = RecordingImporter(store, Meter(builtin_counter("classes")), {codec.tag: codec})

            def imported(importer: RecordingImporter = importer) -> int:
                runs = importer.runs(name for name, _ in store.sessions())
                done = [importer.import_file(claude_code, path, known=runs.get(str(path), {})) for path in paths]
                return sum(one.new for every in done for one in every)

            new = times.of(imported)
        assert not new, "an import stored something twice"
        stored = sum(count for _, count in store.sessions())
    rows = (
        ("messages", (float(stored), float(stored))),
        ("seconds, wall", (first.wall[0], again.wall[0])),
        ("seconds, CPU", (first.cpu[0], again.cpu[0])),
    )
    result.tables.append(Table("Importing sessions of Claude Code", ("first", "again"), rows))
    share = 100_000 / stored
    result.bars.append(Bar("import of 100,000 messages, seconds", first.wall[0] * share, at_most=MOST_IMPORT_S))
    result.bars.append(Bar("import of the same again, seconds", again.wall[0] * share, at_most=MOST_AGAIN_S))


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _hook(place: _Place, event: str) -> None:
    """Run the hook as an agent does."""
    command = [sys.executable, "-I", "-m", "squidbot", "hook", "claude-code", "--store", str(place.store)]
    done = subprocess.run(command, input=event, text=True, capture_output=True, check=False)  # noqa: S603  # this Python
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr


def _hooks(result: Result, place: _Place, messages: int, hooks: int, progress: Callable[[str], None]) -> None:
    chance, talk = random.Random(2), place.talk(SESSIONS)  # noqa: S311  # repeatable
    _steps(talk, chance, 20)
    nothing = Times()
    for _ in range(hooks):
        nothing.of(lambda: subprocess.run([sys.executable, "-I", "-c", ""], check=True))  # this Python
    rows = [("Python that does nothing", _figures(nothing))]
    worst = 0.0
    for name in EVENTS:
        times, more = Times(), _more(name, chance)
        for number in range(hooks):
            progress(f"recordings: {name} {number + 1} of {hooks}")
            _before(talk, name, chance)
            event = talk.event(name, **more)
            times.of(lambda event=event: _hook(place, event))  # type: ignore[misc]  # called at once
        rows.append((name, _figures(times)))
        worst = max(worst, quantile(times.wall, 0.95) * 1e3)
    title = f"Hooks of Claude Code beside {messages:,} stored messages, wall ms of the process"
    result.tables.append(Table(title, ("p50", "p95"), tuple(rows)))
    result.bars.append(Bar("p95 of the slowest hook, ms", worst, at_most=MOST_HOOK_MS))


def _figures(times: Times) -> tuple[float, float]:
    return times.wall_ms(0.5), times.wall_ms(0.95)


def _more(name: str, chance: random.Random) -> dict[str, object]:
    """Return what an event has beside the session."""
    more: dict[str, dict[str, object]] = {
        "SessionStart": {"source": "compact"},
        "PostCompact": {"trigger": "auto", "compact_summary": _text(chance, 400)},
        "PreCompact": {"trigger": "auto"},
    }
    return more.get(name, {})


def _before(talk: ClaudeTranscript, name: str, chance: random.Random) -> None:
    """Say what an agent says before a hook."""
    if name == "UserPromptSubmit":
        talk.say(_text(chance, 30))
    elif name == "PostToolUse":
        talk.call("Bash", {"command": _text(chance, 5)}, _text(chance, 200), text=_text(chance, 15))
    elif name in {"Stop", "SessionEnd"}:
        talk.answer(_text(chance, 60))
    elif name == "SessionStart":
        talk.compact(_text(chance, 400))


def _parallel(result: Result, place: _Place, hooks: int, progress: Callable[[str], None]) -> None:
    """Run hooks of eight sessions at once, each behind a step of its session, and count what is stored."""
    progress(f"recordings: {hooks:,} hooks of {AT_ONCE} sessions at once")

    def talked(number: int) -> tuple[str, list[str]]:
        talk, chance = place.talk(1_000 + number), random.Random(number)  # noqa: S311  # repeatable
        said = [talk.say(_text(chance, 20))]
        for _ in range(hooks // AT_ONCE - 1):
            talk.call("Bash", {"command": "ls"}, _text(chance, 50))
            _hook(place, talk.event("PostToolUse"))
        said.append(talk.answer("Done."))
        _hook(place, talk.event("Stop"))
        return session_name("claude-code", talk.session), said

    begun = time.perf_counter()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        talks = [*pool.map(talked, range(AT_ONCE))]
    seconds = time.perf_counter() - begun
    each = 2 * (hooks // AT_ONCE - 1) + 2
    lost = doubled = 0
    with SqliteStore(place.store) as store:
        for name, said in talks:
            keys = "".join(run.keys for run in RECORDED.all(store, name))
            lost += sum(message_key(one) not in keys for one in said) + max(0, each - store.head(name)[0])
            doubled += max(0, store.head(name)[0] - each)
    rows = (
        ("hooks", (float(hooks),)),
        ("hooks a second", (hooks / seconds,)),
        ("messages lost", (float(lost),)),
        ("messages doubled", (float(doubled),)),
    )
    result.tables.append(Table(f"Hooks of {AT_ONCE} sessions at once, on {os.cpu_count()} CPUs", ("",), rows))
    result.bars.append(Bar("messages lost or doubled by hooks at once", float(lost + doubled), at_most=0.0))
