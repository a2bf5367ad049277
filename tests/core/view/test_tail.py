"""The raw end of a request grows without being rebuilt."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.messages import Kind, StoredMessage
from squidbot.core.view.current import Tail
from squidbot.core.view.renderer import spent
from squidbot.core.view.steps import steps_of

from ..rows import RENDERER, row


def rows(kinds: list[str]) -> list[StoredMessage]:
    """Return messages of these kinds: roles, "call" (calls a and b), "a" or "b" (a result)."""
    made = []
    for seq, kind in enumerate(kinds):
        if kind in {"a", "b"}:
            made.append(row(seq, answers=kind))
        elif kind == "call":
            made.append(row(seq, "assistant", calls=("a", "b")))
        else:
            made.append(row(seq, kind))  # type: ignore[arg-type]  # a role
    return made


def test_tail_without_new_messages_is_itself() -> None:
    """Empty or not."""
    tail = Tail().extended(rows(["user"]), RENDERER, 0)
    assert tail.extended([], RENDERER, 0) is tail
    assert (tail.cost.bound, tail.last_parts) == (10, 1)


def test_result_completes_the_newest_step() -> None:
    """Told as text while it is open, with its ids once it is whole; the parts before it are the same objects."""
    said = rows(["user", "call", "a", "b"])
    open_tail = Tail().extended(said[:2], RENDERER, 0)
    assert open_tail.parts[1].kind is Kind.SLIMMED
    whole = open_tail.extended(said[2:], RENDERER, 0)
    assert [part.kind for part in whole.parts] == [Kind.MESSAGE] * 4
    assert whole.parts[0] is open_tail.parts[0]
    assert (whole.cost.bound, whole.last_parts) == (40, 3)


def test_first_step_has_a_notice_where_nobody_can_answer_what_stands_before_the_tail() -> None:
    """A segment that ends with the assistant."""
    assert Tail(after_assistant=True).extended(rows(["assistant"]), RENDERER, 0).parts[0].kind is Kind.NOTICE
    assert Tail().extended(rows(["assistant"]), RENDERER, 0).parts[0].kind is Kind.MESSAGE


def test_reasoning_of_steps_before_a_seq_is_left_out() -> None:
    """And of no later one."""
    tail = Tail().extended(rows(["user", "assistant", "user", "assistant"]), RENDERER, 3)
    assert [part.drop_thinking for part in tail.parts] == [False, True, False, False]


def test_reasoning_of_steps_in_a_run_is_left_out() -> None:
    """The first seq of the run is in it, the last is behind it; a step belongs where it begins."""
    said = rows(["assistant", "user", "assistant", "call", "a", "b", "assistant"])
    tail = Tail().extended(said, RENDERER, 1, [(2, 3), (4, 6)])
    steps = [part.drop_thinking for part in tail.parts if part.role == "assistant"]
    assert steps == [True, True, False, False]


@given(
    kinds=st.lists(st.sampled_from(["user", "assistant", "call", "a", "b", "system"]), max_size=16),
    cuts=st.lists(st.integers(0, 16), max_size=4),
    after=st.booleans(),
)
def test_tail_is_the_same_however_it_grew(kinds: list[str], cuts: list[int], after: bool) -> None:  # noqa: FBT001  # drawn
    """In any pieces, it is what is rendered of all at once."""
    said = rows(kinds)
    tail, start = Tail(after_assistant=after), 0
    for cut in [*sorted(cuts), len(said)]:
        tail = tail.extended(said[start : max(start, cut)], RENDERER, 4)
        start = max(start, cut)
    whole = Tail(after_assistant=after).extended(said, RENDERER, 4)
    assert tail == whole
    assert tail.steps == tuple(steps_of(said))
    assert tail.cost == spent(tail.parts)
