"""Other simple policies to compare with squidbot: each takes messages and returns its request.

All of them keep the system messages that open a conversation. None stores a session, and only the last one reads the
messages that it drops.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from typing import TYPE_CHECKING

from squidbot.core.messages import Kind, Usage
from squidbot.replay.metrics import Scorer
from squidbot.replay.recording import RequestBlock
from squidbot.replay.terms import SCORING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from squidbot.replay.metrics import Ruler
    from squidbot.replay.recording import Recording
    from squidbot.replay.terms import Charges

# Messages to keep: the length of sliding windows in agent frameworks, by default or in their examples.
WINDOW_MESSAGES = 40
# When to summarize and how much to keep, as shares of the budget.
THRESHOLD_FRACTION, KEEP_FRACTION = 0.8, 0.2
# A summary's size, and the cost of its prompt beside the messages.
SUMMARY_MOST_TOKENS, SUMMARY_BUDGET_SHARE, PROMPT_TOKENS = 1_500, 8, 300
# Characters of each user message in a summary; the number of names in it.
QUOTED_CHARS, MOST_NAMES = 300, 200

Blocks = tuple[RequestBlock, ...]


class Rival(ABC):
    """A policy. `budget_tokens` limits the bound of a request: the window less the reserve."""

    name = ""

    def __init__(self, budget_tokens: int, ruler: Ruler) -> None:
        self.budget_tokens = budget_tokens
        self.ruler = ruler
        self.lead: list[Blocks] = []
        self.history: list[Blocks] = []
        self.summaries: list[Usage] = []

    def add(self, message: Blocks) -> None:
        """Take the next message, as one block or more."""
        opens = not self.history and message[0].role == "system"
        (self.lead if opens else self.history).append(message)

    @abstractmethod
    def view(self) -> Sequence[Blocks]:
        """Return the messages of the next request, without the opening system text."""

    def request(self) -> list[RequestBlock]:
        """Return the next request."""
        view = self.view()
        return [block for message in (*self.lead, *view) for block in message]

    def bound(self, messages: Iterable[Blocks]) -> int:
        """Return the cost of messages, in tokens, as a bound."""
        return sum(self.ruler.cost(message).bound for message in messages)


class SendEverything(Rival):
    """Everything, at any cost."""

    name = "send everything"

    def view(self) -> Sequence[Blocks]:
        """Return the whole history."""
        return self.history


class LastMessages(Rival):
    """The newest messages by count; tool calls may lose their results."""

    name = f"last {WINDOW_MESSAGES} messages"

    def view(self) -> Sequence[Blocks]:
        """Return the last 40 messages."""
        return self.history[-WINDOW_MESSAGES:]


class TrimmedWindow(Rival):
    """In each turn, the newest messages that fit, from a user message on; if none is left, from an assistant's."""

    name = "trim every turn"

    def view(self) -> Sequence[Blocks]:
        """Return the longest end of the history that fits and starts well; if none does, the newest message."""
        room_tokens = self.budget_tokens - self.bound(self.lead)
        starts: dict[str, int] = {}
        for at in range(len(self.history) - 1, -1, -1):
            room_tokens -= self.ruler.cost(self.history[at]).bound
            if room_tokens < 0:
                break
            starts[self.history[at][0].role] = at
        return self.history[starts.get("user", starts.get("assistant", -1)) :]


class RollingSummary(Rival):
    """Above 80 % of the budget, all but the newest 20 % becomes one summary, together with the last summary."""

    name = "summarize at 80 %"

    def view(self) -> Sequence[Blocks]:
        """Return the history, summarized first if it exceeds the threshold."""
        if self.bound((*self.lead, *self.history)) > THRESHOLD_FRACTION * self.budget_tokens:
            self._summarize()
        return self.history

    def _summarize(self) -> None:
        cut = self._cut()
        old = self.history[:cut]
        if all(message[0].kind == Kind.SUMMARY for message in old):
            return
        limit = min(SUMMARY_MOST_TOKENS, self.budget_tokens // SUMMARY_BUDGET_SHARE)
        block = RequestBlock("user", Kind.SUMMARY.value, self._summary(old, limit))
        self.history = [(block,), *self.history[cut:]]
        read = sum(self.ruler.cost(message).estimate for message in old) + PROMPT_TOKENS
        self.summaries.append(Usage(read, self.ruler.cost([block]).estimate))

    def _cut(self) -> int:
        """Return the start of the part to keep: never inside a step, and never after the newest message."""
        cut, kept_tokens = len(self.history), 0
        while cut:
            kept_tokens += self.ruler.cost(self.history[cut - 1]).bound
            if kept_tokens > KEEP_FRACTION * self.budget_tokens and cut < len(self.history):
                break
            cut -= 1
        while cut and cut < len(self.history) and self.history[cut][0].role == "tool":
            cut -= 1
        return cut

    def _summary(self, old: Sequence[Blocks], limit_tokens: int) -> str:
        """Return a summary by rule: the last one, the user's words, and the most frequent names."""
        blocks = [block for message in old for block in message]
        before = [block.text for block in blocks if block.kind == Kind.SUMMARY]
        asked = [block.text[:QUOTED_CHARS] for block in blocks if block.role == "user" and block.kind == Kind.MESSAGE]
        names = Counter(name for block in blocks for name in self.ruler.literals(block.text))
        refs = " ".join(sorted(names, key=lambda name: (-names[name], name))[:MOST_NAMES])
        sections = (
            f"[Summary of {len(old)} messages]",
            self._clipped("\n".join(before), limit_tokens // 2),
            "The user said: " + self._clipped("\n".join(asked), limit_tokens // 2),
            "Names: " + refs,
        )
        return self._clipped("\n".join(filter(None, sections)), limit_tokens)

    def _clipped(self, text: str, limit_tokens: int) -> str:
        """Return the beginning of a text that costs about `limit_tokens` at most."""
        while (tokens := self.ruler.measured("user", text).cost.estimate) > limit_tokens and text:
            text = text[: len(text) * limit_tokens // (tokens + 1)]
        return text


RIVALS: tuple[type[Rival], ...] = (SendEverything, LastMessages, TrimmedWindow, RollingSummary)


def score_rival(
    rival: Rival, recording: Recording, ruler: Ruler, tick: Callable[[], None], charges: Charges = SCORING
) -> Scorer:
    """Return the measures of a policy over a recording; `tick` is called for each model call."""
    scorer = Scorer(recording, ruler, rival.budget_tokens, charges)
    answered = set(recording.calls)
    for index, message in enumerate(recording.messages):
        if index in answered:
            request = rival.request()
            scorer.take(index, request, rival.summaries)
            rival.summaries = []
            tick()
        rival.add(message)
    return scorer
