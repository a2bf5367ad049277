"""One entry of a journal, and the line of JSON that it is in a file (J-01)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from squidbot.core.errors import DamagedStoreError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["IDS", "LISTS", "MOST_TIME", "Entry", "day_of", "from_line", "is_entry", "to_line", "valid_day"]

# The lists of an entry, by their keys in a line. `errors` is ours: J-03 asks for them, and J-01 has no place for them.
LISTS: Final = ("decisions", "progress", "open_questions", "files_touched", "errors", "tags")
# As document 003 has it.
DEFAULT_AGENT: Final = "default"
IDS: Final = ("agent_id", "run_id", "source_session")
# The last second of the year 9999, in seconds since 1970: later times have no date.
MOST_TIME: Final = 253_402_300_799
_ENTRY_ID: Final = re.compile("j-[0-9a-f]{16}")
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
# Lone surrogates have no UTF-8, and some readers take the others for ends of lines.
_ESCAPED: Final = re.compile("[\ud800-\udfff\u2028\u2029\x85\x7f]")


@dataclass(frozen=True, slots=True)
class Entry:
    """What was done in a stretch of work.

    Attributes:
        time: when it was made, in seconds since 1970 (UTC), whole ones are kept; it belongs to that day.
        summary: what was done, in words.
        agent_id: whose entry it is.
        run_id: the run that it was made in; "" where there is none.
        source_session: the session that it tells of; "" where there is none.
        decisions, progress, open_questions: a sentence each.
        files_touched: paths.
        errors: what failed, a sentence each.
        tags: words to find it by.
        total_tokens: what the session had used by then; None where nobody knows.
    """

    time: float
    summary: str
    agent_id: str = DEFAULT_AGENT
    run_id: str = ""
    source_session: str = ""
    decisions: tuple[str, ...] = ()
    progress: tuple[str, ...] = ()
    open_questions: tuple[str, ...] = ()
    files_touched: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    total_tokens: int | None = None

    def __post_init__(self) -> None:
        """Check what was given, since what no reader takes for an entry would be lost; parts of a second are dropped.

        Raises:
            ValueError: the time has no date, a text is none, a list is none of texts, or the tokens are no number of
                them; the text says which.
        """
        if not _is_number(self.time) or not 0 <= self.time <= MOST_TIME:
            raise ValueError(f"time {self.time!r:.40} of an entry: seconds since 1970, until the year 9999, are wanted")
        object.__setattr__(self, "time", int(self.time))
        for key in ("summary", *IDS):
            if not isinstance(getattr(self, key), str):
                raise ValueError(f"{key} of an entry is no text")  # noqa: TRY004  # one error for what is given wrong
        for key in LISTS:
            object.__setattr__(self, key, _given(key, getattr(self, key)))
        tokens: object = self.total_tokens
        if tokens is not None and not _is_tokens(tokens):
            raise ValueError(f"total_tokens {tokens!r:.40} of an entry: a whole number from 0, or None, is wanted")

    @property
    def timestamp(self) -> str:
        """The time as J-01 writes it: "2026-01-27T12:34:56Z"."""
        return f"{datetime.fromtimestamp(self.time, UTC).replace(tzinfo=None).isoformat()}Z"

    @property
    def entry_id(self) -> str:
        """What it is known by where it was told: whose it is, of which session, and when; none of its words."""
        told = json.dumps([self.agent_id, self.run_id, self.source_session, self.time])
        return f"j-{blake2b(told.encode(), digest_size=8).hexdigest()}"

    @property
    def day(self) -> str:
        """The day it belongs to, in UTC: "2026-01-27"."""
        return day_of(self.time)


def is_entry(told: str) -> bool:
    """Return whether an id is an entry's (`Entry.entry_id`), and not that of a fact."""
    return _ENTRY_ID.fullmatch(told) is not None


def _given(key: str, value: object) -> tuple[str, ...]:
    """Return a list as it is kept.

    Raises:
        ValueError: it is none of texts; a text alone is none, too.
    """
    if isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise ValueError(f"{key} of an entry is no list of texts")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_tokens(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def day_of(time: float) -> str:
    """Return the day of a time in seconds since 1970, in UTC: "2026-01-27"."""
    return datetime.fromtimestamp(time, UTC).date().isoformat()


def valid_day(text: str) -> str:
    """Return a day as it was given.

    Raises:
        NotFoundError: it is none of the calendar, or not written as 2026-01-27.
    """
    try:
        if _DAY.fullmatch(text):
            return date.fromisoformat(text).isoformat()
    except ValueError:
        pass  # the thirtieth of February
    raise NotFoundError(f"{text!a:.40} is no day; write it as 2026-01-27")


def to_line(entry: Entry) -> str:
    """Return an entry as one line of JSON, without its end; errors and tokens only where there are any."""
    lists = {key: list(getattr(entry, key)) for key in LISTS if key != "errors" or entry.errors}
    tags = lists.pop("tags")
    value: dict[str, object] = {
        "timestamp": entry.timestamp,
        "agent_id": entry.agent_id,
        "run_id": entry.run_id,
        "summary": entry.summary,
        **lists,
        "tags": tags,
        "source_session": entry.source_session,
    }
    if entry.total_tokens is not None:
        value["token_usage"] = {"total": entry.total_tokens}
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def from_line(line: str) -> Entry:
    """Return the entry of a line; what it does not say is as the defaults are, and keys nobody knows are passed over.

    A lone surrogate beside its other half comes back as the character that they make.

    Raises:
        DamagedStoreError: it is no JSON object, has no time or no summary, or a value is not of its kind.
    """
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DamagedStoreError("no entry of a journal: no JSON, or cut off") from error
    if not isinstance(found, dict):
        raise DamagedStoreError("no entry of a journal: no JSON object")
    return Entry(
        _time(found),
        _text(found, "summary"),
        _text(found, "agent_id", DEFAULT_AGENT),
        _text(found, "run_id", ""),
        _text(found, "source_session", ""),
        decisions=_texts(found, "decisions"),
        progress=_texts(found, "progress"),
        open_questions=_texts(found, "open_questions"),
        files_touched=_texts(found, "files_touched"),
        errors=_texts(found, "errors"),
        tags=_texts(found, "tags"),
        total_tokens=_tokens(found),
    )


def _time(found: Mapping[str, object]) -> int:
    """Return the time of an entry in seconds since 1970; one that names no zone is taken for UTC."""
    text = _text(found, "timestamp")
    try:
        stamp = datetime.fromisoformat(text)
        time = int((stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError) as error:
        raise DamagedStoreError(f"no entry of a journal: timestamp {text!a:.40} is no time") from error
    if not 0 <= time <= MOST_TIME:
        raise DamagedStoreError(f"no entry of a journal: timestamp {text!a:.40} is not in the years 1970 to 9999")
    return time


def _text(found: Mapping[str, object], key: str, unsaid: str | None = None) -> str:
    value = found.get(key, unsaid)
    if isinstance(value, str):
        return value
    raise DamagedStoreError(f"no entry of a journal: {key} is no text" if key in found else f"no entry: no {key}")


def _texts(found: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = found.get(key, [])
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise DamagedStoreError(f"no entry of a journal: {key} is no list of texts")


def _tokens(found: Mapping[str, object]) -> int | None:
    usage = found.get("token_usage")
    total = usage.get("total") if isinstance(usage, dict) else usage
    if total is None:
        return None
    if isinstance(total, int) and _is_tokens(total):
        return total
    raise DamagedStoreError("no entry of a journal: token_usage.total is no number of tokens")
