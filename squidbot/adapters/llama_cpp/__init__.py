"""A model by llama-cpp-python: it chats, counts and embeds in this process, and a dry run says what memory it takes.

Nothing is imported until a file of it is: the dry run needs llama-cpp-python in its child only.
"""
