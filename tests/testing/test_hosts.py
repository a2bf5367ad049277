"""The check of plugins for hosts: a seventh host passes it, and each broken plugin fails at its point."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from examples.own_agent import plugin
from squidbot.testing import HOST_CHECKS, check_host_plugin
from squidbot.testing.hosts import Exemption, Request, RequestMessage, broken_prefixes, faults_of

from .toy_mutants import MUTANTS
from .toy_program import HOST

if TYPE_CHECKING:
    from squidbot.testing.hosts import HostDriver


@pytest.mark.parametrize(
    "point", [pytest.param(point, marks=[pytest.mark.slow] if point == "300 steps" else []) for point in HOST_CHECKS]
)
def test_a_strangers_plugin_conforms(point: str, tmp_path: Path) -> None:
    """It is made as docs/hosts.md says."""
    check_host_plugin(HOST, tmp_path, point)


@pytest.mark.parametrize(
    ("host", "point"),
    [
        pytest.param(
            host, point, id=f"{host.name[9:]}-{point}", marks=[pytest.mark.slow] if point == "300 steps" else []
        )
        for host, point in MUTANTS
    ],
)
def test_a_broken_plugin_fails_at_its_point(host: HostDriver, point: str, tmp_path: Path) -> None:
    """The text says which host, which point, and what was expected."""
    with pytest.raises(AssertionError, match=rf"^{host.name}, {point}: "):
        check_host_plugin(host, tmp_path, point)


def said(role: str, text: str = "x", calls: str = "", results: str = "") -> RequestMessage:
    """Return a message of a request."""
    return RequestMessage(role, text, tuple(calls), tuple(results), f"{role}{text}{calls}{results}".encode())  # type: ignore[arg-type]


USER, REPLY = said("user"), said("assistant")
CALLS, RESULT, OTHER = said("assistant", calls="ab"), said("tool", results="a"), said("tool", results="b")


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([USER], ""),
        ([said("system"), USER, CALLS, RESULT, OTHER], ""),
        ([USER, CALLS, RESULT, OTHER, REPLY, USER], ""),
        ([USER, CALLS, RESULT], "calls without results at the end: ['b']"),
        ([USER, CALLS, RESULT, REPLY, OTHER], "calls without results behind them: ['b']"),
        ([USER, CALLS, USER, RESULT, OTHER], "calls without results behind them: ['a', 'b']"),
        ([USER, RESULT], "results of no call before them: ['a']"),
        ([USER, CALLS, RESULT, OTHER, RESULT], "results of no call before them: ['a']"),
        ([USER, said("assistant", calls="a"), said("assistant", calls="b"), RESULT, OTHER], "behind them: ['a']"),
        ([REPLY, USER], "the first message is of 'assistant'"),
        ([RESULT, USER], "the first message is of 'tool'"),
        ([USER, REPLY], "the last message is the model's own"),
        ([USER, said("system"), USER], "a system message stands behind others"),
        ([], "it has no message"),
    ],
)
def test_a_request_breaks_the_rules_that_it_breaks(messages: list[RequestMessage], fault: str) -> None:
    """Each by its own words, and none otherwise."""
    found = faults_of(Request(tuple(messages)), None)
    assert any(fault in each for each in found) if fault else found == []


def test_calls_that_are_items_may_stand_side_by_side_until_a_result_comes() -> None:
    """As in OpenAI's Responses."""
    first, second = said("assistant", calls="a"), said("assistant", calls="b")
    assert faults_of(Request((USER, first, second, RESULT, OTHER), has_items=True), None) == []
    assert faults_of(Request((USER, first, RESULT, second, OTHER), has_items=True), None) == []
    found = faults_of(Request((USER, first, second, RESULT, REPLY), has_items=True), None)
    assert found == ["the last message is the model's own", "calls without results behind them: ['b']"]


def test_all_of_a_request_counts_and_is_compared() -> None:
    """System text and tools, too; and what the driver found comes first."""
    whole = Request((USER,), system="s" * 400, tools=b"t" * 400, faults=("the driver's",))
    assert whole.tokens == (800 + len(USER.wire)) // 4
    assert faults_of(whole, 200)[0] == "the driver's"
    assert "the budget is 200" in faults_of(whole, 200)[-1]
    assert faults_of(replace(whole, faults=()), 201) == []
    assert broken_prefixes([whole, replace(whole, messages=(USER, REPLY))], [0, 0]) == []
    for other, what in (
        (replace(whole, system="other"), "its system text differs"),
        (replace(whole, tools=b"other"), "its tools differs"),
        (replace(whole, messages=(REPLY,)), "its message 1 differs"),
        (replace(whole, messages=()), "it has 0 messages, that 1"),
    ):
        assert what in broken_prefixes([whole, other], [0, 0])[0]
        assert broken_prefixes([whole, other], [0, 1]) == []


def test_a_point_that_a_host_cant_meet_is_checked_otherwise(tmp_path: Path) -> None:
    """With its reason; and points that do not exist are no excuse."""
    seen: list[str] = []
    otherwise = {"C5 recall": Exemption("it has no tools", lambda host, _folder: seen.append(host.name))}
    check_host_plugin(replace(HOST, otherwise=otherwise), tmp_path, "C5 recall")
    assert seen == [HOST.name]
    for host, point in ((HOST, "C99"), (replace(HOST, otherwise={"C99": Exemption("none")}), "C5 recall")):
        with pytest.raises(AssertionError, match="C99"):
            check_host_plugin(host, tmp_path, point)


@pytest.mark.parametrize(
    ("point", "unknown"),
    [
        ("C11 server-held state", {"server_held": {}}),
        ("C14 reasoning", {"signed": None}),
        ("C16 rivals", {"rivals": {}}),
        ("C17 inactive is loud", {"inactive": {}}),
    ],
)
def test_what_is_not_said_of_a_host_is_not_passed_over(point: str, unknown: dict[str, Any], tmp_path: Path) -> None:
    """A driver that leaves it out fails, or says why there is none."""
    with pytest.raises(AssertionError, match=r"HostDriver\.otherwise"):
        check_host_plugin(replace(HOST, **unknown), tmp_path, point)


def test_a_plugin_of_one_s_own_is_short() -> None:
    """At most 60 lines without blanks, comments and imports."""
    path = Path(plugin.__file__)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imports = [each for each in ast.walk(tree) if isinstance(each, ast.Import | ast.ImportFrom)]
    passed = {number for each in imports for number in range(each.lineno, (each.end_lineno or each.lineno) + 1)}
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    counted = [line for number, line in enumerate(lines, 1) if line and line[0] != "#" and number not in passed]
    assert len(counted) <= 60
