"""What a host's fake model asks: it hears every request, holds it to the rules, and says what a script says."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from squidbot.core.messages import Usage
from squidbot.testing.hosts.rules import faults_of
from squidbot.testing.hosts.values import TOKEN_BYTES, Call, Heard, Request, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Script = Callable[[Heard], Step | None]

__all__ = ["FACT", "FILLER", "LONG", "SAID", "Model", "broken_off"]

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
        plans: counts the view plans on record when a request is heard; `planned` has the counts, one a request.
    """

    def __init__(self, budget: int | None, search: str = "memory_search") -> None:
        """Nothing was heard yet."""
        self.budget, self.search = budget, search
        self.script: Script = lambda _heard: None
        self.looks: Callable[[int], str] = lambda at: f"result {at} of a look at the shelf"
        self.plans: Callable[[], int] = lambda: 0
        self.requests: list[Request] = []
        self.planned: list[int] = []
        self.faults: list[str] = []
        self.waiting = threading.Event()
        self._lock = threading.Lock()

    def hear(self, request: Request) -> Step:
        """Return what to reply to a request."""
        with self._lock:
            self.requests.append(request)
            self.planned.append(self.plans())
            number = len(self.requests)
            self.faults += [f"request {number}: {fault}" for fault in faults_of(request, self.budget)]
        last = request.messages[-1] if request.messages else None
        results: list[str] = []
        for each in reversed(request.messages):
            if not each.result_ids:
                break
            results.insert(0, each.text)
        text = last.text if last is not None and last.role == "user" and not last.result_ids else ""
        heard = Heard(text, tuple(results), number, request)
        step = self.script(heard) or self.usual(heard)
        return step if step.usage else replace(step, usage=Usage(request.tokens, len(step.text) // TOKEN_BYTES))

    def usual(self, heard: Heard) -> Step:
        """Return what is replied where no script says more: a search for what stands behind RECALL, or of sorting."""
        if heard.results:
            return Step("It says: " + " ".join(heard.results))
        if "RECALL" in heard.text:
            asked = heard.text.partition("RECALL")[2].strip(" .")
            return Step(calls=(Call(self.search, {"query": asked}, f"call-r{heard.number}"),))
        return Step(SAID)

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
