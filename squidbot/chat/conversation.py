"""A turn: record the prompt, call the model and its tools, record the answer; partial answers are kept.

Messages are stored before any step that may fail: the prompt and the results of tools before the call of the model,
a partial answer before its error is raised.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from squidbot.codecs.fields import results
from squidbot.core.errors import (
    BudgetError,
    ConfigError,
    ContextOverflowError,
    LLMError,
    SquidbotError,
)
from squidbot.core.messages import ToolResult, Usage, Words
from squidbot.core.transcript.bookkeeping import CUT, BrokenAnswer
from squidbot.core.transcript.records import append
from squidbot.core.view.marks import refused, tool_names
from squidbot.tools.tool import Answer
from squidbot.wiring.claims import wait
from squidbot.wiring.streams import PartialAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.core.messages import Reply, StoredMessage, ToolCall
    from squidbot.core.ports import Chat, Codec, TranscriptStore
    from squidbot.session import Assembly, Session

BY_USER: Final = "the user stopped it"
BY_DEATH: Final = "the program ended before it did"
WHY_CHARS: Final = 300


def keep_cut(store: TranscriptStore, session_id: str, cut: BrokenAnswer) -> None:
    """Record that an answer is incomplete.

    Raises:
        StoreError: it was not stored.
    """
    kept = cut._replace(why=cut.why[:WHY_CHARS])
    append(store, session_id, CUT, lambda: kept, "could not note that the answer is incomplete", wait=wait)


ENOUGH: Final = Answer("<squidbot refused: no more calls in this turn; answer with what you have>", is_error=True)
NOT_RUN: Final = Answer("<squidbot: this call was not made; the conversation ended first>", is_error=True)


def results_of(codec: Codec, answers: Sequence[tuple[str, Answer]]) -> list[dict[str, object]]:
    """Return the results of one step's calls, by their ids, as messages of a form."""
    return results(codec, (ToolResult(call_id, (Words(answer.text),), answer.is_error) for call_id, answer in answers))


# How often a model may call tools before it has to answer.
MOST_STEPS: Final = 12


class Watcher(Protocol):
    """Watches a turn."""

    def asked(self, assembly: Assembly) -> None:
        """Called before a request is sent."""

    def piece(self, text: str) -> None:
        """Called with each piece of the answer."""

    def ended(self) -> None:
        """Called when a message is complete."""

    def called(self, call: ToolCall, answer: Answer) -> None:
        """Called with a tool call and its result."""

    def remark(self, text: str) -> None:
        """Called with a sentence for the user."""


class AnsweredRequest(NamedTuple):
    """One answered request: its bound, its limit, and the reported usage."""

    bound_tokens: int
    limit_tokens: int
    usage: Usage | None


@dataclass(slots=True)
class ChatTurn:
    """The outcome of a turn.

    Attributes:
        text: the model's last text, as far as it arrived.
        sent: its answered requests, in order.
        calls: names of the called tools, in order.
        broken: why the answer is incomplete; "" if it is complete. Stopped by the user: `BY_USER`.
        error: the error that stopped it; None without one.
    """

    text: str = ""
    sent: list[AnsweredRequest] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    broken: str = ""
    error: SquidbotError | None = None


class ChatSession:
    """One session, and a model that answers in it."""

    def __init__(  # noqa: PLR0913  # the parts of a conversation
        self,
        model: Chat,
        opens: Callable[[], Session],
        watcher: Watcher,
        *,
        system: str = "",
        tools: bool = True,
        stoppable: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        """Open the session; nothing is written yet.

        `system` is the system text of each request; `tools` says whether the model may call any. The user may stop
        code inside `stoppable`, with a KeyboardInterrupt.

        Raises:
            ConfigError: no tools are known in the form of the model's messages.
        """
        self.system = system
        self.session = opens()
        self._model, self._watcher, self._stoppable = model, watcher, stoppable
        self._tools = list(self.session.tools) if tools else []
        wired = self.session.wired
        self._heard = PartialAnswer(wired.place, wired.store, self.session.session_id)
        self._writes = True

    @property
    def tool_names(self) -> list[str]:
        """The tools that the model may call: ours, without those that extensions withhold."""
        return tool_names(self._tools)

    def say(self, text: str) -> ChatTurn:
        """Send a message, and return the outcome of the turn; failures of the model are not raised.

        Raises:
            BudgetError: the message does not fit the window; nothing was recorded.
            StoreError: the store failed.
        """
        self.recover()
        self._settle()
        turn = ChatTurn()
        assembly = self._assembled(text, notice=self._notice())
        # Before the call of the model, which may fail.
        self.session.record(assembly.incoming)
        try:
            self._answered(turn, assembly)
        except KeyboardInterrupt:
            turn.broken = BY_USER
        except (LLMError, ContextOverflowError) as error:
            turn.broken, turn.error = str(error), error
        return turn

    def recover(self) -> None:
        """Record a killed process's partial answer as incomplete.

        Raises:
            StoreError: the store failed.
        """
        if text := self._heard.left():
            self._broke_off(text, BY_DEATH)
        self._heard.end()

    # -- one turn ---------------------------------------------------------------------------------------------

    def _answered(self, turn: ChatTurn, assembly: Assembly) -> None:
        """Continue until the model answers without a tool call."""
        for step in range(MOST_STEPS + 1):
            reply, assembly = self._replied(turn, assembly)
            usage = Usage(reply.input_tokens, reply.output_tokens, reply.cached_tokens) if reply.input_tokens else None
            *_, stored = self.session.record(reply.message, usage=usage)
            self._heard.end()
            report = assembly.report
            turn.sent.append(AnsweredRequest(report.cost.bound, report.limit.bound, usage))
            message = self._codec(stored).decode(stored.payload)
            turn.text = message.text
            self._watcher.ended()
            if reply.finish == "length":
                self._watcher.remark(f"the answer ended at its limit of {assembly.max_output_tokens:,} tokens")
            if not message.calls:
                return
            self._call(turn, stored, message.calls, enough=step >= MOST_STEPS)
            if step >= MOST_STEPS:
                self._watcher.remark(f"the model called tools {MOST_STEPS} times in a row; the turn ends here")
                return
            assembly = self._assembled()

    def _replied(self, turn: ChatTurn, assembly: Assembly) -> tuple[Reply, Assembly]:
        """Return the model's next message, and the answered request: a shorter one if the first did not fit."""
        self._watcher.asked(assembly)
        try:
            return self._reply(turn, assembly), assembly
        except ContextOverflowError as error:
            shorter = self._shorter(assembly, error)
        self._watcher.asked(shorter)
        return self._reply(turn, shorter), shorter

    def _reply(self, turn: ChatTurn, assembly: Assembly) -> Reply:
        pieces: list[str] = []

        def told(text: str) -> None:
            pieces.append(text)
            self._write(text)
            self._watcher.piece(text)

        try:
            with self._stoppable():
                most, stable = assembly.max_output_tokens, assembly.stable
                return self._model.reply(assembly.messages, most, self._tools, told, stable)
        except ContextOverflowError:
            self._heard.end()
            raise
        except KeyboardInterrupt:
            self._keep(turn, pieces, BY_USER)
            raise
        except Exception as error:  # keep a partial answer after any error
            self._keep(turn, pieces, str(error))
            raise

    def _keep(self, turn: ChatTurn, pieces: list[str], why: str) -> None:
        """Record a partial answer, and that it is incomplete."""
        turn.text = "".join(pieces)
        self._watcher.ended()
        self._broke_off(turn.text, why)
        self._heard.end()

    def _broke_off(self, text: str, why: str) -> None:
        if text.strip():
            *_, stored = self.session.record(text)
            keep_cut(self.session.wired.store, self.session.session_id, BrokenAnswer(stored.seq, why))

    def _write(self, text: str) -> None:
        """Write a piece beside the store, until the answer is recorded; report a failure once."""
        if self._writes:
            try:
                self._heard.add(text)
            except OSError as error:
                self._writes = False
                self._watcher.remark(f"partial answers are not saved: {error}")

    def _shorter(self, assembly: Assembly, error: ContextOverflowError) -> Assembly:
        """Return the request for a smaller window, which is the model's window from then on.

        Raises:
            ContextOverflowError: it can't be made smaller.
        """
        before, refused = self.session, assembly.report.cost.bound
        try:
            self.session = before.overflowed(self._model.window_tokens)
            shorter = self._assembled()
        except (BudgetError, ConfigError):
            self.session = before
            raise error from None
        if shorter.report.cost.bound >= refused:
            raise error
        tokens = f"{refused:,} -> {shorter.report.cost.bound:,} tokens"
        self._watcher.remark(f"too long for the model ({error}); asked again with less: {tokens}")
        return shorter

    def _call(self, turn: ChatTurn, step: StoredMessage, calls: tuple[ToolCall, ...], *, enough: bool) -> None:
        """Make the calls of a step one by one, and record their results together, as providers require."""
        answers = []
        for call in calls:
            answer = ENOUGH if enough else self._answer(call)
            answers.append((call.id, answer))
            turn.calls.append(call.name)
            self._watcher.called(call, answer)
        self.session.record(results_of(self._codec(step), answers))

    def _answer(self, call: ToolCall) -> Answer:
        if call.name in self.tool_names:
            return self.session.call(call.name, call.arguments)
        why = f"there is no tool {call.name[:60]!a}; known: {', '.join(self.tool_names)}"
        return Answer(refused(why), is_error=True)

    # -- before it --------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Answer the calls of a step that ended with its process."""
        room = self.session.core.room()
        if room.open_calls:
            missing = [(call_id, NOT_RUN) for call_id in room.open_calls]
            self.session.record(results_of(self._codec(room.awaited[0]), missing))

    def _notice(self) -> str | None:
        """Return the notice for the model after an incomplete answer."""
        store, session_id = self.session.wired.store, self.session.session_id
        cut = CUT.newest(store, session_id)
        return cut.notice if cut and cut.seq == store.head(session_id)[0] - 1 else None

    def _assembled(self, *said: str, notice: str | None = None) -> Assembly:
        return self.session.assemble(*said, system=self.system, tools=self._tools, notice=notice)

    def _codec(self, row: StoredMessage) -> Codec:
        return self.session.wired.codecs[row.codec]
