"""squidbot in runs of the OpenAI Agents SDK that are more than a question and an answer."""

# ruff: noqa: ANN401  # mypy reads no types of the host

from __future__ import annotations

import asyncio
from itertools import count
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    ModelRetrySettings,
    ModelSettings,
    OutputGuardrail,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    RunHooks,
    Runner,
    RunState,
    function_tool,
)
from openai.types.responses import ResponseFunctionToolCall

from squidbot.core.errors import ConfigError, StoreError
from squidbot.plugins.host import HostConversation
from squidbot.testing.hosts import CHAT, FACT, SAID, Model, ScriptedCall, ScriptedStep, Setting, listening, look, said

from .program_openai_agents import UNTRACED, Fake, Program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from squidbot.testing.hosts import Request


class Led:
    """A program whose model follows a script, and what is recorded of it."""

    def __init__(self, path: Path, script: Any = None, **agent: Any) -> None:
        self.path, self.mind = path, Model(4_000)
        self.mind.script = script or self.mind.script
        self.program = Program(Setting(path, self.mind), agent=agent)

    def run(self, text: str, way: str = "run") -> str:
        """Run a turn."""
        return self.program.run(text, CHAT) if way == "run" else self.program.stream(text, CHAT)

    def said(self) -> list[tuple[str, str]]:
        """Return what is recorded."""
        return said(self.path, CHAT)

    def roles(self) -> list[str]:
        """Return who spoke."""
        return [role for role, _ in self.said()]

    def close(self) -> None:
        """Close the store, and check that every request was valid."""
        self.program.close()
        assert not self.mind.faults


@pytest.fixture
def leads(tmp_path: Path) -> Iterator[Any]:
    """Return what makes programs; all are closed in the end."""
    made: list[Led] = []

    def make(*arguments: Any, **agent: Any) -> Led:
        made.append(Led(tmp_path / "mem.db", *arguments, **agent))
        return made[-1]

    yield make
    for each in made:
        each.close()


def once(number: int, *calls: ScriptedCall) -> Any:
    """Return a script that makes calls at one request, and says the usual at the others."""
    return lambda request: ScriptedStep(calls=calls) if request.number == number else None


WAYS = pytest.mark.parametrize("way", ["run", "stream"])
LOOK = look(1)


@WAYS
def test_agents_that_are_tools_have_requests_of_their_own(way: str, leads: Any) -> None:
    """They inherit the run's configuration: nothing of theirs is recorded as said in the conversation."""
    inner = Model(4_000)
    inner.script = lambda request: (
        ScriptedStep("I know it.") if request.results else ScriptedStep(calls=(_search(request),))
    )
    one = leads(once(2, ScriptedCall("expert", {"input": FACT}, "c1")))
    expert = Agent("expert", model=Fake(inner), tools=one.program.tools)
    one.program.agent.tools.append(expert.as_tool("expert", "It knows."))
    one.run(FACT, way)
    assert one.run(FACT, way) == "It says: I know it."
    assert [len(request.messages) for request in inner.requests] == [1, 3]
    assert "walrus" in inner.requests[-1].messages[-1].text, "it finds what was said in the conversation"
    assert one.roles() == ["user", "assistant", "user", "call", "result", "assistant"]
    assert one.run("And now?", way) == SAID


def _search(request: Request) -> ScriptedCall:
    return ScriptedCall("memory_search", {"query": "walrus"}, f"s{request.number}")


async def silent(_context: Any, _agent: Any, output: Any) -> GuardrailFunctionOutput:
    """Keep secrets."""
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered="secret" in str(output))


@WAYS
def test_an_answer_that_guardrails_keep_back_is_not_recorded(way: str, leads: Any) -> None:
    """The user has never seen it; one that is passed is, with what the provider reported for it."""
    one = leads(
        lambda request: ScriptedStep("A secret.") if request.text == "Tell!" else None,
        output_guardrails=[OutputGuardrail(silent)],
    )
    one.run(FACT, way)
    with pytest.raises(OutputGuardrailTripwireTriggered):
        one.run("Tell!", way)
    assert one.said() == [("user", FACT), ("assistant", SAID), ("user", "Tell!")]
    assert one.run("And now?", way) == SAID
    assert one.roles() == ["user", "assistant", "user", "user", "assistant"]
    assert b"secret" not in b"".join(wire for request in one.mind.requests for wire in request.wires)


@WAYS
def test_what_breaks_off_in_front_of_guardrails_is_not_recorded(way: str, leads: Any) -> None:
    """They have not seen it."""
    one = leads(
        lambda _request: ScriptedStep(SAID, error="failed", pieces=2), output_guardrails=[OutputGuardrail(silent)]
    )
    with pytest.raises(Exception, match="fake"):
        one.run(FACT, way)
    assert one.said() == [("user", FACT)]


@WAYS
def test_a_run_that_ends_with_a_tool_is_recorded_whole(way: str, leads: Any) -> None:
    """No request comes behind it, by which its result would be recorded."""
    one = leads(once(1, LOOK), tool_use_behavior="stop_on_first_tool")
    assert one.run("Look!", way).startswith("result 1")
    assert one.said() == [("user", "Look!"), ("call", "c1"), ("result", "c1")]
    assert one.run("And now?", way) == SAID


@pytest.mark.parametrize("restarts", [False, True])
@WAYS
def test_a_run_that_waits_for_approval_goes_on(way: str, restarts: bool, tmp_path: Path) -> None:  # noqa: FBT001
    """In another process, too, from a state that was written: each call has one result, the request is bounded."""
    mind = Model(4_000)
    mind.script = once(2, LOOK, ScriptedCall("look", {"at": 2}, "c2"))

    async def look(at: int) -> str:
        return mind.look(at)

    def program() -> Program:
        tool = function_tool(look, needs_approval=True)
        return Program(Setting(tmp_path / "mem.db", mind), agent={"tools": [tool]})

    async def turn(one: Program, given: Any) -> Any:
        if way == "run":
            return await Runner.run(one.agent, given, **one.options(CHAT))
        result = Runner.run_streamed(one.agent, given, **one.options(CHAT))
        assert [event async for event in result.stream_events()]
        return result

    async def both() -> None:
        one = program()
        await turn(one, FACT)
        state = (await turn(one, "Look!")).to_state()
        if restarts:
            one.close()
            one = program()
            state = await RunState.from_string(one.agent, state.to_string())
        for waiting in state.get_interruptions():
            state.approve(waiting)
        result = await turn(one, state)
        assert result.final_output.startswith("It says: result 1")
        assert (await turn(one, "And now?")).final_output == SAID
        one.close()

    asyncio.run(both())
    assert not mind.faults
    roles = [role for role, _ in said(tmp_path / "mem.db", CHAT)]
    assert roles == [
        "user",
        "assistant",
        "user",
        "call",
        "call",
        "result",
        "result",
        *["assistant", "user", "assistant"],
    ]


@WAYS
def test_an_agent_that_is_handed_a_conversation_sees_it(way: str, leads: Any) -> None:
    """All of it is one conversation."""
    one = leads()
    other = Model(4_000)
    one.program.agent.handoffs.append(Agent("other", model=Fake(other), tools=one.program.tools))
    one.run(FACT, way)
    one.mind.script = once(2, ScriptedCall("transfer_to_other", {}, "c1"))
    assert one.run("Who else?", way).startswith("It says: ")
    assert FACT.encode() in b"".join(other.requests[-1].wires)
    assert not other.faults
    assert one.roles() == ["user", "assistant", "user", "call", "result", "assistant"]


@WAYS
def test_the_hosts_own_attempts_are_bounded_each(way: str, leads: Any) -> None:
    """It tries again where a provider fails: the same request, which is recorded once."""
    one = leads(lambda request: ScriptedStep(error="failed") if request.number == 2 else None)
    one.program.agent.model_settings = ModelSettings(retry=ModelRetrySettings(max_retries=2, policy=lambda _: True))
    one.run(FACT, way)
    assert one.run("And now?", way) == SAID
    assert one.mind.requests[1].wires == one.mind.requests[2].wires
    assert one.roles() == ["user", "assistant"] * 2


def test_a_run_that_failed_leaves_the_next_one_alone(leads: Any) -> None:
    """One without squidbot's options, with the same model, in the same task, behind a call that was never answered."""
    one = leads(lambda request: ScriptedStep(error="failed") if request.results else None)
    one.mind.script = lambda request: ScriptedStep(error="failed") if request.results else once(1, LOOK)(request)

    async def both() -> None:
        with pytest.raises(Exception, match="fake"):
            await one.program.arun("Look!", CHAT)
        await Runner.run(one.program.agent, "Hello!", run_config=UNTRACED)

    asyncio.run(both())
    assert [len(request.messages) for request in one.mind.requests] == [1, 3, 1]
    assert one.roles() == ["user", "call", "result"]


def test_a_model_that_can_t_be_taken_care_of_is_told_of(leads: Any) -> None:
    """Once; the run goes on without squidbot."""

    class Odd(Fake):
        def __init_subclass__(cls) -> None:
            raise TypeError("no children")

    one = leads()
    one.program.agent.model = Odd(one.mind)
    with listening() as told:
        assert [one.run("Hello!") for _ in range(2)] == [SAID] * 2
    assert len(told.lines) == 1
    assert "cannot limit requests of models of class Odd: TypeError: no children" in told.lines[0]


def test_a_stream_without_items_at_its_end_is_recorded_by_what_came(tmp_path: Path) -> None:
    """As the host goes on with it."""

    class Short(Fake):
        async def stream_response(self, *given: Any, **further: Any) -> Any:
            async for event in super().stream_response(*given, **further):
                if event.type == "response.completed":
                    event.response.output = []
                yield event

    mind = Model(4_000)
    config = RunConfig(tracing_disabled=True, model=Short(mind))
    program = Program(Setting(tmp_path / "mem.db", mind), config=config)
    assert program.stream(FACT, CHAT) == SAID
    program.close()
    assert said(tmp_path / "mem.db", CHAT) == [("user", FACT), ("assistant", SAID)]


def test_a_stream_that_can_t_be_closed_is_read_as_it_is(tmp_path: Path) -> None:
    """The host asks for an iterator, and no more."""

    class Events:
        def __init__(self, events: Any) -> None:
            self.events = events

        def __aiter__(self) -> Events:
            return self

        async def __anext__(self) -> Any:
            return await anext(self.events)

    class Plain(Fake):
        def stream_response(self, *given: Any, **further: Any) -> Any:
            return Events(super().stream_response(*given, **further))

    mind = Model(4_000)
    program = Program(Setting(tmp_path / "mem.db", mind), agent={"model": Plain(mind)})
    assert program.stream(FACT, CHAT) == SAID
    program.close()
    assert said(tmp_path / "mem.db", CHAT) == [("user", FACT), ("assistant", SAID)]


def test_what_a_tool_of_the_provider_made_is_kept(leads: Any) -> None:
    """A step of several items is one message; its call has a result, its own items are sent again."""
    from openai.types.responses import ResponseFunctionWebSearch  # noqa: PLC0415  # of one test
    from openai.types.responses.response_function_web_search import ActionSearch  # noqa: PLC0415  # as above

    action = ActionSearch(type="search", query="weir")
    found = ResponseFunctionWebSearch(id="ws_1", type="web_search_call", status="completed", action=action)
    call = ResponseFunctionToolCall(type="function_call", call_id="c1", name="look", arguments='{"at":1}')
    one = leads(lambda request: ScriptedStep("", native=[found, call]) if request.number == 1 else None)
    assert one.run("Look!").startswith("It says: result 1")
    assert b"web_search_call" in b"".join(one.mind.requests[-1].wires)
    store = one.program.squidbot.hosted.engine.wired.store
    (row,) = store.read(CHAT, 1, 1)
    assert '"type": "web_search_call"' in row.payload
    assert '"query": "weir"' in row.payload


@pytest.mark.parametrize("place", range(6))
@WAYS
def test_all_of_a_run_is_recorded_though_the_store_fails_once(
    way: str,
    place: int,
    leads: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A reply to a request that squidbot could not prepare, too: a call comes before its result."""
    one = leads(once(2, LOOK))
    one.run(FACT, way)
    record, writes = HostConversation._record, count()  # fails as a store does

    def fails(self: HostConversation, *given: Any) -> None:
        if next(writes) == place:
            raise StoreError("disk full")
        record(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(HostConversation, "_record", fails)
        one.run("Look!", way)
        one.run("And now?", way)
    one.run("And then?", way)
    turn = ["user", "assistant"]
    assert one.roles() == [*turn, "user", "call", "result", "assistant", *turn, *turn]


@pytest.mark.parametrize("given", [5, UUID(int=7)])
def test_numbers_and_uuids_are_ids(given: Any, leads: Any) -> None:
    """As text; tools and agents within them work."""
    one = leads(once(1, LOOK))
    asyncio.run(one.program.arun("Look!", given))
    squid = one.program.squidbot
    items = [len(asyncio.run(squid.session(each).get_items())) for each in (given, str(given))]
    assert items == [4, 4]


@pytest.mark.parametrize("given", [None, b"x", 1.5, True, ["x"]])
def test_other_things_are_no_ids(given: Any, leads: Any) -> None:
    """The program hears of it when it asks for options."""
    squid = leads().program.squidbot
    for act in (squid.options, squid.session):
        with pytest.raises(ConfigError, match="pass text, a whole number or a UUID"):
            act(given)


def test_a_tool_works_though_squidbot_cannot_tell_its_agents_apart(leads: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is called as without squidbot."""

    def fails(*_: object) -> str:
        raise TypeError("a bug")

    one = leads(once(1, LOOK))
    monkeypatch.setattr("squidbot.plugins.openai_agents.child_id", fails)
    assert one.run("Look!").startswith("It says: result 1")
    assert one.roles() == ["user", "call", "result", "assistant"]


def test_a_run_that_failed_before_its_request_leaves_the_next_one_alone(leads: Any) -> None:
    """A hook of the program fails between the filter and the model; the next run has no options."""

    class Fails(RunHooks[Any]):  # type: ignore[misc]  # mypy reads no types of the host
        async def on_llm_start(self, _context: Any, _agent: Any, _system: Any, items: list[Any]) -> None:
            if len(items) > 1:
                raise RuntimeError("hook")

    one = leads(once(1, LOOK))

    async def both() -> None:
        with pytest.raises(RuntimeError, match="hook"):
            await Runner.run(one.program.agent, "Look!", hooks=Fails(), **one.program.options(CHAT))
        await Runner.run(one.program.agent, "Hello!", run_config=UNTRACED)

    asyncio.run(both())
    assert [[each.text for each in request.messages] for request in one.mind.requests][1:] == [["Hello!"]]
    assert one.roles() == ["user", "call", "result"]
