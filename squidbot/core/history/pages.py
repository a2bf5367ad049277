"""Messages as they were said, as many as fit: one page, and where the next one begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.errors import RecallError
from squidbot.core.history.names import Run, named
from squidbot.core.history.when import ago, stamp
from squidbot.core.messages import Category, Cost
from squidbot.core.notes.quotes import clip, one_line
from squidbot.core.view.marks import fence, recalled_ids

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from squidbot.core.messages import StoredMessage
    from squidbot.core.view.renderer import Renderer
    from squidbot.core.view.standing import Shelf

__all__ = ["LEAST_TOKENS", "Maker", "Page", "Piece"]

# A page smaller than this is little more than its own marks, which cost about 80 tokens.
LEAST_TOKENS = 160
# No tokenizer in use makes fewer than about one token of eight characters of running text (see `view.slim`).
MOST_CHARACTERS_A_TOKEN = 8
# How many messages are read at once: a page rarely holds more.
READ_MESSAGES = 16
NAME_CHARS = 60


class Piece(NamedTuple):
    """What a page shows of one message: characters `start` to `end` of the `whole` that its body has."""

    seq: int
    start: int
    end: int
    whole: int


@dataclass(frozen=True, slots=True)
class Page:
    """Messages brought back, as far as they fit.

    Attributes:
        text: what the model reads.
        cost: of the text as a message, in tokens.
        pieces: what is shown of each message, in order.
        messages: those messages as they are stored, payloads byte for byte.
        next_id, next_offset: where the next page begins, as `expand` takes it; "" and 0 for the last page.
        recorded: the seq of the record that holds the page; None where none was written.
    """

    text: str
    cost: Cost
    pieces: tuple[Piece, ...]
    messages: tuple[StoredMessage, ...]
    next_id: str = ""
    next_offset: int = 0
    recorded: int | None = None

    @property
    def last(self) -> bool:
        """Whether nothing follows."""
        return not self.next_id


class _Block(NamedTuple):
    """A message on a page: what is shown of it, its line in front, its words, what they cost."""

    row: StoredMessage
    piece: Piece
    head: str
    body: str
    cost: Cost

    @property
    def text(self) -> str:
        return f"{self.head}\n{self.body}"


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes the pages of one run of messages; `now` is in seconds since 1970, None where unknown."""

    shelf: Shelf
    run: Run
    now: float | None

    def page(self, offset: int, room: Cost) -> Page | None:
        """Return the page that begins `offset` characters into the first message; None where not even a bit fits.

        Raises:
            RecallError: the first message has no such place.
            DamagedStoreError: a stored row does not match its checksum.
        """
        meter = self.shelf.renderer.meter
        frame = meter.message(self._framed(list(self._widest()), self.run.last_seq, 10**6))
        left = room.less(frame)
        while left.bound > 0 and left.estimate > 0:
            blocks = list(self._filled(offset, left))
            if not blocks:
                break
            made = self._made(blocks)
            if made.cost.bound <= room.bound and made.cost.estimate <= room.estimate:
                return made
            # The parts together cost more than one by one: a rare case, and so less is tried until it fits.
            left = Cost(left.estimate * 9 // 10, left.bound * 9 // 10)
        return None

    def _widest(self) -> Iterator[_Block]:
        """Yield what makes the marks as long as they can be."""
        for row in self.shelf.read(self.run.first_seq, self.run.first_seq):
            yield _Block(row, Piece(self.run.last_seq, 0, 0, 0), "", "", Cost(0, 0))

    def _rows(self) -> Iterator[StoredMessage]:
        first = self.run.first_seq
        while first <= self.run.last_seq:
            yield from self.shelf.read(first, min(self.run.last_seq, first + READ_MESSAGES - 1))
            first += READ_MESSAGES

    def _filled(self, offset: int, room: Cost) -> Iterator[_Block]:
        """Yield messages, and of the one that does not fit a part: where it is the first, or half the room is left."""
        left, start = room, offset
        for row in self._rows():
            body = self._body(row, start)
            block = self._fitting(row, body, start, left)
            if block is None or (block.piece.end < len(body) and left.bound < room.bound // 2):
                return
            yield block
            left = left.less(block.cost)
            if block.piece.end < len(body) or not left.bound or not left.estimate:
                return
            start = 0

    def _body(self, row: StoredMessage, start: int) -> str:
        body = body_of(row, self.shelf.renderer, alone=self.run.alone)
        if start and not 0 <= start < len(body):
            raise RecallError(f"offset {start} is outside of m{row.seq}, which has characters 0 to {len(body) - 1}")
        return body

    def _fitting(self, row: StoredMessage, body: str, start: int, left: Cost) -> _Block | None:
        """Return as much of a message from `start` on as fits, cut at a line's end where one is near."""
        if not start and row.category is not Category.RECALLED and not row.call_ids:
            # What it said was counted when it was recorded.
            head = _head(row, 0, len(body), len(body))
            cost = row.cost.plus(self._cost(head))
            if cost.bound <= left.bound and cost.estimate <= left.estimate:
                return _Block(row, Piece(row.seq, 0, len(body), len(body)), head, body, cost)
        return self._cut(row, body, start, left)

    def _cut(self, row: StoredMessage, body: str, start: int, left: Cost) -> _Block | None:
        kept = min(len(body) - start, left.bound * MOST_CHARACTERS_A_TOKEN)
        while True:
            end = _line_end(body, start, start + kept)
            head, words = _head(row, start, end, len(body)), body[start:end]
            cost = self._cost(f"{head}\n{words}")
            if cost.bound <= left.bound and cost.estimate <= left.estimate:
                piece = Piece(row.seq, start, end, len(body))
                return _Block(row, piece, head, words, cost) if words or not body else None
            if kept <= 0:
                return None
            kept = min(kept * 9 // 10, kept * left.bound // max(1, cost.bound))

    def _cost(self, text: str) -> Cost:
        return self.shelf.renderer.meter.text(f"\n{text}")

    def _made(self, blocks: Sequence[_Block]) -> Page:
        piece = blocks[-1].piece
        rest = piece.end < piece.whole
        following = piece.seq if rest else piece.seq + 1
        next_offset = piece.end if rest else 0
        last = following > self.run.last_seq
        text = self._framed(blocks, following, next_offset)
        return Page(
            text=text,
            cost=self.shelf.renderer.meter.message(text),
            pieces=tuple(block.piece for block in blocks),
            messages=tuple(block.row for block in blocks),
            next_id="" if last else self._rest(following),
            next_offset=next_offset,
        )

    def _rest(self, following: int) -> str:
        return f"m{following}" if self.run.alone else f"m{following}-m{self.run.last_seq}"

    def _framed(self, blocks: Sequence[_Block], following: int, next_offset: int) -> str:
        first, last = blocks[0].row, blocks[-1].row
        ids = named(self.run.first_seq, blocks[-1].piece.seq)
        text = fence(f"recalled {ids}", self._about(first.time, last.time), "\n".join(one.text for one in blocks))
        if following > self.run.last_seq:
            return text
        offset = f" offset {next_offset}" if next_offset else ""
        return f"{text}\n[more: expand {self._rest(following)}{offset}]"

    def _about(self, first: float | None, last: float | None) -> str:
        told = list(dict.fromkeys(filter(None, (ago(first, self.now), ago(last, self.now)))))
        return f"said {' to '.join(told)}, times are UTC" if told else "times are UTC"


def body_of(row: StoredMessage, renderer: Renderer, *, alone: bool = True) -> str:
    """Return what a message said: its text, then each tool call under a line with its name and size.

    Where a run is brought back, a copy in it is named and not repeated: what it copied is stored once.
    """
    codec = renderer.codecs[row.codec]
    said = codec.decode(row.payload)
    if row.category is Category.RECALLED and not alone:
        what = recalled_ids(said.text) or "an answer of history or memory"
        return f"[{what} stood here again; recall m{row.seq} shows it]"
    parts = [said.text] if said.text else []
    for call in said.calls:
        name = clip(one_line(call.name), NAME_CHARS)
        parts.append(f"[calls {name}, {len(call.arguments):,} characters]\n{call.arguments}")
    if codec.extra_tokens(row.payload):
        parts.append("[and what is no text, such as a picture]")
    return "\n".join(parts)


def _head(row: StoredMessage, start: int, end: int, whole: int) -> str:
    shown = f"{whole:,} characters" if not start and end == whole else f"characters {start:,} to {end:,} of {whole:,}"
    return f"[{', '.join(filter(None, (f'm{row.seq} {speaker(row)}', stamp(row.time), shown)))}]"


def speaker(row: StoredMessage) -> str:
    """Return who says a message: its role; "recalled" for what was brought back."""
    if row.category is Category.RECALLED:
        return "recalled"
    return "tool result" if row.result_ids else row.role


def _line_end(text: str, start: int, end: int) -> int:
    """Return where to cut a text that can't go on behind `end`: at the last line's end, if that is near."""
    if end >= len(text):
        return len(text)
    at = text.rfind("\n", start, end)
    return at + 1 if at >= start + (end - start) * 3 // 4 else end
