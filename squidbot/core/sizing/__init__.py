"""How much memory a local model takes, and how large a window fits: from its file's header alone.

| file         | holds |
|--------------|-------|
| header       | what a model file says of itself |
| context      | how a model is to be loaded, in llama.cpp's words, and what follows for the cache |
| tensor_types | how many bytes a row of each type of tensor takes |
| layers       | what each layer of a model keeps for each token: the cache's layout |
"""
