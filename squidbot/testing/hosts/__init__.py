"""The kit for checking host plugins: a program of the host, its fake model, and a description of the host.

The checks are in `points`; `squidbot.testing.check_host_plugin` runs them.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import pairwise, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol
from unittest.mock import patch

from squidbot import engine
from squidbot.bootstrap import wire
from squidbot.core import events
from squidbot.core.messages import Usage
from squidbot.engine import load
from squidbot.hookspecs import hookimpl
from squidbot.wiring.extensions import Relay

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence

    from squidbot.bootstrap import Wired
    from squidbot.config import Loaded
    from squidbot.core.events import Event
    from squidbot.core.messages import Completion, Role, StoredMessage
    from squidbot.core.ports import TranscriptStore
    from squidbot.engine import Engine
    from squidbot.hookspecs import Register


# Requests to a host's fake model, and its replies, in a form for every host.

# The fake model's counter: the usual number of characters in an English token.
TOKEN_BYTES = 4


class ToolFailed(Exception):  # noqa: N818  # it is the tool's result for the model
    """The tool `look` has failed: the driver lets the host report it to the model, as a result."""


@dataclass(frozen=True)
class ScriptedCall:
    """A tool call of the fake model.

    Attributes:
        name: "look", or the name of one of squidbot's tools.
        arguments: the arguments, by name.
        call_id: the id of the call.
    """

    name: str
    arguments: Mapping[str, object]
    call_id: str


def look(at: int, call_id: str = "") -> ScriptedCall:
    """Return a call of the tool `look`, by an id of its own or "c" and the place."""
    return ScriptedCall("look", {"at": at}, call_id or f"c{at}")


@dataclass(frozen=True)
class ScriptedStep:
    """One reply of the fake model.

    Attributes:
        text: its text; a stream has pieces of 40 characters.
        calls: its tool calls, all at once.
        error: the error that the driver raises instead, as the host's models do: "failed" for a failing server,
            "too_long" for a provider's refusal of a request that does not fit.
        pieces: how many pieces of a streamed text come before `error`, or before the model hangs.
        is_held: it never ends: the driver calls `Model.hold`, or awaits `Model.ahold`, after `pieces`.
        usage: the reported usage; without one in the script, `Model.hear` adds the fake model's counts.
        native: the host's own reply, sent unchanged in place of all that: `HostDriver.signed`.
    """

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    error: Literal["", "failed", "too_long"] = ""
    pieces: int = 0
    is_held: bool = False
    usage: Usage | None = None
    native: object = None

    def chunks(self) -> list[str]:
        """Return the pieces of the text that a stream sends."""
        made = [self.text[at : at + 40] for at in range(0, len(self.text), 40)]
        return made[: self.pieces] if self.error or self.is_held else made


@dataclass(frozen=True)
class RequestMessage:
    """One message of a request, or one item where a host sends items.

    Attributes:
        role: its role; "tool" for results, even if the host uses another name.
        text: its text, or that of its results.
        call_ids, result_ids: the ids of its calls, and of the calls that its results answer.
        wire: its bytes for the provider, equal for equal content: these are compared and counted.
        opaque: the parts that only its provider can read (signatures, encrypted content, unknown parts), as text.
    """

    role: Role
    text: str
    call_ids: tuple[str, ...]
    result_ids: tuple[str, ...]
    wire: bytes
    opaque: str = ""


@dataclass(frozen=True)
class Request:
    """One request to the fake model.

    Attributes:
        messages: all messages in order, system messages included.
        system: system text outside the messages.
        tools: names, descriptions and schemas, as sent.
        faults: broken rules of the host's own form, found by its driver.
        is_streamed: the host asked for a stream.
        has_items: calls are separate items, so several of them may follow each other.
        number: the number of the request in the program, from 1; `Model.hear` counts.
    """

    messages: tuple[RequestMessage, ...]
    system: str = ""
    tools: bytes = b""
    faults: tuple[str, ...] = ()
    is_streamed: bool = False
    has_items: bool = False
    number: int = 0

    @property
    def text(self) -> str:
        """The user's newest message; "" if the last message is not the user's."""
        last = self.messages[-1] if self.messages else None
        return last.text if last is not None and last.role == "user" and not last.result_ids else ""

    @property
    def results(self) -> list[str]:
        """The results of tools at the end of the request."""
        found = [message.text for message in takewhile(lambda each: each.result_ids, reversed(self.messages))]
        return found[::-1]

    @property
    def wires(self) -> list[bytes]:
        """The bytes to compare: system text and tools first, since a cached prefix begins with them."""
        return [self.system.encode(), self.tools, *(each.wire for each in self.messages)]

    @property
    def tokens(self) -> int:
        """The fake model's count of the whole request: four bytes a token."""
        return sum(map(len, self.wires)) // TOKEN_BYTES


@dataclass(frozen=True)
class SignedReply:
    """A reply of the host's own form with parts that only its provider can read.

    Attributes:
        native: the reply, or the driver's source for it.
        opaque: `RequestMessage.opaque` if the reply is sent unchanged.
        left: the same without the reply's reasoning; unknown parts stay.
    """

    native: object
    opaque: str
    left: str = ""


def to_json(value: object) -> bytes:
    """Return a value as canonical JSON: for `RequestMessage.wire`, for schemas of tools."""
    return json.dumps(value, ensure_ascii=False, default=_plain).encode()


def _plain(value: object) -> object:
    return dict(vars(value)) if hasattr(value, "__dict__") else repr(value)


# The rules for requests of every host.


def faults_of(request: Request, budget: int | None) -> list[str]:
    """Return the broken rules of a request, as phrases; none if it is valid and within its budget in tokens."""
    said = [each for each in request.messages if each.role != "system"]
    found = [*request.faults, *_of_ends(said), *_of_pairs(said, has_items=request.has_items)]
    if budget is not None and request.tokens > budget:
        found.append(f"it has {request.tokens:,} tokens with system text and tools, the budget is {budget:,}")
    heads = [each.role == "system" for each in request.messages]
    if heads != sorted(heads, reverse=True):
        found.append("a system message stands behind others")
    return found


def _of_ends(said: Sequence[RequestMessage]) -> Iterator[str]:
    if not said:
        yield "it has no message"
        return
    if said[0].role != "user" or said[0].result_ids:
        yield f"the first message is of {said[0].role!r}, and not the user's"
    if said[-1].role == "assistant":
        yield "the last message is the model's own"


def _of_pairs(said: Sequence[RequestMessage], *, has_items: bool) -> Iterator[str]:
    """Yield faults: calls without results right after them, and results without calls."""
    open_calls: set[str] = set()
    is_answering = False
    for each in said:
        results = set(each.result_ids)
        if results - open_calls:
            yield f"results of no call before them: {sorted(results - open_calls)}"
        open_calls -= results
        is_answering |= bool(results)
        # Calls as separate items follow each other, until the first result.
        is_beside = has_items and each.role == "assistant" and not is_answering
        if open_calls and not results and not is_beside:
            yield f"calls without results behind them: {sorted(open_calls)}"
            open_calls.clear()
        is_answering &= not each.call_ids
        open_calls |= set(each.call_ids)
    if open_calls:
        yield f"calls without results at the end: {sorted(open_calls)}"


def broken_prefixes(requests: Sequence[Request], planned: Sequence[int]) -> list[str]:
    """Return the requests that do not extend the previous one byte for byte, although no new plan was recorded."""
    broken = []
    pairs = pairwise(zip(requests, planned, strict=True))
    for number, ((old, before), (new, after)) in enumerate(pairs, 2):
        if before == after and new.wires[: len(old.wires)] != old.wires:
            place = next(
                (at for at, (one, other) in enumerate(zip(old.wires, new.wires, strict=False)) if one != other), -1
            )
            what = ("its system text", "its tools")[place] if 0 <= place < 2 else f"its message {place - 1}"
            what = f"{what} differs" if place >= 0 else f"it has {len(new.messages)} messages, that {len(old.messages)}"
            broken.append(f"request {number} does not begin with the one before, and no plan was recorded: {what}")
    return broken


# The logic of a host's fake model: it checks every request, and replies as a script
# says.

if TYPE_CHECKING:
    Script = Callable[[Request], ScriptedStep | None]


def once(step: ScriptedStep) -> Script:
    """Return a script with a step for the first request, and usual replies to the others."""
    return lambda request: step if request.number == 1 else None


FACT: Final = "The walrus at the harbour is called Brunhilde."
FILLER: Final = ("Tell me about sorting. " + "It need not be short. " * 12).strip()
# Some of these fill a window.
LONG: Final = " ".join([FILLER] * 6)
# The fact where it falls out of view in time: short messages of the user stay, and notes tell how a long one begins.
TOLD_AT_LENGTH: Final = f"{LONG} {LONG} {FACT}"
SAID: Final = ("Sorting puts things in order. " * 12).strip()
# How long a hanging model or tool waits for its interruption.
HELD_SECONDS: Final = 60.0
# How often to check whether it hangs already.
LOOK_SECONDS: Final = 0.002


class Model:
    """The logic of a host's fake model: the driver makes a `Request` of the sent data, and `hear` returns the reply.

    Threads may share it. It keeps broken rules in `faults`, since a host may swallow its model's errors.

    Attributes:
        budget: the limit of a request in tokens; None for no limit, as without squidbot.
        search: the name of the tool `memory_search` in this host.
        script: returns replies; for None, or without a script, `usual` replies.
        looks: returns the result of the tool `look`; it may raise `ToolFailed`.
        plans: counts the recorded plans at each request; `planned` has the counts.
    """

    def __init__(self, budget: int | None, search: str = "memory_search") -> None:
        """Begin without requests."""
        self.budget, self.search = budget, search
        self.script: Script = lambda _request: None
        self.looks: Callable[[int], str] = lambda at: f"result {at} of a look at the shelf"
        self.plans: Callable[[], int] = lambda: 0
        self.requests: list[Request] = []
        self.planned: list[int] = []
        self.faults: list[str] = []
        self.waiting = threading.Event()
        self._lock = threading.Lock()

    def hear(self, request: Request) -> ScriptedStep:
        """Return the reply to a request."""
        with self._lock:
            request = replace(request, number=len(self.requests) + 1)
            self.requests.append(request)
            self.planned.append(self.plans())
            self.faults += [f"request {request.number}: {fault}" for fault in faults_of(request, self.budget)]
        step = self.script(request) or self.usual(request)
        return step if step.usage else replace(step, usage=Usage(request.tokens, len(step.text) // TOKEN_BYTES))

    def usual(self, request: Request) -> ScriptedStep:
        """Return the default reply: a search for the words after RECALL, or a text on sorting."""
        if request.results:
            return ScriptedStep("It says: " + " ".join(request.results))
        if "RECALL" in request.text:
            asked = request.text.partition("RECALL")[2].strip(" .")
            return ScriptedStep(calls=(ScriptedCall(self.search, {"query": asked}, f"call-r{request.number}"),))
        return ScriptedStep(SAID)

    def look(self, at: int) -> str:
        """The tool `look`, for hosts that call tools as functions; at -1 it hangs.

        Raises:
            ToolFailed: a script says so.
        """
        if at < 0:
            self.hold()
        return self.looks(at)

    async def alook(self, at: int) -> str:
        """The tool `look`, for hosts that await it.

        Raises:
            ToolFailed: a script says so.
        """
        if at < 0:
            await self.ahold()
        return self.looks(at)

    def hold(self) -> None:
        """Hang in a thread, then interrupt as a user does.

        Raises:
            KeyboardInterrupt: always.
        """
        self.waiting.set()
        raise KeyboardInterrupt

    async def ahold(self) -> None:
        """Hang until the task is cancelled."""
        self.waiting.set()
        await asyncio.sleep(HELD_SECONDS)


async def broken_off(run: Coroutine[object, object, object], model: Model) -> None:
    """Run a turn and cancel it as soon as the model, or its tool, hangs; for `HostProgram.cancel`."""
    model.waiting.clear()
    task = asyncio.ensure_future(run)
    while not model.waiting.is_set() and not task.done():  # noqa: ASYNC110  # set by threads, too
        await asyncio.sleep(LOOK_SECONDS)
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.exception()


# The check's input from the test of a host: a program, and a description of the host.


class Setting(NamedTuple):
    """The arguments of a program.

    Attributes:
        path: the store. Its folder is the program's own; the host may write there, too.
        model: the logic of the program's fake model.
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

    The fake model makes a `Request` of the data it gets, calls `Model.hear`, and sends the `ScriptedStep` in the host's
    form. The tool is `Model.look`, or `Model.alook` if the host awaits it; the host reports a `ToolFailed` to the model
    like any failed tool. A turn may have any number of steps.
    """

    def run(self, text: str, conversation_id: str, history: object = None) -> str:
        """Run a turn and return the answer; `history` is another program's, for callers that pass it on.

        Errors of the host are raised.
        """

    async def arun(self, text: str, conversation_id: str) -> str:
        """Run a turn async; in a thread for a host that can't. Several run at once."""

    def stream(self, text: str, conversation_id: str, pieces: int | None = None) -> str:
        """Run a turn as a stream and return its text; stop reading, as a consumer does, after this many pieces."""

    def cancel(self, text: str, conversation_id: str, *, streams: bool = False) -> None:
        """Run a hanging turn, and interrupt it as the host's users do; it is over on return.

        `broken_off` does so for a coroutine.
        """

    def history(self, conversation_id: str) -> object:
        """Return the host's own messages of the newest turn of a conversation, for `run`."""

    def listed(self, conversation_id: str) -> Sequence[RequestMessage]:
        """Return the same as neutral messages."""

    def close(self) -> None:
        """Release everything; the next program begins like a new process."""


class Exemption(NamedTuple):
    """A point that a host can't meet.

    Attributes:
        reason: why, in a sentence of the host's documentation.
        check: asserts the host's own behaviour; None if the point does not apply to the host.
    """

    reason: str
    check: Callable[[HostDriver, Path], None] | None = None


@dataclass(frozen=True, kw_only=True)
class HostDriver:
    """The description of a host.

    Attributes:
        name: its name.
        make: makes a program.
        origin: "module:NAME" of this value: processes to be killed import it from there.
        root: the folder from which that module is imported; None if it is installed.
        plugin, package, extra: the module of the plugin; the host's package that it imports; the extra that installs
            both.
        search: the name of the tool `memory_search`.
        server_held: options that make the provider keep the conversation, by their names in the refusal; each runs a
            turn with its option.
        rivals: other parts of the host that shorten requests, by a word of the warning; each makes a program with one.
        inactive: ways in which squidbot stays inactive, by a word of the warning; each does that twice.
        signed: a reply with reasoning; None if the host has none.
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
    signed: SignedReply | None = None
    otherwise: Mapping[str, Exemption] = field(default_factory=dict)


# Reads a program's records from its file.

PLAN = "plan"
MOST = 1_000_000


@contextmanager
def reading(path: Path) -> Iterator[Engine]:
    """Open a program's file while it runs."""
    with load({"store": {"path": str(path)}}) as engine:
        yield engine


def rows(path: Path, conversation_id: str) -> list[tuple[StoredMessage, str]]:
    """Return all records of a conversation, each with its text."""
    if not path.exists():
        return []
    with reading(path) as engine:
        codecs = engine.wired.codecs
        stored = engine.wired.store.read(conversation_id, 0, MOST)
        return [(row, codecs[row.codec].text(row.payload)) for row in stored]


def said(path: Path, conversation_id: str) -> list[tuple[str, str]]:
    """Return a line for each recorded text, call and result, in the same form for every host.

    Lines are ("user", text), ("assistant", text), ("call", its id), ("result", the id of its call).
    """
    lines: list[tuple[str, str]] = []
    for row, text in rows(path, conversation_id):
        lines += [("result", each) for each in row.result_ids]
        if row.role in ("user", "assistant") and text and not row.result_ids:
            lines.append((row.role, text))
        lines += [("call", each) for each in row.call_ids]
    return lines


def text_of(path: Path, conversation_id: str) -> str:
    """Return all recorded text of a conversation."""
    return "\n".join(text for _, text in rows(path, conversation_id))


def plan_count(store: TranscriptStore, conversation_id: str) -> int:
    """Return the number of recorded plans."""
    last = store.last_record(conversation_id, PLAN)
    return 0 if last is None else last.number + 1


BUDGET: Final = 4_000
CHAT: Final = "chat-1"
# More turns than fit the budget several times.
MOST_TURNS: Final = 30
# Parts of search results that differ between runs: times, and digests of them.
_CLOCK: Final = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|sha256 [0-9a-f]{8}")


class OpenProgram:
    """An open program."""

    def __init__(self, host: HostDriver, setting: Setting) -> None:
        """Make the program."""
        self.host, self.path, self.model = host, setting.path, setting.model
        self.program = host.make(setting)

    def say(self, text: str, conversation_id: str = CHAT) -> str:
        """Run a turn and return the answer."""
        return self.program.run(text, conversation_id)

    def fails(self, text: str, conversation_id: str = CHAT) -> str:
        """Run a turn that may fail, and return the error; "" for none."""
        try:
            self.program.run(text, conversation_id)
        except Exception as error:  # noqa: BLE001  # each host has its own
            return f"{type(error).__name__}: {error}"
        return ""

    def talk(self) -> int:
        """Tell the fact, then talk of other things until it is out of view; return the number of turns."""
        self.say(TOLD_AT_LENGTH)
        for number in range(1, MOST_TURNS):
            self.say(f"{number}: {LONG}")
            if FACT.encode() not in self.whole():
                return number + 1
        raise AssertionError(f"what was said first falls out of view in time: it was sent for {MOST_TURNS} turns")

    def scripted(self, script: Script) -> None:
        """Let the model follow a script from now on, which counts its requests from 1."""
        before = len(self.model.requests)
        self.model.script = lambda request: script(replace(request, number=request.number - before))

    def unscripted(self) -> None:
        """Let the model give its usual replies from now on."""
        self.model.script = lambda _request: None

    def said(self, conversation_id: str = CHAT) -> list[tuple[str, str]]:
        """Return the recorded lines; see `said`."""
        return said(self.path, conversation_id)

    def text(self, conversation_id: str = CHAT) -> str:
        """Return all recorded text."""
        return text_of(self.path, conversation_id)

    def wires(self, number: int = -1) -> list[bytes]:
        """Return one request's bytes for comparison, without times."""
        return [timeless(each) for each in self.model.requests[number].wires]

    def whole(self, number: int = -1) -> bytes:
        """Return one request as one text."""
        return b"\n".join(self.model.requests[number].wires)


def home(folder: Path, name: str) -> Path:
    """Return a program's file in a folder of its own: hosts may write files beside it."""
    made = folder / name
    made.mkdir(parents=True, exist_ok=True)
    return made / "mem.db"


def timeless(wire: bytes) -> bytes:
    """Return bytes without the times of search results."""
    return _CLOCK.sub(b"then", wire)


@contextmanager
def opened(
    host: HostDriver,
    path: Path,
    *,
    budget: int | None = BUDGET,
    has_squidbot: bool = True,
    settings: Mapping[str, object] | None = None,
) -> Iterator[OpenProgram]:
    """Open a program, close it afterwards, and check that every request was valid and within budget; None: no limit.

    Raises:
        AssertionError: one was not.
    """
    model = Model(budget if has_squidbot else None, host.search)
    made = OpenProgram(host, Setting(path, model, budget or BUDGET, has_squidbot, settings))
    try:
        yield made
    finally:
        made.program.close()
    assert not model.faults, f"every request is valid and within budget: {'; '.join(model.faults[:3])}"


@contextmanager
def watched(run: OpenProgram) -> Iterator[None]:
    """Count the plans of the conversation at each request."""
    with reading(run.path) as engine:
        store = engine.wired.store
        run.model.plans = lambda: plan_count(store, CHAT)
        try:
            yield
        finally:
            run.model.plans = lambda: 0


# Processes that are killed during a turn.

# The exit code of a child killed at the right place, without Python's clean-up.
KILLED: Final = 9
MOST_SECONDS: Final = 300
# `points` adds a scene of its own to SCENES.
_CODE: Final = "import sys; from squidbot.testing.hosts import main, points; main(*sys.argv[1:])"


def killed(host: HostDriver, scenes: Mapping[str, Path], budget: int = BUDGET) -> dict[str, int]:
    """Play scenes at once, each in its own process with its own file, and return their exit codes."""
    roots = [str(host.root)] if host.root is not None else []
    told = {**os.environ, "PYTHONPATH": os.pathsep.join([*roots, *filter(None, sys.path)])}
    started = {}
    for scene, path in scenes.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        words = [sys.executable, "-c", _CODE, host.origin, str(path), scene, str(budget)]
        started[scene] = subprocess.Popen(words, env=told)  # noqa: S603  # this Python, and what is named here
    return {scene: process.wait(MOST_SECONDS) for scene, process in started.items()}


def main(origin: str, path: str, scene: str, budget: str) -> None:
    """The child process: make the host's program and play a scene in it."""
    module, _, name = origin.partition(":")
    host: HostDriver = getattr(import_module(module), name)
    SCENES[scene](OpenProgram(host, Setting(Path(path), Model(int(budget), host.search), int(budget))))


def die(code: int = KILLED) -> str:
    """End this process as if it were killed."""
    os._exit(code)


def _in_a_tool(run: OpenProgram) -> None:
    """Die between a call and its result."""
    run.say(FACT)
    run.model.looks = lambda _at: die()
    run.scripted(_one_look)
    run.say("Look!")


def _before_an_answer(run: OpenProgram) -> None:
    """Die between a result and the answer."""
    run.say(FACT)
    run.scripted(lambda request: _one_look(request) or ScriptedStep(die()))
    run.say("Look!")


_one_look = once(ScriptedStep(calls=(look(1),)))


SCENES: Final[dict[str, Callable[[OpenProgram], None]]] = {
    "killed in a tool": _in_a_tool,
    "killed before an answer": _before_an_answer,
}


# squidbot's log and events during a check.

_LOG: Final = logging.getLogger("squidbot")


class WarningRecorder(logging.Handler):
    """Keeps warnings of the log, and the causes of the events `degraded`."""

    def __init__(self) -> None:
        """Begin empty."""
        super().__init__(logging.WARNING)
        self.lines: list[str] = []
        self.causes: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        self.lines.append(record.getMessage())

    def take(self, event: Event) -> None:
        """Keep an event."""
        if event.name == events.DEGRADED:
            self.causes.append(event.cause)


@contextmanager
def listening() -> Iterator[WarningRecorder]:
    """Record all of squidbot's warnings in this process, and hide them: they are expected."""
    told = WarningRecorder()
    _LOG.addHandler(told)
    try:
        with patch.object(_LOG, "propagate", new=False), patch.object(Relay, "notify", told.take):
            yield told
    finally:
        _LOG.removeHandler(told)


# A language model for summaries that raises or hangs.

NAME: Final = "useless"
# How long it hangs at most.
HANGS_SECONDS: Final = 60.0


class FailingSummarizer:
    """Writes no summary: it raises, or hangs until it is released."""

    name = NAME

    def __init__(self, *, hangs: bool) -> None:
        """Begin without calls."""
        self._hangs = hangs
        self.asked, self.let_go = threading.Event(), threading.Event()

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        """Write nothing.

        Raises:
            RuntimeError: always.
        """
        del system, prompt, max_output_tokens
        self.asked.set()
        if self._hangs:
            self.let_go.wait(HANGS_SECONDS)
        raise RuntimeError("a summarizer that fails")

    @hookimpl
    def register_adapters(self, register: Register) -> None:
        """Register the model."""
        register.llm(NAME, lambda _rest: self)


@contextmanager
def summarized_by(model: FailingSummarizer) -> Iterator[None]:
    """Let every engine that is opened meanwhile use it for summaries."""

    def changed(loaded: Loaded, extensions: Iterable[object] = (), pool: object = None) -> Wired:
        other = loaded.changed(summary={"llm": NAME, "min_messages": 2, "min_input_tokens": 100})
        return wire(other, [*extensions, model], pool)

    try:
        with patch.object(engine, "wire", changed):
            yield
    finally:
        model.let_go.set()
