"""Anthropic's turns: who may speak when, and that calls and results belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .segments import blocks_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .script import Json


class Broken(Exception):  # noqa: N818  # it becomes an answer
    """A rule is broken; the text says where, as the provider says it."""


class Placed(NamedTuple):
    """A block, and where it stands: the message, and its place in it."""

    message: int
    place: int
    block: Json


class Turn(NamedTuple):
    """Messages of one role in a row: the provider reads them as one."""

    role: str
    blocks: tuple[Placed, ...]


def turns_of(messages: Sequence[Json]) -> list[Turn]:
    """Return messages as turns."""
    turns: list[Turn] = []
    for number, message in enumerate(messages):
        placed = tuple(Placed(number, place, block) for place, block in enumerate(blocks_of(message["content"])))
        if turns and turns[-1].role == message["role"]:
            turns[-1] = Turn(turns[-1].role, turns[-1].blocks + placed)
        else:
            turns.append(Turn(str(message["role"]), placed))
    return turns


def check_turns(messages: Sequence[Json]) -> list[Turn]:
    """Return the turns of a request that keeps the rules.

    Raises:
        Broken: it does not.
    """
    if not messages:
        raise Broken("messages: at least one message is required")
    _check_contents(messages)
    _check_roles(messages)
    turns = turns_of(messages)
    _check_calls(turns)
    return turns


def _check_contents(messages: Sequence[Json]) -> None:
    for number, message in enumerate(messages):
        blocks = blocks_of(message["content"])
        last = number == len(messages) - 1 and message["role"] == "assistant"
        empty = not blocks or message["content"] == ""
        if empty and not last:
            raise Broken(
                f"messages.{number}: all messages must have non-empty content except for the optional final assistant"
                " message"
            )
        if any(block["type"] == "text" and not block["text"] for block in blocks) and not empty:
            raise Broken("messages: text content blocks must be non-empty")


def _check_roles(messages: Sequence[Json]) -> None:
    for number, message in enumerate(messages):
        role = message["role"]
        if role == "system":
            raise Broken(
                'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not'
                ' "system" as an input message role.'
            )
        foreign = {"user": ("tool_use", "thinking", "redacted_thinking"), "assistant": ("tool_result",)}
        for place, block in enumerate(blocks_of(message["content"])):
            if block["type"] in foreign.get(str(role), ()):
                raise Broken(
                    f"messages.{number}.content.{place}: `{block['type']}` blocks are not permitted within messages of"
                    f" role {role!r}"
                )
    if messages[0]["role"] != "user":
        raise Broken('messages: first message must use the "user" role')
    if messages[-1]["role"] == "assistant":
        raise Broken(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )


def _check_calls(turns: Sequence[Turn]) -> None:
    known: set[str] = set()
    for number, turn in enumerate(turns):
        wanted = [str(placed.block["id"]) for placed in turn.blocks if placed.block["type"] == "tool_use"]
        if len(set(wanted)) < len(wanted) or known & set(wanted):
            raise Broken("messages: `tool_use` ids must be unique")
        known |= set(wanted)
        behind = turns[number + 1] if number + 1 < len(turns) else None
        given = _leading_results(behind)
        if unanswered := [identifier for identifier in wanted if identifier not in given]:
            raise Broken(
                f"messages.{turn.blocks[-1].message}: `tool_use` ids were found without `tool_result` blocks"
                f" immediately after: {', '.join(unanswered)}. Each `tool_use` block must have a corresponding"
                " `tool_result` block in the next message."
            )
        if turn.role == "user":
            _check_results(turn, turns[number - 1] if number else None)


def _leading_results(turn: Turn | None) -> list[str]:
    """Return the calls that a turn answers before it says anything else: only there are answers looked for."""
    found: list[str] = []
    for placed in turn.blocks if turn else ():
        if placed.block["type"] != "tool_result":
            break
        found.append(str(placed.block["tool_use_id"]))
    return found


def _check_results(turn: Turn, before: Turn | None) -> None:
    calls = {placed.block["id"] for placed in before.blocks if placed.block["type"] == "tool_use"} if before else set()
    seen: set[object] = set()
    for message, place, block in turn.blocks:
        if block["type"] != "tool_result":
            continue
        identifier = block["tool_use_id"]
        if identifier not in calls:
            raise Broken(
                f"messages.{message}.content.{place}: unexpected `tool_use_id` found in `tool_result` blocks:"
                f" {identifier}. Each `tool_result` block must have a corresponding `tool_use` block in the previous"
                " message."
            )
        if identifier in seen:
            raise Broken(
                f"messages.{message}.content.{place}: each tool_use must have a single result. Found multiple"
                f" `tool_result` blocks with id: {identifier}"
            )
        seen.add(identifier)
