"""Chats through the engine with a real llama.cpp, over the tiny model, in a window of 512 tokens."""

from __future__ import annotations

import importlib
import random
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

import pytest

import squidbot
from squidbot.core.errors import BudgetError, ContextOverflowError
from squidbot.core.ports import LoadedModel
from squidbot.core.sizing.header import Definition, Loading
from squidbot.testing import offline_chat_model

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from squidbot.hookspecs import Register

WINDOW_TOKENS, RESERVE_TOKENS = 512, 24
SYSTEM = "Be brief."
WORDS = ("hello", "the", "squid", "window", "512", "no", "Ünïcode", "<b>", "deep", "sea")
LOOK = {
    "type": "function",
    "function": {
        "name": "look",
        "parameters": {"type": "object", "properties": {"q": {"enum": ["a", "b"]}}, "required": ["q"]},
    },
}
# Random weights call no tool by themselves: it is given to them, or they are made to begin one, by the token that is
# added to the vocabulary for it, and to end behind it.
CALLS = {"tool_choice": "required", "parallel_tool_calls": False, "logit_bias": [[360, 50.0], [359, 100.0]]}
CALL = {"id": "call00001", "type": "function", "function": {"name": "look", "arguments": '{"q": "sea, deep"}'}}
ASKING = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "call00001", "content": "found: the squid"}

# What adapters can be made to do with one thread: several wait for each other where the processor is busy.
RUNTIMES = {"xllamacpp": ("xllamacpp", {"threads": 1}), "llama_cpp": ("llama_cpp.model", {})}


class Model(LoadedModel, Protocol):
    """A loaded model that says what a prompt has, its template included."""

    def prompt_tokens(
        self, messages: Sequence[Mapping[str, object]], tools: Sequence[Mapping[str, object]] = ()
    ) -> int:
        """Return the tokens that the model gets."""


@pytest.fixture(scope="module", params=RUNTIMES)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    """The tiny model in each runtime that is installed."""
    pytest.importorskip(request.param)
    path = offline_chat_model(tmp_path_factory.mktemp("model") / "tiny.gguf")
    module, options = RUNTIMES[request.param]
    adapter = importlib.import_module(f"squidbot.adapters.{module}")
    opened = adapter.open_model(Definition("tiny", str(path), Loading(n_ctx=WINDOW_TOKENS)), **options)
    yield cast("Model", opened)
    opened.close()


class Counting(NamedTuple):
    """An extension that offers a model's counter as "model"."""

    model: Model

    @squidbot.hookimpl
    def register_adapters(self, register: Register) -> None:
        """Offer it."""
        register.counter("model", lambda _: self.model.counter)


def session(model: Model, store: Path | None = None) -> squidbot.Session:
    """Return a session in the model's window, counted by the model itself."""
    settings: dict[str, object] = {
        "window": {"default": model.window_tokens},
        "budget": {"counter": "model", "reserved_output_tokens": RESERVE_TOKENS},
    }
    if store is not None:
        settings["store"] = {"adapter": "sqlite3", "path": str(store)}
    return squidbot.load(settings, extensions=[Counting(model)]).session("s")


def sent(model: Model, asked: squidbot.Assembly, tools: Sequence[Mapping[str, object]] = ()) -> int:
    """Return what a request really has, and see that it is neither over its bound nor over the window."""
    tokens = model.prompt_tokens(asked.messages, tools)
    assert tokens <= asked.report.cost.bound, str(asked)
    assert tokens + RESERVE_TOKENS <= WINDOW_TOKENS
    return tokens


def test_long_chat_stays_in_its_window(model: Model, tmp_path: Path) -> None:
    """Sixty turns and many events: no request is over its bound, and the runtime refuses none."""
    one, draw, events, largest = session(model, tmp_path / "s.db"), random.Random(5), 0, 0  # noqa: S311  # the same words each time
    for _ in range(60):
        said = " ".join(draw.choices(WORDS, k=draw.randint(1, 12)))
        asked = one.assemble(said, system=SYSTEM)
        events += asked.event is not None
        largest = max(largest, sent(model, asked))
        reply = model.reply(asked.messages, RESERVE_TOKENS)
        assert reply.input_tokens == model.prompt_tokens(asked.messages)
        one.record(
            asked.incoming,
            reply.message,
            usage={"prompt_tokens": reply.input_tokens, "completion_tokens": reply.output_tokens},
        )
    assert events >= 5
    assert largest > WINDOW_TOKENS // 2, "what is kept would fit a far smaller window"
    assert one.window.counter == one.meter.name


def test_bound_is_near_the_real_size(model: Model) -> None:
    """A request of a few messages is counted to within a sixth of the window: room is for what is said."""
    one = session(model)
    for number in range(4):
        asked = one.assemble(f"hello {number}", system=SYSTEM)
        one.record(asked.incoming, "the sea")
    assert asked.report.cost.bound - sent(model, asked) <= WINDOW_TOKENS // 6


def test_tool_call_makes_its_round_trip(model: Model) -> None:
    """The call and its result stand in the next request, are counted in full, and the model goes on from them."""
    one = session(model)
    for _ in range(6):
        asked = one.assemble("look for the squid", system=SYSTEM, tools=[LOOK])
        sent(model, asked, [LOOK])
        one.record(asked.incoming, ASKING, RESULT)
        with_result = one.assemble(system=SYSTEM, tools=[LOOK])
        sent(model, with_result, [LOOK])
        assert with_result.messages[-2:] == [ASKING, RESULT]
        reply = model.reply(with_result.messages, RESERVE_TOKENS, [LOOK])
        one.record(reply.message)
    roles = [row.role for row in one.wired.store.read("s", 0, 3)]
    assert roles == ["user", "assistant", "tool", "assistant"]


def test_tool_call_of_the_model_itself_is_recorded_and_answered(tmp_path: Path) -> None:
    """A runtime that can be made to call a tool: what it says goes into the transcript and comes back to it."""
    xllamacpp = pytest.importorskip("squidbot.adapters.xllamacpp", exc_type=ImportError)
    path = offline_chat_model(tmp_path / "calls.gguf", more_tokens=["<tool_call>\n"])
    opened = xllamacpp.open_model(Definition("tiny", str(path), Loading(n_ctx=WINDOW_TOKENS)), extra=CALLS, threads=1)
    try:
        one = session(opened)
        asked = one.assemble("hello", system=SYSTEM, tools=[LOOK])
        reply = opened.reply(asked.messages, 200, [LOOK])
        assert reply.finish == "tool_calls"
        *_, called = one.record(asked.incoming, reply.message)
        one.record({"role": "tool", "tool_call_id": called.call_ids[0], "content": "found"})
        answered = one.assemble(system=SYSTEM, tools=[LOOK])
        sent(opened, answered, [LOOK])
        assert [message["role"] for message in answered.messages] == ["system", "user", "assistant", "tool"]
        assert opened.reply(answered.messages, RESERVE_TOKENS, [LOOK]).input_tokens > reply.input_tokens
    finally:
        opened.close()


def test_streamed_pieces_are_what_is_recorded(model: Model) -> None:
    """A listener gets the text that the transcript gets."""
    one, pieces = session(model), list[str]()
    asked = one.assemble("hello", system=SYSTEM)
    reply = model.reply(asked.messages, RESERVE_TOKENS, on_text=pieces.append)
    *_, stored = one.record(asked.incoming, reply.message)
    assert "".join(pieces) == one.wired.codecs["openai.chat"].text(stored.payload) != ""


def test_texts_are_embedded(model: Model) -> None:
    """By the same model; equal texts lie together."""
    first, again, other = model.embedder().embed(["the sea", "the sea", "a squid"])
    assert len(first) == model.embedder().dimensions
    assert sum(map(abs, map(float.__sub__, first, again))) < 1e-4 < sum(map(abs, map(float.__sub__, first, other)))


def test_prompt_that_is_too_long_is_refused_before_the_runtime_is_asked(model: Model) -> None:
    """The engine says who takes the room; a host that asks the model itself is told by us as well."""
    one, long = session(model), "squid " * 300
    with pytest.raises(BudgetError) as refused:
        one.assemble(long, system=SYSTEM)
    assert refused.value.budget <= WINDOW_TOKENS - RESERVE_TOKENS
    with pytest.raises(ContextOverflowError, match="512"):
        model.reply([{"role": "user", "content": long}], RESERVE_TOKENS)
    asked = one.assemble("hello", system=SYSTEM)
    assert model.reply(asked.messages, RESERVE_TOKENS).output_tokens <= RESERVE_TOKENS
