"""Opens sessions over one pair of stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core.compaction.turn import Inputs
from squidbot.core.events import FORGOTTEN, Event
from squidbot.core.forgetting import remove_facts
from squidbot.core.session import RETENTION, CoreSession
from squidbot.core.transcript.lines import LineStore
from squidbot.core.transcript.windows import WINDOW
from squidbot.core.view.current import SessionContext
from squidbot.core.view.renderer import Renderer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from squidbot.core.forgetting import FactRetraction
    from squidbot.core.memories import Scope
    from squidbot.core.messages import ContextWindow
    from squidbot.core.ports import Codec, Observer, SummaryStore, TranscriptStore
    from squidbot.core.recall.history import History
    from squidbot.core.settings import HistorySettings
    from squidbot.core.summaries import Backoff, SummaryQueue, SummarySettings
    from squidbot.core.tokens.counters import Meter
    from squidbot.core.transcript.records import Claimed, Wait
    from squidbot.core.transcript.removals import Retraction
    from squidbot.core.transcript.snapshots import Retention

__all__ = ["ContextEngine", "CoreSession", "Inputs"]


class ContextEngine:
    """Opens sessions over one pair of stores."""

    def __init__(  # noqa: PLR0913, PLR0917  # one for each port
        self,
        transcripts: TranscriptStore,
        summaries: SummaryStore,
        codecs: Mapping[str, Codec],
        observer: Observer | None = None,
        retention: Retention = RETENTION,
        wait: Wait | None = None,
        claimed: Claimed | None = None,
    ) -> None:
        """Take the ports. `codecs` by tag; `observer` is told what happens and must not raise.

        `retention` says when sessions make snapshots unasked, and which are kept; `wait`, how a call waits for others
        who write to its session, None: not at all; `claimed`, how of those who share a session one at a time makes a
        plan, None: they all do.
        """
        self._transcripts = transcripts
        self._summaries = summaries
        self._codecs = codecs
        self._observer = observer
        self._retention = retention
        self._wait, self._claimed = wait, claimed
        self._tries: Backoff | None = None

    def session(  # noqa: PLR0913, PLR0917  # where, and how it is read
        self,
        session_id: str,
        window: ContextWindow,
        meter: Meter,
        settings: HistorySettings,
        scope: Scope | None = None,
        line: int | None = None,
    ) -> CoreSession:
        """Return a session. Nothing is read before its first call, nothing is written before `record` or a compaction.

        Messages are recorded as those of `scope`; None: as those before them. `line` is the number of a line; None: the
        line that is talked on.
        """
        context = self._context(session_id, meter, line)._replace(scope=scope)
        return CoreSession(context, window, settings, self._observer, self._retention)

    def window(self, session_id: str) -> ContextWindow | None:
        """Return the window that a session was last written to under; None if nothing was.

        Raises:
            StoreError: the store failed.
        """
        return WINDOW.newest(self._transcripts, session_id)

    def history(self, session: CoreSession, meter: Meter) -> History:
        """Return the history of a session of this engine; `meter` as the session has it."""
        from squidbot.core.memory.injection import MessageSearch  # noqa: PLC0415
        from squidbot.core.recall.history import History  # noqa: PLC0415 - a third of the core, which no turn needs

        line = session.line.to_look_up()
        context = session.context._replace(transcripts=line, renderer=Renderer(meter, self._codecs))
        turns = MessageSearch(line, session.session_id, self._codecs.__getitem__)
        return History(session, context, self._observer, turns.found)

    def remove_facts(self, session_id: str, meter: Meter, facts: FactRetraction) -> Retraction | None:
        """Remove facts from everything that a session has sent; None if it sent none of them.

        The session may be in use meanwhile.

        Raises:
            StoreError: nothing was taken out.
        """
        gone = remove_facts(self._context(session_id, meter), facts)
        if gone is not None and self._observer is not None:
            self._observer.notify(Event(FORGOTTEN, session_id, facts.reason))
        return gone

    def summary_queue(
        self,
        session_id: str,
        window: ContextWindow,
        meter: Meter,
        settings: HistorySettings,
        jobs: SummarySettings | None = None,
    ) -> SummaryQueue:
        """Return the summaries of a session that a language model is to write.

        The session may be in use meanwhile, by another thread: the queue reads and writes the store only. Window, meter
        and settings as the session has them.

        Raises:
            ConfigError: `jobs` name an unknown mode.
        """
        from squidbot.core.summaries import MOST_FAILURES, Backoff, SummaryQueue, SummarySettings  # noqa: PLC0415 - no turn needs it

        jobs = jobs or SummarySettings()
        self._tries = self._tries or Backoff(jobs.backoff_seconds, MOST_FAILURES)
        context = self._context(session_id, meter)
        return SummaryQueue(context, window, settings, jobs, self._tries, self._observer)

    def _context(self, session_id: str, meter: Meter, line: int | None = None) -> SessionContext:
        return SessionContext(
            session_id,
            LineStore(self._transcripts, session_id, line),
            self._summaries,
            Renderer(meter, self._codecs),
            wait=self._wait,
            claimed=self._claimed,
        )
