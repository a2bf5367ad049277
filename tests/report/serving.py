"""A server of pages on a real port, a browser without a screen, and a program that talks in another process."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import httpx2

from squidbot.cli.open_store import open_store
from squidbot.cli.view import listen_on
from squidbot.report.server import ReportServer, ViewOptions
from squidbot.wiring.person import machine_user

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping
    from types import TracebackType

SECONDS = 30
# Talks when it is told to: "SESSION TURNS WORDS"; answers with the time at which that was stored.
TALK = """
import json, sys, time
import squidbot
with squidbot.load(json.loads(sys.argv[1])) as engine:
    print("ready", flush=True)
    for line in sys.stdin:
        name, turns, words = json.loads(line)
        session = engine.session(name)
        for turn in range(turns):
            asked = session.assemble(f"{words} {turn}")
            session.record(asked.incoming, f"The answer {turn} to {words}.")
        print(time.time(), flush=True)
"""


class Talker:
    """An agent in another process."""

    def __init__(self, settings: Mapping[str, object]) -> None:
        """Start it on the store of some settings."""
        command = [sys.executable, "-c", TALK, json.dumps(settings)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._read()

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._process.communicate(timeout=SECONDS)

    def say(self, session_id: str, turns: int = 1, words: str = "Mend the walrus") -> float:
        """Have it say something, and return when that was stored."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps([session_id, turns, words])}\n")
        self._process.stdin.flush()
        return float(self._read())


@contextmanager
def served(store: str | None, **options: Any) -> Iterator[ReportServer]:  # noqa: ANN401  # as ViewOptions has them
    """Serve a store's pages in a thread of this process."""
    writes = options.get("writes", False)
    options = {"scope": machine_user(), **options}
    started = threading.Event()
    with open_store(store, writes=writes, follows=True) as place:
        listening = listen_on("127.0.0.1", 0)
        server = ReportServer(place, ViewOptions(port=listening.getsockname()[1], path=place.file, **options))
        thread = threading.Thread(target=server.serve, args=(listening, started.set))
        thread.start()
        try:
            assert started.wait(SECONDS)
            yield server
        finally:
            server.end()
            thread.join(SECONDS)
            server.close()
        assert not thread.is_alive()


def base_of(server: ReportServer) -> str:
    """Return the server's address without a token."""
    return server.address().partition("?")[0].rstrip("/")


@contextmanager
def browser(server: ReportServer, *, token: str = "", **headers: str) -> Iterator[httpx2.Client]:
    """Give a client that is logged in, by a one-time address or a user's token."""
    own = base_of(server)
    with httpx2.Client(base_url=own, timeout=SECONDS, headers=headers) as client:
        if token:
            answer = client.post("/login", data={"token": token}, headers={"origin": own})
        else:
            answer = client.get(server.address())
        assert answer.status_code == 303, answer.text
        yield client


def csrf(client: httpx2.Client) -> dict[str, str]:
    """Return the headers with which a change is made by our own page."""
    return {"squidbot-csrf": client.get("/api/me").json()["csrf"], "origin": str(client.base_url).rstrip("/")}


def following(client: httpx2.Client, query: str, seconds: float = 10.0) -> Generator[tuple[float, str, str]]:
    """Give the events of a stream as they come, each with when it came, its name and its data."""
    name, ends = "", time.monotonic() + seconds
    with suppress(httpx2.ReadTimeout), client.stream("GET", f"/api/events?{query}", timeout=seconds) as answer:
        assert answer.status_code == 200, answer.read()
        for line in answer.iter_lines():
            key, _, value = line.partition(": ")
            name = value if key == "event" else name
            if key == "data":
                yield (time.time(), name, value)
            if time.monotonic() > ends:
                break


def events(client: httpx2.Client, query: str, most: int, seconds: float = 10.0) -> list[tuple[float, str, str]]:
    """Return the first events of a stream."""
    with closing(following(client, query, seconds)) as stream:
        return [*islice(stream, most)]


def follow(client: httpx2.Client, query: str, most: int, told: list[tuple[float, str, str]]) -> None:
    """Add the first events of a stream to a list as they come: the first of them says that the page listens."""
    with closing(following(client, query, SECONDS)) as stream:
        for event in islice(stream, most):
            told.append(event)  # noqa: PERF402  # as they come: others look meanwhile
