"""What llama.cpp's log says of caches and failures; its words are those of 0.3.36 (commit 0c1e57098)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapting.buffers import mib_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["CacheLine", "last_words", "read_caches"]

# "llama_kv_cache: size =    0.25 MiB (  1024 cells,   2 layers,  1/1 seqs), K (f16):    0.12 MiB, V (f16):    0.12 MiB"
_CACHE = re.compile(r": size = *([\d.]+) MiB \( *(\d+) cells, *(\d+) layers,[^)]{0,99}\), ([KR]) ")

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


def read_caches(lines: Iterable[str]) -> tuple[CacheLine, ...]:
    """Return the caches that lines of one load speak of, in their order."""
    found = filter(None, map(_CACHE.search, lines))
    return tuple(
        CacheLine(first == "R", int(cells), int(layers), mib_bytes(mib))
        for mib, cells, layers, first in (each.groups() for each in found)
    )


def last_words(lines: Sequence[str]) -> str:
    """Return the line that says most of a failure: where it died, else the last reason, else ""."""
    said = [line.strip() for line in lines if line.strip()]
    deaths = [line for line in said if _DEATH.search(line)]
    reasons = [line for line in said if not _NO_REASON.search(line)]
    return (deaths or reasons or said or [""])[-1]
