"""A conversation from its first line to its end: what is typed is a command or is said to the model."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from squidbot.chat.commands import COMMANDS, command_of
from squidbot.chat.conversation import Conversation, Means
from squidbot.chat.cut import BY_USER, newest_cut
from squidbot.chat.screen import budget_line
from squidbot.chat.starting import DEMO
from squidbot.chat.stopping import Stopping
from squidbot.cli.open_store import OpenStore
from squidbot.cli.texts import ago, count, shorter
from squidbot.core.budget import reliability
from squidbot.core.errors import BudgetError, SquidbotError
from squidbot.core.messages import Words

if TYPE_CHECKING:
    from squidbot.chat.conversation import Turn
    from squidbot.chat.lines import Lines
    from squidbot.chat.screen import Screen
    from squidbot.chat.starting import Asked, Begun
    from squidbot.session import Session

__all__ = ["Talk"]

UNNAMED = "unknown command /{name}; there are {known}"


class Talk:
    """One conversation, its screen, and what was asked for. `ends` is set by what ends it."""

    def __init__(self, asked: Asked, begun: Begun, screen: Screen, *, system: str, tools: bool) -> None:
        """Open the model, which may take its time, and then the session.

        Raises:
            SquidbotError: the model can't be opened.
        """
        self.asked = asked
        self.begun = begun
        self.screen = screen
        self.ends = False
        self.failed = False
        self._stopping = Stopping()
        if screen.is_terminal:
            screen.remark(f"opening {begun.alias}")
        self._model = begun.engine.model(begun.alias)
        means = Means(self._model, self._session, system, tools, self._stopping.stoppable)
        self.conversation = Conversation(means, screen)

    @property
    def model_line(self) -> str:
        """Which model it is, and who opens it."""
        model = self.begun.engine.wired.loaded.settings.model(self.begun.alias)
        return f"{self.begun.alias} ({self._model.name}, by {model.adapter})"

    def run(self, lines: Lines) -> None:
        """Go on until there is no more, or a command ends it."""
        self._greet()
        while not self.ends:
            try:
                said = lines.read(lambda: self.budget()[0])
            except EOFError:
                break
            except KeyboardInterrupt:
                self.screen.say("Ctrl-D or /quit ends", "dim")
                continue
            if said.strip():
                self._take(said)
        self._part()

    def turn(self, said: str) -> Turn | None:
        """Say something to the model, show what comes, and return what became of it; None where it was not said."""
        try:
            with self._stopping.turn():
                turn = self.conversation.say(said)
        except BudgetError as error:
            more = "; --no-tools leaves them out" if error.culprit.startswith("tools") else ""
            self._fail(f"{error}{more}")
            return None
        except SquidbotError as error:
            self._fail(str(error))
            return None
        self._tell(turn)
        return turn

    def budget(self) -> tuple[str, str]:
        """Return the budget of the next request as a line, and its style."""
        session = self.conversation.session
        return budget_line(session.core.room(), session.core.settings)

    def reliability(self, generations: int) -> float:
        """Return the share of what was said that the model can be relied on to go by."""
        return reliability(generations, self.conversation.session.lease.parameters_billion)

    def _session(self) -> Session:
        begun = self.begun
        return begun.engine.session(
            begun.session_id,
            model=begun.alias,
            form=self._model.form,
            scope=self.asked.scope,
            mode=self.asked.mode,
        )

    def _take(self, said: str) -> None:
        named = command_of(said)
        if named is None:
            self.turn(said)
            return
        name, rest = named
        if name not in COMMANDS:
            known = ", ".join(f"/{one}" for one in COMMANDS)
            self._fail(UNNAMED.format(name=name[:40], known=known))
            return
        try:
            COMMANDS[name].act(self, rest)
        except SquidbotError as error:
            self._fail(str(error))
        if not self.ends:
            self.screen.say("")

    def _tell(self, turn: Turn) -> None:
        """Write what a turn has cost, why it broke off, and what happened meanwhile."""
        if turn.broken == BY_USER:
            self.screen.say(f"! stopped; {_kept(turn)}", "warn")
            self.failed = True
        elif turn.broken:
            self._fail(turn.broken)
            self.screen.say(_kept(turn), "dim")
        elif not turn.text.strip():
            self.screen.say("(the model said nothing)", "dim")
        for heard in self.begun.ears.heard():
            self.screen.remark(heard)
        if turn.sent:
            self.screen.cost(turn, self.budget(), self.conversation.session.core.settings.prices)
        self.screen.say("")

    def _fail(self, text: str) -> None:
        self.failed = True
        self.screen.fail(text)

    def _greet(self) -> None:
        wired, screen = self.begun.engine.wired, self.screen
        session = self.conversation.session
        window = f"window {session.lease.window_tokens:,} tokens"
        screen.say(f"squidbot chat: {self.model_line}, {window}", "bold")
        if self.begun.alias == DEMO and self.asked.demo:
            screen.say("A demonstration: the model's weights are random, and so is what it says.", "warn")
        kept = wired.loaded.settings.store.path
        if kept:
            screen.say(f"session {session.session_id} in {kept}; --new begins another one", "dim")
        else:
            screen.say("kept in memory only: set store.path in squidbot.toml so that it is there again", "warn")
        self.conversation.recover()
        self._remind()
        screen.say("/help lists the commands, Ctrl-C stops an answer, Ctrl-D ends", "dim")

    def _remind(self) -> None:
        """Write what was said last in a session that goes on."""
        place, session_id = OpenStore(self.begun.engine.wired), self.begun.session_id
        messages = place.length(session_id)
        if not messages:
            return
        said = [row for row in place.store.read(session_id, max(0, messages - 12), messages - 1) if not row.result_ids]
        when = ago(said[-1].time, time.time()) if said else ""
        self.screen.say(f"{count(messages, 'message')} so far, the newest {when}:", "dim")
        columns = self.screen.columns
        for row in said[-2:]:
            who = "you" if row.role == "user" else "model"
            pieces = place.codec(row.codec).portable(row.payload).pieces
            # Its reasoning is left out, as it was when it came.
            text = " ".join(piece.text for piece in pieces if isinstance(piece, Words))
            self.screen.say(f"  {who}: {shorter(text, columns - len(who) - 5)}")
        cut = newest_cut(place.store, session_id)
        if cut and cut.seq == messages - 1:
            self.screen.say(f"  that answer broke off: {cut.why}", "warn")

    def _part(self) -> None:
        """Write how to go on."""
        if self.screen.is_terminal and self.begun.engine.wired.loaded.settings.store.path and not self.asked.demo:
            self.screen.say(f"squidbot chat --session {self.begun.session_id} goes on from here", "dim")


def _kept(turn: Turn) -> str:
    return f"what you said is kept{', and what came of the answer' if turn.text.strip() else '; no answer came'}"
