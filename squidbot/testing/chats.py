"""What a model that goes on with conversations promises, as a check."""

from __future__ import annotations

import copy
import threading
from typing import TYPE_CHECKING, Final

from squidbot.core.errors import ContextOverflowError, LLMError
from squidbot.core.messages import Reply
from squidbot.testing.values import ODD_TEXTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from squidbot.core.ports import Chat

__all__ = ["ASKED", "check_chat", "rounds"]

Json = dict[str, object]

# All forms that squidbot has a codec for take these as they are.
ASKED: Final[tuple[Json, ...]] = (
    {"role": "system", "content": "You are brief."},
    {"role": "user", "content": "What is deep?"},
)
_PARAMETERS: Final[Json] = {"type": "object", "properties": {"sea": {"type": "string"}}, "required": ["sea"]}
_DEPTH: Final[Json] = {"name": "depth", "description": "Tells how deep a sea is."}
_IDS, _SEAS = ("call00001", "call00002"), ("Aral", "Azov")
FINISHES: Final = {"stop", "length", "tool_calls"}


class _StoppedError(Exception):
    """What a listener raises to end an answer."""


def check_chat(
    factory: Callable[[], Chat],
    *,
    answer_tokens: int = 64,
    window_tokens: int | None = None,
    failing: Iterable[Callable[[], Chat]] = (),
) -> None:
    """Check the promises of `ports.Chat` beside those of `ports.LLM`; asks the model about twenty times.

    `factory` and `failing` are as `check_llm` takes them. With tools, two parallel calls and their results the three
    forms of messages are tried that squidbot has codecs for; of any other only words.

    Promised: a form that does not change; replies of at most the tokens that were asked for, in the model's own form,
    which it takes back; what was given is left as it was; pieces that make up the text; what a listener raises goes to
    the caller, and the model answers on; odd characters get an answer or an error of ours; threads may share it; what
    does not fit, and what fails, is raised and never answered.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    chat = factory()
    assert chat.form == factory().form, "a form does not change"
    for messages, tools in rounds(chat.form):
        _checks_reply(chat, messages, tools, answer_tokens)
    _checks_back(chat, answer_tokens)
    _checks_listener(chat, answer_tokens)
    _checks_texts(chat, answer_tokens)
    _checks_threads(chat, answer_tokens)
    if window_tokens is not None:
        _checks_refused(chat, [{"role": "user", "content": "word " * (window_tokens * 4)}], answer_tokens)
    for broken in failing:
        _checks_failure(broken(), answer_tokens)


def rounds(form: str) -> list[tuple[Sequence[Json], Sequence[Json]]]:
    """Return conversations with the tools to give beside them, in a form; only words where the form is not known."""
    if form == "anthropic.messages":
        tool, calls, results = _as_anthropic()
    elif form == "openai.responses":
        tool, calls, results = _as_responses()
    elif form == "openai.chat":
        tool, calls, results = _as_chat()
    else:
        return [(ASKED, ())]
    with_results = [*ASKED, *calls, *results]
    return [(ASKED, ()), (ASKED, (tool,)), (with_results, (tool,))]


def _as_chat() -> tuple[Json, list[Json], list[Json]]:
    calls = [
        {"id": one, "type": "function", "function": {"name": "depth", "arguments": f'{{"sea": "{sea}"}}'}}
        for one, sea in zip(_IDS, _SEAS, strict=True)
    ]
    results: list[Json] = [{"role": "tool", "tool_call_id": one, "content": "42 m"} for one in _IDS]
    tool: Json = {"type": "function", "function": {**_DEPTH, "parameters": _PARAMETERS}}
    return tool, [{"role": "assistant", "content": None, "tool_calls": calls}], results


def _as_anthropic() -> tuple[Json, list[Json], list[Json]]:
    uses = [
        {"type": "tool_use", "id": one, "name": "depth", "input": {"sea": sea}}
        for one, sea in zip(_IDS, _SEAS, strict=True)
    ]
    results = [{"type": "tool_result", "tool_use_id": one, "content": "42 m"} for one in _IDS]
    tool: Json = {**_DEPTH, "input_schema": _PARAMETERS}
    return tool, [{"role": "assistant", "content": uses}], [{"role": "user", "content": results}]


def _as_responses() -> tuple[Json, list[Json], list[Json]]:
    calls: list[Json] = [
        {"type": "function_call", "call_id": one, "name": "depth", "arguments": f'{{"sea": "{sea}"}}'}
        for one, sea in zip(_IDS, _SEAS, strict=True)
    ]
    results: list[Json] = [{"type": "function_call_output", "call_id": one, "output": "42 m"} for one in _IDS]
    tool: Json = {"type": "function", **_DEPTH, "parameters": _PARAMETERS, "strict": False}
    return tool, calls, results


def _said(form: str, message: Mapping[str, object]) -> tuple[str, int]:
    """Return the words of an assistant's message, and how many calls it makes."""
    if form == "openai.responses":
        return _said_in_items(_dicts(message.get("output")))
    content = message.get("content")
    if form == "anthropic.messages" and isinstance(content, list):
        blocks = _dicts(content)
        words = [block["text"] for block in blocks if block.get("type") == "text"]
        return "".join(map(str, words)), sum(block.get("type") == "tool_use" for block in blocks)
    return str(content or ""), len(_dicts(message.get("tool_calls")))


def _said_in_items(items: Sequence[Json]) -> tuple[str, int]:
    parts = [part for item in items if item.get("type") == "message" for part in _dicts(item.get("content"))]
    words = [part["text"] for part in parts if part.get("type") == "output_text"]
    return "".join(map(str, words)), sum(item.get("type") == "function_call" for item in items)


def _dicts(given: object) -> list[Json]:
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []


def _checks_reply(chat: Chat, messages: Sequence[Json], tools: Sequence[Json], most: int) -> Reply:
    pieces: list[str] = []
    before = copy.deepcopy((messages, tools))
    reply = chat.reply(messages, most, tools, pieces.append)
    assert (messages, tools) == before, "messages and tools are left as they were given"
    assert isinstance(reply, Reply), f"reply returns a Reply: got {reply!r:.80}"
    if chat.form != "openai.responses":
        assert reply.message.get("role") == "assistant", f"it is the assistant's message: got {reply.message!r:.200}"
    text, calls = _said(chat.form, reply.message)
    assert "".join(pieces) == text, f"the pieces make up the text: told {pieces!r:.200}, and it was {text!r:.200}"
    assert reply.finish in FINISHES, f"finish is one of {sorted(FINISHES)}: got {reply.finish!r}"
    assert reply.input_tokens >= 0, f"input_tokens is 0 or more: got {reply.input_tokens}"
    assert 0 <= reply.output_tokens <= most, f"at most {most} tokens were asked for: got {reply.output_tokens}"
    assert 0 <= reply.cached_tokens <= reply.input_tokens, "cached tokens are tokens of the input"
    assert calls or reply.finish != "tool_calls", "finish says that there are calls when there are any"
    assert not calls or reply.finish != "stop", "finish says that there are calls when there are any"
    assert not calls or tools, "without tools nothing is called"
    return reply


def _checks_back(chat: Chat, most: int) -> None:
    """Check that what it said is taken back, as it was said."""
    message = _checks_reply(chat, ASKED, (), most).message
    if not _said(chat.form, message)[0]:
        return  # nothing was said; whether that comes back is the codec's affair
    said = _dicts(message.get("output")) if chat.form == "openai.responses" else [dict(message)]
    _checks_reply(chat, [*ASKED, *said, {"role": "user", "content": "And what is high?"}], (), most)


def _checks_listener(chat: Chat, most: int) -> None:
    def stops(_: str) -> None:
        raise _StoppedError

    try:
        reply = chat.reply(ASKED, most, told=stops)
    except _StoppedError:
        pass
    else:
        text, _ = _said(chat.form, reply.message)
        assert not text, "what a listener raises ends the answer and goes to the caller"
    _checks_reply(chat, ASKED, (), most)


def _checks_texts(chat: Chat, most: int) -> None:
    for text in ODD_TEXTS:
        try:
            reply = chat.reply([{"role": "user", "content": text}], most)
        except (LLMError, ContextOverflowError):
            continue  # what it refuses is its own affair, so long as it is told in our words
        assert isinstance(reply, Reply), f"a message of {text!a} gets a Reply, or an error of ours: got {reply!r}"


def _checks_threads(chat: Chat, most: int) -> None:
    got: list[Reply] = []
    threads = [threading.Thread(target=lambda: got.append(chat.reply(ASKED, most))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 3, "threads that ask at once get their answers"


def _checks_refused(chat: Chat, messages: Sequence[Json], most: int) -> None:
    what = "messages that are more than the window are a ContextOverflowError"
    try:
        reply = chat.reply(messages, most)
    except ContextOverflowError:
        return
    except Exception as error:
        raise AssertionError(f"{what}: got {error!r:.200}") from error
    raise AssertionError(f"{what}: got an answer to {reply.input_tokens} tokens")


def _checks_failure(chat: Chat, most: int) -> None:
    try:
        reply = chat.reply(ASKED, most)
    except (LLMError, ContextOverflowError):
        return
    except Exception as error:
        raise AssertionError(f"a failure is an LLMError: got {error!r:.200}") from error
    raise AssertionError(f"a failure is raised, an error's text is no answer: got {reply.message!r:.200}")
