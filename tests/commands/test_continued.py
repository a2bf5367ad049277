"""`squidbot session continue`, and where `squidbot session list` says so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result


def test_session_is_begun_with_the_context_of_another(copied: Callable[..., Result]) -> None:
    """What it has is told; the list of sessions says what it goes on from (P-03)."""
    copied("session", "goals", "support/43", "set", "Ship it")
    made = copied("session", "continue", "support/43", "support/44")
    assert made.exit_code == 0, made.output
    assert made.output.startswith("support/44 continues support/43\n  goal: Ship it\n")
    told = json.loads(copied("session", "continue", "support/43", "support/44", "--json").output)
    assert (told["session"], told["parent"], told["goal"]) == ("support/44", "support/43", "Ship it")
    listed = json.loads(copied("session", "list", "--json").output)["sessions"]
    (one,) = [one for one in listed if one["session"] == "support/44"]
    assert (one["parent"], one["way"]) == ("support/43", "continued")
    assert "(continued)" in copied("session", "list").output
    wrong = copied("session", "continue", "support/43", "support/42")
    assert wrong.exit_code == 2
    assert "a session 'support/42' already exists" in wrong.output
    assert copied("session", "continue", "nobody", "x").exit_code == 1
