"""A model behind Ollama, over Ollama's own API; the window is sent with every request, and read back.

| file    | holds |
|---------|-------|
| model   | `open_model`: chat, embeddings, what was really set up |
| facts   | what the server says of a model: the facts of its file's header, and where the file is |
| fitting | whether a prompt fits, and whether an answer was made from the whole of it |
| forms   | messages as OpenAI writes them -> as Ollama does, and back |
| wire    | one server over HTTP: requests, streams, and failures in our words |

Needs nothing but the standard library. Ollama releases have no endpoint that counts tokens, so the counter is one of
ours, by default `classes`, whose bound is measured: who knows the model's vocabulary gives a better one.
"""

from squidbot.adapters.ollama.facts import Facts
from squidbot.adapters.ollama.model import OllamaModel, open_model

__all__ = ["Facts", "OllamaModel", "open_model"]
