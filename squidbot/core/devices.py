"""What a look at the machine found: the devices that a model could be put on, and who said so."""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["Device", "Pressure", "Probed", "Tried", "Vendor"]

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
