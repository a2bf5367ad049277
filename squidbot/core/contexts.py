"""Documents that stand in the head of a session's requests: kept as records, given as sections (P-02, P-13)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.arguments import takes, text
from squidbot.core.errors import BudgetError, DamagedStoreError, NotFoundError
from squidbot.core.messages import Record
from squidbot.core.plan import CONTEXT, Section
from squidbot.core.trying import Writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from squidbot.core.ports import TranscriptStore
    from squidbot.core.trying import Wait

__all__ = [
    "KIND",
    "MOST_FRACTION",
    "Document",
    "Documents",
    "documents_of",
    "emptied_document",
    "record_of",
    "sections",
]

# The kind of the records that hold them.
KIND: Final = "context"
# What all of them together may take of the window: as much as the documents of a project in document 003, 2,400
# characters, do of one of 2K; in larger windows that is room for whole files.
MOST_FRACTION: Final = 0.25


class Document(NamedTuple):
    """A document as a session has it: what it is called, and its text."""

    name: str
    text: str


class Documents(NamedTuple):
    """The documents of a session.

    Attributes:
        transcripts, session_id: where they are stored.
        window_tokens: of the window that they have to fit.
        count: what a text costs at most, in tokens.
        wait: how to wait for others who write; None: not at all.
    """

    transcripts: TranscriptStore
    session_id: str
    window_tokens: int
    count: Callable[[str], int]
    wait: Wait | None = None

    def all(self) -> tuple[Document, ...]:
        """Return those that stand, in the order in which they were first kept.

        Raises:
            DamagedStoreError: what is stored can't be read.
        """
        return documents_of(self.transcripts.records(self.session_id, KIND))

    def ever(self) -> frozenset[str]:
        """Return the names of all that ever stood.

        Raises:
            DamagedStoreError: what is stored can't be read.
        """
        return frozenset(_read(record)[0] for record in self.transcripts.records(self.session_id, KIND))

    def keep(self, document: Document) -> bool:
        """Keep a document, durably, in the place of one of its name, and return whether that changes anything.

        Heads say it from the next event on; a request before that announces it behind the newest message.

        Raises:
            BudgetError: all of them would be more than a quarter of the window; nothing was written.
            StoreError: nothing was written.
        """
        return self._write(document.name, document.text)

    @takes(name=text)
    def drop(self, name: str) -> None:
        """Take a document out of later heads, durably; its text stays in the store.

        Raises:
            NotFoundError: none of that name stands; the text lists those that do.
            StoreError: nothing was written.
        """
        if not self._write(name, None):
            known = ", ".join(one.name for one in self.all()) or "none"
            raise NotFoundError(f"no document {name!a:.80} stands in this session; there are: {known}")

    def _write(self, name: str, text: str | None) -> bool:
        def act(head: tuple[int, int]) -> bool:
            standing = {one.name: one.text for one in self.all()}
            if standing.get(name) == text:
                return False
            if text is not None:
                self._check({**standing, name: text}, name)
            last = self.transcripts.last_record(self.session_id, KIND)
            record = _record(last.number + 1 if last else 0, name, text)
            self.transcripts.append(self.session_id, head[0], (), [record])
            return True

        return Writing(self.transcripts, self.session_id, "no document was changed", self.wait).tried(act)

    def _check(self, texts: dict[str, str], name: str) -> None:
        cost, most = sum(map(self.count, texts.values())), int(MOST_FRACTION * self.window_tokens)
        if cost > most:
            own = self.count(texts[name])
            detail = f"{name} has {own:,} tokens; drop another document, or cut it; with it all documents cost"
            key = "window.default or models.<name>.context_window"
            raise BudgetError("context documents", cost=cost, budget=most, unit="tokens", key=key, detail=detail)


def documents_of(records: Iterable[Record]) -> tuple[Document, ...]:
    """Return the documents that records leave, the newest of a name winning, in the order of their first ones.

    Raises:
        DamagedStoreError: a record is none.
    """
    texts: dict[str, str | None] = {}
    for record in records:
        name, text = _read(record)
        texts[name] = text
    return tuple(Document(name, text) for name, text in texts.items() if text is not None)


def sections(documents: Iterable[Document], window_tokens: int, count: Callable[[str], int]) -> tuple[Section, ...]:
    """Return the sections of a head that say them; in the place of one that no longer fits the window stands a line.

    `count` says what a text costs at most, in tokens.
    """
    return tuple(_sections(documents, int(MOST_FRACTION * window_tokens), count))


def _sections(documents: Iterable[Document], left: int, count: Callable[[str], int]) -> Iterator[Section]:
    most = left
    for one in documents:
        cost = count(one.text)
        if cost > left:
            told = f"[left out: it has {cost:,} tokens, and documents may take {most:,} in this window]"
            yield Section(f"{CONTEXT}{one.name}", told)
        else:
            left -= cost
            yield Section(f"{CONTEXT}{one.name}", one.text)


def record_of(number: int, document: Document) -> Record:
    """Return the record of this number that keeps a document."""
    return _record(number, *document)


def emptied_document(number: int, name: str) -> Record:
    """Return what takes the place of a document that was taken out for good."""
    return _record(number, name, None)


def _record(number: int, name: str, text: str | None) -> Record:
    return Record(KIND, number, json.dumps({"name": name, "text": text}, separators=(",", ":"), ensure_ascii=False))


def _read(record: Record) -> tuple[str, str | None]:
    try:
        body = json.loads(record.body)
        name, text = body["name"], body["text"]
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedStoreError(f"context {record.number} can't be read: {error}") from error
    if not isinstance(name, str) or not isinstance(text, str | None):
        raise DamagedStoreError(f"context {record.number} can't be read: it names no document")
    return name, text
