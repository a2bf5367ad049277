"""All programs of examples/: they are short, say how to run them, and stand on the page that lists them."""

from __future__ import annotations

import ast
import re

import pytest

from .example_programs import EXAMPLES

LARGER = ("chat_service", "coding_agent", "langgraph_forks", "local_model")
MOST_LINES = 80


@pytest.mark.parametrize("name", LARGER)
def test_a_program_is_short_and_says_what_it_shows_how_to_run_it_and_what_you_see(name: str) -> None:
    """In the text at its beginning, with commands that begin in the clone."""
    text = (EXAMPLES / f"{name}.py").read_text("utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    told = ast.get_docstring(ast.parse(text)) or ""
    commands = [line.strip() for line in told.splitlines() if line.startswith("    ")]
    assert 2 <= len(commands) <= 3
    assert commands[0].startswith("pip install '.[")
    assert f"{name}.py" in commands[1] or f"{name}:app" in commands[1]
    assert "It shows" in told
    assert "in your" in told
    assert "You see" in told


def test_every_program_is_listed_once() -> None:
    """On docs/examples.md, but for what make_session.py is made of."""
    page = (EXAMPLES.parent / "docs" / "examples.md").read_text("utf-8")
    listed = re.findall(r"\]\(\.\./examples/([\w.]+)", page)
    parts = {path.name for path in EXAMPLES.glob("session_*.py")}
    assert sorted(listed) == sorted(
        {path.name for path in EXAMPLES.iterdir() if not path.name.startswith(("_", "."))} - parts
    )
