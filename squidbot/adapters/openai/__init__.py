"""OpenAI's API, and that of all servers which speak like it, by OpenAI's own SDK.

| file       | holds |
|------------|-------|
| embeddings | `OpenAIEmbedder`: the port of what makes vectors, within the provider's limits |
| client     | the SDK with a key from the environment; its failures in our words |
"""

from squidbot.adapters.openai.embeddings import OpenAIEmbedder

__all__ = ["OpenAIEmbedder"]
