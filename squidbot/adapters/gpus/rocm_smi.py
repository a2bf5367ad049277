"""AMD's devices by the command of older ROCm."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from squidbot.adapters.gpus.commands import Commands
from squidbot.adapters.gpus.figures import as_bytes, found_json
from squidbot.adapters.gpus.looks import Look, Unanswered, looked
from squidbot.adapters.gpus.memory import main_memory
from squidbot.adapters.gpus.radeon import Pools, as_device
from squidbot.core.devices import Device, MainMemory, Probed

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["RocmSmi"]

_KEYS = (
    "VRAM Total Memory (B)",
    "VRAM Total Used Memory (B)",
    "GTT Total Memory (B)",
    "GTT Total Used Memory (B)",
)


class RocmSmi:
    """Each card that it lists, by its number."""

    name = "rocm_smi"

    def __init__(self, commands: Commands | None = None, main: Callable[[], MainMemory | None] = main_memory) -> None:
        self._commands = commands or Commands()
        self._main = main

    def probe(self) -> Probed:
        """Return what it prints, as devices; never raises."""
        return looked(self.name, self._look)

    def _look(self, look: Look) -> None:
        printed = self._commands.run("rocm-smi", "--showmeminfo", "vram", "gtt", "--json")
        said = found_json(printed.text)
        if not isinstance(said, Mapping):
            raise Unanswered(printed.first_line())
        for key, card in said.items():
            number = re.fullmatch(r"card([0-9]{1,3})", key, re.ASCII)
            if number and isinstance(card, Mapping):
                self._card(look, int(number[1]), card)
        if not len(look):
            look.note("it lists no card that tells its memory")

    def _card(self, look: Look, number: int, card: Mapping[str, object]) -> None:
        pools = Pools(*(as_bytes(card.get(key), 1) for key in _KEYS))
        device = Device(number, "", "AMD GPU", "amd", 0, None, unified=False, source=self.name)
        known = as_device(device, pools, self._main())
        if known is not None:
            look.add(known)
