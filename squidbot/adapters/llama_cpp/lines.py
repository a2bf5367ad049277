"""What llama.cpp's log says of buffers and caches; its words are those of 0.3.36 (commit 0c1e57098)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["BufferLines", "CacheLine", "last_words", "read_lines"]

MIB_BYTES = 2**20
# "llama_kv_cache:        CPU KV buffer size =     0.25 MiB"
_BUFFER = re.compile(r": +(\S+) +(model|KV|RS|compute) buffer size = *([\d.]+) MiB")
# "llama_kv_cache: size =    0.25 MiB (  1024 cells,   2 layers,  1/1 seqs), K (f16):    0.12 MiB, V (f16):    0.12 MiB"
_CACHE = re.compile(r": size = *([\d.]+) MiB \( *(\d+) cells, *(\d+) layers,[^)]*\), ([KR]) ")

# Where llama.cpp dies it says where; where it gives up, the lines behind the reason only say that it failed.
_DEATH = re.compile(r"GGML_ASSERT|GGML_ABORT|what\(\):")
_NO_REASON = re.compile(r"failed to (load model|decode)\b")


class CacheLine(NamedTuple):
    """One cache as it was made.

    Attributes:
        recurrent: whether it is state that does not grow with the window.
        cells: tokens of one sequence that fit; of recurrent state its rows.
        layers: how many layers keep something in it.
        size_bytes: rounded, as the log says it: right to within 0.005 MiB.
    """

    recurrent: bool
    cells: int
    layers: int
    size_bytes: int


class BufferLines(NamedTuple):
    """Sizes in bytes by the name of the buffer type ("CUDA0"), right to within 0.005 MiB a line, and the caches."""

    weights_bytes: dict[str, int]
    kv_bytes: dict[str, int]
    recurrent_bytes: dict[str, int]
    compute_bytes: dict[str, int]
    caches: tuple[CacheLine, ...]


def read_lines(lines: Iterable[str]) -> BufferLines:
    """Return what lines of one load say; lines that say nothing of memory are passed over."""
    sizes: dict[str, dict[str, int]] = {"model": {}, "KV": {}, "RS": {}, "compute": {}}
    caches = []
    for line in lines:
        if found := _BUFFER.search(line):
            name, what, mib = found.groups()
            # The log has a line for each buffer, and several of one type where a model is in several parts.
            sizes[what][name] = sizes[what].get(name, 0) + _bytes(mib)
        elif found := _CACHE.search(line):
            mib, cells, layers, first = found.groups()
            caches.append(CacheLine(first == "R", int(cells), int(layers), _bytes(mib)))
    return BufferLines(sizes["model"], sizes["KV"], sizes["RS"], sizes["compute"], tuple(caches))


def last_words(lines: Sequence[str]) -> str:
    """Return the line that says most of a failure: where it died, else the last reason, else ""."""
    said = [line.strip() for line in lines if line.strip()]
    deaths = [line for line in said if _DEATH.search(line)]
    reasons = [line for line in said if not _NO_REASON.search(line)]
    return (deaths or reasons or said or [""])[-1]


def _bytes(mib: str) -> int:
    return round(float(mib) * MIB_BYTES)
