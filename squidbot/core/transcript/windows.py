"""The context windows that a session has had: any process can go on in the newest.

Where one is smaller than settings say, because the provider refused more, a record beside it says for what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.messages import ContextWindow
from squidbot.core.transcript.records import RecordKind, fields

if TYPE_CHECKING:
    from collections.abc import Iterable


class LearnedWindow(NamedTuple):
    """The window that a provider really has, as a refusal has shown: for which model and window, in tokens."""

    learned_for: str
    window_tokens: int


WINDOW = RecordKind("window", fields(ContextWindow), tuple, title="context window")
LEARNED = RecordKind("learned-window", fields(LearnedWindow), tuple, title="learned window")


def learned_tokens(learned: Iterable[LearnedWindow], learned_for: str) -> int | None:
    """Return the smallest window of these for what is named, in tokens; None where there is none."""
    return min((one.window_tokens for one in learned if one.learned_for == learned_for), default=None)
