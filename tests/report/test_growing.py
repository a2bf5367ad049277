"""A session that grows while its report is made: the report is of one moment."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.core.errors import StoreError
from squidbot.replay.terms import SCORING
from squidbot.report import data
from squidbot.report.data import GrowingReport, ReportSource, report_data
from squidbot.report.requests import RequestReader
from squidbot.services.forget import forget_session

from ..commands.conftest import talk

if TYPE_CHECKING:
    from squidbot.core.session import CoreSession
    from squidbot.report.requests import RecordedRequest


def test_what_comes_while_messages_are_read_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program says more, which makes requests with messages that were not read; also with a compaction."""
    read = RequestReader.read
    with squidbot.load({"window": {"default": 3_000}}) as engine:
        session = engine.session("s")
        talk(session)
        source = ReportSource(session.core, SCORING)
        before = report_data(source).values

        def grows(reader: RequestReader, core: CoreSession) -> list[RecordedRequest]:
            talk(session, 20, began=time.time())
            return read(reader, core)

        monkeypatch.setattr(RequestReader, "read", grows)
        meanwhile = report_data(source).values
    for part in ("messages", "calls", "parts", "heaviest", "policies"):
        assert meanwhile[part] == before[part], part
    assert meanwhile["totals"] == before["totals"]


@pytest.mark.parametrize("window_tokens", [3_000, 100_000])
def test_a_report_that_goes_on_is_the_one_made_anew(window_tokens: int) -> None:
    """After each step of a turn, with bills that come late; past compactions, pins, branches and forgetting."""
    growing, made = GrowingReport(), 0
    with squidbot.load({"window": {"default": window_tokens}}) as engine:
        session = engine.session("s")

        def look() -> None:
            nonlocal made
            made += 1
            source = ReportSource(engine.session("s").core, SCORING)
            gone_on, anew = growing.report(source), report_data(source)
            texts = [{**one, "text": gone_on.texts[one["text"]]} for one in gone_on.values["messages"]]
            assert texts == [{**one, "text": anew.texts[one["text"]]} for one in anew.values["messages"]]
            shown = [{**one, "text": gone_on.texts[one["text"]]} for one in gone_on.values["parts"]]
            assert shown == [{**one, "text": anew.texts[one["text"]]} for one in anew.values["parts"]]
            rest = gone_on.values.keys() - {"messages", "parts"}
            assert {name: gone_on.values[name] for name in rest} == {name: anew.values[name] for name in rest}

        look()
        for turn in range(12):
            asked = session.assemble(f"Mend part {turn}", now=1_000.0 * turn)
            look()
            session.record(asked.incoming, "word " * 120, now=1_000.0 * turn + 1)
            look()
            session.assemble(now=1_000.0 * turn + 2)
            usage = {"prompt_tokens": 500 + turn, "completion_tokens": 11}
            session.record("Done.", usage=usage, now=1_000.0 * turn + 3)
            look()
            if turn == 5:
                session.core.pin(2)
            if turn == 7:
                session.forget(4, 5)
            if turn == 9:
                session.core.branch(10)
            look()
        before = growing.report(ReportSource(engine.session("s").core, SCORING)).values
        talk(session, 1)
        after = growing.report(ReportSource(engine.session("s").core, SCORING)).values
    assert made == 49
    for part in ("messages", "parts", "calls"):
        shared = sum(one is other for one, other in zip(before[part], after[part], strict=False))
        assert shared >= len(before[part]) - 1, part


def test_a_failure_leaves_nothing_half_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next report is whole again."""
    growing = GrowingReport()
    with squidbot.load({"window": {"default": 3_000}}) as engine:
        session = engine.session("s")
        talk(session, 3)
        growing.report(ReportSource(session.core, SCORING))
        talk(session, 3)

        def fails(*_: object) -> list[RecordedRequest]:
            raise StoreError("the disk failed")

        for part, name in ((data._Builder, "_text"), (RequestReader, "read")):
            with monkeypatch.context() as broken:
                broken.setattr(part, name, fails)
                with pytest.raises(StoreError):
                    growing.report(ReportSource(session.core, SCORING))
        source = ReportSource(session.core, SCORING)
        assert growing.report(source) == report_data(source)


def test_a_session_that_was_forgotten_and_begun_again_is_another_one() -> None:
    """Even one that has more messages than the old one had, at the next look."""
    growing = GrowingReport()
    with squidbot.load({"store": {"adapter": "stdlib"}}) as engine:
        talk(engine.session("s"), 2)
        growing.report(ReportSource(engine.session("s").core, SCORING))
        for turns in (1, 4):
            forget_session(engine.wired, "s")
            talk(engine.session("s"), turns, began=2_000_000_000.0 + turns)
            source = ReportSource(engine.session("s").core, SCORING)
            assert growing.report(source) == report_data(source)
