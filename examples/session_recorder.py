"""Records a conversation that is made up: messages, clock, tool calls, and the working tree that they change."""

from __future__ import annotations

import ast
import datetime as dt
import difflib
import hashlib
import json
import re
from dataclasses import dataclass, field

from session_world import FILES, Dice

__all__ = ["Call", "Failure", "Session"]

START = dt.datetime(2025, 3, 4, 8, 31, 7, tzinfo=dt.UTC)


@dataclass(frozen=True)
class Call:
    """One call of a tool, and what came back."""

    name: str
    arguments: dict[str, object]
    output: str


@dataclass(frozen=True)
class Failure:
    """How a test fails: the line that stands when it does, what is said about it, and the frames below it."""

    line: str
    says: tuple[str, ...]
    error: str = "AssertionError"
    frames: tuple[tuple[str, str], ...] = ()


def _parameter_sets(test: ast.FunctionDef) -> int:
    """Return how many times pytest runs a test."""
    lists = [part.args[1] for part in test.decorator_list if isinstance(part, ast.Call)]
    return sum(len(part.elts) for part in lists if isinstance(part, ast.List)) or 1


@dataclass
class Session:
    """A conversation in the making, and the working tree that it is about."""

    dice: Dice = field(default_factory=lambda: Dice(4417))
    files: dict[str, str] = field(default_factory=lambda: dict(FILES))
    messages: list[dict[str, object]] = field(default_factory=list)
    commits: list[tuple[str, str]] = field(default_factory=list)
    time: dt.datetime = START
    _committed: dict[str, str] = field(default_factory=lambda: dict(FILES))
    _calls: int = 0

    def system(self, text: str) -> None:
        """Open with the instructions of the host."""
        self._add({"role": "system", "content": text})

    def user(self, text: str, after: int = 0) -> None:
        """Let the user say something, `after` seconds later than the usual two minutes."""
        self._wait(after + self.dice.number(40, 200))
        self._add({"role": "user", "content": text})

    def say(self, text: str) -> None:
        """Let the agent answer without calling a tool."""
        self._wait(self.dice.number(8, 35))
        self._add({"role": "assistant", "content": text})

    def do(self, text: str | None, *calls: Call) -> None:
        """Let the agent call tools, side by side where there are several, and give it their results."""
        self._wait(self.dice.number(5, 30))
        wanted = []
        for call in calls:
            self._calls += 1
            function = {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)}
            wanted.append({"id": f"call_{self._calls:04}", "type": "function", "function": function})
        self._add({"role": "assistant", "content": text, "tool_calls": wanted})
        for want, call in zip(wanted, calls, strict=True):
            self._wait(self.dice.number(0, 8))
            answer = {"role": "tool", "tool_call_id": want["id"], "name": call.name, "content": call.output}
            self._add(answer)

    def read(self, path: str, first: int = 1, last: int | None = None) -> Call:
        """Read a file, or lines first..last of it."""
        lines = self.files[path].splitlines()[first - 1 : last]
        arguments: dict[str, object] = {"path": path}
        if first > 1 or last is not None:
            arguments |= {"first": first, "last": last}
        return Call("read_file", arguments, "\n".join(f"{n:4}  {line}" for n, line in enumerate(lines, first)))

    def edit(self, path: str, old: str, new: str) -> Call:
        """Replace the one place where `old` stands."""
        if self.files[path].count(old) != 1:
            raise ValueError(f"{path} holds the old text {self.files[path].count(old)} times: {old}")
        at = self.files[path].index(old)
        self.files[path] = self.files[path].replace(old, new)
        first = self.files[path][:at].count("\n") + 1
        last = first + new.count("\n")
        return Call("edit_file", {"path": path, "old": old, "new": new}, f"{path}: 1 place, now lines {first}-{last}")

    def write(self, path: str, content: str) -> Call:
        """Write a whole file."""
        known = path in self.files
        self.files[path] = content
        said = f"{path}: {'replaced' if known else 'created'}, {content.count(chr(10))} lines"
        return Call("write_file", {"path": path, "content": content}, said)

    def run(self, command: str, output: str) -> Call:
        """Run a command."""
        return Call("run", {"command": command}, output)

    def search(self, pattern: str) -> Call:
        """Search all files by a regular expression."""
        found = [
            f"{path}:{number}: {line.strip()}"
            for path, content in sorted(self.files.items())
            for number, line in enumerate(content.splitlines(), 1)
            if re.search(pattern, line)
        ]
        return Call("search", {"pattern": pattern}, "\n".join(found) or "nothing found")

    def tree(self) -> str:
        """Return each file with its size in bytes."""
        return "\n".join(f"{len(content.encode()):7}  {path}" for path, content in sorted(self.files.items()))

    def tests(self) -> dict[str, list[str]]:
        """Return the names of the tests of each file, once for each set of parameters."""
        found: dict[str, list[str]] = {}
        for path, content in sorted(self.files.items()):
            if path.startswith("tests/"):
                functions = [node for node in ast.parse(content).body if isinstance(node, ast.FunctionDef)]
                tests = [node for node in functions if node.name.startswith("test_")]
                found[path] = [node.name for node in tests for _ in range(_parameter_sets(node))]
        return found

    def pytest(self, failing: dict[str, Failure] | None = None, only: str | None = None) -> Call:
        """Run the tests, of one file or of all; `failing` are named as file::test."""
        failing = failing or {}
        lines, bad, good = [], [], 0
        for path, names in self.tests().items():
            if only in (None, path):
                failed = [name for name in names if f"{path}::{name}" in failing]
                marks = "".join("F" if name in failed else "." for name in names)
                lines.append(f"{path} {marks}")
                bad += [(path, name) for name in failed]
                good += len(names) - len(failed)
        if bad:
            lines += ["", " FAILURES ".center(79, "=")]
            for path, name in bad:
                lines += self._traceback(path, name, failing[f"{path}::{name}"])
            lines.append(" short test summary info ".center(79, "="))
            lines += [f"FAILED {path}::{name} - {failing[f'{path}::{name}'].says[0]}" for path, name in bad]
        took = self.dice.number(31, 164) / 100
        total = f"{len(bad)} failed, {good} passed" if bad else f"{good} passed"
        lines += [f"{total} in {took}s"] + (["[exit status 1]"] if bad else [])
        return self.run("python -m pytest" + (f" {only}" if only else ""), "\n".join(lines))

    def commit(self, message: str) -> Call:
        """Commit everything that has changed."""
        changed = self._changed()
        added = sum(line.startswith("+") for path in changed for line in self._diff(path)[2:])
        removed = sum(line.startswith("-") for path in changed for line in self._diff(path)[2:])
        digest = hashlib.sha256(json.dumps([message, self.files]).encode()).hexdigest()[:7]
        self.commits.append((digest, message))
        self._committed = dict(self.files)
        text = (
            f"[main {digest}] {message}\n {len(changed)} files changed, {added} insertions(+), {removed} deletions(-)"
        )
        return self.run(f"git add -A && git commit -m {json.dumps(message)}", text)

    def diff(self) -> Call:
        """Show what has changed since the last commit."""
        return self.run("git diff", "\n".join(line for path in self._changed() for line in self._diff(path)))

    def branch_diff(self, folder: str) -> str:
        """Return how the files of a folder have changed since the morning."""
        paths = [path for path in sorted(self.files) if path.startswith(folder)]
        return "\n".join(line for path in paths for line in self._diff(path, FILES))

    def branch_stat(self) -> str:
        """Return for each file how many lines have changed since the morning."""
        found = []
        for path in sorted(self.files):
            lines = [line[0] for line in self._diff(path, FILES)[2:] if line[0] in "+-"]
            if lines:
                found.append(f" {path:32} | {len(lines):3} {''.join(sorted(lines))[: min(60, len(lines))]}")
        return "\n".join([*found, f" {len(found)} files changed"])

    def jsonl(self) -> str:
        """Return the conversation, a message a line."""
        return "".join(json.dumps(message, ensure_ascii=False) + "\n" for message in self.messages)

    def _wait(self, seconds: int) -> None:
        self.time += dt.timedelta(seconds=seconds, milliseconds=self.dice.number(0, 999))

    def _add(self, message: dict[str, object]) -> None:
        stamp = self.time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.messages.append({**message, "timestamp": stamp})

    def _changed(self) -> list[str]:
        return [path for path in sorted(self.files) if self.files[path] != self._committed.get(path)]

    def _diff(self, path: str, since: dict[str, str] | None = None) -> list[str]:
        known = self._committed if since is None else since
        old, new = known.get(path, "").splitlines(), self.files[path].splitlines()
        return list(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm="", n=2))

    def _traceback(self, path: str, name: str, failure: Failure) -> list[str]:
        lines = self.files[path].splitlines()
        start = next(n for n, line in enumerate(lines) if line.startswith(f"def {name}("))
        stop = next(n for n in range(start, len(lines)) if failure.line in lines[n])
        shown = [f" {name} ".center(79, "_"), "", *(f"    {line}" for line in lines[start:stop])]
        shown += [f">{lines[stop].rjust(len(lines[stop]) + 3)}"]
        place = f"{path}:{stop + 1}"
        for deeper, text in failure.frames:
            inside = self.files[deeper].splitlines()
            number = next(n for n, line in enumerate(inside) if text in line)
            shown += ["", f"{place}: ", "_ " * 40, "", *(f"    {line}" for line in inside[max(0, number - 4) : number])]
            shown += [f">   {inside[number]}"]
            place = f"{deeper}:{number + 1}"
        return [*shown, *(f"E       {says}" for says in failure.says), "", f"{place}: {failure.error}"]
