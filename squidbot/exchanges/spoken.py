"""A session's messages as exchanges: who said what, in the words that were said, and what no exchange can hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from squidbot.codecs.workspaceai import Exchange, Shortened
from squidbot.core.budget.complexity import score_complexity
from squidbot.core.messages import Category
from squidbot.core.portable import Media
from squidbot.core.scopes import model_at, models_of
from squidbot.exchanges.brought import batches_of, pieces_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from squidbot.codecs.workspaceai import Left, Shelf
    from squidbot.core.messages import StoredMessage
    from squidbot.core.ports import Codec, TranscriptStore
    from squidbot.exchanges.brought import Piece

__all__ = ["Spoken", "spoken_in"]

PAGE_ROWS = 1_000
# The years that ISO 8601 can name, in seconds since 1970.
FIRST_TIME, LAST_TIME = -62_135_596_800.0, 253_402_300_799.0
_PASSED = {
    Category.RECALLED: "copies of what was recalled",
    Category.FORGOTTEN: "messages that were forgotten",
    Category.SYSTEM: "system messages",
    Category.CONTEXT: "context messages",
    Category.INTERNAL: "internal messages",
}


@dataclass(slots=True)
class _Turn:
    """An exchange while its messages are read."""

    seq: int
    time: float | None
    user: str = ""
    answers: list[str] = field(default_factory=list)
    has_calls: bool = False


@dataclass(slots=True)
class Spoken:
    """What a session is in exchanges.

    Attributes:
        exchanges: each with the model that it was said under, "" where none is known, oldest first.
        shortened: summaries that were brought from files, each with its model.
        left: what no exchange can hold, by its kind.
    """

    exchanges: list[tuple[str, Exchange]] = field(default_factory=list)
    shortened: list[tuple[str, Shortened]] = field(default_factory=list)
    left: Left = field(default_factory=Counter)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was said, or all of it was forgotten."""
        return not self.exchanges and not self.shortened and self.left.keys() <= {_PASSED[Category.FORGOTTEN]}

    @property
    def digests(self) -> Counter[str]:
        """How often each exchange and summary stands in it, by digest."""
        return Counter([*(one.digest for _, one in self.exchanges), *(one.digest for _, one in self.shortened)])


def spoken_in(transcripts: TranscriptStore, codecs: Mapping[str, Codec], session_id: str) -> Spoken:
    """Return a session's messages as exchanges.

    An exchange begins with what a user says, and has all that is answered up to the next: steps are joined by an empty
    line. Tool calls, results, pictures, system text and all the rest that it can't hold is counted.

    Raises:
        DamagedStoreError: a message can't be read.
        StoreError: the store failed.
    """
    reader = _Reader(codecs, pieces_of(batches_of(transcripts, session_id)))
    for row in _rows(transcripts, session_id):
        reader.take(row)
    models = models_of(transcripts, session_id)
    said = [(model_at(models, turn.seq) or "", turn) for turn in reader.turns]
    return Spoken(
        [(model, reader.exchange(turn, model)) for model, turn in said],
        [(model_at(models, seq) or "", one) for seq, one in reader.shortened],
        reader.left,
    )


def _rows(transcripts: TranscriptStore, session_id: str) -> Iterator[StoredMessage]:
    messages = transcripts.head(session_id)[0]
    for first in range(0, messages, PAGE_ROWS):
        yield from transcripts.read(session_id, first, min(first + PAGE_ROWS, messages) - 1)


class _Reader:
    """Takes messages in order."""

    def __init__(self, codecs: Mapping[str, Codec], pieces: Mapping[int, Piece]) -> None:
        self._codecs = codecs
        self._pieces = pieces
        self.turns: list[_Turn] = []
        self.shortened: list[tuple[int, Shortened]] = []
        self.left: Left = Counter()

    def take(self, row: StoredMessage) -> None:
        piece = self._pieces.get(row.seq)
        if piece is not None and piece.shelf and row.category is Category.CONTEXT:
            self.shortened.append((row.seq, self._summary(row, piece)))
        elif row.category in _PASSED or row.role == "system":
            self.left[_PASSED.get(row.category, _PASSED[Category.SYSTEM])] += 1
        elif row.result_ids or row.role == "tool":
            self.left["tool results"] += 1
        else:
            self._say(row, begins=row.role == "user" or piece is not None or not self.turns)

    def _say(self, row: StoredMessage, *, begins: bool) -> None:
        text = self._text(row)
        if not text and not row.call_ids:
            self.left["empty messages"] += 1
        if begins:
            self.turns.append(_Turn(row.seq, _told(row.time)))
        turn = self.turns[-1]
        self.left.update({"tool calls": len(row.call_ids)} if row.call_ids else {})
        turn.has_calls = turn.has_calls or bool(row.call_ids)
        if row.role == "user":
            turn.user = text
        elif text:
            self.left.update({"breaks between steps": 1} if turn.answers else {})
            turn.answers.append(text)

    def _text(self, row: StoredMessage) -> str:
        codec = self._codecs.get(row.codec)
        if codec is None:
            self.left[f"messages of the form {row.codec}"] += 1
            return ""
        try:
            media = sum(isinstance(piece, Media) for piece in codec.portable(row.payload).pieces)
            self.left.update({"pictures and documents": media} if media else {})
            return codec.decode(row.payload).text
        except ValueError:
            self.left["messages that can't be read"] += 1
            return ""

    def _summary(self, row: StoredMessage, piece: Piece) -> Shortened:
        shelf: Shelf = "recent" if piece.shelf == "recent" else "summarized"
        return Shortened(shelf, self._text(row)[piece.skip :], piece.details)

    def exchange(self, turn: _Turn, model: str) -> Exchange:
        """Return a turn as an exchange: as it was brought, else with the figures that it has here."""
        answer, piece = "\n\n".join(turn.answers), self._pieces.get(turn.seq)
        if piece is not None:
            return Exchange(turn.user, answer, turn.time, piece.details)
        mode = "tools" if turn.has_calls else "chat"
        score = score_complexity(turn.user, tools_mode=turn.has_calls)
        return Exchange(turn.user, answer, turn.time, {"mode": mode, "model": model, "complexity_score": score})


def _told(time: float | None) -> float | None:
    """Return a time that files can say."""
    return time if time is not None and FIRST_TIME <= time <= LAST_TIME else None
