"""What becomes of facts that may be remembered: new, known, in the place of an older one. Nothing is written here."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.memories import CATEGORIES, Source, said_too
from squidbot.core.memory.facts import about, ended, memory_of, rank
from squidbot.core.memory.wording import is_negation, rivals, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from squidbot.core.memories import Memory, View
    from squidbot.core.memory.facts import Candidate
    from squidbot.core.ports import MemoryStore

__all__ = ["Learned", "Passed", "Place", "decided", "learned", "neighbours"]

# Memories that are compared with: the newest of each category, and what a search for the fact's own words finds.
NEWEST, FOUND = 200, 10
_PREFERS: Final = "/prefers/"
_GONE: Final = frozenset({"no", "longer"})


class Place(NamedTuple):
    """Where facts are learned: for whom, in which session, and when, in seconds since 1970."""

    view: View
    session_id: str
    now: float


class Passed(NamedTuple):
    """A candidate that is not stored, and why: "said before", "older", "less trusted" or "forgotten".

    `memory_id` is the memory that it is beside of; its own, where it was forgotten.
    """

    candidate: Candidate
    why: str
    memory_id: str


@dataclass(frozen=True, slots=True)
class Learned:
    """What becomes of candidates.

    Attributes:
        memories: what is to be stored, in order, each with what it takes the place of.
        passed: what is not, with why.
        said: sources that memories which are there are to get: what says the same, too, by id.
        places: memories that hold no longer beside those that `memories` supersede, each with what takes its place.
    """

    memories: tuple[Memory, ...]
    passed: tuple[Passed, ...]
    said: Mapping[str, tuple[Source, ...]] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)


def learned(candidates: Sequence[Candidate], store: MemoryStore, place: Place) -> Learned:
    """Return what to store of candidates, in view of what a store has; it is read, never written.

    What was stored before is not stored again, though it may be history by now; what somebody wanted forgotten does not
    come back by itself. So the same messages may be read twice, in other portions, too.

    Raises:
        StoreError: the store failed.
    """
    # Of what one message says twice, with something else between, the last counts.
    own = {_id(one, place): one for one in reversed(candidates)}
    own = dict(reversed(own.items()))
    known = {one.memory_id for one in store.get(list(own))}
    gone = store.forgotten(list(own))
    passed = [Passed(one, "forgotten", memory_id) for memory_id, one in own.items() if memory_id in gone]
    passed += [Passed(one, "said before", memory_id) for memory_id, one in own.items() if memory_id in known]
    left = [one for memory_id, one in own.items() if memory_id not in gone and memory_id not in known]
    made = decided(left, neighbours(left, store, place), place, [*own])
    return replace(made, passed=(*passed, *made.passed))


def neighbours(candidates: Sequence[Candidate], store: MemoryStore, place: Place) -> list[Memory]:
    """Return the memories of a view that candidates may repeat or replace.

    Raises:
        StoreError: the store failed.
    """
    found: dict[str, Memory] = {}
    is_all = True
    for category in CATEGORIES if candidates else ():
        listed = store.listed(place.view, category, limit=NEWEST)
        is_all = is_all and len(listed) < NEWEST
        found |= {one.memory_id: one for one in listed}
    for candidate in () if is_all else candidates:
        ids = [one for one in _searched(candidate.text, store, place) if one not in found]
        found |= {one.memory_id: one for one in store.get(ids)}
    return list(found.values())


def _searched(text: str, store: MemoryStore, place: Place) -> list[str]:
    try:
        return [hit.key for hit in store.search(text, place.view, limit=FOUND, now=place.now)]
    except ValueError:
        return []


def decided(
    candidates: Iterable[Candidate], existing: Iterable[Memory], place: Place, said: Sequence[str] = ()
) -> Learned:
    """Return what to store of candidates beside memories that there are, each candidate beside those before it.

    The same fact is stored once, unless somebody more trusted says it, too. A fact about the same as older ones takes
    the places of all of them; an older or less trusted fact never takes that of another. `said` are the ids of all that
    was said, in order, those that are stored already among them: of one message the later ones are newer. What says a
    fact again, in as many words, becomes one of its sources: it is forgotten with the last of them.
    """
    order = {memory_id: number for number, memory_id in enumerate(said)}
    held = {one.memory_id: one for one in existing if not one.superseded_by}
    new: dict[str, Memory] = {}
    passed: list[Passed] = []
    also: dict[str, tuple[Source, ...]] = {}
    places: dict[str, str] = {}
    for candidate in candidates:
        outcome = _outcome(candidate, held, place, order)
        if isinstance(outcome, Passed):
            passed.append(outcome)
            old = held.get(outcome.memory_id)
            if old is None or not _says(candidate, old, place):
                continue
            source = Source(place.session_id, candidate.first_seq, candidate.last_seq)
            more = held[old.memory_id] = said_too(old, [source])
            if old.memory_id in new:
                new[old.memory_id] = more
            elif more is not old:
                also[old.memory_id] = (*also.get(old.memory_id, ()), source)
            continue
        made, gone = outcome
        # What had taken a place gives it on: history takes none.
        left = [one for one in gone if one != made.supersedes]
        left += [memory_id for memory_id, taker in places.items() if taker in gone]
        places |= dict.fromkeys(left, made.memory_id)
        for memory_id in gone:
            del held[memory_id]
        held[made.memory_id] = new[made.memory_id] = made
    return Learned(tuple(new.values()), tuple(passed), also, places)


def _says(candidate: Candidate, memory: Memory, place: Place) -> bool:
    """Return whether a memory may stand by what a candidate is from alone.

    As much is said, by somebody as trusted, and not before it was first said: something else may have held in between,
    and messages may be read twice. What was added by hand stands by nothing.
    """
    is_same = words_of(candidate.text) == words_of(memory.text) and candidate.speaker == memory.speaker
    if not is_same or not memory.sources or rank(candidate.trust) != rank(memory.trust):
        return False
    here = [one.first_seq for one in memory.sources if one.session_id == place.session_id and not one.path]
    if here:
        return candidate.first_seq > min(here)
    return candidate.time is None or candidate.time >= memory.time


def _outcome(
    candidate: Candidate, held: Mapping[str, Memory], place: Place, order: Mapping[str, int]
) -> tuple[Memory, list[str]] | Passed:
    """Return what to store and the memories whose places it takes, the newest first; or why it is not stored."""
    own_id = _id(candidate, place)
    if own_id in held:
        return Passed(candidate, "said before", own_id)
    same = next((one for one in held.values() if _repeats(candidate, one)), None)
    if same is not None and rank(same.trust) <= rank(candidate.trust):
        return Passed(candidate, "said before", same.memory_id)
    others = [one for one in _replaced(candidate, held) if one is not same]
    others.sort(key=lambda one: (one.time, one.memory_id), reverse=True)
    replaced = [same, *others] if same else others
    for old in replaced:
        why = _objection(candidate, old, place.session_id)
        if why or order.get(old.memory_id, -1) > order.get(own_id, len(order)):
            return Passed(candidate, why or "older", old.memory_id)
    gone = [one.memory_id for one in replaced]
    supersedes = gone[0] if gone else ""
    return memory_of(candidate, place.view.scope, place.session_id, place.now, supersedes), gone


def _objection(candidate: Candidate, old: Memory, session_id: str) -> str:
    """Return why a candidate can't take the place of a memory; "" where it can.

    In one session the order of the messages says what is older, whatever the clocks said.
    """
    if rank(old.trust) < rank(candidate.trust):
        return "less trusted"
    here = [one.last_seq for one in old.sources if one.session_id == session_id and not one.path]
    if here:
        return "older" if candidate.last_seq < max(here) else ""
    return "older" if candidate.time is not None and candidate.time < old.time else ""


def _id(candidate: Candidate, place: Place) -> str:
    return memory_of(candidate, place.view.scope, place.session_id, place.now).memory_id


def _repeats(candidate: Candidate, memory: Memory) -> bool:
    """Return whether a memory says all that a candidate says."""
    new, old = words_of(candidate.text), words_of(memory.text)
    if new == old:
        return True
    is_same = bool(candidate.slot) and about(memory) == candidate.slot
    return is_same and set(new) <= set(old) and not any(map(is_negation, set(old) - set(new)))


def _replaced(candidate: Candidate, held: Mapping[str, Memory]) -> Iterator[Memory]:
    """Yield the memories that a candidate takes the places of."""
    for one in held.values():
        slot = about(one)
        is_same = bool(slot) and (slot == candidate.slot or _is_ended(candidate, slot, one))
        if is_same or one.memory_id == candidate.replaces or _is_rival(candidate, slot, one):
            yield one


def _is_ended(candidate: Candidate, slot: str, memory: Memory) -> bool:
    """Return whether a memory holds no longer because of a candidate.

    Of a slot that tells no value, as "user/home", only the memory is meant that has the candidate's words: who no
    longer lives in Paris may live in Berlin.
    """
    if slot not in candidate.ends:
        return False
    return slot.count("/") > 1 or set(words_of(candidate.text)) - _GONE <= set(words_of(memory.text))


def _is_rival(candidate: Candidate, slot: str, memory: Memory) -> bool:
    """Return whether a candidate prefers something else than a memory does."""
    subject, prefers, new = candidate.slot.partition(_PREFERS)
    if not prefers or not slot.startswith(subject + _PREFERS):
        return False
    return candidate.slot in ended(memory) or rivals(slot.partition(_PREFERS)[2], new, changes=candidate.changes)
