"""The child of a dry run: creates a model and its contexts without memory, and prints their sizes as JSON.

Standard input has {"path": ..., "loadings": [...]}. Standard output gets a line for the model, then one for each
setting as soon as it is known; standard error gets llama.cpp's log. llama.cpp may abort anywhere: hence a child.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import sys
from typing import TYPE_CHECKING, Any, TextIO

import llama_cpp

from squidbot.adapters.common.llama_log import read_buffers
from squidbot.adapters.llama_cpp.params import Log, context_params, model_params
from squidbot.adapters.llama_cpp.verify import last_words, read_caches
from squidbot.core.sizing.header import Loading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["main"]

# Exit status if the model can't be loaded.
NO_MODEL = 3


def main(requests: TextIO, answers: TextIO) -> int:
    """Answer the request; return the exit status: 0, or `NO_MODEL`."""
    log = Log(_show)
    log.listen()
    request = json.load(requests)
    loadings = [Loading(**{**given, "tensor_split": tuple(given["tensor_split"])}) for given in request["loadings"]]
    llama_cpp.llama_backend_init()
    model = llama_cpp.llama_model_load_from_file(os.fsencode(request["path"]), model_params(loadings[0], dry=True))
    if not model:
        return NO_MODEL
    package, runtime = llama_cpp.__version__, llama_cpp.llama_version().decode()
    _say(answers, {"version": f"{package} ({runtime})", "model_bytes": llama_cpp.llama_model_size(model)})
    for loading in loadings:
        _say(answers, _setting(model, loading, log))
    return 0


def _show(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _say(answers: TextIO, value: Mapping[str, object]) -> None:
    answers.write(f"{json.dumps(value)}\n")
    answers.flush()


def _setting(model: llama_cpp.llama_model_p, loading: Loading, log: Log) -> dict[str, object]:
    """Return one setting's sizes, or why it has no context."""
    mark = log.mark()
    context = llama_cpp.llama_init_from_model(model, context_params(loading))
    if not context:
        return {"failure": last_words(log.since(mark)) or "llama.cpp made no context"}
    lines = log.since(mark)
    answer: dict[str, object] = {
        "window_tokens": llama_cpp.llama_n_ctx_seq(context),
        "caches": read_caches(lines),
        "compute_bytes": read_buffers(lines).compute_bytes,
        "sums": _exact_sums(context),
    }
    llama_cpp.llama_free(context)
    return answer


# llama.cpp's own sums by device, to the byte: a C++ std::map, readable on Linux x86-64. Its log rounds to 0.01 MiB.
_SYMBOL = "_Z26llama_get_memory_breakdownPK13llama_context"


def _structure(name: str, *fields: str) -> type[ctypes.Structure]:
    return type(name, (ctypes.Structure,), {"_fields_": [(field, ctypes.c_uint64) for field in fields]})


# The map: its comparison, the head of its tree, and its size. A node: the common fields, the buffer type, the sums.
_Map = _structure("_Map", "compares", "colour", "root", "first", "last", "count")
_Node = _structure("_Node", "colour", "parent", "left", "right", "buffer_type", "weights", "context", "compute")


def _exact_sums(context: int) -> list[tuple[str, int, int, int]] | None:
    """Return by buffer type the bytes of weights, context and compute; `None` if they can't be read."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return None
    library = llama_cpp.llama_cpp._lib  # noqa: SLF001  # the library itself: no function of its face leads there
    try:
        breakdown, name_of = getattr(library, _SYMBOL), library.ggml_backend_buft_name
    except AttributeError:
        return None
    breakdown.argtypes, breakdown.restype = [ctypes.c_void_p], _Map
    name_of.argtypes, name_of.restype = [ctypes.c_void_p], ctypes.c_char_p
    answer = breakdown(context)
    nodes = list(_nodes(answer.root))
    if len(nodes) != answer.count:
        return None
    return [(name_of(node.buffer_type).decode(), node.weights, node.context, node.compute) for node in nodes]


def _nodes(address: int) -> Iterator[Any]:
    if address:
        node: Any = _Node.from_address(address)
        yield from _nodes(node.left)
        yield node
        yield from _nodes(node.right)


if __name__ == "__main__":
    # Other output must not mix with the answers.
    own = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    raise SystemExit(main(sys.stdin, own))
