"""What of a file is kept: a card that says in which state it was read, and its pieces; what is new, stays and goes.

Pieces and cards are memories on shelves of their own, so that facts are searched and listed without them, and so that
whatever keeps, erases and carries memories does the same with these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.memories import CARDS, Memory, Source, memory_id_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.core.memories import Scope
    from squidbot.core.memory.pieces.sizes import Piece

__all__ = [
    "FILES",
    "JOINT",
    "MOST_FORMER",
    "OUTDATED",
    "RULES",
    "Card",
    "Change",
    "change",
    "filed",
    "ids_of",
    "pieces_of",
    "removal",
]

# The shelf of pieces.
FILES: Final = "files"
# Raise it with every change of how files become pieces: all are read again then.
RULES = 2
# Why a piece is gone that nobody asked to forget; it may come back.
OUTDATED: Final = "its file has changed, or is gone"
# Between the headings above a piece.
JOINT: Final = " > "
_BY_HAND: Final = "asked for by hand"
_CONFIGURED: Final = "memory.index_paths"
# Under so many former names of a file it is looked up what of it was forgotten.
MOST_FORMER = 8


@dataclass(frozen=True, slots=True)
class Card:
    """What is known of a file that is indexed.

    Attributes:
        path: where it is: from the folder of the settings on, with slashes; absolute where it is not below that.
        digest: of its bytes, and of the rules by which they become pieces.
        stamp: what it is known by without reading it; "" where it might change without showing it.
        time: when it was changed last, in seconds since 1970.
        asked: what was asked for by hand that it is part of; "" where the settings name it.
        pieces: the ids of its pieces in order, forgotten ones, too.
        former: names that it had before.
    """

    path: str
    digest: str
    stamp: str
    time: float
    asked: str = ""
    pieces: tuple[str, ...] = ()
    former: tuple[str, ...] = ()

    @classmethod
    def of(cls, memory: Memory) -> Card:
        """Return what a memory on the shelf of cards says."""
        source, *former = memory.sources
        stamp, *pieces = memory.tags
        asked = memory.reason.partition(": ")[2]
        names = tuple(each.path for each in former)
        return cls(source.path, source.digest, stamp, memory.time, asked, tuple(pieces), names)

    def memory(self, scope: Scope) -> Memory:
        """Return it as a memory; one of another state of the file has another id."""
        shelf = scope._replace(shelf=CARDS)
        source = Source(path=self.path, digest=self.digest)
        return Memory(
            memory_id_of(shelf, self.path, (source,)),
            self.path,
            "background",
            shelf,
            self.time,
            trust="import",
            tags=(self.stamp, *self.pieces),
            sources=(source, *(Source(path=name) for name in self.former)),
            reason=f"{_BY_HAND}: {self.asked}" if self.asked else _CONFIGURED,
        )


class Change(NamedTuple):
    """What an exchange does: the ids that go, and the memories that come; of these, how many pieces are new and old."""

    gone: tuple[str, ...]
    memories: tuple[Memory, ...]
    new_pieces: int = 0
    old_pieces: int = 0


def filed(pieces: Sequence[Piece], card: Card, scope: Scope) -> list[Memory]:
    """Return pieces of a file as memories.

    An id follows from whose it is, the path, the words, and how often these came before in the file: a piece keeps its
    id while its words stay, wherever in the file they stand.
    """
    shelf = scope._replace(shelf=FILES)
    ids = ids_of(pieces, card.path, scope)
    return [
        Memory(
            memory_id,
            _text(piece),
            "background",
            shelf,
            card.time if piece.time is None else piece.time,
            trust=piece.trust,
            speaker=piece.speaker,
            tags=(*piece.headings, piece.tag) if piece.tag else piece.headings,
            sources=(Source(piece.talk, place, place, card.path, card.digest),),
            reason="its file is indexed",
        )
        for place, (piece, memory_id) in enumerate(zip(pieces, ids, strict=True))
    ]


def ids_of(pieces: Iterable[Piece], path: str, scope: Scope) -> list[str]:
    """Return the ids that pieces have in a file of that path."""
    shelf = scope._replace(shelf=FILES)
    seen: dict[tuple[str, str, str], int] = {}
    found = []
    for piece in pieces:
        said = (piece.talk, piece.speaker, _text(piece))
        seen[said] = seen.get(said, 0) + 1
        found.append(memory_id_of(shelf, said[2], (Source(piece.talk, seen[said], -1, path, piece.speaker),)))
    return found


def change(
    card: Card, scope: Scope, memories: Sequence[Memory], old: Iterable[Memory], there: Iterable[Memory]
) -> Change:
    """Return what makes a file's pieces those `memories`, and its card that one.

    Args:
        card: as it is to be.
        scope: whose it is.
        memories: its pieces as they are to be.
        old: the cards that go: of its former states, or of its former names.
        there: which of their pieces, and of the new ones, are in the store.
    """
    cards = {one.memory_id: one for one in old}
    kept = {one.memory_id: one for one in there}
    out = kept.keys() - {one.memory_id for one in memories}
    outdated = [name for name in pieces_of(cards.values()) if name in out]
    new = [one for one in memories if one.memory_id not in kept]
    stay = [(kept[one.memory_id], one) for one in memories if one.memory_id in kept]
    # What says no time of its own is as old as its words, not as the file.
    aged = [(old, replace(now, time=old.time) if now.time == card.time else now) for old, now in stay]
    moved = {now.memory_id: now for old, now in aged if _told(old) != _told(now)}
    coming = (*moved.values(), *new, card.memory(scope))
    return Change((*outdated, *moved, *cards), coming, len(new), len(outdated))


def pieces_of(cards: Iterable[Memory]) -> list[str]:
    """Return the ids of all pieces that cards name, each once, in order."""
    return list(dict.fromkeys(memory_id for one in cards for memory_id in Card.of(one).pieces))


def removal(old: Sequence[Memory], there: Iterable[Memory]) -> Change:
    """Return what takes out files by their cards, with those of their pieces that are in the store."""
    pieces = [one.memory_id for one in there]
    return Change((*pieces, *(one.memory_id for one in old)), (), 0, len(pieces))


def _told(memory: Memory) -> tuple[object, ...]:
    """Return what makes a piece another one: not the state of its file in which its words came."""
    places = tuple(each._replace(digest="") for each in memory.sources)
    return (memory.text, memory.time, memory.tags, memory.speaker, memory.trust, places)


def _text(piece: Piece) -> str:
    """Return the words that a piece is found by: its headings, then its own."""
    return f"{JOINT.join(piece.headings)}\n{piece.text}" if piece.headings else piece.text
