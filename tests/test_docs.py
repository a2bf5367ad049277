"""The pages are true: Python, settings and the first command run; every key, hook, event and adapter is documented."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import runpy
import tomllib
from contextlib import redirect_stdout
from dataclasses import fields
from io import StringIO
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple

import pytest
from click.testing import CliRunner

import squidbot
from squidbot import hookspecs
from squidbot.adapters.gpus import SOURCES
from squidbot.cli import main
from squidbot.config import load_settings
from squidbot.config.loading import CAPS
from squidbot.config.schema import Settings, keys_of
from squidbot.core import events
from squidbot.core.events import Event
from squidbot.core.plan import CAUSES
from squidbot.wiring.registry import BuiltIn, Registry

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PAPERS = ("README", "AGENTS", "CHANGELOG", "CONTRIBUTING", "SECURITY")
PAGES = [*(ROOT / f"{name}.md" for name in PAPERS), *sorted((ROOT / "docs").rglob("*.md"))]
CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
EXPERTS = (ROOT / "docs" / "experts.md").read_text(encoding="utf-8")
COMPACTION = (ROOT / "docs" / "compaction.md").read_text(encoding="utf-8")


class Block(NamedTuple):
    """A fenced block: its language, its text, and the text block directly below it, or ""."""

    language: str
    text: str
    shown: str


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page in order."""
    found = re.findall(
        r"^```(\w*)\n(.*?)^```$(\n\n?(?=```text))?", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    texts = [text for _, text, _ in found]
    return [
        Block(language, text, texts[place + 1] if followed and language != "text" else "")
        for place, (language, text, followed) in enumerate(found)
    ]


def table_rows(text: str) -> dict[str, list[str]]:
    """Return the rows of Markdown tables whose first cell is code, by this code."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| `")
    ]
    return {row[0].strip("`"): row[1:] for row in rows}


# -- examples run ---------------------------------------------------------------------------------------------


@pytest.fixture
def event_loop() -> Iterator[None]:
    """Give the thread an event loop, and close it: hosts that run something synchronously leave theirs open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.mark.usefixtures("event_loop")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run_and_print_what_stands_below_them(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """The Python blocks of a page are one program. A text block below one is its output; numbers may differ."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks(page):
        if block.language == "python":
            ast.parse(block.text)
            out = StringIO()
            with redirect_stdout(out):
                exec(compile(here(block.text, request), str(page), "exec"), names)
            assert [without_numbers(line) for line in out.getvalue().splitlines()] == [
                without_numbers(line) for line in block.shown.splitlines()
            ]
    for made in names.values():
        if hasattr(made, "hosted"):  # a plugin that learns of users has a thread
            made.hosted.close()
        if type(made).__name__ == "ConnectionPool":
            made.close()  # type: ignore[attr-defined]


def here(text: str, request: pytest.FixtureRequest) -> str:
    """Return a page's program with the address of a database that is there."""
    address = "postgresql://agents@db.example.com/agents"
    return text.replace(address, request.getfixturevalue("direct")) if address in text else text


@pytest.mark.parametrize(
    ("page", "used"),
    [
        ("docs/start.md", "squidbot.load( .assemble( .record("),
        ("docs/python.md", "BudgetError tool_calls usage="),
        ("docs/extensions.md", "@squidbot.hookimpl register_adapters"),
    ],
)
def test_pages_show_a_whole_turn_and_an_extension(page: str, used: str) -> None:
    """The blocks that the test above runs are there."""
    python = "".join(block.text for block in blocks(ROOT / page) if block.language == "python")
    assert [name for name in used.split() if name not in python] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_settings_blocks_are_settings(page: Path) -> None:
    """Every TOML block loads."""
    for block in blocks(page):
        if block.language == "toml":
            assert load_settings(tomllib.loads(block.text)).source == "argument"


def test_readme_opens_with_two_commands_that_stand_alone() -> None:
    """One line each, in a checkout with nothing but Python and pip."""
    commands = [block.text.strip() for block in blocks(PAGES[0]) if block.language == "sh"]
    assert commands[:2] == [
        "pip install uv && uv run squidbot replay examples/session.jsonl --window 8k --compare",
        "pip install uv && uv sync --compile-bytecode && uv run pytest",
    ]


@pytest.mark.parametrize("lines", [230, pytest.param(430, marks=pytest.mark.slow)])
def test_first_command_prints_what_readme_shows(lines: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line below the command is in its output; numbers and marks may differ.

    A part of the recording is enough.
    """
    sample = (ROOT / "examples" / "session.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "session.jsonl").write_text("".join(sample[:lines]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (block,) = [block for block in blocks(PAGES[0]) if "squidbot replay" in block.text and block.language == "sh"]
    arguments = block.text.split("uv run squidbot ")[1].split()
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    printed = {without_numbers(line) for line in result.output.splitlines()}
    shown = [without_numbers(line) for line in block.shown.splitlines() if line.strip() not in ("", "…", "...")]
    assert len(shown) > 5
    assert [line for line in shown if line not in printed] == []


def without_numbers(line: str) -> str:
    """Return a line with every number as #, and no more than single spaces."""
    return re.sub(r"\s+", " ", re.sub(r"[-+]?\d[\d,.]*", "#", re.sub(r" [*+]+ ", " ", line))).strip()


# -- everything is documented -----------------------------------------------------------------------------------------


def test_tables_of_the_settings_are_those_of_the_schema() -> None:
    """Every key has a row with its default, values and doc; `python docs/tables.py` writes them."""
    tables = runpy.run_path(str(ROOT / "docs" / "tables.py"))
    assert [tables["with_tables"](page) for page in (CONFIGURATION, EXPERTS)] == [CONFIGURATION, EXPERTS]
    keys = {".".join(key.path): key.field.metadata for key in keys_of(Settings)}
    common, expert = (
        {name for name, row in table_rows(page).items() if len(row) == 3} for page in (CONFIGURATION, EXPERTS)
    )
    assert expert == {name for name, one in keys.items() if one["expert"]}
    assert common == keys.keys() - expert
    assert sum(not key["expert"] for key in keys.values()) < 45
    assert all(len(key["doc"]) > 15 and key["doc"].endswith(".") for key in keys.values())


def test_every_hook_is_documented_with_its_arguments() -> None:
    """Name and arguments of each hook stand in the tables of docs/extensions.md, and no other does."""
    hooks = {name: getattr(hookspecs, name) for name in hookspecs.__all__}
    specified = {name: hook for name, hook in hooks.items() if hasattr(hook, "squidbot_spec")}
    page = (ROOT / "docs" / "extensions.md").read_text(encoding="utf-8")
    rows = {name: row for name, row in table_rows(page).items() if len(row) == 2 and name.isidentifier()}
    assert set(rows) == set(specified)
    for name, hook in specified.items():
        assert rows[name][0].replace("`", "").split(", ") == list(inspect.signature(hook).parameters)
        assert len((hook.__doc__ or "").split()) > 8


def test_every_event_is_documented_and_told_somewhere() -> None:
    """Each name of core/events.py has a row in docs/events.md and product code that sends it (O-16)."""
    names = {key: value for key, value in vars(events).items() if key.isupper() and isinstance(value, str)}
    page = (ROOT / "docs" / "events.md").read_text(encoding="utf-8").partition("## Why a plan changes")[0]
    rows = table_rows(page)
    assert set(rows) == set(names.values())
    assert all(len(row[0]) > 15 for row in rows.values())
    assert all(f"| {field.name}" in page or f", {field.name} |" in page for field in fields(Event))
    silent = {ROOT / "squidbot" / place for place in ("core/events.py", "adapters/structlog.py", "testing")}
    code = "".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "squidbot").rglob("*.py")
        if not silent.intersection((path, *path.parents))
    )
    assert set(names) - set(re.findall(r"\bevents\.(\w+)", code)) == set()


def test_every_cause_of_a_plan_is_documented_once() -> None:
    """The section of docs/events.md has a row for each cause that the code gives; "model-changed" is of older plans."""
    page = (ROOT / "docs" / "events.md").read_text(encoding="utf-8")
    section = page.partition("## Why a plan changes\n")[2].partition("\nThe sizes")[0]
    rows = [row.split("|")[1] for row in section.splitlines() if row.startswith("| `")]
    assert sorted(re.findall(r"`([^`]+)`", " ".join(rows))) == sorted(CAUSES - {"model-changed"})


def test_every_adapter_is_documented() -> None:
    """Counters in the table of docs/compaction.md, stores and observers beside their keys."""
    offered = Registry()
    BuiltIn().register_adapters(offered)
    rows = table_rows(COMPACTION)
    counters = {name.strip("`") for row in rows for name in row.replace("`", "").split(", ")}
    assert set(offered.counters) - {"tiktoken", "llama_cpp", "anthropic"} <= counters
    assert any(row.startswith("anthropic:") for row in rows)
    assert any(row.endswith(".tiktoken") for row in rows)
    assert any(row.startswith("llama_cpp:") for row in rows)
    keys = table_rows(CONFIGURATION) | table_rows(EXPERTS)
    assert all(f"`{name}`" in keys["store.adapter"][-1] for name in offered.stores)
    assert all(f"`{name}`" in keys["observers"][-1] for name in offered.observers)
    assert all(f'"{name}"' in keys["models.<alias>.adapter"][-1] for name in offered.runtimes)
    models = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in models for name in offered.runtimes)
    assert all(f"`{name}`" in models for name in offered.probes)
    assert set(offered.probes) == {"auto", "pynvml", *SOURCES, "none"}


def test_every_certificate_that_is_documented_is_the_counters_own() -> None:
    """The table of counters has the certificate that each of them names."""
    counted = {}
    for names, row in table_rows(COMPACTION).items():
        for name in names.replace("`", "").split(", "):
            if len(row) == 2 and name in {"classes", "bytes", "words", "chars4", "chars3"}:
                counted[name] = row[1]
    for name, certificate in counted.items():
        engine = squidbot.load({"budget": {"counter": name}})
        assert engine.session("s").assemble("Hello").report.certificate == certificate
    assert len(counted) == 5


def test_names_of_the_package_that_are_written_are_there() -> None:
    """Each `squidbot.x.y` on a page is a module, or a name in one.

    docs/observability.md names spans and metrics, which adapters/test_opentelemetry.py checks; docs/postgresql.md names
    what stands in a database, which commands/test_database.py runs.
    """
    found = {
        f"{page.name}: {name}": name
        for page in PAGES
        if page.name not in {"observability.md", "postgresql.md"}
        for name in re.findall(r"`(squidbot(?:\.[A-Za-z_]+)+)", page.read_text(encoding="utf-8"))
    }
    files = (".toml", ".json", ".db", ".py")
    assert [where for where, name in found.items() if not name.endswith(files) and not is_there(name)] == []


def is_there(name: str) -> bool:
    """Return whether a dotted name is a module, or leads from one over attributes to a value."""
    try:
        resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def test_api_pages_say_why_their_lists_are_empty_in_a_clone() -> None:
    """Sphinx makes the lists; a code host shows a block of directives."""
    line = "\n\n> In a clone, the lists of this page are empty: [how to read them](../api.md#in-a-clone).\n\n"
    pages = [page for page in PAGES if "```{eval-rst}" in page.read_text(encoding="utf-8")]
    assert len(pages) > 5
    assert [page.name for page in pages if line not in page.read_text(encoding="utf-8")] == []


def test_links_lead_to_pages_and_headings() -> None:
    """Every relative link of a page leads to a file, and its fragment to a heading there."""
    wrong = []
    for page in PAGES:
        for link, mark in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)]+))?\)", page.read_text(encoding="utf-8")):
            target = page.parent / link if link else page
            if not target.exists() or (mark and mark not in headings(target)):
                wrong.append(f"{page.name}: {link}#{mark}")
    assert wrong == []


def headings(page: Path) -> set[str]:
    """Return the fragments of a page's headings, as Markdown renderers make them."""
    lines = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", line.lower()).strip().replace(" ", "-") for line in lines}


def test_pages_for_users_name_no_source_documents() -> None:
    """Ids of the documents that asked for behaviours stand in docs/maintainers/behaviours.md alone."""
    ids = re.compile(r"\b(?:[BQWPJO]-\d\d|D\d+|document 00\d|decisions\.md)\b")
    users = [page for page in PAGES if page.parent.name != "maintainers"]
    assert {page.name: found for page in users if (found := ids.findall(page.read_text(encoding="utf-8")))} == {}


def test_caps_and_their_defaults_stand_one_link_from_readme() -> None:
    """Q-12: "concise docs for new context settings, defaults, and token-mode fallback semantics" (Q-01, Q-08)."""
    assert "(docs/configuration.md)" in PAGES[0].read_text(encoding="utf-8")
    section = CONFIGURATION.partition("### Caps in words or tokens")[2].partition("\n## ")[0]
    told = dict(re.findall(r"^\| `(context_\w+)` \| (\w+) \|", section, re.MULTILINE))
    assert told == {name: str(getattr(Settings().budget, name)).replace("True", "true") for name in CAPS}
    assert "one\nwarning for each session" in section
