"""From what the user wrote to what a replay runs on: codecs, a counter, a store, the terms of its sessions."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from squidbot.codecs.anthropic_messages import AnthropicMessages
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.codecs.openai_responses import OpenAIResponses
from squidbot.core.budget.caps import Caps
from squidbot.core.budget.window import WindowSettings, open_lease
from squidbot.core.counting.meter import Meter
from squidbot.core.counting.tokens import builtin_counter
from squidbot.core.errors import ConfigError, DamagedStoreError, StoreError
from squidbot.core.ports import SummaryStore, TranscriptStore
from squidbot.core.settings import strategy
from squidbot.extras import missing
from squidbot.replay.charges import SCORING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from squidbot.adapters.sqlite3 import SqliteStore
    from squidbot.codecs.transcripts import Conversation
    from squidbot.core.messages import Lease, Message, StoredMessage, Usage
    from squidbot.core.ports import Codec, TokenCounter
    from squidbot.core.settings import HistorySettings
    from squidbot.core.view.assembly import Assembly
    from squidbot.replay.charges import Charges

__all__ = ["CODECS", "Live", "Opens", "Store", "Terms", "Unit", "open_counter", "open_store", "terms_for"]

Unit = Literal["words", "tokens"]
CODECS: Mapping[str, Codec] = {codec.tag: codec for codec in (OpenAIChat(), AnthropicMessages(), OpenAIResponses())}
RANKS_SUFFIX = ".tiktoken"


class Store(TranscriptStore, SummaryStore, Protocol):
    """Both stores in one, as the adapters are."""


class Live(Protocol):
    """A session that a recording is said to again."""

    def record(self, message: Message, usage: Usage | None) -> tuple[StoredMessage, ...]:
        """Record a message, and what the newest request was billed (None: nobody says it); return it as stored."""

    def assemble(self) -> Assembly:
        """Return the request for what is recorded."""


class Opens(Protocol):
    """Opens sessions that are more than the engine's own."""

    def live(self, conversation: Conversation, terms: Terms, store: Store) -> Live:
        """Return a session for a conversation, in the window of the terms."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Under which sessions are replayed: the window, what counts it, the strategy and its settings, the bill.

    `usage` says who reports the sizes of requests: "none", "recorded", or a counter (`usage.biller_of`); `mode` is that
    of the system text in front of what was said. `opens` opens the sessions; None: they are the engine's, under
    `settings`. `profile` is whose settings they have; "" for none.
    """

    lease: Lease
    meter: Meter
    strategy: str
    settings: HistorySettings
    unit: Unit
    charges: Charges = SCORING
    usage: str = "none"
    mode: str = "off"
    opens: Opens | None = None
    profile: str = ""

    @property
    def label(self) -> str:
        """What a table calls the policy."""
        return f"profile {self.profile}" if self.profile else f"squidbot {self.strategy}"

    @property
    def limit_tokens(self) -> int:
        """What a request may cost, as a bound: the window less the reserve."""
        return self.lease.window_tokens - self.lease.reserved_output_tokens

    def with_strategy(self, name: str) -> Terms:
        """Return the same terms under another strategy.

        Raises:
            ConfigError: there is no such strategy.
        """
        return replace(self, strategy=name, settings=_settings(name, self.limit_tokens, self.unit, self.charges))


def terms_for(  # noqa: PLR0913, PLR0917  # an argument for each option
    window_tokens: int,
    reserve_tokens: int | None,
    strategy_name: str,
    counter: TokenCounter,
    unit: Unit,
    charges: Charges = SCORING,
) -> Terms:
    """Return the terms for a window, in tokens; `reserve_tokens` None: the default of C12.

    With `unit` "words" a request may also cost no more than the default total of the policy caps, in words. With
    `charges` of a provider sessions are planned by its prices, too.

    Raises:
        ConfigError: a number is out of its range, or there is no such strategy.
        BudgetError: the reserve leaves no room for input.
    """
    meter = Meter(counter, builtin_counter("words") if unit == "words" else None)
    source = "command line"
    lease = open_lease(WindowSettings(window_tokens, reserve_tokens, source=source), meter.name, meter.certificate)
    room_tokens = lease.window_tokens - lease.reserved_output_tokens
    settings = _settings(strategy_name, room_tokens, unit, charges)
    return Terms(lease, meter, strategy_name, settings, unit, charges)


def open_counter(given: str) -> TokenCounter:
    """Return the built-in counter of a name, or one that reads the tiktoken ranks of a local file.

    Raises:
        ConfigError: there is no such counter, the file is no rank file, or the package that reads it is missing.
    """
    if not given.endswith(RANKS_SUFFIX):
        try:
            return builtin_counter(given)
        except ConfigError as error:
            raise ConfigError(f"{error}, or the path of a *{RANKS_SUFFIX} file") from None
    if not Path(given).is_file():
        raise ConfigError(f"--counter {given}: there is no such file")
    try:
        from squidbot.adapters.tiktoken import TiktokenCounter  # noqa: PLC0415  # an extra: only who names ranks needs it
    except ImportError as error:
        raise ConfigError(f"{given} needs the package tiktoken; {missing('tiktoken')}") from error
    return TiktokenCounter(given)


@contextmanager
def open_store(path: Path | None) -> Iterator[SqliteStore]:
    """Open the store of a replay: the file at `path`, or (None) a temporary one that is gone afterwards.

    Raises:
        ConfigError: the file can't be opened.
        DamagedStoreError: it is not a store, or a damaged one.
    """
    from squidbot.adapters.sqlite3 import SqliteStore  # noqa: PLC0415  # `--help` needs no database

    with tempfile.TemporaryDirectory(prefix="squidbot-replay-") as folder:
        try:
            store = SqliteStore(path or Path(folder, "replay.db"))
        except DamagedStoreError:
            raise
        except StoreError as error:
            raise ConfigError(str(error)) from error
        with store:
            yield store


def _settings(name: str, room_tokens: int, unit: Unit, charges: Charges) -> HistorySettings:
    settings = strategy(name, room_tokens)
    if charges is not SCORING:
        settings = charges.planned(settings)
    return replace(settings, policy_limit=Caps().total) if unit == "words" else settings
