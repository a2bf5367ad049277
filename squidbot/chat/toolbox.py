"""The tools that a model has in a conversation, and what its calls of them answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.codecs.fields import adopted
from squidbot.core.messages import Outcome, Portable, Words
from squidbot.core.view.marks import refused
from squidbot.tools import Answer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from squidbot.core.messages import ToolCall
    from squidbot.core.ports import Codec
    from squidbot.session import Session

__all__ = ["ENOUGH", "HISTORY", "NOT_RUN", "answer_call", "names_of", "results"]

HISTORY: Final = "history"
ENOUGH: Final = Answer("<squidbot refused: no more calls in this turn; answer with what you have>", is_error=True)
NOT_RUN: Final = Answer("<squidbot: this call was not made, the conversation was ended before it>", is_error=True)


def names_of(tools: Iterable[Mapping[str, object]]) -> list[str]:
    """Return what tools are called, as they are defined in any form: beside the schema, or within."""
    inner = (tool.get("function", tool) for tool in tools)
    return [str(one["name"]) for one in inner if isinstance(one, dict) and "name" in one]


def answer_call(session: Session, call: ToolCall, known: Sequence[str]) -> Answer:
    """Return what a call answers; what is wrong with it is told as text.

    Raises:
        StoreError: the store failed.
    """
    if call.name not in known:
        why = f"there is no tool {call.name[:60]!a}; there are {', '.join(known)}"
        return Answer(refused(why), is_error=True)
    return session.call(call.name, call.arguments)


def results(codec: Codec, answers: Sequence[tuple[str, Answer]]) -> list[dict[str, object]]:
    """Return the answers to the calls of one step, by their ids, as messages of a form."""
    told = tuple(Outcome(call_id, (Words(answer.text),), answer.is_error) for call_id, answer in answers)
    return adopted(codec, Portable("tool", told))
