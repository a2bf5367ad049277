"""A recording replayed in a mode: its system text is in each request, and no message of the recording."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from squidbot.cli import main
from squidbot.codecs.transcripts import read_transcripts
from squidbot.replay.recording import with_system_text
from squidbot.replay.terms import open_counter, prompt_of, terms_for

SESSION = Path(__file__).parents[2] / "examples" / "session.jsonl"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the beginning of the sample, and no settings."""
    monkeypatch.chdir(tmp_path)
    lines = SESSION.read_text(encoding="utf-8").splitlines(keepends=True)
    Path("talk.jsonl").write_text("".join(lines[:40]), encoding="utf-8")


def replayed(*options: str) -> Result:
    """Return what a replay of a short conversation printed."""
    return CliRunner().invoke(main, ["replay", "talk.jsonl", "--window", "16k", *options])


def answer(*options: str) -> dict[str, Any]:
    """Return the same as JSON."""
    done = replayed("--json", *options)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_each_request_has_the_text_of_the_mode_behind_the_systems_own() -> None:
    """It is told, counted, and stands where it stays: the cache reads it."""
    plain, planned = answer("--dump", "plain.jsonl"), answer("--mode", "planning", "--dump", "planned.jsonl")
    assert (plain["mode"], planned["mode"]) == ("off", "planning")
    assert "; mode planning" in replayed("--mode", "planning").stdout.replace("\n", " ")
    requests = [json.loads(line) for line in Path("planned.jsonl").read_text(encoding="utf-8").splitlines()]
    before = [json.loads(line) for line in Path("plain.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(requests) == len(before) > 5
    prompt = prompt_of("planning", terms_for(16_000, None, "balanced", open_counter("classes"), "tokens"))
    assert prompt is not None
    for one, other in zip(requests, before, strict=True):
        assert json.dumps(prompt.text)[1:-1] in json.dumps(one)
        assert json.dumps(prompt.text)[1:-1] not in json.dumps(other)


def test_text_stands_behind_the_first_system_texts_and_is_no_message_of_the_recording() -> None:
    """Open calls, lines, places and usages stay with their messages."""
    (talk,) = read_transcripts("talk.jsonl")
    prompt = prompt_of("developer", terms_for(16_000, None, "balanced", open_counter("classes"), "tokens"))
    assert prompt is not None
    made = with_system_text(talk, prompt.text)
    at = next(place for place, message in enumerate(talk.messages) if message.role != "system")
    assert (made.messages[at].role, made.messages[at].text, made.sources[at]) == ("system", prompt.text, -1)
    for name in ("messages", "lines", "sources", "usages"):
        given, found = getattr(talk, name), getattr(made, name)
        assert (*found[:at], *found[at + 1 :]) == given
    assert [call for _, call in made.unanswered] == [call for _, call in talk.unanswered]


def test_modes_of_ones_own_are_known_and_others_are_named() -> None:
    """From `prompt.folder` of the settings; one that is not there is an error with those there are."""
    said = replayed("--mode", "nope")
    assert said.exit_code == 2
    assert "--mode: unknown mode 'nope', known: off, developer, planning, assistant, debugger" in said.stderr
    Path("texts").mkdir()
    Path("texts/review.md").write_text("You review what others wrote.\n\nKeep: findings.\n", encoding="utf-8")
    Path("squidbot.toml").write_text('[prompt]\nfolder = "texts"\n', encoding="utf-8")
    assert answer("--mode", "review")["mode"] == "review"
