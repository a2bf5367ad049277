"""What a language model's adapter promises, as a check."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from squidbot.core.errors import ContextOverflowError, LLMError
from squidbot.core.messages import Completion
from squidbot.testing.values import ODD_TEXTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from squidbot.core.ports import LLM

__all__ = ["check_llm"]

SYSTEM = "You answer in one word."
PROMPT = "Which colour has the sky at noon? One word."
# English text has about four characters a token; so many more than a window are past any count of it.
CHARS_A_TOKEN, SURE_FACTOR = 4, 4


def check_llm(
    factory: Callable[[], LLM],
    *,
    window_tokens: int | None = None,
    failing: Iterable[Callable[[], LLM]] = (),
    answer_tokens: int = 64,
) -> None:
    """Check the promises of `ports.LLM`; asks the model about fifteen times.

    `factory` returns the adapter over a server, or over something that stands for one; each of `failing` returns it
    over a server that fails in one way: not reached, an error's status, an answer that was cut off or is empty, a
    refusal. With `window_tokens` a prompt of far more than these is tried, too.

    Promised: a name that does not change; a `Completion` with a text, and counts of 0 or more; whatever characters a
    prompt has, an answer or an error of ours; a failure is raised and never answered; threads may share it.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    _checks_name(factory)
    _checks_answer(factory(), answer_tokens)
    _checks_texts(factory(), answer_tokens)
    _checks_threads(factory(), answer_tokens)
    if window_tokens is not None:
        _checks_overflow(factory(), window_tokens, answer_tokens)
    for number, broken in enumerate(failing):
        _checks_failure(broken(), number, answer_tokens)


def _checks_name(factory: Callable[[], LLM]) -> None:
    llm = factory()
    name = llm.name
    assert isinstance(name, str), f"a name is a str: got {name!r}"
    assert name.strip() == name, f"a name has no white space around it: got {name!r}"
    assert name.isprintable(), f"a name stands in the notes on one line: got {name!r}"
    assert name, "a name is not empty: summaries carry it"
    assert llm.name == name == factory().name, "a name does not change"


def _checks_answer(llm: LLM, answer_tokens: int) -> None:
    made = llm.complete(SYSTEM, PROMPT, answer_tokens)
    assert isinstance(made, Completion), f"complete returns a Completion: got {made!r:.80}"
    assert isinstance(made.text, str), f"its text is a str: got {made.text!r:.80}"
    assert made.text.strip(), "an answer of nothing is an LLMError, and never returned"
    for name, tokens in (("input_tokens", made.input_tokens), ("output_tokens", made.output_tokens)):
        assert isinstance(tokens, int), f"{name} is an int: got {tokens!r}"
        assert tokens >= 0, f"{name} is 0 or more: got {tokens!r}"


def _checks_texts(llm: LLM, answer_tokens: int) -> None:
    for text in ODD_TEXTS:
        try:
            made = llm.complete(text, f"{text}\n{PROMPT}", answer_tokens)
        except (LLMError, ContextOverflowError):
            continue  # what a provider refuses is its own affair, so long as it is told in our words
        assert isinstance(made, Completion), f"a prompt with {text!a} gets a Completion, or an LLMError: got {made!r}"


def _checks_threads(llm: LLM, answer_tokens: int) -> None:
    got: list[Completion] = []
    threads = [
        threading.Thread(target=lambda: got.append(llm.complete(SYSTEM, PROMPT, answer_tokens))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 2, "two threads that ask at once get their answers"


def _checks_overflow(llm: LLM, window_tokens: int, answer_tokens: int) -> None:
    prompt = "word " * (window_tokens * SURE_FACTOR * CHARS_A_TOKEN // 5)
    try:
        made = llm.complete(SYSTEM, prompt, answer_tokens)
    except ContextOverflowError:
        return
    except Exception as error:
        raise AssertionError(f"a prompt that does not fit is a ContextOverflowError: got {error!r:.200}") from error
    raise AssertionError(f"a prompt that does not fit is a ContextOverflowError: got the answer {made.text!a:.80}")


def _checks_failure(llm: LLM, number: int, answer_tokens: int) -> None:
    try:
        made = llm.complete(SYSTEM, PROMPT, answer_tokens)
    except (LLMError, ContextOverflowError):
        return
    except Exception as error:
        raise AssertionError(f"failure {number} is an LLMError: got {error!r:.200}") from error
    raise AssertionError(f"failure {number} is raised, an error's text is no answer: got {made.text!a:.80}")
