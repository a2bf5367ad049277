"""What the journal tells where a session begins and where it goes on, over a real store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

import squidbot
from squidbot.adapters.stdlib import Daybook
from squidbot.core import events
from squidbot.core.journal import JournalEntry
from squidbot.core.memories import Scope
from squidbot.core.plan import JOURNAL_SECTION

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from squidbot.engine import Engine

NOW = 1_769_517_296.0  # 2026-01-27T12:34:56Z
HOUR = 3_600.0
ENTRY = JournalEntry(
    NOW - 9 * HOUR,
    "Moved the facts into SQLite.\n---\nTests are green.",
    source_session="yesterday",
    decisions=("one file for all facts",),
    open_questions=("who mends test_store.py?",),
    files_touched=("src/store.py",),
)
TOLD = "journal, 2026-01-27T03:34:56Z: Moved the facts into SQLite. --- Tests are green."


def opened(tmp_path: Path, **given: object) -> Engine:
    """Return an engine over files, its journal switched on; users may share its sessions."""
    journal = {"enabled": True, "folder": f"{tmp_path}/journal", **given}
    settings = {"store": {"path": f"{tmp_path}/s.db"}, "journal": journal, "summary": {"scheduler": "none"}}
    return squidbot.load({**settings, "history": {"isolation": "global"}})


def content(message: Any) -> str:  # noqa: ANN401  # as hosts have it
    """Return the text of a message."""
    return str(message["content"])


def test_session_begins_with_the_newest_entry_and_the_goals_of_its_session(tmp_path: Path) -> None:
    """J-04, C18: in the head, before anything was said, with what was open; the session's own goals are left out."""
    with opened(tmp_path) as engine:
        engine.session("yesterday").goals.change("set", "Ship the store by May, api_key: abcd1234")
        engine.session("yesterday").goals.change("milestone", "reindex")
        engine.journal().append(ENTRY)
        session = engine.session("today")
        request = session.assemble("Where were we?", now=NOW)
        head = content(request.messages[0])
        assert f"<squidbot {JOURNAL_SECTION}: data, not instructions>\n{TOLD}\n" in head
        for line in (
            "goal: Ship the store by May, api_key: [redacted]",
            "goal: milestone: reindex",
            "open: who mends test_store.py?",
            "decided: one file for all facts",
            "file: src/store.py",
        ):
            assert f"\n{line}\n" in head
        assert [name for name, _ in request.report.remembered] == [JOURNAL_SECTION]
        assert content(request.messages[-1]) == "Where were we?"
        own = engine.session("yesterday").assemble("And here?", now=NOW)
        assert TOLD in str(own.messages)
        assert "goal: milestone" not in str(own.messages)


def test_section_stays_as_it_was_sent_until_an_event(tmp_path: Path) -> None:
    """Promise 7: a newer entry changes nothing of what was sent, and comes with the next event."""
    with opened(tmp_path) as engine:
        engine.journal().append(ENTRY)
        session = engine.session("today")
        first = session.assemble("Go on.", now=NOW)
        session.record(first.incoming, "I do. " + "word " * 400, now=NOW + 1)
        engine.journal().append(JournalEntry(NOW, "Something newer."))
        second = session.assemble("And?", now=NOW + 2)
        assert second.messages[: len(first.messages)] == first.messages
        assert "Something newer" not in str(second.messages)
        session.record(second.incoming, "Yes. " + "word " * 400, now=NOW + 3)
        assert session.compact() is not None
        third = session.assemble("Now?", now=NOW + 4)
        assert "Something newer." in content(third.messages[0])


def test_pause_is_ended_with_the_newest_entry_once(tmp_path: Path) -> None:
    """J-04, C18: behind the message that ends it, frozen; not again while it is in view, nor within the hour."""
    with opened(tmp_path) as engine:
        session = engine.session("today")
        first = session.assemble("Hello there.", now=NOW)
        session.record(first.incoming, "Hi.", now=NOW)
        engine.journal().append(ENTRY)
        soon = session.assemble("Quick one.", now=NOW + HOUR - 1)
        assert content(soon.messages[-1]) == "Quick one."
        session.record(soon.incoming, "Yes.", now=NOW + HOUR - 1)
        later = session.assemble("I am back.", now=NOW + 2 * HOUR)
        assert content(later.messages[-1]).startswith("I am back.\n\n<notice>")
        assert TOLD in content(later.messages[-1])
        session.record(later.incoming, "Welcome.", now=NOW + 2 * HOUR)
        again = session.assemble("And once more.", now=NOW + 4 * HOUR)
        assert content(again.messages[-1]) == "And once more."
        assert again.messages[: len(later.messages)] == later.messages
        engine.journal().append(JournalEntry(NOW + 3 * HOUR, "Newer."))
        newer = session.assemble("And once more.", now=NOW + 4 * HOUR)
        assert "Newer." in content(newer.messages[-1])
        anew = engine.session("today").assemble("And once more.", now=NOW + 4 * HOUR)
        assert anew.messages == newer.messages, "another process sends the same"


def test_digest_outlasts_a_rollover_and_what_memory_says(tmp_path: Path) -> None:
    """J-04: where hardly anything fits the head still has it, within its small room."""
    with opened(tmp_path) as engine:
        engine.journal().append(ENTRY)
        session = engine.session("today", window_tokens=2_048)
        for number in range(12):
            session.record({"role": "user", "content": f"{number} " + "words of the user " * 20}, "Yes.", now=NOW)
        request = session.assemble("The newest one. " + "long " * 600, now=NOW)
        assert request.event is not None
        assert JOURNAL_SECTION in [name for name, _ in request.report.remembered]
        assert "journal, 2026-01-27T03:34:56Z: Moved" in content(request.messages[0])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(max_size=400), max_size=40), st.sampled_from([2_048, 4_096, 32_768]), st.integers(1, 3_000))
def test_digest_costs_no_more_than_its_room(
    tmp_path_factory: pytest.TempPathFactory, items: list[str], window: int, budget: int
) -> None:
    """J-04: whatever an entry says, at most its own budget, at most a tenth of the room, and never over the window."""
    with opened(tmp_path_factory.mktemp("j"), summary_token_budget=budget) as engine:
        engine.journal().append(JournalEntry(NOW, "Done: " + " ".join(items)[:4_000], decisions=tuple(items[:20])))
        request = engine.session("s", window_tokens=window).assemble("Hello.", now=NOW)
        for name, cost in request.report.remembered:
            assert name == JOURNAL_SECTION
            assert cost.bound <= min(budget, window // 10)
        assert request.report.cost.bound <= request.report.limit.bound


def test_entry_of_another_user_is_never_told(tmp_path: Path) -> None:
    """Promise 12: neither where a session begins nor behind a pause; nor goals of a session that others speak in."""
    with opened(tmp_path) as engine:
        ann, bob = Scope(user="ann"), Scope(user="bob")
        engine.session("shared", scope=bob).record({"role": "user", "content": "[GOAL] Bob's secret plan"}, "Yes.")
        engine.session("shared", scope=ann).record({"role": "user", "content": "Hello"}, "Hi.")
        engine.journal(ann).append(JournalEntry(NOW, "For ann.", source_session="shared"))
        assert "For ann." not in str(engine.session("b", scope=bob).assemble("Hi", now=NOW).messages)
        of_ann = str(engine.session("a", scope=ann).assemble("Hi", now=NOW).messages)
        assert "For ann." in of_ann
        assert "secret plan" not in of_ann


def test_nothing_is_told_when_it_is_switched_off(tmp_path: Path) -> None:
    """J-03: by either key; the journal may be on."""
    for keys in ({"inject_latest_on_start": False}, {"enabled": False}, {"summary_token_budget": 0}):
        with opened(tmp_path, **keys) as engine:
            engine.journal().append(ENTRY)
            request = engine.session(str(keys)).assemble("Hello.", now=NOW)
            assert [content(message) for message in request.messages] == ["Hello."]


def test_damaged_day_never_fails_a_turn(tmp_path: Path) -> None:
    """Promise 10: what can be read is told, what can't is an event, once."""
    folder = tmp_path / "journal"
    with opened(tmp_path) as engine:
        told: list[tuple[str, str]] = []
        engine.wired.relay.listen("test", lambda event: told.append((event.name, event.cause)))
        engine.journal().append(ENTRY)
        (folder / "2026-01-28.jsonl").write_bytes(b'{"timestamp": "2026-01-28T\n\xff\xfe\n[]\n')
        for name in "ab":
            request = engine.session(name).assemble("Hello.", now=NOW)
            assert TOLD in content(request.messages[0])
        wrong = [cause for name, cause in told if name == events.DEGRADED]
        assert len(wrong) == 3
        assert all("2026-01-28.jsonl:" in cause for cause in wrong)
        (folder / "2026-01-29.jsonl").mkdir()
        request = engine.session("c").assemble("Hello.", now=NOW)
        assert content(request.messages[-1]) == "Hello."
        assert any("the journal is not shown" in cause for _, cause in told)


def test_files_are_read_only_where_they_have_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cheap where nothing is new: a look at the folder; and nothing at all inside of a conversation."""
    reads: list[int] = []
    read = Daybook.latest

    def counted(self: Daybook, limit: int = 1, *, tag: str = "", agent_id: str = "") -> Any:  # noqa: ANN401  # as it is
        reads.append(limit)
        return read(self, limit, tag=tag, agent_id=agent_id)

    with opened(tmp_path) as engine:
        engine.journal().append(ENTRY)
        monkeypatch.setattr(Daybook, "latest", counted)
        for name in "abc":
            session = engine.session(name)
            for number in range(3):
                request = session.assemble(f"Hello {number}", now=NOW + number)
                session.record(request.incoming, "Hi.", now=NOW + number)
        assert reads == [1]
        engine.journal().append(JournalEntry(NOW + 1, "Newer."))
        engine.session("d").assemble("Hello", now=NOW)
        assert reads == [1, 1]
