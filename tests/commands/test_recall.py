"""`squidbot session recall` and `squidbot session search`: the words as they were said."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result


def notes_of(run: Callable[..., Result]) -> str:
    """Return the id of the notes that the next request shows first."""
    runs = json.loads(run("session", "explain", "support/42", "--json").output)["runs"]
    return str(next(one["summary"] for one in runs if one["summary"]))


def test_recall_shows_a_message_whole(run: Callable[..., Result]) -> None:
    """Also one that was cut before it was sent."""
    text = run("session", "recall", "support/42", "m14").output
    assert text.startswith("support/42: m14\n\nm14  tool read")
    assert "def part_3_899(): return 899" in text


def test_recall_opens_notes(run: Callable[..., Result]) -> None:
    """Every message that they stand for, a page at a time."""
    notes = notes_of(run)
    first = json.loads(run("session", "recall", "support/42", notes, "--limit", "3", "--json").output)
    assert [one["id"] for one in first["shown"]] == ["m0", "m1", "m2"]
    assert first["stands_for"].startswith("m0-m")
    assert first["summary"].startswith(f"[{notes}: notes on ")
    then = run("session", "recall", "support/42", notes, "--limit", "3", "--from", "m3").output
    assert "m3  assistant" in then
    assert "more: --from m6" in then


@pytest.mark.parametrize("wrong", ["nope", "m96", "s0-9.0000"])
def test_recall_of_what_is_not_there_is_no(run: Callable[..., Result], wrong: str) -> None:
    """One line says what ids look like, or what there is."""
    result = run("session", "recall", "support/42", wrong)
    assert result.exit_code == 1
    assert len(result.output.splitlines()) == 1


def test_recall_sends_what_it_brings_back(copied: Callable[..., Result]) -> None:
    """A record behind the transcript, flagged, in the next request."""
    result = copied("session", "recall", "support/43", "m2", "--send")
    assert (result.exit_code, result.output) == (0, "m2 of support/43 will be in the next request, as m4\n")
    parts = json.loads(copied("session", "show", "support/43", "--request", "--json").output)["parts"]
    assert (parts[-1]["kind"], parts[-1]["first"]) == ("recalled", "m4")
    made = json.loads(copied("session", "recall", "support/43", "m0", "--send", "--json").output)
    assert (made["shown"], made["recorded"]) == ("m0", 5)
    assert "Please mend src/part_0.py" in made["text"]


def test_search_finds_what_was_said(run: Callable[..., Result]) -> None:
    """Best first, with the words around, when, and whether the next request has it."""
    made = json.loads(run("session", "search", "support/42", '"part_3_899"', "--json").output)
    assert [hit["id"] for hit in made["hits"]] == ["m14"]
    assert "part_3_899" in made["hits"][0]["snippet"]
    text = run("session", "search", "support/42", "part_23_1").output
    assert text.startswith("m9")
    assert "Mended part_23_1" in text
    assert "in view" in text


def test_search_pages_share_no_hit(run: Callable[..., Result]) -> None:
    """--offset goes on where the page before says."""
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None and len(seen) < 60:
        page = json.loads(
            run("session", "search", "support/42", "limit", "--limit", "7", "--offset", str(offset), "--json").output
        )
        seen += [hit["id"] for hit in page["hits"]]
        offset = page["next_offset"]
    assert len(seen) == len(set(seen)) == 48
    assert "more: --offset 7" in run("session", "search", "support/42", "limit", "--limit", "7").output


def test_search_without_a_hit_is_no_and_without_a_word_is_wrong_usage(run: Callable[..., Result]) -> None:
    """Exit codes 1 and 2."""
    nothing = run("session", "search", "support/42", "zzzyx")
    assert (nothing.exit_code, nothing.output) == (1, "support/42: nothing found for zzzyx\n")
    assert run("session", "search", "support/42", "!?").exit_code == 2
