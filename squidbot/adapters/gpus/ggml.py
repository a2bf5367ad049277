"""All other devices, Vulkan's and SYCL's for example: those that llama.cpp sees, as xllamacpp lists them.

Asked in a process of its own: a driver that is broken ends it, and only it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from squidbot.adapters.gpus.commands import Commands
from squidbot.adapters.gpus.figures import as_bytes, found_json
from squidbot.adapters.gpus.looks import Look, Unanswered, looked
from squidbot.core.devices import Device, Probed, Vendor

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Ggml"]

# One object of one line, whatever llama.cpp logs around it. Types are ggml's: 1 is a GPU, 2 one that shares memory.
PROGRAM = """
import json, xllamacpp
keys = ("name", "description", "memory_total", "memory_free", "type", "device_id")
rows = [{key: row.get(key) for key in keys} for row in xllamacpp.get_device_info()]
for row in rows:
    row["type"] = int(getattr(row["type"], "value", row["type"]))
print("\\n" + json.dumps({"devices": rows}, default=str), flush=True)
"""

GPU, INTEGRATED = 1, 2
# Where Linux shows that there is anything to look for; WSL has dxg.
SIGNS = ("dev/dri", "dev/dxg", "dev/kfd", "dev/nvidiactl")

_SYSTEM = Path("/")
_VENDORS: tuple[tuple[str, Vendor], ...] = (
    ("nvidia", "nvidia"),
    ("cuda", "nvidia"),
    ("geforce", "nvidia"),
    ("radeon", "amd"),
    ("amd", "amd"),
    ("rocm", "amd"),
    ("intel", "intel"),
    ("apple", "apple"),
)


def installed() -> bool:
    """Return whether xllamacpp can be imported, without doing so."""
    try:
        return find_spec("xllamacpp") is not None
    except (ImportError, ValueError):
        return False


class Ggml:
    """llama.cpp's devices in llama.cpp's order; on Linux asked only where there is a sign of any."""

    name = "ggml"

    def __init__(
        self,
        commands: Commands | None = None,
        root: Path = _SYSTEM,
        *,
        platform: str = sys.platform,
        can_ask: Callable[[], bool] = installed,
    ) -> None:
        self._commands = commands or Commands()
        self._root = root
        self._platform = platform
        self._can_ask = can_ask

    def probe(self) -> Probed:
        """Return what llama.cpp says, as devices; never raises."""
        return looked(self.name, self._look)

    def _look(self, look: Look) -> None:
        if self._platform == "linux" and not any((self._root / sign).exists() for sign in SIGNS):
            raise Unanswered("there is no sign of a GPU in /dev")
        if not self._can_ask():
            raise Unanswered("xllamacpp is not installed")
        # -P: a file of that name in the current folder is not meant.
        printed = self._commands.run(sys.executable, "-P", "-c", PROGRAM)
        rows = _rows(found_json(printed.text))
        if rows is None:
            raise Unanswered(f"xllamacpp gave no list: {printed.first_line()}")
        for number, row in enumerate(row for row in rows if row.get("type") in (GPU, INTEGRATED)):
            self._row(look, number, row)
        if not len(look):
            look.note("this llama.cpp sees no GPU")

    def _row(self, look: Look, number: int, row: Mapping[str, object]) -> None:
        total, free = as_bytes(row.get("memory_total"), 1), as_bytes(row.get("memory_free"), 1)
        names = [str(row.get(key) or "") for key in ("description", "name")]
        said = " ".join(names).lower()
        vendor: Vendor = next((vendor for word, vendor in _VENDORS if word in said), "other")
        unified = row.get("type") == INTEGRATED
        title = names[0] or names[1]
        look.add(Device(number, "", title, vendor, total or 0, free, unified, self.name))


def _rows(said: object) -> list[Mapping[str, object]] | None:
    """Return the devices that the child has printed; None where it printed something else."""
    rows = said.get("devices") if isinstance(said, Mapping) else None
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else None
