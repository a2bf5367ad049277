"""The context windows that a session has had: any process continues in the newest.

If one is smaller than the settings say, because the provider refused more, a record beside it says for which model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.messages import ContextWindow
from squidbot.core.transcript.records import RecordKind, fields

if TYPE_CHECKING:
    from collections.abc import Iterable


class LearnedWindow(NamedTuple):
    """The real window of a provider, in tokens, as a refusal has shown, and the model and window that it is for."""

    learned_for: str
    window_tokens: int


WINDOW = RecordKind("window", fields(ContextWindow), tuple, title="context window")
LEARNED = RecordKind("learned-window", fields(LearnedWindow), tuple, title="learned window")


def learned_tokens(learned: Iterable[LearnedWindow], learned_for: str) -> int | None:
    """Return the smallest learned window for a model and window, in tokens; None if there is none."""
    return min((window.window_tokens for window in learned if window.learned_for == learned_for), default=None)
