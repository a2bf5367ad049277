"""A model by llama-cpp-python: chats with the template in its file, counts with its vocabulary, embeds."""

from __future__ import annotations

import codecs
import contextlib
import ctypes
import io
import json
import os
import re
import sys
import threading
import weakref
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llama_cpp
from llama_cpp.llama_chat_format import Jinja2ChatFormatter

from squidbot.adapters.common.counts import ExactCounter
from squidbot.adapters.common.llama_log import read_buffers
from squidbot.adapters.common.providers import (
    ChatModel,
    TextReply,
    check_room,
    job_messages,
    unit_vector,
    well_formed,
)
from squidbot.adapters.llama_cpp.calls import ToolCallFilter, assistant_message, read_calls
from squidbot.adapters.llama_cpp.params import GGML_TYPES, LOG, context_params
from squidbot.adapters.llama_cpp.verify import last_words, verify
from squidbot.core.errors import ContextOverflowError, LLMError, ModelLoadError
from squidbot.core.messages import Reply
from squidbot.core.sizing.header import Loading, RuntimeReport
from squidbot.core.tokens.counters import TemplateCounter

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from typing import TextIO

    from squidbot.core.ports import Embedder
    from squidbot.core.sizing.header import Definition

# llama-cpp-python's log, output and settings are shared in the process: models load one after the other.
_ONE_AT_A_TIME = threading.Lock()


def load(definition: Definition) -> tuple[llama_cpp.Llama, RuntimeReport]:
    """Load a model into this process, and return it with its runtime's setup.

    Raises:
        ModelLoadError: it can't be loaded this way; the text has llama.cpp's last words. Nothing stays in memory.
    """
    loading = definition.loading
    if loading.n_seq_max != 1 or loading.n_rs_seq or loading.n_outputs_max is not None:
        raise ModelLoadError("llama_cpp serves one sequence at a time: n_seq_max must be 1, n_rs_seq and outputs unset")
    with _ONE_AT_A_TIME:
        LOG.listen()
        mark = LOG.mark()
        # __init__ apart from __new__: otherwise a failed model's memory would live as long as the error.
        llama = llama_cpp.Llama.__new__(llama_cpp.Llama)
        try:
            with _Quiet.stderr():
                llama.__init__(definition.path, **_arguments(loading))
        except (
            Exception
        ) as error:  # ValueError mostly; the arguments are ours, so an error never means an incorrect call
            with contextlib.suppress(AttributeError):  # it failed before there was anything to close
                llama.close()
            reason = last_words(LOG.since(mark)) or str(error)
            raise ModelLoadError(f"llama.cpp cannot load {definition.path}; its last message: {reason}") from error
        llama.verbose = False
        read = read_buffers(LOG.since(mark))
    window = int(llama_cpp.llama_n_ctx_seq(llama.ctx))
    return llama, RuntimeReport(window, *read)


def _arguments(loading: Loading) -> Mapping[str, object]:
    """Return every parameter that affects memory: llama-cpp-python's defaults take several times as much."""
    return {
        "n_ctx": loading.n_ctx,
        "n_batch": loading.n_batch,
        "n_ubatch": loading.n_ubatch or loading.n_batch,
        "n_gpu_layers": loading.n_gpu_layers,
        "tensor_split": [*loading.tensor_split] or None,
        "type_k": GGML_TYPES[loading.type_k],
        "type_v": GGML_TYPES[loading.type_v],
        "flash_attn": loading.flash_attn,
        "swa_full": loading.swa_full,
        # If not verbose, it redirects the whole process's standard output and error during loading: also those of other
        # threads, which may talk to a host there.
        "verbose": True,
    }


class _Quiet(io.TextIOBase):
    """Standard error without the writes of one thread."""

    def __init__(self, other: TextIO) -> None:
        self._other = other
        self._thread = threading.get_ident()

    @classmethod
    def stderr(cls) -> contextlib.AbstractContextManager[object]:
        return contextlib.redirect_stderr(cls(sys.stderr))

    def write(self, text: str) -> int:
        return len(text) if threading.get_ident() == self._thread else self._other.write(text)

    def flush(self) -> None:
        self._other.flush()


# For a file without a template, as in llama.cpp.
_CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{% endfor %}{{ '<|im_start|>assistant\\n' }}"
)
# For a template without tools: describes them in the form of Hermes' and Qwen's training.
_TOOLS = (
    "You can call these tools, each given as JSON:\n<tools>\n{tools}\n</tools>\n"
    "To call one, answer with its name and arguments:\n"
    '<tool_call>\n{{"name": "...", "arguments": {{...}}}}\n</tool_call>'
)

Message = dict[str, Any]


class ChatTemplate:
    """A model's chat template. It is a program from the file, so it runs in Jinja's sandbox."""

    def __init__(self, metadata: Mapping[str, str], *, begin: str, end: str) -> None:
        """Take the file's metadata as texts, and the texts of its first and last token; "" for none.

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
            raise LLMError("unusable", f"cannot read the model's chat template: {error}") from error

    def render(self, messages: Sequence[Mapping[str, object]], tools: Sequence[Mapping[str, object]]) -> str:
        """Return the text, ending with the beginning of the answer.

        Raises:
            LLMError: the template refuses these messages, or one has a part that is not text.
        """
        plain = [_plain(message) for message in messages]
        if not self._knows_tools:
            plain = _with_tools_as_text(plain, tools)
        formatter = self._with_tools if tools else self._plain
        try:
            return _rendered(formatter, plain, tools)
        except Exception as error:  # a template can raise anything
            merged = _system_merged(plain)
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
    """Return a message for templates: its content as one text, the arguments of its calls as objects.

    Raises:
        LLMError: a part of it is no text.
    """
    plain: Message = {**message, "content": _text(message.get("content"))}
    if message.get("tool_calls"):
        plain["tool_calls"] = [_template_call(call) for call in plain["tool_calls"]]
    return plain


def _text(content: object) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    parts: list[str] = []
    for part in content if isinstance(content, list) else [content]:
        if not isinstance(part, dict) or not isinstance(part.get("text"), str):
            kind = part.get("type") if isinstance(part, dict) else type(part).__name__
            raise LLMError("refused", f"llama_cpp accepts text messages only, not parts of type {kind!r}")
        parts.append(part["text"])
    return "".join(parts)


def _template_call(call: Mapping[str, Any]) -> Message:
    function = call["function"]
    try:
        arguments = json.loads(function["arguments"])
    except (TypeError, ValueError):
        return {**call}
    return {**call, "function": {**function, "arguments": arguments}} if isinstance(arguments, dict) else {**call}


def _with_tools_as_text(messages: list[Message], tools: Sequence[Mapping[str, object]]) -> list[Message]:
    """Return messages with tools, calls and results written out as text."""
    plain = [_as_text(message) for message in messages]
    if not tools:
        return plain
    description = _TOOLS.format(tools="\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools))
    if plain and plain[0]["role"] == "system":
        return [{**plain[0], "content": f"{plain[0]['content']}\n\n{description}"}, *plain[1:]]
    return [{"role": "system", "content": description}, *plain]


def _as_text(message: Message) -> Message:
    if message["role"] == "tool":
        return {"role": "user", "content": f"<tool_response>\n{message['content']}\n</tool_response>"}
    content = message["content"]
    for call in message.get("tool_calls") or ():
        named = {key: call["function"][key] for key in ("name", "arguments")}
        content += f"\n<tool_call>\n{json.dumps(named, ensure_ascii=False)}\n</tool_call>"
    return {"role": message["role"], "content": content.removeprefix("\n")}


def _system_merged(messages: list[Message]) -> list[Message] | None:
    """Return messages with the system text in the first user message, for templates without one; `None` if impossible.

    Gemma's templates do.
    """
    if len(messages) < 2 or messages[0]["role"] != "system" or messages[1]["role"] != "user":
        return None
    system, user, *rest = messages
    return [{**user, "content": f"{system['content']}\n\n{user['content']}"}, *rest]


def _generated(
    llama: llama_cpp.Llama, tokens: Sequence[int], most: int, temperature: float
) -> Generator[int, None, None]:
    if not tokens:
        raise LLMError("refused", "the model's chat template cannot render these messages")
    if most < 1:
        return
    mark = LOG.mark()
    llama_cpp.llama_perf_context_reset(llama.ctx)
    generated = llama.generate(tokens, temp=temperature)
    try:
        for _ in range(most):
            yield next(generated)
    except (RuntimeError, ValueError, AssertionError, OSError) as error:
        llama.reset()
        raise LLMError(
            "refused", f"llama.cpp failed: {error}; its last message: {last_words(LOG.since(mark))}"
        ) from error
    finally:
        generated.close()


# llama.cpp takes 31-bit lengths; a longer text counts by its bytes, and no model takes it.
MOST_BYTES = 2**30
# The longest token of known vocabularies; the buffer grows for a longer one.
PIECE_BYTES = 256
# llama.cpp's number for "this file has no vocabulary"; it aborts when such a file is to tokenize.
_NO_VOCABULARY = 0


class Vocabulary(ExactCounter):
    """Counts with a model file's own vocabulary. Threads may share it, and it outlives the model.

    A text with a control token's spelling ("<|im_end|>") counts as that token, because llama-cpp-python reads it so
    anywhere in a chat. Some vocabularies put a space before a text; it is counted with every text.
    """

    def __init__(self, path: str | Path) -> None:
        """Read a model file's vocabulary, of several parts the first.

        Raises:
            ModelLoadError: llama.cpp can't read it, or it has none.
        """
        super().__init__(f"llama_cpp:{Path(path).stem}")
        LOG.listen()
        mark = LOG.mark()
        llama_cpp.llama_backend_init()
        params = llama_cpp.llama_model_default_params()
        params.vocab_only = True
        model = llama_cpp.llama_model_load_from_file(os.fsencode(path), params)
        if not model:
            said = last_words(LOG.since(mark)) or "nothing"
            raise ModelLoadError(f"llama.cpp cannot read the vocabulary of {path}; its last message: {said}")
        weakref.finalize(self, llama_cpp.llama_model_free, model).atexit = False
        self._vocab = llama_cpp.llama_model_get_vocab(model)
        if llama_cpp.llama_vocab_type(self._vocab) == _NO_VOCABULARY:
            raise ModelLoadError(f"{path} has no vocabulary, so squidbot cannot count its tokens or send it texts")

    def count(self, text: str) -> int:
        """Return the tokens of a text, of any length, without the chat template's additions."""
        data = well_formed(text).encode()
        return len(data) + 1 if len(data) > MOST_BYTES else self._count(data, begin=False, control=True)

    def tokens(self, text: str, *, begin: bool, control: bool) -> list[int]:
        """Return the tokens of a text.

        Args:
            text: of at most `MOST_BYTES`.
            begin: whether to add the token that begins a text, if the model wants one.
            control: whether spelled control tokens are read as such.
        """
        data = well_formed(text).encode()
        buffer = (llama_cpp.llama_token * self._count(data, begin=begin, control=control))()
        llama_cpp.llama_tokenize(self._vocab, data, len(data), buffer, len(buffer), begin, control)
        return list(buffer)

    def piece(self, token: int, *, control: bool) -> bytes:
        """Return the text of a token, which may be a part of a character; of a control token only if `control`."""
        size = PIECE_BYTES
        while True:
            buffer = ctypes.create_string_buffer(size)
            count = int(llama_cpp.llama_token_to_piece(self._vocab, token, buffer, size, 0, control))
            if count >= 0:
                return buffer.raw[:count]
            size = -count

    def ends(self, token: int) -> bool:
        """Return whether a token ends an answer."""
        return bool(llama_cpp.llama_vocab_is_eog(self._vocab, token))

    def edges(self) -> tuple[str, str]:
        """Return the texts of the tokens that begin and end a text; "" for none."""
        begin, end = (
            llama_cpp.llama_vocab_get_text(self._vocab, token).decode("utf-8", "replace") if token >= 0 else ""
            for token in (llama_cpp.llama_vocab_bos(self._vocab), llama_cpp.llama_vocab_eos(self._vocab))
        )
        return begin, end

    def _count(self, data: bytes, *, begin: bool, control: bool) -> int:
        # Without room for the tokens, it returns their number as a negative.
        return -int(llama_cpp.llama_tokenize(self._vocab, data, len(data), None, 0, begin, control))


# A text goes through in one batch, and a batch's memory grows with it; embedding models take 512 to 8,192.
MOST_TOKENS = 2048


class LlamaEmbedder:
    """An `Embedder` over a loaded model. Threads may share it, and wait for each other.

    A vector is the mean over all tokens, unless the model's file names another pooling.
    """

    def __init__(self, llama: llama_cpp.Llama, vocabulary: Vocabulary, name: str, loading: Loading) -> None:
        """Make the context: `loading` is how the model was loaded.

        Raises:
            LLMError: llama.cpp creates no such context; the text has its last words.
        """
        self.name = name
        self._lock = threading.Lock()
        self._vocabulary = vocabulary
        self.dimensions = int(llama_cpp.llama_model_n_embd_out(llama.model))
        self._most = min(loading.n_ctx, MOST_TOKENS, int(llama_cpp.llama_model_n_ctx_train(llama.model)))
        own = Loading(
            n_ctx=self._most,
            n_batch=self._most,
            n_ubatch=self._most,
            type_k=loading.type_k,
            type_v=loading.type_v,
            flash_attn=loading.flash_attn,
        )
        mark = LOG.mark()
        context = _context(llama, own, llama_cpp.LLAMA_POOLING_TYPE_UNSPECIFIED)
        if context and llama_cpp.llama_pooling_type(context) == llama_cpp.LLAMA_POOLING_TYPE_NONE:
            llama_cpp.llama_free(context)
            context = _context(llama, own, llama_cpp.LLAMA_POOLING_TYPE_MEAN)
        if not context:
            raise LLMError("refused", f"llama.cpp cannot embed with it: {last_words(LOG.since(mark))}")
        self._context = context

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return a vector of length 1 for each text, in order.

        Raises:
            ContextOverflowError: a text has more tokens than fit one batch.
            LLMError: llama.cpp failed, or the model is closed.
        """
        return [self._vector(self._tokens(text)) for text in texts]

    def close(self) -> None:
        """Free the context; a second call does nothing."""
        with self._lock:
            if self._context:
                llama_cpp.llama_free(self._context)
                self._context = None

    def _tokens(self, text: str) -> Sequence[int]:
        tokens = self._vocabulary.tokens(text, begin=True, control=False)
        if len(tokens) > self._most:
            raise ContextOverflowError(
                f"a text of {len(tokens)} tokens is more than the {self._most} that are embedded"
            )
        if not tokens:
            raise LLMError("refused", "cannot embed an empty text with this model")
        return tokens

    def _vector(self, tokens: Sequence[int]) -> tuple[float, ...]:
        with self._lock:
            if not self._context:
                raise LLMError("unreachable", f"{self.name} is closed")
            mark = LOG.mark()
            memory = llama_cpp.llama_get_memory(self._context)
            if memory:
                llama_cpp.llama_memory_clear(memory, True)  # noqa: FBT003  # C
            buffer = (llama_cpp.llama_token * len(tokens))(*tokens)  # a batch keeps only a pointer
            batch = llama_cpp.llama_batch_get_one(buffer, len(tokens))
            failed = llama_cpp.llama_decode(self._context, batch)
            found = None if failed else llama_cpp.llama_get_embeddings_seq(self._context, 0)
            if not found:
                raise LLMError("refused", f"llama.cpp embeds nothing ({failed}): {last_words(LOG.since(mark))}")
            values = [float(value) for value in found[: self.dimensions]]
        return unit_vector(self.name, values, 0)


def _context(llama: llama_cpp.Llama, loading: Loading, pooling: int) -> llama_cpp.llama_context_p | None:
    params = context_params(loading)
    params.embeddings = True
    params.pooling_type = pooling
    return llama_cpp.llama_init_from_model(llama.model, params)


# The reasoning that models write before their answer.
_THOUGHT = re.compile(r"^\s*<think>.*?</think>\s*", re.DOTALL)


def open_model(definition: Definition, *, trial: bool = False) -> LlamaModel:
    """Load a model with the window of its definition.

    llama.cpp ends the process instead of refusing. Check with `core.sizing.validity` first; `trial` first plans the
    same in a child, which takes a second, and finds problems that no header shows.

    Raises:
        ModelLoadError: it can't be loaded this way, or has no vocabulary; the text has llama.cpp's last words.
        SizingError: the trial can't run.
    """
    if trial:
        (tried,) = verify(definition.path, [definition.loading]).settings
        if tried.failure:
            raise ModelLoadError(f"llama.cpp cannot load {definition.path}: {tried.failure}")
    vocabulary = Vocabulary(definition.path)
    return LlamaModel(definition, vocabulary, *load(definition))


class LlamaModel(ChatModel):
    """A `LoadedModel` over llama-cpp-python. Threads may share it: it answers one at a time.

    `on_text` runs during an answer: it must not call this model. The counter waits for nothing.
    """

    def __init__(
        self, definition: Definition, vocabulary: Vocabulary, llama: llama_cpp.Llama, served: RuntimeReport
    ) -> None:
        """Use `open_model`."""
        super().__init__(definition.alias or Path(definition.path).stem, vocabulary)
        self._loading = definition.loading
        self._vocabulary = vocabulary
        self._llama: llama_cpp.Llama | None = llama
        # From llama.cpp's log, right to within 0.005 MiB for each line.
        self.served = served
        self.window_tokens = served.window_tokens
        self._lock = threading.Lock()
        self._embedder: LlamaEmbedder | None = None
        begin, end = vocabulary.edges()
        self._template = ChatTemplate(llama.metadata, begin=begin, end=end)
        with suppress(LLMError):  # a template that refuses every message: the model takes only plain texts
            self.counter = TemplateCounter(vocabulary, self.prompt_tokens)

    def prompt_tokens(
        self, messages: Sequence[Mapping[str, object]], tools: Sequence[Mapping[str, object]] = ()
    ) -> int:
        """Return the tokens of messages, including the template's additions.

        Raises:
            LLMError: the template refuses the messages.
        """
        return len(self._prompt(messages, tools))

    def reply(
        self,
        messages: Sequence[Mapping[str, object]],
        max_output_tokens: int,
        tools: Sequence[Mapping[str, object]] = (),
        on_text: Callable[[str], None] | None = None,
        stable: Sequence[int] = (),  # noqa: ARG002  # it keeps the newest prompt whole
    ) -> Reply:
        """Return the next message; tool calls are read from the model's text, in the trained forms.

        Raises:
            ContextOverflowError: messages, tools and the room for the answer exceed the window.
            LLMError: the template refuses the messages, the model is closed, or llama.cpp failed.
        """
        shown = None if on_text is None else ToolCallFilter(on_text, may_call=bool(tools))
        text, ended, tokens = self._generate(messages, max_output_tokens, tools, on_text=shown.add if shown else None)
        text, calls = read_calls(text, _names(tools)) if tools else (text, ())
        if shown is not None:
            shown.end(text)
        finish = ("tool_calls" if calls else "stop") if ended else "length"
        return Reply(assistant_message(text, calls), finish, *tokens)

    def embedder(self) -> Embedder:
        """Return an embedder with this model; the first call creates its context, which takes memory.

        Raises:
            LLMError: the model is closed, or llama.cpp makes no such context.
        """
        with self._lock:
            llama = self._open()
            if self._embedder is None:
                self._embedder = LlamaEmbedder(llama, self._vocabulary, self.name, self._loading)
            return self._embedder

    def close(self) -> None:
        """Free the model and its contexts, after an answer in progress; a second call does nothing."""
        with self._lock:
            if self._embedder is not None:
                self._embedder.close()
            if self._llama is not None:
                self._llama.close()
                self._llama = None

    def _open(self) -> llama_cpp.Llama:
        if self._llama is None:
            raise LLMError("unreachable", f"{self.name} is closed")
        return self._llama

    def _prompt(self, messages: Sequence[Mapping[str, object]], tools: Sequence[Mapping[str, object]]) -> list[int]:
        """Return the rendered messages as tokens. The template writes the first token if the model wants one."""
        return self._vocabulary.tokens(self._template.render(messages, tools), begin=False, control=True)

    def _job(self, system: str, prompt: str, most: int) -> TextReply:
        messages = job_messages(system, prompt)
        text, ended, tokens = self._generate(messages, most, (), temperature=0)
        text = _THOUGHT.sub("", text)
        return text, Reply(assistant_message(text, ()), "stop" if ended else "length", *tokens)

    def _generate(
        self,
        messages: Sequence[Mapping[str, object]],
        max_output_tokens: int,
        tools: Sequence[Mapping[str, object]],
        *,
        temperature: float = 0.2,
        on_text: Callable[[str], None] | None = None,
    ) -> tuple[str, bool, tuple[int, int, int]]:
        """Return the text, whether the model ended it, and the tokens of the input, the output and the cached input.

        A `temperature` of 0 always takes the likeliest token; 0.2 is llama-cpp-python's default.
        """
        prompt = self._prompt(messages, tools)
        check_room(self.name, len(prompt), max_output_tokens, self.window_tokens or 0)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        texts: list[str] = []
        count, ended, cached = 0, False, 0

        def add(text: str) -> None:
            if text:
                texts.append(text)
                if on_text is not None:
                    on_text(text)

        with self._lock:
            llama = self._open()
            with closing(_generated(llama, prompt, max_output_tokens, temperature)) as generated:
                for token in generated:
                    if not count:
                        cached = len(prompt) - int(llama_cpp.llama_perf_context(llama.ctx).n_p_eval)
                    count += 1
                    if ended := self._vocabulary.ends(token):
                        break
                    # A tool call may begin with a control token.
                    add(decoder.decode(self._vocabulary.piece(token, control=bool(tools))))
                add(decoder.decode(b"", final=True))
        return "".join(texts), ended, (len(prompt), count, max(0, cached))


def _names(tools: Sequence[Mapping[str, object]]) -> set[str]:
    functions = [tool.get("function") for tool in tools]
    return {str(function["name"]) for function in functions if isinstance(function, dict) and "name" in function}
