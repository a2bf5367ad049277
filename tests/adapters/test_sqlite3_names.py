"""Hostile names: each id is its own session, or refused before anything is written; no name leads out of the store."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

import squidbot
from squidbot.adapters.sqlite3 import SqliteStore, rows
from squidbot.adapters.sqlite3.doctor import check
from squidbot.core.errors import ArgumentError, StoreError
from squidbot.core.messages import Record
from squidbot.replay.dump import open_dump
from squidbot.testing import made_message

if TYPE_CHECKING:
    from pathlib import Path

NAMES = [
    "../../etc/x",
    "/etc/passwd",
    "~/x",
    "C:\\x",
    "a/b",
    "a\\b",
    "a",
    "A",
    " a ",
    "a ",
    "a.",
    "a:b",
    "a.b",
    "a%2Fb",
    "a?mode=ro",
    ".",
    "..",
    "-rf",
    "con",
    "\0",
    "a\0b",
    "a\0",
    "\n",
    "'; DROP TABLE messages; --",
    "%s%n{0}",
    "\N{SQUID}",
    "\N{LATIN SMALL LETTER E WITH ACUTE}",
    "e\N{COMBINING ACUTE ACCENT}",
    "\ud800",
    "\udcff",
    "\ud83e\udd91",  # two surrogates, and no squid
    "\N{RIGHT-TO-LEFT OVERRIDE}a",
    "x" * 1024,
    "\N{SQUID}" * 1024,
]


def test_each_name_is_its_own_session_when_names_are_hostile(tmp_path: Path) -> None:
    """All are kept apart through the engine, opened again they go on, and nothing is written beside the store."""
    folder = tmp_path / "in" / "here"
    folder.mkdir(parents=True)
    path = folder / "s.db"
    for turn in range(2):
        with squidbot.load({"store": {"path": str(path)}}) as engine:
            for number, name in enumerate(NAMES):
                session = engine.session(name, window_tokens=4096)
                made = session.assemble(f"I am {number}, turn {turn}.")
                assert len(made.messages) == 2 * turn + 1
                assert made.messages[0]["content"] == f"I am {number}, turn 0."
                session.record(made.incoming, f"Hello {number}.")
    with SqliteStore(path) as store:
        assert store.sessions() == [(name, 4) for name in NAMES]
    assert [session.session_id for session in check(path).sessions] == NAMES
    assert sorted(str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*")) == [
        "in",
        "in/here",
        "in/here/s.db",
        "in/here/s.db-known",
    ]


@pytest.mark.parametrize("name", ["", "x" * 1025, "y" * 10_240])
def test_a_name_is_refused_before_any_write_when_it_cannot_be_kept(name: str, tmp_path: Path) -> None:
    """A typed error that says what a name may be: of the engine, and of the store by itself."""
    path = tmp_path / "s.db"
    with (
        squidbot.load({"store": {"path": str(path)}}) as engine,
        pytest.raises(ArgumentError, match=r"of 1 to 1,024 characters") as caught,
    ):
        engine.session(name)
    assert len(str(caught.value)) < 300
    with SqliteStore(path) as store:
        with pytest.raises(StoreError, match=r"must be 1 to 1024 characters; nothing was written") as refused:
            store.append(name, 0, [], [Record("pin", 0, "{}")])
        assert len(str(refused.value)) < 300
        assert store.sessions() == []


def test_a_model_may_have_any_name_when_nobody_knows_it(tmp_path: Path) -> None:
    """It is kept for reports, and names no file."""
    path = tmp_path / "s.db"
    with squidbot.load({"store": {"path": str(path)}}) as engine:
        for number, name in enumerate([*NAMES, "z" * 10_240]):
            session = engine.session(f"s{number}", model=name, window_tokens=4096)
            made = session.assemble("Hi.")
            session.record(made.incoming, "Hello.", usage={"prompt_tokens": 20, "completion_tokens": 2})
            assert session.window.model == name
    assert sorted(each.name for each in tmp_path.iterdir()) == ["s.db", "s.db-known"]
    with SqliteStore(path) as store:
        assert len(store.sessions()) == len(NAMES) + 1


def test_texts_come_back_as_they_were_when_they_hold_anything(tmp_path: Path) -> None:
    """Lone surrogates, NUL, numbers of 400 digits: the payload is what was said."""
    path = tmp_path / "s.db"
    said = ["\ud800 alone", "a\0b", "\N{SQUID}"]
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": f'{{"n": {"9" * 400}}}'}}
    with squidbot.load({"store": {"path": str(path)}}) as engine:
        session = engine.session("s")
        for text in said:
            session.record({"role": "user", "content": text})
        session.record({"role": "assistant", "content": None, "tool_calls": [call]})
    with SqliteStore(path) as store:
        rows = store.read("s", 0, 99)
    kept = [json.loads(row.payload) for row in rows]
    assert [each["content"] for each in kept[:-1]] == said
    assert kept[-1]["tool_calls"] == [call]


def test_a_dump_has_a_file_of_its_own_for_each_name(tmp_path: Path) -> None:
    """No name of a file leads out of its folder, is too long, or is that of another conversation in any case."""
    names = [*NAMES, "y" * 10_240, "y" * 10_241, "ABC", "abc", "aBc", "abc~"]
    with open_dump(f"{tmp_path}/in/", several=True) as dump:
        for name in names:
            with dump.of(name):
                pass
    made = [each.relative_to(tmp_path).as_posix() for each in tmp_path.rglob("*") if each.is_file()]
    assert len(made) == len({name.casefold() for name in made}) == len(names)
    assert all(name.startswith("in/") and name.count("/") == 1 for name in made)


def test_session_that_another_writer_begins_between_two_looks_is_no_damage(tmp_path: Path) -> None:
    """Its name was not there, and then its checksum was: it has begun meanwhile."""
    store = SqliteStore(tmp_path / "begun.db")
    looks: list[str] = []

    class Between(sqlite3.Connection):
        def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:  # noqa: ANN401  # as sqlite3 has it
            found = super().execute(sql, parameters)
            looks.append(sql)
            if len(looks) == 1:
                store.append("s", 0, [made_message(0)])
            return found

    with closing(sqlite3.connect(tmp_path / "begun.db", factory=Between)) as connection:
        connection.text_factory = bytes
        assert rows.find(connection, "s").messages == 1
    assert looks == [rows.FIND, rows.FIND_BY_HASH, rows.FIND]
    store.close()
