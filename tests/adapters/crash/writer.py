"""What the crash tests run and kill: exchanges recorded through the engine, each told on standard output once stored.

python writer.py STORE NAME EXCHANGES [TRIES], STORE a file or `[store]` as JSON; a line is the number of the exchange,
how many milliseconds storing it took.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import squidbot
from squidbot.core.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

Value = TypeVar("Value")

SESSION = "s"
# As an agent's turn: a question, a call, its result, the answer. All of it is one `record`.
PARTS = 4


def exchange(name: str, number: int) -> list[dict[str, object]]:
    """Return the messages of an exchange behind its question; each names its exchange."""
    mark = f"{name} {number}"
    call = {
        "id": f"{name}-{number}",
        "type": "function",
        "function": {"name": "look", "arguments": f'{{"at": "{mark}"}}'},
    }
    return [
        {"role": "assistant", "content": mark, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": f"{mark}: " + "found " * 40},
        {"role": "assistant", "content": f"{mark}. " + "so " * 20},
    ]


def main(store: str, name: str, exchanges: int, tries: int = 1) -> None:
    """Record so many exchanges, fewer where SIGTERM comes; what fails is tried again, so often in all."""
    asked_to_end = list[int]()
    signal.signal(signal.SIGTERM, lambda number, _: asked_to_end.append(number))
    settings = json.loads(store) if store.startswith("{") else {"path": store}
    engine = again(lambda: squidbot.load({"store": settings}), tries)
    session = engine.session(SESSION, window_tokens=4096)
    for number in range(exchanges):
        asked = f"{name} {number} " + "why? " * 20
        made = again(partial(session.assemble, asked), tries)
        began = time.perf_counter()
        rows = again(partial(session.record, made.incoming, exchange(name, number)), tries)
        seconds = time.perf_counter() - began
        sys.stdout.write(f"{number} {rows[0].seq} {seconds * 1e3:.1f}\n")
        sys.stdout.flush()
        if asked_to_end:
            break
    engine.close()


def again(call: Callable[[], Value], tries: int) -> Value:
    """Return what a call returns."""
    for _ in range(tries - 1):
        try:
            return call()
        except StoreError as error:
            sys.stderr.write(f"{error}\n")
    return call()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
