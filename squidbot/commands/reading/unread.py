"""Messages that were not read for facts yet, of one session or of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.errors import SquidbotError
from squidbot.core.memory.learning import MODEL, RULES, Unread
from squidbot.core.transcript.scopes import SCOPE
from squidbot.services.background import study_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.commands.reading.opened import Opened

__all__ = ["Facts", "facts_of"]


class Facts(NamedTuple):
    """Messages that are to be read, in the order of their sessions, and what is wrong with other sessions, by id."""

    unread: list[Unread]
    failed: dict[str, SquidbotError]


def facts_of(place: Opened, session_id: str | None) -> Facts:
    """Return what is to be read of a session, or (None) of all; nothing is written, and no model is asked.

    Raises:
        SquidbotError: there is no such session, or it can't be looked at; the store can't list its sessions.
    """
    found = Facts([], {})
    if not place.wired.remembering.learns:
        return found
    for name in [place.find(session_id)] if session_id else [name for name, _ in place.sessions()]:
        try:
            found.unread.extend(_unread(place, name))
        except SquidbotError as error:
            if session_id:
                raise
            found.failed[name] = error
    return found


def _unread(place: Opened, session_id: str) -> Iterator[Unread]:
    """Yield what each reader has to read of a session; of one that is nobody's, nothing."""
    wired, messages = place.wired, place.length(session_id)
    known = any(one.scope.user for one in SCOPE.state(place.store, session_id))
    if not messages or not (known or wired.loaded.settings.memory.extract is not None):
        return
    # Where nothing is kept yet, no place for it is made.
    is_begun = wired.remembering.kept() is not None
    for reader in _readers(place):
        whole = Unread(session_id, reader, 0, messages - 1)
        one = study_of(wired, session_id).unread(reader) if is_begun else whole
        if one is not None:
            yield one


def _readers(place: Opened) -> tuple[str, ...]:
    memory = place.wired.loaded.settings.memory
    by_model = memory.extract == "model" or (memory.extract is None and memory.llm)
    return (RULES, MODEL) if by_model else (RULES,)
