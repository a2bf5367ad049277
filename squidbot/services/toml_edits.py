"""Adds marked blocks to a TOML text, and takes them out again; every other byte stays.

The blocks themselves say what they came into: the first line of one in a file that squidbot made says so, and behind a
last line that did not end, the last line of a block does not end either.
"""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Final

from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

_BEGIN: Final = "# added by squidbot"
_MADE: Final = "# added by squidbot, with this file"
_END: Final = "# end of what squidbot added"
_BOM: Final = "\ufeff"


def parsed(text: str, name: str) -> dict[str, object]:
    """Return what a text says; `name` is that of its file, for errors.

    Raises:
        ConfigError: it is not TOML.
    """
    try:
        return tomllib.loads(text.removeprefix(_BOM))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: it is not TOML ({error}); mend it, or move the file away") from error


def with_blocks(text: str | None, top: Mapping[str, object], table: str, values: Mapping[str, object]) -> str:
    """Return a text with two blocks: keys in front of all tables, if there are any, and a table behind all.

    `None` is a missing file. The values are texts and lists of texts.
    """
    newline = "\r\n" if "\r\n" in (text or "") else "\n"
    begin = _MADE if text is None else _BEGIN
    bom, rest = (_BOM, text[1:]) if text and text.startswith(_BOM) else ("", text or "")
    above = [begin, *_pairs(top), _END, ""] if top else []
    below = [begin, f"[{table}]", *_pairs(values), _END]
    is_open = bool(rest) and not rest.endswith("\n")
    below = ["", *below] if is_open else [*below, ""]
    return bom + newline.join(above) + rest + newline.join(below)


def without_blocks(text: str) -> str | None:
    """Return a text without our blocks; `None` if squidbot made the file, and nothing else is in it."""
    bom, rest = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    kept: list[str] = []
    block: list[str] = []
    is_made = False
    for line in rest.split("\n"):
        mark = line.removesuffix("\r")
        if not block and mark not in {_BEGIN, _MADE}:
            kept.append(line)
            continue
        block.append(line)
        if mark == _END:
            is_made = is_made or block[0].startswith(_MADE)
            if line == _END and block[0].endswith("\r") and kept:
                kept[-1] = kept[-1].removesuffix("\r")  # it came with the block, as the last line did not end
            block = []
    left = bom + "\n".join([*kept, *block])
    return None if is_made and not left else left


def _pairs(values: Mapping[str, object]) -> list[str]:
    # A text of JSON is one of TOML, but for lone surrogates.
    return [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
