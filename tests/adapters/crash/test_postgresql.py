"""Clients and servers are killed at any moment, on several machines: what was acknowledged is there, once, in order."""

from __future__ import annotations

import random
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import pytest

from tests.postgresql import DatabaseServer, new_schema, relay

from .told import FULL, acknowledged, ended, exchanges_in, killed, show, start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow
KILLS = 200 if FULL else 8
CRASHES = 50 if FULL else 3
WRITERS, EXCHANGES = 4, 1000 if FULL else 25
# The way from one machine to another, in each direction.
DELAY_SECONDS = 0.0025


@pytest.fixture
def server(tmp_path: Path) -> Iterator[DatabaseServer]:
    """Return a server of this test's alone."""
    with closing(DatabaseServer(tmp_path)) as made:
        yield made


def test_nothing_acknowledged_is_lost_when_clients_are_killed(postgresql: str) -> None:
    """SIGKILL at random moments, from the creation of the tables on; the same schema ten times, then a new one."""
    chance = random.Random(5)  # noqa: S311  # repeatable
    acked, settings = list[tuple[str, int]](), dict[str, str]()
    for kill in range(KILLS):
        if kill % 10 == 0:
            acked, settings = [], {"url": postgresql, "schema": new_schema()}
        name = f"w{kill}"
        output = killed(settings, name, kill, chance)
        acked += [(name, number) for number in acknowledged(output)]
        kept = exchanges_in(settings)
        assert len(set(kept)) == len(kept), "an exchange is there twice"
        unheard = [each for each in kept if each not in set(acked)]
        assert [each for each in kept if each not in set(unheard)] == acked
        assert unheard in ([], [(name, len(acknowledged(output)))])
        acked = kept


def test_nothing_is_lost_or_doubled_when_the_server_is_killed(server: DatabaseServer) -> None:
    """Two processes in one session go on by themselves, each time the server is back."""
    settings = {"url": server.url, "schema": new_schema()}
    chance, crashes = random.Random(7), 0  # noqa: S311  # repeatable
    exchanges = 20 * CRASHES
    writers = [start(settings, f"w{number}", exchanges) for number in range(2)]
    while crashes < CRASHES and any(process.poll() is None for process in writers):
        time.sleep(0.3 + chance.random())
        server.crash()
        time.sleep(chance.random() * 0.5)
        server.start()
        crashes += 1
    ended(writers, exchanges)
    kept = exchanges_in(settings)
    assert crashes
    for number in range(2):
        assert [each for name, each in kept if name == f"w{number}"] == list(range(exchanges))
    show(f"{crashes} crashes of the server, {len(kept)} exchanges")


@pytest.mark.parametrize("act", ["left alone", "restarted"])
def test_four_processes_on_two_machines_write_one_session(server: DatabaseServer, act: str) -> None:
    """All exchanges are whole and in one order, each process's in its own; nobody sees an error."""
    schema, began = new_schema(), time.monotonic()
    with ExitStack() as machines:
        urls = [machines.enter_context(relay(server.url, delay_seconds=DELAY_SECONDS)) for _ in range(2)]
        places = [{"url": url, "schema": schema} for url in urls]
        writers = [start(places[number % 2], f"w{number}", EXCHANGES) for number in range(WRITERS)]
        restarts = 0
        while act == "restarted" and any(process.poll() is None for process in writers):
            time.sleep(2)
            server.restart()
            restarts += 1
        outputs = ended(writers, EXCHANGES)
        kept = exchanges_in({"url": server.url, "schema": schema})
    assert len(kept) == WRITERS * EXCHANGES
    for number in range(WRITERS):
        assert [each for name, each in kept if name == f"w{number}"] == list(range(EXCHANGES))
    told = sorted(float(line.split()[2]) for output in outputs for line in output.splitlines())
    show(
        f"{len(kept)} exchanges in {time.monotonic() - began:.1f} s, {restarts} restarts; record ms: p50 "
        f"{told[len(told) // 2]}, p99 {told[len(told) * 99 // 100]}, most {told[-1]}"
    )
