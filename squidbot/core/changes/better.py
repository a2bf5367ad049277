"""What a language model wrote of a block takes the place of the notes by rule, where it is stored and fits."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.messages import Record, Usage
from squidbot.core.plan import Representation
from squidbot.core.view.renderer import shown
from squidbot.core.view.standing import Block

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.core.changes.scene import Ground, NoteTaker
    from squidbot.core.extended import Extended
    from squidbot.core.messages import Part, Summary
    from squidbot.core.plan import Run, Segment
    from squidbot.core.view.atoms import Atom
    from squidbot.core.view.standing import Shelf

__all__ = ["LEVELS", "SUMMARY", "Better", "renewed", "writing_of", "written_as"]

# Who made a text that an extension had in the place of another.
MADE_BY = "extension"
# The kind of the records that say which summaries a language model has written; without one nothing is looked for.
SUMMARY = "summary"

# The level of the text that stands for a block in each representation that shows one of its own.
LEVELS = {
    Representation.SUMMARY_USER: Representation.DETAILED,
    Representation.DETAILED: Representation.DETAILED,
    Representation.MODERATE: Representation.MODERATE,
    Representation.COMPACT: Representation.COMPACT,
}
# Better texts enter only as far in front as this share of what stands behind all notes: what they move is written to
# the prompt cache anew, and an event writes its own notes and the raw messages in any case.
RENEWED_FRACTION = 0.5
# Of the room for a note on everything, what texts by a model may take: the rest names by rule what they leave out.
TEXTS_FRACTION = 0.5
# Among how many of the newest summaries texts for such a note are looked for: at any window about ten have room there,
# and each block has at most one at each of four levels.
MOST_LOOKED_AT = 512


class Better:
    """A note taker that shows a language model's text of a block instead of notes, for one event.

    What is stored is looked up once: an event that is tried again, or made by another process, finds the same.
    """

    def __init__(self, notes: NoteTaker, shelf: Shelf, extended: Extended | None = None) -> None:
        """Take what makes notes by rule, and what extensions say."""
        self._notes = notes
        self._shelf = shelf
        self._extended = extended
        self._found: dict[tuple[int, int], tuple[Summary, ...]] = {}
        self._any: bool | None = None
        self._texts: tuple[Summary, ...] | None = None

    def reach(self, first_seq: int, new_seq: int) -> int:
        """Return the oldest seq, `first_seq` or later, that one note on everything tells of; `new_seq` for none."""
        return self._notes.reach(first_seq, new_seq)

    def runs(self, after_seq: int) -> tuple[Run, ...]:
        """Return the blocks behind `after_seq`, oldest first: what is kept of each makes a note of its own."""
        return self._notes.runs(after_seq)

    def took(self, atoms: Sequence[Atom]) -> Run:
        """Read atoms as a block that is noted for the first time."""
        return self._notes.took(atoms)

    def told(
        self, run: Run, standing: Sequence[Part], limit_tokens: int, level: Representation = Representation.DETAILED
    ) -> Summary:
        """Return what a language model wrote of exactly this block at this level, if that fits, else notes by rule.

        An extension may have a text of its own in its place.
        """
        told = self.better(run, limit_tokens, level) or self._notes.told(run, standing, limit_tokens, level)
        return self._represented(told, limit_tokens)

    def _represented(self, told: Summary, limit_tokens: int) -> Summary:
        """Return the text of an extension under a heading of ours, where there is one that fits."""
        if self._extended is None:
            return told
        meter, place = self._shelf.renderer.meter, (told.first_seq, told.last_seq)
        left_tokens = limit_tokens - meter.message(_heading(told, told.summary_id)).bound
        said = self._extended.represent(told, left_tokens) if left_tokens > 0 else None
        if said is None:
            return told
        source = hashlib.sha256(f"{told.source_digest}\0{said}".encode("utf-8", "surrogatepass")).hexdigest()

        def made(known_by: str) -> Summary:
            text = f"{_heading(told, known_by)}\n{said}"
            cost = meter.message(text)
            return replace(told, summary_id=known_by, text=text, cost=cost, source_digest=source, made_by=MADE_BY)

        represented = self.named(place, source, made)
        return represented if represented.cost.bound <= limit_tokens else told

    def named(self, run: tuple[int, int], source: str, make: Callable[[str], Summary]) -> Summary:
        """Return what `make` makes of the id that it is stored under; `source`: the digest of what it is made from."""
        return self._notes.named(run, source, make)

    def folded(  # noqa: PLR0913, PLR0917  # what one note on everything is made of
        self,
        first_seq: int,
        last_seq: int,
        new: Sequence[Run],
        standing: Sequence[Part],
        limit_tokens: int,
        texts: Sequence[str] = (),
    ) -> Summary:
        """Return one note on all messages from `first_seq` to `last_seq`: texts by a model, then notes by rule."""
        texts = (*texts, *self._merged(first_seq, last_seq, limit_tokens * TEXTS_FRACTION))
        told = self._notes.folded(first_seq, last_seq, new, standing, limit_tokens, texts)
        return self._represented(told, limit_tokens)

    def better(self, run: Run, limit_tokens: int, level: Representation) -> Summary | None:
        """Return the largest text by a model for exactly this block and level that costs no more; None for none."""
        if self._any is None:
            self._any = self._shelf.transcripts.last_record(self._shelf.session_id, SUMMARY) is not None
        if not self._any:
            return None
        fitting = (one for one in self._stored(run) if one.level == level and one.cost.bound <= limit_tokens)
        return max(fitting, key=lambda one: (one.cost.bound, one.summary_id), default=None)

    def _merged(self, first_seq: int, last_seq: int, limit_tokens: float) -> list[str]:
        """Return what a model wrote of blocks among these messages for a note on many, oldest first.

        As many of the newest of them as cost no more than `limit_tokens` together; none over what another tells of.
        """
        texts: list[str] = []
        for one in self._newest_merged():
            if first_seq <= one.first_seq and one.last_seq <= last_seq:
                limit_tokens -= one.cost.bound
                if limit_tokens < 0:
                    break
                texts.append(one.text)
                last_seq = one.first_seq - 1
        return texts[::-1]

    def _newest_merged(self) -> tuple[Summary, ...]:
        """Return texts by a model that can stand in a note on many blocks: newest blocks first, of one newest first."""
        if self._texts is None:
            counter = self._shelf.renderer.meter.name
            usable = (one for one in _texts_of(self._shelf) if one.counter == counter)
            self._texts = tuple(sorted(usable, key=lambda summary: -summary.last_seq))
        return self._texts

    def _stored(self, run: Run) -> tuple[Summary, ...]:
        place = run.first_seq, run.last_seq
        if place not in self._found:
            counter = self._shelf.renderer.meter.name
            inside = self._shelf.summaries.for_range(self._shelf.session_id, *place)
            exact = (one for one in inside if (one.first_seq, one.last_seq) == place)
            self._found[place] = tuple(one for one in exact if one.by_model and one.counter == counter)
        return self._found[place]


def _heading(told: Summary, summary_id: str) -> str:
    count = told.last_seq - told.first_seq + 1
    return f"[{summary_id}: notes on {count} messages, an extension's, data only; recall {summary_id} shows them]"


class Renewed(NamedTuple):
    """Blocks with better texts; those before number `kept` are as they were."""

    blocks: tuple[Block, ...]
    kept: int


def renewed(ground: Ground, better: Better) -> Renewed:
    """Return the blocks of a scene with better texts in the newest of them, as far as that pays at an event."""
    blocks = list(ground.scene.blocks)
    kept, behind = len(blocks), 0
    if not blocks:
        return Renewed((), 0)
    most = RENEWED_FRACTION * sum(ground.size(atom.sent_cost) for atom in ground.scene.tail)
    runs = {(run.first_seq, run.last_seq): run for run in better.runs(-1)}
    for place in range(len(blocks) - 1, -1, -1):
        behind += ground.size(blocks[place].cost)
        if behind > most:
            break
        made = _renewed(ground, better, blocks[place], runs)
        if made is not None:
            blocks[place], kept = made, place
    return Renewed(tuple(blocks), kept)


def _renewed(ground: Ground, better: Better, block: Block, runs: dict[tuple[int, int], Run]) -> Block | None:
    """Return a block with its better text; None where there is none, or it stands there."""
    segment = block.segment
    run, level = runs.get((segment.first_seq, segment.last_seq)), LEVELS.get(segment.representation)
    if run is None or level is None:
        return None
    summary = better.better(run, ground.level_tokens(run.tokens, level), level)
    if summary is None or summary.summary_id == segment.summary_id:
        return None
    changed = segment._replace(summary_id=summary.summary_id, note_tokens=summary.cost.bound)
    parts = (shown(summary) if part.summary_id == segment.summary_id else part for part in block.parts)
    return Block(changed, tuple(parts))


def newest_written(shelf: Shelf, most: int) -> list[tuple[str, str]]:
    """Return (id, level) of the newest summaries that a language model has written, oldest first, at most so many."""
    last = shelf.transcripts.last_record(shelf.session_id, SUMMARY)
    if last is None:
        return []
    records = shelf.transcripts.records(shelf.session_id, SUMMARY, max(0, last.number + 1 - most))
    said = (_said(record) for record in records)
    return [(str(body[0]), str(body[1])) for body in said if isinstance(body, list) and len(body) > 1]


def written_as(summary: Summary, number: int, usage: Usage) -> Record:
    """Return the record that a language model wrote a summary, and what that took."""
    body = [summary.summary_id, summary.level, summary.made_by, usage.input_tokens, usage.output_tokens]
    return Record(SUMMARY, number, json.dumps(body, separators=(",", ":")))


def writing_of(shelf: Shelf, before: Sequence[Segment], after: Sequence[Segment], made: Sequence[Summary]) -> Usage:
    """Return what a language model took to write what a plan shows and the one before it did not, all calls together.

    Summaries that stand in segments, and texts inside of notes on many blocks; notes by rule took nothing. `made` are
    the summaries that are not stored yet. A record that does not say what one took counts as nothing: older ones don't,
    and a price is no reason to fail a turn.
    """
    shown = {one.summary_id for one in before}
    new = [one for one in after if one.summary_id and one.summary_id not in shown]
    if not new or shelf.transcripts.last_record(shelf.session_id, SUMMARY) is None:
        return Usage(0)
    wanted = {one.summary_id for one in new} | (_texts_in(shelf, new, made) - _texts_in(shelf, before))
    read = written = 0
    for record in shelf.transcripts.records(shelf.session_id, SUMMARY):
        match _said(record):
            case [str(summary_id), _, _, int(input_tokens), int(output_tokens)] if summary_id in wanted:
                read, written = read + input_tokens, written + output_tokens
            case _:
                continue
    return Usage(read, written)


def _texts_in(shelf: Shelf, segments: Sequence[Segment], made: Sequence[Summary] = ()) -> set[str]:
    """Return the ids of the texts by a model inside of notes on many blocks; of equal ones that of the newest.

    Of a note that is no longer stored, because a message of it was forgotten: all texts that it could have held.
    """
    notes = [one for one in segments if one.summary_id and one.representation is Representation.MERGED]
    if not notes:
        return set()
    stored = shelf.summaries.by_id(shelf.session_id, [one.summary_id or "" for one in notes])
    told = {one.summary_id: one.text for one in (*stored, *made)}
    texts = {one.text: one for one in reversed(_texts_of(shelf))}.values()
    return {one.summary_id for one in texts if any(_holds(note, told, one) for note in notes)}


def _holds(note: Segment, told: dict[str, str], text: Summary) -> bool:
    if note.summary_id not in told:
        return note.first_seq <= text.first_seq and text.last_seq <= note.last_seq
    return f"\n{text.text}\n" in f"\n{told[note.summary_id]}\n"


def _texts_of(shelf: Shelf) -> list[Summary]:
    """Return texts by a model that can stand in a note on many blocks, those written last first."""
    ids = [name for name, level in newest_written(shelf, MOST_LOOKED_AT) if level == Representation.MERGED]
    found = shelf.summaries.by_id(shelf.session_id, ids[::-1])
    return [one for one in found if one.by_model and one.level == Representation.MERGED]


def _said(record: Record) -> object:
    try:
        return json.loads(record.body)
    except ValueError:
        return None
