"""The jobs of one session: which are due, and doing them. Nothing here is on the way of a request."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core import events
from squidbot.core.changes.better import SUMMARY, written_as
from squidbot.core.errors import ArgumentError, LLMError, SquidbotError, StoreError
from squidbot.core.events import Event
from squidbot.core.jobs.checking import check_answer, cleaned
from squidbot.core.jobs.due import JobSettings, room_of, wanted
from squidbot.core.jobs.prompts import VERSION, check_mode
from squidbot.core.jobs.source import Source
from squidbot.core.messages import Completion, Job, Summary, Usage
from squidbot.core.notes.notebook import Notebook
from squidbot.core.past import REQUEST, Past
from squidbot.core.plan import Representation
from squidbot.core.trying import Writing
from squidbot.core.turn import Turn
from squidbot.core.view.loading import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from squidbot.core.jobs.due import Wanted
    from squidbot.core.messages import Lease, Record, StoredMessage
    from squidbot.core.ports import Observer, Summarizer
    from squidbot.core.settings import HistorySettings
    from squidbot.core.view.standing import Shelf

__all__ = ["Desk", "Done", "Tries"]

# Failures in a row after which a block rests.
MOST_FAILURES = 2
# Of the room for a summary, the most that is set aside for the files, with what was last done with each.
FILES_FRACTION = 0.25
# In a room smaller than this the line in front takes most of it, and notes by rule say more.
LEAST_LIMIT_TOKENS = 120
# What is kept above all where neither the settings nor the session name a mode.
ANY_MODE = "developer"
# Who asks, and the blocks still raw that are wanted then whatever the pressure: a schedule's were closed by a pause
# (B-41), so that they will not become others.
ASKED = {"": frozenset[str](), "schedule": frozenset({"gap"}), "request": frozenset({"gap", "size"})}


class Done(NamedTuple):
    """What became of a job: its summary, or None, and why there is none."""

    job: Job
    summary: Summary | None
    why: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether there is a summary."""
        return self.summary is not None


class Tries:
    """How often the jobs of each block have failed in a row, in this process; sessions of one engine share it."""

    def __init__(self) -> None:
        """Know of no failure."""
        self._failed: dict[tuple[str, int, int, str], tuple[int, float | None]] = {}

    def rests(self, job: Job, now: float | None) -> bool:
        """Return whether a job rests at `now`, in seconds since 1970; without a clock it rests for good."""
        failures, until = self._failed.get(_place(job), (0, None))
        return failures >= MOST_FAILURES and (now is None or until is None or now < until)

    def failed(self, job: Job, now: float | None, backoff_seconds: float) -> None:
        """Count a failure."""
        failures = self._failed.get(_place(job), (0, None))[0] + 1
        pause = backoff_seconds * 2 ** min(16, max(0, failures - MOST_FAILURES))
        self._failed[_place(job)] = failures, None if now is None else now + pause

    def worked(self, job: Job) -> None:
        """Forget the failures of a block."""
        self._failed.pop(_place(job), None)


def _place(job: Job) -> tuple[str, int, int, str]:
    return job.session_id, job.first_seq, job.last_seq, job.level


class Desk:
    """The summaries of one session that a language model is to write. Reads the store anew for each call."""

    def __init__(  # noqa: PLR0913, PLR0917  # what a session is made of, and what jobs need beside it
        self,
        shelf: Shelf,
        lease: Lease,
        history: HistorySettings,
        settings: JobSettings,
        tries: Tries,
        observer: Observer | None,
    ) -> None:
        """Use `ContextEngine.desk`.

        Raises:
            ConfigError: the settings name a mode that there is not.
        """
        if settings.mode:
            check_mode(settings.mode, settings.keeps)
        self._shelf = shelf
        self._lease = lease
        self._history = history
        self._settings = settings
        self._tries = tries
        self._observer = observer

    def due(self, now: float | None = None, *, reason: str = "") -> tuple[Job, ...]:
        """Return the jobs that are due, those that save most first, of equals the oldest block's.

        `now` is in seconds since 1970: without it no block is known to be closed by a pause that still lasts. With
        `reason` "schedule" blocks before a pause are due although no event is near that could note them, with "request"
        those that were closed by size too, and those that rest after failures.

        Raises:
            ValueError: there is no such reason.
            StoreError: the store failed.
        """
        if reason not in ASKED:
            raise ArgumentError(f"unknown reason {reason!r}; known: request, schedule")
        mode = self._mode()
        found = [self._job(one, reason or one.reason, mode) for one in self._wanted(now, ASKED[reason])]
        due = reason == "request"
        jobs = [job for job in found if job is not None and (due or not self._tries.rests(job, now))]
        return tuple(sorted(jobs, key=lambda job: (-job.saves_tokens, job.first_seq, job.level)))

    def run(
        self, summarizer: Summarizer, now: float | None = None, limit: int | None = None, *, reason: str = ""
    ) -> tuple[Done, ...]:
        """Do the jobs that are due, at most `limit` of them, and return what became of each; the rest as for `doing`.

        Raises:
            ValueError: there is no such reason.
            StoreError: the store failed; summaries made before it did are kept.
        """
        return tuple(self.doing(summarizer, now, limit, reason=reason))

    def doing(
        self, summarizer: Summarizer, now: float | None = None, limit: int | None = None, *, reason: str = ""
    ) -> Iterator[Done]:
        """Do the jobs that are due, at most `limit` of them, one each time what became of the next is asked for.

        A failure is an event, and the notes by rule go on standing. A model that says it is asked too often is asked
        no more in this call. `now` and `reason` as in `due`.

        Raises:
            ValueError: there is no such reason.
            StoreError: the store failed; summaries made before it did are kept.
        """
        for job in self.due(now, reason=reason)[:limit]:
            try:
                summary = self._made(job, summarizer)
            except StoreError:
                raise
            except SquidbotError as error:
                self._tries.failed(job, now, self._settings.backoff_seconds)
                self._notify(events.COMPRESSION_ERROR, f"m{job.first_seq}-m{job.last_seq}: {error}", job, 0)
                yield Done(job, None, str(error))
                if isinstance(error, LLMError) and error.kind == "rate-limit":
                    break
                continue
            self._tries.worked(job)
            self._notify(events.CHECKPOINT_CREATED, summary.summary_id, job, summary.cost.bound)
            yield Done(job, summary)

    # -- what is due ------------------------------------------------------------------------------------------

    def _wanted(self, now: float | None, every: frozenset[str]) -> list[Wanted]:
        shelf, lease = self._shelf, self._lease
        stored = load(shelf, lease.window_tokens, lease.lease_id)
        if not stored.messages or stored.opened:
            # Another lease begins with the next request: what it shows is not known before.
            return []
        past = self._past()
        notes = Notebook(
            shelf.session_id, shelf.renderer, shelf.transcripts, shelf.summaries, not self._history.keeps_users
        )
        limit = Turn(shelf, lease, self._history, lambda: notes, past).limit
        return wanted(shelf, self._history, notes, stored, room_of(limit, stored, past.outside), now, every=every)

    def _past(self) -> Past:
        last = self._shelf.transcripts.last_record(self._shelf.session_id, REQUEST)
        return Past.of(last) if last else Past()

    def _mode(self) -> str:
        """Return what is kept above all: as the settings say, else what the session is at."""
        own = self._past().mode if not self._settings.mode else ""
        return self._settings.mode or (own if own in self._settings.keeps else ANY_MODE)

    def _job(self, one: Wanted, reason: str, mode: str) -> Job | None:
        """Return the job for a summary that is wanted; None where it would not pay, or has been done."""
        run = one.run
        least = 0 if one.level is Representation.MERGED else LEAST_LIMIT_TOKENS
        if run.last_seq - run.first_seq + 1 < self._settings.min_messages or one.limit_tokens < least:
            return None
        if self._is_made(one):
            return None
        rows = self._shelf.read(run.first_seq, run.last_seq)
        said = Source.of(rows, self._shelf.renderer).tokens
        if said < max(self._settings.min_input_tokens, one.limit_tokens + 1):
            return None
        digest = self._digest(rows, one.level, mode)
        made = any(made.source_digest == digest for made in self._standing(run.first_seq, run.last_seq))
        if made and self._noted() is not None:
            return None
        return Job(
            reason=reason,
            session_id=self._shelf.session_id,
            first_seq=run.first_seq,
            last_seq=run.last_seq,
            level=one.level.value,
            mode=mode,
            source_digest=digest,
            limit_tokens=one.limit_tokens,
            said_tokens=said,
            saves_tokens=said - one.limit_tokens,
        )

    def _is_made(self, one: Wanted) -> bool:
        """Return whether a text for exactly this stands that fits: nothing needs to be read to know it is not due.

        A summary goes with the messages that it tells of: while it is there, these are as they were. Where the mode is
        the session's, one that was made in another stays good: what was said then was said in that.
        """
        ends = f"/{self._settings.mode}-{VERSION}" if self._settings.mode else f"-{VERSION}"
        return self._noted() is not None and any(
            made.level == one.level
            and (made.first_seq, made.last_seq) == (one.run.first_seq, one.run.last_seq)
            and made.cost.bound <= one.limit_tokens
            and made.counter == self._shelf.renderer.meter.name
            and made.made_by.endswith(ends)
            for made in self._standing(one.run.first_seq, one.run.last_seq)
        )

    def _standing(self, first_seq: int, last_seq: int) -> list[Summary]:
        found = self._shelf.summaries.for_range(self._shelf.session_id, first_seq, last_seq)
        return [one for one in found if one.by_model]

    def _digest(self, rows: Sequence[StoredMessage], level: str, mode: str) -> str:
        """Return the hash of all that an answer depends on, but for the model: one summary for one source."""
        digest = hashlib.sha256()
        meter, lease = self._shelf.renderer.meter, self._lease
        for text in (VERSION, mode, level, meter.name, str(lease.window_tokens)):
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
        for row in rows:
            head = json.dumps([row.seq, row.category, row.codec])
            digest.update(head.encode() + row.payload.encode("utf-8", "surrogatepass") + b"\0")
        return digest.hexdigest()

    # -- one job ----------------------------------------------------------------------------------------------

    def _made(self, job: Job, summarizer: Summarizer) -> Summary:
        """Return the summary of a job, stored.

        Raises:
            LLMError: there is no text, or not one that can stand for the messages.
            ContextOverflowError: the messages are too much for the summarizer.
            StoreError: the store failed.
        """
        source = self._source(job)
        if source is None:
            raise LLMError("unusable", "its messages are no longer what they were")
        meter = self._shelf.renderer.meter
        summary_id = f"s{job.first_seq}-{job.last_seq}.{job.source_digest[:8]}"
        header = _header(job, summary_id, source)
        # The note that a merged text stands in names files by rule.
        files = () if job.level == Representation.MERGED else source.files()
        named = meter.text(_naming([done for _, done in files])).bound
        aside = min(named, int(job.limit_tokens * FILES_FRACTION)) if files else 0
        left = job.limit_tokens - meter.message(header).bound - aside
        shown = source.shown(self._settings.source_tokens)
        completion = self._completed(summarizer.summarize(job, shown, left), shown)
        answer = cleaned(completion.text)
        check_answer(answer, source.whole(), shown)
        text = f"{header}\n{answer}"
        bound = meter.message(text).bound
        if bound > job.limit_tokens or bound >= job.said_tokens:
            raise LLMError("unusable", f"the answer makes {bound} of {min(job.limit_tokens, job.said_tokens)} tokens")
        text = self._with_files(text, files, job.limit_tokens)
        made_by = f"llm/{summarizer.name}/{job.mode}-{VERSION}"
        cost = meter.message(text)
        place = self._shelf.session_id, job.first_seq, job.last_seq, job.level
        usage = Usage(completion.input_tokens, completion.output_tokens)
        return self._stored(job, Summary(summary_id, *place, text, cost, meter.name, job.source_digest, made_by), usage)

    def _completed(self, answer: str | Completion, shown: str) -> Completion:
        """Return an answer with the tokens that it took: counted, where the summarizer tells no numbers."""
        text, *told = (answer,) if isinstance(answer, str) else answer
        if told and all(isinstance(tokens, int) and tokens >= 0 for tokens in told):
            return Completion(text, *told)
        meter = self._shelf.renderer.meter
        return Completion(text, meter.text(shown).estimate, meter.text(text).estimate)

    def _source(self, job: Job) -> Source | None:
        """Return the messages of a job; None where they are no longer those that it was made for."""
        rows = self._shelf.read(job.first_seq, job.last_seq)
        return (
            Source.of(rows, self._shelf.renderer)
            if self._digest(rows, job.level, job.mode) == job.source_digest
            else None
        )

    def _with_files(self, text: str, files: Sequence[tuple[str, str]], limit_tokens: int) -> str:
        """Return a text with a line of the files and what was last done with each, by rule, while there is room.

        Those come first that the text does not name.
        """
        meter = self._shelf.renderer.meter
        told = [done for _, done in sorted(files, key=lambda one: one[0] in text)]
        while told:
            named = f"{text}\n{_naming(told)}"
            if meter.message(named).bound <= limit_tokens:
                return named
            told.pop()
        return text

    def _stored(self, job: Job, summary: Summary, usage: Usage) -> Summary:
        """Return a summary once it is stored; of two for one job the one that came first.

        Raises:
            LLMError: its messages were forgotten meanwhile; nothing of it is left.
            StoreError: the store failed.
        """
        shelf = self._shelf
        try:
            kept = self._first(job) or summary
            shelf.summaries.put(kept)
        except StoreError:
            if (first := self._first(job)) is None:
                raise
            kept = first
        # Whoever forgets messages meanwhile finds the summary, or, by the record, that it has to look once more.
        self._note(kept, usage)
        if self._source(job) is None:
            shelf.summaries.remove(shelf.session_id, [kept.summary_id])
            raise LLMError("unusable", "its messages were forgotten meanwhile")
        return kept

    def _first(self, job: Job) -> Summary | None:
        found = self._standing(job.first_seq, job.last_seq)
        return next((one for one in found if one.source_digest == job.source_digest), None)

    def _noted(self) -> Record | None:
        """Return the record of the newest summary that was written; None where none was."""
        return self._shelf.transcripts.last_record(self._shelf.session_id, SUMMARY)

    def _note(self, summary: Summary, usage: Usage) -> None:
        """Record that a summary was written, and what that took.

        Raises:
            StoreError: the store failed, or other writers never stopped.
        """
        shelf = self._shelf

        def act(head: tuple[int, int]) -> None:
            last = self._noted()
            record = written_as(summary, last.number + 1 if last else 0, usage)
            shelf.transcripts.append(shelf.session_id, head[0], (), (record,))

        Writing(shelf.transcripts, shelf.session_id, "no summary was noted", shelf.wait).tried(act)

    def _notify(self, name: str, cause: str, job: Job, after_tokens: int) -> None:
        if self._observer is not None:
            lease, said = self._lease, job.said_tokens
            told = Event(name, job.session_id, cause, lease.lease_id, -1, said, after_tokens, model=lease.model)
            self._observer.notify(told)


def _header(job: Job, summary_id: str, source: Source) -> str:
    """Return the line in front of an answer; of one that stands in a note with others: which messages, of when."""
    if job.level == Representation.MERGED:
        return f"[{', '.join(filter(None, (f'm{job.first_seq}-m{job.last_seq}', source.dates())))}]"
    count = job.last_seq - job.first_seq + 1
    return f"[{summary_id}: a model's summary of {count} messages, data only; recall {summary_id} shows them]"


def _naming(told: Sequence[str]) -> str:
    return f"Files: {'; '.join(told)}"
