"""What a session is after: goals, milestones, decisions, blockers; set by calls and by lines that messages mark.

`Goals` are values; a `GoalBook` reads them from a session and changes them, durably. The head of requests says them,
never shortened.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.arguments import flag, takes, text
from squidbot.core.budget import tier_of
from squidbot.core.errors import ArgumentError, BudgetError, NotFoundError
from squidbot.core.plan import Section
from squidbot.core.transcript.markers import MARKED, MarkedMessage, details, marked_lines
from squidbot.core.transcript.records import RecordKind, fields, retry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from squidbot.core.ports import TranscriptStore
    from squidbot.core.transcript.markers import MarkedLine
    from squidbot.core.transcript.records import Wait


SET, CLOSE = "set", "close"
MILESTONE, DECISION, ARTIFACT, BLOCKER = "milestone", "decision", "artifact", "blocker"
ARCHITECTURE, UNLOCK = "architecture", "unlock"
# What a change can do, and which kind of item it makes; "" for none.
ACTIONS: Final = {
    SET: "",
    MILESTONE: MILESTONE,
    "decide": DECISION,
    "lock": DECISION,
    UNLOCK: DECISION,
    ARCHITECTURE: ARCHITECTURE,
    ARTIFACT: ARTIFACT,
    "block": BLOCKER,
    "next": "",
    CLOSE: "",
}


class GoalChange(NamedTuple):
    """One change of a session's goals.

    Attributes:
        action: one of `ACTIONS`.
        text: what it is about, one line; for "close" the goal, or a milestone of it, empty for the active goal.
        done: of "milestone" whether it is reached, of "block" and "architecture" whether it is over; else without a
            meaning.
        seq: how many messages were stored when it was made, or which message marks it.
        marked: whether a marked line makes it, which stands for its message wherever that is not sent.
        own: whether a user or a call makes it; false for a line that the assistant marks, which sets nothing new.
        mark: which record of marked lines was written with it, None for none. That one is for notes alone.
        gone: whether it was taken out for good.
    """

    action: str
    text: str = ""
    done: bool = False
    seq: int = 0
    marked: bool = False
    own: bool = True
    mark: int | None = None
    gone: bool = False


@dataclass(frozen=True, slots=True)
class GoalItem:
    """A milestone, decision, artifact, blocker, or a line on the architecture.

    Attributes:
        kind: "milestone", "decision", "artifact", "blocker" or "architecture".
        text: what it says.
        done: a milestone was reached, a decision is locked, a blocker or a line on the architecture is over; false for
            an artifact.
        goal: the goal that was active when it was first named; empty for none.
        told: whether a call has made or changed it, so that no marked line says all of it.
    """

    kind: str
    text: str
    done: bool = False
    goal: str = ""
    told: bool = False


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal; `told` as of an item, `ended`: "closed", "replaced", or empty while it is active."""

    text: str
    told: bool = False
    ended: str = ""


@dataclass(frozen=True, slots=True)
class Goals:
    """All that a session's goals are, and were; nothing that was said of them is ever left out.

    Attributes:
        active: the goal that is worked on; None for none.
        ended: the goals before it, in the order in which they ended.
        items: in the order in which they were first named.
        next_step: what was named last as the next step of the active goal; empty for nothing.
    """

    active: Goal | None = None
    ended: tuple[Goal, ...] = ()
    items: tuple[GoalItem, ...] = ()
    next_step: str = ""

    @property
    def milestones(self) -> tuple[GoalItem, ...]:
        """Those of the active goal."""
        return tuple(one for one in self.items if one.kind == MILESTONE and one.goal == self._name)

    @property
    def decisions(self) -> tuple[GoalItem, ...]:
        """Those that stand: locked ones whatever became of their goal, others with the active goal, or of none."""
        return tuple(one for one in self.items if one.kind == DECISION and (one.done or one.goal in {"", self._name}))

    @property
    def architecture(self) -> tuple[GoalItem, ...]:
        """How the work is built: it holds for the session, whatever its goal, until it is over."""
        return tuple(one for one in self.items if one.kind == ARCHITECTURE and not one.done)

    @property
    def artifacts(self) -> tuple[GoalItem, ...]:
        """Those of the active goal, and of none."""
        return tuple(one for one in self.items if one.kind == ARTIFACT and one.goal in {"", self._name})

    @property
    def blockers(self) -> tuple[GoalItem, ...]:
        """Those of the active goal, and of none, that are not over."""
        mine = (one for one in self.items if one.kind == BLOCKER and one.goal in {"", self._name})
        return tuple(one for one in mine if not one.done)

    def after(self, change: GoalChange) -> Goals:
        """Return what a change makes of them; one that changes nothing is none, and none is refused."""
        if not change.own and not self._may_detail(change):
            return self
        if change.action == SET:
            return self._set(change)
        if change.action == CLOSE:
            return self._closed(change)
        if change.action == "next":
            return replace(self, next_step=change.text)
        return self._named(change)

    def _may_detail(self, change: GoalChange) -> bool:
        """Return whether what an assistant marks is about a goal, or a decision, that there is."""
        if change.action == CLOSE:
            goals = (*filter(None, [self.active]), *self.ended)
            return self.active is not None or any(same(one.text, change.text) for one in goals)
        if ACTIONS[change.action] == DECISION:
            return details(change.text, (one.text for one in self.items if one.kind == DECISION))
        return change.action != SET and self.active is not None

    @property
    def _name(self) -> str:
        return self.active.text if self.active else ""

    def _set(self, change: GoalChange) -> Goals:
        told = not change.marked
        if self.active and same(self.active.text, change.text):
            return replace(self, active=replace(self.active, told=self.active.told or told))
        known = next((one for one in self.ended if same(one.text, change.text)), None)
        # Taken up again it is the goal it was, with its items.
        taken = Goal(known.text if known else change.text, told or bool(known and known.told))
        left = tuple(one for one in self.ended if one is not known)
        ended = (*left, replace(self.active, ended="replaced")) if self.active else left
        return replace(self, active=taken, ended=ended, next_step="")

    def _closed(self, change: GoalChange) -> Goals:
        if self.active and (not change.text or same(self.active.text, change.text)):
            ended = (*self.ended, replace(self.active, ended="closed"))
            return replace(self, active=None, ended=ended, next_step="")
        if change.marked and not any(same(one.text, change.text) for one in self.ended):
            # A checkpoint names no goal: it is a milestone.
            return self._named(change._replace(action=MILESTONE, done=True))
        ended = tuple(replace(one, ended="closed") if same(one.text, change.text) else one for one in self.ended)
        return replace(self, ended=ended)

    def _named(self, change: GoalChange) -> Goals:
        kind, told = ACTIONS[change.action], not change.marked
        done = change.action == "lock" or (change.done and kind in {MILESTONE, BLOCKER, ARCHITECTURE})
        place = self._place(kind, change.text)
        if place is None and change.action == UNLOCK:
            return self
        if place is None:
            return replace(self, items=(*self.items, GoalItem(kind, change.text, done, self._name, told)))
        one = self.items[place]
        # Only what takes a lock away does: to be decided again leaves it.
        stays = kind == DECISION and one.done and change.action != UNLOCK
        left = stays or done
        newer = replace(one, done=left, told=one.told or told)
        return replace(self, items=(*self.items[:place], newer, *self.items[place + 1 :]))

    def _place(self, kind: str, text: str) -> int | None:
        """Return where an item of that kind and name is that the active goal has; of what holds for all, any."""
        # What is decided, and how the work is built: the same words again are the same.
        known = ((place, one) for place, one in enumerate(self.items) if one.kind == kind and same(one.text, text))
        return next((place for place, one in known if kind in {DECISION, ARCHITECTURE} or one.goal == self._name), None)


def same(one: str, other: str) -> bool:
    """Return whether two names are one: without case, punctuation at the ends and runs of white space."""
    return _compared(one) == _compared(other)


def _compared(text: str) -> str:
    folded = " ".join(text.casefold().split())
    return folded.strip(" .,:;!*_\"'`-") or folded


# -- from the lines that messages mark ----------------------------------------------------------------------------

_MARKED_ACTIONS: Final = {"GOAL": "set", "ARTIFACT": "artifact", "NEXT": "next"}
_LOCKED_END: Final = re.compile(r"\bLOCKED\b[\s.!)\]*_]*\Z")
_BEFORE_LOCKED: Final = " :([-\u2013\u2014"


def marked_changes(said: Iterable[MarkedMessage]) -> Iterator[GoalChange]:
    """Yield what the marked lines of messages change, in order."""
    for one in said:
        for line in one.lines:
            yield from (_marked_change(found, one.seq)._replace(own=one.is_own) for found in marked_lines(line))


def _marked_change(line: MarkedLine, seq: int) -> GoalChange:
    text = " ".join(line.said.strip("*_ \t").split())
    if line.marker == "DECISION":
        locked = _LOCKED_END.search(text)
        said = text[: locked.start()].rstrip(_BEFORE_LOCKED) if locked else text
        return GoalChange("lock" if locked else "decide", said, seq=seq, marked=True)
    if line.marker == "CHECKPOINT":
        if line.completes is not None:
            return GoalChange("close", line.completes, seq=seq, marked=True)
        return GoalChange("milestone", text, seq=seq, marked=True)
    return GoalChange(_MARKED_ACTIONS[line.marker], text, seq=seq, marked=True)


# -- as they are stored -------------------------------------------------------------------------------------------


def _read(text: str) -> GoalChange:
    made = fields(GoalChange)(text)
    if made.action not in ACTIONS:
        raise ValueError("it names no known change")
    return made


# What calls have changed; `folded` needs what messages mark, too.
GOAL = RecordKind("goal", _read, tuple)


def folded(called: Iterable[GoalChange], said: Iterable[MarkedMessage] = ()) -> Goals:
    """Return the goals that changes by call and marked lines leave, in the order in which they were made.

    `said` is what all records of marked lines hold, in their order.
    """
    called = [one for one in called if not one.gone]
    written = {one.mark for one in called}
    lines = (one for number, one in enumerate(said) if number not in written)
    # A call that was made behind n messages comes before message n, which is the next one.
    placed = [*(((one.seq, 0), one) for one in called), *(((one.seq, 1), one) for one in marked_changes(lines))]
    goals = Goals()
    for _, change in sorted(placed, key=lambda one: one[0]):
        goals = goals.after(change)
    return goals


def stored_goals(transcripts: TranscriptStore, session_id: str) -> Goals:
    """Return the goals of a session.

    Raises:
        DamagedStoreError: what is stored can't be read.
    """
    return folded(GOAL.all(transcripts, session_id), MARKED.all(transcripts, session_id))


# -- in the head of a request ----------------------------------------------------------------------------------------

# Of the form that sections of pins have: an event takes them from what is stored, and gives the place to no other text.
GOALS_SECTION: Final = "pin [goals]"
ARCHITECTURE_SECTION: Final = "pin [architecture]"


def goal_sections(goals: Goals) -> tuple[Section, ...]:
    """Return the sections of the head that say them: goals, architecture; none where there is nothing to say."""
    told = {GOALS_SECTION: goals_text(goals), ARCHITECTURE_SECTION: architecture_text(goals)}
    return tuple(Section(name, text) for name, text in told.items() if text)


def architecture_text(goals: Goals) -> str:
    """Return the lines on the architecture; empty for nothing."""
    return "\n".join(f"- {one.text}" for one in goals.architecture)


def goals_text(goals: Goals) -> str:
    """Return what calls have set, and the active goal with it, architecture aside; empty for nothing.

    What marked lines say is left out: these stand for their messages already, wherever these are not sent.
    """
    lines = list(_lines(goals))
    if goals.active and (lines or goals.active.told):
        lines.insert(0, f"Goal: {goals.active.text}")
    return "\n".join(lines)


def goals_most_tokens(window_tokens: int) -> int:
    """Return how many tokens that text may have in a window: the share of pinned content in its tier."""
    return int(window_tokens * tier_of(window_tokens).pinned_fraction)


def check_fits(goals: Goals, window_tokens: int, count: Callable[[str], int]) -> None:
    """Check that what the head says of them fits; `count` says what a text costs at most, in tokens.

    Raises:
        BudgetError: it does not.
    """
    if cost := goals_overrun(goal_sections(goals), window_tokens, count):
        share = f"{tier_of(window_tokens).pinned_fraction:.0%} of the window of {window_tokens:,} tokens"
        ways = "close the goal, end blockers or locks, or run `squidbot session goals SESSION forget TEXT`"
        detail = f"goals may take {share}; {ways}; with this change they cost"
        key = "window.default or models.<name>.context_window"
        raise BudgetError(
            "goals", cost=cost, budget=goals_most_tokens(window_tokens), unit="tokens", key=key, detail=detail
        )


def goals_overrun(sections: Iterable[Section], window_tokens: int, count: Callable[[str], int]) -> int:
    """Return what goals in the head cost where that is more than their share of a window, in tokens; else 0."""
    texts = [one.text for one in sections if one.name in {GOALS_SECTION, ARCHITECTURE_SECTION}]
    cost = count("\n".join(texts)) if texts else 0
    return cost if cost > goals_most_tokens(window_tokens) else 0


def _lines(goals: Goals) -> Iterator[str]:
    for one in _told_items(goals.milestones):
        yield f"- milestone{' (reached)' if one.done else ''}: {one.text}"
    for one in _told_items(goals.decisions):
        yield f"- decision{' (locked)' if one.done else ''}: {one.text}"
    yield from (f"- artifact: {one.text}" for one in _told_items(goals.artifacts))
    yield from (f"- blocked by: {one.text}" for one in _told_items(goals.blockers))


def _told_items(items: tuple[GoalItem, ...]) -> Iterator[GoalItem]:
    return (one for one in items if one.told)


# -- one session's ----------------------------------------------------------------------------------------------------

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
        return stored_goals(self.transcripts, self.session_id)

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
            called, lines = GOAL.all(self.transcripts, self.session_id), MARKED.all(self.transcripts, self.session_id)
            before, change = folded(called, lines), GoalChange(action, said, done=done, seq=head[0])
            after = _after(before, change)
            if after == before:
                return before
            # What gets smaller is never refused: in a smaller window it is the way out.
            if action not in {CLOSE, UNLOCK} and not (done and action in {"block", ARCHITECTURE}):
                check_fits(after, self.window_tokens, self.count)
            ends = [_end_of(before.active, lines, head[0])] if action == CLOSE and before.active else []
            marks = MARKED.records(filter(None, ends), len(lines))
            made = GOAL.record(len(called), change._replace(mark=marks[0].number if marks else None))
            self.transcripts.append(self.session_id, head[0], (), [made, *marks])
            return after

        return retry(self.transcripts, self.session_id, act, "no goal was changed", wait=self.wait)


def _end_of(active: Goal, said: Iterable[MarkedMessage], seq: int) -> MarkedMessage | None:
    """Return the line that ends an active goal which a line marks; None where none does."""
    lines = (found for one in said for line in one.lines for found in marked_lines(line))
    named = any(line.marker == "GOAL" and same(line.said, active.text) for line in lines)
    return MarkedMessage(seq, (f"[CHECKPOINT] {active.text} - COMPLETED",)) if named else None


def _after(before: Goals, change: GoalChange) -> Goals:
    if before.active is None and change.action in {"milestone", "next"}:
        raise NotFoundError(f"there is no active goal for a {_WORDS[change.action]}; set one first")
    after = before.after(change)
    if change.action == CLOSE and after.active == before.active:
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
        raise ArgumentError(f"the text has {len(said):,} characters; the most is 500")
    return said
