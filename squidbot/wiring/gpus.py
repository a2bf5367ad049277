"""Which GPUs there are: every probe by the name that settings use, and `auto`, which asks source after source."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from squidbot.adapters import gpus
from squidbot.adapters.gpus import (
    Amdgpu,
    AmdSmi,
    Apple,
    Commands,
    Ggml,
    NvidiaSmi,
    RocmSmi,
    Torch,
    amd_visible,
    main_memory,
    nvidia_visible,
)
from squidbot.core.devices import Device, MainMemory, Probed, Tried, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import ModuleType

    from squidbot.core.ports import GpuProbe


INTEGRATED_LEFT = "graphics of the processor are left to the desktop, as llama.cpp leaves them beside a card"

_SYSTEM = Path("/")


class Machine:
    """Where probes look: an environment, a root of the file system, a platform, the modules that are imported."""

    def __init__(
        self,
        environ: Mapping[str, str] | None = None,
        root: Path = _SYSTEM,
        platform: str = sys.platform,
        modules: Mapping[str, ModuleType] | None = None,
    ) -> None:
        self.environ = dict(os.environ if environ is None else environ)
        self.root = root
        self.platform = platform
        self.modules = sys.modules if modules is None else modules
        self.commands = Commands(self.environ)

    def main_memory(self) -> MainMemory | None:
        """Return what main memory this process may have, and what is free of it."""
        return main_memory(self.root, self.commands, self.platform)


class Gpus:
    """All sources: for each vendor the first that finds a device; others only where none does."""

    name = "auto"

    def __init__(self, machine: Machine | None = None) -> None:
        self._machine = machine

    def probe(self) -> Probed:
        """Return the devices that a model could be put on, NVIDIA's before AMD's, and every source's reason.

        Never raises, starts no program on a machine without a sign of a GPU, and needs no package.
        """
        machine = self._machine or Machine()
        if machine.platform == "darwin":
            return _joined([_asked(["apple"], machine)])
        found = [_asked(_NVIDIA, machine), _asked(_AMD, machine)]
        # What a variable hides is found all the same, and is not to be used by another way.
        if not any(one.found for probed in found for one in probed.tried):
            found.append(_asked(["ggml"], machine))
        return _joined(found)


class _Named:
    """One source by its own name: what it finds, as the runtime will see it under the environment's variables."""

    def __init__(self, name: str, machine: Machine | None) -> None:
        self.name = name
        self._machine = machine

    def probe(self) -> Probed:
        """Return what this source alone finds. Never raises."""
        return _asked([self.name], self._machine or Machine())


class _None:
    """The probe of those who want no GPU used."""

    name = "none"

    def probe(self) -> Probed:
        """Return no device."""
        return Probed((), (Tried(self.name, 0, "the settings say so"),))


def probe_all(machine: Machine | None = None) -> Probed:
    """Return what every source together finds on a machine, this one by default. Never raises."""
    return Gpus(machine).probe()


def _pynvml(machine: Machine) -> Probed:
    """Ask nvidia-ml-py; where the driver's library is missing it need not be imported, which takes 30 ms."""
    if not gpus.has_nvml():
        return Probed((), (Tried("pynvml", 0, "NVIDIA's library libnvidia-ml is not installed"),))
    from squidbot.adapters.pynvml import PynvmlProbe  # noqa: PLC0415  # 30 ms

    return PynvmlProbe(machine.main_memory).probe()


_SOURCES: Mapping[str, Callable[[Machine], Probed]] = MappingProxyType(
    {
        "pynvml": _pynvml,
        "nvidia_smi": lambda machine: NvidiaSmi(machine.commands, machine.main_memory).probe(),
        "torch": lambda machine: Torch(machine.modules).probe(),
        "amdgpu": lambda machine: Amdgpu(machine.root, machine.main_memory).probe(),
        "amd_smi": lambda machine: AmdSmi(machine.commands, machine.main_memory).probe(),
        "rocm_smi": lambda machine: RocmSmi(machine.commands, machine.main_memory).probe(),
        "apple": lambda machine: Apple(machine.commands, machine.platform).probe(),
        "ggml": lambda machine: Ggml(machine.commands, machine.root, platform=machine.platform).probe(),
    }
)
_NVIDIA = ("pynvml", "nvidia_smi", "torch")
_AMD = ("amdgpu", "amd_smi", "rocm_smi")
# PyTorch and ggml have read the variables themselves.
_VISIBLE: Mapping[str, Callable[[Probed, Mapping[str, str]], Probed]] = MappingProxyType(
    dict.fromkeys(("pynvml", "nvidia_smi"), nvidia_visible) | dict.fromkeys(_AMD, amd_visible)
)


# Every probe that settings can name: what makes it, for a machine; None: this one.
PROBES: Mapping[str, Callable[[Machine | None], GpuProbe]] = MappingProxyType(
    {"auto": Gpus, **{name: partial(_Named, name) for name in _SOURCES}, "none": lambda _: _None()}
)


def _asked(names: Iterable[str], machine: Machine) -> Probed:
    """Ask sources in order until one finds devices; return these, as a runtime will see them, and all reasons."""
    tried: tuple[Tried, ...] = ()
    for name in names:
        try:
            probed = _SOURCES[name](machine)
            found = bool(probed.devices)
            if found and name in _VISIBLE:
                probed = _VISIBLE[name](probed, machine.environ)
        except Exception as error:  # noqa: BLE001  # a probe never raises: what went wrong is its answer
            probed, found = Probed((), (Tried(name, 0, shown(f"{type(error).__name__}: {error}")),)), False
        tried += probed.tried
        if found:
            return Probed(probed.devices, tried)
    return Probed((), tried)


def _joined(found: Iterable[Probed]) -> Probed:
    """Return the devices of several vendors, numbered anew; those that share main memory where there is no card."""
    devices: list[Device] = []
    tried: list[Tried] = []
    for probed in found:
        devices += probed.devices
        tried += probed.tried
    cards = [device for device in devices if not device.unified]
    if cards and len(cards) < len(devices):
        left = {device.source for device in devices if device.unified}
        tried = [_more(one, INTEGRATED_LEFT) if one.source in left else one for one in tried]
        devices = cards
    return Probed(tuple(device._replace(number=number) for number, device in enumerate(devices)), tuple(tried))


def _more(one: Tried, reason: str) -> Tried:
    return one._replace(reason="; ".join(filter(None, (one.reason, reason))))
