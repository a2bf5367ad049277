"""Which GPUs there are: every probe by the name that settings use, and `auto`, which asks source after source."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from squidbot.adapters import gpus
from squidbot.adapters.gpus import SOURCES, Machine, amd_visible, look_at, nvidia_visible
from squidbot.core.devices import Device, ProbeAttempt, ProbeResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

INTEGRATED_LEFT = "graphics of the processor are left to the desktop, as llama.cpp leaves them beside a card"

_NVIDIA = ("pynvml", "nvidia_smi", "torch")
_AMD = ("amdgpu", "amd_smi", "rocm_smi")
# PyTorch and ggml have read the variables themselves.
_VISIBLE: Mapping[str, Callable[[ProbeResult, Mapping[str, str]], ProbeResult]] = MappingProxyType(
    dict.fromkeys(("pynvml", "nvidia_smi"), nvidia_visible) | dict.fromkeys(_AMD, amd_visible)
)


class NamedProbe:
    """A `GpuProbe` by its name: one source, "auto" for all of them, or "none"."""

    def __init__(self, name: str, machine: Machine | None) -> None:
        """Take the machine to look at; `None`: this one, as it is at each look."""
        self.name = name
        self._machine = machine

    def probe(self) -> ProbeResult:
        """Return the devices as a runtime will see them, and every source's reason; never raises."""
        if self.name == "none":
            return ProbeResult((), (ProbeAttempt(self.name, 0, "the settings say so"),))
        machine = self._machine or Machine()
        return probe_all(machine) if self.name == "auto" else _first([self.name], machine)


def probe_all(machine: Machine | None = None) -> ProbeResult:
    """Return the devices that a model could be put on, NVIDIA's before AMD's, and every source's reason.

    For each vendor the first source counts that finds a device; ggml is asked only where no other finds any. Never
    raises, starts no program on a machine without a sign of a GPU, and needs no package.
    """
    machine = machine or Machine()
    if machine.platform == "darwin":
        return _joined([_first(["apple"], machine)])
    found = [_first(_NVIDIA, machine), _first(_AMD, machine)]
    # What a variable hides was found, too, and must not be used by another way.
    if not any(tried.found for probed in found for tried in probed.tried):
        found.append(_first(["ggml"], machine))
    return _joined(found)


# Every probe that settings can name, for a machine; `None`: this one.
PROBES: Mapping[str, Callable[[Machine | None], NamedProbe]] = MappingProxyType(
    {name: partial(NamedProbe, name) for name in ("auto", "pynvml", *SOURCES, "none")}
)


def _pynvml(machine: Machine) -> ProbeResult:
    if not gpus.has_nvml():
        return ProbeResult((), (ProbeAttempt("pynvml", 0, "NVIDIA's library libnvidia-ml is not installed"),))
    from squidbot.adapters.pynvml import PynvmlProbe  # noqa: PLC0415  # 30 ms, and useless without the library

    return PynvmlProbe(machine.main_memory).probe()


def _first(names: Iterable[str], machine: Machine) -> ProbeResult:
    """Ask sources in order until one finds devices; return these as a runtime will see them, and all reasons."""
    tried: tuple[ProbeAttempt, ...] = ()
    for name in names:
        probed = _pynvml(machine) if name == "pynvml" else look_at(name, machine)
        if probed.devices:
            seen = _VISIBLE[name](probed, machine.environ) if name in _VISIBLE else probed
            return ProbeResult(seen.devices, tried + seen.tried)
        tried += probed.tried
    return ProbeResult((), tried)


def _joined(found: Iterable[ProbeResult]) -> ProbeResult:
    """Return the devices of several vendors, numbered anew; cards leave out those that share main memory."""
    devices: list[Device] = []
    tried: list[ProbeAttempt] = []
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
    return ProbeResult(tuple(device._replace(number=number) for number, device in enumerate(devices)), tuple(tried))
