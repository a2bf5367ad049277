"""What knows a host's form of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from squidbot.core.messages import Message, Part
    from squidbot.core.portable import Portable

__all__ = ["Codec", "ShowsImages"]


class Codec(Protocol):
    """One host's form of messages: payload to index, and what is sent back to the host's form. Pure functions."""

    @property
    def tag(self) -> str:
        """The name stored beside each payload, for example "openai.chat"."""

    def text(self, payload: str) -> str:
        """Return `Message.text` of a payload that this codec made."""

    def decode(self, payload: str) -> Message:
        """Return the message with its index for a payload of this codec.

        Raises:
            ValueError: the payload is not a message of this form; the text says why.
        """

    def to_message(self, obj: Mapping[str, object], time: float | None = None) -> Message:
        """Return the message for a host's own dict; `time` in seconds since 1970 wins over what the dict says.

        Its payload is the dict as JSON text; an envelope that repeats the request may stay behind.

        Raises:
            ValueError: the dict is not a message of this form, or holds what JSON can't; the text says why.
        """

    def extra_tokens(self, payload: str) -> int:
        """Return the tokens of what `Message.rendered` does not show: pictures, documents, unknown parts; 0 or more."""

    def encode(self, part: Part) -> str:
        """Return the payload to send for a part: the stored one, or one made for a digest, summary or notice.

        It is a message as JSON text, or a list of messages that take its place in the request.
        """

    def tombstone(self, payload: str, text: str) -> str:
        """Return a payload of the same role, with the same tool calls by id and name, that says `text` and no more.

        Nothing else of the payload is left: no arguments, no reasoning, no pictures, no unknown keys.

        Raises:
            ValueError: the payload is not a message of this form.
        """

    def portable(self, payload: str) -> Portable:
        """Return what of a payload goes to another provider: signatures, sealed thoughts and item ids stay behind.

        Raises:
            ValueError: the payload is not a message of this form.
        """

    def adopt(self, said: Portable) -> str:
        """Return the payload to send for what another codec's payload said, as `encode` does. Equal in, equal out."""


@runtime_checkable
class ShowsImages(Protocol):
    """What a codec may have beside: its messages show pictures, and can be sent without the first of them (P-10)."""

    def images(self, payload: str) -> int:
        """Return how many pictures a payload shows, 0 or more; never raises."""

    def without_images(self, payload: str, most: int, handle: str) -> str:
        """Return a payload in which a text stands in the place of each of its first `most` pictures.

        `handle` is the message's name in that text, by which what was said is brought back. All else stays.
        """
