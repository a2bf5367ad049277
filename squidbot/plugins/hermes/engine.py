"""hermes's context engine, of which each agent has one: tools, `/compress`, and requests that were too long."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from agent.context_engine import ContextEngine

from squidbot.hosting import toolkit
from squidbot.hosting.listing import Made
from squidbot.plugins.hermes import lists

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.hosting.conversations import Conversation
    from squidbot.plugins.hermes.inside import Inside

__all__ = ["Squidbot"]

# How hermes ends a session whose list it has made shorter, and goes on under another id.
COMPRESSION: Final = "compression"
# So many sessions stand behind each other at most: more than anybody compresses one.
MOST_PARENTS: Final = 1_000


class Squidbot(ContextEngine):  # type: ignore[misc]  # hermes's types are not read
    """The context engine of one agent. It never asks hermes for a shorter list: requests are made short one by one."""

    def __init__(self, inside: Inside) -> None:
        self._inside = inside
        self.model = ""
        # Under this name, without the lead, hermes itself looks for the session that an engine is bound to.
        self._session_id = ""
        # The session where the conversation began.
        self.conversation_id = ""
        # What the newest request had beside the conversation: hermes's text, and the tools.
        self.asked: tuple[str, list[dict[str, Any]]] = "", []
        self.is_echoed = False
        # What the user has said and nobody has answered; and messages that hermes has made of two, by their text.
        self._unanswered = ""
        self._halves: dict[str, tuple[str, str]] = {}

    @property
    def name(self) -> str:
        """The name for `context.engine`."""
        return "squidbot"

    def __deepcopy__(self, memo: dict[int, Any]) -> Squidbot:
        """Return an engine for another agent: what it keeps is shared."""
        return type(self)(self._inside)

    # -- hermes tells -------------------------------------------------------------------------------------------------

    def update_from_response(self, usage: Mapping[str, Any]) -> None:
        """Keep what hermes shows in its status line."""
        self.last_prompt_tokens = usage.get("prompt_tokens", 0)
        self.last_completion_tokens = usage.get("completion_tokens", 0)
        self.last_total_tokens = usage.get("total_tokens", 0)

    def update_model(self, model: str, context_length: int, *further: Any, **named: Any) -> None:  # noqa: ANN401  # hermes's
        """Take the model and its window, in tokens."""
        super().update_model(model, context_length, *further, **named)
        self.model = model

    def bind_session_state(self, session_db: Any = None, session_id: str = "") -> None:  # noqa: ANN401  # hermes's
        """Take the session that an agent goes on with, and find where its conversation began."""
        if session_id and session_id != self._session_id:
            began = self._inside.hosted.safely("find a session", session_id, lambda: _began(session_db, session_id), "")
            self._begin(session_id, began or session_id)

    def on_session_start(self, session_id: str, **told: Any) -> None:  # noqa: ANN401  # hermes's
        """Take the session that begins; one that only goes on under another id is the same conversation."""
        goes_on = told.get("boundary_reason") == COMPRESSION and told.get("old_session_id") == self._session_id
        if session_id and (session_id != self._session_id or goes_on):
            self._begin(session_id, self.conversation_id if goes_on else session_id)

    def _begin(self, session_id: str, conversation_id: str) -> None:
        if conversation_id != self.conversation_id:
            self._unanswered, self._halves = "", {}
        self._session_id, self.conversation_id = session_id, conversation_id
        self._inside.leads(self, session_id)

    # -- tools --------------------------------------------------------------------------------------------------------

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return the tools for the model."""
        hosted = self._inside.hosted
        return [
            {"name": each.name, "description": each.description, "parameters": json.loads(json.dumps(each.schema))}
            for each in hosted.safely("offer its tools", "", lambda: hosted.tools, toolkit.TOOLS)
        ]

    def handle_tool_call(self, name: str, args: Mapping[str, Any], **_: object) -> str:
        """Return what a tool answers: as text, which costs less than the JSON that hermes takes, too."""
        return self._inside.hosted.answer(name, self.conversation_id, self._talk, args)

    # -- shorter ------------------------------------------------------------------------------------------------------

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Say no: what a request costs is seen to when it is made, and hermes's list stays whole."""
        del prompt_tokens
        return False

    def compress(
        self,
        messages: Sequence[Any],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        force: bool = False,  # noqa: FBT001, FBT002  # hermes's
        memory_context: str = "",
    ) -> list[Any]:
        """Return a shorter list, valid: hermes asks where a provider calls a request too long, or the user wants one.

        All that was said is recorded before. What is left out of hermes's list is sent as far as there is room,
        and found, as before.
        """
        del current_tokens, focus_topic, memory_context
        kept = self._inside.hosted.safely(
            "shorten the list", self.conversation_id, lambda: self._kept(messages, by_hand=force), None
        )
        made = lists.shortened(messages, lambda each: kept is None or str(lists.telling(each)) in kept)
        if made != list(messages):
            self.compression_count += 1
        return made

    def _kept(self, messages: Sequence[Any], *, by_hand: bool) -> set[str]:
        """Record what is new, and return what tells the messages that a shorter request has."""
        talk = self._talk()
        seen = self.seen(messages)
        if by_hand:
            with talk.session.lock:
                talk.session.compact()
                return {str(lists.telling(each)) for each in talk.session.preview().messages}
        return {str(lists.telling(each)) for each in talk.shorter() or seen}

    # -- the conversation ---------------------------------------------------------------------------------------------

    def seen(self, listed: Sequence[Mapping[str, Any]]) -> list[dict[str, object]]:
        """Record what is new in a list, and return what the model is to see.

        Raises:
            SquidbotError: it can't be done; see `Conversation.before`.
            ValueError: a message is none.
        """
        last = listed[-1] if listed else {}
        if last.get("role") == "user" and isinstance(text := last.get("content"), str):
            first = self._unanswered
            if first and text.startswith(f"{first}\n\n"):
                self._halves[text] = first, text[len(first) + 2 :]
            self._unanswered = text
        system, tools = self.asked
        told = (
            lists.split(listed, self._halves) if self._halves else Made(len(listed), lambda at: lists.own(listed[at]))
        )
        return self._talk().before(told, system=system, tools=tools)

    def answered(self) -> None:
        """Take note that the model has said something."""
        self._unanswered = ""

    def _talk(self) -> Conversation:
        return self._inside.conversation(self)


def _began(session_db: Any, session_id: str) -> str:  # noqa: ANN401  # hermes's
    """Return the session where a conversation began that hermes has gone on with under other ids."""
    for _ in range(MOST_PARENTS if session_db is not None else 0):
        session = session_db.get_session(session_id) or {}
        parent = session.get("parent_session_id")
        before = session_db.get_session(parent) if parent else None
        if not before or before.get("end_reason") != COMPRESSION:
            break
        session_id = str(parent)
    return session_id
