"""The fields of every form, as far as anything here sends them: Anthropic's messages, chat completions, Responses."""

from __future__ import annotations

from .shapes import (
    Check,
    Flaw,
    Path,
    anything,
    array,
    boolean,
    fields,
    integer,
    items,
    literal,
    mapping,
    number,
    optional,
    string,
    tagged,
    text_or,
)

# -- Anthropic --------------------------------------------------------------------------------------------------------

MARK = optional(fields({"type": literal("ephemeral")}, {"ttl": literal("5m", "1h")}))
_TEXT = fields({"type": string, "text": string}, {"cache_control": MARK, "citations": optional(array)})
_IMAGE = fields({"type": string, "source": mapping}, {"cache_control": MARK})
_DOCUMENT = fields(
    {"type": string, "source": mapping},
    {"cache_control": MARK, "title": optional(string), "context": optional(string), "citations": optional(mapping)},
)
_IN_RESULTS = tagged({"text": _TEXT, "image": _IMAGE, "document": _DOCUMENT, "search_result": mapping})


def _tool_id(value: object, path: Path) -> None:
    string(value, path)
    if not value or not all(letter.isascii() and (letter.isalnum() or letter in "_-") for letter in str(value)):
        raise Flaw("pattern", path, ("^[a-zA-Z0-9_-]+$",), value)


_USE = fields(
    {"type": string, "id": _tool_id, "name": string, "input": mapping},
    {"cache_control": MARK, "caller": optional(mapping), "toolset_name": optional(string)},
)
_RESULT = fields(
    {"type": string, "tool_use_id": _tool_id},
    {
        "content": text_or(items(_IN_RESULTS)),
        "is_error": boolean,
        "cache_control": MARK,
        "toolset_name": optional(string),
    },
)
BLOCK = tagged(
    {
        "text": _TEXT,
        "image": _IMAGE,
        "document": _DOCUMENT,
        "thinking": fields({"type": string, "thinking": string, "signature": string}),
        "redacted_thinking": fields({"type": string, "data": string}),
        "tool_use": _USE,
        "tool_result": _RESULT,
    }
)
_ROLES = literal("user", "assistant", "system")
_TOOL = fields(
    {"name": string, "input_schema": fields({"type": literal("object")}, open_=True)},
    {"description": string, "cache_control": MARK, "type": literal("custom"), "strict": boolean},
)
_BINDING = fields({}, {"prefix_mismatch_behavior": optional(literal("error", "drop_block"))})


_DISPLAY = {"display": optional(literal("summarized", "omitted"))}
_BOUND = {**_DISPLAY, "block_binding": optional(_BINDING)}


_DISABLED = fields({"type": string})
THINKING = tagged(
    {
        "adaptive": fields({"type": string}, _DISPLAY),
        "enabled": fields({"type": string, "budget_tokens": integer}, _DISPLAY),
        "disabled": _DISABLED,
        "between_tools": _DISABLED,
    }
)
THINKING_BETA = tagged(
    {
        "adaptive": fields({"type": string}, _BOUND),
        "enabled": fields({"type": string, "budget_tokens": integer}, _BOUND),
        "disabled": _DISABLED,
        "between_tools": _DISABLED,
    }
)
_COUNTED = {
    "model": string,
    "messages": items(fields({"role": _ROLES, "content": text_or(items(BLOCK))})),
}
_COUNTED_TOO = {
    "cache_control": MARK,
    "system": text_or(items(_TEXT)),
    "thinking": THINKING,
    "tool_choice": fields({"type": literal("auto", "any", "tool", "none")}, open_=True),
    "tools": items(_TOOL),
}
_CREATED_TOO = {
    "stream": boolean,
    "stop_sequences": items(string),
    "service_tier": literal("auto", "standard_only"),
    "temperature": number,
    "container": anything,
}
# With a beta header only: what keeps or edits the conversation at the provider, and what to do with stale thinking.
_BETA = {"thinking": THINKING_BETA, "context_management": optional(mapping), "thread": optional(mapping)}
_MAX = {"max_tokens": integer}

MESSAGE_REQUEST = fields({**_COUNTED, **_MAX}, {**_COUNTED_TOO, **_CREATED_TOO})
MESSAGE_REQUEST_BETA = fields({**_COUNTED, **_MAX}, {**_COUNTED_TOO, **_CREATED_TOO, **_BETA})
COUNT_REQUEST = fields(_COUNTED, _COUNTED_TOO)

# -- chat completions -------------------------------------------------------------------------------------------------

CACHE_POINT = {"prompt_cache_breakpoint": mapping}
_CHAT_TEXT = fields({"type": string, "text": string}, CACHE_POINT)
_CHAT_PARTS = text_or(
    items(
        tagged(
            {
                "text": _CHAT_TEXT,
                "image_url": fields({"type": string, "image_url": mapping}, CACHE_POINT),
                "input_audio": fields({"type": string, "input_audio": mapping}, CACHE_POINT),
                "file": fields({"type": string, "file": mapping}, CACHE_POINT),
            }
        )
    )
)
_CHAT_TEXTS = text_or(items(tagged({"text": _CHAT_TEXT})))
_REFUSAL = fields({"type": string, "refusal": string})


def _identifier(most: int) -> Check:
    def check(value: object, path: Path) -> None:
        string(value, path)
        if len(str(value)) > most:
            raise Flaw("long", path, (str(most),), value)

    return check


def _not_empty(check: Check, least: str) -> Check:
    def inner(value: object, path: Path) -> None:
        check(value, path)
        if not value:
            raise Flaw("empty", path, (least,), value)

    return inner


_FUNCTION = fields({"name": string, "arguments": string})
_CHAT_CALL = tagged(
    {
        "function": fields({"id": _identifier(40), "type": string, "function": _FUNCTION}),
        "custom": fields({"id": _identifier(40), "type": string, "custom": fields({"name": string, "input": string})}),
    }
)
_CHAT_SAID = {"role": string, "content": _CHAT_TEXTS}
CHAT_MESSAGE = tagged(
    {
        "developer": fields(_CHAT_SAID, {"name": string}),
        "system": fields(_CHAT_SAID, {"name": string}),
        "user": fields({"role": string, "content": _CHAT_PARTS}, {"name": string}),
        "assistant": fields(
            {"role": string},
            {
                "content": optional(text_or(items(tagged({"text": _CHAT_TEXT, "refusal": _REFUSAL})))),
                "refusal": optional(string),
                "annotations": anything,
                "audio": optional(mapping),
                "name": string,
                "tool_calls": _not_empty(items(_CHAT_CALL), "1"),
                "function_call": optional(_FUNCTION),
                "reasoning_content": optional(string),
            },
        ),
        "tool": fields({"role": string, "content": _CHAT_TEXTS, "tool_call_id": string}),
        "function": fields({"role": string, "content": optional(string), "name": string}),
    },
    tag="role",
)
CHAT_REQUEST = fields(
    {"messages": _not_empty(items(CHAT_MESSAGE), "1"), "model": string},
    {
        "max_completion_tokens": optional(integer),
        "max_tokens": optional(integer),
        "prompt_cache_options": mapping,
        "reasoning_effort": optional(string),
        "service_tier": optional(string),
        "stop": anything,
        "store": optional(boolean),
        "stream": optional(boolean),
        "stream_options": optional(fields({}, {"include_usage": boolean, "include_obfuscation": boolean})),
        "temperature": optional(number),
        "tool_choice": anything,
        "tools": items(fields({"type": literal("function", "custom")}, open_=True)),
    },
)

# -- Responses --------------------------------------------------------------------------------------------------------

STATUS = {"status": optional(literal("in_progress", "completed", "incomplete"))}
_INPUT_PART = {
    "input_text": fields({"type": string, "text": string}, CACHE_POINT),
    "input_image": fields(
        {"type": string},
        {"image_url": optional(string), "file_id": optional(string), "detail": string, **CACHE_POINT},
    ),
    "input_file": fields({"type": string}, {**CACHE_POINT}, open_=True),
}
_OUTPUT_PART = {
    "output_text": fields({"type": string, "text": string}, {"annotations": array, "logprobs": optional(array)}),
    "refusal": _REFUSAL,
}


def _item_message(value: object, path: Path) -> None:
    mapping(value, path)
    assert isinstance(value, dict)
    parts = _OUTPUT_PART if value.get("role") == "assistant" else _INPUT_PART
    fields(
        {
            "role": literal("assistant", "system", "developer", "user"),
            "content": text_or(items(tagged(parts))),
        },
        {"type": string, "id": string, "phase": optional(literal("commentary", "final_answer")), **STATUS},
    )(value, path)


_OUTPUT = text_or(items(tagged(_INPUT_PART)))
_CALLED = {"type": string, "call_id": _identifier(64)}
_BESIDE = {"id": optional(string), "caller": optional(mapping), **STATUS}
ITEM = tagged(
    {
        "message": _item_message,
        "reasoning": fields(
            {"type": string, "id": string, "summary": items(fields({"type": string, "text": string}))},
            {"encrypted_content": optional(string), "content": optional(array), **STATUS},
        ),
        "function_call": fields(
            {**_CALLED, "name": string, "arguments": string},
            {"namespace": optional(string), "async": optional(boolean), **_BESIDE},
        ),
        "function_call_output": fields({**_CALLED, "output": _OUTPUT}, _BESIDE),
        "custom_tool_call": fields(
            {**_CALLED, "name": string, "input": string}, {"namespace": optional(string), **_BESIDE}
        ),
        "custom_tool_call_output": fields({**_CALLED, "output": _OUTPUT}, _BESIDE),
    },
    default="message",
)
RESPONSE_REQUEST = fields(
    {"model": string, "input": text_or(items(ITEM))},
    {
        "conversation": anything,
        "instructions": optional(string),
        "previous_response_id": optional(string),
        "reasoning": optional(mapping),
        "tool_choice": anything,
        "tools": items(fields({"type": string}, open_=True)),
        "truncation": optional(literal("auto", "disabled")),
        "background": optional(boolean),
        "context_management": optional(array),
        "include": optional(items(string)),
        "max_output_tokens": optional(integer),
        "prompt": optional(mapping),
        "prompt_cache_options": mapping,
        "service_tier": optional(string),
        "store": optional(boolean),
        "stream": optional(boolean),
        "temperature": optional(number),
    },
)
