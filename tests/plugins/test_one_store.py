"""One store, several hosts: a conversation goes on in another one, and is found from a third, by its real client."""

from __future__ import annotations

from itertools import pairwise, permutations
from typing import TYPE_CHECKING

import pytest

from squidbot.plugins.mcp import Squidbot
from squidbot.testing.hosts import (
    CHAT,
    FACT,
    FILLER,
    SAID,
    TOLD_AT_LENGTH,
    ScriptedStep,
    broken_prefixes,
    home,
    look,
    opened,
    rows,
    watched,
)

from . import program_langchain, program_llm, program_openai_agents, program_pydantic_ai
from .test_mcp import call, over

if TYPE_CHECKING:
    from pathlib import Path

    from mcp import Client

    from squidbot.testing.hosts import OpenProgram

PROGRAMS = (program_pydantic_ai, program_langchain, program_llm, program_openai_agents)
HOSTS = {program.HOST.name: program.HOST for program in PROGRAMS}
# Each goes on in the next one in any run, in all others where there is time.
NEXT = list(pairwise([*HOSTS, *HOSTS]))
PAIRS = [
    pytest.param(*pair, id=" to ".join(pair), marks=[] if pair in NEXT else [pytest.mark.slow])
    for pair in permutations(HOSTS, 2)
]
FORMS = {"pydantic-ai": "pydantic_ai/2", "LangChain": "lc/1", "llm": "llm/1", "openai-agents": "openai.responses"}


def look_about(run: OpenProgram, prefix: str) -> None:
    """Run a turn with two calls at once, and one behind them."""

    def step(number: int) -> ScriptedStep | None:
        made = [[look(1, f"{prefix}1"), look(2, f"{prefix}2")]]
        made += [[look(3, f"{prefix}3")]]
        return ScriptedStep(calls=tuple(made[number - 1])) if number <= 2 else ScriptedStep(SAID)

    run.scripted(lambda request: step(request.number))
    run.say(f"Look about, {prefix}!")
    run.unscripted()


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_a_conversation_goes_on_in_another_host(first: str, second: str, tmp_path: Path) -> None:
    """By its id alone: valid there, with its calls and results; what fell out of view is found; and it goes on back."""
    path = home(tmp_path, "one")
    with opened(HOSTS[first], path) as run:
        run.say(TOLD_AT_LENGTH)
        look_about(run, "a")
    with opened(HOSTS[second], path) as run, watched(run):
        run.say("And now?")
        request = run.model.requests[-1].messages
        assert TOLD_AT_LENGTH in [each.text for each in request]
        calls = [name for each in request for name in each.call_ids]
        results = [name for each in request for name in each.result_ids]
        assert calls == results == ["a1", "a2", "a3"]
        look_about(run, "b")
        for number in range(60):
            run.say(f"{number}: {FILLER}")
            if FACT.encode() not in run.whole():
                break
        assert "Brunhilde" in run.say("RECALL what the walrus at the harbour is called.")
        assert FACT.encode() not in run.whole(-2)
        assert broken_prefixes(run.model.requests, run.model.planned) == []
    with opened(HOSTS[first], path) as run:
        assert run.say("And back here?") == SAID
        stored = rows(path, CHAT)
    forms = [row.codec for row, _ in stored]
    assert set(forms) == {FORMS[first], FORMS[second]}
    assert (forms[0], forms[-1]) == (FORMS[first], FORMS[first])
    words = [text for row, text in stored if row.role == "user" and text]
    assert words[:3] == [TOLD_AT_LENGTH, "Look about, a!", "And now?"]
    assert words[-1] == "And back here?"
    assert len(words) == len(set(words)), "nothing is recorded twice"


def test_what_two_hosts_have_said_is_found_from_a_third(tmp_path: Path) -> None:
    """By a real client of MCP: without the id, with words of either host, whole."""
    path = tmp_path / "mem.db"
    with opened(HOSTS["pydantic-ai"], path) as run:
        run.say(FACT)
    with opened(HOSTS["LangChain"], path) as run:
        run.say("The seal is called Agathe.")

    async def find(client: Client) -> None:
        assert f"{CHAT} m0 user" in await call(client, "history_search", query="What is the walrus called?")
        assert f"{CHAT} m2 user" in await call(client, "history_search", query="Agathe the seal")
        whole = await call(client, "history_recall", conversation_id=CHAT, id="m0-m3")
        for text in (FACT, "The seal is called Agathe."):
            assert text in whole

    over(Squidbot(path).server, find)
