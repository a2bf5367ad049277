"""A model by llama-cpp-python: it chats, counts and embeds in this process, and a dry run says what memory it takes.

Nothing is imported until a file of it is: the dry run needs llama-cpp-python in its child only.

| file       | holds |
|------------|-------|
| model      | `open_model`: the port of a loaded model |
| loading    | a model is loaded, and nothing printed |
| prompts    | messages and tools as text, by the template in the file |
| writing    | an answer token by token |
| calls      | tool calls in what a model wrote |
| embedding  | texts as vectors |
| vocabulary | `Vocabulary`: counts tokens, with or without the model |
| verify     | what llama.cpp itself says that a model would take: asked in a child, which may die of it |
| dry_run    | the child: `python -m squidbot.adapters.llama_cpp.dry_run` |
| breakdown  | llama.cpp's own sums by device, to the byte |
| lines      | what llama.cpp's log says of buffers and caches |
| logs       | its log, kept and not printed |
| params     | how a model is loaded, as llama.cpp's structures |
"""
