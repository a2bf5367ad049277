"""`[allocation]` and `[prompt]`: how much room an answer gets, and the system text of a mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import attrs

from squidbot.checks import NO_NAMES, Layout, Names, Place, Verbosity, Whole
from squidbot.core.budget import WEIGHTS, WordLists

if TYPE_CHECKING:
    from squidbot.core.budget import Verbosity as Level

__all__ = ["Allocation", "Prompt", "Words"]

VERBOSITY, LAYOUT = Verbosity("balanced"), Layout("none")
SYSTEM, CONTEXT, DIALOG, OUTPUT = map(Whole, WEIGHTS)
NO_FOLDER = Place("")


@attrs.frozen
class Words:
    """`[allocation.words.<language>]`: by which words and marks of a language a question is known for a large one."""

    create: Names = NO_NAMES
    analyse: Names = NO_NAMES
    request: Names = NO_NAMES
    question_marks: str = "?"
    spaced: bool = True

    @property
    def lists(self) -> WordLists:
        """The same as the core takes it."""
        create, analyse, request = (frozenset(map(str.lower, one)) for one in (self.create, self.analyse, self.request))
        return WordLists(create, analyse, request, self.question_marks, self.spaced)


@attrs.frozen
class Allocation:
    """`[allocation]`: how much room an answer gets, by how much its question asks for; shares of categories."""

    adaptive: bool = False
    verbosity: Verbosity = VERBOSITY
    words: dict[str, Words] = attrs.Factory(dict)
    layout: Layout = LAYOUT
    by_category: bool = False
    system_weight: Whole = SYSTEM
    context_weight: Whole = CONTEXT
    dialog_weight: Whole = DIALOG
    output_weight: Whole = OUTPUT

    @property
    def weights(self) -> tuple[int, int, int, int] | None:
        """The weights of categories as the core takes them; None where no category has a share."""
        weights = (self.system_weight, self.context_weight, self.dialog_weight, self.output_weight)
        return weights if self.by_category else None

    @property
    def by_tier(self) -> bool:
        """Whether the parts of a request have shares by the tier of the window."""
        return self.layout == "tiers"

    @property
    def level(self) -> Level:
        """The verbosity as the core takes it."""
        return cast("Level", self.verbosity)


@attrs.frozen
class Prompt:
    """`[prompt]`: the system text of a mode, and where the user's own ones are."""

    mode: str = "off"
    folder: Place = NO_FOLDER
    says_notes: bool = False
    clock: bool = False
