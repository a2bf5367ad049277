"""docs/trust.md is true: the tests that it names are there, none of the promises is left out, nothing is sent."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "trust.md").read_text("utf-8")
NAMED = frozenset(re.findall(r"\btests/[\w/]+(?:\.py)?", PAGE))

# A process that may connect to nothing, not even to itself, and look up no name.
ALONE = """
import sys

opened = []

def refused(event, arguments):
    if event in {"socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname"}:
        opened.append(event)
        raise OSError(event)

sys.addaudithook(refused)
import squidbot

# Without a thread, run_jobs does what that would do.
given = {"store": {"path": "mem.db"}, "memory": {"path": "mem.db"}, "summary": {"scheduler": "none"}}
with squidbot.load(given) as engine:
    session = engine.session("s", window_tokens=2_048, scope=squidbot.Scope(user="ann"))
    for _ in range(12):
        request = session.assemble("I live in Porto, and I prefer tabs.")
        session.record(request.incoming, "It is fine. " * 50)
    session.compact()
    engine.run_jobs()
    assert session.search("Porto").hits
    assert "Porto" in session.memory({"action": "list"}).text

from squidbot.cli import main
main(["status", "--all"], standalone_mode=False)
main(["session", "explain", "s", "--store", "mem.db"], standalone_mode=False)
print(*(opened or ["alone"]))
"""


def test_every_test_that_is_named_is_there() -> None:
    """A file that moves takes its line with it."""
    assert len(NAMED) > 30
    assert [name for name in sorted(NAMED) if not (ROOT / name).exists()] == []


def test_every_promise_and_crash_is_named() -> None:
    """A property that nobody reads of is one that nobody relies on."""
    folders = {"core/promises": "test_promise_*.py", "adapters/crash": "test_*.py"}
    there = {
        f"tests/{name}/{path.name}" for name, mask in folders.items() for path in (ROOT / "tests" / name).glob(mask)
    }
    assert there - NAMED == set()


def test_a_threat_model_is_there_and_says_what_to_do() -> None:
    """Other pages link to it by this heading; each row has who, what, and what squidbot does."""
    section = PAGE.partition("\n## Threat model\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ") and line.count(" | ") == 3]
    assert len(rows) > 10
    assert all(cell.strip() for row in rows for cell in row.split("|")[1:4])


def test_nothing_is_sent_unless_settings_name_who_gets_it(tmp_path: Path) -> None:
    """Turns, a compaction, facts, a search, background work and commands, where no connection may be opened."""
    done = subprocess.run(
        [sys.executable, "-c", ALONE], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stdout[-6:]) == (0, "alone\n"), done.stderr[-2000:]
