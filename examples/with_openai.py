"""Use squidbot with OpenAI's SDK, in your own loop. Run `python examples/with_openai.py`.

It asks OpenAI, with the key in `OPENAI_API_KEY`. `OpenAI(base_url=...)` asks any compatible server.
"""

from __future__ import annotations

from openai import OpenAI

import squidbot


def turn(client: OpenAI, session: squidbot.Session, text: str) -> str:
    """Return the model's answer. The model may search the whole conversation first."""
    assembly = session.assemble(text, tools=session.tools)
    while True:
        response = client.chat.completions.create(
            model="gpt-5.6",
            messages=assembly.messages,
            tools=session.tools,
            max_completion_tokens=assembly.max_output_tokens,
        )
        message = response.choices[0].message
        session.record(assembly.incoming, message, usage=response.usage)
        if not message.tool_calls:
            return message.content or ""
        for call in message.tool_calls:
            if call.type == "function":
                found = session.call(call.function.name, call.function.arguments)
                session.record({"role": "tool", "tool_call_id": call.id, "content": found.text})
        assembly = session.assemble(tools=session.tools)


if __name__ == "__main__":
    with squidbot.load({"store": {"path": "squid.db"}}) as engine:
        print(turn(OpenAI(), engine.session("harbour", window_tokens=8_000), "My boat is called Heron."))
