"""Notes as they were behind an earlier plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from squidbot.core.errors import NotFoundError
from squidbot.core.notes.notebook import Notebook, counts_behind, rewound
from squidbot.core.plan import Representation

from ..rows import RENDERER
from .test_notebook import stored, write

if TYPE_CHECKING:
    from squidbot.adapters.stdlib import InMemoryStore


def taken(book: Notebook, store: InMemoryStore, runs: list[tuple[int, int]], merged_through: int = -1) -> None:
    """Note runs of messages of a conversation, and store what they are made from."""
    _, steps = stored()
    for first, last in runs:
        book.read_block([step for step in steps if first <= step.first_seq and step.last_seq <= last])
    write(store, book.settle(merged_through, runs))


def told(store: InMemoryStore, last_seq: int) -> str:
    """Return what a new process's note says of all that was noted."""
    text = Notebook("s", RENDERER, store, store).merged_note(0, last_seq, [], [], 4000).text
    return text.partition("\n")[2]


def test_a_process_that_stays_tells_what_a_new_one_tells() -> None:
    """It has taken blocks in as they came: up to any, and after a fold over any, the notes are the same."""
    runs = [(at, at + 11) for at in range(0, 96, 12)]
    for merged_through in (-1, 11, 23, 35, 59):
        store, _ = stored()
        book = Notebook("s", RENDERER, store, store)
        for new in (runs[:1], runs[1:2], runs[2:3], runs[3:]):
            taken(book, store, new, merged_through if merged_through <= new[-1][1] else -1)
        for _, last in runs:
            if last > merged_through:
                mine = book.merged_note(0, last, [], [], 4000).text.partition("\n")[2]
                assert mine == told(store, last), (merged_through, last)


def test_notes_are_what_they_were_then() -> None:
    """Two blocks of a chain, then a fold over all and two more; back to the two."""
    store, _ = stored()
    book = Notebook("s", RENDERER, store, store)
    taken(book, store, [(0, 11), (12, 23)])
    then, before = book.counts(), told(store, 23)
    taken(book, store, [(24, 35)], merged_through=35)
    taken(book, store, [(36, 47), (48, 59)])
    assert told(store, 59) != before
    records = rewound(book, then, -1)
    assert [record.kind for record in records] == ["ledger", "fragment", "fragment"]
    counts = counts_behind(book, records)
    write(store, records)
    book.reopen()
    assert book.counts() == counts == (1, 7)
    assert [(run.first_seq, run.last_seq) for run in book.runs(-1)] == [(0, 11), (12, 23)]
    assert told(store, 23) == before
    run = book.runs(-1)[1]
    assert book.note(run, [], 200, Representation.MODERATE).first_seq == 12


def test_what_was_merged_then_is_in_the_ledger() -> None:
    """The blocks behind it once more as they were; noted anew, nothing is counted twice."""
    store, _ = stored()
    book = Notebook("s", RENDERER, store, store)
    taken(book, store, [(0, 11), (12, 23)], merged_through=23)
    taken(book, store, [(24, 35)])
    then, before = book.counts(), told(store, 35)
    taken(book, store, [(36, 47)], merged_through=47)
    after = told(store, 47)
    write(store, rewound(book, then, 23))
    book.reopen()
    assert told(store, 35) == before
    assert [(run.first_seq, run.last_seq) for run in book.runs(23)] == [(24, 35)]
    taken(book, store, [(36, 47)], merged_through=47)
    assert told(store, 47) == after


def test_back_and_back_again() -> None:
    """What a rewinding wrote is itself something to come back to."""
    store, _ = stored()
    book = Notebook("s", RENDERER, store, store)
    taken(book, store, [(0, 11)])
    first, one = book.counts(), told(store, 11)
    taken(book, store, [(12, 23)])
    write(store, rewound(book, first, -1))
    book.reopen()
    second = book.counts()
    taken(book, store, [(12, 35)])
    for then in (second, first, second):
        write(store, rewound(book, then, -1))
        book.reopen()
        assert told(store, 35) == one


def test_nothing_is_written_where_nothing_was_noted() -> None:
    """No record for nothing; where something was, an empty ledger stands in front of what comes."""
    store, _ = stored()
    book = Notebook("s", RENDERER, store, store)
    assert rewound(book, (0, 0), -1) == ()
    taken(book, store, [(0, 11)])
    (record,) = rewound(book, (0, 0), -1)
    write(store, (record,))
    book.reopen()
    assert book.runs(-1) == ()
    assert book.reach(0, 5) == 5


def test_notes_that_are_no_longer_stored_are_named() -> None:
    """A typed error, and no notes on less than there was."""
    store, _ = stored()
    book = Notebook("s", RENDERER, store, store)
    taken(book, store, [(0, 11)])
    for then in ((0, 7), (3, 1)):
        with pytest.raises(NotFoundError, match="no longer stored"):
            rewound(book, then, -1)
