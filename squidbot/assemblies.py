"""What a host hands over for one model call, as messages, and what it gets, in its own form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from squidbot.codecs.jsontext import dumped
from squidbot.codecs.usage import read_usage
from squidbot.core.messages import Message, StoredMessage, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from squidbot.core.plan import PlanRecord
    from squidbot.core.ports import Codec
    from squidbot.core.prompts.building import SystemPrompt
    from squidbot.core.view.assembly import Assembly as CoreAssembly
    from squidbot.core.view.assembly import Report

__all__ = ["Assembly", "Reported", "Said", "reported_by", "spoken", "unstored"]


class ToDict(Protocol):
    """An object of a provider's SDK: it says of itself what the provider said."""

    def to_dict(self) -> Mapping[str, object]:
        """Return that."""


class ModelDump(Protocol):
    """An object of pydantic's, or one like it."""

    def model_dump(self) -> Mapping[str, object]:
        """Return its fields."""


# What a provider reports: as its own object, a dict, or ours.
Reported: TypeAlias = "Usage | Mapping[str, object] | ToDict | ModelDump | None"
# What a host may hand over as one message or several: a text, a message in its own form, as a dict or as its SDK's
# object, one of ours, or a list.
Said: TypeAlias = "str | Mapping[str, object] | Message | StoredMessage | ToDict | ModelDump | Iterable[Said]"


def spoken(
    said: Iterable[Said], role: str, codec: Codec, marked: Callable[[Message], Message], sender: str = ""
) -> Iterator[Message | StoredMessage]:
    """Yield what a host hands over as messages, in order; a bare text has that role, `marked` is asked of new ones.

    `sender` is who says the user's; "": each message says so itself, or none does.

    Raises:
        ValueError: something is not a message of the codec's form.
    """
    for one in _flat(said):
        if isinstance(one, StoredMessage):
            yield one
        elif isinstance(one, Message):
            yield marked(_from(_readable(one), sender))
        else:
            made = codec.to_message({"role": role, "content": one} if isinstance(one, str) else one)
            yield marked(_from(made, sender))


def unstored(messages: Iterable[Message | StoredMessage], codecs: Mapping[str, Codec]) -> Iterator[Message]:
    """Yield messages as they were before they were stored, with their times."""
    for message in messages:
        if isinstance(message, Message):
            yield message
        else:
            yield replace(codecs[message.codec].decode(message.payload), time=message.time, sender=message.sender)


def _readable(message: Message) -> Message:
    """Return a message that a host has made itself, whose payload is JSON: what can't be sent is not stored either."""
    json.loads(message.payload)
    return message


def _from(message: Message, sender: str) -> Message:
    return replace(message, sender=sender) if sender and message.role == "user" else message


def _flat(said: Iterable[Said]) -> Iterator[str | Mapping[str, object] | Message | StoredMessage]:
    """Return what a host hands over one by one, in order.

    Raises:
        ValueError: something is no message, nor a list of such.
    """
    for one in said:
        if isinstance(one, (str, Mapping, Message, StoredMessage)):
            yield one
        elif (told := dumped(one)) is not None:
            yield told
        elif isinstance(one, Iterable) and not isinstance(one, (bytes, bytearray)):
            yield from _flat(one)
        else:
            what = "a text, a dict, an object with to_dict() or model_dump(), or a list of these"
            raise ValueError(f"a message is {what}, not {type(one).__name__}")


def reported_by(usage: Reported) -> Usage | None:
    """Return what a provider reported; None where it did not, or in a form that is not known."""
    if usage is None or isinstance(usage, Usage):
        return usage
    return read_usage(dict(usage) if isinstance(usage, Mapping) else dumped(usage))


@dataclass(frozen=True)
class Assembly:
    """What to send for one model call. `core` is the engine's own value, with all there is to know.

    `prompt` is the text of the session's mode in it, behind the host's system text; None where it is in none.
    """

    core: CoreAssembly
    prompt: SystemPrompt | None = None

    @cached_property
    def messages(self) -> list[Any]:
        """The request in the host's own form, dicts, oldest first; tools are the host's to send beside it.

        They are typed as what any SDK calls its messages.
        """
        return [message for one in self._sent for message in one]

    def read(self, loads: Callable[[str], object], without: Collection[int] = ()) -> list[dict[str, object]]:
        """Return the messages of the request's parts, each payload as `loads` reads it; not of those at some places.

        A reader that knows payloads again has most of them read already: from one request to the next few are new.
        """
        payloads = self.core.payloads
        return [
            message
            for place, payload in enumerate(payloads)
            if place not in without
            for message in _each(loads(payload))
        ]

    @property
    def stable(self) -> tuple[int, ...]:
        """How many of the messages, from the first, stay longest as they are: where a prompt cache is worth keeping."""
        ends = [0, *accumulate(map(len, self._sent))]
        return tuple(ends[count] for count in self.core.stable)

    @cached_property
    def _sent(self) -> list[list[dict[str, object]]]:
        """The messages that each part of the request is sent as."""
        return [_each(json.loads(payload)) for payload in self.core.payloads]

    @property
    def incoming(self) -> tuple[StoredMessage, ...]:
        """The messages that came with this call, for `record`."""
        return self.core.incoming

    @property
    def report(self) -> Report:
        """What the request costs, and what became of every message of the transcript."""
        return self.core.report

    @property
    def max_output_tokens(self) -> int:
        """The room for the answer: what to ask the model for at most."""
        return self.core.max_output_tokens

    @property
    def event(self) -> PlanRecord | None:
        """The new plan, where this call has changed what is sent of the past; None where it only added at the end."""
        return self.core.event

    def __str__(self) -> str:
        report = self.core.report
        used = report.usage
        count = len(self.messages)
        spent = f"{count} message{'s' * (count != 1)}, {used.current_tokens:,} of {used.max_tokens:,} tokens"
        said = [f"{_range(span.first_seq, span.last_seq)} {span.summary_id or span.how}" for span in report.spans]
        return "; ".join([f"{spent} ({report.certificate})", *said])


def _each(read: Any) -> list[dict[str, object]]:  # noqa: ANN401  # what JSON text holds
    """Return the messages of a payload: one, or several where one of another form answered several calls."""
    return read if isinstance(read, list) else [read]


def _range(first: int, last: int) -> str:
    return f"m{first}" if first == last else f"m{first}-m{last}"
