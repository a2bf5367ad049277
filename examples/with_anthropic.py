"""Use squidbot with Anthropic's SDK, in your own loop. Run `python examples/with_anthropic.py`.

It asks Claude, with the key in `ANTHROPIC_API_KEY`.
"""

from __future__ import annotations

from anthropic import Anthropic

import squidbot


def turn(client: Anthropic, session: squidbot.Session, text: str) -> str:
    """Return the model's answer. The model may search the whole conversation first."""
    assembly = session.assemble(text, tools=session.tools)
    while True:
        message = client.messages.create(
            model="claude-sonnet-5-5",
            messages=assembly.messages,
            tools=session.tools,
            max_tokens=assembly.max_output_tokens,
        )
        session.record(assembly.incoming, message, usage=message.usage)
        found = [
            {"type": "tool_result", "tool_use_id": block.id, "content": session.call(block.name, block.input).text}
            for block in message.content
            if block.type == "tool_use"
        ]
        if not found:
            return "".join(block.text for block in message.content if block.type == "text")
        session.record({"role": "user", "content": found})
        assembly = session.assemble(tools=session.tools)


if __name__ == "__main__":
    with squidbot.load({"store": {"path": "squid.db"}}) as engine:
        boat = engine.session("harbour", window_tokens=8_000, form="anthropic.messages")
        print(turn(Anthropic(), boat, "My boat is called Heron."))
