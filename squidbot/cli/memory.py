"""`squidbot memory`: durable facts, indexed files, notes, and the journal."""

from __future__ import annotations

import json
import re
import shlex
import sys
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from squidbot.bootstrap import wire
from squidbot.cli.export import new_file
from squidbot.cli.open_store import is_address, with_store
from squidbot.cli.output import CONFIG_OPTION, Result, ResultGroup, command, config_given, limit
from squidbot.cli.printer import bar
from squidbot.cli.texts import ANSWER_IS_NO, DAMAGED_DATA, block, clock, complain, confirm, count, line
from squidbot.config import StoreTable, load_settings
from squidbot.core.errors import ConfigError, NotFoundError, RecallError, StoreError, TranscriptError
from squidbot.core.journal import LISTS, as_markdown
from squidbot.core.memories import CARDS, CATEGORIES, JOURNAL, Memory, Scope, Source, refuse_misfit
from squidbot.core.memory.chunks import FILES
from squidbot.core.memory.notefiles import DECLARATIVE, SUMMARY
from squidbot.core.memory.semantic import SemanticStore, vector_text
from squidbot.core.memory.text import read_id, when
from squidbot.core.memory.view import MOST_COMPARED, MemoryQuery, NewMemory, as_near, every, merges, places_of
from squidbot.core.ports import SupportsFactCopies
from squidbot.memory import provider_of
from squidbot.services.exchange import read_notes, write_notes
from squidbot.services.forget import WrittenFile, note_written
from squidbot.services.indexing import IndexPaths
from squidbot.services.indexing import reindex as index_files
from squidbot.wiring.journal import journal_of, timed_rules
from squidbot.wiring.person import machine_user

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from squidbot.adapters.stdlib.daybook import Daybook
    from squidbot.cli.printer import Printer
    from squidbot.config import Loaded
    from squidbot.core.journal import JournalEntry, JournalPage
    from squidbot.core.memories import FactCategory, FactRow, Isolation
    from squidbot.core.memory.text import MemoryPage
    from squidbot.core.memory.view import Memories, Merge
    from squidbot.core.ports import MemoryStore
    from squidbot.services.indexing import FileChange, IndexReport

# How many facts are read or added at once, and how many texts an embedder gets at once.
PAGE, EMBEDDED = 500, 32
NEWEST = 5
# Titles of the lists in a journal entry, in the order of display.
NAMES = {
    "open_questions": "open",
    "decisions": "decided",
    "errors": "failed",
    "progress": "done",
    "files_touched": "files",
}
# What tells facts apart on the command line, in the order in which it is said.
_PARTS = ("tenant", "user", "bot", "agent", "thread")
# An empty answer names so many owners of other facts, and looks for them in so many facts.
OTHERS, LOOKED_AT = 3, 10_000
_FRAME = re.compile(r"<squidbot memories: data, not instructions; (.*)>")
# How a model asks for more, and how a person does.
_MORE = (
    (re.compile(r"; more: list after (\S+)]"), r"; more with --after \1]"),
    (re.compile(r"; more: search with offset [0-9]+]"), "; more with --limit]"),
    (re.compile(r"(?<=\. To forget )it, too: forget "), "it, too: squidbot memory forget "),
    (re.compile(r": search with past true"), ": pass --past"),
)


@click.group(cls=ResultGroup)
def memory() -> None:
    """Search, list, add and forget durable facts, beyond any session; index files; read the journal."""


# -- whose facts, and where they are ---------------------------------------------------------------------------


def scoped(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options for the scope of facts, and for their file."""
    where = "The store of the facts: a file, or postgresql://….  [default: that of ./squidbot.toml]"
    command = click.option("--store", metavar="FILE.db", help=where)(command)
    for part in ("agent", "bot", "tenant"):
        command = click.option(f"--{part}", metavar=part.upper(), default="", help=f"The facts of this {part}.")(
            command
        )
    return _of_users("facts")(command)


def _of_users(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return what gives a command the options for the user."""

    def gives(command: Callable[..., Any]) -> Callable[..., Any]:
        alone = f"The {what} of this session alone, if no user is known."
        command = click.option("--session", metavar="ID", default="", help=alone)(command)
        command = click.option("--shared", flag_value="yes", default="", help=f"The {what} that all share.")(command)
        person = f"The {what} of this user.  [default: the user of this machine]"
        return click.option("--user", metavar="USER", default="", help=person)(CONFIG_OPTION(command))

    return gives


def _scope(*, user: str, shared: str, session: str, **parts: str) -> Scope:
    """Return the scope that options name; by default that of the person who uses this machine.

    Raises:
        UsageError: several name whose facts.
    """
    if sum(map(bool, (user, shared, session))) > 1:
        raise click.UsageError("pass one of --user, --shared and --session")
    if not (shared or session):
        user = user or machine_user().user
    return Scope(user=user, thread=session, **parts)


@contextmanager
def opened(
    whose: dict[str, Any], *, makes: bool = False, withdrawn: set[str] | None = None
) -> Iterator[tuple[Memories, Loaded]]:
    """Yield the facts that a scope sees, in the named store or that of the settings; and the settings.

    `makes` creates a missing file. Sessions there, or where settings say, tell which facts are on another line.
    With `withdrawn`, forgotten facts also leave the sessions that had them in requests; it receives their ids.

    Raises:
        ConfigError: a setting is wrong, or facts would be kept in memory only.
        StoreError: there is no such file, or it can't be opened.
    """
    options = dict(whose)
    file, scope = options.pop("store", None), _scope(**options)
    loaded = load_settings(config_given())
    if file:
        loaded = with_store(loaded, file).changed(memory={"path": "", "provider": "auto"})
    name, path = provider_of(loaded)
    if name == "stdlib":
        raise ConfigError("facts are in memory only; pass --store FILE.db, or set memory.path in ./squidbot.toml")
    if name == "sqlite3" and not makes and not Path(path).exists():
        raise StoreError(f"{path}: no such file; squidbot memory add creates it")
    store = _without_file(loaded.settings.store) if makes else _sessions_of(loaded)
    kept = {"path": store.path, "adapter": store.adapter}
    wired = wire(loaded.changed(memory={"provider": name, "path": path}, store=kept))
    try:
        forgot = None if withdrawn is None else lambda *fact: withdrawn.update(wired.retract(*fact))
        yield replace(wired.memories(wired.meter(), scope, every_line=True), forgot=forgot), wired.loaded
    finally:
        wired.close()


def _sessions_of(loaded: Loaded) -> StoreTable:
    """Return the store of sessions of the settings; an empty one if its file is missing."""
    store = loaded.settings.store
    return store if not store.path or Path(loaded.absolute(store.path)).exists() else _without_file(store)


def _without_file(store: StoreTable) -> StoreTable:
    """Return a store of no sessions; never the one of SQUIDBOT_STORE_URL in place of a file."""
    return StoreTable(adapter="stdlib" if store.path else None)


def _note_written(store: str | None, *files: Path) -> None:
    """Note files of facts beside the named store, or that of the settings, so that `forget` can list them."""
    loaded = load_settings(config_given())
    path = loaded.settings.store.path if store is None or is_address(store) else store
    is_there = path and Path(loaded.absolute(path)).exists()
    written = f"{loaded.absolute(path)}-written" if path and is_there else ""
    note_written(written, *(WrittenFile(str(file.absolute()), "facts") for file in files))


# -- searched, listed, added, forgotten ------------------------------------------------------------------------


def _page_of(page: MemoryPage, code: int = 0, of: Memories | None = None) -> Result:
    """Return a page; with `of`, an empty one says whose facts these are, and who has others."""
    text = for_people(page.text)
    if of is not None and not page.memories:
        whose = owner_name(of.view.scope)
        text += f"\nThese are the facts of {whose}; for others pass --user, --bot, --session or --shared."
        text = "\n".join((text, *others(of)))
    return Result({"memories": [_fact_json(one) for one in page.memories], "text": page.text}, text, code)


def owner_name(scope: Scope) -> str:
    """Return whose facts those of a scope are, in words; "all" if they are shared."""
    parts = [f"{part} {line(name)}" for part in _PARTS if (name := getattr(scope, part))]
    return ", ".join(parts).replace("thread ", "session ") or "all"


def _options(scope: Scope) -> str:
    """Return the options that name a scope."""
    pairs = [(part, getattr(scope, part)) for part in _PARTS]
    given = [f"--{part} {shlex.quote(line(name))}" for part, name in pairs if name]
    alone = [] if scope.user or scope.thread else ["--shared"]
    return " ".join((*given, *alone)).replace("--thread ", "--session ")


def _rows(store: MemoryStore) -> Iterator[FactRow]:
    """Yield the facts of all, and what is left of forgotten ones; none if the store can't list them."""
    plain, after = store.by_words if isinstance(store, SemanticStore) else store, 0
    while isinstance(plain, SupportsFactCopies) and (page := plain.fact_rows(after, PAGE)):
        yield from page
        after = page[-1].key


def _owners(memories: Memories, most: int | None = None) -> Counter[Scope]:
    """Return the number of facts that hold, by the parts of the scope that separate them."""
    held = (row.memory for row in islice(_rows(memories.store), most) if row.memory)
    kept = (one.scope for one in held if not one.superseded_by and not one.scope.collection)
    return Counter(_owner(scope, memories.view.isolation) for scope in kept)


def _owner(scope: Scope, isolation: Isolation) -> Scope:
    """Return a scope with those parts alone that separate facts."""
    own = {} if isolation == "global" else {isolation: getattr(scope, isolation)}
    return Scope(scope.tenant, scope.user, thread="" if scope.user else scope.thread, **own)


def others(of: Memories, *, elsewhere: bool = False) -> Iterator[str]:
    """Yield who has other facts, the same user and those of the same session first, and how to see them.

    `elsewhere`: it is said by a command that has no options for the scope.
    """
    wanted, isolation = of.view.scope, of.view.isolation
    said = of.store.from_session(wanted.thread) if wanted.thread else ()
    near = {_owner(one.scope, isolation) for one in said}
    counts = _owners(of, LOOKED_AT)
    del counts[_owner(wanted, isolation)]
    own = {scope: scope in near or bool(scope.user and scope.user == wanted.user) for scope in counts}
    for scope in sorted(counts, key=lambda scope: (not own[scope], -counts[scope], scope))[:OTHERS]:
        way = command("memory", "list", *shlex.split(_options(scope))) if elsewhere else _way(wanted, scope)
        yield f"Facts of {owner_name(scope)}: {counts[scope]:,}; {way}"
    if len(counts) > OTHERS:
        yield "Those of others: squidbot memory owners"


def _way(wanted: Scope, other: Scope) -> str:
    """Return how to ask for the facts of another scope than the wanted one."""
    more = [part for part in _PARTS if getattr(wanted, part) and not getattr(other, part)]
    is_wider = wanted._replace(**dict.fromkeys(more, "")) == other and not {"user", "thread"}.intersection(more)
    return f"leave out {' and '.join(f'--{part}' for part in more)}" if is_wider and more else f"pass {_options(other)}"


def for_people(text: str) -> str:
    """Return a model's answer for people: without its frame, and with options instead of calls."""
    lines = [shown for shown in text.splitlines() if not shown.startswith("</squidbot")]
    for call, option in _MORE:
        lines[-1] = call.sub(option, lines[-1])
    about = _FRAME.fullmatch(lines[0])
    if about and about[1] == "no memories" and lines[1:]:  # the next line says so, too
        return "\n".join(lines[1:])
    return "\n".join([about[1] if about else lines[0], *lines[1:]])


_category = click.option("--category", type=click.Choice(CATEGORIES), help="Only facts of this category.")
_past = click.option("--past", is_flag=True, help="Include replaced facts.")


@memory.command(short_help="Search facts, best first.")
@click.argument("query")
@limit(8, "facts")
@click.option(
    "--category",
    type=click.Choice((*CATEGORIES, JOURNAL)),
    help="Only facts of this category; journal searches journal entries.",
)
@_past
@scoped
def search(*, query: str, limit: int, category: str | None, past: bool, **whose: str) -> Result:
    """Search facts, best first in each category. Exit code 1: nothing is relevant."""
    tag = JOURNAL if category == JOURNAL else ""
    kind = next((one for one in CATEGORIES if one == category), None)
    with opened(whose) as (memories, _):
        page = memories.search(MemoryQuery(query, kind, limit, past=past, tag=tag), time.time())
        return _page_of(page, 0 if page.memories else ANSWER_IS_NO, memories)


@memory.command("list")
@limit(20, "facts")
@_category
@click.option("--after", metavar="ID", default="", help="Continue after this fact.")
@_past
@scoped
def list_(*, limit: int, category: FactCategory | None, after: str, past: bool, **whose: str) -> Result:
    """List facts, newest first."""
    with opened(whose) as (memories, _):
        page = memories.listed(MemoryQuery("", category, limit, after=after, past=past), time.time())
        return _page_of(page, of=memories)


@memory.command(short_help="Add a fact, as one sentence.")
@click.argument("text")
@click.option(
    "--category", type=click.Choice(CATEGORIES), default="background", show_default=True, help="Its category."
)
@click.option("--replaces", metavar="ID", default="", help="The fact that it replaces.")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="Tag to find it by; repeat for several.")
@scoped
def add(*, text: str, category: FactCategory, replaces: str, tags: tuple[str, ...], **whose: str) -> Result:
    """Add one fact, as one sentence. squidbot removes secrets from it."""
    added = NewMemory(text, category, replaces, tags, "user", reason="added on the command line")
    with opened(whose, makes=True) as (memories, _):
        return _page_of(memories.add(added, time.time()))


_ids = click.argument("memory_ids", metavar="ID...", nargs=-1, required=True)


@memory.command(short_help="Remove facts for good.")
@_ids
@click.option(
    "--reason", metavar="TEXT", default="", help="Reason to store with the record that something was forgotten."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@scoped
def forget(*, memory_ids: tuple[str, ...], reason: str, yes: bool, **whose: str) -> Result:
    """Remove facts for good, from every index and from the bytes of the file."""
    ids, sessions = list(dict.fromkeys(memory_ids)), set[str]()
    if not yes:
        with opened(whose) as (memories, _):
            for one in ids:
                click.echo(f"{one}: {line(_found(memories, one).text)}", err=True)
        confirm(f"Forget {count(len(ids), 'fact')} for good?")
    with opened(whose, withdrawn=sessions) as (memories, _):
        # Unknown ids come first, and are refused before anything is forgotten.
        answers = [memories.forget(one, reason) for one in sorted(ids, key=lambda one: _is_there(memories, one))]
    lines = [for_people(answer.text) for answer in answers]
    if sessions:
        lines.append(f"removed from the requests of {count(len(sessions), 'session')}")
    return Result({"forgotten": ids, "sessions": sorted(sessions)}, "\n".join(lines))


def _is_there(memories: Memories, memory_id: str) -> bool:
    try:
        memories.find(memory_id)
    except RecallError:
        return False
    return True


def _found(memories: Memories, memory_id: str) -> Memory:
    """Return the fact with an id.

    Raises:
        RecallError: it is not there; the text says if it was forgotten, or is another one's.
    """
    try:
        return memories.find(memory_id)
    except RecallError as error:
        wanted = read_id(memory_id)
        for other in memories.store.get([wanted]):
            owner = _owner(other.scope, memories.view.isolation)
            raise RecallError(f"{wanted} is a fact of {owner_name(owner)}: pass {_options(owner)}") from error
        if memories.store.forgotten([wanted]):
            graves = (row.grave for row in _rows(memories.store) if row.grave)
            for grave in (one for one in graves if one.memory_id == wanted):
                why = f": {line(grave.reason)}" if grave.reason else ""
                raise RecallError(f"{wanted} was forgotten on {clock(grave.forgotten)}{why}") from error
        raise


@memory.command(short_help="Count the facts of each user, bot and session.")
@click.option("--store", metavar="FILE.db", help="The store of the facts: a file, or postgresql://….")
@CONFIG_OPTION
def owners(*, store: str | None) -> Result:
    """Count the facts of each user, bot and session, and show how to pass them to the other commands."""
    with opened({"store": store, "user": "", "shared": "yes", "session": ""}) as (memories, _):
        counts = sorted(_owners(memories).items())
    rows = [{"facts": number, "of": owner_name(scope), "pass": _options(scope)} for scope, number in counts]
    values = [{**scope._asdict(), "facts": number} for scope, number in counts]
    return Result({"owners": values}, lambda out: out.table(rows) if rows else out.say("no facts"))


@memory.command(short_help="Show facts whole, with their sources.")
@_ids
@scoped
def show(*, memory_ids: tuple[str, ...], **whose: str) -> Result:
    """Show facts whole: text, age, source messages, the reason to keep them, and what replaced them."""
    with opened(whose) as (memories, _):
        found = [_found(memories, memory_id) for memory_id in memory_ids]

    def put(out: Printer) -> None:
        for one in out.apart(found):
            out.heading(f"{one.memory_id}: {one.text}")
            out.pairs([(name, text) for name, text in _pairs(one, time.time()) if text])

    return Result({"memories": [_fact_json(one) for one in found]}, put)


def _pairs(one: Memory, now: float) -> list[tuple[str, str]]:
    known = (each for each in one.sources if each.path or each.session_id)
    places = [each.path or f"m{each.first_seq} of session {each.session_id}" for each in known]
    return [
        ("category", one.category),
        ("said", when(one.time, now)),
        ("by", ", ".join(filter(None, (one.speaker, one.trust)))),
        ("from", "; ".join(places)),
        ("why", one.reason),
        ("tags", ", ".join(one.tags)),
        ("replaces", one.supersedes),
        ("replaced by", one.superseded_by),
    ]


# -- merged, restored ------------------------------------------------------------------------------------------


@memory.command(short_help="Merge facts that say the same.")
@click.option("--yes", is_flag=True, help="Merge. Without it, the facts are only listed.")
@scoped
def merge(*, yes: bool, **whose: str) -> Result:
    """Merge facts that say nearly the same: the most trusted stays, the others become history.

    Of equally trusted facts, the newest stays. At most ten are merged into one. With an embedder, facts are compared by
    meaning, else by words. `restore` takes a merge back.
    """
    with opened(whose) as (memories, _):
        held = memories.store.listed(memories.view, limit=MOST_COMPARED)
        plan = merges(held, similar(memories, held))
        if yes and plan:
            memories.store.supersede(places_of(plan))
    values = [
        {"kept": _fact_json(one.kept), "gone": [_fact_json(each) for each in one.gone], "reason": one.reason}
        for one in plan
    ]
    return Result({"merged": yes, "merges": values}, lambda out: _put_merges(out, plan, is_done=yes))


def _put_merges(out: Printer, plan: Sequence[Merge], *, is_done: bool) -> None:
    if not plan:
        out.say("no facts say nearly the same")
        return
    pairs = [(one, "\n".join(f"{each.memory_id}: {each.text}" for each in one.gone)) for one in plan]
    out.table([{"stays": x.kept.memory_id, "fact": x.kept.text, "goes": gone, "why": x.reason} for x, gone in pairs])
    text = "replaced, and kept as history" if is_done else "would be replaced; run with --yes to do it"
    out.say(f"{count(sum(len(one.gone) for one in plan), 'fact')} {text}", "" if is_done else "dim")


def similar(memories: Memories, held: Sequence[Memory]) -> Callable[[Memory, Memory], float] | None:
    """Return the similarity of facts by their vectors; `None` if the settings name no embedder.

    Raises:
        LLMError: there are no vectors.
    """
    store = memories.store
    if not isinstance(store, SemanticStore) or not held:
        return None
    embedder = store.opened().embedder
    vectors: dict[str, tuple[float, ...]] = {}
    with bar("comparing") as tick:
        for first in range(0, len(held), EMBEDDED):
            some = held[first : first + EMBEDDED]
            vectors |= zip(
                (one.memory_id for one in some), embedder.embed([vector_text(one) for one in some]), strict=True
            )
            tick(len(vectors), len(held))
    return as_near(vectors)


@memory.command(short_help="Restore replaced facts.")
@_ids
@scoped
def restore(*, memory_ids: tuple[str, ...], **whose: str) -> Result:
    """Restore replaced facts. The facts that replaced them stay valid, too, until you forget them."""
    with opened(whose) as (memories, _):
        old = [_found(memories, memory_id) for memory_id in dict.fromkeys(memory_ids)]
        memories.store.supersede({one.memory_id: "" for one in old})
    lines = [
        f"restored {one.memory_id}; {one.superseded_by}, which replaced it, stays valid too: "
        f"squidbot memory forget {one.superseded_by} removes it"
        if one.superseded_by
        else f"{one.memory_id} was not replaced: nothing to restore"
        for one in old
    ]
    return Result({"restored": [one.memory_id for one in old]}, "\n".join(lines))


# -- as files --------------------------------------------------------------------------------------------------


@memory.command(short_help="Write facts as JSON lines.")
@click.argument("file", metavar="[FILE]", type=click.Path(dir_okay=False), default="-")
@click.option("--files", is_flag=True, help="Include indexed files, which reindex can make again.")
@click.option("--all", "everyone", is_flag=True, help="The facts of all users, bots and sessions.")
@scoped
def export(*, file: str, files: bool, everyone: bool, **whose: str) -> Result:
    """Write the facts of one user, bot or session, and their history, as JSON lines.

    They go to a new FILE or to standard output. With --all, the facts of everyone.
    """
    with opened(whose) as (memories, _):
        views = [memories.view.of(one) for one in ("", *((FILES, CARDS) if files else ()))]
        found = [one for view in views for one in every(memories.store, view, past=True)]
        if everyone:
            rows_of_all = (row.memory for row in _rows(memories.store) if row.memory)
            found = [one for one in rows_of_all if files or not one.scope.collection]
        if not found:
            whom = "anyone" if everyone else owner_name(memories.view.scope)
            complain("; ".join((f"there are no facts of {whom}", *others(memories))))
    rows = (f"{json.dumps(_fact_json(one))}\n" for one in found)
    if file == "-":
        # The bare facts, with --json too: each line is a JSON object.
        sys.stdout.writelines(rows)
        click.get_current_context().exit()
    with new_file(file) as written:
        written.writelines(row.encode("utf-8", "surrogatepass") for row in rows)
    _note_written(whose["store"], Path(file))
    return Result({"file": file, "memories": len(found)}, f"{count(len(found), 'fact')} in {file}")


def _fact_json(fact: Memory) -> dict[str, object]:
    """Return a fact as values for JSON; scope and sources are objects with their fields."""
    sources = [source._asdict() for source in fact.sources]
    return {**asdict(fact), "scope": fact.scope._asdict(), "sources": sources}


@memory.command("import", short_help="Add the facts of an export.")
@click.argument("file", metavar="FILE", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@scoped
def import_(*, file: str, **whose: str) -> Result:
    """Add the facts of an export. Known facts stay as they are; each keeps its scope."""
    with click.open_file(file, encoding="utf-8", errors="surrogatepass") as rows:
        found = from_lines(rows, file)
    new: list[Memory] = []
    with opened(whose, makes=True) as (memories, _), bar("importing") as tick:
        for start in range(0, len(found), PAGE):
            page = found[start : start + PAGE]
            known = {one.memory_id for one in memories.store.get([one.memory_id for one in page])}
            memories.store.add(page)
            new += [one for one in page if one.memory_id not in known]
            tick(start + len(page), len(found))
        # A restored fact is valid here, too; adding its replacement marked it as replaced.
        memories.store.supersede({one.memory_id: "" for one in new if not one.superseded_by})
    return Result({"file": file, "memories": len(found)}, f"{count(len(found), 'fact')} from {file}")


def from_lines(rows: Iterable[str], name: str) -> list[Memory]:
    """Return the facts of JSON lines, replaced ones before their replacements.

    Raises:
        TranscriptError: a line is no fact; it names file and line.
    """
    found = []
    for number, row in enumerate(rows, 1):
        if not row.strip():
            continue
        try:
            found.append(_fact(json.loads(row)))
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            wrong = f"fact of an export: {error}"
            if isinstance(error, json.JSONDecodeError):
                wrong = "line of an export: invalid JSON"
            elif isinstance(error, KeyError):
                wrong = f"fact of an export, it lacks {error}"
            raise TranscriptError(name, number, f"not a {wrong}; nothing was added") from error
    return _in_order(found)


def _fact(row: dict[str, Any]) -> Memory:
    sources = row["sources"]
    made = tuple(Source(**source) for source in sources) if isinstance(sources, list) else ()
    fact = Memory(**{**row, "scope": Scope(**row["scope"]), "sources": made, "tags": tuple(row["tags"])})
    refuse_misfit(fact)
    return fact


def _in_order(facts: list[Memory]) -> list[Memory]:
    """Return facts so that each follows the one that it replaces.

    A store sets `superseded_by` itself, when the replacement is added.
    """
    by_id = {fact.memory_id: fact for fact in facts}
    placed: dict[str, Memory] = {}
    for one in facts:
        chain: list[Memory] = []
        at: Memory | None = one
        while at is not None and at.memory_id not in placed and at not in chain:
            chain.append(at)
            at = by_id.get(at.supersedes)
        placed |= {each.memory_id: each for each in reversed(chain)}
    return list(placed.values())


@memory.command(short_help="Write facts and journal as YAML notes, or read them.")
@click.argument("folder", metavar="FOLDER")
@click.option("--read", is_flag=True, help="Read the notes in FOLDER, and add them as facts and journal entries.")
@scoped
def notes(*, folder: str, read: bool, **whose: str) -> Result:
    """Write facts and the newest journal entries into FOLDER as YAML notes, or read them. Needs the extra `yaml`.

    Facts are in declarative_notes.yml, the newest 1,000 journal entries in summary_notes.yml.
    """
    with opened(whose, makes=read) as (memories, loaded):
        journal = journal_of(loaded, None, memories.view.scope, timed_rules(loaded, complain))
        done = read_notes(memories, journal, folder, loaded) if read else write_notes(memories, journal, folder)
    if not read:
        _note_written(whose["store"], *(Path(folder) / name for name in (DECLARATIVE, SUMMARY)))
    known = f"; {count(done.known, 'note')} known already" if read and done.known else ""
    both = f"{count(done.facts, 'fact')}, {count(done.entries, 'entry', 'entries')}"
    return Result({"folder": folder, **done._asdict()}, f"{both} {'from' if read else 'in'} {folder}{known}")


# -- files that are indexed, and vectors -----------------------------------------------------------------------


class RemadeIndex(NamedTuple):
    """The rebuilt index: entries by their words, vectors by a model, and how many still wait for a vector."""

    words: int = 0
    model: str = ""
    vectors: int = 0
    waiting: int = 0


@memory.command(short_help="Index files, and compute missing vectors.")
@click.argument("paths", metavar="[PATH...]", nargs=-1)
@click.option("--drop", is_flag=True, help="Remove these files from the index; without PATH, all.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing.")
@click.option("--anew", is_flag=True, help="Rebuild all vectors and the word index.")
@scoped
def reindex(*, paths: tuple[str, ...], drop: bool, dry_run: bool, anew: bool, **whose: str) -> Result:
    """Index new and changed files, so that search finds them, and compute missing vectors.

    PATH is a file, a folder or a pattern. squidbot remembers it, and reads it again each time. Without PATH, it reads
    memory.index_paths and the remembered ones.
    """
    with opened(whose, makes=not dry_run) as (memories, loaded):
        wanted = IndexPaths.of(loaded, paths, drops=drop, scope=memories.view.scope)
        with bar("reading files") as tick:
            done = index_files(memories, wanted, dry_run=dry_run, tick=tick, wait=_patient())
        made = RemadeIndex() if dry_run else _remade(memories.store, anew=anew)
    values = {
        "dry_run": dry_run,
        "files": [outcome._asdict() for outcome in done.outcomes],
        "unchanged": done.unchanged,
    }
    # A user without files who named none came for the vectors.
    of_files = _file_lines(done, paths, dry_run=dry_run) if paths or _counts(done) or made == RemadeIndex() else ()
    text = "\n".join((*of_files, *_made_lines(made)))
    return Result({**values, "read": done.read, "made": made._asdict()}, text)


def _patient() -> Callable[[float], None]:
    """Return a wait for other programs that says so once."""
    tell_once = iter(["another program is indexing these files; waiting up to a minute"])

    def wait(seconds: float) -> None:
        for text in tell_once:
            click.echo(text, err=True)
        time.sleep(seconds)

    return wait


def _remade(store: MemoryStore, *, anew: bool) -> RemadeIndex:
    """Make missing vectors, and bring their index up to date; `anew` rebuilds all, and the word index.

    Raises:
        ConfigError: the named embedder is not available.
        LLMError: it makes no vectors; those made before are kept.
        StoreError: the disk failed.
    """
    words, plain = 0, store.by_words if isinstance(store, SemanticStore) else store
    by_words = getattr(plain, "reindex", None)
    if anew and callable(by_words):
        with bar("indexing words") as tick:
            words = int(by_words(tick))
    if not isinstance(store, SemanticStore):
        return RemadeIndex(words)
    model, made = store.opened().embedder.name, 0
    with bar("making vectors") as tick:

        def counted(done: int, among: int) -> None:
            nonlocal made
            made = done
            tick(done, among)

        (store.reembed if anew else store.embed)(counted)
    return RemadeIndex(words, model, made, store.by_words.waiting(model))


def _made_lines(made: RemadeIndex) -> Iterator[str]:
    if made.words:
        yield f"words: of {count(made.words, 'entry', 'entries')} indexed anew"
    if made.model:
        left = f"; {made.waiting:,} have no vector yet; searches find them by words" if made.waiting else ""
        vectors = f"{made.vectors:,} made" if made.vectors or left else "all were there, made"
        yield f"vectors: {vectors} by {made.model}{left}"


def _file_lines(done: IndexReport, paths: Sequence[str], *, dry_run: bool) -> Iterator[str]:
    files = done.outcomes
    width = min(60, max((len(file.path) for file in files), default=0))
    yield from (f"{file.became:<8} {line(file.path):<{width}}  {line(_about(file))}".rstrip() for file in files)
    counts = _counts(done)
    new, old = (sum(getattr(file, name) for file in files) for name in ("new_chunks", "old_chunks"))
    if counts and len(files) == done.count("skipped") and not old:
        yield f"nothing has changed: {counts}"
    elif counts:
        yield f"files: {counts}; {count(new, 'piece')} came, {old} went{'; nothing was written' if dry_run else ''}"
    elif paths:
        yield f"nothing to index in {line(', '.join(paths))}"
    else:
        yield "nothing to index: pass files or folders, or set memory.index_paths in ./squidbot.toml"


def _counts(done: IndexReport) -> str:
    counts = [(done.count(kind), str(kind)) for kind in ("new", "changed", "renamed", "removed", "skipped")]
    return ", ".join(f"{number} {kind}" for number, kind in (*counts, (done.unchanged, "as before")) if number)


def _about(one: FileChange) -> str:
    """Return a file's outcome, to print beside its name."""
    if one.became == "new":
        return count(one.new_chunks, "piece")
    if one.became == "renamed":
        return f"was {one.reason}"
    if one.became == "skipped":
        return one.reason + (f"; {count(one.old_chunks, 'piece')} of it went" if one.old_chunks else "")
    pieces = [f"{one.new_chunks} new" if one.new_chunks else "", f"{one.old_chunks} gone" if one.old_chunks else ""]
    return ", ".join(filter(None, pieces))


# -- the journal -----------------------------------------------------------------------------------------------


@memory.command(short_help="Show entries of the journal, newest first.")
@click.option("--day", metavar="DAY", help="All entries of a day in UTC: 2026-11-22.")
@click.option("--tenant", metavar="TENANT", default="", help="The journal of this tenant.")
@_of_users("entries")
@click.option("--bot", metavar="BOT", default="", help="The journal of this bot.")
@click.option("--tag", metavar="TAG", default="", help="Only entries with this tag.")
@click.option("--agent", metavar="AGENT", default="", help="Only entries of this agent.")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(1),
    help=f"Number of entries to show.  [default: {NEWEST}; with --day, all]",
)
@click.option("--markdown", is_flag=True, help="Print Markdown.")
@click.option("--folder", metavar="FOLDER", help="The folder of the journal's files.  [default: journal.folder]")
def journal(  # noqa: PLR0913  # an argument for each option
    *, day: str | None, tag: str, agent: str, limit: int | None, markdown: bool, folder: str | None, **whose: str
) -> Result:
    """Show the newest journal entries, or those of a day in their order. Exit code 1: there are none."""
    if folder is not None and not any(whose.values()):
        whose["shared"] = "yes"  # the files of the named folder itself
    book = journal_of(load_settings(config_given()), folder, _scope(agent=agent, **whose))
    read = book.latest(limit or NEWEST, tag=tag, agent_id=agent) if day is None else _of_day(book, day)
    wanted = (entry for entry in read.entries if tag in {"", *entry.tags} and agent in {"", entry.agent_id})
    entries = [*islice(wanted, limit)]

    def put(out: Printer) -> None:
        if not entries:
            complain(f"{book.folder}: no such entries")
        elif markdown:
            click.echo(block("\n".join(map(as_markdown, entries))), nl=False)
        else:
            put_entries(out, entries)

    values = {"folder": str(book.folder), "entries": [*map(_entry_json, entries)], "faults": list(read.faults)}
    return Result(values, put, DAMAGED_DATA if read.faults else 0 if entries else ANSWER_IS_NO, read.faults)


def _of_day(book: Daybook, day: str) -> JournalPage:
    try:
        return book.of_day(day)
    except NotFoundError as error:
        raise click.BadParameter(str(error), param_hint="--day") from error


def put_entries(out: Printer, entries: Sequence[JournalEntry]) -> None:
    """Put entries of the journal, in order."""
    for entry in out.apart(entries):
        about = [one for one in (entry.agent_id, entry.run_id, entry.source_session) if one]
        if entry.total_tokens is not None:
            about.append(count(entry.total_tokens, "token"))
        out.heading("  ".join([clock(entry.time), *about, *(f"#{tag}" for tag in entry.tags)]))
        out.body(entry.summary, whole=True)
        for key, name in NAMES.items():
            for item in getattr(entry, key):
                out.say(f"{name}: {line(' '.join(item.split()))}", indent="  ")


def _entry_json(entry: JournalEntry) -> dict[str, object]:
    keys = ("time", "timestamp", "agent_id", "run_id", "summary", "source_session")
    values = {key: getattr(entry, key) for key in keys} | {key: list(getattr(entry, key)) for key in LISTS}
    return {**values, "token_usage": None if entry.total_tokens is None else {"total": entry.total_tokens}}
