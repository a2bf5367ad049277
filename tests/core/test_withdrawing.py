"""Facts, goals and documents are taken out for good."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.engine import ContextEngine, Inputs
from squidbot.core.errors import BusyError, DamagedStoreError, NotFoundError, StoreError
from squidbot.core.forgetting import FactRetraction, remove_document, remove_goals
from squidbot.core.messages import Category, Erasure, Record
from squidbot.core.plan import REMEMBERED, Section
from squidbot.core.transcript.documents import Document, SessionDocuments
from squidbot.core.transcript.goals import GoalBook
from squidbot.core.transcript.lines import LINE, LineStore
from squidbot.core.transcript.markers import MARKED
from squidbot.core.transcript.removals import RETRACTION
from squidbot.core.view.current import SessionContext
from squidbot.core.view.marks import MEMORIES, fence, memories_in, without_memories
from squidbot.core.view.renderer import Renderer

from .promises.driver import CLASSES, CODEC, Heard, Meddled, Setup, assistant, opened, result, user

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from squidbot.core.engine import CoreSession
    from squidbot.core.messages import Erasure


# -- facts that are not to be told any more go out of heads, notices and answers, and nothing else does ---------------

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

    def unsaid(self, memory_ids: Collection[str]) -> bool:
        """Return False: all was said here."""
        return not frozenset(memory_ids)


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


# -- goals are taken out for good: with the message that set them, and by their names (O-07) --------------------------

SMALL = Setup(4096, 256)


def book(store: InMemoryStore) -> GoalBook:
    """Return the goals of the session."""
    return GoalBook(store, "s", 4096, lambda text: len(text.split()))


def shelf(store: InMemoryStore) -> SessionContext:
    """Return where the session's data stand."""
    return SessionContext("s", LineStore(store, "s"), store, Renderer(CLASSES, {CODEC.tag: CODEC}))


def talked_of_goals(store: InMemoryStore) -> CoreSession:
    """Return a session with something to compact, in whose first step a model called the tool."""
    session = opened(store, SMALL)
    function = {"name": "squid__goal", "arguments": json.dumps({"action": "set", "text": "Ship  the parser"})}
    called = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": function}],
    }
    session.record(user("Hi"), CODEC.to_message(called))
    book(store).change("set", "Ship the parser")
    session.record(CODEC.to_message({"role": "tool", "tool_call_id": "c", "content": "done"}))
    for turn in range(6):
        made = session.assemble([user(f"What of {turn}? " + "And why, please? " * 20)])
        session.record(*made.incoming, assistant(f"So it is with {turn}. " * 30))
    return session


def everything(store: InMemoryStore) -> str:
    """Return all that is stored beside what was said."""
    kinds = ("goal", "document", MARKED.name, "plan", "withdrawn")
    lines = ("", *(f"@{line + 1}" for line in range(len(LINE.all(store, "s")))))
    told = [record.body for kind in kinds for line in lines for record in store.records("s", f"{kind}{line}")]
    return "".join([*told, *(row.notice or "" for row in store.read("s", 0, store.head("s")[0] - 1))])


def sent(session: CoreSession) -> str:
    """Return the text of the next request."""
    return "\n".join(f"{part.text or ''}\n{part.notice or ''}" for part in session.preview().parts)


def told_on(session: CoreSession, number: int) -> None:
    """Set goals and keep a document on the session's line, talk of it, and compact."""
    line = session.line
    GoalBook(line, "s", 4096, len).change("lock", "Mind the walrus")
    GoalBook(line, "s", 4096, len).change("lock", f"Stay on line {number}")
    document = Document("a.md", f"The walrus of line {number} is called Ann.")
    SessionDocuments(line, "s", 4096, lambda text: len(text.split())).keep(document)
    for turn in range(6):
        made = session.assemble([user(f"What of {turn}? " + "And why, please? " * 20)], Inputs(unprompted=Tells()))
        session.record(*made.incoming, assistant(f"So it is with {turn}. " * 30))
    session.compact()


@pytest.mark.parametrize("head", [0, 1])
def test_what_is_taken_out_is_on_no_line(head: int) -> None:
    """Goals, documents and facts: those from before the lines parted, and those that a line has itself."""
    store = InMemoryStore()
    talked(store, Tells())
    session = opened(store, SMALL)
    told_on(session, 0)
    line = session.branch(store.head("s")[0] - 1)
    told_on(session, 1)
    session.switch(head)
    assert "walrus" in sent(session)
    assert remove_goals(shelf(store), ["Mind the walrus"]) > 0
    assert remove_document(shelf(store), "a.md") > 0
    assert engine_over(store).remove_facts("s", CLASSES, BOAT) is not None
    assert "walrus" not in everything(store)
    assert "about boat" not in everything(store)
    for number in (head, line - head):
        session.switch(number)
        made = session.assemble([user("And now?")])
        told = "".join(f"{part.text or ''}{part.notice or ''}" for part in made.parts)
        assert "walrus" not in told
        assert "about boat" not in told
        assert f"Stay on line {number}" in told
        assert made.event is not None
        assert made.event.cause == "forget"
    assert remove_goals(shelf(store), ["Mind the walrus"]) == 0
    assert remove_document(shelf(store), "a.md") == 0
    assert engine_over(store).remove_facts("s", CLASSES, BOAT) is None


def test_goal_goes_with_the_message_that_set_it(store: InMemoryStore) -> None:
    """Out of records, old plans and the next request, in this process and in a new one; others stay (O-07)."""
    session = talked_of_goals(store)
    book(store).change("lock", "No threads")
    session.pin_text("style", "Be kind.")
    session.compact()
    assert "Ship the parser" in sent(session)
    plan = session.forget(1, reason="a test").plan
    assert plan is not None
    assert plan.cause == "forget"
    assert "Ship the parser" not in everything(store)
    assert book(store).goals().active is None
    assert "No threads" in sent(session)
    assert "Ship the parser" not in sent(session)
    assert sent(opened(store, SMALL)) == sent(session)


def test_request_that_told_it_is_not_made_again(store: InMemoryStore) -> None:
    """It would be another one than was sent."""
    session = talked_of_goals(store)
    session.compact()
    made = session.assemble([user("Go on.")])
    session.record(*made.incoming, assistant("So be it."))
    assert remove_goals(shelf(store), ["ship the parser."]) == 1
    event = session.assemble([user("And now?")]).event
    assert event is not None
    assert event.cause == "forget"
    with pytest.raises(NotFoundError, match="forgotten since"):
        opened(store, SMALL).request()


def test_line_that_a_call_wrote_goes_with_the_line_that_it_ended(store: InMemoryStore) -> None:
    """A marked goal that a call closed left its name in another record."""
    session = opened(store, SMALL)
    session.record(user("[GOAL] Find the walrus"), assistant("Hi"))
    book(store).change("close")
    assert "walrus" in everything(store)
    session.forget(0)
    assert "walrus" not in everything(store)


def test_writer_that_is_never_let_in_gives_up() -> None:
    """After a while; where the disk fails, that is told."""

    class Hurried(InMemoryStore):
        busy = True

        def forget(self, session_id: str, erasure: Erasure) -> None:
            if self.busy:
                self.append(
                    session_id, self.head(session_id)[0], (), [Record("pin", len(self.records("s", "pin")), "{}")]
                )
            raise StoreError(f"{len(erasure.replaced)} records are not replaced")

    store = Hurried()
    book(store).change("set", "Ship it")
    with pytest.raises(BusyError, match="; nothing was removed, try"):
        remove_goals(shelf(store), ["Ship it"])
    store.busy = False
    with pytest.raises(StoreError, match="1 records are not replaced"):
        remove_goals(shelf(store), ["Ship it"])


@pytest.mark.parametrize("arguments", ["{", "[]", '{"text": 3}', '{"action": "show"}'])
def test_call_that_names_nothing_takes_nothing_out(arguments: str, store: InMemoryStore) -> None:
    """Whatever a model has written as its arguments."""
    session = opened(store, SMALL)
    function = {"name": "goal", "arguments": arguments}
    calls = [{"id": "c", "type": "function", "function": function}]
    session.record(user("Hi"), CODEC.to_message({"role": "assistant", "content": None, "tool_calls": calls}))
    book(store).change("set", "Ship it")
    session.forget(1)
    assert book(store).goals().active is not None


def test_nothing_is_taken_out_where_a_message_is_not_there(store: InMemoryStore) -> None:
    """As with messages."""
    session = talked_of_goals(store)
    with pytest.raises(NotFoundError, match="m900"):
        session.forget(1, 900)
    assert book(store).goals().active is not None
    assert remove_goals(shelf(store), ["nobody"]) == 0
    assert remove_goals(shelf(store), []) == 0


@given(st.lists(st.tuples(st.sampled_from(["set", "lock", "decide", "architecture", "block"]), st.integers(0, 3))))
@settings(max_examples=30, deadline=None)
def test_what_is_taken_out_is_nowhere_and_all_else_stays(every: list[tuple[str, int]]) -> None:
    """Whatever was set, and whether it was sent or not."""
    store = InMemoryStore()
    session = talked_of_goals(store)
    for place, (action, number) in enumerate(every):
        book(store).change(action, f"Walrus number {number}")
        if place % 3 == 1:
            session.compact()
    session.compact()
    remove_goals(shelf(store), ["walrus number 0"])
    assert "Walrus number 0" not in everything(store)
    assert "Walrus number 0" not in sent(session)
    assert sent(session) == sent(opened(store, SMALL))
    named = {f"Walrus number {number}" for _, number in every if number}
    assert all(one in everything(store) for one in named)


def test_what_was_announced_goes_too(store: InMemoryStore) -> None:
    """Behind a message that is still sent, of goals and of documents; what was announced beside it stays."""
    session = talked_of_goals(store)
    book(store).change("lock", "No threads")
    book(store).change("lock", "Mind the walrus")
    SessionDocuments(store, "s", 4096, lambda text: len(text.split())).keep(
        Document("a.md", "The walrus is called Ann.")
    )
    made = session.assemble([user("Go on.")])
    session.record(*made.incoming, assistant("Yes."))
    assert "walrus" in str(made.parts[-1].notice)
    assert remove_goals(shelf(store), ["Mind the walrus"]) == 1
    assert remove_document(shelf(store), "a.md") == 1
    assert remove_document(shelf(store), "a.md") == 0
    assert "walrus" not in everything(store)
    assert "walrus" not in sent(session)
    assert "No threads" in sent(session)
    assert sent(session) == sent(opened(store, SMALL))
    again = session.assemble([user("And now?")])
    assert "walrus" not in str(again.parts)
    session.compact()
    assert "walrus" not in sent(session)


def test_document_in_the_head_goes_with_all_its_texts(store: InMemoryStore) -> None:
    """Out of old plans as well; others stay."""
    session = talked_of_goals(store)
    documents = SessionDocuments(store, "s", 4096, lambda text: len(text.split()))
    documents.keep(Document("a.md", "The walrus."))
    documents.keep(Document("b.md", "The squid."))
    session.compact()
    documents.keep(Document("a.md", "The walrus sleeps."))
    assert remove_document(shelf(store), "a.md") == 2
    assert "walrus" not in everything(store)
    made = session.assemble([user("And now?")])
    assert "walrus" not in str(made.parts)
    assert "The squid." in str(made.parts)
