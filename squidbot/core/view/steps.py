"""Groups a transcript into units that stay together: steps, turns, session blocks."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.errors import InvalidRequestError
from squidbot.core.messages import Category, Cost, Kind, Media, Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from squidbot.core.messages import Part, StoredMessage
    from squidbot.core.ports import Codec


class Step(NamedTuple):
    """A user message, or an assistant step with the tool results directly behind it, in order of seq.

    Attributes:
        messages: its messages.
        whole: whether every call is answered in it, and every answer has its call.
        first_seq, last_seq: the seqs of its first and its last message.
        is_user: whether it is a user message without tool results.
        is_own: whether these are the user's own words, too.
        sent_cost: tokens that it costs when sent raw.
        cost: tokens of its original content.
    """

    messages: tuple[StoredMessage, ...]
    whole: bool
    first_seq: int
    last_seq: int
    is_user: bool
    is_own: bool
    sent_cost: Cost
    cost: Cost

    @classmethod
    def of(cls, messages: tuple[StoredMessage, ...], *, whole: bool) -> Step:
        """Return the step of these messages."""
        first, last = messages[0], messages[-1]
        sent, cost = first.sent_cost, first.cost
        if first is not last:
            sent, cost = (
                total([message.sent_cost for message in messages]),
                total([message.cost for message in messages]),
            )
        return cls(messages, whole, first.seq, last.seq, opens_turn(first), is_own(first), sent, cost)


def total(costs: Iterable[Cost]) -> Cost:
    """Return the sum of costs, in tokens; zero without any."""
    estimate = bound = 0
    for cost in costs:
        estimate += cost[0]
        bound += cost[1]
    return Cost(estimate, bound)


def opens_turn(message: StoredMessage) -> bool:
    """Return whether a message opens a turn: user text, neither tool results nor recalled messages."""
    return message.role == "user" and not message.result_ids and message.category is not Category.RECALLED


def is_own(message: StoredMessage) -> bool:
    """Return whether a message opens a turn with the user's own words: no program wrote them in the user's role."""
    return opens_turn(message) and message.category is not Category.AUTOMATED


def is_output(message: StoredMessage) -> bool:
    """Return whether a message is what a tool or another program put out: too large, it is cut."""
    return bool(message.result_ids) or message.category is Category.AUTOMATED


def speaks(message: Message | StoredMessage) -> bool:
    """Return whether a message, stored or not, is the user's own words and so opens a turn."""
    if message.role != "user" or message.category is Category.RECALLED:
        return False
    return not (message.results if isinstance(message, Message) else message.result_ids)


def open_step(messages: Sequence[StoredMessage]) -> int | None:
    """Return the seq of the step with the open tool loop: the newest one, if it has calls and no user spoke since.

    Return `None` if there is none: then no provider asks for any reasoning (R3).
    """
    for message in reversed(messages):
        if opens_turn(message):
            return None
        if message.role == "assistant":
            return message.seq if message.call_ids else None
    return None


def steps_of(messages: Sequence[StoredMessage]) -> list[Step]:
    """Return the steps of messages in order of seq.

    A step takes the results directly behind it. A result that comes later, twice or without a call becomes a step of
    its own that is not whole. `messages` must not begin inside a step.
    """
    return [Step.of(tuple(group), whole=whole) for group, whole in _groups(messages)]


def _groups(messages: Iterable[StoredMessage]) -> Iterator[tuple[list[StoredMessage], bool]]:
    group: list[StoredMessage] = []
    pending: set[str] = set()
    for message in messages:
        if group and message.result_ids and pending.issuperset(message.result_ids):
            group.append(message)
            pending.difference_update(message.result_ids)
            continue
        if group:
            yield group, not pending
        if message.result_ids:
            yield [message], False
            group, pending = [], set()
            continue
        group, pending = [message], set(message.call_ids)
    if group:
        yield group, not pending


def session_blocks(steps: Sequence[Step], *, gap_seconds: float, max_tokens: int) -> list[list[Step]]:
    """Return session blocks: runs of steps, closed by a pause or by size, oldest first.

    A pause is `gap_seconds` or more between two messages with known times; a clock that steps back is no pause. A block
    closes before the turn that would take it past `max_tokens` (a bound on the original content); a longer turn is
    closed between steps.
    """
    blocks: list[list[Step]] = []
    size = 0
    for place, step in enumerate(steps):
        cost = step.cost.bound
        after = _turn_tokens(steps, place, max_tokens) if step.is_user else cost
        if blocks and size + after <= max_tokens and not _pause(blocks[-1][-1], step, gap_seconds):
            blocks[-1].append(step)
            size += cost
        else:
            blocks.append([step])
            size = cost
    return blocks


def _turn_tokens(steps: Sequence[Step], place: int, enough: int) -> int:
    """Return the cost of the turn that opens at `place`; stop counting once it exceeds `enough`.

    A turn that fits no block is cut between steps, so only its first step needs room.
    """
    tokens = steps[place].cost.bound
    for step in steps[place + 1 :]:
        if step.is_user:
            break
        tokens += step.cost.bound
        if tokens > enough:
            return steps[place].cost.bound
    return tokens


def _pause(before: Step, after: Step, gap_seconds: float) -> bool:
    earlier, later = before.messages[-1].time, after.messages[0].time
    return earlier is not None and later is not None and later - earlier >= gap_seconds


# What a message is for: decided by its kind and place, and by words in its text only if settings say so.

# A later system text with one of these words counts as tool output, if settings say so.
OUTPUT_WORDS: Final = ("action executed", "code saved to", "result", "status")


def categorized(message: Message, codec: Codec, *, opens: bool, by_words: bool = False) -> Message:
    """Return a message with its category, if that is more than its codec can tell; a hook's category wins.

    `opens` means that only system text precedes it: such a system text is the system prompt, a later one is context. A
    message without known content is unknown, and one in the user's role that a program wrote is automated. `by_words`:
    a later system text with `OUTPUT_WORDS` in it is output.
    """
    category = message.category
    if category is Category.SYSTEM and message.role == "system" and not opens:
        category = Category.SYSTEM_OUTPUT if by_words and _sounds_put_out(message.text) else Category.CONTEXT
    elif category is Category.DIALOG and _says_nothing(message, codec):
        category = Category.UNKNOWN
    elif category is Category.DIALOG and message.role == "user" and not message.results and is_automated(message.text):
        category = Category.AUTOMATED
    return message if category is message.category else replace(message, category=category)


# What agent programs write in the user's role, by their own forms: a text of nothing but these tags, or one that
# begins like this. What a person types, a command with its arguments or a text with a tag in it, is none of them.
_AUTOMATED_TAGS: Final = (
    "task-notification|system-reminder|local-command-(?:stdout|stderr|caveat)|bash-(?:stdout|stderr)|new-diagnostics|"
    "user-prompt-submit-hook|environment_context|user_instructions|turn_aborted|subagent_notification|skill|INSTRUCTIONS"
)
# The line that Claude Code writes behind a task's notification.
_TRAILER = r"(?:(?:Read the output file to retrieve the result|Full transcript available at): [^\n]{1,1000}\s*+)?"
_AUTOMATED: Final = re.compile(
    rf"\s*+(?:<({_AUTOMATED_TAGS})(?:\s[^<>]{{0,200}}+)?>.*?</\1>\s*+|(?!))++{_TRAILER}\Z"
    r"|\s*+(?:# AGENTS\.md instructions for |Caveat: The messages below were generated by |"
    r"Base directory for this skill: |\[Request interrupted by user|"
    r"\[(?:WebSurfer|FileSurfer|Assistant|Coder|Executor|ComputerTerminal|Orchestrator)\]\n)",
    re.DOTALL,
)
# A summary that an agent program wrote when it compacted, and goes on with.
_CARRIED: Final = re.compile(
    r"\s*+(?:This session is being continued from a previous conversation|"
    r"Another language model started to solve this problem and produced a summary)"
)


def is_automated(text: str) -> bool:
    """Return whether a text in the user's role has the form of one that a program wrote. Linear in its length."""
    return bool(_AUTOMATED.match(text)) or is_carried(text)


def is_carried(text: str) -> bool:
    """Return whether a text is the summary that an agent program went on with after a compaction of its own."""
    return bool(_CARRIED.match(text))


def _sounds_put_out(text: str) -> bool:
    lowered = text.lower()
    return any(words in lowered for words in OUTPUT_WORDS)


def _says_nothing(message: Message, codec: Codec) -> bool:
    """Return whether a message has no words, calls, results or pictures: all of it is of unknown kinds."""
    if message.text.strip() or message.calls or message.results:
        return False
    try:
        pieces = codec.portable(message.payload).pieces
    except ValueError:
        return True
    return not any(isinstance(piece, Media) for piece in pieces)


# The rules, R1 to R11, that keep providers from refusing a request.

_MADE = frozenset({Kind.SUMMARY, Kind.PIN, Kind.MARKED, Kind.MEMORY, Kind.NOTICE})
# Provider options that let the server hold, cut or add content that nobody here can count (R10).
_SERVER_STATE = {
    **dict.fromkeys(
        ("previous_response_id", "conversation", "conversation_id", "thread_id", "thread", "store", "background"),
        "keeps the history at the provider",
    ),
    **dict.fromkeys(("truncation", "context_management"), "has the provider leave parts of the history out"),
    "container": "keeps files at the provider",
    "prompt": "adds texts that the provider keeps",
}
_OFF = (None, False, "disabled")


def check_request(parts: Sequence[Part]) -> None:
    """Check a request against R1, R5 and R6.

    Raises:
        InvalidRequestError: a rule is broken; the text names the rule, the place and the message.
    """
    _check_pairs(parts)
    first = next((part for part in parts if part.role != "system"), None)
    if first is None or parts[-1].role not in {"user", "tool"}:
        raise InvalidRequestError("R5", "the request does not end with a user message or a tool result")
    if first.role != "user":
        raise InvalidRequestError("R5", f"m{first.first_seq} opens the conversation with the role {first.role}")
    for place, part in enumerate(parts):
        if part.kind in _MADE and part.role != "user":
            raise InvalidRequestError("R6", f"part {place} is squidbot's own and has the role {part.role}")


def _check_pairs(parts: Sequence[Part]) -> None:
    pending: set[str] = set()
    for place, part in enumerate(parts):
        if pending or part.result_ids:
            pending = _answered(place, part, pending)
        if part.call_ids:
            pending = set(part.call_ids)
    if pending:
        raise InvalidRequestError("R1", f"the last step's calls {sorted(pending)} have no result")


def _answered(place: int, part: Part, pending: set[str]) -> set[str]:
    if not pending.issuperset(part.result_ids) or not part.result_ids:
        wanted = sorted(pending) or "no call"
        raise InvalidRequestError("R1", f"part {place} (m{part.first_seq}) stands where results of {wanted} belong")
    return pending.difference(part.result_ids)


def refuse_server_state(options: Mapping[str, object]) -> None:
    """Refuse request options under which the provider keeps the history (R10).

    Raises:
        InvalidRequestError: such an option is set; the text names the switch.
    """
    for name, does in _SERVER_STATE.items():
        if options.get(name) not in _OFF:
            raise InvalidRequestError("R10", f"{name} {does}; unset it to use squidbot")
