"""What stays together: steps, turns, session blocks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.messages import Cost
from squidbot.core.view.steps import open_step, opens_turn, session_blocks, steps_of, total

from ..rows import row

TIMES = st.none() | st.integers(0, 20_000).map(float)


def seqs(blocks: list[list[object]]) -> list[list[int]]:
    """Return the first seq of each step, block by block."""
    return [[step.first_seq for step in block] for block in blocks]  # type: ignore[attr-defined]


def test_nothing_has_no_atoms() -> None:
    """An empty transcript."""
    assert steps_of([]) == []
    assert session_blocks([], gap_seconds=1.0, max_tokens=1) == []


def test_step_takes_the_results_directly_behind_it() -> None:
    """A user message, a step with two results in any order, an answer: three steps, all whole."""
    rows = [
        row(0),
        row(1, "assistant", calls=("a", "b")),
        row(2, answers="b"),
        row(3, answers="a"),
        row(4, "assistant"),
    ]
    steps = steps_of(rows)
    assert [(step.first_seq, step.last_seq, step.whole) for step in steps] == [(0, 0, True), (1, 3, True), (4, 4, True)]
    assert [step.is_user for step in steps] == [True, False, False]
    assert steps[1].cost == steps[1].sent_cost == Cost(30, 30)


def test_step_is_not_whole_when_a_result_is_missing() -> None:
    """The user spoke before the second result came."""
    steps = steps_of([row(0, "assistant", calls=("a", "b")), row(1, answers="a"), row(2)])
    assert [(step.first_seq, step.last_seq, step.whole) for step in steps] == [(0, 1, False), (2, 2, True)]


def test_result_stands_alone_when_its_call_is_not_directly_before_it() -> None:
    """Late, twice, or without a call."""
    rows = [row(0, "assistant", calls=("a",)), row(1, answers="a"), row(2, answers="a"), row(3), row(4, answers="x")]
    steps = steps_of(rows)
    assert [(step.first_seq, step.last_seq, step.whole) for step in steps] == [
        (0, 1, True),
        (2, 2, False),
        (3, 3, True),
        (4, 4, False),
    ]


def test_result_opens_no_turn() -> None:
    """A user message that only carries tool results does not either."""
    assert opens_turn(row(0))
    assert not opens_turn(row(0, answers="a"))
    assert not opens_turn(row(0, "assistant"))
    assert not opens_turn(row(0, "system"))


def test_step_is_open_until_the_user_speaks_or_it_calls_nothing() -> None:
    """Its results do not close it: the loop goes on with them."""
    called = [row(0), row(1, "assistant", calls=("a",))]
    assert open_step(called) == 1
    assert open_step([*called, row(2, answers="a")]) == 1
    assert open_step([*called, row(2, answers="a"), row(3, "system")]) == 1
    assert open_step([*called, row(2, answers="a"), row(3, "assistant")]) is None
    assert open_step([*called, row(2)]) is None
    assert open_step([]) is None


def test_block_is_closed_by_a_pause() -> None:
    """3,600 seconds close it, 3,599 do not, a step back does not, an unknown time does not."""
    times = [0.0, 3599.0, 7199.0, 7000.0, None, 99_999.0]
    steps = steps_of([row(seq, time=time) for seq, time in enumerate(times)])
    assert seqs(session_blocks(steps, gap_seconds=3600.0, max_tokens=1000)) == [[0, 1], [2, 3, 4, 5]]  # type: ignore[arg-type]


def test_block_is_closed_before_the_turn_that_would_pass_its_size() -> None:
    """Turns of 20 tokens in blocks of 50: a turn is not split where it fits a block."""
    rows = [row(seq, "user" if seq % 2 == 0 else "assistant") for seq in range(8)]
    blocks = session_blocks(steps_of(rows), gap_seconds=1.0, max_tokens=50)
    assert seqs(blocks) == [[0, 1, 2, 3], [4, 5, 6, 7]]  # type: ignore[arg-type]


def test_turn_longer_than_a_block_is_closed_between_atoms() -> None:
    """One question and seven steps of 10 tokens in blocks of 30."""
    rows = [row(0), *(row(seq, "assistant") for seq in range(1, 8))]
    blocks = session_blocks(steps_of(rows), gap_seconds=1.0, max_tokens=30)
    assert seqs(blocks) == [[0, 1, 2], [3, 4, 5], [6, 7]]  # type: ignore[arg-type]


def test_total_of_nothing_is_nothing() -> None:
    """And both numbers are summed by themselves."""
    assert total([]) == Cost(0, 0)
    assert total([Cost(1, 2), Cost(3, 5)]) == Cost(4, 7)


@given(
    kinds=st.lists(st.tuples(st.sampled_from(["user", "assistant", "call", "a", "b"]), TIMES), max_size=20),
    gap=st.sampled_from([0.0, 60.0, 3600.0]),
    most=st.integers(1, 200),
)
def test_blocks_hold_every_message_once_in_order(kinds: list[tuple[str, float | None]], gap: float, most: int) -> None:
    """Whatever comes, in steps and in blocks; no block is empty."""
    rows = []
    for seq, (kind, time) in enumerate(kinds):
        if kind in {"a", "b"}:
            rows.append(row(seq, answers=kind, time=time))
        elif kind == "call":
            rows.append(row(seq, "assistant", calls=("a", "b"), time=time))
        else:
            rows.append(row(seq, kind, time=time))  # type: ignore[arg-type]  # a role
    blocks = session_blocks(steps_of(rows), gap_seconds=gap, max_tokens=most)
    assert [message.seq for block in blocks for step in block for message in step.messages] == list(range(len(rows)))
    assert all(blocks)
