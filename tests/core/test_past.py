"""What a session remembers of its newest answered request."""

from __future__ import annotations

import json

import pytest

from squidbot.core.errors import DamagedStoreError
from squidbot.core.last_request import LastRequest, digest, seal
from squidbot.core.messages import Cost, Record, Usage
from squidbot.core.plan import Section
from squidbot.core.tokens.calibration import RequestGrowth, UsageCalibration, UsageReport

from .rows import part

PARTS = [part("user"), part("assistant", seq=1), part("user", seq=2)]
PAST = LastRequest(
    number=4,
    cost=Cost(100, 120),
    outside=Cost(10, 12),
    system="aa",
    tools="bb",
    told=(("memory", "cc"),),
    plan_id=2,
    parts=3,
    seal=seal(PARTS),
    messages=3,
    window_id="lease-1",
    limit=Cost(300, 320),
    pressed=True,
    rungs=("warn", "journal"),
    noticed=True,
    bills=UsageCalibration("m/classes").learn(
        UsageReport(3000, 20, 3600, 30, RequestGrowth(None, is_step=False, first_seq=0), messages=3)
    ),
    certified=130,
    certificate="anchored",
    skipped=1,
    rests_until=1300.0,
)


@pytest.mark.parametrize("usage", [None, Usage(110, 5, 80)])
def test_past_comes_back_from_its_record(usage: Usage | None) -> None:
    """Every field; the usage stands beside them."""
    record = PAST.record(usage)
    assert LastRequest.of(record) == PAST
    assert json.loads(record.body).get("usage") == ([110, 5, 80] if usage else None)
    assert (record.kind, record.number) == ("request", 4)


def test_record_names_only_what_is_not_as_usual() -> None:
    """One is stored for each request: what most requests have in common takes no room in them."""
    last_request = LastRequest(number=7, cost=Cost(100, 120), parts=3, seal="ab", limit=Cost(300, 320))
    record = last_request.record(None)
    assert LastRequest.of(record) == last_request
    assert sorted(json.loads(record.body)) == ["cost", "limit", "parts", "seal"]


@pytest.mark.parametrize("place", [2, 6, 8, 9, 11, 13])
@pytest.mark.parametrize("value", [None, -3, [-1], [[1]], "x"])
def test_bills_out_of_range_are_damage(place: int, value: object) -> None:
    """They would loosen the window."""
    body = json.loads(PAST.record(None).body)
    body["bills"][place] = value
    with pytest.raises(DamagedStoreError, match="bills"):
        LastRequest.of(Record("request", 4, json.dumps(body)))


def test_bills_of_another_version_say_nothing() -> None:
    """Nor does the calibration that older ones stored."""
    body = json.loads(PAST.record(None).body)
    body["bills"][0] = 0
    body["calibration"] = {"bound_ratio": 1.1, "estimate_ratio": 0.9, "reports": 3}
    assert LastRequest.of(Record("request", 4, json.dumps(body))).bills == UsageCalibration()


def test_request_breaks_the_past_when_it_does_not_extend_it() -> None:
    """Shorter, or other in front of the end; longer is no break, and another plan is an event of its own."""
    assert not PAST.broken_by(PARTS, 2)
    assert not PAST.broken_by([*PARTS, part("assistant", seq=3)], 2)
    assert PAST.broken_by(PARTS[:2], 2)
    assert PAST.broken_by([*PARTS[:2], PARTS[2]._replace(notice="12:00")], 2)
    assert not PAST.broken_by(PARTS[:2], 3)
    assert not LastRequest().broken_by([], -1)


def test_news_tells_what_differs_from_what_was_told() -> None:
    """A new text, a changed one, one that no longer holds; nothing where nothing differs."""
    told = LastRequest().told_of([Section("memory", "tea"), Section("pin goal", "win")])
    assert told.news([Section("memory", "tea"), Section("pin goal", "win")]) is None
    assert told.news([Section("memory", "coffee"), Section("pin goal", "win")]) == "[memory is now:]\ncoffee"
    assert told.news([Section("memory", "tea")]) == "[pin goal was removed]"
    assert LastRequest().news([]) is None
    assert told.news([Section("pin plan", "x")]) == (
        "[pin plan is now:]\nx\n[memory was removed]\n[pin goal was removed]"
    )


def test_digest_tells_texts_apart_and_takes_lone_surrogates() -> None:
    """16 hexadecimal digits; nothing for nothing."""
    assert digest("") == ""
    assert digest("a") != digest("b")
    assert len(digest("\ud800")) == 16
