"""A model behind Ollama: what is sent, what comes back, and what is told when it fails."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from squidbot.adapters.common.providers import MOST_SAID_CHARS
from squidbot.adapters.ollama import OllamaEmbedder, OllamaModel, OllamaPatience, open_model
from squidbot.core.errors import ConfigError, ContextOverflowError, LLMError, ModelLoadError, SquidbotError
from squidbot.core.messages import Completion, Reply
from squidbot.core.sizing.header import Definition, Loading
from squidbot.testing import check_llm
from squidbot.testing.models import check_embedder, check_loaded_model

from .ollama import Model, Ollama, answering, at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .ollama import Json

TOOLS = [{"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}}]
# Longer than a machine with much to do keeps a server from answering.
PATIENT = OllamaPatience(connect_seconds=60.0, short_seconds=60.0, first_seconds=60.0, gap_seconds=60.0)


def defined(server: Ollama, window: int = 8_192, model: str = "tiny", layers: int = -1) -> Definition:
    """Return the definition of a model on that server."""
    return Definition("local", "", Loading(n_ctx=window, n_gpu_layers=layers), model=model, url=server.url)


def opened(server: Ollama, window: int = 8_192, model: str = "tiny") -> OllamaModel:
    """Return a model, opened."""
    return open_model(defined(server, window, model), patience=PATIENT)


def message(role: str, text: str) -> Json:
    """Return a message."""
    return {"role": role, "content": text}


def user(text: str) -> Json:
    """Return a message of the user."""
    return message("user", text)


def chunk(content: str = "", **beside: object) -> Json:
    """Return one piece of an answer."""
    return {"message": {"role": "assistant", "content": content, **beside}, "done": False}


def options(body: Json) -> Json:
    """Return the options of a request."""
    found = body["options"]
    assert isinstance(found, dict)
    return found


# -- opening ----------------------------------------------------------------------------------------------------------


def test_opening_loads_the_model_with_the_window_and_reads_it_back() -> None:
    """The server is told the window before anything is asked, and what it says it runs with is what is served."""
    with Ollama() as server:
        model = opened(server, 6_000)
        assert server.loaded == {"tiny:latest": 6_000}
    assert (model.name, model.form, model.window_tokens) == ("tiny", "openai.chat", 6_000)
    assert model.served.window_tokens == 6_000
    assert (model.counter.name, model.counter.certificate) == ("classes", "measured")


def test_options_of_the_settings_stand_beside_the_window() -> None:
    """In each request, and never in its place."""
    with Ollama() as server:
        given = defined(server, 5_000)._replace(options={"temperature": 0.5, "num_ctx": 9})
        model = open_model(given, patience=PATIENT)
        model.reply([user("Hello there.")], 20)
        model.complete("Be brief.", "Hello there.", 21)
    asked = [options(body) for path, body in server.requests if path == "/api/chat"]
    assert [(found["temperature"], found["num_ctx"]) for found in asked] == [(0.5, 5_000)] * 2


def test_window_is_less_than_asked_where_the_model_was_trained_for_less() -> None:
    """Ollama lowers the window without a word; here it is read back, or follows from the model's own facts."""
    info: Json = {"general.architecture": "llama", "llama.context_length": 2_048}
    with Ollama(models={"tiny:latest": Model(native=2_048, info=info)}) as server:
        assert opened(server, 9_000).served.window_tokens == 2_048
        server.tells = False
        silent = opened(server, 9_000)
    assert (silent.served.window_tokens, silent.window_tokens) == (None, 2_048)


def test_every_request_that_loads_a_model_carries_the_window() -> None:
    """No request is left to the server's default, of 4,096 tokens: opening, chat, summaries and embeddings."""
    with Ollama() as server:
        model = open_model(defined(server, 5_000, layers=7), patience=PATIENT)
        model.reply([user("Hello there.")], 20)
        model.complete("Be brief.", "Hello there.", 21)
        model.embedder().embed(["one", "two"])
    asked = [options(body) for path, body in server.requests if path in ("/api/generate", "/api/chat", "/api/embed")]
    assert len(asked) == 5
    assert all(found["num_ctx"] == 5_000 and found["num_gpu"] == 7 for found in asked)
    assert [options(body)["num_predict"] for body in server.sent("/api/chat")] == [20, 21]
    assert all(body["truncate"] is False and body["shift"] is False for body in server.sent("/api/chat"))


def test_the_server_that_is_tested_with_cuts_as_ollama_does() -> None:
    """Without a window it has 4,096 tokens, and a longer prompt loses its oldest messages and is answered."""
    with Ollama(obeys=False) as server:
        told = [user("word " * 3_000), user("word " * 3_000)]
        *_, last = server.chat({"model": "tiny", "messages": told, "options": {}})
    assert server.cut == [True]
    assert last["prompt_eval_count"] == 3_004
    assert server.loaded == {"tiny:latest": 4_096}


def test_opening_says_what_to_pull_when_the_model_is_not_there() -> None:
    """The text has the command, and what there is."""
    with Ollama() as server, pytest.raises(LLMError, match=r"`ollama pull huge:70b` \(available: tiny:latest\)"):
        opened(server, model="huge:70b")


def test_opening_is_a_load_error_when_memory_is_short() -> None:
    """What the server said last is in the text, and a smaller window opens."""
    with Ollama(memory_tokens=4_096) as server:
        with pytest.raises(ModelLoadError, match=r"window of 8192 tokens .* requires more system memory \(56"):
            opened(server, 8_192)
        assert opened(server, 4_096).window_tokens == 4_096


def test_opening_says_how_to_start_the_server_when_nothing_listens() -> None:
    """A port that was just free."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(LLMError, match="start it with `ollama serve`") as caught:
        open_model(Definition("local", "", Loading(n_ctx=4_096), model="tiny", url=url), patience=PATIENT)
    assert caught.value.kind == "unreachable"


@pytest.mark.parametrize(
    ("model", "window", "url"),
    [
        *[("", 4_096, ""), (" x", 4_096, ""), ("x\n", 4_096, ""), ("x", 0, ""), ("x", 1, "ftp://here")],
        *[("x", 1, "http://"), ("x", 1, "http://h:99999"), ("x", 1, "http://me:secret@h"), ("x", 1, "http://h?x=1")],
        ("x", 1, "here:11434"),
    ],
)
def test_opening_is_a_config_error_when_the_definition_is_wrong(model: str, window: int, url: str) -> None:
    """No model, no window or no address: said before anything is asked."""
    with pytest.raises(ConfigError):
        open_model(Definition("local", "", Loading(n_ctx=window), model=model, url=url), patience=PATIENT)


def test_closing_unloads_what_opening_loaded_and_nothing_else() -> None:
    """A model that others had in memory stays there; a second close does nothing; a closed model answers nothing."""
    with Ollama() as server:
        server.loaded = {"tiny:latest": 4_096}
        kept = opened(server)
        kept.close()
        assert "tiny:latest" in server.loaded
        assert all("keep_alive" not in body for _, body in server.requests)
        server.loaded = {}
        model = opened(server)
        assert server.sent("/api/generate")[-1]["keep_alive"] == "30m"
        model.close()
        assert server.loaded == {}
        before = len(server.requests)
        model.close()
        with pytest.raises(LLMError, match="was closed"):
            model.reply([user("Hello.")], 20)
        assert len(server.requests) == before
    kept.close()


# -- the port ---------------------------------------------------------------------------------------------------------


def test_it_is_an_llm() -> None:
    """The public check, with servers that fail in every way."""
    with Ollama() as server, _failing() as failing:
        check_llm(lambda: opened(server, 4_096), window_tokens=4_096, failing=failing)


def test_it_is_a_loaded_model_and_its_vectors_are_an_embedders() -> None:
    """The public checks, over a server with Ollama's rules."""
    with Ollama() as server:
        check_loaded_model(lambda: opened(server, 2_048))
        check_embedder(opened(server, 2_048).embedder, too_long="word " * 3_000)


@contextmanager
def _failing() -> Iterator[list[Callable[[], OllamaModel]]]:
    """Return what opens models whose server fails once it is asked."""
    chat = "/api/chat"
    error = b'{"error":"llama runner process has terminated: exit status 2"}'
    last = b'{"message":{"role":"assistant","content":""},"done":true,"done_reason":"%s"}'
    bad = [answering(error, status) for status in (b"500 Internal Server Error", b"503 Busy", b"429 Slow", b"400 No")]
    bad += [answering(last % reason) for reason in (b"stop", b"length", b"load", b"unload")]
    bad += [answering(b""), answering(b'{"message":{"content":"and the'), answering(error), answering(b"[]\n")]
    bad += [lambda _: b"", lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", lambda _: b"SSH-2.0-x\r\n"]
    with Ollama() as server:
        models = [opened(server) for _ in bad]

        def broken(number: int) -> OllamaModel:
            server.raw = at(chat, bad[number])
            return models[number]

        yield [partial(broken, number) for number in range(len(bad))]


def test_reply_calls_a_tool_and_takes_its_result() -> None:
    """The call comes back as OpenAI writes it; sent again with its result, Ollama gets its own form of both."""
    call: Json = {"function": {"name": "look", "arguments": {"at": "the sky", "n": 2}}}
    with Ollama() as server:
        model = opened(server)
        server.answer = lambda _: [chunk(thinking="Let me "), chunk(thinking="look."), chunk(tool_calls=[call])]
        asked = [user("What colour is it?")]
        first = model.reply(asked, 50, TOOLS)
        assert (first.finish, first.message["reasoning"]) == ("tool_calls", "Let me look.")
        calls = first.message["tool_calls"]
        assert isinstance(calls, list)
        assert calls[0]["function"] == {"name": "look", "arguments": '{"at": "the sky", "n": 2}'}
        assert calls[0]["type"] == "function"
        server.answer = lambda _: [chunk("It is "), chunk("blue.")]
        result = {"role": "tool", "tool_call_id": calls[0]["id"], "content": "blue"}
        second = model.reply([*asked, first.message, result], 50, TOOLS)
    assert (second.finish, second.message) == ("stop", {"role": "assistant", "content": "It is blue."})
    body = server.sent("/api/chat")[-1]
    assert body["tools"] == TOOLS
    messages = body["messages"]
    assert isinstance(messages, list)
    assert messages[1]["tool_calls"] == [{**call, "id": calls[0]["id"]}]
    assert messages[1]["thinking"] == "Let me look."
    assert (messages[2]["tool_name"], messages[2]["tool_call_id"]) == ("look", calls[0]["id"])


def test_reply_tells_pieces_as_they_come_and_counts_tokens() -> None:
    """`told` gets the text in pieces; the reply says what the provider reports, cached tokens, too."""
    with Ollama() as server:
        server.answer = lambda _: [chunk("It "), chunk(""), chunk("is blue.")]
        model = opened(server)
        pieces: list[str] = []
        asked = [message("system", "Be brief."), user("What colour has the sky at noon, and why?")]
        reply = model.reply(asked, 50, on_text=pieces.append)
    assert pieces == ["It ", "is blue."]
    assert reply.message["content"] == "It is blue."
    assert (reply.input_tokens, reply.output_tokens, reply.cached_tokens) == (22, 3, 7)


def test_reply_ends_when_who_is_told_raises() -> None:
    """What `told` raises goes to the caller as it is, and the connection is closed: the server sees that."""
    gone = threading.Event()

    def endless(_: Json) -> Iterator[Json]:
        try:
            while True:
                yield chunk("word " * 1_000)
        finally:
            gone.set()

    def stop(_: str) -> None:
        raise KeyboardInterrupt

    with Ollama() as server:
        model = opened(server)
        server.answer = endless
        with pytest.raises(KeyboardInterrupt):
            model.reply([user("Go on.")], 50, on_text=stop)
        assert gone.wait(60.0)


def test_reply_says_length_when_the_answer_reached_its_limit() -> None:
    """A reply may be short of its end and says so; a completion that is, is no answer."""
    with Ollama() as server:
        server.answer = lambda _: [chunk("one "), chunk("two "), chunk("three ")]
        model = opened(server)
        reply = model.reply([user("Count.")], 2)
        assert (reply.finish, reply.message["content"]) == ("length", "one two ")
        with pytest.raises(LLMError, match="cut off at 2 tokens") as caught:
            model.complete("", "Count.", 2)
    assert caught.value.kind == "cut"


def test_complete_asks_a_model_that_thinks_not_to() -> None:
    """Its thoughts would take the room of the answer; a model that can't think would refuse to be told."""
    with Ollama(
        models={"tiny:latest": Model(), "deep:latest": Model(capabilities=("completion", "thinking"))}
    ) as server:
        opened(server).complete("", "Hello there.", 9)
        opened(server, model="deep").complete("", "Hello there.", 9)
    assert [body.get("think") for body in server.sent("/api/chat")] == [None, False]


# -- failures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "text", "kind", "said"),
    [
        (b"500 E", b'{"error":"model requires more system memory (9 GiB)"}', "refused", "a smaller window"),
        (b"500 E", b'{"error":"cudaMalloc failed: out of memory"}', "refused", "other models unloaded"),
        (b"404 E", b'{"error":"model \'tiny\' not found"}', "refused", "`ollama pull tiny`"),
        (b"503 E", b'{"error":"server busy, please try again"}', "rate-limit", "server busy"),
        (b"400 E", b'{"error":"tiny does not support tools"}', "refused", "does not support tools"),
        (b"302 E", b"", "refused", "answered 302"),
        (b"200 OK\r\nTransfer-Encoding: chunked", b"zz\r\n", "unreachable", "closed the connection"),
        (b"200 OK", b'{"message":{"content":"x"},"done":true,"done_reason":"load"}', "unusable", "ended with 'load'"),
        (b"200 OK", b'{"done":true,"x":NaN}', "unusable", "is not JSON"),
        (b"200 OK", b'{"error":"an error was encountered while running the model"}\n', "refused", "while running"),
        (b"502 E", b"<html>" + b"x" * 5_000, "refused", "<html>"),
    ],
)
def test_failure_is_told_in_our_words(status: bytes, text: bytes, kind: str, said: str) -> None:
    """The kind says what failed, the text what the server said, no more of it than is read, and what to do."""
    with Ollama() as server:
        model = opened(server)
        server.raw = at("/api/chat", answering(text, status))
        with pytest.raises(LLMError) as caught:
            model.reply([user("Hello there.")], 20)
    assert caught.value.kind == kind
    assert said in str(caught.value)
    assert len(str(caught.value)) < MOST_SAID_CHARS + 200


def test_failure_in_the_midst_of_an_answer_is_no_answer() -> None:
    """What came before it is not returned."""
    with Ollama() as server:
        model = opened(server)
        server.answer = lambda _: [chunk("It is "), {"error": "unexpected EOF"}]
        with pytest.raises(LLMError, match="unexpected EOF"):
            model.reply([user("Hello there.")], 20)


@pytest.mark.parametrize(
    "said",
    [
        "the prompt is longer than the context length currently available to the model; shorten the prompt",
        "the input length exceeds the context length",
        "input length exceeds maximum context length",
        "prompt too long; exceeded max context length by 12 tokens",
        '{"error":{"code":400,"message":"request (9 tokens) exceeds the available context size (8 tokens)","n_ctx":8}}',
    ],
)
def test_refusal_of_a_prompt_that_is_too_long_is_an_overflow(said: str) -> None:
    """In all the words that releases of Ollama, and of the llama-server behind it, have for it."""
    with Ollama() as server:
        model = opened(server)
        server.answer = lambda _: [{"error": said}]
        with pytest.raises(ContextOverflowError):
            model.reply([user("Hello there.")], 20)


def test_answer_without_an_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a line, of a stream, and of a short answer: no more is read than a window can hold."""
    with Ollama() as server:
        model = opened(server)
        monkeypatch.setattr("squidbot.adapters.ollama.MOST_BYTES", 2_000)
        for pieces in ([chunk("x" * 3_000)], [chunk("x" * 500)] * 9):
            server.answer = lambda _, pieces=pieces: pieces
            with pytest.raises(LLMError, match="never ends"):
                model.reply([user("Hello there.")], 20)
        server.raw = answering(b" " * 3_000 + b"{}")
        with pytest.raises(LLMError, match="never ends"):
            model.embedder()


def test_request_that_is_no_json_is_refused_before_it_is_sent() -> None:
    """A number that JSON has no form for, and an address that no network has: errors of ours."""
    with Ollama() as server:
        model = opened(server)
        with pytest.raises(LLMError, match="the request is not JSON") as caught:
            model.reply([user("Hello there.")], 20, [{"x": float("nan")}])
        assert caught.value.kind == "refused"
        with pytest.raises(LLMError) as caught:
            open_model(defined(server)._replace(url="http://a..b:1"), patience=PATIENT)
        assert caught.value.kind == "unreachable"


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\n\r\n", b'HTTP/1.1 200 OK\r\n\r\n{"message":{}}\n'])
def test_server_that_stalls_is_left(head: bytes) -> None:
    """Before its answer, and in the midst of it: within the time that is allowed, not for ever."""
    begun = head.endswith(b"}\n")
    with Ollama() as server, socket.create_server(("127.0.0.1", 0)) as stalling:
        model = opened(server)
        model._wire._patience = PATIENT._replace(**{"gap_seconds" if begun else "first_seconds": 0.2})
        model._wire._port = stalling.getsockname()[1]
        told = threading.Thread(target=lambda: model_fails(model))
        told.start()
        line, _ = stalling.accept()
        with line:
            line.sendall(head)
            told.join(30.0)
            assert not told.is_alive()


def model_fails(model: OllamaModel) -> None:
    """Ask a model whose server stalls."""
    with pytest.raises(LLMError, match="stopped sending") as caught:
        model.reply([user("Hello there.")], 20)
    assert caught.value.kind == "unreachable"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
MESSAGES = st.fixed_dictionaries(
    {}, optional={"role": JSON, "content": JSON, "thinking": JSON, "tool_calls": JSON | st.lists(JSON, max_size=2)}
)
PIECES = st.fixed_dictionaries(
    {},
    optional={"message": MESSAGES | JSON, "done": st.booleans() | JSON, "done_reason": JSON, "error": JSON}
    | {
        "embeddings": JSON,
        "models": JSON,
        "model_info": JSON,
        "modelfile": JSON,
        "tensors": JSON,
        "prompt_eval_count": JSON,
        "eval_count": JSON,
    },
)


def lines(pieces: Sequence[object]) -> bytes:
    """Return pieces as lines of JSON."""
    return b"\n".join(json.dumps(piece).encode() for piece in pieces)


@pytest.fixture(scope="module")
def hostile() -> Iterator[tuple[Ollama, OllamaModel]]:
    """Return a server that answers what it is told to, and a model on it."""
    with Ollama() as server:
        yield server, opened(server)


@given(text=st.binary(max_size=60) | st.lists(PIECES, max_size=3).map(lines))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_whatever_a_server_answers_is_an_answer_or_an_error_of_ours(
    hostile: tuple[Ollama, OllamaModel], text: bytes
) -> None:
    """Bytes, JSON of any form, and pieces that are nearly right: no exception but ours."""
    server, model = hostile
    server.raw = answering(text)
    asked = (
        lambda: model.reply([user("Hello.")], 20),
        lambda: model.complete("", "Hello.", 20),
        model.embedder,
        lambda: opened(server),
    )
    assert all(
        isinstance(tried(ask), Reply | Completion | SquidbotError | OllamaModel | OllamaEmbedder) for ask in asked
    )


def tried(ask: Callable[[], object]) -> object:
    """Return what comes of it, or our error."""
    try:
        return ask()
    except SquidbotError as error:
        return error


# -- embeddings -------------------------------------------------------------------------------------------------------


def test_embedder_makes_vectors_of_length_one_in_order() -> None:
    """The server's are not; all texts go in one request, and none is cut."""
    with Ollama() as server:
        embedder = opened(server).embedder()
        made = embedder.embed(["see me", "x"])
        assert embedder.embed([]) == []
    assert (embedder.name, embedder.dimensions) == ("ollama/tiny", 3)
    assert [sum(number * number for number in vector) for vector in made] == pytest.approx([1.0, 1.0])
    assert made[0] == pytest.approx((6 / 46**0.5, 1 / 46**0.5, 3 / 46**0.5))
    body = server.sent("/api/embed")[-1]
    assert (body["input"], body["truncate"]) == (["see me", "x"], False)


def test_embedder_refuses_a_text_that_is_too_long() -> None:
    """The server is told not to cut, and its refusal is an overflow."""
    with Ollama() as server:
        embedder = opened(server, 2_048).embedder()
        with pytest.raises(ContextOverflowError):
            embedder.embed(["word " * 3_000])


def test_embedder_is_an_error_when_the_model_makes_none() -> None:
    """Said where it is asked for, not at the first text."""
    with Ollama(models={"tiny:latest": Model(capabilities=("completion",))}) as server:
        model = opened(server)
        with pytest.raises(LLMError, match="does not support embeddings"):
            model.embedder()


def test_model_that_only_embeds_is_opened_without_being_loaded_for_chat() -> None:
    """Ollama refuses to load it so; it embeds all the same."""
    with Ollama(models={"tiny:latest": Model(capabilities=("embedding",))}) as server:
        model = opened(server)
        assert server.sent("/api/generate") == []
        assert len(model.embedder().embed(["x"])) == 1


@pytest.mark.parametrize(
    "text",
    [
        *[b"[[0.0,0.0]]", b"[[]]", b"[]", b'[["a"]]', b"[[1e999]]", b"[[%d]]" % 10**400, b"[[NaN]]", b"null"],
        *[b"[[1.0],[1.0]]", b"3"],
    ],
)
def test_vector_that_says_nothing_is_none(text: bytes) -> None:
    """Zeros, no numbers, or none at all: an error, never a vector."""
    with Ollama() as server:
        model = opened(server)
        server.raw = at("/api/embed", answering(b'{"embeddings":%s}' % text))
        with pytest.raises(LLMError, match=r"^unusable"):
            model.embedder()
