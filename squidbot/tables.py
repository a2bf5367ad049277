"""The tables of squidbot.toml as frozen settings: a class for each, a field for each key.

What a key does stands in docs/configuration.md. None means: as the strategy, the counter or the model has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import attrs

from squidbot.checks import (
    Amount,
    Api,
    Extract,
    GpuLayers,
    Isolated,
    KvType,
    Lifetime,
    Minutes,
    Mode,
    Names,
    Options,
    Portion,
    Scheduler,
    Scope,
    Share,
    Shares,
    Sizing,
    Strategy,
    Tokens,
    Variable,
    Verbosity,
    Whole,
)
from squidbot.core.budget.caps import Caps
from squidbot.core.budget.complexity import WordLists
from squidbot.core.snapshots import Retention
from squidbot.prices import Entry

if TYPE_CHECKING:
    from squidbot.core.budget.allocate import Verbosity as Level

__all__ = [
    "Allocation",
    "Budget",
    "Compat",
    "Gpu",
    "History",
    "Memory",
    "Model",
    "Pressure",
    "Prices",
    "Prompt",
    "Settings",
    "Snapshots",
    "Store",
    "Summary",
    "Window",
    "Words",
]

# Where neither the model nor the user names a window (C10).
WINDOW_TOKENS = Tokens(32_768)
# Decisions, section 11; no model is trained for less than 2,048.
LEAST_WINDOW_TOKENS, MOST_WINDOW_TOKENS = Tokens(2_048), Tokens(131_072)
# 1 to 2 GB by B-06: for what runtimes take outside of the buffers that can be computed.
MARGIN_MIB = Whole(1_536)
# The cooldown of the memory events: more often nothing could be told (decisions, section 8).
WATCH_SECONDS = Amount(30)
SIZING, KV_TYPE, ALL_LAYERS, NO_SHARES = Sizing("max_safe"), KvType("f16"), GpuLayers(-1), Shares(())
STRATEGY = Strategy("balanced")
VERBOSITY = Verbosity("balanced")
SCOPE = Scope("inline+summaries")
# B-40: every 15 to 30 minutes.
INTERVAL_MINUTES = Minutes(30)
SCHEDULER = Scheduler("thread")
# The core's own (decisions.md, section 11).
KEEPING = Retention()
SNAPSHOTS_MAX, SNAPSHOTS_NTH = Whole(KEEPING.most_named), Whole(KEEPING.keep_every_nth)
SNAPSHOTS_AUTO = Portion(KEEPING.auto_fraction)
SNAPSHOTS_HOURS, SNAPSHOTS_DAYS = Amount(KEEPING.keep_all_hours), Amount(KEEPING.most_days)
NO_NAMES = Names(())
# 1.3 million words; what is longer is data.
INDEX_BYTES = Whole(8 << 20)
# Decisions, section 11; B-33.
ISOLATION, MIN_RELEVANCE = Isolated("bot"), Portion(0.3)
MEMORY_INDEX, MEMORY_PROFILE, MEMORY_COLD_START = Whole(200), Whole(300), Whole(200)


@attrs.frozen
class Window:
    """`[window]`: the window of sessions whose model says nothing else, and how that of local models is sized."""

    default: Tokens = WINDOW_TOKENS
    safety_fraction: Share | None = None
    sizing: Sizing = SIZING
    min: Tokens = LEAST_WINDOW_TOKENS
    max: Tokens = MOST_WINDOW_TOKENS
    vram_margin_mib: Whole = MARGIN_MIB
    kv_type: KvType = KV_TYPE


@attrs.frozen
class Gpu:
    """`[gpu]`: how devices are looked for, and how often while a model is open."""

    probe: str = "auto"
    watch_seconds: Amount = WATCH_SECONDS


@attrs.frozen
class Prices:
    """`[prices]`: what tokens cost, an uncached input token being 1, and how long a provider keeps a cached prefix.

    What is None is as in the entry of the price table that `entry` names. `prices = "NAME"` is short for that.
    """

    entry: str | None = None
    read: Amount | None = None
    write: Amount | None = None
    output: Amount | None = None
    ttl_seconds: Lifetime | None = None
    least_tokens: Whole | None = None


@attrs.frozen
class Model:
    """`[models.<alias>]`: one model; the alias is what `Engine.session` is given."""

    context_window: Tokens | None = None
    max_tokens: Tokens | None = None
    native_context_limit: Tokens | None = None
    tokenizer: str | None = None
    parameters_billion: Amount | None = None
    adapter: str | None = None
    path: str | None = None
    repo_id: str | None = None
    filename: str | None = None
    projector: str | None = None
    model: str | None = None
    url: str | None = None
    api: Api | None = None
    key_env: Variable | None = None
    options: Options = attrs.Factory(lambda: Options({}))
    n_gpu_layers: GpuLayers = ALL_LAYERS
    n_batch: Tokens | None = None
    n_ubatch: Tokens | None = None
    kv_type: KvType | None = None
    kv_type_v: KvType | None = None
    flash_attn: bool = True
    tensor_split: Shares = NO_SHARES
    prices: Prices | None = None


@attrs.frozen
class Budget:
    """`[budget]`: how tokens are counted, the room for the answer, and the caps of document 001 by their own names."""

    counter: str = "classes"
    reserved_output_tokens: Whole | None = None
    policy: bool | None = None
    context_budget_mode: str = "words"
    context_memory_max_words: int = 300
    context_summary_max_words: int = 500
    context_history_max_words: int = 2500
    context_total_max_words: int = 4500
    context_min_recent_messages: int = 2
    context_dedupe_summary_against_memory: bool = True

    @property
    def caps(self) -> Caps:
        """The caps as the core takes them.

        Raises:
            ConfigError: a cap is out of its range.
        """
        return Caps(
            memory=self.context_memory_max_words,
            summary=self.context_summary_max_words,
            history=self.context_history_max_words,
            total=self.context_total_max_words,
            min_recent_messages=self.context_min_recent_messages,
            unit=self.context_budget_mode,  # type: ignore[arg-type]  # Caps refuses what is no unit, in its own words
            dedupe=self.context_dedupe_summary_against_memory,
        )


@attrs.frozen
class Words:
    """`[allocation.words.<language>]`: by which words and marks of a language a question is known for a large one."""

    create: Names = NO_NAMES
    analyse: Names = NO_NAMES
    request: Names = NO_NAMES
    question_marks: str = "?"
    spaced: bool = True

    @property
    def lists(self) -> WordLists:
        """The same as the core takes it."""
        create, analyse, request = (frozenset(map(str.lower, one)) for one in (self.create, self.analyse, self.request))
        return WordLists(create, analyse, request, self.question_marks, self.spaced)


@attrs.frozen
class Allocation:
    """`[allocation]`: how much room an answer gets, by how much its question asks for."""

    adaptive: bool = False
    verbosity: Verbosity = VERBOSITY
    words: dict[str, Words] = attrs.Factory(dict)

    @property
    def level(self) -> Level:
        """The verbosity as the core takes it."""
        return cast("Level", self.verbosity)


@attrs.frozen
class Prompt:
    """`[prompt]`: the system text of a mode, and where the user's own ones are."""

    mode: str = "off"
    folder: str = ""


@attrs.frozen
class Pressure:
    """`[pressure]`: when history gives way, and how far."""

    strategy: Strategy = STRATEGY
    compact_at_fraction: Share | None = None
    low_water_fraction: Portion | None = None
    patience: Amount | None = None
    min_saving_fraction: Portion | None = None
    backoff_seconds: Amount | None = None
    warn_fraction: Portion | None = None
    journal_fraction: Portion | None = None
    critical_fraction: Portion | None = None
    emergency_fraction: Portion | None = None
    notice: bool | None = None
    compact_at_tokens: Whole | None = None
    compact_at_messages: Whole | None = None


@attrs.frozen
class History:
    """`[history]`: what stays verbatim."""

    scope: Scope = SCOPE
    keep_fraction: Portion | None = None
    slim_fraction: Portion | None = None
    user_verbatim_fraction: Portion | None = None
    user_low_fraction: Portion | None = None
    birth_fraction: Portion | None = None
    step_fraction: Portion | None = None


@attrs.frozen
class Summary:
    """`[summary]`: where session blocks end, how much of the room notes take, and which model writes summaries."""

    gap_seconds: Amount | None = None
    notes_fraction: Portion | None = None
    note_rate: Portion | None = None
    chain: bool | None = None
    fold_fraction: Portion | None = None
    detailed_blocks: Whole | None = None
    moderate_blocks: Whole | None = None
    compact_blocks: Whole | None = None
    level_fraction: Portion | None = None
    min_note_tokens: Whole | None = None
    llm: str | None = None
    mode: Mode | None = None
    min_messages: Whole | None = None
    min_input_tokens: Whole | None = None
    source_tokens: Tokens | None = None
    backoff_seconds: Amount | None = None
    scheduler: Scheduler = SCHEDULER
    interval_minutes: Minutes = INTERVAL_MINUTES


@attrs.frozen
class Snapshots:
    """`[snapshots]`: when a restore point is made unasked, and which are kept."""

    max: Whole = SNAPSHOTS_MAX
    auto_fraction: Portion = SNAPSHOTS_AUTO
    keep_all_hours: Amount = SNAPSHOTS_HOURS
    keep_every_nth: Whole = SNAPSHOTS_NTH
    max_age_days: Amount = SNAPSHOTS_DAYS

    @property
    def retention(self) -> Retention:
        """The same as the core takes it."""
        return Retention(self.max, self.auto_fraction, self.keep_all_hours, self.keep_every_nth, self.max_age_days)


@attrs.frozen
class Store:
    """`[store]`: where sessions are kept. Without a path, and without an adapter: in memory."""

    path: str = ""
    adapter: str | None = None


@attrs.frozen
class Memory:
    """`[memory]`: durable facts, beyond sessions."""

    enabled: bool = True
    provider: str = "auto"
    path: str = ""
    isolation: Isolated = ISOLATION
    min_relevance: Portion = MIN_RELEVANCE
    write: bool = True
    in_prompt: bool = True
    index_tokens: Whole = MEMORY_INDEX
    profile_tokens: Whole = MEMORY_PROFILE
    cold_start_tokens: Whole = MEMORY_COLD_START
    extract: Extract | None = None
    llm: str | None = None
    merge: bool = False
    embedder: str = "none"
    index: str = "auto"
    redact_names: Names | None = None
    redact_patterns: Names = NO_NAMES
    index_paths: Names = NO_NAMES
    index_most_bytes: Whole = INDEX_BYTES


@attrs.frozen
class Compat:
    """`[compat]`: how other systems are met."""

    env: bool = False


@attrs.frozen
class Settings:
    """All of squidbot.toml."""

    window: Window = Window()
    gpu: Gpu = Gpu()
    models: dict[str, Model] = attrs.Factory(dict)
    prices: Prices = Prices()
    price_table: dict[str, Entry] = attrs.Factory(dict)
    budget: Budget = Budget()
    allocation: Allocation = Allocation()
    prompt: Prompt = Prompt()
    pressure: Pressure = Pressure()
    history: History = History()
    summary: Summary = Summary()
    snapshots: Snapshots = Snapshots()
    memory: Memory = Memory()
    store: Store = Store()
    observers: Names = NO_NAMES
    extensions: Names = NO_NAMES
    compat: Compat = Compat()

    def model(self, alias: str) -> Model:
        """Return what is known of a model; nothing but defaults for one that is not named."""
        return self.models.get(alias, Model())
