"""`squidbot store`: checks and copies of a store, and its exchanges as files, one for each model; `import`."""

from __future__ import annotations

import shlex
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import click

from squidbot.adapters.sqlite3 import doctor as rows
from squidbot.adapters.sqlite3.memory.store import memory_counts
from squidbot.cli.forget import forget_user, sweep
from squidbot.cli.open_store import file_of, open_store, settings_of
from squidbot.cli.output import CONFIG_OPTION, STORE_OPTION, TENANT_OPTION, Result, ResultGroup, form_version
from squidbot.cli.printer import bar
from squidbot.cli.texts import ANSWER_IS_NO, DAMAGED_DATA, confirm, count, facts_text, left_out, seqs
from squidbot.cli.texts import line as shown_line
from squidbot.cli.work import work
from squidbot.codecs.workspaceai import VERSION
from squidbot.core.errors import ConfigError, DamagedStoreError, StoreError, TranscriptError
from squidbot.core.kinds import unreadable
from squidbot.engine import load
from squidbot.memory import provider_of
from squidbot.services.copying import copied, facts_in
from squidbot.services.exchange import (
    ImportOptions,
    backed_up_model,
    can_be_read,
    exported,
    files_at,
    files_with,
    migrated,
    rolled_back,
)
from squidbot.services.forget import WrittenFile, note_written
from squidbot.wiring.registry import database, store_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from squidbot.adapters.sqlite3.doctor import Health, RepairedCopy, SessionHealth
    from squidbot.bootstrap import Wired
    from squidbot.cli.open_store import OpenStore
    from squidbot.config import Loaded
    from squidbot.core.ports import SupportsFactCopies
    from squidbot.services.copying import CopyReport
    from squidbot.services.exchange import ExportedFile, FileReport, ImportedFile, RemovedImport

# Unreadable records to name per session.
MOST_SAID = 5
WORKSPACEAI = "workspaceai"
UNUSED = "pgvector came after the tables and is not used: run squidbot store migrate as the schema's owner"


@click.group(cls=ResultGroup)
def store() -> None:
    """Check, repair, back up, copy and export a store; forget a user; remove old sessions."""


store.add_command(forget_user)
store.add_command(work)
store.add_command(sweep)


# -- doctor, backup --------------------------------------------------------------------------------------------


@store.command()
@click.option(
    "--repair", metavar="TARGET", help="Save what is intact into this new store; the damaged one stays unchanged."
)
@click.option(
    "--all-tenants", is_flag=True, help="Read the rows of all tenants of a database, not only of store.tenant."
)
@STORE_OPTION
@CONFIG_OPTION
def doctor(*, repair: str | None, all_tenants: bool, store: str | None) -> Result:
    """Read every row of a store, and report damage. Exit code 4: something is lost."""
    if store_name(settings_of(store)) == "psycopg":
        return _checked_database(store, repair, all_tenants=all_tenants)
    if all_tenants:
        raise ConfigError("only a store in PostgreSQL has tenants; leave --all-tenants out")
    if store_name(settings_of(store)) not in {"sqlite3", "stdlib"}:
        return _checked_extension(store, repair)
    path, unread = file_of(store), dict[str, list[str]]()
    health = rows.check(path, proves_words=True)
    if health.whole:
        unread = _unreadable(store)
    repaired = rows.repair(path, repair) if repair is not None else None
    lost = not all(session.whole for session in repaired.sessions) if repaired else not health.whole
    values = {**asdict(health), "unreadable": unread, "whole": health.whole and not unread}
    values["repaired"] = asdict(repaired) | {"messages": repaired.messages} if repaired else None
    code = DAMAGED_DATA if lost or health.damaged_memories or unread else 0
    return Result(values, "\n".join(_health_lines(health, repaired, unread)), code)


def _checked_database(store: str | None, repair: str | None, *, all_tenants: bool) -> Result:
    if repair is not None:
        raise ConfigError("--repair writes a SQLite file anew; restore a backup of the database instead (pg_restore)")
    where = settings_of(store).store_place
    with closing(database(settings_of(store))) as server:  # the tenants share its connections
        if not all_tenants:
            values = _checked_tenant(store, None)
            lines = [_verdict_line(where, values), *_tenant_lines(values)]
        else:
            tenants = [{"tenant": name, **_checked_tenant(store, name)} for name in server.tenants()]
            sums = {key: sum(one[key] for one in tenants) for key in ("sessions", "messages")}
            values = {**sums, "tenants": tenants, "whole": all(one["whole"] for one in tenants)}
            lines = [_verdict_line(where, values), count(len(tenants), "tenant")]
            for one in tenants:
                lines += [_verdict_line(one["tenant"] or "no tenant", one), *_tenant_lines(one)]
        problems = [UNUSED] if server.has_unused_pgvector() else []
    lines += [f"- {problem}" for problem in problems]
    values = {"path": where, **values, "problems": problems}
    return Result(values, "\n".join(lines), 0 if values["whole"] else DAMAGED_DATA)


def _checked_extension(store: str | None, repair: str | None) -> Result:
    """Read each record of a store that an extension keeps; what lies below them is the extension's own matter."""
    if repair is not None:
        raise ConfigError("--repair needs a SQLite file; save the sessions with squidbot store copy")
    where = store_name(settings_of(store))
    with open_store(store) as place:
        sessions = place.sessions()
        wrong = {name: found for name, _ in sessions if (found := [*_unread(place, name)])}
    messages = sum(number for _, number in sessions)
    values = {"path": where, "sessions": len(sessions), "messages": messages, "damaged": wrong, "whole": not wrong}
    lines = [_verdict_line(where, values), *_tenant_lines(values)]
    lines.append("an extension keeps this store: messages and records were read; the extension itself may check more")
    return Result(values, "\n".join(lines), 0 if values["whole"] else DAMAGED_DATA)


def _unread(place: OpenStore, name: str) -> Iterator[str]:
    """Yield why a session's messages or records can't be read."""
    try:
        for _ in place.pages(name):
            pass
        yield from unreadable(place.store, name)
    except StoreError as error:
        yield str(error)


def _checked_tenant(store: str | None, tenant: str | None) -> dict[str, Any]:
    """Return what is wrong with a tenant's sessions; `None` for that of the settings."""
    with open_store(store, tenant=tenant) as place:
        sessions, wrong = place.sessions(), dict[str, list[str]]()
        with bar("checking") as tick:
            for done, (name, _) in enumerate(sessions, 1):
                if found := [*place.store.damage(name), *unreadable(place.store, name)]:  # type: ignore[attr-defined]
                    wrong[name] = found
                tick(done, len(sessions))
        facts = past = 0
        if provider_of(place.wired.loaded)[0] == "psycopg" and (kept := place.wired.remembering.copied()):
            try:
                facts, past = facts_in(cast("SupportsFactCopies", kept))
            except DamagedStoreError as error:
                wrong["durable facts"] = [str(error)]
    messages = sum(number for _, number in sessions)
    values = {"sessions": len(sessions), "messages": messages, "facts": {"facts": facts, "past": past}}
    return {**values, "damaged": wrong, "whole": not wrong}


def _verdict_line(what: str, values: Mapping[str, Any]) -> str:
    return f"{what}: {'whole' if values['whole'] else 'DAMAGED'}"


def _tenant_lines(values: Mapping[str, Any]) -> Iterator[str]:
    counts = [count(values["sessions"], "session"), count(values["messages"], "message")]
    facts = values.get("facts", {})  # those beside an extension's store are not its own
    yield ", ".join([*counts, *([facts_text(*facts.values())] if any(facts.values()) else [])])
    yield from (f"- {name}: {'; '.join(found[:MOST_SAID])}" for name, found in values["damaged"].items())


@store.command()
@click.option("--check", is_flag=True, help="Only check whether the tables are of this version; exit code 1 if not.")
@click.option("--sql", is_flag=True, help="Only print the statements.")
@STORE_OPTION
@CONFIG_OPTION
def migrate(*, check: bool, sql: bool, store: str | None) -> Result:
    """Create the tables in PostgreSQL, or bring them to this version.

    Each migration runs in one transaction, under a lock.
    """
    with closing(database(settings_of(store))) as server:
        before, newest = server.version(), server.newest
        server.refuse_newer(before)
        values = {"version": before, "newest": newest, "schema": server.schema}
        if sql:
            statements = [statement.decode() for statement in server.due(before)]
            return Result(
                {**values, "sql": statements}, "\n".join(f"{one.rstrip().rstrip(';')};" for one in statements)
            )
        is_unused = server.has_unused_pgvector()
        if check:
            text = f"schema {server.schema}: migration {before} of {newest}{f'; {UNUSED}' if is_unused else ''}"
            return Result(values, text, ANSWER_IS_NO if before < newest or is_unused else 0)
        done = server.migrate()
    used = "; pgvector compares the vectors from now on" if is_unused else ""
    text = f"schema {server.schema}: {count(done, 'migration')} applied, now {newest}{used}"
    return Result({**values, "version": newest, "applied": done}, text)


def _unreadable(store: str | None) -> dict[str, list[str]]:
    """Return the records that can't be read, by session."""
    with open_store(store) as place:
        found = {name: [*unreadable(place.store, name)] for name, _ in place.sessions()}
    return {name: wrong for name, wrong in found.items() if wrong}


def _health_lines(health: Health, repaired: RepairedCopy | None, unread: dict[str, list[str]]) -> Iterator[str]:
    yield f"{health.path}: {_verdict(health, unread)}"
    stored = _counts(len(health.sessions), health.messages, health.path, health.memories)
    yield f"{stored}; {health.file_bytes:,} bytes, and {health.log_bytes:,} in the write-ahead log"
    yield from (f"- {problem}" for problem in health.problems)
    yield from (f"- {session.session_id}: {_lost(session)}" for session in health.sessions if not session.whole)
    for name, wrong in unread.items():
        yield f"- {name}: {'; '.join(wrong[:MOST_SAID])}{'; and more' if len(wrong) > MOST_SAID else ''}"
    if unread:
        yield "a copy has the same records; a backup from before has the session without them"
    if repaired is not None:
        saved = _counts(None, repaired.messages, repaired.target, repaired.memories)
        yield f"saved: {saved} into {repaired.target}; the original is as it was"
    elif not health.whole:
        yield "squidbot store doctor --repair TARGET recovers what is intact into a new store"


def _counts(sessions: int | None, messages: int, path: str, memories: int) -> str:
    counts = [] if sessions is None else [count(sessions, "session")]
    counts.append(count(messages, "message"))
    if memories:
        try:
            held = memory_counts(path)
            counts.append(facts_text(held.facts, held.past))
        except StoreError:  # damage hides which of them hold
            counts.append(count(memories, "fact"))
    return ", ".join(counts)


def _verdict(health: Health, unread: dict[str, list[str]]) -> str:
    if health.whole and not unread:
        return "whole"
    facts = len(health.damaged_memories)
    lost = f"DAMAGED, {count(health.damaged, 'message')} lost"
    lost += f", {count(facts, 'fact')} too" if facts else ""
    return f"{lost}, but records can't be read" if unread else lost


def _lost(session: SessionHealth) -> str:
    records = ", ".join(f"{kind} {number}" for kind, number in session.damaged_records[:8])
    lost = {"": seqs(session.damaged), "records ": records, "notes ": ", ".join(session.damaged_summaries[:8])}
    parts = [f"lost {kind}{names}" for kind, names in lost.items() if names]
    return "; ".join(parts if session.named else [*parts, "its name is lost"])


@store.command(on="store")
@click.argument("target")
@click.option(
    "--model", metavar="NAME", help="Write only this model's conversations, as a file that `squidbot import` restores."
)
def backup(place: OpenStore, *, target: str, model: str | None) -> Result:
    """Copy a store, which is a file, into the new file TARGET, even while it is in use."""
    if model is not None:
        return _backed_up_model(place, target, model)
    copy = getattr(place.store, "backup", None)
    if copy is None:
        _refuse_backup(place.wired.loaded)
    copy(target)
    note_written(place.wired.written, WrittenFile(str(Path(target).absolute()), "backup"))
    sessions = len(place.sessions())
    return Result({"target": target, "sessions": sessions}, f"{target}: {count(sessions, 'session')}")


def _refuse_backup(loaded: Loaded) -> NoReturn:
    if store_name(loaded) != "psycopg":
        raise StoreError(f"the store {store_name(loaded)} makes no backups; back it up with its own tools")
    made = shlex.join(["pg_dump", "-n", loaded.settings.store.schema, loaded.store_place])
    raise StoreError(f"squidbot makes no backups of a database; run {made}")


@store.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@TENANT_OPTION
@CONFIG_OPTION
def copy(*, source: str, target: str, tenant: str | None) -> Result:
    """Copy all sessions and facts from one store into another: files, or postgresql://USER@HOST/DATABASE.

    TO must be empty or hold a part of the same sessions. Run it again after an interruption, or to copy what is new.
    Hosts may keep running, but stop all of them for the last copy.
    """
    if source == target or Path(source).absolute() == Path(target).absolute():
        raise click.UsageError("FROM and TO are the same store")
    if tenant is not None and "://" not in source + target:
        raise click.UsageError("only a store in PostgreSQL has tenants; leave --tenant out")
    with (
        open_store(source, tenant=tenant if "://" in source else None) as one,
        open_store(target, writes=True, makes=True, tenant=tenant if "://" in target else None) as other,
        bar("copying messages") as tick,
    ):
        done = copied(one.wired, other.wired, tick)
        places = {"from": one.wired.loaded.store_place, "to": other.wired.loaded.store_place}
    rows = {**done.rows._asdict(), "digest": f"{done.rows.digest:032x}"}
    values = {**places, "sessions": done.sessions, **rows, "tasks": done.tasks}
    values |= {"failed": dict(done.failed), "unsettled": list(done.unsettled)}
    wrong = [f"{shown_line(name)}: {reason}" for name, reason in done.failed.items()]
    wrong += [f"{shown_line(name)}: is written to; stop the hosts and copy again" for name in done.unsettled]
    values["facts"] = done.facts and {**done.facts._asdict(), "digest": f"{done.facts.digest:032x}"}
    wrong += [f"facts: {done.facts_failed}"] if done.facts_failed else []
    code = DAMAGED_DATA if done.damaged else ANSWER_IS_NO if wrong else 0
    return Result(values, "\n".join(_copy_lines(done)), code, wrong)


def _copy_lines(done: CopyReport) -> Iterator[str]:
    rows = done.rows
    parts = count(rows.messages, "message"), count(rows.records, "record"), count(rows.summaries, "note")
    yield f"equal in both: {count(done.sessions, 'session')} with {', '.join(parts)}; digest {rows.digest:032x}"
    if facts := done.facts:
        vectors = f" with {count(facts.vectors, 'vector')}" if facts.vectors else ""
        held = facts_text(facts.facts - facts.past - facts.pieces, facts.past)
        held += f", {count(facts.pieces, 'piece')} of files" if facts.pieces else ""
        yield f"equal in both: {held}{vectors}; digest {facts.digest:032x}"
    yield f"copied now: {count(rows.new + (facts.new if facts else 0), 'row')}"
    if done.tasks:
        yield f"unfinished: {count(done.tasks, 'message or session', 'messages or sessions')} to forget"


def _backed_up_model(place: OpenStore, target: str, model: str) -> Result:
    sessions = place.chosen(None)
    with bar("reading sessions") as tick:
        done = backed_up_model(place.wired, sessions, model, target, tick)
    (file,) = done.files
    values = {"target": target, "model": model, "exchanges": file.exchanges, "left_out": dict(done.left)}
    return Result(values, f"{target}: {model or 'no model'}: {count(file.exchanges, 'exchange')}", 0, (), _left(done))


# -- files of exchanges, one for each model, in WorkspaceAI's form ------------------------------------------------

models_option = click.option(
    "--model", "models", metavar="NAME", multiple=True, help="Only this model; repeat it for several."
)


@store.command(on="store")
@click.argument("folder")
@click.option("--session", "sessions", metavar="ID", multiple=True, help="Only this session; repeat it for several.")
@models_option
@click.option(
    "--replace",
    "replaces",
    is_flag=True,
    help="Overwrite files that have more than the store; a copy stays as NAME.json.replaced-DIGEST.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@form_version("Write files of this version: 3.0 or 1.0.")
def export(  # noqa: PLR0913  # an argument for each option
    place: OpenStore,
    *,
    folder: str,
    sessions: tuple[str, ...],
    models: tuple[str, ...],
    replaces: bool,
    dry_run: bool,
    version: str,
) -> Result:
    """Write all sessions into FOLDER as JSON, one file for each model; `squidbot import` reads them back.

    A file has questions and answers without tool calls, in version 3.0 (or 1.0) of WorkspaceAI's form. To copy
    everything, use `squidbot store copy`. Exit code 1: a file failed; the others are written.
    """
    if version == "2.0":
        raise click.UsageError("files are written in version 3.0, or (for a program that knows no other) in 1.0")
    chosen = [place.find(session) for session in sessions] or place.chosen(None)
    with bar("reading sessions") as tick:
        write = partial(exported, replaces=replaces, dry_run=dry_run, version=version or VERSION, tick=tick)
        done = write(place.wired, dict.fromkeys(chosen), folder, models=models)
    failed = [file for file in done.files if file.became == "failed"]
    values = {"format": WORKSPACEAI, "folder": folder, "dry_run": dry_run, "sessions": len(chosen)}
    values |= {"files": [file._asdict() for file in done.files], "left_out": dict(done.left)}
    wrong = [one.reason if one.reason.startswith(one.path) else f"{one.path}: {one.reason}" for one in failed]
    lines = "\n".join(_export_lines(done, dry_run=dry_run))
    return Result(values, lines, ANSWER_IS_NO if failed else 0, wrong, _left(done))


def _export_lines(done: FileReport[ExportedFile], *, dry_run: bool) -> Iterator[str]:
    width = min(60, max((len(file.path) for file in done.files), default=0))
    for one in done.files:
        aside = f"; what stood there: {one.aside}" if one.aside else ""
        exchanges = count(one.exchanges, "exchange")
        yield f"{one.became:<9} {one.path:<{width}}  {one.model or 'no model'}: {exchanges}{aside}"
    nothing = "the store is empty: nothing to export"
    yield f"{count(len(done.files), 'file')}{'; nothing was written' if dry_run else ''}" if done.files else nothing


def _left(done: FileReport[Any], what: str = "") -> list[str]:
    names = left_out(done.left)
    kept = f"such files have no place for {names}; nothing is lost: the store keeps them; squidbot store copy takes all"
    return [f"{what}: {names}" if what else kept] if names else []


_paths = click.argument("paths", metavar="PATH...", nargs=-1, required=True)
session_option = click.option(
    "--session",
    metavar="ID",
    help="Session for exchanges without one; ID@model:NAME for each model.  [default: workspaceai]",
)
dry_run_option = click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing.")


@store.command("import-older")
@_paths
@session_option
@models_option
@click.option(
    "--rollback",
    is_flag=True,
    help="Undo the import of these files, except for newer messages; a missing file comes back from its copy.",
)
@click.option("--yes", is_flag=True, help="With --rollback: do not ask.")
@dry_run_option
@form_version()
@STORE_OPTION
@CONFIG_OPTION
def import_older(  # options
    *,
    paths: tuple[str, ...],
    rollback: bool,
    yes: bool,
    store: str | None,
    **how: Any,  # noqa: ANN401  # as options have it
) -> Result:
    """Import older files of WorkspaceAI, versions 1.0, 2.0 and 3.0. PATH is a file or a folder of them.

    Exchanges that name no model are taken as qwen2.5:7b's. A copy of each file stays beside it, as FILE.backup. Each
    exchange is imported once, however often you import a file.
    """
    if rollback and how["models"]:
        raise click.UsageError("--rollback undoes the import of whole files; leave --model out")
    if rollback:
        return _rolled_back(paths, store, yes=yes, dry_run=how["dry_run"])
    return bring_exchanges(migrated, paths, store, **how)


def bring_exchanges(  # noqa: PLR0913  # an argument for each option
    bring: Callable[[Wired, list[Path], ImportOptions], FileReport[ImportedFile]],
    paths: Sequence[str],
    store: str | None,
    *,
    session: str | None,
    models: tuple[str, ...],
    version: str,
    dry_run: bool,
    set_aside: bool = False,
) -> Result:
    """Import files, and print the outcome of each."""
    files = list(dict.fromkeys(file for path in paths for file in files_at(path)))
    options = ImportOptions(version=version, dry_run=dry_run, models=models, sets_aside=set_aside)
    if session:
        options = replace(options, session=session)
    files = files_with(files, options)
    with _opened(store, files, version, dry_run=dry_run) as wired, bar("importing exchanges") as tick:
        done = bring(wired, files, replace(options, tick=tick))
    failed = [file for file in done.files if file.became == "failed"]

    values = {"dry_run": dry_run, "files": [file._asdict() for file in done.files], "left_out": dict(done.left)}
    code = DAMAGED_DATA if any(one.damaged for one in failed) else ANSWER_IS_NO if failed else 0
    wrong, remarks = [f"{one.path}: {one.reason}" for one in failed], _left(done, "not taken from the files")
    return Result(values, "\n".join(_import_lines(done.files, dry_run=dry_run)), code, wrong, remarks)


@contextmanager
def _opened(store: str | None, files: Sequence[Path], version: str, *, dry_run: bool) -> Iterator[Wired]:
    """Yield the store, created if it is missing and a file has something; a dry run only reads it.

    If it is missing, a dry run, or an import of damaged files only, uses an empty one in memory.
    """
    is_new = False
    with suppress(ConfigError):  # an extension's store is no file, and is opened its own way
        is_new = not Path(file_of(store)).exists()
    if is_new and (dry_run or not any(can_be_read(file, version) for file in files)):
        with load({}) as engine:
            yield engine.wired
        return
    with open_store(store, writes=not dry_run, makes=is_new) as place:
        yield place.wired


def _import_lines(files: Sequence[ImportedFile], *, dry_run: bool) -> Iterator[str]:
    for one in files:
        if one.became != "failed":
            new = f"{one.new:,} new of {count(one.exchanges, 'exchange')}"
            yield f"{one.became:<9} {one.path} ({one.version})  {one.session}: {new}"
    for backup in dict.fromkeys(file.backup for file in files if file.backup):
        yield f"a copy is kept: {backup}"
    yield f"{count(sum(file.new for file in files), 'exchange')}{'; nothing was written' if dry_run else ' imported'}"


def _rolled_back(paths: Sequence[str], store: str | None, *, yes: bool, dry_run: bool) -> Result:
    places = [Path(path) for path in paths]
    with open_store(store, writes=True) as place:
        sessions = place.chosen(None)
        done = rolled_back(place.wired, sessions, places, dry_run=True)
        if not dry_run and done:
            _confirm(done, yes=yes)
            done = rolled_back(place.wired, sessions, places)
    if not done:
        raise TranscriptError(", ".join(paths), None, "nothing was imported from this path; use the path of the import")
    lines = [f"{one.session}: {count(one.messages, 'message')} of {one.path} removed" for one in done if not one.reason]
    failed = [f"{one.session}: {one.reason}" for one in done if one.reason]
    values = {"dry_run": dry_run, "rolled_back": [one._asdict() for one in done]}
    text = "\n".join([*lines, *(["nothing was written"] if dry_run else [])])
    return Result(values, text, ANSWER_IS_NO if failed else 0, failed)


def _confirm(found: Sequence[RemovedImport], *, yes: bool) -> None:
    messages, sessions = sum(one.messages for one in found), len({one.session for one in found})
    if messages and not yes:
        what = f"{count(messages, 'message')} of {count(sessions, 'session')}"
        confirm(f"Remove {what} for good?")
