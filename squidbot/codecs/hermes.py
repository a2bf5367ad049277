"""Messages of hermes-agent: OpenAI-style ones, and beside each what hermes keeps for itself or for other providers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from squidbot.codecs import jsontext
from squidbot.codecs.fields import as_object
from squidbot.codecs.openai_chat import OpenAIChat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from squidbot.core.messages import Message, Part, Portable

__all__ = ["KEPT_KEYS", "Hermes"]

# What hermes keeps beside a message and takes off before it sends it as a chat completion: how it ended, what the model
# thought, the same for other providers in their own forms, and what platforms say of it.
KEPT_KEYS: Final = frozenset(
    {
        "anthropic_content_blocks",
        "codex_message_items",
        "codex_reasoning_items",
        "effect_disposition",
        "finish_reason",
        "observed",
        "platform_message_id",
        "reasoning",
        "tool_name",
    }
)
# The words that are sent in the place of `content`, where hermes has put something before or behind them.
SENT_KEY: Final = "api_content"
# A payload with none of these in it is an OpenAI-style message as it is.
_BESIDE: Final = tuple(f'"{key}"' for key in (*KEPT_KEYS, SENT_KEY))


class Hermes:
    """The codec of hermes-agent's messages. What is sent as it was said is sent with all that hermes keeps beside it.

    The plugin takes off what a provider would refuse, as hermes does.
    """

    tag: Final = "hermes/1"

    def __init__(self) -> None:
        self._chat = OpenAIChat()

    def text(self, payload: str) -> str:
        """Return the words that are sent of a payload.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        return self._chat.text(_plain(payload))

    def decode(self, payload: str) -> Message:
        """Return the message with its index. `time` is the payload's `timestamp`, in seconds since 1970.

        Raises:
            ValueError: the payload is not a message of this form; the text says why.
        """
        return self._named(self._chat.decode(_plain(payload)), payload)

    def to_message(self, obj: Mapping[str, object], time: float | None = None) -> Message:
        """Return the message for hermes's own dict. `time` in seconds since 1970 wins over its `timestamp`.

        Raises:
            ValueError: the dict is not a message of this form, or holds what JSON can't; the text says why.
        """
        payload = jsontext.write(dict(obj))
        return self._named(self._chat.to_message(as_object(_plain(payload)), time), payload)

    def encode(self, part: Part) -> str:
        """Return the payload to send for a part of a request: the stored one where nothing of it is cut or added.

        Else it is an OpenAI-style message: what stands beside it would say again what was cut.

        Raises:
            ValueError: the stored payload is not a message of this form.
        """
        if part.payload is None:
            return self._chat.encode(part)
        if part.is_uncut:
            return part.payload
        return self._chat.encode(part._replace(payload=_plain(part.payload)))

    def extra_tokens(self, payload: str) -> int:
        """Return the tokens of what `Message.rendered` does not show; what hermes does not send costs none.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        return self._chat.extra_tokens(_plain(payload))

    def images(self, payload: str) -> int:
        """Return how many pictures a payload shows; 0 for what is no JSON."""
        return self._chat.images(payload)

    def without_images(self, payload: str, most: int, handle: str) -> str:
        """Return an OpenAI-style message in which a text stands in the place of each of its first `most` pictures."""
        return self._chat.without_images(_plain(payload), most, handle)

    def tombstone(self, payload: str, text: str) -> str:
        """Return a payload of the same role that says `text`, with the same calls, whose arguments are "{}".

        Raises:
            ValueError: the payload is not a message of this form.
        """
        return self._chat.tombstone(_plain(payload), text)

    def portable(self, payload: str) -> Portable:
        """Return what of a payload goes to another provider.

        Raises:
            ValueError: the payload is not a message of this form.
        """
        return self._chat.portable(_plain(payload))

    def adopt(self, said: Portable) -> str:
        """Return the payload to send for what another codec's payload said; a list where it answers several calls."""
        return self._chat.adopt(said)

    def _named(self, message: Message, payload: str) -> Message:
        return replace(message, payload=payload, codec=self.tag)


def _plain(payload: str) -> str:
    """Return a payload as an OpenAI-style message: without what stands beside it, and with the words that are sent."""
    if not any(name in payload for name in _BESIDE) and "\\u00" not in payload:
        return payload
    obj = as_object(payload)
    sent = obj.get(SENT_KEY)
    plain = {key: value for key, value in obj.items() if key not in KEPT_KEYS and key != SENT_KEY}
    return jsontext.write({**plain, "content": sent} if isinstance(sent, str) and sent else plain)
