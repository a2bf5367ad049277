"""The site that Sphinx builds from these pages: `uv run --group docs sphinx-build -W -n docs build/site`."""

from pathlib import Path
from shutil import copytree

from sphinx.application import Sphinx

project = "squidbot"
author = "the squidbot developers"
project_copyright = "the squidbot developers, MIT licence"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_llms_txt"]
html_theme = "furo"
html_title = "squidbot"
html_copy_source = True
html_show_sourcelink = False
html_static_path: list[str] = []
myst_enable_extensions = ["colon_fence", "attrs_inline"]
# Links lead to headings as deep as these.
myst_heading_anchors = 4
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
llms_txt_title = "squidbot"
llms_txt_summary = "Keeps the context window of an LLM agent within budget, and what falls out of it recallable."


def setup(app: Sphinx) -> None:
    """Copy the pictures: Sphinx does not see those that pages name in HTML, where dark mode has one of its own."""
    app.connect("build-finished", _copy_pictures)


def _copy_pictures(app: Sphinx, error: Exception | None) -> None:
    if error is None:
        copytree(Path(app.srcdir, "pictures"), Path(app.outdir, "pictures"), dirs_exist_ok=True)
