"""Requests of hermes as they go out: which of its messages are sent, in the form of the provider that is asked."""

from __future__ import annotations

import json
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from agent.prompt_caching import apply_anthropic_cache_control
from agent.transports import get_transport

from squidbot.codecs.hermes import KEPT_KEYS, SENT_KEY
from squidbot.plugins.hermes.lists import merged, sent_text, telling

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["bounded", "echoes", "is_bounded", "names", "read", "system_text", "tools"]

Json: TypeAlias = dict[str, Any]

# hermes marks the last three for a provider's cache; and looks for what it sends among so many more than are sent.
MOST_MARKED: Final = 4
MOST_BESIDE: Final = 32
# What a provider is sent of a model's thoughts, and by what of a message it is told that they are still sent.
THOUGHTS: Final = {
    "reasoning_content": ("reasoning_content", "reasoning"),
    "reasoning_details": ("reasoning_details",),
}
CHAT: Final = "chat_completions"
# What hermes makes other requests of; what it sends as `input`, to OpenAI's Responses, is left alone.
CONVERTED: Final = ("anthropic_messages", "bedrock_converse")
# Beside what the codec knows: what is no part of a chat completion.
_NEVER_SENT: Final = KEPT_KEYS | {SENT_KEY, "timestamp"}
_CALL_KEYS: Final = ("call_id", "extra_content", "response_item_id")
# What Anthropic wants in front of the names of tools, where one asks with a subscription.
_PREFIX: Final = "mcp__"
# So many payloads stay read: those of some conversations at once. hermes's own text is in one piece, or a few.
MOST_READ: Final = 2_048
MOST_TEXTS: Final = 8


class Shown(dict[str, Any]):
    """A message that the model was shown before, most often; nobody changes it, nor what is made of it here."""

    @cached_property
    def key(self) -> str:
        """What it is known by among hermes's own."""
        return _made_key(self)

    @cached_property
    def bare(self) -> Json:
        """The message as any provider takes it."""
        return _bare(self)

    @cached_property
    def gone(self) -> frozenset[str]:
        """What hermes may still have of it that is not sent: what was thought before a change of what is sent."""
        is_answer = self.get("role") == "assistant"
        return frozenset(key for key, held in THOUGHTS.items() if is_answer and not any(map(self.get, held)))


@lru_cache(maxsize=MOST_READ)
def read(payload: str) -> Shown | list[Shown]:
    """Return the message of a payload that is sent, or the messages, always the same."""
    made = json.loads(payload)
    return [*map(Shown, made)] if isinstance(made, list) else Shown(made)


def is_bounded(request: Mapping[str, Any], api_mode: str) -> bool:
    """Say whether squidbot can bound such requests."""
    return api_mode in (CHAT, *CONVERTED) and isinstance(request.get("messages"), list)


def tools(request: Mapping[str, Any]) -> list[Json]:
    """Return the tools that are sent."""
    config = request.get("toolConfig")
    given = config.get("tools") if isinstance(config, dict) else request.get("tools")
    return [each for each in given or () if isinstance(each, dict)]


def names(sent: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the names of tools, in the form of any provider."""
    inner = (each.get("function") or each.get("toolSpec") or each for each in sent)
    return {str(each.get("name")) for each in inner}


def system_text(request: Mapping[str, Any]) -> str:
    """Return what is sent in front of the conversation."""
    system = request.get("system")
    parts = [system] if isinstance(system, str) else [*(system or ())]
    texts = [part if isinstance(part, str) else str(part.get("text", "")) for part in parts]
    return "\n\n".join([*texts, *(_front_text(each) for each in _front(request["messages"]))])


def _front_text(message: Json) -> str:
    content = message.get("content")
    return _in_line(content) if isinstance(content, str) else sent_text(message)


@lru_cache(maxsize=MOST_TEXTS)
def _in_line(text: str) -> str:
    """Return a text of hermes, tens of kilobytes that are the same in each call, as `sent_text` does."""
    return " ".join(text.split())


def echoes(request: Mapping[str, Any]) -> bool:
    """Say whether a provider is sent back what it thought, as some demand: then with each answer."""
    answers = (each for each in reversed(request.get("messages") or ()) if each.get("role") == "assistant")
    return "reasoning_content" in next(answers, {})


def bounded(
    request: Json, listed: Sequence[Mapping[str, Any]], seen: Sequence[Mapping[str, Any]], *, api_mode: str, url: str
) -> Json:
    """Return a request for what the model is to see, in place of all that hermes has listed."""
    ours = [each for each in seen if each.get("role") == "system"]
    said = [each for each in seen if each.get("role") != "system"]
    marker = _marker([request.get("system"), request["messages"][-MOST_MARKED:]])
    added = "\n\n".join(map(sent_text, ours))
    if api_mode == CHAT:
        front = _front(request["messages"])
        rest = request["messages"][len(front) :]
        known = _known(listed, rest, len(said) + MOST_BESIDE)
        chat = merged([*_prefill(listed, rest), *_sent(said, known, is_echoed=echoes(request))])
        is_top_level = any("cache_control" in each for each in rest[-MOST_MARKED:])
        return {**request, "messages": [*_with_text(front, added), *_marked(chat, marker, is_native=is_top_level)]}
    chat = _marked(merged([_bare(each) for each in said]), marker, is_native=True)
    made = get_transport(api_mode).convert_messages(chat, base_url=url)[1]
    system = request.get("system")
    return {**request, "messages": _renamed(made, request), **({"system": _more(system, added)} if added else {})}


def _front(messages: Sequence[Json]) -> list[Json]:
    """Return the messages in front of the conversation: hermes's own text."""
    count = 0
    while count < len(messages) and messages[count].get("role") in ("system", "developer"):
        count += 1
    return list(messages[:count])


def _key(message: Mapping[str, Any]) -> str:
    return message.key if isinstance(message, Shown) else _made_key(message)


def _made_key(message: Mapping[str, Any]) -> str:
    return json.dumps([telling(message), sent_text(message)], default=str)


def _known(listed: Sequence[Mapping[str, Any]], sent: Sequence[Json], newest: int) -> dict[str, Json]:
    """Return what hermes sends for its newest messages: it has fitted them to the provider."""
    named, sent = listed[-newest:], sent[-newest:]
    if _roles(named) != _roles(sent):
        named = sent
    return {_key(name): _unmarked(each) for name, each in zip(named, sent, strict=True)}


def _prefill(listed: Sequence[Mapping[str, Any]], sent: Sequence[Json]) -> list[Json]:
    """Return what hermes sends in front of each conversation, as an example of one."""
    more = len(sent) - len(listed)
    return [*map(_unmarked, sent[:more])] if more > 0 and _roles(sent[more:]) == _roles(listed) else []


def _roles(messages: Sequence[Mapping[str, Any]]) -> list[object]:
    return [each.get("role") for each in messages]


def _sent(said: Sequence[Mapping[str, Any]], known: Mapping[str, Json], *, is_echoed: bool) -> Iterator[Json]:
    for each in said:
        shown = each if isinstance(each, Shown) else Shown(each)
        made = known.get(shown.key) or shown.bare
        if not shown.gone.isdisjoint(made):
            made = {key: value for key, value in made.items() if key not in shown.gone}
        # Some demand that a word stands for what was thought.
        yield {"reasoning_content": " ", **made} if is_echoed and each.get("role") == "assistant" else made


def _bare(message: Mapping[str, Any]) -> Json:
    """Return a message as any provider takes it."""
    sent = message.get(SENT_KEY) or message.get("content")
    made = {key: value for key, value in message.items() if key not in _NEVER_SENT}
    made["content"] = sent.strip() if isinstance(sent, str) else sent
    if calls := message.get("tool_calls"):
        made["tool_calls"] = [_call(each) for each in calls]
    return made


def _call(call: Mapping[str, Any]) -> Json:
    function = call.get("function") or {}
    try:
        given = json.dumps(json.loads(function["arguments"]), separators=(",", ":"), sort_keys=True)
    except (KeyError, TypeError, ValueError):
        given = "{}"
    kept = {key: value for key, value in call.items() if key not in _CALL_KEYS}
    return {**kept, "function": {**function, "arguments": given}}


def _marker(value: object) -> Json | None:
    """Return how hermes marks where a provider is to cache; None where it does not."""
    if isinstance(value, dict):
        if isinstance(found := value.get("cache_control"), dict):
            return found
        value = list(value.values())
    found_in = (_marker(each) for each in value) if isinstance(value, list) else ()
    return next((each for each in found_in if each), None)


def _unmarked(message: Mapping[str, Any]) -> Json:
    """Return a message without marks; one that was put into a part for the sake of its mark becomes a string again."""
    made = {key: value for key, value in message.items() if key != "cache_control"}
    content = made.get("content")
    if isinstance(content, list):
        was_marked = any("cache_control" in part for part in content if isinstance(part, dict))
        bare = [_without(part, "cache_control") for part in content]
        alone = bare[0] if was_marked and len(bare) == 1 else None
        made["content"] = alone["text"] if isinstance(alone, dict) and set(alone) == {"type", "text"} else bare
    return made


def _without(part: object, key: str) -> object:
    return {name: value for name, value in part.items() if name != key} if isinstance(part, dict) else part


def _marked(chat: list[Json], marker: Json | None, *, is_native: bool) -> list[Json]:
    """Return messages marked as hermes marks them: the last three, behind its own text."""
    if marker is None:
        return chat
    front = {"role": "system", "content": "-"}
    made = apply_anthropic_cache_control([front, *chat], str(marker.get("ttl", "5m")), native_anthropic=is_native)
    return list(made[1:])


def _with_text(front: list[Json], added: str) -> list[Json]:
    if not added:
        return front
    if not front:
        return [{"role": "system", "content": added}]
    return [*front[:-1], {**front[-1], "content": _more(front[-1].get("content"), added)}]


def _more(system: object, added: str) -> object:
    """Return hermes's text with ours behind it."""
    if isinstance(system, list):
        is_converse = any(isinstance(part, dict) and "type" not in part for part in system)
        return [*system, {"text": added} if is_converse else {"type": "text", "text": added}]
    return f"{system}\n\n{added}" if system else added


def _renamed(messages: list[Json], request: Mapping[str, Any]) -> list[Json]:
    """Give calls the names that the tools of a request have, where hermes has put something in front of them."""
    known = names(tools(request))
    for message in messages:
        for block in message["content"] if isinstance(message.get("content"), list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_use" and block.get("name") not in known:
                sent = _PREFIX + str(block.get("name")).removeprefix("mcp_")
                block["name"] = sent if sent in known else block.get("name")
    return messages
