"""How a message enters the transcript: counted once, assigned to a turn, oversized output cut before its first send."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.messages import Category, Labels, StoredMessage, labelled
from squidbot.core.view.marks import answers, copies
from squidbot.core.view.renderer import Renderer, extra_of, slim, slim_arguments, with_marked
from squidbot.core.view.steps import categorized, is_output, opens_turn, speaks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.core.messages import Message
    from squidbot.core.ports import Codec
    from squidbot.core.settings import HistorySettings
    from squidbot.core.tokens.counters import Meter
    from squidbot.core.view.current import CurrentView


# A shorter cut would hold nothing but its own marker.
LEAST_TOKENS = 48


class MessagePlace(NamedTuple):
    """The place of the next message.

    Its seq, its turn, the cost of its step so far as a bound, and whether only system text precedes it.
    """

    seq: int
    turn: int
    step_tokens: int = 0
    opens: bool = False


class FrozenText(NamedTuple):
    """What is frozen around a message on arrival: the notice behind it, or `None`; its label, "" for its own."""

    notice: str | None = None
    label: str = ""


UNFROZEN = FrozenText()


class ArrivalLimits(NamedTuple):
    """Makes stored messages.

    A tool output above `output_tokens`, or a step of the assistant with its outputs above `step_tokens`, is cut: what
    is never sent breaks no cache; and so is what a program wrote in the user's role. A user's own text is never cut.
    `labels` names the speakers; `None`: no message is labelled.
    """

    meter: Meter
    codecs: Mapping[str, Codec]
    output_tokens: int
    step_tokens: int
    labels: Labels | None = None

    def stored(
        self, message: Message, place: MessagePlace, frozen: FrozenText = UNFROZEN, now: float | None = None
    ) -> StoredMessage:
        """Return the message as it is stored at `place`, with what is frozen around it.

        `now`, in seconds since 1970, is used if the message has no time.
        """
        extra = extra_of(message, self.codecs[message.codec])
        label = frozen.label or self._label(message)
        cost = self.meter.said(message, extra)
        sent = self.meter.said(message, extra, text=labelled(label, message.text)) if label else cost
        stored = StoredMessage(
            seq=place.seq,
            turn=place.turn,
            role=message.role,
            category=message.category,
            codec=message.codec,
            payload=message.payload,
            call_ids=tuple(call.id for call in message.calls),
            result_ids=message.results,
            cost=cost,
            sent_cost=sent,
            counter=self.meter.name,
            time=now if message.time is None else message.time,
            sender=message.sender,
            label=label,
        )
        if frozen.notice is not None and opens_turn(stored):
            return Renderer(self.meter, self.codecs).noticed(stored, frozen.notice, extra)
        if is_output(stored):
            room = max(LEAST_TOKENS, min(self.output_tokens, (self.step_tokens - place.step_tokens) * 2 // 3))
            return self._cut_output(message, stored, room, extra)
        if message.role == "assistant" and cost.bound > self.step_tokens:
            return self._cut_reply(message, stored, self.step_tokens, extra)
        return stored

    def _label(self, message: Message) -> str:
        return self.labels.label(message) if self.labels else ""

    def _cut_output(self, message: Message, stored: StoredMessage, room_tokens: int, extra: int) -> StoredMessage:
        if stored.cost.bound - extra <= room_tokens:
            return stored
        text = slim(message.text, room_tokens, self.meter, f"m{stored.seq}")
        if text == message.text:
            return stored
        return replace(stored, sent_text=text, sent_cost=self.meter.said(message, extra, text=text))

    def _cut_reply(self, message: Message, stored: StoredMessage, room_tokens: int, extra: int) -> StoredMessage:
        handle = f"m{stored.seq}"
        share = max(LEAST_TOKENS, room_tokens // (len(message.calls) + 1))
        text = with_marked(slim(message.text, share, self.meter, handle), message.text)
        given = tuple(call.arguments for call in message.calls)
        cut = tuple(slim_arguments(one, share, self.meter, handle) for one in given)
        if (text, cut) == (message.text, given):
            return stored
        return replace(
            stored,
            sent_text=text if text != message.text else None,
            sent_arguments=cut if cut != given else None,
            sent_cost=self.meter.said(message, extra, text=labelled(stored.label, text), arguments=cut),
        )


class _OpenStep(NamedTuple):
    """The step that the next tool result may belong to.

    Attributes:
        made: the message whose calls are being answered, or `None`.
        missing: the ids of its unanswered calls.
        tokens: what must be sent together with the next result, as a bound.
    """

    made: StoredMessage | None = None
    missing: frozenset[str] = frozenset()
    tokens: int = 0

    def awaits(self, results: Sequence[str]) -> bool:
        """Return whether a message with these results belongs to the step (`steps.steps_of`)."""
        return bool(results) and self.missing.issuperset(results)

    def behind(self, row: StoredMessage) -> _OpenStep:
        """Return the step after a message; a result that it does not await closes it, and adds to what is sent."""
        cost = row.sent_cost.bound
        if not row.result_ids:
            return _OpenStep(row, frozenset(row.call_ids), cost)
        left = self.missing.difference(row.result_ids) if self.awaits(row.result_ids) else frozenset[str]()
        return self._replace(missing=left, tokens=self.tokens + cost)


NO_STEP = _OpenStep()


class ArrivalTruncation(NamedTuple):
    """Places messages behind the view, each with its seq and turn.

    `by_words`: words in a system text decide what it is for (`steps.categorized`).
    """

    limits: ArrivalLimits
    by_words: bool = False

    @classmethod
    def within(
        cls, renderer: Renderer, settings: HistorySettings, input_tokens: int, stored: CurrentView
    ) -> ArrivalTruncation:
        """Return the truncation of messages if lead and history may cost `input_tokens`, as a bound.

        The newest user message is sent whole; outputs share the rest, but at least a fifth.
        """
        room = max(1, input_tokens - sum(part.cost.bound for part in stored.lead))
        left = max(room // 5, room - stored.in_flight.bound)
        output, step = round(settings.output_fraction * left), round(settings.step_fraction * left)
        limits = ArrivalLimits(
            renderer.meter, renderer.codecs, max(LEAST_TOKENS, output), max(LEAST_TOKENS, step), settings.labels
        )
        return cls(limits, settings.categories_by_words)

    def placed(
        self,
        messages: Sequence[Message | StoredMessage],
        stored: CurrentView,
        now: float | None,
        notice: str | None = None,
    ) -> tuple[StoredMessage, ...]:
        """Return the messages as stored behind `stored`, the notice behind the newest of the user's.

        Messages that were placed before stay as they are, unless other messages have taken their place since.

        A result shares its step's room with what no compaction can remove: the step that it answers, and the messages
        of the same call. So retrying a call with a compaction truncates the same.
        """
        newest = max((place for place, one in enumerate(messages) if speaks(one)), default=-1)
        rows: list[StoredMessage] = []
        step = _step(stored.tail.steps[-1].messages if stored.tail.steps else ())
        turn = stored.turn
        for number, given in enumerate(messages):
            seq = stored.messages + number
            turn = _turn(given, seq, turn)
            if not rows and not step.awaits(_results(given)):
                step = NO_STEP
            told = notice if number == newest else None
            place = MessagePlace(seq, turn, step.tokens, opens=seq <= len(stored.lead) and _opens(rows))
            row = self._kept(given, seq) or self._made(given, place, step, told, now)
            rows.append(row)
            step = step.behind(row)
        return tuple(rows)

    def noticed(
        self, messages: Sequence[Message], placed: Sequence[StoredMessage], notice: str
    ) -> tuple[StoredMessage, ...] | None:
        """Return what `placed` made of these messages with another notice, without counting them again.

        Return `None` if that is impossible: the newest message is not the user's, or it was placed before.
        """
        newest, limits = messages[-1], self.limits
        if isinstance(newest, StoredMessage) or not speaks(newest) or not opens_turn(placed[-1]):
            return None
        renderer = Renderer(limits.meter, limits.codecs)
        return *placed[:-1], renderer.noticed(placed[-1], notice, extra_of(newest, limits.codecs[newest.codec]))

    def _made(
        self,
        given: Message | StoredMessage,
        place: MessagePlace,
        step: _OpenStep,
        notice: str | None,
        now: float | None,
    ) -> StoredMessage:
        """Return a message as it is stored at its place, after a step."""
        message, frozen = self._said(given)
        if step.awaits(message.results) and answers(message.text):
            message = self._recalled(message, step)
        codec = self.limits.codecs[message.codec]
        message = categorized(message, codec, opens=place.opens, by_words=self.by_words)
        return self.limits.stored(message, place, frozen if frozen.notice else frozen._replace(notice=notice), now)

    def _recalled(self, message: Message, step: _OpenStep) -> Message:
        """Return the answer to calls of a step, flagged as recalled if all of them are calls of our tools.

        Its opening mark alone is no proof: a file or a page that a tool shows may open with it, too.
        """
        maker = step.made
        calls = self.limits.codecs[maker.codec].decode(maker.payload).calls if maker else ()
        names = {call.id: call.name for call in calls}
        ours = all(copies(names.get(result, "")) for result in message.results)
        return replace(message, category=Category.RECALLED) if ours else message

    def _kept(self, given: Message | StoredMessage, seq: int) -> StoredMessage | None:
        """Return a message that is already in its place, counted by this counter; else `None`."""
        if not isinstance(given, StoredMessage) or given.seq != seq or given.counter != self.limits.meter.name:
            return None
        return given

    def _said(self, message: Message | StoredMessage) -> tuple[Message, FrozenText]:
        if not isinstance(message, StoredMessage):
            return message, UNFROZEN
        said = self.limits.codecs[message.codec].decode(message.payload)
        said = replace(said, time=message.time, category=message.category, sender=message.sender)
        return said, FrozenText(message.notice, message.label)


def _opens(rows: Sequence[StoredMessage]) -> bool:
    return all(row.role == "system" for row in rows)


def _step(stored: Sequence[StoredMessage]) -> _OpenStep:
    """Return the open step that a step's messages make."""
    step = NO_STEP
    for row in stored:
        step = step.behind(row)
    return step


def _turn(message: Message | StoredMessage, seq: int, turn: int) -> int:
    """Return the seq that opened the turn of the message at `seq`; the message before it is in `turn`."""
    return seq if speaks(message) or not seq else turn


def _results(message: Message | StoredMessage) -> tuple[str, ...]:
    return message.result_ids if isinstance(message, StoredMessage) else message.results
