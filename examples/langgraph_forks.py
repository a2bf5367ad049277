"""A LangGraph agent whose conversation forks: each branch remembers what was said on it, and nothing of the others.

It shows that squidbot follows LangGraph's state: the program goes back to a checkpoint and on from there, changes a
message of the past, and returns to the branch that it left. Meanwhile old messages become notes. Run it in your clone:

    pip install '.[langchain]' langgraph-checkpoint-sqlite
    python examples/langgraph_forks.py && squidbot session lines harbour --store squid.db

You see four answers: blue, red, green, and blue again. Below stand the lines of the conversation, as squidbot calls its
branches. It works offline, with a model that repeats what its search finds. To use a real one, put its name into
`MODEL`, such as "openai:gpt-6-sol".
"""

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite import SqliteSaver

from squidbot.plugins.langchain import Squidbot


class Offline(BaseChatModel):
    """A model that searches for the answer to each question, and says what it finds."""

    _llm_type = "offline"

    def bind_tools(self, *_: object, **__: object) -> "Offline":  # type: ignore[override]
        """Accept tools."""
        return self

    def _generate(self, messages: list[BaseMessage], *_: object, **__: object) -> ChatResult:
        last, reply = messages[-1], AIMessage("Noted.")
        if last.type == "tool":
            reply = AIMessage(next(line for line in last.text.splitlines() if "Paint" in line).rpartition(": ")[2])
        elif last.text.endswith("?"):
            call = {"name": "memory_search", "args": {"query": last.text}, "id": f"call-{len(messages)}"}
            reply = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=reply)])


MODEL = Offline()
THREAD: RunnableConfig = {"configurable": {"thread_id": "harbour"}}

with SqliteSaver.from_conn_string("graph.db") as saver:
    agent = create_agent(MODEL, middleware=[Squidbot("squid.db", budget=4_000)], checkpointer=saver)

    def say(text: str, at: RunnableConfig = THREAD) -> str:
        """Say something at a checkpoint, by default the newest one; return the answer."""
        return agent.invoke({"messages": [HumanMessage(text)]}, at)["messages"][-1].text

    def colour(at: RunnableConfig = THREAD) -> str:
        """Talk until the window is full, and ask."""
        for page in range(6):
            say(f"Page {page} of the log: " + "calm sea, no wind. " * 90, at if page == 0 else THREAD)
        return say("Which colour has the boat?")

    say("My boat is called Heron.")
    start = agent.get_state(THREAD).config
    say("Paint the boat blue.")
    print(colour())
    blue = agent.get_state(THREAD).config

    say("Paint the boat red.", start)  # a fork
    red = agent.get_state(THREAD)
    print(colour())

    changed = HumanMessage("Paint the boat green.", id=red.values["messages"][-2].id)
    print(colour(agent.update_state(red.config, {"messages": [changed]})))  # an edit of what was said then

    print(colour(blue))  # back on the branch that was left
