"""`[window]` and `[gpu]`: how large a window is, and the devices that a local model is put on."""

from __future__ import annotations

import attrs

from squidbot.checks import Amount, KvType, Share, Sizing, Tokens, Whole

__all__ = ["Gpu", "Window"]

# Where neither the model nor the user names a window (C10).
WINDOW_TOKENS = Tokens(32_768)
# Decisions, section 11; no model is trained for less than 2,048.
LEAST_WINDOW_TOKENS, MOST_WINDOW_TOKENS = Tokens(2_048), Tokens(131_072)
# 1 to 2 GB by B-06: for what runtimes take outside of the buffers that can be computed.
MARGIN_MIB = Whole(1_536)
# The cooldown of the memory events: more often nothing could be told (decisions, section 8).
WATCH_SECONDS = Amount(30)
SIZING, KV_TYPE = Sizing("max_safe"), KvType("f16")


@attrs.frozen
class Window:
    """`[window]`: the window of sessions whose model says nothing else, and how that of local models is sized."""

    default: Tokens = WINDOW_TOKENS
    safety_fraction: Share | None = None
    sizing: Sizing = SIZING
    min: Tokens = LEAST_WINDOW_TOKENS
    max: Tokens = MOST_WINDOW_TOKENS
    vram_margin_mib: Whole = MARGIN_MIB
    kv_type: KvType = KV_TYPE


@attrs.frozen
class Gpu:
    """`[gpu]`: how devices are looked for, and how often while a model is open."""

    probe: str = "auto"
    watch_seconds: Amount = WATCH_SECONDS
