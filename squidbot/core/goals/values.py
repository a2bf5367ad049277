"""What a session is after, as values, and what a change makes of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from squidbot.core.markers import details

__all__ = ["ACTIONS", "UNLOCK", "Change", "Goal", "Goals", "Item", "same"]

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


class Change(NamedTuple):
    """One change of a session's goals.

    Attributes:
        action: one of `ACTIONS`.
        text: what it is about, one line; for "close" the goal, or a milestone of it, empty for the active goal.
        done: of "milestone" whether it is reached, of "block" and "architecture" whether it is over; else without a
            meaning.
        seq: how many messages were stored when it was made, or which message marks it.
        marked: whether a marked line makes it, which stands for its message wherever that is not sent.
        own: whether a user or a call makes it; false for a line that the assistant marks, which sets nothing new.
    """

    action: str
    text: str = ""
    done: bool = False
    seq: int = 0
    marked: bool = False
    own: bool = True


@dataclass(frozen=True, slots=True)
class Item:
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
    items: tuple[Item, ...] = ()
    next_step: str = ""

    @property
    def milestones(self) -> tuple[Item, ...]:
        """Those of the active goal."""
        return tuple(one for one in self.items if one.kind == MILESTONE and one.goal == self._name)

    @property
    def decisions(self) -> tuple[Item, ...]:
        """Those that stand: locked ones whatever became of their goal, others with the active goal, or of none."""
        return tuple(one for one in self.items if one.kind == DECISION and (one.done or one.goal in {"", self._name}))

    @property
    def architecture(self) -> tuple[Item, ...]:
        """How the work is built: it holds for the session, whatever its goal, until it is over (O-07)."""
        return tuple(one for one in self.items if one.kind == ARCHITECTURE and not one.done)

    @property
    def artifacts(self) -> tuple[Item, ...]:
        """Those of the active goal, and of none."""
        return tuple(one for one in self.items if one.kind == ARTIFACT and one.goal in {"", self._name})

    @property
    def blockers(self) -> tuple[Item, ...]:
        """Those of the active goal, and of none, that are not over."""
        mine = (one for one in self.items if one.kind == BLOCKER and one.goal in {"", self._name})
        return tuple(one for one in mine if not one.done)

    def after(self, change: Change) -> Goals:
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

    def _may_detail(self, change: Change) -> bool:
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

    def _set(self, change: Change) -> Goals:
        told = not change.marked
        if self.active and same(self.active.text, change.text):
            return replace(self, active=replace(self.active, told=self.active.told or told))
        known = next((one for one in self.ended if same(one.text, change.text)), None)
        # Taken up again it is the goal it was, with its items.
        taken = Goal(known.text if known else change.text, told or bool(known and known.told))
        left = tuple(one for one in self.ended if one is not known)
        ended = (*left, replace(self.active, ended="replaced")) if self.active else left
        return replace(self, active=taken, ended=ended, next_step="")

    def _closed(self, change: Change) -> Goals:
        if self.active and (not change.text or same(self.active.text, change.text)):
            ended = (*self.ended, replace(self.active, ended="closed"))
            return replace(self, active=None, ended=ended, next_step="")
        if change.marked and not any(same(one.text, change.text) for one in self.ended):
            # A checkpoint names no goal: it is a milestone (C21).
            return self._named(change._replace(action=MILESTONE, done=True))
        ended = tuple(replace(one, ended="closed") if same(one.text, change.text) else one for one in self.ended)
        return replace(self, ended=ended)

    def _named(self, change: Change) -> Goals:
        kind, told = ACTIONS[change.action], not change.marked
        done = change.action == "lock" or (change.done and kind in {MILESTONE, BLOCKER, ARCHITECTURE})
        place = self._place(kind, change.text)
        if place is None and change.action == UNLOCK:
            return self
        if place is None:
            return replace(self, items=(*self.items, Item(kind, change.text, done, self._name, told)))
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
