"""All readers of recorded sessions, by the name of their agent. None is imported before it is needed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol, cast

from squidbot.codecs.recordings.lines import first_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from squidbot.codecs.recordings import Position, RecordedSession

__all__ = ["RecordingReader", "agents", "compressed", "reader", "reader_of", "recordings"]

# The modules in this folder, in the order in which they are asked whether they know a file.
_MODULES: Final = (
    "claude_code",
    "codex",
    "gemini_cli",
    "opencode",
    "copilot_cli",
    "swe_agent",
    "openhands",
    "langgraph",
    "pydantic_ai",
    "openai_dump",
)


class RecordingReader(Protocol):
    """A module that reads the recordings of one agent."""

    NAME: str

    def is_form(self, values: Sequence[object]) -> bool:
        """Whether a file is one of its agent's, by its first values (see `lines.first_values`)."""

    def places(self, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
        """Yield the recordings where the agent keeps them."""

    def read(self, path: Path, start: Position | None = None, *, is_over: bool = True) -> list[RecordedSession]:
        """Return the sessions in a file behind a position.

        Raises:
            TranscriptError: the file can't be read.
        """


def agents() -> list[str]:
    """Return the names of all agents whose recordings can be read."""
    return [module.replace("_", "-") for module in _MODULES]


def reader(agent: str) -> RecordingReader:
    """Return the reader of an agent's recordings.

    Raises:
        ValueError: no agent has this name.
    """
    if agent not in agents():
        raise ValueError(f"{agent!r:.80} is no agent whose recordings can be read; known are {', '.join(agents())}")
    return cast("RecordingReader", import_module(f"squidbot.codecs.recordings.{agent.replace('-', '_')}"))


def reader_of(path: Path) -> RecordingReader | None:
    """Return the reader of a file by its structure, or of a folder that is one recording; `None` if none knows it.

    Raises:
        TranscriptError: the file can't be read.
    """
    if path.is_dir():
        return next((each for each in map(reader, agents()) if _says(each, "is_folder", path)), None)
    values = first_values(path)
    return next((each for each in map(reader, agents()) if _knows(each, path, values)), None)


def _knows(each: RecordingReader, path: Path, values: Sequence[object]) -> bool:
    return each.is_form(values) or (not values and _says(each, "is_database", path))


def _says(each: RecordingReader, name: str, path: Path) -> bool:
    """Return what a function says of a path which only readers of folders, or of databases, have."""
    function = getattr(each, name, None)
    return function is not None and function(path)


def recordings(agent: str, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the recordings where an agent keeps them.

    Raises:
        ValueError: no agent has this name.
    """
    return reader(agent).places(home, environ)


def compressed(agent: str, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the recordings that an agent has compressed, which can't be read.

    Raises:
        ValueError: no agent has this name.
    """
    function = getattr(reader(agent), "compressed", None)
    return iter(()) if function is None else function(home, environ)
