"""`squidbot session show`: messages a page at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import squidbot

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result


def test_show_prints_the_newest_messages(run: Callable[..., Result]) -> None:
    """Who said what and when, calls readable, and the way to those before."""
    text = run("session", "show", "support/42", "--limit", "4", "--all").output
    assert text.startswith("support/42: 96 messages; m92-m95 below")
    assert "m92  user  2025-10-09 08:57:10 UTC" in text
    assert '-> read action="whole", path="src/part_23.py"' in text
    assert "m94  tool read " in text
    assert "Mended part_23_1: the limit is 261." in text
    assert text.endswith("92 earlier: --from m88\n")


def test_show_counts_what_is_behind_the_scenes(run: Callable[..., Result], copied: Callable[..., Result]) -> None:
    """Tool output is not shown unless that is asked for, by an option or the settings; JSON has all of it (P-05)."""
    text = run("session", "show", "support/42", "--limit", "4").output
    assert "m94  tool read " not in text
    assert "m93  assistant" in text
    assert "1 message of system text, context, tool output not shown: --all" in text
    assert len(json.loads(run("session", "show", "support/42", "--limit", "4", "--json").output)["shown"]) == 4
    assert "not shown: --all" not in run("session", "show", "support/42", "m94").output
    with Path("squidbot.toml").open("a", encoding="utf-8") as settings:
        settings.write("[ui]\nshow_context_messages = true\n")
    assert "m94  tool read " in copied("session", "show", "support/42", "--limit", "4").output


@pytest.mark.parametrize(
    ("arguments", "first", "last"),
    [
        (["m5"], "m5", "m5"),
        (["5"], "m5", "m5"),
        (["m5-m7"], "m5", "m7"),
        (["m90-"], "m90", "m95"),
        (["--from", "m3", "--limit", "2"], "m3", "m4"),
        (["m5-m50", "--limit", "3"], "m5", "m7"),
    ],
)
def test_show_takes_a_range_or_a_beginning(
    run: Callable[..., Result], arguments: list[str], first: str, last: str
) -> None:
    """Both ends included, at most as many as the limit says."""
    made = json.loads(run("session", "show", "support/42", *arguments, "--json").output)
    shown = made["shown"]
    assert (shown[0]["id"], shown[-1]["id"]) == (first, last)
    assert (f"m{made['first']}", f"m{made['last']}") == (first, last)


@pytest.mark.parametrize("wrong", ["m9-m3", "x", "m", "-", "m1-m2-m3", "m96"])
def test_show_refuses_what_names_no_messages(run: Callable[..., Result], wrong: str) -> None:
    """Wrong usage, with what would be right."""
    result = run("session", "show", "support/42", "--", wrong)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_show_prints_one_message_whole_and_of_others_the_beginning(run: Callable[..., Result]) -> None:
    """What was cut before it was sent is there, and said to be cut."""
    alone = run("session", "show", "support/42", "m14").output
    assert "def part_3_899(): return 899" in alone
    assert "truncated" in alone
    page = run("session", "show", "support/42", "m14-m15", "--all").output
    assert "def part_3_899(): return 899" not in page
    assert "characters more" in page
    assert "def part_3_899(): return 899" in run("session", "show", "support/42", "m14-m15", "--whole", "--all").output


def test_show_names_the_tool_whose_call_stands_before_the_page(run: Callable[..., Result]) -> None:
    """The call is read, and not shown."""
    shown = json.loads(run("session", "show", "support/42", "m2", "--json").output)["shown"]
    assert [one["answers"] for one in shown] == [[{"id": "c0", "tool": "read"}]]


def test_show_lets_no_message_talk_to_the_terminal(run: Callable[..., Result]) -> None:
    """Escapes and bells become question marks; JSON has them escaped."""
    text = run("session", "show", "对话").output
    assert "Hi ?[31mred? 对话" in text
    assert "\x1b" not in text + run("session", "show", "对话", "--json").output


def test_show_of_a_session_without_messages_says_so(run: Callable[..., Result]) -> None:
    """No error: nothing has been said yet."""
    result = run("session", "show", "empty")
    assert (result.exit_code, result.output) == (0, "empty: 0 messages\n")


def test_show_request_is_what_assemble_returns(run: Callable[..., Result]) -> None:
    """The next request as it would be sent: the very payloads, in order."""
    made = json.loads(run("session", "show", "support/42", "--request", "--json").output)
    with squidbot.load() as engine:
        sent = engine.session("support/42").core.preview()
    assert [part["payload"] for part in made["parts"]] == list(sent.payloads)
    assert (made["request"], made["bound"]) == (None, sent.cost.bound)
    text = run("session", "show", "support/42", "--request").output
    assert text.startswith("support/42: the next request, without new messages: ")
    assert text.count("\n#") == len(made["parts"])


def test_show_request_of_a_number_is_what_was_sent(run: Callable[..., Result]) -> None:
    """Its last message is the one that was answered; one that was not made is no."""
    made = json.loads(run("session", "show", "support/42", "--request", "47", "--json").output)
    assert made["parts"][-1]["first"] == "m94"
    assert (
        made["bound"]
        == json.loads(run("session", "log", "support/42", "--json").output)["turns"][0]["requests"][1]["bound"]
    )
    assert run("session", "show", "support/42", "--request", "48").exit_code == 1
    assert run("session", "show", "support/42", "--request", "x").exit_code == 2
