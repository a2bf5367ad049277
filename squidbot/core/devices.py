"""What a look at the machine found: the devices that a model could be put on, and who said so."""

from __future__ import annotations

from typing import Literal, NamedTuple

# No device has more: 1 PiB. A figure above it is a mistake, not memory.
MOST_BYTES = 1 << 50
# Names of devices, and reasons, are one line for people.
SHOWN_CHARS = 200

Vendor = Literal["nvidia", "amd", "apple", "intel", "other"]
# How hard an operating system with unified memory says it is pressed.
Pressure = Literal["normal", "warning", "critical"]


class Device(NamedTuple):
    """One device as it is now.

    Attributes:
        number: from 0, in the order in which the model's runtime will see them.
        uuid: the vendor's own name for this very device; "" where unknown.
        name: what it is called, for people.
        vendor: who made it.
        total_bytes: its memory, or of unified memory what a GPU may have.
        free_bytes: what nobody uses at this moment, other programs and the desktop counted; at most the total; None
            where it does not tell.
        unified: whether it shares main memory.
        source: the probe that says so.
        utilisation_fraction: how busy it is, 0 to 1; None where unknown.
        pressure: None where the system does not tell.
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


class Tried(NamedTuple):
    """One source that was asked: how many devices it found, and in a sentence why not more; "" where all went well."""

    source: str
    found: int
    reason: str


class Probed(NamedTuple):
    """What a probe saw: the devices by number, and each source that was asked, in order."""

    devices: tuple[Device, ...]
    tried: tuple[Tried, ...]


class MainMemory(NamedTuple):
    """Main memory as this process may use it, in bytes: all of it, and what can still be taken without swapping."""

    total_bytes: int
    available_bytes: int


def shown(text: str) -> str:
    """Return what somebody else wrote as one printable line of at most 200 characters."""
    words = " ".join(text[: 8 * SHOWN_CHARS].split())
    line = "".join(char if char.isprintable() else "?" for char in words)
    return line if len(line) <= SHOWN_CHARS else line[: SHOWN_CHARS - 3] + "..."


def sound(device: Device) -> Device | None:
    """Return a device as the values above promise it, whatever a driver or program said; None where it has no memory.

    Free memory is at most the total (Intel's driver on Windows has said more), and None where it was negative; a
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
