"""OpenAI's API, and that of all servers which speak like it, by OpenAI's own SDK.

| file       | holds |
|------------|-------|
| opening    | `open_model`: a model of the settings, asked the one way or the other |
| chat       | `OpenAIChatModel`: asked by chat completions |
| responses  | `OpenAIResponsesModel`: asked by Responses, of which the provider keeps nothing |
| model      | what both have in common |
| breakpoints | where newer models' prompt cache is told to keep a prefix |
| embeddings | `OpenAIEmbedder`: the port of what makes vectors, within the provider's limits |
| client     | the SDK with a key from the environment; its failures in our words |
"""

from squidbot.adapters.openai.chat import OpenAIChatModel
from squidbot.adapters.openai.embeddings import OpenAIEmbedder
from squidbot.adapters.openai.opening import open_model
from squidbot.adapters.openai.responses import OpenAIResponsesModel

__all__ = ["OpenAIChatModel", "OpenAIEmbedder", "OpenAIResponsesModel", "open_model"]
