"""What llama.cpp's log says of its buffers; its words are those of 0.3.36 (commit 0c1e57098)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

MIB_BYTES = 2**20
# "llama_kv_cache:        CPU KV buffer size =     0.25 MiB"
_BUFFER = re.compile(r": +(\S+) +(model|KV|RS|compute) buffer size = *([\d.]+) MiB")


class Buffers(NamedTuple):
    """Sizes in bytes by the name of the buffer type ("CUDA0"), right to within 0.005 MiB a line of the log."""

    weights_bytes: dict[str, int]
    kv_bytes: dict[str, int]
    recurrent_bytes: dict[str, int]
    compute_bytes: dict[str, int]


def read_buffers(lines: Iterable[str]) -> Buffers:
    """Return what lines of one load say of buffers; all others are passed over."""
    sizes: dict[str, dict[str, int]] = {"model": {}, "KV": {}, "RS": {}, "compute": {}}
    for line in lines:
        if found := _BUFFER.search(line):
            name, what, mib = found.groups()
            # The log has a line for each buffer, and several of one type where a model is in several parts.
            sizes[what][name] = sizes[what].get(name, 0) + mib_bytes(mib)
    return Buffers(sizes["model"], sizes["KV"], sizes["RS"], sizes["compute"])


def mib_bytes(mib: str) -> int:
    """Return how many bytes a number of MiB is, as the log writes it."""
    return round(float(mib) * MIB_BYTES)
