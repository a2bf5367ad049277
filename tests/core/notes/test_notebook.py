"""The notes of one session, and what they are made from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.errors import DamagedStoreError
from squidbot.core.messages import Record
from squidbot.core.notes.notebook import SNAPSHOT_FRAGMENTS, Notebook
from squidbot.core.plan import Representation
from squidbot.core.recall.history import resolve
from squidbot.core.view.renderer import raw_part
from squidbot.core.view.steps import Step, steps_of

from ..promises.driver import CLASSES, Setup, assistant, held, opened, user
from ..promises.histories import tame
from ..rows import RENDERER

if TYPE_CHECKING:
    from squidbot.core.messages import Part, Summary


def stored(turns: int = 40) -> tuple[InMemoryStore, list[Step]]:
    """Return a store with a conversation, and its steps: three a turn."""
    store = InMemoryStore()
    opened(store, Setup(131_072)).record(*tame(turns, 20))
    return store, steps_of(held(store).messages)


def write(store: InMemoryStore, records: tuple[Record, ...]) -> None:
    """Store records beside the session."""
    store.append("s", store.head("s")[0], [], records)


def told(book: Notebook, steps: list[Step], limit_tokens: int, beside: list[Part] | None = None) -> Summary:
    """Return notes on steps that are noted for the first time."""
    return book.note(book.read_block(steps), beside or [], limit_tokens)


def test_notes_name_their_run_and_fit_their_limit() -> None:
    """Id, level, header, cost; the same notes again are equal."""
    store, steps = stored()
    said = [raw_part(row) for step in steps[:9] if step.is_user for row in step.messages]
    made = told(Notebook("s", RENDERER, store, store), steps[:9], 120, said)
    assert (made.first_seq, made.last_seq, made.level) == (0, 11, "summary:detailed")
    assert made.summary_id.startswith("s0-11.")
    assert made.text.startswith(f"[{made.summary_id}: notes on 12 messages, data only; recall {made.summary_id}")
    assert "part_" in made.text
    assert made.cost == CLASSES.message(made.text)
    assert made.cost.bound <= 120
    assert told(Notebook("s", RENDERER, store, store), steps[:9], 120, said) == made


def test_what_the_user_asked_is_told_where_it_does_not_stand_beside_the_notes() -> None:
    """Of two messages of the user one gave way: the notes tell of that one, and of the other once it gives way too."""
    store = InMemoryStore()
    asked = user("Move the cart to src/cart.ts, please."), user("Then round the tax in src/tax.ts to cents.")
    opened(store, Setup(131_072)).record(*(one for said in asked for one in (said, assistant("Done as you asked."))))
    steps = steps_of(held(store).messages)
    beside = [raw_part(row) for row in steps[2].messages]
    text = told(Notebook("s", RENDERER, store, store), steps, 400, beside).text
    assert "- asked: Move the cart to src/cart.ts, please." in text
    assert "round the tax" not in text
    assert (
        "- asked: Then round the tax in src/tax.ts to cents."
        in told(Notebook("s", RENDERER, store, store), steps, 400).text
    )


def test_notes_whose_id_is_taken_get_a_longer_one_and_keep_it() -> None:
    """Two sources may share four digits of their digests; a note that is stored is found by what made it again."""
    store, steps = stored()
    short = told(Notebook("s", RENDERER, store, store), steps[:9], 120)
    store.put(replace(short, text="another's", source_digest="f" * 64))
    longer = told(Notebook("s", RENDERER, store, store), steps[:9], 120)
    assert longer.summary_id == f"{short.summary_id}{longer.source_digest[4:8]}"
    assert longer.text.startswith(f"[{longer.summary_id}: notes on 12 messages, data only; recall {longer.summary_id}")
    assert (longer.source_digest, longer.cost.bound <= 120) == (short.source_digest, True)
    store.put(longer)
    assert told(Notebook("s", RENDERER, store, store), steps[:9], 120) == longer
    assert resolve(longer.summary_id, 99, store, "s") == (0, 11, False)


def test_notes_do_not_say_again_what_stands_beside_them() -> None:
    """A path that a question names already."""
    store, steps = stored()
    plain = told(Notebook("s", RENDERER, store, store), steps[:9], 400)
    beside = told(Notebook("s", RENDERER, store, store), steps[:9], 400, [raw_part(row) for row in steps[1].messages])
    assert plain.text != beside.text
    assert plain.source_digest != beside.source_digest


def test_fold_stands_for_all_that_was_settled_before() -> None:
    """In any process: from the records alone, notes are the same."""
    store, steps = stored()
    one = Notebook("s", RENDERER, store, store)
    first = told(one, steps[:9], 120)
    write(store, one.settle(-1, [(first.first_seq, first.last_seq)]))
    folded = one.merged_note(0, 23, [one.read_block(steps[9:18])], [], 300)
    assert (folded.first_seq, folded.last_seq, folded.level) == (0, 23, "summary:merged")
    other = Notebook("s", RENDERER, store, store)
    assert other.merged_note(0, 23, [other.read_block(steps[9:18])], [], 300) == folded
    write(store, one.settle(23, [(12, 23)]))
    again = Notebook("s", RENDERER, store, store).merged_note(0, 23, [], [], 300)
    assert again == folded
    assert [record.number for record in store.records("s", "fragment")] == [0, 1]


def test_ledger_is_stored_every_16_fragments() -> None:
    """A new process reads it and the fragments behind it."""
    store, steps = stored(60)
    book = Notebook("s", RENDERER, store, store)
    for number in range(20):
        run = steps[9 * number : 9 * number + 9]
        last = run[-1].last_seq
        book.merged_note(0, last, [book.read_block(run)], [], 200)
        write(store, book.settle(last, [(run[0].first_seq, last)]))
    assert len(store.records("s", "fragment")) == 20
    assert len(store.records("s", "ledger")) == 20 // SNAPSHOT_FRAGMENTS
    fresh = Notebook("s", RENDERER, store, store)
    assert fresh.merged_note(0, 239, [], [], 300) == book.merged_note(0, 239, [], [], 300)
    assert fresh.reach(0, 5) == book.reach(0, 5) == 0


def test_reach_is_the_first_message_asked_for_where_nothing_was_noted() -> None:
    """And never before it."""
    store, _ = stored(2)
    assert Notebook("s", RENDERER, store, store).reach(0, 5) == 5


def test_block_is_told_at_every_level_from_what_was_read_of_it() -> None:
    """Smaller at each, never from the notes before; the same from a process that was just started."""
    store, steps = stored()
    book = Notebook("s", RENDERER, store, store)
    run = book.read_block(steps[:18])
    book.note(run, [], 400)
    write(store, book.settle(-1, [run[:2]]))
    assert book.runs(-1) == (run,)
    assert book.runs(run.first_seq) == ()
    levels = [(Representation.DETAILED, 300), (Representation.MODERATE, 150), (Representation.COMPACT, 75)]
    made = [book.note(run, [], limit, level) for level, limit in levels]
    assert [one.level for one in made] == [level for level, _ in levels]
    assert made[0].cost.bound > made[1].cost.bound > made[2].cost.bound
    fresh = Notebook("s", RENDERER, store, store)
    assert fresh.runs(-1) == (run,)
    assert [fresh.note(run, [], limit, level) for level, limit in reversed(levels)] == made[::-1]


def test_another_lease_begins_its_notes_anew() -> None:
    """What was noted under the old one is told again; its records stay."""
    store, steps = stored()
    book = Notebook("s", RENDERER, store, store)
    assert book.restart() == ()
    told(book, steps[:9], 120)
    write(store, book.settle(-1, [(0, 11)]))
    (kept,) = book.restart()
    write(store, (kept,))
    assert kept.kind == "ledger"
    fresh = Notebook("s", RENDERER, store, store)
    one, two = (each.merged_note(0, 23, [each.read_block(steps[:18])], [], 300) for each in (fresh, book))
    assert one == two
    assert fresh.reach(0, 5) == 5


def test_notes_that_were_not_stored_are_forgotten() -> None:
    """The next ones are made from what is stored."""
    store, steps = stored()
    book = Notebook("s", RENDERER, store, store)
    before = book.merged_note(0, 11, [book.read_block(steps[:9])], [], 300)
    book.settle(11, [(0, 11)])
    book.reopen()
    assert book.merged_note(0, 11, [book.read_block(steps[:9])], [], 300) == before
    assert [record.number for record in book.settle(11, [(0, 11)])] == [0]


@pytest.mark.parametrize("kind", ["fragment", "ledger"])
def test_damaged_notes_are_told(kind: str) -> None:
    """A typed error, not notes on nothing."""
    store, _ = stored(2)
    write(store, (Record(kind, 0, "{"),))
    with pytest.raises(DamagedStoreError):
        Notebook("s", RENDERER, store, store).reach(0, 0)
