"""What the test of a host gives to the check: a program of it, and what is known of the host."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from squidbot.testing.hosts.models import Model
    from squidbot.testing.hosts.values import Sent, Signed

__all__ = ["Host", "HostProgram", "Otherwise", "Setting"]


class Setting(NamedTuple):
    """What a program is made with.

    Attributes:
        path: the file that keeps everything. Its folder is the program's own, and may hold what the host writes.
        model: what the program's fake model asks.
        budget: the plugin's budget in tokens.
        has_squidbot: False for the same program without squidbot.
        settings: more of squidbot's settings, in the form of squidbot.toml.
    """

    path: Path
    model: Model
    budget: int = 4_000
    has_squidbot: bool = True
    settings: Mapping[str, object] | None = None


class HostProgram(Protocol):
    """An agent program: the real host, its own agent loop, a fake model, and one tool, `look(at: int) -> str`.

    The fake model makes a `Request` of what it is sent, has `Model.hear` say a `Step`, and replies with that in the
    host's form. The tool is `Model.look`, or `Model.alook` where the host awaits it; a `ToolFailed` of theirs is told
    to the model as the host tells it of a tool that failed. Nothing bounds the steps of a turn.
    """

    def run(self, text: str, conversation_id: str, history: object = None) -> str:
        """Run a turn and return the answer; `history` is what another program gave, for a caller that hands it over.

        Whatever the host raises passes.
        """

    async def arun(self, text: str, conversation_id: str) -> str:
        """Run a turn where the host awaits; in a thread for a host that can't. Several run at once."""

    def stream(self, text: str, conversation_id: str, pieces: int | None = None) -> str:
        """Run a turn as a stream and return what came; left, as a consumer leaves it, behind so many pieces."""

    def cancel(self, text: str, conversation_id: str, *, streams: bool = False) -> None:
        """Run a turn that is held, and break it off there as the host's users do; it is over on return.

        `broken_off` does so for a coroutine.
        """

    def history(self, conversation_id: str) -> object:
        """Return the host's own messages of the newest turn of a conversation, for `run`."""

    def listed(self, conversation_id: str) -> Sequence[Sent]:
        """Return the same as neutral messages."""

    def close(self) -> None:
        """Let go of all that the program holds; the next one begins like a new process."""


class Otherwise(NamedTuple):
    """A point that a host can't meet.

    Attributes:
        reason: why, in a sentence of the host's documentation.
        check: asserts what is so instead; None where the point is about something that the host does not have.
    """

    reason: str
    check: Callable[[Host, Path], None] | None = None


@dataclass(frozen=True, kw_only=True)
class Host:
    """What is known of a host.

    Attributes:
        name: what it is called.
        make: makes a program.
        origin: "module:NAME" of this value: processes that are to be killed import it from there.
        root: the folder from which that module is imported; None where it is installed.
        plugin, package, extra: the module of the plugin; the host's package that it imports; what installs both.
        search: what the tool `memory_search` is called.
        server_held: switches that have the provider hold the conversation, by the name that the refusal says; each
            runs a turn with it in a program.
        rivals: what else in the host shortens requests, by a word of the warning; each makes a program with it.
        inactive: ways in which squidbot does nothing, by a word of the warning; each does that twice.
        signed: a reply with reasoning; None: the host has none.
        otherwise: points that the host can't meet.
    """

    name: str
    make: Callable[[Setting], HostProgram]
    origin: str
    plugin: str
    package: str
    extra: str
    root: Path | None = None
    search: str = "memory_search"
    server_held: Mapping[str, Callable[[HostProgram], object]] = field(default_factory=dict)
    rivals: Mapping[str, Callable[[Setting], object]] = field(default_factory=dict)
    inactive: Mapping[str, Callable[[Setting], object]] = field(default_factory=dict)
    signed: Signed | None = None
    otherwise: Mapping[str, Otherwise] = field(default_factory=dict)
