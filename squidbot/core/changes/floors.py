"""What stays raw at an event whatever the low-water mark leaves: the newest turns, messages and tokens (C16)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from squidbot.core.settings import HistorySettings
    from squidbot.core.view.atoms import Atom

__all__ = ["Floors"]


class Floors(NamedTuple):
    """How many of the newest atoms stay.

    Attributes:
        tail: the atoms that are sent raw, oldest first.
        stored: how many messages the store holds; later ones came with this call.
        in_flight_seq: the message that opened the current turn.
        settings: the floors that are set.
    """

    tail: Sequence[Atom]
    stored: int
    in_flight_seq: int
    settings: HistorySettings

    def always(self) -> int:
        """Return how many stay whatever they cost: the newest, and those that came with this call."""
        stays_from = min(self.in_flight_seq, self.stored) if self.settings.only_in_flight else self.stored
        return min(len(self.tail), max(1, sum(atom.last_seq >= stays_from for atom in self.tail)))

    def fitting(self, fits: Callable[[Sequence[Atom]], bool]) -> int:
        """Return how many stay where `fits` says whether so many do: the union of all floors.

        Where that does not fit it shrinks to the newest complete turn, and then to what stays in any case (C16).
        """
        if self.settings.only_in_flight:
            return self.always()
        wanted = max(self._turns(self.settings.floor_turns), self._messages(), self._tokens())
        for count in (wanted, min(wanted, self._turns(1))):
            if count and fits(self.tail[len(self.tail) - count :]):
                return max(count, self.always())
        return self.always()

    def by_number(self, most: int) -> int:
        """Return how many atoms together hold no more than so many messages."""
        return self._while(most, lambda atom: len(atom.messages))

    def _turns(self, turns: int) -> int:
        """Return how many atoms hold so many complete turns, and the one in flight behind them."""
        if not turns:
            return 0
        opening = [place for place, atom in enumerate(self.tail) if atom.is_user and atom.last_seq < self.in_flight_seq]
        return len(self.tail) - opening[-turns] if len(opening) >= turns else len(self.tail)

    def _messages(self) -> int:
        """Return how many atoms it takes to hold the configured number of messages."""
        most = self.settings.min_recent_messages
        count = self._while(most, lambda atom: len(atom.messages))
        held = sum(len(atom.messages) for atom in self.tail[len(self.tail) - count :])
        return min(len(self.tail), count + (held < most))

    def _tokens(self) -> int:
        return self._while(self.settings.keep_recent_tokens, lambda atom: atom.sent_cost.bound)

    def _while(self, most: int, size: Callable[[Atom], int]) -> int:
        return sum(used <= most for used in _sums(map(size, reversed(self.tail))))


def _sums(sizes: Iterable[int]) -> Iterable[int]:
    used = 0
    for size in sizes:
        used += size
        yield used
