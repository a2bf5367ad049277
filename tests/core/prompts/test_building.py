"""System texts of modes: whole paragraphs, under the cap of the window's tier, none of which hides another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.budget import tier_of
from squidbot.core.errors import BudgetError, ConfigError
from squidbot.core.prompts import MANDATES, MODES, OWN, SANITY, TEMPLATES, PromptTemplate, build_prompt
from squidbot.core.tokens.counters import builtin_counter

CLASSES = builtin_counter("classes")
# B-19: the sentence that stands in every window.
SAYS_SO = "say that you work from a summary"


def test_mandates_and_sanity_have_the_size_of_the_document() -> None:
    """O-10 and C22: mandates of at least 200 tokens, and about that; sanity of about 100."""
    assert 200 <= CLASSES.count("\n\n".join(MANDATES)) <= 240
    assert 80 <= CLASSES.count("\n\n".join(SANITY)) <= 120


@pytest.mark.parametrize("mode", MODES)
def test_mode_has_the_size_of_the_document_and_fits_its_largest_tier_whole(mode: str) -> None:
    """O-10: 200 to 1,500 tokens; in the tiers 4 and 5 nothing is left out."""
    assert 200 <= CLASSES.count("\n\n".join(TEMPLATES[mode])) <= 1500
    made = build_prompt(OWN[mode], 32_768, CLASSES)
    assert [part.left_out for part in made.parts] == [0, 0, 0]
    assert made.text == "\n\n".join((*MANDATES, *SANITY, *TEMPLATES[mode]))


@pytest.mark.parametrize("window", [2048, 4096, 8192, 16_384, 32_768, 131_072])
@pytest.mark.parametrize("mode", MODES)
def test_prompt_says_what_the_mode_keeps_and_that_it_works_from_summaries(mode: str, window: int) -> None:
    """O-11 and B-19 in every window that the mode is for; counted, and at most the cap of C22."""
    if mode == "assistant" and window <= 16_384:
        with pytest.raises(ConfigError, match=r"'assistant' is for windows of tier 4 and above; this one of \d.* tier"):
            build_prompt(OWN[mode], window, CLASSES)
        return
    made = build_prompt(OWN[mode], window, CLASSES)
    assert MODES[mode] in made.text
    assert SAYS_SO in made.text
    assert made.cost.estimate == CLASSES.count(made.text) <= made.cap_tokens
    assert made.cap_tokens == {1: 400, 2: 800, 3: 1300, 4: 1800, 5: 1800}[tier_of(window).number]


def test_smallest_tier_gets_mandates_and_what_the_mode_keeps() -> None:
    """No sanity there, and no more of the mode."""
    made = build_prompt(OWN["developer"], 4096, CLASSES)
    assert made.text == "\n\n".join((*MANDATES, TEMPLATES["developer"][0]))
    assert [(part.name, part.left_out) for part in made.parts] == [("mandates", 0), ("sanity", 1), ("developer", 6)]


def test_prompt_leaves_whole_paragraphs_out_from_the_end_where_the_cap_is_reached() -> None:
    """Behind the first one that does not fit nothing is taken, not even what would."""
    template = PromptTemplate("mine", ("Keep this.", "word " * 300, "Short."), "this")
    made = build_prompt(template, 8192, CLASSES)
    assert made.text.endswith("Keep this.\n\n" + "word " * 300 + "\n\nShort.")
    template = PromptTemplate("mine", ("Keep this.", "word " * 900, "Short."), "this")
    made = build_prompt(template, 8192, CLASSES)
    assert made.text.endswith("Keep this.")
    assert [part.left_out for part in made.parts] == [0, 0, 2]


def test_prompt_is_refused_where_what_must_be_in_it_exceeds_the_cap() -> None:
    """The culprit, the amounts and the key."""
    template = PromptTemplate("mine", ("word " * 900,), "this")
    with pytest.raises(
        BudgetError, match=r"mandates and first paragraph of mode 'mine': \d+ .* prompt\.mode"
    ) as caught:
        build_prompt(template, 8192, CLASSES)
    assert (caught.value.culprit, caught.value.budget, caught.value.key) == ("system prompt", 800, "prompt.mode")
    assert caught.value.cost > 800


PARAGRAPHS = st.lists(st.integers(1, 500).map(lambda words: "word " * words), min_size=1, max_size=6).map(tuple)


@given(PARAGRAPHS, PARAGRAPHS, st.integers(1, 200_000), st.integers(1, 200_000), st.sampled_from(["classes", "bytes"]))
def test_larger_window_never_says_less(
    paragraphs: tuple[str, ...], sanity: tuple[str, ...], one: int, other: int, counter: str
) -> None:
    """All paragraphs that a smaller window has, in the same order; each at most the cap of its tier."""
    template = PromptTemplate("mine", paragraphs, "this", ("Always.",), sanity)
    said: list[list[int]] = []
    for window in sorted((one, other)):
        try:
            made = build_prompt(template, window, builtin_counter(counter))
        except BudgetError:
            said.append([])
            continue
        assert made.cost.estimate <= made.cap_tokens
        kept = [len(part) - made.parts[place].left_out for place, part in enumerate((("",), sanity, paragraphs))]
        assert kept[1] in {0, len(sanity)}
        said.append(kept)
    small, large = said
    assert not small or all(less <= more for less, more in zip(small, large, strict=True))
