"""`squidbot import` of recordings, as somebody types it who has used a coding agent for a while."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import squidbot
from squidbot.cli import main
from squidbot.services.recordings import RecordingImporter
from squidbot.testing.claude_code import ClaudeTranscript
from tests.codecs.recordings import test_codex
from tests.codecs.recordings.reading import written
from tests.codecs.recordings.test_opencode import MESSAGES, in_database, session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from click.testing import Result

    from squidbot.codecs.recordings.readers import RecordingReader
    from squidbot.services.recordings import ImportedRecording

    Called = Callable[..., Result]

SESSION = "claude-code/11111111-2222-4333-8444-555555555555"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty home, in which no agent's variables are set."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture
def called(home: Path) -> Called:
    """Run the command line in that home."""
    del home
    return lambda *arguments: CliRunner().invoke(main, arguments)


def _talk(home: Path, **more: Any) -> ClaudeTranscript:  # noqa: ANN401  # as the transcript has them
    talk = ClaudeTranscript(home / ".claude" / "projects" / "-work-app", **more)
    talk.say("Mend the parser, the key is sk-ant-REDACTEDabcdefghijklmnop")
    talk.call("Bash", {"command": "ls"}, "parser.py", text="I look.")
    talk.answer("Done.")
    return talk


def _sessions(printed: Result) -> list[tuple[str, int, int]]:
    assert printed.exit_code == 0, printed.output
    return [(one["session"], one["new"], one["known"]) for one in json.loads(printed.output)["sessions"]]


def test_an_agents_name_is_enough(home: Path, called: Called) -> None:
    """Its recordings are found, stored once in the agents' own store, and found again by the other commands."""
    _talk(home)
    first = called("import", "claude-code")
    assert first.exit_code == 0, first.output
    store = home / ".local" / "share" / "squidbot" / "agents.db"
    assert "4 messages of 1 session imported into" in first.output
    assert store.stat().st_mode & 0o077 == 0
    assert store.parent.stat().st_mode & 0o077 == 0
    again = called("import", "claude-code")
    assert "0 messages of 0 sessions" in again.output
    assert "1 file unchanged" in again.output
    listed = json.loads(called("session", "list", "--json").output)["sessions"]
    assert [(one["session"], one["messages"]) for one in listed] == [(SESSION, 4)]
    assert "Mend the parser" in called("session", "show", SESSION).output


def test_the_status_is_that_of_the_store_that_it_imports_into(home: Path, called: Called) -> None:
    """Not of sessions in memory, where no settings name a store."""
    _talk(home)
    assert json.loads(called("status", "--json").output)["store"]["adapter"] == "stdlib"
    assert called("import", "claude-code").exit_code == 0
    store = json.loads(called("status", "--json").output)["store"]
    assert store["path"] == str(home / ".local" / "share" / "squidbot" / "agents.db")
    assert store["health"].startswith("1 session")


def test_what_comes_later_is_added(home: Path, called: Called) -> None:
    """The numbers say what is new, what was known, and in which session."""
    talk = _talk(home)
    assert _sessions(called("import", "claude-code", "--json")) == [(SESSION, 4, 0)]
    talk.say("Thanks")
    assert _sessions(called("import", "claude-code", "--json")) == [(SESSION, 1, 0)]


def test_a_path_is_known_by_its_form(home: Path, called: Called) -> None:
    """A file and a folder; the store is the one that is named."""
    talk = _talk(home)
    assert _sessions(called("import", str(talk.path), "--store", "own.db", "--json")) == [(SESSION, 4, 0)]
    assert _sessions(called("import", str(home / ".claude"), "--store", "own.db", "--json")) == []
    assert not (home / ".local").exists()


def test_a_dry_run_counts_and_writes_nothing(home: Path, called: Called) -> None:
    """Without a store, and beside one."""
    talk = _talk(home)
    assert _sessions(called("import", "claude-code", "--dry-run", "--json")) == [(SESSION, 4, 0)]
    assert not (home / ".local").exists()
    called("import", "claude-code")
    talk.say("Thanks")
    assert _sessions(called("import", "claude-code", "--dry-run", "--json")) == [(SESSION, 1, 4)]
    assert _sessions(called("import", "claude-code", "--json")) == [(SESSION, 1, 0)]


def test_a_dry_run_counts_the_wanted_project_alone(home: Path, called: Called) -> None:
    """As the import itself, without a store and beside one."""
    _talk(home, session="a" * 8, cwd="/work/app")
    talk = _talk(home, session="b" * 8, cwd="/work/other")
    wanted = "import", "claude-code", "--project", "/work/app", "--json"
    assert _sessions(called(*wanted, "--dry-run")) == [("claude-code/aaaaaaaa", 4, 0)]
    assert _sessions(called(*wanted)) == [("claude-code/aaaaaaaa", 4, 0)]
    talk.say("Thanks")
    assert _sessions(called(*wanted, "--dry-run")) == [("claude-code/aaaaaaaa", 0, 4)]


def test_project_and_time_choose(home: Path, called: Called) -> None:
    """A folder means what is below it, too; a time is that of the recording's last change."""
    _talk(home, session="a" * 8, cwd="/work/app/sub")
    other = _talk(home, session="b" * 8, cwd="/work/apple")
    os.utime(other.path, (1_000, 1_000))
    assert _sessions(called("import", "claude-code", "--project", "/work/app", "--store", "p.db", "--json")) == [
        ("claude-code/aaaaaaaa", 4, 0)
    ]
    assert _sessions(called("import", "claude-code", "--since", "1d", "--store", "t.db", "--json")) == [
        ("claude-code/aaaaaaaa", 4, 0)
    ]
    assert len(_sessions(called("import", "claude-code", "--since", "1970-01-01", "--store", "t.db", "--json"))) == 1
    wrong = called("import", "claude-code", "--since", "yesterday")
    assert wrong.exit_code == 2
    assert "write 2026-11-30, 30d, 12w or 36h" in wrong.output


@pytest.mark.parametrize("columns", [80, 100, 140])
def test_the_list_of_sessions_names_their_projects(
    home: Path, called: Called, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """Each line has its project, by the end of its path where that is long; without imported sessions, none has."""
    _talk(home, session="a" * 36, cwd="/work/app")
    _talk(home, session="b" * 36, cwd="/home/somebody/src/sources/of-my-own/parser")
    monkeypatch.setattr("squidbot.cli.printer.PIPE_COLUMNS", columns)
    called("import", "claude-code", "--store", "p.db")
    head, *lines = called("session", "list", "--store", "p.db").output.splitlines()
    assert head.split()[:2] == ["session", "project"]
    assert "messages" in head
    assert ("window" in head) == (columns > 100)
    assert max(map(len, lines)) <= columns
    assert sorted(line.split()[1] for line in lines) == ["/work/app", "…/of-my-own/parser"]
    with squidbot.load({"store": {"path": "own.db"}}) as engine:
        engine.session("talk").record({"role": "user", "content": "Hello"})
    assert "project" not in called("session", "list", "--store", "own.db").output


def test_secrets_are_redacted_where_that_is_asked_for(home: Path, called: Called) -> None:
    """The words around them stay."""
    _talk(home)
    called("import", "claude-code", "--redact")
    shown = called("session", "show", SESSION).output
    assert "Mend the parser" in shown
    assert "sk-ant" not in shown


def test_what_is_not_understood_is_counted_and_named(home: Path, called: Called) -> None:
    """A broken line and an unknown entry are no messages, and no silence."""
    talk = _talk(home)
    talk.add("an-unknown-thing")
    with talk.path.open("a") as file:
        file.write("{broken\n")
    printed = called("import", "claude-code")
    assert "1 an-unknown-thing" in printed.output
    assert "1 broken line" in printed.output


def test_an_answer_that_its_agent_still_adds_to_is_left_for_the_next_import(home: Path, called: Called) -> None:
    """The usage is recorded behind it: it comes with the next import, and the remark says so."""
    path = home / ".codex" / "sessions" / "rollout-1.jsonl"
    answer = test_codex.said("assistant", "One file.")
    written(path, [test_codex.META, test_codex.said("user", "list the files"), answer])
    first = called("import", "codex")
    assert "1 message of 1 session" in first.output
    assert "1 file was written to within the last 60 s; an unfinished answer comes with the next import" in first.output
    with path.open("a") as file:
        file.write(json.dumps(test_codex.tokens(30, 20)) + "\n")
    os.utime(path, (1_000, 1_000))
    second = called("import", "codex")
    assert "1 message of 1 session" in second.output
    assert "unfinished" not in second.output
    # A copy is not written to.
    copy = written(home / "copy.jsonl", [test_codex.META, test_codex.said("user", "list the files"), answer])
    assert _sessions(called("import", str(copy), "--store", "copy.db", "--json")) == [("codex/0199-aa", 2, 0)]
    with squidbot.load({"store": {"path": str(home / ".local" / "share" / "squidbot" / "agents.db")}}) as engine:
        rows = engine.wired.store.read("codex/0199-aa", 0, 9)
    assert [row.role for row in rows] == ["user", "assistant"]
    assert json.loads(rows[1].payload)["usage"]["input_tokens"] == 20


def test_an_answer_that_nobody_went_on_with_is_stored_in_the_end(home: Path, called: Called) -> None:
    """Its agent was killed: an unchanged file is looked at again once it is over."""
    path = home / ".codex" / "sessions" / "rollout-1.jsonl"
    written(path, [test_codex.META, test_codex.said("user", "list the files"), test_codex.said("assistant", "One.")])
    assert [one[1] for one in _sessions(called("import", "codex", "--json"))] == [1]
    os.utime(path, (1_000, 1_000))
    assert [one[1] for one in _sessions(called("import", "codex", "--json"))] == [1]
    assert "1 file unchanged" in called("import", "codex").output


def test_compressed_recordings_are_named_and_not_read(home: Path, called: Called) -> None:
    """Codex compresses what is old; what was imported before that is no loss."""
    folder = home / ".codex" / "sessions"
    said = [test_codex.META, test_codex.said("user", "list the files"), test_codex.event("task_complete")]
    packed = folder / "rollout-1.jsonl.zst"
    written(packed, ["any bytes"], lines=False)
    alone = called("import", "codex")
    assert alone.exit_code == 4
    assert f"{packed}: is compressed; decompress it into another folder (zstd -d " in alone.output
    plain = written(folder / "rollout-2.jsonl", said)
    first = called("import", "codex")
    assert f"1 compressed file skipped, the first is {packed}; decompress it" in first.output
    plain.rename(plain.with_name("rollout-2.jsonl.zst"))
    written(folder / "rollout-3.jsonl", said)
    assert json.loads(called("import", "codex", "--json").output)["skipped_files"] == [str(packed)]
    for path in (folder, packed):
        assert str(packed) in called("import", str(path)).output


def test_pieces_and_sub_agents_of_codex_are_stored_once(home: Path, called: Called) -> None:
    """A session that went on in other files is one session, with a branch where its user went back."""
    one, two = ([test_codex.said("user", each), test_codex.said("assistant", f"{each}!")] for each in ("one", "two"))
    first = test_codex.segment(home / ".codex", 1, [*one, *two])
    end = sum(map(len, first.read_bytes().splitlines(keepends=True)[:3]))
    second = test_codex.segment(home / ".codex", 2, [test_codex.said("user", "three")], first)
    back = test_codex.segment(home / ".codex", 3, [test_codex.said("user", "two, again")], first, end)
    worked = home / ".codex" / "sessions" / "2026" / "09" / "01" / f"rollout-1-{test_codex.CHILD}.jsonl"
    test_codex.written(worked, test_codex.COPIES["with numbers"])
    for age, path in enumerate((back, second, first, worked)):
        os.utime(path, (9_000 - age, 9_000 - age))
    name = f"codex/{test_codex.PARENT}"
    found = _sessions(called("import", "codex", "--json"))
    assert sorted(found) == [(name, 1, 0), (name, 1, 0), (name, 4, 0), (f"{name}/{test_codex.CHILD}", 2, 0)]
    shown = " ".join(called("session", "show", name, "--line", "1").output.split())
    assert "one! m5" in shown
    assert "two, again" in shown
    assert "three" not in shown
    assert "three" in called("session", "show", name, "--line", "0").output
    assert {one[1] for one in _sessions(called("import", "codex", "--json"))} <= {0}


def test_what_stands_in_the_log_of_a_database_is_a_change(home: Path, called: Called) -> None:
    """SQLite writes beside the file while somebody has it open; who only reads leaves an empty log."""
    path = home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    in_database(path, [(session("ses_1"), MESSAGES)])
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        os.utime(path, (1_000, 1_000))
        database.execute("UPDATE session SET title = 'Other'")
        database.commit()
        assert path.stat().st_mtime == 1_000
        # Its last answer is not complete.
        assert _sessions(called("import", "opencode", "--since", "1d", "--json")) == [("opencode/ses_1", 7, 0)]
    os.utime(path, (1_000, 1_000))
    assert _sessions(called("import", "opencode", "--store", "own.db", "--json")) == [("opencode/ses_1", 8, 0)]
    assert path.with_name("opencode.db-wal").exists()
    assert _sessions(called("import", "opencode", "--store", "own.db", "--json")) == []


@pytest.mark.parametrize("what", ["claude-code", "no/such/file.jsonl"])
def test_nothing_to_import_is_an_error_that_says_so(what: str, called: Called) -> None:
    """Nothing is created for it."""
    printed = called("import", what)
    assert printed.exit_code == 4
    assert what in printed.output


def test_an_unknown_name_is_told_the_agents(called: Called) -> None:
    """It may be meant as a path, or as an agent's name."""
    printed = called("import", "claude")
    assert printed.exit_code == 4
    assert "claude: no such file or folder, and no agent that squidbot reads: claude-code, codex, " in printed.output


def test_what_is_written_during_the_first_import_is_seen_by_the_watch(
    home: Path, called: Called, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in a file that was read by then."""
    first, second = (_talk(home, session=letter * 8) for letter in "ab")
    importing = RecordingImporter.import_file

    def imported(self: RecordingImporter, reader: RecordingReader, path: Path, **how: Any) -> list[ImportedRecording]:  # noqa: ANN401  # as it is called
        done = importing(self, reader, path, **how)
        if path == second.path and how["known"] is not None:
            first.say("Thanks")
        return done

    monkeypatch.setattr(RecordingImporter, "import_file", imported)
    monkeypatch.setattr("squidbot.cli.import_._WATCH_SECONDS", 0.01)
    looks = itertools.count()

    @contextmanager
    def stopped() -> Iterator[Event]:
        stopping = Event()
        monkeypatch.setattr(stopping, "wait", lambda _: next(looks) > 0)
        yield stopping

    monkeypatch.setattr("squidbot.cli.import_.stopped", stopped)
    assert "claude-code/aaaaaaaa: 1 new message\n" in called("import", "claude-code", "--watch").output


def test_a_watch_imports_what_comes_until_it_is_stopped(home: Path) -> None:
    """It prints a line for what it stored; Ctrl-C ends it well, also where the shell has it ignored at first."""
    talk = _talk(home)
    command = ["/bin/sh", "-c", f"trap '' INT; exec {sys.executable} -m squidbot import claude-code --watch"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout
        assert watching.stderr
        assert "watching" in watching.stderr.readline()
        talk.say("Thanks")
        talk.answer("You are welcome.")
        talk.say("Bye")
        came = 0
        while came < 3:  # it may look between two of them
            line = watching.stdout.readline()
            (number,) = re.findall(rf"^{re.escape(SESSION)}: (\d) new messages?\n$", line)
            came += int(number)
        assert came == 3
        time.sleep(0.1)
        watching.send_signal(signal.SIGINT)
        rest, errors = watching.communicate(timeout=30)
        assert watching.returncode == 0, errors
        assert "7 messages" in rest
