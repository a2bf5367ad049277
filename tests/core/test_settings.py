"""How history is kept within its room."""

from __future__ import annotations

from itertools import pairwise

import pytest

from squidbot.core.errors import ConfigError
from squidbot.core.plan import Representation
from squidbot.core.settings import STRATEGIES, HistorySettings, strategy

SETTINGS = HistorySettings()


@pytest.mark.parametrize(("room", "block"), [(0, 1), (4, 1), (13_600, 3400), (32_768, 8192), (1_000_000, 8192)])
def test_block_is_a_quarter_of_the_room_up_to_8192_tokens(room: int, block: int) -> None:
    """At least one token."""
    assert SETTINGS.block_max_tokens(room) == block


@pytest.mark.parametrize(("room", "slim"), [(0, 32), (512, 32), (1600, 100), (24_000, 1500), (1_000_000, 1500)])
def test_outputs_are_slimmed_above_a_sixteenth_of_the_room(room: int, slim: int) -> None:
    """Between 32 and 1,500 tokens."""
    assert SETTINGS.slim_tokens(room) == slim


@pytest.mark.parametrize(
    ("level", "tokens"),
    [
        (Representation.DETAILED, 1200),
        (Representation.MODERATE, 600),
        (Representation.COMPACT, 300),
        (Representation.MERGED, 150),
    ],
)
def test_levels_have_their_sizes_at_a_16k_window(level: Representation, tokens: int) -> None:
    """Scaled with the room, at least 64 (O-09)."""
    assert SETTINGS.level_tokens(level, 13_600) == tokens
    assert SETTINGS.level_tokens(level, 27_200) == 2 * tokens
    assert SETTINGS.level_tokens(level, 10) == 64


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("room", [0, 2_000, 7_999, 8_000, 15_999, 16_000, 1_000_000])
def test_strategy_goes_down_from_its_mark_at_any_size(name: str, room: int) -> None:
    """Fractions are fractions, and low lies at least .1 below high (C4)."""
    chosen = strategy(name, room)
    assert 0 < chosen.low_fraction <= chosen.high_fraction - 0.1
    assert chosen.high_fraction <= 1
    assert 0 < chosen.notes_fraction < 1


@pytest.mark.parametrize("name", STRATEGIES)
def test_strategy_is_the_published_one_where_there_is_room(name: str) -> None:
    """Where its marks lie no lower, in tokens, than those of the rooms below; under 8,000 there is no chain."""
    assert strategy(name, 100_000) == STRATEGIES[name]
    assert strategy(name, 8_000).chain
    assert not strategy(name, 7_999).chain


@pytest.mark.parametrize(
    ("room", "levels"),
    [(4_000, ""), (6_000, "d"), (12_000, "dmc"), (28_000, "ddddmmmccc"), (60_000, "dddddmmmmmccccc")],
)
def test_newest_blocks_keep_notes_of_their_own_by_rank(room: int, levels: str) -> None:
    """C23: none, 1/0/0, 1/1/1, 4/3/3 and 5/5/5 blocks, newest first."""
    ranks = strategy("balanced", room).ranks()
    assert "".join(level.removeprefix("summary:")[0] for level in ranks) == levels


@pytest.mark.parametrize("name", STRATEGIES)
def test_high_water_never_falls_in_tokens_where_the_room_grows(name: str) -> None:
    """A larger window never compacts what a smaller one still sends."""
    rooms = range(1_000, 200_000, 500)
    marks = [strategy(name, room).high_fraction * room for room in rooms]
    assert all(after >= before - 1e-6 for before, after in pairwise(marks))


def test_unknown_strategy_is_refused_with_those_there_are() -> None:
    """A misspelt name."""
    with pytest.raises(ConfigError, match="unknown strategy 'fast'; known: coherence, balanced, speed"):
        strategy("fast", 16_000)
