"""Vectors of durable facts: what makes them, what finds the nearest, and when they are made."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.adapters.stdlib import ExactIndex
from squidbot.core.errors import ConfigError
from squidbot.testing import HashedWords

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.core.ports import Embedder
    from squidbot.core.vectors.values import VectorIndex
    from squidbot.hookspecs import Register


class Vectors:
    """An extension that offers an embedder and an index of vectors, and keeps what they are given."""

    def __init__(self) -> None:
        self.given: list[object] = []

    @squidbot.hookimpl
    def register_adapters(self, register: Register) -> None:
        """Offer them."""
        register.embedder("mine", self.embedder)
        register.vector_index("mine", self.index)

    def embedder(self, rest: str) -> Embedder:
        """Return one that was never asked for."""
        self.given.append(rest)
        return HashedWords()

    def index(self, path: str, model: str, dimensions: int) -> VectorIndex:
        """Return one in memory."""
        self.given.append((path, model, dimensions))
        return ExactIndex(model, dimensions)


@pytest.mark.parametrize("rest", ["", ":large", ":a:b"])
def test_embedder_and_index_of_an_extension_are_made_when_settings_name_them(rest: str) -> None:
    """By the hook that the built-in ones use; of "NAME:REST" the factory gets REST."""
    mine = Vectors()
    memory = {"embedder": f"mine{rest}", "index": "mine"}
    with squidbot.load({"memory": memory}, extensions=[mine]) as engine:
        assert mine.given == []
        embedder = engine.wired.embedder()
        assert isinstance(embedder, HashedWords)
        index = engine.wired.vector_index("f", embedder.name, embedder.dimensions)
    assert index.stamp() == (embedder.name, embedder.dimensions, 0, 0)
    assert mine.given == [rest[1:], ("f", embedder.name, embedder.dimensions)]


def test_path_of_an_embedder_is_made_absolute_when_there_is_something(tmp_path: Path) -> None:
    """It is beside the settings, wherever the process was started."""
    mine = Vectors()
    (tmp_path / "model").mkdir()
    (tmp_path / "squidbot.toml").write_text('[memory]\nembedder = "mine:model"\n', encoding="utf-8")
    with squidbot.load(tmp_path / "squidbot.toml", extensions=[mine]) as engine:
        engine.wired.embedder()
    assert mine.given == [str(tmp_path / "model")]


def test_no_embedder_is_made_when_none_is_named() -> None:
    """The default, which needs no package and no download."""
    with squidbot.load() as engine:
        assert engine.wired.embedder() is None


KEY = "sk-of-a-test"
API = [
    ({"embedder": "openai:text-embedding-3-small"}, {}, "openai/text-embedding-3-small"),
    ({"embedder": "openai:bge-m3@http://127.0.0.1:9/v1"}, {}, "openai/127.0.0.1:9/bge-m3"),
    ({"embedder": "e"}, {"adapter": "openai", "model": "bge-m3"}, "openai/bge-m3"),
    ({"embedder": "bge-m3"}, {"adapter": "openai", "url": "http://127.0.0.1:9/v1"}, "openai/127.0.0.1:9/bge-m3"),
]


@pytest.mark.parametrize(("memory", "model", "name"), API)
def test_model_behind_an_api_makes_vectors_by_name_or_by_its_definition(
    monkeypatch: pytest.MonkeyPatch, memory: dict[str, str], model: dict[str, str], name: str
) -> None:
    """OpenAI's own, or of any server that speaks like it; nothing is asked before there is a text."""
    pytest.importorskip("openai", reason="an extra: squidbot[openai]", exc_type=ImportError)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with squidbot.load({"memory": memory, "models": {memory["embedder"]: model} if model else {}}) as engine:
        embedder = engine.wired.embedder()
    assert embedder is not None
    assert embedder.name == name


@pytest.mark.parametrize(("key", "said"), [("embedder", "no embedder 'nobody'"), ("index", "no index of vectors")])
def test_unknown_embedder_or_index_is_refused_with_those_that_are_known(key: str, said: str) -> None:
    """One line, with the key."""
    engine = squidbot.load({"memory": {key: "nobody"}})
    with pytest.raises(ConfigError, match=rf"{said}.*known: .*(numpy|stdlib).*memory\.{key}"):
        engine.wired.embedder() or engine.wired.vector_index("", "m", 3)
    engine.close()


def test_index_is_the_first_that_is_installed_when_nobody_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """FAISS, else the one that compares with every vector; what is named and not there is an error."""
    monkeypatch.setitem(sys.modules, "squidbot.adapters.faiss", None)
    with squidbot.load() as engine:
        assert isinstance(engine.wired.vector_index("", "m", 3), ExactIndex)
    with (
        squidbot.load({"memory": {"index": "faiss"}}) as engine,
        pytest.raises(ConfigError, match=r"squidbot\[faiss\]"),
    ):
        engine.wired.vector_index("", "m", 3)
