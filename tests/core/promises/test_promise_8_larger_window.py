"""Promise 8: a larger window never shows less verbatim text than a smaller one, from the same stored state."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.engine import Inputs
from squidbot.core.errors import BudgetError
from squidbot.core.settings import STRATEGIES, HistorySettings

from .driver import Host, Setup, assistant, copied, opened, result, user
from .histories import effort, histories, inputs, setups, tame
from .rules import is_said

if TYPE_CHECKING:
    from squidbot.core.messages import Message
    from squidbot.core.view.assembly import CoreAssembly

# None is a window that the session ran under: that window would go on, its plan with it, where the other starts anew.
WINDOWS = (2056, 2508, 3008, 4104, 5008, 8200, 16_392)


@st.composite
def window_pairs(draw: st.DrawFn) -> tuple[int, int]:
    """Draw two windows, the smaller one first, in tokens."""
    small, large = sorted(draw(st.lists(st.sampled_from(WINDOWS), min_size=2, max_size=2, unique=True)))
    return small, large


def asked(store: InMemoryStore, setup: Setup, given: Inputs) -> CoreAssembly | None:
    """Return the request for one more question over a copy of the store, or None where no request fits."""
    try:
        return opened(copied(store), setup).assemble([user("and now?")], given)
    except BudgetError:
        return None


def verbatim(store: InMemoryStore, setup: Setup, given: Inputs) -> set[int] | None:
    """Return the seqs of the messages that a new window sends as they were said, or None where no request fits."""
    made = asked(store, setup, given)
    if made is None:
        return None
    return {part.first_seq for part in made.parts if is_said(part) and part.payload and part.text is None}


def larger_loses(store: InMemoryStore, setup: Setup, given: Inputs, windows: tuple[int, int]) -> set[int]:
    """Return what the smaller of two new windows shows and the larger one does not; -1 for a request at all."""
    small, large = (
        verbatim(store, replace(setup, window_tokens=window_tokens, reserve=None), given) for window_tokens in windows
    )
    if small is None:
        return set()
    return {-1} if large is None else small - large


def test_larger_window_shows_as_much_where_steps_without_their_pairs_stay() -> None:
    """A step whose second call has the first one's id is told as text, which costs more than it does."""
    twice = assistant("", ("a", "read", "{}"), ("a", "read", "{}")), result("a", "fine"), result("a", "word " * 70)
    host = Host(InMemoryStore(), Setup(2048, None, HistorySettings(floor_turns=1)), watch=False)
    host.run([user("\0" * 315), *twice, user("Go on."), *twice * 16])
    windows = range(2304, 2560, 8)
    seen = [
        verbatim(host.store, replace(host.setup, window_tokens=window_tokens), Inputs()) or set()
        for window_tokens in windows
    ]
    assert all(small <= large for small, large in pairwise(seen))


@effort(20)
@given(history=histories(), setup=setups(), given=inputs(), windows=window_pairs())
def test_larger_window_shows_all_that_a_smaller_one_shows(
    history: list[Message], setup: Setup, given: Inputs, windows: tuple[int, int]
) -> None:
    """Two new windows over one session, whatever window it was held under."""
    host = Host(InMemoryStore(), setup, inputs=lambda _number: given, watch=False)
    host.run(history)
    assert larger_loses(host.store, setup, given, windows) == set()


@effort(20)
@given(history=histories(most=9000), setup=setups(), windows=window_pairs())
def test_larger_window_shows_all_that_a_smaller_one_shows_when_nothing_was_ever_sent(
    history: list[Message], setup: Setup, windows: tuple[int, int]
) -> None:
    """An imported session: recorded, never assembled."""
    store = InMemoryStore()
    opened(store, replace(setup, window_tokens=131_072, reserve=None)).record(*history)
    assert larger_loses(store, setup, Inputs(), windows) == set()


def talk(sizes: list[int]) -> list[Message]:
    """Return a conversation in which the user's messages have so many words, each with a short answer."""
    return [one for size in sizes for one in (user(f"{'pasted ' * size}go on"), assistant("done"))]


@effort(40)
@given(sizes=st.lists(st.sampled_from([0, 3, 30, 200, 900]), min_size=8, max_size=40), windows=window_pairs())
def test_larger_window_shows_all_of_the_users_words_that_a_smaller_one_shows(
    sizes: list[int], windows: tuple[int, int]
) -> None:
    """Short and long ones in any order."""
    store = InMemoryStore()
    opened(store, Setup(131_072)).record(*talk(sizes))
    assert larger_loses(store, Setup(settings=STRATEGIES["balanced"]), Inputs(), windows) == set()


def test_a_long_message_of_the_user_does_not_make_the_short_ones_before_it_give_way() -> None:
    """Most of what the user said in a few words stays, whatever was pasted since; the pasted text gives way."""
    store = InMemoryStore()
    opened(store, Setup(131_072)).record(*talk([3] * 20 + [3_000] + [3] * 4), *tame(12, 120))
    shown = verbatim(store, Setup(16_392, settings=STRATEGIES["balanced"]), Inputs()) or set()
    users = set(range(0, 50, 2))
    assert users - shown == {40}


@pytest.mark.parametrize("name", ["balanced", pytest.param("speed", marks=pytest.mark.slow)])
def test_each_window_shows_all_that_the_one_below_shows(name: str) -> None:
    """A plain conversation of 15,000 tokens under windows from 2,048 to 32,768 tokens."""
    store = InMemoryStore()
    opened(store, Setup(131_072)).record(*tame(30, 120))
    setup = Setup(settings=STRATEGIES[name])
    shown = [verbatim(store, replace(setup, window_tokens=2048 + 1024 * step), Inputs()) or set() for step in range(31)]
    assert len(shown[0]) < len(shown[15]) < len(shown[-1])
    assert all(small <= large for small, large in pairwise(shown))
