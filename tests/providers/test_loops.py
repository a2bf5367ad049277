"""The loops of the examples, with the real SDKs against a server that enforces the providers' rules."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

import squidbot
from tests import example_programs

from .script import Call, Text, saying
from .wire import KEY, Providers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from types import ModuleType

    from .script import Json

# Each example, the form of its messages, its path at the provider, and the clients that it is used with.
LOOPS = {
    "with_openai": ("openai.chat", "/v1/chat/completions", "OpenAI", "AsyncOpenAI"),
    "with_anthropic": ("anthropic.messages", "/v1/messages", "Anthropic", "AsyncAnthropic"),
}
MOST_LINES = 15
LOOK = Call("history", json.dumps({"action": "search", "query": "Heron"}), "toolu_1")
ANSWER = "She is called Heron, as you said."


def program(name: str) -> ModuleType:
    """Return an example, imported."""
    pytest.importorskip(name.removeprefix("with_"), exc_type=ImportError)
    return example_programs.program(name)


@contextmanager
def talk(name: str, providers: Providers) -> Iterator[tuple[ModuleType, squidbot.Session, dict[str, Any]]]:
    """Yield an example, a session, and what its clients are made with."""
    form, *_ = LOOPS[name]
    url = providers.openai_url if form == "openai.chat" else providers.url
    with squidbot.load({}) as engine:
        session = engine.session("harbour", window_tokens=32_000, form=form)
        made = program(name)
        made.MODEL = "tiny"  # type: ignore[attr-defined]  # the server's
        yield made, session, {"api_key": KEY, "base_url": url, "max_retries": 0}


def client_of(made: ModuleType, name: str, given: dict[str, Any]) -> Any:  # noqa: ANN401  # of an SDK
    """Return an SDK's client."""
    return getattr(made, name)(**given)


def said(session: squidbot.Session) -> list[str]:
    """Return the roles of what is stored, and the text of the last message."""
    rows = session.core.context.read(0, 99)
    last: Json = json.loads(rows[-1].payload)
    content: Any = last["content"]
    text = content if isinstance(content, str) else "".join(block.get("text", "") for block in content)
    return [*(row.role for row in rows), text]


async def _whole(pieces: AsyncIterator[str]) -> str:
    return "".join([piece async for piece in pieces])


def asked(made: ModuleType, way: str, name: str, given: dict[str, Any], session: squidbot.Session) -> str:
    """Return the answer to a question, by one of the loops."""
    _, _, plain, awaited = LOOPS[name]
    act = getattr(made, way)
    if way in {"turn", "stream"}:
        with client_of(made, plain, given) as client:
            return "".join(act(client, session, "My boat is called Heron."))

    async def call() -> str:
        async with client_of(made, awaited, given) as client:
            answer = act(client, session, "My boat is called Heron.")
            return await (_whole(answer) if way == "astream" else answer)

    return asyncio.run(call())


@pytest.mark.parametrize("way", ["turn", "aturn", "stream", "astream"])
@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_of_one_s_own_answers_with_tools(name: str, way: str, providers: Providers) -> None:
    """The model looks something up first; all of it is stored, and the provider's count is known."""
    providers.script = saying([LOOK], ANSWER)
    with talk(name, providers) as (made, session, given):
        assert asked(made, way, name, given, session) == ANSWER
        assert said(session) == ["user", "assistant", "tool", "assistant", ANSWER]
        sent = providers.bodies(LOOPS[name][1])
        assert [len(body["messages"]) for body in sent] == [1, 3]  # type: ignore[arg-type]  # lists
        system = getattr(made, "SYSTEM", "")
        assert [body.get("system", "") for body in sent] == [system] * 2
        assert session.assemble("Thanks!", system=system, tools=session.tools).report.certificate == "anchored"
        assert asked(made, way, name, given, session) == ANSWER  # the provider takes its answer back
    assert providers.refused == []


@pytest.mark.parametrize("way", ["stream", "astream"])
@pytest.mark.parametrize("name", LOOPS)
def test_what_came_of_a_stream_that_is_cut_is_kept(name: str, way: str, providers: Providers) -> None:
    """Nobody reads on after the first piece."""
    providers.script = saying([Text("word " * 400)])
    with talk(name, providers) as (made, session, given):
        _, _, plain, awaited = LOOPS[name]

        async def cut() -> str:
            async with client_of(made, awaited, given) as client:
                pieces = made.astream(client, session, "Ahoy!")
                first = ""
                while not first:  # OpenAI begins with an empty one
                    first = await anext(pieces)
                await pieces.aclose()
                return first

        if way == "astream":
            first = asyncio.run(cut())
        else:
            with client_of(made, plain, given) as client:
                pieces = made.stream(client, session, "Ahoy!")
                first = next(filter(None, pieces))
                pieces.close()
        assert first
        assert said(session) == ["user", "assistant", first]


@pytest.mark.parametrize("name", LOOPS)
def test_what_came_of_a_stream_whose_task_is_cancelled_is_kept(name: str, providers: Providers) -> None:
    """As a server does whose client has gone."""
    providers.script = saying([Text("word " * 4_000)])
    with talk(name, providers) as (made, session, given):
        came: list[str] = []
        has_come = asyncio.Event()

        async def read() -> None:
            try:
                async with client_of(made, LOOPS[name][3], given) as client:
                    async for piece in made.astream(client, session, "Ahoy!"):
                        came.append(piece)
                        has_come.set()
            finally:
                has_come.set()

        async def cancel() -> None:
            task = asyncio.create_task(read())
            await has_come.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(cancel())
        assert said(session)[:2] == ["user", "assistant"]
        assert said(session)[2].startswith("".join(came))


@pytest.mark.parametrize("name", LOOPS)
def test_each_loop_is_short(name: str) -> None:
    """Lines of code, without the sentence that says what it does."""
    made = program(name)
    for way in ("turn", "aturn", "stream", "astream"):
        source = inspect.getsource(getattr(made, way))
        lines = [line for line in source.splitlines() if line.strip()]
        told = ast.get_docstring(ast.parse(source).body[0])  # type: ignore[arg-type]  # a function
        assert told
        assert len(lines) - len(told.splitlines()) <= MOST_LINES, way
