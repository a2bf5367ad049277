"""`squidbot forget`: messages, whole sessions, all of a user, removed for good with what was made of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, runtime_checkable

import click

from squidbot.adapters.common.files import remove, replace
from squidbot.commands import options
from squidbot.commands.ending import complain
from squidbot.commands.events import event_line
from squidbot.commands.export import texts_of
from squidbot.commands.paper import Paper
from squidbot.commands.reading.forms import FORMS
from squidbot.commands.reading.opened import opened
from squidbot.commands.reading.terms import session_of
from squidbot.commands.texts import count, line, seqs
from squidbot.core.errors import StoreError
from squidbot.services.forget import digest_of, forget_messages, forget_session, forget_user, note_written, written_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from squidbot.commands.reading.opened import Opened
    from squidbot.core.forgetting import Forgotten
    from squidbot.services.forget import Gone, Wrote

__all__ = ["forget"]


@runtime_checkable
class _Scrubs(Protocol):
    def is_scrubbed(self) -> bool:
        """Say whether the bytes of all that was forgotten are overwritten."""

    def scrub(self) -> None:
        """Overwrite the bytes of what was forgotten."""


class _Made(NamedTuple):
    """What was forgotten: as JSON, as lines for people, whose sessions it is of, and which files were written anew."""

    said: dict[str, object]
    lines: tuple[str, ...]
    told: tuple[str, ...]
    files: tuple[str, ...]


class _Left(NamedTuple):
    """A file that squidbot wrote of what is forgotten now, and what became of it: "rewritten", "removed", or ""."""

    file: Wrote
    became: str = ""


# What `--files` does not write anew: a file of these has more than one session, or the words of facts.
_REMOVED_BY_HAND: Final = {
    "backup": "a backup, which may still have it: remove it",
    "workspaceai": "has several sessions, and may still have it: remove it, and export again",
    "facts": "facts or entries of a journal, which may still have it: remove it, and export again",
    "turns": "a log of turns, which may still have it: remove it",
}
_RUN = re.compile(r"m([0-9]{1,12})(?:-m?([0-9]{1,12}))?")
MOST_AT_ONCE = 10_000
UNKNOWN: Final = "copies that you or other programs have made are not known to squidbot, and stay"


def _messages(values: Sequence[str]) -> tuple[int, ...]:
    """Return the seqs that ids and runs name, each once, in order.

    Raises:
        click.BadParameter: one names none.
    """
    named: set[int] = set()
    for value in values:
        found = _RUN.fullmatch(value)
        first = int(found[1]) if found else 0
        last = int(found[2] or first) if found else -1
        if not first <= last < first + MOST_AT_ONCE:
            raise click.BadParameter(f"{value[:40]!r} names no messages; write m17 or m17-m20")
        named.update(range(first, last + 1))
    return tuple(sorted(named))


@click.command()
@click.argument("named", metavar="[SESSION ID...]", nargs=-1)
@click.option("--session", "session_id", metavar="ID", help="The whole session of this id.")
@click.option("--user", metavar="ID", help="All that this user has said, and all that is kept of them.")
@click.option("--reason", metavar="TEXT", default="", help="Kept beside the ids; not what is to be forgotten.")
@click.option("--files", is_flag=True, help="Write exports anew that squidbot knows of; those of a whole session go.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.store
@options.as_json
def forget(  # noqa: PLR0913  # an argument for each option
    *,
    named: tuple[str, ...],
    session_id: str | None,
    user: str | None,
    reason: str,
    files: bool,
    yes: bool,
    store: str | None,
    as_json: bool,
) -> None:
    """Remove messages for good: SESSION m17 m20-m24; a whole session, or all of a user. It can't be taken back.

    With them go the notes that tell of them, copies that were recalled, durable facts that nothing else says, what
    entries of the journal and the log of turns tell of them, and what search knows of them; a mark stands in the place
    of each message. What other messages say of them stays. Exports and backups that squidbot wrote are listed.
    """
    if (session_id is not None) + (user is not None) + bool(named) != 1 or len(named) == 1:
        raise click.UsageError("name a session and its messages (SESSION m17 m20-m24), or --session ID, or --user ID")
    with opened(store, writes=True) as place:
        if user is not None:
            _ask(f"all that is kept of the user {line(user)}", yes=yes)
            sessions = [name for name, _ in place.sessions()]
            made = _of_gone({"user": user}, forget_user(place.wired, user, sessions, reason=reason))
        elif session_id is not None:
            name = place.find(session_id)
            _ask(f"the whole session {line(name)} ({count(place.length(name), 'message')})", yes=yes)
            made = _of_gone({"session": name}, forget_session(place.wired, name, reason=reason))
        else:
            made = _of_messages(place, named, reason, yes=yes)
        left = [*_files(place, made.told, rewrites=files)]
        unscrubbed = _left(place)
    if as_json:
        options.print_json({**made.said, "files": _files_json(made.files, left), "overwritten": not unscrubbed})
    else:
        _print(made, left)
    if unscrubbed:
        complain(f"forgotten, but its bytes are not overwritten yet: {unscrubbed}")


def _ask(what: str, *, yes: bool) -> None:
    if not yes:
        click.confirm(f"Forget {what} for good?", abort=True, err=True)


def _of_messages(place: Opened, named: tuple[str, ...], reason: str, *, yes: bool) -> _Made:
    messages, name = _messages(named[1:]), place.find(named[0])
    _ask(f"{count(len(messages), 'message')} of {line(name)} ({seqs(messages)})", yes=yes)
    forgotten = forget_messages(place.wired, session_of(place, name), messages, reason=reason)
    return _Made(_json(name, forgotten), tuple(_lines(name, forgotten)), (name,), forgotten.files)


def _of_gone(whose: dict[str, object], gone: Gone) -> _Made:
    said = {**whose, "sessions": list(gone.sessions), "messages": gone.messages, "facts": list(gone.facts)}
    lines = [f"{one}: forgotten, the whole session" for one in gone.sessions]
    if gone.messages:
        lines.append(f"{count(gone.messages, 'message')} of sessions in which others speak, too")
    if gone.facts:
        lines.append(f"{count(len(gone.facts), 'fact')} forgotten")
    return _Made(said, tuple(lines), gone.sessions, gone.files)


def _left(place: Opened) -> str:
    """Return why the bytes of what was forgotten still stand in the store's files; "" where they do not."""
    if not isinstance(place.store, _Scrubs) or place.store.is_scrubbed():
        return ""
    try:
        place.store.scrub()
    except StoreError as error:
        return str(error)
    return ""


def _files(place: Opened, sessions: tuple[str, ...], *, rewrites: bool) -> Iterator[_Left]:
    """Yield the files that squidbot wrote of sessions; where it `rewrites`, exports that nobody has changed since."""
    for one in written_of(place.wired, sessions):
        if not rewrites or one.form not in FORMS or not one.is_unchanged:
            yield _Left(one)
        elif any(place.length(name) == 0 for name in one.sessions):
            remove(one.path)
            yield _Left(one, "removed")
        else:
            data = texts_of(place, one.sessions[0], one.form)
            replace(one.path, lambda _, data=data: data)  # type: ignore[misc]  # mypy knows no default of a lambda
            note_written(place.wired.written, one._replace(digest=digest_of(data)))
            yield _Left(one, "rewritten")


def _files_json(anew: Sequence[str], left: Sequence[_Left]) -> list[dict[str, str]]:
    made = [{"path": one, "became": "rewritten"} for one in anew]
    return made + [{"path": one.file.path, "became": one.became or "listed"} for one in left]


def _json(name: str, forgotten: Forgotten) -> dict[str, object]:
    return {
        "session": name,
        "forgotten": [f"m{seq}" for seq in forgotten.asked],
        "copies": [f"m{seq}" for seq in forgotten.copies],
        "summaries": list(forgotten.summaries),
        "facts": list(forgotten.facts),
        "plan": forgotten.plan.plan_id if forgotten.plan else None,
    }


def _lines(name: str, forgotten: Forgotten) -> Iterator[str]:
    yield f"{name}: forgotten {seqs(forgotten.asked)}"
    if forgotten.copies:
        yield f"copies of them, forgotten too: {seqs(forgotten.copies)}"
    if forgotten.summaries:
        yield f"{len(forgotten.summaries):,} notes that told of them are gone"
    if forgotten.facts:
        yield f"{count(len(forgotten.facts), 'fact')} that nothing else said, forgotten too"
    if forgotten.plan is not None:
        yield event_line(forgotten.plan)


def _print(made: _Made, left: Sequence[_Left]) -> None:
    paper = Paper()
    for said in (*made.lines, *(f"{path}: written anew without it" for path in made.files)):
        paper.say(said)
    for one in left:
        paper.say(f"{one.file.path}: {_told(one)}")
    paper.say(UNKNOWN, "dim")
    paper.print()


def _told(left: _Left) -> str:
    if left.became:
        return f"{left.became}"
    if left.file.form in _REMOVED_BY_HAND:
        return _REMOVED_BY_HAND[left.file.form]
    if left.file.form in FORMS and left.file.is_unchanged:
        return "an export, which may still have it: --files writes it anew"
    return "written by squidbot, perhaps changed since; it may still have it: remove it, or take it out by hand"
