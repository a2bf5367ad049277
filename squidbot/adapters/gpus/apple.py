"""Apple's chips: of unified memory what the GPU may have, and what of it is free."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from squidbot.adapters.gpus.commands import Commands
from squidbot.adapters.gpus.figures import MIB, whole
from squidbot.adapters.gpus.looks import Look, Unanswered, looked
from squidbot.adapters.gpus.memory import darwin_memory
from squidbot.core.devices import Device, Pressure, Probed

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Apple"]

# What Metal grants a GPU unless told otherwise: two thirds of a small memory, three quarters of a large one.
LARGE_BYTES = 36 << 30

_PRESSURES: Mapping[int, Pressure] = {1: "normal", 2: "warning", 4: "critical"}


class Apple:
    """The one device of a Mac with a chip of Apple's."""

    name = "apple"

    def __init__(self, commands: Commands | None = None, platform: str = sys.platform) -> None:
        self._commands = commands or Commands()
        self._platform = platform

    def probe(self) -> Probed:
        """Return the device, or that there is none; never raises."""
        return looked(self.name, self._look)

    def _look(self, look: Look) -> None:
        if self._platform != "darwin":
            raise Unanswered("this is no Mac")
        memory = darwin_memory(self._commands)
        if memory is None:
            raise Unanswered("sysctl and vm_stat do not tell the memory")
        brand = self._asked("machdep.cpu.brand_string")
        if brand.startswith("Intel"):
            raise Unanswered("Metal's memory on a Mac with an Intel processor is not known")
        limit = (whole(self._asked("iogpu.wired_limit_mb")) or 0) * MIB
        if not limit:
            limit = memory.total_bytes * 3 // 4 if memory.total_bytes > LARGE_BYTES else memory.total_bytes * 2 // 3
        limit = min(limit, memory.total_bytes)
        pressure = _PRESSURES.get(whole(self._asked("kern.memorystatus_vm_pressure_level")) or 0)
        free = min(limit, memory.available_bytes)
        name = brand or "Apple GPU"
        look.add(Device(0, "", name, "apple", limit, free, unified=True, source=self.name, pressure=pressure))

    def _asked(self, key: str) -> str:
        """Return one of the system's values, "" where it has none by that name."""
        printed = self._commands.run("sysctl", "-n", key)
        return "" if printed.code else printed.text.strip()
