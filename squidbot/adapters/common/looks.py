"""One check of one source of GPUs: the devices found, and reasons for missing ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

from squidbot.core.devices import Device, ProbeAttempt, ProbeResult, shown, sound

# A longer list is no list of GPUs.
MOST_DEVICES = 256


class Unanswered(Exception):  # noqa: N818  # it never leaves a probe
    """A source has no devices; the text is the reason."""


class Look:
    """A source's devices found so far, and reasons for missing ones."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._devices: list[Device] = []
        self._reasons: list[str] = []

    def __len__(self) -> int:
        return len(self._devices)

    def add(self, device: Device) -> None:
        """Add a device as its source describes it; without memory, add a reason instead."""
        known = sound(device)
        if known is None:
            self.note(f"device {device.number}: it says that it has {device.total_bytes:.3g} bytes")
        elif len(self._devices) < MOST_DEVICES:
            self._devices.append(known)

    def note(self, reason: str) -> None:
        """Add a reason; at most 8 are kept."""
        if len(self._reasons) < 8:
            self._reasons.append(shown(reason))

    def done(self) -> ProbeResult:
        """Return the devices by number; if several share a number, the first."""
        devices = list({device.number: device for device in reversed(self._devices)}.values())
        devices.sort(key=lambda device: device.number)
        return ProbeResult(tuple(devices), (ProbeAttempt(self.source, len(devices), "; ".join(self._reasons)),))


def looked(source: str, look_at: Callable[[Look], None]) -> ProbeResult:
    """Return a source's findings; any error becomes a reason, and earlier devices stay."""
    look = Look(source)
    try:
        look_at(look)
    except Unanswered as why:
        look.note(str(why))
    except Exception as error:  # noqa: BLE001  # a probe never raises: what went wrong is its answer
        look.note(f"{type(error).__name__}: {error}")
    return look.done()
