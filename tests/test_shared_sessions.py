"""One session in several threads: no call fails, nothing is lost, and their order alone says what is sent."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.plugins.host import HostRuntime, call_tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from squidbot.core.events import Event

THREADS = 8
NOW = 1_790_000_000.0


def turn(session: squidbot.Session, thread: int, number: int) -> bytes:
    """Ask and record, as a host does, and return what was sent."""
    text = f"{thread}-{number} " + "what stands in src/part.py and why? " * 6
    made = session.assemble(text, now=NOW + number)
    session.record(made.incoming, f"answer {thread}-{number} " + "because of the parser " * 8, now=NOW + number)
    return json.dumps(made.messages).encode()


def shared(turns: int) -> squidbot.Session:
    """Have as many threads as there are ask in one session at once, and return it."""
    session = squidbot.load({}).session("s", window_tokens=4_096)
    with ThreadPoolExecutor(THREADS) as pool:
        asked = [pool.submit(turn, session, thread, number) for number in range(turns) for thread in range(THREADS)]
        for one in asked:
            one.result()
    return session


def said(session: squidbot.Session) -> Iterator[str]:
    """Yield how each message of a transcript begins."""
    store = session.wired.store
    messages = store.head(session.session_id)[0]
    for row in store.read(session.session_id, 0, messages):
        yield " ".join(str(json.loads(row.payload)["content"]).split()[: 1 + (row.role == "assistant")])


@pytest.mark.parametrize("turns", [6, pytest.param(500, marks=pytest.mark.slow)])
def test_threads_share_a_session(turns: int) -> None:
    """Each turn of each thread is answered and kept, once."""
    kept = sorted(said(shared(turns)))
    names = [f"{thread}-{number}" for thread in range(THREADS) for number in range(turns)]
    assert kept == sorted([*names, *(f"answer {name}" for name in names)])


def test_the_order_of_calls_alone_says_what_is_sent() -> None:
    """Threads that take turns send, byte for byte, what one thread sends."""
    order = [(place % THREADS, place // THREADS) for place in range(40)]
    alone = squidbot.load({}).session("s", window_tokens=4_096)
    wanted = [turn(alone, *one) for one in order]

    session = squidbot.load({}).session("s", window_tokens=4_096)
    sent: list[bytes] = []
    due = threading.Condition()

    def work(thread: int) -> None:
        for place in range(thread, len(order), THREADS):
            with due:
                due.wait_for(lambda place=place: len(sent) == place, 60)  # type: ignore[misc]
                sent.append(turn(session, *order[place]))
                due.notify_all()

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    assert sent == wanted
    assert len(json.loads(sent[-1])) < len(order)  # plans were made


def test_who_listens_may_call_the_session() -> None:
    """A listener, and a hook, are called within a call, and may make one: it waits for nobody."""
    heard: list[int] = []

    class Listens:
        """An extension that looks into the session that it is told of."""

        @squidbot.hookimpl
        def on_event(self, event: Event) -> None:
            if event.name == "context-assembled":
                heard.append(len(session.snapshots()))

    session = squidbot.load({}, extensions=[Listens()]).session("s")
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda thread: turn(session, thread, 0), range(THREADS)))
    assert heard == [0] * THREADS


def test_calls_that_belong_together_keep_others_out() -> None:
    """Who holds the lock of a session from the request to the answer has no turn of another's between them."""
    session = squidbot.load({}).session("s")

    def work(thread: int) -> None:
        with session.lock:
            turn(session, thread, 0)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    kept = list(said(session))
    assert [answer.split()[1] for answer in kept[1::2]] == kept[::2]


def test_a_smaller_window_of_a_session_waits_for_the_same_calls() -> None:
    """It is the same conversation."""
    session = squidbot.load({}).session("s")
    session.record(session.assemble("Hello").incoming, "Hello!")
    assert session.overflowed().lock is session.lock


def answered(threads: int) -> tuple[list[str], int]:
    """Return what eight calls of a tool answer, from so many threads, and how many messages are sent behind them."""

    def key(payload: Mapping[str, object]) -> object:
        return json.dumps(payload, sort_keys=True)

    hosted = HostRuntime(None, settings={}, host="test", form="openai.chat", key=key, budget=6_000)
    talk = hosted.conversation("talk")
    listed: list[dict[str, object]] = []
    for number in range(16):
        listed.append({"role": "user", "content": f"look at src/part_{number}.py " + "words and words " * 70})
        talk.before(listed)
        listed.append({"role": "assistant", "content": f"answer {number} " + "fine and well " * 90})
        talk.after(listed[-1])
    listed.append({"role": "user", "content": "search all of it"})
    talk.before(listed)
    calls = [
        {"id": f"c{one}", "type": "function", "function": {"name": "memory_search", "arguments": '{"query": "part"}'}}
        for one in range(THREADS)
    ]
    listed.append({"role": "assistant", "content": None, "tool_calls": calls})
    talk.after(listed[-1])
    with ThreadPoolExecutor(threads) as pool:
        session, query = hosted.conversation("talk").session, {"query": "answer"}
        told = list(pool.map(lambda _: call_tool(session, "memory_search", query), calls))
    listed += [{"role": "tool", "tool_call_id": f"c{one}", "content": text} for one, text in enumerate(told)]
    sent = talk.before(listed).messages
    hosted.close()
    return sorted(told), len(sent)


def test_tools_that_are_called_at_once_answer_as_those_called_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes its room of the next request before the next one looks."""
    monkeypatch.setattr("time.time", lambda: NOW)
    assert answered(THREADS) == answered(1)
