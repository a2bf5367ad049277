"""Soft caps of categories: shares by weight that lend what they do not use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.budget import CATEGORIES, CategoryShare, shares
from squidbot.core.errors import ConfigError

TOKENS = st.integers(0, 50_000)


def test_full_categories_get_the_weights_of_the_document() -> None:
    """10, 30, 40 and 20 of 105, five for the pool of all others (P-08, C11)."""
    full = dict.fromkeys((*CATEGORIES, "other"), 105_000)
    assert [share.allotted for share in shares(105_000, full)] == [10_000, 30_000, 40_000, 20_000]
    assert [share.is_over for share in shares(105_000, full)] == [True] * 4


def test_dialogue_of_60k_in_100k_is_within_its_share() -> None:
    """A cap is soft: what nobody uses is borrowed (P-08, V11)."""
    (*_, dialog, _) = shares(100_000, {"dialog": 60_000})
    assert dialog.used == 60_000
    assert not dialog.is_over


def test_system_of_40k_and_87k_others_in_100k_show_who_is_over() -> None:
    """Hard caps took 127,000 for fitting (P-08, V12)."""
    found = shares(100_000, {"system": 40_000, "context": 30_000, "dialog": 37_000, "output": 20_000})
    assert sum(one.allotted for one in found) <= 100_000
    assert [one.name for one in found if one.is_over] == ["system"]
    assert CategoryShare("system", 40_000, 13_000) == found[0]


@given(total=TOKENS, used=st.dictionaries(st.sampled_from((*CATEGORIES, "other")), TOKENS))
def test_nothing_is_over_while_all_fit_and_shares_never_pass_the_total(total: int, used: dict[str, int]) -> None:
    """Whatever is used, by whom (P-08)."""
    found = shares(total, used)
    assert sum(one.allotted for one in found) <= total
    if sum(used.values()) <= total:
        assert not any(one.is_over for one in found)
    elif not used.get("other"):
        assert any(one.is_over for one in found)


def test_negative_weight_is_refused() -> None:
    """It is a setting."""
    with pytest.raises(ConfigError):
        shares(100, {}, (-1, 1, 1, 1))
