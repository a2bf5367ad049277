"""`squidbot jobs`: messages to be read for facts, and summaries that are due of a language model, listed or done."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from squidbot.commands import options
from squidbot.commands.ending import ANSWER_IS_NO, USAGE, complain, exit_code
from squidbot.commands.paper import Paper
from squidbot.commands.reading.due import due_of
from squidbot.commands.reading.opened import opened
from squidbot.commands.reading.terms import seen_of
from squidbot.commands.reading.unread import facts_of
from squidbot.commands.texts import count, shorter, span
from squidbot.core.errors import ConfigError, LLMError, SquidbotError
from squidbot.core.memory.learning import Studied
from squidbot.replay.report import progress
from squidbot.services.background import ByModel, ByRules, Jobs, Order, Worker, reader_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.commands.reading.due import Due
    from squidbot.commands.reading.opened import Opened
    from squidbot.commands.reading.unread import Facts
    from squidbot.core.memory.learning import Unread
    from squidbot.core.messages import Completion, Job
    from squidbot.core.summaries import Done
    from squidbot.services.background import Outcome

__all__ = ["jobs"]

COLUMNS = ("session", "messages", "level", "reason", "said", "room", "saves")
UNREAD_COLUMNS = ("session", "messages", "to be read for facts by")
ID_CHARS = 28
REASONS = ("schedule", "request")


class _Found(NamedTuple):
    """What is due, what became of it (None where nothing was to be done), and how to name a model where none is."""

    facts: Facts
    read: list[Studied] | None
    due: Due
    done: list[Done] | None
    missing: str | None

    @property
    def failed(self) -> dict[str, SquidbotError]:
        """What is wrong with sessions, by id."""
        return {**self.facts.failed, **self.due.failed}

    def to_json(self) -> dict[str, object]:
        """Return it as values that JSON holds."""
        done = self.done
        return {
            "facts": [_unread(one) for one in self.facts.unread],
            "read": None if self.read is None else [_read(one) for one in self.read],
            "jobs": [_json(one) for one in self.due.jobs],
            "total": self.due.every,
            "done": None if done is None else [_told(one) for one in done],
            "model": self.missing is None,
            "failed": [{"session": name, "why": str(error)} for name, error in self.failed.items()],
        }

    @property
    def exit_code(self) -> int:
        """That of the worst that happened: a session that can't be worked on, a summary that was not written."""
        unwritten = self.done is not None and sum(one.summary is not None for one in self.done) < len(self.due.jobs)
        unread = any(one.why for one in self.read or ())
        usage = USAGE if unwritten and self.missing is not None else 0
        return max(ANSWER_IS_NO if unwritten or unread else 0, usage, *map(exit_code, self.failed.values()), 0)


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
    """List messages to be read for facts, and summaries that are due of a language model; --run has both done.

    Without SESSION those of all sessions that can be opened. Of summaries those come first that save most. said: what
    was said in the block, the user's messages left out; room: what its summary may cost; both are bounds, in tokens.
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
    facts, missing = facts_of(place, session_id), _missing(place)
    read = _read_now(place, facts, reason) if run else None
    due = due_of(place, Jobs(_Nobody(), place.wired.job_settings()), session_id, reason, limit)
    done: list[Done] | None = None
    if run:
        able = missing is None and due.jobs
        done = _done(Jobs(place.wired.llm(), place.wired.job_settings()), due, reason) if able else []
    return _Found(facts, read, due, done, missing)


def _read_now(place: Opened, facts: Facts, reason: str) -> list[Studied]:
    """Have messages read for facts, and return what became of each portion; a session that fails is noted.

    Raises:
        ConfigError: the language model that the settings want can't be made.
    """
    read: list[Studied] = []
    if not facts.unread:
        return read
    model = reader_of(place.wired)
    by_model = (ByModel(model, place.wired.job_settings().backoff_seconds),) if model else ()
    worker = Worker(ByRules(), *by_model)
    with progress(sum(one.last_seq - one.first_seq + 1 for one in facts.unread), "reading") as tick:

        def told(one: Outcome) -> None:
            if isinstance(one, Studied):
                read.append(one)
                for _ in range(one.unread.first_seq, one.unread.last_seq + 1):
                    tick()

        for name in dict.fromkeys(one.session_id for one in facts.unread):
            try:
                # Whoever asks waits for no turn to end.
                worker.work(seen_of(place, name), Order(reason=reason or "schedule", told=told))
            except SquidbotError as error:
                facts.failed[name] = error
    return read


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


def _unread(one: Unread) -> dict[str, object]:
    return {
        "session": one.session_id,
        "first": f"m{one.first_seq}",
        "last": f"m{one.last_seq}",
        "reader": one.reader,
    }


def _read(one: Studied) -> dict[str, object]:
    learnt = [memory.memory_id for memory in one.memories]
    return {**_unread(one.unread), "learned": learnt, "passed": len(one.passed), "why": one.why or None}


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
    lines = [f"{name}: {error}" for name, error in found.failed.items()]
    unread = [(one.unread, one.why) for one in found.read or () if one.why]
    lines += [f"{one.session_id} {span(one.first_seq, one.last_seq)}: {why}" for one, why in unread]
    if found.done is not None and found.missing is None:
        lines += _unwritten(found.due, found.done)
    for text in lines:
        complain(text)


def _unwritten(due: Due, done: list[Done]) -> Iterator[str]:
    for one in done:
        if one.summary is None:
            yield f"{one.job.session_id} {span(one.job.first_seq, one.job.last_seq)}: {one.why}"
    left = sum(job.session_id not in due.failed for job in due.jobs)
    left -= sum(one.job.session_id not in due.failed for one in done)
    if left > 0:
        yield f"{count(left, 'job')} left: another process works there, or the model rests"


def _print(found: _Found) -> None:
    paper = Paper()
    _put_facts(paper, found)
    _put_summaries(paper, found)
    if found.missing is not None:
        paper.say(found.missing, "dim")
    paper.print()


def _put_facts(paper: Paper, found: _Found) -> None:
    if found.read:
        learnt = sum(len(one.memories) for one in found.read)
        messages = sum(one.unread.last_seq - one.unread.first_seq + 1 for one in found.read if one.succeeded)
        paper.say(f"{count(messages, 'message')} read for facts; learned {count(learnt, 'fact')}")
    elif found.facts.unread and found.read is None:
        paper.table(UNREAD_COLUMNS, [_unread_row(one) for one in found.facts.unread], texts=UNREAD_COLUMNS)


def _put_summaries(paper: Paper, found: _Found) -> None:
    due, done = found.due, found.done
    if done is not None and (found.missing is None or due.jobs):
        written = [one for one in done if one.summary]
        saved = sum(one.job.said_tokens - one.summary.cost.bound for one in done if one.summary)
        paper.say(
            f"{len(written)} of {count(len(due.jobs), 'job')} done; they stand for {saved:,} tokens more than they cost"
        )
    elif due.jobs:
        paper.table(COLUMNS, [_row(job) for job in due.jobs], texts=("session", "messages", "level", "reason"))
    elif not found.facts.unread:
        paper.say("nothing is due")
    if due.every > len(due.jobs):
        paper.say(f"… {due.every - len(due.jobs):,} more; --limit {due.every} takes all", "dim")


def _unread_row(one: Unread) -> tuple[str, ...]:
    return shorter(one.session_id, ID_CHARS), span(one.first_seq, one.last_seq), one.reader


def _row(job: Job) -> tuple[str, ...]:
    sizes = (job.said_tokens, job.limit_tokens, job.saves_tokens)
    return (
        shorter(job.session_id, ID_CHARS),
        span(job.first_seq, job.last_seq),
        _level(job),
        job.reason,
        *(f"{tokens:,}" for tokens in sizes),
    )
