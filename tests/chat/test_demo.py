"""`squidbot chat --demo`: on a terminal a page at each Enter, in a pipe all of it; what it shows is the engine's."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from squidbot.chat import demo
from squidbot.cli.status import HOSTS

from .conftest import COMMAND, ESCAPES, ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PROMPT = "Enter goes on, q ends"


def numbers(text: str) -> list[int]:
    """Return the numbers of a text."""
    return [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", text)]


@pytest.fixture
def played(run: Callable[..., subprocess.CompletedProcess[str]], folder: Path) -> str:
    """What the demo prints into a pipe, without settings."""
    (folder / "squidbot.toml").unlink()
    ran = run("--demo")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert list(folder.iterdir()) == []
    return ran.stdout


def test_demo_plays_by_itself_without_a_terminal(played: str) -> None:
    """All of it, as plain text: the conversation with its tools, and a narrator whose lines are marked."""
    assert "\x1b" not in played
    assert played.isprintable() or set(filter(lambda char: not char.isprintable(), played)) == {"\n"}
    assert PROMPT not in played
    names = re.findall(r"^(you|agent|tool) +\S", played, re.MULTILINE)
    assert [names.count(name) for name in ("you", "agent", "tool")] == [5, 6, 6]
    assert re.search(r"^tool +read_file path=\"gaugepost/billing\.py\" -> \d+ tokens$", played, re.MULTILINE)
    assert "squidbot" in played.splitlines()[0]


def test_demo_shows_what_a_compaction_costs_and_keeps(played: str) -> None:
    """There is one; before it, the bar fills; its figures fit each other."""
    assert played.count("COMPACTION") == 1
    filling, _, page = played.partition("COMPACTION")
    bars = [numbers(line) for line in filling.splitlines() if line.startswith("[")]
    assert bars == sorted(bars)
    before, after = (numbers(line) for line in page.splitlines() if re.match(r"│ (before|after) ", line))
    assert bars[-1][0] < before[0] < before[1] == 3_000
    assert after[0] < before[0] * 0.7
    (noted,) = re.findall(r"│ A note of \d+ tokens covers the oldest messages, and replaces (\d) of them", page)
    (kept,) = re.findall(r"│ (\d) messages stay word for word", page)
    assert int(noted) + int(kept) == 14, "each message is told of"
    assert "nothing is deleted" in page.lower()
    (saved,) = re.findall(r"each later request is ([\d,]+) tokens shorter", page)
    assert numbers(saved) == [before[0] - after[0]]
    assert re.search(r"Price: [\d,]+ input tokens", page)
    assert re.search(r"after \d+ requests", page)


def test_demo_recalls_what_the_note_left_out(played: str) -> None:
    """The answer is in the tool's output, which the engine made, and not in the note."""
    note, _, rest = played.partition("[s0-")[2].partition("agent")
    assert "billing.py" in note
    assert "129" not in note
    said = " ".join(rest.partition("\ntool ")[2].split())
    found = re.match(r'history action="search", .* m5 tool result, .*"hourly-plus": 129.00} .* agent (.*?) \[', said)
    assert found is not None
    assert "129.00 CHF" in found[1]
    assert "m5" in found[1]


def test_demo_undoes_the_compaction_and_ends_with_the_hosts(played: str) -> None:
    """The bar is longer again, and still fits; then there is a line for each host, as `status` has it."""
    before, undone = [numbers(line) for line in played.splitlines() if line.startswith("[#")][-2:]
    assert before[0] < undone[0] <= undone[1] == before[1]
    end = " ".join(played.partition("your own program")[2].split())
    for host in HOSTS:
        assert f"pip install 'squidbot-context[{host.extra}]'" in end
        assert host.line in end
    assert "session.assemble(" in end


def test_demo_needs_no_extra_package(folder: Path, environment: dict[str, str]) -> None:
    """It imports none of them, where they are installed."""
    script = "import sys; from squidbot.cli import main; main(['chat', '--demo'], standalone_mode=False); "
    script += "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    used = set(ran.stderr.split())
    assert not used & {"xllamacpp", "tiktoken", "numpy", "openai", "anthropic", "faiss", "langchain", "yaml"}


def test_demo_takes_no_other_option(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """It opens no session of the settings, and sends nothing."""
    for other in (["--new"], ["--model", "robot"], ["-p", "hello"], ["--json"], ["--config", "squidbot.toml"]):
        ran = run("--demo", *other)
        assert ran.returncode == 2
        assert "--demo takes no other option" in ran.stderr


def test_demo_prints_no_control_characters(
    run: Callable[..., subprocess.CompletedProcess[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the recording holds."""
    hostile = demo.RECORDING.read_text("utf-8").replace("Morning.", r"\u001b[31mMorning.\u0007\u0085\u202e")
    hostile = hostile.replace("read_file", r"read\u001b]0;file").replace("129.00", r"129.00\u001b[2J")
    monkeypatch.setattr(demo, "lines_of", hostile.splitlines)
    ran = run("--demo")
    assert "?[31mMorning.???" in ran.stdout
    assert {char for char in ran.stdout if not char.isprintable()} == {"\n"}


@pytest.fixture
def page(folder: Path, environment: dict[str, str]) -> Iterator[Callable[..., Any]]:
    """Start it on a terminal of that size; all are gone behind the test."""
    pexpect = pytest.importorskip("pexpect")
    started: list[Any] = []

    def start(rows: int = 24, columns: int = 80, **more: str) -> Any:  # noqa: ANN401  # pexpect brings no types
        spawned = pexpect.spawn(
            COMMAND[0],
            [*COMMAND[1:], "--demo"],
            cwd=folder,
            env=environment | more,
            dimensions=(rows, columns),
            timeout=30,
            encoding="utf-8",
        )
        started.append(spawned)
        return spawned

    yield start
    for spawned in started:
        spawned.close(force=True)


def press(shown: Any, keys: str) -> None:  # noqa: ANN401  # as above
    """Press keys once they are waited for: what is typed between the prompt and that is dropped by the terminal."""
    assert shown.waitnoecho()
    shown.send(keys)


@pytest.mark.parametrize(("rows", "columns"), [(24, 80), (40, 120)])
def test_demo_fits_the_screen_at_each_enter(page: Callable[..., Any], rows: int, columns: int) -> None:
    """Nothing scrolls away unread: each page leaves room for the line that asks for the next one."""
    shown, pages = page(rows, columns), list[str]()
    while shown.expect_exact([PROMPT, "squidbot status"]) == 0:
        pages.append(ESCAPES.sub("", shown.before).replace("\r", "\n"))
        press(shown, "x\r")  # no other key goes on
    said = shown.before + shown.after
    shown.expect_exact("Enter ends")
    pages.append(ESCAPES.sub("", said + shown.before + shown.after).replace("\r", "\n"))
    press(shown, "\r")
    shown.read()
    shown.close()
    assert shown.exitstatus == 0
    assert len(pages) == 8
    for one in pages:
        lines = [line for line in re.split(r"\n+", one) if line]
        assert 3 < len(re.findall(r"\n\n", one)) + 1 <= rows - 1
        assert max(map(len, lines)) <= columns
    (told,) = (one for one in pages if "COMPACTION" in one)
    assert "Price: " in told


def test_demo_draws_what_was_seen(page: Callable[..., Any], folder: Path) -> None:
    """At the end, when the user presses r: a report of the conversation, with its compaction and its undo."""
    shown = page(24, 80)
    while shown.expect_exact([PROMPT, "Enter ends"]) == 0:
        press(shown, "\r")
    press(shown, "r")
    assert "report.html: " in shown.read()
    shown.close()
    assert shown.exitstatus == 0
    assert (folder / "report.html").stat().st_size > 20_000


@pytest.mark.parametrize("key", ["q", "\x03", "\x04"])
def test_demo_ends_with_q_or_as_other_programs_do(page: Callable[..., Any], key: str) -> None:
    """At once, cleanly, and with nothing behind it; without colours if the user wants none."""
    shown = page(NO_COLOR="1")
    shown.expect_exact(PROMPT)
    assert "\x1b[3" not in shown.before
    press(shown, key)
    assert not shown.read().strip()
    shown.close()
    assert shown.exitstatus == 0


def test_demo_is_in_what_is_installed() -> None:
    """The recording is beside the code, in the one package that the wheel has."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'packages = ["squidbot"]' in text
    assert (ROOT / "squidbot" / "chat" / "demo.jsonl").stat().st_size < 10_000
