"""What the folder of an exported model says: its file, its tokens, how the vectors of these become one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal, NamedTuple, cast

from squidbot.core.counting.wordpiece import WordPiece
from squidbot.core.errors import ConfigError, ModelFileError

__all__ = ["Folder", "read_folder"]

# Where sentence-transformers and optimum put what they export.
FILES = ("model.onnx", "onnx/model.onnx")
# "[CLS]" and "[SEP]" stand around each piece of a text.
AROUND_TOKENS = 2
ELSEWHERE = "a file of it in GGUF runs by llama.cpp or Ollama"
EXPORT = "pip install 'optimum-onnx[onnxruntime]' && optimum-cli export onnx --model NAME FOLDER"


class Folder(NamedTuple):
    """What is known of a model before its network is read.

    Attributes:
        network: the file of ONNX.
        pooling: which vectors of tokens become a text's: the mean of all, or that of the token before them.
        piece_tokens: how many tokens are read at once; its own around them are not counted.
        pieces: its tokens.
    """

    network: Path
    pooling: Literal["mean", "cls"]
    piece_tokens: int
    pieces: WordPiece


def read_folder(model: str | Path) -> Folder:
    """Read what is beside a network: `model` is the folder of an exported model, or the file of ONNX in it.

    Raises:
        ConfigError: there is no exported model.
        ModelFileError: a file can't be read, or the model is of a kind that is not run here.
    """
    network = _network(Path(model).expanduser())
    folder = network.parent if (network.parent / "tokenizer.json").exists() else network.parent.parent
    _checks_modules(folder)
    config = _object(folder / "config.json")
    said = [
        config.get("max_position_embeddings"),
        _object(folder / "sentence_bert_config.json", {}).get("max_seq_length"),
    ]
    windows = [size for size in said if type(size) is int]
    if not windows or min(windows) <= AROUND_TOKENS:
        raise ModelFileError(f"max_position_embeddings is not the size of a window @ {folder / 'config.json'}")
    pieces = _pieces(folder / "tokenizer.json")
    return Folder(network, _pooling(folder), min(windows) - AROUND_TOKENS, pieces)


def _network(path: Path) -> Path:
    if path.suffix == ".onnx" and path.is_file():
        return path
    found = next((path / name for name in FILES if (path / name).is_file()), None)
    if found is not None:
        return found
    if (path / "model.safetensors").is_file():
        raise ConfigError(f'no exported model @ {path}: as it is, "numpy:{path}" runs it; or export it: {EXPORT}')
    raise ConfigError(f"no exported model @ {path}: expected a folder with model.onnx and tokenizer.json; {EXPORT}")


def _checks_modules(folder: Path) -> None:
    """Refuse a model that does more with its vectors than is done here."""
    for module in _list(folder / "modules.json"):
        kind = str(module.get("type")).rpartition(".")[2] if isinstance(module, dict) else ""
        if kind not in {"Transformer", "Pooling", "Normalize"}:
            raise ModelFileError(f"its part {kind!r} is not run here @ {folder / 'modules.json'}")


def _pooling(folder: Path) -> Literal["mean", "cls"]:
    said = _object(folder / "1_Pooling" / "config.json", {"pooling_mode_mean_tokens": True})
    modes = [key for key, value in said.items() if key.startswith("pooling_mode_") and value is True]
    if modes == ["pooling_mode_cls_token"]:
        return "cls"
    if modes != ["pooling_mode_mean_tokens"]:
        raise ModelFileError(f"{' and '.join(modes) or 'no pooling'} is not run here @ {folder / '1_Pooling'}")
    return "mean"


def _pieces(path: Path) -> WordPiece:
    """Return the tokens of a tokenizer of BERT's uncased kind, which is the only one that is read here."""
    told = _object(path)
    model, form = _part(told, "model"), _part(told, "normalizer")
    kind = model.get("type")
    if kind != "WordPiece":
        raise ModelFileError(f"its tokenizer is {kind!r}, and 'WordPiece' is read here; {ELSEWHERE} @ {path}")
    if form.get("type") != "BertNormalizer" or form.get("lowercase") is not True or form.get("strip_accents") is False:
        raise ModelFileError(f"a vocabulary with capitals or accents is not read here; {ELSEWHERE} @ {path}")
    vocabulary = _part(model, "vocab")
    tokens = sorted(vocabulary, key=lambda token: cast("int", vocabulary[token]))
    if [vocabulary[token] for token in tokens] != [*range(len(tokens))]:
        raise ModelFileError(f"can't be read @ {path}: the ids of its tokens have gaps")
    try:
        return WordPiece(tokens)
    except ValueError as error:
        raise ModelFileError(f"can't be read @ {path}: {error}") from error


def _part(told: dict[str, object], key: str) -> dict[str, object]:
    part = told.get(key)
    return part if isinstance(part, dict) else {}


def _object(path: Path, missing: dict[str, object] | None = None) -> dict[str, object]:
    found = _json(path, missing)
    if not isinstance(found, dict):
        raise ModelFileError(f"expected an object @ {path}")
    return found


def _list(path: Path) -> list[object]:
    found = _json(path, [])
    if not isinstance(found, list):
        raise ModelFileError(f"expected a list @ {path}")
    return found


def _json(path: Path, missing: object) -> object:
    try:
        return cast("object", json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        if missing is not None:
            return missing
        raise ModelFileError(f"not there @ {path}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFileError(f"can't be read @ {path}: {error}") from error
