"""The complexity score of a question."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.budget import ENGLISH, WordLists, adaptive_shares, score_complexity

COMPLEX = "Analyze this code file, explain the architecture, identify issues, and suggest detailed improvements"


def test_score_is_that_of_the_document_for_its_two_examples() -> None:
    """V26: "hi" .10, the complex sentence .80, in tools mode, each within .03."""
    assert score_complexity("hi", tools_mode=True) == pytest.approx(0.10, abs=0.03)
    assert score_complexity(COMPLEX, tools_mode=True) == pytest.approx(0.80, abs=0.03)


@pytest.mark.parametrize(
    ("text", "tools_mode", "score"),
    [
        ("", False, 0.05),
        ("", True, 0.10),
        ("hi", True, 0.102),
        ("x" * 100, False, 0.15),
        ("x" * 200, False, 0.25),
        ("x" * 100_000, False, 0.25),
        ("create", False, 0.256),
        ("Create!", False, 0.257),
        ("recreate", False, 0.058),
        ("creates", False, 0.057),
        ("analyze", False, 0.357),
        ("?", False, 0.051),
        ("??", False, 0.152),
        ("????", False, 0.354),
        ("?????????", False, 0.359),
        ("explain", False, 0.057),
        ("explain, fix", False, 0.162),
        ("fix fix fix", False, 0.061),
        ("explain, fix?", False, 0.163),
        ("create and analyze", False, 0.668),
        (f"{COMPLEX}, then create tests for each of them" + "." * 60, True, 1.0),
    ],
)
def test_score_adds_up_its_parts(text: str, tools_mode: bool, score: float) -> None:  # noqa: FBT001 - a column
    """W-09: length, mode, create, analyse, parts; whole words in any case; never above 1."""
    assert score_complexity(text, tools_mode=tools_mode) == score


def test_score_sees_both_ends_of_a_long_text() -> None:
    """A request before or behind a pasted file counts; the file between does not."""
    paste = "lorem ipsum " * 10_000
    assert score_complexity(f"analyze this\n{paste}", tools_mode=False) == 0.55
    assert score_complexity(f"{paste}\nanalyze this", tools_mode=False) == 0.55
    assert score_complexity(f"{paste}\nanalyze this\n{paste}", tools_mode=False) == 0.25


def test_score_uses_the_words_of_another_language() -> None:
    """Lists are configuration: German words between spaces, Chinese words anywhere, their own question marks."""
    german = WordLists(frozenset({"erstelle"}), frozenset({"pr\u00fcfe"}), frozenset({"erkl\u00e4re"}))
    assert score_complexity("Pr\u00dcfe das", tools_mode=False, words=german) == 0.359
    assert score_complexity("analyze", tools_mode=False, words=german) == 0.057
    chinese = WordLists(
        frozenset({"\u521b\u5efa"}), frozenset({"\u5206\u6790"}), frozenset(), question_marks="?\uff1f", spaced=False
    )
    text = "\u8bf7\u5206\u6790\u4ee3\u7801\uff1f\uff1f"
    assert score_complexity(text, tools_mode=False, words=chinese) == 0.457
    assert score_complexity(text, tools_mode=False) == 0.057


def test_score_of_a_megabyte_takes_less_than_5_ms() -> None:
    """W-18, the best of five runs, by the processor's time."""
    text = "analyze the words? " * 55_000
    times = []
    for _ in range(5):
        start = time.thread_time()
        score_complexity(text, tools_mode=True)
        times.append(time.thread_time() - start)
    assert min(times) < 0.005


@given(st.text(), st.booleans())
def test_score_is_a_share_that_the_allocator_takes(text: str, tools_mode: bool) -> None:  # noqa: FBT001 - drawn
    """For any text, lone surrogates too: within 0..1, higher in tools mode, and accepted as it is."""
    score = score_complexity(text, tools_mode=tools_mode)
    assert 0 < score <= 1
    assert score_complexity(text, tools_mode=True) >= score
    assert sum(adaptive_shares(score, tools_mode=tools_mode).values()) == 1


@given(st.text(), st.sampled_from(sorted(ENGLISH.create | ENGLISH.analyse | ENGLISH.request)))
def test_score_never_falls_when_a_request_is_added(text: str, verb: str) -> None:
    """One more verb, one more question: at least the same score."""
    score = score_complexity(text, tools_mode=False)
    assert score_complexity(f"{text} {verb}?", tools_mode=False) >= score
