"""The types in which llama.cpp can cache keys and values."""

from __future__ import annotations

from squidbot.core.errors import ConfigError
from squidbot.core.sizing.tensor_types import type_id

__all__ = ["CACHE_TYPES", "cache_type"]

# By the names of `Loading.type_k`, most exact first: the ids of their tensors' types.
CACHE_TYPES = {name: type_id(name) for name in ("f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")}


def cache_type(name: str, key: str = "type_k") -> int:
    """Return the id of the type that a cache of that name is made of.

    Raises:
        ConfigError: there is none. The text has `key`, and the names there are.
    """
    try:
        return CACHE_TYPES[name]
    except KeyError:
        raise ConfigError(f"{key} must be one of {', '.join(CACHE_TYPES)}, not {name!r:.40}") from None
