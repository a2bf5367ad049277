"""What of a message goes to another provider: words, pictures and documents, tool calls with their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from squidbot.core.labels import labelled
from squidbot.core.messages import ToolCall

if TYPE_CHECKING:
    from squidbot.core.messages import Role

__all__ = ["Media", "Outcome", "Piece", "Portable", "Words"]


class Words(NamedTuple):
    """Text that somebody said."""

    text: str


class Media(NamedTuple):
    """A picture, a recording or a document: its type (MIME), and its bytes as base64 or where they are."""

    mime: str
    data: str = ""
    url: str = ""
    name: str = ""


class Outcome(NamedTuple):
    """What a tool answered to a call; `failed` where its host marked it as an error."""

    call_id: str
    said: tuple[Words | Media, ...] = ()
    failed: bool = False


Piece: TypeAlias = Words | Media | ToolCall | Outcome


class Portable(NamedTuple):
    """A message without anything that only its own provider can read: no signatures, sealed thoughts or item ids (M8).

    `role` is "tool" where it answers calls.
    """

    role: Role
    pieces: tuple[Piece, ...]

    def cut(self, text: str) -> Portable:
        """Return it with `text` for all that it says, inside the first result where it answers calls."""
        calls = [piece for piece in self.pieces if isinstance(piece, ToolCall)]
        outcomes = [Outcome(piece.call_id, (), piece.failed) for piece in self.pieces if isinstance(piece, Outcome)]
        if outcomes:
            first = Outcome(outcomes[0].call_id, (Words(text),), outcomes[0].failed)
            return Portable(self.role, (first, *outcomes[1:], *calls))
        return Portable(self.role, (Words(text), *calls))

    def with_arguments(self, arguments: tuple[str, ...]) -> Portable:
        """Return it with other argument strings, one for each call, in order."""
        given = iter(arguments)
        pieces = (
            ToolCall(piece.id, piece.name, next(given, "{}")) if isinstance(piece, ToolCall) else piece
            for piece in self.pieces
        )
        return Portable(self.role, tuple(pieces))

    def labelled(self, label: str) -> Portable:
        """Return it with a label in front of the first words that it says; as it is where it says none."""
        first = next((piece for piece in self.pieces if isinstance(piece, Words)), None)
        pieces = (Words(labelled(label, piece.text)) if piece is first else piece for piece in self.pieces)
        return Portable(self.role, tuple(pieces))

    def noticed(self, notice: str) -> Portable:
        """Return it with a notice behind what it says."""
        return Portable(self.role, (*self.pieces, Words(notice)))
