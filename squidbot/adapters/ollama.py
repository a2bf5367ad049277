"""A model behind Ollama, by Ollama's own API: the window is sent with every request, and read back.

Needs the standard library only. Ollama has no endpoint that counts tokens, so the counter is one of ours, by default
`classes`, with a measured bound.
"""

from __future__ import annotations

import http.client
import json
import re
import uuid
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.common.providers import (
    MOST_SAID_CHARS,
    ChatModel,
    TextReply,
    address,
    check_room,
    is_here,
    job_messages,
    number,
    objects,
    unit_vector,
)
from squidbot.core.errors import ConfigError, ContextOverflowError, LLMError, ModelLoadError
from squidbot.core.messages import Reply
from squidbot.core.sizing.header import TENSOR_TYPES, Header, LongArray, RuntimeReport, Tensor
from squidbot.core.tokens.counters import Meter, builtin_counter

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from squidbot.core.ports import TokenCounter
    from squidbot.core.sizing.header import Definition, Value


# As in `Header`: longer arrays are kept as type and length.
MOST_ITEMS = 4_096
# GGUF's type numbers of array items.
_ITEM_TYPES: dict[type, int] = {bool: 7, int: 5, float: 6, str: 8}
_TYPE_IDS = {kind.name.upper(): number for number, kind in TENSOR_TYPES.items()}
# A model's file on the server's disk; a modelfile's other names are ignored.
_BLOB = re.compile(r'^FROM\s++"?(.*[/\\]blobs[/\\]sha256-[0-9a-f]{64})"?\s*$', re.MULTILINE)


class OllamaModelInfo(NamedTuple):
    """A server's data about a model.

    Attributes:
        header: the metadata of its file, and its tensors if the server lists them.
        capabilities: such as "completion", "tools", "thinking", "vision", "embedding"; () of servers before 2025.
        path: its file, if the server is local and the file visible; else "".
    """

    header: Header
    capabilities: tuple[str, ...] = ()
    path: str = ""

    @property
    def native_tokens(self) -> int | None:
        """The window that the model was trained with; `None` if unknown. Ollama serves no larger one."""
        architecture = self.header.metadata.get("general.architecture")
        tokens = self.header.metadata.get(f"{architecture}.context_length")
        return tokens if type(tokens) is int and tokens > 0 else None


def read_info(wire: Wire, model: str, *, whole: bool = False) -> OllamaModelInfo:
    """Return the server's data about a model; `whole` adds its tensors, which give the weights.

    Ollama omits arrays from a short answer. If one of them belongs to the cache's layout, request the whole.

    Raises:
        LLMError: there is no server, or it lacks the model.
    """
    answer = wire.ask("/api/show", {"model": model, "verbose": whole})
    info = _mapping(answer, "model_info")
    layout = f"{info.get('general.architecture')}."
    if not whole and any(value is None and key.startswith(layout) for key, value in info.items()):
        answer = wire.ask("/api/show", {"model": model, "verbose": True})
        info = _mapping(answer, "model_info")
    values = ((key, _value(value)) for key, value in info.items())
    metadata = {key: value for key, value in values if value is not None}
    capabilities = answer.get("capabilities")
    return OllamaModelInfo(
        Header(metadata, _tensors(answer.get("tensors"))),
        tuple(map(str, capabilities)) if isinstance(capabilities, list) else (),
        _path(_fact_text(answer, "modelfile")) if wire.is_here else "",
    )


def read_pulled(wire: Wire) -> tuple[str, ...]:
    """Return the names of the server's models.

    Raises:
        LLMError: there is no server.
    """
    return tuple(filter(None, (_fact_text(entry, "name") for entry in objects(wire.ask("/api/tags").get("models")))))


def running_window(wire: Wire, model: str) -> tuple[bool, int | None]:
    """Return whether a model is in memory, and its window in tokens; `None` if unknown.

    Raises:
        LLMError: there is no server.
    """
    for entry in objects(wire.ask("/api/ps").get("models")):
        if named(model) in {named(_fact_text(entry, "name")), named(_fact_text(entry, "model"))}:
            tokens = entry.get("context_length")
            return True, tokens if type(tokens) is int and tokens > 0 else None
    return False, None


def named(model: str) -> str:
    """Return a model's name in one spelling: no tag means "latest"."""
    name = model.casefold()
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def _mapping(answer: Mapping[str, object], key: str) -> dict[str, object]:
    value = answer.get(key)
    return value if isinstance(value, dict) else {}


def _fact_text(answer: Mapping[str, object], key: str) -> str:
    value = answer.get(key)
    return value if isinstance(value, str) else ""


def _value(value: object) -> Value | None:
    """Return a metadata value; `None` if it is missing, or has no form in GGUF."""
    if isinstance(value, bool | int | float | str):
        return value
    kinds = {type(item) for item in value} if isinstance(value, list) else set()
    if not isinstance(value, list) or len(kinds) > 1 or not kinds <= _ITEM_TYPES.keys():
        return None
    return tuple(value) if len(value) <= MOST_ITEMS else LongArray(_ITEM_TYPES[kinds.pop()], len(value))


def _tensors(listed: object) -> tuple[Tensor, ...]:
    """Return all tensors, or none if one is unreadable: a part would give wrong sums."""
    entries = listed if isinstance(listed, list) else []
    tensors = [tensor for tensor in map(_tensor, entries) if tensor is not None]
    return tuple(tensors) if len(tensors) == len(entries) else ()


def _tensor(entry: object) -> Tensor | None:
    if not isinstance(entry, dict):
        return None
    name, shape, kind = entry.get("name"), entry.get("shape"), _TYPE_IDS.get(_fact_text(entry, "type").upper())
    if not isinstance(name, str) or kind is None or not isinstance(shape, list) or not shape:
        return None
    return Tensor(name, tuple(shape), kind) if all(type(size) is int and size > 0 for size in shape) else None


def _path(modelfile: str) -> str:
    found = _BLOB.search(modelfile)
    try:
        return found[1] if found and Path(found[1]).is_file() else ""
    except (OSError, ValueError):  # a name that no disk can have
        return ""


# Ollama's own estimate for a picture in a prompt (0.34, chatPrompt); models take more or less.
PICTURE_TOKENS = 768
# Ollama never had a smaller default window; none of them cuts a shorter prompt.
SMALLEST_WINDOW_TOKENS = 2_048
# No token in use has more letters of one word, except runs of one character, up to 16 in one token.
MOST_LETTERS_A_TOKEN = 24
_LETTERS = re.compile(r"[^\W_]+")


class PromptSize(NamedTuple):
    """A request's tokens: a bound, an estimate, and the fewest with any tokenizer."""

    bound_tokens: int
    estimate_tokens: int
    fewest_tokens: int


def weigh(
    messages: Sequence[Mapping[str, object]], tools: Sequence[Mapping[str, object]], counter: TokenCounter
) -> PromptSize:
    """Return the size of messages and tools, counted as the engine counts them."""
    meter = Meter(counter)
    costs = [meter.message(_rendered(message), PICTURE_TOKENS * _pictures(message)) for message in messages]
    if tools:
        costs.append(meter.message(_written(list(tools))))
    return PromptSize(
        sum(cost.bound for cost in costs),
        sum(cost.estimate for cost in costs),
        sum(_fewest(message) for message in messages),
    )


def doubt(weight: PromptSize, counted_tokens: int, told_tokens: int | None) -> str:
    """Return why an answer can't come from the whole prompt, or ""; called only if the count is low.

    `counted_tokens` is the server's report, 0 for none; `told_tokens` the window that it reports. A low count alone
    proves nothing if the window is known to be large enough: some releases (before 0.4, and the first of 0.30) count
    only the part outside the prompt cache.
    """
    if told_tokens is not None:
        if weight.bound_tokens <= told_tokens:
            return ""
        return f"the model runs with a window of {told_tokens} tokens, and the prompt takes up to {weight.bound_tokens}"
    if 0 < counted_tokens < weight.fewest_tokens and weight.bound_tokens > SMALLEST_WINDOW_TOKENS:
        return f"the server read {counted_tokens} tokens of a prompt that takes at least {weight.fewest_tokens}"
    return ""


def _rendered(message: Mapping[str, object]) -> str:
    texts = [_prompt_text(message)]
    texts += [text for key in ("reasoning", "reasoning_content") if isinstance(text := message.get(key), str)]
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function", call.get("custom")) if isinstance(call, dict) else None
        if isinstance(function, dict):
            given = function.get("arguments", function.get("input"))
            texts.append(f"\n{function.get('name')} {given if isinstance(given, str) else _written(given)}")
    return "".join(texts)


def _written(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return ""  # no request comes of it: the wire reports the error


def _parts(message: Mapping[str, object]) -> list[object]:
    content = message.get("content")
    return content if isinstance(content, list) else [content]


def _prompt_text(message: Mapping[str, object]) -> str:
    texts = [part.get("text") if isinstance(part, dict) else part for part in _parts(message)]
    return "".join(text for text in texts if isinstance(text, str))


def _pictures(message: Mapping[str, object]) -> int:
    return sum(isinstance(part, dict) and not isinstance(part.get("text"), str) for part in _parts(message))


def _fewest(message: Mapping[str, object]) -> int:
    """Return the fewest tokens, with any tokenizer, of what every template shows: no token spans two words.

    Some templates omit system texts, tool results and reasoning; some servers put the reasoning into the text.
    """
    if message.get("role") not in ("user", "assistant"):
        return 0
    words = _prompt_text(message).rpartition("</think>")[2].split()
    return sum(max(1, sum(len(run) // MOST_LETTERS_A_TOKEN for run in _LETTERS.findall(word))) for word in words)


_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_REASONING = ("reasoning", "reasoning_content")
# If arguments are not a JSON object, which Ollama would refuse, their text has this key.
TEXT_KEY = "input"


def to_ollama(messages: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
    """Return messages in Ollama's form.

    Raises:
        LLMError: a part has no form in Ollama; the text names it.
    """
    names: dict[str, str] = {}
    return [_message(message, f"messages[{at}]", names) for at, message in enumerate(messages)]


def from_ollama(content: str, thinking: str, calls: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Return the assistant's message in OpenAI's form. A call without an id (servers before 2025) gets one.

    Raises:
        LLMError: a call names no function, or its arguments are not an object.
    """
    message: dict[str, object] = {"role": "assistant", "content": content}
    if thinking:
        message["reasoning"] = thinking
    if calls:
        message["tool_calls"] = [_call_back(call) for call in calls]
    return message


def _message(message: Mapping[str, object], where: str, names: dict[str, str]) -> dict[str, object]:
    role = _ROLES.get(str(message.get("role")))
    if role is None:
        raise LLMError("refused", f"{where} has the unknown role {message.get('role')!r:.40}")
    text, pictures = _content(message.get("content"), where)
    sent: dict[str, object] = {"role": role, "content": text}
    if pictures:
        sent["images"] = pictures
    if role == "assistant":
        sent.update(_thoughts_and_calls(message, where, names))
    if role == "tool":
        call_id, name = message.get("tool_call_id"), message.get("name")
        if isinstance(call_id, str):
            sent["tool_call_id"] = call_id
            name = names.get(call_id) or name
        if isinstance(name, str):
            sent["tool_name"] = name
    return sent


def _thoughts_and_calls(message: Mapping[str, object], where: str, names: dict[str, str]) -> dict[str, object]:
    sent: dict[str, object] = {}
    if thinking := next((text for key in _REASONING if isinstance(text := message.get(key), str) and text), ""):
        sent["thinking"] = thinking
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise LLMError("refused", f"{where}.tool_calls is not a list")
    converted = [_call(call, f"{where}.tool_calls[{at}]", names) for at, call in enumerate(calls)]
    if isinstance(old := message.get("function_call"), dict):
        converted.append(_call({"id": old.get("name"), "function": old}, f"{where}.function_call", names))
    if converted:
        sent["tool_calls"] = converted
    return sent


def _call(call: object, where: str, names: dict[str, str]) -> dict[str, object]:
    function = call.get("function", call.get("custom")) if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise LLMError("refused", f"{where} names no function")
    sent: dict[str, object] = {"function": {"name": function["name"], "arguments": _object(function)}}
    if isinstance(call.get("id"), str):
        names[call["id"]] = function["name"]
        sent["id"] = call["id"]
    return sent


def _object(function: Mapping[str, object]) -> dict[str, object]:
    given = function.get("arguments", function.get("input"))
    try:
        value = json.loads(given) if isinstance(given, str) and given.strip() else given
    except (ValueError, RecursionError):
        value = given
    if isinstance(value, dict):
        return value
    return {TEXT_KEY: given} if given else {}


def _call_back(call: Mapping[str, object]) -> dict[str, object]:
    function = call.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not function["name"]:
        raise LLMError("unusable", "the model's tool call names no function")
    arguments = function.get("arguments")
    if arguments is not None and not isinstance(arguments, dict):
        raise LLMError("unusable", f"the arguments of the model's call of {function['name']:.60} are not an object")
    given = call.get("id")
    try:
        text = json.dumps(arguments or {}, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise LLMError("unusable", f"a number in the model's call of {function['name']:.60} is too large") from error
    return {
        "id": given if isinstance(given, str) and given else f"call_{uuid.uuid4().hex[:24]}",
        "type": "function",
        "function": {"name": function["name"], "arguments": text},
    }


def _content(content: object, where: str) -> tuple[str, list[str]]:
    """Return the text and the pictures, in base64."""
    if content is None:
        return "", []
    if isinstance(content, str):
        return content, []
    if not isinstance(content, list):
        raise LLMError("refused", f"{where}.content is neither a string nor a list of parts")
    texts: list[str] = []
    pictures: list[str] = []
    for at, part in enumerate(content):
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str):
            texts.append(text)
        else:
            pictures.append(_picture(part, f"{where}.content[{at}]"))
    return "".join(texts), pictures


def _picture(part: object, where: str) -> str:
    if not isinstance(part, dict) or part.get("type") != "image_url":
        named = part.get("type") if isinstance(part, dict) else part
        raise LLMError("refused", f"{where} is {named!r:.40}; Ollama accepts text and images")
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image
    head, comma, data = url.partition(",") if isinstance(url, str) else ("", "", "")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        raise LLMError("refused", f"{where} is an image URL; Ollama downloads no images: send base64 data")
    return data


USUAL_URL = "http://127.0.0.1:11434"
# Far above an answer of the largest window at four bytes a token; a longer one is no model's answer.
MOST_BYTES = 64 * 2**20

# The errors for a too long prompt, from Ollama and its llama-server, which differ by version.
_TOO_LONG = re.compile(
    r"exceed.{0,50}\bcontext|longer than the context|prompt (?:is )?too long|input length exceeds"
    r"|exceed_context_size",
    re.IGNORECASE | re.DOTALL,
)
_NO_MEMORY = re.compile(
    r"out of memory|requires more system memory|cudamalloc failed|(?:unable|failed) to allocate|insufficient memory"
    r"|runner process has terminated|unable to load model|failed to load model|model runner has unexpectedly stopped"
    r"|timed out waiting for llama",
    re.IGNORECASE,
)


class OllamaPatience(NamedTuple):
    """How long to wait, in seconds: for a connection, for a short answer, for a first piece, and between two pieces.

    Before the first piece Ollama loads the model, for at most five minutes, and reads the prompt, which a CPU does at
    some ten tokens a second.
    """

    connect_seconds: float = 5.0
    short_seconds: float = 30.0
    first_seconds: float = 900.0
    gap_seconds: float = 120.0


class RefusedError(LLMError):
    """The server refused a request.

    Attributes:
        status: of HTTP; 200 if the refusal came within a stream.
        said: the server's words.
    """

    def __init__(self, status: int, said: str, advice: str = "") -> None:
        """Take the status and the server's words; `advice` is the remedy."""
        kind = "rate-limit" if status in (429, 503) else "refused"
        words = " ".join(said.split())[:MOST_SAID_CHARS] or "nothing more"
        super().__init__(kind, f"Ollama answered {status}: {words}{advice}")
        self.status = status
        self.said = said


def without_memory(refusal: RefusedError) -> bool:
    """Return whether the model could not be loaded into memory, or crashed there."""
    return _NO_MEMORY.search(refusal.said) is not None


class Wire:
    """An Ollama server. Each request has its own connection, so threads may share this. No retries."""

    def __init__(self, url: str, patience: OllamaPatience) -> None:
        """Take the server's address, such as "http://127.0.0.1:11434"; "" for the usual one.

        Raises:
            ConfigError: that is no http or https address.
        """
        self.url = (url or USUAL_URL).rstrip("/").removesuffix("/v1").removesuffix("/api")
        self._patience = patience
        parts = address(self.url, USUAL_URL)
        self._host, self._port, self._secure = parts.hostname or "", parts.port, parts.scheme == "https"
        self._base = parts.path
        self.is_here = is_here(parts)

    def ask(self, path: str, body: Mapping[str, object] | None = None, *, long: bool = False) -> dict[str, object]:
        """Return the JSON object that answers a request; without a body it is a GET. `long` waits for a model.

        Raises:
            LLMError: there is no server, or no JSON object; RefusedError: it says no.
            ContextOverflowError: it reports that the prompt is too long.
        """
        seconds = self._patience.first_seconds if long else self._patience.short_seconds
        with self._failures(path), self._open(path, body, seconds) as (answer, _):
            text = answer.read(MOST_BYTES + 1)
        return _json_object(text)

    def lines(self, path: str, body: Mapping[str, object]) -> Generator[dict[str, object]]:
        """Return the JSON objects of a streamed answer as they come; closing the iterator closes the connection.

        Raises:
            LLMError: as `ask`, also if the stream stalls or reports a failure.
            ContextOverflowError: as `ask`.
        """
        with self._failures(path), self._open(path, body, self._patience.first_seconds) as (answer, line):
            left = MOST_BYTES
            while text := answer.readline(left + 1):
                if not answer.isclosed():  # since Python 3.13 it is, and the socket too, once its last byte is read
                    line.settimeout(self._patience.gap_seconds)
                left -= len(text)
                if left < 0:
                    raise LLMError("unusable", f"the answer of {self.url}{path} never ends")
                if text.strip():
                    piece = _json_object(text)
                    if "error" in piece:
                        raise _refusal(200, piece, body)
                    yield piece

    @contextmanager
    def _open(
        self, path: str, body: Mapping[str, object] | None, seconds: float
    ) -> Iterator[tuple[http.client.HTTPResponse, socket.socket]]:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=self._patience.connect_seconds)
        try:
            connection.connect()
            line: socket.socket = connection.sock  # the connection lets go of it once an answer has begun
            line.settimeout(seconds)
            headers = {"Content-Type": "application/json", "Connection": "close"}
            data = None if body is None else _json(body)
            connection.request("GET" if data is None else "POST", f"{self._base}{path}", data, headers)
            answer = connection.getresponse()
            try:
                if answer.status != http.client.OK:
                    raise _refusal(answer.status, _said(answer.read(MOST_BYTES)), body)
                yield answer, line
            finally:
                answer.close()
        finally:
            connection.close()

    @contextmanager
    def _failures(self, path: str) -> Iterator[None]:
        """Raise failures of the connection as our errors."""
        try:
            yield
        except TimeoutError as error:
            raise LLMError("unreachable", f"{self.url}{path} stopped sending: {error}; is the server busy?") from error
        except ConnectionRefusedError as error:
            raise LLMError("unreachable", f"no server at {self.url}; start it with `ollama serve`") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            # A ValueError: an invalid host name.
            raise LLMError("unreachable", f"connection to {self.url}{path} lost: {error!r:.200}") from error


def _json(body: Mapping[str, object]) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise LLMError("refused", f"the request is not JSON: {error}") from error


def _json_object(text: bytes) -> dict[str, object]:
    if len(text) > MOST_BYTES:
        raise LLMError("unusable", "the server's answer never ends")
    try:
        value = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise LLMError("unusable", f"the server's answer is not JSON: {text[:80]!r}") from error
    if not isinstance(value, dict):
        raise LLMError("unusable", f"the server's answer is not a JSON object: {text[:80]!r}")
    return value


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _said(text: bytes) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text.decode("utf-8", "replace")


def _words(error: object) -> str:
    """Return the text of an error; llama-server's is an object, which Ollama may pass on as a JSON string."""
    for _ in range(3):
        if isinstance(error, dict):
            error = error.get("error", error.get("message", ""))
        elif isinstance(error, str) and error.startswith("{"):
            inner = _said(error.encode("utf-8", "replace"))
            if not isinstance(inner, dict):
                break
            error = inner
    return error if isinstance(error, str) else json.dumps(error)


def _refusal(status: int, answer: object, body: Mapping[str, object] | None) -> LLMError | ContextOverflowError:
    words = _words(answer)
    if _TOO_LONG.search(words):
        return ContextOverflowError(f"Ollama refuses the prompt: {words[:MOST_SAID_CHARS]}")
    model = (body or {}).get("model", "")
    advice = f"; get it with `ollama pull {model}`" if status == http.client.NOT_FOUND and "not found" in words else ""
    refusal = RefusedError(status, words, advice)
    if without_memory(refusal):
        return RefusedError(status, words, "; a smaller window, or other models unloaded, would make room")
    return refusal


# How long the server keeps a model that we loaded: its default of five minutes is less than a user's pause.
KEEP_ALIVE = "30m"
_FAILED = 500


def open_model(
    definition: Definition, *, counter: TokenCounter | None = None, patience: OllamaPatience | None = None
) -> OllamaModel:
    """Return a model that the server has loaded with the window of `definition.loading.n_ctx`.

    `model` is its name on the server; `url` "" means this machine's usual address. Of `loading`, Ollama takes the
    window and, if 0 or more, `n_gpu_layers`; cache types are set at the server's start. `counter` None: `classes`.

    Raises:
        ConfigError: the definition names no model, no window, or no address.
        LLMError: there is no server (start it with `ollama serve`), or it lacks the model (`ollama pull NAME`).
        ModelLoadError: the server could not load it with that window.
    """
    name, window = definition.model, definition.loading.n_ctx
    if not name or name != name.strip() or not name.isprintable():
        raise ConfigError(f"model {name!r:.80} of {definition.alias} is not a model name on an Ollama server")
    if window < 1:
        raise ConfigError(f"a model behind Ollama needs a window: n_ctx of {definition.alias} is {window}")
    wire = Wire(definition.url, patience or OllamaPatience())
    info = _info_or_advice(wire, name)
    was_there, _ = running_window(wire, name)
    model = OllamaModel(wire, definition, info, counter or builtin_counter("classes"), keeps=was_there)
    # A server that lists no capabilities counts as having all.
    if "completion" in info.capabilities or not info.capabilities:
        model.load()
    return model


def _info_or_advice(wire: Wire, name: str) -> OllamaModelInfo:
    try:
        return read_info(wire, name)
    except RefusedError as refusal:
        if refusal.status != http.client.NOT_FOUND:
            raise
        there = ", ".join(sorted(read_pulled(wire))[:20]) or "none"
        raise LLMError(
            "refused", f"{wire.url} has no model {name}; get it with `ollama pull {name}` (available: {there})"
        ) from refusal


class OllamaModel(ChatModel):
    """A `LoadedModel`. Threads may share it.

    A prompt that does not fit is refused before it is sent, and the request asks the server to refuse, not to cut. If
    it cuts anyway, the answer becomes a ContextOverflowError, though `on_text` may have had its pieces.
    """

    def __init__(
        self, wire: Wire, definition: Definition, info: OllamaModelInfo, counter: TokenCounter, *, keeps: bool
    ) -> None:
        """Take a server's model; `keeps`: it was in memory before, and closing leaves it there."""
        super().__init__(definition.model, counter)
        self._wire = wire
        self._requested_tokens = definition.loading.n_ctx
        options: dict[str, object] = {**definition.options, "num_ctx": self._requested_tokens}
        if definition.loading.n_gpu_layers >= 0:
            options["num_gpu"] = definition.loading.n_gpu_layers
        # In every request: another window, or another `shift`, would make the server reload.
        self._common: dict[str, object] = {"model": self.name, "options": options, "truncate": False, "shift": False}
        if not keeps:
            self._common["keep_alive"] = KEEP_ALIVE
        self._running_tokens: int | None = None
        self._keeps = keeps
        self._closed = False
        self.info = info

    @property
    def window_tokens(self) -> int:
        """Input and output together: the requested window, or less if the model or the server has less."""
        most = [self._requested_tokens, self.info.native_tokens, self._running_tokens]
        return min(tokens for tokens in most if tokens is not None)

    @property
    def served(self) -> RuntimeReport:
        """The window that the server reports for the model."""
        return RuntimeReport(self._running_tokens)

    def load(self) -> None:
        """Make the server load the model, and read the window back.

        Raises:
            ModelLoadError: it could not.
            LLMError: the server is unreachable, or refuses.
        """
        try:
            self._wire.ask("/api/generate", {**self._common, "stream": False}, long=True)
        except RefusedError as refusal:
            if refusal.status < _FAILED and not without_memory(refusal):
                raise
            raise ModelLoadError(
                f"{self.name} with a window of {self._requested_tokens} tokens cannot be loaded: {refusal}"
            ) from refusal
        self._running_tokens = running_window(self._wire, self.name)[1]

    def reply(
        self,
        messages: Sequence[Mapping[str, object]],
        max_output_tokens: int,
        tools: Sequence[Mapping[str, object]] = (),
        on_text: Callable[[str], None] | None = None,
        stable: Sequence[int] = (),  # noqa: ARG002  # it keeps the newest prompt whole
    ) -> Reply:
        """Return the next message of the assistant.

        Raises:
            ContextOverflowError: messages, tools and the room for the answer don't fit, or did not.
            LLMError: there is no answer.
        """
        return self._answer(messages, tools, max_output_tokens, {}, on_text)

    def embedder(self) -> OllamaEmbedder:
        """Return an embedder with this model; test it with one request.

        Raises:
            LLMError: it makes none, or the server is unreachable.
        """
        return OllamaEmbedder(self._wire, self.name, {**self._common, "truncate": False})

    def close(self) -> None:
        """Make the server unload the model, unless it was loaded before this was opened."""
        unloads, self._closed = not self._closed and not self._keeps, True
        if unloads:
            with suppress(LLMError):  # a stopped server holds no memory
                self._wire.ask("/api/generate", {"model": self.name, "keep_alive": 0, "stream": False})

    def _job(self, system: str, prompt: str, most: int) -> TextReply:
        beside = {"think": False} if "thinking" in self.info.capabilities else {}
        reply = self._answer(job_messages(system, prompt), (), most, beside, None)
        return str(reply.message["content"]), reply

    def _answer(
        self,
        messages: Sequence[Mapping[str, object]],
        tools: Sequence[Mapping[str, object]],
        most: int,
        beside: Mapping[str, object],
        on_text: Callable[[str], None] | None,
    ) -> Reply:
        if self._closed:
            raise LLMError("refused", f"{self.name} was closed")
        body = {**self._common, **beside, "messages": to_ollama(messages), "stream": True}
        body["options"] = {**_mapping(body, "options"), "num_predict": most}
        if tools:
            body["tools"] = list(tools)
        weight = weigh(messages, tools, self.counter)
        check_room(self.name, weight.bound_tokens, most, self.window_tokens)
        return self._accepted(self._streamed(body, on_text), weight)

    def _accepted(self, reply: Reply, weight: PromptSize) -> Reply:
        """Return an answer that used the whole prompt.

        Raises:
            ContextOverflowError: it did not, or nothing shows that it did.
        """
        if reply.input_tokens >= self.window_tokens:  # uncut, Ollama reads at most one less
            raise ContextOverflowError(
                f"{self.name} read {reply.input_tokens} tokens, all that its window of {self.window_tokens} holds"
            )
        if reply.input_tokens >= weight.estimate_tokens:
            return reply
        with suppress(LLMError):  # it just answered: a failure here is a result, too
            self._running_tokens = running_window(self._wire, self.name)[1] or self._running_tokens
        if why := doubt(weight, reply.input_tokens, self._running_tokens):
            raise ContextOverflowError(f"{self.name} did not read the whole prompt: {why}")
        # A report of less than the prompt would teach that prompts are small.
        return reply if reply.input_tokens >= weight.fewest_tokens else reply._replace(input_tokens=0, cached_tokens=0)

    def _streamed(self, body: Mapping[str, object], on_text: Callable[[str], None] | None) -> Reply:
        content, thinking, calls = [], [], []
        with closing(self._wire.lines("/api/chat", body)) as pieces:
            for piece in pieces:
                message = _mapping(piece, "message")
                calls.extend(_calls(message))
                thinking.append(_text(message, "thinking"))
                content.append(_text(message, "content"))
                if on_text is not None and content[-1]:
                    on_text(content[-1])
                if piece.get("done") is True:
                    reason = piece.get("done_reason") or "stop"
                    if reason not in ("stop", "length"):
                        raise LLMError("unusable", f"the answer ended with {reason!r:.40}")
                    answer = from_ollama("".join(content), "".join(thinking), calls)
                    counts = [number(piece, f"{key}_count") for key in ("prompt_eval", "eval", "prompt_eval_cached")]
                    finish = "tool_calls" if calls else str(reason)
                    return Reply(answer, finish, counts[0], counts[1], min(counts[2], counts[0]))
        raise LLMError("unreachable", f"{self._wire.url} closed the connection before {self.name}'s answer ended")


def _text(message: Mapping[str, object], key: str) -> str:
    text = message.get(key)
    if text is not None and not isinstance(text, str):
        raise LLMError("unusable", f"{key} of the model's answer is not a string: {text!r:.40}")
    return text or ""


def _calls(message: Mapping[str, object]) -> list[Mapping[str, object]]:
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise LLMError("unusable", "tool_calls of the model's answer is not a list of objects")
    return calls


class OllamaEmbedder:
    """Makes vectors with a model; a too long text is refused, never cut."""

    def __init__(self, wire: Wire, model: str, common: Mapping[str, object]) -> None:
        """Request one vector, to learn its length.

        Raises:
            LLMError: the model makes none, or the server is unreachable.
        """
        self._wire = wire
        self._model = model
        self._common = {key: value for key, value in common.items() if key != "shift"}
        self.name = f"ollama/{model}"
        self.dimensions = 0
        self.dimensions = len(self.embed(["x"])[0])

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return a vector of length 1 for each text, in order.

        Raises:
            ContextOverflowError: a text is too long for the model.
            LLMError: there are no vectors.
        """
        if not texts:
            return []
        vectors = self._wire.ask("/api/embed", {**self._common, "input": list(texts)}, long=True).get("embeddings")
        if not isinstance(vectors, list) or len(vectors) != len(texts):
            raise LLMError("unusable", f"{self._model} made no vector for each of {len(texts)} texts")
        return [unit_vector(self._model, vector, self.dimensions) for vector in vectors]
