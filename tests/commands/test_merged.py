"""`squidbot memory merge`, `restore`, `show`: nothing is lost, and all of it can be taken back."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import squidbot
from squidbot.cli import main
from squidbot.cli.memory import similar
from squidbot.core.memory.view import merges
from squidbot.testing.models import HashedWords

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from click.testing import Result

    from squidbot.hookspecs import Register

TEXTS = ("Ann keeps two brown bees at home.", "Ann keeps two brown bees at home now.", "Ann likes tea.")


@pytest.fixture
def ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A file of three facts, two of which say nearly the same; their ids."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "squidbot.toml").write_text('[memory]\npath = "facts.db"\n')
    return [found for text in TEXTS for found in re.findall(r"f-\w+", run("add", text).output)[:1]]


def run(*arguments: str) -> Result:
    """Run a command on Ann's facts."""
    return CliRunner().invoke(main, ["memory", *arguments, "--user", "ann"])


def held(*more: str) -> set[str]:
    """Return the texts of what is listed."""
    return {one["text"] for one in json.loads(run("list", "--json", *more).output)["memories"]}


def test_merge_says_what_it_would_do_and_does_it_when_it_is_told(ids: list[str]) -> None:
    """The newer stays, the other one is history, and is brought back."""
    shown = run("merge")
    assert shown.exit_code == 0, shown.output
    assert "1 fact would be replaced; run with --yes to do it" in shown.output
    assert held() == {*TEXTS}
    done = json.loads(run("merge", "--yes", "--json").output)
    (merge,) = done["merges"]
    assert (done["merged"], merge["kept"]["memory_id"], [one["memory_id"] for one in merge["gone"]]) == (
        True,
        ids[1],
        [ids[0]],
    )
    assert held() == {*TEXTS[1:]}
    assert held("--past") == {*TEXTS}
    assert "no facts say nearly the same" in run("merge", "--yes").output
    assert f"replaced by  {ids[1]}" in run("show", ids[0]).output
    back = run("restore", ids[0])
    other = f"{ids[1]}, which replaced it, stays valid too: squidbot memory forget {ids[1]} removes it"
    assert back.output == f"restored {ids[0]}; {other}\n"
    assert held() == {*TEXTS}
    assert run("restore", ids[2]).output == f"{ids[2]} was not replaced: nothing to restore\n"
    assert json.loads(run("restore", ids[0], "--json").output) == {"restored": [ids[0]]}


class Flat(HashedWords):
    """An embedder to which all texts mean the same."""

    name = "flat"

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return one direction."""
        return [(1.0, *[0.0] * (self.dimensions - 1))] * len(texts)


class Brings:
    """An extension that offers it."""

    @squidbot.hookimpl
    def register_adapters(self, register: Register) -> None:
        """Offer it."""
        register.embedder("flat", lambda _: Flat())


def test_merge_compares_by_vectors_where_there_is_an_embedder(ids: list[str]) -> None:
    """What shares no word may mean the same."""
    settings = {"memory": {"path": "facts.db", "embedder": "flat"}}
    with squidbot.load(settings, extensions=[Brings()]) as engine:
        memories = engine.memories(squidbot.Scope(user="ann"))
        facts = memories.store.get([ids[0], ids[2]])
        (merge,) = merges(facts, similar(memories, facts))
        assert [one.memory_id for one in merge.gone] == [ids[0]]
        assert merges(facts) == ()


def test_show_says_why_a_fact_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which rule, which message of which session, who said it; of an unknown id, what ids look like."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "squidbot.toml").write_text('[store]\npath = "talk.db"\n[summary]\nscheduler = "none"\n')
    with squidbot.load() as engine:
        session = engine.session("chat/1", scope=squidbot.Scope(user="ann"))
        session.record({"role": "user", "content": "I live in Lisbon."}, "Noted.")
        engine.run_jobs()
        (fact,) = engine.wired.remembering.store.from_session("chat/1")
    shown = run("show", fact.memory_id)
    assert shown.output.startswith(f"{fact.memory_id}: The user: I live in Lisbon.\n")
    assert "rule 'home'" in shown.output
    assert "m0 of session chat/1" in shown.output
    (told,) = json.loads(run("show", fact.memory_id, "--json").output)["memories"]
    assert told["reason"] == "rule 'home'"
    refused = run("show", "f-aaaaaaaaaa")
    assert refused.exit_code == 1
    assert "no memory has the id" in refused.stderr
