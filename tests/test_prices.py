"""The price table: what squidbot brings is whole and dated, and one word in the settings picks an entry."""

from __future__ import annotations

import math
import tomllib
from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import squidbot
from squidbot.config import Loaded, load_settings, presets
from squidbot.config.presets import known, shipped
from squidbot.config.schema import PriceEntry
from squidbot.core.errors import ConfigError
from squidbot.core.settings import FREE_READ_HIGH, HistorySettings, strategy

NAMES = ("default", "anthropic", "anthropic-1h", "openai", "openai-30m", "gemini", "llama.cpp")
FIGURES = ("read", "write", "output", "ttl_seconds", "least_tokens")
FIELDS = ("read_price", "write_price", "output_price", "cache_ttl_seconds", "least_cached_tokens")
ROOT = Path(__file__).parent.parent


def planned(settings: dict[str, object], model: str = "") -> tuple[object, ...]:
    """Return the prices that a session plans with: read, write, output, pause, least tokens."""
    session = squidbot.load(settings).session("s", model=model)
    return tuple(getattr(session.core.settings, field) for field in FIELDS)


def figures(entry: PriceEntry) -> tuple[object, ...]:
    """Return the figures of an entry in the same order."""
    return tuple(getattr(entry, name) for name in FIGURES)


# -- what squidbot brings ---------------------------------------------------------------------------------------------


def test_shipped_table_has_the_providers() -> None:
    """In the order in which an error lists them."""
    assert tuple(shipped()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_shipped_entry_says_all_when_and_who(name: str) -> None:
    """Nothing is left to a default but the price of a model, a read costs less than a new token, the day is a day."""
    path = Path(presets.__file__).with_name(presets.PRICES_FILE)
    raw = tomllib.loads(path.read_text(encoding="utf-8"))["price_table"][name]
    assert set(raw) == {field.name for field in fields(PriceEntry)} - {"per_million"}
    entry = shipped()[name]
    assert 0 <= entry.read < 1 <= entry.write <= 2
    assert entry.output > 1
    assert entry.ttl_seconds > 0
    assert date(2026, 1, 1) <= date.fromisoformat(entry.as_of)
    assert len(entry.source.split()) >= 5


def test_shipped_figures_are_those_of_the_design() -> None:
    """decisions.md, section 13; OpenAI charges for writing since GPT-5.6."""
    found = {name: figures(entry)[:2] for name, entry in shipped().items()}
    assert found["anthropic"] == found["openai-30m"] == (0.1, 1.25)
    assert found["anthropic-1h"] == (0.1, 2.0)
    assert found["openai"] == (0.1, 1.0)
    assert found["llama.cpp"] == (0.0, 1.0)
    pauses = [shipped()[name].ttl_seconds for name in ("anthropic", "anthropic-1h", "llama.cpp")]
    assert pauses == [300.0, 3600.0, math.inf]
    assert 2048 <= shipped()["gemini"].least_tokens <= 4096
    assert shipped()["openai"].least_tokens == 1024


def test_default_entry_is_what_holds_where_nothing_is_said() -> None:
    """Naming it changes nothing; an entry without keys is the same."""
    plain = tuple(getattr(HistorySettings(), field) for field in FIELDS)
    assert figures(shipped()["default"]) == figures(PriceEntry()) == plain == planned({})
    assert planned({"prices": "default"}) == plain


def test_table_in_the_docs_is_the_shipped_one() -> None:
    """Every entry with its figures and its day."""
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    for name, entry in shipped().items():
        pause = "never" if math.isinf(entry.ttl_seconds) else f"{entry.ttl_seconds:,.0f} s"
        price = f"{entry.read:g} | {entry.write:g} | {entry.output:g}"
        assert f"| {name} | {price} | {pause} | {entry.least_tokens:,} tokens | {entry.as_of} |" in text


# -- one word ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_one_word_picks_an_entry_for_all_models_or_for_one(name: str) -> None:
    """At the top, and in a model's table, whose word goes before the common one."""
    wanted = figures(shipped()[name])
    assert planned({"prices": name}) == wanted
    settings: dict[str, object] = {"prices": "gemini", "models": {"m": {"prices": name}}}
    assert planned(settings, "m") == wanted
    assert planned(settings, "another") == figures(shipped()["gemini"])


def test_free_reads_let_history_wait_unless_a_mark_is_set() -> None:
    """What is cached costs nothing, however long; who names a mark gets that mark."""

    def high(**settings: object) -> float:
        pressure = {"strategy": "speed", **settings}
        given = {"prices": "llama.cpp", "pressure": pressure, "window": {"default": 131_072}}
        return squidbot.load(given).session("s").core.settings.high_fraction

    assert strategy("speed", 126_976).high_fraction < high() == FREE_READ_HIGH
    assert high(compact_at_fraction=0.3) == 0.3
    assert high(strategy="coherence") == 0.95


def test_own_entries_are_picked_by_name_and_go_before_shipped_ones() -> None:
    """What an entry leaves out is as the core has it."""
    table: dict[str, object] = {"mine": {"read": 0.3, "least_tokens": 7}, "openai": {"write": 3}}
    assert planned({"price_table": table, "prices": "mine"}) == (0.3, 1.25, 5.0, 300.0, 7)
    assert planned({"price_table": table, "prices": "openai"}) == (0.1, 3, 5.0, 300.0, 0)
    assert planned({"price_table": table}) == planned({})
    own = load_settings({"price_table": table}).settings.price_table
    assert list(known(own)) == [*NAMES, "mine"]


def test_entry_takes_a_day_of_toml_and_infinity(tmp_path: Path) -> None:
    """As TOML writes them; a day as text is a day, too."""
    file = tmp_path / "squidbot.toml"
    file.write_text(
        'prices = "a"\n[price_table.a]\nttl_seconds = inf\nas_of = 2026-11-01\n[price_table.b]\nas_of = "2026-11-02"\n',
        encoding="utf-8",
    )
    loaded = load_settings(file)
    assert loaded.prices().ttl_seconds == math.inf
    assert [entry.as_of for entry in loaded.settings.price_table.values()] == ["2026-11-01", "2026-11-02"]


# -- what is refused --------------------------------------------------------------------------------------------------

KNOWN = ", ".join(NAMES)
OWN = "argument.price_table['a']"


def own(key: str, value: object) -> dict[str, object]:
    """Return settings with an entry of one's own that sets one key."""
    return {"price_table": {"a": {key: value}}}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prices": "antropic"}, f"unknown 'antropic', known: {KNOWN} @ argument.prices"),
        ({"models": {"m": {"prices": "x"}}}, f"unknown 'x', known: {KNOWN} @ argument.models['m'].prices"),
        (
            {"prices": "x", "price_table": {"mine": {}}},
            f"unknown 'x', known: {KNOWN}, mine @ argument.prices",
        ),
        ({"prices": 3}, "must be a string, not 3 @ argument.prices"),
        (own("output", -1), f"must be >= 0, not -1 @ {OWN}.output"),
        (own("output", math.inf), f"must be >= 0, not inf @ {OWN}.output"),
        (
            {"price_table": {"a": {"ttl_seconds": -1}}},
            "must be >= 0, or inf, not -1 @ argument.price_table['a'].ttl_seconds",
        ),
        (
            {"price_table": {"a": {"ttl_seconds": math.nan}}},
            "must be >= 0, or inf, not nan @ argument.price_table['a'].ttl_seconds",
        ),
        (
            {"price_table": {"a": {"ttl_seconds": "never"}}},
            "must be a number, not 'never' @ argument.price_table['a'].ttl_seconds",
        ),
        (
            {"price_table": {"a": {"least_tokens": 1.5}}},
            "must be a whole number, not 1.5 @ argument.price_table['a'].least_tokens",
        ),
        (own("least_tokens", -1), f"must be >= 0, not -1 @ {OWN}.least_tokens"),
        (
            {"price_table": {"a": {"as_of": "2026-13-01"}}},
            "must be a day as YYYY-MM-DD, not '2026-13-01' @ argument.price_table['a'].as_of",
        ),
        (
            {"price_table": {"a": {"as_of": 2026}}},
            "must be a day as YYYY-MM-DD, not 2026 @ argument.price_table['a'].as_of",
        ),
        (
            {"price_table": {"a": {"cost": 1}}},
            f"unknown key cost, known: {', '.join(FIGURES)}, per_million, as_of, source @ argument.price_table['a']",
        ),
        (
            {"price_table": {"a": {"source": 1}}},
            "must be a string, not 1 @ argument.price_table['a'].source",
        ),
        ({"price_table": "a"}, "must be a table, not 'a' @ argument.price_table"),
    ],
)
def test_wrong_prices_are_refused_with_their_path(settings: dict[str, Any], message: str) -> None:
    """What is wrong, what would be right, where it stands."""
    with pytest.raises(ConfigError) as caught:
        load_settings(settings)
    assert str(caught.value) == message


def test_every_unknown_entry_is_told() -> None:
    """One line for each."""
    with pytest.raises(ConfigError) as caught:
        load_settings({"prices": "x", "models": {"a": {"prices": "y"}, "b": {"prices": "openai"}}})
    assert [line.split(",")[0] for line in str(caught.value).splitlines()] == ["unknown 'x'", "unknown 'y'"]


# -- where a value comes from -----------------------------------------------------------------------------------------


def origins(loaded: Loaded) -> dict[str, tuple[object, str]]:
    """Return value and source by key."""
    return {key: (value, source) for key, value, source in loaded.origins()}


def test_origins_say_where_an_entry_is_named_and_what_it_has() -> None:
    """By line or argument, as for any other key; what nobody sets is a default."""
    settings = {
        "prices": "openai",
        "models": {"m": {"prices": "mine"}, "other": {}},
        "price_table": {"mine": {"read": 0.2}},
    }
    found = origins(load_settings(settings))
    assert found["prices"] == ("openai", "argument")
    assert found["models.m.prices"] == ("mine", "argument")
    assert found["price_table.mine.read"] == (0.2, "argument")
    assert found["price_table.mine.write"] == (1.25, "default")
    assert found["models.other.prices"] == (None, "default")
    assert origins(load_settings({}))["prices"] == ("default", "default")
