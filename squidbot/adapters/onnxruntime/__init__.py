"""Sentence models that were exported as ONNX, run by onnxruntime, those in 8 bits, too.

| file     | holds |
|----------|-------|
| embedder | `OnnxEmbedder`: the port of what makes vectors |
| network  | a file of ONNX as a network: tokens in, vectors out |
| folder   | what the folder of an exported model says: its file, its tokens, how these become one vector |
"""

from squidbot.adapters.onnxruntime.embedder import OnnxEmbedder

__all__ = ["OnnxEmbedder"]
