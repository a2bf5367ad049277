"""OpenAI: /v1/chat/completions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from .caches import AutomaticCache
from .fields import CHAT_REQUEST
from .marks import MarkedCache, Point, is_implicit, plain
from .openai_words import authenticate, failure, model_of, refusal, worded
from .replies import Reply
from .script import Call, Redacted, Text, Thought
from .segments import IMAGE_TOKENS, Segment, total
from .shapes import Flaw
from .streams import chunk_events

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from .script import Json, Model, Piece, World
    from .wire import Received


class Completions:
    """The endpoint, with its cache."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.cache = AutomaticCache(world.clock)
        self.marked = MarkedCache(world.clock)

    def answer(self, asked: Received, key: str) -> Reply:
        """Answer a request; who asks for the models gets their names, as OpenAI tells no more of them."""
        authenticate(asked, key)
        if asked.path == "/v1/models":
            return Reply({"object": "list", "data": [{"id": name, "object": "model"} for name in self._world.models]})
        try:
            CHAT_REQUEST(asked.body, ())
        except Flaw as flaw:
            raise worded(flaw) from flaw
        model = model_of(asked, self._world)
        given = asked.body["messages"]
        assert isinstance(given, list)
        messages, marked = plain(given)
        implicit = is_implicit(asked.body, model, marked)
        _check_limits(asked.body, model)
        _check_contents(messages)
        _check_calls(messages)
        self._world.holds(asked.path, asked.body, ("store",))
        segments = segments_of({**asked.body, "messages": messages}, self._world, marked)
        if total(segments) > model.window:
            raise refusal(
                f"This model's maximum context length is {model.window} tokens. However, your messages resulted in"
                f" {total(segments)} tokens. Please reduce the length of the messages.",
                "messages",
                "context_length_exceeded",
            )
        return self._said(asked, model, segments, implicit=implicit)

    def failure(self, status: int) -> Json:
        """Return the body of an error."""
        return failure(status)

    def broken(self) -> tuple[str, Json]:
        """Return the event that ends a stream in an error."""
        return "", failure(500)

    def _said(self, asked: Received, model: Model, segments: Sequence[Segment], *, implicit: bool) -> Reply:
        body, world = asked.body, self._world
        most = body.get("max_completion_tokens") or body.get("max_tokens") or model.most_output
        room = min(int(str(most)), model.window - total(segments))
        kept, whole = world.within(world.pieces(asked.path, body), room)
        with world.lock:
            salt = f"{asked.headers.get('authorization')} {body['model']}"
            if model.marks:
                cached = self.marked.charge(segments, salt, implicit=implicit)
            else:
                cached = Point(self.cache.read(segments, salt))
        called = any(isinstance(piece, Call) for piece in kept)
        message = self._message(kept)
        answer: Json = {
            "id": world.new_id("chatcmpl-"),
            "object": "chat.completion",
            "created": int(world.clock.now),
            "model": body["model"],
            "choices": [
                {
                    "index": 0,
                    "message": message,
                    "logprobs": None,
                    "finish_reason": "length" if not whole else "tool_calls" if called else "stop",
                }
            ],
            "usage": self._usage(total(segments), cached, kept),
            "service_tier": "default",
        }
        options = body.get("stream_options")
        counted = isinstance(options, dict) and options.get("include_usage") is True
        return Reply(answer, chunk_events(answer, counted=counted) if body.get("stream") else None)

    def _message(self, pieces: Sequence[Piece]) -> Json:
        text = "".join(piece.text for piece in pieces if isinstance(piece, Text))
        calls: list[Json] = [
            {
                "id": piece.id or self._world.new_id("call_"),
                "type": "function",
                "function": {"name": piece.name, "arguments": piece.arguments},
            }
            for piece in pieces
            if isinstance(piece, Call)
        ]
        message: Json = {"role": "assistant", "content": text or None, "refusal": None, "annotations": []}
        return {**message, "tool_calls": calls} if calls else message

    def _usage(self, prompt: int, cached: Point, pieces: Sequence[Piece]) -> Json:
        said = sum(map(self._world.size, pieces))
        thought = sum(self._world.size(piece) for piece in pieces if isinstance(piece, Thought | Redacted))
        return {
            "prompt_tokens": prompt,
            "completion_tokens": said,
            "total_tokens": prompt + said,
            "prompt_tokens_details": {
                "cached_tokens": cached.read,
                "cache_write_tokens": cached.written,
                "audio_tokens": 0,
            },
            "completion_tokens_details": {"reasoning_tokens": thought, "audio_tokens": 0},
        }


def segments_of(body: Json, world: World, marked: Container[int] = ()) -> list[Segment]:
    """Return a request as segments: its tools, then each message; `marked` are those behind which is a breakpoint."""
    tools, messages = body.get("tools") or [], body["messages"]
    assert isinstance(tools, list)
    assert isinstance(messages, list)
    found = [_segment("tools", (-1, number), tool, world.count(json.dumps(tool))) for number, tool in enumerate(tools)]
    for number, message in enumerate(messages):
        tokens = world.turn_tokens + world.count(_readable(message)) + IMAGE_TOKENS * _images(message)
        made = _segment(message["role"], (number, 0), message, tokens)
        found.append(made._replace(ttl="30m" if number in marked else None))
    return found


def _segment(role: str, at: tuple[int, int], said: Json, tokens: int) -> Segment:
    return Segment("messages", role, at, role, json.dumps(said), tokens, None)


def _readable(message: Json) -> str:
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content or ""}]
    text = "".join(str(part.get("text", "")) for part in parts)
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        text += "\n" + " ".join(str(value) for value in call[call["type"]].values())
    return text + str(message.get("reasoning_content") or "")


def _images(message: Json) -> int:
    content = message.get("content")
    return sum(part["type"] == "image_url" for part in content) if isinstance(content, list) else 0


def _check_limits(body: Json, model: Model) -> None:
    most = body.get("max_completion_tokens") or body.get("max_tokens") or 1
    if int(str(most)) > model.most_output:
        raise refusal(
            f"max_tokens is too large: {most}. This model supports at most {model.most_output} completion tokens,"
            f" whereas you provided {most}.",
            "max_tokens",
            "invalid_value",
        )


def _check_contents(messages: Sequence[Json]) -> None:
    for number, message in enumerate(messages):
        silent = message.get("content") is None and not message.get("refusal")
        if (
            message["role"] == "assistant"
            and silent
            and not (message.get("tool_calls") or message.get("function_call"))
        ):
            raise refusal("Invalid value for 'content': expected a string, got null.", f"messages.[{number}].content")


def _check_calls(messages: Sequence[Json]) -> None:
    waiting: list[str] = []
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                raise refusal(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with"
                    " 'tool_calls'.",
                    f"messages.[{number}].role",
                )
            waiting.remove(str(message["tool_call_id"]))
            continue
        _check_answered(waiting, number)
        calls = message.get("tool_calls")
        waiting = [str(call["id"]) for call in calls] if isinstance(calls, list) else []
    _check_answered(waiting, len(messages))


def _check_answered(waiting: Sequence[str], number: int) -> None:
    if waiting:
        raise refusal(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
            f" 'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(waiting)}",
            f"messages.[{number}].role",
        )
