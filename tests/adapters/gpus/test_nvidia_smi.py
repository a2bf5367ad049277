"""nvidia-smi: everything that it is known to print, through a real program on the PATH."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.gpus import QUERY
from squidbot.core.devices import Device, MainMemory, ProbeResult
from squidbot.testing import check_gpu_probe

from .fakes import OneSource, Says, program

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the stand-ins are shell scripts")

MIB = 1 << 20
TWO = """\
0, GPU-5a1b, NVIDIA GeForce RTX 5090, 32607, 23067, 9000, 3
1, GPU-77c2, NVIDIA GeForce RTX 3060, 12288, 11911, 1, 0
"""
FAILED = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n"
)


def looked(folder: Path, output: str | bytes, code: int = 0, main: MainMemory | None = None) -> ProbeResult:
    """Look at a machine whose nvidia-smi prints this."""
    program(folder, "nvidia-smi", output, code, before=f'echo "$@" > "{folder}/asked"')
    return OneSource("nvidia_smi", Says.on(folder), main).probe()


def test_nvidia_smi_gives_mebibytes_when_cards_answer(tmp_path: Path) -> None:
    """Totals, free memory and utilisation of each; a reserve of the driver is neither free nor used (O-12)."""
    probed = looked(tmp_path, TWO)
    assert probed.devices == (
        Device(
            0,
            "GPU-5a1b",
            "NVIDIA GeForce RTX 5090",
            "nvidia",
            32607 * MIB,
            23067 * MIB,
            unified=False,
            source="nvidia_smi",
            utilisation_fraction=0.03,
        ),
        Device(
            1,
            "GPU-77c2",
            "NVIDIA GeForce RTX 3060",
            "nvidia",
            12288 * MIB,
            11911 * MIB,
            unified=False,
            source="nvidia_smi",
            utilisation_fraction=0.0,
        ),
    )
    assert probed.tried == (("nvidia_smi", 2, ""),)
    asked = (tmp_path / "asked").read_text(encoding="utf-8")
    assert asked == f"{QUERY} --format=csv,noheader,nounits\n"
    check_gpu_probe(lambda: OneSource("nvidia_smi", Says.on(tmp_path)))


@pytest.mark.parametrize("word", ["[N/A]", "N/A", "[Not Supported]", "[Unknown Error]"])
def test_nvidia_smi_leaves_figures_open_when_the_card_does_not_tell(tmp_path: Path, word: str) -> None:
    """A missing utilisation or free memory is None; free is never made from the total less what is used."""
    (device,) = looked(tmp_path, f"0, GPU-1, Tesla, 16384, {word}, 100, {word}\n").devices
    assert (device.total_bytes, device.free_bytes, device.utilisation_fraction) == (16384 * MIB, None, None)
    main = MainMemory(128 << 30, 90 << 30)
    (shared,) = looked(tmp_path, f"0, GPU-1, NVIDIA GB10, {word}, {word}, {word}, 0\n", main=main).devices
    assert (shared.unified, shared.total_bytes, shared.free_bytes) == (True, 128 << 30, 90 << 30)
    probed = looked(tmp_path, f"0, GPU-1, NVIDIA GB10, {word}, {word}, {word}, 0\n")
    assert probed == ((), (("nvidia_smi", 0, "device 0: it does not tell its memory"),))


@pytest.mark.parametrize(
    ("output", "code", "reason"),
    [
        (FAILED, 9, FAILED.strip() + " (exit code 9)"),
        ("No devices were found\n", 6, "No devices were found (exit code 6)"),
        (
            "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.124\n",
            18,
            "Failed to",
        ),
        ("Failed to initialize NVML: Insufficient Permissions\n", 4, "Insufficient Permissions"),
        ("", 0, "it printed nothing, exit code 0"),
        ("", 255, "it printed nothing, exit code 255"),
        ("0, GPU-1, X, -1, 5, 5, 5\n", 0, "does not tell its memory"),
        ("0, GPU-1, X, nan, 5, 5, 5\n", 0, "does not tell its memory"),
        ("0, GPU-1, X, 99999999999999999999, 5, 5, 5\n", 0, "it says that it has 1.05e+26 bytes"),
        ("0, GPU-1, X, 0, 0, 0, 0\n", 0, "it says that it has 0 bytes"),
        ("-1, GPU-1, X, 5, 5, 5, 5\n", 0, "-1, GPU-1, X"),
        (b"\xff\xfe\x00\x01" * 2000, 0, "?"),
    ],
)
def test_nvidia_smi_says_why_when_nothing_is_found(tmp_path: Path, output: str | bytes, code: int, reason: str) -> None:
    """Failures are printed where figures are expected: they are the reason, and never a device."""
    probed = looked(tmp_path, output, code)
    assert probed.devices == ()
    assert reason in probed.tried[0].reason
    assert len(probed.tried[0].reason) <= 220


def test_nvidia_smi_keeps_the_others_when_one_card_is_lost(tmp_path: Path) -> None:
    """An error among lines, and an exit code, take nothing from the cards that did answer; free is at most all."""
    lost = "Unable to determine the device handle for GPU0000:01:00.0: GPU is lost. Reboot the system to recover\n"
    probed = looked(tmp_path, lost + "1, GPU-77c2, RTX, 3060, Ti, 12288, 99999, 1, 0\n", 15)
    ((number, _, name, _, total, free, *_),) = probed.devices
    assert (number, name, total, free) == (1, "RTX, 3060, Ti", 12288 * MIB, 12288 * MIB)
    assert probed.tried == (("nvidia_smi", 1, lost.strip() + " (exit code 15)"),)


@given(
    text=st.one_of(st.text(), st.lists(st.sampled_from([*TWO.split(", "), "\n", "-", "NaN", "9" * 25])).map(", ".join))
)
def test_nvidia_smi_never_raises_whatever_is_printed(text: str) -> None:
    """Any output is devices that hold what is promised, or a reason."""
    check_gpu_probe(lambda: OneSource("nvidia_smi", Says(text), MainMemory(100, 200)))
