"""The terms of a replay: the window, the token counter, the settings of sessions, the prices."""

from __future__ import annotations

import math
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from squidbot.adapters.common.packages import missing
from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.bootstrap import wire
from squidbot.config import load_settings
from squidbot.config.presets import entry_of, profiles
from squidbot.core.budget import PolicyCaps, WindowSettings, open_window
from squidbot.core.engine import ContextEngine, Inputs
from squidbot.core.errors import ConfigError, DamagedStoreError, StoreError
from squidbot.core.plan import Prices
from squidbot.core.prompts import OFF, build_prompt
from squidbot.core.settings import STRATEGIES, strategy
from squidbot.core.tokens.counters import Meter, builtin_counter
from squidbot.hookspecs import hookimpl
from squidbot.replay.recording import CODECS
from squidbot.session import Session
from squidbot.wiring.prompting import templates_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from squidbot.codecs.transcripts import Conversation
    from squidbot.config.schema import PriceEntry
    from squidbot.core.messages import ContextWindow, Message, StoredMessage, Usage
    from squidbot.core.ports import TokenCounter
    from squidbot.core.prompts import SystemPrompt
    from squidbot.core.session import CoreSession
    from squidbot.core.settings import HistorySettings
    from squidbot.core.view.assembly import CoreAssembly
    from squidbot.hookspecs import Register, Store

#: How a counter counts.
Unit = Literal["words", "tokens"]
RANKS_SUFFIX = ".tiktoken"
# Settings of a replay under a profile: its own store, and no thread, facts, or documents beside the recording.
OVERRIDES: Mapping[str, Mapping[str, object]] = {
    "store": {"adapter": "replayed"},
    "summary": {"scheduler": "none"},
    "memory": {"enabled": False},
    "journal": {"enabled": False},
    "context": {"folder": "", "autoload_project_docs": False},
}


class Charges(NamedTuple):
    """A provider's charges.

    Attributes:
        name: the entry of the price table; as_of: the date of the prices, "" if unknown.
        prices: in uncached input tokens.
        ttl_seconds: how long a cached prefix lives without use; infinite: forever.
        per_million: the price of a million uncached input tokens, in money; `None` if unknown.
    """

    name: str
    as_of: str
    prices: Prices
    ttl_seconds: float
    per_million: float | None = None

    @classmethod
    def of(cls, name: str, entry: PriceEntry) -> Charges:
        """Return the charges of an entry of the price table."""
        prices = Prices(entry.read, entry.write, entry.output, entry.least_tokens)
        return cls(name, entry.as_of, prices, entry.ttl_seconds, entry.per_million)

    def to_json(self) -> dict[str, object]:
        """Return them as values that JSON holds, which has no number for "never"."""
        ttl = None if math.isinf(self.ttl_seconds) else self.ttl_seconds
        known = {"name": self.name, "as_of": self.as_of or None, **self.prices._asdict(), "ttl_seconds": ttl}
        return known | {"per_million": self.per_million}

    def cached(self, shared_tokens: int) -> int:
        """Return how many tokens of the common beginning of two requests are read from the cache."""
        return shared_tokens if shared_tokens >= self.prices.least_tokens else 0

    def request(self, tokens: int, cached_tokens: int) -> float:
        """Return the price of a request, in uncached input tokens."""
        if tokens < self.prices.least_tokens:
            return float(tokens)
        return self.prices.read * cached_tokens + self.prices.write * (tokens - cached_tokens)

    def planned(self, settings: HistorySettings) -> HistorySettings:
        """Return settings that plan by these prices."""
        read, write, output, least = self.prices
        prices = {"read_price": read, "write_price": write, "output_price": output, "least_cached_tokens": least}
        return settings.resolved({**prices, "cache_ttl_seconds": self.ttl_seconds})


# The charges for comparing policies: Anthropic's five minutes, cached from the first token.
SCORING = Charges("default", "", Prices(0.1, 1.25, 5.0, 0), 300.0)


def charges_of(name: str) -> Charges:
    """Return an entry of the price table: squidbot's own, or one of ./squidbot.toml.

    Raises:
        ConfigError: there is no such entry, and the text lists them; or squidbot.toml can't be read.
    """
    try:
        entry = entry_of(name, load_settings().settings.price_table)
    except ConfigError as error:
        raise ConfigError(f"--prices: {error}") from None
    return Charges.of(name, entry)


class ReplayedSession(NamedTuple):
    """A session that a recording runs through.

    Attributes:
        record: records a message, and the usage reported for the newest request; returns the rows stored.
        assemble: returns the next request.
        core: the session itself.
    """

    record: Callable[[Message, Usage | None], tuple[StoredMessage, ...]]
    assemble: Callable[[], CoreAssembly]
    core: CoreSession


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a replay.

    Attributes:
        window, meter, strategy, settings: those of the sessions.
        unit: the unit of the caps; charges: the prices of requests.
        usage: the reporter of request sizes: "none", "recorded", or a counter, see `usage.reporter_of`.
        mode: the mode whose system text precedes the conversation.
        profile: the profile of sessions, with `overrides` above it; "" for the engine's own sessions.
    """

    window: ContextWindow
    meter: Meter
    strategy: str
    settings: HistorySettings
    unit: Unit
    charges: Charges = SCORING
    usage: str = "none"
    mode: str = "off"
    profile: str = ""
    overrides: Mapping[str, object] | None = None

    @property
    def label(self) -> str:
        """The policy's name in tables."""
        return f"profile {self.profile}" if self.profile else f"squidbot {self.strategy}"

    @property
    def limit_tokens(self) -> int:
        """The limit of a request's bound: the window less the reserve."""
        return self.window.window_tokens - self.window.reserved_output_tokens

    def with_strategy(self, name: str) -> Terms:
        """Return the same terms under another strategy.

        Raises:
            ConfigError: there is no such strategy.
        """
        return replace(self, strategy=name, settings=_settings(name, self.limit_tokens, self.unit, self.charges))

    def open(self, conversation: Conversation, store: Store) -> ReplayedSession:
        """Return a session for a conversation, with the times of its messages.

        Raises:
            StoreError: the store failed.
        """
        now: float | None
        if self.overrides is None:
            core = ContextEngine(store, store, CODECS).session(conversation.id, self.window, self.meter, self.settings)
            now = None

            def record(message: Message, usage: Usage | None) -> tuple[StoredMessage, ...]:
                nonlocal now
                now = message.time
                return core.record(message, usage=usage)

            return ReplayedSession(record, lambda: core.assemble((), Inputs(now=now)), core)

        session = _session(self.overrides, conversation.id, conversation.codec, store, self.window.window_tokens)
        now = 0.0

        def record_at(message: Message, usage: Usage | None) -> tuple[StoredMessage, ...]:
            nonlocal now
            now = now if message.time is None else message.time
            return session.record(message, usage=usage, now=now)

        return ReplayedSession(record_at, lambda: session.assemble(now=now).core, session.core)


def terms_for(  # noqa: PLR0913, PLR0917  # an argument for each option
    window_tokens: int,
    reserve_tokens: int | None,
    strategy_name: str,
    counter: TokenCounter,
    unit: Unit,
    charges: Charges = SCORING,
) -> Terms:
    """Return the terms for a window; `reserve_tokens` None: the default reserve.

    With `unit` "words", a request is also limited to the default total of the policy caps, in words. With a
    provider's `charges`, sessions also plan by its prices.

    Raises:
        ConfigError: a number is out of range, or there is no such strategy.
        BudgetError: the reserve leaves no room for input.
    """
    meter = Meter(counter, builtin_counter("words") if unit == "words" else None)
    options = WindowSettings(window_tokens, reserve_tokens, source="command line")
    window = open_window(options, meter.name, meter.certificate)
    room_tokens = window.window_tokens - window.reserved_output_tokens
    settings = _settings(strategy_name, room_tokens, unit, charges)
    return Terms(window, meter, strategy_name, settings, unit, charges)


def terms_of(  # noqa: PLR0913, PLR0917  # an argument for each option
    window_tokens: int,
    reserve_tokens: int | None = None,
    profile: str | None = None,
    strategy_name: str | None = None,
    counter: str = "classes",
    unit: Unit | None = None,
    prices: str | None = None,
    *,
    usage: str = "none",
    mode: str = OFF,
    compare: bool = False,
) -> tuple[Terms, list[Terms]]:
    """Return the terms of a replay, and, to `compare`, those of all strategies, or under a profile of all profiles.

    Raises:
        ConfigError: a value is unknown or out of range.
        BudgetError: the reserve leaves no room for input.
    """
    charges, measure = SCORING if prices is None else charges_of(prices), open_counter(counter)

    def under(name: str | None) -> Terms:
        if name is None:
            unit_name = unit or "tokens"
            return terms_for(window_tokens, reserve_tokens, strategy_name or "balanced", measure, unit_name, charges)
        return profile_terms(
            name,
            window_tokens,
            measure,
            charges,
            budget__reserved_output_tokens=reserve_tokens,
            budget__policy=None if unit is None else unit == "words",
            pressure__strategy=strategy_name,
            prices=prices,
        )

    own, others = replace(under(profile), usage=usage, mode=mode), list[Terms]()
    if compare:
        others = [*map(under, profiles())] if profile else [*map(own.with_strategy, STRATEGIES)]
    return own, [replace(other, usage=usage, mode=mode) for other in others]


def profile_terms(
    profile: str, window_tokens: int, counter: TokenCounter, charges: Charges = SCORING, **given: object
) -> Terms:
    """Return the terms of a replay under a profile, measured by `counter`, even if sessions use another one.

    `given` are settings above the profile, with two underscores for a dot: `budget__policy`; None for none.

    Raises:
        ConfigError: there is no such profile, or a value of the settings is wrong.
        BudgetError: the reserve leaves no room for input.
    """
    overrides: dict[str, Any] = {"profile": profile, **{table: dict(keys) for table, keys in OVERRIDES.items()}}
    for name, value in given.items():
        if value is not None:
            table, _, key = name.partition("__")
            overrides |= {table: {**overrides.get(table, {}), key: value} if key else value}
    session = _session(overrides, "terms", "openai.chat", InMemoryStore(), window_tokens)
    loaded, window = session.wired.loaded, session.window
    unit: Unit = "words" if loaded.policy and loaded.settings.budget.caps.unit == "words" else "tokens"
    return Terms(
        window,
        Meter(counter),
        loaded.settings.pressure.strategy,
        session.wired.history(window),
        unit,
        charges,
        profile=profile,
        overrides=overrides,
    )


def _session(settings: Mapping[str, object], session_id: str, form: str, store: Store, window_tokens: int) -> Session:
    wired = wire(load_settings(settings), [_StoreOffer(store)])
    return Session(wired, session_id, wired.window("", window_tokens), wired.codecs[form])


class _StoreOffer:
    """The extension that puts sessions into the store of the replay."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @hookimpl
    def register_adapters(self, register: Register) -> None:
        """Register the store."""
        register.store("replayed", lambda _: self._store)


def _settings(name: str, room_tokens: int, unit: Unit, charges: Charges) -> HistorySettings:
    settings = strategy(name, room_tokens)
    if charges is not SCORING:
        settings = charges.planned(settings)
    return replace(settings, policy_limit=PolicyCaps().total) if unit == "words" else settings


def prompt_of(mode: str, terms: Terms) -> SystemPrompt | None:
    """Return the system text of a mode in the window of a replay, ours or one of ./squidbot.toml; None for "off".

    Raises:
        ConfigError: there is no such mode, or the window is too small for it; or squidbot.toml can't be read.
        BudgetError: its text does not fit.
    """
    if mode == OFF:
        return None
    templates = templates_of(load_settings())
    if mode not in templates:
        raise ConfigError(f"--mode: unknown mode {mode!r:.60}, known: {', '.join((OFF, *templates))}")
    return build_prompt(templates[mode], terms.window.window_tokens, terms.meter.physical)


def open_counter(given: str) -> TokenCounter:
    """Return the built-in counter of a name, or one that reads the tiktoken ranks of a local file.

    Raises:
        ConfigError: there is no such counter, the file is not a rank file, or the package that reads it is missing.
    """
    if not given.endswith(RANKS_SUFFIX):
        try:
            return builtin_counter(given)
        except ConfigError as error:
            raise ConfigError(f"{error}, or the path of a *{RANKS_SUFFIX} file") from None
    if not Path(given).is_file():
        raise ConfigError(f"--counter: no such file: {given}")
    try:
        from squidbot.adapters.tiktoken import TiktokenCounter  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ConfigError(f"{given} needs the package tiktoken; {missing('tiktoken')}") from error
    return TiktokenCounter(given)


@contextmanager
def open_replay_store(path: Path | None) -> Iterator[SqliteStore]:
    """Open the store of a replay: the file at `path`, or (None) a temporary one, removed at the end.

    Raises:
        ConfigError: the file can't be opened.
        DamagedStoreError: it is not a store, or is damaged.
    """
    with tempfile.TemporaryDirectory(prefix="squidbot-replay-") as folder:
        try:
            store = SqliteStore(path or Path(folder, "replay.db"))
        except DamagedStoreError:
            raise
        except StoreError as error:
            raise ConfigError(str(error)) from error
        with store:
            yield store
