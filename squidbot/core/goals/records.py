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

__all__ = ["GOAL", "as_record", "emptied_goals", "goals_of", "names_of"]

# The kind of the records that hold one change by call each.
GOAL: Final = "goal"
_GONE: Final = '{"gone":true}'


def as_record(change: Change, number: int, mark: int | None = None) -> Record:
    """Return the record of this number; `mark` is the record of marked lines that was written with it, None for none.

    That one is for notes alone: what it says, the change says already.
    """
    body = {"action": change.action, "text": change.text, "done": change.done, "seq": change.seq, "mark": mark}
    return Record(GOAL, number, json.dumps(body, separators=(",", ":")))


def goals_of(records: Iterable[Record], said: Iterable[Said] = ()) -> Goals:
    """Return the goals that changes by call and marked lines leave, in the order in which they were made.

    `said` is what all records of marked lines hold, in their order.

    Raises:
        DamagedStoreError: a record is none.
    """
    # A call that was made behind n messages comes before message n, which is the next one.
    stored = [one for one in map(_change, records) if one is not None]
    written = {mark for _, mark in stored}
    called = [((one.seq, 0), one) for one, _ in stored]
    lines = (one for number, one in enumerate(said) if number not in written)
    marked = [((one.seq, 1), one) for one in marked_changes(lines)]
    goals = Goals()
    for _, change in sorted((*called, *marked), key=lambda placed: placed[0]):
        goals = goals.after(change)
    return goals


def emptied_goals(record: Record) -> Record:
    """Return what takes the place of a change that was taken out for good."""
    return Record(GOAL, record.number, _GONE)


def names_of(record: Record) -> tuple[str, int | None]:
    """Return what a change names, "" for nothing, and the record of marked lines that was written with it, or None.

    Raises:
        DamagedStoreError: the record is none.
    """
    change, mark = _change(record) or (Change("close"), None)
    return change.text, mark


def _change(record: Record) -> tuple[Change, int | None] | None:
    """Return a change and the number of the lines written with it; None where it was taken out."""
    if record.body == _GONE:
        return None
    try:
        body = json.loads(record.body)
        action, text, done, seq = body["action"], body["text"], body["done"], body["seq"]
        if not (isinstance(action, str) and isinstance(text, str) and isinstance(done, bool) and action in ACTIONS):
            raise ValueError("it names no change")  # noqa: TRY301  # caught with what json raises
        mark = body.get("mark")
        return Change(action, text, done=done, seq=int(seq)), None if mark is None else int(mark)
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedStoreError(f"goal {record.number} can't be read: {error}") from error
