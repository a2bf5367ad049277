"""Use squidbot in a pydantic-ai agent. Run `python examples/in_pydantic_ai.py` twice.

The second run remembers the first. It works offline, with a model that repeats the question. To use a real model, put
its name into `MODEL`, such as "anthropic:claude-opus-5-5".
"""

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from squidbot.plugins.pydantic_ai import Squidbot


def echo(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Repeat the user's last message, and report how many messages there are."""
    said = [part.content for part in messages[-1].parts if isinstance(part, UserPromptPart)]
    return ModelResponse([TextPart(f"You said {said[-1]!r}, and I see {len(messages)} messages.")])


MODEL = FunctionModel(echo)
agent = Agent(MODEL, capabilities=[Squidbot("squid.db", budget=8_000)])

for text in ("My boat is called Heron.", "What is it called?"):
    print(agent.run_sync(text, conversation_id="harbour").output)
