"""The site that Sphinx builds from these pages: `uv run --group docs sphinx-build -W -n docs build/site`."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

project = "squidbot"
author = "the squidbot developers"
project_copyright = "the squidbot developers, MIT licence"
sys.path.insert(0, str(Path(__file__).parent))  # api_pages
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_llms_txt", "api_pages"]
html_theme = "furo"
html_title = "squidbot"
html_copy_source = True
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["site.css"]
myst_enable_extensions = ["colon_fence", "attrs_inline"]
# Links lead to headings as deep as these.
myst_heading_anchors = 4
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
# Types that signatures name, and do not spell out.
autodoc_type_aliases = {name: f"squidbot.{name}" for name in ("Reported", "Said")}
napoleon_use_ivar = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
# A word in single backticks of a docstring is code; if it names something on these pages, it is a link, too.
default_role = "py:obj"
# Names in signatures that are no part of squidbot. The build is offline, so it knows no pages of other projects.
_TYPING = "Any|Callable|Final|Generic|Literal|NamedTuple|NoReturn|Protocol|Self|TypedDict|Hook|Value|FileT|Given.*"
_STANDARD = (
    "AbstractContextManager|Async(Generator|Iterable|Iterator)|Awaitable|Collection|Coroutine|Exception|Handler|"
    "Iterable|Iterator|Mapping|Path|PathLike|Sequence|StrEnum|UUID|TracebackType"
)
_CLASSES = "Base(ChatModel|Message|Tool)|Starlette"
_LIBRARIES = "agents|langchain|langgraph|llm|mcp|openai|pydantic_ai|starlette"
nitpick_ignore_regex = [
    (r"py:.*", rf"([\w.]+\.)?({_TYPING}|{_STANDARD}|{_CLASSES})"),
    (r"py:.*", r"(collections|contextlib|enum|logging|pathlib|types|typing|uuid)\..*"),
    (r"py:.*", rf"({_LIBRARIES})[\w.]*\..*"),
]
# The extension writes llms-full.txt, all pages in one; its llms.txt would have titles only.
llms_txt_file = False
# A picture of a page: that for dark pages, that for light ones, and its words.
PICTURE = re.compile(
    r'<picture>\s*<source media="[^"]+" srcset="([^"]+)">\s*<img src="([^"]+)"\s+(alt="[^"]+")>\s*</picture>'
)


# A line for those who read a page in a clone.
IN_CLONE = re.compile(r"^> In a clone, .*\n\n", re.MULTILINE)


def setup(app: Sphinx) -> None:
    """Add to the site what Sphinx and its extensions leave out."""
    app.connect("source-read", _for_the_site)
    app.connect("build-finished", _finish)


def _for_the_site(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Leave out the line for clones, and have pictures follow the theme's switch: `<picture>` follows the system."""
    text = IN_CLONE.sub("", source[0], count=1)
    source[0] = PICTURE.sub(r'<img class="only-light" src="\2" \3>\n<img class="only-dark" src="\1" \3>', text)


def _finish(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        # Sphinx does not see pictures that pages name in HTML, where dark mode has one of its own.
        copytree(Path(app.srcdir, "pictures"), Path(app.outdir, "pictures"), dirs_exist_ok=True)
        Path(app.outdir, "llms.txt").write_text("\n".join(_llms(app.env)) + "\n", encoding="utf-8")


def _llms(env: BuildEnvironment) -> Iterator[str]:
    """Yield what language models read first: the pages in reading order, each with its first sentence."""
    start = env.get_doctree("index")
    yield f"# {project}\n\n> {_opening(start)}"
    for tree in start.findall(addnodes.toctree):
        yield f"\n## {tree['caption']}\n"
        for page in tree["includefiles"]:
            yield from _listed(env, page)


def _listed(env: BuildEnvironment, page: str) -> Iterator[str]:
    tells = _opening(env.get_doctree(page)).partition(". ")[0].rstrip(".:")
    yield f"- [{env.titles[page].astext()}](_sources/{page}.md.txt)" + (f": {tells}." if tells else "")
    for below in env.toctree_includes.get(page, ()):
        yield from _listed(env, below)


def _opening(tree: nodes.document) -> str:
    return next((" ".join(one.astext().split()) for one in tree.findall(nodes.paragraph)), "")
