"""A long conversation with thinking and tools, held through an adapter by a session, with pauses and many lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .asking import CHAT_TOOL, RESPONSES_TOOL, TOOL, result, user
from .script import Call, Text, Thought

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.core.messages import Reply
    from squidbot.core.ports import Chat
    from squidbot.session import Session

    from .script import Asked, Json, Piece
    from .wire import Providers

TOOLS: Mapping[str, Json] = {
    "anthropic.messages": TOOL,
    "openai.chat": CHAT_TOOL,
    "openai.responses": RESPONSES_TOOL,
}
SYSTEM: Json = {"role": "system", "content": "You look after the caches of a shop. " * 200}
# Between a question and its results, between two turns, and after each 40th turn: longer than any cache lives.
STEP_SECONDS, TURN_SECONDS, PAUSE_SECONDS = 5.0, 40.0, 1_000.0


class ScriptedStep(NamedTuple):
    """One request: which turn it is of, when it was made, what was sent, and what came back."""

    turn: int
    now: float
    messages: list[Json]
    reply: Reply


def thinking(asked: Asked) -> Sequence[Piece]:
    """Return what the model says: first it looks, in one to six places at once; then it tells what it found."""
    number = asked.number
    if number % 2:
        said = f"Answer {number}: the price at /srv/shop/cache_{number}.py is {number * 37}. "
        return [Thought(f"So it is {number}."), Text(said + "It holds for ten minutes. " * (number % 9))]
    calls = [Call("look", f'{{"at": {place}}}') for place in range(number % 6 + 1)]
    return [Thought(f"Where is {number}?"), Text("I look."), *calls]


def results(form: str, calls: Sequence[str], said: str) -> list[Json]:
    """Return the results of calls, in a form of messages."""
    if form == "anthropic.messages":
        return [user(*[result(call, said) for call in calls])] if calls else []
    if form == "openai.chat":
        return [{"role": "tool", "tool_call_id": call, "content": said} for call in calls]
    return [{"type": "function_call_output", "call_id": call, "output": said} for call in calls]


def talk(server: Providers, chat: Chat, session: Session, turns: range) -> list[ScriptedStep]:
    """Hold a conversation, and return its requests. Messages bear the server's time, so that recordings have it."""
    steps: list[ScriptedStep] = []
    tool = TOOLS[chat.form]

    def stamped(message: Mapping[str, object]) -> Json:
        return {**message, "timestamp": server.clock.now}

    for turn in turns:
        server.clock.advance(PAUSE_SECONDS if turn and turn % 40 == 0 else TURN_SECONDS)
        question = stamped(user(f"Question {turn}: what is the price of item_{turn * 7919} in /srv/shop?"))
        opening = [stamped(SYSTEM)] if turn == 0 else []
        for step in range(2):
            said = [*opening, question] if step == 0 else []
            made = session.assemble(*said, tools=[tool], now=server.clock.now)
            reply = chat.reply(made.messages, 500, [tool], stable=made.stable)
            steps.append(ScriptedStep(turn, server.clock.now, list(made.messages), reply))
            stored = session.record(made.incoming, stamped(reply.message), now=server.clock.now)
            calls = stored[-1].call_ids
            server.clock.advance(STEP_SECONDS)
            found = results(chat.form, calls, f"item_{turn * 7919} costs {turn * 37} " + "data " * (turn % 23))
            if found:
                session.record(*map(stamped, found), now=server.clock.now)
    return steps
