"""A replay billed by other prices: what a request costs, what is planned, what is said of it."""

from __future__ import annotations

import json
import math
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from squidbot.cli import main
from squidbot.cli.replay_results import on_front
from squidbot.config.presets import shipped
from squidbot.core.errors import ConfigError
from squidbot.core.plan import Prices
from squidbot.core.settings import HistorySettings
from squidbot.replay.metrics import Tally
from squidbot.replay.terms import SCORING, Charges, charges_of, open_counter, terms_for

SESSION = Path(__file__).parents[2] / "examples" / "session.jsonl"


@cache
def replayed(*options: str) -> Result:
    """Return what a replay of a short conversation, the same in every test, printed."""
    return CliRunner().invoke(main, ["replay", "talk.jsonl", "--window", "3k", *options])


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the beginning of the sample, and no settings."""
    monkeypatch.chdir(tmp_path)
    lines = SESSION.read_text(encoding="utf-8").splitlines(keepends=True)
    Path("talk.jsonl").write_text("".join(lines[:60]), encoding="utf-8")


# -- what is charged --------------------------------------------------------------------------------------------------


def test_scoring_is_what_the_scorer_of_dumps_bills() -> None:
    """0.1, 1.25 and 5, for 300 seconds, from the first token; the shipped entry of that name is the same."""
    assert SCORING.prices == Prices(0.1, 1.25, 5.0, 0)
    assert SCORING.ttl_seconds == 300.0
    named = charges_of("default")
    assert (named.prices, named.ttl_seconds) == (SCORING.prices, SCORING.ttl_seconds)
    assert terms_for(8_000, None, "balanced", open_counter("classes"), "tokens").charges is SCORING
    assert SCORING.planned(HistorySettings()) == HistorySettings()


def test_request_below_the_least_that_is_cached_costs_its_tokens() -> None:
    """Nothing of it is read or written; a longer one reads nothing of a part that is shorter."""
    charges = Charges("x", "", Prices(0.1, 1.25, 5.0, 1024), 300.0)
    assert charges.request(1023, 0) == 1023.0
    assert charges.request(2000, 1500) == pytest.approx(150 + 625)
    assert (charges.cached(1023), charges.cached(1024)) == (0, 1024)


@given(tokens=st.integers(0, 10**6), share=st.floats(0, 1), name=st.sampled_from(sorted(shipped())))
def test_cached_tokens_never_make_a_request_dearer(tokens: int, share: float, name: str) -> None:
    """And no request is paid for being sent."""
    charges = charges_of(name)
    cached = charges.cached(int(share * tokens))
    assert 0 <= charges.request(tokens, cached) <= charges.request(tokens, 0)


def test_entries_of_squidbot_toml_are_known(tmp_path: Path) -> None:
    """Those of the current folder, beside the shipped ones."""
    (tmp_path / "squidbot.toml").write_text("[price_table.mine]\nread = 0.2\nttl_seconds = inf\n", encoding="utf-8")
    assert charges_of("mine") == Charges("mine", "", Prices(0.2, 1.25, 5.0, 0), math.inf)
    with pytest.raises(ConfigError, match=r"^--prices: unknown 'your', known: default, .*, mine$"):
        charges_of("your")


# -- what comes of it -------------------------------------------------------------------------------------------------


def terms_of(*options: str) -> dict[str, Any]:
    """Return what a replay says as JSON."""
    found: dict[str, Any] = json.loads(replayed("--json", *options).output)
    return found


def test_replay_plans_and_bills_by_the_entry_that_is_named() -> None:
    """Free reads cost less, and pay for no event; the default stays what it is."""
    plain, named, free = terms_of(), terms_of("--prices", "default"), terms_of("--prices", "llama.cpp")
    assert plain["bite"] == named["bite"]
    assert [event["price"] for event in plain["events"]] == [event["price"] for event in named["events"]]
    assert free["bite"] < plain["bite"]
    assert all(event["price"]["break_even_requests"] is None for event in free["events"] if event["price"])
    assert plain["prices"] == {
        "name": "default",
        "as_of": None,
        "read": 0.1,
        "write": 1.25,
        "output": 5.0,
        "least_tokens": 0,
        "ttl_seconds": 300.0,
    }
    assert free["prices"]["ttl_seconds"] is None
    assert free["prices"]["as_of"] == shipped()["llama.cpp"].as_of


def test_small_requests_gain_nothing_from_a_cache_that_takes_only_large_ones() -> None:
    """A window of 3,000 tokens under Gemini's 4,096: every token costs 1."""
    found = terms_of("--prices", "gemini")
    assert found["reuse"] == 0.0
    assert found["bite"] == pytest.approx(found["mean_tokens"])


def test_text_names_the_prices_where_they_are_not_the_usual_ones() -> None:
    """With their day; and the cost of the columns follows them."""
    assert "prices" not in replayed().output
    result = replayed("--prices", "openai", "--compare")
    assert result.exit_code == 0, result.output
    assert "prices openai of 2026-11-05" in " ".join(result.output.split())
    assert "cached 0.1, new 1; summaries in 1, out 8" in result.output
    assert max(map(len, result.output.splitlines())) <= 80


def test_unknown_prices_are_a_usage_error_that_lists_the_known_ones() -> None:
    """Before anything is read."""
    result = replayed("--prices", "antropic")
    assert result.exit_code == 2
    assert "--prices: unknown 'antropic', known: default, anthropic, " in result.output


# -- the front --------------------------------------------------------------------------------------------------------


def row(cost: float, recall: float, *, calls: int = 10, over: int = 0, pairs: int = 0) -> Tally:
    """Return a policy with this cost and recall."""
    needed, held = Counter({0: 1000}), Counter({0: round(1000 * recall)})
    return Tally(calls=calls, over=over, pairs_broken=pairs, billed=cost * calls, needed=needed, held=held)


def test_front_is_what_no_sound_policy_beats_in_both() -> None:
    """Cheap and forgetful, dear and complete, and what lies between on the edge."""
    rows = [row(100, 0.5), row(200, 0.9), row(200, 0.8), row(250, 0.9), row(300, 0.95)]
    assert on_front(rows) == (True, True, False, False, True)


def test_policies_that_do_not_fit_or_fail_are_on_no_front_and_beat_nobody() -> None:
    """Over the window, with parted pairs, or with calls for which there was no request."""
    rows = [row(10, 1.0, over=1), row(10, 1.0, pairs=1), row(10, 1.0, calls=9), row(500, 0.1)]
    assert on_front(rows) == (False, False, False, True)
    assert on_front([]) == ()


def test_equal_policies_are_on_the_front_together() -> None:
    """Neither is better in anything."""
    assert on_front([row(100, 0.5), row(100, 0.5)]) == (True, True)


def test_front_without_any_literal_is_the_cheapest() -> None:
    """Nothing was needed: all recall the same."""
    bare = [
        Tally(calls=1, billed=2.0),
        Tally(calls=1, billed=1.0),
    ]
    assert on_front(bare) == (False, True)


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(0, 20), st.booleans()), max_size=9))
def test_every_sound_policy_is_on_the_front_or_beaten_by_one_that_is(points: list[tuple[int, int, bool]]) -> None:
    """And nobody on the front beats another one there."""
    rows = [row(cost, recall / 20, over=int(unsound)) for cost, recall, unsound in points]
    front = [point for point, on in zip(points, on_front(rows), strict=True) if on]
    assert all(not unsound for _, _, unsound in front)
    for cost, recall, unsound in points:
        assert unsound or any(other[0] <= cost and other[1] >= recall for other in front)
    assert not any(
        one[:2] != other[:2] and one[0] <= other[0] and one[1] >= other[1] for one in front for other in front
    )


def test_comparison_marks_the_front_in_text_and_in_json() -> None:
    """The same policies in both."""
    text, found = replayed("--compare").output, terms_of("--compare")
    marked = {line.split("  ")[0].rsplit(" ", 1)[0] for line in text.splitlines() if line.split("  ")[0].endswith("+")}
    assert marked == {one["policy"] for one in found["compare"] if one["front"]} != set()
    assert any(one["front"] and one["squidbot"] for one in found["compare"])
    assert "+ best trade-off: no policy that fits" in text
