"""Published vocabularies, read from their own files: ranks, tekken's JSON, and tokenizer.json of byte-level merges.

An argument is PATTERN=PATH: how the vocabulary cuts a text before it merges, and where its file is. Each counts as the
vocabulary's own program does; nothing is fetched.
"""

from __future__ import annotations

import base64
import json
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import tiktoken

from squidbot.adapters.tiktoken import PATTERNS as KNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["PATTERNS", "Vocabulary", "vocabulary"]

_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_HAN = "\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff"
_DEEPSEEK = (
    r"\p{N}{1,3}",
    rf"[{_HAN}]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+",
    rf"[^\r\n\p{{L}}\p{{P}}\p{{S}}\p{{N}}{_HAN}]?[\p{{L}}\p{{M}}&&[^{_HAN}]]+",
    rf" ?[\p{{P}}\p{{S}}&&[^{_HAN}]]+[\r\n]*",
    r"\s*[\r\n]+",
    # It cuts numbers and Han first: what is left ends before them.
    rf"\s+(?=[\p{{N}}{_HAN}])",
    r"\s+(?!\S)",
    r"\s+",
    rf"(?:[^\s\p{{L}}\p{{M}}\p{{N}}\p{{P}}\p{{S}}](?![\p{{L}}\p{{M}}&&[^{_HAN}]]))+",
)
PATTERNS = {
    **KNOWN,
    "qwen36": KNOWN["qwen"].replace(r"\p{L}+", r"[\p{L}\p{M}]+").replace(r"[^\s\p{L}\p{N}]+", r"[^\s\p{L}\p{M}\p{N}]+"),
    "tekken": KNOWN["o200k"].replace(_CONTRACTIONS, "").replace(r"\p{N}{1,3}", r"\p{N}"),
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "deepseek": "|".join(_DEEPSEEK),
}


class Vocabulary:
    """Counts with one vocabulary's tokens."""

    def __init__(self, pattern: str, ranks: dict[bytes, int], form: str | None) -> None:
        """`form` is how the vocabulary normalises text before it cuts it; None: not at all."""
        self.ranks = ranks
        self.glues_marks = pattern != "gpt2"
        self._form = form
        self._encode = tiktoken.Encoding(
            pattern, pat_str=PATTERNS[pattern], mergeable_ranks=ranks, special_tokens={}
        ).encode_ordinary

    def count(self, text: str) -> int:
        """Return the tokens of a text."""
        return len(self._encode(text if self._form is None else unicodedata.normalize(self._form, text)))  # type: ignore[arg-type]

    def counts(self, texts: Iterable[str]) -> list[int]:
        """Return the tokens of each text."""
        return list(map(self.count, texts))


def _letters() -> dict[str, int]:
    """Return the bytes by the letters that byte-level merges write for them."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [value for value in range(256) if value not in plain]
    return {chr(value): value for value in plain} | {chr(256 + at): value for at, value in enumerate(rest)}


def _merged(content: dict[str, object]) -> dict[bytes, int]:
    letters = _letters()
    model: dict[str, list[str | list[str]]] = content["model"]  # type: ignore[assignment]
    ranks = {bytes([letters[letter]]): letters[letter] for letter in letters}
    for rank, merge in enumerate(model["merges"], start=256):
        pair = "".join(merge.split(" ") if isinstance(merge, str) else merge)
        ranks.setdefault(bytes(letters[one] for one in pair), rank)
    return ranks


def vocabulary(argument: str) -> tuple[str, Vocabulary]:
    """Return the path and the vocabulary that PATTERN=PATH names; ValueError where it names none."""
    pattern, _, name = argument.partition("=")
    if pattern not in PATTERNS or not name:
        raise ValueError(f"expected PATTERN=PATH, where PATTERN is one of {', '.join(PATTERNS)}: {argument}")
    form = "NFC" if pattern.startswith("qwen") else None
    data = Path(name).read_bytes()
    if not name.endswith(".json"):
        pairs = (line.split() for line in data.splitlines() if line.strip())
        return name, Vocabulary(pattern, {base64.b64decode(token): int(rank) for token, rank in pairs}, form)
    content = json.loads(data)
    if "vocab" in content:
        plain = content["config"]["default_vocab_size"] - content["config"]["default_num_special_tokens"]
        tokens = content["vocab"][:plain]
        return name, Vocabulary(
            pattern, {base64.b64decode(token["token_bytes"]): token["rank"] for token in tokens}, form
        )
    normalizer = content["normalizer"] or {}
    return name, Vocabulary(pattern, _merged(content), normalizer.get("type") if "NFK" in str(normalizer) else form)
