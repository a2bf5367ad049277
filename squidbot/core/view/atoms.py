"""Groups a transcript into what must stay together: atoms, turns, session blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.messages import Category, Cost

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from squidbot.core.messages import StoredMessage

__all__ = ["Atom", "atoms_of", "open_step", "opens_turn", "session_blocks"]


class Atom(NamedTuple):
    """A user message, or an assistant step with the tool results directly behind it, in order of seq.

    `whole` says that each of its calls is answered in it and that it holds no answer without its call.
    """

    messages: tuple[StoredMessage, ...]
    whole: bool

    @property
    def first_seq(self) -> int:
        """The seq of its first message."""
        return self.messages[0].seq

    @property
    def last_seq(self) -> int:
        """The seq of its last message."""
        return self.messages[-1].seq

    @property
    def is_user(self) -> bool:
        """Whether it is a message of the user, and not one that carries tool results."""
        return opens_turn(self.messages[0])

    @property
    def sent_cost(self) -> Cost:
        """Tokens of what is sent for it when raw."""
        return total(message.sent_cost for message in self.messages)

    @property
    def cost(self) -> Cost:
        """Tokens of all that was said in it."""
        return total(message.cost for message in self.messages)


def total(costs: Iterable[Cost]) -> Cost:
    """Return the sum of costs, in tokens; nothing costs nothing."""
    estimate = bound = 0
    for cost in costs:
        estimate += cost.estimate
        bound += cost.bound
    return Cost(estimate, bound)


def opens_turn(message: StoredMessage) -> bool:
    """Return whether a message opens a turn: the user speaks, and neither tool results nor what was recalled."""
    return message.role == "user" and not message.result_ids and message.category is not Category.RECALLED


def open_step(messages: Sequence[StoredMessage]) -> int | None:
    """Return the seq of the step whose tool loop is open: the newest one, with calls, and no user spoke since.

    None where there is none: then no provider asks for any reasoning (R3).
    """
    for message in reversed(messages):
        if opens_turn(message):
            return None
        if message.role == "assistant":
            return message.seq if message.call_ids else None
    return None


def atoms_of(messages: Sequence[StoredMessage]) -> list[Atom]:
    """Return the atoms of messages in order of seq.

    A step takes the results that stand directly behind it; a result that comes later, or twice, or without a call,
    is an atom of its own that is not whole. `messages` must not begin inside an atom.
    """
    return [Atom(tuple(group), whole) for group, whole in _groups(messages)]


def _groups(messages: Iterable[StoredMessage]) -> Iterator[tuple[list[StoredMessage], bool]]:
    group: list[StoredMessage] = []
    pending: set[str] = set()
    for message in messages:
        if group and message.result_ids and pending.issuperset(message.result_ids):
            group.append(message)
            pending.difference_update(message.result_ids)
            continue
        if group:
            yield group, not pending
        if message.result_ids:
            yield [message], False
            group, pending = [], set()
            continue
        group, pending = [message], set(message.call_ids)
    if group:
        yield group, not pending


def session_blocks(atoms: Sequence[Atom], *, gap_seconds: float, max_tokens: int) -> list[list[Atom]]:
    """Return session blocks: runs of atoms, closed by a pause or by size, oldest first.

    A pause is `gap_seconds` or more between two messages whose times are known. A block is closed by size before the
    turn that would take it past `max_tokens` (a bound, of what was said); a turn longer than that is closed between
    atoms. A clock that steps back is no pause.
    """
    blocks: list[list[Atom]] = []
    size = 0
    for place, atom in enumerate(atoms):
        cost = atom.cost.bound
        after = _turn_tokens(atoms, place, max_tokens) if atom.is_user else cost
        if blocks and size + after <= max_tokens and not _pause(blocks[-1][-1], atom, gap_seconds):
            blocks[-1].append(atom)
            size += cost
        else:
            blocks.append([atom])
            size = cost
    return blocks


def _turn_tokens(atoms: Sequence[Atom], place: int, enough: int) -> int:
    """Return what the turn that opens at `place` costs; stops counting where it passes `enough`.

    A turn that can't fit any block is cut between atoms, so only its first atom asks for room.
    """
    tokens = atoms[place].cost.bound
    for atom in atoms[place + 1 :]:
        if atom.is_user:
            break
        tokens += atom.cost.bound
        if tokens > enough:
            return atoms[place].cost.bound
    return tokens


def _pause(before: Atom, after: Atom, gap_seconds: float) -> bool:
    earlier, later = before.messages[-1].time, after.messages[0].time
    return earlier is not None and later is not None and later - earlier >= gap_seconds
