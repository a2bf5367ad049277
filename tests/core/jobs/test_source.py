"""What a summarizer is shown of messages."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.messages import Category
from squidbot.core.summaries import SummarySource

from ..promises.driver import CLASSES, Setup, assistant, held, opened, result, user
from ..promises.histories import effort, histories
from ..rows import RENDERER

if TYPE_CHECKING:
    from squidbot.core.messages import Message, StoredMessage


def rows_of(*said: Message) -> tuple[StoredMessage, ...]:
    """Return messages as they are stored."""
    store = InMemoryStore()
    opened(store, Setup(1_000_000)).record(*said)
    return held(store).messages


TURN = (
    user("please look at a.py"),
    assistant("I will.", ("c", "read", '{"path": "a.py"}'), ("d", "write", '{"path": "b/c.py", "text": "x"}')),
    result("c", "line of a.py\n" * 2000),
    result("d", "ok"),
    assistant("It is fine."),
)


def test_messages_are_shown_in_order_with_their_ids() -> None:
    """Who said it, what was called, what came of it; a long output is cut, with a handle."""
    shown = SummarySource.of(rows_of(*TURN), RENDERER).shown(4000)
    assert shown.startswith("[m0 user]\nplease look at a.py\n\n[m1 assistant]\nI will.\n[calls read] ")
    assert "recall m2 ...]" in shown
    assert shown.endswith("[m3 tool result]\nok\n\n[m4 assistant]\nIt is fine.")
    assert CLASSES.text(shown).bound <= 4000


def test_users_words_are_shown_whole_as_far_as_they_can_be() -> None:
    """What was asked is never left out; a text that no prompt could hold is cut in its middle."""
    asked = "word by word " * 400
    source = SummarySource.of(rows_of(user(asked), assistant("answer " * 5000)), RENDERER)
    assert asked in source.shown(4000)
    huge = SummarySource.of(rows_of(user("first " + "x y " * 20_000 + " last"), assistant("ok")), RENDERER).shown(4000)
    assert CLASSES.text(huge).bound <= 4000
    assert "[m0 user]\nfirst " in huge
    assert " last" in huge
    assert "recall m0 ...]" in huge


def test_copies_and_tombstones_are_passed_over() -> None:
    """They count nothing either (B-44)."""
    rows = rows_of(*TURN)
    copied = [*rows[:2], replace(rows[2], category=Category.RECALLED), replace(rows[3], category=Category.FORGOTTEN)]
    source = SummarySource.of([*copied, rows[4]], RENDERER)
    assert "[m2 " not in source.shown(9000)
    assert "[m3 " not in source.shown(9000)
    assert source.tokens == rows[1].cost.bound + rows[4].cost.bound


@given(said=histories(most=3000, largest=8), most=st.integers(200, 4000))
@effort(30)
def test_every_message_is_shown(said: list[Message], most: int) -> None:
    """Whatever was said, in whatever room, nobody's turn is missing; the same each time."""
    rows = rows_of(*said) if said else ()
    source = SummarySource.of(rows, RENDERER)
    shown = source.shown(most)
    assert all(f"[m{row.seq} " in shown for row in rows)
    assert shown == SummarySource.of(rows, RENDERER).shown(most)
    assert source.tokens <= sum(row.cost.bound for row in rows)
