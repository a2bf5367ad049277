"""A model's own vocabulary: counts tokens exactly, with none of the weights in memory."""

from __future__ import annotations

import ctypes
import os
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

import llama_cpp

from squidbot.adapters.llama_cpp.lines import last_words
from squidbot.adapters.llama_cpp.logs import LOG
from squidbot.core.errors import ModelLoadError
from squidbot.core.messages import Cost

if TYPE_CHECKING:
    from squidbot.core.ports import Certificate

__all__ = ["Vocabulary"]

# llama.cpp takes lengths of 31 bits; a text beyond this counts by its bytes, and no model takes it.
MOST_BYTES = 2**30
# The longest token of known vocabularies; a longer one gets its room when it comes.
PIECE_BYTES = 256
# llama.cpp's number for "this file has no vocabulary"; it aborts where such a one is asked for tokens.
_NO_VOCABULARY = 0


class Vocabulary:
    """A TokenCounter by a model file's own vocabulary. Threads may share it, and it outlives the model.

    What looks like a control token in a text ("<|im_end|>") counts as that token, because llama-cpp-python reads it as
    one wherever it stands in a chat. The space that some vocabularies put before a text is counted with every text.
    """

    def __init__(self, path: str | Path) -> None:
        """Read the vocabulary of a model file, of several parts the first.

        Raises:
            ModelLoadError: llama.cpp can't read it, or it has none.
        """
        self._path = Path(path)
        LOG.listen()
        mark = LOG.mark()
        llama_cpp.llama_backend_init()
        params = llama_cpp.llama_model_default_params()
        params.vocab_only = True
        model = llama_cpp.llama_model_load_from_file(os.fsencode(self._path), params)
        if not model:
            said = last_words(LOG.since(mark)) or "nothing"
            raise ModelLoadError(f"llama.cpp can't read the vocabulary of {path}; the last it said: {said}")
        weakref.finalize(self, llama_cpp.llama_model_free, model).atexit = False
        self._vocab = llama_cpp.llama_model_get_vocab(model)
        if llama_cpp.llama_vocab_type(self._vocab) == _NO_VOCABULARY:
            raise ModelLoadError(f"{path} has no vocabulary: its tokens can't be counted, nor texts be sent to it")

    @property
    def name(self) -> str:
        """The word llama_cpp, a colon and the file's stem."""
        return f"llama_cpp:{self._path.stem}"

    @property
    def certificate(self) -> Certificate:
        """The model's own vocabulary."""
        return "exact"

    def count(self, text: str) -> int:
        """Return the tokens of a text, of any length, without what a chat template puts around it."""
        data = _encoded(text)
        return len(data) + 1 if len(data) > MOST_BYTES else self._count(data, begin=False, control=True)

    def upper_bound(self, text: str) -> int:
        """Return the count: an exact counter needs no other bound."""
        return self.count(text)

    def measure(self, text: str) -> Cost:
        """Return the count as both estimate and bound, in tokens."""
        count = self.count(text)
        return Cost(count, count)

    def tokens(self, text: str, *, begin: bool, control: bool) -> list[int]:
        """Return the tokens of a text.

        Args:
            text: of at most `MOST_BYTES`.
            begin: whether the token that begins a text comes before it, where the model wants one.
            control: whether control tokens are read where they are written.
        """
        data = _encoded(text)
        buffer = (llama_cpp.llama_token * self._count(data, begin=begin, control=control))()
        llama_cpp.llama_tokenize(self._vocab, data, len(data), buffer, len(buffer), begin, control)
        return list(buffer)

    def piece(self, token: int, *, control: bool) -> bytes:
        """Return the text of a token, which may be a part of a character; of a control token only if `control`."""
        size = PIECE_BYTES
        while True:
            buffer = ctypes.create_string_buffer(size)
            count = int(llama_cpp.llama_token_to_piece(self._vocab, token, buffer, size, 0, control))
            if count >= 0:
                return buffer.raw[:count]
            size = -count

    def ends(self, token: int) -> bool:
        """Return whether a token ends an answer."""
        return bool(llama_cpp.llama_vocab_is_eog(self._vocab, token))

    def edges(self) -> tuple[str, str]:
        """Return the texts of the tokens that begin and end a text; "" where there is none."""
        begin, end = (
            llama_cpp.llama_vocab_get_text(self._vocab, token).decode("utf-8", "replace") if token >= 0 else ""
            for token in (llama_cpp.llama_vocab_bos(self._vocab), llama_cpp.llama_vocab_eos(self._vocab))
        )
        return begin, end

    def _count(self, data: bytes, *, begin: bool, control: bool) -> int:
        # Without room for the tokens the answer is how many there are, as a negative number.
        return -int(llama_cpp.llama_tokenize(self._vocab, data, len(data), None, 0, begin, control))


def _encoded(text: str) -> bytes:
    """Return a text as UTF-8, a lone surrogate as the replacement character that is sent for it."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
