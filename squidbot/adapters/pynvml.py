"""NVIDIA's devices by nvidia-ml-py, NVIDIA's own Python interface to NVML.

Its module is called pynvml; the deprecated package of that name is something else.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pynvml

from squidbot.adapters.common.looks import Look, Unanswered, looked
from squidbot.core.devices import Device, MainMemory, ProbeResult

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PynvmlProbe"]

# A higher count is a mistake: no machine has so many cards, and a card has at most 7 or 8 MIG devices.
MOST_CARDS = 256
MOST_INSTANCES = 64
_REASONS = {
    pynvml.NVML_ERROR_NOT_SUPPORTED: "it does not report this",
    pynvml.NVML_ERROR_NO_PERMISSION: "the permission to ask it is missing",
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: "the NVIDIA driver is not loaded",
    pynvml.NVML_ERROR_TIMEOUT: "the NVIDIA driver did not answer in time",
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: "NVIDIA's library libnvidia-ml is not installed",
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: "the NVIDIA driver is too old to be asked",
    pynvml.NVML_ERROR_GPU_IS_LOST: "the GPU is lost: it has fallen off the bus, or failed",
    pynvml.NVML_ERROR_RESET_REQUIRED: "the GPU has to be reset",
    pynvml.NVML_ERROR_OPERATING_SYSTEM: "the operating system does not let it through",
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: (
        "the NVIDIA driver and its library are of different versions: restart the machine"
    ),
}


class PynvmlProbe:
    """NVIDIA's devices in bus order; `main_memory` returns the memory of devices that share it."""

    name = "pynvml"

    def __init__(self, main_memory: Callable[[], MainMemory | None] = lambda: None) -> None:
        self._main_memory = main_memory

    def probe(self) -> ProbeResult:
        """Return the devices that NVML sees now; never raise."""
        return looked(self.name, self._look)

    def _look(self, look: Look) -> None:
        """Add all cards; a card in MIG mode is replaced by its MIG devices, which programs use."""
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError as error:
            raise Unanswered(_reason(error)) from error
        try:
            number = 0
            for index in range(min(pynvml.nvmlDeviceGetCount(), MOST_CARDS)):
                number += self._card(look, number, index)
            if not number:
                look.note("the NVIDIA driver knows no device")
        except pynvml.NVMLError as error:
            look.note(_reason(error))
        finally:
            with suppress(pynvml.NVMLError):
                pynvml.nvmlShutdown()

    def _card(self, look: Look, number: int, index: int) -> int:
        """Add a card or its MIG devices, and return how many numbers they take, unreadable ones included."""
        try:
            card = pynvml.nvmlDeviceGetHandleByIndex(index)
        except pynvml.NVMLError as error:
            look.note(f"device {number}: {_reason(error)}")
            return 1
        places = 0
        with suppress(pynvml.NVMLError):  # where MIG is not supported
            if pynvml.nvmlDeviceGetMigMode(card)[0]:
                places = min(pynvml.nvmlDeviceGetMaxMigDeviceCount(card), MOST_INSTANCES)
        if not places:
            self._add(look, number, card)
            return 1
        taken = 0
        for place in range(places):
            try:
                self._add(look, number + taken, pynvml.nvmlDeviceGetMigDeviceHandleByIndex(card, place))
            except pynvml.NVMLError_NotFound:
                continue
            except pynvml.NVMLError as error:
                look.note(f"device {number + taken}: {_reason(error)}")
            taken += 1
        if not taken:
            look.note(f"device {number}: MIG is on, and no MIG device was made")
        return taken

    def _add(self, look: Look, number: int, handle: Any) -> None:  # noqa: ANN401  # NVML's pointer
        """Add a device, or the reason why it is unreadable."""
        unified = False
        try:
            try:
                memory = pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2)
            except pynvml.NVMLError:  # drivers before 510; the first version counts reserved memory as used
                memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
            total, free = int(memory.total), int(memory.free)
        except pynvml.NVMLError_NotSupported:  # GB10, Jetson: the GPU has no memory of its own
            main = self._main_memory()
            if main is None:
                look.note(f"device {number}: it shares main memory, whose size is unknown")
                return
            unified, (total, free) = True, main
        except pynvml.NVMLError as error:
            look.note(f"device {number}: {_reason(error)}")
            return
        uuid = _value_of(pynvml.nvmlDeviceGetUUID, handle) or ""
        name = _value_of(pynvml.nvmlDeviceGetName, handle) or "NVIDIA GPU"
        rates = _value_of(pynvml.nvmlDeviceGetUtilizationRates, handle)
        busy = rates.gpu / 100 if rates else None
        look.add(Device(number, uuid, name, "nvidia", total, free, unified, self.name, busy))


def _value_of(ask: Callable[[Any], Any], handle: Any) -> Any:  # noqa: ANN401  # as NVML has it
    """Return a value of a device; `None` if NVML has none."""
    try:
        return ask(handle)
    except (pynvml.NVMLError, ValueError):  # ValueError: a name that is not UTF-8
        return None


def _reason(error: pynvml.NVMLError) -> str:
    code = getattr(error, "value", pynvml.NVML_ERROR_UNKNOWN)
    return _REASONS.get(code, f"NVML failed with its error {code}")
