"""What llama.cpp itself says that a model would take: asked in a child process, which may die of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

from squidbot.adapters.llama_cpp.lines import CacheLine, last_words
from squidbot.adapting.buffers import MIB_BYTES
from squidbot.core.errors import ModelLoadError, SizingError
from squidbot.extras import missing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from squidbot.core.sizing.context import Loading

__all__ = ["DryRun", "Measured", "verify"]

# A model of 400 billion parameters takes 2 s, and each further setting at most 0.1 s.
TIMEOUT_SECONDS = 60.0
# The log rounds each size to 0.01 MiB.
ROUNDING_BYTES = MIB_BYTES // 200 + 1
_MODULE = "squidbot.adapters.llama_cpp.dry_run"


class Measured(NamedTuple):
    """What one setting would take.

    Attributes:
        loading: the setting.
        window_tokens: of one sequence (`n_ctx_seq`).
        caches: each cache: its cells are right, its bytes rounded.
        compute_bytes: by buffer type ("CUDA0"), exact where `exact`, else rounded.
        context_bytes: keys, values and recurrent state together, by buffer type, exact; None where not `exact`.
        weights_bytes: by buffer type, exact, padding included; None where not `exact`.
        failure: why llama.cpp makes no such context, in its own last words; "" where it does. Then all else is empty.
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
        """Keys and values of all layers: exact if `exact` and there is no recurrent state beside them, else rounded."""
        return self._cache_bytes(recurrent=False)

    @property
    def recurrent_bytes(self) -> int:
        """Recurrent state of all layers: exact if `exact` and there are no keys and values, else rounded."""
        return self._cache_bytes(recurrent=True)

    def _cache_bytes(self, *, recurrent: bool) -> int:
        if self.context_bytes is not None and all(cache.recurrent is recurrent for cache in self.caches):
            return sum(self.context_bytes.values())
        return sum(cache.size_bytes for cache in self.caches if cache.recurrent is recurrent)


class DryRun(NamedTuple):
    """What llama.cpp said: its version, the bytes of all tensors (`llama_model_size`), and each setting, in order."""

    version: str
    model_bytes: int
    settings: tuple[Measured, ...]


def verify(
    path: str | Path,
    loadings: Sequence[Loading],
    *,
    timeout_seconds: float = TIMEOUT_SECONDS,
    python: str = sys.executable,
) -> DryRun:
    """Return what llama.cpp says that a model takes with each of some settings, without allocating any of it.

    The settings share `n_gpu_layers` and `tensor_split`, which decide on the weights. llama.cpp aborts where others
    raise an error: that is the `failure` of its setting, and the others are asked in another child.

    Args:
        path: a model file, the first one of several.
        loadings: at least one.
        timeout_seconds: for one child.
        python: an interpreter that has llama-cpp-python and squidbot.

    Raises:
        ModelLoadError: llama.cpp can't load the file, or dies of it; the text has what it said last.
        SizingError: llama-cpp-python is not there, the settings place the weights differently, or it took too long.
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
    """Return what one child said: at least one setting, the last one perhaps a failure."""
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
        raise SizingError(f"llama.cpp's dry run can't be started: {error}") from error
    return _read(path, loadings, done)


def _read(path: str, loadings: Sequence[Loading], done: subprocess.CompletedProcess[bytes]) -> DryRun:
    last = last_words(done.stderr.decode("utf-8", "replace").splitlines()) or "nothing"
    answers = [json.loads(line) for line in done.stdout.decode().splitlines()]
    if not answers:
        if "ModuleNotFoundError" in last or "ImportError" in last:
            raise SizingError(f"a dry run needs llama-cpp-python: {last}; {missing('llama-cpp')}")
        raise ModelLoadError(f"llama.cpp can't load {path}; the last it said: {last}")
    model, *settings = answers
    found = [_measured(loading, answer) for loading, answer in zip(loadings, settings, strict=False)]
    if len(found) < len(loadings):
        failure = f"llama.cpp died of it (exit status {done.returncode}); the last it said: {last}"
        found.append(_failed(loadings[len(found)], failure))
    return DryRun(model["version"], model["model_bytes"], tuple(found))


def _failed(loading: Loading, failure: str) -> Measured:
    return Measured(loading, 0, (), {}, None, None, failure)


def _measured(loading: Loading, said: Mapping[str, Any]) -> Measured:
    if "failure" in said:
        return _failed(loading, said["failure"])
    caches = tuple(CacheLine(*cache) for cache in said["caches"])
    window, rounded = said["window_tokens"], said["compute_bytes"]
    sums = said["sums"]
    if sums is None or not _agree(sum(context for _, _, context, _ in sums), caches):
        return Measured(loading, window, caches, rounded, None, None)
    return Measured(
        loading,
        window,
        caches,
        {name: compute for name, _, _, compute in sums if compute},
        {name: context for name, _, context, _ in sums if context},
        {name: weights for name, weights, _, _ in sums if weights},
    )


def _agree(exact_bytes: int, caches: Sequence[CacheLine]) -> bool:
    """Whether what was read from the map is what the log says, but for rounding."""
    return abs(exact_bytes - sum(cache.size_bytes for cache in caches)) <= ROUNDING_BYTES * max(1, len(caches))
