"""Entries of the journal as jobs: each occasion, by rule and by a model, over a real store."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.core import events
from squidbot.core.errors import ConfigError, LLMError
from squidbot.core.memories import Scope
from squidbot.core.messages import Completion
from squidbot.core.transcript.bookkeeping import JOURNALED
from squidbot.hookspecs import hookimpl
from squidbot.services.background import BackgroundWorker, JournalOutcome, JournalWork, WorkOrder

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.core.events import Event
    from squidbot.core.journal import JournalEntry
    from squidbot.engine import Engine
    from squidbot.hookspecs import Register
    from squidbot.session import Session

NOW = 1_769_517_296.0  # 2026-01-27T12:34:56Z
MINUTE = 60.0


class Writer:
    """A model that answers what it is told to, and an extension that offers it and hears events."""

    name = "writer"

    def __init__(self, answer: str = "") -> None:
        self.answer, self.prompts, self.heard = answer, list[str](), list["Event"]()

    @hookimpl
    def register_adapters(self, register: Register) -> None:
        """Offer it."""
        register.llm("writer", lambda _: self)

    @hookimpl
    def on_event(self, event: Event) -> None:
        """Keep what happens."""
        self.heard.append(event)

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        """Answer, or fail where there is nothing to answer."""
        assert system
        assert max_output_tokens > 0
        self.prompts.append(prompt)
        if not self.answer:
            raise LLMError("unreachable", "nobody is there")
        return Completion(self.answer, 10, 5)

    def names(self) -> list[str]:
        """Return the names of what happened."""
        return [one.name for one in self.heard]


def opened(tmp_path: Path, heard: Writer | None = None, **given: object) -> Engine:
    """Return an engine over files, whose jobs are done when they are asked for; users may share its sessions."""
    journal = {"enabled": True, "folder": f"{tmp_path}/journal", **given}
    settings = {"store": {"path": f"{tmp_path}/s.db"}, "journal": journal, "summary": {"scheduler": "none"}}
    return squidbot.load({**settings, "history": {"isolation": "global"}}, extensions=[heard] if heard else [])


def worked(session: Session) -> None:
    """Have a session say a decision, a file that is written, a step, and a question."""
    arguments = json.dumps({"path": "src/store.py", "content": "x = 1"})
    broken = json.dumps({"command": "pytest -q"})
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "write_file", "arguments": arguments}},
        {"id": "c2", "type": "function", "function": {"name": "run", "arguments": broken}},
    ]
    session.record({"role": "user", "content": "Move the facts into SQLite, please."}, now=NOW)
    session.record({"role": "assistant", "content": "[DECISION] One file for all facts", "tool_calls": calls}, now=NOW)
    session.record(
        {"role": "tool", "tool_call_id": "c1", "content": "written"},
        {"role": "tool", "tool_call_id": "c2", "content": "ERROR: 2 tests failed in test_store.py"},
        now=NOW + 1,
    )
    session.record(
        "[CHECKPOINT] facts moved - COMPLETED\n[NEXT] mend test_store.py\nShall I drop the old file?", now=NOW + 2
    )


def entries(engine: Engine, scope: Scope | None = None) -> tuple[JournalEntry, ...]:
    """Return all entries, newest first."""
    return engine.journal(scope or Scope()).latest(99).entries


def test_entry_by_rule_tells_what_was_decided_done_open_touched_and_failed(tmp_path: Path) -> None:
    """J-02: from marked lines, from files that a tool changed, and from what failed; with its run."""
    with opened(tmp_path) as engine:
        session = engine.session("s")
        worked(session)
        (kept,) = engine.iterated(session, "run-7")
        assert isinstance(kept, JournalOutcome)
        assert kept.succeeded
        (entry,) = entries(engine)
        assert entry == kept.entry
        assert (entry.run_id, entry.source_session, entry.tags) == ("run-7", "s", ("iteration",))
        assert entry.decisions == ("One file for all facts",)
        assert entry.progress == ("facts moved - COMPLETED",)
        assert entry.open_questions == ("mend test_store.py", "Shall I drop the old file?")
        assert entry.files_touched == ("src/store.py",)
        assert entry.errors == ("run: ERROR: 2 tests failed in test_store.py",)
        assert "Move the facts into SQLite" in entry.summary
        assert engine.iterated(session) == (), "nothing new was said"
        assert JOURNALED.state(engine.wired.store, "s").until_seq == 5


def test_entry_is_made_after_the_interval_and_tells_only_what_is_new(tmp_path: Path) -> None:
    """J-02: twenty minutes; not before, and not without a new message."""
    with opened(tmp_path) as engine:
        session, work = engine.session("s"), JournalWork(20 * MINUTE)
        worker = BackgroundWorker(work)
        session.record({"role": "user", "content": "First question about parsers"}, "An answer", now=NOW)
        assert worker.work(session, WorkOrder(now=NOW + 19 * MINUTE)) == []
        assert len(worker.work(session, WorkOrder(now=NOW + 20 * MINUTE))) == 1
        assert worker.work(session, WorkOrder(now=NOW + 60 * MINUTE)) == []
        session.record({"role": "user", "content": "Second question about trees"}, "More", now=NOW + 21 * MINUTE)
        assert worker.work(session, WorkOrder(now=NOW + 39 * MINUTE)) == []
        assert len(worker.work(session, WorkOrder(now=NOW + 40 * MINUTE))) == 1
        newest, first = entries(engine)
        assert "trees" in newest.summary
        assert "parsers" not in newest.summary
        assert "parsers" in first.summary
        assert newest.tags == ("interval",)


def test_entry_is_made_at_three_quarters_full_once(tmp_path: Path) -> None:
    """J-02, J-03: the rung `journal` of the ladder, at .75, through a session; told by its event."""
    heard = Writer()
    with opened(tmp_path, heard) as engine:
        session = engine.session("s", window_tokens=4_096)
        made: list[str] = []
        for number in range(60):
            request = session.assemble(f"{number}: " + "some more words of it " * 12)
            session.record(request.incoming, "Yes.")
            made += [
                job.entry.tags[0] for job in engine.run_jobs(session) if isinstance(job, JournalOutcome) and job.entry
            ]
            if made:
                break
        assert made == ["pressure"]
        pressed = [one for one in heard.heard if one.name == events.CONTEXT_PRESSURE and one.cause == "journal"]
        assert len(pressed) == 1
        assert pressed[0].fraction >= 0.75
        assert heard.names().count(events.JOURNAL_ENTRY_CREATED) == 1


@pytest.mark.parametrize("occasion", ["summary", "snapshot"])
def test_entry_is_made_when_a_summary_or_a_snapshot_was(tmp_path: Path, occasion: str) -> None:
    """J-02: what was shortened or kept by name is a good place to say what was done."""
    with opened(tmp_path) as engine:
        session = engine.session("s", window_tokens=4_096)
        for number in range(24):
            session.record({"role": "user", "content": f"Why {number}?"}, f"{number} is a number. " + "word " * 60)
        assert not [job for job in engine.run_jobs(session) if isinstance(job, JournalOutcome)]
        if occasion == "summary":
            assert session.compact() is not None
        else:
            session.snapshot("before the move")
        (kept,) = [job for job in engine.run_jobs(session) if isinstance(job, JournalOutcome)]
        assert kept.entry
        assert kept.entry.tags == (occasion,)


def test_thread_of_the_engine_makes_entries_behind_the_turn(tmp_path: Path) -> None:
    """Nobody has to ask: a snapshot, then the next message."""
    journal = {"enabled": True, "folder": f"{tmp_path}/journal"}
    with squidbot.load({"store": {"path": f"{tmp_path}/s.db"}, "journal": journal}) as engine:
        session = engine.session("s")
        session.record({"role": "user", "content": "Keep this"}, "JournalOutcome.")
        session.snapshot("now")
        session.record({"role": "user", "content": "And go on"}, "Yes.")
        ends = time.monotonic() + 60
        while not entries(engine) and time.monotonic() < ends:
            time.sleep(0.02)
        assert [entry.tags for entry in entries(engine)] == [("snapshot",)]
    assert (tmp_path / "journal" / "daily_summary.md").exists()


def test_model_writes_the_entry_and_what_rules_found_stays(tmp_path: Path) -> None:
    """Summary and lists are the model's, marked lines and files are there in any case; it reads no secret."""
    answer = (
        'Here it is:\n```json\n{"summary": "Facts moved.", "decisions": ["One file for all facts", "No YAML"]}\n```'
    )
    writer = Writer(answer)
    with opened(tmp_path, writer, llm="writer") as engine:
        session = engine.session("s")
        worked(session)
        session.record({"role": "user", "content": "password: hunter2hunter2"}, now=NOW)
        engine.iterated(session)
        (entry,) = entries(engine)
        assert entry.summary == "Facts moved."
        assert entry.decisions == ("One file for all facts", "No YAML")
        assert entry.files_touched == ("src/store.py",)
        assert entry.errors
        assert "hunter2" not in writer.prompts[0]
        assert "Move the facts into SQLite" in writer.prompts[0]


@pytest.mark.parametrize(
    "answer", ["", "I can't do that.", '{"summary": 7}', "[" * 5_000, '{"summary": "x", "decisions": "y"']
)
def test_failure_of_the_model_never_becomes_content(tmp_path: Path, answer: str) -> None:
    """The entry is made by rule, and the failure is told."""
    writer = Writer(answer)
    with opened(tmp_path, writer, llm="writer") as engine:
        session = engine.session("s")
        worked(session)
        engine.iterated(session)
        (entry,) = entries(engine)
        assert "Move the facts into SQLite" in entry.summary
        assert next(one.cause for one in heard_of(writer, events.DEGRADED)).startswith("journal: model failed")


def heard_of(writer: Writer, name: str) -> list[Event]:
    """Return the events of a name."""
    return [one for one in writer.heard if one.name == name]


def test_heartbeat_is_told_at_each_interval_in_which_something_was_said(tmp_path: Path) -> None:
    """J-06: how much is untold; a session in which nobody speaks has none."""
    heard = Writer()
    with opened(tmp_path, heard) as engine:
        session = engine.session("s")
        session.record({"role": "user", "content": "Hello"}, "Hi")
        for _ in range(2):
            engine.run_jobs(session, reason="schedule")
        assert [one.cause for one in heard_of(heard, events.JOURNAL_HEARTBEAT)] == [
            "2 messages since the beginning: Hello; Hi"
        ]
        session.record({"role": "user", "content": "More"}, "Yes")
        engine.run_jobs(session, reason="schedule")
        assert heard_of(heard, events.JOURNAL_HEARTBEAT)[-1].cause == "4 messages since the beginning: More; Yes"
        assert entries(engine) == ()


def test_heartbeat_says_in_two_lines_what_has_happened(tmp_path: Path) -> None:
    """J-06: "emits a summarized status update to the UI/console every N minutes"; by rule, and without secrets."""
    heard = Writer()
    with opened(tmp_path, heard, include_files=False) as engine:
        session = engine.session("s", scope=Scope(user="ann"))
        worked(session)
        session.record({"role": "user", "content": "The api_key: abcd1234efgh"}, "[DECISION] No more files", now=NOW)
        engine.run_jobs(session, reason="schedule", limit=0)
        assert heard_of(heard, events.JOURNAL_HEARTBEAT) == []
        BackgroundWorker(JournalWork(20 * MINUTE)).work(session, WorkOrder(reason="schedule", now=NOW))
        (told,) = heard_of(heard, events.JOURNAL_HEARTBEAT)
        assert told.scope.user == "ann"
        said, items = told.cause.splitlines()
        assert said.startswith("7 messages since the beginning: asked: Move the facts into SQLite, please.; ")
        assert items.startswith("open: mend test_store.py; decided: No more files (+1); failed: run: ERROR: 2 tests")
        assert items.endswith("; done: facts moved - COMPLETED")
        assert "abcd1234" not in told.cause
        assert heard.prompts == []


def test_heartbeat_quotes_no_other_user(tmp_path: Path) -> None:
    """J-06: of a session with several users each is told by itself."""
    heard = Writer()
    with opened(tmp_path, heard) as engine:
        for user in ("ann", "bob"):
            session = engine.session("s", scope=Scope(user=user))
            session.record({"role": "user", "content": f"I am {user}"}, "Hi", now=NOW)
        BackgroundWorker(JournalWork(20 * MINUTE)).work(session, WorkOrder(reason="schedule", now=NOW))
        causes = {one.scope.user: one.cause for one in heard_of(heard, events.JOURNAL_HEARTBEAT)}
        assert causes == {
            "ann": "2 messages since the beginning: I am ann; Hi",
            "bob": "2 messages since the beginning: I am bob; Hi",
        }


def test_full_day_lets_the_session_rest_and_loses_nothing(tmp_path: Path) -> None:
    """V21: refused with an event, tried again later, and then of all that was said since."""
    heard = Writer()
    with opened(tmp_path, heard, max_entries_per_day=1) as engine:
        session, work = engine.session("s"), JournalWork(20 * MINUTE)
        worker = BackgroundWorker(work)
        session.record({"role": "user", "content": "About parsers"}, "Yes", now=NOW)
        assert worker.work(session, WorkOrder(now=NOW + 20 * MINUTE))[0].succeeded
        session.record({"role": "user", "content": "About trees"}, "Yes", now=NOW + 20 * MINUTE)
        refused = worker.work(session, WorkOrder(now=NOW + 40 * MINUTE))
        assert [one.succeeded for one in refused] == [False]
        assert isinstance(refused[0], JournalOutcome)
        assert "2026-01-27" in refused[0].why
        assert len(heard_of(heard, events.DEGRADED)) == 1
        assert worker.work(session, WorkOrder(now=NOW + 41 * MINUTE)) == [], "it rests"
        assert worker.work(session, WorkOrder(now=NOW + 13 * 60 * MINUTE))[0].succeeded, "the next day has room"
        assert "trees" in entries(engine)[0].summary


def test_folder_that_cant_be_written_never_fails_a_turn(tmp_path: Path) -> None:
    """Promise 10: the failure is in what is returned, and an event."""
    (tmp_path / "journal").write_text("in the way")
    heard = Writer()
    with opened(tmp_path, heard) as engine:
        session = engine.session("s")
        session.record({"role": "user", "content": "Hello"}, "Hi")
        (kept,) = engine.iterated(session)
        assert not kept.succeeded
        assert "nothing was written" in heard_of(heard, events.DEGRADED)[0].cause
        session.record({"role": "user", "content": "And?"}, "Still here")


def test_messages_of_two_users_in_one_session_become_an_entry_each(tmp_path: Path) -> None:
    """Promise 12: no line tells one what another one said, not even in a channel that both are in."""
    with opened(tmp_path) as engine:
        ann, bob = Scope(user="ann"), Scope(user="bob", agent="helper")
        engine.session("c", scope=ann).record({"role": "user", "content": "My cat is Minka"}, "Noted.")
        session = engine.session("c", scope=bob)
        session.record({"role": "user", "content": "My dog is Rex"}, "Noted.")
        assert len(engine.iterated(session)) == 2
        (of_ann,), (of_bob,) = entries(engine, ann), entries(engine, bob)
        assert "Minka" in of_ann.summary
        assert "Rex" not in of_ann.summary
        assert "Rex" in of_bob.summary
        assert "Minka" not in of_bob.summary
        assert of_bob.agent_id == "helper"
        assert entries(engine) == ()


def test_one_at_a_time_writes_in_a_scope_s_journal(tmp_path: Path) -> None:
    """D6: another process, or thread, gets nothing to do, and what was asked for stays asked for."""
    with opened(tmp_path) as engine:
        session, work = engine.session("s"), JournalWork(20 * MINUTE)
        session.record({"role": "user", "content": "Hello"}, "Hi")
        work.ask("s", "snapshot")
        place = f"journal {engine.wired.journals.place()}"
        store = engine.wired.store
        assert isinstance(store, squidbot.core.ports.SupportsClaims)
        assert store.claim(place, "journal", "another process", time.time(), 60.0)
        assert BackgroundWorker(work).work(session, WorkOrder()) == []
        store.release(place, "journal", "another process")
        assert BackgroundWorker(work).work(session, WorkOrder())[0].succeeded


def test_entry_has_the_tokens_that_providers_reported(tmp_path: Path) -> None:
    """`token_usage.total`: what the session had used by then; None where nobody reports."""
    with opened(tmp_path) as engine:
        session = engine.session("s")
        for _ in range(2):
            request = session.assemble("Hello")
            session.record(request.incoming, "Hi", usage={"prompt_tokens": 20, "completion_tokens": 5})
        engine.iterated(session)
        assert entries(engine)[0].total_tokens == 50


def test_next_request_is_the_same_whether_an_entry_was_made_or_not(tmp_path: Path) -> None:
    """Promise 7: a record of the journal in the session changes nothing of what is sent; restart included."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    sent = []
    for name in ("a", "b"):
        with opened(tmp_path / name) as engine:
            session = engine.session("s")
            worked(session)
            first = session.assemble("And now?", now=NOW + 3)
            session.record(first.incoming, "Done.", now=NOW + 4)
            if name == "a":
                assert engine.iterated(session)
            sent.append([first.messages, session.assemble("More", now=NOW + 5).messages])
            again = engine.session("s")
            assert again.assemble("More", now=NOW + 5).messages == sent[-1][1]
    assert sent[0] == sent[1]


def test_iteration_is_refused_when_the_journal_is_off() -> None:
    """With the key to set."""
    with squidbot.load({}) as engine, pytest.raises(ConfigError, match="journal is off"):
        engine.iterated(engine.session("s"))
