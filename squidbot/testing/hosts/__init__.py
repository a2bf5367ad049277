"""The kit for the check of host plugins: a program of the host, its fake model, and what is known of the host.

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


# What a host's fake model is sent and says, in words that fit every host.

# About as many characters of English as a token has: by this the fake model counts.
TOKEN_BYTES = 4


class ToolFailed(Exception):  # noqa: N818  # it is the tool's outcome, told to the model
    """The tool `look` has failed: the driver has the host tell it to the model as its hosts do, as a result."""


@dataclass(frozen=True)
class ScriptedCall:
    """A call of a tool that the fake model makes. `name` is "look", or that of a tool of squidbot's."""

    name: str
    arguments: Mapping[str, object]
    call_id: str


def look(at: int, call_id: str = "") -> ScriptedCall:
    """Return a call of the tool `look`, by an id of its own or "c" and the place."""
    return ScriptedCall("look", {"at": at}, call_id or f"c{at}")


@dataclass(frozen=True)
class ScriptedStep:
    """What the fake model does when it is asked.

    Attributes:
        text: what it says; where it is streamed, in pieces of 40 characters.
        calls: tools that it calls, all at once.
        error: what the driver raises in its place, as the host's models do: "failed" for a server that fails,
            "too_long" for the provider's refusal of a request that does not fit.
        pieces: how many pieces of a streamed text come before `error`, or before the model is held.
        is_held: it comes to no end: the driver calls `Model.hold`, or awaits `Model.ahold`, behind `pieces`.
        usage: what the provider reports; `Model.hear` fills in what the fake model counts where a script says nothing.
        native: the host's own reply, sent as it is, in place of all that; it is that of `HostDriver.signed`.
    """

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    error: Literal["", "failed", "too_long"] = ""
    pieces: int = 0
    is_held: bool = False
    usage: Usage | None = None
    native: object = None

    def chunks(self) -> list[str]:
        """Return the text as it is streamed; only what comes of it."""
        made = [self.text[at : at + 40] for at in range(0, len(self.text), 40)]
        return made[: self.pieces] if self.error or self.is_held else made


@dataclass(frozen=True)
class RequestMessage:
    """One message of a request, or one item where a host sends items.

    Attributes:
        role: whose it is; "tool" for results, whatever the host calls them.
        text: the words, of results, too.
        call_ids, result_ids: which calls it makes, and of which calls it brings results.
        wire: all that a provider gets of it, the same bytes for the same words: what is compared and counted.
        opaque: what of it only its provider can read (signatures, encrypted content, unknown parts), as text.
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
        messages: all that is sent as messages, system messages where they stand.
        system: system text that is sent beside them.
        tools: names, descriptions and schemas, as they are sent.
        faults: rules of the host's own form that it breaks, as its driver found.
        is_streamed: the host asked for a stream.
        has_items: calls are items of their own, so that several of them stand side by side.
        number: which request of the program this is, from 1; `Model.hear` counts.
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
        """What is compared: system text and tools first, since they stand at the front of what a cache holds."""
        return [self.system.encode(), self.tools, *(each.wire for each in self.messages)]

    @property
    def tokens(self) -> int:
        """What the fake model counts: four bytes a token, all of it."""
        return sum(map(len, self.wires)) // TOKEN_BYTES


@dataclass(frozen=True)
class SignedReply:
    """A reply of the host's own form with parts that only its provider can read.

    Attributes:
        native: the reply, or what the driver makes it from.
        opaque: what `RequestMessage.opaque` is wherever the reply is sent as it was.
        left: what it is where the reply's reasoning is left out: parts that are unknown are not.
    """

    native: object
    opaque: str
    left: str = ""


def to_json(value: object) -> bytes:
    """Return a value as JSON that is the same for the same value: for `RequestMessage.wire`, for schemas of tools."""
    return json.dumps(value, ensure_ascii=False, default=_plain).encode()


def _plain(value: object) -> object:
    return dict(vars(value)) if hasattr(value, "__dict__") else repr(value)


# The rules that every request of a host keeps, whatever the host.


def faults_of(request: Request, budget: int | None) -> list[str]:
    """Return which rules a request breaks, as phrases; none where it is valid and within its budget in tokens."""
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
    """Tell of calls without results right behind them, and of results without calls."""
    open_calls: set[str] = set()
    is_answering = False
    for each in said:
        results = set(each.result_ids)
        if results - open_calls:
            yield f"results of no call before them: {sorted(results - open_calls)}"
        open_calls -= results
        is_answering |= bool(results)
        # Calls that are items of their own stand side by side, until the first result comes.
        is_beside = has_items and each.role == "assistant" and not is_answering
        if open_calls and not results and not is_beside:
            yield f"calls without results behind them: {sorted(open_calls)}"
            open_calls.clear()
        is_answering &= not each.call_ids
        open_calls |= set(each.call_ids)
    if open_calls:
        yield f"calls without results at the end: {sorted(open_calls)}"


def broken_prefixes(requests: Sequence[Request], planned: Sequence[int]) -> list[str]:
    """Return which requests do not extend the one before byte for byte, though no view plan was recorded between."""
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


# What a host's fake model asks: it hears every request, holds it to the rules, and says what a script
# says.

if TYPE_CHECKING:
    Script = Callable[[Request], ScriptedStep | None]


def once(step: ScriptedStep) -> Script:
    """Return a script that does a step at the first request, and the usual at the others."""
    return lambda request: step if request.number == 1 else None


FACT: Final = "The walrus at the harbour is called Brunhilde."
FILLER: Final = ("Tell me about sorting. " + "It need not be short. " * 12).strip()
# Some of these fill a window.
LONG: Final = " ".join([FILLER] * 6)
SAID: Final = ("Sorting puts things in order. " * 12).strip()
# How long something that is held waits to be broken off.
HELD_SECONDS: Final = 60.0
# How often it is looked whether it is held by now.
LOOK_SECONDS: Final = 0.002


class Model:
    """The mind of a host's fake model: the driver makes a `Request` of what was sent, and `hear` says what to reply.

    Threads may share it. Broken rules are kept in `faults`, since a host may swallow what its model raises.

    Attributes:
        budget: what a request may cost in tokens; None where nothing is bounded, as without squidbot.
        search: what the tool `memory_search` is called in this host.
        script: what it says; None from it, or no script, is what `usual` says.
        looks: what the tool `look` returns; it may raise `ToolFailed`.
        plans: counts the view plans on record when a request comes; `planned` has the counts, one a request.
    """

    def __init__(self, budget: int | None, search: str = "memory_search") -> None:
        """There was no request yet."""
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
        """Return what to reply to a request."""
        with self._lock:
            request = replace(request, number=len(self.requests) + 1)
            self.requests.append(request)
            self.planned.append(self.plans())
            self.faults += [f"request {request.number}: {fault}" for fault in faults_of(request, self.budget)]
        step = self.script(request) or self.usual(request)
        return step if step.usage else replace(step, usage=Usage(request.tokens, len(step.text) // TOKEN_BYTES))

    def usual(self, request: Request) -> ScriptedStep:
        """Return what is replied where no script says more: a search for what stands behind RECALL, or of sorting."""
        if request.results:
            return ScriptedStep("It says: " + " ".join(request.results))
        if "RECALL" in request.text:
            asked = request.text.partition("RECALL")[2].strip(" .")
            return ScriptedStep(calls=(ScriptedCall(self.search, {"query": asked}, f"call-r{request.number}"),))
        return ScriptedStep(SAID)

    def look(self, at: int) -> str:
        """Be the tool `look`, where the host calls tools as functions; at -1 it is held.

        Raises:
            ToolFailed: a script says so.
        """
        if at < 0:
            self.hold()
        return self.looks(at)

    async def alook(self, at: int) -> str:
        """Be the tool `look`, where the host awaits it.

        Raises:
            ToolFailed: a script says so.
        """
        if at < 0:
            await self.ahold()
        return self.looks(at)

    def hold(self) -> None:
        """Come to no end, in a thread: break off as a person does.

        Raises:
            KeyboardInterrupt: always.
        """
        self.waiting.set()
        raise KeyboardInterrupt

    async def ahold(self) -> None:
        """Come to no end until the task is cancelled."""
        self.waiting.set()
        await asyncio.sleep(HELD_SECONDS)


async def broken_off(run: Coroutine[object, object, object], model: Model) -> None:
    """Run a turn and cancel it as soon as the model, or its tool, is held; for `HostProgram.cancel`."""
    model.waiting.clear()
    task = asyncio.ensure_future(run)
    while not model.waiting.is_set() and not task.done():  # noqa: ASYNC110  # set by threads, too
        await asyncio.sleep(LOOK_SECONDS)
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.exception()


# What the test of a host gives to the check: a program of it, and what is known of the host.


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

    The fake model makes a `Request` of what it is sent, has `Model.hear` say a `ScriptedStep`, and replies with that
    in the
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

    def listed(self, conversation_id: str) -> Sequence[RequestMessage]:
        """Return the same as neutral messages."""

    def close(self) -> None:
        """Let go of all that the program holds; the next one begins like a new process."""


class Exemption(NamedTuple):
    """A point that a host can't meet.

    Attributes:
        reason: why, in a sentence of the host's documentation.
        check: asserts what is so instead; None where the point is about something that the host does not have.
    """

    reason: str
    check: Callable[[HostDriver, Path], None] | None = None


@dataclass(frozen=True, kw_only=True)
class HostDriver:
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
    signed: SignedReply | None = None
    otherwise: Mapping[str, Exemption] = field(default_factory=dict)


# What a program has recorded, read from its file by a reader of our own.

PLAN = "plan"
MOST = 1_000_000


@contextmanager
def reading(path: Path) -> Iterator[Engine]:
    """Open a program's file beside it."""
    with load({"store": {"path": str(path)}}) as engine:
        yield engine


def rows(path: Path, conversation_id: str) -> list[tuple[StoredMessage, str]]:
    """Return all that is recorded of a conversation, with the words of each."""
    if not path.exists():
        return []
    with reading(path) as engine:
        codecs = engine.wired.codecs
        stored = engine.wired.store.read(conversation_id, 0, MOST)
        return [(row, codecs[row.codec].text(row.payload)) for row in stored]


def said(path: Path, conversation_id: str) -> list[tuple[str, str]]:
    """Return what is recorded as one line for each word, call and result, the same for every host.

    Lines are ("user", words), ("assistant", words), ("call", its id), ("result", the id of its call).
    """
    lines: list[tuple[str, str]] = []
    for row, text in rows(path, conversation_id):
        lines += [("result", each) for each in row.result_ids]
        if row.role in ("user", "assistant") and text and not row.result_ids:
            lines.append((row.role, text))
        lines += [("call", each) for each in row.call_ids]
    return lines


def text_of(path: Path, conversation_id: str) -> str:
    """Return all words that are recorded of a conversation."""
    return "\n".join(text for _, text in rows(path, conversation_id))


def plan_count(store: TranscriptStore, conversation_id: str) -> int:
    """Return how many view plans are on record."""
    last = store.last_record(conversation_id, PLAN)
    return 0 if last is None else last.number + 1


BUDGET: Final = 4_000
CHAT: Final = "chat-1"
# More turns than fit the budget several times.
MOST_TURNS: Final = 30
# What two runs can't have alike in what a search finds: when something was said, and digests of that.
_CLOCK: Final = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|sha256 [0-9a-f]{8}")


class OpenProgram:
    """A program that is open."""

    def __init__(self, host: HostDriver, setting: Setting) -> None:
        """Make it."""
        self.host, self.path, self.model = host, setting.path, setting.model
        self.program = host.make(setting)

    def say(self, text: str, conversation_id: str = CHAT) -> str:
        """Run a turn and return the answer."""
        return self.program.run(text, conversation_id)

    def fails(self, text: str, conversation_id: str = CHAT) -> str:
        """Run a turn that the host may end by an error, and return what it was; "" where it raised none."""
        try:
            self.program.run(text, conversation_id)
        except Exception as error:  # noqa: BLE001  # each host has its own
            return f"{type(error).__name__}: {error}"
        return ""

    def talk(self) -> int:
        """Tell the fact, and then of other things until it is out of view; return how many turns that took."""
        self.say(FACT)
        for number in range(1, MOST_TURNS):
            self.say(f"{number}: {LONG}")
            if FACT.encode() not in self.whole():
                return number + 1
        raise AssertionError(f"what was said first falls out of view in time: it was sent for {MOST_TURNS} turns")

    def scripted(self, script: Script) -> None:
        """Have the model say what a script says from now on, which counts its requests from 1."""
        before = len(self.model.requests)
        self.model.script = lambda request: script(replace(request, number=request.number - before))

    def unscripted(self) -> None:
        """Have the model say the usual from now on."""
        self.model.script = lambda _request: None

    def said(self, conversation_id: str = CHAT) -> list[tuple[str, str]]:
        """Return what is recorded; see `stores.said`."""
        return said(self.path, conversation_id)

    def text(self, conversation_id: str = CHAT) -> str:
        """Return all words that are recorded."""
        return text_of(self.path, conversation_id)

    def wires(self, number: int = -1) -> list[bytes]:
        """Return one request as it was compared, without times."""
        return [timeless(each) for each in self.model.requests[number].wires]

    def whole(self, number: int = -1) -> bytes:
        """Return one request as one text."""
        return b"\n".join(self.model.requests[number].wires)


def home(folder: Path, name: str) -> Path:
    """Return the file of a program in a folder of its own: hosts may keep files beside it."""
    made = folder / name
    made.mkdir(parents=True, exist_ok=True)
    return made / "mem.db"


def timeless(wire: bytes) -> bytes:
    """Return bytes without the times in what a search finds."""
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
    """Open a program, close it behind, and check that every request was valid and within budget; None: bounded by none.

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
    """Count view plans of the conversation as requests come."""
    with reading(run.path) as engine:
        store = engine.wired.store
        run.model.plans = lambda: plan_count(store, CHAT)
        try:
            yield
        finally:
            run.model.plans = lambda: 0


# Processes that are killed in the midst of a turn.

# By what a child ends that is killed where it should be: no clean-up of Python's runs.
KILLED: Final = 9
MOST_SECONDS: Final = 300
# `points` adds a scene of its own to SCENES.
_CODE: Final = "import sys; from squidbot.testing.hosts import main, points; main(*sys.argv[1:])"


def killed(host: HostDriver, scenes: Mapping[str, Path], budget: int = BUDGET) -> dict[str, int]:
    """Play scenes at once, each in a process of its own on a file of its own, and return how they ended."""
    roots = [str(host.root)] if host.root is not None else []
    told = {**os.environ, "PYTHONPATH": os.pathsep.join([*roots, *filter(None, sys.path)])}
    started = {}
    for scene, path in scenes.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        words = [sys.executable, "-c", _CODE, host.origin, str(path), scene, str(budget)]
        started[scene] = subprocess.Popen(words, env=told)  # noqa: S603  # this Python, and what is named here
    return {scene: process.wait(MOST_SECONDS) for scene, process in started.items()}


def main(origin: str, path: str, scene: str, budget: str) -> None:
    """Be the process: make the host's program and play a scene in it."""
    module, _, name = origin.partition(":")
    host: HostDriver = getattr(import_module(module), name)
    SCENES[scene](OpenProgram(host, Setting(Path(path), Model(int(budget), host.search), int(budget))))


def die(code: int = KILLED) -> str:
    """End this process as a killed one ends."""
    os._exit(code)


def _in_a_tool(run: OpenProgram) -> None:
    """Be killed between a call and its result."""
    run.say(FACT)
    run.model.looks = lambda _at: die()
    run.scripted(_one_look)
    run.say("Look!")


def _before_an_answer(run: OpenProgram) -> None:
    """Be killed between a result and the answer."""
    run.say(FACT)
    run.scripted(lambda request: _one_look(request) or ScriptedStep(die()))
    run.say("Look!")


_one_look = once(ScriptedStep(calls=(look(1),)))


SCENES: Final[dict[str, Callable[[OpenProgram], None]]] = {
    "killed in a tool": _in_a_tool,
    "killed before an answer": _before_an_answer,
}


# What squidbot logs and tells while a program is checked.

_LOG: Final = logging.getLogger("squidbot")


class WarningRecorder(logging.Handler):
    """Keeps warnings of the log, and the causes of the events `degraded`."""

    def __init__(self) -> None:
        """Nothing was said yet."""
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
    """Listen to all of squidbot in this process; nobody else hears it, since what is said then is as it should be."""
    told = WarningRecorder()
    _LOG.addHandler(told)
    try:
        with patch.object(_LOG, "propagate", new=False), patch.object(Relay, "notify", told.take):
            yield told
    finally:
        _LOG.removeHandler(told)


# A language model that should write summaries, and raises or hangs.

NAME: Final = "useless"
# The longest that it hangs, if nobody lets it go.
HANGS_SECONDS: Final = 60.0


class FailingSummarizer:
    """Writes no summary: it raises, or hangs until it is let go."""

    name = NAME

    def __init__(self, *, hangs: bool) -> None:
        """It was not asked yet."""
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
        """Offer it."""
        register.llm(NAME, lambda _rest: self)


@contextmanager
def summarized_by(model: FailingSummarizer) -> Iterator[None]:
    """Have every engine that is opened meanwhile ask it for summaries."""

    def changed(loaded: Loaded, extensions: Iterable[object] = ()) -> Wired:
        other = loaded.changed(summary={"llm": NAME, "min_messages": 2, "min_input_tokens": 100})
        return wire(other, [*extensions, model])

    try:
        with patch.object(engine, "wire", changed):
            yield
    finally:
        model.let_go.set()
