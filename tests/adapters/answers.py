"""A store that lasts is asked what a store in memory is asked: whatever that is, both answer the same."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.errors import StoreError
from squidbot.core.messages import Category, Cost, Erasure, Record, StoredMessage
from squidbot.core.recall.search import terms
from squidbot.testing import made_summary
from squidbot.testing.transcripts import made_tombstone

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.adapters.psycopg import PostgresqlStore
    from squidbot.adapters.sqlite3 import SqliteStore

    LastingStore: TypeAlias = SqliteStore | PostgresqlStore

LAST = 12


# Any text, lone surrogates included: that is what a host may hand over.
texts = st.text(st.characters(), max_size=12)
ids = st.sampled_from(["a", "A", "a\0", "\ud800", "\N{SQUID}"])
numbers = st.integers(-(2**63), 2**63 - 1)
costs = st.builds(Cost, numbers, st.integers(0, 50) | numbers)
messages = st.builds(
    StoredMessage,
    seq=st.just(0),
    turn=numbers,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    category=st.sampled_from(list(Category)),
    codec=texts,
    payload=texts,
    call_ids=st.lists(texts, max_size=2).map(tuple),
    result_ids=st.lists(texts, max_size=2).map(tuple),
    cost=costs,
    sent_cost=costs,
    counter=texts,
    time=st.none() | st.floats(allow_nan=False),
    sent_text=st.none() | texts,
    sent_arguments=st.none() | st.lists(texts, max_size=2).map(tuple),
    notice=st.none() | texts,
)
seqs = st.integers(-2, LAST)


class SameAnswers(RuleBasedStateMachine):
    """Whatever is asked in whatever order, a store answers as the memory does; opened again, it still does."""

    def __init__(self) -> None:
        super().__init__()
        self.store, self.memory = self.opened(), InMemoryStore()

    @abstractmethod
    def opened(self) -> LastingStore:
        """Return the store: an empty one, then what it became."""

    def teardown(self) -> None:
        """Close the store."""
        self.store.close()

    def same(self, ask: Callable[[LastingStore | InMemoryStore], object]) -> None:
        """Ask both, errors included."""
        answers = []
        for store in (self.store, self.memory):
            try:
                answers.append(ask(store))
            except StoreError as error:
                answers.append(type(error))
        assert answers[0] == answers[1]

    @rule(session=ids, said=st.lists(messages, max_size=4), late=st.integers(0, 9), body=texts)
    def append(self, session: str, said: list[StoredMessage], late: int, body: str) -> None:
        """Append, now and then in the wrong place."""
        head = self.memory.head(session)[0] + (late == 9)  # now and then in the wrong place
        said = [replace(message, seq=seq) for seq, message in enumerate(said, head)]
        number = len(self.memory.records(session, "plan")) + (late == 8)
        notes = [Record("plan", number, body)] if late > 4 else []
        self.same(lambda store: store.append(session, head, said, notes))

    @rule(session=ids, first=seqs, last=seqs, budget=st.integers(-1, 99) | numbers)
    def look(self, session: str, first: int, last: int, budget: int) -> None:
        """Read in every way there is."""
        self.same(lambda store: store.head(session))
        self.same(lambda store: store.read(session, first, last))
        self.same(lambda store: store.pick(session, [last, first, first]))
        self.same(lambda store: store.newest(session, budget))
        self.same(lambda store: store.records(session, "plan", first))
        self.same(lambda store: store.last_record(session, "plan"))

    @rule(session=ids, name=texts, first=seqs, last=seqs, text=st.sampled_from(["x", "y"]))
    def summarize(self, session: str, name: str, first: int, last: int, text: str) -> None:
        """Store a summary and look for it."""
        self.same(lambda store: store.put(made_summary(name, first, last, session_id=session, text=text)))
        self.same(lambda store: store.by_id(session, [name, "x"]))
        self.same(lambda store: store.for_range(session, 0, last))

    @rule()
    def open_again(self) -> None:
        """Close the store and open it, as a new process does."""
        self.store.close()
        self.store = self.opened()
        self.same(lambda store: store.sessions())

    @rule(session=ids, query=texts, gone=seqs)
    def forget(self, session: str, query: str, gone: int) -> None:
        """Forget a message, look for its words, and now and then remove the session."""
        count = self.memory.head(session)[0]
        rows = self.memory.read(session, gone, gone)
        expected = count, len(self.memory.records(session, "forgotten"))
        erasure = Erasure(expected, tuple(map(made_tombstone, rows)), (), (Record("forgotten", expected[1], query),))
        self.same(lambda store: store.forget(session, erasure))
        if terms(query):
            self.same(lambda store: store.search(session, query, 9))
        if gone == LAST:
            self.same(lambda store: store.drop(session))
