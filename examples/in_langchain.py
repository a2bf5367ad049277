"""An agent of LangChain with squidbot in it; run it by `python examples/in_langchain.py`.

Offline, with a model that repeats what it is told to. For a real one put its name in the place of `MODEL`, such as
"openai:gpt-6-sol". Run it twice: the second run goes on with what the first one has said.
"""

from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel

from squidbot.plugins.langchain import Squidbot


class Offline(FakeListChatModel):
    """A model that takes tools, and calls none."""

    def bind_tools(self, *_: object, **__: object) -> "Offline":  # type: ignore[override]
        """Take tools."""
        return self


MODEL = Offline(responses=["Heron, you said."])
agent = create_agent(MODEL, middleware=[Squidbot("squid.db", budget=8_000)])
thread = {"configurable": {"thread_id": "harbour"}}

for text in ("My boat is called Heron.", "What is it called?"):
    print(agent.invoke({"messages": [("user", text)]}, thread)["messages"][-1].text)
