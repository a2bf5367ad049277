"""squidbot in llm: a plugin for the command and the library. It does nothing until you turn it on.

    llm install 'squidbot-context[llm]'
    llm squidbot on --budget 8000
    llm chat -m any-model -T Squidbot

The plugin replaces the class of each model with one that asks squidbot first. llm's own list of messages, and its logs,
stay as they are: squidbot decides before each call what the model sees, inside tool loops, too.
"""

from __future__ import annotations

import json
import logging
from contextlib import aclosing
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from squidbot.adapters.common.packages import missing

try:
    import llm
except ImportError as error:
    raise ImportError(f"squidbot.plugins.llm: {error}; {missing('llm')}") from error

from squidbot.codecs.fields import read_usage
from squidbot.core.budget import read_budget
from squidbot.core.errors import ConfigError, SquidbotError
from squidbot.plugins.host import REPLY, REQUEST, HostRuntime, is_too_long
from squidbot.plugins.lists import digest
from squidbot.plugins.scopes import told_scope
from squidbot.tools.table import HOST_DEFAULTS
from squidbot.wiring.calls import in_thread, to_end
from squidbot.wiring.person import machine_user

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence

    from llm import Prompt, Toolbox
    from llm.models import _BaseConversation as LLMConversation
    from llm.models import _BaseResponse as Response

    from squidbot.core.messages import Usage
    from squidbot.plugins.host import HostRequest
    from squidbot.tools.tool import Tool as OwnTool
else:
    # An llm too old to have it must not fail because of a plugin that is off.
    Toolbox = getattr(llm, "Toolbox", object)

__all__ = ["Squidbot", "SquidbotToolbox", "register_commands", "register_models", "register_tools", "sub_agent"]

_LOG: Final = logging.getLogger("squidbot")
SWITCH: Final = "squidbot.json"
STORE: Final = "squidbot.db"
TOO_OLD: Final = "llm is older than 0.36; update it"
NO_CONVERSATION: Final = "squidbot does not record single prompts: use model.conversation()"
UNKNOWN: Final = "no conversation: squidbot is off, or this is a single prompt; see `llm squidbot status`"
# An attribute of answers and tool calls of managed models: their conversation.
MARK: Final = "_squidbot"
# How often a too long request is sent, shorter each time.
MOST_ATTEMPTS: Final = 3
# Attributes that may hold a model's window in tokens.
WINDOWS: Final = ("context_window", "context_length", "max_input_tokens")


@cache
def _warn_once(text: str) -> None:
    _LOG.warning("%s", text)


# -- the switch ------------------------------------------------------------------------------------------------------


class Switch(NamedTuple):
    """The options of `llm squidbot on`.

    Attributes:
        store: the file, or the address of the database, that keeps everything; "" if `settings` names it.
        budget: the limit of a request and its answer in tokens, or a fraction of the window; None: the window.
        settings: a squidbot.toml; "" for none.
    """

    store: str = ""
    budget: float | None = None
    settings: str = ""


def switched() -> Switch:
    """Return the switch.

    Raises:
        ConfigError: squidbot is off, or the file is wrong; the text says which.
    """
    if not hasattr(llm, "Message"):
        raise ConfigError(TOO_OLD)
    return read(_folder() / SWITCH)


def read(path: Path) -> Switch:
    """Return the switch in a file.

    Raises:
        ConfigError: squidbot is off, or the file is wrong; the text says which.
    """
    try:
        given = json.loads(path.read_text("utf-8"))
        return Switch(str(given["store"]), read_budget(given["budget"]), str(given["settings"]))
    except FileNotFoundError as error:
        raise ConfigError("squidbot is off. Turn it on with: llm squidbot on") from error
    except (ConfigError, OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{path} can't be read: {error if isinstance(error, ConfigError) else repr(error)}"
        ) from error


def write(path: Path, switch: Switch) -> None:
    """Write the switch to a file.

    Raises:
        OSError: the file can't be written.
    """
    path.write_text(json.dumps(switch._asdict(), indent=2) + "\n", "utf-8")


def _folder() -> Path:
    return Path(llm.user_dir())  # type: ignore[no-untyped-call]  # a path, it says


@lru_cache(maxsize=8)
def opened(switch: Switch) -> HostRuntime:
    """Return the runtime for a switch, always the same.

    Raises:
        ConfigError: the budget is wrong.
    """
    return HostRuntime(
        switch.store or None,
        host="llm",
        form="llm/1",
        key=_key,
        is_whole=True,
        dump=_dump,
        load=_load,
        mark=_mark,
        budget=switch.budget,
        settings=switch.settings or None,
        scope=machine_user(),
        budget_key="--budget of `llm squidbot on`: ",
    )


def _runtime() -> HostRuntime | None:
    """Return the runtime; None if squidbot is off. A broken switch is logged."""
    if not (_folder() / SWITCH).exists():
        return None
    try:
        return opened(switched())
    except Exception as error:  # noqa: BLE001  # a model answers without squidbot, too
        _warn_once(f"squidbot cannot work in llm: {error}")
        return None


def sub_agent(conversation_id: str, agent: str, child_id: str | None = None) -> str:
    """Give a model that a tool asks its caller's context, and return the id of its own conversation.

    That begins with the caller's goals, decisions, documents and pins, without what was said. Its id is `child_id`, or
    CONVERSATION/AGENT; a conversation that has begun like that goes on as it is. Set it as the `id` of llm's
    conversation before you ask. While squidbot is off, this gives nothing.
    """
    runtime = _runtime()
    return runtime.sub_agent(conversation_id, agent, child_id) if runtime else child_id or f"{conversation_id}/{agent}"


# -- calls of a model ------------------------------------------------------------------------------------------------


def _bounded(ask: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """Return an `execute` that sends what fits, and records the answer, finished or not."""

    def execute(
        it: object,
        prompt: Prompt,
        stream: object,
        response: Response,
        conversation: LLMConversation | None,
        *more: object,
        **named: object,
    ) -> Iterator[Any]:
        call = PromptCall(prompt, response, conversation)
        try:
            while not call.is_done:
                try:
                    for chunk in ask(it, call.prompt, stream, response, conversation, *more, **named):
                        call.has_begun = True
                        yield chunk
                    call.is_done = True
                except Exception as error:
                    if not call.retries(error):
                        raise
        finally:
            call.end()

    return execute


def _bounded_async(ask: Callable[..., AsyncGenerator[Any, None]]) -> Callable[..., AsyncIterator[Any]]:
    """Do the same for a model that is awaited."""

    async def execute(
        it: object,
        prompt: Prompt,
        stream: object,
        response: Response,
        conversation: LLMConversation | None,
        *more: object,
        **named: object,
    ) -> AsyncIterator[Any]:
        call = await in_thread(PromptCall, prompt, response, conversation)
        try:
            while not call.is_done:
                try:
                    async with aclosing(ask(it, call.prompt, stream, response, conversation, *more, **named)) as chunks:
                        async for chunk in chunks:
                            call.has_begun = True
                            yield chunk
                    call.is_done = True
                except Exception as error:
                    if not await in_thread(call.retries, error):
                        raise
        finally:
            await to_end(call.end)

    return execute


class PromptCall:
    """One call of a model. Where squidbot is off, or there is no conversation, it changes nothing.

    None of its methods raises.
    """

    def __init__(self, prompt: Prompt, response: Response, conversation: LLMConversation | None) -> None:
        self.prompt, self.has_begun, self.is_done = prompt, False, False
        self._response, self._attempts = response, 1
        self._asked: HostRequest | None = None
        # A model that delegates to another one passes on our prompt.
        runtime = None if hasattr(response, MARK) else _runtime()
        if runtime is not None and conversation is None:
            _warn_once(NO_CONVERSATION)
        self._runtime = runtime if conversation is not None else None
        if runtime is None or conversation is None:
            return
        model = response.model
        window = next((known for name in WINDOWS if isinstance(known := getattr(model, name, None), int)), None)
        self._conversation = partial(runtime.conversation, conversation.id, model.model_id, window)
        self._id = conversation.id
        setattr(response, MARK, self._id)
        self._system = [message for message in prompt.messages if message.role == "system"]
        self.prompt = runtime.safely(REQUEST, self._id, self._request, prompt)

    def retries(self, error: Exception) -> bool:
        """Return whether to ask again with a shorter prompt: nothing has arrived, and the request was too long."""
        if self._runtime is None or self.has_begun or self._attempts >= MOST_ATTEMPTS:
            return False
        shorter = self._runtime.safely("shorten a request", self._id, lambda: self._shorter(error))
        self._attempts, self.prompt = self._attempts + 1, shorter or self.prompt
        return shorter is not None

    def end(self) -> None:
        """Record the answer."""
        if self._runtime is not None:
            self._runtime.safely(REPLY, self._id, self._record)
            delattr(self._response, MARK)

    def _request(self) -> Prompt:
        prompt = self.prompt
        listed = [message for message in prompt.messages if message.role != "system"]
        system = "\n\n".join(str(getattr(part, "text", "")) for message in self._system for part in message.parts)
        tools: list[Mapping[str, object]] = [
            {"name": tool.name, "description": tool.description or "", "parameters": tool.input_schema}
            for tool in prompt.tools
        ]
        if prompt.schema:
            tools.append({"name": "schema", "parameters": prompt.schema})
        self._asked = self._conversation().before(listed, system=system, tools=tools)
        return self._prompt_of(self._asked.messages)

    def _shorter(self, error: Exception) -> Prompt | None:
        shorter = self._asked.shorter() if self._asked and is_too_long(error) else None
        self._asked = shorter or self._asked
        return None if shorter is None else self._prompt_of(shorter.messages)

    def _prompt_of(self, messages: Sequence[llm.Message]) -> Prompt:
        """Return a prompt with these messages; the host's stays as it is."""
        prompt = self.prompt
        return llm.Prompt(  # type: ignore[no-untyped-call]  # llm leaves its arguments untyped
            prompt._prompt,  # noqa: SLF001  # no public attribute has it without the fragments
            prompt.model,
            fragments=prompt.fragments,
            attachments=prompt.attachments,
            system=prompt._system,  # noqa: SLF001  # as above
            system_fragments=prompt.system_fragments,
            prompt_json=getattr(prompt, "prompt_json", None),
            options=prompt.options,
            schema=prompt.schema,
            tools=prompt.tools,
            tool_results=prompt.tool_results,
            messages=[*self._system, *messages],
            hide_reasoning=prompt.hide_reasoning,
        )

    def _record(self) -> None:
        for call in self._response._tool_calls:  # noqa: SLF001  # asking by the public name would run the model again
            setattr(call, MARK, (self._runtime, self._id))
        replies: list[Any] = [message.to_dict() for message in self._response._messages_now()]  # noqa: SLF001  # as above
        if not replies or self._asked is None:
            return
        if not self.is_done:
            known = replies[-1].get("provider_metadata", {})
            replies[-1]["provider_metadata"] = {**known, "squidbot": {"incomplete": True}}
        self._asked.after(replies[0], usage_of(self._response), replies[1:])


def usage_of(response: Response) -> Usage | None:
    """Return the usage that a provider reported, if its plugin passes it on."""
    if not response.input_tokens:
        return None
    details = response.token_details or {}
    # OpenAI's chat completions name the cached part differently from its responses.
    cached = details.get("input_tokens_details") or details.get("prompt_tokens_details")
    tokens = {"input_tokens": response.input_tokens, "output_tokens": response.output_tokens}
    return read_usage({**details, **tokens, "input_tokens_details": cached})


def _key(payload: Mapping[str, object]) -> object:
    """Return the role and the parts, without a provider's metadata and details that llm adds to attachments."""
    parts = payload.get("parts")
    return payload.get("role"), [_part_key(part) for part in parts] if isinstance(parts, list) else None


def _part_key(part: Mapping[str, object]) -> object:
    kept = {key: value for key, value in part.items() if key != "provider_metadata" and value is not None}
    attachment = kept.get("attachment")
    if isinstance(attachment, dict):
        kept["attachment"] = {key: attachment.get(key) for key in ("content", "path", "url")}
    return kept


def _dump(message: Any) -> Mapping[str, object]:  # noqa: ANN401  # llm's message, or a payload
    return message if isinstance(message, dict) else message.to_dict()


def _mark(message: llm.Message) -> int:
    """Return a number that changes with the words of a message, or with its calls."""
    return digest(message.role, *(getattr(part, "text", part) for part in message.parts))


def _load(payload: str) -> list[llm.Message]:
    made = json.loads(payload)
    return [llm.Message.from_dict(message) for message in (made if isinstance(made, list) else [made])]


# -- llm's hooks -----------------------------------------------------------------------------------------------------


class SquidbotToolbox(Toolbox):  # type: ignore[no-untyped-call]  # of llm's own hook
    """Search this conversation and durable facts."""

    def tools(self) -> Iterator[llm.Tool]:
        """Return the tools for the model."""
        yield from self.method_tools()

    @classmethod
    def method_tools(cls) -> list[llm.Tool]:
        """Return the tools as llm lists them."""
        runtime = _runtime()
        return [_tool(tool) for tool in (runtime.tools if runtime else HOST_DEFAULTS)]


Squidbot = SquidbotToolbox


def _tool(tool: OwnTool) -> llm.Tool:
    def call(llm_tool_call: llm.ToolCall, **arguments: object) -> str:
        runtime, session_id = getattr(llm_tool_call, MARK, (None, ""))
        return f"<{UNKNOWN}>" if runtime is None else str(runtime.answer(tool.name, session_id, arguments))

    schema = json.loads(json.dumps(tool.schema))
    return llm.Tool(f"Squidbot_{tool.name}", tool.description, schema, call, "squidbot")


@cache
def _managed(kind: type) -> type:
    """Return a subclass of a model's class, with the same name, whose requests squidbot limits."""
    bounded: Any = _bounded_async if issubclass(kind, llm.AsyncModel | llm.AsyncKeyModel) else _bounded
    ask: Any = kind.execute  # type: ignore[attr-defined]  # models have it
    named = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    # One base only: objects of some classes cannot change to a class with two.
    return type(kind)(kind.__name__, (kind,), {**named, MARK: True, "execute": bounded(ask)})


def is_managed(model: object) -> bool:
    """Return whether squidbot manages a model."""
    return getattr(type(model), MARK, False) is True


@llm.hookimpl(trylast=True)
def register_models(register: object, model_aliases: Sequence[llm.models.ModelWithAliases]) -> None:
    """Let squidbot manage each model, if it is on."""
    del register
    if _runtime() is None:
        return
    for entry in model_aliases:
        for model in (entry.model, entry.async_model):
            if model is not None and not is_managed(model):
                try:
                    model.__class__ = _managed(type(model))
                except Exception as error:  # noqa: BLE001  # an unmanaged model is better than no list of models
                    _warn_once(f"squidbot cannot limit requests of {model.model_id}: {error}")


@llm.hookimpl
def register_tools(register: Callable[..., None]) -> None:
    """Offer the tools; a model gets them by `-T Squidbot`."""
    if hasattr(llm, "Toolbox"):
        register(Squidbot, name="Squidbot")


@llm.hookimpl
def register_commands(cli: click.Group) -> None:
    """Add `llm squidbot`."""
    cli.add_command(commands)


@click.group("squidbot")
def commands() -> None:
    """Keep conversations within a budget, and everything searchable."""


@commands.command("on")
@click.option("--budget", help="Request and answer in tokens (8000, 8k), or a fraction of the window (0.5).")
@click.option("--store", help="File or postgresql:// address that keeps everything; squidbot.db beside llm's.")
@click.option("--settings", type=click.Path(exists=True, dir_okay=False), help="A squidbot.toml, instead of --store.")
def switch_on(budget: str | None, store: str | None, settings: str | None) -> None:
    """Turn squidbot on for all models."""
    folder = _folder()
    if store:
        where = store if "://" in store else str(Path(store).absolute())
    else:
        where = "" if settings else str(folder / STORE)
    try:
        made = Switch(where, read_budget(budget), str(Path(settings).absolute()) if settings else "")
        opened(made).open()
        loaded = opened(made).engine.wired.loaded
        if not (loaded.store_place or loaded.settings.store.adapter):
            raise ConfigError(f"{settings} names no store, so nothing would be kept: set store.path there")
    except SquidbotError as error:
        raise click.ClickException(str(error)) from error
    write(folder / SWITCH, made)
    _print_status()


@commands.command("off")
def switch_off() -> None:
    """Turn squidbot off; the store stays."""
    (_folder() / SWITCH).unlink(missing_ok=True)
    _print_status()


@commands.command("status")
def tell_status() -> None:
    """Show whether squidbot is active, and if not, why."""
    _print_status()


def _print_status() -> None:
    try:
        switch = switched()
    except ConfigError as error:
        why = f": {error}" if (_folder() / SWITCH).exists() else ""
        click.echo(f"squidbot is off{why}. Turn it on with: llm squidbot on")
        return
    try:
        opened(switch).open()
    except SquidbotError as error:
        click.echo(f"squidbot is on, but can't work: {error}")
        return
    engine = opened(switch).engine
    models = [model for entry in llm.get_models_with_aliases() for model in (entry.model, entry.async_model) if model]
    ours = [model for model in models if is_managed(model)]
    click.echo(f"squidbot is active for {len(ours)} of {len(models)} models")
    click.echo(f"store: {engine.wired.loaded.store_place}")
    click.echo(f"facts: {told_scope(machine_user())}, who uses this machine")
    click.echo(f"budget: {_shown(switch.budget)}")


def _shown(budget: float | None) -> str:
    if budget is None:
        return "the window of the model"
    return str(budget if budget < 1 else int(budget))
