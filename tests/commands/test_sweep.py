"""`squidbot store sweep`, and `store.retention_days`: sessions that nobody has written to for long, and no others."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import squidbot
from squidbot.adapters.psycopg import PostgresqlStore
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.bootstrap import wire
from squidbot.cli import main
from squidbot.config import load_settings
from squidbot.core.errors import ConfigError, StoreError
from squidbot.core.memories import Scope
from squidbot.hookspecs import hookimpl
from squidbot.memory import sessions_of
from squidbot.services.retention import DAY_SECONDS, SWEEP_SECONDS, SweepOutcome, sweep
from tests.postgresql import new_schema

if TYPE_CHECKING:
    from click.testing import Result

    from squidbot.hookspecs import Register

NOW = time.time()
SWEEP = ("store", "sweep", "--older-than", "90d")


@pytest.fixture(params=["sqlite3", "psycopg"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with settings of a store, of each kind, in which commands run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    where = 'path = "kept.db"'
    if request.param == "psycopg":
        where = f'url = "{request.getfixturevalue("postgresql")}"\nschema = "{new_schema()}"'
    (tmp_path / "squidbot.toml").write_text(
        f'[store]\n{where}\n[debug]\nturn_log = "turns.txt"\n[memory]\npath = "facts.db"\n', encoding="utf-8"
    )
    return tmp_path


def run(*arguments: str, answer: str = "") -> Result:
    """Run the command line."""
    return CliRunner().invoke(main, arguments, input=answer)


def said(engine: squidbot.Engine, session_id: str, days: float, text: str = "Where is the walrus?") -> squidbot.Session:
    """Say something in a session, some days ago."""
    return aged(engine.session(session_id, scope=Scope(user="ann")), days, text)


def aged(session: squidbot.Session, days: float, text: str = "Where is the walrus?") -> squidbot.Session:
    """Say something, some days ago, by the times of messages and by the clock of the store."""
    at = NOW - days * DAY_SECONDS
    session.record({"role": "user", "content": text}, "At sea.", now=at)
    store = session.wired.store
    if isinstance(store, PostgresqlStore):
        store.date_back(session.session_id, at)
    return session


def logged() -> list[str]:
    """Return the sessions in the log of turns."""
    return re.findall(r"^turn m0 of session (\w+)", Path("turns.txt").read_text(encoding="utf-8"), re.MULTILINE)


def names(engine: squidbot.Engine) -> list[str]:
    """Return the sessions there are."""
    return [name for name, _ in sessions_of(engine.wired.store)]


def swept(engine: squidbot.Engine, days: float = 90) -> SweepOutcome:
    """Sweep what is older than some days."""
    return sweep(engine.wired, NOW - days * DAY_SECONDS)


def test_sweep_removes_sessions_that_nobody_has_written_to(folder: Path) -> None:
    """With their turns in the log; not the younger ones, and not the facts."""
    with retained(folder, retention_days=0.0) as engine:
        said(engine, "old", 100, "I live in Lisbon.")
        said(engine, "older", 120)
        said(engine, "young", 80, "I like otters.")
        engine.session("unsaid").pin_text("goal", "Be kind.")
        assert engine.run_jobs()
    assert logged() == ["old", "older", "young"]
    tried = json.loads(run(*SWEEP, "--dry-run", "--json").output)
    assert (tried["dry_run"], [one["session_id"] for one in tried["swept"]]) == (True, ["old", "older"])
    assert "2 sessions, 4 messages: would be removed (dry run)" in run(*SWEEP, "--dry-run").output
    assert run(*SWEEP, answer="n\n").exit_code == 1

    made = json.loads(run(*SWEEP, "--yes", "--json").output)
    assert [(one["session_id"], one["messages"]) for one in made["swept"]] == [("old", 2), ("older", 2)]
    assert made["swept"][0]["written"] == pytest.approx(NOW - 100 * DAY_SECONDS, abs=5)
    assert (made["kept"], made["failed"], made["overwritten"]) == ([], {}, True)
    with squidbot.load(folder / "squidbot.toml") as engine:
        assert names(engine) == ["young", "unsaid"]
        assert engine.wired.store.head("old") == (0, 0)
        told = json.dumps(engine.session("new", scope=Scope(user="ann")).assemble("Where do I live?").messages)
        assert "Lisbon" in told, "a fact has a life of its own"
    assert logged() == ["young"]
    assert json.loads(run(*SWEEP, "--yes", "--json").output)["swept"] == []


def test_swept_bytes_are_overwritten_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a file: after the last session, not after each."""
    path = tmp_path / "kept.db"
    with squidbot.load({"store": {"path": str(path)}, "memory": {"enabled": False}}) as engine:
        for number in range(3):
            said(engine, f"old{number}", 100)
        said(engine, "young", 1, "Tea?")
        store, times = engine.wired.store, []
        scrub = store.scrub  # type: ignore[attr-defined]
        monkeypatch.setattr(store, "scrub", lambda: times.append(scrub()))
        assert len(swept(engine).swept) == 3
        assert len(times) == 1
    assert b"walrus" not in path.read_bytes()


def test_sweep_shows_a_table_and_asks(folder: Path) -> None:
    """A person reads what goes, and when it was last written to."""
    with squidbot.load(folder / "squidbot.toml") as engine:
        for number in range(25):
            said(engine, f"s{number:02}", 100 + number)
    shown = run(*SWEEP, answer="y\n")
    assert shown.exit_code == 0
    assert "Forget 25 sessions for good?" in shown.output
    assert "last written to" in shown.output
    assert "and 5 more" in shown.output
    assert "25 sessions, 50 messages: removed" in shown.output
    for wrong in ("90", "0d", "-1d", "d", "1y"):
        assert run("store", "sweep", "--older-than", wrong).exit_code == 2


def test_session_stays_while_one_that_stays_goes_on_from_it(folder: Path) -> None:
    """Continued ones and sub-agents' recall its messages; with the last of them it goes."""
    with squidbot.load(folder / "squidbot.toml") as engine:
        first = said(engine, "first", 130)
        second = aged(engine.continued("first", "second"), 120)
        agent = aged(engine.sub_agent(second, "reader"), 110)
        alone = said(engine, "alone", 100)
        for one in (first, second, agent, alone):  # what names the next one was written then
            aged(one, 100)
        third = aged(engine.continued("second", "third"), 10)
        for one in (first, second):
            aged(one, 95)
        assert [one.session_id for one in swept(engine).swept] == ["alone", agent.session_id]
        done = swept(engine)
        assert (done.swept, done.kept) == ((), ("first", "second"))
        assert "2 sessions as old, which younger ones go on from, stay" in run(*SWEEP, "--yes").output
        aged(third, 10)
        assert [one.session_id for one in swept(engine, 5).swept] == ["third", "second", "first"]
        assert names(engine) == []


def test_session_that_is_written_to_meanwhile_stays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And so does what it goes on from: the age is looked at again, when it is removed."""
    with squidbot.load(folder / "squidbot.toml") as engine:
        said(engine, "parent", 130)
        child = engine.continued("parent", "child")
        for one in (child, engine.session("parent"), engine.session("other")):
            aged(one, 100)
        store = engine.wired.store
        true = store.older_than  # type: ignore[attr-defined]

        def older_than(before: float) -> list[tuple[str, float]]:
            found: list[tuple[str, float]] = true(before)
            child.record("I am back.")
            return found

        monkeypatch.setattr(store, "older_than", older_than)
        done = swept(engine)
        assert [one.session_id for one in done.swept] == ["other"]
        assert set(done.kept) == {"parent", "child"}
        assert store.head("child")[0] == 3


def test_others_write_while_a_store_is_swept(folder: Path) -> None:
    """No write fails, no message is lost, and all that is old goes."""
    failed: list[BaseException] = []

    def write(name: str) -> None:
        try:
            with squidbot.load(folder / "squidbot.toml") as own:
                session = own.session(name)
                for number in range(20):
                    session.record({"role": "user", "content": f"This is {number}."})
        except BaseException as error:  # noqa: BLE001  # the test tells it
            failed.append(error)

    with squidbot.load(folder / "squidbot.toml") as engine:
        for number in range(30):
            said(engine, f"old{number}", 100 + number)
        threads = [threading.Thread(target=write, args=(name,)) for name in ("old7", "new")]
        for thread in threads:
            thread.start()
        done = swept(engine)
        for thread in threads:
            thread.join()
        assert not failed
        gone = {one.session_id for one in done.swept}
        assert len(gone) >= 29
        assert engine.wired.store.head("new")[0] == 20
        assert engine.wired.store.head("old7")[0] == (20 if "old7" in gone else 22)
        assert sorted(names(engine)) == ["new", "old7"]


def test_host_talks_on_in_a_session_that_was_swept(folder: Path) -> None:
    """Its session is as new: nothing fails, and nothing of before is told."""
    with squidbot.load(folder / "squidbot.toml") as engine:
        session = said(engine, "old", 100)
        session.assemble("Anything?")
        with squidbot.load(folder / "squidbot.toml") as other:
            if isinstance(other.wired.store, PostgresqlStore):
                other.wired.store.date_back("old", NOW - 100 * DAY_SECONDS)
            assert len(swept(other).swept) == 1
        session.record({"role": "user", "content": "I am back."}, "Welcome.")
        assert [row.payload for row in engine.wired.store.read("old", 0, 9)] != []
        assert "walrus" not in json.dumps(session.assemble("And now?").messages)


def test_sweep_leaves_other_tenants_alone(postgresql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--tenant` names whose sessions go; a file has none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    where = {"url": postgresql, "schema": new_schema()}
    for tenant in ("a", "b"):
        with squidbot.load({"store": {**where, "tenant": tenant}}) as engine:
            said(engine, "old", 100)
    settings = "".join(f'{name} = "{value}"\n' for name, value in where.items())
    Path("squidbot.toml").write_text(f"[store]\n{settings}", encoding="utf-8")
    assert json.loads(run(*SWEEP, "--dry-run", "--json").output)["swept"] == []
    assert len(json.loads(run(*SWEEP, "--tenant", "b", "--yes", "--json").output)["swept"]) == 1
    for tenant, left in (("a", ["old"]), ("b", [])):
        with squidbot.load({"store": {**where, "tenant": tenant}}) as engine:
            assert names(engine) == left
    wrong = run(*SWEEP, "--tenant", "b", "--store", "kept.db")
    assert (wrong.exit_code, "only a store in PostgreSQL has tenants" in wrong.output) == (2, True)


def test_damaged_session_stays_and_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 4: nobody knows how old it is; the others go."""
    monkeypatch.chdir(tmp_path)
    with squidbot.load({"store": {"path": "kept.db"}}) as engine:
        said(engine, "hurt", 100)
        said(engine, "old", 100)
    with closing(sqlite3.connect("kept.db")) as connection, connection:
        connection.execute("UPDATE messages SET turn = turn + 1 WHERE key >> 32 = 1")
    result = run(*SWEEP, "--yes", "--store", "kept.db")
    assert result.exit_code == 4
    assert "hurt: stays: " in result.output
    with squidbot.load({"store": {"path": "kept.db"}}) as engine:
        assert names(engine) == ["hurt"]


def retained(folder: Path, **more: object) -> squidbot.Engine:
    """Load the settings of a folder with a retention of 90 days, whose work is done on demand."""
    loaded = load_settings(folder / "squidbot.toml")
    loaded = loaded.changed(store={"retention_days": 90.0, **more}, summary={"scheduler": "none"})
    return squidbot.Engine(wire(loaded))


def outcomes(engine: squidbot.Engine) -> list[SweepOutcome]:
    """Do the background work, and return what was swept."""
    return [one for one in engine.run_jobs() if isinstance(one, SweepOutcome)]


def test_settings_sweep_in_the_background(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once an hour, and one process at a time; without the key nothing is swept."""
    with retained(folder, retention_days=0.0) as engine:
        said(engine, "old", 100)
        said(engine, "new", 0)
        assert outcomes(engine) == []
        assert names(engine) == ["old", "new"]
    with retained(folder) as engine, retained(folder) as other:
        said(engine, "new", 0)
        said(other, "new", 0)
        assert [[one.session_id for one in done.swept] for done in outcomes(engine)] == [["old"]]
        assert (outcomes(engine), names(engine)) == ([], ["new"])
        said(engine, "old", 100)
        with monkeypatch.context() as patched:
            patched.setattr(engine.wired.store, "claim", lambda *_: pytest.fail("within the hour nothing is asked"))
            assert outcomes(engine) == []
        assert outcomes(other) == []
        later = time.time() + SWEEP_SECONDS + 1
        monkeypatch.setattr(time, "time", lambda: later)
        done = outcomes(engine)
        assert outcomes(other) == []
        if not isinstance(engine.wired.store, PostgresqlStore):  # whose clock decides when the claim ends
            assert [[one.session_id for one in each.swept] for each in done] == [["old"]]


def test_background_thread_sweeps_after_a_turn(folder: Path) -> None:
    """Without a call: a host that talks is enough."""
    with squidbot.load(folder / "squidbot.toml") as engine:
        said(engine, "old", 100)
    with (folder / "squidbot.toml").open("a", encoding="utf-8") as file:
        file.write("[summary]\ninterval_minutes = 60\n")
    text = (folder / "squidbot.toml").read_text(encoding="utf-8")
    (folder / "squidbot.toml").write_text(text.replace("[store]", "[store]\nretention_days = 90"), encoding="utf-8")
    with squidbot.load(folder / "squidbot.toml") as engine:
        said(engine, "new", 0)
        until = time.monotonic() + 60
        while names(engine) != ["new"] and time.monotonic() < until:
            time.sleep(0.05)
        assert names(engine) == ["new"]


class _Plain(InMemoryStore):
    """A store that knows no ages."""

    older_than = None  # type: ignore[assignment]

    @hookimpl
    def register_adapters(self, register: Register) -> None:
        """Offer it."""
        register.store("plain", lambda _: self)


def test_store_without_ages_is_refused() -> None:
    """When the engine is made, not each hour."""
    store = _Plain()
    with pytest.raises(ConfigError, match=r"store\.retention_days is 90, but this store does not know how old"):
        squidbot.load({"store": {"adapter": "plain", "retention_days": 90}}, extensions=[store])
    with (
        squidbot.load({"store": {"adapter": "plain"}}, extensions=[store]) as engine,
        pytest.raises(StoreError, match="does not know how old"),
    ):
        swept(engine)
