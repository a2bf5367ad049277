"""A model that settings define, asked by chat completions or by Responses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.adapters.openai.chat import OpenAIChatModel
from squidbot.adapters.openai.client import Account
from squidbot.adapters.openai.responses import OpenAIResponsesModel
from squidbot.model_options import places

if TYPE_CHECKING:
    from squidbot.adapters.openai.model import OpenAIModel
    from squidbot.core.ports import TokenCounter
    from squidbot.core.sizing.context import Definition

__all__ = ["open_model"]


def open_model(definition: Definition, counter: TokenCounter | None = None) -> OpenAIChatModel | OpenAIResponsesModel:
    """Return a model; `definition.api` is "responses", or "chat" and "" for chat completions. Nothing is asked yet.

    Raises:
        ConfigError: no model is named, the address is none, or there is no key for it.
    """
    kind: type[OpenAIModel] = OpenAIResponsesModel if definition.api == "responses" else OpenAIChatModel
    account = Account(definition.url, key_name=definition.key_env)
    account.places = places(definition.options, definition.alias)
    return kind(definition.model, account=account, counter=counter, options=definition.options)  # type: ignore[return-value]  # one of both
