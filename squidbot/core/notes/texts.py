"""Summaries that language models wrote of old messages: which there are, what they took, and which notes use them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.errors import DamagedStoreError
from squidbot.core.messages import Usage
from squidbot.core.transcript.records import RecordKind, fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from squidbot.core.messages import Summary
    from squidbot.core.plan import Segment
    from squidbot.core.ports import SummaryStore, TranscriptStore
    from squidbot.core.view.current import SessionContext


class WrittenSummary(NamedTuple):
    """A summary that a language model wrote, and the tokens that this took."""

    summary_id: str
    last_seq: int
    made_by: str
    input_tokens: int
    output_tokens: int


# Without such a record, no model's summary is looked for.
SUMMARY = RecordKind("summary", fields(WrittenSummary), tuple, until=lambda written: written.last_seq + 1)
# The `Summary.level` of what a model wrote: notes of any level take sentences from it.
BY_MODEL = "summary:model"
# Among how many of the newest of them notes look: one stands for a quarter of a room and more, and what is further back
# has faded. Who asks for further ones looks among all that notes can reach back to.
MOST_LOOKED_AT, MOST_REACHED = 64, 1_024


def newest_texts(
    session_id: str, transcripts: TranscriptStore, summaries: SummaryStore, most: int = MOST_LOOKED_AT
) -> tuple[Summary, ...]:
    """Return the newest summaries that language models wrote, at most so many.

    The last messages come first, and of one place the one written last.

    Raises:
        StoreError: the store failed.
    """
    last = transcripts.last_record(session_id, SUMMARY.name)
    if last is None:
        return ()
    written = list(_written(session_id, transcripts, max(0, last.number + 1 - most)))
    found = summaries.by_id(session_id, [one.summary_id for one in reversed(written)])
    return tuple(sorted((one for one in found if one.by_model), key=lambda one: -one.last_seq))


def texts_inside(texts: Sequence[Summary], first_seq: int, last_seq: int) -> list[Summary]:
    """Return those of `newest_texts` that are on messages of a run alone, oldest first; none on what another tells."""
    chosen: list[Summary] = []
    for one in texts:
        if first_seq <= one.first_seq and one.last_seq <= last_seq:
            chosen.append(one)
            last_seq = one.first_seq - 1
    return chosen[::-1]


def writing_of(
    context: SessionContext, before: Sequence[Segment], after: Sequence[Segment], made: Sequence[Summary]
) -> Usage:
    """Return what language models took to write what the notes of a plan use, and those of the one before it did not.

    `made` are the notes that are not stored yet. A note that is no longer stored, because a message of it was
    forgotten, could have used every summary of its messages.
    """
    shown, told = {one.summary_id for one in before}, {one.summary_id: one.told_from for one in made}
    new = [one.summary_id for one in after if one.summary_id and one.summary_id not in shown]
    if (
        all(told.get(name) == () for name in new)
        or context.transcripts.last_record(context.session_id, SUMMARY.name) is None
    ):
        return Usage(0)
    wanted = _used(context, after, made) - _used(context, before)
    found = [one for one in _written(context.session_id, context.transcripts) if one.summary_id in wanted]
    return Usage(sum(one.input_tokens for one in found), sum(one.output_tokens for one in found))


def _used(context: SessionContext, segments: Sequence[Segment], made: Sequence[Summary] = ()) -> set[str]:
    notes = {segment.summary_id: segment for segment in segments if segment.summary_id}
    told = [
        *context.summaries.by_id(context.session_id, list(notes)),
        *(one for one in made if one.summary_id in notes),
    ]
    used = {text for note in told for text in note.told_from}
    gone = [notes[summary_id] for summary_id in notes.keys() - {one.summary_id for one in told}]
    texts = newest_texts(context.session_id, context.transcripts, context.summaries) if gone else ()
    return used.union(one.summary_id for note in gone for one in texts_inside(texts, note.first_seq, note.last_seq))


def _written(session_id: str, transcripts: TranscriptStore, first_number: int = 0) -> Iterator[WrittenSummary]:
    """Yield what language models have written; a record that can't be read is passed over: a price fails no turn."""
    for record in transcripts.records(session_id, SUMMARY.name, first_number):
        with suppress(DamagedStoreError):
            yield SUMMARY.read(record)
