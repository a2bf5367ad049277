"""A program of llm for the check of hosts: the real package, its own chain of tools, models that answer offline."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llm
from click.testing import CliRunner
from llm.cli import cli
from llm.parts import ReasoningPart, StreamEvent, TextPart, ToolCallPart, ToolResultPart
from llm.plugins import load_plugins, pm

from squidbot.plugins import llm as plugin
from squidbot.testing.hosts import (
    Exemption,
    HostDriver,
    Request,
    RequestMessage,
    ScriptedStep,
    Setting,
    SignedReply,
    broken_off,
    to_json,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator, Sequence

    from click.testing import Result
    from llm.models import _BaseResponse as Response

    from squidbot.core.messages import Role
    from squidbot.testing.hosts import Model

ROOT = Path(__file__).parents[2]
FOLDER = "LLM_USER_PATH"
SYSTEM = "You are kind."


def sent(message: llm.Message) -> RequestMessage:
    """Return a message as a neutral one."""
    calls = tuple(part.tool_call_id or "" for part in message.parts if isinstance(part, ToolCallPart))
    answers = [part for part in message.parts if isinstance(part, ToolResultPart)]
    text = "\n".join(
        [part.text for part in message.parts if isinstance(part, TextPart)] + [each.output for each in answers]
    )
    role: Role = message.role  # type: ignore[assignment]  # one of those
    thoughts = [part.to_dict() for part in message.parts if isinstance(part, ReasoningPart)]
    opaque = to_json(thoughts).decode() if thoughts else ""
    return RequestMessage(
        role, text, calls, tuple(each.tool_call_id or "" for each in answers), to_json(message.to_dict()), opaque
    )


class Fake:
    """What both models do."""

    model_id = "fake"
    supports_tools = True
    can_stream = True

    def __init__(self, mind: Model) -> None:
        self.mind = mind

    def step(self, prompt: llm.Prompt) -> ScriptedStep:
        """Hear a prompt."""
        said = tuple(sent(each) for each in prompt.messages if each.role != "system")
        system = "\n".join(sent(each).text for each in prompt.messages if each.role == "system")
        tools = [[each.name, each.description, each.input_schema] for each in prompt.tools]
        return self.mind.hear(Request(said, system, to_json(tools)))

    def reply(self, step: ScriptedStep, response: Response) -> Iterator[str | StreamEvent]:
        """Say it, in pieces."""
        if isinstance(step.native, list):
            yield from step.native
        else:
            yield from step.chunks()
        if step.is_held:
            return
        if step.error:
            raise (
                ValueError("maximum context length is 10 tokens")
                if step.error == "too_long"
                else ConnectionError("fake")
            )
        for call in step.calls:
            response.add_tool_call(llm.ToolCall(call.name, dict(call.arguments), call.call_id))
        if step.usage:
            cached = {"input_tokens_details": {"cached_tokens": step.usage.cached_tokens}}
            response.set_usage(input=step.usage.input_tokens, output=step.usage.output_tokens, details=cached)


class Plain(Fake, llm.Model):
    """A model without a key."""

    def execute(self, prompt: llm.Prompt, stream: object, response: Response, conversation: object) -> Iterator[Any]:
        """Answer."""
        del stream, conversation
        step = self.step(prompt)
        yield from self.reply(step, response)
        if step.is_held:
            self.mind.hold()


class Keyed(Fake, llm.KeyModel):
    """A model with one."""

    needs_key = "fake"
    key = "sesame"

    def execute(
        self, prompt: llm.Prompt, stream: object, response: Response, conversation: object, key: object
    ) -> Iterator[Any]:
        """Answer, to who knows the word."""
        del stream, conversation
        assert key == "sesame"
        step = self.step(prompt)
        yield from self.reply(step, response)
        if step.is_held:
            self.mind.hold()


class Waiting(Fake, llm.AsyncModel):
    """A model that is awaited."""

    async def execute(
        self, prompt: llm.Prompt, stream: object, response: Response, conversation: object
    ) -> AsyncGenerator[str | StreamEvent, None]:
        """Answer, now and then later."""
        del stream, conversation
        step = self.step(prompt)
        for each in self.reply(step, response):
            await asyncio.sleep(0)
            yield each
        if step.is_held:
            await self.mind.ahold()


class Program:
    """llm with squidbot switched on, or off, in a folder of its own, and the models above."""

    def __init__(self, setting: Setting, kind: type[Plain | Keyed] = Plain) -> None:
        """Load it anew: classes of models are swapped as they are listed."""
        self.mind = setting.model
        self.before = os.environ.get(FOLDER)
        os.environ[FOLDER] = str(setting.path.parent)
        plugin.opened.cache_clear()
        plugin._warn_once.cache_clear()
        switch = setting.path.parent / plugin.SWITCH
        switch.unlink(missing_ok=True)
        if setting.has_squidbot:
            plugin.write(switch, _switch(setting))
        self.models = kind(self.mind), Waiting(self.mind)
        self.talks: dict[tuple[str, bool], Any] = {}
        load_plugins()  # type: ignore[no-untyped-call]  # as it is
        for each in (plugin, self):
            if not pm.is_registered(each):
                pm.register(each)
        self.tools = [plugin.Squidbot()] if setting.has_squidbot else []

    @llm.hookimpl
    def register_models(self, register: Callable[..., None]) -> None:
        """Offer the models."""
        register(*self.models)

    def look(self, at: int = 0) -> str:
        """Look at something."""
        return self.mind.look(at)

    def talk(self, name: str, *, is_async: bool = False) -> Any:  # noqa: ANN401  # one of two kinds
        """Return a conversation of llm's, as it is held by who leads it; what one kind has said the other goes on."""
        if (name, is_async) not in self.talks:
            model = llm.get_async_model("fake") if is_async else llm.get_model("fake")
            tool = llm.Tool.function(self.alook if is_async else self.look, name="look")  # type: ignore[no-untyped-call]  # as it is
            made = model.conversation(tools=[*self.tools, tool], chain_limit=0)
            made.id = name
            self.talks[name, is_async] = made
        return self.talks[name, is_async]

    async def alook(self, at: int = 0) -> str:
        """Look at something."""
        return await self.mind.alook(at)

    def run(self, text: str, conversation_id: str, history: object = None) -> str:
        """Run a turn with all its tools."""
        talk = self.talk(conversation_id)
        if isinstance(history, list):
            talk.responses.clear()
            talk.loaded_messages = list(history)
        return str(talk.chain(text, system=SYSTEM).text())

    async def arun(self, text: str, conversation_id: str) -> str:
        """Run a turn, awaited."""
        return str(await self.talk(conversation_id, is_async=True).chain(text, system=SYSTEM).text())

    def stream(self, text: str, conversation_id: str, pieces: int | None = None) -> str:
        """Run a turn as a stream."""
        said: list[str] = []
        for chunk in self.talk(conversation_id).chain(text, system=SYSTEM):
            said.append(chunk)
            if len(said) == pieces:
                break
        return "".join(said)

    def cancel(self, text: str, conversation_id: str, *, streams: bool = False) -> None:
        """Cancel the task of a turn; a stream is broken off as by Ctrl-C."""
        if streams:
            with suppress(KeyboardInterrupt):
                self.stream(text, conversation_id)
        else:
            asyncio.run(broken_off(self.arun(text, conversation_id), self.mind))

    def history(self, conversation_id: str) -> object:
        """Return what the newest prompt had, and its answer."""
        last = self.talk(conversation_id).responses[-1]
        return [*last.prompt.messages, *last._messages_now()]

    def listed(self, conversation_id: str) -> Sequence[RequestMessage]:
        """Return the same, neutral."""
        return [sent(each) for each in self.history(conversation_id)]  # type: ignore[attr-defined]  # a list

    def close(self) -> None:
        """Close the store, and have llm forget the models."""
        with suppress(Exception):
            plugin.opened(plugin.switched()).close()
        plugin.opened.cache_clear()
        pm.unregister(self)
        if self.before is None:
            os.environ.pop(FOLDER, None)
        else:
            os.environ[FOLDER] = self.before


def _switch(setting: Setting) -> plugin.Switch:
    """Return how squidbot is switched on: by a file, or by a file of settings."""
    if not setting.settings:
        return plugin.Switch(str(setting.path), float(setting.budget))
    told: dict[str, Any] = {"store": {"path": str(setting.path)}, **setting.settings}
    lines = [
        f"[{table}]\n" + "\n".join(f"{key} = {json.dumps(told[table][key])}" for key in told[table]) for table in told
    ]
    made = setting.path.with_name("squidbot.toml")
    made.write_text("\n".join(lines), "utf-8")
    return plugin.Switch("", float(setting.budget), str(made))


def command(*words: str) -> Result:
    """Run `llm squidbot`."""
    made = CliRunner().invoke(cli, ["squidbot", *words])
    assert made.exception is None or isinstance(made.exception, SystemExit)
    return made


def without_talk(setting: Setting) -> object:
    """Ask a model outside of conversations."""
    program = Program(setting)
    try:
        return [llm.get_model("fake").prompt("Hi").text() for _ in range(2)]
    finally:
        program.close()


def wrongly_on(setting: Setting) -> object:
    """Have the switch say nothing of use."""
    program = Program(setting)
    (setting.path.parent / plugin.SWITCH).write_text("{")
    try:
        return [program.run("Hi", "chat-1") for _ in range(2)]
    finally:
        program.close()


SIGNED = {"anthropic": {"signature": "c2lnbmVk"}}
EVENTS = [StreamEvent("reasoning", "Hm.", provider_metadata=SIGNED), StreamEvent("text", "Yes.")]
NO_SWITCH = "No model of llm makes its provider keep the conversation, so squidbot refuses no options."
NO_RIVAL = "llm never shortens messages, and other plugins cannot, so there are no rivals to warn of."

HOST = HostDriver(
    name="llm",
    make=Program,
    origin="tests.plugins.program_llm:HOST",
    root=ROOT,
    plugin="squidbot.plugins.llm",
    package="llm",
    extra="llm",
    search="Squidbot_memory_search",
    inactive={"record single prompts": without_talk, "squidbot cannot work in llm": wrongly_on},
    signed=SignedReply(EVENTS, to_json([ReasoningPart("Hm.", provider_metadata=SIGNED).to_dict()]).decode()),
    otherwise={"C11 server-held state": Exemption(NO_SWITCH), "C16 rivals": Exemption(NO_RIVAL)},
)
KEYED = replace(
    HOST, name="llm with a key", make=partial(Program, kind=Keyed), origin="tests.plugins.program_llm:KEYED"
)
