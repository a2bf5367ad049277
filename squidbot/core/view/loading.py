"""What stands, read from a session's store: the same whichever process reads it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from squidbot.core.contexts import KIND as CONTEXT
from squidbot.core.contexts import documents_of
from squidbot.core.contexts import sections as told_of
from squidbot.core.goals.head import sections
from squidbot.core.goals.records import GOAL, goals_of
from squidbot.core.markers import KIND as MARKED
from squidbot.core.markers import Markers
from squidbot.core.messages import Kind
from squidbot.core.pins import KIND as PIN
from squidbot.core.pins import Pins
from squidbot.core.plan import PlanRecord, Representation, Segment
from squidbot.core.view.atoms import atoms_of
from squidbot.core.view.renderer import born, unanswerable
from squidbot.core.view.standing import (
    NO_MARKERS,
    NO_PINS,
    NOTHING,
    READ_BACK_MESSAGES,
    Block,
    Pieces,
    Shelf,
    Standing,
    bare,
    standing,
)
from squidbot.core.view.tail import Tail

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.core.messages import Opening, Part, StoredMessage

__all__ = ["EVERYTHING", "PLAN", "READ_BACK_WINDOWS", "STOOD_WITH", "load", "marked", "released", "settled", "under"]

# A session that has messages but no plan (imported, or never assembled) is read back this many windows far for its
# first notes; what is older is absent, with a pointer.
READ_BACK_WINDOWS = 4
# More tokens than any session has.
EVERYTHING = 10**12
PLAN, WITHDRAWN = "plan", "withdrawn"
# The kinds of records that say what stands.
STOOD_WITH = (PIN, GOAL, CONTEXT, MARKED, PLAN, WITHDRAWN)
_SAID = frozenset({Kind.SYSTEM, Kind.MESSAGE, Kind.SLIMMED, Kind.RECALLED, Kind.FORGOTTEN})


def load(
    shelf: Shelf, window_tokens: int, lease_id: str, opening: Opening | None = None, *, reads_all: bool = False
) -> Standing:
    """Return what stands for a session as its store has it.

    `window_tokens` bounds documents, and what is read without a plan, unless `reads_all`.

    A plan made under another lease is not in force: detail may come back in a larger window. `opening`, with the newest
    records of at least the kinds `STOOD_WITH`, is read where it is not given.
    """
    opening = opening or shelf.transcripts.opening(shelf.session_id, STOOD_WITH)
    stored = opening.newest.get(PLAN)
    plan = PlanRecord.from_json(stored.body) if stored else None
    valid = plan if plan and plan.lease_id == lease_id else None
    other = plan is not None and valid is None
    shelf = shelf.showing(valid)
    counts = bare(plan)._replace(messages=opening.messages, records=opening.records, opened=other)
    counts = _with_kept(shelf, counts, opening, window_tokens)._replace(withdrawn=opening.newest.get(WITHDRAWN))
    if not counts.messages:
        return _stood(shelf, valid, ((), ()), (), counts)
    if valid and valid.segments:
        return _planned(shelf, valid, counts)
    return _read_back(shelf, valid, counts, EVERYTHING if reads_all else READ_BACK_WINDOWS * window_tokens)


def _with_kept(shelf: Shelf, counts: Standing, opening: Opening, window_tokens: int) -> Standing:
    """Return the counts with what is pinned and what is marked; kinds of which there is no record are not read."""
    pins = Pins.of(shelf.transcripts.records(shelf.session_id, PIN)) if PIN in opening.newest else NO_PINS
    markers = marked(shelf) if MARKED in opening.newest else NO_MARKERS
    if GOAL in opening.newest:
        goals = goals_of(shelf.transcripts.records(shelf.session_id, GOAL), markers.said)
        pins = replace(pins, goals=sections(goals))
    if CONTEXT in opening.newest:
        documents = documents_of(shelf.transcripts.records(shelf.session_id, CONTEXT))
        bound = shelf.renderer.meter.text
        pins = replace(pins, documents=told_of(documents, window_tokens, lambda text: bound(text).bound))
    return counts._replace(pins=pins, markers=markers)


def marked(shelf: Shelf) -> Markers:
    """Return what the messages of a session mark.

    Raises:
        DamagedStoreError: it can't be read.
    """
    return Markers.of(shelf.transcripts.records(shelf.session_id, MARKED))


def settled(shelf: Shelf, plan: PlanRecord, stored: Standing, made: Standing) -> Standing:
    """Return what stands once a plan is stored: as `load` would read it, made of what is held.

    `stored` stood before, `made` is what the plan sends with what came with its call.
    """
    shelf = shelf.showing(plan)
    rows = [row for atom in made.tail.atoms for row in atom.messages if row.seq < stored.messages]
    counts = stored._replace(plan=plan, opened=False, asked=NOTHING)
    return _stood(shelf, plan, (stored.lead, made.blocks), rows, counts)


def released(shelf: Shelf, opened: Standing, asked: int) -> Standing:
    """Return what stands where a new turn has come behind what was read back: the question of the turn `asked` may go.

    It was held since it might have been the one that is being answered.
    """
    shelf = shelf.showing(opened.plan)
    first = opened.blocks[0].segment if opened.blocks else None
    if first is None or opened.turn == asked or not first.first_seq <= asked <= first.last_seq:
        return opened
    segment = _absent(shelf, first.first_seq, first.last_seq, opened.pins.seqs)
    rows = [row for atom in opened.tail.atoms for row in atom.messages]
    return _stood(shelf, opened.plan, (opened.lead, tuple(shelf.blocks([segment], 0, opened.markers))), rows, opened)


def under(shelf: Shelf, plan: PlanRecord | None, counts: Standing, most_tokens: int | None = None) -> Standing:
    """Return what stands under a plan, or (None) without one, whatever its lease, for the messages of `counts`.

    No more is read than what passes `most_tokens`; where there is more, `Standing.opened` is set, and the oldest
    messages are missing.

    Raises:
        NotFoundError: a summary of the plan is no longer stored.
    """
    shelf = shelf.showing(plan)
    counts = counts._replace(plan=plan, opened=False)
    if plan is not None and plan.segments:
        shelf.check_summaries(plan.segments)
        return _planned(shelf, plan, counts, most_tokens)
    lead = shelf.lead(counts.messages)
    rows = _behind(shelf, len(lead), counts, most_tokens)
    counts = counts._replace(opened=bool(rows) and rows[0].seq > len(lead))
    return _stood(shelf, plan, (tuple(born(row) for row in lead), ()), rows, counts)


def _behind(shelf: Shelf, first_seq: int, counts: Standing, most_tokens: int | None) -> list[StoredMessage]:
    if most_tokens is None:
        return shelf.read(first_seq, counts.messages - 1)
    return _newest(shelf, first_seq, most_tokens) if counts.messages else []


def _planned(shelf: Shelf, plan: PlanRecord, counts: Standing, most_tokens: int | None = None) -> Standing:
    """Return what stands under a plan that has segments: these, and the messages behind them, as for `under`."""
    lead = tuple(born(row) for row in shelf.lead(plan.segments[0].first_seq))
    blocks = tuple(shelf.blocks(plan.segments, plan.slim_tokens, counts.markers))
    rows = _behind(shelf, plan.tail_from_seq, counts, most_tokens)
    counts = counts._replace(opened=bool(rows) and rows[0].seq > plan.tail_from_seq)
    return _stood(shelf, plan, (lead, blocks), rows, counts)


def _read_back(shelf: Shelf, plan: PlanRecord | None, counts: Standing, budget_tokens: int) -> Standing:
    """Return what stands where no segment does: the newest messages, behind a pointer to those too old to be read."""
    lead = shelf.lead(None)
    rows = _newest(shelf, len(lead), budget_tokens)
    unread = bool(rows) and rows[0].seq > len(lead)
    absent = [_absent(shelf, len(lead), rows[0].seq - 1, (*counts.pins.seqs, rows[-1].turn))] if unread else []
    counts = counts._replace(opened=True) if unread else counts
    pieces = tuple(born(row) for row in lead), tuple(shelf.blocks(absent, 0, counts.markers))
    return _stood(shelf, plan, pieces, rows, counts)


def _stood(
    shelf: Shelf,
    plan: PlanRecord | None,
    pieces: tuple[tuple[Part, ...], tuple[Block, ...]],
    rows: Sequence[StoredMessage],
    counts: Standing,
) -> Standing:
    lead, blocks = pieces
    head = tuple(shelf.renderer.section(section) for section in plan.sections) if plan else ()
    behind = Tail(after_assistant=bool(blocks) and unanswerable(blocks[-1].parts[-1]))
    grown = standing(counts.plan, Pieces(lead, head, blocks, behind), counts).extended(rows, shelf.renderer)
    if not rows and counts.messages:
        newest = shelf.read(counts.messages - 1, counts.messages - 1)[0]
        grown = grown._replace(turn=newest.turn, newest_time=newest.time)
    return _with_asked(shelf, grown) if counts.messages else grown


def _with_asked(shelf: Shelf, stood: Standing) -> Standing:
    """Return what stands with the cost of the message that opened the newest turn, where that is not sent.

    What opens it and is told as text where it is sent, a step with a call that nothing answers or a result without its
    call, counts for nothing there, either.
    """
    if any(part.first_seq == stood.turn and part.kind in _SAID for part in reversed(stood.sent)):
        return stood
    opened = atoms_of(shelf.steps_with([stood.turn]))[:1]
    return stood._replace(asked=opened[0].messages[0].sent_cost) if opened and opened[0].whole else stood


def _absent(shelf: Shelf, first_seq: int, last_seq: int, wanted: Iterable[int]) -> Segment:
    """Return the segment of messages too old to be read, with those of them that must stay verbatim."""
    rows = shelf.steps_with(seq for seq in wanted if first_seq <= seq <= last_seq)
    verbatim = tuple(row.seq for row in rows if first_seq <= row.seq <= last_seq)
    return Segment(first_seq, last_seq, Representation.ABSENT, None, verbatim)


def _newest(shelf: Shelf, lead: int, budget_tokens: int) -> list[StoredMessage]:
    """Return the newest messages behind the lead until what is sent of them passes the budget."""
    rows = [shelf.renderer.counted(row) for row in shelf.transcripts.newest(shelf.session_id, budget_tokens)]
    sent = sum(row.sent_cost.bound for row in rows)
    while rows[0].seq > lead and sent <= budget_tokens:
        more = shelf.read(max(lead, rows[0].seq - READ_BACK_MESSAGES), rows[0].seq - 1)
        sent += sum(row.sent_cost.bound for row in more)
        rows = more + rows
    rows = [row for row in rows if row.seq >= lead]
    if rows and rows[0].seq > lead:
        # The oldest rows read may stand inside an atom whose beginning was not: start at a message that opens one.
        opening = next((place for place, row in enumerate(rows) if not row.result_ids), len(rows) - 1)
        rows = rows[opening:]
    return rows
