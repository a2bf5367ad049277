"""The public API is the recorded one, and stands on the pages below docs/api."""

from __future__ import annotations

import ast
import inspect
import re
from difflib import unified_diff
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot import hookspecs
from tests.public_api import RECORD, ROOT, PublicName, documented, fields_of, public_names, recorded
from tests.test_docs import PAGES, blocks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMES = public_names()
PATHS = {name.path for name in NAMES}
# Importing all the frameworks that plugins are for takes seconds.
HOSTS = tuple(f"squidbot.plugins.{host}" for host in ("langchain", "llm", "mcp", "openai_agents", "pydantic_ai"))
EITHER = [pytest.param(False, id="squidbot"), pytest.param(True, id="hosts", marks=pytest.mark.slow)]
# Modules whose `__all__` is public as a whole. Of others, the names that the pages list are public.
WHOLE = ("squidbot", "squidbot.core.errors", "squidbot.core.ports", "squidbot.hookspecs", "squidbot.testing")
# The name for pluggy, and the hooks that llm itself calls.
OWN = {
    "squidbot.hookspecs.PROJECT",
    *(f"squidbot.plugins.llm.register_{what}" for what in ("commands", "models", "tools")),
}
CODE = re.compile(r"`(\w+)`")
COMMAND = "uv run python -m tests.public_api"


def of(*, hosts: bool) -> list[PublicName]:
    """Return the names of the plugins for hosts, or all others."""
    return [name for name in NAMES if name.path.startswith(HOSTS) is hosts]


@pytest.mark.parametrize("hosts", EITHER)
def test_the_public_api_is_the_recorded_one(*, hosts: bool) -> None:
    """A changed signature, a name that is new or gone: it is recorded on purpose, and CHANGELOG.md tells users."""
    before = [line for line in RECORD.read_text("utf-8").splitlines() if line.startswith(HOSTS) is hosts]
    now = recorded(of(hosts=hosts)).splitlines()
    changes = [line for line in unified_diff(before, now, "recorded", "now", lineterm="", n=0) if line[:2] != "@@"]
    if changes:
        pytest.fail(
            "the public API is not the recorded one. If you want this change, record it with\n"
            f"    {COMMAND}\nand write a line in CHANGELOG.md: what changed, and what users write instead. What goes "
            f"away warns by DeprecationWarning for one minor release first (docs/api.md).\n{chr(10).join(changes)}",
            pytrace=False,
        )


@pytest.mark.parametrize("module", [*WHOLE, *(pytest.param(host, marks=pytest.mark.slow) for host in HOSTS)])
def test_every_public_name_of_a_module_stands_on_a_page(module: str) -> None:
    """By its own path, or by that of the same object."""
    found = import_module(module)
    shown = [name.value for name in of(hosts=module in HOSTS)]
    missing = [
        path
        for name in found.__all__
        if (path := f"{module}.{name}") not in PATHS | OWN and not any(getattr(found, name) is value for value in shown)
    ]
    assert missing == [], "add them to a page below docs/api, or take them out of __all__"


def test_every_name_on_a_page_is_there_once() -> None:
    """Two entries for one name would be two targets of a link."""
    assert len(PATHS) == len(NAMES)


def test_names_of_the_package_are_imported_from_the_package() -> None:
    """No page shows such a name with the module that has it at home."""
    own = {id(getattr(squidbot, name)) for name in squidbot.__all__}
    shown = [name for name in of(hosts=False) if name.kind != "data" and name.path.rpartition(".")[0] != "squidbot"]
    assert [name.path for name in shown if id(name.value) in own] == []


def imports() -> Iterator[tuple[str, str]]:
    """Yield the names that examples and blocks of pages import from squidbot, each with its place."""
    programs = [(page.name, block.text) for page in PAGES for block in blocks(page) if block.language == "python"]
    programs += [(path.name, path.read_text("utf-8")) for path in sorted((ROOT / "examples").rglob("*.py"))]
    for place, text in programs:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "squidbot":
                yield from ((f"{node.module}.{alias.name}", place) for alias in node.names)
            elif isinstance(node, ast.Import):
                yield from ((f"{alias.name}", place) for alias in node.names if alias.name.startswith("squidbot."))


def test_examples_import_public_names_only() -> None:
    """What users copy must not break in the next release."""
    modules = {path.rpartition(".")[0] for path in PATHS}
    assert [(name, place) for name, place in imports() if name not in PATHS | modules] == []


def described(name: PublicName) -> Iterator[tuple[str, str]]:
    """Yield what a page shows of a name, each with its docstring."""
    value = name.value
    yield name.path, inspect.getdoc(value) or ""
    for member, given in vars(value).items() if inspect.isclass(value) else ():
        shown = member in (name.members or {member}) and member not in name.excluded and not member.startswith("_")
        if shown and (inspect.isfunction(given) or isinstance(given, property)):
            yield f"{name.path}.{member}", inspect.getdoc(given) or ""


@pytest.mark.parametrize("hosts", EITHER)
def test_everything_public_says_what_it_is(*, hosts: bool) -> None:
    """A class, a function, a method and a property each have a docstring that is a sentence."""
    texts = dict(line for name in of(hosts=hosts) if name.kind != "data" for line in described(name))
    assert len(texts) > (10 if hosts else 400)
    assert [path for path, text in texts.items() if len(text.split()) < 2 or ".  " in text] == []


def test_every_field_of_a_value_has_a_text() -> None:
    """What it is, its unit, and what None means: in the section "Attributes" of its class, or in its first words."""
    bare: dict[str, set[str]] = {}
    for name in of(hosts=False):
        if inspect.isclass(name.value):
            told = documented(name.value).union(CODE.findall(inspect.getdoc(name.value) or ""))
            missing = {*fields_of(name.value)} - told - name.excluded
            bare |= {name.path: missing} if missing else {}
    assert bare == {}


def test_every_hook_is_recorded_with_its_arguments() -> None:
    """An extension names its arguments, so each of them is public."""
    text = RECORD.read_text(encoding="utf-8")
    hooks = [name for name in hookspecs.__all__ if hasattr(getattr(hookspecs, name), "squidbot_spec")]
    assert len(hooks) > 15
    for name in hooks:
        arguments = [*inspect.signature(getattr(hookspecs, name)).parameters]
        (line,) = re.findall(rf"^squidbot\.hookspecs\.{name}\((.*)\) ->", text, re.MULTILINE)
        assert re.findall(r"(\w+): ", line) == arguments


def test_a_changed_signature_fails_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text names the change, the command that records it, and the changelog."""
    changed = tmp_path / "public_api.txt"
    changed.write_text(RECORD.read_text("utf-8").replace("squidbot.Engine.origins()", "squidbot.Engine.origins(old)"))
    monkeypatch.setattr("tests.test_public_api.RECORD", changed)
    with pytest.raises(pytest.fail.Exception) as caught:
        test_the_public_api_is_the_recorded_one(hosts=False)
    told = str(caught.value)
    assert "-squidbot.Engine.origins(old) -> list[Origin]" in told
    assert "+squidbot.Engine.origins() -> list[Origin]" in told
    assert COMMAND in told
    assert "CHANGELOG.md" in told
