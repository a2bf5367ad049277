"""The rules that every request of a host keeps, whatever the host."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from squidbot.testing.hosts.values import Request, Sent

__all__ = ["broken_prefixes", "faults_of"]


def faults_of(request: Request, budget: int | None) -> list[str]:
    """Return which rules a request breaks, as phrases; none where it is valid and within its budget in tokens."""
    said = [each for each in request.messages if each.role != "system"]
    found = [*request.faults, *_of_ends(said), *_of_pairs(said, has_items=request.has_items)]
    if budget is not None and request.tokens > budget:
        found.append(f"it has {request.tokens:,} tokens with system text and tools, the budget is {budget:,}")
    heads = [each.role == "system" for each in request.messages]
    if heads != sorted(heads, reverse=True):
        found.append("a system message stands behind others")
    return found


def _of_ends(said: Sequence[Sent]) -> Iterator[str]:
    if not said:
        yield "it has no message"
        return
    if said[0].role != "user" or said[0].result_ids:
        yield f"the first message is of {said[0].role!r}, and not the user's"
    if said[-1].role == "assistant":
        yield "the last message is the model's own"


def _of_pairs(said: Sequence[Sent], *, has_items: bool) -> Iterator[str]:
    """Tell of calls without results right behind them, and of results without calls (V1)."""
    open_calls: set[str] = set()
    is_answering = False
    for each in said:
        results = set(each.result_ids)
        if results - open_calls:
            yield f"results of no call before them: {sorted(results - open_calls)}"
        open_calls -= results
        is_answering |= bool(results)
        # Calls that are items of their own stand side by side, until the first result comes.
        is_beside = has_items and each.role == "assistant" and not is_answering
        if open_calls and not results and not is_beside:
            yield f"calls without results behind them: {sorted(open_calls)}"
            open_calls.clear()
        is_answering &= not each.call_ids
        open_calls |= set(each.call_ids)
    if open_calls:
        yield f"calls without results at the end: {sorted(open_calls)}"


def broken_prefixes(requests: Sequence[Request], planned: Sequence[int]) -> list[str]:
    """Return which requests do not extend the one before byte for byte, though no view plan was recorded between."""
    broken = []
    pairs = pairwise(zip(requests, planned, strict=True))
    for number, ((old, before), (new, after)) in enumerate(pairs, 2):
        if before == after and new.wires[: len(old.wires)] != old.wires:
            place = next(
                (at for at, (one, other) in enumerate(zip(old.wires, new.wires, strict=False)) if one != other), -1
            )
            what = ("its system text", "its tools")[place] if 0 <= place < 2 else f"its message {place - 1}"
            what = f"{what} differs" if place >= 0 else f"it has {len(new.messages)} messages, that {len(old.messages)}"
            broken.append(f"request {number} does not begin with the one before, and no plan was recorded: {what}")
    return broken
