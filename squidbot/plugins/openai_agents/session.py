"""A conversation as a run has it: what it has said is recorded, and what a call of its model is to see comes back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, TypeVar

from squidbot.core.view.marks import refused
from squidbot.plugins.openai_agents.stored import stored
from squidbot.plugins.openai_agents.told import CODEC, model_name, told

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from squidbot.core.messages import Usage
    from squidbot.hosting.conversations import Conversation
    from squidbot.hosting.hosted import Hosted
    from squidbot.plugins.openai_agents.told import Item

__all__ = ["RunSession"]

Value = TypeVar("Value")

CLEARED: Final = (
    "something in this run clears its session, to write less instead: squidbot keeps what was said, and sends what fits"
)


class RunSession:
    """The host's `Session` for a run, and behind it what calls of its model go through.

    A run's own list begins with its input: what was said before is added to each request. None of what the host calls
    raises. `waiting` is what could not be recorded yet, by conversation, which all of a program's runs share.
    """

    def __init__(
        self,
        hosted: Hosted,
        conversation_id: str,
        model: object,
        waiting: dict[str, list[Item]],
        warn: Callable[..., None],
    ) -> None:
        """Take the conversation's id, and the run's model, if that is known; nothing is opened yet."""
        self.session_id, self.session_settings = conversation_id, None
        self._hosted, self._model = hosted, model_name(model)
        self._waiting, self._warn = waiting, warn
        # Whether the run goes through this session; has not called the model yet; has recorded what came of its calls.
        self._has_begun = self._begins = False
        self._is_due = True
        # The newest reply is recorded; or waits for the guardrails, with what the provider reported for it.
        self._has_replied = False
        # Something wants to write something shorter in the place of what was said.
        self._is_cleared = False
        self._reported: list[Usage | None] = []

    # -- what the host calls, and a program

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """Return nothing, to a run that begins: what was said is added to each of its requests."""
        del limit
        self._has_begun = self._begins = self._is_due = True
        self._has_replied = self._is_cleared = False
        self._reported = []
        return []

    async def add_items(self, items: Sequence[Any]) -> None:
        """Record what a run has said and done, durably; what it begins with is recorded with its first request."""
        self._has_begun = self._is_due = True
        if not self._is_cleared:
            self.safely("record", lambda: self._add([dict(each) for each in items]), None)

    async def pop_item(self) -> None:
        """Return None: what was said stays; a program takes it back by `Squidbot.session`."""

    async def clear_session(self) -> None:
        """Leave what was said as it is, and out what a run would write in its place."""
        self._is_cleared = True
        self._warn(CLEARED)

    # -- what calls of the model go through

    def takes(self, listed: Sequence[Mapping[str, object]]) -> bool:
        """Say whether a call of the model is of this run; those of agents that are its tools have its configuration.

        Between two calls of a run what came of the first is recorded; while its tools work nothing is.
        """
        is_due, self._is_due = self._is_due, False
        if is_due and not self._has_begun and listed:
            # A run that was interrupted goes on without reading its session; what it was told last is recorded.
            newest: list[Item] = self.safely("read", lambda: stored(self._hosted, self.session_id, 1), [])
            self._has_begun = bool(newest) and told(listed[-1]) == told(newest[-1])
        return is_due and self._has_begun

    @property
    def has_begun(self) -> bool:
        """Whether the run goes through this session."""
        return self._has_begun

    def seen(self, system: str, tools: Sequence[Mapping[str, object]], model: object) -> list[Item]:
        """Record what waited, and return what the model is to see.

        Raises:
            BudgetError: nothing makes the request fit.
            ValueError: an item is none.
            StoreError: the store failed.
        """
        # Streams record what a run begins with behind `takes`.
        self._is_due = False
        self._model = self._model or model_name(model)
        made = self._conversation().before(self._waiting.get(self.session_id, []), system=system, tools=tools)
        self._waiting.pop(self.session_id, None)
        self._begins = False
        return made

    def shorter(self) -> list[Item] | None:
        """Return less for a request that was refused as too long; None where nothing is less."""
        return self._conversation().shorter()

    def replied(self, items: Sequence[Item], usage: Usage | None, *, waits: bool) -> None:
        """Record a reply, with what the provider reported; a last one, if it `waits` for guardrails, once it is passed.

        Raises:
            ValueError: an item is none.
            StoreError: nothing was stored.
        """
        step: Item = {"output": list(items)}
        if waits and not CODEC.to_message(step).calls:
            self._reported = [usage]
            return
        self._conversation().after(step, usage)
        self._has_replied = True

    def answer(self, tool: str, arguments: str) -> str:
        """Return what a call of one of the tools answers."""
        try:
            given = json.loads(arguments or "{}")
        except ValueError:
            return refused(f"the arguments of {tool} are not JSON; call it again")
        return self._hosted.answer(tool, self.session_id, self._conversation, given if isinstance(given, dict) else {})

    def safely(self, what: str, act: Callable[[], Value], otherwise: Value) -> Value:
        """Return what comes of an act of ours, or `otherwise` where it fails."""
        return self._hosted.safely(what, self.session_id, act, otherwise)

    def _add(self, items: list[Item]) -> None:
        steps = CODEC.steps(each for each in items if not (self._has_replied and CODEC.is_made(each)))
        self._has_replied = False
        if self._reported and steps and _is_step(steps[0]):
            self._conversation().after(steps.pop(0), self._reported.pop())
        waiting = self._waiting.setdefault(self.session_id, [])
        waiting += steps
        # Input waits for the first request, which knows the model, and so the window.
        if not self._begins:
            self._conversation().said(waiting)
            self._waiting.pop(self.session_id, None)

    def _conversation(self) -> Conversation:
        return self._hosted.conversation(self.session_id, self._model)


def _is_step(payload: Item) -> bool:
    return "output" in payload and "call_id" not in payload
