"""Files of form 3.0 into sessions, each exchange once; and there and back again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from time import process_time, sleep
from unittest.mock import Mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import squidbot
from squidbot.codecs.workspaceai import ConversationSummary, Exchange, ModelFile, write
from squidbot.core import session as core_session
from squidbot.core.errors import TranscriptError
from squidbot.core.view.current import load
from squidbot.services import exchange
from squidbot.services.exchange import ImportOptions, exchanges_of, imported, session_named

from .talking import LLAMA, QWEN, engine_at, said_in, say

TEXTS = st.text(max_size=30)
TIMES = st.none() | st.integers(0, 4 * 10**15).map(lambda micros: micros / 10**6)
# A turn: what the user says, what is answered in how many steps, with or without a call of a tool, and when.
TURNS = st.tuples(TEXTS, st.lists(TEXTS, max_size=3), st.booleans(), TIMES)
# As a file this has the name of QWEN.
ALIKE = "qwen2-5.7b"
CALL = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}


def written(path: Path, *files: ModelFile) -> list[Path]:
    """Write files as they come, by number."""
    path.mkdir(parents=True, exist_ok=True)
    made = [path / f"{number}.json" for number in range(len(files))]
    for place, file in zip(made, files, strict=True):
        place.write_text(write(file), encoding="utf-8")
    return made


def messages_of(turn: tuple[str, list[str], bool, float | None]) -> list[dict[str, object]]:
    """Return a turn as messages of OpenAI."""
    user, answers, calls, time = turn
    when = {} if time is None else {"timestamp": time}
    made: list[dict[str, object]] = [{"role": "user", "content": user, **when}]
    if calls:
        made.append({"role": "assistant", "content": "", "tool_calls": [CALL], **when})
        made.append({"role": "tool", "tool_call_id": "c", "content": "1", **when})
    return made + [{"role": "assistant", "content": text, **when} for text in answers]


@given(
    st.lists(
        st.tuples(st.sampled_from(("s", "t")), st.sampled_from(("", QWEN, ALIKE)), st.lists(TURNS, max_size=4)),
        max_size=4,
    )
)
@example([("s", ALIKE, [("a", [], False, None)]), ("t", QWEN, [("b", [], False, None)])])
@example(
    [
        ("s", ALIKE, [("a", [], False, None)]),
        ("t", QWEN, [("b", [], False, None)]),
        ("s", "", [("c", [], False, 0.5)]),
        ("t", "", [("d", [], False, 0.5)]),
    ]
)
def test_what_the_form_holds_comes_back_and_the_rest_is_said(
    tmp_path_factory: pytest.TempPathFactory,
    said: list[tuple[str, str, list[tuple[str, list[str], bool, float | None]]]],
) -> None:
    """C26, W-04: any transcripts, by any models in turns; what was left out is counted, message by message."""
    folder = tmp_path_factory.mktemp("there")
    with squidbot.load({"memory": {"enabled": False}}) as engine:
        for session, model, turns in said:
            for turn in turns:
                engine.session(session, model=model).record(messages_of(turn), now=None)
        first = engine.export_models(folder / "a")
        due = _due(engine)
    assert all(file.became == "new" for file in first.files)
    every = [turn for _, _, turns in said for turn in turns]
    assert first.left["tool calls"] == first.left["tool results"] == sum(turn[2] for turn in every)
    breaks = sum(max(0, sum(map(bool, turn[1])) - 1) for turn in every)
    assert first.left["breaks between steps"] == breaks
    with squidbot.load({"memory": {"enabled": False}}) as engine:
        for _ in range(3 if every else 0):
            engine.import_models(folder / "a")
        assert _due(engine) == due
        second = engine.export_models(folder / "b")
    assert not {key for key in second.left if key != "empty messages"}
    for one in sorted((folder / "a").glob("*.json")) if _whole(every) else ():
        assert json.loads((folder / "b" / one.name).read_text("utf-8")) == json.loads(one.read_text("utf-8"))


def _due(engine: squidbot.Engine) -> dict[str, list[tuple[str, str, str, float | None]]]:
    """Return what each session says in exchanges, those that say nothing aside."""
    made = {}
    for name, _ in engine.wired.store.sessions():  # type: ignore[attr-defined]  # of the store in memory
        spoken = exchanges_of(engine.wired.store, engine.wired.codecs, name)
        said = [(model, one.user, one.assistant, one.time and round(one.time, 6)) for model, one in spoken.exchanges]
        made[name] = [one for one in said if one[1] or one[2]]
    return {name: sorted(said, key=str) for name, said in made.items() if said}


def _whole(turns: list[tuple[str, list[str], bool, float | None]]) -> bool:
    """Return whether no turn is without a word of either side: such an exchange can't be brought."""
    return all(user or any(answers) for user, answers, _, _ in turns)


def test_file_comes_back_as_it_was(tmp_path: Path) -> None:
    """W-04: with figures, modes and summaries that another program wrote; the transcript has them as context."""
    details = {"timestamp": "2025-09-04T10:00:00Z", "mode": "tools", "total_tokens": 13, "complexity_score": 0.1}
    said = Exchange("Hello", "Hi there!", 1756980000.0, {**details, "user_tokens": 5, "assistant_tokens": 8})
    held = ConversationSummary(
        "recent", "They spoke of boats.", {"exchange_count": 8, "date_range": "2025-09-03 to 2025-09-03"}
    )
    times = ("2025-09-04T10:00:00Z",) * 2
    file = ModelFile(QWEN, (said,), (held, held._replace(list_name="summarized")), *times, 32768)
    with engine_at(tmp_path / "s.db") as engine:
        engine.import_models(*written(tmp_path / "in", file))
        engine.export_models(tmp_path / "out")
        session = engine.session("workspaceai", model=QWEN)
        request = str(session.assemble("What did we speak of?").messages)
    assert (tmp_path / "out" / "qwen2-5-7b.json").read_text("utf-8") == write(file)
    assert "Summary of an earlier conversation, 8 exchanges, 2025-09-03 to 2025-09-03: data" in request
    assert "They spoke of boats." in request
    assert "Hi there!" in request


def test_conversation_goes_on_under_its_model_and_no_other(tmp_path: Path) -> None:
    """W-07: what a model's file says is in no request to another."""
    with engine_at(tmp_path / "s.db") as engine:
        engine.import_models(*written(tmp_path / "in", ModelFile(QWEN, (Exchange("The key is 4711.", "Kept."),))))
        asked = {model: engine.session("workspaceai", model=model).assemble("Which key?") for model in (QWEN, LLAMA)}
        assert "4711" in str(asked[QWEN].messages)
        assert "4711" not in str(asked[LLAMA].messages)


def test_what_a_file_has_more_is_brought_and_nothing_twice(tmp_path: Path) -> None:
    """C26: it is brought in after each exchange; what is said twice in it is there twice."""
    said = [Exchange("a", "b"), Exchange("a", "b"), Exchange("c", "d")]
    with engine_at(tmp_path / "s.db") as engine:
        for number in (1, 2, 3, 3):
            engine.import_models(*written(tmp_path / "in", ModelFile(QWEN, tuple(said[:number]))))
        engine.export_models(tmp_path / "out")
        assert said_in(tmp_path / "out" / "qwen2-5-7b.json") == ["a", "a", "c"]


def equal_at(path: Path, count: int) -> list[Path]:
    """Write a file of equal exchanges, at different places and at no time."""
    return written(path, ModelFile(QWEN, (Exchange("continue", "ok"),) * count))


def test_equal_exchanges_are_brought_once_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that a file has stay; brought again, it adds none. What the session has is not read anew for each batch."""
    monkeypatch.setattr(exchange, "MOST_AT_ONCE", 20)
    monkeypatch.setattr(core_session, "load", loaded := Mock(wraps=load))
    with engine_at(tmp_path / "s.db") as engine:
        assert [engine.import_models(*equal_at(tmp_path / "in", 200)).files[0].new for _ in range(3)] == [200, 0, 0]
        assert engine.import_models(*equal_at(tmp_path / "in", 203)).files[0].new == 3
        assert engine.wired.store.head(session_named(QWEN))[0] == 2 * 203
    assert loaded.call_count <= 2  # one for each import that brings something


@pytest.mark.slow
def test_a_hundred_thousand_equal_exchanges_are_brought_within_a_minute(tmp_path: Path) -> None:
    """Of this process's own time: others may have the machine, too."""
    with engine_at(tmp_path / "s.db") as engine:
        for new in (100_000, 0):
            began = process_time()
            assert engine.import_models(*equal_at(tmp_path / "in", 100_000)).files[0].new == new
            assert process_time() - began < 60


def test_what_was_forgotten_does_not_come_back(tmp_path: Path) -> None:
    """C26: though the file still has it."""
    files = written(tmp_path / "in", ModelFile(QWEN, (Exchange("The key is 4711.", "Kept."), Exchange("c", "d"))))
    with engine_at(tmp_path / "s.db") as engine:
        engine.import_models(*files)
        engine.session("workspaceai", model=QWEN).forget(0, 1)
        assert [file.new for file in engine.import_models(*files).files] == [0]
        engine.export_models(tmp_path / "out")
    assert "4711" not in (tmp_path / "out" / "qwen2-5-7b.json").read_text("utf-8")


def test_strangers_of_one_name_are_never_mixed(tmp_path: Path) -> None:
    """C26: another machine's session of the same id is another conversation."""
    with engine_at(tmp_path / "s.db", "global") as engine:
        say(engine, QWEN, "mine", session="chat")
        theirs = Exchange("theirs", "yes", None, {"session": "chat"})
        for _ in range(2):
            done = engine.import_models(*written(tmp_path / "in", ModelFile(QWEN, (theirs,)))).files[0]
            assert done.session == "chat-2"
        assert engine.wired.store.head("chat")[0] == 2
        assert engine.wired.store.head("chat-2")[0] == 2


def test_session_of_two_models_comes_back_in_its_order(tmp_path: Path) -> None:
    """C26: its exchanges stand in two files, and are merged by their times, each under its model."""
    with engine_at(tmp_path / "s.db", "global") as engine:
        for number, model in enumerate((QWEN, LLAMA, LLAMA, QWEN), 1):
            say(engine, model, f"question {number}", session="mixed", now=1000.0 * number)
        engine.export_models(tmp_path / "out")
        due = exchanges_of(engine.wired.store, engine.wired.codecs, "mixed")
    with engine_at(tmp_path / "t.db", "global") as engine:
        engine.import_models(tmp_path / "out")
        back = exchanges_of(engine.wired.store, engine.wired.codecs, "mixed")
    assert [(model, one.digest) for model, one in back.exchanges] == [
        (model, one.digest) for model, one in due.exchanges
    ]
    assert [model for model, _ in back.exchanges] == [QWEN, LLAMA, LLAMA, QWEN]


def test_session_can_be_named(tmp_path: Path) -> None:
    """C26: for exchanges that name none."""
    with engine_at(tmp_path / "s.db") as engine:
        engine.import_models(*written(tmp_path / "in", ModelFile(QWEN, (Exchange("a", "b"),))), session="work")
        assert engine.session("work", model=QWEN).session_id == session_named(QWEN, "work")
        assert engine.wired.store.head(session_named(QWEN, "work"))[0] == 2


def test_damaged_file_leaves_the_others_and_is_left(tmp_path: Path) -> None:
    """W-05: half a file, no file at all, one of a version that nobody knows."""
    folder = tmp_path / "in"
    written(folder, ModelFile(QWEN, (Exchange("a", "b"),)))
    texts = {"half.json": write(ModelFile(LLAMA))[:60], "new.json": '{"metadata": {"version": "9"}}', "no.json": "7"}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    with engine_at(tmp_path / "s.db") as engine:
        done = {Path(file.path).name: file for file in engine.import_models(folder).files}
    assert [(name, done[name].became, done[name].damaged) for name in sorted(done)] == [
        ("0.json", "imported", False),
        ("half.json", "failed", True),
        ("new.json", "failed", True),
        ("no.json", "failed", True),
    ]
    assert done["half.json"].reason.startswith("line ")
    assert all((folder / name).read_text("utf-8") == text for name, text in texts.items())


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    """C26: a path with a slip, an empty folder."""
    with engine_at(tmp_path / "s.db") as engine:
        with pytest.raises(TranscriptError, match="no such file or folder"):
            engine.import_models(tmp_path / "none")
        with pytest.raises(TranscriptError, match=r"no \*\.json files in this folder"):
            engine.import_models(tmp_path)


def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    """C26: and says what would come."""
    files = written(tmp_path / "in", ModelFile(QWEN, (Exchange("a", "b"),)))
    with engine_at(tmp_path / "s.db") as engine:
        done = imported(engine.wired, files, ImportOptions(dry_run=True))
        assert [(file.became, file.new) for file in done.files] == [("imported", 1)]
        assert engine.wired.store.head(session_named(QWEN)) == (0, 0)


BRING = """
import sys, squidbot
from squidbot.services import exchange
exchange.MOST_AT_ONCE = 500
with squidbot.load({"store": {"path": sys.argv[1]}, "history": {"isolation": "model"}}) as engine:
    assert all(one.became != "failed" for one in engine.import_models(sys.argv[2]).files)
"""


@pytest.mark.slow
def test_processes_that_bring_the_same_at_once_bring_it_once(tmp_path: Path) -> None:
    """C26: whoever comes first."""
    said = tuple(Exchange(f"question {number}", "answer", float(number)) for number in range(1, 60))
    written(tmp_path / "in", ModelFile(QWEN, said))
    with engine_at(tmp_path / "s.db"):
        pass
    command = [sys.executable, "-c", BRING, str(tmp_path / "s.db"), str(tmp_path / "in")]
    writers = [subprocess.Popen(command) for _ in range(3)]  # our own
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    with engine_at(tmp_path / "s.db") as engine:
        assert engine.wired.store.head(session_named(QWEN))[0] == 2 * len(said)


@pytest.mark.parametrize(
    "killed_after_messages", [1000, *(pytest.param(number, marks=pytest.mark.slow) for number in (0, 3000))]
)
def test_process_that_is_killed_leaves_nothing_half(tmp_path: Path, killed_after_messages: int) -> None:
    """C26: what it brought is known, the rest comes with the next run, and all of it is taken back."""
    exchanges = 500 + killed_after_messages // 2
    said = tuple(Exchange(f"question {number}", "answer", float(number)) for number in range(1, exchanges + 1))
    written(tmp_path / "in", ModelFile(QWEN, said))
    with engine_at(tmp_path / "s.db") as engine:
        store = engine.wired.store
        command = [sys.executable, "-c", BRING, str(tmp_path / "s.db"), str(tmp_path / "in")]
        writer = subprocess.Popen(command)
        while store.head(session_named(QWEN))[0] < killed_after_messages and writer.poll() is None:
            sleep(0.002)
        writer.kill()
        writer.wait()
        assert store.head(session_named(QWEN))[0] % 1000 == 0
        done = engine.import_models(tmp_path / "in").files[0]
        assert done.became in {"imported", "known"}
        assert store.head(session_named(QWEN))[0] == 2 * len(said)
        assert sum(one.messages for one in engine.roll_back(tmp_path / "in")) == 2 * len(said)
