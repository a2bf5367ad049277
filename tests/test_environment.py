"""What the environment says: names of other systems for our keys, where that is asked for; and no secrets in files."""

from __future__ import annotations

import pytest

import squidbot
from squidbot.config import load_settings
from squidbot.config.environment import check_secrets
from squidbot.config.schema import Settings, keys_of
from squidbot.core.errors import ConfigError

ALIASES = {key.field.metadata["env"]: key.path for key in keys_of(Settings) if key.field.metadata["env"]}
COMPAT: dict[str, object] = {"compat": {"env": True}}
GIVEN = {
    "LLAMA_CPP_N_CTX": ("9000", 9000),
    "MAX_TOKENS": ("777", 777),
    "PENGUIN_CONTEXT_SAFETY_FRACTION": ("0.5", 0.5),
    "SUMMARIZATION_SESSION_GAP_SECONDS": ("61.5", 61.5),
    "SUMMARIZATION_MIN_MESSAGES": ("7", 7),
    "MEMORY_PROTECTED_RECENT_TURNS": ("2", 2),
    "LLM_BAWT_DEBUG_TURN_LOG": ("turns.txt", "turns.txt"),
}
SIZES = "write 32000, 32k (32,000) or 32Ki (32,768)"


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every name has a value."""
    assert GIVEN.keys() == ALIASES.keys()
    for name, (text, _) in GIVEN.items():
        monkeypatch.setenv(name, text)


@pytest.mark.usefixtures("named")
def test_names_of_the_environment_set_our_keys_when_that_is_asked_for() -> None:
    """Each its own, with its name as the origin; nothing else is set."""
    found = {key: (value, source) for key, value, source in load_settings(COMPAT).origins() if source != "default"}
    assert found.pop("compat.env") == (True, "argument")
    assert found == {".".join(ALIASES[name]): (value, f"env {name}") for name, (_, value) in GIVEN.items()}
    window = squidbot.load(COMPAT).session("s").window
    assert (window.window_tokens, window.reserved_output_tokens, window.safety_fraction) == (9000, 777, 0.5)
    assert window.source == "global-config"


@pytest.mark.usefixtures("named")
def test_names_of_the_environment_are_nothing_when_nobody_asks() -> None:
    """Unasked, and where it is switched off."""
    for settings in ({}, {"compat": {"env": False}}):
        assert load_settings(settings).settings.window.default == 32_768


@pytest.mark.usefixtures("named")
def test_what_is_set_goes_before_the_environment() -> None:
    """Under the key's own name, and under another one; and a model's window before both (B-02)."""
    for window in ({"default": 4096}, {"targetSize": 4096}):
        loaded = load_settings({**COMPAT, "window": window})
        (found,) = [origin for origin in loaded.origins() if origin.key == "window.default"]
        assert found[1:] == (4096, "argument")
    models = {"models": {"m": {"context_window": 5000}}}
    assert squidbot.load({**COMPAT, **models}).session("s", model="m").window.window_tokens == 5000


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("LLAMA_CPP_N_CTX", "8x", f"'8x' is not a number of tokens; {SIZES} @ env LLAMA_CPP_N_CTX"),
        ("LLAMA_CPP_N_CTX", "0", "must be > 0, not 0 @ env LLAMA_CPP_N_CTX"),
        (
            "PENGUIN_CONTEXT_SAFETY_FRACTION",
            "85",
            "must be above 0 and at most 1, not 85 @ env PENGUIN_CONTEXT_SAFETY_FRACTION",
        ),
    ],
)
def test_a_wrong_value_of_the_environment_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, text: str, message: str
) -> None:
    """The variable, the key, and what would be right."""
    monkeypatch.setenv(name, text)
    with pytest.raises(ConfigError) as caught:
        load_settings(COMPAT)
    assert str(caught.value) == message


SECRET = "sk-ant-0123456789abcdefghij"  # noqa: S105  # nobody's


@pytest.mark.parametrize(
    ("settings", "path", "variable"),
    [
        ({"models": {"m": {"adapter": "anthropic", "api_key": SECRET}}}, "models.m.api_key", "ANTHROPIC_API_KEY"),
        ({"models": {"m": {"adapter": "openai", "OPENAI_API_KEY": "x"}}}, "models.m.OPENAI_API_KEY", "OPENAI_API_KEY"),
        ({"token": SECRET}, "token", "ANTHROPIC_API_KEY or OPENAI_API_KEY"),
        ({"summary": {"llm": SECRET}}, "summary.llm", "ANTHROPIC_API_KEY or OPENAI_API_KEY"),
        ({"models": {"m": {"url": "http://me:hidden@host"}}}, "models.m.url", "ANTHROPIC_API_KEY or OPENAI_API_KEY"),
    ],
)
def test_secrets_in_settings_are_refused(settings: dict[str, object], path: str, variable: str) -> None:
    """With the place, and what to do; the secret itself is not said again."""
    with pytest.raises(ConfigError) as caught:
        load_settings(settings)
    said = str(caught.value)
    assert said.endswith(f"@ argument.{path}")
    assert f"set {variable} in the environment" in said
    assert SECRET not in said
    assert "hidden" not in said


def test_what_only_sounds_like_a_secret_is_taken() -> None:
    """Numbers of tokens, names and patterns of secrets, a model that is called so."""
    check_secrets({"pressure": {"compact_at_tokens": 3}, "memory": {"redact_patterns": ["token"]}}, "x")
    loaded = load_settings({"models": {"secret": {"tokenizer": "bytes"}}, "memory": {"redact_patterns": ["sk-x"]}})
    assert loaded.settings.model("secret").tokenizer == "bytes"


@pytest.mark.parametrize(
    ("said", "name"),
    [("1", "debug_turn.txt"), (" True ", "debug_turn.txt"), ("0", ""), ("off", ""), ("", ""), ("x.txt", "x.txt")],
)
def test_switch_of_the_log_of_turns_may_name_its_file(monkeypatch: pytest.MonkeyPatch, said: str, name: str) -> None:
    """On is document 000's own name, off is none (B-50)."""
    monkeypatch.setenv("LLM_BAWT_DEBUG_TURN_LOG", said)
    assert load_settings(COMPAT).settings.debug.turn_log == name
    assert load_settings({}).settings.debug.turn_log == ""
