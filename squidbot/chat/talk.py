"""A conversation from its first line to its end: the user types commands, or messages for the model."""

from __future__ import annotations

import re
import signal
import sys
import threading
import time
from contextlib import contextmanager
from itertools import chain
from textwrap import wrap
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.chat.conversation import BY_USER, ChatSession
from squidbot.chat.screen import budget_line
from squidbot.cli.explain import explain
from squidbot.cli.memory import for_people, put_entries
from squidbot.cli.open_store import OpenStore
from squidbot.cli.printer import Printer
from squidbot.cli.texts import ago, count, event_line, percent, shorter
from squidbot.core import events
from squidbot.core.budget import level_of, reliability
from squidbot.core.errors import BudgetError, SquidbotError
from squidbot.core.memory.view import MemoryQuery
from squidbot.core.messages import Words
from squidbot.core.transcript.bookkeeping import CUT
from squidbot.core.transcript.markers import marked_lines
from squidbot.hookspecs import hookimpl
from squidbot.tools.goals import goal_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FrameType

    from squidbot.chat.conversation import ChatTurn
    from squidbot.chat.screen import Screen
    from squidbot.core.events import Event
    from squidbot.core.journal import JournalEntry
    from squidbot.core.memories import Scope
    from squidbot.engine import Engine
    from squidbot.session import Session

# Markers of lines, and the headings that show them.
MARKED: Final = {"GOAL": "Goals", "DECISION": "Decisions", "CHECKPOINT": "Progress", "NEXT": "Next"}


def _marked(session: Session) -> dict[str, list[str]]:
    """Return the pinned texts and marked lines of a session, under headings; nothing is written.

    Raises:
        StoreError: the store failed.
    """
    view = session.core.room().view
    parts = {"Pinned": [section.text for section in view.pins.texts], **{name: [] for name in MARKED.values()}}
    for line in chain.from_iterable(map(marked_lines, view.markers.between(0, view.messages))):
        if line.marker in MARKED:
            parts[MARKED[line.marker]].append(line.said)
    return {name: texts for name, texts in parts.items() if texts}


_SLASHED: Final = re.compile(r"/([a-z]+)(?:\s+(.*))?\s*", re.DOTALL)
# How many journal entries to show for a tag.
ENTRIES: Final = 5
_MESSAGE: Final = re.compile(r"m?([0-9]{1,12})")


class SlashCommand(NamedTuple):
    """A command: its arguments, its help, and its function."""

    takes: str
    says: str
    act: Callable[[Talk, str], None]


def command_of(said: str) -> tuple[str, str] | None:
    """Return the name and the rest of a command, known or not; a path like /etc/hosts is not one."""
    found = _SLASHED.fullmatch(said)
    return (found[1], (found[2] or "").strip()) if found else None


def _undo(talk: Talk, _rest: str) -> None:
    plan = talk.conversation.session.undo()
    what = "everything is sent verbatim" if plan.repeats == -1 else "undone"
    talk.screen.say(f"{what}; {event_line(plan)}")


def _compact(talk: Talk, _rest: str) -> None:
    plan = talk.conversation.session.compact()
    text = f"shortened; {event_line(plan)}; /undo takes it back" if plan else "there is nothing to shorten"
    talk.screen.say(text)


def _explain(talk: Talk, rest: str) -> None:
    place, session_id = OpenStore(talk.setup.engine.wired), talk.setup.session_id
    messages, found = place.length(session_id), _MESSAGE.fullmatch(rest)
    if not messages:
        talk.screen.say("nothing has been said yet")
    elif not rest:
        explain(place, session_id).print()
    elif found and int(found[1]) < messages:
        explain(place, session_id, int(found[1])).print()
    else:
        talk.screen.fail(f"no message {rest[:40]!r}; there are m0 to m{messages - 1}")


def _status(talk: Talk, _rest: str) -> None:
    session, wired, page = talk.conversation.session, talk.setup.engine.wired, Printer()
    room, window = session.core.room(), session.window
    standing = room.view
    kept = wired.loaded.store_place
    counted = wired.why_counted(window.model) if window.model else ""
    where = f"in {kept}" if kept else "in memory only: lost when the chat ends"
    fraction = talk.reliability(standing.generations)
    notes = sum(1 for block in standing.blocks if block.segment.summary_id)
    page.pairs(
        [
            ("session", f"{session.session_id}, {count(standing.messages, 'message')}, {where}"),
            ("model", talk.model_line),
            (
                "window",
                f"{window.window_tokens:,} tokens ({window.source}), {window.reserved_output_tokens:,} to answer",
            ),
            ("counted", f"by {window.counter} ({session.meter.certificate}){f': {counted}' if counted else ''}"),
            ("budget", talk.budget()[0]),
            ("past", f"{count(notes, 'note')} in the place of older messages" if notes else "sent verbatim"),
            ("reliability", f"{percent(fraction)}, {level_of(fraction)}"),
            ("mode", session.mode),
            ("tools", ", ".join(talk.conversation.tool_names) or "none"),
            ("user", talk.setup.scope.user),
        ]
    )
    page.print()


def _journal(talk: Talk, rest: str) -> None:
    page, tag = Printer(), rest.removeprefix("#").strip()
    entries = _entries(talk, tag)
    put_entries(page, entries)
    if tag:
        if not entries:
            page.say(f"the journal has no entries tagged {tag[:40]!r}")
        page.print()
        return
    if entries:
        page.blank()
    parts = _marked(talk.conversation.session)
    for number, (name, texts) in enumerate(parts.items()):
        if number:
            page.blank()
        page.heading(name)
        for text in texts:
            page.body(text, whole=True)
    if not parts and not entries:
        page.say("nothing yet: lines that begin with [GOAL], [DECISION] or [NEXT] are kept, yours and the model's")
    page.print()


def _goals(talk: Talk, rest: str) -> None:
    action, _, text = rest.partition(" ")
    book = talk.conversation.session.goals
    try:
        goals = book.change(action, text) if action else book.goals()
    except ValueError as error:
        talk.screen.fail(f"{error}; for example /goals set Ship the parser")
        return
    page = Printer()
    for row in goal_lines(goals).splitlines():
        page.say(row)
    page.print()


def _entries(talk: Talk, tag: str) -> Sequence[JournalEntry]:
    """Return the newest journal entries; none if it is off."""
    journals = talk.setup.engine.wired.journals
    limit = ENTRIES if tag else 1
    return journals.of(talk.setup.scope).latest(limit, tag=tag).entries if journals.enabled else ()


def _memory(talk: Talk, rest: str) -> None:
    memories, now = talk.setup.engine.memories(talk.setup.scope), time.time()
    found = memories.search(MemoryQuery(rest), now) if rest else memories.listed(MemoryQuery(), now)
    page = Printer()
    for row in for_people(found.text).splitlines():
        hanging = "  " if row.startswith("- ") else ""
        page.body("\n".join(wrap(row, page.columns, subsequent_indent=hanging)), whole=True, indent="")
    page.print()


def _report(talk: Talk, rest: str) -> None:
    from squidbot.cli.report import DEFAULT, drawn  # noqa: PLC0415  # nothing is drawn unless it is asked for

    place, session_id = OpenStore(talk.setup.engine.wired), talk.setup.session_id
    if not place.length(session_id):
        talk.screen.say("nothing has been said yet")
    else:
        talk.screen.say(drawn(place, session_id, rest or DEFAULT))


def _help(_talk: Talk, _rest: str) -> None:
    page = Printer()
    page.pairs([(f"/{name} {one.takes}".rstrip(), one.says) for name, one in COMMANDS.items()])
    page.blank()
    page.say("Enter sends; Alt-Enter or \\ + Enter starts a new line. Ctrl-C stops an answer.")
    page.print()


def _quit(talk: Talk, _rest: str) -> None:
    talk.ends = True


COMMANDS: Final[Mapping[str, SlashCommand]] = {
    "undo": SlashCommand("", "undo the newest compaction", _undo),
    "compact": SlashCommand("", "compact now; nothing is lost", _compact),
    "explain": SlashCommand("[m17]", "show the next request, or the state of a message", _explain),
    "report": SlashCommand("[FILE.html]", "draw this chat in a file for the browser", _report),
    "status": SlashCommand("", "session, model, window, budget", _status),
    "journal": SlashCommand("[TAG]", "the journal; goals, decisions, progress and next steps", _journal),
    "goals": SlashCommand("[ACTION TEXT]", "show the goals; /goals set ... and the like change them", _goals),
    "memory": SlashCommand("[QUERY]", "search or list durable facts", _memory),
    "help": SlashCommand("", "these lines", _help),
    "quit": SlashCommand("", "end; Ctrl-D does, too", _quit),
}


UNNAMED = "unknown command /{name}; there are {known}"


def piped_line(_toolbar: Callable[[], str]) -> str:
    """Return the next line of standard input.

    Raises:
        EOFError: the input has ended.
    """
    said = sys.stdin.readline()
    if not said:
        raise EOFError
    return said.removesuffix("\n")


RESTART: Final = "to free memory, restart with a smaller context_window or window.max"
# Events that the user sees at once; a compaction is shown with its request.
TOLD: Final = {
    events.CONTEXT_PRESSURE: "history is {share:.0%} full ({cause})",
    events.RELIABILITY_LOW: "{cause}",
    events.SILENT_TRUNCATION: "{cause}",
    events.USAGE_DROPPED: "{cause}",
    events.DEGRADED: "{cause}",
    events.FACTS_ERROR: "{cause}",
    events.LOW_MEMORY: f"low GPU memory: {{cause}}; {RESTART}",
    events.MEMORY_WARNING: f"warning, GPU memory: {{cause}}; {RESTART}",
    events.MEMORY_CRITICAL: f"critical, GPU memory: {{cause}}; {RESTART}",
    events.MEMORY_EMERGENCY: f"emergency, GPU memory: {{cause}}; {RESTART}",
    events.JOURNAL_HEARTBEAT: "status: {cause}",
}
# Each of these says more than `low-memory`, which comes with it for the same reason.
LEVELS: Final = frozenset({events.MEMORY_WARNING, events.MEMORY_CRITICAL, events.MEMORY_EMERGENCY})


class Notices:
    """An extension that collects sentences for the user."""

    def __init__(self) -> None:
        """Begin without notices."""
        self._events: list[Event] = []
        # The journal's newest status, of one or two lines, until it is taken with the other sentences.
        self.status = ""

    @hookimpl
    def on_event(self, event: Event) -> None:
        """Keep events that the user should see."""
        if event.name in TOLD:
            self._events.append(event)
        if event.name == events.JOURNAL_HEARTBEAT:
            self.status = event.cause

    def take(self) -> list[str]:
        """Return the new sentences, each once."""
        found, self._events, self.status = self._events, [], ""
        named = {event.cause for event in found if event.name in LEVELS}
        shown = (event for event in found if event.name != events.LOW_MEMORY or event.cause not in named)
        texts = (TOLD[one.name].format(share=one.fraction, cause=one.cause) for one in shown)
        return list(dict.fromkeys(line for text in texts for line in text.splitlines()))


class ChatSetup(NamedTuple):
    """The setup of a conversation.

    Attributes:
        engine, alias, session_id: its engine, its model, and its session.
        notices: sentences from events.
        scope: the user's scope.
        mode: the mode; None keeps the previous one.
    """

    engine: Engine
    alias: str
    session_id: str
    notices: Notices
    scope: Scope
    mode: str | None = None


class Interrupts:
    """Handles Ctrl-C during a turn. Outside `turn` it works as usual."""

    def __init__(self) -> None:
        """Begin without an interrupt."""
        self._listens = False
        self._wanted = False

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Delay Ctrl-C until `stoppable`; the end of the turn drops a late one."""
        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread gets it
            return
        self._wanted = False
        before = signal.signal(signal.SIGINT, self._told)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def stoppable(self) -> Iterator[None]:
        """Raise Ctrl-C as a KeyboardInterrupt, also an earlier one."""
        self._listens = True
        try:
            if self._wanted:
                raise KeyboardInterrupt
            yield
        finally:
            self._listens = False

    def _told(self, _signal: int, _frame: FrameType | None) -> None:
        self._wanted = True
        if self._listens:
            self._listens = False  # a second one must not interrupt the handling of the first
            raise KeyboardInterrupt


class Talk:
    """One conversation, its screen, and its options. `ends` is true when it is over."""

    def __init__(self, setup: ChatSetup, screen: Screen, *, system: str, tools: bool) -> None:
        """Open the model, which may take long, and then the session.

        Raises:
            SquidbotError: the model can't be opened.
        """
        self.setup = setup
        self.screen = screen
        self.ends = False
        self.failed = False
        self._interrupts = Interrupts()
        if screen.is_terminal:
            screen.remark(f"opening {setup.alias}")
        self._model = setup.engine.model(setup.alias)
        stoppable = self._interrupts.stoppable
        self.conversation = ChatSession(
            self._model, self._session, screen, system=system, tools=tools, stoppable=stoppable
        )

    @property
    def model_line(self) -> str:
        """The model and its adapter, as text."""
        model = self.setup.engine.wired.loaded.settings.model(self.setup.alias)
        return f"{self.setup.alias} ({self._model.name}, by {model.adapter})"

    def run(self, read: Callable[[Callable[[], str]], str]) -> None:
        """Run until the input or a command ends it; `read` takes a function for the lines below the input."""
        self._greet()
        while not self.ends:
            try:
                said = read(self._toolbar)
            except EOFError:
                break
            except KeyboardInterrupt:
                self.screen.say("Ctrl-D or /quit ends", "dim")
                continue
            self._put_notices()  # what came while the user typed
            if said.strip():
                self._take(said)
        self._part()

    def turn(self, said: str) -> ChatTurn | None:
        """Send a message, show the answer, and return the turn; None if the message was not recorded."""
        try:
            with self._interrupts.turn():
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
        """Return the reliability of the model with the current notes, from 0 to 1."""
        return reliability(generations, self.conversation.session.window.parameters_billion)

    def _session(self) -> Session:
        engine, alias, session_id, _, scope, mode = self.setup
        return engine.session(session_id, model=alias, form=self._model.form, scope=scope, mode=mode)

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
        except (SquidbotError, OSError) as error:
            self._fail(str(error))
        if not self.ends:
            self.screen.say("")

    def _tell(self, turn: ChatTurn) -> None:
        """Write a turn's cost, why it stopped, and new notices."""
        if turn.broken == BY_USER:
            self.screen.say(f"! stopped; {_kept(turn)}", "warn")
            self.failed = True
        elif turn.broken:
            self._fail(turn.broken)
            self.screen.say(_kept(turn), "dim")
        elif not turn.text.strip():
            self.screen.say("(the model's answer is empty)", "dim")
        self._put_notices()
        if turn.sent:
            self.screen.cost(turn, self.budget(), self.conversation.session.core.settings.prices)
        self.screen.say("")

    def _put_notices(self) -> None:
        for notice in self.setup.notices.take():
            self.screen.remark(notice)

    def _toolbar(self) -> str:
        """Return the budget, and below it the journal's newest status until the user sends a line."""
        rows = (self.budget()[0], *self.setup.notices.status.splitlines())
        return "\n".join(shorter(row, self.screen.columns) for row in rows)

    def _fail(self, text: str) -> None:
        self.failed = True
        self.screen.fail(text)

    def _greet(self) -> None:
        wired, screen = self.setup.engine.wired, self.screen
        session = self.conversation.session
        window = f"window {session.window.window_tokens:,} tokens"
        screen.say(f"squidbot chat: {self.model_line}, {window}", "bold")
        kept = wired.loaded.settings.store.path or wired.loaded.store_place
        if kept:
            screen.say(f"session {session.session_id} in {kept}; --new begins another one", "dim")
        else:
            screen.say("in memory only: set store.path in squidbot.toml to keep it", "warn")
        self.conversation.recover()
        self._remind()
        screen.say("/help lists the commands, Ctrl-C stops an answer, Ctrl-D ends", "dim")

    def _remind(self) -> None:
        """Write the newest messages of a continued session."""
        place, session_id = OpenStore(self.setup.engine.wired), self.setup.session_id
        messages = place.length(session_id)
        if not messages:
            return
        rows = [row for row in place.store.read(session_id, max(0, messages - 12), messages - 1) if not row.result_ids]
        when = ago(rows[-1].time, time.time()) if rows else ""
        self.screen.say(f"{count(messages, 'message')} so far, the newest {when}:", "dim")
        columns = self.screen.columns
        for row in rows[-2:]:
            who = "you" if row.role == "user" else "model"
            pieces = place.codec(row.codec).portable(row.payload).pieces
            # Leave out reasoning, as when it arrived.
            text = " ".join(piece.text for piece in pieces if isinstance(piece, Words))
            self.screen.say(f"  {who}: {shorter(text, columns - len(who) - 5)}")
        cut = CUT.newest(place.store, session_id)
        if cut and cut.seq == messages - 1:
            self.screen.say(f"  that answer broke off: {cut.why}", "warn")

    def _part(self) -> None:
        """Write how to continue."""
        if self.screen.is_terminal and self.setup.engine.wired.loaded.store_place:
            self.screen.say(f"squidbot chat --session {self.setup.session_id} continues from here", "dim")


def _kept(turn: ChatTurn) -> str:
    return f"your message is kept{', and the partial answer' if turn.text.strip() else '; no answer arrived'}"
