"""A tool for models: its definition in the form of any provider, and answers to calls."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from squidbot.codecs import jsontext
from squidbot.codecs.fields import kind
from squidbot.core.errors import ArgumentError, BudgetError, ConfigError, NotFoundError, RecallError
from squidbot.core.view.marks import refused

if TYPE_CHECKING:
    from squidbot.config import Settings

__all__ = ["Act", "Answer", "Tool", "ToolSchema", "answer", "definition"]

Act = Callable[..., str]
ToolSchema = Mapping[str, object]
# Other names that models use for an argument.
_ALIASES: Final = {
    "id": ("summary_id", "handle", "memory_id"),
    "query": ("text",),
    "text": ("content", "query"),
    "summary": ("text",),
}
_DIGITS: Final = re.compile(r"\s*[0-9]{1,18}\s*\Z")
MOST_NUMBER: Final = 10**18
# For each type of a schema: its type in Python, its name in words, and how a text is read as it.
_PYTHON: Final = {"string": str, "integer": int, "boolean": bool, "array": list | tuple, "object": dict}
_WANTED: Final = {
    "string": "a string",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list of strings",
}
_FROM_TEXT: Final[dict[str, Callable[[str], object]]] = {
    "integer": lambda text: int(text) if _DIGITS.match(text) else None,
    "boolean": {"true": True, "false": False}.get,
    "array": lambda text: [text],
}


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a tool call.

    Attributes:
        text: what to give to the model.
        is_error: whether the text is an error message for the model.
        wants_room: whether the call was valid, but the next request has no room for the smallest answer.
    """

    text: str
    is_error: bool = False
    wants_room: bool = False


class Tool(NamedTuple):
    """A tool.

    Attributes:
        name, description: sent with every request, so as short as a model can follow.
        arguments: the schema of each argument.
        acts: functions by `action`; "" for a tool without actions. An act takes the context and its
            named arguments; those without a default are required.
        offered: whether settings offer the tool.
        example: arguments of a valid call, shown to a model that sends none.
        refusals: further errors with a text for the model; others are raised.
        closed: whether the schema allows no other arguments.
        effect: of a call on the store.
        advice: what else to call; a model reads it where an argument is wrong.
    """

    name: str
    description: str
    arguments: Mapping[str, Mapping[str, object]]
    acts: Mapping[str, Act]
    offered: Callable[[Settings], bool] = lambda _settings: True
    example: str = "{}"
    refusals: tuple[type[Exception], ...] = ()
    closed: bool = False
    effect: Literal["reads", "adds", "appends", "removes"] = "reads"
    advice: str = ""

    @property
    def schema(self) -> dict[str, object]:
        """The arguments as one JSON schema."""
        actions: Any = self.arguments["action"]["enum"] if "action" in self.arguments else [""]
        wants = [_wants(self, self.acts[action]) for action in actions]
        required = [name for name in self.arguments if name == "action" or all(needs.get(name) for needs in wants)]
        schema: dict[str, object] = {"type": "object", "properties": self.arguments}
        schema |= {"required": required} if required else {}
        return schema | ({"additionalProperties": False} if self.closed else {})


def definition(tool: Tool, form: str) -> dict[str, object]:
    """Return the definition of a tool in a form of messages, as "openai.chat".

    Raises:
        ConfigError: the form is unknown.
    """
    named = {"name": tool.name, "description": tool.description}
    if form == "anthropic.messages":
        return {**named, "input_schema": tool.schema}
    function: dict[str, object] = {**named, "parameters": tool.schema}
    if form == "openai.chat":
        return {"type": "function", "function": function}
    if form == "openai.responses":
        return {"type": "function", **function, "strict": False}
    raise ConfigError(f"unknown form of tools {form!r}, known: openai.chat, anthropic.messages, openai.responses")


def answer(tool: Tool, context: object, arguments: Mapping[str, object] | str) -> Answer:
    """Answer a model's call; wrong arguments and missing room are answers, too.

    `arguments` are an object, or its JSON text.

    Raises:
        StoreError: the store failed.
    """
    try:
        act, given = _checked(tool, arguments)
        return Answer(act(context, **given))
    except tool.refusals as error:
        return Answer(refused(error), is_error=True)
    except BudgetError as error:
        said = f"{error.shortage}; continue without this, or with less"  # a model can change no settings
        return Answer(refused(said), is_error=True, wants_room=True)
    except (RecallError, NotFoundError, ArgumentError) as error:
        return Answer(refused(error), is_error=True)


def _wants(tool: Tool, act: Act) -> dict[str, bool]:
    """Return the arguments of a tool that an act takes, and whether each is required."""
    taken = inspect.signature(act).parameters
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values())
    named = [name for name in tool.arguments if takes_all or name in taken]
    return {name: name in taken and taken[name].default is taken[name].empty for name in named}


def _checked(tool: Tool, arguments: Mapping[str, object] | str) -> tuple[Act, dict[str, object]]:
    """Return the act of a call and its arguments, as the schema has them.

    Raises:
        RecallError: an argument is wrong; the text says which, and what would be right.
    """
    values = _object(arguments or {} if "" in tool.acts else arguments, tool.example)
    what = tool.name if "" in tool.acts else _action(tool, values.get("action"))
    act = tool.acts["" if "" in tool.acts else what]
    given = {}
    for name, required in _wants(tool, act).items():
        value = next((values[key] for key in (name, *_ALIASES.get(name, ())) if values.get(key) is not None), None)
        if not required and (value is None or value == ""):
            continue
        fitted = _fitted(value, tool.arguments[name])
        if fitted is None or (required and isinstance(fitted, str) and not fitted.strip()):
            advice = f"; {tool.advice}" if tool.advice else ""
            raise RecallError(f"{what}: {name} must be {_wanted(tool.arguments[name])}, not {_shown(value)}{advice}")
        given[name] = fitted
    return act, given


def _object(arguments: Mapping[str, object] | str, example: str) -> Mapping[str, object]:
    value: object = arguments
    if isinstance(arguments, str):
        try:
            value = jsontext.parse(arguments)
        except jsontext.JsonTextError as error:
            raise RecallError(f"the arguments are not JSON: {error}") from error
    if not isinstance(value, Mapping):
        raise RecallError(f"the arguments are not an object such as {example}")
    return value


def _action(tool: Tool, action: object) -> str:
    if isinstance(action, str) and action in tool.acts:
        return action
    raise RecallError(f"action must be {_wanted(tool.arguments['action'])}, not {_shown(action)}")


def _wanted(schema: ToolSchema) -> str:
    """Return a schema in words."""
    match schema:
        case {"enum": [*allowed]}:
            return f"one of {', '.join(map(str, allowed))}"
        case {"items": {"properties": {**fields}}}:
            return f"a list of objects with {' and '.join(map(str, fields))}"
    return _WANTED[str(schema["type"])]


def _fitted(value: object, schema: Any) -> object:  # noqa: ANN401  # JSON
    """Return a value as its schema has it, read from a text if need be; `None` if it is wrong."""
    wanted = schema["type"]
    if isinstance(value, str) and wanted in _FROM_TEXT:
        value = _FROM_TEXT[wanted](value)
    elif isinstance(value, float) and wanted == "integer" and value.is_integer():
        value = int(value)
    if not isinstance(value, _PYTHON[wanted]) or value not in schema.get("enum", [value]):
        return None
    if isinstance(value, dict):
        value = {name: _fitted(value.get(name), field) for name, field in schema["properties"].items()}
        return None if None in value.values() else value
    if isinstance(value, list | tuple):
        value = [_fitted(item, schema["items"]) for item in value]
        return None if None in value else [item for item in value if not isinstance(item, str) or item.strip()]
    return None if isinstance(value, int) and not _is_number(value, wanted) else value


def _is_number(value: int, wanted: str) -> bool:
    return isinstance(value, bool) is (wanted == "boolean") and abs(value) < MOST_NUMBER


def _shown(value: object) -> str:
    return f"{value!a:.60}" if isinstance(value, str) else kind(value)
