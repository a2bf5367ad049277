"""`squidbot session jobs`: what is due of a language model, and having it written."""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import squidbot
from squidbot.cli import main
from squidbot.core.ports import SupportsClaims

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from click.testing import Result

SETTINGS = '[store]\npath = "kept.db"\n[window]\ndefault = 16_384\n[summary]\n'
# A distribution of somebody else's: its model answers as the settings say.
MODEL = """
import squidbot
from squidbot.core.errors import LLMError
from squidbot.testing.models import ScriptedLLM

ANSWERS = {
    "good": "<summary>Each question got its answer, after a look at it.</summary>",
    "bad": "Error: 503 Service Unavailable",
    "busy": LLMError("rate-limit", "too many requests"),
}
PROMPTS = []

@squidbot.hookimpl
def register_adapters(register):
    register.llm("acme", made)

def made(rest):
    model = ScriptedLLM(ANSWERS[rest])
    PROMPTS.append(model.prompts)
    return model
"""

# The first session, support/42: its window, without which it can't be opened, and a message that jobs are to read.
DAMAGED_LEASE = "UPDATE records SET body = 'x' WHERE session = 1 AND kind = 'window'"
DAMAGED_MESSAGE = "UPDATE messages SET turn = 7777 WHERE key = (1 << 32 | :seq)"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store in which summaries are due, of two sessions of three."""
    folder = tmp_path_factory.mktemp("jobs")
    with squidbot.load({"store": {"path": str(folder / "kept.db")}, "window": {"default": 16_384}}) as engine:
        for name, turns in (("support/42", 50), ("support/43", 45), ("new", 1)):
            session = engine.session(name)
            for turn in range(turns):
                asked = session.assemble(f"question {turn}: " + "please look at it " * 40, now=float(turn))
                session.record(asked.incoming, f"answer {turn}: " + "because of this and that " * 80, now=float(turn))
    return folder


@pytest.fixture
def run(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Result]]:
    """Run the command line in the folder of a copy, in which that distribution is installed."""
    for path in kept.iterdir():
        shutil.copy(path, tmp_path)
    (tmp_path / "acme_model.py").write_text(MODEL, encoding="utf-8")
    info = tmp_path / "acme_model-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-model\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[squidbot]\nacme = acme_model\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "squidbot.toml").write_text(SETTINGS, encoding="utf-8")
    yield lambda *arguments: CliRunner().invoke(main, ["session", "jobs", *arguments])
    sys.modules.pop("acme_model", None)


def settle(tmp_path: Path, text: str) -> None:
    """Write the settings of summaries."""
    (tmp_path / "squidbot.toml").write_text(SETTINGS + text, encoding="utf-8")


def prompts() -> list[str]:
    """Return what the newest model was asked."""
    asked = sys.modules["acme_model"].PROMPTS[-1]
    assert isinstance(asked, list)
    return asked


def test_jobs_lists_what_is_due_those_first_that_save_most(run: Callable[..., Result], tmp_path: Path) -> None:
    """Block, level, reason, sizes; without a model it says what to set where, and no byte is written."""
    before = (tmp_path / "kept.db").read_bytes()
    result = run()
    assert result.exit_code == 0
    head, *rows = result.output.splitlines()
    assert head.split() == ["session", "messages", "reason", "said", "room", "saves"]
    assert "support/42" in result.output
    assert "support/43" in result.output
    assert "set summary.llm to a model alias, or to NAME:MODEL" in " ".join(rows)
    found = json.loads(run("--json").output)
    assert found["total"] == len(found["jobs"]) >= 4
    assert (found["done"], found["model"]) == (None, False)
    saved = [job["saves_tokens"] for job in found["jobs"]]
    assert saved == sorted(saved, reverse=True)
    assert all(job["saves_tokens"] == job["said_tokens"] - job["limit_tokens"] for job in found["jobs"])
    assert {job["mode"] for job in found["jobs"]} == {"developer"}
    assert (tmp_path / "kept.db").read_bytes() == before


def test_jobs_of_one_session_by_reason_and_limit(run: Callable[..., Result]) -> None:
    """A session is named as elsewhere; a request lists all that is closed."""
    one = json.loads(run("support/43", "--json").output)
    assert {job["session"] for job in one["jobs"]} == {"support/43"}
    asked = json.loads(run("support/43", "--reason", "request", "--json").output)
    assert asked["total"] > one["total"]
    assert {job["reason"] for job in asked["jobs"]} == {"request"}
    few = run("--limit", "1")
    assert "more; --limit" in few.output
    assert len(few.output.splitlines()) < len(run().output.splitlines())
    assert run("new").output.startswith("nothing is due\n")
    assert run("support").exit_code == 1
    assert run("--reason", "whim").exit_code == 2


def test_jobs_are_written_when_they_are_told_to_run(run: Callable[..., Result], tmp_path: Path) -> None:
    """At most so many; what is done is due no more, and shown by `recall`."""
    settle(tmp_path, 'llm = "acme:good"\nmode = "planning"\n')
    due = json.loads(run("--json").output)
    assert due["model"] is True
    assert {job["mode"] for job in due["jobs"]} == {"planning"}
    result = run("--run", "--limit", "1")
    assert result.exit_code == 0, result.output
    assert result.output.startswith("1 of 1 job done; ")
    assert len(prompts()) == 1
    assert "Keep above all: goals, requirements" in prompts()[0]
    told = json.loads(run("support/42", "--run", "--json").output)
    assert told["done"]
    assert all(one["summary"] and one["why"] is None for one in told["done"])
    assert json.loads(run("support/42", "--json").output)["total"] == 0
    shown = CliRunner().invoke(main, ["session", "recall", "support/42", told["done"][0]["summary"]])
    assert shown.exit_code == 0
    rest = run("--run")
    assert rest.exit_code == 0
    assert run("--run").output.startswith("0 of 0 jobs done")


def test_jobs_that_fail_say_why_and_are_no(run: Callable[..., Result], tmp_path: Path) -> None:
    """Exit code 1, a line for each; the notes by rule stand."""
    settle(tmp_path, 'llm = "acme:bad"\n')
    result = run("support/42", "--run", "--limit", "2")
    assert result.exit_code == 1
    assert "0 of 2 jobs done" in result.output
    assert result.output.count("squidbot: support/42 m") == 2
    assert "is not between <summary> and </summary>" in result.output
    settle(tmp_path, 'llm = "acme:busy"\n')
    result = run("support/42", "--run", "--limit", "2")
    assert result.exit_code == 1
    assert len(prompts()) == 1
    assert "1 job left: another process works there, or the model rests" in result.output


def test_jobs_of_a_session_that_another_process_works_on_are_left_to_it(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    """The model is not asked twice for one source."""
    settle(tmp_path, 'llm = "acme:good"\n')
    with squidbot.load({"store": {"path": "kept.db"}}) as engine:
        store = engine.wired.store
        assert isinstance(store, SupportsClaims)
        assert store.claim("support/42", "summaries", "another", time.time(), 900.0)
    result = run("support/42", "--run")
    assert result.exit_code == 1
    assert "left: another process works there" in result.output
    assert prompts() == []


@pytest.mark.parametrize("damage", [DAMAGED_LEASE, DAMAGED_MESSAGE], ids=["to open", "to work on"])
def test_jobs_pass_over_a_session_that_is_damaged(run: Callable[..., Result], tmp_path: Path, damage: str) -> None:
    """It is named on standard error, those of the others are written, and the exit code is that of damage."""
    settle(tmp_path, 'llm = "acme:good"\n')
    first = json.loads(run("support/42", "--json").output)["jobs"][0]["first"]
    with closing(sqlite3.connect(tmp_path / "kept.db")) as connection, connection:
        assert connection.execute(damage, {"seq": int(first[1:])}).rowcount == 1
    result = run("--run", "--json")
    assert result.exit_code == 4
    told = json.loads(result.stdout)
    assert [one["session"] for one in told["failed"]] == ["support/42"]
    assert {one["session"] for one in told["done"] if one["summary"]} == {"support/43"}
    assert json.loads(run("support/43", "--json").output)["total"] == 0
    (line,) = result.stderr.splitlines()
    assert line.startswith("squidbot: support/42: ")
    assert told["failed"][0]["why"] in line
    assert run("support/43", "--run").exit_code == 0
    alone = run("support/42", "--run")
    assert alone.exit_code == 4
    assert alone.stderr.startswith("squidbot: ")


def test_jobs_without_a_model_can_not_run(run: Callable[..., Result], tmp_path: Path) -> None:
    """It says exactly what to put where: usage, exit code 2."""
    result = run("--run")
    assert result.exit_code == 2
    assert "set summary.llm to a model alias, or to NAME:MODEL" in result.output
    settle(tmp_path, 'llm = "nobody"\n')
    result = run("--run")
    assert result.exit_code == 2
    told = " ".join(result.output.split())
    assert "unknown language model 'nobody', known: " in told
    assert "; use the alias of a model that has an adapter, or load an extension @ squidbot.toml.summary.llm" in told


# -- facts ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def said(tmp_path: Path, run: Callable[..., Result]) -> Callable[..., Result]:
    """As `run`, with a session in which a user has said something that nobody has read."""
    settings = {"store": {"path": str(tmp_path / "kept.db")}, "summary": {"scheduler": "none"}}
    with squidbot.load(settings) as engine:
        session = engine.session("ann/1", scope=squidbot.Scope(user="ann", bot="helper"))
        session.record({"role": "user", "content": "I live in Lisbon, and I prefer tabs."}, "Noted.", now=1.7e9)
    return run


def test_jobs_list_messages_to_be_read_for_facts_and_read_them(said: Callable[..., Result], tmp_path: Path) -> None:
    """Only where a user is named; without `--run` no byte is written, and with it they are found from then on."""
    before = (tmp_path / "kept.db").read_bytes()
    shown = said("ann/1")
    assert shown.output.splitlines()[0].split() == ["session", "messages", "to", "be", "read", "for", "facts", "by"]
    assert shown.output.splitlines()[1].split() == ["ann/1", "m0-m1", "rules"]
    assert "summary.llm" not in shown.output, "rules need no model"
    found = json.loads(said("--json").output)
    assert found["facts"] == [{"session": "ann/1", "first": "m0", "last": "m1", "reader": "rules"}]
    assert found["read"] is None
    assert (tmp_path / "kept.db").read_bytes() == before
    result = said("ann/1", "--run")
    assert result.exit_code == 0, result.output
    assert result.output.startswith("2 messages read for facts; learned 2 facts\n")
    assert json.loads(said("--json").output)["facts"] == []
    listed = CliRunner().invoke(main, ["memory", "list", "--user", "ann", "--bot", "helper"])
    assert "The user: I live in Lisbon." in listed.output
    assert said("ann/1").output.startswith("nothing is due\n")


def test_jobs_say_which_facts_a_model_could_not_read(said: Callable[..., Result], tmp_path: Path) -> None:
    """Exit code 1, and the rules have read."""
    (tmp_path / "squidbot.toml").write_text('[store]\npath = "kept.db"\n[memory]\nllm = "acme:bad"\n')
    assert [one["reader"] for one in json.loads(said("ann/1", "--json").output)["facts"]] == ["rules", "model"]
    result = said("ann/1", "--run", "--json")
    assert result.exit_code == 1
    read = json.loads(result.stdout)["read"]
    assert [(one["reader"], len(one["learned"]), one["why"] is None) for one in read] == [
        ("rules", 2, True),
        ("model", 0, False),
    ]
    assert "squidbot: ann/1 m0-m1: " in result.stderr
    assert "is not between <facts> and </facts>" in result.stderr
    (tmp_path / "squidbot.toml").write_text('[store]\npath = "kept.db"\n[memory]\nextract = "off"\n')
    assert json.loads(said("ann/1", "--json").output)["facts"] == []
