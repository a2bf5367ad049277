"""squidbot in the OpenAI Agents SDK: options for a run, and tools for its agents.

    squid = Squidbot("mem.db", budget=16_000)
    agent = Agent("a", model="gpt-6-sol", tools=[*mine, *squid.tools])
    await Runner.run(agent, "hi", **squid.options("chat-1"))

The options are a session, which records what is said, and a run configuration, by which each call of the model sees
what fits, inside of tool loops, too. A run's own list begins with its input.

| file    | holds |
|---------|-------|
| plugin  | `Squidbot`: options for runs, tools for agents |
| models  | a program's models, which ask squidbot for their requests |
| calls   | `Call`: one call of the model: what is asked, and what comes back |
| session | `RunSession`: what a run says, recorded; what its model sees |
| stored  | `StoredSession`: what a program reads of a conversation, and takes back |
| told    | what the host's own objects say, as values |
"""

from squidbot.extras import missing

try:
    from squidbot.plugins.openai_agents.plugin import Options, Squidbot
except ImportError as error:
    raise ImportError(f"squidbot.plugins.openai_agents: {error}; {missing('openai-agents')}") from error

__all__ = ["Options", "Squidbot"]
