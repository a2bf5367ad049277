"""Commands that change a session: compact, undo, snapshots, forget, goals, context, continue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import squidbot
from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.cli import main
from squidbot.core.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result


# -- `squidbot session compact` and `squidbot session undo`: the plan changed by hand, and taken back -----------------


def request(copied: Callable[..., Result]) -> list[str]:
    """Return the payloads of the next request."""
    return [
        part["payload"]
        for part in json.loads(copied("session", "show", "support/42", "--request", "--json").output)["parts"]
    ]


def test_compact_and_undo_give_the_former_request_back(copied: Callable[..., Result]) -> None:
    """Byte for byte; each says what it has changed."""
    before = request(copied)
    shortened = copied("session", "compact", "support/42")
    assert shortened.exit_code == 0
    assert shortened.output.startswith("support/42: compacted; plan ")
    assert request(copied) != before
    undone = copied("session", "undo", "support/42")
    assert undone.exit_code == 0
    assert "support/42: undone; plan " in undone.output
    assert request(copied) == before


def test_compact_keeps_the_window_that_the_session_had(copied: Callable[..., Result]) -> None:
    """Not that of the settings of now."""
    with open("squidbot.toml", "a", encoding="utf-8") as file:  # noqa: PTH123  # the folder is the current one
        file.write("safety_fraction = 0.5\n")
    made = json.loads(copied("session", "compact", "support/42", "--json").output)
    assert made["event"]["cause"] == "manual"
    told = json.loads(copied("session", "explain", "support/42", "--json").output)
    assert (told["budget"]["window"], told["budget"]["input_limit"]) == (3_000, 2_250)
    assert told["lease"]["source"] == "recorded"


def test_compact_where_nothing_can_be_shortened_is_no(copied: Callable[..., Result]) -> None:
    """Exit code 1; JSON has null."""
    result = copied("session", "compact", "对话")
    assert (result.exit_code, result.output) == (1, "对话?[31m: nothing to compact\n")
    again = copied("session", "compact", "对话", "--json")
    assert (again.exit_code, json.loads(again.output)["event"]) == (1, None)


def test_undo_without_an_event_is_no(copied: Callable[..., Result]) -> None:
    """There is nothing to take back."""
    result = copied("session", "undo", "support/43")
    assert result.exit_code == 1
    assert "nothing to undo" in result.output


def test_undo_that_does_not_fit_changes_nothing(copied: Callable[..., Result]) -> None:
    """Further and further back, until the former request is larger than the window."""
    results = [copied("session", "undo", "support/42") for _ in range(12)]
    refused = next(result for result in results if result.exit_code)
    assert refused.exit_code == 3
    assert "the earlier request no longer fits; nothing was changed" in refused.output
    before = request(copied)
    assert copied("session", "undo", "support/42").exit_code == 3
    assert request(copied) == before


# -- `squidbot session snapshot`, `snapshots` and `restore` -----------------------------------------------------------


def test_restore_brings_back_what_was_sent_at_a_snapshot(copied: Callable[..., Result]) -> None:
    """The next request is that of then, byte for byte; the state before is kept."""
    before = copied("session", "show", "support/42", "--request", "--json").output
    assert copied("session", "snapshot", "support/42", "good").output == "support/42: snapshot good of 96 messages\n"
    copied("session", "compact", "support/42")
    restored = copied("session", "restore", "support/42", "good")
    assert restored.exit_code == 0
    assert "support/42: restored good; plan " in restored.output
    after = json.loads(copied("session", "show", "support/42", "--request", "--json").output)
    assert after["parts"] == json.loads(before)["parts"]
    names = [
        one["name"] for one in json.loads(copied("session", "snapshots", "support/42", "--json").output)["snapshots"]
    ]
    assert "good" in names
    assert len(names) > 1


def test_snapshots_are_listed_oldest_first(copied: Callable[..., Result]) -> None:
    """Name, when, why, plan, messages."""
    assert copied("session", "snapshots", "support/43").output == "support/43: no snapshots\n"
    for name in ("one", "two"):
        copied("session", "snapshot", "support/43", name)
    lines = copied("session", "snapshots", "support/43").output.splitlines()
    assert lines[0].split() == ["name", "made", "cause", "plan", "messages"]
    assert [line.split()[0] for line in lines[1:]] == ["one", "two"]
    assert lines[1].endswith("4")
    assert "just now" in lines[1]


def test_snapshot_refuses_a_name_that_is_none(copied: Callable[..., Result]) -> None:
    """Wrong usage; and a name that is not there is no."""
    assert copied("session", "snapshot", "support/43", "").exit_code == 2
    missing = copied("session", "restore", "support/43", "nothing")
    assert missing.exit_code == 1
    assert "nothing" in missing.output


def test_snapshot_json_says_what_was_kept(copied: Callable[..., Result]) -> None:
    """The same object that `snapshots` lists."""
    made = json.loads(copied("session", "snapshot", "support/42", "good", "--json").output)
    listed = json.loads(copied("session", "snapshots", "support/42", "--json").output)["snapshots"]
    assert made["snapshot"] in listed
    assert set(made["snapshot"]) == {"name", "automatic", "cause", "plan", "messages", "time"}
    assert (made["snapshot"]["automatic"], made["snapshot"]["messages"]) == (False, 96)


# -- `squidbot session forget`: asked first, then gone from everything that the other commands show -------------------

GONE = "part_3_899"


def test_forgotten_message_is_shown_by_no_command(copied: Callable[..., Result]) -> None:
    """Neither it nor a word of it: transcript, requests, notes, search, export, files."""
    copied("session", "search", "support/42", GONE)
    result = copied("session", "forget", "support/42", "m14", "--reason", "it was a mistake", "--yes")
    assert result.exit_code == 0
    assert result.output.startswith("support/42: forgotten m14\n")
    for arguments in (
        ["session", "show", "support/42", "m14"],
        ["session", "show", "support/42", "--request", "--whole"],
        ["session", "explain", "support/42", "m14"],
        ["session", "log", "support/42", "m13", "--whole"],
        ["session", "recall", "support/42", "m14"],
        ["session", "export", "support/42"],
    ):
        shown = copied(*arguments)
        assert shown.exit_code == 0, shown.output
        assert GONE not in shown.output
    assert copied("session", "search", "support/42", GONE).exit_code == 1
    assert all(GONE.encode() not in path.read_bytes() for path in Path().iterdir())
    assert copied("store", "doctor").exit_code == 0


def test_forgotten_message_keeps_its_place(copied: Callable[..., Result]) -> None:
    """Every other id means what it did, and each message is still accounted for once."""
    before = json.loads(copied("session", "show", "support/42", "m13-m16", "--json").output)["shown"]
    made = json.loads(copied("session", "forget", "support/42", "m14-m15", "--yes", "--json").output)
    assert (made["forgotten"], made["copies"]) == (["m14", "m15"], [])
    after = json.loads(copied("session", "show", "support/42", "m13-m16", "--json").output)["shown"]
    assert [one["id"] for one in after] == ["m13", "m14", "m15", "m16"]
    assert (after[0], after[3]) == (before[0], before[3])
    assert {one["category"] for one in after[1:3]} == {"forgotten"}
    spans = json.loads(copied("session", "explain", "support/42", "--json").output)["spans"]
    assert spans[-1]["last"] == "m95"


def test_forget_says_where_bytes_are_left(copied: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader in the way: the words are forgotten all the same, and the store says what to do."""

    def blocked(_store: SqliteStore) -> None:
        raise StoreError("x.db: a program reads an older state; close it")

    assert json.loads(copied("session", "forget", "support/42", "m16", "--yes", "--json").output)["overwritten"] is True
    monkeypatch.setattr(SqliteStore, "scrub", blocked)
    result = copied("session", "forget", "support/42", "m14", "--yes", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["overwritten"] is False
    assert "its bytes are not overwritten yet: x.db: a program reads an older state; close it" in result.stderr


def test_forget_asks_first(copied: Callable[..., Result]) -> None:
    """No is no, and so is nobody there to answer."""
    for answer in ("n\n", ""):
        result = CliRunner().invoke(main, ["session", "forget", "support/42", "m14"], input=answer)
        assert result.exit_code == 1
        assert "Forget 1 message of support/42 (m14) for good?" in result.stderr
    assert GONE in copied("session", "show", "support/42", "m14").output
    assert CliRunner().invoke(main, ["session", "forget", "support/42", "m14"], input="y\n").exit_code == 0
    assert GONE not in copied("session", "show", "support/42", "m14").output


@pytest.mark.parametrize("wrong", ["14", "x", "m9-m3", "s0-90.abcd", "m0-m99999"])
def test_forget_takes_ids_of_messages_only(copied: Callable[..., Result], wrong: str) -> None:
    """Wrong usage, and nothing is gone."""
    assert copied("session", "forget", "support/42", wrong, "--yes").exit_code == 2


def test_forget_of_what_is_not_there_is_no(copied: Callable[..., Result]) -> None:
    """Nothing is forgotten, also not what is there."""
    result = copied("session", "forget", "support/42", "m14", "m96", "--yes")
    assert result.exit_code == 1
    assert "nothing was forgotten" in result.output
    assert GONE in copied("session", "show", "support/42", "m14").output


def test_forgotten_message_takes_its_facts_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that it alone says, beside the sessions: out of every list, and out of the file's bytes."""
    monkeypatch.chdir(tmp_path)
    Path("squidbot.toml").write_text('[store]\npath = "talk.db"\n[summary]\nscheduler = "none"\n')
    with squidbot.load() as engine:
        session = engine.session("ann/1", scope=squidbot.Scope(user="ann"))
        session.record({"role": "user", "content": "I live in Lisbon."}, "Noted.", {"role": "user", "content": "Hm."})
        engine.run_jobs()

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, arguments)

    assert json.loads(run("session", "forget", "ann/1", "m2", "--yes", "--json").output)["facts"] == []
    result = run("session", "forget", "ann/1", "m0", "--yes")
    assert "removed 1 fact that had no other source\n" in result.output
    assert json.loads(run("memory", "list", "--past", "--user", "ann", "--json").output)["memories"] == []
    assert all(b"Lisbon" not in path.read_bytes() for path in Path().iterdir())


def at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Return the command line in a folder whose store has two sessions of Ann's, and one of Bob's."""
    monkeypatch.chdir(folder)
    Path("squidbot.toml").write_text('[store]\npath = "talk.db"\n[summary]\nscheduler = "none"\n')
    with squidbot.load() as engine:
        for name, said in (("ann/1", "I live in Lisbon."), ("ann/2", "The tide is high."), ("bob/1", "I like tea.")):
            session = engine.session(name, scope=squidbot.Scope(user=name.partition("/")[0]))
            session.record({"role": "user", "content": said}, "Noted.")
    return lambda *arguments: CliRunner().invoke(main, arguments)


def test_whole_session_or_user_is_gone_from_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked first; what is left are the others, and the store is whole."""
    run = at(tmp_path, monkeypatch)
    assert run("session", "forget", "ann/1", "--all").exit_code == 1
    result = run("session", "forget", "ann/1", "--all", "--yes")
    assert result.output.startswith("ann/1: forgotten, the whole session\n")
    assert "squidbot does not know copies made by you or other programs; they remain" in result.output
    assert all(b"Lisbon" not in path.read_bytes() for path in Path().iterdir())
    assert [one["session"] for one in json.loads(run("session", "list", "--json").output)["sessions"]] == [
        "bob/1",
        "ann/2",
    ]
    made = json.loads(run("store", "forget-user", "ann", "--yes", "--json").output)
    assert (made["user"], made["sessions"], made["overwritten"]) == ("ann", ["ann/2"], True)
    assert [one["session"] for one in json.loads(run("session", "list", "--json").output)["sessions"]] == ["bob/1"]
    assert run("store", "doctor").exit_code == 0
    assert run("store", "forget-user", "ann", "--yes").exit_code == 1


def test_facts_and_logs_that_were_written_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And files of several sessions: what squidbot doesn't write anew, it says who does."""
    run = at(tmp_path, monkeypatch)
    assert run("memory", "export", "facts.jsonl").exit_code == 0
    assert run("memory", "notes", "notes").exit_code == 0
    assert run("store", "export", "talks").exit_code == 0
    talks = next(Path("talks").glob("[!.]*"))
    told = unfolded(run("session", "forget", "ann/1", "m1", "--yes", "--files").output)
    for name in ("facts.jsonl", "notes/declarative_notes.yml", "notes/summary_notes.yml"):
        assert unfolded(f"{tmp_path}/{name}: facts or journal entries that may still contain it: remove") in told
    assert unfolded(f"{tmp_path}/{talks}: has several sessions and may still contain it: remove it") in told


def unfolded(text: str) -> str:
    """Return a text without spaces and line ends: a path that is longer than a line is folded anywhere."""
    return "".join(text.split())


@pytest.mark.parametrize("wrong", [[], ["ann/1"], ["ann/1", "m0", "--all"], ["--all"]])
def test_forget_takes_messages_or_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: list[str]) -> None:
    """One of both, or it is wrong usage; a session alone is never taken for all of it."""
    assert at(tmp_path, monkeypatch)("session", "forget", *wrong, "--yes").exit_code == 2


def test_exports_are_listed_and_written_anew_when_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that squidbot wrote, and nobody has changed since; of a whole session they go."""
    run = at(tmp_path, monkeypatch)
    run("session", "export", "ann/1", "-o", "mine.jsonl")
    run("session", "export", "ann/1", "-o", "changed.md", "--format", "markdown")
    run("session", "export", "ann/2", "-o", "other.jsonl")
    run("store", "backup", "copy.db")
    Path("changed.md").write_text("My own words of Lisbon.")
    run("session", "export", "ann/1", "-o", "changed.md", "--format", "markdown")
    told = " ".join(run("session", "forget", "ann/1", "m1", "--yes").output.split())
    assert f"{tmp_path}/mine.jsonl: an export that may still contain it: --files rewrites it" in told
    assert f"{tmp_path}/copy.db: a backup that may still contain it: remove it" in told
    assert f"{tmp_path}/changed.md: written by squidbot, perhaps changed since" in told
    assert "other.jsonl" not in told
    told = " ".join(run("session", "forget", "ann/1", "m0", "--yes", "--files").output.split())
    assert f"{tmp_path}/mine.jsonl: rewritten" in told
    assert b"Lisbon" not in Path("mine.jsonl").read_bytes()
    assert len(Path("mine.jsonl").read_text().splitlines()) == 2
    assert Path("changed.md").read_text() == "My own words of Lisbon."
    made = json.loads(run("session", "forget", "ann/1", "--all", "--yes", "--files", "--json").output)["files"]
    assert {(Path(one["path"]).name, one["became"]) for one in made} == {
        ("mine.jsonl", "removed"), ("changed.md", "listed"), ("copy.db", "listed"),
    }  # fmt: skip
    assert not Path("mine.jsonl").exists()


# -- `squidbot session goals` -----------------------------------------------------------------------------------------


def test_goals_of_a_session_are_shown(copied: Callable[..., Result]) -> None:
    """What calls set and what lines mark, the active goal first; and as JSON (O-18)."""
    session = squidbot.load(Path("squidbot.toml")).session("support/43")
    book = session.goals
    book.change("set", "Old one")
    book.change("set", "Ship it")
    book.change("milestone", "Lexer", done=True)
    book.change("lock", "Rust only")
    session.record({"role": "assistant", "content": "[ARTIFACT] Created a.py\n[NEXT] Write tests"})
    shown = copied("session", "goals", "support/43")
    assert shown.exit_code == 0
    assert [row.strip() for row in shown.output.splitlines()] == [
        "support/43: goal: Ship it",
        "milestone (reached): Lexer",
        "decision (locked): Rust only",
        "artifact: Created a.py",
        "next: Write tests",
        "replaced: Old one",
    ]
    told = json.loads(copied("session", "goals", "support/43", "--json").output)
    assert told == {
        "session": "support/43",
        "goal": "Ship it",
        "next": "Write tests",
        "milestones": [{"text": "Lexer", "reached": True}],
        "decisions": [{"text": "Rust only", "locked": True}],
        "architecture": [],
        "artifacts": ["Created a.py"],
        "blockers": [],
        "ended": [{"goal": "Old one", "how": "replaced"}],
    }


def test_session_without_goals_is_a_no(run: Callable[..., Result]) -> None:
    """Exit code 1; of a session that is not there, too."""
    shown = run("session", "goals", "support/43")
    assert shown.exit_code == 1
    assert shown.output == "support/43: no goal is active\n"
    assert run("session", "goals", "nobody").exit_code == 1


def test_goals_are_changed_from_the_command_line(copied: Callable[..., Result]) -> None:
    """Each change shows what there is then; what is wrong says what to do (O-07, O-18)."""
    assert copied("session", "goals", "support/43", "set", "Ship it").output == "support/43: goal: Ship it\n"
    assert (
        "milestone (reached): Lexer" in copied("session", "goals", "support/43", "milestone", "Lexer", "--done").output
    )
    assert "decision (locked): Rust" in copied("session", "goals", "support/43", "lock", "Rust").output
    assert "decision: Rust" in copied("session", "goals", "support/43", "unlock", "rust").output
    assert "architecture: One store" in copied("session", "goals", "support/43", "architecture", "One store").output
    assert "Lexer" not in copied("session", "goals", "support/43", "forget", "Lexer").output
    assert "closed: Ship it" in copied("session", "goals", "support/43", "close").output
    wrong = copied("session", "goals", "support/43", "unlock", "C++")
    assert wrong.exit_code == 1
    assert "no decision of that name is locked" in wrong.output
    assert copied("session", "goals", "support/43", "set").exit_code == 2
    assert "is not one of" in copied("session", "goals", "support/43", "dance").output
    assert "no goal 'walrus' was set by call" in copied("session", "goals", "support/43", "forget", "walrus").output
    assert copied("session", "goals", "nobody", "set", "x").exit_code == 1


# -- `squidbot session context` ---------------------------------------------------------------------------------------


def test_documents_are_shown_loaded_and_dropped(copied: Callable[..., Result]) -> None:
    """Exit code 1 where there are none; what is wrong says what to do (P-13)."""
    none = copied("session", "context", "support/43")
    assert none.exit_code == 1
    assert "0 documents" in none.output
    wrong = copied("session", "context", "support/43", "load", "a.md")
    assert wrong.exit_code == 2
    assert "set it to a folder" in wrong.output
    with Path("squidbot.toml").open("a", encoding="utf-8") as settings:
        settings.write('[context]\nfolder = "context"\n')
    assert "no such folder" in copied("session", "context", "support/43", "load", "a.md").output
    Path("context").mkdir()
    Path("context/a.md").write_text("The walrus.", encoding="utf-8")
    Path("context/b.md").write_text("The squid.", encoding="utf-8")
    assert "a.md" in copied("session", "context", "support/43", "load", "a.md").output
    shown = copied("session", "context", "support/43")
    assert shown.exit_code == 0
    assert "b.md  10 bytes, not loaded" in shown.output
    told = json.loads(copied("session", "context", "support/43", "--json").output)
    assert [one["path"] for one in told["documents"]] == ["a.md"]
    assert told["files"] == [{"path": "b.md", "bytes": 10}]
    assert "0 documents" in copied("session", "context", "support/43", "drop", "a.md").output
    assert copied("session", "context", "support/43", "drop", "a.md").exit_code == 1
    assert copied("session", "context", "support/43", "forget", "a.md").exit_code == 0
    assert b"The walrus." not in Path("kept.db").read_bytes()
    assert "never had a document" in copied("session", "context", "support/43", "forget", "a.md").output
    assert copied("session", "context", "support/43", "load").exit_code == 2
    pytest.importorskip("yaml")
    Path("context/context_config.yml").write_text("core_files: [gone.md]", encoding="utf-8")
    shown = copied("session", "context", "support/43")
    assert "b.md  10 bytes" in shown.output
    assert "no such file: 'gone.md'" in shown.output
    assert copied("session", "context", "support/43", "load", "../x").exit_code == 2


# -- `squidbot session continue`, and where `squidbot session list` says so -------------------------------------------


def test_session_is_begun_with_the_context_of_another(copied: Callable[..., Result]) -> None:
    """What it has is told; the list of sessions says what it goes on from (P-03)."""
    copied("session", "goals", "support/43", "set", "Ship it")
    made = copied("session", "continue", "support/43", "support/44")
    assert made.exit_code == 0, made.output
    assert made.output.startswith("support/44 continues support/43\n  goal: Ship it\n")
    told = json.loads(copied("session", "continue", "support/43", "support/44", "--json").output)
    assert (told["session"], told["parent"], told["goal"]) == ("support/44", "support/43", "Ship it")
    listed = json.loads(copied("session", "list", "--json").output)["sessions"]
    (one,) = [one for one in listed if one["session"] == "support/44"]
    assert (one["parent"], one["way"]) == ("support/43", "continued")
    assert "(continued)" in copied("session", "list").output
    wrong = copied("session", "continue", "support/43", "support/42")
    assert wrong.exit_code == 2
    assert "a session 'support/42' already exists" in wrong.output
    assert copied("session", "continue", "nobody", "x").exit_code == 1
