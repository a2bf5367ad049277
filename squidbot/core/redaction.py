"""Secrets taken out of texts that are made from what was said: memories, and whatever else is derived (C29)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["NAMES", "Redactor"]

# J-03 names the first two; the others are what keys of settings and headers of requests call a secret.
NAMES: Final = (
    "api_key", "secret", "password", "passwd", "passphrase", "token", "access_key", "private_key", "authorization",
    "credential", "client_secret", "pin_code", "cvv",
)  # fmt: skip
# Secrets that are known by their shape, as their issuers describe it: OpenAI and Anthropic, GitHub, GitLab, AWS, Slack,
# Google, Stripe, npm, Hugging Face; JSON web tokens (RFC 7519), PEM blocks (RFC 7468), user and password in a URL
# (RFC 3986), bearer tokens (RFC 6750).
_SHAPES: Final = (
    r"\bsk-[A-Za-z0-9_\-]{16,}",
    r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w\-]{16,}",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bxox[abeoprs]-[A-Za-z0-9\-]{10,}",
    r"\bAIza[0-9A-Za-z_\-]{30,}",
    r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{12,}|\bnpm_[A-Za-z0-9]{24,}|\bhf_[A-Za-z0-9]{24,}",
    r"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{4,}(?:\.[A-Za-z0-9_\-]*)?",
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)",
    r"(?<=://)[^\s/:@]{1,200}:[^\s/@]{1,200}(?=@)",
    r"(?i:\bbearer\s+)[A-Za-z0-9._~+/\-]{12,}=*",
)
# A run of letters and digits in which both cases and digits stand is a key, where it is as long as one.
_RUN: Final = r"[A-Za-z0-9+_\-]"
_LONG: Final = rf"(?<![\w/.\-])(?={_RUN}*[0-9])(?={_RUN}*[a-z])(?={_RUN}*[A-Z]){_RUN}{{32,}}={{0,2}}"
# Card numbers, with spaces or dashes between their groups (ISO/IEC 7812): as long as one, and with its check digit.
_CARD: Final = re.compile(r"(?<![\d.\-])\d(?:[ \-]?\d){12,18}(?![\d\-])")
_LONGEST_PATTERN = 1_000


@dataclass(frozen=True)
class Redactor:
    """Takes secrets out of texts.

    Attributes:
        names: what stands before a secret, as in `api_key: ...` or "my password is ..."; `_` is any joint, or none.
        patterns: regular expressions of what is a secret by itself, beside those that are known.
        mark: what stands in its place.
    """

    names: Sequence[str] = NAMES
    patterns: Sequence[str] = ()
    mark: str = "[redacted]"

    def __post_init__(self) -> None:
        """Read the patterns.

        Raises:
            ConfigError: a pattern is no regular expression, takes nothing at all for a secret, or is too long; or the
                mark is empty.
        """
        if not self.mark:
            raise ConfigError("the mark that stands for a secret is empty")
        for pattern in self.patterns:
            if len(pattern) > _LONGEST_PATTERN:
                raise ConfigError(f"a pattern of what is redacted has {len(pattern):,} characters, at most 1,000 do")
            try:
                is_empty = re.compile(pattern).search("") is not None
            except re.error as error:
                raise ConfigError(
                    f"pattern {pattern!a:.80} of what is redacted is no regular expression: {error}"
                ) from error
            if is_empty:
                raise ConfigError(f"pattern {pattern!a:.80} of what is redacted takes an empty text for a secret")

    def redacted(self, text: str) -> str:
        """Return a text in which a mark stands for each secret; redacting it again changes nothing."""
        while True:
            # A mark parts what stands around it, and that may look like a secret then: until nothing changes.
            fewer = self.mark.join(map(self._once, text.split(self.mark)))
            if fewer == text:
                return text
            text = fewer

    def _once(self, text: str) -> str:
        for pattern in self._patterns:
            text = pattern.sub(self._marked, text)
        return _CARD.sub(lambda found: self.mark if _is_card(found[0]) else found[0], text)

    def _marked(self, found: re.Match[str]) -> str:
        kept = found.groupdict().get("kept") or ""
        return kept + self.mark if len(found[0]) > len(kept) else kept

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], ...]:
        shapes = [re.compile(one) for one in (*self.patterns, *_SHAPES, _LONG)]
        return (*shapes, self._named) if self.names else tuple(shapes)

    @cached_property
    def _named(self) -> re.Pattern[str]:
        """What stands behind a name: a value in quotes, or up to the next white space."""
        names = "|".join(r"[\s_\-]?".join(map(re.escape, re.split(r"[\s_\-]+", name.strip()))) for name in self.names)
        quoted = rf"(?!{re.escape(self.mark)})(?:\"[^\"\n]{{1,500}}\"|'[^'\n]{{1,500}}'|`[^`\n]{{1,500}}`"
        # Behind "is" a word of the language may stand, too: "the token is valid".
        told = r"(?:\bis\b(?:\s+(?:now|set\s+to))?:?\s*)(?=\S*\d|[^\s.,;!?]{8,}|[\"'`]))"
        joint = rf"\s*[\"'`]?\s*(?:(?::=|[:=])\s*|{told}(?:(?i:bearer|basic)\s+)?"
        kept = rf"(?P<kept>(?<![^\W_])(?:[\w\-]{{0,40}}[_\-])?(?:{names})(?![^\W_]){joint})"
        return re.compile(rf"{kept}{quoted}|[^\s\"'`,;]{{2,}}[^\s\"'`,;.!?])", re.IGNORECASE)


def _is_card(text: str) -> bool:
    """Return whether the check digit of a number is right (Luhn)."""
    digits = [int(char) for char in text if char.isdigit()]
    doubled = [digit if place % 2 == 0 else sum(divmod(2 * digit, 10)) for place, digit in enumerate(reversed(digits))]
    return any(digits) and sum(doubled) % 10 == 0
