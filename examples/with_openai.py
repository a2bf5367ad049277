"""Use squidbot with OpenAI's SDK, in your own loop. Run `python examples/with_openai.py`.

It asks OpenAI, with the key in `OPENAI_API_KEY`. `OpenAI(base_url=...)` asks any compatible server. In each loop the
model may search the whole conversation first; put your own tools where `session.call` stands.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from openai import AsyncOpenAI, OpenAI

import squidbot

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

MODEL = "gpt-5.6"


def turn(client: OpenAI, session: squidbot.Session, text: str) -> str:
    """Return the model's answer."""
    assembly = session.assemble(text, tools=session.tools)
    while True:
        response = client.chat.completions.create(model=MODEL, messages=assembly.messages, tools=session.tools)
        message = response.choices[0].message
        session.record(assembly.incoming, message, usage=response.usage)
        if not message.tool_calls:
            return message.content or ""
        for call in message.tool_calls:
            if call.type == "function":
                found = session.call(call.function.name, call.function.arguments)
                session.record({"role": "tool", "tool_call_id": call.id, "content": found.text})
        assembly = session.assemble(tools=session.tools)


async def aturn(client: AsyncOpenAI, session: squidbot.Session, text: str) -> str:
    """Return the model's answer; the program's other conversations go on meanwhile."""
    assembly = await session.aassemble(text, tools=session.tools)
    while True:
        response = await client.chat.completions.create(model=MODEL, messages=assembly.messages, tools=session.tools)
        message = response.choices[0].message
        await session.arecord(assembly.incoming, message, usage=response.usage)
        if not message.tool_calls:
            return message.content or ""
        for call in message.tool_calls:
            if call.type == "function":
                found = await session.acall(call.function.name, call.function.arguments)
                await session.arecord({"role": "tool", "tool_call_id": call.id, "content": found.text})
        assembly = await session.aassemble(tools=session.tools)


def stream(client: OpenAI, session: squidbot.Session, text: str) -> Iterator[str]:
    """Yield the model's answer as it comes. If nobody reads on, what came is kept."""
    session.record({"role": "user", "content": text})
    ask = partial(client.chat.completions.stream, model=MODEL, stream_options={"include_usage": True})
    while assembly := session.assemble(tools=session.tools):
        with ask(messages=assembly.messages, tools=session.tools) as events:
            yield from session.kept(event.delta for event in events if event.type == "content.delta")
            response = events.get_final_completion()
        calls = response.choices[0].message.tool_calls
        session.record(response.choices[0].message, usage=response.usage)
        for call in calls or ():
            found = session.call(call.function.name, call.function.arguments)
            session.record({"role": "tool", "tool_call_id": call.id, "content": found.text})
        if not calls:
            return


async def astream(client: AsyncOpenAI, session: squidbot.Session, text: str) -> AsyncIterator[str]:
    """Yield the model's answer as it comes, with asyncio. If the task is cancelled, what came is kept."""
    await session.arecord({"role": "user", "content": text})
    ask = partial(client.chat.completions.stream, model=MODEL, stream_options={"include_usage": True})
    while assembly := await session.aassemble(tools=session.tools):
        async with ask(messages=assembly.messages, tools=session.tools) as events:
            async for piece in session.akept(event.delta async for event in events if event.type == "content.delta"):
                yield piece
            response = await events.get_final_completion()
        await session.arecord(response.choices[0].message, usage=response.usage)
        for call in response.choices[0].message.tool_calls or ():
            found = await session.acall(call.function.name, call.function.arguments)
            await session.arecord({"role": "tool", "tool_call_id": call.id, "content": found.text})
        if not response.choices[0].message.tool_calls:
            return


if __name__ == "__main__":
    with squidbot.load({"store": {"path": "squid.db"}}) as engine:
        print(turn(OpenAI(), engine.session("harbour", window_tokens=8_000), "My boat is called Heron."))
