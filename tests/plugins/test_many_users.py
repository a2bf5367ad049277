"""A.2: two users never see each other's words, whatever their ids; `many_users` says what they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from squidbot import SHARED
from squidbot.cli import main as squidbot_command

from .many_users import HOSTS, SECRET, main, run_one, users

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("host", HOSTS)
def test_no_user_is_shown_another_s_words(host: str, tmp_path: Path) -> None:
    """Neither by a model's request, nor by a tool, an error or the log; each finds their own."""
    seen = run_one(host, tmp_path, count=40, requests=80, seed="")
    assert seen.leaks == []
    assert seen.counts["with the user's own"] > 10


@pytest.mark.slow
@pytest.mark.parametrize("host", HOSTS)
def test_no_user_is_shown_another_s_words_by_four_processes(host: str) -> None:
    """200 users at once, over one store: each is served by all four."""
    told = CliRunner().invoke(main, [host, "--requests", "800", "--processes", "4"])
    assert told.exit_code == 0, told.output
    assert '"leaked": 0' in told.output


@pytest.mark.parametrize("host", ["pydantic-ai", pytest.param("langchain", marks=pytest.mark.slow)])
def test_the_search_finds_words_of_others_where_all_share_them(host: str, tmp_path: Path) -> None:
    """Else the test above could not fail."""
    assert run_one(host, tmp_path, count=70, requests=120, seed="", scope=SHARED).leaks


@pytest.mark.slow
def test_the_command_line_shows_the_words_of_the_user_who_is_named(tmp_path: Path) -> None:
    """Facts, their export, and the journal; nothing to the person of this machine, and nothing is shared."""
    everyone = users(40)
    run_one("pydantic-ai", tmp_path, count=len(everyone), requests=300, seed="")
    store, journal = str(tmp_path / "mem.db"), str(tmp_path / "journal")
    own = [("--user", user.name, {user.secret}) for user in everyone if user.name.isprintable() and user.name]
    found = set()
    for option, name, secrets in [*own, ("--shared", None, set()), ("--bot", "", set())]:
        whose = [option, *([] if name is None else [name])]
        for command in (
            ["memory", "list", *whose, "--store", store, "--json"],
            ["memory", "search", "password hint walrus", *whose, "--store", store, "--json"],
            ["memory", "export", *whose, "--store", store],
            ["memory", "journal", *whose, "--folder", journal, "--limit", "100", "--json"],
        ):
            told = CliRunner().invoke(squidbot_command, command)
            assert isinstance(told.exception, SystemExit | None), (command, told.output)  # 1: nothing is found
            shown = {*SECRET.findall(told.output)}
            assert shown <= secrets, command
            found |= {(command[1], secret) for secret in shown}
    assert {command for command, _ in found} == {"list", "search", "export", "journal"}
    assert len(found) > 80
