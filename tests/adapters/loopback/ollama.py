"""A server with Ollama's rules and words (0.34, and of older ones where that is asked for) and a model that echoes."""

from __future__ import annotations

import base64
import binascii
import itertools
import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

DEFAULT_WINDOW = 4_096
TEMPLATE_TOKENS = 4
TOO_LONG = (
    "the prompt is longer than the context length currently available to the model; shorten the prompt, adjust the "
    "context length in settings, or use a model with a longer context length"
)
_PIECES = re.compile(r"[A-Za-z]{1,7}|\d{1,3}|[^\sA-Za-z\d]")

Json = dict[str, object]


def tokens(text: str) -> int:
    """Return what the server's own tokenizer makes of a text."""
    return len(_PIECES.findall(text))


@dataclass
class Model:
    """A model that was pulled."""

    native: int = 32_768
    capabilities: tuple[str, ...] = ("completion", "tools", "embedding")
    info: Json = field(default_factory=dict)
    tensors: list[Json] = field(default_factory=list)
    modelfile: str = ""
    parameters: str = ""


class Refusal(Exception):  # noqa: N818  # it is an answer
    """An answer that is no success."""

    def __init__(self, status: int, error: object) -> None:
        super().__init__(str(error))
        self.status = status
        self.error = error


@dataclass
class Ollama:
    """What the server has and how it behaves; `requests` are those that came, in order.

    Attributes:
        obeys: whether it knows `truncate` and `shift`; releases before the autumn of 2025 pass over them.
        tells: whether /api/ps tells the window.
        counts: "all" tokens of the prompt, the "uncached" ones, or "none".
        fixed_window: the window whatever is asked for, of what only speaks like Ollama; None: what is asked for.
        memory_tokens: the largest window that memory can hold.
        answer: the pieces of an answer to a request, made as they are sent where it is no list.
        raw: bytes to send instead of any answer, by path; None: an answer.
    """

    models: dict[str, Model] = field(default_factory=lambda: {"tiny:latest": Model()})
    obeys: bool = True
    tells: bool = True
    counts: str = "all"
    fixed_window: int | None = None
    memory_tokens: int = 1 << 20
    answer: Callable[[Json], Iterable[Json]] | None = None
    raw: Callable[[str], bytes | None] = lambda _: None
    requests: list[tuple[str, Json]] = field(default_factory=list, repr=False)
    cut: list[bool] = field(default_factory=list)
    loaded: dict[str, int] = field(default_factory=dict)
    url: str = ""

    def __enter__(self) -> Self:
        outer: Ollama = self

        class Handler(_Handler):
            ollama = outer

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False  # so that none outlives its test
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def sent(self, path: str) -> list[Json]:
        """Return the bodies that came to a path."""
        return [body for at, body in self.requests if at == path]

    def model(self, body: Json) -> tuple[str, Model]:
        """Return the model that a request names."""
        name = str(body.get("model", ""))
        name = name if ":" in name else f"{name}:latest"
        if name not in self.models:
            raise Refusal(404, f"model '{body.get('model')}' not found")
        return name, self.models[name]

    def load(self, body: Json) -> int:
        """Load a model as a request asks, and return its window."""
        name, model = self.model(body)
        options = body.get("options")
        asked = options.get("num_ctx", DEFAULT_WINDOW) if isinstance(options, dict) else DEFAULT_WINDOW
        window = self.fixed_window or min(int(str(asked)), model.native)
        if window > self.memory_tokens:
            raise Refusal(500, "model requires more system memory (56.0 GiB) than is available (50.3 GiB)")
        self.loaded[name] = window
        return window

    # -- one method for each path -------------------------------------------------------------------------------------

    def show(self, body: Json) -> Json:
        """Answer POST /api/show."""
        _, model = self.model(body)
        whole = body.get("verbose") is True
        info = {
            key: value if whole or not isinstance(value, list) or len(value) <= 5 else None
            for key, value in model.info.items()
        }
        told: Json = {
            "modelfile": model.modelfile,
            "parameters": model.parameters,
            "template": "{{ .Prompt }}",
            "details": {"format": "gguf", "family": "llama", "parameter_size": "8.0B", "quantization_level": "Q4_K_M"},
            "model_info": info,
            "capabilities": list(model.capabilities),
        }
        return {**told, "tensors": model.tensors} if whole else told

    def ps(self, _: Json) -> Json:
        """Answer GET /api/ps."""
        return {
            "models": [
                {"name": name, "model": name, "size": 5_000, **({"context_length": window} if self.tells else {})}
                for name, window in self.loaded.items()
            ]
        }

    def tags(self, _: Json) -> Json:
        """Answer GET /api/tags."""
        return {"models": [{"name": name, "model": name} for name in self.models]}

    def generate(self, body: Json) -> Json:
        """Answer POST /api/generate without a prompt: the model is loaded, or unloaded."""
        name, model = self.model(body)
        if "completion" not in model.capabilities:
            raise Refusal(400, f'"{name}" does not support generate')
        if body.get("keep_alive") == 0:
            self.loaded.pop(name, None)
            return {"model": name, "response": "", "done": True, "done_reason": "unload"}
        self.load(body)
        return {"model": name, "response": "", "done": True, "done_reason": "load"}

    def embed(self, body: Json) -> Json:
        """Answer POST /api/embed: vectors of three numbers, not of length 1."""
        _, model = self.model(body)
        if "embedding" not in model.capabilities:
            raise Refusal(501, "this model does not support embeddings")
        window = self.load(body)
        texts = body["input"]
        assert isinstance(texts, list)
        if any(tokens(text) > window for text in texts) and body.get("truncate", True) is False:
            raise Refusal(400, "the input length exceeds the context length")
        return {"embeddings": [[float(len(text)), 1.0, float(text.count("e"))] for text in texts]}

    def chat(self, body: Json) -> Iterator[Json]:
        """Answer POST /api/chat: the pieces of the answer."""
        name, model = self.model(body)
        messages = [_message(message) for message in _list(body.get("messages"))]
        if body.get("tools") and "tools" not in model.capabilities:
            raise Refusal(400, f"registry.ollama.ai/library/{name} does not support tools")
        if body.get("think") is not None and "thinking" not in model.capabilities:
            raise Refusal(400, f'"{name}" does not support thinking')
        window = self.load(body)
        kept, count = self._fitted(messages, body, window)
        self.cut.append(count < self._size(messages))
        pieces = self.answer(body) if self.answer else [_piece(word) for word in str(kept[-1]["content"]).split()[:3]]
        options = body["options"]
        assert isinstance(options, dict)
        most = int(options.get("num_predict", -1))
        made = len(pieces) if isinstance(pieces, list) else 0
        reason = "length" if 0 <= most < made else "stop"
        pieces = pieces[:most] if isinstance(pieces, list) and most >= 0 else pieces
        counted: Json = {"prompt_eval_count": count, "prompt_eval_cached_count": self._size(kept[:-1])}
        if self.counts == "none":
            counted = {}
        if self.counts == "uncached" and len(messages) > 1:
            counted = {"prompt_eval_count": self._size(messages[-1:])}
        last: Json = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": reason}
        return itertools.chain(pieces, [{**last, **counted, "eval_count": made}])

    def _size(self, messages: list[Json]) -> int:
        return sum(tokens(str(message["content"])) + TEMPLATE_TOKENS for message in messages)

    def _fitted(self, messages: list[Json], body: Json, window: int) -> tuple[list[Json], int]:
        """Return the messages that are left, and the size of the prompt: the oldest go, then half of the text."""
        size = self._size(messages)
        if size < window:
            return messages, size
        if self.obeys and body.get("truncate", True) is False and body.get("shift", True) is False:
            raise Refusal(400, TOO_LONG)
        for first in range(len(messages)):
            system = [message for message in messages[:first] if message["role"] == "system"]
            kept = [*system, *messages[first:]]
            if self._size(kept) <= window:
                return kept, self._size(kept)
        return messages[-1:], window - (window - 4) // 2


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise Refusal(400, "json: cannot unmarshal into Go struct field ChatRequest.messages of type []api.Message")
    return value


def _message(message: object) -> Json:
    """Hold a message against what Ollama can read."""
    assert isinstance(message, dict)
    field_of = "json: cannot unmarshal {} into Go struct field ChatRequest.messages.{} of type {}"
    if not isinstance(message.get("content", ""), str):
        raise Refusal(400, field_of.format("array", "content", "string"))
    for call in message.get("tool_calls", []):
        if not isinstance(call["function"]["arguments"], dict):
            raise Refusal(400, field_of.format("string", "tool_calls.function.arguments", "api.ToolCallFunction"))
    for picture in message.get("images", []):
        try:
            base64.b64decode(picture, validate=True)
        except binascii.Error as error:
            raise Refusal(400, "illegal base64 data at input byte 4") from error
    unknown = message.keys() - {"role", "content", "thinking", "images", "tool_calls", "tool_name", "tool_call_id"}
    assert not unknown, f"Ollama knows no {unknown}"
    return message


def _piece(word: str) -> Json:
    return {"message": {"role": "assistant", "content": f"{word} "}, "done": False}


class _Handler(BaseHTTPRequestHandler):
    ollama: Ollama
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base's name
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer a question without a body."""
        self._answer({})

    def do_POST(self) -> None:
        """Answer a question with a body."""
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _answer(self, body: Json) -> None:
        path = self.path
        self.ollama.requests.append((path, body))
        raw = self.ollama.raw(path)
        try:
            if raw is not None:
                self.close_connection = True
                self.wfile.write(raw)
                return
            self._said(path, body)
        except ConnectionError:
            self.close_connection = True  # who asked went away, as some tests do

    def _said(self, path: str, body: Json) -> None:
        paths: dict[str, Callable[[Json], Json | Iterator[Json]]] = {
            "/api/show": self.ollama.show,
            "/api/ps": self.ollama.ps,
            "/api/tags": self.ollama.tags,
            "/api/version": lambda _: {"version": "0.34.0"},
            "/api/generate": self.ollama.generate,
            "/api/embed": self.ollama.embed,
            "/api/chat": self.ollama.chat,
        }
        try:
            said = paths[path](body)
        except KeyError:
            self._whole(404, b"404 page not found")
        except Refusal as refusal:
            self._whole(refusal.status, json.dumps({"error": refusal.error}).encode())
        else:
            if isinstance(said, dict):
                self._whole(200, json.dumps(said).encode())
            else:
                self._streamed(said)

    def _whole(self, status: int, text: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _streamed(self, pieces: Iterable[Json]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            line = json.dumps(piece).encode() + b"\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")


def answering(text: bytes, status: bytes = b"200 OK") -> Callable[[str], bytes]:
    """Return what answers these bytes to every request."""
    head = b"HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (status, len(text))
    return lambda _: head + text


def at(path: str, raw: Callable[[str], bytes | None]) -> Callable[[str], bytes | None]:
    """Return what answers so under one path only."""
    return lambda asked: raw(asked) if asked == path else None
