"""Main memory: how much this process may have, and what is free of it; the limit of its container counts."""

from __future__ import annotations

import ctypes
import re
import sys
from contextlib import suppress
from pathlib import Path

from squidbot.adapters.gpus.commands import Commands
from squidbot.adapters.gpus.figures import whole
from squidbot.adapters.gpus.looks import Unanswered
from squidbot.core.devices import MainMemory

__all__ = ["darwin_memory", "main_memory", "read_text"]

# What /proc and /sys write is short.
MOST_CHARS = 1 << 16

_SYSTEM = Path("/")


def main_memory(
    root: Path = _SYSTEM, commands: Commands | None = None, platform: str = sys.platform
) -> MainMemory | None:
    """Return main memory in bytes, or None where the system does not tell; never raises.

    Available is what can be taken without swapping. In a container (cgroup v1 or v2) it is at most what its limit
    leaves, and the total is at most the limit.
    """
    if platform == "win32":
        return _windows_memory()
    if platform == "darwin":
        return darwin_memory(commands or Commands())
    return _linux_memory(root)


def read_text(path: Path) -> str | None:
    """Return the beginning of a small file, stripped; None where it can't be read."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(MOST_CHARS).strip()
    except (OSError, ValueError):
        return None


# -- Linux -----------------------------------------------------------------------------------------------------------


def _linux_memory(root: Path) -> MainMemory | None:
    """Return MemTotal and MemAvailable of /proc/meminfo, cut to each limit that a cgroup above this process sets."""
    lines = dict(re.findall(r"^(\w+):\s+([0-9]{1,15}) kB$", read_text(root / "proc/meminfo") or "", re.MULTILINE))
    if "MemTotal" not in lines or "MemAvailable" not in lines:
        return None
    total, available = int(lines["MemTotal"]) << 10, int(lines["MemAvailable"]) << 10
    for limit, rest in _limits(root):
        total, available = min(total, limit), min(available, rest)
    return MainMemory(total, min(available, total))


def _limits(root: Path) -> list[tuple[int, int]]:
    """Return (limit, what is left of it) in bytes for each cgroup that this process is in and that has a limit."""
    found = []
    for line in (read_text(root / "proc/self/cgroup") or "").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            names = ("memory.max", "memory.current", "inactive_file")
            found += _group_limits(root / "sys/fs/cgroup", path, names)
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            found += _group_limits(root / "sys/fs/cgroup/memory", path, names)
    return found


def _group_limits(top: Path, path: str, names: tuple[str, str, str]) -> list[tuple[int, int]]:
    """Return the limits of one cgroup and all above it; a path of the host, unknown in a container, is its top."""
    limit_name, used_name, cache_name = names
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    found = []
    for depth in range(len(parts), -1, -1):
        group = top.joinpath(*parts[:depth])
        limit, used = whole(read_text(group / limit_name) or ""), whole(read_text(group / used_name) or "")
        if limit is None or used is None:
            continue
        # Pages of files that nobody has touched for long, a model's among them, go as soon as memory is asked for.
        cache = re.search(rf"^{cache_name} ([0-9]{{1,20}})$", read_text(group / "memory.stat") or "", re.MULTILINE)
        found.append((limit, max(0, limit - max(0, used - (int(cache[1]) if cache else 0)))))
    return found


# -- macOS -----------------------------------------------------------------------------------------------------------


def darwin_memory(commands: Commands) -> MainMemory | None:
    """Return hw.memsize, and of vm_stat's pages those that are free, inactive, speculative or purgeable.

    The size of a page is in vm_stat's first line: 16,384 bytes on Apple's own chips, not 4,096.
    """
    with suppress(Unanswered):
        total = whole(commands.run("sysctl", "-n", "hw.memsize").text)
        text = commands.run("vm_stat").text
        page = re.search(r"page size of ([0-9]{1,9}) bytes", text)
        lines = dict(re.findall(r"^Pages (\w+):\s+([0-9]{1,15})\.?\s*$", text, re.MULTILINE))
        if total and page and "free" in lines:
            pages = sum(int(lines.get(name, "0")) for name in ("free", "inactive", "speculative", "purgeable"))
            return MainMemory(total, min(total, pages * int(page[1])))
    return None


# -- Windows ---------------------------------------------------------------------------------------------------------


class _MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX of Windows."""

    _fields_ = (
        ("length", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        ("total", ctypes.c_uint64),
        ("available", ctypes.c_uint64),
        ("total_page_file", ctypes.c_uint64),
        ("available_page_file", ctypes.c_uint64),
        ("total_virtual", ctypes.c_uint64),
        ("available_virtual", ctypes.c_uint64),
        ("available_extended_virtual", ctypes.c_uint64),
    )


def _windows_memory() -> MainMemory | None:
    """Return what GlobalMemoryStatusEx says."""
    loader = getattr(ctypes, "WinDLL", None)
    if loader is None:
        return None
    status = _MemoryStatus()
    status.length = ctypes.sizeof(status)
    try:
        done = loader("kernel32").GlobalMemoryStatusEx(ctypes.byref(status))
    except (OSError, AttributeError):
        return None
    return MainMemory(int(status.total), min(int(status.available), int(status.total))) if done else None
