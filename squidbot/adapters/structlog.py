"""Observer: one structured log line for each event, by structlog.

| of the event                  | becomes                                                          |
|-------------------------------|------------------------------------------------------------------|
| name                          | the line's event; a warning where the name says that all is not well |
| session_id, cause, lease_id   | fields of those names, left out where they are ""                |
| model                         | field, left out where it is ""                                   |
| scope                         | field `scope`, as "user=anna bot=support"; left out for nobody's |
| plan_id                       | field, left out where no plan is in force                        |
| tokens_before, tokens_after   | fields, in tokens as bounds; one of them where they are equal    |
| fraction                      | field, left out where it is 0                                    |
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import structlog

from squidbot.core import events

if TYPE_CHECKING:
    from squidbot.core.events import Event

__all__ = ["StructlogObserver"]

WARNINGS = frozenset(
    {
        events.BUDGET_FALLBACK,
        events.BUDGET_OVERRUN,
        events.COMPACTION_PAUSED,
        events.COMPRESSION_ERROR,
        events.CW_CLAMP_NOTICE,
        events.DEGRADED,
        events.FACTS_ERROR,
        events.MEMORY_CRITICAL,
        events.MEMORY_EMERGENCY,
        events.MEMORY_WARNING,
        events.RELIABILITY_LOW,
        events.SILENT_TRUNCATION,
        events.SIZING_DIFFERS,
        events.SNAPSHOT_ERROR,
        events.USAGE_DROPPED,
    }
)


class StructlogObserver:
    """Logs events with the host's structlog configuration, or else to standard error."""

    def __init__(self, logger: structlog.typing.FilteringBoundLogger | None = None) -> None:
        """Log to `logger`, or to structlog's logger "squidbot"."""
        self._log = logger

    def notify(self, event: Event) -> None:
        """Log one event."""
        log = self._logger()
        write = log.warning if event.name in WARNINGS else log.info
        write(event.name, **_fields(event))

    def _logger(self) -> structlog.typing.FilteringBoundLogger:
        if self._log is None:
            # Read at the first event: a host configures its logging after its imports.
            named: structlog.typing.FilteringBoundLogger = (
                structlog.get_logger("squidbot")
                if structlog.is_configured()
                else structlog.wrap_logger(structlog.PrintLogger(sys.stderr))
            )
            self._log = named
        return self._log


def _fields(event: Event) -> dict[str, object]:
    texts = {"session": event.session_id, "cause": event.cause, "lease": event.window_id, "model": event.model}
    texts["scope"] = " ".join(f"{name}={part}" for name, part in event.scope._asdict().items() if part)
    # Ids may hold lone surrogates, which a log in UTF-8 does not take.
    fields: dict[str, object] = {
        name: text.encode(errors="backslashreplace").decode() for name, text in texts.items() if text
    }
    if event.plan_id >= 0:
        fields["plan"] = event.plan_id
    if event.fraction:
        fields["fraction"] = event.fraction
    if event.tokens_before != event.tokens_after:
        return {**fields, "tokens_before": event.tokens_before, "tokens_after": event.tokens_after}
    return {**fields, "tokens": event.tokens_after} if event.tokens_after else fields
