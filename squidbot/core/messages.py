"""The values that everything else works with: messages, parts of requests, their costs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


#: Who says a message.
Role = Literal["system", "user", "assistant", "tool"]


class Category(StrEnum):
    """What a message is for. The kind of message decides it; in the user's role, so does the form of the text.

    AUTOMATED are messages in the user's role that a program wrote: a notification, the output of a command.
    RECALLED are messages that `history` brought back: copies, so notes and searches skip them.
    FORGOTTEN are tombstones: their content was removed on request.
    """

    SYSTEM = "system"
    CONTEXT = "context"
    DIALOG = "dialog"
    SYSTEM_OUTPUT = "system_output"
    ERROR = "error"
    INTERNAL = "internal"
    UNKNOWN = "unknown"
    AUTOMATED = "automated"
    RECALLED = "recalled"
    FORGOTTEN = "forgotten"


# Left out when a person views a conversation, unless they ask for it.
BEHIND_SCENES = frozenset({Category.SYSTEM, Category.CONTEXT, Category.SYSTEM_OUTPUT, Category.AUTOMATED})


class Cost(NamedTuple):
    """The size of a text in tokens.

    Attributes:
        estimate: the best estimate.
        bound: a number that is never below the model's own count.
    """

    estimate: int
    bound: int

    def plus(self, other: Cost) -> Cost:
        """Return the sum of both costs, in tokens."""
        return Cost(self.estimate + other.estimate, self.bound + other.bound)

    def less(self, other: Cost) -> Cost:
        """Return the difference to `other`, in tokens; at least 0."""
        return Cost(max(0, self.estimate - other.estimate), max(0, self.bound - other.bound))


class ToolCall(NamedTuple):
    """One call of a tool.

    Attributes:
        id: the provider's id of the call.
        name: the tool's name.
        arguments: the arguments, as the original string.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message in a host's form, with the index that squidbot works on.

    `payload` is the source of truth. The other fields follow from it.

    Attributes:
        role: who says it.
        text: what the model reads of it, without tool calls.
        payload: the host's own message, as JSON text.
        codec: the form of the payload, such as "openai.chat".
        calls: the tool calls that it makes.
        results: the ids of the calls that it answers.
        category: what it is for.
        time: seconds since 1970; None if unknown.
        sender: the id of its author; "" if unknown.
        extra_tokens: the result of `Codec.extra_tokens`, if the codec has just read the payload; None: ask the codec.
    """

    role: Role
    text: str
    payload: str
    codec: str
    calls: tuple[ToolCall, ...] = ()
    results: tuple[str, ...] = ()
    category: Category = Category.DIALOG
    time: float | None = None
    sender: str = ""
    extra_tokens: int | None = field(default=None, compare=False)

    @property
    def rendered(self) -> str:
        """The text that costs tokens: the message's text, then a line `name arguments` for each tool call."""
        return self.rendered_as(self.text, [call.arguments for call in self.calls])

    def rendered_as(self, text: str, arguments: Sequence[str]) -> str:
        """Return `rendered` with another text and other argument strings, one for each call, in order."""
        calls = zip(self.calls, arguments, strict=True)
        return text + "".join(f"\n{call.name} {given}" for call, given in calls)


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """One row of a transcript: a message's index, its payload, and what was frozen on arrival.

    Attributes:
        seq: position in the session's transcript, from 0, without gaps; nothing else defines the order.
        turn: the seq of the user message that opened its turn; before any user message, the seq of the first message.
        role, category: as in `Message`.
        codec, payload: as in `Message`; the codec reads the text from the payload.
        call_ids: ids of the tool calls it makes, in order.
        result_ids: ids of the tool calls it answers, in order.
        cost: tokens of the original message, template included, by the counter named `counter`.
        counter: the name of the token counter for `cost` and `sent_cost`.
        time: seconds since 1970, `None` if unknown; informative, never used for order.
        sent_text: the text sent instead of one that is too long, cut and frozen on arrival; `None`: the original.
        sent_arguments: the cut argument strings sent instead of longer ones, one for each call, frozen on arrival;
            `None`: the originals.
        notice: volatile text added behind a user message, frozen on arrival; `None` without one.
        sent_cost: tokens of the message when sent raw: `cost`, unless `sent_text`, `notice` or `label` is set.
        sender: as in `Message`.
        label: the line sent before its text that names its channel and speaker; "" for none.
    """

    seq: int
    turn: int
    role: Role
    category: Category
    codec: str
    payload: str
    call_ids: tuple[str, ...]
    result_ids: tuple[str, ...]
    cost: Cost
    sent_cost: Cost
    counter: str
    time: float | None = None
    sent_text: str | None = None
    sent_arguments: tuple[str, ...] | None = None
    notice: str | None = None
    sender: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """A text that represents messages of one session.

    Attributes:
        summary_id: its id.
        session_id: the session.
        first_seq, last_seq: the messages, both ends included.
        level: how detailed it is: "detailed", "moderate", "compact" or "merged".
        text: the summary.
        cost: its tokens by the counter `counter`, template included.
        counter: the name of the token counter.
        source_digest: a hash of its source (texts, level, form of the notes): an equal one needs no new summary.
        made_by: who wrote it.
    """

    summary_id: str
    session_id: str
    first_seq: int
    last_seq: int
    level: str
    text: str
    cost: Cost
    counter: str
    source_digest: str
    made_by: str

    @property
    def by_model(self) -> bool:
        """Whether a language model wrote it: `made_by` is "llm/<name>/<version of its prompts>"."""
        return self.made_by.startswith("llm/")

    @property
    def told_from(self) -> tuple[str, ...]:
        """The ids of the language models' summaries that notes were made from; in `made_by`, each behind a "+"."""
        return () if self.by_model else tuple(self.made_by.split("+")[1:])


class SummaryTask(NamedTuple):
    """A summary to request from a language model: its messages, its room, and its worth.

    Two tasks with one `source_digest` are the same: it hashes the messages' ids and texts, the mode, and the version of
    the prompt.

    Attributes:
        reason: "gap", "size" (a block was closed by a pause, or because it was full), "pressure" (notes by
            rule represent it now), "schedule" or "request" (somebody asked).
        session_id, first_seq, last_seq: the messages, both ends included.
        mode: what to keep above all: "developer", "planning", "assistant" or "debugger".
        source_digest: see above.
        limit_tokens: how long a summary the model is asked for, as a bound; a longer one is taken, too.
        said_tokens: the cost of the messages, without the user's, as a bound.
        saves_tokens: `said_tokens` less `limit_tokens`.
    """

    reason: str
    session_id: str
    first_seq: int
    last_seq: int
    mode: str
    source_digest: str
    limit_tokens: int
    said_tokens: int
    saves_tokens: int


class Completion(NamedTuple):
    """A language model's answer, with the tokens of the call as its provider reports them.

    Attributes:
        text: the answer.
        input_tokens: the tokens of the prompt.
        output_tokens: the tokens of the answer.
    """

    text: str
    input_tokens: int
    output_tokens: int


class Reply(NamedTuple):
    """A language model's next message in a conversation.

    Attributes:
        message: the assistant's message in the model's own form, tool calls included.
        finish: "stop", "tool_calls", or "length" if the answer reached its limit.
        input_tokens, output_tokens: as its provider reports them; `input_tokens` includes cached ones.
        cached_tokens: input tokens read from the prompt cache.
    """

    message: Mapping[str, object]
    finish: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0


class SearchMatch(NamedTuple):
    """A message that matches a query.

    Attributes:
        seq: its place in the transcript.
        score: 0 to 1, higher is better; 0: it has some word, but no rank.
    """

    seq: int
    score: float


class SessionMatch(NamedTuple):
    """A message of one of several sessions that matches a query.

    Attributes:
        session_id: the session.
        seq: its place in the transcript of this session.
        score: as in `SearchMatch`.
    """

    session_id: str
    seq: int
    score: float


class Usage(NamedTuple):
    """The tokens of one model call, as its provider reports them.

    Attributes:
        input_tokens: all input tokens, cached ones included.
        output_tokens: the tokens of the answer.
        cached_tokens: the input tokens that the provider read from its prompt cache.
    """

    input_tokens: int
    output_tokens: int = 0
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """The context window of one session, fixed for the life of the session.

    Its id does not depend on the last three attributes, and windows are equal whatever `detail` and `learned_for` say.

    Attributes:
        window_id: its id.
        window_tokens: input and output together.
        reserved_output_tokens: the room for the answer.
        safety_fraction: the share of the window that the best estimate of a request may fill.
        counter: the name of the token counter.
        model: the model, as the settings call it; "" if unknown.
        source: where the window comes from.
        parameters_billion: the size of the model; None if unknown.
        detail: how the window was derived, in sentences.
        learned_for: the model and the window for which a refusal revealed this smaller one; "" for none.
    """

    window_id: str
    window_tokens: int
    reserved_output_tokens: int
    safety_fraction: float
    counter: str
    model: str = ""
    source: str = "default"
    parameters_billion: float | None = None
    detail: str = field(default="", compare=False)
    learned_for: str = field(default="", compare=False)


class Kind(StrEnum):
    """The kind of a request's part: a message, or made by squidbot and then user-role, fenced, marked as data."""

    SYSTEM = "system"
    MESSAGE = "message"
    SLIMMED = "slimmed"
    AUTOMATED = "automated"
    RECALLED = "recalled"
    FORGOTTEN = "forgotten"
    SUMMARY = "summary"
    PIN = "pin"
    MARKED = "marked"
    MEMORY = "memory"
    NOTICE = "notice"


class Part(NamedTuple):
    """One message of a request.

    Attributes:
        kind: verbatim (system, message, automated, recalled), cut (slimmed) or made by squidbot (the others).
        role: its role for the provider.
        cost: tokens, template included.
        first_seq, last_seq: the messages that it represents; -1 and -1 for none (a memory document).
        payload: the stored payload, if it is one message of the transcript; else `None`.
        codec: the tag of its codec; else `None`.
        text: for a slimmed message the digest that replaces its text; for a made part the whole text;
            `None` for a verbatim one.
        arguments: for a slimmed assistant message the cut argument strings, one for each call; `None`: as stored.
        notice: text frozen behind a user message on arrival; `None` without one.
        label: the line before its text, frozen on arrival; "" without one.
        drop_thinking: whether the codec leaves out reasoning that an earlier plan change invalidated (R4).
        call_ids, result_ids: the tool calls it makes and those it answers.
        summary_id: the summary that it shows, or `None`.
    """

    kind: Kind
    role: Role
    cost: Cost
    first_seq: int = -1
    last_seq: int = -1
    payload: str | None = None
    codec: str | None = None
    text: str | None = None
    arguments: tuple[str, ...] | None = None
    notice: str | None = None
    drop_thinking: bool = False
    call_ids: tuple[str, ...] = ()
    result_ids: tuple[str, ...] = ()
    summary_id: str | None = None
    label: str = ""

    @property
    def is_uncut(self) -> bool:
        """Whether it has its whole content: nothing cut, removed, or added before or behind it."""
        added = self.notice is not None or self.label
        return self.text is None and self.arguments is None and not added and not self.drop_thinking


class Record(NamedTuple):
    """A numbered note beside a transcript: `kind` is "plan", "window", "pin", "request", ...; JSON in `body`.

    `number` counts the records of one kind in one session from 0.
    """

    kind: str
    number: int
    body: str


class Opening(NamedTuple):
    """The start of a session.

    Attributes:
        messages: how many messages there are.
        records: how many records of all kinds there are.
        newest: the newest record of each requested kind; kinds without a record are not in it.
    """

    messages: int
    records: int
    newest: Mapping[str, Record]


@dataclass(frozen=True, slots=True)
class Erasure:
    """What a store does to forget messages: all of it or nothing.

    Attributes:
        expected: (messages, records of all kinds) that the session must have.
        tombstones: rows that replace the stored ones of the same seq.
        replaced: records that replace the stored ones of their kind and number.
        appended: records to add behind the others of their kinds.
        summaries: ids of the summaries to remove with them.
        unnoticed: stored rows with another notice, or none, and their new costs; otherwise unchanged.
    """

    expected: tuple[int, int]
    tombstones: tuple[StoredMessage, ...]
    replaced: tuple[Record, ...] = ()
    appended: tuple[Record, ...] = ()
    summaries: tuple[str, ...] = ()
    unnoticed: tuple[StoredMessage, ...] = ()

    @staticmethod
    def is_unnoticed(stored: StoredMessage, row: StoredMessage) -> bool:
        """Return whether a row differs from the stored one only in its notice and its costs."""
        costs = {"cost": row.cost, "sent_cost": row.sent_cost, "counter": row.counter}
        return replace(stored, notice=row.notice, **costs) == row  # type: ignore[arg-type]  # its own fields


# The author and place of a message, as a line before its text: `[channel / speaker]`.

OWNER, ASSISTANT, UNKNOWN = "owner", "assistant", "unknown"
# The channel whose owner aliases hold in all others, too.
ANYWHERE = "*"
# A name in a label ends before any character that could end it.
_ODD = re.compile(r"[\s\[\]/\x00-\x1f\x7f\u2028\u2029]+")
_RESERVED = frozenset({OWNER, ASSISTANT, UNKNOWN})
MOST_CHARS = 64


class Labels(NamedTuple):
    """The inputs for labels on messages of one session.

    Attributes:
        channel: where the messages are written; "" if unknown.
        user: the speaker if a message names nobody; "" if unknown.
        owners: the ids by which the owner is known there.
    """

    channel: str = ""
    user: str = ""
    owners: frozenset[str] = frozenset()

    @classmethod
    def of(cls, channel: str, user: str, aliases: Mapping[str, Sequence[str]]) -> Labels:
        """Return the labels of a channel; its own aliases take precedence over those of any channel, `ANYWHERE`."""
        return cls(channel, user, frozenset((*aliases.get(channel, ()), *aliases.get(ANYWHERE, ()))))

    def label(self, message: Message) -> str:
        """Return the label of a message; "" for one without: no text, a system message, a tool's, a copy."""
        said = message.role in {"user", "assistant"} and not message.results and message.text
        if not said or message.category is Category.RECALLED:
            return ""
        speaker = ASSISTANT if message.role == "assistant" else self._speaker(message.sender or self.user)
        return f"[{_plain(self.channel) or UNKNOWN} / {speaker}]"

    def _speaker(self, sender: str) -> str:
        if sender and sender in self.owners:
            return OWNER
        name = _plain(sender)
        # Nobody becomes the owner by taking that name.
        return f"id {name}" if name.lower() in _RESERVED else name or UNKNOWN


def labelled(label: str, text: str) -> str:
    """Return a text with its label before it, if there is one."""
    return f"{label}\n{text}" if label else text


def _plain(name: str) -> str:
    return _ODD.sub(" ", name).strip()[:MOST_CHARS].rstrip()


# The parts of a message that go to another provider: words, pictures and documents, tool calls with their results.


class Words(NamedTuple):
    """Text of a message.

    Attributes:
        text: the text.
    """

    text: str


class Media(NamedTuple):
    """A picture, a recording or a document.

    Attributes:
        mime: its MIME type.
        data: its bytes as base64; "" if it has a URL.
        url: its URL; "" if it has bytes.
        name: its file name; "" if unknown.
    """

    mime: str
    data: str = ""
    url: str = ""
    name: str = ""


class ToolResult(NamedTuple):
    """A tool's answer to a call.

    Attributes:
        call_id: the provider's id of the call.
        said: the answer, in order.
        failed: whether its host marked it as an error.
    """

    call_id: str
    said: tuple[Words | Media, ...] = ()
    failed: bool = False


#: A part of a `Portable` message.
Piece: TypeAlias = Words | Media | ToolCall | ToolResult


class Portable(NamedTuple):
    """A message without anything that only its own provider can read: no signatures, sealed thoughts or item ids.

    Attributes:
        role: who says it; "tool" if it answers calls.
        pieces: its parts, in order.
    """

    role: Role
    pieces: tuple[Piece, ...]

    def cut(self, text: str) -> Portable:
        """Return it with all its text replaced with `text`, inside the first result if it answers calls."""
        calls = [piece for piece in self.pieces if isinstance(piece, ToolCall)]
        outcomes = [
            ToolResult(piece.call_id, (), piece.failed) for piece in self.pieces if isinstance(piece, ToolResult)
        ]
        if outcomes:
            first = ToolResult(outcomes[0].call_id, (Words(text),), outcomes[0].failed)
            return Portable(self.role, (first, *outcomes[1:], *calls))
        return Portable(self.role, (Words(text), *calls))

    def with_arguments(self, arguments: tuple[str, ...]) -> Portable:
        """Return it with other argument strings, one for each call, in order."""
        given = iter(arguments)
        pieces = (
            ToolCall(piece.id, piece.name, next(given, "{}")) if isinstance(piece, ToolCall) else piece
            for piece in self.pieces
        )
        return Portable(self.role, tuple(pieces))

    def labelled(self, label: str) -> Portable:
        """Return it with a label before its first words; unchanged if it has none."""
        first = next((piece for piece in self.pieces if isinstance(piece, Words)), None)
        pieces = (Words(labelled(label, piece.text)) if piece is first else piece for piece in self.pieces)
        return Portable(self.role, tuple(pieces))

    def noticed(self, notice: str) -> Portable:
        """Return it with a notice behind its content."""
        return Portable(self.role, (*self.pieces, Words(notice)))
