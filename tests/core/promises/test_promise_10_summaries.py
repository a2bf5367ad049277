"""Promise 10: a summarizer that fails, or says what it likes, never fails a turn; the other promises hold beside it."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.engine import ContextEngine
from squidbot.core.errors import LLMError
from squidbot.core.messages import Kind
from squidbot.core.notes import notebook
from squidbot.core.notes.extract import literals_of
from squidbot.core.summaries import ModelSummarizer, SummarySettings
from squidbot.testing.models import ScriptedLLM

from .driver import CODEC, Host, requests
from .histories import effort, histories, setups, tame
from .rules import breaks_at, is_said, pairs_broken, sent

if TYPE_CHECKING:
    from squidbot.core.messages import Message
    from squidbot.core.summaries import SummaryQueue, TaskResult

    from .driver import Setup

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
    assert [one.payloads for one in requests(host.calls)] == [one.payloads for one in requests(again.calls)]
    for assembly in requests(host.calls):
        assert assembly.cost.bound <= assembly.limit.bound
        assert pairs_broken(sent(assembly)) is None
        seqs = [part.first_seq for part in assembly.parts if is_said(part)]
        assert seqs == sorted(seqs)
    for old, new in pairwise(requests(host.calls)):
        assert new.event is not None or breaks_at(old, new) is None
    kept = {one.summary.summary_id: one.summary for one in done if one.summary}
    shown = [part for one in requests(host.calls) for part in one.parts if part.kind is Kind.SUMMARY]
    for part in shown:
        by_rule = "notes on" in (part.text or "").partition("\n")[0]
        assert by_rule or part.summary_id in kept


@effort(25)
@given(history=talks(), setup=setups((8192, 16_384)), answers=st.lists(ANSWERS, min_size=1, max_size=3))
def test_one_source_gets_one_summary(history: list[Message], setup: Setup, answers: list[str]) -> None:
    """However often jobs are run (C5); they come by what they save, and what is kept fits its room."""
    host, done = run(history, setup, answers, frozenset())
    made = [one.summary for one in done if one.summary]
    assert len({one.source_digest for one in made}) == len(made) == len({one.summary_id for one in made})
    for one in done:
        if one.summary:
            assert one.summary.cost.bound <= one.task.limit_tokens < one.task.said_tokens
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
    assert [one.payloads for one in requests(host.calls)] == [one.payloads for one in requests(again.calls)]
    shown = {part.summary_id: part for one in requests(host.calls) for part in one.parts if part.summary_id}
    for made in host.store.by_id("s", list(shown)):
        assert shown[made.summary_id].text == made.text


def test_failures_are_told_by_their_kind() -> None:
    """What an adapter raises."""
    error = LLMError("rate-limit", "slow down")
    assert (str(error), error.kind) == ("rate-limit: slow down", "rate-limit")
