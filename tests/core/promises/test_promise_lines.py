"""The promises where a conversation is branched, goes back, and lacks messages that were removed.

What each line has is kept here beside the engine: a list of numbers for each.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.errors import BudgetError, InvalidRequestError, NotFoundError, RecallError
from squidbot.core.kinds import PLAN
from squidbot.core.messages import Kind
from squidbot.core.plan import CAUSES
from squidbot.core.recall.history import History

from .acting import NAMES, Act
from .driver import Host, Setup, assistant, result, user
from .histories import effort
from .rules import breaks_at, is_said, pairs_broken, sent

if TYPE_CHECKING:
    from squidbot.core.messages import Message
    from squidbot.core.view.assembly import CoreAssembly

    from .driver import Call

# Each message has a word of its own, which notes like to name.
OWN = re.compile(r"\bzq\d+x\b")
ACTS = ["branch", "branch", "branch", "remove", "switch", "switch", "undo", "compact", "snapshot", "restore", "pin"]
ACTS += ["unpin", "recall", "window", "forget", "restart"]


@dataclass
class Branching(Host):
    """A host whose user branches; with `restless` its process ends behind every call and every act."""

    restless: bool = False
    # The messages of each line, its last request, and the line that is talked on.
    has: dict[int, list[int]] = field(default_factory=lambda: {0: []})
    last: dict[int, CoreAssembly] = field(default_factory=dict)
    head: int = 0
    forgotten: set[int] = field(default_factory=set)
    words: dict[int, str] = field(default_factory=dict)

    def call(self) -> Call:
        """Ask for a request, and check it."""
        made = super().call()
        if made.assembly is not None:
            self.check(made.assembly)
            self.last[self.head] = made.assembly
        return made

    def reply(self, message: Message) -> None:
        """Record a reply; what was said stands on the line that is talked on, and nowhere else."""
        before = self.store.head(self.session_id)[0]
        super().reply(message)
        after = self.store.head(self.session_id)[0]
        self.has[self.head] += range(before, after)
        for row in self.store.read(self.session_id, before, after - 1):
            for word in OWN.findall(str(row.payload)):
                self.words[row.seq] = word
        self.rest()

    def rest(self) -> None:
        """End the process, if it does so behind everything."""
        if self.restless:
            self.restart()

    def act(self, act: Act) -> None:
        """Do something; where it can't be done, nothing is changed."""
        before = self.store.head(self.session_id)
        try:
            self.did(act.what, act.number)
        except (BudgetError, InvalidRequestError, NotFoundError, RecallError):
            assert self.store.head(self.session_id) == before
        self.rest()

    def did(self, what: str, number: int) -> None:
        """Do it."""
        line, session, name = self.has[self.head], self.session, NAMES[number % len(NAMES)]
        seq = line[number % len(line)] if line else 0
        if what in {"branch", "remove", "switch"}:
            self.moved(what, number, seq)
        elif what == "window":
            self.setup = replace(self.setup, window_tokens=(2048, 4096)[number % 2])
            self.restart()
        elif what == "recall":
            page = History(session, session.context, None, lambda *_: iter(())).recall(f"m{seq}")
            line += [] if page.recorded is None else [page.recorded]
        elif what == "forget":
            session.forget(seq)
            self.forgotten.add(seq)
        elif what == "restart":
            self.restart()
        elif what in {"pin", "unpin"}:
            session.pin(seq, on=what == "pin")
        else:
            given = (name,) if what in {"snapshot", "restore"} else ()
            getattr(session, what)(*given)

    def moved(self, what: str, number: int, seq: int) -> None:
        """Go to another line, an old one or a new one."""
        line, session = self.has[self.head], self.session
        if what == "switch":
            self.head = number % len(self.has)
            session.switch(self.head)
        elif what == "branch":
            self.head = session.branch(seq)
            self.has[self.head] = [one for one in line if one < seq]
        elif line:
            gone = self.turn(line, seq)
            self.head = session.branch(self.store.head(self.session_id)[0], [(gone[0], gone[-1])])
            self.has[self.head] = [one for one in line if one not in gone]

    def turn(self, line: list[int], seq: int) -> list[int]:
        """Return the messages of the turn of a message, so that calls and results go together."""
        rows = {row.seq: row for row in self.store.pick(self.session_id, line)}
        place = line.index(seq)
        begins = next((at for at in range(place, -1, -1) if rows[line[at]].role == "user"), 0)
        ends = next((at for at in range(place + 1, len(line)) if rows[line[at]].role == "user"), len(line))
        return line[begins:ends]

    def check(self, made: CoreAssembly) -> None:
        """Check a request against what its line has."""
        line = [*self.has[self.head], *(row.seq for row in made.incoming)]
        self.check_told(made, line)
        assert made.cost.bound + self.setup.window.reserved_output_tokens <= self.setup.window_tokens
        assert pairs_broken(sent(made)) is None
        said = [part.first_seq for part in made.parts if is_said(part)]
        assert said == sorted({*said})
        assert made.report.elsewhere == self.store.head(self.session_id)[0] - len(self.has[self.head])
        before = self.last.get(self.head)
        if before is not None and made.event is None and made.plan == before.plan:
            assert breaks_at(before, made) is None or self.forgotten
        if made.event is not None:
            assert made.event.cause in CAUSES
            assert made.event.price is not None

    def check_told(self, made: CoreAssembly, line: list[int]) -> None:
        """Check that each message of the line is sent, told or pointed to, and that nothing else is."""
        on, spans = {*line}, made.report.spans
        for seq in line:
            assert len([span for span in spans if span.first_seq <= seq <= span.last_seq]) == 1, seq
        assert all(on.intersection(range(span.first_seq, span.last_seq + 1)) for span in spans)
        rows = {row.seq: row for row in self.store.pick(self.session_id, line)}
        for part in made.parts:
            if part.first_seq >= 0 and part.kind in {Kind.MESSAGE, Kind.SYSTEM, Kind.SLIMMED, Kind.RECALLED}:
                assert part.first_seq in on
                if part.kind is Kind.MESSAGE and part.first_seq in rows and part.payload is not None:
                    assert part.payload == rows[part.first_seq].payload
        own = {self.words[seq] for seq in line if seq in self.words and seq not in self.forgotten}
        own |= {word for row in made.incoming for word in OWN.findall(str(row.payload))}
        told = {*OWN.findall("\n".join(made.payloads))}
        assert told <= own, told - own


def talk(host: Branching, acts: dict[int, list[Act]], turns: int) -> None:
    """Say so many things, with tools now and then, and do the acts behind the replies."""
    count = 0

    def word() -> str:
        nonlocal count
        count += 1
        return f"zq{count}x"

    for turn in range(turns):
        host.pending.append(user(f"{word()} open src/app/main_{turn}.py please. " + "And why so? " * (turn % 5) * 8))
        if turn % 3 == 2:
            host.reply(assistant(f"{word()} I look.", (f"c{turn}", "read", "{}")))
            host.pending.append(result(f"c{turn}", f"{word()} Error: not found. " + "line of text " * 40))
        host.reply(assistant(f"[DECISION] {word()} use SQLite. " + "Because of that. " * 12))
        for act in acts.get(turn, ()):
            host.act(act)
    host.pending.append(user(f"{word()} the end"))
    host.call()


def acting() -> st.SearchStrategy[dict[int, list[Act]]]:
    """Return what is done behind which turn."""
    one = st.builds(Act, st.sampled_from(ACTS), st.integers(0, 60))
    return st.dictionaries(st.integers(0, 29), st.lists(one, min_size=1, max_size=3), max_size=12)


@effort(40)
@given(acts=acting(), turns=st.integers(5, 30))
def test_each_request_has_its_line_and_nothing_else(acts: dict[int, list[Act]], turns: int) -> None:
    """Within its window, in order, pairs together, and as before on each line between plan changes; nothing is lost."""
    host = Branching(InMemoryStore(), Setup(2048), watch=False)
    talk(host, acts, turns)
    said = host.store.head("s")[0]
    assert {seq for line in host.has.values() for seq in line} == {*range(said)}
    for number, line in host.has.items():
        on = host.session.current_line().on(number)
        assert [row.seq for row in on.read("s", 0, said)] == sorted(line)
        for plan in PLAN.all(on, "s"):
            assert plan.cause in CAUSES


@effort(25)
@given(acts=acting(), turns=st.integers(5, 30))
def test_lines_are_the_same_in_one_process_and_in_many(acts: dict[int, list[Act]], turns: int) -> None:
    """The same bytes are sent."""
    made = []
    for restless in (False, True):
        host = Branching(InMemoryStore(), Setup(2048), watch=False, restless=restless)
        talk(host, acts, turns)
        made.append([call.assembly.payloads if call.assembly else str(call.error) for call in host.calls])
    assert made[0] == made[1]


@effort(25)
@given(acts=acting(), turns=st.integers(5, 20))
def test_what_a_line_has_comes_back_with_it(acts: dict[int, list[Act]], turns: int) -> None:
    """Going to each line and back changes none of them: its next request extends its last one, or has its event."""
    host = Branching(InMemoryStore(), Setup(2048), watch=False)
    talk(host, acts, turns)
    host.pending.clear()
    before = {}
    for number in host.has:
        with suppress(BudgetError):
            host.session.switch(number)
            before[number] = host.session.preview().payloads
    for number, payloads in before.items():
        host.session.switch(number)
        assert host.session.preview().payloads == payloads
