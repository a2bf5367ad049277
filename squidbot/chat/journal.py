"""What a session holds on its goals, its decisions, how far it is and what is open: marked lines, pins, notes."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.journal import question_of
from squidbot.core.messages import Category
from squidbot.core.notes.extract import extract
from squidbot.core.transcript.markers import marked_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.core.messages import Message
    from squidbot.session import Session

__all__ = ["Journal", "journal"]

# Of the newest messages so many are told in short.
NEWEST: Final = 200
NOTES_TOKENS: Final = 400
_PASSED: Final = frozenset({Category.RECALLED, Category.FORGOTTEN})


class Journal(NamedTuple):
    """What there is: each a list of sentences, oldest first.

    Attributes:
        pinned: texts that stand in the head of each request.
        goals: those that were marked, and are not completed.
        decisions, progress, following: lines marked [DECISION], [CHECKPOINT] and [NEXT], of the last two the newest.
        question: what the model asked last and nobody has answered; "" for nothing.
        notes: what notes say that stand for messages now, newest last.
        short: the newest messages that no notes stand for, in short, by rule; "" where there is too little.
    """

    pinned: list[str]
    goals: list[str]
    decisions: list[str]
    progress: list[str]
    following: list[str]
    question: str
    notes: list[str]
    short: str

    def parts(self) -> list[tuple[str, list[str]]]:
        """Return what there is under headings, what is empty left out."""
        named = [
            ("Pinned", self.pinned),
            ("Goals", self.goals),
            ("Decisions", self.decisions),
            ("Progress", self.progress),
            ("Next", self.following),
            ("Open question", [self.question] if self.question else []),
            ("Notes that stand for older messages", self.notes),
            ("The newest messages in short, by rule", [self.short] if self.short else []),
        ]
        return [(name, said) for name, said in named if said]


def journal(session: Session) -> Journal:
    """Return what a session holds now; nothing is written, and no model asked.

    Raises:
        StoreError: the store failed.
    """
    standing = session.core.room().standing
    marked: dict[str, list[str]] = defaultdict(list)
    for line in chain.from_iterable(map(marked_lines, standing.markers.between(0, standing.messages))):
        marked[line.marker].append(line.said)
    noted = [(one.summary_id, one.last_seq) for block in standing.blocks if (one := block.segment).summary_id]
    store, session_id = session.wired.store, session.session_id
    first = max(noted[-1][1] + 1 if noted else 0, standing.messages - NEWEST)
    newest = list(_messages(session, first, standing.messages - 1))
    counter = session.wired.counter("classes")
    return Journal(
        pinned=[section.text for section in standing.pins.texts],
        goals=marked["GOAL"],
        decisions=marked["DECISION"],
        progress=marked["CHECKPOINT"],
        following=marked["NEXT"],
        question=question_of(newest),
        notes=[summary.text for summary in store.by_id(session_id, [one for one, _ in noted if one])],
        short=extract(newest, limit_tokens=NOTES_TOKENS, counter=counter, users_verbatim=False, first_seq=first).text,
    )


def _messages(session: Session, first: int, last: int) -> Iterator[Message]:
    for row in session.wired.store.read(session.session_id, first, last):
        if row.category not in _PASSED:
            yield session.wired.codecs[row.codec].decode(row.payload)
