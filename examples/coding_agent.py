"""A coding agent that works in a folder: it reads, edits and runs, and squidbot keeps its window.

It shows a loop with tools of its own beside squidbot's. Long outputs are cut on arrival, old steps become notes, and
the model finds what it misses by the tool `history`. Run it in your clone (`OPENAI_BASE_URL` names another server):

    pip install '.[openai]'
    OPENAI_API_KEY=... python examples/coding_agent.py ~/project "Make the tests pass."

You see each tool call, and how full each request is. You are asked before a command runs. The next task knows this.
"""

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from openai import OpenAI

import squidbot

MODEL = "gpt-5.6"


def read(folder: Path, path: str) -> str:
    """Return a file of the folder."""
    if not (folder / path).resolve().is_relative_to(folder):
        raise ValueError(f"{path} is outside of the folder")
    return (folder / path).read_text("utf-8")


def edit(folder: Path, path: str, old: str, new: str) -> str:
    """Replace `old`, which the file must have once, by `new`."""
    if (count := read(folder, path).count(old)) != 1:
        raise ValueError(f"{path} has `old` {count} times, not once")
    return f"wrote {(folder / path).write_text(read(folder, path).replace(old, new), 'utf-8')} characters"


def run(folder: Path, command: str) -> str:
    """Run a shell command in the folder, for two minutes at most; return its exit code and output."""
    if input(f"Run {command!a}? [y/N] ") != "y":
        raise ValueError("the user does not want that")
    done = subprocess.run(f"({command}) 2>&1", shell=True, cwd=folder, stdout=subprocess.PIPE, timeout=120, check=False)  # noqa: S602  # asked
    return f"exit code {done.returncode}\n{done.stdout.decode(errors='replace')}"


def schema(tool: Callable[..., str]) -> dict[str, object]:
    """Return what the model gets to know of a function."""
    names = [*inspect.signature(tool).parameters][1:]
    taken = {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": names}
    return {"type": "function", "function": {"name": tool.__name__, "description": tool.__doc__, "parameters": taken}}


def work(client: OpenAI, session: squidbot.Session, folder: Path, task: str) -> str | None:
    """Work until the model calls no more tools; return its last words."""
    own = {tool.__name__: tool for tool in (read, edit, run)}
    tools = [*map(schema, own.values()), *session.tools]
    session.record({"role": "user", "content": task})
    while True:
        assembly = session.assemble(system="You are a coding agent. Run the tests after an edit.", tools=tools)
        print(f"{assembly!s:.119}")
        response = client.chat.completions.create(model=MODEL, messages=assembly.messages, tools=tools)
        session.record(message := response.choices[0].message, usage=response.usage)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            name, arguments = call.function.name, call.function.arguments
            print(f"{name} {arguments[:100]!a}")
            try:
                text = own[name](folder, **json.loads(arguments)) if name in own else session.call(name, arguments).text
            except (OSError, TypeError, ValueError, subprocess.TimeoutExpired) as error:
                text = f"failed: {error}"
            session.record({"role": "tool", "tool_call_id": call.id, "content": text})


if __name__ == "__main__":
    root = Path(sys.argv[1]).resolve()
    with squidbot.load({"store": {"path": "squid.db"}}) as engine:
        print(work(OpenAI(), engine.session(root.name, window_tokens="32k"), root, sys.argv[2]))
