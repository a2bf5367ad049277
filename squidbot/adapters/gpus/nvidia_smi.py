"""NVIDIA's devices by the command that comes with the driver. It knows no MIG devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.adapters.gpus.commands import Commands
from squidbot.adapters.gpus.figures import MIB, as_bytes, percent, whole
from squidbot.adapters.gpus.looks import Look, looked
from squidbot.adapters.gpus.memory import main_memory
from squidbot.core.devices import Device, MainMemory, Probed

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NvidiaSmi"]

QUERY = "--query-gpu=index,uuid,name,memory.total,memory.free,memory.used,utilization.gpu"


class NvidiaSmi:
    """One line for each device, in the order of the bus."""

    name = "nvidia_smi"

    def __init__(self, commands: Commands | None = None, main: Callable[[], MainMemory | None] = main_memory) -> None:
        self._commands = commands or Commands()
        self._main = main

    def probe(self) -> Probed:
        """Return what it prints, as devices; never raises."""
        return looked(self.name, self._look)

    def _look(self, look: Look) -> None:
        printed = self._commands.run("nvidia-smi", QUERY, "--format=csv,noheader,nounits")
        lines = [line.strip() for line in printed.text.splitlines() if line.strip()]
        # Failures are printed where figures are expected, among those of devices that did answer.
        others = [line for line in lines if not self._line(look, line)]
        if others or printed.code or not lines:
            exit_code = f" (exit code {printed.code})" if printed.code and lines else ""
            look.note((others[0] if others else printed.first_line()) + exit_code)

    def _line(self, look: Look, line: str) -> bool:
        """Take one line; return whether it was that of a device."""
        fields = [field.strip() for field in line[:2000].split(",")]
        if len(fields) < 7 or (number := whole(fields[0])) is None or number >= 1000:
            return False
        total, free = as_bytes(fields[-4], MIB), as_bytes(fields[-3], MIB)
        unified = total is None and free is None
        if unified and (main := self._main()) is not None:
            # GB10, Jetson: "[N/A]", as the GPU has no memory of its own.
            total, free = main
        if total is None:
            look.note(f"device {number}: it does not tell its memory")
            return True
        name, busy = ", ".join(fields[2:-4]), percent(fields[-1])
        look.add(Device(number, fields[1], name, "nvidia", total, free, unified, self.name, busy))
        return True
