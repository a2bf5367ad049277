"""`squidbot store copy`: whole stores, between files and PostgreSQL, and the next request is the same as before."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from click.testing import CliRunner

import squidbot
from squidbot.adapters.psycopg import PostgresqlStore
from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.bootstrap import wire
from squidbot.cli import main
from squidbot.cli.open_store import open_store, with_store
from squidbot.config import load_settings
from squidbot.core.errors import StoreError
from squidbot.core.memories import Scope
from squidbot.core.memory.view import MemoryQuery
from squidbot.core.messages import Record
from squidbot.memory import sessions_of
from squidbot.services import copying, forget
from squidbot.services.forget import WrittenFile, note_written, written_of
from squidbot.testing import made_memory
from squidbot.testing.values import ODD_IDS, ODD_TEXTS, made_message, made_summary
from tests.postgresql import connected, new_schema, opened

from .conftest import BEGAN, WINDOW_TOKENS, talk

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

    from squidbot.hookspecs import Store

NOW = time.time()


class Places(NamedTuple):
    """Where a copy is from, and where it goes."""

    source: str
    target: str

    def run(self, *more: str) -> Result:
        """Copy."""
        return CliRunner().invoke(main, ["store", "copy", self.source, self.target, *more])

    def copied(self) -> dict[str, Any]:
        """Copy without a fault, and return what was printed."""
        result = self.run("--json")
        assert result.exit_code == 0, result.output
        values: dict[str, Any] = json.loads(result.output)
        return values


@pytest.fixture(params=["to a server", "to a file", "file to file"])
def places(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    """Return two stores that are not there yet, and go where settings are."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "squidbot.toml").write_text(
        f'[store]\nschema = "{new_schema()}"\n[window]\ndefault = {WINDOW_TOKENS}\n'
        '[summary]\nscheduler = "none"\n[journal]\nenabled = true\n',
        encoding="utf-8",
    )
    if request.param == "file to file":
        return Places("a.db", "b.db")
    url = str(request.getfixturevalue("postgresql"))
    return Places("a.db", url) if request.param == "to a server" else Places(url, "b.db")


def at(place: str) -> squidbot.Engine:
    """Open the store of a place, with the settings of the folder."""
    engine = squidbot.Engine(wire(with_store(load_settings(None), place)))
    forget.finish(engine.wired)
    return engine


def lived(engine: squidbot.Engine) -> None:
    """Make sessions with all that sessions have: notes, pins, goals, lines, what was undone and forgotten."""
    session = engine.session("support/42")
    talk(session, 12)
    session.forget("m8", reason="asked")
    talk(session, 12, began=BEGAN + 2_000)
    session.pin("m4")
    session.pin_text("style", "Be kind to walruses.")
    session.goals.change("set", "Ship it")
    session.goals.change("milestone", "Lexer")
    session.snapshot("good")
    session.branch("m40")
    talk(session, 3, began=BEGAN + 3_000)
    session.compact()
    session.undo()
    session.switch(0)
    talk(session, 2, began=BEGAN + 4_000)
    talk(engine.continued("support/42", "support/43"), 2, began=BEGAN + 5_000)
    engine.sub_agent(session, "reader").record("Found it.", now=BEGAN + 6_000)
    engine.session("empty").pin_text("goal", "Be kind.")
    engine.session("对话\x1b[31m").record({"role": "user", "content": "Hi \x1b[31mred\x07 对话"}, now=BEGAN)


def said(engine: squidbot.Engine, *names: str, text: str = "Where is the walrus?", now: float = NOW) -> None:
    """Say something in sessions."""
    for name in names:
        engine.session(name).record({"role": "user", "content": text}, now=now)


def requests(engine: squidbot.Engine) -> list[object]:
    """Return the next request of each session, byte for byte, on each of its lines; and what search and undo say."""
    found: list[object] = []
    for name, _ in sessions_of(engine.wired.store):
        session = engine.session(name)
        found += [name, len(session.lines()), session.search("limit", now=BEGAN + 9_000).text]
        for line in [state.number for state in session.lines()]:
            if session.lines()[1:]:
                session.switch(line)
            made = session.assemble("What is next?", now=BEGAN + 9_000)
            found += [json.dumps(made.messages), made.stable, made.report.cost]
        with suppress(squidbot.SquidbotError):
            session.undo()
        found.append(json.dumps(session.assemble("And now?", now=BEGAN + 9_001).messages))
    return found


def contents(engine: squidbot.Engine) -> list[tuple[str, list[object]]]:
    """Return all that a store has, session by session."""
    store = engine.wired.store
    return [(name, [row for _, row in copying._rows(store, name)]) for name, _ in sessions_of(store)]


def test_next_request_is_the_same_after_a_move(places: Places) -> None:
    """Byte for byte, on each line, and so is what is undone; all sessions are there, in their order."""
    with at(places.source) as engine:
        lived(engine)
        before = contents(engine)
        assert {
            record.kind.partition("@")[0] for _, rows in before for record in rows if isinstance(record, Record)
        } >= {
            *("plan", "request", "window", "pin", "goal", "snapshot", "line", "head", "forgotten", "ledger", "lineage")
        }
        assert any(type(row).__name__ == "Summary" for _, rows in before for row in rows)
    made = places.copied()
    assert (made["sessions"], made["failed"], made["unsettled"]) == (len(before), {}, [])
    assert made["new"] == made["messages"] + made["records"] + made["summaries"] == sum(len(rows) for _, rows in before)
    with at(places.target) as engine:
        assert contents(engine) == before
    again = places.copied()
    assert (again["new"], again["digest"]) == (0, made["digest"]), "what is equal is skipped"
    with at(places.source) as engine, at(places.target) as moved:
        assert requests(engine) == requests(moved)


def test_copy_says_what_it_did(places: Places) -> None:
    """For people, without a password."""
    with at(places.source) as engine:
        said(engine, "s")
    shown = places.run()
    assert "equal in both: 1 session with 1 message, " in shown.output
    assert "digest " in shown.output
    assert "copied now: 0 rows" in places.run().output


def test_copy_that_was_cut_goes_on(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it ended: the next one adds what is missing."""
    with at(places.source) as engine:
        lived(engine)
        before = contents(engine)
    kind = PostgresqlStore if "://" in places.target else SqliteStore
    true, left = kind.append, 0

    def append(*given: object) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise StoreError("the power is gone")
        true(*given)  # type: ignore[arg-type]

    for most in (0, 1, 2, 5, 9, 1_000):
        left = most
        with monkeypatch.context() as patched:
            patched.setattr(kind, "append", append)
            result = places.run()
        assert result.exit_code == (0 if most == 1_000 else 1), result.output
        assert most == 1_000 or "the power is gone" in result.output
    with at(places.target) as engine:
        assert contents(engine) == before


# What copies "a" and "b" as fast as it can, and has a pause before "c" in which whoever kills it may be late.
STOPS = """
import time
from squidbot.cli import main
from squidbot.services.copying import _Copying
copy = _Copying._copy
def stops(self, name):
    time.sleep(60 * (name == "c"))
    copy(self, name)
_Copying._copy = stops
main(prog_name="squidbot")
"""


@pytest.mark.slow
def test_copy_that_was_killed_goes_on(places: Places) -> None:
    """A process that dies at any moment leaves what the next one can use."""
    with at(places.source) as engine:
        for name in ("a", "b", "c"):
            for first in range(0, 1_500, 500):
                engine.wired.store.append(
                    name, first, [made_message(seq, f"walrus {seq}") for seq in range(first, first + 500)]
                )
        before = contents(engine)
    command = [sys.executable, "-c", STOPS, "store", "copy", places.source, places.target]
    cut = 0
    with at(places.target) as engine:
        for name in ("a", "b"):
            stored = engine.wired.store.head(name)
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                while process.poll() is None and engine.wired.store.head(name) == stored:
                    time.sleep(0.002)
                process.kill()
            cut += process.returncode == -signal.SIGKILL and engine.wired.store.head("c")[0] < 1_500
    assert cut == 2
    assert places.copied()["sessions"] == 3
    with at(places.target) as engine:
        assert contents(engine) == before


def test_copy_takes_what_was_added_since(places: Places) -> None:
    """Messages, records, notes and sessions: the target has a beginning of them."""
    with at(places.source) as engine:
        said(engine, "old")
    places.copied()
    with at(places.source) as engine:
        talk(engine.session("old"), 12)
        said(engine, "new")
        before = contents(engine)
    made = places.copied()
    assert 0 < made["new"] < made["messages"] + made["records"] + made["summaries"]
    with at(places.target) as engine:
        assert contents(engine) == before


OTHERS: dict[str, Callable[[Store], None]] = {
    "another message": lambda store: store.append("b", 0, [made_message(0, "else")]),
    "another number of messages": lambda store: store.append("b", 0, [*store.read("a", 0, 0), made_message(1)]),
    "another record": lambda store: store.append("b", 0, [], [Record("window", 0, "else")]),
    "another kind of record": lambda store: store.append("b", 0, [], [Record("else", 0, "")]),
    "another summary": lambda store: store.put(replace(made_summary("x", 0, 1), session_id="b")),
}


@pytest.mark.parametrize("other", OTHERS)
def test_session_that_differs_is_named(places: Places, other: str) -> None:
    """Exit code 1; it stays as it is, and the others are copied."""
    with at(places.source) as engine:
        said(engine, "a", "b", "c")
    with at(places.target) as engine:
        said(engine, "a")
        OTHERS[other](engine.wired.store)
        engine.wired.store.drop("a")  # type: ignore[attr-defined]
        before = dict(contents(engine))
    result = places.run()
    assert result.exit_code == 1
    assert "b: the target has " in result.output
    assert "equal in both: 2 sessions" in result.output
    assert list(json.loads(places.run("--json").stdout)["failed"]) == ["b"]
    with at(places.target) as engine:
        after = dict(contents(engine))
        assert after["b"] == before["b"]
        assert {"a", "c"} < after.keys()


def test_target_that_is_ahead_is_told_from_one_that_differs(places: Places) -> None:
    """The session only went on there: the error says by how much, and how to get it. Nothing is to be forgotten."""
    with at(places.source) as engine:
        said(engine, "a", "b")
    places.copied()
    with at(places.target) as engine:
        said(engine, "a", "a", "a", text="It went on.")
        engine.session("b").pin_text("goal", "Be kind.")
    result = places.run()
    assert result.exit_code == 1
    assert "a: the target has 3 messages more, and all that the source has: the session went on there" in result.output
    assert "b: the target has more records or notes, and all that the source has" in result.output
    assert "to bring it here, copy again with FROM and TO swapped" in result.output
    assert "forget it" not in result.output
    assert Places(places.target, places.source).copied()["new"] > 3
    assert places.run().exit_code == 0


def test_target_with_other_sessions_is_refused(places: Places) -> None:
    """Before anything is copied."""
    with at(places.source) as engine:
        said(engine, "a")
    with at(places.target) as engine:
        said(engine, "mine")
    result = places.run()
    assert (result.exit_code, "'mine' is in " in result.output) == (1, True)
    with at(places.target) as engine:
        assert [name for name, _ in sessions_of(engine.wired.store)] == ["mine"]


def hurt(place: str, schema: str) -> None:
    """Change a message of the session "b" behind the store's back."""
    if "://" not in place:
        with closing(sqlite3.connect(place)) as connection, connection:
            connection.execute("UPDATE messages SET turn = turn + 1 WHERE key >> 32 = 2")
        return
    with connected(place, schema) as server:
        server.execute("UPDATE messages SET turn = turn + 1 WHERE session = 2")


def test_damaged_session_is_named_and_the_others_are_copied(places: Places) -> None:
    """Exit code 4."""
    with at(places.source) as engine:
        said(engine, "a", "b", "c")
        schema = engine.wired.loaded.settings.store.schema
    hurt(places.source, schema)
    result = places.run("--json")
    assert result.exit_code == 4
    assert list(json.loads(result.stdout)["failed"]) == ["b"]
    assert "b: " in result.stderr
    with at(places.target) as engine:
        assert [name for name, rows in contents(engine) if rows] == ["a", "c"]


def test_what_is_written_meanwhile_is_copied(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until a session stands still; a host that never rests is named."""
    with at(places.source) as engine, monkeypatch.context() as patched:
        said(engine, "a", "b")
        true, writes = copying.rows_of, [3, 5]

        def rows_of(store: Store, name: str) -> copying.CopiedRows:
            found = true(store, name)
            if writes and name == "a":
                writes.pop()
                said(engine, "a", "new")
            return found

        patched.setattr(copying, "rows_of", rows_of)
        places.copied()
        before = contents(engine)
        with at(places.target) as moved:
            assert contents(moved) == before
        writes += [0] * 1_000
        result = places.run("--json")
        assert (result.exit_code, "a: is written to; stop the hosts" in result.stderr) == (1, True)
        assert "a" in json.loads(result.stdout)["unsettled"]
        writes.clear()
        places.copied()


def test_session_that_is_forgotten_meanwhile_is_named(places: Places) -> None:
    """So is one of which a message was forgotten: the target must not keep what nobody should have any more."""
    with at(places.source) as engine:
        said(engine, "a", "b", "c")
    places.copied()
    with at(places.source) as engine:
        engine.session("b").forget("m0")
    result = places.run()
    assert (result.exit_code, "b: the target has other messages" in result.output) == (1, True)
    with at(places.source) as engine:
        engine.forget_session("c")
    result = places.run()
    assert (result.exit_code, "'c' is in " in result.output) == (1, True)


def test_session_that_is_removed_while_it_is_copied_is_named(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy has it, and nobody should."""
    with at(places.source) as engine:
        said(engine, "a", "b")
        true = copying.rows_of

        def rows_of(store: Store, name: str) -> copying.CopiedRows:
            if name == "b" and engine.wired.store.head("a") != (0, 0):
                engine.forget_session("a")
            return true(store, name)

        monkeypatch.setattr(copying, "rows_of", rows_of)
        result = places.run()
        assert (result.exit_code, "a: was removed from the source" in result.output) == (1, True)
        assert "equal in both: 1 session" in result.output


@pytest.mark.parametrize("lost", ["append", "put"])
def test_what_the_target_did_not_store_is_noticed(places: Places, lost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy reads both again, whatever a store said when it was written."""
    with at(places.source) as engine:
        said(engine, "a")
        engine.wired.store.put(replace(made_summary("x", 0, 1), session_id="a"))
    kind: Any = PostgresqlStore if "://" in places.target else SqliteStore
    true = getattr(kind, lost)
    change = (
        (lambda *given: true(*given[:3], [replace(row, payload="x") for row in given[3]], *given[4:]))
        if (lost == "append")
        else (lambda *_: None)
    )
    monkeypatch.setattr(kind, lost, change)
    result = places.run()
    assert (result.exit_code, "a: what the two return of it differs" in result.output) == (1, True)


def test_unfinished_forgetting_moves_too(places: Places) -> None:
    """The next program that opens the target ends it. What was written from the store is known there."""
    with at(places.source) as engine:
        said(engine, "a", "b")
        Path("export.json").write_text("{}", encoding="utf-8")
        note_written(engine.wired.written, WrittenFile(str(Path("export.json").absolute()), "openai", ("a",)))
        task = forget._PendingForget("a", (0,), reason="asked")
        forget.take_over(engine.wired, [task])
    assert places.copied()["tasks"] == 1
    places.copied()
    with open_store(places.target) as place:
        assert forget.unfinished(place.wired) == [task]
    with at(places.target) as engine:
        assert "walrus" not in str(engine.wired.store.read("a", 0, 9))
        assert "walrus" in str(engine.wired.store.read("b", 0, 9))
        assert [one.form for one in written_of(engine.wired, ["a"])] == ["openai"]
        assert len(Path(engine.wired.written).read_text(encoding="utf-8").splitlines()) == 1
        assert forget.unfinished(engine.wired) == []


def test_age_of_sessions_moves_too(places: Places) -> None:
    """A move makes no session younger; what is said later does."""
    with at(places.source) as engine:
        for name, days in (("old", 100), ("young", 1)):
            said(engine, name, now=NOW - days * 86_400)
            if isinstance(engine.wired.store, PostgresqlStore):
                engine.wired.store.date_back(name, NOW - days * 86_400)
    places.copied()
    swept = CliRunner().invoke(
        main, ["store", "sweep", "--older-than", "90d", "--dry-run", "--json", "--store", places.target]
    )
    assert [one["session_id"] for one in json.loads(swept.output)["swept"]] == ["old"]


def test_session_that_is_written_to_meanwhile_is_not_dated_back(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is as young as what was said last, or a sweep would remove it."""
    with at(places.source) as engine:
        said(engine, "a", "old", now=NOW - 100 * 86_400)
        true = copying._Copying._copied

        def copied(self: copying._Copying, name: str) -> tuple[tuple[int, int], copying.CopiedRows]:
            if engine.wired.store.head("old")[0] == 1:
                said(engine, "old")
            return true(self, name)

        monkeypatch.setattr(copying._Copying, "_copied", copied)
        places.copied()
    with at(places.target) as engine:
        store: Any = engine.wired.store
        assert "old" not in dict(store.older_than(NOW - 86_400))


def test_facts_move_too(places: Places) -> None:
    """What is known of a user is told at the new place; what was forgotten does not come back."""
    ann = Scope(user="ann")
    with at(places.source) as engine:
        session = engine.session("s", scope=ann)
        session.record({"role": "user", "content": "I live in Lisbon. I like otters."}, "Noted.", now=NOW)
        engine.run_jobs()
        facts = engine.memories(ann)
        known = facts.listed(MemoryQuery(), NOW).text
        assert "Lisbon" in known
        (otters,) = (one.memory_id for one in facts.store.from_session("s") if "otters" in one.text)
        facts.store.forget([otters], "asked")
    made = places.copied()
    assert made["facts"]["facts"] >= 2
    assert made["facts"]["new"] == made["facts"]["facts"] + made["facts"]["marks"] + made["facts"]["vectors"]
    counted = "1 fact, 1 replaced or forgotten"
    assert f"equal in both: {counted}" in places.run().output
    for place in (places.source, places.target):
        for command in (["status"], ["store", "doctor"]):
            assert counted in " ".join(CliRunner().invoke(main, [*command, "--store", place]).output.split())
    with at(places.target) as engine:
        assert "Lisbon" in json.dumps(engine.session("new", scope=ann).assemble("Where do I live?").messages)
        assert engine.run_jobs(engine.session("s", scope=ann)) == (), "what was read is not read again"
        assert engine.memories(ann).store.forgotten([otters]) == {otters: "asked"}


def test_other_facts_are_named(places: Places) -> None:
    """Exit code 1; the sessions are copied, and the facts stay as they are."""
    for place, text in ((places.source, "Yours."), (places.target, "Mine.")):
        with at(place) as engine:
            engine.memories(Scope(user="ann")).store.add([made_memory(text)])
            if place == places.source:
                said(engine, "s")
    result = places.run()
    assert (result.exit_code, "facts: the target has another fact with the key 1" in result.output) == (1, True)
    assert "equal in both: 1 session" in result.output


def test_facts_of_both_stay_where_they_are(places: Places) -> None:
    """In a file of their own."""
    with Path("squidbot.toml").open("a", encoding="utf-8") as file:
        file.write('[memory]\npath = "facts.db"\n')
    with at(places.source) as engine:
        said(engine, "s")
        engine.memories(Scope(user="ann")).store.add([made_memory("Mine.")])
    assert places.copied()["facts"] is None


def test_tenants_are_copied_apart(postgresql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file each, into one database and back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    Path("squidbot.toml").write_text(f'[store]\nschema = "{new_schema()}"\n', encoding="utf-8")
    for tenant in ("ann", "bob"):
        with squidbot.load({"store": {"path": f"{tenant}.db"}}) as engine:
            said(engine, "s", text=f"I am {tenant}.")
        assert Places(f"{tenant}.db", postgresql).run("--tenant", tenant).exit_code == 0
    assert Places(postgresql, "back.db").run("--tenant", "bob").exit_code == 0
    with squidbot.load({"store": {"path": "back.db"}}) as engine:
        assert "I am bob." in str(engine.wired.store.read("s", 0, 9))
    wrong = Places("ann.db", "c.db").run("--tenant", "ann")
    assert (wrong.exit_code, "only a store in PostgreSQL has tenants" in wrong.output) == (2, True)


def test_wrong_places_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same twice, and one that is not there; no file is made."""
    monkeypatch.chdir(tmp_path)
    assert Places("a.db", "./a.db").run().exit_code == 2
    assert Places("a.db", "b.db").run().exit_code == 1
    assert not [*tmp_path.iterdir()]


def test_every_text_survives(postgresql: str, tmp_path: Path) -> None:
    """Ids, kinds and texts that a database's own texts can't hold, long ones, and many: there and back again."""
    first = InMemoryStore()
    for name in ODD_IDS:
        messages = [replace(made_message(seq, text), time=seq / 7) for seq, text in enumerate(ODD_TEXTS)]
        records = [Record(f"kind{text[:9]}", 0, text) for text in dict.fromkeys(text[:9] for text in ODD_TEXTS)]
        first.append(name, 0, messages, records)
        for text in ODD_TEXTS:
            first.put(replace(made_summary(f"s{text[:20]}{len(text)}", 0, 1), session_id=name, text=text))
    first.append("long", 0, [made_message(seq) for seq in range(700)], [Record("x", seq, "") for seq in range(700)])
    last = copying.rows_of(first, "long")
    assert last[:3] == (700, 700, 0)
    with opened(postgresql) as second, SqliteStore(tmp_path / "third.db") as third:
        for source, target in ((first, second), (second, third)):
            made = copying._Copying(source, target, lambda _, __: None)
            assert (made.run(), made.failed) == ([], {})
            assert sessions_of(target) == sessions_of(source)
        for name, _ in sessions_of(first):
            assert copying.rows_of(third, name) == copying.rows_of(first, name)


@pytest.mark.parametrize("change", ["text", "number", "session", "kind", "lost"])
def test_digest_is_of_all_that_is_said(change: str) -> None:
    """Two stores with one digest have the same rows."""
    digests = []
    for changed in (False, True):
        store, is_it = InMemoryStore(), change if changed else ""
        name = "t" if is_it == "session" else "s"
        store.append(name, 0, [made_message(0, "b" if is_it == "text" else "a"), made_message(1, "c")])
        if is_it != "lost":
            store.append(name, 2, [], [Record("y" if is_it == "kind" else "x", 0, "1" if is_it == "number" else "0")])
        digests.append(copying.rows_of(store, name).digest)
    assert digests[0] != digests[1]
