"""What begins with a slash: it is done here, and no model is told of it."""

from __future__ import annotations

import re
import time
from textwrap import wrap
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from squidbot.chat.journal import journal as journal_of
from squidbot.cli.explain import explain
from squidbot.cli.memory import for_people, put_entries
from squidbot.cli.open_store import OpenStore
from squidbot.cli.printer import Printer
from squidbot.cli.texts import count, event_line, percent
from squidbot.core.budget import level_of
from squidbot.core.memory.asking import Asked
from squidbot.tool_goals import told

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from squidbot.chat.conversation import Conversation
    from squidbot.chat.screen import Screen
    from squidbot.chat.starting import Asked as Wanted
    from squidbot.chat.starting import Begun
    from squidbot.core.journal import Entry

__all__ = ["COMMANDS", "Command", "Talk", "command_of"]

_SLASHED: Final = re.compile(r"/([a-z]+)(?:\s+(.*))?\s*", re.DOTALL)
# How many entries of the journal a tag finds.
ENTRIES: Final = 5
_MESSAGE: Final = re.compile(r"m?([0-9]{1,12})")


class Talk(Protocol):
    """The conversation that a command is about: its parts, and what is told of it. `ends` set: it is over."""

    ends: bool

    @property
    def asked(self) -> Wanted:
        """What the user has asked for."""

    @property
    def begun(self) -> Begun:
        """Engine, model and session."""

    @property
    def conversation(self) -> Conversation:
        """Who is talked to."""

    @property
    def screen(self) -> Screen:
        """Where it is shown."""

    @property
    def model_line(self) -> str:
        """Which model it is, and who opens it."""

    def budget(self) -> tuple[str, str]:
        """Return the budget of the next request as a line, and its style."""

    def reliability(self, generations: int) -> float:
        """Return the share of what was said that the model can be relied on to go by."""


class Command(NamedTuple):
    """What a command is called with, what it does, and who does it."""

    takes: str
    says: str
    act: Callable[[Talk, str], None]


def command_of(said: str) -> tuple[str, str] | None:
    """Return name and rest where something said is a command, known or not; a path like /etc/hosts is none."""
    found = _SLASHED.fullmatch(said)
    return (found[1], (found[2] or "").strip()) if found else None


def _undo(talk: Talk, _rest: str) -> None:
    plan = talk.conversation.session.undo()
    what = "everything is sent as it was said" if plan.repeats == -1 else "undone"
    talk.screen.say(f"{what}; {event_line(plan)}")


def _compact(talk: Talk, _rest: str) -> None:
    plan = talk.conversation.session.compact()
    said = f"shortened; {event_line(plan)}; /undo takes it back" if plan else "there is nothing to shorten"
    talk.screen.say(said)


def _explain(talk: Talk, rest: str) -> None:
    place, session_id = OpenStore(talk.begun.engine.wired), talk.begun.session_id
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
    session, wired, paper = talk.conversation.session, talk.begun.engine.wired, Printer()
    room, lease = session.core.room(), session.lease
    standing = room.standing
    kept = wired.loaded.settings.store.path
    counted = wired.why_counted(lease.model) if lease.model else ""
    where = f"in {wired.loaded.absolute(kept)}" if kept else "in memory only: it is gone when this ends"
    fraction = talk.reliability(standing.generations)
    notes = sum(1 for block in standing.blocks if block.segment.summary_id)
    paper.pairs(
        [
            ("session", f"{session.session_id}, {count(standing.messages, 'message')}, {where}"),
            ("model", talk.model_line),
            ("window", f"{lease.window_tokens:,} tokens ({lease.source}), {lease.reserved_output_tokens:,} to answer"),
            ("counted", f"by {lease.counter} ({session.meter.certificate}){f': {counted}' if counted else ''}"),
            ("budget", talk.budget()[0]),
            ("past", f"{count(notes, 'note')} in the place of older messages" if notes else "sent as it was said"),
            ("reliability", f"{percent(fraction)}, {level_of(fraction)}"),
            ("mode", session.mode),
            ("tools", ", ".join(talk.conversation.tool_names) or "none"),
            ("user", talk.asked.scope.user or "nobody is named (--user): facts are everybody's"),
        ]
    )
    paper.print()


def _journal(talk: Talk, rest: str) -> None:
    paper, tag = Printer(), rest.removeprefix("#").strip()
    entries = _entries(talk, tag)
    put_entries(paper, entries)
    if tag:
        if not entries:
            paper.say(f"the journal has no entries tagged {tag[:40]!r}")
        paper.print()
        return
    if entries:
        paper.blank()
    parts = journal_of(talk.conversation.session).parts()
    for number, (name, said) in enumerate(parts):
        if number:
            paper.blank()
        paper.heading(name)
        for one in said:
            paper.body(one, whole=True)
    if not parts and not entries:
        paper.say("nothing yet: lines that begin with [GOAL], [DECISION] or [NEXT] are kept, whoever says them")
    paper.print()


def _goals(talk: Talk, rest: str) -> None:
    action, _, text = rest.partition(" ")
    book = talk.conversation.session.goals
    try:
        goals = book.change(action, text) if action else book.goals()
    except ValueError as error:
        talk.screen.fail(f"{error}; for example /goals set Ship the parser")
        return
    paper = Printer()
    for one in told(goals).splitlines():
        paper.say(one)
    paper.print()


def _entries(talk: Talk, tag: str) -> Sequence[Entry]:
    """Return the newest entries of the journal; none where it is switched off."""
    journals = talk.begun.engine.wired.journals
    limit = ENTRIES if tag else 1
    return journals.of(talk.asked.scope).latest(limit, tag=tag).entries if journals.enabled else ()


def _memory(talk: Talk, rest: str) -> None:
    memories, now = talk.begun.engine.memories(talk.asked.scope), time.time()
    found = memories.search(Asked(rest), now) if rest else memories.listed(Asked(), now)
    paper = Printer()
    for one in for_people(found.text).splitlines():
        hanging = "  " if one.startswith("- ") else ""
        paper.body("\n".join(wrap(one, paper.columns, subsequent_indent=hanging)), whole=True, indent="")
    paper.print()


def _help(_talk: Talk, _rest: str) -> None:
    paper = Printer()
    paper.pairs([(f"/{name} {one.takes}".rstrip(), one.says) for name, one in COMMANDS.items()])
    paper.blank()
    paper.say("Enter says it; Alt-Enter, or \\ in front of Enter, begins another line. Ctrl-C stops an answer.")
    paper.print()


def _quit(talk: Talk, _rest: str) -> None:
    talk.ends = True


COMMANDS: Final[Mapping[str, Command]] = {
    "undo": Command("", "take the newest shortening back", _undo),
    "compact": Command("", "shorten what is sent now; nothing that was said is lost", _compact),
    "explain": Command("[m17]", "what the next request holds and why, or what became of a message", _explain),
    "status": Command("", "session, model, window, budget", _status),
    "journal": Command("[TAG]", "the journal; goals, decisions, progress and what is open", _journal),
    "goals": Command("[ACTION TEXT]", "what this is after; /goals set ... and the like change it", _goals),
    "memory": Command("[QUERY]", "durable facts, searched or listed", _memory),
    "help": Command("", "these lines", _help),
    "quit": Command("", "end; Ctrl-D does, too", _quit),
}
