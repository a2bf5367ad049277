"""What `hosts` runs of hermes, which one process can hold with squidbot or without.

python -m benchmarks.alone FOLDER [squidbot]

hermes lives in FOLDER then, and squidbot's store is squid.db there. Its model is a server of this process, which
answers at once. Each line that this reads is a turn, a JSON object: the `text` of the user, and the messages `before`
it. Each line that it prints says what the turn took, in seconds, and what the model got.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from benchmarks.clocks import Times

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# hermes's own text and tools take 17,000 tokens of it.
BUDGET = 48_000
TALK = "benchmark"


class Answering(BaseHTTPRequestHandler):
    """A model by OpenAI's chat completions, streamed."""

    newest: ClassVar[list[Any]] = []

    def do_POST(self) -> None:  # the server's own name
        """Answer, and keep the messages."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.newest[:] = asked.get("messages", ())
        said = {"content": "Done: the price index is rebuilt, and the cache holds it for ten minutes. " * 12}
        event = json.dumps({"choices": [{"index": 0, "delta": said, "finish_reason": "stop"}]})
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"data: {event}\n\ndata: [DONE]\n\n".encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def program(folder: Path, *, has_squidbot: bool) -> Callable[[str, list[Any]], object]:
    """Return what runs a turn of an agent that lives in a folder: the user's text, after some messages."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    ours = {
        "plugins": {"enabled": ["squidbot"]},
        "context": {"engine": "squidbot"},
        "squidbot": {"store": str(folder / "squid.db"), "budget": BUDGET},
    }
    url = f"http://127.0.0.1:{server.server_port}/v1"
    model = {"default": "offline", "provider": "custom", "base_url": url, "context_length": 128_000}
    (folder / "config.yaml").write_text(json.dumps({"model": model, **(ours if has_squidbot else {})}))
    # It looks where it lives while it is imported.
    os.environ["HERMES_HOME"] = str(folder)
    from run_agent import AIAgent  # noqa: PLC0415

    agent: Any = AIAgent(url, "key", provider="custom", model="offline", session_id=TALK, quiet_mode=True)
    return lambda text, before: agent.run_conversation(text, conversation_history=before)


def main(arguments: Sequence[str]) -> int:
    """Run a turn for each line; return the exit code."""
    run, times = program(Path(arguments[0]), has_squidbot="squidbot" in arguments[1:]), Times()
    for line in sys.stdin:
        turn = json.loads(line)
        times.of(lambda: run(turn["text"], turn["before"]))  # noqa: B023  # called at once
        # Without hermes's own text, and without the user's.
        got = Answering.newest[1:-1]
        print(json.dumps({"wall": times.wall[-1], "cpu": times.cpu[-1], "got": got}), flush=True)
    # hermes has threads that would go on.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
