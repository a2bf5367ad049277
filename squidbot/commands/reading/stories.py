"""The story of one message: born, sent, told by notes, and by which events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from squidbot.commands.reading.entries import page
from squidbot.commands.reading.explained import ABSENT, SLIMMED, SUMMARY, VERBATIM, explained
from squidbot.commands.reading.requests import plan_json, plans
from squidbot.core.messages import Category
from squidbot.core.plan import Representation
from squidbot.core.view.renderer import spent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from squidbot.commands.reading.entries import Entry
    from squidbot.commands.reading.explained import Run
    from squidbot.commands.reading.opened import Opened
    from squidbot.core.messages import StoredMessage, Summary
    from squidbot.core.plan import PlanRecord

__all__ = ["State", "Story", "story"]

# Lines of notes that are shown of those that name what a message names.
MOST_LINES = 3
# How a message that nobody said is sent while it is raw.
BORN = {Category.RECALLED: "recalled", Category.FORGOTTEN: "forgotten"}


@dataclass(frozen=True, slots=True)
class State:
    """How a message was sent under a run of plans, `first_plan` to `last_plan` (-1: before there was one)."""

    first_plan: int
    last_plan: int
    how: str
    summary_id: str | None = None
    event: PlanRecord | None = None

    def to_json(self) -> dict[str, object]:
        """Return it as values that JSON holds."""
        return {
            "first_plan": self.first_plan,
            "last_plan": self.last_plan,
            "how": self.how,
            "summary": self.summary_id,
            "event": plan_json(self.event) if self.event else None,
        }


@dataclass(frozen=True, slots=True)
class Story:
    """All that can be told of one message; the newest of `states` is that of the next request.

    `here_tokens` is what is sent for itself, as a bound; `note` stands for it, with `lines` of it that name what the
    message names.
    """

    session_id: str
    entry: Entry
    states: tuple[State, ...]
    here_tokens: int
    pinned: bool
    run: Run
    note: Summary | None = None
    lines: tuple[str, ...] = ()

    @property
    def now(self) -> State:
        """How it stands in the next request."""
        return self.states[-1]

    def to_json(self) -> dict[str, object]:
        """Return it as values that JSON holds."""
        note = self.note
        return {
            "session": self.session_id,
            "message": self.entry.to_json(),
            "how": self.now.how,
            "here_tokens": self.here_tokens,
            "pinned": self.pinned,
            "states": [state.to_json() for state in self.states],
            "summary": {"id": note.summary_id, "level": note.level, "text": note.text} if note else None,
            "tells": list(self.lines),
        }


def story(place: Opened, session_id: str, seq: int) -> Story:
    """Return what became of one message, from its birth to the next request.

    Raises:
        StoreError: the store failed, or is damaged.
    """
    found = explained(place, session_id)
    standing = found.room.standing
    (entry,) = page(place, session_id, seq, seq).entries
    run = next(one for one in found.runs if one.first_seq <= seq <= one.last_seq)
    parts = [part for part in standing.sent if part.first_seq == part.last_seq == seq]
    notes = place.store.by_id(session_id, [run.summary_id]) if run.summary_id else []
    note = notes[0] if notes and seq not in run.sent else None
    return Story(
        session_id,
        entry,
        tuple(_states(entry, plans(place, session_id))),
        spent(parts).bound,
        seq in standing.pins.seqs,
        run,
        note,
        _telling(note.text, entry) if note else (),
    )


def _states(entry: Entry, every: Sequence[PlanRecord]) -> Iterator[State]:
    """Yield how a message stood under the plan that it was said under, and under each that changed that since."""
    row = entry.row
    born = BORN.get(row.category) or (SLIMMED if entry.is_cut else VERBATIM)
    under = [plan for plan in every if plan.made_at_seq <= row.seq]
    state = State(under[-1].plan_id if under else -1, -1, born)
    last = state.first_plan
    for plan in every[len(under) :]:
        how, summary_id = _under(plan, row, born)
        if (how, summary_id) != (state.how, state.summary_id):
            yield State(state.first_plan, last, state.how, state.summary_id, state.event)
            state = State(plan.plan_id, -1, how, summary_id, plan)
        last = plan.plan_id
    yield State(state.first_plan, last, state.how, state.summary_id, state.event)


def _under(plan: PlanRecord, row: StoredMessage, born: str) -> tuple[str, str | None]:
    """Return how a message is sent under a plan, and the notes that stand for it."""
    for segment in plan.segments:
        if segment.first_seq <= row.seq <= segment.last_seq:
            if row.seq in segment.verbatim or segment.representation is Representation.RAW:
                return born, None
            if segment.representation is Representation.SLIMMED:
                slim = bool(row.result_ids) and row.sent_cost.bound > plan.slim_tokens
                return SLIMMED if slim else born, None
            return (SUMMARY, segment.summary_id) if segment.summary_id else (ABSENT, None)
    return born, None


def _telling(text: str, entry: Entry) -> tuple[str, ...]:
    """Return the lines of notes that share most words with a message, the best few, in their order."""
    words = _words("\n".join([entry.text, *(f"{call.name} {call.arguments}" for call in entry.calls)]))
    rows = text.splitlines()[1:]
    shared = {place: len(words & _words(one)) for place, one in enumerate(rows)}
    best = sorted((place for place, hits in shared.items() if hits > 1), key=lambda place: -shared[place])[:MOST_LINES]
    return tuple(rows[place] for place in sorted(best))


def _words(text: str) -> set[str]:
    cleared = "".join(char if char.isalnum() or char in "_./" else " " for char in text[:200_000])
    return {word.strip("./") for word in cleared.split() if len(word) > 3}
