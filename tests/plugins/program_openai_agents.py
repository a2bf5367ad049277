"""A program of the OpenAI Agents SDK for the check of hosts: the real package, its own runner, a model offline."""

# ruff: noqa: ANN401  # mypy reads no types of the host

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from agents import Agent, ModelResponse, ModelSettings, RunConfig, Runner, SessionSettings, Usage, function_tool
from agents.models.interface import Model as AgentsModel
from openai import BadRequestError, InternalServerError
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
    ResponseTextDeltaEvent,
    ResponseUsage,
)
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails

from squidbot.plugins.openai_agents import Squidbot
from squidbot.testing.hosts import (
    HostDriver,
    Request,
    RequestMessage,
    ScriptedStep,
    Setting,
    SignedReply,
    broken_off,
    to_json,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from squidbot.testing.hosts import Model

Item = dict[str, Any]

# Nothing is traced, and nothing bounds the steps of a turn.
UNTRACED = RunConfig(tracing_disabled=True)
NOTHING: Mapping[str, Any] = {}
MOST_TURNS = 100
# What the ids of a reply with reasoning begin with: without it in front, a provider refuses them.
SIGNED = "signed_"


def sent(item: Item) -> RequestMessage:
    """Return an item as a neutral message."""
    kind = item.get("type") or "message"
    if kind == "function_call":
        wire = to_json([kind, item["name"], item["arguments"], item["call_id"]])
        return RequestMessage("assistant", "", (item["call_id"],), (), wire)
    if kind == "function_call_output":
        text = str(item["output"])
        return RequestMessage("tool", text, (), (item["call_id"],), to_json([kind, text, item["call_id"]]))
    if kind == "reasoning":
        return RequestMessage("assistant", "", (), (), to_json(item), to_json(item).decode())
    if kind != "message":
        return RequestMessage("assistant", "", (), (), to_json(item))
    content = item["content"]
    text = content if isinstance(content, str) else "".join(part["text"] for part in content)
    return RequestMessage(item["role"], text, (), (), to_json([item["role"], text]))


def faults(items: Sequence[Item]) -> tuple[str, ...]:
    """Return what of a list the provider of reasoning would refuse (V2)."""
    found = []
    for number, item in enumerate(items):
        behind = items[number + 1] if number + 1 < len(items) else {}
        if item.get("type") == "reasoning" and behind.get("type") not in {"message", "function_call"}:
            found.append(f"reasoning at {number} without what it led to")
        is_alone = number == 0 or items[number - 1].get("type") != "reasoning"
        if str(item.get("id", "")).startswith(f"{SIGNED}m") and is_alone:
            found.append(f"an item at {number} whose reasoning is missing, by its id")
    return tuple(found)


class Fake(AgentsModel):  # type: ignore[misc]  # mypy reads no types of the host
    """A model that does what it is told."""

    model = "fake"

    def __init__(self, mind: Model) -> None:
        self.mind = mind

    async def get_response(self, system_instructions: str | None, input: Any, *_: Any, **given: Any) -> Any:  # noqa: A002
        """Answer a request."""
        step = self._step(system_instructions, input, given["tools"], is_streamed=False)
        if step.is_held:
            await self.mind.ahold()
        _fail(step)
        used = step.usage
        assert used is not None
        details = InputTokensDetails(cached_tokens=used.cached_tokens or 0, cache_write_tokens=0)
        usage = Usage(
            requests=1,
            input_tokens=used.input_tokens,
            input_tokens_details=details,
            output_tokens=used.output_tokens,
            total_tokens=used.input_tokens + used.output_tokens,
        )
        return ModelResponse(output=_output(step), usage=usage, response_id=None)

    async def stream_response(
        self, system: str | None, asked: Any, _settings: Any, tools: Any, *_: Any, **__: Any
    ) -> AsyncIterator[Any]:
        """Answer a request in pieces."""
        step = self._step(system, asked, tools, is_streamed=True)
        place = {"content_index": 0, "item_id": "m", "output_index": 0, "sequence_number": 0, "logprobs": []}
        for chunk in step.chunks():
            yield ResponseTextDeltaEvent(type="response.output_text.delta", delta=chunk, **place)
        if step.is_held:
            await self.mind.ahold()
        _fail(step)
        for item in _output(step):
            yield ResponseOutputItemDoneEvent(
                type="response.output_item.done", item=item, output_index=0, sequence_number=0
            )
        yield ResponseCompletedEvent(type="response.completed", sequence_number=0, response=_response(step))

    def _step(self, system: str | None, asked: Any, tools: Any, *, is_streamed: bool) -> ScriptedStep:
        items = [{"role": "user", "content": asked}] if isinstance(asked, str) else [dict(each) for each in asked]
        told = to_json([[each.name, each.description, each.params_json_schema] for each in tools])
        request = Request(
            tuple(map(sent, items)),
            system or "",
            told,
            faults(items),
            is_streamed=is_streamed,
            has_items=True,
        )
        return self.mind.hear(request)


def _output(step: ScriptedStep) -> list[Any]:
    if isinstance(step.native, list):
        return step.native
    made: list[Any] = [said("m", step.text)] if step.text else []
    return made + [
        ResponseFunctionToolCall(
            id=f"fc_{call.call_id}",
            type="function_call",
            call_id=call.call_id,
            name=call.name,
            arguments=to_json(dict(call.arguments)).decode(),
            status="completed",
        )
        for call in step.calls
    ]


def said(name: str, text: str) -> ResponseOutputMessage:
    """Return an item that says something."""
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(id=name, type="message", role="assistant", status="completed", content=[part])


def _response(step: ScriptedStep) -> Response:
    used = step.usage
    assert used is not None
    usage = ResponseUsage(
        input_tokens=used.input_tokens,
        input_tokens_details=InputTokensDetails(cached_tokens=used.cached_tokens or 0, cache_write_tokens=0),
        output_tokens=used.output_tokens,
        output_tokens_details=OutputTokensDetails(reasoning_tokens=0),
        total_tokens=used.input_tokens + used.output_tokens,
    )
    return Response(
        id="r",
        created_at=0,
        model="fake",
        object="response",
        output=_output(step),
        tool_choice="auto",
        tools=[],
        parallel_tool_calls=True,
        usage=usage,
    )


def _fail(step: ScriptedStep) -> None:
    """Raise what the SDK of the provider raises."""
    answer: Any = SimpleNamespace(request=None, headers={})
    if step.error == "too_long":
        answer.status_code = 400
        body = {"code": "context_length_exceeded", "message": "too long"}
        raise BadRequestError("Your input exceeds the context window of this model.", response=answer, body=body)
    if step.error:
        answer.status_code = 500
        raise InternalServerError("fake", response=answer, body=None)


def _told(_context: object, error: Exception) -> str:
    return f"it failed: {error}"


class Program:
    """An agent with squidbot in it."""

    def __init__(self, setting: Setting, *, config: RunConfig = UNTRACED, agent: Mapping[str, Any] = NOTHING) -> None:
        """Make the agent; `config` is the program's own, `agent` what else the agent is made with."""
        self.mind, self.config = setting.model, config
        self.lists: dict[str, list[Item]] = {}
        self.squidbot = (
            Squidbot(setting.path, budget=setting.budget, settings=setting.settings) if setting.has_squidbot else None
        )
        made: dict[str, Any] = {
            "name": "kind",
            "instructions": "You are kind.",
            "model": Fake(self.mind),
            "tools": [function_tool(self.look, failure_error_function=_told), *self.tools],
        }
        self.agent = Agent(**{**made, **agent})

    @property
    def tools(self) -> list[Any]:
        """What squidbot gives to the agent."""
        return self.squidbot.tools if self.squidbot else []

    async def look(self, at: int = 0) -> str:
        """Look at something."""
        return await self.mind.alook(at)

    def options(self, conversation_id: str) -> dict[str, Any]:
        """Return what a run is given."""
        given = (
            {"run_config": self.config}
            if self.squidbot is None
            else self.squidbot.options(conversation_id, run_config=self.config)
        )
        return {"max_turns": MOST_TURNS, **given}

    def run(self, text: str, conversation_id: str, history: object = None, **switches: Any) -> str:
        """Run a turn."""
        given: Any = [*history, {"role": "user", "content": text}] if isinstance(history, list) else text
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            result = Runner.run_sync(self.agent, given, **{**self.options(conversation_id), **switches})
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            asyncio.set_event_loop(None)
            loop.close()
        self.lists[conversation_id] = result.to_input_list()
        return str(result.final_output)

    async def arun(self, text: str, conversation_id: str) -> str:
        """Run a turn, awaited."""
        result = await Runner.run(self.agent, text, **self.options(conversation_id))
        self.lists[conversation_id] = result.to_input_list()
        return str(result.final_output)

    def stream(self, text: str, conversation_id: str, pieces: int | None = None) -> str:
        """Run a turn as a stream."""
        return asyncio.run(self._stream(text, conversation_id, pieces))

    async def _stream(self, text: str, conversation_id: str, pieces: int | None = None) -> str:
        words: list[str] = []
        result = Runner.run_streamed(self.agent, text, **self.options(conversation_id))
        async for event in result.stream_events():
            if getattr(event, "data", None) is not None and event.data.type == "response.output_text.delta":
                words.append(event.data.delta)
                if len(words) == pieces:
                    break
        if pieces is None:
            self.lists[conversation_id] = result.to_input_list()
            return str(result.final_output)
        return "".join(words)

    def cancel(self, text: str, conversation_id: str, *, streams: bool = False) -> None:
        """Cancel the task of a turn."""
        run = self._stream(text, conversation_id) if streams else self.arun(text, conversation_id)
        asyncio.run(broken_off(run, self.mind))

    def history(self, conversation_id: str) -> object:
        """Return what the run returned."""
        return self.lists.get(conversation_id, [])

    def listed(self, conversation_id: str) -> Sequence[RequestMessage]:
        """Return the same, neutral."""
        return [sent(item) for item in self.lists.get(conversation_id, [])]

    def close(self) -> None:
        """Close the store."""
        if self.squidbot is not None:
            self.squidbot.hosted.close()


def held_by(**switches: Any) -> Callable[[Any], object]:
    """Return what runs a turn with a switch of the runner's."""
    return lambda program: program.run("Hi", "chat-1", **switches)


def held_by_settings(**settings: Any) -> Callable[[Any], object]:
    """Return what runs a turn with a switch of the model's settings."""

    def act(program: Any) -> object:
        program.agent.model_settings = ModelSettings(**settings)
        return program.run("Hi", "chat-1")

    return act


def held_beside(program: Any) -> object:
    """Run a turn whose provider goes on from an earlier response, without squidbot's session."""
    return program.run("Hi", "chat-1", session=None, previous_response_id="x")


def turns(program: Program, **switches: Any) -> None:
    """Run two turns."""
    try:
        for _ in range(2):
            program.run("RECALL it.", "chat-1", **switches)
    finally:
        program.close()


def with_config(**given: Any) -> Callable[[Setting], object]:
    """Return what runs turns with a configuration of the program's."""
    return lambda setting: turns(Program(setting, config=RunConfig(tracing_disabled=True, **given)))


def with_settings(**given: Any) -> Callable[[Setting], object]:
    """Return what runs turns of an agent with settings of its model."""
    return lambda setting: turns(Program(setting, agent={"model_settings": ModelSettings(**given)}))


REPLY = [
    ResponseReasoningItem(
        id=f"{SIGNED}r", type="reasoning", summary=[], encrypted_content="c2VhbGVk" * 9, status=None, unknown={"x": [1]}
    ),
    said(f"{SIGNED}m", "Yes."),
]
OPAQUE = to_json(REPLY[0].model_dump(exclude_unset=True)).decode()

HOST = HostDriver(
    name="openai-agents",
    make=Program,
    origin="tests.plugins.program_openai_agents:HOST",
    root=Path(__file__).parents[2],
    plugin="squidbot.plugins.openai_agents",
    package="agents",
    extra="openai-agents",
    server_held={
        "conversation_id": held_by(conversation_id="x"),
        "previous_response_id": held_by(previous_response_id="x"),
        "auto_previous_response_id": held_by(auto_previous_response_id=True),
        "extra_args['previous_response_id']": held_by_settings(extra_args={"previous_response_id": "x"}),
        "extra_body['conversation']": held_by_settings(extra_body={"conversation": "x"}),
        "previous_response_id makes the provider": held_beside,
    },
    rivals={
        "session_settings.limit": with_config(session_settings=SessionSettings(limit=5)),
        "session_input_callback": with_config(session_input_callback=lambda old, new: [*old, *new]),
        "nest_handoff_history": with_config(nest_handoff_history=True),
        "handoff_input_filter": with_config(handoff_input_filter=lambda data: data),
        "truncation": with_settings(truncation="auto"),
        "context_management": with_settings(context_management=[{"type": "compaction"}]),
    },
    inactive={
        "came without its session": lambda setting: turns(Program(setting), session=None),
        "has no conversation here": lambda setting: turns(Program(setting), session=None, run_config=UNTRACED),
    },
    signed=SignedReply(REPLY, OPAQUE),
)
