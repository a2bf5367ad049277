"""llama.cpp's own sums by device, to the byte; its log rounds to 0.01 MiB."""

from __future__ import annotations

import ctypes
import platform
import sys
from typing import TYPE_CHECKING, NamedTuple

import llama_cpp

if TYPE_CHECKING:
    from collections.abc import Iterator


# llama.cpp's own sums by device, to the byte; its log rounds to 0.01 MiB.

_SYMBOL = "_Z26llama_get_memory_breakdownPK13llama_context"


class Sums(NamedTuple):
    """What lies in buffers of one type, in bytes; `context` is keys, values and recurrent state together."""

    buffer: str
    weights: int
    context: int
    compute: int


class _Map(ctypes.Structure):
    """std::map: the comparison, then the head of the tree (colour, root, first, last), then how many there are."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("compares", "colour", "root", "first", "last", "count")]


class _Node(ctypes.Structure):
    """A node of its tree: what every node has, then the buffer type, then the three sums."""

    _fields_ = [
        (name, ctypes.c_uint64)
        for name in ("colour", "parent", "left", "right", "buffer_type", "weights", "context", "compute")
    ]


def read_breakdown(context: int) -> tuple[Sums, ...] | None:
    """Return the sums of a context by buffer type, in no order; None where they can't be read here."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return None
    library = llama_cpp.llama_cpp._lib  # noqa: SLF001  # the library itself: no function of its face leads there
    try:
        asked, named = getattr(library, _SYMBOL), library.ggml_backend_buft_name
    except AttributeError:
        return None
    asked.argtypes, asked.restype = [ctypes.c_void_p], _Map
    named.argtypes, named.restype = [ctypes.c_void_p], ctypes.c_char_p
    answer: _Map = asked(context)
    nodes = list(_nodes(answer.root))
    if len(nodes) != answer.count:
        return None
    return tuple(Sums(named(node.buffer_type).decode(), node.weights, node.context, node.compute) for node in nodes)


def _nodes(address: int) -> Iterator[_Node]:
    if address:
        node = _Node.from_address(address)
        yield from _nodes(node.left)
        yield node
        yield from _nodes(node.right)
