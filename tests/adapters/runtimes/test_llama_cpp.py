"""A model in this process, with the real runtime: its port's check, then what is its own."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from squidbot.core.errors import ContextOverflowError, LLMError, ModelLoadError
from squidbot.core.sizing.header import Definition, Loading
from squidbot.testing import check_embedder, check_llm, check_loaded_model, check_token_counter, offline_chat_model

from .tiny import scripted_model, tiny_model

pytestmark = pytest.mark.llama_cpp
llama_cpp = pytest.importorskip("llama_cpp", reason="needs llama-cpp-python, which is compiled where it is installed")

from squidbot.adapters.llama_cpp.model import (  # noqa: E402  # it imports llama_cpp
    LlamaModel,
    Vocabulary,  # as above
    open_model,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WINDOW = 512
CALL = '<tool_call>\n{"name": "depth", "arguments": {"sea": "Aral"}}\n</tool_call>'
TOOLS = [{"type": "function", "function": {"name": "depth", "parameters": {"type": "object"}}}]
ASKED = [{"role": "user", "content": "How deep is the Aral?"}]


def opened(path: Path, **loading: object) -> LlamaModel:
    """Open a model with a small window."""
    given = {"n_ctx": WINDOW, "n_ubatch": 128} | loading
    return open_model(Definition("tiny", str(path), Loading(**given)))  # type: ignore[arg-type]  # values of fields


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The chat model of random weights."""
    return offline_chat_model(tmp_path_factory.mktemp("offline") / "offline.gguf")


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that calls a tool, and answers when it has the result."""
    folder = tmp_path_factory.mktemp("scripted")
    return scripted_model(folder / "scripted.gguf", ["I look.\n", CALL], ["It is ", "42 m deep."])


@pytest.fixture
def chat(offline: Path) -> Iterator[LlamaModel]:
    """The chat model, ready."""
    model = opened(offline)
    yield model
    model.close()


# -- checks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["offline", "scripted"])
def test_model_keeps_the_promises_of_its_port(name: str, request: pytest.FixtureRequest) -> None:
    """Random weights answer anything, scripted ones always the same, with a call."""
    path = request.getfixturevalue(name)
    check_loaded_model(lambda: opened(path, n_ctx=2 * WINDOW))


@pytest.mark.parametrize("name", ["gemma3", "mamba", "jamba"])
def test_model_keeps_the_promises_of_its_port_when_its_cache_is_no_plain_one(name: str, tmp_path: Path) -> None:
    """Windows that slide and recurrent state can't go back to any token: the prefix of a prompt is read again."""
    path = tiny_model(tmp_path / f"{name}.gguf", name)
    check_loaded_model(lambda: opened(path, n_ctx=2 * WINDOW))


def test_model_keeps_the_promises_of_a_language_model(tmp_path: Path) -> None:
    """One that ends its answers: what does not end is cut, which is a failure."""
    path = scripted_model(tmp_path / "scripted.gguf", ["The sea", " is deep."])
    model = opened(path)
    silent = opened(scripted_model(tmp_path / "silent.gguf", [" "]))
    check_llm(lambda: model, window_tokens=WINDOW, answer_tokens=8, failing=[lambda: silent])
    made = model.complete("Be brief.", "What is deep?", 8)
    assert (made.text, made.output_tokens) == ("The sea is deep.", 3)
    with pytest.raises(LLMError, match=r"^cut: "):
        model.complete("Be brief.", "What is deep?", 2)
    model.close()
    silent.close()


def test_embedder_keeps_its_promises_when_a_text_is_too_long(chat: LlamaModel) -> None:
    """A text longer than the window is refused, never cut."""
    check_embedder(chat.embedder, too_long="x" * (WINDOW + 1))


def test_vocabulary_keeps_the_promises_of_a_counter_when_no_model_is_loaded(offline: Path) -> None:
    """It needs the file only."""
    counter = Vocabulary(offline)
    check_token_counter(counter)
    assert (counter.name, counter.certificate) == ("llama_cpp:offline", "exact")


# -- counting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["Hello, the world.", "a<|im_end|>b<s>", "", "\N{SQUID}" * 9, "▁x", "a\0b"])
def test_prompt_is_counted_as_the_runtime_counts_it(content: str, offline: Path, chat: LlamaModel) -> None:
    """What llama-cpp-python itself says that it read of the same chat, control tokens in what was said included."""
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": content}]
    theirs = llama_cpp.Llama(str(offline), n_ctx=WINDOW, verbose=False)
    usage = theirs.create_chat_completion(messages, max_tokens=1)["usage"]
    theirs.close()
    assert chat.prompt_tokens(messages) == usage["prompt_tokens"]
    assert chat.reply(messages, 1).input_tokens == usage["prompt_tokens"]


def test_control_token_in_a_text_counts_as_one_as_it_is_read(chat: LlamaModel) -> None:
    """llama-cpp-python reads control tokens anywhere in a chat; as plain text it would be ten."""
    assert chat.counter.count("<|im_end|>") == 1
    assert chat.counter.count("<|im_end>") == len("<|im_end>")


def test_counter_goes_on_when_the_model_is_closed(offline: Path) -> None:
    """Stored counts are needed after a model was replaced; its vocabulary is its own."""
    model = opened(offline)
    counter = model.counter
    model.close()
    assert counter.count("no\ud800") == 1 + 3  # a word of its own, and the bytes of U+FFFD, which stands for the other


# -- the window -------------------------------------------------------------------------------------------------------


def test_longest_request_that_fits_is_answered_and_one_token_more_is_refused(chat: LlamaModel) -> None:
    """By us, before the runtime is asked: it would fail in the middle of an answer."""
    asked = chat.prompt_tokens(ASKED)
    filled = [{"role": "user", "content": ASKED[0]["content"] + "x" * (WINDOW - asked - 4)}]
    assert chat.reply(filled, 4).input_tokens == WINDOW - 4
    overflow = rf"up to {WINDOW - 4} tokens\) and the answer \(5\) exceed .* window of {WINDOW} tokens"
    with pytest.raises(ContextOverflowError, match=overflow):
        chat.reply(filled, 5)


def test_nothing_is_left_to_defaults_of_the_runtime(tmp_path: Path) -> None:
    """Its own would keep the whole window in sliding layers, in f16, without flash attention."""
    path = tiny_model(tmp_path / "gemma3.gguf", "gemma3")
    model = opened(path, n_ctx=2048, type_k="q8_0", type_v="q8_0")
    assert model.window_tokens == 2048
    assert model.served.kv_bytes is not None
    # One layer of 2,048 cells and six of 512, two heads of 32, K and V, 34 bytes for 32 elements.
    expected = (2048 + 6 * 512) * 2 * 2 * 34
    assert abs(sum(model.served.kv_bytes.values()) - expected) <= 2 * 0.005 * 2**20 + 2
    model.close()


# -- tools, streaming -------------------------------------------------------------------------------------------------


def test_tool_is_called_and_its_result_read(scripted: Path) -> None:
    """The round trip: a call with its arguments as JSON, then the answer that follows from the result."""
    model = opened(scripted)
    pieces: list[str] = []
    first = model.reply(ASKED, 32, TOOLS, pieces.append)
    assert first.finish == "tool_calls"
    assert "".join(pieces) == first.message["content"] == "I look."
    calls: Any = first.message["tool_calls"]
    (call,) = calls
    assert call["function"] == {"name": "depth", "arguments": '{"sea": "Aral"}'}
    answered = {"role": "tool", "tool_call_id": call["id"], "content": "42 m"}
    second = model.reply([*ASKED, first.message, answered], 32, TOOLS)
    assert (second.message, second.finish) == ({"role": "assistant", "content": "It is 42 m deep."}, "stop")
    assert second.input_tokens > first.input_tokens
    assert second.cached_tokens > 0
    model.close()


def test_what_looks_like_a_call_is_text_when_no_tools_were_given(scripted: Path) -> None:
    """Nobody would answer it."""
    model = opened(scripted)
    pieces: list[str] = []
    reply = model.reply(ASKED, 32, on_text=pieces.append)
    assert (reply.message["content"], reply.finish) == (f"I look.\n{CALL}", "stop")
    assert pieces == ["I look.\n", CALL]
    model.close()


def test_threads_take_turns(chat: LlamaModel) -> None:
    """A second question waits for the first answer, and gets its own."""
    pieces: list[str] = []
    inside = threading.Event()

    def told(piece: str) -> None:
        pieces.append(piece)
        inside.set()

    thread = threading.Thread(target=lambda: chat.reply(ASKED, 64, on_text=told))
    thread.start()
    inside.wait(10)
    reply = chat.reply(ASKED, 4)
    thread.join()
    assert reply.output_tokens <= 4
    assert pieces


# -- embedding --------------------------------------------------------------------------------------------------------


def test_vectors_are_those_of_llama_cpp_python(offline: Path, chat: LlamaModel) -> None:
    """Its own face makes the same, to within 1e-6, from a second copy of the weights."""
    texts = ["the sea", "no"]
    theirs = llama_cpp.Llama(str(offline), n_ctx=WINDOW, embedding=True, flash_attn=True, verbose=False, pooling_type=1)
    for own, other in zip(chat.embedder().embed(texts), theirs.embed(texts, normalize=True), strict=True):
        assert max(abs(one - two) for one, two in zip(own, other, strict=True)) < 1e-6
    theirs.close()


def test_embedder_of_a_closed_model_says_so(offline: Path) -> None:
    """It neither crashes nor answers."""
    model = opened(offline)
    embedder = model.embedder()
    model.close()
    with pytest.raises(LLMError, match=r"^unreachable: tiny is closed$"):
        embedder.embed(["x"])
    with pytest.raises(LLMError, match=r"^unreachable: tiny is closed$"):
        model.embedder()


# -- failures ---------------------------------------------------------------------------------------------------------


def test_load_that_fails_says_what_the_runtime_said_last(tmp_path: Path, offline: Path) -> None:
    """A file that is no model, one that is not there, a setting that llama.cpp refuses, a file without vocabulary."""
    garbage = tmp_path / "garbage.gguf"
    garbage.write_text("garbage", encoding="utf-8")
    with pytest.raises(ModelLoadError, match="invalid magic"):
        opened(garbage)
    with pytest.raises(ModelLoadError, match="failed to open"):
        opened(tmp_path / "none.gguf")
    with pytest.raises(ModelLoadError, match="quantized V cache requires flash_attn"):
        opened(offline, type_v="q8_0", flash_attn=False)
    with pytest.raises(ModelLoadError, match="n_seq_max must be 1"):
        opened(offline, n_seq_max=2)


def test_nothing_is_printed_when_a_model_loads_or_fails_to(
    offline: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A host may speak with its own on standard output; what llama.cpp says is kept for errors."""
    opened(offline).close()
    with pytest.raises(ModelLoadError):
        opened(tmp_path / "none.gguf")
    assert capfd.readouterr() == ("", "")


def test_messages_that_are_no_text_are_refused(chat: LlamaModel) -> None:
    """A picture would be left out in silence."""
    picture = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}
    with pytest.raises(LLMError, match=r"^refused: .* type 'image_url'$"):
        chat.reply([picture], 4)
    text = {"role": "user", "content": [{"type": "text", "text": "He"}, {"type": "text", "text": "y"}]}
    assert chat.prompt_tokens([text]) == chat.prompt_tokens([{"role": "user", "content": "Hey"}])
