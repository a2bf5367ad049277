"""Who may look: a one-time address or a user's token becomes a cookie; a web page from elsewhere reaches nothing."""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

from squidbot.core.access import digest_of, is_loopback

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Message, Receive, Send
    from starlette.types import Scope as Connection

    from squidbot.core.access import AccessTokens
    from squidbot.core.memories import Scope

TOKEN_BYTES: Final = 32
# How many browsers of each user stay logged in; the oldest login ends first.
MOST_LOGINS: Final = 64
# How many cookies of one name are tried.
MOST_VALUES: Final = 16
# How many one-time addresses are open at once.
MOST_ADDRESSES: Final = 16
# The largest body of a login, in bytes.
MOST_FORM_BYTES: Final = 4_096
_POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    b"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS: Final = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),  # with "no-referrer", browsers send the form of the login from origin "null"
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_PAGE: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    "<title>squidbot view</title><h1>squidbot view</h1>{}</html>"
)
NO_COOKIE: Final = _PAGE.format("<p>Open the address that <code>squidbot view</code> printed in its terminal.</p>")
USED: Final = _PAGE.format(
    "<p>This address has been used, or is of an earlier run: each works once.</p>"
    "<p>Press Enter in the terminal of <code>squidbot view</code> for a new one, or restart it.</p>"
)
LOGIN: Final = _PAGE.format(
    '<form method="post" action="/login"><p><label>Your token <input name="token" type="password" required autofocus '
    'autocomplete="current-password"></label> <button>Log in</button></p></form>'
)
REFUSED: Final = _PAGE.format('<p>Nobody has this token.</p><p><a href="/">Try again</a></p>')


class Viewer(NamedTuple):
    """Who looks: whose durable facts and journal, and whether other users' data are out of reach."""

    scope: Scope
    is_limited: bool = False


class Logins:
    """The one-time addresses that are open, and the browsers that are logged in. Threads may share it.

    It knows digests only: a copy of its memory lets nobody in.
    """

    def __init__(self) -> None:
        """Know nobody yet."""
        self._lock = Lock()
        self._addresses = OrderedDict[str, Viewer]()
        self._cookies = OrderedDict[str, Viewer]()
        self._secret = secrets.token_bytes(TOKEN_BYTES)

    def new_token(self, viewer: Viewer) -> str:
        """Return a token that lets one browser in, once."""
        token = secrets.token_urlsafe(TOKEN_BYTES)
        with self._lock:
            self._addresses[digest_of(token.encode())] = viewer
            while len(self._addresses) > MOST_ADDRESSES:
                self._addresses.popitem(last=False)
        return token

    def enter(self, token: str) -> str | None:
        """Return a cookie for a one-time token, which ends with this; `None` if it is none."""
        with self._lock:
            viewer = self._addresses.pop(digest_of(token.encode("utf-8", "replace")), None)
        return None if viewer is None else self.new_cookie(viewer)

    def new_cookie(self, viewer: Viewer) -> str:
        """Return the value of a new cookie."""
        cookie = secrets.token_urlsafe(TOKEN_BYTES)
        with self._lock:
            self._cookies[digest_of(cookie.encode())] = viewer
            same = [digest for digest, other in self._cookies.items() if other == viewer]
            for digest in same[:-MOST_LOGINS]:
                del self._cookies[digest]
        return cookie

    def viewer(self, cookie: str) -> Viewer | None:
        """Return whose browser has a cookie; `None` for an unknown one."""
        digest = digest_of(cookie.encode("utf-8", "replace"))
        with self._lock:
            if digest in self._cookies:
                self._cookies.move_to_end(digest)
            return self._cookies.get(digest)

    def csrf(self, cookie: str) -> str:
        """Return what a page sends with each change, to show that it is ours: it belongs to the cookie alone."""
        return hmac.new(self._secret, cookie.encode("utf-8", "replace"), "sha256").hexdigest()


class _Asked(NamedTuple):
    """The parts of a request that decide whether it is let in; "" for a header that is missing or repeated."""

    method: str
    path: str
    query: str
    host: str
    origin: str
    site: str
    is_navigation: bool
    cookies: str

    @classmethod
    def of(cls, connection: Connection) -> _Asked:
        headers = _texts(connection["headers"])
        navigates = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        names = ("host", "origin", "sec-fetch-site")
        host, origin, site = (headers.get(name, "") for name in names)
        query = connection["query_string"].decode("latin-1")
        method, path = connection["method"], connection["path"]
        return cls(method, path, query, host, origin, site, navigates, headers.get("cookie", ""))

    @property
    def is_read(self) -> bool:
        return self.method in {"GET", "HEAD"}

    def is_foreign(self, own: str) -> bool:
        """Return whether a page from elsewhere asks: reading by opening an address is allowed, nothing else is.

        `own` is the origin at which a server in front is reached; "" for none.
        """
        if self.origin and self.origin != own:
            is_named = bool(own) and self.host.lower() == own.partition("://")[2]
            if is_named or self.origin.partition("://")[2] != self.host:
                return True
        if self.site and self.site not in {"same-origin", "none"}:
            return not (self.is_read and self.is_navigation)
        return not self.is_read and not self.origin and self.site != "same-origin"

    def values(self, name: str) -> list[str]:
        """Return the values of the cookies of a name: several where a page of another path has set one, too."""
        pairs = [part.partition("=") for part in self.cookies.split(";")]
        return [value.strip() for own, _, value in pairs if own.strip() == name and value.strip()][:MOST_VALUES]


def _texts(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers as texts by name; a repeated one counts as none, but for cookies."""
    found: dict[str, str] = {}
    repeated = set[str]()
    for raw_name, raw in headers:
        name, value = raw_name.decode("latin-1").lower(), raw.decode("latin-1")
        if name == "cookie" and name in found:
            value = f"{found[name]}; {value}"
        elif name in found:
            repeated.add(name)
        found[name] = value
    return {name: value for name, value in found.items() if name not in repeated}


class BrowserGate:
    """Passes the requests of browsers that are logged in to an application, and answers the others itself.

    The application finds the viewer in `state.viewer`, and in `state.csrf` what a change has to come with.
    """

    def __init__(  # noqa: PLR0913  # what a gate needs
        self,
        app: ASGIApp,
        logins: Logins,
        *,
        host: str,
        port: int,
        users: AccessTokens | None,
        scope: Scope,
        url: str = "",
    ) -> None:
        """Take the application, the logins, where the server listens, and, if users have tokens, these.

        `scope` says whose facts are seen; with tokens, each user takes the place of the scope's. `url` is the origin at
        which browsers reach a server in front of this one, such as `https://view.example`; "" for none.
        """
        self._app, self._logins, self._users, self._scope = app, logins, users, scope
        self._cookie = f"squidbot_view_{port}"
        own = f"[{host}]" if ":" in host else host
        names = {"127.0.0.1", "localhost", "[::1]", own.lower()}
        # Elsewhere the server does not know its own names, and a page of another name has no cookie.
        self._hosts = names | {_split(urlsplit(url).netloc)} if url or is_loopback(host) else None
        self._url, self._secure = url, "; Secure" if url.startswith("https:") else ""

    async def __call__(self, connection: Connection, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if connection["type"] == "lifespan":
            await self._app(connection, receive, send)
            return
        if connection["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        asked = _Asked.of(connection)
        known = [(value, self._logins.viewer(value)) for value in asked.values(self._cookie)]
        cookie, viewer = next((one for one in known if one[1] is not None), ("", None))
        if not self._is_ours(asked.host):
            await _answer(guarded, 403, "not a name of this server: open it as 127.0.0.1 or localhost, or pass --url\n")
        elif asked.is_foreign(self._url):
            await _answer(guarded, 403, "refused: a page from elsewhere asks\n")
        elif asked.path == "/" and asked.method == "GET" and "token" in (given := parse_qs(asked.query)):
            await self._entered(guarded, self._logins.enter(given["token"][0]))
        elif asked.path == "/login" and asked.method == "POST" and self._users:
            await self._log_in(guarded, receive)
        elif viewer is None:
            way = b"token" if self._users else b"address"
            await _answer(guarded, 401, LOGIN if self._users else NO_COOKIE, (b"squidbot-login", way))
        else:
            connection.setdefault("state", {}).update(viewer=viewer, csrf=self._logins.csrf(cookie))
            await self._app(connection, receive, guarded)

    def _is_ours(self, host: str) -> bool:
        return bool(host) if self._hosts is None else _split(host) in self._hosts

    async def _entered(self, send: Send, cookie: str | None) -> None:
        if cookie is None:
            await _answer(send, 401, USED)
            return
        value = f"{self._cookie}={cookie}; HttpOnly; SameSite=Strict; Path=/{self._secure}"
        await _answer(send, 303, "", (b"location", b"/"), (b"set-cookie", value.encode("ascii")))

    async def _log_in(self, send: Send, receive: Receive) -> None:
        """Answer a form with a user's token."""
        body, more = b"", True
        while more and len(body) <= MOST_FORM_BYTES:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        given = parse_qs(body[:MOST_FORM_BYTES].decode("latin-1")).get("token", [""])[0].strip()
        user = self._users.user_of(given.encode("utf-8", "replace")) if self._users else None
        if user is None:
            await _answer(send, 401, REFUSED)
            return
        viewer = Viewer(self._scope._replace(user=user), is_limited=True)
        await self._entered(send, self._logins.new_cookie(viewer))


def _split(host: str) -> str:
    """Return the name in a Host header, without the port, in lower case."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isascii() and port.isdigit() else host).lower()


async def _answer(send: Send, status: int, text: str, *headers: tuple[bytes, bytes]) -> None:
    body = text.encode()
    kind = b"text/html; charset=utf-8" if text.startswith("<") else b"text/plain; charset=utf-8"
    own = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": body})
