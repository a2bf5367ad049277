"""One look at one source of GPUs: the devices found, and reasons for those that were not."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

from squidbot.core.devices import Device, ProbeAttempt, ProbeResult, shown, sound

# A list that is longer is no list of GPUs.
MOST_DEVICES = 256


class Unanswered(Exception):  # noqa: N818  # it never leaves a probe
    """A source has no devices; the text is the reason."""


class Look:
    """The devices that a source has found so far, and reasons why not more."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._devices: list[Device] = []
        self._reasons: list[str] = []

    def __len__(self) -> int:
        return len(self._devices)

    def add(self, device: Device) -> None:
        """Add a device as its source describes it; one without memory becomes a reason instead."""
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
        """Return the devices by number; of several with one number the first."""
        devices = list({device.number: device for device in reversed(self._devices)}.values())
        devices.sort(key=lambda device: device.number)
        return ProbeResult(tuple(devices), (ProbeAttempt(self.source, len(devices), "; ".join(self._reasons)),))


def looked(source: str, look_at: Callable[[Look], None]) -> ProbeResult:
    """Return what a source finds; whatever it raises becomes a reason, and devices found before stay."""
    look = Look(source)
    try:
        look_at(look)
    except Unanswered as why:
        look.note(str(why))
    except Exception as error:  # noqa: BLE001  # a probe never raises: what went wrong is its answer
        look.note(f"{type(error).__name__}: {error}")
    return look.done()
