"""Notes keep to the parts that the layout of a window's tier has for them, and all promises hold beside (O-04)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.budget import LAYOUT_LEVELS, left_reserve_tokens

from .driver import Host, Setup, changed, requests
from .histories import effort, histories, tame
from .rules import breaks_at, pairs_broken, sent

if TYPE_CHECKING:
    from squidbot.core.budget import Layout
    from squidbot.core.messages import Message
    from squidbot.core.view.assembly import CoreAssembly

# What rounding of notes to their lines may add.
ROUNDING_TOKENS = 1


def laid(window_tokens: int) -> Setup:
    """Return a setup as profile `ollm` has it."""
    setup = changed(
        Setup(window_tokens, left_reserve_tokens(window_tokens)), patience=0.0, high_fraction=0.8, beside_summaries=True
    )
    settings = setup.settings.resolved({}, setup.window, tiers=True, layout=True)
    return Setup(window_tokens, setup.reserve, settings, setup.meter)


def layout_of(setup: Setup) -> Layout:
    """Return the layout of a setup."""
    assert setup.settings.layout is not None
    return setup.settings.layout


def told(one: CoreAssembly) -> dict[str, list[int]]:
    """Return what notes cost, by level, of a request."""
    costs: dict[str, list[int]] = {}
    for block in one.view.blocks:
        if block.segment.summary_id is not None:
            costs.setdefault(block.segment.representation.level, []).append(block.segment.note_tokens)
    return costs


def check_levels(setup: Setup, one: CoreAssembly) -> None:
    """Check that notes of each level, singly and together, keep to what the layout gives them."""
    layout, costs = layout_of(setup), told(one)
    for level in LAYOUT_LEVELS:
        assert sum(costs.get(level, [])) <= layout.tokens(level), (level, costs)
        assert all(each <= (layout.single(level) or 0) for each in costs.get(level, []))
    assert sum(costs.get("merged", [])) <= layout.merged
    assert sum(map(sum, costs.values())) <= layout.notes + ROUNDING_TOKENS


OTHERS = [
    pytest.param(window_tokens, marks=pytest.mark.slow) for window_tokens in (2048, 6000, 8192, 12_000, 20_000, 32_768)
]


@pytest.mark.parametrize("window_tokens", [4096, 16_384, *OTHERS])
def test_notes_of_each_level_keep_to_their_parts(window_tokens: int) -> None:
    """O-04, C23: in a long conversation, at each request; levels there are as many as the tier has."""
    setup = laid(window_tokens)
    host = Host(InMemoryStore(), setup, watch=False)
    host.run(tame(30 + window_tokens // 400, 120))
    made = requests(host.calls)
    assert sum(one.event is not None for one in made) > 2
    for one in made:
        check_levels(setup, one)
    seen = {level for one in made for level in told(one)}
    assert seen & {*LAYOUT_LEVELS} <= {level for level in LAYOUT_LEVELS if layout_of(setup).single(level)}
    assert seen


def test_merged_note_keeps_its_size_however_much_is_merged() -> None:
    """O-09, C23: "Age Checkpoint 1 -> Merge", "Ultra (Merged): 80% compression, ~150 tokens": 153 of 13,926."""
    setup = laid(16_384)
    host = Host(InMemoryStore(), setup, watch=False)
    host.run(tame(150, 200))
    merged = [told(one)["merged"] for one in requests(host.calls) if "merged" in told(one)]
    assert len({tuple(each) for each in merged}) > 5
    assert all(len(each) == 1 and 64 <= each[0] <= 153 for each in merged)


@effort(40)
@given(
    history=histories(),
    window_tokens=st.sampled_from([700, 2048, 4096, 4100, 8192, 8200, 16_400]),
    restarts=st.frozensets(st.integers(0, 14)),
)
def test_promises_hold_under_a_layout(history: list[Message], window_tokens: int, restarts: frozenset[int]) -> None:
    """O-04; promises 1, 2, 6 and 7: within the window, whole pairs, appended to between events, the same bytes."""
    setup = laid(window_tokens)
    host = Host(InMemoryStore(), setup, watch=False)
    host.run([*history, *tame(10, 120), *history])
    made = requests(host.calls)
    for one in made:
        assert one.cost.bound + setup.window.reserved_output_tokens <= window_tokens
        assert one.cost.estimate <= one.limit.estimate
        assert pairs_broken(sent(one)) is None
        check_levels(setup, one)
    for old, new in pairwise(made):
        assert new.event is not None or breaks_at(old, new) is None
    again = Host(InMemoryStore(), setup, watch=False, restarts=restarts)
    again.run([*history, *tame(10, 120), *history])
    assert [request.payloads for request in requests(again.calls)] == [one.payloads for one in made]
