"""Says in words and figures what a replay has shown: for the command line, for notebooks, and as a sentence."""

from __future__ import annotations

import math
from itertools import compress
from typing import TYPE_CHECKING

from squidbot.core.prompts import OFF
from squidbot.core.text import cell, count
from squidbot.display import ANSWER, CACHED, FREE, NEW, Display
from squidbot.replay.terms import SCORING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from squidbot.replay.metrics import Tally
    from squidbot.replay.runner import ReplayOutcome, Results
    from squidbot.replay.terms import Terms

# The age in tokens for the separate recall column in tables.
OLD_TOKENS = 8_000


def results_display(results: Results) -> Display:
    """Return what shows a replay: a call's share of the window on average, and the policies, or else the facts."""
    total, terms = results.total, results.terms
    tally, window = total.tally, terms.window
    mean, cached = round(tally.mean_tokens), round(tally.mean_tokens * tally.reuse)
    free = window.window_tokens - window.reserved_output_tokens - mean
    parts = {CACHED: cached, NEW: mean - cached, FREE: free, ANSWER: window.reserved_output_tokens}
    bar = {name: tokens for name, tokens in parts.items() if tokens > 0}
    about, columns, rows = conditions(terms), tuple[str, ...](), list[tuple[str, ...]]()
    if compared := policy_rows(results):
        about = f"{about}; * what was replayed, + best trade-off of cost and recall"
        columns, rows = tuple(compared[0]), [tuple(map(cell, row.values())) for row in compared]
    else:
        for name, fact in facts(total, terms):
            rows.append((name or rows[-1][0], fact))
    return Display(heading(results), about, bar, columns, tuple(rows))


def heading(results: Results) -> str:
    """Return what was replayed: the conversation or how many, messages, calls, tokens."""
    outcomes, total = results.outcomes, results.total
    name = outcomes[0].id if len(outcomes) == 1 else f"{len(outcomes):,} conversations"
    counts = f"{count(total.messages, 'message')}, {count(total.calls, 'model call')}"
    return f"{name}: {counts}, {total.said_tokens:,} tokens of history"


def sentence(results: Results) -> str:
    """Return the results on one line: what was replayed, what a call costs, how often a plan changed, what failed."""
    total = results.total
    tally, limit_tokens = total.tally, total.limit_tokens or results.terms.limit_tokens
    said = [heading(results)]
    if tally.calls:
        most = f"at most {total.largest_bound_tokens:,} of {limit_tokens:,}"
        everything = total.everything_bite
        said.append(f"{tally.mean_tokens:,.0f} tokens a call, {most}")
        said.append(f"{share_text(tally.bite / everything if everything else None)} of the cost of sending everything")
    said.append(count(len(total.events), "plan change"))
    if total.failures:
        said.append(f"{count(len(total.failures), 'call')} without a request")
    return "; ".join(said)


def policy_rows(results: Results) -> list[dict[str, object]]:
    """Return the rows of a comparison, with marks behind the policy that was replayed and the best trade-offs."""
    front = on_front([row.tally for row in results.rows])
    return [
        policy_row(f"{row.name} {'*' * (row.name == results.terms.label)}{'+' * first}".rstrip(), row.tally)
        for row, first in zip(results.rows, front, strict=True)
    ]


def percentile(values: Iterable[float], share: float) -> float | None:
    """Return the smallest value that `share` of the values don't exceed (nearest rank); `None` for no values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def on_front(tallies: Sequence[Tally]) -> tuple[bool, ...]:
    """Return for each policy whether it is on the front of cost and recall.

    Only policies count that made every request, within the window and with whole pairs. One is on the front if no other
    is cheaper with equal recall, or as cheap with more recall: of names and numbers of any age.
    """
    most = max((tally.calls for tally in tallies), default=0)
    sound = [(tally.calls, tally.over, tally.pairs_broken) == (most, 0, 0) for tally in tallies]
    points = [(tally.bite, -(tally.nlr[0] or 0.0)) for tally in tallies]

    def is_best(point: tuple[float, float]) -> bool:
        others = (other for other in compress(points, sound) if other != point)
        return not any(other[0] <= point[0] and other[1] <= point[1] for other in others)

    return tuple(is_sound and is_best(point) for is_sound, point in zip(sound, points, strict=True))


def conditions(terms: Terms) -> str:
    """Return the terms of a replay: window, strategy, counter, prices."""
    window, meter, charges = terms.window, terms.meter, terms.charges
    most = terms.settings.policy_limit
    words = f", and at most {most:,} words" if most else ", and within its caps" if terms.unit == "words" else ""
    profile = f"profile {terms.profile}, " if terms.profile else ""
    when = f" of {charges.as_of}" if charges.as_of else ""
    prices = "" if charges is SCORING else f"; prices {charges.name}{when}"
    return (
        f"window {window.window_tokens:,} tokens, {window.reserved_output_tokens:,} of them for the answer{words}; "
        f"{profile}strategy {terms.strategy}; counted by {meter.physical.name} (bounds: {meter.certificate})"
        f"{prices}{f'; mode {terms.mode}' if terms.mode != OFF else ''}"
    )


def facts(total: ReplayOutcome, terms: Terms) -> Iterator[tuple[str, str]]:
    """Yield what a replay has shown, each fact with its name; "" where it belongs to the one before."""
    tally, limit_tokens = total.tally, total.limit_tokens or terms.limit_tokens
    if total.failures and not tally.calls:
        yield "sent", f"nothing: of {count(total.calls, 'call')} no request fits {limit_tokens:,} tokens"
        return
    largest = f"largest {total.largest_bound_tokens:,} of {limit_tokens:,} by its bound"
    yield "sent", f"{tally.mean_tokens:,.0f} tokens a call on average, {largest}"
    yield "", f"{count(tally.over, 'request')} over the window, {tally.pairs_broken:,} with a broken tool pair"
    if total.failures:
        yield "", f"{count(len(total.failures), 'call')} had no request that fits"
    everything = total.everything_bite
    share = share_text(tally.bite / everything if everything else None)
    yield "cost", f"{tally.bite:,.0f} input tokens' worth a call: {share} of sending everything ({everything:,.0f})"
    yield "", f"{share_text(tally.reuse)} of the input was cached"
    explained = f"{len(total.unexplained):,} WITHOUT A COMPACTION" if total.unexplained else "each at a compaction"
    broke = f"{count(tally.breaks, 'request')} broke the cached prefix, {explained}"
    yield "", broke if tally.breaks else "every request extends the one before it"
    yield "kept", f"{share_text(tally.users_verbatim)} of the user's messages, word for word"
    yield "", _recall(tally)
    median, late = percentile(total.seconds, 0.5), percentile(total.seconds, 0.99)
    if median is None or late is None:
        yield "time", "no call"
    else:
        decided = f"{median * 1000:,.2f} ms of CPU to decide on a request (median)"
        yield "time", f"{decided}, 99 of 100 within {late * 1000:,.1f} ms"


def _recall(tally: Tally) -> str:
    shares = {age: share for age, share in tally.nlr.items() if share is not None}
    if not shares:
        return "the agent reused no name or number"
    older = ", ".join(f"{share_text(share)} after {age:,}" for age, share in shares.items() if age)
    behind = f"; by tokens since last seen: {older}" if older else ""
    return f"{share_text(shares[0])} of the names and numbers that the agent used next{behind}"


def policy_row(name: str, tally: Tally) -> dict[str, object]:
    """Return a row of the table of policies; `None` where a policy made no request."""
    row = {
        "cost": round(tally.bite),
        "cached": share_text(tally.reuse),
        "over": tally.over,
        "pairs": tally.pairs_broken,
        "breaks": tally.breaks,
        "users": share_text(tally.users_verbatim),
        "recall": share_text(tally.nlr[0]),
        ">8K": share_text(tally.nlr[OLD_TOKENS]),
    }
    return {"policy": name, **(row if tally.calls else dict.fromkeys(row))}


def share_text(share: float | None) -> str:
    """Return a share as a percentage; never 100 % or 0 % for one that is only close."""
    if share is None:
        return "-"
    shown = f"{share * 100:.0f}"
    if (shown == "100" and share < 1) or (shown == "0" and share > 0):
        shown = f"{min(share * 100, 99.9):.1f}" if share > 0.5 else f"{max(share * 100, 0.1):.1f}"
    return f"{shown} %"
