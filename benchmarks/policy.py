"""What the policy costs: a long conversation replayed in memory, call by call, through the engine.

Each window is replayed with the default counter and, where ranks are given, with the exact one, which leaves the policy
more of the window. A request's cached tokens are those of the longest common beginning with the request before it, in
whole messages; an input token that is read from the cache costs 0.1, one that is written to it 1.25. Tokens are counted
by the real tokenizer where ranks are given, else they are the engine's own estimates, and then nothing shows a request
over budget.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.clocks import Times, quantile
from benchmarks.host import CODEC, Stores, open_session
from benchmarks.report import Bar, Result, Table
from benchmarks.talk import conversation
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.engine import Inputs
from squidbot.core.tokens.counters import TEMPLATE_TOKENS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.host import Call
    from squidbot.core.engine import CoreSession
    from squidbot.core.messages import Part
    from squidbot.core.ports import TokenCounter

__all__ = ["measure"]

READ_PRICE, WRITE_PRICE = 0.1, 1.25
# Least reuse and highest price of an input token by window (performance.md, C2).
BARS = {32_000: (0.90, 0.21), 128_000: (0.97, 0.14)}


class Known(NamedTuple):
    """A part of a request as it was counted: its bytes and its tokens."""

    payload: str
    tokens: int


class Ledger:
    """Counts the requests of one replay."""

    def __init__(self, counter: TokenCounter | None, limit_tokens: int) -> None:
        """Take the real tokenizer, None for none, and what a request may cost, in tokens."""
        self.calls = self.over = self.breaks = self.tokens = self.cached = self.largest = 0
        self._counter = counter
        self._limit = limit_tokens
        self._parts: Sequence[Part] = ()
        self._known: list[Known] = []

    def take(self, parts: Sequence[Part]) -> None:
        """Count one request."""
        shared = 0
        for old, new, known in zip(self._parts, parts, self._known, strict=False):
            if old is not new and old != new and CODEC.encode(new) != known.payload:
                break
            shared += 1
        self.breaks += shared < len(self._parts)
        self._known = [*self._known[:shared], *map(self._counted, parts[shared:])]
        self._parts = parts
        cached, tokens = (sum(one.tokens for one in some) for some in (self._known[:shared], self._known))
        self.calls += 1
        self.cached += cached
        self.tokens += tokens
        self.over += tokens > self._limit
        self.largest = max(self.largest, tokens)

    @property
    def reuse(self) -> float:
        """The share of all input tokens that were cached."""
        return self.cached / self.tokens

    @property
    def price(self) -> float:
        """The mean price of an input token."""
        return (READ_PRICE * self.cached + WRITE_PRICE * (self.tokens - self.cached)) / self.tokens

    def _counted(self, part: Part) -> Known:
        payload = CODEC.encode(part)
        if self._counter is None:
            return Known(payload, part.cost.estimate)
        return Known(payload, TEMPLATE_TOKENS + self._counter.count(CODEC.decode(payload).rendered))


class Replay:
    """One conversation under one window."""

    def __init__(self, window_tokens: int, counter: TokenCounter | None, *, exact: bool = False) -> None:
        """Open an empty session; `counter` is the real tokenizer, with which the engine counts, too, if `exact`."""
        store = InMemoryStore()
        self.window_tokens = window_tokens
        self._session: CoreSession = open_session(
            Stores(store, store), window_tokens, counter=counter if exact else None
        )
        window = self._session.window
        self.name = f"{window_tokens:,} {'exact' if exact else window.counter}"
        self.ledger = Ledger(counter, window.window_tokens - window.reserved_output_tokens)
        self.causes: Counter[str] = Counter()
        self.quiet, self.events, self.records = Times(), Times(), Times()

    def take(self, call: Call) -> None:
        """Assemble and record one call."""
        made = self.quiet.of(lambda: self._session.assemble(call.incoming, Inputs(now=call.time)))
        if made.event:
            self.quiet.move_last_to(self.events)
            self.causes[made.event.cause] += 1
        self.ledger.take(made.parts)
        self.records.of(lambda: self._session.record(*made.incoming, call.reply, now=call.time))


def measure(
    windows: tuple[int, ...], turns: int, counter: TokenCounter | None, progress: Callable[[str], None]
) -> Result:
    """Replay a conversation of so many turns under each window."""
    progress(f"policy: making {turns:,} turns")
    said = list(conversation(turns))
    ways = (False, True) if counter else (False,)
    replays = [Replay(window_tokens, counter, exact=exact) for window_tokens in windows for exact in ways]
    for replay in replays:
        for number, turn in enumerate(said):
            if number % 100 == 0:
                progress(f"policy: turn {number:,} of {turns:,}, window {replay.name}")
            for call in turn:
                replay.take(call)
    result = Result("policy", [_table(turns, replays, counter)])
    result.bars = [bar for replay in replays for bar in _bars(replay, counter)]
    for replay in replays:
        causes = ", ".join(f"{cause} {count}" for cause, count in replay.causes.most_common())
        result.remarks.append(f"events at {replay.name}: {causes or 'none'}")
    return result


def _table(turns: int, replays: list[Replay], counter: TokenCounter | None) -> Table:
    rows: list[tuple[str, tuple[float | None, ...]]] = [
        ("model calls", tuple(replay.ledger.calls for replay in replays)),
        ("input, million tokens", tuple(replay.ledger.tokens / 1e6 for replay in replays)),
        ("requests over budget", tuple(replay.ledger.over if counter else None for replay in replays)),
        ("mean request, tokens", tuple(replay.ledger.tokens / replay.ledger.calls for replay in replays)),
        ("largest request, tokens", tuple(replay.ledger.largest for replay in replays)),
        ("events", tuple(len(replay.events.cpu) for replay in replays)),
        ("prefix breaks", tuple(replay.ledger.breaks for replay in replays)),
        ("reuse", tuple(replay.ledger.reuse for replay in replays)),
        ("price of an input token", tuple(replay.ledger.price for replay in replays)),
        ("assemble, CPU ms", tuple(replay.quiet.cpu_ms for replay in replays)),
        ("record in memory, CPU ms", tuple(replay.records.cpu_ms for replay in replays)),
        ("event, CPU ms", tuple(replay.events.cpu_ms for replay in replays)),
        ("event, CPU ms, p99", tuple(quantile(replay.events.cpu, 0.99) * 1e3 for replay in replays)),
        ("event, CPU ms, longest", tuple(max(replay.events.cpu, default=0.0) * 1e3 for replay in replays)),
    ]
    by = f"counted by {counter.name}" if counter else "the engine's own estimates, no ranks given"
    return Table(
        f"{turns:,} turns replayed, by window and counter ({by})", tuple(replay.name for replay in replays), tuple(rows)
    )


def _bars(replay: Replay, counter: TokenCounter | None) -> list[Bar]:
    ledger = replay.ledger
    bars = [Bar(f"requests over budget at {replay.name} (C1)", ledger.over, at_most=0)] if counter else []
    if replay.window_tokens in BARS:
        reuse, price = BARS[replay.window_tokens]
        bars.append(Bar(f"reuse at {replay.name} (C2)", ledger.reuse, at_least=reuse))
        bars.append(Bar(f"price of an input token at {replay.name} (C2)", ledger.price, at_most=price))
    return bars
