"""A wire to a server on a local socket: it delays each direction, and counts how often a client waits for an answer.

python -m benchmarks.wire SOCKET DELAY_SECONDS    prints its port, and ends with its standard input
"""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import time
from collections import deque
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Wire", "delayed"]

CHUNK_BYTES = 2**20


class Wire:
    """One thread that carries all connections, none behind another.

    Attributes:
        port: where it listens on this machine.
        trips: how often a client said something behind an answer, or first: the round trips of all connections.
    """

    def __init__(self, server: str, delay_seconds: float = 0.0) -> None:
        """Take the path of the server's socket, and how long each direction takes."""
        self._server, self._delay = server, delay_seconds
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listening.getsockname()[1]
        self.trips = 0
        self._wake, self._woken = socket.socketpair()
        # The other end of each that may still say something; the server's end of each client; the clients that were
        # answered, or said nothing yet; what is under way, in the order of its time.
        self._others: dict[socket.socket, socket.socket] = {}
        self._clients: dict[socket.socket, socket.socket] = {}
        self._answered: set[socket.socket] = set()
        self._under_way: deque[tuple[float, socket.socket, bytes]] = deque()

    def __enter__(self) -> Self:
        self._thread = Thread(target=self.run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._wake.close()
        self._thread.join()
        for one in (self._woken, self._listening, *self._clients, *self._clients.values()):
            one.close()

    def run(self, until: int | None = None) -> None:
        """Carry until it is closed, or a file of that number says so."""
        ends: Any = self._woken.fileno() if until is None else until
        while True:
            wait = max(0.0, self._under_way[0][0] - time.perf_counter()) if self._under_way else None
            # `select` waits for fractions of milliseconds, `poll` and `epoll` don't.
            ready, _, _ = select.select([ends, self._listening, *self._others], [], [], wait)
            now = time.perf_counter()
            while self._under_way and self._under_way[0][0] <= now:
                _, end, data = self._under_way.popleft()
                self._deliver(end, data)
            for one in ready:
                if one == ends:
                    return
                if one is self._listening:
                    self._accept()
                elif one in self._others:
                    self._take(one, now)

    def _accept(self) -> None:
        client, _ = self._listening.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server = socket.socket(socket.AF_UNIX)
        server.connect(self._server)
        self._others |= {client: server, server: client}
        self._clients[client] = server
        self._answered.add(client)

    def _take(self, one: socket.socket, now: float) -> None:
        try:
            data = one.recv(CHUNK_BYTES)
        except ConnectionError:
            data = b""
        other = self._others[one]
        if one in self._clients:
            self.trips += one in self._answered and bool(data)
            self._answered.discard(one)
        else:
            self._answered.add(other)
        if not data:
            del self._others[one]
        self._under_way.append((now + self._delay, other, data))

    def _deliver(self, end: socket.socket, data: bytes) -> None:
        with suppress(OSError):
            if data:
                end.sendall(data)
            else:
                end.shutdown(socket.SHUT_WR)
        if not data and end not in self._others:  # neither end has more to say
            client = (
                end if end in self._clients else next(one for one, server in self._clients.items() if server is end)
            )
            for one in (client, self._clients.pop(client)):
                one.close()


@contextmanager
def delayed(server: str, delay_seconds: float) -> Iterator[int]:
    """Run a wire in a process of its own; yield its port."""
    command = [sys.executable, "-m", "benchmarks.wire", server, str(delay_seconds)]
    root = Path(__file__).resolve().parents[1]
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # noqa: S603
        assert process.stdin
        assert process.stdout
        yield int(process.stdout.readline())
        process.stdin.close()


def main(server: str, delay_seconds: str) -> None:
    """Carry until standard input ends."""
    wire = Wire(server, float(delay_seconds))
    os.write(1, f"{wire.port}\n".encode())
    wire.run(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
