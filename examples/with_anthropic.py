"""Use squidbot with Anthropic's SDK, in your own loop. Run `python examples/with_anthropic.py`.

It asks Claude, with the key in `ANTHROPIC_API_KEY`. In each loop the model may search the whole conversation first; put
your own tools where `session.call` stands. The system text is counted with the messages, and sent beside them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from anthropic import Anthropic, AsyncAnthropic

import squidbot

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

MODEL = "claude-sonnet-5-5"
SYSTEM = "You are a harbour pilot."


def turn(client: Anthropic, session: squidbot.Session, text: str) -> str:
    """Return the model's answer."""
    ask = partial(client.messages.create, model=MODEL, tools=session.tools, system=SYSTEM)
    assembly = session.assemble(text, system=SYSTEM, tools=session.tools)
    while True:
        message = ask(messages=assembly.messages[1:], max_tokens=assembly.max_output_tokens)
        session.record(assembly.incoming, message, usage=message.usage)
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in message.content if block.type == "text")
        found = [(call.id, session.call(call.name, call.input).text) for call in calls]
        results = [{"type": "tool_result", "tool_use_id": call_id, "content": text} for call_id, text in found]
        session.record({"role": "user", "content": results})
        assembly = session.assemble(system=SYSTEM, tools=session.tools)


async def aturn(client: AsyncAnthropic, session: squidbot.Session, text: str) -> str:
    """Return the model's answer; the program's other conversations go on meanwhile."""
    ask = partial(client.messages.create, model=MODEL, tools=session.tools, system=SYSTEM)
    assembly = await session.aassemble(text, system=SYSTEM, tools=session.tools)
    while True:
        message = await ask(messages=assembly.messages[1:], max_tokens=assembly.max_output_tokens)
        await session.arecord(assembly.incoming, message, usage=message.usage)
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in message.content if block.type == "text")
        found = [(call.id, (await session.acall(call.name, call.input)).text) for call in calls]
        results = [{"type": "tool_result", "tool_use_id": call_id, "content": text} for call_id, text in found]
        await session.arecord({"role": "user", "content": results})
        assembly = await session.aassemble(system=SYSTEM, tools=session.tools)


def stream(client: Anthropic, session: squidbot.Session, text: str) -> Iterator[str]:
    """Yield the model's answer as it comes. If nobody reads on, what came is kept."""
    session.record({"role": "user", "content": text})
    ask = partial(client.messages.stream, model=MODEL, tools=session.tools, system=SYSTEM)
    while assembly := session.assemble(system=SYSTEM, tools=session.tools):
        with ask(messages=assembly.messages[1:], max_tokens=assembly.max_output_tokens) as events:
            yield from session.kept(events.text_stream)
            message = events.get_final_message()
        session.record(message, usage=message.usage)
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            return
        found = [(call.id, session.call(call.name, call.input).text) for call in calls]
        results = [{"type": "tool_result", "tool_use_id": call_id, "content": text} for call_id, text in found]
        session.record({"role": "user", "content": results})


async def astream(client: AsyncAnthropic, session: squidbot.Session, text: str) -> AsyncIterator[str]:
    """Yield the model's answer as it comes, with asyncio. If the task is cancelled, what came is kept."""
    await session.arecord({"role": "user", "content": text})
    ask = partial(client.messages.stream, model=MODEL, tools=session.tools, system=SYSTEM)
    while assembly := await session.aassemble(system=SYSTEM, tools=session.tools):
        async with ask(messages=assembly.messages[1:], max_tokens=assembly.max_output_tokens) as events:
            async for piece in session.akept(events.text_stream):
                yield piece
            message = await events.get_final_message()
        await session.arecord(message, usage=message.usage)
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            return
        found = [(call.id, (await session.acall(call.name, call.input)).text) for call in calls]
        results = [{"type": "tool_result", "tool_use_id": call_id, "content": text} for call_id, text in found]
        await session.arecord({"role": "user", "content": results})


if __name__ == "__main__":
    with squidbot.load({"store": {"path": "squid.db"}}) as engine:
        boat = engine.session("harbour", window_tokens=8_000, form="anthropic.messages")
        print(turn(Anthropic(), boat, "My boat is called Heron."))
