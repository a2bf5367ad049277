"""What is kept of an entry: secrets taken out (C29), sizes, and files and errors where they are wanted (J-03)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.errors import StoreError
from squidbot.core.journal.entry import IDS
from squidbot.core.redaction import NAMES, Redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.core.journal.entry import Entry

__all__ = ["MOST_ENTRIES_PER_DAY", "REDACT_PATTERNS", "Rules", "Taken"]

# J-03.
MOST_ENTRIES_PER_DAY: Final = 200
REDACT_PATTERNS: Final = ("api_key", "secret")
# The 1,200 tokens that J-03 gives a summary, at four characters each.
_MOST_SUMMARY_CHARS: Final = 4_800
# Ours: a sentence or a path; more of them than one entry can tell are a log.
_MOST_ITEM_CHARS: Final = 400
_MOST_ITEMS: Final = 50
_MOST_ID_CHARS: Final = 1_024
_WORD: Final = re.compile(r"\w[\w \-]*")


class Taken(NamedTuple):
    """An entry as it is kept.

    Attributes:
        entry: what is left of it.
        cuts: what was cut off for its size, a sentence each, with the numbers.
    """

    entry: Entry
    cuts: tuple[str, ...]


@dataclass(frozen=True)
class Rules:
    """How a journal keeps entries.

    Attributes:
        most_entries_per_day: how many entries a day has at most, in UTC.
        include_files: whether paths of files are kept.
        include_errors: whether errors are kept.
        redact_patterns: what is taken out beside all that `Redactor` knows: a word is the name of a secret, as in
            `word: ...`; all else is a regular expression of the secret itself.
        clock: tells the seconds of CPU that this thread took; `None`: `redact_patterns` have no limit of time.
        slow: told once for each of them that took over a second for one text: it is not used any more.
    """

    most_entries_per_day: int = MOST_ENTRIES_PER_DAY
    include_files: bool = True
    include_errors: bool = True
    redact_patterns: Sequence[str] = REDACT_PATTERNS
    clock: Callable[[], float] | None = field(default=None, compare=False)
    slow: Callable[[str], None] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Read the patterns.

        Raises:
            ConfigError: one is no regular expression, or takes nothing at all for a secret.
        """
        _ = self.redactor

    @cached_property
    def redactor(self) -> Redactor:
        """What takes secrets out."""
        words = [one for one in self.redact_patterns if _WORD.fullmatch(one)]
        others = [one for one in self.redact_patterns if not _WORD.fullmatch(one)]
        return Redactor((*NAMES, *(one for one in words if one not in NAMES)), others, clock=self.clock, slow=self.slow)

    def taken(self, entry: Entry) -> Taken:
        """Return what is kept of an entry. Ids stay as they are: sessions are found by them.

        Secrets go before anything is cut, since half of one would not be known for one.

        Raises:
            StoreError: the entry says nothing, or an id has more than 1,024 characters.
        """
        if not entry.summary.strip():
            raise StoreError("an entry of a journal needs a summary; nothing was written")
        for key in IDS:
            if len(getattr(entry, key)) > _MOST_ID_CHARS:
                raise StoreError(f"{key} of an entry has more than {_MOST_ID_CHARS:,} characters; nothing was written")
        cuts: list[str] = []
        kept = replace(
            entry,
            summary=_shorter(self._clean(entry.summary), _MOST_SUMMARY_CHARS, "summary", cuts),
            agent_id=_joined(entry.agent_id),
            run_id=_joined(entry.run_id),
            source_session=_joined(entry.source_session),
            decisions=self._items("decisions", entry.decisions, cuts),
            progress=self._items("progress", entry.progress, cuts),
            open_questions=self._items("open_questions", entry.open_questions, cuts),
            files_touched=self._items("files_touched", entry.files_touched if self.include_files else (), cuts),
            errors=self._items("errors", entry.errors if self.include_errors else (), cuts),
            tags=self._items("tags", entry.tags, cuts),
        )
        return Taken(kept, tuple(cuts))

    def _items(self, key: str, items: Sequence[str], cuts: list[str]) -> tuple[str, ...]:
        if len(items) > _MOST_ITEMS:
            cuts.append(f"{key}: {_MOST_ITEMS} of {len(items):,} are kept")
        return tuple(_shorter(self._clean(one), _MOST_ITEM_CHARS, key, cuts) for one in items[:_MOST_ITEMS])

    def _clean(self, text: str) -> str:
        return self.redactor.redacted(_joined(text))


def _joined(text: str) -> str:
    """Return a text in which the halves of a character that stand side by side are that character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _shorter(text: str, most_chars: int, what: str, cuts: list[str]) -> str:
    if len(text) <= most_chars:
        return text
    cuts.append(f"{what}: {most_chars:,} of {len(text):,} characters are kept")
    return f"{text[: most_chars - 1]}…"
