"""The data of a report: every recorded request as it was sent, its costs, and no word where none is wanted."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squidbot
from squidbot.core.settings import STRATEGIES
from squidbot.replay import runner
from squidbot.replay.metrics import Ruler
from squidbot.replay.recording import CODECS, Reader
from squidbot.replay.terms import SCORING, open_counter, terms_for
from squidbot.report.data import GROUPS, ReportData, ReportSource, replayed_data, report_data, without_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.codecs.transcripts import Conversation
    from squidbot.core.session import CoreSession

EXAMPLE = Path(__file__).parents[2] / "examples" / "session.jsonl"
NOW = 1_700_000_000.0
SECRET = "sk-ant-api03-" + "Zx9" * 12


def opened(**more: object) -> squidbot.Engine:
    """Return an engine in memory without background work."""
    return squidbot.load({"summary": {"scheduler": "none"}, **more})


def talk(session: squidbot.Session, turns: int, words: int = 60, first: int = 0, **usage: int) -> None:
    """Talk for so many turns, each with one tool call."""
    for number in range(first, first + turns):
        now = NOW + 60 * number
        call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.py"}'}}
        made = session.assemble(f"Question {number}: what is in part {number} of /srv/app/part_{number}.py?", now=now)
        session.record(*made.incoming, {"role": "assistant", "content": None, "tool_calls": [call]}, now=now)
        session.record({"role": "tool", "tool_call_id": f"c{number}", "content": f"line {number} " * words}, now=now)
        session.assemble(now=now)
        reported = squidbot.Usage(**usage) if usage else None
        session.record(f"Part {number} has value_{number}.", usage=reported, now=now)


def data_of(session: squidbot.Session, redact: Callable[[str], str] = str) -> ReportData:
    """Return the data of a session."""
    return report_data(ReportSource(session.core, SCORING, redact), NOW)


def requests(values: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Return the parts of each call, put together as a reader of the data does."""
    found: list[list[int]] = [[]]
    for call in values["calls"]:
        found.append([*found[-1][: call["keep"]], *call["add"]])
    return [[values["parts"][number] for number in one] for one in found[1:]]


def test_calls_are_the_recorded_requests_word_for_word() -> None:
    """Part by part, text by text, through several compactions; the recorded hashes say so, too."""
    with opened() as engine:
        session = engine.session("s", window_tokens=2_000)
        talk(session, 14)
        data = data_of(session)
        values, texts = data.values, data.texts
        assert len(values["calls"]) == 28
        assert sum(one["call"] is not None for one in values["compactions"]) >= 2
        for call, parts in zip(values["calls"], requests(values), strict=True):
            assert call["is_same"]
            made = session.core.request(call["request"])
            sent = [
                made.codecs[part.codec].decode(made.codecs[part.codec].encode(part)).rendered
                if part.payload is not None and part.codec
                else part.text
                for part in made.parts
            ]
            assert [texts[part["text"]] for part in parts] == sent
            assert (call["tokens"], call["bound"]) == (made.cost.estimate, made.cost.bound)
            assert sum(call["by"].values()) == call["tokens"]
            assert set(call["by"]) <= set(GROUPS)


def test_bound_and_limit_of_a_call_are_of_one_kind() -> None:
    """By earlier bills both, or both as counted: as the request's own report has them."""
    with opened() as engine:
        session = engine.session("s", window_tokens=2_000)
        talk(session, 14, input_tokens=1_300, output_tokens=10)
        calls = data_of(session).values["calls"]
        made = [session.core.request(call["request"]) for call in calls]
        assert any(one.certified_tokens for one in made)
        assert [(call["bound"], call["limit"]) for call in calls] == [one.report.usage[:2] for one in made]
        assert all(call["bound"] <= call["limit"] for call in calls)


def test_states_of_parts() -> None:
    """Cut on arrival, cut later, notes with a level, and the reason of each."""
    with opened() as engine:
        session = engine.session("s", window_tokens=2_000)
        talk(session, 2, words=2_000)
        talk(session, 12, first=2)
        parts = data_of(session).values["parts"]
        by_how = {part["how"]: part for part in parts}
        assert {"raw", "truncated", "note"} <= set(by_how)
        assert by_how["note"]["level"]
        assert by_how["note"]["summary"]
        assert by_how["raw"]["reason"] is None
        assert all(part["reason"] for part in parts if part["how"] not in {"raw", "made"})


def test_costs_are_those_of_the_prices_or_of_the_bill() -> None:
    """New tokens are sent for the first time, rewritten ones after a break; a provider's report takes their place."""
    with opened() as engine:
        session = engine.session("s", window_tokens=2_000)
        talk(session, 12)
        calls = data_of(session).values["calls"]
        for call in calls:
            assert call["cached"] + call["new"] + call["rewritten"] == call["tokens"]
            assert min(call["cached"], call["new"], call["rewritten"]) >= 0
            assert call["price"] == pytest.approx(0.1 * call["cached"] + 1.25 * (call["tokens"] - call["cached"]))
        assert any(call["rewritten"] for call in calls if call["cause"])
        assert not any(call["rewritten"] for call in calls if not call["cause"])
        billed = engine.session("t", window_tokens=4_000)
        talk(billed, 1, input_tokens=500, output_tokens=20, cached_tokens=300)
        last = data_of(billed).values["calls"][-1]
        assert (last["reported"], last["cached"], last["output"]) == (
            {"input_tokens": 500, "output_tokens": 20, "cached_tokens": 300},
            300,
            20,
        )
        assert last["price"] == pytest.approx(0.1 * 300 + 1.25 * 200)


def test_provider_that_counts_otherwise_has_written_nothing_again() -> None:
    """Its tokens are not ours: while its cache holds, all that it did not read from it is new."""
    with opened() as engine:
        session, billed, cached = engine.session("s", window_tokens=8_000), 0, 0
        for number in range(6):
            made = session.assemble(f"Question {number}: " + "word " * 40, now=NOW + number)
            billed, cached = round(1.2 * made.report.cost.estimate) + 7, billed
            session.record(*made.incoming, "Yes.", usage=squidbot.Usage(billed, 2, cached), now=NOW + number)
        calls = data_of(session).values["calls"]
        assert [call["rewritten"] for call in calls] == [0] * 6
        assert all(call["cached"] + call["new"] == call["reported"]["input_tokens"] for call in calls)


def test_each_tool_has_its_own_results() -> None:
    """Where a message answers several calls, as Anthropic's do, the long result counts for its own tool."""
    with opened() as engine:
        session = engine.session("s", window_tokens=8_000, form="anthropic.messages")
        calls: list[object] = [{"type": "tool_use", "id": name, "name": name, "input": {}} for name in ("read", "bash")]
        results = [
            {"type": "tool_result", "tool_use_id": name, "content": "line " * count}
            for name, count in (("read", 5), ("bash", 500))
        ]
        made = session.assemble({"role": "user", "content": "Look."}, now=NOW)
        session.record(*made.incoming, {"role": "assistant", "content": calls}, now=NOW)
        session.record({"role": "user", "content": results}, now=NOW)
        session.assemble(now=NOW)
        session.record({"role": "assistant", "content": "Done."}, now=NOW)
        tools = {one["tool"]: one for one in data_of(session).values["tools"]}
        assert {name: one["results"] for name, one in tools.items()} == {"read": 1, "bash": 1}
        assert tools["bash"]["sent_tokens"] > 20 * tools["read"]["sent_tokens"] > 0


def test_sending_everything_is_billed_as_the_session_was() -> None:
    """In the provider's tokens, and without a cache where the provider reports none: else the two can't be compared."""
    with opened() as engine:
        session = engine.session("s", window_tokens=8_000)
        made = session.assemble("word " * 300, now=NOW)
        reported = 2 * made.report.cost.estimate
        session.record(*made.incoming, "Yes.", usage=squidbot.Usage(reported, 2, 0), now=NOW)
        session.record("And more?", now=NOW)
        session.assemble(now=NOW)
        session.record("Yes.", usage=squidbot.Usage(2 * reported, 2, 0), now=NOW)
        values = data_of(session).values
        everything = values["policies"][0]
        assert everything["tokens"][0] > 1.8 * values["calls"][0]["tokens"]
        assert everything["cached"] == [0, 0]


def test_branch_undo_forget_and_pin_are_in_it() -> None:
    """Each call knows its line; what was forgotten is gone from all texts, and its calls are no longer the same."""
    with opened() as engine:
        session = engine.session("s", window_tokens=4_000)
        talk(session, 5)
        session.pin("m0")
        session.branch("m8")
        talk(session, 2, first=20)
        session.compact()
        talk(session, 1, words=20, first=25)
        session.undo()
        talk(session, 1, first=30)
        session.forget("m1")
        data = data_of(session)
        values = data.values
        assert [line["number"] for line in values["lines"]] == [0, 1]
        assert {call["line"] for call in values["calls"]} == {0, 1}
        assert {one["line"] for one in values["messages"]} == {0, 1}
        assert "undo" in {one["cause"] for one in values["compactions"]}
        assert "pinned" in values["messages"][0]["flags"]
        assert "forgotten" in values["messages"][1]["flags"]
        assert '"path": "a.py"' not in data.texts[values["messages"][1]["text"]]
        assert [call["is_same"] for call in values["calls"] if call["answer"] == 3] == [False]
        made_on = [call["line"] for call in values["calls"]]
        assert made_on == sorted(made_on)
        assert values["policies"][0]["tokens"][0] < values["policies"][0]["tokens"][5]


def test_recalled_messages_say_what_they_are_copies_of() -> None:
    """Where a model called `history`, the answer is a copy of messages, and the page can tell of which."""
    with opened() as engine:
        session = engine.session("s", window_tokens=4_000)
        talk(session, 2)
        made = session.assemble("What was in the first part?", now=NOW)
        asked = {"action": "recall", "id": "m2"}
        call = {"id": "h", "type": "function", "function": {"name": "history", "arguments": json.dumps(asked)}}
        session.record(*made.incoming, {"role": "assistant", "content": None, "tool_calls": [call]}, now=NOW)
        session.record({"role": "tool", "tool_call_id": "h", "content": session.history(asked).text}, now=NOW)
        session.assemble(now=NOW)
        session.record("It was line 0.", now=NOW)
        values = data_of(session).values
        assert [(one["message"], one["of"]) for one in values["recalled"]] == [(10, "m2")]
        assert values["calls"][values["recalled"][0]["call"]]["by"]["recalled"] > 0


def test_secrets_leave_the_texts() -> None:
    """By the redactor that the caller passes."""
    with opened() as engine:
        session = engine.session("s", window_tokens=4_000)
        made = session.assemble(f"My key is {SECRET}.", now=NOW)
        session.record(*made.incoming, "Keep it.", now=NOW)
        assert SECRET in str(data_of(session).to_json())
        assert SECRET not in str(data_of(session, lambda text: text.replace(SECRET, "[redacted]")).to_json())


@cache
def replayed(*, compare: bool) -> tuple[ReportData, runner.Results]:
    """Return the data of the example's replay, and its results."""
    terms = terms_for(8_000, None, "balanced", open_counter("classes"), "tokens")
    conversations = runner.conversations_of(runner.Places((str(EXAMPLE),)))
    found: list[tuple[ReportData, runner.ReplayOutcome]] = []

    def see(conversation: Conversation, outcome: runner.ReplayOutcome, session: CoreSession) -> None:
        reader, ruler = Reader(conversation, CODECS), Ruler(terms.meter.physical)
        count = lambda part: ruler.cost(reader.of(part)).estimate  # noqa: E731
        found.append((report_data(ReportSource(session, terms.charges, str, count)), outcome))

    beside = [terms.with_strategy(name) for name in STRATEGIES] if compare else []
    results = runner.run(
        conversations, terms, runner.Places((str(EXAMPLE),)), beside=beside, tick=lambda: None, seen=see
    )
    (data, outcome), *_ = found
    return replayed_data(data, outcome, results.rows, 0, terms.label), results


def test_replay_has_the_figures_of_its_tables() -> None:
    """The sums of the calls are those of the tables; needed names that were missing are as many as counted."""
    data, results = replayed(compare=True)
    values, tally = data.values, results.outcomes[0].tally
    calls = values["calls"]
    assert all(call["is_same"] for call in calls)
    assert sum(call["price"] for call in calls) == pytest.approx(tally.billed)
    assert sum(call["cached"] for call in calls) == tally.cached_tokens
    assert sum(call["tokens"] for call in calls) == tally.tokens
    assert len(values["missing"]) == tally.needed[0] - tally.held[0]
    for row in results.rows:
        (policy,) = [one for one in values["policies"] if one["name"] == row.name]
        assert sum(policy["price"]) == pytest.approx(row.tally.billed)
        if row.name != "send everything":
            assert sum(policy["over"]) == row.tally.over
    assert [one["name"] for one in values["policies"] if one["is_this"]] == ["squidbot balanced"]
    for one in values["missing"]:
        answer = values["messages"][calls[one["call"]]["answer"]]
        assert one["name"] in data.texts[answer["text"]]
        assert one["name"] in data.texts[values["messages"][one["said"]]["text"]]


@pytest.mark.slow
def test_replay_alone_needs_no_comparison() -> None:
    """Sending everything is there anyway."""
    values = replayed(compare=False)[0].values
    assert [one["name"] for one in values["policies"]] == ["send everything"]
    assert sum(values["policies"][0]["price"]) == pytest.approx(values["totals"]["everything_price"])


# Words that figures to be shared may have: ours, and none of a conversation.
WORDS = re.compile(
    r"(?:[a-z_]+|summary\+user|tool \d+|note \d+|policy \d+|m\d+(?:-m\d+)?|squidbot [a-z]+|"
    r"send everything|last 40 messages|trim every turn|summarize at 80 %|"
    r"\d+\.\d+\.\d+(?:\.dev\d+(?:\+g[0-9a-f]+)?(?:\.d\d+)?)?|"
    r"cut to head and tail: it was oversized, or its pair is missing|left out|high-water|cold-cache|"
    r"[a-z]+-changed|too large on arrival: cut to head and tail|"
    r"notes stand for these messages, to keep the request within its window|"
    r"too old for the notes of this window; one line says that they are stored|"
    r"removed on request; a mark stands in its place|"
    r"brought back: a copy of earlier messages, or an answer about them|)"
)


def strings(value: object) -> list[str]:
    """Return all strings in a JSON value, keys aside."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in strings(one)]


@given(st.text(st.characters(codec="utf-8"), min_size=3, max_size=40).map(lambda text: f"Ö{text}Ö"))
def test_figures_to_share_have_no_word_of_the_conversation(name: str) -> None:
    """Whatever the session, a tool, a pinned text or a model is called; times begin at 0."""
    with opened(models={"house": {"context_window": 4_000}}) as engine:
        session = engine.session(name, model="house")
        call = {"id": name, "type": "function", "function": {"name": name, "arguments": json.dumps({name: name})}}
        made = session.assemble(name, now=NOW)
        session.record(*made.incoming, {"role": "assistant", "content": name, "tool_calls": [call]}, now=NOW)
        session.record({"role": "tool", "tool_call_id": name, "content": name}, now=NOW)
        session.pin_text("house rules", name)
        session.assemble(now=NOW)
        session.record(name, now=NOW)
        data = without_text(data_of(session))
        assert data.texts == []
        assert [text for text in strings(data.values) if not WORDS.fullmatch(text)] == []
        assert max(one["time"] for one in data.values["messages"]) < 1_000


def test_figures_to_share_of_a_replay() -> None:
    """All of the example, compared: the same figures, and no words."""
    whole, _ = replayed(compare=True)
    data = without_text(whole)
    assert [text for text in strings(data.values) if not WORDS.fullmatch(text)] == []
    for key in ("totals", "heaviest", "recalled", "groups"):
        assert data.values[key] == whole.values[key]
    assert [call["tokens"] for call in data.values["calls"]] == [call["tokens"] for call in whole.values["calls"]]
