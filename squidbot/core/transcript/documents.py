"""Documents in the head of a session's requests: stored as records, sent as sections."""

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


# The share of the window that all documents may take: in 2K that is 2,400 characters, in larger ones whole files.
MOST_FRACTION: Final = 0.25


class Document(NamedTuple):
    """A document of a session.

    Attributes:
        name: its name.
        text: its text.
    """

    name: str
    text: str


class DocumentChange(NamedTuple):
    """A document gets this text from here on, or (None) leaves later heads."""

    name: str
    text: str | None


def _kept(changes: Sequence[DocumentChange]) -> tuple[Document, ...]:
    """Return the documents after changes, in the order in which their names first came."""
    texts = {change.name: change.text for change in changes}
    return tuple(Document(name, text) for name, text in texts.items() if text is not None)


DOCUMENT = RecordKind("document", fields(DocumentChange), _kept)


class SessionDocuments(NamedTuple):
    """The documents of a session.

    Attributes:
        transcripts, session_id: where they are stored.
        window_tokens: the size of the window that they have to fit.
        count: returns a bound of a text's tokens.
        wait: how to wait for other writers; None: not at all.
    """

    transcripts: TranscriptStore
    session_id: str
    window_tokens: int
    count: Callable[[str], int]
    wait: Wait | None = None

    def all(self) -> tuple[Document, ...]:
        """Return the present documents, in the order in which they were first stored.

        Raises:
            DamagedStoreError: what is stored can't be read.
        """
        return DOCUMENT.state(self.transcripts, self.session_id)

    def ever(self) -> frozenset[str]:
        """Return the names of all documents that there ever were.

        Raises:
            DamagedStoreError: what is stored can't be read.
        """
        return frozenset(change.name for change in DOCUMENT.all(self.transcripts, self.session_id))

    def keep(self, document: Document) -> bool:
        """Store a document, durably, in the place of one of its name, and return whether that changes anything.

        It stands in the head from the next event on; a request before that announces it behind the newest message.

        Raises:
            BudgetError: all documents would take more than a quarter of the window; nothing was written.
            StoreError: nothing was written.
        """
        return self._write(document.name, document.text)

    @takes(name=text)
    def drop(self, name: str) -> None:
        """Remove a document from later heads, durably; its text stays in the store.

        Raises:
            NotFoundError: there is no document of that name; the text lists those there are.
            StoreError: nothing was written.
        """
        if not self._write(name, None):
            known = ", ".join(document.name for document in self.all()) or "none"
            raise NotFoundError(f"this session has no document {name!a:.80}; it has: {known}")

    def _write(self, name: str, text: str | None) -> bool:
        def decide() -> DocumentChange | None:
            texts = dict(self.all())
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
            raise BudgetError("context documents", cost=cost, budget=most, detail=detail)


def sections(documents: Iterable[Document], window_tokens: int, count: Callable[[str], int]) -> tuple[Section, ...]:
    """Return the sections of the head for documents; a line takes the place of one that no longer fits the window.

    `count` returns a bound of a text's tokens.
    """
    parts = []
    left = most = int(MOST_FRACTION * window_tokens)
    left_out = "[left out: {:,} tokens; documents may take {:,} in this window]"
    for document in documents:
        cost = count(document.text)
        fits = cost <= left
        left -= cost if fits else 0
        parts.append(Section(f"{CONTEXT}{document.name}", document.text if fits else left_out.format(cost, most)))
    return tuple(parts)
