"""A store as a folder of files, one for each model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import squidbot
from squidbot.core.errors import NotFoundError, SquidbotError
from squidbot.services.exchange import exported, session_named

from .talking import LLAMA, QWEN, became, engine_at, said_in, say


def test_each_model_has_a_file_with_what_was_said_under_it(tmp_path: Path) -> None:
    """W-03, W-04: also of one session in which two took turns."""
    with engine_at(tmp_path / "s.db") as engine:
        say(engine, QWEN, "one", now=1000.0)
        say(engine, LLAMA, "two", now=2000.0)
    with engine_at(tmp_path / "s.db", "global") as engine:
        say(engine, LLAMA, "three", session="mixed", now=3000.0)
        say(engine, QWEN, "four", session="mixed", now=4000.0)
        done = engine.export_models(tmp_path / "out")
    assert became(done) == ["new", "new"]
    assert said_in(tmp_path / "out" / "qwen2-5-7b.json") == ["one", "four"]
    assert said_in(tmp_path / "out" / "llama3-1-8b.json") == ["two", "three"]
    value = json.loads((tmp_path / "out" / "qwen2-5-7b.json").read_text("utf-8"))
    assert value["metadata"]["created"] == "1970-01-01T00:16:40Z"
    assert value["metadata"]["total_exchanges"] == 2
    assert value["metadata"]["context_window"] == 32768
    own, mixed = (one["metadata"] for one in value["current_conversation"])
    assert own["mode"] == "chat"
    assert (own["model"], own["complexity_score"]) == (QWEN, 0.053)
    assert ("session" in own, mixed["session"]) == (False, "mixed")


def test_second_export_changes_nothing_and_a_third_adds(tmp_path: Path) -> None:
    """C26: the files are what the store has, byte for byte."""
    with engine_at(tmp_path / "s.db") as engine:
        say(engine, QWEN, "one")
        engine.export_models(tmp_path / "out")
        first = (tmp_path / "out" / "qwen2-5-7b.json").read_bytes()
        assert became(engine.export_models(tmp_path / "out")) == ["unchanged"]
        assert (tmp_path / "out" / "qwen2-5-7b.json").read_bytes() == first
        say(engine, QWEN, "two", now=2000.0)
        assert became(engine.export_models(tmp_path / "out")) == ["changed"]
    assert said_in(tmp_path / "out" / "qwen2-5-7b.json") == ["one", "two"]
    assert not list((tmp_path / "out").glob("*.backup"))


def test_file_that_has_more_stays_or_is_kept_aside(tmp_path: Path) -> None:
    """C26: another program has gone on in it; nothing of that is lost."""
    path = tmp_path / "out" / "qwen2-5-7b.json"
    with engine_at(tmp_path / "s.db") as engine:
        say(engine, QWEN, "one")
        engine.export_models(tmp_path / "out")
        value = json.loads(path.read_text("utf-8"))
        value["current_conversation"].append({"user": {"content": "more"}, "assistant": {"content": ""}})
        path.write_text(json.dumps(value), encoding="utf-8")
        refused = engine.export_models(tmp_path / "out").files[0]
        assert (refused.became, said_in(path)) == ("failed", ["one", "more"])
        assert "squidbot import" in refused.reason
        replaced = engine.export_models(tmp_path / "out", replaces=True).files[0]
        assert (replaced.became, said_in(path)) == ("changed", ["one"])
        assert said_in(Path(replaced.aside)) == ["one", "more"]


def test_one_model_is_exported_backed_up_and_restored(tmp_path: Path) -> None:
    """W-21, W-03, W-04: "Easy to backup, restore, or transfer specific model conversation histories".

    Others stay out of it. Restoring into a store that has them already changes nothing.
    """
    with engine_at(tmp_path / "s.db", "global") as engine:
        say(engine, QWEN, "one", session="mixed", now=1000.0)
        say(engine, LLAMA, "two", session="mixed", now=2000.0)
        assert [file.model for file in engine.export_models(tmp_path / "out", models=[LLAMA]).files] == [LLAMA]
        assert [path.name for path in (tmp_path / "out").glob("*.json") if path.name[0] != "."] == ["llama3-1-8b.json"]
        done = engine.backup_model(QWEN, tmp_path / "qwen.json").files[0]
        assert (done.became, done.exchanges) == ("new", 1)
        before = (tmp_path / "qwen.json").read_bytes(), engine.wired.store.head("mixed")
        assert said_in(tmp_path / "qwen.json") == ["one"]
        assert b"two" not in before[0]
        assert [file.new for file in engine.import_models(tmp_path / "qwen.json").files] == [0]
        with pytest.raises(SquidbotError, match="already exists"):
            engine.backup_model(LLAMA, tmp_path / "qwen.json")
        assert ((tmp_path / "qwen.json").read_bytes(), engine.wired.store.head("mixed")) == before
    with engine_at(tmp_path / "t.db", "global") as engine:
        assert [engine.import_models(tmp_path / "qwen.json").files[0].new for _ in range(3)] == [1, 0, 0]
        engine.backup_model(QWEN, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == before[0]


def test_model_that_nobody_spoke_to_is_named_with_those_that_are_there(tmp_path: Path) -> None:
    """W-03: in each of the three directions; nothing is written."""
    there = f"there are: '{LLAMA}', '{QWEN}'"
    with engine_at(tmp_path / "s.db") as engine:
        with pytest.raises(NotFoundError, match="no model 'qwen' in these sessions; there is none"):
            engine.backup_model("qwen", tmp_path / "qwen.json")
        say(engine, QWEN, "one")
        say(engine, LLAMA, "two")
        with pytest.raises(NotFoundError, match=f"no model 'qwen' in these sessions; {there}"):
            engine.export_models(tmp_path / "none", models=[QWEN, "qwen"])
        with pytest.raises(NotFoundError, match=f"no model 'qwen' in these sessions; {there}"):
            engine.backup_model("qwen", tmp_path / "qwen.json")
        assert [path.name for path in tmp_path.iterdir() if path.name in {"none", "qwen.json"}] == []
        engine.export_models(tmp_path / "out")
        for keeps_copies in (False, True):
            with pytest.raises(NotFoundError, match=f"no model 'qwen' in these files; {there}"):
                engine.import_models(tmp_path / "out", models=["qwen"], keeps_copies=keeps_copies)
    with engine_at(tmp_path / "t.db") as engine:
        (done,) = engine.import_models(tmp_path / "out", models=[LLAMA], keeps_copies=True).files
        assert (done.model, done.new) == (LLAMA, 1)
        assert engine.wired.store.head(session_named(QWEN)) == (0, 0)
    assert [path.name for path in (tmp_path / "out").glob("*.json.backup")] == ["llama3-1-8b.json.backup"]


def test_notes_on_what_several_models_said_are_in_no_file(tmp_path: Path) -> None:
    """W-04, W-07: a model's file quotes no other model's exchanges; such notes are counted."""
    with squidbot.load({"window": {"default": 2000}}) as engine:
        for number in range(40):
            session = engine.session("both", model=(QWEN, LLAMA)[number % 2])
            asked = session.assemble(f"Question {number}: {'word ' * 20}", now=1e9 + 60 * number)
            session.record(*asked.incoming, f"Answer {number}: {'it is so ' * 20}", now=1e9 + 60 * number)
        done = engine.export_models(tmp_path / "out")
    assert done.left["notes on exchanges of several models"] == 1
    for file in done.files:
        assert json.loads(Path(file.path).read_text("utf-8"))["recent_conversations"] == []


def test_damaged_file_is_set_aside(tmp_path: Path) -> None:
    """W-05: half a file of another program."""
    path = tmp_path / "out" / "qwen2-5-7b.json"
    path.parent.mkdir()
    path.write_text('{"metadata": {"vers', encoding="utf-8")
    with engine_at(tmp_path / "s.db") as engine:
        say(engine, QWEN, "one")
        done = engine.export_models(tmp_path / "out").files[0]
    assert said_in(path) == ["one"]
    assert Path(done.aside).read_text("utf-8") == '{"metadata": {"vers'


def test_file_that_fails_leaves_the_others(tmp_path: Path) -> None:
    """W-06: a folder stands where the file should."""
    (tmp_path / "out" / "qwen2-5-7b.json").mkdir(parents=True)
    with engine_at(tmp_path / "s.db") as engine:
        say(engine, QWEN, "one")
        say(engine, LLAMA, "two")
        done = engine.export_models(tmp_path / "out")
    assert sorted(became(done)) == ["failed", "new"]
    assert said_in(tmp_path / "out" / "llama3-1-8b.json") == ["two"]


def test_session_that_is_not_there_is_named(tmp_path: Path) -> None:
    """C26: nothing is written."""
    with engine_at(tmp_path / "s.db") as engine:
        say(engine, QWEN, "one")
        with pytest.raises(NotFoundError, match="no session 'workspaceai'; name one by its whole id"):
            engine.export_models(tmp_path / "out", ["workspaceai"])
        assert became(engine.export_models(tmp_path / "out", [session_named(QWEN)])) == ["new"]


def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    """C26: it says what would become of each file."""
    with engine_at(tmp_path / "s.db") as engine:
        say(engine, QWEN, "one")
        wired = engine.wired
        for version in ("3.0", "1.0"):
            done = exported(wired, [session_named(QWEN)], tmp_path / "out", dry_run=True, version=version)
            assert became(done) == ["new"]
    assert not (tmp_path / "out").exists()


def test_first_version_is_one_file_for_all_models_and_never_written_over(tmp_path: Path) -> None:
    """W-17: the way back to a program that knows no other."""
    with engine_at(tmp_path / "s.db") as engine:
        say(engine, QWEN, "one")
        say(engine, LLAMA, "two", now=2000.0)
        wired, sessions = engine.wired, [session_named(QWEN), session_named(LLAMA)]
        for expected in ("new", "failed"):
            done = exported(wired, sessions, tmp_path / "out", version="1.0")
            assert became(done) == [expected]
    value = json.loads((tmp_path / "out" / "memory.json").read_text("utf-8"))
    assert value["current_conversation"] == [
        {
            "user": text,
            "assistant": f"Answer to {text}",
            "timestamp": when,
            "metadata": {"model": model},
        }
        for text, when, model in (
            ("one", "1970-01-01T00:16:40Z", QWEN),
            ("two", "1970-01-01T00:33:20Z", LLAMA),
        )
    ]
