"""What the journal tells where a session begins, and where it goes on after a pause (J-04, C18)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core.goals.records import GOAL, goals_of
from squidbot.core.journal.digest import digest
from squidbot.core.markers import KIND as MARKED
from squidbot.core.markers import Markers
from squidbot.core.memory.telling import safe
from squidbot.core.plan import JOURNAL
from squidbot.core.scopes import scopes_of
from squidbot.core.view.renderer import fenced

if TYPE_CHECKING:
    from squidbot.bootstrap import Wired
    from squidbot.core.counting.meter import Meter
    from squidbot.core.journal.entry import Entry
    from squidbot.core.memories import Scope

__all__ = ["digest_of"]

# No line of an entry is longer.
LINE_CHARS = 10_000


def digest_of(wired: Wired, scope: Scope, session_id: str, meter: Meter, limit_tokens: int) -> tuple[str, str]:
    """Return the newest entry of a scope's journal with the goals of its session, as lines, and its id; "" for nothing.

    It costs at most `journal.summary_token_budget` tokens in a head, and no more than `limit_tokens`, as a bound. A
    session's own goals stand in its head already.

    Raises:
        ConfigError: a pattern of the journal is none.
        StoreError: the disk or the store failed.
    """
    entry = wired.journals.newest(scope)
    if entry is None:
        return "", ""
    goals = _goals(wired, scope, entry) if entry.source_session not in {"", session_id} else []
    most_tokens = min(wired.loaded.settings.journal.summary_token_budget, limit_tokens)
    made = digest(
        entry,
        lambda text: meter.message(fenced(JOURNAL, _safe(text))).bound,
        goals=goals,
        most_tokens=most_tokens,
    )
    return _safe(made.text), entry.entry_id


def _safe(text: str) -> str:
    """Return lines without marks that only squidbot writes."""
    return "\n".join(safe(line, LINE_CHARS) for line in text.split("\n"))


def _goals(wired: Wired, scope: Scope, entry: Entry) -> list[str]:
    """Return what the session of an entry is after, without secrets; nothing where others speak in it, too."""
    store, journals = wired.store, wired.journals
    if any(journals.place(one.scope) != journals.place(scope) for one in scopes_of(store, entry.source_session)):
        return []
    said = Markers.of(store.records(entry.source_session, MARKED)).said
    goals = goals_of(store.records(entry.source_session, GOAL), said)
    if goals.active is None:
        return []
    open_ones = [f"milestone: {one.text}" for one in goals.milestones if not one.done]
    following = [f"next: {goals.next_step}"] if goals.next_step else []
    return [journals.redacted(one) for one in (goals.active.text, *open_ones, *following)]
