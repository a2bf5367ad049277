"""A model's sentences in the note on many blocks: what is asked for, where they stand, what they never take."""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.compaction.pressure import reductions
from squidbot.core.messages import Cost, Summary
from squidbot.core.notes import notebook
from squidbot.core.notes.notebook import IN_FRONT
from squidbot.core.notes.texts import SUMMARY, WrittenSummary, newest_texts
from squidbot.core.plan import PlanRecord
from squidbot.core.settings import strategy

from ..promises.driver import Host, Setup, opened, requests, user
from ..promises.histories import effort, tame, timed
from .models import MIDDLE, desk_of, shown, used_in, writer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.core.messages import Part

# A room in which every event makes one note on everything, and one in which blocks have notes of their own behind it.
TINY = Setup(4096, settings=strategy("balanced", 3072))
SMALL = Setup(8192, settings=strategy("balanced", 6144))
WORDS = {TINY: 72, SMALL: 80, MIDDLE: 225}
OTHERS = [pytest.param(TINY, id="4K", marks=pytest.mark.slow), pytest.param(MIDDLE, id="16K", marks=pytest.mark.slow)]
SETUPS = pytest.mark.parametrize("setup", [pytest.param(SMALL, id="8K"), *OTHERS])


def with_jobs(setup: Setup, turns: int, *, restarts: frozenset[int] = frozenset(), words: int = 0) -> Host:
    """Return a host after so many turns, with all jobs done behind each."""
    host = Host(InMemoryStore(), setup, watch=False, restarts=restarts)
    for turn in range(turns):
        host.run(tame(1, words or WORDS[setup], start=turn))
        desk_of(host.store, setup).run(writer())
    return host


@cache
def worked(setup: Setup) -> Host:
    """Return such a host for those who only look at it."""
    return with_jobs(setup, 59)


@cache
def restarted(setup: Setup) -> Host:
    """Return such a host whose process is started anew after every third step."""
    return with_jobs(setup, 50, restarts=frozenset(range(3, 300, 3)))


def store_of(host: Host) -> InMemoryStore:
    """Return a store of its own that holds what a host's does."""
    store = InMemoryStore()
    store._sessions = deepcopy(host.store._sessions)
    return store


def notes(host: Host) -> Iterator[Part]:
    """Yield the notes with a model's sentences in front, as they were sent."""
    for request in requests(host.calls):
        yield from (part for part in request.parts if part.text and IN_FRONT in part.text)


def texts_in(store: InMemoryStore) -> list[Summary]:
    """Return the summaries by a model that a store holds, oldest first."""
    return [one for one in store.for_range("s", 0, 10**9) if one.by_model]


def sentences_of(note: Part) -> dict[str, str]:
    """Return a model's sentences in a note, by what they stand behind: their messages, and the days of these."""
    lines = re.findall(r"^- (m\d+-m\d+[^:\n]*): (.*)$", note.text or "", re.MULTILINE)
    return dict(lines)


@SETUPS
def test_sentences_of_a_model_stand_in_front_of_the_notes_by_rule(setup: Setup) -> None:
    """Oldest first, no message told of twice, behind their messages; below about 9,000 tokens, too."""
    host = worked(setup)
    last = [part for part in notes(host) if len(used_in(host.store, part)) > 1][-1]
    assert last.text is not None
    used = [one for one in texts_in(host.store) if one.summary_id in used_in(host.store, last)]
    assert len(used) >= 2
    assert all(one.last_seq < other.first_seq for one, other in pairwise(used))
    assert all(last.first_seq <= one.first_seq <= one.last_seq <= last.last_seq for one in used)
    told = sentences_of(last)
    marks = [f"m{one.first_seq}-m{one.last_seq}" for one in used]
    assert [mark for mark in marks if mark in told] == list(told)
    assert len(told) >= 2
    for one in used:
        said = told.get(f"m{one.first_seq}-m{one.last_seq}", "")
        assert said in one.text
    lines = last.text.splitlines()
    assert all(line.startswith("- m") for line in lines[1 : 1 + len(told)])
    assert len(lines) >= 1 + len(told) + 3
    assert all(request.cost.bound <= request.limit.bound for request in requests(host.calls))


@SETUPS
def test_sentences_leave_more_than_half_of_the_note_to_names_and_actions(setup: Setup) -> None:
    """Together they keep to its room."""
    host = worked(setup)
    room = setup.window.window_tokens - setup.window.reserved_output_tokens
    most = setup.settings.fold_fraction * reductions(setup.settings)[0].notes_fraction * room
    count = 0
    for part in notes(host):
        said = "\n".join(sentences_of(part).values())
        assert setup.meter.text(said).bound <= part.cost.bound / 2
        assert part.cost.bound <= most
        count += 1
    assert count


@SETUPS
def test_hardly_a_text_is_written_that_no_note_uses(setup: Setup) -> None:
    """One source is asked for once; those behind the last event wait for the next one."""
    host = worked(setup)
    written = texts_in(host.store)
    assert len({(one.first_seq, one.last_seq) for one in written}) == len(written)
    used = shown(host)
    assert sum(one.summary_id not in used for one in written) <= 3


def test_no_message_is_summarized_twice_however_many_texts_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notes look at the newest alone; who asks for more looks at all."""
    monkeypatch.setattr(notebook, "newest_texts", partial(newest_texts, most=2))
    written = texts_in(with_jobs(SMALL, 59).store)
    assert len(written) > 3
    assert all(one.last_seq < other.first_seq for one, other in pairwise(written))


@SETUPS
def test_event_that_first_shows_texts_in_a_note_says_what_they_cost(setup: Setup) -> None:
    """Each once, while notes use it; also by a process just started."""
    host = restarted(setup)
    cost = costs(host)
    before = set[str]()
    inside = 0
    for made in requests(host.calls):
        if made.event is None:
            continue
        ids = {text for part in made.parts if part.summary_id for text in used_in(host.store, part)}
        assert made.event.price is not None
        assert made.event.price.summary_tokens == pytest.approx(sum(cost.get(one, 0.0) for one in ids - before))
        inside += len(ids - before)
        before = ids
    assert inside >= 2


def costs(host: Host) -> dict[str, float]:
    """Return what each summary by a model took, in input tokens."""
    price = host.setup.settings.output_price
    return {one.summary_id: one.input_tokens + price * one.output_tokens for one in SUMMARY.all(host.store, "s")}


def test_event_of_a_forgotten_message_does_not_pay_again_for_texts_that_stood_there() -> None:
    """The note that held them is gone; what the one in its place has beside them is new."""
    host = worked(SMALL)
    before = used_in(host.store, list(notes(host))[-1])
    one = next(each for each in texts_in(host.store) if each.summary_id == before[0])
    store = store_of(host)
    session = opened(store, SMALL)
    session.forget(one.first_seq + 1)
    parts = session.assemble([user("go on")]).parts
    after = {text for part in parts if part.summary_id for text in used_in(store, part)}
    assert len(after & {*before}) > len(after - {*before})
    assert one.summary_id not in after
    record = store.last_record("s", "plan")
    assert record is not None
    plan = PlanRecord.from_json(record.body)
    assert plan.cause == "forget"
    assert plan.price is not None
    stood = {text for part in requests(host.calls)[-1].parts if part.summary_id for text in used_in(host.store, part)}
    assert plan.price.summary_tokens == sum(costs(host)[each] for each in after - stood)


def test_text_says_the_days_it_tells_of() -> None:
    """In UTC, as the messages have them."""
    host = Host(InMemoryStore(), SMALL, watch=False)
    for turn in range(36):
        said = tame(1, 80, start=turn)
        host.run([replace(one, time=1_770_000_000.0 + turn * 1_700.0) for one in said])
        desk_of(host.store, SMALL).run(writer())
    heads = [head for note in notes(host) for head in sentences_of(note)]
    assert heads
    assert all(re.fullmatch(r"m\d+-m\d+, 2026-\d\d-\d\d( to 2026-\d\d-\d\d)?", head) for head in heads)


def test_same_store_gives_the_same_bytes_in_a_process_that_was_just_started() -> None:
    """With a restart after every third step."""
    plain, again = worked(SMALL), restarted(SMALL)
    assert [request.payloads for request in requests(plain.calls)[:100]] == [
        request.payloads for request in requests(again.calls)
    ]
    assert list(notes(again))


@SETUPS
def test_forgotten_message_takes_the_texts_over_it_along(setup: Setup) -> None:
    """Out of the note that stands, and out of the store."""
    host = worked(setup)
    store = store_of(host)
    last = list(notes(host))[-1]
    assert last.text is not None
    one = next(each for each in texts_in(store) if each.summary_id in used_in(store, last))
    session = opened(store, setup)
    session.forget(one.first_seq + 1)
    assert one.summary_id not in {each.summary_id for each in texts_in(store)}
    assembly = session.assemble([user("go on")])
    assert not any(one.summary_id in used_in(store, part) for part in assembly.parts if part.summary_id)
    assert not any(f"- m{one.first_seq}-m{one.last_seq}:" in (part.text or "") for part in assembly.parts)
    desk_of(store, setup).run(writer())
    assert opened(store, setup).assemble([user("go on")]).cost.bound <= assembly.limit.bound


@given(turns=st.integers(15, 45), words=st.integers(20, 150), setup=st.sampled_from([TINY, SMALL]))
@effort(6)
def test_note_without_a_text_by_a_model_is_what_it_was(turns: int, words: int, setup: Setup) -> None:
    """A record of a summary that is gone, or that can't be read, changes no byte; nor do other texts of a store."""
    alone, beside = (Host(InMemoryStore(), setup, watch=False) for _ in range(2))
    for turn in range(turns):
        for host in (alone, beside):
            host.run(tame(1, words, start=turn))
        stored, records = beside.store.head("s")[0], beside.store.records("s", "summary")
        place, first = len(records), max(0, stored - 30)
        if turn % 3:
            text = ("s", first, stored - 1, "summary:merged", "They did.", Cost(5, 9), "classes", "digest", "IMPORTED")
            beside.store.put(Summary(f"x{turn}", *text))
        made = SUMMARY.record(place, WrittenSummary(f"x{turn}", stored - 1, "llm/x/developer-1", 90, 9))
        beside.store.append("s", stored, (), (made if turn % 4 else made._replace(body="[]"),))
    assert [request.payloads for request in requests(alone.calls)] == [
        request.payloads for request in requests(beside.calls)
    ]


def test_request_asks_for_what_is_closed_in_one_although_no_event_is_near() -> None:
    """Where one note is on all of it; the texts of what was noted later are beside that."""
    host = Host(InMemoryStore(), SMALL, watch=False)
    host.run(tame(4, 400))
    (job,) = desk_of(host.store, SMALL).due(reason="request")
    assert desk_of(host.store, SMALL).run(writer(), reason="request")[0].summary is not None
    host.run(tame(30, 100, start=4))
    later = desk_of(host.store, SMALL).due(reason="request")
    assert [job.last_seq + 1] == [one.first_seq for one in later]


def test_asks_for_no_more_than_a_bounded_note_has_room_for() -> None:
    """O-09: of a note of at most 400 tokens half."""
    rooms = []
    for most in (None, 400):
        setup = replace(SMALL, settings=replace(SMALL.settings, max_summary_tokens=most))
        host = Host(InMemoryStore(), setup, watch=False)
        host.run(tame(60, 400))
        rooms.append(max(job.limit_tokens for job in desk_of(host.store, setup).due(reason="request")))
    assert rooms[1] == 200 < rooms[0]


def test_pause_in_a_small_room_is_no_reason_for_jobs_before_an_event() -> None:
    """What is raw there has no block of its own before it is noted."""
    host = Host(InMemoryStore(), SMALL, watch=False)
    host.run(timed(tame(4, 40), [60.0]))
    assert desk_of(host.store, SMALL).due(1_701_000_000.0, reason="schedule") == ()
