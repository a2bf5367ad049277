"""What a request says: the options of the settings, and a conversation with its breakpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.anthropic.breakpoints import marked
from squidbot.core.view.validity import refuse_server_state

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Json", "Options", "conversation", "options_of"]

Json = dict[str, object]


class Options(NamedTuple):
    """The options of a model, each where it goes.

    Attributes:
        thinking: what conversations say of it; None: nothing, which is the model's own default.
        mark: what breakpoints are marked with.
        betas: beta versions of the API, by their names.
        rest: what goes into requests as it is.
    """

    thinking: Json | None
    mark: Json
    betas: list[str]
    rest: Json


def options_of(options: Mapping[str, object]) -> Options:
    """Return options of the settings, each where it goes.

    Raises:
        InvalidRequestError: one has the provider keep or cut the history.
    """
    refuse_server_state(options)
    rest = dict(options)
    thinking, mark, betas = (rest.pop(name, None) for name in ("thinking", "cache_control", "betas"))
    return Options(
        dict(thinking) if isinstance(thinking, Mapping) else None,
        dict(mark) if isinstance(mark, Mapping) else {"type": "ephemeral"},
        [*map(str, betas)] if isinstance(betas, list) else [],
        rest,
    )


def conversation(
    messages: Sequence[Mapping[str, object]],
    tools: Sequence[Mapping[str, object]],
    mark: Mapping[str, object],
    stable: Sequence[int] | None,
) -> Json:
    """Return a request; `stable` says how many messages stay as they are, None: without breakpoints."""
    first = next((at for at, message in enumerate(messages) if message.get("role") != "system"), len(messages))
    system = [block for message in messages[:first] for block in _texts(message.get("content"))]
    said = [*map(_message, messages[first:])]
    if stable is not None:
        system, said = marked(system, said, mark, [count - first for count in stable])
    request: Json = {"messages": said}
    if system:
        request["system"] = system
    if tools:
        request["tools"] = [dict(tool) for tool in tools]
    return request


def _message(message: Mapping[str, object]) -> Json:
    """Return what a message has; what an answer has beside it is its envelope."""
    return {key: message[key] for key in ("role", "content") if key in message}


def _texts(content: object) -> list[Json]:
    """Return a system text as blocks; one that says nothing has none."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [dict(block) for block in blocks if block.get("text") != ""] if isinstance(blocks, list) else []
