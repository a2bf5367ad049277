"""What a damaged file still gives, and what an append costs behind a huge one."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING
from zlib import crc32

from benchmarks.clocks import Times, median
from benchmarks.host import SESSION, Host, Stores, open_session
from benchmarks.report import Bar, Result, Table
from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.adapters.sqlite3.doctor import check, repair

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from squidbot.core.session import CoreSession

__all__ = ["measure"]

NOISE_BYTES = 4096
WINDOWS = 32_000, 1_000_000
# Exchanges between two huge messages, and how often one comes.
USUAL, HUGE = 40, 15


def measure(path: Path, messages: int, noises: int, huge_mb: int, progress: Callable[[str], None]) -> Result:
    """Damage copies of a seeded file by noise at random places and repair them; append huge messages to a new one."""
    result = Result("faults")
    _noise(result, path, messages, noises, progress)
    _huge(result, path.parent, huge_mb, progress)
    return result


def _noise(result: Result, path: Path, messages: int, noises: int, progress: Callable[[str], None]) -> None:
    chance = random.Random(1)  # noqa: S311  # repeatable
    checks, repairs = Times(), Times()
    ill, mended = path.with_name("ill.db"), path.with_name("mended.db")
    shares = []
    for number in range(noises):
        progress(f"faults: noise {number + 1} of {noises}")
        shutil.copy(path, ill)
        with ill.open("r+b") as file:
            file.seek(chance.randrange(path.stat().st_size - NOISE_BYTES))
            file.write(chance.randbytes(NOISE_BYTES))
        checks.of(lambda: check(ill))
        saved = repairs.of(lambda: repair(ill, mended))
        shares.append(
            sum(1 for session in saved.sessions for _ in range(session.messages - len(session.damaged))) / messages
        )
        for each in path.parent.glob("mended.db*"):
            each.unlink()
    ill.unlink()
    rows = (
        ("messages saved, worst share", (min(shares),)),
        ("messages saved, median share", (median(shares),)),
        ("check, wall ms p50", (checks.wall_ms(0.5),)),
        ("repair into a copy, wall ms p50", (repairs.wall_ms(0.5),)),
    )
    result.tables.append(Table(f"4 KB of noise at {noises} places in a file of {messages:,} messages", ("",), rows))
    result.bars.append(Bar("messages saved behind 4 KB of noise, worst share (D4)", min(shares), at_least=0.99))


def _huge(result: Result, folder: Path, huge_mb: int, progress: Callable[[str], None]) -> None:
    columns: list[tuple[float, ...]] = []
    for window in WINDOWS:
        progress(f"faults: messages of {huge_mb} MB in a window of {window:,}")
        with SqliteStore(folder / f"huge-{window}.db") as store:
            columns.append(_appends(open_session(Stores(store, store), window, SESSION), huge_mb))
    names = (
        "usual, CPU ms p50",
        f"behind {huge_mb} MB that are not stored, CPU ms p50",
        f"behind {huge_mb} MB that are stored, CPU ms p50",
        "the last two, ratio",
        "usual, wall ms p50",
        f"behind {huge_mb} MB that are not stored, wall ms p50",
        f"behind {huge_mb} MB that are stored, wall ms p50",
        f"of {huge_mb} MB, wall ms p50",
    )
    rows = tuple(zip(names, zip(*columns, strict=True), strict=True))
    result.tables.append(Table("Recording an exchange", tuple(f"{window:,}" for window in WINDOWS), rows))
    result.remarks.append("not stored: encoded and summed once in this process, which leaves its caches as cold.")
    for window, figures in zip(WINDOWS, columns, strict=True):
        name = f"append behind {huge_mb} MB, stored / not stored, window {window:,} (D7)"
        result.bars.append(Bar(name, figures[3], at_most=1.5))


def _appends(session: CoreSession, huge_mb: int) -> tuple[float, ...]:
    host, usual, control, huge, after = Host(), Times(), Times(), Times(), Times()
    text = "All of it: " + "x" * (huge_mb * 2**20)
    for _ in range(HUGE):
        for _ in range(USUAL):
            _exchange(session, host, usual)
        crc32(text.encode())
        _exchange(session, host, control)
        asked = session.assemble([host.question()], host.inputs)
        reply = host.said("assistant", text)
        huge.of(lambda asked=asked, reply=reply: session.record(*asked.incoming, reply))  # type: ignore[misc]
        _exchange(session, host, after)
    kinds = usual, control, after
    cpu = [kind.cpu_ms for kind in kinds]
    return *cpu, cpu[2] / cpu[1], *(kind.wall_ms(0.5) for kind in (*kinds, huge))


def _exchange(session: CoreSession, host: Host, times: Times) -> None:
    """Have an exchange; the recording of its first call counts."""
    for number, call in enumerate(host.turn()):
        made = session.assemble(call.incoming, host.inputs)
        counted = Times() if number else times
        counted.of(lambda made=made, call=call: session.record(*made.incoming, call.reply, now=call.time))  # type: ignore[misc]
