"""What an Ollama server says of a model, and what follows from it without the model's file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.ollama import (
    MOST_ITEMS,
    OllamaModelInfo,
    OllamaPatience,
    Wire,
    named,
    read_info,
    read_pulled,
)
from squidbot.core.errors import LLMError
from squidbot.core.sizing.header import LongArray, Tensor

from .ollama import Model, Ollama
from .test_ollama import JSON

if TYPE_CHECKING:
    from pathlib import Path

    from .ollama import Json

LLAMA = {
    "general.architecture": "llama",
    "general.parameter_count": 8_030_261_312,
    "llama.block_count": 32,
    "llama.context_length": 131_072,
    "llama.embedding_length": 4_096,
    "llama.attention.head_count": 32,
    "llama.attention.head_count_kv": 8,
    "llama.rope.freq_base": 500_000.0,
    "tokenizer.ggml.tokens": [f"t{number}" for number in range(MOST_ITEMS + 1)],
}


def read(server: Ollama, model: str = "tiny", *, whole: bool = False) -> OllamaModelInfo:
    """Return what that server says of a model."""
    return read_info(Wire(server.url, OllamaPatience()), model, whole=whole)


def test_facts_are_those_of_the_header() -> None:
    """What sizing asks of a file's header is in the short answer; the vocabulary is not."""
    model = Model(info=LLAMA)
    with Ollama(models={"tiny:latest": model}) as server:
        facts = read(server)
    header = facts.header
    assert facts.native_tokens == 131_072
    assert header.architecture == "llama"
    assert (header.number("block_count"), header.numbers("attention.head_count_kv", 32)) == (32, (8,) * 32)
    assert facts.capabilities == ("completion", "tools", "embedding")
    assert "tokenizer.ggml.tokens" not in header.metadata
    assert len(server.sent("/api/show")) == 1


def test_whole_answer_is_asked_for_when_an_array_of_the_layout_was_left_out() -> None:
    """A number for each layer is needed to say what the cache takes; Ollama leaves arrays out of a short answer."""
    info = {**LLAMA, "llama.attention.head_count_kv": [8, 0] * 16}
    with Ollama(models={"tiny:latest": Model(info=info)}) as server:
        facts = read(server)
    assert facts.header.numbers("attention.head_count_kv", 32) == (8, 0) * 16
    assert facts.header.metadata["tokenizer.ggml.tokens"] == LongArray(8, MOST_ITEMS + 1)
    assert [body["verbose"] for body in server.sent("/api/show")] == [False, True]


def test_whole_answer_has_the_tensors_or_none_of_them() -> None:
    """Their types and shapes give the weights; where one of them is of an unknown type there are none."""
    known: list[Json] = [
        {"name": "token_embd.weight", "type": "Q6_K", "shape": [4_096, 128_256]},
        {"name": "output_norm.weight", "type": "F32", "shape": [4_096]},
    ]
    with Ollama(models={"tiny:latest": Model(info=LLAMA, tensors=known)}) as server:
        assert read(server).header.tensors == ()
        assert read(server, whole=True).header.tensors == (
            Tensor("token_embd.weight", (4_096, 128_256), 14),
            Tensor("output_norm.weight", (4_096,), 0),
        )
        server.models["tiny:latest"].tensors = [*known, {"name": "x", "type": "Q9_Z", "shape": [32]}]
        assert read(server, whole=True).header.tensors == ()


def test_path_of_the_file_is_told_where_it_can_be_seen(tmp_path: Path) -> None:
    """A blob on this machine; not one that is missing, and no other file that a modelfile may name."""
    blob = tmp_path / "blobs" / f"sha256-{'0a' * 32}"
    blob.parent.mkdir()
    other = tmp_path / "blobs" / "secrets"
    for file in (blob, other):
        file.write_bytes(b"GGUF")
    with Ollama() as server:
        for text, path in (
            (f"# made by ollama\nFROM {blob}\nTEMPLATE x", str(blob)),
            (f'FROM "{blob}"\n', str(blob)),
            (f"FROM {blob}0\n", ""),
            (f"FROM {other}\n", ""),
            ("FROM llama3.1\n", ""),
            (f"FROM {blob.with_name('sha256-' + '0b' * 32)}\n", ""),
        ):
            server.models["tiny:latest"].modelfile = text
            assert read(server).path == path
    far = Saying({"modelfile": f"FROM {blob}\n"}, "http://example.org:11434")
    assert read_info(far, "x").path == ""
    near = Saying({"modelfile": f"FROM {blob}\n"}, "http://localhost:11434")
    assert read_info(near, "x").path == str(blob)
    long = Saying({"modelfile": f"FROM /{'a' * 9_000}{blob}\n"})
    assert read_info(long, "x").path == ""


def test_names_and_models_are_read() -> None:
    """A name without a tag means the newest; what the server has."""
    assert named("Llama3.1") == named("llama3.1:latest") != named("llama3.1:8b")
    assert named("hf.co:443/me/x") == "hf.co:443/me/x:latest"
    with Ollama(models={"b:latest": Model(), "a:8b": Model()}) as server:
        wire = Wire(f"{server.url}/v1/", OllamaPatience())
        assert read_pulled(wire) == ("b:latest", "a:8b")
        with pytest.raises(LLMError, match="`ollama pull c`"):
            read_info(wire, "c")


class Saying(Wire):
    """A server that answers one thing."""

    def __init__(self, said: dict[str, object], url: str = "") -> None:
        super().__init__(url, OllamaPatience())
        self._said = said

    def ask(self, *_: object, **__: object) -> dict[str, object]:
        """Answer it."""
        return self._said


KEYS = st.sampled_from(["general.architecture", "llama.context_length", "llama.x", "general.parameter_count", ""])
SHOWN = st.fixed_dictionaries(
    {},
    optional={
        "model_info": st.dictionaries(KEYS, JSON | st.just("llama")) | JSON,
        "details": st.dictionaries(st.sampled_from(["parameter_size", "quantization_level"]), JSON) | JSON,
        "tensors": st.lists(st.dictionaries(st.sampled_from(["name", "type", "shape"]), JSON | st.just("F32"))) | JSON,
        **{key: JSON | st.text() for key in ("capabilities", "template", "modelfile", "parameters")},
    },
)


@given(said=SHOWN)
def test_whatever_a_server_says_of_a_model_is_read(said: dict[str, object]) -> None:
    """Values of other types than Ollama's are passed over."""
    facts = read_info(Saying(said), "x")
    assert facts.native_tokens is None or facts.native_tokens > 0
    assert all(isinstance(name, str) for name in facts.capabilities)
