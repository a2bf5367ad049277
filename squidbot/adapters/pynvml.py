"""GPU probe over nvidia-ml-py, NVIDIA's own Python face of NVML.

Its module is called pynvml; a package of that name is deprecated, and not what to install.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, TypeVar

import pynvml

from squidbot.core.devices import FUNCTION_NOT_FOUND, SUCCESS, UNKNOWN, MainMemory, Probed, Tried, as_devices, shown

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PynvmlProbe"]

_Value = TypeVar("_Value")


class PynvmlProbe:
    """NVIDIA's devices in the order of the bus; `main_memory` tells of memory that a device shares with the CPU."""

    name = "pynvml"

    def __init__(self, main_memory: Callable[[], MainMemory | None] = lambda: None) -> None:
        self._main_memory = main_memory

    def probe(self) -> Probed:
        """Return what NVML says now; never raises."""
        try:
            return as_devices(_Calls(), self.name, self._main_memory)
        except Exception as error:  # noqa: BLE001  # a probe never raises: what went wrong is its answer
            return Probed((), (Tried(self.name, 0, shown(f"{type(error).__name__}: {error}")),))


class _Calls:
    """`core.nvml.Nvml` by nvidia-ml-py, whose errors become codes again."""

    def start(self) -> int:
        return _asked(pynvml.nvmlInit)[0]

    def stop(self) -> None:
        _asked(pynvml.nvmlShutdown)

    def count(self) -> tuple[int, int | None]:
        return _asked(lambda: int(pynvml.nvmlDeviceGetCount()))

    def card(self, index: int) -> tuple[int, object | None]:
        return _asked(lambda: _handle(pynvml.nvmlDeviceGetHandleByIndex(index)))

    def instances(self, card: object) -> tuple[int, int | None]:
        def places() -> int:
            current, _ = pynvml.nvmlDeviceGetMigMode(card)
            return int(pynvml.nvmlDeviceGetMaxMigDeviceCount(card)) if current else 0

        return _asked(places)

    def instance(self, card: object, index: int) -> tuple[int, object | None]:
        return _asked(lambda: _handle(pynvml.nvmlDeviceGetMigDeviceHandleByIndex(card, index)))

    def memory(self, handle: object, version: int) -> tuple[int, tuple[int, int] | None]:
        def both() -> tuple[int, int]:
            said = pynvml.nvmlDeviceGetMemoryInfo(handle, *([pynvml.nvmlMemory_v2] if version == 2 else []))
            return int(said.total), int(said.free)

        return _asked(both)

    def uuid(self, handle: object) -> tuple[int, str | None]:
        return _asked(lambda: _text(pynvml.nvmlDeviceGetUUID(handle)))

    def title(self, handle: object) -> tuple[int, str | None]:
        return _asked(lambda: _text(pynvml.nvmlDeviceGetName(handle)))

    def busy(self, handle: object) -> tuple[int, int | None]:
        return _asked(lambda: int(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu))


def _asked(call: Callable[[], _Value]) -> tuple[int, _Value | None]:
    """Make one call; return NVML's code and the value, or None."""
    try:
        return SUCCESS, call()
    except pynvml.NVMLError as error:
        return int(getattr(error, "value", UNKNOWN)), None
    except (AttributeError, TypeError):
        # An nvidia-ml-py that is older than the call.
        return FUNCTION_NOT_FOUND, None
    except (ValueError, OverflowError, ctypes.ArgumentError):
        # A name that is no UTF-8, a figure that is no number.
        return UNKNOWN, None


def _handle(handle: object) -> object:
    return handle


def _text(said: object) -> str:
    """Return a name; before nvidia-ml-py 11.515 names were bytes."""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
