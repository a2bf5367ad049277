"""The wire of the benchmarks: what it carries, delays and counts."""

from __future__ import annotations

import socket
import threading
import time
from typing import TYPE_CHECKING

from benchmarks.wire import Wire, delayed

if TYPE_CHECKING:
    from pathlib import Path


def echoing(path: Path, clients: int) -> None:
    """Answer what so many clients say, each until it ends, with the same: each question when it is whole."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen()

    def answer(one: socket.socket) -> None:
        with one:
            question = b""
            while data := one.recv(2**16):
                question += data
                if question.endswith(b"."):
                    one.sendall(question)
                    question = b""

    def accept() -> None:
        with listening:
            for _ in range(clients):
                threading.Thread(target=answer, args=(listening.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def asked(client: socket.socket, text: bytes) -> bytes:
    """Say something, and return the answer."""
    client.sendall(text)
    found = b""
    while len(found) < len(text):
        found += client.recv(2**16)
    return found


def test_each_question_behind_an_answer_is_a_trip(tmp_path: Path) -> None:
    """Of all connections; what is said carries through, however long it is."""
    echoing(tmp_path / "s", 2)
    with Wire(str(tmp_path / "s")) as wire:
        with socket.create_connection(("127.0.0.1", wire.port)) as one:
            assert asked(one, b"a.") == b"a."
            with socket.create_connection(("127.0.0.1", wire.port)) as other:
                assert asked(other, b"b" * 300_000 + b".") == b"b" * 300_000 + b"."
            assert asked(one, b"c.") == b"c."
        assert wire.trips == 3


def test_each_direction_takes_its_time(tmp_path: Path) -> None:
    """Connections wait beside each other, not one behind the other."""
    echoing(tmp_path / "s", 8)
    with delayed(str(tmp_path / "s"), 0.05) as port:
        clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(8)]
        passed: list[float] = []
        while len(passed) < 6 and min(passed, default=1.0) >= 0.4:  # a busy machine takes longer, now and then
            began = time.monotonic()
            threads = [threading.Thread(target=asked, args=(client, b"a.")) for client in clients]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            passed.append(time.monotonic() - began)
        for client in clients:
            client.close()
    assert 0.1 <= min(passed) < 0.4
