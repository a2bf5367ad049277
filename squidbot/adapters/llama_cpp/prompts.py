"""Messages and tools as the text that a model reads, by the template in its file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from llama_cpp.llama_chat_format import Jinja2ChatFormatter

from squidbot.core.errors import LLMError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ChatTemplate"]

# For a file without a template, as llama.cpp does it.
_CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{% endfor %}{{ '<|im_start|>assistant\\n' }}"
)
# For a template that knows of no tools: they are described as Hermes and Qwen models were taught it.
_TOOLS = (
    "You can call these tools, each given as JSON:\n<tools>\n{tools}\n</tools>\n"
    "To call one, answer with its name and arguments:\n"
    '<tool_call>\n{{"name": "...", "arguments": {{...}}}}\n</tool_call>'
)

Message = dict[str, Any]


class ChatTemplate:
    """The template of one model. A template is a program that came with the file: it runs in Jinja's sandbox."""

    def __init__(self, metadata: Mapping[str, str], *, begin: str, end: str) -> None:
        """Take the file's metadata as texts, and the texts of its first and last token; "" where it has none.

        Raises:
            LLMError: the template is no Jinja.
        """
        plain = metadata.get("tokenizer.chat_template", _CHATML)
        with_tools = metadata.get("tokenizer.chat_template.tool_use", plain)
        self._knows_tools = "tools" in with_tools
        try:
            self._plain, self._with_tools = (
                Jinja2ChatFormatter(template=template, eos_token=end, bos_token=begin)
                for template in (plain, with_tools if self._knows_tools else plain)
            )
        except Exception as error:  # Jinja has many of its own
            raise LLMError("unusable", f"the model's chat template can't be read: {error}") from error

    def render(self, messages: Sequence[Mapping[str, object]], tools: Sequence[Mapping[str, object]]) -> str:
        """Return the text, with the beginning of the answer at its end.

        Raises:
            LLMError: the template refuses these messages, or one has something that is no text.
        """
        said = [_plain(message) for message in messages]
        if not self._knows_tools:
            said = _told_of_tools(said, tools)
        formatter = self._with_tools if tools else self._plain
        try:
            return _rendered(formatter, said, tools)
        except Exception as error:  # a template can raise anything
            merged = _system_merged(said)
            if merged is None:
                raise _refused(error) from error
        try:
            return _rendered(formatter, merged, tools)
        except Exception as error:  # as above
            raise _refused(error) from error


def _rendered(formatter: Jinja2ChatFormatter, messages: list[Message], tools: Sequence[Mapping[str, object]]) -> str:
    return str(formatter(messages=messages, tools=[*tools] or None).prompt)


def _refused(error: Exception) -> LLMError:
    return LLMError("refused", f"the model's chat template refuses the messages: {error}")


def _plain(message: Mapping[str, object]) -> Message:
    """Return a message with its content as one text, and the arguments of its calls as objects, as templates take them.

    Raises:
        LLMError: a part of it is no text.
    """
    plain: Message = {**message, "content": _text(message.get("content"))}
    if message.get("tool_calls"):
        plain["tool_calls"] = [_call(call) for call in plain["tool_calls"]]
    return plain


def _text(content: object) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    parts: list[str] = []
    for part in content if isinstance(content, list) else [content]:
        if not isinstance(part, dict) or not isinstance(part.get("text"), str):
            kind = part.get("type") if isinstance(part, dict) else type(part).__name__
            raise LLMError("refused", f"llama_cpp takes messages of text only, and one has a part of type {kind!r}")
        parts.append(part["text"])
    return "".join(parts)


def _call(call: Mapping[str, Any]) -> Message:
    function = call["function"]
    try:
        arguments = json.loads(function["arguments"])
    except (TypeError, ValueError):
        return {**call}
    return {**call, "function": {**function, "arguments": arguments}} if isinstance(arguments, dict) else {**call}


def _told_of_tools(messages: list[Message], tools: Sequence[Mapping[str, object]]) -> list[Message]:
    """Return messages in which tools, calls and their results are text."""
    said = [_as_text(message) for message in messages]
    if not tools:
        return said
    told = _TOOLS.format(tools="\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools))
    if said and said[0]["role"] == "system":
        return [{**said[0], "content": f"{said[0]['content']}\n\n{told}"}, *said[1:]]
    return [{"role": "system", "content": told}, *said]


def _as_text(message: Message) -> Message:
    if message["role"] == "tool":
        return {"role": "user", "content": f"<tool_response>\n{message['content']}\n</tool_response>"}
    content = message["content"]
    for call in message.get("tool_calls") or ():
        named = {key: call["function"][key] for key in ("name", "arguments")}
        content += f"\n<tool_call>\n{json.dumps(named, ensure_ascii=False)}\n</tool_call>"
    return {"role": message["role"], "content": content.removeprefix("\n")}


def _system_merged(messages: list[Message]) -> list[Message] | None:
    """Return messages for a template that refuses a system text: it opens the first user message; None: there is none.

    Gemma's templates do.
    """
    if len(messages) < 2 or messages[0]["role"] != "system" or messages[1]["role"] != "user":
        return None
    system, user, *rest = messages
    return [{**user, "content": f"{system['content']}\n\n{user['content']}"}, *rest]
