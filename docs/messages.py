"""Write the lists of docs/messages.md, each error and warning of the code by its words: `python docs/messages.py`."""

import ast
import builtins
import re
from collections import ChainMap, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).with_name("messages.md")
CODE = Path(__file__).parent.parent / "squidbot"
MARK = re.compile(r"(<!-- messages: ([\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
# Checks for the tests of extensions raise to developers, whose test runner shows the place.
LEFT_OUT = CODE / "testing"
# The section of each class that is not squidbot's own; private classes carry their text into another message.
SECTIONS = {"ClickException": "UsageError", "BadParameter": "UsageError", "UsageError": "UsageError"}
INSIDE = "inside"
LOG, SPOKEN = {"warning", "info"}, {"warn_once", "_warn_once"}
GAP = "…"
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_FIELD = re.compile(r"\{[^{}]*\}")
_LOG_FIELD = re.compile(r"%[-#0-9.]*[a-z]")
_GAPS = re.compile(r"…[…\s]*…")
_WORDS = re.compile(r"[a-z]{2,} [a-z0-9…]")


class Message(NamedTuple):
    """A message with … where values stand, its section of the page, and its file below squidbot/."""

    text: str
    section: str
    file: str


def with_messages(page: str) -> str:
    """Return the page with its lists as the code has them."""
    found = sections()
    return MARK.sub(lambda mark: mark[1] + "\n".join(_rows(found.get(mark[2], {}))) + "\n" + mark[3], page)


def sections() -> dict[str, dict[str, set[str]]]:
    """Return the messages of each section with the files that each is from."""
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for one in messages():
        found[one.section][one.text].add(one.file)
    return found


def _rows(found: Mapping[str, set[str]]) -> Iterator[str]:
    yield from ("| message | from |", "|---|---|")
    for text in sorted(found, key=lambda text: (text.lstrip("…\"'`*. :,").lower(), text)):
        yield f"| `` {text.replace('|', chr(92) + '|')} `` | {', '.join(sorted(found[text]))} |"


def messages() -> Iterator[Message]:
    """Yield every message that the code raises or logs as a warning, but for tests of extensions."""
    trees = {path: ast.parse(path.read_text("utf-8")) for path in sorted(CODE.rglob("*.py"))}
    errors = trees[CODE / "core" / "errors.py"]
    public = {node.name: node for node in errors.body if isinstance(node, ast.ClassDef)}
    everywhere = _named([node for tree in trees.values() for node in tree.body], {})
    for name, node in public.items():
        yield from (Message(text, name, "core/errors.py") for text in _of_class(node))
    for path, tree in trees.items():
        if LEFT_OUT not in path.parents:
            place = path.relative_to(CODE).as_posix()
            own = _named(tree.body, everywhere)
            yield from (Message(text, section, place) for section, text in _of_module(tree, own, public))


def _of_module(tree: ast.Module, own: Mapping[str, list[str]], public: Container[str]) -> Iterator[tuple[str, str]]:
    """Yield sections and texts: of calls, and of tuples of a class, what is wrong, and what to do about it."""
    functions = [node for node in ast.walk(tree) if isinstance(node, FUNCTION)]
    at_import = [node for node in tree.body if not isinstance(node, (*FUNCTION, ast.ClassDef))]
    for part in (*functions, *at_import):
        nodes = [*ast.walk(part)]
        named = _named((node for node in nodes if not isinstance(node, FUNCTION)), own)
        for node in nodes:
            match node:
                case ast.Call() if section := _section(_name(node.func), public):
                    yield from ((section, text) for text in _said(node, named))
                case ast.Tuple(
                    elts=[ast.Name(id=name), ast.Constant(value=str(wrong)), ast.Constant(value=str(advice))]
                ):
                    if name in public:
                        yield name, f"{GAP}: {wrong} ({GAP}){GAP}; {advice}"


def _of_class(node: ast.ClassDef) -> Iterator[str]:
    """Yield the text that a class makes of its arguments."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and _name(call.func) == "__init__":
            yield from _said(call, {})


def _named(nodes: Iterable[ast.AST], known: Mapping[str, list[str]]) -> Mapping[str, list[str]]:
    """Return the texts behind names: of variables, and of functions by name and brackets; `known` and these."""
    found = ChainMap[str, list[str]]({}, known)  # type: ignore[arg-type]  # only the first is written to
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                pass
            case ast.FunctionDef(name=name, body=[*_, ast.Return(value=ast.expr() as value)]):
                name += "()" if sum(isinstance(one, ast.Return) for one in ast.walk(node)) == 1 else ":"
            case _:
                continue
        found[name] = _texts(value, found)
    return found


def _section(name: str, public: Container[str]) -> str:
    """Return the section of what a call makes, or "" if it makes no message."""
    if name in LOG | SPOKEN:
        return "log"
    if name in public or name in SECTIONS:
        return SECTIONS.get(name, name)
    given = getattr(builtins, name, None)
    is_builtin = isinstance(given, type) and issubclass(given, Exception) and name != "AssertionError"
    return INSIDE if is_builtin or (name.endswith("Error") and given is None) else ""


def _name(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _said(call: ast.Call, named: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield the text of a call: its longest argument, and other wordings of that."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if _name(call.func) in LOG:
        given = given[:1] if _name(getattr(call.func, "value", call.func)) == "_LOG" else []
    wordings = [[*map(_tidy, _texts(one, named))] for one in given]
    best = max(wordings, key=lambda texts: max(map(len, texts), default=0), default=[])
    yield from (_LOG_FIELD.sub(GAP, text) for text in best if _WORDS.search(text))


def _tidy(text: str) -> str:
    return _GAPS.sub(GAP, " ".join(text.split()))


def _texts(node: ast.expr, named: Mapping[str, list[str]]) -> list[str]:  # noqa: PLR0911  # one for each form
    """Return the wordings of an expression, with … for values; none if it has no words of its own."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=parts):
            return ["".join(_part(part, named) for part in parts)]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return [a + b for a in _texts(left, named) or [GAP] for b in _texts(right, named) or [GAP]]
        case ast.IfExp(body=body, orelse=other):
            return [*_texts(body, named), *_texts(other, named)]
        case ast.Name(id=name):
            return named.get(name, [])
        case ast.Call(func=ast.Name(id=name)):
            return named.get(f"{name}()", [])
        case ast.Call(func=ast.Attribute(value=value, attr="format")):
            return [_FIELD.sub(GAP, text) for text in _texts(value, named)]
    return []


def _part(part: ast.expr, named: Mapping[str, list[str]]) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    value = part.value if isinstance(part, ast.FormattedValue) else part
    texts = _texts(value, named) if isinstance(value, ast.Name | ast.Call) else []
    return texts[0] if len(texts) == 1 else GAP


if __name__ == "__main__":
    PAGE.write_text(with_messages(PAGE.read_text("utf-8")), "utf-8")
