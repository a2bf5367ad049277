"""squidbot beside what hosts ship themselves: time, room, and what is known of the beginning of a long conversation.

A fact is told in the first turn, another in the third; then of other things, until the conversation has as many tokens
as are wanted. At the end the model is asked for both, looks for them where it has a tool for it, and knows what it then
sees. The summarizer is the best that there could be: it repeats all that it is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks import agents
from benchmarks.agents import BUDGET, SAID
from benchmarks.clocks import Times
from benchmarks.host import Host
from benchmarks.report import Bar, Result, Table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from benchmarks.agents import Agent

__all__ = ["measure"]

FACTS = {
    0: "The walrus at the harbour is called Brunhilde.",
    2: "The key of the boathouse hangs behind the ivory clock.",
}
QUERIES = {0: "walrus harbour called", 2: "key boathouse"}
NAMES = {0: "Brunhilde", 2: "ivory clock"}
# About what a token of English has.
TOKEN_CHARS = 4
LARGEST, KNOWN = "largest request, tokens (a quarter of its characters)", "facts known at the end, of 2"


class Rival(NamedTuple):
    """A program: what it is called, and what makes it in a folder."""

    name: str
    make: Callable[[Path], Agent]


def measure(history_tokens: int, folder: Path, progress: Callable[[str], None]) -> Result:
    """Measure each program whose packages are installed."""
    result = Result("rivals")
    columns: dict[str, dict[str, float]] = {}
    for rival in RIVALS:
        place = folder / rival.name
        place.mkdir()
        try:
            agent = rival.make(place)
        except ImportError as error:
            result.remarks.append(f"{rival.name}: {error}")
            continue
        progress(f"rivals: {rival.name}, {history_tokens:,} tokens")
        columns[rival.name] = _measured(agent, place, history_tokens)
    if columns:
        rows = tuple((row, tuple(figures[row] for figures in columns.values())) for row in next(iter(columns.values())))
        title = f"A conversation of {history_tokens:,} tokens, requests to be at most {BUDGET:,} with their answer"
        result.tables.append(Table(title, tuple(columns), rows))
    for name, figures in columns.items():
        if name.startswith("squidbot"):
            result.bars.append(Bar(f"{name}: facts known of 2", figures[KNOWN], at_least=2))
            result.bars.append(Bar(f"{name}: largest request, tokens", figures[LARGEST], at_most=BUDGET))
    return result


def _measured(agent: Agent, place: Path, history_tokens: int) -> dict[str, float]:
    host, times, said_chars, turns = Host(), Times(), 0, 0
    agent.seen.keeps = True
    while said_chars < TOKEN_CHARS * history_tokens:
        text = FACTS.get(turns, "") or f"{turns}: {host.question().text}"
        times.of(lambda: agent.turn(text))  # noqa: B023  # called at once
        said_chars += len(text) + len(SAID)
        turns += 1
    last = Times()
    last.wall, last.cpu = times.wall[-20:], times.cpu[-20:]
    known = sum(_knows(agent, number) for number in FACTS)
    agent.close()
    size_bytes = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
    return {
        "turns": turns,
        "a turn, wall ms, p50 of the last 20": last.wall_ms(0.5),
        LARGEST: agent.seen.longest_chars // TOKEN_CHARS,
        "kB said": said_chars / 1e3,
        "kB on disk": size_bytes / 1e3,
        KNOWN: known,
    }


def _knows(agent: Agent, number: int) -> bool:
    """Ask for a fact, and say whether the model sees it then."""
    agent.seen.asked = QUERIES[number]
    agent.turn("What was that again?")
    return NAMES[number] in agent.seen.text


def _summarizing(_: Path) -> Agent:
    """Return LangChain with its own middleware, which keeps the conversation in memory."""
    from langchain.agents.middleware import SummarizationMiddleware  # noqa: PLC0415  # a host is imported where measured
    from langchain_core.language_models import FakeListChatModel  # noqa: PLC0415

    class Repeating(FakeListChatModel):
        def _call(self, messages: list[Any], *_: object, **__: object) -> str:
            return "\n".join(str(each.content) for each in messages)

    shipped = SummarizationMiddleware(Repeating(responses=[]), trigger=("tokens", BUDGET - 1_000))
    return agents.langchain(None, others=[shipped])


def _session(place: Path) -> Agent:
    """Return the OpenAI Agents SDK with the session that its own pages show first."""
    from agents import SQLiteSession  # noqa: PLC0415

    return agents.openai_agents(None, session=SQLiteSession(agents.TALK, place / "sessions.db"))


def _harness(place: Path) -> Agent:
    """Return pydantic-ai with its harness, as the page of its conversation search sets it up."""
    from pydantic_ai_harness import (  # noqa: PLC0415
        ConversationSearch,
        SlidingWindowCompaction,
        StepPersistence,
    )
    from pydantic_ai_harness.conversation_search import SnapshotHistorySource  # noqa: PLC0415
    from pydantic_ai_harness.step_persistence import SqliteStepStore  # noqa: PLC0415

    store = SqliteStepStore(database=str(place / "sessions.db"))
    search = ConversationSearch(SnapshotHistorySource(store), scope="conversation")
    window = SlidingWindowCompaction(max_tokens=BUDGET - 1_000, keep_tokens=BUDGET // 2)
    return agents.pydantic_ai(None, others=[StepPersistence(store=store), search, window])


RIVALS = (
    Rival("squidbot in LangChain", lambda place: agents.langchain(place / "squid.db")),
    Rival("SummarizationMiddleware", _summarizing),
    Rival("squidbot in OpenAI Agents", lambda place: agents.openai_agents(place / "squid.db")),
    Rival("SQLiteSession", _session),
    Rival("squidbot in pydantic-ai", lambda place: agents.pydantic_ai(place / "squid.db")),
    Rival("pydantic-ai-harness", _harness),
)
