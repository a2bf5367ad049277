"""The child: makes a model and its contexts without any memory, and prints what they would take as lines of JSON.

On standard input: {"path": ..., "loadings": [...]}. On standard output: first the model, then each setting, as soon as
it is known. On standard error: llama.cpp's log. It may abort at any place, which is why it is a child.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, TextIO

import llama_cpp

from squidbot.adapters.common.llama_log import read_buffers
from squidbot.adapters.llama_cpp.breakdown import read_breakdown
from squidbot.adapters.llama_cpp.params import Log, context_params, model_params
from squidbot.adapters.llama_cpp.verify import last_words, read_caches
from squidbot.core.sizing.header import Loading

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["main"]

# Exit status where the model can't be loaded at all.
NO_MODEL = 3


def main(asked: TextIO, answers: TextIO) -> int:
    """Answer what is asked; return the exit status: 0, or `NO_MODEL`."""
    log = Log(_show)
    log.listen()
    request = json.load(asked)
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
    """Return what one setting takes, or why there is no context."""
    mark = log.mark()
    context = llama_cpp.llama_init_from_model(model, context_params(loading))
    if not context:
        return {"failure": last_words(log.since(mark)) or "llama.cpp made no context"}
    lines = log.since(mark)
    sums = read_breakdown(context)
    said = {
        "window_tokens": llama_cpp.llama_n_ctx_seq(context),
        "caches": read_caches(lines),
        "compute_bytes": read_buffers(lines).compute_bytes,
        "sums": sums,
    }
    llama_cpp.llama_free(context)
    return said


if __name__ == "__main__":
    # What anything else prints must not come between the answers.
    own = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    raise SystemExit(main(sys.stdin, own))
