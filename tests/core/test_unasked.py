"""How much room memory has in a request, when it speaks, and that its head costs nothing where it can give way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.compaction.turn import COLD_MESSAGES, share_of
from squidbot.core.engine import Inputs
from squidbot.core.messages import Cost
from squidbot.core.view.marks import MEMORIES, fence

from .promises.driver import Setup, assistant, message, opened, result, user
from .promises.histories import Remembering

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from squidbot.core.plan import Section
    from squidbot.core.view.assembly import CoreAssembly

TELLS = Inputs(unprompted=Remembering(("Likes tea.", "Lives in Oslo.", "Has a boat.")))
FACTS = "<squidbot memories: "


class Begins:
    """A memory that only tells of beginnings."""

    def head(self, limit_tokens: int) -> tuple[Section, ...]:
        """Return nothing."""
        return ()[:limit_tokens]

    def start(self, prompt: str, limit_tokens: int, head: Sequence[Section]) -> str | None:
        """Return a fact."""
        return fence(MEMORIES, "from before", f"- f-0: {prompt} {limit_tokens} {len(head)}")

    def resume(self, limit_tokens: int, head: Sequence[Section], noticed: Sequence[str]) -> str | None:
        """Return nothing."""
        del limit_tokens, head, noticed
        return None

    def withdrawn(self, memory_ids: Collection[str]) -> frozenset[str]:
        """Return none."""
        return frozenset(()) & frozenset(memory_ids)

    def unsaid(self, memory_ids: Collection[str]) -> bool:
        """Return False: all was said here."""
        return not frozenset(memory_ids)


def told(assembly: CoreAssembly) -> list[int]:
    """Return the messages behind which facts stand."""
    return [part.first_seq for part in assembly.parts if FACTS in (part.notice or "")]


def test_share_is_a_tenth_of_what_a_request_may_cost() -> None:
    """By its bound, and never below nothing."""
    assert share_of(Cost(5, 1536)) == 153
    assert share_of(Cost(0, -20)) == 0


def test_facts_stand_behind_the_newest_message_of_the_user_where_few_were_said() -> None:
    """System messages and the message in flight don't count; results and replies do."""
    for before in range(COLD_MESSAGES + 2):
        session = opened(InMemoryStore(), Setup(32_768))
        session.record(message("system", "Be brief."), *[assistant("One."), user("Two.")] * before)
        made = session.assemble([user("And?")], Inputs(unprompted=Begins()))
        assert told(made) == ([1 + 2 * before] if 2 * before < COLD_MESSAGES else [])


def test_history_that_comes_with_the_call_was_said_before() -> None:
    """A host that stores nothing itself hands over all of it."""
    session = opened(InMemoryStore(), Setup(32_768))
    said = [user("One."), assistant("Two."), user("Three."), assistant("Four.")]
    begins = Inputs(unprompted=Begins())
    assert told(session.assemble([*said[:2], user("And?")], begins)) == [2]
    assert told(session.assemble([*said, user("And?")], begins)) == []


def test_nothing_is_told_where_the_user_says_nothing() -> None:
    """Results of tools open no conversation."""
    session = opened(InMemoryStore(), Setup(32_768))
    session.record(user("Look."), assistant("", ("c", "read", "{}")))
    assert told(session.assemble([result("c", "It is there.")], TELLS)) == []
    assert told(session.assemble([result("c", "It is there.")])) == []


def test_without_memory_the_head_of_the_plan_stays() -> None:
    """A look at what would be sent next asks nobody, and changes nothing."""
    session = opened(InMemoryStore(), Setup(32_768))
    made = session.assemble([user("One.")], TELLS)
    session.record(*made.incoming, assistant("Two."), user("Three."))
    assert session.preview().parts[: len(made.parts)] == made.parts
    again = session.assemble([user("Four.")])
    assert again.event is None
    assert again.parts[: len(made.parts)] == made.parts
