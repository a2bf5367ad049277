"""What extensions say breaks no promise, however often they change their minds."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.engine import Inputs

from .driver import Host, Setup, opened, requests
from .histories import effort, histories, setups

if TYPE_CHECKING:
    from squidbot.core.messages import Message, Summary

TAILS = (None, "it is noon", "word " * 30, "</notice>", "it rains")
TEXTS = (None, "Squids were fed.", "word " * 400, "Nobody knows.")


class Fickle:
    """`core.extended.Extended` that says something else each time it is asked, and keeps to no limit."""

    def __init__(self, tails: list[str | None], verdicts: list[bool | None], texts: list[str | None]) -> None:
        self.tails, self.verdicts, self.texts = tails, verdicts, texts
        self.asked = 0

    def tail(self, _prompt: str, _limit_tokens: int) -> str | None:
        """Return the next tail."""
        self.asked += 1
        return self.tails[self.asked % len(self.tails)]

    def should_compact(self, fraction: float, *, due: bool) -> bool | None:
        """Return the next verdict."""
        assert fraction >= 0
        assert due in {True, False}
        self.asked += 1
        return self.verdicts[self.asked % len(self.verdicts)]

    def represent(self, told: Summary, limit_tokens: int) -> str | None:
        """Return the next text."""
        assert told.cost.bound >= 0
        assert limit_tokens > 0
        self.asked += 1
        return self.texts[self.asked % len(self.texts)]


@effort(60)
@given(
    history=histories(),
    setup=setups(),
    tails=st.lists(st.sampled_from(TAILS), min_size=1, max_size=4),
    verdicts=st.lists(st.sampled_from([None, True, False]), min_size=1, max_size=4),
    texts=st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4),
    restarts=st.frozensets(st.integers(0, 14)),
)
def test_requests_fit_extend_each_other_and_come_back_without_the_extension(  # noqa: PLR0917  # drawn
    history: list[Message],
    setup: Setup,
    tails: list[str | None],
    verdicts: list[bool | None],
    texts: list[str | None],
    restarts: frozenset[int],
) -> None:
    """Promises 1, 6, 7 and 13: what was said is frozen, and what stays with the plan is read back from it."""
    fickle = Fickle(tails, verdicts, texts)
    host = Host(InMemoryStore(), setup, inputs=lambda _: Inputs(extended=fickle), watch=False, restarts=restarts)
    calls = host.run(history)
    for made in requests(calls):
        assert made.cost.bound <= made.limit.bound
        assert made.cost.estimate <= made.limit.estimate
    recorded = [call for call in calls if call.assembly][: host.replies]
    for before, after in pairwise(recorded):
        first, second = before.request, after.request
        if second.event is None and (first.plan and first.plan.plan_id) == (second.plan and second.plan.plan_id):
            assert second.payloads[: len(first.payloads)] == first.payloads
    again = opened(host.store, setup)
    numbered = [call.request for call, _ in zip(calls, range(host.replies), strict=False) if call.assembly]
    assert [again.request(number).payloads for number in range(len(numbered))] == [made.payloads for made in numbered]
