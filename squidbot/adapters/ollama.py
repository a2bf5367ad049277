"""A model behind Ollama, over Ollama's own API; the window is sent with every request, and read back.

Needs nothing but the standard library. Ollama releases have no endpoint that counts tokens, so the counter is one of
ours, by default `classes`, whose bound is measured: who knows the model's vocabulary gives a better one.
"""

from __future__ import annotations

import http.client
import json
import re
import uuid
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.common.providers import MOST_SAID_CHARS, address, completion, is_here, number, unit_vector
from squidbot.core.errors import ConfigError, ContextOverflowError, LLMError, ModelLoadError
from squidbot.core.messages import Completion, Reply
from squidbot.core.sizing.header import TENSOR_TYPES, Header, LongArray, Served, Tensor
from squidbot.core.tokens.counters import Meter, builtin_counter

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

    from squidbot.core.ports import TokenCounter
    from squidbot.core.sizing.header import Definition, Value


# What the server says of a model: the facts of its file's header, where the file is, and the window
# it runs with.

# As `Header` has it: longer arrays are kept as their type and length.
MOST_ITEMS = 4_096
# What says that a model is larger counts something else.
MOST_PARAMETERS = 10**15
# How GGUF numbers the types of an array's items.
_ITEM_TYPES: dict[type, int] = {bool: 7, int: 5, float: 6, str: 8}
_TYPE_IDS = {kind.name.upper(): number for number, kind in TENSOR_TYPES.items()}
# A model's file on the server's disk; whatever else a modelfile may name is none of ours.
_BLOB = re.compile(r'^FROM\s++"?(.*[/\\]blobs[/\\]sha256-[0-9a-f]{64})"?\s*$', re.MULTILINE)
_NUM_CTX = re.compile(r"^num_ctx\s+(\d{1,9})\s*$", re.MULTILINE)
_SIZE = re.compile(r"^(\d+(?:\.\d+)?)\s*([MB])$")


class Facts(NamedTuple):
    """What a server says of a model.

    Attributes:
        model: its name there.
        header: the metadata of its file, and its tensors where the server tells them.
        quantization: as Ollama names it, such as "Q4_K_M"; "" where unknown.
        parameters_billion: the size of the model; None where unknown.
        template: what its messages are rendered with; "" where unknown.
        capabilities: such as "completion", "tools", "thinking", "vision", "embedding"; () of servers before 2025.
        path: its file, where the server runs on this machine and the file can be seen; else "".
        own_num_ctx: the window that its modelfile asks for; None where it does not.
    """

    model: str
    header: Header
    quantization: str = ""
    parameters_billion: float | None = None
    template: str = ""
    capabilities: tuple[str, ...] = ()
    path: str = ""
    own_num_ctx: int | None = None

    @property
    def architecture(self) -> str:
        """The name by which llama.cpp knows the layout; "" where the server does not tell."""
        name = self.header.metadata.get("general.architecture")
        return name if isinstance(name, str) else ""

    @property
    def native_tokens(self) -> int | None:
        """The window that the model was trained with; None where unknown. Ollama serves no larger one."""
        tokens = self.header.metadata.get(f"{self.architecture}.context_length")
        return tokens if type(tokens) is int and tokens > 0 else None

    def can(self, capability: str) -> bool:
        """Return whether the model has a capability; a server that tells of none is believed to serve all."""
        return capability in self.capabilities or not self.capabilities


def read_facts(wire: Wire, model: str, *, whole: bool = False) -> Facts:
    """Return what the server says of a model; `whole`: the tensors, too, from which weights follow.

    Ollama leaves arrays out of a short answer. Where one of them is of the cache's layout the whole is asked for.

    Raises:
        LLMError: no server is there, or it has no such model.
    """
    told = wire.ask("/api/show", {"model": model, "verbose": whole})
    if not whole and _lacks_layout(_mapping(told, "model_info")):
        told = wire.ask("/api/show", {"model": model, "verbose": True})
    info, details = _mapping(told, "model_info"), _mapping(told, "details")
    capabilities = told.get("capabilities")
    own = _NUM_CTX.search(_fact_text(told, "parameters"))
    return Facts(
        model=model,
        header=Header(_metadata(info), _tensors(told.get("tensors"))),
        quantization=_fact_text(details, "quantization_level"),
        parameters_billion=_billions(info.get("general.parameter_count"), _fact_text(details, "parameter_size")),
        template=_fact_text(told, "template"),
        capabilities=tuple(map(str, capabilities)) if isinstance(capabilities, list) else (),
        path=_path(_fact_text(told, "modelfile")) if wire.is_here else "",
        own_num_ctx=int(own[1]) if own else None,
    )


def read_pulled(wire: Wire) -> tuple[str, ...]:
    """Return the names of the models that the server has.

    Raises:
        LLMError: no server is there.
    """
    return tuple(_fact_text(entry, "name") for entry in _entries(wire.ask("/api/tags")) if _fact_text(entry, "name"))


def read_version(wire: Wire) -> str:
    """Return the server's version, such as "0.34.0"; "" where it does not tell.

    Raises:
        LLMError: no server is there.
    """
    return _fact_text(wire.ask("/api/version"), "version")


def running_window(wire: Wire, model: str) -> tuple[bool, int | None]:
    """Return whether a model is in memory, and with which window, in tokens; None where the server does not tell.

    Raises:
        LLMError: no server is there.
    """
    for entry in _entries(wire.ask("/api/ps")):
        if named(model) in {named(_fact_text(entry, "name")), named(_fact_text(entry, "model"))}:
            tokens = entry.get("context_length")
            return True, tokens if type(tokens) is int and tokens > 0 else None
    return False, None


def named(model: str) -> str:
    """Return a model's name so that two names of one model are equal: a name without a tag means "latest"."""
    name = model.casefold()
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def _entries(told: Mapping[str, object]) -> Iterable[dict[str, object]]:
    listed = told.get("models")
    return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []


def _mapping(told: Mapping[str, object], key: str) -> dict[str, object]:
    value = told.get(key)
    return value if isinstance(value, dict) else {}


def _fact_text(told: Mapping[str, object], key: str) -> str:
    value = told.get(key)
    return value if isinstance(value, str) else ""


def _lacks_layout(info: Mapping[str, object]) -> bool:
    layout = f"{info.get('general.architecture')}."
    return any(value is None and key.startswith(layout) for key, value in info.items())


def _metadata(info: Mapping[str, object]) -> dict[str, Value]:
    found = ((key, _value(value)) for key, value in info.items())
    return {key: value for key, value in found if value is not None}


def _value(value: object) -> Value | None:
    """Return a metadata value; None for what was left out, and for what GGUF has no form for."""
    if isinstance(value, bool | int | float | str):
        return value
    kinds = {type(item) for item in value} if isinstance(value, list) else set()
    if not isinstance(value, list) or len(kinds) > 1 or not kinds <= _ITEM_TYPES.keys():
        return None
    return tuple(value) if len(value) <= MOST_ITEMS else LongArray(_ITEM_TYPES[kinds.pop()], len(value))


def _tensors(told: object) -> tuple[Tensor, ...]:
    """Return all tensors, or none where one of them can't be read: half of them would make wrong sums."""
    made = [_tensor(entry) for entry in told] if isinstance(told, list) else []
    whole = [tensor for tensor in made if tensor is not None]
    return tuple(whole) if len(whole) == len(made) else ()


def _tensor(entry: object) -> Tensor | None:
    if not isinstance(entry, dict):
        return None
    name, shape, kind = entry.get("name"), entry.get("shape"), _TYPE_IDS.get(_fact_text(entry, "type").upper())
    if not isinstance(name, str) or kind is None or not isinstance(shape, list) or not shape:
        return None
    return Tensor(name, tuple(shape), kind) if all(type(size) is int and size > 0 for size in shape) else None


def _billions(count: object, said: str) -> float | None:
    if type(count) is int and 0 < count < MOST_PARAMETERS:
        return count / 1e9
    size = _SIZE.match(said)
    return float(size[1]) / (1000 if size[2] == "M" else 1) if size else None


def _path(modelfile: str) -> str:
    found = _BLOB.search(modelfile)
    try:
        return found[1] if found and Path(found[1]).is_file() else ""
    except (OSError, ValueError):  # a name that no disk can have
        return ""


# Whether a prompt fits a window, and whether an answer was made from the whole of it.

# What Ollama's own reckoning of a prompt allows for a picture (0.34, chatPrompt); models take more or less.
PICTURE_TOKENS = 768
# Ollama never had a smaller default window; a prompt below it is cut by none of them.
SMALLEST_WINDOW_TOKENS = 2_048
# No token in use holds more letters of one word, but for runs of one character, of which there are up to 16 in one.
MOST_LETTERS_A_TOKEN = 24
_LETTERS = re.compile(r"[^\W_]+")


class Weight(NamedTuple):
    """What a request takes, in tokens: as a bound, as an estimate, and the fewest that any tokenizer makes of it."""

    bound_tokens: int
    estimate_tokens: int
    fewest_tokens: int


def weigh(
    messages: Sequence[Mapping[str, object]], tools: Sequence[Mapping[str, object]], counter: TokenCounter
) -> Weight:
    """Return what messages and tools take, counted as the engine counts them."""
    meter = Meter(counter)
    costs = [meter.message(_rendered(message), PICTURE_TOKENS * _pictures(message)) for message in messages]
    if tools:
        costs.append(meter.message(_written(list(tools))))
    return Weight(
        sum(cost.bound for cost in costs),
        sum(cost.estimate for cost in costs),
        sum(_fewest(message) for message in messages),
    )


def doubt(weight: Weight, counted_tokens: int, told_tokens: int | None) -> str:
    """Return why an answer can't have been made from the whole prompt, or ""; only asked where the count is low.

    `counted_tokens` is what the server reports, 0 for nothing; `told_tokens` the window that it says it runs with. A
    low count alone proves nothing where the window is known to be large enough: some releases (before 0.4, and the
    first of 0.30) report only what was not in the prompt cache.
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
    texts += [said for key in ("reasoning", "reasoning_content") if isinstance(said := message.get(key), str)]
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        kept = call.get("function", call.get("custom")) if isinstance(call, dict) else None
        if isinstance(kept, dict):
            given = kept.get("arguments", kept.get("input"))
            texts.append(f"\n{kept.get('name')} {given if isinstance(given, str) else _written(given)}")
    return "".join(texts)


def _written(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return ""  # no request is made of it: the wire says what is wrong


def _parts(message: Mapping[str, object]) -> list[object]:
    content = message.get("content")
    return content if isinstance(content, list) else [content]


def _prompt_text(message: Mapping[str, object]) -> str:
    said = [part.get("text") if isinstance(part, dict) else part for part in _parts(message)]
    return "".join(text for text in said if isinstance(text, str))


def _pictures(message: Mapping[str, object]) -> int:
    return sum(isinstance(part, dict) and not isinstance(part.get("text"), str) for part in _parts(message))


def _fewest(message: Mapping[str, object]) -> int:
    """Return the fewest tokens of what every template shows: no token holds parts of two words.

    Of system texts, tool results and reasoning, templates leave out some; what a model thought before its answer stands
    in the text itself with some servers.
    """
    if message.get("role") not in ("user", "assistant"):
        return 0
    words = _prompt_text(message).rpartition("</think>")[2].split()
    return sum(max(1, sum(len(run) // MOST_LETTERS_A_TOKEN for run in _LETTERS.findall(word))) for word in words)


# Messages as OpenAI writes them -> as Ollama does, and back.

_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_REASONING = ("reasoning", "reasoning_content")
# Where arguments are no JSON object, which Ollama would refuse, their text stands under this key.
TEXT_KEY = "input"


def to_ollama(messages: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
    """Return messages in Ollama's form.

    Raises:
        LLMError: one of them has a part that Ollama has no form for; the text says which.
    """
    names: dict[str, str] = {}
    return [_message(message, f"messages[{at}]", names) for at, message in enumerate(messages)]


def from_ollama(content: str, thinking: str, calls: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Return the assistant's message as OpenAI writes it. A call without an id, as of servers before 2025, gets one.

    Raises:
        LLMError: a call names no function, or its arguments are no object.
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
    made: dict[str, object] = {"role": role, "content": text}
    if pictures:
        made["images"] = pictures
    if role == "assistant":
        made.update(_said_beside(message, where, names))
    if role == "tool":
        made.update(_answered(message, names))
    return made


def _said_beside(message: Mapping[str, object], where: str, names: dict[str, str]) -> dict[str, object]:
    beside: dict[str, object] = {}
    thinking = next((said for key in _REASONING if isinstance(said := message.get(key), str) and said), "")
    if thinking:
        beside["thinking"] = thinking
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise LLMError("refused", f"{where}.tool_calls is no list")
    made = [_call(call, f"{where}.tool_calls[{at}]", names) for at, call in enumerate(calls)]
    if isinstance(old := message.get("function_call"), dict):
        made.append(_call({"id": old.get("name"), "function": old}, f"{where}.function_call", names))
    if made:
        beside["tool_calls"] = made
    return beside


def _answered(message: Mapping[str, object], names: dict[str, str]) -> dict[str, object]:
    given, name = message.get("tool_call_id"), message.get("name")
    beside: dict[str, object] = {"tool_call_id": given} if isinstance(given, str) else {}
    known = names.get(given) if isinstance(given, str) else None
    if known or isinstance(name, str):
        beside["tool_name"] = known or name
    return beside


def _call(call: object, where: str, names: dict[str, str]) -> dict[str, object]:
    kept = call.get("function", call.get("custom")) if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(kept, dict) or not isinstance(kept.get("name"), str):
        raise LLMError("refused", f"{where} names no function")
    made: dict[str, object] = {"function": {"name": kept["name"], "arguments": _object(kept)}}
    if isinstance(call.get("id"), str):
        names[call["id"]] = kept["name"]
        made["id"] = call["id"]
    return made


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
        raise LLMError("unusable", f"the arguments of the model's call of {function['name']:.60} are no object")
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
        raise LLMError("refused", f"{where}.content is no text and no list of parts")
    texts: list[str] = []
    pictures: list[str] = []
    for at, part in enumerate(content):
        said = part.get("text") if isinstance(part, dict) else part
        if isinstance(said, str):
            texts.append(said)
        else:
            pictures.append(_picture(part, f"{where}.content[{at}]"))
    return "".join(texts), pictures


def _picture(part: object, where: str) -> str:
    if not isinstance(part, dict) or part.get("type") != "image_url":
        named = part.get("type") if isinstance(part, dict) else part
        raise LLMError("refused", f"{where} is {named!r:.40}; Ollama takes text and pictures")
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image
    head, comma, data = url.partition(",") if isinstance(url, str) else ("", "", "")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        raise LLMError("refused", f"{where} is a picture by its address; Ollama fetches none: send it as base64 data")
    return data


# One server over HTTP: requests, streams of JSON lines, and failures in our words. Nothing is
# retried.

USUAL_URL = "http://127.0.0.1:11434"
# An answer of the largest window at four bytes a token stays far below; what is longer is no answer of a model.
MOST_BYTES = 64 * 2**20

# Ollama's words for a prompt that is too long, of its own and of the llama-server behind it, which differ by version.
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

    Before the first piece Ollama loads the model, which it gives up after five minutes itself, and reads the prompt,
    which a CPU does at some ten tokens a second.
    """

    connect_seconds: float = 5.0
    short_seconds: float = 30.0
    first_seconds: float = 900.0
    gap_seconds: float = 120.0


class RefusedError(LLMError):
    """The server answered, and what it said is that it won't.

    Attributes:
        status: of HTTP; 200 where the refusal came in the midst of a stream.
        said: in the server's words.
    """

    def __init__(self, status: int, said: str, advice: str = "") -> None:
        """Take the status and the words; `advice` says what to do."""
        kind = "rate-limit" if status in (429, 503) else "refused"
        words = " ".join(said.split())[:MOST_SAID_CHARS] or "nothing more"
        super().__init__(kind, f"Ollama answered {status}: {words}{advice}")
        self.status = status
        self.said = said


def without_memory(refusal: RefusedError) -> bool:
    """Return whether a refusal is that the model could not be put into memory, or fell over there."""
    return _NO_MEMORY.search(refusal.said) is not None


class Wire:
    """A server. Each request has a connection of its own, so that threads may share this."""

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
            LLMError: no server, or no JSON object, is there; RefusedError: it says no.
            ContextOverflowError: it says that the prompt is too long.
        """
        seconds = self._patience.first_seconds if long else self._patience.short_seconds
        with self._failures(path), self._open(path, body, seconds) as (answer, _):
            text = answer.read(MOST_BYTES + 1)
        return _json_object(text)

    def lines(self, path: str, body: Mapping[str, object]) -> Generator[dict[str, object]]:
        """Return the JSON objects of a streamed answer as they come; closing the iterator closes the connection.

        Raises:
            LLMError: as `ask`, also where the stream stalls or says in its midst that it has failed.
            ContextOverflowError: as `ask`.
        """
        with self._failures(path), self._open(path, body, self._patience.first_seconds) as (answer, line):
            left = MOST_BYTES
            while text := answer.readline(left + 1):
                line.settimeout(self._patience.gap_seconds)
                left -= len(text)
                if left < 0:
                    raise LLMError("unusable", f"{self.url}{path} answers without an end")
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
        """Let failures of the connection out as ours."""
        try:
            yield
        except TimeoutError as error:
            raise LLMError("unreachable", f"{self.url}{path} did not go on: {error}; is the server busy?") from error
        except ConnectionRefusedError as error:
            raise LLMError("unreachable", f"nothing listens at {self.url}; start it with `ollama serve`") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            # A ValueError: a name that can't be a host's.
            raise LLMError("unreachable", f"{self.url}{path} broke off: {error!r:.200}") from error


def _json(body: Mapping[str, object]) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise LLMError("refused", f"no JSON can be made of the request: {error}") from error


def _json_object(text: bytes) -> dict[str, object]:
    if len(text) > MOST_BYTES:
        raise LLMError("unusable", "the server answers without an end")
    try:
        value = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise LLMError("unusable", f"the server's answer is no JSON: {text[:80]!r}") from error
    if not isinstance(value, dict):
        raise LLMError("unusable", f"the server's answer is no JSON object: {text[:80]!r}")
    return value


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _said(text: bytes) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text.decode("utf-8", "replace")


def _words(said: object) -> str:
    """Return what an error says; llama-server's is an object, and Ollama may pass it on as JSON in a string."""
    for _ in range(3):
        if isinstance(said, dict):
            said = said.get("error", said.get("message", ""))
        elif isinstance(said, str) and said.startswith("{"):
            inner = _said(said.encode("utf-8", "replace"))
            if not isinstance(inner, dict):
                break
            said = inner
    return said if isinstance(said, str) else json.dumps(said)


def _refusal(status: int, said: object, body: Mapping[str, object] | None) -> LLMError | ContextOverflowError:
    words = _words(said)
    if _TOO_LONG.search(words):
        return ContextOverflowError(f"Ollama refuses the prompt: {words[:MOST_SAID_CHARS]}")
    model = (body or {}).get("model", "")
    advice = f"; get it with `ollama pull {model}`" if status == http.client.NOT_FOUND and "not found" in words else ""
    refusal = RefusedError(status, words, advice)
    if without_memory(refusal):
        return RefusedError(status, words, "; a smaller window, or other models unloaded, would make room")
    return refusal


# A model behind Ollama: chat, embeddings, and what was really set up.

# How long the server keeps a model that we had it load: its own five minutes are less than a user's pause.
KEEP_ALIVE = "30m"
_FAILED = 500


def open_model(
    definition: Definition, *, counter: TokenCounter | None = None, patience: OllamaPatience | None = None
) -> OllamaModel:
    """Return a model that the server has loaded with the window of `definition.loading.n_ctx`.

    `model` is its name on the server; `url` "" means this machine's usual address. Of `loading`, Ollama can be told
    the window and, where it is 0 or more, `n_gpu_layers`; types of the cache are set where the server is started.
    `counter` None: `classes`.

    Raises:
        ConfigError: the definition names no model, no window, or no address.
        LLMError: no server is there (start it with `ollama serve`), or it has no such model (`ollama pull NAME`).
        ModelLoadError: the server could not load it with that window.
    """
    name, window = definition.model, definition.loading.n_ctx
    if not name or name != name.strip() or not name.isprintable():
        raise ConfigError(f"model {name!r:.80} of {definition.alias} is no name of a model on an Ollama server")
    if window < 1:
        raise ConfigError(f"a model behind Ollama needs a window: n_ctx of {definition.alias} is {window}")
    wire = Wire(definition.url, patience or OllamaPatience())
    facts = _facts(wire, name)
    was_there, _ = running_window(wire, name)
    model = OllamaModel(wire, definition, facts, counter or builtin_counter("classes"), keeps=was_there)
    if facts.can("completion"):
        model.load()
    return model


def _facts(wire: Wire, name: str) -> Facts:
    try:
        return read_facts(wire, name)
    except RefusedError as refusal:
        if refusal.status != 404:
            raise
        there = ", ".join(sorted(read_pulled(wire))[:20]) or "none"
        raise LLMError(
            "refused", f"{wire.url} has no model {name}; get it with `ollama pull {name}` (there are: {there})"
        ) from refusal


class _Said(NamedTuple):
    """A whole answer: what was said, why it ended, and the tokens as reported; 0 where nothing was."""

    content: str
    thinking: str
    calls: tuple[Mapping[str, object], ...]
    reason: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int


class OllamaModel:
    """A `LoadedModel`. Threads may share it.

    A prompt that does not fit is refused before it is sent. The server is told to refuse and not to cut; where it cuts
    all the same, the answer is a ContextOverflowError and is not returned, though `told` may have had its pieces.
    """

    def __init__(self, wire: Wire, definition: Definition, facts: Facts, counter: TokenCounter, *, keeps: bool) -> None:
        """Take a model that the server has; `keeps`: it was in memory before, and stays there when this is closed."""
        self._wire = wire
        self._model = definition.model
        self._layers = definition.loading.n_gpu_layers
        self._asked_tokens = definition.loading.n_ctx
        self._given = dict(definition.options)
        self._told_tokens: int | None = None
        self._counter = counter
        self._keeps = keeps
        self._closed = False
        self.facts = facts

    @property
    def name(self) -> str:
        """The model's name on the server."""
        return self._model

    @property
    def form(self) -> str:
        """Messages go in and come out as OpenAI writes them."""
        return "openai.chat"

    @property
    def window_tokens(self) -> int:
        """Input and output together: what was asked for, or less where the model, or the server, has less."""
        most = [self._asked_tokens, self.facts.native_tokens, self._told_tokens]
        return min(tokens for tokens in most if tokens is not None)

    @property
    def counter(self) -> TokenCounter:
        """What prompts are counted with: no release of Ollama counts with the model's own vocabulary."""
        return self._counter

    @property
    def served(self) -> Served:
        """The window that the server says it runs the model with."""
        return Served(self._told_tokens)

    def load(self) -> None:
        """Have the server load the model, and read back with which window.

        Raises:
            ModelLoadError: it could not.
            LLMError: the server is not reached, or refuses.
        """
        try:
            self._wire.ask("/api/generate", {**self._common(), "stream": False}, long=True)
        except RefusedError as refusal:
            if refusal.status < _FAILED and not without_memory(refusal):
                raise
            raise ModelLoadError(
                f"{self._model} with a window of {self._asked_tokens} tokens can't be loaded: {refusal}"
            ) from refusal
        self._told_tokens = running_window(self._wire, self._model)[1]

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        """Return the answer to a prompt; a model that can think is asked not to, since that takes the answer's room.

        Raises:
            ContextOverflowError: the prompt and the room for the answer don't fit.
            LLMError: there is no whole answer.
        """
        messages = [{"role": "system", "content": system}] if system else []
        messages.append({"role": "user", "content": prompt})
        beside = {"think": False} if "thinking" in self.facts.capabilities else {}
        said = self._said(messages, (), max_output_tokens, beside, None)
        return completion(
            self._model, said.content, said.reason, max_output_tokens, (said.input_tokens, said.output_tokens)
        )

    def reply(
        self,
        messages: Sequence[Mapping[str, object]],
        max_output_tokens: int,
        tools: Sequence[Mapping[str, object]] = (),
        told: Callable[[str], None] | None = None,
        stable: Sequence[int] = (),  # noqa: ARG002  # it keeps the newest prompt whole
    ) -> Reply:
        """Return the next message of the assistant.

        Raises:
            ContextOverflowError: messages, tools and the room for the answer don't fit, or did not.
            LLMError: there is no answer.
        """
        said = self._said(messages, tools, max_output_tokens, {}, told)
        message = from_ollama(said.content, said.thinking, said.calls)
        finish = "tool_calls" if said.calls else said.reason
        return Reply(message, finish, said.input_tokens, said.output_tokens, said.cached_tokens)

    def embedder(self) -> OllamaEmbedder:
        """Return what makes vectors with this model; it is asked for one, to see that it does.

        Raises:
            LLMError: it makes none, or the server is not reached.
        """
        return OllamaEmbedder(self._wire, self._model, {**self._common(), "truncate": False})

    def close(self) -> None:
        """Have the server unload the model, unless it was loaded before this was opened."""
        if self._closed or self._keeps:
            self._closed = True
            return
        self._closed = True
        with suppress(LLMError):  # a server that is gone holds no memory
            self._wire.ask("/api/generate", {"model": self._model, "keep_alive": 0, "stream": False})

    def _common(self) -> dict[str, object]:
        """Return what every request has: another window, or another `shift`, would have the server load anew."""
        options: dict[str, object] = {**self._given, "num_ctx": self._asked_tokens}
        if self._layers >= 0:
            options["num_gpu"] = self._layers
        common: dict[str, object] = {"model": self._model, "options": options, "truncate": False, "shift": False}
        return common if self._keeps else {**common, "keep_alive": KEEP_ALIVE}

    def _said(
        self,
        messages: Sequence[Mapping[str, object]],
        tools: Sequence[Mapping[str, object]],
        most_tokens: int,
        beside: Mapping[str, object],
        told: Callable[[str], None] | None,
    ) -> _Said:
        if self._closed:
            raise LLMError("refused", f"{self._model} was closed")
        body = {**self._common(), **beside, "messages": to_ollama(messages), "stream": True}
        body["options"] = {**_mapping(body, "options"), "num_predict": most_tokens}
        if tools:
            body["tools"] = list(tools)
        weight = weigh(messages, tools, self._counter)
        if weight.bound_tokens + most_tokens > self.window_tokens:
            raise ContextOverflowError(
                f"the request takes up to {weight.bound_tokens} tokens, with {most_tokens} for the answer more than "
                f"the window of {self.window_tokens} of {self._model}"
            )
        return self._accepted(self._streamed(body, told), weight)

    def _accepted(self, said: _Said, weight: Weight) -> _Said:
        """Return an answer that was made from the whole prompt.

        Raises:
            ContextOverflowError: it was not, or nobody can say.
        """
        if said.input_tokens >= self.window_tokens:  # one less is the most that Ollama reads uncut
            raise ContextOverflowError(
                f"{self._model} read {said.input_tokens} tokens, all that its window of {self.window_tokens} holds"
            )
        if said.input_tokens >= weight.estimate_tokens:
            return said
        with suppress(LLMError):  # it has answered just now: not to be told is an answer, too
            self._told_tokens = running_window(self._wire, self._model)[1] or self._told_tokens
        why = doubt(weight, said.input_tokens, self._told_tokens)
        if why:
            raise ContextOverflowError(f"{self._model} did not read the whole prompt: {why}")
        # What is reported of less than the prompt would teach that prompts are small.
        return said if said.input_tokens >= weight.fewest_tokens else said._replace(input_tokens=0, cached_tokens=0)

    def _streamed(self, body: Mapping[str, object], told: Callable[[str], None] | None) -> _Said:
        content, thinking, calls = [], [], []
        with closing(self._wire.lines("/api/chat", body)) as pieces:
            for piece in pieces:
                message = piece.get("message")
                message = message if isinstance(message, dict) else {}
                calls.extend(_calls(message))
                thinking.append(_text(message, "thinking"))
                content.append(_text(message, "content"))
                if told is not None and content[-1]:
                    told(content[-1])
                if piece.get("done") is True:
                    return _whole("".join(content), "".join(thinking), tuple(calls), piece)
        raise LLMError("unreachable", f"{self._wire.url} closed the connection before {self._model}'s answer ended")


def _whole(content: str, thinking: str, calls: tuple[Mapping[str, object], ...], last: Mapping[str, object]) -> _Said:
    reason = last.get("done_reason") or "stop"
    if reason not in ("stop", "length"):
        raise LLMError("unusable", f"the answer ended with {reason!r:.40}")
    read, made, cached = (number(last, f"{key}_count") for key in ("prompt_eval", "eval", "prompt_eval_cached"))
    return _Said(content, thinking, calls, str(reason), read, made, min(cached, read))


def _text(message: Mapping[str, object], key: str) -> str:
    said = message.get(key)
    if said is None:
        return ""
    if not isinstance(said, str):
        raise LLMError("unusable", f"{key} of the model's answer is no text: {said!r:.40}")
    return said


def _calls(message: Mapping[str, object]) -> list[Mapping[str, object]]:
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise LLMError("unusable", "tool_calls of the model's answer is no list of objects")
    return calls


class OllamaEmbedder:
    """Makes vectors with a model; a text that is too long is refused, never cut."""

    def __init__(self, wire: Wire, model: str, common: Mapping[str, object]) -> None:
        """Ask for one vector, to learn how long they are.

        Raises:
            LLMError: the model makes none, or the server is not reached.
        """
        self._wire = wire
        self._model = model
        self._common = {key: value for key, value in common.items() if key != "shift"}
        self._dimensions = 0
        self._dimensions = len(self.embed(["x"])[0])

    @property
    def name(self) -> str:
        """The model's name on the server, behind the server's kind."""
        return f"ollama/{self._model}"

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return a vector of length 1 for each text, in order.

        Raises:
            ContextOverflowError: a text is too long for the model.
            LLMError: there are no vectors.
        """
        if not texts:
            return []
        made = self._wire.ask("/api/embed", {**self._common, "input": list(texts)}, long=True).get("embeddings")
        if not isinstance(made, list) or len(made) != len(texts):
            raise LLMError("unusable", f"{self._model} made no vector for each of {len(texts)} texts")
        return [unit_vector(self._model, vector, self._dimensions) for vector in made]
