"""`squidbot session list`: what a store holds, and how a store and a session are named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import squidbot
from squidbot.codecs.openai_chat import OpenAIChat

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest
    from click.testing import Result

    from squidbot.hookspecs import Register


def test_sessions_lists_them_with_what_can_be_told(run: Callable[..., Result]) -> None:
    """A line for each: messages, requests, tokens of the newest, the plan and why it was made, the window."""
    lines = run("session", "list").output.splitlines()
    assert lines[0].split() == ["session", "messages", "begun", "newest", "requests", "tokens", "plan", "window"]
    assert [line.split()[0] for line in lines[1:]] == ["support/43", "support/42", "对话?[31m", "empty"]
    told = lines[2].split()
    assert (told[1], told[-1]) == ("96", "3,000")
    assert "high-water" in lines[2] or "overflow" in lines[2]


def test_sessions_json_has_numbers_as_numbers(run: Callable[..., Result]) -> None:
    """Times are seconds since 1970, what is not there is null."""
    made = json.loads(run("session", "list", "--json").output)
    assert made["total"] == 4
    by_id = {one["session"]: one for one in made["sessions"]}
    assert by_id["support/42"]["messages"] == 96
    assert by_id["support/42"]["requests"] == 48
    assert by_id["support/42"]["first_time"] == 1_760_000_000.0
    assert by_id["support/42"]["window"] == 3_000
    assert (by_id["empty"]["first_time"], by_id["empty"]["plan"], by_id["empty"]["damaged"]) == (None, None, None)


def test_a_request_is_counted_once_though_its_usage_comes_later(run: Callable[..., Result], tmp_path: Path) -> None:
    """What came with a request is recorded before its answer is: the usage makes a second record, no second request."""
    with squidbot.load({"store": {"path": str(tmp_path / "mem.db")}}) as engine:
        session = engine.session("s")
        for text in ("Hi", "And?"):
            session.record(session.assemble(text).incoming)
            session.record(
                {"role": "assistant", "content": "Yes."}, usage={"prompt_tokens": 20, "completion_tokens": 2}
            )
    (told,) = json.loads(run("session", "list", "--json", "--store", str(tmp_path / "mem.db")).output)["sessions"]
    assert told["requests"] == 2


def test_sessions_limits_and_says_how_many_there_are_more(run: Callable[..., Result]) -> None:
    """The older ones are counted."""
    result = run("session", "list", "--limit", "1")
    assert "support/42" not in result.output
    assert "… 3 older sessions; --limit 4 lists all" in result.output


def test_store_is_a_file_or_that_of_the_settings(run: Callable[..., Result], tmp_path: Path) -> None:
    """--store goes before squidbot.toml, and is relative to the current folder."""
    assert run("session", "list", "--store", "kept.db").output == run("session", "list").output
    missing = run("session", "list", "--store", str(tmp_path / "none.db"))
    assert missing.exit_code == 1
    assert "none.db: no such file; pass --store FILE.db" in missing.output
    (tmp_path / "empty.db").touch()
    assert run("session", "list", "--store", str(tmp_path / "empty.db")).exit_code == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.db"]


def test_no_store_is_wrong_usage(run: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to name one are said."""
    monkeypatch.chdir(tmp_path)
    result = run("session", "list")
    assert result.exit_code == 2
    assert "no store: pass --store FILE.db, or set store.path in ./squidbot.toml" in result.output


def test_session_is_named_by_its_beginning(run: Callable[..., Result]) -> None:
    """A whole id wins, a beginning that several share names them, an unknown one the nearest."""
    assert run("session", "show", "emp").exit_code == 0
    both = run("session", "show", "support/4")
    assert both.exit_code == 1
    assert "2 sessions begin with 'support/4': support/42, support/43" in both.output
    near = run("session", "show", "suport/42")
    assert near.exit_code == 1
    assert "no session 'suport/42'; near it: support/42, support/43" in near.output
    assert "near it: support/42" in run("session", "show", "PORT/42").output


def test_file_of_another_program_is_damaged_data(run: Callable[..., Result], tmp_path: Path) -> None:
    """It is left as it is."""
    other = tmp_path / "notes.txt"
    other.write_text("my notes, which are no database at all\n" * 100)
    result = run("session", "list", "--store", str(other))
    assert result.exit_code == 4
    assert other.read_text().startswith("my notes")


def test_sessions_are_listed_by_what_was_said_last(run: Callable[..., Result], tmp_path: Path) -> None:
    """Not by when they began."""
    path = str(tmp_path / "s.db")
    with squidbot.load({"store": {"path": path}}) as engine:
        for name, now in (("old", 100.0), ("new", 200.0), ("old", 300.0)):
            engine.session(name).record({"role": "user", "content": "hi"}, now=now)
        engine.session("silent").pin_text("goal", "Wait.")
    made = json.loads(run("session", "list", "--store", path, "--json").output)["sessions"]
    assert [one["session"] for one in made] == ["old", "new", "silent"]


def test_form_that_nobody_reads_is_said(copied: Callable[..., Result]) -> None:
    """A session of an extension that is not loaded: shown as it is stored, and one line where it must be read."""

    class Odd(OpenAIChat):
        tag = "odd.chat"

    class Brings:
        @squidbot.hookimpl
        def register_adapters(self, register: Register) -> None:
            register.codec(Odd())

    with squidbot.load(extensions=[Brings()]) as engine:
        engine.session("odd", form="odd.chat").record({"role": "user", "content": "hi there"})
    assert '{"role": "user", "content": "hi there"}' in copied("session", "show", "odd").output
    for arguments in (["session", "search", "odd", "there"], ["session", "show", "odd", "--request"]):
        result = copied(*arguments)
        assert result.exit_code == 2
        assert "no codec reads messages of the form 'odd.chat'" in result.output
    assert copied("session", "explain", "odd").exit_code == 0
