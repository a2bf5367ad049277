"""hermes's own list of messages: what tells one from another, what a reply becomes, and how a list gets shorter."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

__all__ = ["merged", "own", "reply", "sent_text", "shortened", "split", "telling"]

Native: TypeAlias = "Mapping[str, Any]"

# So much of a tool's result tells it from others: hermes may add what the user says meanwhile, or we take off, behind.
TELLING_CHARS: Final = 200
# What reasoning models write into their answers, and hermes takes out.
_OPENING: Final = re.compile(r"<(think|thinking|reasoning|thought|REASONING_SCRATCHPAD)>", re.IGNORECASE)
# What a reply has beside words and calls, by hermes's own names.
BESIDE: Final = (
    "reasoning",
    "reasoning_details",
    "anthropic_content_blocks",
    "codex_reasoning_items",
    "codex_message_items",
)
CUT: Final = " […]"


def own(message: Native) -> dict[str, Any]:
    """Return a message of hermes's list as it is recorded: without the marks of the running process."""
    return {key: value for key, value in message.items() if not key.startswith("_")}


def sent_text(message: Native) -> str:
    """Return the words that are sent of a message, in one line; pictures and the like stand as their type."""
    sent = message.get("api_content")
    content = sent if isinstance(sent, str) and sent else message.get("content")
    parts = content if isinstance(content, list) else [content or ""]
    shown = [part if isinstance(part, str) else str(part.get("text") or part.get("type")) for part in parts]
    return " ".join(" ".join(shown).split())


def telling(message: Native) -> object:
    """Return what tells a message from others: hermes mends and trims the rest."""
    if calls := message.get("tool_calls"):
        # Of several hermes may leave some out.
        return "assistant", calls[0].get("id"), _arguments(calls[0].get("function") or {})
    said = sent_text(message)
    if message.get("role") == "tool":
        return "tool", message.get("tool_call_id"), said[:TELLING_CHARS]
    return message.get("role"), " ".join(" ".join(_unthought(said)).split())


def _unthought(said: str) -> Iterator[str]:
    """Yield what stands beside thoughts. A tag that is never closed is looked up once, and opens nothing."""
    at, unclosed = 0, set[str]()
    for opening in _OPENING.finditer(said):
        tag = opening[1].lower()
        if opening.start() < at or tag in unclosed:
            continue
        closing = re.compile(f"</{tag}>", re.IGNORECASE).search(said, opening.end())
        if closing is None:
            unclosed.add(tag)
        else:
            yield said[at : opening.start()]
            at = closing.end()
    yield said[at:]


def _arguments(function: Mapping[str, Any]) -> object:
    given = function.get("arguments") or "{}"
    try:
        return json.loads(given) if isinstance(given, str) else given
    except ValueError:
        return None


def reply(said: object, finish_reason: str, visible: Callable[[str], str]) -> dict[str, Any] | None:
    """Return the message that hermes will list for a model's reply; None where it lists none, and asks again.

    `said` is hermes's own form of a reply of any provider; `visible` takes off what hermes takes off its words.
    """
    calls, words = _calls(said), visible(str(getattr(said, "content", None) or ""))
    if not (words or calls) or any(_arguments(call["function"]) is None for call in calls):
        return None
    beside = {key: value for key in BESIDE if (value := getattr(said, key, None))}
    if thought := getattr(said, "reasoning_content", None):
        beside = {"reasoning": thought, **beside}
    made = {"role": "assistant", "content": words, "finish_reason": finish_reason}
    made |= json.loads(json.dumps(beside, default=_plain))
    return {**made, "tool_calls": calls} if calls else made


def _calls(said: object) -> list[dict[str, Any]]:
    """Return the calls of a reply; of those that are the same hermes makes one."""
    named: dict[tuple[str, str], str] = {}
    for each in getattr(said, "tool_calls", None) or ():
        named.setdefault((each.function.name, each.function.arguments or "{}"), each.id)
    return [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": given}}
        for (name, given), call_id in named.items()
    ]


def _plain(value: Any) -> object:  # noqa: ANN401  # of any provider's package
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else vars(value)


def merged(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a list in which no two messages of the user follow each other: many providers answer nothing then."""
    made: list[dict[str, Any]] = []
    for each in messages:
        if made and each.get("role") == "user" == made[-1].get("role"):
            made[-1] = {**made[-1], "content": _joined(made[-1].get("content"), each.get("content"))}
        else:
            made.append(dict(each))
    return made


def _joined(first: object, second: object) -> object:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def _parts(content: object) -> list[object]:
    return content if isinstance(content, list) else [{"type": "text", "text": str(content or "")}]


def shortened(messages: Sequence[Any], is_wanted: Callable[[Native], bool]) -> list[Any]:
    """Return hermes's list with less in it, valid: what is wanted, and in any case less than it was.

    Of a turn that is alone and has no step to spare the largest result is cut. What can't be made shorter, one message
    of the user, comes back as it is.
    """
    groups = list(_groups(messages))
    turn = max((place for place, group in enumerate(groups) if group[0].get("role") == "user"), default=0)
    fixed = {turn, len(groups) - 1}
    kept = [place for place, group in enumerate(groups) if place in fixed or all(map(is_wanted, group))]
    if len(kept) == len(groups):
        spare = [place for place in kept if place not in fixed]
        if not spare:
            return _cut(messages)
        # The older half of what can go.
        kept = sorted({*kept} - {*spare[: (len(spare) + 1) // 2]})
    return [message for place in _valid(groups, kept, turn) for message in groups[place]]


def _valid(groups: Sequence[Sequence[Native]], kept: Sequence[int], turn: int) -> list[int]:
    """Return places that begin with the user, or with what stands in front of all."""
    first = next((place for place in kept if groups[place][0].get("role") == "user"), turn)
    return [place for place in kept if place >= first or groups[place][0].get("role") == "system"]


def _groups(messages: Sequence[Native]) -> Iterator[list[Native]]:
    """Yield messages that stay together: an answer with the results of its calls, any other by itself."""
    group: list[Native] = []
    for each in messages:
        if each.get("role") != "tool" and group:
            yield group
            group = []
        group.append(each)
    if group:
        yield group


def _cut(messages: Sequence[Any]) -> list[Any]:
    """Return a list whose largest result is half as long."""
    sizes = {
        place: len(each["content"])
        for place, each in enumerate(messages)
        if each.get("role") == "tool" and isinstance(each.get("content"), str)
    }
    place = max(sizes, key=lambda each: sizes[each], default=-1)
    if sizes.get(place, 0) < 4 * TELLING_CHARS:
        return list(messages)
    cut = {**messages[place], "content": messages[place]["content"][: sizes[place] // 2] + CUT}
    return [*messages[:place], cut, *messages[place + 1 :]]


def split(messages: Sequence[Native], halves: Mapping[str, Collection[str]]) -> list[dict[str, Any]]:
    """Return a list with the messages of the user apart that hermes has merged, by their joined text."""
    made: list[dict[str, Any]] = []
    for each in map(own, messages):
        texts = halves.get(each["content"], ()) if isinstance(each.get("content"), str) else ()
        made += [{**each, "content": text} for text in texts] or [each]
    return made
