"""The devices of a PyTorch that is imported already, and those that llama.cpp lists in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters import gpus
from squidbot.adapters.gpus import PROGRAM
from squidbot.testing import check_gpu_probe

from .fakes import OneSource, Says, files

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.core.devices import ProbeResult

GIB = 1 << 30


# -- PyTorch -----------------------------------------------------------------------------------------------------------


def torch(memories: list[tuple[int, int] | Exception], hip: str | None = None) -> dict[str, ModuleType]:
    """Return modules with a PyTorch that has these devices: (free, total) in bytes, or what asking raises."""

    def mem_get_info(number: int) -> tuple[int, int]:
        memory = memories[number]
        if isinstance(memory, Exception):
            raise memory
        return memory

    made = ModuleType("torch")
    made.version = SimpleNamespace(hip=hip)  # type: ignore[attr-defined]  # made for the test
    made.cuda = SimpleNamespace(  # type: ignore[attr-defined]  # made for the test
        is_available=lambda: bool(memories),
        device_count=lambda: len(memories),
        mem_get_info=mem_get_info,
        get_device_properties=lambda number: SimpleNamespace(name=f"Card {number}", uuid=f"{number}a"),
    )
    return {"torch": made}


def test_torch_gives_its_devices_when_it_is_imported_already() -> None:
    """Free and total as PyTorch says them, a device that fails left out with its error; AMD's by HIP."""
    probed = OneSource(
        "torch", modules=torch([(5 * GIB, 24 * GIB), RuntimeError("CUDA error: out of memory"), (1, 8 * GIB)])
    ).probe()
    assert [
        (device.number, device.uuid, device.name, device.vendor, device.total_bytes, device.free_bytes)
        for device in probed.devices
    ] == [
        (0, "GPU-0a", "Card 0", "nvidia", 24 * GIB, 5 * GIB),
        (2, "GPU-2a", "Card 2", "nvidia", 8 * GIB, 1),
    ]
    assert probed.tried == (("torch", 2, "device 1: CUDA error: out of memory"),)
    assert OneSource("torch", modules=torch([(5 * GIB, 24 * GIB)], hip="6.2")).probe().devices[0].vendor == "amd"


def test_torch_is_never_imported_when_it_is_not() -> None:
    """Without one the answer is a reason, and afterwards there is still none (B-05)."""
    assert "not imported" in OneSource("torch", modules={}).probe().tried[0].reason
    assert OneSource("torch", modules=torch([])).probe().tried == (("torch", 0, "PyTorch sees no GPU"),)
    assert "AttributeError" in OneSource("torch", modules={"torch": ModuleType("torch")}).probe().tried[0].reason
    code = "import sys; from squidbot.wiring.gpus import probe_all; probe_all(); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


# -- ggml --------------------------------------------------------------------------------------------------------------


def row(name: str, description: str, kind: int, total: int = 16 * GIB, free: int = 15 * GIB) -> dict[str, object]:
    """Return a device as the program in the child prints it."""
    return {"name": name, "description": description, "memory_total": total, "memory_free": free, "type": kind}


def looked(root: Path, text: str) -> ProbeResult:
    """Look at a machine that has a sign of a GPU, and an xllamacpp that prints this."""
    return OneSource("ggml", Says(text), root=files(root, {"dev/dri/renderD128": ""})).probe()


def test_ggml_lists_devices_and_not_processors_when_llama_cpp_sees_them(tmp_path: Path) -> None:
    """GPUs by their vendors, those that share memory marked, lines of a log around it left out, free at most all."""
    rows = [
        row("CPU", "AMD EPYC", 0),
        row("Vulkan0", "Intel(R) Arc(tm) A770 Graphics (DG2)", 1, 16 * GIB, 99 * GIB),
        row("ROCm0", "", 1),
        row("Vulkan1", "AMD Radeon 780M Graphics (RADV PHOENIX)", 2),
        row("CUDA0", "NVIDIA GeForce RTX 3060", 1),
        row("SYCL0", "Some Accelerator", 1),
        row("BLAS", "OpenBLAS", 3),
    ]
    text = "ggml_vulkan: Found 2 [devices] {:}\n" + json.dumps({"devices": rows}) + "\nbye\n"
    probed = looked(tmp_path, text)
    assert [(device.number, device.name, device.vendor, device.unified) for device in probed.devices] == [
        (0, "Intel(R) Arc(tm) A770 Graphics (DG2)", "intel", False),
        (1, "ROCm0", "amd", False),
        (2, "AMD Radeon 780M Graphics (RADV PHOENIX)", "amd", True),
        (3, "NVIDIA GeForce RTX 3060", "nvidia", False),
        (4, "Some Accelerator", "other", False),
    ]
    assert probed.devices[0].free_bytes == probed.devices[0].total_bytes


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"devices": []}', "this llama.cpp sees no GPU"),
        (json.dumps({"devices": [row("CPU", "AMD EPYC", 0)]}), "this llama.cpp sees no GPU"),
        ("ImportError: libcuda.so.1: cannot open shared object file\n", "xllamacpp gave no list: ImportError: libcuda"),
        ("", "xllamacpp gave no list: it printed nothing"),
    ],
)
def test_ggml_says_why_when_nothing_is_found(tmp_path: Path, text: str, reason: str) -> None:
    """A library that does not load, a build without GPUs: reasons."""
    probed = looked(tmp_path, text)
    assert probed.devices == ()
    assert reason in probed.tried[0].reason


def test_ggml_starts_nothing_when_there_is_no_sign_of_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On Linux a device is a file in /dev; elsewhere, and with one, xllamacpp has to be there."""
    asked: list[str] = []
    monkeypatch.setattr(gpus, "has_xllamacpp", lambda: asked.append("xllamacpp"))
    assert "no GPU in /dev" in OneSource("ggml", Says(""), root=tmp_path, platform="linux").probe().tried[0].reason
    assert asked == []
    assert "not installed" in OneSource("ggml", Says(""), root=tmp_path, platform="win32").probe().tried[0].reason
    assert asked == ["xllamacpp"]


@pytest.mark.skipif(find_spec("xllamacpp") is None, reason="xllamacpp is not installed")
def test_ggml_reads_what_the_real_xllamacpp_lists() -> None:
    """The program of the child prints an object whose rows have what is read of them, the processor's at least."""
    done = subprocess.run([sys.executable, "-P", "-c", PROGRAM], capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)["devices"]
    assert 0 in [row["type"] for row in rows]
    assert all(row["memory_total"] > 0 and row["name"] for row in rows)
    probed = OneSource("ggml", platform="win32").probe()
    assert len(probed.devices) == len([row for row in rows if row["type"] in (1, 2)])
    assert probed.devices or probed.tried == (("ggml", 0, "this llama.cpp sees no GPU"),)


@given(text=st.text(), code=st.integers(0, 255))
def test_ggml_never_raises_whatever_is_printed(text: str, code: int) -> None:
    """Any output is devices that hold what is promised, or a reason."""
    check_gpu_probe(lambda: OneSource("ggml", Says(text, code), platform="win32"))
    rows = json.dumps({"devices": [{"type": 1, "memory_total": text, "memory_free": code, "name": text}, text]})
    check_gpu_probe(lambda: OneSource("ggml", Says(rows), platform="win32"))
