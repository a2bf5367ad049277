"""`squidbot jobs`: the summaries that are due of a language model, listed or written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from squidbot.commands import options
from squidbot.commands.ending import ANSWER_IS_NO, complain
from squidbot.commands.paper import Paper
from squidbot.commands.reading.opened import opened
from squidbot.commands.reading.terms import seen_of
from squidbot.commands.texts import count, shorter, span
from squidbot.core.errors import ConfigError, LLMError
from squidbot.jobs import Jobs
from squidbot.replay.table import progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.commands.reading.opened import Opened
    from squidbot.commands.reading.terms import Seen
    from squidbot.core.jobs.desk import Done
    from squidbot.core.messages import Completion, Job

__all__ = ["jobs"]

COLUMNS = ("session", "messages", "level", "reason", "said", "room", "saves")
ID_CHARS = 28
REASONS = ("schedule", "request")


class _Due(NamedTuple):
    """What is due of the sessions that were asked for: at most so many, and how many there are."""

    sessions: dict[str, Seen]
    jobs: list[Job]
    every: int


@click.command()
@click.argument("session_id", metavar="[SESSION]", required=False)
@click.option("--run", is_flag=True, help="Have them written now, by the language model of summary.llm.")
@click.option("--reason", type=click.Choice(REASONS), help="Blocks too that no event is near to: before a pause, all.")
@options.limit(100, "Jobs")
@options.store
@options.as_json
def jobs(  # noqa: PLR0913  # one for each option
    *, session_id: str | None, run: bool, reason: str | None, limit: int, store: str | None, as_json: bool
) -> None:
    """List the summaries that are due of a language model, those that save most first; --run has them written.

    Without SESSION those of all sessions. said: what was said in the block, the user's messages left out; room: what
    its summary may cost; both are bounds, in tokens.
    """
    with opened(store, writes=run) as place:
        made = Jobs(place.wired.llm() if run else _Nobody(), place.wired.job_settings())
        due = _due(place, made, session_id, reason or "", limit)
        done = _done(made, due, reason or "") if run else []
        missing = _missing(place)
    left = due.every - sum(one.summary is not None for one in done)
    if as_json:
        jobs_found = [_json(one) for one in due.jobs]
        told = [{**_json(one.job), "summary": _id(one), "why": one.why or None} for one in done] if run else None
        options.print_json({"jobs": jobs_found, "total": due.every, "done": told, "model": missing is None})
    else:
        _print(due, done if run else None, missing)
    for one in done:
        if one.summary is None:
            complain(f"{one.job.session_id} {span(one.job.first_seq, one.job.last_seq)}: {one.why}")
    if run and len(done) < len(due.jobs):
        complain(f"{count(len(due.jobs) - len(done), 'job')} left: another process works there, or the model rests")
    failed = run and left > due.every - len(due.jobs)
    click.get_current_context().exit(ANSWER_IS_NO if failed else 0)


class _Nobody:
    """Stands where a language model would: listing asks none."""

    name = "nobody"

    def complete(self, _system: str, _prompt: str, _max_output_tokens: int) -> Completion:
        """Fail: nobody has asked for a summary."""
        raise LLMError("unreachable", "what is due is listed, and not done")


def _due(place: Opened, made: Jobs, session_id: str | None, reason: str, limit: int) -> _Due:
    ids = [place.find(session_id)] if session_id else [name for name, _ in place.sessions()]
    sessions = {name: seen_of(place, name) for name in ids}
    found = [job for seen in sessions.values() for job in made.due(seen, reason=reason)]
    found.sort(key=lambda job: -job.saves_tokens)
    return _Due(sessions, found[:limit], len(found))


def _done(made: Jobs, due: _Due, reason: str) -> list[Done]:
    """Do what is due, session by session, and return what became of it."""
    done: list[Done] = []
    with progress(len(due.jobs), "summarizing") as tick:

        def told(one: Done) -> None:
            done.append(one)
            tick()

        for name in dict.fromkeys(job.session_id for job in due.jobs):
            most = sum(job.session_id == name for job in due.jobs)
            made.run(due.sessions[name], limit=most, reason=reason, told=told)
    return done


def _missing(place: Opened) -> str | None:
    """Return what to do so that a language model writes them; None where the settings name one."""
    if place.wired.loaded.settings.summary.llm:
        return None
    try:
        place.wired.llm()
    except ConfigError as error:
        return str(error)
    return None


def _id(one: Done) -> str | None:
    return one.summary.summary_id if one.summary else None


def _json(job: Job) -> dict[str, object]:
    return {
        "session": job.session_id,
        "first": f"m{job.first_seq}",
        "last": f"m{job.last_seq}",
        "level": _level(job),
        "reason": job.reason,
        "mode": job.mode,
        "said_tokens": job.said_tokens,
        "limit_tokens": job.limit_tokens,
        "saves_tokens": job.saves_tokens,
    }


def _level(job: Job) -> str:
    return job.level.rpartition(":")[2]


def _print(due: _Due, done: Sequence[Done] | None, missing: str | None) -> None:
    paper = Paper()
    if done is not None:
        written = [one for one in done if one.summary]
        saved = sum(one.job.said_tokens - one.summary.cost.bound for one in done if one.summary)
        paper.say(
            f"{len(written)} of {count(len(due.jobs), 'job')} done; they stand for {saved:,} tokens more than they cost"
        )
    elif not due.jobs:
        paper.say("nothing is due")
    else:
        paper.table(COLUMNS, [_row(job) for job in due.jobs], texts=("session", "messages", "level", "reason"))
    if due.every > len(due.jobs):
        paper.say(f"… {due.every - len(due.jobs):,} more; --limit {due.every} takes all", "dim")
    if missing is not None:
        paper.say(missing, "dim")
    paper.print()


def _row(job: Job) -> tuple[str, ...]:
    sizes = (job.said_tokens, job.limit_tokens, job.saves_tokens)
    return (
        shorter(job.session_id, ID_CHARS),
        span(job.first_seq, job.last_seq),
        _level(job),
        job.reason,
        *(f"{tokens:,}" for tokens in sizes),
    )
