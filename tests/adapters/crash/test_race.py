"""Several processes in one session: no exchange is lost, doubled or split, nobody sees an error or half an exchange."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.adapters.sqlite3.doctor import check

from .told import FULL, ended, exchanges_in, show, start
from .writer import PARTS, SESSION

if TYPE_CHECKING:
    from pathlib import Path

WRITERS = 4
EXCHANGES = 1000 if FULL else 25


@pytest.mark.slow
def test_four_processes_lose_nothing_when_they_write_one_session_through_the_engine(tmp_path: Path) -> None:
    """Each keeps its own order (V24).

    A reader beside them sees whole exchanges only, never fewer than before, and a whole file.
    """
    path = tmp_path / "s.db"
    began = time.monotonic()
    writers = [start(path, f"w{number}", EXCHANGES) for number in range(WRITERS)]
    seen, looks, at_work = 0, 0, True
    while at_work:
        at_work = any(process.poll() is None for process in writers)  # once more behind the last of them
        if path.exists() and path.with_name("s.db-known").exists():
            with SqliteStore(path) as store:
                messages, _ = store.head(SESSION)
                rows = store.read(SESSION, max(0, messages - 40), messages + 1000)
            assert messages % PARTS == 0
            assert (rows[-1].seq + 1 if rows else 0) % PARTS == 0
            assert messages >= seen
            if looks % 10 == 0:
                health = check(path, proves_words=True)
                assert health.whole, health
            seen, looks = messages, looks + 1
        time.sleep(0.02)
    outputs = ended(writers, EXCHANGES)
    kept = exchanges_in(path)
    assert len(kept) == WRITERS * EXCHANGES
    for number in range(WRITERS):
        assert [each for name, each in kept if name == f"w{number}"] == list(range(EXCHANGES))
    assert looks
    told = sorted(float(line.split()[2]) for output in outputs for line in output.splitlines())
    show(
        f"{len(kept)} exchanges in {time.monotonic() - began:.1f} s, {looks} looks; record ms: p50 "
        f"{told[len(told) // 2]}, p99 {told[len(told) * 99 // 100]}, most {told[-1]}"
    )
    assert told[-1] < 30_000
