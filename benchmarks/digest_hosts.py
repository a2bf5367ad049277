"""What six hosts send to their models, or are answered, in their conformance runs: `digests` takes digests of it.

    python -m benchmarks.digest_hosts HOST FOLDER RUN ...

writes `request.json` into a folder: what was sent in each of the runs, a text for each request. Each host runs in a
process of its own, hermes in an environment of its own, which uv makes.

The check of hosts (`squidbot.testing.check_host_plugin`) has each host talk to a fake model that hears every request.
Left out is what can't be alike in two runs: times, random ids, folders. Not request are processes that the check kills.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from squidbot.core.memories import SHARED
from squidbot.testing import HOST_CHECKS, check_host_plugin
from squidbot.testing.hosts import Model

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from squidbot.testing.hosts import HostDriver, Request, ScriptedStep

__all__ = ["HOSTS", "NotHereError", "heard_of", "runs_of"]

# -- where a host's program is, and what is checked: moving something in the tree changes this part alone -------------

MCP: Final = "mcp"
HERMES: Final = "hermes"
# By the name of the host: the module of its program, and the name there.
HOSTS: Final = {
    "pydantic-ai": "tests.plugins.program_pydantic_ai:HOST",
    "langchain": "tests.plugins.program_langchain:HOST",
    "langchain-keeping": "tests.plugins.program_langchain:KEEPING",
    "openai-agents": "tests.plugins.program_openai_agents:HOST",
    HERMES: "tests.plugins.alone.program_hermes:HOST",
    "llm": "tests.plugins.program_llm:HOST",
    MCP: "",
}
# C8 breaks each public function of ours in turn, so that its requests follow their number; C16 to C18 send nothing
# that other points do not send.
LEFT_OUT: Final = ("C8", "C16", "C17", "C18")
POINTS: Final = {name.split()[0].lower(): name for name in HOST_CHECKS if name.split()[0] not in LEFT_OUT}
# What is quick, and different enough: the budget, requests that extend each other, recall, a refusal, reported usage.
QUICK: Final = ("c2", "c4", "c5", "c13", "c15", "tools")
# Points in which several conversations speak at once: their requests are sorted, without the fake model's own numbers.
AT_ONCE: Final = ("c10",)
NUMBERED: Final = re.compile(r"\bcall-r\d+\b")
# How many requests hermes makes until it is interrupted from another thread depends on how busy the machine is.
UNSTEADY: Final = ("host/hermes/c9",)
ROOT: Final = Path(__file__).resolve().parents[1]
FACT: Final = "The walrus in the harbour is called Brunhilde."
SAID: Final = (FACT, "Noted.", *(f"The weather was fine, {at} times. " * 90 for at in range(12)))
# What a client of the Model Context Protocol asks; FACT_ID is the id that the answer before it names.
ASKED: Final[Sequence[tuple[str, dict[str, object]]]] = (
    ("memory_add", {"text": "Ann keeps bees."}),
    ("memory_add", {"text": "Ann keeps bees."}),
    ("memory_add", {}),
    ("memory_search", {"query": "bees"}),
    ("memory_search", {"query": "whales"}),
    ("memory_list", {}),
    ("memory_forget", {"id": "f-x"}),
    ("memory_forget", {"id": "FACT_ID"}),
    ("memory_list", {}),
    (
        "history_append",
        {
            "conversation_id": "a/1",
            "key": "k",
            "messages": [{"role": ("user", "assistant")[at % 2], "text": text} for at, text in enumerate(SAID)],
        },
    ),
    ("history_append", {"conversation_id": "a/1"}),
    ("history_search", {"conversation_id": "a/1", "query": "walrus"}),
    ("history_search", {"conversation_id": "a/1", "query": "weather", "limit": 3}),
    ("history_search", {"conversation_id": "a/2", "query": "weather"}),
    ("history_recall", {"conversation_id": "a/1", "id": "m0"}),
    ("history_recall", {"conversation_id": "a/1", "id": "m2-m9"}),
    ("history_recall", {"conversation_id": "a/1", "id": "m99"}),
    ("status", {}),
)
RESOURCE: Final = "squid://a/1/overview"

# -- a host -----------------------------------------------------------------------------------------------------------

MOST_SECONDS: Final = 600
# How a text begins that says that a point of the check has failed.
FAILED: Final = "FAILED"
# What differs from run to run, and what stands for it. Ids of facts and notes are made from texts, and stay.
VOLATILE: Final = (
    (re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"), "<time>"),
    (re.compile(r"just now|\b\d+ (?:second|minute)s? ago"), "<age>"),
    (re.compile(r"sha256 [0-9a-f]{8}"), "<digest>"),
    (re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"), "<id>"),
    (re.compile(r"\b(?:call|msg|fc|rs|resp|tc|run)_[0-9A-Za-z]{8,}\b"), "<id>"),
    (re.compile(r"\b[0-9a-f]{20,}\b"), "<id>"),
    (re.compile(r"\b[0-9a-hjkmnp-tv-z]{26}\b"), "<id>"),
)


class NotHereError(Exception):
    """A host can't be started on this machine."""


def runs_of(name: str, *, quick: bool = False) -> list[str]:
    """Return the names of the runs of a host."""
    points = ["tools"] if name == MCP else [*POINTS]
    runs = [f"host/{name}/{point}" for point in points if point in QUICK or not quick]
    return [run for run in runs if run not in UNSTEADY]


def heard_of(name: str, runs: Sequence[str]) -> dict[str, list[str]]:
    """Return what was sent in some runs of a host, by a process of its own.

    Raises:
        NotHereError: the host can't be started here, and why.
        RuntimeError: its program has failed; the text has the traceback.
    """
    words = [sys.executable]
    if name == HERMES:
        uv = os.environ.get("UV") or shutil.which("uv")
        if uv is None:
            raise NotHereError("its environment is made by uv, which is not on the path")
        words = [uv, "run", "--quiet", "--isolated", "--no-default-groups", "--group", name, "python"]
    told = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    # What tiktoken has kept on this machine is not what others have.
    told |= {"TIKTOKEN_CACHE_DIR": "", "TZ": "UTC"}
    with tempfile.TemporaryDirectory(prefix="squidbot-host-") as folder:
        command = [*words, "-m", "benchmarks.digest_hosts", name, folder, *runs]
        ended = subprocess.run(  # noqa: S603  # this Python, or uv's
            command, cwd=ROOT, env=told, capture_output=True, text=True, check=False, timeout=MOST_SECONDS
        )
        if "Traceback" in ended.stderr and ended.returncode:
            raise RuntimeError(f"{name} has failed: {ended.stderr}")
        if ended.returncode:
            raise NotHereError(f"its process ended with {ended.returncode}: {ended.stderr[-600:]}")
        found: dict[str, list[str]] = json.loads(Path(folder, "request.json").read_text(encoding="utf-8"))
    return found


def program(name: str) -> HostDriver:
    """Return the program of a host."""
    module, _, attribute = HOSTS[name].partition(":")
    found: HostDriver = getattr(import_module(module), attribute)
    return found


def steady(text: str, folder: Path) -> str:
    """Return a text without what differs from run to run."""
    text = text.replace(str(folder), "<folder>")
    for pattern, instead in VOLATILE:
        text = pattern.sub(instead, text)
    return text


def conforming(host: HostDriver, point: str, folder: Path) -> list[str]:
    """Return what a host sends while one point of the check is checked; where that fails, what it says as well."""
    sent: list[str] = []
    hear = Model.hear

    def hears(self: Model, request: Request) -> ScriptedStep:
        wires = [wire.decode("utf-8", "replace") for wire in request.wires]
        sent.append(steady(json.dumps(wires, ensure_ascii=False), folder))
        return hear(self, request)

    with patch.object(Model, "hear", hears):
        try:
            check_host_plugin(host, folder, POINTS[point])
        except AssertionError as error:
            sent.append(steady(f"{FAILED} {error}", folder))
    return sorted(NUMBERED.sub("call-r", each) for each in sent) if point in AT_ONCE else sent


def answered(folder: Path) -> list[str]:
    """Return what the server of the Model Context Protocol offers and answers."""
    # Optional packages, here and there in their own environments.
    mcp: Any = import_module("mcp")
    plugin: Any = import_module("squidbot.plugins.mcp")

    async def ask() -> list[str]:
        async with mcp.Client(plugin.Squidbot(folder / "mem.db", scope=SHARED).server) as client:
            offered = (await client.list_tools()).tools
            said = [json.dumps([each.name, each.description, each.input_schema]) for each in offered]
            fact = ""
            for tool, given in ASKED:
                arguments = {key: fact if value == "FACT_ID" else value for key, value in given.items()}
                result = await client.call_tool(tool, arguments)
                texts = [each.text for each in result.content]
                fact = fact or next(iter(re.findall(r"\bf-\w+", " ".join(texts))), "")
                said.append(json.dumps([tool, bool(result.is_error), *texts], ensure_ascii=False))
            said += [each.text for each in (await client.read_resource(RESOURCE)).contents]
        return [steady(each, folder) for each in said]

    return asyncio.run(ask())


def _request(name: str, folder: Path, runs: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    for run in runs:
        point = run.rsplit("/", 1)[1]
        place = folder / point
        place.mkdir()
        if name == MCP:
            yield run, answered(place)
            continue
        yield run, conforming(program(name), point, place)


def main(arguments: Sequence[str]) -> None:
    """Write what a host sends into a folder, as `request.json`, and end at once: some hosts have threads that go on."""
    name, folder, runs = arguments[0], Path(arguments[1]), arguments[2:]
    if name == HERMES:
        # It makes itself a home as soon as it is imported.
        os.environ["HERMES_HOME"] = str(folder / "home")
    (folder / "request.json").write_text(json.dumps(dict(_request(name, folder, runs))), encoding="utf-8")
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
