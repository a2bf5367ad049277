"""The site that Sphinx builds from these pages: `uv run --group docs sphinx-build -W -n docs build/site`."""

import re
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
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_llms_txt"]
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
# The extension writes llms-full.txt, all pages in one; its llms.txt would have titles only.
llms_txt_file = False
# A picture of a page: that for dark pages, that for light ones, and its words.
PICTURE = re.compile(
    r'<picture>\s*<source media="[^"]+" srcset="([^"]+)">\s*<img src="([^"]+)"\s+(alt="[^"]+")>\s*</picture>'
)


def setup(app: Sphinx) -> None:
    """Add to the site what Sphinx and its extensions leave out."""
    app.connect("source-read", _pictures_by_theme)
    app.connect("build-finished", _finish)


def _pictures_by_theme(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Have pictures follow the theme's switch: in `<picture>` they follow the system alone."""
    source[0] = PICTURE.sub(r'<img class="only-light" src="\2" \3>\n<img class="only-dark" src="\1" \3>', source[0])


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
