"""The tool `goal` for a host's model: its definition in the host's form, and what executes a call of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.codecs.fields import kind
from squidbot.core.errors import BudgetError, NotFoundError, RecallError
from squidbot.core.goals.values import ACTIONS
from squidbot.tools import Answer, defined, given, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from squidbot.core.goals.book import GoalBook
    from squidbot.core.goals.values import Goals, Item

__all__ = ["answer_goal", "goal_tool", "told"]

TOOL: Final = "goal"
_SHOW: Final = "show"
# Sent with every request, so as short as a model can follow.
_DESCRIPTION: Final = (
    "What this conversation is after; it stays in view whatever else falls out. set names the goal (one at a time), "
    "milestone a part of it (done: true when reached), decide a decision, lock one that must stand for good, artifact "
    "what was made, block what is in the way (done: true when over), next the next step, close ends the goal. One line "
    "each."
)
_SCHEMA: Final[dict[str, object]] = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": [*ACTIONS, _SHOW]},
        "text": {"type": "string", "description": "all but show; of close the goal's own, or none"},
        "done": {"type": "boolean", "description": "milestone: reached; block: over"},
    },
    "required": ["action"],
}


def goal_tool(form: str = "openai.chat") -> dict[str, object]:
    """Return the definition of the tool `goal` as a host sends it, in a form that `history_tool` knows.

    Raises:
        ConfigError: no other form is known.
    """
    return defined(TOOL, _DESCRIPTION, _SCHEMA, form)


def answer_goal(book: GoalBook, arguments: Mapping[str, object] | str) -> Answer:
    """Return what a call of the tool answers: the goals as they are then; what was wrong with a call is told.

    `arguments` are as the model wrote them: an object, or its JSON text.

    Raises:
        StoreError: the store failed; that is no answer for a model.
    """
    try:
        asked = given(arguments, '{"action": "set", "text": "Ship the parser"}')
        action = _action(asked)
        if action == _SHOW:
            return Answer(told(book.goals()))
        return Answer(told(book.change(action, _text(asked), done=_done(asked))))
    except (RecallError, NotFoundError, BudgetError, ValueError) as error:
        return Answer(f"<squidbot refused: {' '.join(str(error).split())}>", is_error=True)


def told(goals: Goals) -> str:
    """Return goals as lines: the active one, all that belongs to it, and decisions that stand."""
    lines = [f"goal: {goals.active.text}" if goals.active else "no goal is active"]
    lines += [_line(one) for one in (*goals.milestones, *goals.decisions, *goals.artifacts, *goals.blockers)]
    if goals.next_step:
        lines.append(f"next: {goals.next_step}")
    return "\n".join(lines)


_DONE: Final = {"milestone": " (reached)", "decision": " (locked)"}


def _line(item: Item) -> str:
    return f"{item.kind}{_DONE.get(item.kind, '') if item.done else ''}: {item.text}"


def _action(asked: Mapping[str, object]) -> str:
    action = asked.get("action")
    if isinstance(action, str) and (action in ACTIONS or action == _SHOW):
        return action
    raise RecallError(f"action is {shown(action)}; it is one of {', '.join((*ACTIONS, _SHOW))}")


def _text(asked: Mapping[str, object]) -> str:
    value = asked.get("text")
    if value is None or isinstance(value, str):
        return value or ""
    raise RecallError(f"text is {kind(value)}; it is a text")


def _done(asked: Mapping[str, object]) -> bool:
    value = asked.get("done")
    if value is None or isinstance(value, bool):
        return bool(value)
    if value in ("true", "false"):
        return value == "true"
    raise RecallError(f"done is {kind(value)}; it is true or false")
