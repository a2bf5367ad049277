"""A model opened: with a smaller window each time it does not load, and what was predicted beside what it set up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.budget.resolution import descending
from squidbot.core.errors import ModelLoadError

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.core.ports import LoadedModel
    from squidbot.core.sizing.context import Definition, Served
    from squidbot.core.sizing.memory import Sizing

__all__ = ["Opened", "differences", "open_model"]

MIB = 2**20
# Runtimes tell the sizes of buffers in MiB with two digits behind the point: so much may be rounded away from each.
ROUNDED_BYTES = MIB // 100


class Opened(NamedTuple):
    """A model that is open, how it was asked for in the end, and in a sentence each what failed before."""

    model: LoadedModel
    definition: Definition
    failed: tuple[str, ...]


def open_model(opens: Callable[[Definition], LoadedModel], definition: Definition, min_tokens: int) -> Opened:
    """Return a model opened by `opens`; while it does not load, its window falls, down to `min_tokens` (C8).

    Raises:
        ModelLoadError: it did not load with any window; the text has each one that was tried.
        SquidbotError: what `opens` raises for any other reason: a smaller window would not mend it.
    """
    failed: list[str] = []
    tried: dict[str, list[str]] = {}
    asked = definition.loading.n_ctx
    for n_ctx in (asked, *descending(asked, min_tokens)):
        smaller = definition._replace(loading=replace(definition.loading, n_ctx=n_ctx))
        try:
            return Opened(opens(smaller), smaller, tuple(failed))
        except ModelLoadError as error:
            failed.append(f"{n_ctx:,} tokens: {error}")
            tried.setdefault(str(error), []).append(f"{n_ctx:,}")
            last = error
    said = "; ".join(f"with {', '.join(sizes)} tokens: {reason}" for reason, sizes in tried.items())
    raise ModelLoadError(f"{definition.alias!r} does not load with any window: {said}") from last


def differences(predicted: Sizing | None, served: Served) -> tuple[str, ...]:
    """Return in a sentence each where a runtime has set up something else than was predicted from the file's header.

    The cache must be equal, compute buffers must not be larger, and on GPUs weights must be equal: those in main memory
    are mapped from the file, with what lies between them. What the runtime does not tell is not compared.
    """
    if predicted is None:
        return ()
    exact = {"KV cache": (predicted.kv_bytes, served.kv_bytes)}
    exact["recurrent state"] = (predicted.recurrent_bytes, served.recurrent_bytes)
    exact["weights on GPUs"] = (
        sum(held.weights_bytes for held in predicted.devices if held.number >= 0),
        _gpus(served),
    )
    found = [
        f"{what}: {_mib(expected)} predicted, {_mib(sum(told.values()))} set up"
        for what, (expected, told) in exact.items()
        if told is not None and abs(sum(told.values()) - expected) > ROUNDED_BYTES * max(1, len(told))
    ]
    takes = sum((served.compute_bytes or {}).values())
    if takes > predicted.compute_bytes and predicted.compute_kind != "unknown":
        found.append(f"compute buffers: at most {_mib(predicted.compute_bytes)} predicted, {_mib(takes)} set up")
    return tuple(found)


def _gpus(served: Served) -> dict[str, int] | None:
    """Return the weights that a runtime has put on GPUs; None where it tells of none."""
    return {name: size for name, size in (served.weights_bytes or {}).items() if not name.startswith("CPU")} or None


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / MIB:,.1f} MiB"
