"""A call of the model in a run: what it is asked, again where that was too long, and what it answers."""

from __future__ import annotations

import inspect
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from squidbot.hosting.hosted import REQUEST
from squidbot.hosting.refusals import is_too_long
from squidbot.plugins.openai_agents.told import usage_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agents import ModelResponse, RunConfig
    from agents.run import CallModelData, ModelInputData

    from squidbot.plugins.openai_agents.session import RunSession
    from squidbot.plugins.openai_agents.told import Item

__all__ = ["MADE", "Call"]


class Call:
    """One call of the model. It stays open until it is answered: the host may try again."""

    def __init__(self, session: RunSession, data: CallModelData, config: RunConfig) -> None:
        """Take what the host's filter is told, and the program's own configuration of the run."""
        self.session, self._data = session, data
        self._theirs = config.call_model_input_filter
        # Whether guardrails may keep the last answer back.
        self._waits = bool(data.agent.output_guardrails or config.output_guardrails)
        self.is_open = session.takes(data.model_data.input)
        # The run has squidbot's configuration, and not its session.
        self.is_astray = not session.has_begun
        # The host's own list: it is the same one when the host tries again.
        self._listed: object = None

    def asks(self, listed: object) -> bool:
        """Say whether a model that is asked with a list of the host's is asked by this call."""
        self._listed = self._listed or listed
        return self.is_open and self._listed is listed

    async def request(
        self, listed: str | Sequence[Item], system: str | None, tools: Callable[[], list[Item]], model: object
    ) -> ModelInputData:
        """Return what the model is sent: what fits, or what the host would send where squidbot fails."""
        self._data = replace(self._data, model_data=replace(self._data.model_data, instructions=system))
        seen = self.session.safely(REQUEST, lambda: self.session.seen(system or "", tools(), model), None)
        return await self._sent(listed if seen is None else seen)

    async def shorter(self, error: Exception) -> ModelInputData | None:
        """Return what to ask again with; None where the error says nothing of the length, or nothing is shorter."""
        act = self.session.shorter
        made = self.session.safely("shorten a request", lambda: act() if is_too_long(error) else None, None)
        return None if made is None else await self._sent(made)

    def replied(self, response: ModelResponse, reported: object) -> None:
        """Record the reply, with the tokens that were reported."""
        self.is_open = False

        def act() -> None:
            self.session.replied(response.to_input_items(), usage_of(reported), waits=self._waits)

        self.session.safely("record a reply", act, None)

    def broke_off(self, text: str) -> None:
        """Record what came of a reply that did not come to its end; what guardrails have not seen is nobody's word."""
        if text and not self._waits:
            content = [{"type": "output_text", "text": text, "annotations": []}]
            said: Item = {"type": "message", "role": "assistant", "status": "incomplete", "content": content}
            self.session.safely("record a reply", lambda: self.session.replied([said], None, waits=False), None)

    async def filtered(self, made: ModelInputData) -> ModelInputData:
        """Return what the program's own filter makes of a request."""
        if self._theirs is None:
            return made
        found = self._theirs(replace(self._data, model_data=made))
        return await found if inspect.isawaitable(found) else found

    async def _sent(self, items: str | Sequence[Item]) -> ModelInputData:
        return await self.filtered(replace(self._data.model_data, input=items))


# The call that is made, where it is made; tools find their conversation by it.
MADE: Final[ContextVar[Call | None]] = ContextVar("squidbot_call", default=None)
