"""Values and their checks: devices, errors, memories, settings."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from squidbot.core import errors
from squidbot.core.devices import MOST_BYTES, Device, shown, sound
from squidbot.core.errors import ConfigError, StoreError
from squidbot.core.memories import (
    Isolation,
    Memory,
    Scope,
    Source,
    View,
    memory_id_of,
    passage_of,
    refuse_misfit,
)
from squidbot.core.plan import Representation
from squidbot.core.settings import FADING_ROOM_TOKENS, STRATEGIES, HistorySettings, strategy

# -- what a device may say of itself ----------------------------------------------------------------------------------

GOOD = Device(0, "GPU-1", "Card", "nvidia", 100, 50, unified=False, source="nvml", utilisation_fraction=0.5)


def test_sound_device_stays_as_it_is_when_it_keeps_the_promises() -> None:
    """Nothing is changed on a device that is as it should be; a name is never empty."""
    assert sound(GOOD) == GOOD
    assert sound(GOOD._replace(name=" \n"))._replace(name="") == GOOD._replace(name="")  # type: ignore[union-attr]  # it is there


@pytest.mark.parametrize("total", [0, -1, MOST_BYTES + 1])
def test_device_is_refused_when_its_memory_is_none(total: int) -> None:
    """Nothing, less than nothing, and more than any machine has."""
    assert sound(GOOD._replace(total_bytes=total)) is None


@given(
    total=st.integers(),
    free=st.none() | st.integers(),
    busy=st.none() | st.floats(),
    texts=st.tuples(st.text(), st.text(min_size=300)),
)
def test_device_keeps_the_promises_whatever_is_said(
    total: int, free: int | None, busy: float | None, texts: tuple[str, str]
) -> None:
    """Free within the total, a fraction within 0 and 1, one printable line for texts, or no device."""
    device = sound(Device(0, *texts, "amd", total, free, unified=False, source="x", utilisation_fraction=busy))
    if device is None:
        assert not 0 < total <= MOST_BYTES
        return
    assert device.free_bytes is None or 0 <= device.free_bytes <= device.total_bytes == total
    assert (device.free_bytes is None) == (free is None or free < 0)
    assert device.utilisation_fraction is None or 0 <= device.utilisation_fraction <= 1
    assert (device.uuid + device.name).isprintable()
    assert len(device.uuid) <= 200 >= len(device.name)


def test_shown_text_is_one_line_when_it_was_many() -> None:
    """Lines become words, what can't be printed a question mark, what is too long is cut with dots."""
    assert shown(" two\nlines\t\x00 ") == "two lines ?"
    assert shown("x" * 200) == "x" * 200
    assert shown("x" * 201) == "x" * 197 + "..."


# -- what errors say, and to whom -------------------------------------------------------------------------------------


def test_every_error_is_caught_by_its_root() -> None:
    """One except clause for all that squidbot raises on purpose."""
    assert all(issubclass(getattr(errors, name), errors.SquidbotError) for name in errors.__all__)
    assert issubclass(errors.DamagedStoreError, errors.StoreError)


@pytest.mark.parametrize(("line", "text"), [(7, "a.jsonl:7: no JSON"), (None, "a.jsonl: no JSON")])
def test_recording_that_can_not_be_read_is_named_with_its_line(line: int | None, text: str) -> None:
    """File and line, as editors open them."""
    error = errors.TranscriptError("a.jsonl", line, "no JSON")
    assert (str(error), error.path, error.line) == (text, "a.jsonl", line)


def test_budget_error_says_how_much_of_how_much_and_what_to_change() -> None:
    """And has it all as values."""
    error = errors.BudgetError("pins", cost=5210, budget=4096, unit="tokens", key="window.default")
    assert str(error) == "pins cost 5210 of 4096 tokens; make it smaller or raise window.default"
    assert (error.culprit, error.cost, error.budget, error.unit, error.key) == (
        "pins",
        5210,
        4096,
        "tokens",
        "window.default",
    )


def test_broken_rule_is_named_for_programs_alone() -> None:
    """A user has no list of rules to look it up in."""
    error = errors.InvalidRequestError("R1", "no result")
    assert (str(error), error.rule) == ("no result", "R1")


# -- ids of memories, what no store keeps, and whose memories see each other ------------------------------------------

FACT = Memory("f-1", "Ann keeps bees.", "core", Scope(user="ann"), 1.0)
ISOLATIONS: tuple[Isolation, ...] = ("bot", "model", "global", "agent")
PARTS = st.sampled_from(("", "a", "b", "a\0", "\ud83d\ude00", "\N{GRINNING FACE}"))
SCOPES = st.builds(Scope, *[PARTS] * 8)


def test_memory_id_is_short_and_the_same_for_ever_when_made_again() -> None:
    """Written down: a later version that made others would keep every fact twice."""
    assert memory_id_of(Scope(user="ann", bot="squid"), "Ann keeps bees.", [Source("s", 3, 5)]) == "f-zrmqnnvvw4"
    assert memory_id_of(Scope(), "") == "f-5pz63sl74s"


@given(SCOPES, SCOPES, st.text(max_size=2), PARTS)
def test_memory_id_differs_when_scope_text_or_source_does(one: Scope, other: Scope, text: str, path: str) -> None:
    """Lone surrogates beside the character that they would make together, too."""
    made = {(one, text, ""), (other, text, ""), (one, "", text), (one, f"{text}{path}", path)}
    assert len({memory_id_of(scope, said, [Source(path=where)]) for scope, said, where in made}) == len(made)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (replace(FACT, memory_id=""), "1 to 1024 characters"),
        (replace(FACT, memory_id="x" * 1025), "1 to 1024 characters"),
        (replace(FACT, supersedes="f-1"), "cannot replace itself"),
        (replace(FACT, superseded_by="f-1"), "cannot replace itself"),
        (replace(FACT, category="facts"), "category 'facts'"),  # type: ignore[arg-type]  # a caller without types
        (replace(FACT, time=float("inf")), "time inf"),
        (replace(FACT, importance=-0.1), "importance -0.1"),
        (replace(FACT, importance=float("nan")), "importance nan"),
    ],
)
def test_memory_is_refused_when_no_store_could_keep_it(wrong: Memory, says: str) -> None:
    """The error names what is wrong, and that nothing was written."""
    refuse_misfit(FACT)
    with pytest.raises(StoreError, match=f"{says}.*nothing was written"):
        refuse_misfit(wrong)


@given(SCOPES, SCOPES, st.sampled_from(ISOLATIONS))
@example(Scope("a", collection="a"), Scope("a", thread="a", collection="a"), "bot")
def test_view_has_another_key_when_tenant_user_or_what_the_policy_parts_differs(
    one: Scope, other: Scope, isolation: Isolation
) -> None:
    """Tenant, user and shelf always, "global" nothing else; the thread where nobody is named, the channel never."""
    thread = [] if one.user else ["thread"]
    parted = ["tenant", "user", "collection", *([] if isolation == "global" else [isolation]), *thread]
    same = all(getattr(one, part) == getattr(other, part) for part in parted)
    assert (View(one, isolation).key == View(other, isolation).key) == same


def test_piece_of_a_file_stands_in_a_row_and_a_fact_in_none() -> None:
    """By its file, by the conversation in that, and by its place; what names a file or a session alone has no place."""
    piece = replace(FACT, sources=(Source("talk", 3, 3, "notes/a.jsonl", "d"),))
    assert passage_of(piece)[4:] == ("notes/a.jsonl\ntalk", 3)
    for source in (Source(path="notes/a.md", digest="d"), Source("talk", 3, 5)):
        assert passage_of(replace(FACT, sources=(source,)))[4:] == ("", 0)
    assert passage_of(FACT) == passage_of(replace(FACT, scope=Scope(collection="files")))


# -- how history is kept within its room ------------------------------------------------------------------------------

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


def test_merged_note_takes_what_is_left_up_to_the_largest_summary_that_is_set() -> None:
    """O-09: `summaryMaxTokens` 1024 holds for a merged note, too; a note has at least room for its heading and a line.

    Without it and without a layout the note on everything older is as large as its room: it is all that is told.
    """
    assert SETTINGS.merged_tokens(3300) == 3300
    set_to = replace(SETTINGS, max_summary_tokens=1024)
    assert [set_to.merged_tokens(left) for left in (3300, 500)] == [1024, 500]
    assert replace(SETTINGS, max_summary_tokens=1).merged_tokens(3300) == SETTINGS.min_note_tokens


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
    assert strategy(name, FADING_ROOM_TOKENS // 2).fading_tokens < STRATEGIES[name].fading_tokens
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
