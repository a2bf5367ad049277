"""NVIDIA's and AMD's devices by a PyTorch that the host has imported already; it is never imported for this.

Importing it takes seconds, and asking it takes a piece of the GPU's memory for a context.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from squidbot.adapters.gpus.looks import Look, Unanswered, looked
from squidbot.core.devices import Device, Probed, Vendor

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

__all__ = ["Torch"]


class Torch:
    """PyTorch's devices in PyTorch's order, in which CUDA_VISIBLE_DEVICES has been seen to already."""

    name = "torch"

    def __init__(self, modules: Mapping[str, ModuleType] | None = None) -> None:
        self._modules = sys.modules if modules is None else modules

    def probe(self) -> Probed:
        """Return what PyTorch says; never raises."""
        return looked(self.name, self._look)

    def _look(self, look: Look) -> None:
        torch = self._modules.get("torch")
        if torch is None:
            raise Unanswered("PyTorch is not imported, and is not imported for this")
        if not torch.cuda.is_available():
            raise Unanswered("PyTorch sees no GPU")
        vendor: Vendor = "amd" if getattr(torch.version, "hip", None) else "nvidia"
        for number in range(min(int(torch.cuda.device_count()), 256)):
            try:
                free, total = torch.cuda.mem_get_info(number)
                properties = torch.cuda.get_device_properties(number)
            except RuntimeError as error:
                look.note(f"device {number}: {error}")
                continue
            uuid = getattr(properties, "uuid", "")
            named = f"GPU-{uuid}" if uuid and not str(uuid).startswith("GPU-") else str(uuid)
            unified = bool(getattr(properties, "is_integrated", 0))
            look.add(Device(number, named, str(properties.name), vendor, int(total), int(free), unified, self.name))
