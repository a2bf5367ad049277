"""`squidbot status`: what is found, what each window is and why, what is missing, what is wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import squidbot
from squidbot.adapters.sqlite3.memory import SqliteMemoryStore
from squidbot.cli import main, status
from squidbot.memory import vectors_path
from squidbot.testing import HashedWords, made_memory
from squidbot.testing.ggufs import offline_chat_model
from squidbot.wiring import registry
from squidbot.wiring.person import machine_user

if TYPE_CHECKING:
    from click.testing import Result

SETTINGS = """
[gpu]
probe = "none"

[models.tiny]
path = "tiny.gguf"
adapter = "xllamacpp"

[models.api]
context_window = 200000
max_tokens = 1000

[store]
path = "sessions.db"
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with settings and a model."""
    monkeypatch.chdir(tmp_path)
    offline_chat_model(tmp_path / "tiny.gguf")
    (tmp_path / "squidbot.toml").write_text(SETTINGS, encoding="utf-8")
    return tmp_path


def shown(*arguments: str, code: int = 0) -> Result:
    """Run the command, and return what it printed."""
    done = CliRunner().invoke(main, ["status", *arguments])
    assert done.exit_code == code, done.output
    return done


def answer(*arguments: str, code: int = 0) -> dict[str, Any]:
    """Return its JSON."""
    found: dict[str, Any] = json.loads(shown(*arguments, "--json", code=code).stdout)
    return found


@pytest.mark.usefixtures("here")
def test_status_shows_every_window_with_its_source() -> None:
    """B-08: of each model, and of any other; how a size came about, and how the model is loaded."""
    found = answer()
    windows = {one["alias"]: (one["window"], one["source"], one["tier"]) for one in found["models"]}
    assert windows == {
        "": (32768, "default", "Premium"),
        "tiny": (2048, "auto-ram", "Minimal"),
        "api": (200000, "model-definition", "Ultra"),
    }
    tiny = found["models"][1]
    assert "bound by the length the model was trained for" in tiny["detail"]
    assert (tiny["loading"]["n_ctx"], tiny["problem"]) == (2048, None)
    line = "tiny: window 2,048 tokens (auto-ram), 512 of them for the answer"
    assert line in shown().stdout
    printed = shown("--all").stdout
    assert line in printed
    assert "loaded with n_ctx 2048, n_batch 2048, n_ubatch 512" in printed
    assert found["problems"] == []


@pytest.mark.usefixtures("here")
def test_status_shows_every_source_that_was_asked_for_devices() -> None:
    """None by the settings: one source, with its reason; main memory beside it."""
    found = answer()
    assert found["devices"] == []
    assert found["probes"] == [{"source": "none", "found": 0, "reason": "turned off by the settings"}]
    assert 0 < found["main_memory"]["available_bytes"] <= found["main_memory"]["total_bytes"]
    assert "no GPU found" in shown("--all").stdout
    assert "GPU" not in shown().stdout


@pytest.mark.usefixtures("here")
def test_status_says_what_would_install_what_is_missing() -> None:
    """A command and its cost for each package; the version of those that are there."""
    packages = {one["adapter"]: one for one in answer()["packages"]}
    assert set(packages) >= {"xllamacpp", "llama_cpp", "tiktoken", "apscheduler"}
    assert packages["tiktoken"]["version"]
    printed = shown("--all").stdout
    for package in packages.values():
        assert package["cost"]
        is_missing = package["version"] is None
        named = f"the extra {package['extra']} is missing"
        assert (named in " ".join(printed.split("Packages")[1].split())) == is_missing
    assert printed.split("Packages")[1].count("pip install 'squidbot-context[EXTRA]'") == 1


def test_status_looks_into_the_store_and_makes_none(here: Path) -> None:
    """Not there yet; then whole; then damaged, which is a problem to mend."""
    assert "no file yet" in answer()["store"]["health"]
    assert not (here / "sessions.db").exists()
    with squidbot.load() as engine:
        engine.session("s").record("Hello", "Hi")
    assert answer()["store"]["health"].startswith("1 session, 2 messages, ")
    (here / "sessions.db").write_bytes(b"no database")
    found = answer(code=1)
    assert len(found["problems"]) == 1
    assert found["problems"][0].startswith("store: ")
    assert "! store: " in shown(code=1).stdout


def test_status_says_what_is_wrong_with_a_model(here: Path) -> None:
    """A file that is gone, one that is damaged, one that does not fit: each by its alias; the others are shown."""
    (here / "cut.gguf").write_bytes((here / "tiny.gguf").read_bytes()[:500])
    more = '[models.gone]\npath = "gone.gguf"\n[models.cut]\npath = "cut.gguf"\n'
    (here / "squidbot.toml").write_text(f"{SETTINGS}\n{more}", encoding="utf-8")
    found = answer(code=1)
    assert [problem.split(":")[0] for problem in found["problems"]] == ["model gone", "model cut"]
    assert [one["window"] for one in found["models"]] == [32768, 2048, 200000, None, None]
    (here / "squidbot.toml").write_text(f"[window]\nvram_margin_mib = 100000000\n{SETTINGS}", encoding="utf-8")
    found = answer(code=1)
    assert found["problems"][0].startswith("model tiny: does not fit: ")
    assert found["models"][1]["source"] == "native-limit"


def test_status_names_a_store_that_nobody_offers(here: Path) -> None:
    """As a command that opens it does, and the answer is no."""
    (here / "squidbot.toml").write_text("[store]\nadapter = 'sqlite'\n", encoding="utf-8")
    (problem,) = answer(code=1)["problems"]
    assert problem.startswith("store: unknown store 'sqlite', known: psycopg, sqlite3, stdlib; ")
    assert problem.endswith("did you mean sqlite3? @ squidbot.toml.store.adapter")


def test_status_shows_where_durable_facts_are(here: Path) -> None:
    """What "auto" chose, and that they may be off."""
    assert answer()["memory"]["kept"] == f"sqlite3: {here / 'sessions.db'}"
    assert f"durable facts: sqlite3: {here}" in " ".join(shown("--all").stdout.split())
    assert "durable facts: in the same place" in shown().stdout
    for table, said in (("enabled = false", "off"), ('provider = "stdlib"\n', "stdlib, gone with")):
        (here / "squidbot.toml").write_text(f"[memory]\n{table}\n{SETTINGS}", encoding="utf-8")
        assert answer()["memory"]["kept"].startswith(said)


def facts_of(here: Path, count: int, embedder: str) -> dict[str, Any]:
    """Return what status says of so many facts, with that embedder in the settings."""
    text = f'[memory]\npath = "facts.db"\nembedder = "{embedder}"\n'
    (here / "squidbot.toml").write_text(text, encoding="utf-8")
    with SqliteMemoryStore(here / "facts.db") as store:
        store.add([made_memory(f"number{number}") for number in range(count)])
    found: dict[str, Any] = answer()["memory"]
    return found


def test_status_says_who_makes_vectors_and_how_many_facts_wait(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written by looking: neither vectors, nor an index, nor tables."""
    monkeypatch.setitem(registry.ADAPTERS, ("embedder", "onnxruntime"), lambda rest: HashedWords(8, f"hashed{rest}"))
    assert facts_of(here, 3, "none")["vectors"] == "none; searches use words (memory.embedder)"
    found = facts_of(here, 3, "onnxruntime")
    assert found["kept"] == f"sqlite3: {here / 'facts.db'}: 3 facts"
    assert repr(machine_user().user) in found["whose"]
    assert found["learned"] == "by rules from users that a program names (memory.extract)"
    assert found["vectors"] == "onnxruntime: hashed, 8 dimensions; 3 of 3 wait for a vector"
    assert found["nearest"].endswith(
        "(auto: the first that is installed of faiss, lancedb, stdlib): made when it is needed"
    )
    with SqliteMemoryStore(here / "facts.db") as store:
        store.put_vectors("hashed", 8, {made_memory("number1").memory_id: (1.0,) * 8})
    assert "2 of 3 wait for a vector" in " ".join(shown("--all").stdout.split())
    other = facts_of(here, 3, "onnxruntime:2")
    assert other["vectors"] == "onnxruntime:2: hashed2, 8 dimensions; 3 of 3 wait for a vector"
    unmeasured = "its cosines are not measured: vectors sort what is found, words decide what is near enough"
    assert found["remarks"] == [unmeasured]
    assert other["remarks"] == [
        unmeasured,
        "vectors of hashed, 8 dimensions are not used, and dropped when all are made anew: squidbot memory reindex",
    ]
    with SqliteMemoryStore(here / "facts.db") as store:
        assert store.models() == {"hashed": 8}


def test_status_says_nothing_of_cosines_that_somebody_measured(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An embedder may say what its cosines mean; one of MiniLM's size may be known by a vector."""
    measured = HashedWords(8)
    measured.even = 0.3  # type: ignore[attr-defined]
    for embedder in (measured, HashedWords(384)):
        monkeypatch.setitem(registry.ADAPTERS, ("embedder", "onnxruntime"), lambda _, made=embedder: made)
        assert facts_of(here, 1, "onnxruntime")["remarks"] == []


def test_status_names_extensions_and_observers_in_use(here: Path) -> None:
    """Without what an observer is given: it may be secret."""
    (here / "squidbot.toml").write_text('observers = ["structlog:secret"]\n', encoding="utf-8")
    found = answer()
    assert (found["extensions"], found["observers"]) == ([], ["structlog"])
    assert "observers: structlog" in shown("--all").stdout


def test_status_names_an_index_that_can_not_be_read_and_what_becomes_of_it(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read again from the store; nobody has to do anything."""
    pytest.importorskip("faiss", reason="the extra faiss", exc_type=ImportError)
    monkeypatch.setitem(registry.ADAPTERS, ("embedder", "onnxruntime"), lambda _: HashedWords(8))
    path = Path(vectors_path(str(here / "facts.db"), "hashed-words"))
    path.write_bytes(b"nothing")
    _, line = facts_of(here, 1, "onnxruntime")["remarks"]
    assert line.startswith("vectors of 'hashed-words' are read from the store again: not a squidbot index")
    assert path.read_bytes() == b"nothing"


def test_status_names_the_packages_of_adapters_in_use(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An extension is loaded by the name of its adapter, too."""
    found = tmp_path / "squidbot_eventlog-1.0.0.dist-info"
    found.mkdir()
    (found / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: squidbot-eventlog\nVersion: 1.0.0\n", encoding="utf-8"
    )
    (found / "entry_points.txt").write_text("[squidbot]\neventlog = squid_eventlog\n", encoding="utf-8")
    (tmp_path / "squid_eventlog.py").write_text(
        "import squidbot\n\n@squidbot.hookimpl\ndef register_adapters(register):\n"
        "    register.observer('eventlog', lambda rest: type('O', (), {'notify': print})())\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    (here / "squidbot.toml").write_text('observers = ["eventlog:secret"]\n', encoding="utf-8")
    text = " ".join(shown("--all").stdout.split())
    assert "extensions: eventlog (observer; from squidbot-eventlog 1.0.0)" in text
    assert "secret" not in text


def test_status_says_how_an_embedder_failed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line, with its setting: its factory, or what it says of itself."""
    for make, why in (
        (lambda rest: HashedWords(int(rest)), "ValueError: invalid literal for int()"),
        (lambda _: object(), "AttributeError: 'object' object has no attribute 'name'"),
    ):
        monkeypatch.setitem(registry.ADAPTERS, ("embedder", "onnxruntime"), make)
        (here / "squidbot.toml").write_text('[memory]\nembedder = "onnxruntime:x"\n', encoding="utf-8")
        for arguments in ((), ("--all",)):
            text = " ".join(shown(*arguments, code=1).stdout.split())
            assert f"the embedder onnxruntime:x failed: {why}" in text
            assert "squidbot.toml.memory.embedder" in text


def test_status_says_what_is_wrong_with_an_embedder(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line, and with an exit code: a name that nobody offers, and a package that is missing."""
    (here / "squidbot.toml").write_text('[memory]\nembedder = "nobody"\n', encoding="utf-8")
    assert "unknown embedder 'nobody'" in shown(code=2).stderr

    def lacks(_: str) -> HashedWords:
        raise ImportError("No module named 'onnxruntime'")

    monkeypatch.setitem(registry.ADAPTERS, ("embedder", "onnxruntime"), lacks)
    (here / "squidbot.toml").write_text('[memory]\nembedder = "onnxruntime:folder"\n', encoding="utf-8")
    assert "the extra onnxruntime is missing" in " ".join(shown(code=1).stdout.split())


def test_status_needs_no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On any machine, before anything is set up."""
    monkeypatch.chdir(tmp_path)
    found = answer()
    assert (found["settings"], len(found["models"]), found["store"]["adapter"]) == ("default", 1, "stdlib")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("embedder", "said"),
    [("tiny", "configured; not loaded"), ("openai:m@http://127.0.0.1:9/v1", "not asked")],
)
def test_status_asks_no_server_what_makes_vectors(here: Path, embedder: str, said: str) -> None:
    """Who makes them, and what would find the nearest, and why."""
    text = f'[memory]\nembedder = "{embedder}"\nindex = "stdlib"\n{SETTINGS}\n[models.tiny2]\nadapter = "ollama"\n'
    (here / "squidbot.toml").write_text(text.replace('"tiny"', '"tiny2"'), encoding="utf-8")
    found = answer()["memory"]
    assert said in found["vectors"]
    assert found["nearest"] == "stdlib (memory.index)"
    assert "nearest by stdlib (memory.index)" in " ".join(shown("--all").stdout.split())


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("columns", [80, 120])
def test_status_fits_on_one_screen(columns: int) -> None:
    """At 24 rows, with a prompt behind it; it says where the rest is. In a pipe it is the same text."""
    pexpect = pytest.importorskip("pexpect")
    code = "from squidbot.cli import main; main(prog_name='squidbot')"
    spawned = pexpect.spawn(
        sys.executable, ["-c", code, "status"], dimensions=(24, columns), timeout=60, encoding="utf-8"
    )
    printed = spawned.read()
    assert printed.count("\n") <= 23
    assert "squidbot status --all" in printed
    assert shown().stdout.splitlines()[0] in printed


@pytest.mark.usefixtures("here")
def test_status_begins_with_what_is_active_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Problems come first among what to do; a host that is not there is told of with --all."""
    monkeypatch.setenv("HOME", str(Path.cwd()))
    monkeypatch.setenv("LLM_USER_PATH", str(Path.cwd()))
    monkeypatch.setattr(status, "_version", {"llm": "0.36", "pydantic-ai-slim": "2.68"}.get)
    assert shown().stdout.startswith("Active\n  squidbot is active in no program yet")
    (Path.cwd() / "squidbot.json").write_text(json.dumps({"store": "s.db", "budget": None, "settings": ""}))
    Path("sessions.db").write_bytes(b"no database")
    active, _, rest = shown(code=1).stdout.partition("\n\n")
    assert active.startswith("Active\n  llm (llm 0.36): turned on; it keeps conversations in ")
    todo = " ".join(rest.partition("\n\n")[0].split())
    assert todo.startswith("What to do next ! store: ")
    assert todo.count("sessions.db") == 1
    assert 'pydantic-ai: add squidbot with capabilities=[Squidbot(settings="squidbot.toml")]' in todo
    assert "sqlite3: " in rest
    assert "sessions.db: can't be used now" in " ".join(rest.split())
    named = " ".join(shown("--store", "other.db").stdout.split())
    assert 'capabilities=[Squidbot("other.db")]' in named
    assert "LangChain" not in rest
    assert "LangChain: not installed" in shown("--all", code=1).stdout
    Path("squidbot.toml").unlink()
    assert 'capabilities=[Squidbot("mem.db")]' in " ".join(shown().stdout.split())


@pytest.mark.usefixtures("here")
def test_status_says_which_package_a_model_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Among what to do next, with its command; a model that the host itself calls lacks none."""
    monkeypatch.setattr(status, "_version", lambda _: None)
    for arguments in ((), ("--all",)):
        told = " ".join(shown(*arguments).stdout.split())
        assert "the extra xllamacpp is missing: pip install 'squidbot-context[xllamacpp]'" in told
    assert "model tiny: the extra xllamacpp is missing" in " ".join(shown().stdout.split())
    assert [one["lacks"] for one in answer()["models"]].count("") == 2
    monkeypatch.setattr(status, "_version", {"xllamacpp": "9"}.get)
    assert "xllamacpp" not in shown().stdout


@pytest.mark.usefixtures("here")
def test_status_names_how_to_begin_where_no_host_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One way of several, and the demo."""
    monkeypatch.setattr(status, "_version", lambda _: None)
    printed = " ".join(shown().stdout.split())
    assert "pip install 'squidbot-context[langchain]'" in printed
    assert "squidbot chat --demo" in printed


def test_status_leaves_out_models_that_have_no_room(here: Path) -> None:
    """It tells how many."""
    more = "".join(f"[models.m{number}]\ncontext_window = 8192\n" for number in range(9))
    (here / "squidbot.toml").write_text(f"{SETTINGS}\n{more}", encoding="utf-8")
    printed = shown().stdout
    assert "api: window" in printed
    assert "m8: window" not in printed
    assert "9 more models" in printed
    assert "m8: window" in shown("--all").stdout
