"""An answer token by token, as text."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, NamedTuple

import llama_cpp

from squidbot.adapters.llama_cpp.lines import last_words
from squidbot.adapters.llama_cpp.logs import LOG
from squidbot.core.errors import LLMError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from squidbot.adapters.llama_cpp.vocabulary import Vocabulary

__all__ = ["Written", "write"]


class Written(NamedTuple):
    """A whole answer.

    Attributes:
        text: all of it.
        ended: whether the model ended it, not the limit.
        input_tokens, output_tokens: of the prompt, and of the answer, the token that ended it included.
        cached_tokens: of the prompt, known from the call before.
    """

    text: str
    ended: bool
    input_tokens: int
    output_tokens: int
    cached_tokens: int


def write(  # noqa: PLR0913  # what one answer depends on
    llama: llama_cpp.Llama,
    vocabulary: Vocabulary,
    tokens: Sequence[int],
    most: int,
    *,
    control: bool,
    temperature: float | None,
) -> Generator[str | Written, None, None]:
    """Yield the pieces of an answer to a prompt, then the whole of it.

    Args:
        llama: the model; nobody else uses it meanwhile.
        vocabulary: its own.
        tokens: the prompt's; with `most` they fit the window.
        most: tokens of the answer.
        control: whether control tokens are text, as they are where a call begins with one.
        temperature: 0: always the likeliest token; None: as llama-cpp-python has it for chats.

    Raises:
        LLMError: llama.cpp failed.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    llama_cpp.llama_perf_context_reset(llama.ctx)
    text: list[str] = []
    count, ended, cached = 0, False, 0
    for token in _generated(llama, tokens, most, 0.2 if temperature is None else temperature):
        if not count:
            cached = len(tokens) - int(llama_cpp.llama_perf_context(llama.ctx).n_p_eval)
        count += 1
        ended = vocabulary.ends(token)
        if ended:
            break
        if piece := decoder.decode(vocabulary.piece(token, control=control)):
            text.append(piece)
            yield piece
    if rest := decoder.decode(b"", final=True):
        text.append(rest)
        yield rest
    yield Written("".join(text), ended, len(tokens), count, max(0, cached))


def _generated(llama: llama_cpp.Llama, tokens: Sequence[int], most: int, temperature: float) -> Iterator[int]:
    if not tokens:
        raise LLMError("refused", "the model's chat template makes no prompt of these messages")
    if most < 1:
        return
    mark = LOG.mark()
    made = llama.generate(tokens, temp=temperature)
    try:
        for _ in range(most):
            yield next(made)
    except (RuntimeError, ValueError, AssertionError, OSError) as error:
        llama.reset()
        raise LLMError(
            "refused", f"llama.cpp failed: {error}; the last it said: {last_words(LOG.since(mark))}"
        ) from error
    finally:
        made.close()
