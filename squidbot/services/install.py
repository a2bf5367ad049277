"""Puts squidbot's MCP server and hooks into the settings of a coding agent, and takes them out again.

What else a file says stays as it is, byte for byte; nothing is written here (`file_edits.apply` does).
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

from squidbot.core.errors import ConfigError
from squidbot.services.agents import HOOK_WORDS, SERVER, SERVER_WORDS
from squidbot.services.file_edits import FileEdit, find
from squidbot.services.json_edits import JsonSource, made
from squidbot.services.toml_edits import parsed, with_blocks, without_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from squidbot.services.agents import SettingsFile

_NOTIFY: Final = "notify"


def install_edit(file: SettingsFile) -> FileEdit:
    """Return the change that puts our entries into a file, in the place of older ones of ours.

    Raises:
        ConfigError: the file can't be changed (as `file_edits.find`), is not in its form, or has a server of that name
            that is not ours.
        OSError: it can't be read.
    """
    found = find(file.path, file.within)
    name, text = str(file.path), found.text
    if file.path.suffix != ".toml":
        after, had_ours = _json_with(text, file, name)
        return FileEdit(found, after, _words(file, file.hooks), had_ours)
    after, has_notify = _toml_with(text, file, name)
    kept = f"{name} has a notify of its own, which stays; `squidbot import codex --watch` does the same"
    had_ours = text is not None and without_blocks(text) != text
    return FileEdit(found, after, _words(file, {}, has_notify=has_notify), had_ours, "" if has_notify else kept)


def uninstall_edit(file: SettingsFile) -> FileEdit:
    """Return the change that takes our entries out of a file; one that squidbot made goes if nothing else is in it.

    Raises:
        ConfigError: the file can't be changed (as `file_edits.find`), or is not in its form.
        OSError: it can't be read.
    """
    found = find(file.path, file.within)
    name, text = str(file.path), found.text
    if text is None:
        return FileEdit(found, None)
    if file.path.suffix == ".toml":
        after, has_notify = _toml_without(text, name)
        return FileEdit(found, after, _words(file, {}, has_notify=has_notify) if after != text else ())
    paths = [path for path, _ in _ours(JsonSource(text, name).value, file)]
    events = dict.fromkeys(str(path[1]) for path in paths if path[0] == "hooks")
    server = file if any(path[0] != "hooks" for path in paths) else file._replace(servers=())
    return FileEdit(found, _json_without(text, file, name), _words(server, events))


def entries_in(file: SettingsFile) -> tuple[str, ...]:
    """Return the entries of ours in a file, in words; none in a file that is missing or can't be read."""
    try:
        return tuple(uninstall_edit(file).entries)
    except (ConfigError, OSError):
        return ()


def _words(file: SettingsFile, events: Mapping[str, object], *, has_notify: bool = False) -> list[str]:
    """Return the entries of a file in words."""
    words = [f"the MCP server {SERVER}"] if file.servers else []
    words += [f"the hooks {', '.join(events)}"] if events else []
    return words + ([_NOTIFY] if has_notify and file.notify else [])


def _is_hook(value: object) -> bool:
    """Return whether a hook is ours: any interpreter that starts ours, and nothing else."""
    command = value.get("command") if isinstance(value, dict) else None
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return False
    return tuple(words[1 : 1 + len(HOOK_WORDS)]) == HOOK_WORDS


def _is_server(value: object) -> bool:
    """Return whether an MCP server is ours: by its arguments, whichever interpreter runs it."""
    if not isinstance(value, dict):
        return False
    words = value.get("args") or value.get("command")
    length = len(SERVER_WORDS)
    return isinstance(words, list) and any(
        tuple(words[at : at + length]) == SERVER_WORDS for at in range(len(words) - length + 1)
    )


def _ours(value: Mapping[str, Any], file: SettingsFile) -> Iterator[tuple[tuple[str | int, ...], object]]:
    """Yield our entries in a JSON file with their paths: groups of hooks, hooks in groups of others, the server."""
    hooks = value.get("hooks")
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for place, group in enumerate(groups if isinstance(groups, list) else ()):
            inner = group.get("hooks") if isinstance(group, dict) else None
            found = [at for at, hook in enumerate(inner) if _is_hook(hook)] if isinstance(inner, list) else []
            if found and len(found) == len(inner or ()):
                yield ("hooks", event, place), group
            else:
                yield from ((("hooks", event, place, "hooks", at), group) for at in found)
    servers: object = value
    for key in file.servers:
        servers = servers.get(key) if isinstance(servers, dict) else None
    if file.servers and isinstance(servers, dict) and _is_server(servers.get(SERVER)):
        yield (*file.servers, SERVER), servers[SERVER]


def _json_with(text: str | None, file: SettingsFile, name: str) -> tuple[str | None, bool]:
    """Return a JSON text with our entries, and whether it had any; if it had just these, it stays as it is."""
    wanted: list[tuple[tuple[str, ...], str | None, object]] = []
    wanted += [(("hooks", event), None, group) for event, group in file.hooks.items()]
    wanted += [(file.servers, SERVER, file.server)] if file.servers else []
    had_ours = False
    if text is not None:
        found = [
            (path[:-1] if isinstance(path[-1], int) else path, value)
            for path, value in _ours(JsonSource(text, name).value, file)
        ]
        there = [((*path, key) if key else path, value) for path, key, value in wanted]
        if len(found) == len(there) and all(one in found for one in there):
            return text, True
        had_ours, text = bool(found), _json_without(text, file, name)
    for path, key, value in wanted:
        if text is None:
            text = made(path, key, value)
        else:
            source = JsonSource(text, name)
            if key:
                _check_free(source.value, path, name)
            text = source.added(path, key, value)
    return text, had_ours


def _json_without(text: str, file: SettingsFile, name: str) -> str | None:
    """Return a JSON text without our entries; `None` if squidbot made the file, and nothing else is in it."""
    left: str | None = text
    # From the end, so that places in lists stay.
    for path, _ in reversed(list(_ours(JsonSource(text, name).value, file))):
        if left is not None:
            left = JsonSource(left, name).removed(path)
    return left


def _check_free(value: Mapping[str, Any], path: tuple[str, ...], name: str) -> None:
    """Check that no server has the name of ours; what is no object on the way is found later.

    Raises:
        ConfigError: somebody else's has it.
    """
    servers: object = value
    for key in path:
        servers = servers.get(key) if isinstance(servers, dict) else None
    if isinstance(servers, dict) and SERVER in servers:
        where = ".".join((*path, SERVER))
        raise ConfigError(
            f"{name}: {where} is there and is not squidbot's own; rename or remove it, then install again"
        )


def _toml_with(text: str | None, file: SettingsFile, name: str) -> tuple[str, bool]:
    """Return a TOML text with our entries, and whether notify is one of them.

    Raises:
        ConfigError: it is not TOML, or has servers in a form to which none can be added.
    """
    server = dict(file.server)
    table = ".".join((*file.servers, SERVER))
    base = None if text is None else without_blocks(text)
    others = parsed(base or "", name)
    _check_free(others, file.servers, name)
    top = {} if _NOTIFY in others else {_NOTIFY: list(file.notify)}
    expected = {**others, **top, file.servers[0]: {**_table(others, file.servers[0], name), SERVER: server}}
    if text is not None and parsed(text, name) == expected:
        return text, bool(top)
    after = with_blocks(base, top, table, server)
    try:
        is_right = parsed(after, name) == expected
    except ConfigError:
        is_right = False
    if not is_right:
        raise ConfigError(
            f"{name}: {file.servers[0]} stands in braces; write its servers as [{file.servers[0]}.NAME] tables"
        )
    return after, bool(top)


def _toml_without(text: str, name: str) -> tuple[str | None, bool]:
    """Return a TOML text without our blocks, and whether notify was in them.

    `None`: squidbot made the file, and nothing else is in it.
    """
    after = without_blocks(text)
    return after, _NOTIFY in parsed(text, name) and _NOTIFY not in parsed(after or "", name)


def _table(value: Mapping[str, object], key: str, name: str) -> Mapping[str, object]:
    table = value.get(key, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{name}: {key} has to be a table; mend it, or move the file away")
    return table
