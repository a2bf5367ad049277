"""Operations: calls of squidbot's that observers may watch from beginning to end, to time them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from squidbot.core.messages import Usage
    from squidbot.core.plan import PlanRecord

#: Calls of a session, or of an engine ("forget").
SessionOperation = Literal["assemble", "record", "overflowed", "compact", "undo", "restore", "forget"]
#: Calls that read or change durable facts, or search messages, by the names of OpenTelemetry's GenAI conventions; and
#: "chat", a call of a language model that squidbot makes for itself.
GenAIOperation = Literal["search_memory", "create_memory", "update_memory", "delete_memory", "chat"]


@dataclass(slots=True, kw_only=True)
class Operation:
    """One call of squidbot's. It fills the fields while it runs; an observer reads them at its end.

    Attributes:
        name: what is done.
        session_id: the session; "" if it is in none.
        model: the session's model as settings call it, or for "chat" the one that is called; "" if unknown.
        provider: for "chat", who serves the model, as settings call its adapter.
        window_tokens: the session's context window; 0 for none.
        request_tokens: the cost of the request that was made, as a bound; 0 for none.
        plan: the plan in force at the end; `None` while everything is sent raw.
        is_changed: whether the call has made that plan.
        usage: what a provider reported; `None` if nothing.
        store: what is searched or changed: "facts", "messages", or "" for neither.
        records: how many of these were found or changed; `None` if unknown.
        record_id: the id of the fact, where it is about a single one.
        query: what is searched for. This is content: observers must not pass it on unless they are asked to.
        contents: (id, text) of the records. Content, too.
    """

    name: SessionOperation | GenAIOperation
    session_id: str = ""
    model: str = ""
    provider: str = ""
    window_tokens: int = 0
    request_tokens: int = 0
    plan: PlanRecord | None = None
    is_changed: bool = False
    usage: Usage | None = None
    store: Literal["", "facts", "messages"] = ""
    records: int | None = None
    record_id: str = ""
    query: str = ""
    contents: tuple[tuple[str, str], ...] = ()


# Lets observers watch an operation while its context is open.
Watch: TypeAlias = Callable[[Operation], AbstractContextManager[Operation]]


def unwatched(operation: Operation) -> AbstractContextManager[Operation]:
    """Have nobody watch an operation."""
    return nullcontext(operation)
