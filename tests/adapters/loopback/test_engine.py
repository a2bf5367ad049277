"""Sessions whose model is behind a server: its window is sized, sent, and read back; a lesser one is never missed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot import models
from squidbot.core.errors import LLMError
from squidbot.core.sizing.header import TENSOR_TYPES
from squidbot.testing.ggufs import offline_chat_model

from .ollama import Model, Ollama, answering

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from .ollama import Json

# A llama of one layer, 1 MB of cache for each token, trained for 8,192.
KEYS: Json = {
    "block_count": 1,
    "context_length": 8192,
    "embedding_length": 1024,
    "feed_forward_length": 1024,
    "attention.head_count": 8,
    "attention.head_count_kv": 8,
}
SHAPES = {"token_embd.weight": [1024, 512], "blk.0.attn_q.weight": [1024, 1024], "blk.0.ffn_down.weight": [1024, 1024]}
F16 = TENSOR_TYPES[1].name.upper()


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give servers more time than two seconds: the machine may have others to run."""
    monkeypatch.setattr(models, "PATIENCE_SECONDS", 30.0)


def told() -> Model:
    """Return a model as its server tells it whole."""
    info: Json = {"general.architecture": "llama", **{f"llama.{key}": value for key, value in KEYS.items()}}
    tensors: list[Json] = [{"name": name, "type": F16, "shape": shape} for name, shape in SHAPES.items()]
    return Model(native=8192, info=info, tensors=tensors)


def engine_of(server: Ollama, window: Mapping[str, object] | None = None, **model: object) -> squidbot.Engine:
    """Return an engine whose one model that server has."""
    wanted = {"adapter": "ollama", "model": "tiny", "url": server.url, **model}
    return squidbot.load({"gpu": {"probe": "none"}, "window": window or {}, "models": {"m": wanted}})


def test_window_of_a_model_behind_ollama_is_sized_and_sent() -> None:
    """From the header that the server tells; never the 4,096 tokens that Ollama gives who says nothing."""
    with Ollama(models={"tiny:latest": told()}) as server, engine_of(server) as engine:
        window = engine.session("s", model="m").window
        assert (window.window_tokens, window.source) == (8192, "auto-ram")
        model = engine.model("m")
        session = engine.session("s", model="m")
        assembly = session.assemble("Cache prices for ten minutes.")
        reply = model.reply(assembly.messages, 64)
        session.record(assembly.incoming, reply.message)
        assert {body["options"]["num_ctx"] for body in server.sent("/api/chat")} == {8192}  # type: ignore[index]
        assert session.window.window_tokens == 8192


def test_window_is_read_from_the_file_where_the_server_tells_no_tensors(tmp_path: Path) -> None:
    """A server on this machine says where its file is."""
    blobs = tmp_path / "blobs"
    blobs.mkdir()
    path = offline_chat_model(blobs / ("sha256-" + "0" * 64))
    model = Model(native=2048, modelfile=f"FROM {path}\n")
    with Ollama(models={"tiny:latest": model}) as server, engine_of(server) as engine:
        window = engine.session("s", model="m").window
        assert (window.window_tokens, window.source) == (2048, "auto-ram")


def test_smaller_window_is_tried_when_the_server_has_no_memory() -> None:
    """C8, over HTTP: descending, and the session has what was loaded."""
    with Ollama(models={"tiny:latest": told()}, memory_tokens=5000) as server, engine_of(server) as engine:
        engine.model("m")
        window = engine.session("s", model="m").window
        assert (window.window_tokens, window.source) == (4096, "load-retry")


def test_window_that_the_server_cuts_is_read_back() -> None:
    """What only speaks like Ollama may give another one than was asked for."""
    with Ollama(models={"tiny:latest": told()}, fixed_window=3000) as server, engine_of(server) as engine:
        engine.model("m")
        window = engine.session("s", model="m").window
        assert (window.window_tokens, window.source) == (3000, "served")


def test_settings_and_training_cap_what_is_sent() -> None:
    """The model's definition, else the default, where the server does not tell enough to size anything."""
    bare = Model(native=16_384, info={"general.architecture": "llama", "llama.context_length": 16_384})
    with Ollama(models={"tiny:latest": bare}) as server:
        with engine_of(server) as engine:
            window = engine.session("s", model="m").window
            assert (window.window_tokens, window.source) == (16_384, "native-limit")
            assert "does not report the tensors of tiny" in window.detail
        with engine_of(server, context_window=6000) as engine:
            engine.model("m")
            assert engine.session("s", model="m").window.window_tokens == 6000
            assert server.loaded == {"tiny:latest": 6000}


def test_server_that_is_not_there_is_no_reason_to_fail() -> None:
    """A session opens with the next source, and says why; opening the model is what fails."""
    with Ollama() as server:
        pass
    with engine_of(server, context_window=6000) as engine:
        window = engine.session("s", model="m").window
        assert (window.window_tokens, window.source) == (6000, "model-definition")
        assert "ollama serve" in window.detail


def test_window_of_an_openai_compatible_server_is_read_back() -> None:
    """One of vLLM says `max_model_len`: what is configured above it would be cut, or refused."""
    said = answering(json.dumps({"data": [{"id": "m", "max_model_len": 9000}]}).encode())
    nothing = answering(b"not found", b"404 Not Found")
    with Ollama(raw=lambda path: (said if path == "/v1/models" else nothing)(path)) as server:
        settings = {"models": {"m": {"url": f"{server.url}/v1", "context_window": 32_000}}}
        with squidbot.load(settings) as engine:
            window = engine.session("s", model="m").window
            assert (window.window_tokens, window.source) == (9000, "served")
        with squidbot.load({"models": {"m": {"url": f"{server.url}/v1"}}}) as engine:
            assert engine.session("s", model="m").window.window_tokens == 9000
    with squidbot.load(settings) as engine:
        window = engine.session("s", model="m").window
        assert (window.window_tokens, window.source) == (32_000, "model-definition")
        assert "no answer from" in window.detail


def test_server_is_asked_anew_before_its_model_is_opened() -> None:
    """A model that was not there when a session opened is sized when it is: never with a window that nobody sized."""
    with Ollama(models={}) as server, engine_of(server, {"default": 16384}) as engine:
        assert engine.session("s", model="m").window.source == "global-config"
        server.models["tiny:latest"] = told()
        assert engine.model("m").window_tokens == 8192
        window = engine.session("t", model="m").window
        assert (window.window_tokens, window.source) == (8192, "auto-ram")


def test_server_that_is_gone_when_the_model_is_opened_is_named() -> None:
    """It was sized before; what to start is said, and sessions that are open stay as they are."""
    with Ollama(models={"tiny:latest": told()}) as server:
        engine = engine_of(server)
        session = engine.session("s", model="m")
    with engine:
        with pytest.raises(LLMError, match=r"unreachable: no server at http.*ollama serve"):
            engine.model("m")
        assert session.assemble("hello").messages
        assert session.window.window_tokens == 8192


def test_facts_are_found_by_vectors_of_a_model_behind_ollama() -> None:
    """`memory.embedder` names it by its alias: what is added is embedded, and so is what is asked."""
    model = {"adapter": "ollama", "model": "tiny"}
    with Ollama(models={"tiny:latest": told()}) as server:
        settings = {
            "gpu": {"probe": "none"},
            "models": {"m": {**model, "url": server.url}},
            "memory": {"embedder": "m"},
        }
        with squidbot.load(settings) as engine:
            session = engine.session("s", scope=squidbot.Scope(user="ann", bot="helper"))
            session.memory({"action": "add", "text": "Ann has a beagle.", "category": "core"})
            assert "Ann has a beagle." in session.memory({"action": "search", "query": "beagle"}).text
            embedder = engine.wired.embedder()
            assert embedder is not None
            assert (embedder.name, embedder.dimensions) == ("ollama/tiny", 3)
        asked = [text for body in server.sent("/api/embed") for text in body["input"]]  # type: ignore[attr-defined]
    assert {"Ann has a beagle.", "beagle"} <= {*asked}
