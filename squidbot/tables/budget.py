"""`[budget]`: how tokens are counted, and the caps of document 001."""

from __future__ import annotations

import attrs

from squidbot.checks import Rule, Size
from squidbot.core.budget import Caps, TrimRule

__all__ = ["Budget"]

RULE = Rule("ladder")


@attrs.frozen
class Budget:
    """`[budget]`: how tokens are counted, the room for the answer, and the caps of document 001 by their own names."""

    counter: str = "auto"
    reserved_output_tokens: Size | None = None
    policy: bool | None = None
    trim_rule: Rule = RULE
    context_budget_mode: str = "words"
    context_memory_max_words: int = 300
    context_summary_max_words: int = 500
    context_history_max_words: int = 2500
    context_total_max_words: int = 4500
    context_min_recent_messages: int = 2
    context_dedupe_summary_against_memory: bool = True

    @property
    def rule(self) -> TrimRule:
        """What gives way where the newest messages pass the caps."""
        return "squidbot-v2" if self.trim_rule == "squidbot-v2" else "ladder"

    @property
    def caps(self) -> Caps:
        """The caps as the core takes them.

        Raises:
            ConfigError: a cap is out of its range.
        """
        return Caps(
            memory=self.context_memory_max_words,
            summary=self.context_summary_max_words,
            history=self.context_history_max_words,
            total=self.context_total_max_words,
            min_recent_messages=self.context_min_recent_messages,
            unit=self.context_budget_mode,  # type: ignore[arg-type]  # Caps refuses what is no unit, in its own words
            dedupe=self.context_dedupe_summary_against_memory,
        )
