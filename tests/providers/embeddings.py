"""/v1/embeddings: vectors that follow from the words."""

from __future__ import annotations

import base64
import struct
from hashlib import blake2b
from typing import TYPE_CHECKING, cast

from .openai_words import authenticate, failure, model_of, refusal
from .replies import Reply

if TYPE_CHECKING:
    from collections.abc import Callable

    from .script import Json, World
    from .wire import Received

__all__ = ["DIMENSIONS", "Embeddings", "vector_of"]

MOST_TEXTS, MOST_TOKENS, MOST_TEXT_TOKENS = 2_048, 300_000, 8_192
DIMENSIONS = 16


def vector_of(text: str) -> list[float]:
    """Return the numbers that the server's models make of a text, not of length 1."""
    digest = blake2b(text.encode(), digest_size=2 * DIMENSIONS).digest()
    return [struct.unpack("<f", struct.pack("<f", number / 999))[0] for number in struct.unpack("<16H", digest)]


class Embeddings:
    """The endpoint.

    Attributes:
        most_texts: of one request.
        changed: what is made of each answer before it is sent.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.most_texts = MOST_TEXTS
        self.changed: Callable[[Json], object] = lambda answer: answer

    def failure(self, status: int) -> Json:
        """Return the body of an error with this status."""
        return failure(status)

    def broken(self) -> tuple[str, Json]:
        """Return an error; no answer is a stream here."""
        return "", failure(500)

    def answer(self, asked: Received, key: str) -> Reply:
        """Return a vector for each text, in order.

        Raises:
            Refusal: it is refused.
        """
        authenticate(asked, key)
        model_of(asked, self._world)
        given = asked.body["input"]
        texts = [given] if isinstance(given, str) else given
        assert isinstance(texts, list)
        if not 0 < len(texts) <= self.most_texts:
            raise refusal(f"'$.input' is invalid: at most {self.most_texts} items")
        counts = [self._world.count(text) for text in texts]
        if not all(texts):
            raise refusal("'$.input' is invalid: an input cannot be an empty string")
        if max(counts) > MOST_TEXT_TOKENS:
            raise refusal(f"Invalid 'input[0]': maximum input length is {MOST_TEXT_TOKENS} tokens.")
        if sum(counts) > MOST_TOKENS:
            said = f"Requested {sum(counts)} tokens, max {MOST_TOKENS} tokens per request"
            raise refusal(said, code="max_tokens_per_request")
        answer = self._answer(texts, asked.body, sum(counts))
        return Reply(cast("Json", self.changed(answer)))

    def _answer(self, texts: list[str], body: Json, tokens: int) -> Json:
        size, form = body.get("dimensions", DIMENSIONS), str(body.get("encoding_format"))
        assert isinstance(size, int)
        data = [
            {"object": "embedding", "index": place, "embedding": _written(vector_of(text)[:size], form)}
            for place, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return {"object": "list", "data": data, "model": body["model"], "usage": usage}


def _written(vector: list[float], form: str) -> object:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode() if form == "base64" else vector
