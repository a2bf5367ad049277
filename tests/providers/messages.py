"""Anthropic: /v1/messages, /v1/messages/count_tokens, /v1/models/<model>."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from .caches import Bill, PrefixCache, marked
from .fields import COUNT_REQUEST, MESSAGE_REQUEST, MESSAGE_REQUEST_BETA
from .replies import Refusal, Reply
from .script import Call, Redacted, Text, Thought
from .segments import segments_of, total
from .shapes import Flaw
from .streams import message_events
from .thinking import Signatures
from .turns import Broken, check_turns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .script import Json, Model, Piece, World
    from .segments import Segment
    from .shapes import Path
    from .wire import Received

# The beta header that lets a request say what happens to stale thinking.
BINDING_BETA = "thinking-binding-controls-2026-08-01"
_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_SAID = {429: "This request would exceed your organization's rate limit", 529: "Overloaded"}
_WANTED = {
    "string": "valid string",
    "integer": "valid integer",
    "number": "valid number",
    "boolean": "valid boolean",
    "object": "valid dictionary",
    "array": "valid list",
}


class _Prompt(NamedTuple):
    """A request that keeps all rules, as it is read."""

    body: Json
    segments: list[Segment]
    dropped: list[Json]
    last: str

    @property
    def tokens(self) -> int:
        return total(self.segments)


class Messages:
    """The endpoint, with what it remembers: its cache, and the thinking it signed."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.cache = PrefixCache(world.clock)
        self._signatures = Signatures()

    def answer(self, asked: Received, key: str) -> Reply:
        """Answer a request."""
        self._authenticate(asked, key)
        if asked.path.startswith("/v1/models/"):
            return Reply(self._described(asked.path.removeprefix("/v1/models/")))
        counting = asked.path.endswith("/count_tokens")
        beta = "anthropic-beta" in asked.headers
        shape = COUNT_REQUEST if counting else MESSAGE_REQUEST_BETA if beta else MESSAGE_REQUEST
        try:
            shape(asked.body, ())
        except Flaw as flaw:
            raise self._refusal(400, _worded(flaw)) from flaw
        model = self._model(str(asked.body["model"]))
        try:
            prompt = self._read(asked, model)
        except Broken as broken:
            raise self._refusal(400, str(broken)) from broken
        if counting:
            return Reply({"input_tokens": prompt.tokens})
        self._world.holds(asked.path, asked.body, ("thread", "container", "context_management"))
        return self._said(asked, model, prompt)

    def failure(self, status: int) -> Json:
        """Return the body of an error."""
        return _error(_TYPES.get(status, "api_error"), _SAID.get(status, "Internal server error"))

    def broken(self) -> tuple[str, Json]:
        """Return the event that ends a stream in an error."""
        return "error", _error("overloaded_error", "Overloaded")

    def _refusal(self, status: int, message: str) -> Refusal:
        return Refusal(status, message, _error(_TYPES.get(status, "invalid_request_error"), message))

    def _authenticate(self, asked: Received, key: str) -> None:
        bearer = asked.headers.get("authorization", "").removeprefix("Bearer ")
        if asked.headers.get("x-api-key", bearer) != key:
            raise self._refusal(401, "invalid x-api-key")
        if "anthropic-version" not in asked.headers:
            raise self._refusal(400, "anthropic-version: header is required")

    def _model(self, name: str) -> Model:
        if name not in self._world.models:
            raise self._refusal(404, f"model: {name}")
        return self._world.models[name]

    def _described(self, name: str) -> Json:
        model = self._model(name)
        return {
            "type": "model",
            "id": name,
            "display_name": name,
            "created_at": "2026-01-01T00:00:00Z",
            "lifecycle": "active",
            "max_input_tokens": model.told_window or model.window,
            "max_tokens": model.most_output,
        }

    def _read(self, asked: Received, model: Model) -> _Prompt:
        """Return what the model is to read.

        Raises:
            Broken: a rule is broken.
        """
        body = asked.body
        messages = body["messages"]
        assert isinstance(messages, list)
        self._check_options(asked, model)
        body = marked(body)
        turns = check_turns(messages)
        dropped, last = self._signatures.check(body, str(body["model"]), turns, binds=model.binds)
        gone = {str(one["path"]) for one in dropped}
        segments = segments_of(body, self._world, gone)
        if total(segments) > model.window:
            raise Broken(f"prompt is too long: {total(segments)} tokens > {model.window} maximum")
        return _Prompt(body, segments, dropped, last)

    def _check_options(self, asked: Received, model: Model) -> None:
        body = asked.body
        most = int(str(body.get("max_tokens", 1)))
        if most < 1:
            raise Broken("max_tokens: Input should be greater than or equal to 1")
        if most > model.most_output:
            raise Broken(
                f"max_tokens: {most} > {model.most_output}, which is the maximum allowed number of output tokens for"
                f" {body['model']}"
            )
        config = body.get("thinking")
        config = config if isinstance(config, dict) else {}
        if "block_binding" in config and BINDING_BETA not in asked.headers.get("anthropic-beta", ""):
            raise Broken("thinking.block_binding: Extra inputs are not permitted")
        if config.get("type") == "adaptive" and not model.adapts:
            raise Broken("adaptive thinking is not supported on this model")
        if config.get("type") == "enabled" and "max_tokens" in body:
            if config["budget_tokens"] < 1_024:
                raise Broken("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
            if config["budget_tokens"] >= most:
                raise Broken("`max_tokens` must be greater than `thinking.budget_tokens`")

    def _said(self, asked: Received, model: Model, prompt: _Prompt) -> Reply:
        body = prompt.body
        pieces = self._world.pieces(asked.path, asked.body)
        room = min(int(str(body["max_tokens"])), model.window - prompt.tokens)
        kept, whole = self._world.within(pieces, room)
        with self._world.lock:
            salt = f"{asked.headers.get('x-api-key')} {body['model']}"
            later = json.dumps([body.get("thinking"), body.get("tool_choice")])
            bill = self.cache.charge(prompt.segments, salt, later, model)
            blocks = self._blocks(kept)
            self._signatures.sign(body, str(body["model"]), blocks, prompt.last)
        called = any(isinstance(piece, Call) for piece in kept)
        short = "max_tokens" if room == body["max_tokens"] else "model_context_window_exceeded"
        answer: Json = {
            "id": self._world.new_id("msg_"),
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": blocks,
            "stop_reason": short if not whole else "tool_use" if called else "end_turn",
            "stop_sequence": None,
            "stop_details": None,
            "usage": self._usage(bill, kept),
        }
        if prompt.dropped and BINDING_BETA in asked.headers.get("anthropic-beta", ""):
            answer["input_transformations"] = prompt.dropped
        return Reply(answer, message_events(answer) if body.get("stream") else None)

    def _blocks(self, pieces: Sequence[Piece]) -> list[Json]:
        blocks: list[Json] = []
        for piece in pieces:
            match piece:
                case Text(text):
                    blocks.append({"type": "text", "text": text})
                case Thought(text):
                    blocks.append({"type": "thinking", "thinking": text, "signature": ""})
                case Redacted(text):
                    blocks.append({"type": "redacted_thinking", "data": text})
                case Call(name, arguments, given):
                    identifier = given or self._world.new_id("toolu_")
                    made = json.loads(arguments)
                    blocks.append({"type": "tool_use", "id": identifier, "name": name, "input": made})
        return blocks

    def _usage(self, bill: Bill, pieces: Sequence[Piece]) -> Json:
        thought = sum(self._world.size(piece) for piece in pieces if isinstance(piece, Thought | Redacted))
        said = sum(map(self._world.size, pieces))
        return {
            **bill.usage,
            "output_tokens": said,
            "output_tokens_details": {"thinking_tokens": thought},
            "service_tier": "standard",
        }


def _error(kind: str, message: str) -> Json:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_of_the_tests"}


def _worded(flaw: Flaw) -> str:
    where = _dotted(flaw.path)
    match flaw.kind:
        case "missing":
            return f"{where}: Field required"
        case "unknown":
            return f"{where}: Extra inputs are not permitted"
        case "type":
            return f"{where}: Input should be a {_WANTED[flaw.expected[0]]}"
        case "pattern":
            return f"{where}: String should match pattern '{flaw.expected[0]}'"
        case _ if where.endswith(".type"):
            tags = ", ".join(f"'{tag}'" for tag in flaw.expected)
            return (
                f"{where.removesuffix('.type')}: Input tag '{flaw.got}' found using 'type' does not match any of the"
                f" expected tags: {tags}"
            )
        case _:
            return f"{where}: Input should be {' or '.join(repr(one) for one in flaw.expected)}"


def _dotted(path: Path) -> str:
    return ".".join(map(str, path))
