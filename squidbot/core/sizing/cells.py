"""What llama.cpp makes of the batch and the window that it is given, and how many tokens a layer's cache holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.errors import ConfigError
from squidbot.core.sizing.families import NO_FLASH

if TYPE_CHECKING:
    from squidbot.core.sizing.context import Loading
    from squidbot.core.sizing.header import Header
    from squidbot.core.sizing.layers import Layer

__all__ = ["CELLS_STEP", "Context", "cells", "context_of", "pad", "uses_flash"]

# Cells are made in these steps, for speed (llama.cpp 0c1e57098).
CELLS_STEP = 256


class Context(NamedTuple):
    """A context as llama.cpp sets it up, in tokens, by its own names.

    Attributes:
        n_ctx: of all sequences together.
        n_batch, n_ubatch: of a logical and of a physical batch.
        n_seq: the window of one sequence: what is leased.
        streams: how many caches there are side by side.
        n_tokens: of the largest batch that is computed at once (u).
        n_outputs: for how many of them logits are made (o).
    """

    n_ctx: int
    n_batch: int
    n_ubatch: int
    n_seq: int
    streams: int
    n_tokens: int
    n_outputs: int


def pad(number: int, step: int) -> int:
    """Return the smallest multiple of `step` that is at least `number`."""
    return -(-number // step) * step


def context_of(loading: Loading, header: Header) -> Context:
    """Return the context that a model is given.

    Source: llama_context's constructor and its reservation of graphs, llama.cpp 0c1e57098.

    Raises:
        ConfigError: no window, batch or sequence is left.
        ModelFileError: the window that it was trained with is asked for, and missing in the file.
    """
    sequences = loading.n_seq_max
    asked = loading.n_ctx or header.number("context_length")
    n_batch = min(asked, loading.n_batch)
    n_ubatch = min(n_batch, loading.n_ubatch or loading.n_batch)
    if min(asked, n_batch, n_ubatch, sequences) < 1:
        raise ConfigError("n_ctx, n_batch, n_ubatch and n_seq_max must be 1 or more")
    n_ctx = n_seq = pad(asked, CELLS_STEP)
    if not loading.kv_unified:
        n_seq = pad(n_ctx // sequences, CELLS_STEP)
        n_ctx = n_seq * sequences
    n_tokens = pad(min(n_ctx, n_ubatch), sequences)
    n_outputs = min(n_tokens, n_batch if loading.n_outputs_max is None else loading.n_outputs_max or n_batch)
    return Context(n_ctx, n_batch, n_ubatch, n_seq, 1 if loading.kv_unified else sequences, n_tokens, n_outputs)


def cells(layer: Layer, context: Context, loading: Loading) -> int:
    """Return for how many tokens of each stream a layer's attention cache has room; of sliding layers not for all."""
    if not layer.window or loading.swa_full:
        return context.n_seq
    shared = loading.n_seq_max if loading.kv_unified else 1
    return pad(min(context.n_seq, layer.window * shared + context.n_ubatch), CELLS_STEP)


def uses_flash(header: Header, loading: Loading) -> bool:
    """Return whether flash attention is on: as asked, but not for an architecture that has none.

    Raises:
        ModelFileError: the file names no architecture.
    """
    return loading.flash_attn and header.architecture not in NO_FLASH
