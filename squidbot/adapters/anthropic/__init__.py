"""Anthropic's API, by Anthropic's own SDK.

| file        | holds |
|-------------|-------|
| model       | `AnthropicModel`: a model that answers jobs and goes on with conversations |
| breakpoints | where the prompt cache is told to keep a prefix |
| client      | the SDK with a key from the environment; its failures in our words |
"""

from squidbot.adapters.anthropic.model import AnthropicModel, open_model

__all__ = ["AnthropicModel", "open_model"]
