"""A chat service for many users: FastAPI, PostgreSQL, and answers that stream.

It shows one engine for all requests, sessions and facts that only their own user sees, and a shutdown that loses
nothing. Run it in your clone. The first command shows ann's token, and keeps its digest:

    pip install '.[openai,postgresql]' fastapi uvicorn && squidbot mcp --new-token ann >> tokens.txt
    SQUIDBOT_STORE_URL=postgresql://localhost/chats uvicorn --app-dir examples chat_service:app
    curl -N localhost:8000/chats/boat -H "Authorization: Bearer $TOKEN" --json '{"text": "My boat is called Heron."}'

You see the answer as it comes. The chat goes on after a restart, and on other servers with that database. Ctrl-C waits
for answers; with `--timeout-graceful-shutdown 5` it cuts them after five seconds, and what came is kept.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Annotated
from weakref import WeakSet

from fastapi import Body, Depends, FastAPI, HTTPException
from fastapi.responses import StreamingResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from openai import AsyncOpenAI

import squidbot

MODEL = "gpt-5.6"
USERS = {line.split()[1]: line.split()[0] for line in Path("tokens.txt").read_text("utf-8").splitlines()}


@asynccontextmanager
async def lifespan(service: FastAPI) -> AsyncIterator[None]:
    """Open the store for all requests; close it when the last answer has ended."""
    async with await squidbot.aload() as service.state.engine, AsyncOpenAI() as service.state.model:
        service.state.answers = WeakSet[asyncio.Task[None]]()
        yield
        await asyncio.gather(*service.state.answers, return_exceptions=True)


app = FastAPI(lifespan=lifespan)


async def signed_in(sent: Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())]) -> squidbot.Scope:
    """Return the user whose token it is."""
    if user := USERS.get(sha256(sent.credentials.encode()).hexdigest()):
        return squidbot.Scope(user=user)
    raise HTTPException(401, "unknown token")


@app.post("/chats/{chat}")
async def say(
    chat: str, text: Annotated[str, Body(embed=True)], user: Annotated[squidbot.Scope, Depends(signed_in)]
) -> StreamingResponse:
    """Answer in a chat of the user. What no window can hold is refused, and not stored."""
    try:
        session = await app.state.engine.asession(f"{user.user}/{chat}", window_tokens="32k", scope=user)
        assembly = await session.aassemble(text, tools=session.tools)
    except (squidbot.ArgumentError, squidbot.BudgetError) as error:
        raise HTTPException(413, str(error)) from error
    await session.arecord(assembly.incoming)
    return StreamingResponse(answer(session, assembly), media_type="text/plain")


async def answer(session: squidbot.Session, assembly: squidbot.Assembly | None) -> AsyncIterator[str]:
    """Yield the model's answer piece by piece; if it is cut, what came is kept."""
    app.state.answers.add(asyncio.current_task())
    ask, counted = app.state.model.chat.completions.stream, {"include_usage": True}
    while assembly:
        async with ask(model=MODEL, messages=assembly.messages, tools=session.tools, stream_options=counted) as events:
            async for piece in session.akept(event.delta async for event in events if event.type == "content.delta"):
                yield piece
            completion = await events.get_final_completion()
        await session.arecord(completion.choices[0].message, usage=completion.usage)
        calls = completion.choices[0].message.tool_calls or ()
        for call in calls:
            found = await session.acall(call.function.name, call.function.arguments)
            await session.arecord({"role": "tool", "tool_call_id": call.id, "content": found.text})
        assembly = await session.aassemble(tools=session.tools) if calls else None
