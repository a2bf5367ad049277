"""One session's goals: read from its store, changed by call, durably and append-only."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.arguments import flag, takes, text
from squidbot.core.errors import ArgumentError, NotFoundError
from squidbot.core.goals.head import check
from squidbot.core.goals.records import GOAL, as_record, goals_of
from squidbot.core.goals.values import ACTIONS, UNLOCK, Change, Goals, same
from squidbot.core.markers import KIND as MARKED
from squidbot.core.markers import Markers, Said, marked_lines
from squidbot.core.trying import Writing

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.core.messages import Record
    from squidbot.core.ports import TranscriptStore
    from squidbot.core.trying import Wait

__all__ = ["MOST_CHARS", "GoalBook"]

# A line; who needs more pins a text.
MOST_CHARS: Final = 500
# Control characters and lone surrogates, which some providers refuse.
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


class GoalBook(NamedTuple):
    """The goals of a session.

    Attributes:
        transcripts, session_id: where they are stored.
        window_tokens: of the window that they have to fit.
        count: what a text costs at most, in tokens.
        wait: how to wait for others who write; None: not at all.
        own: whether the session's user has said some words himself; None: nobody asks.
    """

    transcripts: TranscriptStore
    session_id: str
    window_tokens: int
    count: Callable[[str], int]
    wait: Wait | None = None
    own: Callable[[str], bool] | None = None

    def goals(self) -> Goals:
        """Return what they are now.

        Raises:
            DamagedStoreError: what is stored can't be read.
        """
        return goals_of(self.transcripts.records(self.session_id, GOAL), self._said())

    @takes(action=text, text=text, done=flag)
    def change(self, action: str, text: str = "", *, done: bool = False) -> Goals:
        """Make a change (`ACTIONS`), durably, and return what they are then; heads say it from the next event on.

        White space is made single. A change that changes nothing is not written.

        Raises:
            ArgumentError: the action is none, or the text is empty (but for "close") or longer than 500 characters.
            NotFoundError: there is no active goal to have a milestone, a next step, or to close, or no such decision is
                locked; nothing was written.
            BudgetError: the text of all of them no longer fits its share of the window; nothing was written.
            StoreError: nothing was written.
        """
        said = _checked(action, text)

        def act(head: tuple[int, int]) -> Goals:
            before, number = self.goals(), len(self.transcripts.records(self.session_id, GOAL))
            change = Change(action, said, done=done, seq=head[0])
            after = _after(before, change)
            if after == before:
                return before
            # What gets smaller is never refused: in a smaller window it is the way out.
            if action not in {"close", UNLOCK} and not (done and action in {"block", "architecture"}):
                check(after, self.window_tokens, self.count)
            self.transcripts.append(self.session_id, head[0], (), self._written(before, change, number))
            return after

        return Writing(self.transcripts, self.session_id, "no goal was changed", self.wait).tried(act)

    def _said(self) -> tuple[Said, ...]:
        return Markers.of(self.transcripts.records(self.session_id, MARKED)).said

    def _written(self, before: Goals, change: Change, number: int) -> list[Record]:
        """Return the records of a change; where it closes a goal that a line marks, with one that ends that line."""
        said, active = self._said(), before.active
        lines = chain.from_iterable(marked_lines(line) for one in said for line in one.lines)
        named = active and any(line.marker == "GOAL" and same(line.said, active.text) for line in lines)
        if change.action != "close" or not named or active is None:
            return [as_record(change, number)]
        ends = Said(change.seq, (f"[CHECKPOINT] {active.text} - COMPLETED",))
        return [as_record(change, number, len(said)), ends.record(len(said))]


def _after(before: Goals, change: Change) -> Goals:
    if before.active is None and change.action in {"milestone", "next"}:
        raise NotFoundError(f"there is no active goal for a {_WORDS[change.action]}; set one first")
    after = before.after(change)
    if change.action == "close" and after.active == before.active:
        which = f"the active goal is {before.active.text!r}" if before.active else "no goal is active"
        raise NotFoundError(f"there is nothing to close: {which}")
    if change.action == UNLOCK:
        _check_locked([one.text for one in before.decisions if one.done], change.text)
    return after


def _check_locked(locked: list[str], text: str) -> None:
    if not any(same(one, text) for one in locked):
        raise NotFoundError(f"no decision of that name is locked; locked: {'; '.join(locked) or 'none'}")


_WORDS: Final = {"milestone": "milestone", "next": "next step"}


def _checked(action: str, text: str) -> str:
    if action not in ACTIONS:
        raise ArgumentError(f"action is {action!a:.60}; it is one of {', '.join(ACTIONS)}")
    said = " ".join(_UNSAFE.sub(" ", text).split())
    if not said and action != "close":
        raise ArgumentError(f"{action} needs a text")
    if len(said) > MOST_CHARS:
        raise ArgumentError(
            f"the text has {len(said):,} characters; a goal and all that belongs to it are lines of 500"
        )
    return said
