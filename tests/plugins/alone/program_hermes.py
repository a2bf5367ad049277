"""An agent program of hermes for the check of hosts: the real package, its own agent loop, a server on this machine."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_cli import plugins
from hermes_state import SessionDB
from run_agent import AIAgent
from tools.registry import registry

from squidbot.testing.hosts import (
    CHAT,
    FACT,
    SAID,
    Exemption,
    HostDriver,
    RequestMessage,
    ScriptedStep,
    Setting,
    SignedReply,
    opened,
    points,
    to_json,
)

from .server import HELD_SECONDS, Server, sent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

WINDOW_TOKENS = 1_000_000
MOST_STEPS = 10_000
TOOLSETS = ("context_engine", "shelf")
LOOK = {
    "name": "look",
    "description": "Looks at something.",
    "parameters": {"type": "object", "properties": {"at": {"type": "integer"}, "number": {"type": "integer"}}},
}


class HermesError(Exception):
    """A run of hermes that has failed: it raises nothing, and says so in what it returns."""


class Program:
    """hermes in a folder of its own, with an agent for each conversation."""

    def __init__(
        self,
        setting: Setting,
        *,
        toolsets: Sequence[str] = TOOLSETS,
        config: Mapping[str, Any] | None = None,
        model: str = "tiny",
        streams: bool = True,
    ) -> None:
        """Write config.yaml, and begin as a new process does; some models are sent back what they thought."""
        self._model, self._streams = model, streams
        self.mind, self._toolsets, self._agents = setting.model, list(toolsets), dict[str, Any]()
        self._lists: dict[str, list[dict[str, Any]]] = {}
        self.server = Server(self.mind)
        self.home = setting.path.with_suffix(".home")
        self.home.mkdir(parents=True, exist_ok=True)
        told = {"store": str(setting.path), "budget": setting.budget}
        ours = {
            "plugins": {"enabled": ["squidbot"]},
            "context": {"engine": "squidbot"},
            "squidbot": {**told, **({"settings": dict(setting.settings)} if setting.settings else {})},
        }
        made = {
            "model": {
                "default": model,
                "provider": "custom",
                "base_url": self.server.url,
                "context_length": WINDOW_TOKENS,
            },
            "agent": {"api_max_retries": 1},
            **(ours if setting.has_squidbot else {}),
            **(config or {}),
        }
        (self.home / "config.yaml").write_text(json.dumps(made))
        os.environ["HERMES_HOME"] = str(self.home)
        plugins._plugin_manager = None
        plugins.discover_plugins()
        self.db = SessionDB(self.home / "state.db")
        registry.register(name="look", toolset="shelf", schema=LOOK, handler=self.look, override=True)

    def look(self, args: Mapping[str, Any], **_: object) -> str:
        """Look at something; what fails is told as hermes tells it."""
        at = int(args.get("at") or 0)
        if at < 0:
            self.mind.waiting.set()
            self.server.released.wait(HELD_SECONDS)
            return "[cancelled by the user]"
        return self.mind.look(at)

    def agent(self, conversation_id: str) -> Any:  # noqa: ANN401  # hermes's
        """Return the agent of a conversation."""
        if conversation_id not in self._agents:
            made = self._agents[conversation_id] = AIAgent(
                base_url=self.server.url,
                api_key="key",
                provider="custom",
                model=self._model,
                session_id=conversation_id,
                session_db=self.db,
                enabled_toolsets=self._toolsets,
                max_iterations=MOST_STEPS,
                tool_delay=0,
                max_tokens=500,
                quiet_mode=True,
                skip_memory=True,
                skip_context_files=True,
            )
            # What hermes tells of itself takes half of the budget, and where it is: its own text is as long as others'.
            made._disable_streaming = not self._streams
            made._build_system_prompt = lambda *_, **__: "You are kind."
        return self._agents[conversation_id]

    def run(self, text: str, conversation_id: str, history: object = None) -> str:
        """Run a turn."""
        return self._run(text, conversation_id, history)

    def _run(
        self, text: str, conversation_id: str, history: object = None, told: Callable[[str | None], None] | None = None
    ) -> str:
        agent = self.agent(conversation_id)
        before: Any = history or self._lists.get(conversation_id)
        if before is None:
            before = self.db.get_messages_as_conversation(conversation_id, repair_alternation=True)
        agent.stream_delta_callback = told
        result = agent.run_conversation(text, conversation_history=[dict(each) for each in before])
        self._lists[conversation_id] = result["messages"]
        if result.get("failed"):
            raise HermesError(result.get("error") or result["final_response"])
        return str(result["final_response"])

    async def arun(self, text: str, conversation_id: str) -> str:
        """Run a turn in a thread: hermes awaits nothing."""
        return await asyncio.to_thread(self._run, text, conversation_id)

    def stream(self, text: str, conversation_id: str, pieces: int | None = None) -> str:
        """Run a turn whose words are shown as they come."""
        said: list[str] = []

        def told(chunk: str | None) -> None:
            said.append(chunk or "")
            if pieces is not None and len(said) >= pieces:
                self.agent(conversation_id).interrupt()

        answer = self._run(text, conversation_id, told=told)
        return answer if pieces is None else "".join(said)

    def cancel(self, text: str, conversation_id: str, *, streams: bool = False) -> None:
        """Break a turn off as people do: by an interrupt from another thread."""
        self.mind.waiting.clear()
        act = self.stream if streams else self.run
        thread = threading.Thread(target=lambda: _quietly(act, text, conversation_id))
        thread.start()
        self.mind.waiting.wait(HELD_SECONDS)
        self.agent(conversation_id).interrupt()
        self.server.released.set()
        thread.join(HELD_SECONDS)
        self.server.released.clear()

    def history(self, conversation_id: str) -> object:
        """Return what the run returned."""
        return self._lists.get(conversation_id, [])

    def listed(self, conversation_id: str) -> Sequence[RequestMessage]:
        """Return the same, neutral."""
        return [*map(sent, self._lists.get(conversation_id, []))]

    def close(self) -> None:
        """Let go of all."""
        manager, plugins._plugin_manager = plugins._plugin_manager, None
        if manager is not None and getattr(manager._context_engine, "name", "") == "squidbot":
            manager._context_engine._runtime.hosted.close()
        for agent in self._agents.values():
            agent.close()
        self.db.close()
        self.server.close()


def _quietly(act: Callable[[str, str], str], text: str, conversation_id: str) -> None:
    with suppress(HermesError):
        act(text, conversation_id)


@contextmanager
def program(setting: Setting, **told: Any) -> Iterator[Program]:  # noqa: ANN401  # what `Program` takes
    """Make a program and close it."""
    made = Program(setting, **told)
    try:
        yield made
    finally:
        made.close()


def twice(**told: Any) -> Callable[[Setting], object]:  # noqa: ANN401  # what `Program` takes
    """Return what runs two turns in a program."""

    def act(setting: Setting) -> object:
        with program(setting, **told) as made:
            return [made.run("Hi", "chat-1") for _ in range(2)]

    return act


SEALED = [{"type": "reasoning.encrypted", "data": "c2VhbGVk", "id": "rs_1", "index": 0}]
REPLY = {"role": "assistant", "content": "Yes."}


def streamed(host: HostDriver, folder: Path) -> None:
    """C6 but for a stream that fails: hermes keeps what came, and has the model go on behind words of its own."""
    points._compares(host, folder, "streamed", lambda run, text: run.program.stream(text, CHAT))
    for way, ends in (("abandoned", points._abandon), ("cancelled", points._cancel)):
        with opened(host, folder / f"{way}.db") as run:
            run.say(FACT)
            ends(run)
            points._checks_left(run, way)
        with opened(host, folder / f"{way}.db") as run:
            assert run.say("And the cat?") == SAID
            assert b"And the seal?" in run.whole()
    with opened(host, folder / "failed.db") as run:
        run.say(FACT)
        run.scripted(
            lambda request: (
                ScriptedStep(SAID, error="failed", pieces=2) if request.number == 1 else ScriptedStep("That is all.")
            )
        )
        run.program.stream("And the seal?", CHAT)
        first, second, (role, text), last = run.said()[2:]
        assert (first, last) == (("user", "And the seal?"), ("assistant", "That is all."))
        assert second == ("assistant", SAID[:80].strip())
        assert (role, "cut off by a network error" in text) == ("user", True)


HOST = HostDriver(
    name="hermes",
    make=Program,
    origin="tests.plugins.alone.program_hermes:HOST",
    root=Path(__file__).parents[3],
    plugin="squidbot.plugins.hermes",
    package="hermes_cli",
    extra="hermes",
    rivals={"'compressor'": twice(config={"context": {"engine": "compressor"}})},
    inactive={
        "context.engine": twice(config={"context": {}}),
        "context_engine to enabled_toolsets": twice(toolsets=["shelf"]),
    },
    otherwise={
        "C6 stream": Exemption("After a failed stream, hermes continues with a message of its own", streamed),
        "C14 reasoning": Exemption("to most models hermes sends no reasoning back"),
        "C11 server-held state": Exemption("hermes has no option that makes the provider keep the conversation"),
    },
)
# Of what is sealed hermes keeps nothing where it is streamed.
SEALING = replace(
    HOST,
    name="hermes with sealed reasoning",
    make=partial(Program, streams=False),
    signed=SignedReply({**REPLY, "reasoning_details": SEALED}, to_json(SEALED).decode()),
    otherwise={},
)
ECHOING = replace(
    HOST,
    name="hermes with a model that wants back what it thought",
    make=partial(Program, model="deepseek-reasoner"),
    signed=SignedReply({**REPLY, "reasoning_content": "Hm."}, to_json("Hm.").decode()),
    otherwise={},
)
