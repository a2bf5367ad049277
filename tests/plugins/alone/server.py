"""A provider of chat completions on this machine, which asks the mind of the check of hosts what to say."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from squidbot.testing.hosts import Request, RequestMessage, ScriptedStep, to_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from squidbot.testing.hosts import Model

HEAD = {"id": "chatcmpl-1", "created": 1, "model": "tiny"}
# How long what is held waits to be broken off.
HELD_SECONDS = 60.0
# A call as it is sent.
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at":1}'}}
TOO_LONG = {
    "message": "This model's maximum context length is exceeded: reduce the length of the messages.",
    "type": "invalid_request_error",
    "param": "messages",
    "code": "context_length_exceeded",
}


def sent(message: Mapping[str, Any]) -> RequestMessage:
    """Return a message as a neutral one."""
    content = message.get("content") or ""
    text = content if isinstance(content, str) else "\n".join(str(part.get("text", "")) for part in content)
    calls = tuple(call["id"] for call in message.get("tool_calls") or ())
    results = (message["tool_call_id"],) if message["role"] == "tool" else ()
    thought = message.get("reasoning_details") or str(message.get("reasoning_content") or "").strip()
    opaque = to_json(thought).decode() if thought else ""
    shown = [message["role"], text, [[call["id"], call["function"]] for call in message.get("tool_calls") or ()]]
    return RequestMessage(message["role"], text, calls, results, to_json([*shown, *results, opaque]), opaque)


class Server:
    """A provider of chat completions on this machine, which asks a mind what to say."""

    def __init__(self, mind: Model) -> None:
        """Begin to listen."""
        outer, self.mind, self.released = self, mind, threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base's name
                """Say nothing."""

            def do_GET(self) -> None:
                """Know nothing of models."""
                _say(self, 404, {"error": "not found"})

            def do_POST(self) -> None:
                """Answer a request."""
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.path.endswith("/chat/completions"):
                    with suppress(ConnectionError):
                        outer.answer(self, body)
                else:
                    _say(self, 404, {"error": "not found"})

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def answer(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        """Reply as the mind says, as a stream or whole."""
        tools = to_json([each["function"] for each in body.get("tools") or ()])
        asked = Request(tuple(map(sent, body["messages"])), "", tools, is_streamed=bool(body.get("stream")))
        step = self.mind.hear(asked)
        if step.error and not step.pieces:
            _say(
                handler,
                400 if step.error == "too_long" else 500,
                {
                    "error": TOO_LONG
                    if step.error == "too_long"
                    else {"message": "fake", "type": "server_error", "param": None, "code": None}
                },
            )
            return
        if not body.get("stream"):
            _say(handler, 200, whole(step))
            return
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        for delta in deltas(step):
            _event(handler, {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        if step.is_held:
            self.mind.waiting.set()
            self.released.wait(HELD_SECONDS)
        if step.error or step.is_held:
            return
        ending = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if step.calls else "stop"}
        _event(handler, {"choices": [ending]})
        _event(handler, {"choices": [], "usage": usage(step)})
        handler.wfile.write(b"data: [DONE]\n\n")

    def close(self) -> None:
        """Stop."""
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def deltas(step: ScriptedStep) -> Iterator[dict[str, Any]]:
    """Yield what a stream says of a step."""
    if isinstance(step.native, dict):
        yield step.native
        return
    yield {"role": "assistant", "content": ""}
    for chunk in step.chunks():
        yield {"content": chunk}
    for number, call in enumerate(() if step.error or step.is_held else step.calls):
        # hermes makes one call of two that are the same.
        told = to_json({**call.arguments, **({"number": number} if number else {})}).decode()
        function = {"name": call.name, "arguments": told}
        yield {"tool_calls": [{"index": number, "id": call.call_id, "type": "function", "function": function}]}


def whole(step: ScriptedStep) -> dict[str, Any]:
    """Return a step as one answer."""
    calls = [
        {
            "id": each.call_id,
            "type": "function",
            "function": {"name": each.name, "arguments": to_json(each.arguments).decode()},
        }
        for each in step.calls
    ]
    said = {"role": "assistant", "content": step.text, **({"tool_calls": calls} if calls else {})}
    message = step.native if isinstance(step.native, dict) else said
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    return {**HEAD, "object": "chat.completion", "choices": [choice], "usage": usage(step)}


def usage(step: ScriptedStep) -> dict[str, Any]:
    """Return what the provider reports."""
    used = step.usage
    assert used is not None
    return {
        "prompt_tokens": used.input_tokens,
        "completion_tokens": used.output_tokens,
        "total_tokens": used.input_tokens + used.output_tokens,
        "prompt_tokens_details": {"cached_tokens": used.cached_tokens},
    }


def _event(handler: BaseHTTPRequestHandler, said: Mapping[str, Any]) -> None:
    chunk = {**HEAD, "object": "chat.completion.chunk", **said}
    handler.wfile.write(b"data: %s\n\n" % json.dumps(chunk).encode())
    handler.wfile.flush()


def _say(handler: BaseHTTPRequestHandler, status: int, said: object) -> None:
    text = json.dumps(said).encode()
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(text)))
    handler.end_headers()
    handler.wfile.write(text)
