"""NVIDIA's devices by NVML: a library compiled by the test, called by the real nvidia-ml-py."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from squidbot.core.devices import Device, ProbeResult

from .fakes import all_probed_in_child, probed_in_child

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1 << 20
MAIN = "lambda: MainMemory(128 << 30, 100 << 30)"
# What FAKE_NVML names: see `fakes`.
SCENARIOS = (
    "", "mig", "no-v2", "unified", "no-driver", "mismatch", "no-permission", "forbidden", "none", "garbage", "lost",
    "lost-late", "more-free", "absurd", "no-mig",
)  # fmt: skip
IMPORTS = "from squidbot.adapters.pynvml import PynvmlProbe as P"


@cache
def all_looked(folder: Path | None, main: str) -> list[ProbeResult]:
    """Look at the fake library in a new process, in each scenario twice: the second look finds what the first found."""
    code = f"""
import os
from squidbot.core.devices import MainMemory
{IMPORTS}
found = []
for os.environ["FAKE_NVML"] in {SCENARIOS}:
    probe = P({main})
    found.append(probe.probe())
    assert probe.name == "pynvml" and probe.probe() == found[-1]
"""
    return all_probed_in_child(code, {"LD_LIBRARY_PATH": str(folder)} if folder else {})


def looked(folder: Path | None, scenario: str = "", main: str = MAIN) -> ProbeResult:
    """Return what was found in a scenario."""
    return all_looked(folder, main)[SCENARIOS.index(scenario)]


def test_nvml_counts_what_others_use_when_there_are_two_cards(nvml_folder: Path) -> None:
    """Free is total less what any program has and what the driver keeps, in bytes; names and numbers are NVML's."""
    probed = looked(nvml_folder)
    assert probed.devices == (
        Device(
            0,
            "GPU-00000009-0000",
            "NVIDIA GeForce RTX 4090",
            "nvidia",
            24576 * MIB,
            (24576 - 7000 - 500) * MIB,
            unified=False,
            source="pynvml",
            utilisation_fraction=0.37,
        ),
        Device(
            1,
            "GPU-11111119-0000",
            "NVIDIA GeForce RTX 3060",
            "nvidia",
            12288 * MIB,
            (12288 - 300) * MIB,
            unified=False,
            source="pynvml",
            utilisation_fraction=0.37,
        ),
    )
    assert probed.tried == (("pynvml", 2, ""),)


def test_nvml_lists_mig_devices_and_not_their_card_when_mig_is_on(nvml_folder: Path) -> None:
    """Each MIG device has its own memory; empty places between them are passed over; the next card follows."""
    probed = looked(nvml_folder, "mig")
    assert [(device.number, device.uuid, device.total_bytes // MIB) for device in probed.devices] == [
        (0, "MIG-00000000-0000", 9856),
        (1, "MIG-00000002-0000", 9856),
        (2, "GPU-11111119-0000", 12288),
    ]
    assert [device.free_bytes for device in probed.devices[:2]] == [(9856 - 1013) * MIB, (9856 - 1213) * MIB]
    assert probed.devices[0].utilisation_fraction is None


def test_nvml_uses_the_first_version_when_the_driver_is_old(nvml_folder: Path, old_nvml_folder: Path) -> None:
    """A driver that has no second version, or that refuses it, gives the same figures by the first."""
    figures = [(device.total_bytes, device.free_bytes) for device in looked(nvml_folder).devices]
    for probed in (looked(old_nvml_folder), looked(nvml_folder, "no-v2")):
        assert [(device.total_bytes, device.free_bytes) for device in probed.devices] == figures


def test_nvml_reads_main_memory_when_the_device_has_none(nvml_folder: Path) -> None:
    """GB10 and Jetson answer "not supported": memory is shared, and what main memory has free is free."""
    first, second = looked(nvml_folder, "unified").devices
    assert (first.unified, first.total_bytes, first.free_bytes) == (True, 128 << 30, 100 << 30)
    assert second.unified
    probed = looked(nvml_folder, "unified", "lambda: None")
    assert probed.devices == ()
    assert "main memory" in probed.tried[0].reason


@pytest.mark.parametrize(
    ("scenario", "reason"),
    [
        ("no-driver", "the NVIDIA driver is not loaded"),
        ("mismatch", "different versions: restart the machine"),
        ("no-permission", "permission"),
        ("forbidden", "device 0: the permission to ask it is missing; device 1: "),
        ("none", "the NVIDIA driver knows no device"),
        ("garbage", "device 0: it says that it has 1.84e+19 bytes"),
    ],
)
def test_nvml_says_why_when_nothing_is_found(nvml_folder: Path, scenario: str, reason: str) -> None:
    """No device, no exception, and a sentence that says what to do about it."""
    probed = looked(nvml_folder, scenario)
    assert probed.devices == ()
    ((source, found, said),) = probed.tried
    assert (source, found) == ("pynvml", 0)
    assert reason in said


@pytest.mark.parametrize(("scenario", "left"), [("lost", 1), ("lost-late", 0)])
def test_nvml_keeps_the_others_and_their_numbers_when_a_gpu_is_lost(
    nvml_folder: Path, scenario: str, left: int
) -> None:
    """A GPU that is lost is a reason; the one that is left keeps its number on the bus."""
    probed = looked(nvml_folder, scenario)
    assert [device.number for device in probed.devices] == [left]
    assert probed.tried == (("pynvml", 1, f"device {1 - left}: the GPU is lost: it has fallen off the bus, or failed"),)


def test_nvml_never_has_more_free_than_there_is_when_the_driver_says_so(nvml_folder: Path) -> None:
    """Free is clamped to the total; a count of 4 billion cards ends; an unknown MIG mode is none."""
    assert [device.free_bytes for device in looked(nvml_folder, "more-free").devices] == [
        24576 * MIB,
        12288 * MIB,
    ]
    assert [device.number for device in looked(nvml_folder, "absurd").devices] == [0, 1]
    assert len(looked(nvml_folder, "no-mig").devices) == 2


def test_nvml_says_that_the_library_is_missing_when_it_is() -> None:
    """Without a driver there is no library: a sentence, no exception."""
    probed = looked(None)
    if probed.tried[0].found:
        pytest.skip("this machine has NVIDIA's driver")
    assert probed.devices == ()
    assert probed.tried == (("pynvml", 0, "NVIDIA's library libnvidia-ml is not installed"),)


def test_nvml_shuts_down_what_it_started_when_it_has_looked(nvml_folder: Path) -> None:
    """The library's own count of starts is 0 again, so that a host's use of it is not disturbed."""
    code = f"""
import ctypes
from squidbot.core.devices import MainMemory
{IMPORTS}
found = P({MAIN}).probe()
assert ctypes.CDLL("libnvidia-ml.so.1").fakeStarts() == 0
"""
    assert probed_in_child(code, {"LD_LIBRARY_PATH": str(nvml_folder)}).tried[0].found == 2
