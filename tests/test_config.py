"""squidbot.toml: what is read, what is refused, and that every key reaches the engine."""

from __future__ import annotations

from dataclasses import fields
from datetime import date
from typing import TYPE_CHECKING, Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squidbot
from squidbot.config import Loaded, load_settings
from squidbot.config.checks import KvType
from squidbot.config.schema import PriceEntry, Settings, keys_of
from squidbot.core import events
from squidbot.core.budget import ContextUsage, HistoryCaps, Ladder, pressure_of, tier_of
from squidbot.core.errors import ArgumentError, ConfigError, JournalFullError
from squidbot.core.journal import JournalEntry, JournalRules
from squidbot.core.messages import Cost
from squidbot.core.plan import Representation
from squidbot.core.settings import HistorySettings
from squidbot.core.sizing.vram import level
from squidbot.core.summaries import SummarySettings
from squidbot.core.transcript.snapshots import Retention

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.session import Session

PATH = "squidbot.toml"
SIZINGS = "max_safe, one_tier_below, manual, true (one_tier_below), false (manual)"
KV_TYPES = f"{', '.join(get_args(KvType))}, true (q8_0), false (f16)"


def opened(settings: dict[str, object], model: str = "") -> Session:
    """Return a session of an engine with these settings."""
    return squidbot.load(settings).session("s", model=model)


# One value for each key that is not its default, and the field of the session's HistorySettings that must take it.
HISTORY_KEYS: dict[str, tuple[object, str]] = {
    "pressure.compact_at_fraction": (0.71, "high_fraction"),
    "pressure.low_water_fraction": (0.31, "low_fraction"),
    "pressure.patience": (1.3, "patience"),
    "pressure.min_saving_fraction": (0.21, "min_saving_fraction"),
    "pressure.backoff_seconds": (31.0, "backoff_seconds"),
    "history.scope": ("none", "scope"),
    "images.max": (3, "most_images"),
    "history.categories_by_words": (True, "categories_by_words"),
    "history.user_messages": ("strict", "user_messages"),
    "prompt.says_notes": (True, "says_notes"),
    "pressure.beside_summaries": (True, "beside_summaries"),
    "history.floor_turns": (3, "floor_turns"),
    "history.min_recent_messages": (5, "min_recent_messages"),
    "history.keep_recent_tokens": (2048, "keep_recent_tokens"),
    "history.pinned_fraction": (0.15, "pinned_fraction"),
    "history.slim_fraction": (0.14, "slim_fraction"),
    "history.user_verbatim_fraction": (0.41, "user_verbatim_fraction"),
    "history.output_fraction": (0.18, "output_fraction"),
    "history.assistant_fraction": (0.16, "assistant_fraction"),
    "summary.gap_seconds": (61.0, "gap_seconds"),
    "summary.notes_fraction": (0.22, "notes_fraction"),
    "summary.detailed_blocks": (2, "detailed_blocks"),
    "summary.moderate_blocks": (6, "moderate_blocks"),
    "summary.compact_blocks": (7, "compact_blocks"),
    "summary.max_tokens": (700, "max_summary_tokens"),
}
# Keys whose effect has a test of its own, below or in a file of their room, by table.
OTHER_KEYS = {
    "": "extensions observers prices profile",
    "allocation": "adaptive by_category context_weight dialog_weight layout output_weight system_weight verbosity",
    "allocation.words.<language>": "analyse create question_marks request spaced",
    "bots.<name>": "requires_memory uses_tools",
    "budget": (
        "context_budget_mode context_dedupe_summary_against_memory context_history_max_words "
        "context_memory_max_words context_min_recent_messages context_summary_max_words "
        "context_total_max_words counter policy reserved_output_tokens trim_rule"
    ),
    "compat": "env",
    "context": "autoload_project_docs folder",
    "debug": "turn_log",
    "goals": "tool",
    "gpu": "probe watch_seconds",
    "history": "isolation labels",
    "history.owner_aliases": "<channel>",
    "journal": (
        "enabled folder include_errors include_files inject_latest_on_start interval_minutes llm "
        "max_entries_per_day redact_patterns summary_token_budget"
    ),
    "memory": (
        "allow_tools cold_start_tokens embedder enabled extract in_prompt index index_most_bytes index_paths "
        "index_tokens isolation llm merge min_relevance path profile_tokens provider redact_patterns write"
    ),
    "models.<alias>": (
        "adapter api context_window filename flash_attn key_env kv_type max_tokens model n_batch n_gpu_layers "
        "n_ubatch native_context_limit options parameters_billion path prices projector repo_id tensor_split "
        "tokenizer url"
    ),
    "pressure": (
        "compact_at_messages compact_at_tokens critical_fraction emergency_fraction journal_fraction "
        "low_water_messages notice strategy tier_targets warn_fraction"
    ),
    "price_table.<name>": "as_of least_tokens output per_million read source ttl_seconds write",
    "prompt": "clock folder mode",
    "session": "max_messages",
    "snapshots": "auto_fraction keep_all_hours keep_every_nth max max_age_days",
    "store": "adapter connections direct_url path retention_days schema tenant url",
    "summary": "interval_minutes llm min_input_tokens min_messages mode scheduler",
    "ui": "show_context_messages",
    "window": "default kv_type max min safety_fraction sizing vram_margin_mib",
}


def table(key: str, value: object) -> dict[str, Any]:
    """Return the settings that set one key."""
    first, _, rest = key.partition(".")
    return {first: table(rest, value) if rest else value}


def all_keys() -> set[str]:
    """Return every key there is, a model under the name <alias>."""
    return {".".join(key.path) for key in keys_of(Settings)}


# -- every key reaches the engine (Q-10) --------------------------------------------------------------------------


def test_every_key_has_a_test_that_it_reaches_the_engine() -> None:
    """A key that is added without a line in HISTORY_KEYS or OTHER_KEYS fails here (Q-10)."""
    others = {".".join(filter(None, (name, key))) for name, keys in OTHER_KEYS.items() for key in keys.split()}
    assert all_keys() == {*HISTORY_KEYS, *others}


@pytest.mark.parametrize("key", HISTORY_KEYS)
def test_history_key_reaches_the_session_when_it_is_set(key: str) -> None:
    """The session's settings have the value, and differ from the default in nothing else."""
    value, field = HISTORY_KEYS[key]
    changed, default = opened(table(key, value)).core.settings, opened({}).core.settings
    assert getattr(changed, field) == value
    others = [one.name for one in fields(HistorySettings) if getattr(changed, one.name) != getattr(default, one.name)]
    assert others == [field]


def test_every_history_setting_of_the_core_has_a_key() -> None:
    """Others follow from caps and window, the ladder stands below; eight belong to a strategy alone."""
    reached = {field for _, field in HISTORY_KEYS.values()}
    beside = {
        "cap",
        "policy_limit",
        "ladder",
        "calibrated_fraction",
        "category_weights",
        "labels",
        "layout",
        "one_user",
    }
    beside |= {field.metadata["core"] for field in fields(PriceEntry)} - {""}
    strategies = {"step_fraction", "user_low_fraction", "keep_fraction", "note_rate", "chain"}
    strategies |= {"fold_fraction", "level_fraction", "full_fraction", "least_worth", "fading_tokens"}
    strategies |= {"min_note_tokens"}
    assert {field.name for field in fields(HistorySettings)} == reached | beside | strategies


def test_caps_reach_the_session_when_they_are_set() -> None:
    """Before the first call as well as in it; without any there is none."""
    given = {"context_min_recent_messages": 7, "context_history_max_words": 90, "context_summary_max_words": 40}
    session = opened({"budget": {**given, "trim_rule": "squidbot-v2"}})
    assert session.core.settings.cap == HistoryCaps(90, 4500, 40, 7, reduces=False, pointer=10)
    assert session.core.settings.min_recent_messages == 7
    session.assemble("Hello", memory="likes tea", summary="a b c")
    assert session.core.settings.cap == HistoryCaps(90, 4495, 37, 7, reduces=False, pointer=10)
    assert opened({}).core.settings.cap is None


def test_rungs_reach_the_session_when_they_are_set() -> None:
    """Each in its own place; what is not set is as the core has it."""
    given = {
        "warn_fraction": 0.1,
        "journal_fraction": 0.2,
        "critical_fraction": 0.3,
        "emergency_fraction": 0.4,
        "notice": False,
        "compact_at_tokens": 5,
        "compact_at_messages": 6,
        "low_water_messages": 3,
    }
    assert set(given) == set(Ladder._fields)
    assert opened({"pressure": given}).core.settings.ladder == Ladder(0.1, 0.2, 0.3, 0.4, False, 5, 6, 3)  # noqa: FBT003  # in order
    assert opened({}).core.settings.ladder == Ladder()


def test_size_of_a_model_reaches_its_lease() -> None:
    """Unknown for any other model; the window's id is the same with and without it."""
    sized = opened({"models": {"small": {"parameters_billion": 7.6}}}, "small").window
    plain = opened({"models": {"small": {}}}, "small").window
    assert (sized.parameters_billion, plain.parameters_billion) == (7.6, None)
    assert sized.window_id == plain.window_id


def test_snapshot_keys_reach_the_session_when_they_are_set() -> None:
    """Each in its own place; what is not set is as the core has it."""
    given = {"max": 2, "auto_fraction": 0.5, "keep_all_hours": 1.5, "keep_every_nth": 3, "max_age_days": 7.0}
    assert opened({"snapshots": given}).core.retention == Retention(2, 0.5, 1.5, 3, 7.0)
    assert opened({}).core.retention == Retention()


def test_journal_keys_reach_the_journal_when_they_are_set(tmp_path: Path) -> None:
    """Each in its own place; what is not set is as document 003 has it (J-03)."""
    given = {
        "folder": f"{tmp_path}/days",
        "max_entries_per_day": 2,
        "include_files": False,
        "include_errors": False,
        "redact_patterns": ["door_code", "ACME-[0-9]+"],
    }
    with squidbot.load({"journal": given}) as engine:
        journal = engine.journal()
        told = journal.append(JournalEntry(0, "door_code: 7788, ACME-1", files_touched=("a.py",), errors=("e",)))
        assert told.entry == JournalEntry(0, "door_code: [redacted], [redacted]")
        journal.append(JournalEntry(0, "two"))
        with pytest.raises(JournalFullError):
            journal.append(JournalEntry(0, "three"))
    assert [one.name for one in (tmp_path / "days").glob("*.jsonl")] == ["1970-01-01.jsonl"]
    assert load_settings({}).settings.journal.rules == JournalRules()


def test_journal_pattern_that_is_none_is_refused() -> None:
    """With what is wrong with it."""
    with pytest.raises(ConfigError, match="not a regular expression"):
        squidbot.load({"journal": {"redact_patterns": ["["], "enabled": True}})


def test_job_keys_reach_the_jobs_when_they_are_set() -> None:
    """Each in its own place; what is not set is as the core has it."""
    given = {"mode": "planning", "min_messages": 7, "min_input_tokens": 8}
    with squidbot.load({"summary": given}) as engine:
        assert engine.wired.summary_settings() == SummarySettings("planning", 7, 8)
    with squidbot.load({}) as engine:
        assert engine.wired.summary_settings() == SummarySettings()


def test_strategy_reaches_the_session_when_it_is_set() -> None:
    """Two strategies differ in their high-water mark."""
    fast, default = opened({"pressure": {"strategy": "speed"}}), opened({})
    assert fast.core.settings.high_fraction < default.core.settings.high_fraction


def test_window_keys_reach_the_lease_when_they_are_set() -> None:
    """Window, safety share and reserve are the window's; its source says where the window came from."""
    window = opened(
        {"window": {"default": 9000, "safety_fraction": 0.5}, "budget": {"reserved_output_tokens": 777}}
    ).window
    assert (window.window_tokens, window.safety_fraction, window.reserved_output_tokens) == (9000, 0.5, 777)
    assert window.source == "global-config"
    assert opened({}).window.source == "default"


def test_model_keys_reach_the_lease_when_the_session_names_the_alias() -> None:
    """Window and longest answer are the model's; other models keep the default window (B-01)."""
    settings: dict[str, object] = {"models": {"qwen2.5:7b": {"context_window": 20_000, "max_tokens": 300}}}
    window = opened(settings, "qwen2.5:7b").window
    assert (window.window_tokens, window.reserved_output_tokens) == (20_000, 300)
    assert (window.model, window.source) == ("qwen2.5:7b", "model-definition")
    assert opened(settings, "another").window.window_tokens == 32_768


def test_model_tokenizer_counts_when_the_session_names_the_alias() -> None:
    """The model's own counter goes before `budget.counter` (P-07)."""
    settings: dict[str, object] = {"budget": {"counter": "chars4"}, "models": {"m": {"tokenizer": "bytes"}}}
    assert opened(settings, "m").window.counter == "bytes"
    assert opened(settings).window.counter == "chars4"


NO_FILE = "remove the key to keep sessions in memory @ {}"
UNTERMINATED = "missing ), unterminated subpattern at position 0 @ {}"
SIZES = "write 32000, 32k (32,000) or 32Ki (32,768)"
# -- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"budget": {"context_history_max_words": "x"}}, "must be a whole number, not 'x' @ {}"),
        ({"budget": {"counter": 3}}, "must be a string, not 3 @ {}"),
        ({"budget": {"policy": 1}}, "must be true or false, not 1 @ {}"),
        ({"window": {"default": True}}, "must be a whole number, not True @ {}"),
        ({"window": {"default": 1.5}}, "must be a whole number, not 1.5 @ {}"),
        ({"window": {"default": 0}}, "must be > 0, not 0 @ {}"),
        ({"budget": {"reserved_output_tokens": -1}}, "must be >= 0, not -1 @ {}"),
        ({"pressure": {"compact_at_fraction": 1.01}}, "must be above 0 and at most 1, not 1.01 @ {}"),
        ({"pressure": {"strategy": "fast"}}, "unknown 'fast', known: coherence, balanced, speed @ {}"),
        ({"history": {"scope": "all"}}, "unknown 'all', known: inline+summaries, inline, summaries, none @ {}"),
        ({"summary": {"mode": "poet"}}, "unknown 'poet', known: developer, planning, assistant, debugger @ {}"),
        ({"allocation": {"layout": "tier"}}, "unknown 'tier', known: none, tiers @ {}"),
        ({"allocation": {"verbosity": "chatty"}}, "unknown 'chatty', known: concise, balanced, detailed @ {}"),
        ({"summary": {"scheduler": "cron"}}, "unknown 'cron', known: thread, apscheduler, worker, none @ {}"),
        ({"summary": {"interval_minutes": 0}}, "must be above 0 and at most 525600, not 0 @ {}"),
        ({"summary": {"interval_minutes": 1e9}}, "must be above 0 and at most 525600, not 1000000000.0 @ {}"),
        ({"observers": "structlog"}, "must be a list of strings, not 'structlog' @ {}"),
        ({"extensions": [1]}, "must be a list of strings, not [1] @ {}"),
        ({"budget": 3}, "must be a table, not 3 @ {}"),
        ({"models": []}, "must be a table, not [] @ {}"),
        ({"window": {"sizing": "big"}}, f"unknown 'big', known: {SIZINGS} @ {{}}"),
        ({"window": {"kv_type": "f8"}}, f"unknown 'f8', known: {KV_TYPES} @ {{}}"),
        ({"window": {"vram_margin_mib": -1}}, "must be >= 0, not -1 @ {}"),
        ({"gpu": {"probe": 1}}, "must be a string, not 1 @ {}"),
        ({"store": {"adapter": ["x"]}}, "must be a string, not ['x'] @ {}"),
        ({"store": {"url": "agents"}}, "must be an address, such as postgresql://USER@HOST/DATABASE @ {}"),
        (
            {"store": {"url": "postgresql+psycopg://h/d"}},
            "must begin with postgresql://, not postgresql+psycopg:// @ {}",
        ),
        (
            {"store": {"url": "postgresql://h/d?password=x"}},
            "holds a password: set PGPASSWORD, or write it into ~/.pgpass @ {}",
        ),
        ({"store": {"schema": "a b"}}, "must be a name of a-z, 0-9 and _, at most 63 characters @ {}"),
        ({"store": {"path": ""}}, "must name a file, not ''; " + NO_FILE),
        (
            {"store": {"path": " "}},
            "must name a file, not ' '; remove the key to keep sessions in memory @ {}",
        ),
        ({"store": {"path": "\0bad"}}, "is not a path, it has a null character: '\\x00bad' @ {}"),
        ({"store": {"path": "\ud800"}}, r"is not a path, it has a lone surrogate: '\ud800' @ {}"),
        ({"debug": {"turn_log": "\ud800"}}, r"is not a path, it has a lone surrogate: '\ud800' @ {}"),
        (
            {"store": {"path": ":memory:"}},
            "must be a file name, not ':memory:'; remove the key to keep sessions in memory @ {}",
        ),
        (
            {"memory": {"path": ":memory:"}},
            "must be a file name, not ':memory:'; remove the key to keep sessions in memory @ {}",
        ),
        ({"memory": {"path": "a\0"}}, "is not a path, it has a null character: 'a\\x00' @ {}"),
        ({"journal": {"folder": "\0"}}, "is not a path, it has a null character: '\\x00' @ {}"),
        ({"window": {"default": 10**23}}, f"must be at most 999999999999, not {10**23} @ {{}}"),
        ({"window": {"default": float("nan")}}, "must be a whole number, not nan @ {}"),
        (
            {"budget": {"reserved_output_tokens": "-1k"}},
            "'-1k' is not a number of tokens; " + SIZES + " @ {}",
        ),
        (
            {"memory": {"redact_patterns": ["("]}},
            "redaction pattern '(' is not a regular expression: " + UNTERMINATED,
        ),
    ],
)
def test_load_settings_names_value_and_path_when_a_value_is_wrong(settings: dict[str, Any], message: str) -> None:
    """The whole message: what is wrong, what would be right, and the key with its path."""
    (first, inner), *_ = settings.items()
    key = f"{first}.{next(iter(inner))}" if isinstance(inner, dict) else first
    with pytest.raises(ConfigError) as caught:
        load_settings(settings)
    assert str(caught.value) == message.format(f"argument.{key}")


def test_tokens_may_be_written_as_a_word() -> None:
    """Wherever there is a number of them: "8k" is 8,000, "8Ki" 8,192, and 0 is what it was."""
    given: dict[str, dict[str, object]] = {
        "window": {"default": "32k", "min": "2Ki", "max": "1m"},
        "models": {"m": {"context_window": "8Ki", "max_tokens": "1k"}},
        "budget": {"reserved_output_tokens": "4k"},
        "history": {"keep_recent_tokens": "2k"},
        "pressure": {"compact_at_tokens": "0"},
        "summary": {"min_input_tokens": "1k"},
        "memory": {"index_tokens": "1k", "profile_tokens": "0"},
        "journal": {"summary_token_budget": "1k"},
    }
    settings = load_settings(given).settings
    assert (settings.window.default, settings.window.min, settings.window.max) == (32_000, 2_048, 1_000_000)
    assert (settings.model("m").context_window, settings.model("m").max_tokens) == (8_192, 1_000)
    assert (settings.budget.reserved_output_tokens, settings.history.keep_recent_tokens) == (4_000, 2_000)
    assert (settings.pressure.compact_at_tokens, settings.memory.profile_tokens) == (0, 0)
    assert settings.summary.min_input_tokens == 1_000
    assert (settings.memory.index_tokens, settings.journal.summary_token_budget) == (1_000, 1_000)
    with squidbot.load(given) as engine:
        assert engine.session("a", model="m").window.window_tokens == 8_192
        assert engine.session("a", window_tokens="9k").window.window_tokens == 9_000


WRONG_WINDOWS = [0, -5, True, 2.5, 1e23, 10**23, float("nan"), float("inf"), "x", "", [1], {}]


@pytest.mark.parametrize("window", WRONG_WINDOWS)
def test_a_window_that_is_none_is_refused_where_it_is_given(window: object) -> None:
    """By the name of the argument, in one line."""
    with squidbot.load({}) as engine, pytest.raises(ArgumentError, match=r"^window_tokens must be .*32k.*$"):
        engine.session("a", window_tokens=window)  # type: ignore[arg-type]  # what nobody checks


@pytest.mark.parametrize("session_id", ["", None, 5, b"a", "a" * 1025])
def test_an_id_that_is_none_is_refused_where_it_is_given(session_id: object) -> None:
    """Not when the store finds out, nor by a session that nobody can name."""
    with (
        squidbot.load({}) as engine,
        pytest.raises(ArgumentError, match=r"^session_id must be .* 1 to 1,024 characters"),
    ):
        engine.session(session_id)  # type: ignore[arg-type]  # what nobody checks


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("n_gpu_layers", -2, 'must be a number of layers, -1 (all), or "auto", not -2'),
        ("n_gpu_layers", "all", "must be a number of layers, -1 (all), or \"auto\", not 'all'"),
        ("n_gpu_layers", True, 'must be a number of layers, -1 (all), or "auto", not True'),
        ("tensor_split", 0.5, "must be a list of numbers, not 0.5"),
        ("tensor_split", [1, "x"], "must be a list of numbers, not [1, 'x']"),
        ("tensor_split", [0, 0], "must be numbers >= 0, one of them above 0, not [0, 0]"),
        ("tensor_split", [1, -1], "must be numbers >= 0, one of them above 0, not [1, -1]"),
        ("n_batch", 0, "must be > 0, not 0"),
        ("kv_type", "q8", f"unknown 'q8', known: {KV_TYPES}"),
        ("flash_attn", 1, "must be true or false, not 1"),
    ],
)
def test_load_settings_refuses_wrong_values_of_a_local_model(key: str, value: object, message: str) -> None:
    """What is wrong, what would be right, and the key with its path."""
    with pytest.raises(ConfigError) as caught:
        load_settings({"models": {"qwen2.5:7b": {key: value}}})
    assert str(caught.value) == f"{message} @ argument.models['qwen2.5:7b'].{key}"


# Each key of the document's ContextConfig with its companion's default, the key it stands for, and the value there.
CONTEXT_CONFIG = {
    "targetSize": (8192, "default", 8192),
    "minSize": (2048, "min", 2048),
    "maxSize": (131_072, "max", 131_072),
    "autoSize": (False, "sizing", "manual"),
    "vramBuffer": (1024, "vram_margin_mib", 1024),
    "kvQuantization": (False, "kv_type", "f16"),
}


@pytest.mark.parametrize("table", ["window", "context"])
def test_window_takes_the_names_of_document_004(table: str) -> None:
    """O-15: `interface ContextConfig`; its autoSize and kvQuantization are booleans, vramBuffer is in MB of 2^20 bytes.

    Its settings call the table `context`, ours is `window`: both take these names, and ours take them as values.
    """
    given = {name: value for name, (value, _, _) in CONTEXT_CONFIG.items()}
    loaded = load_settings({table: given})
    for _, key, value in CONTEXT_CONFIG.values():
        assert getattr(loaded.settings.window, key) == value
        assert loaded.sets("window", key)
    enabled = load_settings({table: {**given, "autoSize": True, "kvQuantization": True}}).settings.window
    assert (enabled.sizing, enabled.kv_type) == ("one_tier_below", "q8_0")
    words = load_settings({table: {**given, "autoSize": "max_safe", "kvQuantization": "q4_0"}}).settings.window
    assert (words.sizing, words.kv_type) == ("max_safe", "q4_0")
    assert load_settings({"models": {"m": {"kv_type": True}}}).settings.model("m").kv_type == "q8_0"
    assert opened({table: {"targetSize": 4096}}).window.source == "global-config"


# Document 004's tiers: number, label, sizes, and what the model gets of each.
TIERS_004 = [
    (1, "Minimal", {"2K": 1700, "4K": 3400}),
    (2, "Basic", {"8K": 6800}),
    (3, "Standard", {"16K": 13_600}),
    (4, "Premium", {"32K": 27_200}),
    (5, "Ultra", {"64K": 54_400, "128K": 108_800}),
]
# Its budgets: tokens of summaries, what they leave of 13,600 less 1,000 of system text, and the trigger. It prints
# 10,400 and 8,320 behind the first compaction; 13,600 - 1,000 - 1,200 is 11,400.
BUDGETS_004 = [((), 12_600, 10_080), ((1200,), 11_400, 9_120), ((600, 1200), 10_800, 8_640)]
# Its levels of memory, each with the shares that it names.
MEMORY_004 = {"NORMAL": (0, 69), "WARNING": (70, 84), "CRITICAL": (85, 95), "EMERGENCY": (96, 100)}
EVENTS_004 = """
    started stopped config-updated tier-changed mode-changed
    low-memory memory-warning memory-critical memory-emergency
    compressed compression-skipped compression-error checkpoint-created checkpoint-aged
    snapshot-created snapshot-restored snapshot-error
"""


def test_every_example_of_document_004_is_taken_as_it_stands(tmp_path: Path) -> None:
    """O-02, O-03, O-06, O-11, O-13, O-14, O-15, O-16: its settings, tiers, budgets, usage, levels, modes and events.

    "User selects: 16K. Ollama limit: 13,600 (85%). Current usage: 8,500 tokens. Percentage: 62%. Available: 5,100".
    """
    given = "".join(f"{name} = {str(value).lower()}\n" for name, (value, _, _) in CONTEXT_CONFIG.items())
    for number, label, sizes in TIERS_004:
        for size, limit in sizes.items():
            path = tmp_path / f"{size}.toml"
            mode = "assistant" if number >= 4 else "debugger"
            table = given.replace("targetSize = 8192", f'targetSize = "{size.lower()}"')
            path.write_text(f'profile = "ollm"\n[prompt]\nmode = "{mode}"\n[context]\n{table}', encoding="utf-8")
            with squidbot.load(path) as engine:
                session = engine.session("s")
                report = session.assemble("Build a REST API with authentication").report
            tier = tier_of(session.window.window_tokens)
            assert (tier.number, tier.label) == (number, label)
            assert report.usage.max_tokens == limit
            assert session.mode == mode
    usage = ContextUsage(8_500, TIERS_004[2][2]["16K"])
    assert (usage.percentage, usage.available_tokens) == (62, 5_100)
    for summaries, available, trigger in BUDGETS_004:
        room, notes = Cost(12_600, 12_600), Cost(sum(summaries), sum(summaries))
        assert room.less(notes).bound == available
        assert pressure_of(notes.plus(Cost(trigger, trigger)), notes, room) == 0.8
    for name, shares in MEMORY_004.items():
        assert {level(share, 100).name for share in shares} == {name}
    assert set(EVENTS_004.split()) <= {value for value in vars(events).values() if isinstance(value, str)}


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"targetSize": 8192}, "unknown key targetSize; did you mean window.targetSize?"),
        ({"context": {"targetSize": True}}, "must be a whole number, not True @ argument.window.default"),
        (
            {"context": {"targetSize": "16K"}},
            "'16K' is not a number of tokens; write 32000, 32k (32,000) or 32Ki (32,768)",
        ),
    ],
)
def test_what_is_not_an_example_of_document_004_says_what_to_write(table: dict[str, object], sentence: str) -> None:
    """O-15: without a table, with another type, and a K that may be 1,000 or 1,024 (C13)."""
    with pytest.raises(ConfigError) as caught:
        load_settings(table)
    assert sentence in str(caught.value)


def test_caps_stand_in_a_table_agents_as_in_document_001() -> None:
    """Q-01: "In `AgentConfig`, add fields": its table has the caps; a wrong name is told with the right."""
    given = {"context_history_max_words": 900, "context_total_max_words": 1000, "context_min_recent_messages": 3}
    loaded = load_settings({"agents": given})
    assert (loaded.settings.budget.caps.history, loaded.settings.budget.caps.min_recent_messages) == (900, 3)
    assert loaded.policy
    with pytest.raises(ConfigError, match=r"unknown key context_words, known: context_.*@ argument\.agents"):
        load_settings({"agents": {"context_words": 4}})


def test_compression_and_snapshots_take_the_names_of_document_004() -> None:
    """O-15: `preserveRecent` 2048, `summaryMaxTokens` 1024, `autoThreshold` 0.8: its tables, beside ours."""
    given = {"compression": {"preserveRecent": 2048, "summaryMaxTokens": 1024}, "snapshot": {"autoThreshold": 0.8}}
    settings = load_settings({**given, "snapshots": {"max": 3}}).settings
    assert (settings.history.keep_recent_tokens, settings.summary.max_tokens) == (2048, 1024)
    assert (settings.snapshots.auto_fraction, settings.snapshots.max) == (0.8, 3)
    assert opened(given).core.settings.level_tokens(Representation.DETAILED, 13_600) == 1024


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"compression": {"preserveRecent": 9}, "history": {"keep_recent_tokens": 9}},
            "preserveRecent and history.keep_recent_tokens are the same setting; keep one @ argument.compression",
        ),
        ({"snapshot": {"autoThreshold": 7}}, "@ argument.snapshots.auto_fraction"),
        (
            {"context": {"minSize": 9}, "window": {"min": 9}},
            "minSize and window.min are the same setting; keep one @ argument.context",
        ),
        (
            {"compression": {"strength": 7}},
            "unknown key strength, known: preserveRecent, summaryMaxTokens @ argument.compression",
        ),
    ],
)
def test_names_of_document_004_are_refused_as_our_own_are(given: dict[str, object], message: str) -> None:
    """A key under two names, a value out of its range, and one that nobody has."""
    with pytest.raises(ConfigError) as caught:
        load_settings(given)
    assert message in str(caught.value)


def test_memory_tools_and_journal_take_the_names_of_document_003(tmp_path: Path) -> None:
    """P-11, J-03: `memory: storage_path`, `tools.allow_memory_tools`, `token_threshold_fraction` and others."""
    text = """
[memory]
provider = "sqlite"
storage_path = "memory_db"
embedding_model = "onnxruntime:minilm"
[memory.providers.sqlite]
database_file = "penguin_memory.db"
[tools]
allow_memory_tools = true
[journal]
token_threshold_fraction = 0.7
"""
    (tmp_path / "squidbot.toml").write_text(text, encoding="utf-8")
    loaded = load_settings(tmp_path / "squidbot.toml")
    memory = loaded.settings.memory
    assert (memory.provider, memory.path) == ("sqlite3", "memory_db/penguin_memory.db")
    assert (memory.embedder, memory.allow_tools) == ("onnxruntime:minilm", True)
    assert loaded.settings.pressure.journal_fraction == 0.7
    assert loaded.named["memory", "path"] == "squidbot.toml:4"
    assert load_settings({"memory": {"storage_path": "db"}}).settings.memory.path == "db/penguin_memory.db"
    alone = load_settings({"memory": {"providers": {"sqlite": {"database_file": "a.db"}}}})
    assert alone.settings.memory.path == "memory_db/a.db"
    assert opened({"journal": {"token_threshold_fraction": 0.2}}).core.settings.ladder.journal_fraction == 0.2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"memory": {"embedding_model": "sentence-transformers/all-MiniLM-L6-v2"}},
            'docs/memory.md shows, and write embedder = "onnxruntime:FOLDER" @ argument.memory.embedder',
        ),
        (
            {"memory": {"storage_path": "${paths.memory_db}"}},
            "write the folder itself, not '${paths.memory_db}' @ argument.memory.storage_path",
        ),
        ({"memory": {"storage_path": 3}}, "must be a path, not 3 @ argument.memory.storage_path"),
        (
            {"memory": {"path": "a.db", "storage_path": "db"}},
            "storage_path and path are the same setting; keep path @ argument.memory",
        ),
        ({"memory": {"providers": {"faiss": {}}}}, "unknown key providers; did you mean provider? @ argument.memory"),
        ({"tools": {"allow": True}}, "unknown key allow, known: allow_memory_tools @ argument.tools"),
        (
            {"journal": {"token_threshold_fraction": 0.7}, "pressure": {"journal_fraction": 0.7}},
            "token_threshold_fraction and pressure.journal_fraction are the same setting; keep one @ argument.journal",
        ),
    ],
)
def test_names_of_document_003_that_mean_nothing_say_what_to_write(given: dict[str, object], message: str) -> None:
    """P-11, J-03: what squidbot can't take as it is."""
    with pytest.raises(ConfigError) as caught:
        load_settings(given)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("window", "message"),
    [
        (
            {"targetSize": 4096, "default": 8192},
            "targetSize and default are the same setting; keep one @ argument.window",
        ),
        ({"min": 9000, "max": 8000}, "min must be at most max, not 9000 > 8000 @ argument.window"),
        (
            {"autoSize": 3},
            f"unknown 3, known: {SIZINGS} @ argument.window.sizing",
        ),
        (
            {"kvQuantization": "yes"},
            f"unknown 'yes', known: {KV_TYPES} @ argument.window.kv_type",
        ),
    ],
)
def test_load_settings_refuses_windows_that_contradict_themselves(window: dict[str, object], message: str) -> None:
    """A key under two names, and a range that has no number in it."""
    with pytest.raises(ConfigError) as caught:
        load_settings({"window": window})
    assert str(caught.value) == message


OPTIONS = [
    ({"store": True}, "store keeps the history at the provider; unset it to use squidbot"),
    ({"previous_response_id": "r"}, "previous_response_id keeps the history at the provider; unset it"),
    ({"conversation": {"id": "c"}}, "conversation keeps the history at the provider; unset it"),
    ({"context_management": {"edits": []}}, "context_management has the provider leave parts of the history out"),
    ({"truncation": "auto"}, "truncation has the provider leave parts of the history out"),
    ({"max_tokens": 9}, "max_tokens can't be an option: set max_tokens of the model"),
    ({"messages": []}, "messages can't be an option: messages come from the session"),
    ({"stop": float("nan")}, "stop has a value that no request can hold: nan"),
    ({"day": {"one": date(2026, 1, 1)}}, "day has a value that no request can hold: "),
    ("high", "must be a table, not 'high'"),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS)
def test_load_settings_refuses_options_that_would_break_a_conversation(options: object, message: str) -> None:
    """What the provider would keep or cut, what requests say anyway, and what is no JSON."""
    with pytest.raises(ConfigError) as caught:
        load_settings({"models": {"gpt": {"options": options}}})
    said = str(caught.value)
    assert said.startswith(message)
    assert said.endswith(" @ argument.models['gpt'].options")
    assert "\n" not in said


def test_load_settings_takes_options_as_they_are_and_tells_where_each_is_from(tmp_path: Path) -> None:
    """Switches that are off are none; the origin of an option is its own line."""
    path = tmp_path / PATH
    path.write_text(
        '[models.gpt.options]\ntemperature = 0.5\nstore = false\ntruncation = "disabled"\n'
        '[models.gpt.options.reasoning]\neffort = "high"\n',
        encoding="utf-8",
    )
    loaded = load_settings(path)
    given = {"temperature": 0.5, "store": False, "truncation": "disabled", "reasoning": {"effort": "high"}}
    assert loaded.settings.model("gpt").options == given
    places = {origin.key: (origin.value, origin.source) for origin in loaded.origins() if ".options." in origin.key}
    assert places == {
        "models.gpt.options.temperature": (0.5, "squidbot.toml:2"),
        "models.gpt.options.store": (False, "squidbot.toml:3"),
        "models.gpt.options.truncation": ("disabled", "squidbot.toml:4"),
        "models.gpt.options.reasoning.effort": ("high", "squidbot.toml:6"),
    }


@pytest.mark.parametrize(
    ("window", "given", "low", "pinned"),
    [
        (4096, {}, 0.85, 0.05),  # the first tier names no target
        (8192, {"compact_at_fraction": 0.8}, 0.7, 0.1),  # V: its target equals its trigger
        (16_384, {}, 0.7, 0.15),
        (32_768, {}, 0.6, 0.25),
        (131_072, {"compact_at_fraction": 0.8}, 0.65, 0.3),
        (131_072, {"low_water_fraction": 0.2}, 0.2, 0.3),
    ],
)
def test_low_water_and_the_ceiling_of_pins_are_the_tiers_where_that_is_set(
    window: int, given: dict[str, object], low: float, pinned: float
) -> None:
    """O-05, C4: at least .10 below the mark; what is said by a key of its own stays."""
    engine = squidbot.load({"pressure": {"tier_targets": True, **given}})
    settings = engine.session("s", window_tokens=window).core.settings
    assert (round(settings.low_fraction, 9), settings.pinned_fraction) == (low, pinned)
    assert squidbot.load({}).session("s", window_tokens=window).core.settings.pinned_fraction == 0


@pytest.mark.parametrize(
    ("window", "counts", "sizes", "merged"),
    [
        (4_000, (0, 0, 0), (300, 150, 75), 300),  # rollover: one note on the whole session
        (8_000, (1, 0, 0), (700, 300, 150), 500),  # smart: one summary, and that note
        (16_000, (1, 1, 1), (1024, 600, 300), 150),  # progressive: by age
        (32_000, (4, 3, 3), (1024, 1000, 300), 300),  # structured: several of each age
        (128_000, (5, 5, 5), (1024, 900, 300), 1024),  # ultra: more of them, older ones merged
    ],
)
def test_summaries_are_as_many_and_as_large_as_the_tier_has_them(
    window: int, counts: tuple[int, ...], sizes: tuple[int, ...], merged: int
) -> None:
    """O-05: "Compression: Rollover, Smart, Progressive, Structured, Ultra", "Checkpoints: 0, 1, 3, 10, 15".

    Number and size are the style; `summaryMaxTokens` 1024 bounds the size. The size is what a summary's prompt allows.
    """
    settings = opened({"profile": "ollm", "window": {"default": window}}).core.settings
    assert settings.layout is not None
    limit = settings.layout.total
    ranks = settings.ranks()
    levels = (Representation.DETAILED, Representation.MODERATE, Representation.COMPACT)
    assert tuple(map(ranks.count, levels)) == counts
    assert sum(counts) == len(ranks)
    assert tuple(settings.level_tokens(level, limit) for level in levels) == sizes
    assert settings.merged_tokens(limit) == merged


def test_parts_have_shares_by_tier_where_that_is_set() -> None:
    """O-04, C12: with 15 % for the answer where nothing is said of it; what is said by a key of its own stays."""
    engine = squidbot.load({"allocation": {"layout": "tiers"}, "summary": {"detailed_blocks": 2}})
    session = engine.session("s", window_tokens=32_000)
    settings = session.core.settings
    assert settings.layout is not None
    assert (session.window.reserved_output_tokens, settings.layout.total) == (4_800, 27_200)
    assert (settings.detailed_blocks, settings.moderate_blocks, settings.compact_blocks) == (2, 3, 3)
    given: list[tuple[dict[str, object], int]] = [
        ({"allocation": {"layout": "tiers"}, "budget": {"reserved_output_tokens": 700}}, 700),
        ({"allocation": {"layout": "none"}}, 4_096),
        ({"allocation": {"layout": "tiers", "adaptive": True}}, 11_200),
        ({"profile": "ollm"}, 4_800),
    ]
    for one, reserve in given:
        assert squidbot.load(one).session("s", window_tokens=32_000).window.reserved_output_tokens == reserve
    assert squidbot.load({}).session("s", window_tokens=32_000).core.settings.layout is None


@pytest.mark.parametrize("most", [0, 80])
def test_load_settings_refuses_a_low_water_in_messages_that_is_none(most: int) -> None:
    """It lies below the mark in messages, which has to be set with it."""
    with pytest.raises(ConfigError, match=r"^low_water_messages must be below compact_at_messages, not 80 >= \d+ @"):
        load_settings({"pressure": {"low_water_messages": 80, "compact_at_messages": most}})


def test_load_settings_names_the_known_keys_when_one_is_unknown() -> None:
    """A misspelt key is refused, in a table and at the top."""
    with pytest.raises(ConfigError) as caught:
        load_settings({"store": {"file": "x.db"}})
    known = "path, url, adapter, direct_url, schema, tenant, connections, retention_days"
    assert str(caught.value) == f"unknown key file, known: {known} @ argument.store"
    with pytest.raises(ConfigError, match=r"unknown key budgets; did you mean budget\? @ argument$"):
        load_settings({"budgets": {}})


def test_load_settings_tells_all_faults_when_there_are_several() -> None:
    """One line for each of them."""
    with pytest.raises(ConfigError) as caught:
        load_settings({"window": {"default": "x"}, "budget": {"counter": 1, "policy": "yes"}})
    assert len(str(caught.value).splitlines()) == 3


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({"context_memory_max_words": 0}, "agents.context_memory_max_words must be > 0, not 0"),
        ({"context_min_recent_messages": -1}, "agents.context_min_recent_messages must be > 0, not -1"),
        ({"context_budget_mode": "chars"}, "agents.context_budget_mode must be 'words' or 'tokens', not 'chars'"),
        (
            {"context_total_max_words": 2499},
            "agents.context_total_max_words must be >= agents.context_history_max_words, not 2499 < 2500",
        ),
    ],
)
def test_load_settings_refuses_caps_in_their_own_words(budget: dict[str, object], message: str) -> None:
    """Q-02: the messages of document 001, with our path behind them."""
    with pytest.raises(ConfigError) as caught:
        load_settings({"budget": budget})
    assert str(caught.value) == f"{message} @ argument.budget"


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4), st.lists, max_leaves=4)
)
def test_load_settings_loads_or_raises_config_error_whatever_a_value_is(value: object) -> None:
    """No foreign exception reaches the user, wherever a value stands."""
    for key in (
        "window",
        "window.default",
        "models",
        "models.m",
        "models.m.prices",
        "models.m.options",
        "models.m.options.x",
        "budget.counter",
        "observers",
        "x",
    ):
        try:
            loaded = load_settings(table(key, value))
        except ConfigError as error:
            assert "@ argument" in str(error)  # noqa: PT017  # either outcome is right, and each is checked
        else:
            assert isinstance(loaded, Loaded)


# -- files ----------------------------------------------------------------------------------------------------------


def test_load_settings_reads_the_file_of_the_current_folder_when_none_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """squidbot.toml is found, and its name stands in errors as in the origins of its values."""
    monkeypatch.chdir(tmp_path)
    assert load_settings().source == "default"
    (tmp_path / PATH).write_text("[window]\ndefault = 4096\n", encoding="utf-8")
    loaded = load_settings()
    assert (loaded.settings.window.default, loaded.source, loaded.folder) == (4096, PATH, tmp_path)
    (tmp_path / PATH).write_text("[window]\ndefault = [4096]\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_settings()
    assert str(caught.value) == "must be a whole number, not [4096] @ squidbot.toml.window.default (line 2)"


@pytest.mark.parametrize("content", [b"[window\n", b"\xff\xfe[window]", b"window = 1\nwindow = 2\n"])
def test_load_settings_names_the_file_when_it_is_no_toml(tmp_path: Path, content: bytes) -> None:
    """Broken syntax, another encoding, a key twice."""
    file = tmp_path / PATH
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=r" @ squidbot\.toml$"):
        load_settings(file)


def test_load_settings_names_the_file_when_it_is_not_there(tmp_path: Path) -> None:
    """A file that was named must exist."""
    with pytest.raises(ConfigError) as caught:
        load_settings(tmp_path / "other.toml")
    assert str(caught.value) == f"cannot read it: No such file or directory @ {tmp_path / 'other.toml'}"


def test_relative_paths_are_relative_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the current folder is; "~" is the user's home."""
    folder = tmp_path / "conf"
    folder.mkdir()
    (folder / PATH).write_text("[store]\npath = 'a.db'\n", encoding="utf-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    loaded = load_settings(folder / PATH)
    assert loaded.absolute("a.db") == str(folder / "a.db")
    assert loaded.absolute("~/a.db") == str(tmp_path / "a.db")


# -- where a value comes from -------------------------------------------------------------------------------------


def test_origins_name_the_source_of_every_value() -> None:
    """What is set says where; the rest is default."""
    settings = {"window": {"default": 32_768}, "models": {"qwen2.5:7b": {"context_window": 8192}}, "observers": []}
    origins = {key: (value, source) for key, value, source in load_settings(settings).origins()}
    assert origins["window.default"] == (32_768, "argument")
    assert origins['models."qwen2.5:7b".context_window'] == (8192, "argument")
    assert origins['models."qwen2.5:7b".max_tokens'] == (None, "default")
    assert origins["observers"] == ((), "argument")
    assert origins["budget.context_total_max_words"] == (4500, "default")


@pytest.mark.parametrize(
    ("budget", "policy"),
    [
        ({}, False),
        ({"counter": "bytes"}, False),
        ({"context_total_max_words": 4500}, True),
        ({"context_total_max_words": 4500, "policy": False}, False),
        ({"policy": True}, True),
    ],
)
def test_policy_is_on_when_asked_for_or_when_a_cap_is_set(budget: dict[str, object], policy: bool) -> None:  # noqa: FBT001
    """C7: `budget.policy` decides; where it says nothing, any context_ key does."""
    assert load_settings({"budget": budget}).policy is policy
