"""What a conversation begins with: the engine, a model, a session; and what to say where there is no model."""

from __future__ import annotations

import re
import tempfile
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, get_args, runtime_checkable

from squidbot.adapters.common.packages import command, missing
from squidbot.core import events
from squidbot.core.errors import ConfigError
from squidbot.core.memories import Isolation, Scope
from squidbot.engine import load
from squidbot.hookspecs import hookimpl
from squidbot.services.forget import Wrote, note_written
from squidbot.wiring.registry import OPEN_FILES, RUNTIMES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.core.events import Event
    from squidbot.engine import Engine
    from squidbot.hookspecs import Store

__all__ = ["DEMO", "Asked", "Begun", "Ears", "NoModelError", "begun"]

# The session that goes on where none is named, and the alias of the demonstration's model.
SESSION: Final = "chat"
DEMO: Final = "demo"
# Each character is a token of that model, which was trained for so many; it ends no answer by itself.
DEMO_WINDOW_TOKENS, DEMO_ANSWER_TOKENS = 2048, 48
# Where turns are written with --debug, in the current folder (B-50).
TURN_LOG: Final = "debug_turn.txt"
# What the user is told of while it happens; a change of the past is told with the request that brings it.
TOLD: Final = {
    events.CONTEXT_PRESSURE: "history fills {share:.0%} of its room ({cause})",
    events.RELIABILITY_LOW: "{cause}",
    events.SILENT_TRUNCATION: "{cause}",
    events.USAGE_DROPPED: "{cause}",
    events.DEGRADED: "{cause}",
    events.FACTS_ERROR: "{cause}",
    events.LOW_MEMORY: "{cause}",
}

API_EXAMPLES: Final = {
    "anthropic": f"""  # Claude; its key in the environment, ANTHROPIC_API_KEY; {command("anthropic")}
  [models.claude]
  adapter = "anthropic"
  model = "claude-sonnet-5-5"
""",
    "openai": f"""  # OpenAI, or by url who speaks like it; OPENAI_API_KEY; {command("openai")}
  [models.gpt]
  adapter = "openai"
  model = "gpt-5.6"
  context_window = 400000     # OpenAI does not tell it
""",
    "ollama": """  # a model that Ollama serves
  [models.llama]
  adapter = "ollama"
  model = "llama3.1:8b"
""",
    "xllamacpp": f"""  # a GGUF file, opened in this process; {command("xllamacpp")}
  [models.local]
  adapter = "xllamacpp"
  path = "qwen2.5-7b-instruct-q4_k_m.gguf"
""",
}
NO_MODEL: Final = """no model is configured. Put one into
{file}
and run squidbot chat again, for example:

{examples}
So that the conversation is kept when it ends, add:

  [store]
  path = "sessions.db"

Without a model: squidbot chat --demo answers with a tiny one whose weights are
random, so that you see how it works."""


class NoModelError(ConfigError):
    """There is no model to talk to. The text says what to put where, in several lines."""


class Asked(NamedTuple):
    """What the user asks for.

    Settings, a model, a session ("" for the newest), whether a new one, whose it is, a mode (None: as before), and
    whether turns are written to a file.
    """

    config: str | None = None
    model: str = ""
    session: str = ""
    new: bool = False
    demo: bool = False
    scope: Scope = Scope()
    mode: str | None = None
    debug: bool = False


class Begun(NamedTuple):
    """An engine, the alias of a model that has an adapter, a session's id, and what events say to the user."""

    engine: Engine
    alias: str
    session_id: str
    ears: Ears


class Ears:
    """An extension that keeps what the user is told of."""

    def __init__(self) -> None:
        """Nothing has happened yet."""
        self._heard: list[str] = []

    @hookimpl
    def on_event(self, event: Event) -> None:
        """Keep a sentence on what is worth one."""
        if event.name in TOLD:
            self._heard.append(TOLD[event.name].format(share=event.fraction, cause=event.cause))

    def heard(self) -> list[str]:
        """Return what has happened since the last time, each once."""
        heard, self._heard = self._heard, []
        return list(dict.fromkeys(heard))


@contextmanager
def begun(asked: Asked) -> Iterator[Begun]:
    """Give what a conversation begins with; the engine is closed behind it. The model is not opened yet.

    Raises:
        ConfigError: a setting is wrong, there is no model of that name, or none at all: the text says what to do.
        StoreError: the store can't be opened.
    """
    with tempfile.TemporaryDirectory() as folder:
        ears = Ears()
        settings = _demo(Path(folder)) if asked.demo else asked.config
        with load(settings, extensions=[ears]) as engine:
            alias = DEMO if asked.demo else _model(engine, asked.model)
            if asked.debug and engine.wired.turn_log is None:
                engine.wired.log_turns(TURN_LOG)
                # Whoever forgets something later has no such log of his own, and is told of this one.
                note_written(engine.wired.written, Wrote(str(Path(TURN_LOG).absolute()), "turns"))
            yield Begun(engine, alias, _session(engine, asked), ears)


def _demo(folder: Path) -> dict[str, object]:
    """Return the settings of a demonstration, with its model in a folder.

    Raises:
        ConfigError: nothing is installed that opens it.
    """
    from squidbot.testing.ggufs import offline_chat_model  # noqa: PLC0415  # nobody else needs it

    adapter = next((name for name in sorted(OPEN_FILES, reverse=True) if find_spec(name)), None)
    if adapter is None:
        raise ConfigError(f"--demo needs a package that opens models: {missing('xllamacpp')}")
    path = offline_chat_model(folder / "demo.gguf")
    model = {"path": str(path), "adapter": adapter, "context_window": DEMO_WINDOW_TOKENS}
    return {"models": {DEMO: {**model, "max_tokens": DEMO_ANSWER_TOKENS}}}


def _model(engine: Engine, wanted: str) -> str:
    """Return the alias of the model to talk to: the one that is named, else the first that something opens."""
    loaded = engine.wired.loaded
    able = [alias for alias, model in loaded.settings.models.items() if model.adapter]
    if wanted in able:
        return wanted
    if wanted:
        known = ", ".join(able) or "none"
        raise ConfigError(f"no model {wanted!r} that has an adapter, known: {known} @ {loaded.source}.models")
    if not able:
        file = str(loaded.folder / (loaded.source if loaded.source.endswith(".toml") else "squidbot.toml"))
        examples = "\n".join(text for name, text in API_EXAMPLES.items() if name in RUNTIMES)
        raise NoModelError(NO_MODEL.format(file=file, examples=examples))
    return able[0]


@runtime_checkable
class _Lists(Protocol):
    def sessions(self) -> list[tuple[str, int]]:
        """Return (id, number of messages) of every session, oldest first."""


def _session(engine: Engine, asked: Asked) -> str:
    """Return the id of the session: the one that is named, the user's newest of ours, or (`new`) the next of them."""
    if asked.session:
        return asked.session
    first = f"{SESSION}/{asked.scope.user}" if asked.scope.user else SESSION
    numbers = sorted(_numbers(engine.wired.store, first))
    newest = numbers[-1] if numbers else 1
    number = newest + 1 if asked.new and numbers else newest
    return first if number == 1 else f"{first}-{number}"


def _numbers(store: Store, first: str) -> Iterator[int]:
    """Yield the numbers of the sessions that are called like this: "chat" is 1, "chat-2" is 2; whatever parts them."""
    called = re.compile(
        rf"{re.escape(first)}(?:-([1-9][0-9]{{0,8}}))?(?:@(?:{'|'.join(get_args(Isolation))}):.*)?", re.DOTALL
    )
    for session_id, _ in store.sessions() if isinstance(store, _Lists) else ():
        if found := called.fullmatch(session_id):
            yield int(found[1] or 1)
