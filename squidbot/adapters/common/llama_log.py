"""Buffer sizes in llama.cpp's log, in the words of 0.3.36 (commit 0c1e57098)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

MIB_BYTES = 2**20
# "llama_kv_cache:        CPU KV buffer size =     0.25 MiB"
_BUFFER = re.compile(r": +(\S+) +(model|KV|RS|compute) buffer size = *([\d.]+) MiB")


class Buffers(NamedTuple):
    """Sizes in bytes by buffer type ("CUDA0"), each line of the log right to within 0.005 MiB."""

    weights_bytes: dict[str, int]
    kv_bytes: dict[str, int]
    recurrent_bytes: dict[str, int]
    compute_bytes: dict[str, int]


def read_buffers(lines: Iterable[str]) -> Buffers:
    """Return the buffer sizes in the log of one load; other lines are ignored."""
    sizes: dict[str, dict[str, int]] = {"model": {}, "KV": {}, "RS": {}, "compute": {}}
    for line in lines:
        if found := _BUFFER.search(line):
            name, what, mib = found.groups()
            # The log has a line for each buffer, and several of one type for a model in several parts.
            sizes[what][name] = sizes[what].get(name, 0) + mib_bytes(mib)
    return Buffers(sizes["model"], sizes["KV"], sizes["RS"], sizes["compute"])


def mib_bytes(mib: str) -> int:
    """Return a number of MiB from the log in bytes."""
    return round(float(mib) * MIB_BYTES)
