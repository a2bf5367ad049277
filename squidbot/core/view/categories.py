"""What a message is for (P-01): by its kind and its place; by words in its text only where settings ask for that."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from squidbot.core.messages import Category
from squidbot.core.portable import Media

if TYPE_CHECKING:
    from squidbot.core.messages import Message
    from squidbot.core.ports import Codec

__all__ = ["categorized"]

# Words by which document 003 takes a system text for what a tool has put out.
OUTPUT_WORDS: Final = ("action executed", "code saved to", "result", "status")


def categorized(message: Message, codec: Codec, *, opens: bool, by_words: bool = False) -> Message:
    """Return a message with what it is for, where that is more than its codec can tell; a hook's word goes before.

    `opens` says that nothing but system text stands in front of it: such a system text is the system prompt, a later
    one is context. What says nothing that anybody knows is unknown. `by_words`: a later system text with `OUTPUT_WORDS`
    in it is output, as document 003 has it.
    """
    category = message.category
    if category is Category.SYSTEM and message.role == "system" and not opens:
        category = Category.SYSTEM_OUTPUT if by_words and _sounds_put_out(message.text) else Category.CONTEXT
    elif category is Category.DIALOG and _says_nothing(message, codec):
        category = Category.UNKNOWN
    return message if category is message.category else replace(message, category=category)


def _sounds_put_out(text: str) -> bool:
    lowered = text.lower()
    return any(words in lowered for words in OUTPUT_WORDS)


def _says_nothing(message: Message, codec: Codec) -> bool:
    """Return whether a message has no words, no calls, no results, and shows nothing: all of it is of unknown kinds."""
    if message.text.strip() or message.calls or message.results:
        return False
    try:
        pieces = codec.portable(message.payload).pieces
    except ValueError:
        return True
    return not any(isinstance(piece, Media) for piece in pieces)
