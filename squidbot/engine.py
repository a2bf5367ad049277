"""The Python face: `load`, and the engine that opens sessions over one store."""

from __future__ import annotations

import logging
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
from squidbot.core.memories import NOBODY, Scope
from squidbot.core.messages import Category
from squidbot.core.operations import Operation
from squidbot.core.ports import SupportsNews
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
from squidbot.core.transcript.lines import LineStore
from squidbot.core.transcript.pins import PIN, Pin
from squidbot.core.transcript.records import append, messages_of
from squidbot.core.transcript.scopes import MOST_ID_CHARS, SCOPE, SessionOwner, due_scope, transcript_id
from squidbot.core.transcript.windows import WINDOW
from squidbot.memory import sessions_of
from squidbot.services import forget
from squidbot.services.background import (
    BackgroundWorker,
    FactWork,
    IndexWork,
    JournalWork,
    LastingWorker,
    SafeModel,
    WorkOrder,
    failed,
    reader_of,
    watched,
)
from squidbot.session import Session
from squidbot.wiring.calls import awaited, end_calls
from squidbot.wiring.claims import wait

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
    from squidbot.services.background import TaskOutcome, WorkSession
    from squidbot.services.exchange import ExportedFile, FileReport, ImportedFile, RemovedImport
    from squidbot.services.indexing import IndexReport
    from squidbot.services.summaries import SummaryWorker


_LOG: Final = logging.getLogger("squidbot")
LEARNS: Final = 'facts about users are learned from what they say, first about %a; memory.extract = "off" turns it off'


def whose(name: str, value: object) -> Scope:
    """Return a scope, whose parts are texts."""
    if not isinstance(value, Scope):
        raise refused(name, value, "a Scope of strings")
    for part, said in value._asdict().items():
        if not isinstance(said, str):
            raise refused(f"{name}.{part}", said, "a string")
    return value


def _source(name: str, value: object) -> object:
    """Return where settings are from."""
    if isinstance(value, Mapping):
        return mapping(name, value)
    return optional(instance(str, Path, called="a path, a mapping, or None"))(name, value)


@takes(source=_source, extensions=items(anything, "several"), pool=anything)
def load(
    source: str | Path | Mapping[str, object] | None = None, *, extensions: Iterable[object] = (), pool: object = None
) -> Engine:
    """Load the settings, open the store, and return an engine.

    Without settings, sessions end with the process (set `store.path` or `store.url` to keep them), tokens are counted
    by character classes, and the window is 32,768 tokens.

    Args:
        source: the path of a squidbot.toml, or a mapping of its form; None takes ./squidbot.toml, if there is one.
        extensions: modules or objects with hooks, beside those that the settings name.
        pool: a `psycopg_pool.ConnectionPool` of yours, with `autocommit`, for a store in PostgreSQL. `Engine.close`
            leaves it open. None: the engine makes its own.

    Raises:
        ConfigError: a setting is wrong; the text names it with its path.
        StoreError: the store can't be opened.
    """
    engine = Engine(wire(load_settings(source), extensions, pool))
    forget.finish(engine.wired)
    return engine


aload = awaited(load)


class Engine:
    """Opens sessions over one store. `squidbot.load` makes it. Threads may share it, and each of its sessions.

    Use it in a `with` block, or call `close` at the end.
    """

    def __init__(self, wired: Wired) -> None:
        """Take what `bootstrap.wire` made; use `load`.

        Raises:
            ConfigError: the settings name a language model that can't be made.
        """
        self.wired = wired
        wired.remembering.work_in_background()
        self._behind: EngineJobs | None = None
        self._lock = threading.Lock()
        self._is_closed = self._has_told = False
        settings = wired.loaded.settings
        if (
            wired.journals.enabled
            or wired.remembering.indexes
            or settings.summary.llm
            or settings.store.retention_days
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
        """Return the session of that id, with everything recorded in it before.

        This writes nothing, unless a session with `session.max_messages` messages continues in a new one.

        Args:
            session_id: the host's id of the conversation. If `history.isolation` separates transcripts,
                `Session.session_id` is the id of the one that was opened.
            model: an alias of the settings. Any other name is kept for reports and gets the default window.
            window_tokens: input and output together, as a number or as "32k"; overrides the model's window.
            form: how the host writes its messages: "openai.chat", "anthropic.messages", "openai.responses", or the
                form of an extension. Messages recorded in another form are sent in this one.
            scope: the user, bot and so on whose durable facts the session uses.
            mode: adds the system text of a mode (docs/prompts.md); "off" for none; None keeps the session's mode, else
                `prompt.mode`.

        Raises:
            ConfigError: a setting is out of its range, the form or the mode is unknown, the model's file does not
                exist, or the session belongs to another user.
            ModelFileError: the model's file is damaged.
            BudgetError: the window leaves no token for input, or no room for the text of the mode.
            StoreError: the owner of the session can't be read; only with a scope.
        """
        if form not in self.wired.codecs:
            raise ConfigError(f"unknown form of messages {form!r}, known: {', '.join(self.wired.codecs)}")
        window = self.wired.window(model, window_tokens)
        isolation = self.wired.loaded.settings.history.isolation
        own = transcript_id(self.wired.store, session_id, SessionOwner(scope, window.model, isolation))
        learns = self.wired.remembering.learns_of(scope)
        if learns and scope.user and not self._has_told:
            self._has_told = True
            _LOG.info(LEARNS, scope.user[:60])
        recorded = self._recorded if self._behind or learns else None

        def opened(own: str, mode: str | None = mode) -> Session:
            return Session(self.wired, own, window, self.wired.codecs[form], recorded, scope, mode)

        most = self.wired.loaded.settings.session.max_messages
        if not most:
            return opened(own)
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
        """Return a new session that continues another one: with its context, without its conversation.

        It takes over goals, decisions, pins, documents, system text and context. A mark in its head names the other
        session, and the tool `history` recalls its messages. A second call returns the same session. `None` keeps the
        other session's value.

        Raises:
            NotFoundError: the other session does not exist.
            ConfigError: a session of the new id already exists, it belongs to another user, or as `session`.
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
        """Return the session of a sub-agent; `agent` is its name in the scope.

        By default it has a session of its own (`session_id`, else PARENT/AGENT) that begins with the parent's context;
        `share_session` shares the parent's. Its window is the parent's, or that of another `model`, and at most
        `clamp_tokens`, which an event and a document in its head report.

        Raises:
            ConfigError: the agent has no name, a shared window cannot be clamped, another session has that id; or as
                `session`.
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
        """Return the durable facts of a scope, to search, list, add and forget (docs/memory.md).

        Facts that were said only on a line that the conversation has left are marked "on another line": models do not
        see them.

        Raises:
            ConfigError: memory is off, its provider is unknown, or a pattern is invalid.
            StoreError: the store can't be opened.
        """
        return self.wired.memories(self.wired.meter(), scope, every_line=True)

    @takes(paths=items(path, "several paths"), scope=whose, dry_run=flag, drops=flag)
    def reindex(
        self, paths: Iterable[str | Path] = (), *, scope: Scope = NOBODY, dry_run: bool = False, drops: bool = False
    ) -> IndexReport:
        """Index new and changed files of `memory.index_paths`, or of `paths`, and return the outcome of each file.

        Later calls look at `paths`, which are relative to the current folder, again; `drops` removes them from the
        index. With `dry_run` nothing is written.

        Raises:
            ConfigError: as `memories`.
            NotFoundError: one of `paths` does not exist, and was never indexed.
            StoreError: the store failed; the index has each file in its old or its new state.
        """
        from squidbot.services.indexing import IndexPaths, reindex  # noqa: PLC0415  # no turn needs it

        return reindex(
            self.memories(scope), IndexPaths.of(self.wired.loaded, paths, drops=drops, scope=scope), dry_run=dry_run
        )

    @takes(scope=whose)
    def journal(self, scope: Scope = NOBODY) -> Journal:
        """Return the journal in `journal.folder`; the first entry creates its files.

        Scopes that share durable facts share a folder; others have their own. Entries and refusals are reported by the
        events `journal-entry-created` and `degraded`.

        Raises:
            ConfigError: one of `journal.redact_patterns` is invalid.
        """
        return self.wired.journals.of(scope)

    @takes(session=instance(Session, called="a session"), run_id=text)
    def iterated(self, session: Session, run_id: str = "") -> tuple[TaskOutcome, ...]:
        """Write a journal entry on the messages since the last entry, and return the outcome.

        Call it after each round of an agent, with the id of the run. Without new messages it writes nothing. A failure
        is in the outcome, and an event `degraded`.

        Raises:
            ConfigError: the journal is off.
            StoreError: the session can't be read.
        """
        if not self.wired.journals.enabled:
            raise ConfigError(f"the journal is off; set journal.enabled = true @ {self.wired.loaded.source}.journal")
        return self._jobs().iterated(session, run_id)

    @takes(alias=text)
    def model(self, alias: str) -> LoadedModel:
        """Return the model of an alias, opened by its `adapter` at the first call and held until `close`.

        It gets the window that fits, or a smaller one if it does not load. Sessions opened later have that window and
        count with the model's own vocabulary.

        Raises:
            ConfigError: the settings name no adapter for it, or its file does not exist.
            ModelFileError: the file is damaged.
            ModelLoadError: it does not load with any allowed window.
            LLMError: its server cannot be reached.
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
        """Check free GPU memory every `gpu.watch_seconds`, and send events when it runs short; windows never change.

        `model` starts this itself. A host that loads a model itself calls it right after loading: that level is the
        normal one.

        Raises:
            ConfigError: `gpu.probe` names an unknown source.
        """
        self.wired.models.watch()

    @property
    def jobs(self) -> SummaryWorker:
        """The worker that writes summaries with the model of `summary.llm` (docs/summaries.md).

        Raises:
            ConfigError: no language model is set.
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
        """Run due background work, at most `limit` tasks, and return the outcome of each; waits for the models.

        `None` takes all sessions recorded by this engine: facts first (`LearningResult`), then summaries
        (`TaskResult`), then journal entries (`JournalOutcome`), then changed files and new entries for the index
        (`IndexOutcome`), then old sessions (`SweepOutcome`), each if the settings turn it on. `reason` "schedule" adds
        blocks that ended with a pause; "request" adds all closed blocks, and work that rests after a failure. You only
        need it if `summary.scheduler` is "none".

        Raises:
            ConfigError: no language model is set, and no facts are learned.
            ArgumentError: unknown reason.
            StoreError: a store failed.
        """
        remembering, days = self.wired.remembering, self.wired.loaded.settings.store.retention_days
        if not (remembering.learns or remembering.indexes or self.wired.journals.enabled or days):
            _ = self.jobs
        return self._jobs().run(session, limit, reason)

    def _jobs(self) -> EngineJobs:
        with self._lock:
            self._behind = self._behind or EngineJobs(self.wired)
            return self._behind

    def _recorded(self, session: Session) -> None:
        if not self._is_closed:
            self._jobs().recorded(session)

    @takes(session_id=text, reason=text)
    def forget_session(self, session_id: str, *, reason: str = "") -> forget.ForgetReport:
        """Forget a whole session: its messages, facts without another source, journal entries, and turns in the log.

        Backups and exports remain. A host that still has the messages may record them again.

        Raises:
            NotFoundError: there is no such session.
            StoreError: nothing was forgotten, or the rest is forgotten when the store is next opened.
        """
        with self.wired.relay.watch(Operation(name="forget", session_id=session_id, store="messages")):
            return forget.forget_session(self.wired, session_id, reason=reason)

    @takes(user=text, reason=text)
    def forget_user(self, user: str, *, reason: str = "") -> forget.ForgetReport:
        """Forget a user (`Scope.user`): messages, facts, indexed documents and journals.

        Sessions of this user alone are removed; sessions of several users lose this user's turns.

        Raises:
            NotFoundError: there is no data of this user.
            StoreError: the store cannot list or remove sessions, or the rest is forgotten when it is next opened.
        """
        with self.wired.relay.watch(Operation(name="forget", store="messages")):  # an id of a user is personal data
            return forget.forget_user(self.wired, user, self._sessions(), reason=reason)

    @takes(
        folder=path,
        sessions=items(text, "several ids of sessions"),
        models=items(text, "several names of models"),
        replaces=flag,
    )
    def export_models(
        self,
        folder: str | Path,
        sessions: Iterable[str] = (),
        *,
        models: Iterable[str] = (),
        replaces: bool = False,
    ) -> FileReport[ExportedFile]:
        """Write sessions into a folder, a file for each model (docs/files.md), and return the outcome of each file.

        `sessions` are ids; without any, all of the store. `models` are names; without any, all of these sessions. A
        file that has more than the store stays unchanged, unless `replaces`: it is then kept aside.

        Raises:
            NotFoundError: one of these sessions has no messages, or nothing was said under one of these models.
            StoreError: the store failed, or can't list its sessions.
        """
        from squidbot.services.exchange import exported  # noqa: PLC0415  # no turn needs it

        wanted = list(sessions)
        for one in wanted:
            if not self.wired.store.head(one)[0]:
                raise NotFoundError(f"no session {one!a:.80}; name one by its whole id, as Session.session_id says it")
        return exported(self.wired, wanted or self._sessions(), folder, models=tuple(models), replaces=replaces)

    @takes(model=text, target=path)
    def backup_model(self, model: str, target: str | Path) -> FileReport[ExportedFile]:
        """Write the conversations of one model into the new file `target`; `import_models` restores it.

        The report says how many tool calls, results and other messages such a file has no place for.

        Raises:
            NotFoundError: nothing was said under this model; the text names those that exist.
            SquidbotError: the file exists.
            StoreError: the store failed, can't list its sessions, or the file can't be written.
        """
        from squidbot.services.exchange import backed_up_model  # noqa: PLC0415  # no turn needs it

        return backed_up_model(self.wired, self._sessions(), model, target)

    @takes(paths=path, session=text, models=items(text, "several names of models"), keeps_copies=flag, sets_aside=flag)
    def import_models(
        self,
        *paths: str | Path,
        session: str = "",
        models: Iterable[str] = (),
        keeps_copies: bool = False,
        sets_aside: bool = False,
    ) -> FileReport[ImportedFile]:
        """Import such files, or older ones, and return the outcome of each; a folder stands for its files.

        Each exchange is imported once. `session` gets the exchanges that name no session. `models` are the names of
        those to import; without any, all. `keeps_copies` first copies each file to `FILE.backup`. `sets_aside` renames
        a damaged file, and begins a fresh one in its place.

        Raises:
            TranscriptError: there is no such file.
            NotFoundError: no file has one of these models.
        """
        from squidbot.services import exchange  # noqa: PLC0415  # no turn needs it

        files = [file for path in paths for file in exchange.files_at(path)]
        options = exchange.ImportOptions(session or exchange.SESSION, models=tuple(models), sets_aside=sets_aside)
        return (exchange.migrated if keeps_copies else exchange.imported)(self.wired, files, options)

    @takes(paths=path)
    def roll_back(self, *paths: str | Path) -> list[RemovedImport]:
        """Undo the import of files, for good, and return how many messages each session lost.

        Raises:
            StoreError: the store can't list its sessions.
        """
        from squidbot.services.exchange import rolled_back  # noqa: PLC0415  # no turn needs it

        return rolled_back(self.wired, self._sessions(), map(Path, paths))

    def _sessions(self) -> list[str]:
        return [name for name, _ in sessions_of(self.wired.store)]

    def origins(self) -> list[Origin]:
        """Return every setting with its value and where that comes from."""
        return self.wired.loaded.origins()

    @takes(timeout_seconds=duration)
    def close(self, timeout_seconds: float = 5.0) -> None:
        """Close models and the store. Sessions of this engine can no longer be used.

        Calls in threads (`squidbot.in_thread`), and then a running summary, have `timeout_seconds` to finish; later
        results are dropped. Before that, new messages are read for facts by rules, for at most about a second.
        """
        end_calls(timeout_seconds)
        was_closed, self._is_closed = self._is_closed, True
        if self._behind is not None:
            self._behind.close(timeout_seconds)
        if not was_closed:
            self.wired.relay.notify(Event(events.STOPPED, "", "the engine was closed"))
        self.wired.close()

    # For asyncio: each does as the method of its name, in a thread (`squidbot.in_thread`).
    asession = awaited(session)
    acontinued = awaited(continued)
    asub_agent = awaited(sub_agent)
    amemories = awaited(memories)
    areindex = awaited(reindex)
    ajournal = awaited(journal)
    aiterated = awaited(iterated)
    amodel = awaited(model)
    aloading = awaited(loading)
    awatch_memory = awaited(watch_memory)
    arun_jobs = awaited(run_jobs)
    aforget_session = awaited(forget_session)
    aforget_user = awaited(forget_user)
    aexport_models = awaited(export_models)
    abackup_model = awaited(backup_model)
    aimport_models = awaited(import_models)
    aroll_back = awaited(roll_back)
    aclose = awaited(close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self.aclose()


# The background work of one engine: facts, summaries, journal entries, the index of files.


# How long closing an engine may read messages for facts that no thread has read yet.
READING_SECONDS: Final = 1.0


class EngineJobs:
    """The background work of one engine. Work that waits for a language model has a thread of its own."""

    def __init__(self, wired: Wired) -> None:
        """Make the language models that the settings name.

        Raises:
            ConfigError: one can't be made, or facts are to be read by one, and none is named.
        """
        self._remembering = wired.remembering
        settings = wired.loaded.settings
        self.jobs, self._models = _by_models(wired)
        self._rules = LastingWorker(FactWork())
        self._journal = _journal(wired)
        self._index = IndexWork() if wired.remembering.indexes else None
        # In this order: an entry is indexed as soon as it is made.
        files = [work for work in (self._journal, self._index) if work is not None]
        self._files = BackgroundWorker(*files) if files else None
        self._sweeps = _retention(wired)
        self._timer = wired.timer()
        self._is_scheduled = settings.summary.scheduler not in {"none", "worker"}
        # Tells workers of sessions; None where this engine does the work, or nobody listens.
        store, is_told = wired.store, settings.summary.scheduler == "worker"
        self._tell = store.tell if is_told and isinstance(store, SupportsNews) else None
        self._seconds = settings.summary.interval_minutes * 60.0
        self._journal_seconds = settings.journal.interval_minutes * 60.0

    def recorded(self, session: Session) -> None:
        """Have background work on a session done soon. Returns at once, never raises an Exception."""
        if self._tell is not None:
            self._tell(session.session_id)
            return
        if self._remembering.learns_of(session.scope):
            self._have(self._rules, session)
        if self._models is not None:
            self._have(self._models, session)
        if self._files is not None:
            self._have(self._files, session)
        if self._sweeps is not None:
            self._have(self._sweeps, session)

    def iterated(self, session: Session, run_id: str) -> tuple[TaskOutcome, ...]:
        """Make an entry of what a session has said since its last one, here and now; none where the journal is off."""
        if self._journal is None or self._files is None:
            return ()
        self._journal.ask(session.session_id, "iteration", run_id)
        done = self._files.work(session, WorkOrder(), [self._journal])
        self._files.poke(session)  # the thread, if there is one, indexes the entry
        return tuple(done)

    def run(self, session: WorkSession | None, limit: int | None, reason: str) -> tuple[TaskOutcome, ...]:
        """Run due work on a session, or (None) on all recorded ones, and return the outcome of each task."""
        done: list[TaskOutcome] = []
        if self._index is not None:
            self._index.again()
        for worker in self._workers:
            if worker is self._rules and not self._remembering.learns:
                continue
            left = None if limit is None else limit - len(done)
            done += worker.work(session, WorkOrder(left, reason))
        return tuple(done)

    def close(self, timeout_seconds: float) -> None:
        """Stop all workers; the task at hand has that long to finish. Then read for facts what is left, by rules."""
        does_the_work, self._is_scheduled = self._is_scheduled and self._tell is None, False
        for worker in self._workers:
            worker.stop(timeout_seconds)
        if does_the_work:
            self._rules.finish(min(timeout_seconds, READING_SECONDS))

    @property
    def _workers(self) -> tuple[BackgroundWorker, ...]:
        every = self._rules, self._models, self._files, self._sweeps
        return tuple(one for one in every if one is not None)

    def _have(self, worker: BackgroundWorker, session: Session) -> None:
        worker.watch(session)
        if self._is_scheduled:
            try:
                if worker is self._files:
                    worker.start(self._journal_seconds)
                else:
                    worker.start(self._seconds, self._timer if worker is self._models else None)
            except Exception as error:  # noqa: BLE001  # no thread was to be had: the turn goes on, and it is told
                failed(watched(session), error)
            worker.poke(session)


def _journal(wired: Wired) -> JournalWork | None:
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
    return work


def _retention(wired: Wired) -> BackgroundWorker | None:
    """Return what removes old sessions; None where they are kept.

    Raises:
        ConfigError: the store can't remove them.
    """
    days = wired.loaded.settings.store.retention_days
    if not days:
        return None
    from squidbot.services.retention import RetentionWork  # noqa: PLC0415  # most keep all

    return BackgroundWorker(RetentionWork(wired.store, days))


def _by_models(wired: Wired) -> tuple[SummaryWorker | None, BackgroundWorker | None]:
    """Return the summaries, and what works on them and on whatever else waits for a model; None for neither.

    Raises:
        ConfigError: a model can't be made.
    """
    reader, settings = reader_of(wired), wired.summary_settings()
    reading = (FactWork(reader, settings.backoff_seconds),) if reader else ()
    if wired.loaded.settings.summary.llm:
        from squidbot.services.summaries import SummaryWorker  # noqa: PLC0415

        jobs = SummaryWorker(wired.llm(), settings)
        jobs.put_first(*reading)
        return jobs, jobs
    return None, BackgroundWorker(*reading) if reading else None


# Sessions with the context of another one: continued by hand, because it was long, or for a sub-agent.

# The document that names the session before, and the one that says how large a sub-agent's window is.
TRANSITION: Final = "[transition]"
WINDOW_DOCUMENT: Final = "[window]"
_WAYS: Final = {"milestone": "milestone", "artifact": "artifact", "blocker": "block", "architecture": "architecture"}


def continued(source: Session, made: Session, way: str, told: Sequence[Document] = ()) -> Session:
    """Let an empty session continue another one, durably, and return it; `told` are further documents in its head.

    Raises:
        NotFoundError: the other session is empty.
        ConfigError: the session is not empty, or both are the same.
        StoreError: the store failed: nothing was written, or the other session does not name its successor.
    """
    store, source_id, session_id = made.wired.store, source.session_id, made.session_id
    messages = store.head(source_id)[0]
    if source_id == session_id:
        raise ConfigError(f"{session_id!a:.80} cannot continue itself; pass another new_id")
    if store.head(source_id) == (0, 0) and way != SUB_AGENT:
        raise NotFoundError(f"no session {source_id!a:.80}: nothing to continue; name one by its whole id")
    descent = Lineage(source_id, way, messages, at=time.time())
    if store.head(session_id) == (0, 0):
        mark = [] if way == SUB_AGENT else [transition(LineStore(store, source_id))]
        lead, records = _inherited(made.wired, source_id, (*mark, *told))
        # What it takes over is its user's, before anything is said.
        records += [*due_scope(None, made.scope, 0), LINEAGE.record(0, descent)]
        try:
            store.append(session_id, 0, lead, records)
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
    """Return the scope of the new session: `wanted`, else that of the newest messages of the other one.

    Raises:
        ConfigError: it belongs to another user or tenant.
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
    """Return the session in which a long one continues, created when it is due. `opened` opens one by its id."""
    source = opened(session_id)
    newest, following = newest_of(source.wired.store, session_id, most_messages)
    source = source if newest == session_id else opened(newest)
    if following is None:
        return source
    return continued(source, opened(following, source.mode), ROTATED)


def newest_of(transcripts: TranscriptStore, session_id: str, most_messages: int) -> tuple[str, str | None]:
    """Return the session in which a long one continues, and the id of the next one if that is due, else None.

    It is due when the newest one has that many messages, and its newest turn is over.

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
    line = LineStore(transcripts, session_id)
    if not 0 < most_messages <= messages or not _is_over(line.pick(session_id, line.newest_seqs(1))):
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
        f"Your context window has {tokens:,} tokens, your parent agent's {whole_tokens:,}: do only what you are asked."
    )
    return Document(WINDOW_DOCUMENT, text)


# -- what is taken over -----------------------------------------------------------------------------------------------


def _inherited(wired: Wired, source_id: str, told: Sequence[Document]) -> tuple[list[StoredMessage], list[Record]]:
    """Return the messages of system text in front of all, and records of all else; `told` before its documents.

    Raises:
        StoreError: the store failed.
    """
    store = LineStore(wired.store, source_id)
    pins = PIN.state(store, source_id)
    lead, views = _viewed(wired, store, pins)
    kept = [one for one in DOCUMENT.state(store, source_id) if one.name not in {TRANSITION, WINDOW_DOCUMENT}]
    # Those that say where it is come first: they are left out last.
    documents = {view.name: DocumentChange(*view) for view in (*told, *kept, *views)}
    texts = (Pin(name=name, text=text) for name, text in pins.named.items())
    changes = (change._replace(seq=len(lead)) for change in _changes(stored_goals(store, source_id)))
    return lead, [*PIN.records(texts), *GOAL.records(changes), *DOCUMENT.records(documents.values())]


def transition(source: LineStore) -> Document:
    """Return the mark that says where what was said before is, and how it comes back."""
    source_id, last = source.session_id, source.last_seq
    messages, newest = source.count_between(0, last), source.pick(source_id, [last])
    until = f", until {stamp(newest[0].time)}" if newest and newest[0].time is not None else ""
    name, said = shown(source_id), f"{messages:,} message{'s' * (messages != 1)}{until}"
    lines = [f"This conversation continues an earlier one, {name} ({said}). Its messages are stored, not shown."]
    if messages:
        ids = f'recall with the id "{name}#m0-m{last}", search with the id "{name}"'
        lines.append(f"Get them with history: {ids}.")
    return Document(TRANSITION, "\n".join(lines))


def _viewed(wired: Wired, source: LineStore, pins: Pins) -> tuple[list[StoredMessage], list[Document]]:
    """Return the system text in front, and as documents what else is system text or context, or is pinned."""
    lead: list[StoredMessage] = []
    views: list[Document] = []
    source_id = source.session_id
    for row in messages_of(source, source_id):
        if row.seq == len(lead) and row.category is Category.SYSTEM:
            lead.append(replace(row, notice=None))
        elif row.category in {Category.SYSTEM, Category.CONTEXT} or row.seq in pins.seqs:
            views.append(
                Document(f"[{shown(source_id)} m{row.seq}]", wired.codecs[row.codec].text(row.payload).strip())
            )
    return lead, [view for view in views if view.text]


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
