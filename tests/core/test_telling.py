"""What is told of plans and of windows that take the place of others."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core import events
from squidbot.core.event_builders import aged, broken, closed, opened
from squidbot.core.events import Event
from squidbot.core.last_request import LastRequest
from squidbot.core.memories import Scope
from squidbot.core.plan import FirstChanged, PlanRecord, Representation, Segment

from .promises.driver import Heard, Host, Setup, requests
from .promises.driver import opened as session_of
from .promises.histories import tame
from .promises.rules import breaks_at

if TYPE_CHECKING:
    from collections.abc import Sequence

DETAILED, MODERATE, MERGED = Representation.DETAILED, Representation.MODERATE, Representation.MERGED
ABSENT, RAW = Representation.ABSENT, Representation.RAW


def plan(*segments: tuple[int, int, Representation, int], plan_id: int = 0) -> PlanRecord:
    """Return a plan of segments: first and last message, how they are sent, what the note costs."""
    made = tuple(Segment(first, last, how, note_tokens=tokens) for first, last, how, tokens in segments)
    return PlanRecord(plan_id, None, "lease", None, "high-water", made)


def test_event_is_frozen_and_says_whose_it_is() -> None:
    """Scope and model beside window, plan and tokens (decisions.md 10)."""
    event = Event(events.COMPRESSED, "s", "manual", model="qwen", scope=Scope(user="anna"))
    with pytest.raises(FrozenInstanceError):
        event.cause = "other"  # type: ignore[misc]  # that is what is tried
    assert (event.model, event.scope.user, event.scope.bot) == ("qwen", "anna", "")
    assert event == replace(event)


def test_block_has_aged_when_its_summary_tells_less() -> None:
    """From what to what, and what the summaries cost; one that stays, or tells more, is not told of (O-16)."""
    before = plan((0, 9, DETAILED, 300), (10, 19, MODERATE, 200), (20, 29, DETAILED, 310), (30, 39, DETAILED, 320))
    after = plan((0, 19, MERGED, 150), (20, 29, DETAILED, 310), (30, 39, MODERATE, 160), plan_id=1)
    told = [(one.name, one.cause, one.plan_id, one.tokens_before, one.tokens_after) for one in aged(before, after)]
    assert told == [
        (events.CHECKPOINT_AGED, "m0-m19: detailed, moderate -> merged", 1, 500, 150),
        (events.CHECKPOINT_AGED, "m30-m39: detailed -> moderate", 1, 320, 160),
    ]
    assert list(aged(after, before)) == []


def test_what_was_raw_has_been_compressed_and_has_not_aged() -> None:
    """Neither has anything under the first plan."""
    assert list(aged(plan((0, 9, RAW, 0)), plan((0, 9, MERGED, 100)))) == []
    assert list(aged(None, plan((0, 9, MERGED, 100)))) == []


def test_merged_block_ages_when_only_a_pointer_is_left() -> None:
    """The last level of all."""
    (told,) = aged(plan((0, 40, MERGED, 150)), plan((0, 40, ABSENT, 20)))
    assert told.cause == "m0-m40: merged -> absent"


LEVELS = st.sampled_from(list(Representation))


@given(levels=st.lists(st.tuples(LEVELS, LEVELS, st.integers(1, 5)), max_size=12))
def test_each_block_that_fell_is_told_of_once(levels: Sequence[tuple[Representation, Representation, int]]) -> None:
    """Whatever the levels are: those, and no others."""
    order = list(Representation)
    first, old, new, fell = 0, [], [], []
    for before, after, size in levels:
        run = first, first + size - 1
        old.append((*run, before, 10))
        new.append((*run, after, 5))
        if order.index(Representation.SUMMARY_USER) <= order.index(before) < order.index(after):
            fell.append(run)
        first += size
    told = [one.cause.partition(":")[0] for one in aged(plan(*old), plan(*new))]
    assert told == [f"m{start}-m{end}" for start, end in fell]


def test_window_that_becomes_another_is_told_with_its_tier() -> None:
    """Opened alone where there was none, or one of the same size; size and tier where they differ (O-16)."""
    small, large, huge = Setup(8192).window, Setup(16384).window, Setup(16000).window
    assert [one.name for one in opened(None, small)] == [events.LEASE_OPENED]
    assert [one.name for one in opened(replace(small, counter="words"), small)] == [events.LEASE_OPENED]
    told = [(one.name, one.cause, one.tokens_before, one.tokens_after) for one in opened(large, small)]
    assert told == [
        (events.LEASE_OPENED, "default", 0, 0),
        (events.CONTEXT_RECALCULATED, "default", 16384, 8192),
        (events.TIER_CHANGED, "3 Standard -> 2 Basic", 16384, 8192),
    ]
    assert [one.name for one in opened(large, huge)] == [events.LEASE_OPENED, events.CONTEXT_RECALCULATED]


def test_window_that_is_over_is_told_by_its_own_id() -> None:
    """And by its own model."""
    window = replace(Setup(8192).window, model="qwen")
    told = closed(window)
    assert (told.name, told.window_id, told.model) == (events.LEASE_CLOSED, window.window_id, "qwen")
    assert (told.cause, told.tokens_before, told.tokens_after) == ("8,192 tokens, default", 8192, 8192)


def test_prefix_is_broken_where_a_plan_changes_what_was_sent() -> None:
    """Not behind the newest request, not where there was none, not a second time before the next one."""
    made = replace(plan(plan_id=3), parent_plan_id=2, first_changed=FirstChanged(4, 10, 900))
    last_request = LastRequest(number=1, plan_id=2, parts=9)
    told = broken(last_request, made)
    assert told is not None
    assert (told.name, told.plan_id, told.tokens_before, told.tokens_after) == (events.PREFIX_BROKEN, 3, 0, 900)
    assert broken(last_request._replace(parts=4), made) is None
    assert broken(last_request._replace(number=-1), made) is None
    assert broken(last_request._replace(plan_id=1), made) is None
    outside = broken(last_request, replace(made, outside_changed=True))
    assert outside is not None
    assert outside.tokens_after == 0


def test_requests_break_the_prefix_exactly_where_it_is_told() -> None:
    """Each request but those behind the event begins with all of the one before it."""
    host = Host(InMemoryStore(), Setup(4096))
    host.run(tame(30, 60))
    sent = requests(host.calls)
    broke = sum(breaks_at(one, two) is not None for one, two in pairwise(sent))
    told = [event for event in host.observer.events if event.name == events.PREFIX_BROKEN]
    assert len(told) == broke > 0
    assert all(0 <= one.tokens_after < one.tokens_before for one in told)


def test_session_tells_of_the_lease_that_forgetting_writes() -> None:
    """It may be the first thing that is done in another window."""
    store, heard = InMemoryStore(), Heard()
    session_of(store, Setup(8192)).record(*tame(2))
    session_of(store, Setup(4096), observer=heard).forget(0)
    assert heard.names()[:2] == [events.LEASE_CLOSED, events.LEASE_OPENED]
