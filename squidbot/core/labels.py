"""Who said a message, and where, as a line in front of its text: `[channel / speaker]` (Q-03)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.messages import Category

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.core.messages import Message

__all__ = ["ANYWHERE", "Labels", "labelled"]

OWNER, ASSISTANT, UNKNOWN = "owner", "assistant", "unknown"
# The channel whose owner aliases hold in all others, too.
ANYWHERE = "*"
# A name in a label ends before what could end the label.
_ODD = re.compile(r"[\s\[\]/\x00-\x1f\x7f\u2028\u2029]+")
_RESERVED = frozenset({OWNER, ASSISTANT, UNKNOWN})
MOST_CHARS = 64


class Labels(NamedTuple):
    """What messages of one session are labelled by.

    Attributes:
        channel: where they are said; "" where nobody says.
        user: who speaks where a message names nobody; "" for nobody known.
        owners: the ids by which the owner is known there.
    """

    channel: str = ""
    user: str = ""
    owners: frozenset[str] = frozenset()

    @classmethod
    def of(cls, channel: str, user: str, aliases: Mapping[str, Sequence[str]]) -> Labels:
        """Return the labels of a channel; its own aliases go before those of any channel, `ANYWHERE`."""
        return cls(channel, user, frozenset((*aliases.get(channel, ()), *aliases.get(ANYWHERE, ()))))

    def label(self, message: Message) -> str:
        """Return the label of a message; "" for one that has none: without a text, the system's, a tool's, a copy."""
        said = message.role in {"user", "assistant"} and not message.results and message.text
        if not said or message.category is Category.RECALLED:
            return ""
        speaker = ASSISTANT if message.role == "assistant" else self._speaker(message.sender or self.user)
        return f"[{_plain(self.channel) or UNKNOWN} / {speaker}]"

    def _speaker(self, sender: str) -> str:
        if sender and sender in self.owners:
            return OWNER
        name = _plain(sender)
        # Nobody becomes the owner by the name of one.
        return f"id {name}" if name.lower() in _RESERVED else name or UNKNOWN


def labelled(label: str, text: str) -> str:
    """Return a text with a label in front of it, if there is one."""
    return f"{label}\n{text}" if label else text


def _plain(name: str) -> str:
    return _ODD.sub(" ", name).strip()[:MOST_CHARS].rstrip()
