"""What tools were given, as values."""

from __future__ import annotations

import pytest

from squidbot.wiring.turnlog import action_of, parameters_of


@pytest.mark.parametrize(
    ("arguments", "parameters", "action"),
    [
        ('{"action": "add", "n": 1}', {"action": "add", "n": 1}, "add"),
        ('{"action": 1}', {"action": 1}, None),
        ("[1]", [1], None),
        ("no json", "no json", None),
        ("[" * 100_000, "[" * 100_000, None),
    ],
)
def test_parameters_are_a_json_value_or_the_text(arguments: str, parameters: object, action: str | None) -> None:
    """The action is that of a mapping, if it is a text (B-50)."""
    assert parameters_of(arguments) == parameters
    assert action_of(parameters) == action
