"""The tool `history` for a host's model: its definition in the host's form, and what executes a call of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from squidbot.codecs import jsontext
from squidbot.codecs.fields import kind
from squidbot.core.errors import BudgetError, ConfigError, RecallError
from squidbot.core.view.marks import TOOL

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.core.history.hits import Hits
    from squidbot.core.history.pages import Page
    from squidbot.core.history.recall import History

__all__ = ["Answer", "answer", "history_tool"]

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
    """What a call of the tool answers: the text of its result, and whether that says what was wrong with the call."""

    text: str
    is_error: bool = False


def history_tool(form: str = "openai.chat") -> dict[str, object]:
    """Return the definition of the tool `history` as a host sends it: in the form "openai.chat", "anthropic.messages".

    Raises:
        ConfigError: no other form is known.
    """
    if form == "openai.chat":
        described = {"name": TOOL, "description": _DESCRIPTION, "parameters": _SCHEMA}
        return {"type": "function", "function": described}
    if form == "anthropic.messages":
        return {"name": TOOL, "description": _DESCRIPTION, "input_schema": _SCHEMA}
    raise ConfigError(f"unknown form of tools {form!r}, known: openai.chat, anthropic.messages")


def answer(history: History, arguments: Mapping[str, object] | str, now: float | None) -> Answer:
    """Return what a call of the tool answers; wrong arguments, and a page for which there is no room, are told as text.

    `arguments` are as the model wrote them: an object, or its JSON text. `now` is in seconds since 1970.

    Raises:
        StoreError: the store failed; that is no answer for a model.
    """
    try:
        given = _given(arguments)
        made = _ACTIONS[_action(given)](history, given, now)
        history.hand_out(made.cost)
        return Answer(made.text)
    except (RecallError, BudgetError) as error:
        said = " ".join(str(error).split())
        return Answer(f"<squidbot refused: {said}>", is_error=True)


def _search(history: History, given: Mapping[str, object], now: float | None) -> Hits:
    return history.search(_text(given, "query"), offset=_offset(given), now=now)


def _expand(history: History, given: Mapping[str, object], now: float | None) -> Page:
    return history.expand(_text(given, "id", "summary_id", "handle"), _offset(given), now=now)


_ACTIONS: Final[dict[str, Callable[[History, Mapping[str, object], float | None], Hits | Page]]] = {
    "search": _search,
    "recall": _expand,
    "expand": _expand,
}


def _given(arguments: Mapping[str, object] | str) -> Mapping[str, object]:
    value: object = arguments
    if isinstance(arguments, str):
        try:
            value = jsontext.parse(arguments)
        except jsontext.JsonTextError as error:
            raise RecallError(f"the arguments are not JSON: {error}") from error
    if not isinstance(value, Mapping):
        raise RecallError('the arguments are no object; write for example {"action": "recall", "id": "m17"}')
    return value


def _action(given: Mapping[str, object]) -> str:
    action = given.get("action")
    if isinstance(action, str) and action in _ACTIONS:
        return action
    raise RecallError(f"action is {_shown(action)}; it is one of {', '.join(_ACTIONS)}")


def _text(given: Mapping[str, object], *names: str) -> str:
    value = next((given[name] for name in names if given.get(name) is not None), None)
    if isinstance(value, str) and value.strip():
        return value
    raise RecallError(f"{names[0]} is {_shown(value)}; {given['action']} needs it as a text")


def _offset(given: Mapping[str, object]) -> int:
    value = given.get("offset")
    if value is None:
        return 0
    if isinstance(value, str) and _DIGITS.match(value):
        return int(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and -1e18 < value == value // 1 < 1e18:
        return int(value)
    raise RecallError(f"offset is {_shown(value)}; it is a whole number, as the page before says")


def _shown(value: object) -> str:
    return f"{value!a:.60}" if isinstance(value, str) else kind(value)
