"""examples/extension as its users have it: built, installed, named in squidbot.toml, used by the command line."""

from __future__ import annotations

import getpass
import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from squidbot.cli import main
from squidbot.testing import check_transcript_store

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "extension"
SETTINGS = '[store]\nadapter = "drawers"\npath = "shared"\n'
CLI = "from squidbot.cli import main; main()"
# Two commands in one process.
LOOK = "from squidbot.cli import main; main(['session', 'list'], standalone_mode=False); main(['status'])"
TALK = """
import squidbot
with squidbot.load() as engine:
    session = engine.session("talk", window_tokens=4096)
    for turn in range(12):
        asked = session.assemble(f"What became of squid {turn}? " + "It swam. " * 30)
        session.record(asked.incoming, f"Squid {turn} went home. " * 20)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the distribution, built and installed by uv with what is on this machine."""
    folder, copy = tmp_path_factory.mktemp("installed"), tmp_path_factory.mktemp("source") / "extension"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
    command = [uv, "pip", "install", "--offline", "--no-deps", "--python", sys.executable, "--target", str(folder)]
    done = subprocess.run([*command, str(copy)], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder


def run(folder: Path, code: str, *arguments: str, beside: Path) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, with what is installed `beside` squidbot."""
    path = os.pathsep.join(map(str, [beside, ROOT]))
    command = [sys.executable, "-c", code, *arguments]
    environ = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=folder, env=environ)


@pytest.fixture(scope="module")
def talked(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with settings and a session, and what was said on standard error meanwhile."""
    folder = tmp_path_factory.mktemp("talked")
    (folder / "squidbot.toml").write_text(SETTINGS, encoding="utf-8")
    done = run(folder, TALK, beside=installed)
    assert done.returncode == 0, done.stderr
    return folder, done.stderr


def test_the_example_is_a_distribution_of_at_most_80_lines() -> None:
    """All of it: what builds it, and what it does."""
    files = [path for path in EXAMPLE.rglob("*") if path.suffix in {".py", ".toml"}]
    assert len(files) == 2
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= 80


def test_the_example_keeps_sessions_and_listens_where_settings_name_it(
    installed: Path, talked: tuple[Path, str], tmp_path: Path
) -> None:
    """One word in squidbot.toml; the command line finds, shows and shortens what is in its store."""
    folder, said = talked
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    assert "drawers: context-assembled in talk" in said
    store = tmp_path / "shared" / getpass.getuser() / "sessions.db"
    assert store.is_file()
    shown = run(tmp_path, LOOK, beside=installed).stdout
    assert "talk" in shown.split("drawers")[0]
    assert "drawers: shared: an extension's" in shown
    checked = run(tmp_path, CLI, "store", "doctor", beside=installed)
    found = (checked.returncode, checked.stdout.partition("\n")[0])
    assert found == (0, "drawers: whole"), checked.stderr
    assert "an extension keeps this store" in checked.stdout
    settings = run(tmp_path, CLI, "config", beside=installed).stdout
    assert "store.adapter  drawers  (squidbot.toml:2)" in settings
    shortened = run(tmp_path, CLI, "session", "compact", "talk", beside=installed)
    assert shortened.returncode == 0, shortened.stderr
    told = shortened.stderr.splitlines()
    assert any(line.startswith("drawers: compressed in talk") for line in told)
    assert told[-1].startswith("drawers: ")
    assert told[-1].endswith(" after")


def test_another_word_takes_another_adapter(
    talked: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same sessions by our own; and without the distribution the word is an error in one line."""
    shutil.copytree(talked[0], tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    missing = CliRunner().invoke(main, ["session", "list"])
    assert missing.exit_code == 2
    (line,) = missing.stderr.splitlines()
    assert line.startswith("squidbot: unknown store 'drawers', known: ")
    assert line.endswith(" @ squidbot.toml.store.adapter")
    ours = SETTINGS.replace("drawers", "sqlite3").replace("shared", f"shared/{getpass.getuser()}/sessions.db")
    (tmp_path / "squidbot.toml").write_text(ours, encoding="utf-8")
    assert "talk" in CliRunner().invoke(main, ["session", "list"]).stdout


def test_the_example_keeps_the_promises_of_a_store(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An adapter is whatever passes its check."""
    monkeypatch.syspath_prepend(str(installed))
    drawers = importlib.import_module("squidbot_drawers")
    made = iter(range(100))
    check_transcript_store(lambda: drawers.Drawer(str(tmp_path / f"{next(made)}")))
