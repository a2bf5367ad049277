"""What a session works at, as a mode: what it keeps when history is told in notes, and how large a window it wants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LEAST_TIERS", "MODES", "OFF"]

# No system text of ours.
OFF: Final = "off"

# What each mode keeps (O-11).
MODES: Final[Mapping[str, str]] = {
    "developer": "architecture decisions, API contracts (names, signatures, formats), and changes of files: which "
    "file, what was changed, whether it worked",
    "planning": "goals, requirements, how the work is divided into tasks, what is done and what is next",
    "assistant": "the user's preferences and circumstances, what was promised, and what the conversation is about",
    "debugger": "error messages word for word, the steps that reproduce them, and each fix that was tried with its "
    "outcome",
}
# The tier from which on there is a mode: smaller windows hold too little of a conversation for it (O-11).
LEAST_TIERS: Final[Mapping[str, int]] = {"assistant": 4}
