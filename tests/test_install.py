"""squidbot's entries in the settings of coding agents: put in, replaced and taken out; every other byte stays."""

from __future__ import annotations

import json
import os
import shlex
import stat
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from squidbot.core.errors import ConfigError, SquidbotError
from squidbot.services.agents import (
    AGENTS,
    Installation,
    SettingsFile,
    Version,
    hook_command,
    read_version,
    settings_files,
)
from squidbot.services.file_edits import LARGEST_BYTES, apply
from squidbot.services.install import install_edit, uninstall_edit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PYTHON = "/opt/venv/bin/python"
COMMAND = f"{PYTHON} -I -m squidbot hook claude-code"
SERVER = {"type": "stdio", "command": PYTHON, "args": ["-I", "-m", "squidbot", "mcp", "--agents"]}
EVENTS = ["SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "PostCompact", "Stop", "SessionEnd"]
EVENTS += ["SubagentStop"]
GROUP = {"hooks": [{"type": "command", "command": COMMAND, "timeout": 10}]}


def setup(home: Path, **more: Any) -> Installation:  # noqa: ANN401  # fields of a Installation
    """Return an installation for a user without special variables."""
    return Installation(PYTHON, home, {}, "linux", **more)


def installed(agent: str, about: Installation) -> None:
    """Put squidbot in."""
    apply([install_edit(file) for file in settings_files(AGENTS[agent], about)])


def uninstalled(agent: str, about: Installation) -> None:
    """Take squidbot out."""
    apply([uninstall_edit(file) for file in settings_files(AGENTS[agent], about)])


def files_below(folder: Path) -> dict[str, bytes]:
    """Return what is in all files below a folder, by their paths."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def read(path: Path) -> Any:  # noqa: ANN401  # JSON
    """Return the JSON of a file."""
    return json.loads(path.read_text(encoding="utf-8"))


# What is written


def test_claude_code_gets_hooks_and_a_server(tmp_path: Path) -> None:
    """In two files of the user's, beside what is there."""
    (tmp_path / ".claude").mkdir()
    kept = {"hooks": [{"type": "command", "command": "say done"}]}
    (tmp_path / ".claude/settings.json").write_text(json.dumps({"model": "m", "hooks": {"Stop": [kept]}}, indent=4))
    installed("claude-code", setup(tmp_path))
    settings = read(tmp_path / ".claude/settings.json")
    assert settings == {"model": "m", "hooks": {event: [GROUP] for event in EVENTS} | {"Stop": [kept, GROUP]}}
    assert read(tmp_path / ".claude.json") == {"mcpServers": {"squidbot": SERVER}}


def test_project_of_claude_code_stays_out_of_shared_settings(tmp_path: Path) -> None:
    """Hooks in settings.local.json, the server where Claude Code keeps it by the path of the repository."""
    project = tmp_path / "repository" / "part"
    project.mkdir(parents=True)
    (project.parent / ".git").mkdir()
    installed("claude-code", setup(tmp_path, project=project, store="/data/a b.db"))
    command = read(project / ".claude/settings.local.json")["hooks"]["Stop"][0]["hooks"][0]["command"]
    assert shlex.split(command)[1:] == ["-I", "-m", "squidbot", "hook", "claude-code", "--store", "/data/a b.db"]
    server = read(tmp_path / ".claude.json")["projects"][str(project.parent)]["mcpServers"]["squidbot"]
    assert server["args"][4:] == ["--agents", "--store", "/data/a b.db", "--project", str(project)]
    assert set(files_below(tmp_path)) == {".claude.json", "repository/part/.claude/settings.local.json"}


def test_claude_code_may_be_moved(tmp_path: Path) -> None:
    """CLAUDE_CONFIG_DIR has both files then."""
    about = setup(tmp_path)._replace(environ={"CLAUDE_CONFIG_DIR": str(tmp_path / "moved")})
    installed("claude-code", about)
    assert set(files_below(tmp_path)) == {"moved/settings.json", "moved/.claude.json"}


@pytest.mark.parametrize(
    ("version", "missing"),
    [
        ((1, 0, 40), {*EVENTS} - {"PostToolUse", "Stop"}),
        ((1, 0, 62), {"SessionEnd", "PostCompact"}),
        ((2, 1, 75), {"PostCompact"}),
        ((2, 1, 76), set()),
    ],
)
def test_hooks_are_those_of_the_version(tmp_path: Path, version: Version, missing: set[str]) -> None:
    """An older Claude Code ignores a file with an event that it does not know."""
    installed("claude-code", setup(tmp_path, version=version))
    assert set(read(tmp_path / ".claude/settings.json")["hooks"]) == {*EVENTS} - missing


def test_versions_are_read_as_agents_print_them() -> None:
    """With their names in front or behind."""
    assert read_version("2.1.114 (Claude Code)\n") == (2, 1, 114)
    assert read_version("codex-cli 0.124.0-alpha.2") == (0, 124, 0)
    assert read_version("no such option") is None


def test_codex_gets_notify_in_front_and_a_server_behind(tmp_path: Path) -> None:
    """And hooks in the file for them; an older one has none."""
    (tmp_path / ".codex").mkdir()
    config = tmp_path / ".codex/config.toml"
    config.write_text('model = "m"\n\n[mcp_servers.other]\ncommand = "x"')
    installed("codex", setup(tmp_path))
    words = [PYTHON, "-I", "-m", "squidbot", "hook", "codex"]
    assert tomllib.loads(config.read_text()) == {
        "model": "m",
        "notify": words,
        "mcp_servers": {"other": {"command": "x"}, "squidbot": {"command": PYTHON, "args": SERVER["args"]}},
    }
    hooks = read(tmp_path / ".codex/hooks.json")["hooks"]
    assert set(hooks) == {*EVENTS} - {"SessionEnd"}
    assert hooks["Stop"][0]["hooks"] == [{"type": "command", "command": shlex.join(words), "timeout": 10}]
    uninstalled("codex", setup(tmp_path))
    installed("codex", setup(tmp_path, version=(0, 123, 9)))
    assert not (tmp_path / ".codex/hooks.json").exists()


def test_notify_of_somebody_else_stays(tmp_path: Path) -> None:
    """And the user is told of another way."""
    file = SettingsFile(tmp_path / "config.toml", ("mcp_servers",), SERVER, notify=["python"])
    file.path.write_text('notify = ["mine"]\n')
    edit = install_edit(file)
    assert tomllib.loads(edit.after or "")["notify"] == ["mine"]
    assert "import codex --watch" in edit.remark
    assert "notify" not in edit.entries


# They put the folder that is open in the place of this.
IN_WORKSPACE = ["-I", "-m", "squidbot", "mcp", "--agents", "--project", "${workspaceFolder}"]


@pytest.mark.parametrize(
    ("agent", "path", "keys", "server"),
    [
        ("gemini-cli", ".gemini/settings.json", ["mcpServers"], {"command": PYTHON, "args": SERVER["args"]}),
        (
            "opencode",
            ".config/opencode/opencode.json",
            ["mcp"],
            {"type": "local", "command": [PYTHON, "-I", "-m", "squidbot", "mcp", "--agents"], "enabled": True},
        ),
        ("copilot-cli", ".copilot/mcp-config.json", ["mcpServers"], {**SERVER, "type": "local", "tools": ["*"]}),
        ("cursor", ".cursor/mcp.json", ["mcpServers"], {"command": PYTHON, "args": IN_WORKSPACE}),
        ("vscode", ".config/Code/User/mcp.json", ["servers"], {**SERVER, "args": IN_WORKSPACE}),
    ],
)
def test_other_agents_get_a_server_in_their_form(
    tmp_path: Path, agent: str, path: str, keys: list[str], server: object
) -> None:
    """And are as before afterwards."""
    installed(agent, setup(tmp_path))
    found = read(tmp_path / path)
    assert found[keys[0]] == {"squidbot": server}
    if agent == "gemini-cli":
        events = ["SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "PreCompress", "SessionEnd"]
        assert list(found["hooks"]) == events
        assert found["hooks"]["AfterTool"][0]["hooks"][0]["timeout"] == 10_000
    uninstalled(agent, setup(tmp_path))
    assert files_below(tmp_path) == {}


def test_only_claude_code_has_private_settings_for_a_project(tmp_path: Path) -> None:
    """Those of others are shared, and a path of this machine harms there."""
    with pytest.raises(ConfigError, match="--user"):
        settings_files(AGENTS["cursor"], setup(tmp_path, project=tmp_path))


def test_hook_command_survives_every_shell(tmp_path: Path) -> None:
    """Git Bash eats backslashes; what shells replace can't be written for all of them."""
    about = setup(tmp_path, store="/a b/it's.db")
    assert shlex.split(hook_command("codex", about)) == [*COMMAND.split()[:-1], "codex", "--store", "/a b/it's.db"]
    windows = about._replace(python=r"C:\Program Files\Python\python.exe", platform="win32", store=r"D:\mem.db")
    assert hook_command("codex", windows) == (
        '"C:/Program Files/Python/python.exe" -I -m squidbot hook codex --store D:/mem.db'
    )
    with pytest.raises(ConfigError, match="shell"):
        hook_command("codex", windows._replace(store=r"D:\$HOME\mem.db"))


# Texts as before


def comments_out(text: str) -> str:
    """Return JSON without comments and without commas behind the last value: character by character."""
    kept, at, in_text = "", 0, False
    while at < len(text):
        if in_text:
            length = 2 if text[at] == "\\" else 1
            kept, in_text = kept + text[at : at + length], text[at] != '"'
            at += length
        elif text.startswith("//", at):
            at = min(place for place in (text.find("\n", at), len(text)) if place >= 0)
        elif text.startswith("/*", at):
            at = text.index("*/", at) + 2
        else:
            if text[at] in "]}" and kept.rstrip().endswith(","):
                kept = kept.rstrip()[:-1]
            kept, in_text, at = kept + text[at], text[at] == '"', at + 1
    return kept


WORDS = st.text(st.sampled_from('ab"\\/*,{}[]: é\u2028\n'), max_size=6)
LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | WORDS
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3), max_leaves=6
)
HOOKS = st.dictionaries(st.sampled_from(["Stop", "PreCompact", "Other"]), st.lists(VALUES, max_size=2), max_size=3)
SERVERS = st.dictionaries(WORDS, VALUES, max_size=2)
DOCUMENTS = st.dictionaries(WORDS, VALUES, max_size=3).flatmap(
    lambda others: st.fixed_dictionaries({}, optional={"hooks": HOOKS, "mcpServers": SERVERS}).map(
        lambda ours: {**ours, **others} if len(others) % 2 else {**others, **ours}
    )
)
GAPS = st.sampled_from(["", "", " ", "\n", "\n  ", "\n\t", "\n    ", " // note\n", "/* a */", "\n// {\n  ", "/* \n*/ "])


@st.composite
def jsons(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Draw a document in any formatting, with what it says."""

    def spread(parts: list[str], opens: str, closes: str) -> str:
        text = opens + draw(GAPS)
        for number, part in enumerate(parts):
            text += part + draw(GAPS)
            is_last = number == len(parts) - 1
            text += ("," if not is_last or draw(st.booleans()) else "") + draw(GAPS)
        return text + closes

    def written(value: object) -> str:
        if isinstance(value, dict):
            pairs = [f"{json.dumps(key)}{draw(GAPS)}:{draw(GAPS)}{written(inner)}" for key, inner in value.items()]
            return spread(pairs, "{", "}")
        if isinstance(value, list):
            return spread([written(inner) for inner in value], "[", "]")
        return json.dumps(value, ensure_ascii=draw(st.booleans()))

    value = draw(DOCUMENTS)
    text = draw(st.sampled_from(["", "\ufeff"])) + draw(GAPS) + written(value) + draw(GAPS)
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return text, value


def place(tmp: pytest.TempPathFactory, name: str) -> SettingsFile:
    """Return a file with all kinds of entries."""
    hooks = dict.fromkeys(EVENTS[:6], GROUP)
    return SettingsFile(tmp.getbasetemp() / name, ("mcpServers",), SERVER, hooks)


@settings(max_examples=300)
@given(document=jsons())
def test_json_is_as_before_after_both(
    tmp_path_factory: pytest.TempPathFactory, document: tuple[str, dict[str, Any]]
) -> None:
    """Whatever its formatting; between them it says what it said, and what is new."""
    text, value = document
    file = place(tmp_path_factory, "any.json")
    file.path.write_bytes(text.encode())
    edit = install_edit(file)
    assert edit.after is not None
    expected = {**value, "hooks": dict(value.get("hooks", {})), "mcpServers": dict(value.get("mcpServers", {}))}
    for event, group in file.hooks.items():
        expected["hooks"][event] = [*expected["hooks"].get(event, []), group]
    expected["mcpServers"]["squidbot"] = SERVER
    assert json.loads(comments_out(edit.after.removeprefix("\ufeff"))) == expected
    assert ("\n" in edit.after.replace("\r\n", "")) <= ("\r\n" not in text[: text.find("\n") + 1])
    file.path.write_bytes(edit.after.encode())
    assert install_edit(file).after == edit.after
    moved = install_edit(file._replace(server={**SERVER, "command": "/moved"})).after
    assert uninstall_edit(file).after == text
    file.path.write_bytes((moved or "").encode())
    assert uninstall_edit(file).after == text


LINES = [
    "a = 1",
    "# note",
    "",
    '[tui]\nb = "x"',
    '[mcp_servers.other]\ncommand = "y"',
    "[[list]]\nc = 2",
    'd = """\n# e"""',
]


@given(
    lines=st.lists(st.sampled_from(LINES), unique=True),
    end=st.sampled_from(["", "\n", "\n\n"]),
    newline=st.sampled_from(["\n", "\r\n"]),
    bom=st.sampled_from(["", "\ufeff"]),
)
def test_toml_is_as_before_after_both(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], end: str, newline: str, bom: str
) -> None:
    """With or without an end of the last line."""
    file = SettingsFile(
        tmp_path_factory.getbasetemp() / "any.toml", ("mcp_servers",), {"command": PYTHON, "args": ["-I"]}, notify=["n"]
    )
    lines = sorted(lines, key=lambda line: "[" in line)
    text = bom + ("\n".join(lines) + end).replace("\n", newline)
    file.path.write_bytes(text.encode())
    edit = install_edit(file)
    assert edit.after is not None
    before, after = (tomllib.loads(one.removeprefix("\ufeff")) for one in (text, edit.after))
    servers = {**before.get("mcp_servers", {}), "squidbot": {"command": PYTHON, "args": ["-I"]}}
    assert after == {**before, "notify": ["n"], "mcp_servers": servers}
    file.path.write_bytes(edit.after.encode())
    assert install_edit(file).became == "unchanged"
    assert uninstall_edit(file).after == text


@given(value=VALUES, key=st.sampled_from(["hooks", "mcpServers", "Stop", "squidbot", ""]))
def test_any_json_is_changed_or_refused(tmp_path_factory: pytest.TempPathFactory, value: object, key: str) -> None:
    """Wrong types where ours should stand, foreign servers of our name: an error that names the file."""
    file = place(tmp_path_factory, "wrong.json")
    inner = (
        {"hooks": {key: value}}
        if key == "Stop"
        else {"mcpServers": {key: value}}
        if key == "squidbot"
        else {key: value}
    )
    text = json.dumps(inner if key else value)
    file.path.write_text(text)
    try:
        edit = install_edit(file)
    except ConfigError as error:
        assert str(file.path) in str(error)  # noqa: PT017  # either
    else:
        assert json.loads(edit.after or "")["mcpServers"]["squidbot"] == SERVER
    if isinstance(json.loads(text), dict):
        assert uninstall_edit(file).became == "unchanged"


@given(content=st.binary(max_size=40) | st.text(st.sampled_from('{}[]",:/*\\ \n1a'), max_size=20).map(str.encode))
def test_any_bytes_are_changed_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    """In both forms."""
    for name in ("bytes.json", "bytes.toml"):
        file = place(tmp_path_factory, name)
        file.path.write_bytes(content)
        for change in (install_edit, uninstall_edit):
            try:
                change(file)
            except ConfigError as error:
                assert str(file.path) in str(error)  # noqa: PT017  # either


# Only ours


def test_removal_leaves_what_others_did_meanwhile(tmp_path: Path) -> None:
    """The agent writes its files anew, and a user puts hooks beside ours and into our groups."""
    installed("claude-code", setup(tmp_path))
    path = tmp_path / ".claude/settings.json"
    settings = read(path)
    mine = {"type": "command", "command": "mine"}
    settings["hooks"]["Stop"].insert(0, {"hooks": [mine]})
    settings["hooks"]["PreCompact"][0]["hooks"].append(mine)
    settings["model"] = "m"
    path.write_text(json.dumps(settings, indent=2))
    config = tmp_path / ".claude.json"
    config.write_text(json.dumps({"n": 1, **read(config)}))
    uninstalled("claude-code", setup(tmp_path))
    assert read(path) == {"hooks": {"Stop": [{"hooks": [mine]}], "PreCompact": [{"hooks": [mine]}]}, "model": "m"}
    assert read(config) == {"n": 1, "mcpServers": {}}


def test_installing_with_other_options_replaces_ours(tmp_path: Path) -> None:
    """One hook for each event stays, with the new store; the copy of the file without ours stays, too."""
    (tmp_path / ".claude").mkdir()
    path = tmp_path / ".claude/settings.json"
    path.write_bytes(b'{"a": 1}')
    installed("claude-code", setup(tmp_path))
    installed("claude-code", setup(tmp_path, store="/x.db", version=(1, 0, 62)))
    hooks = read(path)["hooks"]
    assert [len(groups) for groups in hooks.values()] == [1] * 6
    assert all("--store /x.db" in groups[0]["hooks"][0]["command"] for groups in hooks.values())
    assert files_below(tmp_path)[".claude/settings.json.squidbot-backup"] == b'{"a": 1}'
    uninstalled("claude-code", setup(tmp_path))
    assert files_below(tmp_path) == {".claude/settings.json": b'{"a": 1}'}


def test_installing_again_leaves_what_stands_behind_ours(tmp_path: Path) -> None:
    """Nothing moves: there is nothing to do."""
    file = place_of(tmp_path, '{"a": 1}')
    for _ in range(2):
        edit = install_edit(file)
        assert edit.after is not None
        behind = edit.after.rstrip("}") + '}, "b": 2}'
        file.path.write_text(behind)
        assert json.loads(behind)["b"] == 2
        assert install_edit(file).became == "unchanged"
        file.path.write_text('{"b": 1}')


def place_of(folder: Path, text: str) -> SettingsFile:
    """Return a file with a server, which has this text."""
    (folder / "x.json").write_text(text)
    return SettingsFile(folder / "x.json", ("mcpServers",), SERVER)


def test_last_of_two_equal_keys_counts(tmp_path: Path) -> None:
    """As every reader of JSON has it."""
    text = '{"mcpServers": {"x": 1}, "mcpServers": {"y": 2}}'
    file = place_of(tmp_path, text)
    after = install_edit(file).after or ""
    assert json.loads(after)["mcpServers"] == {"y": 2, "squidbot": SERVER}
    file.path.write_text(after)
    assert uninstall_edit(file).after == text


def test_file_with_a_comment_of_the_user_stays(tmp_path: Path) -> None:
    """Though squidbot made it."""
    installed("cursor", setup(tmp_path))
    path = tmp_path / ".cursor/mcp.json"
    path.write_text(f"// mine\n{path.read_text()}")
    uninstalled("cursor", setup(tmp_path))
    assert comments_out(path.read_text()).split() == ["{", "}"]
    assert path.read_text().startswith("// mine\n")


@pytest.mark.parametrize("server", ['{"command": "squidbot", "args": ["mcp"]}', '{"url": "http://x"}', "null"])
def test_server_of_somebody_else_stays(tmp_path: Path, server: str) -> None:
    """It is named, and nothing is written, not even the first of two files."""
    (tmp_path / ".claude.json").write_text(f'{{"mcpServers": {{"squidbot": {server}}}}}')
    before = files_below(tmp_path)
    with pytest.raises(ConfigError, match=r"mcpServers\.squidbot"):
        installed("claude-code", setup(tmp_path))
    uninstalled("claude-code", setup(tmp_path))
    assert files_below(tmp_path) == before


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{\n"a": 1,\n"hooks": []}', ":3: hooks has to be an object"),
        ('{"hooks": {\n"Stop": {}}}', ":2: hooks.Stop has to be a list"),
        ("{\n\n'a': 1}", ":3: it is not JSON"),
        ("", ":1: it is not JSON"),
        ("[]", ":1: the file has to be an object"),
        ('{"a": NaN}', "NaN"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_wrong_settings_stop_before_anything_is_written(tmp_path: Path, text: str, says: str) -> None:
    """The error has file, line and what to do."""
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text(text)
    with pytest.raises(ConfigError) as raised:
        installed("claude-code", setup(tmp_path))
    assert str(raised.value).startswith(str(tmp_path / ".claude/settings.json"))
    assert says in str(raised.value)
    assert "move the file away" in str(raised.value)
    assert set(files_below(tmp_path)) == {".claude/settings.json"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("b = 1\na = x\n", "at line 2"),
        ('mcp_servers = {x = {command = "y"}}', "in braces"),
        ("mcp_servers = 1", "has to be a table"),
        ("[mcp_servers.squidbot]", "not squidbot's own"),
    ],
)
def test_wrong_toml_stops_before_anything_is_written(tmp_path: Path, text: str, says: str) -> None:
    """Braces can't be extended, and a server of our name without our marks is somebody else's."""
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex/config.toml").write_text(text)
    with pytest.raises(ConfigError, match=rf"config\.toml.*{says}"):
        installed("codex", setup(tmp_path))
    assert files_below(tmp_path) == {".codex/config.toml": text.encode()}


# Files


def test_mode_and_links_stay_and_the_backup_is_private(tmp_path: Path) -> None:
    """The file behind the link is changed; the copy stands beside the link."""
    (tmp_path / ".claude").mkdir()
    real = tmp_path / "dotfiles.json"
    real.write_bytes(b"{}\n")
    real.chmod(0o640)
    link = tmp_path / ".claude/settings.json"
    link.symlink_to(real)
    installed("claude-code", setup(tmp_path))
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert "squidbot hook" in real.read_text()
    backup = link.with_name("settings.json.squidbot-backup")
    assert backup.read_bytes() == b"{}\n"
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / ".claude.json").stat().st_mode) == 0o600
    uninstalled("claude-code", setup(tmp_path))
    backup.write_text("old")
    backup.chmod(0o644)
    installed("claude-code", setup(tmp_path))
    assert backup.read_bytes() == b"{}\n"
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600


def _folder_in_the_way(path: Path) -> None:
    path.mkdir()


def _changed(path: Path) -> None:
    path.write_text('{"by": "somebody"}')


@pytest.mark.parametrize("harm", [_folder_in_the_way, _changed])
def test_no_file_changes_if_one_fails(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    """The first is restored, and what somebody else wrote meanwhile stays."""
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_bytes(b'{"a": 1}')
    edits = [install_edit(file) for file in settings_files(AGENTS["claude-code"], setup(tmp_path))]
    harm(tmp_path / ".claude.json")
    before = files_below(tmp_path)
    with pytest.raises((OSError, SquidbotError)):
        apply(edits)
    assert files_below(tmp_path) == before


def test_links_of_a_project_are_refused(tmp_path: Path) -> None:
    """A repository can't have a file outside of it written."""
    outside, project = tmp_path / "outside", tmp_path / "project"
    outside.mkdir()
    project.mkdir()
    (outside / "settings.local.json").write_text("{}")
    (project / ".claude").symlink_to(outside)
    with pytest.raises(ConfigError, match="symbolic link"):
        installed("claude-code", setup(tmp_path, project=project))
    (project / ".claude").unlink()
    (project / ".claude").mkdir()
    (project / ".claude/settings.local.json").symlink_to(outside / "settings.local.json")
    with pytest.raises(ConfigError, match="symbolic link"):
        uninstalled("claude-code", setup(tmp_path, project=project))
    (project / ".claude/settings.local.json").unlink()
    (project / "code.json").write_text("{}")
    (project / ".claude/settings.local.json").symlink_to(project / "code.json")
    with pytest.raises(ConfigError, match="symbolic link"):
        installed("claude-code", setup(tmp_path, project=project))
    (project / ".claude/settings.local.json").unlink()
    (project / ".claude/settings.local.json").write_text("{}")
    (project / ".claude/settings.local.json.squidbot-backup").symlink_to(outside / "settings.local.json")
    installed("claude-code", setup(tmp_path, project=project))
    assert (outside / "settings.local.json").read_text() == "{}"


def test_what_is_no_settings_file_is_refused(tmp_path: Path) -> None:
    """A pipe would wait for ever, and a huge file is none of settings."""
    file = SettingsFile(tmp_path / "x.json", ("mcpServers",), SERVER)
    os.mkfifo(file.path)
    with pytest.raises(ConfigError, match="no file"):
        install_edit(file)
    file.path.unlink()
    file.path.write_bytes(b'{"a": "' + b"x" * LARGEST_BYTES + b'"}')
    with pytest.raises(ConfigError, match="8,388,608 bytes"):
        install_edit(file)


def test_paths_that_are_not_unicode_are_refused(tmp_path: Path) -> None:
    """JSON has no way to write them."""
    about = setup(tmp_path, store="/\udcff.db")
    with pytest.raises(ConfigError, match="UTF-8"):
        installed("cursor", about)
    assert files_below(tmp_path) == {}
