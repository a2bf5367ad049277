"""An index kept up with its truth, and searched: it may be wrong in any way, a hit may not."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.errors import ConfigError, DamagedStoreError
from squidbot.core.vectors.values import Multiplying, dots, unit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.core.memories import View
    from squidbot.core.vectors.values import Entry, Near, VectorIndex, Vectors

__all__ = ["Alike", "Nearest"]

# How many vectors are read at once: 8 MB at 1,024 dimensions.
READ_ENTRIES = 2_000
# How many vectors a search takes in before it looks: about a fifth of a second. More wait for `refresh`.
SEARCH_ENTRIES = 2_000
# How often an index is brought to what the truth holds while others change that.
TRIES = 5
# Of these more than are wanted the exact cosine decides: one byte a number makes cosines a hundredth wrong.
SPARE = 16
# An index that has grown by this share since it was saved is saved again: opening it takes in the rest.
SAVED_FRACTION = 0.1
SAVED_ENTRIES = 1_000


class Alike(NamedTuple):
    """A memory whose vector is near: its id, and the cosine, -1 to 1, higher is closer."""

    memory_id: str
    cosine: float


class Nearest:
    """Searches the vectors of one model, in the truth's own words.

    The index's stamp is compared before each search, so that what any process put into the truth, or took out, counts
    at once; each hit is then confirmed by the truth, and ranked by its exact cosine.
    """

    def __init__(self, index: VectorIndex, truth: Vectors) -> None:
        """Set an index beside its truth.

        Raises:
            ConfigError: they are of two models, or of different dimensions.
        """
        ours, due = index.stamp(), truth.stamp()
        if ours[:2] != due[:2]:
            raise ConfigError(
                f"an index of {ours.model!a:.80}, {ours.dimensions} dimensions, can't stand beside vectors of "
                f"{due.model!a:.80}, {due.dimensions}: open it for that model"
            )
        self._index = index
        self._truth = truth
        # What compares many vectors: the index, where it is fast at that.
        self.dots = index.dots if isinstance(index, Multiplying) else dots
        self._saved = ours.vectors
        # Whether its file may hold what the truth holds no more.
        self._has_gone = bool(index.fault)

    @property
    def fault(self) -> str:
        """Why the index was not as it was left, in one line; "" where it was."""
        return self._index.fault

    @property
    def vectors(self) -> int:
        """How many vectors the index has."""
        return self._index.stamp().vectors

    def behind(self) -> int:
        """Return how many vectors of the truth the index has less; 0 where it is up with it, or has too many."""
        return max(0, self._truth.stamp().vectors - self._index.stamp().vectors)

    def refresh(self, told: Callable[[int, int], None] | None = None) -> bool:
        """Bring the index to what the truth holds, save it where much has changed, and return whether it is there.

        It is not where others changed the truth all the while. `told` gets how many are in, of how many. What was
        taken out of the truth is not in the index's file when this returns.

        Raises:
            DamagedStoreError: a vector of the truth does not match its checksum, or its stamp is not of its vectors.
            StoreError: the disk failed.
        """
        done = self._catch_up(told)
        count = self._index.stamp().vectors
        if self._has_gone or abs(count - self._saved) >= max(SAVED_ENTRIES, SAVED_FRACTION * count):
            self._save()
        return done

    def save(self) -> None:
        """Bring the index to what the truth holds, and write it to its file.

        Raises:
            DamagedStoreError: as for `refresh`.
            StoreError: the disk failed; the file is as it was.
        """
        self._catch_up(None)
        self._save()

    def close(self) -> None:
        """Give back what the index holds; it does not save."""
        self._index.close()

    def places(self, vector: Sequence[float], view: View, *, limit: int, past: bool = False) -> list[int]:
        """Return the places of the vectors that are nearest by the index, best first; with `past` of history, too.

        Whoever reads what is there confirms who sees it. Where the index is far behind, it is searched as it is: see
        `behind`.

        Raises:
            ValueError: the vector has another number of dimensions, or no direction.
            DamagedStoreError: as for `refresh`.
            StoreError: the disk failed.
        """
        asked, seen = self._ready(vector, view)
        wanted = max(limit, 0) + SPARE
        while True:
            found = [near.place for near in self._index.search(asked, wanted, seen)]
            held = found if past else self._truth.holding(found)
            if len(held) >= limit or len(found) < wanted:
                return held[: max(limit, 0)]
            wanted *= 4

    def search(self, vector: Sequence[float], view: View, *, limit: int = 20, past: bool = False) -> list[Alike]:
        """Return the memories of a view whose vectors are nearest, best first, ties newest first; with `past` history.

        Where the index is far behind, it is searched as it is: see `behind`.

        Raises:
            ValueError: the vector has another number of dimensions, or no direction.
            DamagedStoreError: as for `refresh`.
            StoreError: the disk failed.
        """
        asked, seen = self._ready(vector, view)
        wanted = max(limit, 0) + min(max(limit, 0), SPARE) + SPARE
        while True:
            found = self._index.search(asked, wanted, seen)
            alike = self._confirmed(asked, found, seen, past=past)
            if len(alike) >= limit or len(found) < wanted:
                return alike[: max(limit, 0)]
            wanted *= 4

    def _ready(self, vector: Sequence[float], view: View) -> tuple[tuple[float, ...], int]:
        """Return what an index is asked for a vector and a view, once it has what it lacked, if that is little."""
        asked, seen = unit(vector), self._truth.view(view)
        if self.behind() <= SEARCH_ENTRIES:
            self._catch_up(None)
        return asked, seen

    def _confirmed(self, vector: Sequence[float], found: Sequence[Near], view: int, *, past: bool) -> list[Alike]:
        """Return what of the found is still there, is seen by the view, and holds unless history is wanted, too."""
        entries = self._truth.picked([near.place for near in found])
        seen = [each for each in entries if view in each.views and (past or each.holds)]
        cosines = self.dots(vector, [each.vector for each in seen])
        ranked = sorted(zip(cosines, seen, strict=True), key=_order)
        return [Alike(each.memory_id, max(-1.0, min(1.0, cosine))) for cosine, each in ranked]

    def _save(self) -> None:
        self._index.save()
        self._saved, self._has_gone = self._index.stamp().vectors, False

    def _catch_up(self, told: Callable[[int, int], None] | None) -> bool:
        """Bring the index to what the truth holds, and return whether it is there.

        Raises:
            DamagedStoreError: it can't be: the truth's stamp is not of its vectors.
        """
        due = self._truth.stamp()
        if due == self._index.stamp():
            return True
        if not self._index.stamp().vectors:
            self._index.clear(due.vectors)
        for made_anew in (False, True):
            for _ in range(TRIES):
                due = self._truth.stamp()
                for step in (self._add_new, self._reconcile):
                    step(due.vectors, told)
                    if self._truth.stamp() == self._index.stamp():
                        return True
                if self._truth.stamp() == due:  # nobody changed it meanwhile: the index is not of this truth
                    break
            else:
                return False
            if not made_anew:
                self._index.clear(due.vectors)
                self._has_gone = True
        raise DamagedStoreError(
            f"the vectors of {due.model!a:.80} are not those that their stamp tells of ({due.vectors}): drop them, and "
            "let them be made again"
        )

    def _add_new(self, count: int, told: Callable[[int, int], None] | None) -> None:
        while entries := self._truth.behind(self._index.last, READ_ENTRIES):
            self._index.add(entries)
            if told is not None:
                told(self._index.stamp().vectors, count)

    def _reconcile(self, count: int, told: Callable[[int, int], None] | None) -> None:
        """Take out what the truth has no more, and in what came before the newest and was missed."""
        due, ours = {*self._truth.places()}, {*self._index.places()}
        if self._index.remove(sorted(ours - due)):
            self._has_gone = True
        missed = sorted(due - ours)
        for first in range(0, len(missed), READ_ENTRIES):
            self._index.add(sorted(self._truth.picked(missed[first : first + READ_ENTRIES])))
            if told is not None:
                told(self._index.stamp().vectors, count)


def _order(scored: tuple[float, Entry]) -> tuple[float, int]:
    cosine, entry = scored
    return -cosine, -entry.place
