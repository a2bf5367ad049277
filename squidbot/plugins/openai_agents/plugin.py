"""What a program has of squidbot: options for its runs, tools for its agents, models that can be asked again."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, TypedDict

from agents import FunctionTool, RunConfig

from squidbot.core.errors import ConfigError
from squidbot.hosting import toolkit
from squidbot.hosting.hosted import Hosted
from squidbot.plugins.openai_agents.calls import MADE, Call
from squidbot.plugins.openai_agents.models import Models, manage
from squidbot.plugins.openai_agents.session import RunSession
from squidbot.plugins.openai_agents.stored import StoredSession
from squidbot.plugins.openai_agents.told import FORM, refuse_held, rivals, telling

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from agents.run import CallModelData, ModelInputData

    from squidbot.core.memories import Scope
    from squidbot.plugins.openai_agents.told import Item

__all__ = ["Options", "Squidbot"]

_LOG: Final = logging.getLogger("squidbot")
OTHER_SESSION: Final = "squidbot's run configuration came without its session: pass both, **squid.options(...)"
ONE_SESSION: Final = (
    "session = {}: a run has one session, and here squidbot is it; leave yours out: "
    "squid.session(conversation_id).get_items() reads all that was said"
)
NO_RUN: Final = "squidbot has no conversation here: run the agent with **squid.options(conversation_id)"


class Options(TypedDict):
    """What `Runner.run`, `run_sync` and `run_streamed` are given."""

    session: RunSession
    run_config: RunConfig


class Squidbot:
    """Keeps requests within a budget, all that was said in a file, and gives the model tools to find it again.

    `path` is the file; None: as `settings` say, a squidbot.toml or a mapping of its form. `budget` is the largest
    request and its answer in tokens (8000 or "8k"), or a share of the model's window below 1 (0.5). `scope` says
    whose durable facts are found. `on_error="raise"` stops a run where
    squidbot fails; "pass" sends the request as the program made it, and the log says why.

    Raises:
        ConfigError: an argument or a setting is wrong.
        StoreError: the store can't be opened.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        budget: float | str | None = None,
        settings: str | Path | Mapping[str, object] | None = None,
        scope: Scope | None = None,
        on_error: Literal["pass", "raise"] = "pass",
    ) -> None:
        """Read the settings and open the store."""
        self.hosted = Hosted(
            path,
            host="openai-agents",
            form=FORM,
            telling=telling,
            budget=budget,
            settings=settings,
            scope=scope,
            on_error=on_error,
        )
        self.hosted.open()
        offered = self.hosted.safely("offer its tools", "", lambda: self.hosted.tools, toolkit.TOOLS)
        self.tools: list[FunctionTool] = [_tool(self, each) for each in offered]
        # What could not be recorded, by conversation: it is with the next attempt.
        self._waiting: dict[str, list[Item]] = {}
        self._told: set[str] = set()

    def options(
        self,
        conversation_id: str,
        *,
        run_config: RunConfig | Mapping[str, object] | None = None,
        session: object = None,
    ) -> Options:
        """Return what a run of the conversation is given; `run_config` is the program's own.

        Raises:
            ConfigError: the id is empty; there is a `session` beside ours; the configuration would leave the
                conversation with the provider.
        """
        if not conversation_id:
            raise ConfigError("conversation_id is empty: it is what a conversation is kept by")
        if session is not None:
            raise ConfigError(ONE_SESSION.format(type(session).__name__))
        given = RunConfig(**run_config) if isinstance(run_config, Mapping) else run_config or RunConfig()
        refuse_held(given.model_settings)
        self.warn(*rivals(given))
        session = RunSession(self.hosted, conversation_id, given.model, self._waiting, self.warn)
        manage(given.model, self.warn)
        config = replace(
            given,
            model_provider=Models(given.model_provider, self.warn),
            call_model_input_filter=_filter(self, session, given),
        )
        return {"session": session, "run_config": config}

    def session(self, conversation_id: str) -> StoredSession:
        """Return a conversation for the program to read, and to take back what was said last."""
        return StoredSession(self.hosted, conversation_id, self.warn)

    def warn(self, *texts: str) -> None:
        """Say what is wrong, once each."""
        for text in texts:
            if text not in self._told:
                self._told.add(text)
                _LOG.warning("%s", text)


def _filter(
    squid: Squidbot, session: RunSession, config: RunConfig
) -> Callable[[CallModelData], Awaitable[ModelInputData]]:
    """Return what the host calls in front of each call of a model, which asks squidbot for its request."""

    async def begin(data: CallModelData) -> ModelInputData:
        settings = data.agent.model_settings.resolve(config.model_settings)
        refuse_held(settings)
        squid.warn(*rivals(settings))
        call = Call(session, data, config)
        MADE.set(call)
        manage(data.agent.model, squid.warn)
        if call.is_open:
            return data.model_data
        squid.warn(*([OTHER_SESSION] if call.is_astray else []))
        return await call.filtered(data.model_data)

    return begin


def _tool(squid: Squidbot, tool: toolkit.Tool) -> FunctionTool:
    async def call(_context: object, arguments: str) -> str:
        made = MADE.get()
        if made is None:
            squid.warn(NO_RUN)
            return f"<{NO_RUN}>"
        return made.session.answer(tool.name, arguments)

    schema = json.loads(json.dumps(tool.schema))
    return FunctionTool(tool.name, tool.description, schema, call, strict_json_schema=False)
