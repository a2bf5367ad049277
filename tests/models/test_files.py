"""Where a model's file is, and that every key of a model reaches how it is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from squidbot.config import load_settings
from squidbot.core.errors import ConfigError
from squidbot.core.sizing.header import Loading
from squidbot.models import loading_of, model_file

if TYPE_CHECKING:
    from pathlib import Path

LOADING_KEYS: dict[str, tuple[object, dict[str, object]]] = {
    "n_gpu_layers": (7, {"n_gpu_layers": 7}),
    "n_batch": (99, {"n_batch": 99}),
    "n_ubatch": (33, {"n_ubatch": 33}),
    "kv_type": ("q8_0", {"type_k": "q8_0", "type_v": "q8_0"}),
    "flash_attn": (False, {"flash_attn": False}),
    "tensor_split": ([3, 1], {"tensor_split": (3.0, 1.0)}),
}


@pytest.mark.parametrize("key", LOADING_KEYS)
def test_key_of_a_model_reaches_how_it_is_loaded(key: str) -> None:
    """In its own place, under llama.cpp's own name; all else stays."""
    value, changed = LOADING_KEYS[key]
    loaded = load_settings({"models": {"m": {key: value}}})
    assert loading_of(loaded, loaded.settings.model("m"), 4096) == Loading(4096, **changed)  # type: ignore[arg-type]


def test_model_is_loaded_whole_onto_devices_unless_it_says_otherwise() -> None:
    """With "auto" it begins with all layers, as by default; the cache's type is that of `[window]`."""
    loaded = load_settings({"window": {"kv_type": "q4_0"}, "models": {"m": {"n_gpu_layers": "auto"}, "n": {}}})
    for alias in ("m", "n"):
        found = loading_of(loaded, loaded.settings.model(alias))
        assert (found.n_ctx, found.n_gpu_layers, found.type_k, found.type_v) == (0, -1, "q4_0", "q4_0")


def test_path_is_relative_to_the_settings(tmp_path: Path) -> None:
    """As all paths of a squidbot.toml are; a model without a file has none."""
    (tmp_path / "squidbot.toml").write_text('[models.m]\npath = "a/b.gguf"\n[models.api]\n', encoding="utf-8")
    loaded = load_settings(tmp_path / "squidbot.toml")
    assert model_file(loaded, "m") == str(tmp_path / "a" / "b.gguf")
    assert model_file(loaded, "api") == model_file(loaded, "unknown") == ""


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"repo_id": "a/b"}, "repo_id and filename name a model together; filename is missing"),
        ({"filename": "b"}, "repo_id and filename name a model together; repo_id is missing"),
        ({"path": "x", "repo_id": "a/b", "filename": "b"}, "path and repo_id both name a file; keep one"),
    ],
)
def test_model_is_refused_when_its_file_is_named_by_half_or_twice(model: dict[str, object], message: str) -> None:
    """With the model's path in the settings."""
    with pytest.raises(ConfigError) as caught:
        model_file(load_settings({"models": {"m": model}}), "m")
    assert str(caught.value) == f"{message} @ argument.models['m']"
