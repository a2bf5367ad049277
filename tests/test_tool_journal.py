"""The tools of the journal: for a session's model, for hosts, in the journal of whoever speaks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.core import events
from squidbot.core.errors import ConfigError
from squidbot.core.journal import JournalEntry
from squidbot.core.memories import Scope
from squidbot.core.messages import Category
from squidbot.plugins.host import HostRuntime, call_tool
from squidbot.tools.table import HOST_DEFAULTS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from squidbot.engine import Engine

ADD, LIST, STATUS = "add_journal_entry", "list_journal_entries", "journal_status"
NOW = 1_769_517_296.0  # 2026-01-27T12:34:56Z


def opened(tmp_path: Path, **journal: object) -> Engine:
    """Return an engine over files, its journal switched on."""
    return squidbot.load(
        {
            "store": {"path": f"{tmp_path}/s.db"},
            "journal": {"enabled": True, "folder": f"{tmp_path}/journal", **journal},
        }
    )


def test_model_keeps_lists_and_asks_for_entries_when_the_journal_is_on(tmp_path: Path) -> None:
    """J-06: three tools, and what they keep is in the day's file, with the session that it tells of."""
    with opened(tmp_path) as engine:
        session = engine.session("chat-1")
        names = [tool["function"]["name"] for tool in json.loads(json.dumps(session.tools))]
        assert names == ["history", "memory", ADD, LIST, STATUS]
        given = {"summary": "Moved the facts.\n---\nThen tests.", "decisions": ["one file"], "tags": ["store"]}
        assert session.call(ADD, json.dumps(given), now=NOW).text == "[kept as entry 1 of 2026-01-27]"
        session.call(ADD, {"summary": "Wrote docs", "progress": "half"}, now=NOW + 60)
        listed = session.call(LIST, "", now=NOW + 90).text
        assert listed.index("Wrote docs") < listed.index("Moved the facts. --- Then tests.")
        assert "decided: one file #store" in listed
        assert "Wrote docs" not in session.call(LIST, {"tag": "#store", "limit": "3"}, now=NOW).text
        assert "Wrote docs" in session.call(LIST, {"day": "2026-01-27", "limit": 1}, now=NOW).text
        status = session.call(STATUS, "", now=NOW + 99).text
        assert "2 of 200 entries today, 2026-01-27; 1 day with entries; newest: 2026-01-27T12:35:56Z" in status
        (newest,) = engine.journal().latest().entries
        assert (newest.source_session, newest.agent_id, newest.progress) == ("chat-1", "default", ("half",))


def test_listing_is_known_as_brought_back(tmp_path: Path) -> None:
    """What comes of the tool is no new content: nothing is learned from it, and it is recalled, not said."""
    with opened(tmp_path) as engine:
        session = engine.session("chat-1")
        session.call(ADD, {"summary": "One"}, now=NOW)
        call = {"id": "c", "type": "function", "function": {"name": LIST, "arguments": "{}"}}
        session.record({"role": "user", "content": "?"}, {"role": "assistant", "content": None, "tool_calls": [call]})
        answer = session.call(LIST, "", now=NOW).text
        (row,) = session.record({"role": "tool", "tool_call_id": "c", "content": answer})
        assert row.category is Category.RECALLED


@pytest.mark.parametrize(
    ("name", "arguments", "wrong"),
    [
        (ADD, {}, "summary must be a string, not null"),
        (ADD, {"summary": " "}, "summary must be a string, not ' '"),
        (ADD, {"summary": "x", "decisions": [1]}, "decisions must be a list of strings, not a list"),
        (ADD, {"summary": "x", "tags": {"a": 1}}, "tags must be a list of strings, not an object"),
        (ADD, "{", "the arguments are not JSON"),
        (LIST, {"limit": 500}, "limit 500 is out of range: 1 to 50"),
        (LIST, {"limit": -1}, "out of range"),
        (LIST, {"day": "30.2.2026"}, "is not a day; write it as 2026-01-27"),
        (LIST, {"tag": 7}, "tag must be a string, not a number"),
    ],
)
def test_wrong_call_is_answered_with_what_would_be_right(
    tmp_path: Path, name: str, arguments: Mapping[str, object] | str, wrong: str
) -> None:
    """One line, flagged as an error; nothing is kept."""
    with opened(tmp_path) as engine:
        answer = engine.session("s").call(name, arguments, now=NOW)
        assert answer.is_error
        assert wrong in answer.text
        assert answer.text.startswith("<squidbot refused: ")
        assert engine.journal().days() == []


def test_201st_entry_is_refused_as_text_and_told(tmp_path: Path) -> None:
    """V21: the model reads why, and whoever listens does; the day before has room of its own."""
    told: list[str] = []
    with opened(tmp_path, max_entries_per_day=2) as engine:
        engine.wired.relay._on_event = (("test", lambda event: told.append(event.name)),)
        session = engine.session("s")
        for _ in range(2):
            assert not session.call(ADD, {"summary": "x"}, now=NOW).is_error
        refused = session.call(ADD, {"summary": "x"}, now=NOW)
        assert refused.is_error
        assert "2026-01-27" in refused.text
        assert told.count(events.JOURNAL_ENTRY_CREATED) == 2
        assert told.count(events.DEGRADED) == 1
        assert not session.call(ADD, {"summary": "x"}, now=NOW - 86_400).is_error


def test_tool_of_a_folder_that_cant_be_written_tells_why(tmp_path: Path) -> None:
    """The turn goes on: a failure of the journal is text for the model, and an event."""
    (tmp_path / "journal").write_text("a file is in the way")
    with opened(tmp_path) as engine:
        answer = engine.session("s").call(ADD, {"summary": "x"}, now=NOW)
        assert answer.is_error
        assert "nothing was written: check the disk and the path" in answer.text


def test_secret_never_reaches_the_file_or_the_page(tmp_path: Path) -> None:
    """C29: by the names of J-03, and by what all secrets look like."""
    with opened(tmp_path) as engine:
        key = "sk-ant-" + "a1B2c3D4" * 5
        engine.session("s").call(ADD, {"summary": f"api_key: abcd1234, and {key}", "progress": [f"used {key}"]})
        written = "".join(one.read_text() for one in (tmp_path / "journal").iterdir())
        assert key not in written
        assert "abcd1234" not in written
        assert "[redacted" in written


def test_journals_of_users_are_apart_and_those_of_bots_by_policy(tmp_path: Path) -> None:
    """C6: nobody reads what was done for another one, and a folder says whose it is."""
    with opened(tmp_path) as engine:
        ann, bob = Scope(user="Ann/../x"), Scope(user="bob")
        engine.session("a", scope=ann).call(ADD, {"summary": "for ann"}, now=NOW)
        engine.session("b", scope=bob).call(ADD, {"summary": "for bob"}, now=NOW)
        engine.session("c").call(ADD, {"summary": "for nobody"}, now=NOW)
        assert [one.summary for one in engine.journal(ann).latest(9).entries] == ["for ann"]
        assert [one.summary for one in engine.journal(bob).latest(9).entries] == ["for bob"]
        assert [one.summary for one in engine.journal().latest(9).entries] == ["for nobody"]
        assert "for bob" not in engine.session("a", scope=ann).call(LIST, "").text
        folders = sorted(one.name for one in (tmp_path / "journal").iterdir() if one.is_dir())
        assert [name.rpartition("-")[0] for name in folders] == ["Ann-x", "bob"]
        agents = engine.journal(Scope(agent="one")), engine.journal(Scope(agent="two"))
        assert agents[0] is agents[1], "the policy `bot` does not part them"


def test_answer_has_room_or_says_so(tmp_path: Path) -> None:
    """Fewer entries, then a shorter one; the model is told how many have no room."""
    with opened(tmp_path) as engine:
        for number in range(9):
            engine.journal().append(JournalEntry(NOW + number, f"{number}: " + "a long day " * 80))
        small = engine.session("s", window_tokens=2_048)
        listed = small.call(LIST, {"limit": 9}, now=NOW)
        assert not listed.is_error
        assert "no room for" in listed.text
        assert small.meter.message(listed.text).bound <= 2_048


def test_tools_are_not_there_when_the_journal_is_off(tmp_path: Path) -> None:
    """A library writes nothing unasked; who calls one anyway reads which key to set."""
    with squidbot.load({"journal": {"folder": f"{tmp_path}/journal"}}) as engine:
        session = engine.session("s")
        assert len(session.tools) == 2
        with pytest.raises(ConfigError, match=r"the journal is off; set journal.enabled = true in "):
            session.call(ADD, {"summary": "x"})


def test_host_offers_the_tools_where_its_settings_switch_the_journal_on(tmp_path: Path) -> None:
    """Beside the three that all hosts have, with plain arguments; a wrong file of settings is told later."""
    given = {"journal": {"enabled": True, "folder": f"{tmp_path}/journal"}}
    hosted = HostRuntime(f"{tmp_path}/s.db", host="a test", form="openai.chat", settings=given)
    assert [one.name for one in hosted.tools][3:] == [ADD, LIST, STATUS]
    session = hosted.conversation("a").session
    assert call_tool(session, ADD, {"summary": "Done"}).startswith("[kept as entry 1 of ")
    assert "Done" in call_tool(session, LIST, {})
    hosted.close()
    plain = HostRuntime(f"{tmp_path}/s.db", host="a test", form="openai.chat")
    assert plain.tools == HOST_DEFAULTS
    wrong = HostRuntime(None, host="a test", form="openai.chat", settings=tmp_path / "none.toml")
    assert wrong.tools == HOST_DEFAULTS


def test_page_of_the_newest_day_rolls(tmp_path: Path) -> None:
    """J-06: `daily_summary.md` is the newest day; an entry of an older day leaves it, and a new day begins it anew."""
    with opened(tmp_path) as engine:
        journal, page = engine.journal(), tmp_path / "journal" / "daily_summary.md"
        journal.append(JournalEntry(NOW, "first", decisions=("one file",)))
        journal.append(JournalEntry(NOW + 1, "second\n---\n# no heading"))
        assert page.read_text().startswith("# 2026-01-27\n\n## 12:34:56Z\n")
        assert "> # no heading" in page.read_text()
        journal.append(JournalEntry(NOW - 86_400, "the day before"))
        assert "second" in page.read_text()
        journal.append(JournalEntry(NOW + 86_400, "the day after"))
        assert page.read_text().startswith("# 2026-01-28")
        assert "second" not in page.read_text()
        assert engine.journal().days() == ["2026-01-26", "2026-01-27", "2026-01-28"]


def test_entry_is_kept_when_the_page_cant_be_made(tmp_path: Path) -> None:
    """The page is for people; that it could not be made is told once as an event."""
    told: list[str] = []
    (tmp_path / "journal" / "daily_summary.md").mkdir(parents=True)
    with opened(tmp_path) as engine:
        engine.wired.relay._on_event = (("test", lambda event: told.append(event.cause)),)
        assert engine.journal().append(JournalEntry(NOW, "kept")).number == 1
        assert engine.journal().latest().entries[0].summary == "kept"
    assert any("daily_summary.md" in cause and "the entry is kept" in cause for cause in told)
