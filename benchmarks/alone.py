"""What `hosts` runs of hermes, which one process can hold with squidbot or without; prints one JSON object.

python -m benchmarks.alone FOLDER TURNS HANDS [squidbot]

hermes lives in FOLDER then, and squidbot's store is squid.db there. Its model is a server of this process, which
answers at once. With each turn its caller hands over as many of the last messages as HANDS says.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from benchmarks.clocks import Times, median
from benchmarks.host import Host

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# The first turns make the first plan, and fill caches.
WARM = 6
# hermes's own text and tools take 17,000 tokens of it.
BUDGET = 48_000
TALK = "benchmark"


class Answering(BaseHTTPRequestHandler):
    """A model by OpenAI's chat completions, streamed."""

    messages: ClassVar[list[int]] = []

    def do_POST(self) -> None:  # the server's own name
        """Answer, and note how many messages were sent."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.messages.append(len(asked.get("messages", ())))
        said = {"content": "Done: the price index is rebuilt, and the cache holds it for ten minutes. " * 12}
        event = json.dumps({"choices": [{"index": 0, "delta": said, "finish_reason": "stop"}]})
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"data: {event}\n\ndata: [DONE]\n\n".encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def program(folder: Path, hands: int, *, has_squidbot: bool) -> Callable[[str], object]:
    """Return what runs a turn of an agent that lives in a folder."""
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
    past: list[Any] = []

    def turn(text: str) -> object:
        done = agent.run_conversation(text, conversation_history=[*past])
        past[:] = done["messages"][-hands:] if hands else []
        return done

    return turn


def main(arguments: Sequence[str]) -> int:
    """Measure, and print what the turns took, in seconds; return the exit code."""
    folder, turns, hands = Path(arguments[0]), int(arguments[1]), int(arguments[2])
    run, host, times = program(folder, hands, has_squidbot="squidbot" in arguments[3:]), Host(), Times()
    for number in range(WARM + turns):
        text = f"{number}: {host.question().text}"
        if number < WARM:
            run(text)
        else:
            times.of(lambda: run(text))  # noqa: B023  # called at once
    # Of each request without hermes's own text, and what the turn adds.
    handed = int(median(Answering.messages[WARM:])) - 2
    print(json.dumps({"wall": times.wall, "cpu": times.cpu, "handed": handed}), flush=True)
    # hermes has threads that would go on.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
