"""Files and journal entries come into the index by themselves (P-11, J-05)."""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING

import squidbot
from squidbot.core import events
from squidbot.core.errors import StoreError
from squidbot.core.journal import JournalEntry
from squidbot.core.memories import Scope
from squidbot.hookspecs import hookimpl
from squidbot.services import background, indexing
from squidbot.services.background import IndexOutcome
from squidbot.wiring.claims import claimed

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from squidbot.core.events import Event
    from squidbot.engine import Engine
    from squidbot.session import Session
    from squidbot.tools.tool import Answer


class Heard:
    """An extension that hears events."""

    def __init__(self) -> None:
        self.causes: list[str] = []

    @hookimpl
    def on_event(self, event: Event) -> None:
        """Keep why something is worse than it could be."""
        if event.name == events.DEGRADED:
            self.causes.append(event.cause)


def opened(tmp_path: Path, heard: Heard | None = None, *, journal: bool = True, scheduler: str = "none") -> Engine:
    """Return an engine over files, with a folder of notes that is to be indexed."""
    (tmp_path / "notes").mkdir(exist_ok=True)
    (tmp_path / "notes" / "zoo.md").write_text("The walrus likes herring.\n", encoding="utf-8")
    settings: dict[str, object] = {
        "store": {"path": f"{tmp_path}/s.db"},
        "memory": {"index_paths": [f"{tmp_path}/notes/*.md"]},
        "journal": {"enabled": journal, "folder": f"{tmp_path}/notes/journal"},
        "summary": {"scheduler": scheduler},
    }
    return squidbot.load(settings, extensions=[heard] if heard else [])


def searched(session: Session, query: str, category: str = "") -> str:
    """Return what the tool finds."""
    asked = {"action": "search", "query": query} | ({"category": category} if category else {})
    answer: Answer = session.memory(asked)
    return answer.text


def test_entry_that_a_job_made_is_found_without_anybody_indexing(tmp_path: Path) -> None:
    """J-05: "Journal files are indexed by the existing `IncrementalIndexer` (already scans `notes/`)."."""
    with opened(tmp_path) as engine:
        session = engine.session("s", scope=Scope(user="ann"))
        session.record({"role": "user", "content": "Move the walrus pool to the north side."}, "Done.")
        done = engine.run_jobs(session, reason="request")
        assert [type(one).__name__ for one in done][-2:] == ["JournalOutcome", "IndexOutcome"]
        assert "north side" in searched(session, "walrus pool", "journal")
        assert not any(isinstance(one, IndexOutcome) for one in engine.run_jobs(session)), "nothing is new"


def test_files_are_indexed_when_they_change(tmp_path: Path) -> None:
    """P-11: "Background indexing uses `IncrementalIndexer` to index **notes/** and **conversations/**"."""
    with opened(tmp_path, journal=False) as engine:
        session = engine.session("s")
        session.record({"role": "user", "content": "hello"}, "Hello.")
        (done,) = engine.run_jobs()
        assert isinstance(done, IndexOutcome)
        assert done.succeeded
        assert done.report is not None
        assert [change.became for change in done.report.outcomes] == ["new"]
        assert "herring" in searched(session, "walrus")
        assert engine.run_jobs() == ()
        (tmp_path / "notes" / "zoo.md").write_text("The walrus likes squid.\n", encoding="utf-8")
        assert len(engine.run_jobs()) == 1
        assert "likes squid" in searched(session, "walrus")
        assert "herring" not in searched(session, "walrus")
        (tmp_path / "notes" / "zoo.md").unlink()
        engine.run_jobs()
        assert "squid." not in searched(session, "walrus")


def test_files_of_the_settings_come_to_no_user_by_themselves(tmp_path: Path) -> None:
    """P-11: a user finds notes of the settings once somebody has indexed them for that user, and from then on."""
    with opened(tmp_path, journal=False) as engine:
        bob = engine.session("b", scope=Scope(user="bob"))
        bob.record({"role": "user", "content": "hello"}, "Hello.")
        engine.run_jobs()
        assert "herring" not in searched(bob, "walrus")
        engine.reindex(scope=bob.scope)
        (tmp_path / "notes" / "zoo.md").write_text("The walrus likes squid.\n", encoding="utf-8")
        engine.run_jobs()
        assert "likes squid" in searched(bob, "walrus")


def test_thread_indexes_and_no_request_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-11: in a thread of its own, after a turn; the turn is over before the index is."""
    goes_on, reads = threading.Event(), indexing.read

    def slow(*given: object) -> object:
        assert threading.current_thread() is not threading.main_thread()
        assert goes_on.wait(30)
        return reads(*given)  # type: ignore[arg-type]  # what `read` takes

    monkeypatch.setattr(indexing, "read", slow)
    with opened(tmp_path, journal=False, scheduler="thread") as engine:
        session = engine.session("s")
        session.record({"role": "user", "content": "hello"}, "Hello.")
        assert session.assemble("and now?").messages
        assert "herring" not in searched(session, "walrus")
        goes_on.set()
        ends = time.monotonic() + 30
        while "herring" not in searched(session, "walrus"):
            assert time.monotonic() < ends
            time.sleep(0.01)


def test_failure_is_an_event_and_the_turn_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-11: a store that fails is told by `degraded`; nothing of it is in what the model reads."""
    heard = Heard()

    def fails(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    with opened(tmp_path, heard, journal=False) as engine:
        monkeypatch.setattr(indexing, "reindex", fails)
        session = engine.session("s")
        session.record({"role": "user", "content": "hello"}, "Hello.")
        (done,) = engine.run_jobs()
        assert isinstance(done, IndexOutcome)
        assert not done.succeeded
        assert heard.causes == ["files were not indexed: the disk is full"]
        assert "disk is full" not in json.dumps(session.assemble("and now?").messages)


def test_entry_that_could_not_be_indexed_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """J-05: after a rest, also where nothing else is to be indexed and no further entry comes."""
    settings = {
        "store": {"path": f"{tmp_path}/s.db"},
        "journal": {"enabled": True, "folder": f"{tmp_path}/journal"},
        "summary": {"scheduler": "none"},
    }
    now = time.time()
    with squidbot.load(settings) as engine:
        session = engine.session("s")
        session.record({"role": "user", "content": "hello"}, "Hello.")
        engine.journal().append(JournalEntry(now, "Fed the walrus."))
        worker = background.BackgroundWorker(background.IndexWork())

        def fails(*_: object, **__: object) -> None:
            raise StoreError("the disk is full")

        with monkeypatch.context() as patched:
            patched.setattr(indexing, "reindex", fails)
            assert [one.succeeded for one in worker.work(session, background.WorkOrder(now=now))] == [False]
        assert worker.work(session, background.WorkOrder(now=now + background.INDEX_SECONDS - 1)) == []
        later = background.WorkOrder(now=now + background.INDEX_SECONDS)
        assert [one.succeeded for one in worker.work(session, later)] == [True]
        assert "Fed the walrus" in searched(session, "walrus", "journal")
        assert worker.work(session, background.WorkOrder(now=now + 9_999)) == []


def test_one_process_at_a_time_indexes_a_scope(tmp_path: Path) -> None:
    """P-11: while another one has the claim nothing is read; afterwards it is."""
    with opened(tmp_path, journal=False) as engine, opened(tmp_path, journal=False) as other:
        session = engine.session("s")
        session.record({"role": "user", "content": "hello"}, "Hello.")
        with claimed(other.wired.store, "index bot", "index", seconds=60.0) as claim:
            assert claim is not None
            assert claim()
            assert engine.run_jobs() == ()
        assert len(engine.run_jobs()) == 1


def test_thread_looks_at_files_once_a_minute_and_at_a_new_entry_at_once(tmp_path: Path) -> None:
    """P-11, J-05: turns follow each other fast, and files change seldom."""
    now = time.time()
    with opened(tmp_path) as engine:
        session = engine.session("s")
        session.record({"role": "user", "content": "hello"}, "Hello.")
        work, one = background.IndexWork(), background.watched(session)

        def due(after_seconds: float, reason: str = "") -> bool:
            return work.waits(one, background.WorkOrder(reason=reason, now=now + after_seconds))

        assert due(0)
        assert [outcome.succeeded for outcome in work.doing(one, background.WorkOrder(now=now))] == [True]
        assert not due(background.INDEX_SECONDS - 1)
        assert due(background.INDEX_SECONDS)
        assert due(1, "schedule")
        engine.journal().append(JournalEntry(now, "Fed the walrus."))
        assert due(1)


def test_nothing_is_made_where_nothing_is_to_be_indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-11: without paths and a journal, or with memory off, there is no thread, no folder, and no work."""
    monkeypatch.chdir(tmp_path)
    for settings in ({}, {"memory": {"enabled": False, "index_paths": ["notes"]}}):
        with squidbot.load(settings) as engine:
            assert not engine.wired.remembering.indexes
            session = engine.session("s")
            session.record({"role": "user", "content": "hello"}, "Hello.")
            assert engine._behind is None
    assert [path.name for path in tmp_path.iterdir()] == []
