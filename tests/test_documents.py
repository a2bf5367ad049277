"""The caps of document 001 around a session: documents cut and deduplicated, history and total held, no turn lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.core import events

if TYPE_CHECKING:
    from squidbot.core.events import Event


class Heard:
    """An extension that keeps the events it is told."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    @squidbot.hookimpl
    def on_event(self, event: Event) -> None:
        """Keep it."""
        self.events.append(event)


def head(budget: dict[str, object], memory: str = "", summary: str = "") -> list[str]:
    """Return the documents as they are sent, without their fences."""
    session = squidbot.load({"budget": budget}).session("s")
    messages = session.assemble("Hello", memory=memory, summary=summary).messages
    return ["\n".join(str(message["content"]).split("\n")[1:-1]) for message in messages[:-1]]


def words(count: int, word: str = "word") -> str:
    """Return that many words in lines of ten, the newest last."""
    return "\n".join(
        " ".join(f"{word}{n}" for n in range(start, min(start + 10, count))) for start in range(0, count, 10)
    )


def talk(session: squidbot.Session, turns: int, text: str = "one two three four five six seven eight") -> None:
    """Record turns of sixteen words each."""
    for _ in range(turns):
        session.record(session.assemble(text).incoming, text)


# -- documents -------------------------------------------------------------------------------------------------------


def test_memory_is_cut_to_its_cap_when_nothing_is_set() -> None:
    """300 words by default, the newest kept, exactly (C7, Q-05)."""
    (sent,) = head({}, memory=words(450))
    assert sent.split() == words(450).split()[150:]


def test_summary_is_cut_to_its_cap_when_nothing_is_set() -> None:
    """V14 through the face: 501 words, the newest 500 kept."""
    (sent,) = head({}, summary=words(501))
    assert sent.split() == words(501).split()[1:]


@pytest.mark.parametrize(("key", "place"), [("context_memory_max_words", 0), ("context_summary_max_words", 1)])
def test_document_caps_hold_when_they_are_set(key: str, place: int) -> None:
    """Each cap cuts its own document and leaves the other."""
    sent = head({key: 20}, memory=words(100, "m"), summary=words(100, "s"))
    assert len(sent[place].split()) == 20
    assert len(sent[1 - place].split()) == 100


def test_document_caps_are_tokens_when_the_mode_says_so() -> None:
    """The names keep "words" in either unit; the counter of the session counts."""
    budget: dict[str, object] = {"context_budget_mode": "tokens", "context_memory_max_words": 40, "counter": "chars4"}
    (sent,) = head(budget, memory=words(100))
    assert 30 <= len(sent) // 4 <= 40
    assert words(100).endswith(sent)


def test_summary_loses_the_lines_that_memory_has() -> None:
    """V15 through the face; switched off, both are sent whole."""
    memory, summary = "* user prefers pytest", "- User prefers    pytest\n- deploys on Friday"
    assert head({}, memory, summary) == [memory, "- deploys on Friday"]
    assert head({"context_dedupe_summary_against_memory": False}, memory, summary) == [memory, summary]


def test_summary_is_left_out_when_memory_says_all_of_it() -> None:
    """No empty section, and no heading without text below it."""
    assert head({}, "- a b", "## Conversation Summary\n* A  b\n") == ["- a b"]


def test_documents_stay_as_they_were_until_the_next_event() -> None:
    """A changed memory document is announced at the tail, not swapped in the middle (D3)."""
    session = squidbot.load().session("s")
    session.record(session.assemble("Hello", memory="likes tea").incoming, "Hi.")
    before = session.assemble("And?", memory="likes tea").messages
    session.record(session.assemble("And?", memory="likes tea").incoming, "So.")
    after = session.assemble("Then?", memory="likes coffee").messages
    assert after[: len(before)] == before
    assert "likes coffee" in str(after[-1])


# -- history and total -------------------------------------------------------------------------------------------------


def history_words(session: squidbot.Session, memory: str = "", summary: str = "") -> int:
    """Return the words of the next request that are not documents."""
    messages = session.assemble("one two", memory=memory, summary=summary).messages
    said = [str(message["content"]) for message in messages]
    return sum(len(text.split()) for text in said if not text.startswith(("<squidbot memory", "<squidbot summary")))


def test_history_has_no_cap_when_none_is_set() -> None:
    """Without a context_ key the window alone decides (C7)."""
    session = squidbot.load().session("s", window_tokens=128_000)
    talk(session, 200)
    assert history_words(session) == 200 * 16 + 2


def test_history_cap_holds_when_the_policy_is_on() -> None:
    """`budget.policy` alone puts the defaults in force: 2,500 words of history."""
    session = squidbot.load({"budget": {"policy": True}}).session("s", window_tokens=128_000)
    talk(session, 200)
    assert 500 < history_words(session) <= 2500


@pytest.mark.parametrize("system", ["", "Be short. " * 400])
def test_history_cap_holds_when_it_is_set(system: str) -> None:
    """The host's system text is outside of it: a long one takes no history away."""
    session = squidbot.load({"budget": {"context_history_max_words": 400}}).session("s", window_tokens=32_000)
    for _ in range(60):
        session.record(session.assemble("one two three four five six", system=system).incoming, "seven eight nine ten")
    sent = [str(message["content"]) for message in session.assemble("one two", system=system).messages]
    history = sum(len(text.split()) for text in sent if text != system)
    assert 100 < history <= 400


def test_total_cap_holds_when_documents_leave_less() -> None:
    """Memory and summary of 200 words in a total of 500 leave 300 for history."""
    budget = {"context_history_max_words": 500, "context_total_max_words": 500}
    session = squidbot.load({"budget": budget}).session("s", window_tokens=32_000)
    memory, summary = words(120, "m"), words(80, "s")
    for _ in range(40):
        asked = session.assemble("one two three four five six", memory=memory, summary=summary)
        session.record(asked.incoming, "seven eight nine ten")
    assert 50 < history_words(session, memory, summary) <= 300


def test_caps_count_tokens_when_the_mode_says_so() -> None:
    """The same cap keeps less history in tokens than in words, at the fullest moment of a talk."""
    sent = {}
    for mode in ("words", "tokens"):
        budget: dict[str, object] = {"context_budget_mode": mode, "context_history_max_words": 400}
        session = squidbot.load({"budget": budget}).session("s", window_tokens=32_000)
        said = []
        for _ in range(60):
            talk(session, 1)
            said.append(history_words(session))
        sent[mode] = max(said)
    assert 0 < sent["tokens"] < sent["words"] <= 400


def test_newest_message_is_sent_when_it_alone_passes_the_caps() -> None:
    """Caps give way, the window does not (V13): the user's text is whole, and `budget-overrun` says so."""
    heard = Heard()
    session = squidbot.load({"budget": {"policy": True}}, extensions=[heard]).session("s", window_tokens=32_000)
    talk(session, 3)
    text = words(3000)
    assert session.assemble(text).messages[-1] == {"role": "user", "content": text}
    overrun = [event for event in heard.events if event.name == events.BUDGET_OVERRUN]
    assert [event.cause for event in overrun] == ["the newest messages need more than the 2,500 words of [budget]"]


def test_window_holds_when_the_caps_would_allow_more() -> None:
    """The physical guard is a typed error, whatever the caps say."""
    budget = {"context_history_max_words": 100_000, "context_total_max_words": 100_000}
    session = squidbot.load({"budget": budget}).session("s", window_tokens=4096)
    with pytest.raises(squidbot.BudgetError):
        session.assemble(words(6000))
