"""Which counter a model's texts are counted by where settings do not say, why, and that a session outlives a change."""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import squidbot
from squidbot.cli import main
from squidbot.core.errors import ConfigError
from squidbot.wiring.registry import VOCABULARIES, vocabulary_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BRINGS = "pip install tiktoken && python -c \"import tiktoken; tiktoken.get_encoding('o200k_base')\""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where tiktoken's own copy of o200k_base would be; a small one in its place is what is published."""
    adapter = pytest.importorskip("squidbot.adapters.tiktoken")
    folder = tmp_path / "data-gym-cache"
    folder.mkdir()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
    monkeypatch.setattr(adapter, "PUBLISHED", adapter.PUBLISHED | {"o200k_base": hashlib.sha256(ranks()).hexdigest()})
    # The name by which tiktoken keeps what it takes from its address.
    return folder / "fb374d419588a4632f3f557e76b4b70aebbca790"


def ranks() -> bytes:
    """Return a vocabulary of all bytes."""
    return b"\n".join(base64.b64encode(bytes([value])) + b" %d" % value for value in range(256))


def counted(model: str, settings: Mapping[str, object] | None = None) -> str:
    """Return what a session with that model is counted by."""
    with squidbot.load(settings or {}) as engine:
        return engine.session("s", model=model).window.counter


def test_model_of_openais_is_counted_by_its_own_vocabulary_where_tiktoken_has_it(cache: Path) -> None:
    """Nobody needs to set anything; another model, and a call without any, is counted as before."""
    assert counted("gpt-4o-mini") == "classes"
    cache.write_bytes(ranks())
    assert counted("gpt-4o-mini") == counted("openai/gpt-5.2") == "tiktoken:o200k_base"
    assert {counted(name) for name in ("", "claude-sonnet-5-5", "qwen2.5:7b", "gpt-4-turbo")} == {"classes"}
    with squidbot.load({}) as engine:
        assembly = engine.session("s", model="gpt-4o").assemble("Hello")
    assert assembly.report.certificate == "exact"


def test_what_settings_say_goes_before_it(cache: Path) -> None:
    """P-07: a counter named for all or for the model; and a model that is only called so: by a file, by a url."""
    cache.write_bytes(ranks())
    assert counted("gpt-4o", {"budget": {"counter": "classes"}}) == "classes"
    assert counted("gpt-4o", {"models": {"gpt-4o": {"tokenizer": "bytes"}}}) == "bytes"
    assert counted("gpt-4o", {"models": {"gpt-4o": {"url": "http://localhost:8080/v1"}}}) == "classes"
    assert counted("gpt-4o", {"models": {"gpt-4o": {"model": "claude-sonnet-5-5"}}}) == "classes"
    assert counted("mine", {"models": {"mine": {"model": "gpt-4o"}}}) == "tiktoken:o200k_base"
    own = {"budget": {"counter": "bytes"}, "models": {"gpt-4o": {"tokenizer": "auto"}}}
    assert (counted("gpt-4o", own), counted("x", own)) == ("tiktoken:o200k_base", "bytes")
    assert counted("", {"budget": {"counter": "tiktoken:o200k_base"}}) == "tiktoken:o200k_base"


def test_file_that_is_not_what_was_published_counts_nothing(cache: Path) -> None:
    """The usual cache is a folder that all users of the machine may write to."""
    cache.write_bytes(ranks() + b"\n")
    assert counted("gpt-4o") == "classes"
    with pytest.raises(ConfigError, match="tiktoken's cache has no vocabulary o200k_base; this brings it: pip install"):
        squidbot.load({"budget": {"counter": "tiktoken:o200k_base"}})


def test_reason_says_what_would_count_exactly(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line: the command that brings the vocabulary, the key that names it; nothing where settings say."""
    settings = {"models": {"mine": {"path": "mine.gguf", "context_window": 4096}, "told": {"tokenizer": "bytes"}}}
    with squidbot.load(settings) as engine:
        why = engine.wired.why_counted
        assert why("gpt-4o") == f"its vocabulary is not on this machine; this brings it: {BRINGS}"
        assert why("").endswith(f"which is not on this machine; this brings it: {BRINGS}")
        assert why("mine").endswith('models.mine.tokenizer = "llama_cpp:mine.gguf"')
        assert (why("other"), why("told")) == ("no known vocabulary", "")
    cache.write_bytes(ranks())
    with squidbot.load({}) as engine:
        assert engine.wired.why_counted("gpt-4o") == "the model's own vocabulary"
        assert "not at hand" not in engine.wired.why_counted("")
    monkeypatch.setitem(sys.modules, "squidbot.adapters.tiktoken", None)
    with squidbot.load({}) as engine:
        assert BRINGS in engine.wired.why_counted("")
        assert engine.session("s", model="gpt-4o").window.counter == "classes"


def test_status_and_explain_say_by_what_and_why(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each model of the settings and of a session; nothing where nobody named a model."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "squidbot.toml").write_text(
        '[store]\npath = "s.db"\n[models.mine]\nmodel = "gpt-4o"\n', encoding="utf-8"
    )
    with squidbot.load() as engine:
        for model in ("", "gpt-4o"):
            session = engine.session(f"with-{model or 'none'}", model=model)
            session.record(session.assemble("Hello").incoming, "Hi")
    run = CliRunner().invoke
    models = {one["alias"]: one for one in json.loads(run(main, ["status", "--json"]).output)["models"]}
    assert models["mine"]["counter"] == "classes"
    assert BRINGS in models["mine"]["counted"]
    assert "tiktoken.get_encoding('o200k_base')" in run(main, ["status", "--all"]).output
    assert (
        "counted by classes: its vocabulary is not on this machine"
        in run(main, ["session", "explain", "with-gpt-4o"]).output
    )
    assert "counted by classes\n" in run(main, ["session", "explain", "with-none"]).output
    cache.write_bytes(ranks())
    models = {one["alias"]: one for one in json.loads(run(main, ["status", "--json"]).output)["models"]}
    assert (models["mine"]["counter"], models["mine"]["counted"]) == (
        "tiktoken:o200k_base",
        "the model's own vocabulary",
    )


def test_session_goes_on_when_another_counter_counts_it(cache: Path, tmp_path: Path) -> None:
    """The vocabulary comes, and goes with the folder of temporary files: each request fits by what counts it then."""
    settings = {"store": {"path": str(tmp_path / "s.db")}, "window": {"default": 2048}}
    seen, said = [], 0
    for has_vocabulary in (False, True, False):
        if has_vocabulary:
            cache.write_bytes(ranks())
        else:
            cache.unlink(missing_ok=True)
        with squidbot.load(settings) as engine:
            session = engine.session("s", model="gpt-4o")
            seen.append(session.window.counter)
            for _ in range(12):
                assembly = session.assemble(f"Please look at part {said} of the plan for the harbour. " * 3)
                assert assembly.report.cost.bound <= assembly.report.limit.bound
                count = session.meter.physical.upper_bound
                sent = sum(count(str(message["content"])) + 4 for message in assembly.messages)
                assert sent + session.window.reserved_output_tokens <= 2048
                session.record(assembly.incoming, f"Part {said} is in src/part_{said}.py.")
                said += 1
    assert seen == ["classes", "tiktoken:o200k_base", "classes"]
    with squidbot.load(settings) as engine:
        assert len(list(engine.wired.store.read("s", 0, 2 * said - 1))) == 2 * said


def test_vocabularies_of_models_are_as_tiktoken_has_them() -> None:
    """Its table has each name of ours, with the same vocabulary; what has an older one is known to neither."""
    table = pytest.importorskip("tiktoken.model")
    prefixes = {f"{name.removesuffix('-')}-x": of for name, of in table.MODEL_PREFIX_TO_ENCODING.items()}
    for name, of in {**table.MODEL_TO_ENCODING, **prefixes}.items():
        if not name.removeprefix("ft:").startswith(("text-", "davinci", "babbage")):  # these take no messages
            encoding = of.replace("harmony", "base")  # has the same ranks
            assert vocabulary_of(name) == (encoding if encoding in VOCABULARIES else ""), name
    for name in ("gpt-4.1-mini", "gpt-4o-2024-08-06", "gpt-5", "gpt-3.5-turbo-0125", "o3-pro"):
        assert vocabulary_of(name) == table.encoding_name_for_model(name)
    for name in ("gpt-6-sol", "gpt4all", "someone/gpt-4-x", "o1x", "gpt-4.2", "GPTNeoX", "gpt-2"):
        assert not vocabulary_of(name)
