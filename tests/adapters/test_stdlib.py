"""The stores in memory, and that the public checks notice a store or counter that breaks a promise."""

# the arguments of any method
# ruff: noqa: ANN401  # the arguments of any method
from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.errors import LLMError, StoreError
from squidbot.core.messages import Completion, Cost, Erasure, Record
from squidbot.core.recall.across import search_each
from squidbot.testing import (
    check_claims,
    check_finds,
    check_llm,
    check_search_across,
    check_summary_store,
    check_token_counter,
    check_transcript_store,
    made_message,
    made_summary,
)
from squidbot.testing.models import ScriptedLLM

from .mutants import mutant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.core.messages import SearchMatch, SessionMatch, StoredMessage, Summary
    from squidbot.core.ports import Certificate


@pytest.mark.parametrize("check", [check_transcript_store, check_summary_store, check_claims, check_search_across])
def test_in_memory_store_keeps_the_promises_of_its_ports(check: Callable[..., None]) -> None:
    """The public checks of the ports pass."""
    check(InMemoryStore)


def test_in_memory_store_finds_sessions_by_their_records() -> None:
    """The public check of the port passes, and notices a store that passes the kind over."""
    check_finds(InMemoryStore)

    careless = mutant(
        InMemoryStore,
        "sessions_with",
        lambda _, true, kind, words: sorted({*true(kind, words), *true("plan", words)}),
    )
    with pytest.raises(AssertionError, match=r"oldest first|another kind"):
        check_finds(careless)


def test_many_sessions_are_searched_in_any_store() -> None:
    """One after the other, where a store can't search them at once; and no session's order of results changes."""

    class Plain(InMemoryStore):
        def search_across(
            self, session_ids: Sequence[str], query: str, limit: int, after: SessionMatch | None = None
        ) -> list[SessionMatch]:
            return search_each(self, session_ids, query, limit, after)

    store = Plain()
    for name in ("old", "new"):
        store.append(name, 0, [made_message(seq, f"tea {'walrus ' * (seq % 3)}{seq}") for seq in range(200)])
    whole = store.search_across(["old", "new"], "tea walrus", 1_000)
    assert [match for match in whole if match.session_id == "new"] == [
        ("new", *match) for match in store.search("new", "tea walrus", 1_000)
    ]
    assert whole[0].session_id == "new", "of equals, those of the later session come first"
    pages = store.search_across(["old", "new"], "tea walrus", 150)
    while page := store.search_across(["old", "new"], "tea walrus", 150, pages[-1]):
        pages += page
    assert pages == whole
    assert len(whole) == 400

    mixed = mutant(InMemoryStore, "search_across", lambda _, true, names, *more: true(["other", *names], *more))
    with pytest.raises(AssertionError, match="as in one session"):
        check_search_across(mixed)


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
    with pytest.raises(StoreError, match=r"another writer.*'s' has 1 message, not 0; nothing was written: read"):
        store.append("s", 0, [made_message(0)])


def _numbered_anew(store: InMemoryStore, true: Callable[..., None], session: str, seq: int, *more: Any) -> None:
    """Append wherever the caller thinks the end is."""
    said, *records = more
    end = max(store.head(session)[0], min(seq, 0))
    true(session, end, [replace(message, seq=at) for at, message in enumerate(said, end)], *records)


def _in_two_steps(_: InMemoryStore, true: Callable[..., None], session: str, seq: int, *more: Any) -> None:
    """Store messages before the records are looked at."""
    true(session, seq, more[0])
    true(session, seq + len(more[0]), [], *more[1:])


def _in_question_marks(_: InMemoryStore, true: Callable[..., None], session: str, seq: int, *more: Any) -> None:
    """Replace what UTF-8 can't hold."""
    held = [replace(each, payload=each.payload.encode("utf-8", "replace").decode()) for each in more[0]]
    true(session, seq, held, *more[1:])


def _one_by_one(store: InMemoryStore, true: Callable[..., None], session: str, erasure: Erasure) -> None:
    """Forget one message after the other, up to where it fails."""
    for tombstone in erasure.tombstones:
        true(session, Erasure(store.head(session), (tombstone,)))
    true(session, replace(erasure, tombstones=()))


def _still_indexed(store: InMemoryStore, true: Callable[..., None], session: str, erasure: Erasure) -> None:
    """Search what was indexed, whatever became of it."""
    terms = store._find(session).terms
    true(session, erasure)
    if session in store._sessions:
        store._sessions[session] = store._find(session)._replace(terms=terms)


def _thrifty(_: InMemoryStore, true: Callable[..., list[StoredMessage]], *asked: Any) -> list[StoredMessage]:
    """Stop before the message that passes the budget."""
    found = true(*asked)
    return found if sum(message.cost.bound for message in found) <= asked[1] else found[1:]


def _overwriting(store: InMemoryStore, true: Callable[..., None], summary: Summary) -> None:
    """Keep the last summary under an id."""
    store._find(summary.session_id).summaries.pop(summary.summary_id, None)
    true(summary)


def _everywhere(store: InMemoryStore, true: Callable[..., list[SearchMatch]], name: str, *asked: Any) -> object:
    """Search the other sessions where there is nothing in this one."""
    names = [name, *(other for other, _ in store.sessions())]
    return next(filter(None, (true(each, *asked) for each in names)), [])


def _first_page(_: InMemoryStore, true: Callable[..., list[SearchMatch]], *asked: Any) -> object:
    """Give the first page whenever there is another."""
    return true(*asked[:3]) if true(*asked) else []


def _before_newest(store: InMemoryStore, true: Callable[..., list[SearchMatch]], name: str, *asked: Any) -> object:
    """Leave the newest message out."""
    return [found for found in true(name, *asked) if found.seq != store.head(name)[0] - 1]


# By the public check that has to notice it: a method, and what stands in its place.
FAULTS: list[tuple[Callable[..., None], str, Callable[..., object]]] = [
    (check_transcript_store, "read", lambda _, true, *asked: sorted(true(*asked), key=lambda each: each.payload)),
    (check_transcript_store, "read", lambda _, true, name, first, last: true(name, first, last - 1)),
    (check_transcript_store, "pick", lambda _, true, name, seqs: [one for seq in seqs for one in true(name, [seq])]),
    (check_transcript_store, "newest", _thrifty),
    (check_transcript_store, "append", _in_two_steps),
    (check_transcript_store, "append", _numbered_anew),
    (check_transcript_store, "append", _in_question_marks),
    (check_transcript_store, "_find", lambda _, true, name: true(name.strip())),
    (check_transcript_store, "search", _first_page),
    (check_transcript_store, "search", lambda _, true, name, text, most, *on: true(name, text, min(most, 10), *on)),
    (
        check_transcript_store,
        "search",
        lambda _, true, name, text, *on: true(name, " ".join(f'"{word}"' for word in text.split()), *on),
    ),
    (check_transcript_store, "search", _before_newest),
    (check_transcript_store, "search", _everywhere),
    (check_transcript_store, "forget", _one_by_one),
    (check_transcript_store, "forget", lambda it, true, name, each: true(name, replace(each, expected=it.head(name)))),
    (check_transcript_store, "forget", _still_indexed),
    (check_transcript_store, "kinds", lambda _, true, name: dict.fromkeys(true(name), 1)),
    (check_transcript_store, "older_than", lambda _, true, time: true(time)[::-1]),
    (check_transcript_store, "older_than", lambda _, true, time: true(time + 3_600)),
    (check_transcript_store, "drop_if_older", lambda _, true, name, time: true(name, time + 3_600)),
    (check_transcript_store, "drop_if_older", lambda it, _, name, __: it.drop(name) or True),
    (check_transcript_store, "drop_if_older", lambda it, _, name, time: (name, time) in it.older_than(time)),
    (check_summary_store, "put", _overwriting),
    (
        check_summary_store,
        "for_range",
        lambda _, true, name, first, last: [each for each in true(name, first, 10**9) if each.first_seq <= last],
    ),
    (check_summary_store, "by_id", lambda _, true, name, ids: true(name, sorted(ids))),
    (check_summary_store, "remove", lambda _, true, name, ids: true(name, ids[:1])),
    (check_claims, "claim", lambda _, true, *asked: true(*asked[:2], "everybody", *asked[3:]) or bool(asked[2])),
    (check_claims, "claim", lambda _, true, *asked: true(*asked[:4], asked[4] + 1e9)),
    (check_claims, "claim", lambda _, true, name, kind, *asked: true(name, kind and "any", *asked)),
    (check_claims, "release", lambda _, true, *asked: [true(*asked[:2], holder) for holder in ("a", asked[2])]),
]


@pytest.mark.parametrize(("check", "name", "act"), FAULTS)
def test_check_notices_a_store_that_breaks_a_promise(
    check: Callable[..., None], name: str, act: Callable[..., object]
) -> None:
    """Each of these stores breaks one promise; the check says which."""
    with pytest.raises(AssertionError, match=r"\w+ \w+ \w+"):
        check(mutant(InMemoryStore, name, act))


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


def test_check_token_counter_passes_when_the_promises_are_kept() -> None:
    """The smallest counter there is."""
    check_token_counter(Letters())


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"count": lambda _, text: len(text.encode())}, UnicodeEncodeError),
        ({"upper_bound": lambda _, text: len(text) // 2}, AssertionError),
        ({"certificate": "sure"}, AssertionError),
    ],
)
def test_check_token_counter_notices_when_a_promise_is_broken(
    changed: dict[str, object], error: type[Exception]
) -> None:
    """A raise on odd text, a bound below the count, an unknown certificate."""
    with pytest.raises(error):
        check_token_counter(type("Broken", (Letters,), changed)())


def test_check_token_counter_says_to_pass_a_counter_if_it_gets_a_class_or_a_factory() -> None:
    """Other checks take a factory; a raw TypeError would not say what to do."""
    for wrong in (Letters, Letters.count):
        with pytest.raises(AssertionError, match=r"^pass a counter, such as check_token_counter\(Mine\(\)\): got "):
            check_token_counter(wrong)  # type: ignore[arg-type]


def test_made_message_and_summary_say_what_is_asked_of_them() -> None:
    """The helpers' defaults: the cost follows from the text unless it is given."""
    message = made_message(3, "eight...", role="tool", turn=1, result_ids=("call_1",))
    assert (message.seq, message.turn, message.role, message.result_ids) == (3, 1, "tool", ("call_1",))
    assert message.cost == message.sent_cost == Cost(2, 8)
    assert made_message(0, "x", bound=40).cost == Cost(10, 40)
    assert made_summary("a", 2, 5, session_id="t").session_id == "t"
