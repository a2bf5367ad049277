"""Writing where others write, too: what one of them makes void is decided once more, after a pause, for a while."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar

from squidbot.core.errors import BusyError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.core.ports import TranscriptStore

__all__ = ["MOST_SECONDS", "Writing", "gave_up", "pauses"]

# Waits for a random part of so many seconds, and returns the time: in seconds, by a clock that is never set back.
Wait: TypeAlias = Callable[[float], float]
Done = TypeVar("Done")

# A turn of a person's who waits for it. Others that write all the time are a program gone wrong, or far too many.
MOST_SECONDS: Final = 12.0
# What an append takes; then twice as long each time, so that many who wait come in one behind the other, up to half a
# second: after that nobody else has been there for long.
FIRST_SECONDS: Final = 0.002
LONGEST_SECONDS: Final = 0.5


def pauses(wait: Wait | None = None) -> Iterator[None]:
    """Yield for each try, with longer and longer pauses between them, until `MOST_SECONDS` have passed.

    Without `wait` nobody waits, and each pause counts for as long as it would be at most.
    """
    begun = wait(0.0) if wait else 0.0
    longest, passed = FIRST_SECONDS, 0.0
    while passed < MOST_SECONDS:
        yield
        passed = wait(longest) - begun if wait else passed + longest
        longest = min(2 * longest, LONGEST_SECONDS)


def gave_up(session_id: str, undone: str) -> BusyError:
    """Return the error of who was never let in; `undone` says what was not done."""
    return BusyError(session_id, MOST_SECONDS, undone)


class Writing(NamedTuple):
    """Writing to a session that others write to, too.

    Attributes:
        transcripts, session_id: where.
        undone: what is not done where it is given up, as a sentence's end.
        wait: how to wait; None: not at all.
    """

    transcripts: TranscriptStore
    session_id: str
    undone: str
    wait: Wait | None = None

    def tried(self, act: Callable[[tuple[int, int]], Done]) -> Done:
        """Return what `act` returns, which writes behind so many messages and records; again where others came first.

        Raises:
            BusyError: others never stopped.
            StoreError: the store failed.
        """
        for _ in pauses(self.wait):
            head = self.transcripts.head(self.session_id)
            try:
                return act(head)
            except StoreError:
                if self.transcripts.head(self.session_id) == head:
                    raise
        raise gave_up(self.session_id, self.undone)
