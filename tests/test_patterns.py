"""Every regular expression of the package is linear: found by the syntax tree, so a new one is covered unlisted.

So is what uses them, as a session does it: one hostile message told, noted, learned from, found, exported.

Attacks come from each pattern's own parse tree: what its quantifiers take, again and again, behind what leads to them,
with an end that fails.
"""

# ruff: noqa: ANN401  # a parse tree of `re` has no types
from __future__ import annotations

import ast
import contextlib
import gc
import importlib
import re
import signal
import sys
import time
from collections import Counter
from functools import cache
from itertools import pairwise, product
from math import inf
from pathlib import Path
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]  # the only parse tree there is
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import squidbot
from squidbot.cli.export import FORMS, Left
from squidbot.cli.open_store import shown_messages
from squidbot.core.memory import extract
from squidbot.core.own_words import SENTENCE_CHARS
from squidbot.core.recall.search import may_have_phrase
from squidbot.core.redaction import Redactor, _compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

ROOT = Path(squidbot.__file__).parent
METHODS = frozenset({"match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"})
REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
SINGLE = (_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN, _constants.CATEGORY)
# One of each kind that patterns tell apart; those that a pattern names are added.
KINDS = [*" \n\ta\0Z5_-.,:;'\"`/\\(<>[]{}=+*#@!?|~$%&^\r\x00\x85", "\u00e9", "\u4e2d", "\u3002", "\u2019", "\u0301"]
# Neither letters nor signs, then a letter, then neither: whatever a pattern ends in, this is not it.
END = "\0a\0"
FIRST_CHARS, MOST_RATIO, MOST_BYTES = 600, 6.0, 1_000_000
# Slower than any linear pattern of ours, so worth a closer look; a quadratic one takes over 1 ms for 800 characters.
SUSPECT_SECONDS = 4e-7 * FIRST_CHARS
ATTACKS_A_PATTERN = 12
# What a linear pattern of ours takes at most for 1 MB is about 0.1 s; those that take longer are tried with less.
LONGEST_SECONDS = 0.4
# No linear pattern takes so long for 1 MB, on any machine.
LATE_SECONDS = 10.0


class Found(NamedTuple):
    """A pattern, and by which methods it is used; `most_chars` where its caller gives it no longer text."""

    where: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]
    most_chars: int = MOST_BYTES


# What is written into these patterns is known when they run only; so here is what each comes to. A call that is new
# and can't be read fails the test, and is added.
AT_RUN_TIME: dict[str, list[str | re.Pattern[Any]]] = {
    "adapters.common.providers._refused_content": [r"\bname\b"],
    "adapters.gpus.found_json": [r"^[ \t]*[\[{]"],
    "adapters.gpus._group_limits": [r"^cache ([0-9]{1,20})$"],
    "adapters.sqlite3.index.generations": [re.compile(rb"(?:aa|bb)_(\d+)_(\d+)")],
    "chat.command._numbers": [re.compile(r"aa(?:-([1-9][0-9]{0,8}))?(?:@(?:user|team):.*)?", re.DOTALL)],
    "core.recall.search.has_phrase": [r"a[\W_]*b[\W_]*a", r"(?<![a-z0-9])a[\W_]+a(?![a-z0-9])"],
    "core.recall.search.may_have_phrase": [],  # tried below
    "core.recall.history._places": [re.compile(r"a[\W_]{0,3}a", re.IGNORECASE)],
    "core.summaries._stands_in": [r"(?<!\w)aa(?!\w)"],
    "core.memory.extract._compiled": [
        pattern for table in extract.LANGUAGES for _, pattern in extract._language(table)[1]
    ],
    "core.memory.extract.doubts": [extract._language(table)[0] for table in extract.LANGUAGES],
    "core.redaction._compiled": [shape for _, shape in _compiled()],
    "core.redaction._behind": [named for _, named in Redactor()._named],
    "core.redaction._own": [],  # what a user sets
    "core.redaction.__post_init__": [],  # what a user sets
    "plugins.hermes._unthought": [re.compile("</think>", re.IGNORECASE)],
}
# Called without their names: PyYAML's resolvers, the rules, what a Markdown block begins with.
CALLED_BY = dict.fromkeys(
    (
        *("adapters.yaml._Dumper", "adapters.yaml._Loader", "adapters.yaml._class"),
        "core.memory.extract._compiled",
        *("core.memory.chunks._FENCE", "core.memory.chunks._TABLE", "core.memory.chunks._ITEM"),
    ),
    "match",
)
# Callers give these no longer texts.
SHORT = {
    "replay.metrics._LITERAL": 400,
    "adapters.yaml._Dumper": 200,
    "core.memory.extract._compiled": extract.CLAUSE_CHARS,
    "core.memory.extract.doubts": SENTENCE_CHARS,
    "core.memory.extract._ANY": SENTENCE_CHARS,
}
# Rooms that import packages of hosts and providers, which takes longer than all that is tried here by default.
HEAVY = re.compile(r"squidbot\.(?:plugins|chat|adapters\.(?!stdlib|sqlite3|yaml)|cli\.model)\b")


def is_light(node: ast.stmt) -> bool:
    """Return whether a statement of a module makes a name, and imports the standard library or light rooms of ours."""
    if isinstance(node, ast.ImportFrom | ast.Import):
        name = node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name
        root = name.partition(".")[0]
        return root in sys.stdlib_module_names or (root == "squidbot" and not HEAVY.match(name))
    return isinstance(node, ast.Assign | ast.AnnAssign)


def modules(*, imports: bool) -> Iterator[tuple[str, list[ast.AST], dict[str, Any]]]:
    """Yield (name below the package, nodes, names) of each file; those of `HEAVY` are imported on demand only."""
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
        source = path.read_text()
        if name.endswith("__main__") or not re.search(r"\bre\b", source):
            continue  # importing all there is takes seconds
        tree = ast.parse(source)
        yield name.removeprefix("squidbot."), list(ast.walk(tree)), names_in(name, tree, imports=imports)


def names_in(name: str, tree: ast.Module, *, imports: bool) -> dict[str, Any]:
    """Return the names of a module; of one that is not imported, or can't be, those that can be read."""
    if imports or not HEAVY.match(name):
        with contextlib.suppress(ImportError):
            return vars(importlib.import_module(name))
    space: dict[str, Any] = {"__name__": name, "__package__": name.rpartition(".")[0]}
    for node in filter(is_light, tree.body):
        body: list[ast.stmt] = [ast.ImportFrom("__future__", [ast.alias("annotations")], 0), node]
        with contextlib.suppress(Exception):
            exec(compile(ast.fix_missing_locations(ast.Module(body, [])), name, "exec"), space)  # noqa: S102
    return space


def patterns_in(value: object, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    """Yield the patterns that a value is, holds, or calls."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(getattr(value, "__self__", None), re.Pattern):
        yield value.__self__  # type: ignore[attr-defined]
    elif depth < 5:
        held: list[object] = []
        if isinstance(value, dict):
            held = [*value, *value.values()]
        elif isinstance(value, tuple | list | set | frozenset):
            held = list(value)
        elif hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
            held = [getattr(value, name, None) for name in value.__dataclass_fields__]
        for each in held:
            yield from patterns_in(each, depth + 1)


def uses(nodes: list[ast.AST]) -> tuple[dict[str, set[str]], set[str]]:
    """Return by which methods each name is used in a module, and by which what has no name there, as `one.pattern`."""
    named: dict[str, set[str]] = {}
    others: set[str] = set()
    counted: Counter[str] = Counter()
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr in METHODS:
            if isinstance(node.value, ast.Name):
                named.setdefault(node.value.id, set()).add(node.attr)
                counted[node.value.id] += 1
            if not (isinstance(node.value, ast.Name) and node.value.id == "re"):
                others.add(node.attr)
    loads = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    # One that is handed on, too, is used as all that has no name is.
    for name in loads:
        if loads[name] > counted[name]:
            named.setdefault(name, set()).update(others or {"finditer"})
    return named, others


def function_calls(nodes: list[ast.AST]) -> Iterator[tuple[str, ast.Call]]:
    """Yield (function, call) of each use of `re` inside of a function."""
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for node in nodes:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.func.attr in METHODS | {"compile"}
        ):
            for function in functions:
                if function.lineno <= node.lineno <= (function.end_lineno or 0):
                    yield function.name, node


def read(call: ast.Call, space: dict[str, Any]) -> re.Pattern[Any]:
    """Return the pattern of a call of `re` whose arguments a module's names are enough for."""
    at = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(call.func.attr, 2)  # type: ignore[attr-defined]
    flags = next((each.value for each in call.keywords if each.arg == "flags"), None)
    flags = call.args[at] if len(call.args) > at else flags
    arguments = [call.args[0], *([flags] if flags is not None else [])]
    return re.compile(*(eval(compile(ast.Expression(each), "", "eval"), dict(space)) for each in arguments))  # noqa: S307


@cache
def all_patterns(*, imports: bool = True) -> tuple[list[Found], list[str]]:
    """Return the patterns of the package, each once, and the calls that can't be read and are not listed."""
    found: dict[tuple[object, int], Found] = {}

    def add(where: str, pattern: re.Pattern[Any], methods: set[str]) -> None:
        key = (pattern.pattern, pattern.flags)
        before = found[key].methods if key in found else frozenset()
        first = found[key].where if key in found else where
        found[key] = Found(first, pattern, before | methods, SHORT.get(first, MOST_BYTES))

    unread = []
    for module, nodes, space in modules(imports=imports):
        named, others = uses(nodes)
        for name, value in list(space.items()):
            where = f"{module}.{name}"
            own = value.__module__ == space["__name__"] if isinstance(value, type) else not name.startswith("__")
            values = list(vars(value).values()) if isinstance(value, type) else [value]
            for pattern in patterns_in(values) if own else ():
                by = {CALLED_BY[where]} if where in CALLED_BY else named.get(name) or others or {"finditer"}
                add(where, pattern, by)
        for function, call in function_calls(nodes):
            where = f"{module}.{function}"
            try:
                add(where, read(call, space), {call.func.attr} & METHODS or {"finditer"})  # type: ignore[attr-defined]
            except (NameError, AttributeError, TypeError, re.error):
                unread += [] if where in AT_RUN_TIME else [f"{where}: {ast.unparse(call)[:80]}"]
    for where, written in AT_RUN_TIME.items():
        for each in written:
            pattern = each if isinstance(each, re.Pattern) else re.compile(each, re.MULTILINE)
            add(where, pattern, {CALLED_BY.get(where, "finditer")})
    return list(found.values()), unread


# -- attacks ----------------------------------------------------------------------------------------------------------


def below(op: object, value: Any) -> list[Any]:
    """Return the sequences inside of a node of a parse tree."""
    if op in REPEATS:
        return [value[2]]
    if op is _constants.SUBPATTERN:
        return [value[3]]
    if op is _constants.BRANCH:
        return list(value[1])
    if op is _constants.ATOMIC_GROUP:
        return [value]
    return [value[1]] if op in (_constants.ASSERT, _constants.ASSERT_NOT) else []


class Attacker:
    """Makes texts that a pattern may take long for."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        self._flags = pattern.flags & ~re.DEBUG
        self._tree = _parser.parse(pattern.pattern, self._flags)
        self._one: dict[str, re.Pattern[Any]] = {}
        self._groups: dict[int, str] = {}
        self._bytes = isinstance(pattern.pattern, bytes)
        self._chars = self._kinds()

    def units(self, *, pairs: bool = True) -> list[tuple[str, str]]:
        """Return (what leads to it, what is repeated), the likeliest first; all pairs of characters, or neighbours."""
        quantifiers = list(self._quantifiers(self._tree, ""))
        heads = list(dict.fromkeys(["", *(head for head, _ in quantifiers), self._example(self._tree, 1)]))
        bodies = list(dict.fromkeys([*(body for _, some in quantifiers for body in some if body), *self._chars]))
        units = [(head, body) for body, head in product(bodies, heads)]
        units += [("", head + body) for body, head in product(["", *bodies], heads[1:])]
        both = product(self._chars, self._chars) if pairs else pairwise(self._chars)
        units += [("", one + other) for one, other in both if one != other]
        return list(dict.fromkeys(unit for unit in units if unit[1]))

    def text(self, unit: tuple[str, str], chars: int) -> Any:
        """Return an attack of so many characters, and its end."""
        head, body = unit
        text = (head + body * (chars // len(body) + 1))[:chars] + END
        return text.encode("latin-1", "replace") if self._bytes else text

    def _kinds(self) -> list[str]:
        singles = list({repr(node): node for node in self._singles(self._tree)}.values())
        written = [chr(value) for op, value in singles if op is _constants.LITERAL]
        for op, value in singles:
            for kind, what in value if op is _constants.IN else ():
                if kind in (_constants.LITERAL, _constants.RANGE):
                    written += [chr(what)] if kind is _constants.LITERAL else [chr(what[0])]
        ones = [self._matcher(node).match for node in singles]
        seen: dict[tuple[bool, ...], str] = {}
        for char in dict.fromkeys([*KINDS, *written]):
            if not "\ud800" <= char <= "\udfff" and (not self._bytes or char < "\x80"):
                said = char.encode("latin-1") if self._bytes else char
                seen.setdefault(tuple([match(said) is not None for match in ones]), char)
        return list(dict.fromkeys([*seen.values(), " ", "\n", "a"]))

    def _singles(self, sequence: Any) -> Iterator[tuple[Any, Any]]:
        for op, value in sequence:
            if op in SINGLE:
                yield op, value
            for inner in below(op, value):
                yield from self._singles(inner)

    def _matcher(self, node: tuple[Any, Any]) -> re.Pattern[Any]:
        key = repr(node)
        if key not in self._one:
            self._one[key] = _compiler.compile(_parser.SubPattern(self._tree.state, [node]), self._flags)
        return self._one[key]

    def _takes(self, node: tuple[Any, Any], char: str) -> bool:
        said = char.encode("latin-1", "replace") if self._bytes else char
        return self._matcher(node).match(said) is not None

    def _example(self, sequence: Any, pick: int = 0) -> str:
        """Return a text that a sequence takes, or nearly."""
        said = ""
        for op, value in sequence:
            if op is _constants.LITERAL:
                said += chr(value)
            elif op in SINGLE:
                fit = [char for char in [*KINDS, *self._chars] if self._takes((op, value), char)] or ["a"]
                said += fit[pick % len(fit)]
            elif op in REPEATS:
                said += self._example(value[2], pick) * min(max(value[0], pick), 64)
            elif op is _constants.SUBPATTERN:
                self._groups[value[0]] = self._example(value[3], pick)
                said += self._groups[value[0]]
            elif op is _constants.BRANCH:
                said += self._example(value[1][pick % len(value[1])], pick)
            elif op is _constants.ATOMIC_GROUP:
                said += self._example(value, pick)
            elif op is _constants.GROUPREF:
                said += self._groups.get(value, "")
        return said

    def _quantifiers(self, sequence: Any, head: str) -> Iterator[tuple[str, list[str]]]:
        for op, value in sequence:
            if op in REPEATS and value[1] > 8:
                yield head, [self._example(value[2], pick) for pick in range(3)]
            for inner in below(op, value):
                yield from self._quantifiers(inner, head)
            head += self._example([(op, value)])


def run(found: Found, method: str, text: Any) -> None:
    """Use a pattern once."""
    if method in {"finditer", "findall"}:
        for _ in found.pattern.finditer(text):
            pass
    elif method in {"sub", "subn"}:
        found.pattern.sub(text[:0], text)
    else:
        getattr(found.pattern, method)(text)


def seconds(found: Found, method: str, text: Any, times: int = 1, *, together: int = 1) -> float:
    """Return the CPU seconds of this thread, the best of some times; `LATE_SECONDS` for what takes longer.

    Of several runs together it is the mean of these.
    """

    def late(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError

    best = LATE_SECONDS
    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, best)
    try:
        for _ in range(times):
            start = time.thread_time()
            for _ in range(together):
                run(found, method, text)
            best = min(best, (time.thread_time() - start) / together)
    except TimeoutError:
        return LATE_SECONDS
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return best


def ratio(found: Found, method: str, attacker: Attacker, unit: tuple[str, str]) -> float:
    """Return time(4n) / time(n), n so large that 3 ms can be told from noise; measured again before it is believed."""
    # Some look 500 characters ahead, and grow faster up to there.
    chars, most = min(4 * FIRST_CHARS, found.most_chars // 4), found.most_chars // 4
    while chars < most and seconds(found, method, attacker.text(unit, chars)) < 3e-3:
        chars = min(most, 2 * chars)
    return grown(found, method, attacker, unit, chars)


def grown(  # noqa: PLR0917  # what is run, on what, how often
    found: Found, method: str, attacker: Attacker, unit: tuple[str, str], chars: int, rounds: int = 20
) -> float:
    """Return time(4n) / time(n), the best of so many rounds; of less where it is small enough before.

    Of n it is the time of four runs, right before that of 4n: a machine that is busy, or whose other threads share a
    core with this one, is so for both alike.
    """
    short, long = attacker.text(unit, chars), attacker.text(unit, 4 * chars)
    best = inf
    for _ in range(rounds):
        shorter = seconds(found, method, short, together=4)
        longer = seconds(found, method, long)
        if longer >= LATE_SECONDS:
            return inf
        best = min(best, longer / max(shorter, 1e-6))
        if best <= MOST_RATIO:
            break
    return best


def spread(units: list[tuple[str, str]], most: int) -> list[tuple[str, str]]:
    """Return the first half, and of the others some, evenly."""
    rest = units[most // 2 :]
    return [*units[: most // 2], *rest[:: len(rest) // (most // 2) + 1]]


def at_length(found: Found, method: str, attacker: Attacker, unit: tuple[str, str]) -> float:
    """Return time(4n) / time(n) for 4n of 1 MB, or of as much as a linear pattern has done in `LONGEST_SECONDS`.

    Where n takes less than 1 ms, noise is more than growth, and 4n of a linear one is done in 6 ms: that is held.
    """
    chars, took = FIRST_CHARS, 0.0
    for chars in (2_000, 16_000, MOST_BYTES // 4):
        took = seconds(found, method, attacker.text(unit, chars))
        if took * 16 > LONGEST_SECONDS:
            break
    if took < 1e-3 and (of_1_ms := seconds(found, method, attacker.text(unit, 4 * chars), 3) / 1e-3) <= MOST_RATIO:
        return of_1_ms
    if took < 1e-3:
        chars *= 4  # some see at once of one length that it is none: too little to compare another one with
    return grown(found, method, attacker, unit, chars)


def superlinear_at_length() -> list[str]:
    """Return the patterns that are more than linear in the three attacks, of all, that take them longest."""
    bad = []
    for found in all_patterns()[0]:
        if found.most_chars < MOST_BYTES:
            continue
        attacker = Attacker(found.pattern)
        for method in sorted(found.methods):
            # A unit of many characters shows what it is only in a text where it stands often.
            worst = slowest(found, method, attacker, attacker.units(), FIRST_CHARS)[-1:]
            worst += slowest(found, method, attacker, attacker.units(pairs=False), 5 * FIRST_CHARS)[-2:]
            for unit in dict.fromkeys(worst):
                grows = at_length(found, method, attacker, unit)
                if grows > MOST_RATIO:
                    bad.append(f"{found.where}.{method}: {unit!r} x {grows:.1f}")
    return bad


def slowest(
    found: Found, method: str, attacker: Attacker, units: list[tuple[str, str]], chars: int
) -> list[tuple[str, str]]:
    """Return attacks in the order of what they take."""
    return [unit for _, unit in sorted((seconds(found, method, attacker.text(unit, chars), 2), unit) for unit in units)]


def superlinear(patterns: list[Found], most_attacks: int = 0) -> list[str]:
    """Return the patterns that are more than linear in an attack: in all attacks, or in so many, the worst of them."""
    bad = []
    for found in patterns:
        attacker = Attacker(found.pattern)
        units = spread(attacker.units(pairs=False), most_attacks) if most_attacks else attacker.units()
        chars = min(FIRST_CHARS, found.most_chars)
        for method in sorted(found.methods):
            took = [(seconds(found, method, attacker.text(unit, chars)), unit) for unit in units]
            for _, unit in sorted(each for each in took if each[0] > SUSPECT_SECONDS)[-1 if most_attacks else -3 :]:
                if found.most_chars == MOST_BYTES:
                    grows = ratio(found, method, attacker, unit)
                else:
                    grows = 100 * seconds(found, method, attacker.text(unit, found.most_chars), 3) / 0.5
                if grows > MOST_RATIO:
                    bad.append(f"{found.where}.{method}: {unit!r} x {grows:.0f}")
                    break
    return bad


@pytest.fixture(autouse=True)
def no_gc() -> Iterator[None]:
    """What other tests have left is not collected while something is timed."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("imports", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_every_call_of_re_is_read(imports: bool) -> None:  # noqa: FBT001  # as the parameter is called
    """A pattern that is made at run time is listed with what it comes to."""
    found, unread = all_patterns(imports=imports)
    assert not unread
    assert len(found) > 250
    assert {each.where for each in found} >= {"core.notes.extract._NO_OUTPUT", "adapters.llama_cpp.model._THOUGHT"}


NEVER = repr(_parser.parse("(?!)"))


def wrong_on_old_pythons(sequence: Any) -> bool:
    """Return whether a possessive group in a parse tree does not end in a branch that never matches."""
    for op, value in sequence:
        if op is _constants.POSSESSIVE_REPEAT and [each[0] in SINGLE for each in value[2]] != [True]:
            (kind, branches), *more = value[2]
            if more or kind is not _constants.BRANCH or repr(branches[1][-1]) != NEVER:
                return True
        if any(wrong_on_old_pythons(inner) for inner in below(op, value)):
            return True
    return False


def ends_at_once(sequence: Any) -> bool:
    """Return whether a parse tree has a group that no one goes back into: possessive, or atomic."""
    return any(
        op is _constants.ATOMIC_GROUP
        or (op is _constants.POSSESSIVE_REPEAT and [each[0] in SINGLE for each in value[2]] != [True])
        or any(map(ends_at_once, below(op, value)))
        for op, value in sequence
    )


@pytest.mark.parametrize("pattern", ["(?:ab?c)*+", "(?:ab|c)++", "a(b(?:cd){2,}+)", "(?:ab|(?!)|c)?+", "(?=(?:ab)*+)"])
def test_wrong_groups_are_seen(pattern: str) -> None:
    """However they are repeated, and wherever they stand."""
    assert wrong_on_old_pythons(_parser.parse(pattern))
    assert not wrong_on_old_pythons(_parser.parse(r"a*+[ab]?+(?:a)++(?:ab?c|(?!))*+(?>ab|c)(?:ab)*"))


@pytest.mark.parametrize("imports", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_possessive_groups_match_the_same_on_every_python(imports: bool) -> None:  # noqa: FBT001  # as above
    r"""Each ends in `|(?!)`: `(?:ab?c|(?!))*+`.

    Python 3.11.0 to 3.11.4 go on from where the last round, which failed, came to (gh-106052); Debian 12 has 3.11.2.
    A last branch that never matches takes them back to where that round began. `(?>(?:ab?c)*)` is right there too, and
    keeps 116 bytes for every round: 116 MB for a megabyte of signs.

    For `fullmatch`, 3.11.0 and 3.11.1 let no such group end before the text does (gh-100061): there it is `match`, of a
    pattern that ends in `\Z`.
    """
    found = all_patterns(imports=imports)[0]
    trees = [(each, _parser.parse(each.pattern.pattern, each.pattern.flags)) for each in found]
    wrong = [each.where for each, tree in trees if wrong_on_old_pythons(tree)]
    assert not wrong, "end the group in |(?!)"
    whole = [each.where for each, tree in trees if "fullmatch" in each.methods and ends_at_once(tree)]
    assert not whole, r"end the pattern in \Z, and use match"


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"\s*(?:ok)?\s*\Z", "match"),
        (r"^\s*[-*]\s", "finditer"),
        (r"(?:a|\w)*!", "search"),
        (r"exceed\w*.{0,40}\bx", "search"),
        (r"<a>.*?</a>", "finditer"),
        (r"(?P<x>.+?)\s+over\s+(?P<y>.+)\Z", "match"),
    ],
)
def test_attacks_show_what_is_not_linear(pattern: str, method: str) -> None:
    """Each kind of fault that was found in the package, in one pattern."""
    found = Found("here", re.compile(pattern, re.MULTILINE), frozenset({method}))
    attacker = Attacker(found.pattern)
    worst = slowest(found, method, attacker, spread(attacker.units(), 60), 200)[-3:]
    assert any(grown(found, method, attacker, unit, 300, 1) > MOST_RATIO for unit in reversed(worst))


def test_patterns_are_linear() -> None:
    """In the likeliest attacks of each; all but those that stand in the classes of rooms that import much."""
    assert superlinear(all_patterns(imports=False)[0], ATTACKS_A_PATTERN) == []


@pytest.mark.slow
def test_patterns_are_linear_in_all_attacks() -> None:
    """All that are made."""
    assert superlinear(all_patterns()[0]) == []


@pytest.mark.slow
def test_patterns_are_linear_up_to_a_megabyte() -> None:
    """In those attacks that take each longest."""
    assert superlinear_at_length() == []


@pytest.mark.parametrize("gap", ["\\\\n", "\\n", "\\\\\\\\n", " ", "_", "\\"])
def test_gaps_in_json_are_linear(gap: str) -> None:
    """Whatever escapes stand between the words of a phrase: they could be read in very many ways."""
    start = time.thread_time()
    assert not may_have_phrase("a" + gap * 200, ("a", "b"))
    assert may_have_phrase("n" + gap * 100_000 + "!", ("n", "b")) or gap == "\\"
    assert may_have_phrase("a" + gap * 3 + "b", ("a", "b"))
    assert time.thread_time() - start < 1


# Lines, gaps, keys of secrets, sentences, our own marks, what JSON and Markdown are made of, other scripts.
HOSTILE = (
    *(" ", "\n", "password ", "+", "a-", "I live in Rome. ", "<squidbot memories: ", "[GOAL] x\n", "{", "`", "> "),
    *("\\n", '{"a": 1, ', "a/b.py ", "- ", "| a ", "\u4e2d", "\u00e9\u0301", "<a>", "data:;", "&"),
)


def stages(text: str, folder: Path) -> dict[str, float]:
    """Return the CPU seconds of this thread for what a session does with a text, by what that is."""
    settings = {
        "summary": {"scheduler": "none"},
        "memory": {"write": True},
        "debug": {"turn_log": str(folder / "turns.txt")},
    }
    function = {"name": "r", "arguments": "{}"}
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]}
    took: dict[str, float] = {}

    def timed(what: str, act: Callable[[], object]) -> None:
        start = time.thread_time()
        act()
        took[what] = time.thread_time() - start

    with squidbot.load(settings) as engine:
        session = engine.session("s", window_tokens=8_192, scope=squidbot.Scope(user="u"))
        result = {"role": "tool", "tool_call_id": "c", "content": f"{text}x"}
        asked = {"role": "user", "content": f"Hi. {text}!"}
        timed("told", lambda: session.record(asked, call, result, f"Fine. {text}x"))
        session.record(*({"role": "user", "content": f"turn {turn}"} for turn in range(4)))
        timed("noted", lambda: (session.assemble("next"), session.compact()))
        timed("learned", engine.run_jobs)
        timed("kept", lambda: session.memory({"action": "add", "text": f"My {text}!"}))
        timed("searched", lambda: session.history({"action": "search", "query": text}))
        timed("found", lambda: session.history({"action": "search", "query": "fine"}))
        timed("recalled", lambda: [session.recall(f"m{seq}") for seq in (0, 2, 3)])
        rows = list(shown_messages(engine.wired.store.read("s", 0, 3), engine.wired.codecs))
        timed("exported", lambda: ["".join(FORMS["markdown"](row, Left())) for row in rows])
    return took


def slower(folder: Path, chars: int, units: Sequence[str]) -> list[str]:
    """Return what is more than linear from a fourth of so many characters to all, where it takes over 50 ms."""
    bad: list[str] = []
    for unit in units:
        over: dict[str, str] = {}
        for tried in range(5):
            shorter, longer = (stages((unit * many)[:many], folder) for many in (chars // 4, chars))
            slow = {what for what in longer if longer[what] > max(0.05, MOST_RATIO * shorter[what])}
            over = {
                what: f"{unit!r}, {what}: {shorter[what]:.3f} s, {longer[what]:.3f} s"
                for what in slow
                if what in over or not tried
            }
            if not over:
                break
        bad += over.values()
    return bad


def test_what_a_session_does_with_a_text_is_linear(tmp_path: Path) -> None:
    """With what was slow before."""
    assert slower(tmp_path, 16_000, (" ", "\n", "password ", "+")) == []


@pytest.mark.slow
def test_what_a_session_does_with_a_megabyte_is_linear(tmp_path: Path) -> None:
    """With many more."""
    assert slower(tmp_path, MOST_BYTES, HOSTILE) == []
