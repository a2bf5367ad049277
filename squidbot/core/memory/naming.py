"""The ids of memories: short enough to be copied by a model, and the same for the same fact."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from squidbot.core.memories import Memory

__all__ = ["named", "read_id"]

# Digits and letters without those that are taken for each other (Crockford's base 32).
_LETTERS: Final = "0123456789abcdefghjkmnpqrstvwxyz"
# 55 bits: among a million memories two have one id with a probability of 0.0014 %, and then the store refuses.
_CHARS: Final = 11
# A model copies an id with what stands around it: brackets, quotes, the word before it.
_AROUND: Final = " \t\r\n\"'`[](){}<>.,;:*-"
_VERB: Final = re.compile(r"(?:forget|memory|id)[\s:=]+", re.IGNORECASE)


def named(memory: Memory) -> Memory:
    """Return a memory under the id that follows from its scope, text and sources: "f" and 11 letters or digits."""
    said = json.dumps([memory.scope, memory.text, memory.sources], separators=(",", ":"))
    number = int.from_bytes(hashlib.sha256(said.encode()).digest()[:7], "big")
    letters = "".join(_LETTERS[number >> 5 * place & 31] for place in range(_CHARS))
    return replace(memory, memory_id=f"f{letters}")


def read_id(text: str) -> str:
    """Return the id in what a model wrote for one; "" where there is none."""
    said = text.strip(_AROUND)
    return _VERB.sub("", said, count=1).strip(_AROUND)
