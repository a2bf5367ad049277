"""Tool calls, read for notes: which files they change, what is to do by them, and how they failed."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from squidbot.core.text import READ_CHARS, bounded, clip, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.core.messages import ToolCall


# A tool call's arguments, read for notes: values, the file, and whether the call changes it.

_MOST_PAIRS = 20

_PAIR = re.compile(r"\"(\w{1,40})\": ?\"([^\"\\]{1,300})\"")
_PATH_VALUE = re.compile(r"[^\s'\"<>|*?{}$;&]{1,300}\Z")
_FILE_VALUE = re.compile(r"(?:.*[/\\])?[^/\\]*\.\w{1,8}\Z")
# Where a patch begins to speak of a file: Codex's format, and unified diffs.
_PATCH = re.compile(
    r"^\*\*\* (?:Add|Update|Delete) File:[^\S\n]*(\S[^\n]{0,299})$|"
    r"^--- [^\n]{1,300}\n\+\+\+ (?:b/)?([^\s]{1,300})",
    re.MULTILINE,
)
COMMAND_KEYS = frozenset({"command", "cmd", "script", "code", "input", "shell"})
# A line of a shell command that is followed by a text, and the word that ends it; where `cat` or `tee` writes it to; a
# line that does nothing else. A path with a variable in it names no file.
_HEREDOC = re.compile(r"^[^\n]{0,300}?<<-?[^\S\n]?[\\'\"]?(\w{1,40})[^\n]{0,300}\n", re.MULTILINE)
_WRITTEN_TO = re.compile(
    r"\b(?:cat\b[^\n>]{0,200}>{1,2}|tee(?:[^\S\n]+-a)?)[^\S\n]*"
    r"['\"]?([^\s<>|;&'\"$()-][^\s<>|;&'\"$()]{0,299})(?![^\s<>|;&'\"])"
)
_FIRST_WORD = re.compile(r"^[^\S\n]*+(\w++)", re.MULTILINE)
_ONLY_WRITES = re.compile(r"\s*(?:cat|tee)\b[^&;|]*\Z")
# The words of a tool's name that changes something outside.
CHANGES = re.compile(
    r"(?:^|_|\b)(?:add|apply|book|cancel|change|commit|create|delete|edit|exec|insert|merge|modify|move|patch|pay|post|"
    r"push|put|refund|remove|rename|replace|save|send|set|submit|transfer|update|upload|write)(?:_|\b|[A-Z]|$)",
    re.IGNORECASE,
)


def leaves_of(arguments: str) -> list[tuple[str, str]]:
    """Return (key, value) of the arguments of a call; if they are not a JSON object, the pairs that can be found."""
    try:
        value = json.loads(arguments) if len(arguments) <= READ_CHARS * 4 else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        text = bounded(arguments)
        return [*_PAIR.findall(text)[:_MOST_PAIRS], ("", text)]
    texts = [(str(key), leaf if isinstance(leaf, str) else json.dumps(leaf)) for key, leaf in value.items()]
    return [(key, bounded(text)) for key, text in texts]


def target_of(leaves: list[tuple[str, str]]) -> str:
    """Return the file that a call is about, or ""."""
    for key, value in leaves:
        named = "path" in key.lower() or "file" in key.lower()
        if named and _PATH_VALUE.match(value) and _FILE_VALUE.match(value):
            return value
    return ""


def patched(leaves: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the files that a patch in a call's arguments changes, each once, with what the patch says of it."""
    found: dict[str, str] = {}
    for text in (value for _, value in leaves if _PATCH.search(value)):
        marks = [*_PATCH.finditer(text)]
        for mark, following in zip(marks, [*marks[1:], None], strict=True):
            path = (mark[1] or mark[2]).strip()
            said = text[mark.end() : following.start() if following else len(text)]
            found[path] = found.get(path, "") + said
    return [*found.items()]


def written_by_shell(command: str) -> tuple[list[tuple[str, str]], str]:
    """Return the files that a shell command writes out of its own text, with what it writes; and the rest of it."""
    found: list[tuple[str, str]] = []
    rest, begin = "", 0
    while mark := _HEREDOC.search(command, begin):
        end = next((word for word in _FIRST_WORD.finditer(command, mark.end()) if word[1] == mark[1]), None)
        through = end.end() if end else len(command)
        if to := _WRITTEN_TO.search(mark[0]):
            found.append((to[1], command[mark.end() : end.start() if end else through]))
            rest += command[begin : mark.start() if _ONLY_WRITES.match(mark[0]) else mark.end()]
        else:
            rest += command[begin:through]
        begin = through
    return found, rest + command[begin:]


def written_in(leaves: list[tuple[str, str]]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the files that shell commands in a call's arguments write, and the arguments without what is written."""
    parts = [(key, *(written_by_shell(value) if key.lower() in COMMAND_KEYS else ([], value))) for key, value in leaves]
    return [each for _, files, _ in parts for each in files], [(key, rest) for key, _, rest in parts]


def is_about_file(call: ToolCall) -> bool:
    """Return whether a call names a file that it is about."""
    return bool(target_of(leaves_of(call.arguments)))


def changed_files(call: ToolCall) -> list[str]:
    """Return the files that a call changes: by what the tool is called, by a patch, or by a shell command's text."""
    leaves = leaves_of(call.arguments)
    target = target_of(leaves) if CHANGES.search(call.name) else ""
    if target:
        return [target]
    return list(dict.fromkeys(path for path, _ in (*patched(leaves), *written_in(leaves)[0])))


# A call's arguments that hold a list of what is to do, as the tools of many agents take it.

_STEP_KEYS = ("content", "step", "title", "subject", "description", "task", "text", "name")
DONE_STATES = frozenset({"completed", "complete", "done", "cancelled", "canceled", "deleted", "closed"})
_MOST_STEPS = 40
# A longer text is no id, and no state.
_ID_CHARS = 40


def steps_listed(leaves: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return (state, words) of the steps in a list of things to do; empty where the arguments hold none."""
    for _, value in leaves:
        items = _items(value) if value.startswith("[") else []
        found = [(str(item.get("status", "")), _first_text(item)) for item in items if isinstance(item, dict)]
        if found and all(state and words for state, words in found):
            return found[:_MOST_STEPS]
    return []


# What answers a call that makes a task, and the call's argument with its words.
_TASK_MADE = re.compile(r"[Tt]ask #?(\w{1,20}) (?:was )?(?:created|added)\b")
_TASK_WORDS = ("subject", "title", "content")
_TASK_ID_KEYS = ("taskId", "task_id")


def task_made(result: str, leaves: list[tuple[str, str]]) -> tuple[str, str] | None:
    """Return the id and the words of the task that a call made, by its result; None where it made none."""
    made = _TASK_MADE.match(result)
    words = _first_text(dict(leaves), _TASK_WORDS) if made else ""
    return (made[1], words) if made and words else None


def task_updated(leaves: list[tuple[str, str]]) -> tuple[str, str, str] | None:
    """Return the key of a task's id, the id and the state that a call sets; None where it sets none."""
    values = dict(leaves)
    key = next((key for key in _TASK_ID_KEYS if values.get(key)), "")
    number, state = one_line(values.get(key, "")), one_line(values.get("status", ""))
    return (key, number, state) if number and state and len(number) <= _ID_CHARS and len(state) <= _ID_CHARS else None


def _items(value: str) -> list[object]:
    try:
        items = json.loads(value)
    except (ValueError, RecursionError):
        return []
    return items if isinstance(items, list) else []


def _first_text(item: Mapping[str, object], keys: Sequence[str] = _STEP_KEYS) -> str:
    return next((one_line(said) for key in keys if isinstance(said := item.get(key), str) and said.strip()), "")


# How a call failed, by its result.

_MOST_LINES = 400
_LINE_CHARS = 400
_SHORT_RESULT_CHARS = 600
_ERROR_CHARS = 160
ERROR = re.compile(
    r"\b(?:[Ee]rror|ERROR)(?:\[\w+\])?(?: [A-Z]+\d+)?[\"']?:|\b[A-Z]\w*(?:Error|Exception)\b(?=:|$)|\bERR!|"
    r"\bFAIL(?:ED|URE|S)?\b|\b[1-9]\d* (?:failed|failures?|errors?)\b|\b(?:fatal|panic|Traceback)\b[: (]|"
    r"\b[Nn]ot [Ff]ound\b|\bNo such\b|[Pp]ermission denied|\bexit(?:ed)?(?: with)?(?: code| status)? [1-9]|"
    r"\btimed out\b|\bCannot \w+|\bFehler\b|\b[Ee]rreur\b|\u9519\u8bef|\u5931\u8d25|\u5931\u6557|\u30a8\u30e9\u30fc|"
    r"[\u2717\u2718\u274c]"
)
# One of these stands, in lower case, in every line that the pattern finds; most lines are spared it.
_ERROR_SIGNS = (
    *("error", "exception", "err!", "fail", "fatal", "panic", "traceback", "not found", "no such", "denied", "exit"),
    *("timed out", "cannot", "fehler", "erreur", "\u9519\u8bef", "\u5931\u8d25", "\u5931\u6557", "\u30a8\u30e9\u30fc"),
    *("\u2717", "\u2718", "\u274c"),
)
# How a tool's output begins that the user did not let run: in Claude Code, OpenCode, Gemini CLI, Codex, LangChain's
# middleware, OpenAI's Agents SDK and pydantic-ai; and what stands before the user's own words on it.
_REFUSED = re.compile(
    r"[^\n]{0,40}?\b(?:[Uu]ser (?:doesn't want to (?:proceed|take)|(?:has )?(?:rejected|denied|declined|cancelled)\b|"
    r"did(?: not|n't) (?:allow|approve))|(?:rejected|denied|aborted|cancelled) by (?:the )?user\b|"
    r"[Tt]ool (?:call|execution) was (?:denied|not approved)\b)"
)
_USERS_REASON = re.compile(r"\b(?:user said|feedback|[Rr]eason given):\s*")
_NO_ERROR = re.compile(
    r"\b(?:no|0|without|zero|any) (?:errors?|failures?|failed)\b|\b(?:errors?|failed): 0\b", re.IGNORECASE
)


def failure(text: str, *, of_file: bool) -> str:
    """Return the error of a call in few words, or ""; the text of a file may itself speak of errors."""
    if _REFUSED.match(text):
        return "refused by the user"
    if of_file and len(text) > _SHORT_RESULT_CHARS:
        return ""
    lowered = text.lower()
    signs = [sign for sign in _ERROR_SIGNS if sign in lowered]
    for line in text.splitlines()[:_MOST_LINES] if signs else ():
        begin = line[:_LINE_CHARS]
        if _has_one(begin.lower(), signs) and ERROR.search(begin) and not _NO_ERROR.search(begin):
            return clip(one_line(line), _ERROR_CHARS)
    return ""


def said_refusing(text: str) -> str:
    """Return what the user said when refusing to let a tool run, by its output; "" where nothing was said."""
    reason = _USERS_REASON.search(text[:_SHORT_RESULT_CHARS]) if _REFUSED.match(text) else None
    return text[reason.end() :].strip() if reason else ""


def _has_one(text: str, signs: list[str]) -> bool:
    for sign in signs:  # noqa: SIM110  # a generator takes three times as long, and there are hundreds of lines
        if sign in text:
            return True
    return False
