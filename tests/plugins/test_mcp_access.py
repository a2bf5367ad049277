"""`squidbot mcp` for several users over HTTP: who gets in, and what each of them sees."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import subprocess
import sys
import unicodedata
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

import squidbot
from squidbot.core.access import AccessTokens, UserDigest, digest_of, read_digests
from squidbot.core.errors import ConfigError
from squidbot.core.memories import NOBODY
from squidbot.plugins.mcp import Squidbot
from squidbot.plugins.store_tools import HIDDEN_SECONDS, SessionOwners, StoreTools
from squidbot.services.forget import forget_session

from ..ports import free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from squidbot.core.memories import Scope

ROOT = str(Path(__file__).parents[2])
SERVE = "import sys; sys.path.insert(0, sys.argv.pop(1)); from squidbot.cli import main; main()"
SECONDS = 240
# Users whose names look alike, too.
USERS = ("ann", "ben", "Ann", "\u0430nn", "ann@user:ben")
TOKENS = {user: f"token-{number}-{'x' * 20}" for number, user in enumerate(USERS)}
SECRETS = {user: f"walrus{number}secret" for number, user in enumerate(USERS)}
# Users may share a conversation of another host.
SETTINGS = (
    '[store]\npath = "mem.db"\n[history]\nisolation = "global"\n[goals]\ntool = true\n'
    '[journal]\nenabled = true\nfolder = "journal"\n'
)
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
HEADERS = {"accept": "application/json, text/event-stream"}


def finish(act: Coroutine[Any, Any, object]) -> None:
    """Run it to its end, in a loop of its own."""

    async def timed() -> None:
        await asyncio.wait_for(act, SECONDS)

    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        runner.run(timed())


def lines(*users: str) -> str:
    """Return a file of digests."""
    return "".join(f"{user} {digest_of(TOKENS[user].encode())}\n" for user in users)


@asynccontextmanager
async def listening(folder: Path, *arguments: str, host: str = "127.0.0.1", **variables: str) -> AsyncIterator[str]:
    """Start the command in a folder, and give its address once it answers; its output is in the file `log`."""
    environment = {name: value for name, value in os.environ.items() if name != "SQUIDBOT_MCP_TOKEN"} | variables
    with free_port() as port:
        args = ["-c", SERVE, ROOT, "mcp", "--http", f"{host}:{port}", *arguments]
        with (folder / "log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                sys.executable, *args, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT
            )
        try:
            for _ in range(SECONDS * 10):
                with suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.close()
                    break
                assert process.returncode is None, (folder / "log").read_text()
                await asyncio.sleep(0.1)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


@asynccontextmanager
async def client_of(address: str, token: str) -> AsyncIterator[Client]:
    """Give a client that sends a token."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=SECONDS) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        yield client


async def text_of(client: Client, tool: str, **arguments: object) -> str:
    """Return what a tool answers, an error or not."""
    result: Any = await client.call_tool(tool, arguments)
    return "\n".join(content.text for content in result.content)


async def overview_of(client: Client, session_id: str) -> str:
    """Return what the resource says."""
    try:
        read: Any = await client.read_resource(f"squid://{session_id}/overview")
    except Exception as error:  # noqa: BLE001  # whatever the server says of it
        return str(error)
    return "\n".join(content.text for content in read.contents)


# -- who gets in ------------------------------------------------------------------------------------------------------


def test_only_a_token_gets_in_and_nothing_says_why(tmp_path: Path) -> None:
    """Every wrong credential gets the same bare answer, on every path; the log has no token."""
    (tmp_path / "tokens").write_text(lines("ann"), encoding="utf-8")
    own, digest = TOKENS["ann"], digest_of(TOKENS["ann"].encode())
    wrong: list[list[tuple[str, str]]] = [[]]
    wrong += [
        [("Authorization", value)]
        for value in (
            "",
            "Bearer",
            "Bearer =",
            f"Basic {own}",
            own,
            f"Bearer {own}x",
            f"Bearer {own[:-1]}",
            f"Bearer {own.upper()}",
            f"Bearer {digest}",
            f"Bearer ann {own}",
            f"Bearer {TOKENS['ben']}",
            "Bearer \xfcbel",
            f"Bearer {'x' * 20_000}",
        )
    ]
    wrong.append([("Authorization", f"Bearer {TOKENS['ben']}"), ("Authorization", f"Bearer {own}")])

    async def run() -> None:
        async with listening(tmp_path, "--store", "mem.db", "--tokens", "tokens") as address:
            async with httpx2.AsyncClient(timeout=SECONDS) as http:
                for sent, method, path in itertools.product(wrong, ("POST", "GET", "DELETE", "OPTIONS"), ("", "/../x")):
                    headers = [(name, value.encode("latin-1")) for name, value in (*HEADERS.items(), *sent)]
                    headers = [(name.encode(), value) for name, value in headers]  # type: ignore[misc]
                    answer = await http.request(method, address + path, headers=headers, json=INITIALIZE)
                    assert answer.status_code == 401, (sent, method, path)
                    assert answer.headers["www-authenticate"] == "Bearer"
                    assert answer.content == b""
                good = {**HEADERS, "authorization": f"bEaReR  {own}"}
                assert (await http.post(address, headers=good, json=INITIALIZE)).status_code == 200
            async with client_of(address, own) as client:
                assert "conversations: 0" in await text_of(client, "status")

    finish(run())
    log = (tmp_path / "log").read_text()
    assert not re.search(r"token-|xxxx|Traceback", log), log


def test_an_mcp_session_is_of_the_user_who_opened_it(tmp_path: Path) -> None:
    """With another user's token, it does not exist."""
    (tmp_path / "tokens").write_text(lines("ann", "ben"), encoding="utf-8")

    async def run() -> None:
        started = listening(tmp_path, "--store", "mem.db", "--tokens", "tokens")
        async with started as address, httpx2.AsyncClient(timeout=SECONDS) as http:
            ann, ben = ({**HEADERS, "authorization": f"Bearer {TOKENS[user]}"} for user in ("ann", "ben"))
            opened = await http.post(address, headers=ann, json=INITIALIZE)
            named = {"mcp-session-id": opened.headers["mcp-session-id"]}
            asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
            assert (await http.post(address, headers=ann | named, json=asked)).status_code == 200
            assert (await http.post(address, headers=ben | named, json=asked)).status_code == 404
            assert (await http.delete(address, headers=ben | named)).status_code == 404
            assert (await http.post(address, headers=ann | named, json=asked)).status_code == 200

    finish(run())


def test_the_environment_may_hold_one_user_s_token(tmp_path: Path) -> None:
    """Beside those of a file, or alone; a user may have several."""
    spare = f"{TOKENS['ann']}-spare"
    (tmp_path / "tokens").write_text(lines("ann") + f"ann {digest_of(spare.encode())}  # laptop\n", encoding="utf-8")

    async def run() -> None:
        arguments = ("--store", "mem.db", "--user", "ben", "--tokens", "tokens")
        async with listening(tmp_path, *arguments, SQUIDBOT_MCP_TOKEN=TOKENS["ben"]) as address:
            async with client_of(address, TOKENS["ann"]) as client:
                await text_of(client, "memory_add", text="Ann keeps bees.")
            async with client_of(address, spare) as client:
                assert "bees" in await text_of(client, "memory_list")
            async with client_of(address, TOKENS["ben"]) as client:
                assert "bees" not in await text_of(client, "memory_list")

    finish(run())


@pytest.mark.parametrize("with_tokens", [True, False])
def test_a_web_page_can_not_reach_a_server_on_this_machine(tmp_path: Path, *, with_tokens: bool) -> None:
    """DNS rebinding: a page's own name in Host or Origin is refused, on every loopback address."""
    (tmp_path / "tokens").write_text(lines("ann"), encoding="utf-8")
    arguments = ("--tokens", "tokens") if with_tokens else ()

    async def run() -> None:
        started = listening(tmp_path, "--store", "mem.db", *arguments)
        async with started as address, httpx2.AsyncClient(timeout=SECONDS) as http:
            headers = {**HEADERS, "authorization": f"Bearer {TOKENS['ann']}"}
            for more, status in (
                ({}, 200),
                ({"host": "evil.example"}, 421),
                ({"host": "127.0.0.1.evil.example:80"}, 421),
                ({"origin": "http://evil.example"}, 403),
                ({"origin": "null"}, 403),
                ({"origin": "http://localhost:3000"}, 200),
            ):
                answer = await http.post(address, headers=headers | more, json=INITIALIZE)
                assert answer.status_code == status, more

    finish(run())


def test_other_machines_need_a_token(tmp_path: Path) -> None:
    """With one, the server listens everywhere, and says that nothing is encrypted; without, it does not start."""
    (tmp_path / "tokens").write_text(lines("ann"), encoding="utf-8")

    async def run() -> None:
        async with listening(tmp_path, "--store", "mem.db", "--tokens", "tokens", host="0.0.0.0") as address:  # noqa: S104
            async with client_of(address, TOKENS["ann"]) as client:
                assert "conversations: 0" in await text_of(client, "status")
            async with httpx2.AsyncClient() as http:
                assert (await http.post(address, headers=HEADERS, json=INITIALIZE)).status_code == 401

    finish(run())
    log = (tmp_path / "log").read_text()
    assert "is not encrypted" in log
    assert re.search(r"^squidbot: serves http://0\.0\.0\.0:\d+/mcp\. Ctrl-C ends it\.$", log, re.MULTILINE)
    with pytest.raises(ConfigError, match="users need tokens: pass --tokens FILE"):
        Squidbot(tmp_path / "mem.db").run("0.0.0.0", 1)  # noqa: S104


# -- what each sees ---------------------------------------------------------------------------------------------------


def say(engine: squidbot.Engine, session_id: str, scope: Scope, text: str) -> None:
    """Record a turn, as another host does."""
    engine.session(session_id, scope=scope).record(
        {"role": "user", "content": text}, {"role": "assistant", "content": "Noted."}
    )


def recorded(folder: Path) -> None:
    """Record conversations of all users, of several and of none, as other hosts do."""
    with squidbot.load(folder / "squidbot.toml") as engine:
        for number, user in enumerate(USERS):
            own = squidbot.Scope(user=user, channel="chat", bot="helper")
            say(engine, f"chat-{number}", own, f"My word is {SECRETS[user]}.")
            say(engine, "group", own, f"All: my word is {SECRETS[user]}.")
            say(engine, f"late-{number}", NOBODY, "walrusnobody")
            say(engine, f"late-{number}", own, SECRETS[user])
            for other in USERS[:2]:
                # An id as the server makes them, of somebody else.
                say(engine, f"trap@user:{other}", squidbot.Scope(user="dan"), "walrusdan")
        say(engine, "nobody", NOBODY, "walrusnobody")
        engine.continued("group", "heir", scope=squidbot.Scope(user=USERS[-1]))
        say(engine, "heir", squidbot.Scope(user=USERS[-1]), SECRETS[USERS[-1]])
        firm = squidbot.Scope(tenant="firm", user="ann")
        say(engine, "tenant", firm, "walrustenant")


def alike(session_id: str) -> list[str]:
    """Return ids that look like one, or mean it somewhere else."""
    wide = "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in session_id)
    return [
        session_id,
        session_id.upper(),
        session_id.title(),
        wide,
        unicodedata.normalize("NFD", session_id),
        session_id.replace("-", "\u2010"),
        session_id.replace("a", "\u0430"),
        *(
            f"{session_id}{behind}"
            for behind in (" ", "/", "\n", "\t", "\0", "%", "*", "'--", "\u200b", "#m0", "@user:")
        ),
        *(f"{before}{session_id}" for before in (" ", "./", "../", "/", "x/../", "\ufeff", "%", "squid://")),
        *(f"{session_id}@user:{user}" for user in USERS),
        session_id.replace("-", "%2D"),
    ]


ODD = [
    "",
    " ",
    ".",
    "..",
    "../..",
    "%",
    "_",
    "*",
    "\0",
    "'",
    '" OR 1=1',
    "@user:",
    "@user:ann",
    "x" * 1_024,
    "x" * 9_999,
]


async def everything(client: Client, ids: list[str], facts: list[str]) -> str:
    """Return all that a client gets to read by calling each tool with other users' ids."""
    read = [
        await text_of(client, "status"),
        await text_of(client, "memory_list"),
        await text_of(client, "memory_list", past=True),
    ]
    for words in ("walrus", "word", "my word is", "Noted", *SECRETS.values()):
        read.append(await text_of(client, "history_search", query=words))
        read += [await text_of(client, "memory_search", query=words, category=each) for each in ("", "core", "journal")]
    for session_id in ids:
        read.append(await text_of(client, "history_recall", conversation_id=session_id, id="m0-m9"))
        read.append(await text_of(client, "history_search", conversation_id=session_id, query="walrus word Noted"))
        for change in ({"action": "show"}, {"action": "next", "text": "look"}):
            read.append(await text_of(client, "goal", conversation_id=session_id, **change))
        read.append(await overview_of(client, session_id))
    for fact in facts:
        read.append(await text_of(client, "memory_forget", id=fact))
        read.append(await text_of(client, "memory_add", text="The bees are away.", replaces=fact))
        read.append(await text_of(client, "memory_list", after=fact))
    read += [await text_of(client, "list_journal_entries", **more) for more in ({}, {"limit": 50}, {"day": "../x"})]
    read.append(await text_of(client, "journal_status"))
    return "\n".join(read)


def without_queries(text: str) -> str:
    """Return answers without the words that were asked for."""
    return re.sub(r" for: .*", "", text)


@pytest.mark.slow
def test_no_tool_tells_of_another_user(tmp_path: Path) -> None:
    """Every tool, every id of others and what looks like it: no secret word, and nothing of theirs is changed."""
    (tmp_path / "squidbot.toml").write_text(SETTINGS, encoding="utf-8")
    (tmp_path / "tokens").write_text(lines(*USERS), encoding="utf-8")
    recorded(tmp_path)

    async def run() -> None:
        async with listening(tmp_path, "--config", "squidbot.toml", "--tokens", "tokens") as address:
            facts: dict[str, str] = {}
            for user in USERS:
                async with client_of(address, TOKENS[user]) as client:
                    facts[user] = await fill(client, user)
            for user in USERS[:2]:
                others = [number for number, other in enumerate(USERS) if other != user]
                ids = [f"{name}-{number}" for number in others for name in ("chat", "late")]
                ids = [
                    *ids,
                    *(f"notes@user:{quote(USERS[number])}" for number in others),
                    "group",
                    "heir",
                    "tenant",
                    "nobody",
                    "trap",
                ]
                ids = [*dict.fromkeys(each for one in ids[:1] for each in alike(one)), *ids, *ODD]
                async with client_of(address, TOKENS[user]) as client:
                    read = await everything(client, ids, [facts[other] for other in USERS if other != user])
                    told = without_queries(read)
                    for secret in {*SECRETS.values(), "walrusnobody", "walrusdan", "walrustenant"} - {SECRETS[user]}:
                        assert secret not in told, (user, secret, told[max(0, told.find(secret) - 300) :][:600])
                    assert SECRETS[user] in told
                    assert "conversations: 2, newest first" in read
            for user in USERS:
                async with client_of(address, TOKENS[user]) as client:
                    assert SECRETS[user] in await text_of(client, "memory_list")
                    shown = await text_of(client, "goal", conversation_id="notes", action="show")
                    assert f"next: Find {SECRETS[user]}" in shown

    finish(run())


async def fill(client: Client, user: str) -> str:
    """Keep a user's secret word wherever a tool keeps anything; return the id of the fact."""
    secret = SECRETS[user]
    added = await text_of(client, "memory_add", text=f"The word of this user is {secret}.")
    said = [{"role": "user", "text": f"My word is {secret}."}]
    kept = await text_of(client, "history_append", conversation_id="notes", key="k", messages=said)
    assert kept.startswith("[recorded as m0 of notes;"), "each has one of this name"
    for action, text in (("set", f"My word is {secret}."), ("next", f"Find {secret}")):
        assert secret in await text_of(client, "goal", conversation_id="notes", action=action, text=text)
    assert "entry 1 of" in await text_of(client, "add_journal_entry", summary=f"Found {secret}")
    found = await text_of(client, "history_search", query="word")
    assert re.search(rf"notes m0 user.*{secret}", found)
    return next(word.strip(".") for word in added.split() if word.startswith("f-"))


def test_another_user_s_conversation_answers_as_one_that_does_not_exist(tmp_path: Path) -> None:
    """Word for word, but for the id; a message for it begins one of the user's own."""
    (tmp_path / "squidbot.toml").write_text(SETTINGS, encoding="utf-8")
    (tmp_path / "tokens").write_text(lines("ann", "ben"), encoding="utf-8")
    recorded(tmp_path)

    async def answers(client: Client, session_id: str) -> str:
        """Return what is told of a conversation, its id left out."""
        read = [
            await text_of(client, "history_recall", conversation_id=session_id, id="m0"),
            await text_of(client, "history_search", conversation_id=session_id, query="word"),
            await text_of(client, "goal", conversation_id=session_id, action="show"),
            await overview_of(client, session_id),
            await text_of(client, "status"),
        ]
        return json.dumps(read).replace(session_id, "ID")

    async def appended(client: Client, session_id: str) -> str:
        said = [{"role": "user", "text": "Hello."}]
        sent = [
            await text_of(client, "history_append", conversation_id=session_id, key="k", messages=said)
            for _ in range(2)
        ]
        read = await text_of(client, "history_recall", conversation_id=session_id, id="m0")
        listed = await text_of(client, "status")
        told = json.dumps([*sent, *read.splitlines()[2:], f"{session_id}: 1 message" in listed])
        return told.replace(session_id, "ID")

    async def run() -> None:
        async with listening(tmp_path, "--config", "squidbot.toml", "--tokens", "tokens") as address:
            async with client_of(address, TOKENS["ben"]) as client:
                ids = ["chat-0", "group", "nobody", "trap", "new-1"]
                assert len({await answers(client, each) for each in ids}) == 1
                assert len({await appended(client, each) for each in ids}) == 1
                assert "chat-1: 2 messages" in await text_of(client, "status"), "what other hosts recorded for ben"
            async with client_of(address, TOKENS["ann"]) as client:
                assert "chat-0: 2 messages" in await text_of(client, "status")
                assert "Hello" not in await text_of(client, "history_recall", conversation_id="chat-0", id="m0-m1")

    finish(run())
    with squidbot.load(tmp_path / "squidbot.toml") as engine:
        store = engine.wired.store
        assert [store.head(each)[0] for each in ("chat-0", "nobody", "trap@user:ben")] == [2, 2, 4 * len(USERS) // 2]


def test_a_token_without_a_user_sees_what_is_nobody_s(tmp_path: Path) -> None:
    """The conversations of hosts that name no user, and the facts that all share."""
    (tmp_path / "squidbot.toml").write_text(SETTINGS, encoding="utf-8")
    recorded(tmp_path)

    async def run() -> None:
        token = TOKENS["ann"]
        started = listening(tmp_path, "--config", "squidbot.toml", SQUIDBOT_MCP_TOKEN=token)
        async with started as address, client_of(address, token) as client:
            assert "walrusnobody" in await text_of(client, "history_recall", conversation_id="nobody", id="m0")
            assert "conversations: 1, newest first" in await text_of(client, "status")

    finish(run())


def tools_of(served: Squidbot, user: str, owners: SessionOwners) -> StoreTools:
    """Return the tools as a user's token gets them."""
    return StoreTools(served.hosted, squidbot.Scope(user=user), owners)


def test_a_conversation_that_another_user_joins_is_no_longer_shown(tmp_path: Path) -> None:
    """Whose it is, is asked again with each new message; so it is of one that continues it."""
    settings = {"store": {"path": str(tmp_path / "mem.db")}, "history": {"isolation": "global"}}
    served, owners = Squidbot(settings=settings), SessionOwners()
    ann, ben = (tools_of(served, user, owners) for user in ("ann", "ben"))
    engine = served.hosted.engine
    say(engine, "room", squidbot.Scope(user="ben"), "walrusben")
    engine.continued("room", "heir", scope=squidbot.Scope(user="ben"))
    say(engine, "heir", squidbot.Scope(user="ben"), "walrusben")
    for name in ("room", "heir"):
        assert "walrusben" in ben.call("history_recall", {"conversation_id": name, "id": "m0"}).text
        assert "walrusben" not in ann.call("history_recall", {"conversation_id": name, "id": "m0"}).text
    say(engine, "room", squidbot.Scope(user="ann"), "walrusann")
    for tools in (ann, ben):
        assert tools.call("history_recall", {"conversation_id": "room", "id": "m0-m3"}).is_error
        assert "walrus" not in tools.call("history_search", {"query": "walrusann"}).text.replace("for: walrusann", "")
    served.hosted.close()


def test_a_conversation_that_another_user_begins_again_is_theirs_alone(tmp_path: Path) -> None:
    """It was forgotten, and has as many messages again; a list asks for what was another user's after a while."""
    now = 0.0
    served, owners = Squidbot(tmp_path / "mem.db"), SessionOwners(lambda: now)
    ann, ben = (tools_of(served, user, owners) for user in ("ann", "ben"))
    engine = served.hosted.engine
    say(engine, "notes", squidbot.Scope(user="ann"), "walrusann")
    assert "\nnotes: " in ann.call("status", {}).text
    assert "\nnotes: " not in ben.call("status", {}).text
    forget_session(engine.wired, "notes")
    say(engine, "notes", squidbot.Scope(user="ben"), "walrusben")
    assert "\nnotes: " not in ann.call("status", {}).text
    assert ann.call("history_recall", {"conversation_id": "notes", "id": "m0"}).is_error
    assert "walrusben" not in ann.call("history_search", {"query": "walrusben"}).text.replace("for: walrusben", "")
    assert "walrusben" in ben.call("history_recall", {"conversation_id": "notes", "id": "m0"}).text
    now = HIDDEN_SECONDS
    assert "\nnotes: " in ben.call("status", {}).text
    served.hosted.close()


def test_an_id_leaves_room_for_what_parts_users(tmp_path: Path) -> None:
    """The longest one is recorded and found; a longer one is refused with the number that fits."""
    served = Squidbot(tmp_path / "mem.db")
    ben = tools_of(served, "ben", SessionOwners())
    most = 1_024 - len("@user:ben")
    for length in (most, most + 1):
        given = {"conversation_id": "x" * length, "key": "k", "messages": [{"role": "user", "text": "Hello."}]}
        answer = ben.call("history_append", given)
        assert answer.is_error is (length > most), answer.text
    assert "1 to 1,015 are allowed" in answer.text
    assert "Hello." in ben.call("history_recall", {"conversation_id": "x" * most, "id": "m0"}).text
    served.hosted.close()


def test_two_conversations_of_one_id_stay_within_reach(tmp_path: Path) -> None:
    """Another program of the user's may begin one of that id later: both stay within reach, by the ids of `status`."""
    served = Squidbot(tmp_path / "mem.db")
    ben = tools_of(served, "ben", SessionOwners())
    ben.call("history_append", {"conversation_id": "a", "key": "k", "messages": [{"role": "user", "text": "By MCP."}]})
    assert "\na: 1 message" in ben.call("status", {}).text
    say(served.hosted.engine, "a", squidbot.Scope(user="ben"), "By a program.")
    listed = ben.call("status", {}).text
    assert "\na: 2 messages" in listed
    assert "\na@user:ben: 1 message" in listed
    for name, text in (("a", "By a program."), ("a@user:ben", "By MCP.")):
        assert text in ben.call("history_recall", {"conversation_id": name, "id": "m0"}).text
    served.hosted.close()


# -- the file ---------------------------------------------------------------------------------------------------------

DIGEST = digest_of(b"a token")


def test_digests_are_read_from_lines() -> None:
    """Comments, spaces, names of several words; a user with several tokens, and the same line twice."""
    other = digest_of(b"another")
    text = f"# users\n\nann {DIGEST}\r\n  Ben van Dam\t{other.upper()}  # his phone\nann {DIGEST}\n"
    tokens = AccessTokens(read_digests(text, "file"))
    assert tokens.digests == (UserDigest("ann", DIGEST), UserDigest("Ben van Dam", other))
    assert [tokens.user_of(each) for each in (b"a token", b"another", b"", b"A token")] == [
        "ann",
        "Ben van Dam",
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "file: it has no token"),
        ("# nobody yet\n", "file: it has no token"),
        (f"ann {DIGEST}\nben\n", "file:2: write a user and the SHA-256 of a token"),
        ("ann my-secret-token\n", "file:1: write a user"),
        (f"{DIGEST}  -\n", "file:1: write a user"),
        (f"{DIGEST}\n", "file:1: write a user"),
        (f"ann {DIGEST[:-1]}\n", "file:1: write a user"),
        (f"ann {DIGEST} ben\n", "file:1: write a user"),
        (f"ann {digest_of(b'')}\n", "file:1: this is the digest of an empty token"),
        (f"ann {DIGEST}\nben {DIGEST}\n", "file:2: another user has the same token"),
        (f"{'a' * 201} {DIGEST}\n", "file:1: the user's name has 201 characters"),
        (f"a\u200bnn {DIGEST}\n", "file:1: the user's name 'a\\u200bnn'"),
    ],
)
def test_a_wrong_line_is_named_and_not_repeated(text: str, says: str) -> None:
    """With its number: it may hold a token."""
    with pytest.raises(ConfigError) as raised:
        read_digests(text, "file")
    assert str(raised.value).startswith(says)
    assert "my-secret-token" not in str(raised.value)
