"""Points C8 and C9: what fails inside squidbot never ends a run; a run that fails or is cancelled loses nothing."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from inspect import isfunction, ismodule
from typing import TYPE_CHECKING, Final, NamedTuple
from unittest.mock import patch

from squidbot.core.errors import StoreError
from squidbot.core.ports import TranscriptStore
from squidbot.hosting import toolkit
from squidbot.hosting.conversations import Conversation
from squidbot.hosting.hosted import Hosted
from squidbot.testing.hosts.listening import listening
from squidbot.testing.hosts.models import FACT, FILLER, SAID
from squidbot.testing.hosts.opened import CHAT, home, opened
from squidbot.testing.hosts.stores import reading
from squidbot.testing.hosts.summarizers import Useless, summarized_by
from squidbot.testing.hosts.values import Call, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import ModuleType

    from squidbot.testing.hosts.listening import Told
    from squidbot.testing.hosts.opened import Opened
    from squidbot.testing.hosts.programs import Host

__all__ = ["broken_off", "fails_open"]

OTHER: Final = "chat-2"
# How long a thread behind the turns may take until it asks for a summary.
ASKED_SECONDS: Final = 10.0
TURNS: Final = (FACT, FILLER, "And now?")
# What of `Hosted` a run never meets: what keeps failures inside, and the start and the end of the program.
_INNER: Final = frozenset({"answer", "close", "open", "safely"})
# With one of these broken no request is squidbot's: the host's own list goes out.
_REQUESTS: Final = frozenset({"before", "conversation", "engine", "append"})
# With one of these broken something is missing in what is sent or recorded, so the log has to say it.
_LOUD: Final = _REQUESTS | {"after", "call"}


class Fault(NamedTuple):
    """Something of squidbot that is broken: where it is, by which name, what it raises; and how often it was met."""

    owner: object
    name: str
    error: Exception
    met: list[str]

    def __call__(self, *_: object, **__: object) -> object:
        """Fail."""
        self.met.append(self.name)
        raise self.error


def entries(plugin: str) -> list[Fault]:
    """Return every public entry of `squidbot.hosting` that a plugin calls in a run, broken by a bug of ours.

    These are the methods of what it is made of, and the functions that its module, or one inside, has imported.
    """
    found: list[tuple[object, str]] = [(toolkit, "call")]
    found += [(owner, name) for owner in (Conversation, Hosted) for name in _methods(owner)]
    for module in [value for name, value in sys.modules.items() if f"{name}.".startswith(f"{plugin}.")]:
        found += _functions(module)
        found += [each for value in vars(module).values() if ismodule(value) for each in _functions(value)]
    return [Fault(owner, name, RuntimeError("a bug of ours"), []) for owner, name in dict.fromkeys(found)]


def _methods(owner: type) -> list[str]:
    made = [name for name, value in vars(owner).items() if callable(value) or isinstance(value, property)]
    return [name for name in made if not name.startswith("_") and name not in _INNER]


def _functions(module: ModuleType) -> list[tuple[object, str]]:
    """Return the functions of squidbot.hosting in a module; none of those that write what a user switches on."""
    return [
        (module, name)
        for name, value in vars(module).items()
        if isfunction(value) and value.__module__.startswith("squidbot.hosting.") and not name.startswith("_")
    ]


def _store_faults(path: Path) -> list[Fault]:
    """Return every promise of the store, broken as by a disk that is full or a file that is locked."""
    with reading(path) as engine:
        kind = type(engine.wired.store)
    names = [name for name in vars(TranscriptStore) if not name.startswith("_") and name != "forget"]
    return [Fault(kind, name, StoreError(f"{name}: the disk is full"), []) for name in names]


@contextmanager
def _broken(fault: Fault) -> Iterator[Told]:
    """Break something, and listen."""
    is_property = isinstance(getattr(fault.owner, fault.name, None), property)
    made: object = property(lambda _owner: fault()) if is_property else fault
    with patch.object(fault.owner, fault.name, made), listening() as told:
        yield told


def fails_open(host: Host, folder: Path) -> None:
    """C8: a bug in every entry of squidbot's, and a store that fails: output and list are those without squidbot."""
    bare = _as_without(host, home(folder, "bare"))
    met = 0
    for number, fault in enumerate(entries(host.plugin)):
        met += _checks_fault(host, home(folder, f"entry-{number}"), fault, bare)
    assert met, "the plugin is made of squidbot.hosting, whose entries were broken; none was met"
    with opened(host, home(folder, "any")) as run:
        run.say(FACT)
    for number, fault in enumerate(_store_faults(home(folder, "any"))):
        _checks_fault(host, home(folder, f"store-{number}"), fault, bare)
    _checks_no_store(host, home(folder, "none"), bare)
    for hangs in (False, True):
        _checks_summarizer(host, home(folder, f"hangs-{hangs}"), Useless(hangs=hangs))


def _as_without(host: Host, path: Path) -> tuple[list[str], list[list[bytes]], str]:
    """Return what a program without squidbot answers, what it sends, and how it fails at a request too long."""
    with opened(host, path, has_squidbot=False) as run:
        answers = [run.say(text, OTHER) for text in TURNS]
        sent = [[each.wire for each in request.messages] for request in run.model.requests]
        run.scripted(lambda _heard: Step(error="too_long"))
        return answers, sent, run.fails("Too long!", "chat-3")


def _checks_fault(host: Host, path: Path, fault: Fault, bare: tuple[list[str], list[list[bytes]], str]) -> int:
    where = f"{getattr(fault.owner, '__name__', fault.owner)}.{fault.name} raises {fault.error!r}"
    with opened(host, path) as run:
        run.say("First.")
        run.model.budget = None
        with _broken(fault) as told:
            _checks_same(run, bare, where, is_whole=fault.name in _REQUESTS)
            recalled = run.fails("RECALL the walrus.", OTHER)
            assert not recalled, f"a call of squidbot's tool goes on where {where}: it raised {recalled}"
            run.scripted(lambda _heard: Step(error="too_long"))
            failed = run.fails("Too long!", "chat-3")
            assert failed == bare[2], f"a request too long fails as without squidbot where {where}: {failed!r}"
            run.unscripted()
        if fault.met and fault.name in _LOUD:
            lines = [line for line in told.lines if "squidbot" in line]
            assert lines, f"one line in the log says so where {where}: there is none"
            assert len(lines) == len(set(lines)), f"the log says the same once where {where}: {lines}"
            assert told.causes, f"the event degraded says so where {where}: there is none"
        said = run.say("Last.", OTHER)
        assert said == SAID, f"all goes on behind a time where {where}: it said {said!r}"
        due = [("user", "Last."), ("assistant", SAID)]
        assert run.said(OTHER)[-2:] == due, f"all is recorded again behind a time where {where}: {run.said(OTHER)[-2:]}"
    return len(fault.met)


def _checks_same(run: Opened, bare: tuple[list[str], list[list[bytes]], str], where: str, *, is_whole: bool) -> None:
    before = len(run.model.requests)
    for text, due in zip(TURNS, bare[0], strict=True):
        answer = run.say(text, OTHER)
        assert answer == due, f"the answer is that without squidbot where {where}: {answer!r}, and not {due!r}"
    made = [[each.wire for each in request.messages] for request in run.model.requests[before:]]
    assert len(made) == len(bare[1]), f"the model is asked as often as without squidbot where {where}"
    assert not is_whole or made == bare[1], f"the host's own list goes out where {where}: {len(made[-1])} messages"


def _checks_no_store(host: Host, path: Path, bare: tuple[list[str], list[list[bytes]], str]) -> None:
    """Have a plugin refuse a file that is no store when it is made, or say so and go on."""
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


def _checks_summarizer(host: Host, path: Path, model: Useless) -> None:
    """Have all go on, within budget, beside a summarizer that raises or hangs."""
    with summarized_by(model), opened(host, path, budget=8_192) as run:
        run.talk()
        assert model.asked.wait(ASKED_SECONDS), "the settings' summarizer is asked behind a long talk"
        answer = run.say("And now?")
        assert answer == SAID, f"all goes on beside a summarizer that fails: it said {answer!r}"
        model.let_go.set()


def broken_off(host: Host, folder: Path) -> None:
    """C9: a provider that fails, on the first call or behind a tool, and a run that is cancelled, lose nothing."""
    call = (Call("look", {"at": 1}, "c1"),)
    known = [("user", "Look!"), ("call", "c1"), ("result", "c1")]

    def fail(run: Opened, at: int) -> None:
        run.scripted(lambda heard: Step(error="failed") if heard.number == at else Step(calls=call))
        assert run.fails("Look!"), "the host tells that its model has failed"

    def hold(run: Opened, at: int) -> None:
        run.scripted(lambda heard: Step(is_held=True) if heard.number == at else Step(calls=call))
        run.program.cancel("Look!", CHAT)

    ways: dict[str, Callable[[Opened, int], None]] = {"failed": fail, "was cancelled": hold}
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


def _checks_next(run: Opened, way: str, at: int) -> None:
    answer = run.say("What now?")
    assert answer == SAID, f"the run behind one that {way} at call {at} goes on: it said {answer!r}"
    assert b"Look!" in run.whole(), f"what was said to a run that {way} at call {at} is sent again"
    text = run.text()
    for word in ("Error", "fake"):
        assert word not in text, f"a failure never becomes content: {word!r} is recorded of a run that {way}"
