"""Documents that stand in the head of a session's requests: kept as records, given as sections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.arguments import takes, text
from squidbot.core.errors import BudgetError, NotFoundError
from squidbot.core.plan import CONTEXT, Section
from squidbot.core.transcript.records import RecordKind, append, fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from squidbot.core.ports import TranscriptStore
    from squidbot.core.transcript.records import Wait


# What all of them together may take of the window: in one of 2K that is 2,400 characters, in
# larger ones room for whole files.
MOST_FRACTION: Final = 0.25


class Document(NamedTuple):
    """A document as a session has it: what it is called, and its text."""

    name: str
    text: str


class DocumentChange(NamedTuple):
    """A document is kept under its name from here on, or (None) taken out of later heads."""

    name: str
    text: str | None


def _kept(changes: Sequence[DocumentChange]) -> tuple[Document, ...]:
    """Return the documents that changes leave, the newest of a name winning, in the order of their first ones."""
    texts = {one.name: one.text for one in changes}
    return tuple(Document(name, text) for name, text in texts.items() if text is not None)


DOCUMENT = RecordKind("document", fields(DocumentChange), _kept)


class SessionDocuments(NamedTuple):
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
        return DOCUMENT.state(self.transcripts, self.session_id)

    def ever(self) -> frozenset[str]:
        """Return the names of all that ever stood.

        Raises:
            DamagedStoreError: what is stored can't be read.
        """
        return frozenset(one.name for one in DOCUMENT.all(self.transcripts, self.session_id))

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
            raise NotFoundError(f"this session has no document {name!a:.80}; it has: {known}")

    def _write(self, name: str, text: str | None) -> bool:
        def decide() -> DocumentChange | None:
            texts = {one.name: one.text for one in self.all()}
            if texts.get(name) == text:
                return None
            if text is not None:
                self._check({**texts, name: text}, name)
            return DocumentChange(name, text)

        undone = "no document was changed"
        return append(self.transcripts, self.session_id, DOCUMENT, decide, undone, wait=self.wait) is not None

    def _check(self, texts: dict[str, str], name: str) -> None:
        cost, most = sum(map(self.count, texts.values())), int(MOST_FRACTION * self.window_tokens)
        if cost > most:
            own = self.count(texts[name])
            detail = f"{name} has {own:,} tokens; drop another document, or cut it; with it all documents cost"
            key = "window.default or models.<name>.context_window"
            raise BudgetError("context documents", cost=cost, budget=most, unit="tokens", key=key, detail=detail)


def sections(documents: Iterable[Document], window_tokens: int, count: Callable[[str], int]) -> tuple[Section, ...]:
    """Return the sections of a head that say them; in the place of one that no longer fits the window stands a line.

    `count` says what a text costs at most, in tokens.
    """
    made = []
    left = most = int(MOST_FRACTION * window_tokens)
    for name, said in documents:
        cost = count(said)
        fits = cost <= left
        left -= cost if fits else 0
        told = f"[left out: {cost:,} tokens; documents may take {most:,} in this window]"
        made.append(Section(f"{CONTEXT}{name}", said if fits else told))
    return tuple(made)
