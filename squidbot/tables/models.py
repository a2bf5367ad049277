"""`[models.<alias>]` and `[prices]`: what is known of models, and what their tokens cost."""

from __future__ import annotations

import attrs

from squidbot.checks import (
    Amount,
    Api,
    GpuLayers,
    KvType,
    Lifetime,
    Options,
    Place,
    Shares,
    Size,
    Tokens,
    Variable,
)

__all__ = ["Model", "Prices"]

ALL_LAYERS, NO_SHARES = GpuLayers(-1), Shares(())


@attrs.frozen
class Prices:
    """`[prices]`: what tokens cost, an uncached input token being 1, and how long a provider keeps a cached prefix.

    What is None is as in the entry of the price table that `entry` names. `prices = "NAME"` is short for that.
    """

    entry: str | None = None
    read: Amount | None = None
    write: Amount | None = None
    output: Amount | None = None
    ttl_seconds: Lifetime | None = None
    least_tokens: Size | None = None


@attrs.frozen
class Model:
    """`[models.<alias>]`: one model; the alias is what `Engine.session` is given."""

    context_window: Tokens | None = None
    max_tokens: Tokens | None = None
    native_context_limit: Tokens | None = None
    tokenizer: str | None = None
    parameters_billion: Amount | None = None
    adapter: str | None = None
    path: Place | None = None
    repo_id: str | None = None
    filename: Place | None = None
    projector: str | None = None
    model: str | None = None
    url: str | None = None
    api: Api | None = None
    key_env: Variable | None = None
    options: Options = attrs.Factory(lambda: Options({}))
    n_gpu_layers: GpuLayers = ALL_LAYERS
    n_batch: Tokens | None = None
    n_ubatch: Tokens | None = None
    kv_type: KvType | None = None
    kv_type_v: KvType | None = None
    flash_attn: bool = True
    tensor_split: Shares = NO_SHARES
    prices: Prices | None = None
