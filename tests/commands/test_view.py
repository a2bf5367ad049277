"""`squidbot view`, without a browser: what it is told, and what it says. tests/report has the server."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest
from click.testing import CliRunner, Result

import squidbot
from squidbot.cli import main
from squidbot.cli.view import _has_browser, _Status
from squidbot.core.errors import StoreError
from squidbot.report.server import ReportServer

if TYPE_CHECKING:
    from collections.abc import Callable

pexpect = pytest.importorskip("pexpect")

SECONDS = 60
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
SERVE = "from squidbot.cli import main; main()"


def run(*arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(main, ["view", *arguments])


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store in the current folder."""
    monkeypatch.chdir(tmp_path)
    with squidbot.load({"store": {"path": "mem.db"}}) as engine:
        engine.session("s").record({"role": "user", "content": "Hi"})
    return "mem.db"


def test_it_prints_an_address(store: str) -> None:
    """Alone on standard output; Ctrl-C ends it at once, with a page open."""
    command = [sys.executable, "-c", SERVE, "view", "--store", store, "--no-browser"]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, env=ENVIRONMENT, **pipes)  # type: ignore[call-overload]  # as named
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:[0-9]+/\?token=[\w-]{40,}", address)
        with httpx2.Client(base_url=address.partition("?")[0], timeout=SECONDS) as client:
            assert client.get(address).status_code == 303
            assert client.get("/api/sessions").json()["total"] == 1
            with client.stream("GET", "/api/events?list=1") as stream:
                assert next(stream.iter_lines()) == "retry: 1000"
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    assert out == ""
    assert process.returncode == 130
    (line,) = err.splitlines()
    assert line.startswith(
        f"squidbot: shows {Path(store).absolute()}, read only. The address works once. Press Ctrl-C to end."
    )


def test_enter_in_the_terminal_gives_a_new_address(store: str) -> None:
    """Each works, once."""
    command = ["-c", SERVE, "view", "--store", store, "--no-browser"]
    terminal = pexpect.spawn(sys.executable, command, env=ENVIRONMENT, encoding="utf-8", timeout=SECONDS, echo=False)
    try:
        address = r"http://127\.0\.0\.1:[0-9]+/\?token=[\w-]{40,}"
        terminal.expect(address)
        first = terminal.match.group()
        terminal.expect("Press Enter for another one, Ctrl-C to end")
        terminal.sendline("")
        terminal.expect(address)
        second = terminal.match.group()
        assert first != second
        for each, status in ((second, 303), (first, 303), (second, 401)):
            assert httpx2.get(each, timeout=SECONDS).status_code == status
        terminal.sendintr()
        terminal.expect(pexpect.EOF)
    finally:
        terminal.close(force=True)
    assert terminal.exitstatus == 130


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "no store: pass --store FILE.db"),
        (["--store", "none.db"], "none.db: no such file"),
        (["--store", "mem.db", "--host", "0.0.0.0"], "users need tokens: pass --tokens FILE"),  # noqa: S104  # refused
        (["--store", "mem.db", "--host", "nowhere.invalid"], "users need tokens"),
        (["--store", "mem.db", "--shared", "--user", "ann"], "--shared is for all"),
        (["--store", "mem.db", "--tokens", "none"], "--tokens none: it can't be read"),
        (["--store", "mem.db", "--port", "70000"], "70000 is not in the range"),
        (["--store", "mem.db", "--url", "view.example"], "'view.example' is not an address"),
        (["--store", "mem.db", "--url", "https://view.example/under"], "is not an address"),
        (["--store", "mem.db", "--url", "https://me@view.example"], "is not an address"),
    ],
)
def test_what_is_wrong_is_said(store: str, arguments: list[str], says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is served, and nothing made."""
    monkeypatch.setattr(ReportServer, "serve", lambda *_: pytest.fail("it serves"))
    before = sorted(Path().iterdir())
    result = run(*arguments)
    assert result.exit_code in {1, 2}
    assert says in result.stderr
    assert sorted(Path().iterdir()) == before
    assert store


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("https://view.example", "https://view.example"),
        ("HTTPS://View.Example:443/", "https://view.example"),
        ("https://view.example:8443", "https://view.example:8443"),
        ("http://[::1]:80", "http://[::1]"),
    ],
)
def test_the_address_of_a_server_in_front_is_printed(
    store: str, given: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As browsers write it."""

    def serve(_: ReportServer, listening: socket.socket, started: Callable[[], None]) -> None:
        listening.close()
        started()

    monkeypatch.setattr(ReportServer, "serve", serve)
    result = run("--store", store, "--url", given, "--no-browser")
    assert re.fullmatch(rf"{re.escape(url)}/\?token=[\w-]{{40,}}\n", result.stdout), result.output


@pytest.mark.parametrize(
    ("out", "err", "says"),
    [
        ("", "squidbot: mem.db: no such file\n", "squidbot status failed: squidbot: mem.db: no such file"),
        ("", "", "squidbot status failed (exit code 3); run it yourself"),
        ("[1]", "", "squidbot status failed (exit code 3); run it yourself"),
        ("{", "Traceback\nValueError: x\n\n", "squidbot status failed: ValueError: x"),
    ],
)
def test_a_status_that_fails_says_why(out: str, err: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the last line that it printed."""
    done = subprocess.CompletedProcess([], 3, out, err)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    with pytest.raises(StoreError) as raised:
        _Status(None, None)()
    assert str(raised.value) == says


def test_a_status_of_another_version_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what it has."""
    done = subprocess.CompletedProcess([], 0, '{"store": {"path": "mem.db"}, "new": 1}', "")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    found = _Status(None, None)()
    assert (found["store"], found["problems"], found["models"]) == ({"path": "mem.db"}, [], None)
    assert "new" not in found


def test_a_port_that_is_taken_is_said(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the port, and the reason of the system."""
    monkeypatch.setattr(ReportServer, "serve", lambda *_: pytest.fail("it serves"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run("--store", store, "--port", str(port))
    assert result.exit_code == 2
    assert f"can't listen on '127.0.0.1', port {port}: " in result.stderr


def test_a_missing_package_is_named(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the extra that brings it."""
    monkeypatch.delitem(sys.modules, "squidbot.report.server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = run("--store", store)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.endswith("; the extra view is missing: pip install 'squidbot-context[view]'")


def test_a_browser_opens_only_before_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither over ssh, nor without a screen, nor where the output is no terminal."""
    monkeypatch.setattr(sys, "platform", "linux")
    screen = {"DISPLAY": ":0"}
    assert not _has_browser(screen)  # the output of a test is no terminal
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert _has_browser(screen)
    assert not _has_browser({})
    assert not _has_browser(screen | {"SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"})
