"""The first page is true from the first line to the last: its program runs, then its commands, in the same folder."""

from __future__ import annotations

import re
import shlex
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner

from squidbot.cli import main

if TYPE_CHECKING:
    import pytest

START = (Path(__file__).parent.parent / "docs" / "start.md").read_text("utf-8")
README = (Path(__file__).parent.parent / "README.md").read_text("utf-8")


def test_commands_find_what_the_program_has_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report is there, with as many compactions as the program said."""
    monkeypatch.chdir(tmp_path)
    out = StringIO()
    with redirect_stdout(out):
        exec("".join(re.findall(r"^```python\n(.*?)^```$", START, re.DOTALL | re.MULTILINE)), {})  # noqa: S102  # it is what is tested
    commands = re.findall(r"^squidbot (.*)$", START, re.MULTILINE)
    assert commands
    for command in commands:
        done = CliRunner().invoke(main, shlex.split(command))
        assert done.exit_code == 0, done.output
    assert Path("report.html").stat().st_size > 100_000
    (plans,) = re.findall(r"plan (\d+)", out.getvalue())
    (compactions,) = re.findall(r"(\d+) compactions", done.output)
    assert int(compactions) - int(plans) in {0, 1}


def test_readme_is_short_and_shows_a_line_of_the_table_of_hosts() -> None:
    """At most 800 words; what it adds to a program is what the first page says, and a test runs that."""
    assert len(README.split()) <= 800
    lines = re.findall(r"^\+(\S.*)$", README, re.MULTILINE)
    assert lines[0] == "from squidbot.plugins.langchain import Squidbot"
    assert f"`{lines[1]}` |" in START
