"""`squidbot memory reindex`: vectors that wait are made, all of them anew where that is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from squidbot.adapters.sqlite3.memory import SqliteMemoryStore
from squidbot.cli import main
from squidbot.testing import HashedWords, made_memory
from squidbot.wiring import registry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from click.testing import Result


@pytest.fixture(autouse=True)
def _facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings with an embedder, and three facts."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(registry.ADAPTERS, ("embedder", "onnxruntime"), lambda rest: HashedWords(16, f"hashed{rest}"))
    with SqliteMemoryStore("facts.db") as store:
        store.add([made_memory(f"Ann has beagle number{number}.") for number in range(3)])
    named("onnxruntime")


def named(embedder: str) -> None:
    """Write the settings."""
    Path("squidbot.toml").write_text(f'[memory]\npath = "facts.db"\nembedder = "{embedder}"\n', encoding="utf-8")


def run(*arguments: str, code: int = 0) -> Result:
    """Run the command, and return what it printed."""
    done = CliRunner().invoke(main, ["memory", *arguments])
    assert done.exit_code == code, done.output
    return done


def kept() -> dict[str, int]:
    """Return the models whose vectors are kept, and how many wait for one of each."""
    with SqliteMemoryStore("facts.db") as store:
        return {name: store.waiting(name) for name in store.models()}


def test_vectors_that_wait_are_made() -> None:
    """Once: a second run makes none. Nothing is said of files where there are none, unless some are named."""
    assert run("reindex").stdout.splitlines() == ["vectors: 3 made by hashed"]
    assert kept() == {"hashed": 0}
    made: dict[str, Any] = json.loads(run("reindex", "--json").stdout)["made"]
    assert made == {"words": 0, "model": "hashed", "vectors": 0, "waiting": 0}
    Path("empty").mkdir()
    assert run("reindex", "empty").stdout.splitlines() == [
        "nothing to index in empty",
        "vectors: all were there, made by hashed",
    ]


def test_all_is_made_anew_when_that_is_asked_for() -> None:
    """Vectors, and what words find facts by; afterwards they are found by both."""
    run("reindex")
    assert run("reindex", "--anew").stdout.splitlines()[-2:] == [
        "words: of 3 entries indexed anew",
        "vectors: 3 made by hashed",
    ]
    assert "number2" in run("search", "beagle number2", "--user", "ann", "--bot", "squid").stdout


def test_vectors_of_another_embedder_are_dropped_when_all_are_made() -> None:
    """After `memory.embedder` was changed; a dry run changes nothing."""
    run("reindex")
    named("onnxruntime:2")
    assert "vectors" not in run("reindex", "--dry-run").stdout
    assert kept() == {"hashed": 0}
    assert run("reindex").stdout.splitlines()[-1] == "vectors: 3 made by hashed2"
    assert kept() == {"hashed2": 0}


def test_nothing_is_said_of_vectors_when_nobody_makes_them() -> None:
    """As ever, without an embedder; what words find can be made anew without one."""
    named("none")
    assert "vectors" not in run("reindex").stdout
    assert run("reindex", "--anew").stdout.splitlines()[-1] == "words: of 3 entries indexed anew"
    assert kept() == {}


def test_embedder_that_fails_ends_the_command_with_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was made before is kept."""

    class Down(HashedWords):
        def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
            """Have no server."""
            raise OSError(f"no route for {len(texts)}")

    monkeypatch.setitem(registry.ADAPTERS, ("embedder", "onnxruntime"), lambda _: Down())
    (line,) = run("reindex", code=1).stderr.splitlines()
    assert "no route for 3" in line
