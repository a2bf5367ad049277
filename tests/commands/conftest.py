"""A store with a session that has tools, a pinned message, a cut output, events and usage; the command line on it."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

import squidbot
from squidbot.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from squidbot import Session

# When the first message is said, in seconds since 1970, and what lies between two.
BEGAN, STEP_SECONDS = 1_760_000_000.0, 10.0
TURNS = 24
WINDOW_TOKENS = 3_000


def talk(session: Session, turns: int = TURNS, *, began: float = BEGAN) -> None:
    """Hold a conversation: in each turn a question, a call of a tool, its result (one is huge), an answer."""
    now = began
    for turn in range(turns):
        asked = session.assemble(f"Please mend src/part_{turn}.py; the limit is {turn * 7 + 100}.", now=now)
        function = {"name": "read", "arguments": json.dumps({"action": "whole", "path": f"src/part_{turn}.py"})}
        call = {"id": f"c{turn}", "type": "function", "function": function}
        session.record(asked.incoming, {"role": "assistant", "content": None, "tool_calls": [call]}, now=now + 2)
        lines = 900 if turn == 3 else 10
        text = "".join(f"def part_{turn}_{line}(): return {line}\n" for line in range(lines))
        session.record({"role": "tool", "tool_call_id": f"c{turn}", "content": text}, now=now + 4)
        sent = session.assemble(now=now + 5)
        usage = {"prompt_tokens": sent.report.cost.estimate, "completion_tokens": 11}
        session.record(f"Mended part_{turn}_1: the limit is {turn * 7 + 100}.", usage=usage, now=now + 6)
        now += STEP_SECONDS


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a squidbot.toml and its store, made once."""
    folder = tmp_path_factory.mktemp("looked-at")
    path = folder / "squidbot.toml"
    path.write_text(f'[store]\npath = "kept.db"\n[window]\ndefault = {WINDOW_TOKENS}\n', encoding="utf-8")
    with squidbot.load(path) as engine:
        talk(engine.session("support/42"))
        talk(engine.session("support/43"), 1, began=BEGAN + 5_000)
        engine.session("empty").pin_text("goal", "Be kind.")
        odd = engine.session("对话\x1b[31m")
        odd.record({"role": "user", "content": "Hi \x1b[31mred\x07 对话"}, now=BEGAN)
    return folder


@pytest.fixture
def copied(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run the command line in the folder of a copy of that store, which may be changed."""
    for path in made.iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, arguments)


@pytest.fixture
def run(made: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run the command line in this process, in the folder of the store."""
    monkeypatch.chdir(made)
    return lambda *arguments: CliRunner().invoke(main, arguments)
