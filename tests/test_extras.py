"""Installing: by lines that every pip understands, and never by a name that is somebody else's."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner

from squidbot.adapters.common.packages import DISTRIBUTION, EXTRAS, command, extra_of, missing
from squidbot.cli import main

ROOT = Path(__file__).parent.parent
WRITTEN = [
    ROOT / "README.md",
    ROOT / "AGENTS.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / ".ci" / "run",
    *(ROOT / ".github").rglob("*.yml"),
    *(ROOT / "docs").rglob("*.md"),
    *(path for folder in ("squidbot", "examples", "benchmarks") for path in (ROOT / folder).rglob("*.py")),
]
# Asks an index for `squidbot`: an extra of it, or its name behind a word that installs.
STRANGE = re.compile(
    r"(?<![\w/.-])squidbot\["
    r"|(?:\b(?:pipx?|llm|tool) install|uv add|--with|uvx)(?: -\S+)* ['\"]?squidbot(?!-context|[\w/.])"
)
# Who has no release yet installs from a clone: these say so, once, and how. Examples are in clones alone.
OF_CLONES = {"README.md", "CONTRIBUTING.md", "docs/hosts.md", "docs/start.md"}
# Installs what the folder here holds.
FROM_A_CLONE = re.compile(r"""['"`]\.\[[\w,.-]+\]""")

# Troubleshooting needs it not: where squidbot is installed, pip adds an extra's packages without a release.
UNRELEASED = "Until the first release, install from your clone: write a dot in place of `squidbot-context`."


def test_the_wheel_has_the_extras_that_are_named_and_they_have_no_underscores() -> None:
    """Of one with underscores pip up to 23.2 takes no notice, and says that all is well."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    built = metadata(DISTRIBUTION)
    assert built["Name"] == project["name"] == DISTRIBUTION
    assert [*EXTRAS] == sorted(built.get_all("Provides-Extra") or ()) == sorted(project["optional-dependencies"])
    assert [extra for extra in EXTRAS if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", extra)] == []


def test_every_install_line_that_is_written_names_extras_of_the_wheel() -> None:
    """Code makes its lines by `missing` and `command`, whose argument mypy holds against the same list."""
    named: list[str] = []
    for path in WRITTEN:
        text = path.read_text("utf-8")
        lines = re.findall(r"['`](?:\.|squidbot-context)\[([\w,.-]+)\]", text)
        beside = re.findall(r"--extra ([\w.-]+)|\b(?:the )?extras? `([\w.-]+)`", text)
        found = [name for line in lines for name in line.split(",")] + ["".join(pair) for pair in beside]
        assert {*found} <= {*EXTRAS, "x"}, path  # x: the rule in AGENTS.md
        named += found
    assert {*named} >= {"hermes", "langchain", "llm", "mcp", "openai-agents", "pydantic-ai", "llama-cpp"}


def test_nothing_that_is_written_has_an_index_asked_for_squidbot() -> None:
    """Our distribution is squidbot-context; the name of the import and the command is another project's there."""
    asked = {str(path): STRANGE.findall(path.read_text("utf-8")) for path in WRITTEN}
    assert {path: found for path, found in asked.items() if found} == {}
    for wrong in ("pip install squidbot", "pip install -U 'squidbot[llm]'", "uv add squidbot", "uvx squidbot chat"):
        assert STRANGE.search(wrong), wrong
    for right in ("pip install 'squidbot-context[llm]'", "uv add squidbot-context", "pip install ./squidbot"):
        assert not STRANGE.search(right), right
    example = tomllib.loads((ROOT / "examples" / "extension" / "pyproject.toml").read_text("utf-8"))
    assert example["project"]["dependencies"] == []


def test_pages_install_as_after_a_release_and_readme_says_how_before_one() -> None:
    """A reader of the site has no clone at hand, unless README or the first page told of it."""
    written = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in WRITTEN}
    from_clones = {name for name, text in written.items() if FROM_A_CLONE.search(text)}
    assert {name for name in from_clones - OF_CLONES if not name.startswith("examples/")} == set()
    assert "README.md" in from_clones


def test_pages_that_install_say_how_before_a_release() -> None:
    """Each of them in the same words: a reader may come to any page first."""
    pages = [path for path in (ROOT / "docs").rglob("*.md") if path.name not in {"messages.md", "troubleshooting.md"}]
    texts = {path.name: " ".join(path.read_text("utf-8").split()) for path in pages}
    assert [name for name, text in texts.items() if f"{DISTRIBUTION}[" in text and UNRELEASED not in text] == []


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_is_missing_is_named_with_what_installs_it(extra: str) -> None:
    """By the name that settings and imports have, too."""
    found = extra_of(extra.replace("-", "_"))
    assert found == extra
    assert command(found) == f"pip install 'squidbot-context[{extra}]'"
    assert missing(found) == f"the extra {extra} is missing: pip install 'squidbot-context[{extra}]'"
    assert extra_of(f"{extra}_of_mine") is None


def test_status_tells_of_somebody_else_s_distribution_with_our_import_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pip installs it: files below the same name. Ours alone is nothing to tell of."""
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["status"]).exit_code == 0
    for name, version in (("squidbot", "0.1.1"), ("Squidbot_Context", "0.1.0")):
        told = tmp_path / f"{name}-{version}.dist-info"
        told.mkdir()
        (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (told / "RECORD").write_text("squidbot/__init__.py,,\nsquidbot/bot.py,,\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    done = CliRunner().invoke(main, ["status"])
    assert done.exit_code == 1
    printed = " ".join(done.stdout.split())
    assert "! squidbot 0.1.1 is an unrelated package with the same import name: `pip uninstall squidbot`" in printed
    assert printed.count("an unrelated package") == 1
