"""AMD's devices: a /sys made of files, and all that amd-smi and rocm-smi are known to print, through real programs."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.devices import Device, MainMemory, ProbeResult
from squidbot.testing import check_gpu_probe

from .fakes import OneSource, Says, files, program

if TYPE_CHECKING:
    from pathlib import Path

MIB, GIB = 1 << 20, 1 << 30
MAIN = MainMemory(64 * GIB, 20 * GIB)
shell = pytest.mark.skipif(os.name != "posix", reason="the stand-ins are shell scripts")


# -- /sys ------------------------------------------------------------------------------------------------------------


def card(number: int, **figures: object) -> dict[str, str]:
    """Return the files of one card of AMD's below a root."""
    known = {"vendor": "0x1002", "device": "0x744c", **figures}
    return {f"sys/class/drm/card{number}/device/{name}": f"{value}\n" for name, value in known.items()}


DISCRETE = {
    "mem_info_vram_total": 25753026560,
    "mem_info_vram_used": 1073741824,
    "mem_info_gtt_total": 33538351104,
    "mem_info_gtt_used": 52428800,
    "gpu_busy_percent": 12,
    "unique_id": "8f1c3d2a55e0b7aa",
    "product_name": "Radeon RX 7900 XTX",
}
APU = {
    "mem_info_vram_total": 536870912,
    "mem_info_vram_used": 300 * MIB,
    "mem_info_gtt_total": 31 * GIB,
    "mem_info_gtt_used": 2 * GIB,
}


def test_amdgpu_gives_what_nobody_uses_when_there_is_a_card(tmp_path: Path) -> None:
    """Decimal bytes as the kernel writes them; outputs of a card and cards of others are no devices."""
    files(tmp_path, card(1, **DISCRETE))
    files(tmp_path, card(10, mem_info_vram_total=8 * GIB, mem_info_vram_used=0))
    files(tmp_path, card(2, mem_info_vram_total=6 * GIB))
    files(tmp_path, card(0, vendor="0x10de", mem_info_vram_total=8 * GIB))
    files(tmp_path, {"sys/class/drm/card1-DP-1/device/vendor": "0x1002\n", "sys/class/drm/version": "drm\n"})
    probed = OneSource("amdgpu", None, MAIN, root=tmp_path).probe()
    assert probed.devices[0] == Device(
        0,
        "GPU-8f1c3d2a55e0b7aa",
        "Radeon RX 7900 XTX",
        "amd",
        25753026560,
        25753026560 - 1073741824,
        unified=False,
        source="amdgpu",
        utilisation_fraction=0.12,
    )
    assert [(device.number, device.name, device.total_bytes, device.free_bytes) for device in probed.devices[1:]] == [
        (1, "AMD GPU 744c", 6 * GIB, None),
        (2, "AMD GPU 744c", 8 * GIB, 8 * GIB),
    ]
    check_gpu_probe(lambda: OneSource("amdgpu", None, MAIN, root=tmp_path))


def test_amdgpu_counts_mapped_memory_when_graphics_are_the_processors(tmp_path: Path) -> None:
    """Of an APU both memories count, and no more is free than main memory has."""
    files(tmp_path, card(0, **APU))
    (device,) = OneSource("amdgpu", None, MAIN, root=tmp_path).probe().devices
    assert (device.unified, device.total_bytes, device.free_bytes) == (True, 31 * GIB + 512 * MIB, 20 * GIB)
    files(tmp_path, card(1, mem_info_vram_total=2 * GIB, mem_info_vram_used=0, mem_info_gtt_total=GIB))
    assert [one.unified for one in OneSource("amdgpu", None, MAIN, root=tmp_path).probe().devices] == [True, False]
    roomy, small = OneSource("amdgpu", root=tmp_path).probe().devices
    assert small.total_bytes == small.free_bytes == 2 * GIB
    assert roomy.free_bytes == 31 * GIB + 512 * MIB - 2 * GIB - 300 * MIB


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ({}, "no AMD card found by the kernel"),
        (card(0), "device 0: its driver does not tell its memory"),
        (card(0, mem_info_vram_total="-5"), "does not tell"),
        (card(0, mem_info_vram_total="0", mem_info_vram_used="0"), "it says that it has 0 bytes"),
        (card(0, mem_info_vram_total="9" * 40), "does not tell"),
        (card(0, vendor="0x1002\x00"), "no AMD card"),
    ],
)
def test_amdgpu_says_why_when_nothing_is_found(tmp_path: Path, texts: dict[str, str], reason: str) -> None:
    """No folder, no figure, or one that is none: a reason."""
    probed = OneSource("amdgpu", None, MAIN, root=files(tmp_path, texts)).probe()
    assert probed.devices == ()
    assert reason in probed.tried[0].reason


# -- amd-smi ---------------------------------------------------------------------------------------------------------


def in_mb(number: float) -> dict[str, object]:
    """Return an amount as newer versions write it: MB, and meaning MiB."""
    return {"value": number, "unit": "MB"}


SIZES = [{"gpu": 0, "vram": {"type": "GDDR6", "size": in_mb(24560)}}, {"gpu": 1, "vram": {"size": 16368}}]
USES = [
    {"gpu": 0, "mem_usage": {"total_vram": in_mb(24560), "used_vram": in_mb(43), "free_vram": in_mb(24500)}},
    {"gpu": 1, "mem_usage": {"total_vram": 16368, "used_vram": 368, "free_vram": "N/A"}},
]


def amd_smi(folder: Path, metric: object, static: object, code: int = 0) -> ProbeResult:
    """Look at a machine whose amd-smi prints this; texts as they are, values as JSON."""
    texts = [said if isinstance(said, str) else json.dumps(said, indent=4) for said in (metric, static)]
    for name, text in zip(("metric", "static"), texts, strict=True):
        (folder / name).write_text(text, encoding="utf-8")
    program(folder, "amd-smi", "", code, before=f'echo "$@" >> {folder}/asked; /bin/cat "{folder}/$1"')
    return OneSource("amd_smi", Says.on(folder), MAIN).probe()


@shell
@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize("wrapped", [False, True])
def test_amd_smi_gives_mebibytes_when_cards_answer(tmp_path: Path, *, wrapped: bool, code: int) -> None:
    """A list or a list under a key, numbers with and without a unit, and whatever the exit code is."""
    metric, static = ({"gpu_data": USES}, {"gpu_data": SIZES}) if wrapped else (USES, SIZES)
    probed = amd_smi(tmp_path, metric, static, code)
    assert [(device.number, device.total_bytes // MIB, device.free_bytes) for device in probed.devices] == [
        (0, 24560, 24500 * MIB),
        (1, 16368, 16000 * MIB),
    ]
    assert probed.tried == (("amd_smi", 2, ""),)
    asked = (tmp_path / "asked").read_text(encoding="utf-8")
    assert asked == "metric --mem-usage --json\nstatic --vram --json\n"


@shell
def test_amd_smi_uses_the_size_when_the_usage_is_not_told(tmp_path: Path) -> None:
    """The static size stands where the metric says N/A; then what is free is not known."""
    unknown = [{"gpu": 0, "mem_usage": {"total_vram": "N/A", "used_vram": "N/A", "free_vram": "N/A"}}]
    (device,) = amd_smi(tmp_path, unknown, [{"gpu": 0, "vram": {"size": "24560 MB"}, "uuid": "x"}]).devices
    assert (device.total_bytes, device.free_bytes, device.uuid) == (24560 * MIB, None, "x")
    apu = {"total_vram": 512, "used_vram": 100, "free_vram": 412, "total_gtt": in_mb(16384), "used_gtt": 1000}
    (shared,) = amd_smi(
        tmp_path, "WARNING: not in the group render\n" + json.dumps([{"gpu": 0, "mem_usage": apu}]), ""
    ).devices
    assert (shared.unified, shared.free_bytes) == (True, (512 + 16384 - 1100) * MIB)


@shell
@pytest.mark.parametrize(
    ("metric", "reason"),
    [
        ("ERROR:root:Unable to get devices, driver not initialized (amdgpu not found in modules)\n", "driver not init"),
        ([], "[]"),
        ("{", "{"),
        ("[" * 200_000, "[[["),
        ([{"gpu": 0, "mem_usage": "N/A"}], "device 0: it does not tell its memory"),
        ([{"gpu": 0, "mem_usage": {"total_vram": -4}}], "device 0: it does not tell its memory"),
        ('[{"gpu": 0, "mem_usage": {"total_vram": NaN}}]', "device 0: it does not tell its memory"),
        ('[{"gpu": 0, "mem_usage": {"total_vram": 1e999}}]', "device 0: it does not tell its memory"),
        ([{"gpu": 0, "mem_usage": {"total_vram": {"value": 5, "unit": "parsecs"}}}], "device 0: it does not tell"),
        ([{"gpu": 0, "mem_usage": {"total_vram": 1e19}}], "device 0: it says that it has 1.05e+25 bytes"),
    ],
)
def test_amd_smi_says_why_when_nothing_is_found(tmp_path: Path, metric: object, reason: str) -> None:
    """Errors and figures that are none are reasons."""
    probed = amd_smi(tmp_path, metric, "", 1)
    assert probed.devices == ()
    assert reason in probed.tried[0].reason


# -- rocm-smi --------------------------------------------------------------------------------------------------------

ROCM = {
    "card0": {"VRAM Total Memory (B)": "21458059264", "VRAM Total Used Memory (B)": "27856896"},
    "card10": {"VRAM Total Memory (B)": "8589934592", "VRAM Total Used Memory (B)": "0"},
    "card2": {"VRAM Total Memory (B)": "8589934592"},
    "system": {"Driver version": "6.7.0"},
}
WARNINGS = "\n\n======================= ROCm SMI =======================\nWARNING: No JSON data to [report] {yet}\n"


def rocm_smi(folder: Path, output: str, code: int = 0) -> ProbeResult:
    """Look at a machine whose rocm-smi prints this."""
    program(folder, "rocm-smi", output, code, before=f'echo "$@" > {folder}/asked')
    return OneSource("rocm_smi", Says.on(folder), MAIN).probe()


@shell
@pytest.mark.parametrize("before", ["", WARNINGS, "WARNING: AMD GPU device(s) is/are in a low-power state. "])
def test_rocm_smi_gives_bytes_when_cards_answer(tmp_path: Path, before: str) -> None:
    """Bytes as text, cards by number and not by name, warnings before the brace left out (O-12)."""
    probed = rocm_smi(tmp_path, before + json.dumps(ROCM) + "\n")
    assert [(device.number, device.total_bytes, device.free_bytes) for device in probed.devices] == [
        (0, 21458059264, 21458059264 - 27856896),
        (2, 8589934592, None),
        (10, 8589934592, 8589934592),
    ]
    assert (tmp_path / "asked").read_text(encoding="utf-8") == "--showmeminfo vram gtt --json\n"


@shell
@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("ERROR:root:Driver not initialized (amdgpu not found in modules)\n", "Driver not initialized"),
        (json.dumps({"card0": {"VRAM Total Memory": "21458059264"}}), "no card that reports its memory"),
        (json.dumps({"card0": {"VRAM Total Memory (B) free": "21458059264"}}), "no card that reports its memory"),
        (json.dumps({"card0": {"VRAM Total Memory (B)": ["1"]}, "cardx": {}, "card1": 5}), "no card that reports"),
        ("", "it printed nothing, exit code 2"),
    ],
)
def test_rocm_smi_says_why_when_nothing_is_found(tmp_path: Path, output: str, reason: str) -> None:
    """A key counts as a whole only, with its unit; errors are reasons."""
    probed = rocm_smi(tmp_path, output, 2)
    assert probed.devices == ()
    assert reason in probed.tried[0].reason


KEYS = (
    *("card0", "card1", *ROCM["card0"]),
    *("gpu", "gpu_data", "mem_usage", "vram", "size", "value", "unit", "total_vram", "free_vram", "total_gtt"),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5) | st.sampled_from(["5", "1 MB"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@given(said=JSON, before=st.text(max_size=20), cut=st.integers(0, 3))
def test_amd_programs_never_raise_whatever_is_printed(said: object, before: str, cut: int) -> None:
    """Any JSON, broken or not, is devices that hold what is promised, or a reason."""
    text = json.dumps(said)
    says = Says(before + text[: len(text) - cut])
    check_gpu_probe(lambda: OneSource("amd_smi", says, MAIN))
    check_gpu_probe(lambda: OneSource("rocm_smi", says, MAIN))
