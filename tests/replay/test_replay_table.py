"""What a replay prints, and what it makes of hostile recordings."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from contextlib import redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.cli.printer import bar
from squidbot.cli.replay_results import result_of, to_json
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.codecs.transcripts import Conversation, read_transcripts
from squidbot.core.errors import BudgetError
from squidbot.core.plan import FirstChanged, PlanRecord, Price
from squidbot.replay.dump import block_json, dump_line
from squidbot.replay.metrics import Ruler, Tally
from squidbot.replay.recording import CODECS, Reader, recording_of
from squidbot.replay.results import percentile
from squidbot.replay.rivals import RIVALS, score_rival
from squidbot.replay.runner import (
    FailedCall,
    Places,
    PlanEvent,
    PolicyRow,
    ReplayCall,
    ReplayOutcome,
    Results,
    conversations_of,
    replay,
    run,
)
from squidbot.replay.terms import Unit, open_counter, terms_for

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.cli.output import Result


# -- what people read: plain text within 80 columns, every figure explained, nothing that a terminal would obey -------

ESCAPE = "\x1b"


def page_of(result: Result) -> str:
    """Return what a result prints in a pipe."""
    out = StringIO()
    with redirect_stdout(out):
        result.print()
    return out.getvalue()


def tally(calls: int = 200) -> Tally:
    """Return a tally with round figures."""
    return Tally(
        calls=calls,
        breaks=14,
        billed=3_000.0 * calls,
        tokens=20_000 * calls,
        cached_tokens=19_000 * calls,
        largest_tokens=27_000,
        users_held=199,
        users_all=200,
        needed=Counter({0: 100, 2_000: 50, 8_000: 10}),
        held=Counter({0: 98, 2_000: 45, 8_000: 4}),
    )


def outcome(name: str = "talk", happenings: int = 14, **changes: object) -> ReplayOutcome:
    """Return an outcome with so many events."""
    plan = PlanRecord(0, None, "lease", None, "overflow", tokens_before=27_900, tokens_after=9_100)
    moved = PlanRecord(
        1,
        0,
        "lease",
        None,
        "high-water",
        tokens_before=25_000,
        tokens_after=9_000,
        first_changed=FirstChanged(12, 40, 4_208),
        price=Price(5_510.0, 1_600.0, 0.0, 3.4),
    )
    happened = [PlanEvent(7 * at, moved if at else plan) for at in range(happenings)]
    result = ReplayOutcome(
        name,
        f"{name}.jsonl",
        411,
        366_753,
        20_000.0 * 200,
        tally(),
        200,
        27_500,
        events=happened,
        seconds=[0.0004] * 199 + [0.3],
    )
    for key, value in changes.items():
        setattr(result, key, value)
    return result


def shown(*outcomes: ReplayOutcome, rows: tuple[PolicyRow, ...] = (), unit: Unit = "tokens") -> str:
    """Return the text for outcomes under a window of 32,000 tokens."""
    terms = terms_for(32_000, 4_096, "balanced", open_counter("classes"), unit)
    return page_of(result_of(Results(terms, outcomes or (outcome(),), rows)))


def test_text_says_what_was_replayed_sent_paid_and_kept() -> None:
    """The figures of one conversation, in words."""
    text = shown()
    for part in (
        "talk: 411 messages, 200 model calls, 366,753 tokens of history",
        "window 32,000 tokens, 4,096 of them for the answer; strategy balanced",
        "20,000 tokens a call on average, largest 27,500 of 27,904 by its bound",
        "0 requests over the window, 0 with a broken tool pair",
        "3,000 input tokens' worth a call: 15 % of sending everything (20,000)",
        "95 % of the input was cached",
        "14 requests broke the cached prefix, each at a compaction",
        "99.5 % of the user's messages, word for word",
        "98 % of the names and numbers that the agent used next",
        "90 % after 2,000, 40 % after 8,000",
        "0.40 ms of CPU to decide on a request (median)",
    ):
        assert part in " ".join(text.split()), part


def test_text_has_neither_colour_nor_boxes_nor_long_lines_in_a_pipe() -> None:
    """Eighty columns of characters that every terminal and every mail shows."""
    rows = (
        PolicyRow("send everything", ours=False, tally=tally()),
        PolicyRow("squidbot balanced", ours=True, tally=tally()),
    )
    for text in (shown(rows=rows), shown(outcome("a"), outcome("b" * 300), rows=rows), shown(unit="words")):
        assert text.isascii()
        assert ESCAPE not in text
        assert max(map(len, text.splitlines())) <= 80
        assert not re.search(r"[ \t]$", text, re.MULTILINE)
        assert text.endswith("\n")


def test_events_are_listed_up_to_twelve_with_what_moved_and_what_it_cost() -> None:
    """The rest is counted, and said where to find."""
    lines = shown().splitlines()
    rows = [line.split() for line in lines if re.match(r" +\d+ +(overflow|high-water) ", line)]
    assert len(rows) == 12
    assert rows[0] == ["0", "overflow", "27,900", "9,100", "-", "-", "-", "-"]
    assert rows[1] == ["7", "high-water", "25,000", "9,000", "4,208", "m40", "5,510", "4"]
    assert "... 2 more; --json lists all" in lines
    assert "more;" not in shown(outcome(happenings=12))
    assert "Events" not in shown(outcome(happenings=0))


def test_every_column_is_explained() -> None:
    """One line each, under its table."""
    rows = (
        PolicyRow("send everything", ours=False, tally=tally()),
        PolicyRow("squidbot balanced", ours=True, tally=tally()),
    )
    lines = shown(rows=rows).splitlines()
    for column in (
        "before",
        "kept",
        "from",
        "price",
        "pays after",
        "cost",
        "cached",
        "over",
        "pairs",
        "breaks",
        "users",
    ):
        assert any(line.startswith(f"{column}  ") for line in lines), column
    assert "cost    in input tokens per call: cached 0.1, new 1.25; summaries in 1, out 5" in lines
    assert any(line.startswith("squidbot balanced *") for line in lines)
    assert not any(line.startswith("send everything *") for line in lines)


def test_many_conversations_show_totals_and_those_that_lost_most() -> None:
    """Calls without a request come first, then what recall lost."""
    worst = outcome("worst", failures=[FailedCall(3, BudgetError("tools", cost=9, budget=5, unit="tokens", key="k"))])
    forgetful = outcome("forgetful", tally=Tally(calls=9, needed=Counter({0: 10}), held=Counter({0: 1})))
    text = shown(*(outcome(f"fine-{at}") for at in range(9)), forgetful, worst)
    assert "11 conversations: 4,521 messages, 2,200 model calls" in text
    assert "1 call had no request that fits\n" in text
    names = [line.split()[0] for line in text.splitlines() if re.match(r"(worst|forgetful|fine-\d) ", line)]
    assert names[:2] == ["worst", "forgetful"]
    assert len(names) == 8
    assert "... 3 more; --json lists all" in text


def test_breaks_without_an_event_are_not_hidden() -> None:
    """That would be a fault of the engine."""
    assert "14 requests broke the cached prefix, 2 WITHOUT A COMPACTION" in shown(outcome(unexplained=[3, 4]))
    assert "every request extends the one before it" in shown(outcome(tally=Tally(calls=3)))


def test_nothing_to_show_is_said_in_words() -> None:
    """No call, no literal, no user: no division, no empty line of figures."""
    text = shown(outcome(tally=Tally(), calls=0, seconds=[], events=[], everything_billed=0.0))
    assert "the agent reused no name or number" in text
    assert "0 model calls" in text
    assert "no call" in text


@pytest.mark.parametrize(("held", "shown_as"), [(1.0, "100 %"), (0.9999, "99.9 %"), (0.0, "0 %"), (0.0001, "0.1 %")])
def test_shares_are_never_rounded_to_all_or_nothing(held: float, shown_as: str) -> None:
    """Ninety-nine of a hundred thousand is not none."""
    counted = Tally(calls=1, users_held=round(held * 10_000), users_all=10_000)
    assert f"kept  {shown_as} of the user's messages" in shown(outcome(tally=counted))


def test_words_are_named_where_they_limit() -> None:
    """The policy cap stands beside the window."""
    assert "and at most 4,500 words" in " ".join(shown(unit="words").split())


def test_names_can_not_command_the_terminal() -> None:
    """An id comes from a file that anybody may have written."""
    text = shown(outcome("\x1b]0;gotcha\x07"))
    assert ESCAPE not in text
    assert "?]0;gotcha?: 411 messages" in text


def test_progress_is_silent_where_standard_error_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Logs and pipes stay clean."""
    with bar("replaying") as tick:
        tick(1, 3)
    assert capsys.readouterr() == ("", "")


def test_percentile_is_the_nearest_rank() -> None:
    """Of a hundred values the 99th, of one the one, of none none."""
    assert percentile(range(1, 101), 0.99) == 99
    assert percentile([3.0], 0.5) == 3.0
    assert percentile([4.0, 1.0, 2.0, 3.0], 0.5) == 2.0
    assert percentile([], 0.5) is None


# -- recordings that nobody would write: whatever they hold, every request keeps the rules and every line can be read -

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
        assert score_rival(kind(window - 128, ruler), recording, ruler, lambda: None).tally.calls == outcome.calls
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
    began = time.process_time()
    places = Places((str(path),), dump=str(tmp_path / "d.jsonl"))
    terms = terms_for(8_000, None, "balanced", open_counter("bytes"), "tokens")
    made = run(conversations_of(places), terms, places, tick=lambda: None)
    assert time.process_time() - began < 20
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
