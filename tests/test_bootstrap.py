"""The composition root: adapters by name, extensions by hook, and failures that stay where they are."""

from __future__ import annotations

import importlib
import logging
import sys
from typing import TYPE_CHECKING, Any

import pytest

import squidbot
from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.core import events
from squidbot.core.errors import ConfigError, DamagedStoreError, StoreError
from squidbot.core.tokens.counters import builtin_counter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from squidbot.core.events import Event
    from squidbot.core.ports import TokenCounter
    from squidbot.core.view.assembly import CoreAssembly
    from squidbot.hookspecs import Register


class Listener:
    """An extension that keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.requests: list[CoreAssembly] = []

    @squidbot.hookimpl
    def on_event(self, event: Event) -> None:
        """Keep the event."""
        self.events.append(event)

    @squidbot.hookimpl
    def assembled(self, assembly: CoreAssembly) -> None:
        """Keep the request."""
        self.requests.append(assembly)

    @property
    def names(self) -> list[str]:
        """The names of the events, in order."""
        return [event.name for event in self.events]


class Adapters:
    """An extension that offers one adapter of each kind, and counts how often it is asked to."""

    def __init__(self) -> None:
        self.asked = 0
        self.given: list[str] = []
        self.seen = Listener()

    @squidbot.hookimpl
    def register_adapters(self, register: Register) -> None:
        """Offer them."""
        self.asked += 1
        register.store("mine", self.store)
        register.counter("mine", self.counter)
        register.observer("mine", self.observer)
        register.codec(Shouting())

    def store(self, path: str) -> InMemoryStore:
        """Return a store in memory."""
        self.given.append(path)
        return InMemoryStore()

    def counter(self, rest: str) -> TokenCounter:
        """Return the counter of bytes."""
        self.given.append(rest)
        return builtin_counter("bytes")

    def observer(self, rest: str) -> Adapters:
        """Return itself."""
        self.given.append(rest)
        return self

    def notify(self, event: Event) -> None:
        """Keep the event."""
        self.seen.on_event(event)


class Shouting(OpenAIChat):
    """A form of messages of somebody else's."""

    tag = "acme.shouting"


class Failing:
    """An extension that fails whenever it is called."""

    @squidbot.hookimpl
    def on_event(self) -> None:
        """Fail, without having taken the event."""
        raise RuntimeError("no disk")

    @squidbot.hookimpl
    def assembled(self) -> None:
        """Fail as well."""
        raise KeyError("request")


# What is told of the first turn of a session.
TURN = [events.STARTED, events.CONTEXT_ASSEMBLED, events.LEASE_OPENED]


def turn(engine: squidbot.Engine, text: str = "Hello") -> squidbot.Assembly:
    """Return the request of one recorded turn."""
    session = engine.session("s")
    assembly = session.assemble(text)
    session.record(assembly.incoming, "Hi.")
    return assembly


# -- adapters by name -----------------------------------------------------------------------------------------------


def test_load_keeps_sessions_in_memory_when_no_store_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file appears, and the next engine knows nothing."""
    monkeypatch.chdir(tmp_path)
    engine = squidbot.load()
    turn(engine)
    assert isinstance(engine.wired.store, InMemoryStore)
    assert list(tmp_path.iterdir()) == []
    assert len(squidbot.load().session("s").assemble("Again").messages) == 1


def test_store_path_keeps_sessions_when_the_process_ends(tmp_path: Path) -> None:
    """`store.path` alone means SQLite; the next engine goes on where the last one stopped."""
    settings = {"store": {"path": str(tmp_path / "a.db")}}
    with squidbot.load(settings) as engine:
        turn(engine)
        assert isinstance(engine.wired.store, SqliteStore)
    with squidbot.load(settings) as engine:
        assert [message["content"] for message in engine.session("s").assemble("Again").messages] == [
            "Hello",
            "Hi.",
            "Again",
        ]


def test_engine_closes_its_store_when_it_is_closed(tmp_path: Path) -> None:
    """A session of a closed engine says so."""
    engine = squidbot.load({"store": {"path": str(tmp_path / "a.db")}})
    session = engine.session("s")
    engine.close()
    with pytest.raises(StoreError):
        session.assemble("Hello")


def test_store_adapter_goes_before_the_path_when_both_are_set(tmp_path: Path) -> None:
    """An adapter that is named is the one that is used."""
    engine = squidbot.load({"store": {"path": str(tmp_path / "a.db"), "adapter": "stdlib"}})
    assert isinstance(engine.wired.store, InMemoryStore)


def test_load_refuses_sqlite_when_it_has_no_file() -> None:
    """A database in no file would be lost in silence."""
    with pytest.raises(ConfigError, match=r"^the store sqlite3 needs a file; set store\.path @ argument\.store"):
        squidbot.load({"store": {"adapter": "sqlite3"}})


def test_load_leaves_a_file_alone_when_it_is_no_store(tmp_path: Path) -> None:
    """The error names it, and its content is untouched."""
    file = tmp_path / "notes.txt"
    file.write_text("my notes" * 200, encoding="utf-8")
    with pytest.raises(DamagedStoreError, match=r"notes\.txt"):
        squidbot.load({"store": {"path": str(file)}})
    assert file.read_text(encoding="utf-8") == "my notes" * 200


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"store": {"adapter": "redis"}},
            "unknown store 'redis', known: psycopg, sqlite3, stdlib; extensions may add others",
        ),
        ({"budget": {"counter": "tokens"}}, "unknown token counter 'tokens', known: anthropic, bytes, chars3, "),
        ({"models": {"m": {"tokenizer": "hf:x"}}}, "unknown token counter 'hf', known: anthropic, bytes, chars3, "),
        (
            {"observers": ["syslog"]},
            "unknown observer 'syslog', known: opentelemetry, structlog; extensions may add others",
        ),
        (
            {"extensions": ["acme"]},
            "no extension acme is installed; install its package, or remove the name @ argument.extensions",
        ),
    ],
)
def test_load_names_what_is_known_when_an_adapter_is_not(settings: dict[str, Any], message: str) -> None:
    """A misspelt adapter fails when the engine is made, not at the first turn."""
    with pytest.raises(ConfigError) as caught:
        squidbot.load(settings)
    assert str(caught.value).startswith(message)
    assert "@ argument" in str(caught.value)


def test_load_says_what_to_install_when_a_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank file needs tiktoken, which is an extra."""
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    monkeypatch.delitem(sys.modules, "squidbot.adapters.tiktoken", raising=False)
    with pytest.raises(
        ConfigError, match=r"'tiktoken' cannot be imported: .*pip install 'squidbot-context\[tiktoken\]' @ "
    ):
        squidbot.load({"budget": {"counter": "o200k_base.tiktoken"}})


def test_rank_file_is_looked_for_beside_the_settings(tmp_path: Path) -> None:
    """A relative path in squidbot.toml is relative to it, with and without the adapter's name in front."""
    pytest.importorskip("tiktoken", reason="the adapter's package is an extra", exc_type=ImportError)
    for spec in ("cl100k_none.tiktoken", "tiktoken:cl100k_none.tiktoken"):
        (tmp_path / "squidbot.toml").write_text(f"[budget]\ncounter = '{spec}'\n", encoding="utf-8")
        with pytest.raises(ConfigError) as caught:
            squidbot.load(tmp_path / "squidbot.toml")
        assert str(tmp_path / "cl100k_none.tiktoken") in str(caught.value)


# -- extensions -----------------------------------------------------------------------------------------------------


def test_extension_adapters_are_used_when_settings_name_them() -> None:
    """One of each kind: the factories get what stands behind their names, and the hook is called once."""
    mine = Adapters()
    settings: dict[str, object] = {
        "store": {"adapter": "mine"},
        "budget": {"counter": "mine:large"},
        "observers": ["mine:events.jsonl"],
    }
    engine = squidbot.load(settings, extensions=[mine])
    assert turn(engine).core.certificate == "proved"
    assert mine.asked == 1
    assert sorted(mine.given) == ["", "events.jsonl", "large"]
    assert mine.seen.names == TURN
    assert engine.session("t", form="acme.shouting").assemble("Hello").core.parts[0].codec == "acme.shouting"


def test_facts_beside_an_extensions_store_are_said_to_die_with_the_process(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It keeps sessions, not facts: once, where the first fact is asked for, and not where a file is named for them."""
    settings: dict[str, object] = {"store": {"adapter": "mine"}, "observers": ["mine"]}
    for memory, lines in (({}, 1), ({"path": str(tmp_path / "facts.db")}, 0)):
        mine = Adapters()
        caplog.clear()
        with squidbot.load({**settings, "memory": memory}, extensions=[mine]) as engine:
            assert engine.memories().relevant("squid", 3, 0.0) == []
            assert engine.memories().relevant("squid", 3, 0.0) == []
        assert [line for line in caplog.messages if "name a file for facts @" in line] == caplog.messages[:lines]
        assert mine.seen.names.count("degraded") == lines


def test_load_refuses_two_extensions_when_they_offer_the_same_name() -> None:
    """Which one would be used is not left to chance."""
    with pytest.raises(ConfigError, match=r"^two extensions offer the store mine; load one of them$"):
        squidbot.load(extensions=[Adapters(), Adapters()])


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install a distribution of somebody else's, with the entry points `acme` and `broken`."""
    (tmp_path / "acme_squid.py").write_text(
        "import squidbot\nfrom squidbot.adapters.stdlib import InMemoryStore\nSEEN = []\n"
        "@squidbot.hookimpl\ndef register_adapters(register):\n"
        "    register.store('acme', lambda path: SEEN.append(path) or InMemoryStore())\n"
        "    register.observer('acme', lambda rest: type('Quiet', (), {'notify': lambda self, event: None})())\n"
        "@squidbot.hookimpl\ndef on_event(event):\n    SEEN.append(event.name)\n",
        encoding="utf-8",
    )
    folder = tmp_path / "acme_squid-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-squid\nVersion: 1.0\n", encoding="utf-8")
    points = "[squidbot]\nacme = acme_squid\nbroken = acme_squid_that_is_not_there\n"
    (folder / "entry_points.txt").write_text(points, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("acme_squid", None)


@pytest.mark.parametrize(
    "settings",
    [{"extensions": ["acme"]}, {"store": {"adapter": "acme", "path": "x"}}, {"observers": ["acme:x"]}],
)
def test_entry_point_is_loaded_when_settings_name_it(acme: Path, settings: dict[str, object]) -> None:
    """As an extension, or by the name of an adapter."""
    turn(squidbot.load(settings))
    seen = sys.modules["acme_squid"].SEEN
    assert seen[-3:] == TURN
    assert acme.is_dir()


@pytest.mark.parametrize("settings", [{"extensions": ["acme"]}, {"store": {"adapter": "acme", "path": "x"}}])
def test_extension_that_a_program_passes_and_settings_name_is_loaded_once(
    acme: Path, settings: dict[str, object]
) -> None:
    """A module of the program's that is installed as well, and one that is passed twice."""
    passed = importlib.import_module("acme_squid")
    turn(squidbot.load(settings, extensions=[passed, passed]))
    assert passed.SEEN[-3:] == TURN
    assert acme.is_dir()


def test_entry_point_is_not_imported_when_nothing_names_it(acme: Path) -> None:
    """What is installed beside squidbot runs only when it is asked for."""
    turn(squidbot.load())
    assert "acme_squid" not in sys.modules
    assert acme.is_dir()


def test_load_names_the_extension_when_it_cannot_be_imported(acme: Path) -> None:
    """A broken installation is a wrong setting, not a traceback."""
    with pytest.raises(
        ConfigError, match=r"^the extension broken cannot be imported: No module named 'acme_squid_that"
    ):
        squidbot.load({"extensions": ["broken"]})
    assert acme.is_dir()


# -- hooks ----------------------------------------------------------------------------------------------------------


def test_hooks_are_told_when_a_request_is_made() -> None:
    """The event and the frozen request, once for each assembly."""
    heard = Listener()
    assembly = turn(squidbot.load(extensions=[heard]))
    assert heard.names == TURN
    assert [event.session_id for event in heard.events] == ["", "s", "s"]
    assert heard.requests == [assembly.core]


def test_turn_goes_on_when_a_hook_raises(caplog: pytest.LogCaptureFixture) -> None:
    """The others are told `degraded` with the reason, and the log has a warning with the traceback."""
    heard = Listener()
    with caplog.at_level(logging.WARNING, logger="squidbot"):
        assembly = turn(squidbot.load(extensions=[Failing(), heard]))
    assert assembly.messages == [{"role": "user", "content": "Hello"}]
    assert heard.names == [*[events.DEGRADED, TURN[0]], *[events.DEGRADED, TURN[1]], *2 * [events.DEGRADED], TURN[2]]
    assert heard.events[2].cause == "Failing failed at context-assembled: RuntimeError: no disk"
    assert heard.events[4].cause == "Failing failed at assembled: KeyError: 'request'"
    assert [record.exc_info is not None for record in caplog.records] == [True] * 2


def test_turn_goes_on_when_every_listener_raises(caplog: pytest.LogCaptureFixture) -> None:
    """Telling a failure to one that fails too ends there."""
    with caplog.at_level(logging.WARNING, logger="squidbot"):
        assembly = turn(squidbot.load(extensions=[Failing(), Failing()]))
    assert assembly.messages == [{"role": "user", "content": "Hello"}]
    assert len(caplog.records) == 4


def test_a_failure_is_logged_once_for_each_listener_and_class_of_error(caplog: pytest.LogCaptureFixture) -> None:
    """A listener that fails at each event does not fill the log; the event `degraded` comes each time."""
    heard = Listener()
    with squidbot.load(extensions=[Failing(), heard]) as engine:
        session = engine.session("s")
        for _ in range(12):
            session.record(session.assemble("Hello").incoming, "Hi")
    assert caplog.messages == [
        "Failing failed at started; squidbot goes on without its result, and logs no other RuntimeError of it",
        "Failing failed at assembled; squidbot goes on without its result, and logs no other KeyError of it",
    ]
    assert heard.names.count(events.DEGRADED) > 24


def test_interrupt_reaches_the_host_when_a_hook_is_running() -> None:
    """Only failures are held back: Ctrl-C is none."""

    class Interrupted:
        @squidbot.hookimpl
        def on_event(self) -> None:
            """Be interrupted."""
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        turn(squidbot.load(extensions=[Interrupted()]))


@pytest.mark.parametrize("model", [{"adapter": "openai", "url": "http://127.0.0.1:9"}, {}], ids=["openai", "none"])
def test_model_that_no_api_counts_for_is_told(model: dict[str, str]) -> None:
    """One line, with the key of the settings."""
    told = r'^tokenizer = "provider" works with the adapter anthropic only @ .*models\[.it.\]\.tokenizer$'
    with pytest.raises(squidbot.ConfigError, match=told):
        squidbot.load({"models": {"it": {**model, "tokenizer": "provider", "context_window": 50_000}}})


def test_newest_turns_stay_raw_in_a_session_that_says_so(tmp_path: Path) -> None:
    """B-15, from squidbot.toml to a store on disk; a second process sends the same."""
    settings = {
        "store": {"path": str(tmp_path / "a.db")},
        "history": {"floor_turns": 3},
        "pressure": {"low_water_fraction": 0.0, "patience": 0.0},
    }
    session = squidbot.load(settings).session("s", window_tokens=4096)
    events = 0
    for number in range(40):
        made = session.assemble(f"question {number} " * 18)
        said = [str(message["content"]).split()[1] for message in made.messages if message["role"] == "assistant"]
        assert said[-3:] == [str(one) for one in range(number)][-3:]
        events += made.event is not None
        again = squidbot.load(settings).session("s", window_tokens=4096).assemble(f"question {number} " * 18)
        assert again.messages == made.messages
        session.record(made.incoming, f"answer {number} " * 18)
    assert events > 1
