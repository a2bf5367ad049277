"""`squidbot session jobs`: messages to be read for facts, and summaries due of a language model, listed or done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from squidbot.cli.output import Result, ResultCommand, limit
from squidbot.cli.printer import bar
from squidbot.cli.texts import ANSWER_IS_NO, USAGE, count, exit_code, shorter, span
from squidbot.core.errors import ConfigError, LLMError, SquidbotError
from squidbot.core.memory.learning import MODEL, RULES, Studied, Unread
from squidbot.core.transcript.scopes import SCOPE
from squidbot.services.background import BackgroundWorker, FactWork, WorkOrder, reader_of, study_of
from squidbot.services.summaries import SummaryWorker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.cli.open_store import OpenStore, SeenSession
    from squidbot.cli.printer import Printer
    from squidbot.core.messages import Completion, SummaryTask
    from squidbot.core.summaries import TaskResult
    from squidbot.services.background import TaskOutcome

__all__ = ["jobs"]

COLUMNS = ("session", "messages", "level", "reason", "said", "room", "saves")
UNREAD_COLUMNS = ("session", "messages", "to be read for facts by")
ID_CHARS = 28


class DueWork(NamedTuple):
    """What is due of the chosen sessions.

    Attributes:
        unread: messages to be read for facts.
        sessions: those that could be opened, by id.
        jobs: summaries, those that save most first, at most as many as were asked for; `every`: how many there are.
        failed: what is wrong with the other sessions, by id.
        missing: how to name a language model, where the settings name none.
    """

    unread: list[Unread]
    sessions: dict[str, SeenSession]
    jobs: list[SummaryTask]
    every: int
    failed: dict[str, SquidbotError]
    missing: str | None


@click.command(cls=ResultCommand, on="store", writes="run")
@click.argument("session_id", metavar="[SESSION]", required=False)
@click.option("--run", is_flag=True, help="Do them now; summaries by the language model of summary.llm.")
@click.option(
    "--reason", type=click.Choice(["schedule", "request"]), help="Include blocks far from being compacted: all of them."
)
@limit(100, "Jobs")
def jobs(place: OpenStore, *, session_id: str | None, run: bool, reason: str | None, limit: int) -> Result:
    """List messages to be read for facts, and summaries due of a language model; --run does both.

    Without SESSION it lists those of all sessions that can be opened; summaries that save most come first. said: the
    block's messages without the user's; room: what its summary may cost; both are bounds, in tokens.
    """
    due = _due(place, session_id, reason or "", limit)
    read = _read_facts(place, due, reason or "schedule") if run else None
    done: list[TaskResult] | None = None
    if run:
        done = _summarize(place, due, reason or "") if due.missing is None and due.jobs else []
    values = {
        "facts": [_unread_json(one) for one in due.unread],
        "read": None if read is None else [_read_json(one) for one in read],
        "jobs": [_job_json(one) for one in due.jobs],
        "total": due.every,
        "done": None if done is None else [_done_json(one) for one in done],
        "model": due.missing is None,
        "failed": [{"session": name, "why": str(error)} for name, error in due.failed.items()],
    }
    return Result(values, lambda out: _put(out, due, read, done), _code(due, read, done), [*_wrong(due, read, done)])


def _due(place: OpenStore, session_id: str | None, reason: str, limit: int) -> DueWork:
    """Return what is due; nothing is written, and no model is asked.

    Raises:
        SquidbotError: there is no such session, or it can't be opened; the store can't list its sessions.
    """
    made = SummaryWorker(_NoModel(), place.wired.summary_settings())
    due = DueWork([], {}, [], 0, {}, _missing(place))
    for name in place.chosen(session_id):
        try:
            seen = place.seen(name)
            due.unread.extend(_unread(place, name))
            due.jobs.extend(made.due(seen, reason=reason))
            due.sessions[name] = seen
        except SquidbotError as error:
            if session_id:
                raise
            due.failed[name] = error
    due.jobs.sort(key=lambda job: -job.saves_tokens)
    return due._replace(jobs=due.jobs[:limit], every=len(due.jobs))


def _unread(place: OpenStore, session_id: str) -> Iterator[Unread]:
    """Yield what each reader has to read of a session; nothing of one that belongs to nobody."""
    wired, messages = place.wired, place.length(session_id)
    memory = wired.loaded.settings.memory
    known = any(one.scope.user for one in SCOPE.state(place.store, session_id))
    if not wired.remembering.learns or not messages or not (known or memory.extract is not None):
        return
    by_model = memory.extract == "model" or (memory.extract is None and memory.llm)
    # Where nothing is kept yet, no place for it is made.
    is_begun = wired.remembering.kept() is not None
    for reader in (RULES, MODEL) if by_model else (RULES,):
        whole = Unread(session_id, reader, 0, messages - 1)
        one = study_of(wired, session_id).unread(reader) if is_begun else whole
        if one is not None:
            yield one


def _missing(place: OpenStore) -> str | None:
    """Return how to name a language model; None where the settings name one."""
    if place.wired.loaded.settings.summary.llm:
        return None
    try:
        place.wired.llm()
    except ConfigError as error:
        return str(error)
    return None


class _NoModel:
    """Stands where a language model would: listing asks none."""

    name = "nobody"

    def complete(self, _system: str, _prompt: str, _max_output_tokens: int) -> Completion:
        """Fail: nobody has asked for a summary."""
        raise LLMError("unreachable", "what is due is listed, and not done")


def _read_facts(place: OpenStore, due: DueWork, reason: str) -> list[Studied]:
    """Have messages read for facts, and return what became of each portion; a session that fails is noted.

    Raises:
        ConfigError: the language model of the settings can't be made.
    """
    read: list[Studied] = []
    if not due.unread:
        return read
    model = reader_of(place.wired)
    by_model = (FactWork(model, place.wired.summary_settings().backoff_seconds),) if model else ()
    worker, every = BackgroundWorker(FactWork(), *by_model), sum(map(_messages, due.unread))
    with bar("reading") as tick:

        def told(one: TaskOutcome) -> None:
            if isinstance(one, Studied):
                read.append(one)
                tick(sum(_messages(each.unread) for each in read), every)

        for name in dict.fromkeys(one.session_id for one in due.unread):
            try:
                # Whoever asks waits for no turn to end.
                worker.work(place.seen(name), WorkOrder(reason=reason, told=told))
            except SquidbotError as error:
                due.failed[name] = error
    return read


def _summarize(place: OpenStore, due: DueWork, reason: str) -> list[TaskResult]:
    """Write the summaries that are due, session by session; a session that fails is noted."""
    made, done = SummaryWorker(place.wired.llm(), place.wired.summary_settings()), list["TaskResult"]()
    with bar("summarizing") as tick:

        def told(one: TaskResult) -> None:
            done.append(one)
            tick(len(done), len(due.jobs))

        for name in dict.fromkeys(job.session_id for job in due.jobs):
            most = sum(job.session_id == name for job in due.jobs)
            try:
                made.run(due.sessions[name], limit=most, reason=reason, told=told)
            except SquidbotError as error:
                due.failed[name] = error
    return done


def _messages(one: Unread) -> int:
    return one.last_seq - one.first_seq + 1


def _code(due: DueWork, read: list[Studied] | None, done: list[TaskResult] | None) -> int:
    """Return the exit code of the worst that happened."""
    unwritten = done is not None and sum(one.summary is not None for one in done) < len(due.jobs)
    unread = any(one.why for one in read or ())
    usage = USAGE if unwritten and due.missing is not None else 0
    return max(ANSWER_IS_NO if unwritten or unread else 0, usage, *map(exit_code, due.failed.values()), 0)


def _wrong(due: DueWork, read: list[Studied] | None, done: list[TaskResult] | None) -> Iterator[str]:
    yield from (f"{name}: {error}" for name, error in due.failed.items())
    for one in read or ():
        if one.why:
            yield f"{one.unread.session_id} {span(one.unread.first_seq, one.unread.last_seq)}: {one.why}"
    if done is None or due.missing is not None:
        return
    for each in done:
        if each.summary is None:
            yield f"{each.task.session_id} {span(each.task.first_seq, each.task.last_seq)}: {each.why}"
    left = sum(job.session_id not in due.failed for job in due.jobs)
    left -= sum(each.task.session_id not in due.failed for each in done)
    if left > 0:
        yield f"{count(left, 'job')} left: another process works there, or the model rests"


def _unread_json(one: Unread) -> dict[str, object]:
    said = {"session": one.session_id, "first": span(one.first_seq), "last": span(one.last_seq)}
    return {**said, "reader": one.reader}


def _read_json(one: Studied) -> dict[str, object]:
    learned = [memory.memory_id for memory in one.memories]
    return {**_unread_json(one.unread), "learned": learned, "passed": len(one.passed), "why": one.why or None}


def _job_json(job: SummaryTask) -> dict[str, Any]:
    return {
        "session": job.session_id,
        "first": span(job.first_seq),
        "last": span(job.last_seq),
        "level": job.level.rpartition(":")[2],
        "reason": job.reason,
        "mode": job.mode,
        "said_tokens": job.said_tokens,
        "limit_tokens": job.limit_tokens,
        "saves_tokens": job.saves_tokens,
    }


def _done_json(one: TaskResult) -> dict[str, object]:
    return {**_job_json(one.task), "summary": one.summary.summary_id if one.summary else None, "why": one.why or None}


def _put(out: Printer, due: DueWork, read: list[Studied] | None, done: list[TaskResult] | None) -> None:
    if read:
        messages = sum(_messages(one.unread) for one in read if one.succeeded)
        learned = sum(len(one.memories) for one in read)
        out.say(f"{count(messages, 'message')} read for facts; learned {count(learned, 'fact')}")
    elif due.unread and read is None:
        rows = [(_short(one), span(one.first_seq, one.last_seq), one.reader) for one in due.unread]
        out.table(UNREAD_COLUMNS, rows, texts=UNREAD_COLUMNS)
    if done is not None and (due.missing is None or due.jobs):
        saved = sum(one.task.said_tokens - one.summary.cost.bound for one in done if one.summary)
        written = sum(one.summary is not None for one in done)
        all_jobs = count(len(due.jobs), "job")
        out.say(f"{written} of {all_jobs} done; they stand for {saved:,} tokens more than they cost")
    elif due.jobs:
        out.table(COLUMNS, [_row(job) for job in due.jobs], texts=("session", "messages", "level", "reason"))
    elif not due.unread:
        out.say("nothing is due")
    if due.every > len(due.jobs):
        out.say(f"… {due.every - len(due.jobs):,} more; --limit {due.every} takes all", "dim")
    if due.missing is not None:
        out.say(due.missing, "dim")


def _short(one: SummaryTask | Unread) -> str:
    return shorter(one.session_id, ID_CHARS)


def _row(job: SummaryTask) -> tuple[str, ...]:
    said = _job_json(job)
    sizes = (f"{said[key]:,}" for key in ("said_tokens", "limit_tokens", "saves_tokens"))
    return _short(job), span(job.first_seq, job.last_seq), said["level"], said["reason"], *sizes
