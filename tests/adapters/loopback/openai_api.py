"""A server with the rules of OpenAI's API, as its reference of 2026 has them, whose vectors follow from the words."""

from __future__ import annotations

import base64
import json
import re
import struct
import threading
import time
from dataclasses import dataclass, field
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = "sk-test-0123456789abcdef"
MOST_TEXTS, MOST_TOKENS, MOST_TEXT_TOKENS = 2_048, 300_000, 8_192
DIMENSIONS = 16
_PIECES = re.compile(r"[A-Za-z]{1,7}|\d{1,3}|[^\sA-Za-z\d]")

Json = dict[str, object]


class Refusal(Exception):  # noqa: N818  # it is an answer
    """An answer that is no success."""

    def __init__(self, status: int, message: str, code: str | None = None, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def vector_of(text: str) -> list[float]:
    """Return the numbers that the server's model makes of a text, not of length 1."""
    digest = blake2b(text.encode(), digest_size=2 * DIMENSIONS).digest()
    return [struct.unpack("<f", struct.pack("<f", number / 999))[0] for number in struct.unpack("<16H", digest)]


@dataclass
class OpenAIServer:
    """What the server lets pass; `requests` are those that came, in order, with the second at which each did.

    Attributes:
        key: who asks with another one is refused.
        most_texts: of one request.
        first: answers to the next requests, before any other; each is a refusal.
        changed: what is made of each answer before it is sent.
    """

    key: str = KEY
    most_texts: int = MOST_TEXTS
    first: list[Refusal] = field(default_factory=list)
    changed: Callable[[Json], object] = lambda answer: answer
    requests: list[tuple[float, Json]] = field(default_factory=list)

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"api": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Its address, as settings have it."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def sizes(self) -> list[int]:
        """Return how many texts each request had."""
        return [len(body["input"]) for _, body in self.requests]  # type: ignore[arg-type]

    def embeddings(self, body: Json) -> Json:
        """Answer POST /v1/embeddings."""
        given = body["input"]
        texts = [given] if isinstance(given, str) else given
        assert isinstance(texts, list)
        if body["model"] != "tiny":
            raise Refusal(404, f"The model `{body['model']}` does not exist or you do not have access to it.")
        if not 0 < len(texts) <= self.most_texts:
            raise Refusal(400, f"'$.input' is invalid: at most {self.most_texts} items")
        counts = [len(_PIECES.findall(text)) for text in texts]
        if not all(texts):
            raise Refusal(400, "'$.input' is invalid: an input cannot be an empty string")
        if max(counts) > MOST_TEXT_TOKENS:
            raise Refusal(400, f"Invalid 'input[0]': maximum input length is {MOST_TEXT_TOKENS} tokens.")
        if sum(counts) > MOST_TOKENS:
            said = f"Requested {sum(counts)} tokens, max {MOST_TOKENS} tokens per request"
            raise Refusal(400, said, "max_tokens_per_request")
        size = body.get("dimensions", DIMENSIONS)
        assert isinstance(size, int)
        made = [vector_of(text)[:size] for text in texts]
        data = [
            {"object": "embedding", "index": place, "embedding": _written(vector, str(body.get("encoding_format")))}
            for place, vector in enumerate(made)
        ]
        usage = {"prompt_tokens": sum(counts), "total_tokens": sum(counts)}
        return {"object": "list", "data": data, "model": "tiny", "usage": usage}


def _written(vector: list[float], form: str) -> object:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode() if form == "base64" else vector


class _Handler(BaseHTTPRequestHandler):
    api: OpenAIServer
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one piece: two would wait for each other

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base's name
        """Say nothing."""

    def do_POST(self) -> None:
        """Answer a question."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.api.requests.append((time.monotonic(), body))
        try:
            self._send(200, self.api.changed(self._answer(body)), {})
        except Refusal as refusal:
            self._send(refusal.status, refusal.body, refusal.headers)
        except ConnectionError:
            self.close_connection = True  # who asked went away, as some tests do

    def _answer(self, body: Json) -> Json:
        if self.api.first:
            raise self.api.first.pop(0)
        given = self.headers.get("Authorization", "")
        if given != f"Bearer {self.api.key}":
            raise Refusal(401, f"Incorrect API key provided: {given}.", "invalid_api_key")
        if self.path != "/v1/embeddings":
            raise Refusal(404, f"Invalid URL (POST {self.path})")
        return self.api.embeddings(body)

    def _send(self, status: int, said: object, headers: dict[str, str]) -> None:
        text = said if isinstance(said, bytes) else json.dumps(said).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(text)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)
