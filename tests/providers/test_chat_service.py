"""examples/chat_service.py as it is run: uvicorn, PostgreSQL, and a server that enforces the provider's rules."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import squidbot
from tests.example_programs import program

from .script import Call, Text, saying
from .wire import KEY, Fault

pytest.importorskip("fastapi")
uvicorn = pytest.importorskip("uvicorn")
postgresql_tests = pytest.importorskip("tests.postgresql")

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .wire import Providers

TOKENS = {"ann": "token-of-ann-0123456789", "ben": "token-of-ben-0123456789"}
BOAT = "My boat is called Heron."


class Service:
    """The service in a thread, at an address of its own."""

    def __init__(self, *, most_seconds: int | None = None) -> None:
        """Import the program as uvicorn does, and start it."""
        service = program("chat_service")
        service.MODEL = "tiny"  # type: ignore[attr-defined]  # the server's
        config = uvicorn.Config(
            service.app, port=0, log_level="error", lifespan="on", timeout_graceful_shutdown=most_seconds
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run)
        self.thread.start()
        while not self.server.started:
            assert self.thread.is_alive()
            time.sleep(0.01)
        self.url = f"http://127.0.0.1:{self.server.servers[0].sockets[0].getsockname()[1]}"

    def stop(self) -> None:
        """End it as SIGTERM does."""
        self.server.should_exit = True
        self.thread.join(30)
        assert not self.thread.is_alive()

    def say(self, user: str, chat: str, text: str) -> httpx.Response:
        """Send a message."""
        headers = {"Authorization": f"Bearer {TOKENS.get(user, user)}"}
        return httpx.post(f"{self.url}/chats/{chat}", json={"text": text}, headers=headers, timeout=30)


@pytest.fixture
def schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, providers: Providers, postgresql: str) -> dict[str, Any]:
    """A folder with the service's tokens and settings; the settings of its store."""
    store = {"url": postgresql, "schema": postgresql_tests.new_schema()}
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "SQUIDBOT_STORE_URL": postgresql,
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": providers.openai_url,
    }.items():
        monkeypatch.setenv(name, value)
    lines = [f"{user} {sha256(token.encode()).hexdigest()}\n" for user, token in TOKENS.items()]
    (tmp_path / "tokens.txt").write_text("".join(lines), encoding="utf-8")
    (tmp_path / "squidbot.toml").write_text(f'[store]\nschema = "{store["schema"]}"\n', encoding="utf-8")
    return {"store": store}


@contextmanager
def running(*, most_seconds: int | None = None) -> Iterator[Service]:
    """Run the service, and stop it."""
    service = Service(most_seconds=most_seconds)
    try:
        yield service
    finally:
        service.stop()


def stored(settings: dict[str, Any], session_id: str) -> list[tuple[str, str]]:
    """Return the role and the payload of each message of a session."""
    with squidbot.load(settings) as engine:
        store = engine.wired.store
        rows = store.read(session_id, 0, max(store.head(session_id)[0] - 1, 0))
        return [(row.role, row.payload) for row in rows]


def test_users_talk_at_once_and_see_only_what_is_theirs(schema: dict[str, Any], providers: Providers) -> None:
    """Chats of one name are each user's own; a token that nobody has, and no token, are refused."""
    with running() as service, ThreadPoolExecutor(8) as pool:
        said = [
            pool.submit(service.say, user, "boat", f"{user}'s boat is no. {n}.") for n in range(4) for user in TOKENS
        ]
        assert {(each.result().status_code, each.result().text) for each in said} == {(200, "Yes.")}
        assert service.say("mallory", "boat", "Hi").status_code == 401
        assert httpx.post(f"{service.url}/chats/boat", json={"text": "Hi"}, timeout=30).status_code == 401
    for user, other in (("ann", "ben"), ("ben", "ann")):
        texts = [payload for _, payload in stored(schema, f"{user}/boat")]
        assert len(texts) == 8
        assert sum(f"{user}'s boat" in text for text in texts) == 4
        assert not any(f"{other}'s boat" in text for text in texts)
    assert providers.refused == []


def test_facts_reach_only_their_user(schema: dict[str, Any], providers: Providers) -> None:
    """Ann's next chat knows where she lives, by the tool `memory` and in its head; ben's knows nothing."""
    asks = Call("memory", json.dumps({"action": "search", "query": "where do I live?"}))
    with running() as service:
        service.say("ann", "one", "I live in Bern.")
        providers.script = saying([asks], "Bern.", [asks], "I do not know.")
        with squidbot.load(schema) as engine:
            engine.run_jobs()
        assert service.say("ann", "two", "Where do I live?").text == "Bern."
        assert service.say("ben", "two", "Where do I live?").text == "I do not know."
    found, nothing = (json.dumps(body) for body in providers.bodies("/v1/chat/completions")[2::2])
    assert "I live in Bern" in found
    assert "Bern" not in nothing
    assert providers.refused == []


def test_what_no_window_can_hold_is_refused_and_not_stored(schema: dict[str, Any]) -> None:
    """With what is too large, by how much."""
    with running() as service:
        refused = service.say("ann", "boat", "word " * 60_000)
        assert refused.status_code == 413
        assert "tokens" in refused.json()["detail"]
        assert service.say("ann", "x" * 2000, "Hi").status_code == 413
    assert stored(schema, "ann/boat") == []


def test_a_restart_loses_nothing(schema: dict[str, Any], providers: Providers) -> None:
    """The next process sends what was said, within the window."""
    for text in (BOAT, "What is it called?"):
        with running() as service:
            assert service.say("ann", "boat", text).text == "Yes."
    sent = json.dumps(providers.bodies("/v1/chat/completions")[-1]["messages"])
    assert "Heron" in sent
    assert [role for role, _ in stored(schema, "ann/boat")] == ["user", "assistant"] * 2


@pytest.mark.slow
@pytest.mark.parametrize("most_seconds", [None, 1])
def test_a_stop_waits_for_answers_or_keeps_what_came(
    most_seconds: int | None, schema: dict[str, Any], providers: Providers
) -> None:
    """SIGTERM during a stream: the whole answer, or, after a second, what the user has seen of it."""
    words = "word " * 10_000
    providers.script = saying([Text(words)])
    if most_seconds is not None:
        providers.faults.append(Fault(stall_after=8))
    came: list[str] = []
    with running(most_seconds=most_seconds) as service, ThreadPoolExecutor(1) as pool:
        headers = {"Authorization": f"Bearer {TOKENS['ann']}"}
        has_begun = threading.Event()

        def read() -> None:
            sent: dict[str, Any] = {"json": {"text": BOAT}, "headers": headers, "timeout": 30}
            with httpx.stream("POST", f"{service.url}/chats/boat", **sent) as answer:
                for piece in answer.iter_text():
                    came.append(piece)
                    has_begun.set()

        reading = pool.submit(read)
        assert has_begun.wait(20)
        service.stop()
        error = reading.exception(30)
    (_, _), (role, payload) = stored(schema, "ann/boat")
    kept = json.loads(payload)["content"]
    assert role == "assistant"
    if most_seconds is None:
        assert (error, kept) == (None, words)
    else:
        assert "".join(came) in kept
        assert len(kept) < len(words)
