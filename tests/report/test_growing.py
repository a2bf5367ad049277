"""A session that grows while its report is made: the report is of one moment."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import squidbot
from squidbot.replay.terms import SCORING
from squidbot.report import data
from squidbot.report.data import Source, report_data

from ..commands.conftest import talk

if TYPE_CHECKING:
    import pytest

    from squidbot.core.session import CoreSession
    from squidbot.report.requests import RecordedRequest


def test_what_comes_while_messages_are_read_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program says more, which makes requests with messages that were not read; also with a compaction."""
    recorded = data.recorded_requests
    with squidbot.load({"window": {"default": 3_000}}) as engine:
        session = engine.session("s")
        talk(session)
        source = Source(session.core, SCORING)
        before = report_data(source).values

        def grows(core: CoreSession) -> list[RecordedRequest]:
            talk(session, 20, began=time.time())
            return recorded(core)

        monkeypatch.setattr(data, "recorded_requests", grows)
        meanwhile = report_data(source).values
    for part in ("messages", "calls", "parts", "heaviest", "policies"):
        assert meanwhile[part] == before[part], part
    assert meanwhile["totals"] == before["totals"]
