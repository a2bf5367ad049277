"""Profiles: one word for a system's budgets, marks and thresholds, below what the user sets (behaviours O-15, C28)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squidbot
from squidbot.config import load_settings
from squidbot.config.loading import with_profile
from squidbot.config.presets import DEFAULT, profile_of, profiles
from squidbot.core.errors import ConfigError
from squidbot.core.memories import Scope

NAMES = ("ladder", "llm-bawt", "squidbot-v2", "workspaceai", "penguin", "ollm", "manual")
PAGE = Path(__file__).parents[1] / "docs" / "maintainers" / "profiles.md"


def test_profiles_are_the_five_systems_ours_and_one_where_nothing_happens_by_itself() -> None:
    """In the order of decisions.md section 11; the default sets nothing."""
    assert tuple(profiles()) == NAMES
    assert NAMES[0] == DEFAULT
    assert profile_of(DEFAULT).keys == {}
    assert all(profile.keys for profile in profiles().values() if profile.name != DEFAULT)


@pytest.mark.parametrize("name", NAMES)
def test_a_profile_is_a_file_of_settings_and_says_where_its_values_are_from(name: str) -> None:
    """Every key is one of squidbot.toml, has the profile's value, and differs from what holds without it."""
    loaded = load_settings({"profile": name})
    named = {origin.key: plain(origin.value) for origin in loaded.origins() if origin.source == f"profile {name}"}
    assert named == profile_of(name).keys
    default = {origin.key: origin.value for origin in load_settings({}).origins()}
    others = {origin.key for origin in loaded.origins() if origin.value != default[origin.key]} - {"profile"}
    assert others <= named.keys()


@pytest.mark.parametrize("name", NAMES)
def test_a_session_opens_under_each_profile(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And asks."""
    monkeypatch.chdir(tmp_path)
    with squidbot.load({"profile": name}) as engine:
        session = engine.session("a", window_tokens=8_192)
        session.record({"role": "user", "content": "Where is the boat?"}, "In the harbour.")
        said = session.assemble("Since when?").messages
        assert [each["role"] for each in said[-3:]] == ["user", "assistant", "user"]
        # A profile may have the time told behind it, or in front of it who asks.
        assert "Since when?" in str(said[-1]["content"]).splitlines()


def test_what_the_user_sets_goes_before_the_profile(tmp_path: Path) -> None:
    """Key by key: the rest of a table is the profile's."""
    path = tmp_path / "squidbot.toml"
    path.write_text('profile = "llm-bawt"\n[pressure]\npatience = 0.5\n', encoding="utf-8")
    found = {origin.key: (origin.value, origin.source) for origin in load_settings(path).origins()}
    assert found["profile"] == ("llm-bawt", "squidbot.toml:1")
    assert found["pressure.patience"] == (0.5, "squidbot.toml:3")
    assert found["pressure.min_saving_fraction"] == (0.0, "profile llm-bawt")
    assert found["pressure.backoff_seconds"][1] == "default"


def test_the_environment_goes_before_the_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it goes before a default, where it is asked for; 100,000 tokens where nobody says (P-06)."""
    monkeypatch.setenv("PENGUIN_CONTEXT_SAFETY_FRACTION", "0.7")
    loaded = load_settings({"profile": "penguin", "compat": {"env": True}})
    found = {origin.key: (origin.value, origin.source) for origin in loaded.origins()}
    assert found["window.safety_fraction"] == (0.7, "env PENGUIN_CONTEXT_SAFETY_FRACTION")
    assert found["window.default"] == (100_000, "profile penguin")


def test_penguin_indexes_its_folders_and_makes_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-11: "index **notes/** and **conversations/** under `WORKSPACE_PATH`"; with memory off, nothing at all."""
    monkeypatch.chdir(tmp_path)
    with squidbot.load({"profile": "penguin", "memory": {"enabled": False}, "summary": {"scheduler": "none"}}) as off:
        off.session("s").record({"role": "user", "content": "hello"}, "Hello.")
        off.run_jobs()
    with squidbot.load({"profile": "penguin", "summary": {"scheduler": "none"}}) as engine:
        session = engine.session("s")
        session.record({"role": "user", "content": "hello"}, "Hello.")
        engine.run_jobs()
        assert list(tmp_path.iterdir()) == []
        for name in ("notes", "conversations"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "a.md").write_text(f"The heron of {name}.", encoding="utf-8")
        engine.run_jobs()
        found = session.memory({"action": "search", "query": "heron"}).text
        assert "heron of notes" in found
        assert "heron of conversations" in found


def test_an_unknown_profile_is_named_with_those_there_are(tmp_path: Path) -> None:
    """And where it stands; one that is no word at all, too."""
    path = tmp_path / "squidbot.toml"
    path.write_text('profile = "pinguin"\n', encoding="utf-8")
    with pytest.raises(
        ConfigError, match=r"unknown profile 'pinguin', known: ladder, .*manual @ squidbot.toml.profile"
    ):
        load_settings(path)
    with pytest.raises(ConfigError, match=r"must be a string, not 7 @ argument\.profile"):
        load_settings({"profile": 7})


VALUES = st.integers(0, 9) | st.text(max_size=3)
SETTINGS = st.dictionaries(
    st.sampled_from(["budget", "pressure", "history", "window", "mine"]),
    VALUES | st.dictionaries(st.sampled_from(["policy", "patience", "default", "mine"]), VALUES, max_size=3),
    max_size=4,
)


@given(st.sampled_from(NAMES), SETTINGS)
def test_nothing_that_is_set_is_lost_or_changed(name: str, given_settings: dict[str, object]) -> None:
    """Whatever it is: a table is filled up, anything else stands as it is."""
    made, named = with_profile({"profile": name, **given_settings}, "a test")
    for key, value in given_settings.items():
        at = made[key]
        if isinstance(value, dict) and isinstance(at, dict):
            assert {**at, **value} == at
        else:
            assert at == value
    for path in named:
        at = made
        for part in path:
            assert isinstance(at, dict)
            at = at[part]
        assert profile_of(name).keys[".".join(path)] == at


def test_llm_bawt_says_when_it_works_from_a_summary_and_learns_of_every_bot(monkeypatch: pytest.MonkeyPatch) -> None:
    """B-19: "prompted to mention when it's working from a summary"; B-32: "All bots: auto-extraction"."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    memory = {"llm": "anthropic:any"}
    with squidbot.load({"profile": "llm-bawt"}) as engine:
        assert engine.session("s", window_tokens=4096, scope=Scope(bot="nova")).core.settings.says_notes
        assert engine.wired.remembering.learns_of(Scope(bot="nova"))
        assert not engine.wired.remembering.learns_by_model
    with squidbot.load({"profile": "llm-bawt", "memory": memory, "summary": {"scheduler": "none"}}) as engine:
        assert engine.wired.remembering.learns_by_model


def test_every_key_of_a_profile_stands_on_its_page() -> None:
    """docs/maintainers/profiles.md says what each sets, key by key, and names no profile that there is not."""
    text = PAGE.read_text(encoding="utf-8")
    sections = dict(part.split("\n", 1) for part in text.split("\n## `")[1:])
    assert [name.rstrip("`") for name in sections] == list(NAMES)
    for name, section in sections.items():
        keys = profile_of(name.rstrip("`")).keys
        missing = [key for key, value in keys.items() if f"| `{key}` | {shown(value)} |" not in section]
        assert not missing, name
        assert section.count("\n| `") == len(keys), name


def shown(value: object) -> str:
    """Return a value as the page has it."""
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, str | list) else str(value)


def plain(value: object) -> object:
    """Return a value as TOML has it: a list where settings hold a tuple."""
    return list(value) if isinstance(value, tuple) else value
