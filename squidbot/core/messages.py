"""The values that everything speaks in: what was said, where it stands, what it costs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


Role = Literal["system", "user", "assistant", "tool"]


class Category(StrEnum):
    """What a message is for: it follows from the kind of message, never from words in its text.

    RECALLED are messages that `history` brought back: copies, so notes and searches pass over them.
    FORGOTTEN are tombstones: what was said there was removed on request.
    """

    SYSTEM = "system"
    CONTEXT = "context"
    DIALOG = "dialog"
    SYSTEM_OUTPUT = "system_output"
    ERROR = "error"
    INTERNAL = "internal"
    UNKNOWN = "unknown"
    RECALLED = "recalled"
    FORGOTTEN = "forgotten"


# What a person's view of a conversation leaves out unless that is asked for.
BEHIND_SCENES = frozenset({Category.SYSTEM, Category.CONTEXT, Category.SYSTEM_OUTPUT})


class Cost(NamedTuple):
    """Tokens of a text: the best estimate, and a bound that is never under the model's own count."""

    estimate: int
    bound: int

    def plus(self, other: Cost) -> Cost:
        """Return both costs together, in tokens."""
        return Cost(self.estimate + other.estimate, self.bound + other.bound)

    def less(self, other: Cost) -> Cost:
        """Return what is left without `other`, in tokens; not below 0."""
        return Cost(max(0, self.estimate - other.estimate), max(0, self.bound - other.bound))


class ToolCall(NamedTuple):
    """One call of a tool: the provider's id, the tool's name, the arguments as the original string."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message as the host gave it, beside the index that the core works on.

    `payload` is the truth: the host's own message as JSON text, in the form that `codec` names. The other
    fields follow from it. `text` is what the model reads of it except tool calls. `calls` are the tool calls it
    makes, `results` the ids of the calls that it answers. `time` is in seconds since 1970, None where unknown.
    `sender` is the id of who said it, "" where that is not known. `extra_tokens` is what its codec's `extra_tokens`
    returns, where the codec has read the payload just now; None: it is asked.
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
        """The text that costs tokens: what was said, then a line `name arguments` for each tool call."""
        return self.rendered_as(self.text, [call.arguments for call in self.calls])

    def rendered_as(self, text: str, arguments: Sequence[str]) -> str:
        """Return `rendered` with another text, and with other argument strings, one for each call, in order."""
        calls = zip(self.calls, arguments, strict=True)
        return text + "".join(f"\n{call.name} {given}" for call, given in calls)


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """One row of a transcript: a message's index, its payload, and what was frozen on its arrival.

    Attributes:
        seq: position in the session's transcript, from 0, without holes; the only order there is.
        turn: the seq of the user message that opened its turn; the seq of the first message before any user spoke.
        role, category: as in `Message`.
        codec, payload: as in `Message`; the text is read from the payload by the codec.
        call_ids: ids of the tool calls it makes, in order.
        result_ids: ids of the tool calls it answers, in order.
        cost: tokens of the message as it was said, template included, by the counter named `counter`.
        counter: the name of the token counter that made `cost` and `sent_cost`.
        time: seconds since 1970, None where unknown; informative, never an order.
        sent_text: the digest sent instead of an oversized tool output, frozen on arrival; None: as it was said.
        sent_arguments: the cut argument strings sent instead of oversized ones, one for each call, frozen on arrival;
            None: as they were said.
        notice: volatile text added behind a user message, frozen on arrival; None: nothing was added.
        sent_cost: tokens of what is sent for it when raw: `cost`, unless `sent_text`, `notice` or `label` is set.
        sender: as in `Message`.
        label: the line sent in front of its text, which says where and by whom it was said; "" for none.
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
    """A text that stands for named messages of one session.

    `source_digest` is a hash of what it was made from (texts, level, form of the notes): an equal digest means that
    nothing new has to be made. `made_by` names the summarizer. `cost` is in tokens of the counter `counter`,
    template included.
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


class SummaryTask(NamedTuple):
    """A summary that is wanted of a language model: of which messages, for which room, and what it is worth.

    Two jobs with one `source_digest` ask for the same: a hash of the messages' ids and texts, level, mode, window,
    counter and version of the prompts.

    Attributes:
        reason: "gap", "size" (a block was closed by a pause, or because it was full), "pressure" (notes by rule stand
            for it now), "schedule" or "request" (somebody asked).
        session_id, first_seq, last_seq: the messages, both ends included.
        level: as in `Summary`.
        mode: what is to be kept above all: "developer", "planning", "assistant" or "debugger".
        source_digest: see above.
        limit_tokens: what the summary may cost as it is shown, template included, as a bound.
        said_tokens: what was said there, the user's messages left out, as a bound.
        saves_tokens: `said_tokens` less `limit_tokens`.
    """

    reason: str
    session_id: str
    first_seq: int
    last_seq: int
    level: str
    mode: str
    source_digest: str
    limit_tokens: int
    said_tokens: int
    saves_tokens: int


class Completion(NamedTuple):
    """What a language model answered, and the tokens of the call as its provider reports them."""

    text: str
    input_tokens: int
    output_tokens: int


class Reply(NamedTuple):
    """What a language model said next in a conversation.

    Attributes:
        message: the assistant's message in the model's own form, tool calls included.
        finish: "stop", "tool_calls", or "length" where the answer reached its limit.
        input_tokens, output_tokens: as its provider reports them; `input_tokens` counts cached ones too.
        cached_tokens: of the input, read from the prompt cache.
    """

    message: Mapping[str, object]
    finish: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0


class SearchMatch(NamedTuple):
    """A message that answers a query. `score` is 0 to 1, higher is better; 0: it has some word, and was not ranked."""

    seq: int
    score: float


class Usage(NamedTuple):
    """Tokens of one model call as its provider reports them; `input_tokens` counts cached ones too."""

    input_tokens: int
    output_tokens: int = 0
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """The context window of one session, fixed for as long as the session lasts.

    `window_tokens` is input and output together, `reserved_output_tokens` the room for the answer. `safety_fraction`
    is the share of the window that the best estimate of a request may fill. `source` says where the window
    came from, and `detail` how it came about, in sentences. `parameters_billion` is the size of the model, None where
    unknown. `learned_for` names the model and the window for which a refusal has shown this smaller one; "" for none.
    The id depends on none of these three, and windows that differ in `detail` or `learned_for` alone are equal.
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
    """What a part of a request is: said by somebody, or made by squidbot and then user-role, fenced, marked as data."""

    SYSTEM = "system"
    MESSAGE = "message"
    SLIMMED = "slimmed"
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
        kind: verbatim (system, message, recalled), cut (slimmed) or made by squidbot (the others).
        role: whose turn it is for the provider.
        cost: tokens, template included.
        first_seq, last_seq: the messages that it stands for; -1 and -1 for none (a memory document).
        payload: the stored payload and its codec's tag, where it is one message of the transcript; else None.
        text: for a slimmed message the digest that takes the place of its text; for a made part the whole text;
            None for a verbatim one.
        arguments: for a slimmed assistant message the cut argument strings, one for each call; None: as stored.
        notice: text frozen behind a user message at its birth; None where there is none.
        label: the line in front of its text, frozen on its arrival; "" where there is none.
        drop_thinking: whether the codec leaves out reasoning that a change before it has made invalid (R4).
        call_ids, result_ids: the tool calls it makes and those it answers.
        summary_id: the summary that it shows; None where it shows none.
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
        """Whether nothing is cut out of what it stands for, taken from it, or put in front of it or behind it."""
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
    """What a session is opened with: how many messages and records of all kinds there are, and newest records by kind.

    A kind that was asked for and has no record is not in `newest`.
    """

    messages: int
    records: int
    newest: Mapping[str, Record]


@dataclass(frozen=True, slots=True)
class Erasure:
    """What a store does to forget messages, all of it or nothing.

    Attributes:
        expected: (messages, records of all kinds) that the session has.
        tombstones: rows that take the place of stored ones, each with the seq of the one that goes.
        replaced: records that take the place of stored ones of their kind and number.
        appended: records that come behind the others of their kinds.
        summaries: ids of the summaries that go with them.
        unnoticed: stored rows with another notice, or none, behind them, and what they cost with that; else unchanged.
    """

    expected: tuple[int, int]
    tombstones: tuple[StoredMessage, ...]
    replaced: tuple[Record, ...] = ()
    appended: tuple[Record, ...] = ()
    summaries: tuple[str, ...] = ()
    unnoticed: tuple[StoredMessage, ...] = ()

    @staticmethod
    def is_unnoticed(stored: StoredMessage, row: StoredMessage) -> bool:
        """Return whether a row is a stored one with nothing changed but its notice and its costs."""
        costs = {"cost": row.cost, "sent_cost": row.sent_cost, "counter": row.counter}
        return replace(stored, notice=row.notice, **costs) == row  # type: ignore[arg-type]  # its own fields


# Who said a message, and where, as a line in front of its text: `[channel / speaker]`.

OWNER, ASSISTANT, UNKNOWN = "owner", "assistant", "unknown"
# The channel whose owner aliases hold in all others, too.
ANYWHERE = "*"
# A name in a label ends before what could end the label.
_ODD = re.compile(r"[\s\[\]/\x00-\x1f\x7f\u2028\u2029]+")
_RESERVED = frozenset({OWNER, ASSISTANT, UNKNOWN})
MOST_CHARS = 64


class Labels(NamedTuple):
    """What messages of one session are labelled by.

    Attributes:
        channel: where they are said; "" where nobody says.
        user: who speaks where a message names nobody; "" for nobody known.
        owners: the ids by which the owner is known there.
    """

    channel: str = ""
    user: str = ""
    owners: frozenset[str] = frozenset()

    @classmethod
    def of(cls, channel: str, user: str, aliases: Mapping[str, Sequence[str]]) -> Labels:
        """Return the labels of a channel; its own aliases go before those of any channel, `ANYWHERE`."""
        return cls(channel, user, frozenset((*aliases.get(channel, ()), *aliases.get(ANYWHERE, ()))))

    def label(self, message: Message) -> str:
        """Return the label of a message; "" for one that has none: without a text, the system's, a tool's, a copy."""
        said = message.role in {"user", "assistant"} and not message.results and message.text
        if not said or message.category is Category.RECALLED:
            return ""
        speaker = ASSISTANT if message.role == "assistant" else self._speaker(message.sender or self.user)
        return f"[{_plain(self.channel) or UNKNOWN} / {speaker}]"

    def _speaker(self, sender: str) -> str:
        if sender and sender in self.owners:
            return OWNER
        name = _plain(sender)
        # Nobody becomes the owner by the name of one.
        return f"id {name}" if name.lower() in _RESERVED else name or UNKNOWN


def labelled(label: str, text: str) -> str:
    """Return a text with a label in front of it, if there is one."""
    return f"{label}\n{text}" if label else text


def _plain(name: str) -> str:
    return _ODD.sub(" ", name).strip()[:MOST_CHARS].rstrip()


# What of a message goes to another provider: words, pictures and documents, tool calls with their
# results.


class Words(NamedTuple):
    """Text that somebody said."""

    text: str


class Media(NamedTuple):
    """A picture, a recording or a document: its type (MIME), and its bytes as base64 or where they are."""

    mime: str
    data: str = ""
    url: str = ""
    name: str = ""


class ToolResult(NamedTuple):
    """What a tool answered to a call; `failed` where its host marked it as an error."""

    call_id: str
    said: tuple[Words | Media, ...] = ()
    failed: bool = False


Piece: TypeAlias = Words | Media | ToolCall | ToolResult


class Portable(NamedTuple):
    """A message without anything that only its own provider can read: no signatures, sealed thoughts or item ids.

    `role` is "tool" where it answers calls.
    """

    role: Role
    pieces: tuple[Piece, ...]

    def cut(self, text: str) -> Portable:
        """Return it with `text` for all that it says, inside the first result where it answers calls."""
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
        """Return it with a label in front of the first words that it says; as it is where it says none."""
        first = next((piece for piece in self.pieces if isinstance(piece, Words)), None)
        pieces = (Words(labelled(label, piece.text)) if piece is first else piece for piece in self.pieces)
        return Portable(self.role, tuple(pieces))

    def noticed(self, notice: str) -> Portable:
        """Return it with a notice behind what it says."""
        return Portable(self.role, (*self.pieces, Words(notice)))
