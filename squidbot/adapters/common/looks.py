"""One look of one source of GPUs: devices found, and reasons for those that were not; failures become reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

from squidbot.core.devices import Device, Probed, Tried, shown, sound

# One look of one source: devices found so far, reasons for those that were not; failures become
# reasons.

# A list that is longer is no list of GPUs.
MOST_DEVICES = 256


class Unanswered(Exception):  # noqa: N818  # it never leaves a probe
    """A source has nothing to say; the text is the reason."""


class Look:
    """What a source has found so far."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._devices: list[Device] = []
        self._reasons: list[str] = []

    def __len__(self) -> int:
        return len(self._devices)

    def add(self, device: Device) -> None:
        """Take a device as its source describes it; one without memory is a reason instead."""
        kept = sound(device)
        if kept is None:
            self.note(f"device {device.number}: it says that it has {device.total_bytes:.3g} bytes")
        elif len(self._devices) < MOST_DEVICES:
            self._devices.append(kept)

    def note(self, reason: str) -> None:
        """Take a reason why there are not more; at most 8 are kept."""
        if len(self._reasons) < 8:
            self._reasons.append(shown(reason))

    def done(self) -> Probed:
        """Return what was found, by number; of devices with one number the first."""
        devices = list({device.number: device for device in reversed(self._devices)}.values())
        devices.sort(key=lambda device: device.number)
        return Probed(tuple(devices), (Tried(self.source, len(devices), "; ".join(self._reasons)),))


def looked(source: str, look_at: Callable[[Look], None]) -> Probed:
    """Return what a source finds; whatever it raises is a reason, and what it had found until then is kept."""
    look = Look(source)
    try:
        look_at(look)
    except Unanswered as why:
        look.note(str(why))
    except Exception as error:  # noqa: BLE001  # a probe never raises: what went wrong is its answer
        look.note(f"{type(error).__name__}: {error}")
    return look.done()
