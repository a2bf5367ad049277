"""Goals are taken out for good: with the message that set them, and by their names (O-07)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.errors import BusyError, NotFoundError, StoreError
from squidbot.core.forgetting import remove_document, remove_goals
from squidbot.core.messages import Erasure, Record
from squidbot.core.transcript.documents import Document, SessionDocuments
from squidbot.core.transcript.goals import GoalBook
from squidbot.core.transcript.markers import MARKED
from squidbot.core.view.current import SessionContext
from squidbot.core.view.renderer import Renderer

from .promises.driver import CLASSES, CODEC, Setup, assistant, opened, user

if TYPE_CHECKING:
    from squidbot.core.engine import CoreSession

SETUP = Setup(4096, 256)


def book(store: InMemoryStore) -> GoalBook:
    """Return the goals of the session."""
    return GoalBook(store, "s", 4096, lambda text: len(text.split()))


def shelf(store: InMemoryStore) -> SessionContext:
    """Return where the session's data stand."""
    return SessionContext("s", store, store, Renderer(CLASSES, {CODEC.tag: CODEC}))


def talked(store: InMemoryStore) -> CoreSession:
    """Return a session with something to compact, in whose first step a model called the tool."""
    session = opened(store, SETUP)
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
    told = [one.body for kind in kinds for one in store.records("s", kind)]
    return "".join([*told, *(row.notice or "" for row in store.read("s", 0, store.head("s")[0] - 1))])


def sent(session: CoreSession) -> str:
    """Return the text of the next request."""
    return "\n".join(f"{part.text or ''}\n{part.notice or ''}" for part in session.preview().parts)


def test_goal_goes_with_the_message_that_set_it(store: InMemoryStore) -> None:
    """Out of records, old plans and the next request, in this process and in a new one; others stay (O-07)."""
    session = talked(store)
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
    assert sent(opened(store, SETUP)) == sent(session)


def test_request_that_told_it_is_not_made_again(store: InMemoryStore) -> None:
    """It would be another one than was sent."""
    session = talked(store)
    session.compact()
    made = session.assemble([user("Go on.")])
    session.record(*made.incoming, assistant("So be it."))
    assert remove_goals(shelf(store), ["ship the parser."]) == 1
    event = session.assemble([user("And now?")]).event
    assert event is not None
    assert event.cause == "forget"
    with pytest.raises(NotFoundError, match="forgotten since"):
        opened(store, SETUP).request()


def test_line_that_a_call_wrote_goes_with_the_line_that_it_ended(store: InMemoryStore) -> None:
    """A marked goal that a call closed left its name in another record."""
    session = opened(store, SETUP)
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
    with pytest.raises(BusyError, match="; nothing was taken out, try"):
        remove_goals(shelf(store), ["Ship it"])
    store.busy = False
    with pytest.raises(StoreError, match="1 records are not replaced"):
        remove_goals(shelf(store), ["Ship it"])


@pytest.mark.parametrize("arguments", ["{", "[]", '{"text": 3}', '{"action": "show"}'])
def test_call_that_names_nothing_takes_nothing_out(arguments: str, store: InMemoryStore) -> None:
    """Whatever a model has written as its arguments."""
    session = opened(store, SETUP)
    function = {"name": "goal", "arguments": arguments}
    calls = [{"id": "c", "type": "function", "function": function}]
    session.record(user("Hi"), CODEC.to_message({"role": "assistant", "content": None, "tool_calls": calls}))
    book(store).change("set", "Ship it")
    session.forget(1)
    assert book(store).goals().active is not None


def test_nothing_is_taken_out_where_a_message_is_not_there(store: InMemoryStore) -> None:
    """As with messages."""
    session = talked(store)
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
    session = talked(store)
    for place, (action, number) in enumerate(every):
        book(store).change(action, f"Walrus number {number}")
        if place % 3 == 1:
            session.compact()
    session.compact()
    remove_goals(shelf(store), ["walrus number 0"])
    assert "Walrus number 0" not in everything(store)
    assert "Walrus number 0" not in sent(session)
    assert sent(session) == sent(opened(store, SETUP))
    named = {f"Walrus number {number}" for _, number in every if number}
    assert all(one in everything(store) for one in named)


def test_what_was_announced_goes_too(store: InMemoryStore) -> None:
    """Behind a message that is still sent, of goals and of documents; what was announced beside it stays."""
    session = talked(store)
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
    assert sent(session) == sent(opened(store, SETUP))
    again = session.assemble([user("And now?")])
    assert "walrus" not in str(again.parts)
    session.compact()
    assert "walrus" not in sent(session)


def test_document_in_the_head_goes_with_all_its_texts(store: InMemoryStore) -> None:
    """Out of old plans as well; others stay."""
    session = talked(store)
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
