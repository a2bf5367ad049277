"""`squidbot doctor` and `squidbot backup`: whether a store is whole, and copies of it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from squidbot.commands import options
from squidbot.commands.ending import DAMAGED_DATA
from squidbot.commands.paper import Paper
from squidbot.commands.reading.opened import file_of, opened
from squidbot.commands.texts import count, line, seqs
from squidbot.core.errors import StoreError
from squidbot.services.forget import Wrote, note_written

if TYPE_CHECKING:
    from squidbot.adapters.sqlite3.doctor import Health, Repaired, SessionHealth

__all__ = ["backup", "doctor"]

# Of one session's records that can't be read.
MOST_SAID = 5


@click.command()
@click.option("--repair", metavar="TARGET", help="Save what can be saved into a new file; the store stays as it is.")
@options.store
@options.as_json
def doctor(*, repair: str | None, store: str | None, as_json: bool) -> None:
    """Read every row of a store and say what is damaged; nothing is written but, with --repair, a new file."""
    from squidbot.adapters.sqlite3 import doctor as rows  # noqa: PLC0415  # only this command needs it

    path = file_of(store)
    health = rows.check(path, proves_words=True)
    unread = _unread(store) if health.whole else {}
    repaired = rows.repair(path, repair) if repair is not None else None
    if as_json:
        made = asdict(repaired) | {"messages": repaired.messages} if repaired else None
        whole = health.whole and not unread
        options.print_json({**asdict(health), "unreadable": unread, "whole": whole, "repaired": made})
    else:
        _print(health, repaired, unread)
    lost = any(not one.whole for one in repaired.sessions) if repaired else not health.whole
    lost = lost or bool(health.damaged_memories or unread)
    click.get_current_context().exit(DAMAGED_DATA if lost else 0)


@click.command()
@click.argument("target")
@options.store
@options.as_json
def backup(*, target: str, store: str | None, as_json: bool) -> None:
    """Copy a store, while it is in use, to the new file TARGET."""
    with opened(store) as place:
        copy = getattr(place.store, "backup", None)
        if copy is None:
            raise StoreError("this store makes no backups itself; use its own tools")
        copy(target)
        note_written(place.wired.written, Wrote(str(Path(target).absolute()), "backup"))
        sessions = len(place.sessions())
    if as_json:
        options.print_json({"target": target, "sessions": sessions})
    else:
        click.echo(f"{line(target)}: {count(sessions, 'session')}")


def _unread(store: str | None) -> dict[str, list[str]]:
    """Return what the engine can't read of sessions whose rows are whole, by session: calls of these fail with it."""
    from squidbot.core.kinds import unreadable  # noqa: PLC0415  # only doctor needs it

    with opened(store) as place:
        found = {name: list(unreadable(place.store, name)) for name, _ in place.sessions()}
    return {name: said for name, said in found.items() if said}


def _print(health: Health, repaired: Repaired | None, unread: dict[str, list[str]]) -> None:
    paper = Paper()
    verdict = "whole" if health.whole and not unread else f"DAMAGED, {_lost_of(health, unread)}"
    stored = f"{count(len(health.sessions), 'session')}, {count(health.messages, 'message')}"
    if health.memories:
        stored += f", {count(health.memories, 'memory', 'memories')}"
    paper.heading(f"{health.path}: {verdict}")
    paper.say(f"{stored}; {health.file_bytes:,} bytes, and {health.log_bytes:,} in the write-ahead log")
    for problem in health.problems:
        paper.say(f"- {problem}")
    for session in health.sessions:
        if not session.whole:
            paper.say(f"- {session.session_id}: {_lost(session)}")
    _print_unread(paper, unread)
    if repaired is not None:
        saved = count(repaired.messages, "message")
        if repaired.memories:
            saved += f", {count(repaired.memories, 'memory', 'memories')}"
        paper.say(f"saved: {saved} into {repaired.target}; the original is as it was")
    elif not health.whole:
        paper.say("squidbot doctor --repair TARGET saves what can be saved into a new store")
    paper.print()


def _lost_of(health: Health, unread: dict[str, list[str]]) -> str:
    lost = f"{count(health.damaged, 'message')} lost"
    if health.damaged_memories:
        lost += f", {count(len(health.damaged_memories), 'memory', 'memories')} too"
    return f"{lost}, but records can't be read" if unread else lost


def _print_unread(paper: Paper, unread: dict[str, list[str]]) -> None:
    for name, said in unread.items():
        paper.say(f"- {name}: {'; '.join(said[:MOST_SAID])}{'; and more' if len(said) > MOST_SAID else ''}")
    if unread:
        paper.say("these are as they were written, in a copy, too: a backup from before has the session without them")


def _lost(session: SessionHealth) -> str:
    parts = [f"lost {seqs(session.damaged)}"] if session.damaged else []
    if session.damaged_records:
        parts.append(f"lost records {', '.join(f'{kind} {number}' for kind, number in session.damaged_records[:8])}")
    if session.damaged_summaries:
        parts.append(f"lost notes {', '.join(session.damaged_summaries[:8])}")
    if not session.named:
        parts.append("its name is lost")
    return "; ".join(parts)
