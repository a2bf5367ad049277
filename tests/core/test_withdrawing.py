"""Facts that are not to be told any more go out of heads, notices and answers, and nothing else does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.engine import ContextEngine, Inputs
from squidbot.core.errors import DamagedStoreError, NotFoundError, StoreError
from squidbot.core.forgetting import FactRetraction
from squidbot.core.messages import Category, Record
from squidbot.core.plan import REMEMBERED, Section
from squidbot.core.transcript.removals import RETRACTION
from squidbot.core.view.marks import MEMORIES, fence, memories_in, without_memories

from .promises.driver import CLASSES, CODEC, Heard, Meddled, Setup, assistant, opened, result, user

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from squidbot.core.messages import Erasure

SETUP = Setup(32_768)
BOAT = FactRetraction(frozenset({"f-boat"}), reason="asked for", now=5.0)


@dataclass
class Tells:
    """A memory that says two facts in the head and one at the beginning, but those that are gone."""

    gone: set[str] = field(default_factory=set)

    def head(self, limit_tokens: int) -> tuple[Section, ...]:
        """Return a section for each."""
        said = (
            Section(f"{REMEMBERED}{name}", f"about {name} {limit_tokens}", (f"f-{name}",)) for name in ("boat", "cat")
        )
        return tuple(one for one in said if not self.gone.intersection(one.memories))

    def start(self, prompt: str, limit_tokens: int, head: Sequence[Section]) -> str | None:
        """Return the fact about the boat."""
        told = fence(MEMORIES, "from before", f"- f-boat: the boat {limit_tokens} {len(head)}: {prompt}")
        return None if "f-boat" in self.gone else told

    def resume(self, limit_tokens: int, head: Sequence[Section], noticed: Sequence[str]) -> str | None:
        """Return nothing."""
        del limit_tokens, head, noticed
        return None

    def withdrawn(self, memory_ids: Collection[str]) -> frozenset[str]:
        """Return those that are gone."""
        return frozenset(memory_ids) & self.gone


def engine_over(store: InMemoryStore, observer: Heard | None = None) -> ContextEngine:
    """Return an engine over a store."""
    return ContextEngine(store, store, {CODEC.tag: CODEC}, observer)


def told_in(store: InMemoryStore) -> str:
    """Return all that a store holds of the session."""
    rows = store.read("s", 0, store.head("s")[0])
    kinds = ("plan", "request", "told", "withdrawn")
    return repr([(row.payload, row.notice) for row in rows]) + repr([store.records("s", kind) for kind in kinds])


def talked(store: InMemoryStore, memory: Tells) -> None:
    """Tell the facts in a head, behind the first words with a notice of the host's, and as an answer of the tool."""
    session = opened(store, SETUP)
    made = session.assemble([user("What of the boat?")], Inputs(notice="It is noon.", unprompted=memory))
    session.record(*made.incoming, assistant("", ("c", "memory", "{}")))
    answer = fence(MEMORIES, "1 found", "core:\n- f-new: the yacht (before: the boat)")
    session.record(result("c", answer), assistant("I see."))


def test_withdrawn_fact_goes_from_all_that_was_told() -> None:
    """What stood beside it stays: the host's notice, other sections, the words of the conversation."""
    store, memory, heard = InMemoryStore(), Tells(), Heard()
    talked(store, memory)
    sent = opened(store, SETUP).request(0)
    assert "about boat" in str(sent.payloads)
    gone = engine_over(store, heard).remove_facts("s", CLASSES, BOAT._replace(quoting=frozenset({"f-new"})))
    assert gone is not None
    assert (gone.rows, gone.plans, gone.plan_id) == ((0, 2), (0,), 0)
    assert heard.names() == ["forgotten"]
    left = told_in(store)
    assert "about boat" not in left
    assert "the boat" not in left.replace("What of the boat?", "")
    assert "about cat" in left
    first = store.read("s", 0, 0)[0]
    assert first.notice == "It is noon."
    assert first.sent_cost.bound < sent.parts[-1].cost.bound
    assert store.read("s", 2, 2)[0].category is Category.FORGOTTEN
    with pytest.raises(NotFoundError, match="a fact that it told was forgotten since"):
        opened(store, SETUP).request(0)


def test_next_request_is_an_event_and_only_that_one() -> None:
    """Its cause is that something was forgotten; a process that looks into the store later makes none."""
    store, memory = InMemoryStore(), Tells()
    talked(store, memory)
    memory.gone.add("f-boat")
    session, given = opened(store, SETUP), Inputs(unprompted=memory)
    made = session.assemble([user("And?")], given)
    assert made.event is not None
    assert made.event.cause == "forget"
    assert "about cat" in str(made.payloads)
    assert "about boat" not in told_in(store)
    again = session.assemble([user("And?")], given)
    assert again.payloads == made.payloads
    session.record(*again.incoming, assistant("Nothing."))
    assert opened(store, SETUP).assemble([user("So?")], given).event is None


def test_nothing_is_written_where_nothing_was_told(store: InMemoryStore) -> None:
    """Neither to a session that was told nothing, nor to one that was told something else."""
    opened(store, SETUP).record(user("Hello."))
    assert engine_over(store).remove_facts("s", CLASSES, BOAT) is None
    talked(other := InMemoryStore(), Tells())
    before = other.head("s")
    assert engine_over(other).remove_facts("s", CLASSES, FactRetraction(frozenset({"f-else"}))) is None
    assert other.head("s") == before


def test_another_writer_comes_first_and_it_is_tried_again() -> None:
    """A store that fails for itself is told."""

    class Busy(Meddled):
        def forget(self, session_id: str, erasure: Erasure) -> None:
            """Let another writer come first, as often as there are others."""
            if self.others > 0:
                self.others -= 1
                self.append(session_id, self.head(session_id)[0], [], [Record("x", self.others, "")])
            elif self.others < 0:
                raise StoreError("disk full")
            super().forget(session_id, erasure)

    talked(store := Busy(), Tells())
    store.others = 1
    assert engine_over(store).remove_facts("s", CLASSES, BOAT) is not None
    talked(broken := Busy(), Tells())
    broken.others = -1
    with pytest.raises(StoreError, match="disk full"):
        engine_over(broken).remove_facts("s", CLASSES, BOAT)


def test_damaged_records_are_said_to_be(store: InMemoryStore) -> None:
    """And nothing is taken out by guess."""
    store.append("s", 0, [], [Record("told", 0, "no JSON")])
    with pytest.raises(DamagedStoreError, match="record of what was told 0 can't be read"):
        engine_over(store).remove_facts("s", CLASSES, BOAT)
    with pytest.raises(DamagedStoreError, match="withdrawal 3 can't be read"):
        RETRACTION.read(Record("withdrawn", 3, "[]"))


def test_ids_are_read_from_between_our_marks_only() -> None:
    """What a host says of ids stays as it is."""
    text = f"- f-1: mine\n{fence(MEMORIES, 'x', '- f-2: two')}\n{fence(MEMORIES, 'x', '- f-3: three')}\n\nend"
    assert memories_in(text) == ("f-2", "f-3")
    assert without_memories(text, frozenset({"f-1"})) == text
    assert without_memories(text, frozenset({"f-2"})) == f"- f-1: mine\n{fence(MEMORIES, 'x', '- f-3: three')}\nend"
