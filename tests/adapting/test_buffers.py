"""What llama.cpp's log says of its buffers, whoever runs it."""

from __future__ import annotations

from squidbot.adapters.common.llama_log import Buffers, read_buffers

MIB = 2**20


def test_buffers_of_one_type_add_up_and_all_other_lines_are_passed_over() -> None:
    """A model in several parts has a line for each; what a line says is rounded to .01 MiB."""
    lines = [
        "load_tensors:        CUDA0 model buffer size =     1.00 MiB",
        "load_tensors:        CUDA0 model buffer size =     0.51 MiB",
        "llama_context:        CPU  output buffer size =     0.49 MiB",
        "llama_kv_cache: size =    0.25 MiB (  1024 cells,   2 layers,  1/1 seqs), K (f16):    0.12 MiB",
        "llama_memory_recurrent:        CPU RS buffer size =     2.25 MiB",
        "sched_reserve:  CUDA_Host compute buffer size =    20.00 MiB",
    ]
    compute = {"CUDA_Host": 20 * MIB}
    assert read_buffers(lines) == Buffers({"CUDA0": MIB + round(0.51 * MIB)}, {}, {"CPU": 9 * MIB // 4}, compute)


def test_log_that_says_nothing_of_buffers_is_empty() -> None:
    """Nothing is made up."""
    assert not any(read_buffers(["nothing of it"]))
