"""The checks of a host plugin: conversations stay apart, and the host's own list stays as it is."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import contextmanager, suppress
from dataclasses import replace
from inspect import isfunction, ismodule
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple
from unittest.mock import patch

from squidbot.core.errors import StoreError
from squidbot.core.messages import Usage
from squidbot.core.ports import TranscriptStore
from squidbot.plugins import host
from squidbot.plugins.host import HostConversation, HostRuntime
from squidbot.testing.hosts import (
    BUDGET,
    CHAT,
    FACT,
    FILLER,
    KILLED,
    LONG,
    SAID,
    SCENES,
    TOKEN_BYTES,
    FailingSummarizer,
    Model,
    ScriptedStep,
    Setting,
    ToolFailed,
    broken_prefixes,
    die,
    home,
    killed,
    listening,
    look,
    once,
    opened,
    reading,
    rows,
    summarized_by,
    timeless,
    watched,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from types import ModuleType

    from squidbot.testing.hosts import HostDriver, OpenProgram, Request, RequestMessage, WarningRecorder


CONVERSATIONS = 8
ROUNDS = 2
OTHER = "chat-9"
# Long after the first view plan has changed.
TURNS = 8


def isolated(host: HostDriver, folder: Path) -> None:
    """Eight conversations at once: requests and searches have no text of another one, and each has all its own."""
    with opened(host, home(folder, "mem")) as run:
        answers = asyncio.run(_interleaved(run))
        for number, answer in enumerate(answers):
            found = [other for other in range(CONVERSATIONS) if f"walrus{other}." in answer]
            assert found == [number], (
                f"conversation {number} finds its own words alone: found those of {found} in {answer[:400]!r}"
            )
            users = _users(run, f"chat-{number}")
            due = [f"walrus{number}. {round_} {FILLER}" for round_ in range(ROUNDS)]
            assert users[:-1] == due, f"conversation {number} has its own turns, in order: recorded {users}"
        for number in range(len(run.model.requests)):
            whole = run.whole(number)
            inside = [other for other in range(CONVERSATIONS) if f"walrus{other}.".encode() in whole]
            assert len(inside) == 1, f"a request has words of one conversation: request {number} of {inside}"


async def _interleaved(run: OpenProgram) -> list[str]:
    async def turn(number: int, text: str) -> str:
        return await run.program.arun(text, f"chat-{number}")

    for round_ in range(ROUNDS):
        await asyncio.gather(*(turn(number, f"walrus{number}. {round_} {FILLER}") for number in range(CONVERSATIONS)))
    return await asyncio.gather(*(turn(number, f"RECALL walrus{number}") for number in range(CONVERSATIONS)))


def untouched(host: HostDriver, folder: Path) -> None:
    """The host's own list equals that of a run without squidbot; history from a caller is recorded once."""
    ours, users, _ = _led(host, home(folder, "with"), has_squidbot=True)
    theirs, _, history = _led(host, home(folder, "without"), has_squidbot=False)
    assert theirs, "the host has a list of its own"
    assert len(users) == TURNS, f"no turn is recorded twice: {len(users)} of {TURNS} turns"
    wires = [[each.wire for each in listed] for listed in (ours, theirs)]
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*wires, strict=False)))
    assert wires[0] == wires[1], (
        f"the host's list of {len(theirs)} messages is as without squidbot: {len(ours)}, alike up to {alike}"
    )
    with opened(host, home(folder, "handed")) as run:
        due = [each.text for each in theirs if each.role == "user"]
        for text in ("And now?", "And then?"):
            run.program.run(text, OTHER, history)
            due.append(text)
            users = _users(run, OTHER)
            assert users == due, f"history that is handed over is recorded once: expected {due}, recorded {users}"
            history = run.program.history(OTHER)


def _led(host: HostDriver, path: Path, *, has_squidbot: bool) -> tuple[list[RequestMessage], list[str], object]:
    """Run a conversation and return the host's list, the user's recorded messages, and the host's history."""
    with opened(host, path, has_squidbot=has_squidbot) as run:
        run.model.script = lambda request: (
            ScriptedStep(calls=(look(1, f"c{request.number}"),)) if "Look!" in request.text else None
        )
        for number in range(TURNS):
            run.say(f"{number}: {'Look!' if number % 3 == 0 else LONG}")
        return [*run.program.listed(CHAT)], _users(run, CHAT) if has_squidbot else [], run.program.history(CHAT)


def _users(run: OpenProgram, conversation_id: str) -> list[str]:
    return [text for role, text in run.said(conversation_id) if role == "user"]


# What fails inside squidbot never ends a run; a run that fails or is cancelled
# loses nothing.

if TYPE_CHECKING:
    # The answers of a program without squidbot, its requests, and its error for a request that is too long.
    Bare = tuple[list[str], list[list[bytes]], str]

FAILING_CHAT: Final = "chat-2"
# How long a background thread may take until it asks for a summary.
ASKED_SECONDS: Final = 10.0
FAILING_TURNS: Final = (FACT, FILLER, "And now?")
# Methods of `HostRuntime` that a run never meets: those that catch failures, and those that open and close.
_INNER: Final = frozenset({"answer", "close", "open", "safely", "tools", "warn_once"})
# If one of these is broken, squidbot makes no request: the host sends its own list.
_REQUESTS: Final = frozenset({"before", "conversation", "engine", "append"})
# If one of these is broken, a request or a record is incomplete, so the log must say it.
_LOUD: Final = _REQUESTS | {"after", "call_tool"}


class InjectedFault(NamedTuple):
    """A broken part of squidbot: its place, its name, its error, and how often it was met."""

    owner: object
    name: str
    error: Exception
    met: list[str]

    def __call__(self, *_: object, **__: object) -> object:
        """Fail."""
        self.met.append(self.name)
        raise self.error


def entries(plugin: str) -> list[InjectedFault]:
    """Return every public entry of `squidbot.plugins.host` that a plugin calls in a run, broken by a bug of ours.

    These are the methods of its classes, and the functions that the plugin's module, or one inside, has imported.
    """
    found: list[tuple[object, str]] = [(host, "call_tool")]
    found += [(owner, name) for owner in (HostConversation, HostRuntime) for name in _methods(owner)]
    for module in [value for name, value in sys.modules.items() if f"{name}.".startswith(f"{plugin}.")]:
        found += _functions(module)
        found += [each for value in vars(module).values() if ismodule(value) for each in _functions(value)]
    return [InjectedFault(owner, name, RuntimeError("a bug of ours"), []) for owner, name in dict.fromkeys(found)]


def _methods(owner: type) -> list[str]:
    made = [name for name, value in vars(owner).items() if callable(value) or isinstance(value, property)]
    return [name for name in made if not name.startswith("_") and name not in _INNER]


_ENTRIES: Final = ("squidbot.plugins.host", "squidbot.plugins.store_tools")


def _functions(module: ModuleType) -> list[tuple[object, str]]:
    """Return the functions of squidbot.plugins.host in a module, without those that write a user's switch."""
    return [
        (module, name)
        for name, value in vars(module).items()
        if isfunction(value) and value.__module__ in _ENTRIES and not name.startswith("_")
    ]


def _store_faults(path: Path) -> list[InjectedFault]:
    """Return every method of the store, broken as by a full disk or a locked file."""
    with reading(path) as engine:
        kind = type(engine.wired.store)
    names = [name for name in vars(TranscriptStore) if not name.startswith("_") and name != "forget"]
    return [InjectedFault(kind, name, StoreError(f"{name}: the disk is full"), []) for name in names]


@contextmanager
def _broken(fault: InjectedFault) -> Iterator[WarningRecorder]:
    """Break something, and listen."""
    is_property = isinstance(getattr(fault.owner, fault.name, None), property)
    made: object = property(lambda _owner: fault()) if is_property else fault
    with patch.object(fault.owner, fault.name, made), listening() as told:
        yield told


def fails_open(host: HostDriver, folder: Path) -> None:
    """With a bug in any entry of squidbot, or a failing store, output and list are those without squidbot."""
    bare = _as_without(host, home(folder, "bare"))
    met = 0
    for number, fault in enumerate(entries(host.plugin)):
        met += _checks_fault(host, home(folder, f"entry-{number}"), fault, bare)
    assert met, "the plugin is made of squidbot.plugins.host, whose entries were broken; none was met"
    with opened(host, home(folder, "any")) as run:
        run.say(FACT)
    for number, fault in enumerate(_store_faults(home(folder, "any"))):
        _checks_fault(host, home(folder, f"store-{number}"), fault, bare)
    _checks_no_store(host, home(folder, "none"), bare)
    for hangs in (False, True):
        _checks_summarizer(host, home(folder, f"hangs-{hangs}"), FailingSummarizer(hangs=hangs))


def _as_without(host: HostDriver, path: Path) -> Bare:
    """Return the answers and requests of a program without squidbot, and its error for a request that is too long."""
    with opened(host, path, has_squidbot=False) as run:
        answers = [run.say(text, FAILING_CHAT) for text in FAILING_TURNS]
        sent = [[each.wire for each in request.messages] for request in run.model.requests]
        run.scripted(lambda _request: ScriptedStep(error="too_long"))
        return answers, sent, run.fails("Too long!", "chat-3")


def _checks_fault(host: HostDriver, path: Path, fault: InjectedFault, bare: Bare) -> int:
    where = f"{getattr(fault.owner, '__name__', fault.owner)}.{fault.name} raises {fault.error!r}"
    with opened(host, path) as run:
        run.say("First.")
        run.model.budget = None
        with _broken(fault) as told:
            _checks_same(run, bare, where, is_whole=fault.name in _REQUESTS)
            recalled = run.fails("RECALL the walrus.", FAILING_CHAT)
            assert not recalled, f"a call of squidbot's tool goes on where {where}: it raised {recalled}"
            run.scripted(lambda _request: ScriptedStep(error="too_long"))
            failed = run.fails("Too long!", "chat-3")
            assert failed == bare[2], f"a request too long fails as without squidbot where {where}: {failed!r}"
            run.unscripted()
        if fault.met and fault.name in _LOUD:
            lines = [line for line in told.lines if "squidbot" in line]
            assert lines, f"one line in the log says so where {where}: there is none"
            assert len(lines) == len(set(lines)), f"the log says the same once where {where}: {lines}"
            assert told.causes, f"the event degraded says so where {where}: there is none"
        said = run.say("Last.", FAILING_CHAT)
        assert said == SAID, f"all goes on behind a time where {where}: it said {said!r}"
        due = [("user", "Last."), ("assistant", SAID)]
        assert run.said(FAILING_CHAT)[-2:] == due, (
            f"all is recorded again behind a time where {where}: {run.said(FAILING_CHAT)[-2:]}"
        )
    return len(fault.met)


def _checks_same(run: OpenProgram, bare: Bare, where: str, *, is_whole: bool) -> None:
    before = len(run.model.requests)
    for text, due in zip(FAILING_TURNS, bare[0], strict=True):
        answer = run.say(text, FAILING_CHAT)
        assert answer == due, f"the answer is that without squidbot where {where}: {answer!r}, and not {due!r}"
    made = [[each.wire for each in request.messages] for request in run.model.requests[before:]]
    assert len(made) == len(bare[1]), f"the model is asked as often as without squidbot where {where}"
    assert not is_whole or made == bare[1], f"the host's own list goes out where {where}: {len(made[-1])} messages"


def _checks_no_store(host: HostDriver, path: Path, bare: Bare) -> None:
    """Check that a plugin refuses a file that is not a store, or warns and continues."""
    path.write_text("this is no database, and never was" * 99)
    with listening() as told:
        try:
            with opened(host, path) as run:
                run.model.budget = None
                _checks_same(run, bare, "the store is no database", is_whole=True)
        except StoreError as error:
            told.lines.append(str(error))
    assert any(path.name in line for line in told.lines), (
        f"the error or the log names the file where the store is no database: {told.lines}"
    )


def _checks_summarizer(host: HostDriver, path: Path, model: FailingSummarizer) -> None:
    """Check that everything continues, within budget, with a summarizer that raises or hangs."""
    with summarized_by(model), opened(host, path, budget=8_192) as run:
        run.talk()
        assert model.asked.wait(ASKED_SECONDS), "the settings' summarizer is asked behind a long talk"
        answer = run.say("And now?")
        assert answer == SAID, f"all goes on beside a summarizer that fails: it said {answer!r}"
        model.let_go.set()


def broken_off(host: HostDriver, folder: Path) -> None:
    """A failing provider, on the first call or after a tool, and a cancelled run lose nothing."""
    call = (look(1),)
    known = [("user", "Look!"), ("call", "c1"), ("result", "c1")]

    def fail(run: OpenProgram, at: int) -> None:
        run.scripted(lambda request: ScriptedStep(error="failed") if request.number == at else ScriptedStep(calls=call))
        assert run.fails("Look!"), "the host tells that its model has failed"

    def hold(run: OpenProgram, at: int) -> None:
        run.scripted(lambda request: ScriptedStep(is_held=True) if request.number == at else ScriptedStep(calls=call))
        run.program.cancel("Look!", CHAT)

    ways: dict[str, Callable[[OpenProgram, int], None]] = {"failed": fail, "was cancelled": hold}
    for way, ends in ways.items():
        for at in (1, 2):
            path = home(folder, f"{way}-{at}")
            with opened(host, path) as run:
                ends(run, at)
                run.unscripted()
                due = known[:1] if at == 1 else known
                assert run.said() == due, f"a run that {way} at call {at} leaves {due}: recorded {run.said()}"
                _checks_next(run, way, at)
            with opened(host, path) as run:
                _checks_next(run, way, at)


def _checks_next(run: OpenProgram, way: str, at: int) -> None:
    answer = run.say("What now?")
    assert answer == SAID, f"the run behind one that {way} at call {at} goes on: it said {answer!r}"
    assert b"Look!" in run.whole(), f"what was said to a run that {way} at call {at} is sent again"
    text = run.text()
    for word in ("Error", "fake"):
        assert word not in text, f"a failure never becomes content: {word!r} is recorded of a run that {way}"


# The point of length: three hundred steps of tools in a small window, in a process that is killed
# half-way.

LASTING_BUDGET: Final = 8_192
LASTING_TURNS, STEPS = 15, 20
# The turn and the step where the process is killed, in a tool.
KILLED_AT: Final = (7, 11)
# The text of a result; every few results, one is longer.
LINE: Final = "entry {at}: shelf {at}, three jars of squid ink, checked at noon; "
SCENE: Final = "killed half-way"


def lasting(host: HostDriver, folder: Path) -> None:
    """300 steps in an 8K window: requests are valid, within budget, append-only between plans, and all is recorded."""
    path = home(folder, "mem")
    ended = killed(host, {SCENE: path}, LASTING_BUDGET)[SCENE]
    assert ended == KILLED, f"the first half goes well, up to where its process is killed: it ended with {ended}"
    with opened(host, path, budget=LASTING_BUDGET) as run:
        with watched(run):
            for turn in range(KILLED_AT[0] + 1, LASTING_TURNS):
                _look_about(run, turn)
            answer = run.say("RECALL the walrus at the harbour.")
            _checks_prefixes(run)
        assert "Brunhilde" in answer, f"the fact of the first turn is found behind all that: {answer[:200]!r}"
        _checks_recorded(run)


def _look_about(run: OpenProgram, turn: int) -> None:
    """Run a turn of many steps, each with one call or two."""
    first = turn * STEPS

    def step(number: int) -> ScriptedStep:
        if number > STEPS:
            return ScriptedStep(SAID)
        places = [first + number, *([-(first + number)] if number % 4 == 0 else [])]
        return ScriptedStep(calls=tuple(look(abs(at), f"c{at}") for at in places))

    run.model.looks = lambda at: LINE.format(at=at) * (40 if at % 25 == 0 else 4)
    run.scripted(lambda request: step(request.number))
    answer = run.say(f"Turn {turn}: look about.")
    run.unscripted()
    assert answer == SAID, f"a turn of {STEPS} steps has its answer: {answer[:200]!r}"


def _checks_prefixes(run: OpenProgram) -> None:
    broken = broken_prefixes(run.model.requests, run.model.planned)
    assert not broken, f"requests extend each other: {'; '.join(broken[:2])}"
    plans = len(set(run.model.planned))
    assert plans > 1, "the talk is long enough for a plan to change, else this would show nothing"


def _checks_recorded(run: OpenProgram) -> None:
    said, text = run.said(), run.text()
    turns = [words for role, words in said if role == "user"]
    due = [FACT, *(f"Turn {turn}: look about." for turn in range(LASTING_TURNS)), "RECALL the walrus at the harbour."]
    assert turns == due, f"every turn is recorded once, in order: {turns}"
    lost = [at for at in _steps() if f"entry {at}: " not in text]
    assert not lost, f"every result is recorded: not those of the steps {lost}"
    calls = [name for role, name in said if role == "call"]
    results = [name for role, name in said if role == "result"]
    assert len(calls) == len({*calls}), "every call is recorded once"
    assert sorted(calls) == sorted(results), f"every call has one result: {sorted({*calls} ^ {*results})}"


def _steps() -> list[int]:
    """Return the steps whose tools finished."""
    every = [turn * STEPS + number for turn in range(LASTING_TURNS) for number in range(1, STEPS + 1)]
    turn, last = KILLED_AT
    return [at for at in every if not turn * STEPS + last <= at <= (turn + 1) * STEPS]


def _first_half(run: OpenProgram) -> None:
    """Die half-way; exit with 3 if a rule was broken before, and print it."""
    with watched(run):
        run.say(FACT)
        for turn in range(KILLED_AT[0]):
            _look_about(run, turn)
        at = KILLED_AT[0] * STEPS + KILLED_AT[1]
        looks = run.model.looks
        run.model.looks = lambda place: _end(run) if place == at else looks(place)
        run.scripted(lambda request: _one(KILLED_AT[0] * STEPS + request.number))
        run.say(f"Turn {KILLED_AT[0]}: look about.")


def _one(at: int) -> ScriptedStep:
    return ScriptedStep(calls=(look(at),))


def _end(run: OpenProgram) -> str:
    faults = [*run.model.faults, *broken_prefixes(run.model.requests, run.model.planned)]
    if faults:
        sys.stderr.write("\n".join(faults[:5]))
        sys.stderr.flush()
    return die(3 if faults else KILLED)


SCENES[SCENE] = _first_half


# Rivals, and an inactive squidbot, are reported once; nothing imports a host.


def rivalled(host: HostDriver, folder: Path) -> None:
    """For each of the host's own managers that shorten messages, one warning names it."""
    assert host.rivals, "HostDriver.rivals has the host's own managers, or HostDriver.otherwise says why there is none"
    _checks_warnings(host, folder, host.rivals)


def inactive(host: HostDriver, folder: Path) -> None:
    """If squidbot is inactive, one warning says why, only once."""
    assert host.inactive, "HostDriver.inactive has the ways to do nothing, or HostDriver.otherwise says why not"
    _checks_warnings(host, folder, host.inactive)


def _checks_warnings(host: HostDriver, folder: Path, acts: Mapping[str, Callable[[Setting], object]]) -> None:
    for number, (word, act) in enumerate(acts.items()):
        with listening() as told:
            act(Setting(home(folder, f"{number}"), Model(None, host.search), BUDGET))
        lines = told.lines
        assert len(lines) == 1, f"one warning says {word!r}: expected one, logged {lines}"
        assert word in lines[0], f"the warning says {word!r}: logged {lines[0]!r}"


def hygienic(host: HostDriver, folder: Path) -> None:
    """Squidbot imports no host, and the plugin without its host names the extra that installs both."""
    del folder
    inside = f"[each for each in sys.modules if (each + '.').startswith({host.package + '.'!r})]"
    code = f"import sys, squidbot\nprint({inside})"
    found = _run(host, code)
    assert found.strip() == "[]", f"`import squidbot` imports no host: {found[:200]}"
    missing = _run(host, f"import sys\nsys.modules[{host.package!r}] = None\nimport {host.plugin}")
    wanted = f"[{host.extra}]"
    assert wanted in missing, f"a plugin without its host names its extra, {wanted}: {missing[-300:]}"


def _run(host: HostDriver, code: str) -> str:
    """Return the output of a new Python, errors included."""
    roots = [str(host.root)] if host.root is not None else []
    told = {**os.environ, "PYTHONPATH": os.pathsep.join([*roots, *filter(None, sys.path)])}
    words = [sys.executable, "-c", code]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, timeout=100, env=told)  # noqa: S603
    return ended.stdout + ended.stderr


# Between squidbot and the provider of the host's model.


def server_held(host: HostDriver, folder: Path) -> None:
    """Each option that makes the provider keep the conversation is refused by its name, and nothing is sent."""
    assert host.server_held, "HostDriver.server_held names the switches, or HostDriver.otherwise says why there is none"
    for number, (name, act) in enumerate(host.server_held.items()):
        with opened(host, home(folder, f"{number}")) as run:
            try:
                act(run.program)
            except Exception as error:  # noqa: BLE001  # the plugin's or the host's own
                told = f"{error}"
            else:
                raise AssertionError(f"{name} is refused: nothing was raised")
            assert name in told, f"the refusal of {name} names it: {told!r}"
            sent = len(run.model.requests)
            assert not sent, f"nothing is sent with {name}: {sent} requests were"


def overflowed(host: HostDriver, folder: Path) -> None:
    """After a refusal as too long, a smaller request is sent once, and recorded once."""
    for way in ("run", "stream"):
        with opened(host, home(folder, way)) as run:
            run.say(FACT)
            for number in range(4):
                run.say(f"{number}: {FILLER}")
            before = len(run.said())
            run.scripted(once(ScriptedStep(error="too_long")))
            answer = run.say("Once more.") if way == "run" else run.program.stream("Once more.", CHAT)
            assert answer == SAID, f"a {way} goes on behind a refusal: it said {answer!r}"
            refused, taken = run.model.requests[-2:]
            assert taken.tokens < refused.tokens, (
                f"what is sent again is smaller: {taken.tokens} tokens behind {refused.tokens}"
            )
            assert taken.messages[-1].wire == refused.messages[-1].wire, "it is the same step: its last message stays"
            due = [("user", "Once more."), ("assistant", SAID)]
            assert run.said()[before:] == due, f"it is recorded once: expected {due}, recorded {run.said()[before:]}"


def reasoned(host: HostDriver, folder: Path) -> None:
    """Parts that only the provider can read are sent again byte for byte, even after a restart, all or none."""
    assert host.signed is not None, "HostDriver.signed is a reply with reasoning, or HostDriver.otherwise says why not"
    due = host.signed.opaque
    assert due, "HostDriver.signed says what only its provider can read"
    native = host.signed.native
    with opened(host, home(folder, "mem")) as run:
        run.scripted(once(ScriptedStep("Yes.", native=native)))
        run.say(FACT)
        run.say("And?")
        _checks_opaque(run, due)
    with opened(host, home(folder, "mem")) as run, watched(run):
        run.say("And then?")
        _checks_opaque(run, due)
        run.scripted(lambda _request: ScriptedStep("Yes.", native=native))
        for number in range(20):
            run.say(f"{number}: {LONG}")
            kept = {each.opaque for each in run.model.requests[-1].messages} - {"", due, host.signed.left}
            assert not kept, f"what only its provider can read is sent whole or not at all: {kept}"
            if run.model.planned[-1] != run.model.planned[0]:
                break
        else:
            raise AssertionError("the talk is long enough for a plan to change, else this would show nothing")
        whole = [each.opaque for each in run.model.requests[-1].messages].count(due)
        assert not whole, f"behind a change of plan, what was signed before it is left out: {whole} are in"


def _checks_opaque(run: OpenProgram, due: str) -> None:
    opaque = [each.opaque for each in run.model.requests[-1].messages if each.opaque]
    assert opaque == [due], f"what only its provider can read is sent as it was: expected {due}, sent {opaque}"


def calibrated(host: HostDriver, folder: Path) -> None:
    """The reported usage, cached tokens included, changes how much squidbot sends."""
    known = {}
    for share in (1, 2):
        with opened(host, home(folder, f"{share}")) as run:
            # This provider counts twice as many tokens as the first one, half of them cached.
            run.model.budget = BUDGET // share

            def step(request: Request, share: int = share) -> ScriptedStep:
                tokens = share * request.tokens
                return replace(ScriptedStep(SAID), usage=Usage(tokens, share * len(SAID) // 4, tokens // 2))

            run.scripted(step)
            for number in range(10):
                run.say(f"{number}: {LONG}")
            known[share] = max(request.tokens for request in run.model.requests)
    assert known[2] < 0.75 * known[1], (
        f"where a provider counts twice as much, less is sent: at most {known[2]} tokens and {known[1]} as we count"
    )


# Messages come back, within the budget, valid, append-only, and a search finds them.

# The steps of a turn, and those whose results exceed the budget.
TALK_STEPS = 10
LARGE_AT = 4


def restarted(host: HostDriver, folder: Path) -> None:
    """A second program, even after a killed process, has every item in order, and sends the same prefix."""
    with opened(host, home(folder, "closed")) as first:
        first.say(FACT)
        first.say("And the seal?")
    with opened(host, home(folder, "closed")) as second:
        second.say("And the cat?")
        before = first.wires()
        assert second.wires()[: len(before)] == before, "a new program sends the same prefix as the one before"
        due = [
            line for text in (FACT, "And the seal?", "And the cat?") for line in (("user", text), ("assistant", SAID))
        ]
        assert second.said() == due, f"all is there, in order: expected {due}, recorded {second.said()}"
    ended = killed(host, {"killed in a tool": home(folder, "tool"), "killed before an answer": home(folder, "answer")})
    for scene, code in ended.items():
        assert code == KILLED, f"the process that is {scene} gets there: it ended with {code}"
    known = [("user", FACT), ("assistant", SAID), ("user", "Look!"), ("call", "c1"), ("result", "c1")]
    for name in ("tool", "answer"):
        with opened(host, home(folder, name)) as run:
            left = run.said()
            # The last call may have no result: it gets one before the next request.
            assert left in (known, known[:-1]), f"a killed process leaves {known}: recorded {left}"
            assert name == "tool" or left == known, "a result is on record before the model is asked again"
            answer = run.say("What now?")
            assert answer == SAID, f"the next run goes on: it said {answer!r}"
            due = [*known, ("user", "What now?"), ("assistant", SAID)]
            assert run.said() == due, f"behind a killed process: expected {due}, recorded {run.said()}"
            for words in (FACT, "Look!"):
                assert words.encode() in run.whole(), f"{words!r}, said to the killed process, is sent again"


def bounded(host: HostDriver, folder: Path) -> None:
    """Every call is within budget, also inside a turn of tools, with a result of three times the budget."""
    with opened(host, home(folder, "mem")) as run:
        run.talk()
        run.model.looks = lambda at: (
            f"result {at} " + "of a look at the shelf " * (3 * BUDGET * TOKEN_BYTES // 23 if at == LARGE_AT else 20)
        )
        run.scripted(lambda request: _looks(request, 2) if request.number <= TALK_STEPS else ScriptedStep(SAID))
        before = len(run.model.requests)
        run.say("Look at everything.")
        asked = len(run.model.requests) - before
        assert asked == TALK_STEPS + 1, (
            f"a turn of {TALK_STEPS} steps asks {TALK_STEPS + 1} times: it asked {asked} times"
        )
        text = run.text()
        lost = [at for at in range(1, TALK_STEPS + 1) if text.count(f"result {at} ") != 2]
        assert not lost, f"every result is recorded once for each call: not those of the steps {lost}"
        assert len(text) > 2 * 3 * BUDGET * TOKEN_BYTES, "what was cut for a request is recorded whole"


def _looks(request: Request, count: int) -> ScriptedStep:
    at = request.number
    return ScriptedStep(calls=tuple(look(at, f"c{at}-{number}") for number in range(count)))


def pairs(host: HostDriver, folder: Path) -> None:
    """Parallel calls, one of which fails; and open calls of an interrupted run."""

    def looks(at: int) -> str:
        if at == 2:
            raise ToolFailed("there is no such shelf")
        return f"result {at}"

    with opened(host, home(folder, "mem")) as run:
        run.say(FACT)
        run.model.looks = looks
        calls = tuple(look(at) for at in (1, 2, 3))
        run.scripted(once(ScriptedStep(calls=calls)))
        run.say("Look thrice!")
        due = sorted([*(("call", each.call_id) for each in calls), *(("result", each.call_id) for each in calls)])
        found = sorted(line for line in run.said() if line[0] in ("call", "result"))
        assert found == due, f"calls at once each have one result: expected {due}, recorded {found}"
        assert "no such shelf" in run.text(), "what a tool that failed said is recorded"
        held = (look(-1, "h1"), look(-1, "h2"))
        run.scripted(once(ScriptedStep(calls=held)))
        run.program.cancel("Wait!", CHAT)
    with opened(host, home(folder, "mem")) as run:
        assert run.say("What now?") == SAID, "the run behind a broken off one goes on"
        assert b"cancelled" in run.whole(), "a call that was broken off has a result that says so"
        found = sorted(line for line in run.said() if line[1] in ("h1", "h2"))
        due = [("call", "h1"), ("call", "h2"), ("result", "h1"), ("result", "h2")]
        assert found == due, f"calls that were broken off: expected {due}, recorded {found}"


def append_only(host: HostDriver, folder: Path) -> None:
    """Each request begins with the previous one, byte for byte, unless a new plan was recorded."""
    with opened(host, home(folder, "mem")) as run, watched(run):
        run.talk()
        run.scripted(lambda request: _looks(request, 1) if request.number <= 5 else None)
        run.say("Look around.")
        run.unscripted()
        run.say("And then?")
        _checks_prefixes(run)


def recalled(host: HostDriver, folder: Path) -> None:
    """The model searches for a message no longer in view, gets the original words, and answers with them."""
    with opened(host, home(folder, "mem")) as run:
        turns = run.talk() + 1
        answer = run.say("RECALL what the walrus is called.")
        assert FACT.encode() not in run.whole(-2), "the fact is out of view when it is asked for"
        assert FACT.encode() in run.whole(), "what was found is sent to the model, word by word"
        assert "Brunhilde" in answer, f"the answer is made of what was found: {answer[:200]!r}"
        assert len([line for line in run.said() if line[0] == "user"]) == turns, "every turn is recorded"


# Runs, async runs and streams record the same; a stream that ends early leaves
# what came.

WAYS_TURNS: Final = (FACT, FILLER, "Look!", "RECALL what the walrus is called.", "And now?")
# The mark of an incomplete answer, in every host's form.
INCOMPLETE: Final = "incomplete"


def alike(host: HostDriver, folder: Path) -> None:
    """The host's sync and async entries record and send the same."""
    _compares(host, folder, "awaited", lambda run, text: asyncio.run(run.program.arun(text, CHAT)))


def streamed(host: HostDriver, folder: Path) -> None:
    """A stream records the same as a run; abandoned, failed and cancelled ones keep the prompt and the partial text."""
    _compares(host, folder, "streamed", lambda run, text: run.program.stream(text, CHAT))
    for way, ends in (("abandoned", _abandon), ("failed", _fail), ("cancelled", _cancel)):
        with opened(host, home(folder, way)) as run:
            run.say(FACT)
            ends(run)
            run.unscripted()
            _checks_left(run, way)
        with opened(host, home(folder, way)) as run:
            answer = run.say("And the cat?")
            assert answer == SAID, f"the run behind a stream that was {way} goes on: it said {answer!r}"
            assert b"And the seal?" in run.whole(), f"the prompt of a stream that was {way} is sent again"
            said = run.said()
            came = said[3 : said.index(("user", "And the cat?"))]
            assert came, f"what came of a stream that was {way} is kept: recorded {said}"


def _compares(host: HostDriver, folder: Path, way: str, act: Callable[[OpenProgram, str], object]) -> None:
    found = {}
    for name, say in (("run", lambda run, text: run.say(text)), (way, act)):
        with opened(host, home(folder, f"{way}-{name}"), budget=2 * BUDGET) as run:
            run.model.script = lambda request: (
                ScriptedStep(calls=(look(1), look(2))) if request.text == "Look!" else None
            )
            for text in WAYS_TURNS:
                say(run, text)
            found[name] = run.said(), [run.wires(number) for number in range(len(run.model.requests))]
    ours, theirs = found[way], found["run"]
    said = [[(role, timeless(text.encode())) for role, text in each[0]] for each in (ours, theirs)]
    same = said[0] == said[1]
    assert same, f"{way} turns are recorded as others: expected {theirs[0]}, recorded {ours[0]}"
    differ = [number for number, pair in enumerate(zip(ours[1], theirs[1], strict=False), 1) if pair[0] != pair[1]]
    assert not differ, f"{way} turns send what others send: requests {differ} are other"
    assert len(ours[1]) == len(theirs[1]), f"{way} turns ask as often: {len(ours[1])} and {len(theirs[1])} times"


def _abandon(run: OpenProgram) -> None:
    run.program.stream("And the seal?", CHAT, pieces=1)


def _fail(run: OpenProgram) -> None:
    run.scripted(lambda _request: ScriptedStep(SAID, error="failed", pieces=2))
    with suppress(Exception):  # each host has its own
        run.program.stream("And the seal?", CHAT)


def _cancel(run: OpenProgram) -> None:
    run.scripted(lambda _request: ScriptedStep(SAID, is_held=True, pieces=2))
    run.program.cancel("And the seal?", CHAT, streams=True)


def _checks_left(run: OpenProgram, way: str) -> None:
    said = run.said()
    due = [("user", FACT), ("assistant", SAID), ("user", "And the seal?")]
    assert said[:3] == due, f"a stream that was {way} leaves its prompt: expected {due}, recorded {said}"
    for role, text in said[3:]:
        assert role == "assistant", f"a stream that was {way} leaves nothing but what came: recorded {said}"
        assert SAID.startswith(text), f"what came of a stream that was {way} is what was said: recorded {text!r}"
        row = rows(run.path, CHAT)[-1][0]
        is_told = text == SAID or INCOMPLETE in row.payload
        assert is_told, f"what came of a stream that was {way} is marked {INCOMPLETE!r}: recorded {row.payload}"
    assert len(said) <= 4, f"a stream that was {way} leaves one answer at most: recorded {said}"


# The check.

HOST_CHECKS: Final[dict[str, Callable[[HostDriver, Path], None]]] = {
    "C1 restart": restarted,
    "C2 budget": bounded,
    "C3 pairs": pairs,
    "C4 append-only": append_only,
    "C5 recall": recalled,
    "C6 stream": streamed,
    "C7 sync and async": alike,
    "C8 fail open": fails_open,
    "C9 failed or cancelled run": broken_off,
    "C10 isolation": isolated,
    "C11 server-held state": server_held,
    "C12 non-destructive": untouched,
    "C13 overflow": overflowed,
    "C14 reasoning": reasoned,
    "C15 usage": calibrated,
    "C16 rivals": rivalled,
    "C17 inactive is loud": inactive,
    "C18 hygiene": hygienic,
    "300 steps": lasting,
}


def check_host_plugin(host: HostDriver, folder: Path, point: str = "") -> None:
    """Check a plugin for a host, at one point of `HOST_CHECKS` or at all; `folder` is empty, and gets files.

    If a host can't meet a point, `HostDriver.otherwise` says why, and has another check.

    Raises:
        AssertionError: a promise is broken; the text has the point, the expectation and the result.
    """
    unknown = {*host.otherwise, *filter(None, [point])} - set(HOST_CHECKS)
    assert not unknown, f"no such points: {sorted(unknown)}; there are {', '.join(HOST_CHECKS)}"
    for name in [point] if point else HOST_CHECKS:
        place = folder / name.split()[0].lower()
        place.mkdir(parents=True, exist_ok=True)
        otherwise = host.otherwise.get(name)
        check = HOST_CHECKS[name] if otherwise is None else otherwise.check
        try:
            if check is not None:
                check(host, place)
        except AssertionError as error:
            raise AssertionError(f"{host.name}, {name}: {error}") from error
        except Exception as error:
            raise AssertionError(
                f"{host.name}, {name}: nothing of squidbot's or its host's is raised, but {error!r}"
            ) from error
