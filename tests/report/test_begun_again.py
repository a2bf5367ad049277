"""A session that is forgotten and begun again, with as many messages as before: nothing of the old one is left."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

import squidbot
from squidbot.core.memories import NOBODY, SHARED, Scope
from squidbot.core.transcript.identity import identity_of
from squidbot.report.listing import key_of
from squidbot.services.forget import forget_session

from ..listeners import until
from .serving import browser, follow, served
from .test_gate import TOKENS, USERS

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2

KEY = key_of("notes")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def say(user: str, text: str, now: float | None = None) -> None:
    """Begin the session of a user."""
    with squidbot.load({"store": {"path": "s.db"}}) as engine:
        scope = Scope(user=user) if user else NOBODY
        message: dict[str, Any] = {"role": "user", "content": text}
        engine.session("notes", scope=scope).record(message, now=now)


def forget() -> None:
    """Forget the session with all that it has."""
    with squidbot.load({"store": {"path": "s.db"}}) as engine:
        forget_session(engine.wired, "notes")


def texts(client: httpx2.Client) -> str:
    """Return the text of the first message as a page gets it."""
    version = client.get(f"/api/session/{KEY}/figures").json()["version"]
    return str(client.get(f"/api/session/{KEY}/texts/0?version={version}").json())


def names(client: httpx2.Client) -> list[str]:
    """Return the sessions in the list."""
    return [one["session"] for one in client.get("/api/sessions").json()["sessions"]]


@pytest.mark.parametrize("text", ["The secret of ben", "The words of ann"])
def test_another_user_s_session_of_the_same_name_is_not_shown(text: str) -> None:
    """Also where it begins at the same time with the same words: both may have imported the same file."""
    say("ann", "The words of ann", 1_000.0)
    with (
        served("s.db", users=USERS, scope=SHARED) as server,
        browser(server, token=TOKENS["ann"]) as ann,
        browser(server, token=TOKENS["ben"]) as ben,
    ):
        assert (names(ann), names(ben)) == (["notes"], [])
        assert texts(ann) == "The words of ann"
        version = ann.get(f"/api/session/{KEY}/figures").json()["version"]
        forget()
        say("ben", text, 1_000.0)
        assert names(ann) == []
        assert ann.get(f"/api/session/{KEY}/figures").status_code == 404
        assert ann.get(f"/api/session/{KEY}/texts/0?version={version}").status_code == 404
        assert ann.get("/api/search?q=ben").json()["total"] == 0
        assert texts(ben) == text


def test_the_old_text_goal_and_time_are_gone() -> None:
    """From the report, from texts by the old version, and from the list; pages are told."""
    say("", "The old words")
    with squidbot.load({"store": {"path": "s.db"}}) as engine:
        engine.session("notes").goals.change("set", "The old goal")
    with served("s.db") as server, browser(server) as client:
        assert texts(client) == "The old words"
        (before,) = client.get("/api/sessions").json()["sessions"]
        version = client.get(f"/api/session/{KEY}/figures").json()["version"]
        forget()
        say("", "The new words")
        with squidbot.load({"store": {"path": "s.db"}}) as engine:
            engine.session("notes").goals.change("set", "The new goal")
        assert client.get(f"/api/session/{KEY}/texts/0?version={version}").status_code == 404
        assert texts(client) == "The new words"
        (after,) = client.get("/api/sessions").json()["sessions"]
        assert before["goal"] == "The old goal"
        assert after["goal"] == "The new goal"
        assert after["last_time"] > before["last_time"]


def test_what_is_begun_again_comes_first_in_the_list() -> None:
    """The time of its newest message is not that of the old one."""
    say("", "The old words", 1_000.0)
    with squidbot.load({"store": {"path": "s.db"}}) as engine:
        engine.session("other").record({"role": "user", "content": "Hi"}, now=2_000.0)
    with served("s.db") as server, browser(server) as client:
        assert names(client) == ["other", "notes"]
        forget()
        say("", "The new words", 3_000.0)
        assert names(client) == ["notes", "other"]


def test_a_page_hears_of_it() -> None:
    """Although the numbers of messages and records are those of before."""
    say("", "The old words")
    with served("s.db") as server, browser(server) as client:
        with squidbot.load({"store": {"path": "s.db"}}) as engine:
            before = engine.wired.store.head("notes")
        ways = list[tuple[float, str, str]]()

        listening = threading.Thread(target=follow, args=(client, f"session={KEY}", 2, ways))
        listening.start()
        assert until(lambda: bool(ways))  # the page is told at its begin that it follows
        server.watcher._lock.acquire()  # it looks only once both are done
        forget()
        say("", "The new words")
        server.watcher._lock.release()
        listening.join()
        with squidbot.load({"store": {"path": "s.db"}}) as engine:
            assert engine.wired.store.head("notes") == before
    assert [one[1] for one in ways] == ["changed", "changed"]


def test_an_identity_lasts_while_a_session_grows() -> None:
    """Its beginning does; numbers change."""
    with squidbot.load({}) as engine:
        store = engine.wired.store
        assert identity_of(store, "notes") == (0, 0, "", "")
        session = engine.session("notes", scope=Scope(user="ann"))
        session.record({"role": "user", "content": "Hi"})
        first = identity_of(store, "notes")
        session.record({"role": "assistant", "content": "Hello"})
        second = identity_of(store, "notes")
        assert first.messages < second.messages
        assert first.beginning == second.beginning != ""
        assert second.continues(first)
        assert not first.continues(second)
