"""Messages are forgotten on request: what goes with them, and what stands in the session without them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from squidbot.core.errors import NotFoundError
from squidbot.core.kinds import KINDS
from squidbot.core.messages import Category, Erasure, Opening, Record
from squidbot.core.notes.notebook import FRAGMENT, LEDGER, Notebook, retold
from squidbot.core.transcript.records import messages_of
from squidbot.core.transcript.removals import FORGOTTEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from squidbot.core.messages import Found, StoredMessage, Summary
    from squidbot.core.plan import PlanRecord
    from squidbot.core.ports import SummaryStore, TranscriptStore
    from squidbot.core.transcript.removals import ForgottenMessages
    from squidbot.core.view.current import CurrentView, SessionContext


# What names a message, or a run of messages, in a text of `history`.
_NAMED = re.compile(r"\bm([0-9]{1,18})(?:(?:-| to )m?([0-9]{1,18}))?")


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was forgotten.

    Attributes:
        asked: the messages that were named.
        copies: messages in which `history` had brought them back; forgotten with them.
        summaries: ids of the summaries that told of them.
        plan: the plan that the next request is made under; None where none had been made.
        facts: ids of the durable facts that nothing else said; forgotten with them.
        files: journals and logs that were written anew without them.
    """

    asked: tuple[int, ...]
    copies: tuple[int, ...]
    summaries: tuple[str, ...]
    plan: PlanRecord | None = None
    facts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class Forgetting:
    """One session's data as they will be without some messages: read like a store, nothing is written.

    Takes the shelf that the data stand on, and what the session holds.
    """

    def __init__(self, shelf: SessionContext, stored: CurrentView, seqs: Iterable[int]) -> None:
        """Find what goes.

        Raises:
            NotFoundError: a message is not there.
            StoreError: the store failed.
        """
        asked = tuple(sorted(set(seqs)))
        unknown = [seq for seq in asked if not 0 <= seq < stored.messages]
        if unknown or not asked:
            there = f"there are m0 to m{stored.messages - 1}" if stored.messages else "nothing has been said yet"
            named = f"m{unknown[0]} is not in {shelf.session_id!a:.80}" if unknown else "no message is named"
            raise NotFoundError(f"{named}: {there}; nothing was forgotten")
        self._shelf = shelf
        self._stored = stored
        copies = tuple(_copies(shelf, asked))
        gone = {*asked, *copies}
        every = shelf.summaries.for_range(shelf.session_id, 0, stored.messages - 1)
        told = tuple(one.summary_id for one in every if any(one.first_seq <= seq <= one.last_seq for seq in gone))
        self.forgotten = Forgotten(asked, copies, told)
        self._tombstones = {
            row.seq: shelf.renderer.tombstone(row) for row in shelf.transcripts.pick(shelf.session_id, gone)
        }
        self._notes = self._renewed_notes()

    @property
    def shelf(self) -> SessionContext:
        """The shelf with tombstones, without the summaries and with the notes retold."""
        transcripts = _Without(self._shelf.transcripts, self._tombstones, self._notes)
        summaries = _Left(self._shelf.summaries, frozenset(self.forgotten.summaries))
        return self._shelf._replace(transcripts=transcripts, summaries=summaries)

    def erasure(self, told: ForgottenMessages, records: Sequence[Record]) -> Erasure:
        """Return what the store is to do; `records` are stored behind the others, the plan among them."""
        last = self._shelf.transcripts.last_record(self._shelf.session_id, FORGOTTEN.name)
        replaced, appended = self._notes
        return Erasure(
            expected=(self._stored.messages, self._stored.records),
            tombstones=tuple(self._tombstones[seq] for seq in sorted(self._tombstones)),
            replaced=replaced,
            appended=(*appended, *records, FORGOTTEN.behind(last, told)),
            summaries=self.forgotten.summaries,
        )

    @property
    def counts(self) -> tuple[int, int]:
        """How many records of notes there will be: (ledgers, fragments)."""
        return self.notes.counts()

    @property
    def notes(self) -> Notebook:
        """The notes as they will be; what they make gets no id of a summary that goes, which is stored until then."""
        shelf = self.shelf
        return Notebook(shelf.session_id, shelf.renderer, shelf.transcripts, self._shelf.summaries, shelf.tells_users)

    @property
    def retells(self) -> bool:
        """Whether the plan in force shows a summary that goes."""
        gone = set(self.forgotten.summaries)
        return any(block.segment.summary_id in gone for block in self._stored.blocks)

    def _renewed_notes(self) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
        """Return the records of notes that take the place of stored ones, and those that come behind them."""
        transcripts, session_id = self._shelf.transcripts, self._shelf.session_id
        gone = frozenset(self._tombstones)
        replaced = tuple(one for kind in KINDS for one in kind.without_messages(transcripts, session_id, gone))
        if all(one.kind not in {FRAGMENT.name, LEDGER.name} for one in replaced):
            return replaced, ()
        without = self._shelf._replace(transcripts=_Without(transcripts, self._tombstones, ((), ())))
        notes = Notebook(session_id, self._shelf.renderer, transcripts, self._shelf.summaries, self._shelf.tells_users)
        return replaced, retold(notes, without, gone)


def _copies(shelf: SessionContext, asked: Sequence[int]) -> Iterator[int]:
    """Yield the messages in which `history` showed what is to be forgotten, copies of copies among them."""
    gone = set(asked)
    for row in messages_of(shelf.transcripts, shelf.session_id, asked[0]):
        if row.category is Category.RECALLED and row.seq not in gone and _shows(shelf.renderer.text_of(row), gone):
            gone.add(row.seq)
            yield row.seq


def _shows(text: str, gone: Iterable[int]) -> bool:
    """Return whether a text of `history` names one of these messages, alone or in a run."""
    runs = [(int(found[1]), int(found[2] or found[1])) for found in _NAMED.finditer(text)]
    return any(first <= seq <= last for first, last in runs for seq in gone)


class _Without:
    """A transcript store read as it will be: tombstones in their places, notes retold."""

    def __init__(
        self,
        stored: TranscriptStore,
        tombstones: dict[int, StoredMessage],
        notes: tuple[tuple[Record, ...], tuple[Record, ...]],
    ) -> None:
        self._stored = stored
        self._tombstones = tombstones
        replaced, self._appended = notes
        self._replaced = {(one.kind, one.number): one for one in replaced}

    def head(self, session_id: str) -> tuple[int, int]:
        messages, records = self._stored.head(session_id)
        return messages, records + len(self._appended)

    def opening(self, session_id: str, kinds: Sequence[str]) -> Opening:
        newest = {kind: last for kind in kinds if (last := self.last_record(session_id, kind))}
        return Opening(*self.head(session_id), newest)

    def read(self, session_id: str, first_seq: int, last_seq: int) -> list[StoredMessage]:
        return self._seen(self._stored.read(session_id, first_seq, last_seq))

    def pick(self, session_id: str, seqs: Iterable[int]) -> list[StoredMessage]:
        return self._seen(self._stored.pick(session_id, seqs))

    def newest(self, session_id: str, budget_tokens: int) -> list[StoredMessage]:
        return self._seen(self._stored.newest(session_id, budget_tokens))

    def last_record(self, session_id: str, kind: str) -> Record | None:
        behind = [one for one in self._appended if one.kind == kind]
        last = behind[-1] if behind else self._stored.last_record(session_id, kind)
        return last and self._replaced.get((kind, last.number), last)

    def records(self, session_id: str, kind: str, first_number: int = 0) -> list[Record]:
        found = self._stored.records(session_id, kind, first_number)
        behind = [one for one in self._appended if one.kind == kind and one.number >= first_number]
        return [*(self._replaced.get((kind, one.number), one) for one in found), *behind]

    def append(
        self, session_id: str, expected_seq: int, messages: Sequence[StoredMessage], records: Sequence[Record] = ()
    ) -> None:
        self._stored.append(session_id, expected_seq, messages, records)

    def search(self, session_id: str, query: str, limit: int, after: Found | None = None) -> list[Found]:
        return self._stored.search(session_id, query, limit, after)

    def forget(self, session_id: str, erasure: Erasure) -> None:
        self._stored.forget(session_id, erasure)

    def _seen(self, rows: Iterable[StoredMessage]) -> list[StoredMessage]:
        return [self._tombstones.get(row.seq, row) for row in rows]


class _Left:
    """A summary store read as it will be, without those that go."""

    def __init__(self, stored: SummaryStore, gone: frozenset[str]) -> None:
        self._stored = stored
        self._gone = gone

    def put(self, summary: Summary) -> None:
        self._stored.put(summary)

    def by_id(self, session_id: str, summary_ids: Sequence[str]) -> list[Summary]:
        return self._stored.by_id(session_id, [one for one in summary_ids if one not in self._gone])

    def for_range(self, session_id: str, first_seq: int, last_seq: int) -> list[Summary]:
        return [
            one for one in self._stored.for_range(session_id, first_seq, last_seq) if one.summary_id not in self._gone
        ]

    def remove(self, session_id: str, summary_ids: Sequence[str]) -> None:
        self._stored.remove(session_id, summary_ids)
