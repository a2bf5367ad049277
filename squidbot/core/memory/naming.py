"""The ids of memories as a model copies them."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["read_id"]

# A model copies an id with what stands around it: brackets, quotes, the word before it.
_AROUND: Final = " \t\r\n\"'`[](){}<>.,;:*-"
_VERB: Final = re.compile(r"(?:forget|memory|id)[\s:=]+", re.IGNORECASE)


def read_id(text: str) -> str:
    """Return the id in what a model wrote for one; "" where there is none."""
    said = text.strip(_AROUND)
    return _VERB.sub("", said, count=1).strip(_AROUND)
