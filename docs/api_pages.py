"""A Sphinx extension for the pages of the Python API: names as users import them, and links to them."""

import re
from pkgutil import resolve_name
from typing import Any

from docutils.nodes import Element
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.domains.python import PyObject
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

import squidbot

# Import them as Squidbot: these are the names of the classes themselves, since no class name stands twice.
_ALIASES = {
    "langchain": "SquidbotMiddleware",
    "llm": "SquidbotToolbox",
    "mcp": "SquidbotServer",
    "pydantic_ai": "SquidbotCapability",
}
# A protocol for which users pass a session.
_SESSION = re.compile(r"[\w.~]*WorkSession")
# Entries of the Python API that a link by a bare name may lead to.
_TYPES = {"class", "data", "exception", "function", "type"}


def setup(app: Sphinx) -> dict[str, bool]:
    """Have autodoc show the names of `squidbot`, not the modules that have them at home."""
    for name in squidbot.__all__:
        getattr(squidbot, name)  # before autodoc imports it as type checkers do, and makes every class twice
    for plugin, name in _ALIASES.items():
        resolve_name(f"squidbot.plugins.{plugin}:{name}").__name__ = "Squidbot"
    for field in PyObject.doc_field_types:
        if field.name == "variable":
            field.label = "Attributes"  # else: Variables
    app.connect("autodoc-process-signature", _signature)
    app.connect("autodoc-process-docstring", _docstring)
    app.connect("autodoc-skip-member", _skip)
    app.connect("missing-reference", _reference)
    return {"parallel_read_safe": True}


def _signature(_app: Sphinx, what: str, *given: Any) -> tuple[str, str | None] | None:  # noqa: ANN401  # as Sphinx calls it
    """Leave out the arguments of a class that users get from a call: `:exclude-members: __init__` on its page."""
    _, _, options, arguments, result = given
    if what in {"class", "exception"} and "__init__" in _excluded(options):
        return "", ""
    if not arguments:
        return None
    return _SESSION.sub("squidbot.Session", arguments.replace("<factory>", "...")), result


def _excluded(options: Any) -> set[str]:  # noqa: ANN401  # Sphinx's
    return {*(getattr(options, "exclude_members", None) or ())}


def _docstring(_app: Sphinx, what: str, *given: Any) -> None:  # noqa: ANN401  # as Sphinx calls it
    """Mend what napoleon makes of attributes: two by one text, a text with a colon, those that a page excludes."""
    options, lines = given[-2:]
    if what in {"property", "attribute", "data"} and (kind := [line for line in lines if line.startswith(":type: ")]):
        lines[:] = [f"{kind[0].removeprefix(':type: ')}: {lines[0]}", *(line for line in lines[1:] if line not in kind)]
    fields: list[tuple[list[str], list[str]]] = [([""], [])]
    for line in lines:
        names, colon, text = line.removeprefix(":ivar ").partition(":")
        if line.startswith(":ivar ") and colon:
            fields.append((names.split(", "), [text]))
        elif line and not line.startswith(" ") and fields[-1][0] != [""]:
            fields.append(([""], [line]))
        else:
            fields[-1][1].append(line)
    excluded = _excluded(options)
    lines[:] = [
        f":ivar {name}:{line}" if name and not at else line
        for names, text in fields
        for name in names
        if name not in excluded
        for at, line in enumerate(text)
    ]


def _skip(_app: Sphinx, _what: str, _name: str, member: object, *_: object) -> bool | None:
    """Leave out fields of a NamedTuple: its signature and the text of its class have them."""
    return True if type(member).__name__ == "_tuplegetter" else None


def _reference(app: Sphinx, env: BuildEnvironment, node: pending_xref, shown: Element) -> Element | None:
    """Return a link to the entry of a name, whatever module the code has it from; a word of a text may be none."""
    target = node.get("reftarget", "")
    entries = env.domains.python_domain.objects
    last = target.rpartition(".")[2]
    found = [name for name in entries if name.endswith(f".{target}")] or [
        name for name, entry in entries.items() if name.rpartition(".")[2] == last and entry.objtype in _TYPES
    ]
    real = [name for name in found if not entries[name].aliased]
    # A word of a text that is no class, such as an argument, is no method of another class either.
    is_word = node.get("reftype") == "obj" and not ("." in target or target[:1].isupper())
    if len(real) == 1 and node.get("refdomain") == "py" and not is_word:
        entry = entries[real[0]]
        return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, [shown], real[0])
    return shown if node.get("reftype") == "obj" else None
