"""The stores in memory, and that the public checks notice a store or counter that breaks a promise."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.errors import LLMError, StoreError
from squidbot.core.messages import Completion, Cost, Erasure, Record
from squidbot.testing import (
    check_claims,
    check_finds,
    check_llm,
    check_summary_store,
    check_token_counter,
    check_transcript_store,
    made_message,
    made_summary,
)
from squidbot.testing.models import ScriptedLLM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from squidbot.core.messages import SearchMatch, StoredMessage, Summary
    from squidbot.core.ports import Certificate


def test_in_memory_store_keeps_the_promises_of_transcripts() -> None:
    """The public check of the port passes."""
    check_transcript_store(InMemoryStore)


def test_in_memory_store_keeps_the_promises_of_summaries() -> None:
    """The public check of the port passes."""
    check_summary_store(InMemoryStore)


def test_in_memory_store_keeps_the_promises_of_claims() -> None:
    """The public check of the port passes."""
    check_claims(InMemoryStore)


def test_in_memory_store_finds_sessions_by_their_records() -> None:
    """The public check of the port passes, and notices a store that passes the kind over."""
    check_finds(InMemoryStore)

    class Careless(InMemoryStore):
        def sessions_with(self, kind: str, words: Sequence[str]) -> list[str]:
            return sorted({*super().sessions_with(kind, words), *super().sessions_with("plan", words)})

    with pytest.raises(AssertionError, match=r"oldest first|another kind"):
        check_finds(Careless)


def test_in_memory_store_keeps_its_own_when_an_answer_is_changed() -> None:
    """Answers are lists of the caller's own."""
    store = InMemoryStore()
    store.append("s", 0, [made_message(0)], [Record("plan", 0, "{}")])
    store.read("s", 0, 0).clear()
    store.newest("s", 9).clear()
    store.records("s", "plan").clear()
    assert store.read("s", 0, 0) == [made_message(0)]
    assert store.records("s", "plan") == [Record("plan", 0, "{}")]


def test_in_memory_store_says_what_to_do_when_another_writer_came_first() -> None:
    """The refusal names the session, both numbers and the next step."""
    store = InMemoryStore()
    store.append("s", 0, [made_message(0)])
    with pytest.raises(StoreError, match=r"another writer.*'s' has 1 messages, not 0; nothing was written: read"):
        store.append("s", 0, [made_message(0)])


class Unordered(InMemoryStore):
    """Sorts by text."""

    def read(self, session_id: str, first_seq: int, last_seq: int) -> list[StoredMessage]:
        """Sort."""
        return sorted(super().read(session_id, first_seq, last_seq), key=lambda message: message.payload)


class Exclusive(InMemoryStore):
    """Leaves the last one of a range out."""

    def read(self, session_id: str, first_seq: int, last_seq: int) -> list[StoredMessage]:
        """Stop too early."""
        return super().read(session_id, first_seq, last_seq - 1)


class Repeating(InMemoryStore):
    """Returns what is picked twice twice."""

    def pick(self, session_id: str, seqs: Iterable[int]) -> list[StoredMessage]:
        """Pick one by one."""
        return [message for seq in seqs for message in super(Repeating, self).pick(session_id, [seq])]


class Thrifty(InMemoryStore):
    """Stops before the message that passes the budget."""

    def newest(self, session_id: str, budget_tokens: int) -> list[StoredMessage]:
        """Leave the first out unless all fits."""
        found = super().newest(session_id, budget_tokens)
        return found if sum(message.cost.bound for message in found) <= budget_tokens else found[1:]


class Torn(InMemoryStore):
    """Stores messages before it looks at the records."""

    def append(
        self, session_id: str, expected_seq: int, messages: Sequence[StoredMessage], records: Sequence[Record] = ()
    ) -> None:
        """Append in two steps."""
        super().append(session_id, expected_seq, messages)
        super().append(session_id, expected_seq + len(messages), [], records)


class Forgiving(InMemoryStore):
    """Appends wherever the caller thinks the end is."""

    def append(
        self, session_id: str, expected_seq: int, messages: Sequence[StoredMessage], records: Sequence[Record] = ()
    ) -> None:
        """Number the messages anew."""
        end = max(self.head(session_id)[0], min(expected_seq, 0))
        moved = [replace(message, seq=seq) for seq, message in enumerate(messages, end)]
        super().append(session_id, end, moved, records)


class Trimming(InMemoryStore):
    """Takes ids that differ in spaces for one."""

    def _find(self, session_id: str) -> object:  # type: ignore[override]
        return super()._find(session_id.strip())


class Lossy(InMemoryStore):
    """Replaces what UTF-8 can't hold."""

    def append(
        self, session_id: str, expected_seq: int, messages: Sequence[StoredMessage], records: Sequence[Record] = ()
    ) -> None:
        """Write question marks."""
        held = [replace(each, payload=each.payload.encode("utf-8", "replace").decode()) for each in messages]
        super().append(session_id, expected_seq, held, records)


class Unpaged(InMemoryStore):
    """Gives the first page whenever it is asked."""

    def search(self, session_id: str, query: str, limit: int, after: SearchMatch | None = None) -> list[SearchMatch]:
        """Forget what came before, unless all of it did."""
        first = super().search(session_id, query, limit)
        return first if super().search(session_id, query, limit, after) else []


class Capped(InMemoryStore):
    """Finds no more than a page."""

    def search(self, session_id: str, query: str, limit: int, after: SearchMatch | None = None) -> list[SearchMatch]:
        """Find ten."""
        return super().search(session_id, query, min(limit, 10), after)


class Strict(InMemoryStore):
    """Wants every word."""

    def search(self, session_id: str, query: str, limit: int, after: SearchMatch | None = None) -> list[SearchMatch]:
        """Take one word after the other as a phrase."""
        return super().search(session_id, " ".join(f'"{word}"' for word in query.split()), limit, after)


class Late(InMemoryStore):
    """Finds what was said before the newest message."""

    def search(self, session_id: str, query: str, limit: int, after: SearchMatch | None = None) -> list[SearchMatch]:
        """Leave the newest out."""
        newest = self.head(session_id)[0] - 1
        return [found for found in super().search(session_id, query, limit, after) if found.seq != newest]


class Shared(InMemoryStore):
    """Searches every session at once."""

    def search(self, session_id: str, query: str, limit: int, after: SearchMatch | None = None) -> list[SearchMatch]:
        """Look at the others where there is nothing."""
        names = [session_id, *(name for name, _ in self.sessions())]
        found = (super(Shared, self).search(name, query, limit, after) for name in names)
        return next(filter(None, found), [])


class Halfway(InMemoryStore):
    """Forgets one message after the other."""

    def forget(self, session_id: str, erasure: Erasure) -> None:
        """Stop where it fails."""
        for tombstone in erasure.tombstones:
            super().forget(session_id, Erasure(self.head(session_id), (tombstone,)))
        super().forget(session_id, replace(erasure, tombstones=()))


class Unchecked(InMemoryStore):
    """Forgets whatever came in between."""

    def forget(self, session_id: str, erasure: Erasure) -> None:
        """Expect what is there."""
        super().forget(session_id, replace(erasure, expected=self.head(session_id)))


class Remembering(InMemoryStore):
    """Searches what it indexed, whatever became of it."""

    def forget(self, session_id: str, erasure: Erasure) -> None:
        """Keep the index."""
        terms = self._find(session_id).terms
        super().forget(session_id, erasure)
        if session_id in self._sessions:
            self._sessions[session_id] = self._find(session_id)._replace(terms=terms)


@pytest.mark.parametrize(
    "broken",
    [
        *(Unordered, Exclusive, Repeating, Thrifty, Torn, Forgiving, Trimming, Lossy),
        *(Unpaged, Capped, Strict, Late, Shared),
        *(Halfway, Unchecked, Remembering),
    ],
)
def test_check_transcript_store_notices_when_a_promise_is_broken(broken: type[InMemoryStore]) -> None:
    """Each of these stores breaks one promise; the check says which."""
    with pytest.raises(AssertionError, match=r"\w+ \w+ \w+"):
        check_transcript_store(broken)


class Overwriting(InMemoryStore):
    """Keeps the last summary under an id."""

    def put(self, summary: Summary) -> None:
        """Forget the former one."""
        self._find(summary.session_id).summaries.pop(summary.summary_id, None)
        super().put(summary)


class Overlapping(InMemoryStore):
    """Returns summaries that reach out of the range."""

    def for_range(self, session_id: str, first_seq: int, last_seq: int) -> list[Summary]:
        """Look at the start only."""
        return [each for each in super().for_range(session_id, first_seq, 10**9) if each.first_seq <= last_seq]


class Sorting(InMemoryStore):
    """Answers in an order of its own."""

    def by_id(self, session_id: str, summary_ids: Sequence[str]) -> list[Summary]:
        """Sort by id."""
        return super().by_id(session_id, sorted(summary_ids))


class Hoarding(InMemoryStore):
    """Removes the first of several."""

    def remove(self, session_id: str, summary_ids: Sequence[str]) -> None:
        """Take one."""
        super().remove(session_id, summary_ids[:1])


@pytest.mark.parametrize("broken", [Overwriting, Overlapping, Sorting, Hoarding])
def test_check_summary_store_notices_when_a_promise_is_broken(broken: type[InMemoryStore]) -> None:
    """Each of these stores breaks one promise; the check says which."""
    with pytest.raises(AssertionError, match=r"\w+ \w+ \w+"):
        check_summary_store(broken)


class Generous(InMemoryStore):
    """Gives a claim to everybody."""

    def claim(self, session_id: str, kind: str, holder: str, now: float, ttl_seconds: float) -> bool:
        """Give it."""
        return super().claim(session_id, kind, "everybody", now, ttl_seconds) or bool(holder)


class Eternal(InMemoryStore):
    """Never takes a claim from the dead."""

    def claim(self, session_id: str, kind: str, holder: str, now: float, ttl_seconds: float) -> bool:
        """Keep it for ever."""
        return super().claim(session_id, kind, holder, now, ttl_seconds + 1e9)


class Meddling(InMemoryStore):
    """Lets anybody end a claim."""

    def release(self, session_id: str, kind: str, holder: str) -> None:
        """End it, whoever has it."""
        for one in ("a", holder):
            super().release(session_id, kind, one)


class Narrow(InMemoryStore):
    """Has one claim for all kinds of work."""

    def claim(self, session_id: str, kind: str, holder: str, now: float, ttl_seconds: float) -> bool:
        """Pass the kind over."""
        return super().claim(session_id, kind and "any", holder, now, ttl_seconds)


@pytest.mark.parametrize("broken", [Generous, Eternal, Meddling, Narrow])
def test_check_claims_notices_when_a_promise_is_broken(broken: type[InMemoryStore]) -> None:
    """Each of these stores breaks one promise; the check says which."""
    with pytest.raises(AssertionError, match=r"\w+ \w+ \w+"):
        check_claims(broken)


def test_scripted_llm_keeps_the_promises_of_language_models() -> None:
    """The public check of the port passes, over a window and over failures."""
    kinds = ("unreachable", "rate-limit", "refused", "cut", "empty")
    failing = [lambda kind=kind: ScriptedLLM(LLMError(kind, "it failed")) for kind in kinds]
    check_llm(lambda: ScriptedLLM("Blue.", window_tokens=4_000), window_tokens=4_000, failing=failing)


class Talking:
    """A language model that answers as it is told, well or badly."""

    def __init__(self, answer: object, name: str = "talking") -> None:
        self.name = name
        self._answer = answer

    def complete(self, _system: str, _prompt: str, _max_output_tokens: int) -> Completion:
        """Answer, or raise."""
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer  # type: ignore[return-value]  # that is what is tried


FINE = Completion("Blue.", 9, 2)


@pytest.mark.parametrize(
    "broken",
    [
        lambda: Talking(FINE, name=""),
        lambda: Talking(FINE, name="two\nlines"),
        lambda: Talking(FINE, name=str(random.random())),  # noqa: S311  # another name each time
        lambda: Talking("Blue."),
        lambda: Talking(Completion(" \n", 9, 0)),
        lambda: Talking(Completion("Blue.", -1, 2)),
        lambda: Talking(Completion("Blue.", 9, 2.5)),  # type: ignore[arg-type]  # that is what is tried
    ],
)
def test_check_llm_notices_when_a_promise_is_broken(broken: Callable[[], Talking]) -> None:
    """Each of these models breaks one promise; the check says which."""
    with pytest.raises(AssertionError, match=r"\w+ \w+ \w+"):
        check_llm(broken)


def test_check_llm_notices_when_a_failure_is_answered() -> None:
    """An error's text as an answer, a foreign exception, an answer to a prompt that can't fit."""
    for error in (None, RuntimeError("the socket is gone")):
        with pytest.raises(AssertionError, match="failure 0"):
            check_llm(lambda: Talking(FINE), failing=[lambda error=error: Talking(error or FINE)])  # type: ignore[misc]
    with pytest.raises(AssertionError, match="ContextOverflowError"):
        check_llm(lambda: Talking(FINE), window_tokens=1_000)


class Letters:
    """Counts a letter as a token: a counter that keeps its promises."""

    name = "letters"
    certificate: Certificate = "none"

    def count(self, text: str) -> int:
        """Return the letters."""
        return len(text)

    def upper_bound(self, text: str) -> int:
        """Return as many."""
        return len(text)


class Encoding(Letters):
    """Raises on lone surrogates."""

    def count(self, text: str) -> int:
        """Encode."""
        return len(text.encode())


class Crossed(Letters):
    """Has a bound below its estimate."""

    def upper_bound(self, text: str) -> int:
        """Return less."""
        return len(text) // 2


class Nameless(Letters):
    """Has a certificate of its own."""

    certificate = "sure"  # type: ignore[assignment]


def test_check_token_counter_passes_when_the_promises_are_kept() -> None:
    """The smallest counter there is."""
    check_token_counter(Letters())


@pytest.mark.parametrize(
    ("broken", "error"), [(Encoding, UnicodeEncodeError), (Crossed, AssertionError), (Nameless, AssertionError)]
)
def test_check_token_counter_notices_when_a_promise_is_broken(broken: type[Letters], error: type[Exception]) -> None:
    """A bound below the count, a raise on odd text, an unknown certificate."""
    with pytest.raises(error):
        check_token_counter(broken())


def test_made_message_and_summary_say_what_is_asked_of_them() -> None:
    """The helpers' defaults: the cost follows from the text unless it is given."""
    message = made_message(3, "eight...", role="tool", turn=1, result_ids=("call_1",))
    assert (message.seq, message.turn, message.role, message.result_ids) == (3, 1, "tool", ("call_1",))
    assert message.cost == message.sent_cost == Cost(2, 8)
    assert made_message(0, "x", bound=40).cost == Cost(10, 40)
    assert made_summary("a", 2, 5, session_id="t").session_id == "t"
