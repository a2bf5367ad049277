"""No test vanishes: each that `before.txt` names is still there, or `moved.md` says which one says it now, or why none.

`before.txt` is the list of all test functions before the rebuild, a line for each: `path::test` or `path::Class.test`.
A line of `moved.md` is `OLD.py::test_old -> NEW.py::test_new`, `OLD.py::test_old: deleted, REASON`, or, for a whole
file whose tests keep their names, `OLD.py -> NEW.py`. The new test may itself have a line, and so on.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# To look for these costs a tenth of what it costs to parse all tests.
DEFINED = re.compile(r"^class (\w+)|^( *)(?:async )?def (test_\w+)", re.MULTILINE)
FILE_MOVED = re.compile(r"(\S+\.py) -> (\S+\.py)")
MOVED = re.compile(r"(\S+\.py::\S+) -> (\S+\.py::\S+(?:, \S+\.py::\S+)*)")
DELETED = re.compile(r"(\S+\.py::[^\s:]+): deleted, *(.*)")


def names_in(text: str) -> list[str]:
    """Return the names of the test functions of a file, those of a class with its name in front."""
    found: list[str] = []
    owner = ""
    for name, indent, function in DEFINED.findall(text):
        if name:
            owner = name
        elif not indent:
            owner = ""
            found.append(function)
        elif owner and len(indent) == 4:
            found.append(f"{owner}.{function}")
    return found


def names_there() -> set[str]:
    """Return all tests of the tree."""
    files = (path for path in TESTS.rglob("test_*.py") if "__pycache__" not in path.parts)
    return {
        f"{path.relative_to(TESTS.parent).as_posix()}::{name}"
        for path in files
        for name in names_in(path.read_text(encoding="utf-8"))
    }


class Moves:
    """What `moved.md` says: where tests went, which are deleted, and what of it can't be read."""

    def __init__(self, text: str) -> None:
        self.moved: dict[str, list[str]] = {}
        self.files: dict[str, str] = {}
        self.deleted: dict[str, str] = {}
        self.wrong: list[str] = []
        for line in filter(None, (line.strip("-* `") for line in text.splitlines())):
            self._take(line.replace("`", ""))

    def _take(self, line: str) -> None:
        if found := DELETED.fullmatch(line):
            self.deleted[_whole(found[1])] = found[2].strip()
            if not found[2].strip():
                self.wrong.append(f"{line!r} gives no reason")
        elif found := MOVED.fullmatch(line):
            self.moved[_whole(found[1])] = [_whole(each) for each in found[2].split(", ")]
        elif found := FILE_MOVED.fullmatch(line):
            self.files[_whole(found[1])] = _whole(found[2])
        elif "::" in line or line.startswith("tests/"):
            forms = "OLD.py::test -> NEW.py::test, OLD.py::test: deleted, REASON, or OLD.py -> NEW.py"
            self.wrong.append(f"{line!r} is none of: {forms}")

    def lost(self, test: str, there: set[str], seen: tuple[str, ...] = ()) -> str:
        """Return why a test is lost, in a sentence; "" where it is there, said by another one, or deleted."""
        if test in there or test in self.deleted:
            return ""
        if test in seen:
            return f"moved.md leads in a circle: {' -> '.join((*seen, test))}"
        path, _, name = test.partition("::")
        follows = self.moved.get(test) or ([f"{self.files[path]}::{name}"] if path in self.files else [])
        if follows:
            return next(filter(None, (self.lost(each, there, (*seen, test)) for each in follows)), "")
        if seen:
            return f"{seen[0]} has moved to {test}, says moved.md, but there is no such test"
        return f"{test} is gone: put it back, or write into tests/moved.md which test says it now, or why none does"


def _whole(path: str) -> str:
    """Return a path as `before.txt` has it, from the root of the tree."""
    return path if path.startswith("tests/") else f"tests/{path}"


def test_no_test_has_vanished() -> None:
    """Each test of before is there, or there is a line for it."""
    moves = Moves((TESTS / "moved.md").read_text(encoding="utf-8"))
    assert not moves.wrong, "lines of tests/moved.md:\n" + "\n".join(moves.wrong)
    there = names_there()
    before = (TESTS / "before.txt").read_text(encoding="utf-8").split()
    lost = [why for test in before if (why := moves.lost(test, there))]
    assert not lost, f"{len(lost)} tests are lost:\n" + "\n".join(lost)


@pytest.mark.parametrize(
    ("moved", "why"),
    [
        ("", "is gone: put it back"),
        ("tests/a.py::test_one -> tests/b.py::test_two", ""),
        ("- `a.py::test_one -> b.py::test_two`", ""),
        ("tests/a.py::test_one -> tests/b.py::test_two, tests/b.py::test_none", "b.py::test_none, says moved.md"),
        ("tests/a.py::test_one -> tests/b.py::test_none", "no such test"),
        ("tests/a.py::test_one -> tests/c.py::T.test_x\ntests/c.py::T.test_x -> tests/b.py::test_two", ""),
        ("tests/a.py::test_one -> tests/c.py::test_x\ntests/c.py::test_x: deleted, the feature went", ""),
        ("tests/a.py::test_one -> tests/a.py::test_one", "in a circle"),
        ("tests/a.py -> tests/c.py", "moved to tests/c.py::test_one"),
        ("tests/a.py -> tests/c.py\ntests/c.py::test_one -> tests/b.py::test_two", ""),
        ("tests/a.py -> tests/d.py", ""),
        ("tests/a.py::test_one: deleted, b.py::test_two says it", ""),
    ],
)
def test_a_line_says_where_a_test_went(moved: str, why: str) -> None:
    """To another one that is there, on the way of several lines, too; or nowhere, with a reason."""
    moves = Moves(f"# Heading\n\nA sentence.\n\n{moved}\n")
    assert not moves.wrong
    lost = moves.lost("tests/a.py::test_one", {"tests/b.py::test_two", "tests/d.py::test_one"})
    assert why in lost if why else not lost


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("tests/a.py::test_one: deleted,", "gives no reason"),
        ("tests/a.py::test_one: deleted", "is none of"),
        ("tests/a.py::test_one => tests/b.py::test_two", "is none of"),
        ("tests/a.py -> tests/b.py::test_two", "is none of"),
    ],
)
def test_a_line_that_says_nothing_is_refused(line: str, why: str) -> None:
    """It would look as if the test were accounted for."""
    (wrong,) = Moves(line).wrong
    assert why in wrong


def test_tests_are_found_in_classes_and_outside() -> None:
    """Functions inside of functions are none."""
    of_class = "class TestIt:\n    def test_a(self): ...\n    async def test_b(self): ...\n\n"
    text = f"{of_class}def test_c():\n    def test_d(): ...\n"
    assert names_in(text) == ["TestIt.test_a", "TestIt.test_b", "test_c"]
