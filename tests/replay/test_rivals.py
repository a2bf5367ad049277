"""The other policies do what their names say, as well as plain code does it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.tokens.counters import builtin_counter
from squidbot.replay.metrics import Ruler
from squidbot.replay.recording import Recording, RequestBlock
from squidbot.replay.rivals import (
    RIVALS,
    LastMessages,
    Rival,
    RollingSummary,
    SendEverything,
    TrimmedWindow,
    score_rival,
)

Said = tuple[RequestBlock, ...]
LEAD: Said = (RequestBlock("system", "system", "You are terse."),)


def talk(turns: int, size: int = 60) -> list[Said]:
    """Return turns of a user's question, a tool call, its result and an answer; results of `size` words."""
    said: list[Said] = [LEAD]
    for turn in range(turns):
        said.append((RequestBlock("user", "message", f"question {turn} on file_{turn}.txt"),))
        said.append((RequestBlock("assistant", "message", f"read file_{turn}.txt", (), (f"c{turn}",)),))
        said.append((RequestBlock("tool", "message", f"line_{turn} " * size, (), (), f"c{turn}"),))
        said.append((RequestBlock("assistant", "message", f"answer {turn} about line_{turn}"),))
    return said


def requests(rival: Rival, said: list[Said]) -> list[list[RequestBlock]]:
    """Return the requests before each of the assistant's messages."""
    made = []
    for one in said:
        if one[0].role == "assistant":
            made.append(rival.request())
        rival.add(one)
    return made


def fresh(kind: type[Rival], budget_tokens: int) -> Rival:
    """Return a policy with a ruler of its own."""
    return kind(budget_tokens, Ruler(builtin_counter("bytes")))


@pytest.mark.parametrize("kind", RIVALS)
def test_rivals_keep_the_opening_system_text_and_the_newest_message(kind: type[Rival]) -> None:
    """Whatever else they drop."""
    said = talk(20)
    for at, request in enumerate(requests(fresh(kind, 3000), said)):
        assert request[0] == LEAD[0]
        newest = [one for one in said if one[0].role == "assistant"][at]
        assert request[-1] == said[said.index(newest) - 1][0]


def test_everything_sends_everything() -> None:
    """All messages before the call, over the budget or not."""
    assert [len(request) for request in requests(fresh(SendEverything, 10), talk(3))] == [2, 4, 6, 8, 10, 12]


def test_last_messages_sends_forty_and_does_not_look_at_pairs() -> None:
    """A window that slides by one leaves results whose call is gone."""
    said = talk(30)
    said.insert(61, (RequestBlock("user", "message", "one message more than usual"),))
    made = requests(fresh(LastMessages, 10), said)
    assert max(len(request) for request in made) == 41
    assert any(request[1].role == "tool" for request in made)


@given(st.integers(1, 12), st.integers(0, 80), st.integers(200, 4000))
def test_trimming_fits_and_parts_no_pair_where_the_newest_step_fits(turns: int, size: int, budget_tokens: int) -> None:
    """It starts with a user message where one is left, else with an assistant's, never with a result."""
    ruler = Ruler(builtin_counter("bytes"))
    for request in requests(TrimmedWindow(budget_tokens, ruler), talk(turns, size)):
        if ruler.cost(request).bound <= budget_tokens and len(request) > 2:
            assert request[1].role in {"user", "assistant"}
        elif ruler.cost(request).bound > budget_tokens:
            assert len(request) == 2


def test_trimming_sends_all_that_fits() -> None:
    """One more message from a user on would be too much."""
    ruler = Ruler(builtin_counter("bytes"))
    said = talk(12)
    rival = TrimmedWindow(3000, ruler)
    for one in said[:-1]:
        rival.add(one)
    request = rival.request()
    assert request[1].role == "user"
    assert ruler.cost(request).bound <= 3000
    longer = [one[0] for one in said[said.index((request[1],)) - 4 : -1]]
    assert ruler.cost([LEAD[0], *longer]).bound > 3000


def test_summarizing_waits_for_the_threshold_and_pays_for_each_summary() -> None:
    """Below 80 % nothing happens; a summary frees room for a while, and its job names what was read."""
    ruler = Ruler(builtin_counter("bytes"))
    rival = RollingSummary(4000, ruler)
    jobs, before, extends = 0, list[RequestBlock](), 0
    for one in talk(30):
        if one[0].role == "assistant":
            request = rival.request()
            assert ruler.cost(request).bound <= 4000
            assert (request[: len(before)] == before) != bool(rival.summaries)
            extends += not rival.summaries
            jobs += len(rival.summaries)
            assert all(job.input_tokens > job.output_tokens > 0 for job in rival.summaries)
            rival.summaries, before = [], request
        rival.add(one)
    assert jobs >= 2
    assert extends > jobs


def test_summarizing_parts_no_pair_and_quotes_the_user() -> None:
    """The kept part starts outside a step; the summary has the user's words and the names that came most."""
    made = requests(fresh(RollingSummary, 4000), talk(30))
    summarized = next(request for request in made if request[1].kind == "summary")
    assert "question 0 on file_0.txt" in summarized[1].text
    assert "line_0" in summarized[1].text
    for request in made:
        seen: set[str] = set()
        for block in request:
            assert block.tool_result is None or block.tool_result in seen
            seen.update(block.tool_calls)


def test_summarizing_leaves_a_step_that_is_too_large_alone() -> None:
    """Where only the newest step is left, summarizing a summary again would pay for nothing."""
    rival = fresh(RollingSummary, 400)
    for one in talk(2, size=200)[:-1]:
        rival.add(one)
    request = rival.request()
    assert len(rival.summaries) == 1
    assert rival.request() == request
    assert len(rival.summaries) == 1


def test_summaries_order_names_that_come_equally_often_by_themselves() -> None:
    """Sets of names have no order of their own: it would differ from process to process."""
    said = [(RequestBlock("user", "message", f"see file_{turn}.txt"),) for turn in range(40)]
    summary = RollingSummary(10_000, Ruler(builtin_counter("bytes")))._summary(said, 4_000)
    names = summary.rpartition("Names: ")[2].split()
    assert names == sorted(f"file_{turn}" for turn in range(40))


def test_score_rival_scores_each_call_once() -> None:
    """The tally has every call, and the tick came as often."""
    said = talk(10)
    recording = Recording(tuple(said), tuple(8.0 * at for at in range(len(said))))
    ticks: list[None] = []
    ruler = Ruler(builtin_counter("bytes"))
    tally = score_rival(RollingSummary(3000, ruler), recording, ruler, lambda: ticks.append(None)).tally
    assert tally.calls == len(ticks) == len(recording.calls) == 20
    assert tally.over == 0
    assert tally.pairs_broken == 0
    assert 0 < tally.users_verbatim < 1
