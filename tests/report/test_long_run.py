"""Twenty sessions grow while they are followed: the memory of server and page stays as it is, and no page falls behind.

SQUIDBOT_VIEW_SECONDS=600 uv run --group browser pytest -m slow -s tests/report/test_long_run.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import psutil  # type: ignore[import-untyped]
import pytest

import squidbot
from squidbot.report.listing import key_of

from ..commands.conftest import talk
from .serving import SECONDS, Talker
from .test_view_in_browser import opened

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.slow, pytest.mark.browser]
LASTS_SECONDS = float(os.environ.get("SQUIDBOT_VIEW_SECONDS", "20"))
SESSIONS, TURNS, PAUSE_SECONDS = 20, 60, 0.12
AGENT = {"store": {"path": "s.db"}, "window": {"default": 8_000}}
SERVE = "from squidbot.cli import main; main()"
MIB = 2**20


class Follower(threading.Thread):
    """A page without a screen: it follows a session, and notes when it had how many messages."""

    def __init__(self, base: str, cookies: httpx2.Cookies, name: str) -> None:
        """Begin."""
        super().__init__(daemon=True)
        self._client = httpx2.Client(base_url=base, cookies=cookies, timeout=SECONDS)
        self._key, self._version = key_of(name), ""
        self.had: dict[int, float] = {}
        self.bytes = self.fetched = 0
        self._again = threading.Event()
        self._is_over = False
        self._fetching = threading.Thread(target=self._fetch, daemon=True)
        self._fetching.start()
        self.start()

    def run(self) -> None:
        """Listen, until `end` and the next event."""
        with self._client.stream("GET", f"/api/events?session={self._key}", timeout=None) as answer:
            for line in answer.iter_lines():
                if line.startswith("data"):
                    self._again.set()
                if self._is_over:
                    return

    def end(self) -> None:
        """End soon."""
        self._is_over = True

    def close(self) -> None:
        """Wait for the end."""
        self.join(SECONDS)
        self._again.set()
        self._fetching.join(SECONDS)
        self._client.close()

    def _fetch(self) -> None:
        wait = None
        while not self._is_over:
            self._again.wait(wait)
            self._again.clear()
            path = f"/api/session/{self._key}/figures"
            answer = self._client.get(path, params={"since": self._version})
            told = answer.headers.get("squidbot-again-seconds")
            wait = None if told is None else float(told) + 0.02
            if answer.status_code == 200:
                made = answer.json()
                part = made["lists"]["messages"]
                self.had[part["keep"] + len(part["add"])] = time.time()
                self._version = made["version"]
                self.bytes += int(answer.headers["content-length"])
                self.fetched += 1


def heap(page: Any) -> int:  # noqa: ANN401  # of a package that may not be there
    """Return the bytes that a page's script holds, after a collection."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    used = int(session.send("Runtime.getHeapUsage")["usedSize"])
    session.detach()
    return used


def said(agent: Talker, names: list[str], seconds: float, stored: dict[str, dict[int, float]]) -> Iterator[None]:
    """Let agents talk in turn for a while."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        for name in names:
            count = max(stored[name], default=4 * TURNS) + 2
            stored[name][count] = agent.say(name)
            yield
            time.sleep(PAUSE_SECONDS)


def lags(follower: Follower, stored: dict[int, float]) -> list[float]:
    """Return how long after each message was stored a page had it."""
    had = sorted(follower.had.items())
    found = []
    for count, at in stored.items():
        when = next((time for messages, time in had if messages >= count), None)
        if when is not None:
            found.append(when - at)
    return found


def test_memory_is_flat_while_twenty_sessions_are_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """For twenty seconds; for ten minutes where SQUIDBOT_VIEW_SECONDS says so."""
    monkeypatch.chdir(tmp_path)
    names = [f"agent/{number}" for number in range(SESSIONS)]
    with squidbot.load(AGENT) as engine:
        for name in names:
            talk(engine.session(name), TURNS)
    command = [sys.executable, "-c", SERVE, "view", "--store", "s.db", "--no-browser"]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, stdin=subprocess.PIPE)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        base = address.partition("/?")[0]
        with httpx2.Client(base_url=base, timeout=SECONDS) as client:
            assert client.get(address).status_code == 303
            rows = measured(names, base, client, psutil.Process(server.pid))
    finally:
        server.terminate()
        server.communicate(timeout=SECONDS)
    with capsys.disabled():
        print(f"\n{json.dumps(rows)}")  # noqa: T201  # the figures of a long run
    first, last = rows["points"][1], rows["points"][-1]
    # Both hold what they show: a server some kilobytes of each message, a page those of its own session.
    assert last["server_mib"] - first["server_mib"] < 16 + rows["messages_added"] * 8 / 1024
    assert last["page_mib"] - first["page_mib"] < 3 + rows["messages_added"] / SESSIONS * 4 / 1024
    assert rows["lag_median"] < 1


def measured(names: list[str], base: str, client: httpx2.Client, process: Any) -> dict[str, Any]:  # noqa: ANN401  # psutil's
    """Return what the server and a page take, at ten points of time, and how far pages are behind."""
    stored: dict[str, dict[int, float]] = defaultdict(dict)
    points, (name, value) = list[dict[str, float]](), next(iter(client.cookies.items()))
    size = Path("s.db").stat().st_size
    with Talker(AGENT) as agent, opened("about:blank") as page:
        page.context.add_cookies([{"name": name, "value": value, "url": base}])
        page.goto(f"{base}/session/{key_of(names[0])}")
        page.get_by_text("follows the session").wait_for()
        followers = [Follower(base, client.cookies, name) for name in names]
        began, cpu = time.monotonic(), process.cpu_times()
        for point in range(11):
            for _ in said(agent, names, LASTS_SECONDS / 11, stored):
                pass
            rss, script = process.memory_info().rss / MIB, heap(page) / MIB
            spent = time.monotonic() - began
            points.append({"seconds": round(spent), "server_mib": round(rss, 1), "page_mib": round(script, 2)})
            assert point >= 0
        time.sleep(3)
        after = process.cpu_times()
        for one in followers:
            one.end()
        for name in names:
            agent.say(name)  # an event for each, which ends its stream
        for one in followers:
            one.close()
        late = sorted(lag for one, name in zip(followers, names, strict=True) for lag in lags(one, stored[name]))
        seen = page.get_by_text("follows the session").inner_text()
    return {
        "points": points,
        "messages_of_each": max(stored[names[0]]),
        "messages_added": 2 * sum(map(len, stored.values())),
        "messages_seen": seen,
        "stored_mib": round((sum(Path(f"s.db{end}").stat().st_size for end in ("", "-wal")) - size) / MIB, 2),
        "lag_median": round(late[len(late) // 2], 3),
        "lag_99": round(late[len(late) * 99 // 100], 3),
        "lag_most": round(late[-1], 3),
        "cpu_share": round((after.user + after.system - cpu.user - cpu.system) / (time.monotonic() - began), 3),
        "fetched": sum(one.fetched for one in followers),
        "bytes_each": round(sum(one.bytes for one in followers) / max(1, sum(one.fetched for one in followers))),
    }
