"""AMD's devices by what the kernel's driver, amdgpu, writes into /sys: no program is run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from squidbot.adapters.gpus.figures import percent, whole
from squidbot.adapters.gpus.looks import Look, Unanswered, looked
from squidbot.adapters.gpus.memory import main_memory, read_text
from squidbot.adapters.gpus.radeon import Pools, as_device
from squidbot.core.devices import Device, MainMemory, Probed

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Amdgpu"]

AMD = "0x1002"

_SYSTEM = Path("/")


class Amdgpu:
    """Each card of AMD's in the order of the kernel's numbers; `root` is where `sys` is looked for."""

    name = "amdgpu"

    def __init__(self, root: Path = _SYSTEM, main: Callable[[], MainMemory | None] = main_memory) -> None:
        self._cards = root / "sys" / "class" / "drm"
        self._main = main

    def probe(self) -> Probed:
        """Return what /sys says, as devices numbered from 0; never raises."""
        return looked(self.name, self._look)

    def _look(self, look: Look) -> None:
        try:
            names = [path.name for path in self._cards.iterdir()]
        except OSError:
            names = []
        # card0-DP-1 and the like are a card's outputs.
        numbers = sorted(int(name[4:]) for name in names if re.fullmatch(r"card[0-9]{1,4}", name, re.ASCII))
        folders = [self._cards / f"card{number}" / "device" for number in numbers]
        cards = [folder for folder in folders if read_text(folder / "vendor") == AMD]
        if not cards:
            raise Unanswered("the kernel knows no AMD card")
        for number, folder in enumerate(cards):
            self._card(look, number, folder)

    def _card(self, look: Look, number: int, folder: Path) -> None:
        pools = Pools(*(_figure(folder, f"mem_info_{part}") for part in _PARTS))
        unique, product = read_text(folder / "unique_id"), read_text(folder / "product_name")
        device = Device(
            number,
            f"GPU-{unique}" if unique else "",
            product or f"AMD GPU {(read_text(folder / 'device') or '').removeprefix('0x')}".strip(),
            "amd",
            0,
            None,
            unified=False,
            source=self.name,
            utilisation_fraction=percent(read_text(folder / "gpu_busy_percent")),
        )
        known = as_device(device, pools, self._main())
        if known is None:
            look.note(f"device {number}: its driver does not tell its memory")
        else:
            look.add(known)


_PARTS = ("vram_total", "vram_used", "gtt_total", "gtt_used")


def _figure(folder: Path, name: str) -> int | None:
    return whole(read_text(folder / name) or "")
