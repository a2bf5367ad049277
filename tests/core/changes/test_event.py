"""When the plan changes."""

from __future__ import annotations

import pytest

from squidbot.core.compaction.planner import due, first_changed
from squidbot.core.compaction.pressure import CallContext, pressure_fraction, room_of, saves_enough
from squidbot.core.messages import Cost, Kind
from squidbot.core.plan import FirstChanged, PlanRecord, Representation, Segment
from squidbot.core.settings import HistorySettings
from squidbot.core.view.current import CurrentView, Pieces, PlanBlock, Tail, standing

from ..rows import RENDERER, part, row

MOMENT = CallContext(
    limit=Cost(1000, 1000),
    system=(),
    tools=Cost(0, 0),
    notices=(Cost(9, 9), Cost(5, 5)),
    new_turn=True,
    cold=False,
    stored=10,
    changed=None,
    now=None,
    paused=False,
    unit="tokens",
)
SETTINGS = HistorySettings(high_fraction=0.7, low_fraction=0.3)


def history(tokens: int, *, noted: bool = False) -> CurrentView:
    """Return a standing whose history costs so many tokens, some of it in a block where `noted`."""
    block = PlanBlock(Segment(0, 0, Representation.MERGED, "s0-0.beef"), (part("user", Kind.SUMMARY),))
    blocks, rest = ((block,), tokens - 10) if noted else ((), tokens)
    tail = Tail().extended([row(1, tokens=rest)], RENDERER, 0)
    return standing(None, Pieces((), (), blocks, tail))._replace(messages=2, turn=1)


@pytest.mark.parametrize(
    ("tokens", "change", "cause"),
    [
        (700, {}, None),
        (701, {}, "high-water"),
        (701, {"new_turn": False}, None),
        (701, {"paused": True}, None),
        (1000, {"new_turn": False}, None),
        (1001, {"new_turn": False, "paused": True}, "overflow"),
        (1001, {"changed": "tools-changed"}, "overflow"),
        (10, {"changed": "tools-changed", "new_turn": False}, "tools-changed"),
        (701, {"changed": "opened"}, "opened"),
        (600, {"cold": True}, None),
        (700, {"tools": Cost(1, 1)}, "high-water"),
        (700, {"limit": Cost(999, 2000)}, "high-water"),
    ],
)
def test_plan_changes_for_a_cause(tokens: int, change: dict[str, object], cause: str | None) -> None:
    """Above the mark before a new turn; beyond the room at once; in the unit that binds."""
    assert due(history(tokens), MOMENT._replace(**change), SETTINGS) == cause  # type: ignore[arg-type]


@pytest.mark.parametrize(("tokens", "cause"), [(500, None), (501, "cold-cache"), (701, "high-water")])
def test_cold_cache_lowers_the_mark_to_the_middle_for_what_is_compacted_already(tokens: int, cause: str) -> None:
    """(.7 + .3) / 2."""
    assert due(history(tokens, noted=True), MOMENT._replace(cold=True), SETTINGS) == cause


def test_pressure_is_that_of_the_unit_that_binds() -> None:
    """Without room, anything is too much, and nothing is not."""
    assert pressure_fraction(Cost(50, 20), Cost(100, 100)) == 0.5
    assert pressure_fraction(Cost(20, 50), Cost(100, 100)) == 0.5
    assert pressure_fraction(Cost(1, 1), Cost(0, 10)) == float("inf")
    assert pressure_fraction(Cost(0, 1), Cost(10, -5)) == float("inf")
    assert pressure_fraction(Cost(0, 0), Cost(0, 0)) == 0.0


def test_room_is_what_the_fixed_parts_leave() -> None:
    """System text, tools, and the notices that a request needs (B-13)."""
    moment = MOMENT._replace(system=(part("system", Kind.SYSTEM),), tools=Cost(20, 30))
    assert room_of(history(100), moment) == Cost(970, 960)
    alone = standing(None, Pieces((), (), (), Tail().extended([row(0, "assistant")], RENDERER, 0)))._replace(messages=1)
    assert room_of(alone, MOMENT) == Cost(1000 - 14, 1000 - 14)


@pytest.mark.parametrize(("after", "enough"), [(900, True), (901, False), (1000, False), (1200, False)])
def test_event_saves_enough_when_it_saves_a_tenth(after: int, *, enough: bool) -> None:
    """Of the whole request."""
    record = PlanRecord(0, None, "", None, "high-water", tokens_before=1000, tokens_after=after)
    assert saves_enough(record, SETTINGS) is enough


def test_first_change_is_where_parts_differ() -> None:
    """Inside, behind the shorter one, or at the end of equal ones."""
    old = [part("user", seq=seq) for seq in range(3)]
    assert first_changed(old, [old[0], part("user", seq=7), old[2]]) == FirstChanged(1, 7, 10)
    assert first_changed(old, [*old, part("user", seq=3)]) == FirstChanged(3, 3, 30)
    assert first_changed(old, old[:2]) == FirstChanged(2, -1, 20)
    assert first_changed(old, [one._replace() for one in old]) == FirstChanged(3, -1, 30)
