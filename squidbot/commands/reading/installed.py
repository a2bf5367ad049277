"""Which packages of adapters are installed, what would install the others, at which cost; who else has our name."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distributions, version
from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.common.packages import DISTRIBUTION, Extra, command

if TYPE_CHECKING:
    from importlib.metadata import Distribution

    from squidbot.core.devices import Probed, Vendor

__all__ = ["PACKAGES", "Package", "command_for", "installed", "strangers"]

# How llama.cpp is built for a vendor's devices. pip takes a wheel that it has built before, whatever CMAKE_ARGS say:
# one without CUDA stays one, unless both are forbidden.
BUILT: dict[Vendor, str] = {"nvidia": "-DGGML_CUDA=on", "amd": "-DGGML_HIP=on", "other": "-DGGML_VULKAN=on"}
# A line of what a distribution brings that is ours: a name alone, or a file with its digest.
OURS = re.compile(r"^(?:\.\./)*squidbot(?:$|/|\.py(?:$|,))", re.MULTILINE)
COMPILED = 'CMAKE_ARGS="{}" pip install --no-cache-dir --force-reinstall llama-cpp-python'


class Package(NamedTuple):
    """A package that an adapter needs.

    Attributes:
        extra: the extra that brings it.
        distribution: the package's name for pip.
        purpose: what it is for.
        cost: what installing it takes.
    """

    extra: Extra
    distribution: str
    purpose: str
    cost: str

    @property
    def adapter(self) -> str:
        """The adapter's name in the settings."""
        return self.extra.replace("-", "_")


PACKAGES = (
    Package("xllamacpp", "xllamacpp", "opens model files", "a wheel, 10 to 35 MB"),
    Package("llama-cpp", "llama-cpp-python", "opens model files", "a C++ compiler, CMake, 5 to 30 minutes"),
    Package("tiktoken", "tiktoken", "counts tokens exactly", "a wheel, 1 MB"),
    Package("faiss", "faiss-cpu", "finds the nearest vectors", "wheels, 65 MB on disk"),
    Package("lancedb", "lancedb", "finds the nearest vectors, on disk", "wheels, 345 MB on disk"),
    Package(
        "onnxruntime",
        "onnxruntime",
        "makes vectors by MiniLM and other exported models",
        "wheels, 30 MB, and the model",
    ),
    Package("anthropic", "anthropic", "asks Claude", "wheels, 27 MB on disk"),
    Package("openai", "openai", "asks models, and for vectors, by OpenAI's API", "wheels, 25 MB on disk"),
    Package("apscheduler", "APScheduler", "times summaries", "a wheel, 60 kB"),
)


def installed(package: Package) -> str | None:
    """Return the version of a package that is installed, or None. Nothing is imported."""
    try:
        return version(package.distribution)
    except PackageNotFoundError:
        return None


def strangers() -> list[str]:
    """Return the distributions that bring files of our import name and are not ours, by name and version, in order."""
    brought = {one.metadata["Name"]: one.version for one in distributions() if _brings_ours(one)}
    return [f"{name} {brought[name]}" for name in sorted(brought) if name.lower().replace("_", "-") != DISTRIBUTION]


def _brings_ours(one: Distribution) -> bool:
    """Return whether it has files of our import name, by its lists as text: as paths they take most of a second."""
    lists = [one.read_text(name) or "" for name in ("top_level.txt", "RECORD", "installed-files.txt")]
    return any(OURS.search(each) for each in lists)


def command_for(package: Package, probed: Probed) -> str:
    """Return what installs a package on a machine with these devices, and where it is run if not anywhere."""
    built = next((BUILT[device.vendor] for device in probed.devices if device.vendor in BUILT), None)
    return COMPILED.format(built) if built and package.extra == "llama-cpp" else command(package.extra)
