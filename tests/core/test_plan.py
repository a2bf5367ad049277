"""The view plan as a stored value."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from squidbot.core.errors import DamagedStoreError
from squidbot.core.plan import FirstChanged, PlanRecord, Price, Representation, Section, Segment

PLAN = PlanRecord(
    plan_id=3,
    parent_plan_id=2,
    window_id="lease-1",
    created_at=1000.5,
    cause="high-water",
    segments=(
        Segment(0, 9, Representation.ABSENT),
        Segment(10, 19, Representation.SUMMARY_USER, "s10-19.beef", (10, 14), 48),
    ),
    tail_from_seq=20,
    sections=(Section("memory", "likes tea \ud800"),),
    slim_tokens=100,
    tokens_before=5000,
    tokens_after=2000,
    system="abc",
    first_changed=FirstChanged(1, 10, 300),
    price=Price(100.0, 30.0, 0.0, 3.5),
    made_at_seq=24,
    thinking_dropped=((20, 22), (24, 25)),
    held=True,
    repeats=-1,
    outside_changed=True,
    notes=(1, 7),
)


@pytest.mark.parametrize(
    "plan", [PLAN, replace(PLAN, first_changed=None, price=None), PlanRecord(0, None, "", None, "opened")]
)
def test_plan_comes_back_from_its_json(plan: PlanRecord) -> None:
    """Every field, with its type."""
    again = PlanRecord.from_json(plan.to_json())
    assert again == plan
    assert all(isinstance(segment.representation, Representation) for segment in again.segments)


@pytest.mark.parametrize(
    "change",
    [
        {"segments": [[0]]},
        {"segments": [[0, 9, "loud", None, [], 0]]},
        {"segments": [[0, 9, "absent", None, 7, 0]]},
        {"segments": [[0, 9, "absent", None, [], 0, 0]]},
        {"sections": [["x"]]},
        {"thinking_dropped": [[1]]},
        {"notes": [1, 2, 3]},
        {"price": [1]},
        {"colour": "red"},
    ],
)
def test_text_that_is_no_plan_is_damage(change: dict[str, object]) -> None:
    """An unknown representation, a field too many, one too few, of another type."""
    body = json.dumps({**json.loads(PLAN.to_json()), **change})
    with pytest.raises(DamagedStoreError, match=r"^cannot read a stored plan: "):
        PlanRecord.from_json(body)


def test_plan_names_only_what_is_not_as_usual() -> None:
    """A long list of the users' messages repeats a few steps, which compress to next to nothing."""
    segment = Segment(10, 19, Representation.SUMMARY_USER, "s10-19.beef", (10, 14, 16, 18), 48)
    said = json.loads(PlanRecord(0, None, "lease-1", None, "opened", (segment,)).to_json())
    assert said == {
        "plan_id": 0,
        "parent_plan_id": None,
        "window_id": "lease-1",
        "created_at": None,
        "cause": "opened",
        "segments": [[10, 19, "summary+user", "s10-19.beef", [0, 4, 2, 2], 48]],
    }


@pytest.mark.parametrize("body", ["", "{}", "[]", "null"])
def test_text_that_is_not_json_of_a_plan_is_damage(body: str) -> None:
    """Cut off, or something else."""
    with pytest.raises(DamagedStoreError):
        PlanRecord.from_json(body)
