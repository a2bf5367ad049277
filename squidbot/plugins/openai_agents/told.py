"""What the host's own objects say, as values: items, tools, usage, and settings that go against squidbot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from squidbot.codecs.fields import adopted
from squidbot.codecs.openai_responses import OpenAIResponses
from squidbot.core import messages
from squidbot.hosting.refusals import server_held

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agents import AgentOutputSchemaBase, Handoff, ModelSettings, RunConfig, Tool, Usage
    from openai.types.responses import ResponseUsage

    from squidbot.core.messages import StoredMessage
    from squidbot.core.ports import Codec

__all__ = [
    "CODEC",
    "FORM",
    "Item",
    "items_of",
    "model_name",
    "refuse_held",
    "rivals",
    "telling",
    "told",
    "tools_of",
    "usage_of",
]

Item = dict[str, Any]
FORM: Final = "openai.responses"
CODEC: Final = OpenAIResponses()
SERVER_HELD: Final = ("conversation", "conversation_id", "previous_response_id")
# What else makes histories shorter, or other than they were.
RIVALS: Final = {
    "session_settings": "session_settings.limit has no effect: squidbot's budget says what is sent",
    "session_input_callback": "session_input_callback gets no history: squidbot adds it to each request",
    "handoff_input_filter": "handoff_input_filter has no effect: squidbot sends what fits of all that was said",
    "nest_handoff_history": "nest_handoff_history has no effect: squidbot sends what fits of all that was said",
    "truncation": "truncation='auto' has the provider drop messages that squidbot has sent: leave it out",
    "context_management": "context_management has the provider rewrite what squidbot has sent: leave it out",
}


def refuse_held(settings: ModelSettings | None, further: Mapping[str, object] | None = None) -> None:
    """Pass settings of a model, and what a call of it is given besides, by which all messages are sent.

    Raises:
        ConfigError: the provider is to add some that it holds; the text names the switch (V10).
    """
    held = [key for key in SERVER_HELD if (further or {}).get(key)]
    for place in ("extra_args", "extra_body"):
        given = getattr(settings, place, None)
        held += [f"{place}[{key!r}]" for key in SERVER_HELD if isinstance(given, dict) and given.get(key)]
    if held:
        raise server_held(held[0])


def rivals(given: RunConfig | ModelSettings) -> list[str]:
    """Return what is to be said of what else changes what is sent, by a run's configuration or a model's settings."""
    found = [key for key in RIVALS if getattr(given, key, None)]
    if "session_settings" in found and given.session_settings.limit is None:
        found.remove("session_settings")
    if "truncation" in found and given.truncation != "auto":
        found.remove("truncation")
    return [RIVALS[key] for key in found]


def tools_of(
    tools: Iterable[Tool], handoffs: Iterable[Handoff] = (), schema: AgentOutputSchemaBase | None = None
) -> list[Item]:
    """Return what is sent beside the messages: tools, handoffs, and the form that the answer is to have."""
    made: list[Item] = [
        {"name": each.name, "description": each.description, "parameters": each.params_json_schema}
        if hasattr(each, "params_json_schema")
        else {"type": each.name}
        for each in tools
    ]
    made += [
        {"name": each.tool_name, "description": each.tool_description, "parameters": each.input_json_schema}
        for each in handoffs
    ]
    if schema is not None and not schema.is_plain_text():
        made.append({"name": schema.name(), "parameters": schema.json_schema()})
    return made


def usage_of(reported: Usage | ResponseUsage | None) -> messages.Usage | None:
    """Return what the provider reported; None where it reported nothing."""
    if reported is None or not reported.input_tokens:
        return None
    cached = getattr(reported.input_tokens_details, "cached_tokens", None)
    return messages.Usage(reported.input_tokens, reported.output_tokens, cached or 0)


def telling(payload: Mapping[str, object]) -> object:
    """Return what was said: ids and states are the provider's, and reasoning goes with what it led to."""
    items = payload.get("output")
    listed = items if isinstance(items, list) and "call_id" not in payload else [payload]
    return [told(each) for each in listed if each.get("type") != "reasoning"]


def told(item: Mapping[str, object]) -> object:
    """Return what one item says."""
    kind = item.get("type") or "message"
    if kind != "message":
        return {key: item[key] for key in item if key not in {"id", "status", "created_by"}}
    content = item.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    return item.get("role", "assistant"), [part.get("text") or part for part in parts]


def items_of(row: StoredMessage, codecs: Mapping[str, Codec]) -> list[Item]:
    """Return the items of a message; what another host has said as items of this one."""
    if row.codec == FORM:
        return CODEC.to_items(CODEC.decode(row.payload))
    return adopted(CODEC, codecs[row.codec].portable(row.payload))


def model_name(model: object) -> str:
    """Return what a model is called; "" where it does not say."""
    return model if isinstance(model, str) else str(getattr(model, "model", None) or "")
