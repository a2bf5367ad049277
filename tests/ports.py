"""Ports for servers that can't choose one themselves."""

from __future__ import annotations

import socket
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def free_port() -> Iterator[int]:
    """Give a port on which a server may listen while the context is open.

    On Linux, nobody else is given it meanwhile: it stays bound, which keeps only those from it who ask for any port.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        if sys.platform != "linux":
            held.close()
        yield port
