"""Use squidbot in hermes-agent. Install the extra `hermes`, and run `python examples/in_hermes.py`.

It works offline, with a small server that reports how much it sees. To use a real server, put its address into `URL`.
"""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

HOME = Path("hermes").absolute()  # without it hermes lives in ~/.hermes
HOME.mkdir(exist_ok=True)
HOME.joinpath("config.yaml").write_text("plugins: {enabled: [squidbot]}\ncontext: {engine: squidbot}\n")
os.environ["HERMES_HOME"] = str(HOME)


class Offline(BaseHTTPRequestHandler):  # noqa: D101
    def do_POST(self) -> None:  # noqa: D102
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        delta = {"content": f"Messages that I see: {len(body.get('messages', []))}."}
        event = json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": "stop"}]})
        self.wfile.write(f"HTTP/1.0 200 OK\r\n\r\ndata: {event}\n\ndata: [DONE]\n\n".encode())


server = HTTPServer(("127.0.0.1", 0), Offline)
threading.Thread(target=server.serve_forever, daemon=True).start()
URL = f"http://127.0.0.1:{server.server_port}/v1"
agent = __import__("run_agent").AIAgent(URL, "key", model="offline", session_id="harbour", quiet_mode=True)
print([agent.run_conversation(text)["final_response"] for text in ("My boat is Heron.", "What is it called?")])
