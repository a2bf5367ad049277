"""A server of live pages: a store's sessions, facts and journal in the browser, updated while agents work.

    squidbot view --store mem.db

It reads, and only if asked for forgets. `gate` decides who gets in, `watcher` tells what changed.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import signal
from contextlib import ExitStack, closing
from functools import partial
from hmac import compare_digest
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from squidbot.adapters.common.packages import missing
from squidbot.adapters.common.threads import COMPUTING

try:
    import uvicorn
    from anyio import to_thread
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route
except ImportError as error:
    raise ImportError(f"squidbot.report.server: {error}; {missing('view')}") from error

from squidbot.core.access import check_listening
from squidbot.core.errors import (
    ArgumentError,
    BudgetError,
    BusyError,
    ConfigError,
    NotFoundError,
    RecallError,
    SquidbotError,
)
from squidbot.report.gate import BrowserGate, Logins, Viewer
from squidbot.report.listing import key_of
from squidbot.report.page import asset, linked_page, page_script
from squidbot.report.pages import LISTED, StorePages
from squidbot.report.watcher import ANY, StoreWatcher

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Callable, Mapping
    from types import FrameType

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from squidbot.core.access import AccessTokens
    from squidbot.core.memories import Scope
    from squidbot.report.listing import ShownStore

# An open stream says so often that it is there: a connection that is gone shows then.
ALIVE_SECONDS: Final = 15.0
# How many streams are open at once, how many of a user who has a token, and how many sessions each follows.
MOST_STREAMS: Final = 1_024
MOST_STREAMS_OF_A_USER: Final = 32
MOST_FOLLOWED: Final = 64
# The largest body of a change, in bytes.
MOST_BODY_BYTES: Final = 64 * 1024
# Shorter bodies are not worth packing.
LEAST_PACKED_BYTES: Final = 1_024
_LOG = logging.getLogger("squidbot")
# What the mistakes of those who ask are answered with.
_STATUSES: Final[dict[type[SquidbotError], int]] = {
    NotFoundError: 404,
    RecallError: 400,
    ArgumentError: 400,
    ConfigError: 400,
    BudgetError: 409,
}
# The pages and what belongs to them: the path, the kind, and the text.
_FILES: Final[dict[str, tuple[str, Callable[[], str]]]] = {
    "/": ("text/html", partial(asset, "view.html")),
    "/session/{key}": ("text/html", partial(linked_page, "/page/report.css", ("/page/report.js", "/page/follow.js"))),
    "/page/report.css": ("text/css", partial(asset, "report.css")),
    "/page/report.js": ("text/javascript", page_script),
    "/page/follow.js": ("text/javascript", partial(asset, "follow.js")),
    "/page/view.css": ("text/css", partial(asset, "view.css")),
    "/page/view.js": ("text/javascript", partial(page_script, ("words", "view"))),
}


class ViewOptions(NamedTuple):
    """How a store is shown.

    Attributes:
        scope: whose durable facts and journal; with tokens, each user takes the place of the scope's.
        host, port: where the server listens.
        users: the tokens of the users who may look; `None`: whoever has a one-time address, which shows everything.
        writes: whether facts and messages can be forgotten.
        path: the store's file, whose changes are noticed without asking the store; "" for none.
        status: returns the status of models and stores; `None`: no page shows that.
        url: the origin at which browsers reach a server in front, such as `https://view.example`; "" for none.
    """

    scope: Scope
    host: str = "127.0.0.1"
    port: int = 0
    users: AccessTokens | None = None
    writes: bool = False
    path: str = ""
    status: Callable[[], Mapping[str, Any]] | None = None
    url: str = ""


class ReportServer:
    """The server of one store; `app` is its application, with the gate in front."""

    def __init__(self, place: ShownStore, options: ViewOptions) -> None:
        """Make it; nothing is read yet, and nobody listens.

        Raises:
            ConfigError: other machines could connect without a token.
        """
        check_listening(options.host, options.users)
        self._options = options
        self._logins = Logins()
        self._pages = StorePages(place, options.status)
        self.watcher = StoreWatcher(place.store, options.path)
        self._streams = set[_Stream]()
        self._serving: _EndingServer | None = None
        inner = Starlette(routes=self._routes(), exception_handlers={SquidbotError: _refused})
        self.app: ASGIApp = BrowserGate(
            inner,
            self._logins,
            host=options.host,
            port=options.port,
            users=options.users,
            scope=options.scope,
            url=options.url,
        )

    def address(self) -> str:
        """Return a new address that lets one browser in, once; with users' tokens, the address of the login."""
        host = f"[{self._options.host}]" if ":" in self._options.host else self._options.host
        place = f"{self._options.url or f'http://{host}:{self._options.port}'}/"
        if self._options.users is not None:
            return place
        return f"{place}?token={self._logins.new_token(Viewer(self._options.scope))}"

    @property
    def host(self) -> str:
        """Where it listens."""
        return self._options.host

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._options.port

    @property
    def streams(self) -> int:
        """How many pages listen."""
        return len(self._streams)

    def serve(self, listening: socket.socket, started: Callable[[], object] | None = None) -> None:
        """Serve on a socket that is bound until the process is interrupted; `started` is called once it listens."""
        config = uvicorn.Config(
            self.app,
            log_level="warning",
            access_log=False,  # addresses have one-time tokens
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=3,
        )
        with closing(listening):
            self._serving = _EndingServer(config, self._end_streams, started)
            self._serving.run([listening])

    def end(self) -> None:
        """Have `serve` return soon; any thread may call it."""
        if self._serving is not None:
            self._serving.handle_exit(signal.SIGTERM, None)

    def _end_streams(self) -> None:
        for stream in [*self._streams]:
            stream.end()

    def close(self) -> None:
        """End the watcher's thread."""
        self.watcher.close()

    # -- routes ----------------------------------------------------------------------------------------------------

    def _routes(self) -> list[Route]:
        api: dict[str, Callable[[Request, Viewer], Any]] = {
            "/api/me": self._me,
            "/api/sessions": self._sessions,
            "/api/search": self._search,
            "/api/facts": self._facts,
            "/api/journal": self._journal,
            "/api/status": lambda _, viewer: self._pages.status(viewer),
            "/api/session/{key}/goals": lambda request, viewer: self._pages.goals(self._found(request, viewer)),
            "/api/session/{key}/figures": self._figures,
            "/api/session/{key}/texts/{number:int}": self._text,
        }
        routes = [Route(path, _json_route(act), methods=["GET"]) for path, act in api.items()]
        routes.append(Route("/api/events", self._events, methods=["GET"]))
        routes += [Route(path, _file_route(*file), methods=["GET"]) for path, file in _FILES.items()]
        if self._options.writes:
            changes = {"/api/facts/forget": self._forget_fact, "/api/session/{key}/forget": self._forget_messages}
            routes += [Route(path, _change_route(act), methods=["POST"]) for path, act in changes.items()]
        return routes

    def _me(self, request: Request, viewer: Viewer) -> dict[str, Any]:
        writes = self._options.writes
        has_status = not viewer.is_limited and self._options.status is not None
        return {
            "user": viewer.scope.user,
            "limited": viewer.is_limited,
            "writes": writes,
            "status": has_status,
            "csrf": request.state.csrf if writes else None,
        }

    def _sessions(self, request: Request, viewer: Viewer) -> dict[str, Any]:
        asked = request.query_params
        return self._pages.sessions(
            viewer, asked.get("name", ""), _whole(asked.get("offset"), 0), _whole(asked.get("limit"), LISTED)
        )

    def _search(self, request: Request, viewer: Viewer) -> dict[str, Any]:
        return self._pages.search(viewer, request.query_params.get("q", ""), request.query_params.get("name", ""))

    def _facts(self, request: Request, viewer: Viewer) -> dict[str, Any]:
        asked = request.query_params
        return self._pages.facts(viewer, asked.get("user"), asked.get("after", ""), past=asked.get("past") == "1")

    def _journal(self, request: Request, viewer: Viewer) -> dict[str, Any]:
        asked = request.query_params
        return self._pages.journal(viewer, asked.get("user"), _whole(asked.get("limit"), LISTED))

    def _figures(self, request: Request, viewer: Viewer) -> Response:
        since = request.query_params.get("since", "") or request.headers.get("if-none-match", "").strip('"')
        made = self._pages.reports.figures(self._found(request, viewer), since)
        headers = {"etag": f'"{made.version}"'}
        if made.again_seconds is not None:
            headers["squidbot-again-seconds"] = f"{made.again_seconds:.2f}"
        if made.body is None:
            return Response(status_code=304, headers=headers)
        return _packed(request, made.body.encode(), headers)

    def _text(self, request: Request, viewer: Viewer) -> Response:
        epoch, number = request.query_params.get("version", "").partition(".")[0], request.path_params["number"]
        text = self._pages.reports.text(self._found(request, viewer), epoch, number)
        return _packed(request, json.dumps(text).encode())

    def _found(self, request: Request, viewer: Viewer) -> str:
        return self._pages.found(viewer, request.path_params["key"])

    # -- what changes ----------------------------------------------------------------------------------------------

    async def _events(self, request: Request) -> Response:
        """Answer with a stream of events: "changed" with the keys of sessions, "list" where any session has changed."""
        viewer: Viewer = request.state.viewer
        keys = request.query_params.getlist("session")
        if self._are_too_many(viewer) or len(keys) > MOST_FOLLOWED:
            return Response("too many pages, or sessions on one page, follow this store\n", 503)
        ids = [await to_thread.run_sync(_computed, self._pages.found, viewer, key) for key in dict.fromkeys(keys)]
        stream = _Stream(self.watcher, viewer, ids, any_session=request.query_params.get("list") == "1")
        return StreamingResponse(self._followed(stream), media_type="text/event-stream")

    def _are_too_many(self, viewer: Viewer) -> bool:
        """Return whether no more streams may be open, of all or of a user."""
        own = sum(one.viewer == viewer for one in self._streams) if viewer.is_limited else 0
        return len(self._streams) >= MOST_STREAMS or own >= MOST_STREAMS_OF_A_USER

    async def _followed(self, stream: _Stream) -> AsyncIterator[str]:
        if self._are_too_many(stream.viewer):  # others came in meanwhile
            return
        self._streams.add(stream)
        try:
            with ExitStack() as stack:
                await to_thread.run_sync(stack.enter_context, stream.listening())
                async for event in stream.events():
                    yield event
        finally:
            self._streams.discard(stream)

    def _forget_fact(self, viewer: Viewer, _: Request, given: Mapping[str, Any]) -> dict[str, Any]:
        user, memory_id, reason = given.get("user"), given.get("id"), given.get("reason", "")
        if not isinstance(memory_id, str) or not isinstance(reason, str) or not isinstance(user, str | None):
            raise HTTPException(400, 'send {"id": "f-...", "reason": "..."}')
        try:
            return self._pages.forget_fact(viewer, user, memory_id, reason)
        finally:
            self.watcher.poke()

    def _forget_messages(self, viewer: Viewer, request: Request, given: Mapping[str, Any]) -> dict[str, Any]:
        seqs, reason = given.get("messages"), given.get("reason", "")
        is_list = isinstance(seqs, list) and all(type(seq) is int and seq >= 0 for seq in seqs)
        if not is_list or not isinstance(reason, str):
            raise HTTPException(400, 'send {"messages": [17], "reason": "..."}')
        session_id = self._found(request, viewer)
        try:
            return self._pages.forget_messages(session_id, seqs or [], reason)
        finally:
            self.watcher.poke()


class _Stream:
    """The events of one page, those of a moment as one: however slow the page is, no more of them wait."""

    def __init__(self, watcher: StoreWatcher, viewer: Viewer, sessions: list[str], *, any_session: bool) -> None:
        self.viewer = viewer
        self._watcher, self._sessions, self._any_session = watcher, sessions, any_session
        self._loop = asyncio.get_running_loop()
        self._due: set[str] = {*sessions, *([ANY] if any_session else [])}
        self._news = asyncio.Event()
        self._news.set()  # what was read before the stream was open may be old
        self._is_over = False

    def listening(self) -> Any:  # noqa: ANN401  # a context
        """Return the context in which it is told."""
        return self._watcher.listening(self._sessions, self._told, any_session=self._any_session)

    def _told(self, sessions: frozenset[str]) -> None:
        def note() -> None:
            self._due |= sessions
            self._news.set()

        self._loop.call_soon_threadsafe(note)

    def end(self) -> None:
        """End it."""
        self._is_over = True
        self._loop.call_soon_threadsafe(self._news.set)

    async def events(self) -> AsyncIterator[str]:
        """Yield the events as a page reads them; after a while without any, a comment."""
        yield "retry: 1000\n\n"
        while not self._is_over:
            try:
                await asyncio.wait_for(self._news.wait(), ALIVE_SECONDS)
            except TimeoutError:
                yield ": here\n\n"
                continue
            self._news.clear()
            due, self._due = self._due, set()
            if ANY in due:
                yield "event: list\ndata: {}\n\n"
            if keys := sorted(key_of(name) for name in due - {ANY}):
                yield f"event: changed\ndata: {json.dumps(keys)}\n\n"


class _EndingServer(uvicorn.Server):
    """Ends open streams when it is told to end, so that it need not wait for them."""

    def __init__(self, config: uvicorn.Config, end: Callable[[], None], started: Callable[[], object] | None) -> None:
        super().__init__(config)
        self._end, self._started = end, started

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end."""
        self._end()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        if self._started is not None and not self.should_exit:
            self._started()


def _computed(act: Callable[..., Any], *given: Any) -> Any:  # noqa: ANN401  # whatever it returns
    """Return what a call in a thread returns, one of which computes at a time."""
    with COMPUTING:
        return act(*given)


def _json_route(act: Callable[[Request, Viewer], Any]) -> Callable[[Request], Any]:
    """Return an endpoint that answers with the values of a call, as JSON, or with its response."""

    def answered(request: Request) -> Response:
        made = act(request, request.state.viewer)
        return made if isinstance(made, Response) else _packed(request, json.dumps(made).encode())

    async def endpoint(request: Request) -> Response:
        answer: Response = await to_thread.run_sync(_computed, answered, request)
        return answer

    return endpoint


def _change_route(act: Callable[[Viewer, Request, Mapping[str, Any]], dict[str, Any]]) -> Callable[[Request], Any]:
    """Return an endpoint for a change: JSON, with what only our own page knows."""

    async def endpoint(request: Request) -> Response:
        sent = request.headers.get("squidbot-csrf", "").encode("latin-1", "replace")
        if not compare_digest(sent, request.state.csrf.encode()):
            raise HTTPException(403, "refused: the page that asks is not this server's, or too old; load it again")
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise HTTPException(415, "send JSON")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST_BODY_BYTES:
                raise HTTPException(413, f"send at most {MOST_BODY_BYTES:,} bytes")
        try:
            given = json.loads(body)
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, dict):
            raise HTTPException(400, "send one JSON object")
        made = await to_thread.run_sync(_computed, act, request.state.viewer, request, given)
        return _packed(request, json.dumps(made).encode())

    return endpoint


def _file_route(kind: str, text: Callable[[], str]) -> Callable[[Request], Any]:
    """Return an endpoint for a page, or for what belongs to one."""

    def made(request: Request) -> Response:
        return _packed(request, text().encode(), None, f"{kind}; charset=utf-8")

    async def endpoint(request: Request) -> Response:
        return await to_thread.run_sync(made, request)

    return endpoint


def _packed(
    request: Request, body: bytes, headers: dict[str, str] | None = None, kind: str = "application/json"
) -> Response:
    """Return a response, packed if that is worth it and the browser reads it."""
    headers = {"vary": "accept-encoding", **(headers or {})}
    if len(body) >= LEAST_PACKED_BYTES and "gzip" in request.headers.get("accept-encoding", "").lower():
        headers["content-encoding"] = "gzip"
        body = gzip.compress(body, 5)
    return Response(body, headers=headers, media_type=kind)


def _whole(text: str | None, usual: int) -> int:
    """Return a number of an address; `usual` for none, or a wrong one."""
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) <= 9 else usual


async def _refused(request: Request, error: Exception) -> Response:
    """Return the answer to a request that failed, with the reason; a store's own is for those who may see all of it."""
    status = next((code for kind, code in _STATUSES.items() if isinstance(error, kind)), 500)
    text = str(error)
    if status == 500 and request.state.viewer.is_limited and not isinstance(error, BusyError):
        _LOG.warning("view could not answer %s: %s", request.url.path, text)
        text = "the store could not be read or written; the log of the server says why"
    return Response(f"{text[:1_000]}\n".encode("utf-8", "replace"), status, media_type="text/plain")
