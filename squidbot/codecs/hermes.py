"""Messages of hermes-agent: OpenAI-style ones, with extra keys for hermes itself and for other providers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.codecs import jsontext
from squidbot.codecs.fields import as_object
from squidbot.codecs.openai_chat import OpenAIChat

if TYPE_CHECKING:
    from squidbot.codecs.form import Block
    from squidbot.core.messages import Part

__all__ = ["KEPT_KEYS", "Hermes"]

# Extra keys of hermes, which it removes before it sends a chat completion: how the message ended, the model's thoughts,
# also in other providers' forms, and data of platforms.
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
# The text to send instead of `content`, if hermes has added something before or behind it.
SENT_KEY: Final = "api_content"
# A payload with none of these is a plain OpenAI-style message.
_BESIDE: Final = tuple(f'"{key}"' for key in (*KEPT_KEYS, SENT_KEY))


class Hermes(OpenAIChat):
    """The codec of hermes-agent's messages. An uncut message is sent with all the extra keys of hermes.

    The plugin removes what a provider would refuse, as hermes does. All else works on the OpenAI-style message.
    """

    tag = "hermes/1"

    def encode(self, part: Part) -> str:
        """Return the payload to send for a part of a request: the stored one if nothing is cut or added.

        Otherwise it is a plain OpenAI-style message: the extra keys would repeat what was cut.

        Raises:
            ValueError: the stored payload is not a message of this form.
        """
        if part.payload is None:
            return super().encode(part)
        if part.is_uncut:
            return part.payload
        return super().encode(part._replace(payload=_plain(part.payload)))

    def without_images(self, payload: str, most: int, handle: str) -> str:
        """Return an OpenAI-style message with a text instead of each of its first `most` pictures."""
        return super().without_images(_plain(payload), most, handle)

    def _read(self, payload: str) -> Block:
        return as_object(_plain(payload))


def _plain(payload: str) -> str:
    """Return a payload as an OpenAI-style message: without extra keys, and with the text that is sent."""
    if not any(name in payload for name in _BESIDE) and "\\u00" not in payload:
        return payload
    obj = as_object(payload)
    sent = obj.get(SENT_KEY)
    plain = {key: value for key, value in obj.items() if key not in KEPT_KEYS and key != SENT_KEY}
    return jsontext.write({**plain, "content": sent} if isinstance(sent, str) and sent else plain)
