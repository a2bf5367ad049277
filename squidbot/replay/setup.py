"""From what the user wrote to what a replay runs on: codecs, a counter, a store, the terms of its sessions."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from squidbot.adapters.common.packages import missing
from squidbot.bootstrap import wire
from squidbot.codecs import jsontext
from squidbot.codecs.anthropic_messages import AnthropicMessages
from squidbot.codecs.openai_chat import OpenAIChat
from squidbot.codecs.openai_responses import OpenAIResponses
from squidbot.config import load_settings
from squidbot.core.budget import Caps, WindowSettings, open_window
from squidbot.core.errors import ConfigError, DamagedStoreError, StoreError
from squidbot.core.messages import Cost, Kind, Part, Usage
from squidbot.core.plan import Prices
from squidbot.core.ports import SummaryStore, TranscriptStore
from squidbot.core.prompts import OFF, build_prompt
from squidbot.core.settings import strategy
from squidbot.core.tokens.counters import REQUEST_TOKENS, TEMPLATE_TOKENS, Meter, builtin_counter
from squidbot.hookspecs import hookimpl
from squidbot.session import Session
from squidbot.wiring.prompting import templates_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from squidbot.adapters.sqlite3 import SqliteStore
    from squidbot.codecs.transcripts import Conversation
    from squidbot.core.messages import ContextWindow, Message, StoredMessage
    from squidbot.core.ports import Codec, TokenCounter
    from squidbot.core.prompts import SystemPrompt
    from squidbot.core.settings import HistorySettings
    from squidbot.core.view.assembly import ModelRequest
    from squidbot.hookspecs import Register


# What a replay is billed by: the prices that policies are compared with, or those of a provider.


class Charges(NamedTuple):
    """What a provider charges.

    Attributes:
        name: the entry of the price table; as_of: the day on which it was true, "" where unknown.
        prices: in uncached input tokens.
        ttl_seconds: a cached prefix is forgotten after this pause; infinite: never.
    """

    name: str
    as_of: str
    prices: Prices
    ttl_seconds: float

    def cached(self, shared_tokens: int) -> int:
        """Return how much of what two requests share at their beginning is read from the cache, in tokens."""
        return shared_tokens if shared_tokens >= self.prices.least_tokens else 0

    def request(self, tokens: int, cached_tokens: int) -> float:
        """Return what a request is billed of which the cache had so much, in uncached input tokens."""
        if tokens < self.prices.least_tokens:
            return float(tokens)
        return self.prices.read * cached_tokens + self.prices.write * (tokens - cached_tokens)

    def planned(self, settings: HistorySettings) -> HistorySettings:
        """Return settings that plan by these prices."""
        read, write, output, least = self.prices
        prices = {"read_price": read, "write_price": write, "output_price": output, "least_cached_tokens": least}
        return settings.resolved({**prices, "cache_ttl_seconds": self.ttl_seconds})


# What policies are scored by: Anthropic's five minutes, cached from the first token (decisions.md section 13).
SCORING = Charges("default", "", Prices(0.1, 1.25, 5.0, 0), 300.0)


def charges_of(name: str) -> Charges:
    """Return an entry of the price table: one that squidbot brings, or one of ./squidbot.toml.

    Raises:
        ConfigError: there is no such entry, the text lists those there are; or squidbot.toml can't be read.
    """
    from squidbot.config import load_settings  # noqa: PLC0415  # who names no prices needs no settings
    from squidbot.config.presets import entry_of  # noqa: PLC0415  # the same

    own = load_settings().settings.price_table
    try:
        entry = entry_of(name, own)
    except ConfigError as error:
        raise ConfigError(f"--prices: {error}") from None
    prices = Prices(entry.read, entry.write, entry.output, entry.least_tokens)
    return Charges(name, entry.as_of, prices, entry.ttl_seconds)


Unit = Literal["words", "tokens"]
CODECS: Mapping[str, Codec] = {codec.tag: codec for codec in (OpenAIChat(), AnthropicMessages(), OpenAIResponses())}
RANKS_SUFFIX = ".tiktoken"


class Store(TranscriptStore, SummaryStore, Protocol):
    """Both stores in one, as the adapters are."""


class Live(Protocol):
    """A session that a recording is said to again."""

    def record(self, message: Message, usage: Usage | None) -> tuple[StoredMessage, ...]:
        """Record a message, and what the newest request was billed (None: nobody says it); return it as stored."""

    def assemble(self) -> ModelRequest:
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

    window: ContextWindow
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
        return self.window.window_tokens - self.window.reserved_output_tokens

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
    window = open_window(WindowSettings(window_tokens, reserve_tokens, source=source), meter.name, meter.certificate)
    room_tokens = window.window_tokens - window.reserved_output_tokens
    settings = _settings(strategy_name, room_tokens, unit, charges)
    return Terms(window, meter, strategy_name, settings, unit, charges)


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


# A recording as it would have been in a mode: with the mode's system text in front of all that was
# said.


def prompt_of(mode: str, terms: Terms) -> SystemPrompt | None:
    """Return the system text of a mode in the window of a replay, ours or one of ./squidbot.toml; None for "off".

    Raises:
        ConfigError: there is no such mode, or not in a window of that size; or squidbot.toml can't be read.
        BudgetError: its text does not fit.
    """
    if mode == OFF:
        return None
    templates = templates_of(load_settings())
    if mode not in templates:
        raise ConfigError(f"--mode: unknown mode {mode!r:.60}, known: {', '.join((OFF, *templates))}")
    return build_prompt(templates[mode], terms.window.window_tokens, terms.meter.physical)


def in_mode(conversations: Iterable[Conversation], prompt: SystemPrompt) -> list[Conversation]:
    """Return conversations with a system text behind those that they begin with; it is no message of the recording."""
    return [_with_text(one, prompt.text) for one in conversations]


def _with_text(conversation: Conversation, text: str) -> Conversation:
    said = conversation.messages
    at = next((place for place, message in enumerate(said) if message.role != "system"), len(said))
    line = conversation.lines[min(at, len(said) - 1)]
    message = CODECS[conversation.codec].to_message({"role": "system", "content": text})
    return replace(
        conversation,
        messages=(*said[:at], message, *said[at:]),
        lines=(*conversation.lines[:at], line, *conversation.lines[at:]),
        sources=(*conversation.sources[:at], -1, *conversation.sources[at:]),
        usages=(*conversation.usages[:at], None, *conversation.usages[at:]),
        unanswered=tuple((place + (place >= at), call) for place, call in conversation.unanswered),
    )


# A replay under a profile: its sessions are those of a program whose squidbot.toml names it, with
# nothing left out.

# What a replay has of its own: no file, no thread, no facts, and no documents but those that were said.
OWN: Mapping[str, Mapping[str, object]] = {
    "store": {"adapter": "replayed"},
    "summary": {"scheduler": "none"},
    "memory": {"enabled": False},
    "journal": {"enabled": False},
    "context": {"folder": "", "autoload_project_docs": False},
}


def settings_of(profile: str, **given: object) -> dict[str, object]:
    """Return the settings of a replay: a profile, and above it what the user wrote, by dotted names; None for nothing.

    Names have two underscores for a dot: `budget__counter`.
    """
    settings: dict[str, dict[str, object]] = {table: dict(keys) for table, keys in OWN.items()}
    for name, value in given.items():
        if value is not None:
            table, _, key = name.partition("__")
            settings.setdefault(table, {})[key] = value
    return {"profile": profile, **settings}


def profiled_terms(
    settings: Mapping[str, object], window_tokens: int, counter: TokenCounter, charges: Charges = SCORING
) -> Terms:
    """Return the terms of a replay under settings, measured by `counter`, whatever the sessions themselves count by.

    Raises:
        ConfigError: there is no such profile, or a value of the settings is wrong.
        BudgetError: the reserve leaves no room for input.
    """
    from squidbot.adapters.stdlib import InMemoryStore  # noqa: PLC0415  # only to look what a session would have

    profiled = Profiled(str(settings["profile"]), settings, charges)
    session = profiled.session("terms", "openai.chat", InMemoryStore())
    loaded = session.wired.loaded
    unit: Unit = "words" if loaded.policy and loaded.settings.budget.caps.unit == "words" else "tokens"
    window = session.wired.window("", window_tokens)
    return Terms(
        window,
        Meter(counter),
        loaded.settings.pressure.strategy,
        session.wired.history(window),
        unit,
        charges,
        opens=profiled,
        profile=profiled.name,
    )


@dataclass(frozen=True, slots=True)
class Profiled:
    """Opens sessions under settings that name a profile."""

    name: str
    settings: Mapping[str, object]
    charges: Charges = SCORING

    def live(self, conversation: Conversation, terms: Terms, store: Store) -> Live:
        """Return a session for a conversation, in the window of the terms.

        Raises:
            StoreError: the store failed.
        """
        return _Live(self.session(conversation.id, conversation.codec, store, terms.window.window_tokens))

    def session(self, session_id: str, form: str, store: Store, window_tokens: int | None = None) -> Session:
        """Return a session of that id in a store.

        Raises:
            ConfigError: there is no such profile, or a value of the settings is wrong.
            BudgetError: the reserve leaves no room for input.
            StoreError: the store failed.
        """
        wired = wire(load_settings(self.settings), [_Offer(store)])
        return Session(wired, session_id, wired.window("", window_tokens), wired.codecs[form])


class _Live:
    """A session as the runner drives it: at the times of the recording, or at none that goes on."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._now = 0.0

    def record(self, message: Message, usage: Usage | None) -> tuple[StoredMessage, ...]:
        """Record a message, and what the newest request was billed; return it as stored."""
        self._now = self._now if message.time is None else message.time
        return self._session.record(message, usage=usage, now=self._now)

    def assemble(self) -> ModelRequest:
        """Return the request for what is recorded."""
        return self._session.assemble(now=self._now).core


class _Offer:
    """The extension that has sessions kept in the store of the replay."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @hookimpl
    def register_adapters(self, register: Register) -> None:
        """Offer the store."""
        register.store("replayed", lambda _: self._store)


# What a provider would report for the requests of a replay: as the recording was billed, or as a
# counter counts.


class Biller(Protocol):
    """Says what a provider reports for a request."""

    def usage(self, assembly: ModelRequest, index: int) -> Usage | None:
        """Return what is reported for a request that the message at a place of the conversation answers."""


def biller_of(given: str, conversation: Conversation, meter: Meter, reader: Reader) -> Biller | None:
    """Return who bills the requests: "none" for nobody, "recorded", or a counter as `open_counter` takes it.

    Raises:
        ConfigError: there is no such counter, or the recording has no two reports of which one extends the other.
    """
    if given == "none":
        return None
    if given == "recorded":
        return _Recorded(conversation, meter)
    return _Counted(open_counter(given), reader)


class _Counted:
    """Bills the texts of a request by a counter, with what a template puts around each message and all of them."""

    def __init__(self, counter: TokenCounter, reader: Reader) -> None:
        self._counter = counter
        self._reader = reader
        self._known: dict[str, int] = {}

    def usage(self, assembly: ModelRequest, index: int) -> Usage:
        """Return the count of the request; the answer is not billed."""
        del index
        texts_tokens = sum(self._tokens(block.text) + TEMPLATE_TOKENS for block in self._reader.blocks(assembly))
        return Usage(texts_tokens + REQUEST_TOKENS)

    def _tokens(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = self._counter.count(text)
        return self._known[text]


class _Recorded:
    """Bills each message as the recording's provider did.

    The difference of two reports is what the messages between them cost there: it is shared among them by what was
    reported for the answer, reasoning included, and by what the others are counted as. Where the recorded requests did
    not extend one another or an answer between them is missing, and for texts of squidbot's, the mean of all others
    holds.
    """

    def __init__(self, conversation: Conversation, meter: Meter) -> None:
        counts = [meter.said(one).bound for one in conversation.messages]
        steps = [step for step in _steps(conversation) if step.tokens >= 0 and step.is_whole]
        if not steps:
            raise ConfigError(f"--usage recorded: {conversation.path} does not say what two requests in a row cost")
        counted = sum(sum(counts[step.first : step.last]) for step in steps)
        self._usages = conversation.usages
        self._mean = sum(step.tokens for step in steps) / max(1, counted)
        self._costs = [count * self._mean for count in counts]
        for step in steps:
            self._costs[step.first : step.last] = step.shared(counts)

    def usage(self, assembly: ModelRequest, index: int) -> Usage:
        """Return the request's size by what its messages cost, and the answer's as it was reported."""
        usage = self._usages[index]
        return Usage(round(sum(map(self._tokens, assembly.parts))), usage.output_tokens if usage else 0)

    def _tokens(self, part: Part) -> float:
        whole = part.payload is not None and part.text is None and part.arguments is None
        return self._costs[part.first_seq] if whole else part.cost.bound * self._mean


class _Step(NamedTuple):
    """Messages from an answer until behind what was answered next, with what the request grew by, in tokens.

    `is_whole`: no answer is missing between them, as where two of the user's messages follow each other.
    """

    first: int
    last: int
    tokens: int
    output_tokens: int
    is_whole: bool

    def shared(self, counts: Sequence[int]) -> list[float]:
        """Return what each of its messages cost, `counts` being what all messages are counted as."""
        said = [self.output_tokens or counts[self.first], *counts[self.first + 1 : self.last]]
        rate = self.tokens / max(1, sum(said))
        return [count * rate for count in said]


def _steps(conversation: Conversation) -> list[_Step]:
    """Return what stands between reports that follow each other."""
    billed = [
        (at, usage)
        for at, (one, usage) in enumerate(zip(conversation.messages, conversation.usages, strict=True))
        if one.role == "assistant" and usage is not None and usage.input_tokens > 0
    ]
    roles = [one.role for one in conversation.messages]
    return [
        _Step(
            first,
            last,
            after.input_tokens - before.input_tokens,
            before.output_tokens,
            is_whole=("user", "user") not in pairwise(roles[first:last]),
        )
        for (first, before), (last, after) in pairwise(billed)
    ]


# What a request holds, as text: its parts read back from the very payloads that would be sent.

# Between two messages without a time; as the scorer of dumps assumes it.
ASSUMED_STEP_SECONDS = 8.0


@dataclass(frozen=True, slots=True)
class Block:
    """One message of a request, or one of the tool results that a message carries.

    Attributes:
        role: whose turn it is for the provider.
        kind: a value of `Kind`.
        text: what the model reads of it, tool calls as lines `name arguments`.
        source: the places in the recording, from 0, of what it stands for; empty for none.
        tool_calls: the ids of the calls it makes.
        tool_result: the id of the call it answers; None where it answers none.
    """

    role: str
    kind: str
    text: str
    source: tuple[int, ...] = ()
    tool_calls: tuple[str, ...] = ()
    tool_result: str | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """A conversation as blocks: what was said, each message as one block or more, and when, in seconds."""

    said: tuple[tuple[Block, ...], ...]
    times: tuple[float, ...]

    @property
    def calls(self) -> list[int]:
        """The places of the assistant's messages that something stands before: each answered one model call."""
        return [at for at, blocks in enumerate(self.said) if at and blocks[0].role == "assistant"]


class Reader:
    """Reads requests of one conversation. A part that stays from request to request is read once."""

    def __init__(self, conversation: Conversation, codecs: Mapping[str, Codec]) -> None:
        """Take the conversation, whose places become sources, and the codecs of its payloads by tag."""
        self._sources = conversation.sources
        self._codecs = codecs
        self._known: dict[Part, tuple[Block, ...]] = {}
        self._ranges: dict[Part, tuple[Block, ...]] = {}
        self._plan_id: int | None = None

    def blocks(self, assembly: ModelRequest) -> tuple[Block, ...]:
        """Return the request as blocks, in order."""
        plan_id = assembly.plan.plan_id if assembly.plan else None
        if plan_id != self._plan_id:
            self._ranges, self._plan_id = {}, plan_id
        return tuple(block for part in assembly.parts for block in self._read(part, assembly.parts))

    def said(self, conversation: Conversation) -> tuple[tuple[Block, ...], ...]:
        """Return every message of the conversation as it was said."""
        return tuple(
            self._verbatim(
                Part(
                    kind=Kind.SYSTEM if message.role == "system" else Kind.MESSAGE,
                    role=message.role,
                    cost=Cost(0, 0),
                    first_seq=seq,
                    last_seq=seq,
                    payload=message.payload,
                    codec=message.codec,
                    call_ids=tuple(call.id for call in message.calls),
                    result_ids=message.results,
                ),
            )
            for seq, message in enumerate(conversation.messages)
        )

    def _read(self, part: Part, request: Sequence[Part]) -> tuple[Block, ...]:
        if part.payload is None and part.first_seq < part.last_seq:
            if part not in self._ranges:
                self._ranges[part] = self._standing_for(part, request)
            return self._ranges[part]
        if part not in self._known:
            self._known[part] = self._verbatim(part) if part.payload is not None else (self._made(part),)
        return self._known[part]

    def _standing_for(self, part: Part, request: Sequence[Part]) -> tuple[Block, ...]:
        """Return a summary or a pointer; its sources are the messages of its run that are not sent themselves."""
        sent = {one.first_seq for one in request if one.first_seq == one.last_seq}
        hidden = (seq for seq in range(part.first_seq, part.last_seq + 1) if seq not in sent)
        return (replace(self._made(part), source=self._places(hidden)),)

    def _made(self, part: Part) -> Block:
        return Block(part.role, part.kind.value, part.text or "", self._places(_run(part)))

    def _verbatim(self, part: Part) -> tuple[Block, ...]:
        """Return a part with a payload as it is sent: encoded, and read back from that."""
        codec = self._codecs[part.codec or ""]
        sent = codec.encode(part)
        places = self._places(_run(part))
        if len(part.result_ids) > 1:
            return tuple(_answers(part, sent, codec, places))
        result = part.result_ids[0] if part.result_ids else None
        return (Block(part.role, part.kind.value, _rendered(codec, sent), places, part.call_ids, result),)

    def _places(self, seqs: Iterator[int] | range) -> tuple[int, ...]:
        return tuple(sorted({self._sources[seq] for seq in seqs if self._sources[seq] >= 0}))


def recording_of(conversation: Conversation, reader: Reader) -> Recording:
    """Return a conversation as blocks. A message without a time is taken to come 8 seconds after the one before it."""
    times: list[float] = []
    for message in conversation.messages:
        assumed = times[-1] + ASSUMED_STEP_SECONDS if times else 0.0
        times.append(assumed if message.time is None else message.time)
    return Recording(reader.said(conversation), tuple(times))


def _run(part: Part) -> range:
    return range(part.first_seq, part.last_seq + 1) if part.first_seq >= 0 else range(0)


def _rendered(codec: Codec, sent: str) -> str:
    """Return what the model reads of a payload that is sent: a message, or the items of a step."""
    value = jsontext.parse(sent)
    return codec.decode(jsontext.write({"output": value}) if isinstance(value, list) else sent).rendered


def _answers(part: Part, sent: str, codec: Codec, places: tuple[int, ...]) -> Iterator[Block]:
    """Yield a block for each tool result of a message that carries several, as Anthropic's do."""
    content = _content(sent)
    results = [item for item in content if isinstance(item, dict) and item.get("type") == "tool_result"]
    for identifier, item in zip(part.result_ids, results, strict=True):
        alone = codec.decode(jsontext.write({"role": "user", "content": [item]}))
        yield Block(part.role, part.kind.value, alone.rendered, places, (), identifier)
    beside = [item for item in content if item not in results]
    if beside:
        alone = codec.decode(jsontext.write({"role": "user", "content": beside}))
        yield Block("user", part.kind.value, alone.rendered, places)


def _content(payload: str) -> list[object]:
    value = jsontext.parse(payload)
    content = value.get("content") if isinstance(value, dict) else None
    return content if isinstance(content, list) else []
