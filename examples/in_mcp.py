"""Keep a message and find it again from an MCP client. Run `python examples/in_mcp.py`.

It works offline: it starts `squidbot mcp` itself, as Claude Code, Cursor and VS Code do. To use a running server, such
as `squidbot mcp --http 127.0.0.1:8000`, put its address, "http://127.0.0.1:8000/mcp", into `SERVER`.
"""

import asyncio

from mcp import Client, StdioServerParameters

SERVER = StdioServerParameters(command="squidbot", args=["mcp", "--store", "squid.db"])
SAID = {"role": "user", "text": "My boat is called Heron."}


async def main() -> None:
    """Record a message under a key, so that it is stored once, however often you run this; then search for it."""
    async with Client(SERVER) as client:
        for name, arguments in (
            ("history_append", {"conversation_id": "harbour", "messages": [SAID], "key": "1"}),
            ("history_search", {"query": "boat called"}),
        ):
            print((await client.call_tool(name, arguments)).content[0].text)


asyncio.run(main())
