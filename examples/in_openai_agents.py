"""An agent of the OpenAI Agents SDK with squidbot in it; run it by `python examples/in_openai_agents.py`.

Offline, with a model that says what it is told to. For a real one put its name in the place of `MODEL`, such as
"gpt-5.6-luna". Run it twice: the second run goes on with what the first one has said.
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
