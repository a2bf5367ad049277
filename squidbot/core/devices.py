"""Devices that a model could be put on, as sources report them."""

from __future__ import annotations

from typing import Literal, NamedTuple

# No device has more: 1 PiB. A figure above it is a mistake, not memory.
MOST_BYTES = 1 << 50
# Names of devices, and reasons, are one line for people.
SHOWN_CHARS = 200

#: The manufacturer of a device.
Vendor = Literal["nvidia", "amd", "apple", "intel", "other"]
#: How hard an operating system with unified memory says it is pressed.
Pressure = Literal["normal", "warning", "critical"]


class Device(NamedTuple):
    """One device as it is now.

    Attributes:
        number: from 0, in the order of the model's runtime.
        uuid: the vendor's unique name of the device; "" if unknown.
        name: to show to people.
        vendor: its manufacturer.
        total_bytes: its memory; with unified memory, what a GPU may use of it.
        free_bytes: what no program uses at this moment, the desktop included; at most the total; `None` where
            unknown.
        unified: whether it shares main memory.
        source: the probe that reported it.
        utilisation_fraction: how busy it is, 0 to 1; None if unknown.
        pressure: of memory, as the system reports it; `None` if unknown.
    """

    number: int
    uuid: str
    name: str
    vendor: Vendor
    total_bytes: int
    free_bytes: int | None
    unified: bool
    source: str
    utilisation_fraction: float | None = None
    pressure: Pressure | None = None


class ProbeAttempt(NamedTuple):
    """One source of devices that was asked.

    Attributes:
        source: its name.
        found: how many devices it found.
        reason: why it did not find more; "" for no reason.
    """

    source: str
    found: int
    reason: str


class ProbeResult(NamedTuple):
    """The devices of this machine.

    Attributes:
        devices: the devices, by number.
        tried: each source that was asked, in order.
    """

    devices: tuple[Device, ...]
    tried: tuple[ProbeAttempt, ...]


class MainMemory(NamedTuple):
    """Main memory that this process may use, in bytes: all of it, and what is available without swapping."""

    total_bytes: int
    available_bytes: int


def shown(text: str) -> str:
    """Return a foreign text as one printable line of at most 200 characters."""
    words = " ".join(text[: 8 * SHOWN_CHARS].split())
    line = "".join(char if char.isprintable() else "?" for char in words)
    return line if len(line) <= SHOWN_CHARS else line[: SHOWN_CHARS - 3] + "..."


def sound(device: Device) -> Device | None:
    """Return a device with sane values, whatever its source reported; `None` if it has no memory.

    Free memory is at most the total (Intel's driver on Windows reports more), and `None` if it was negative; a
    utilisation outside of 0 to 1 is None; texts are one printable line.
    """
    total, free, busy = device.total_bytes, device.free_bytes, device.utilisation_fraction
    if not 0 < total <= MOST_BYTES:
        return None
    return device._replace(
        uuid=shown(device.uuid),
        name=shown(device.name) or "GPU",
        free_bytes=None if free is None or free < 0 else min(free, total),
        utilisation_fraction=busy if busy is not None and 0 <= busy <= 1 else None,
    )
