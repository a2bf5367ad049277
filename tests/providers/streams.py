"""Answers as the events of a stream, each of which carries a few characters, or an eighth of a long text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .script import Json

# Small, so that characters of several bytes, escapes and JSON are cut anywhere.
PIECE_CHARS = 7
MOST_PIECES = 8

Event = tuple[str, str]


def pieces_of(text: str) -> list[str]:
    """Return a text in pieces; an empty one has none."""
    size = max(PIECE_CHARS, len(text) // MOST_PIECES)
    return [text[at : at + size] for at in range(0, len(text), size)]


# -- Anthropic --------------------------------------------------------------------------------------------------------


def message_events(answer: Json) -> list[Event]:
    """Return an answer of /v1/messages as a stream."""
    usage = answer["usage"]
    assert isinstance(usage, dict)
    opening = {
        **answer,
        "content": [],
        "stop_reason": None,
        "usage": {**usage, "output_tokens": 1, "output_tokens_details": None},
    }
    said: list[Json] = [{"type": "message_start", "message": opening}]
    blocks = answer["content"]
    assert isinstance(blocks, list)
    for index, block in enumerate(blocks):
        said.append({"type": "content_block_start", "index": index, "content_block": _opened(block)})
        if index == 0:
            said.append({"type": "ping"})
        said += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in _deltas(block)]
        said.append({"type": "content_block_stop", "index": index})
    ending = {"stop_reason": answer["stop_reason"], "stop_sequence": answer["stop_sequence"]}
    totals = {key: value for key, value in usage.items() if key not in {"cache_creation", "service_tier"}}
    said += [{"type": "message_delta", "delta": ending, "usage": totals}, {"type": "message_stop"}]
    return [(str(one["type"]), json.dumps(one)) for one in said]


def _opened(block: Json) -> Json:
    empty: Json = {"text": "", "thinking": "", "signature": "", "input": {}}
    return {key: empty.get(key, value) for key, value in block.items()}


def _deltas(block: Json) -> Iterator[Json]:
    match block["type"]:
        case "text":
            yield from _each("text", str(block["text"]))
        case "thinking":
            yield from _each("thinking", str(block["thinking"]))
            yield {"type": "signature_delta", "signature": block["signature"]}
        case "tool_use":
            yield {"type": "input_json_delta", "partial_json": ""}
            # The arguments as the model wrote them, and without any where there are none.
            written = json.dumps(block["input"], ensure_ascii=False) if block["input"] else ""
            for one in pieces_of(written):
                yield {"type": "input_json_delta", "partial_json": one}


def _each(field: str, text: str) -> Iterator[Json]:
    for one in pieces_of(text):
        yield {"type": f"{field}_delta", field: one}


# -- chat completions -------------------------------------------------------------------------------------------------


def chunk_events(answer: Json, *, counted: bool) -> list[Event]:
    """Return an answer of /v1/chat/completions as a stream; `counted` says that a chunk with its usage ends it."""
    choices = answer["choices"]
    assert isinstance(choices, list)
    message, reason = choices[0]["message"], choices[0]["finish_reason"]
    deltas: list[Json] = [{"role": "assistant", "content": "", "refusal": None}]
    deltas += [{"reasoning_content": one} for one in pieces_of(message.get("reasoning_content") or "")]
    deltas += [{"content": one} for one in pieces_of(message["content"] or "")]
    for index, call in enumerate(message.get("tool_calls", [])):
        opened = {**call, "index": index, "function": {"name": call["function"]["name"], "arguments": ""}}
        deltas.append({"tool_calls": [opened]})
        for one in pieces_of(call["function"]["arguments"]):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": one}}]})
    said = [_choice(delta, None) for delta in deltas] + [_choice({}, reason)]
    head = {**answer, "object": "chat.completion.chunk", "usage": None}
    chunks = [{**head, "choices": [choice]} for choice in said]
    if counted:
        chunks.append({**head, "choices": [], "usage": answer["usage"]})
    else:
        chunks = [{key: value for key, value in chunk.items() if key != "usage"} for chunk in chunks]
    return [("", json.dumps(chunk)) for chunk in chunks] + [("", "[DONE]")]


def _choice(delta: Json, reason: object) -> Json:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}


# -- Responses --------------------------------------------------------------------------------------------------------


def response_events(answer: Json) -> list[Event]:
    """Return an answer of /v1/responses as a stream."""
    output = answer["output"]
    assert isinstance(output, list)
    opened = {**answer, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    said: list[Json] = [{"type": f"response.{state}", "response": opened} for state in ("created", "in_progress")]
    for index, item in enumerate(output):
        said += _item_events(item, {"output_index": index})
    said.append({"type": f"response.{answer['status']}", "response": answer})
    return [
        (str(one["type"]), json.dumps({**one, "sequence_number": number}, ensure_ascii=False))
        for number, one in enumerate(said)
    ]


def _item_events(item: Json, where: Json) -> Iterator[Json]:
    named = {**where, "item_id": item["id"]}
    unfinished = {"content": [], "summary": [], "arguments": "", "status": "in_progress"}
    opened = {key: unfinished.get(key, value) for key, value in item.items()}
    yield {"type": "response.output_item.added", **where, "item": opened}
    match item["type"]:
        case "message":
            content = item["content"]
            assert isinstance(content, list)
            for index, part in enumerate(content):
                yield from _part_events(part, {**named, "content_index": index})
        case "reasoning":
            summary = item["summary"]
            assert isinstance(summary, list)
            for index, part in enumerate(summary):
                yield from _summary_events(part, {**named, "summary_index": index})
        case "function_call":
            written = str(item["arguments"])
            head = "response.function_call_arguments"
            yield from ({"type": f"{head}.delta", **named, "delta": one} for one in pieces_of(written))
            yield {"type": f"{head}.done", **named, "arguments": written, "name": item["name"]}
    yield {"type": "response.output_item.done", **where, "item": item}


def _part_events(part: Json, where: Json) -> Iterator[Json]:
    text = str(part["text"])
    yield {"type": "response.content_part.added", **where, "part": {**part, "text": ""}}
    for one in pieces_of(text):
        yield {"type": "response.output_text.delta", **where, "delta": one, "logprobs": []}
    yield {"type": "response.output_text.done", **where, "text": text, "logprobs": []}
    yield {"type": "response.content_part.done", **where, "part": part}


def _summary_events(part: Json, where: Json) -> Iterator[Json]:
    text = str(part["text"])
    yield {"type": "response.reasoning_summary_part.added", **where, "part": {**part, "text": ""}}
    for one in pieces_of(text):
        yield {"type": "response.reasoning_summary_text.delta", **where, "delta": one}
    yield {"type": "response.reasoning_summary_text.done", **where, "text": text}
    yield {"type": "response.reasoning_summary_part.done", **where, "part": part}
