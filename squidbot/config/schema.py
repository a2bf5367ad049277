"""Every setting of squidbot.toml: name, type, default, one line of doc, and its other names.

A class is a table of the file, a field is a key. The type of a key defines its values and unit. `key` is for the
settings that a user may want, `expert` for all others; None means that a key is not set. The settings objects, the
errors, `squidbot config` and the tables of docs/configuration.md come from this file: run `python docs/tables.py` after
you change a key.
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeVar, get_args, get_origin

from squidbot.config.checks import (
    AdapterName,
    Amount,
    Bytes,
    CacheType,
    Connections,
    Count,
    Day,
    Days,
    FilePath,
    Fraction,
    Hours,
    Layers,
    Lifetime,
    LogFile,
    MiB,
    Minutes,
    Mode,
    Names,
    Options,
    Patterns,
    SchemaName,
    Seconds,
    Share,
    Shares,
    Sized,
    StoreFile,
    StoreUrl,
    Tokens,
    TokensOrZero,
    Variable,
    Vectors,
    inner,
)
from squidbot.core.budget import PolicyCaps, TrimRule, Verbosity, WordLists
from squidbot.core.errors import ConfigError
from squidbot.core.journal import JournalRules
from squidbot.core.memories import HistoryIsolation, Isolation, Scope
from squidbot.core.messages import Labels
from squidbot.core.transcript.snapshots import Retention

Made = TypeVar("Made")


def key(  # noqa: PLR0913  # the attributes of a key
    default: Made, doc: str, *, alias: str = "", env: str = "", core: str = "", expert: bool = False
) -> Made:
    """Return the field of a key.

    Args:
        default: the default value. A table has the default of its type.
        doc: the effect of the key, in Markdown.
        alias: other names, by spaces: in the same table, or, with a dot, in another table.
        env: the environment variable that sets it if `compat.env` is true.
        core: the core's field that it sets, if its name differs.
        expert: whether it is in the table for experts.
    """
    more = {"doc": doc, "alias": alias, "env": env, "core": core, "expert": expert}
    if default == {}:
        return field(default_factory=dict, metadata=more)  # type: ignore[return-value]  # as mypy takes `field`
    return field(default=default, metadata=more)


def expert(default: Made, doc: str, *, alias: str = "", env: str = "", core: str = "") -> Made:
    """Return the field of a key for experts."""
    return key(default, doc, alias=alias, env=env, core=core, expert=True)


class Key(NamedTuple):
    """A key of the schema: its path ("<alias>" for a name that users choose), its type, and its field."""

    path: tuple[str, ...]
    kind: Any
    field: "dataclasses.Field[Any]"

    @property
    def default(self) -> object:
        """The default value."""
        factory = self.field.default_factory
        return self.field.default if factory is dataclasses.MISSING else factory()

    @property
    def unit(self) -> str:
        """The unit of the value; "" for none."""
        kind = inner(self.kind)
        return "".join(kind.__metadata__[1:]) if get_origin(kind) is Annotated else ""

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that it allows; empty if it allows any."""
        kind = inner(self.kind)
        kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
        return get_args(kind) if get_origin(kind) is Literal else ()


def core_values(kind: Any, *tables: object) -> dict[str, Any]:  # noqa: ANN401  # any dataclass or named tuple
    """Return the fields of a core value that tables set: those of the same name, or of the name in `core`."""
    known = getattr(kind, "_fields", None) or [one.name for one in dataclasses.fields(kind)]
    pairs = [(one, getattr(table, one.name)) for table in tables for one in dataclasses.fields(table)]  # type: ignore[arg-type]
    named = {one.metadata.get("core") or one.name: value for one, value in pairs if value is not None}
    return {name: value for name, value in named.items() if name in known}


def keys_of(table: type, path: tuple[str, ...] = ()) -> Iterator[Key]:
    """Yield every key of a table and of those below it, in the order of the file."""
    for one in dataclasses.fields(table):
        kind, place = inner(one.type), (*path, one.name)
        if get_origin(kind) is dict:
            kind, place = get_args(kind)[1], (*place, NAMED.get(one.name, "<name>"))
        if dataclasses.is_dataclass(kind) and isinstance(kind, type):
            yield from keys_of(kind, place)
        else:
            yield Key(place, one.type, one)


# The placeholder for names that users choose.
NAMED: Final = {"models": "<alias>", "words": "<language>", "owner_aliases": "<channel>"}
# The subjects of tables: the engine as a whole, a model, a conversation.
TIERS: Final = {
    "job": {
        *("summary", "snapshots", "memory", "bots", "journal", "goals", "context", "store", "observers", "extensions")
    }
    | {"compat", "debug", "ui"},
    "physical": {"window", "gpu", "models", "prices", "price_table"},
    "policy": {"profile", "budget", "allocation", "prompt", "pressure", "history", "images", "session"},
}

# -- windows and models -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WindowTable:
    """`[window]`: the size of windows."""

    default: Tokens = key(
        32_768,
        "Window of models that set none: input and output.",
        alias="targetSize context.targetSize",
        env="LLAMA_CPP_N_CTX",
    )
    safety_fraction: Share | None = expert(
        None,
        "Share of the window for estimated requests. Not set: 1 if counted exactly, else 0.85.",
        env="PENGUIN_CONTEXT_SAFETY_FRACTION",
    )
    sizing: Sized = key(
        "max_safe",
        "How to size windows of local models. true: `one_tier_below`; false: `manual`, which sizes none.",
        alias="autoSize context.autoSize",
    )
    min: Tokens = expert(2_048, "The smallest window that sizing may choose.", alias="minSize context.minSize")
    max: Tokens = expert(131_072, "The largest window that sizing may choose.", alias="maxSize context.maxSize")
    vram_margin_mib: MiB = expert(
        1_536, "Memory that stays free on each device, for the runtime itself.", alias="vramBuffer context.vramBuffer"
    )
    kv_type: CacheType = expert(
        "f16",
        "Type of the KV cache of models that set none; true: `q8_0`, false: `f16`.",
        alias="kvQuantization context.kvQuantization",
    )

    def __post_init__(self) -> None:
        """Refuse an empty range."""
        if self.min > self.max:
            raise ConfigError(f"min must be at most max, not {self.min} > {self.max}")


@dataclass(frozen=True)
class GpuTable:
    """`[gpu]`: finding and watching devices."""

    probe: str = expert("auto", "Probe that finds devices: `auto` tries all in turn, `none` tries none.")
    watch_seconds: Seconds = expert(30, "How often free memory is checked while a model is open; 0: never.")


@dataclass(frozen=True)
class PriceEntry:
    """`[price_table.<name>]`: an entry of your own in the price table."""

    read: Amount = expert(0.1, "Price of a cached input token; an uncached one is 1.", core="read_price")
    write: Amount = expert(1.25, "Price of an input token that is written to the cache.", core="write_price")
    output: Amount = expert(5.0, "Price of an output token.", core="output_price")
    ttl_seconds: Lifetime = expert(
        300.0, "How long a cached prefix lives without use; `inf`: forever.", core="cache_ttl_seconds"
    )
    least_tokens: Count = expert(0, "Shorter requests are not cached.", core="least_cached_tokens")
    per_million: Amount | None = expert(
        None, "Price of a million uncached input tokens, in your currency: reports then show money."
    )
    as_of: Day = expert("", "The date of these prices.")
    source: str = expert("", "Where the provider publishes them.")


@dataclass(frozen=True)
class ModelTable:
    """`[models.<alias>]`: one model; pass the alias to `Engine.session`."""

    context_window: Tokens | None = key(
        None, "Window: input and output together. Not set: the largest that fits, for a file; else `window.default`."
    )
    max_tokens: Tokens | None = key(None, "Longest answer, for which squidbot keeps room. Not set: 4096.")
    native_context_limit: Tokens | None = expert(None, "Window that the model was trained for; no window is larger.")
    tokenizer: str | None = expert(None, "Its token counter, as `budget.counter`; `provider`: its API counts.")
    parameters_billion: Amount | None = expert(
        None, "Number of parameters, by which squidbot rates how reliably the model works from notes."
    )
    adapter: AdapterName | None = key(
        None,
        'Adapter for `engine.model`: "llama_cpp", "xllamacpp", "ollama", "anthropic", "openai", an extension.',
        alias="type",
    )
    path: FilePath | None = key(None, "The model file; of a file in several parts, any of them.")
    repo_id: str | None = key(None, "With `filename`: a file of a hub that you have downloaded.")
    filename: FilePath | None = key(None, "Name of that file; `*` stands for anything.")
    projector: str | None = expert(None, "Projector file of a vision model: its size is added.")
    model: str | None = key(None, "The model's name at the server. Not set: the alias.", alias="model_id")
    url: str | None = key(None, "URL of the server. Not set: that of the adapter's provider.")
    api: Literal["chat", "responses"] | None = expert(None, 'Which API `adapter = "openai"` uses. Not set: chat.')
    key_env: Variable | None = key(None, "Environment variable that holds the API key; the key itself is refused here.")
    options: Options = key({}, "Options for each request, by the provider's own names: `temperature`, `thinking`, ….")
    n_gpu_layers: Layers = key(-1, 'Layers on GPUs, counting the output as one; -1: all; "auto": as many as fit.')
    n_batch: Tokens | None = expert(None, "Tokens of a logical batch. Not set: 2048.")
    n_ubatch: Tokens | None = expert(
        None, "Tokens of a physical batch. Not set: 512. Half as many need half of the compute buffer."
    )
    kv_type: CacheType | None = expert(None, "Type of the KV cache. Not set: `window.kv_type`.")
    flash_attn: bool = expert(True, "Flash attention: without it buffers grow with the window.")
    tensor_split: Shares = expert((), "Shares of several GPUs, in their order. Empty: by their free memory.")
    prices: str | None = key(None, "Its entry of the price table. Not set: `prices`.")


# -- room for the answer, caps, prompts -------------------------------------------------------------------------------


@dataclass(frozen=True)
class BudgetTable:
    """`[budget]`: the token counter, the room for the answer, and caps."""

    counter: str = key("auto", "What counts tokens. `auto`: the model's own vocabulary if it is here, else `classes`.")
    reserved_output_tokens: TokensOrZero | None = key(
        None, "Room for the answer. Not set: the model's `max_tokens`, at most a quarter.", env="MAX_TOKENS"
    )
    policy: bool | None = expert(None, "Cap history and total. Not set: if you set any cap.")
    trim_rule: TrimRule = expert(
        "ladder", "What gives way to the caps: `ladder`: tool output of the newest messages; `squidbot-v2`: documents."
    )
    context_budget_mode: str = expert("words", "Unit of the caps: `words` or `tokens`.", core="unit")
    context_memory_max_words: int = expert(300, "Cap of the memory document; its newest lines stay.", core="memory")
    context_summary_max_words: int = expert(500, "Cap of the host's summary document.", core="summary")
    context_history_max_words: int = expert(2500, "Cap of the history; notes stand for what is older.", core="history")
    context_total_max_words: int = expert(4500, "Cap of history, notes and documents together.", core="total")
    context_min_recent_messages: int = expert(2, "Newest messages that the caps keep.", core="min_recent_messages")
    context_dedupe_summary_against_memory: bool = expert(True, "Leave out what the memory document has.", core="dedupe")

    def __post_init__(self) -> None:
        """Refuse caps out of range."""
        _ = self.caps

    @property
    def caps(self) -> PolicyCaps:
        """The caps as a value of the core."""
        return PolicyCaps(**core_values(PolicyCaps, self))


@dataclass(frozen=True)
class WordsTable:
    """`[allocation.words.<language>]`: words that measure the complexity of a question."""

    create: Names = expert((), "Words of the language that ask to create something.")
    analyse: Names = expert((), "Words that ask for an analysis.")
    request: Names = expert((), "Other words that ask; together they count the parts of a request.")
    question_marks: str = expert("?", "The characters that end a question.")
    spaced: bool = expert(True, "Whether words stand between spaces; else they are found anywhere.")

    @property
    def lists(self) -> WordLists:
        """The words as a value of the core."""
        create, analyse, request = (frozenset(map(str.lower, one)) for one in (self.create, self.analyse, self.request))
        return WordLists(create, analyse, request, self.question_marks, self.spaced)


@dataclass(frozen=True)
class AllocationTable:
    """`[allocation]`: room for the answer by its question; shares of parts and categories."""

    adaptive: bool = key(False, "Size the room for the answer by the question, up to the reserved room.")
    verbosity: Verbosity = expert("balanced", "How much room `allocation.adaptive` gives an answer.")
    words: dict[str, WordsTable] = field(default_factory=dict)
    layout: Literal["none", "tiers"] = expert("none", "`tiers`: each part of a request has a share by tier.")
    by_category: bool = expert(False, "Whether categories of messages have soft shares of what a request may cost.")
    system_weight: Count = expert(10, "Weight of system text and tool definitions.")
    context_weight: Count = expert(30, "Weight of documents, pinned messages and context.")
    dialog_weight: Count = expert(40, "Weight of the conversation and the notes on it.")
    output_weight: Count = expert(20, "Weight of tool output and errors.")

    def __post_init__(self) -> None:
        """Refuse weights that are all 0."""
        if self.by_category and not any(self.weights or ()):
            raise ConfigError("no category has a weight; set one of the four above 0")

    @property
    def weights(self) -> tuple[int, int, int, int] | None:
        """The weights of the categories; None if they have no shares."""
        weights = (self.system_weight, self.context_weight, self.dialog_weight, self.output_weight)
        return weights if self.by_category else None


@dataclass(frozen=True)
class PromptTable:
    """`[prompt]`: texts behind the host's system text."""

    mode: str = key(
        "off", "Mode, which adds a text after the system text: `developer`, `planning`, …, or one of yours."
    )
    folder: FilePath = expert("", "Folder of your own texts: `NAME.md` for a mode, `mandates.md`, `sanity.md`.")
    says_notes: bool = expert(False, "Ask the model to say when its answer rests on notes.")
    clock: bool = expert(False, "Add date and time, in UTC, to each user message.")


# -- history ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PressureTable:
    """`[pressure]`: when to compact history, and how far. Not set: the strategy decides."""

    strategy: Literal["coherence", "balanced", "speed"] = key(
        "balanced", "When to compact: late, as soon as it pays, or early and deep."
    )
    compact_at_fraction: Share | None = key(None, "Share of the room that triggers compaction.", core="high_fraction")
    low_water_fraction: Fraction | None = expert(None, "Share of the room that compaction leaves.", core="low_fraction")
    patience: Amount | None = expert(None, "1: compact when that costs least; more: later; 0: only at the trigger.")
    min_saving_fraction: Fraction | None = expert(None, "Skip a compaction that would save less of the request.")
    backoff_seconds: Seconds | None = expert(None, "Pause after two compactions that saved too little.")
    compact_at_tokens: TokensOrZero | None = key(None, "Tokens of history that trigger compaction, too; 0: none.")
    compact_at_messages: Count | None = expert(None, "Verbatim messages that trigger compaction, too; 0: none.")
    low_water_messages: Count | None = expert(None, "Messages that such a compaction leaves; 0: `low_water_fraction`.")
    beside_summaries: bool | None = expert(None, "Take shares of the room that summaries leave.")
    tier_targets: bool = expert(False, "Take low water and the limit of pinned messages from the tier.")
    warn_fraction: Fraction | None = expert(None, "Warn the user by an event, and the model by one line.")
    journal_fraction: Fraction | None = expert(None, "Make a journal entry.", alias="journal.token_threshold_fraction")
    critical_fraction: Fraction | None = expert(None, "Warn the user again.")
    emergency_fraction: Fraction | None = expert(None, "Warn again, and compact to below `warn_fraction`.")
    notice: bool | None = expert(None, "Whether the model sees the warning at `warn_fraction`.")

    def __post_init__(self) -> None:
        """Refuse a low water in messages that is not below its trigger."""
        left, mark = self.low_water_messages or 0, self.compact_at_messages or 0
        if left and left >= mark:
            raise ConfigError(f"low_water_messages must be below compact_at_messages, not {left} >= {mark}")


@dataclass(frozen=True)
class HistoryTable:
    """`[history]`: the messages that stay verbatim. Not set: the strategy decides."""

    scope: Literal["inline+summaries", "inline", "summaries", "none"] = key(
        "inline+summaries", "What to send of the past: notes, verbatim messages, both, or neither."
    )
    user_messages: Literal["graceful", "strict"] = key(
        "graceful", "`strict`: refuse a request rather than drop a user message."
    )
    isolation: HistoryIsolation = expert(
        "user", "What separates transcripts. `user`: a conversation has one user; `global`: it may have several."
    )
    labels: bool = expert(False, "Put `[channel / speaker]` in front of each message that is sent.")
    owner_aliases: dict[str, Names] = expert({}, 'Ids of the owner in a channel; `"*"` is any channel.')
    categories_by_words: bool = expert(False, 'Recognize tool output among system texts by words such as "result".')
    floor_turns: Count | None = key(None, "Newest turns that stay verbatim.", env="MEMORY_PROTECTED_RECENT_TURNS")
    min_recent_messages: Count | None = expert(None, "Newest messages that stay verbatim.")
    keep_recent_tokens: TokensOrZero | None = expert(
        None, "Tokens of newest messages that stay.", alias="compression.preserveRecent"
    )
    pinned_fraction: Fraction | None = expert(None, "Share of the window for pinned messages; 0: any.")
    slim_fraction: Fraction | None = expert(None, "Share of the room for messages with truncated tool output.")
    user_verbatim_fraction: Fraction | None = expert(None, "Share of the room up to which user messages stay.")
    output_fraction: Fraction | None = expert(None, "Tool output above this share is truncated on arrival.")
    assistant_fraction: Fraction | None = expert(None, "Compaction truncates answers above this share; 0: none.")

    def labels_of(self, scope: Scope) -> Labels | None:
        """Return the label settings for messages of a scope; None for no labels."""
        return Labels.of(scope.channel, scope.user, self.owner_aliases) if self.labels else None


@dataclass(frozen=True)
class ImagesTable:
    """`[images]`: pictures in requests."""

    max: Count | None = expert(None, "Number of newest images that a compaction keeps.", core="most_images")


@dataclass(frozen=True)
class SessionTable:
    """`[session]`: the length of one session."""

    max_messages: Count = key(0, "Messages after which a session continues in a new one, `ID~2`; 0: never.")


@dataclass(frozen=True)
class SummaryTable:
    """`[summary]`: notes by rule, and summaries by a language model."""

    llm: str | None = key(
        None, 'Model that writes summaries: an alias, "anthropic:MODEL", "openai:MODEL", an extension.'
    )
    scheduler: Literal["thread", "apscheduler", "worker", "none"] = key(
        "thread", "What runs background work; `worker`: `squidbot store work`."
    )
    interval_minutes: Minutes = expert(30, "How often background work looks for blocks to summarise.")
    mode: Mode | None = expert(None, "What summaries keep above all. Not set: as `prompt.mode`, else developer.")
    min_messages: Count | None = expert(None, "Smallest block to summarise.", env="SUMMARIZATION_MIN_MESSAGES")
    min_input_tokens: TokensOrZero | None = expert(None, "Smallest block in tokens, without user messages.")
    gap_seconds: Seconds | None = expert(None, "Pause that ends a block.", env="SUMMARIZATION_SESSION_GAP_SECONDS")
    notes_fraction: Fraction | None = expert(None, "Share of the room for all notes together.")
    detailed_blocks: Count | None = expert(None, "Newest blocks with detailed notes of their own.")
    moderate_blocks: Count | None = expert(None, "Next older blocks, with notes of half the size.")
    compact_blocks: Count | None = expert(None, "Next older blocks, with notes of a quarter; the rest shares one.")
    max_tokens: Tokens | None = expert(
        None, "Largest summary. Not set: by level.", alias="compression.summaryMaxTokens", core="max_summary_tokens"
    )


@dataclass(frozen=True)
class SnapshotsTable:
    """`[snapshots]`: the restore points to make and keep."""

    max: Count = expert(5, "Number of named snapshots to keep; a name used again replaces the older one.")
    auto_fraction: Fraction = expert(
        0.85, "Share of the room that triggers one; 0: none.", alias="snapshot.autoThreshold"
    )
    keep_all_hours: Hours = expert(24.0, "How long every automatic one stays.")
    keep_every_nth: Count = expert(10, "Of older automatic ones, every nth stays; 0: none.")
    max_age_days: Days = expert(30.0, "How long automatic ones stay at most.")

    @property
    def retention(self) -> Retention:
        """The retention as a value of the core."""
        return Retention(self.max, self.auto_fraction, self.keep_all_hours, self.keep_every_nth, self.max_age_days)


# -- beyond one session -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MemoryTable:
    """`[memory]`: durable facts."""

    enabled: bool = key(True, "Turn durable facts on or off.")
    provider: str = expert(
        "auto", "Store: `sqlite3`, `psycopg`, `file`, `stdlib` (in memory), an extension; `auto`: where sessions are."
    )
    path: FilePath = expert("", "File of the facts. Not set: that of `store.path`; without one they live in memory.")
    isolation: Isolation = expert(
        "bot", "What separates facts, in addition to tenant and user. Without a user, the thread does, too."
    )
    min_relevance: Fraction = expert(0.3, "Hits with a lower score are left out.")
    write: bool = expert(True, "Whether the tool `memory` may add and forget facts.")
    allow_tools: bool | None = expert(
        None,
        "false: no memory tools for models; true: tools to index and add notes, too.",
        alias="tools.allow_memory_tools",
    )
    in_prompt: bool = key(True, "Whether requests show facts automatically.")
    index_tokens: TokensOrZero = expert(200, "Limit of the index in the head of requests; 0: no index.")
    profile_tokens: TokensOrZero = expert(300, "Limit of each section on the user and on the model.")
    cold_start_tokens: TokensOrZero = expert(200, "Limit of facts that answer the first message of a conversation.")
    extract: Literal["auto", "rules", "model", "off"] | None = key(
        None,
        "What learns facts. `auto`: `model` with `memory.llm`, else `rules`. Not set: `auto`, for named users only.",
    )
    llm: str | None = key(None, "The model that learns facts, as `summary.llm`.")
    merge: bool = expert(False, "Let a new fact replace those that say the same in other words.")
    embedder: Vectors = key(
        "none",
        'Embedder that finds facts by meaning: "onnxruntime:FOLDER", "openai:MODEL", an alias, or '
        "`NAME` or `NAME:ARGUMENT` of an extension.",
        alias="embedding_model",
    )
    index: str = expert("auto", 'Index of vectors: "faiss", "lancedb", "stdlib"; of several, the first that works.')
    redact_patterns: Patterns = key((), "Regular expressions of more secrets to remove.")
    index_paths: Names = key((), "Files, folders, patterns that background work indexes for search.")
    index_most_bytes: Bytes = expert(8 << 20, "Larger files are not indexed.")


@dataclass(frozen=True)
class BotTable:
    """`[bots.<name>]`: one bot, by the name in its scope."""

    requires_memory: bool = expert(True, "false: its sessions learn, show and search no facts.")
    uses_tools: bool = expert(True, "false: its model only gets tools that read: `history`, and `memory` to search.")


@dataclass(frozen=True)
class JournalTable:
    """`[journal]`: entries about the work."""

    enabled: bool = key(False, "Whether sessions keep a journal, and models get its tools.")
    folder: FilePath = expert("notes/journal", "The folder of its files.")
    llm: str | None = expert(None, "The model that writes entries, as `summary.llm`. Not set: rules write them.")
    interval_minutes: Minutes = expert(20, "Minutes between entries.")
    inject_latest_on_start: bool = expert(
        True, "Show the newest entry when a session begins, or continues after a pause."
    )
    summary_token_budget: TokensOrZero = expert(1200, "Limit of that entry; at most a tenth of the room.")
    max_entries_per_day: Count = expert(200, "Further entries of a day are refused.")
    include_files: bool = expert(True, "Whether entries keep the paths of files.")
    include_errors: bool = expert(True, "Whether entries keep errors.")
    redact_patterns: Patterns = expert(("api_key", "secret"), "Names and patterns of secrets.")

    def __post_init__(self) -> None:
        """Refuse invalid patterns."""
        _ = self.rules

    @property
    def rules(self) -> JournalRules:
        """The rules as a value of the core."""
        return JournalRules(self.max_entries_per_day, self.include_files, self.include_errors, self.redact_patterns)


@dataclass(frozen=True)
class GoalsTable:
    """`[goals]`: the goals of a session."""

    tool: bool = key(False, "Whether models get the tool `goal`.")


@dataclass(frozen=True)
class ContextTable:
    """`[context]`: documents in the head of every request."""

    folder: FilePath = key("", "Folder to load documents from; with it models get the tool `context`.")
    autoload_project_docs: bool = key(False, "Load `PENGUIN.md`, `AGENTS.md` or `README.md` beside the settings.")


@dataclass(frozen=True)
class StoreTable:
    """`[store]`: where to store sessions."""

    path: StoreFile = key("", "File of sessions. Without it and `url`, they end with the process.")
    url: StoreUrl = key(
        "", "PostgreSQL instead of a file: `postgresql://USER@HOST/DATABASE`; or set the variable SQUIDBOT_STORE_URL."
    )
    adapter: str | None = expert(
        None, "Store: `sqlite3`, `psycopg`, `stdlib` (in memory), an extension. Not set: by `path` and `url`."
    )
    direct_url: StoreUrl = expert(
        "", "The server's own address, if `url` is a pooler's: workers wait there for new turns."
    )
    schema: SchemaName = expert("squidbot", "The schema of the tables in PostgreSQL.")
    tenant: str | None = expert(None, "The tenant whose rows this program reads and writes. Not set: none.")
    connections: Connections = expert(8, "Most connections to PostgreSQL that this program opens.")
    retention_days: Days = expert(
        0.0,
        "Remove sessions after this many days without a write; facts learned from them stay. 0: never.",
    )

    def __post_init__(self) -> None:
        """Refuse two places."""
        if self.path and self.url:
            raise ConfigError("path and url are both set: keep one")


@dataclass(frozen=True)
class CompatTable:
    """`[compat]`: names of other systems."""

    env: bool = expert(False, "Whether environment variables of other systems set keys.")


@dataclass(frozen=True)
class DebugTable:
    """`[debug]`: help to find bugs."""

    turn_log: LogFile = expert("", "File to write each turn to.", env="LLM_BAWT_DEBUG_TURN_LOG")


@dataclass(frozen=True)
class UiTable:
    """`[ui]`: what people see."""

    show_context_messages: bool = expert(
        False, "Show people system text, context, outputs and automated messages, too."
    )


@dataclass(frozen=True)
class Settings:
    """All of squidbot.toml."""

    profile: str = key("ladder", "Use the defaults of another system: docs/profiles.md.")
    window: WindowTable = WindowTable()
    gpu: GpuTable = GpuTable()
    models: dict[str, ModelTable] = field(default_factory=dict)
    prices: str = key("default", "Token prices: an entry of the price table.")
    price_table: dict[str, PriceEntry] = field(default_factory=dict)
    budget: BudgetTable = BudgetTable()
    allocation: AllocationTable = AllocationTable()
    prompt: PromptTable = PromptTable()
    pressure: PressureTable = PressureTable()
    history: HistoryTable = HistoryTable()
    images: ImagesTable = ImagesTable()
    session: SessionTable = SessionTable()
    summary: SummaryTable = SummaryTable()
    snapshots: SnapshotsTable = SnapshotsTable()
    memory: MemoryTable = MemoryTable()
    bots: dict[str, BotTable] = field(default_factory=dict)
    journal: JournalTable = JournalTable()
    goals: GoalsTable = GoalsTable()
    context: ContextTable = ContextTable()
    store: StoreTable = StoreTable()
    observers: Names = key(
        (), "Observers of all events: `structlog`, `opentelemetry`, or an extension's `NAME` or `NAME:REST`."
    )
    extensions: Names = key((), "Extensions to load, by the names of their entry points in the group `squidbot`.")
    compat: CompatTable = CompatTable()
    debug: DebugTable = DebugTable()
    ui: UiTable = UiTable()

    def model(self, alias: str) -> ModelTable:
        """Return a model's settings; the defaults for one that is not named."""
        return self.models.get(alias, ModelTable())

    def bot(self, name: str) -> BotTable:
        """Return a bot's settings; the defaults for one that is not named."""
        return self.bots.get(name, BotTable())

    def memory_of(self, bot: str) -> MemoryTable:
        """Return the settings of memory for a bot: off unless it requires memory, to read only unless it uses tools."""
        memory, own = self.memory, self.bot(bot)
        if own.uses_tools and own.requires_memory:
            return memory
        allowed = memory.allow_tools if own.uses_tools or memory.allow_tools is False else None
        is_on, writes = memory.enabled and own.requires_memory, memory.write and own.uses_tools
        return dataclasses.replace(memory, enabled=is_on, write=writes, allow_tools=allowed)
