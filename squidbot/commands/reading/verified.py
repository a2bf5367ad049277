"""What llama.cpp's own dry run says of a model, beside what its header says, and in its place."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.sizing.compute import Compute

if TYPE_CHECKING:
    from squidbot.adapters.llama_cpp.verify import Measured
    from squidbot.core.sizing.context import Loading
    from squidbot.core.sizing.memory import Held, Sizing

__all__ = ["Verified", "verified_at", "with_compute"]

# llama.cpp's names of buffers on a device: "CUDA0", "ROCm1", "Vulkan0", "Metal"; "CUDA_Host" and "CPU" are not.
_ON_DEVICE = re.compile(r"(?:CUDA|ROCm|HIP|Vulkan|SYCL|Metal|MTL)(\d*)(?:_Private|_Mapped)?")


class Verified(NamedTuple):
    """What llama.cpp's own dry run said: its version, the bytes of all tensors, and the rest of the one setting."""

    version: str
    model_bytes: int
    said: Measured


def verified_at(path: str, loading: Loading) -> Verified:
    """Return what llama.cpp says of a model file that is loaded so; nothing is allocated.

    Raises:
        ModelLoadError: llama.cpp does not load it.
        SizingError: llama-cpp-python is not installed.
    """
    from squidbot.adapters.llama_cpp.verify import verify  # noqa: PLC0415  # starts a child; few ask for it

    run = verify(path, [loading])
    return Verified(run.version, run.model_bytes, run.settings[0])


def with_compute(sizing: Sizing, said: Measured) -> Sizing:
    """Return a sizing with llama.cpp's own compute buffers, where it sees the devices that the sizing is for.

    The sizing as it is, where it is for other devices: for those that were named, or for GPUs that this build of
    llama.cpp does not know.
    """
    buffers: dict[int, int] = {}
    for name, size_bytes in said.compute_bytes.items():
        found = _ON_DEVICE.fullmatch(name)
        number = int(found[1] or 0) if found else -1
        buffers[number] = buffers.get(number, 0) + size_bytes
    if said.failure or {held.number for held in sizing.devices if held.number >= 0} != {n for n in buffers if n >= 0}:
        return sizing
    return replace(sizing, devices=tuple(_held(held, buffers) for held in sizing.devices), method="dry run")


def _held(held: Held, buffers: dict[int, int]) -> Held:
    return held._replace(compute=Compute(buffers.get(held.number, 0), 0, "dry run"))
