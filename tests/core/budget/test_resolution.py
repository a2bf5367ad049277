"""Which window a session gets: the order of the sources, caps, one tier below, and what a failed load tries next."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.budget import (
    FALLBACK_WINDOW_TOKENS,
    ResolvedWindow,
    WindowSources,
    descending,
    one_tier_below,
    resolve,
    tier_of,
)
from squidbot.core.errors import ConfigError

SIZES = st.none() | st.integers(1, 2_000_000)
ORDER = {
    "nothing is known": (WindowSources(), (32768, "default")),
    "the settings say": (WindowSources(global_tokens=16384), (16384, "global-config")),
    "the model says, too": (WindowSources(global_tokens=16384, model_tokens=8192), (8192, "model-definition")),
    "memory holds more than the model says": (
        WindowSources(model_tokens=8192, sized_tokens=40960),
        (8192, "model-cap"),
    ),
    "memory holds less than the model says": (
        WindowSources(model_tokens=65536, sized_tokens=40960),
        (40960, "auto-vram"),
    ),
    "memory goes before the settings": (WindowSources(global_tokens=8192, sized_tokens=40960), (40960, "auto-vram")),
    "trained for less": (WindowSources(sized_tokens=131072, native_tokens=40960), (40960, "native-limit")),
    "the lower of two caps": (
        WindowSources(sized_tokens=131072, native_tokens=40960, model_tokens=65536),
        (40960, "native-limit"),
    ),
    "nothing fits": (WindowSources(sized_reason="does not fit", model_tokens=8192), (8192, "model-definition")),
    "no card, settings": (WindowSources(sized_reason="no device", global_tokens=24576), (24576, "global-config")),
    "no card, nothing": (WindowSources(sized_reason="no device", native_tokens=8192), (8192, "native-limit")),
    "by hand": (WindowSources(sizing="manual", sized_tokens=40960, model_tokens=65536), (65536, "model-definition")),
    "one tier below": (WindowSources(sizing="one_tier_below", sized_tokens=40960), (32768, "tier")),
    "one tier below the cap": (
        WindowSources(sizing="one_tier_below", sized_tokens=131072, model_tokens=16384),
        (8192, "tier"),
    ),
    "smallest tier": (WindowSources(sizing="one_tier_below", sized_tokens=3072), (2048, "tier")),
    "smallest size": (WindowSources(sizing="one_tier_below", sized_tokens=2048), (2048, "auto-vram")),
    "main memory": (WindowSources(sized_tokens=4096, sized_source="auto-ram"), (4096, "auto-ram")),
    "the server gives less": (WindowSources(model_tokens=32768, served_tokens=4096), (4096, "served")),
    "the server gives more": (WindowSources(model_tokens=4096, served_tokens=32768), (4096, "model-definition")),
    "the server alone knows": (WindowSources(served_tokens=131072), (131072, "served")),
    "the server alone knows, for less it is trained": (
        WindowSources(served_tokens=131072, native_tokens=8192),
        (8192, "native-limit"),
    ),
    "the caller asks": (
        WindowSources(asked_tokens=999, sized_tokens=4096, native_tokens=5, served_tokens=7),
        (999, "manual"),
    ),
}


@pytest.mark.parametrize("case", ORDER)
def test_window_comes_from_the_first_source_that_says_one(case: str) -> None:
    """The order of C10, the caps of B-03, the tiers of O-02; the source is named in the words of C9."""
    known, expected = ORDER[case]
    found = resolve(known)
    assert (found.window_tokens, found.source) == expected


def test_window_says_how_it_came_about() -> None:
    """Each step is a sentence: what was found, what cut it."""
    known = WindowSources(
        sized_tokens=71680, sized_reason="71,680 fit in 15.1 GiB", native_tokens=40960, sizing="one_tier_below"
    )
    assert resolve(known) == ResolvedWindow(
        32768,
        "tier",
        ("71,680 fit in 15.1 GiB", "limited to 40,960: native limit of the model", "one tier below: 32,768"),
    )
    unknown = resolve(WindowSources(sized_reason="no device found"))
    assert unknown.steps == ("no device found", "32,768 by default")


KNOWN = st.builds(
    WindowSources,
    st.none(),
    SIZES,
    SIZES,
    SIZES,
    SIZES,
    served_tokens=SIZES,
    sizing=st.sampled_from(("max_safe", "one_tier_below", "manual")),
)


@given(KNOWN)
def test_window_never_passes_a_cap_nor_what_fits(known: WindowSources) -> None:
    """No window is above what the model's definition, its training, the server, or (unless by hand) memory allows."""
    found = resolve(known)
    limits = [known.model_tokens, known.native_tokens, known.served_tokens]
    limits += [known.sized_tokens] if known.sizing != "manual" else []
    assert found.window_tokens >= 1
    assert all(found.window_tokens <= limit for limit in limits if limit is not None)
    told = (known.model_tokens, known.global_tokens, known.sized_tokens, known.served_tokens, FALLBACK_WINDOW_TOKENS)
    assert found.window_tokens <= max(size or 0 for size in told)


@given(st.integers(1, 2_000_000), st.integers(1, 8192))
def test_one_tier_below_is_one_tier_lower_or_the_lowest(window: int, least: int) -> None:
    """The tier falls by one, but in the lowest, or where the smallest window that may be chosen forbids it (O-02)."""
    below = one_tier_below(window, least)
    assert below <= window
    assert below >= min(window, least)
    if least <= 2048:
        assert tier_of(below).number == max(1, tier_of(window).number - 1)
        assert below in {2048, 4096, 8192, 16384, window} or below == 32768


@given(st.integers(1, 300_000), st.integers(1, 8192))
def test_failed_load_is_tried_with_less_each_time(window: int, least: int) -> None:
    """Sizes fall strictly, start below what failed, end at the smallest allowed, and are few."""
    sizes = list(descending(window, least))
    assert sizes == sorted(set(sizes), reverse=True)
    assert all(least <= size < window for size in sizes)
    assert (sizes[-1:] == [least]) == (least < window)
    assert len(sizes) <= 19


@pytest.mark.parametrize("field", ["asked_tokens", "model_tokens", "sized_tokens", "served_tokens", "min_tokens"])
def test_window_is_refused_when_a_size_is_not_above_0(field: str) -> None:
    """A size of 0 is no answer: what is unknown, or does not fit, is None."""
    with pytest.raises(ConfigError, match="must be > 0 tokens, not 0"):
        resolve(WindowSources(**{field: 0}))  # type: ignore[arg-type]  # all of these are whole numbers
