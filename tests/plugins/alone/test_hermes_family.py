"""squidbot in sub-agents of hermes-agent: which conversation is whose, with the real package."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from squidbot.core.transcript.windows import WINDOW
from squidbot.memory import sessions_of
from squidbot.plugins.hermes import SquidbotEngine
from squidbot.testing.hosts import CHAT, LONG, Model, Request, ScriptedCall, ScriptedStep, Setting, reading, said

from .program_hermes import Program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.hermes, pytest.mark.filterwarnings("ignore")]
# How hermes names sessions.
_SESSION = re.compile(r"\d{8}_\d{6}_[0-9a-f]{6}")
CONFIG = {"delegation": {"max_spawn_depth": 3, "model": "small"}}


def delegate(call_id: str, *goals: str, **more: Any) -> ScriptedCall:  # noqa: ANN401  # of hermes
    """Return a call of hermes's tool for sub-agents."""
    return ScriptedCall("delegate_task", {"tasks": [{"goal": goal, **more} for goal in goals]}, call_id)


class Family:
    """A program of hermes whose agents delegate, and what it holds of them."""

    def __init__(self, path: Path) -> None:
        """Open it; `calls` are those that are made for a text of the user."""
        self.path, self.mind = path, Model(None)
        self.calls: dict[str, tuple[ScriptedCall, ...]] = {}
        self.mind.script = self._answer
        toolsets = ("context_engine", "shelf", "delegation")
        setting = Setting(path, self.mind, budget=30_000)
        self.program = Program(setting, toolsets=toolsets, config=CONFIG)

    def _answer(self, request: Request) -> ScriptedStep:
        if request.results:
            return ScriptedStep("done")
        text = next(each.text for each in reversed(request.messages) if each.role == "user")
        calls = self.calls.get(text.strip(), ())
        return ScriptedStep("" if calls else f"on {text.strip()}", calls)

    def held(self) -> dict[str, list[str]]:
        """Return what is recorded of each conversation by its id, with hermes's ids of sessions as SESSION."""
        with reading(self.path) as engine:
            ids = sorted(name for name, _ in sessions_of(engine.wired.store))
        return {each: [text for _, text in said(self.path, each)] for each in ids}

    def close(self) -> None:
        """Close all, and check that every request was valid."""
        self.program.close()
        assert self.mind.faults == []


@pytest.fixture
def family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Family]:
    """Make one whose sub-agents are waited for, as in `hermes -z`: in others they work in the background."""
    from gateway import session_context  # noqa: PLC0415  # hermes's

    monkeypatch.setattr(session_context, "async_delivery_supported", lambda: False)
    made = Family(tmp_path / "mem.db")
    yield made
    made.close()


def named(held: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return conversations with each of hermes's ids of sessions as SESSION; a text behind tells them apart."""
    return {f"{_SESSION.sub('SESSION', each)} {texts[0]}": texts[1:] for each, texts in held.items()}


def test_sub_agents_have_conversations_below_the_call_that_made_them(family: Family) -> None:
    """Several of one call, and of two calls at once: the call stays open, and gets their answers."""
    family.calls["go"] = (delegate("d1", "find one", "find two"), delegate("d2", "find three"))
    family.program.run("go", CHAT)
    assert named(family.held()) == {
        f"{CHAT} go": ["d1", "d2", "d1", "d2", "done"],
        f"{CHAT}/delegate_task/d1/SESSION find one": ["on find one"],
        f"{CHAT}/delegate_task/d1/SESSION find two": ["on find two"],
        f"{CHAT}/delegate_task/d2/SESSION find three": ["on find three"],
    }
    answered = [row.text for request in family.mind.requests for row in request.messages if row.result_ids]
    assert any("on find one" in text and "on find two" in text for text in answered)


def test_sub_agents_of_sub_agents_are_below_them(family: Family) -> None:
    """An orchestrator of hermes's."""
    family.calls["go"] = (delegate("d1", "lead", role="orchestrator"),)
    family.calls["lead"] = (delegate("d2", "find"),)
    family.program.run("go", CHAT)
    assert named(family.held()) == {
        f"{CHAT} go": ["d1", "d1", "done"],
        f"{CHAT}/delegate_task/d1/SESSION lead": ["d2", "d2", "done"],
        f"{CHAT}/delegate_task/d1/SESSION/delegate_task/d2/SESSION find": ["on find"],
    }


def test_a_sub_agent_sees_nothing_of_its_parent_and_has_the_window_of_its_model(family: Family) -> None:
    """Its model is that of `delegation.model`."""
    family.calls["go"] = (delegate("d1", "find"),)
    family.program.run(f"a secret {LONG}", CHAT)
    family.program.run("go", CHAT)
    inner = [each for each in family.mind.requests if each.messages[-1].text.strip() == "find"]
    assert len(inner) == 1
    assert b"secret" not in b"".join(inner[0].wires)
    (child,) = family.held().keys() - {CHAT}
    with reading(family.path) as engine:
        windows = [WINDOW.newest(engine.wired.store, each) for each in (CHAT, child)]
    assert [each.model for each in windows if each] == ["tiny", "small"]


def test_a_session_of_a_sub_agent_that_is_opened_again_continues_its_conversation(family: Family) -> None:
    """Also where its parent was compressed in between: hermes marks it."""
    family.calls["go"] = (delegate("d1", "find"),)
    family.program.run("go", CHAT)
    (child,) = family.held().keys() - {CHAT}
    session_id = child.rpartition("/")[2]
    family.program.db.end_session(CHAT, "compression")
    engine: Any = family.program.agent(session_id).context_compressor
    assert isinstance(engine, SquidbotEngine)
    assert engine.conversation_id == child
    family.program.run("more", session_id)
    assert family.held()[child] == ["find", "on find", "more", "on more"]
    assert sorted(family.held()) == sorted([CHAT, child])


def test_a_branch_of_a_session_that_was_compressed_is_no_continuation(family: Family) -> None:
    """It is marked, too."""
    family.program.run("hello", CHAT)
    config = {"_branched_from": CHAT}
    family.program.db.create_session("branch", "cli", model_config=config, parent_session_id=CHAT)
    family.program.db.end_session(CHAT, "compression")
    family.program.run("other", "branch")
    assert json.loads(family.program.db.get_session("branch")["model_config"]) == config
    assert family.held() == {CHAT: ["hello", "on hello"], "branch": ["other", "on other"]}
