"""What llama.cpp's log says, read from lines as it prints them."""

from __future__ import annotations

import pytest

from squidbot.adapters.common.llama_log import read_buffers
from squidbot.adapters.llama_cpp.verify import CacheLine, last_words, read_caches

MIB = 2**20
LOADED = """
load_tensors:   CPU_Mapped model buffer size =   281.81 MiB
load_tensors:        CUDA0 model buffer size =  4403.49 MiB
load_tensors:        CUDA0 model buffer size =     0.51 MiB
llama_context:        CPU  output buffer size =     0.49 MiB
llama_kv_cache:      CUDA0 KV buffer size =   624.00 MiB
llama_kv_cache: size =  624.00 MiB (  8192 cells,  10 layers,  1/1 seqs), K (f16):  312.00 MiB, V (f16):  312.00 MiB
llama_kv_cache:      CUDA0 KV buffer size =   100.50 MiB
llama_kv_cache: size =  100.50 MiB (  1536 cells,  52 layers,  1/1 seqs), K (q8_0):  50.25 MiB, V (q8_0):  50.25 MiB
llama_memory_recurrent:        CPU RS buffer size =     2.25 MiB
llama_memory_recurrent: size =    2.25 MiB (     1 cells,   6 layers,  1 seqs), R (f32):    0.25 MiB, S (f32):    2.00 MiB
sched_reserve:      CUDA0 compute buffer size =   258.50 MiB
sched_reserve:  CUDA_Host compute buffer size =    20.01 MiB
sched_reserve: graph: nodes = 68, splits = 1
"""  # noqa: E501  # as it is printed


def test_lines_are_read_as_sizes_by_buffer_when_a_model_was_loaded() -> None:
    """Weights in several parts add up; caches come one by one; what is no size of a buffer is passed over."""
    read = read_buffers(LOADED.splitlines())
    assert read.weights_bytes == {"CPU_Mapped": round(281.81 * MIB), "CUDA0": round(4403.49 * MIB) + round(0.51 * MIB)}
    assert read.kv_bytes == {"CUDA0": 724 * MIB + MIB // 2}
    assert read.recurrent_bytes == {"CPU": 2 * MIB + MIB // 4}
    assert read.compute_bytes == {"CUDA0": 258 * MIB + MIB // 2, "CUDA_Host": round(20.01 * MIB)}
    assert read_caches(LOADED.splitlines()) == (
        CacheLine(recurrent=False, cells=8192, layers=10, size_bytes=624 * MIB),
        CacheLine(recurrent=False, cells=1536, layers=52, size_bytes=100 * MIB + MIB // 2),
        CacheLine(recurrent=True, cells=1, layers=6, size_bytes=2 * MIB + MIB // 4),
    )


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([], ""),
        (["", "  "], ""),
        (["a", "b ", ""], "b"),
        (["load: error loading model: no tensor", "load_from_file: failed to load model"], "no tensor"),
        (["init: invalid token", "llama_decode: failed to decode, ret = -1"], "invalid token"),
        (["failed to load model"], "failed to load model"),
        (["x.cpp:12: GGML_ASSERT(n > 0) failed", "see the manual"], "GGML_ASSERT(n > 0) failed"),
    ],
)
def test_last_words_are_those_that_say_why_when_others_follow(lines: list[str], told: str) -> None:
    """A reason before the line that only says that it failed; else the last line with text."""
    assert last_words(lines).endswith(told)
    assert bool(last_words(lines)) == bool(told)
