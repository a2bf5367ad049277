"""What a store promises that finds sessions by their records, as a check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from squidbot.core.messages import Record
from squidbot.core.ports import TranscriptStore
from squidbot.core.withdrawing import Finds
from squidbot.testing.values import ODD_IDS, closed_after, made_message

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["check_finds"]


class _Store(TranscriptStore, Finds, Protocol):
    """A store of transcripts that can."""


def check_finds(factory: Callable[[], _Store]) -> None:
    """Check the promises of `withdrawing.Finds`.

    Promised: a session is found by any of its records of the kind, by any of the words, once, and by nothing else.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    with closed_after(factory()) as store:
        assert store.sessions_with("told", ["walrus"]) == [], "in no session nothing is found"
        for number, name in enumerate(ODD_IDS):
            bodies = [f'["own{number}"]', f'["walrus \\u00e9{number}", "\ud800"]'] if number else ["tea"]
            records = [Record("told", place, body) for place, body in enumerate(bodies)]
            store.append(name, 0, [made_message(0, "own9 walrus")], [*records, Record("plan", 0, "kept walrus")])
        others = [*ODD_IDS[1:]]
        assert store.sessions_with("told", ["walrus", "nowhere", "own1"]) == others, "each once, oldest first"
        assert store.sessions_with("told", ['"own1"']) == [ODD_IDS[1]], "by a word of its own"
        assert store.sessions_with("told", ["\ud800"]) == others, "whatever it is"
        assert store.sessions_with("told", ["kept"]) == [], "another kind is not looked at"
        assert store.sessions_with("nothing", ["walrus"]) == [], "nor is one that nobody has"
        assert store.sessions_with("told", []) == [], "no word finds nothing"
        many = [f"none{number}" for number in range(1_500)]
        assert store.sessions_with("told", [*many, '"own1"']) == [ODD_IDS[1]], "many words are as good as one"
