"""What a user sees who has set something wrong: one line that names file, path and what to do; never a traceback."""

from __future__ import annotations

import sys
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, get_origin

import pytest
from click.testing import CliRunner

import squidbot
from squidbot.adapters.common.providers import USUAL_KEYS
from squidbot.cli import main
from squidbot.cli.open_store import with_store
from squidbot.cli.texts import USAGE
from squidbot.config import load_settings
from squidbot.config.checks import AT_TOP
from squidbot.config.schema import Settings
from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, whose settings are wrong."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said_long_ago() -> None:
    """Record what a summary is due of."""
    with squidbot.load({"store": {"path": "a.db"}}) as engine:
        for second in (0, 100_000):
            for turn in range(4):
                session, now = engine.session("s"), second + turn
                asked = session.assemble("What is it? " * 20, now=now)
                session.record(asked.incoming, f"Answer {turn}: it is a squid of so many arms. " * 100, now=now)


def line(folder: Path, settings: str, *command: str) -> str:
    """Return the one line that a command ends with under these settings."""
    (folder / "squidbot.toml").write_text(settings, encoding="utf-8")
    done = CliRunner().invoke(main, command or ("status",))
    assert done.exit_code == USAGE, done.output
    assert done.stdout == ""
    (said,) = done.stderr.splitlines()
    return said


def test_a_misspelt_key_is_named_with_the_one_that_was_meant(folder: Path) -> None:
    """File, table, line, key, the nearest one."""
    said = line(folder, "[pressure]\nstratgy = 'speed'\n")
    assert said == "squidbot: unknown key stratgy; did you mean strategy? @ squidbot.toml.pressure (line 2)"
    said = line(folder, "[models.claude]\nadaptor = 'anthropic'\n")
    assert said == "squidbot: unknown key adaptor; did you mean adapter? @ squidbot.toml.models['claude'] (line 2)"
    said = line(folder, "[pressure]\nstratgy = 'speed'\nqqq = 1\n")
    assert said.startswith("squidbot: unknown key qqq, stratgy, known: strategy, compact_at_fraction, ")
    assert said.endswith("; did you mean strategy? @ squidbot.toml.pressure (line 3)")


def test_a_key_that_stands_below_a_table_is_told_its_place(folder: Path) -> None:
    """TOML takes it for one of the table's; no key of that table is meant."""
    said = line(folder, "[store]\npath = 'a.db'\nextensions = ['mine']\n")
    place = "put extensions at the top of the file, above the first [table]"
    assert said == f"squidbot: unknown key extensions; {place} @ squidbot.toml.store (line 3)"
    said = line(folder, "[models.claude]\nadaptor = 'anthropic'\nprofile = 'ladder'\n")
    assert "unknown key adaptor, profile; did you mean adapter?; put profile at the top" in said
    assert line(folder, "profil = 'ladder'\n").endswith("did you mean profile? @ squidbot.toml (line 1)")
    plain = [one.name for one in fields(Settings) if not is_dataclass(one.type) and get_origin(one.type) is not dict]
    assert plain == [*AT_TOP]


def test_a_wrong_value_is_named_with_what_would_be_right(folder: Path) -> None:
    """File, path, line, range."""
    said = line(folder, "[window]\ndefault = 0\n")
    assert said == "squidbot: must be > 0, not 0 @ squidbot.toml.window.default (line 2)"


def test_several_mistakes_are_told_in_one_line(folder: Path) -> None:
    """One behind the other, each with its place."""
    said = line(folder, "[window]\ndefault = 0\n[store]\npath = 5\n")
    first, second = "must be > 0, not 0 @ squidbot.toml.window.default", "must be a string, not 5 @ squidbot.toml.store"
    assert said == f"squidbot: {first} (line 2); {second}.path (line 4)"


@pytest.mark.parametrize(
    ("settings", "start", "end"),
    [
        (
            "[budget]\ncounter = 'clases'\n",
            "unknown token counter 'clases', ",
            "classes? @ squidbot.toml.budget.counter",
        ),
        (
            "[models.a]\ntokenizer = 'x'\n",
            "unknown token counter 'x', ",
            "others @ squidbot.toml.models['a'].tokenizer",
        ),
        ("observers = ['structlg']\n", "unknown observer 'structlg', ", "structlog? @ squidbot.toml.observers"),
        ("[gpu]\nprobe = 'nvlm'\n", "unknown GPU probe 'nvlm', ", "nvml? @ squidbot.toml.gpu.probe"),
        ("[memory]\nembedder = 'x'\n", "unknown embedder 'x', ", "others @ squidbot.toml.memory.embedder"),
        ("extensions = ['nobody']\n", "no extension nobody is installed", " @ squidbot.toml.extensions"),
    ],
)
def test_an_unknown_adapter_is_named_with_its_key(folder: Path, settings: str, start: str, end: str) -> None:
    """What there is, the nearest, the file, and the key to change."""
    said = line(folder, settings)
    assert said.startswith(f"squidbot: {start}")
    assert said.endswith(end)


@pytest.mark.parametrize(
    ("settings", "command", "start", "end"),
    [
        (
            "[store]\nadapter = 'sqlite'\n",
            "session list",
            "unknown store 'sqlite', ",
            "sqlite3? @ squidbot.toml.store.adapter",
        ),
        (
            "[memory]\nprovider = 'fil'\n",
            "memory list",
            "unknown memory provider 'fil'",
            "file? @ squidbot.toml.memory.provider",
        ),
    ],
)
def test_an_unknown_store_is_named_where_it_is_opened(
    folder: Path, settings: str, command: str, start: str, end: str
) -> None:
    """By every command that reads it."""
    said = line(folder, settings, *command.split())
    assert said.startswith(f"squidbot: {start}")
    assert said.endswith(end)


@pytest.mark.parametrize("command", ["list", "search bees", "show f-1", "export", "merge"])
def test_a_named_store_takes_the_place_of_the_one_in_the_settings(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """A file in place of an address, be that in the settings or in the environment: no server is asked."""
    address = "postgresql://nobody@127.0.0.1:9/nothing"
    with squidbot.load({"store": {"path": "mem.db"}}) as engine:
        engine.session("s").record("Hello", "Hi")
    for written in (f"[store]\nurl = '{address}'\n", ""):
        (folder / "squidbot.toml").write_text(written, encoding="utf-8")
        done = CliRunner().invoke(main, ["memory", "add", "Ann keeps bees.", "--store", "mem.db"])
        assert (done.exit_code, done.stderr) == (0, "")
        done = CliRunner().invoke(main, ["memory", *command.split(), "--store", "mem.db"])
        assert done.exception is None or isinstance(done.exception, SystemExit)
        assert "127.0.0.1" not in done.output
        monkeypatch.setenv("SQUIDBOT_STORE_URL", address)


def test_an_address_of_a_database_is_no_file() -> None:
    """It would name a folder that nobody has."""
    with pytest.raises(ConfigError, match="must name a file: write the address of a database into url instead @"):
        squidbot.load({"store": {"path": "postgresql://me@localhost/agents"}})


def test_an_address_takes_the_place_of_the_file_in_the_settings(folder: Path) -> None:
    """As a file does of an address."""
    address = "postgresql://nobody@127.0.0.1:9/nothing?connect_timeout=1"
    said = line(folder, "[store]\npath = 'mem.db'\n", "store", "backup", "copy.db", "--store", "sqlite://x/y")
    assert said.startswith("squidbot: no store of ours is for sqlite://")
    loaded = load_settings({"store": {"path": "mem.db"}})
    assert with_store(loaded, address).store_url == address
    with pytest.raises(ConfigError, match="path and url are both set: keep one"):
        loaded.changed(store={"url": address})


def test_config_shows_the_settings_and_says_what_is_wrong_with_them(folder: Path) -> None:
    """A name that nobody offers: as status does, with its exit code."""
    (folder / "squidbot.toml").write_text("[budget]\ncounter = 'clases'\n", encoding="utf-8")
    done = CliRunner().invoke(main, ["config"])
    assert done.exit_code == USAGE
    assert "clases  (squidbot.toml:2)" in done.stdout
    assert done.stderr.startswith("squidbot: unknown token counter 'clases', ")


def test_a_missing_package_is_named_with_how_to_get_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where it is not installed: the command, the file, the key."""
    monkeypatch.setitem(sys.modules, "anthropic", None)
    for module in [name for name in sys.modules if name.startswith("squidbot.adapters.anthropic")]:
        monkeypatch.delitem(sys.modules, module)
    said_long_ago()
    said = line(
        folder,
        "[summary]\nllm = 'anthropic:claude'\n[store]\npath = 'a.db'\n",
        "session",
        "jobs",
        "--run",
        "--reason",
        "request",
    )
    assert said.startswith("squidbot: the language model 'anthropic' cannot be imported: ")
    assert said.endswith("is missing: pip install 'squidbot-context[anthropic]' @ squidbot.toml.summary.llm")


def test_a_missing_key_is_named_with_where_it_is_looked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable to set, the file, and the key that wants it; the real SDK is there."""
    pytest.importorskip("anthropic", exc_type=ImportError)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    said_long_ago()
    said = line(
        folder,
        "[summary]\nllm = 'anthropic:claude'\n[store]\npath = 'a.db'\n",
        "session",
        "jobs",
        "--run",
        "--reason",
        "request",
    )
    end = ": set the environment variable ANTHROPIC_API_KEY @ squidbot.toml.summary.llm"
    assert said == f"squidbot: missing API key for https://api.anthropic.com{end}"


@pytest.mark.parametrize(
    ("settings", "says", "where"),
    [
        ("adaptor = 'anthropic'", "unknown key adaptor; did you mean adapter?", " (line 2)"),
        (
            "adapter = 'antropic'",
            "unknown runtime 'antropic', known: anthropic, llama_cpp, ollama, openai, ",
            ".adapter",
        ),
        (
            "adapter = 'openai'\nurl = 'http://127.0.0.1:9/v1?x=1'",
            "url 'http://127.0.0.1:9/v1?x=1' is not an address; ",
            "",
        ),
        (
            "adapter = 'anthropic'\ncontext_window = 9000",
            "missing API key for https://api.anthropic.com: ",
            "",
        ),
        (
            "adapter = 'openai'\noptions = { store = true }",
            "store keeps the history at the provider; ",
            ".options (line 3)",
        ),
    ],
)
def test_chat_says_in_one_line_what_is_wrong_with_its_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch, settings: str, says: str, where: str
) -> None:
    """Before anything is asked: file, path, what to do."""
    for name in USUAL_KEYS.values():
        monkeypatch.delenv(name, raising=False)
    for package in USUAL_KEYS:
        pytest.importorskip(package, exc_type=ImportError)
    said = line(folder, f"[models.a]\n{settings}\n", "chat", "--print", "hi")
    assert said.startswith(f"squidbot: {says}")
    assert said.endswith(f" @ squidbot.toml.models['a']{where}")


def test_chat_names_the_package_of_its_model_that_is_missing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And how to get it."""
    monkeypatch.setitem(sys.modules, "openai", None)
    for module in [name for name in sys.modules if name.startswith("squidbot.adapters.openai")]:
        monkeypatch.delitem(sys.modules, module)
    said = line(folder, "[models.a]\nadapter = 'openai'\n", "chat", "--print", "hi")
    assert said.startswith("squidbot: the runtime 'openai' cannot be imported: ")
    assert said.endswith("is missing: pip install 'squidbot-context[openai]' @ squidbot.toml.models['a']")


def test_status_names_an_adapter_that_nobody_offers(folder: Path) -> None:
    """Below its pages; a model behind an API is loaded with nothing."""
    (folder / "squidbot.toml").write_text(
        "[gpu]\nprobe = 'none'\n[models.a]\nadapter = 'antropic'\n[models.b]\nadapter = 'openai'\nmodel = 'x'\n",
        encoding="utf-8",
    )
    done = CliRunner().invoke(main, ["status"])
    assert done.exit_code == 1
    assert "! model a: unknown runtime 'antropic', known: " in done.stdout
    assert "n_ctx" not in done.stdout


def test_a_secret_in_a_file_is_refused_with_where_it_goes(folder: Path) -> None:
    """It is not printed again."""
    said = line(folder, "[models.m]\nadapter = 'anthropic'\napi_key = 'sk-ant-0123456789abcdefghij'\n")
    told = "api_key is a secret: remove it, and set ANTHROPIC_API_KEY in the environment instead"
    assert said == f"squidbot: {told} @ squidbot.toml.models.m.api_key"


def test_several_faults_are_a_line_each_in_one(folder: Path) -> None:
    """All of them at once, so that nobody has to try again for each."""
    said = line(folder, "[window]\ndefault = 'x'\n[budget]\npolicy = 'yes'\n")
    assert "squidbot.toml.window.default" in said
    assert "squidbot.toml.budget.policy" in said
