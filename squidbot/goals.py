"""The Python face of a session's goals: `goals_of(session)`, to read and change them, and the tool's calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core.transcript.goals import Goal, GoalBook, GoalChange, GoalItem, Goals
from squidbot.services.forget import forget_named
from squidbot.tool_goals import answer_goal, goal_tool

if TYPE_CHECKING:
    from squidbot.session import Session

__all__ = [
    "Goal",
    "GoalBook",
    "GoalChange",
    "GoalItem",
    "Goals",
    "answer_goal",
    "forget_goal",
    "goal_tool",
    "goals_of",
]


def goals_of(session: Session) -> GoalBook:
    """Return the goals of a session: `goals()` reads them, `change(action, text)` changes them, durably.

    What it sets stands in the head of requests from the next event on, and is never shortened. `answer_goal(book,
    arguments)` executes a model's call of the tool that `goal_tool(form)` defines.
    """
    return session.goals


def forget_goal(session: Session, text: str, *, reason: str = "") -> int:
    """Take a goal, decision, artifact or the like out for good, wherever calls named it; return how many did.

    White space, case and punctuation at the ends aside. Lines that messages mark go with their messages
    (`Session.forget`). `reason` is kept; it must not repeat the text.

    Raises:
        NotFoundError: no call has named it; nothing was taken out.
        StoreError: nothing was taken out.
    """
    return forget_named(session.wired, session.session_id, text, reason=reason)
