"""A client of MCP that keeps a fact and finds it again; run it by `python examples/in_mcp.py`.

Offline: it starts `squidbot mcp` itself, as Claude Code, Cursor and VS Code do. For a server that runs already, such as
`squidbot mcp --http 127.0.0.1:8000`, put its address, "http://127.0.0.1:8000/mcp", in the place of `SERVER`.
"""

import asyncio

from mcp import Client, StdioServerParameters

SERVER = StdioServerParameters(command="squidbot", args=["mcp", "--store", "squid.db"])
SAID = {"role": "user", "text": "My boat is called Heron."}


async def main() -> None:
    """Record a message under a key, so that it is recorded once, however often this is run; then look for it."""
    async with Client(SERVER) as client:
        for name, arguments in (
            ("history_append", {"conversation_id": "harbour", "messages": [SAID], "key": "1"}),
            ("history_search", {"query": "boat called"}),
        ):
            print((await client.call_tool(name, arguments)).content[0].text)


asyncio.run(main())
