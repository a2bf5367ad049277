"""squidbot's face inside agent programs that exist already; none of it knows another host than its own.

| file           | host |
|----------------|------|
| hermes/        | hermes-agent: its context engine, once switched on; its own map inside |
| langchain      | LangChain and LangGraph: a middleware of an agent |
| mcp            | clients of the Model Context Protocol: a server, for recall from any of them |
| llm            | llm, the command and the library: its models, once switched on |
| openai_agents/ | the OpenAI Agents SDK: options for its runs, tools for its agents; its own map inside |
| pydantic_ai    | pydantic-ai 2: a capability of an agent, or of a run |
"""
