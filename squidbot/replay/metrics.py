"""Measures what a policy costs and keeps, on a recorded conversation, without a language model.

The agent's next recorded message shows what it needed. The measures, for each conversation:

- over: requests whose bound and the reserve exceed the window; pairs: those with a tool result without its call
  before it, or a call without its result;
- bite: billed input-token equivalents a call: 0.1 for a token read from the prompt cache, 1.25 for one written to it,
  where an entry lives 300 s after its last use; every summary a model makes costs 1 x its input and 5 x its output.
  These are Anthropic's, in units of an uncached input token; `Charges` has others;
- reuse: the share of all input tokens that were a cached prefix; breaks: requests that do not extend the one before;
- nlr, needed-literal recall: of the paths, identifiers, hashes and numbers that the agent wrote next and that had
  stood in the conversation before, the share that stands verbatim in the request, by their age in tokens;
- users: the share of earlier messages in the user's role that stand verbatim in the request; own: of those that no
  program wrote.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from squidbot.core.messages import Cost, Usage
from squidbot.core.tokens.counters import TEMPLATE_TOKENS, measure
from squidbot.core.view.steps import is_automated, total
from squidbot.replay.terms import SCORING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.core.ports import TokenCounter
    from squidbot.replay.recording import Recording, RequestBlock
    from squidbot.replay.terms import Charges


class _Costed(Protocol):
    """Whatever has a cost in tokens."""

    @property
    def cost(self) -> Cost: ...


Costed = TypeVar("Costed", bound=_Costed)
CACHE_TTL_SECONDS = SCORING.ttl_seconds
# How many requests the simulated cache holds; in practice, older ones are never the longest prefix.
CACHED_REQUESTS = 6
AGES_TOKENS = (0, 2_000, 8_000, 32_000)

# A run of the characters that names and paths are made of; one longer than this is data that nobody types again.
_RUN = re.compile(r"[\w@~./-]+")
_LONGEST_RUN_CHARS = 400
_LEAST_CHARS = 6
_LITERAL = re.compile(
    r"""
      (?a:[\w@~.-]*(?:/[\w@.-]+)+)                                  # a path
    | (?a:[A-Za-z_]+(?:[a-z]|[0-9][a-z0-9]*)[A-Z]\w+)               # a name inCamelCase
    | (?a:[A-Za-z0-9]+_\w+)                                         # a name_with_underscores
    | \b[0-9a-f]{7,40}\b                                            # a hash
    | \b\d{4,}\b                                                    # a number
    | \b[\w-]+\.[a-z]{2,4}\b                                        # a file's or a host's name
    """,
    re.VERBOSE,
)


def literals_in(text: str) -> frozenset[str]:
    """Return the paths, identifiers, hashes, numbers and file names of a text, of six characters or more."""
    return frozenset(
        found
        for run in _RUN.finditer(text)
        if run.end() - run.start() <= _LONGEST_RUN_CHARS
        for found in _LITERAL.findall(run.group())
        if len(found) >= _LEAST_CHARS
    )


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredText:
    """A block's role and text with their cost. There is one for each pair, so identity is equality."""

    role: str
    text: str
    cost: Cost


class Ruler:
    """Measures texts by one token counter, each text once."""

    def __init__(self, counter: TokenCounter) -> None:
        """Take the counter of the replay."""
        self._counter = counter
        self._measured: dict[tuple[str, str], MeasuredText] = {}
        self.literals = cache(literals_in)

    def measured(self, role: str, text: str) -> MeasuredText:
        """Return a block's role and text with their cost as a message, template included, in tokens."""
        known = self._measured.get((role, text))
        if known is None:
            cost = measure(self._counter, text).plus(Cost(TEMPLATE_TOKENS, TEMPLATE_TOKENS))
            known = self._measured[role, text] = MeasuredText(role, text, cost)
        return known

    def cost(self, blocks: Iterable[RequestBlock]) -> Cost:
        """Return the cost of blocks as messages, in tokens."""
        return total(self.measured(block.role, block.text).cost for block in blocks)


@dataclass(slots=True)
class Tally:
    """The measures of the requests of a conversation, as sums: you can add those of several.

    Attributes:
        calls: model calls with a request.
        over: requests above their limit.
        pairs_broken: tool results without their call, or calls without their result.
        breaks: requests that do not extend the one before.
        billed: the cost of all requests, in uncached input tokens.
        tokens: the estimated tokens of all requests.
        cached_tokens: how many of these were read from the prompt cache.
        largest_tokens: the estimated tokens of the largest request.
        users_held, users_all: earlier messages of the user that stood word for word in requests, and all of them.
        own_held, own_all: the same of those that the user wrote, and no program.
        needed, held: the literals that answers used, by their age in tokens, and those that the requests had.
    """

    calls: int = 0
    over: int = 0
    pairs_broken: int = 0
    breaks: int = 0
    billed: float = 0.0
    tokens: int = 0
    cached_tokens: int = 0
    largest_tokens: int = 0
    users_held: int = 0
    users_all: int = 0
    own_held: int = 0
    own_all: int = 0
    needed: Counter[int] = field(default_factory=Counter)
    held: Counter[int] = field(default_factory=Counter)

    @classmethod
    def total(cls, tallies: Iterable[Tally]) -> Tally:
        """Return the sums of several."""
        found = cls()
        for tally in tallies:
            found.add(tally)
        return found

    def add(self, other: Tally) -> None:
        """Add other sums."""
        sums = "calls", "over", "pairs_broken", "breaks", "billed", "tokens", "cached_tokens"
        for name in (*sums, "users_held", "users_all", "own_held", "own_all"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.largest_tokens = max(self.largest_tokens, other.largest_tokens)
        self.needed.update(other.needed)
        self.held.update(other.held)

    @property
    def bite(self) -> float:
        """Billed input-token equivalents a call."""
        return self.billed / max(1, self.calls)

    @property
    def mean_tokens(self) -> float:
        """Input tokens of a request, on average."""
        return self.tokens / max(1, self.calls)

    @property
    def reuse(self) -> float:
        """The share of input tokens that were read from the prompt cache."""
        return self.cached_tokens / max(1, self.tokens)

    @property
    def users_verbatim(self) -> float:
        """The share of the user's earlier messages that stood verbatim in requests; 1 where there was none."""
        return self.users_held / self.users_all if self.users_all else 1.0

    @property
    def own_verbatim(self) -> float:
        """The same of those that the user wrote, and no program."""
        return self.own_held / self.own_all if self.own_all else 1.0

    @property
    def nlr(self) -> dict[int, float | None]:
        """Needed-literal recall by age in tokens; None where nothing of that age was needed."""
        return {age: self.held[age] / self.needed[age] if self.needed[age] else None for age in AGES_TOKENS}


class PromptCache(Generic[Costed]):
    """A provider's prompt cache: the newest requests; each expires some time after its last use, by the charges."""

    def __init__(self, charges: Charges) -> None:
        """Hold nothing yet."""
        self._charges = charges
        self._entries: list[tuple[Sequence[Costed], float]] = []

    def read(self, request: Sequence[Costed], now: float) -> int:
        """Return the tokens of `request` that are cached already, and cache it; `now` is in seconds."""
        alive = [entry for entry in self._entries if now - entry[1] <= self._charges.ttl_seconds][-CACHED_REQUESTS:]
        best, best_at = 0, -1
        for at, (known, _) in enumerate(alive):
            shared = self._charges.cached(_tokens(request[: _shared(known, request)]))
            if shared > best:
                best, best_at = shared, at
        if best:
            alive[best_at] = (alive[best_at][0], now)
        self._entries = [*alive, (request, now)]
        return best


class Bill(NamedTuple):
    """What the call costs that the message `answer` answers: input tokens, those read from the cache, and the price.

    `price` is in uncached input tokens, with summaries that a model makes, but without the answer. `is_over`: the
    request exceeds its limit.
    """

    answer: int
    tokens: int
    cached_tokens: int
    price: float
    is_over: bool


class Missing(NamedTuple):
    """A name or number that the message `answer` used, last seen at `seen` of the recording, `age` tokens before."""

    answer: int
    name: str
    age: int
    seen: int


class Scorer:
    """Counts one policy's requests for one recording, in the order of its calls."""

    def __init__(self, recording: Recording, ruler: Ruler, limit_tokens: int, charges: Charges = SCORING) -> None:
        """Take the conversation, the ruler, the limit of a request's bound (window less reserve), and the charges."""
        self.tally = Tally()
        self._recording = recording
        self._ruler = ruler
        self._limit_tokens = limit_tokens
        self._charges = charges
        self.bills: list[Bill] = []
        self.missing: list[Missing] = []
        self._cache = PromptCache[MeasuredText](charges)
        self._before: list[MeasuredText] | None = None
        self._read = 0
        self._position_tokens = 0
        # Where each name stood last: tokens, and the message.
        self._last_seen: dict[str, tuple[int, int]] = {}
        self._users: list[str] = []
        self._own: list[str] = []

    def take(
        self,
        index: int,
        blocks: Sequence[RequestBlock],
        summaries: Iterable[Usage] = (),
        within: tuple[int, int] | None = None,
    ) -> bool:
        """Count the request whose answer is at `index` of the recording; return whether it breaks the prefix.

        `within` has the enforced bound and the limit of the request, in tokens; None: the sum of the blocks' bounds,
        and the scorer's own limit.
        """
        self._read_on(index)
        request = [self._ruler.measured(block.role, block.text) for block in blocks]
        bound_tokens, limit_tokens = within or (sum(one.cost.bound for one in request), self._limit_tokens)
        tally = self.tally
        tally.calls += 1
        tally.over += bound_tokens > limit_tokens
        tally.pairs_broken += _breaks_pairs(blocks)
        broken = self._before is not None and request[: len(self._before)] != self._before
        tally.breaks += broken
        self._before = request
        asked = sum(self._charges.prices.asked(usage) for usage in summaries)
        self._bill(index, request, asked, is_over=bound_tokens > limit_tokens)
        self._recall(index, blocks)
        return broken

    def _bill(self, index: int, request: list[MeasuredText], asked: float, *, is_over: bool) -> None:
        tokens = _tokens(request)
        cached = self._cache.read(request, self._recording.times[index - 1])
        bill = Bill(index, tokens, cached, self._charges.request(tokens, cached) + asked, is_over)
        self.bills.append(bill)
        self.tally.tokens += tokens
        self.tally.cached_tokens += cached
        self.tally.largest_tokens = max(self.tally.largest_tokens, tokens)
        self.tally.billed += bill.price

    def _recall(self, index: int, blocks: Sequence[RequestBlock]) -> None:
        visible = [self._ruler.literals(block.text) for block in blocks]
        for name in self._literals(index):
            if name in self._last_seen:
                seen_tokens, seen = self._last_seen[name]
                age = self._position_tokens - seen_tokens
                ages = [each for each in AGES_TOKENS if age >= each]
                self.tally.needed.update(ages)
                if any(name in names for names in visible):
                    self.tally.held.update(ages)
                else:
                    self.missing.append(Missing(index, name, age, seen))
        texts = {block.text for block in blocks if block.role == "user"}
        self.tally.users_held += sum(text in texts for text in self._users)
        self.tally.users_all += len(self._users)
        self.tally.own_held += sum(text in texts for text in self._own)
        self.tally.own_all += len(self._own)

    def _read_on(self, index: int) -> None:
        """Read the messages before `index`."""
        for at in range(self._read, index):
            message = self._recording.messages[at]
            if message[0].role == "user":
                self._users.append(message[0].text)
                self._own += [] if is_automated(message[0].text) else [message[0].text]
            if message[0].role != "system":
                self._position_tokens += self._ruler.cost(message).estimate
                self._last_seen.update(dict.fromkeys(self._literals(at), (self._position_tokens, at)))
        self._read = max(self._read, index)

    def _literals(self, index: int) -> set[str]:
        return set().union(*(self._ruler.literals(block.text) for block in self._recording.messages[index]))


def price_of_everything(recording: Recording, ruler: Ruler, charges: Charges = SCORING) -> float:
    """Return the billed input-token equivalents of all calls together, if each had sent everything."""
    answered = set(recording.calls)
    billed, tokens, before, sent_at = 0.0, 0, 0, float("-inf")
    for index, message in enumerate(recording.messages):
        if index in answered:
            now = recording.times[index - 1]
            cached = charges.cached(before) if now - sent_at <= charges.ttl_seconds else 0
            billed += charges.request(tokens, cached)
            before, sent_at = tokens, now
        tokens += ruler.cost(message).estimate
    return billed


def _tokens(request: Sequence[Costed]) -> int:
    return sum(one.cost.estimate for one in request)


def _shared(known: Sequence[Costed], request: Sequence[Costed]) -> int:
    """Return the number of equal blocks at the beginning of two requests."""
    if known == request[: len(known)]:
        return len(known)
    return next(at for at, one in enumerate(known) if at >= len(request) or one != request[at])


def _breaks_pairs(blocks: Sequence[RequestBlock]) -> bool:
    """Return whether a result has no call before it, or a call, unless it is the newest block's, has no result."""
    answered = {block.tool_result for block in blocks if block.tool_result}
    called: set[str] = set()
    for at, block in enumerate(blocks):
        if block.tool_result and block.tool_result not in called:
            return True
        called.update(block.tool_calls)
        if at < len(blocks) - 1 and not answered.issuperset(block.tool_calls):
            return True
    return False
