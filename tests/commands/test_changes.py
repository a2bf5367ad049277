"""`squidbot session compact` and `squidbot session undo`: the plan changed by hand, and taken back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result


def request(copied: Callable[..., Result]) -> list[str]:
    """Return the payloads of the next request."""
    return [
        part["payload"]
        for part in json.loads(copied("session", "show", "support/42", "--request", "--json").output)["parts"]
    ]


def test_compact_and_undo_give_the_former_request_back(copied: Callable[..., Result]) -> None:
    """Byte for byte; each says what it has changed."""
    before = request(copied)
    shortened = copied("session", "compact", "support/42")
    assert shortened.exit_code == 0
    assert shortened.output.startswith("support/42: compacted; plan ")
    assert request(copied) != before
    undone = copied("session", "undo", "support/42")
    assert undone.exit_code == 0
    assert "support/42: undone; plan " in undone.output
    assert request(copied) == before


def test_compact_keeps_the_window_that_the_session_had(copied: Callable[..., Result]) -> None:
    """Not that of the settings of now."""
    with open("squidbot.toml", "a", encoding="utf-8") as file:  # noqa: PTH123  # the folder is the current one
        file.write("safety_fraction = 0.5\n")
    made = json.loads(copied("session", "compact", "support/42", "--json").output)
    assert made["event"]["cause"] == "manual"
    told = json.loads(copied("session", "explain", "support/42", "--json").output)
    assert (told["budget"]["window"], told["budget"]["input_limit"]) == (3_000, 2_250)
    assert told["lease"]["source"] == "recorded"


def test_compact_where_nothing_can_be_shortened_is_no(copied: Callable[..., Result]) -> None:
    """Exit code 1; JSON has null."""
    result = copied("session", "compact", "对话")
    assert (result.exit_code, result.output) == (1, "对话?[31m: nothing to compact\n")
    again = copied("session", "compact", "对话", "--json")
    assert (again.exit_code, json.loads(again.output)["event"]) == (1, None)


def test_undo_without_an_event_is_no(copied: Callable[..., Result]) -> None:
    """There is nothing to take back."""
    result = copied("session", "undo", "support/43")
    assert result.exit_code == 1
    assert "nothing to undo" in result.output


def test_undo_that_does_not_fit_changes_nothing(copied: Callable[..., Result]) -> None:
    """Further and further back, until the former request is larger than the window."""
    results = [copied("session", "undo", "support/42") for _ in range(12)]
    refused = next(result for result in results if result.exit_code)
    assert refused.exit_code == 3
    assert "the earlier request no longer fits; nothing was changed" in refused.output
    before = request(copied)
    assert copied("session", "undo", "support/42").exit_code == 3
    assert request(copied) == before
