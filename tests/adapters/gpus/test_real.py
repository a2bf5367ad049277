"""A real NVIDIA GPU: all sources say the same of it, and another program's memory is missing from what is free."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pynvml
import pytest

from squidbot.testing import check_gpu_probe
from squidbot.wiring.gpus import NamedProbe, probe_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.core.devices import Device

pytestmark = pytest.mark.gpu

GIB, MIB = 1 << 30, 1 << 20
# What may change on an idle GPU between two looks, and nvidia-smi's rounding.
NEAR_BYTES = 64 * MIB
# Takes 2 GiB of the first GPU by the driver alone, says so, and holds it until its input ends.
HOLDER = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
context, memory = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(2 << 30)) == 0
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def two_gibibytes_held() -> Iterator[None]:
    """Have another program hold 2 GiB of the first GPU."""
    command = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield
        holder.communicate()


def first_free(name: str) -> int:
    """Return what is free on the first device by a source, in bytes."""
    free = NamedProbe(name).probe().devices[0].free_bytes
    assert free is not None
    return free


def test_sources_agree_when_there_is_a_gpu() -> None:
    """nvidia-ml-py and nvidia-smi name the same devices with the same total; free is the same but for noise."""
    by_source: list[tuple[Device, ...]] = [NamedProbe(name).probe().devices for name in ("pynvml", "nvidia_smi")]
    first, *others = by_source
    assert first
    for devices in others:
        assert [(device.uuid, device.name) for device in devices] == [(one.uuid, one.name) for one in first]
        for one, other in zip(devices, first, strict=True):
            assert abs(one.total_bytes - other.total_bytes) <= MIB
            assert abs((one.free_bytes or 0) - (other.free_bytes or 0)) <= NEAR_BYTES
    assert probe_all().devices[: len(first)] != ()
    check_gpu_probe(lambda: NamedProbe("auto"))


def test_first_version_has_what_is_reserved_as_used_when_there_is_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the first version of NVML's call no more is free than by the second, and no less by more than noise."""
    second, ask = first_free("pynvml"), pynvml.nvmlDeviceGetMemoryInfo

    def old(handle: object, version: int | None = None) -> object:
        """A driver without the second version."""
        if version is not None:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
        return ask(handle)

    monkeypatch.setattr(pynvml, "nvmlDeviceGetMemoryInfo", old)
    assert abs(first_free("pynvml") - second) <= NEAR_BYTES


@pytest.mark.parametrize("name", ["pynvml", "nvidia_smi"])
def test_free_memory_shrinks_when_another_program_takes_some(name: str) -> None:
    """2 GiB of a foreign process are not free for us, and are again when it ends."""
    before = first_free(name)
    with two_gibibytes_held():
        during = first_free(name)
    assert before - during >= 2 * GIB
    assert abs(before - first_free(name)) <= NEAR_BYTES
