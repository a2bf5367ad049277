"""Recordings that nobody would write: whatever they hold, every request keeps the rules and every line can be read."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.cli.replay_results import result_of, to_json
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.codecs.transcripts import Conversation, read_transcripts
from squidbot.replay.dump import block_json, dump_line
from squidbot.replay.metrics import Ruler
from squidbot.replay.recording import CODECS, Reader, recording_of
from squidbot.replay.rivals import RIVALS, score_rival
from squidbot.replay.runner import Places, ReplayCall, ReplayOutcome, Results, conversations_of, replay, run
from squidbot.replay.terms import open_counter, terms_for

from .test_replay_table import page_of

if TYPE_CHECKING:
    from pathlib import Path

CODEC = OpenAIChat()
ODD = st.sampled_from(
    ["", "\0", "\ud800", "\N{GRINNING FACE}" * 9, "a\u2028b\x85c", "x" * 3_000, "src/a_b.py 12345 ", "说" * 90]
)
TEXTS = st.builds(lambda odd, times, text: odd * times + text, ODD, st.integers(1, 3), st.text(max_size=8))
IDS = st.sampled_from(["c1", "c2", "c3"])


def said(role: str, text: str, calls: list[str], when: float | None) -> dict[str, object]:
    """Return a message; a tool's answers the first of `calls`, an assistant's makes them."""
    made: dict[str, object] = {"role": role, "content": text}
    if when is not None:
        made["timestamp"] = when
    if role == "tool":
        made["tool_call_id"] = calls[0] if calls else "c9"
    if role == "assistant" and calls:
        function = {"name": "read_file", "arguments": json.dumps({"text": text})}
        made["tool_calls"] = [{"id": call, "type": "function", "function": function} for call in calls]
    return made


MESSAGES = st.builds(
    said,
    st.sampled_from(["user", "assistant", "assistant", "tool", "tool", "system"]),
    TEXTS,
    st.lists(IDS, max_size=2, unique=True),
    st.sampled_from([None, 0.0, 1e9, 1e9 + 700.0]),
)


def conversation(messages: list[dict[str, object]], name: str = "talk") -> Conversation:
    """Return a conversation that no reader has checked."""
    made = tuple(CODEC.to_message(message) for message in messages)
    places = tuple(range(len(made)))
    return Conversation(
        name, f"{name}.jsonl", CODEC.tag, made, tuple(at + 1 for at in places), places, (None,) * len(made)
    )


def breaks_rules(calls: list[ReplayCall], limit_tokens: int) -> list[str]:
    """Return what is wrong with the requests of a replay, in words."""
    wrong, before, events = [], None, 0
    for call in calls:
        events += call.plan is not None
        if call.blocks is None:
            continue
        if not 0 < call.bound_tokens <= limit_tokens:
            wrong.append(f"call {call.number} is bounded by {call.bound_tokens} of {limit_tokens}")
        open_calls: set[str] = set()
        for block in call.blocks:
            if block.tool_result is not None and block.tool_result not in open_calls:
                wrong.append(f"call {call.number} has a result of {block.tool_result} without its call")
            open_calls.discard(block.tool_result or "")
            open_calls.update(block.tool_calls)
        if open_calls:
            wrong.append(f"call {call.number} leaves {open_calls} open")
        shown = [(block.role, block.text) for block in call.blocks]
        if before is not None and shown[: len(before)] != before and not events:
            wrong.append(f"call {call.number} breaks the prefix without an event")
        before, events = shown, 0
    return wrong


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(MESSAGES, min_size=1, max_size=14), st.sampled_from([700, 2_048, 8_192]))
def test_replay_keeps_the_rules_whatever_was_recorded(messages: list[dict[str, object]], window: int) -> None:
    """Lone surrogates, NUL, unpaired calls, clocks that stand still: no rule is broken, nothing raises."""
    talk = conversation(messages)
    terms = terms_for(window, 128, "balanced", open_counter("bytes"), "tokens")
    ruler, calls = Ruler(terms.meter.physical), list[ReplayCall]()
    outcome = replay(talk, terms, InMemoryStore(), ruler, calls.append)
    assert breaks_rules(calls, window - 128) == []
    assert (outcome.tally.over, outcome.tally.pairs_broken, outcome.unexplained) == (0, 0, [])
    assert outcome.calls == sum(message["role"] == "assistant" for message in messages[1:])
    for call in calls:
        line = dump_line(call.number, call.bound_tokens, [block_json(block) for block in call.blocks or ()])
        assert json.loads(line)["call"] == call.number
    recording = recording_of(talk, Reader(talk, CODECS))
    for kind in RIVALS:
        assert score_rival(kind(window - 128, ruler), recording, ruler, lambda: None).calls == outcome.calls
    check_shown(Results(terms, (outcome,)), outcome)


def check_shown(results: Results, outcome: ReplayOutcome) -> None:
    """Check that the outcome can be printed both ways."""
    assert json.loads(json.dumps(to_json(results), allow_nan=False))["calls"] == outcome.calls
    assert f"{outcome.calls:,} model call" in page_of(result_of(results))


@given(st.lists(MESSAGES, min_size=1, max_size=10))
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_replay_gives_the_same_requests_again(messages: list[dict[str, object]]) -> None:
    """Same recording, same terms: the same blocks, bounds and events; only the time differs."""
    terms = terms_for(2_048, 128, "speed", open_counter("bytes"), "tokens")
    runs = []
    for _ in range(2):
        calls: list[ReplayCall] = []
        replay(conversation(messages), terms, InMemoryStore(), Ruler(terms.meter.physical), calls.append)
        runs.append([(call.number, call.bound_tokens, call.blocks, call.plan, str(call.error)) for call in calls])
    assert runs[0] == runs[1]


def test_replay_takes_a_line_of_many_megabytes(tmp_path: Path) -> None:
    """A tool that printed a whole disk: cut before it is sent, and not looked at byte by byte over and over."""
    function = {"name": "cat", "arguments": "{}"}
    messages: list[dict[str, object]] = [
        {"role": "user", "content": "print it"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "function": function}]},
        {"role": "tool", "tool_call_id": "c1", "content": "0123456789abcdef" * 250_000},
        {"role": "assistant", "content": "That was long."},
    ]
    path = tmp_path / "long.jsonl"
    path.write_text("".join(json.dumps(message) + "\n" for message in messages))
    began = time.perf_counter()
    places = Places((str(path),), dump=str(tmp_path / "d.jsonl"))
    terms = terms_for(8_000, None, "balanced", open_counter("bytes"), "tokens")
    made = run(conversations_of(places), terms, places, tick=lambda: None)
    assert time.perf_counter() - began < 20
    assert (made.outcomes[0].tally.calls, made.outcomes[0].tally.over) == (2, 0)
    assert (tmp_path / "d.jsonl").stat().st_size < 50_000


ANTHROPIC: list[dict[str, object]] = [
    {"role": "user", "content": "read both"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            *({"type": "tool_use", "id": one, "name": "read", "input": {"path": one}} for one in ("t1", "t2")),
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "text of t1"},
            {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "text of t2"}]},
        ],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "both read"}]},
]
CLAUDE_CODE: list[dict[str, object]] = [
    {
        "type": message["role"],
        "sessionId": "s",
        "uuid": str(at),
        "timestamp": f"2025-01-01T00:00:0{at}Z",
        "message": message,
    }
    for at, message in enumerate(ANTHROPIC)
]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("\n".join(map(json.dumps, ANTHROPIC)), id="Anthropic lines"),
        pytest.param(json.dumps(ANTHROPIC), id="an array"),
        pytest.param(json.dumps({"id": "one", "messages": ANTHROPIC}), id="an object"),
        pytest.param("\n".join(map(json.dumps, CLAUDE_CODE)), id="Claude Code"),
    ],
)
def test_replay_reads_every_form_of_recording(tmp_path: Path, content: str) -> None:
    """The same conversation in four forms gives the same two requests, results apart and paired."""
    path = tmp_path / "talk.jsonl"
    path.write_text(content)
    terms = terms_for(8_000, None, "balanced", open_counter("classes"), "tokens")
    calls: list[ReplayCall] = []
    outcome = replay(read_transcripts(path)[0], terms, InMemoryStore(), Ruler(terms.meter.physical), calls.append)
    last = calls[-1].blocks or ()
    assert [(block.role, block.tool_calls, block.tool_result) for block in last] == [
        ("user", (), None),
        ("assistant", ("t1", "t2"), None),
        ("tool", (), "t1"),
        ("tool", (), "t2"),
    ]
    assert [block.text for block in last[2:]] == ["text of t1", "text of t2"]
    assert (outcome.calls, outcome.tally.pairs_broken, outcome.tally.breaks) == (2, 0, 0)
