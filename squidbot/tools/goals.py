"""The tool `goal`: shows and changes the goals of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.core.errors import BudgetError, RecallError
from squidbot.core.transcript.goals import ACTIONS, MOST_CHARS, UNLOCK, same
from squidbot.core.view.marks import harmless
from squidbot.tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.core.transcript.goals import GoalBook, GoalItem, Goals
    from squidbot.tools.session import ToolContext

__all__ = ["GOAL", "change_goal", "goal_lines"]

# Only the user unlocks: a tool's output might make a model do so.
_ACTIONS: Final = (*(action for action in ACTIONS if action != UNLOCK), "show")
# These steer everything that follows, so they need the user's words.
_USERS: Final = {"set": "a goal is set", "lock": "a decision is locked"}
_DONE: Final = {"milestone": " (reached)", "decision": " (locked)"}


def goal_lines(goals: Goals) -> str:
    """Return goals as lines: the active one with its parts, and what holds for the whole session."""
    lines = [f"goal: {goals.active.text}" if goals.active else "no goal is active"]
    kept = (*goals.milestones, *goals.decisions, *goals.architecture, *goals.artifacts, *goals.blockers)
    lines += [_line(item) for item in kept]
    if goals.next_step:
        lines.append(f"next: {goals.next_step}")
    return "\n".join(lines)


def _line(item: GoalItem) -> str:
    return f"{item.kind}{_DONE.get(item.kind, '') if item.done else ''}: {item.text}"


def change_goal(context: ToolContext, action: str, text: str = "", done: bool = False) -> str:  # noqa: FBT001, FBT002  # the tool's argument
    """Apply a change, if any, and return the goals, without the oldest lines if there is no room.

    Setting a goal or locking a decision needs the user's own words: a tool's output may have made the model call.
    """
    book = context.own.goals
    if action in _USERS and len(text) <= MOST_CHARS:
        _check_own(book, action, text)
    goals = book.goals() if action == "show" else book.change(action, text, done=done)
    return harmless(_within(goal_lines(goals), min(context.room), book.count))


def _check_own(book: GoalBook, action: str, text: str) -> None:
    """Check that the words are the user's, if these are known, or those of an earlier goal."""
    goals = book.goals()
    known = [goal.text for goal in (goals.active, *goals.ended) if goal] if action == "set" else []
    if book.own and text.strip() and not book.own(text) and not any(same(goal, text) for goal in known):
        raise RecallError(
            f"{_USERS[action]} only in the user's own words: copy a sentence of theirs, or ask them to write it in a "
            "short message. Nothing was changed"
        )


def _within(text: str, most_tokens: int, count: Callable[[str], int]) -> str:
    """Return the first line of a text and as many of the last ones as fit, with a note on omitted lines."""
    first, *others = text.splitlines()
    shown, every = text, len(others)
    while others and count(shown) > most_tokens:
        others = others[len(others) // 2 + 1 :]
        shown = "\n".join([first, f"[{every - len(others)} lines left out]", *others])
    return shown


def _unlock(_context: ToolContext) -> str:
    raise RecallError("this decision is locked; only the user can unlock it: ask them")


GOAL: Final = Tool(
    "goal",
    "Keeps the goal of this conversation in view. set names the goal (one at a time), lock makes a decision permanent: "
    "both only in the user's words. "
    "Add one line with milestone: a part of the goal (done: true when reached), decide: a decision, "
    "architecture: how the work is built (done: true when outdated), artifact: something made, block: an obstacle "
    "(done: true when over), next: the next step. close ends the goal.",
    {
        "action": {"type": "string", "enum": [*_ACTIONS]},
        "text": {"type": "string", "description": "all but show; close: the goal's text, or none"},
        "done": {"type": "boolean", "description": "milestone: reached; block, architecture: over"},
    },
    {**dict.fromkeys(_ACTIONS, change_goal), UNLOCK: _unlock},
    lambda settings: settings.goals.tool,
    '{"action": "set", "text": "Ship the parser"}',
    refusals=(BudgetError,),
    effect="adds",
)
