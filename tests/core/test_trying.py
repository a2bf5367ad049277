"""Writing behind other writers: tried again with longer and longer pauses, and given up after a time that is named."""

from __future__ import annotations

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.errors import BusyError, StoreError
from squidbot.core.messages import Record
from squidbot.core.trying import FIRST_SECONDS, LONGEST_SECONDS, MOST_SECONDS, Writing, pauses


class Clock:
    """Waits as long as it may, each try taking some time itself, and keeps for how long it was asked to."""

    def __init__(self, try_seconds: float = 0.0) -> None:
        """Take how long a try lasts."""
        self.asked: list[float] = []
        self.now = 1_000.0
        self.try_seconds = try_seconds

    def __call__(self, most_seconds: float) -> float:
        """Wait."""
        if most_seconds:
            self.asked.append(most_seconds)
        self.now += most_seconds + self.try_seconds
        return self.now


def test_pauses_grow_and_end() -> None:
    """Twice as long each time, up to half a second, for twelve seconds."""
    clock = Clock()
    tries = sum(1 for _ in pauses(clock))
    assert clock.asked[:4] == [FIRST_SECONDS * 2**number for number in range(4)]
    assert clock.asked == sorted(clock.asked)
    assert clock.asked[-1] == LONGEST_SECONDS
    assert tries == len(clock.asked) < 40
    assert MOST_SECONDS <= clock.now - 1_000 < MOST_SECONDS + LONGEST_SECONDS


def test_what_a_try_takes_counts() -> None:
    """Where decisions are slow, fewer are made: nobody waits longer for it."""
    clock = Clock(try_seconds=3.0)
    assert sum(1 for _ in pauses(clock)) == 4


def test_nobody_waits_where_nothing_can() -> None:
    """The core alone has no clock: the pauses count as if they had been made."""
    assert sum(1 for _ in pauses()) == sum(1 for _ in pauses(Clock()))


def test_first_try_that_succeeds_asks_for_no_pause() -> None:
    """Most calls meet nobody."""
    clock = Clock()
    assert Writing(InMemoryStore(), "s", "nothing", clock).tried(lambda head: head) == (0, 0)
    assert not clock.asked


def test_a_store_that_fails_is_not_tried_again() -> None:
    """Nobody else has written: it would fail again."""
    store, clock = InMemoryStore(), Clock()

    def act(head: tuple[int, int]) -> None:
        raise StoreError(f"the disk is full: {head}")

    with pytest.raises(StoreError, match="the disk is full"):
        Writing(store, "s", "nothing was written", clock).tried(act)
    assert not clock.asked


def test_giving_up_says_how_long_and_what() -> None:
    """And is an error of its own."""
    store = InMemoryStore()

    def act(head: tuple[int, int]) -> None:
        store.append("s", 0, (), [Record("pin", head[1], "{}")])
        store.append("s", 0, (), [Record("pin", head[1], "{}")])

    with pytest.raises(BusyError) as caught:
        Writing(store, "s", "nothing was written", Clock()).tried(act)
    assert (caught.value.session_id, caught.value.seconds) == ("s", MOST_SECONDS)
    assert str(caught.value) == (
        "gave up after 12 s: other processes keep writing to session 's'; nothing was written, try again later"
    )
