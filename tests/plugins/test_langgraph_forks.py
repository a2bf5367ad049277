"""examples/langgraph_forks.py: a fork, an edit, and the way back, as LangGraph has them and as squidbot sends them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import squidbot
from tests.example_programs import program

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_each_branch_of_the_example_recalls_what_was_said_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The answers are right, old messages are in notes by then, and no request has words of another branch."""
    monkeypatch.chdir(tmp_path)
    program("langgraph_forks")
    assert capsys.readouterr().out.splitlines() == [
        f"Paint the boat {colour}." for colour in ("blue", "red", "green", "blue")
    ]
    with squidbot.load({"store": {"path": "squid.db"}}) as engine:
        session = engine.session("harbour", window_tokens=4_000)
        assert len(session.lines()) == 3
        assembly = session.assemble("And now?")
    said = "\n".join(map(str, assembly.messages))
    assert [colour for colour in ("blue", "red", "green") if f"the boat {colour}" in said] == ["blue"]
    assert "summary" in {span.how for span in assembly.report.spans}
