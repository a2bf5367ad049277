"""AMD's devices by the command of newer ROCm; its answers have several forms, and may come with an exit code of 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from squidbot.adapters.gpus.commands import Commands
from squidbot.adapters.gpus.figures import MIB, as_bytes, found_json, whole
from squidbot.adapters.gpus.looks import Look, Unanswered, looked
from squidbot.adapters.gpus.memory import main_memory
from squidbot.adapters.gpus.radeon import Pools, as_device
from squidbot.core.devices import Device, MainMemory, Probed

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.adapters.gpus.commands import Printed

__all__ = ["AmdSmi"]


class AmdSmi:
    """Each device that it lists, by its number."""

    name = "amd_smi"

    def __init__(self, commands: Commands | None = None, main: Callable[[], MainMemory | None] = main_memory) -> None:
        self._commands = commands or Commands()
        self._main = main

    def probe(self) -> Probed:
        """Return what it prints, as devices; never raises."""
        return looked(self.name, self._look)

    def _look(self, look: Look) -> None:
        metric = self._commands.run("amd-smi", "metric", "--mem-usage", "--json")
        static = self._commands.run("amd-smi", "static", "--vram", "--json")
        uses, sizes = _by_number(metric), _by_number(static)
        if not uses and not sizes:
            raise Unanswered(metric.first_line())
        for number in sorted({*uses, *sizes}):
            self._device(look, number, uses.get(number, {}), sizes.get(number, {}))

    def _device(self, look: Look, number: int, use: Mapping[str, object], size: Mapping[str, object]) -> None:
        usage, asic = _part(use, "mem_usage"), _part(size, "asic")
        total = as_bytes(usage.get("total_vram"), MIB)
        if total is None:
            total = as_bytes(_part(size, "vram").get("size"), MIB)
        free, used = as_bytes(usage.get("free_vram"), MIB), as_bytes(usage.get("used_vram"), MIB)
        if free is not None and total is not None:
            # What is free says more than what is used: the driver keeps some for itself.
            used = total - min(free, total)
        pools = Pools(total, used, as_bytes(usage.get("total_gtt"), MIB), as_bytes(usage.get("used_gtt"), MIB))
        name, uuid = str(asic.get("market_name", "AMD GPU")), str(size.get("uuid", ""))
        device = Device(number, uuid, name, "amd", 0, None, unified=False, source=self.name)
        known = as_device(device, pools, self._main())
        if known is None:
            look.note(f"device {number}: it does not tell its memory")
        else:
            look.add(known)


def _part(said: Mapping[str, object], key: str) -> Mapping[str, object]:
    part = said.get(key)
    return part if isinstance(part, Mapping) else {}


def _by_number(printed: Printed) -> dict[int, Mapping[str, object]]:
    """Return what is said of each device: a list, or, from ROCm 7 on, a list under the key gpu_data."""
    said = found_json(printed.text)
    if isinstance(said, Mapping):
        said = said.get("gpu_data")
    found: dict[int, Mapping[str, object]] = {}
    for entry in said if isinstance(said, list) else []:
        number = whole(str(entry.get("gpu"))[:8]) if isinstance(entry, Mapping) else None
        if number is not None and number < 1000:
            found.setdefault(number, entry)
    return found
