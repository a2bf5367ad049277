"""Every kind of record that a session can have, in one table.

`doctor` reads them all, `forget` goes through them, and a new line of a conversation begins with some of each.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Protocol

from squidbot.core.errors import DamagedStoreError
from squidbot.core.last_request import REQUESTS
from squidbot.core.notes.notebook import FRAGMENT, LEDGER
from squidbot.core.notes.texts import SUMMARY
from squidbot.core.plan import JOURNAL_SECTION, PlanRecord
from squidbot.core.transcript.bookkeeping import BROUGHT, CUT, JOURNALED, KEY
from squidbot.core.transcript.documents import DOCUMENT
from squidbot.core.transcript.goals import GOAL
from squidbot.core.transcript.lineage import CALLER, LINEAGE
from squidbot.core.transcript.lines import COURSE, FIRST, HEAD, LINE, OF_ALL, Head, Line, Lines, own_name
from squidbot.core.transcript.markers import MARKED
from squidbot.core.transcript.pins import PIN
from squidbot.core.transcript.recordings import AGENT_SUMMARY, RECORDED, RECORDING
from squidbot.core.transcript.records import RecordKind, check_unchanged, retry
from squidbot.core.transcript.removals import FORGOTTEN, INJECTION, RETRACTION
from squidbot.core.transcript.scopes import MODEL, SCOPE
from squidbot.core.transcript.snapshots import SNAPSHOT
from squidbot.core.transcript.windows import LEARNED, WINDOW

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from squidbot.core.messages import Record
    from squidbot.core.ports import TranscriptStore
    from squidbot.core.transcript.lines import LineStore, Run
    from squidbot.core.transcript.records import Wait


class AnyKind(Protocol):
    """A kind of records, whatever its values are."""

    @property
    def name(self) -> str:
        """Its name in the store."""

    def read(self, record: Record) -> object:
        """Return the value that a record holds."""

    def count_before(self, store: TranscriptStore, session_id: str, seq: int) -> int:
        """Return how many of a session's records, from the first, speak only of messages before one."""

    def without_messages(self, store: TranscriptStore, session_id: str, seqs: AbstractSet[int]) -> Iterator[Record]:
        """Yield the replacements of the records of a session that quote these messages."""


PLAN = RecordKind("plan", PlanRecord.from_json, tuple, until=lambda plan: plan.made_at_seq)
KINDS: Final[tuple[AnyKind, ...]] = (
    PLAN,
    REQUESTS,
    WINDOW,
    LEARNED,
    SCOPE,
    MODEL,
    PIN,
    GOAL,
    MARKED,
    DOCUMENT,
    SNAPSHOT,
    LINEAGE,
    CALLER,
    KEY,
    FRAGMENT,
    LEDGER,
    SUMMARY,
    JOURNALED,
    BROUGHT,
    RECORDING,
    RECORDED,
    AGENT_SUMMARY,
    CUT,
    INJECTION,
    RETRACTION,
    FORGOTTEN,
    LINE,
    COURSE,
    HEAD,
)


def unreadable(store: TranscriptStore, session_id: str) -> Iterator[str]:
    """Yield a sentence for each record that the engine cannot read; nothing is written.

    Raises:
        StoreError: the store failed.
    """
    try:
        lines = len(Lines.read(store, session_id).made)
    except DamagedStoreError:  # told below
        lines = FIRST
    for kind in KINDS:
        for line in range(FIRST, lines + 1 if kind.name not in OF_ALL else 1):
            for record in store.records(session_id, own_name(kind.name, line)):
                try:
                    kind.read(record)
                except DamagedStoreError as error:
                    yield str(error)


def branch(  # noqa: PLR0913  # what a line is
    on: LineStore,
    behind: int,
    without: tuple[Run, ...] = (),
    *,
    shortened: tuple[int, ...] = (),
    at: float | None = None,
    seen: tuple[int, int] | None = None,
    wait: Wait | None = None,
) -> int:
    """Leave a line, and return the number of the new one, which is talked on from now on. Durable.

    The new line has the messages before `behind` of the line that `on` shows, but for the runs `without`, and what is
    known of them: plans, notes and goals that speak of them alone, all pins and documents. `shortened` are messages of
    that line that will be said again in fewer words. `at` is in seconds since 1970; `wait`: how to wait for others.
    `seen`: what the store's `head` was when this was decided; `None`: whatever others have written since.

    Raises:
        BusyError, StoreError: there is no new line; others have written since `seen`.
    """

    def act(head: tuple[int, int]) -> int:
        check_unchanged(on.session_id, head, seen)
        number = len(Lines.read(on.store, on.session_id).made) + 1
        first = min([behind, *(run[0] for run in without)])
        apart = OF_ALL | {PLAN.name, LEDGER.name, FRAGMENT.name}
        counts = {kind.name: kind.count_before(on, on.session_id, first) for kind in KINDS if kind.name not in apart}
        # Notes are counted with the plan behind which they stand.
        plans = [*_standing(on, first)]
        counts[PLAN.name] = len(plans)
        counts[LEDGER.name], counts[FRAGMENT.name] = plans[-1].notes if plans else (0, 0)
        known = {name: count for name, count in counts.items() if count}
        made = _nearest(on, Line(on.line, behind, without, known, at, shortened))
        on.store.append(on.session_id, head[0], (), (LINE.record(number - 1, made), _head(on, number)))
        return number

    return retry(on.store, on.session_id, act, "no line was begun", wait=wait)


def _standing(on: LineStore, first: int) -> Iterator[PlanRecord]:
    """Yield the plans of a line that say nothing of messages from one on, up to the first that does.

    What a plan cuts or notes is in front of its tail; its head may tell goals that were set later, and facts.
    """
    goals = [change.seq for change in GOAL.all(on, on.session_id) if change.seq > first]
    goals += [marked.seq + 1 for marked in MARKED.all(on, on.session_id) if marked.seq >= first]
    # Facts that stand elsewhere are found when the next request is made; an entry of the journal is no fact.
    noted = min((mark.time for mark in JOURNALED.all(on, on.session_id) if mark.until_seq > first), default=math.inf)
    for plan in PLAN.all(on, on.session_id):
        cut = (*plan.imageless, *plan.limits, *((seq, 0) for run in plan.thinking_dropped for seq in run))
        is_shared = max([plan.tail_from_seq, *(seq for seq, _ in cut)]) <= first
        tells = any(section.name == JOURNAL_SECTION for section in plan.sections)
        is_shared = is_shared and not (tells and (plan.created_at is None or plan.created_at >= noted))
        if plan.made_at_seq > first and not (is_shared and all(seq > plan.made_at_seq for seq in goals)):
            return
        yield plan


def _nearest(on: LineStore, made: Line) -> Line:
    """Return a line as one that left the line nearest to the first one: it may have nothing of those between."""
    lines = on.lines
    while made.parent != FIRST:
        left = lines.made[made.parent - 1]
        first = min((change.first_seq for change in lines.course if change.line == made.parent), default=made.behind)
        own = {kind for kind, count in made.records.items() if count > left.records.get(kind, 0)}
        # A request for the same answer was made before.
        if first < made.behind or own - {REQUESTS.name}:
            break
        known = {kind: min(count, left.records.get(kind, 0)) for kind, count in made.records.items()}
        behind, without = min(made.behind, left.behind), (*left.without, *made.without)
        made = Line(left.parent, behind, without, known, made.at, made.shortened)
    return made


def switch(on: LineStore, line: int, *, seen: tuple[int, int] | None = None, wait: Wait | None = None) -> None:
    """Talk on a line from now on. Durable. `seen` as for `branch`.

    Raises:
        NotFoundError: the session has no such line.
        BusyError, StoreError: nothing was changed; others have written since `seen`.
    """

    def act(head: tuple[int, int]) -> None:
        check_unchanged(on.session_id, head, seen)
        lines = Lines.read(on.store, on.session_id)
        lines.way(line)
        if line != lines.head:
            on.store.append(on.session_id, head[0], (), (_head(on, line),))

    retry(on.store, on.session_id, act, "no line was changed", wait=wait)


def _head(on: LineStore, line: int) -> Record:
    return HEAD.behind(on.store.last_record(on.session_id, HEAD.name), Head(line))
