"""Messages of hermes-agent: OpenAI-style ones, and beside each what hermes keeps for itself or for other providers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.codecs import jsontext
from squidbot.codecs.fields import as_object
from squidbot.codecs.openai_chat import OpenAIChat

if TYPE_CHECKING:
    from squidbot.codecs.form import Block
    from squidbot.core.messages import Part

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


class Hermes(OpenAIChat):
    """The codec of hermes-agent's messages. What is sent as it was said is sent with all that hermes keeps beside it.

    The plugin takes off what a provider would refuse, as hermes does. All else is said of the OpenAI-style message.
    """

    tag = "hermes/1"

    def encode(self, part: Part) -> str:
        """Return the payload to send for a part of a request: the stored one where nothing of it is cut or added.

        Else it is an OpenAI-style message: what stands beside it would say again what was cut.

        Raises:
            ValueError: the stored payload is not a message of this form.
        """
        if part.payload is None:
            return super().encode(part)
        if part.is_uncut:
            return part.payload
        return super().encode(part._replace(payload=_plain(part.payload)))

    def without_images(self, payload: str, most: int, handle: str) -> str:
        """Return an OpenAI-style message in which a text stands in the place of each of its first `most` pictures."""
        return super().without_images(_plain(payload), most, handle)

    def _read(self, payload: str) -> Block:
        return as_object(_plain(payload))


def _plain(payload: str) -> str:
    """Return a payload as an OpenAI-style message: without what stands beside it, and with the words that are sent."""
    if not any(name in payload for name in _BESIDE) and "\\u00" not in payload:
        return payload
    obj = as_object(payload)
    sent = obj.get(SENT_KEY)
    plain = {key: value for key, value in obj.items() if key not in KEPT_KEYS and key != SENT_KEY}
    return jsontext.write({**plain, "content": sent} if isinstance(sent, str) and sent else plain)
