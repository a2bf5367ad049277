"""The named counters, calibration by reported usage, and the anchored bound."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.counting.tokens import Anchor, Calibration, builtin_counter, calibrated, measure
from squidbot.core.errors import ConfigError
from squidbot.core.messages import Cost

NAMES = ("words", "chars4", "chars3", "bytes", "classes")
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=300)
COSTS = st.integers(1, 10**7).flatmap(lambda bound: st.builds(Cost, st.integers(1, bound), st.just(bound)))


def utf8_bytes(text: str) -> int:
    """Return the length that no byte-level tokenizer's count passes."""
    return len(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("words", "", 0),
        ("words", " one\ttwo\n three ", 3),
        ("chars4", "", 0),
        ("chars4", "abcdefg", 1),
        ("chars4", "abcdefgh", 2),
        ("chars3", "", 1),
        ("chars3", "hi", 1),
        ("chars3", "hello!", 2),
        ("bytes", "", 0),
        ("classes", "", 0),
        ("classes", "a", 1),
    ],
)
def test_count_gives_the_documented_value_when_named(name: str, text: str, expected: int) -> None:
    """C3: each formula under its own name, the empty text included."""
    assert builtin_counter(name).count(text) == expected


@pytest.mark.parametrize(
    ("name", "certificate"),
    [("words", "none"), ("chars4", "none"), ("chars3", "none"), ("bytes", "proved"), ("classes", "measured")],
)
def test_certificate_says_how_far_to_trust_when_asked(name: str, certificate: str) -> None:
    """D5: policy counters vouch for nothing, bytes are proved, the class bound is measured."""
    counter = builtin_counter(name)
    assert (counter.name, counter.certificate) == (name, certificate)


def test_unknown_name_lists_the_known_ones_when_asked_for() -> None:
    """A wrong name is answered with the right ones."""
    with pytest.raises(ConfigError, match="unknown token counter 'gpt'; known: bytes, chars3, chars4, classes, words"):
        builtin_counter("gpt")


@pytest.mark.parametrize("name", NAMES)
@given(text=ANY_TEXT)
def test_bound_holds_estimate_and_bytes_when_text_is_anything(name: str, text: str) -> None:
    """No str raises; 0 <= count <= bound <= bytes, but for chars3's 1 for nothing; the same answer twice."""
    counter = builtin_counter(name)
    count, bound = counter.count(text), counter.upper_bound(text)
    assert 0 <= count <= bound <= max(utf8_bytes(text), int(name == "chars3"))
    assert measure(counter, text) == Cost(count, bound)


@pytest.mark.parametrize("name", ["words", "chars4", "chars3", "bytes"])
@given(text=ANY_TEXT)
def test_bound_is_the_bytes_when_a_counter_knows_no_better(name: str, text: str) -> None:
    """A policy counter's bound is a true one: the UTF-8 bytes."""
    assert builtin_counter(name).upper_bound(text) >= utf8_bytes(text)


@pytest.mark.parametrize("text", ["\ud800", "\udfff\ud800", "\x00", "\U0010ffff", "é\ud83d"])
def test_counters_answer_when_text_is_no_valid_unicode(text: str) -> None:
    """Lone surrogates and NUL are counted like other characters."""
    assert all(builtin_counter(name).upper_bound(text) >= 1 for name in NAMES)


@given(cost=COSTS, reported=st.integers(1, 10**8))
def test_calibrated_bound_reaches_the_report_when_it_was_learned(cost: Cost, reported: int) -> None:
    """After a report, the same request's bound is at least what the provider billed, and never below the old one."""
    corrected = Calibration().learn(cost, reported).apply(cost)
    assert corrected.bound >= max(reported, cost.bound)
    assert 0 <= corrected.estimate <= corrected.bound


@given(reports=st.lists(st.tuples(COSTS, st.integers(0, 10**8)), max_size=8), cost=COSTS)
def test_calibration_never_loosens_when_reports_follow(reports: list[tuple[Cost, int]], cost: Cost) -> None:
    """The bound's ratio is a running maximum: a low report takes nothing back."""
    calibration, bounds = Calibration(), [cost.bound]
    for seen, reported in reports:
        calibration = calibration.learn(seen, reported)
        bounds.append(calibration.apply(cost).bound)
    assert bounds == sorted(bounds)


@given(parts=st.lists(COSTS, min_size=1, max_size=20), reported=st.integers(1, 10**8))
def test_calibrated_parts_reach_the_report_when_summed(parts: list[Cost], reported: int) -> None:
    """A request is counted as the sum of its messages: calibrating each of them reaches the report too."""
    whole = Cost(sum(part.estimate for part in parts), sum(part.bound for part in parts))
    calibration = Calibration().learn(whole, reported)
    assert sum(calibration.apply(part).bound for part in parts) >= reported


@pytest.mark.parametrize(("cost", "reported"), [(Cost(0, 0), 10), (Cost(0, 5), 10), (Cost(5, 6), 0), (Cost(5, 6), -3)])
def test_calibration_learns_nothing_when_a_report_says_nothing(cost: Cost, reported: int) -> None:
    """A report of no tokens, or for no text, is ignored."""
    calibration = Calibration(1.5, 0.9, 3)
    assert calibration.learn(cost, reported) is calibration


def test_estimate_follows_reports_when_they_come() -> None:
    """The first report sets the estimate's ratio, later ones move it a fifth of the way; the bound stays."""
    once = Calibration().learn(Cost(100, 200), 120)
    twice = once.learn(Cost(100, 200), 170)
    assert once.apply(Cost(100, 200)) == Cost(120, 200)
    assert twice.apply(Cost(100, 200)) == Cost(130, 200)
    assert twice.reports == 2


def test_calibration_survives_storing_when_written_as_json() -> None:
    """What JSON gives back is the same value."""
    calibration = Calibration().learn(Cost(90, 100), 333)
    assert Calibration.from_json(json.loads(json.dumps(calibration.to_json()))) == calibration


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"bound_ratio": 0.5, "estimate_ratio": 1.0, "reports": 1},
        {"bound_ratio": float("nan"), "estimate_ratio": 1.0, "reports": 1},
        {"bound_ratio": 1.0, "estimate_ratio": -1.0, "reports": 1},
        {"bound_ratio": 1.0, "estimate_ratio": 1.0, "reports": -1},
    ],
)
def test_calibration_refuses_what_would_lower_a_bound_when_read(stored: dict[str, float]) -> None:
    """A stored ratio below 1, or no number at all, is an error and not a bound."""
    with pytest.raises(ValueError, match="calibration"):
        Calibration.from_json(stored)


@given(text=ANY_TEXT)
def test_calibrated_counter_keeps_its_promises_when_wrapped(text: str) -> None:
    """The wrapper has the inner certificate, its own name, and a bound that is never below the inner one."""
    inner = builtin_counter("classes")
    counter = calibrated(inner, Calibration(1.3, 1.1, 2))
    assert (counter.name, counter.certificate) == ("calibrated:classes", "measured")
    assert counter.upper_bound(text) >= inner.upper_bound(text)
    assert Cost(counter.count(text), counter.upper_bound(text)) == measure(counter, text)
    assert counter.count(text) <= counter.upper_bound(text)


@given(reported=st.integers(0, 10**6), bound=st.integers(0, 10**6), appended=st.integers(0, 10**6))
def test_anchor_adds_what_was_appended_when_a_request_extends_it(reported: int, bound: int, appended: int) -> None:
    """The anchored bound is the real size then plus the bound of what came since; it beats the plain one if it can."""
    anchored = Anchor(reported, bound).bound(bound + appended)
    assert anchored == reported + appended
    assert reported > bound or anchored <= bound + appended


def test_anchor_stands_back_when_a_request_is_no_extension() -> None:
    """A smaller request did not grow out of the anchored one: its own bound counts."""
    assert Anchor(reported_tokens=900, bound_tokens=1000).bound(400) == 400
