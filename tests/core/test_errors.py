"""What errors say, and to whom."""

from __future__ import annotations

import pytest

from squidbot.core import errors


def test_every_error_is_caught_by_its_root() -> None:
    """One except clause for all that squidbot raises on purpose."""
    assert all(issubclass(getattr(errors, name), errors.SquidbotError) for name in errors.__all__)
    assert issubclass(errors.DamagedStoreError, errors.StoreError)


@pytest.mark.parametrize(("line", "text"), [(7, "a.jsonl:7: no JSON"), (None, "a.jsonl: no JSON")])
def test_recording_that_can_not_be_read_is_named_with_its_line(line: int | None, text: str) -> None:
    """File and line, as editors open them."""
    error = errors.TranscriptError("a.jsonl", line, "no JSON")
    assert (str(error), error.path, error.line) == (text, "a.jsonl", line)


def test_budget_error_says_how_much_of_how_much_and_what_to_change() -> None:
    """And has it all as values."""
    error = errors.BudgetError("pins", cost=5210, budget=4096, unit="tokens", key="window.default")
    assert str(error) == "pins cost 5210 of 4096 tokens; make it smaller or raise window.default"
    assert (error.culprit, error.cost, error.budget, error.unit, error.key) == (
        "pins",
        5210,
        4096,
        "tokens",
        "window.default",
    )


def test_broken_rule_is_named_for_programs_alone() -> None:
    """A user has no list of rules to look it up in."""
    error = errors.InvalidRequestError("R1", "no result")
    assert (str(error), error.rule) == ("no result", "R1")
