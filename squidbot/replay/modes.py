"""A recording as it would have been in a mode: with the mode's system text in front of all that was said."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from squidbot.config import load_settings
from squidbot.core.errors import ConfigError
from squidbot.core.prompts.building import build_prompt
from squidbot.core.prompts.modes import OFF
from squidbot.prompting import templates_of
from squidbot.replay.wiring import CODECS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from squidbot.codecs.transcripts import Conversation
    from squidbot.core.prompts.building import SystemPrompt
    from squidbot.replay.wiring import Terms

__all__ = ["in_mode", "prompt_of"]


def prompt_of(mode: str, terms: Terms) -> SystemPrompt | None:
    """Return the system text of a mode in the window of a replay, ours or one of ./squidbot.toml; None for "off".

    Raises:
        ConfigError: there is no such mode, or not in a window of that size; or squidbot.toml can't be read.
        BudgetError: its text does not fit.
    """
    if mode == OFF:
        return None
    templates = templates_of(load_settings())
    if mode not in templates:
        raise ConfigError(f"--mode: unknown mode {mode!r:.60}, known: {', '.join((OFF, *templates))}")
    return build_prompt(templates[mode], terms.lease.window_tokens, terms.meter.physical)


def in_mode(conversations: Iterable[Conversation], prompt: SystemPrompt) -> list[Conversation]:
    """Return conversations with a system text behind those that they begin with; it is no message of the recording."""
    return [_with_text(one, prompt.text) for one in conversations]


def _with_text(conversation: Conversation, text: str) -> Conversation:
    said = conversation.messages
    at = next((place for place, message in enumerate(said) if message.role != "system"), len(said))
    line = conversation.lines[min(at, len(said) - 1)]
    message = CODECS[conversation.codec].to_message({"role": "system", "content": text})
    return replace(
        conversation,
        messages=(*said[:at], message, *said[at:]),
        lines=(*conversation.lines[:at], line, *conversation.lines[at:]),
        sources=(*conversation.sources[:at], -1, *conversation.sources[at:]),
        usages=(*conversation.usages[:at], None, *conversation.usages[at:]),
        unanswered=tuple((place + (place >= at), call) for place, call in conversation.unanswered),
    )
