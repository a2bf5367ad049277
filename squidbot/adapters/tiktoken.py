"""Exact token counts from a local tiktoken rank file or tiktoken's own cache; never downloads."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
import tempfile
import unicodedata
from pathlib import Path

import tiktoken

from squidbot.adapters.common.counts import ExactCounter
from squidbot.adapters.common.packages import how_to_get
from squidbot.core.errors import ConfigError

__all__ = ["PATTERNS", "PUBLISHED", "TiktokenCounter", "cached", "published"]

# How each vocabulary splits a text before merging; published with the vocabularies.
_CL100K = [
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",
    r"[^\r\n\p{L}\p{N}]?\p{L}+",
    r"\p{N}{1,3}",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*",
    r"\s*[\r\n]+",
    r"\s+(?!\S)",
    r"\s+",
]
_O200K = [
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}",
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r"\s*[\r\n]+",
    r"\s+(?!\S)",
    r"\s+",
]
PATTERNS = {
    "o200k": "|".join(_O200K),
    "cl100k": "|".join(_CL100K),
    "qwen": "|".join(_CL100K).replace(r"\p{N}{1,3}", r"\p{N}"),
}

# Where OpenAI publishes its vocabularies, and each file's SHA-256; from tiktoken's own source.
_ORIGIN = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
PUBLISHED = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
# The variables of tiktoken's cache, the first that is set; "" is none.
_CACHE_VARIABLES = ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")

# tiktoken's merging is quadratic in a piece, and a pattern's piece is one of these runs: letters, marks, whitespace, or
# letters with combining marks, which form words of any length in some scripts. Longer ones are cut.
PIECE_CHARS = 1024
# A run is tried from its first character only: trying each character would be quadratic.
_LONG_RUN = re.compile(
    r"(?<![^\W\d_])[^\W\d_]{1025,}|(?<![^\w\s])[^\w\s]{1025,}|(?<!\s)\s{1025,}|(?<![^\s\d])[^\s\d]{8192,}".replace(
        "1025", str(PIECE_CHARS + 1)
    )
)
# Merging is greedy, so two halves may take fewer tokens than the whole; a cut changes only tokens near it.
CUT_TOKENS = 4


def _read_ranks(path: Path) -> dict[bytes, int]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise ConfigError(f"token ranks can't be read @ {path}: {error.strerror}") from error
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                token, rank = line.split()
                ranks[base64.b64decode(token, validate=True)] = int(rank)
            except (ValueError, binascii.Error) as error:
                raise ConfigError(f"expected a base64 token, a space and its rank @ {path}:{number}") from error
    if not ranks:
        raise ConfigError(f"no token ranks @ {path}:1")
    missing = next((value for value in range(256) if bytes([value]) not in ranks), None)
    if missing is not None:
        raise ConfigError(f"no token for the byte 0x{missing:02x}: not every text could be counted @ {path}")
    return ranks


def _pattern(path: Path, pattern: str | None) -> str:
    if pattern is not None:
        return PATTERNS.get(pattern, pattern)
    for name, known in PATTERNS.items():
        if name in path.stem.lower():
            return known
    known_names = ", ".join(PATTERNS)
    raise ConfigError(f"no split pattern is known for {path.name}; give pattern= {known_names} or a regular expression")


def cached(encoding: str) -> Path | None:
    """Return a published vocabulary's file in tiktoken's cache; `None` if it is missing or has other bytes.

    Check the bytes, because all users of a machine may write to the usual cache.
    """
    named = next((os.environ[name] for name in _CACHE_VARIABLES if name in os.environ), None)
    if named == "":
        return None
    key = hashlib.sha1(_ORIGIN.format(encoding).encode(), usedforsecurity=False).hexdigest()
    path = Path(named or Path(tempfile.gettempdir(), "data-gym-cache"), key)
    try:
        whole = hashlib.sha256(path.read_bytes()).hexdigest() == PUBLISHED[encoding]
    except OSError:
        return None
    return path if whole else None


def published(encoding: str) -> TiktokenCounter:
    """Return the counter of a vocabulary that OpenAI publishes, from tiktoken's cache.

    Raises:
        ConfigError: it is missing.
    """
    path = cached(encoding)
    if path is None:
        raise ConfigError(f"tiktoken's cache has no vocabulary {encoding}; {how_to_get(encoding)}")
    return TiktokenCounter(path, encoding.partition("_")[0], encoding)


class TiktokenCounter(ExactCounter):
    """Counts with a tokenizer's own ranks, read from a local `.tiktoken` file at construction.

    Special tokens in a text count as plain text. A run of letters, of marks or of whitespace with more than
    `PIECE_CHARS` characters is counted in pieces, with `CUT_TOKENS` more for each: the answer is then a bound, at most
    the bytes.
    """

    def __init__(self, path: str | Path, pattern: str | None = None, vocabulary: str = "") -> None:
        """Read the ranks.

        `pattern` is a name in `PATTERNS` or a regular expression; `None`: the one for the file's name. `vocabulary` is
        the ranks' name; "": the file's, without its suffix.

        Raises:
            ConfigError: the file can't be read, a line is no rank, or the pattern is unknown or wrong.
        """
        path = Path(path)
        super().__init__(f"tiktoken:{vocabulary or path.stem}")
        self._normalises = "qwen" in path.stem.lower() or pattern == "qwen"
        split = _pattern(path, pattern)
        ranks = _read_ranks(path)
        try:
            self._encoding = tiktoken.Encoding(self.name, pat_str=split, mergeable_ranks=ranks, special_tokens={})
        except ValueError as error:
            raise ConfigError(f"tiktoken refuses the pattern or the ranks @ {path}: {error}") from error

    def count(self, text: str) -> int:
        """Return the tokens of a text; a lone surrogate counts as its replacement character."""
        if self._normalises:
            text = unicodedata.normalize("NFC", text)
        total = start = 0
        for run in _LONG_RUN.finditer(text):
            total += self._encoded(text[start : run.start()])
            for at in range(run.start(), run.end(), PIECE_CHARS):
                total += self._encoded(text[at : min(at + PIECE_CHARS, run.end())]) + CUT_TOKENS
            start = run.end()
        total += self._encoded(text[start:])
        return total if start == 0 else min(total, len(text.encode("utf-8", "surrogatepass")))

    def _encoded(self, text: str) -> int:
        return len(self._encoding.encode_ordinary(text)) if text else 0
