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
from squidbot.adapters.stdlib.model_files import name_of
from squidbot.codecs.workspaceai import ConversationSummary, Exchange, ModelFile, write
from squidbot.core import session as core_session
from squidbot.core.budget import adaptive_shares
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


def test_counts_and_times_of_a_file_stay_and_go_on(tmp_path: Path) -> None:
    """W-04: `"last_updated": "2025-09-04T10:30:00Z", "total_exchanges": 15, "total_tokens": 45678`.

    An import and an export change none of it. A new exchange counts on, and moves the time. An older copy of the file
    changes nothing.
    """
    (file := tmp_path / "qwen2-5-7b.json").write_text(PER_MODEL, encoding="utf-8")
    told = json.loads(PER_MODEL)
    with engine_at(tmp_path / "s.db") as engine:
        for _ in range(2):
            engine.import_models(file)
            engine.export_models(tmp_path / "out")
            assert json.loads((tmp_path / "out" / file.name).read_text("utf-8")) == told
        records = engine.wired.store.head(session_named(QWEN))
        engine.import_models(tmp_path / "out")
        assert engine.wired.store.head(session_named(QWEN)) == records
        say(engine, QWEN, "Which colour?", now=1_760_000_000.0)
        engine.import_models(file)
        engine.export_models(tmp_path / "out")
    head = json.loads((tmp_path / "out" / file.name).read_text("utf-8"))["metadata"]
    more = len("Which colour?") // 3 + len("Answer to Which colour?") // 3
    assert (head["total_exchanges"], head["total_tokens"]) == (16, 45678 + more)
    assert (head["created"], head["last_updated"]) == ("2025-09-04T10:00:00Z", "2025-10-09T08:53:20Z")


def test_newer_copy_of_a_file_moves_its_counts_and_no_older_one_moves_them_back(tmp_path: Path) -> None:
    """W-04, C26: another program goes on in the file; the store has words of its own, too."""
    said = tuple(Exchange(f"question {number}", "yes", 1000.0 * number) for number in range(1, 4))
    times = ("1970-01-01T00:00:00Z", "1970-01-01T02:00:00Z")
    first = ModelFile(QWEN, said[:2], (), *times, 4096, 10, 500)
    newer = ModelFile(QWEN, said[1:], (), times[0], "1970-01-01T03:00:00Z", 4096, 12, 600)
    with engine_at(tmp_path / "s.db") as engine:
        for number, file in enumerate((first, newer, first)):
            engine.import_models(*written(tmp_path / f"in{number}", file))
            engine.export_models(tmp_path / "out")
            head = json.loads((tmp_path / "out" / "qwen2-5-7b.json").read_text("utf-8"))["metadata"]
            counts = head["total_exchanges"], head["last_updated"][11:13], head["context_window"]
            assert counts == [(10, "02", 4096), (12, "03", 4096), (12, "03", 4096)][number]
        engine.roll_back(tmp_path / "in1", tmp_path / "in2")
        engine.export_models(tmp_path / "again")
    head = json.loads((tmp_path / "again" / "qwen2-5-7b.json").read_text("utf-8"))["metadata"]
    assert (head["total_exchanges"], head["last_updated"]) == (10, times[1])


@pytest.mark.parametrize("number", [-1, 10**13, 1.5, True, "15", None])
def test_counts_that_are_none_are_left(tmp_path: Path, number: object) -> None:
    """W-04: of a file that anybody may have written; a text that is no time, too."""
    value = json.loads(PER_MODEL)
    value["metadata"] |= {"total_exchanges": number, "total_tokens": number, "last_updated": "yesterday"}
    (file := tmp_path / "qwen2-5-7b.json").write_text(json.dumps(value), encoding="utf-8")
    with engine_at(tmp_path / "s.db") as engine:
        left = engine.import_models(file).left
        engine.export_models(tmp_path / "out")
    assert left["times that are none"] == 1
    assert left["key metadata.total_exchanges"] == (number is not None)
    head = json.loads((tmp_path / "out" / file.name).read_text("utf-8"))["metadata"]
    assert (head["total_exchanges"], head["total_tokens"], head["last_updated"]) == (1, 4, "2025-09-04T10:00:00Z")


def test_notes_become_recent_conversations_and_come_back(tmp_path: Path) -> None:
    """W-04: `{"summary": ..., "exchange_count": 8, "total_tokens": 2400, "date_range": "2025-09-03 to 2025-09-03"}`.

    They are no message of the session that they come to, and go with the messages that they are on.
    """
    small = {"window": {"default": 2000}}
    with squidbot.load(small) as engine:
        session = engine.session("boats", model=QWEN)
        for number in range(40):
            asked = session.assemble(f"Question {number}: {'word ' * 20}", now=1e9 + 60 * number)
            session.record(*asked.incoming, f"Answer {number}: {'it is so ' * 20}", now=1e9 + 60 * number)
        engine.export_models(tmp_path / "a")
        assert [file.new for file in engine.import_models(tmp_path / "a").files] == [0]
    value = json.loads((tmp_path / "a" / "qwen2-5-7b.json").read_text("utf-8"))
    (note,) = value["recent_conversations"]
    covered = value["current_conversation"][: note["exchange_count"]]
    assert 0 < note["exchange_count"] < len(value["current_conversation"]) == 40
    counts = [len(one[side]["content"]) // 3 for one in covered for side in ("user", "assistant")]
    assert (note["total_tokens"], note["date_range"]) == (sum(counts), "2001-09-09 to 2001-09-09")
    assert "notes on" in note["summary"]
    with squidbot.load(small) as engine:
        assert [engine.import_models(tmp_path / "a").files[0].new for _ in range(3)] == [41, 0, 0]
        assert engine.wired.store.head("boats")[0] == 80
        engine.export_models(tmp_path / "b")
        assert (tmp_path / "b" / "qwen2-5-7b.json").read_bytes() == (tmp_path / "a" / "qwen2-5-7b.json").read_bytes()
        engine.session("boats", model=QWEN).forget(0)
        engine.export_models(tmp_path / "c")
    assert json.loads((tmp_path / "c" / "qwen2-5-7b.json").read_text("utf-8"))["recent_conversations"] == []


def test_note_whose_exchanges_another_program_removed_is_a_summary(tmp_path: Path) -> None:
    """W-04: nothing else says what was in them; such a summary stays, whatever its text or figures."""
    note = {"exchange_count": 2, "first_exchange": Exchange("a", "b").digest}
    kept = [ConversationSummary("recent", "Boats.", note), ConversationSummary("summarized", "", {"exchange_count": 3})]
    file = ModelFile(QWEN, (Exchange("a", "b"),), tuple(kept))
    with engine_at(tmp_path / "s.db") as engine:
        assert engine.import_models(*written(tmp_path / "in", file)).files[0].new == 3
        assert "Boats." in str(engine.session("workspaceai", model=QWEN).assemble("And?").messages)
        engine.export_models(tmp_path / "out")
    value, before = (
        json.loads(path.read_text("utf-8"))
        for path in (tmp_path / "out" / "qwen2-5-7b.json", tmp_path / "in" / "0.json")
    )
    assert {key: value[key] for key in SUMMARIES} == {key: before[key] for key in SUMMARIES}


# -- the examples of document 002, as they stand there -----------------------------------------------------------------

SUMMARIES = ("recent_conversations", "summarized_conversations")
CURRENT = """{
  "current_conversation": [
    {"user": "hello", "assistant": "hi", "timestamp": "..."}
  ]
}
"""
MODEL_SPECIFIC = """{
  "metadata": {
    "version": "3.0",
    "model": "qwen2.5:7b",
    "created": "2025-09-04T10:00:00Z",
    "last_updated": "2025-09-04T10:30:00Z"
  },
  "current_conversation": [
    {
      "user": {"content": "hello", "tokens": 5},
      "assistant": {"content": "hi", "tokens": 3}, 
      "metadata": {
        "timestamp": "2025-09-04T10:00:00Z",
        "mode": "chat",
        "total_tokens": 8
      }
    }
  ],
  "recent_conversations": [],
  "summarized_conversations": []
}
"""  # noqa: W291  # as it stands there
PER_MODEL = """{
  "metadata": {
    "version": "3.0",
    "model": "qwen2.5:7b",
    "created": "2025-09-04T10:00:00Z",
    "last_updated": "2025-09-04T10:30:00Z",
    "total_exchanges": 15,
    "total_tokens": 45678,
    "context_window": 32768
  },
  "current_conversation": [
    {
      "user": {"content": "Hello", "tokens": 5},
      "assistant": {"content": "Hi there!", "tokens": 8},
      "metadata": {
        "timestamp": "2025-09-04T10:00:00Z",
        "mode": "chat",
        "total_tokens": 13,
        "complexity_score": 0.1
      }
    }
  ],
  "recent_conversations": [
    {
      "summary": "Discussion about Python optimization techniques",
      "exchange_count": 8,
      "total_tokens": 2400,
      "date_range": "2025-09-03 to 2025-09-03"
    }
  ],
  "summarized_conversations": [
    {
      "summary": "Multiple coding sessions covering React, Python, and database design",
      "exchange_count": 25,
      "total_tokens": 8900,
      "date_range": "2025-09-01 to 2025-09-02"
    }
  ]
}
"""


@pytest.mark.parametrize(
    ("text", "new", "due"),
    [
        (CURRENT, 1, ("hello", "hi", None, "unknown", 1, 1, 2, 1, 2)),
        (MODEL_SPECIFIC, 1, ("hello", "hi", "2025-09-04T10:00:00Z", "chat", 5, 3, 8, 1, 2)),
        (PER_MODEL, 3, ("Hello", "Hi there!", "2025-09-04T10:00:00Z", "chat", 5, 8, 13, 15, 45678)),
    ],
)
def test_each_example_of_the_document_is_taken_with_its_figures(
    tmp_path: Path, text: str, new: int, due: tuple[object, ...]
) -> None:
    """W-04, W-17, W-08: "Current Format", "New Format (Model-Specific)", "Memory File Structure (Per Model)".

    Without figures `estimate_tokens` says them: "hello" is `max(1, len(str(text)) // 3)`.
    """
    (path := tmp_path / "memory.json").write_text(text, encoding="utf-8")
    given = json.loads(text)
    with engine_at(tmp_path / "s.db") as engine:
        (done,) = engine.import_models(path).files
        assert (done.became, done.model, done.new) == ("imported", QWEN, new)
        engine.export_models(tmp_path / "out")
    value = json.loads((tmp_path / "out" / "qwen2-5-7b.json").read_text("utf-8"))
    (one,), head = value["current_conversation"], value["metadata"]
    figures = (one["user"]["tokens"], one["assistant"]["tokens"], one["metadata"]["total_tokens"])
    said = (one["user"]["content"], one["assistant"]["content"])
    when, mode = one["metadata"].get("timestamp"), one["metadata"]["mode"]
    assert (*said, when, mode, *figures, head["total_exchanges"], head["total_tokens"]) == due
    assert {key: value[key] for key in SUMMARIES} == {key: given.get(key, []) for key in SUMMARIES}
    assert (head["version"], head["model"], head["context_window"]) == ("3.0", QWEN, 32768)
    assert {**head, **given.get("metadata", {})} == head


@pytest.mark.parametrize("model", ["qwen2.5:7b", "qwen2.5:3b", "llama3.1:8b", "claude-3-haiku", "gpt-4o-mini"])
def test_each_model_of_the_document_has_its_file(tmp_path: Path, model: str) -> None:
    """W-03: `qwen2.5:7b` -> `qwen2-5-7b`, `qwen2.5:3b` -> `qwen2-5-3b.json`, `claude-3-haiku` -> the same."""
    with engine_at(tmp_path / "s.db") as engine:
        say(engine, model, "hello")
        (file,) = engine.export_models(tmp_path / "out").files
    assert Path(file.path).name == f"{name_of(model)}.json" == f"{model.replace(':', '-').replace('.', '-')}.json"


def test_exchanges_of_the_document_without_figures_are_taken(tmp_path: Path) -> None:
    """W-17: "Example: Using different models for different tasks", and an exchange as its tests append it."""
    examples = [
        {"user": "Analyze this Python code...", "assistant": "Here's the analysis..."},
        {"user": "Now optimize it...", "assistant": "Here are optimizations..."},
        {"user": {"content": "test", "tokens": 4}, "assistant": {"content": "response", "tokens": 8}},
    ]
    (path := tmp_path / "memory.json").write_text(json.dumps({"current_conversation": examples}), encoding="utf-8")
    with engine_at(tmp_path / "s.db") as engine:
        assert engine.import_models(path).files[0].new == 3
        engine.export_models(tmp_path / "out")
    assert said_in(tmp_path / "out" / "qwen2-5-7b.json") == [
        "Analyze this Python code...",
        "Now optimize it...",
        "test",
    ]


def test_response_is_that_of_the_verbosity_table() -> None:
    """W-14: `RESPONSE_VERBOSITY`, as it stands there; balanced is the default."""
    table = {
        "concise": {"tools_max_response": 0.25, "chat_max_response": 0.20},
        "balanced": {"tools_max_response": 0.35, "chat_max_response": 0.25},  # Default
        "detailed": {"tools_max_response": 0.45, "chat_max_response": 0.30},
    }
    for verbosity, most in table.items():
        for tools_mode in (True, False):
            shares = adaptive_shares(1.0, tools_mode=tools_mode, verbosity=verbosity)  # type: ignore[arg-type]
            assert float(shares["response"]) == most["tools_max_response" if tools_mode else "chat_max_response"]
    assert float(adaptive_shares(1.0, tools_mode=True)["response"]) == table["balanced"]["tools_max_response"]


# -- what goes on, and what does not -----------------------------------------------------------------------------------


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
