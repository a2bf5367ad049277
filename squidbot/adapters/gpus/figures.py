"""Numbers as drivers and programs write them: in all forms known, and never a mistake taken for a number."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from itertools import islice

__all__ = ["MIB", "amount", "as_bytes", "found_json", "percent", "whole"]

MIB = 1 << 20

_DIGITS = re.compile(r"[0-9]{1,20}", re.ASCII)
_QUANTITY = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*([A-Za-z%]{0,3})", re.ASCII)
# AMD's and NVIDIA's programs say MB where they mean MiB.
_UNITS = {"B": 1, "KB": 1 << 10, "KIB": 1 << 10, "MB": MIB, "MIB": MIB, "GB": 1 << 30, "GIB": 1 << 30}
# How many places where JSON could begin are tried; warnings before it have brackets, too.
BEGINNINGS = 64


def whole(text: str) -> int | None:
    """Return a whole number in decimal digits, 0 or more; None for anything else, "[N/A]" for example."""
    text = text.strip()
    return int(text) if _DIGITS.fullmatch(text) else None


def amount(said: object) -> tuple[float, str] | None:
    """Return (number, unit as written) of a number, a text like "24560 MB" or {"value": 24560, "unit": "MB"}."""
    unit = ""
    if isinstance(said, Mapping):
        unit, said = str(said.get("unit", ""))[:8], said.get("value")
    if isinstance(said, str):
        read = _QUANTITY.fullmatch(said.strip()[:64])
        return (float(read[1]), read[2] or unit) if read else None
    if isinstance(said, bool) or not isinstance(said, int | float):
        return None
    if isinstance(said, float) and not math.isfinite(said):
        return None
    return (float(said), unit) if 0 <= said < 1e20 else None


def as_bytes(said: object, unit_bytes: int) -> int | None:
    """Return an amount of memory in bytes, `unit_bytes` each where it has no unit of its own; None for no amount."""
    read = amount(said)
    if read is None:
        return None
    number, unit = read
    factor = _UNITS.get(unit.upper()) if unit else unit_bytes
    return None if factor is None else int(number * factor)


def percent(said: object) -> float | None:
    """Return a fraction, 0 to 1, of a number in percent; None for anything else."""
    read = amount(said)
    return read[0] / 100 if read and read[0] <= 100 and read[1] in ("", "%") else None


def found_json(text: str) -> object:
    """Return the first object or list that is not empty, warnings around it left out; None if there is none.

    Where one begins a line it is preferred to those inside of lines.
    """
    decoder = json.JSONDecoder()
    for pattern in (r"^[ \t]{0,16}[\[{]", r"[\[{]"):
        for match in islice(re.finditer(pattern, text, re.MULTILINE), BEGINNINGS):
            try:
                found, _ = decoder.raw_decode(text, match.end() - 1)
            except (ValueError, RecursionError):
                continue
            if found:
                return found
    return None
