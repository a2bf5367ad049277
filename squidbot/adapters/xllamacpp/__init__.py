"""A model by xllamacpp: llama.cpp's own server in this process, from a wheel; it chats, counts and embeds.

| file       | holds |
|------------|-------|
| model      | `open_model`, and the model that it returns |
| embedding  | vectors, by a context of their own in main memory |
| vocabulary | a token counter by the model's own vocabulary, and what its chat template costs |
| runtime    | the server: loaded, asked, given back |
| answers    | pieces of an answer put together; errors become ours |
| params     | how a model is loaded, as llama.cpp's parameters |
| logs       | what llama.cpp says while it loads: kept, and not printed |
"""

from squidbot.adapters.xllamacpp.model import XllamacppModel, open_model

__all__ = ["XllamacppModel", "open_model"]
