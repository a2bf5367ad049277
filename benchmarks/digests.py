"""The guard: digests of all that squidbot sends, notes and tells of recorded conversations, and of what hosts send.

    python -m benchmarks.digests --data FOLDER [--only PATTERN] [--quick] [--write] [--processes N]
    python -m benchmarks.digests --data FOLDER --show RUN --into FOLDER

A change that is to leave squidbot's behaviour as it is leaves every digest as it is. Digests are compared with those in
`digests.txt`; a difference ends the command with 1. `--write` stores the new ones: for a change that is meant, in a
commit that says before and after. `--show` writes one run as JSON lines. To see what has changed, show it here and in
a worktree of an older commit, and compare both folders with `diff -r`.

FOLDER holds `coding-session-a.jsonl`, `airline-open.jsonl` and `sessions/*.jsonl`; none of their text is stored here.
Each recording is played in windows of 8,000, 32,000 and 128,000 tokens under each strategy, with 4,096 tokens for the
answer, over a store in a temporary file. In each conversation the engine is closed and opened again after a third of
the model calls. Behind two thirds the newest plan change is undone, as soon as that fits; at the end the session is
compacted by hand, and that is undone, too.

A run has four digests: its requests as they are sent, its notes, its plan changes, its events. The last two hold
numbers, ids, ranges and reasons, under names of their own: whoever renames a field, an event or a reason changes the
tables at the top of this file, and no digest.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import traceback
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import fields, is_dataclass
from datetime import datetime
from fnmatch import fnmatch
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple
from unittest.mock import patch

from benchmarks import digest_hosts
from benchmarks.report import Progress
from squidbot import BudgetError, InvalidRequestError, NotFoundError, hookimpl, load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from unittest.mock import Mock

    from squidbot import Assembly, Engine, Event, Session

__all__ = ["main"]

# -- squidbot's names, and ours: renaming something in squidbot changes this part alone -------------------------------

# The fields of a plan change, and what they are called here; "" is left out: times, hashes, places in the store.
CHANGE: Final = {
    "plan_id": "number",
    "parent_plan_id": "after",
    "window_id": "",
    "created_at": "",
    "cause": "reason",
    "segments": "runs",
    "tail_from_seq": "verbatim_from",
    "sections": "head",
    "slim_tokens": "cut_over_tokens",
    "thinking_dropped_before_seq": "no_reasoning_before",
    "tokens_before": "tokens_before",
    "tokens_after": "tokens_after",
    "system": "",
    "tools": "",
    "certificate": "counted",
    "first_changed": "broken_at",
    "price": "price",
    "made_at_seq": "made_at",
    "thinking_dropped": "no_reasoning",
    "held": "held",
    "repeats": "repeats",
    "outside_changed": "outside_changed",
    "notes": "",
    "imageless": "no_pictures",
    "limits": "cut_to_tokens",
}
# The same for what stands inside of it.
PARTS: Final[Mapping[str, Mapping[str, str]]] = {
    "segments": {
        "first_seq": "first",
        "last_seq": "last",
        "representation": "sent_as",
        "summary_id": "note",
        "verbatim": "verbatim",
        "note_tokens": "note_tokens",
        "limits": "cut_to_tokens",
    },
    "sections": {"name": "", "text": "text", "memories": ""},
    "first_changed": {"index": "message", "seq": "first", "token_offset": "tokens"},
    "price": {
        "written_tokens": "written",
        "saved_tokens_per_request": "saved",
        "summary_tokens": "summaries",
        "break_even_requests": "pays_after",
    },
}
SPAN: Final = {"first_seq": "first", "last_seq": "last", "how": "sent_as", "summary_id": "note", "reason": ""}
EVENT: Final = {
    "name": "event",
    "session_id": "session",
    "cause": "reason",
    "window_id": "window",
    "plan_id": "change",
    "tokens_before": "tokens_before",
    "tokens_after": "tokens_after",
    "fraction": "fraction",
    "model": "",
    "scope": "",
}
REQUEST_MADE: Final = "context-assembled"
# Events by name, and what they are called here; "" is left out. Those that these runs never meet are not named.
EVENTS: Final = {
    "started": "started",
    "stopped": "stopped",
    "compressed": "compressed",
    "compression-skipped": "compaction-skipped",
    "compaction-paused": "compaction-paused",
    "checkpoint-aged": "note-aged",
    "view-plan-changed": "plan-changed",
    "prefix-broken": "prefix-broken",
    "plan-undone": "undone",
    "auto-snapshot-created": "snapshot-unasked",
    REQUEST_MADE: "request",
    "context-pressure": "pressure",
    "reliability-low": "reliability-low",
    "rollover-complete": "rollover",
    "lease-opened": "window-opened",
    "degraded": "degraded",
}
# Reasons, ways in which messages are sent, and certificates: squidbot's word and ours.
WORDS: Final = {
    "opened": "opened",
    "high-water": "high-water",
    "cold-cache": "cold-cache",
    "overflow": "overflow",
    "rollover": "rollover",
    "manual": "manual",
    "undo": "undo",
    "repaired": "repaired",
    "warn": "warn",
    "journal": "journal",
    "critical": "critical",
    "emergency": "emergency",
    "raw": "raw",
    "slimmed": "slimmed",
    "summary+user": "note+user",
    "summary:detailed": "note 1",
    "summary:moderate": "note 2",
    "summary:compact": "note 3",
    "summary:merged": "note 4",
    "detailed": "note 1",
    "moderate": "note 2",
    "compact": "note 3",
    "merged": "note 4",
    "absent": "absent",
    "verbatim": "verbatim",
    "summary": "note",
    "recalled": "recalled",
    "measured": "measured",
}
STRATEGIES: Final = ("balanced", "coherence", "speed")


def settings_of(path: Path, window: int, strategy: str) -> dict[str, object]:
    """Return the settings of a run."""
    return {
        "store": {"path": str(path)},
        "window": {"default": window},
        "budget": {"reserved_output_tokens": min(RESERVE, window // 2)},
        "pressure": {"strategy": strategy},
    }


def messages_of(assembly: Assembly, known: dict[str, list[str]]) -> list[str]:
    """Return the messages of a request, each as JSON text; `known` has those that were read before."""

    def read(payload: str) -> object:
        if payload not in known:
            value = json.loads(payload)
            known[payload] = [compact(each) for each in (value if isinstance(value, list) else [value])]
        return known[payload]

    # What `assembly.messages` says, which reads all messages anew for each request.
    made: list[Any] = assembly.read(read)
    return made


def notes_of(engine: Engine, session: Session, change: object) -> list[dict[str, object]]:
    """Return the notes that a plan change shows; there is no public way to read them by their ids."""
    ids = [segment.summary_id for segment in change.segments if segment.summary_id]  # type: ignore[attr-defined]  # a plan's
    found = engine.wired.store.by_id(session.session_id, ids)
    return [{"note": one.summary_id, "first": one.first_seq, "last": one.last_seq, "text": one.text} for one in found]


# -- a run ------------------------------------------------------------------------------------------------------------

RESERVE: Final = 4096
WINDOWS: Final = (8_000, 32_000, 128_000)
HERE: Final = Path(__file__).resolve().parent
DIGESTS: Final = HERE / "digests.txt"
# What `--quick` plays: small and large, with times and without.
QUICK: Final = ("claude-code-064", "claude-code-071", "copilot-037", "magentic-one-042")
# The first time of a recording that has none, in seconds since 1970, and how much later each message comes.
FIRST_TIME, STEP_SECONDS = 1_760_000_000.0, 20.0
# What is kept of a sentence: ids and ranges of messages, ids of notes and facts, numbers.
FACTS: Final = re.compile(r"\bm\d+(?:-m\d+)?\b|\b[a-z]-[0-9a-z]{6,}\b|\d[\d,]*(?:\.\d+)?")
KINDS: Final = ("requests", "notes", "changes", "events")

Talk = list[dict[str, Any]]


class Line(NamedTuple):
    """What one run came to: a digest for each kind, "-" where a run has none, and what was counted."""

    run: str
    digests: tuple[str, ...]
    calls: int
    changes: int
    tokens: int
    undone: int = 0

    def __str__(self) -> str:
        counted = f"{self.calls:5} {self.changes:5} {self.tokens:10} {self.undone:4}"
        return f"{self.run:40} {' '.join(f'{each:16}' for each in self.digests)} {counted}"

    @classmethod
    def of(cls, text: str) -> Line:
        """Return the line that a text is."""
        run, *words = text.split()
        return cls(run, tuple(words[: len(KINDS)]), *map(int, words[len(KINDS) :]))


class Job(NamedTuple):
    """A run that is to be made: a recording in a window under a strategy."""

    run: str
    path: Path
    window: int
    strategy: str


class Book:
    """Takes all that a run says, as digests; and as JSON lines in a folder, where one is given."""

    def __init__(self, folder: Path | None = None) -> None:
        self._hashes = {kind: sha256() for kind in KINDS}
        self._files: dict[str, IO[str]] = {}
        self._known: dict[str, bytes] = {}
        self._last: list[str] = []
        self.unknown: set[str] = set()
        self.calls = self.changes = self.tokens = self.undone = 0
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
            self._files = {kind: (folder / f"{kind}.jsonl").open("w", encoding="utf-8") for kind in KINDS}

    def write(self, kind: str, value: object) -> None:
        """Take one note, plan change or event."""
        text = compact(value)
        self._hashes[kind].update(text.encode() + b"\n")
        if self._files:
            print(text, file=self._files[kind])

    def request(self, messages: list[str]) -> None:
        """Take a request; a file says how many messages are those of the request before, and then what follows them."""
        for text in messages:
            if text not in self._known:
                self._known[text] = sha256(text.encode()).digest()
            self._hashes["requests"].update(self._known[text])
        self._hashes["requests"].update(b"\n")
        if self._files:
            pairs = zip(messages, self._last, strict=False)
            same = next((at for at, (new, old) in enumerate(pairs) if new != old), min(len(messages), len(self._last)))
            lines = [f'{{"call":{self.calls},"unchanged_messages":{same}}}', *messages[same:]]
            self._files["requests"].writelines(f"{line}\n" for line in lines)
            self._last = messages
        self.calls += 1

    def line(self, run: str) -> Line:
        """Return what the run came to.

        Raises:
            LookupError: there were events without a name of ours.
        """
        if self.unknown:
            raise LookupError(f"events that EVENTS of benchmarks/digests.py does not name: {sorted(self.unknown)}")
        for file in self._files.values():
            file.close()
        digests = tuple(short(self._hashes[kind].digest()) for kind in KINDS)
        return Line(run, digests, self.calls, self.changes, self.tokens, self.undone)


class Ear:
    """An extension that hears all events."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._windows: dict[str, int] = {}

    @hookimpl
    def on_event(self, event: Event) -> None:
        """Take an event under our names; context windows are numbered in order."""
        if event.name not in EVENTS:
            # What a listener raises would reach the log alone.
            self._book.unknown.add(event.name)
            return
        told = named(event, EVENT)
        told["event"], told["reason"] = EVENTS[event.name], reason_of(event.cause)
        told["window"] = self._windows.setdefault(event.window_id, len(self._windows))
        if event.name == REQUEST_MADE:
            self._book.tokens += event.tokens_after
        if told["event"]:
            self._book.write("events", told)


class Player:
    """Plays the conversations of a recording through one engine after the other, on one file."""

    def __init__(self, settings: Mapping[str, object], book: Book, clock: Mock, *, records_first: bool) -> None:
        """`clock` is what the engine asks for the time, which is that of the newest message.

        `records_first`: messages are recorded before the model is called, else together with its answer.
        """
        self._settings, self._book, self._clock = settings, book, clock
        self._records_first = records_first
        self._known: dict[str, list[str]] = {}
        self._noted: set[tuple[str, str]] = set()
        self._engine = self._opened()

    def play(self, name: str, talk: Talk) -> None:
        """Play one conversation."""
        self._session: Session = self._engine.session(name)
        answers = [at for at, message in enumerate(talk) if message["role"] == "assistant" and at]
        restart, undo = (answers[len(answers) * part // 3] if answers else -1 for part in (1, 2))
        self._is_undone, waiting = False, []
        for at, (message, now) in enumerate(timed(talk)):
            self._clock.return_value = now
            if at == restart:
                self._engine.close()
                self._engine = self._opened()
                self._session = self._engine.session(name)
            if message["role"] != "assistant" or not at:
                waiting.append(message)
                continue
            has_changed = self._call(waiting, message, now)
            waiting = []
            if at == undo or (at > undo and has_changed and not self._is_undone):
                self._is_undone = self._undo()
        if waiting:
            self._session.record(*waiting, now=now)
        self._end()

    def close(self) -> None:
        """Close the engine."""
        self._engine.close()

    def _opened(self) -> Engine:
        return load(self._settings, extensions=[Ear(self._book)])

    def _call(self, waiting: Talk, answer: Mapping[str, object], now: float) -> bool:
        """Make a model call, and return whether the plan has changed."""
        said: Sequence[Any] = waiting
        if self._records_first and waiting:
            self._session.record(*waiting, now=now)
            said = ()
        try:
            assembly = self._session.assemble(*said, now=now)
        except (BudgetError, InvalidRequestError) as error:
            self._book.write("events", {"refused": type(error).__name__})
            self._session.record(*said, answer, now=now)
            return False
        self._book.request(messages_of(assembly, self._known))
        if assembly.event is not None:
            self._change(assembly.event, [named(span, SPAN) for span in assembly.report.spans])
        self._session.record(*assembly.incoming, answer, now=now)
        return assembly.event is not None

    def _undo(self) -> bool:
        try:
            change = self._session.undo()
        except (BudgetError, NotFoundError) as error:
            self._book.write("changes", {"not undone": type(error).__name__})
            return False
        self._book.undone += 1
        self._change(change, [])
        return True

    def _end(self) -> None:
        """Compact by hand and undo that: there is something to be undone in the largest window, too."""
        try:
            change = self._session.compact()
            if change is not None:
                self._change(change, [])
                self._undo()
            self._book.request(messages_of(self._session.preview(), self._known))
        except (BudgetError, InvalidRequestError) as error:
            self._book.write("events", {"no end": type(error).__name__})

    def _change(self, change: object, spans: list[dict[str, object]]) -> None:
        self._book.changes += 1
        self._book.write("changes", {**named(change, CHANGE), "spans": spans})
        for note in notes_of(self._engine, self._session, change):
            key = self._session.session_id, str(note["note"])
            if key not in self._noted:
                self._noted.add(key)
                self._book.write("notes", note)


def played(job: Job) -> Line | str:
    """Make a run in a process of its own; return what it came to, or how it failed."""
    try:
        return play(job)
    except Exception:  # noqa: BLE001  # the other runs go on; some exceptions can't be sent between processes
        return f"{traceback.format_exc()}{job.run} has failed"


def play(job: Job, folder: Path | None = None) -> Line:
    """Make a run and return what it came to; what it said is written into a folder, where one is given."""
    book = Book(folder)
    with (
        tempfile.TemporaryDirectory(prefix="squidbot-digests-", dir=memory_folder()) as place,
        patch("time.time", return_value=FIRST_TIME) as clock,
    ):
        settings = settings_of(Path(place, "store.db"), job.window, job.strategy)
        player = Player(settings, book, clock, records_first=job.strategy == "coherence")
        for name, talk in talks_of(job.path):
            player.play(name, talk)
        player.close()
    return book.line(job.run)


def talks_of(path: Path) -> Iterator[tuple[str, Talk]]:
    """Yield the conversations of a recording: a message on each line, or a conversation with its id."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    if "messages" in lines[0]:
        yield from ((str(each["id"]), each["messages"]) for each in lines)
    else:
        yield path.stem, lines


def timed(talk: Talk) -> Iterator[tuple[dict[str, Any], float]]:
    """Yield messages, each with its time; without one it comes a little later than the one before."""
    now = FIRST_TIME
    for message in talk:
        given = message.get("timestamp")
        now = stamp(given) if isinstance(given, (str, int, float)) else now + STEP_SECONDS
        yield message, now


def stamp(given: str | float) -> float:
    """Return a time in seconds since 1970."""
    return datetime.fromisoformat(given).timestamp() if isinstance(given, str) else float(given)


def named(value: object, table: Mapping[str, str]) -> dict[str, object]:
    """Return a value's fields under our names.

    Raises:
        LookupError: it has other fields than the table.
    """
    has = [field.name for field in fields(value)] if is_dataclass(value) else list(value._fields)  # type: ignore[attr-defined]
    if set(has) != set(table):
        wrong = sorted(set(has) ^ set(table))
        raise LookupError(f"{type(value).__name__} has other fields than benchmarks/digests.py knows: {wrong}")
    return {table[name]: _plain(getattr(value, name), name) for name in has if table[name]}


def _plain(value: Any, name: str) -> object:  # noqa: ANN401  # whatever a field holds
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, str):
        return short(sha256(value.encode()).digest()) if name == "text" else WORDS.get(value, str(value))
    if name in PARTS and value is not None:
        many = not hasattr(value, "_fields") and not is_dataclass(value)
        return [named(each, PARTS[name]) for each in value] if many else named(value, PARTS[name])
    return value


def reason_of(cause: str) -> object:
    """Return a reason under our name; of a sentence its facts, and the levels of notes that it names."""
    if cause in WORDS:
        return WORDS[cause]
    words = re.findall(rf"{FACTS.pattern}|\b(?:detailed|moderate|compact|merged)\b", cause)
    return [WORDS.get(word, word) for word in words]


def compact(value: object) -> str:
    """Return a value as JSON text, in the order that it has."""
    return json.dumps(value, separators=(",", ":"))


def short(digest: bytes) -> str:
    """Return a digest as 16 characters."""
    return digest.hex()[:16]


def memory_folder() -> str | None:
    """Return a folder in memory, where files are synced at once; None where there is none."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108  # folders of our own are made in it


# -- the command ------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the runs that are asked for; return 0 where they are as `digests.txt` says, else 1."""
    args = _parser().parse_args(arguments)
    if args.show:
        return _show(args)
    known = read_lines(DIGESTS)
    jobs = [job for job in jobs_of(args.data, quick=args.quick) if wanted(job.run, args.only)]
    found = dict(sorted(_made(jobs, args.processes)))
    found |= dict(_hosts(args))
    if not found:
        print(f"no run has {args.only!r} in its name; docs: python -m benchmarks.digests --help", file=sys.stderr)
        return 1
    differences = list(differing(known, found))
    print("\n".join(differences) or f"{len(found)} runs are as before")
    if args.write:
        write_lines(DIGESTS, {**known, **found})
        print(f"written to {DIGESTS.name}")
    return 1 if differences and not args.write else 0


def jobs_of(folder: Path, *, quick: bool) -> list[Job]:
    """Return the runs of the recordings, the longest first.

    Raises:
        SystemExit: there are none.
    """
    paths = [folder / "coding-session-a.jsonl", folder / "airline-open.jsonl", *folder.glob("sessions/*.jsonl")]
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        raise SystemExit(f"--data {folder}: it has no {missing[0]}")
    paths.sort(key=lambda path: -path.stat().st_size)
    if quick:
        return [Job(f"{path.stem}/8000/balanced", path, 8_000, "balanced") for path in paths if path.stem in QUICK]
    return [
        Job(f"{path.stem}/{window}/{strategy}", path, window, strategy)
        for path in paths
        for window in WINDOWS
        for strategy in STRATEGIES
    ]


def wanted(run: str, pattern: str) -> bool:
    """Return whether a run is asked for: by a pattern with * or ?, or by a part of its name."""
    return fnmatch(run, pattern) if {"*", "?"} & {*pattern} else pattern in run


def _made(jobs: Sequence[Job], processes: int) -> Iterator[tuple[str, Line]]:
    """Yield the runs as they end.

    Raises:
        SystemExit: one has failed; its traceback was printed.
    """
    progress = Progress()
    lines: Iterator[Line | str] = map(played, jobs)
    with ExitStack() as stack:
        if processes > 1 and len(jobs) > 1:
            pool = stack.enter_context(ProcessPoolExecutor(processes, mp_context=get_context("spawn")))
            stack.callback(pool.shutdown, wait=False, cancel_futures=True)
            lines = (each.result() for each in as_completed([pool.submit(played, job) for job in jobs]))
        for number, line in enumerate(lines, 1):
            if isinstance(line, str):
                raise SystemExit(line)
            progress(f"{number} of {len(jobs)}: {line.run}")
            yield line.run, line
    progress("")


def _hosts(args: argparse.Namespace) -> Iterator[tuple[str, Line]]:
    """Yield what hosts send, and say of those that can't be started why."""
    progress = Progress()
    for name in digest_hosts.HOSTS:
        runs = [run for run in digest_hosts.runs_of(name, quick=args.quick) if wanted(run, args.only)]
        if not runs:
            continue
        progress(f"host {name}")
        try:
            heard = digest_hosts.heard_of(name, runs)
        except digest_hosts.NotHereError as error:
            print(f"host {name} was left out: {error}", file=sys.stderr)
            continue
        for run, requests in heard.items():
            if failed := [each for each in requests if each.startswith(digest_hosts.FAILED)]:
                print(f"{run}: {failed[0]}", file=sys.stderr)
            yield run, host_line(run, requests)
    progress("")


def host_line(run: str, requests: Sequence[str], folder: Path | None = None) -> Line:
    """Return what a host has sent, as one line."""
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "requests.jsonl").write_text("".join(f"{each}\n" for each in requests), encoding="utf-8")
    digest = short(sha256("\n".join(requests).encode()).digest())
    return Line(run, (digest, "-", "-", "-"), len(requests), 0, 0)


def _show(args: argparse.Namespace) -> int:
    folder = args.into or Path(args.show.replace("/", "-"))
    line = next((play(job, folder) for job in jobs_of(args.data, quick=False) if job.run == args.show), None)
    for name in digest_hosts.HOSTS:
        if args.show in digest_hosts.runs_of(name):
            heard = digest_hosts.heard_of(name, [args.show])
            line = host_line(args.show, heard[args.show], folder)
    if line is None:
        print(f"there is no run {args.show!r}; {DIGESTS.name} names them", file=sys.stderr)
        return 1
    print(f"{line}\nwritten to {folder}")
    return 0


def differing(known: Mapping[str, Line], found: Mapping[str, Line]) -> Iterator[str]:
    """Yield a sentence for each run that is not as it was: what differs, and by how much."""
    for run, line in found.items():
        before = known.get(run)
        if before is None:
            yield f"{run}: not in {DIGESTS.name}"
            continue
        pairs = zip(KINDS, before.digests, line.digests, strict=True)
        kinds = [kind for kind, old, new in pairs if old != new]
        counted = ("calls", "changes", "tokens", "undone")
        counts = [
            f"{name} {getattr(before, name)} -> {getattr(line, name)}"
            for name in counted
            if getattr(before, name) != getattr(line, name)
        ]
        if kinds or counts:
            yield f"{run}: other {', '.join(kinds + counts)}"


def read_lines(path: Path) -> dict[str, Line]:
    """Return the lines of a file of digests, by run; none where there is no file."""
    texts = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    lines = [Line.of(text) for text in texts if text and not text.startswith("#")]
    return {line.run: line for line in lines}


def write_lines(path: Path, lines: Mapping[str, Line]) -> None:
    """Write a file of digests, sorted."""
    head = f"# {'run':38} {' '.join(f'{kind:16}' for kind in KINDS)} calls chang     tokens undo"
    path.write_text("\n".join([head, *(str(lines[run]) for run in sorted(lines)), ""]), encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.digests", description="Digests of what squidbot sends.")
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="where the recordings are")
    parser.add_argument("--only", default="", metavar="PATTERN", help="runs with this in their names; may have * and ?")
    parser.add_argument("--quick", action="store_true", help="four recordings at 8,000 tokens, and the hosts")
    parser.add_argument("--write", action="store_true", help="store the digests: what differs is meant")
    parser.add_argument("--processes", type=int, default=2, metavar="N", help="how many run at once; default 2")
    parser.add_argument("--show", metavar="RUN", help="write all that one run says as JSON lines")
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="where --show writes; default: the run's name")
    return parser


if __name__ == "__main__":
    sys.exit(main())
