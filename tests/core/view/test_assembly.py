"""The report accounts for every message of the transcript."""

from __future__ import annotations

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.engine import Inputs
from squidbot.core.messages import Cost, Kind
from squidbot.core.plan import Representation, Segment
from squidbot.core.view.assembly import Span, account

from ..promises.driver import Setup, opened, result, user
from ..rows import part


def test_request_without_messages_stands_for_nothing() -> None:
    """No spans."""
    assert account([], 0, {}, []) == ()


def test_neighbours_that_are_sent_alike_share_a_span() -> None:
    """Lead and tail, and a cut output between."""
    tail = [part("user", seq=2), part("tool", Kind.SLIMMED, seq=3), part("user", seq=4)]
    assert account([], 2, {}, tail) == (
        Span(0, 2, "verbatim"),
        Span(3, 3, "slimmed", None, "cut to head and tail: it was oversized, or its pair is missing"),
        Span(4, 4, "verbatim"),
    )


def test_segment_hides_what_is_not_verbatim_in_it() -> None:
    """In front of, between and behind the messages that stay; notices stand for nothing."""
    segment = Segment(0, 9, Representation.SUMMARY_USER, "s0-9.beef", (2, 3, 7))
    absent = Segment(10, 19, Representation.ABSENT)
    tail = [part("user", Kind.NOTICE, seq=-1)._replace(payload=None), part("user", seq=20)]
    spans = account([segment, absent], 0, {2: Kind.MESSAGE, 3: Kind.SLIMMED, 7: Kind.MESSAGE}, tail)
    assert [(span.first_seq, span.last_seq, span.how, span.summary_id) for span in spans] == [
        (0, 1, "summary", "s0-9.beef"),
        (2, 2, "verbatim", None),
        (3, 3, "slimmed", None),
        (4, 6, "summary", "s0-9.beef"),
        (7, 7, "verbatim", None),
        (8, 9, "summary", "s0-9.beef"),
        (10, 19, "absent", None),
        (20, 20, "verbatim", None),
    ]
    assert all(span.reason for span in spans if span.how != "verbatim")


def test_two_summaries_are_two_spans() -> None:
    """Each with its own id."""
    first = Segment(0, 4, Representation.MERGED, "s0-4.beef")
    second = Segment(5, 9, Representation.SUMMARY_USER, "s5-9.cafe")
    assert [(one.first_seq, one.summary_id) for one in account([first, second], 0, {}, [])] == [
        (0, "s0-4.beef"),
        (5, "s5-9.cafe"),
    ]


def test_slimmed_and_raw_segments_send_every_message() -> None:
    """What is cut is cut, the rest is verbatim."""
    segment = Segment(0, 2, Representation.SLIMMED)
    assert [(one.first_seq, one.last_seq, one.how) for one in account([segment], 0, {2: Kind.SLIMMED}, [])] == [
        (0, 1, "verbatim"),
        (2, 2, "slimmed"),
    ]
    assert account([Segment(0, 2, Representation.RAW)], 0, {}, []) == (Span(0, 2, "verbatim"),)


def test_report_tells_cost_limit_and_pressure() -> None:
    """Pressure is history's share of what system text, tools and head leave."""
    made = opened(InMemoryStore(), Setup(4096)).assemble([user("word " * 500)], Inputs(system="Be brief."))
    report = made.report
    assert (report.cost, report.limit, report.certificate) == (made.cost, made.limit, "measured")
    assert 0 < report.pressure_fraction < 1
    assert made.report is report


def test_made_parts_are_sent_in_the_form_of_the_newest_message() -> None:
    """A request of nothing but made parts takes the first codec."""
    made = opened(InMemoryStore(), Setup(4096)).assemble([result("a", "late")])
    assert [one.payload for one in made.parts] == [None]
    assert '"role":"user"' in made.payloads[0].replace(" ", "")
    assert made.cost.bound >= Cost(0, 1).bound
