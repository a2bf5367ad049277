"""A scripted language model with a provider's rules, and the checks of models, counters and embedders."""

from __future__ import annotations

import copy
import math
import threading
from functools import lru_cache, partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from squidbot.adapters.common.providers import objects
from squidbot.core.errors import ContextOverflowError, LLMError
from squidbot.core.memory.search import terms_of
from squidbot.core.messages import Completion, Reply
from squidbot.core.vectors import unit
from squidbot.testing.values import ODD_TEXTS, at_once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from squidbot.core.ports import LLM, Chat, Embedder, LoadedModel, TokenCounter


# Its counter: English text has about four characters a token, which is good enough for its rules.
CHARS_A_TOKEN = 4


class ScriptedLLM:
    """An LLM with scripted answers: a text, a function from (system, prompt) to one, or an error to raise.

    It has providers' rules: a prompt that does not fit beside its answer is a ContextOverflowError, an answer that is
    too long is cut, an empty answer is an error, and after `most_calls` it reports a rate limit. `prompts` has all
    prompts so far. Threads may share it.
    """

    def __init__(
        self,
        answer: str | LLMError | Callable[[str, str], str],
        *,
        name: str = "scripted",
        window_tokens: int = 32_768,
        most_calls: int | None = None,
    ) -> None:
        """Take the answer, constant or by prompt, and the limits, in tokens of 4 characters."""
        self._answer = answer
        self._name = name
        self._window_tokens = window_tokens
        self._most_calls = most_calls
        self._lock = threading.Lock()
        self.prompts: list[str] = []

    @property
    def name(self) -> str:
        """The name passed to it."""
        return self._name

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        """Return the scripted answer for the prompt, cut at `max_output_tokens`.

        Raises:
            ContextOverflowError: prompt and room for the answer exceed the window.
            LLMError: the scripted error, or a broken rule.
        """
        with self._lock:
            self.prompts.append(prompt)
            calls = len(self.prompts)
        if self._most_calls is not None and calls > self._most_calls:
            raise LLMError("rate-limit", f"{self._name} was asked more than {self._most_calls} times")
        input_tokens = (len(system) + len(prompt)) // CHARS_A_TOKEN
        if input_tokens + max_output_tokens > self._window_tokens:
            raise ContextOverflowError(
                f"{input_tokens} tokens and {max_output_tokens} for the answer are more than {self._window_tokens}"
            )
        if isinstance(self._answer, LLMError):
            raise self._answer
        text = self._answer if isinstance(self._answer, str) else self._answer(system, prompt)
        text = text[: max_output_tokens * CHARS_A_TOKEN]
        return Completion(text, input_tokens, len(text) // CHARS_A_TOKEN)


Json = dict[str, object]

# Valid in all forms that squidbot has a codec for.
ASKED: Final[tuple[Json, ...]] = (
    {"role": "system", "content": "You are brief."},
    {"role": "user", "content": "What is deep?"},
)
_PARAMETERS: Final[Json] = {"type": "object", "properties": {"sea": {"type": "string"}}, "required": ["sea"]}
_DEPTH: Final[Json] = {"name": "depth", "description": "Tells how deep a sea is."}
_IDS, _SEAS = ("call00001", "call00002"), ("Aral", "Azov")
FINISHES: Final = {"stop", "length", "tool_calls"}


class _StoppedError(Exception):
    """Raised by a listener to stop an answer."""


def _raises(ask: Callable[[], object], kinds: tuple[type[Exception], ...], what: str) -> None:
    """Check that a call raises one of some errors."""
    try:
        answer = ask()
    except kinds:
        return
    except Exception as error:
        raise AssertionError(f"{what}: got {error!r:.200}") from error
    raise AssertionError(f"{what}: got {answer!r:.200}")


_OVERFLOW, _FAILURE = (ContextOverflowError,), (LLMError, ContextOverflowError)


def check_chat(
    factory: Callable[[], Chat],
    *,
    answer_tokens: int = 64,
    window_tokens: int | None = None,
    failing: Iterable[Callable[[], Chat]] = (),
) -> None:
    """Check the promises of `ports.Chat` beyond those of `ports.LLM`; calls the model about twenty times.

    `factory` and `failing` are those of `check_llm`. The three forms of messages with codecs in squidbot are tried
    with tools, two parallel calls and their results; any other form only with text.

    Promised: the form does not change; replies have at most the requested tokens, in the model's own form, and the
    model accepts them back; arguments stay unchanged; pieces add up to the text; a listener's error reaches the
    caller, and the model still works; odd characters get an answer or an error of ours; threads may share it; a prompt
    that does not fit, and any failure, raises and is never an answer.

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
    at_once(3, lambda _: chat.reply(ASKED, answer_tokens), "threads that ask at once get their answers")
    if window_tokens is not None:
        long = [{"role": "user", "content": "word " * (window_tokens * 4)}]
        what = "messages that exceed the window are a ContextOverflowError"
        _raises(lambda: chat.reply(long, answer_tokens), _OVERFLOW, what)
    for number, broken in enumerate(failing):
        ask = partial(broken().reply, ASKED, answer_tokens)
        _raises(ask, _FAILURE, f"failure {number} raises an LLMError, and is never returned as an answer")


def rounds(form: str) -> list[tuple[Sequence[Json], Sequence[Json]]]:
    """Return conversations and their tools, in a form; only text if the form is unknown."""
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
        {"id": call_id, "type": "function", "function": {"name": "depth", "arguments": f'{{"sea": "{sea}"}}'}}
        for call_id, sea in zip(_IDS, _SEAS, strict=True)
    ]
    results: list[Json] = [{"role": "tool", "tool_call_id": call_id, "content": "42 m"} for call_id in _IDS]
    tool: Json = {"type": "function", "function": {**_DEPTH, "parameters": _PARAMETERS}}
    return tool, [{"role": "assistant", "content": None, "tool_calls": calls}], results


def _as_anthropic() -> tuple[Json, list[Json], list[Json]]:
    uses = [
        {"type": "tool_use", "id": call_id, "name": "depth", "input": {"sea": sea}}
        for call_id, sea in zip(_IDS, _SEAS, strict=True)
    ]
    results = [{"type": "tool_result", "tool_use_id": call_id, "content": "42 m"} for call_id in _IDS]
    tool: Json = {**_DEPTH, "input_schema": _PARAMETERS}
    return tool, [{"role": "assistant", "content": uses}], [{"role": "user", "content": results}]


def _as_responses() -> tuple[Json, list[Json], list[Json]]:
    calls: list[Json] = [
        {"type": "function_call", "call_id": call_id, "name": "depth", "arguments": f'{{"sea": "{sea}"}}'}
        for call_id, sea in zip(_IDS, _SEAS, strict=True)
    ]
    results: list[Json] = [{"type": "function_call_output", "call_id": call_id, "output": "42 m"} for call_id in _IDS]
    tool: Json = {"type": "function", **_DEPTH, "parameters": _PARAMETERS, "strict": False}
    return tool, calls, results


def _text_and_calls(form: str, message: Mapping[str, object]) -> tuple[str, int]:
    """Return the text of an assistant's message, and its number of calls."""
    if form == "openai.responses":
        items = objects(message.get("output"))
        parts = [part for item in items if item.get("type") == "message" for part in objects(item.get("content"))]
        texts = [part["text"] for part in parts if part.get("type") == "output_text"]
        return "".join(map(str, texts)), sum(item.get("type") == "function_call" for item in items)
    content = message.get("content")
    if form == "anthropic.messages" and isinstance(content, list):
        blocks = objects(content)
        texts = [block["text"] for block in blocks if block.get("type") == "text"]
        return "".join(map(str, texts)), sum(block.get("type") == "tool_use" for block in blocks)
    return str(content or ""), len(objects(message.get("tool_calls")))


def _checks_reply(chat: Chat, messages: Sequence[Json], tools: Sequence[Json], most: int) -> Reply:
    pieces: list[str] = []
    before = copy.deepcopy((messages, tools))
    reply = chat.reply(messages, most, tools, pieces.append)
    assert (messages, tools) == before, "messages and tools stay unchanged"
    assert isinstance(reply, Reply), f"reply returns a Reply: got {reply!r:.80}"
    if chat.form != "openai.responses":
        assert reply.message.get("role") == "assistant", f"it is the assistant's message: got {reply.message!r:.200}"
    text, calls = _text_and_calls(chat.form, reply.message)
    assert "".join(pieces) == text, f"the pieces make up the text: told {pieces!r:.200}, and it was {text!r:.200}"
    assert reply.finish in FINISHES, f"finish is one of {sorted(FINISHES)}: got {reply.finish!r}"
    assert reply.input_tokens >= 0, f"input_tokens is 0 or more: got {reply.input_tokens}"
    assert 0 <= reply.output_tokens <= most, f"at most {most} tokens were asked for: got {reply.output_tokens}"
    assert 0 <= reply.cached_tokens <= reply.input_tokens, "cached tokens are tokens of the input"
    assert calls or reply.finish != "tool_calls", "finish says that there are calls when there are any"
    assert not calls or reply.finish != "stop", "finish says that there are calls when there are any"
    assert not calls or tools, "without tools there are no calls"
    return reply


def _checks_back(chat: Chat, most: int) -> None:
    """Check that the model accepts its own reply back, unchanged."""
    message = _checks_reply(chat, ASKED, (), most).message
    if not _text_and_calls(chat.form, message)[0]:
        return  # nothing was said; whether that comes back is the codec's affair
    answered = objects(message.get("output")) if chat.form == "openai.responses" else [dict(message)]
    _checks_reply(chat, [*ASKED, *answered, {"role": "user", "content": "And what is high?"}], (), most)


def _checks_listener(chat: Chat, most: int) -> None:
    def stops(_: str) -> None:
        raise _StoppedError

    try:
        reply = chat.reply(ASKED, most, on_text=stops)
    except _StoppedError:
        pass
    else:
        text, _ = _text_and_calls(chat.form, reply.message)
        assert not text, "a listener's error ends the answer and reaches the caller"
    _checks_reply(chat, ASKED, (), most)


def _checks_texts(chat: Chat, most: int) -> None:
    for text in ODD_TEXTS:
        try:
            reply = chat.reply([{"role": "user", "content": text}], most)
        except (LLMError, ContextOverflowError):
            continue  # what it refuses is its own affair, so long as it is told in our words
        assert isinstance(reply, Reply), f"a message of {text!a} gets a Reply, or an error of ours: got {reply!r}"


SYSTEM = "You answer in one word."
PROMPT = "Which colour has the sky at noon? One word."
# English text has about four characters a token; so many more than a window are past any count of it.
ANSWER_CHARS_A_TOKEN, SURE_FACTOR = 4, 4


def check_llm(
    factory: Callable[[], LLM],
    *,
    window_tokens: int | None = None,
    failing: Iterable[Callable[[], LLM]] = (),
    answer_tokens: int = 64,
) -> None:
    """Check the promises of `ports.LLM`; calls the model about fifteen times.

    `factory` returns the adapter over a real or a fake server; each of `failing` returns it over a server that fails in
    one way: unreachable, an error status, a cut or empty answer, a refusal. With `window_tokens`, a far longer prompt
    is tried, too.

    Promised: the name does not change; a `Completion` has a text, and counts of 0 or more; prompts with any characters
    get an answer or an error of ours; a failure raises and is never an answer; threads may share it.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    _checks_name(factory)
    _checks_answer(factory(), answer_tokens)
    llm = factory()
    _checks_llm_texts(llm, answer_tokens)
    ask = partial(llm.complete, SYSTEM, PROMPT, answer_tokens)
    at_once(2, lambda _: ask(), "two threads that ask at once get their answers")
    if window_tokens is not None:
        prompt = "word " * (window_tokens * SURE_FACTOR * ANSWER_CHARS_A_TOKEN // 5)
        what = "a prompt that does not fit is a ContextOverflowError"
        _raises(lambda: llm.complete(SYSTEM, prompt, answer_tokens), _OVERFLOW, what)
    for number, broken in enumerate(failing):
        ask = partial(broken().complete, SYSTEM, PROMPT, answer_tokens)
        _raises(ask, _FAILURE, f"failure {number} raises an LLMError, and is never returned as an answer")


def _checks_name(factory: Callable[[], LLM]) -> None:
    llm = factory()
    name = llm.name
    assert isinstance(name, str), f"a name is a str: got {name!r}"
    assert name.strip() == name, f"a name has no white space around it: got {name!r}"
    assert name.isprintable(), f"a name stands in the notes on one line: got {name!r}"
    assert name, "a name is not empty: summaries carry it"
    assert llm.name == name == factory().name, "a name does not change"


def _checks_answer(llm: LLM, answer_tokens: int) -> None:
    completion = llm.complete(SYSTEM, PROMPT, answer_tokens)
    assert isinstance(completion, Completion), f"complete returns a Completion: got {completion!r:.80}"
    assert isinstance(completion.text, str), f"its text is a str: got {completion.text!r:.80}"
    assert completion.text.strip(), "an empty answer is an LLMError, and never returned"
    for name, tokens in (("input_tokens", completion.input_tokens), ("output_tokens", completion.output_tokens)):
        assert isinstance(tokens, int), f"{name} is an int: got {tokens!r}"
        assert tokens >= 0, f"{name} is 0 or more: got {tokens!r}"


def _checks_llm_texts(llm: LLM, answer_tokens: int) -> None:
    for text in ODD_TEXTS:
        try:
            completion = llm.complete(text, f"{text}\n{PROMPT}", answer_tokens)
        except (LLMError, ContextOverflowError):
            continue  # what a provider refuses is its own affair, so long as it is told in our words
        assert isinstance(completion, Completion), (
            f"a prompt with {text!a} gets a Completion, or an LLMError: got {completion!r}"
        )


def check_token_counter(counter: TokenCounter) -> None:
    """Check the promises of `ports.TokenCounter` without a model: counts are repeatable, consistent, and never raise.

    Pass a counter, not its class or a factory.
    Only a model's own tokenizer can tell whether `upper_bound` is always at least its count.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    given = f"pass a counter, such as check_token_counter(Mine()): got {counter!r:.80}"
    assert not isinstance(counter, type), given
    missing = [name for name in ("name", "certificate", "count", "upper_bound") if not hasattr(counter, name)]
    assert not missing, f"{given}, which has no {', '.join(missing)}"
    assert counter.name, "a counter's name is not empty: stored counts are kept under it"
    certificates = {"exact", "anchored", "calibrated", "proved", "measured", "none"}
    assert counter.certificate in certificates, f"certificate {counter.certificate!r} is none of {sorted(certificates)}"
    for text in (
        *ODD_TEXTS,
        "Hello, world.",
        "def f(x):\n\treturn x\n",
        "{" * 999,
        "漢字かな交じり文",
        "\N{SQUID}" * 99,
    ):
        count, bound = counter.count(text), counter.upper_bound(text)
        shown = ascii(text[:40])
        assert isinstance(count, int), f"count({shown}) is an int, not {count!r}"
        assert isinstance(bound, int), f"upper_bound({shown}) is an int, not {bound!r}"
        assert 0 <= count <= bound, f"0 <= count <= upper_bound for {shown}: got {count} and {bound}"
        assert counter.count(text) == count, f"count({shown}) is the same each time"
        assert counter.upper_bound(text) == bound, f"upper_bound({shown}) is the same each time"
    if counter.certificate == "exact":
        assert counter.count("squid") == counter.upper_bound("squid"), "an exact counter's bound is its count"


# How much batches and threads of a runtime may change one number of a vector of length 1.
ROUNDING = 1e-6
TEXTS = ("The sea is deep.", "squid", "int main(void) { return 0; }")


class HashedWords:
    """An embedder for tests that needs no model: texts are near if they share words.

    Each word has a random but constant direction; a text's vector is their sum.
    """

    def __init__(self, dimensions: int = 64, name: str = "hashed-words") -> None:
        """Take the number of dimensions, and the name."""
        self.name = name
        self.dimensions = dimensions

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return a vector of length 1 for each text, in order."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> tuple[float, ...]:
        # A text without a word counts as one word.
        words = [*terms_of(text)] or [f"no word: {text}"]
        # So that no sum of signs is zero in every number.
        return unit(
            [0.01 + sum(signs) for signs in zip(*(_signs(word, self.dimensions) for word in words), strict=True)]
        )


@lru_cache(4096)
def _signs(word: str, count: int) -> tuple[float, ...]:
    digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=32).digest()
    bits = int.from_bytes(digest * (count // 256 + 1), "big")
    return tuple(1.0 if bits >> place & 1 else -1.0 for place in range(count))


def check_embedder(factory: Callable[[], Embedder], *, too_long: str | None = None) -> None:
    """Check the promises of `ports.Embedder`.

    `factory` returns the adapter, a new one or the same; `too_long` is a text that does not fit it.

    Promised: the name does not change; vectors have `dimensions` numbers and length 1, come in the order of the texts,
    and do not depend on the other texts; texts with any characters get a vector or an error of ours; threads may share
    it.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    assert callable(factory), f"pass the class or a factory: got an instance of {type(factory).__name__}"
    embedder = factory()
    assert embedder.name, "an embedder's name is not empty: vectors are kept under it"
    assert embedder.name == factory().name, "a name does not change"
    assert embedder.embed([]) == [], "no texts give no vectors"
    together = embedder.embed(TEXTS)
    assert len(together) == len(TEXTS), f"each text has its vector: got {len(together)} for {len(TEXTS)}"
    for text, vector in zip(TEXTS, together, strict=True):
        _checks_vector(vector, embedder.dimensions, text)
        (alone,) = factory().embed([text])
        _checks_same(vector, alone, f"{text!r} beside others and alone")
    assert _distance(together[0], together[1]) > ROUNDING, "two texts have two vectors"
    _checks_odd(embedder)
    threads = "threads that ask at once get their vectors"
    for (vector,) in at_once(4, lambda _: embedder.embed(TEXTS[:1]), threads):
        _checks_same(vector, together[0], "asked by several threads at once")
    if too_long is not None:
        what = "a text that does not fit is a ContextOverflowError, and is never cut silently"
        _raises(lambda: embedder.embed([too_long]), _OVERFLOW, what)


def _checks_vector(vector: Sequence[float], dimensions: int, text: str) -> None:
    assert isinstance(vector, tuple), f"a vector is a tuple: got {type(vector).__name__}"
    assert len(vector) == dimensions, f"a vector has {dimensions} numbers: got {len(vector)} for {text!a}"
    assert all(isinstance(value, float) for value in vector), f"its numbers are floats: {text!a}"
    length = math.hypot(*vector)
    assert abs(length - 1) <= ROUNDING, f"a vector has the length 1: got {length} for {text!a}"


def _checks_same(vector: Sequence[float], other: Sequence[float], what: str) -> None:
    distance = _distance(vector, other)
    assert distance <= ROUNDING, f"{what}: the same vector, but for rounding; a number differs by {distance}"


def _distance(vector: Sequence[float], other: Sequence[float]) -> float:
    return max(abs(a - b) for a, b in zip(vector, other, strict=True))


def _checks_odd(embedder: Embedder) -> None:
    for text in ODD_TEXTS:
        try:
            (vector,) = embedder.embed([text])
        except (LLMError, ContextOverflowError):
            continue  # what it refuses is its own affair, so long as it is told in our words
        except Exception as error:
            what = f"a vector, LLMError or ContextOverflowError for {text!a:.60}: got {type(error).__name__}: {error}"
            raise AssertionError(what) from error
        _checks_vector(vector, embedder.dimensions, text)


def check_loaded_model(factory: Callable[[], LoadedModel], *, answer_tokens: int = 16, embeds: bool = True) -> None:
    """Check the promises of `ports.LoadedModel` whose messages have the form "openai.chat".

    `factory` opens the model anew, with a window of at most a few thousand tokens; with `embeds`, one that makes
    vectors. Its answers may be anything, but the text must equal the streamed pieces.

    Promised: those of `check_chat`; a prompt that exceeds the window by one token is refused; the counter's and the
    embedder's own promises; after `close`, which may be called twice, an LLMError.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    model = factory()
    try:
        assert model.form == "openai.chat", f"this check speaks openai.chat, not {model.form!r}"
        check_token_counter(model.counter)
        check_chat(lambda: model, answer_tokens=answer_tokens)
        assert model.reply(rounds("openai.chat")[-1][0], answer_tokens).input_tokens > 0, "a prompt has tokens"
        _checks_window(model, answer_tokens)
        if embeds:
            check_embedder(model.embedder)
    finally:
        model.close()
        model.close()
    _raises(lambda: model.reply(ASKED, answer_tokens), (LLMError,), "a model that is closed answers with an LLMError")


def _checks_window(model: LoadedModel, most: int) -> None:
    window = model.window_tokens
    assert model.served.window_tokens == window, "the window is the one that the runtime reported"
    if window is None:
        return
    input_tokens = model.reply(ASKED, most).input_tokens
    assert input_tokens + most <= window, (
        f"this check needs a window of more than {input_tokens + most}: it is {window}"
    )
    long: tuple[Json, ...] = ({"role": "user", "content": "word " * (window * 4)},)
    what = "messages and an answer that exceed the window are a ContextOverflowError"
    for messages, tokens in ((ASKED, window - input_tokens + 1), (long, most)):
        _raises(partial(model.reply, messages, tokens), _OVERFLOW, what)
