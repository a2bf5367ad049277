"""`squidbot store work`: programs leave background work to workers, on either store; one of them does each task."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import squidbot
import squidbot.testing
from squidbot.cli import main
from squidbot.core.memories import Scope, View
from tests.postgresql import new_schema, opened

if TYPE_CHECKING:
    from collections.abc import Callable

ANN = Scope(user="ann")
ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["sqlite3", "psycopg"])
def settings(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of settings: programs leave the work to workers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    store = 'path = "s.db"'
    if request.param == "psycopg":
        store = f'url = "{request.getfixturevalue("direct")}"\nschema = "{new_schema()}"'
    text = f'[summary]\nscheduler = "worker"\n[memory]\npath = "facts.db"\n[store]\n{store}\n'
    (tmp_path / "squidbot.toml").write_text(text, encoding="utf-8")
    return tmp_path / "squidbot.toml"


def say(settings: Path, session_id: str, text: str) -> None:
    """Have a user say something in a program of its own."""
    with squidbot.load(settings) as engine:
        session = engine.session(session_id, scope=ANN)
        session.record([{"role": "user", "content": text}, {"role": "assistant", "content": "Noted."}])


def known(settings: Path) -> list[str]:
    """Return the facts of the user."""
    with squidbot.load(settings) as engine:
        store = engine.wired.remembering.kept()
        return [memory.text for memory in store.listed(View(ANN, "bot"))] if store else []


def test_a_worker_does_what_programs_leave_to_it(settings: Path) -> None:
    """Nothing is learned before it; then all is, once."""
    for number, text in enumerate(("I live in Lisbon.", "My name is Ann.")):
        say(settings, f"s{number}", text)
    assert known(settings) == []
    done = CliRunner().invoke(main, ["store", "work", "--once", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["tasks"] == 2
    assert len(known(settings)) == 2
    assert json.loads(CliRunner().invoke(main, ["store", "work", "--once", "--json"]).output)["tasks"] == 0


def test_workers_hear_of_turns_and_end_when_they_are_told_to(settings: Path) -> None:
    """Two of them, in processes of their own: what is said meanwhile is learned within seconds, by one of them."""
    say(settings, "first", "Hello.")
    command = [sys.executable, "-m", "squidbot", "store", "work", "--every", "1", "--json"]
    workers = [
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        for _ in range(2)
    ]
    try:
        for worker in workers:
            assert worker.stderr is not None
            assert worker.stderr.readline().startswith("squidbot: working; ")
        for number, city in enumerate(("Lisbon", "Porto", "Faro")):
            say(settings, f"s{number}", f"I live in {city}.")
            until(lambda number=number: len(known(settings)) > 0 and _read(settings, f"s{number}"))  # type: ignore[misc]
    finally:
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        outputs = [worker.communicate(timeout=30)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert sum(json.loads(output)["tasks"] for output in outputs) >= 3


def _read(settings: Path, session_id: str) -> bool:
    """Return whether nothing is left to read in a session."""
    done = CliRunner().invoke(main, ["session", "jobs", session_id, "--json"])
    return settings.exists() and json.loads(done.output)["facts"] == []


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    for _ in range(200):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("it never was so")


LISTENS = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%%'"


def test_a_session_is_told_to_who_listens(direct: str) -> None:
    """Each once, by its name; where the connection is lost, it listens again, and what changed is found by asking."""
    schema = new_schema()
    with opened(direct, schema=schema) as store, opened(direct, schema=schema) as other, store.news() as news:
        _, moment = store.changed_since(0)
        assert news(0.1) == []
        other.append("\0 odd", 0, [squidbot.testing.made_message(0)])
        other.tell("\0 odd")
        assert news(5.0) == ["\0 odd"]
        assert news(0.1) == []
        assert store.changed_since(moment)[0] == ["\0 odd"]
        (lost,) = listening = store._server.rows(LISTENS)
        store._server.rows("SELECT pg_terminate_backend(%s)", lost)
        ends = time.monotonic() + 30
        while listening in ([], [lost]) and time.monotonic() < ends:  # the server takes its time, and so may we
            news(0.1)
            listening = store._server.rows(LISTENS)
        other.tell("\0 odd")
        assert news(5.0) == ["\0 odd"]
        later = store.changed_since(0)[1]
        assert store.changed_since(later + 3600)[0] == []


def test_through_a_pooler_nothing_is_told_and_all_is_found(postgresql: str) -> None:
    """It polls there; another address leads past the pooler."""
    schema = new_schema()
    with opened(postgresql, schema=schema) as store, store.news() as news:
        store.append("s", 0, [squidbot.testing.made_message(0)])
        store.tell("s")
        store.wait()
        assert news(0.5) in ([], ["s"])
        assert store.changed_since(0)[0] == ["s"]
