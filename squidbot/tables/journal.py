"""`[journal]`: entries of what was done, by day."""

from __future__ import annotations

import attrs

from squidbot.checks import Minutes, Patterns, Place, Size, Whole
from squidbot.core.journal import DIGEST_TOKENS, MOST_ENTRIES_PER_DAY, REDACT_PATTERNS, Rules

__all__ = ["Journal"]

# J-03.
JOURNAL_TOKENS = Size(DIGEST_TOKENS)
JOURNAL_FOLDER = Place("notes/journal")
JOURNAL_MINUTES = Minutes(20)
JOURNAL_MOST, JOURNAL_PATTERNS = Whole(MOST_ENTRIES_PER_DAY), Patterns(REDACT_PATTERNS)


@attrs.frozen
class Journal:
    """`[journal]`: whether it is kept, where its files are, and what is kept of an entry."""

    enabled: bool = False
    interval_minutes: Minutes = JOURNAL_MINUTES
    llm: str | None = None
    inject_latest_on_start: bool = True
    summary_token_budget: Size = JOURNAL_TOKENS
    folder: Place = JOURNAL_FOLDER
    max_entries_per_day: Whole = JOURNAL_MOST
    include_files: bool = True
    include_errors: bool = True
    redact_patterns: Patterns = JOURNAL_PATTERNS

    @property
    def rules(self) -> Rules:
        """The same as the core takes it.

        Raises:
            ConfigError: a pattern is none.
        """
        return Rules(self.max_entries_per_day, self.include_files, self.include_errors, self.redact_patterns)
