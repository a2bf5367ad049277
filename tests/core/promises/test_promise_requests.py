"""Promises 1 to 12, of any request."""

from __future__ import annotations

import itertools
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core import events
from squidbot.core.engine import ContextEngine, Inputs
from squidbot.core.errors import BudgetError, LLMError
from squidbot.core.literals import literals_of
from squidbot.core.messages import Kind, Message
from squidbot.core.notes import notebook
from squidbot.core.plan import CAUSES
from squidbot.core.settings import STRATEGIES
from squidbot.core.summaries import ModelSummarizer, SummarySettings
from squidbot.core.tokens.counters import Meter, builtin_counter
from squidbot.core.view.steps import opens_turn
from squidbot.testing.models import ScriptedLLM

from .driver import CODEC, Call, Host, Setup, assistant, changed, copied, held, opened, requests, result, user
from .histories import METERS, effort, histories, schedules, setups, tame
from .rules import breaks_at, is_said, pairs_broken, rendered, sent, transcript_of
from .test_promise_6_same_bytes import outcome

if TYPE_CHECKING:
    from squidbot.core.messages import Message
    from squidbot.core.summaries import SummaryQueue, TaskResult
    from squidbot.core.view.assembly import Span


# -- promise 1: cost and reserve fit the window, by the real tokenizer too, or a typed error says what takes the room -

RANKS = Path(__file__).resolve().parents[4] / "shared" / "data" / "tokenizers"


@effort(30)
@given(history=histories(), setup=setups(), given=schedules())
def test_request_fits_its_window_or_a_typed_error_says_why(
    history: list[Message], setup: Setup, given: list[Inputs]
) -> None:
    """Both checks of C12, and an error whose numbers tell the same as its being raised."""
    host = Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)], watch=False)
    for call in host.run(history):
        if call.assembly is not None:
            cost, limit = call.assembly.cost, call.assembly.limit
            assert cost.bound + setup.window.reserved_output_tokens <= setup.window_tokens
            assert cost.estimate <= limit.estimate
            assert call.assembly.parts
        elif isinstance(call.error, BudgetError):
            assert call.error.cost >= call.error.budget
            assert call.error.culprit
            assert call.error.key
            assert call.error.unit in {"tokens", "words"}


@effort(30)
@given(history=histories(), setup=setups(), given=schedules())
def test_bound_is_at_least_the_bound_of_every_message_sent(
    history: list[Message], setup: Setup, given: list[Inputs]
) -> None:
    """The cost that was enforced is that of the payloads themselves: text, calls, notices, 4 tokens a message."""
    host = Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)], watch=False)
    count = setup.meter.physical.upper_bound
    for call in host.run(history):
        if call.assembly is not None:
            spent = sum(count(rendered(one)) + 4 for one in sent(call.assembly))
            assert spent + count(call.given.tools) <= call.assembly.cost.bound


@pytest.mark.parametrize(
    "name", ["o200k_base", *(pytest.param(name, marks=pytest.mark.slow) for name in ("cl100k_base", "qwen"))]
)
def test_real_tokens_stay_below_the_bound_when_the_default_counter_enforced_it(name: str) -> None:
    """Hostile histories counted with published vocabularies."""
    ranks = RANKS / f"{name}.tiktoken"
    if not ranks.exists():
        pytest.skip(f"no token ranks at {ranks}")
    tiktoken = pytest.importorskip("squidbot.adapters.tiktoken")
    counter = tiktoken.TiktokenCounter(ranks)

    @effort(7)
    @given(history=histories(), given=schedules())
    def check(history: list[Message], given: list[Inputs]) -> None:
        host = Host(InMemoryStore(), Setup(), inputs=lambda number: given[number % len(given)], watch=False)
        for assembly in requests(host.run(history)):
            assert sum(counter.count(rendered(one)) + 4 for one in sent(assembly)) <= assembly.cost.bound

    check()


def test_exact_counter_leaves_room_for_the_tokens_that_prime_the_answer() -> None:
    """A conversation of any length, its answer and what opens that are within the window together."""
    setup = Setup(2049, 512, meter=Meter(builtin_counter("bytes")))
    made = 0
    for size in range(1500, 1540):
        try:
            assembly = opened(InMemoryStore(), setup).assemble([user("x" * size)])
        except BudgetError:
            continue
        made += 1
        real = sum(len(rendered(one)) + 4 for one in sent(assembly)) + 3  # OpenAI's cookbook: each reply is primed so
        assert real + 512 <= 2049, size
    assert 0 < made < 40


@pytest.mark.parametrize("name", ["words", "chars4", "chars3", "bytes", "classes"])
def test_every_built_in_counter_keeps_the_window(name: str) -> None:
    """As the physical counter; words and characters have the bytes for their bound."""
    setup = Setup(2048, meter=Meter(builtin_counter(name)))

    @effort(5)
    @given(history=histories(largest=8))
    def check(history: list[Message]) -> None:
        for assembly in requests(Host(InMemoryStore(), setup, watch=False).run(history)):
            assert assembly.cost.bound + setup.window.reserved_output_tokens <= setup.window_tokens
            assert (
                sum(setup.meter.physical.upper_bound(rendered(one)) + 4 for one in sent(assembly))
                <= assembly.cost.bound
            )

    check()


@effort(15)
@given(history=histories(most=9000), setup=setups(), given=schedules())
def test_store_is_as_it_was_when_no_request_can_be_made(
    history: list[Message], setup: Setup, given: list[Inputs]
) -> None:
    """An error leaves nothing behind: no plan, no summary."""
    host = Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)])
    for call in host.run(history):
        if call.error is not None:
            assert call.after == call.before


@effort(12)
@given(history=histories(most=9000), setup=setups())
def test_small_message_is_answered_after_an_impossible_one(history: list[Message], setup: Setup) -> None:
    """A session is never dead: with nothing else in the way, a short question always gets its request."""
    host = Host(InMemoryStore(), setup, watch=False)
    host.run([*history, *([user("and now?")] if not host.pending else [])])
    host.pending[:] = [user("and now?")]
    call = host.call()
    lead = sum(row.cost.bound for row in held(host.store).messages if row.role == "system")
    if lead < setup.window_tokens // 8:
        assert call.assembly is not None, str(call.error)


# -- promise 2: each message is, in every request, exactly one of verbatim, slimmed, summarized, absent; and truly so -


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


# -- promise 3: assembling writes nothing but the plan and its summaries, and recording stores what it returns --------


@effort(20)
@given(history=histories(), setup=setups(), given=schedules())
def test_assembling_adds_at_most_one_plan_and_only_with_an_event(
    history: list[Message], setup: Setup, given: list[Inputs]
) -> None:
    """Messages are what they were; summaries, window, snapshot, told facts come with a plan only (B-10)."""
    host = Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)])
    for call in host.run(history):
        plans = call.after.records["plan"]
        added = plans[len(call.before.records["plan"]) :]
        assert call.after.messages == call.before.messages
        with_plans = dict.fromkeys(("plan", "window", "snapshot", "told"), ())
        beside = [{**held.records, **with_plans} for held in (call.before, call.after)]
        assert beside[0] == beside[1]
        assert plans[: len(plans) - len(added)] == call.before.records["plan"]
        if call.assembly is not None and call.assembly.event is not None:
            assert [record.body for record in added] == [call.assembly.event.to_json()]
        else:
            assert added == ()
            assert call.after.records == call.before.records
            assert call.after.summaries == call.before.summaries


# -- promises 4 and 5: calls and results stay together; chronology is kept; what was said is never rewritten ----------


@effort(30)
@given(history=histories(), setup=setups(), given=schedules())
def test_calls_and_results_stay_together(history: list[Message], setup: Setup, given: list[Inputs]) -> None:
    """R1 on the payloads as sent, and R5: the user speaks first, the assistant never last nor twice in a row."""
    host = Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)], watch=False)
    for call in host.run(history):
        if call.assembly is not None:
            messages = sent(call.assembly)
            assert pairs_broken(messages) is None
            roles = [message["role"] for message in messages if message["role"] != "system"]
            assert roles[0] == "user"
            assert messages[-1]["role"] != "assistant"
            # Models refuse or merge such neighbours: a notice stands between them.
            assert ("assistant", "assistant") not in itertools.pairwise(message["role"] for message in messages)


@effort(30)
@given(history=histories(), setup=setups(), given=schedules())
def test_chronology_is_kept(history: list[Message], setup: Setup, given: list[Inputs]) -> None:
    """Messages stand in order of seq, and a summary in front of its own messages and of what follows them."""
    host = Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)], watch=False)
    for call in host.run(history):
        if call.assembly is None:
            continue
        last_said = last_covered = -1
        for part in call.assembly.parts:
            if is_said(part):
                assert part.first_seq == part.last_seq > last_said
                last_said = part.first_seq
            elif part.first_seq >= 0:
                assert part.first_seq > max(last_said, last_covered)
                last_covered = part.last_seq


@effort(30)
@given(history=histories(), setup=setups(), given=schedules())
def test_user_text_is_verbatim_or_absent_and_roles_are_kept(
    history: list[Message], setup: Setup, given: list[Inputs]
) -> None:
    """Invariant 4: the newest user message among them, whatever has to give way for it."""
    host = Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)])
    for call in host.run(history):
        if call.assembly is None:
            continue
        rows = transcript_of(call)
        shown = {part.first_seq: part for part in call.assembly.parts if is_said(part)}
        for seq, part in shown.items():
            row = rows[seq]
            assert part.payload in {None, row.payload}
            assert part.payload is None or part.role == row.role
            if opens_turn(row) or row.role == "system":
                assert part.kind in {Kind.MESSAGE, Kind.SYSTEM}
                assert (part.payload, part.text) == (row.payload, None)
        turns = [row.seq for row in rows if opens_turn(row)]
        assert not turns or turns[-1] in shown


# -- promise 7: between plan changes requests only grow at the end, and every break has its event ---------------------


@effort(40)
@given(history=histories(), setup=setups(), given=schedules())
def test_request_extends_the_one_before_unless_the_plan_changed(
    history: list[Message], setup: Setup, given: list[Inputs]
) -> None:
    """Payloads and parts; an event has its cause, position and price."""
    host = Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)], watch=False)
    for old, new in pairwise(requests(host.run(history))):
        if new.event is None:
            assert breaks_at(old, new) is None
        else:
            assert new.event.cause in CAUSES
            assert new.event.first_changed is not None
            assert new.event.price is not None


@effort(30)
@given(history=histories(), setup=setups(), given=schedules())
def test_event_names_the_place_that_moved(history: list[Message], setup: Setup, given: list[Inputs]) -> None:
    """The position counts messages of the request as it is sent, and the tokens in front of it are those sent."""
    host = Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)], watch=False)
    made = [call for call in host.run(history) if call.assembly is not None]
    for old, new in pairwise(made):
        place, event = breaks_at(old.request, new.request), new.request.event
        if event is None or place is None:
            continue
        told = event.first_changed
        assert told is not None
        # Tools and system text stand in front of all messages: where they change, everything does.
        outside = (old.given.tools, old.given.system) != (new.given.tools, new.given.system)
        assert told.index == place or (outside and told.index == 0)
        assert told.token_offset == sum(part.cost.bound for part in new.request.parts[: told.index])


@effort(20)
@given(history=histories())
def test_no_event_comes_while_everything_fits(history: list[Message]) -> None:
    """A large window and constant inputs: the first request is a prefix of the last one."""
    made = requests(Host(InMemoryStore(), Setup(131_072), watch=False).run(history))
    assert [one.event and one.event.cause for one in made if one.event] == []
    assert all(breaks_at(old, new) is None for old, new in pairwise(made))


# -- promise 10: a summarizer that fails, or says what it likes, never fails a turn; the other promises hold beside it-

GOOD = "good"
ANSWERS = st.sampled_from(
    [
        *[GOOD] * 6,
        "<summary>They wrote it to src/app/main.py as decided.</summary>",
        "<summary>" + "and so on, " * 300 + "</summary>",
        "<summary>\0 \ud800 </summary>",
        "<summary></summary>",
        "Error: no",
    ]
)


def answering(answer: str) -> ModelSummarizer:
    """Return a summarizer with an answer; a good one names what the messages name, else it says some of their words."""

    def good(_system: str, prompt: str) -> str:
        source = prompt.partition("<messages>")[2].partition("</messages>")[0]
        told = sorted(literals_of(source))[:5] or re.findall(r"\w{4,}", source)[:8]
        return f"<summary>They talked about {', '.join(told)}.</summary>"

    return ModelSummarizer(ScriptedLLM(good if answer == GOOD else answer))


LONGER = (
    assistant("- [GOAL] ship it by May\n[NEXT] write the parser\n", ("a", "read", json.dumps({"content": "yes" * 24}))),
    result("a", "0\x80\x80\U00010000\U00010000"),
)
EVERYTHING = SummarySettings(min_messages=1, min_input_tokens=1)


def talks(most_plain: int = 20) -> st.SearchStrategy[list[Message]]:
    """Return hostile histories, with plain turns in front and behind that make events happen."""
    return st.builds(
        lambda odd, before, behind: [*tame(before, 240), *odd, *tame(behind, 320, start=before)],
        histories(largest=10),
        st.integers(0, most_plain // 4),
        st.integers(0, most_plain),
    )


def desk(store: InMemoryStore, setup: Setup) -> SummaryQueue:
    """Return the desk of the session, which leaves out no block for being small."""
    engine = ContextEngine(store, store, {CODEC.tag: CODEC})
    return engine.summary_queue("s", setup.window, setup.meter, setup.settings, EVERYTHING)


def run(
    history: list[Message], setup: Setup, answers: list[str], restarts: frozenset[int]
) -> tuple[Host, list[TaskResult]]:
    """Run a history with every job done behind each message, with one answer after the other."""
    host = Host(InMemoryStore(), setup, watch=False, restarts=restarts)
    done: list[TaskResult] = []
    desks = desk(host.store, setup)
    for number, message in enumerate(history):
        host.run([message]) if message.role == "assistant" else host.pending.append(message)
        model = answering(answers[number % len(answers)])
        done += desks.run(model, float(number), 2, reason="" if number % 4 else "request")
    if host.pending:
        host.call()
    return host, done


@effort(15)
@given(
    history=talks(),
    setup=setups((4096, 8192, 16_384, 16_384)),
    answers=st.lists(ANSWERS, min_size=1, max_size=4),
    restarts=st.frozensets(st.integers(0, 20), max_size=4),
)
def test_requests_keep_every_promise_beside_a_model(
    history: list[Message], setup: Setup, answers: list[str], restarts: frozenset[int]
) -> None:
    """They fit, extend each other between events, keep tool calls together, and show what was checked only."""
    host, done = run(history, setup, answers, restarts)
    again, _ = run(history, setup, answers, frozenset())
    assert [request.payloads for request in requests(host.calls)] == [
        request.payloads for request in requests(again.calls)
    ]
    for assembly in requests(host.calls):
        assert assembly.cost.bound <= assembly.limit.bound
        assert pairs_broken(sent(assembly)) is None
        seqs = [part.first_seq for part in assembly.parts if is_said(part)]
        assert seqs == sorted(seqs)
    for old, new in pairwise(requests(host.calls)):
        assert new.event is not None or breaks_at(old, new) is None
    kept = {one.summary.summary_id: one.summary for one in done if one.summary}
    shown = [part for request in requests(host.calls) for part in request.parts if part.kind is Kind.SUMMARY]
    for part in shown:
        by_rule = "notes on" in (part.text or "").partition("\n")[0]
        assert by_rule or part.summary_id in kept


@effort(25)
@given(history=talks(), setup=setups((8192, 16_384)), answers=st.lists(ANSWERS, min_size=1, max_size=3))
# An answer that is longer than asked for, of messages that are hardly longer.
@example([*LONGER, *tame(1, 320)], Setup(8192, None, STRATEGIES["coherence"], METERS[2]), [GOOD])
def test_one_source_gets_one_summary(history: list[Message], setup: Setup, answers: list[str]) -> None:
    """However often jobs are run (C5); they come by what they save, and what is kept is less than was said."""
    host, done = run(history, setup, answers, frozenset())
    made = [one.summary for one in done if one.summary]
    assert len({one.source_digest for one in made}) == len(made) == len({one.summary_id for one in made})
    for one in done:
        if one.summary:
            assert max(one.summary.cost.bound, one.task.limit_tokens) < one.task.said_tokens
            assert re.search(r"talked about|src/app/main\.py|and so on", one.summary.text)
    desks = desk(host.store, setup)
    due = desks.due(1e9, reason="request")
    assert due == desks.due(1e9, reason="request")
    assert [job.saves_tokens for job in due] == sorted((job.saves_tokens for job in due), reverse=True)


@effort(15)
@given(
    history=talks(),
    setup=setups((4096, 8192, 8192)),
    answers=st.lists(ANSWERS, min_size=1, max_size=3),
    restarts=st.frozensets(st.integers(0, 20), max_size=4),
)
def test_notes_that_share_the_digits_of_their_ids_never_fail_a_turn(
    history: list[Message], setup: Setup, answers: list[str], restarts: frozenset[int]
) -> None:
    """With no digit at first, and then one: what two sources among 65,536 meet by chance, these meet all the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notebook, "DIGITS", (0, 1, 64))
        host, _ = run(history, setup, answers, restarts)
        again, _ = run(history, setup, answers, frozenset())
    assert [request.payloads for request in requests(host.calls)] == [
        request.payloads for request in requests(again.calls)
    ]
    shown = {part.summary_id: part for request in requests(host.calls) for part in request.parts if part.summary_id}
    for made in host.store.by_id("s", list(shown)):
        assert shown[made.summary_id].text == made.text


def test_failures_are_told_by_their_kind() -> None:
    """What an adapter raises."""
    error = LLMError("rate-limit", "slow down")
    assert (str(error), error.kind) == ("rate-limit: slow down", "rate-limit")


# -- promise 11: compaction terminates: one event a call, a rest after two that would not pay, a session that goes on -

START = 1_700_000_000.0
GAPS = st.lists(st.sampled_from([0.0, 1.0, 100.0, 150.0, 299.0, 300.0, 301.0]), min_size=1, max_size=6)


def clocked(setup: Setup, gaps: list[float], restarts: frozenset[int] = frozenset()) -> Host:
    """Return a host whose clock makes these steps over and over, in seconds, one before each call."""
    return Host(
        InMemoryStore(),
        setup,
        inputs=lambda step: Inputs(now=START + sum((gaps * 60)[:step])),
        restarts=restarts,
        watch=False,
    )


def told_by_call(host: Host, history: list[Message]) -> list[tuple[float, list[str]]]:
    """Return for each answered call its time and what was told of compaction in it."""
    told: list[tuple[float, list[str]]] = []
    for one in history:
        if one.role != "assistant":
            host.pending.append(one)
            continue
        seen = len(host.observer.events)
        now = host.inputs(host.replies).now or 0.0
        host.reply(one)
        names = [event.name for event in host.observer.events[seen:] if event.cause == "high-water"]
        told.append((now, [name for name in names if name not in {events.COMPRESSED, events.PREFIX_BROKEN}]))
    return told


@effort(20)
@given(
    history=st.builds(tame, st.integers(3, 14), st.sampled_from([4, 20, 40])),
    gaps=GAPS,
    saving=st.sampled_from([0.1, 0.3, 0.6, 0.9]),
    high=st.sampled_from([0.1, 0.2, 0.5]),
    restarts=st.frozensets(st.integers(0, 28)),
)
def test_compaction_rests_after_two_events_in_a_row_that_would_save_too_little(
    history: list[Message], gaps: list[float], saving: float, high: float, restarts: frozenset[int]
) -> None:
    """One warning, and no high-water event for 300 seconds of the times given; restarts change nothing."""
    setup = changed(Setup(4096), min_saving_fraction=saving, high_fraction=high, low_fraction=high / 2)
    skipped, rests_until = 0, 0.0
    for now, names in told_by_call(clocked(setup, gaps, restarts), history):
        if now < rests_until:
            assert names == []
        elif names == [events.VIEW_PLAN_CHANGED]:
            skipped = 0
        elif names:
            skipped += 1
            paused = [events.COMPACTION_PAUSED] if skipped == 2 else []
            assert names == [events.COMPRESSION_SKIPPED, *paused]
            if paused:
                skipped, rests_until = 0, now + setup.settings.backoff_seconds


def test_compaction_tries_again_when_its_rest_is_over() -> None:
    """Two questions at 0 s pause it; one at 299 s asks for nothing, one at 300 s is skipped again."""
    setup = changed(Setup(4096), min_saving_fraction=0.99, high_fraction=0.02, low_fraction=0.01)
    times = [0.0] * 6 + [299.0] * 2 + [300.0] * 2
    host = Host(InMemoryStore(), setup, inputs=lambda step: Inputs(now=times[step]), watch=False)
    skipped, paused = events.COMPRESSION_SKIPPED, events.COMPACTION_PAUSED
    told = told_by_call(host, tame(5, 40))
    assert [names for _, names in told] == [[], [], [skipped], [], [skipped, paused], [], [], [], [skipped], []]


@effort(20)
@given(history=histories(), setup=setups(), given=schedules())
def test_call_changes_the_plan_at_most_once(history: list[Message], setup: Setup, given: list[Inputs]) -> None:
    """One `view-plan-changed` for a call, and never a skipped event beside it."""
    host = Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)], watch=False)
    for one in history:
        if one.role != "assistant":
            host.pending.append(one)
            continue
        seen = len(host.observer.events)
        call = host.call()
        names = [event.name for event in host.observer.events[seen:]]
        made = names.count(events.VIEW_PLAN_CHANGED)
        assert made == (call.assembly is not None and call.assembly.event is not None)
        assert names.count(events.COMPRESSION_SKIPPED) + made <= 1
        host.reply(one)


@effort(15)
@given(history=histories(most=9000), setup=setups(), size=st.integers(4_000, 40_000))
def test_call_that_is_refused_leaves_no_trace_in_the_next_one(history: list[Message], setup: Setup, size: int) -> None:
    """Another question gets the request that it would have had."""
    host = Host(InMemoryStore(), setup, watch=False)
    host.run(history)
    said = [*host.pending, user("and now?")]
    session, other = (opened(store, setup) for store in (host.store, copied(host.store)))
    try:
        session.assemble([*host.pending, user("word " * size)], Inputs(now=START))
    except BudgetError:
        outcomes = []
        for one in (session, other):
            try:
                outcomes.append(one.assemble(said, Inputs(now=START)).payloads)
            except BudgetError as error:
                outcomes.append((str(error),))
        assert outcomes[0] == outcomes[1]


def test_session_pays_for_its_events_only_a_few_times_in_a_long_tool_loop() -> None:
    """Every event frees room for several steps, so 80 steps of a small window make far fewer events than steps."""
    host = Host(InMemoryStore(), Setup(4096), watch=False)
    host.run(tame(40, 80))
    made = [call for call in host.calls if call.assembly is not None and call.assembly.event is not None]
    assert all(call.error is None for call in host.calls)
    assert 1 <= len(made) <= len(host.calls) // 4


# -- promise 12: two sessions in one store never share text, summaries, notes or pins ---------------------------------


def turn_about(hosts: list[Host], histories: list[list[Message]], pins: dict[int, tuple[int, str]]) -> None:
    """Run histories through their hosts message by message in turn; pins are (host's reply) -> (seq, text)."""
    for place in range(max(map(len, histories), default=0)):
        for host, history in zip(hosts, histories, strict=True):
            if place < len(history):
                step(host, history[place], pins)
    for host in hosts:
        if host.pending:
            host.call()


def step(host: Host, one: Message, pins: dict[int, tuple[int, str]]) -> None:
    """Give a host one message; after a reply, pin what is to be pinned there."""
    if one.role != "assistant":
        host.pending.append(one)
        return
    host.reply(one)
    if host.replies in pins and host.session is not None:
        seq, text = pins[host.replies]
        host.session.pin(seq)
        host.session.pin_text(host.session_id, text)


@effort(20)
@given(
    first=histories(),
    second=histories(),
    setup=setups(),
    pins=st.dictionaries(st.integers(1, 8), st.tuples(st.integers(0, 12), st.sampled_from(["", "win"])), max_size=3),
)
def test_session_gives_the_same_bytes_whoever_else_is_in_its_store(
    first: list[Message], second: list[Message], setup: Setup, pins: dict[int, tuple[int, str]]
) -> None:
    """Two sessions side by side, in turn, and each of them alone."""
    store = InMemoryStore()
    both = [Host(store, setup, session_id=name, watch=False) for name in ("a", "b")]
    turn_about(both, [first, second], pins)
    for host, history in zip(both, (first, second), strict=True):
        alone = Host(InMemoryStore(), setup, session_id=host.session_id, watch=False)
        turn_about([alone], [history], pins)
        assert list(map(outcome, host.calls)) == list(map(outcome, alone.calls))


def test_words_of_one_session_are_in_no_request_of_another(store: InMemoryStore) -> None:
    """Names, numbers and paths that notes like, with equal ids and equal seqs in both."""
    hosts = [Host(store, Setup(4096), session_id=name, watch=False) for name in ("alpha", "beta")]
    for number in range(20):
        for host in hosts:
            word = host.session_id
            host.run([user(f"open src/{word}/main_{number}.py please " + "and look " * 80)])
            host.reply(assistant("", ("c", "read", f'{{"path": "src/{word}/main_{number}.py"}}')))
            host.run([result("c", f"Error: {word}_error_{number} " + "text " * 120), assistant(f"decided: {word}")])
            if host.session is not None and number == 3:
                host.session.pin(1)
                host.session.pin_text("goal", f"the {word} goal")
    for host, other in zip(hosts, reversed(hosts), strict=True):
        sent = [payload for call in host.calls if call.assembly for payload in call.assembly.payloads]
        assert any(host.session_id in payload for payload in sent)
        assert not any(other.session_id in payload for payload in sent)
        assert any(call.assembly.view.blocks for call in host.calls if call.assembly)


def test_summaries_of_a_session_are_found_under_its_own_id_only(store: InMemoryStore) -> None:
    """Two sessions that said the same have the same summary ids, each its own (B-12)."""
    host = Host(store, Setup(4096), session_id="a", watch=False)
    host.run(tame(20, 60))
    ids = [one.summary_id for one in store.for_range("a", 0, 10_000)]
    assert ids
    assert store.for_range("b", 0, 10_000) == []
    assert store.by_id("b", ids) == []
    again = Host(store, Setup(4096), session_id="b", watch=False)
    again.run(tame(20, 60))
    assert [one.summary_id for one in store.for_range("b", 0, 10_000)] == ids
    assert {one.session_id for one in store.for_range("b", 0, 10_000)} == {"b"}
