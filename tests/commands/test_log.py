"""`squidbot session log`: the turn log of B-50, for people and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import squidbot

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result


def test_log_shows_the_newest_turn_part_by_part(run: Callable[..., Result]) -> None:
    """Request, tool calls with parameters and results, response, what was reported, what it cost."""
    lines = [line.rstrip() for line in run("session", "log", "support/42").output.splitlines()]
    assert lines[0].startswith("── turn m92: m92-m95, 2025-10-09 08:57:10 UTC ──")
    places = [
        lines.index("REQUEST MESSAGES"),
        lines.index("  [user] Please mend src/part_23.py; the limit is 261."),
        lines.index("TOOL CALLS (1 call across 1 iteration)"),
        lines.index("[1] Tool: read  (iteration 1)"),
        lines.index("    Action: whole"),
        lines.index('    Parameters: {"action": "whole", "path": "src/part_23.py"}'),
        next(place for place, line in enumerate(lines) if line.startswith("    Result (") and "chars):" in line),
        lines.index("      def part_23_0(): return 0"),
        lines.index("RESPONSE"),
        lines.index("  Mended part_23_1: the limit is 261."),
        next(place for place, line in enumerate(lines) if line.startswith("BUDGET of request 47")),
    ]
    assert places == sorted(places)
    assert any(" + 11  " in line for line in lines)


def test_log_json_has_the_calls_of_b50(run: Callable[..., Result]) -> None:
    """tool, action, parameters, result, iteration; the result whole."""
    (turn,) = json.loads(run("session", "log", "support/42", "m13", "--json").output)["turns"]
    (call,) = turn["tool_calls"]
    assert set(call) == {"tool", "action", "parameters", "result", "iteration"}
    assert (call["tool"], call["action"], call["iteration"]) == ("read", "whole", 1)
    assert call["parameters"] == {"action": "whole", "path": "src/part_3.py"}
    assert call["result"].endswith("def part_3_899(): return 899\n")
    assert turn["turn"] == "m12"
    assert turn["response"] == "Mended part_3_1: the limit is 121."
    assert [one["number"] for one in turn["requests"]] == [6, 7]
    reported = turn["requests"][1]["tokens"]
    assert turn["requests"][1]["usage"] == {"input_tokens": reported, "output_tokens": 11, "cached_tokens": 0}


def test_log_budget_adds_up(run: Callable[..., Result]) -> None:
    """Window, reserve, what is outside the history, history, what is free."""
    (turn,) = json.loads(run("session", "log", "support/42", "--json").output)["turns"]
    budget = turn["budget"]
    assert (budget["window"], budget["reserve"]) == (3_000, 750)
    assert budget["outside"] + budget["history"] == budget["request"] == turn["requests"][-1]["bound"]
    assert budget["request"] + budget["free"] == turn["requests"][-1]["limit"]


def test_log_names_the_event_that_changed_the_request(run: Callable[..., Result]) -> None:
    """The plan, its cause, its price, beside the request that was made under it first."""
    turns = json.loads(run("session", "log", "support/42", "--last", "24", "--json").output)["turns"]
    assert len(turns) == 24
    events = [one["event"] for turn in turns for one in turn["requests"] if one["event"]]
    assert [event["plan"] for event in events] == sorted({event["plan"] for event in events})
    assert {"high-water", "overflow"} & {event["cause"] for event in events}
    lines = run("session", "log", "support/42", "--last", "24").output.splitlines()
    assert len([line for line in lines if line.startswith("  plan ")]) == len(events)


def test_log_takes_a_message_and_the_turns_before_it(run: Callable[..., Result]) -> None:
    """The turn in which the message stands comes last."""
    turns = json.loads(run("session", "log", "support/42", "m9", "--last", "2", "--json").output)["turns"]
    assert [(turn["turn"], turn["last"]) for turn in turns] == [("m4", "m7"), ("m8", "m11")]
    assert run("session", "log", "support/42", "m96").exit_code == 2


def test_log_of_a_session_without_messages_says_so(run: Callable[..., Result]) -> None:
    """No error, and no turn."""
    assert run("session", "log", "empty").output == "empty: nothing has been said yet\n"
    assert json.loads(run("session", "log", "empty", "--json").output)["turns"] == []


def test_log_parts_the_results_of_one_message(copied: Callable[..., Result]) -> None:
    """Anthropic's messages carry several results; each call has its own, and one without says so."""
    call = {"type": "tool_use", "name": "read", "input": {}}
    results = [{"type": "tool_result", "tool_use_id": f"t{number}", "content": f"it is {number}"} for number in (1, 2)]
    with squidbot.load() as engine:
        session = engine.session("parts", form="anthropic.messages")
        session.record(
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": [{**call, "id": "t1"}, {**call, "id": "t2"}]},
            {"role": "user", "content": results},
            {"role": "assistant", "content": [{**call, "id": "t3"}]},
        )
    (turn,) = json.loads(copied("session", "log", "parts", "--json").output)["turns"]
    assert [(one["result"], one["iteration"]) for one in turn["tool_calls"]] == [
        ("it is 1", 1),
        ("it is 2", 1),
        (None, 2),
    ]
    text = copied("session", "log", "parts").output
    assert "TOOL CALLS (3 calls across 2 iterations)" in text
    assert "Result (7 chars):" in text
    assert "Result: none is recorded" in text
    assert "(none yet)" in text
