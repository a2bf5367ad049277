"""llama.cpp's own dry run: a model's memory, measured in a child process, which llama.cpp may abort."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

from squidbot.adapters.common.llama_log import MIB_BYTES, mib_bytes
from squidbot.adapters.common.packages import missing
from squidbot.core.errors import ModelLoadError, SizingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from squidbot.core.sizing.header import Loading


# The log's format is that of 0.3.36 (commit 0c1e57098). "llama_kv_cache: size =    0.25 MiB (  1024 cells,   2 layers,
# 1/1 seqs), K (f16):    0.12 MiB, V (f16):    0.12 MiB"
_CACHE = re.compile(r": size = *([\d.]+) MiB \( *(\d+) cells, *(\d+) layers,[^)]{0,99}\), ([KR]) ")

# When llama.cpp dies it names the place; when it gives up, the lines after the reason only say so.
_DEATH = re.compile(r"GGML_ASSERT|GGML_ABORT|what\(\):")
_NO_REASON = re.compile(r"failed to (load model|decode)\b")


class CacheLine(NamedTuple):
    """One cache as created.

    Attributes:
        recurrent: whether it is state that does not grow with the window.
        cells: tokens of one sequence that fit; rows of recurrent state.
        layers: number of layers that use it.
        size_bytes: rounded as in the log: right to within 0.005 MiB.
    """

    recurrent: bool
    cells: int
    layers: int
    size_bytes: int


def read_caches(lines: Iterable[str]) -> tuple[CacheLine, ...]:
    """Return the caches in the log of one load, in their order."""
    found = filter(None, map(_CACHE.search, lines))
    return tuple(
        CacheLine(first == "R", int(cells), int(layers), mib_bytes(mib))
        for mib, cells, layers, first in (match.groups() for match in found)
    )


def last_words(lines: Sequence[str]) -> str:
    """Return the line that best explains a failure: where llama.cpp died, else the last reason, else ""."""
    texts = [line.strip() for line in lines if line.strip()]
    deaths = [text for text in texts if _DEATH.search(text)]
    reasons = [text for text in texts if not _NO_REASON.search(text)]
    return (deaths or reasons or texts or [""])[-1]


# A model of 400 billion parameters takes 2 s, and each further setting at most 0.1 s.
TIMEOUT_SECONDS = 60.0
# The log rounds each size to 0.01 MiB.
ROUNDING_BYTES = MIB_BYTES // 200 + 1
_MODULE = "squidbot.adapters.llama_cpp.dry_run"


class DryRunSetting(NamedTuple):
    """A model's memory with one setting.

    Attributes:
        loading: the setting.
        window_tokens: of one sequence (`n_ctx_seq`).
        caches: each cache: its cells are right, its bytes rounded.
        compute_bytes: by buffer type ("CUDA0"), exact if `exact`, else rounded.
        context_bytes: keys, values and recurrent state together, by buffer type, exact; `None` if not `exact`.
        weights_bytes: by buffer type, exact, padding included; `None` if not `exact`.
        failure: llama.cpp's last words if it creates no such context, and all else is empty; "" otherwise.
    """

    loading: Loading
    window_tokens: int
    caches: tuple[CacheLine, ...]
    compute_bytes: Mapping[str, int]
    context_bytes: Mapping[str, int] | None
    weights_bytes: Mapping[str, int] | None
    failure: str = ""

    @property
    def exact(self) -> bool:
        """Whether the sizes by buffer are exact, not read from the log, which rounds to 0.01 MiB."""
        return self.context_bytes is not None

    @property
    def kv_bytes(self) -> int:
        """Keys and values of all layers: exact if `exact` without recurrent state, else rounded."""
        return self._cache_bytes(recurrent=False)

    @property
    def recurrent_bytes(self) -> int:
        """Recurrent state of all layers: exact if `exact` without keys and values, else rounded."""
        return self._cache_bytes(recurrent=True)

    def _cache_bytes(self, *, recurrent: bool) -> int:
        if self.context_bytes is not None and all(cache.recurrent is recurrent for cache in self.caches):
            return sum(self.context_bytes.values())
        return sum(cache.size_bytes for cache in self.caches if cache.recurrent is recurrent)


class DryRun(NamedTuple):
    """llama.cpp's version, the bytes of all tensors (`llama_model_size`), and each setting in order."""

    version: str
    model_bytes: int
    settings: tuple[DryRunSetting, ...]


def verify(
    path: str | Path,
    loadings: Sequence[Loading],
    *,
    timeout_seconds: float = TIMEOUT_SECONDS,
    python: str = sys.executable,
) -> DryRun:
    """Return a model's memory with each setting, from llama.cpp's own plan, without allocating any.

    The settings share `n_gpu_layers` and `tensor_split`, which place the weights. llama.cpp aborts instead of raising
    some errors: that is the `failure` of its setting, and another child tries the others.

    Args:
        path: a model file, the first one of several.
        loadings: at least one.
        timeout_seconds: for one child.
        python: an interpreter that has llama-cpp-python and squidbot.

    Raises:
        ModelLoadError: llama.cpp can't load the file, or dies of it; the text has its last words.
        SizingError: llama-cpp-python is missing, the settings place the weights differently, or it took too long.
    """
    if not loadings:
        raise SizingError("a dry run takes at least one setting")
    if len({(loading.n_gpu_layers, loading.tensor_split) for loading in loadings}) != 1:
        raise SizingError("a dry run takes settings of one n_gpu_layers and one tensor_split: ask for each apart")
    known = DryRun("", 0, ())
    while len(known.settings) < len(loadings):
        left = loadings[len(known.settings) :]
        part = _child(os.fspath(path), left, timeout_seconds, python)
        known = DryRun(part.version, part.model_bytes, known.settings + part.settings)
    return known


def _child(path: str, loadings: Sequence[Loading], timeout_seconds: float, python: str) -> DryRun:
    """Return one child's results: at least one setting, the last one perhaps a failure."""
    request = json.dumps({"path": path, "loadings": [asdict(loading) for loading in loadings]})
    try:
        done = subprocess.run(  # noqa: S603  # this Python, and a module of ours
            [python, "-m", _MODULE],
            input=request.encode(),
            capture_output=True,
            timeout=timeout_seconds,
            check=False,
            # An abort would start a debugger for its backtrace, and wait for it.
            env={**os.environ, "GGML_NO_BACKTRACE": "1", "PYTHONIOENCODING": "utf-8"},
        )
    except subprocess.TimeoutExpired as error:
        raise SizingError(f"llama.cpp's dry run of {path} took longer than {timeout_seconds:g} s") from error
    except OSError as error:
        raise SizingError(f"cannot start llama.cpp's dry run: {error}") from error
    return _read(path, loadings, done)


def _read(path: str, loadings: Sequence[Loading], done: subprocess.CompletedProcess[bytes]) -> DryRun:
    last = last_words(done.stderr.decode("utf-8", "replace").splitlines()) or "nothing"
    answers = [json.loads(line) for line in done.stdout.decode().splitlines()]
    if not answers:
        if "ModuleNotFoundError" in last or "ImportError" in last:
            raise SizingError(f"a dry run needs llama-cpp-python: {last}; {missing('llama-cpp')}")
        raise ModelLoadError(f"llama.cpp cannot load {path}; its last message: {last}")
    model, *settings = answers
    found = [_setting(loading, answer) for loading, answer in zip(loadings, settings, strict=False)]
    if len(found) < len(loadings):
        failure = f"llama.cpp died of it (exit status {done.returncode}); its last message: {last}"
        found.append(_failed(loadings[len(found)], failure))
    return DryRun(model["version"], model["model_bytes"], tuple(found))


def _failed(loading: Loading, failure: str) -> DryRunSetting:
    return DryRunSetting(loading, 0, (), {}, None, None, failure)


def _setting(loading: Loading, answer: Mapping[str, Any]) -> DryRunSetting:
    if "failure" in answer:
        return _failed(loading, answer["failure"])
    caches = tuple(CacheLine(*cache) for cache in answer["caches"])
    window, sums = answer["window_tokens"], answer["sums"]
    if sums is None or not _agree(sum(context for _, _, context, _ in sums), caches):
        return DryRunSetting(loading, window, caches, answer["compute_bytes"], None, None)
    weights, context, compute = ({row[0]: row[place] for row in sums if row[place]} for place in (1, 2, 3))
    return DryRunSetting(loading, window, caches, compute, context, weights)


def _agree(exact_bytes: int, caches: Sequence[CacheLine]) -> bool:
    """Return whether exact sums match the log, except for rounding."""
    return abs(exact_bytes - sum(cache.size_bytes for cache in caches)) <= ROUNDING_BYTES * max(1, len(caches))
