"""`squidbot replay --profile`: sessions are those of a program, and in each profile every request is whole."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from squidbot.cli import main
from squidbot.config.presets import profiles
from squidbot.replay.rivals import RIVALS
from squidbot.replay.runner import Places, conversations_of, run
from squidbot.replay.terms import SCORING, Terms, open_counter, profile_terms, terms_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.replay.runner import ReplayOutcome, Results

SESSION = Path(__file__).parents[2] / "examples" / "session.jsonl"
# Lines of it: what shows events in each profile and the smallest window, and all.
PART, WHOLE = 80, 430


def under(profile: str, window: int, **given: object) -> Terms:
    """Return the terms of a profile."""
    return profile_terms(profile, window, open_counter("classes"), SCORING, **given)


def begun(folder: Path, lines: int) -> str:
    """Write the beginning of the example session into a folder, and return its path."""
    path = folder / f"{lines}.jsonl"
    path.write_text("".join(SESSION.read_text(encoding="utf-8").splitlines(keepends=True)[:lines]), encoding="utf-8")
    return str(path)


def replayed(terms: Terms, session: str, dump: Path | None = None) -> Results:
    """Replay a session."""
    places = Places((session,), dump=str(dump) if dump else None)
    return run(conversations_of(places), terms, places, tick=lambda: None)


@pytest.fixture(scope="module")
def outcome_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, int, int], ReplayOutcome]:
    """What came of a profile in a window, by how many lines of the example session: made once."""
    folder = tmp_path_factory.mktemp("sessions")

    @cache
    def replay_once(profile: str, window: int, lines: int) -> ReplayOutcome:
        return replayed(under(profile, window), begun(folder, lines)).outcomes[0]

    return replay_once


@pytest.mark.parametrize(
    ("window", "lines"),
    [(2_048, PART), *(pytest.param(size, WHOLE, marks=pytest.mark.slow) for size in (2_048, 4_096, 8_192))],
)
@pytest.mark.parametrize("profile", profiles())
def test_every_request_is_within_its_window_and_whole(
    outcome_of: Callable[[str, int, int], ReplayOutcome], profile: str, window: int, lines: int
) -> None:
    """B-14 to B-17, C28: in each profile, however small the window; none is missing, none breaks a prefix unasked."""
    outcome = outcome_of(profile, window, lines)
    assert outcome.calls > 20
    assert outcome.events
    assert not outcome.failures
    assert (outcome.tally.over, outcome.tally.pairs_broken) == (0, 0)
    assert outcome.unexplained == []
    assert outcome.largest_bound_tokens <= outcome.limit_tokens < window


@pytest.mark.parametrize("lines", [PART, pytest.param(WHOLE, marks=pytest.mark.slow)])
def test_the_default_profile_sends_what_the_engine_alone_sends(tmp_path: Path, lines: int) -> None:
    """A session of a program has nothing that the engine's own lacks, where its settings say nothing."""
    session = begun(tmp_path, lines)
    plain = terms_for(4_096, None, "balanced", open_counter("classes"), "tokens")
    one = replayed(plain, session, tmp_path / "a.dump")
    other = replayed(under("ladder", 4_096), session, tmp_path / "b.dump")
    assert (tmp_path / "a.dump").read_bytes() == (tmp_path / "b.dump").read_bytes()
    assert one.outcomes[0].tally == other.outcomes[0].tally
    assert one.outcomes[0].events


def test_profiles_are_not_all_alike(outcome_of: Callable[[str, int, int], ReplayOutcome]) -> None:
    """In a window that all of it does not fit: what a request has differs, where the documents differ."""
    said = {name: outcome_of(name, 2_048, PART).tally for name in profiles()}
    assert len({(one.billed, one.tokens) for one in said.values()}) >= 4


def test_what_is_asked_for_goes_before_the_profile() -> None:
    """Reserve, strategy and unit."""
    terms = under("llm-bawt", 8_192, budget__reserved_output_tokens=1_000, pressure__strategy="speed")
    assert (terms.window.reserved_output_tokens, terms.strategy, terms.unit) == (1_000, "speed", "tokens")
    assert under("squidbot-v2", 8_192).unit == "words"
    assert under("squidbot-v2", 8_192, budget__policy=False).unit == "tokens"


def test_a_profile_is_told_in_the_report_and_set_beside_the_others(tmp_path: Path) -> None:
    """The table names it, JSON has it, and --compare has a row for each."""
    session = begun(tmp_path, 30)
    said = CliRunner().invoke(main, ["replay", session, "--window", "4k", "--profile", "manual"])
    assert said.exit_code == 0, said.output
    assert "profile manual, strategy balanced" in " ".join(said.output.split())
    asked = ["replay", session, "--window", "4k", "--profile", "manual", "--compare", "--json"]
    made = json.loads(CliRunner().invoke(main, asked).output)
    assert made["profile"] == "manual"
    names = [row["policy"] for row in made["compare"]]
    assert names == [kind.name for kind in RIVALS] + [f"profile {name}" for name in profiles()]


def test_an_unknown_profile_is_refused_before_anything_is_read() -> None:
    """With those there are."""
    said = CliRunner().invoke(main, ["replay", "nowhere.jsonl", "--window", "4k", "--profile", "pinguin"])
    assert said.exit_code != 0
    assert "unknown profile 'pinguin', known: ladder, llm-bawt" in said.output
