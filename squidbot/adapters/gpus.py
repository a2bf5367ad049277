"""GPUs and their free memory, from the standard library: vendors' programs, /sys, and already imported packages.

`SOURCES` is the table of sources. squidbot/wiring/gpus.py asks them in turn.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.common.looks import Look, Unanswered, looked
from squidbot.core.devices import Device, MainMemory, Pressure, ProbeAttempt, ProbeResult, Vendor, shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType


# The limit for a hanging driver.
TIMEOUT_SECONDS = 5.0
# 256 GPUs in the longest format take a tenth of it.
MOST_BYTES = 1 << 20


class Printed(NamedTuple):
    """A program's output on both streams, and its exit code."""

    text: str
    code: int

    def first_line(self) -> str:
        """Return the first line with text, or the exit code: a reason for people."""
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        return lines[0] if lines else f"it printed nothing, exit code {self.code}"


class Commands:
    """Runs programs on the PATH of an environment: no shell, C locale, time limit, bounded output."""

    def __init__(self, environ: Mapping[str, str] | None = None, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._environ = os.environ if environ is None else environ
        self._timeout_seconds = timeout_seconds

    def run(self, program: str, *arguments: str) -> Printed:
        """Run a program by name or by its full path, and return its output.

        Raises:
            Unanswered: it is not installed, could not be started, did not end in time, or printed more than 1 MiB.
        """
        path = shutil.which(program, path=self._environ.get("PATH", ""))
        if path is None:
            raise Unanswered(f"{os.path.basename(program)} is not installed")  # noqa: PTH119  # a name, no path
        try:
            process = subprocess.Popen(  # noqa: S603  # no shell; the program is one of a few that are named in this room
                [path, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**self._environ, "LC_ALL": "C"},
                start_new_session=os.name == "posix",
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except (OSError, ValueError) as error:
            raise Unanswered(f"cannot start {path}: {error}") from error
        return self._printed(path, process)

    def _printed(self, path: str, process: subprocess.Popen[bytes]) -> Printed:
        """Return a program's output; kill it if it takes too long or prints too much."""
        output: list[bytes] = []

        def listen() -> None:
            if process.stdout is not None:
                output.append(process.stdout.read(MOST_BYTES + 1))

        listener = threading.Thread(target=listen, name="squidbot-probe", daemon=True)
        listener.start()
        listener.join(self._timeout_seconds)
        printed = next(iter(output), None)  # looked at once: it may come at any moment
        try:
            if printed is None or len(printed) > MOST_BYTES:
                late = "did not end within" if printed is None else "printed too much in"
                raise Unanswered(f"{path} {late} {self._timeout_seconds:g} s")
            code = process.wait(self._timeout_seconds)
        except subprocess.TimeoutExpired as error:
            raise Unanswered(f"{path} did not end within {self._timeout_seconds:g} s") from error
        finally:
            _end(process, listener)
        return Printed(printed.decode("utf-8", "replace"), code)


def _end(process: subprocess.Popen[bytes], listener: threading.Thread) -> None:
    """Kill a program and its children, which may hold its output open."""
    if process.poll() is None or listener.is_alive():
        try:
            if sys.platform == "win32":
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
        except OSError:
            process.kill()
        process.wait()
    listener.join(1.0)
    if process.stdout is not None and not listener.is_alive():
        process.stdout.close()


MIB = 1 << 20

_DIGITS = re.compile(r"[0-9]{1,20}", re.ASCII)
_QUANTITY = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*([A-Za-z%]{0,3})", re.ASCII)
# AMD's and NVIDIA's programs write MB for MiB.
_UNITS = {"B": 1, "KB": 1 << 10, "KIB": 1 << 10, "MB": MIB, "MIB": MIB, "GB": 1 << 30, "GIB": 1 << 30}
# Number of possible beginnings of JSON to try; warnings before it have brackets, too.
BEGINNINGS = 64


def whole(text: str) -> int | None:
    """Return a whole number of 0 or more in decimal digits; `None` for anything else, such as "[N/A]"."""
    text = text.strip()
    return int(text) if _DIGITS.fullmatch(text) else None


def amount(value: object) -> tuple[float, str] | None:
    """Return (number, unit as written) of a number, a text like "24560 MB" or {"value": 24560, "unit": "MB"}."""
    unit = ""
    if isinstance(value, Mapping):
        unit, value = str(value.get("unit", ""))[:8], value.get("value")
    if isinstance(value, str):
        read = _QUANTITY.fullmatch(value.strip()[:64])
        return (float(read[1]), read[2] or unit) if read else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return (float(value), unit) if 0 <= value < 1e20 else None


def as_bytes(value: object, unit_bytes: int) -> int | None:
    """Return an amount of memory in bytes; without a unit it counts `unit_bytes`. `None` if it is none."""
    read = amount(value)
    if read is None:
        return None
    number, unit = read
    factor = _UNITS.get(unit.upper()) if unit else unit_bytes
    return None if factor is None else int(number * factor)


def percent(value: object) -> float | None:
    """Return a percentage as a fraction of 0 to 1; `None` for anything else."""
    read = amount(value)
    return read[0] / 100 if read and read[0] <= 100 and read[1] in ("", "%") else None


def found_json(text: str) -> object:
    """Return the first non-empty JSON object or list, ignoring text around it; `None` if there is none.

    Prefer one at the beginning of a line.
    """
    decoder = json.JSONDecoder()
    for pattern in (r"^[ \t]{0,16}[\[{]", r"[\[{]"):
        for match in islice(re.finditer(pattern, text, re.MULTILINE), BEGINNINGS):
            try:
                found, _ = decoder.raw_decode(text, match.end() - 1)
            except (ValueError, RecursionError):
                continue
            if found:
                return found
    return None


# Files in /proc and /sys are short.
MOST_CHARS = 1 << 16

_SYSTEM = Path("/")


def main_memory(
    root: Path = _SYSTEM, commands: Commands | None = None, platform: str = sys.platform
) -> MainMemory | None:
    """Return main memory in bytes, or `None` if it is not reported; never raise.

    Available memory can be taken without swapping. In a container (cgroup v1 or v2) it is at most the rest of the
    limit, and the total is at most the limit.
    """
    if platform == "win32":
        return _windows_memory()
    if platform == "darwin":
        return darwin_memory(commands or Commands())
    return _linux_memory(root)


def read_text(path: Path) -> str | None:
    """Return the beginning of a small file, stripped; `None` if it is unreadable."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(MOST_CHARS).strip()
    except (OSError, ValueError):
        return None


def _linux_memory(root: Path) -> MainMemory | None:
    """Return MemTotal and MemAvailable of /proc/meminfo, reduced to this process's cgroup limits."""
    lines = dict(re.findall(r"^(\w+):\s+([0-9]{1,15}) kB$", read_text(root / "proc/meminfo") or "", re.MULTILINE))
    if "MemTotal" not in lines or "MemAvailable" not in lines:
        return None
    total, available = int(lines["MemTotal"]) << 10, int(lines["MemAvailable"]) << 10
    for limit, rest in _limits(root):
        total, available = min(total, limit), min(available, rest)
    return MainMemory(total, min(available, total))


def _limits(root: Path) -> list[tuple[int, int]]:
    """Return (limit, rest) in bytes for each limited cgroup of this process."""
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
    """Return the limits of a cgroup and those above it; in a container only the top is visible."""
    limit_name, used_name, cache_name = names
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    found = []
    for depth in range(len(parts), -1, -1):
        group = top.joinpath(*parts[:depth])
        limit, used = whole(read_text(group / limit_name) or ""), whole(read_text(group / used_name) or "")
        if limit is None or used is None:
            continue
        # File pages that are long unused, a model's among them, are freed on demand.
        cache = re.search(rf"^{cache_name} ([0-9]{{1,20}})$", read_text(group / "memory.stat") or "", re.MULTILINE)
        found.append((limit, max(0, limit - max(0, used - (int(cache[1]) if cache else 0)))))
    return found


def darwin_memory(commands: Commands) -> MainMemory | None:
    """Return hw.memsize, and the sum of vm_stat's free, inactive, speculative and purgeable pages.

    vm_stat's first line has the page size: 16,384 bytes on Apple's own chips, not 4,096.
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
    """Return GlobalMemoryStatusEx's values."""
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


CUDA, CUDA_ORDER = "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"
HIP, ROCR = "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"

ORDER_UNKNOWN = (
    "CUDA orders unlike cards by speed, so which is which is not known: the least free of them counts for each; "
    "set CUDA_DEVICE_ORDER=PCI_BUS_ID"
)
ONE_MIG = "a program uses one MIG device: name it in CUDA_VISIBLE_DEVICES"


def nvidia_visible(probed: ProbeResult, environ: Mapping[str, str]) -> ProbeResult:
    """Return the devices that CUDA will see, in its numbering; the newest source gets a reason for hidden ones.

    NVML orders by bus, CUDA by speed unless CUDA_DEVICE_ORDER is PCI_BUS_ID. If the order matters (different cards, not
    named), each device gets the free memory of the fullest.
    """
    value = environ.get(CUDA)
    chosen = _chosen(probed.devices, value)
    reasons = [_left_out(probed.devices, chosen, CUDA, value)]
    alike = len({(device.name, device.total_bytes) for device in probed.devices}) < 2
    if chosen and not alike and not _all_named(value) and environ.get(CUDA_ORDER) != "PCI_BUS_ID":
        least = _least_free(probed.devices)
        chosen = [device._replace(free_bytes=least) for device in chosen]
        reasons.append(ORDER_UNKNOWN)
    if sum(device.uuid.startswith("MIG-") for device in chosen) > 1:
        reasons.append(ONE_MIG)
    return _renumbered(probed, chosen, reasons)


def amd_visible(probed: ProbeResult, environ: Mapping[str, str]) -> ProbeResult:
    """Return the devices that ROCm will see, in its numbering; the newest source gets a reason for hidden ones."""
    chosen, reasons = list(probed.devices), []
    for variable in (ROCR, HIP if HIP in environ else CUDA):
        value = environ.get(variable)
        before = chosen
        chosen = _chosen(before, value)
        reasons.append(_left_out(before, chosen, variable, value))
        chosen = [device._replace(number=number) for number, device in enumerate(chosen)]
    return _renumbered(probed, chosen, reasons)


def _chosen(devices: Sequence[Device], value: str | None) -> list[Device]:
    """Return the devices that a variable selects, in its order; all if it is unset."""
    if value is None:
        return list(devices)
    chosen: list[Device] = []
    for entry in value.split(","):
        fits = [device for device in devices if _means(entry.strip(), device)]
        # A repeated device ends the list, too: CUDA refuses such a list.
        if len(fits) != 1 or fits[0] in chosen:
            break
        chosen += fits
    return chosen


def _means(entry: str, device: Device) -> bool:
    """Return whether an entry of a variable names a device: by number, or by the start of its UUID."""
    if (number := whole(entry)) is not None:
        return device.number == number
    return len(entry) > 4 and entry.startswith(("GPU-", "MIG-")) and device.uuid.lower().startswith(entry.lower())


def _all_named(value: str | None) -> bool:
    return value is not None and all(whole(entry) is None for entry in value.split(","))


def _least_free(devices: Sequence[Device]) -> int | None:
    """Return the free bytes of the fullest device; `None` if one is unknown."""
    free = [device.free_bytes for device in devices if device.free_bytes is not None]
    return min(free) if len(free) == len(devices) else None


def _left_out(before: Sequence[Device], after: Sequence[Device], variable: str, value: str | None) -> str:
    gone = len(before) - len(after)
    return shown(f"{variable}={value} leaves {len(after)} of {len(before)}") if gone else ""


def _renumbered(probed: ProbeResult, chosen: Sequence[Device], reasons: Sequence[str]) -> ProbeResult:
    """Return other devices, numbered from 0, with more reasons on the newest source."""
    devices = tuple(device._replace(number=number) for number, device in enumerate(chosen))
    *before, newest = probed.tried or (ProbeAttempt("", 0, ""),)
    reason = "; ".join(filter(None, (newest.reason, *reasons)))
    return ProbeResult(devices, (*before, newest._replace(reason=reason)))


_LIBRARIES = ("libnvidia-ml.so.1",)
# Beside the system's own libraries, or in an own folder for older drivers.
_WINDOWS = (
    rf"{os.environ.get('WINDIR', 'C:/Windows')}\System32\nvml.dll",
    rf"{os.environ.get('PROGRAMFILES', 'C:/Program Files')}\NVIDIA Corporation\NVSMI\nvml.dll",
)


def has_nvml() -> bool:
    """Return whether NVIDIA's library can be loaded; without one this takes a fraction of a millisecond."""
    for name in _WINDOWS if sys.platform == "win32" else _LIBRARIES:
        with suppress(OSError):
            ctypes.CDLL(name)
            return True
    return False


class Machine:
    """The sources' surroundings: an environment, a file system, a platform, and imported modules."""

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
        """Return this process's main memory, total and free."""
        return main_memory(self.root, self.commands, self.platform)


def look_at(source: str, machine: Machine) -> ProbeResult:
    """Return what a source of `SOURCES` finds; never raise."""
    return looked(source, lambda look: SOURCES[source](machine, look))


# The command of NVIDIA's driver: a line for each device, in bus order. It knows no MIG devices.
QUERY = "--query-gpu=index,uuid,name,memory.total,memory.free,memory.used,utilization.gpu"


def _nvidia_smi(machine: Machine, look: Look) -> None:
    printed = machine.commands.run("nvidia-smi", QUERY, "--format=csv,noheader,nounits")
    lines = [line.strip() for line in printed.text.splitlines() if line.strip()]
    # Failures appear instead of figures, among the lines of working devices.
    others = [line for line in lines if not _nvidia_line(machine, look, line)]
    if others or printed.code or not lines:
        exit_code = f" (exit code {printed.code})" if printed.code and lines else ""
        look.note((others[0] if others else printed.first_line()) + exit_code)


def _nvidia_line(machine: Machine, look: Look, line: str) -> bool:
    """Parse a line, and return whether it describes a device."""
    fields = [field.strip() for field in line[:2000].split(",")]
    if len(fields) < 7 or (number := whole(fields[0])) is None or number >= 1000:
        return False
    total, free = as_bytes(fields[-4], MIB), as_bytes(fields[-3], MIB)
    unified = total is None and free is None
    if unified and (main := machine.main_memory()) is not None:
        # GB10, Jetson: "[N/A]", as the GPU has no memory of its own.
        total, free = main
    if total is None:
        look.note(f"device {number}: it does not tell its memory")
    else:
        name, busy = ", ".join(fields[2:-4]), percent(fields[-1])
        look.add(Device(number, fields[1], name, "nvidia", total, free, unified, look.source, busy))
    return True


# Integrated graphics reserve a small part of main memory, and take more of it as GTT.
APU_VRAM_BYTES = 4 << 30
# AMD's four sizes of a device, as the kernel's driver and rocm-smi name them.
_SYS_FILES = ("mem_info_vram_total", "mem_info_vram_used", "mem_info_gtt_total", "mem_info_gtt_used")
_ROCM_KEYS = (
    "VRAM Total Memory (B)",
    "VRAM Total Used Memory (B)",
    "GTT Total Memory (B)",
    "GTT Total Used Memory (B)",
)
AMD = "0x1002"
_NO_MEMORY = {"amdgpu": "its driver does not tell its memory", "amd_smi": "it does not tell its memory"}


def _add_amd(machine: Machine, look: Look, device: Device, sizes: Sequence[int | None]) -> None:
    """Add an AMD device by its sizes in bytes: VRAM total and used, GTT total and used; `None` where unknown.

    An APU (less than 4 GiB of VRAM, and more GTT than that) is unified: both memories count, and free memory is at most
    main memory's.
    """
    vram, used, gtt, gtt_used = sizes
    if vram is None:
        if reason := _NO_MEMORY.get(look.source):
            look.note(f"device {device.number}: {reason}")
    elif vram >= APU_VRAM_BYTES or gtt is None or gtt <= vram:
        look.add(device._replace(total_bytes=vram, free_bytes=_rest(vram, used, 0)))
    else:
        free, main = _rest(vram + gtt, used, gtt_used), machine.main_memory()
        if free is not None and main is not None:
            free = min(free, main.available_bytes)
        look.add(device._replace(total_bytes=vram + gtt, free_bytes=free, unified=True))


def _rest(total: int, *used: int | None) -> int | None:
    known = [size for size in used if size is not None]
    return max(0, total - sum(known)) if len(known) == len(used) else None


def _amdgpu(machine: Machine, look: Look) -> None:
    """Read the kernel driver's values in /sys, in the order of the kernel's numbers."""
    cards = machine.root / "sys" / "class" / "drm"
    try:
        names = [path.name for path in cards.iterdir()]
    except OSError:
        names = []
    # Names like card0-DP-1 are a card's outputs.
    numbers = sorted(int(name[4:]) for name in names if re.fullmatch(r"card[0-9]{1,4}", name, re.ASCII))
    folders = [cards / f"card{number}" / "device" for number in numbers]
    folders = [folder for folder in folders if read_text(folder / "vendor") == AMD]
    if not folders:
        raise Unanswered("no AMD card found by the kernel")
    for number, folder in enumerate(folders):
        sizes = [whole(read_text(folder / name) or "") for name in _SYS_FILES]
        _add_amd(machine, look, _amdgpu_card(number, folder), sizes)


def _amdgpu_card(number: int, folder: Path) -> Device:
    unique, product = read_text(folder / "unique_id"), read_text(folder / "product_name")
    name = product or f"AMD GPU {(read_text(folder / 'device') or '').removeprefix('0x')}".strip()
    busy = percent(read_text(folder / "gpu_busy_percent"))
    uuid = f"GPU-{unique}" if unique else ""
    return Device(number, uuid, name, "amd", 0, None, unified=False, source="amdgpu", utilisation_fraction=busy)


def _amd_smi(machine: Machine, look: Look) -> None:
    """Run the command of newer ROCm; its output has several forms, and may come with exit code 1."""
    metric = machine.commands.run("amd-smi", "metric", "--mem-usage", "--json")
    static = machine.commands.run("amd-smi", "static", "--vram", "--json")
    uses, sizes = _by_number(metric), _by_number(static)
    if not uses and not sizes:
        raise Unanswered(metric.first_line())
    for number in sorted({*uses, *sizes}):
        size, usage = sizes.get(number, {}), _mapping(uses.get(number, {}), "mem_usage")
        total = as_bytes(usage.get("total_vram"), MIB)
        if total is None:
            total = as_bytes(_mapping(size, "vram").get("size"), MIB)
        free, used = as_bytes(usage.get("free_vram"), MIB), as_bytes(usage.get("used_vram"), MIB)
        if free is not None and total is not None:
            # Free is better than used: the driver keeps some memory for itself.
            used = total - min(free, total)
        name = str(_mapping(size, "asic").get("market_name", "AMD GPU"))
        device = Device(number, str(size.get("uuid", "")), name, "amd", 0, None, unified=False, source="amd_smi")
        gtt = [as_bytes(usage.get(key), MIB) for key in ("total_gtt", "used_gtt")]
        _add_amd(machine, look, device, [total, used, *gtt])


def _by_number(printed: Printed) -> dict[int, Mapping[str, object]]:
    """Return each device's data: a list, or, from ROCm 7 on, a list under the key gpu_data."""
    found = found_json(printed.text)
    entries = found.get("gpu_data") if isinstance(found, Mapping) else found
    devices: dict[int, Mapping[str, object]] = {}
    for entry in entries if isinstance(entries, list) else []:
        number = whole(str(entry.get("gpu"))[:8]) if isinstance(entry, Mapping) else None
        if number is not None and number < 1000:
            devices.setdefault(number, entry)
    return devices


def _mapping(entry: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = entry.get(key)
    return value if isinstance(value, Mapping) else {}


def _rocm_smi(machine: Machine, look: Look) -> None:
    """Run the command of older ROCm."""
    printed = machine.commands.run("rocm-smi", "--showmeminfo", "vram", "gtt", "--json")
    found = found_json(printed.text)
    if not isinstance(found, Mapping):
        raise Unanswered(printed.first_line())
    for key, card in found.items():
        number = re.fullmatch(r"card([0-9]{1,3})", key, re.ASCII)
        if number and isinstance(card, Mapping):
            device = Device(int(number[1]), "", "AMD GPU", "amd", 0, None, unified=False, source="rocm_smi")
            _add_amd(machine, look, device, [as_bytes(card.get(name), 1) for name in _ROCM_KEYS])
    if not len(look):
        look.note("it lists no card that reports its memory")


# Metal's default limit for a GPU: two thirds of a small memory, three quarters of a large one.
LARGE_BYTES = 36 << 30
_PRESSURES: Mapping[int, Pressure] = {1: "normal", 2: "warning", 4: "critical"}


def _apple(machine: Machine, look: Look) -> None:
    """Read a Mac GPU's share of unified memory, and its free part."""

    def sysctl(key: str) -> str:
        printed = machine.commands.run("sysctl", "-n", key)
        return "" if printed.code else printed.text.strip()

    if machine.platform != "darwin":
        raise Unanswered("not a Mac")
    memory = darwin_memory(machine.commands)
    if memory is None:
        raise Unanswered("sysctl and vm_stat do not report memory")
    brand = sysctl("machdep.cpu.brand_string")
    if brand.startswith("Intel"):
        raise Unanswered("Metal's memory on a Mac with an Intel processor is not known")
    limit = (whole(sysctl("iogpu.wired_limit_mb")) or 0) * MIB
    if not limit:
        limit = memory.total_bytes * 3 // 4 if memory.total_bytes > LARGE_BYTES else memory.total_bytes * 2 // 3
    limit = min(limit, memory.total_bytes)
    pressure = _PRESSURES.get(whole(sysctl("kern.memorystatus_vm_pressure_level")) or 0)
    free = min(limit, memory.available_bytes)
    name = brand or "Apple GPU"
    look.add(Device(0, "", name, "apple", limit, free, unified=True, source="apple", pressure=pressure))


# Prints llama.cpp's devices as one object on one line, among llama.cpp's log lines; in its own process. Types are
# ggml's: 1 is a GPU, 2 one that shares memory.
PROGRAM = """
import json, xllamacpp
keys = ("name", "description", "memory_total", "memory_free", "type", "device_id")
rows = [{key: row.get(key) for key in keys} for row in xllamacpp.get_device_info()]
for row in rows:
    row["type"] = int(getattr(row["type"], "value", row["type"]))
print("\\n" + json.dumps({"devices": rows}, default=str), flush=True)
"""
GPU, INTEGRATED = 1, 2
# Where Linux shows GPUs; WSL has dxg.
SIGNS = ("dev/dri", "dev/dxg", "dev/kfd", "dev/nvidiactl")
_VENDORS: Mapping[str, Vendor] = {
    "nvidia": "nvidia",
    "cuda": "nvidia",
    "geforce": "nvidia",
    "radeon": "amd",
    "amd": "amd",
    "rocm": "amd",
    "intel": "intel",
    "apple": "apple",
}


def has_xllamacpp() -> bool:
    """Return whether xllamacpp can be imported, without importing it."""
    try:
        return find_spec("xllamacpp") is not None
    except (ImportError, ValueError):
        return False


def _ggml(machine: Machine, look: Look) -> None:
    """List all other devices, such as Vulkan's and SYCL's, as llama.cpp sees them."""
    signs = [sign for sign in SIGNS if (machine.root / sign).exists()]
    if machine.platform == "linux" and not signs:
        raise Unanswered("no GPU in /dev")
    if not has_xllamacpp():
        raise Unanswered("xllamacpp is not installed")
    # -P: ignore a file of that name in the current folder.
    printed = machine.commands.run(sys.executable, "-P", "-c", PROGRAM)
    gpus = _ggml_rows(printed)
    for number, row in enumerate(gpus):
        look.add(_ggml_device(number, row))
    if not gpus:
        look.note("this llama.cpp sees no GPU")


def _ggml_rows(printed: Printed) -> list[Mapping[str, object]]:
    found = found_json(printed.text)
    rows = found.get("devices") if isinstance(found, Mapping) else None
    if not isinstance(rows, list):
        raise Unanswered(f"xllamacpp gave no list: {printed.first_line()}")
    return [row for row in rows if isinstance(row, Mapping) and row.get("type") in (GPU, INTEGRATED)]


def _ggml_device(number: int, row: Mapping[str, object]) -> Device:
    total, free = as_bytes(row.get("memory_total"), 1), as_bytes(row.get("memory_free"), 1)
    names = [str(row.get(key) or "") for key in ("description", "name")]
    words = " ".join(names).lower()
    vendor: Vendor = next((vendor for word, vendor in _VENDORS.items() if word in words), "other")
    unified = row.get("type") == INTEGRATED
    return Device(number, "", names[0] or names[1], vendor, total or 0, free, unified, "ggml")


def _torch(machine: Machine, look: Look) -> None:
    """Query a PyTorch that the host has already imported; it has applied CUDA_VISIBLE_DEVICES."""
    torch = machine.modules.get("torch")
    if torch is None:
        raise Unanswered("PyTorch is not imported by this program")
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
        uuid = str(getattr(properties, "uuid", ""))
        uuid = f"GPU-{uuid}" if uuid and not uuid.startswith("GPU-") else uuid
        unified = bool(getattr(properties, "is_integrated", 0))
        look.add(Device(number, uuid, str(properties.name), vendor, int(total), int(free), unified, "torch"))


# The sources by their names in settings; nvidia-ml-py has its own file.
SOURCES: dict[str, Callable[[Machine, Look], None]] = {
    "nvidia_smi": _nvidia_smi,
    "torch": _torch,
    "amdgpu": _amdgpu,
    "amd_smi": _amd_smi,
    "rocm_smi": _rocm_smi,
    "apple": _apple,
    "ggml": _ggml,
}
