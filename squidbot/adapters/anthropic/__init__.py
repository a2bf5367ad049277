"""Anthropic's API, by Anthropic's own SDK.

| file        | holds |
|-------------|-------|
| model       | `AnthropicModel`: a model that answers jobs and goes on with conversations |
| counting    | `AnthropicCounter`: tokens of long texts by the provider's own count |
| requests    | the options of the settings, and a conversation with its breakpoints |
| bindings    | which reasoning is stale: what stood before it when it was made, and now |
| breakpoints | where the prompt cache is told to keep a prefix |
| client      | the SDK with a key from the environment; its failures in our words |
"""

from squidbot.adapters.anthropic.counting import AnthropicCounter
from squidbot.adapters.anthropic.model import AnthropicModel, open_model

__all__ = ["AnthropicCounter", "AnthropicModel", "open_model"]
