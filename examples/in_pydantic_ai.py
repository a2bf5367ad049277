"""An agent of pydantic-ai with squidbot in it; run it by `python examples/in_pydantic_ai.py`.

Offline, with a model that repeats what it is asked. For a real one put its name in the place of `MODEL`, such as
"anthropic:claude-opus-5-5". Run it twice: the second run goes on with what the first one has said.
"""

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from squidbot.plugins.pydantic_ai import Squidbot


def echo(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Say what the user said last, and how many messages were seen."""
    said = [part.content for part in messages[-1].parts if isinstance(part, UserPromptPart)]
    return ModelResponse([TextPart(f"You said {said[-1]!r}, and I see {len(messages)} messages.")])


MODEL = FunctionModel(echo)
agent = Agent(MODEL, capabilities=[Squidbot("squid.db", budget=8_000)])

for text in ("My boat is called Heron.", "What is it called?"):
    print(agent.run_sync(text, conversation_id="harbour").output)
