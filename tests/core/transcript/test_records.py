"""How a kind of record is stored, and writing behind other writers: tried again, and given up after a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import pytest

from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.errors import BusyError, DamagedStoreError, StoreError
from squidbot.core.messages import Record
from squidbot.core.transcript.documents import Document, SessionDocuments
from squidbot.core.transcript.goals import GoalBook
from squidbot.core.transcript.records import (
    FIRST_SECONDS,
    LONGEST_SECONDS,
    MOST_SECONDS,
    RecordKind,
    append,
    as_fields,
    fields,
    pauses,
    retry,
)
from squidbot.wiring.streams import wait

from ..promises.driver import Meddled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


class Clock:
    """Waits as long as it may, each try taking some time itself, and keeps for how long it was asked to."""

    def __init__(self, try_seconds: float = 0.0) -> None:
        """Take how long a try lasts."""
        self.asked: list[float] = []
        self.now = 1_000.0
        self.try_seconds = try_seconds

    def __call__(self, most_seconds: float) -> float:
        """Wait."""
        if most_seconds:
            self.asked.append(most_seconds)
        self.now += most_seconds + self.try_seconds
        return self.now


def test_pauses_grow_and_end() -> None:
    """Twice as long each time, up to half a second, for twelve seconds."""
    clock = Clock()
    tries = sum(1 for _ in pauses(clock))
    assert clock.asked[:4] == [FIRST_SECONDS * 2**number for number in range(4)]
    assert clock.asked == sorted(clock.asked)
    assert clock.asked[-1] == LONGEST_SECONDS
    assert tries == len(clock.asked) < 40
    assert MOST_SECONDS <= clock.now - 1_000 < MOST_SECONDS + LONGEST_SECONDS


def test_what_a_try_takes_counts() -> None:
    """Where decisions are slow, fewer are made: nobody waits longer for it."""
    clock = Clock(try_seconds=3.0)
    assert sum(1 for _ in pauses(clock)) == 4


def test_nobody_waits_where_nothing_can() -> None:
    """The core alone has no clock: the pauses count as if they had been made."""
    assert sum(1 for _ in pauses()) == sum(1 for _ in pauses(Clock()))


def test_first_try_that_succeeds_asks_for_no_pause() -> None:
    """Most calls meet nobody."""
    clock = Clock()
    assert retry(InMemoryStore(), "s", lambda head: head, "nothing", wait=clock) == (0, 0)
    assert not clock.asked


def test_a_store_that_fails_is_not_tried_again() -> None:
    """Nobody else has written: it would fail again."""
    store, clock = InMemoryStore(), Clock()

    def act(head: tuple[int, int]) -> None:
        raise StoreError(f"the disk is full: {head}")

    with pytest.raises(StoreError, match="the disk is full"):
        retry(store, "s", act, "nothing was written", wait=clock)
    assert not clock.asked


def test_giving_up_says_how_long_and_what() -> None:
    """And is an error of its own."""
    store = InMemoryStore()

    def act(head: tuple[int, int]) -> None:
        store.append("s", 0, (), [Record("pin", head[1], "{}")])
        store.append("s", 0, (), [Record("pin", head[1], "{}")])

    with pytest.raises(BusyError) as caught:
        retry(store, "s", act, "nothing was written", wait=Clock())
    assert (caught.value.session_id, caught.value.seconds) == ("s", MOST_SECONDS)
    assert str(caught.value) == (
        "gave up after 12 s: other processes keep writing to session 's'; nothing was written, try again later"
    )


class Noted(NamedTuple):
    """A value with a field of each type."""

    name: str
    seqs: tuple[int, ...] = ()
    marks: frozenset[str] = frozenset()
    at: float | None = None
    on: bool = False


NOTED = RecordKind("noted", fields(Noted), tuple, lambda one: {**as_fields(one), "marks": sorted(one.marks)})


@pytest.mark.parametrize(
    "noted", [Noted("a"), Noted("\ud800", (1, 2), frozenset({"x"}), 1.5, on=True), Noted("", at=2)]
)
def test_value_comes_back_from_its_record(noted: Noted) -> None:
    """Lists as what they were, figures as they were."""
    assert NOTED.read(NOTED.record(3, noted)) == noted


@pytest.mark.parametrize(
    "body",
    [
        '{"name": 1}',
        '{"name": "a", "seqs": [true]}',
        '{"name": "a", "seqs": 1}',
        '{"name": "a", "marks": [1]}',
        '{"name": "a", "at": "1"}',
        '{"name": "a", "on": 1}',
        '{"name": "a", "boat": 1}',
        "{}",
    ],
)
def test_field_of_another_type_is_damage(body: str) -> None:
    """Too few and too many, too."""
    with pytest.raises(DamagedStoreError, match=r"^noted 3 can't be read: "):
        NOTED.read(Record("noted", 3, body))


def test_append_decides_anew_where_another_writer_came_between() -> None:
    """Also between what it reads and what it writes: each name is noted once."""
    store = InMemoryStore()
    decided: list[tuple[Noted, ...]] = []

    def decide() -> Noted | None:
        known = NOTED.state(store, "s")
        decided.append(known)
        if len(decided) == 1:
            append(store, "s", NOTED, lambda: Noted("a"), "nothing")
        return None if any(one.name == "a" for one in known) else Noted("a")

    assert append(store, "s", NOTED, decide, "nothing") is None
    assert decided == [(), (Noted("a"),)]
    assert NOTED.all(store, "s") == [Noted("a")]


WRITERS: list[tuple[Callable[[InMemoryStore, str], object], Callable[[InMemoryStore], set[str]], str]] = [
    (
        lambda store, text: GoalBook(store, "s", 65_536, len).change("block", text),
        lambda store: {one.text for one in GoalBook(store, "s", 65_536, len).goals().blockers},
        "no goal was changed",
    ),
    (
        lambda store, text: SessionDocuments(store, "s", 65_536, len).keep(Document(text, "x")),
        lambda store: {one.name for one in SessionDocuments(store, "s", 65_536, len).all()},
        "no document was changed",
    ),
]


@pytest.mark.parametrize(("write", "held", "undone"), WRITERS, ids=["goals", "documents"])
def test_goals_and_documents_make_way_for_other_writers_and_give_up(
    write: Callable[[InMemoryStore, str], object], held: Callable[[InMemoryStore], set[str]], undone: str
) -> None:
    """What all have written is there; who is never let in gives up after a while, and a disk that fails is told."""

    class Raced(Meddled):
        def before(self, session_id: str, records: Sequence[Record]) -> None:
            if self.others < 0:
                raise StoreError(f"the disk is full: {session_id}, {len(records)}")
            if self.others:
                self.others -= 1
                write(scratch := InMemoryStore(), f"other {self.others}")
                (other,) = scratch.records(session_id, records[0].kind)
                InMemoryStore.append(self, session_id, 0, (), [Record(other.kind, records[0].number, other.body)])

    store = Raced(others=2)
    write(store, "mine")
    assert held(store) == {"mine", "other 0", "other 1"}
    with pytest.raises(BusyError, match=f"; {undone}, try"):
        write(Raced(others=10**9), "mine")
    with pytest.raises(StoreError, match="the disk is full"):
        write(Raced(others=-1), "mine")


def test_those_who_append_at_once_all_come_in(tmp_path: Path) -> None:
    """By stores of their own over one file: every value once, in a row, none decided by what was not the newest."""

    def count(_: int) -> None:
        with closing(SqliteStore(tmp_path / "s.db")) as store:
            for _ in range(5):
                append(store, "s", NOTED, lambda: Noted(f"{len(NOTED.all(store, 's'))}"), "nothing", wait=wait)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(count, range(6)))
    with closing(SqliteStore(tmp_path / "s.db")) as store:
        assert [one.name for one in NOTED.all(store, "s")] == [str(number) for number in range(30)]
