"""A system text of mandates, sanity and a mode, in whole paragraphs, no larger than the window's tier allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.budget.tiers import tier_of
from squidbot.core.counting.tokens import measure
from squidbot.core.errors import BudgetError, ConfigError
from squidbot.core.prompts.modes import LEAST_TIERS, MODES
from squidbot.core.prompts.texts import MANDATES, SANITY, TEMPLATES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.core.messages import Cost
    from squidbot.core.ports import TokenCounter

__all__ = ["OWN", "PromptPart", "SystemPrompt", "Template", "build_prompt"]

# The tier from which on there is more than mandates and what the mode keeps (O-10).
MORE_TIER = 2
PARAGRAPH = "\n\n"


@dataclass(frozen=True, slots=True)
class Template:
    """What is said in a mode.

    Attributes:
        mode: its name.
        paragraphs: of the mode itself; what stands first is left out last.
        keeps: what summaries keep above all, as the end of a sentence (O-11).
        mandates, sanity: the paragraphs in front of it.
        least_tier: the tier of the smallest windows that it is for, 1 to 5.
    """

    mode: str
    paragraphs: tuple[str, ...]
    keeps: str
    mandates: tuple[str, ...] = MANDATES
    sanity: tuple[str, ...] = SANITY
    least_tier: int = 1


class PromptPart(NamedTuple):
    """One part of a system text: "mandates", "sanity" or the mode's name, what it costs, and what did not fit.

    `left_out` counts paragraphs.
    """

    name: str
    text: str
    cost: Cost
    left_out: int


class SystemPrompt(NamedTuple):
    """A system text for a mode.

    Attributes:
        mode: its name.
        parts: in order; one of which nothing fits has an empty text.
        cost: of the whole text, in tokens; the estimate is at most `cap_tokens`.
        cap_tokens: the ceiling of the window's tier (C22).
    """

    mode: str
    parts: tuple[PromptPart, ...]
    cost: Cost
    cap_tokens: int

    @property
    def left_out(self) -> int:
        """How many paragraphs did not fit."""
        return sum(part.left_out for part in self.parts)

    @property
    def text(self) -> str:
        """The whole of it."""
        return PARAGRAPH.join(part.text for part in self.parts if part.text)


# Ours, by mode.
OWN = {
    mode: Template(mode, TEMPLATES[mode], keeps, least_tier=LEAST_TIERS.get(mode, 1)) for mode, keeps in MODES.items()
}


def build_prompt(template: Template, window_tokens: int, counter: TokenCounter) -> SystemPrompt:
    """Return the system text of a mode for a window, in tokens, as `counter` counts it.

    The mandates and the first paragraph of the mode are in it in any case. From the second tier on come, as far as they
    fit under the cap, sanity and the mode's other paragraphs in order; behind the first one that does not fit nothing
    is taken any more, so a higher cap never says less.

    Raises:
        ConfigError: the mode is not for windows of that size.
        BudgetError: what is in it in any case does not fit under the cap.
    """
    tier = tier_of(window_tokens)
    if tier.number < template.least_tier:
        raise ConfigError(
            f"mode {template.mode!r} is for windows of tier {template.least_tier} and above; this one of "
            f"{window_tokens:,} tokens is of tier {tier.number}: take another mode, or none"
        )
    most = len(template.paragraphs)
    kept, cost = (0, 0), None
    for tried in _steps(tier.number, most):
        counted = measure(counter, _text(template, *tried))
        if counted.estimate > tier.prompt_cap_tokens:
            if cost is None:
                raise _too_large(template, counted, tier.prompt_cap_tokens)
            break
        kept, cost = tried, counted
    sane, own = kept
    parts = (
        _part("mandates", template.mandates, len(template.mandates), counter),
        _part("sanity", template.sanity, sane * len(template.sanity), counter),
        _part(template.mode, template.paragraphs, own, counter),
    )
    whole = cost or measure(counter, "")
    return SystemPrompt(template.mode, parts, whole, tier.prompt_cap_tokens)


def _steps(tier: int, paragraphs: int) -> Iterator[tuple[int, int]]:
    """Yield what to try, the least first: whether with sanity, and how many paragraphs of the mode."""
    yield 0, min(1, paragraphs)
    if tier >= MORE_TIER:
        yield from ((1, own) for own in range(min(1, paragraphs), paragraphs + 1))


def _text(template: Template, sane: int, own: int) -> str:
    sanity = template.sanity if sane else ()
    return PARAGRAPH.join((*template.mandates, *sanity, *template.paragraphs[:own]))


def _part(name: str, paragraphs: tuple[str, ...], taken: int, counter: TokenCounter) -> PromptPart:
    text = PARAGRAPH.join(paragraphs[:taken])
    return PromptPart(name, text, measure(counter, text), len(paragraphs) - taken)


def _too_large(template: Template, cost: Cost, cap_tokens: int) -> BudgetError:
    detail = f"mandates and first paragraph of mode {template.mode!r}: {cost.estimate}"
    return BudgetError(
        "system prompt", cost=cost.estimate, budget=cap_tokens, unit="tokens", key="prompt.mode", detail=detail
    )
