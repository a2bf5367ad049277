"""Changes of goals that were made by call, as they are stored, and the goals that all changes leave."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from squidbot.core.errors import DamagedStoreError
from squidbot.core.goals.marked import marked_changes
from squidbot.core.goals.values import ACTIONS, Change, Goals
from squidbot.core.messages import Record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from squidbot.core.markers import Said

__all__ = ["GOAL", "as_record", "goals_of"]

# The kind of the records that hold one change by call each.
GOAL: Final = "goal"


def as_record(change: Change, number: int) -> Record:
    """Return the record of this number."""
    body = {"action": change.action, "text": change.text, "done": change.done, "seq": change.seq}
    return Record(GOAL, number, json.dumps(body, separators=(",", ":")))


def goals_of(records: Iterable[Record], said: Iterable[Said] = ()) -> Goals:
    """Return the goals that changes by call and marked lines leave, in the order in which they were made.

    Raises:
        DamagedStoreError: a record is none.
    """
    # A call that was made behind n messages comes before message n, which is the next one.
    called = [((one.seq, 0), one) for one in map(_change, records)]
    marked = [((one.seq, 1), one) for one in marked_changes(said)]
    goals = Goals()
    for _, change in sorted((*called, *marked), key=lambda placed: placed[0]):
        goals = goals.after(change)
    return goals


def _change(record: Record) -> Change:
    try:
        body = json.loads(record.body)
        action, text, done, seq = body["action"], body["text"], body["done"], body["seq"]
        if not (isinstance(action, str) and isinstance(text, str) and isinstance(done, bool) and action in ACTIONS):
            raise ValueError("it names no change")  # noqa: TRY301  # caught with what json raises
        return Change(action, text, done=done, seq=int(seq))
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedStoreError(f"goal {record.number} can't be read: {error}") from error
