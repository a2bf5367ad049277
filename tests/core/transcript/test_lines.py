"""Lines: what each shows of a session, against lists that are kept apart."""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.engine import ContextEngine
from squidbot.core.errors import NotFoundError, RecallError, StoreError
from squidbot.core.kinds import KINDS, branch, switch
from squidbot.core.messages import Erasure, Record
from squidbot.core.transcript.lines import COURSE, FIRST, HEAD, LINE, Course, Head, Line, Lines, LineStore
from squidbot.testing.transcripts import check_transcript_store, made_tombstone
from squidbot.testing.values import made_message

from ..promises.driver import CODEC, Setup, assistant, opened, user

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.engine import CoreSession
    from squidbot.core.messages import StoredMessage
    from squidbot.core.view.assembly import CoreAssembly

S = "s"
NOTE = "plan"


def said(seqs: Sequence[int]) -> list[StoredMessage]:
    """Return messages of these numbers."""
    return [made_message(seq, f"walrus tea own{seq}") for seq in seqs]


class Talk:
    """A session of several lines, and beside it what each of them must show."""

    def __init__(self) -> None:
        self.store = InMemoryStore()
        self.shown: list[list[int]] = [[]]
        self.notes: list[list[str]] = [[]]
        self.serial = count()

    def on(self, line: int) -> LineStore:
        """Return the session as a line shows it."""
        return LineStore(self.store, S, line)

    def say(self, line: int, messages: int, notes: int) -> None:
        """Record messages and notes on a line."""
        on, first = self.on(line), self.store.head(S)[0]
        rows = said(range(first, first + messages))
        bodies = [f"note {next(self.serial)}" for _ in range(notes)]
        known = len(self.notes[line])
        on.append(S, first, rows, [Record(NOTE, known + number, body) for number, body in enumerate(bodies)])
        self.shown[line] += [row.seq for row in rows]
        self.notes[line] += bodies

    def branch(self, parent: int, keep: int, without: tuple[int, int], notes: int) -> None:
        """Leave a line behind some of its messages, without a run of them, with some of its notes."""
        shown = self.shown[parent][: keep % (len(self.shown[parent]) + 1)]
        known = self.notes[parent][: notes % (len(self.notes[parent]) + 1)]
        first, last = without[0], without[0] + without[1]
        made = Line(
            parent, shown[-1] + 1 if shown else 0, ((first, last - 1),) if last > first else (), {NOTE: len(known)}
        )
        messages, number = self.store.head(S)[0], len(self.shown) - 1
        self.store.append(S, messages, (), [LINE.record(number, made), HEAD.record(number, Head(number + 1))])
        self.shown.append([seq for seq in shown if not first <= seq < last])
        self.notes.append(known)

    def check(self) -> None:
        """Check what each line shows."""
        for line, (seqs, notes) in enumerate(zip(self.shown, self.notes, strict=True)):
            on, end = self.on(line), self.store.head(S)[0]
            assert [row.seq for row in on.read(S, 0, end)] == seqs
            assert [row.seq for row in on.read(S, 3, 7)] == [seq for seq in seqs if 3 <= seq <= 7]
            assert [row.seq for row in on.pick(S, range(0, end, 2))] == [seq for seq in seqs if seq % 2 == 0]
            assert [row.seq for row in on.newest(S, 10**9)] == seqs
            assert [row.seq for row in on.newest(S, 0)] == seqs[-1:]
            assert {match.seq for match in on.search(S, "walrus", 1_000)} == {*seqs}
            assert [record.body for record in on.records(S, NOTE)] == notes
            assert [record.number for record in on.records(S, NOTE)] == [*range(len(notes))]
            assert [record.body for record in on.records(S, NOTE, 2)] == notes[2:]
            last = on.last_record(S, NOTE)
            assert (last and (last.number, last.body)) == ((len(notes) - 1, notes[-1]) if notes else None)
            opening = on.opening(S, [NOTE])
            assert opening.newest.get(NOTE) == last
            assert (opening.messages, opening.records) == self.store.head(S) == on.head(S)


says = st.tuples(st.integers(0, 99), st.integers(0, 4), st.integers(0, 3))
branches = st.tuples(
    st.integers(0, 99),
    st.integers(0, 99),
    st.tuples(st.integers(0, 20), st.sampled_from([0, 0, 1, 3])),
    st.integers(0, 9),
)


@given(st.lists(says | branches, max_size=25))
@settings(deadline=None)
def test_each_line_shows_its_own(acts: list[tuple[int, ...]]) -> None:
    """Whatever was recorded, branched and left out, in any order, on any line."""
    talk = Talk()
    for act in acts:
        line = act[0] % len(talk.shown)
        if len(act) == 3:
            talk.say(line, act[1], act[2])
        else:
            talk.branch(line, *act[1:])  # type: ignore[arg-type]  # as `branches` makes them
        talk.check()


def test_store_that_was_never_branched_is_as_it_is() -> None:
    """All that a store promises holds on the line that each session begins with."""
    check_transcript_store(lambda: LineStore(InMemoryStore(), S))
    check_transcript_store(lambda: LineStore(InMemoryStore(), S, FIRST))


def test_forgotten_message_is_forgotten_on_each_line() -> None:
    """Its words stand once; records are replaced where they stand."""
    talk = Talk()
    talk.say(FIRST, 3, 2)
    talk.branch(FIRST, 2, (0, 0), 1)
    talk.say(1, 2, 2)
    on, expected = talk.on(1), talk.store.head(S)
    gone = made_tombstone(on.read(S, 1, 1)[0])
    replaced = Record(NOTE, 0, "of both"), Record(NOTE, 1, "of line 1")
    on.forget(S, Erasure(expected, (gone,), replaced, (Record(NOTE, 3, "new"),)))
    assert talk.on(FIRST).read(S, 1, 1) == on.read(S, 1, 1) == [gone]
    assert [record.body for record in on.records(S, NOTE)] == ["of both", "of line 1", "note 3", "new"]
    assert [record.body for record in talk.on(FIRST).records(S, NOTE)] == ["of both", "note 1"]


def test_line_that_is_not_there_is_named() -> None:
    """By its number, with those that there are."""
    talk = Talk()
    talk.say(FIRST, 3, 0)
    with pytest.raises(NotFoundError, match=r"^there is no line 1: the session has the lines 0 to 0$"):
        switch(talk.on(FIRST), 1)
    with pytest.raises(NotFoundError, match=r"^there is no line 1: the session has the lines 0 to 0$"):
        talk.on(1).opening(S, [NOTE])
    assert branch(talk.on(FIRST), 2) == 1
    switch(talk.on(1), FIRST)
    switch(talk.on(1), FIRST)
    assert (LineStore(talk.store, S).line, HEAD.all(talk.store, S)) == (FIRST, [Head(1), Head(FIRST)])
    assert Lines.read(talk.store, S).line_of(2) == FIRST


def test_writer_who_was_behind_goes_on_along_its_own_line() -> None:
    """Two lines are written to at once: each message stands on the line of its writer."""
    talk = Talk()
    talk.say(FIRST, 2, 0)
    branch(talk.on(FIRST), 1)
    one, other = talk.on(FIRST), talk.on(1)
    assert one.head(S) == other.head(S)
    one.append(S, 2, said([2]))
    with pytest.raises(StoreError):
        other.append(S, 2, said([2]))
    assert other.head(S)[0] == 3
    other.append(S, 3, said([3]))
    assert (talk.on(FIRST).runs, talk.on(1).runs) == (((0, 2),), ((0, 0), (3, 3)))
    assert COURSE.all(talk.store, S) == [Course(3, 1)]


class Program:
    """A program with a session for each line of one conversation, each with a name in its words."""

    def __init__(self, setup: Setup) -> None:
        self.store, self.setup = InMemoryStore(), setup
        self.open: list[CoreSession] = []
        self.shown: list[list[str]] = [[]]
        self.newest: list[tuple[str, ...]] = [()]
        self.begin(FIRST)
        self.serial = count()

    def begin(self, line: int) -> None:
        """Open a line as another process would."""
        engine, setup = ContextEngine(self.store, self.store, {CODEC.tag: CODEC}), self.setup
        self.open[line : line + 1] = [engine.session(S, setup.window, setup.meter, setup.settings, line=line)]

    def turn(self, line: int) -> CoreAssembly:
        """Ask on a line, check what is sent, and record the answer."""
        word = f"zq{next(self.serial)}x"
        made = self.open[line].assemble([user(f"{word} " + "please look at the pier " * 12)])
        sent = "".join(made.payloads)
        said = {*self.shown[line], word}
        assert word in made.payloads[-1]
        assert {*re.findall(r"zq\d+x", sent)} <= said, "nothing of another line"
        assert made.cost.bound <= made.limit.bound
        if made.event is None:
            assert made.payloads[: len(self.newest[line])] == self.newest[line], "it goes on where the line was left"
        elif made.plan is not None:
            assert all(segment.first_seq <= segment.last_seq for segment in made.plan.segments)
        self.open[line].record(*made.incoming, assistant("It is full. " * 20))
        self.shown[line].append(word)
        self.newest[line] = made.payloads
        return made

    def branch(self, line: int, turns: int) -> None:
        """Leave a line behind some of its turns."""
        on = LineStore(self.store, S, line)
        words = self.shown[line][: turns % (len(self.shown[line]) + 1)]
        rows = on.read(S, 0, on.head(S)[0])
        place = next((at for at, row in enumerate(rows) if row.turn == row.seq and len(words) * 2 == at), len(rows))
        number = branch(on, rows[place].seq if place < len(rows) else on.head(S)[0])
        self.shown.append(words)
        self.newest.append(())
        self.begin(number)


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.sampled_from(["turn"] * 6 + ["branch", "reopen"]), st.integers(0, 40)),
        max_size=90,
    )
)
@settings(deadline=None, max_examples=40)
def test_requests_of_a_line_hold_what_is_said_on_it(acts: list[tuple[int, str, int]]) -> None:
    """Through compactions, on several lines by turns: nothing of another line, within the window, and back again."""
    program = Program(Setup(2_048))
    for _ in range(12):
        program.turn(FIRST)
    for number, act, place in acts:
        line = number % len(program.shown)
        if act == "turn":
            program.turn(line)
        elif act == "branch":
            program.branch(line, place)
        else:
            program.begin(line)


def asked(session: CoreSession, word: str) -> CoreAssembly:
    """Run a turn."""
    made = session.assemble([user(f"{word} please look at the pier")])
    session.record(*made.incoming, assistant(f"{word} is done"))
    return made


def words(made: CoreAssembly) -> list[str]:
    """Return the words of turns in a request, in order."""
    return re.findall(r"(\w+) please", "".join(made.payloads))


def test_conversation_goes_back_and_on_again() -> None:
    """The other line is as it was left, byte for byte; another process follows, and a reply stays on its line."""
    store = InMemoryStore()
    one, other = opened(store, Setup(8_192)), opened(store, Setup(8_192))
    for word in ("a", "b", "c"):
        left = asked(one, word)
    assert (one.branch(2), one.lines.head) == (1, 1)
    assert words(asked(one, "d")) == ["a", "d"]
    assert words(asked(other, "e")) == ["a", "d", "e"]
    late = other.assemble([user("f please look at the pier")])
    one.switch(FIRST)
    other.record(*late.incoming, assistant("f is done"))
    back = asked(one, "g")
    assert words(back) == ["a", "b", "c", "g"]
    assert back.payloads[: len(left.payloads)] == left.payloads
    one.switch(1)
    assert words(asked(one, "h")) == ["a", "d", "e", "f", "h"]
    assert words(asked(opened(store, Setup(8_192)), "i")) == ["a", "d", "e", "f", "h", "i"]
    with pytest.raises(NotFoundError, match=r"^m3 is not on line 1 of 's'; nothing was changed$"):
        one.branch(3)
    assert [line.behind for line in one.lines.made] == [2]


def test_line_begins_with_what_is_known_of_its_messages() -> None:
    """Pins and goals of them, and no marked line of others."""
    session = opened(InMemoryStore(), Setup(8_192))
    asked(session, "[GOAL] Paint the pier\n")
    asked(session, "[GOAL] Sell the boat\n")
    session.pin(0)
    session.branch(2)
    view = session.room().view
    assert (view.pins.seqs, [said.seq for said in view.markers.said]) == (frozenset({0}), [0, 1])
    session.switch(FIRST)
    assert [said.seq for said in session.room().view.markers.said] == [0, 1, 2, 3]


def test_what_is_forgotten_comes_back_on_no_line() -> None:
    """Not in its notes, its marked lines, its plans or its next request, on whichever line it is forgotten."""
    for line in (FIRST, 1):
        session = opened(InMemoryStore(), Setup(2_048))
        for number in range(30):
            asked(session, f"zq{number}x [DECISION] zq{number}x is red\n" + "and so on " * 20)
        session.branch(40)
        for number in range(30, 60):
            asked(session, f"zq{number}x" + " and so on" * 20)
        session.switch(line)
        gone = session.forget(6, 7, 50, 51, 70, 71, reason="asked")
        assert gone.asked == (6, 7, 50, 51, 70, 71)
        for other in (FIRST, 1):
            session.switch(other)
            sent = "".join(session.assemble([user("and now?")]).payloads)
            kept = repr([row for kind in KINDS for row in session.current_line().records("s", kind.name)])
            shown = repr(session.current_line().read("s", 0, 200))  # what the line shows
            for word in ("zq3x", "zq25x", "zq35x"):
                assert word not in sent + kept + shown
            assert "zq4x" in shown
        with pytest.raises(NotFoundError):
            session.forget(6, 500)


def test_recall_and_search_show_the_line_alone() -> None:
    """An id on another line is refused, and a run has what the line has of it."""
    session = opened(store := InMemoryStore(), Setup(8_192))
    for word in ("ant", "bee", "cat"):
        asked(session, word)
    session.branch(2)
    asked(session, "dog")
    context = session.current_line()
    engine = ContextEngine(store, store, {CODEC.tag: CODEC})
    history = engine.history(session, Setup(8_192).meter)
    with pytest.raises(RecallError, match=r"^m3 stands on another line of the conversation$"):
        history.expand("m3")
    page = history.expand("m1-m7").text
    assert [word in page for word in ("ant", "bee", "cat", "dog")] == [True, False, False, True]
    found = history.search("pier").text
    assert [word in found for word in ("ant", "bee", "cat", "dog")] == [True, False, False, True]
    assert [match.seq for match in context.search(S, "pier", 9)] == [6, 0]
