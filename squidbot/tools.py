"""The tool `history` for a host's model: its definition in the host's form, and what executes a call of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from squidbot.codecs import jsontext
from squidbot.codecs.fields import kind
from squidbot.core.errors import BudgetError, ConfigError, RecallError
from squidbot.core.view.marks import TOOL, refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.core.recall.history import History, Hits, Page

__all__ = ["Answer", "answer", "defined", "given", "history_tool", "shown", "text_of", "whole_number"]

# Sent with every request, so as short as a model can follow.
_DESCRIPTION: Final = (
    "This conversation's past. All of it is stored, though not all is in view. Where a note, a pointer or a cut output "
    "says `recall ID`, recall brings back the words as they were said. search finds messages by words, names and "
    '"quoted phrases". expand opens the next page where one ends with `expand ID offset N`.'
)
_SCHEMA: Final[dict[str, object]] = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": ["search", "recall", "expand"]},
        "id": {"type": "string", "description": "recall, expand: such as s12-80.ab12, m17 or m17-m40"},
        "query": {"type": "string", "description": "search: what to look for"},
        "offset": {"type": "integer", "description": "where the page begins, as the one before says"},
    },
    "required": ["action"],
}
_DIGITS: Final = re.compile(r"\s*[0-9]{1,18}\s*\Z")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call of the tool answers: the text of its result, and whether that says what was wrong with the call.

    `wants_room`: nothing was, but that the next request has no room for the smallest answer.
    """

    text: str
    is_error: bool = False
    wants_room: bool = False


def history_tool(form: str = "openai.chat") -> Any:  # noqa: ANN401  # as any SDK types it
    """Return the definition of the tool `history` as a host sends it, in the form that its messages have.

    These are "openai.chat", "anthropic.messages", "openai.responses".

    Raises:
        ConfigError: no other form is known.
    """
    return defined(TOOL, _DESCRIPTION, _SCHEMA, form)


def defined(name: str, description: str, schema: Mapping[str, object], form: str) -> dict[str, object]:
    """Return a tool's definition in a host's form.

    Raises:
        ConfigError: the form is not known.
    """
    if form == "openai.chat":
        return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}
    if form == "anthropic.messages":
        return {"name": name, "description": description, "input_schema": schema}
    if form == "openai.responses":
        return {"type": "function", "name": name, "description": description, "parameters": schema, "strict": False}
    raise ConfigError(f"unknown form of tools {form!r}, known: openai.chat, anthropic.messages, openai.responses")


def answer(history: History, arguments: Mapping[str, object] | str, now: float | None) -> Answer:
    """Return what a call of the tool answers; wrong arguments, and a page for which there is no room, are told as text.

    `arguments` are as the model wrote them: an object, or its JSON text. `now` is in seconds since 1970.

    Raises:
        StoreError: the store failed; that is no answer for a model.
    """
    try:
        asked = given(arguments, '{"action": "recall", "id": "m17"}')
        made = _ACTIONS[_action(asked)](history, asked, now)
        history.hand_out(made.cost)
        return Answer(made.text)
    except (RecallError, BudgetError) as error:
        return Answer(refused(error), is_error=True, wants_room=isinstance(error, BudgetError))


def _search(history: History, asked: Mapping[str, object], now: float | None) -> Hits:
    return history.search(text_of(asked, "query"), offset=whole_number(asked, "offset"), now=now)


def _expand(history: History, asked: Mapping[str, object], now: float | None) -> Page:
    return history.expand(text_of(asked, "id", "summary_id", "handle"), whole_number(asked, "offset"), now=now)


_ACTIONS: Final[dict[str, Callable[[History, Mapping[str, object], float | None], Hits | Page]]] = {
    "search": _search,
    "recall": _expand,
    "expand": _expand,
}


def given(arguments: Mapping[str, object] | str, example: str) -> Mapping[str, object]:
    """Return the arguments of a call as an object.

    Raises:
        RecallError: they are none; the text shows `example`.
    """
    value: object = arguments
    if isinstance(arguments, str):
        try:
            value = jsontext.parse(arguments)
        except jsontext.JsonTextError as error:
            raise RecallError(f"the arguments are not JSON: {error}") from error
    if not isinstance(value, Mapping):
        raise RecallError(f"the arguments are no object; write for example {example}")
    return value


def _action(asked: Mapping[str, object]) -> str:
    action = asked.get("action")
    if isinstance(action, str) and action in _ACTIONS:
        return action
    raise RecallError(f"action is {shown(action)}; it is one of {', '.join(_ACTIONS)}")


def text_of(asked: Mapping[str, object], *names: str) -> str:
    """Return the text of an argument, under the first of its names that is given.

    Raises:
        RecallError: it is missing, empty, or no text.
    """
    value = next((asked[name] for name in names if asked.get(name) is not None), None)
    if isinstance(value, str) and value.strip():
        return value
    raise RecallError(f"{names[0]} is {shown(value)}; {asked['action']} needs it as a text")


def whole_number(asked: Mapping[str, object], name: str) -> int:
    """Return a number; 0 where it is not given.

    Raises:
        RecallError: it is no whole number.
    """
    value = asked.get(name)
    if value is None:
        return 0
    if isinstance(value, str) and _DIGITS.match(value):
        return int(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and -1e18 < value == value // 1 < 1e18:
        return int(value)
    raise RecallError(f"{name} is {shown(value)}; it is a whole number, as the page before says")


def shown(value: object) -> str:
    """Return a value of a call as a message shows it."""
    return f"{value!a:.60}" if isinstance(value, str) else kind(value)
