"""NVIDIA's devices by NVML itself, through ctypes: the same answers as nvidia-ml-py, where that is not installed.

Names, types and layouts are those of NVML's header, `nvml.h`.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import TYPE_CHECKING

from squidbot.adapters.gpus.looks import Look, looked
from squidbot.adapters.gpus.memory import main_memory
from squidbot.core.nvml import FUNCTION_NOT_FOUND, LIBRARY_NOT_FOUND, as_devices

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.core.devices import MainMemory, Probed

__all__ = ["Nvml", "library"]

# Longest texts in NVML's version 2: 96 characters each.
TEXT_BYTES = 96
MEMORY_V2 = 0x02000028  # version 2 of a structure of 40 bytes


class _Memory(ctypes.Structure):
    """nvmlMemory_t, in bytes; what the driver reserves counts as used."""

    _fields_ = (("total", ctypes.c_uint64), ("free", ctypes.c_uint64), ("used", ctypes.c_uint64))


class _MemoryV2(ctypes.Structure):
    """nvmlMemory_v2_t, in bytes; the total is reserved + free + used."""

    _fields_ = (
        ("version", ctypes.c_uint32),
        ("total", ctypes.c_uint64),
        ("reserved", ctypes.c_uint64),
        ("free", ctypes.c_uint64),
        ("used", ctypes.c_uint64),
    )


class _Busy(ctypes.Structure):
    """nvmlUtilization_t, in percent."""

    _fields_ = (("gpu", ctypes.c_uint32), ("memory", ctypes.c_uint32))


_OTHERS = ("libnvidia-ml.so.1",)
# Beside the system's own libraries, or, with older drivers, in a folder of theirs.
_WINDOWS = (
    rf"{os.environ.get('WINDIR', 'C:/Windows')}\System32\nvml.dll",
    rf"{os.environ.get('PROGRAMFILES', 'C:/Program Files')}\NVIDIA Corporation\NVSMI\nvml.dll",
)


def library() -> ctypes.CDLL | None:
    """Return NVML's library, loaded; None where there is none, which is known in a fraction of a millisecond."""
    for name in _WINDOWS if sys.platform == "win32" else _OTHERS:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


class Nvml:
    """NVIDIA's devices in the order of the bus."""

    name = "nvml"

    def __init__(self, main: Callable[[], MainMemory | None] = main_memory) -> None:
        self._main = main

    def probe(self) -> Probed:
        """Return what NVML says now; never raises."""
        said: list[Probed] = []

        def look_at(_: Look) -> None:
            said.append(as_devices(_Calls(library()), self.name, self._main))

        failed = looked(self.name, look_at)
        return said[0] if said else failed


class _Calls:
    """`core.nvml.Nvml` by ctypes. A handle is a pointer of NVML's own, never looked into."""

    def __init__(self, loaded: ctypes.CDLL | None) -> None:
        self._library = loaded

    def start(self) -> int:
        return LIBRARY_NOT_FOUND if self._library is None else self._call("nvmlInit_v2")

    def stop(self) -> None:
        self._call("nvmlShutdown")

    def count(self) -> tuple[int, int | None]:
        number = ctypes.c_uint()
        code = self._call("nvmlDeviceGetCount_v2", ctypes.byref(number))
        return code, None if code else number.value

    def card(self, index: int) -> tuple[int, ctypes.c_void_p | None]:
        handle = ctypes.c_void_p()
        code = self._call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(handle))
        return code, None if code else handle

    def instances(self, card: ctypes.c_void_p) -> tuple[int, int | None]:
        now, later, most = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint()
        code = self._call("nvmlDeviceGetMigMode", card, ctypes.byref(now), ctypes.byref(later))
        if code or not now.value:
            return code, None if code else 0
        code = self._call("nvmlDeviceGetMaxMigDeviceCount", card, ctypes.byref(most))
        return code, None if code else most.value

    def instance(self, card: ctypes.c_void_p, index: int) -> tuple[int, ctypes.c_void_p | None]:
        handle = ctypes.c_void_p()
        code = self._call("nvmlDeviceGetMigDeviceHandleByIndex", card, ctypes.c_uint(index), ctypes.byref(handle))
        return code, None if code else handle

    def memory(self, handle: ctypes.c_void_p, version: int) -> tuple[int, tuple[int, int] | None]:
        if version == 2:
            second = _MemoryV2(version=MEMORY_V2)
            code = self._call("nvmlDeviceGetMemoryInfo_v2", handle, ctypes.byref(second))
            return code, None if code else (int(second.total), int(second.free))
        first = _Memory()
        code = self._call("nvmlDeviceGetMemoryInfo", handle, ctypes.byref(first))
        return code, None if code else (int(first.total), int(first.free))

    def uuid(self, handle: ctypes.c_void_p) -> tuple[int, str | None]:
        return self._text("nvmlDeviceGetUUID", handle)

    def title(self, handle: ctypes.c_void_p) -> tuple[int, str | None]:
        return self._text("nvmlDeviceGetName", handle)

    def busy(self, handle: ctypes.c_void_p) -> tuple[int, int | None]:
        rates = _Busy()
        code = self._call("nvmlDeviceGetUtilizationRates", handle, ctypes.byref(rates))
        return code, None if code else int(rates.gpu)

    def _text(self, function: str, handle: ctypes.c_void_p) -> tuple[int, str | None]:
        text = ctypes.create_string_buffer(TEXT_BYTES)
        code = self._call(function, handle, text, ctypes.c_uint(TEXT_BYTES))
        return code, None if code else text.value.decode("utf-8", "replace")

    def _call(self, function: str, *arguments: object) -> int:
        """Call a function of the library; every argument is of a C type already, so none can be passed too short."""
        try:
            called = getattr(self._library, function)
        except AttributeError:
            return FUNCTION_NOT_FOUND
        called.restype = ctypes.c_int
        return int(called(*arguments))
