"""Use squidbot in the OpenAI Agents SDK. Run `python examples/in_openai_agents.py` twice.

The second run remembers the first. It works offline, with a model of fixed answers. To use a real model, put its name
into `MODEL`, such as "gpt-5.6-luna".
"""

from agents import Agent, Runner, set_tracing_disabled
from agents.testing import ModelStep, ScriptedModel, assistant_message

from squidbot.plugins.openai_agents import Squidbot

set_tracing_disabled(disabled=True)
MODEL = ScriptedModel([ModelStep([assistant_message(text)]) for text in ("Aye.", "Heron, you said.")])
squid = Squidbot("squid.db", budget=8_000)
agent = Agent("captain", model=MODEL, tools=squid.tools)

for text in ("My boat is called Heron.", "What is it called?"):
    print(Runner.run_sync(agent, text, **squid.options("harbour")).final_output)
