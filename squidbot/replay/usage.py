"""The usage that a provider would report for a replay's requests: from the recording's bills, or from a counter."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from squidbot.core.errors import ConfigError
from squidbot.core.messages import Usage
from squidbot.core.tokens.counters import REQUEST_TOKENS, TEMPLATE_TOKENS
from squidbot.replay.terms import open_counter

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.codecs.transcripts import Conversation
    from squidbot.core.messages import Part
    from squidbot.core.tokens.counters import Meter
    from squidbot.core.view.assembly import CoreAssembly
    from squidbot.replay.recording import Reader

# Returns the usage of the request answered by the message at a place of the conversation.
UsageReporter: TypeAlias = "Callable[[CoreAssembly, int], Usage]"


def reporter_of(given: str, conversation: Conversation, meter: Meter, reader: Reader) -> UsageReporter | None:
    """Return the reporter of usage: None for "none", or one by "recorded" or a counter, as `open_counter` takes it.

    Raises:
        ConfigError: there is no such counter, or no recorded report extends another.
    """
    if given == "none":
        return None
    return _recorded(conversation, meter) if given == "recorded" else _counted(given, reader)


def _counted(given: str, reader: Reader) -> UsageReporter:
    """Count the texts of a request, with the template's tokens around each message and around all of them."""
    count = cache(open_counter(given).count)

    def report(assembly: CoreAssembly, _: int) -> Usage:
        return Usage(sum(count(block.text) + TEMPLATE_TOKENS for block in reader.blocks(assembly)) + REQUEST_TOKENS)

    return report


def _recorded(conversation: Conversation, meter: Meter) -> UsageReporter:
    """Bill each message as the recording's provider did.

    The difference of two reports is the cost of the messages between them. An answer gets its reported part, reasoning
    included; the others share the rest by their counts. The mean of all others applies to squidbot's own texts, and
    where the recorded requests did not extend each other, or an answer between them is missing.
    """
    counts = [meter.said(message).bound for message in conversation.messages]
    roles = [message.role for message in conversation.messages]
    reports = [
        (at, usage)
        for at, usage in enumerate(conversation.usages)
        if roles[at] == "assistant" and usage is not None and usage.input_tokens > 0
    ]
    # Each with its first and last message, and the tokens by which the request grew.
    steps = [
        (first, last, after.input_tokens - before.input_tokens, before.output_tokens)
        for (first, before), (last, after) in pairwise(reports)
        if after.input_tokens >= before.input_tokens and ("user", "user") not in pairwise(roles[first:last])
    ]
    if not steps:
        raise ConfigError(
            f"--usage recorded: {conversation.path} reports no usage for two consecutive requests; leave the option "
            f"out, or name a counter"
        )
    counted = sum(sum(counts[first:last]) for first, last, _, _ in steps)
    mean = sum(tokens for _, _, tokens, _ in steps) / max(1, counted)
    costs = [count * mean for count in counts]
    for first, last, tokens, output_tokens in steps:
        shares = [output_tokens or counts[first], *counts[first + 1 : last]]
        rate = tokens / max(1, sum(shares))
        costs[first:last] = [share * rate for share in shares]

    def cost(part: Part) -> float:
        whole = part.payload is not None and part.text is None and part.arguments is None
        return costs[part.first_seq] if whole else part.cost.bound * mean

    def report(assembly: CoreAssembly, index: int) -> Usage:
        usage = conversation.usages[index]
        return Usage(round(sum(map(cost, assembly.parts))), usage.output_tokens if usage else 0)

    return report
