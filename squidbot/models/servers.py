"""What the server of a model says of it: its file's header, and the window that it is served with."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from squidbot import accounts
from squidbot.core.errors import ConfigError, LLMError, ModelFileError

if TYPE_CHECKING:
    from squidbot.core.sizing.header import Header
    from squidbot.tables import Model

__all__ = ["Behind", "behind"]

# A server that is asked when a session opens must not keep the user waiting.
PATIENCE_SECONDS = 2.0


class Behind(NamedTuple):
    """What there is to know of a model behind a server.

    Attributes:
        header: of its file, where the server is on this machine and tells it whole; else None.
        native_tokens: the window that it was trained with; None where unknown.
        served_tokens: the window that the server gives it now; None where unknown, or where the server is to be told.
        reason: why something is not known, in a sentence; "" where nothing is missing.
    """

    header: Header | None = None
    native_tokens: int | None = None
    served_tokens: int | None = None
    reason: str = ""


def behind(model: Model, alias: str) -> Behind | None:
    """Return what the server of a model says of it; None for a model whose settings name no server of one's own.

    Waits for a few seconds at most, and loads nothing.

    Raises:
        ConfigError: the server's address is none.
    """
    name = model.model or alias
    if model.adapter == "ollama":
        return _ollama(model.url or "", name)
    if model.adapter == "anthropic":
        return _anthropic(model, name)
    if model.url is None or model.adapter not in (None, "openai"):
        return _told_by_nobody(model)
    from squidbot.adapters.servers import served_window  # noqa: PLC0415  # only models with an address need it

    key = os.environ.get(model.key_env or accounts.USUAL_KEYS["openai"], "").strip() if model.adapter else ""
    found = served_window(model.url, name, api_key=key, seconds=PATIENCE_SECONDS)
    return Behind(served_tokens=found.tokens, reason=found.reason)


def _told_by_nobody(model: Model) -> Behind | None:
    """Return what is known of a model whose provider tells no window; None of any other."""
    if model.adapter != "openai" or model.context_window is not None:
        return None
    return Behind(reason="OpenAI does not tell the window of its models; set context_window beside the model")


def _anthropic(model: Model, name: str) -> Behind | None:
    """Return what Anthropic tells of a model; it is not asked where somebody has said how large its window is."""
    if model.context_window is not None:
        return None
    try:
        from squidbot.adapters.anthropic import AnthropicModel  # noqa: PLC0415  # as above
        from squidbot.adapters.anthropic.client import Account  # noqa: PLC0415  # as above
    except ImportError as error:
        return Behind(reason=f"the window is not known before the package is there: {error}")
    patience = accounts.Patience(PATIENCE_SECONDS, PATIENCE_SECONDS, retries=0)
    try:
        asked = AnthropicModel(name, account=Account(model.url or "", patience=patience, key_name=model.key_env or ""))
    except ConfigError as error:
        return Behind(reason=str(error))
    try:
        tokens, reason = asked.described()
    finally:
        asked.close()
    return Behind(served_tokens=tokens, reason=reason)


def _ollama(url: str, name: str) -> Behind:
    from squidbot.adapters.gguf import read_header  # noqa: PLC0415  # as above
    from squidbot.adapters.ollama.facts import read_facts  # noqa: PLC0415  # as above
    from squidbot.adapters.ollama.wire import Patience, Wire  # noqa: PLC0415

    wire = Wire(url, Patience(PATIENCE_SECONDS, PATIENCE_SECONDS))
    try:
        facts = read_facts(wire, name, whole=wire.is_here)
    except LLMError as error:
        return Behind(reason=str(error))
    if not wire.is_here:
        return Behind(None, facts.native_tokens, reason=f"{wire.url} is another machine, whose memory is not known")
    if facts.header.tensors:
        return Behind(facts.header, facts.native_tokens)
    try:
        return Behind(read_header(facts.path), facts.native_tokens)
    except ModelFileError as error:
        return Behind(None, facts.native_tokens, reason=f"{wire.url} does not tell the tensors of {name}: {error}")
