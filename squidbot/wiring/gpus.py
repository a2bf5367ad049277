"""Finds GPUs: all probes by their names in the settings, and `auto`, which asks one source after another."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from squidbot.adapters import gpus
from squidbot.adapters.gpus import SOURCES, Machine, amd_visible, look_at, nvidia_visible
from squidbot.core.devices import Device, Probed, Tried

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

INTEGRATED_LEFT = "graphics of the processor are left to the desktop, as llama.cpp leaves them beside a card"

_NVIDIA = ("pynvml", "nvidia_smi", "torch")
_AMD = ("amdgpu", "amd_smi", "rocm_smi")
# PyTorch and ggml have read the variables themselves.
_VISIBLE: Mapping[str, Callable[[Probed, Mapping[str, str]], Probed]] = MappingProxyType(
    dict.fromkeys(("pynvml", "nvidia_smi"), nvidia_visible) | dict.fromkeys(_AMD, amd_visible)
)


class NamedProbe:
    """A `GpuProbe` by name: one source, "auto" for all of them, or "none"."""

    def __init__(self, name: str, machine: Machine | None) -> None:
        """Take the machine to probe; `None`: this one, probed anew each time."""
        self.name = name
        self._machine = machine

    def probe(self) -> Probed:
        """Return the devices as a runtime will see them, and each source's reason; never raises."""
        if self.name == "none":
            return Probed((), (Tried(self.name, 0, "turned off by the settings"),))
        machine = self._machine or Machine()
        return probe_all(machine) if self.name == "auto" else _first([self.name], machine)


def probe_all(machine: Machine | None = None) -> Probed:
    """Return the devices that a model could use, NVIDIA's before AMD's, and each source's reason.

    For each vendor, the first source that finds a device wins; ggml is asked only if no other finds any. Never raises,
    starts no program on a machine without a sign of a GPU, and needs no package.
    """
    machine = machine or Machine()
    if machine.platform == "darwin":
        return _joined([_first(["apple"], machine)])
    found = [_first(_NVIDIA, machine), _first(_AMD, machine)]
    # Devices hidden by a variable were found, too, and no other source may use them.
    if not any(tried.found for probed in found for tried in probed.tried):
        found.append(_first(["ggml"], machine))
    return _joined(found)


# All probes that settings can name, for a machine; `None`: this one.
PROBES: Mapping[str, Callable[[Machine | None], NamedProbe]] = MappingProxyType(
    {name: partial(NamedProbe, name) for name in ("auto", "pynvml", *SOURCES, "none")}
)


def _pynvml(machine: Machine) -> Probed:
    if not gpus.has_nvml():
        return Probed((), (Tried("pynvml", 0, "NVIDIA's library libnvidia-ml is not installed"),))
    from squidbot.adapters.pynvml import PynvmlProbe  # noqa: PLC0415  # 30 ms, and useless without the library

    return PynvmlProbe(machine.main_memory).probe()


def _first(names: Iterable[str], machine: Machine) -> Probed:
    """Ask sources in order until one finds devices; return these as a runtime will see them, and all reasons."""
    tried: tuple[Tried, ...] = ()
    for name in names:
        probed = _pynvml(machine) if name == "pynvml" else look_at(name, machine)
        if probed.devices:
            seen = _VISIBLE[name](probed, machine.environ) if name in _VISIBLE else probed
            return Probed(seen.devices, tried + seen.tried)
        tried += probed.tried
    return Probed((), tried)


def _joined(found: Iterable[Probed]) -> Probed:
    """Return the devices of several vendors, renumbered; with cards, devices that share main memory are left out."""
    devices: list[Device] = []
    tried: list[Tried] = []
    for probed in found:
        devices += probed.devices
        tried += probed.tried
    cards = [device for device in devices if not device.unified]
    if cards and len(cards) < len(devices):
        left = {device.source for device in devices if device.unified}
        for place, source in enumerate(tried):
            if source.source in left:
                tried[place] = source._replace(reason="; ".join(filter(None, (source.reason, INTEGRATED_LEFT))))
        devices = cards
    return Probed(tuple(device._replace(number=number) for number, device in enumerate(devices)), tuple(tried))
