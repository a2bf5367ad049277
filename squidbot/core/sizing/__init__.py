"""How much memory a local model takes, and how large a window fits: from its file's header alone.

| file         | holds |
|--------------|-------|
| header       | what a model file says of itself |
| context      | how a model is to be loaded, in llama.cpp's words |
| tensor_types | how many bytes a row of each type of tensor takes |
| cache_types  | the types that keys and values can be cached in |
| families     | which architectures keep what, by the names that llama.cpp gives them |
| layers       | what each layer of a model keeps for each token: the cache's layout |
| cells        | what llama.cpp makes of batch and window, and how many tokens a layer's cache holds |
| placement    | which layer is on which device, and the weights of each device |
| caches       | the bytes of keys, values and recurrent state on each device, and for each token |
| validity     | what llama.cpp would refuse, or die of, said before it is asked |
| compute      | the compute buffer of a device, and how far to trust it |
| model        | all of that which does not depend on window and devices, worked out once |
| memory       | what each device holds, as a value: what is printed, and decided by |
| measure      | the same, worked out: for one window after the other |
| fit          | the largest window that fits, and what would fit where none does |
"""
