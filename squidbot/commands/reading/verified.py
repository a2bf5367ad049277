"""What llama.cpp's own dry run says of a model, beside what its header says, and in its place."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.sizing.memory import Compute

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.adapters.llama_cpp.verify import Measured
    from squidbot.core.sizing.header import Loading
    from squidbot.core.sizing.memory import Held, Sizing

__all__ = ["Verified", "largest_window", "verified_at", "with_compute"]

# So many settings are asked about in one child: each takes milliseconds, a child a second.
AT_ONCE = 16
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


def largest_window(
    path: str, loading: Loading, windows: Sequence[int], sizing_at: Callable[[Loading], Sizing]
) -> tuple[int, Sizing] | None:
    """Return the last of rising windows with which a model fits by llama.cpp's own compute buffers, and what it takes.

    For models whose compute buffer no header tells. None where none fits, or llama.cpp does not see the devices.

    Raises:
        ModelLoadError: llama.cpp does not load the file.
        SizingError: llama-cpp-python is not installed.
    """
    from squidbot.adapters.llama_cpp.verify import verify  # noqa: PLC0415  # as above

    fits, too_large, found = -1, len(windows), None
    while too_large - fits > 1:
        places = sorted({fits + (too_large - fits) * part // (AT_ONCE + 1) for part in range(1, AT_ONCE + 1)} - {fits})
        run = verify(path, [replace(loading, n_ctx=windows[place]) for place in places])
        for place, said in zip(places, run.settings, strict=True):
            sizing = with_compute(sizing_at(said.loading), said)
            if not sizing.fits:
                too_large = place
                break
            fits, found = place, (windows[place], sizing)
    return found


def _held(held: Held, buffers: dict[int, int]) -> Held:
    return held._replace(compute=Compute(buffers.get(held.number, 0), 0, "dry run"))
