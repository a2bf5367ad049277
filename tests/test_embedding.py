"""Vectors of durable facts: what makes them, what finds the nearest, and when they are made."""

from __future__ import annotations

import importlib.util
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.adapters.stdlib import ExactIndex
from squidbot.core.errors import ConfigError, LLMError
from squidbot.core.memories import View
from squidbot.memory import VectorWorker
from squidbot.testing import HashedWords, made_memory

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from squidbot.core.ports import Embedder
    from squidbot.core.vectors import VectorIndex
    from squidbot.hookspecs import Register


class Vectors:
    """An extension that offers an embedder and an index of vectors, and keeps what they are given."""

    def __init__(self) -> None:
        self.given: list[object] = []

    @squidbot.hookimpl
    def register_adapters(self, register: Register) -> None:
        """Offer them."""
        register.embedder("mine", self.embedder)
        register.vector_index("mine", self.index)

    def embedder(self, rest: str) -> Embedder:
        """Return one that was never asked for."""
        self.given.append(rest)
        return HashedWords()

    def index(self, path: str, model: str, dimensions: int) -> VectorIndex:
        """Return one in memory."""
        self.given.append((path, model, dimensions))
        return ExactIndex(model, dimensions)


@pytest.mark.parametrize("rest", ["", ":large", ":a:b"])
def test_embedder_and_index_of_an_extension_are_made_when_settings_name_them(rest: str) -> None:
    """By the hook that the built-in ones use; of "NAME:REST" the factory gets REST."""
    mine = Vectors()
    memory = {"embedder": f"mine{rest}", "index": "mine"}
    with squidbot.load({"memory": memory}, extensions=[mine]) as engine:
        assert mine.given == []
        embedder = engine.wired.embedder()
        assert isinstance(embedder, HashedWords)
        index = engine.wired.vector_index("f", embedder.name, embedder.dimensions)
    assert index.stamp() == (embedder.name, embedder.dimensions, 0, 0)
    assert mine.given == [rest[1:], ("f", embedder.name, embedder.dimensions)]


def test_path_of_an_embedder_is_made_absolute_when_there_is_something(tmp_path: Path) -> None:
    """It is beside the settings, wherever the process was started."""
    mine = Vectors()
    (tmp_path / "model").mkdir()
    (tmp_path / "squidbot.toml").write_text('[memory]\nembedder = "mine:model"\n', encoding="utf-8")
    with squidbot.load(tmp_path / "squidbot.toml", extensions=[mine]) as engine:
        engine.wired.embedder()
    assert mine.given == [str(tmp_path / "model")]


def test_no_embedder_is_made_when_none_is_named() -> None:
    """The default, which needs no package and no download."""
    with squidbot.load() as engine:
        assert engine.wired.embedder() is None


KEY = "sk-of-a-test"
API = [
    ({"embedder": "openai:text-embedding-3-small"}, {}, "openai/text-embedding-3-small"),
    ({"embedder": "openai:bge-m3@http://127.0.0.1:9/v1"}, {}, "openai/127.0.0.1:9/bge-m3"),
    ({"embedder": "e"}, {"adapter": "openai", "model": "bge-m3"}, "openai/bge-m3"),
    ({"embedder": "bge-m3"}, {"adapter": "openai", "url": "http://127.0.0.1:9/v1"}, "openai/127.0.0.1:9/bge-m3"),
]


@pytest.mark.parametrize(("memory", "model", "name"), API)
def test_model_behind_an_api_makes_vectors_by_name_or_by_its_definition(
    monkeypatch: pytest.MonkeyPatch, memory: dict[str, str], model: dict[str, str], name: str
) -> None:
    """OpenAI's own, or of any server that speaks like it; nothing is asked before there is a text."""
    pytest.importorskip("openai", reason="the extra openai", exc_type=ImportError)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with squidbot.load({"memory": memory, "models": {memory["embedder"]: model} if model else {}}) as engine:
        embedder = engine.wired.embedder()
    assert embedder is not None
    assert embedder.name == name


def test_exported_model_has_to_be_named() -> None:
    """There is none that comes with it."""
    pytest.importorskip("onnxruntime", reason="the extra onnxruntime")
    with (
        squidbot.load({"memory": {"embedder": "onnxruntime"}}) as engine,
        pytest.raises(ConfigError, match="needs the folder of an exported model"),
    ):
        engine.wired.embedder()


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("embedder", "unknown embedder 'nobody'"),
        ("index", "unknown index of vectors"),
        ("provider", "unknown memory provider"),
    ],
)
def test_unknown_embedder_or_index_is_refused_with_those_that_are_known(key: str, said: str) -> None:
    """One line, with the key, when the settings are loaded."""
    with pytest.raises(ConfigError, match=rf"{said}.*known: .*(onnxruntime|stdlib).*memory\.{key}"):
        squidbot.load({"memory": {key: "nobody"}})


def test_index_is_the_first_that_is_installed_when_nobody_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """FAISS, else LanceDB, else the one that compares with every vector; what is named and not there is an error."""
    with squidbot.load() as engine:
        for name in ("faiss", "lancedb"):
            if importlib.util.find_spec(name):
                room = type(engine.wired.vector_index("", "m", 3)).__module__
                assert room == f"squidbot.adapters.{name}"
            monkeypatch.setitem(sys.modules, f"squidbot.adapters.{name}", None)
        assert isinstance(engine.wired.vector_index("", "m", 3), ExactIndex)
    with (
        squidbot.load({"memory": {"index": "faiss"}}) as engine,
        pytest.raises(ConfigError, match=r"pip install 'squidbot-context\[faiss\]'"),
    ):
        engine.wired.vector_index("", "m", 3)


# -- in an engine -----------------------------------------------------------------------------------------------------

ANN = squidbot.Scope(user="ann", bot="helper")


def settled(engine: squidbot.Engine, seconds: float = 30.0) -> int:
    """Return how many facts wait for a vector, once none does or the time is over."""
    meaning = engine.wired.remembering.meaning
    assert meaning is not None
    ends = time.monotonic() + seconds
    while (waiting := meaning.by_words.waiting("hashed-words")) and time.monotonic() < ends:
        time.sleep(0.01)
    return waiting


@pytest.mark.parametrize("provider", ["sqlite3", "file", "stdlib"])
def test_vectors_are_made_behind_the_writing_whatever_keeps_facts(provider: str, tmp_path: Path) -> None:
    """By a thread of the engine; adding does not wait, and a search finds."""
    settings = {"memory": {"provider": provider, "path": str(tmp_path / "facts"), "embedder": "mine"}}
    with squidbot.load(settings, extensions=[Vectors()]) as engine:
        store = engine.wired.remembering.store
        store.add([made_memory(f"Ann has beagle number{number}.", ANN) for number in range(100)])
        assert settled(engine) == 0
        assert (
            store.search("number7", View(ANN), now=2e9)[0].key == made_memory("Ann has beagle number7.", ANN).memory_id
        )
    assert not [thread for thread in threading.enumerate() if thread.name == "squidbot-vectors"]


def test_facts_that_waited_when_the_process_ended_get_their_vectors_in_the_next(tmp_path: Path) -> None:
    """At the first look into the store, without anybody's asking."""
    path = str(tmp_path / "facts.db")
    with squidbot.load({"memory": {"path": path}}) as engine:
        engine.wired.remembering.store.add([made_memory(f"number{number}", ANN) for number in range(50)])
    with squidbot.load({"memory": {"path": path, "embedder": "mine"}}, extensions=[Vectors()]) as engine:
        assert settled(engine) == 0


def test_provider_that_keeps_no_vectors_is_refused_with_an_embedder() -> None:
    """In one line that says what to change."""

    class Plain:
        @squidbot.hookimpl
        def register_adapters(self, register: Register) -> None:
            """Offer a store of somebody else's, without vectors."""
            register.memory("plain", lambda _: object())  # type: ignore[arg-type, return-value]  # nothing is asked of it

    memory = {"provider": "plain", "embedder": "mine"}
    engine = squidbot.load({"memory": memory}, extensions=[Vectors(), Plain()])
    with pytest.raises(ConfigError, match=r"'plain' keeps no vectors; .*memory\.embedder$"):
        assert engine.wired.remembering.store
    engine.close()


def test_failing_embedder_is_told_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    """Whatever it raises: facts are found by their words, and whoever listens hears why."""
    heard: list[squidbot.Event] = []

    class Unreachable(HashedWords):
        def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
            """Fail as a client of somebody else's does."""
            raise OSError(f"no route for {len(texts)}")

    class Failing(Vectors):
        def embedder(self, rest: str) -> Embedder:  # noqa: ARG002  # as the hook has it
            """Return one that has no server."""
            return Unreachable()

        @squidbot.hookimpl
        def on_event(self, event: squidbot.Event) -> None:
            """Hear it."""
            heard.append(event)

    with squidbot.load({"memory": {"embedder": "mine"}}, extensions=[Failing()]) as engine:
        store = engine.wired.remembering.store
        store.add([made_memory("Ann has a beagle.", ANN)])
        assert [hit.key for hit in store.search("beagle", View(ANN), now=2e9)]
    assert {event.name for event in heard} == {"started", "degraded", "stopped"}
    assert "searching words only: unreachable: OSError: no route for 1" in {event.cause for event in heard}
    assert "no route" in caplog.text


def test_failing_code_of_an_embedder_is_named_with_its_setting() -> None:
    """Its factory, its name or its vectors: never as a server that can't be reached."""

    class Broken(HashedWords):
        def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:  # noqa: ARG002  # as the port has it
            raise RuntimeError("no vectors today")

    class Failing(Vectors):
        def embedder(self, rest: str) -> Embedder:
            """Return one that fails, or fail."""
            return Broken(int(rest))

    said = "the embedder mine:{} failed: {} @ argument.memory.embedder"
    with squidbot.load({"memory": {"embedder": "mine:8", "index": "mine"}}, extensions=[Failing()]) as engine:
        store = engine.wired.remembering.store
        store.add([made_memory("Ann has a beagle.", ANN)])
        assert [hit.key for hit in store.search("beagle", View(ANN), now=2e9)]
        meaning = engine.wired.remembering.meaning
        assert meaning is not None
        assert meaning.fault == said.format("8", "RuntimeError: no vectors today")
    with squidbot.load({"memory": {"embedder": "mine:x"}}, extensions=[Failing()]) as engine:
        with pytest.raises(ConfigError) as refused:
            engine.wired.embedder()
        assert str(refused.value) == said.format("x", "ValueError: invalid literal for int() with base 10: 'x'")


def test_thread_tries_again_after_a_failure_and_ends_when_it_is_stopped() -> None:
    """A server that is down is asked once a minute, here sooner."""
    worked, told = threading.Event(), list[str]()

    def work(_: object) -> None:
        if len(told) < 2:
            raise LLMError("unreachable", "down")
        worked.set()

    behind = VectorWorker(work, told.append, retry_seconds=0.001)
    behind.poke()
    assert worked.wait(30)
    assert told == ["vectors could not be made: LLMError: unreachable: down"] * 2
    assert behind.stop()
    behind.poke()
    assert behind.stop()


def test_thread_that_does_not_end_in_time_is_left_behind() -> None:
    """An embedder that hangs keeps nobody from ending."""
    begun, hanging = threading.Event(), threading.Event()

    def hangs(_: object) -> None:
        begun.set()
        hanging.wait(60)

    behind = VectorWorker(hangs, list[str]().append)
    behind.poke()
    assert begun.wait(30)
    assert not behind.stop(0.01)
    hanging.set()
    assert behind.stop()
