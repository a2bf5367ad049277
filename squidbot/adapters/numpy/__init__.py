"""Sentence models of BERT's form run by NumPy: no runtime, no compiler, nothing downloaded.

| file        | holds |
|-------------|-------|
| embedder    | `NumpyEmbedder`: the port of what makes vectors, and vectors of single tokens |
| folder      | what a model's folder says: its shape, how its tokens become one vector, its vocabulary |
| bert        | the network: tokens in, a vector for each out |
| safetensors | a file of tensors, mapped into memory |
| threads     | one thread for products |
"""
