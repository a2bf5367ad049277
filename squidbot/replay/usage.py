"""What a provider would report for the requests of a replay: as the recording was billed, or as a counter counts."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol

from squidbot.core.counting.meter import REQUEST_TOKENS, TEMPLATE_TOKENS
from squidbot.core.errors import ConfigError
from squidbot.core.messages import Usage
from squidbot.replay.wiring import open_counter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.codecs.transcripts import Conversation
    from squidbot.core.counting.meter import Meter
    from squidbot.core.messages import Part
    from squidbot.core.ports import TokenCounter
    from squidbot.core.view.assembly import Assembly
    from squidbot.replay.blocks import Reader

__all__ = ["Biller", "biller_of"]


class Biller(Protocol):
    """Says what a provider reports for a request."""

    def usage(self, assembly: Assembly, index: int) -> Usage | None:
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

    def usage(self, assembly: Assembly, index: int) -> Usage:
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

    def usage(self, assembly: Assembly, index: int) -> Usage:
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
