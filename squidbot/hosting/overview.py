"""What can be told of a conversation at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.core.errors import BudgetError
from squidbot.core.history.pages import body_of, speaker
from squidbot.core.history.when import stamp
from squidbot.core.messages import BEHIND_SCENES, Kind
from squidbot.core.notes.quotes import clip, one_line
from squidbot.core.view.marks import fence

if TYPE_CHECKING:
    from squidbot.core.messages import StoredMessage
    from squidbot.core.ports import TranscriptStore
    from squidbot.core.view.standing import Shelf
    from squidbot.sessions import Session

__all__ = ["overview", "told_of"]

# How many of the newest messages are quoted, and how much of each.
NEWEST: Final = 6
QUOTED_CHARS: Final = 300
# About as many characters of English as a token has.
TOKEN_CHARS: Final = 4


def told_of(store: TranscriptStore, session_id: str, messages: int) -> str:
    """Return how long a conversation is and when it was held, as one phrase."""
    ends = store.pick(session_id, {0, messages - 1}) if messages else []
    times = [stamp(row.time) for row in ends]
    held = f", {times[0]} to {times[-1]} UTC" if times and all(times) else ""
    return f"{messages:,} message{'s' * (messages != 1)}{held}"


def overview(shelf: Shelf, session: Session, most_tokens: int) -> str:
    """Return how a conversation began, its notes as its next request has them, and what was said last.

    Notes are cut to about `most_tokens`, the oldest first. Of the newest messages system text, context and what tools
    put out are counted only, unless `ui.show_context_messages` is set (P-05).

    Raises:
        StoreError: the store failed.
    """
    messages = shelf.transcripts.head(shelf.session_id)[0]
    first = max(1, messages - NEWEST)
    everything = session.wired.loaded.settings.ui.show_context_messages
    lines = [_quoted(row, shelf) for row in shelf.read(0, 0)]
    notes = "\n".join(_notes(session))[-most_tokens * TOKEN_CHARS :]
    lines += [f"notes:\n{notes}"] if notes else []
    lines += [f"[{first - 1:,} messages between]"] if first > 1 else []
    newest = shelf.read(first, messages - 1) if messages > 1 else []
    shown = [row for row in newest if everything or row.category not in BEHIND_SCENES]
    lines += [_quoted(row, shelf) for row in shown]
    hidden = len(newest) - len(shown)
    lines += [f"[{hidden} of these are system text, context or tool output, not shown]"] if hidden else []
    about = f"{told_of(shelf.transcripts, shelf.session_id, messages)}"
    return fence("conversation", about, "\n".join(lines))


def _notes(session: Session) -> list[str]:
    try:
        standing = session.core.room().standing
    except BudgetError:
        return []
    return [part.text for part in standing.sent if part.kind is Kind.SUMMARY and part.text]


def _quoted(row: StoredMessage, shelf: Shelf) -> str:
    return f"m{row.seq} {speaker(row)}: {clip(one_line(body_of(row, shelf.renderer)), QUOTED_CHARS)}"
