"""The system text of a mode, as a line and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.commands.texts import count

if TYPE_CHECKING:
    from squidbot.core.prompts import SystemPrompt

__all__ = ["prompt_json", "prompt_line"]


def prompt_line(prompt: SystemPrompt) -> str:
    """Return what a mode's text costs, part by part, and what did not fit; in tokens as they are counted."""
    parts = ", ".join(f"{part.name} {part.cost.estimate:,}" for part in prompt.parts if part.text)
    left = f"; {count(prompt.left_out, 'paragraph')} left out" if prompt.left_out else ""
    return f"mode {prompt.mode}: {prompt.cost.estimate:,} of at most {prompt.cap_tokens:,} tokens ({parts}){left}"


def prompt_json(prompt: SystemPrompt | None) -> dict[str, object] | None:
    """Return it as values that JSON holds; None for none."""
    if prompt is None:
        return None
    return {
        "mode": prompt.mode,
        "tokens": prompt.cost.estimate,
        "cap": prompt.cap_tokens,
        "parts": {part.name: part.cost.estimate for part in prompt.parts if part.text},
        "left_out": prompt.left_out,
    }
