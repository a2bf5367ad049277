"""The architecture is kept: import contracts, a bare core, one package for each adapter, small functions, AGENTS.md."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.common.packages import extra_of

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "squidbot"
CORE = PACKAGE / "core"

# The house's bars (style.md, section 3).
MOST_FUNCTION_LINES = 50
MOST_AGENTS_LINES = 120
MOST_ROOT_MODULES = 9

# The core has no input and output, no clock, no randomness, no threads, no log, and knows no environment.
OUTSIDE = frozenset(
    {"asyncio", "concurrent", "glob", "http", "io", "locale", "logging", "multiprocessing", "os", "pathlib", "pickle"}
    | {"platform", "random", "secrets", "select", "shutil", "signal", "socket", "sqlite3", "subprocess", "sys"}
    | {"tempfile", "threading", "time", "urllib", "uuid", "warnings"}
)
# hash() differs from process to process; the others reach outside, or read a clock.
FORBIDDEN_CALLS = frozenset({"open", "print", "input", "eval", "exec", "compile", "__import__", "hash", "breakpoint"})
FORBIDDEN_ATTRIBUTES = frozenset({"now", "utcnow", "today"})


def sources(*folders: Path) -> list[Path]:
    """Return the Python files in folders and below, in order."""
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    """Return a file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path) -> Iterator[str]:
    """Return the names of the modules that a file imports, wherever in it."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            yield str(node.module)


def python(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run this Python in a folder and return what it printed."""
    return subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False)


# -- contracts ------------------------------------------------------------------------------------------------------


# In a process of its own: import-linter configures logging for the whole of it.
LINT_IMPORTS = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"


def test_import_contracts_are_kept() -> None:
    """`lint-imports` passes, so plain `pytest` keeps the architecture."""
    done = python("-c", LINT_IMPORTS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


# The file, the line to add, the contract it breaks, and the message of that contract.
MUTATIONS = {
    "core imports what is not in the standard library": (
        "core/budget.py",
        "import requests",
        "The core imports the",
        "budget imports requests",
    ),
    "core imports an adapter": (
        "core/engine.py",
        "import squidbot.adapters.stdlib",
        "Imports go down",
        "core.engine -> squidbot.adapters.stdlib",
    ),
    "core imports for a type only": (
        "core/engine.py",
        "if TYPE_CHECKING:\n    import squidbot.config",
        "Imports go down",
        "core.engine -> squidbot.config",
    ),
    "core imports upwards": (
        "core/messages.py",
        "import squidbot.core.budget",
        "Inside the core",
        "core.messages -> squidbot.core.budget",
    ),
    "core imports inside a function": (
        "core/errors.py",
        "def late():\n    import squidbot.core.ports",
        "Inside the core",
        "core.errors -> squidbot.core.ports",
    ),
    "config imports the wiring": (
        "config/loading.py",
        "import squidbot.bootstrap",
        "Imports go down",
        "config.loading -> squidbot.bootstrap",
    ),
    "codec imports another": (
        "codecs/openai_chat.py",
        "import squidbot.codecs.anthropic_messages",
        "No codec knows another",
        "codecs.openai_chat -> squidbot.codecs.anthropic_messages",
    ),
    "adapter imports another": (
        "adapters/pynvml.py",
        "import squidbot.adapters.sqlite3",
        "No adapter knows another",
        "adapters.pynvml -> squidbot.adapters.sqlite3",
    ),
    "adapter imports a codec": (
        "adapters/pynvml.py",
        "import squidbot.codecs.jsontext",
        "Imports go down",
        "adapters.pynvml -> squidbot.codecs.jsontext",
    ),
    "plugin imports an adapter": (
        "plugins/host.py",
        "import squidbot.adapters.stdlib",
        "A face reaches adapters",
        "plugins.host -> squidbot.adapters.stdlib",
    ),
    "stray file": ("utils.py", "", "Imports go down", "- squidbot.utils"),
    "stray file in the core": ("core/helpers.py", "", "Inside the core", "- squidbot.core.helpers"),
}


def test_import_contracts_break_when_an_import_goes_the_wrong_way(tmp_path: Path) -> None:
    """All faults at once, in a copy of the package: each breaks its own contract, which names it."""
    shutil.copytree(PACKAGE, tmp_path / "squidbot", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "stdlib_only.py", tmp_path / "tests")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for file, line, _, _ in MUTATIONS.values():
        with (tmp_path / "squidbot" / file).open("a", encoding="utf-8") as changed:
            changed.write(f"\n{line}\n")
    done = python("-c", LINT_IMPORTS, folder=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    parts = re.split(r"^(.+)\n-+$", done.stdout.partition("Broken contracts")[2], flags=re.MULTILINE)
    reasons = dict(zip(parts[1::2], parts[2::2], strict=True))
    for name, (_, _, contract, message) in MUTATIONS.items():
        found = [text for title, text in reasons.items() if title.startswith(contract)]
        assert found, f"{name}: {contract} is not broken\n{done.stdout}"
        assert any(message in text for text in found), f"{name}: {message}\n{found}"


# -- the core ---------------------------------------------------------------------------------------------------------

BARE_CORE = """
import sys
sys.path.insert(0, sys.argv[1])
import importlib, pkgutil
import squidbot.core
for found in pkgutil.walk_packages(squidbot.core.__path__, "squidbot.core."):
    importlib.import_module(found.name)
foreign = {name.partition(".")[0] for name in sys.modules} - {"squidbot", "__main__"} - sys.stdlib_module_names
outside = {name for name in sys.modules if name.startswith("squidbot.") and not name.startswith("squidbot.core")}
print(len([name for name in sys.modules if name.startswith("squidbot.core.")]), sorted(foreign), sorted(outside))
"""


def test_core_imports_when_nothing_is_installed() -> None:
    """Isolated, without site-packages: all of the core, and nothing but the core and the standard library (Q-09)."""
    done = python("-I", "-S", "-c", BARE_CORE, str(ROOT))
    assert done.stderr == ""
    assert done.stdout == f"{len(sources(CORE)) - 1} [] []\n"


LAZY = """
import sys
before = set(sys.modules)
import squidbot
loaded = set(sys.modules) - before
print(sorted(name for name in loaded if name.startswith("squidbot")))
print(sorted({name.partition(".")[0] for name in loaded} - {"squidbot"} - sys.stdlib_module_names))
"""


def test_squidbot_imports_nothing_until_a_name_is_used() -> None:
    """`import squidbot.core.engine` runs squidbot/__init__.py first: it must not need what the core does not."""
    assert python("-c", LAZY).stdout == "['squidbot']\n[]\n"


def test_squidbot_has_every_name_that_it_promises() -> None:
    """Each public name exists and is listed by dir(); an unknown one raises an AttributeError."""
    import squidbot  # noqa: PLC0415  # beside the check of what importing it does

    assert all(getattr(squidbot, name) is not None for name in squidbot.__all__)
    assert set(squidbot.__all__) <= set(dir(squidbot))
    with pytest.raises(AttributeError, match=r"^module 'squidbot' has no attribute 'lode'$"):
        _ = squidbot.lode  # type: ignore[attr-defined]  # that is the point


def test_core_reaches_nothing_outside() -> None:
    """No I/O, clock, randomness, thread or log; no `Any`; no broad `except`."""
    bad = {path.relative_to(CORE).as_posix(): found for path in sources(CORE) if (found := reached(path))}
    assert not bad, bad


def reached(path: Path) -> list[str]:
    """Return what a file uses that the core may not."""
    bad = sorted({name.partition(".")[0] for name in imports(path)} & OUTSIDE)
    for node in ast.walk(parsed(path)):
        match node:
            case ast.Name(id=name) | ast.alias(name=name) if name == "Any" or name in FORBIDDEN_CALLS:
                bad.append(name)
            case ast.Attribute(attr="Any" as name):
                bad.append(name)
            case ast.Call(func=ast.Attribute(attr=name)) if name in FORBIDDEN_ATTRIBUTES:
                bad.append(name)
            case ast.ExceptHandler(type=None | ast.Name(id="Exception" | "BaseException")):
                bad.append(f"broad except in line {node.lineno}")
    return bad


# -- adapters ---------------------------------------------------------------------------------------------------------


# Packages whose values another one takes and returns: they come with it.
COMPANIONS = {
    "anthropic": {"httpx2"},
    "faiss": {"numpy"},
    "lancedb": {"numpy", "pyarrow"},
    "onnxruntime": {"numpy", "tokenizers"},
    "psycopg": {"psycopg_pool"},
}
# Adapters that need no package: named after what they read, where they look, or whom they ask. "common" is shared code.
PACKAGELESS = frozenset({"common", "stdlib", "gguf", "gpus", "hub", "ollama", "servers"})


def rooms() -> list[Path]:
    """Return the adapters: files, or folders, named after their package."""
    return sorted(path for path in (PACKAGE / "adapters").iterdir() if not path.name.startswith("__"))


def test_adapter_imports_one_package_and_is_named_after_it() -> None:
    """`adapter = "x"` in the settings means squidbot/adapters/x, which wraps the package that is imported as x."""
    for room in rooms():
        check_imports(room)


def check_imports(room: Path) -> None:
    """Check what one adapter imports."""
    files = [room] if room.is_file() else sources(room)
    used = {name.partition(".")[0] for file in files for name in imports(file)} - {"squidbot"}
    foreign = used - sys.stdlib_module_names
    if room.stem in sys.stdlib_module_names | PACKAGELESS:
        assert not foreign, room.stem
        assert room.stem in used | PACKAGELESS
    else:
        assert foreign - COMPANIONS.get(room.stem, set()) == {room.stem}


def test_adapter_packages_are_dependencies_or_extras() -> None:
    """Each adapter's package is a dependency, or an extra of the adapter's name, with hyphens."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    installed = packages_distributions()
    for room in rooms():
        if room.stem not in sys.stdlib_module_names | PACKAGELESS:
            (distribution, *_) = installed.get(room.stem, [room.stem])
            assert re.search(rf'^    "{distribution}>=', text, re.MULTILINE) or extra_of(room.stem)


# -- sizes ------------------------------------------------------------------------------------------------------------


def may_be_large(text: str) -> bool:
    """Return whether a function may have too many lines; cheap, and never wrongly False."""
    lines = text.splitlines()
    begins = [(at, found.end(1)) for at, line in enumerate(lines) if (found := DEFINED.match(line))]
    ends = [*begins[1:], (len(lines), 0)]
    for number, (at, indent) in enumerate(begins):
        after = next((end for end, other in ends[number:] if other <= indent), len(lines))
        if after - at > MOST_FUNCTION_LINES:
            return True
    return False


# The beginning of a function, a class or a decorator. Looking for these takes a tenth of the time of parsing a file.
DEFINED = re.compile(r"( *)(?:async def |def |class |@)")


def test_functions_are_small() -> None:
    """At most 50 lines a function of the package, of the tests and of the benchmarks."""
    large = []
    every = sources(PACKAGE, ROOT / "tests", ROOT / "benchmarks")
    for path in (path for path in every if may_be_large(path.read_text(encoding="utf-8"))):
        for node in ast.walk(parsed(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > MOST_FUNCTION_LINES:
                    large.append(f"{path.relative_to(ROOT)}:{node.lineno}: {node.name} has {length} lines")
    assert not large, "\n".join(large)


def test_code_names_no_source_documents() -> None:
    """Their ids stand in docs/maintainers/behaviours.md and tests. In testing/hosts C1 to C18 are names of checks."""
    ids = re.compile(r"\b(?:[BQWPJO]-\d\d|[CD]\d{1,2}|document 00\d|decisions\.md)\b")
    files = [path for path in sources(PACKAGE) if not path.is_relative_to(PACKAGE / "testing" / "hosts")]
    found = {str(path.relative_to(PACKAGE)): ids.findall(path.read_text(encoding="utf-8")) for path in files}
    assert {path: names for path, names in found.items() if names} == {}


def test_no_class_name_stands_twice() -> None:
    """A stranger who looks a class up by its name finds one."""
    homes: dict[str, list[str]] = {}
    for path in sources(PACKAGE):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_nothing_is_left_to_be_done() -> None:
    """No marks of unfinished work."""
    marks = re.compile(r"\b(TODO|FIXME|XXX|HACK|NotImplementedError)\b")
    files = [path for path in sources(PACKAGE, ROOT / "tests") if path != Path(__file__)]
    assert [str(path) for path in files if marks.search(path.read_text(encoding="utf-8"))] == []


# -- AGENTS.md --------------------------------------------------------------------------------------------------------


def places() -> list[str]:
    """Return the paths that the question table of AGENTS.md names, in order."""
    rows = re.findall(r"^\| .*\? \| (.*) \|$", (ROOT / "AGENTS.md").read_text(encoding="utf-8"), re.MULTILINE)
    return [path for row in rows for path in re.findall(r"`((?:squidbot|docs)/[^`]*)`", row)]


def test_question_table_names_what_is_there() -> None:
    """Each path is a file or a folder; `<name>` stands for any."""
    assert len(places()) > MOST_ROOT_MODULES
    for place in places():
        pattern = re.sub(r"<\w+>", "*", place.rstrip("/"))
        assert any(ROOT.glob(pattern)), f"AGENTS.md names {place}, which is not there"


def test_question_table_leads_to_every_room() -> None:
    """A stranger finds every folder and every file of the root by a question."""
    named = {Path(place).parts[1] for place in places() if place.startswith("squidbot/")}
    rooms_there = {path.name for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert rooms_there - named - {"__main__.py"} == set(), "no question of AGENTS.md leads there"
    core = {
        Path(place).parts[2] for place in places() if place.startswith("squidbot/core/") and len(Path(place).parts) > 2
    }
    folders = {path.name for path in CORE.iterdir() if (path / "__init__.py").exists()}
    assert folders - core == set(), "no question of AGENTS.md leads there"


def test_root_is_small() -> None:
    """A stranger opens the root first: it has few files."""
    modules = [path.name for path in PACKAGE.glob("*.py")]
    assert len(modules) <= MOST_ROOT_MODULES, modules


def test_agents_file_is_short_and_links_to_what_is_there() -> None:
    """Every relative link leads somewhere."""
    text = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
    assert text.count("\n") <= MOST_AGENTS_LINES
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (ROOT / link).exists(), link
