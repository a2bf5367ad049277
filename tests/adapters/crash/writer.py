"""What the crash tests run and kill: exchanges recorded through the engine, each told on standard output once stored.

python writer.py FILE NAME EXCHANGES; a line is the number of the exchange, the seq of its question, and how many
milliseconds storing it took.
"""

from __future__ import annotations

import sys
import time

import squidbot

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


def main(path: str, name: str, exchanges: int) -> None:
    """Record so many exchanges."""
    with squidbot.load({"store": {"path": path}}) as engine:
        session = engine.session(SESSION, window_tokens=4096)
        for number in range(exchanges):
            made = session.assemble(f"{name} {number} " + "why? " * 20)
            began = time.perf_counter()
            rows = session.record(made.incoming, exchange(name, number))
            seconds = time.perf_counter() - began
            sys.stdout.write(f"{number} {rows[0].seq} {seconds * 1e3:.1f}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
