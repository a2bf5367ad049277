"""What the environment says: names that other systems have for keys, on demand; secrets, which stand nowhere else."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from squidbot.adapters.common.providers import USUAL_KEYS
from squidbot.checks import structured
from squidbot.core.budget import read_tokens
from squidbot.core.errors import ConfigError
from squidbot.core.redaction import NAMES
from squidbot.tables import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ALIASES", "check_secrets", "with_aliases"]

# What a switch says; anything else is the name of a file.
_SWITCH: Final = {
    **dict.fromkeys(("1", "true", "yes", "on"), "debug_turn.txt"),
    **dict.fromkeys(("0", "false", "no", "off"), ""),
}


def _log_name(text: str) -> str:
    """Return the file of the log of turns: document 000 has a switch, ours may name the file, too (B-50)."""
    return _SWITCH.get(text.strip().lower(), text.strip())


def _tokens(text: str) -> int:
    """Return a number of tokens, which may be written as in a file: 32768, 32k."""
    try:
        return int(text)
    except ValueError:
        return read_tokens(text.strip(), "tokens")


# Each name that a source system reads from its environment, with our key and the type of its value (behaviours.md,
# B-02, B-03, P-06, B-15, B-41, B-50).
ALIASES: Final[Mapping[str, tuple[tuple[str, str], Callable[[str], int | float | str]]]] = {
    "LLAMA_CPP_N_CTX": (("window", "default"), _tokens),
    "MAX_TOKENS": (("budget", "reserved_output_tokens"), _tokens),
    "PENGUIN_CONTEXT_SAFETY_FRACTION": (("window", "safety_fraction"), float),
    "SUMMARIZATION_SESSION_GAP_SECONDS": (("summary", "gap_seconds"), float),
    "SUMMARIZATION_MIN_MESSAGES": (("summary", "min_messages"), int),
    "MEMORY_PROTECTED_RECENT_TURNS": (("history", "floor_turns"), int),
    "LLM_BAWT_DEBUG_TURN_LOG": (("debug", "turn_log"), _log_name),
}
_SECRET: Final = re.compile(rf"(?i)(?:.*[_-])?(?:{'|'.join(NAMES)})")
# An issuer's key by its shape, and a password in a URL.
_SHAPE: Final = re.compile(r"\bsk-[\w-]{16,}|://[^\s/:@]+:[^\s/@]+@")


def with_aliases(
    raw: Mapping[str, object], environ: Mapping[str, str] | None = None
) -> tuple[dict[str, object], dict[tuple[str, ...], str]]:
    """Return settings with what the environment says where `compat.env` is true, and "env NAME" by the key it set.

    What the settings say themselves goes before.

    Raises:
        ConfigError: a variable holds what its key does not take.
    """
    compat = raw.get("compat")
    if not (isinstance(compat, Mapping) and compat.get("env") is True):
        return dict(raw), {}
    environ, settings = os.environ if environ is None else environ, dict(raw)
    named: dict[tuple[str, ...], str] = {}
    for name, ((table, key), kind) in ALIASES.items():
        own = settings.get(table, {})
        if name in environ and isinstance(own, Mapping) and key not in own:
            value = _value(name, environ[name], kind)
            structured({table: {key: value}}, Settings, f"env {name}")
            settings[table] = {**own, key: value}
            named[table, key] = f"env {name}"
    return settings, named


def _value(name: str, text: str, kind: Callable[[str], int | float | str]) -> int | float | str:
    try:
        return kind(text)
    except (ValueError, ConfigError):
        raise ConfigError(f"invalid value {text!a:.40}, expected {kind.__name__.strip('_')} @ env {name}") from None


def check_secrets(raw: Mapping[str, object], source: str) -> None:
    """Check that no key and no value is a secret: files are copied, committed and shown.

    Raises:
        ConfigError: a line for each one that is, with its path and what to do; the secret itself is not repeated.
    """
    wrong = list(_secrets(raw, source, ""))
    if wrong:
        raise ConfigError("\n".join(wrong))


def _secrets(raw: Mapping[str, object], place: str, adapter: str) -> Iterator[str]:
    said = raw.get("adapter", adapter)
    adapter = said if isinstance(said, str) else adapter
    for key, value in raw.items():
        path = f"{place}.{key}"
        if isinstance(value, Mapping):
            yield from _secrets(value, path, adapter)
        elif _SECRET.fullmatch(str(key)):
            yield f"{key} is a secret: remove it, and set {_variable(adapter)} in the environment instead @ {path}"
        elif isinstance(value, str) and _SHAPE.search(value):
            yield f"the value holds a secret: remove it, and set {_variable(adapter)} in the environment @ {path}"


def _variable(adapter: str) -> str:
    return USUAL_KEYS.get(adapter, " or ".join(USUAL_KEYS.values()))
