"""squidbot in llm: a plugin of the command and of the library, which does nothing until it is switched on.

    llm install '.[llm]'     # in your clone of squidbot
    llm squidbot on --budget 8000
    llm chat -m any-model -T Squidbot

The class of each model is swapped for one that asks squidbot first. llm's own list of messages, and its logs, stay as
they are: what the model sees of it is decided before each call, inside of tool loops, too.
"""

from __future__ import annotations

import json
import logging
from contextlib import aclosing
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from squidbot.adapters.common.packages import missing

try:
    import llm
except ImportError as error:
    raise ImportError(f"squidbot.plugins.llm: {error}; {missing('llm')}") from error

from squidbot.codecs.fields import read_usage
from squidbot.core.budget import read_budget
from squidbot.core.errors import ConfigError, SquidbotError
from squidbot.plugins import host
from squidbot.plugins.host import REQUEST, HostRuntime, Made, Switch, is_too_long
from squidbot.tools.table import HOST_DEFAULTS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence

    from llm import Prompt, Toolbox
    from llm.models import _BaseConversation as Talk
    from llm.models import _BaseResponse as Reply

    from squidbot.core.messages import Usage
    from squidbot.tools.tool import Tool as OwnTool
else:
    # An llm that is too old to have it must not fail for a plugin that nobody has switched on.
    Toolbox = getattr(llm, "Toolbox", object)

__all__ = ["Squidbot", "register_commands", "register_models", "register_tools"]

_LOG: Final = logging.getLogger("squidbot")
FORM: Final = "llm/1"
SWITCH: Final = "squidbot.json"
STORE: Final = "squidbot.db"
TOO_OLD: Final = "this llm has no messages of its own: it is older than 0.36"
NO_TALK: Final = "squidbot keeps nothing of a prompt outside of a conversation: ask model.conversation()"
UNKNOWN: Final = "squidbot can't tell which conversation asks: it is off, or there is none; see `llm squidbot status`"
# What is put on an answer while we are at it, and on the calls that a model makes: whose they are.
MARK: Final = "_squidbot"
# So often a request that is too long is made shorter.
MOST_ATTEMPTS: Final = 3
# Attributes by which models of plugins tell their window in tokens.
WINDOWS: Final = ("context_window", "context_length", "max_input_tokens")
# What was logged already.
said_once: Final[set[str]] = set()


def switched() -> Switch:
    """Return how squidbot is switched on.

    Raises:
        ConfigError: it is not; the text says why.
    """
    if not hasattr(llm, "Message"):
        raise ConfigError(TOO_OLD)
    return host.read(_folder() / SWITCH)


def _folder() -> Path:
    return Path(llm.user_dir())  # type: ignore[no-untyped-call]  # a path, it says


@lru_cache(maxsize=8)
def opened(switch: Switch) -> HostRuntime:
    """Return what keeps the conversations, the same for the same switch.

    Raises:
        ConfigError: the budget is none.
    """
    return HostRuntime(
        switch.store or None,
        host="llm",
        form=FORM,
        telling=_telling,
        is_whole=True,
        budget=switch.budget,
        settings=switch.settings or None,
        budget_key="--budget of `llm squidbot on`: ",
    )


def _hosted() -> HostRuntime | None:
    """Return what keeps the conversations; None where squidbot is off. That it is on wrongly is logged once."""
    if not (_folder() / SWITCH).exists():
        return None
    try:
        return opened(switched())
    except Exception as error:  # noqa: BLE001  # a model answers without squidbot, too
        _say_once(f"squidbot is not active in llm: {error}")
        return None


def _say_once(text: str) -> None:
    if text not in said_once:
        said_once.add(text)
        _LOG.warning("%s", text)


def _bounded(ask: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """Return a model's `execute` that asks with what fits, and records what is said, finished or not."""

    def execute(
        it: object, prompt: Prompt, stream: object, response: Reply, conversation: Talk | None, *k: object, **kw: object
    ) -> Iterator[Any]:
        run = _Run(prompt, response, conversation)
        try:
            while not run.is_done:
                try:
                    for chunk in ask(it, run.prompt, stream, response, conversation, *k, **kw):
                        run.has_begun = True
                        yield chunk
                    run.is_done = True
                except Exception as error:
                    if not run.retries(error):
                        raise
        finally:
            run.end()

    return execute


def _bounded_later(ask: Callable[..., AsyncGenerator[Any, None]]) -> Callable[..., AsyncIterator[Any]]:
    """Do as `_bounded`, for a model that is awaited."""

    async def execute(
        it: object, prompt: Prompt, stream: object, response: Reply, conversation: Talk | None, *k: object, **kw: object
    ) -> AsyncIterator[Any]:
        run = _Run(prompt, response, conversation)
        try:
            while not run.is_done:
                try:
                    async with aclosing(ask(it, run.prompt, stream, response, conversation, *k, **kw)) as chunks:
                        async for chunk in chunks:
                            run.has_begun = True
                            yield chunk
                    run.is_done = True
                except Exception as error:
                    if not run.retries(error):
                        raise
        finally:
            run.end()

    return execute


class _Run:
    """One call of a model; nothing is done for it where squidbot is off, or there is no conversation.

    None of its methods raises.
    """

    def __init__(self, prompt: Prompt, response: Reply, conversation: Talk | None) -> None:
        self.prompt, self.has_begun, self.is_done = prompt, False, False
        self._response, self._attempts = response, 1
        # A model that hands on to another one hands on what we have made of its prompt.
        hosted = None if hasattr(response, MARK) else _hosted()
        if hosted is not None and conversation is None:
            _say_once(NO_TALK)
        self._hosted = hosted if conversation is not None else None
        if hosted is None or conversation is None:
            return
        model = response.model
        window = next((known for name in WINDOWS if isinstance(known := getattr(model, name, None), int)), None)
        self._conversation = partial(hosted.conversation, conversation.id, model.model_id, window)
        self._id = conversation.id
        setattr(response, MARK, self._id)
        self._system = [each for each in prompt.messages if each.role == "system"]
        self.prompt = hosted.safely(REQUEST, self._id, lambda: _prompt_of(prompt, self._seen()), prompt)

    def retries(self, error: Exception) -> bool:
        """Say whether to ask again, with less: nothing has come yet, and the provider calls the request too long."""
        if self._hosted is None or self.has_begun or self._attempts >= MOST_ATTEMPTS:
            return False
        made = self._hosted.safely("shorten a request", self._id, lambda: self._shorter(error), None)
        self._attempts, self.prompt = self._attempts + 1, made or self.prompt
        return made is not None

    def end(self) -> None:
        """Record what the model has said."""
        if self._hosted is not None:
            self._hosted.safely("record a reply", self._id, self._recorded, None)
            delattr(self._response, MARK)

    def _seen(self) -> list[llm.Message]:
        said = [each for each in self.prompt.messages if each.role != "system"]
        system = "\n\n".join(str(getattr(part, "text", "")) for each in self._system for part in each.parts)
        listed = Made(len(said), lambda place: said[place].to_dict())
        return self._natives(self._conversation().before(listed, system=system, tools=_tools(self.prompt)))

    def _shorter(self, error: Exception) -> Prompt | None:
        made = self._conversation().shorter() if is_too_long(error) else None
        return None if made is None else _prompt_of(self.prompt, self._natives(made))

    def _natives(self, payloads: Iterable[Mapping[str, object]]) -> list[llm.Message]:
        return [*self._system, *(llm.Message.from_dict(each) for each in payloads)]  # type: ignore[arg-type]

    def _recorded(self) -> None:
        for call in self._response._tool_calls:  # noqa: SLF001  # asking by the public name would run the model again
            setattr(call, MARK, (self._hosted, self._id))
        replies: list[Any] = [each.to_dict() for each in self._response._messages_now()]  # noqa: SLF001  # as above
        if not replies:
            return
        if not self.is_done:
            known = replies[-1].get("provider_metadata", {})
            replies[-1]["provider_metadata"] = {**known, "squidbot": {"incomplete": True}}
        self._conversation().after(replies[0], usage_of(self._response), replies[1:])


def _prompt_of(prompt: Prompt, messages: Sequence[llm.Message]) -> Prompt:
    """Return a prompt with other messages; the host's stays as it is."""
    return llm.Prompt(  # type: ignore[no-untyped-call]  # llm leaves its arguments untyped
        prompt._prompt,  # noqa: SLF001  # that without the fragments is public nowhere
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
        messages=messages,
        hide_reasoning=prompt.hide_reasoning,
    )


def _tools(prompt: Prompt) -> list[Mapping[str, object]]:
    """Return what is sent beside the messages: tools, and the form that the answer is to have."""
    made: list[Mapping[str, object]] = [
        {"name": each.name, "description": each.description or "", "parameters": each.input_schema}
        for each in prompt.tools
    ]
    return [*made, {"name": "schema", "parameters": prompt.schema}] if prompt.schema else made


def usage_of(response: Reply) -> Usage | None:
    """Return what a provider reported, as far as its plugin tells it."""
    if not response.input_tokens:
        return None
    details = response.token_details or {}
    # OpenAI's chat completions name the cached part otherwise than its responses do.
    cached = details.get("input_tokens_details") or details.get("prompt_tokens_details")
    told = {"input_tokens": response.input_tokens, "output_tokens": response.output_tokens}
    return read_usage({**details, **told, "input_tokens_details": cached})


def _telling(payload: Mapping[str, object]) -> object:
    """Return what was said: the rest is what a provider wants back, and what llm has found out of an attachment."""
    parts = payload.get("parts")
    return payload.get("role"), [_told(each) for each in parts] if isinstance(parts, list) else None


def _told(part: Mapping[str, object]) -> object:
    told = {key: value for key, value in part.items() if key != "provider_metadata"}
    attached = told.get("attachment")
    if isinstance(attached, dict):
        told["attachment"] = {key: attached.get(key) for key in ("content", "path", "url")}
    return told


class Squidbot(Toolbox):  # type: ignore[no-untyped-call]  # of llm's own hook
    """Looks through all that was said in this conversation, and through durable facts."""

    def tools(self) -> Iterator[llm.Tool]:
        """Return the tools for the model."""
        yield from self.method_tools()

    @classmethod
    def method_tools(cls) -> list[llm.Tool]:
        """Return the tools as llm lists them."""
        it = _hosted()
        made = it.offer_tools() if it else HOST_DEFAULTS
        return [_tool(each) for each in made]


def _tool(tool: OwnTool) -> llm.Tool:
    def call(llm_tool_call: llm.ToolCall, **arguments: object) -> str:
        hosted, talk_id = getattr(llm_tool_call, MARK, (None, ""))
        if hosted is None:
            return f"<{UNKNOWN}>"
        return str(hosted.answer(tool.name, talk_id, lambda: hosted.conversation(talk_id), arguments))

    schema = json.loads(json.dumps(tool.schema))
    return llm.Tool(f"Squidbot_{tool.name}", tool.description, schema, call, "squidbot")


@cache
def _managed(kind: type) -> type:
    """Return a class of models like another one, by the same name, whose requests squidbot bounds."""
    bounded: Any = _bounded_later if issubclass(kind, llm.AsyncModel | llm.AsyncKeyModel) else _bounded
    ask: Any = kind.execute  # type: ignore[attr-defined]  # models have it
    named = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    # No other base: the objects of some classes can't become ones of a class with two.
    return type(kind)(kind.__name__, (kind,), {**named, MARK: True, "execute": bounded(ask)})


def is_managed(model: object) -> bool:
    """Say whether squidbot takes care of a model."""
    return getattr(type(model), MARK, False) is True


@llm.hookimpl(trylast=True)
def register_models(register: object, model_aliases: Sequence[llm.models.ModelWithAliases]) -> None:
    """Have each model that is there ask squidbot first, if it is switched on."""
    del register
    if _hosted() is None:
        return
    for each in model_aliases:
        for model in (each.model, each.async_model):
            if model is not None and not is_managed(model):
                try:
                    model.__class__ = _managed(type(model))
                except Exception as error:  # noqa: BLE001  # a list of models without ours is better than none
                    _say_once(f"squidbot can't take care of {model.model_id}: {error}")


@llm.hookimpl
def register_tools(register: Callable[[object], None]) -> None:
    """Offer the tools; a model gets them by `-T Squidbot`."""
    if hasattr(llm, "Toolbox"):
        register(Squidbot)


@llm.hookimpl
def register_commands(cli: click.Group) -> None:
    """Add `llm squidbot`."""
    cli.add_command(commands)


@click.group("squidbot")
def commands() -> None:
    """Keep conversations within a budget, and all that was said to be found again."""


@commands.command("on")
@click.option("--budget", help="Request and answer in tokens (8000, 8k), or a share of the window below 1 (0.5).")
@click.option("--store", type=click.Path(dir_okay=False), help="File that keeps everything; squidbot.db beside llm's.")
@click.option("--settings", type=click.Path(exists=True, dir_okay=False), help="A squidbot.toml, instead of --store.")
def switch_on(budget: str | None, store: str | None, settings: str | None) -> None:
    """Have squidbot take care of all models."""
    folder = _folder()
    where = str(Path(store).absolute()) if store else "" if settings else str(folder / STORE)
    try:
        made = Switch(where, read_budget(budget), str(Path(settings).absolute()) if settings else "")
        opened(made).open()
    except SquidbotError as error:
        raise click.ClickException(str(error)) from error
    host.write(folder / SWITCH, made)
    _print_status()


@commands.command("off")
def switch_off() -> None:
    """Leave models as they are; what is stored stays."""
    (_folder() / SWITCH).unlink(missing_ok=True)
    _print_status()


@commands.command("status")
def tell_status() -> None:
    """Say whether squidbot is active, and if not, why."""
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
    models = [model for each in llm.get_models_with_aliases() for model in (each.model, each.async_model) if model]
    ours = [model for model in models if is_managed(model)]
    click.echo(f"squidbot is active for {len(ours)} of {len(models)} models")
    click.echo(f"store: {engine.wired.loaded.settings.store.path}")
    click.echo(f"budget: {'the window of the model' if switch.budget is None else f'{switch.budget:g}'}")
