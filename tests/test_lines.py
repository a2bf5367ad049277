"""Facts and the journal with lines: what was said on a line that nobody talks on is not told, until it is back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import squidbot
from squidbot.core.kinds import PLAN
from squidbot.core.memories import Source
from squidbot.core.memory.view import MemoryQuery, NewMemory
from squidbot.services.background import BackgroundWorker, JournalWork, WorkOrder

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1_700_000_000.0
MINUTE = 60.0
ANN = squidbot.Scope(user="ann", bot="b")
TOOLS = [squidbot.memory_tool()]


def opened(**more: object) -> squidbot.Engine:
    """Return an engine that learns by rules when it is told to."""
    return squidbot.load({"memory": {"extract": "rules"}, "summary": {"scheduler": "none"}, **more})


def turn(session: squidbot.Session, text: str, now: float = NOW) -> squidbot.Assembly:
    """Say something, and record an answer."""
    made = session.assemble(text, tools=TOOLS, now=now)
    session.record(*made.incoming, "I see.", now=now)
    return made


def told(session: squidbot.Session) -> str:
    """Return all that the next request says."""
    return str(session.assemble("And now?", tools=TOOLS, now=NOW + 60).messages)


def searched(session: squidbot.Session, query: str, **more: object) -> str:
    """Return what the model's search finds."""
    return session.memory({"action": "search", "query": query, **more}, now=NOW).text


def listed(session: squidbot.Session) -> str:
    """Return what the model's list has."""
    return session.memory({"action": "list"}, now=NOW).text


def test_fact_of_another_line_is_not_told_and_comes_back_with_it() -> None:
    """By search, list and in the head of the request, here and in another session; people see it, marked."""
    with opened() as engine:
        session, other = engine.session("s", scope=ANN), engine.session("t", scope=ANN)
        turn(session, "Hello.")
        turn(session, "I live in Lisbon.")
        engine.run_jobs()
        assert "Lisbon" in searched(session, "where do I live") + listed(other)
        assert "Lisbon" in told(engine.session("u", scope=ANN))
        line = session.branch("m2")
        for one in (session, other):
            assert "Lisbon" not in searched(one, "where do I live") + listed(one)
        assert "Lisbon" not in told(engine.session("v", scope=ANN))
        shown = engine.memories(ANN).listed(MemoryQuery(), NOW).text
        assert "Lisbon" in shown
        assert "on another line" in shown
        session.switch(0)
        assert "Lisbon" in searched(session, "where do I live") + listed(other)
        assert "on another line" not in engine.memories(ANN).listed(MemoryQuery(), NOW).text
        session.switch(line)
        turn(session, "I live in Lisbon.")
        engine.run_jobs()
        assert "Lisbon" in listed(session)


def test_what_a_left_line_replaced_holds_again() -> None:
    """One fact after the other, as each line says; nothing of a line that was left stands in the way of a new fact."""
    with opened() as engine:
        session = engine.session("s", scope=ANN)
        turn(session, "I live in Lisbon.")
        engine.run_jobs()
        turn(session, "I live in Rome now.", NOW + 9)
        engine.run_jobs()
        assert "Rome" in listed(session)
        line = session.branch("m2")
        assert "live" in listed(session)
        assert "Lisbon" in listed(session)
        assert "Rome" not in listed(session) + searched(session, "I live in")
        assert "Lisbon" in searched(session, "I live in")
        turn(session, "I live in Oslo now.", NOW + 5)
        engine.run_jobs()
        assert "Oslo" in listed(session)
        session.switch(0)
        now = searched(session, "I live in")
        assert "Oslo" not in now + listed(session)
        assert "Rome" in now
        assert "Oslo" not in searched(session, "I live in", past=True)
        session.switch(line)
        assert "Rome" not in listed(session) + searched(session, "I live in")
        assert "Oslo" in listed(session)


def test_pages_of_a_list_pass_what_stands_on_other_lines() -> None:
    """Each once, in order, however many of another line are in between."""
    with opened() as engine:
        session = engine.session("s", scope=ANN)
        memories = engine.memories(ANN)
        turn(session, "Hello.")
        for number in range(30):
            source = Source("s", number % 2, number % 2)
            memories.add(NewMemory(f"Number {number} is here.", source=source), NOW + number)
        session.branch("m1")
        after, found = "", ""
        for _ in range(9):
            page = session.memory({"action": "list", "after": after}, now=NOW).text
            lines = [line for line in page.split("\n") if line.startswith("- f-")]
            found += "\n".join(lines)
            after = lines[-1][2:14] if lines else after
        assert [f"Number {number} is here" in found for number in range(30)] == [True, False] * 15
        assert found.count("Number 4 is") == 1


def causes(session: squidbot.Session) -> list[str]:
    """Return why each plan of the line that is talked on was made."""
    return [plan.cause for plan in PLAN.all(session.core.current_line(), session.session_id)]


def test_plan_of_a_new_line_is_priced_where_it_is_another_one() -> None:
    """A head that tells a fact of another line is made anew; what both lines share stays as it is, byte for byte."""
    with opened() as engine:
        session = engine.session("s", scope=ANN, window_tokens=4_096)
        for number in range(12):
            turn(session, f"Question {number}. " + "And so on. " * 60)
        turn(session, "I live in Lisbon. " + "And so on. " * 60)
        engine.run_jobs()
        assert session.compact() is not None
        assert "Lisbon" in str(turn(session, "Where do I live?").messages[0])
        turn(session, "And so?")
        first, before = causes(session), session.assemble("More?", tools=TOOLS, now=NOW).messages
        session.branch("m28")
        again = session.assemble("More?", tools=TOOLS, now=NOW).messages
        assert causes(session) == first
        assert again[:-1] == before[: len(again) - 1]
        session.switch(0)
        session.branch("m20")
        made = session.assemble("More?", tools=TOOLS, now=NOW).messages
        assert "Lisbon" not in str(made)
        assert causes(session)[-1] == "branch"
        plan = PLAN.state(session.core.current_line(), "s")[-1]
        assert plan.price is not None
        assert plan.first_changed is not None
        assert plan.price.written_tokens > 0


def test_fact_whose_message_was_removed_leaves_the_head() -> None:
    """Others were said behind it, and stay."""
    with opened() as engine:
        session = engine.session("s", scope=ANN, window_tokens=4_096)
        turn(session, "Hello. " + "And so on. " * 60)
        turn(session, "I live in Lisbon.")
        turn(session, "I work for Acme.")
        engine.run_jobs()
        for number in range(12):
            turn(session, f"Question {number}. " + "And so on. " * 60)
        head = str(turn(session, "Where do I live?").messages[0])
        assert "Lisbon" in head
        assert "Acme" in head
        session.core.branch(session.lines()[0].last_seq + 1, [(2, 2)], now=NOW)
        made = session.assemble("And now?", tools=TOOLS, now=NOW)
        assert made.report.elsewhere == 1
        assert "1 not on this line" in str(made)
        assert "Lisbon" not in str(made.messages)
        assert "Acme" in str(made.messages[0])
        session.switch(0)
        assert head == str(session.assemble("And now?", tools=TOOLS, now=NOW).messages[0])


def test_journal_of_another_line_is_not_told(tmp_path: Path) -> None:
    """The newest entry from messages that stand is: older, or of another session."""
    journal = {"enabled": True, "folder": f"{tmp_path}/journal"}
    with opened(journal=journal, history={"isolation": "global"}) as engine:
        session, worker = engine.session("s"), BackgroundWorker(JournalWork(20 * MINUTE))
        session.record({"role": "user", "content": "Move it."}, "[DECISION] One file for all facts", now=NOW)
        assert len(worker.work(session, WorkOrder(now=NOW + 20 * MINUTE))) == 1
        session.record({"role": "user", "content": "No."}, "[DECISION] Two files for all facts", now=NOW + 60)
        assert len(worker.work(session, WorkOrder(now=NOW + 40 * MINUTE))) == 1
        assert "Two files" in str(engine.session("t").assemble("Where were we?", now=NOW + 50 * MINUTE).messages)
        session.branch("m2")
        page = session.call("list_journal_entries", {}, now=NOW + 50 * MINUTE).text
        assert ("One file" in page, "Two files" in page) == (True, False)
        for one in (engine.session("u"), session):
            told = str(one.assemble("Where were we?", now=NOW + 50 * MINUTE).messages)
            assert "Two files" not in told
            assert "One file" in told
        session.switch(0)
        assert "Two files" in str(engine.session("v").assemble("Where were we?", now=NOW + 50 * MINUTE).messages)
