"""`squidbot import`: the sessions that coding agents recorded, and files that `store export` wrote."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from squidbot.adapters.common.files import make_folder
from squidbot.cli.open_store import open_store
from squidbot.cli.output import CONFIG_OPTION, Result, ResultCommand, form_version
from squidbot.cli.printer import bar
from squidbot.cli.store import bring_exchanges, dry_run_option, models_option, session_option
from squidbot.cli.texts import ANSWER_IS_NO, complain, count, left_out
from squidbot.cli.work import stopped
from squidbot.codecs.recordings.readers import agents, compressed, reader, reader_of, recordings
from squidbot.core.errors import StoreError, TranscriptError
from squidbot.core.redaction import Redactor
from squidbot.core.text import read_iso_time
from squidbot.core.transcript.recordings import RECORDED, keys_of, message_key, session_name
from squidbot.memory import sessions_of
from squidbot.services.exchange import imported
from squidbot.services.recordings import (
    ImportedRecording,
    RecordingImporter,
    default_store,
    is_within,
    log_of,
    recording_of,
)
from squidbot.wiring.claims import wait
from squidbot.wiring.person import machine_user

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from squidbot.cli.open_store import OpenStore
    from squidbot.cli.printer import Printer
    from squidbot.codecs.recordings.readers import RecordingReader
    from squidbot.core.transcript.recordings import RecordedRun

    # A recording with its reader; the newest runs by file and session.
    _Found: TypeAlias = tuple[RecordingReader, Path]
    # Readers by path, each with when the path had changed last as it was looked for.
    _Known: TypeAlias = dict[Path, tuple[RecordingReader | None, float | None]]
    # When a file had changed last, and whether it was over by then.
    _State: TypeAlias = tuple[float, bool]
    _Runs: TypeAlias = Mapping[str, Mapping[str, RecordedRun]]

_AGE: Final = re.compile(r"([0-9]{1,6})([hdw])")
_HOURS: Final = {"h": 1, "d": 24, "w": 24 * 7}
# Files with these ends may be recordings.
_ENDS: Final = (".json", ".jsonl", ".traj", ".db", ".sqlite", ".sqlite3")
_COMPRESSED: Final = ".jsonl.zst"
_DECOMPRESS: Final = "decompress it into another folder (zstd -d --output-dir-flat FOLDER FILE), and import that folder"
# A recording that nobody has written to for so long is over: its last step is complete.
_IS_OVER_SECONDS: Final = 60.0
# These agents add text, calls or usage to an answer that they have recorded: nothing is added to one that is stored.
_ADDING: Final = frozenset({"codex", "copilot-cli", "gemini-cli", "opencode"})
_WATCH_SECONDS: Final = 2.0
# More sessions than these are summed up by project.
_MOST_LISTED: Final = 20


def _since(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    """Return a time in seconds since 1970, given as a day, a time, or an age."""
    if value is None:
        return None
    if found := _AGE.fullmatch(value):
        return time.time() - int(found[1]) * _HOURS[found[2]] * 3600
    try:
        return read_iso_time(value)
    except ValueError:
        raise click.BadParameter(f"{value[:40]!r} is no time; write 2026-11-30, 30d, 12w or 36h") from None


@click.command("import", cls=ResultCommand)
@click.argument("what", metavar="WHAT...", nargs=-1, required=True)
@click.option("--project", metavar="FOLDER", help="Only sessions of this folder, or of one below.")
@click.option(
    "--since",
    metavar="TIME",
    callback=_since,
    help="Only recordings changed since a day (2026-11-30) or an age (36h, 30d, 12w).",
)
@click.option("--watch", is_flag=True, help="Keep running, and import new messages until you press Ctrl-C.")
@click.option("--redact", is_flag=True, help="Store a mark in place of keys and passwords.")
@session_option
@models_option
@click.option(
    "--set-aside", is_flag=True, help="Rename a damaged file to NAME.json.damaged-DIGEST, and begin a fresh one."
)
@dry_run_option
@form_version()
@click.option(
    "--store",
    metavar="FILE.db",
    help="The store.  [default: for recordings, that of coding agents; for files, that of ./squidbot.toml]",
)
@CONFIG_OPTION
def import_(  # noqa: PLR0913  # an argument for each option
    *,
    what: tuple[str, ...],
    project: str | None,
    since: float | None,
    watch: bool,
    redact: bool,
    store: str | None,
    dry_run: bool,
    **how: Any,  # noqa: ANN401  # those of the other files
) -> Result:
    """Import sessions that coding agents recorded, or files of `squidbot store export`.

    WHAT is the name of an agent (`claude-code`, `codex`, `gemini-cli`, `opencode`, `copilot-cli`, `openhands`), a
    recording, or a folder of recordings. squidbot finds the recordings of a named agent, and recognises the form of any
    other. Each message is stored once, however often you import it.

    The options --session, --model, --set-aside and --form-version are for files of `squidbot store export`.

    Exit codes: 4 a file is damaged, or there is nothing to import; 1 another failure. All other files are imported.
    """
    known: _Known = {}
    packed = [path.absolute() for path in _compressed(what) if _changed(path) >= (since or 0.0)]
    if not watch and not _recordings(what, known):
        if packed:
            raise TranscriptError(str(packed[0]), None, f"is compressed; {_DECOMPRESS}")
        paths = tuple(one for one in what if one not in agents() or Path(one).exists())
        if not paths:
            raise TranscriptError(what[0], None, "no recordings of this agent are here; name a file or a folder")
        for one in paths:
            if not Path(one).exists():
                names = ", ".join(agents())
                raise TranscriptError(one, None, f"no such file or folder, and no agent that squidbot reads: {names}")
        return bring_exchanges(imported, paths, store, dry_run=dry_run, **how)
    done = _RecordingsImport(store or str(default_store()), project, redact=redact, dry_run=dry_run)
    done.skipped = packed
    done.run(lambda: [one for one in _recordings(what, known) if _changed(one[1]) >= (since or 0.0)], watches=watch)
    return _result(done)


def _recordings(what: Iterable[str], known: _Known) -> list[_Found]:
    """Return the recordings of agents and paths, each with its reader, in the order in which they were written.

    `known` are the readers of paths that were looked at before: a watch looks at all of them every other second.
    """
    found: dict[Path, RecordingReader] = {}
    for one in what:
        if one in agents() and not Path(one).exists():
            found.update((path, reader(one)) for path in recordings(one, Path.home(), os.environ))
        else:
            files = ((path, _reader_at(path, known)) for path in _files(Path(one), known))
            found.update((path, own) for path, own in files if own is not None)
    return sorted(((own, path.absolute()) for path, own in found.items()), key=lambda one: _changed(one[1]))


def _compressed(what: Iterable[str]) -> Iterator[Path]:
    """Yield the compressed recordings of agents and paths, which can't be read."""
    for one in what:
        path = Path(one)
        if one in agents() and not path.exists():
            yield from compressed(one, Path.home(), os.environ)
        elif path.is_dir():
            yield from (each for each in sorted(path.rglob(f"*{_COMPRESSED}")) if each.is_file())
        elif path.name.endswith(_COMPRESSED) and path.is_file():
            yield path


def _reader_at(path: Path, known: _Known) -> RecordingReader | None:
    """Return the reader of a path; it is looked for again where there was none, and the path has changed since."""
    changed = _changed(path)
    own, at = known.get(path, (None, None))
    if own is None and at != changed:
        own = reader_of(path)
        known[path] = own, changed
    return own


def _files(path: Path, known: _Known) -> Iterator[Path]:
    """Yield a file, or the recordings in a folder: files, and folders that are one; nothing where there is neither."""
    if path.is_file() or (path.is_dir() and _reader_at(path, known) is not None):
        yield path
        return
    for folder, names, files in os.walk(path):
        here = [*map(Path(folder).joinpath, sorted(names))]
        whole = [one for one in here if not one.is_symlink() and _reader_at(one, known) is not None]
        yield from whole
        names[:] = [one.name for one in here if one not in whole]
        for each in map(Path(folder).joinpath, sorted(files)):
            if each.suffix in _ENDS and each.is_file() and not each.is_symlink():
                yield each


def _changed(path: Path) -> float:
    try:
        return max(one.stat().st_mtime for one in (path, *log_of(path)))
    except OSError:
        return 0.0


def _is_over(changed: float) -> bool:
    return time.time() - changed > _IS_OVER_SECONDS


def _may_be_added_to(reader: RecordingReader, path: Path) -> bool:
    """Return whether an agent may add to an answer in a recording: it is where the agent writes, and no copy."""
    return reader.NAME in _ADDING and path in map(Path.absolute, recordings(reader.NAME, Path.home(), os.environ))


class _RecordingsImport:
    """Imports recordings into a store, once or again and again.

    Attributes:
        done: the outcome of each session.
        unchanged: how many files were as they had been imported.
        unfinished: how many files may end with an answer that is not complete, which was left out.
        failed: why files could not be read.
        skipped: the compressed files, without those that were imported before they were compressed.
    """

    def __init__(self, place: str, project: str | None, *, redact: bool, dry_run: bool) -> None:
        """Take the options."""
        self.place, self.dry_run = place, dry_run
        self.done: list[ImportedRecording] = []
        self.unchanged = self.unfinished = 0
        self.failed: list[str] = []
        self.skipped: list[Path] = []
        self._project = str(Path(project).resolve()) if project else ""
        self._redacted = Redactor().redacted if redact else None

    def run(self, find: Callable[[], list[_Found]], *, watches: bool) -> None:
        """Import what `find` returns; with `watches` again and again, until Ctrl-C."""
        is_new = "://" not in self.place and not Path(self.place).exists()
        if self.dry_run and is_new:
            self._count(find(), set(), lambda one: not self._project or is_within(one.recording.project, self._project))
            return
        if is_new:
            make_folder(Path(self.place).absolute().parent)
        with open_store(self.place, writes=not self.dry_run, makes=is_new) as place:
            importer = self._importer(place)
            names = [name for name, _ in sessions_of(place.store)]
            runs = importer.runs(names)
            self.skipped = [path for path in self.skipped if str(path.with_suffix("")) not in runs]
            if self.dry_run:
                every = (RECORDED.all(place.store, name) for name in names)
                self._count(find(), {key for each in every for key in keys_of(each)}, importer.is_wanted)
                return
            seen = self._import(importer, find(), runs)
            if watches:
                self._watch(importer, find, seen)

    def _importer(self, place: OpenStore) -> RecordingImporter:
        wired = place.wired
        return RecordingImporter(
            wired.store,
            wired.meter(),
            wired.codecs,
            scope=machine_user(),
            redacted=self._redacted,
            project=self._project,
            wait=wait,
        )

    def _import(self, importer: RecordingImporter, found: Sequence[_Found], runs: _Runs) -> dict[Path, _State]:
        """Import all, and return how each file was before that."""
        seen: dict[Path, _State] = {}
        with bar("importing recordings") as tick:
            for number, (reader, path) in enumerate(found, 1):
                changed = _changed(path)
                is_over = _is_over(changed) or not _may_be_added_to(reader, path)
                self._import_one(importer, reader, path, runs.get(str(path), {}), is_over=is_over)
                seen[path] = changed, is_over
                self.unfinished += not is_over
                tick(number, len(found))
        return seen

    def _import_one(
        self,
        importer: RecordingImporter,
        reader: RecordingReader,
        path: Path,
        runs: Mapping[str, RecordedRun] | None,
        *,
        is_over: bool,
    ) -> list[ImportedRecording]:
        try:
            done = importer.import_file(reader, path, is_over=is_over, known=runs)
        except (TranscriptError, StoreError) as error:
            self.failed.append(str(error))
            return []
        self.unchanged += not done
        self.done += done
        return done

    def _watch(self, importer: RecordingImporter, find: Callable[[], list[_Found]], seen: dict[Path, _State]) -> None:
        """Import what changes. A step is taken in when it is complete, or nobody has written for a minute."""
        with stopped() as stopping:
            complain("watching; Ctrl-C ends it")
            while not stopping.wait(_WATCH_SECONDS):
                for reader, path in find():
                    changed = _changed(path)
                    state = changed, _is_over(changed)
                    if seen.get(path) in {state, (changed, True)}:
                        continue
                    seen[path] = state
                    for one in self._import_one(importer, reader, path, None, is_over=state[1]):
                        if one.new:
                            click.echo(f"{one.session}: {count(one.new, 'new message')}")

    def _count(
        self, found: Sequence[_Found], known: AbstractSet[str], is_wanted: Callable[[ImportedRecording], bool]
    ) -> None:
        """Count what an import would store."""
        with bar("reading recordings") as tick:
            for number, (reader, path) in enumerate(found, 1):
                try:
                    sessions = reader.read(path)
                except TranscriptError as error:
                    self.failed.append(str(error))
                    sessions = []
                for session in sessions:
                    new = [one for one in session.messages if message_key(one.id) not in known]
                    one = ImportedRecording(str(path), session_name(session.agent, session.id), recording_of(session))
                    one.new, one.known = len(new), len(session.messages) - len(new)
                    one.unread.update(session.unread)
                    if is_wanted(one):
                        self.done.append(one)
                tick(number, len(found))


def _result(done: _RecordingsImport) -> Result:
    """Return the outcome of an import of recordings."""
    unread: Counter[str] = Counter()
    for one in done.done:
        unread.update(one.unread)
    wrong = [*done.failed, *(f"{one.file}: {one.reason}" for one in done.done if one.reason)]
    values = {
        "store": done.place,
        "dry_run": done.dry_run,
        "sessions": [_session_json(one) for one in done.done],
        "unchanged_files": done.unchanged,
        "skipped_files": [str(path) for path in done.skipped],
        "unread": dict(unread),
    }
    remarks = [f"not taken as messages: {left_out(unread)}"] if unread else []
    if done.skipped:
        first = f"{count(len(done.skipped), 'compressed file')} skipped, the first is {done.skipped[0]}"
        remarks.append(f"{first}; {_DECOMPRESS}")
    if done.unfinished:
        what = "was" if done.unfinished == 1 else "were"
        since = f"{what} written to within the last {_IS_OVER_SECONDS:.0f} s"
        remarks.append(f"{count(done.unfinished, 'file')} {since}; an unfinished answer comes with the next import")
    return Result(values, lambda out: _put(out, done), ANSWER_IS_NO if wrong else 0, wrong, remarks)


def _session_json(one: ImportedRecording) -> dict[str, object]:
    figures = {"new": one.new, "known": one.known, "branches": one.lines, "unread": dict(one.unread)}
    return {"file": one.file, "session": one.session, **one.recording._asdict(), **figures, "reason": one.reason}


def _put(out: Printer, done: _RecordingsImport) -> None:
    """Show sessions, or their projects where there are many."""
    changed = [one for one in done.done if one.new]
    groups: dict[tuple[str, str], list[ImportedRecording]] = {}
    for one in changed:
        name = one.session if len(changed) <= _MOST_LISTED else one.recording.agent
        groups.setdefault((name, one.recording.project), []).append(one)
    if groups:
        out.table(
            [
                {
                    "session" if len(changed) <= _MOST_LISTED else "agent": name,
                    "project": project or "-",
                    **({} if len(changed) <= _MOST_LISTED else {"sessions": f"{len(every):,}"}),
                    "new": f"{sum(one.new for one in every):,}",
                    "branches": f"{sum(one.lines for one in every):,}",
                }
                for (name, project), every in groups.items()
            ]
        )
    what = "; nothing was written" if done.dry_run else f" imported into {done.place}"
    out.say(f"{count(sum(one.new for one in changed), 'message')} of {count(len(changed), 'session')}{what}")
    if done.unchanged:
        out.say(f"{count(done.unchanged, 'file')} unchanged", "dim")
