"""A machine's outside, made for a test: a real library of C, real programs on a PATH, files of a /sys and a /proc."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.gpus import Commands, Machine, Printed, look_at
from squidbot.core.devices import Device, ProbeAttempt, ProbeResult

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from squidbot.core.devices import MainMemory

ROOT = Path(__file__).resolve().parents[3]

# How long a program that comes to its end may take, on a machine that has much else to do.
PATIENCE_SECONDS = 60.0

# NVML as its header declares it, with figures chosen by the environment: FAKE_NVML names what is wrong.
# Two cards: 24,576 MiB, of which other programs have 7,000 and the driver 500; and 12,288 MiB, all free but 300.
NVML_C = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef struct { int card, instance; } dev;
typedef struct { uint64_t total, free, used; } memory1;
typedef struct { unsigned version; uint64_t total, reserved, free, used; } memory2;
typedef struct { unsigned gpu, memory; } rates;
static dev devices[2][4] = {{{0, -1}, {0, 0}, {0, 1}, {0, 2}}, {{1, -1}, {1, 0}, {1, 1}, {1, 2}}};
static const uint64_t MIB = 1048576;
static int is(const char *name) { const char *said = getenv("FAKE_NVML"); return said && !strcmp(said, name); }
static int starts = 0;
int nvmlInit_v2(void) {
  if (is("no-driver")) return 9;
  if (is("mismatch")) return 18;
  if (is("no-permission")) return 4;
  starts++;
  return 0;
}
int nvmlInitWithFlags(unsigned flags) { (void)flags; return nvmlInit_v2(); }
int nvmlShutdown(void) { starts--; return 0; }
int fakeStarts(void) { return starts; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = is("none") ? 0 : is("absurd") ? 4000000000u : 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, dev **out) {
  if (index > 1) return 2;
  if (index == 0 && is("lost")) return 15;
  *out = &devices[index][0];
  return 0;
}
int nvmlDeviceGetMigMode(dev *d, unsigned *now, unsigned *later) {
  if (is("no-mig")) return 3;
  *now = *later = is("mig") && d->card == 0;
  return 0;
}
int nvmlDeviceGetMaxMigDeviceCount(dev *d, unsigned *count) { *count = d->card == 0 ? 7 : 0; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(dev *d, unsigned index, dev **out) {
  if (index != 0 && index != 2) return 6;
  *out = &devices[d->card][index + 1];
  return 0;
}
static uint64_t size(dev *d) { return d->instance >= 0 ? 9856 : d->card == 0 ? 24576 : 12288; }
static uint64_t taken(dev *d) { return d->instance >= 0 ? 1000 + 100 * d->instance : d->card == 0 ? 7000 : 0; }
static uint64_t kept(dev *d) { return d->instance >= 0 ? 13 : d->card == 0 ? 500 : 300; }
static int memory_code(dev *d) {
  if (is("unified")) return 3;
  if (is("lost-late") && d->card == 1) return 15;
  return is("forbidden") ? 4 : 0;
}
#ifndef OLD
int nvmlDeviceGetMemoryInfo_v2(dev *d, memory2 *m) {
  if (is("no-v2")) return 13;
  if (m->version != (2u << 24 | sizeof(memory2))) return 25;
  m->total = size(d) * MIB; m->used = taken(d) * MIB; m->reserved = kept(d) * MIB;
  m->free = m->total - m->used - m->reserved;
  if (is("more-free")) m->free = m->total * 2;
  if (is("garbage")) memset(&m->total, 255, 32);
  return memory_code(d);
}
#endif
int nvmlDeviceGetMemoryInfo(dev *d, memory1 *m) {
  m->total = size(d) * MIB; m->used = (taken(d) + kept(d)) * MIB; m->free = m->total - m->used;
  return memory_code(d);
}
int nvmlDeviceGetName(dev *d, char *name, unsigned length) {
  snprintf(name, length, d->instance >= 0 ? "NVIDIA A100 MIG 1g.10gb" : is("alike") || d->card == 0
    ? "NVIDIA GeForce RTX 4090" : "NVIDIA GeForce RTX 3060");
  if (is("garbage")) memset(name, 0xff, length);
  return 0;
}
int nvmlDeviceGetUUID(dev *d, char *uuid, unsigned length) {
  snprintf(uuid, length, "%s-%d%d%d%d%d%d%d%d-0000", d->instance >= 0 ? "MIG" : "GPU", d->card, d->card, d->card,
    d->card, d->card, d->card, d->card, d->instance >= 0 ? d->instance : 9);
  return 0;
}
int nvmlDeviceGetUtilizationRates(dev *d, rates *r) {
  r->gpu = 37; r->memory = 5;
  return d->instance >= 0 ? 3 : 0;
}
"""


def compiled(folder: Path, *options: str) -> Path:
    """Compile the library into a folder, for LD_LIBRARY_PATH; skips the test where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("no C compiler for Linux here: NVIDIA's library can't be stood in for")
    source, library = folder / "nvml.c", folder / "libnvidia-ml.so.1"
    source.write_text(NVML_C, encoding="utf-8")
    flags = ["-Wall", "-Werror", "-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1", *options]
    done = subprocess.run([compiler, *flags, "-o", str(library), str(source)], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def child(code: str, environ: dict[str, str]) -> str:
    """Run Python code in a new process with this environment added, and return what it printed."""
    inherited = {name: value for name, value in os.environ.items() if not name.endswith("VISIBLE_DEVICES")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**inherited, "PYTHONPATH": str(ROOT), **environ},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def probed_in_child(code: str, environ: dict[str, str]) -> ProbeResult:
    """Return what an expression of `ProbeResult` is worth in a new process with this environment added."""
    return all_probed_in_child(f"{code}\nfound = [found]", environ)[0]


def all_probed_in_child(code: str, environ: dict[str, str]) -> list[ProbeResult]:
    """Return what a list of them is worth there."""
    text = child(f"{code}\nprint(repr(found))", environ)
    return eval(text, {"ProbeResult": ProbeResult, "Device": Device, "ProbeAttempt": ProbeAttempt})  # type: ignore[no-any-return]  # noqa: S307  # our own repr


def program(folder: Path, name: str, output: str | bytes, code: int = 0, before: str = "") -> Path:
    """Put a program on a PATH of one folder: a script that prints what was recorded, and ends with a code."""
    folder.mkdir(parents=True, exist_ok=True)
    recorded = folder / f"{name}.out"
    recorded.write_bytes(output.encode() if isinstance(output, str) else output)
    script = folder / name
    script.write_text(f"#!/bin/sh\n{before}\n/bin/cat '{recorded}'\nexit {code}\n", encoding="utf-8")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return script


def files(root: Path, texts: dict[str, str]) -> Path:
    """Write files below a root, by their paths."""
    for path, text in texts.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return root


class Says(Commands):
    """Commands without a program, for properties: whatever is run prints this. `on` runs those of one folder."""

    def __init__(self, text: str, code: int = 0) -> None:
        super().__init__({})
        self._printed_text = text
        self._code = code

    def run(self, program: str, *arguments: str) -> Printed:
        """Say it."""
        del program, arguments
        return Printed(self._printed_text, self._code)

    @staticmethod
    def on(*folders: Path) -> Commands:
        """Return commands that find the programs of these folders only."""
        return Commands({"PATH": os.pathsep.join(str(folder) for folder in folders)}, PATIENCE_SECONDS)


class OneSource:
    """One source of a machine made of these parts, without what variables of the environment leave out."""

    def __init__(
        self,
        name: str,
        commands: Commands | None = None,
        main: MainMemory | None = None,
        *,
        root: Path = Path("/nowhere"),
        platform: str = "linux",
        modules: Mapping[str, ModuleType] | None = None,
    ) -> None:
        self.name = name
        self._machine = Machine(None, root, platform, modules)
        self._machine.commands = commands or self._machine.commands
        self._machine.main_memory = lambda: main  # type: ignore[method-assign]  # a machine of the test's own

    def probe(self) -> ProbeResult:
        """Look."""
        return look_at(self.name, self._machine)
