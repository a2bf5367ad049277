"""Who gets in: a one-time address, a user's token; and what a web page from elsewhere meets."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest

import squidbot
from squidbot.core.access import AccessTokens, UserDigest, digest_of
from squidbot.core.errors import ConfigError, DamagedStoreError
from squidbot.core.memories import SHARED, Scope
from squidbot.report.gate import MOST_LOGINS, Logins, Viewer
from squidbot.report.server import MOST_STREAMS_OF_A_USER, ReportServer, ViewOptions

from .serving import SECONDS, base_of, browser, csrf, served

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKENS = {user: f"token-of-{user}-{'x' * 20}" for user in ("ann", "ben")}
USERS = AccessTokens(tuple(UserDigest(user, digest_of(token.encode())) for user, token in TOKENS.items()))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store with a session of each of two users, and one of nobody."""
    monkeypatch.chdir(tmp_path)
    with squidbot.load({"store": {"path": "s.db"}}) as engine:
        for user in TOKENS:
            session = engine.session(f"{user}'s", scope=Scope(user=user))
            session.record({"role": "user", "content": f"The walrus of {user}"})
            session.memory({"action": "add", "text": f"{user} keeps walruses"})
        engine.session("nobody's").record({"role": "user", "content": "The walrus of nobody"})
    return "s.db"


@pytest.fixture
def server(store: str) -> Iterator[ReportServer]:
    """A server that writes nothing."""
    with served(store) as server:
        yield server


def test_an_address_lets_one_browser_in_once(server: ReportServer) -> None:
    """It becomes a cookie that no script reads and no other site sends, and leaves the address bar."""
    address = server.address()
    with httpx2.Client(timeout=SECONDS) as client:
        answer = client.get(address)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        cookie = answer.headers["set-cookie"]
        port = base_of(server).rpartition(":")[2]
        assert re.fullmatch(rf"squidbot_view_{port}=[\w-]{{40,}}; HttpOnly; SameSite=Strict; Path=/", cookie)
        assert "squidbot view" in client.get(base_of(server)).text
    again = httpx2.get(address, timeout=SECONDS)
    assert again.status_code == 401
    assert "Press Enter in the terminal" in again.text
    assert "set-cookie" not in again.headers


def test_nobody_gets_in_without_a_cookie(server: ReportServer) -> None:
    """Whatever is asked for: pages, what belongs to them, values, streams."""
    own = base_of(server)
    paths = ("/", "/page/view.js", "/api/me", "/api/sessions", "/api/events", "/session/YQ", "/nothing", "/?token=x")
    for path in paths:
        for cookie in ("", "squidbot_view=x", f"squidbot_view_{own.rpartition(':')[2]}=x", "\xfc=;;="):
            answer = httpx2.get(f"{own}{path}", headers={b"cookie": cookie.encode("latin-1")}, timeout=SECONDS)
            assert answer.status_code == 401, path
            assert "walrus" not in answer.text
    assert httpx2.head(server.address(), timeout=SECONDS).status_code == 401
    assert httpx2.post(f"{own}/login", data={"token": "x"}, headers={"origin": own}).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "evil.example"}, 403),
        ({"host": "127.0.0.1.evil.example:80"}, 403),
        ({"host": "localhost:9000"}, 200),  # a tunnel of ssh
        ({"host": "[::1]:80"}, 200),
        ({"host": "127.0.0.1:"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, 200),
    ],
)
def test_a_page_from_elsewhere_reads_nothing(server: ReportServer, headers: dict[str, str], status: int) -> None:
    """DNS rebinding, and pages of other sites; who opens an address from elsewhere may."""
    with browser(server) as client:
        cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        sent = {"cookie": cookie, **headers}
        answer = httpx2.get(f"{base_of(server)}/api/me", headers=sent, timeout=SECONDS)
        assert answer.status_code == status
        if status == 403:
            with client.stream("GET", "/api/events?list=1", headers=headers) as stream:
                assert stream.status_code == 403


def test_a_cookie_that_cannot_be_read_hides_no_other(server: ReportServer) -> None:
    """Other programs on this machine set cookies of every form; one of our name may be theirs."""
    with browser(server) as client:
        ((name, value),) = client.cookies.items()
    own, headers = base_of(server), [f'prefs={{"theme":"dark"}}; {name}={value}', f"\xfc=;;=; a b; {name} = {value} ;x"]
    headers += [f"{name}=other; {name}={value}", f'{name}="{value}; {name}={value}']
    for cookies in headers:
        answer = httpx2.get(f"{own}/api/me", headers={b"cookie": cookies.encode("latin-1")}, timeout=SECONDS)
        assert answer.status_code == 200, cookies
    for cookies in (f"x{name}={value}", f"{name}={value}x", f"{name}", f'a="; {name}=x"'):
        assert httpx2.get(f"{own}/api/me", headers={"cookie": cookies}, timeout=SECONDS).status_code == 401, cookies


URL = "https://view.example"


@pytest.mark.parametrize("keeps_host", [True, False])
def test_a_server_with_tls_stands_in_front(store: str, *, keeps_host: bool) -> None:
    """Whether it passes on the name that it is called by, or its own name for this server."""
    with served(store, users=USERS, scope=SHARED, writes=True, url=URL) as server:
        assert server.address() == f"{URL}/"
        own = f"http://127.0.0.1:{server.port}"
        host = {"host": "view.example"} if keeps_host else {}
        page = {**host, "origin": URL, "sec-fetch-site": "same-origin"}
        sent = {"token": TOKENS["ann"]}
        assert httpx2.get(own, headers=host, timeout=SECONDS).status_code == 401
        answer = httpx2.post(f"{own}/login", data=sent, headers=page, timeout=SECONDS)
        assert answer.status_code == 303, answer.text
        assert answer.headers["set-cookie"].endswith("; HttpOnly; SameSite=Strict; Path=/; Secure")
        logged = {"cookie": answer.headers["set-cookie"].partition(";")[0], **page}
        me = httpx2.get(f"{own}/api/me", headers=logged, timeout=SECONDS).json()
        assert me["user"] == "ann"
        change = logged | {"squidbot-csrf": me["csrf"]}
        assert httpx2.post(f"{own}/api/facts/forget", json={"id": "f-x"}, headers=change).status_code == 400
        for wrong in ("https://evil.example", "http://view.example", "https://view.example:444", "null"):
            foreign = change | {"origin": wrong}
            assert httpx2.post(f"{own}/api/facts/forget", json={"id": "f-x"}, headers=foreign).status_code == 403, wrong
            assert httpx2.post(f"{own}/login", data=sent, headers=page | {"origin": wrong}).status_code == 403, wrong
        for name in ("evil.example", "view.example.evil", "xview.example"):
            assert httpx2.get(own, headers={"host": name}, timeout=SECONDS).status_code == 403, name


def test_without_a_url_no_other_name_is_ours(store: str) -> None:
    """And the cookie is not for encrypted connections alone."""
    with served(store, users=USERS, scope=SHARED) as server:
        own, sent = base_of(server), {"token": TOKENS["ann"]}
        headers = {"host": "view.example", "origin": URL}
        assert httpx2.post(f"{own}/login", data=sent, headers=headers, timeout=SECONDS).status_code == 403
        answer = httpx2.post(f"{own}/login", data=sent, headers={"origin": own}, timeout=SECONDS)
        assert "Secure" not in answer.headers["set-cookie"]


def test_every_answer_has_the_headers_that_keep_others_out(server: ReportServer) -> None:
    """Refusals and redirections, too."""
    with browser(server) as client:
        answers = [client.get(path) for path in ("/", "/api/me", "/nothing", "/page/view.js")]
        answers += [httpx2.get(server.address(), timeout=SECONDS), httpx2.get(base_of(server), timeout=SECONDS)]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';")
        assert policy.endswith("base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in answer.headers


def test_without_write_nothing_can_be_changed(server: ReportServer) -> None:
    """The ways to change do not exist."""
    with browser(server) as client:
        assert client.get("/api/me").json() == {
            "user": client.get("/api/me").json()["user"],
            "limited": False,
            "writes": False,
            "status": False,
            "csrf": None,
        }
        headers = {"origin": base_of(server), "squidbot-csrf": "x"}
        for path in ("/api/facts/forget", "/api/session/YQ/forget", "/api/facts", "/"):
            assert client.post(path, json={}, headers=headers).status_code in {404, 405}, path
            assert client.delete(path, headers=headers).status_code in {404, 405}, path


def test_a_change_has_to_come_from_our_own_page(store: str) -> None:
    """From this origin, with what only the page knows, as JSON; another browser's does not count."""
    with served(store, writes=True, scope=Scope(user="ann")) as server, browser(server) as client:
        with browser(server) as other:
            others = csrf(other)
        good = csrf(client)
        (fact,) = client.get("/api/facts").json()["facts"]
        sent = {"id": fact["memory_id"]}
        wrong = [
            {"squidbot-csrf": good["squidbot-csrf"]},  # from nowhere
            good | {"origin": "http://evil.example"},
            good | {"sec-fetch-site": "cross-site"},
            good | {"squidbot-csrf": others["squidbot-csrf"]},
            good | {"squidbot-csrf": ""},
            {"origin": good["origin"]},
        ]
        for headers in wrong:
            assert client.post("/api/facts/forget", json=sent, headers=headers).status_code == 403, headers
        text = good | {"content-type": "text/plain"}
        assert client.post("/api/facts/forget", content=b"{}", headers=text).status_code == 415
        as_json = good | {"content-type": "application/json"}
        for body, status in ((b"[1]", 400), (b"{", 400), (b"[" * 100_000, 413), (b"[" * 60_000, 400), (b"{}", 400)):
            assert client.post("/api/facts/forget", content=body, headers=as_json).status_code == status
        assert client.get("/api/facts/forget").status_code == 405
        assert len(client.get("/api/facts").json()["facts"]) == 1
        assert client.post("/api/facts/forget", json=sent, headers=good).json() == {"forgotten": fact["memory_id"]}
        assert client.get("/api/facts").json()["facts"] == []
        assert client.post("/api/facts/forget", json=sent, headers=good).status_code == 400


def test_a_user_s_token_shows_that_user_s_sessions_and_facts(store: str) -> None:
    """As the MCP server does; others' sessions do not exist, by whatever way they are asked for."""
    with (
        served(store, users=USERS, scope=SHARED, writes=True) as server,
        browser(server, token=TOKENS["ann"]) as ann,
        browser(server, token=TOKENS["ben"]) as ben,
    ):
        for client, user, other in ((ann, "ann", "ben"), (ben, "ben", "ann")):
            (one,) = client.get("/api/sessions").json()["sessions"]
            assert one["session"] == f"{user}'s"
            hits = client.get("/api/search?q=walrus").json()["hits"]
            assert [hit["session"] for hit in hits] == [f"{user}'s"]
            (fact,) = client.get("/api/facts").json()["facts"]
            assert fact["text"] == f"{user} keeps walruses"
            me = client.get("/api/me").json()
            assert (me["user"], me["limited"], me["status"]) == (user, True, False)
            for path in (f"/api/facts?user={other}", "/api/facts?user=", f"/api/journal?user={other}", "/api/status"):
                assert client.get(path).status_code == 404, path
        (mine,) = ann.get("/api/sessions").json()["sessions"]
        (fact,) = ann.get("/api/facts").json()["facts"]
        key = mine["key"]
        for path in ("figures", "texts/0", "goals"):
            assert ben.get(f"/api/session/{key}/{path}").status_code == 404, path
        assert ben.get(f"/api/events?session={key}").status_code == 404
        assert ben.post(f"/api/session/{key}/forget", json={"messages": [0]}, headers=csrf(ben)).status_code == 404
        for sent in ({"id": fact["memory_id"]}, {"id": fact["memory_id"], "user": "ann"}):
            assert ben.post("/api/facts/forget", json=sent, headers=csrf(ben)).status_code in {400, 404}
        assert len(ann.get("/api/facts").json()["facts"]) == 1


@pytest.mark.parametrize("users", [None, USERS])
def test_a_refusal_says_how_to_log_in(store: str, users: AccessTokens | None) -> None:
    """A script shows it: with users' tokens there is a form, without any an address in the terminal."""
    with served(store, users=users, scope=SHARED) as server:
        for path in ("/", "/api/me"):
            answer = httpx2.get(f"{base_of(server)}{path}", timeout=SECONDS)
            assert answer.headers["squidbot-login"] == ("token" if users else "address")


def test_a_damaged_session_does_not_tell_a_user_where_the_store_is(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only that it is damaged."""

    def damaged(*_: object) -> None:
        raise DamagedStoreError(f"{Path(store).absolute()}: a record does not match its checksum")

    monkeypatch.setattr("squidbot.report.listing.parent_of", damaged)
    for users, token in ((USERS, TOKENS["ann"]), (None, "")):
        with served(store, users=users, scope=SHARED) as server, browser(server, token=token) as client:
            row = client.get("/api/sessions").json()["sessions"][0]
            assert bool(row["damaged"])
            assert (str(Path(store).absolute()) in row["damaged"]) is (users is None)


def test_a_wrong_token_lets_nobody_in(store: str) -> None:
    """The form says nothing but that; what is sent is not shown again."""
    with served(store, users=USERS, scope=SHARED) as server:
        own = base_of(server)
        assert server.address() == f"{own}/"
        assert 'name="token"' in httpx2.get(own, timeout=SECONDS).text
        for sent in ("", "x", TOKENS["ann"][:-1], digest_of(TOKENS["ann"].encode()), "x" * 50_000, "\u2603"):
            answer = httpx2.post(f"{own}/login", data={"token": sent}, headers={"origin": own}, timeout=SECONDS)
            assert answer.status_code == 401
            assert len(sent) < 2 or sent not in answer.text
        foreign = httpx2.post(f"{own}/login", data={"token": TOKENS["ann"]}, headers={"origin": "http://evil.example"})
        assert foreign.status_code == 403


def test_other_machines_need_tokens(store: str) -> None:
    """Without any, such a server is not made."""
    with pytest.raises(ConfigError, match="other machines can connect"):
        ReportServer(None, ViewOptions(SHARED, host="0.0.0.0"))  # type: ignore[arg-type]  # noqa: S104  # never opened
    assert store


def test_one_user_s_logins_and_pages_are_no_other_s(store: str) -> None:
    """However often a user logs in, or opens pages."""
    logins, ann, ben = Logins(), Viewer(Scope(user="ann"), is_limited=True), Viewer(Scope(user="ben"), is_limited=True)
    first, other = logins.new_cookie(ann), logins.new_cookie(ben)
    cookies = [logins.new_cookie(ben) for _ in range(1_000)]
    assert logins.viewer(first) == ann
    assert logins.viewer(other) is None
    assert sum(logins.viewer(cookie) == ben for cookie in cookies) == MOST_LOGINS
    with (
        served(store, users=USERS, scope=SHARED) as server,
        browser(server, token=TOKENS["ann"]) as one,
        browser(server, token=TOKENS["ben"]) as two,
        ExitStack() as pages,
    ):
        codes = [pages.enter_context(two.stream("GET", "/api/events?list=1")).status_code for _ in range(40)]
        assert codes == [200] * MOST_STREAMS_OF_A_USER + [503] * (40 - MOST_STREAMS_OF_A_USER)
        with one.stream("GET", "/api/events?list=1") as page:
            assert page.status_code == 200


def test_logins_are_bounded_and_known_by_digests() -> None:
    """A thousand logins: the oldest end; nothing in memory is a token or a cookie."""
    logins, viewer = Logins(), Viewer(SHARED)
    first = logins.new_cookie(viewer)
    tokens = [logins.new_token(viewer) for _ in range(1_000)]
    cookies = [logins.new_cookie(viewer) for _ in range(1_000)]
    assert logins.viewer(first) is None
    assert logins.enter(tokens[0]) is None
    assert logins.viewer(cookies[-1]) == viewer
    assert len({logins.csrf(cookie) for cookie in cookies}) == 1_000
    kept = str(vars(logins))
    assert not any(secret in kept for secret in (*tokens, *cookies))
