"""Brings notes back to what they were behind an earlier plan; records are only ever added."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from squidbot.core.errors import NotFoundError
from squidbot.core.messages import Record
from squidbot.core.notes.ledger import Fragment, Ledger
from squidbot.core.notes.notebook import FRAGMENT, LEDGER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.notes.notebook import Notebook

__all__ = ["counts_behind", "rewound"]


def rewound(notes: Notebook, then: tuple[int, int], merged_through: int) -> tuple[Record, ...]:
    """Return the records that make the notes what they were when there were `then` records: (ledgers, fragments).

    A ledger of what was merged through the message `merged_through`, and once more the fragments behind it: what was
    noted since stands raw again, and is noted anew. Call `Notebook.reopen` once they are stored, or where that fails.

    Raises:
        DamagedStoreError: stored notes can't be read.
        NotFoundError: the notes of that time are no longer stored.
    """
    ledgers, fragments = notes.counts()
    if not fragments:
        return ()
    ledger = _ledger(notes, then[0])
    chain: list[Fragment] = []
    for one in _fragments(notes, ledger.fragments, then[1]):
        if ledger.last_seq < one.last_seq <= merged_through:
            ledger = ledger.taking(one)
        else:
            chain.append(one)
    records = [Record(LEDGER, ledgers, replace(ledger, fragments=fragments).to_json())]
    records += [Record(FRAGMENT, number, one.to_json()) for number, one in enumerate(chain, fragments)]
    return tuple(records)


def _ledger(notes: Notebook, count: int) -> Ledger:
    """Return the ledger as it was stored when there were `count` of them."""
    if not count:
        return Ledger()
    found = notes.transcripts.records(notes.session_id, LEDGER, count - 1)
    if not found or found[0].number != count - 1:
        raise NotFoundError("the notes of that time are no longer stored")
    return Ledger.from_json(found[0].body)


def _fragments(notes: Notebook, first: int, behind: int) -> list[Fragment]:
    """Return the fragments from number `first` to the one before `behind`."""
    if first >= behind:
        return []
    found = notes.transcripts.records(notes.session_id, FRAGMENT, first)[: behind - first]
    if [record.number for record in found] != list(range(first, behind)):
        raise NotFoundError("the notes of that time are no longer stored")
    return [Fragment.from_json(record.body) for record in found]


def counts_behind(notes: Notebook, records: Sequence[Record]) -> tuple[int, int]:
    """Return how many records of notes there will be behind these: (ledgers, fragments)."""
    ledgers, fragments = notes.counts()
    kinds = [record.kind for record in records]
    return ledgers + kinds.count(LEDGER), fragments + kinds.count(FRAGMENT)
