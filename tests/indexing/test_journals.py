"""What journals say, found in memory by their own name (J-05)."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from click.testing import CliRunner

import squidbot
from squidbot.cli import main
from squidbot.core.journal import JournalEntry
from squidbot.core.memories import Scope
from squidbot.core.memory.view import MemoryQuery

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from squidbot.engine import Engine

NOW = 1_769_517_296.0  # 2026-01-27T12:34:56Z


def opened(tmp_path: Path) -> Engine:
    """Return an engine over files, with a note that says what the journal says."""
    (tmp_path / "notes").mkdir(exist_ok=True)
    (tmp_path / "notes" / "plan.md").write_text(
        "# journal of walruses\n\nThe walrus likes herring.\n", encoding="utf-8"
    )
    text = '[store]\npath = "s.db"\n[memory]\nindex_paths = ["notes"]\nwrite = true\n[journal]\nenabled = true\n'
    (tmp_path / "squidbot.toml").write_text(text, encoding="utf-8")
    return squidbot.load(tmp_path / "squidbot.toml")


def test_journal_is_found_in_memory_by_its_category(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """J-05: the tool, and the command, here for the shared scope; facts and other notes are found without it alone."""
    with opened(tmp_path) as engine:
        engine.journal().append(
            JournalEntry(NOW, "Fed the walrus.", decisions=("herring for the walrus",), tags=("zoo",))
        )
        assert engine.reindex().count("new") == 2
        session = engine.session("s")
        session.memory({"action": "add", "text": "The walrus is called Brunhilde."})
        every = session.memory({"action": "search", "query": "walrus"}).text
        for words in ("Brunhilde", "Fed the walrus", "likes herring"):
            assert words in every
        told = session.memory({"action": "search", "query": "walrus", "category": "journal"}).text
        assert "Fed the walrus" in told
        assert "herring for the walrus" in told
        assert "notes/journal/2026-01-27.jsonl" in told
        assert "Brunhilde" not in told
        assert "likes herring" not in told
        assert '"journal"' in json.dumps(session.tools[1])
        wrong = session.memory({"action": "add", "text": "x", "category": "journal"})
        assert wrong.is_error
        assert engine.reindex().count("changed") == 0
    monkeypatch.chdir(tmp_path)
    shown = CliRunner().invoke(main, ["memory", "search", "walrus", "--category", "journal", "--shared"])
    assert shown.exit_code == 0, shown.output
    assert "Fed the walrus" in shown.stdout
    assert "Brunhilde" not in shown.stdout


def test_journal_of_another_user_and_the_page_are_found_by_nobody(tmp_path: Path) -> None:
    """Promise 12: a folder that is indexed as a whole has the journals of all below it; each finds its own alone."""
    with opened(tmp_path) as engine:
        ann = Scope(user="ann")
        engine.journal().append(JournalEntry(NOW, "Nobody's heron."))
        engine.journal(ann).append(JournalEntry(NOW, "Heron of ann."))
        for scope, mine, others in ((Scope(), "Nobody's heron", "of ann"), (ann, "Heron of ann", "Nobody's")):
            paths = [outcome.path for outcome in engine.reindex(scope=scope).outcomes]
            assert not any("daily_summary" in path for path in paths)
            told = engine.memories(scope).search(MemoryQuery("heron", tag="journal"), time.time()).text
            assert mine in told
            assert others not in told
