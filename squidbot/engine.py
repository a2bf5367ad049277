"""The Python face: `load`, and the engine that opens sessions over one store."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from squidbot.bootstrap import wire
from squidbot.config import load_settings
from squidbot.core import events
from squidbot.core.arguments import (
    an_id,
    anything,
    duration,
    flag,
    instance,
    items,
    mapping,
    optional,
    path,
    refused,
    takes,
    text,
    tokens,
    whole,
)
from squidbot.core.contexts import KIND as CONTEXT
from squidbot.core.contexts import Document, documents_of, record_of
from squidbot.core.descent import CONTINUED, KIND, ROTATED, SUB_AGENT, Descent, children_of, parent_of, shown
from squidbot.core.errors import ConfigError, NotFoundError, StoreError
from squidbot.core.events import Event
from squidbot.core.goals.records import GOAL, as_record, goals_of
from squidbot.core.goals.values import Change
from squidbot.core.isolation import Whose, transcript_id
from squidbot.core.leases import newest_lease
from squidbot.core.markers import KIND as MARKED
from squidbot.core.markers import Markers
from squidbot.core.memories import Scope
from squidbot.core.messages import Category
from squidbot.core.pins import KIND as PIN
from squidbot.core.pins import Pins
from squidbot.core.recall.history import stamp
from squidbot.core.scopes import scopes_of
from squidbot.core.trying import Writing
from squidbot.memory import NOBODY
from squidbot.services.background import (
    ByJournal,
    ByModel,
    ByRules,
    Guarded,
    Occasion,
    Order,
    Worker,
    failed,
    reader_of,
    watched,
)
from squidbot.session import Session
from squidbot.wiring.streams import wait

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import TracebackType

    from squidbot.bootstrap import Wired
    from squidbot.config import Origin
    from squidbot.core.goals.values import Goals, Item
    from squidbot.core.journal import Journal
    from squidbot.core.memory.asking import Memories
    from squidbot.core.messages import Record, StoredMessage
    from squidbot.core.ports import Codec, LoadedModel, TranscriptStore
    from squidbot.core.sizing.header import Loading
    from squidbot.services.background import Jobs, Outcome
    from squidbot.services.exchange import Exported, Imported, RolledBack
    from squidbot.services.forget import Gone
    from squidbot.services.indexing import Indexed


def whose(name: str, value: object) -> Scope:
    """Return a scope, whose parts are texts."""
    if not isinstance(value, Scope) or not all(isinstance(part, str) for part in value):
        raise refused(name, value, "a Scope, each of its parts a text")
    return value


def _source(name: str, value: object) -> object:
    """Return where settings are from."""
    if isinstance(value, Mapping):
        return mapping(name, value)
    return optional(instance(str, Path, called="a path, a mapping, or None"))(name, value)


@takes(source=_source, extensions=items(anything, "several"))
def load(source: str | Path | Mapping[str, object] | None = None, *, extensions: Iterable[object] = ()) -> Engine:
    """Return an engine: `source` is a squidbot.toml, a mapping of its form, or None.

    None takes ./squidbot.toml if there is one, else the defaults: sessions live in memory and are gone with the process
    (set `store.path` to keep them), tokens are counted by character classes, the window is 32,768 tokens.
    `extensions` are modules or objects with hooks, beside those that the settings name.

    Raises:
        ConfigError: a setting is wrong; the text names it with its path.
        StoreError: the store can't be opened.
    """
    engine = Engine(wire(load_settings(source), extensions))
    if engine.wired.pending and os.path.exists(engine.wired.pending):  # noqa: PTH110  # each start asks
        from squidbot.services.forget import finish  # noqa: PLC0415  # most find nothing to end

        finish(engine.wired)
    return engine


class Engine:
    """Opens sessions over one store. Threads may share it, and each of its sessions."""

    def __init__(self, wired: Wired) -> None:
        """Take what `bootstrap.wire` made; use `load`.

        Raises:
            ConfigError: the settings name a language model that can't be made.
        """
        self.wired = wired
        wired.remembering.work_behind()
        self._behind: EngineJobs | None = None
        self._lock = threading.Lock()
        self._is_closed = False
        settings = wired.loaded.settings
        if (
            wired.journals.enabled
            or settings.summary.llm
            or (wired.remembering.learns and (settings.memory.llm or settings.memory.extract))
        ):
            self._jobs()
        wired.relay.notify(Event(events.STARTED, "", f"settings: {wired.loaded.source}"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    @takes(session_id=an_id, model=text, window_tokens=optional(tokens), form=text, scope=whose, mode=optional(text))
    def session(  # noqa: PLR0913  # each may be left out
        self,
        session_id: str,
        *,
        model: str = "",
        window_tokens: int | str | None = None,
        form: str = "openai.chat",
        scope: Scope = NOBODY,
        mode: str | None = None,
    ) -> Session:
        """Return the session of that id; what was recorded before goes on.

        Nothing is written yet, but where a session that has `session.max_messages` goes on in another one.

        `model` is an alias of the settings; any other name is kept for reports and gets the default window.
        `window_tokens`, input and output together, as a number or as "32k", goes before both. A model with a
        file gets the largest window that fits the devices (docs/models.md). `form` is how the host writes its
        messages: "openai.chat", "anthropic.messages", "openai.responses", or one that an extension brings; what
        was recorded in another is sent in this one, without what only its own provider can read. `scope` says
        whose durable facts the session's tool `memory` sees: its user, its bot, and so on; where
        `history.isolation` parts transcripts by it, or by the model, `Session.session_id` is the id of the one
        that was opened. `mode` is what the session works at (docs/prompts.md), "off" for none; None goes on as
        was chosen for the session before, else as `prompt.mode` says.

        Raises:
            ConfigError: a setting is out of its range, form or mode are unknown, or the model's file is not there.
            ModelFileError: the model's file is damaged.
            BudgetError: window, reserve and safety share leave no token for input, or the text of the mode no room.
            StoreError: whose the session is can't be read; only where there is something that parts it.
        """
        if form not in self.wired.codecs:
            raise ConfigError(f"unknown form of messages {form!r}, known: {', '.join(self.wired.codecs)}")
        lease = self.wired.lease(model, window_tokens)
        isolation = self.wired.loaded.settings.history.isolation
        own = transcript_id(self.wired.store, session_id, Whose(scope, lease.model, isolation))
        recorded = self._recorded if self._behind or self.wired.remembering.learns_of(scope) else None

        def opened(own: str, mode: str | None = mode) -> Session:
            return Session(self.wired, own, lease, self.wired.codecs[form], recorded, scope, mode)

        most = self.wired.loaded.settings.session.max_messages
        if not most:
            return opened(own)
        # where sessions may be as long as they are, never

        return rotated(opened, own, most)

    @takes(
        session_id=an_id,
        new_id=an_id,
        model=optional(text),
        window_tokens=optional(tokens),
        form=optional(text),
        scope=optional(whose),
        mode=optional(text),
    )
    def continued(  # noqa: PLR0913  # as `session`
        self,
        session_id: str,
        new_id: str,
        *,
        model: str | None = None,
        window_tokens: int | str | None = None,
        form: str | None = None,
        scope: Scope | None = None,
        mode: str | None = None,
    ) -> Session:
        """Return a new session that goes on from another one, durably: with its context, without its conversation.

        It takes over goals, locked decisions, pinned texts and messages, documents, and system text and context of the
        transcript; a mark in its head says where the rest is, and the tool `history` brings it back. Both say which
        one they are from. Called again, it returns the same session. What is None is as the other session has it.

        Raises:
            NotFoundError: nothing is stored of the other session.
            ConfigError: there is a session of the new id already, it is another user's, or as `session`.
            BudgetError: as `session`.
            StoreError: the store failed.
        """
        # few sessions do

        return go_on(self.session, self.wired, session_id, new_id, Means(model, window_tokens, form, scope, mode))

    @takes(
        parent=instance(Session, called="a session"),
        agent=text,
        share_session=flag,
        share_context_window=flag,
        clamp_tokens=optional(tokens),
        session_id=optional(an_id),
        model=optional(text),
        mode=optional(text),
    )
    def sub_agent(  # noqa: PLR0913  # each may be left out
        self,
        parent: Session,
        agent: str,
        *,
        share_session: bool = False,
        share_context_window: bool = False,
        clamp_tokens: int | None = None,
        session_id: str | None = None,
        model: str | None = None,
        mode: str | None = None,
    ) -> Session:
        """Return the session of an agent that works for another one, which is called `agent` in its scope.

        It shares the session of its parent, or (by default) has one of its own, `session_id` or PARENT/AGENT, with the
        context of the parent when it begins (`continued`, without the mark). Its window is its parent's, or that of
        another `model`; where it is not shared, at most `clamp_tokens`, and then it is told so (`cw_clamp_notice`).
        All budgets follow from the window.

        Raises:
            ConfigError: the agent has no name, a shared window is to be clamped, there is another session of that id;
                or as `session`.
            BudgetError: as `session`.
            StoreError: the store failed.
        """
        # few agents do

        window = (share_context_window, clamp_tokens)
        return begin(self.session, parent, Agent(agent, share_session, window, session_id, model, mode))

    @takes(scope=whose)
    def memories(self, scope: Scope = NOBODY) -> Memories:
        """Return the durable facts that a scope sees, to search, list, add and forget as text (docs/memory.md).

        Raises:
            ConfigError: memory is switched off, its provider is unknown, or a pattern is none.
            StoreError: the store can't be opened.
        """
        return self.wired.memories(self.wired.meter(), scope)

    @takes(paths=items(path, "several paths"), scope=whose, dry_run=flag, drops=flag)
    def reindex(
        self, paths: Iterable[str | Path] = (), *, scope: Scope = NOBODY, dry_run: bool = False, drops: bool = False
    ) -> Indexed:
        """Read what has changed of `memory.index_paths`, or of `paths`, so that a scope finds what files say.

        What was asked for once by `paths`, relative to the current folder, is looked at each time; `drops` takes it
        out. Nothing is written with `dry_run`. What became of each file is returned.

        Raises:
            ConfigError: as `memories`.
            NotFoundError: one of `paths` is not there, and nothing was found of it before.
            StoreError: the store failed; each file is found as it was before, or as it is.
        """
        from squidbot.services.indexing import Paths, reindex  # noqa: PLC0415  # no turn needs it

        return reindex(
            self.memories(scope), Paths.of(self.wired.loaded, paths, drops=drops, scope=scope), dry_run=dry_run
        )

    @takes(scope=whose)
    def journal(self, scope: Scope = NOBODY) -> Journal:
        """Return the journal of the settings, in the files of `journal.folder`; nothing is made until an entry is kept.

        That of a `scope` has a folder of its own, which those share who see each other's durable facts. What it keeps
        and refuses is told to whoever listens: `journal-entry-created`, `degraded`.

        Raises:
            ConfigError: one of `journal.redact_patterns` is none.
        """
        return self.wired.journals.of(scope)

    @takes(session=instance(Session, called="a session"), run_id=text)
    def iterated(self, session: Session, run_id: str = "") -> tuple[Outcome, ...]:
        """Keep an entry of what a session has said since its last one (J-02), and return what became of it.

        An agent that works in rounds calls it behind each, with an id of the run. Nothing is made where nothing new was
        said; nothing of a failure is raised: it is in what is returned, and told by `degraded`.

        Raises:
            ConfigError: the journal is switched off.
            StoreError: the session can't be read.
        """
        if not self.wired.journals.enabled:
            raise ConfigError(f"the journal is switched off; set enabled @ {self.wired.loaded.source}.journal")
        return self._jobs().iterated(session, run_id)

    @takes(alias=text)
    def model(self, alias: str) -> LoadedModel:
        """Return the model of an alias, opened by its `adapter` at the first call and held until `close`.

        It is opened with the window that fits, and with less where it does not load. Sessions that are made after it
        have that window and count with the model's own vocabulary.

        Raises:
            ConfigError: the settings name no adapter for it, or the file is not there.
            ModelFileError: the file is damaged.
            ModelLoadError: it does not load with any window that is allowed.
            LLMError: its server was not reached.
        """
        return self.wired.models.open(alias)

    @takes(alias=text)
    def loading(self, alias: str) -> Loading:
        """Return how a host is to load a model itself: `n_ctx` is the window of the model's sessions.

        Raises:
            ConfigError: a setting is out of its range, or the file is not there.
            ModelFileError: the file is damaged.
        """
        return self.wired.models.loading(alias)

    def watch_memory(self) -> None:
        """Look at the GPUs each `gpu.watch_seconds` from now on, and tell when memory runs short; no window changes.

        Models that `model` opens are watched unasked. A host that loads a model itself calls it right after that: how
        full the devices are then is as it should be.

        Raises:
            ConfigError: `gpu.probe` names a source that nobody offers.
        """
        self.wired.models.watch()

    @property
    def jobs(self) -> Jobs:
        """The summaries that the language model of `summary.llm` writes, beside the sessions (docs/summaries.md).

        Raises:
            ConfigError: no language model is named.
        """
        jobs = self._jobs().jobs
        if jobs is None:
            self.wired.llm()
            raise ConfigError("the language model was named after the engine was made; load it anew")
        return jobs

    @takes(session=optional(instance(Session, called="a session")), limit=optional(whole(0)), reason=text)
    def run_jobs(
        self, session: Session | None = None, *, limit: int | None = None, reason: str = ""
    ) -> tuple[Outcome, ...]:
        """Do the jobs that are due, at most `limit`, and return what became of each; waits for the models.

        Those of a session, or (None) of all that were recorded in by this engine: messages are read for facts
        (`Studied`), then summaries are written (`Done`) where the settings name a model for them, then entries of the
        journal (`Kept`) where it is switched on. `reason` "schedule"
        adds blocks before a pause that no event is near to, "request" all that are closed, and what rests after a
        failure. Nobody has to call it where `summary.scheduler` is not "none".

        Raises:
            ConfigError: no language model is named, and no facts are read either.
            ArgumentError: there is no such reason.
            StoreError: a store failed.
        """
        if not self.wired.remembering.learns and not self.wired.journals.enabled:
            _ = self.jobs
        return self._jobs().run(session, limit, reason)

    def _jobs(self) -> EngineJobs:
        # where nothing is learned, nobody needs it

        with self._lock:
            self._behind = self._behind or EngineJobs(self.wired)
            return self._behind

    def _recorded(self, session: Session) -> None:
        if not self._is_closed:
            self._jobs().recorded(session)

    @takes(session_id=text, reason=text)
    def forget_session(self, session_id: str, *, reason: str = "") -> Gone:
        """Forget a whole session with all that squidbot keeps of it: its id is as if it was never used.

        Facts go that it alone said, entries of the journal, turns in the log. Backups and exports stay. A host that
        still has its messages may record them again.

        Raises:
            NotFoundError: there is no such session.
            StoreError: nothing was forgotten; or what was begun is ended when the store is next opened.
        """
        from squidbot.services.forget import forget_session  # noqa: PLC0415  # no turn needs it

        return forget_session(self.wired, session_id, reason=reason)

    @takes(user=text, reason=text)
    def forget_user(self, user: str, *, reason: str = "") -> Gone:
        """Forget what a user (`Scope.user`) has said in any session of the store, and what is kept of them.

        Every fact, indexed document and journal of theirs goes, and each session in which nobody else speaks; a session
        of several users loses this one's turns.

        Raises:
            NotFoundError: nothing of such a user is kept.
            StoreError: the store can't list or remove sessions; or what was begun is ended when it is next opened.
        """
        from squidbot.services.forget import forget_user  # noqa: PLC0415  # no turn needs it

        return forget_user(self.wired, user, self._sessions(), reason=reason)

    @takes(folder=path, sessions=items(text, "several ids of sessions"), replaces=flag)
    def export_models(self, folder: str | Path, sessions: Iterable[str] = (), *, replaces: bool = False) -> Exported:
        """Write what was said into a folder, a file for each model (docs/files.md), and return what became of each.

        `sessions` are ids, none for all of the store. A file that has more than the store stays as it is, unless
        `replaces`: it is then kept aside.

        Raises:
            NotFoundError: nothing was said in one of these sessions.
            StoreError: the store failed, or can't list its sessions.
        """
        from squidbot.services.exchange import exported  # noqa: PLC0415  # no turn needs it
        from squidbot.services.forget import Wrote, note_written  # noqa: PLC0415

        store, codecs, wanted = self.wired.store, self.wired.codecs, list(sessions)
        for one in wanted:
            if not store.head(one)[0]:
                raise NotFoundError(f"no session {one!a:.80}; name one by its whole id, as Session.session_id says it")
        every = wanted or self._sessions()
        done = exported(store, codecs, every, folder, replaces=replaces)
        files = (one for one in done.files if one.became != "failed")
        written = (Wrote(str(Path(one.path).absolute()), "workspaceai", tuple(every)) for one in files)
        note_written(self.wired.written, *written)
        return done

    @takes(paths=path, session=text, keeps_copies=flag)
    def import_models(self, *paths: str | Path, session: str = "", keeps_copies: bool = False) -> Imported:
        """Bring in such files, or older ones, and return what became of each; a folder stands for its files.

        Each exchange is brought once. `session` is where those go that name none. With `keeps_copies` each file is
        copied to `FILE.backup` before.

        Raises:
            TranscriptError: there is no such file.
        """
        from squidbot.services.exchange import Reading, files_at, imported, migrated  # noqa: PLC0415  # no turn needs it

        files = [file for path in paths for file in files_at(path)]
        return (migrated if keeps_copies else imported)(self.wired, files, Reading(session) if session else None)

    @takes(paths=path)
    def roll_back(self, *paths: str | Path) -> list[RolledBack]:
        """Take what was brought from files out again, for good, and return how much that was, by session.

        Raises:
            StoreError: the store can't list its sessions.
        """
        from squidbot.services.exchange import rolled_back  # noqa: PLC0415  # no turn needs it

        return rolled_back(self.wired, self._sessions(), map(Path, paths))

    def _sessions(self) -> list[str]:
        listed = getattr(self.wired.store, "sessions", None)
        if listed is None:
            raise StoreError("this store can't list its sessions; it has no method `sessions`")
        return [name for name, _ in listed()]

    def origins(self) -> list[Origin]:
        """Return every setting with its value and where that comes from."""
        return self.wired.loaded.origins()

    @takes(timeout_seconds=duration)
    def close(self, timeout_seconds: float = 5.0) -> None:
        """Close the models that are open, and the store; sessions of this engine can't be used after it.

        A summary that is being written has `timeout_seconds` to be ended; what comes later is not kept.
        """
        was_closed, self._is_closed = self._is_closed, True
        if self._behind is not None:
            self._behind.close(timeout_seconds)
        if not was_closed:
            self.wired.relay.notify(Event(events.STOPPED, "", "the engine was closed"))
        self.wired.close()


# The jobs behind the turns of one engine, as its settings say: facts are read out, summaries and
# journals written.


class EngineJobs:
    """The jobs of one engine. Rules read at once; what waits for a language model has a thread of its own."""

    def __init__(self, wired: Wired) -> None:
        """Make the language models that the settings name.

        Raises:
            ConfigError: one can't be made, or facts are to be read by one, and none is named.
        """
        self._remembering = wired.remembering
        settings = wired.loaded.settings
        self.jobs, self._models = _by_models(wired)
        self._rules = Worker(ByRules())
        self._journal = _journal(wired)
        self._timer = wired.timer()
        self._is_scheduled = settings.summary.scheduler != "none"
        self._seconds = settings.summary.interval_minutes * 60.0
        self._journal_seconds = settings.journal.interval_minutes * 60.0

    def recorded(self, session: Session) -> None:
        """Have the jobs of a session looked for, in a while, elsewhere. Never raises an Exception, returns at once."""
        if self._remembering.learns_of(session.scope):
            self._have(self._rules, session)
        if self._models is not None:
            self._have(self._models, session)
        if self._journal is not None:
            self._have(self._journal[0], session)

    def iterated(self, session: Session, run_id: str) -> tuple[Outcome, ...]:
        """Make an entry of what a session has said since its last one, here and now; none where the journal is off."""
        if self._journal is None:
            return ()
        worker, work = self._journal
        work.ask(session.session_id, Occasion("iteration", run_id))
        return tuple(worker.work(session, Order()))

    def run(self, session: Session | None, limit: int | None, reason: str) -> tuple[Outcome, ...]:
        """Do what is due, of a session or of all that were recorded in, and return what became of each."""
        done: list[Outcome] = []
        for worker in self._workers:
            left = None if limit is None else limit - len(done)
            done += worker.work(session, Order(left, reason))
        return tuple(done)

    def close(self, timeout_seconds: float) -> None:
        """End what works on them, for good; what is at hand has that long to be ended."""
        self._is_scheduled = False
        for worker in self._workers:
            worker.stop(timeout_seconds)

    @property
    def _workers(self) -> tuple[Worker, ...]:
        every = self._rules, self._models, self._journal and self._journal[0]
        return tuple(one for one in every if one is not None)

    def _have(self, worker: Worker, session: Session) -> None:
        worker.watch(session)
        if self._is_scheduled:
            try:
                if self._journal and worker is self._journal[0]:
                    worker.start(self._journal_seconds)
                else:
                    worker.start(self._seconds, self._timer if worker is self._models else None)
            except Exception as error:  # noqa: BLE001  # no thread was to be had: the turn goes on, and it is told
                failed(watched(session), error)
            worker.poke(session)


def _journal(wired: Wired) -> tuple[Worker, ByJournal] | None:
    """Return what writes entries of the journal, which listens for what makes one due; None where it is off.

    Raises:
        ConfigError: the model of `journal.llm` can't be made, or a pattern is none.
    """
    settings = wired.loaded.settings.journal
    if not settings.enabled:
        return None
    _ = settings.rules  # what is wrong with them is said when the engine is made, and not when an entry is
    work = ByJournal(settings.interval_minutes * 60.0, Guarded(wired.llm("journal.llm")) if settings.llm else None)
    wired.relay.listen("journal", work.listen)
    return Worker(work), work


def _by_models(wired: Wired) -> tuple[Jobs | None, Worker | None]:
    """Return the summaries, and what works on them and on whatever else waits for a model; None for neither.

    Raises:
        ConfigError: a model can't be made.
    """
    reader, settings = reader_of(wired), wired.job_settings()
    reading = (ByModel(reader, settings.backoff_seconds),) if reader else ()
    if wired.loaded.settings.summary.llm:
        from squidbot.services.background import Jobs  # noqa: PLC0415  # without a model nobody needs it

        jobs = Jobs(wired.llm(), settings, beside=reading)
        return jobs, jobs
    return None, Worker(*reading) if reading else None


# What a session takes over from another one: all of its context, nothing of its conversation (P-03).

# The document that says where a session goes on from, and the one that says how large a sub-agent's window is.
TRANSITION: Final = "[transition]"
WINDOW: Final = "[window]"
PAGE_ROWS: Final = 1_000
_OWN: Final = frozenset({TRANSITION, WINDOW})
_VIEWED: Final = frozenset({Category.SYSTEM, Category.CONTEXT})
_WAYS: Final = {"milestone": "milestone", "artifact": "artifact", "blocker": "block", "architecture": "architecture"}


class Inherited(NamedTuple):
    """What is taken over: the messages of system text in front of all, and records of all else."""

    lead: tuple[StoredMessage, ...]
    records: tuple[Record, ...]


def inherited_from(
    store: TranscriptStore, codecs: Mapping[str, Codec], source_id: str, told: Sequence[Document]
) -> Inherited:
    """Return what a session takes over from the one of an id, with the documents `told` in front of that one's.

    Raises:
        StoreError: the store failed.
    """
    pins = Pins.of(store.records(source_id, PIN))
    lead, views = _viewed(store, codecs, source_id, pins)
    kept = [one for one in documents_of(store.records(source_id, CONTEXT)) if one.name not in _OWN]
    # Those that say where it is come first: they are left out last.
    documents = {one.name: one for one in (*told, *kept, *views)}
    texts = ({"name": one.name.removeprefix("pin "), "text": one.text} for one in pins.texts)
    goals = goals_of(store.records(source_id, GOAL), Markers.of(store.records(source_id, MARKED)).said)
    changes = (as_record(one._replace(seq=len(lead)), number) for number, one in enumerate(_changes(goals)))
    views_kept = (record_of(number, one) for number, one in enumerate(documents.values()))
    return Inherited(tuple(lead), (*Pins().records(texts), *changes, *views_kept))


def transition(store: TranscriptStore, source_id: str, messages: int) -> Document:
    """Return the mark that says where what was said before is, and how it comes back."""
    newest = store.read(source_id, messages - 1, messages - 1) if messages else []
    until = f", until {stamp(newest[0].time)}" if newest and newest[0].time is not None else ""
    name, said = shown(source_id), f"{messages:,} message{'s' * (messages != 1)}{until}"
    lines = [
        f"This conversation goes on from an earlier one, {name} ({said}). What was said there is stored, not shown."
    ]
    if messages:
        ids = f'recall with the id "{name}#m0-m{messages - 1}", search with the id "{name}"'
        lines.append(f"history brings it back: {ids}.")
    return Document(TRANSITION, "\n".join(lines))


def _viewed(
    store: TranscriptStore, codecs: Mapping[str, Codec], source_id: str, pins: Pins
) -> tuple[list[StoredMessage], list[Document]]:
    """Return the system text in front, and as documents what else is system text or context, or is pinned."""
    lead: list[StoredMessage] = []
    views: list[Document] = []
    for row in _rows(store, source_id):
        if row.seq == len(lead) and row.category is Category.SYSTEM:
            lead.append(replace(row, notice=None))
        elif row.category in _VIEWED or row.seq in pins.seqs:
            views.append(Document(f"[{shown(source_id)} m{row.seq}]", codecs[row.codec].text(row.payload).strip()))
    return lead, [one for one in views if one.text]


def _rows(store: TranscriptStore, session_id: str) -> Iterator[StoredMessage]:
    messages = store.head(session_id)[0]
    for start in range(0, messages, PAGE_ROWS):
        yield from store.read(session_id, start, min(start + PAGE_ROWS, messages) - 1)


def _changes(goals: Goals) -> Iterator[Change]:
    """Yield what makes goals stand in a session that has none."""
    name = goals.active.text if goals.active else None
    standing = (*goals.milestones, *goals.decisions, *goals.artifacts, *goals.blockers, *goals.architecture)
    yield from (_change(one) for one in standing if one.goal != name)
    if name is None:
        return
    yield Change("set", name)
    yield from (_change(one) for one in standing if one.goal == name)
    if goals.next_step:
        yield Change("next", goals.next_step)


def _change(item: Item) -> Change:
    if item.kind == "decision":
        return Change("lock" if item.done else "decide", item.text)
    return Change(_WAYS[item.kind], item.text, done=item.done)


# A session that goes on another one's context: by hand, since that one was long, or for a sub-agent
# (P-03, P-04).

if TYPE_CHECKING:
    Open = Callable[..., Session]


MOST_ID_CHARS: Final = 1_024


class Going(NamedTuple):
    """How one session goes on from another: in which way, from which one, when; and a text to tell beside the rest."""

    way: str
    source: Session
    at: float
    told: tuple[Document, ...] = ()


def continued(going: Going, made: Session) -> Session:
    """Let a session that has nothing yet go on from another one, durably, and return it.

    It takes over goals, pinned texts and messages, decisions, documents, and the messages that are system text or
    context; of the conversation nothing but a mark that says where it is.

    Raises:
        NotFoundError: nothing was said in the other one.
        ConfigError: something was said in it, or it is the same one.
        StoreError: the store failed; it goes on, and the other one may not say so, or nothing was written.
    """
    store, source_id, session_id = made.wired.store, going.source.session_id, made.session_id
    messages = store.head(source_id)[0]
    if source_id == session_id:
        raise ConfigError(f"{session_id!a:.80} can't go on from itself; give the new session an id of its own")
    if store.head(source_id) == (0, 0) and going.way != SUB_AGENT:
        raise NotFoundError(f"nothing is stored of {source_id!a:.80}: there is nothing to go on from")
    descent = Descent(source_id, going.way, messages, at=going.at)
    if store.head(session_id) == (0, 0):
        _write(going, made, descent)
    known = parent_of(store, session_id)
    if known is None or (known.other, known.way) != (source_id, going.way):
        raise ConfigError(f"there is a session {session_id!a:.80} already; give the new one another id")
    _tell_parent(store, source_id, descent.seen_from(source_id, session_id, as_child=False))
    return made


def _write(going: Going, made: Session, descent: Descent) -> None:
    """Write what a session takes over, unless another process has let it go on in the meantime."""
    store, source_id = made.wired.store, descent.other
    mark = [] if going.way == SUB_AGENT else [transition(store, source_id, descent.messages)]
    inherited = inherited_from(store, made.wired.codecs, source_id, (*mark, *going.told))
    try:
        store.append(made.session_id, 0, inherited.lead, [*inherited.records, descent.record(0)])
    except StoreError:
        if parent_of(store, made.session_id) is None:
            raise


def newest_of(transcripts: TranscriptStore, session_id: str, most_messages: int) -> tuple[str, str | None]:
    """Return which session a long one goes on in, and the id of the next one where that is to be begun, or None.

    It is begun where the newest one has so many messages, and its newest turn is over.

    Raises:
        StoreError: the store failed.
    """
    first, seen = session_id, {session_id}
    while rotated := [one.other for one in children_of(transcripts, session_id) if one.way == ROTATED]:
        if rotated[-1] in seen:
            break
        session_id = rotated[-1]
        seen.add(session_id)
    messages = transcripts.head(session_id)[0] if 1 <= len(session_id) <= MOST_ID_CHARS else 0
    if not 0 < most_messages <= messages or not _is_over(transcripts.read(session_id, messages - 1, messages - 1)):
        return session_id, None
    return session_id, next(f"{first}~{number}" for number in count(len(seen) + 1))


def sub_agent(going: Going, made: Session, clamped: bool) -> Session:  # noqa: FBT001  # told by one caller
    """Let a sub-agent's session take over its parent's context, told how large its window is where it is clamped.

    A session that it had before goes on as it is.

    Raises:
        ConfigError: there is another session of that id.
        StoreError: the store failed.
    """
    source, lease = going.source, made.lease
    if clamped:
        was, tokens = source.lease.window_tokens, lease.window_tokens
        cause = f"the sub-agent has {tokens:,} of the {was:,} tokens of {source.session_id}"
        told = Event(events.CW_CLAMP_NOTICE, made.session_id, cause, lease.lease_id, -1, was, tokens)
        made.wired.relay.notify(replace(told, model=lease.model, scope=made.scope))
        said = f"The context window of this agent has {tokens:,} tokens, its parent's {was:,}: keep to what is asked."
        going = going._replace(told=(Document(WINDOW, said),))
    return made if made.session_id == source.session_id else continued(going, made)


def _tell_parent(store: TranscriptStore, source_id: str, descent: Descent) -> None:
    """Write into the earlier session that another one goes on from it; once."""

    def act(head: tuple[int, int]) -> None:
        known = children_of(store, source_id)
        if not any(one.other == descent.other for one in known):
            number = len(store.records(source_id, KIND))
            store.append(source_id, head[0], (), [descent.record(number)])

    Writing(store, source_id, "it does not say which session goes on from it", wait).tried(act)


def _is_over(newest: list[StoredMessage]) -> bool:
    """Return whether a turn is over: the assistant has spoken last, and called no tool."""
    return bool(newest) and newest[-1].role == "assistant" and not newest[-1].call_ids


# -- how sessions are opened for it -----------------------------------------------------------------------------------


class Means(NamedTuple):
    """What a new session is opened with; None: as the one that it goes on from."""

    model: str | None
    window_tokens: int | str | None
    form: str | None
    scope: Scope | None
    mode: str | None


def go_on(open_one: Open, wired: Wired, session_id: str, new_id: str, means: Means) -> Session:
    """Do what `Engine.continued` says; `open_one` is `Engine.session`."""
    lease, scope = newest_lease(wired.store, session_id), _scope_of(wired.store, session_id, means.scope)
    known = (lease.model, lease.window_tokens) if lease else ("", None)
    model = known[0] if means.model is None else means.model
    window = known[1] if means.window_tokens is None and model == known[0] else means.window_tokens
    form = means.form or "openai.chat"
    source = open_one(session_id, model=model, window_tokens=window, form=form, scope=scope)
    made = open_one(
        new_id, model=model, window_tokens=window, form=form, scope=scope, mode=means.mode or _mode_of(source)
    )
    return continued(Going(CONTINUED, source, time.time()), made)


def _scope_of(store: TranscriptStore, session_id: str, wanted: Scope | None) -> Scope:
    """Return whose the new session is to be: as the newest messages of the other one, unless another is wanted.

    Raises:
        ConfigError: that is another user's, or another tenant's.
    """
    scopes = scopes_of(store, session_id) if session_id else ()
    if not scopes:
        return wanted or Scope()
    scope = scopes[-1].scope
    if wanted is not None and (wanted.tenant, wanted.user) != (scope.tenant, scope.user):
        raise ConfigError(f"{session_id!a:.80} is another user's; go on from it in the scope of its own")
    return wanted or scope


def _mode_of(session: Session) -> str | None:
    return None if session.mode == "off" else session.mode


def rotated(opened: Callable[..., Session], session_id: str, most_messages: int) -> Session:
    """Return the session in which a long one goes on; begun where it is due. `opened` opens one by its id."""
    source = opened(session_id)
    newest, following = newest_of(source.wired.store, session_id, most_messages)
    source = source if newest == session_id else opened(newest)
    if following is None:
        return source
    return continued(Going(ROTATED, source, time.time()), opened(following, source.mode))


class Agent(NamedTuple):
    """A sub-agent as somebody wants it: `window` is whether it shares that of its parent, and what it has at most."""

    name: str
    shares: bool
    window: tuple[bool, int | None]
    session_id: str | None
    model: str | None
    mode: str | None


def begin(open_one: Open, parent: Session, agent: Agent) -> Session:
    """Do what `Engine.sub_agent` says; `open_one` is `Engine.session`."""
    _check(parent, agent)
    model = parent.lease.model if agent.model is None else agent.model
    own, tokens = _window(parent, agent, model)
    made = open_one(
        parent.session_id if agent.shares else agent.session_id or f"{parent.session_id}/{agent.name}",
        model=model,
        window_tokens=tokens,
        form=parent.codec.tag,
        scope=parent.scope._replace(agent=agent.name),
        mode=agent.mode,
    )
    return sub_agent(Going(SUB_AGENT, parent, time.time()), made, clamped=tokens < own)


def _check(parent: Session, agent: Agent) -> None:
    """Check what somebody wants of a sub-agent.

    Raises:
        ConfigError: it contradicts itself, or the window is too small.
    """
    shares_window, clamp = agent.window
    if not agent.name.strip():
        raise ConfigError("the sub-agent has no name; it is what its scope calls it")
    if agent.shares and agent.session_id not in {None, parent.session_id}:
        raise ConfigError(f"a session that is shared is {parent.session_id!a:.80}; leave session_id out")
    if clamp is None:
        return
    if shares_window:
        raise ConfigError("a window that is shared can't be clamped; leave clamp_tokens or share_context_window out")
    least = parent.wired.loaded.settings.window.min
    if clamp < least:
        raise ConfigError(f"clamp_tokens is {clamp:,}; a window has at least {least:,} tokens (window.min)")


def _window(parent: Session, agent: Agent, model: str) -> tuple[int, int]:
    """Return the window that an agent would have, and the one that it gets, in tokens."""
    shares_window, clamp = agent.window
    own = parent.lease.window_tokens
    if model != parent.lease.model and not shares_window:
        own = parent.wired.lease(model, None).window_tokens
    return own, own if clamp is None else min(own, clamp)
