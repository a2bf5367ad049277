"""What the core asks of the outside. A port is a small promise; nobody has to inherit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from squidbot.core.devices import ProbeResult
    from squidbot.core.events import Event
    from squidbot.core.memories import FactCategory, Mark, Memory, MemoryHit, NewSources, View
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
        StoredMessage,
        Summary,
        SummaryTask,
    )
    from squidbot.core.sizing.header import RuntimeReport


# What looks at the machine, and what is told of a session.


class GpuProbe(Protocol):
    """Looks for devices that a model could be put on; never called on a request's way."""

    @property
    def name(self) -> str:
        """Its name in settings and in `Device.source`."""

    def probe(self) -> ProbeResult:
        """Return what is there now, by number, and what each source that was tried said. Never raises."""


class Observer(Protocol):
    """Is told what happened. What it returns or raises never reaches the turn."""

    def notify(self, event: Event) -> None:
        """Take one event."""


# What knows a host's form of messages.


class Codec(Protocol):
    """One host's form of messages: payload to index, and what is sent back to the host's form. Pure functions."""

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
        """Return the message for a host's own dict; `time` in seconds since 1970 wins over what the dict says.

        Its payload is the dict as JSON text; an envelope that repeats the request may stay behind.

        Raises:
            ValueError: the dict is not a message of this form, or holds what JSON can't; the text says why.
        """

    def extra_tokens(self, payload: str) -> int:
        """Return the tokens of what `Message.rendered` does not show: pictures, documents, unknown parts; 0 or more."""

    def encode(self, part: Part) -> str:
        """Return the payload to send for a part: the stored one, or one made for a digest, summary or notice.

        It is a message as JSON text, or a list of messages that take its place in the request.
        """

    def tombstone(self, payload: str, text: str) -> str:
        """Return a payload of the same role, with the same tool calls by id and name, that says `text` and no more.

        Nothing else of the payload is left: no arguments, no reasoning, no pictures, no unknown keys.

        Raises:
            ValueError: the payload is not a message of this form.
        """

    def portable(self, payload: str) -> Portable:
        """Return what of a payload goes to another provider: signatures, sealed thoughts and item ids stay behind.

        Raises:
            ValueError: the payload is not a message of this form.
        """

    def adopt(self, said: Portable) -> str:
        """Return the payload to send for what another codec's payload said, as `encode` does. Equal in, equal out."""


@runtime_checkable
class SupportsImages(Protocol):
    """What a codec may have beside: its messages show pictures, and can be sent without the first of them."""

    def images(self, payload: str) -> int:
        """Return how many pictures a payload shows, 0 or more; never raises."""

    def without_images(self, payload: str, most: int, handle: str) -> str:
        """Return a payload in which a text stands in the place of each of its first `most` pictures.

        `handle` is the message's name in that text, by which what was said is brought back. All else stays.
        """


# What counts tokens, and how far its counts can be trusted.

# How far a bound can be trusted, best first. "none": a counter for policy caps and reports only.
Certificate = Literal["exact", "anchored", "calibrated", "proved", "measured", "none"]


class TokenCounter(Protocol):
    """Counts tokens. The same text always gets the same answer; never raises on any str, lone surrogates included."""

    @property
    def name(self) -> str:
        """The name that configuration and stored counts use."""

    @property
    def certificate(self) -> Certificate:
        """How far `upper_bound` can be trusted."""

    def count(self, text: str) -> int:
        """Return the best estimate of the tokens of `text`; 0 or more."""

    def upper_bound(self, text: str) -> int:
        """Return a number of tokens that the model's own count of `text` never passes; at least `count(text)`."""


# What keeps durable facts.


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
        """Store memories in one transaction; durable on return, and found at once. Storing an equal one does nothing.

        One that names what it supersedes takes its place in the same transaction: the old one is history from then on,
        whatever becomes of the new one. It must be there, or stand earlier in `memories`; where another has taken its
        place already, that stays so. `superseded_by` and `sources` don't count for being equal: a store keeps its own.

        With `mark` how far a session was read is stored in the same transaction, in the place of `was`, which is what
        `mark` returned before: of two that read the same, the second one stores nothing. With `said`, memories get
        sources that say them, too, by id, in the same transaction: those that they still lack (`with_sources`). With
        `places` memories are put into the places of others there, as `supersede` does, once all of `memories` are
        stored: for one that takes the places of several.

        Raises:
            NotFoundError: nothing was stored: one of `said` is not there, or no more.
            StoreError: nothing was stored: another memory has that id, what is superseded is not there or is another
                tenant's or user's, a value can't be stored (see `refuse_misfit`), the session's mark is not `was`, a
                place can't be taken, or the disk failed.
        """

    def mark(self, session_id: str, reader: str) -> Mark | None:
        """Return how far a reader has come in a session; None if it has not begun.

        Raises:
            DamagedStoreError: it does not match its checksum.
        """

    def supersede(self, places: Mapping[str, str]) -> None:
        """Put memories into the places of others, in one transaction: of each id, the one that takes its place.

        "" takes it back: the memory holds again, and whatever had taken its place holds, too. Nothing is removed, and
        what is so already stays so.

        Raises:
            StoreError: nothing was changed: a memory is not there, or another tenant's or user's, what is to take a
                place is history itself, another one has taken a place already, or the disk failed.
        """

    def from_session(self, session_id: str) -> list[Memory]:
        """Return all memories that name a session among their sources, whosever they are, history too, in any order.

        For who forgets messages; it may look at every memory there is.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """

    def forget_messages(self, session_id: str, seqs: Sequence[int], reason: str = "") -> list[str]:
        """Take messages of a session out of the sources of memories, and return the ids of those forgotten by that.

        In one transaction. Forgotten, as by `forget`, are those that named no other source, whosever they are, history
        too; a source of several messages in a row goes with any of them. It may look at every memory there is.

        Raises:
            StoreError: nothing was changed: the disk failed.
            DamagedStoreError: nothing was changed: a row does not match its checksum.
        """

    def exchange(self, gone: Sequence[str], memories: Sequence[Memory], reason: str = "") -> None:
        """Forget memories and add others in one transaction: whoever looks finds all of it done, or nothing.

        An id that is in both is not forgotten: its memory is from then on as it comes.

        Raises:
            NotFoundError: nothing was changed: one of those to forget is not there, or no more.
            StoreError: nothing was changed: as `add` and `forget` do.
        """

    def get(self, memory_ids: Sequence[str]) -> list[Memory]:
        """Return the named memories in the order asked for; unknown ones are left out.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """

    def listed(
        self, view: View, category: FactCategory | None = None, *, limit: int = 100, after: str = "", past: bool = False
    ) -> list[Memory]:
        """Return the memories of a view, newest first, at most `limit` behind `after`; with `past` history, too.

        `after` is the id of the last one of the page before, "" for the first page; those of the same time come in the
        same order each time. Where it has been forgotten since, the pages go on where it stood.

        Raises:
            NotFoundError: no memory of the view has, or had, the id `after`.
            DamagedStoreError: a row does not match its checksum.
        """

    def search(self, query: str, view: View, *, limit: int = 20, now: float, past: bool = False) -> list[MemoryHit]:
        """Return the memories of a view that answer a query, best first, ties newest first.

        Every score is 0 to 1, higher is closer, and means the same in every store. What was added is found, what was
        superseded (but with `past`) or forgotten is not, from the moment that the call that did so returned. Searching
        changes no score.

        Raises:
            ValueError: there is no letter or digit in the query.
        """

    def forget(self, memory_ids: Sequence[str], reason: str = "") -> int:
        """Remove memories for good, from all that is searched, too, and return how many were there.

        What was there can't be read back from its files afterwards. That something was forgotten, and why, is kept.

        Raises:
            StoreError: nothing was removed: the disk failed.
        """

    def forgotten(self, memory_ids: Sequence[str]) -> dict[str, str]:
        """Return, of these ids, those that were forgotten and are not there again, with the reason that was given.

        Who makes memories by rule asks first: what somebody wanted forgotten does not come back by itself.
        """


# Language models: what answers, what goes on with a conversation, what makes vectors, what writes
# summaries.


class LLM(Protocol):
    """A language model that answers one prompt; never called while a request is made. It may take minutes."""

    @property
    def name(self) -> str:
        """The model's name as summaries carry it; it does not change."""

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        """Return the model's answer to a prompt under a system text, of at most `max_output_tokens`.

        What is returned was said by the model: an error's text never is.

        Raises:
            ContextOverflowError: the prompt and the room for the answer don't fit the model's window.
            LLMError: there is no whole answer: the model was not reached, refused, or was cut off; `kind` says which.
        """


class Chat(LLM, Protocol):
    """A language model that goes on with a conversation; it may take minutes."""

    @property
    def form(self) -> str:
        """The form of its messages: the tag of their codec, for example "openai.chat"."""

    @property
    def window_tokens(self) -> int | None:
        """Input and output together, as the model is really served; None if that is not known."""

    def reply(
        self,
        messages: Sequence[Mapping[str, object]],
        max_output_tokens: int,
        tools: Sequence[Mapping[str, object]] = (),
        on_text: Callable[[str], None] | None = None,
        stable: Sequence[int] = (),
    ) -> Reply:
        """Return the next message of the assistant, which may call `tools`, of at most `max_output_tokens`.

        `on_text` gets the pieces of its text as they come; what it raises ends the answer and goes to the caller.
        `stable` says how many messages, from the first, stay longest as they are (see `Assembly.stable`): a provider
        that caches prefixes on demand caches one up to there. It does not change the answer.

        Raises:
            ContextOverflowError: messages, tools and the room for the answer don't fit the model's window.
            LLMError: there is no answer: the model was not reached, or refused; `kind` says which.
        """


class Embedder(Protocol):
    """Texts as vectors that lie close together where the texts mean the same; never called on a request's way."""

    @property
    def name(self) -> str:
        """Which model made the vectors; those of two names are never compared."""

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return a vector of length 1 for each text, in order; the same text always gets the same, but for rounding.

        Raises:
            ContextOverflowError: a text is too long for it.
            LLMError: there are no vectors.
        """


@runtime_checkable
class SupportsCalibration(Protocol):
    """What an embedder may have beside its port: what its cosines say of an answer."""

    @property
    def even(self) -> float | None:
        """By how much the nearest cosine stands out where it answers as likely as not; None if nobody measured it.

        See `core.memory.search.likeness.Meaning`.
        """


class LoadedModel(Chat, Protocol):
    """A model that a runtime in this process, or a server, holds ready: it chats, counts and embeds."""

    @property
    def counter(self) -> TokenCounter:
        """Counts with the model's own vocabulary."""

    @property
    def served(self) -> RuntimeReport:
        """What the runtime really set up."""

    def embedder(self) -> Embedder:
        """Return what makes vectors with this model; a context of its own may be made at its first use.

        Raises:
            LLMError: this model, or its runtime, makes none.
        """

    def close(self) -> None:
        """Give back all memory; a second call does nothing."""


class Summarizer(Protocol):
    """Writes a text that can stand for messages; never called while a request is made."""

    @property
    def name(self) -> str:
        """Who writes: `Summary.made_by` is "llm/" with this and the version of the prompts behind it."""

    def summarize(self, job: SummaryTask, source: str, limit_tokens: int) -> str | Completion:
        """Return a text of at most `limit_tokens` for the messages in `source`; who asks checks it before it is used.

        As a Completion it says what writing it took; of a plain text the tokens of source and text are counted.

        Raises:
            ContextOverflowError: the source is too long for it.
            LLMError: there is no text.
        """


# What keeps sessions: transcripts, records, summaries, and who works on them.


class TranscriptStore(Protocol):
    """Append-only transcripts, and the numbered records beside them: plans, context windows, pins, requests.

    A session id is any str of 1 to 1,024 characters; each is its own session; any other id is refused with a
    StoreError before anything is written. Appending is all or nothing, and durable when it returns.
    """

    def head(self, session_id: str) -> tuple[int, int]:
        """Return (messages, records of all kinds) of a session; (0, 0) for an unknown one. Cheap at any length."""

    def opening(self, session_id: str, kinds: Sequence[str]) -> Opening:
        """Return in one look how much there is, as `head` does, and the newest record of each kind that has any."""

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
        """Return the messages first_seq..last_seq, both included, in order of seq; fewer where the transcript ends.

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

        Counted is `cost.bound`, newest first. Bodies of messages that are not returned are not read.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """

    def last_record(self, session_id: str, kind: str) -> Record | None:
        """Return the newest record of a kind, or None if there is none."""

    def records(self, session_id: str, kind: str, first_number: int = 0) -> list[Record]:
        """Return the records of a kind from `first_number` on, in order of number."""

    def search(self, session_id: str, query: str, limit: int, after: SearchMatch | None = None) -> list[SearchMatch]:
        """Return the messages that answer a query, best first, ties newest first: at most `limit`, behind `after`.

        All that was appended is searched, whatever its role, but copies (`Category.RECALLED`). A query is words (all
        are preferred, any is enough) and "quoted phrases" (which must occur); nothing else in it has a meaning. See
        `core.recall.search`: what a word is, and what the order. With the last one of a page as `after` comes the
        next page: while nothing is appended, pages share no message and skip none.

        Raises:
            ValueError: there is no letter or digit in the query to look for.
        """

    def forget(self, session_id: str, erasure: Erasure) -> None:
        """Put tombstones where messages stand, for good; the only way in which anything is ever taken out.

        In one transaction: rows and records are replaced, records appended, what search knows of tombstones' rows
        removed; a store that keeps summaries, too, removes those that are named. What was there can't be read back from
        its files afterwards. A search finds tombstones by no word, and rows without their notices as before.

        Raises:
            StoreError: nothing was changed: the session has other numbers of messages or records than `expected`, a
                seq or a record to be replaced is not there, more than a notice would change of a row, or the disk
                failed.
        """


class SummaryStore(Protocol):
    """Summaries by id. Nothing is ever overwritten by a different text."""

    def put(self, summary: Summary) -> None:
        """Store a summary; durable on return. Storing an equal one again does nothing.

        Raises:
            StoreError: nothing was written: another text is stored under that id, or the disk failed.
        """

    def by_id(self, session_id: str, summary_ids: Sequence[str]) -> list[Summary]:
        """Return the named summaries in the order asked for; unknown ones are left out."""

    def for_range(self, session_id: str, first_seq: int, last_seq: int) -> list[Summary]:
        """Return the session's summaries that lie wholly inside first_seq..last_seq, by first seq, then id."""

    def remove(self, session_id: str, summary_ids: Sequence[str]) -> None:
        """Remove summaries for good, because what they tell of was forgotten; unknown ids are passed over.

        Raises:
            StoreError: nothing was removed: the disk failed.
        """


@runtime_checkable
class SupportsDrop(Protocol):
    """What a store may have beside its port: whole sessions are removed for good, because they are to be forgotten."""

    def drop(self, session_id: str) -> None:
        """Remove a session with all that it has, for good: no list has it any more, its id is as if it was never used.

        What was there can't be read back from the store's files afterwards. An unknown one is passed over.

        Raises:
            StoreError: nothing was removed: the id is refused, or the disk failed.
        """


@runtime_checkable
class SupportsRecordSearch(Protocol):
    """What a store may have beside its port: it finds sessions by what their records say, without opening any."""

    def sessions_with(self, kind: str, words: Sequence[str]) -> list[str]:
        """Return the sessions with a record of a kind in whose body one of these texts stands, oldest first.

        Raises:
            StoreError: the disk failed.
        """


@runtime_checkable
class SupportsClaims(Protocol):
    """What a store may have beside its port: of all who share it, in any process, one at a time does some work.

    A claim is no lock on the session: whoever records and asks for requests needs none. Clocks are the holders' own:
    they should agree to within a fraction of the times that are claimed.
    """

    def claim(self, session_id: str, kind: str, holder: str, now: float, ttl_seconds: float) -> bool:
        """Claim one kind of work on a session, or renew one's claim, and return whether one has it.

        It lasts from `now`, in seconds since 1970, for `ttl_seconds`, unless it is renewed or released; who dies holds
        it no longer. Another holder gets it where nobody's lasts at `now`. Durable, and seen by all, on return.

        Raises:
            StoreError: nothing was claimed: the id is refused, or the disk failed.
        """

    def release(self, session_id: str, kind: str, holder: str) -> None:
        """End a claim of that holder; nothing is done where another has it, or nobody.

        Raises:
            StoreError: it was not ended: the id is refused, or the disk failed.
        """


# What the core asks of extensions while a call is decided; what changes a request is frozen with it.


class CallExtensions(Protocol):
    """What extensions say of a call. No failure of theirs ever fails one: they then say nothing."""

    def tail(self, prompt: str, limit_tokens: int) -> str | None:
        """Return text to freeze behind the user's newest message, of at most that cost as a bound; None for none."""

    def should_compact(self, fraction: float, *, due: bool) -> bool | None:
        """Return whether history is to be shortened before a new turn; None: as its marks say, which is `due`.

        `fraction` is history's share of its room. True and no mark is one: it is shortened if that saves enough.
        """

    def represent(self, told: Summary, limit_tokens: int) -> str | None:
        """Return a text to show for messages in the place of `told`, of at most that cost as a bound; None for none."""
