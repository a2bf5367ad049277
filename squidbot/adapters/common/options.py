"""A model's options in the settings, passed unchanged into requests.

Options that make the provider keep, cut or add messages are refused, and those that squidbot sets.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from squidbot.core.errors import InvalidRequestError
from squidbot.core.view.steps import refuse_server_state

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["for_jobs", "places", "what_is_wrong"]

# Options that squidbot sets, and their replacements.
_OURS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("messages", "input", "system", "instructions"), "messages come from the session"),
    **dict.fromkeys(("tools", "functions"), "tools are passed with each request"),
    **dict.fromkeys(
        ("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict"), "set max_tokens of the model"
    ),
    "model": "set the key model",
    "num_ctx": "set context_window of the model",
    "num_gpu": "set n_gpu_layers of the model",
    **dict.fromkeys(("stream", "stream_options", "include"), "squidbot sets it"),
    **dict.fromkeys(("extra_headers", "extra_body", "extra_query", "timeout"), "not a request option"),
    "n": "squidbot asks for one answer",
}
# Options that shape answers in conversations, and would spoil jobs.
_NOT_OF_JOBS: Final = frozenset(
    {"thinking", "output_config", "output_format", "response_format", "text", "verbosity", "stop", "stop_sequences"}
    | {"tool_choice", "parallel_tool_calls", "function_call", "modalities", "audio", "prediction", "think"}
)


def what_is_wrong(options: Mapping[str, object]) -> str:
    """Return which option is not allowed, and what to do instead; "" if all are fine."""
    try:
        refuse_server_state(options)
    except InvalidRequestError as error:
        return str(error).removeprefix(f"{error.rule}: ")  # the rule's id is internal
    for name, value in options.items():
        if name in _OURS:
            return f"{name} can't be an option: {_OURS[name]}"
        if not _is_json(value):
            return f"{name} has a value that no request can hold: {value!r:.60}"
    return ""


def for_jobs(options: Mapping[str, object]) -> dict[str, object]:
    """Return the options that also apply to jobs such as summaries."""
    return {name: value for name, value in options.items() if name not in _NOT_OF_JOBS}


def places(options: Mapping[str, object], alias: str) -> dict[str, str]:
    """Return each option's place in the settings, by its name."""
    return {name: f"models.{alias}.options.{name}" for name in options}


def _is_json(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(inner) for key, inner in value.items())
    if isinstance(value, list):
        return all(map(_is_json, value))
    return value is None or isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))
