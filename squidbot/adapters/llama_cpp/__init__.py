"""A model by llama-cpp-python: it chats, counts and embeds in this process; a dry run measures its memory.

Each file imports on demand: the dry run needs llama-cpp-python in its child only.
"""
