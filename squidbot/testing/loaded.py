"""What a model that a runtime holds ready promises, as a check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core.errors import ContextOverflowError, LLMError
from squidbot.testing.chats import ASKED, check_chat, rounds
from squidbot.testing.counters import check_token_counter
from squidbot.testing.embedders import check_embedder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from squidbot.core.ports import LoadedModel

__all__ = ["check_loaded_model"]


def check_loaded_model(factory: Callable[[], LoadedModel], *, answer_tokens: int = 16, embeds: bool = True) -> None:
    """Check the promises of `ports.LoadedModel` whose messages have the form "openai.chat".

    `factory` opens the model anew, with a window of at most some thousands of tokens, and with `embeds` one that makes
    vectors. What it answers may be anything; its own text only has to be what was told piece by piece.

    Promised: what `check_chat` checks; what does not fit the window is refused, at the very token; the counter's and
    the embedder's own promises; after `close`, which may come twice, an LLMError.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    model = factory()
    try:
        assert model.form == "openai.chat", f"this check speaks openai.chat, not {model.form!r}"
        check_token_counter(model.counter)
        check_chat(lambda: model, answer_tokens=answer_tokens)
        assert model.reply(rounds("openai.chat")[-1][0], answer_tokens).input_tokens > 0, "a prompt has tokens"
        _checks_window(model, answer_tokens)
        if embeds:
            check_embedder(model.embedder)
    finally:
        model.close()
        model.close()
    _checks_closed(model, answer_tokens)


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
