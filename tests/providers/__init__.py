"""A server with the rules of Anthropic and OpenAI, and the real SDKs that hold it to them.

| file | what is there |
| --- | --- |
| wire | sockets, routes, failures to order, streams; what came is kept |
| script | models and their answers, as a test writes them; tokens; the clock |
| shapes | which fields a request may have, and of which types |
| fields | these of every form: blocks, messages, items |
| segments | a prompt as the pieces that are cached and signed |
| turns | Anthropic's turns: who speaks, calls and their results |
| thinking | signed thinking, and what it is bound to |
| caches | prompt caches with their times, breakpoints and bills |
| marks | OpenAI's newer cache, with breakpoints |
| messages | /v1/messages, /v1/messages/count_tokens, /v1/models/<model> |
| completions | /v1/chat/completions |
| embeddings | /v1/embeddings |
| responses | /v1/responses, /v1/responses/input_tokens |
| items | the rules of Responses items |
| openai_words | how OpenAI words what it refuses |
| replies | a body, the events of a stream, or a refusal |
| streams | answers as the events of a stream |
| talks | a long conversation with thinking and tools |
"""
