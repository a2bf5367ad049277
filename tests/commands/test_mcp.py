"""`squidbot mcp`, without a client: what it is told, and what it says. tests/plugins/test_mcp.py speaks with it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from squidbot.cli import main
from squidbot.cli.clients import CLIENTS, startable
from squidbot.core.access import AccessTokens, checked_token, digest_of, read_digests
from squidbot.plugins.agent_tools import AgentTools
from squidbot.plugins.mcp import Squidbot

HTTP = ("--store", "mem.db", "--http", "127.0.0.1:8000")


def run(*arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(main, ["mcp", *arguments])


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, str, int]]:
    """Return where servers are started, and in which store; none listens."""
    started: list[tuple[str, str, int]] = []

    def note(self: Squidbot, host: str = "", port: int = 0, tokens: AccessTokens | None = None) -> None:
        assert (tokens is not None) is (host == "lan")
        started.append((self.store_tools.call("status", {}).text.splitlines()[0], host, port))

    monkeypatch.setattr(Squidbot, "run", note)
    monkeypatch.chdir(tmp_path)
    return started


@pytest.mark.parametrize(
    ("address", "host", "port"), [("127.0.0.1:8000", "127.0.0.1", 8000), ("[::1]:80", "::1", 80), ("lan:1", "lan", 1)]
)
def test_it_serves_where_it_is_told(served: list[tuple[str, str, int]], address: str, host: str, port: int) -> None:
    """Where others can reach it, it needs tokens, and says that nothing is encrypted."""
    arguments = ["--store", "mem.db", "--http", address]
    if host == "lan":
        result = run(*arguments)
        assert result.exit_code == 2
        assert "users need tokens: pass --tokens FILE" in result.stderr
        assert not Path("mem.db").exists()
        Path("tokens").write_text(run("--new-token", "ann").stdout, encoding="utf-8")
        arguments += ["--tokens", "tokens"]
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert served == [("store: mem.db", host, port)]
    assert ("is not encrypted" in result.stderr) is (host == "lan")


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "192.168.1.2", "127.1", "example.com", "[::ffff:10.0.0.1]", "lo"])  # noqa: S104
def test_other_machines_need_tokens(served: list[tuple[str, str, int]], host: str) -> None:
    """An address that may not be this machine's alone is refused before anything is opened."""
    result = run("--store", "mem.db", "--http", f"{host}:8000")
    assert result.exit_code == 2
    assert "or listen on 127.0.0.1" in result.stderr
    assert served == []
    assert not Path("mem.db").exists()


@pytest.mark.parametrize("host", ["127.0.0.2", "127.255.0.1", "[::1]", "[0:0:0:0:0:0:0:1]", "localhost", "LocalHost"])
def test_this_machine_needs_none(served: list[tuple[str, str, int]], host: str) -> None:
    """All addresses that others can't reach."""
    assert run("--store", "mem.db", "--http", f"{host}:8000").exit_code == 0
    assert len(served) == 1


def test_coding_agents_have_a_store_and_a_project_of_their_own(
    served: list[tuple[str, str, int]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The store of the agents unless one is named, in a folder of its owner's; settings of the project are not read."""
    projects: list[str] = []

    def note(self: Squidbot, host: str = "", port: int = 0, tokens: AccessTokens | None = None) -> None:
        del host, port, tokens
        assert isinstance(self.store_tools, AgentTools)
        projects.append(self.store_tools.project)

    monkeypatch.setattr(Squidbot, "run", note)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "own"))
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    (tmp_path / "squidbot.toml").write_text("[store]\npath = 3\n", encoding="utf-8")
    assert run("--agents").exit_code == 0
    assert (tmp_path / "own" / "squidbot" / "agents.db").stat().st_mode & 0o077 == 0
    assert (tmp_path / "own" / "squidbot").stat().st_mode & 0o077 == 0
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/work/app")
    for arguments in (("--agents",), ("--agents", "--project", "${workspaceFolder}"), ("--agents", "--project", "/x")):
        assert run(*arguments, "--store", "mem.db").exit_code == 0
    assert projects == [str(tmp_path), "/work/app", "/work/app", "/x"]
    assert served == []


@pytest.mark.parametrize("name", CLIENTS)
def test_what_to_paste_starts_this_interpreter_alone(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Isolated, with an absolute path, in the client's own form; where it belongs is not among it."""
    monkeypatch.chdir(tmp_path)
    result = run("--config", name, "--store", "mem.db", "--answer-tokens", "9000")
    assert result.exit_code == 0, result.output
    written = json.loads(result.stdout)
    ((key, servers),) = written.items()
    assert key == ("servers" if name == "vscode" else "mcpServers")
    entry = servers["squidbot"]
    assert entry["command"] == sys.executable
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][:5] == ["-I", "-m", "squidbot", "mcp", "--agents"]
    assert entry["args"][-4:] == ["--store", str(tmp_path / "mem.db"), "--answer-tokens", "9000"]
    places = {"cursor": "${workspaceFolder}", "vscode": "${workspaceFolder}"}
    places |= dict.fromkeys(("claude-desktop", "windsurf"), str(tmp_path))
    assert entry["args"][5:-4] == (["--project", places[name]] if name in places else [])
    assert ".json" in result.stderr
    assert startable(entry, tmp_path) == f"its store {tmp_path / 'mem.db'} is not there: not started"
    (tmp_path / "mem.db").touch()
    assert startable(entry, tmp_path) == [one.replace("${workspaceFolder}", str(tmp_path)) for one in entry["args"]]
    assert [*tmp_path.iterdir()] == [tmp_path / "mem.db"]


def test_an_interpreter_that_does_not_find_squidbot_alone_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the user's own packages or a variable bring it, a client would start nothing."""
    monkeypatch.setattr(sys, "executable", "")
    result = run("--config", "cursor")
    assert result.exit_code == 2
    assert "python -m venv" in result.stderr
    assert result.stdout == ""


def test_a_new_token_is_shown_once_and_its_line_fits_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The line alone is on standard output; no store is opened, and no two are alike."""
    monkeypatch.chdir(tmp_path)
    made = [run("--new-token", "Ann Lee") for _ in range(2)]
    tokens = AccessTokens(read_digests("".join(each.stdout for each in made), "file"))
    assert tokens.users == ("Ann Lee",)
    assert len(tokens.digests) == 2
    for each in made:
        assert each.exit_code == 0
        token = each.stderr.splitlines()[-1]
        assert tokens.user_of(token.encode()) == "Ann Lee"
        assert checked_token(token, "token")
        assert token not in each.stdout
    assert [*tmp_path.iterdir()] == []


def test_settings_say_which_store(served: list[tuple[str, str, int]], tmp_path: Path) -> None:
    """Without an option those of the folder."""
    (tmp_path / "squidbot.toml").write_text('[store]\npath = "kept.db"\n', encoding="utf-8")
    assert run().exit_code == 0
    assert served == [("store: kept.db", "", 0)]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "no store: pass --store FILE.db"),
        (["--store", "mem.db", "--http", "8000"], "'8000' is not an address"),
        (["--store", "mem.db", "--http", "here:99999"], "'here:99999' is not an address"),
        (["--store", "mem.db", "--config", "squidbot.toml"], "not both"),
        (["--store", "mem.db", "--tokens", "tokens"], "add --http 127.0.0.1:8000"),
        ([*HTTP, "--tokens", "none"], "--tokens none: it can't be read as UTF-8: FileNotFoundError"),
        ([*HTTP, "--tokens", "wide"], "--tokens wide: it can't be read as UTF-8: UnicodeDecodeError"),
        ([*HTTP, "--tokens", "bad"], "bad:2: write a user and the SHA-256 of a token"),
        ([*HTTP, "--tokens", "good", "--user", "ben"], "--user names the user of SQUIDBOT_MCP_TOKEN, which is not set"),
        (["--agents", *HTTP[2:]], "--agents is for an agent on this machine"),
        (["--store", "mem.db", "--project", "x"], "add --agents"),
        (["--config", "cursor", "--tokens", "good"], "--tokens is not for Cursor"),
        (["--agents", "--answer-tokens", "5"], "5 is not in the range"),
        (["--new-token", ""], "the user's name '' is empty"),
        (["--new-token", "a\nb"], "the user's name 'a\\nb' is empty, begins with # or has unprintable characters"),
    ],
)
def test_what_is_wrong_is_one_line(served: list[tuple[str, str, int]], arguments: list[str], says: str) -> None:
    """Exit code 2, and nothing is started."""
    line = f"ann {digest_of(b'token')}\n"
    for name, text in (("bad", f"# users\nsecret\n{line}"), ("good", line)):
        Path(name).write_text(text, encoding="utf-8")
    Path("wide").write_text(line, encoding="utf-16")
    result = run(*arguments)
    assert result.exit_code == 2
    assert says in result.stderr.splitlines()[-1]
    assert served == []


@pytest.mark.parametrize(
    ("token", "says"),
    [
        ("", "the token has 0 characters; use at least 20"),
        ("secret", "has 6 characters"),
        ("a b" * 9, "letters, digits"),
    ],
)
def test_a_bad_token_in_the_environment_is_not_repeated(
    served: list[tuple[str, str, int]], monkeypatch: pytest.MonkeyPatch, token: str, says: str
) -> None:
    """An empty one is no way to do without: a variable may have been forgotten. On standard input it plays no part."""
    monkeypatch.setenv("SQUIDBOT_MCP_TOKEN", token)
    result = run(*HTTP)
    assert result.exit_code == 2
    assert "SQUIDBOT_MCP_TOKEN: " in result.stderr
    assert says in result.stderr
    assert not token or token not in result.stderr
    assert served == []
    assert run("--store", "mem.db").exit_code == 0


def test_one_token_is_not_for_two_users(served: list[tuple[str, str, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the environment, and one of the file."""
    Path("tokens").write_text(f"ann {digest_of(b'x' * 20)}\n", encoding="utf-8")
    monkeypatch.setenv("SQUIDBOT_MCP_TOKEN", "x" * 20)
    assert "another user in tokens has the same token" in run(*HTTP, "--user", "ben", "--tokens", "tokens").stderr
    assert served == []


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """C18."""
    monkeypatch.delitem(sys.modules, "squidbot.plugins.mcp", raising=False)
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    result = run("--store", "mem.db")
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.endswith("; the extra mcp is missing: pip install 'squidbot-context[mcp]'")
