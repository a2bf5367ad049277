"""The caps of document 001 around a session: documents cut and deduplicated, history and total held, no turn lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.core import events

from .listeners import Heard

if TYPE_CHECKING:
    from pathlib import Path


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
    """Return the words of the next request that are raw history: no documents, no notes, no question."""
    messages = session.assemble("one two", memory=memory, summary=summary).messages[:-1]
    said = [str(message["content"]) for message in messages if message["role"] != "system"]
    ours = ("<squidbot memory", "<squidbot summary", "[s", "[m", "[continue", "[the conversation")
    return sum(len(text.split()) for text in said if not (text.startswith(ours) or " earlier messages" in text))


def test_history_has_no_cap_when_none_is_set() -> None:
    """Without a context_ key the window alone decides (C7)."""
    session = squidbot.load().session("s", window_tokens=128_000)
    talk(session, 200)
    assert history_words(session) == 200 * 16


def test_history_cap_holds_when_the_policy_is_on() -> None:
    """Q-06: `budget.policy` alone puts the defaults in force, 2,500 words of history."""
    session = squidbot.load({"budget": {"policy": True}}).session("s", window_tokens=128_000)
    talk(session, 170)
    assert history_words(session) == 312 * 8  # 2,496: another eight would be too many


@pytest.mark.parametrize("system", ["", "Be short. " * 400])
def test_history_cap_holds_when_it_is_set(system: str) -> None:
    """The host's system text is outside of it: a long one takes no history away."""
    session = squidbot.load({"budget": {"context_history_max_words": 400}}).session("s", window_tokens=32_000)
    for _ in range(60):
        session.record(session.assemble("one two three four five six", system=system).incoming, "seven eight nine ten")
    sent = [str(message["content"]) for message in session.assemble("one two", system=system).messages[:-1]]
    raw = [text for text in sent if text.startswith(("one", "seven"))]
    assert 390 < sum(len(text.split()) for text in raw) <= 400


def test_total_cap_holds_when_documents_leave_less() -> None:
    """Memory and summary of 200 words in a total of 500 leave 300 for history."""
    budget = {"context_history_max_words": 500, "context_total_max_words": 500}
    session = squidbot.load({"budget": budget}).session("s", window_tokens=32_000)
    memory, summary = words(120, "m"), words(80, "s")
    for _ in range(40):
        asked = session.assemble("one two three four five six", memory=memory, summary=summary)
        session.record(asked.incoming, "seven eight nine ten")
    assert 280 < history_words(session, memory, summary) <= 300
    made = session.assemble("one two", memory=memory, summary=summary)
    assert sum(len(str(message["content"]).split()) for message in made.messages[:-1]) - 2 * 7 <= 500  # their fences


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
    assert [event.cause for event in overrun] == ["the newest messages exceed the 2,500 words of [budget]"]


def test_window_holds_when_the_caps_would_allow_more() -> None:
    """The physical guard is a typed error, whatever the caps say."""
    budget = {"context_history_max_words": 100_000, "context_total_max_words": 100_000}
    session = squidbot.load({"budget": budget}).session("s", window_tokens=4096)
    with pytest.raises(squidbot.BudgetError):
        session.assemble(words(6000))


def sent_words(made: squidbot.Assembly) -> dict[str, int]:
    """Return the words of memory, summary and history of a request; the question is in none of them."""
    counts = {"memory": 0, "summary": 0, "history": 0}
    for message in made.messages[:-1]:
        text = str(message["content"])
        name = next((name for name in ("memory", "summary") if text.startswith(f"<squidbot {name}")), "history")
        counts[name] += len(text.split()) - (0 if name == "history" else 7)  # the marks around it
    return counts


@pytest.mark.parametrize(
    ("rule", "said", "expected"),
    [
        ("squidbot-v2", ("u", "a"), {"memory": 0, "summary": 0, "history": 6000}),
        ("ladder", ("u", "a"), {"memory": 300, "summary": 500, "history": 3700}),
        ("ladder", ("u", "u"), {"memory": 300, "summary": 500, "history": 6000}),
    ],
)
def test_two_newest_messages_of_three_thousand_words_in_a_total_of_4500(
    rule: str, said: tuple[str, str], expected: dict[str, int], tmp_path: Path
) -> None:
    """V13, Q-07 through a session on disk: what gives way by each rule, what is told, the same in another process."""
    heard = Heard()
    settings = {"store": {"path": str(tmp_path / "a.db")}, "budget": {"policy": True, "trim_rule": rule}}
    session = squidbot.load(settings, extensions=[heard]).session("s", window_tokens=64_000)
    for place, who in enumerate(said):
        text = f"w{place} " * 3000
        session.record({"role": "user", "content": text} if who == "u" else text)
    memory, summary = words(300, "m"), words(500, "s")
    made = session.assemble("and now?", memory=memory, summary=summary)
    found = sent_words(made)
    assert (found["memory"], found["summary"]) == (expected["memory"], expected["summary"])
    assert expected["history"] - 60 <= found["history"] <= expected["history"]
    told = [event.name for event in heard.events]
    assert (events.BUDGET_FALLBACK in told) == (rule == "squidbot-v2")
    assert told.count(events.BUDGET_OVERRUN) == 1
    again = squidbot.load(settings).session("s", window_tokens=64_000)
    assert again.assemble("and now?", memory=memory, summary=summary).messages == made.messages


def test_document_takes_its_place_at_once_under_the_caps() -> None:
    """Announced behind a message its words would be outside of them."""
    session = squidbot.load({"budget": {"policy": True}}).session("s", window_tokens=32_000)
    session.record(session.assemble("Hello", memory="likes tea").incoming, "Hi.")
    made = session.assemble("And?", memory="likes coffee")
    assert "likes coffee" in str(made.messages[0])
    assert all("is now" not in str(message) for message in made.messages)


def test_caps_in_tokens_count_words_where_the_counter_does_and_say_so_once(caplog: pytest.LogCaptureFixture) -> None:
    """Q-08: "single warning is logged", with no observer, too; no failure; a counter of tokens needs none."""
    for counter, warnings in (("words", 1), ("classes", 0)):
        heard = Heard()
        budget = {"context_budget_mode": "tokens", "counter": counter}
        session = squidbot.load({"budget": budget}, extensions=[heard]).session("s", window_tokens=32_000)
        talk(session, 5)
        assert [event.name for event in heard.events].count(events.BUDGET_FALLBACK) == warnings
        talk(squidbot.load({"budget": budget}).session("bare", window_tokens=32_000), 5)
        lines = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
        assert len([line for line in lines if line.startswith("session bare: caps are in tokens")]) == warnings
        caplog.clear()
