"""What a host's list of messages means beside what is recorded: what is new in it, and where it leaves a line.

Hosts list a whole conversation, its end, or the newest turn, and rarely say which. They keep ids of their own for
messages, or none. Their users edit a message, have an answer made again, or go back: then the list leaves the line.
"""

from __future__ import annotations

import hashlib
import json
import marshal
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, overload

from squidbot.codecs import jsontext
from squidbot.codecs.fields import as_object
from squidbot.core.cached import cached_property
from squidbot.core.messages import Category

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from squidbot.core.messages import Message, StoredMessage
    from squidbot.core.ports import Codec
    from squidbot.core.transcript.lines import LineStore

    Payload = Mapping[str, object]

Value = TypeVar("Value")

# No conversation repeats this many messages in a row, answers included.
ENOUGH: Final = 24
# How many recorded messages are read at once.
READ_MESSAGES: Final = 256
# The newest lines that a list is compared with.
MOST_LINES: Final = 64
# So many lines are compared whole.
FEW_LINES: Final = 8
# A reply without an id that begins with as many of the same characters is the same, cut.
BEGINNING_CHARS: Final = 40
# The identity of a forgotten message: it matches whatever stands in its place.
GONE: Final = "forgotten"
# The order of keys does not change the identity. Recording refuses values that JSON cannot hold.
_IDENTITY: Final = json.JSONEncoder(sort_keys=True, default=jsontext.dumped)


def no_id(_: object) -> str:
    """Return "": the host gives its messages no ids."""
    return ""


def digest(*values: object) -> int:
    """Return a number that is the same for the same values in this process; quick for what JSON has."""
    try:
        return hash(marshal.dumps(values, 2))  # type: ignore[arg-type]  # from version 3 on, it depends on who else holds them
    except ValueError:
        return hash(repr(values))


class HostForm(NamedTuple):
    """How a host writes its messages.

    Attributes:
        codec: the codec of their payloads.
        key: returns the part of a payload that identifies it: without times and ids that the host makes up.
        id_of: returns the id by which the host knows a message, from the message or its payload; "" without one.
        is_whole: the host always lists the whole conversation.
        dump: returns the payload of one of the host's messages.
        load: returns the host's message for the JSON text of a payload, or a list of messages.
        mark: returns a number of a message that changes if its words change; it is asked for each message of each list.
    """

    codec: Codec
    key: Callable[[Payload], object] = dict
    id_of: Callable[[Any], str] = no_id
    is_whole: bool = False
    dump: Callable[[Any], Payload] = dict
    load: Callable[[str], Any] = json.loads
    mark: Callable[[Any], int] = digest

    def identity(self, payload: Payload) -> str:
        """Return a digest that is the same for the same words."""
        return hashlib.sha256(_IDENTITY.encode(self.key(payload)).encode()).hexdigest()

    def name(self, payload: Payload) -> tuple[str, str]:
        """Return the identity of a payload by its words, and the host's id."""
        return self.identity(payload), self.id_of(payload)


class LazyList(Sequence[Value]):
    """A list that loads each member on first use.

    `load` takes an index, from 0, and returns that member by its index, perhaps with its neighbours.
    """

    def __init__(self, length: int, load: Callable[[int], Mapping[int, Value]]) -> None:
        self.length, self._load = length, load
        self._members: dict[int, Value] = {}

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, place: int) -> Value: ...
    @overload
    def __getitem__(self, place: slice) -> list[Value]: ...
    def __getitem__(self, place: int | slice) -> Value | list[Value]:
        if isinstance(place, slice):
            places = range(*place.indices(self.length))
            try:
                return [self._members[at] for at in places]
            except KeyError:
                # From the end: `load` gives the members before, too.
                return [self[at] for at in reversed(places)][::-1]
        at = place + self.length if place < 0 else place
        if at not in self._members:
            if not 0 <= at < self.length:
                raise IndexError(place)
            self._members.update(self._load(at))
            if at not in self._members:  # another process has removed it
                raise IndexError(place)
        return self._members[at]

    def put(self, at: int, member: Value) -> None:
        """Set a member; the list is longer then, if it was shorter."""
        self._members[at] = member
        self.length = max(self.length, at + 1)

    def cut(self, length: int) -> None:
        """Keep the first members only."""
        self.length = length
        self._members = {at: member for at, member in self._members.items() if at < length}


class Recorded:
    """The messages of a line by their places on it, from 0: their identities, and the ids that the host gave them.

    Messages of other hosts have "" for both: this one lists none of them.
    """

    def __init__(self, line: LineStore, form: HostForm) -> None:
        """Take a line; nothing is read yet."""
        self.line, self._form = line, form
        self.number: int | None = None
        self.words = LazyList(0, partial(self._load, self._words_of))
        self.ids = LazyList(0, partial(self._load, self._id_of))

    def __len__(self) -> int:
        return len(self.words)

    def take(self, line: LineStore, keeps: int = 0) -> None:
        """Take what a line has now; of another line than before, only the first `keeps` messages are the same."""
        if line.line != self.number:
            self.words.cut(keeps)
            self.ids.cut(keeps)
        self.line, self.number = line, line.line
        self.words.length = self.ids.length = line.count_between(0, line.last_seq)

    def add(self, rows: Iterable[StoredMessage], names: Iterable[tuple[str, str]]) -> None:
        """Add the identities and ids of messages that were just recorded; others may have recorded before them."""
        for row, (words, own_id) in zip(rows, names, strict=False):
            place = self.line.count_between(0, row.seq) - 1
            self.words.put(place, words)
            self.ids.put(place, own_id)

    def rows(self, first: int, last: int) -> list[StoredMessage]:
        """Return the messages from one place to another, both included."""
        line = self.line
        return line.pick(line.session_id, line.seqs(first, last))

    def message(self, place: int) -> Message:
        """Return a message of this host as squidbot reads it."""
        (row,) = self.rows(place, place)
        return self._form.codec.to_message(as_object(row.payload))

    def same(self, place: int, words: str, own_id: str) -> bool:
        """Return whether a message of a list is the recorded one: by the host's ids if both have one."""
        known = self.ids[place]
        return known == own_id if known and own_id else self.words[place] in {words, GONE}

    def name(self, row: StoredMessage) -> tuple[str, str]:
        """Return the identity of a message, and the host's id."""
        return self._words_of(row), self._id_of(row)

    def _load(self, of: Callable[[StoredMessage], str], last: int) -> dict[int, str]:
        first = max(0, last + 1 - READ_MESSAGES)
        return {place: of(row) for place, row in enumerate(self.rows(first, last), first)}

    def _words_of(self, row: StoredMessage) -> str:
        if row.category is Category.FORGOTTEN:
            return GONE
        return self._form.identity(as_object(row.payload)) if row.codec == self._form.codec.tag else ""

    def _id_of(self, row: StoredMessage) -> str:
        return self._form.id_of(as_object(row.payload)) if row.codec == self._form.codec.tag else ""


class Listed:
    """A host's list: its messages' identities, each made when it is needed, and the host's ids."""

    def __init__(self, messages: Sequence[Any], form: HostForm) -> None:
        """Take a list; nothing of it is read yet."""
        self.messages, self._form, count = messages, form, len(messages)
        self._payloads = LazyList(count, lambda at: {at: form.dump(messages[at])})
        self._read = LazyList(count, lambda at: {at: form.codec.to_message(self._payloads[at])})
        self.words = LazyList(count, lambda at: {at: form.identity(self._payloads[at])})
        self.ids = [form.id_of(message) for message in messages]

    @cached_property
    def marks(self) -> list[tuple[str, int]]:
        """The ids, and what tells whether the host has changed a message since."""
        return [*zip(self.ids, map(self._form.mark, self.messages), strict=True)]

    def __len__(self) -> int:
        return len(self.messages)

    def replied(self) -> int:
        """Return how many messages there are up to the newest reply, that one included: 0 without one.

        What follows may be there for this request only.
        """
        backwards = range(len(self) - 1, max(-1, len(self) - 1 - READ_MESSAGES), -1)
        return next((at + 1 for at in backwards if self.message(at).role == "assistant"), 0)

    def has_put_in(self, at: int, behind: int, before: Collection[str]) -> bool:
        """Return whether the host has put messages from `at` up to `behind` into what was said before them.

        `before`: the ids of the messages that it listed before; empty without any.
        """
        if behind >= self.replied():
            return False
        known = {*before}
        later = (self.ids[place] in known and self.message(place).role == "user" for place in range(behind, len(self)))
        return not known or (all(self.ids[at:behind]) and any(later))

    def message(self, at: int) -> Message:
        """Return a message as squidbot reads it.

        Raises:
            ValueError: it is not of the host's form.
        """
        return self._read[at]

    def name(self, at: int) -> tuple[str, str]:
        """Return the identity of a message, and the host's id."""
        return self.words[at], self.ids[at]


class AgentRun(NamedTuple):
    """One of the runs that go along a conversation, as a process has seen it last.

    Attributes:
        marks: of its list.
        replies: the names of what was recorded behind that.
        line: the line on which it was recorded.
        recorded: how many messages that line had then.
    """

    marks: list[tuple[str, int]]
    replies: list[tuple[str, str]]
    line: int
    recorded: int

    def goes_on(self, listed: Listed, known: Recorded, *, is_kept: bool) -> int | None:
        """Return the index of the first new message of a list that goes on as the run was seen last, else None.

        Whatever others have recorded meanwhile, unless the host keeps the list (`is_kept`): then it says what holds.
        What others have recorded of the list itself is not new.
        """
        count = len(self.marks) + len(self.replies)
        is_alone = len(known) == self.recorded and known.number == self.line
        # People say the same again: one message without an id proves nothing.
        if len(listed) <= count or (count < 2 and not listed.ids[0]) or not self._has_said(listed):
            return None
        if is_alone:
            return count
        if is_kept or not known.line.begins_as(self.line, self.recorded):
            return None
        # Replies that others have recorded may stand on any line.
        since, new = {*known.words[self.recorded :]} - {""}, range(count, len(listed))
        is_asked = not any(listed.message(at).role == "assistant" for at in new)
        return count if is_asked and since.isdisjoint(listed.words[count:]) else None

    def is_elsewhere(self, listed: Listed, known: Recorded) -> bool:
        """Return whether a list goes on as the run was seen last, on another line: one of a run beside it is shown."""
        count = len(self.marks) + len(self.replies)
        if known.number == self.line or not 1 < count < len(listed) or not self._has_said(listed):
            return False
        return not known.line.begins_as(self.line, self.recorded)

    def _has_said(self, listed: Listed) -> bool:
        """Return whether a list, which is long enough, begins with what was listed, and what was recorded behind it."""
        first = len(self.marks)
        names = ((listed.name(at), reply) for at, reply in enumerate(self.replies, first))
        return listed.marks[:first] == self.marks and all(
            name[1] == reply[1] if name[1] and reply[1] else name[0] == reply[0] for name, reply in names
        )


class Match(NamedTuple):
    """How far a list goes along a line.

    Attributes:
        listed: how many messages of the list, counted from its beginning, are before what is not on the line.
        recorded: how many messages of the line are before what is not in the list.
        length: how many in a row before them are the same, `ENOUGH` at most.
    """

    listed: int
    recorded: int
    length: int

    def before(self, back: int) -> Match:
        """Return a match that ends so many messages earlier."""
        return Match(self.listed - back, self.recorded - back, max(0, self.length - back))


def continues(listed: Listed, known: Recorded) -> int | None:
    """Return the index of the first new message of a list that has the newest messages of the line, else None.

    It may begin later than the line.
    """
    whole = len(known)
    if whole <= len(listed) and matching(listed.words, whole, known.words) == min(whole, ENOUGH):
        return whole
    place, newest = len(listed), known.ids[-1]
    if newest:
        place = len(listed) - listed.ids[::-1].index(newest) if newest in listed.ids else 0
    else:
        last = known.words[-1]
        place = next((at for at in range(len(listed), 0, -1) if listed.words[at - 1] == last), 0)
    whole = min(place, len(known), ENOUGH)
    return place if place and matching(listed.words, place, known.words) == whole else None


def matched(listed: Listed, known: Recorded) -> Match | None:
    """Return how far a list goes along a line; None if nothing shows that it does.

    One message proves nothing, unless the host gave it an id, or it begins both: people say the same again.
    """
    few = max(READ_MESSAGES, 2 * len(listed))
    if len(listed) == 1 and (not listed.ids[0] or listed.ids[0] not in known.ids[-few:]):
        return None
    first = max(0, len(known) - few)
    by_id = {own_id: place for place, own_id in enumerate(known.ids[first:], first) if own_id}
    by_words: dict[str, list[int]] = {}
    for place, words in enumerate(known.words[first:], first):
        by_words.setdefault(words, []).append(place)
    for at in range(len(listed) - 1, -1, -1):
        own_id = listed.ids[at]
        found = [by_id[own_id]] if own_id in by_id else by_words.get(listed.words[at], [])
        runs = [Match(at + 1, place + 1, _run(listed, at, known, place)) for place in found]
        best = max(runs, key=lambda run: (run.length, run.listed == run.recorded, run.recorded), default=None)
        if best and (best.length > 1 or own_id in by_id or best.listed == best.recorded == best.length):
            return _past_forgotten(listed, known, best)
    return None


def _run(listed: Listed, at: int, known: Recorded, place: int) -> int:
    """Return how many messages up to one are the same in a list and on a line, `ENOUGH` at most."""
    most = min(at + 1, place + 1, ENOUGH)
    return next((gone for gone in range(most) if not known.same(place - gone, *listed.name(at - gone))), most)


def _past_forgotten(listed: Listed, known: Recorded, match: Match) -> Match:
    """Return a match that goes on behind forgotten messages, if the host still lists as many, and something behind."""
    gone = 0
    while match.recorded + gone < len(known) and known.words[match.recorded + gone] == GONE:
        gone += 1
    if not gone or match.listed + gone >= len(listed):
        return match
    return Match(match.listed + gone, match.recorded + gone, min(match.length + gone, ENOUGH))


def edited(listed: Listed, known: Recorded, match: Match) -> int:
    """Return how many messages before the end of a match have the host's id, and not the words of those recorded.

    Counted from the match's end to the oldest of them, 0 for none. Only the words count: hosts may write a message in
    another way later.
    """
    found = 0
    for back in range(1, match.length + 1):
        at, place = match.listed - back, match.recorded - back
        if known.words[place] in {"", GONE, listed.words[at]}:
            continue
        if _said(known.message(place)) != _said(listed.message(at)):
            found = back
    return found


def _said(message: Message) -> tuple[object, ...]:
    calls = [(call.id, call.name, _arguments(call.arguments)) for call in message.calls]
    return message.role, message.text.strip(), calls, sorted(message.results)


def _arguments(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def leaves(listed: Listed, known: Recorded, match: Match, looked: int | None) -> bool:
    """Return whether a list leaves the line at the end of a match, so that the line's messages behind it are gone.

    It does not if it ends where the line did when the host last looked, behind the first `looked` messages: others have
    recorded since, and the host is behind. Nor if all of them are other hosts', which it does not list. A host that
    lists no replies tells nothing by the lack of one.
    """
    if match.recorded in {len(known), looked}:
        return False
    if not any(known.words[match.recorded : match.recorded + READ_MESSAGES]):
        return False
    if match.length < 2 and match.listed != match.recorded:
        return False
    has_replies = any(listed.message(at).role == "assistant" for at in range(match.listed - 1, -1, -1))
    return has_replies or match.listed == len(listed)


class Rewritten(NamedTuple):
    """What a host has changed in a list that it had listed before, by indexes of the new list.

    Attributes:
        from_here: the first message that was put in or has other words; None if messages are gone only.
        gaps: in front of which messages others are gone.
    """

    from_here: int | None
    gaps: tuple[int, ...]


def rewritten(
    before: Sequence[tuple[str, int]], given: Listed, settled: int, *, by_ids: bool = False
) -> Rewritten | None:
    """Return what a host has changed in the first `settled` messages of its last list, `before`; None: nothing.

    By their marks, or `by_ids` alone. What the host puts in front of later ones counts, too. Where it has ids, what has
    none is there for this request only, and what it puts into the newest turn was said beside it, by another agent. A
    host that lists fewer of the oldest, or something in their place, shortens its list: that is no change.
    """
    now = [(own_id, 0) for own_id in given.ids] if by_ids else given.marks
    if now[: len(before)] == before or not settled:
        return None
    old, new = ([own_id or str(mark) for own_id, mark in each] for each in (before, now))
    gaps: list[int] = []
    # Words may be said again: only ids show that a message has moved, or came from elsewhere.
    has_ids = any(own_id for own_id, _ in before)
    known, listed = (dict(zip(old, before, strict=True)), {*new}) if has_ids else ({}, set[str]())
    edit = next((at for at, name in enumerate(new) if known.get(name, now[at]) != now[at]), None)
    changes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    put_in = {
        at: known.keys() >= {*new[at:behind]}
        for tag, start, _, at, behind in changes
        if tag == "insert" and start < len(old) and given.has_put_in(at, behind, old if has_ids else ())
    }
    is_reordered = has_ids and any(put_in.values())
    for tag, start, end, at, behind in changes:
        is_put_in = tag == "insert" and at in put_in
        if (edit is not None and at >= edit) or (start >= settled and not is_put_in):
            break
        is_moved = has_ids and listed.issuperset(old[start:end]) and not is_put_in and not is_reordered
        if tag == "equal" or start == 0 or is_moved:
            continue
        if tag == "delete" or (known.keys() >= {*new[at:behind]} and not is_put_in):
            gaps.append(at)
        else:
            return Rewritten(at, tuple(gaps))
    return Rewritten(edit, tuple(gaps)) if gaps or edit is not None else None


def places(listed: Listed, known: Recorded) -> dict[int, int]:
    """Return where the messages of a list are on a line, by index and place, those in the same order in both."""
    first = max(0, len(known) - max(READ_MESSAGES, 2 * len(listed)))
    ours, theirs = known.words[first:], listed.words[:]
    # The same words under other ids are other messages, as far as the host tells.
    both = {*zip(known.ids[first:], ours, strict=True)} & {*zip(listed.ids, theirs, strict=True)}
    ids = {own_id for own_id, _ in both} - {""}
    ours = [own_id if own_id in ids else words for own_id, words in zip(known.ids[first:], ours, strict=True)]
    theirs = [own_id if own_id in ids else words for own_id, words in zip(listed.ids, theirs, strict=True)]
    found: dict[int, int] = {}
    behind = 0, 0
    for at, place, length in SequenceMatcher(None, theirs, ours, autojunk=False).get_matching_blocks():
        # Forgotten messages that the host still lists stand between.
        gone = place - behind[1] if {*ours[behind[1] : place]} == {GONE} and at - behind[0] == place - behind[1] else 0
        found |= {at + step: first + place + step for step in range(-gone, length)}
        behind = at + length, place + length
    return found


def has_all(listed: Listed, known: Recorded, match: Match) -> bool:
    """Return whether a line has every message of a list up to the end of a match, and no other one between."""
    found = places(listed, known)
    first = found.get(0)
    return first is not None and all(
        found.get(at) == first + at or known.words[first + at] == GONE for at in range(match.listed)
    )


def shortened(listed: Listed, known: Recorded, match: Match) -> list[int]:
    """Return the places, behind the end of a match, of results and replies that the list has in fewer words.

    Only what is known to be the same: by the host's id, by its call, or by how it begins.
    """
    ids = {own_id: place for place, own_id in enumerate(known.ids[match.recorded :], match.recorded) if own_id}
    found: list[int] = []
    place = match.recorded
    for at in range(match.listed, len(listed)):
        place = ids.get(listed.ids[at], place)
        if place >= len(known):
            break
        if known.words[place] != listed.words[at]:
            if known.words[place] in {"", GONE} or not _is_shorter(known.message(place), listed.message(at)):
                break
            found.append(place)
        place += 1
    return found


def _is_shorter(old: Message, new: Message) -> bool:
    """Return whether a message is another one in fewer words."""
    if old.role != new.role or old.role not in {"assistant", "tool"} or len(new.text) >= len(old.text):
        return False
    calls = [[call.id for call in each.calls] for each in (old, new)]
    is_one = bool(old.results or calls[0]) or old.text[:BEGINNING_CHARS] == new.text[:BEGINNING_CHARS]
    return is_one and old.results == new.results and calls[0] == calls[1]


def goes_further(listed: Listed, known: Recorded, match: Match) -> bool:
    """Return whether a line has the message at which a list leaves another one, in the same place; one row is read."""
    if match.recorded >= len(known) or match.listed >= len(listed):
        return False
    (row,) = known.rows(match.recorded, match.recorded)
    return known.name(row) == listed.name(match.listed)


def gap_at(at: int, listed: Listed, known: Recorded, found: Mapping[int, int]) -> tuple[int, int] | None:
    """Return the places, first and last, that a list lacks in front of a message of it; None for none.

    Where the same is said twice, the place of either of them may be what is gone.
    """
    recorded = known.words[min(found.values(), default=0) :]
    for step, beside in ((-1, -1), (1, 0)):
        place = at
        while place in found and place - 1 in found:
            if found[place - 1] + 1 < found[place]:
                return found[place - 1] + 1, found[place] - 1
            if recorded.count(listed.words[place + beside]) < 2:
                break
            place += step
    return None


def past_others(known: Recorded, match: Match) -> Match:
    """Return a match that goes on behind the messages of other hosts."""
    place = match.recorded
    while place < len(known) and not known.words[place]:
        place += 1
    return match._replace(recorded=place)


def first_new(listed: Sequence[str], recorded: Sequence[str]) -> int:
    """Return the index of the first new message in a host's list, by message identities; its length if none is new.

    The recorded messages may end anywhere in the list, or not be in it. The index after the longest match wins; of
    equal matches, the first: recording a repeated message twice is better than losing it. A match of `ENOUGH`
    messages ends the search.
    """
    whole = len(recorded)
    if 0 < whole <= len(listed) and matching(listed, whole, recorded) == min(whole, ENOUGH):
        return whole  # the host lists everything, and nothing else
    best, longest = 0, 1
    for end in range(len(listed), 0, -1) if recorded else ():
        if listed[end - 1] == recorded[-1] and (length := matching(listed, end, recorded)) >= longest:
            best, longest = end, length
            if length == ENOUGH:
                break
    return best


def first_unknown(listed: Sequence[str], recorded: Sequence[str]) -> int:
    """Return the index of the first new message of a host that lists everything but the turns that failed.

    The known messages are the longest beginning of the list that occurs in the same order among the recorded ones.
    """
    place = first_new(listed, recorded)
    if place and matching(listed, place, recorded) == ENOUGH:
        return place
    known = 0
    # A host that lists less than half of what is recorded has begun anew.
    for name in recorded[-2 * len(listed) - ENOUGH :]:
        if known < len(listed) and listed[known] == name:
            known += 1
    return max(known, place)


def matching(listed: Sequence[str], end: int, recorded: Sequence[str]) -> int:
    """Return how many messages before `end` are the last recorded ones, up to `ENOUGH`."""
    count, longest = 0, min(end, len(recorded), ENOUGH)
    while count < longest and recorded[-1 - count] in {listed[end - 1 - count], GONE}:
        count += 1
    return count
