"""What the folder of an exported model says: its file, its tokens, how the vectors of these become one."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, cast

from squidbot.adapting.sentences import AROUND_TOKENS, Pooling, check_modules, object_in, pooling_of
from squidbot.core.counting.wordpiece import WordPiece
from squidbot.core.errors import ConfigError, ModelFileError

__all__ = ["Folder", "read_folder"]

# Where sentence-transformers and optimum put what they export.
FILES = ("model.onnx", "onnx/model.onnx")
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
    pooling: Pooling
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
    check_modules(folder)
    config = object_in(folder / "config.json")
    said = [
        config.get("max_position_embeddings"),
        object_in(folder / "sentence_bert_config.json", {}).get("max_seq_length"),
    ]
    windows = [size for size in said if type(size) is int]
    if not windows or min(windows) <= AROUND_TOKENS:
        raise ModelFileError(f"max_position_embeddings is not the size of a window @ {folder / 'config.json'}")
    pieces = _pieces(folder / "tokenizer.json")
    return Folder(network, pooling_of(folder), min(windows) - AROUND_TOKENS, pieces)


def _network(path: Path) -> Path:
    if path.suffix == ".onnx" and path.is_file():
        return path
    found = next((path / name for name in FILES if (path / name).is_file()), None)
    if found is not None:
        return found
    if (path / "model.safetensors").is_file():
        raise ConfigError(f'no exported model @ {path}: as it is, "numpy:{path}" runs it; or export it: {EXPORT}')
    raise ConfigError(f"no exported model @ {path}: expected a folder with model.onnx and tokenizer.json; {EXPORT}")


def _pieces(path: Path) -> WordPiece:
    """Return the tokens of a tokenizer of BERT's uncased kind, which is the only one that is read here."""
    told = object_in(path)
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
