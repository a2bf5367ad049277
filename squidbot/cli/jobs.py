"""`squidbot session jobs`: lists or does due work: reading messages for facts, summaries by a language model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from squidbot.cli.output import Result, ResultCommand, limit
from squidbot.cli.printer import bar
from squidbot.cli.texts import ANSWER_IS_NO, USAGE, count, exit_code, shorter, span
from squidbot.core.errors import ConfigError, LLMError, SquidbotError
from squidbot.core.memories import NOBODY
from squidbot.core.memory.learning import MODEL, RULES, LearningResult, UnreadMessages
from squidbot.core.transcript.scopes import SCOPE
from squidbot.services.background import BackgroundWorker, FactWork, WorkOrder, reader_of, study_of
from squidbot.services.summaries import SummaryWorker

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from squidbot.cli.open_store import OpenStore, SeenSession
    from squidbot.cli.printer import Printer
    from squidbot.core.messages import Completion, SummaryTask
    from squidbot.core.summaries import TaskResult
    from squidbot.services.background import TaskOutcome

ID_CHARS, READERS = 28, (RULES, MODEL)


class DueWork(NamedTuple):
    """The work that is due for the chosen sessions.

    Attributes:
        unread: messages to read for facts.
        sessions: the sessions that could be opened, by id.
        jobs: summaries to write, those that save most first; `every`: how many there are without the limit.
        failed: what is wrong with the other sessions, by id.
        missing: how to name a language model, if the settings name none.
    """

    unread: list[UnreadMessages]
    sessions: dict[str, SeenSession]
    jobs: list[SummaryTask]
    every: int
    failed: dict[str, SquidbotError]
    missing: str | None


@click.command(cls=ResultCommand, on="store", writes="run")
@click.argument("session_id", metavar="[SESSION]", required=False)
@click.option(
    "--run", is_flag=True, help="Do the work now: facts by rules and by memory.llm, summaries by summary.llm."
)
@click.option(
    "--reason",
    type=click.Choice(["schedule", "request"]),
    help="schedule: also blocks that compaction will not reach soon; request: all closed blocks, even after failures.",
)
@limit(100, "summaries")
def jobs(place: OpenStore, *, session_id: str | None, run: bool, reason: str | None, limit: int) -> Result:
    """List background work that is due: messages to read for facts, and summaries to write by a model.

    Summaries that save most come first. said: tokens of the block's messages, without the user's. room: tokens that its
    summary may take. Both are upper bounds. Without SESSION, all sessions are listed. Only --run writes, or calls a
    model.
    """
    due = _due(place, session_id, reason or "", limit)
    read, done = _done(place, due, reason or "") if run else ([], [])
    values = {
        "facts": [*map(_unread_json, due.unread)],
        "read": [*map(_read_json, read)] if run else None,
        "jobs": [*map(_job_json, due.jobs)],
        "total": due.every,
        "done": [*map(_done_json, done)] if run else None,
        "model": due.missing is None,
        "failed": [{"session": name, "why": str(error)} for name, error in due.failed.items()],
    }
    if not run:
        return Result(values, lambda out: _put_due(out, due), _code(due), [*_wrong(due)])
    code = _code(due, read, unwritten=len(due.jobs) > sum(one.summary is not None for one in done))
    return Result(values, lambda out: _put_done(out, due, read, done), code, [*_wrong(due, read, done)])


def _done(place: OpenStore, due: DueWork, reason: str) -> tuple[list[LearningResult], list[TaskResult]]:
    """Do the due work: read messages for facts, and write summaries if a language model is named."""
    read = _read_facts(place, due, reason or "schedule")
    return read, _summarize(place, due, reason) if due.missing is None and due.jobs else []


def _code(due: DueWork, read: Sequence[LearningResult] = (), *, unwritten: bool = False) -> int:
    """Return the exit code of the worst result."""
    no = ANSWER_IS_NO if unwritten or any(one.why for one in read) else 0
    usage = USAGE if unwritten and due.missing is not None else 0
    return max(no, usage, *map(exit_code, due.failed.values()), 0)


def _due(place: OpenStore, session_id: str | None, reason: str, limit: int) -> DueWork:
    """Return the due work; write nothing, and ask no model.

    Raises:
        SquidbotError: there is no such session, or it can't be opened; the store can't list its sessions.
    """
    summaries = SummaryWorker(_NoModel(), place.wired.summary_settings())
    due = DueWork([], {}, [], 0, {}, _missing(place))
    for name in place.chosen(session_id):
        try:
            seen = place.seen(name)
            due.unread.extend(unread(place, name))
            due.jobs.extend(summaries.due(seen, reason=reason))
            due.sessions[name] = seen
        except SquidbotError as error:
            if session_id:
                raise
            due.failed[name] = error
    due.jobs.sort(key=lambda job: -job.saves_tokens)
    return due._replace(jobs=due.jobs[:limit], every=len(due.jobs))


def unread(place: OpenStore, session_id: str) -> Iterator[UnreadMessages]:
    """Yield each reader's unread messages in a session; nothing for a session without an owner."""
    wired, messages = place.wired, place.length(session_id)
    by_model = wired.remembering.learns_by_model
    scopes = [one.scope for one in SCOPE.state(place.store, session_id)] or [NOBODY]
    if not (messages and any(map(wired.remembering.learns_of, scopes))):
        return
    if wired.remembering.kept() is None:  # nothing is kept yet: don't create a place
        yield from (UnreadMessages(session_id, reader, 0, messages - 1) for reader in READERS[: 1 + by_model])
        return
    study = study_of(wired, session_id)
    yield from filter(None, map(study.unread, READERS[: 1 + by_model]))


def _missing(place: OpenStore) -> str | None:
    """Return how to name a language model; `None` if the settings name one."""
    if place.wired.loaded.settings.summary.llm:
        return None
    try:
        place.wired.llm()
    except ConfigError as error:
        return str(error)
    return None


class _NoModel:
    """Replaces a language model: listing asks none."""

    name = "nobody"

    def complete(self, _system: str, _prompt: str, _max_output_tokens: int) -> Completion:
        """Fail: no summary was requested."""
        raise LLMError("unreachable", "listing only; run them with --run")


def _read_facts(place: OpenStore, due: DueWork, reason: str) -> list[LearningResult]:
    """Read messages for facts, and return the result of each portion; note sessions that fail.

    Raises:
        ConfigError: the language model of the settings can't be made.
    """
    read: list[LearningResult] = []
    if not due.unread:
        return read
    model = reader_of(place.wired)
    by_model = (FactWork(model, place.wired.summary_settings().backoff_seconds),) if model else ()
    worker, every = BackgroundWorker(FactWork(), *by_model), sum(map(_messages, due.unread))
    with bar("reading") as tick:

        def watch(one: TaskOutcome) -> None:
            if isinstance(one, LearningResult):
                read.append(one)
                tick(sum(_messages(each.unread) for each in read), every)

        for name in dict.fromkeys(one.session_id for one in due.unread):
            try:
                # On demand: don't wait for a turn to end.
                worker.work(place.seen(name), WorkOrder(reason=reason, told=watch))
            except SquidbotError as error:
                due.failed[name] = error
    return read


def _summarize(place: OpenStore, due: DueWork, reason: str) -> list[TaskResult]:
    """Write the due summaries, session by session; note sessions that fail."""
    made, done = SummaryWorker(place.wired.llm(), place.wired.summary_settings()), list["TaskResult"]()
    with bar("summarizing") as tick:

        def watch(one: TaskResult) -> None:
            done.append(one)
            tick(len(done), len(due.jobs))

        for name in dict.fromkeys(job.session_id for job in due.jobs):
            most = sum(job.session_id == name for job in due.jobs)
            try:
                made.run(due.sessions[name], limit=most, reason=reason, told=watch)
            except SquidbotError as error:
                due.failed[name] = error
    return done


def _messages(one: UnreadMessages) -> int:
    return one.last_seq - one.first_seq + 1


def _wrong(
    due: DueWork, read: Sequence[LearningResult] = (), done: Sequence[TaskResult] | None = None
) -> Iterator[str]:
    yield from (f"{name}: {error}" for name, error in due.failed.items())
    failed: list[tuple[UnreadMessages | SummaryTask, str]] = [(one.unread, one.why) for one in read if one.why]
    failed += [(one.task, one.why) for one in done or () if one.summary is None]
    for work, why in failed:
        yield f"{work.session_id} {span(work.first_seq, work.last_seq)}: {why}"
    if done is not None and due.missing is None:
        left = sum(job.session_id not in due.failed for job in due.jobs)
        left -= sum(one.task.session_id not in due.failed for one in done)
        if left > 0:
            yield f"{count(left, 'job')} left: another process works there, or the model rests"


def _unread_json(one: UnreadMessages) -> dict[str, object]:
    values = {"session": one.session_id, "first": span(one.first_seq), "last": span(one.last_seq)}
    return {**values, "reader": one.reader}


def _read_json(one: LearningResult) -> dict[str, object]:
    learned = [memory.memory_id for memory in one.memories]
    return {**_unread_json(one.unread), "learned": learned, "passed": len(one.skipped), "why": one.why or None}


def _job_json(job: SummaryTask) -> dict[str, Any]:
    return {
        "session": job.session_id,
        "first": span(job.first_seq),
        "last": span(job.last_seq),
        "reason": job.reason,
        "mode": job.mode,
        "said_tokens": job.said_tokens,
        "limit_tokens": job.limit_tokens,
        "saves_tokens": job.saves_tokens,
    }


def _done_json(one: TaskResult) -> dict[str, object]:
    return {**_job_json(one.task), "summary": one.summary.summary_id if one.summary else None, "why": one.why or None}


def _put_due(out: Printer, due: DueWork) -> None:
    if due.unread:
        out.table([{**_run(one), "to be read for facts by": one.reader} for one in due.unread])
    if due.jobs:
        out.table([_row(job) for job in due.jobs])
    elif not due.unread:
        out.say("nothing is due")
    _put_rest(out, due)


def _put_done(out: Printer, due: DueWork, read: list[LearningResult], done: list[TaskResult]) -> None:
    if read:
        messages = sum(_messages(one.unread) for one in read if one.succeeded)
        learned = sum(len(one.memories) for one in read)
        out.say(f"{count(messages, 'message')} read for facts; learned {count(learned, 'fact')}")
    if due.missing is None or due.jobs:
        saved = sum(one.task.said_tokens - one.summary.cost.bound for one in done if one.summary)
        written = sum(one.summary is not None for one in done)
        total = f"{written} of {count(len(due.jobs), 'job')} done"
        out.say(f"{total}; they stand for {saved:,} tokens more than they cost")
    elif not due.unread:
        out.say("nothing is due")
    _put_rest(out, due)


def _put_rest(out: Printer, due: DueWork) -> None:
    if due.every > len(due.jobs):
        out.say(f"… {due.every - len(due.jobs):,} more; --limit {due.every} takes all", "dim")
    # Rules need no model.
    if due.missing is not None and due.jobs:
        out.say(due.missing, "dim")


def _run(one: SummaryTask | UnreadMessages) -> dict[str, object]:
    return {"session": shorter(one.session_id, ID_CHARS), "messages": span(one.first_seq, one.last_seq)}


def _row(job: SummaryTask) -> dict[str, object]:
    return {
        **_run(job),
        "reason": job.reason,
        "said": job.said_tokens,
        "room": job.limit_tokens,
        "saves": job.saves_tokens,
    }
