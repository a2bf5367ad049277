"""Trajectories of SWE-agent: `<instance>.traj`, one object with the history of the agent's messages.

The form: docs/usage/trajectories.md and sweagent/types.py of SWE-agent/SWE-agent. `trajectory` says the same as the
history, step by step, and is read where there is no history. An agent that tries again has its `attempts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.codecs import jsontext
from squidbot.codecs.recordings import chat
from squidbot.codecs.recordings.builder import MessageSource, SessionBuilder, dump_name, finished, place_name
from squidbot.codecs.recordings.lines import whole
from squidbot.codecs.recordings.values import get, items, mapping, spelled, text
from squidbot.core.errors import TranscriptError
from squidbot.core.messages import Category

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from squidbot.codecs.recordings import Position, RecordedSession

__all__ = ["NAME", "is_form", "places", "read"]

NAME: Final = "swe-agent"

_ROLES: Final = ("system", "user", "assistant", "tool")


def is_form(values: Sequence[object]) -> bool:
    """Return whether the first value is a trajectory: with steps, or attempts, and what came out."""
    first = values[0] if values else None
    runs = [first, *items(get(first, "attempts"))]
    steps = (step for run in runs for step in items(get(run, "trajectory"))[:1])
    known = any(isinstance(get(step, "action"), str) and isinstance(get(step, "observation"), str) for step in steps)
    return isinstance(get(first, "info"), dict) and (known or any(map(_tells_message_types, runs)))


def places(home: Path, environ: Mapping[str, str]) -> Iterator[Path]:  # noqa: ARG001  # as every reader
    """Yield nothing: it keeps its trajectories where it is started."""
    yield from ()


def read(path: Path, start: Position | None = None, *, is_over: bool = True) -> list[RecordedSession]:  # noqa: ARG001
    """Return the session of a trajectory, or one for each attempt; there are no positions.

    Raises:
        TranscriptError: the file can't be read, or is no trajectory.
    """
    value = whole(path)
    if not is_form([value]):
        raise TranscriptError(str(path), None, "is no trajectory of SWE-agent: it has no history and no steps")
    attempts = [each for each in items(get(value, "attempts")) if isinstance(each, dict)]
    runs = attempts or [mapping(value)]
    model = _model(value)
    found = []
    for at, run in enumerate(runs):
        made = SessionBuilder(NAME, chat.CODEC, dump_name(path, None, at if attempts else None))
        made.session.title = path.stem
        for each in items(get(value, "attempts")) if not at else ():
            if not isinstance(each, dict):
                made.count("unknown entries")
        _fill(made, run, _model(run) or model)
        found.append(made)
    return finished(found, is_over=is_over)


def _tells_message_types(run: object) -> bool:
    return any(isinstance(get(each, "message_type"), str) for each in items(get(run, "history"))[:3])


def _model(value: object) -> str:
    """Return the model, which stands in the settings of the run."""
    given = get(value, "replay_config")
    if isinstance(given, str):
        try:
            given = jsontext.parse(given)
        except ValueError:
            return ""
    return text(get(given, "agent", "model", "name"))


def _fill(made: SessionBuilder, run: dict[str, object], model: str) -> None:
    history = items(run.get("history"))
    for at, item in enumerate(history):
        if get(item, "role") in _ROLES:
            _add_item(made, at, history, model)
        else:
            made.count("unknown entries")
    for at, step in enumerate(items(run.get("trajectory")) if not history else ()):
        if not isinstance(step, dict):
            made.count("unknown entries")
            continue
        said = text(step.get("response")) or text(step.get("thought")) or text(step.get("action"))
        made.add(place_name(at, step), chat.assistant(said), MessageSource(model=model))
        made.add(f"{at}-observation", {"role": "user", "content": spelled(step.get("observation"))}, _OBSERVED)


_OBSERVED: Final = MessageSource(category=Category.AUTOMATED)


def _add_item(made: SessionBuilder, at: int, history: Sequence[object], model: str) -> None:
    """Add an item of a history; what is shown as an example is the program's own."""
    item = mapping(history[at])
    role, name = item["role"], place_name(at, item)
    said = item.get("content")
    if role == "assistant":
        calls = [_call(each, name, number) for number, each in enumerate(items(item.get("tool_calls")))]
        value = chat.assistant(said, calls)
        if blocks := items(item.get("thinking_blocks")):
            value["thinking_blocks"] = blocks
    elif role == "tool" or (role == "user" and items(item.get("tool_call_ids"))):
        value = chat.answer(text(next(iter(items(item.get("tool_call_ids"))), item.get("tool_call_id"))), said)
    else:
        value = {"role": role, "content": said}
    # Without calls the output of a command is a message in the user's role, as the task is.
    is_output = value["role"] == "user" and at > 0 and get(history[at - 1], "role") == "assistant"
    category = Category.CONTEXT if item.get("is_demo") is True else Category.AUTOMATED if is_output else None
    made.add(name, value, MessageSource(model=model if role == "assistant" else "", category=category))


def _call(value: object, name: str, at: int) -> dict[str, object]:
    called = get(value, "function")
    return chat.call(text(get(value, "id")) or f"{name}/{at}", text(get(called, "name")), get(called, "arguments"))
