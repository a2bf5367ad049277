"""Nothing of a recording is lost on its way into a store: each form is counted by plain JSON, and in the store."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from langchain_core.messages import HumanMessage

import squidbot
from squidbot.cli import main
from squidbot.codecs.recordings.readers import reader, reader_of
from squidbot.core.messages import Category
from squidbot.core.transcript.lines import LineStore
from squidbot.core.transcript.scopes import MODEL
from squidbot.core.view.steps import check_request
from squidbot.memory import sessions_of
from squidbot.services.recordings import RecordingImporter
from squidbot.testing.claude_code import ClaudeTranscript
from tests.codecs.recordings import (
    test_codex,
    test_copilot_cli,
    test_gemini_cli,
    test_langgraph,
    test_openai_dump,
    test_opencode,
    test_openhands,
    test_pydantic_ai,
    test_swe_agent,
)
from tests.codecs.recordings.reading import written
from tests.codecs.recordings.test_forms import FORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from squidbot.core.ports import TranscriptStore
    from squidbot.engine import Engine

    # What is said of a recording: ("call", its id), ("message", its time), ("input", tokens), ("branch", 1), ...
    Fact = tuple[str, Any]
    Counts = dict[Any, float]
    Form = tuple[Callable[[Path], Path], Callable[[Path], Iterator[Fact]]]


def _counts(facts: Iterable[Fact]) -> Counts:
    """Return how often each fact is told; tokens in all, and which models there are."""
    counts: Counts = {}
    for what, value in facts:
        key, number = (what, value) if what in {"input", "output"} else ((what, value), 1)
        counts[key] = number if what == "model" else counts.get(key, 0) + number
    return {key: number for key, number in counts.items() if number and key != ("model", "")}


def _seconds(stamp: object) -> float | None:
    if isinstance(stamp, str):
        return datetime.fromisoformat(stamp if stamp.endswith("Z") else f"{stamp}Z").timestamp()
    return stamp / 1_000 if isinstance(stamp, int) else stamp if isinstance(stamp, float) else None


# The counters: each knows the JSON of one form, and nothing of what else reads it.


def _values(path: Path) -> list[Any]:
    """Return the values of the lines of a file, or its one value."""
    text = path.read_text()
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]


def _of_claude_code(path: Path) -> Iterator[Fact]:
    below = [*path.with_suffix("").rglob("*.jsonl")]
    yield from (("agent", 1) for _ in below)
    used: dict[str, tuple[int, int]] = {}
    behind: Counter[str] = Counter()
    for entry in (entry for file in (path, *below) for entry in _values(file)):
        if not entry["isSidechain"]:
            behind[entry["parentUuid"] or entry.get("logicalParentUuid", "")] += 1
        said = entry.get("message")
        if said is None:
            continue
        blocks = said["content"] if isinstance(said["content"], list) else []
        yield from (("call", one["id"]) for one in blocks if one["type"] == "tool_use")
        results = [("result", one["tool_use_id"]) for one in blocks if one["type"] == "tool_result"]
        yield from results
        if said["role"] == "user" and not results and "isCompactSummary" not in entry:
            yield "prompt", 1
        if said.get("id") not in used:
            yield "message", _seconds(entry["timestamp"])
        if said["role"] == "assistant":
            yield "model", said["model"]
            tokens = said["usage"]
            used[said["id"]] = tokens["input_tokens"] + tokens["cache_read_input_tokens"], tokens["output_tokens"]
    for given, answered in used.values():
        yield from (("input", given), ("output", answered))
    yield from (("branch", 1) for number in behind.values() for _ in range(number - 1))


def _of_codex(path: Path) -> Iterator[Fact]:
    is_going_on, total = False, 0
    for line in _values(path):
        item, kind = line["payload"], line["payload"].get("type", "")
        if line["type"] == "turn_context":
            yield "model", item["model"]
        if kind == "thread_rolled_back":
            yield "branch", 1
        if kind == "token_count" and item["info"]["total_token_usage"]["total_tokens"] != total:
            total, is_going_on = item["info"]["total_token_usage"]["total_tokens"], False
            for key in ("input", "output"):
                yield key, item["info"]["last_token_usage"][f"{key}_tokens"]
        if line["type"] != "response_item":
            continue
        is_answer = kind in {"reasoning", "function_call"} or item.get("role") == "assistant"
        if not (is_answer and is_going_on):
            yield "message", _seconds(line["timestamp"])
        is_going_on = is_answer
        if "call_id" in item:
            yield "result" if kind.endswith("_output") else "call", item["call_id"]
        if item.get("role") == "user" and not item["content"][0]["text"].startswith("#"):
            yield "prompt", 1


def _of_gemini(path: Path) -> Iterator[Fact]:
    head, *more = _values(path)
    for one in head.get("messages", more):
        if one.get("type") not in {"user", "gemini"}:
            continue
        yield "message", _seconds(one["timestamp"])
        yield "prompt" if one["type"] == "user" else "model", one.get("model", 1)
        tokens = one.get("tokens", {"input": 0, "output": 0, "thoughts": 0})
        yield from (("input", tokens["input"]), ("output", tokens["output"] + tokens["thoughts"]))
        for call in one.get("toolCalls", ()):
            result = call["result"][0]["functionResponse"]["id"]
            yield from (("call", call["id"]), ("result", result), ("message", _seconds(call["timestamp"])))


def _of_copilot(path: Path) -> Iterator[Fact]:
    for event in _values(path):
        data, kind = event["data"], event["type"]
        if kind in {"system.message", "user.message", "assistant.message", "tool.execution_complete"}:
            yield "message", _seconds(event["timestamp"])
        if kind == "user.message":
            yield "prompt", 1
        yield from (("call", one["toolCallId"]) for one in data.get("toolRequests", ()))
        if kind == "tool.execution_complete":
            yield "result", data["toolCallId"]
        yield "model", data.get("model", data.get("selectedModel", ""))
        yield from (("input", data.get("inputTokens", 0)), ("output", data.get("outputTokens", 0)))


def _of_swe_agent(path: Path) -> Iterator[Fact]:
    (run,) = _values(path)
    yield "model", json.loads(run["replay_config"])["agent"]["model"]["name"]
    for one in run["history"]:
        yield "message", None
        yield from (("call", each["id"]) for each in one.get("tool_calls", ()))
        yield from (("result", each) for each in one.get("tool_call_ids", ()))
        if one["role"] == "user" and not one.get("is_demo") and "Observation" not in one["content"]:
            yield "prompt", 1


def _of_openhands(path: Path) -> Iterator[Fact]:
    answers = set()
    unsaid = {"recall", "agent_state_changed"}
    for file in sorted(path.glob("*.json"), key=lambda file: int(file.stem)):
        (event,) = _values(file)
        kind = event.get("action", event.get("observation"))
        named = event.get("tool_call_metadata", {})
        own = named.get("tool_call_id", f"event {event['id']}")
        response = named.get("model_response") or {}
        if kind in unsaid:
            continue
        if response.get("id") not in answers:
            yield "message", _seconds(event["timestamp"])
        if response and response["id"] not in answers:
            answers.add(response["id"])
            yield "model", response["model"]
            tokens = response["usage"]
            yield from (("input", tokens["prompt_tokens"]), ("output", tokens["completion_tokens"]))
        if "action" in event and event["source"] == "agent" and kind in {"run", "think", "delegate"}:
            yield "call", own
        if "observation" in event and event["source"] == "agent" and event["cause"] != 12:
            yield "result", own if named else f"event {event['cause']}"
        if event["source"] == "user":
            yield "prompt", 1
        if kind == "delegate" and "action" in event:
            yield "agent", 1


def _of_the_sdk(path: Path) -> Iterator[Fact]:
    responses = set()
    for file in sorted(path.glob("*.json"), key=lambda file: int(file.stem)):
        (event,) = _values(file)
        kind = event["kind"]
        if kind == "ActionEvent":
            yield "call", event["tool_call_id"]
        if kind in {"ObservationEvent", "AgentErrorEvent"}:
            yield "result", event["tool_call_id"]
        if kind == "MessageEvent" and event["source"] == "user":
            yield "prompt", 1
        if kind != "ConversationStateUpdateEvent" and event.get("llm_response_id") not in responses:
            yield "message", _seconds(event["timestamp"])
        responses |= {event["llm_response_id"]} if "llm_response_id" in event else set()


def _of_chat(path: Path) -> Iterator[Fact]:
    for one in _values(path):
        yield "message", _seconds(one.get("timestamp"))
        yield from (("call", each["id"]) for each in one.get("tool_calls", ()))
        if one["role"] == "tool":
            yield "result", one["tool_call_id"]
        if one["role"] == "user":
            yield "prompt", 1
        yield from (("model", one.get("model", "")), ("input", one.get("usage", {}).get("prompt_tokens", 0)))


def _of_items(path: Path) -> Iterator[Fact]:
    is_going_on = False
    for item in _values(path):
        is_answer = item.get("type") in {"reasoning", "function_call"} or item.get("role") == "assistant"
        if not (is_answer and is_going_on):
            yield "message", None
        is_going_on = is_answer
        if "call_id" in item:
            yield "call" if is_answer else "result", item["call_id"]
        if item.get("role") == "user":
            yield "prompt", 1


def _of_chatgpt(path: Path) -> Iterator[Fact]:
    ((tree,),) = _values(path)
    told = [node for node in tree["mapping"].values() if node["message"] and node["id"] != "a"]
    parents = Counter(node["parent"] for node in told)
    for node in told:
        one = node["message"]
        yield "message", one["create_time"]
        yield "model", one.get("metadata", {}).get("model_slug", "")
        if one["recipient"] == "python":
            yield from (("call", one["id"]), ("result", one["id"]))
        if one["author"]["role"] == "user":
            yield "prompt", 1
    yield from (("branch", 1) for number in parents.values() for _ in range(number - 1))


def _of_pydantic_ai(path: Path) -> Iterator[Fact]:
    values = _values(path)
    for one in values[0] if len(values) == 1 else values:
        parts = one["parts"]
        stamps = [stamp for stamp in (one["timestamp"], *(part.get("timestamp") for part in parts)) if stamp]
        yield "message", _seconds(stamps[0])
        yield from (("call", part["tool_call_id"]) for part in parts if part["part_kind"] == "tool-call")
        yield from (("result", part["tool_call_id"]) for part in parts if part["part_kind"] == "tool-return")
        yield from (("prompt", 1) for part in parts if part["part_kind"] == "user-prompt")
        yield "model", one.get("model_name", "")
        for key in ("input", "output"):
            yield key, one.get("usage", {}).get(f"{key}_tokens", 0)


def _of_opencode(path: Path) -> Iterator[Fact]:
    with closing(sqlite3.connect(path)) as database:
        sessions = database.execute("SELECT parent_id FROM session").fetchall()
        messages = {own: json.loads(data) for own, data in database.execute("SELECT id, data FROM message")}
        parts = [(own, json.loads(data)) for own, data in database.execute("SELECT message_id, data FROM part")]
    yield from (("agent", 1) for (parent,) in sessions if parent)
    steps = Counter(own for own, part in parts if part["type"] == "step-start")
    for own, one in messages.items():
        yield from (("message", _seconds(one["time"]["created"])) for _ in range(steps[own] or 1))
        yield "model", one.get("modelID", "")
        if one["role"] == "user" and not any(part.get("synthetic") for of, part in parts if of == own):
            yield "prompt", 1
    for _, part in parts:
        if part["type"] == "tool":
            yield from (("call", part["callID"]), ("result", part["callID"]))
            yield "message", _seconds(part["state"]["time"]["end"])
        if tokens := part.get("tokens"):
            yield "input", tokens["input"] + tokens["cache"]["read"] + tokens["cache"]["write"]
            yield "output", tokens["output"] + tokens["reasoning"]


RATHER = HumanMessage("Rather not", id="m5")
THREAD = [test_langgraph.ASK, test_langgraph.CALL, test_langgraph.RESULT, test_langgraph.DONE]


def _of_langgraph(path: Path) -> Iterator[Fact]:
    del path
    yield "branch", 1
    for one in (*THREAD, RATHER):
        yield "message", _seconds("2026-01-02T03:04:05Z")
        if one.type == "human":
            yield "prompt", 1
        yield from (("call", each["id"]) for each in getattr(one, "tool_calls", ()))
        if one.type == "tool":
            yield "result", test_langgraph.RESULT.tool_call_id
        for key in ("input", "output"):
            yield key, (getattr(one, "usage_metadata", None) or {}).get(f"{key}_tokens", 0)
        yield "model", one.response_metadata.get("model_name", "")


# The samples, each with its counter.


def _talk(folder: Path) -> Path:
    """Write a session of Claude Code with all that one has, and return its file."""
    talk = ClaudeTranscript(folder)
    talk.say("Mend the parser")
    talk.answer({"type": "thinking", "thinking": "Where is it?", "signature": "c2ln"}, "I look.")
    talk.call("Bash", {"command": "ls"}, "parser.py", text="Here.")
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    talk.add("user", {"role": "user", "content": [{"type": "text", "text": "As here"}, picture]})
    asked = talk.answer("Done.", model="claude-haiku-5")
    talk.say("And the tests?")
    talk.call("Read", {"file_path": "test.py"}, "assert True")
    talk.compact("They mend the parser.")
    talk.call("Task", {"prompt": "Find it"}, "Found.")
    talk.tip = asked
    talk.say("And the page?")
    talk.answer("It is fine.")
    below = ClaudeTranscript(folder / talk.session / "subagents", "agent-a1b2", talk.cwd)
    side: dict[str, Any] = {"isSidechain": True, "agentId": "a1b2", "sessionId": talk.session}
    below.say("Find it", **side)
    text, usage = [{"type": "text", "text": "Found."}], {"input_tokens": 3, "cache_read_input_tokens": 0}
    message = {"id": "msg_b", "role": "assistant", "model": "claude-haiku-5", "content": text}
    below.add("assistant", {**message, "usage": {**usage, "output_tokens": 2}}, **side)
    return talk.path


def _rollout(folder: Path) -> Path:
    """Write a rollout of Codex in which somebody went back by a turn, and return its file."""
    again = [test_codex.event("thread_rolled_back", num_turns=1), test_codex.said("user", "list all")]
    more = [test_codex.said("assistant", "Two files."), test_codex.tokens(50, 20)]
    return written(folder / "rollout.jsonl", [*test_codex.TALK, *again, *more])


def _threads(folder: Path) -> Path:
    """Make a database of LangGraph, in which somebody went back, and return its path."""
    steps = [("t", str(at + 1), THREAD[: at + 1], str(at) if at else "") for at in range(4)]
    folder.mkdir()
    return test_langgraph.saved(folder / "a.db", *steps, ("t", "5", [THREAD[0], RATHER], "1"))


def _chats(folder: Path) -> Path:
    folder.mkdir()
    both = [(test_opencode.session("ses_1"), test_opencode.MESSAGES), (test_opencode.HELPER, test_opencode.INNER)]
    return test_opencode.in_database(folder / "o.db", both)


SAMPLES: dict[str, Form] = {
    "claude-code": (_talk, _of_claude_code),
    "codex": (_rollout, _of_codex),
    "gemini-cli": (lambda at: written(at / "g.json", test_gemini_cli.WHOLE, lines=False), _of_gemini),
    "gemini-cli lines": (lambda at: written(at / "g.jsonl", test_gemini_cli.LINES), _of_gemini),
    "copilot-cli": (lambda at: written(at / "c.jsonl", test_copilot_cli.TALK), _of_copilot),
    "opencode": (_chats, _of_opencode),
    "swe-agent": (lambda at: written(at / "s.traj", [test_swe_agent.RUN], lines=False), _of_swe_agent),
    "openhands": (lambda at: test_openhands.folder(at, test_openhands.EVENTS), _of_openhands),
    "openhands sdk": (lambda at: test_openhands.folder(at, test_openhands.SDK), _of_the_sdk),
    "langgraph": (_threads, _of_langgraph),
    "pydantic-ai": (lambda at: written(at / "p.json", [test_pydantic_ai.DUMP], lines=False), _of_pydantic_ai),
    "openai-dump": (lambda at: written(at / "d.jsonl", test_openai_dump.CHAT), _of_chat),
    "openai-dump items": (lambda at: written(at / "i.jsonl", test_openai_dump.ITEMS), _of_items),
    "openai-dump chatgpt": (lambda at: written(at / "t.json", [[test_openai_dump.TREE]], lines=False), _of_chatgpt),
}


# The store.

# Under which keys a message has its tokens.
INPUT = ("prompt_tokens", "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
OUTPUT = ("completion_tokens", "output_tokens")


def _imported(path: Path, store: Path) -> int:
    """Import what is at a path, and return how many messages were new."""
    printed = CliRunner().invoke(main, ["import", str(path), "--store", str(store), "--json"])
    assert printed.exit_code == 0, printed.output
    return sum(one["new"] for one in json.loads(printed.output)["sessions"])


def _importer(engine: Engine) -> RecordingImporter:
    return RecordingImporter(engine.wired.store, engine.wired.meter(), engine.wired.codecs)


def _opened(store: Path) -> Engine:
    return squidbot.load({"store": {"path": str(store)}})


def _stored(engine: Engine) -> Iterator[Fact]:
    """Say of a store what the counters say of a source."""
    store = engine.wired.store
    for name, number in sessions_of(store):
        yield from (("agent", 1) for _ in range(name.count("/") - 1))
        yield from (("branch", 1) for _ in [*LineStore(store, name).all()][1:])
        yield from (("model", change.model) for change in MODEL.all(store, name))
        for row in store.read(name, 0, number):
            message = engine.wired.codecs[row.codec].decode(row.payload)
            yield "message", row.time
            yield from (("call", call.id) for call in message.calls)
            yield from (("result", result) for result in message.results)
            if row.role == "user" and row.category is Category.DIALOG:
                yield "prompt", 1
            usage = json.loads(row.payload).get("usage") or {}
            yield from (("input", usage.get(key, 0)) for key in INPUT)
            yield from (("output", usage.get(key, 0)) for key in OUTPUT)


def _lines(store: TranscriptStore) -> dict[str, list[list[str]]]:
    """Return what each line of each session says."""
    return {
        name: sorted([row.payload for row in line.read(name, 0, number)] for line in LineStore(store, name).all())
        for name, number in sessions_of(store)
    }


@pytest.mark.parametrize("name", SAMPLES)
def test_store_has_all_that_a_recording_says(tmp_path: Path, name: str) -> None:
    """Messages with their times, prompts, calls, results, branches, sub-agents, tokens and models; once only."""
    make, count = SAMPLES[name]
    path, store = make(tmp_path / "recordings"), tmp_path / "s.db"
    # Sub-agents of Claude Code have files of their own beside their session's.
    what = path.parent if name == "claude-code" else path
    assert _imported(what, store)
    assert _imported(what, store) == 0
    with _opened(store) as engine:
        assert _counts(_stored(engine)) == _counts(count(path))


@pytest.mark.parametrize("name", ["claude-code", "codex", "gemini-cli lines", "copilot-cli"])
def test_pieces_give_the_same_lines_as_the_whole(tmp_path: Path, name: str) -> None:
    """Wherever a file ended when it was imported first: payloads are the same, and stand in the same order."""
    path = SAMPLES[name][0](tmp_path / "recordings")
    data = path.read_bytes()
    reader = reader_of(path)
    assert reader
    with _opened(tmp_path / "whole.db") as engine:
        _importer(engine).import_file(reader, path)
        whole = _lines(engine.wired.store)
    ends = [at for at, byte in enumerate(data, 1) if byte == 10]
    with _opened(tmp_path / "pieces.db") as engine:
        for end in sorted({*ends[:-1:2], *(each - 9 for each in ends[1::3])}):
            path.write_bytes(data[:end])
            done = _importer(engine).import_file(reader, path, is_over=False)
            assert not [one.reason for one in done if one.reason]
        path.write_bytes(data)
        _importer(engine).import_file(reader, path)
        assert _lines(engine.wired.store) == whole


def _pieces(engine: Engine) -> Counter[str]:
    """Return each text, call and result that a store has: an answer may be one message or several."""
    found = Counter[str]()
    for name, number in sessions_of(engine.wired.store):
        for row in engine.wired.store.read(name, 0, number):
            value = json.loads(row.payload)
            for key in ("content", "output", "tool_calls", "reasoning_content"):
                said = value.get(key) or []
                found.update(json.dumps([row.role, one]) for one in (said if isinstance(said, list) else [said]))
    return found


@pytest.mark.parametrize(
    ("then", "name"),
    [
        ("hooks", "claude-code"),
        pytest.param("hooks", "codex", marks=pytest.mark.slow),
        ("hooks", "gemini-cli lines"),
        pytest.param("hooks", "copilot-cli", marks=pytest.mark.slow),
        pytest.param("import", "claude-code", marks=pytest.mark.slow),
        ("import", "codex"),
        ("import", "gemini-cli lines"),
        ("import", "copilot-cli"),
    ],
)
def test_what_an_import_stored_in_the_middle_of_a_step_is_completed(tmp_path: Path, name: str, then: str) -> None:
    """Wherever the file ended, by the hooks that follow or by another import: nothing is lost or comes twice.

    An archive, which is another file, brings nothing new.
    """
    path = SAMPLES[name][0](tmp_path / "recordings")
    data = path.read_bytes()
    reader = reader_of(path)
    assert reader
    # The usage of an answer stands behind it, and can't be added to one that is stored.
    late = {"input", "output"} if name in {"codex", "copilot-cli"} else set()

    def told(engine: Engine) -> tuple[Counts, Counter[str]]:
        facts = [fact for fact in _stored(engine) if fact[0] not in {"message", *late}]
        return _counts(facts), _pieces(engine)

    with _opened(tmp_path / "whole.db") as engine:
        _importer(engine).import_file(reader, path)
        whole = told(engine)
    ends = [at for at, byte in enumerate(data, 1) if byte == 10]
    # A line may be written in two pieces, and its end may come last.
    cuts = sorted({*ends, *(end - 1 for end in ends), *(end - 9 for end in ends)} - {ends[0] - 1, ends[0] - 9})
    for cut in cuts:
        with _opened(tmp_path / f"{cut}.db") as engine:
            path.write_bytes(data[:cut])
            _importer(engine).import_file(reader, path)
            for later in (each for each in cuts if each > cut and then == "hooks"):
                path.write_bytes(data[:later])
                _importer(engine).import_file(reader, path, is_over=False)
            path.write_bytes(data)
            assert not [one.reason for one in _importer(engine).import_file(reader, path) if one.reason]
            assert told(engine) == whole
            if name in {"claude-code", "codex"}:  # ids of others begin anew in each session
                archive = tmp_path / "archive" / path.name
                archive.parent.mkdir(exist_ok=True)
                archive.write_bytes(data)
                assert sum(one.new for one in _importer(engine).import_file(reader, archive)) == 0


@pytest.mark.parametrize("name", SAMPLES)
def test_imported_sessions_are_talked_on(tmp_path: Path, name: str) -> None:
    """Whatever was recorded last, what is sent with the next prompt is a request that a provider takes."""
    path, store = SAMPLES[name][0](tmp_path / "recordings"), tmp_path / "s.db"
    _imported(path, store)
    with _opened(store) as engine:
        for each, _ in sessions_of(engine.wired.store):
            session = engine.session(each)
            session.record({"role": "user", "content": "Go on"})
            check_request(session.preview().core.parts)
            session.compact()
            check_request(session.preview().core.parts)


@pytest.mark.parametrize("name", [name for name, (agent, *_) in FORMS.items() if agent])
def test_every_form_is_imported_once(tmp_path: Path, name: str) -> None:
    """All that a reader finds in the smallest recording of a form is stored; a second import adds nothing."""
    _, values, lines = FORMS[name]
    is_event = name.startswith("openhands event")
    path = written(tmp_path / ("events/0.json" if is_event else "file.jsonl"), values, lines=lines)
    reader = reader_of(path)
    assert reader
    read = sum(len(session.messages) for session in reader.read(path))
    assert _imported(path, tmp_path / "s.db") == read
    assert _imported(path, tmp_path / "s.db") == 0


def _called(path: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Import a recording, and return each role with the calls or the results, on the line that is talked on."""
    _imported(path, path.parent.parent / "s.db")
    with _opened(path.parent.parent / "s.db") as engine:
        ((name, number),) = sessions_of(engine.wired.store)
        rows = LineStore(engine.wired.store, name).read(name, 0, number)
        return [(row.role, row.call_ids or row.result_ids) for row in rows]


def test_what_an_answer_got_after_it_was_imported_is_stored(tmp_path: Path) -> None:
    """Of Gemini CLI, which writes an answer again with more calls; once, wherever the file lies."""
    whole: dict[str, object] = {**test_gemini_cli.WHOLE[0], "sessionId": "0195a3b2-5c6d-7e8f-9a0b-1c2d3e4f5a6b"}  # type: ignore[dict-item]
    early = {**test_gemini_cli.ANSWER, "toolCalls": test_gemini_cli.ANSWER["toolCalls"][:1]}  # type: ignore[index]
    asked = test_gemini_cli.TALK[:1]
    _called(written(tmp_path / "a" / "g.json", [{**whole, "messages": [*asked, early]}], lines=False))
    once = [("user", ()), ("assistant", ("c1",)), ("tool", ("c1",)), ("assistant", ("c2",)), ("tool", ("c2",))]
    for folder in ("b", "a", "b"):
        path = written(tmp_path / folder / "g.json", [whole], lines=False)
        assert _called(path) == [*once, ("user", ()), ("assistant", ())]


def test_an_answer_that_is_read_in_pieces_is_billed_once(tmp_path: Path) -> None:
    """Of Claude Code: each block repeats the usage, the last one has all of it, and a tool may run in between."""
    talk = ClaudeTranscript(tmp_path)
    talk.say("Look at both")
    for at in range(2):
        use = {"type": "tool_use", "id": f"t{at}", "name": "Read", "input": {}}
        head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m"}
        usage = {"input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": 3 + 40 * at}
        talk.add("assistant", {**head, "content": [use], "stop_reason": None, "usage": usage})
        found = {"type": "tool_result", "tool_use_id": f"t{at}", "content": f"file {at}"}
        talk.add("user", {"role": "user", "content": [found]})
    talk.answer("Both are fine.")
    lines = talk.path.read_text().splitlines(keepends=True)
    every = range(1, len(lines) + 1)
    for ends in (every, *((cut, len(lines)) for cut in every)):
        with _opened(tmp_path / f"{len(ends)}-{ends[0]}.db") as engine:
            for end in ends:
                talk.path.write_text("".join(lines[:end]))
                _importer(engine).import_file(reader("claude-code"), talk.path)
            counts = _counts(_stored(engine))
            assert (counts["input"], counts["output"]) == (220, 48)


def test_a_copy_brings_the_blocks_that_came_after_an_import(tmp_path: Path) -> None:
    """Of Claude Code: the file itself is read on, so nothing of it comes twice; a copy is read from its beginning."""
    talk = ClaudeTranscript(tmp_path / "a")
    talk.say("Mend the parser")
    talk.call("Bash", {"command": "ls"}, "parser.py", text="I look.")
    talk.answer("Done.")
    lines = talk.path.read_text().splitlines(keepends=True)
    expected = [("user", ()), ("assistant", ()), ("assistant", ("toolu_1111_1",)), ("tool", ("toolu_1111_1",))]
    for ways in ("ab", "ba", "aab", "bba"):
        path = tmp_path / ways / "a" / talk.path.name
        path.parent.mkdir(parents=True)
        path.write_text("".join(lines[:2]))
        assert len(_called(path)) == 2
        for way in ways:
            copy = path.parent.with_name(way) / path.name
            copy.parent.mkdir(exist_ok=True)
            copy.write_text("".join(lines))
            assert _called(copy) == [*expected, ("assistant", ())]
