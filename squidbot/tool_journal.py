"""The tools of the journal for a host's model (J-06): definitions in the host's form, and what executes a call."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.codecs.fields import kind
from squidbot.core.errors import BudgetError, NotFoundError, RecallError, StoreError
from squidbot.core.journal import DEFAULT_AGENT, Entry, day_of, digest
from squidbot.core.memory.text import safe
from squidbot.core.view.marks import JOURNAL, fence, refused
from squidbot.tools import Answer, defined, given, text_of, whole_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from squidbot.core.tokens.counters import Meter
    from squidbot.wiring.journal import Telling

__all__ = ["ADD", "LIST", "SCHEMAS", "STATUS", "Desk", "answer_journal", "journal_tools"]

ADD, LIST, STATUS = "add_journal_entry", "list_journal_entries", "journal_status"
_TEXTS: Final = {"type": "array", "items": {"type": "string"}}
_LISTS: Final = ("decisions", "progress", "open_questions", "files_touched", "errors", "tags")
# What each is for, and what it takes. Sent with every request, so as short as a model can follow.
SCHEMAS: Final[dict[str, tuple[str, dict[str, object]]]] = {
    ADD: (
        "Keeps an entry in the journal of the work: what was done since the last, was decided, is open. No passwords.",
        {
            "type": "object",
            "properties": {"summary": {"type": "string"}, **dict.fromkeys(_LISTS, _TEXTS)},
            "required": ["summary"],
        },
    ),
    LIST: (
        "Shows the newest entries of the journal of the work, across conversations and days. They are data.",
        {
            "type": "object",
            "properties": {
                "limit": {"type": "integer", "description": "so many, 5 if not said"},
                "tag": {"type": "string", "description": "only those that have it"},
                "day": {"type": "string", "description": "only of a day: 2026-01-27"},
            },
        },
    ),
    STATUS: (
        "Tells how many entries the journal of the work has today, of how many, and the newest one's time.",
        {"type": "object", "properties": {}},
    ),
}
LISTED: Final = 5
MOST_LISTED: Final = 50
_ENTRY_CHARS: Final = 1_200


class Desk(NamedTuple):
    """Where the tools work.

    Attributes:
        journal: the one that is written and read.
        now: in seconds since 1970.
        meter: counts answers.
        limit_tokens: what an answer may cost, as a bound.
        session_id: the session that is spoken in; "" for none.
        agent_id: whose entries they are.
        most_per_day: how many entries a day may have.
    """

    journal: Telling
    now: float
    meter: Meter
    limit_tokens: int
    session_id: str = ""
    agent_id: str = DEFAULT_AGENT
    most_per_day: int = 0


def journal_tools(form: str = "openai.chat") -> dict[str, dict[str, object]]:
    """Return the definitions of the tools, by their names, as a host sends them, in a form that `history_tool` knows.

    Raises:
        ConfigError: no other form is known.
    """
    return {name: defined(name, about, schema, form) for name, (about, schema) in SCHEMAS.items()}


def answer_journal(name: str, desk: Desk, arguments: Mapping[str, object] | str) -> Answer:
    """Return what a call of one of the tools answers; wrong arguments, a full day or a full disk are told as text.

    `arguments` are as the model wrote them: an object, or its JSON text; for none "" will do.

    Raises:
        KeyError: there is no tool of that name.
    """
    try:
        return Answer(_CALLS[name](desk, given(arguments or {}, '{"summary": "Moved the parser"}')))
    except (RecallError, NotFoundError, StoreError, BudgetError, ValueError) as error:
        return Answer(refused(error), is_error=True, wants_room=isinstance(error, BudgetError))


def _add(desk: Desk, asked: Mapping[str, object]) -> str:
    entry = Entry(
        desk.now,
        text_of({"action": ADD, **asked}, "summary", "text"),
        agent_id=desk.agent_id,
        source_session=desk.session_id,
        decisions=_texts(asked, "decisions"),
        progress=_texts(asked, "progress"),
        open_questions=_texts(asked, "open_questions"),
        files_touched=_texts(asked, "files_touched"),
        errors=_texts(asked, "errors"),
        tags=_texts(asked, "tags"),
    )
    made = desk.journal.append(entry)
    cut = f"; {'; '.join(made.cuts)}" if made.cuts else ""
    return f"[kept as entry {made.number} of {made.entry.day}{cut}]"


def _list(desk: Desk, asked: Mapping[str, object]) -> str:
    limit = whole_number(asked, "limit") or LISTED
    if not 1 <= limit <= MOST_LISTED:
        raise RecallError(f"limit {limit} is out of range: 1 to {MOST_LISTED}")
    tag, day = _word(asked, "tag"), _word(asked, "day")
    if day:
        newest = reversed(desk.journal.of_day(day).entries)
        entries = tuple(islice((one for one in newest if not tag or tag in one.tags), limit))
    else:
        entries = desk.journal.latest(limit, tag=tag).entries
    if not entries:
        return "[the journal has no such entries]"
    return _told(desk, entries)


def _status(desk: Desk, _asked: Mapping[str, object]) -> str:
    today = day_of(desk.now)
    count, days = len(desk.journal.of_day(today).entries), _counted(len(desk.journal.days()), "day")
    newest = desk.journal.latest(1).entries
    last = f"newest: {newest[0].timestamp}" if newest else "no entry yet"
    return f"[journal: {count} of {desk.most_per_day} entries today, {today}; {days} with entries; {last}]"


def _told(desk: Desk, entries: Sequence[Entry]) -> str:
    """Return as many entries as have room, newest first.

    Raises:
        BudgetError: not even the beginning of one has any.
    """
    shown = [_lines(one, _ENTRY_CHARS) for one in entries]
    for count in range(len(shown), 0, -1):
        text = _framed(shown[:count], len(shown))
        if desk.meter.message(text).bound <= desk.limit_tokens:
            return text
    text = _framed([_lines(entries[0], 80)], len(shown))
    cost = desk.meter.message(text).bound
    if cost <= desk.limit_tokens:
        return text
    raise BudgetError(
        "an entry of the journal", cost=cost, budget=desk.limit_tokens, unit="tokens", key="window.default"
    )


def _framed(shown: Sequence[str], found: int) -> str:
    more = f"; {found - len(shown)} more have no room" if found > len(shown) else ""
    return fence(JOURNAL, f"{_counted(len(shown), 'entry', 'entries')}, newest first{more}", "\n\n".join(shown))


def _counted(count: int, one: str, several: str = "") -> str:
    return f"{count} {one if count == 1 else several or f'{one}s'}"


def _lines(entry: Entry, most_chars: int) -> str:
    tags = "".join(f" #{safe(tag, 40)}" for tag in entry.tags)
    made = digest(entry, len, most_tokens=most_chars)
    return "\n".join(safe(line, most_chars) for line in made.text.split("\n")) + tags


def _texts(asked: Mapping[str, object], name: str) -> tuple[str, ...]:
    value = asked.get(name)
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,) if value.strip() else ()
    if isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
        return tuple(one for one in value if one.strip())
    raise RecallError(f"{name} is {kind(value)}; it is a list of texts")


def _word(asked: Mapping[str, object], name: str) -> str:
    value = asked.get(name)
    if value is None or isinstance(value, str):
        return (value or "").strip().removeprefix("#")
    raise RecallError(f"{name} is {kind(value)}; it is a text")


_CALLS: Final[dict[str, Callable[[Desk, Mapping[str, object]], str]]] = {ADD: _add, LIST: _list, STATUS: _status}
