"""Which devices a runtime will see, and in which order, under CUDA_VISIBLE_DEVICES and its like.

Rules of CUDA, as its programming guide has them: entries are numbers, or names that begin "GPU-" or "MIG-" and may be
cut short where they stay unique; nothing counts behind an entry that fits no device; empty is none. ROCm reads
ROCR_VISIBLE_DEVICES the same way, then HIP_VISIBLE_DEVICES (or, without it, CUDA_VISIBLE_DEVICES) on what is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.adapters.gpus.figures import whole
from squidbot.core.devices import Device, Probed, Tried, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["amd_visible", "nvidia_visible"]

CUDA, CUDA_ORDER = "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"
HIP, ROCR = "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"

ORDER_UNKNOWN = (
    "CUDA orders unlike cards by speed, so which is which is not known: the least free of them counts for each; "
    "set CUDA_DEVICE_ORDER=PCI_BUS_ID"
)
ONE_MIG = "a program uses one MIG device: name it in CUDA_VISIBLE_DEVICES"


def nvidia_visible(probed: Probed, environ: Mapping[str, str]) -> Probed:
    """Return the devices that CUDA will see, numbered as CUDA will; what was left out is told by the newest reason.

    NVML orders by bus, CUDA by speed unless CUDA_DEVICE_ORDER says PCI_BUS_ID. Where that matters, unlike cards that
    are not named, each device gets what is free on the fullest.
    """
    value = environ.get(CUDA)
    chosen = _chosen(probed.devices, value)
    reasons = [_left_out(probed.devices, chosen, CUDA, value)]
    ordered = _all_named(value) or environ.get(CUDA_ORDER) == "PCI_BUS_ID"
    if chosen and not ordered and _unlike(probed.devices):
        least = _least_free(probed.devices)
        chosen = [device._replace(free_bytes=least) for device in chosen]
        reasons.append(ORDER_UNKNOWN)
    if sum(device.uuid.startswith("MIG-") for device in chosen) > 1:
        reasons.append(ONE_MIG)
    return _told(probed, chosen, reasons)


def amd_visible(probed: Probed, environ: Mapping[str, str]) -> Probed:
    """Return the devices that ROCm will see, numbered as ROCm will; what was left out is told by the newest reason."""
    chosen, reasons = list(probed.devices), []
    for variable in (ROCR, HIP if HIP in environ else CUDA):
        value = environ.get(variable)
        before = chosen
        chosen = _chosen(before, value)
        reasons.append(_left_out(before, chosen, variable, value))
        chosen = [device._replace(number=number) for number, device in enumerate(chosen)]
    return _told(probed, chosen, reasons)


def _chosen(devices: Sequence[Device], value: str | None) -> list[Device]:
    """Return the devices that a variable leaves, in its order; all where it is not set."""
    if value is None:
        return list(devices)
    chosen: list[Device] = []
    for entry in value.split(","):
        fits = [device for device in devices if _means(entry.strip(), device)]
        # A device that is listed twice ends the list, too: CUDA refuses such a list.
        if len(fits) != 1 or fits[0] in chosen:
            break
        chosen += fits
    return chosen


def _means(entry: str, device: Device) -> bool:
    """Return whether an entry of a variable fits a device: by its number, or by the beginning of its unique name."""
    if (number := whole(entry)) is not None:
        return device.number == number
    return len(entry) > 4 and entry.startswith(("GPU-", "MIG-")) and device.uuid.lower().startswith(entry.lower())


def _all_named(value: str | None) -> bool:
    return value is not None and all(whole(entry) is None for entry in value.split(","))


def _unlike(devices: Sequence[Device]) -> bool:
    return len({(device.name, device.total_bytes) for device in devices}) > 1


def _least_free(devices: Sequence[Device]) -> int | None:
    """Return what is free on the fullest of devices, in bytes; None where one of them does not tell."""
    frees = [device.free_bytes for device in devices if device.free_bytes is not None]
    return min(frees) if len(frees) == len(devices) else None


def _left_out(before: Sequence[Device], after: Sequence[Device], variable: str, value: str | None) -> str:
    gone = len(before) - len(after)
    return shown(f"{variable}={value} leaves {len(after)} of {len(before)}") if gone else ""


def _told(probed: Probed, chosen: Sequence[Device], reasons: Sequence[str]) -> Probed:
    """Return what was probed with other devices, numbered from 0, and more reasons on the newest source."""
    devices = tuple(device._replace(number=number) for number, device in enumerate(chosen))
    *before, newest = probed.tried or (Tried("", 0, ""),)
    reason = "; ".join(filter(None, (newest.reason, *reasons)))
    return Probed(devices, (*before, newest._replace(reason=reason)))
