"""Every argument of every public method, wrong in every way: an error of ours or an answer, and a session as it was."""

from __future__ import annotations

import datetime as dt
import math
from contextlib import suppress
from decimal import Decimal
from inspect import Parameter, iscoroutinefunction, signature
from typing import TYPE_CHECKING, Any

import pytest

import squidbot
from squidbot.core.journal import JournalEntry
from squidbot.core.memory.view import MemoryQuery, NewMemory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

NOW = 1_790_000_000.0
ENDLESS: list[object] = []
ENDLESS.append(ENDLESS)
WRONG: tuple[object, ...] = (
    *(None, True, 0, -1, 10**30, -(10**30), 2.5, math.nan, math.inf, -math.inf, 1e300, 1.7e12),
    *("", " ", "\0", "\ud800", "x" * 5_000, "m3", "1790000000", "2026-11-23T03:00:00Z", b"bytes", bytearray(b"x")),
    *([], {}, (), set(), object(), [None], [[]], {"a": object()}, {1: 2}, {"role": 3}, [{"role": "user"}], ENDLESS),
    *(
        dt.datetime(2026, 11, 23, tzinfo=dt.UTC),
        Decimal(1),
        lambda: None,
        int,
        print,
        {"content": math.nan},
    ),
    *({"role": "user", "content": "\ud800"}, {"role": "user", "content": [None]}, {"role": "tool", "content": "x"}),
    squidbot.Message("user", None, "{}", "openai.chat"),  # type: ignore[arg-type]
    squidbot.Message("user", "x", "no JSON", "openai.chat"),
    squidbot.Message("user", "x", "{}", "nobody's", time=math.nan),
    squidbot.Scope(user=5),  # type: ignore[arg-type]
    squidbot.Usage("many"),  # type: ignore[arg-type]
    squidbot.Usage(-5, 10**40),
    MemoryQuery(query=5, limit=math.nan),  # type: ignore[arg-type]
    NewMemory(text=None, tags=5),  # type: ignore[arg-type]
)
# How each method is called where nothing is wrong; one that is not named here takes nothing.
RIGHT: dict[str, dict[str, object]] = {
    "Session.assemble": {"said": "Hello"},
    "Session.record": {"said": "Hello"},
    "Session.pin": {"seq": 0},
    "Session.pin_text": {"name": "rule", "text": "Be brief."},
    "Session.snapshot": {"name": "here"},
    "Session.restore": {"name": "here"},
    "Session.forget": {"seqs": 10**9},
    "Session.recall": {"handle": "m0"},
    "Session.expand": {"handle": "m0"},
    "Session.search": {"query": "hello"},
    "Session.history": {"arguments": {"action": "search", "query": "hello"}},
    "Session.memory": {"arguments": {"action": "list"}},
    "Session.call": {"tool": "history", "arguments": {"action": "search", "query": "hello"}},
    "Session.load_context": {"path": "a.md"},
    "Session.forget_goal": {"text": "Ship it"},
    "Engine.session": {"session_id": "s"},
    "Engine.continued": {"session_id": "s", "new_id": "t"},
    "Engine.sub_agent": {"parent": None, "agent": "helper"},
    "Engine.reindex": {"paths": ()},
    "Engine.iterated": {"session": None},
    "Engine.model": {"alias": "m"},
    "Engine.loading": {"alias": "m"},
    "Engine.export_models": {"folder": "out"},
    "Engine.backup_model": {"model": "", "target": "m.json"},
    "Engine.import_models": {"paths": "nothing.jsonl"},
    "Engine.roll_back": {"paths": "nothing.jsonl"},
    "Engine.forget_session": {"session_id": "t"},
    "Engine.forget_user": {"user": "nobody"},
    "GoalBook.change": {"action": "set", "text": "Ship it"},
    "DocumentSources.load": {"path": "a.md"},
    "DocumentSources.add": {"name": "a.md", "text": "The walrus is called Ann."},
    "DocumentSources.drop": {"path": "a.md"},
    "Memories.search": {"asked": MemoryQuery("hello"), "now": NOW},
    "Memories.listed": {"asked": MemoryQuery(), "now": NOW},
    "Memories.add": {"added": NewMemory("The walrus is called Ann."), "now": NOW},
    "Memories.forget": {"memory_id": "f-abcde23456"},
    "Memories.relevant": {"text": "hello", "limit": 3, "now": NOW},
    "ReportingJournal.append": {"entry": JournalEntry(NOW, "Shipped it.")},
    "ReportingJournal.of_day": {"day": "2026-11-23"},
    "ReportingJournal.latest": {},
}
# What ends an engine, what watches devices, and what others of ours ask.
PASSED = {"Engine.close", "Engine.watch_memory", "Memories.hidden", "Memories.find", "DocumentSources.of"}
SETTINGS = {"window": {"default": 1_000_000}, "memory": {"write": True}, "goals": {"tool": True}}


def opened(place: str) -> tuple[squidbot.Engine, squidbot.Session]:
    """Return an engine over a file, or (place "") in memory, and a session of it."""
    settings: Mapping[str, object] = {**SETTINGS, **({"store": {"path": place}} if place else {})}
    engine = squidbot.load(settings)
    return engine, engine.session("s")


def methods(
    engine: squidbot.Engine, session: squidbot.Session, folder: Path
) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield what is public of an engine, of a session, and of what these give, by class and name."""
    yield "load", squidbot.load
    yield "history_tool", squidbot.history_tool
    yield "memory_tool", squidbot.memory_tool
    yield "Session.mode", lambda name: setattr(session, "mode", name)
    journal = squidbot.load({"journal": {"enabled": True, "folder": str(folder / "journal")}}).journal()
    for thing in (session, engine, session.goals, session.context, engine.memories(squidbot.Scope(user="u")), journal):
        kind = type(thing)
        for name in vars(kind):
            attribute = getattr(kind, name)
            if iscoroutinefunction(attribute):  # each calls the method of its name
                continue
            if not name.startswith("_") and callable(attribute) and f"{kind.__name__}.{name}" not in PASSED:
                yield f"{kind.__name__}.{name}", getattr(thing, name)


def called(act: Callable[..., Any], given: Mapping[str, object]) -> None:
    """Call a method by the names of its parameters."""
    placed, named = [], {}
    for parameter in signature(act).parameters.values():
        if parameter.name in given:
            if parameter.kind is Parameter.VAR_POSITIONAL:
                placed.append(given[parameter.name])
            elif parameter.kind is Parameter.KEYWORD_ONLY:
                named[parameter.name] = given[parameter.name]
            elif len(placed) < 2 and not named:
                placed.append(given[parameter.name])
            else:
                named[parameter.name] = given[parameter.name]
    act(*placed, **named)


@pytest.mark.parametrize("in_a_file", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_no_misuse_raises_what_is_not_ours_or_harms_a_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, in_a_file: bool
) -> None:
    """The session answers afterwards, in this process and the next; all that went wrong is listed."""
    monkeypatch.chdir(tmp_path)
    place = str(tmp_path / "s.db") if in_a_file else ""
    engine, session = opened(place)
    session.record({"role": "user", "content": "Hello"}, "Hello!", now=NOW)
    raw: list[str] = []
    for name, act in methods(engine, session, tmp_path):
        right = {key: session if value is None else value for key, value in RIGHT.get(name, {}).items()}
        for parameter in signature(act).parameters:
            for wrong in WRONG:
                try:
                    called(act, {**right, parameter: wrong})
                except squidbot.SquidbotError as error:
                    raw += [] if str(error).strip() else [f"{name}({parameter}={wrong!a:.40}) says nothing"]
                except Exception as error:  # noqa: BLE001  # that is what is looked for
                    raw.append(f"{name}({parameter}={wrong!a:.40}): {type(error).__name__}: {error}"[:200])
        if harm := harmed(session):
            raw.append(f"{name} has harmed the session: {harm}")
    engine.close()
    if in_a_file:
        engine, session = opened(place)
        raw += [f"in the next process: {harm}" for harm in [harmed(session)] if harm]
        engine.close()
    assert not raw, "\n".join(raw)


@pytest.mark.parametrize(
    "plugin",
    [
        "plugins.host.HostRuntime",
        "plugins.langchain.Squidbot",
        "plugins.openai_agents.Squidbot",
        "plugins.pydantic_ai.Squidbot",
    ],
)
def test_no_misuse_of_a_plugin_raises_what_is_not_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plugin: str
) -> None:
    """What is wrong is found where a program makes it, and what is taken answers."""
    monkeypatch.chdir(tmp_path)
    module, _, kind = plugin.rpartition(".")
    make = getattr(pytest.importorskip(f"squidbot.{module}", exc_type=ImportError), kind)
    right = {"host": "t", "form": "openai.chat", "store": None} if kind == "HostRuntime" else {}
    raw: list[str] = []
    for parameter in signature(make).parameters:
        for wrong in WRONG:
            try:
                made = make(**{**right, parameter: wrong})
                hosted = getattr(made, "hosted", made)
                hosted.open()
                hosted.conversation("s")
                hosted.close()
            except squidbot.SquidbotError as error:
                raw += [] if str(error).strip() else [f"{parameter}={wrong!a:.40} says nothing"]
            except Exception as error:  # noqa: BLE001  # that is what is looked for
                raw.append(f"{parameter}={wrong!a:.40}: {type(error).__name__}: {error}"[:200])
    assert not raw, "\n".join(raw)
    made_files = [path.name for path in tmp_path.iterdir()]
    assert all(name.startswith(("m3", "1790000000", "2026-11-23T")) for name in made_files), (
        "no file is called None or []"
    )


def harmed(session: squidbot.Session) -> str:
    """Return what a session raises where it should answer."""
    try:
        session.record(session.assemble("And now?", now=NOW).incoming, "Yes.", now=NOW)
        session.search("hello", now=NOW)
        with suppress(squidbot.NotFoundError):
            session.undo()
    except Exception as error:  # noqa: BLE001  # as above
        return f"{type(error).__name__}: {error}"[:300]
    return ""


def test_ids_are_taken_as_they_are_shown() -> None:
    """A number, or the id; one that is none, or of no message, is refused before anything is written."""
    session = squidbot.load({}).session("s")
    session.record("Hello", "Hello!", "And?", now=NOW)
    session.pin("m2")
    session.pin(1)
    head = session.wired.store.head("s")
    for wrong, text in (
        (None, "not None"),
        ("m3-m5", "not 'm3-m5'"),
        (2.5, "not 2.5"),
    ):
        with pytest.raises(squidbot.ArgumentError, match=f"^seq must be a message.*, {text}$"):
            session.pin(wrong)  # type: ignore[arg-type]
    with pytest.raises(squidbot.NotFoundError, match=r"^m3 is no message of 's': there are m0 to m2; nothing was pin"):
        session.pin("m3")
    assert session.wired.store.head("s") == head
    assert session.forget("m0").asked == (0,)


@pytest.mark.parametrize(
    "now", ["2026-11-23", math.nan, -1, 1e300, Decimal(1), dt.datetime(2026, 11, 23, tzinfo=dt.UTC)]
)
def test_a_time_that_is_none_is_not_stored(now: float) -> None:
    """In memory as in a file."""
    session = squidbot.load({}).session("s")
    with pytest.raises(squidbot.ArgumentError, match=r"^now must be seconds since 1970, such as time\.time"):
        session.record("Hello", now=now)
    assert session.wired.store.head("s") == (0, 0)


def test_milliseconds_are_called_so() -> None:
    """The error says what to look for; it is what Python itself would raise, too."""
    with pytest.raises(squidbot.ArgumentError, match="did you pass milliseconds") as caught:
        squidbot.load({}).session("s").assemble("Hello", now=NOW * 1_000)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, TypeError)
