"""OpenAI: /v1/responses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from .caches import AutomaticCache
from .fields import RESPONSE_REQUEST
from .items import Reasoning, check_pairs, kind_of
from .marks import MarkedCache, Point, is_implicit, plain
from .openai_words import authenticate, failure, model_of, refusal, worded
from .replies import Reply
from .script import Call, Redacted, Text, Thought
from .segments import IMAGE_TOKENS, Segment, total
from .shapes import Flaw
from .streams import response_events

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from .script import Json, Model, Piece, World
    from .wire import Received

LEAST_OUTPUT_TOKENS = 16
STATE = ("previous_response_id", "conversation", "background", "context_management", "prompt")


class _Prompt(NamedTuple):
    """A request that is taken: what is read, what the cache has of it, its items, the reasoning that was left out."""

    segments: list[Segment]
    cached: Point
    items: list[Json]
    dropped: list[Json]


class Responses:
    """The endpoint, with what it remembers: its cache, reasoning, and responses that were stored."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.cache = AutomaticCache(world.clock)
        self.marked = MarkedCache(world.clock)
        self._reasoning = Reasoning()
        self._stored: dict[str, list[Json]] = {}

    def answer(self, asked: Received, key: str) -> Reply:
        """Answer a request."""
        authenticate(asked, key)
        try:
            RESPONSE_REQUEST(asked.body, ())
        except Flaw as flaw:
            raise worded(flaw) from flaw
        model = model_of(asked, self._world)
        store = asked.body.get("store") is not False
        items, marked = plain(self._items(asked.body))
        implicit = is_implicit(asked.body, model, marked)
        check_pairs(items)
        instructions = str(asked.body.get("instructions") or "")
        dropped = self._reasoning.check(items, instructions, store=store, binds=model.binds)
        gone = {one["id"] for one in dropped}
        read = [item for item in items if kind_of(item) != "reasoning" or item["id"] not in gone]
        behind = [at for at, item in enumerate(read) if any(item is items[one] for one in marked)]
        segments = segments_of(asked.body, read, self._world, behind)
        _check_limit(asked.body)
        self._world.holds(asked.path, asked.body, STATE)
        if store:
            self._world.held.append((asked.path, "store"))
        if total(segments) > model.window:
            raise refusal(
                "Your input exceeds the context window of this model. Please adjust your input and try again.",
                "input",
                "context_length_exceeded",
            )
        prompt = _Prompt(segments, self._cached(asked, model, segments, implicit=implicit), items, dropped)
        return self._said(asked, model, prompt)

    def failure(self, status: int) -> Json:
        """Return the body of an error."""
        return failure(status)

    def broken(self) -> tuple[str, Json]:
        """Return the event that ends a stream in an error."""
        message = "The server had an error while processing your request. Sorry about that!"
        return "error", {
            "type": "error",
            "code": "server_error",
            "message": message,
            "param": None,
            "sequence_number": 99,
        }

    def _items(self, body: Json) -> list[Json]:
        given = body.get("input") or []
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        assert isinstance(items, list)
        before = body.get("previous_response_id")
        if before is None:
            return items
        if before not in self._stored:
            message = f"Previous response with id '{before}' not found."
            raise refusal(message, "previous_response_id", "previous_response_not_found")
        return [*self._stored[str(before)], *items]

    def _cached(self, asked: Received, model: Model, segments: Sequence[Segment], *, implicit: bool) -> Point:
        salt = f"{asked.headers.get('authorization')} {asked.body['model']}"
        with self._world.lock:
            if model.marks:
                return self.marked.charge(segments, salt, implicit=implicit)
            return Point(self.cache.read(segments, salt))

    def _said(self, asked: Received, model: Model, prompt: _Prompt) -> Reply:
        segments, cached, items, dropped = prompt
        body, world = asked.body, self._world
        most = int(str(body.get("max_output_tokens") or model.most_output))
        kept, whole = world.within(world.pieces(asked.path, body), min(most, model.window - total(segments)))
        output = self._output(kept, "completed" if whole else "incomplete")
        store = body.get("store") is not False
        with world.lock:
            self._reasoning.issue(items, str(body.get("instructions") or ""), output, store=store)
        answer = self._response(body, output, whole=whole)
        answer["usage"] = self._usage(total(segments), cached, kept)
        if dropped:
            answer["input_transformations"] = dropped
        if store:
            self._stored[str(answer["id"])] = [*items, *output]
        return Reply(answer, response_events(answer) if body.get("stream") else None)

    def _response(self, body: Json, output: list[Json], *, whole: bool) -> Json:
        now = self._world.clock.now
        return {
            "id": self._world.new_id("resp_"),
            "object": "response",
            "created_at": now,
            "status": "completed" if whole else "incomplete",
            "background": False,
            "completed_at": now,
            "error": None,
            "incomplete_details": None if whole else {"reason": "max_output_tokens"},
            "instructions": body.get("instructions"),
            "max_output_tokens": body.get("max_output_tokens"),
            "model": body["model"],
            "output": output,
            "parallel_tool_calls": True,
            "previous_response_id": body.get("previous_response_id"),
            "store": body.get("store") is not False,
            "temperature": 1.0,
            "tool_choice": body.get("tool_choice", "auto"),
            "tools": body.get("tools", []),
            "top_p": 1.0,
            "truncation": body.get("truncation", "disabled"),
            "metadata": {},
        }

    def _output(self, pieces: Sequence[Piece], status: str) -> list[Json]:
        output: list[Json] = []
        for piece in pieces:
            match piece:
                case Text(text):
                    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
                    said: Json = {"type": "message", "status": status, "content": [part], "role": "assistant"}
                    output.append({"id": self._world.new_id("msg_"), **said})
                case Thought(text):
                    summary = [{"type": "summary_text", "text": text}]
                    output.append({"id": self._world.new_id("rs_"), "type": "reasoning", "summary": summary})
                case Redacted():
                    output.append({"id": self._world.new_id("rs_"), "type": "reasoning", "summary": []})
                case Call(name, arguments, given):
                    call: Json = {"type": "function_call", "status": "completed", "arguments": arguments, "name": name}
                    ids = {"id": self._world.new_id("fc_"), "call_id": given or self._world.new_id("call_")}
                    output.append({**ids, **call})
        return output

    def _usage(self, prompt: int, cached: Point, pieces: Sequence[Piece]) -> Json:
        said = sum(map(self._world.size, pieces))
        thought = sum(self._world.size(piece) for piece in pieces if isinstance(piece, Thought | Redacted))
        return {
            "input_tokens": prompt,
            "input_tokens_details": {"cached_tokens": cached.read, "cache_write_tokens": cached.written},
            "output_tokens": said,
            "output_tokens_details": {"reasoning_tokens": thought},
            "total_tokens": prompt + said,
        }


def segments_of(body: Json, items: Sequence[Json], world: World, marked: Container[int] = ()) -> list[Segment]:
    """Return a request as segments: tools, instructions, items. Each message bears its frame.

    `marked` are the items behind which is a breakpoint.
    """
    tools = body.get("tools") or []
    assert isinstance(tools, list)
    found = [
        Segment("tools", "tools", (-1, n), "tool", json.dumps(t), world.count(json.dumps(t)), None)
        for n, t in enumerate(tools)
    ]
    if instructions := str(body.get("instructions") or ""):
        tokens = world.turn_tokens + world.count(instructions)
        found.append(Segment("system", "system", (-1, 0), "text", instructions, tokens, None))
    for number, item in enumerate(items):
        tokens = world.turn_tokens + world.count(_readable(item)) + IMAGE_TOKENS * _images(item)
        ttl = "30m" if number in marked else None
        found.append(
            Segment("messages", str(item.get("role", "")), (number, 0), kind_of(item), json.dumps(item), tokens, ttl)
        )
    return found


def _readable(item: Json) -> str:
    match kind_of(item):
        case "message":
            return _joined(item["content"])
        case "reasoning":
            return _joined(item["summary"])
        case "function_call":
            return f"{item['name']} {item['arguments']}"
        case "function_call_output" | "custom_tool_call_output":
            return _joined(item["output"])
        case _:
            return json.dumps(item)


def _joined(content: object) -> str:
    if isinstance(content, str):
        return content
    assert isinstance(content, list)
    return "".join(str(part.get("text", part.get("refusal", ""))) for part in content)


def _images(item: Json) -> int:
    content = item.get("content", item.get("output"))
    return sum(part["type"] == "input_image" for part in content) if isinstance(content, list) else 0


def _check_limit(body: Json) -> None:
    most = body.get("max_output_tokens")
    if most is not None and int(str(most)) < LEAST_OUTPUT_TOKENS:
        raise refusal(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got"
            f" {most} instead.",
            "max_output_tokens",
            "integer_below_min_value",
        )
