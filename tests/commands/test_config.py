"""`squidbot config`: what is set, where, and what each key does."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from squidbot.cli import main
from squidbot.config.presets import profiles

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = """profile = "manual"
models."qwen2.5:7b".n_gpu_layers = "auto"

[window]
targetSize = 9000

[compat]
env = true
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with settings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MAX_TOKENS", "321")
    (tmp_path / "squidbot.toml").write_text(SETTINGS, encoding="utf-8")
    return tmp_path


def shown(*arguments: str, code: int = 0) -> str:
    """Return what the command prints, spaces made one."""
    done = CliRunner().invoke(main, ["config", *arguments])
    assert done.exit_code == code, done.output
    return " ".join(done.output.split())


def answer(*arguments: str) -> dict[str, Any]:
    """Return what it prints as JSON."""
    done = CliRunner().invoke(main, ["config", *arguments, "--json"])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_config_shows_what_is_set_by_whom_it_is_for() -> None:
    """The engine, models, conversations: a line of the file, the environment, the profile."""
    printed = shown()
    for said in (
        "for the engine summary.scheduler none (profile manual)",
        "compat.env true (squidbot.toml:8)",
        "for models window.default 9000 (squidbot.toml:5)",
        'models."qwen2.5:7b".n_gpu_layers auto (squidbot.toml:2)',
        "for how conversations are kept profile manual (squidbot.toml:1)",
        "budget.reserved_output_tokens 321 (env MAX_TOKENS)",
    ):
        assert said in printed
    assert "window.max" not in printed
    assert "window.max 131072 (default)" in shown("--all")


def test_config_shows_the_word_that_a_switch_stands_for(here: Path) -> None:
    """O-02: `autoSize: boolean` is shown as the mode that it means, with the line that sets it."""
    (here / "squidbot.toml").write_text("[context]\nautoSize = true\nkvQuantization = true\n", encoding="utf-8")
    printed = shown("window")
    assert "value one_tier_below (squidbot.toml:2)" in printed
    assert "value q8_0 (squidbot.toml:3)" in printed
    assert "names window.autoSize, context.autoSize" in printed


def test_config_explains_a_key_and_a_table() -> None:
    """What it does, its value and where that is from, default, unit, other names."""
    printed = shown("window.default")
    assert printed.startswith("window.default Window of models that set none")
    assert "value 9000 (squidbot.toml:5) default 32768 unit tokens" in printed
    assert "names window.targetSize, context.targetSize, LLAMA_CPP_N_CTX" in printed
    assert "choices coherence, balanced, speed" in shown("pressure.strategy")
    assert shown("window").count("default") >= 5
    assert "Layers on GPUs" in shown('models."qwen2.5:7b"')
    assert "unknown key windw" in shown("windw", code=2)


def test_config_explains_keys_of_tables_that_users_name(here: Path) -> None:
    """By the name that the tables of the docs have, and all of them, though nobody has set such a table."""
    assert shown("models.<alias>.kv_type").startswith("models.<alias>.kv_type Type of the KV cache.")
    assert "unknown key nonsense" in shown("window", "nonsense", code=2)
    (here / "squidbot.toml").write_text("", encoding="utf-8")
    assert "models.<alias>.kv_type Type of the KV cache." in shown("models")


def test_config_as_json_has_every_key_with_its_tier() -> None:
    """With --all those that nobody has set."""
    found = answer("--all")
    keys = {one["key"]: one for one in found["keys"]}
    assert found["settings"] == "squidbot.toml"
    assert (keys["window.default"]["value"], keys["window.default"]["tier"]) == (9000, "physical")
    assert (keys["compat.env"]["source"], keys["compat.env"]["tier"]) == ("squidbot.toml:8", "job")
    assert (keys["pressure.patience"]["value"], keys["pressure.patience"]["expert"]) == (0.0, True)
    assert all(one["doc"] for one in found["keys"])
    assert len(answer()["keys"]) < len(found["keys"])


def test_config_writes_for_ever_as_null_in_json(here: Path) -> None:
    """JSON has no infinity; people read inf."""
    (here / "squidbot.toml").write_text("[price_table.own]\nttl_seconds = inf\n", encoding="utf-8")
    values = {one["key"]: one["value"] for one in answer("price_table.own.ttl_seconds")["keys"]}
    assert values == {"price_table.own.ttl_seconds": None}
    assert "price_table.own.ttl_seconds inf (squidbot.toml:2)" in shown()


def test_config_reads_the_file_that_is_named(here: Path) -> None:
    """And not the one of the folder."""
    (here / "other.toml").write_text("[window]\ndefault = 4096\n", encoding="utf-8")
    assert "window.default 4096 (other.toml:2)" in shown("--config", "other.toml")


def test_config_lists_profiles_and_writes_one_as_a_file() -> None:
    """What it prints can be read as settings."""
    printed = shown("profile")
    assert all(f"{profile.name} {profile.about}" in printed for profile in profiles().values())
    done = CliRunner().invoke(main, ["config", "--profile", "squidbot-v2"]).output
    written = tomllib.loads(done.partition("\n\n")[2])
    assert written["budget"]["trim_rule"] == "squidbot-v2"
    assert answer("--profile", "manual")["settings"][0] == {"key": "budget.policy", "value": True}
    assert "unknown profile 'x'" in shown("--profile", "x", code=2)
