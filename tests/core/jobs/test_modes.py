"""What summaries keep above all: as the settings say, else as the session's mode has it."""

from __future__ import annotations

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.engine import Inputs
from squidbot.core.errors import ConfigError
from squidbot.core.last_request import Mode
from squidbot.core.summaries import SummarySettings, prompt

from ..promises.driver import Host
from ..promises.histories import tame
from .models import MIDDLE, desk_of, writer

KEEPS = {"developer": "code", "reviewer": "findings, with who is to fix them"}


def talked_in(mode: str) -> InMemoryStore:
    """Return a store with a session that has always been in a mode, long enough that summaries of it are due."""
    host = Host(InMemoryStore(), MIDDLE, inputs=lambda _number: Inputs(mode=Mode(mode)), watch=False)
    host.run(tame(20, 240))
    return host.store


def test_summaries_keep_what_the_session_s_mode_keeps() -> None:
    """O-11: of a session without one what "developer" keeps; a mode of the settings goes before."""
    store = talked_in("debugger")
    assert {job.mode for job in desk_of(store).due(reason="request")} == {"debugger"}
    chosen = desk_of(store, jobs=SummarySettings(mode="planning")).due(reason="request")
    assert {job.mode for job in chosen} == {"planning"}
    assert {job.mode for job in desk_of(talked_in("")).due(reason="request")} == {"developer"}


def test_mode_of_the_user_s_own_keeps_what_its_text_says() -> None:
    """Where no text of that name is there any more, what "developer" keeps."""
    store = talked_in("reviewer")
    jobs = desk_of(store, jobs=SummarySettings(keeps=KEEPS)).due(reason="request")
    assert {job.mode for job in jobs} == {"reviewer"}
    assert f"Keep above all: {KEEPS['reviewer']}.\n" in prompt(jobs[0], "said", 100, KEEPS)
    assert {job.mode for job in desk_of(store).due(reason="request")} == {"developer"}
    with pytest.raises(ConfigError, match="unknown summary mode 'debugger'; known: developer, reviewer"):
        desk_of(store, jobs=SummarySettings(mode="debugger", keeps=KEEPS))


def test_summary_that_was_made_in_another_mode_stays_good() -> None:
    """What was said then was said in that; nothing is written anew, and no job is due for it."""
    store = talked_in("debugger")
    made = desk_of(store).run(writer(), reason="request")
    assert any(one.succeeded for one in made)
    host = Host(store, MIDDLE, inputs=lambda _number: Inputs(mode=Mode("planning")), watch=False)
    host.run(tame(1, start=20))
    done = {(one.task.first_seq, one.task.last_seq) for one in made if one.succeeded}
    due = {(job.first_seq, job.last_seq) for job in desk_of(store).due(reason="request")}
    assert not done & due
