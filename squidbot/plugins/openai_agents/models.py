"""A program's models, whose requests are what squidbot makes of them where a run has its options."""

from __future__ import annotations

from contextlib import aclosing, nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from agents import ModelProvider, ModelResponse
from agents.models.interface import Model
from agents.usage import Usage

from squidbot.plugins.openai_agents.calls import MADE
from squidbot.plugins.openai_agents.told import refuse_held, tools_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from agents import AgentOutputSchemaBase, Handoff, ModelSettings, ModelTracing, Tool, TResponseInputItem
    from agents.items import TResponseStreamEvent

    from squidbot.plugins.openai_agents.calls import Call

    Input = str | list[TResponseInputItem]

__all__ = ["Models", "manage"]

# So often a request that is too long is made shorter.
MOST_ATTEMPTS: Final = 3
# What the classes have that are made here.
MARK: Final = "_squidbot_asks"


class Models(ModelProvider):  # type: ignore[misc]  # mypy reads no types of the host
    """A program's models by their names; squidbot takes care of each."""

    def __init__(self, theirs: ModelProvider, warn: Callable[..., None]) -> None:
        self._theirs, self._warn = theirs, warn

    def get_model(self, model_name: str | None) -> Model:
        """Return a model by its name."""
        model = self._theirs.get_model(model_name)
        manage(model, self._warn)
        return model

    async def aclose(self) -> None:
        """Release what the program's provider holds."""
        await self._theirs.aclose()


def manage(model: object, warn: Callable[..., None]) -> None:
    """Have a model ask squidbot first; in runs without squidbot's options it is as before. Names are none.

    Its class is exchanged, since agents hold models that their programs made, and the host asks those.
    """
    kind: type = type(model)
    if not isinstance(model, Model) or hasattr(kind, MARK):
        return
    try:
        model.__class__ = _managed(kind)
        why = "" if hasattr(type(model), MARK) else "it can't be exchanged"
    except Exception as error:  # noqa: BLE001  # a model without squidbot is better than none
        why = f"{type(error).__name__}: {error}"
    if why:
        warn(f"squidbot can't take care of models of the class {kind.__name__}: {why}")


@cache
def _managed(kind: type) -> type:
    """Return a class of models like another one, by the same name, whose requests squidbot makes."""
    named = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__, MARK: True}
    asks = {"get_response": _get_response(kind), "stream_response": _stream_response(kind)}
    return type(kind)(kind.__name__, (kind,), {**named, **asks})


def _get_response(kind: Any) -> Callable[..., object]:  # noqa: ANN401  # a class of models
    async def get_response(  # noqa: PLR0913, PLR0917  # the host's
        self: Model,
        system_instructions: str | None,
        input: Input,  # noqa: A002  # the host's
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff],
        tracing: ModelTracing,
        **further: object,
    ) -> ModelResponse:
        """Ask the model; again with less where it refuses a request as too long."""
        beside = {"output_schema": output_schema, "handoffs": handoffs, "tracing": tracing, **further}
        rest = {"model_settings": model_settings, "tools": tools, **beside}
        call = _open_call(input, model_settings, further)
        if call is None:
            return await kind.get_response(self, system_instructions=system_instructions, input=input, **rest)
        sent = await call.request(input, system_instructions, lambda: tools_of(tools, handoffs, output_schema), self)
        for attempt in range(MOST_ATTEMPTS):
            try:
                response = await kind.get_response(
                    self, system_instructions=sent.instructions, input=sent.input, **rest
                )
                break
            except Exception as error:
                less = await call.shorter(error) if attempt + 1 < MOST_ATTEMPTS else None
                if less is None:
                    raise
                sent = less
        call.replied(response, response.usage)
        return response

    return get_response


def _stream_response(kind: Any) -> Callable[..., object]:  # noqa: ANN401  # a class of models
    async def stream_response(  # noqa: PLR0913, PLR0917  # the host's
        self: Model,
        system_instructions: str | None,
        input: Input,  # noqa: A002  # the host's
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff],
        tracing: ModelTracing,
        **further: object,
    ) -> AsyncIterator[TResponseStreamEvent]:
        """Do as `get_response`, in pieces; what came of an answer that breaks off is recorded as such."""
        rest = model_settings, tools, output_schema, handoffs, tracing
        call = _open_call(input, model_settings, further)
        if call is None:
            async for event in kind.stream_response(self, system_instructions, input, *rest, **further):
                yield event
            return
        sent = await call.request(input, system_instructions, lambda: tools_of(tools, handoffs, output_schema), self)
        heard = _Heard()
        try:
            for attempt in range(MOST_ATTEMPTS):
                try:
                    events = kind.stream_response(self, sent.instructions, sent.input, *rest, **further)
                    async with aclosing(events) if hasattr(events, "aclose") else nullcontext():
                        async for event in events:
                            heard.take(event)
                            yield event
                    break
                except Exception as error:
                    again = not heard.events and attempt + 1 < MOST_ATTEMPTS
                    less = await call.shorter(error) if again else None
                    if less is None:
                        raise
                    sent = less
        finally:
            heard.end(call)

    return stream_response


class _Heard:
    """What came of a streamed answer."""

    def __init__(self) -> None:
        self.events = 0
        self._items: list[object] = []
        self._text: list[str] = []
        self._end: TResponseStreamEvent | None = None

    def take(self, event: TResponseStreamEvent) -> None:
        """Take in an event."""
        self.events += 1
        kind = getattr(event, "type", None)
        if kind == "response.output_item.done":
            self._items.append(event.item)
        elif kind == "response.output_text.delta":
            self._text.append(event.delta)
        elif kind == "response.completed":
            self._end = event

    def end(self, call: Call) -> None:
        """Record what came."""
        if self._end is None:
            call.broke_off("".join(self._text))
            return
        whole = self._end.response
        # Some providers end with an answer that is empty: what came is what the host goes on with, too.
        made = ModelResponse(output=whole.output or self._items, usage=Usage(), response_id=None)
        call.replied(made, whole.usage)


def _open_call(listed: Input, settings: ModelSettings, further: Mapping[str, object]) -> Call | None:
    """Return the call that is being made, if it is of a run with squidbot's options and not answered yet.

    Raises:
        ConfigError: the provider is to add messages that it holds.
    """
    call = MADE.get()
    if call is None or not (call.is_astray or call.asks(listed)):
        return None
    refuse_held(settings, further)
    return None if call.is_astray else call
