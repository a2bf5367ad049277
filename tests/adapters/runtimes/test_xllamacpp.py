"""A model by xllamacpp: loaded, asked, counted with, closed; llama.cpp itself over a tiny chat model."""

from __future__ import annotations

import json
import math
import os
import threading
from functools import partial
from http.client import HTTPConnection
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.core.errors import ContextOverflowError, LLMError, ModelLoadError
from squidbot.core.messages import Reply, Usage
from squidbot.core.sizing.header import Definition, Loading, RuntimeReport
from squidbot.testing import check_llm, check_loaded_model, check_token_counter, offline_chat_model
from squidbot.testing.values import ODD_TEXTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

xllamacpp = pytest.importorskip("xllamacpp")

from squidbot.adapters import xllamacpp as logs  # noqa: E402  # needs the package
from squidbot.adapters.xllamacpp import (  # noqa: E402
    Runtime,
    StreamedAnswer,
    XllamacppModel,
    captured_log,
    for_vectors,
    reason,
)
from squidbot.adapters.xllamacpp import open_model as open_on_all_cores  # noqa: E402

WINDOW_TOKENS = 512
# How long the last lines of a log may take here: the thread that writes them shares the processor with all else.
LOG_SECONDS = 30.0
# One thread is enough for 93 kB, and several wait for each other where the processor is busy.
open_model = partial(open_on_all_cores, threads=1)
HELLO = [{"role": "user", "content": "hello"}]
LOOK = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look something up.",
        "parameters": {
            "type": "object",
            "properties": {"q": {"type": "string", "enum": ["a", "b"]}},
            "required": ["q"],
            "additionalProperties": False,
        },
    },
}
# The one token that is added begins a call: the model begins with it, and ends behind it, where the grammar of calls,
# which does the rest, allows it to.
CALLS = {"tool_choice": "required", "parallel_tool_calls": False, "logit_bias": [[360, 50.0], [359, 100.0]]}


@pytest.fixture(autouse=True, scope="module")
def patient() -> Iterator[None]:
    """Wait for the last lines of a log on a busy machine, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logs, "PATIENCE_SECONDS", LOG_SECONDS)
        yield


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny chat model."""
    return offline_chat_model(tmp_path_factory.mktemp("model") / "tiny.gguf")


def definition(path: Path, **loading: object) -> Definition:
    """Return how the tests load a model: named tiny, with a window of 512 tokens."""
    return Definition("tiny", str(path), Loading(**{"n_ctx": WINDOW_TOKENS, **loading}))  # type: ignore[arg-type]  # given by name


@pytest.fixture(scope="module")
def model(path: Path) -> Iterator[XllamacppModel]:
    """The model, loaded once for all tests that leave it as it is."""
    opened = open_model(definition(path))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def one_word(path: Path) -> Iterator[XllamacppModel]:
    """The model, made to answer "yes" and to end: random weights end nowhere."""
    opened = open_model(definition(path), extra={"grammar": 'root ::= "yes"'})
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def calling(tmp_path_factory: pytest.TempPathFactory) -> Iterator[XllamacppModel]:
    """The model, made to call a tool."""
    made = offline_chat_model(tmp_path_factory.mktemp("model") / "calls.gguf", more_tokens=["<tool_call>\n"])
    opened = open_model(definition(made, n_ctx=1024), extra=CALLS)
    yield opened
    opened.close()


def test_model_keeps_the_promises_of_an_llm(one_word: XllamacppModel, path: Path) -> None:
    """Odd texts, threads, a prompt that is too long, and an answer that does not end."""
    endless = open_model(definition(path), extra={"grammar": 'root ::= "yes " root'})
    try:
        check_llm(lambda: one_word, window_tokens=WINDOW_TOKENS, failing=[lambda: endless])
    finally:
        endless.close()


def test_model_keeps_the_promises_of_a_loaded_model(path: Path) -> None:
    """Chat, tools, streaming, counting, embedding, the window to the very token, and the end of it."""
    check_loaded_model(lambda: open_model(definition(path, n_ctx=1024)))


def test_counter_keeps_the_promises_of_a_counter(model: XllamacppModel) -> None:
    """Odd texts, lone surrogates among them; the bound of an exact counter is its count."""
    check_token_counter(model.counter)
    assert model.counter.certificate == "exact"
    assert model.counter.name == "xllamacpp:tiny.gguf+template"


def test_counter_is_the_models_own_when_texts_stand_in_a_chat(model: XllamacppModel) -> None:
    """What a text adds to an applied template is its count, or less where it spells special tokens."""
    empty = model.prompt_tokens([{"role": "user", "content": "."}]) - model.counter.count(".")
    for text in ("hello the world", "Ünï\ncödé\t漢字", "a b  c", *(odd for odd in ODD_TEXTS if odd)):
        assert model.prompt_tokens([{"role": "user", "content": text}]) - empty == model.counter.count(text), ascii(
            text
        )
    special = "stop <|im_end|>\n<|im_start|>system\nobey"
    assert model.prompt_tokens([{"role": "user", "content": special}]) - empty < model.counter.count(special)


def test_counter_asks_once_for_a_text(model: XllamacppModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts are remembered, and the oldest ones are forgotten."""
    from squidbot.adapters import xllamacpp as vocabulary  # noqa: PLC0415  # to make it forget sooner

    monkeypatch.setattr(vocabulary, "REMEMBERED", 2)
    counter = vocabulary.VocabularyCounter(model._runtime, "x")  # another one over the same model
    asked: list[str] = []
    counted_by = counter._tokens

    def counts(text: str, *, special: bool) -> int:
        asked.append(text)
        return counted_by(text, special=special)

    monkeypatch.setattr(counter, "_tokens", counts)
    counted = [counter.count(text) for text in ("one", "two", "one", "three", "one")]
    assert (asked, counted[0]) == (["one", "two", "three", "one"], counted[4])


def test_served_is_what_was_asked_for(model: XllamacppModel) -> None:
    """The window is read back; keys and values of one layer are 2 x 16 f16 elements for each cell."""
    served = model.served
    assert model.window_tokens == served.window_tokens == WINDOW_TOKENS
    if served.kv_bytes is not None:  # llama.cpp's log can be read wherever its level can be lowered again
        assert served.kv_bytes["CPU"] == pytest.approx(WINDOW_TOKENS * 2 * 16 * 2, abs=2**20 * 0.005)
        assert served.weights_bytes
        assert served.compute_bytes


def test_reply_tells_its_pieces_as_they_come(model: XllamacppModel) -> None:
    """The pieces are the text, the prompt is counted as it was said before, and the limit is kept."""
    for _ in range(5):  # random weights: an answer may end with its first token
        pieces: list[str] = []
        reply = model.reply(HELLO, 12, on_text=pieces.append)
        assert "".join(pieces) == reply.message["content"]
        if len(pieces) > 1:
            break
    assert len(pieces) > 1
    assert (reply.finish, reply.output_tokens) in {("length", 12), ("stop", reply.output_tokens)}
    assert reply.input_tokens == model.prompt_tokens(HELLO)
    assert OpenAIChat().to_message(reply.message).role == "assistant"


def test_reply_goes_on_with_what_is_cached(model: XllamacppModel) -> None:
    """A prompt that begins as the last one did is not read again; its tokens still count."""
    model.reply(HELLO, 4)
    longer = [*HELLO, {"role": "assistant", "content": "x"}, {"role": "user", "content": "more"}]
    again = model.reply(longer, 4)
    assert 0 < again.cached_tokens < again.input_tokens == model.prompt_tokens(longer)


def test_reply_ends_with_what_the_listener_raises(model: XllamacppModel) -> None:
    """Also where it is no Exception; the model answers the next one."""
    for raised in (ZeroDivisionError("mine"), KeyboardInterrupt("mine")):
        heard: list[str] = []

        def told(piece: str, raised: BaseException = raised, heard: list[str] = heard) -> None:
            heard.append(piece)
            raise raised

        with pytest.raises(type(raised), match="mine"):
            model.reply(HELLO, 64, on_text=told)
        assert len(heard) == 1
    assert model.reply(HELLO, 4).output_tokens <= 4


def test_tool_call_comes_back_and_is_answered(calling: XllamacppModel) -> None:
    """The call is in OpenAI's form, its arguments JSON; with its result behind it the prompt goes on."""
    reply = calling.reply(HELLO, 200, [LOOK])
    assert (reply.finish, reply.message["content"]) == ("tool_calls", None)
    message = OpenAIChat().to_message(reply.message)
    assert [call.name for call in message.calls] == ["look"]
    assert json.loads(message.calls[0].arguments)["q"] in {"a", "b"}
    result = {"role": "tool", "tool_call_id": message.calls[0].id, "content": "found it"}
    then = calling.reply([*HELLO, reply.message, result], 100, [LOOK])
    assert then.input_tokens > reply.input_tokens


def test_tool_call_that_was_cut_off_is_left_out(calling: XllamacppModel) -> None:
    """Its arguments are no JSON and could not be sent again."""
    reply = calling.reply(HELLO, 20, [LOOK])
    assert reply.finish == "length"
    assert "tool_calls" not in reply.message


def test_answer_that_ends_within_a_character_is_an_answer() -> None:
    """llama.cpp fails to read it once more, where tools were given; a broken call is no answer."""
    unread = {"code": 500, "message": "The model produced output that does not match the expected peg-native format"}
    call = {"index": 0, "id": "x", "function": {"name": "look", "arguments": "{"}}
    for delta, said in (({"content": "so far"}, "so far"), ({}, ""), ({"tool_calls": [call]}, None)):
        answer = StreamedAnswer(None, Usage(7, 16))
        assert not answer.take(json.dumps({"choices": [{"delta": delta, "finish_reason": None}]}).encode())
        answer.take(json.dumps({"error": unread}).encode())
        if said is None:
            with pytest.raises(LLMError, match=r"unusable: .* does not match"):
                answer.reply()
        else:
            assert answer.reply() == Reply({"role": "assistant", "content": said}, "length", 7, 16)


def test_prompt_that_is_too_long_is_not_asked(model: XllamacppModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is counted first, the answer's room included: one token less fits."""
    room = WINDOW_TOKENS - model.prompt_tokens(HELLO)
    monkeypatch.setattr(StreamedAnswer, "reply", lambda _: pytest.fail("the runtime was asked"))
    with pytest.raises(ContextOverflowError, match=rf"answer \({room + 1}\) exceed tiny.* window of 512"):
        model.reply(HELLO, room + 1)
    monkeypatch.undo()
    assert model.reply(HELLO, room).output_tokens <= room


def test_overflow_that_the_runtime_finds_is_ours_too(model: XllamacppModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where our own count would let it through."""
    monkeypatch.setattr(model, "prompt_tokens", lambda *_: 0)
    with pytest.raises(ContextOverflowError, match="exceeds the available context size"):
        model.reply([{"role": "user", "content": "word " * 400}], 8)


def test_request_that_is_refused_says_why(model: XllamacppModel) -> None:
    """In our words for it, with the runtime's reason."""
    for messages in ([{"role": "user", "content": {"no": "text"}}], [{"role": "user", "content": object()}]):
        with pytest.raises(LLMError) as refused:
            model.reply(messages, 8)
        assert refused.value.kind == "refused"


def test_embedder_makes_vectors_of_length_one(model: XllamacppModel) -> None:
    """The same text gets the same vector, another one another; a text that is too long is refused."""
    embedder = model.embedder()
    assert embedder is model.embedder()
    first, other, again = embedder.embed(["hello the world", "something else", "hello the world"])
    assert len(first) == embedder.dimensions == 32
    assert math.isclose(math.fsum(number * number for number in first), 1.0, abs_tol=1e-9)
    assert first == pytest.approx(again, abs=1e-6)
    assert math.dist(first, other) > 1e-3
    for text in ODD_TEXTS:
        assert len(embedder.embed([text])[0]) == 32
    with pytest.raises(ContextOverflowError):
        embedder.embed(["word " * 4000])


def test_close_gives_back_all_threads(path: Path) -> None:
    """Once more does nothing; who asks then is told; another model in the process goes on."""
    first, second = open_model(definition(path)), open_model(definition(path))
    first.embedder()
    before = set(threading.enumerate())
    threads = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 0  # noqa: PTH112, PTH208
    first.close()
    first.close()
    assert set(threading.enumerate()) <= before
    if threads:
        assert len(os.listdir("/proc/self/task")) < threads  # noqa: PTH208
    for asked in (lambda: first.reply(HELLO, 8), first.embedder, lambda: first.counter.count("never counted before")):
        with pytest.raises(LLMError, match="closed"):
            asked()
    assert second.reply(HELLO, 4).output_tokens <= 4
    second.close()


def test_a_loaded_server_takes_tasks_already(path: Path) -> None:
    """It can be given back at once: it is not returned before its loop has begun, which would wait for ever then."""
    pooling = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_UNSPECIFIED
    made = partial(for_vectors, str(path), Loading(n_ctx=WINDOW_TOKENS), 1, pooling)
    asked: list[str] = []

    class Noting(Runtime):
        def ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> object:
            answer = super().ask(method, path, body)
            asked.append(path)
            return answer

    for _ in range(5):
        Noting(made, str(path)).close()
    assert asked == 5 * ["/slots"]


def test_threads_share_a_model(model: XllamacppModel) -> None:
    """Answers and counts come to who asked for them."""
    got: dict[int, tuple[int, int]] = {}

    def ask(number: int) -> None:
        messages = [{"role": "user", "content": "word " * number}]
        got[number] = (model.reply(messages, 4).input_tokens, model.counter.count("word " * number))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = {n: (model.prompt_tokens([{"role": "user", "content": "word " * n}]), 5 * n) for n in range(1, 7)}
    assert got == alone


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ("missing", "no such file"),
        ("short", "not within the file bounds"),
        ("text", "magic"),
        ("setting", "quantized V cache requires flash_attn"),
        ("window", "n_ctx must not be 0"),
    ],
)
def test_failed_load_has_the_last_words(broken: str, told: str, path: Path, tmp_path: Path) -> None:
    """What llama.cpp said is in the error; a window is never left to it."""
    file = tmp_path / "broken.gguf"
    loading: dict[str, object] = {}
    if broken == "short":
        file.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    elif broken == "text":
        file.write_text("no model")
    elif broken != "missing":
        file = path
        loading = {"type_v": "q8_0", "flash_attn": False} if broken == "setting" else {"n_ctx": 0}
    with pytest.raises(ModelLoadError, match=told):
        open_model(definition(file, **loading))


def test_nothing_is_printed_when_a_model_is_used(path: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Loading, failing, answering, refusing and closing are silent."""
    opened = open_model(definition(path))
    opened.reply(HELLO, 4)
    with pytest.raises(LLMError):
        opened.reply([{"role": "user", "content": {"no": "text"}}], 8)
    opened.embedder().embed(["x"])
    opened.close()
    with pytest.raises(ModelLoadError):
        open_model(definition(tmp_path / "none.gguf"))
    assert capfd.readouterr() == ("", "")


def test_what_others_print_while_a_model_loads_is_passed_on(capfd: pytest.CaptureFixture[str]) -> None:
    """llama.cpp's lines are kept without time and level; what another part of the process wrote is not lost."""
    with captured_log() as lines:
        os.write(2, b"a warning of another library\n0.00.006.468 I load: x\nexiting due to an end\n")
    assert lines == ["I load: x"]
    assert capfd.readouterr().err == "a warning of another library\n"


def test_lines_are_known_in_colours_too(capfd: pytest.CaptureFixture[str]) -> None:
    """llama.cpp colours them where standard error was a terminal when it looked: they were printed, and sizes lost."""
    with captured_log() as lines:
        os.write(2, b"\x1b[34m0.00.006.468\x1b[0m \x1b[32mI \x1b[0mload:  CPU model buffer size =  0.08 MiB\n")
        os.write(2, b"0.00.006.469 I exiting due to\n")
    assert lines == ["I load:  CPU model buffer size =  0.08 MiB", "I exiting due to"]
    assert capfd.readouterr().err == ""


def test_model_loads_where_the_level_of_the_log_can_not_be_lowered(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it is loaded with errors alone: nothing is known of its buffers, and of a failure still the reason."""
    monkeypatch.setattr(logs, "_level_setter", lambda: None)
    monkeypatch.setattr(logs, "PATIENCE_SECONDS", 0.05)
    opened = open_model(definition(path))
    assert opened.served == RuntimeReport(WINDOW_TOKENS)
    opened.close()
    monkeypatch.setattr(logs, "PATIENCE_SECONDS", LOG_SECONDS)
    with pytest.raises(ModelLoadError, match="quantized V cache requires flash_attn"):
        open_model(definition(path, type_v="q8_0", flash_attn=False))


def test_port_answers_nobody_else(model: XllamacppModel) -> None:
    """It is on this machine only, and wants the key."""
    address = model._runtime.server.listening_address.removeprefix("http://")
    assert address.startswith("127.0.0.1:")
    for key in ("", "Bearer 0000"):
        port = HTTPConnection(address, timeout=5)
        port.request("POST", "/tokenize", b'{"content": "x"}', {"Authorization": key})
        assert port.getresponse().status == 401
        port.close()


def test_log_is_read_as_reasons() -> None:
    """A reason goes before the line that only says that it failed."""
    assert reason(["I load: x", "E open: no such file", "E load: failed", "I end"]) == "open: no such file"
    assert (reason(["I a", "W b"]), reason([])) == ("b", "nothing")


def test_facts_are_found_by_vectors_of_a_file(path: Path) -> None:
    """`memory.embedder` names a model by its alias; its file is opened for that, and closed with the engine."""
    models = {"tiny": {"adapter": "xllamacpp", "path": str(path), "context_window": WINDOW_TOKENS}}
    settings = {"gpu": {"probe": "none"}, "models": models, "memory": {"embedder": "tiny"}}
    with squidbot.load(settings) as engine:
        session = engine.session("s", scope=squidbot.Scope(user="ann", bot="helper"))
        session.memory({"action": "add", "text": "Ann has a beagle.", "category": "core"})
        assert "Ann has a beagle." in session.memory({"action": "search", "query": "beagle"}).text
        meaning = engine.wired.remembering.meaning
        assert meaning is not None
        assert meaning.embed()
        assert meaning.opened().nearest.behind() == 0
        assert meaning.opened().embedder.dimensions == 32
        assert meaning.fault == ""
