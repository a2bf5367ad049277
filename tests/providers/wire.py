"""Sockets, routes, failures to order: the server itself."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from .completions import Completions
from .embeddings import Embeddings
from .messages import Messages
from .replies import Refusal
from .responses import Responses
from .script import Model, World, quarters, saying

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .replies import Reply
    from .script import Asked, Clock, Json, Piece, Script

KEY = "key-of-the-tests"


class Received(NamedTuple):
    """A request as it came: path without its query, query, headers in lower case, the bytes, these as JSON, and when.

    `moment` is in seconds of a clock that only goes on.
    """

    path: str
    query: str
    headers: Mapping[str, str]
    raw: bytes
    body: Json
    moment: float = 0.0


# Longer than anybody waits for.
STALL_SECONDS = 60.0


class Endpoint(Protocol):
    """One provider's part of the server."""

    def answer(self, asked: Received, key: str) -> Reply:
        """Answer a request, of which `key` is to be the key.

        Raises:
            Refusal: it is refused.
        """

    def failure(self, status: int) -> Json:
        """Return the body of an error with this status, as the provider words it."""

    def broken(self) -> tuple[str, Json]:
        """Return the event that ends a stream in an error."""


@dataclass
class Fault:
    """A failure to order; the next request takes it in place of its answer, or of the end of its answer.

    Attributes:
        status: answer with this status; None: answer.
        body: beside the status, in place of what the provider says of it.
        retry_after, retry_after_ms: headers beside the status.
        hang_seconds: say nothing for so long, then close.
        cut_after: close the connection after so many events of a stream.
        stall_after: say nothing more after so many events of a stream.
        error_after: an event that says so ends the stream after so many events.
        raw: these bytes in place of an answer's body, with status 200.
    """

    status: int | None = None
    body: Json | None = None
    retry_after: str | None = None
    retry_after_ms: str | None = None
    hang_seconds: float = 0.0
    cut_after: int | None = None
    stall_after: int | None = None
    error_after: int | None = None
    raw: bytes | None = None


@dataclass
class Providers:
    """The server: a context manager. `url` is Anthropic's base, `openai_url` OpenAI's.

    Attributes:
        models: what there is to ask for, by name.
        script: what the models answer.
        count: the tokens of a text.
        faults: failures to order, the next one first.
        requests: what came, in order; refused: the messages of refusals, in order.
        key: who asks with another one is refused.
        embeddings: what makes vectors.
    """

    models: Mapping[str, Model] = field(default_factory=lambda: {"tiny": Model()})
    script: Script = field(default_factory=lambda: saying("Yes."))
    count: Callable[[str], int] = quarters
    faults: list[Fault] = field(default_factory=list)
    requests: list[Received] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    key: str = KEY

    def __post_init__(self) -> None:
        self.world = World(self.models, self._said, self.count)
        self.closing = threading.Event()
        self._lock = threading.Lock()
        messages, completions, responses = Messages(self.world), Completions(self.world), Responses(self.world)
        self.embeddings = Embeddings(self.world)
        self._routes: dict[str, Endpoint] = {
            "/v1/messages": messages,
            "/v1/models": completions,
            "/v1/models/": messages,
            "/v1/chat/completions": completions,
            "/v1/responses": responses,
            "/v1/embeddings": self.embeddings,
        }

    def _said(self, asked: Asked) -> Sequence[Piece]:
        return self.script(asked)  # a test may put another in its place

    def __enter__(self) -> Self:
        outer: Providers = self

        class Handler(_Handler):
            providers = outer

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False  # so that none outlives its test
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.openai_url = f"{self.url}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def clock(self) -> Clock:
        """The server's clock."""
        return self.world.clock

    @property
    def held(self) -> list[tuple[str, str]]:
        """Options of requests under which the provider kept a conversation, as (path, option)."""
        return self.world.held

    def fail(self, times: int, status: int, retry_after: str | None = None) -> None:
        """Let the next requests fail with a status."""
        self.faults += [Fault(status=status, retry_after=retry_after)] * times

    def bodies(self, path: str) -> list[Json]:
        """Return the requests that came to a path."""
        return [request.body for request in self.requests if request.path == path]

    def received(self, asked: Received) -> Fault:
        """Keep a request, and return the failure that was ordered for it."""
        with self._lock:
            self.requests.append(asked)
            return self.faults.pop(0) if self.faults else Fault()

    def endpoint(self, path: str) -> Endpoint | None:
        """Return who answers under a path."""
        matching = [prefix for prefix in self._routes if path == prefix or path.startswith(f"{prefix.rstrip('/')}/")]
        return self._routes[max(matching, key=len)] if matching else None


class _Handler(BaseHTTPRequestHandler):
    providers: Providers
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base's name
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer a question without a body."""
        self._answer(b"")

    def do_POST(self) -> None:
        """Answer a question with a body."""
        self._answer(self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, raw: bytes) -> None:
        # One request for each connection: a pool of a client that is not closed would keep this thread.
        self.close_connection = True
        path, _, query = self.path.partition("?")
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = None
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Received(path, query, headers, raw, body if isinstance(body, dict) else {}, time.monotonic())
        # Who asked may be gone, as in some tests.
        with contextlib.suppress(ConnectionError):
            self._under(self.providers.received(asked), asked)

    def _under(self, fault: Fault, asked: Received) -> None:
        endpoint = self.providers.endpoint(asked.path)
        if endpoint is None:
            self._whole(404, b"not found", {})
        elif fault.hang_seconds:
            self.providers.closing.wait(fault.hang_seconds)
        elif fault.status is not None:
            headers = {"retry-after": fault.retry_after, "retry-after-ms": fault.retry_after_ms}
            said = endpoint.failure(fault.status) if fault.body is None else fault.body
            given = {name: value for name, value in headers.items() if value is not None}
            self._whole(fault.status, json.dumps(said).encode(), given)
        elif fault.raw is not None:
            self._whole(200, fault.raw, {})
        else:
            self._said(endpoint, asked, fault)

    def _said(self, endpoint: Endpoint, asked: Received, fault: Fault) -> None:
        try:
            reply = endpoint.answer(asked, self.providers.key)
        except Refusal as refusal:
            self.providers.refused.append(str(refusal))
            self._whole(refusal.status, json.dumps(refusal.body).encode(), {})
            return
        if reply.events is None:
            self._whole(200, json.dumps(reply.body).encode(), {})
            return
        events, whole = reply.events, True
        if fault.error_after is not None:
            name, said = endpoint.broken()
            events = [*events[: fault.error_after], (name, json.dumps(said))]
        elif fault.cut_after is not None:
            events, whole = events[: fault.cut_after], False
        elif fault.stall_after is not None:
            events, whole = events[: fault.stall_after], False
        self._streamed(events, whole=whole)
        if fault.stall_after is not None:
            self.providers.closing.wait(STALL_SECONDS)

    def _whole(self, status: int, text: bytes, more: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **more}.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _streamed(self, events: Sequence[tuple[str, str]], *, whole: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Connection", "close")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for name, text in events:
            said = (f"event: {name}\n" if name else "") + f"data: {text}\n\n"
            chunk = said.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            self.wfile.flush()
        if whole:
            self.wfile.write(b"0\r\n\r\n")
