"""Use squidbot in a LangChain agent. Run `python examples/in_langchain.py`, twice: the second run remembers the first.

It works offline, with a model that repeats fixed answers. To use a real model, put its name into `MODEL`, such as
"openai:gpt-6-sol".
"""

from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel

from squidbot.plugins.langchain import Squidbot


class Offline(FakeListChatModel):
    """A model that accepts tools and calls none."""

    def bind_tools(self, *_: object, **__: object) -> "Offline":  # type: ignore[override]
        """Accept tools."""
        return self


MODEL = Offline(responses=["Heron, you said."])
agent = create_agent(MODEL, middleware=[Squidbot("squid.db", budget=8_000)])
thread = {"configurable": {"thread_id": "harbour"}}

for text in ("My boat is called Heron.", "What is it called?"):
    print(agent.invoke({"messages": [("user", text)]}, thread)["messages"][-1].text)
