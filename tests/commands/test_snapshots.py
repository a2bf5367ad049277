"""`squidbot session snapshot`, `snapshots` and `restore`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result


def test_restore_brings_back_what_was_sent_at_a_snapshot(copied: Callable[..., Result]) -> None:
    """The next request is that of then, byte for byte; the state before is kept."""
    before = copied("session", "show", "support/42", "--request", "--json").output
    assert copied("session", "snapshot", "support/42", "good").output == "support/42: snapshot good of 96 messages\n"
    copied("session", "compact", "support/42")
    restored = copied("session", "restore", "support/42", "good")
    assert restored.exit_code == 0
    assert "support/42: restored good; plan " in restored.output
    after = json.loads(copied("session", "show", "support/42", "--request", "--json").output)
    assert after["parts"] == json.loads(before)["parts"]
    names = [
        one["name"] for one in json.loads(copied("session", "snapshots", "support/42", "--json").output)["snapshots"]
    ]
    assert "good" in names
    assert len(names) > 1


def test_snapshots_are_listed_oldest_first(copied: Callable[..., Result]) -> None:
    """Name, when, why, plan, messages."""
    assert copied("session", "snapshots", "support/43").output == "support/43: no snapshots\n"
    for name in ("one", "two"):
        copied("session", "snapshot", "support/43", name)
    lines = copied("session", "snapshots", "support/43").output.splitlines()
    assert lines[0].split() == ["name", "made", "cause", "plan", "messages"]
    assert [line.split()[0] for line in lines[1:]] == ["one", "two"]
    assert lines[1].endswith("4")
    assert "just now" in lines[1]


def test_snapshot_refuses_a_name_that_is_none(copied: Callable[..., Result]) -> None:
    """Wrong usage; and a name that is not there is no."""
    assert copied("session", "snapshot", "support/43", "").exit_code == 2
    missing = copied("session", "restore", "support/43", "nothing")
    assert missing.exit_code == 1
    assert "nothing" in missing.output


def test_snapshot_json_says_what_was_kept(copied: Callable[..., Result]) -> None:
    """The same object that `snapshots` lists."""
    made = json.loads(copied("session", "snapshot", "support/42", "good", "--json").output)
    listed = json.loads(copied("session", "snapshots", "support/42", "--json").output)["snapshots"]
    assert made["snapshot"] in listed
    assert set(made["snapshot"]) == {"name", "automatic", "cause", "plan", "messages", "time"}
    assert (made["snapshot"]["automatic"], made["snapshot"]["messages"]) == (False, 96)
