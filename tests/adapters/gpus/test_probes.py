"""Which GPUs there are: sources in their order, on machines made of a library, files and scripts."""

from __future__ import annotations

import json
import os
from time import perf_counter
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters import gpus
from squidbot.adapters.gpus import Machine
from squidbot.core.devices import Device, ProbeAttempt, ProbeResult
from squidbot.testing import check_gpu_probe
from squidbot.wiring.gpus import NamedProbe, probe_all
from squidbot.wiring.registry import PROBE_NAMES

from .fakes import child, files, probed_in_child, program

if TYPE_CHECKING:
    from pathlib import Path

GIB, MIB = 1 << 30, 1 << 20
shell = pytest.mark.skipif(os.name != "posix", reason="the stand-ins are shell scripts")
LINE = "0, GPU-5a, RTX 5090, 32607, 23067, 9000, 3\n"
ROCM = json.dumps({"card0": {"VRAM Total Memory (B)": str(16 * GIB), "VRAM Total Used Memory (B)": str(GIB)}})


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A Linux machine with nothing in it, whatever this one has: no library, no file, no program, no PyTorch."""
    monkeypatch.setattr(gpus, "has_nvml", lambda: False)
    return bare(tmp_path)


def bare(folder: Path, **environ: str) -> Machine:
    """Return a machine whose programs and files are those of a folder."""
    return Machine({"PATH": str(folder / "bin"), **environ}, folder, "linux", {})


def drm(folder: Path, vram: int = 24 * GIB, gtt: int = 8 * GIB) -> None:
    """Put a card of AMD's into the machine, half of it used."""
    figures = {"vendor": "0x1002", "mem_info_vram_total": vram, "mem_info_vram_used": vram // 2}
    figures |= {"mem_info_gtt_total": gtt, "mem_info_gtt_used": 0}
    files(folder, {f"sys/class/drm/card0/device/{name}": str(value) for name, value in figures.items()})


def test_every_source_says_why_when_a_machine_has_no_gpu(machine: Machine) -> None:
    """None is found, each source names its reason, and no program was there to be started (B-05)."""
    probed = probe_all(machine)
    assert probed.devices == ()
    sources = ["pynvml", "nvidia_smi", "torch", "amdgpu", "amd_smi", "rocm_smi", "ggml"]
    assert [tried.source for tried in probed.tried] == sources
    assert all(tried.reason and not tried.found for tried in probed.tried)
    check_gpu_probe(lambda: NamedProbe("auto", machine))


def test_machine_without_a_gpu_is_known_as_one_in_less_than_50_ms(machine: Machine) -> None:
    """The best of twenty looks, so that what else runs here does not count: 1 ms."""
    taken = []
    for _ in range(20):
        begin = perf_counter()
        probe_all(machine)
        taken.append(perf_counter() - begin)
    assert min(taken) < 0.05


@shell
def test_first_source_that_finds_a_device_ends_its_vendors_turn(machine: Machine, tmp_path: Path) -> None:
    """nvidia-smi is asked where NVML is missing, rocm-smi where /sys and amd-smi say nothing; both vendors count."""
    program(tmp_path / "bin", "nvidia-smi", LINE)
    program(tmp_path / "bin", "rocm-smi", ROCM)
    probed = probe_all(machine)
    assert [(device.number, device.source, device.vendor) for device in probed.devices] == [
        (0, "nvidia_smi", "nvidia"),
        (1, "rocm_smi", "amd"),
    ]
    assert [tried.source for tried in probed.tried] == ["pynvml", "nvidia_smi", "amdgpu", "amd_smi", "rocm_smi"]
    drm(tmp_path)
    assert [device.source for device in probe_all(machine).devices] == ["nvidia_smi", "amdgpu"]


@shell
def test_graphics_of_a_processor_are_left_when_there_is_a_card(machine: Machine, tmp_path: Path) -> None:
    """A model is put on cards only, as by llama.cpp; without a card such graphics are the device."""
    drm(tmp_path, vram=GIB // 2, gtt=16 * GIB)
    (device,) = probe_all(machine).devices
    assert (device.unified, device.source) == (True, "amdgpu")
    program(tmp_path / "bin", "nvidia-smi", LINE)
    probed = probe_all(machine)
    assert [one.source for one in probed.devices] == ["nvidia_smi"]
    assert [tried.reason for tried in probed.tried if tried.source == "amdgpu"] != [""]


@shell
def test_hidden_devices_are_not_reached_by_another_way(machine: Machine, tmp_path: Path) -> None:
    """Who sets CUDA_VISIBLE_DEVICES to nothing wants no GPU used: no other source is asked for it."""
    assert machine.environ["PATH"]
    program(tmp_path / "bin", "nvidia-smi", LINE)
    files(tmp_path, {"dev/dri/renderD128": ""})
    probed = probe_all(bare(tmp_path, CUDA_VISIBLE_DEVICES=""))
    assert probed.devices == ()
    assert [tried.source for tried in probed.tried][:2] == ["pynvml", "nvidia_smi"]
    assert "ggml" not in [tried.source for tried in probed.tried]
    assert probed.tried[1] == ("nvidia_smi", 1, "CUDA_VISIBLE_DEVICES= leaves 0 of 1")
    assert NamedProbe("nvidia_smi", bare(tmp_path, CUDA_VISIBLE_DEVICES="0")).probe().devices != ()


@shell
def test_a_mac_has_one_source(tmp_path: Path) -> None:
    """On macOS nothing but the system is asked."""
    probed = probe_all(Machine({"PATH": str(tmp_path)}, tmp_path, "darwin", {}))
    assert [tried.source for tried in probed.tried] == ["apple"]


def test_a_source_that_fails_is_a_reason(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a source raises against its promise, the others are asked."""

    def failing(_: object, __: object) -> None:
        raise ZeroDivisionError("no\nsuch thing")

    monkeypatch.setitem(gpus.SOURCES, "nvidia_smi", failing)
    probed = probe_all(machine)
    assert probed.tried[1] == ("nvidia_smi", 0, "ZeroDivisionError: no such thing")
    assert len(probed.tried) == 7


@pytest.mark.parametrize("name", PROBE_NAMES)
def test_every_probe_is_made_by_its_name(name: str, machine: Machine) -> None:
    """What settings call x names itself x, finds nothing here, and never raises; on this machine, too."""
    probe = NamedProbe(name, machine)
    assert probe.name == name
    assert probe.probe().devices == ()
    check_gpu_probe(lambda: NamedProbe(name, machine))
    check_gpu_probe(lambda: NamedProbe(name))


AUTO = "from squidbot.wiring.gpus import probe_all\nfound = probe_all()"


def test_nvidia_ml_py_is_asked_first_when_the_library_is_there(nvml_folder: Path, tmp_path: Path) -> None:
    """The whole chain over a real library: its devices, the memory of the machine's own kind, the variable's choice."""
    environ = {"LD_LIBRARY_PATH": str(nvml_folder), "PATH": str(tmp_path), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    probed = probed_in_child(AUTO, environ)
    assert [(device.source, device.free_bytes) for device in probed.devices if device.vendor == "nvidia"] == [
        ("pynvml", (24576 - 7500) * MIB),
        ("pynvml", (12288 - 300) * MIB),
    ]
    chosen = probed_in_child(AUTO, {**environ, "CUDA_VISIBLE_DEVICES": "GPU-1111"})
    assert [(device.number, device.total_bytes) for device in chosen.devices] == [(0, 12288 * MIB)]


def test_next_source_is_asked_when_the_driver_is_not_loaded(nvml_folder: Path, tmp_path: Path) -> None:
    """A library whose driver is missing finds nothing; the program and PyTorch are asked, and the reasons stay."""
    program(tmp_path, "nvidia-smi", "No devices were found\n", 6)
    environ = {"LD_LIBRARY_PATH": str(nvml_folder), "PATH": str(tmp_path), "FAKE_NVML": "no-driver"}
    reasons = {tried.source: tried.reason for tried in probed_in_child(AUTO, environ).tried}
    assert reasons["pynvml"] == "the NVIDIA driver is not loaded"
    assert reasons["nvidia_smi"].startswith("No devices were found")


def test_probing_imports_and_starts_nothing_when_there_is_no_gpu(tmp_path: Path) -> None:
    """Without a GPU no package is imported and no process started: that is why it takes a millisecond."""
    code = f"""
import subprocess, sys
def refuse(*a, **k): raise AssertionError("a process was started")
subprocess.Popen = refuse
from pathlib import Path
from squidbot.adapters import gpus as nvml
from squidbot.wiring.gpus import Machine, probe_all
nvml.has_nvml = lambda: False
probe_all(Machine({{"PATH": {str(tmp_path)!r}}}, Path({str(tmp_path)!r}), "linux"))
print(sorted(name for name in ("pynvml", "torch", "xllamacpp", "numpy") if name in sys.modules))
"""
    assert child(code, {}) == "[]\n"


# -- the check ---------------------------------------------------------------------------------------------------------

GOOD = Device(0, "GPU-1", "Card", "nvidia", 100, 50, unified=False, source="made")


class Made:
    """A probe that says what it is told to; each look the next thing, the last one again and again."""

    name = "made"

    def __init__(self, *answers: ProbeResult | Exception) -> None:
        self._answers = list(answers)

    def probe(self) -> ProbeResult:
        """Say it."""
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def answer(*devices: Device, source: str = "made", found: int = 1, reason: str = "") -> ProbeResult:
    """Return what one source says."""
    return ProbeResult(devices, (ProbeAttempt(source, found, reason),))


@pytest.mark.parametrize(
    ("said", "promise"),
    [
        (ValueError("x"), "never raises"),
        (ProbeResult((), ()), "every source that was asked is named"),
        (answer(found=0), "says why"),
        (answer(found=0, reason="two\nlines"), "one printable line"),
        (answer(GOOD, source=""), "every source has a name"),
        (answer(GOOD, source="another"), "one of those that were asked"),
        (answer(GOOD, GOOD), "unique and in order"),
        (answer(GOOD._replace(number=1), GOOD), "unique and in order"),
        (answer(GOOD._replace(number=-1)), "begin at 0"),
        (answer(GOOD._replace(total_bytes=0)), "has memory"),
        (answer(GOOD._replace(total_bytes=1 << 60)), "has memory"),
        (answer(GOOD._replace(free_bytes=101)), "0 <= free <= total"),
        (answer(GOOD._replace(free_bytes=-1)), "0 <= free <= total"),
        (answer(GOOD._replace(utilisation_fraction=1.5)), "0 to 1"),
        (answer(GOOD._replace(utilisation_fraction=float("nan"))), "0 to 1"),
        (answer(GOOD._replace(name="")), "a name for people"),
        (answer(GOOD._replace(uuid="\x00")), "printable"),
        (answer(GOOD._replace(vendor="acme")), "a vendor is one of"),  # type: ignore[arg-type]  # that is the point
        (answer(GOOD._replace(pressure="high")), "a pressure is one of"),  # type: ignore[arg-type]  # that is the point
    ],
)
def test_check_names_the_promise_when_a_probe_breaks_it(said: ProbeResult | Exception, promise: str) -> None:
    """The check is worth something: each broken promise is found, and a probe that keeps all passes."""
    with pytest.raises(AssertionError, match=promise):
        check_gpu_probe(lambda: Made(said))
    check_gpu_probe(lambda: Made(answer(GOOD)))


def test_check_finds_out_when_two_looks_see_different_devices() -> None:
    """What is free may change between two looks, what there is may not."""
    looks = [answer(GOOD), answer(GOOD._replace(free_bytes=7)), answer(GOOD), answer(GOOD._replace(total_bytes=99))]
    check_gpu_probe(lambda: Made(looks.pop(0)))
    with pytest.raises(AssertionError, match="the same devices"):
        check_gpu_probe(lambda: Made(looks.pop(0)))
