"""Plugins for the toy agent that each break one promise, and the point of the check that finds it."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from examples.own_agent.plugin import FORGETS, OwnTool
from examples.own_agent.plugin import Squidbot as ToySquid
from squidbot.plugins.host import is_too_long

from .toy_program import HOST, Program, host_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from squidbot.plugins.host import HostConversation
    from squidbot.testing.hosts import HostDriver

    Message = dict[str, Any]


class DropsAResult(ToySquid):
    """Leaves the last result of calls at once out."""

    async def before(self, conversation_id: str, listed: list[Message], schemas: list[Message]) -> list[Message]:
        """Drop it."""
        made = await super().before(conversation_id, listed, schemas)
        is_many = len(made) > 1 and made[-1]["role"] == made[-2]["role"] == "tool"
        return made[:-1] if is_many else made


class RewritesHistory(ToySquid):
    """Puts into the first message how long the list is."""

    async def before(self, conversation_id: str, listed: list[Message], schemas: list[Message]) -> list[Message]:
        """Rewrite it."""
        made = await super().before(conversation_id, listed, schemas)
        return [{**made[0], "content": f"{made[0]['content']} [{len(listed)}]"}, *made[1:]]


class StoresLate(ToySquid):
    """Records what is said behind the reply."""

    async def before(self, conversation_id: str, listed: list[Message], schemas: list[Message]) -> list[Message]:
        """Record nothing."""
        del conversation_id
        self.late = listed, schemas
        return listed

    async def after(self, conversation_id: str, reply: Message, usage: Mapping[str, int]) -> None:
        """Record all."""
        listed, schemas = self.late
        await super().before(conversation_id, [each for each in listed if each is not reply], schemas)
        await super().after(conversation_id, reply, usage)


class Raises(ToySquid):
    """Lets its failures out."""

    async def before(self, conversation_id: str, listed: list[Message], schemas: list[Message]) -> list[Message]:
        """Raise."""
        return list(self.talk(conversation_id).before(listed, tools=schemas).messages)


class AsksUnsafely(ToySquid):
    """Lets the failure out of a function that it has imported."""

    async def shorter(self, conversation_id: str) -> list[Message] | None:
        """Ask it."""
        return await super().shorter(conversation_id) if is_too_long(ValueError("prompt is too long")) else None


class SwallowsSilently(ToySquid):
    """Says nothing of its failures."""

    async def before(self, conversation_id: str, listed: list[Message], schemas: list[Message]) -> list[Message]:
        """Be silent."""
        try:
            return list(self.talk(conversation_id).before(listed, tools=schemas).messages)
        except Exception:  # noqa: BLE001  # this is the fault
            return listed


class ForgetsTheList(ToySquid):
    """Sends the last message alone where it fails."""

    async def before(self, conversation_id: str, listed: list[Message], schemas: list[Message]) -> list[Message]:
        """Send it."""

        def act() -> list[Message]:
            return list(self.talk(conversation_id).before(listed, tools=schemas).messages)

        return self.hosted.safely("a request", conversation_id, act, listed[-1:])


class SaysItEachTime(ToySquid):
    """Logs each failure anew."""

    async def before(self, conversation_id: str, listed: list[Message], schemas: list[Message]) -> list[Message]:
        """Log it."""
        self.hosted._warned.clear()
        return await super().before(conversation_id, listed, schemas)


class MixesConversations(ToySquid):
    """Keeps all of them as one."""

    def talk(self, conversation_id: str) -> HostConversation:
        """Return the one."""
        del conversation_id
        return super().talk("all")


async def _elsewhere(tool: OwnTool, _: str, arguments: Mapping[str, Any]) -> str:
    return await OwnTool.call(tool, "chat-0", arguments)


class MixesSearches(ToySquid):
    """Keeps them apart, and searches in the one that was used last."""

    async def before(self, conversation_id: str, listed: list[Message], schemas: list[Message]) -> list[Message]:
        """Have the tools forget whose they are."""
        for each in self.tools:
            each.call = partial(_elsewhere, each)  # type: ignore[method-assign]  # as below
        return await super().before(conversation_id, listed, schemas)


class SendsAll(ToySquid):
    """Records, and bounds nothing."""

    async def before(self, conversation_id: str, listed: list[Message], schemas: list[Message]) -> list[Message]:
        """Send all."""
        await super().before(conversation_id, listed, schemas)
        return listed


class NeverShorter(ToySquid):
    """Gives up where a request is refused."""

    async def shorter(self, conversation_id: str) -> list[Message] | None:
        """Give up."""
        del conversation_id
        return None


class ShorterByTheStep(ToySquid):
    """Makes a request shorter by what was asked last."""

    async def shorter(self, conversation_id: str) -> list[Message] | None:
        """Cut it."""
        return [{"role": "user", "content": "?"}] if await super().shorter(conversation_id) else None


class RecordsTheAttempt(ToySquid):
    """Records a request again that is made again."""

    async def shorter(self, conversation_id: str) -> list[Message] | None:
        """Record it."""
        made = await super().shorter(conversation_id)
        if made:
            self.talk(conversation_id).session.record({"role": "user", "content": "Once more."})
        return made


class EditsTheList(ToySquid):
    """Has the host keep what fits."""

    async def before(self, conversation_id: str, listed: list[Message], schemas: list[Message]) -> list[Message]:
        """Edit it."""
        listed[:] = await super().before(conversation_id, listed, schemas)
        return listed


class StripsReasoning(ToySquid):
    """Sends nothing of what a model has thought."""

    async def before(self, conversation_id: str, listed: list[Message], schemas: list[Message]) -> list[Message]:
        """Strip it."""
        made = await super().before(conversation_id, listed, schemas)
        return [{key: value for key, value in each.items() if key != "reasoning_details"} for each in made]


class IgnoresUsage(ToySquid):
    """Believes in its own counts alone."""

    async def after(self, conversation_id: str, reply: Message, usage: Mapping[str, int]) -> None:
        """Ignore it."""
        del usage
        await super().after(conversation_id, reply, {})


class TakesCachedTokensOff(ToySquid):
    """Takes what was read from a cache for nothing."""

    async def after(self, conversation_id: str, reply: Message, usage: Mapping[str, int]) -> None:
        """Take it off."""
        used = {**usage, "in": usage["in"] - usage["cached"], "cached": 0} if usage else usage
        await super().after(conversation_id, reply, used)


class KeepsNoPartial(ToySquid):
    """Takes a partial answer for a whole one."""

    async def after(self, conversation_id: str, reply: Message, usage: Mapping[str, int]) -> None:
        """Take it."""
        await super().after(
            conversation_id, {key: value for key, value in reply.items() if key != "finish_reason"}, usage
        )


class RecordsFailures(ToySquid):
    """Makes a failure content."""

    async def before(self, conversation_id: str, listed: list[Message], schemas: list[Message]) -> list[Message]:
        """Expect one."""
        made = await super().before(conversation_id, listed, schemas)
        if listed[-1]["content"] == "What now?":
            self.talk(conversation_id).session.record({"role": "assistant", "content": "Error: fake"})
        return made


class FindsNothing(ToySquid):
    """Has tools that answer nothing."""

    def talk(self, conversation_id: str) -> HostConversation:
        """Break them."""
        for each in self.tools:
            each.hosted = None  # type: ignore[assignment]  # this is the fault
        return super().talk(conversation_id)


class HoldsOnTheServer(ToySquid):
    """Lets a switch pass."""

    def started(self, conversation_id: str, *, keeps: int | None = None, **switches: object) -> None:
        """Let it."""
        del switches
        super().started(conversation_id, keeps=keeps)


class IsSilent(ToySquid):
    """Says nothing of what keeps it from its work."""

    def started(self, conversation_id: str, *, keeps: int | None = None, **switches: object) -> None:
        """Say nothing."""
        del conversation_id, keeps
        super().started("any", thread=switches.get("thread"))


class IsNoisy(ToySquid):
    """Says it twice."""

    def started(self, conversation_id: str, *, keeps: int | None = None, **switches: object) -> None:
        """Say it."""
        super().started(conversation_id, keeps=keeps, **switches)
        if keeps:
            logging.getLogger("squidbot").warning("%s", FORGETS.format(keeps))


class Doubles(ToySquid):
    """Records a reply twice."""

    async def after(self, conversation_id: str, reply: Message, usage: Mapping[str, int]) -> None:
        """Record it, and again."""
        await super().after(conversation_id, reply, usage)
        if reply:
            self.talk(conversation_id).session.record(reply)


class BeginsAnew(ToySquid):
    """Sends of a conversation what this process knows."""

    async def before(self, conversation_id: str, listed: list[Message], schemas: list[Message]) -> list[Message]:
        """Know no other."""
        made = await super().before(conversation_id, listed, schemas)
        return listed if len(listed) < 2 < len(made) else made


class BypassesAwaited(Program):
    """Asks squidbot where the host waits, and not where it is awaited."""

    async def arun(self, text: str, conversation_id: str) -> str:
        """Ask nobody."""
        plugin, self.agent.plugin = self.agent.plugin, None
        try:
            return await super().arun(text, conversation_id)
        finally:
            self.agent.plugin = plugin


LATE: Final = host_of(StoresLate, "tests.testing.toy_mutants:LATE")
ANEW: Final = host_of(BeginsAnew, "tests.testing.toy_mutants:ANEW")
TWICE: Final = host_of(Doubles, "tests.testing.toy_mutants:TWICE")
ALL: Final = host_of(SendsAll, "tests.testing.toy_mutants:ALL")
REWRITTEN: Final = host_of(RewritesHistory, "tests.testing.toy_mutants:REWRITTEN")
NONE: Final = ""


def _found(squid: type[ToySquid], *points: str) -> list[tuple[HostDriver, str]]:
    return [(host_of(squid, NONE), point) for point in points]


# Each mutant, and a point that finds it.
MUTANTS: Final[list[tuple[HostDriver, str]]] = [
    (LATE, "C1 restart"),
    (ANEW, "C1 restart"),
    (TWICE, "C1 restart"),
    *_found(SendsAll, "C2 budget", "C15 usage"),
    *_found(DropsAResult, "C2 budget", "C3 pairs"),
    *_found(RewritesHistory, "C4 append-only"),
    *_found(FindsNothing, "C5 recall"),
    *_found(KeepsNoPartial, "C6 stream"),
    *_found(StoresLate, "C6 stream", "C9 failed or cancelled run"),
    (replace(HOST, make=BypassesAwaited), "C7 sync and async"),
    *_found(Raises, "C8 fail open"),
    (replace(host_of(AsksUnsafely, NONE), plugin=__name__), "C8 fail open"),
    *_found(SwallowsSilently, "C8 fail open"),
    *_found(ForgetsTheList, "C8 fail open"),
    *_found(SaysItEachTime, "C8 fail open"),
    *_found(RecordsFailures, "C9 failed or cancelled run"),
    *_found(MixesConversations, "C10 isolation"),
    *_found(MixesSearches, "C10 isolation"),
    *_found(HoldsOnTheServer, "C11 server-held state"),
    *_found(EditsTheList, "C12 non-destructive"),
    *_found(NeverShorter, "C13 overflow"),
    *_found(ShorterByTheStep, "C13 overflow"),
    *_found(RecordsTheAttempt, "C13 overflow"),
    *_found(StripsReasoning, "C14 reasoning"),
    *_found(IgnoresUsage, "C15 usage"),
    *_found(TakesCachedTokensOff, "C15 usage"),
    *_found(IsSilent, "C16 rivals", "C17 inactive is loud"),
    *_found(IsNoisy, "C16 rivals"),
    (ALL, "300 steps"),
    (REWRITTEN, "300 steps"),
    (replace(HOST, extra="another"), "C18 hygiene"),
    (replace(HOST, package="squidbot"), "C18 hygiene"),
]
