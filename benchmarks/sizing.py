"""Sizing a model from its file: what reading the header, and what all the arithmetic behind it, takes.

The files are stubs of real dimensions, their tensors a hole, with a vocabulary of as many texts as real ones have.
Each is read in a fresh process, as `squidbot model size` does it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.clocks import median
from benchmarks.process import run_python
from benchmarks.report import Bar, Result, Table
from squidbot.core.sizing.header import Tensor, type_id
from squidbot.testing.ggufs import write_gguf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from squidbot.testing.ggufs import Metadata

__all__ = ["measure"]

VOCABULARY = 128_256
# The smallest window does not fit there, so the layers that do are looked for, too.
FREE_BYTES = {"8B": 15_500 * 2**20, "405B": 15_500 * 2**20, "405B, without vocabulary": 400_000 * 2**20}
CHILD = """
import json, sys, time
began = time.process_time()
from squidbot.adapters.gguf import read_header
from squidbot.core.sizing.header import Card, Loading
from squidbot.core.sizing.fit import WindowSearch
from squidbot.core.sizing.memory import model_of
marks = [time.process_time()]
def mark():
    marks.append(time.process_time())
header = read_header(sys.argv[1])
mark()
cards = [Card("cuda", int(sys.argv[2])), Card("cpu", 2**40)]
model = model_of(header)
found = WindowSearch(model, Loading(), cards).fit()
mark()
WindowSearch(model, Loading(), cards).alternatives()
mark()
found = WindowSearch(model_of(header), Loading(), cards).fit()
mark()
from pathlib import Path
status = Path("/proc/self/status")
lines = status.read_text().splitlines() if status.exists() else []
peak = next((float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), float("nan"))
spans = [later - sooner for sooner, later in zip([began, *marks], marks)]
print(json.dumps([*(1e3 * span for span in spans), peak, found.sizing.total_bytes / 2**30]))
"""
COLUMNS = ("import ms", "header ms", "window ms", "what else ms", "window again", "peak MiB", "model GiB")


class Dims(NamedTuple):
    """A model of the Llama family."""

    layers: int
    embedding: int
    heads: int
    ffn: int


LLAMAS = {"8B": Dims(32, 4096, 32, 14_336), "405B": Dims(126, 16_384, 128, 53_248)}


def measure(folder: Path, rounds: int, progress: Callable[[str], None]) -> Result:
    """Measure fresh processes that size each file, in turns; CPU times, p50, and the peak of the whole process."""
    paths = {
        "8B": _written(folder / "8b.gguf", LLAMAS["8B"], VOCABULARY),
        "405B": _written(folder / "405b.gguf", LLAMAS["405B"], VOCABULARY),
        "405B, without vocabulary": _written(folder / "405b-bare.gguf", LLAMAS["405B"], 0),
    }
    runs: dict[str, list[list[float]]] = {name: [] for name in paths}
    for number in range(rounds + 1):
        progress(f"sizing: round {number} of {rounds}")
        for name, path in paths.items():
            done = run_python(["-c", CHILD, str(path), str(FREE_BYTES[name])])
            if number:  # the first round compiles
                runs[name].append(json.loads(done.stdout))
    rows = {name: tuple(median(column) for column in zip(*each, strict=True)) for name, each in runs.items()}
    return Result("sizing", [Table("A model sized in a fresh process, CPU", COLUMNS, tuple(rows.items()))], _bars(rows))


def _bars(rows: dict[str, tuple[float, ...]]) -> list[Bar]:
    _, header, window, _, again, _, _ = rows["8B"]
    return [
        Bar("8B: largest window once the header is read, ms", again, at_most=3.0),
        Bar("8B: largest window, of the time that reading the header takes", window / header, at_most=0.5),
        Bar(
            "405B without vocabulary: header and window, ms", sum(rows["405B, without vocabulary"][1:3]), at_most=200.0
        ),
        Bar("405B: header and window, ms", sum(rows["405B"][1:3]), at_most=200.0),
        Bar("405B: peak of the whole process, MiB", rows["405B"][5], at_most=100.0),
    ]


def _written(path: Path, dims: Dims, vocabulary: int) -> Path:
    """Write a stub, of q4_K all of it, and return its path."""
    return write_gguf(path, _metadata(dims, vocabulary), list(_tensors(dims)))[0]


def _metadata(dims: Dims, vocabulary: int) -> Metadata:
    keys: Metadata = {
        "general.architecture": "llama",
        "llama.block_count": dims.layers,
        "llama.context_length": 131_072,
        "llama.embedding_length": dims.embedding,
        "llama.feed_forward_length": dims.ffn,
        "llama.attention.head_count": dims.heads,
        "llama.attention.head_count_kv": 8,
    }
    if not vocabulary:
        return keys
    texts = [f"token{number}" for number in range(vocabulary)]
    merges = [f"to ken{number}" for number in range(280_147)]  # as many as Llama 3 has
    kinds = [1] * vocabulary
    return {**keys, "tokenizer.ggml.tokens": texts, "tokenizer.ggml.token_type": kinds, "tokenizer.ggml.merges": merges}


def _tensors(dims: Dims) -> Iterator[Tensor]:
    width, narrow = dims.embedding, 8 * dims.embedding // dims.heads
    shapes = {
        "attn_q": (width, width),
        "attn_k": (width, narrow),
        "attn_v": (width, narrow),
        "attn_output": (width, width),
        "ffn_gate": (width, dims.ffn),
        "ffn_up": (width, dims.ffn),
        "ffn_down": (dims.ffn, width),
    }
    small, plain = type_id("q4_K"), type_id("f32")
    yield Tensor("token_embd.weight", (width, VOCABULARY), small)
    for layer in range(dims.layers):
        yield from (Tensor(f"blk.{layer}.{name}.weight", shape, small) for name, shape in shapes.items())
        yield from (Tensor(f"blk.{layer}.{name}_norm.weight", (width,), plain) for name in ("attn", "ffn"))
    yield Tensor("output_norm.weight", (width,), plain)
    yield Tensor("output.weight", (width, VOCABULARY), small)
