"""The arithmetic of a session's context window."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.budget import (
    WindowSettings,
    default_reserve_tokens,
    fits,
    input_limit,
    open_window,
    parse_tokens,
    room,
    safety_fraction_for,
    window_below,
)
from squidbot.core.errors import BudgetError, ConfigError
from squidbot.core.messages import ContextWindow, Cost
from squidbot.core.ports import Certificate


@pytest.mark.parametrize(
    ("window_tokens", "expected_tokens"),
    [
        (2000, 1700),
        (4000, 3400),
        (8000, 6800),
        (16000, 13600),
        (32000, 27200),
        (64000, 54400),
        (128000, 108800),
        (16384, 13926),
        (4096, 3481),
    ],
)
def test_input_limit_is_85_percent_of_the_number_given(window_tokens: int, expected_tokens: int) -> None:
    """O-03, V5, C13: the share of decimal and of binary sizes, floored, without float error."""
    assert input_limit(window_tokens, 0, 0.85) == expected_tokens


@pytest.mark.parametrize(
    ("window_tokens", "reserve_tokens", "fraction", "expected_tokens"),
    [
        (16000, 4096, 0.85, 11904),
        (16000, 2400, 0.85, 13600),
        (16000, 2399, 0.85, 13600),
        (16000, 2401, 0.85, 13599),
        (8000, 2000, 0.95, 6000),
        (100, 0, 0.29, 29),
        (100, 0, 0.57, 57),
        (1000, 0, 1.0, 1000),
        (1000, 999, 1.0, 1),
    ],
)
def test_input_limit_is_the_smaller_of_reserve_and_safety(
    window_tokens: int, reserve_tokens: int, fraction: float, expected_tokens: int
) -> None:
    """C12: the two shares stand side by side, they are not stacked; .29 x 100 is 29, where floats say 28.999."""
    assert input_limit(window_tokens, reserve_tokens, fraction) == expected_tokens


@pytest.mark.parametrize("reserve_tokens", [1000, 2000])
def test_input_limit_is_refused_when_the_reserve_takes_the_window(reserve_tokens: int) -> None:
    """A window without room for input is an error with amounts and key, never a limit of 0 or less."""
    with pytest.raises(BudgetError, match="reserve and one token of input cost") as caught:
        input_limit(1000, reserve_tokens, 0.85)
    assert (caught.value.cost, caught.value.budget, caught.value.unit) == (reserve_tokens + 1, 1000, "tokens")
    assert caught.value.key == "models.<alias>.context_window"


def test_input_limit_is_refused_when_the_safety_share_is_nothing() -> None:
    """A window of one token has a share of 0: the key named is the share's."""
    with pytest.raises(BudgetError, match="one token of input cost 1 of 0 tokens") as caught:
        input_limit(1, 0, 0.85)
    assert caught.value.key == "window.safety_fraction"


@pytest.mark.parametrize(
    ("window_tokens", "reserve_tokens", "fraction", "text"),
    [
        (0, 0, 0.85, "context window must be > 0"),
        (-5, 0, 0.85, "context window must be > 0"),
        (1000, -1, 0.85, "reserved_output_tokens must be >= 0"),
        (1000, 0, 0.0, "safety_fraction must be above 0"),
        (1000, 0, 1.01, "at most 1"),
        (1000, 0, float("nan"), "not nan"),
    ],
)
def test_input_limit_names_the_setting_when_it_is_out_of_range(
    window_tokens: int, reserve_tokens: int, fraction: float, text: str
) -> None:
    """Each bad number is named with what would be right."""
    with pytest.raises(ConfigError, match=text):
        input_limit(window_tokens, reserve_tokens, fraction)


@pytest.mark.parametrize(
    ("window_tokens", "model_max_tokens", "expected_tokens"),
    [
        (128000, None, 4096),
        (16384, None, 4096),
        (8000, None, 2000),
        (4096, None, 1024),
        (2048, None, 512),
        (128000, 1024, 1024),
        (128000, 16384, 16384),
        (8000, 16384, 2000),
        (3, None, 0),
    ],
)
def test_default_reserve_is_the_longest_answer_within_a_quarter(
    window_tokens: int, model_max_tokens: int | None, expected_tokens: int
) -> None:
    """B-02: `max_tokens` of a definition, else 4,096; C12: at most a quarter of the window."""
    assert default_reserve_tokens(window_tokens, model_max_tokens) == expected_tokens


@pytest.mark.parametrize(("window_tokens", "model_max_tokens"), [(0, None), (8000, 0), (8000, -1)])
def test_default_reserve_is_refused_when_a_size_is_not_positive(window_tokens: int, model_max_tokens: int) -> None:
    """A model that can't answer, or a window of nothing, is a wrong setting."""
    with pytest.raises(ConfigError, match="must be > 0 tokens"):
        default_reserve_tokens(window_tokens, model_max_tokens)


@pytest.mark.parametrize(
    ("certificate", "fraction"),
    [("exact", 1.0), ("anchored", 0.95), ("proved", 0.85), ("measured", 0.85), ("none", 0.85)],
)
def test_safety_fraction_follows_the_certificate(certificate: Certificate, fraction: float) -> None:
    """C12: exact counters may fill the window, calibrated ones 95 %, all others 85 %."""
    assert safety_fraction_for(certificate) == fraction


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("32000", 32000),
        ("32k", 32000),
        ("32Ki", 32768),
        ("1m", 1_000_000),
        ("1Mi", 1_048_576),
        ("1", 1),
        ("008k", 8000),
    ],
)
def test_parse_tokens_reads_decimal_and_binary_units(text: str, tokens: int) -> None:
    """Units k and m count in thousands, Ki and Mi in 1,024s."""
    assert parse_tokens(text) == tokens


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "0",
        "0k",
        "-1",
        "+1",
        "32kb",
        "32K",
        "32ki",
        "1M",
        "k",
        "1.5k",
        "1e3",
        "32 k",
        "32k\n",
        "\u0663",
        "9" * 5000,
    ],
)
def test_parse_tokens_refuses_every_other_text(text: str) -> None:
    """What could mean two things, or nothing, is refused with the forms that are understood."""
    with pytest.raises(ConfigError, match="is not a number of tokens; write 32000, 32k"):
        parse_tokens(text)


def test_open_lease_fills_in_reserve_and_safety_from_model_and_counter() -> None:
    """Defaults of C12 with a heuristic counter on a 16K window."""
    window = open_window(WindowSettings(16384, model="qwen2.5:7b", source="native-limit"), "classes", "measured")
    assert window == ContextWindow(window.window_id, 16384, 4096, 0.85, "classes", "qwen2.5:7b", "native-limit")


def test_open_lease_keeps_what_is_set() -> None:
    """A reserve and a fraction that are given win over model and certificate, a reserve of 0 too."""
    window = open_window(WindowSettings(8000, 0, 0.5, 100), "tiktoken", "exact")
    assert (window.reserved_output_tokens, window.safety_fraction) == (0, 0.5)


def test_open_lease_gives_the_same_id_for_the_same_fields_only() -> None:
    """The id is a hash of the fields: known beforehand, different for each field."""
    settings = WindowSettings(8000, 1000, 0.5, model="a", source="b")
    base = open_window(settings, "words", "none")
    others = [
        open_window(replace(settings, window_tokens=8001), "words", "none"),
        open_window(replace(settings, reserved_output_tokens=1001), "words", "none"),
        open_window(replace(settings, safety_fraction=0.6), "words", "none"),
        open_window(replace(settings, model="ab", source=""), "words", "none"),
        open_window(replace(settings, model="\ud800"), "words", "none"),
        open_window(settings, "bytes", "none"),
    ]
    assert base.window_id == "lease-69658bbf1c02"
    assert open_window(settings, "words", "none") == base
    assert len({base.window_id, *(other.window_id for other in others)}) == 7


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        (WindowSettings(0), ConfigError),
        (WindowSettings(8000, -1), ConfigError),
        (WindowSettings(8000, safety_fraction=0.0), ConfigError),
        (WindowSettings(8000, 8000), BudgetError),
    ],
)
def test_open_lease_refuses_settings_that_leave_no_room(settings: WindowSettings, error: type[Exception]) -> None:
    """A window that exists has room for input."""
    with pytest.raises(error, match=r"window|reserve|safety_fraction"):
        open_window(settings, "words", "none")


LEASE = ContextWindow("x", 16000, 4096, 0.85, "classes")


@pytest.mark.parametrize(
    ("cost", "room_tokens"),
    [
        (Cost(10000, 11904), 0),
        (Cost(10000, 11905), -1),
        (Cost(13600, 11000), 0),
        (Cost(13601, 11000), -1),
        (Cost(13500, 11000), 100),
        (Cost(0, 0), 11904),
        (Cost(20000, 30000), -18096),
    ],
)
def test_room_is_the_smaller_of_the_two_checks(cost: Cost, room_tokens: int) -> None:
    """C12: the bound is held against window - reserve, the estimate against the safety share, each alone."""
    assert room(cost, LEASE) == room_tokens
    assert fits(cost, LEASE) == (room_tokens >= 0)


@st.composite
def windows(draw: st.DrawFn) -> ContextWindow:
    """Leases that leave room for input, from 2 tokens to 2 million."""
    window_tokens = draw(st.integers(2, 2_000_000))
    fraction = draw(st.sampled_from([0.5, 0.85, 0.95, 1.0]))
    return open_window(
        WindowSettings(window_tokens, draw(st.integers(0, window_tokens - 1)), fraction), "words", "none"
    )


@given(windows())
def test_input_limit_is_exactly_where_a_request_stops_to_fit(window: ContextWindow) -> None:
    """A request whose estimate equals its bound fits up to the input limit, and not one token more."""
    limit = input_limit(window.window_tokens, window.reserved_output_tokens, window.safety_fraction)
    assert fits(Cost(limit, limit), window)
    assert not fits(Cost(limit + 1, limit + 1), window)
    assert limit + window.reserved_output_tokens <= window.window_tokens


@given(windows(), st.integers(0, 3_000_000), st.integers(0, 100_000), st.integers(0, 50_000))
def test_room_shrinks_by_what_is_added(
    window: ContextWindow, estimate_tokens: int, more_tokens: int, added: int
) -> None:
    """Room is exact: adding a cost to both figures takes just that much of it."""
    cost = Cost(estimate_tokens, estimate_tokens + more_tokens)
    assert room(cost.plus(Cost(added, added)), window) == room(cost, window) - added


@given(st.integers(1, 3_000_000), st.floats(0, 1, exclude_min=True))
def test_share_of_a_window_is_exact_whatever_the_decimal(window_tokens: int, safety_fraction: float) -> None:
    """As with exact fractions of the number that is written, its exponent included."""
    share = math.floor(Fraction(str(safety_fraction)) * window_tokens)
    if share == 0:
        with pytest.raises(BudgetError):
            input_limit(window_tokens, 0, safety_fraction)
    else:
        assert input_limit(window_tokens, 0, safety_fraction) == share


@pytest.mark.parametrize(
    ("refused_tokens", "told_tokens", "window_tokens"),
    [
        (11000, 8192, 8192),
        (11000, None, 4096 + 7370),
        (11000, 16000, 4096 + 7370),
        (11000, 0, 4096 + 7370),
        (90000, None, 4096 + 7975),
        (0, None, 4097),
    ],
)
def test_window_that_a_refusal_has_shown_is_smaller(
    refused_tokens: int, told_tokens: int | None, window_tokens: int
) -> None:
    """What the provider tells, where that is smaller; else two thirds of what was refused, beside the answer's room."""
    assert window_below(LEASE, refused_tokens, told_tokens) == window_tokens < LEASE.window_tokens
