"""`squidbot jobs`: the summaries that are due of a language model, listed or written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from squidbot.commands import options
from squidbot.commands.ending import ANSWER_IS_NO, complain, exit_code
from squidbot.commands.paper import Paper
from squidbot.commands.reading.due import due_of
from squidbot.commands.reading.opened import opened
from squidbot.commands.texts import count, shorter, span
from squidbot.core.errors import ConfigError, LLMError, SquidbotError
from squidbot.jobs import Jobs
from squidbot.replay.table import progress

if TYPE_CHECKING:
    from squidbot.commands.reading.due import Due
    from squidbot.commands.reading.opened import Opened
    from squidbot.core.jobs.desk import Done
    from squidbot.core.messages import Completion, Job

__all__ = ["jobs"]

COLUMNS = ("session", "messages", "level", "reason", "said", "room", "saves")
ID_CHARS = 28
REASONS = ("schedule", "request")


class _Found(NamedTuple):
    """What is due, what became of it (None where nothing was to be done), and how to name a model where none is."""

    due: Due
    done: list[Done] | None
    missing: str | None

    def to_json(self) -> dict[str, object]:
        """Return it as values that JSON holds."""
        done = self.done
        return {
            "jobs": [_json(one) for one in self.due.jobs],
            "total": self.due.every,
            "done": None if done is None else [_told(one) for one in done],
            "model": self.missing is None,
            "failed": [{"session": name, "why": str(error)} for name, error in self.due.failed.items()],
        }

    @property
    def exit_code(self) -> int:
        """That of the worst that happened: a session that can't be worked on, a summary that was not written."""
        unwritten = self.done is not None and sum(one.summary is not None for one in self.done) < len(self.due.jobs)
        return max(ANSWER_IS_NO if unwritten else 0, *map(exit_code, self.due.failed.values()), 0)


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

    Without SESSION those of all sessions that can be opened. said: what was said in the block, the user's messages
    left out; room: what its summary may cost; both are bounds, in tokens.
    """
    with opened(store, writes=run) as place:
        found = _found(place, session_id, reason or "", limit, run=run)
    if as_json:
        options.print_json(found.to_json())
    else:
        _print(found)
    _complain(found)
    click.get_current_context().exit(found.exit_code)


def _found(place: Opened, session_id: str | None, reason: str, limit: int, *, run: bool) -> _Found:
    made = Jobs(place.wired.llm() if run else _Nobody(), place.wired.job_settings())
    due = due_of(place, made, session_id, reason, limit)
    return _Found(due, _done(made, due, reason) if run else None, _missing(place))


class _Nobody:
    """Stands where a language model would: listing asks none."""

    name = "nobody"

    def complete(self, _system: str, _prompt: str, _max_output_tokens: int) -> Completion:
        """Fail: nobody has asked for a summary."""
        raise LLMError("unreachable", "what is due is listed, and not done")


def _done(made: Jobs, due: Due, reason: str) -> list[Done]:
    """Do what is due, session by session, and return what became of it; a session that can't be worked on is noted."""
    done: list[Done] = []
    with progress(len(due.jobs), "summarizing") as tick:

        def told(one: Done) -> None:
            done.append(one)
            tick()

        for name in dict.fromkeys(job.session_id for job in due.jobs):
            most = sum(job.session_id == name for job in due.jobs)
            try:
                made.run(due.sessions[name], limit=most, reason=reason, told=told)
            except SquidbotError as error:
                due.failed[name] = error
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


def _told(one: Done) -> dict[str, object]:
    return {**_json(one.job), "summary": one.summary.summary_id if one.summary else None, "why": one.why or None}


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


def _complain(found: _Found) -> None:
    """Say on standard error what went wrong, a line for each."""
    for name, error in found.due.failed.items():
        complain(f"{name}: {error}")
    if found.done is None:
        return
    for one in found.done:
        if one.summary is None:
            complain(f"{one.job.session_id} {span(one.job.first_seq, one.job.last_seq)}: {one.why}")
    left = sum(job.session_id not in found.due.failed for job in found.due.jobs)
    left -= sum(one.job.session_id not in found.due.failed for one in found.done)
    if left > 0:
        complain(f"{count(left, 'job')} left: another process works there, or the model rests")


def _print(found: _Found) -> None:
    paper, (due, done, missing) = Paper(), found
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
