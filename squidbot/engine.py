"""The Python face: `load`, and the engine that opens sessions over one store."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

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
from squidbot.core.errors import ConfigError, NotFoundError, StoreError
from squidbot.core.events import Event
from squidbot.core.memories import Scope
from squidbot.core.messages import Category
from squidbot.core.text import stamp
from squidbot.core.transcript.documents import DOCUMENT, Document, DocumentChange
from squidbot.core.transcript.goals import GOAL, GoalChange, stored_goals
from squidbot.core.transcript.lineage import (
    CHILD,
    CONTINUED,
    LINEAGE,
    ROTATED,
    SUB_AGENT,
    Lineage,
    children_of,
    parent_of,
    shown,
)
from squidbot.core.transcript.pins import PIN, Pin
from squidbot.core.transcript.records import append, messages_of
from squidbot.core.transcript.scopes import MOST_ID_CHARS, SCOPE, SessionOwner, transcript_id
from squidbot.core.transcript.windows import WINDOW
from squidbot.memory import NOBODY
from squidbot.services.background import (
    BackgroundWorker,
    FactWork,
    JournalWork,
    SafeModel,
    WorkOrder,
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
    from squidbot.core.journal import Journal
    from squidbot.core.memory.view import Memories
    from squidbot.core.messages import Record, StoredMessage
    from squidbot.core.ports import LoadedModel, TranscriptStore
    from squidbot.core.sizing.header import Loading
    from squidbot.core.transcript.goals import GoalItem, Goals
    from squidbot.core.transcript.pins import Pins
    from squidbot.services.background import TaskOutcome
    from squidbot.services.exchange import ExportedFile, FileReport, ImportedFile, RemovedImport
    from squidbot.services.forget import ForgetReport
    from squidbot.services.indexing import IndexReport
    from squidbot.services.summaries import SummaryWorker


def whose(name: str, value: object) -> Scope:
    """Return a scope, whose parts are texts."""
    if not isinstance(value, Scope) or not all(isinstance(part, str) for part in value):
        raise refused(name, value, "a Scope of strings")
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
        wired.remembering.work_in_background()
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
        window = self.wired.window(model, window_tokens)
        isolation = self.wired.loaded.settings.history.isolation
        own = transcript_id(self.wired.store, session_id, SessionOwner(scope, window.model, isolation))
        recorded = self._recorded if self._behind or self.wired.remembering.learns_of(scope) else None

        def opened(own: str, mode: str | None = mode) -> Session:
            return Session(self.wired, own, window, self.wired.codecs[form], recorded, scope, mode)

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
        wired = self.wired
        window, scope = WINDOW.newest(wired.store, session_id), _scope_of(wired.store, session_id, scope)
        known_model, known_tokens = (window.model, window.window_tokens) if window else ("", None)
        model = known_model if model is None else model
        if window_tokens is None and model == known_model:
            window_tokens = known_tokens

        def opened(own: str, mode: str | None = None) -> Session:
            return self.session(
                own, model=model, window_tokens=window_tokens, form=form or "openai.chat", scope=scope, mode=mode
            )

        source = opened(session_id)
        mode = mode or (None if source.mode == "off" else source.mode)
        return continued(source, opened(new_id, mode), CONTINUED)

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
        _check_sub_agent(
            parent, agent, session_id if share_session else None, clamp_tokens, shares=share_context_window
        )
        own, known = parent.window.window_tokens, parent.window.model
        model = known if model is None else model
        if model != known and not share_context_window:
            own = self.wired.window(model, None).window_tokens
        session = self.session(
            parent.session_id if share_session else session_id or f"{parent.session_id}/{agent}",
            model=model,
            window_tokens=own if clamp_tokens is None else min(own, clamp_tokens),
            form=parent.codec.tag,
            scope=parent.scope._replace(agent=agent),
            mode=mode,
        )
        is_clamped = clamp_tokens is not None and clamp_tokens < own
        documents = [clamp_notice(parent, session)] if is_clamped else []
        if session.session_id == parent.session_id:
            return session
        return continued(parent, session, SUB_AGENT, documents)

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
    ) -> IndexReport:
        """Read what has changed of `memory.index_paths`, or of `paths`, so that a scope finds what files say.

        What was asked for once by `paths`, relative to the current folder, is looked at each time; `drops` takes it
        out. Nothing is written with `dry_run`. What became of each file is returned.

        Raises:
            ConfigError: as `memories`.
            NotFoundError: one of `paths` is not there, and nothing was found of it before.
            StoreError: the store failed; each file is found as it was before, or as it is.
        """
        from squidbot.services.indexing import IndexPaths, reindex  # noqa: PLC0415  # no turn needs it

        return reindex(
            self.memories(scope), IndexPaths.of(self.wired.loaded, paths, drops=drops, scope=scope), dry_run=dry_run
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
    def iterated(self, session: Session, run_id: str = "") -> tuple[TaskOutcome, ...]:
        """Write a journal entry on the messages since the last entry, and return the outcome.

        An agent that works in rounds calls it behind each, with an id of the run. Nothing is made where nothing new was
        said; nothing of a failure is raised: it is in what is returned, and told by `degraded`.

        Raises:
            ConfigError: the journal is switched off.
            StoreError: the session can't be read.
        """
        if not self.wired.journals.enabled:
            raise ConfigError(f"the journal is off; set journal.enabled = true @ {self.wired.loaded.source}.journal")
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
    def jobs(self) -> SummaryWorker:
        """The summaries that the language model of `summary.llm` writes, beside the sessions (docs/summaries.md).

        Raises:
            ConfigError: no language model is named.
        """
        jobs = self._jobs().jobs
        if jobs is None:
            self.wired.llm()
            raise ConfigError("the language model was set after the engine was created; load the engine again")
        return jobs

    @takes(session=optional(instance(Session, called="a session")), limit=optional(whole(0)), reason=text)
    def run_jobs(
        self, session: Session | None = None, *, limit: int | None = None, reason: str = ""
    ) -> tuple[TaskOutcome, ...]:
        """Do the jobs that are due, at most `limit`, and return what became of each; waits for the models.

        Those of a session, or (None) of all that were recorded in by this engine: messages are read for facts
        (`LearningResult`), then summaries are written (`Done`) where the settings name a model, then entries of the
        journal (`Kept`) where it is switched on. `reason` "schedule" adds blocks before a pause that no event is near
        to, "request" all that are closed, and what rests after a
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
    def forget_session(self, session_id: str, *, reason: str = "") -> ForgetReport:
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
    def forget_user(self, user: str, *, reason: str = "") -> ForgetReport:
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
    def export_models(
        self, folder: str | Path, sessions: Iterable[str] = (), *, replaces: bool = False
    ) -> FileReport[ExportedFile]:
        """Write sessions into a folder, a file for each model (docs/files.md), and return the outcome of each file.

        `sessions` are ids; without any, all of the store. A file that has more than the store stays unchanged, unless
        `replaces`: it is then kept aside.

        Raises:
            NotFoundError: one of these sessions has no messages.
            StoreError: the store failed, or can't list its sessions.
        """
        from squidbot.services.exchange import exported  # noqa: PLC0415  # no turn needs it

        wanted = list(sessions)
        for one in wanted:
            if not self.wired.store.head(one)[0]:
                raise NotFoundError(f"no session {one!a:.80}; name one by its whole id, as Session.session_id says it")
        return exported(self.wired, wanted or self._sessions(), folder, replaces=replaces)

    @takes(paths=path, session=text, keeps_copies=flag)
    def import_models(
        self, *paths: str | Path, session: str = "", keeps_copies: bool = False
    ) -> FileReport[ImportedFile]:
        """Bring in such files, or older ones, and return what became of each; a folder stands for its files.

        Each exchange is brought once. `session` is where those go that name none. With `keeps_copies` each file is
        copied to `FILE.backup` before.

        Raises:
            TranscriptError: there is no such file.
        """
        from squidbot.services.exchange import ImportOptions, files_at, imported, migrated  # noqa: PLC0415  # no turn needs it

        files = [file for path in paths for file in files_at(path)]
        return (migrated if keeps_copies else imported)(self.wired, files, ImportOptions(session) if session else None)

    @takes(paths=path)
    def roll_back(self, *paths: str | Path) -> list[RemovedImport]:
        """Take what was brought from files out again, for good, and return how much that was, by session.

        Raises:
            StoreError: the store can't list its sessions.
        """
        from squidbot.services.exchange import rolled_back  # noqa: PLC0415  # no turn needs it

        return rolled_back(self.wired, self._sessions(), map(Path, paths))

    def _sessions(self) -> list[str]:
        listed = getattr(self.wired.store, "sessions", None)
        if listed is None:
            raise StoreError("this store cannot list its sessions; it has no method `sessions`")
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
        self._rules = BackgroundWorker(FactWork())
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

    def iterated(self, session: Session, run_id: str) -> tuple[TaskOutcome, ...]:
        """Make an entry of what a session has said since its last one, here and now; none where the journal is off."""
        if self._journal is None:
            return ()
        worker, work = self._journal
        work.ask(session.session_id, "iteration", run_id)
        return tuple(worker.work(session, WorkOrder()))

    def run(self, session: Session | None, limit: int | None, reason: str) -> tuple[TaskOutcome, ...]:
        """Do what is due, of a session or of all that were recorded in, and return what became of each."""
        done: list[TaskOutcome] = []
        for worker in self._workers:
            left = None if limit is None else limit - len(done)
            done += worker.work(session, WorkOrder(left, reason))
        return tuple(done)

    def close(self, timeout_seconds: float) -> None:
        """End what works on them, for good; what is at hand has that long to be ended."""
        self._is_scheduled = False
        for worker in self._workers:
            worker.stop(timeout_seconds)

    @property
    def _workers(self) -> tuple[BackgroundWorker, ...]:
        every = self._rules, self._models, self._journal and self._journal[0]
        return tuple(one for one in every if one is not None)

    def _have(self, worker: BackgroundWorker, session: Session) -> None:
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


def _journal(wired: Wired) -> tuple[BackgroundWorker, JournalWork] | None:
    """Return what writes entries of the journal, which listens for what makes one due; None where it is off.

    Raises:
        ConfigError: the model of `journal.llm` can't be made, or a pattern is none.
    """
    settings = wired.loaded.settings.journal
    if not settings.enabled:
        return None
    _ = settings.rules  # what is wrong with them is said when the engine is made, and not when an entry is
    work = JournalWork(settings.interval_minutes * 60.0, SafeModel(wired.llm("journal.llm")) if settings.llm else None)
    wired.relay.listen("journal", work.listen)
    return BackgroundWorker(work), work


def _by_models(wired: Wired) -> tuple[SummaryWorker | None, BackgroundWorker | None]:
    """Return the summaries, and what works on them and on whatever else waits for a model; None for neither.

    Raises:
        ConfigError: a model can't be made.
    """
    reader, settings = reader_of(wired), wired.summary_settings()
    reading = (FactWork(reader, settings.backoff_seconds),) if reader else ()
    if wired.loaded.settings.summary.llm:
        from squidbot.services.summaries import SummaryWorker  # noqa: PLC0415

        jobs = SummaryWorker(wired.llm(), settings, beside=reading)
        return jobs, jobs
    return None, BackgroundWorker(*reading) if reading else None


# A session that goes on another one's context: by hand, since that one was long, or for a sub-agent.

# The document that says where a session goes on from, and the one that says how large a sub-agent's window is.
TRANSITION: Final = "[transition]"
WINDOW_DOCUMENT: Final = "[window]"
_WAYS: Final = {"milestone": "milestone", "artifact": "artifact", "blocker": "block", "architecture": "architecture"}


def continued(source: Session, made: Session, way: str, told: Sequence[Document] = ()) -> Session:
    """Let a session that has nothing yet go on from another one, durably, and return it; `told` stands in its head.

    Raises:
        NotFoundError: nothing was said in the other one.
        ConfigError: something was said in it, or it is the same one.
        StoreError: the store failed; it goes on, and the other one may not say so, or nothing was written.
    """
    store, source_id, session_id = made.wired.store, source.session_id, made.session_id
    messages = store.head(source_id)[0]
    if source_id == session_id:
        raise ConfigError(f"{session_id!a:.80} cannot continue itself; pass another new_id")
    if store.head(source_id) == (0, 0) and way != SUB_AGENT:
        raise NotFoundError(f"no session {source_id!a:.80}: nothing to continue")
    descent = Lineage(source_id, way, messages, at=time.time())
    if store.head(session_id) == (0, 0):
        mark = [] if way == SUB_AGENT else [transition(store, source_id, messages)]
        lead, records = _inherited(made.wired, source_id, (*mark, *told))
        try:
            store.append(session_id, 0, lead, [*records, LINEAGE.record(0, descent)])
        except StoreError:
            if parent_of(store, session_id) is None:  # else another process has let it go on in the meantime
                raise
    known = parent_of(store, session_id)
    if known is None or (known.other, known.way) != (source_id, way):
        raise ConfigError(f"a session {session_id!a:.80} already exists; pass another new_id")
    child = descent._replace(other=session_id, side=CHILD)

    def unknown() -> Lineage | None:
        return None if any(one.other == session_id for one in children_of(store, source_id)) else child

    append(store, source_id, LINEAGE, unknown, "it does not name the session that continues it", wait=wait)
    return made


def _scope_of(store: TranscriptStore, session_id: str, wanted: Scope | None) -> Scope:
    """Return whose the new session is to be: as the newest messages of the other one, unless another is wanted.

    Raises:
        ConfigError: that is another user's, or another tenant's.
    """
    scopes = SCOPE.state(store, session_id) if session_id else ()
    if not scopes:
        return wanted or Scope()
    scope = scopes[-1].scope
    if wanted is not None and (wanted.tenant, wanted.user) != (scope.tenant, scope.user):
        raise ConfigError(f"{session_id!a:.80} belongs to another user; continue it in that user's scope")
    return wanted or scope


# -- where one is long ------------------------------------------------------------------------------------------------


def rotated(opened: Callable[..., Session], session_id: str, most_messages: int) -> Session:
    """Return the session in which a long one goes on; begun where it is due. `opened` opens one by its id."""
    source = opened(session_id)
    newest, following = newest_of(source.wired.store, session_id, most_messages)
    source = source if newest == session_id else opened(newest)
    if following is None:
        return source
    return continued(source, opened(following, source.mode), ROTATED)


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


def _is_over(newest: list[StoredMessage]) -> bool:
    """Return whether a turn is over: the assistant has spoken last, and called no tool."""
    return bool(newest) and newest[-1].role == "assistant" and not newest[-1].call_ids


def _check_sub_agent(
    parent: Session, agent: str, session_id: str | None, clamp_tokens: int | None, *, shares: bool
) -> None:
    """Check a sub-agent's arguments; `session_id` is what a shared session was called, `shares` for a shared window.

    Raises:
        ConfigError: one of them can't be.
    """
    if not agent.strip():
        raise ConfigError("the sub-agent has no name")
    if session_id not in {None, parent.session_id}:
        raise ConfigError(f"the shared session is {parent.session_id!a:.80}; remove session_id")
    if clamp_tokens is None:
        return
    if shares:
        raise ConfigError("a shared window cannot be clamped; remove clamp_tokens or share_context_window")
    least = parent.wired.loaded.settings.window.min
    if clamp_tokens < least:
        raise ConfigError(f"clamp_tokens is {clamp_tokens:,}; a window has at least {least:,} tokens (window.min)")


def clamp_notice(parent: Session, session: Session) -> Document:
    """Return the document that tells a sub-agent how large its window is; observers are told, too."""
    tokens, whole_tokens = session.window.window_tokens, parent.window.window_tokens
    cause = f"the sub-agent has {tokens:,} of the {whole_tokens:,} tokens of {parent.session_id}"
    window_id = session.window.window_id
    event = Event(events.CW_CLAMP_NOTICE, session.session_id, cause, window_id, -1, whole_tokens, tokens)
    session.wired.relay.notify(replace(event, model=session.window.model, scope=session.scope))
    text = (
        f"The context window of this agent has {tokens:,} tokens, its parent's {whole_tokens:,}: keep to what is asked."
    )
    return Document(WINDOW_DOCUMENT, text)


# -- what is taken over -----------------------------------------------------------------------------------------------


def _inherited(wired: Wired, source_id: str, told: Sequence[Document]) -> tuple[list[StoredMessage], list[Record]]:
    """Return the messages of system text in front of all, and records of all else; `told` before its documents.

    Raises:
        StoreError: the store failed.
    """
    store, pins = wired.store, PIN.state(wired.store, source_id)
    lead, views = _viewed(wired, source_id, pins)
    kept = [one for one in DOCUMENT.state(store, source_id) if one.name not in {TRANSITION, WINDOW_DOCUMENT}]
    # Those that say where it is come first: they are left out last.
    documents = {one.name: DocumentChange(*one) for one in (*told, *kept, *views)}
    texts = (Pin(name=name, text=text) for name, text in pins.named.items())
    changes = (one._replace(seq=len(lead)) for one in _changes(stored_goals(store, source_id)))
    return lead, [*PIN.records(texts), *GOAL.records(changes), *DOCUMENT.records(documents.values())]


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


def _viewed(wired: Wired, source_id: str, pins: Pins) -> tuple[list[StoredMessage], list[Document]]:
    """Return the system text in front, and as documents what else is system text or context, or is pinned."""
    lead: list[StoredMessage] = []
    views: list[Document] = []
    for row in messages_of(wired.store, source_id):
        if row.seq == len(lead) and row.category is Category.SYSTEM:
            lead.append(replace(row, notice=None))
        elif row.category in {Category.SYSTEM, Category.CONTEXT} or row.seq in pins.seqs:
            views.append(
                Document(f"[{shown(source_id)} m{row.seq}]", wired.codecs[row.codec].text(row.payload).strip())
            )
    return lead, [one for one in views if one.text]


def _changes(goals: Goals) -> Iterator[GoalChange]:
    """Yield what makes goals stand in a session that has none."""
    name = goals.active.text if goals.active else None
    standing = (*goals.milestones, *goals.decisions, *goals.artifacts, *goals.blockers, *goals.architecture)
    yield from (_change(one) for one in standing if one.goal != name)
    if name is None:
        return
    yield GoalChange("set", name)
    yield from (_change(one) for one in standing if one.goal == name)
    if goals.next_step:
        yield GoalChange("next", goals.next_step)


def _change(item: GoalItem) -> GoalChange:
    if item.kind == "decision":
        return GoalChange("lock" if item.done else "decide", item.text)
    return GoalChange(_WAYS[item.kind], item.text, done=item.done)
