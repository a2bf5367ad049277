"""The tool `goal` for a host's model: its definition in the host's form, and what executes a call of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.codecs.fields import kind
from squidbot.core.errors import BudgetError, NotFoundError, RecallError
from squidbot.core.transcript.goals import ACTIONS, MOST_CHARS, UNLOCK, same
from squidbot.core.view.marks import harmless, refused
from squidbot.tools import Answer, defined, given, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from squidbot.core.transcript.goals import GoalBook, GoalItem, Goals

__all__ = ["answer_goal", "goal_tool", "told"]

TOOL: Final = "goal"
_SHOW: Final = "show"
# A lock is the user's: what a model could take back at a word of a tool's output would be none.
_MODELS: Final = tuple(action for action in ACTIONS if action != UNLOCK)
# What stands for good, or steers all that follows, is in the user's words.
_USERS: Final = {"set": "a goal is set", "lock": "a decision is locked"}
# Sent with every request, so as short as a model can follow.
_DESCRIPTION: Final = (
    "What this conversation is after; it stays in view whatever else falls out. set names the goal (one at a time), "
    "lock a decision that must stand for good, both only as the user worded them; "
    "milestone a part of the goal (done: true when reached), decide a decision, "
    "architecture how the work is built (done: true when no longer so), artifact what was made, block what is in the "
    "way (done: true when over), next the next step, close ends the goal. One line each."
)
_SCHEMA: Final[dict[str, object]] = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": [*_MODELS, _SHOW]},
        "text": {"type": "string", "description": "all but show; of close the goal's own, or none"},
        "done": {"type": "boolean", "description": "milestone: reached; block, architecture: over"},
    },
    "required": ["action"],
}


def goal_tool(form: str = "openai.chat") -> dict[str, object]:
    """Return the definition of the tool `goal` as a host sends it, in a form that `history_tool` knows.

    Raises:
        ConfigError: no other form is known.
    """
    return defined(TOOL, _DESCRIPTION, _SCHEMA, form)


def answer_goal(book: GoalBook, arguments: Mapping[str, object] | str, most_tokens: int | None = None) -> Answer:
    """Return what a call of the tool answers: the goals as they are then; what was wrong with a call is told.

    `arguments` are as the model wrote them: an object, or its JSON text. Of an answer larger than `most_tokens`, as a
    bound, the oldest lines are left out; None: of none. A goal is set, and a decision locked, only in words that the
    session's user has said himself: what a tool printed may have made the model call.

    Raises:
        StoreError: the store failed; that is no answer for a model.
    """
    try:
        asked = given(arguments, '{"action": "set", "text": "Ship the parser"}')
        action = _action(asked)
        text, done = _text(asked), _done(asked)
        if action in _USERS and len(text) <= MOST_CHARS:
            _check_own(book, action, text)
        goals = book.goals() if action == _SHOW else book.change(action, text, done=done)
        return Answer(harmless(_within(told(goals), most_tokens, book.count)))
    except (RecallError, NotFoundError, BudgetError, ValueError) as error:
        return Answer(refused(error), is_error=True)


def _check_own(book: GoalBook, action: str, text: str) -> None:
    """Check that the words are the user's, where somebody knows these; a goal that was set before has been."""
    goals = book.goals()
    known = [one.text for one in (goals.active, *goals.ended) if one] if action == "set" else []
    if book.own and text.strip() and not book.own(text) and not any(same(one, text) for one in known):
        raise RecallError(
            f"{_USERS[action]} only in words that the user has said himself: take a sentence of his, or a part of one, "
            "as he wrote it, or ask him to say it in a short message of its own; nothing was changed"
        )


def _within(text: str, most_tokens: int | None, count: Callable[[str], int]) -> str:
    """Return the first line of a text and as many of the last ones as fit, with a word on those between."""
    first, *others = text.splitlines()
    shown, every = text, len(others)
    while others and most_tokens is not None and count(shown) > most_tokens:
        others = others[len(others) // 2 + 1 :]
        shown = "\n".join([first, f"[{every - len(others)} lines are left out here]", *others])
    return shown


def told(goals: Goals) -> str:
    """Return goals as lines: the active one, all that belongs to it, and what stands for the whole session."""
    lines = [f"goal: {goals.active.text}" if goals.active else "no goal is active"]
    kept = (*goals.milestones, *goals.decisions, *goals.architecture, *goals.artifacts, *goals.blockers)
    lines += [_line(one) for one in kept]
    if goals.next_step:
        lines.append(f"next: {goals.next_step}")
    return "\n".join(lines)


_DONE: Final = {"milestone": " (reached)", "decision": " (locked)"}


def _line(item: GoalItem) -> str:
    return f"{item.kind}{_DONE.get(item.kind, '') if item.done else ''}: {item.text}"


def _action(asked: Mapping[str, object]) -> str:
    action = asked.get("action")
    if isinstance(action, str) and action in {*_MODELS, _SHOW}:
        return action
    if action == UNLOCK:
        raise RecallError("a locked decision stands for good; only the user takes a lock away: ask for it")
    raise RecallError(f"action is {shown(action)}; it is one of {', '.join((*_MODELS, _SHOW))}")


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
