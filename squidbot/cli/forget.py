"""`squidbot session forget`, `squidbot store forget-user` and `sweep`: remove messages, sessions, all of a user."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, Final

import click

from squidbot.adapters.common.files import remove, replace
from squidbot.cli.export import FORMS, texts_of
from squidbot.cli.open_store import open_store
from squidbot.cli.output import CONFIG_OPTION, STORE_OPTION, TENANT_OPTION, Result, ResultCommand
from squidbot.cli.printer import bar
from squidbot.cli.texts import DAMAGED_DATA, clock, confirm, count, event_line, line, seqs, span
from squidbot.core.errors import StoreError
from squidbot.services.forget import digest_of, forget_messages, forget_session, note_written, written_of
from squidbot.services.forget import forget_user as forget_user_everywhere
from squidbot.services.retention import DAY_SECONDS
from squidbot.services.retention import sweep as sweep_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from squidbot.cli.open_store import OpenStore
    from squidbot.cli.printer import Printer
    from squidbot.core.forgetting import ForgetResult
    from squidbot.services.forget import ForgetReport, WrittenFile
    from squidbot.services.retention import SweepOutcome


# What `--files` does not rewrite: such a file has more than one session, or the words of facts.
_BY_HAND: Final = {
    "backup": "a backup that may still contain it: remove it",
    "workspaceai": "has several sessions and may still contain it: remove it, and export again",
    "facts": "facts or journal entries that may still contain it: remove it, and export again",
    "turns": "a log of turns that may still contain it: remove it",
}
_RUN = re.compile(r"m([0-9]{1,12})(?:-m?([0-9]{1,12}))?")
MOST_AT_ONCE = 10_000
# "90d": 90 days.
_AGE = re.compile(r"([0-9]{1,6})([hdw])")
_UNIT_SECONDS: Final = {"h": DAY_SECONDS / 24, "d": DAY_SECONDS, "w": 7 * DAY_SECONDS}
MOST_LISTED = 20
UNKNOWN: Final = "squidbot does not know copies made by you or other programs; they remain"


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--yes", is_flag=True, help="Do not ask."),
        click.option(
            "--files",
            is_flag=True,
            help="Rewrite known exports without the forgotten text, and remove those of whole sessions.",
        ),
        click.option(
            "--reason",
            metavar="TEXT",
            default="",
            help="Reason to store with the ids; do not repeat the forgotten content.",
        ),
    ):
        command = option(command)
    return command


@click.command(cls=ResultCommand, on="session", writes=True)
@click.argument("messages", metavar="[MESSAGE...]", nargs=-1)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Remove the whole session, and the sub-agents of a coding agent's session.",
)
@_options
def forget(  # noqa: PLR0913  # an argument for each option
    place: OpenStore, name: str, *, messages: tuple[str, ...], everything: bool, reason: str, files: bool, yes: bool
) -> Result:
    """Remove messages (m17 m20-m24) for good, or with --all the whole session. You cannot undo it.

    squidbot also removes their notes, recalled copies, durable facts without another source, and traces in search, the
    journal and the log of turns. A placeholder stays for each message. Other messages about the same topic stay.
    Exports and backups that squidbot wrote are listed.
    """
    if bool(messages) == everything:
        raise click.UsageError("pass messages (m17 m20-m24) or --all")
    if everything:
        _ask(f"the whole session {line(name)} ({count(place.length(name), 'message')})", yes=yes)
        return _gone(place, {"session": name}, forget_session(place.wired, name, reason=reason), rewrites=files)
    chosen = _seqs(messages)
    _ask(f"{count(len(chosen), 'message')} of {line(name)} ({seqs(chosen)})", yes=yes)
    forgotten = forget_messages(place.wired, place.session(name), chosen, reason=reason)
    values: dict[str, object] = {
        "session": name,
        "forgotten": [span(seq) for seq in forgotten.asked],
        "copies": [span(seq) for seq in forgotten.copies],
        "summaries": list(forgotten.summaries),
        "facts": list(forgotten.facts),
        "plan": forgotten.plan.plan_id if forgotten.plan else None,
    }
    return _result(place, values, [*_lines(name, forgotten)], (name,), forgotten.files, rewrites=files)


@click.command("forget-user", cls=ResultCommand, on="store", writes=True)
@click.argument("user")
@_options
def forget_user(place: OpenStore, *, user: str, reason: str, files: bool, yes: bool) -> Result:
    """Remove all messages and data of a user for good. You cannot undo it."""
    _ask(f"all that is kept of the user {line(user)}", yes=yes)
    sessions = [name for name, _ in place.sessions()]
    gone = forget_user_everywhere(place.wired, user, sessions, reason=reason)
    return _gone(place, {"user": user}, gone, rewrites=files)


def _age(_: click.Context, __: click.Parameter, value: str) -> float:
    """Return the seconds of an age, "90d"."""
    found = _AGE.fullmatch(value)
    if found is None or not int(found[1]):
        raise click.BadParameter(f"{value[:40]!r} is not an age; write 90d, 12w or 36h")
    return int(found[1]) * _UNIT_SECONDS[found[2]]


@click.command(cls=ResultCommand)
@click.option(
    "--older-than",
    metavar="AGE",
    required=True,
    callback=_age,
    help="Time since the last write, in hours, days or weeks: 36h, 90d, 12w.",
)
@TENANT_OPTION
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and remove nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@STORE_OPTION
@CONFIG_OPTION
def sweep(*, older_than: float, tenant: str | None, dry_run: bool, yes: bool, store: str | None) -> Result:
    """Remove old sessions for good: those that nobody has written to for a time. You cannot undo it.

    Hosts may keep running: a session that is written to meanwhile stays. So does a session that a younger one
    continues. Durable facts and journal entries stay; `session forget --all` removes them, too.
    """
    before = time.time() - older_than
    with open_store(store, writes=not dry_run, tenant=tenant) as place:
        if not (dry_run or yes):
            found = sweep_store(place.wired, before, dry_run=True).swept
            if found:
                _ask(count(len(found), "session"), yes=yes)
        with bar("removing sessions") as tick:
            done = sweep_store(place.wired, before, dry_run=dry_run, tick=tick)
        unscrubbed = "" if dry_run else _unscrubbed(place)
    values: dict[str, object] = {"dry_run": dry_run, "before": before, "swept": [one._asdict() for one in done.swept]}
    values |= {"kept": list(done.kept), "failed": dict(done.failed), "overwritten": not unscrubbed}
    wrong = [f"{line(name)}: stays: {reason}" for name, reason in done.failed.items()]
    wrong += [f"removed, but the bytes are not overwritten yet: {unscrubbed}"] if unscrubbed else []
    return Result(values, lambda out: _put_swept(out, done, dry_run=dry_run), DAMAGED_DATA if done.failed else 0, wrong)


def _put_swept(out: Printer, done: SweepOutcome, *, dry_run: bool) -> None:
    shown = done.swept[:MOST_LISTED]
    if shown:
        out.table(
            [
                {"session": one.session_id, "messages": one.messages, "last written to": clock(one.written)}
                for one in shown
            ]
        )
    if len(done.swept) > len(shown):
        out.say(f"and {len(done.swept) - len(shown):,} more", "dim")
    sessions, messages = count(len(done.swept), "session"), count(sum(one.messages for one in done.swept), "message")
    out.say(f"{sessions}, {messages}: {'would be removed (dry run)' if dry_run else 'removed'}")
    if done.kept:
        out.say(f"{count(len(done.kept), 'session')} as old, which younger ones go on from, stay")


def _seqs(values: Sequence[str]) -> tuple[int, ...]:
    """Return the seqs that ids and runs name, each once, in order.

    Raises:
        click.BadParameter: one is invalid.
    """
    named: set[int] = set()
    for value in values:
        found = _RUN.fullmatch(value)
        first = int(found[1]) if found else 0
        last = int(found[2] or first) if found else -1
        if not first <= last < first + MOST_AT_ONCE:
            raise click.BadParameter(f"{value[:40]!r} is not a message; write m17 or m17-m20")
        named.update(range(first, last + 1))
    return tuple(sorted(named))


def _ask(what: str, *, yes: bool) -> None:
    if not yes:
        confirm(f"Forget {what} for good?")


def _gone(place: OpenStore, whose: dict[str, object], gone: ForgetReport, *, rewrites: bool) -> Result:
    values = {**whose, "sessions": list(gone.sessions), "messages": gone.messages, "facts": list(gone.facts)}
    lines = [f"{session}: forgotten, the whole session" for session in gone.sessions]
    if gone.messages:
        lines.append(f"{count(gone.messages, 'message')} of sessions in which others speak, too")
    if gone.facts:
        lines.append(f"{count(len(gone.facts), 'fact')} forgotten")
    return _result(place, values, lines, gone.sessions, gone.files, rewrites=rewrites)


def _result(  # noqa: PLR0913  # what was forgotten, and where
    place: OpenStore,
    values: dict[str, object],
    lines: Sequence[str],
    sessions: Sequence[str],
    rewritten: Sequence[str],
    *,
    rewrites: bool,
) -> Result:
    left, unscrubbed = [*_files(place, tuple(sessions), rewrites=rewrites)], _unscrubbed(place)
    files = [{"path": one, "became": "rewritten"} for one in rewritten]
    files += [{"path": one.path, "became": became or "listed"} for one, became in left]

    def put(out: Printer) -> None:
        for one in (*lines, *(f"{path}: rewritten without it" for path in rewritten)):
            out.say(one)
        for file, became in left:
            out.say(f"{file.path}: {became or _advice(file)}")
        out.say(UNKNOWN, "dim")

    wrong = [f"forgotten, but its bytes are not overwritten yet: {unscrubbed}"] if unscrubbed else []
    return Result({**values, "files": files, "overwritten": not unscrubbed}, put, wrong=wrong)


def _unscrubbed(place: OpenStore) -> str:
    """Return why forgotten bytes remain in the store's files; "" if they don't."""
    is_scrubbed, scrub = (getattr(place.store, name, None) for name in ("is_scrubbed", "scrub"))
    if is_scrubbed is None or scrub is None or is_scrubbed():
        return ""
    try:
        scrub()
    except StoreError as error:
        return str(error)
    return ""


def _files(place: OpenStore, sessions: tuple[str, ...], *, rewrites: bool) -> Iterator[tuple[WrittenFile, str]]:
    """Yield the files that squidbot wrote of sessions, each with its outcome: "rewritten", "removed", or ""."""
    for one in written_of(place.wired, sessions):
        if not rewrites or one.form not in FORMS or not one.is_unchanged:
            yield one, ""
        elif any(place.length(name) == 0 for name in one.sessions):
            remove(one.path)
            yield one, "removed"
        else:
            data = texts_of(place, one.sessions[0], one.form)
            replace(one.path, lambda _, data=data: data)  # type: ignore[misc]  # mypy knows no default of a lambda
            note_written(place.wired.written, one._replace(digest=digest_of(data)))
            yield one, "rewritten"


def _advice(file: WrittenFile) -> str:
    if file.form in _BY_HAND:
        return _BY_HAND[file.form]
    if file.form in FORMS and file.is_unchanged:
        return "an export that may still contain it: --files rewrites it"
    return "written by squidbot, perhaps changed since; it may still contain it: remove it, or edit it by hand"


def _lines(name: str, forgotten: ForgetResult) -> Iterator[str]:
    yield f"{name}: forgotten {seqs(forgotten.asked)}"
    if forgotten.copies:
        yield f"copies of them, forgotten too: {seqs(forgotten.copies)}"
    if forgotten.summaries:
        yield f"removed {count(len(forgotten.summaries), 'note')} about them"
    if forgotten.facts:
        yield f"removed {count(len(forgotten.facts), 'fact')} that had no other source"
    if forgotten.plan is not None:
        yield event_line(forgotten.plan)
