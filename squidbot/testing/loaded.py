"""What a model that a runtime holds ready promises, as a check."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from squidbot.core.errors import ContextOverflowError, LLMError
from squidbot.core.messages import Reply
from squidbot.testing.counters import check_token_counter
from squidbot.testing.embedders import check_embedder
from squidbot.testing.values import ODD_TEXTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from squidbot.core.ports import LoadedModel

__all__ = ["check_loaded_model"]

ASKED = ({"role": "system", "content": "You are brief."}, {"role": "user", "content": "What is deep?"})
TOOL = {
    "type": "function",
    "function": {
        "name": "depth",
        "description": "Tells how deep a sea is.",
        "parameters": {"type": "object", "properties": {"sea": {"type": "string"}}, "required": ["sea"]},
    },
}
CALLED = {"id": "call00001", "type": "function", "function": {"name": "depth", "arguments": '{"sea": "Aral"}'}}
ROUND_TRIP = (
    *ASKED,
    {"role": "assistant", "content": None, "tool_calls": [CALLED]},
    {"role": "tool", "tool_call_id": "call00001", "content": "42 m"},
)
FINISHES = {"stop", "length", "tool_calls"}


class _StoppedError(Exception):
    """What a listener raises to end an answer."""


def check_loaded_model(factory: Callable[[], LoadedModel], *, answer_tokens: int = 16, embeds: bool = True) -> None:
    """Check the promises of `ports.LoadedModel` whose messages have the form "openai.chat".

    `factory` opens the model anew, with a window of at most some thousands of tokens, and with `embeds` one that makes
    vectors. What it answers may be anything; its own text only has to be what was told piece by piece.

    Promised: replies of at most the tokens that were asked for, with and without tools and their results; pieces that
    make up the text; what a listener raises, and the model answers on; what does not fit the window is refused, at the
    very token; odd characters; threads; the counter's and the embedder's own promises; after `close`, which may come
    twice, an LLMError.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    model = factory()
    try:
        assert model.form == "openai.chat", f"this check speaks openai.chat, not {model.form!r}"
        check_token_counter(model.counter)
        for messages, tools in ((ASKED, ()), (ASKED, (TOOL,)), (ROUND_TRIP, (TOOL,)), (ROUND_TRIP, ())):
            _checks_reply(model, messages, tools, answer_tokens)
        _checks_listener(model, answer_tokens)
        _checks_texts(model, answer_tokens)
        _checks_threads(model, answer_tokens)
        _checks_window(model, answer_tokens)
        if embeds:
            check_embedder(model.embedder)
    finally:
        model.close()
        model.close()
    _checks_closed(model, answer_tokens)


def _checks_reply(
    model: LoadedModel, messages: tuple[Mapping[str, object], ...], tools: tuple[Mapping[str, object], ...], most: int
) -> None:
    pieces: list[str] = []
    reply = model.reply(messages, most, tools, pieces.append)
    assert isinstance(reply, Reply), f"reply returns a Reply: got {reply!r:.80}"
    assert reply.message.get("role") == "assistant", f"it is the assistant's message: got {reply.message!r:.200}"
    text = reply.message.get("content") or ""
    assert "".join(pieces) == text, f"the pieces make up the text: told {pieces!r:.200}, and it was {text!r:.200}"
    assert reply.finish in FINISHES, f"finish is one of {sorted(FINISHES)}: got {reply.finish!r}"
    assert reply.input_tokens > 0, "a prompt has tokens"
    assert 0 <= reply.output_tokens <= most, f"at most {most} tokens were asked for: got {reply.output_tokens}"
    assert 0 <= reply.cached_tokens <= reply.input_tokens, "cached tokens are tokens of the input"
    calls = reply.message.get("tool_calls") or []
    assert (reply.finish == "tool_calls") == bool(calls), "finish says that there are calls when there are any"
    assert not calls or tools, "without tools nothing is called"


def _checks_listener(model: LoadedModel, most: int) -> None:
    def stops(_: str) -> None:
        raise _StoppedError

    try:
        reply = model.reply(ASKED, most, told=stops)
    except _StoppedError:
        pass
    else:
        assert not reply.message.get("content"), "what a listener raises ends the answer and goes to the caller"
    _checks_reply(model, ASKED, (), most)


def _checks_texts(model: LoadedModel, most: int) -> None:
    for text in ODD_TEXTS:
        try:
            reply = model.reply([{"role": "user", "content": text}], most)
        except (LLMError, ContextOverflowError):
            continue  # what it refuses is its own affair, so long as it is told in our words
        assert isinstance(reply, Reply), f"a message of {text!a} gets a Reply, or an error of ours: got {reply!r}"


def _checks_threads(model: LoadedModel, most: int) -> None:
    got: list[Reply] = []
    threads = [threading.Thread(target=lambda: got.append(model.reply(ASKED, most))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 3, "threads that ask at once get their answers"


def _checks_window(model: LoadedModel, most: int) -> None:
    window = model.window_tokens
    assert model.served.window_tokens == window, "the window is what the runtime said it set up"
    if window is None:
        return
    asked = model.reply(ASKED, most).input_tokens
    assert asked + most <= window, f"this check needs a window of more than {asked + most}: it is {window}"
    _checks_refused(model, ASKED, window - asked + 1)
    long = ({"role": "user", "content": "word " * (window * 4)},)
    _checks_refused(model, long, most)


def _checks_refused(model: LoadedModel, messages: tuple[Mapping[str, object], ...], most: int) -> None:
    what = "messages and an answer that are more than the window are a ContextOverflowError"
    try:
        reply = model.reply(messages, most)
    except ContextOverflowError:
        return
    except Exception as error:
        raise AssertionError(f"{what}: got {error!r:.200}") from error
    raise AssertionError(f"{what}: got an answer to {reply.input_tokens} tokens of {model.window_tokens}, and {most}")


def _checks_closed(model: LoadedModel, most: int) -> None:
    try:
        model.reply(ASKED, most)
    except LLMError:
        return
    raise AssertionError("a model that is closed answers with an LLMError")
