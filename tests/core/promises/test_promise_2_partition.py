"""Promise 2: each message is, in every request, exactly one of verbatim, slimmed, summarized, absent; and truly so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.messages import Kind, Message

from .driver import Call, Host, Setup
from .histories import effort, histories, schedules, setups
from .rules import is_said, transcript_of

if TYPE_CHECKING:
    from squidbot.core.engine import Inputs
    from squidbot.core.view.assembly import Span


@effort(40)
@given(history=histories(), setup=setups(), given=schedules())
def test_report_is_a_partition_and_says_what_is_sent(history: list[Message], setup: Setup, given: list[Inputs]) -> None:
    """Each message once, in order; each claim shown in the parts (B-20)."""
    host = Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)])
    for call in host.run(history):
        if call.assembly is None:
            continue
        spans = call.request.report.spans
        covered = [seq for span in spans for seq in range(span.first_seq, span.last_seq + 1)]
        assert covered == list(range(len(transcript_of(call))))
        for span in spans:
            for seq in range(span.first_seq, span.last_seq + 1):
                check(call, span, seq)
        told = {
            seq
            for span in spans
            if span.how in {"verbatim", "slimmed"}
            for seq in range(span.first_seq, span.last_seq + 1)
        }
        assert told == {part.first_seq for part in call.request.parts if is_said(part)}


def check(call: Call, span: Span, seq: int) -> None:
    """Check that what a span says of a message is so."""
    said = [part for part in call.request.parts if is_said(part) and part.first_seq == seq]
    recalled = [part for part in call.request.parts if part.kind is Kind.RECALLED and part.first_seq == seq]
    if span.how in {"verbatim", "recalled"}:
        (part,) = said if span.how == "verbatim" else recalled
        assert (part.payload, part.text, part.arguments) == (transcript_of(call)[seq].payload, None, None)
    elif span.how == "slimmed":
        (part,) = said
        assert part.kind is Kind.SLIMMED
        assert span.reason
    else:
        assert span.how in {"summary", "absent"}
        assert not said
        assert span.reason
        kind = Kind.SUMMARY if span.how == "summary" else Kind.NOTICE
        (shown,) = [p for p in call.request.parts if p.kind is kind and p.first_seq <= seq <= p.last_seq]
        assert shown.summary_id == span.summary_id
        assert shown.text
        assert (span.summary_id or f"m{shown.first_seq}") in shown.text
