"""Clients and servers are killed at any moment, on several machines: what was acknowledged is there, once, in order."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.core.errors import StoreError
from squidbot.core.messages import Category
from tests.postgresql import DatabaseServer, connected, new_schema, relay

from .told import FULL, ROOT, acknowledged, check_kills, ended, exchanges_in, opened_store, show, start
from .writer import PARTS, SESSION, exchange

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

pytestmark = pytest.mark.slow
KILLS = 200 if FULL else 8
CRASHES = 50 if FULL else 3
WRITERS, EXCHANGES = 4, 1000 if FULL else 25
# The way from one machine to another, in each direction.
DELAY_SECONDS = 0.0025


@pytest.fixture
def server() -> Iterator[DatabaseServer]:
    """Return a server of this test's alone."""
    with closing(DatabaseServer()) as made:
        yield made


def test_nothing_acknowledged_is_lost_when_clients_are_killed(postgresql: str) -> None:
    """SIGKILL at random moments, from the creation of the tables on; the same schema ten times, then a new one."""
    schemas = [new_schema() for _ in range(0, KILLS, 10)]
    check_kills(KILLS, lambda number: {"url": postgresql, "schema": schemas[number]})


def await_more(settings: Mapping[str, str], *names: str) -> None:
    """Wait until each of these writers has recorded another exchange: they are at work, and the server is back."""
    ends = time.monotonic() + 120

    def recorded(name: str) -> int:
        return sum(f"{name} " in row.payload for row in store.read(SESSION, 0, 10**9)) // PARTS

    with closing(opened_store(settings)) as store:
        before = {name: recorded(name) for name in names}
        while any(recorded(name) == before[name] for name in names):
            assert time.monotonic() < ends, "a writer does not go on"
            time.sleep(0.05)


def test_nothing_is_lost_or_doubled_when_the_server_is_killed(server: DatabaseServer) -> None:
    """Two processes in one session go on by themselves, each time the server is back."""
    settings, began = {"url": server.url, "schema": new_schema()}, time.monotonic()
    chance = random.Random(7)  # noqa: S311  # repeatable
    writers = [start(settings, f"w{number}", 10**9) for number in range(2)]
    for _ in range(CRASHES):
        await_more(settings, "w0", "w1")
        time.sleep(1 + chance.random())  # a crash loop is longer than anybody waits
        server.crash()
        time.sleep(chance.random() * 0.5)
        server.start()
    await_more(settings, "w0", "w1")
    for process in writers:
        process.terminate()
    told = [acknowledged(output) for output in ended(writers)]
    kept = exchanges_in(settings)
    for number in range(2):
        assert len(told[number]) > CRASHES
        assert [each for name, each in kept if name == f"w{number}"] == told[number]
    show(f"{CRASHES} crashes of the server, {len(kept)} exchanges in {time.monotonic() - began:.0f} s")


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
            time.sleep(10 if FULL else 2)
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


@pytest.fixture
def small_disk(server: DatabaseServer) -> Iterator[Path]:
    """Return a disk of 2 MiB that new tables of the server are on; as the server's, its folder is none of pytest's."""
    disk, mount = Path(tempfile.mkdtemp(prefix="small-")), shutil.which("mount")
    disk.chmod(0o755)
    done = mount and subprocess.run([mount, "-t", "tmpfs", "-o", "size=2m,mode=777", "tmpfs", disk], check=False)
    if not done or done.returncode:
        pytest.skip("no small disk can be mounted here")
    try:
        tables = disk / "tables"
        tables.mkdir()
        shutil.chown(tables, server.user, server.user)
        with connected(server.url) as operator:
            operator.execute(f"CREATE TABLESPACE small LOCATION '{tables}'".encode())
            operator.execute(b"ALTER DATABASE postgres SET default_tablespace = small")
        yield disk
    finally:
        server.close()
        subprocess.run([str(shutil.which("umount")), disk], check=True)
        disk.rmdir()


def test_a_full_disk_of_the_server_is_an_error_and_nothing_is_half_written(
    server: DatabaseServer, small_disk: Path
) -> None:
    """Turns are refused where there is no room, and all that was said can be read; then the host goes on."""
    schema, number, refused = new_schema(), 0, list[str]()
    with squidbot.load({"store": {"url": server.url, "schema": schema}}) as engine:
        session = engine.session(SESSION, window_tokens=4096)

        def turn() -> None:
            made = session.assemble(f"w {number} " + "why? " * 20)
            session.record(made.incoming, exchange("w", number))

        while len(refused) < 4 and number < 5000:  # a smaller one may still fit
            try:
                turn()
            except StoreError as error:
                refused.append(str(error))
            else:
                number += 1
        assert len(refused) == 4
        assert [text for text in refused if "the server's disk is full: free space on it" not in text] == []
        assert len(engine.wired.store.read(SESSION, 0, 10**9)) == PARTS * number
        subprocess.run([str(shutil.which("mount")), "-o", "remount,size=64m", small_disk], check=True)
        for _ in range(20):
            turn()
            number += 1
    assert exchanges_in({"url": server.url, "schema": schema}) == [("w", each) for each in range(number)]


def test_forgetting_is_done_or_not_wherever_it_is_cut(server: DatabaseServer) -> None:
    """The process is killed at any moment of it: all of it or nothing was done, and the next process ends it."""
    settings, chance = {"url": server.url, "schema": new_schema()}, random.Random(3)  # noqa: S311  # repeatable
    begun = done = 0
    forgetting = (
        "import sys, json, squidbot\n"
        "with squidbot.load({'store': json.loads(sys.argv[1])}) as engine:\n"
        "    session = engine.session(sys.argv[2])\n"
        "    print('ready', flush=True)\n"
        "    session.forget('m1', 'm3')\n"
    )
    for number in range(40 if FULL else 8):
        name = f"s{number}"
        with squidbot.load({"store": settings}) as engine:
            session = engine.session(name)
            for each in range(4):
                said = [{"role": "user", "content": f"walrus {each}"}, {"role": "assistant", "content": "ok"}]
                session.record(said)
        command = [sys.executable, "-c", forgetting, json.dumps(settings), name]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(chance.random() * 0.03)
            process.kill()
        with contextlib.closing(opened_store(settings)) as store:
            begun += bool(store.tasks())
        squidbot.load({"store": settings}).close()
        with contextlib.closing(opened_store(settings)) as store:
            assert not store.tasks()
            gone = [row.category is Category.FORGOTTEN for row in store.read(name, 0, 9)]
            assert gone in ([False] * 8, [seq in {1, 3} for seq in range(8)])
            done += any(gone)
    show(f"{begun} cut off, {done} done")
