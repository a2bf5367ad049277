"""Messages and tools as the text that a model reads, by its template."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from squidbot.core.errors import LLMError

pytestmark = pytest.mark.llama_cpp
pytest.importorskip("llama_cpp", reason="needs llama-cpp-python, which is compiled where it is installed")

from squidbot.adapters.llama_cpp.model import ChatTemplate  # noqa: E402  # it imports llama_cpp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TOOL = {"type": "function", "function": {"name": "depth", "parameters": {"type": "object"}}}
CALLING = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "depth", "arguments": '{"sea": "é"}'}}],
}
PLAIN = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>"
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}" + PLAIN


def rendered(template: str | None, *messages: Mapping[str, object], tools: Sequence[Mapping[str, object]] = ()) -> str:
    """Render messages by a template; None: the file has none."""
    metadata = {} if template is None else {"tokenizer.chat_template": template}
    return ChatTemplate(metadata, begin="<s>", end="</s>").render(messages, tools)


def test_template_of_the_file_is_used_and_chatml_without_one() -> None:
    """The first and the last token's texts are the template's to write."""
    user = {"role": "user", "content": "Hi"}
    assert rendered("{{ bos_token }}" + PLAIN + "{{ eos_token }}", user) == "<s><user>Hi<assistant></s>"
    assert rendered(None, user) == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"


def test_template_that_refuses_a_system_text_gets_it_with_the_first_question() -> None:
    """It is not lost, and nobody has to know the template."""
    system, user = {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}
    assert rendered(NO_SYSTEM, system, user) == "<user>Be brief.\n\nHi<assistant>"
    with pytest.raises(LLMError, match=r"^refused: .*System role not supported$"):
        rendered(NO_SYSTEM, system)


def test_template_that_knows_tools_gets_them_with_arguments_as_objects() -> None:
    """Templates write arguments as JSON themselves: of a text they would make a text of a text."""
    template = "{{ tools | tojson }}{% for m in messages %}{{ m.tool_calls[0].function.arguments.sea }}{% endfor %}"
    assert rendered(template, CALLING, tools=(TOOL,)) == f"{json.dumps([TOOL])}é"
    broken = {**CALLING, "tool_calls": [{"function": {"name": "depth", "arguments": "{"}}]}
    assert rendered("{{ tools }}{{ messages[0].tool_calls[0].function.arguments }}", broken) == "None{"


def test_template_of_its_own_for_tools_is_used_with_tools_only() -> None:
    """Files may bring two."""
    metadata = {"tokenizer.chat_template": "plain", "tokenizer.chat_template.tool_use": "{{ tools | length }} tools"}
    template = ChatTemplate(metadata, begin="", end="")
    assert template.render([], []) == "plain"
    assert template.render([], [TOOL]) == "1 tools"


def test_tools_are_described_in_words_to_a_template_that_knows_none() -> None:
    """Definitions, calls and results are there, as Hermes and Qwen models were taught them."""
    user = {"role": "user", "content": "How deep?"}
    result = {"role": "tool", "tool_call_id": "c1", "content": "42 m"}
    text = rendered(PLAIN, user, CALLING, result, tools=(TOOL,))
    assert text.startswith("<system>You can call these tools")
    assert json.dumps(TOOL) in text
    assert '<assistant><tool_call>\n{"name": "depth", "arguments": {"sea": "é"}}\n</tool_call>' in text
    assert text.endswith("<user><tool_response>\n42 m\n</tool_response><assistant>")
    system = {"role": "system", "content": "Be brief."}
    assert rendered(PLAIN, system, user, tools=(TOOL,)).startswith("<system>Be brief.\n\nYou can call these tools")


def test_template_that_is_broken_is_an_error_of_ours() -> None:
    """It came with the file: what is wrong with it is told, not raised as it is."""
    with pytest.raises(LLMError, match=r"^unusable: cannot read the model's chat template: "):
        rendered("{% for")
    with pytest.raises(LLMError, match=r"^refused: .*'nothing' is undefined"):
        rendered("{{ nothing.of.this }}", {"role": "user", "content": "Hi"})


def test_template_can_not_reach_out_of_its_sandbox() -> None:
    """A template is a program that a stranger wrote."""
    with pytest.raises(LLMError, match=r"^refused: "):
        rendered("{{ ''.__class__.__mro__[1].__subclasses__() }}", {"role": "user", "content": "Hi"})
