"""Main memory: a /proc and cgroups made of files, a Mac made of scripts."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.gpus import darwin_memory, main_memory
from squidbot.testing import check_gpu_probe

from .fakes import OneSource, Says, files, program

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.core.devices import MainMemory, ProbeResult

KIB, GIB = 1 << 10, 1 << 30
MEMINFO = """MemTotal:       65536000 kB
MemFree:         1048576 kB
MemAvailable:   31457280 kB
SwapTotal:       8388608 kB
HugePages_Total:       0
"""
TOTAL, AVAILABLE = 65536000 * KIB, 30 * GIB
shell = pytest.mark.skipif(os.name != "posix", reason="the stand-ins are shell scripts")


def linux(root: Path, **texts: str) -> MainMemory | None:
    """Return the main memory of a machine made of files."""
    return main_memory(files(root, {"proc/meminfo": MEMINFO, **texts}), platform="linux")


def test_memory_is_what_the_kernel_calls_available_when_nothing_limits_it(tmp_path: Path) -> None:
    """MemAvailable and not MemFree: what is cached for files can be taken."""
    assert linux(tmp_path) == (TOTAL, AVAILABLE)
    assert linux(tmp_path, **{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cgroup.procs": "1"}) == (TOTAL, AVAILABLE)


def test_memory_is_what_the_group_has_left_when_a_container_limits_it(tmp_path: Path) -> None:
    """Version 2: the limit less what is used; files that nobody has touched for long count as free."""
    group = {
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/memory.max": f"{16 * GIB}\n",
        "sys/fs/cgroup/memory.current": f"{10 * GIB}\n",
    }
    assert linux(tmp_path, **group) == (16 * GIB, 6 * GIB)
    stat = {"sys/fs/cgroup/memory.stat": f"anon 5\nfile 7\ninactive_file {3 * GIB}\nslab 1\n"}
    assert linux(tmp_path, **stat) == (16 * GIB, 9 * GIB)
    assert linux(tmp_path, **{"sys/fs/cgroup/memory.current": f"{40 * GIB}"}) == (16 * GIB, 0)
    assert linux(tmp_path, **{"sys/fs/cgroup/memory.max": "max\n"}) == (TOTAL, AVAILABLE)


def test_memory_obeys_every_group_above_when_they_are_nested(tmp_path: Path) -> None:
    """The tightest limit on the way up counts."""
    top = "sys/fs/cgroup/user.slice"
    groups = {
        "proc/self/cgroup": "0::/user.slice/app.scope\n",
        f"{top}/app.scope/memory.max": "max",
        f"{top}/app.scope/memory.current": str(GIB),
        f"{top}/memory.max": str(8 * GIB),
        f"{top}/memory.current": str(6 * GIB),
    }
    assert linux(tmp_path, **groups) == (8 * GIB, 2 * GIB)


@pytest.mark.parametrize("folder", ["docker/4f2a", ""])
def test_memory_obeys_the_first_version_of_groups_when_that_is_in_use(tmp_path: Path, folder: str) -> None:
    """The same by other names; in a container the host's path may be unknown, and the top is the group itself."""
    group = f"sys/fs/cgroup/memory/{folder}".rstrip("/")
    texts = {
        "proc/self/cgroup": "9:name=systemd:/\n4:cpu,memory:/docker/4f2a\n0::/\n",
        f"{group}/memory.limit_in_bytes": str(4 * GIB),
        f"{group}/memory.usage_in_bytes": str(3 * GIB),
        f"{group}/memory.stat": f"inactive_file 5\ntotal_inactive_file {GIB}\n",
    }
    assert linux(tmp_path, **texts) == (4 * GIB, 2 * GIB)
    assert linux(tmp_path, **{f"{group}/memory.limit_in_bytes": "9223372036854771712"}) == (TOTAL, AVAILABLE)


@pytest.mark.parametrize("text", ["", "MemTotal: 5 kB\n", "MemTotal: -5 kB\nMemAvailable: x kB\n", "\x00" * 99])
def test_memory_is_unknown_when_the_system_does_not_tell(tmp_path: Path, text: str) -> None:
    """No file, or one without the figures: None."""
    assert main_memory(tmp_path, platform="linux") is None
    assert main_memory(files(tmp_path, {"proc/meminfo": text}), platform="linux") is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads this machine's /proc")
def test_memory_is_this_machines_when_nothing_is_said() -> None:
    """The real thing: at least some, and no more available than there is."""
    found = main_memory()
    assert found is not None
    assert 0 < found.available_bytes <= found.total_bytes


# -- a Mac -----------------------------------------------------------------------------------------------------------

VM_STAT = """Mach Virtual Memory Statistics: (page size of 16384 bytes)
Pages free:                               100000.
Pages active:                             300000.
Pages inactive:                           200000.
Pages speculative:                         10000.
Pages throttled:                               0.
Pages wired down:                         150000.
Pages purgeable:                            5000.
"Translation faults":                 1234567890.
Pages copy-on-write:                    11111111.
"""
PAGES = 315000 * 16384


def mac(folder: Path, memory: int, wired: str = "0", vm_stat: str = VM_STAT, pressure: str = "1") -> ProbeResult:
    """Look at a Mac whose sysctl and vm_stat say this."""
    values = {
        "hw.memsize": str(memory),
        "iogpu.wired_limit_mb": wired,
        "kern.memorystatus_vm_pressure_level": pressure,
        "machdep.cpu.brand_string": "Apple M3 Max",
    }
    cases = "\n".join(f"{key}) echo '{value}'; exit 0;;" for key, value in values.items() if value)
    program(folder, "sysctl", "sysctl: unknown oid\n", 1, before=f'case "$2" in\n{cases}\nesac')
    program(folder, "vm_stat", vm_stat)
    return OneSource("apple", Says.on(folder), platform="darwin").probe()


@shell
@pytest.mark.parametrize(
    ("gibibytes", "wired", "limit_mib"),
    [(16, "0", 10922), (36, "0", 24576), (48, "0", 36864), (128, "", 98304), (48, "40960", 40960), (8, "99999", 8192)],
)
def test_apple_grants_a_share_of_memory_when_no_limit_is_set(
    tmp_path: Path, gibibytes: int, wired: str, limit_mib: int
) -> None:
    """Two thirds up to 36 GB, three quarters above; a limit that somebody set counts, up to all of it (O-12)."""
    (device,) = mac(tmp_path, gibibytes * GIB, wired).devices
    assert device.total_bytes // (1 << 20) == limit_mib
    assert (device.name, device.vendor, device.unified, device.pressure) == ("Apple M3 Max", "apple", True, "normal")


@shell
def test_apple_counts_pages_of_the_size_that_is_said_when_memory_is_asked_for(tmp_path: Path) -> None:
    """Free, inactive, speculative and purgeable pages of 16,384 bytes; never more than the GPU may have."""
    (device,) = mac(tmp_path, 48 * GIB).devices
    assert device.free_bytes == PAGES
    (small,) = mac(tmp_path, 6 * GIB).devices
    assert small.free_bytes == small.total_bytes == 4 * GIB
    (old,) = mac(tmp_path, 48 * GIB, vm_stat=VM_STAT.replace("16384", "4096"), pressure="4").devices
    assert (old.free_bytes, old.pressure) == (PAGES // 4, "critical")
    assert mac(tmp_path, 48 * GIB, pressure="3").devices[0].pressure is None
    check_gpu_probe(lambda: OneSource("apple", Says.on(tmp_path), platform="darwin"))


@shell
def test_apple_says_why_when_nothing_is_found(tmp_path: Path) -> None:
    """No Mac, a Mac with an Intel processor, programs that are missing or say something else."""
    assert OneSource("apple", platform="linux").probe().tried[0].reason == "not a Mac"
    assert "do not report memory" in mac(tmp_path, 48 * GIB, vm_stat="vm_stat: no\n").tried[0].reason
    assert "do not report memory" in OneSource("apple", Says.on(), platform="darwin").probe().tried[0].reason
    mac(tmp_path, 48 * GIB)
    script = tmp_path / "sysctl"
    script.write_text(script.read_text(encoding="utf-8").replace("Apple M3 Max", "Intel(R) Core(TM)"), encoding="utf-8")
    assert "Intel" in OneSource("apple", Says.on(tmp_path), platform="darwin").probe().tried[0].reason


@given(text=st.text())
def test_apple_never_raises_whatever_is_printed(text: str) -> None:
    """Any output is a device that holds what is promised, or a reason."""
    check_gpu_probe(lambda: OneSource("apple", Says(text), platform="darwin"))
    found = darwin_memory(Says(text))
    assert found is None or 0 <= found.available_bytes <= found.total_bytes
