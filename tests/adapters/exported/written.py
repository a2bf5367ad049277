"""Folders of exported sentence models: BERT's network as a file of ONNX, and what stands beside it.

benchmarks/minilm.py makes the file.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.minilm import exported

if TYPE_CHECKING:
    from pathlib import Path

WIDTH, WIDE, HEADS, LAYERS, POSITIONS = 8, 12, 2, 2, 10
WORDS = (
    "[PAD]", "[UNK]", "[CLS]", "[SEP]",
    *["squid", "sea", "is", "deep", "the", "int", "main", "void", "return", "old", "new", "ink"],
)  # fmt: skip
VOCABULARY = (*WORDS, *"abcdefghijklmnopqrstuvwxyz0123456789", *(f"##{each}" for each in "abcdefghijklmnopqrstuvwxyz"))
CONFIG = {
    "model_type": "bert", "hidden_act": "gelu", "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
    "max_position_embeddings": POSITIONS, "layer_norm_eps": 1e-12,
}  # fmt: skip
TOKENIZER: dict[str, object] = {
    "version": "1.0",
    "added_tokens": [
        {
            "id": VOCABULARY.index(token), "content": token, "special": True, "single_word": False, "lstrip": False,
            "rstrip": False, "normalized": False,
        }
        for token in WORDS[:4]
    ],
    "normalizer": {
        "type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
        "lowercase": True,
    },
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {
        "type": "BertProcessing", "cls": ["[CLS]", VOCABULARY.index("[CLS]")],
        "sep": ["[SEP]", VOCABULARY.index("[SEP]")],
    },
    "model": {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": {token: number for number, token in enumerate(VOCABULARY)},
    },
}  # fmt: skip

Tensors = dict[str, np.ndarray]


def weights() -> Tensors:
    """Return the same odd numbers each time, by the names that files of tensors have."""
    chance = np.random.default_rng(8)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(VOCABULARY), WIDTH),
        "embeddings.position_embeddings.weight": (POSITIONS, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
    }
    dense = {f"attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")}
    dense |= {"attention.output.dense": (WIDTH, WIDTH)}
    dense |= {"intermediate.dense": (WIDE, WIDTH), "output.dense": (WIDTH, WIDE)}
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}."
        shapes |= {f"{name}{part}.weight": shape for part, shape in dense.items()}
        shapes |= {f"{name}{part}.bias": shape[:1] for part, shape in dense.items()}
        norms += [f"{name}attention.output.LayerNorm", f"{name}output.LayerNorm"]
    shapes |= {f"{norm}.{part}": (WIDTH,) for norm in norms for part in ("weight", "bias")}
    return {name: chance.uniform(-1, 1, shape).astype("<f4") for name, shape in shapes.items()}


def write_folder(folder: Path, network: bytes | None = None, **config: object) -> Path:
    """Write the folder of a small model as sentence-transformers exports it."""
    for name in ("onnx", "1_Pooling"):
        (folder / name).mkdir(parents=True)
    (folder / "onnx" / "model.onnx").write_bytes(network or exported(weights(), HEADS))
    (folder / "config.json").write_text(json.dumps(CONFIG | config))
    (folder / "tokenizer.json").write_text(json.dumps(TOKENIZER))
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    return folder
