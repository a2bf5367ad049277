"""The window that a server gives, read back from servers of each kind, and from what is none."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from squidbot.adapters.servers import ServedWindow, served_window

from .ollama import Ollama, answering
from .test_ollama import JSON

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NOT_HERE = answering(b"404 page not found", b"404 Not Found")


@pytest.fixture(autouse=True, scope="module")
def patient() -> Iterator[None]:
    """Give servers that answer more time than two seconds: the machine may have others to run."""
    defaults = served_window.__kwdefaults__
    assert defaults is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(defaults, "seconds", 30.0)
        yield


def speaking(**said: object) -> Callable[[str], bytes]:
    """Return what answers JSON under some paths, written with _ for /, and elsewhere that there is nothing."""
    answers = {f"/{path.replace('_', '/')}": answering(json.dumps(value).encode()) for path, value in said.items()}
    return lambda path: answers.get(path, NOT_HERE)(path)


def ask(raw: Callable[[str], bytes], model: str = "m", suffix: str = "/v1") -> ServedWindow:
    """Return what is read from a server that answers so."""
    with Ollama(raw=raw) as server:
        return served_window(f"{server.url}{suffix}", model)


@pytest.mark.parametrize("model", ["tiny", "tiny:latest", ""])
def test_ollama_says_the_window_of_each_model_in_memory(model: str) -> None:
    """By either form of its name, and of the only one where none is named."""
    with Ollama() as server:
        assert served_window(server.url, model).tokens is None
        server.loaded = {"tiny:latest": 6_000}
        assert served_window(f"{server.url}/v1", model) == ServedWindow(6_000, "ollama", "")
        assert served_window(server.url, "other").reason.startswith("other is not in memory")
        server.tells = False
        assert served_window(server.url, model).reason.startswith("this Ollama does not report")
        assert [path for path, _ in server.requests] == ["/api/ps"] * 4


def test_llama_server_says_the_window_of_a_slot() -> None:
    """In /props."""
    props = {"default_generation_settings": {"n_ctx": 4_096, "params": {}}, "total_slots": 4}
    assert ask(speaking(props=props)) == ServedWindow(4_096, "llama-server", "")
    router = {"default_generation_settings": {"n_ctx": 0}, "role": "router"}
    assert ask(speaking(props=router))[:2] == (None, "llama-server")


def test_lm_studio_says_the_window_of_what_is_loaded() -> None:
    """It answers paths that it does not know with 200 and an error, which is none of the others' answers."""
    models = [
        {"id": "m", "state": "loaded", "max_context_length": 131_072, "loaded_context_length": 8_192},
        {"id": "n", "state": "not-loaded", "max_context_length": 32_768},
    ]
    known = speaking(api_v0_models={"object": "list", "data": models})
    unknown = answering(b'{"error":"Unexpected endpoint or method. (GET /props)"}')

    def raw(path: str) -> bytes:
        return known(path) if path == "/api/v0/models" else unknown(path)

    assert ask(raw) == ServedWindow(8_192, "lm-studio", "")
    assert ask(raw, "n") == ServedWindow(None, "lm-studio", "n is not in LM Studio's memory")
    assert ask(raw, "")[:2] == (None, "lm-studio")


def test_vllm_says_the_longest_request() -> None:
    """By the name it is served under, or that of its files; others that speak like OpenAI say nothing."""
    models = {"data": [{"id": "m", "root": "org/m", "max_model_len": 32_768}, {"id": "n"}]}
    assert ask(speaking(v1_models=models)) == ServedWindow(32_768, "vllm", "")
    assert ask(speaking(v1_models=models), "org/m", "/v1/").tokens == 32_768
    assert ask(speaking(v1_models=models), "n")[:2] == (None, "openai")
    assert ask(speaking(v1_models=models), "zzz").reason == "the server has no model 'zzz'"


def test_key_is_sent_where_there_is_one() -> None:
    """And only there; a server that refuses for want of it is named as such."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        heard: list[bytes] = []

        def serve() -> None:
            for _ in range(2):
                line, _ = listening.accept()
                with line:
                    heard.append(line.recv(4_096))
                    line.sendall(answering(b'{"models":[]}')(""))

        serving = threading.Thread(target=serve)
        serving.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        served_window(url, "m", api_key="sk-1")
        served_window(url, "m")
        serving.join()
    assert b"Authorization: Bearer sk-1\r\n" in heard[0]
    assert b"Authorization" not in heard[1]
    assert ask(answering(b"{}", b"401 Unauthorized")).reason.endswith("it rejects this key")


# In a process of its own, which ends at once: a runtime that does not come to its end is not waited for.
REAL = """
import os, sys
import xllamacpp
from squidbot.adapters.servers import served_window
from squidbot.testing.ggufs import offline_chat_model
params = xllamacpp.CommonParams()
params.model.path = str(offline_chat_model(sys.argv[1]))
params.n_ctx, params.n_parallel, params.kv_unified, params.n_gpu_layers = 2_048, 4, False, 0
params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, ["sk-1"]
params.verbosity, params.fit_params, params.warmup = 0, False, False
server = xllamacpp.Server(params)
url = f"{server.listening_address}/v1"
print(tuple(served_window(url, "tiny", api_key="sk-1", seconds=20.0)), flush=True)
print(served_window(url, "tiny", seconds=20.0).reason.rpartition(": ")[2], flush=True)
os._exit(0)
"""


def test_real_llama_server_says_the_window_of_a_slot(tmp_path: Path) -> None:
    """llama.cpp's own server, from a wheel: four sequences of 512 tokens, asked for as 2,048."""
    pytest.importorskip("xllamacpp", exc_type=ImportError)
    told = subprocess.run(
        [sys.executable, "-c", REAL, str(tmp_path / "tiny.gguf")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert told.stdout.splitlines()[-2:] == ["(512, 'llama-server', '')", "it rejects this key"], told.stderr


def test_answer_without_an_end_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more is read than a list of models takes."""
    models = answering(json.dumps({"data": [{"id": "m", "max_model_len": 9, "x": "x" * 500}]}).encode())
    assert ask(lambda path: (models if path == "/v1/models" else NOT_HERE)(path)).tokens == 9
    monkeypatch.setattr("squidbot.adapters.servers.MOST_BYTES", 400)
    assert ask(lambda path: (models if path == "/v1/models" else NOT_HERE)(path)).tokens is None


@pytest.mark.parametrize(
    ("url", "said"),
    [
        *[
            ("", "not an address"),
            ("ftp://h", "not an address"),
            ("http://h:x", "not an address"),
            ("http://[", "not an address"),
        ],
        *[("http://127.0.0.1:1", "no answer"), ("http://\N{SQUID}.invalid", "no"), ("http://h h/", "no")],
    ],
)
def test_what_is_no_server_is_a_reason(url: str, said: str) -> None:
    """No address, nobody there: no exception, and why."""
    found = served_window(url, "m")
    assert (found.tokens, found.server) == (None, "")
    assert said in found.reason


@pytest.mark.parametrize(
    "pieces", [[b""], [b"HTTP/1.1 200 OK\r\n\r\n{"], [b"HTTP/1.1 200 OK\r\n\r\n", *[b" "] * 2_000]]
)
def test_server_that_stalls_is_left_in_time(pieces: list[bytes]) -> None:
    """It says nothing, or goes on for ever a little at a time."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        done = threading.Event()

        def serve() -> None:
            line, _ = listening.accept()
            with line, suppress(ConnectionError):  # who asked may be gone before we hear of it
                for piece in pieces:
                    if done.wait(0.02):
                        break
                    line.sendall(piece)
                done.wait(60.0)

        serving = threading.Thread(target=serve)
        serving.start()
        before = time.monotonic()
        found = served_window(f"http://127.0.0.1:{listening.getsockname()[1]}", "m", seconds=0.3)
        taken = time.monotonic() - before
        done.set()
        serving.join()
    assert found.tokens is None
    assert "timed out" in found.reason
    assert taken < 20.0


@pytest.fixture(scope="module")
def hostile() -> Iterator[Ollama]:
    """Return a server that answers what it is told to."""
    with Ollama() as server:
        yield server


@given(
    text=st.binary(max_size=40)
    | st.dictionaries(
        st.sampled_from(["models", "data", "default_generation_settings"]),
        JSON | st.lists(st.dictionaries(st.sampled_from(["id", "name", "max_model_len", "context_length"]), JSON)),
    ).map(lambda value: json.dumps(value).encode()),
    status=st.sampled_from([b"200 OK", b"404 No", b"99 x", b"200"]),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_whatever_answers_there_is_no_exception(hostile: Ollama, text: bytes, status: bytes) -> None:
    """A number of tokens, or the reason why there is none."""
    hostile.raw = answering(text, status)
    found = served_window(hostile.url, "m")
    assert (found.tokens is None) == bool(found.reason)
    assert found.tokens is None or found.tokens > 0
