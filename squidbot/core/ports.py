"""The interfaces that the core needs. A port is a small protocol; nothing has to inherit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from squidbot.core.devices import ProbeResult
    from squidbot.core.events import Event
    from squidbot.core.memories import FactCategory, FactRow, Mark, Memory, MemoryHit, NewSources, View
    from squidbot.core.messages import (
        Completion,
        Erasure,
        Message,
        Opening,
        Part,
        Portable,
        Record,
        Reply,
        SearchMatch,
        SessionMatch,
        StoredMessage,
        Summary,
        SummaryTask,
    )
    from squidbot.core.operations import Operation
    from squidbot.core.sizing.header import RuntimeReport

__all__ = [
    "LLM",
    "Certificate",
    "Chat",
    "Codec",
    "Embedder",
    "GpuProbe",
    "LoadedModel",
    "MemoryStore",
    "Observer",
    "OperationObserver",
    "SummaryStore",
    "SupportsAges",
    "SupportsCalibration",
    "SupportsClaims",
    "SupportsDrop",
    "SupportsFactCopies",
    "SupportsHeads",
    "SupportsImages",
    "SupportsKinds",
    "SupportsNews",
    "SupportsRecordSearch",
    "SupportsSearchAcross",
    "SupportsTasks",
    "TokenCounter",
    "TranscriptStore",
]


# Ports that inspect the machine, and observers of a session.


class GpuProbe(Protocol):
    """Finds devices that could run a model; never called while a request is made."""

    @property
    def name(self) -> str:
        """Its name in settings and in `Device.source`."""

    def probe(self) -> ProbeResult:
        """Return the devices there are now, by number, and the outcome of each source. Never raises."""


class Observer(Protocol):
    """Receives events. What it returns or raises never reaches the turn."""

    def notify(self, event: Event) -> None:
        """Take one event."""


@runtime_checkable
class OperationObserver(Protocol):
    """An optional part of an observer: it watches operations. What it raises never reaches the turn."""

    def watch(self, operation: Operation) -> AbstractContextManager[object]:
        """Return a context that is entered when the operation begins, and left at its end, with its error if it failed.

        Both happen in the thread of the operation; operations within it come and go meanwhile.
        """


# Codecs of hosts' message forms.


class Codec(Protocol):
    """One host's form of messages: payload to index, and back to the host's form for sending. Pure functions."""

    @property
    def tag(self) -> str:
        """The name stored beside each payload, for example "openai.chat"."""

    def text(self, payload: str) -> str:
        """Return `Message.text` of a payload that this codec made."""

    def decode(self, payload: str) -> Message:
        """Return the message with its index for a payload of this codec.

        Raises:
            ValueError: the payload is not a message of this form; the text says why.
        """

    def to_message(self, obj: Mapping[str, object], time: float | None = None) -> Message:
        """Return the message for a host's own dict; `time` in seconds since 1970 overrides the dict's time.

        Its payload is the dict as JSON text; an envelope that repeats the request may be left out.

        Raises:
            ValueError: the dict is not a message of this form, or holds what JSON can't; the text says why.
        """

    def extra_tokens(self, payload: str) -> int:
        """Return the tokens of content outside `Message.rendered`: pictures, documents, unknown parts; 0 or more."""

    def encode(self, part: Part) -> str:
        """Return the payload to send for a part: the stored one, or a new one for a digest, summary or notice.

        `Part` says what is cut, added or left out. The payload is a message as JSON text, or a list of messages that
        replace it in the request.
        """

    def tombstone(self, payload: str, text: str) -> str:
        """Return a payload of the same role, with the same tool calls by id and name, and only `text` as its text.

        Nothing else of the payload remains: no arguments, no reasoning, no pictures, no unknown keys.

        Raises:
            ValueError: the payload is not a message of this form.
        """

    def portable(self, payload: str) -> Portable:
        """Return the portable content of a payload: without signatures, sealed thoughts and item ids.

        Raises:
            ValueError: the payload is not a message of this form.
        """

    def adopt(self, said: Portable) -> str:
        """Return the payload to send for another codec's payload, as `encode` does. Equal input gives equal output."""


@runtime_checkable
class SupportsImages(Protocol):
    """An optional part of a codec: its messages show pictures, and can be sent without the first of them."""

    def images(self, payload: str) -> int:
        """Return how many pictures a payload shows, 0 or more; never raises."""

    def without_images(self, payload: str, most: int, handle: str) -> str:
        """Return a payload with a text instead of each of its first `most` pictures.

        `handle` is the message's name in that text, for recalling the message. All else stays.
        """


# Token counters, and how far their counts can be trusted.

#: How far a bound can be trusted, best first. "none": a counter for policy caps and reports only.
Certificate = Literal["exact", "anchored", "calibrated", "proved", "measured", "none"]


class TokenCounter(Protocol):
    """Counts tokens. The same text always gets the same answer; never raises on any str, lone surrogates included."""

    @property
    def name(self) -> str:
        """Its name in configuration and stored counts."""

    @property
    def certificate(self) -> Certificate:
        """How far `upper_bound` can be trusted."""

    def count(self, text: str) -> int:
        """Return the best estimate of the tokens of `text`; 0 or more."""

    def upper_bound(self, text: str) -> int:
        """Return a bound that the model's own count of `text` never exceeds; at least `count(text)`."""


# Storage of durable facts.


class MemoryStore(Protocol):
    """Durable facts, and their search. Memories of one view are never seen in another."""

    def add(
        self,
        memories: Sequence[Memory],
        mark: Mark | None = None,
        was: Mark | None = None,
        said: NewSources | None = None,
        places: Mapping[str, str] | None = None,
    ) -> None:
        """Store memories in one transaction; durable on return, and searchable at once. An equal one is a no-op.

        A memory that names a superseded one replaces it in the same transaction: the old one is history from then on,
        whatever becomes of the new one. The old one must exist, or come earlier in `memories`; if another memory has
        already replaced it, that stays so. Equality ignores `superseded_by` and `sources`: a store keeps its own.

        `mark`, how far a session was read, is stored in the same transaction and replaces `was`, the earlier result of
        `mark`: if two processes read the same, the second one stores nothing. `said` adds sources to memories by id, in
        the same transaction, if they lack them (`with_sources`). `places` replaces other memories, as `supersede` does,
        once all of `memories` are stored: for one memory that replaces several.

        Raises:
            NotFoundError: nothing was stored: one of `said` does not exist, or no longer.
            StoreError: nothing was stored: another memory has that id, the superseded one does not exist or is another
                tenant's or user's, a value can't be stored (see `refuse_misfit`), the session's mark is not `was`, a
                memory
                can't be replaced, or the disk failed.
        """

    def mark(self, session_id: str, reader: str) -> Mark | None:
        """Return how far a reader has come in a session; `None` if it has not begun.

        Raises:
            DamagedStoreError: it does not match its checksum.
        """

    def supersede(self, places: Mapping[str, str]) -> None:
        """Replace memories with others, in one transaction: `places` maps each id to its replacement.

        "" reverts it: the memory holds again, and so does its former replacement. Nothing is removed, and entries
        without a change do nothing.

        Raises:
            StoreError: nothing was changed: a memory does not exist, or is another tenant's or user's, a replacement is
                history itself, another memory is the replacement already, or the disk failed.
        """

    def from_session(self, session_id: str) -> list[Memory]:
        """Return all memories that name a session among their sources, of any owner, with history, in any order.

        Used to forget messages; it may read every memory.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """

    def forget_messages(self, session_id: str, seqs: Sequence[int], reason: str = "") -> list[str]:
        """Remove messages of a session from the sources of memories; return the ids of memories forgotten with them.

        In one transaction. It forgets, as `forget` does, memories without another source, of any owner, history
        included; a source of several messages in a row goes with any of them. It may read every memory.

        Raises:
            StoreError: nothing was changed: the disk failed.
            DamagedStoreError: nothing was changed: a row does not match its checksum.
        """

    def exchange(self, gone: Sequence[str], memories: Sequence[Memory], reason: str = "") -> None:
        """Forget memories and add others in one transaction: readers see all of it, or nothing.

        An id in both is not forgotten: the new memory replaces it.

        Raises:
            NotFoundError: nothing was changed: a memory to forget does not exist, or no longer.
            StoreError: nothing was changed: as in `add` and `forget`.
        """

    def get(self, memory_ids: Sequence[str]) -> list[Memory]:
        """Return the named memories in the order asked for; unknown ones are left out.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """

    def listed(
        self, view: View, category: FactCategory | None = None, *, limit: int = 100, after: str = "", past: bool = False
    ) -> list[Memory]:
        """Return the memories of a view, newest first, at most `limit` behind `after`; with `past`, history too.

        `after` is the last id of the previous page, "" for the first page; memories of the same time have a stable
        order. If `after` has been forgotten since, the pages continue at its place.

        Raises:
            NotFoundError: no memory of the view has, or had, the id `after`.
            DamagedStoreError: a row does not match its checksum.
        """

    def newest(self, views: Sequence[View], *, limit: int = 100) -> list[dict[FactCategory, list[Memory]]]:
        """Return, in one read, the memories of each view that hold, by category, newest first, at most `limit` each.

        The views have one isolation policy; each gets all categories of `CATEGORIES`, in their order.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """

    def search(self, query: str, view: View, *, limit: int = 20, now: float, past: bool = False) -> list[MemoryHit]:
        """Return the memories of a view that match a query, best first, ties newest first.

        Every score is 0 to 1, higher is closer, and means the same in every store. As soon as a call returns, its added
        memories are found, and its superseded (unless `past`) or forgotten ones are not. Searching changes no score.

        Raises:
            ValueError: the query has no letter or digit.
        """

    def forget(self, memory_ids: Sequence[str], reason: str = "") -> int:
        """Remove memories for good, from all search indexes too, and return how many existed.

        Their text can't be read back from the files afterwards. The fact of forgetting and its reason are kept.

        Raises:
            StoreError: nothing was removed: the disk failed.
        """

    def forgotten(self, memory_ids: Sequence[str]) -> dict[str, str]:
        """Return those of these ids that were forgotten and do not exist again, with the given reason.

        Makers of memories by rule check this first: what a user had forgotten does not come back.
        """


@runtime_checkable
class SupportsFactCopies(MemoryStore, Protocol):
    """An optional part of a store of facts: all of it can be read and written row by row, for copies."""

    def fact_rows(self, after: int, limit: int) -> list[FactRow]:
        """Return at most `limit` rows with keys above `after`, in order: memories that hold, history, graves.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """

    def put_fact_rows(self, copied: Sequence[FactRow]) -> None:
        """Store rows of another store under their keys, in order, in one transaction; searchable at once.

        A row that is there takes the new state: sources, replacement, or a grave. New keys are above all others.

        Raises:
            StoreError: nothing was stored: a value can't be stored, or the disk failed.
        """

    def marks(self) -> list[Mark]:
        """Return how far each reader has come in each session, in any order.

        Raises:
            DamagedStoreError: one does not match its checksum.
        """


# Language models: answers, conversations, vectors, summaries.


class LLM(Protocol):
    """A language model that answers one prompt; never called while a request is made. It may take minutes."""

    @property
    def name(self) -> str:
        """The model's name as summaries carry it; it does not change."""

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        """Return the model's answer to a prompt under a system text, of at most `max_output_tokens`.

        It is always the model's own text, never an error's.

        Raises:
            ContextOverflowError: the prompt and the room for the answer don't fit the model's window.
            LLMError: there is no whole answer: the model was not reached, refused, or was cut off; `kind` says which.
        """


class Chat(LLM, Protocol):
    """A language model that continues a conversation; it may take minutes."""

    @property
    def form(self) -> str:
        """The form of its messages: the tag of their codec, for example "openai.chat"."""

    @property
    def window_tokens(self) -> int | None:
        """Input and output together, as the model is really served; `None` if unknown."""

    def reply(
        self,
        messages: Sequence[Mapping[str, object]],
        max_output_tokens: int,
        tools: Sequence[Mapping[str, object]] = (),
        on_text: Callable[[str], None] | None = None,
        stable: Sequence[int] = (),
    ) -> Reply:
        """Return the next message of the assistant, which may call `tools`, of at most `max_output_tokens`.

        `on_text` receives its text piece by piece; an exception from it ends the answer and reaches the caller.
        `stable` gives how many leading messages stay unchanged longest (see `Assembly.stable`): a provider that caches
        prefixes on demand caches up to there. It does not change the answer.

        Raises:
            ContextOverflowError: messages, tools and the room for the answer don't fit the model's window.
            LLMError: there is no answer: the model was not reached, or refused; `kind` says which.
        """


class Embedder(Protocol):
    """Texts as vectors that are close if the meanings are; never called while a request is made."""

    @property
    def name(self) -> str:
        """The model of the vectors; vectors of different names are never compared."""

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return a vector of length 1 for each text, in order; equal texts get equal vectors, up to rounding.

        Raises:
            ContextOverflowError: a text is too long for it.
            LLMError: there are no vectors.
        """


@runtime_checkable
class SupportsCalibration(Protocol):
    """An optional part of an embedder: the meaning of its cosines for an answer."""

    @property
    def even(self) -> float | None:
        """The lead of the nearest text at which it is as likely as not an answer; `None` if not measured.

        The lead is the nearest text's cosine minus the mean cosine of all other texts, for one question. Without this
        number, vectors change the order of facts, but words alone say whether a fact is near enough to be shown.
        """


class LoadedModel(Chat, Protocol):
    """A model that a runtime in this process, or a server, holds ready: it chats, counts and embeds."""

    @property
    def counter(self) -> TokenCounter:
        """Counts with the model's own vocabulary."""

    @property
    def served(self) -> RuntimeReport:
        """The runtime's actual setup."""

    def embedder(self) -> Embedder:
        """Return an embedder with this model; its first use may create a context of its own.

        Raises:
            LLMError: this model, or its runtime, makes no vectors.
        """

    def close(self) -> None:
        """Free all memory; a second call does nothing."""


class Summarizer(Protocol):
    """Writes a text that can represent messages; never called while a request is made."""

    @property
    def name(self) -> str:
        """The writer: `Summary.made_by` is "llm/", this name, and the version of the prompts."""

    def summarize(self, job: SummaryTask, source: str, limit_tokens: int) -> str | Completion:
        """Return a text of about `limit_tokens` for the messages in `source`; the caller checks it before use.

        Notes take the best sentences of it, as many as they have room for.

        A Completion reports its own tokens; for a plain text the tokens of source and text are counted.

        Raises:
            ContextOverflowError: the source is too long for it.
            LLMError: there is no text.
        """


# Storage of sessions: transcripts, records, summaries, and claims on work.


class TranscriptStore(Protocol):
    """Append-only transcripts, and the numbered records beside them: plans, context windows, pins, requests.

    A session id is any str of 1 to 1,024 characters; each is its own session; any other id is refused with a StoreError
    before anything is written. Appending is all or nothing, and durable on return.
    """

    def head(self, session_id: str) -> tuple[int, int]:
        """Return (messages, records of all kinds) of a session; (0, 0) for an unknown one. Cheap at any length."""

    def opening(self, session_id: str, kinds: Sequence[str]) -> Opening:
        """Return, in one read, the counts as in `head` and the newest record of each kind that has any."""

    def append(
        self,
        session_id: str,
        expected_seq: int,
        messages: Sequence[StoredMessage],
        records: Sequence[Record] = (),
    ) -> None:
        """Store messages behind the last one, in order, and records, in one transaction.

        Raises:
            StoreError: nothing was written: `expected_seq` is not the number of messages stored (another writer
                came first), `messages[i].seq` is not `expected_seq + i`, a record's number is not the number of
                records of its kind, the id is refused, or the disk failed.
        """

    def read(self, session_id: str, first_seq: int, last_seq: int) -> list[StoredMessage]:
        """Return the messages first_seq..last_seq, both included, in order of seq; fewer if the transcript ends.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """

    def pick(self, session_id: str, seqs: Iterable[int]) -> list[StoredMessage]:
        """Return the named messages in order of seq, each once; unknown ones are left out.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """

    def newest(self, session_id: str, budget_tokens: int) -> list[StoredMessage]:
        """Return the newest messages, in order of seq, up to and with the first whose bounds sum past the budget.

        The sum is of `cost.bound`, newest first. Bodies of other messages are not read.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """

    def last_record(self, session_id: str, kind: str) -> Record | None:
        """Return the newest record of a kind, or `None`."""

    def records(self, session_id: str, kind: str, first_number: int = 0) -> list[Record]:
        """Return the records of a kind from `first_number` on, in order of number."""

    def search(self, session_id: str, query: str, limit: int, after: SearchMatch | None = None) -> list[SearchMatch]:
        """Return the messages that match a query, best first, ties newest first: at most `limit`, behind `after`.

        The search covers everything appended, of any role, except copies (`Category.RECALLED`). A query is words
        (matching all is best, any is enough) and "quoted phrases" (which must occur); nothing else in it has a meaning.
        `core.recall.search` defines words and order. Pass the last match of a page as `after` for the next page: while
        nothing is appended, pages share no message and skip none.

        Raises:
            ValueError: the query has no letter or digit.
        """

    def forget(self, session_id: str, erasure: Erasure) -> None:
        """Replace messages with tombstones, for good; nothing else ever removes anything.

        In one transaction: rows and records are replaced, records appended, tombstones removed from the search index; a
        store that also keeps summaries removes the named ones. The old content can't be read back from its files
        afterwards. No search finds a tombstone, and rows without their notices are found as before.

        Raises:
            StoreError: nothing was changed: the session has other numbers of messages or records than `expected`, a
                seq or a record to replace does not exist, more than a notice would change in a row, or the disk
                failed.
        """


@runtime_checkable
class SupportsGaps(Protocol):
    """An optional part of a store that shows one line of a session: between its messages are those of other lines."""

    def count_between(self, first_seq: int, last_seq: int) -> int:
        """Return how many messages there are from the first to the last number, both included."""


class SummaryStore(Protocol):
    """Summaries by id. Nothing is ever overwritten by a different text."""

    def put(self, *summaries: Summary) -> None:
        """Store summaries of a session; durable on return. Storing an equal one again does nothing.

        Raises:
            StoreError: another text is stored under an id, which stays, or the disk failed; of several, the others may
                be stored or not.
        """

    def by_id(self, session_id: str, summary_ids: Sequence[str]) -> list[Summary]:
        """Return the named summaries in the order asked for; unknown ones are left out."""

    def for_range(self, session_id: str, first_seq: int, last_seq: int) -> list[Summary]:
        """Return the session's summaries that lie wholly inside first_seq..last_seq, by first seq, then id."""

    def remove(self, session_id: str, summary_ids: Sequence[str]) -> None:
        """Remove summaries for good, because their messages were forgotten; unknown ids are skipped.

        Raises:
            StoreError: nothing was removed: the disk failed.
        """


@runtime_checkable
class SupportsDrop(Protocol):
    """An optional part of a store: it removes whole sessions for good, so that they are forgotten."""

    def drop(self, session_id: str) -> None:
        """Remove a session and everything in it, for good: no list shows it, and its id counts as never used.

        Its content can't be read back from the store's files afterwards. An unknown id is skipped.

        Raises:
            StoreError: nothing was removed: the id is refused, or the disk failed.
        """


@runtime_checkable
class SupportsAges(SupportsDrop, Protocol):
    """An optional part of a store: it knows when its sessions were last written to, and removes those at rest.

    Where a store keeps no such time, it is that of the newest message with one; a session without one never gets older.
    """

    def older_than(self, time: float) -> list[tuple[str, float]]:
        """Return (id, time last written to) of the sessions at rest since before `time`, the longest first.

        Times are in seconds since 1970; `math.inf` lists all whose time is known.

        Raises:
            StoreError: they can't be read.
        """

    def drop_if_older(self, session_id: str, time: float) -> bool:
        """Do as `drop`, unless the session was written to at `time` or later; return whether it was removed.

        Both happen in one transaction: no writer comes between. A store that overwrites what it removes in a step of
        its own (`scrub`) leaves that to the caller.

        Raises:
            StoreError: nothing was removed: the id is refused, a row is damaged, or the disk failed.
        """


@runtime_checkable
class SupportsSessions(Protocol):
    """An optional part of a store: it lists its sessions. Commands and pages that look at a whole store need it.

    Without it, `session list`, `store copy`, `store sweep` and the like say that they can't list this store.
    """

    def sessions(self) -> list[tuple[str, int]]:
        """Return (id, number of messages) of every session, oldest first.

        Raises:
            StoreError: the disk failed.
        """


@runtime_checkable
class SupportsKinds(Protocol):
    """An optional part of a store: it lists the kinds of a session's records, so that whole sessions can be copied."""

    def kinds(self, session_id: str) -> dict[str, int]:
        """Return how many records of each kind a session has; empty for an unknown one.

        Raises:
            StoreError: the id is refused, or the disk failed.
        """


@runtime_checkable
class SupportsRecordSearch(Protocol):
    """An optional part of a store: it finds sessions by the text of their records, without opening any."""

    def sessions_with(self, kind: str, words: Sequence[str]) -> list[str]:
        """Return the sessions with a record of a kind that contains one of these texts, oldest first.

        Raises:
            StoreError: the disk failed.
        """


@runtime_checkable
class SupportsSearchAcross(Protocol):
    """An optional part of a store: it searches many sessions in about the time that one takes."""

    def search_across(
        self, session_ids: Sequence[str], query: str, limit: int, after: SessionMatch | None = None
    ) -> list[SessionMatch]:
        """Return the messages of these sessions that match a query, best first: at most `limit`, behind `after`.

        They are ranked as `TranscriptStore.search` ranks those of one session that had them all; of equals, those of
        the session that was begun last come first, and in it the newest. Unknown sessions, and those whose row is
        damaged, are left out.

        Raises:
            ValueError: the query has no letter or digit.
            StoreError: the store failed.
        """


@runtime_checkable
class SupportsClaims(Protocol):
    """An optional part of a store: of all processes that share it, one at a time does some work.

    A claim is no lock on the session: recording and assembling need none. Clocks are the holders' own: they should
    agree to within a fraction of the claimed times.
    """

    def claim(self, session_id: str, kind: str, holder: str, now: float, ttl_seconds: float) -> bool:
        """Claim one kind of work on a session, or renew the claim; return whether the holder has it.

        It lasts from `now`, in seconds since 1970, for `ttl_seconds`, unless renewed or released; a dead process loses
        it. Another holder gets it if no claim is valid at `now`. Durable on return, and visible to all.

        Raises:
            StoreError: nothing was claimed: the id is refused, or the disk failed.
        """

    def release(self, session_id: str, kind: str, holder: str) -> None:
        """End a claim of that holder; do nothing if it has none.

        Raises:
            StoreError: it was not ended: the id is refused, or the disk failed.
        """


@runtime_checkable
class SupportsNews(Protocol):
    """An optional part of a store: whoever works for several programs hears which sessions have something new."""

    def tell(self, session_id: str) -> None:
        """Tell all who listen that a session has something new; returns at once, and may be lost."""

    def news(self) -> AbstractContextManager[Callable[[float], list[str]]]:
        """Listen while the context is open: it yields a function that returns the sessions told since its last call.

        Where there are none, it waits for at most so many seconds, and returns none.

        Raises:
            StoreError: the store failed.
        """

    def changed_since(self, moment: float) -> tuple[list[str], float]:
        """Return the sessions written to since a moment, 0 for all, and the moment to ask for the next time.

        Moments are of the store's own clock, and never later than what is written meanwhile.

        Raises:
            StoreError: the store failed.
        """


@runtime_checkable
class SupportsHeads(Protocol):
    """An optional part of a store: whoever watches many sessions asks for all of them at once."""

    def heads(self, session_ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Return what `head` returns, for each of these sessions that is there, in one read.

        Raises:
            StoreError: the store failed.
        """


@runtime_checkable
class SupportsTasks(Protocol):
    """An optional part of a store: it keeps what a program has begun, so that another one ends it if that one dies."""

    def task_lock(self, *, waits: bool) -> AbstractContextManager[bool]:
        """Return a context in which nobody else, on any machine, works on tasks; it ends with its process, too.

        Yields whether it is held: where another one has it, that is waited for, or if not `waits`, it is not held.

        Raises:
            StoreError: the store failed.
        """

    def tasks(self) -> list[str]:
        """Return the tasks that were begun and not ended, oldest first.

        Raises:
            StoreError: they can't be read.
        """

    def add_task(self, task: str) -> None:
        """Note a task before it begins; durable on return.

        Raises:
            StoreError: it was not noted.
        """

    def end_task(self, task: str) -> None:
        """Remove a task; ignore one that is not there.

        Raises:
            StoreError: it is still there.
        """


# What the core asks of extensions during a call; what changes a request is frozen with it.


class CallExtensions(Protocol):
    """What extensions say about a call. Their failures never fail one: then they say nothing."""

    def tail(self, prompt: str, limit_tokens: int) -> str | None:
        """Return text to freeze behind the user's newest message, with at most that bound; `None` for none."""

    def should_compact(self, fraction: float, *, due: bool) -> bool | None:
        """Return whether to shorten history before a new turn; `None`: as its marks say, which is `due`.

        `fraction` is history's share of its room. True also acts without a mark, if it saves enough.
        """

    def represent(self, told: Summary, limit_tokens: int) -> str | None:
        """Return a text to show for messages instead of `told`, with at most that bound; `None` for none."""
