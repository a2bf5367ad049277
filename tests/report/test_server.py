"""What pages are told: lists, figures and their increments, texts; while agents in other processes go on."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

import squidbot
from squidbot.core.errors import ArgumentError, BudgetError, BusyError, ConfigError, SquidbotError, StoreError
from squidbot.core.journal import JournalEntry
from squidbot.core.memories import SHARED, Scope
from squidbot.core.messages import Usage
from squidbot.report.listing import id_of, key_of
from squidbot.report.pages import StorePages
from squidbot.wiring.journal import journal_of

from ..commands.conftest import talk
from ..listeners import until
from .serving import SECONDS, Talker, browser, csrf, events, follow, following, served
from .test_gate import TOKENS, USERS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import httpx2

    from squidbot.report.server import ReportServer

DIGEST = "import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], 'rb').read()).hexdigest())"
SETTINGS = '[store]\npath = "s.db"\n[window]\ndefault = 3000\n[journal]\nenabled = true\nfolder = "journal"\n'
AGENT = {"store": {"path": "s.db"}, "window": {"default": 3_000}}
# What would run, or break out of where it stands, in a page, an address, a log or a terminal.
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "</script><svg onload=alert(1)>",
    "../../etc/passwd",
    "a/b/c?x=1&y=2#z",
    "100%25%2F..%00",
    "\r\nset-cookie: a=b",
    "\x1b]0;owned\x07\u202egnp.exe",
    "data: {}\n\nevent: list",
    "{{7*7}}${7*7}",
    "\ud800 alone",
    "对话 🦑",
    "x" * 1_024,
    "/" * 1_024,
    "%",
    " ",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with settings and a store: a long session, a sub-agent's, one with goals, facts and a journal."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "squidbot.toml").write_text(SETTINGS, encoding="utf-8")
    with squidbot.load("squidbot.toml") as engine:
        talk(engine.session("support/42"))
        talk(engine.session("support/42/tools"), 1, began=1_760_005_000.0)
        goal = engine.session("goal")
        goal.record({"role": "user", "content": "The walrus is to be mended"}, now=1_760_009_000.0)
        goal.goals.change("set", "Mend the walrus")
        goal.goals.change("milestone", "Find the walrus")
        ann = engine.session("ann's", scope=Scope(user="ann"))
        ann.record({"role": "user", "content": "I keep a walrus"}, now=1_760_000_500.0)
        ann.memory({"action": "add", "text": "Ann keeps walruses"})
        entry = JournalEntry(1_760_000_000, "Ann was asked.", source_session="support/42", decisions=("Ask Ann",))
        journal_of(engine.wired.loaded, None, Scope(user="ann")).append(entry)
    return tmp_path


def run(code: str, *arguments: str) -> str:
    """Run a program in a process of its own: `open` in this one would drop SQLite's locks on the file."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


def patched(before: Mapping[str, Any] | None, made: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a page that gets figures, as its script makes them."""
    lists = {}
    for name, part in made["lists"].items():
        kept = before[name][: part["keep"]] if before and made["since"] else []
        assert len(kept) == part["keep"] or made["since"] is not None
        lists[name] = [*kept, *part["add"]]
    return {**made["values"], **lists}


# -- what is shown ----------------------------------------------------------------------------------------------------


def test_the_list_has_the_sessions_by_their_activity(folder: Path) -> None:
    """With sizes, window, newest compaction, cost, goal and the session above."""
    with served(None) as server, browser(server) as client:
        page = client.get("/api/sessions").json()
        names = [one["session"] for one in page["sessions"]]
        assert names == ["goal", "support/42/tools", "ann's", "support/42"]
        assert (page["total"], page["listed"]) == (4, 4)
        rows = {one["session"]: one for one in page["sessions"]}
        long = rows["support/42"]
        assert long["messages"] == 96
        assert 0 < long["request_tokens"] <= long["limit"] < long["window"] == 3_000
        assert long["compaction"]["before"] > long["compaction"]["after"] > 0
        assert long["compaction"]["cause"]
        assert long["lines"] == 1
        figures = client.get(f"/api/session/{long['key']}/figures").json()["values"]
        assert long["requests"] == figures["totals"]["calls"] == 48
        assert long["sent_tokens"] > long["price"] > 0
        assert (rows["support/42/tools"]["parent"], rows["support/42/tools"]["way"]) == ("support/42", "below")
        assert rows["goal"]["goal"] == "Mend the walrus"
        named = client.get("/api/sessions", params={"name": "SUPPORT", "limit": 1, "offset": 1}).json()
        assert ([one["session"] for one in named["sessions"]], named["total"]) == (["support/42"], 2)
        goals = client.get(f"/api/session/{rows['goal']['key']}/goals").json()
        assert (goals["active"], goals["items"][0]["text"]) == ("Mend the walrus", "Find the walrus")
    assert folder.is_dir()


def test_cost_in_the_list_is_near_the_report_s(folder: Path) -> None:
    """The list does without the messages: it knows neither when a cache ends, nor what a compaction leaves of it."""
    with served(None) as server, browser(server) as client:
        for name in ("support/42/tools", "support/42"):
            one = next(row for row in client.get("/api/sessions").json()["sessions"] if row["session"] == name)
            totals = client.get(f"/api/session/{one['key']}/figures").json()["values"]["totals"]
            assert one["price"] == pytest.approx(totals["price"], rel=0.3)
    assert folder.is_dir()


@pytest.mark.parametrize("reported", [True, False])
def test_cost_in_the_list_is_the_report_s(folder: Path, *, reported: bool) -> None:
    """Of the prompts alone, on all lines; of a session that only grows, also without reports."""
    with squidbot.load("squidbot.toml") as engine:
        session = engine.session("priced")
        for turn in range(4):
            if reported and turn == 3:
                session.branch("m2")
                session = engine.session("priced")
            asked = session.assemble(f"Question {turn}", now=1_760_000_000.0 + turn)
            usage = Usage(500 + 100 * turn, 90, 300) if reported else None
            session.record(asked.incoming, f"Answer {turn}", usage=usage, now=1_760_000_000.5 + turn)
    with served(None) as server, browser(server) as client:
        (one,) = client.get("/api/sessions?name=priced").json()["sessions"]
        totals = client.get(f"/api/session/{one['key']}/figures").json()["values"]["totals"]
        assert (one["lines"], one["requests"], totals["calls"]) == (1 + reported, 4, 4)
        assert one["sent_tokens"] == (500 + 600 + 700 + 800 if reported else totals["tokens"])
        assert one["price_is_sure"] is reported
        assert one["price"] == pytest.approx(totals["price"], rel=1e-9)
    assert folder.is_dir()


def test_all_that_was_said_is_searched(folder: Path) -> None:
    """In all sessions, best first, without a write; a query without a word is refused with the reason."""
    with served(None) as server, browser(server) as client:
        found = client.get("/api/search", params={"q": "walrus"}).json()
        assert {hit["session"] for hit in found["hits"]} == {"goal", "ann's"}
        assert (found["searched"], found["total"], found["damaged"], found["left_out"]) == (4, 4, 0, 0)
        hits = client.get("/api/search", params={"q": "part_23", "name": "support"}).json()["hits"]
        assert "part_23" in hits[0]["snippet"]
        for query in ("", "?!", "x" * 2_000):
            answer = client.get("/api/search", params={"q": query})
            assert (answer.status_code, answer.headers["content-type"]) == (400, "text/plain; charset=utf-8")
    assert folder.is_dir()


def test_a_search_says_how_many_messages_it_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Old ones that no index has yet, where none may be written; with --write, none."""
    monkeypatch.setattr("squidbot.adapters.sqlite3.index.MOST_BACKLOG", 2)
    with squidbot.load(AGENT) as engine:
        engine.session("many").record(*({"role": "user", "content": f"otter {n}"} for n in range(9)))
    for writes, hits in ((False, 2), (True, 3)):
        with served(None, writes=writes) as server, browser(server) as client:
            found = client.get("/api/search", params={"q": "otter", "name": "many"}).json()
            assert (len(found["hits"]), found["left_out"]) == (hits, 0 if writes else 7)
    assert folder.is_dir()


def test_facts_have_their_sources_and_the_journal_its_sessions(folder: Path) -> None:
    """Of the user that is asked for."""
    with served(None) as server, browser(server) as client:
        page = client.get("/api/facts", params={"user": "ann"}).json()
        (fact,) = page["facts"]
        assert (page["user"], page["next"], fact["text"]) == ("ann", None, "Ann keeps walruses")
        assert [(source["session"], source["first"]) for source in fact["sources"]] == [("ann's", 0)]
        assert client.get("/api/facts", params={"user": "nobody"}).json()["facts"] == []
        assert client.get("/api/facts", params={"user": "ann", "after": "f-none"}).status_code == 404
        (entry,) = client.get("/api/journal", params={"user": "ann"}).json()["entries"]
        assert (entry["summary"], entry["decisions"]) == ("Ann was asked.", ["Ask Ann"])
        assert entry["key"] == key_of("support/42")
    assert folder.is_dir()


def test_facts_of_all_bots_of_a_user_are_listed(folder: Path) -> None:
    """Each with its bot, and each can be forgotten."""
    with squidbot.load(folder / "squidbot.toml") as engine:
        for bot in ("", "helper"):
            fact = squidbot.NewMemory(f"Ben keeps {bot or 'no'} otters")
            engine.memories(squidbot.Scope(user="ben", bot=bot)).add(fact, now=1.0)
    with served(None, writes=True) as server, browser(server) as client:
        found = client.get("/api/facts", params={"user": "ben"}).json()["facts"]
        assert {one["scope"].get("bot") for one in found} == {"helper", None}
        for one in found:
            sent = {"id": one["memory_id"], "user": "ben", "reason": "asked"}
            assert client.post("/api/facts/forget", json=sent, headers=csrf(client)).status_code == 200


def test_facts_in_a_file_that_is_not_there_yet_are_none(folder: Path) -> None:
    """Until there is one; it is not made by looking."""
    (folder / "squidbot.toml").write_text(f'{SETTINGS}[memory]\npath = "facts.db"\n', encoding="utf-8")
    with served(None) as server, browser(server) as client:
        assert client.get("/api/facts?user=ben").json()["facts"] == []
        assert not (folder / "facts.db").exists()
        with squidbot.load("squidbot.toml") as engine:
            engine.session("ben's", scope=Scope(user="ben")).memory({"action": "add", "text": "Ben keeps otters"})
        assert client.get("/api/facts?user=ben").json()["facts"][0]["text"] == "Ben keeps otters"


def test_status_is_shown_shortened(folder: Path) -> None:
    """What `squidbot status` knows of models, devices and stores; to nobody whom a token limits (test_gate)."""
    from squidbot.cli.view import _Status  # noqa: PLC0415  # the command's own

    with served(None, status=_Status(None, None)) as server, browser(server) as client:
        found = client.get("/api/status").json()
        assert set(found) == {"settings", "devices", "main_memory", "models", "store", "memory", "problems"}
        assert "4 sessions" in found["store"]["health"]
    assert folder.is_dir()


# -- figures ----------------------------------------------------------------------------------------------------------


def test_a_page_gets_figures_once_and_then_what_it_lacks(folder: Path) -> None:
    """Figures, then increments that give the same; nothing where there is nothing new; texts one by one, packed."""
    with served(None) as server, browser(server) as client, Talker(AGENT) as agent:
        path = f"/api/session/{key_of('support/42')}"
        answer = client.get(f"{path}/figures")
        made = answer.json()
        values = patched(None, made)
        assert answer.headers["content-encoding"] == "gzip"
        assert (made["since"], len(values["messages"])) == (None, 96)
        same = client.get(f"{path}/figures", params={"since": made["version"]})
        tagged = client.get(f"{path}/figures", headers={"if-none-match": answer.headers["etag"]})
        assert (same.status_code, tagged.status_code, same.content) == (304, 304, b"")
        text = client.get(f"{path}/texts/{values['messages'][0]['text']}", params={"version": made["version"]}).json()
        assert text == "Please mend src/part_0.py; the limit is 100."
        for turn in range(3):
            agent.say("support/42", words=f"walrus {turn}")
            more = figures_with(client, path, made["version"], 98 + 2 * turn)
            values, made = patched(values, more), more
            assert more["since"] is not None
            assert len(more["lists"]["messages"]["add"]) == 2
            assert len(json.dumps(more)) < len(json.dumps(values)) / 5
        whole = client.get(f"{path}/figures").json()
        assert patched(None, whole) == values
        newest = values["messages"][-1]["text"]
        wanted = client.get(f"{path}/texts/{newest}", params={"version": made["version"]}).json()
        assert wanted == "The answer 0 to walrus 2."
        for wrong in ("nothing", ""):
            assert client.get(f"{path}/texts/0", params={"version": wrong}).status_code == 404
        assert client.get(f"{path}/texts/999999", params={"version": made["version"]}).status_code == 404
        assert client.get(f"{path}/texts/x").status_code == 404
    assert folder.is_dir()


def figures_with(client: httpx2.Client, path: str, since: str, messages: int) -> dict[str, Any]:
    """Return the increment once the session has so many messages: a build may have to rest first."""
    ends = time.monotonic() + SECONDS
    while True:
        answer = client.get(f"{path}/figures", params={"since": since})
        if answer.status_code == 200:
            made: dict[str, Any] = answer.json()
            part = made["lists"]["messages"]
            if part["keep"] + len(part["add"]) >= messages:
                return made
        assert time.monotonic() < ends
        time.sleep(float(answer.headers.get("squidbot-again-seconds", "0.05")))


def test_many_pages_of_a_session_wait_for_one_build(folder: Path) -> None:
    """Twenty at once: who waits for the one that builds does not keep it from computing."""
    with served(None) as server, browser(server) as client, Talker(AGENT) as agent:
        path = f"/api/session/{key_of('support/42')}/figures"
        took = []
        for _ in range(3):
            agent.say("support/42")
            began = time.monotonic()
            with ThreadPoolExecutor(20) as pages:
                answers = [*pages.map(lambda _: client.get(path), range(20))]
            took.append(time.monotonic() - began)
            assert {answer.status_code for answer in answers} == {200}
        assert min(took) < 2  # the machine may be busy with something else, but not each time
    assert folder.is_dir()


def test_bodies_are_packed_only_for_who_reads_that(folder: Path) -> None:
    """And only those that are worth it."""
    with served(None) as server, browser(server) as client:
        plain = client.get("/page/report.js", headers={"accept-encoding": "identity"})
        assert "content-encoding" not in plain.headers
        assert plain.headers["content-type"] == "text/javascript; charset=utf-8"
        with client.stream("GET", "/page/report.js") as answer:
            raw = b"".join(answer.iter_raw())
        assert gzip.decompress(raw) == plain.content
        assert "content-encoding" not in client.get("/api/me").headers
    assert folder.is_dir()


# -- while agents work ------------------------------------------------------------------------------------------------


def test_no_byte_of_the_file_changes_by_looking(folder: Path) -> None:
    """All that can be read is read, and a stream is open, while nobody writes; nor where somebody does."""
    before = run(DIGEST, "s.db")
    with served(None) as server, browser(server) as client:
        for one in client.get("/api/sessions").json()["sessions"]:
            client.get(f"/api/session/{one['key']}/figures").raise_for_status()
        for path in ("/api/search?q=walrus", "/api/facts?user=ann", "/api/journal?user=ann", "/"):
            client.get(path).raise_for_status()
        assert [name for _, name, _ in events(client, "list=1", 1)] == ["list"]
        assert run(DIGEST, "s.db") == before
    assert run(DIGEST, "s.db") == before
    assert folder.is_dir()


def test_a_page_follows_an_agent_in_another_process(folder: Path) -> None:
    """Each turn is told within a second, and nothing of a session that the page does not show."""
    with served(None) as server, browser(server) as client, Talker(AGENT) as agent:
        assert not server.watcher.is_at_work
        told: list[tuple[float, str, str]] = []
        is_over = threading.Event()

        def listen() -> None:
            with closing(following(client, f"session={key_of('support/42')}", 3 * SECONDS)) as stream:
                for event in stream:
                    told.append(event)
                    if is_over.is_set():
                        return

        listening = threading.Thread(target=listen)
        listening.start()
        said = []
        assert until(lambda: bool(told))  # the page is told at its begin that it follows
        for turn in range(3):
            before = len(told)
            said.append(agent.say("support/42", words=f"walrus {turn}"))
            assert until(lambda before=before: len(told) > before)  # type: ignore[misc]  # mypy infers no lambda's default
            has_looked(server)
        so_far = len(told)
        agent.say("goal")  # nobody follows it
        has_looked(server)
        assert len(told) == so_far
        is_over.set()
        agent.say("support/42")
        listening.join(30)
        assert {data for _, _, data in told} == {json.dumps([key_of("support/42")])}
        # A turn is stored in two steps. A look between them tells it twice.
        assert 1 + len(said) <= so_far <= 1 + 2 * len(said)
        # The machine may be busy with something else, but not each time.
        assert any(-0.2 < at - stored < 1 for stored in said for at, _, _ in told[1:]), (said, told)
        assert until(lambda: not server.watcher.is_at_work and not server.streams)
    assert folder.is_dir()


def has_looked(server: ReportServer) -> None:
    """Wait until the watcher has looked at all that is written by now, and a page had time to read of it."""
    looks, look = list[object](), server.watcher._stamp_of_files

    def looked() -> object:
        looks.append(looks)
        return look()

    server.watcher._stamp_of_files = looked  # type: ignore[method-assign]  # to count
    assert until(lambda: len(looks) > 1)  # one has begun since then, and is over
    server.watcher._stamp_of_files = look  # type: ignore[method-assign]  # as it was
    time.sleep(0.5)


def test_pages_that_vanish_leave_nothing(folder: Path) -> None:
    """Two hundred connections are cut in the middle of a stream: no stream, thread or listener is left."""
    with served(None) as server, browser(server) as client:
        threads = threading.active_count()
        for _ in range(200):
            with client.stream("GET", f"/api/events?session={key_of('support/42')}&list=1") as answer:
                assert next(answer.iter_lines()) == "retry: 1000"
        ends = time.monotonic() + 20
        while server.streams or server.watcher.is_at_work:
            assert time.monotonic() < ends, server.streams
            time.sleep(0.05)
        assert threading.active_count() <= threads + 40  # those that the server keeps for calls
        assert client.get("/api/me").status_code == 200
        many = "&".join(f"session={number}" for number in range(100))
        assert client.get(f"/api/events?{many}").status_code == 503
    assert folder.is_dir()


def test_twenty_sessions_are_followed_at_once(folder: Path) -> None:
    """Each by a page of its own, by one thread that looks; each page hears of its own session alone."""
    names = [f"agent/{number}" for number in range(20)]
    with served(None) as server, browser(server) as client, Talker(AGENT) as agent:
        for name in names:
            agent.say(name)
        found: dict[str, list[tuple[float, str, str]]] = {name: [] for name in names}
        with ThreadPoolExecutor(20) as pages:
            heard = [pages.submit(follow, client, f"session={key_of(name)}", 2, found[name]) for name in names]
            assert until(lambda: all(found.values()))  # each page is told at its begin that it follows
            watchers = [one for one in threading.enumerate() if one.name == "squidbot-watcher"]
            stored = {name: agent.say(name, words="more") for name in names}
            for each in heard:
                each.result(2 * SECONDS)
        assert len(watchers) == 1
        for name in names:
            assert [json.loads(data) for _, _, data in found[name]] == [[key_of(name)]] * 2
        # The machine may be busy with something else, but not all the time.
        assert min(found[name][1][0] - stored[name] for name in names) < 1
    assert folder.is_dir()


# -- changes ----------------------------------------------------------------------------------------------------------


def test_a_fact_and_a_message_are_forgotten(folder: Path) -> None:
    """For good: neither a list, nor a search, nor figures that were kept have them."""
    with served(None, writes=True) as server, browser(server) as client:
        headers = csrf(client)
        (fact,) = client.get("/api/facts?user=ann").json()["facts"]
        sent = {"id": fact["memory_id"], "user": "ann", "reason": "asked"}
        assert client.post("/api/facts/forget", json=sent, headers=headers).status_code == 200
        assert client.get("/api/facts?user=ann").json()["facts"] == []
        path = f"/api/session/{key_of('goal')}"
        made = client.get(f"{path}/figures").json()
        for wrong in ([], "0", [True], [-1], [10**9], list(range(200))):
            status = client.post(f"{path}/forget", json={"messages": wrong}, headers=headers).status_code
            assert status in {400, 404}, wrong
        done = client.post(f"{path}/forget", json={"messages": [0]}, headers=headers)
        assert done.json()["forgotten"] == [0]
        assert client.get("/api/search?q=walrus&name=goal").json()["hits"] == []
        assert client.get(f"{path}/texts/0", params={"version": made["version"]}).status_code == 404
        again = client.get(f"{path}/figures", params={"since": made["version"]}).json()
        assert again["since"] is None
        assert patched(None, again)["messages"][0]["flags"] == ["forgotten"]
    assert b"walrus is to be mended" not in (folder / "s.db").read_bytes()


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (ConfigError("pass 1 to 100 messages at once"), 400, "pass 1 to 100 messages at once"),
        (ArgumentError("seqs is no list"), 400, "seqs is no list"),
        (BudgetError("pins", cost=9, budget=8), 409, "pins cost 9 of 8 tokens"),
        (BusyError("goal", 12, "nothing was forgotten"), 500, "try again later"),
        (StoreError("{}: the disk is full"), 500, "the disk is full"),
    ],
)
def test_a_failure_says_what_its_reader_may_know(
    folder: Path, error: SquidbotError, status: int, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mistake is not the server's. Where the store is concerns those alone who may see all of it."""
    place = str(folder / "s.db")
    made = StoreError(str(error).format(place)) if "{}" in str(error) else error

    def fail(*_: object, **__: object) -> None:
        raise made

    monkeypatch.setattr(StorePages, "goals", fail)
    own, mine = (f"/api/session/{key_of(name)}/goals" for name in ("goal", "ann's"))
    with served(None) as server, browser(server) as client:
        answer = client.get(own)
        assert answer.status_code == status
        assert says in answer.text
        assert (place in answer.text) is (place in str(made))
    with served(None, users=USERS, scope=SHARED) as server, browser(server, token=TOKENS["ann"]) as client:
        answer = client.get(mine)
        assert answer.status_code == status
        assert place not in answer.text
        assert (says in answer.text) is (type(made) is not StoreError)


# -- text of strangers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_text_is_only_ever_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """As the id of a session, in what is said, in facts, goals and the journal: it comes as JSON, whole."""
    monkeypatch.chdir(tmp_path)
    name = HOSTILE[number]
    (tmp_path / "squidbot.toml").write_text(SETTINGS, encoding="utf-8")
    with squidbot.load("squidbot.toml") as engine:
        session = engine.session(name, scope=Scope(user="u"))
        call = {"id": "c", "type": "function", "function": {"name": name[:60], "arguments": json.dumps({"x": name})}}
        session.record({"role": "user", "content": f"zebra {name}"})
        session.record({"role": "assistant", "content": name, "tool_calls": [call]})
        session.record({"role": "tool", "tool_call_id": "c", "content": name})
        session.goals.change("set", f"zebra {name[:60]}")
        session.memory({"action": "add", "text": f"zebra {name}"[:400]})
        entry = JournalEntry(1_760_000_000, f"zebra {name}", source_session=name)
        journal_of(engine.wired.loaded, None, Scope(user="u")).append(entry)
    with served(None, scope=Scope(user="u")) as server, browser(server) as client:
        (one,) = client.get("/api/sessions").json()["sessions"]
        assert (one["session"], id_of(one["key"])) == (name, name)
        path = f"/api/session/{one['key']}"
        answers = [client.get(f"{path}/{what}") for what in ("figures", "goals")]
        answers += [client.get(where) for where in ("/api/search?q=zebra", "/api/facts", "/api/journal")]
        answers.append(client.get("/api/sessions", params={"name": name.encode("utf-8", "replace").decode()}))
        for answer in answers:
            assert answer.status_code == 200, answer.text
            assert answer.headers["content-type"] == "application/json"
            assert "set-cookie" not in answer.headers
        values = patched(None, answers[0].json())
        number = values["messages"][2]["text"]
        version = answers[0].json()["version"]
        assert client.get(f"{path}/texts/{number}", params={"version": version}).json() == name
        assert answers[3].json()["facts"][0]["sources"][0]["session"] == name
        assert answers[4].json()["entries"][0]["key"] == one["key"]
        assert events(client, f"session={one['key']}", 1)[0][2] == json.dumps([one["key"]])
        page = client.get(f"/session/{one['key']}").text
        assert name not in page or len(name.strip()) < 2


def test_no_script_of_the_pages_writes_html_or_runs_text(folder: Path) -> None:
    """What strangers said comes into a page as text alone."""
    with served(None) as server, browser(server) as client:
        for name in ("view.js", "follow.js"):
            script = client.get(f"/page/{name}").text
            for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
                assert way not in script, (name, way)
    assert folder.is_dir()


def test_an_address_that_names_nothing_is_refused(folder: Path) -> None:
    """Whatever it is made of; nothing of it stands in the answer."""
    with served(None) as server, browser(server) as client:
        keys = ("x", "YQ==", "YQ", "%2e%2e", "%00", "a" * 9_000, "<script>", "..%2f..%2fetc", key_of("nobody's"))
        for key in keys:
            for what in ("figures", "texts/0", "goals"):
                answer = client.get(f"/api/session/{key}/{what}")
                assert answer.status_code == 404, key
                assert key not in answer.text or key == "x"
            assert client.get("/api/events", params={"session": key}).status_code == 404
        assert client.get("/page/..%2f..%2fdata.py").status_code == 404
        assert client.get("/page/report.html").status_code == 404
    assert folder.is_dir()


# -- other stores -----------------------------------------------------------------------------------------------------


def test_a_database_is_shown_and_followed(postgresql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same pages; one small query at a time looks for all sessions that are followed."""
    from ..postgresql import new_schema  # noqa: PLC0415  # where the server is

    monkeypatch.chdir(tmp_path)
    schema = new_schema()
    settings = {"store": {"url": postgresql, "schema": schema}, "window": {"default": 3_000}}
    told = f'[store]\nurl = "{postgresql}"\nschema = "{schema}"\n'
    (tmp_path / "squidbot.toml").write_text(told, encoding="utf-8")
    with squidbot.load(settings) as engine:
        talk(engine.session("support/42"), 3)
        engine.session("other", scope=Scope(user="ann")).record({"role": "user", "content": "The walrus"})
        heads = engine.wired.store.heads(["support/42", "none", "other"])  # type: ignore[attr-defined]  # PostgreSQL's own
        assert heads == {name: engine.wired.store.head(name) for name in ("support/42", "other")}
    with served(None) as server, browser(server) as client, Talker(settings) as agent:
        assert len(client.get("/api/sessions").json()["sessions"]) == 2
        assert client.get("/api/search?q=walrus").json()["hits"][0]["session"] == "other"
        key = key_of("support/42")
        assert len(patched(None, client.get(f"/api/session/{key}/figures").json())["messages"]) == 12
        late, found, listed = list[float](), list[tuple[float, str, str]](), list[tuple[float, str, str]]()
        with ThreadPoolExecutor(2) as pages:
            pages.submit(follow, client, "list=1", 2, listed)
            for _ in range(3):  # the machine may be busy with something else, but not each time
                found.clear()
                one = pages.submit(follow, client, f"session={key}", 2, found)
                assert until(lambda: bool(found and listed))  # the pages listen
                stored = agent.say("support/42")
                one.result(2 * SECONDS)
                late.append(found[1][0] - stored)
        assert min(late) < 1
        assert [name for _, name, _ in listed] == ["list", "list"]
