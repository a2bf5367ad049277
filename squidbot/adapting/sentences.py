"""What the folder of a sentence model says, as sentence-transformers and who exports its models write it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from squidbot.core.errors import ModelFileError

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.core.counting.wordpiece import WordPiece

__all__ = ["AROUND_TOKENS", "Pooling", "check_modules", "cut", "object_in", "pooling_of"]

# "[CLS]" and "[SEP]" stand around each piece of a text.
AROUND_TOKENS = 2

# Which vectors of tokens become a text's: the mean of all, or that of the token before them.
Pooling: TypeAlias = Literal["mean", "cls"]


def check_modules(folder: Path) -> None:
    """Pass a model that does no more with its vectors than is done here.

    Raises:
        ModelFileError: it does, or what says so can't be read.
    """
    path = folder / "modules.json"
    found = _json(path, [])
    if not isinstance(found, list):
        raise ModelFileError(f"expected a list @ {path}")
    for module in found:
        kind = str(module.get("type")).rpartition(".")[2] if isinstance(module, dict) else ""
        if kind not in {"Transformer", "Pooling", "Normalize"}:
            raise ModelFileError(f"its part {kind!r} is not run here @ {path}")


def pooling_of(folder: Path) -> Pooling:
    """Return how vectors of tokens become one.

    Raises:
        ModelFileError: in another way, or what says so can't be read.
    """
    said = object_in(folder / "1_Pooling" / "config.json", {"pooling_mode_mean_tokens": True})
    modes = [key for key, value in said.items() if key.startswith("pooling_mode_") and value is True]
    if modes == ["pooling_mode_cls_token"]:
        return "cls"
    if modes != ["pooling_mode_mean_tokens"]:
        raise ModelFileError(f"{' and '.join(modes) or 'no pooling'} is not run here @ {folder / '1_Pooling'}")
    return "mean"


def object_in(path: Path, missing: dict[str, object] | None = None) -> dict[str, object]:
    """Return the JSON object in a file, or `missing` where there is no file and that is given.

    Raises:
        ModelFileError: it can't be read, or holds something else.
    """
    found = _json(path, missing)
    if not isinstance(found, dict):
        raise ModelFileError(f"expected an object @ {path}")
    return found


def cut(text: str, pieces: WordPiece, piece_tokens: int) -> list[list[int]]:
    """Return the ids of a text's tokens, so many at once, each time between those that begin and end it."""
    ids = pieces.ids(text)
    starts = range(0, max(len(ids), 1), piece_tokens)
    return [[pieces.first, *ids[start : start + piece_tokens], pieces.last] for start in starts]


def _json(path: Path, missing: object) -> object:
    try:
        return cast("object", json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        if missing is not None:
            return missing
        raise ModelFileError(f"not there @ {path}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFileError(f"can't be read @ {path}: {error}") from error
