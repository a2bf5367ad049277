"""The Python face: `load`, and the engine that opens sessions over one store."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Self

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
from squidbot.core.isolation import Whose, transcript_id
from squidbot.core.memories import Scope
from squidbot.remembering import NOBODY
from squidbot.sessions import Session

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from squidbot.behind import EngineJobs
    from squidbot.bootstrap import Wired
    from squidbot.config import Origin
    from squidbot.core.journal.ports import Journal
    from squidbot.core.memories import Isolation
    from squidbot.core.memory.asking import Memories
    from squidbot.core.ports import LoadedModel
    from squidbot.core.sizing.context import Loading
    from squidbot.exchanges import Exported, Imported, RolledBack
    from squidbot.forgetting import Gone
    from squidbot.indexing import Indexed
    from squidbot.jobs import Jobs
    from squidbot.working import Outcome

__all__ = ["Engine", "load"]


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
        from squidbot.forgetting import finish  # noqa: PLC0415  # most find nothing to end

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
        isolation: Isolation = self.wired.loaded.settings.history.isolation  # type: ignore[assignment]  # checked
        own = transcript_id(self.wired.store, session_id, Whose(scope, lease.model, isolation))
        recorded = self._recorded if self._behind or self.wired.remembering.learns_of(scope) else None

        def opened(own: str, mode: str | None = mode) -> Session:
            return Session(self.wired, own, lease, self.wired.codecs[form], recorded, scope, mode)

        most = self.wired.loaded.settings.session.max_messages
        if not most:
            return opened(own)
        from squidbot.continuing import rotated  # noqa: PLC0415  # where sessions may be as long as they are, never

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
        from squidbot.continuing import Means, go_on  # noqa: PLC0415  # few sessions do

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
        from squidbot.continuing import Agent, begin  # noqa: PLC0415  # few agents do

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
        from squidbot.indexing import Paths, reindex  # noqa: PLC0415  # no turn needs it

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
        from squidbot.behind import EngineJobs  # noqa: PLC0415  # where nothing is learned, nobody needs it

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
        from squidbot.forgetting import forget_session  # noqa: PLC0415  # no turn needs it

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
        from squidbot.forgetting import forget_user  # noqa: PLC0415  # no turn needs it

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
        from squidbot.exchanges import exported  # noqa: PLC0415  # no turn needs it
        from squidbot.forgetting import Wrote, note_written  # noqa: PLC0415

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
        from squidbot.exchanges import Reading, files_at, imported, migrated  # noqa: PLC0415  # no turn needs it

        files = [file for path in paths for file in files_at(path)]
        return (migrated if keeps_copies else imported)(self.wired, files, Reading(session) if session else None)

    @takes(paths=path)
    def roll_back(self, *paths: str | Path) -> list[RolledBack]:
        """Take what was brought from files out again, for good, and return how much that was, by session.

        Raises:
            StoreError: the store can't list its sessions.
        """
        from squidbot.exchanges import rolled_back  # noqa: PLC0415  # no turn needs it

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
