"""The messages of a session read for facts, each once, outside of any request; a mark says how far each reader came."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core import events
from squidbot.core.errors import ConfigError, ContextOverflowError, LLMError, NotFoundError, StoreError
from squidbot.core.events import Event
from squidbot.core.memories import Mark, View
from squidbot.core.memory.deciding import Learned, Place, learned
from squidbot.core.memory.extract import extract
from squidbot.core.memory.facts import TRAIT, utterances
from squidbot.core.memory.prompts import KNOWN_SHOWN
from squidbot.core.memory.rules import VERSION
from squidbot.core.messages import Category
from squidbot.core.redaction import Redactor
from squidbot.core.scopes import scope_at, scopes_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from squidbot.core.memories import Isolation, Memory, Scope
    from squidbot.core.memory.deciding import Passed
    from squidbot.core.memory.facts import Candidate, Utterance
    from squidbot.core.memory.reading import ModelReader
    from squidbot.core.messages import StoredMessage
    from squidbot.core.ports import Codec, MemoryStore, Observer, TranscriptStore
    from squidbot.core.scopes import Since

__all__ = ["MODEL", "RULES", "WITH_MESSAGES", "Rests", "Studied", "Study", "Unread"]

RULES: Final = "rules"
MODEL: Final = "model"
# Messages that are read at once: by rules, and by a model, which also gets no more characters than these.
RULES_MESSAGES: Final = 64
MODEL_MESSAGES: Final = 24
MODEL_CHARS: Final = 12_000
# Of one message a model is shown no more (`prompts`).
SHOWN_CHARS: Final = 4_000
# Of what a model is told to be known, so many are what answers the user's words.
KNOWN_FOUND: Final = 20
QUERY_CHARS: Final = 1_000
# How often what is to be stored is decided anew, since a memory that is said again was forgotten at that moment.
MOST_TRIES: Final = 10
# Why facts are forgotten with the messages that said them.
WITH_MESSAGES: Final = "the messages that said it were forgotten"


class Unread(NamedTuple):
    """Messages of a session that a reader has not read, both ends included."""

    session_id: str
    reader: str
    first_seq: int
    last_seq: int


class Studied(NamedTuple):
    """What became of reading messages: the facts that are stored now, those that are not, and why it failed, or ""."""

    unread: Unread
    memories: tuple[Memory, ...] = ()
    passed: tuple[Passed, ...] = ()
    why: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether these messages are read."""
        return not self.why


class Rests:
    """How often reading each session has failed in a row, in this process; studies of one engine share it."""

    def __init__(self, backoff_seconds: float = 300.0) -> None:
        """Know of no failure; after one a session rests that long, after each further one twice as long."""
        self._backoff_seconds = backoff_seconds
        self._failed: dict[str, tuple[int, float]] = {}

    def rests(self, session_id: str, now: float) -> bool:
        """Return whether a session rests at `now`, in seconds since 1970."""
        return now < self._failed.get(session_id, (0, now))[1]

    def failed(self, session_id: str, now: float) -> None:
        """Count a failure."""
        failures = self._failed.get(session_id, (0, 0.0))[0]
        self._failed[session_id] = failures + 1, now + self._backoff_seconds * 2 ** min(failures, 16)

    def worked(self, session_id: str) -> None:
        """Forget the failures of a session."""
        self._failed.pop(session_id, None)


class _Portion(NamedTuple):
    """Messages that are read at once: all of one scope, None where nobody reads them."""

    rows: Sequence[StoredMessage]
    scope: Scope | None
    now: float

    @property
    def next_seq(self) -> int:
        return self.rows[-1].seq + 1


@dataclass(frozen=True, slots=True)
class Study:
    """Reads the messages of one session for facts. The session may be in use meanwhile.

    Attributes:
        session_id: the session.
        transcripts: where its messages are; codecs: what reads them, by tag.
        memories: where facts are, and how far was read.
        isolation: which facts of others a new one is compared with.
        redactor: takes secrets out before anything is stored, or shown to a model.
        anonymous: whether messages are read whose user is not known.
        model: reads beside the rules; None: nobody does.
        rests: sessions that the model failed on.
        observer: is told.
    """

    session_id: str
    transcripts: TranscriptStore
    codecs: Mapping[str, Codec]
    memories: MemoryStore
    isolation: Isolation = "bot"
    redactor: Redactor = field(default_factory=Redactor)
    anonymous: bool = False
    model: ModelReader | None = None
    rests: Rests = field(default_factory=Rests)
    observer: Observer | None = None

    def unread(self, reader: str = RULES) -> Unread | None:
        """Return the messages that a reader ("rules", "model") is to read; None where there are none.

        Raises:
            StoreError: a store failed.
        """
        messages = self.transcripts.head(self.session_id)[0]
        first = self._first(self.memories.mark(self.session_id, reader), messages)
        return Unread(self.session_id, reader, first, messages - 1) if first < messages else None

    def by_rules(self, now: float) -> Iterator[Studied]:
        """Read what the rules have not read, a portion each time that what became of the next is asked for.

        Facts and mark are stored in one transaction: what another has read meanwhile is not read again. `now` is in
        seconds since 1970.

        Raises:
            ConfigError: no codec reads a message.
            StoreError: a store failed; what was read before it did is kept.
        """
        while (unread := self.unread(RULES)) is not None:
            done = self._by_rules(unread, now)
            if done is None:
                return
            yield done

    def by_model(self, now: float, *, waits: bool = True) -> Iterator[Studied]:
        """Have the model read what it has not read, as `by_rules`; nothing without one.

        A failure is an event; the session rests then, and is read later. With `waits` it does, too, while a turn is not
        ended.

        Raises:
            ConfigError: no codec reads a message.
            StoreError: a store failed; what was read before it did is kept.
        """
        while self.model and not self.rests.rests(self.session_id, now) and (unread := self.unread(MODEL)) is not None:
            if waits and not self._is_ended(unread.last_seq):
                return
            done = self._by_model(self.model, unread, now)
            if done is None:
                return
            yield done
            if not done.succeeded:
                return

    # -- a portion ----------------------------------------------------------------------------------------------

    def _by_rules(self, unread: Unread, now: float) -> Studied | None:
        portion = self._portion(unread, RULES_MESSAGES, now)
        said = self._said(portion) if portion.scope else []
        # One by one: what becomes of them must not depend on which messages are read together.
        candidates = [found for one in said for found in extract([one], self.redactor)]
        return self._kept(unread, portion, candidates, VERSION)

    def _by_model(self, model: ModelReader, unread: Unread, now: float) -> Studied | None:
        portion = self._portion(unread, MODEL_MESSAGES, now)
        said = self._said(portion) if portion.scope else []
        chosen = _fitting(said)
        if len(chosen) < len(said):
            portion = portion._replace(rows=[row for row in portion.rows if row.seq < said[len(chosen)].seq])
        try:
            candidates, rows = self._read(model, chosen, portion)
        except LLMError as error:
            return self._failed(unread._replace(last_seq=portion.next_seq - 1), now, str(error))
        self.rests.worked(self.session_id)
        return self._kept(unread, portion._replace(rows=rows), candidates, model.version)

    def _read(
        self, model: ModelReader, said: Sequence[Utterance], portion: _Portion
    ) -> tuple[Sequence[Candidate], Sequence[StoredMessage]]:
        """Return what the model finds, and the messages that it has read: fewer where these are too long for it.

        Raises:
            LLMError: there is no answer, or it is malformed.
        """
        if portion.scope is None or not any(one.role == "user" for one in said):
            return (), portion.rows
        try:
            known = self._known(said, self._place(portion, portion.scope))
            return model.read(said, known).answered.candidates, portion.rows
        except ContextOverflowError:
            rows = portion.rows[: len(portion.rows) // 2]
            if not rows:  # one message alone is too long for it: the rules have read it
                return (), portion.rows
            last_seq = rows[-1].seq
            left = [one for one in said if one.seq <= last_seq]
            return self._read(model, left, portion._replace(rows=rows))

    def _known(self, said: Sequence[Utterance], place: Place) -> list[Memory]:
        """Return what a model is told to be known: what answers the user's words, then the newest."""
        words = " ".join(one.text for one in said if one.role == "user")[:QUERY_CHARS]
        try:
            ids = [hit.key for hit in self.memories.search(words, place.view, limit=KNOWN_FOUND, now=place.now)]
        except ValueError:  # there is no word in it
            ids = []
        found = [*self.memories.get(ids), *self.memories.listed(place.view, limit=KNOWN_SHOWN)]
        return list({one.memory_id: one for one in found}.values())

    def _kept(self, unread: Unread, portion: _Portion, candidates: Sequence[Candidate], version: str) -> Studied | None:
        """Store facts and mark, and return what became of them; None where another has read the messages meanwhile.

        Raises:
            StoreError: nothing was stored: a store failed.
        """
        done = unread._replace(last_seq=portion.next_seq - 1)
        was = self.memories.mark(self.session_id, unread.reader)
        if self._first(was, unread.last_seq + 1) != unread.first_seq:
            return None
        held = self._standing(candidates)
        mark = Mark(self.session_id, unread.reader, portion.next_seq, version, self._stamp())
        made = Learned((), ())
        for _ in range(MOST_TRIES):
            if held and portion.scope is not None:
                made = learned(held, self.memories, self._place(portion, portion.scope))
            try:
                self.memories.add(made.memories, mark, was, made.said, made.places)
            except NotFoundError:  # what is said again was forgotten meanwhile
                continue
            except StoreError:
                if self.memories.mark(self.session_id, unread.reader) == was:
                    raise
                return None
            kept = self._without_forgotten(Studied(done, made.memories, made.passed), held)
            said = {one.text: one.sentence or one.text for one in held}
            self._tell_traits(kept, said)
            return self._told(kept)
        raise StoreError(f"{MOST_TRIES} times something was forgotten meanwhile; nothing was learned of {_named(done)}")

    def _standing(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return candidates without those whose messages were forgotten while they were read."""
        seqs = {one.first_seq for one in candidates}
        rows = self.transcripts.pick(self.session_id, seqs) if seqs else []
        gone = {row.seq for row in rows if row.category is Category.FORGOTTEN}
        return [one for one in candidates if one.first_seq not in gone]

    def _without_forgotten(self, found: Studied, held: Sequence[Candidate]) -> Studied:
        """Forget again what was stored of messages that were forgotten meanwhile: who did that may have looked before.

        Raises:
            StoreError: it could not be forgotten.
        """
        seqs = {one.first_seq for one in held} - {one.first_seq for one in self._standing(held)}
        gone = self.memories.unsay(self.session_id, sorted(seqs), WITH_MESSAGES) if seqs else []
        return found._replace(memories=tuple(one for one in found.memories if one.memory_id not in gone))

    # -- what is read -------------------------------------------------------------------------------------------

    def _first(self, mark: Mark | None, messages: int) -> int:
        """Return the first message behind a mark; 0 where it is of another session that had this id before."""
        if mark is None or mark.next_seq > messages or mark.stamp != self._stamp():
            return 0
        return mark.next_seq

    def _stamp(self) -> str:
        rows = self.transcripts.pick(self.session_id, [0])
        return json.dumps([rows[0].time, rows[0].role, rows[0].codec]) if rows else ""

    def _portion(self, unread: Unread, most: int, now: float) -> _Portion:
        """Return the next messages of one scope, at most so many."""
        last_seq = min(unread.last_seq, unread.first_seq + most - 1)
        rows = self.transcripts.read(self.session_id, unread.first_seq, last_seq)
        scopes = scopes_of(self.transcripts, self.session_id)
        scope = self._scope(scopes, unread.first_seq)
        return _Portion([*takewhile(lambda row: self._scope(scopes, row.seq) == scope, rows)], scope, now)

    def _scope(self, scopes: Sequence[Since], seq: int) -> Scope | None:
        """Return for whom what a message says is learned; None for nobody."""
        scope = scope_at(scopes, seq)
        return scope if scope is not None and (scope.user or self.anonymous) else None

    def _said(self, portion: _Portion) -> list[Utterance]:
        unknown = {row.codec for row in portion.rows} - self.codecs.keys()
        if unknown:
            raise ConfigError(f"no codec reads messages of the form {min(unknown)!r}; load its extension")
        return utterances(portion.rows, self.codecs)

    def _is_ended(self, last_seq: int) -> bool:
        """Return whether a message ends a turn: the assistant has answered, and calls no tool."""
        return all(row.role == "assistant" and not row.call_ids for row in self._at(last_seq))

    def _at(self, seq: int) -> list[StoredMessage]:
        return self.transcripts.pick(self.session_id, [seq])

    def _place(self, portion: _Portion, scope: Scope) -> Place:
        return Place(View(scope, self.isolation), self.session_id, portion.now)

    # -- what is told -------------------------------------------------------------------------------------------

    def _told(self, done: Studied) -> Studied:
        if self.observer is not None and (done.memories or done.passed):
            learnt = ", ".join(one.memory_id for one in done.memories) or "nothing"
            passed = Counter(one.why for one in done.passed)
            beside = "".join(f"; {count} {why}" for why, count in sorted(passed.items()))
            self._notify(events.FACTS_LEARNED, f"{_named(done.unread)}: {learnt}{beside}")
        return done

    def _tell_traits(self, done: Studied, sentences: Mapping[str, str]) -> None:
        """Tell the host each standing order that was learned, once: who sees that it is none can forget it."""
        for one in done.memories:
            if TRAIT in one.tags:
                where = f"m{one.sources[0].first_seq}, {one.memory_id}"
                self._notify(events.TRAIT_LEARNED, f"{where}: {sentences.get(one.text, one.text)}")

    def _failed(self, unread: Unread, now: float, why: str) -> Studied:
        self.rests.failed(self.session_id, now)
        self._notify(events.FACTS_ERROR, f"{_named(unread)}: {why}")
        return Studied(unread, why=why)

    def _notify(self, name: str, cause: str) -> None:
        if self.observer is not None:
            self.observer.notify(Event(name, self.session_id, cause))


def _fitting(said: Sequence[Utterance]) -> list[Utterance]:
    """Return the first utterances that a model is shown at once, at least one."""
    chars = 0
    chosen: list[Utterance] = []
    for one in said:
        chars += min(len(one.text), SHOWN_CHARS)
        if chosen and chars > MODEL_CHARS:
            break
        chosen.append(one)
    return chosen


def _named(unread: Unread) -> str:
    run = f"m{unread.first_seq}-m{unread.last_seq}" if unread.first_seq < unread.last_seq else f"m{unread.first_seq}"
    return f"{run} by {'rules' if unread.reader == RULES else 'a language model'}"
