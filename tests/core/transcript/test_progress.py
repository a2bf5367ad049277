"""How far the entries of a journal tell of a session."""

from __future__ import annotations

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.transcript.bookkeeping import JOURNALED, JournalProgress, note_journaled


def test_session_knows_how_far_it_was_told() -> None:
    """Durably, in its order."""
    store = InMemoryStore()
    assert JOURNALED.state(store, "s") == JournalProgress()
    note_journaled(store, "s", 4, 10.0)
    note_journaled(store, "s", 9, 20.0)
    assert JOURNALED.state(store, "s") == JournalProgress(9, 20.0, 2)
