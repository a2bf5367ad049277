"""Each kind of record: how it is stored, and writing behind other writers."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squidbot
from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.budget import WindowSettings, open_window
from squidbot.core.engine import ContextEngine
from squidbot.core.errors import BusyError, DamagedStoreError, NotFoundError, StoreError
from squidbot.core.memories import Scope
from squidbot.core.messages import Record
from squidbot.core.plan import Section
from squidbot.core.transcript.bookkeeping import JOURNALED, KEY, JournalProgress, Keys, note_journaled
from squidbot.core.transcript.documents import Document, SessionDocuments
from squidbot.core.transcript.goals import GoalBook
from squidbot.core.transcript.lineage import (
    CHILD,
    CONTINUED,
    LINEAGE,
    Lineage,
    ancestors,
    children_of,
    parent_of,
    shown,
)
from squidbot.core.transcript.pins import PIN, Pins
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
from squidbot.core.transcript.scopes import SCOPE, scope_at
from squidbot.core.transcript.snapshots import SNAPSHOT, Retention, Snapshot, SnapshotIndex, check_name
from squidbot.core.transcript.windows import LEARNED, WINDOW, LearnedWindow, learned_tokens
from squidbot.wiring.claims import wait

from ..promises.driver import CODEC, Heard, Meddled, Setup, assistant, opened, user
from ..promises.histories import tame

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from squidbot.core.session import CoreSession


# -- how a kind of record is stored, and writing behind other writers: tried again, and given up after a time ---------


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


def test_giving_up_says_how_long_and_what(store: InMemoryStore) -> None:
    """And is an error of its own."""

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


def test_append_decides_anew_where_another_writer_came_between(store: InMemoryStore) -> None:
    """Also between what it reads and what it writes: each name is noted once."""
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
        lambda store: {blocker.text for blocker in GoalBook(store, "s", 65_536, len).goals().blockers},
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


# -- pins as stored records leave them --------------------------------------------------------------------------------


def pins(*bodies: object) -> Pins:
    """Return the pins of records with these bodies, in order."""
    return Pins.of([PIN.read(Record(PIN.name, number, json.dumps(body))) for number, body in enumerate(bodies)])


def test_session_without_records_has_no_pins() -> None:
    """And the next record is number 0."""
    assert pins() == Pins(frozenset(), (), 0)


def test_newest_record_of_a_message_wins() -> None:
    """Pinned, taken away, pinned again; taken away twice."""
    on, off = {"seq": 3, "on": True}, {"seq": 3, "on": False}
    assert pins(on).seqs == {3}
    assert pins(on, off).seqs == frozenset()
    assert pins(on, off, on, {"seq": 5, "on": True}).seqs == {3, 5}
    assert pins(off, off) == Pins(frozenset(), (), 2)


def test_texts_stand_in_the_order_in_which_they_were_first_set() -> None:
    """The newest text of a name in its first place; an empty one takes it away."""
    made = pins({"name": "goal", "text": "a"}, {"name": "plan", "text": "b"}, {"name": "goal", "text": "c"})
    assert made.texts == (Section("pin goal", "c"), Section("pin plan", "b"))
    assert pins({"name": "goal", "text": "a"}, {"name": "goal", "text": ""}).texts == ()


# -- what a client sends under a key is recorded once, whoever sends it again -----------------------------------------

PLAIN = {"memory": {"enabled": False}}


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(("", "a", "b", "\ud800")), st.integers(0, 3)), max_size=9))
def test_what_is_sent_again_under_a_key_is_recorded_once(sent: list[tuple[int, str, int]]) -> None:
    """By sessions that are open at once; without a key all is recorded, and no messages take no key."""
    with squidbot.load(PLAIN) as engine:
        opened = [engine.session("s") for _ in range(3)]
        known: dict[str, tuple[int, ...]] = {}
        due = 0
        for which, key, count in sent:
            rows = opened[which].record([f"m{number}" for number in range(count)], key=key)
            expected = known.get(key, tuple(range(due, due + count)))
            assert tuple(row.seq for row in rows) == expected
            if expected == tuple(range(due, due + count)):
                due += count
            if key and count:
                known.setdefault(key, expected)
        assert engine.wired.store.head("s")[0] == due


def test_writers_at_once_record_one_of_them(tmp_path: Path) -> None:
    """Each has a store of its own open; the key is stored with the messages, or neither is."""

    def send(_: int) -> list[int]:
        with squidbot.load({**PLAIN, "store": {"path": str(tmp_path / "mem.db")}}) as engine:
            return [row.seq for row in engine.session("s").record(["one", "two"], key="a")]

    with squidbot.load({**PLAIN, "store": {"path": str(tmp_path / "mem.db")}}) as engine:
        with ThreadPoolExecutor(6) as threads:
            assert list(threads.map(send, range(6))) == [[0, 1]] * 6
        assert engine.wired.store.head("s")[0] == 2


def test_a_key_is_stored_without_its_words() -> None:
    """It outlasts what is forgotten."""
    with squidbot.load(PLAIN) as engine:
        session = engine.session("s")
        session.record("The code is 4711.", key="the code 4711")
        session.forget(0)
        assert "4711" not in "".join(record.body for record in engine.wired.store.records("s", KEY.name))
        (row,) = session.record("The code is 4711.", key="the code 4711")
        assert "4711" not in row.payload
        assert engine.wired.store.head("s")[0] == 1


def test_a_damaged_record_of_a_key_is_named(store: InMemoryStore) -> None:
    """Nothing is recorded twice instead."""
    store.append("s", 0, [], [Record(KEY.name, 0, "[1]")])
    with pytest.raises(DamagedStoreError, match="key 0 can't be read"):
        Keys(store, "s").find("a")


# -- which session goes on from which, from records in both (P-03) ----------------------------------------------------


def check_goes_on(store: InMemoryStore, parent_id: str, child_id: str) -> None:
    """Write that one session goes on from another."""
    descent = Lineage(parent_id, CONTINUED, 7, at=1.0)
    for session_id, one in ((child_id, descent), (parent_id, descent._replace(other=child_id, side=CHILD))):
        append(store, session_id, LINEAGE, lambda one=one: one, "nothing")  # type: ignore[misc]


def test_sessions_are_found_from_each_other(store: InMemoryStore) -> None:
    """All that came before, the nearest first; all that came of one."""
    check_goes_on(store, "a", "b")
    check_goes_on(store, "b", "c")
    check_goes_on(store, "a", "d")
    assert list(ancestors(store, "c")) == ["b", "a"]
    assert [one.other for one in children_of(store, "a")] == ["b", "d"]
    assert parent_of(store, "a") is None
    found = parent_of(store, "c")
    assert found is not None
    assert (found.other, found.way, found.messages, found.at) == ("b", "continued", 7, 1.0)


def test_circle_of_sessions_ends(store: InMemoryStore) -> None:
    """Nobody makes one; a store may have been written to by hand."""
    check_goes_on(store, "a", "b")
    check_goes_on(store, "b", "a")
    assert list(ancestors(store, "a")) == ["b"]


def test_id_is_told_on_one_line() -> None:
    """Without what would end it, and not at any length."""
    assert shown("support/42") == "support/42"
    assert shown("a\x1b[31m\n<b>") == "a[31mb"
    assert len(shown("x" * 1_000)) == 201


# -- how far the entries of a journal tell of a session ---------------------------------------------------------------


def test_session_knows_how_far_it_was_told(store: InMemoryStore) -> None:
    """Durably, in its order."""
    assert JOURNALED.state(store, "s") == JournalProgress()
    note_journaled(store, "s", 4, 10.0)
    note_journaled(store, "s", 9, 20.0)
    assert JOURNALED.state(store, "s") == JournalProgress(9, 20.0, 2)


# -- whose the messages of a session are stands beside them, once for each change -------------------------------------

ANN, BEN, NOBODY = Scope("t", "ann", collection="x"), Scope(user="ben", bot="b"), Scope()


@given(st.lists(st.tuples(st.sampled_from((ANN, BEN, NOBODY)), st.integers(1, 3)), max_size=6))
def test_each_message_is_of_the_scope_that_it_was_recorded_under(turns: list[tuple[Scope, int]]) -> None:
    """By sessions that are open at once, and hold on to what they know; nobody's need no record before others'."""
    with squidbot.load({"memory": {"enabled": False}, "history": {"isolation": "global"}}) as engine:
        opened = {scope: engine.session("s", scope=scope) for scope in (ANN, BEN, NOBODY)}
        due: list[Scope] = []
        for scope, count in turns:
            opened[scope].record([f"m{number}" for number in range(count)])
            due += [scope] * count
        scopes = SCOPE.state(engine.wired.store, "s")
        known = [scope_at(scopes, seq) for seq in range(len(due))]
        first = next((seq for seq, scope in enumerate(due) if scope != NOBODY), len(due))
        assert known[first:] == due[first:]
        assert set(known[:first]) <= {None if first < len(due) else NOBODY}
        changes = sum(one != other for one, other in zip([NOBODY, *due], due, strict=False))
        assert len(scopes) == changes


def test_command_that_adds_to_a_session_leaves_it_to_whom_it_was() -> None:
    """The core's session without a scope records as before."""
    with squidbot.load({"memory": {"enabled": False}}) as engine:
        session = engine.session("s", scope=ANN)
        session.record("one")
        wired = engine.wired
        core = wired.engine.session("s", session.window, session.meter, wired.history(session.window))
        core.record(wired.codecs["openai.chat"].decode('{"role": "assistant", "content": "two"}'))
        assert [one.scope for one in SCOPE.state(wired.store, "s")] == [ANN]


@pytest.mark.parametrize(
    "body",
    [
        "{",
        '"ab"',
        "{}",
        '{"first_seq": "0"}',
        '{"first_seq": true}',
        '{"first_seq": -1}',
        '{"first_seq": 0, "user": 5}',
        '{"first_seq": 0, "collection": null}',
        '{"first_seq": 0, "boat": "red"}',
    ],
)
def test_damaged_record_is_named(body: str, store: InMemoryStore) -> None:
    """Nothing is learned for somebody else."""
    store.append("s", 0, [], [Record(SCOPE.name, 0, body)])
    with pytest.raises(DamagedStoreError, match="scope 0 can't be read"):
        SCOPE.state(store, "s")


# -- which snapshots are kept, and how they are written ---------------------------------------------------------------

HOUR, DAY = 3600.0, 86_400.0
NOW = 1_700_000_000.0
MADE = Snapshot("one", automatic=False, cause="manual", plan_id=3, window_id="l", messages=9, pins=2, created_at=NOW)
UNASKED = replace(MADE, name="", automatic=True, cause="pressure")


def folded(records: list[Record]) -> SnapshotIndex:
    """Return what records leave."""
    return SNAPSHOT.fold([*map(SNAPSHOT.read, records)])


def history(*made: Snapshot, retention: Retention | None = None) -> list[Record]:
    """Return the records of snapshots made one behind the other."""
    records: list[Record] = []
    for one in made:
        records.append(folded(records).placed(one, retention or Retention()).record)
    return records


def names(records: list[Record]) -> list[str]:
    """Return the names of the snapshots that are kept."""
    return [one.name for one in folded(records).kept]


def test_snapshot_comes_back_from_its_record() -> None:
    """Every field, and its number and place."""
    records = history(UNASKED, MADE, replace(MADE, name="two", created_at=None, plan_id=-1))
    kept = folded(records)
    assert kept.kept[1] == replace(MADE, number=1, place=1)
    assert kept.kept[2] == replace(MADE, name="two", created_at=None, plan_id=-1, number=2, place=1)
    assert (kept.ever, kept.automatic) == (3, 1)
    assert [(record.kind, record.number) for record in records] == [("snapshot", 0), ("snapshot", 1), ("snapshot", 2)]


def test_newest_five_that_somebody_named_are_kept_whatever_their_age() -> None:
    """The sixth takes the place of the oldest; those made unasked do not count."""
    made = [replace(MADE, name=f"n{number}", created_at=NOW + number * 400 * DAY) for number in range(7)]
    records = history(*made[:3], UNASKED, *made[3:6])
    assert names(records) == ["n1", "n2", "n3", "n4", "n5"]
    assert names(history(*made, retention=Retention(most_named=2))) == ["n5", "n6"]


def test_name_that_is_given_again_takes_the_place_of_the_one_before() -> None:
    """The newest of a name is found."""
    records = history(MADE, replace(MADE, name="two"), replace(MADE, plan_id=7))
    assert names(records) == ["two", "one"]
    assert folded(records).named("one").plan_id == 7


def test_those_made_unasked_are_all_kept_for_a_day_then_each_tenth_for_a_month() -> None:
    """One each 4 hours for 40 days: the last 24 hours, and of the others those at places 0, 10, 20 ... of 30 days."""
    last = 40 * 6 - 1
    made = [replace(UNASKED, created_at=NOW + number * 4 * HOUR) for number in range(last + 1)]
    kept = folded(history(*made)).kept
    expected = [n for n in range(last + 1) if last - n <= 6 or (n % 10 == 0 and last - n <= 30 * 6)]
    assert [one.number for one in kept] == expected
    assert [one.name for one in kept] == [f"auto-{number}" for number in expected]


def test_nothing_is_too_old_where_no_time_is_known_or_the_clock_stepped_back() -> None:
    """An unknown age is none."""
    unknown = [replace(UNASKED, created_at=None)] * 3
    assert len(names(history(*unknown))) == 3
    back = [replace(UNASKED, created_at=NOW), replace(UNASKED, created_at=NOW - 400 * DAY)]
    assert len(names(history(*back))) == 2


def test_no_older_ones_are_kept_where_the_tenth_is_switched_off() -> None:
    """`keep_every_nth` 0."""
    made = [replace(UNASKED, created_at=NOW + day * DAY * 2) for day in range(5)]
    assert names(history(*made, retention=Retention(keep_every_nth=0))) == ["auto-4"]


def test_unknown_name_is_told_with_those_there_are() -> None:
    """So that the one who asks can choose."""
    with pytest.raises(NotFoundError, match=r"^no snapshot 'x'; there are: one, auto-1$"):
        folded(history(MADE, UNASKED)).named("x")
    with pytest.raises(NotFoundError, match=r"^no snapshot 'x'; there are: none$"):
        SnapshotIndex().named("x")


@pytest.mark.parametrize("name", ["", "x" * 201, "auto-7"])
def test_name_that_nobody_may_give_is_refused(name: str) -> None:
    """Empty, too long, of the form of those made unasked."""
    with pytest.raises(ValueError, match="a snapshot's name has 1 to 200 characters and does not begin with auto-"):
        check_name(name)


@pytest.mark.parametrize("name", ["x", "x" * 200, "../../etc/x", "\0", "\N{GRINNING FACE}", "\ud800", "AUTO-7"])
def test_any_other_name_will_do(name: str) -> None:
    """It is text in a record and nothing else."""
    check_name(name)
    assert names(history(replace(MADE, name=name))) == [name]


# -- the windows of a session as records ------------------------------------------------------------------------------


def test_first_write_under_a_lease_records_it(store: InMemoryStore) -> None:
    """Once for each change of window, with a message, a pin or an event; other calls write none."""
    heard = Heard()
    small, large = Setup(4096), Setup(8192)
    session = opened(store, small, observer=heard)
    assert store.head("s") == (0, 0)
    session.record(user("one"))
    session.record(user("two"))
    opened(store, small).record(user("three"))
    assert WINDOW.newest(store, "s") == small.window
    opened(store, large).pin(0)
    assert WINDOW.newest(store, "s") == large.window
    opened(store, large).record(*tame(30, 60))
    assert len(store.records("s", WINDOW.name)) == 2
    opened(store, small).assemble([user("?")])
    assert WINDOW.newest(store, "s") == small.window
    assert [record.number for record in store.records("s", WINDOW.name)] == [0, 1, 2]
    assert heard.names() == ["lease-opened"]


def test_any_process_goes_on_under_the_lease_there_was(store: InMemoryStore) -> None:
    """The engine tells it; none for a session that nobody wrote to."""
    engine = ContextEngine(store, store, {CODEC.tag: CODEC})
    assert engine.window("s") is None
    opened(store, Setup(4096)).record(user("one"))
    assert engine.window("s") == Setup(4096).window
    assert engine.window("t") is None


def test_window_is_stored_once_for_each_change(store: InMemoryStore) -> None:
    """The window of a session that was opened before is not written again."""
    for window_tokens in (4096, 8192):
        opened(store, Setup(window_tokens)).record(user("x"))
    assert WINDOW.all(store, "s") == [Setup(4096).window, Setup(8192).window]
    assert WINDOW.due(store.last_record("s", WINDOW.name), Setup(8192).window) == []
    (due,) = WINDOW.due(store.last_record("s", WINDOW.name), Setup(4096).window)
    assert (due.kind, due.number) == ("window", 2)


def test_lease_that_differs_in_its_detail_alone_is_the_same() -> None:
    """How a size came about names free bytes, which differ from day to day: no new window, but the first one tells."""
    told = [
        open_window(WindowSettings(4096, source="auto-vram", detail=said), "classes", "measured")
        for said in ("6.1 GiB free", "6.2 GiB free")
    ]
    assert told[0] == told[1]
    assert told[0].window_id == told[1].window_id
    (due,) = WINDOW.due(None, told[0])
    assert WINDOW.read(due).detail == "6.1 GiB free"
    assert WINDOW.due(due, told[1]) == []
    assert WINDOW.read(Record(WINDOW.name, 0, due.body.replace(',"detail":"6.1 GiB free"', ""))).detail == ""


def test_event_of_a_lease_tells_how_its_window_came_about() -> None:
    """The source, and behind it the sentences; a source alone where there are none (B-08)."""
    for detail, cause in (("71,680 fit", "auto-vram: 71,680 fit"), ("", "auto-vram")):
        heard, store, setup = Heard(), InMemoryStore(), Setup(4096)
        window = replace(setup.window, source="auto-vram", detail=detail)
        engine = ContextEngine(store, store, {CODEC.tag: CODEC}, heard)
        engine.session("s", window, setup.meter, setup.settings).record(user("one"))
        assert [event.cause for event in heard.events if event.name == "lease-opened"] == [cause]


def test_window_that_a_refusal_has_shown_is_kept_with_the_first_answer_in_it() -> None:
    """Once: neither with the user's words, nor with an event, nor again."""
    store, setup = InMemoryStore(), Setup(4096)
    window = replace(setup.window, source="overflow", learned_for="big@api 8192")
    engine = ContextEngine(store, store, {CODEC.tag: CODEC})

    def session() -> CoreSession:
        return engine.session("s", window, setup.meter, setup.settings)

    held = session()
    made = held.assemble([user("hello")])
    held.record(*made.incoming)
    assert store.records("s", LEARNED.name) == []
    held.record(assistant("hello"))
    session().record(assistant("again"))
    (kept,) = store.records("s", LEARNED.name)
    assert learned_tokens([LEARNED.read(kept)], "big@api 8192") == 4096
    assert learned_tokens([LEARNED.read(kept)], "big@api 16384") is None
    assert LEARNED.due(kept, LearnedWindow("big@api 8192", 4096)) == []
    (smaller,) = LEARNED.due(kept, LearnedWindow("big@api 8192", 2048))
    assert (smaller.number, learned_tokens(map(LEARNED.read, [smaller, kept]), "big@api 8192")) == (1, 2048)
