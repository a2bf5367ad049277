"""A model by xllamacpp: llama.cpp's server inside this process. It chats, counts and embeds."""

from __future__ import annotations

import ctypes
import http.client
import json
import os
import re
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import IO, TYPE_CHECKING, Any
from uuid import uuid4

import xllamacpp

from squidbot.adapters.common.counts import ExactCounter, hold
from squidbot.adapters.common.llama_log import read_buffers
from squidbot.adapters.common.providers import (
    ChatAnswer,
    ChatModel,
    TextReply,
    check_room,
    job_messages,
    unit_vector,
    well_formed,
)
from squidbot.core.errors import ContextOverflowError, LLMError, ModelLoadError
from squidbot.core.messages import Reply, Usage
from squidbot.core.sizing.header import RuntimeReport
from squidbot.core.tokens.counters import TemplateCounter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from squidbot.adapters.common.llama_log import Buffers
    from squidbot.core.sizing.header import Definition, Loading


UNAVAILABLE, SERVER_ERROR = 503, 500
# With tools, llama.cpp's server (2026.10) parses an answer again at its end, and fails if the last token is a part of a
# character, as at the limit. By then all text was streamed.
_UNREAD = "does not match the expected"


def to_json(body: Mapping[str, object]) -> bytes:
    """Return a request as JSON in UTF-8; lone surrogates become U+FFFD.

    Raises:
        LLMError: JSON can't hold the request.
    """
    try:
        return well_formed(json.dumps(body, ensure_ascii=False)).encode()
    except (TypeError, ValueError) as error:
        raise LLMError("refused", f"the request is not JSON: {error}") from error


def failure(error: Mapping[str, object]) -> Exception:
    """Return an error of llama.cpp's server as ours."""
    message = str(error.get("message") or error)
    if error.get("type") == "exceed_context_size_error":
        return ContextOverflowError(message)
    code = error.get("code")
    if not isinstance(code, int) or code < SERVER_ERROR:
        return LLMError("refused", message)
    return LLMError("unreachable" if code == UNAVAILABLE else "unusable", message)


class StreamedAnswer:
    """An answer in pieces. The runtime calls `take` with each, in the calling thread."""

    def __init__(self, on_text: Callable[[str], None] | None, limits: Usage) -> None:
        """Start empty; `on_text` gets each piece of the text. `limits`: the prompt's tokens, and the answer's limit."""
        self._told = on_text
        self._limits = limits
        self._answer = ChatAnswer()
        self._failure: BaseException | None = None

    def take(self, piece: bytes) -> bool:
        """Take one piece, and return whether to stop. Raise nothing: the runtime would swallow it."""
        if piece.strip() == b"[DONE]":
            return False
        try:
            chunk = json.loads(piece)
            if "error" in chunk:
                self._end_with(chunk["error"])
            if (text := self._answer.take(chunk)) and self._told is not None:
                self._told(text)
        except BaseException as error:  # noqa: BLE001  # kept, and raised by `reply` in the same thread
            self._failure = error
        return self._failure is not None

    def reply(self) -> Reply:
        """Return the whole answer, without a truncated call: its arguments could never be sent again.

        Raises:
            ContextOverflowError, LLMError: the runtime reported that there is none.
            BaseException: an error of `on_text`.
        """
        if self._failure is not None:
            raise self._failure
        answer = self._answer
        if not answer.finish:
            raise LLMError("unreachable", "the runtime stopped within an answer")
        calls = [call for call in map(_whole_call, answer.calls()) if call]
        finish = "length" if answer.finish == "length" else "tool_calls" if calls else "stop"
        reply = answer.reply(finish)
        message = {**reply.message, "tool_calls": calls, "content": reply.message.get("content") or None}
        if not calls:
            del message["tool_calls"]
            message["content"] = message["content"] or ""
        return reply._replace(message=message)

    def _end_with(self, error: Mapping[str, object]) -> None:
        if self._answer.calls() or _UNREAD not in str(error.get("message")):
            raise failure(error)
        self._answer.finish = "length"
        tokens = {"prompt_tokens": self._limits.input_tokens, "completion_tokens": self._limits.output_tokens}
        self._answer.usage = tokens


def _whole_call(call: Mapping[str, Any]) -> dict[str, object] | None:
    function = call.get("function") or {}
    name, arguments = function.get("name"), function.get("arguments") or "{}"
    try:
        if not name or not isinstance(json.loads(arguments), dict):
            return None
    except ValueError:
        return None
    call_id = call.get("id") or f"call_{uuid4().hex}"
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


STDERR = 2
# llama.cpp's levels: -1 is silence, 1 errors, 4 its library's lines about buffers.
SILENT, ERRORS, BUFFERS = -1, 1, 4
# It sets the level when it loads, and has no documented way to reset it: a C++ function, if it can be found.
_LEVEL_SETTER = "_Z30common_log_set_verbosity_tholdi"
# Its thread writes within a millisecond; these are its last lines after success and failure.
PATIENCE_SECONDS, LOOK_SECONDS = 0.5, 0.002
_LAST = (b"listening on", b"exiting due to")
# "0.00.006.468 I load_tensors:   CPU_Mapped model buffer size =     0.08 MiB"
_LINE = re.compile(r"\d+\.\d{2}\.\d{3}\.\d{3} ([A-Z] .*)")
# It checks once whether standard error is a terminal, and then always colours its output, to any target.
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_ONE_AT_A_TIME = Lock()


def loading_verbosity() -> int:
    """Return the log level for loading: with buffer sizes if it can be lowered again, else errors only."""
    return ERRORS if _level_setter() is None else BUFFERS


@contextmanager
def captured_log() -> Iterator[list[str]]:
    """Collect the lines that llama.cpp logs during the block; the list is filled at its end."""
    lines: list[str] = []
    # Opened for appending: reading moves the position of its thread's next write, which both share.
    with _ONE_AT_A_TIME, tempfile.TemporaryFile("a+b") as file:
        if sys.stderr is not None:
            sys.stderr.flush()
        try:
            own = os.dup(STDERR)
        except OSError:  # a process without standard error: prints and captures nothing
            yield lines
            return
        os.dup2(file.fileno(), STDERR)
        try:
            yield lines
        finally:
            if (setter := _level_setter()) is not None:
                setter(SILENT)
            text = _whole_log(file)
            os.dup2(own, STDERR)
            os.close(own)
            _sort(text, lines)


def reason(lines: Sequence[str]) -> str:
    """Return the first error among lines, which causes the later ones; without one the last line."""
    errors = [line for line in lines if line.startswith("E ")]
    return errors[0][2:].strip() if errors else lines[-1][2:].strip() if lines else "nothing"


def _level_setter() -> ctypes._NamedFuncPointer | None:
    library = ctypes.CDLL(xllamacpp.xllamacpp.__file__)
    return getattr(library, _LEVEL_SETTER, None)


def _whole_log(file: IO[bytes]) -> str:
    """Return the text of a log file to its end, which another thread may still be writing."""
    end = time.monotonic() + PATIENCE_SECONDS
    before, text = b"", b" "
    while time.monotonic() < end and not (before == text and any(words in text for words in _LAST)):
        before = text
        time.sleep(LOOK_SECONDS)
        file.seek(0)
        text = file.read()
    return text.decode("utf-8", "replace")


def _sort(text: str, lines: list[str]) -> None:
    """Add llama.cpp's lines to `lines`, and write all others to standard error."""
    ours = False
    for line in text.splitlines():
        if match := _LINE.match(_COLOURS.sub("", line)):
            lines.append(match[1].strip())
        elif not ours and sys.stderr is not None:
            sys.stderr.write(f"{line}\n")
        ours = match is not None or ours


# Counting answers within milliseconds, a text of megabytes within seconds; generating has no limit.
TIMEOUT_SECONDS = 60.0


class Runtime:
    """One loaded server. Threads may share it: it answers one after the other.

    Attributes:
        sizes: its buffers' sizes; `None` if its log lacks them.
    """

    def __init__(self, params_for: Callable[[str, int], xllamacpp.CommonParams], path: str) -> None:
        """Load it: `params_for` returns its parameters, given its port's key and its log level.

        Raises:
            ModelLoadError: it can't be loaded; the text has llama.cpp's output.
        """
        if not Path(path).is_file():
            raise ModelLoadError(f"no such file: {path}")
        self._key = token_hex(16)
        lines: list[str] = []
        try:
            with captured_log() as lines:
                self._server: xllamacpp.Server | None = xllamacpp.Server(params_for(self._key, loading_verbosity()))
        except (RuntimeError, ValueError) as error:
            raise ModelLoadError(f"llama.cpp cannot load {path}: {reason(lines)}") from error
        buffers = read_buffers(lines)
        self.sizes: Buffers | None = buffers if any(buffers) else None
        self._lock = Lock()
        address = self._server.listening_address.removeprefix("http://")
        self._port = http.client.HTTPConnection(address, timeout=TIMEOUT_SECONDS)
        # If it is freed before its loop takes tasks, it waits for the loop's end for ever: the loop then starts without
        # the stop signal (xllamacpp 2026.10, on a busy machine). The loop answers the request for slots.
        try:
            self.ask("GET", "/slots")
        except LLMError as error:
            raise ModelLoadError(f"llama.cpp's server in this process does not answer: {error}") from error

    @property
    def server(self) -> xllamacpp.Server:
        """The server object in this process.

        Raises:
            LLMError: it is closed.
        """
        if (server := self._server) is None:
            raise LLMError("unreachable", "the model was closed")
        return server

    def ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Any:  # noqa: ANN401  # JSON
        """Return the JSON answer to a request through its port.

        Raises:
            ContextOverflowError, LLMError: it reports so, is closed, or is unreachable.
        """
        sent = None if body is None else to_json(body)
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        with self._lock:
            try:
                status, text = self._sent(method, path, sent, headers)
            except (OSError, http.client.HTTPException):
                # It closes connections after some silent seconds or many requests; retry once, on a new one.
                try:
                    status, text = self._sent(method, path, sent, headers)
                except (OSError, http.client.HTTPException) as error:
                    raise LLMError("unreachable", f"llama.cpp's server in this process: {error!r}") from error
        answer = json.loads(text)
        if status != http.client.OK:
            raise failure(answer.get("error", {"message": f"{path}: status {status}"}))
        return answer

    def close(self) -> None:
        """Free its memory after pending answers; a second call does nothing."""
        with self._lock:
            # An open connection would keep its threads for some seconds.
            self._port.close()
            self._server = None

    def _sent(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        _ = self.server
        try:
            self._port.request(method, path, body, headers)
            answer = self._port.getresponse()
            return answer.status, answer.read()
        except BaseException:
            self._port.close()
            raise


# Copies of state that sliding and recurrent layers need to continue from an earlier point of a conversation. llama.cpp
# keeps 32, which is gigabytes of main memory for a large model; we only go back by one turn and one event.
CHECKPOINTS = 4
# A text is embedded in one physical batch, at most this long.
EMBEDDED_TOKENS = 2048


def for_chat(path: str, loading: Loading, threads: int, key: str, verbosity: int) -> xllamacpp.CommonParams:
    """Return the parameters of a chat server; its local port requires `key`."""
    params = _quiet(path, threads, key, verbosity)
    params.n_ctx = loading.n_ctx
    params.n_batch = loading.n_batch
    params.n_ubatch = loading.n_ubatch or loading.n_batch
    params.n_parallel = loading.n_seq_max
    params.kv_unified = loading.kv_unified
    params.cache_type_k = _type(loading.type_k)
    params.cache_type_v = _type(loading.type_v)
    params.flash_attn_type = _flash(on=loading.flash_attn)
    params.swa_full = loading.swa_full
    params.n_gpu_layers = loading.n_gpu_layers
    if loading.tensor_split:
        params.tensor_split = [*loading.tensor_split, *[0.0] * (len(params.tensor_split) - len(loading.tensor_split))]
    return params


def for_vectors(  # noqa: PLR0913, PLR0917  # what one load depends on; key and level come last
    path: str, loading: Loading, threads: int, pooling: xllamacpp.llama_pooling_type, key: str, verbosity: int
) -> xllamacpp.CommonParams:
    """Return the parameters of an embedding server, which uses main memory only."""
    params = _quiet(path, threads, key, verbosity)
    params.embedding = True
    params.pooling_type = pooling
    params.n_ctx = params.n_batch = params.n_ubatch = min(loading.n_ctx, EMBEDDED_TOKENS)
    params.n_parallel = 1
    params.flash_attn_type = _flash(on=loading.flash_attn)
    params.swa_full = False
    params.n_gpu_layers = 0
    params.no_kv_offload = params.no_op_offload = True
    return params


def _quiet(path: str, threads: int, key: str, verbosity: int) -> xllamacpp.CommonParams:
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.verbosity = verbosity
    if threads:
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    # llama.cpp would silently reduce the window.
    params.fit_params = False
    # Its port is for us: a free one, on this machine, with a key, and without unused endpoints.
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.cors_origins = ""
    params.ui = params.endpoint_metrics = params.endpoint_props = False
    params.endpoint_slots = True
    # The one cached conversation continues; no others are kept, which would take 8 GiB of main memory.
    params.cache_prompt = True
    params.cache_ram_mib = 0
    params.cache_idle_slots = False
    params.n_ctx_checkpoints = CHECKPOINTS
    params.ctx_shift = False
    return params


def _type(name: str) -> xllamacpp.ggml_type:
    return getattr(xllamacpp.ggml_type, f"GGML_TYPE_{name.upper()}")


def _flash(*, on: bool) -> xllamacpp.llama_flash_attn_type:
    kinds = xllamacpp.llama_flash_attn_type
    return kinds.LLAMA_FLASH_ATTN_TYPE_ENABLED if on else kinds.LLAMA_FLASH_ATTN_TYPE_DISABLED


# Cached counts, oldest dropped first: a long conversation is counted again after each restart, and hardly ever twice
# within one. An entry takes about 150 bytes.
REMEMBERED = 8192
# Every special token of the models at hand has one of these.
SPECIAL_MARKS = "<[|\uff5c"


class VocabularyCounter(ExactCounter):
    """Counts as the model's own runtime does; for a text that spells special tokens, the larger count.

    In a chat the runtime reads them as special tokens; elsewhere they are characters.
    """

    def __init__(self, runtime: Runtime, name: str) -> None:
        """Count with a loaded model; `name` says which."""
        super().__init__(name)
        self._runtime = runtime
        self._known: dict[bytes, int] = {}
        self._lock = Lock()

    def count(self, text: str) -> int:
        """Return the tokens of a text; a lone surrogate counts as its replacement character.

        Raises:
            LLMError: the model is closed; never else.
        """
        if not text:
            return 0
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if (known := self._known.get(key)) is None:
            sent = well_formed(text)
            known = self._tokens(sent, special=True)
            if any(mark in sent for mark in SPECIAL_MARKS):
                known = max(known, self._tokens(sent, special=False))
            with self._lock:
                hold(self._known, key, known, REMEMBERED)
        return known

    def _tokens(self, text: str, *, special: bool) -> int:
        body = {"content": text, "add_special": False, "parse_special": special}
        return len(self._runtime.ask("POST", "/tokenize", body)["tokens"])


_POOLING = xllamacpp.llama_pooling_type


class XllamacppEmbedder:
    """Embeds with a model's file, loaded once more into main memory.

    A model's own pooling is used; without one, the mean over all tokens. Texts are embedded one after the other.
    """

    def __init__(self, definition: Definition, name: str, threads: int) -> None:
        """Load the model.

        Raises:
            LLMError: it makes no vectors.
            ModelLoadError: it can't be loaded.
        """
        self.name = name
        self._lock = Lock()
        self._runtime = _loaded(definition, threads, _POOLING.LLAMA_POOLING_TYPE_UNSPECIFIED)
        try:
            try:
                self.dimensions = len(self._vector("squid"))
            except LLMError:
                self._runtime.close()
                self._runtime = _loaded(definition, threads, _POOLING.LLAMA_POOLING_TYPE_MEAN)
                self.dimensions = len(self._vector("squid"))
        except LLMError:
            self._runtime.close()
            raise

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return a vector of length 1 for each text, in order.

        Raises:
            ContextOverflowError: a text is longer than `params.EMBEDDED_TOKENS`, or than the model's window.
            LLMError: there are no vectors, or the model is closed.
        """
        return [self._vector(text) for text in texts]

    def close(self) -> None:
        """Free its memory; a second call does nothing."""
        self._runtime.close()

    def _vector(self, text: str) -> tuple[float, ...]:
        with self._lock:
            try:
                body = to_json({"input": text, "encoding_format": "float"})
                answer = json.loads(self._runtime.server.handle_embeddings(body))
            except (RuntimeError, ValueError) as error:
                raise LLMError("refused", f"no vector: {error}") from error
        if "error" in answer:
            refusal = answer["error"]
            if "too large to process" in str(refusal.get("message")):
                raise ContextOverflowError(str(refusal["message"]))
            raise failure(refusal)
        return unit_vector(self.name, answer["data"][0]["embedding"], 0)


def _loaded(definition: Definition, threads: int, pooling: xllamacpp.llama_pooling_type) -> Runtime:
    return Runtime(partial(for_vectors, definition.path, definition.loading, threads, pooling), definition.path)


def open_model(
    definition: Definition, *, extra: Mapping[str, object] | None = None, threads: int = 0
) -> XllamacppModel:
    """Load a model and return it. All Python threads stop meanwhile: the package holds the GIL.

    llama.cpp ends the process if some settings contradict each other: check them first, with the file's header. `extra`
    is added to each request for an answer, by the names of llama.cpp's server: "temperature", "seed", ... `threads`
    compute on the processor; 0: one for each core.

    Raises:
        ModelLoadError: it can't be loaded; the text has llama.cpp's output.
    """
    if not definition.loading.n_ctx:
        raise ModelLoadError(f"{definition.alias or definition.path}: n_ctx must not be 0")
    return XllamacppModel(definition, extra or {}, threads)


class XllamacppModel(ChatModel):
    """A `LoadedModel`. Threads may share it; one answer is made at a time."""

    def __init__(self, definition: Definition, extra: Mapping[str, object], threads: int) -> None:
        """Use `open_model`."""
        self._definition = definition
        self._extra = dict(extra)
        self._threads = threads
        self._runtime = Runtime(partial(for_chat, definition.path, definition.loading, threads), definition.path)
        self._label = f"xllamacpp:{Path(definition.path).name}"
        self._embedder: XllamacppEmbedder | None = None
        self._lock = Lock()
        try:
            self.window_tokens = int(self._runtime.ask("GET", "/props")["default_generation_settings"]["n_ctx"])
        except (LLMError, KeyError) as error:
            self._runtime.close()
            raise ModelLoadError(f"{definition.path}: the runtime does not report its window: {error!r}") from error
        super().__init__(definition.alias or Path(definition.path).name, VocabularyCounter(self._runtime, self._label))
        with suppress(LLMError):  # a template that refuses every message: the model takes only plain texts
            self.counter = TemplateCounter(self.counter, self.prompt_tokens)
        # Sizes by buffer are rounded to 0.01 MiB, and unknown if the log can't be read.
        self.served = RuntimeReport(self.window_tokens, *(self._runtime.sizes or ()))

    def prompt_tokens(
        self, messages: Sequence[Mapping[str, object]], tools: Sequence[Mapping[str, object]] = ()
    ) -> int:
        """Return the tokens of a prompt as sent, including the model's template.

        Raises:
            LLMError: the template refuses the messages, or the model is closed.
        """
        answer = self._runtime.ask("POST", "/v1/chat/completions/input_tokens", self._body(messages, tools))
        return int(answer["input_tokens"])

    def reply(
        self,
        messages: Sequence[Mapping[str, object]],
        max_output_tokens: int,
        tools: Sequence[Mapping[str, object]] = (),
        on_text: Callable[[str], None] | None = None,
        stable: Sequence[int] = (),  # noqa: ARG002  # it keeps the newest prompt whole
    ) -> Reply:
        """Return the next message of the assistant; count a prompt first, and don't send it if it does not fit.

        A tool call that exceeds the room is left out of the message.

        Raises:
            ContextOverflowError: messages, tools and the room for the answer don't fit the window.
            LLMError: there is no answer; `kind` says which.
        """
        tokens = self.prompt_tokens(messages, tools)
        check_room(self.name, tokens, max_output_tokens, self.window_tokens)
        body = {**self._body(messages, tools), "max_tokens": max_output_tokens, "stream": True}
        answer = StreamedAnswer(on_text, Usage(tokens, max_output_tokens))
        try:
            # In pieces even without `told`: the user can interrupt it between them.
            self._runtime.server.handle_chat_completions(
                to_json({**body, "stream_options": {"include_usage": True}}), answer.take
            )
        except (RuntimeError, ValueError) as error:
            raise LLMError("refused", str(error)) from error
        return answer.reply()

    def embedder(self) -> XllamacppEmbedder:
        """Return an embedder with this model: its first use loads the file once more, into main memory.

        Raises:
            LLMError: it makes none, or is closed.
        """
        with self._lock:
            _ = self._runtime.server
            if self._embedder is None:
                try:
                    self._embedder = XllamacppEmbedder(self._definition, self._label, self._threads)
                except ModelLoadError as error:
                    raise LLMError("refused", f"{self.name} cannot be loaded to compute embeddings: {error}") from error
            return self._embedder

    def close(self) -> None:
        """Free all memory; a second call does nothing."""
        with self._lock:
            if self._embedder is not None:
                self._embedder.close()
            self._runtime.close()

    def _job(self, system: str, prompt: str, most: int) -> TextReply:
        reply = self.reply(job_messages(system, prompt), most)
        return str(reply.message["content"] or ""), reply

    def _body(
        self, messages: Sequence[Mapping[str, object]], tools: Sequence[Mapping[str, object]]
    ) -> dict[str, object]:
        return {**self._extra, "messages": list(messages), **({"tools": list(tools)} if tools else {})}
