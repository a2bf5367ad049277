"""What a text costs: the built-in token counters (D5, C3).

Policy caps and reports use `words`, `chars4` and `chars3`; requests are enforced with `classes` (the default),
`bytes`, or an adapter that holds the model's own tokenizer. Every counter takes any str and never raises.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, cast

from squidbot.core.counting.classes import ClassCounter, utf8_bytes
from squidbot.core.errors import ConfigError
from squidbot.core.messages import Cost

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.core.ports import Certificate, TokenCounter

__all__ = ["builtin_counter", "measure"]


class _Measuring(Protocol):
    """A counter that has count and bound from one pass over the text."""

    def measure(self, text: str) -> Cost:
        """Return both numbers, in tokens."""


@lru_cache
def _measures(kind: type) -> bool:
    # Asked for every message that is recorded: a protocol checked at run time would cost as much as the count itself.
    return callable(getattr(kind, "measure", None))


def measure(counter: TokenCounter, text: str) -> Cost:
    """Return estimate and bound of a text in tokens, in one pass where the counter can do that."""
    if _measures(type(counter)):
        return cast("_Measuring", counter).measure(text)
    return Cost(counter.count(text), counter.upper_bound(text))


def _count_words(text: str) -> int:
    return len(text.split())


def _count_chars4(text: str) -> int:
    return len(text) // 4


def _count_chars3(text: str) -> int:
    return max(1, len(text) // 3)


def _count_classes(text: str) -> int:
    return ClassCounter().count(text)


@dataclass(frozen=True, slots=True)
class _NamedCounter:
    """A count by a named rule; the bound is the length in UTF-8 bytes, or the count where that is more."""

    name: str
    certificate: Certificate
    rule: Callable[[str], int]

    def count(self, text: str) -> int:
        """Return what the rule says, in its own unit: words, characters per token, or tokens."""
        return self.rule(text)

    def upper_bound(self, text: str) -> int:
        """Return the UTF-8 bytes of the text: no byte-level tokenizer makes more tokens than bytes."""
        return max(utf8_bytes(text), self.rule(text))


_BUILTIN: dict[str, TokenCounter] = {
    "words": _NamedCounter("words", "none", _count_words),
    "chars4": _NamedCounter("chars4", "none", _count_chars4),
    "chars3": _NamedCounter("chars3", "none", _count_chars3),
    "bytes": _NamedCounter("bytes", "proved", _count_classes),
    "classes": ClassCounter(),
}


def builtin_counter(name: str) -> TokenCounter:
    """Return the counter of that name: "words", "chars4", "chars3", "bytes" or "classes" (C3).

    `words` and `chars4` of an empty text are 0, `chars3` is 1. `bytes` estimates as `classes` does; only its bound
    is proved, for byte-level BPE and byte fallback, after whatever normalisation the tokenizer does itself.

    Raises:
        ConfigError: there is no such counter; the text lists those there are.
    """
    try:
        return _BUILTIN[name]
    except KeyError:
        raise ConfigError(f"unknown token counter {name!r}; known: {', '.join(sorted(_BUILTIN))}") from None
