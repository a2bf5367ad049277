"""The pages of *Your host* work as they are copied, in an environment with the built wheel and nothing of the clone."""

from __future__ import annotations

import ast
import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import httpx2
import pytest

from squidbot.cli.status import HOSTS
from squidbot.testing.claude_code import ClaudeTranscript
from squidbot.testing.hosts import Model

from ..ports import free_port
from .alone.server import Server
from .test_own_environments import OF_THIS_RUN

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = {path.stem: path for path in (DOCS / "hosts").glob("*.md")}
# Pages that begin like those, and go on otherwise.
OTHERS = {name: DOCS / f"{name}.md" for name in ("coding-agents", "python")}
SECONDS = 120
DISTRIBUTION = "squidbot-context"
# The same on every page, in the order in which somebody reads who has nothing yet.
SHAPE = ["Install", "Use it", "See it", "Many users", "Sub-agents", "Edits", "Async and streams", "Options", "Limits"]
# What a page says of a server of models on this machine; here one of the tests stands for it.
MODEL_ADDRESS = "http://127.0.0.1:11434/v1"
# hermes knows no newer Python.
PYTHON = ">=3.11,<3.14"
# Of coding agents: what follows needs other agents' files.
TO_THE_END_OF = {"coding-agents": "Which agents"}
INSTALLS = re.compile(r"(\S*/)?pip install (.+)")
BLOCK = re.compile(
    r"(?:`([\w.-]+)`[^\n`]*:\n\n)?^```(\w+)\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE
)
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/(?:mcp|\S+)")
# Where a page has a server for others listen; here a free port takes its place.
LISTENS = "127.0.0.1:8000"


class Block(NamedTuple):
    """A block of a page: the file that it is for, its language, its text, and its output."""

    file: str
    language: str
    text: str
    shown: str


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page in order; the text block directly below one is its output."""
    text = page.read_text("utf-8").partition(f"\n## {TO_THE_END_OF.get(page.stem, '-')}\n")[0]
    return [Block(*found) for found in BLOCK.findall(text) if found[1] != "text"]


def commands(block: Block) -> Iterator[tuple[str, list[str]]]:
    """Yield the commands of a console block, each with the lines that stand below it."""
    first, *parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
    assert first == "", f"a console block begins with a command: {block.text}"
    for part in parts:
        command, *shown = part.replace("\\\n", "").splitlines()
        yield command, shown


def without_numbers(line: str) -> str:
    """Return a line with every number, and every longer id, as #."""
    return re.sub(r"\s+", " ", re.sub(r"\b(?=\w*\d)\w+\b|\d+", "#", line)).strip()


class Reader:
    """Somebody who reads a page, with a folder, a home and an environment of their own."""

    def __init__(self, folder: Path, wheel: Path, model_address: str, words: str) -> None:
        """Make the environment, with nothing in it; `words` are those that squidbot is to find in the end."""
        self.words = words
        self.uv = os.environ.get("UV") or shutil.which("uv")
        self.venv, self.home, self.folder = folder / "venv", folder / "home", folder / "work"
        self.wheel, self.model_address = wheel, model_address
        self.home.mkdir()
        self.folder.mkdir()
        self.by_uv("venv", "--python", PYTHON, str(self.venv))
        path = os.pathsep.join((str(self.venv / "bin"), "/usr/local/bin", "/usr/bin", "/bin"))
        self.env = {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8", "TERM": "dumb"}

    def by_uv(self, *arguments: str) -> None:
        """Run uv, with the settings of this run: it knows the way to the package index."""
        assert self.uv is not None
        told = {name: value for name, value in os.environ.items() if name not in OF_THIS_RUN}
        done = subprocess.run([self.uv, *arguments], env=told, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def install(self, command: str) -> None:
        """Install as a page says, by uv for speed, and with the wheel that was built where it names squidbot."""
        found = INSTALLS.fullmatch(command)
        assert found is not None
        python = Path((found[1] or f"{self.venv}/bin/").replace("~", str(self.home)), "python")
        asked = [word.strip("'") for word in found[2].split()]
        assert any(word.startswith(f"{DISTRIBUTION}[") for word in asked), command
        named = [f"{word} @ {self.wheel.as_uri()}" if word.startswith(DISTRIBUTION) else word for word in asked]
        self.by_uv("pip", "install", "--link-mode", "symlink", "--python", str(python), *named)

    def run(self, command: str, folder: Path | None = None) -> str:
        """Run a command of a shell, and return what it prints."""
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=folder or self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    @contextmanager
    def started(self, command: str) -> Iterator[subprocess.Popen[str]]:
        """Start a command that serves, and end it as Ctrl-C does."""
        process = subprocess.Popen(
            ["/bin/sh", "-c", f"exec {command}"],
            cwd=self.folder,
            env={**self.env, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=SECONDS)

    def follow(self, block: Block) -> None:
        """Type the commands of a console block; each prints what stands below it, but for numbers."""
        for each, shown in commands(block):
            command = each.replace(MODEL_ADDRESS, self.model_address)
            if INSTALLS.fullmatch(command):
                self.install(command)
            elif command.startswith("export PATH="):
                self.env["PATH"] = self.run(f"{command} && printenv PATH").strip()
            elif command.startswith("squidbot view"):
                assert [without_numbers(line) for line in shown] == ["http://#.#.#.#:#/?token=..."]
                with self.started(command) as process:
                    look(process, self.words)
            elif LISTENS in command:
                assert shown == [f"squidbot: serves http://{LISTENS}/mcp. Ctrl-C ends it."]
                with free_port() as port, self.started(command.replace(LISTENS, f"127.0.0.1:{port}")) as process:
                    check_refuses(process)
            else:
                printed = {without_numbers(line) for line in self.run(command).splitlines()}
                assert [line for line in shown if line != "..." and without_numbers(line) not in printed] == [], printed


def address_of(process: subprocess.Popen[str]) -> str:
    """Return the address that a server prints as it starts."""
    assert process.stdout is not None
    printed: list[str] = []
    while not (found := ADDRESS.search("".join(printed))):
        printed.append(process.stdout.readline())
        assert printed[-1], f"the server ended: {''.join(printed)}"
    return found.group()


def look(process: subprocess.Popen[str], words: str) -> None:
    """Open the page as a browser does: it lists a session, and finds words in it."""
    address = address_of(process)
    with httpx2.Client(base_url=address.partition("?")[0], timeout=SECONDS, follow_redirects=True) as browser:
        page = browser.get(address)
        assert page.status_code == 200
        assert "<html" in page.text
        listed = {session["session"] for session in browser.get("/api/sessions").json()["sessions"]}
        hits = browser.get("/api/search", params={"q": words}).json()["hits"]
        assert hits
        assert {hit["session"] for hit in hits} <= listed


def check_refuses(process: subprocess.Popen[str]) -> None:
    """Ask a server of tools, which may still start: without a token, it answers nobody."""
    address, ends = address_of(process), time.monotonic() + SECONDS
    while time.monotonic() < ends:
        assert process.poll() is None
        with suppress(httpx2.ConnectError):
            assert httpx2.post(address, json={}).status_code == 401
            return
        time.sleep(0.1)
    pytest.fail(f"{address} does not listen")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel, as a release does; without uv this is skipped."""
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        pytest.skip("uv builds the wheel: start the tests by `uv run pytest`")
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([uv, "build", "--quiet", "--wheel", "--out-dir", str(folder), str(ROOT)], check=True)
    (made,) = folder.glob("*.whl")
    return made


def test_every_host_has_a_page_and_every_page_the_same_shape() -> None:
    """The overview leads to each of them, and the first block of each installs squidbot for that host."""
    assert {*PAGES} == {host.extra for host in HOSTS}
    overview = (DOCS / "hosts.md").read_text("utf-8")
    for name, page in {**PAGES, **OTHERS}.items():
        headings = re.findall(r"^## (.+)$", page.read_text("utf-8"), re.MULTILINE)
        assert headings == SHAPE if name in PAGES else headings[:3] == SHAPE[:3], name
        assert f"({page.relative_to(DOCS)})" in overview
        in_console = [
            command for block in blocks(page) if block.language == "console" for command, _ in commands(block)
        ]
        (install, *_) = filter(INSTALLS.fullmatch, in_console)
        assert f"pip install '{DISTRIBUTION}[{name if name in PAGES else ''}" in install
        assert any(command.startswith("squidbot view") for command in in_console)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({**PAGES, **OTHERS}))
def test_a_page_works_as_copied_from_the_wheel_alone(name: str, wheel: Path, tmp_path: Path) -> None:
    """Its commands in order, its first program as the file that it names, then all its Python as one program."""
    page = {**PAGES, **OTHERS}[name]
    with closing(Server(Model(None))) as server:
        reader = Reader(tmp_path, wheel, server.url, "prices" if name == "python" else "Heron")
        if name == "coding-agents":
            ClaudeTranscript(reader.home / ".claude" / "projects" / "-work-app").say("My boat is called Heron.")
        for block in blocks(page):
            if block.language == "console":
                reader.follow(block)
            elif block.file:
                (reader.folder / block.file).write_text(block.text, encoding="utf-8")
        where = reader.run('python -c "import squidbot; print(squidbot.__file__)"').strip()
        assert Path(where).is_relative_to(tmp_path)
        if program := [block for block in blocks(page) if block.language == "python"]:
            check_program(reader, program, tmp_path / "again")


def check_program(reader: Reader, parts: list[Block], folder: Path) -> None:
    """Run all the Python of a page as one program, somewhere new: it prints what stands below its parts."""
    text = "\n\n".join(part.text for part in parts)
    ast.parse(text)
    folder.mkdir()
    (folder / "page.py").write_text(text, encoding="utf-8")
    printed = [without_numbers(line) for line in reader.run("python page.py", folder).splitlines()]
    shown = [without_numbers(line) for part in parts for line in part.shown.splitlines()]
    assert [line for line in printed if line in shown] == shown
