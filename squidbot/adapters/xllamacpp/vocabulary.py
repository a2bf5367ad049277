"""Token counts by a loaded model's own vocabulary."""

from __future__ import annotations

from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING

from squidbot.adapters.xllamacpp.answers import well_formed
from squidbot.core.messages import Cost

if TYPE_CHECKING:
    from squidbot.adapters.xllamacpp.runtime import Runtime
    from squidbot.core.ports import Certificate

__all__ = ["VocabularyCounter"]

# Counts that are remembered, oldest forgotten first: a long conversation is counted anew after each restart, and
# hardly ever twice within one. An entry takes about 150 bytes.
REMEMBERED = 8192
# Every special token that the models at hand have is spelled with one of these.
SPECIAL_MARKS = "<[|\uff5c"


class VocabularyCounter:
    """Counts as the model's own runtime does. Where a text spells special tokens, it counts what is more.

    In a chat the runtime reads them as the tokens they name; elsewhere they are characters.
    """

    def __init__(self, runtime: Runtime, name: str) -> None:
        """Count with a loaded model; `name` says which."""
        self._runtime = runtime
        self._name = name
        self._known: dict[bytes, int] = {}
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The word xllamacpp, a colon and the name of the model's file."""
        return self._name

    @property
    def certificate(self) -> Certificate:
        """The model's own tokenizer."""
        return "exact"

    def count(self, text: str) -> int:
        """Return the tokens of a text; lone surrogates count as the replacement character that is sent for them.

        Raises:
            LLMError: the model was closed; never else.
        """
        if not text:
            return 0
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if (known := self._known.get(key)) is None:
            known = self._counted(well_formed(text))
            with self._lock:
                while len(self._known) >= REMEMBERED:
                    del self._known[next(iter(self._known))]
                self._known[key] = known
        return known

    def upper_bound(self, text: str) -> int:
        """Return the count: an exact counter needs no other bound."""
        return self.count(text)

    def measure(self, text: str) -> Cost:
        """Return the count as both estimate and bound, in tokens."""
        tokens = self.count(text)
        return Cost(tokens, tokens)

    def _counted(self, text: str) -> int:
        tokens = self._tokens(text, special=True)
        if any(mark in text for mark in SPECIAL_MARKS):
            tokens = max(tokens, self._tokens(text, special=False))
        return tokens

    def _tokens(self, text: str, *, special: bool) -> int:
        asked = {"content": text, "add_special": False, "parse_special": special}
        return len(self._runtime.ask("POST", "/tokenize", asked)["tokens"])
