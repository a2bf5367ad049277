"""`squidbot status`: of each host that is installed, whether squidbot takes part in it, and if not, why."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import squidbot
from squidbot.cli import main
from squidbot.cli import status as hosts
from squidbot.cli.clients import KEYS, startable
from squidbot.services.agents import START

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
MENDED = "pip install 'squidbot-context[langchain]'"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder, and a user's own, with nothing in them."""
    project, home = tmp_path / "project", tmp_path / "home"
    for folder in (project, home):
        folder.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("LLM_USER_PATH", str(home / "llm"))
    return tmp_path


@pytest.fixture
def version_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str | None], None]:
    """Return what has a package be installed in another version, or not at all."""
    known: dict[str, str | None] = {}

    def version(name: str) -> str:
        found = known[name] if name in known else metadata.version(name)
        if found is None:
            raise metadata.PackageNotFoundError(name)
        return found

    monkeypatch.setattr(hosts, "version", version)
    return known.__setitem__


def found(*arguments: str) -> dict[str, dict[str, Any]]:
    """Return what the command's JSON says of each host, by its extra."""
    done = CliRunner().invoke(main, ["status", "--json", *arguments])
    return {one["extra"]: one for one in json.loads(done.stdout)["hosts"]}


def test_versions_are_those_of_the_extras() -> None:
    """What is told to be too old is what pip would not take."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for host in hosts.HOSTS:
        needs = dict(re.match(r"([\w-]+)>=([0-9.]+)", each).groups() for each in extras[host.extra])  # type: ignore[union-attr,misc]
        assert host.needs == needs


def test_every_plugin_is_told_of() -> None:
    """A host whose plugin is there can be asked about."""
    plugins = {path.stem for path in (ROOT / "squidbot" / "plugins").iterdir() if not path.stem.startswith("__")}
    plugins -= {"agent_tools", "host", "lists", "scopes", "store_tools"}  # what the plugins share
    assert {host.module for host in hosts.HOSTS} == plugins


@pytest.mark.parametrize(("module", "form"), [(each.module, each.form) for each in hosts.HOSTS if each.form])
def test_forms_are_those_that_are_recorded(module: str, form: str) -> None:
    """Each plugin's own."""
    plugin = ROOT / "squidbot" / "plugins" / module
    files = [*plugin.rglob("*.py")] if plugin.is_dir() else [plugin.with_suffix(".py")]
    named = f'"{form}"', f"codecs.{form.replace('.', '_')} import"
    assert any(name in path.read_text("utf-8") for path in files for name in named)


def test_a_host_that_code_brings_squidbot_into_shows_by_its_conversations() -> None:
    """Before there is one the line is told that brings it in."""
    assert not found("--store", "mem.db")["pydantic-ai"]["active"]
    with squidbot.load({"store": {"path": "mem.db"}}) as engine:
        said = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Hi"}]}
        engine.session("a", form="pydantic_ai/2").record(said)
        engine.session("b").record("Hello")
    one = found("--store", "mem.db")
    assert one["pydantic-ai"]["active"]
    assert one["pydantic-ai"]["reason"].startswith("1 conversation of it in ")
    assert not one["langchain"]["active"]
    assert 'middleware=[Squidbot("mem.db")]' in one["langchain"]["reason"]
    assert "no store to look" in found()["langchain"]["reason"]
    printed = " ".join(CliRunner().invoke(main, ["status", "--all", "--store", "mem.db"]).stdout.split())
    assert "LangChain: not active (langchain " in printed
    assert "pydantic-ai: active (pydantic-ai-slim " in printed


def test_llm_is_active_when_it_is_switched_on(here: Path) -> None:
    """And says how, if it is not; a switch that can't be read is a reason, too."""
    folder = here / "home" / "llm"
    folder.mkdir()
    assert not (one := found()["llm"])["active"]
    assert "squidbot is off. Turn it on with: llm squidbot on" in one["reason"]
    switch = {"store": str(folder / "squidbot.db"), "budget": None, "settings": ""}
    (folder / "squidbot.json").write_text(json.dumps(switch))
    assert (one := found()["llm"])["active"]
    assert str(folder / "squidbot.db") in one["reason"]
    (folder / "squidbot.json").write_text(json.dumps({**switch, "budget": -1}))
    assert not (one := found()["llm"])["active"]
    assert "budget must be" in one["reason"]


@pytest.mark.parametrize(
    ("name", "key"),
    [(".mcp.json", "mcpServers"), (".cursor/mcp.json", "mcpServers"), (".vscode/mcp.json", "servers")],
)
def test_mcp_is_active_where_a_client_starts_it(here: Path, name: str, key: str) -> None:
    """By the file in which the client names its servers, in the project, or the user's own; no other server's."""
    assert ".mcp.json" in found()["mcp"]["reason"]
    path = here / "project" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({key: {"other": {"command": "other"}}}))
    assert not found()["mcp"]["active"]
    path.write_text(json.dumps({key: {"memory": {"command": "squidbot", "args": ["mcp", "--store", "mem.db"]}}}))
    assert (one := found()["mcp"])["active"]
    assert str(path) in one["reason"]
    path.write_text("{")
    assert not found()["mcp"]["active"]


def test_what_is_too_old_or_missing_is_told_with_what_mends_it(version_of: Callable[[str, str | None], None]) -> None:
    """One package of two; a release candidate of the first that is new enough is not."""
    version_of("langchain", "1.3.9")
    one = found()["langchain"]
    assert not one["active"]
    assert one["needs"][0] == {"distribution": "langchain", "version": "1.3.9", "least": "1.4"}
    assert one["reason"] == f"langchain 1.3.9 is installed, 1.4 or newer is needed; {MENDED}"
    version_of("langchain", "1.10.0rc1")
    version_of("langgraph", None)
    assert found()["langchain"]["reason"] == f"langgraph is missing: {MENDED}"
    version_of("langchain", None)
    one = found()["langchain"]
    assert [each["version"] for each in one["needs"]] == [None, None]
    assert one["reason"] == f"the extra langchain is missing: {MENDED}"
    printed = " ".join(CliRunner().invoke(main, ["status", "--all"]).stdout.split())
    assert f"LangChain: not installed the extra langchain is missing: {MENDED}" in printed


def test_a_store_that_can_t_be_read_hides_nothing_else() -> None:
    """It is told of by itself, and hosts beside it."""
    Path("mem.db").write_bytes(b"no database")
    assert set(found("--store", "mem.db")) == {host.extra for host in hosts.HOSTS}
    assert not any(one["active"] for one in found("--store", "mem.db").values())


def clients(*arguments: str) -> dict[str, dict[str, Any]]:
    """Return what the command's JSON says of each MCP client."""
    done = CliRunner().invoke(main, ["status", "--json", *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.output
    return {one["client"]: one for one in json.loads(done.stdout)["clients"]}


def test_what_a_client_starts_is_started_when_asked_for(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The printed block, whole: started by the real client, it lists its tools; without asking, nothing is."""
    monkeypatch.setenv("XDG_DATA_HOME", str(here / "own"))
    printed = CliRunner().invoke(main, ["mcp", "--config", "cursor"]).stdout
    path = here / "home/.cursor/mcp.json"
    path.parent.mkdir()
    path.write_text(printed, encoding="utf-8")
    plain = clients()
    assert set(plain) == {"claude-code", "cursor", "vscode", "claude-desktop", "gemini-cli", "windsurf"}
    assert plain["vscode"]["file"] is None
    assert (plain["cursor"]["file"], plain["cursor"]["works"]) == (str(path), None)
    assert not (here / "agents.db").exists()
    found = clients("--check")["cursor"]
    assert (found["works"], found["tools"], found["problem"]) == (True, 5, "")
    assert "Cursor: squidbot in" in CliRunner().invoke(main, ["status"]).stdout


def test_a_server_that_fails_says_why(here: Path) -> None:
    """In its own last words; the command's answer is no."""
    (here / "project/broken.db").write_text("no store at all, but words" * 99, encoding="utf-8")
    printed = CliRunner().invoke(main, ["mcp", "--config", "claude-code", "--store", "broken.db"]).stdout
    (here / "project/.mcp.json").write_text(printed, encoding="utf-8")
    done = CliRunner().invoke(main, ["status", "--json", "--check"])
    told = json.loads(done.stdout)
    (found,) = (one for one in told["clients"] if one["client"] == "claude-code")
    assert found["works"] is False
    assert "broken.db" in found["problem"]
    assert done.exit_code == 1
    assert any(problem.startswith("Claude Code: squidbot in ") for problem in told["problems"])


OURS = [*START, "--project", "."]


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"command": "{evil}", "args": OURS}, "by another interpreter"),
        ({"command": "{evil}", "args": ["mcp", "squidbot"]}, "not as squidbot mcp --config writes it"),
        ({"command": sys.executable, "args": ["-c", "squidbot; open('started.txt', 'w')"]}, "not as squidbot"),
        ({"command": sys.executable, "args": ["-I", "-m", "squidbot", "chat"]}, "not as squidbot"),
        ({"command": sys.executable, "args": OURS, "env": {"LD_PRELOAD": "squidbot.so"}}, "not as squidbot"),
        ({"command": sys.executable, "args": OURS, "cwd": "/"}, "not as squidbot"),
        ({"command": sys.executable, "args": [*OURS, "--config", "squidbot.toml"]}, "with --config"),
        ({"command": sys.executable, "args": [*OURS, "--http", "127.0.0.1:1"]}, "with --http"),
        ({"command": sys.executable, "args": [*OURS, "--store"]}, "with --store"),
        ({"command": sys.executable, "args": [*OURS, "--store", "new.db"]}, "its store new.db is not there"),
        ({"command": sys.executable, "args": [*OURS, 3]}, "with 3"),
        ({"command": sys.executable, "args": [*OURS, ["--shared"]]}, "with ['--shared']"),
        ({"command": [sys.executable], "args": OURS}, "by another interpreter"),
        ({"command": "squidbot", "args": "mcp"}, "not as squidbot"),
    ],
)
def test_nothing_else_that_a_project_names_is_started(here: Path, entry: dict[str, object], says: str) -> None:
    """Anybody may have written its file."""
    evil = here / "project" / "python"
    evil.write_text("#!/bin/sh\ntouch started.txt\n", encoding="utf-8")
    evil.chmod(0o755)
    text = json.dumps({"mcpServers": {"a\nb": entry}}).replace("{evil}", str(evil))
    (here / "project/.mcp.json").write_text(text, encoding="utf-8")
    found = clients("--check")["claude-code"]
    assert found["works"] is None
    assert says in found["problem"]
    assert "\n" not in found["server"]
    assert sorted(path.name for path in (here / "project").iterdir()) == [".mcp.json", "python"]


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.sampled_from([sys.executable, *OURS, "squidbot", "--store"]),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.sampled_from([*KEYS, "env"]), inner),
    max_leaves=20,
)


@given(entry=st.dictionaries(st.sampled_from([*KEYS, "env"]), VALUES), more=st.lists(VALUES, max_size=3))
def test_any_entry_is_ours_or_is_told_why_not(entry: dict[str, object], more: list[object]) -> None:
    """Whatever JSON it is made of; what is started begins as ours does."""
    for one in (entry, {"command": sys.executable, "args": [*START, *more]}):
        found = startable(one, Path("/nowhere"))
        if isinstance(found, str):
            assert found.isprintable()
        else:
            assert tuple(found[:5]) == START
            assert all(isinstance(one, str) for one in found)


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": 3}', '{"mcpServers": {"squidbot": []}}', "[" * 100_000])
def test_a_file_of_another_form_names_no_server(here: Path, text: str) -> None:
    """Nor does it fail."""
    (here / "project/.mcp.json").write_text(text, encoding="utf-8")
    assert clients("--check")["claude-code"]["file"] is None


def test_claude_code_lists_servers_of_one_project_in_its_own_file(here: Path) -> None:
    """Those of other projects are not this one's."""
    entry = {"squidbot": {"command": "squidbot", "args": ["mcp"]}}
    projects = {str(here / "project"): {"mcpServers": entry}, str(here): {"mcpServers": {**entry, "squidbot2": {}}}}
    (here / "home/.claude.json").write_text(json.dumps({"projects": projects}), encoding="utf-8")
    assert clients()["claude-code"]["server"] == "squidbot"
