"""Facts and the journal as notes in YAML, and such notes taken over (P-12)."""

from __future__ import annotations

import json
import time
from itertools import count
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

pytest.importorskip("yaml", reason="the adapter's package is an extra")

import squidbot
from squidbot.cli import main
from squidbot.core.errors import ConfigError, SquidbotError, StoreError
from squidbot.core.journal import JournalEntry
from squidbot.core.memories import Scope
from squidbot.core.memory.view import MemoryQuery, NewMemory
from squidbot.services.exchange import read_notes, write_notes

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.engine import Engine
    from squidbot.services.exchange import NoteCounts

NOW = 1_769_517_296.0  # 2026-01-27T12:34:56Z


def opened(folder: Path) -> Engine:
    """Return an engine over files of a folder."""
    folder.mkdir(exist_ok=True)
    settings = {"store": {"path": f"{folder}/s.db"}, "journal": {"folder": f"{folder}/journal"}}
    return squidbot.load(settings)


def written(engine: Engine, folder: Path) -> NoteCounts:
    """Write nobody's facts and journal as notes."""
    return write_notes(engine.memories(), engine.journal(), folder)


def taken(engine: Engine, folder: Path, scope: Scope | None = None) -> NoteCounts:
    """Add notes to a scope's facts and journal."""
    scope = scope or Scope()
    return read_notes(engine.memories(scope), engine.journal(scope), folder, engine.wired.loaded)


def facts(engine: Engine, scope: Scope | None = None) -> str:
    """Return the facts of a scope as text."""
    return engine.memories(scope or Scope()).listed(MemoryQuery(limit=20), time.time()).text


def test_notes_come_back_as_facts_and_entries(tmp_path: Path) -> None:
    """P-12: written by one engine, read by another, whose requests say nothing of it unasked; once."""
    with opened(tmp_path / "a") as engine:
        memories = engine.memories()
        memories.add(NewMemory("The user is called Ann.", "core", trust="user"), NOW)
        memories.add(NewMemory("The boat: it's 7 m long — yes\n# no heading", "background"), NOW)
        engine.journal().append(JournalEntry(NOW, "Moved the facts.\n---\nGreen.", tags=("store", "db")))
        assert written(engine, tmp_path / "notes") == (2, 1, 0)
        with pytest.raises(SquidbotError, match=r"declarative_notes.yml: already exists"):
            written(engine, tmp_path / "notes")
    text = (tmp_path / "notes" / "summary_notes.yml").read_text(encoding="utf-8")
    assert text.startswith(
        "- timestamp: '2026-01-27T12:34:56Z'\n  category: store db\n  content: |-\n    Moved the facts."
    )
    with opened(tmp_path / "b") as engine:
        assert taken(engine, tmp_path / "notes") == (2, 1, 0)
        assert taken(engine, tmp_path / "notes") == (0, 0, 3)
        assert "The user is called Ann." in facts(engine)
        (entry,) = engine.journal().latest(9).entries
        assert (entry.time, entry.summary, entry.tags) == (NOW, "Moved the facts.\n---\nGreen.", ("store", "db"))
        sent = str(engine.session("s").assemble("Hello").messages)
        assert "Moved" not in sent
        assert "boat" not in sent


def test_notes_that_a_model_adds_are_found_and_written(tmp_path: Path) -> None:
    """P-12: "Actions `<add_summary_note>` and `<add_declarative_note>` write to these files via `ToolManager`"."""
    settings = {
        "store": {"path": f"{tmp_path}/s.db"},
        "memory": {"allow_tools": True},
        "journal": {"enabled": True, "folder": f"{tmp_path}/journal"},
        "summary": {"scheduler": "none"},
    }
    with squidbot.load(settings) as engine:
        session = engine.session("s")
        session.record({"role": "user", "content": "Please take notes."}, "I will.")
        names = [tool["function"]["name"] for tool in session.tools]
        assert {"add_summary_note", "add_declarative_note"} <= set(names)
        noted = session.call("add_declarative_note", {"content": "The boat is called Dora.", "category": "core"})
        summed = session.call("add_summary_note", {"content": "Moved the parser.", "category": "parser store"})
        assert not noted.is_error, noted.text
        assert not summed.is_error, summed.text
        assert session.call("add_summary_note", {"content": ""}).is_error
        assert session.call("add_declarative_note", {"content": "x", "category": "nonsense"}).is_error
        engine.run_jobs()
        assert "Dora" in session.memory({"action": "search", "query": "boat"}).text
        found = session.memory({"action": "search", "query": "parser", "category": "journal"}).text
        assert "Moved the parser" in found
        assert written(engine, tmp_path / "notes") == (1, 1, 0)
    declarative, summary = (
        (tmp_path / "notes" / f"{kind}_notes.yml").read_text(encoding="utf-8") for kind in ("declarative", "summary")
    )
    assert declarative.endswith("  category: core\n  content: The boat is called Dora.\n")
    assert summary.endswith("  category: parser store\n  content: Moved the parser.\n")


def test_notes_have_no_tools_unless_settings_allow_them() -> None:
    """P-12: they cost nothing where nobody asked for them; a session that may not write has none."""
    for given, wanted in (
        ({}, set()),
        ({"journal": {"enabled": True}}, set()),
        ({"memory": {"allow_tools": True}}, {"add_declarative_note"}),
        ({"memory": {"allow_tools": True, "write": False}}, set()),
        ({"memory": {"allow_tools": True, "enabled": False}, "journal": {"enabled": True}}, set()),
    ):
        with squidbot.load(given) as engine:
            names = {tool["function"]["name"] for tool in engine.session("s").tools}
            assert {name for name in names if name.endswith("_note")} == wanted
            if not engine.wired.loaded.settings.memory.write:
                assert engine.session("s").call("add_declarative_note", {"content": "The boat is blue."}).is_error


@pytest.mark.parametrize(
    "text",
    [
        "- category: project\n  content: Ship the parser in May\n- Use SQLite only\n",
        "project:\n- Ship the parser in May\nstyle: Use SQLite only\n",
        "notes:\n- {note: Ship the parser in May, timestamp: 2026-01-27}\n- {text: Use SQLite only}\n",
    ],
)
def test_notes_of_that_system_are_taken_over_once(tmp_path: Path, text: str) -> None:
    """P-12: in each of the forms that such files have; secrets are taken out of both."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "declarative_notes.yml").write_text(text, encoding="utf-8")
    (folder / "summary_notes.yml").write_text(
        "- 'Done. api_key: abcd1234'\n- Done again\n- Done again\n", encoding="utf-8"
    )
    with opened(tmp_path / "a") as engine:
        ann = Scope(user="ann")
        assert taken(engine, folder, scope=ann) == (2, 2, 1)
        assert taken(engine, folder, scope=ann) == (0, 0, 5)
        assert "Ship the parser in May" in facts(engine, ann)
        assert "Use SQLite only" in facts(engine, ann)
        assert "parser" not in facts(engine)
        summaries = {entry.summary for entry in engine.journal(ann).latest(9).entries}
        assert summaries == {"Done. api_key: [redacted]", "Done again"}
        assert engine.journal().days() == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("7\n", "expected a list of notes"),
        ("- 7\n", "note 1: expected a string"),
        ("- a\n- {content: ''}\n", "note 2: expected a string"),
        ("- {content: a, category: 7}\n", "note 1: expected a string"),
        ("- {content: a, timestamp: soon}\n", "note 1: 'soon' is not a time; write it as 2026-01-27T12:34:56Z"),
        ("- {content: a, timestamp: 1950-01-01}\n", "is before 1970"),
        ("style: [[1]]\n", "note 1 of style: expected a string"),
        ("- [\n", "line 2: no YAML"),
        ("- &a x\n- *a\n", "named by & and repeated by *"),
    ],
)
def test_file_that_is_no_list_of_notes_is_refused_before_anything_is_added(
    tmp_path: Path, text: str, wrong: str
) -> None:
    """With the file, and which note; the other file is not taken over either."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "declarative_notes.yml").write_text("- A good fact\n", encoding="utf-8")
    (folder / "summary_notes.yml").write_text(text, encoding="utf-8")
    with opened(tmp_path / "a") as engine:
        with pytest.raises(ConfigError) as caught:
            taken(engine, folder)
        assert f"{folder}/summary_notes.yml" in str(caught.value)
        assert wrong in str(caught.value)
        assert "good fact" not in facts(engine)


def test_what_can_t_be_read_or_written_says_what_to_do(tmp_path: Path) -> None:
    """No such files, bytes that are no UTF-8, a folder that is a file."""
    with opened(tmp_path / "a") as engine:
        with pytest.raises(SquidbotError, match=r"found neither declarative_notes.yml nor summary_notes.yml"):
            taken(engine, tmp_path / "none")
        (tmp_path / "summary_notes.yml").write_bytes(b"- \xff\n")
        with pytest.raises(StoreError, match="byte 2 is not UTF-8"):
            taken(engine, tmp_path)
        with pytest.raises(StoreError, match="check the disk and the path"):
            written(engine, tmp_path / "summary_notes.yml" / "below")


def test_notes_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-12: written and read by one command, as JSON, too; a failure is one line."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "squidbot.toml").write_text('[store]\npath = "s.db"\n', encoding="utf-8")

    def run(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(main, ["memory", *arguments])
        return done.exit_code, done.output

    assert run("add", "The boat is called Heron.", "--user", "ann")[0] == 0
    assert run("notes", "out", "--user", "ann") == (0, "1 fact, 0 entries in out\n")
    assert run("notes", "out", "--user", "ann")[0] != 0
    code, said = run("notes", "out", "--read", "--user", "bob", "--json")
    assert (code, json.loads(said)) == (0, {"folder": "out", "facts": 1, "entries": 0, "known": 0})
    assert run("notes", "out", "--read", "--user", "bob") == (0, "0 facts, 0 entries from out; 1 note known already\n")
    code, said = run("notes", "nowhere", "--read")
    assert code != 0
    assert "found neither" in said


def test_patterns_of_secrets_have_a_limit_of_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """In notes that are taken over, too: what meets it is switched off, and said."""
    with opened(tmp_path / "a") as engine:
        engine.journal().append(JournalEntry(NOW, "EMP-77 has moved the facts."))
        written(engine, tmp_path / "notes")
    ticks = count(0, 2)
    monkeypatch.setattr("squidbot.wiring.journal.time.thread_time", lambda: float(next(ticks)))
    journal = {"folder": str(tmp_path / "b"), "redact_patterns": [r"EMP-\d+"]}
    with squidbot.load({"store": {"path": str(tmp_path / "b.db")}, "journal": journal}) as engine:
        assert taken(engine, tmp_path / "notes").entries == 1
    assert r"pattern 'EMP-\\d+' took over a second and is now off" in caplog.text
