"""Runs in a process of its own: exchanges until no file may grow any more, then again where there is room.

python on_a_small_disk.py FILE BYTES; BYTES 0: the disk itself is small, and a file named "ballast" makes room.
"""

from __future__ import annotations

import resource
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import squidbot
from squidbot.core.errors import DamagedStoreError, StoreError

sys.path.insert(0, str(Path(__file__).parents[1]))
from crash.writer import SESSION, exchange  # type: ignore[import-not-found]  # this file is run by its path

if TYPE_CHECKING:
    from collections.abc import Callable

MOST = 5000


def main(path: Path, limit_bytes: int) -> None:
    """Fill the disk, see a typed error, read all, make room, go on."""
    engine = squidbot.load({"store": {"path": str(path)}})
    session = engine.session(SESSION, window_tokens=4096)

    def turn(number: int) -> None:
        made = session.assemble(f"w {number} " + "why? " * 20)
        session.record(made.incoming, exchange("w", number))

    turn(0)
    if limit_bytes:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, resource.RLIM_INFINITY))
    number = 0
    refused: list[StoreError] = []
    while not refused:
        number += 1
        attempt(turn, number, refused)
        if number == MOST:
            raise SystemExit("the disk was never full")
    for _ in range(3):  # refused as long as there is no room; all that is stored can be read
        attempt(turn, number, refused)
    assert all("nothing was written" in str(error) for error in refused), refused
    assert not any(isinstance(error, DamagedStoreError) for error in refused), refused
    assert len(engine.wired.store.read(SESSION, 0, 10**9)) == 4 * number
    if limit_bytes:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    else:
        path.with_name("ballast").unlink()
    for later in range(number, number + 20):
        turn(later)
    engine.close()
    sys.stdout.write(f"{number + 20} {len(refused) - 1}\n")


def attempt(turn: Callable[[int], None], number: int, refused: list[StoreError]) -> None:
    """Record an exchange, or keep the error."""
    try:
        turn(number)
    except StoreError as error:
        refused.append(error)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
