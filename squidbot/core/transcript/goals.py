"""The goals of a session, with milestones, decisions and blockers; set by calls and by lines that messages mark.

`Goals` are values; a `GoalBook` reads them from a session and changes them, durably. The head of requests shows them,
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
        done: for "milestone" whether it is reached, for "block" and "architecture" whether it is over; otherwise
            without a meaning.
        seq: how many messages were stored when it was made, or the message that marks it.
        marked: whether a marked line makes it, which stands for its message wherever that is not sent.
        own: whether a user or a call makes it; false for a line that the assistant marks, which sets nothing new.
        mark: the number of the record of marked lines that was written with it, for notes alone; None for none.
        gone: whether it was removed for good.
    """

    action: str
    text: str = ""
    done: bool = False
    seq: int = 0
    marked: bool = False
    own: bool = True
    mark: int | None = None
    gone: bool = False

    @property
    def finishes(self) -> bool:
        """Whether its item is done then: reached, locked or over."""
        can_end = ACTIONS[self.action] in {MILESTONE, BLOCKER, ARCHITECTURE}
        return self.action == "lock" or (self.done and can_end)


@dataclass(frozen=True, slots=True)
class GoalItem:
    """A milestone, decision, artifact, blocker, or a line on the architecture.

    Attributes:
        kind: "milestone", "decision", "artifact", "blocker" or "architecture".
        text: what it says.
        done: a milestone was reached, a decision is locked, a blocker or a line on the architecture is over; false for
            an artifact.
        goal: the goal that was active when it was first named; empty for none.
        by_call: whether a call has made or changed it, so that no marked line says all of it.
    """

    kind: str
    text: str
    done: bool = False
    goal: str = ""
    by_call: bool = False

    def after(self, change: GoalChange) -> GoalItem:
        """Return the item after a change that names it again; only an unlock takes a lock away."""
        stays_locked = self.kind == DECISION and self.done and change.action != UNLOCK
        return replace(self, done=stays_locked or change.finishes, by_call=self.by_call or not change.marked)


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal.

    Attributes:
        text: what it says.
        by_call: whether a call has made or changed it, so that no marked line says all of it.
        ended: "closed" or "replaced"; "" while it is active.
    """

    text: str
    by_call: bool = False
    ended: str = ""


@dataclass(frozen=True, slots=True)
class Goals:
    """The present and past goals of a session.

    Attributes:
        active: the goal that is worked on; None for none.
        ended: the goals before it, in the order in which they ended.
        items: in the order in which they were first named.
        next_step: the newest next step of the active goal; empty for none.
    """

    active: Goal | None = None
    ended: tuple[Goal, ...] = ()
    items: tuple[GoalItem, ...] = ()
    next_step: str = ""

    @property
    def milestones(self) -> tuple[GoalItem, ...]:
        """The milestones of the active goal."""
        return tuple(item for item in self.items if item.kind == MILESTONE and item.goal == self._name)

    @property
    def decisions(self) -> tuple[GoalItem, ...]:
        """The decisions in force: locked ones whatever became of their goal, others of the active goal, or of none."""
        return tuple(item for item in self.items if item.kind == DECISION and (item.done or self._is_current(item)))

    @property
    def architecture(self) -> tuple[GoalItem, ...]:
        """The lines on the architecture: they hold for the session, whatever its goal, until they are over."""
        return tuple(item for item in self.items if item.kind == ARCHITECTURE and not item.done)

    @property
    def artifacts(self) -> tuple[GoalItem, ...]:
        """The artifacts of the active goal, and of none."""
        return tuple(item for item in self.items if item.kind == ARTIFACT and self._is_current(item))

    @property
    def blockers(self) -> tuple[GoalItem, ...]:
        """The blockers of the active goal, and of none, that are not over."""
        return tuple(item for item in self.items if item.kind == BLOCKER and not item.done and self._is_current(item))

    def _is_current(self, item: GoalItem) -> bool:
        return item.goal in {"", self._name}

    def after(self, change: GoalChange) -> Goals:
        """Return the goals after a change; one without an effect returns the same goals, and none is refused."""
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
        """Return whether a line that an assistant marks is about a goal, or a decision, that exists."""
        if change.action == CLOSE:
            return self.active is not None or any(same(goal.text, change.text) for goal in self.ended)
        if ACTIONS[change.action] == DECISION:
            return details(change.text, (item.text for item in self.items if item.kind == DECISION))
        return change.action != SET and self.active is not None

    @property
    def _name(self) -> str:
        return self.active.text if self.active else ""

    def _set(self, change: GoalChange) -> Goals:
        by_call = not change.marked
        if self.active and same(self.active.text, change.text):
            return replace(self, active=replace(self.active, by_call=self.active.by_call or by_call))
        # A goal that is taken up again is the same goal, with its items.
        known = next((goal for goal in self.ended if same(goal.text, change.text)), Goal(change.text))
        active = replace(known, by_call=known.by_call or by_call, ended="")
        others = tuple(goal for goal in self.ended if goal is not known)
        ended = (*others, replace(self.active, ended="replaced")) if self.active else others
        return replace(self, active=active, ended=ended, next_step="")

    def _closed(self, change: GoalChange) -> Goals:
        if self.active and (not change.text or same(self.active.text, change.text)):
            ended = (*self.ended, replace(self.active, ended="closed"))
            return replace(self, active=None, ended=ended, next_step="")
        if change.marked and not any(same(goal.text, change.text) for goal in self.ended):
            # A checkpoint names no goal: it is a milestone.
            return self._named(change._replace(action=MILESTONE, done=True))
        ended = tuple(replace(goal, ended="closed") if same(goal.text, change.text) else goal for goal in self.ended)
        return replace(self, ended=ended)

    def _named(self, change: GoalChange) -> Goals:
        kind = ACTIONS[change.action]
        known = self._item(kind, change.text)
        if known is not None:
            return replace(self, items=tuple(item.after(change) if item is known else item for item in self.items))
        if change.action == UNLOCK:
            return self
        item = GoalItem(kind, change.text, change.finishes, self._name, not change.marked)
        return replace(self, items=(*self.items, item))

    def _item(self, kind: str, text: str) -> GoalItem | None:
        """Return the item of that kind and name that the active goal has; decisions and architecture hold for all."""
        known = (item for item in self.items if item.kind == kind and same(item.text, text))
        return next((item for item in known if kind in {DECISION, ARCHITECTURE} or item.goal == self._name), None)


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


def marked_changes(messages: Iterable[MarkedMessage]) -> Iterator[GoalChange]:
    """Yield the changes that the marked lines of messages make, in order."""
    for message in messages:
        for line in message.lines:
            changes = (_marked_change(marked, message.seq) for marked in marked_lines(line))
            yield from (change._replace(own=message.is_own) for change in changes)


def _marked_change(line: MarkedLine, seq: int) -> GoalChange:
    text = " ".join(line.said.strip("*_ \t").split())
    if line.marker == "DECISION":
        locked = _LOCKED_END.search(text)
        decision = text[: locked.start()].rstrip(_BEFORE_LOCKED) if locked else text
        return GoalChange("lock" if locked else "decide", decision, seq=seq, marked=True)
    if line.marker == "CHECKPOINT":
        if line.completes is not None:
            return GoalChange("close", line.completes, seq=seq, marked=True)
        return GoalChange("milestone", text, seq=seq, marked=True)
    return GoalChange(_MARKED_ACTIONS[line.marker], text, seq=seq, marked=True)


# -- as they are stored -------------------------------------------------------------------------------------------


def _known(change: GoalChange) -> GoalChange:
    if change.action not in ACTIONS:
        raise ValueError("it names no known change")
    return change


# The changes by call; `folded` needs the marked lines, too.
GOAL = RecordKind("goal", fields(GoalChange, _known), tuple, until=lambda change: change.seq)


def folded(calls: Iterable[GoalChange], messages: Iterable[MarkedMessage] = ()) -> Goals:
    """Return the goals after changes by call and marked lines, in the order in which they were made.

    `messages` are the values of all records of marked lines, in order.
    """
    calls = [change for change in calls if not change.gone]
    written = {change.mark for change in calls}
    marked = marked_changes(message for number, message in enumerate(messages) if number not in written)
    goals = Goals()
    # A call that was made behind n messages comes before message n, which is the next one.
    for change in sorted((*calls, *marked), key=lambda change: (change.seq, change.marked)):
        goals = goals.after(change)
    return goals


def stored_goals(transcripts: TranscriptStore, session_id: str) -> Goals:
    """Return the goals of a session.

    Raises:
        DamagedStoreError: what is stored can't be read.
    """
    return folded(GOAL.all(transcripts, session_id), MARKED.all(transcripts, session_id))


# -- in the head of a request ----------------------------------------------------------------------------------------

# Named like sections of pins: an event takes them from the records, and no other text takes their place.
GOALS_SECTION: Final = "pin [goals]"
ARCHITECTURE_SECTION: Final = "pin [architecture]"


def goal_sections(goals: Goals) -> tuple[Section, ...]:
    """Return the sections of the head on goals and on the architecture, without empty ones."""
    texts = {GOALS_SECTION: goals_text(goals), ARCHITECTURE_SECTION: architecture_text(goals)}
    return tuple(Section(name, text) for name, text in texts.items() if text)


def architecture_text(goals: Goals) -> str:
    """Return the lines on the architecture; empty for nothing."""
    return "\n".join(f"- {item.text}" for item in goals.architecture)


def goals_text(goals: Goals) -> str:
    """Return everything that calls have set, architecture aside, with the active goal; empty for nothing.

    Marked lines are left out: they stand for their messages already, wherever these are not sent.
    """
    kinds = (
        ("milestone", " (reached)", goals.milestones),
        ("decision", " (locked)", goals.decisions),
        ("artifact", "", goals.artifacts),
        ("blocked by", "", goals.blockers),
    )
    lines = [
        f"- {label}{done if item.done else ''}: {item.text}"
        for label, done, items in kinds
        for item in items
        if item.by_call
    ]
    if goals.active and (lines or goals.active.by_call):
        lines.insert(0, f"Goal: {goals.active.text}")
    return "\n".join(lines)


def goals_most_tokens(window_tokens: int) -> int:
    """Return how many tokens goals may take of a window: the share of pinned content in its tier."""
    return int(window_tokens * tier_of(window_tokens).pinned_fraction)


def check_fits(goals: Goals, window_tokens: int, count: Callable[[str], int]) -> None:
    """Check that the sections on goals fit; `count` returns a bound of a text's tokens.

    Raises:
        BudgetError: it does not.
    """
    if cost := goals_overrun(goal_sections(goals), window_tokens, count):
        share = f"{tier_of(window_tokens).pinned_fraction:.0%} of the window of {window_tokens:,} tokens"
        ways = "close the goal, end blockers or locks, or run `squidbot session goals SESSION forget TEXT`"
        detail = f"goals may take {share}; {ways}; with this change they cost"
        raise BudgetError("goals", cost=cost, budget=goals_most_tokens(window_tokens), detail=detail)


def goals_overrun(sections: Iterable[Section], window_tokens: int, count: Callable[[str], int]) -> int:
    """Return the tokens of goals in the head if they are more than their share of a window; else 0."""
    texts = [section.text for section in sections if section.name in {GOALS_SECTION, ARCHITECTURE_SECTION}]
    cost = count("\n".join(texts)) if texts else 0
    return cost if cost > goals_most_tokens(window_tokens) else 0


# -- one session's ----------------------------------------------------------------------------------------------------

# A goal is a line; pin a text if you need more.
MOST_CHARS: Final = 500
# Control characters and lone surrogates, which some providers refuse.
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


class GoalBook(NamedTuple):
    """The goals of a session.

    Attributes:
        transcripts, session_id: where they are stored.
        window_tokens: the size of the window that they have to fit.
        count: returns a bound of a text's tokens.
        wait: how to wait for other writers; None: not at all.
        own: returns whether some words are the session's user's own; None: nobody asks.
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
        line = _checked(action, text)

        def act(head: tuple[int, int]) -> Goals:
            calls, marked = GOAL.all(self.transcripts, self.session_id), MARKED.all(self.transcripts, self.session_id)
            before, change = folded(calls, marked), GoalChange(action, line, done=done, seq=head[0])
            after = _after(before, change)
            if after == before:
                return before
            # What gets smaller is never refused: in a smaller window it is the way out.
            if action not in {CLOSE, UNLOCK} and not (done and action in {"block", ARCHITECTURE}):
                check_fits(after, self.window_tokens, self.count)
            ends = [_end_of(before.active, marked, head[0])] if action == CLOSE and before.active else []
            marks = MARKED.records(filter(None, ends), len(marked))
            record = GOAL.record(len(calls), change._replace(mark=marks[0].number if marks else None))
            self.transcripts.append(self.session_id, head[0], (), [record, *marks])
            return after

        return retry(self.transcripts, self.session_id, act, "no goal was changed", wait=self.wait)


def _end_of(active: Goal, messages: Iterable[MarkedMessage], seq: int) -> MarkedMessage | None:
    """Return the line that ends an active goal that a line has set; None if no line has."""
    lines = (marked for message in messages for line in message.lines for marked in marked_lines(line))
    named = any(line.marker == "GOAL" and same(line.said, active.text) for line in lines)
    return MarkedMessage(seq, (f"[CHECKPOINT] {active.text} - COMPLETED",)) if named else None


def _after(before: Goals, change: GoalChange) -> Goals:
    needs_goal = {MILESTONE: "milestone", "next": "next step"}
    if before.active is None and change.action in needs_goal:
        raise NotFoundError(f"there is no active goal for a {needs_goal[change.action]}; set one first")
    after = before.after(change)
    if change.action == CLOSE and after.active == before.active:
        which = f"the active goal is {before.active.text!r}" if before.active else "no goal is active"
        raise NotFoundError(f"there is nothing to close: {which}")
    locked = [item.text for item in before.decisions if item.done]
    if change.action == UNLOCK and not any(same(name, change.text) for name in locked):
        raise NotFoundError(f"no decision of that name is locked; locked: {'; '.join(locked) or 'none'}")
    return after


def _checked(action: str, text: str) -> str:
    if action not in ACTIONS:
        raise ArgumentError(f"action is {action!a:.60}; it is one of {', '.join(ACTIONS)}")
    line = " ".join(_UNSAFE.sub(" ", text).split())
    if not line and action != "close":
        raise ArgumentError(f"{action} needs a text")
    if len(line) > MOST_CHARS:
        raise ArgumentError(f"the text has {len(line):,} characters; the most is {MOST_CHARS}")
    return line
