"""squidbot in a process of hermes: what each request sends, and what is recorded of it, whichever agent makes it."""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, Protocol
from weakref import WeakValueDictionary

from agent.agent_runtime_helpers import strip_think_blocks
from agent.redact import redact_sensitive_text
from tools.skill_provenance import is_background_review

from squidbot.core.messages import Usage
from squidbot.hosting import toolkit
from squidbot.hosting.hosted import REQUEST, Hosted
from squidbot.plugins.hermes import lists, wire

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from squidbot.hosting.conversations import Conversation

__all__ = ["Inside", "Leads"]

_LOG: Final = logging.getLogger("squidbot")
FORM: Final = "hermes/1"
# Lists of calls that hermes never made: it was broken off behind the hook.
MOST_LISTS: Final = 64
NOT_OURS: Final = "squidbot is not active in an agent of hermes: it has another context engine; see docs/hosts.md"
NOT_BOUNDED: Final = "squidbot records requests of hermes as {}, and does not bound them"
NO_TOOLS: Final = "the model of hermes has no tools of squidbot: enabled_toolsets lacks context_engine"


class Leads(Protocol):
    """What stands for one agent: its context engine.

    Attributes:
        conversation_id: the session of hermes where the conversation began.
        model, context_length: what is asked, and its window in tokens; 0 for one that is not known.
        asked: what the newest request had beside the conversation: hermes's text, and the tools.
        is_echoed: whether the provider is sent back what it thought.
    """

    conversation_id: str
    model: str
    context_length: int
    asked: tuple[str, list[dict[str, Any]]]
    is_echoed: bool

    def seen(self, listed: Sequence[Mapping[str, Any]]) -> list[dict[str, object]]:
        """Record what is new in a list, and return what the model is to see."""

    def answered(self) -> None:
        """Take note that the model has said something."""


class Inside:
    """What all agents of a process share. Threads may share it; none of its methods raises."""

    def __init__(self, store: str | Path | None, *, budget: float | str | None = None, settings: Any = None) -> None:  # noqa: ANN401  # what a file says
        """Nothing is opened yet.

        Raises:
            ConfigError: the budget is none.
        """
        self.hosted = Hosted(
            store,
            host="hermes",
            form=FORM,
            telling=lists.telling,
            is_whole=True,
            read=wire.read,
            budget=budget,
            settings=settings,
            budget_key="squidbot.budget in config.yaml: ",
        )
        self._engines: WeakValueDictionary[str, Leads] = WeakValueDictionary()
        self._lists: OrderedDict[str, Sequence[Mapping[str, Any]]] = OrderedDict()
        self._said: set[str] = set()
        # Why nothing is done at all; "" where something is.
        self.inactive = ""

    def leads(self, engine: Leads, session_id: str) -> None:
        """Have an agent's engine stand for a session of hermes."""
        self._engines[session_id] = engine

    def conversation(self, engine: Leads) -> Conversation:
        """Return the conversation of an agent.

        Raises:
            ConfigError: a setting is wrong.
            StoreError: the store can't be opened.
        """
        return self.hosted.conversation(engine.conversation_id, engine.model, engine.context_length or None)

    def listed(self, *, api_request_id: str = "", conversation_history: Sequence[Any] = (), **_: object) -> None:
        """Take hermes's own list, just before each attempt of a call."""
        self._lists[api_request_id] = conversation_history
        while len(self._lists) > MOST_LISTS:
            self._lists.popitem(last=False)

    def asked(  # noqa: PLR0913  # what hermes tells
        self,
        *,
        request: dict[str, Any],
        next_call: Callable[[dict[str, Any]], Any],
        session_id: str = "",
        api_request_id: str = "",
        api_mode: str = "",
        base_url: str = "",
        **_: object,
    ) -> Any:  # noqa: ANN401  # an answer of any provider's package
        """Ask a model, with what fits; what is new is recorded before."""
        messages = self._lists.pop(api_request_id, None)
        engine = self._engine(session_id)
        if engine is None or messages is None:
            return next_call(request)
        seen = self.hosted.safely(
            REQUEST,
            engine.conversation_id,
            lambda: self._seen(engine, request, messages, api_mode, str(base_url or "")),
            request,
        )
        return next_call(seen)

    def replied(
        self,
        *,
        session_id: str = "",
        assistant_message: object = None,
        finish_reason: str = "",
        usage: Mapping[str, Any] | None = None,
        **_: object,
    ) -> None:
        """Record a model's reply."""
        engine = self._engine(session_id)
        if engine is None:
            return
        self.hosted.safely(
            "record a reply",
            engine.conversation_id,
            lambda: self._recorded(engine, lists.reply(assistant_message, finish_reason, _visible), usage),
            None,
        )

    def _engine(self, session_id: str) -> Leads | None:
        """Return the engine of the agent that asks; None for what hermes asks beside a conversation, under its id."""
        if self.inactive or is_background_review():
            return None
        engine = self._engines.get(session_id)
        if engine is None:
            self.say_once(NOT_OURS)
        return engine

    def _seen(
        self, engine: Leads, request: dict[str, Any], messages: Sequence[Any], api_mode: str, url: str
    ) -> dict[str, Any]:
        if not wire.is_bounded(request, api_mode):
            self.say_once(NOT_BOUNDED.format(f"`input` ({api_mode})" if "input" in request else api_mode))
            return request
        sent = wire.tools(request)
        if not any(name.endswith(toolkit.SEARCH) for name in wire.names(sent)):
            self.say_once(NO_TOOLS)
        engine.asked = wire.system_text(request), sent
        engine.is_echoed = wire.echoes(request)
        return wire.bounded(request, messages, engine.seen(messages), api_mode=api_mode, url=url)

    def _recorded(self, engine: Leads, reply: dict[str, Any] | None, usage: Mapping[str, Any] | None) -> None:
        if reply is None:
            return
        if engine.is_echoed and reply.get("reasoning"):
            reply["reasoning_content"] = reply["reasoning"]
        self.conversation(engine).after(reply, _usage(usage or {}))
        engine.answered()

    def say_once(self, text: str) -> None:
        """Log what a user has to know, the first time."""
        if text not in self._said:
            self._said.add(text)
            _LOG.warning("%s", text)


def _usage(told: Mapping[str, Any]) -> Usage | None:
    """Return what the provider reported; hermes counts what was cached apart."""
    asked = int(told.get("prompt_tokens") or 0)
    cached = int(told.get("cache_read_tokens") or 0)
    return Usage(asked, int(told.get("output_tokens") or 0), cached) if asked else None


def _visible(text: str) -> str:
    """Return the words of an answer as hermes lists them."""
    return str(redact_sensitive_text(strip_think_blocks(None, text).strip()))
