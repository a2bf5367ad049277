"""docs/maintainers/behaviours.md is true: each id stands there once, and all that it names exists and says its id."""

from __future__ import annotations

import ast
import re
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from squidbot.config.schema import Settings, keys_of

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "maintainers" / "behaviours.md").read_text(encoding="utf-8")

# What the five documents ask for, by document, and the acceptance vectors.
NUMBERS = {
    "B": (*range(1, 24), *range(30, 35), *range(40, 48), 50),
    "Q": range(1, 13),
    "W": range(1, 22),
    "P": range(1, 14),
    "J": range(1, 7),
    "O": range(1, 19),
}
IDS = frozenset(f"{prefix}-{number:02}" for prefix, numbers in NUMBERS.items() for number in numbers) | frozenset(
    f"V{number}" for number in range(1, 33)
)
LEAST_WORDS = 3


class Row(NamedTuple):
    """A row of the page.

    Attributes:
        behaviour: the id.
        text: what it is.
        named: files, names in them and keys of the settings.
        tests: what shows it.
    """

    behaviour: str
    text: str
    named: tuple[str, ...]
    tests: tuple[str, ...]


def rows(page: str) -> Iterator[Row]:
    """Yield the rows of every table but their heads."""
    for line in re.findall(r"^\| (?!id |-)(.*) \|$", page, re.MULTILINE):
        cells = [cell.strip() for cell in line.split(" | ")]
        behaviour, said, named, tests, *_ = (*cells, "", "", "")
        yield Row(behaviour, said, codes(named), codes(tests))


def codes(cell: str) -> tuple[str, ...]:
    """Return what stands as code in a cell."""
    return tuple(re.findall(r"`([^`]+)`", cell))


@cache
def definitions(path: Path) -> dict[str, str]:
    """Return the names that a file defines, methods behind their classes, each with its docstring; "" is the file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = {"": ast.get_docstring(tree) or ""}
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found[name] = ast.get_docstring(node) or ""
                if isinstance(node, ast.ClassDef):
                    inner = [one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
                    found |= {f"{name}.{one.name}": ast.get_docstring(one) or "" for one in inner}
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found[name] = ""
    return found


@cache
def keys() -> frozenset[str]:
    """Return every key of the settings, as docs/configuration.md writes it."""
    return frozenset(".".join(key.path) for key in keys_of(Settings))


def wrong_place(named: str) -> str:
    """Return what is wrong with a file, a name or a key; "" for nothing."""
    file, _, name = named.partition(":")
    if not file.endswith(".py"):
        return "" if named in keys() else f"no key {named}"
    path = ROOT / "squidbot" / file
    if not path.is_file():
        return f"no file {file}"
    return "" if name in definitions(path) else f"no {name} in {file}"


def wrong_test(test: str) -> str:
    """Return what is wrong with a test; "" for nothing."""
    file, _, name = test.partition("::")
    path = ROOT / "tests" / file
    if not path.is_file():
        return f"no file {file}"
    return "" if name.startswith("test_") and name in definitions(path) else f"no test {name} in {file}"


def says(test: str, behaviour: str) -> bool:
    """Return whether the docstring of a test, or of its file, names an id."""
    file, _, name = test.partition("::")
    found = definitions(ROOT / "tests" / file)
    return re.search(rf"\b{behaviour}\b", f"{found[name]} {found['']}") is not None


def faults_of(row: Row) -> Iterator[str]:
    """Yield what is wrong with a row by itself."""
    if len(row.text.split()) < LEAST_WORDS:
        yield "says nothing"
    yield from filter(None, map(wrong_place, row.named))
    wrong = list(filter(None, map(wrong_test, row.tests)))
    yield from wrong
    if not row.named:
        yield "names no place"
    if not row.tests:
        yield "names no test"
    if not wrong:
        yield from (f"{test} does not say {row.behaviour}" for test in row.tests if not says(test, row.behaviour))


def faults(page: str) -> list[str]:
    """Return all that is wrong with a page."""
    every = list(rows(page))
    there = [row.behaviour for row in every]
    return [
        *(f"{behaviour}: no such id" for behaviour in there if behaviour not in IDS),
        *(f"{behaviour}: {there.count(behaviour)} times" for behaviour in sorted(IDS) if there.count(behaviour) != 1),
        *chain.from_iterable((f"{row.behaviour}: {fault}" for fault in faults_of(row)) for row in every),
    ]


def test_page_is_true() -> None:
    """Every id stands there once, with its place and its tests; what is named is there; each test says its id."""
    assert faults(PAGE) == []


def test_every_id_of_the_documents_is_known() -> None:
    """37 and 12, 21, 13, 6 and 18 of the five documents, and 32 vectors."""
    counts = {prefix: sum(one.startswith(prefix) for one in IDS) for prefix in "BQWPJOV"}
    assert counts == {"B": 37, "Q": 12, "W": 21, "P": 13, "J": 6, "O": 18, "V": 32}


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("| B-01 |", "| B-99 |", "B-99: no such id"),
        ("| B-01 |", "| B-1 |", "B-1: no such id"),
        ("| B-01 |", "| B-02 |", "B-01: 0 times"),
        ("| B-01 |", "| B-02 |", "B-02: 2 times"),
        ("`config/schema.py:ModelTable`", "`config/schemas.py:ModelTable`", "B-01: no file config/schemas.py"),
        ("`config/schema.py:ModelTable`", "`config/schema.py:ModelTabel`", "B-01: no ModelTabel in config/schema.py"),
        ("`models.py:Catalog.sized`", "`models.py:Catalog.size`", "W-19: no Catalog.size in"),
        ("`gpu.probe`", "`gpu.probes`", "B-05: no key gpu.probes"),
        ("`core/prompts.py` |", "`core/prompts/text.py` |", "B-19: no file core/prompts/text.py"),
        ("::test_every_key_has_a_test_that", "::test_no_key_has_a_test_that", "Q-10: no test test_no_key_has"),
        ("`test_jobs.py::", "`test_job.py::", "B-40: no file test_job.py"),
        ("::test_level_has_its_borders", "::level_has_its_borders", "O-13: no test level_has"),
        ("| V5 | 85 % of seven sizes |", "| V5 | sizes |", "V5: says nothing"),
        ("| V18 |", "| V22 |", "V22: core/test_vectors_engine.py::test_only"),
        ("| `history.scope` |", "| none |", "V18: names no place"),
    ],
)
def test_page_that_is_not_true_is_found_out(old: str, new: str, fault: str) -> None:
    """Each fault, put into the page, is named."""
    assert old in PAGE
    assert [found for found in faults(PAGE.replace(old, new)) if found.startswith(fault)]
