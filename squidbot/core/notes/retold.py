"""Notes made once more from the raw messages, because some of these were forgotten."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from squidbot.core.messages import Record
from squidbot.core.notes.ledger import Fragment, Ledger
from squidbot.core.notes.notebook import FRAGMENT, LEDGER
from squidbot.core.notes.reading import Reading
from squidbot.core.view.atoms import atoms_of

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from squidbot.core.notes.notebook import Notebook
    from squidbot.core.view.standing import Shelf

__all__ = ["emptied", "retold"]


def emptied(record: Record, gone: AbstractSet[int]) -> Record | None:
    """Return a record of notes without what was read of messages; None where nothing in it is from those in `gone`.

    Raises:
        DamagedStoreError: the record can't be read.
    """
    if record.kind == FRAGMENT:
        fragment = Fragment.from_json(record.body)
        if any(fragment.first_seq <= seq <= fragment.last_seq for seq in gone):
            return record._replace(body=replace(fragment, reading=Reading()).to_json())
        return None
    ledger = Ledger.from_json(record.body)
    if any(seq <= ledger.last_seq for seq in gone):
        return record._replace(body=replace(ledger, reading=Reading()).to_json())
    return None


def retold(notes: Notebook, shelf: Shelf, gone: AbstractSet[int]) -> tuple[Record, ...]:
    """Return the records that bring the notes up to date: a ledger and the blocks behind it.

    What is from a block with a message in `gone` is read anew from `shelf`, the others are as they were stored.

    Raises:
        DamagedStoreError: what is stored can't be read.
    """
    ledger, pending = notes.held()
    known = {(one.first_seq, one.last_seq): one for one in _stored(notes)}
    merged = Ledger()
    for first, last in _runs(ledger):
        merged = merged.taking(_fragment(notes, shelf, (first, last), known, gone))
    ledgers, fragments = notes.counts()
    # A ledger that no longer reaches as far back has counted, and faded, what it took in before.
    kept = replace(merged, fragments=fragments, last_seq=max(merged.last_seq, ledger.last_seq))
    chain = [_fragment(notes, shelf, (one.first_seq, one.last_seq), known, gone) for one in pending]
    return (
        Record(LEDGER, ledgers, kept.to_json()),
        *(Record(FRAGMENT, number, one.to_json()) for number, one in enumerate(chain, fragments)),
    )


def _runs(ledger: Ledger) -> list[tuple[int, int]]:
    """Return (first seq, last seq) of the blocks within a ledger's reach, oldest first."""
    firsts = [first for first, _ in ledger.starts]
    lasts = [first - 1 for first in firsts[1:]] + [ledger.last_seq]
    return list(zip(firsts, lasts, strict=True)) if firsts else []


def _stored(notes: Notebook) -> list[Fragment]:
    found = notes.transcripts.records(notes.session_id, FRAGMENT)
    return [Fragment.from_json(record.body) for record in found]


def _fragment(
    notes: Notebook,
    shelf: Shelf,
    run: tuple[int, int],
    known: dict[tuple[int, int], Fragment],
    gone: AbstractSet[int],
) -> Fragment:
    held = known.get(run)
    # One of which nothing is left was emptied when another message in it was forgotten.
    if held is not None and held.reading.lines and not any(run[0] <= seq <= run[1] for seq in gone):
        return held
    return notes.read(atoms_of(shelf.read(*run)))[0]
