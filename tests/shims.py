"""Stands on PATH for the programs that pages call: it runs ours, and checks what a page asks of others.

`tests/test_console_blocks.py` makes a link to this file for each name of `PROGRAMS`, and says in `SQUIDBOT_CLONE` where
the clone is. Nothing here reaches a network or installs anything; what is not known here fails, so that a page that
comes to need more says so.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CLONE = Path(os.environ.get("SQUIDBOT_CLONE", "."))
SQUIDBOT = [sys.executable, "-c", "from squidbot.cli import main; main()"]
# How long any server may take.
MOST_SECONDS = 60.0
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
REQUIREMENT = re.compile(r"(\.|[A-Za-z0-9][A-Za-z0-9._-]*|\S*/)(?:\[([a-z0-9,-]+)\])?(?:[=<>!~].*)?")


def fail(why: str) -> NoReturn:
    """End, and say what the page asks for that is not there."""
    sys.exit(f"{Path(sys.argv[0]).name}: {why}")


def project() -> dict[str, Any]:
    """Return what pyproject.toml says."""
    return tomllib.loads((CLONE / "pyproject.toml").read_text(encoding="utf-8"))


def checked_requirement(wanted: str) -> None:
    """Fail unless this is the clone, our distribution with extras that it has, or a package that it depends on."""
    found = REQUIREMENT.fullmatch(wanted)
    if found is None:
        fail(f"{wanted!r} is no requirement")
    ours, name = project(), found[1].replace("_", "-").lower()
    offered = ours["project"].get("optional-dependencies", {})
    if unknown := {*(found[2].split(",") if found[2] else ())} - {*offered}:
        fail(f"no such extra: {', '.join(sorted(unknown))}")
    if name == "." or name.endswith("/"):
        if not (Path(name) / "pyproject.toml").exists():
            fail(f"there is no pyproject.toml in {Path(name).resolve()}")
        return
    if wanted.endswith(".whl") or name == ours["project"]["name"]:
        return
    groups = [one for group in ours.get("dependency-groups", {}).values() for one in group if isinstance(one, str)]
    every = [
        *ours["project"]["dependencies"],
        *(one for extra in offered.values() for one in extra),
        *groups,
        "uv",
        "pip",
    ]
    known = {found[0].replace("_", "-").lower() for one in every if (found := NAME.match(one))}
    # The last are context managers that the benchmarks run beside squidbot.
    if name not in known | {"build", "twine", "deepagents", "strands-agents", "pydantic-ai-harness"}:
        fail(f"{wanted} is no package that squidbot needs")


def words(arguments: Sequence[str], flags: set[str], valued: set[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Return the arguments that are not options, and the values of those options that have one."""
    plain, values, rest = list[str](), dict[str, list[str]](), list(arguments)
    while rest:
        one = rest.pop(0)
        name, equals, value = one.partition("=")
        if name in valued:
            values.setdefault(name, []).append(value if equals else rest.pop(0))
        elif one.startswith("-") and one not in flags:
            fail(f"unknown option {one}")
        elif not one.startswith("-"):
            plain.append(one)
    return plain, values


# -- what installs -----------------------------------------------------------------------------------------------------


def pip(arguments: list[str]) -> None:
    """Check what would be installed."""
    if arguments[:1] in (["list"], ["show"], ["--version"]):
        return
    if arguments[:1] != ["install"]:
        fail(f"unknown: {' '.join(arguments)}")
    flags = {"-q", "--quiet", "-U", "--upgrade", "-e", "--editable", "--user", "--no-deps", "--no-index", "--pre"}
    wanted, values = words(arguments[1:], flags, {"-r", "--requirement", "--target", "--find-links"})
    for file in (*values.get("-r", []), *values.get("--requirement", [])):
        wanted += Path(file).read_text(encoding="utf-8").split()
    if not wanted:
        fail("nothing to install")
    for one in wanted:
        checked_requirement(one)


def uv(arguments: list[str]) -> None:
    """Check extras and groups, and run what `uv run` runs."""
    command, *rest = arguments
    flags = {
        "--compile-bytecode",
        "--frozen",
        "--locked",
        "--isolated",
        "-q",
        "--quiet",
        "--all-extras",
        "--no-dev",
        "--sdist",
        "--wheel",
    }
    valued = {"--extra", "--group", "--python", "-p", "--with", "--out-dir", "--project"}
    if command == "pip":
        pip(rest)
    elif command in {"sync", "build", "venv", "lock"}:
        _, values = words(rest, flags, valued)
        _checked_groups(values)
    elif command == "run":
        place = next(
            (at for at, one in enumerate(rest) if not one.startswith("-") and (at == 0 or rest[at - 1] not in valued)),
            None,
        )
        if place is None:
            fail("nothing to run")
        _checked_groups(words(rest[:place], flags, valued)[1])
        run(rest[place:])
    else:
        fail(f"unknown: {' '.join(arguments)}")


def _checked_groups(values: dict[str, list[str]]) -> None:
    ours = project()
    for group in values.get("--group", []):
        if group not in ours["dependency-groups"]:
            fail(f"no such group: {group}")
    for extra in values.get("--extra", []):
        if extra not in ours["project"]["optional-dependencies"]:
            fail(f"no such extra: {extra}")
    for one in values.get("--with", []):
        checked_requirement(one)


def git(arguments: list[str]) -> None:
    """Put the clone where it is cloned to; else do nothing."""
    if arguments[:1] == ["clone"]:
        plain, _ = words(arguments[1:], {"-q"}, {"--depth", "--branch", "-b"})
        address, *to = plain
        folder = Path(*to) if to else Path(address.rstrip("/").removesuffix(".git").rpartition("/")[2])
        folder.mkdir()
        for one in CLONE.iterdir():
            (folder / one.name).symlink_to(one)
    elif arguments[:1] not in (
        ["status"],
        ["switch"],
        ["checkout"],
        ["tag"],
        ["push"],
        ["commit"],
        ["add"],
        ["diff"],
        ["log"],
    ):
        fail(f"unknown: {' '.join(arguments)}")


def checks(arguments: list[str]) -> None:
    """Check that the files are there that a tool would look at: pytest, ruff, mypy and their like; `build/` is made."""
    skip = False
    for one in arguments:
        is_path = not (skip or one.startswith(("-", "build/"))) and ("/" in one or one.endswith(".py"))
        if is_path and not (CLONE / one.partition("::")[0]).exists():
            fail(f"there is no {one}")
        skip = one in {"-m", "-k", "-n", "-b", "-W", "-o", "--cov", "--hypothesis-profile"}


# -- what runs ---------------------------------------------------------------------------------------------------------


def run(command: Sequence[str]) -> NoReturn:
    """Run another command, as it is found here."""
    found = command[0] if "/" in command[0] else shutil.which(command[0])
    if found is None or not Path(found).exists():
        sys.stderr.write(f"{command[0]}: not found\n")
        sys.exit(127)
    os.execv(found, [command[0], *command[1:]])


def python(arguments: list[str]) -> None:
    """Run Python; make an environment of these programs; have benchmarks and builds only checked."""
    if arguments[:2] == ["-m", "venv"]:
        places = Path(arguments[-1], "bin")
        places.mkdir(parents=True)
        for name in ("python", "python3", "pip", "squidbot"):
            (places / name).symlink_to(Path(__file__))
        (places / "activate").write_text(f'PATH="{places.absolute()}:$PATH"\n', encoding="utf-8")
    elif arguments[:1] == ["-m"] and arguments[1] == "pip":
        pip(arguments[2:])
    elif arguments[:1] == ["-m"] and arguments[1] in {"build", "twine", "pytest", "mypy", "venv"}:
        checks(arguments[2:])
    elif arguments[:1] == ["-m"] and arguments[1].startswith("benchmarks"):
        module = CLONE.joinpath(*arguments[1].split("."))
        if not (module.with_suffix(".py").exists() or (module / "__main__.py").exists()):
            fail(f"there is no {module}")
    elif "tiktoken.get_encoding" in " ".join(arguments):
        compile(arguments[-1], "-c", "exec")  # it downloads
    else:
        os.execv(sys.executable, [sys.executable, *arguments])


def squidbot(arguments: list[str]) -> None:
    """Run the command; one that serves is ended as soon as it says that it does."""
    command = [*SQUIDBOT, *arguments]
    of = " ".join(arguments[:2])
    serves = (
        arguments[:1] == ["view"]
        or (arguments[:1] == ["mcp"] and "--new-token" not in arguments and not _prints_lines(arguments))
        or "--watch" in arguments
        or (of == "store work" and "--once" not in arguments)
    )
    if not serves or "--help" in arguments:
        os.execv(sys.executable, command)
    port = _free_port()
    for at, one in enumerate(command[:-1]):
        if one == "--port":
            command[at + 1] = str(port)
        if one == "--http":
            command[at + 1] = f"127.0.0.1:{port}"
    _served(command, port)


def _prints_lines(arguments: list[str]) -> bool:
    return "--config" in arguments and not arguments[arguments.index("--config") + 1].endswith(".toml")


def _free_port() -> int:
    """Return a port that nobody listens on, and that no system gives to other tests before it is used."""
    while True:
        port = random.randint(20_000, 32_000)  # noqa: S311  # no secret
        with suppress(OSError), socket.create_server(("127.0.0.1", port)) as server:
            return int(server.getsockname()[1])


def _served(command: list[str], port: int) -> NoReturn:
    """Start a server, wait until it is ready, and end it as Ctrl-C does; a server on standard input, by its end."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = subprocess.Popen(command, **pipes)  # type: ignore[call-overload]  # pipes
    ends, said = threading.Timer(MOST_SECONDS, process.kill), b""
    ends.start()
    kind, speaks = command[len(SQUIDBOT)], False
    if "--http" in command:
        while process.poll() is None and not _listens(port):
            time.sleep(0.1)
    elif kind == "view":
        said = _until(process, b"://")
    elif kind == "mcp":
        speaks = True
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "page", "version": "1"}}
        ask = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        process.stdin.write(json.dumps(ask).encode() + b"\n")
        process.stdin.flush()
        said = _until(process, b'"result"')
    else:  # a worker, or an import that watches
        said = _until(process, b"; Ctrl-C ")
    ready = process.poll() is None
    if not speaks:
        process.send_signal(signal.SIGINT)
    out, _ = process.communicate()
    ends.cancel()
    sys.stdout.buffer.write(said + out)
    sys.exit(0 if ready and process.returncode in {0, 130, -signal.SIGINT} else process.returncode or 1)


def _until(process: subprocess.Popen[bytes], mark: bytes) -> bytes:
    """Return what a server prints, up to the line that has the mark."""
    said = b""
    for line in process.stdout or ():
        said += line
        if mark in line:
            break
    return said


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


# -- other programs ----------------------------------------------------------------------------------------------------


def docker(arguments: list[str]) -> None:
    """Check that there is an image, or that the file of `compose` can be read."""
    if arguments[:1] == ["compose"]:
        import yaml  # noqa: PLC0415  # the others are quick

        _, values = words(arguments[1:], {"-d", "--build", "-v", "--wait"}, {"-f", "--file"})
        for file in values.get("-f", []) or values.get("--file", []) or ["compose.yaml"]:
            if not yaml.safe_load(Path(file).read_text(encoding="utf-8"))["services"]:
                fail(f"{file} has no services")
    elif arguments[:1] == ["run"]:
        plain, _ = words(arguments[1:], {"-d", "--rm", "-it", "--detach"}, {"-p", "-e", "-v", "--name"})
        if not plain or not re.fullmatch(r"[a-z0-9/.-]+:[\w.-]+", plain[0]):
            fail("name an image and its version")
    elif arguments[:1] not in (["stop"], ["rm"], ["ps"], ["logs"]):
        fail(f"unknown: {' '.join(arguments)}")


def curl(arguments: list[str]) -> None:
    """Write a file where one is downloaded to: of a small model, if the page downloads one."""
    flags = {"--location", "-L", "--fail", "-f", "-s", "-sS", "--create-dirs", "-fsSL", "-N"}
    plain, values = words(arguments, flags, {"--output", "-o", "-H", "-d", "-X"})
    for address in plain:
        if not re.match(r"https://|http://127\.0\.0\.1|http://localhost", address):
            fail(f"{address} is no address")
    for file in (*values.get("--output", []), *values.get("-o", [])):
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        here = Path(os.environ["SQUIDBOT_DOWNLOADS"], *Path(file).parts[1:])
        if here.exists():
            shutil.copy(here, file)
        else:
            Path(file).write_text("{}", encoding="utf-8")


def psql(arguments: list[str]) -> None:
    """Run the statements."""
    import psycopg  # noqa: PLC0415  # the others are quick

    plain, values = words(arguments, {"-q", "-X", "-1"}, {"-c", "-f", "-v", "--command", "--file"})
    files = [Path(one).read_text(encoding="utf-8") for one in (*values.get("-f", []), *values.get("--file", []))]
    with psycopg.connect(plain[0] if plain else "", autocommit=True) as connection:
        for statement in (*values.get("-c", []), *values.get("--command", []), *files):
            connection.execute(statement.encode())


def zstd(arguments: list[str]) -> None:
    """Copy files that were never compressed, as the program would decompress them."""
    files, values = words(arguments, {"-d"}, {"--output-dir-flat"})
    (folder,) = map(Path, values["--output-dir-flat"])
    for one in map(Path, files):
        shutil.copyfile(one, folder / one.name.removesuffix(".zst"))


def nothing(_: list[str]) -> None:
    """Do nothing: a package of the system's, a service."""


PROGRAMS: dict[str, Callable[[list[str]], None]] = {
    **{one.__name__: one for one in (squidbot, pip, uv, git, python, docker, curl, psql, zstd)},
    **dict.fromkeys(("pytest", "ruff", "mypy", "sphinx-build"), checks),
    **dict.fromkeys(("apt", "apt-get", "createdb", "systemctl", "nvidia-smi", "lint-imports", "run"), nothing),
    "pip3": pip,
    "python3": python,
    "sudo": run,
}


if __name__ == "__main__":
    PROGRAMS[Path(sys.argv[0]).name](sys.argv[1:])
